//! Processes as facts: identities, what could be read of each, and the table of one look.
//!
//! This room knows nothing of the rest of the crate.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
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

/// Something that was asked about a process. "Cannot see" never looks like "is not there".
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Fact<T> {
    /// Nobody asked in this look. The judge treats it like `Denied`.
    #[default]
    Unread,
    /// Read, and this is it.
    Known(T),
    /// Read: there is none.
    Absent,
    /// The kernel refused.
    Denied,
    /// The process ended before it could be read.
    Gone,
}

impl<T> Fact<T> {
    /// The value, where it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the fact is missing although the process may have one.
    pub fn is_hidden(&self) -> bool {
        matches!(self, Fact::Unread | Fact::Denied | Fact::Gone)
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

/// Real and effective user of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Users {
    /// Real uid.
    pub real: u32,
    /// Effective uid.
    pub effective: u32,
}

/// What a file descriptor is. Numbers are kernel inode numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Descriptor {
    /// An anonymous pipe.
    Pipe(u64),
    /// A socket of any family.
    Socket(u64),
    /// `/dev/null`.
    Null,
    /// A terminal.
    Terminal,
    /// A FIFO with a name in the file system: anybody may open it again.
    NamedFifo,
    /// A regular file or anything else with a path.
    File,
    /// None of these (`anon_inode:...`).
    Other(String),
}

impl Descriptor {
    /// A word for people.
    pub fn word(&self) -> &'static str {
        match self {
            Descriptor::Pipe(_) => "a pipe",
            Descriptor::Socket(_) => "a socket",
            Descriptor::Null => "/dev/null",
            Descriptor::Terminal => "a terminal",
            Descriptor::NamedFifo => "a named FIFO",
            Descriptor::File => "a file",
            Descriptor::Other(_) => "no pipe or socket",
        }
    }

    /// Whether a client can talk over it: an anonymous pipe or a socket.
    pub fn is_stdio(&self) -> bool {
        matches!(self, Descriptor::Pipe(_) | Descriptor::Socket(_))
    }
}

/// Descriptor 0 or 1 of a process: what a client writes to, or reads from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stream {
    /// Descriptor 0.
    Stdin,
    /// Descriptor 1.
    Stdout,
}

/// The far end of a process's stdin or stdout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FarEnd {
    /// Nobody holds it: the pipe has no writer (POLLHUP), or for stdout no reader (POLLERR); the unix socket's peer has no
    /// inode, and the socket is shut down.
    HungUp,
    /// Somebody holds it. `None` until the holders were searched.
    Open(Option<Holders>),
    /// It cannot be seen; the words say why.
    Unknown(String),
}

/// Who holds the far end of a lifeline.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Holders {
    /// Processes with a descriptor on the far end, in order of pid.
    pub pids: Vec<Pid>,
    /// Whether every process of the owner could be searched. Only then is this list evidence.
    pub complete: bool,
    /// Processes of other users that could not be searched.
    pub unsearched: Vec<Pid>,
}

/// Words that a process carries in its environment and that mean something here. Nothing else is ever kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// Value of `ORPHAND`; `keep` protects the tree.
    pub orphand: Option<String>,
    /// Value of `SYSTEMD_EXEC_PID`: the pid that systemd itself started.
    pub systemd_exec_pid: Option<String>,
}

/// Memory of a process in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Resident set.
    pub rss: u64,
    /// Proportional set, where it may be read.
    pub pss: Option<u64>,
    /// Swapped out.
    pub swap: u64,
}

/// What is read of candidates only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Details {
    /// Real and effective user.
    pub users: Fact<Users>,
    /// Inode of its PID namespace.
    pub pid_namespace: Fact<u64>,
    /// Inode of its network namespace.
    pub net_namespace: Fact<u64>,
    /// Descriptors 0, 1 and 2.
    pub stdio: [Fact<Descriptor>; 3],
    /// The far ends of descriptors 0 and 1; only read where they are pipes or sockets.
    pub far_ends: [Fact<FarEnd>; 2],
    /// Addresses that it listens on: TCP in its own network namespace, and unix sockets of ours.
    pub listeners: Fact<Vec<String>>,
    /// The process that traces it: a debugger.
    pub tracer: Fact<Pid>,
    /// Marks in the environment.
    pub marks: Fact<Marks>,
    /// Control group path.
    pub cgroup: Fact<String>,
    /// Memory use.
    pub memory: Fact<Memory>,
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
    /// Arguments, the program first; lossy UTF-8. Empty when the process has cleared them.
    pub command: Fact<Vec<String>>,
    /// Read for candidates only.
    pub details: Details,
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

    /// Descriptor 0 or 1.
    pub fn descriptor(&self, stream: Stream) -> &Fact<Descriptor> {
        &self.details.stdio[stream as usize]
    }

    /// The far end of descriptor 0 or 1.
    pub fn far_end(&self, stream: Stream) -> &Fact<FarEnd> {
        &self.details.far_ends[stream as usize]
    }
}

