//! The lifeline: stdin, seen from its far end. Stdout is looked at in the same way, for whoever still reads.

use crate::process::{Descriptor, Fact, FarEnd, Pid, Process, ProcessTable, Stream};
use std::collections::HashSet;

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

    /// The far end of a process's stdin or stdout, given the members of all trees that are condemned so far.
    pub fn of(table: &ProcessTable, process: &Process, stream: Stream, condemned: &HashSet<Pid>) -> Lifeline {
        let descriptor = match process.descriptor(stream) {
            Fact::Known(descriptor) => descriptor,
            Fact::Absent => return Lifeline::Unknown(format!("its {} is closed", word(stream))),
            Fact::Denied => return Lifeline::Unknown("its descriptors may not be read".to_owned()),
            Fact::Gone => return Lifeline::Unknown("it ended during the look".to_owned()),
            Fact::Unread => return Lifeline::Unknown("its descriptors were not read".to_owned()),
        };
        if !descriptor.is_stdio() {
            return Lifeline::NotStdio(format!("{} is {}", word(stream), descriptor.word()));
        }
        let holders = match process.far_end(stream) {
            Fact::Known(FarEnd::HungUp) => return Lifeline::HungUp,
            Fact::Known(FarEnd::Unknown(why)) => {
                return Lifeline::Unknown(format!("of its {}, {why}", word(stream)));
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
        let outside: Vec<Pid> = others().filter(|pid| !condemned.contains(pid)).collect();
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
            return Lifeline::NotStdio(format!("it holds both ends of its {} itself", word(stream)));
        }
        Lifeline::HungUp
    }
}

fn word(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdin => "stdin",
        Stream::Stdout => "stdout",
    }
}

/// Whether stdout could carry answers to a client.
pub(super) fn stdout_problem(process: &Process) -> Option<String> {
    match &process.details.stdio[1] {
        Fact::Known(stdout) if !stdout.is_stdio() => Some(format!("stdout is {}", stdout.word())),
        Fact::Known(Descriptor::Pipe(_) | Descriptor::Socket(_)) => None,
        Fact::Absent => Some("stdout is closed".to_owned()),
        _ => None,
    }
}
