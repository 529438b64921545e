//! Processes as facts: identities, what could be read of each, and the table of one look.
//!
//! This room knows nothing of the rest of the crate.

mod facts;
mod pids;
mod table;

pub use facts::{
    Channel, ClientMark, DESCRIPTORS, Deferred, Descriptor, Details, Fact, FarEnd, Holders, Listener, Marks,
    Memory, Moved, Stream, Users, Visitors, Way,
};
pub use pids::{PidHasher, PidMap};
pub use table::{Moment, Observer, ProcessTable};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroI32;
use std::time::Duration;

/// A process number. Zero and negative numbers cannot be built, so a signal can never go to a group or to everyone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct Pid(NonZeroI32);

impl Pid {
    /// PID 1 of the namespace that is looked at.
    pub const INIT: Pid = Pid(NonZeroI32::new(1).unwrap());

    /// A pid from a raw number; `None` for zero and negatives.
    pub fn new(raw: i32) -> Option<Pid> {
        if raw > 0 { NonZeroI32::new(raw).map(Pid) } else { None }
    }

    /// The raw number, always positive.
    pub fn get(self) -> i32 {
        self.0.get()
    }
}

impl TryFrom<i32> for Pid {
    type Error = String;
    fn try_from(raw: i32) -> Result<Pid, String> {
        Pid::new(raw).ok_or_else(|| format!("{raw} is no process number"))
    }
}

impl From<Pid> for i32 {
    fn from(pid: Pid) -> i32 {
        pid.get()
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which boot of the machine a process belongs to (`/proc/sys/kernel/random/boot_id` on Linux).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct BootId(pub u128);

/// What names one process for ever. A bare pid does not: it is reused, even within one clock tick.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number, reused by the kernel after it is gone.
    pub pid: Pid,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
    /// The kernel's never-reused number: the pidfs inode (Linux 6.9 and later). `None` where not read or not to be had.
    pub unique: Option<u64>,
    /// The boot it was seen in.
    pub boot: BootId,
}

impl ProcessId {
    /// Whether two sightings can be the same process: every part that both have agrees.
    pub fn same(&self, other: &ProcessId) -> bool {
        self.pid == other.pid
            && self.start_ticks == other.start_ticks
            && self.boot == other.boot
            && (self.unique.is_none() || other.unique.is_none() || self.unique == other.unique)
    }
}

/// The scheduler's state letter of `/proc/PID/stat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// Running, sleeping, idle, in uninterruptible sleep: alive.
    #[default]
    Alive,
    /// Stopped or traced: does not act on SIGTERM until it is continued.
    Stopped,
    /// Ended, not yet reaped by its parent.
    Zombie,
}

/// One process of a look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Who it is.
    pub id: ProcessId,
    /// Its parent; `None` when the parent is pid 0 (the kernel, or outside this PID namespace).
    pub parent: Option<Pid>,
    /// Alive, stopped or a zombie.
    pub state: State,
    /// A thread of the kernel, not a program.
    pub kernel: bool,
    /// Processor time that it and the children that it has waited for have used.
    pub cpu: Duration,
    /// Page faults of the children that it has waited for: they grow with every child that ends.
    pub waited_faults: u64,
    /// A mark of the program that it runs and of the name that it goes by: another one after `exec`, most likely.
    pub program: u64,
    /// Arguments, the program first; lossy UTF-8. Empty when the process has cleared them.
    pub command: Fact<Vec<String>>,
    /// Read for candidates only.
    pub details: Deferred,
}

impl Process {
    /// Its number.
    pub fn pid(&self) -> Pid {
        self.id.pid
    }

    /// Its arguments, or nothing where they are not known.
    pub fn arguments(&self) -> &[String] {
        self.command.known().map_or(&[], Vec::as_slice)
    }

    /// Descriptor 0, where known.
    pub fn stdin(&self) -> Option<&Descriptor> {
        self.descriptor(Stream::Stdin).known()
    }

    /// The descriptor of a stream.
    pub fn descriptor(&self, stream: Stream) -> &Fact<Descriptor> {
        &self.details.descriptors[stream as usize]
    }

    /// The far end of a stream.
    pub fn far_end(&self, stream: Stream) -> &Fact<FarEnd> {
        &self.details.far_ends[stream as usize]
    }
}
