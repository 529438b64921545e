//! The table of one look.

use super::{BootId, Pid, PidMap, Process, State};
use std::collections::HashSet;
use std::time::Duration;

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

/// A moment on the machine's two clocks, both counted from its boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// Suspend included. Process starts are counted on this one.
    pub since_boot: Duration,
    /// While the machine was awake. Whatever is remembered is counted on this one: nobody was idle, and nothing was watched,
    /// while the machine slept.
    pub awake: Duration,
}

/// One look at the machine: processes in order of pid, all of one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessTable {
    /// The boot of this look.
    pub boot: BootId,
    /// When it was taken.
    pub at: Moment,
    /// Clock ticks a second, the unit of `start_ticks`.
    pub ticks_per_second: u64,
    /// Who looked.
    pub observer: Observer,
    processes: Vec<Process>,
    places: PidMap<usize>,
    children: PidMap<Vec<Pid>>,
}

impl ProcessTable {
    /// A table of these processes, in any order. Of several with one pid the first stays.
    pub fn new(
        boot: BootId,
        at: Moment,
        ticks_per_second: u64,
        observer: Observer,
        mut processes: Vec<Process>,
    ) -> ProcessTable {
        processes.sort_by_key(Process::pid);
        processes.dedup_by_key(|process| process.pid());
        let places = processes.iter().enumerate().map(|(place, process)| (process.pid(), place)).collect();
        let mut children: PidMap<Vec<Pid>> = PidMap::default();
        for process in &processes {
            if let Some(parent) = process.parent.filter(|parent| *parent != process.pid()) {
                children.entry(parent).or_default().push(process.pid());
            }
        }
        ProcessTable { boot, at, ticks_per_second, observer, processes, places, children }
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
        self.places.get(&pid).map(|place| &self.processes[*place])
    }

    /// The same, to fill in facts.
    pub fn get_mut(&mut self, pid: Pid) -> Option<&mut Process> {
        let place = *self.places.get(&pid)?;
        Some(&mut self.processes[place])
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
        self.at.since_boot.saturating_sub(started)
    }
}
