//! The small parts of an entry: facts that may be missing, users, listeners, marks.

use crate::memory::Part;
use crate::process::{Channel, ClientMark, Fact, Listener, Marks, Pid, Users, Visitors, Way};
use serde::{Deserialize, Serialize};

/// A fact as it is written: its value, or why there is none.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Written<T> {
    Missing(Missing),
    Value(T),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Missing {
    #[serde(rename = "(none)")]
    Absent,
    #[serde(rename = "(denied)")]
    Denied,
    #[serde(rename = "(gone)")]
    Gone,
    #[serde(rename = "(unread)")]
    Unread,
}

/// Arguments one by one, or a line as a person would type it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Command {
    Line(String),
    Words(Vec<String>),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum User {
    Both(u32),
    RealAndEffective([u32; 2]),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListenerText {
    pub(super) address: String,
    #[serde(default)]
    pub(super) visitors: Vec<Pid>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) elsewhere: Vec<String>,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub(super) complete: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelText {
    what: String,
    way: Way,
    #[serde(default)]
    others: Vec<Pid>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    elsewhere: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    as_stdio: Vec<Pid>,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    complete: bool,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MarksText {
    #[serde(skip_serializing_if = "Option::is_none", rename = "ORPHAND")]
    pub(super) orphand: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "SYSTEMD_EXEC_PID")]
    pub(super) systemd_exec_pid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_pid: Option<Pid>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MovedText {
    pub(super) disk: u64,
    #[serde(default)]
    pub(super) calls: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryText {
    pub(super) rss: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pss: Option<u64>,
    #[serde(default)]
    pub(super) swap: u64,
}

/// What earlier looks saw of it; times are how long ago.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SightingText {
    pub(super) orphaned: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hung_up: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) active: Option<String>,
    /// Below a client that lived.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) owned: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SampleText {
    pub(super) ago: String,
    #[serde(default)]
    pub(super) disk: u64,
    #[serde(default)]
    pub(super) calls: u64,
    #[serde(default = "nothing")]
    pub(super) cpu: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quiet: Option<String>,
    #[serde(default)]
    pub(super) waited_faults: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KinText {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Pid>,
    pub(super) part: Part,
    pub(super) server: String,
    pub(super) pattern: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) runs_commands: bool,
    pub(super) client: String,
    pub(super) client_pid: Pid,
    /// How long ago the client started, to know it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_age: Option<String>,
}

pub(super) fn yes() -> bool {
    true
}

pub(super) fn is_true(flag: &bool) -> bool {
    *flag
}

pub(super) fn is_false(flag: &bool) -> bool {
    !*flag
}

pub(super) fn nothing() -> String {
    "0s".to_owned()
}

/// A key that may not be there.
pub(super) type Field<T> = Option<Written<T>>;

pub(super) fn fact<T, U>(
    written: Field<T>,
    read: impl FnOnce(T) -> Result<U, String>,
) -> Result<Fact<U>, String> {
    Ok(match written {
        None | Some(Written::Missing(Missing::Unread)) => Fact::Unread,
        Some(Written::Missing(Missing::Absent)) => Fact::Absent,
        Some(Written::Missing(Missing::Denied)) => Fact::Denied,
        Some(Written::Missing(Missing::Gone)) => Fact::Gone,
        Some(Written::Value(value)) => Fact::Known(read(value)?),
    })
}

pub(super) fn field<T, U>(fact: &Fact<T>, write: impl FnOnce(&T) -> U) -> Field<U> {
    match fact {
        Fact::Unread => None,
        Fact::Absent => Some(Written::Missing(Missing::Absent)),
        Fact::Denied => Some(Written::Missing(Missing::Denied)),
        Fact::Gone => Some(Written::Missing(Missing::Gone)),
        Fact::Known(value) => Some(Written::Value(write(value))),
    }
}

pub(super) fn read_command(command: Command) -> Result<Vec<String>, String> {
    match command {
        Command::Words(words) => Ok(words),
        Command::Line(line) => shell_words::split(&line).map_err(|error| format!("`{line}`: {error}")),
    }
}

pub(super) fn users(user: &User) -> Users {
    match user {
        User::Both(uid) => Users { real: *uid, effective: *uid },
        User::RealAndEffective([real, effective]) => Users { real: *real, effective: *effective },
    }
}

pub(super) fn listener(text: ListenerText) -> Listener {
    let visitors = Visitors { pids: text.visitors, elsewhere: text.elsewhere, complete: text.complete };
    Listener { address: text.address, visitors }
}

pub(super) fn listener_text(listener: &Listener) -> ListenerText {
    let Visitors { pids, elsewhere, complete } = listener.visitors.clone();
    ListenerText { address: listener.address.clone(), visitors: pids, elsewhere, complete }
}

pub(super) fn read_marks(text: MarksText) -> Marks {
    let client = text.client.map(|name| ClientMark { name, pid: text.client_pid });
    Marks { orphand: text.orphand, systemd_exec_pid: text.systemd_exec_pid, client }
}

pub(super) fn marks_text(marks: &Marks) -> MarksText {
    MarksText {
        orphand: marks.orphand.clone(),
        systemd_exec_pid: marks.systemd_exec_pid.clone(),
        client: marks.client.as_ref().map(|client| client.name.clone()),
        client_pid: marks.client.as_ref().and_then(|client| client.pid),
    }
}

pub(super) fn channel(text: ChannelText) -> Channel {
    let others = Visitors { pids: text.others, elsewhere: text.elsewhere, complete: text.complete };
    Channel { what: text.what, way: text.way, others, as_stdio: text.as_stdio }
}

pub(super) fn channel_text(channel: &Channel) -> ChannelText {
    let Visitors { pids, elsewhere, complete } = channel.others.clone();
    let as_stdio = channel.as_stdio.clone();
    ChannelText { what: channel.what.clone(), way: channel.way, others: pids, elsewhere, as_stdio, complete }
}
