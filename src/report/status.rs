//! `orphand status` for people.

use crate::redact::{printable, sentence};
use crate::status::{LastReap, OpenTree, Status};
use crate::words::{duration, size, trees};
use std::fmt::Write;
use std::time::Duration;

/// Of more trees than this only the number is said.
const MOST_OPEN: usize = 10;

/// Everything that the daemon says of itself.
pub fn status_text(status: &Status) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        let name = if name.is_empty() { String::new() } else { format!("{name}:") };
        let _ = writeln!(out, "{name:<15}{}", printable(text));
    };
    let uptime = duration(Duration::from_secs(status.uptime_s));
    line(
        "running",
        &format!("process {}, version {}, for {uptime} (since {})", status.pid, status.version, status.since),
    );
    let whose = match &status.user {
        Some(user) => format!("the processes of {user}"),
        None => "the whole machine".to_owned(),
    };
    let acts = match status.mode.as_str() {
        "observe" => "observes, signals nothing",
        _ => "takes down what is proven to be an orphan",
    };
    line("looks after", &format!("{whose}; {acts} (mode = \"{}\")", status.mode));
    match status.signals.as_str() {
        "audit-token" => line("signals", "go with the process's audit token, which the kernel compares"),
        "comparison" => line(
            "signals",
            "go by number, compared with start time and unique number right before: the weaker guarantee",
        ),
        // A handle of the kernel's needs no words.
        _ => {}
    }
    match &status.last_look {
        Some(look) => line(
            "last look",
            &format!(
                "{} ({}), took {} ms: {} processes, {} of them read closely; the next in {} at the latest",
                look.at,
                look.because,
                look.took_ms,
                look.processes,
                look.read,
                duration(Duration::from_secs(status.next_look_s))
            ),
        ),
        None => line("last look", "none yet"),
    }
    if status.looking_s > 2 {
        let since = duration(Duration::from_secs(status.looking_s));
        line("", &format!("one has been going on for {since}: something keeps the kernel from answering"));
    }
    if let Some(error) = &status.look_failed {
        line("", &format!("the one after that failed: {error}"));
    }
    let found = &status.trees;
    line(
        "trees",
        &format!(
            "{}, {} orphaned: {} to reap, {} to wait, {} spared, {} to report; {} being taken down",
            found.total, found.orphaned, found.reap, found.wait, found.spare, found.report, found.falling
        ),
    );
    for tree in status.open.iter().take(MOST_OPEN) {
        line("", &open_line(tree));
    }
    if status.open.len() > MOST_OPEN {
        line("", "... (`orphand scan` shows all)");
    }
    let mut watched = match status.watched.parents {
        1 => "the end of 1 client or other parent of servers".to_owned(),
        parents => format!("the end of {parents} clients or other parents of servers"),
    };
    if status.watched.missed > 0 {
        let _ = write!(
            watched,
            "; of {} more it learns only at the next look, for want of open files (`ulimit -n`)",
            status.watched.missed
        );
    }
    line("waits for", &watched);
    let mut taken = format!("{}, {} given back", trees(status.reaped.trees), size(status.reaped.freed));
    if status.reaped.failed > 0 {
        let _ = write!(taken, "; {} could not be taken down", trees(status.reaped.failed));
    }
    line("taken down", &taken);
    for reap in &status.last_reaps {
        line("", &reap_line(reap));
    }
    let mut memory = status.memory.file.clone();
    if let Some(problem) = &status.memory.problem {
        let _ = write!(memory, "; not written: {problem}");
    }
    line("memory", &memory);
    line("configuration", &format!("read at {}", status.configuration.loaded_at));
    for problem in &status.configuration.problems {
        line("", &format!("not in force, as it is wrong: {problem}"));
    }
    for shortcoming in &status.shortcomings {
        line("cannot", &format!("{}. Remedy: {}", shortcoming.what, shortcoming.remedy));
    }
    out
}

fn open_line(tree: &OpenTree) -> String {
    let client = tree.client.as_ref().map_or(String::new(), |client| format!(" of {}", sentence(client)));
    let wait =
        tree.wait_s.map_or(String::new(), |wait| format!(", {} to go", duration(Duration::from_secs(wait))));
    format!(
        "{} {}{client} ({}): {}{wait}: {}",
        tree.verdict,
        sentence(&tree.server),
        tree.root,
        tree.code,
        sentence(&tree.text)
    )
}

fn reap_line(reap: &LastReap) -> String {
    let client = reap.client.as_ref().map_or(String::new(), |client| format!(" of {}", sentence(client)));
    format!(
        "{}  {}{client} ({}): {}, {}, {}",
        reap.at,
        sentence(&reap.server),
        reap.root,
        reap.code,
        reap.result,
        size(reap.freed)
    )
}
