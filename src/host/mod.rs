//! The machine: the only room that reads it, and the only one that can signal.

mod addresses;
#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(any(target_os = "macos", feature = "portable"))]
pub mod macos;
mod marks;
#[cfg(any(target_os = "macos", feature = "portable"))]
pub mod portable;
mod posix;
pub mod replay;

pub use posix::{allow_many_open_files, keep_files_private, keep_memory_small};

/// The machine that orphand runs on.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub type Machine = linux::Linux;
/// The machine that orphand runs on, seen as a Mac is: for tests.
#[cfg(all(target_os = "linux", feature = "portable"))]
pub type Machine = portable::Portable<linux::AsPortable>;
/// The machine that orphand runs on.
#[cfg(target_os = "macos")]
pub type Machine = portable::Portable<macos::MacOs>;

use crate::process::{BootId, Descriptor, Fact, Observer, Pid, ProcessId, ProcessTable, Stream};
use crate::reap::Signal;
use crate::status::Shortcoming;
use std::future::Future;
use std::io;

/// What could not be done with a process.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The process table itself cannot be read.
    #[error("cannot read the process table at {place}: {error}")]
    NoTable {
        /// Where.
        place: String,
        /// What the system said.
        error: io::Error,
    },
    /// The process has ended.
    #[error("it has ended")]
    Ended,
    /// The limit on open files is used up.
    #[error("the limit on open files is used up (`ulimit -n`, or LimitNOFILE= of the service)")]
    NoRoom,
    /// The system refused.
    #[error("{0}")]
    Refused(#[from] io::Error),
}

/// A machine to look at. The steps of a look read more and more of fewer and fewer processes.
pub trait Host {
    /// How this machine holds a process.
    type Pin: Pin;

    /// From where it looks, and what it may touch.
    fn observer(&self) -> &Observer;

    /// The boot of the machine.
    fn boot(&self) -> BootId;

    /// All processes, with what one `stat` of each gives.
    fn list(&self) -> Result<ProcessTable, HostError>;

    /// Reads the command lines of these.
    fn read_commands(&self, table: &mut ProcessTable, pids: &[Pid]);

    /// The command line that a process has at this moment.
    fn command_of(&self, pid: Pid) -> Fact<Vec<String>>;

    /// Reads the details of these, and their command lines once more: they may have run another program since.
    fn read_details(&self, table: &mut ProcessTable, pids: &[Pid]);

    /// Reads only how much these have moved by now.
    fn read_moved(&self, table: &mut ProcessTable, pids: &[Pid]);

    /// Reads the proportional memory of these. The kernel walks all their pages for it, so it is asked last.
    fn read_shares(&self, table: &mut ProcessTable, pids: &[Pid]);

    /// Reads only users of these.
    fn read_users(&self, table: &mut ProcessTable, pids: &[Pid]);

    /// Finds out what these listen on, what else they are connected by, and who is at the other ends.
    fn read_channels(&self, table: &mut ProcessTable, pids: &[Pid]);

    /// Looks at the far ends of these.
    fn read_far_ends(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]);

    /// Finds out who holds the open ones among these far ends.
    fn read_holders(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]);

    /// For each of these pipes and sockets the processes that have its near end open. `None` when not everyone could be
    /// searched.
    fn sharers(&self, table: &ProcessTable, descriptors: &[Descriptor]) -> Option<Vec<Vec<Pid>>>;

    /// How many processes can be held at once.
    fn room_for_pins(&self) -> usize;

    /// What this machine does not let orphand see or do, found out by trying. Signals nobody: signal 0 only asks.
    fn self_test(&self) -> Vec<Shortcoming>;

    /// What signals rest on.
    fn guarantee(&self) -> Guarantee;

    /// Holds this very process and no other one of its number.
    fn pin_exactly(&self, id: &ProcessId) -> Result<Self::Pin, HostError>;

    /// Holds a process, so that its number cannot come to mean another one.
    fn pin(&self, pid: Pid) -> Result<Self::Pin, HostError>;
}

/// What makes a signal reach the process that it is meant for, and no other one of its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guarantee {
    /// A handle of the kernel's: a pidfd.
    Handle,
    /// The kernel compares the process's own token.
    Token,
    /// orphand compares start time and unique number right before it. Between the two the process could end and another one get
    /// its number: the weaker guarantee.
    Comparison,
}

impl Guarantee {
    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Guarantee::Handle => "pidfd",
            Guarantee::Token => "audit-token",
            Guarantee::Comparison => "comparison",
        }
    }
}

/// A process that is held.
pub trait Pin {
    /// Whether it has ended, reaped by its parent or not.
    fn has_ended(&self) -> bool;

    /// Sends a signal to exactly this process.
    fn signal(&self, signal: Signal) -> Result<(), HostError>;

    /// Waits until it has ended.
    fn ended(&self) -> impl Future<Output = ()>;
}