/// From where the look was taken, and what that observer may touch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observer {
    /// The process that looks.
    pub pid: Pid,
    /// Its effective uid.
    pub uid: u32,
    /// Whether it looks after every user of the machine, or after `uid` only.
    pub machine: bool,
    /// Inode of its PID namespace.
    pub pid_namespace: Option<u64>,
    /// Inode of its network namespace.
    pub net_namespace: Option<u64>,
    /// Whether the kernel is WSL's.
    pub wsl: bool,
}

/// One look at the machine: processes in order of pid, all of one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessTable {
    /// The boot of this look.
    pub boot: BootId,
    /// Time since boot, suspend included.
    pub since_boot: Duration,
    /// Clock ticks a second, the unit of `start_ticks`.
    pub ticks_per_second: u64,
    /// Who looked.
    pub observer: Observer,
    processes: Vec<Process>,
    children: HashMap<Pid, Vec<Pid>>,
}

impl ProcessTable {
    /// A table of these processes, in any order. Of several with one pid the first stays.
    pub fn new(
        boot: BootId,
        since_boot: Duration,
        ticks_per_second: u64,
        observer: Observer,
        mut processes: Vec<Process>,
    ) -> ProcessTable {
        processes.sort_by_key(Process::pid);
        processes.dedup_by_key(|process| process.pid());
        let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
        for process in &processes {
            if let Some(parent) = process.parent.filter(|parent| *parent != process.pid()) {
                children.entry(parent).or_default().push(process.pid());
            }
        }
        ProcessTable { boot, since_boot, ticks_per_second, observer, processes, children }
    }

    /// All processes in order of pid.
    pub fn iter(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Whether the look saw nothing at all.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// The process with this number.
    pub fn get(&self, pid: Pid) -> Option<&Process> {
        self.processes.binary_search_by_key(&pid, Process::pid).ok().map(|index| &self.processes[index])
    }

    /// The same, to fill in facts.
    pub fn get_mut(&mut self, pid: Pid) -> Option<&mut Process> {
        let index = self.processes.binary_search_by_key(&pid, Process::pid).ok()?;
        Some(&mut self.processes[index])
    }

    /// Children of a process in order of pid, zombies included.
    pub fn children(&self, pid: Pid) -> &[Pid] {
        self.children.get(&pid).map_or(&[], Vec::as_slice)
    }

    /// Children that are not zombies.
    pub fn living_children(&self, pid: Pid) -> impl Iterator<Item = &Process> {
        self.children(pid)
            .iter()
            .filter_map(|child| self.get(*child))
            .filter(|child| child.state != State::Zombie)
    }

    /// The parent of a process, where it is in the table.
    pub fn parent(&self, process: &Process) -> Option<&Process> {
        process.parent.and_then(|parent| self.get(parent))
    }

    /// Ancestors, nearest first. Ends at a parent that is not in the table, and never runs in a circle.
    pub fn ancestors(&self, pid: Pid) -> Vec<Pid> {
        let mut found: Vec<Pid> = Vec::new();
        let mut next = self.get(pid).and_then(|process| process.parent);
        while let Some(ancestor) = next.filter(|ancestor| *ancestor != pid && !found.contains(ancestor)) {
            let Some(process) = self.get(ancestor) else { break };
            found.push(ancestor);
            next = process.parent;
        }
        found
    }

    /// A process and all below it, top first, except what `enter` refuses to enter.
    pub fn subtree(&self, root: Pid, enter: impl Fn(&Process) -> bool) -> Vec<Pid> {
        let mut seen = HashSet::from([root]);
        let mut found = vec![root];
        let mut next = 0;
        while next < found.len() {
            let parent = found[next];
            next += 1;
            for child in self.children(parent) {
                if self.get(*child).is_some_and(&enter) && seen.insert(*child) {
                    found.push(*child);
                }
            }
        }
        found
    }

    /// How long a process has lived. Zero when its start lies ahead of the look.
    pub fn age(&self, process: &Process) -> Duration {
        let ticks = self.ticks_per_second.max(1);
        let started = Duration::from_millis(process.id.start_ticks.saturating_mul(1000) / ticks);
        self.since_boot.saturating_sub(started)
    }
}
