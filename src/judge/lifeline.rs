//! The lifeline: stdin, seen from its far end. Stdout is looked at in the same way, for whoever still reads.

use crate::process::{Descriptor, Fact, FarEnd, Pid, Process, ProcessTable, Stream};
use crate::tree::{has_debugging_pipe, listens_for_debuggers};

/// Whether anybody can still talk to a process over stdin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lifeline {
    /// Nobody: the far end is closed, or held only by condemned trees.
    HungUp,
    /// These processes hold the far end.
    Held(Vec<Pid>),
    /// Stdin is no anonymous pipe or socket, or the process holds both ends itself.
    NotStdio(String),
    /// It cannot be seen; the words say why.
    Unknown(String),
}

/// Whether a process is a member of the tree itself, or of one that is condemned so far.
pub(super) type Inside<'a> = &'a dyn Fn(Pid) -> bool;

impl Lifeline {
    /// The word of the JSON contract.
    pub fn word(&self) -> &'static str {
        match self {
            Lifeline::HungUp => "hung-up",
            Lifeline::Held(_) => "held",
            Lifeline::NotStdio(_) => "not-stdio",
            Lifeline::Unknown(_) => "unknown",
        }
    }

    /// The far end of a process's stream, given who does not count as somebody outside.
    pub fn of(table: &ProcessTable, process: &Process, stream: Stream, inside: Inside<'_>) -> Lifeline {
        let descriptor = match process.descriptor(stream) {
            Fact::Known(descriptor) => descriptor,
            Fact::Absent => return Lifeline::Unknown(format!("its {} is closed", stream.word())),
            Fact::Denied => return Lifeline::Unknown("its descriptors may not be read".to_owned()),
            Fact::Gone => return Lifeline::Unknown("it ended during the look".to_owned()),
            Fact::Unread => return Lifeline::Unknown("its descriptors were not read".to_owned()),
        };
        if !descriptor.is_stdio() {
            return Lifeline::NotStdio(format!("{} is {}", stream.word(), descriptor.word()));
        }
        let holders = match process.far_end(stream) {
            Fact::Known(FarEnd::HungUp) => return Lifeline::HungUp,
            Fact::Known(FarEnd::Unknown(why)) => {
                return Lifeline::Unknown(format!("of its {}, {why}", stream.word()));
            }
            Fact::Known(FarEnd::Open(Some(holders))) => holders,
            Fact::Known(FarEnd::Open(None)) => {
                return Lifeline::Unknown("the far end is open; nobody looked for its holders".to_owned());
            }
            Fact::Denied => return Lifeline::Unknown("the far end may not be looked at".to_owned()),
            _ => return Lifeline::Unknown("the far end was not read".to_owned()),
        };
        // Whoever keeps his own end open, himself or by a process of his, does not want to end with his client.
        let own = |pid: &Pid| *pid == process.pid() || table.ancestors(*pid).contains(&process.pid());
        let others = || holders.pids.iter().copied().filter(|pid| !own(pid));
        let outside: Vec<Pid> = others().filter(|pid| !inside(*pid)).collect();
        if !outside.is_empty() {
            return Lifeline::Held(outside);
        }
        if !holders.complete {
            let text = "the far end is open, and not every process could be searched for its holder";
            return Lifeline::Unknown(text.to_owned());
        }
        if holders.pids.is_empty() {
            let text =
                "the far end is open, but no process here holds it: it is in another namespace or on its way";
            return Lifeline::Unknown(text.to_owned());
        }
        if others().count() < holders.pids.len() {
            return Lifeline::NotStdio(format!("it holds both ends of its {} itself", stream.word()));
        }
        Lifeline::HungUp
    }
}

/// The line of a browser that stands alone: its debugging pipe, where it was given one.
pub(super) fn of_browser(
    table: &ProcessTable,
    browser: &Process,
    stream: Stream,
    inside: Inside<'_>,
) -> Lifeline {
    if listens_for_debuggers(browser.arguments()) {
        return Lifeline::Unknown("the browser has a debugging port that anybody may use".to_owned());
    }
    if !has_debugging_pipe(browser.arguments()) {
        return Lifeline::Unknown("the browser has no debugging pipe that could tell".to_owned());
    }
    Lifeline::of(table, browser, stream, inside)
}

/// The line of a watchdog: the process that it was told to watch. `None` where it was told none.
pub(super) fn of_watchdog(table: &ProcessTable, watchdog: &Process, option: &str) -> Option<Lifeline> {
    let watched = watched_by(watchdog.arguments(), option)?;
    // A process that started later only has the number of the one that was meant.
    // (One whose main thread has ended looks like a zombie and may go on.)
    let meant = |process: &&Process| process.id.start_ticks <= watchdog.id.start_ticks;
    Some(match table.get(watched).filter(meant) {
        Some(process) => Lifeline::Held(vec![process.pid()]),
        None => Lifeline::HungUp,
    })
}

/// The pid that an option names: `--parent-pid=4711` or `--parent-pid 4711`.
pub(super) fn watched_by(arguments: &[String], option: &str) -> Option<Pid> {
    let mut words = arguments.iter().flat_map(|argument| argument.split_whitespace());
    let value = words.find_map(|word| {
        let rest = word.strip_prefix(option)?;
        if rest.is_empty() { Some(None) } else { rest.strip_prefix('=').map(Some) }
    })?;
    value.or_else(|| words.next())?.parse().ok().and_then(Pid::new)
}

/// Whether stdout could carry answers to a client.
pub(super) fn stdout_problem(process: &Process) -> Option<String> {
    match process.descriptor(Stream::Stdout) {
        Fact::Known(stdout) if !stdout.is_stdio() => Some(format!("stdout is {}", stdout.word())),
        Fact::Known(Descriptor::Pipe(_) | Descriptor::Socket(_)) => None,
        Fact::Absent => Some("stdout is closed".to_owned()),
        _ => None,
    }
}
