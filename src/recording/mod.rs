//! A process table as a file: what `orphand record` writes and `--replay` reads. TOML, so that a person can read it, cut
//! it down and write one by hand.
//!
//! A fact that is not there was not read; facts that most processes share stand once, in `[common]`.

mod entry;
mod parts;
#[cfg(test)]
mod tests;
mod words;

use crate::memory::{Memory, Seen};
use crate::process::{BootId, Moment, Observer, Pid, ProcessTable};
use entry::Entry;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use words::{duration_of, duration_text};

/// The only version there is.
const SCHEMA: u32 = 1;
/// Every recorded process is of this boot.
const BOOT: BootId = BootId(1);

/// One look with all facts, and what earlier looks had seen of its processes.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    /// When it was taken, RFC 3339; empty where nobody knows.
    pub taken_at: String,
    /// The processes.
    pub table: ProcessTable,
    /// What was remembered.
    pub memory: Memory,
}

/// Why a file is no recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordingError {
    /// It is no TOML, or not of this form. The words name the line.
    #[error("is no recorded table: {0}")]
    Form(String),
    /// A later version wrote it.
    #[error("has schema {0}; this version reads schema {SCHEMA}")]
    Schema(u32),
    /// One value makes no sense.
    #[error("{place}: {problem}")]
    Value {
        /// Which process and key.
        place: String,
        /// What is wrong, and what it may be.
        problem: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    taken_at: String,
    #[serde(default = "usual_uptime")]
    since_boot: String,
    /// Where the machine has slept: how long it was awake since boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    awake: Option<String>,
    #[serde(default = "usual_ticks")]
    ticks_per_second: u64,
    observer: ObserverText,
    #[serde(default)]
    common: Entry,
    #[serde(default)]
    process: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reap: Vec<ReapText>,
    /// What a test expects of it; nothing for a look.
    #[serde(default, skip_serializing)]
    #[allow(dead_code, reason = "a recording that is a test's case is a recording all the same")]
    case: Option<IgnoredAny>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObserverText {
    pid: Pid,
    uid: u32,
    machine: bool,
    pid_namespace: Option<u64>,
    net_namespace: Option<u64>,
    #[serde(default)]
    wsl: bool,
}

/// The digest is written in hexadecimal: TOML has no unsigned numbers of 64 bits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReapText {
    command: String,
    ago: String,
    times: usize,
}

/// Of a table that was written by hand: long enough for everything to have happened.
fn usual_uptime() -> String {
    "8760h".to_owned()
}

fn usual_ticks() -> u64 {
    100
}

fn wrong(place: impl Into<String>, problem: impl Into<String>) -> RecordingError {
    RecordingError::Value { place: place.into(), problem: problem.into() }
}

impl Recording {
    /// Reads a recording.
    pub fn parse(text: &str) -> Result<Recording, RecordingError> {
        let document: Document = toml::from_str(text)
            .map_err(|error| RecordingError::Form(error.to_string().trim_end().to_owned()))?;
        if document.schema != SCHEMA {
            return Err(RecordingError::Schema(document.schema));
        }
        let since_boot = duration_of(&document.since_boot).map_err(|problem| wrong("since_boot", problem))?;
        let awake = document.awake.as_deref().map_or(Ok(since_boot), duration_of);
        let at = Moment { since_boot, awake: awake.map_err(|problem| wrong("awake", problem))? };
        let clock = entry::Clock { at, ticks_per_second: document.ticks_per_second.max(1), boot: BOOT };
        if document.common.pid.is_some() || document.common.parent.is_some() {
            return Err(wrong("[common]", "cannot name a process: `pid` and `parent` belong to [[process]]"));
        }
        let mut processes = Vec::new();
        let mut seen = entry::Remembered::default();
        for written in document.process {
            let process = written.over(&document.common).read(clock, &mut seen)?;
            if processes.iter().any(|known: &crate::process::Process| known.pid() == process.pid()) {
                return Err(wrong(format!("process {}", process.pid()), "stands there twice"));
            }
            processes.push(process);
        }
        let observer = Observer {
            pid: document.observer.pid,
            uid: document.observer.uid,
            machine: document.observer.machine,
            pid_namespace: document.observer.pid_namespace,
            net_namespace: document.observer.net_namespace,
            wsl: document.observer.wsl,
        };
        let table = ProcessTable::new(BOOT, at, clock.ticks_per_second, observer, processes);
        let mut memory = Memory::restored(
            BOOT,
            seen.sightings,
            Seen { samples: seen.samples, kin: seen.kin, ..Seen::default() },
        );
        memory.survived(seen.survivors);
        for reap in document.reap {
            let place = || format!("[[reap]] {}", reap.command);
            let command =
                u64::from_str_radix(&reap.command, 16).map_err(|error| wrong(place(), error.to_string()))?;
            let ago = duration_of(&reap.ago).map_err(|problem| wrong(place(), problem))?;
            memory.reaped(command, since_boot.saturating_sub(ago), reap.times.saturating_sub(1));
        }
        Ok(Recording { taken_at: document.taken_at, table, memory })
    }

    /// Writes it, command lines as they are: whoever calls this has hidden the secrets before.
    pub fn write(&self) -> Result<String, RecordingError> {
        let table = &self.table;
        let mut process: Vec<Entry> =
            table.iter().map(|process| Entry::of(process, table, &self.memory)).collect();
        let common = entry::take_common(&mut process);
        let observer = &table.observer;
        let ago = |at: Duration| duration_text(table.at.since_boot.saturating_sub(at));
        let document = Document {
            schema: SCHEMA,
            taken_at: self.taken_at.clone(),
            since_boot: duration_text(table.at.since_boot),
            awake: (table.at.awake != table.at.since_boot).then(|| duration_text(table.at.awake)),
            ticks_per_second: table.ticks_per_second,
            observer: ObserverText {
                pid: observer.pid,
                uid: observer.uid,
                machine: observer.machine,
                pid_namespace: observer.pid_namespace,
                net_namespace: observer.net_namespace,
                wsl: observer.wsl,
            },
            common,
            process,
            reap: (self.memory.reaps().iter())
                .map(|reap| ReapText {
                    command: format!("{:016x}", reap.command),
                    ago: ago(reap.at),
                    times: reap.times,
                })
                .collect(),
            case: None,
        };
        toml::to_string(&document).map_err(|error| RecordingError::Form(error.to_string()))
    }
}
