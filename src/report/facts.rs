//! The facts behind a verdict, one process at a time, in words; and what would make the denied ones readable.

use super::{View, user_name};
use crate::process::{Channel, Descriptor, Fact, FarEnd, Holders, Listener, Pid, Process, Stream};
use crate::redact::printable;
use crate::words::{duration, size};

/// Of a busy process no more than this many are told.
const MOST_CHANNELS: usize = 6;

/// One fact: its name and what is known.
pub(super) type Line = (&'static str, String);

/// Everything known of a process that a verdict may rest on.
pub(super) fn facts(view: View<'_>, process: &Process) -> Vec<Line> {
    let details = &process.details;
    let table = &view.look.table;
    let mut lines: Vec<Line> = Vec::new();
    lines.push(("parent", process.parent.map_or("0".to_owned(), |parent| parent.to_string())));
    let user = say(&details.users, |users| {
        if users.real == users.effective {
            user_name(users.real)
        } else {
            format!("{} as {}", user_name(users.real), user_name(users.effective))
        }
    });
    lines.push(("user", user));
    lines.push(("age", duration(table.age(process))));
    lines.push((
        "processor time",
        if process.cpu.is_zero() { "none".to_owned() } else { duration(process.cpu) },
    ));
    for stream in Stream::ALL {
        let browser = matches!(stream, Stream::Commands | Stream::Answers);
        if browser && !crate::tree::has_debugging_pipe(process.arguments()) {
            continue;
        }
        let name = match stream {
            Stream::Stdin => "stdin",
            Stream::Stdout => "stdout",
            Stream::Commands => "fd 3",
            Stream::Answers => "fd 4",
        };
        lines.push((name, stream_words(process, stream)));
    }
    if let Some([stdin, stdout]) = details.moved_stdio {
        lines.push(("moved to", format!("descriptors {stdin} and {stdout}")));
    }
    lines.push(("listens on", say(&details.listeners, |all| listeners(all))));
    lines.push(("connected", say(&details.channels, |all| channels(all))));
    lines.push(("disk traffic", say(&details.moved, |moved| size(moved.disk))));
    let marks = say(&details.marks, |marks| {
        let pid =
            |mark: &crate::process::ClientMark| mark.pid.map_or(String::new(), |pid| format!(" ({pid})"));
        let shown = [
            marks.orphand.as_ref().map(|value| format!("ORPHAND={}", printable(value))),
            marks.systemd_exec_pid.as_ref().map(|value| format!("SYSTEMD_EXEC_PID={}", printable(value))),
            marks.client.as_ref().map(|mark| format!("started by {}{}", mark.name, pid(mark))),
        ];
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        if shown.is_empty() { "no marks".to_owned() } else { shown.join(", ") }
    });
    lines.push(("environment", marks));
    lines.push(("cgroup", say(&details.cgroup, |path| printable(path))));
    if details.tracer != Fact::Absent {
        lines.push(("traced by", say(&details.tracer, Pid::to_string)));
    }
    let own = table.observer.pid_namespace;
    if details.pid_namespace.is_hidden() || details.pid_namespace.known().copied() != own {
        lines.push(("PID namespace", say(&details.pid_namespace, |_| "another one".to_owned())));
    }
    let own = table.observer.net_namespace;
    if details.net_namespace.is_hidden() || details.net_namespace.known().copied() != own {
        lines.push(("network namespace", say(&details.net_namespace, |_| "another one".to_owned())));
    }
    lines
}

/// What would make denied facts readable; nothing when none was denied.
pub(super) fn advice<'a>(processes: impl Iterator<Item = &'a Process>) -> Option<String> {
    let denied: Vec<Pid> = processes.filter(|process| has_denied(process)).map(Process::pid).collect();
    let (first, more) = denied.split_first()?;
    let who =
        if more.is_empty() { format!("process {first}") } else { format!("{} processes", denied.len()) };
    Some(format!(
        "Facts of {who} were denied. Descriptors, environment and disk traffic need root or CAP_SYS_PTRACE with \
         CAP_DAC_READ_SEARCH, and a /proc without hidepid; sockets of another network namespace can only be seen from \
         within it. Nothing is reaped on a fact that is missing."
    ))
}

fn has_denied(process: &Process) -> bool {
    let details = &process.details;
    details.users == Fact::Denied
        || details.marks == Fact::Denied
        || details.moved == Fact::Denied
        || details.listeners == Fact::Denied
        || details.descriptors.contains(&Fact::Denied)
        || details.far_ends.contains(&Fact::Denied)
        || process.command == Fact::Denied
}

fn stream_words(process: &Process, stream: Stream) -> String {
    let what = say(process.descriptor(stream), |descriptor| match descriptor {
        Descriptor::Pipe(inode) => format!("pipe {inode}"),
        Descriptor::Socket(inode) => format!("socket {inode}"),
        other => other.word().to_owned(),
    });
    if !process.descriptor(stream).known().is_some_and(Descriptor::is_stdio) {
        return what;
    }
    let end = match process.far_end(stream) {
        Fact::Known(FarEnd::HungUp) => "nobody at its other end".to_owned(),
        Fact::Known(FarEnd::Open(None)) => "somebody at its other end".to_owned(),
        Fact::Known(FarEnd::Open(Some(holders))) => held(holders),
        Fact::Known(FarEnd::Unknown(why)) => format!("its other end cannot be seen: {}", printable(why)),
        hidden => format!("its other end {}", missing(hidden)),
    };
    format!("{what} ({end})")
}

fn held(holders: &Holders) -> String {
    let pids = holders.pids.iter().map(Pid::to_string).collect::<Vec<_>>().join(", ");
    let who = if pids.is_empty() {
        "its other end is open, held by nobody here".to_owned()
    } else {
        format!("held by {pids}")
    };
    if holders.complete { who } else { format!("{who}; not every process could be searched") }
}

fn listeners(all: &[Listener]) -> String {
    if all.is_empty() {
        return "nothing".to_owned();
    }
    let words = |listener: &Listener| {
        let pids = listener.visitors.pids.iter().map(Pid::to_string);
        let who: Vec<String> =
            pids.chain(listener.visitors.elsewhere.iter().map(|from| printable(from))).collect();
        let who = if who.is_empty() {
            "nobody connected".to_owned()
        } else {
            format!("connected: {}", who.join(", "))
        };
        format!("{} ({who})", printable(&listener.address))
    };
    all.iter().map(words).collect::<Vec<_>>().join(", ")
}

fn channels(all: &[Channel]) -> String {
    let words = |channel: &Channel| {
        let pids = channel.others.pids.iter().map(Pid::to_string).collect::<Vec<_>>().join(", ");
        let what = printable(&channel.what);
        if pids.is_empty() { what } else { format!("{what} ({pids})") }
    };
    let lines: Vec<String> = all.iter().take(MOST_CHANNELS).map(words).collect();
    match (all.len(), all.len().saturating_sub(MOST_CHANNELS)) {
        (0, _) => "nowhere else".to_owned(),
        (_, 0) => lines.join(", "),
        (_, more) => format!("{} and {more} more", lines.join(", ")),
    }
}

fn say<T>(fact: &Fact<T>, words: impl FnOnce(&T) -> String) -> String {
    fact.known().map_or_else(|| missing(fact).to_owned(), words)
}

fn missing<T>(fact: &Fact<T>) -> &'static str {
    match fact {
        Fact::Known(_) => "known",
        Fact::Unread => "not read",
        Fact::Absent => "none",
        Fact::Denied => "denied",
        Fact::Gone => "gone",
    }
}
