//! A machine seen through sysinfo and a small [`System`]: what macOS runs on. On Linux it is there for tests, over /proc
//! (feature `portable`), so that the code that a Mac runs is run here.

mod channels;
mod files;
mod people;
mod pin;

pub use files::{End, Inet, OpenFile};
pub(super) use pin::by_number;
pub use pin::{Exits, PortablePin};

use super::{Guarantee, Host, HostError};
use crate::process::{
    BootId, Deferred, Descriptor, Details, Fact, FarEnd, Marks, Memory, Moment, Moved, Observer, Pid,
    Process, ProcessId, ProcessTable, State, Stream, Users,
};
use crate::reap::Signal;
use crate::status::Shortcoming;
use people::People;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// What the system tells cheaply of one process, all at one time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Start, in the units of [`System::ticks_per_second`].
    pub start_ticks: u64,
    /// The kernel's never-reused number.
    pub unique: Option<u64>,
    /// Whether PID 1 itself started it.
    pub started_by_init: Fact<bool>,
    /// Its parent; `None` for none.
    pub parent: Option<Pid>,
    /// Alive, stopped or a zombie.
    pub state: State,
    /// A thread of the kernel, not a program.
    pub kernel: bool,
    /// Real and effective user.
    pub users: Users,
    /// Who traces it.
    pub tracer: Fact<Pid>,
    /// A mark of the program that it runs.
    pub program: u64,
}

/// What a process has used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Processor time, its waited-for children's as well.
    pub cpu: Duration,
    /// A count that grows with every child that ends, where there is one.
    pub waited_faults: u64,
    /// Bytes moved.
    pub moved: Moved,
    /// Memory.
    pub memory: Memory,
}

/// What differs from system to system.
pub trait System: Sized + Send + Sync + 'static {
    /// How the end of a process is heard of.
    type Exits: Exits;

    /// From where it looks, and what it may touch.
    fn observer(&self) -> &Observer;
    /// The boot of the machine.
    fn boot(&self) -> BootId;
    /// Now, on the clock of process starts and on the one that stands still in sleep.
    fn now(&self) -> Moment;
    /// The unit of process starts.
    fn ticks_per_second(&self) -> u64;
    /// Who has this number now. `Gone` when nobody has.
    fn identify(&self, pid: Pid) -> Fact<Identity>;
    /// Its arguments.
    fn command(&self, pid: Pid) -> Fact<Vec<String>>;
    /// Marks in its environment, and a digest of all of it.
    fn environment(&self, pid: Pid) -> (Fact<Marks>, Fact<u64>);
    /// What it has used.
    fn usage(&self, pid: Pid) -> Fact<Usage>;
    /// All its descriptors.
    fn files(&self, pid: Pid) -> Fact<Vec<OpenFile>>;
    /// Ports that the kernel gives to whoever asks for any.
    fn ephemeral_ports(&self) -> RangeInclusive<u16>;
    /// Whether it catches SIGTERM, where the system tells.
    fn catches_term(&self, pid: Pid) -> Fact<bool>;
    /// Numbers of processes that sysinfo may have passed over; it drops those that it finds no name for.
    fn more_pids(&self) -> Vec<Pid>;
    /// Hears of the end of whoever has this number now.
    fn exits(&self, pid: Pid) -> Result<Self::Exits, HostError>;
    /// Signals the process that was identified a moment ago.
    fn send(&self, id: &ProcessId, signal: Signal) -> Result<(), HostError>;
    /// What signals rest on.
    fn guarantee(&self) -> Guarantee;
    /// What is not let us see or do, found out by trying.
    fn self_test(&self) -> Vec<Shortcoming>;
}

/// A machine behind a [`System`].
pub struct Portable<S> {
    system: Arc<S>,
}

/// Files that a look needs beside those that are open all the time.
const RESERVED_FILES: usize = 36;

impl<S: System> Portable<S> {
    /// A machine of this system.
    pub fn of(system: S) -> Portable<S> {
        Portable { system: Arc::new(system) }
    }

    /// Nobody waits: here it makes no difference.
    pub fn unhurried(self) -> Portable<S> {
        self
    }

    /// The numbers of all processes, and nothing else: sysinfo's start times are whole seconds, so identity comes from the
    /// system itself.
    fn pids(&self) -> Result<Vec<Pid>, HostError> {
        use sysinfo::{ProcessRefreshKind, ProcessesToUpdate};
        let no_table = |error: String| HostError::NoTable {
            place: "sysinfo".to_owned(),
            error: io::Error::other(error),
        };
        let mut listed = sysinfo::System::new().map_err(|error| no_table(error.to_string()))?;
        let only_numbers = ProcessRefreshKind::nothing().without_tasks();
        listed.refresh_processes_specifics(ProcessesToUpdate::All, true, only_numbers);
        let numbers = listed.processes().keys().filter_map(|pid| i32::try_from(pid.as_u32()).ok());
        let mut pids: Vec<Pid> = numbers.filter_map(Pid::new).chain(self.system.more_pids()).collect();
        pids.sort_unstable();
        pids.dedup();
        if pids.is_empty() { Err(no_table("it is empty".to_owned())) } else { Ok(pids) }
    }

    fn process(&self, pid: Pid) -> Option<Process> {
        let identity = self.system.identify(pid);
        let identity = identity.known()?;
        let id = ProcessId {
            pid,
            start_ticks: identity.start_ticks,
            unique: identity.unique,
            boot: self.system.boot(),
        };
        Some(Process {
            id,
            parent: identity.parent,
            state: identity.state,
            kernel: identity.kernel,
            // What it has used is dear to ask for, and read with the details.
            cpu: Duration::ZERO,
            waited_faults: 0,
            program: identity.program,
            command: Fact::Unread,
            details: Deferred::default(),
        })
    }

    /// Everything of one process, read between two sightings of the same one.
    fn details(&self, process: &mut Process) {
        let pid = process.pid();
        let before = self.system.identify(pid);
        let (marks, environment) = self.system.environment(pid);
        let command = self.system.command(pid);
        let usage = self.system.usage(pid);
        let files = self.system.files(pid);
        let catches_term = self.system.catches_term(pid);
        let after = self.system.identify(pid);
        let same = |identity: &Fact<Identity>| {
            let identity = identity.known();
            identity.is_some_and(|now| {
                now.start_ticks == process.id.start_ticks && now.unique == process.id.unique
            })
        };
        if !same(&before) || !same(&after) {
            process.command = Fact::Gone;
            process.details = gone().into();
            return;
        }
        let of = |identity: &Fact<Identity>| identity.known().cloned();
        let Some(identity) = of(&after) else { return };
        if let Fact::Known(usage) = &usage {
            process.cpu = usage.cpu;
            process.waited_faults = usage.waited_faults;
        }
        process.command = command;
        process.details = Details {
            users: Fact::Known(identity.users),
            // There are no namespaces, and no control groups.
            pid_namespace: self.own_namespace(),
            net_namespace: self.own_network(),
            descriptors: files::descriptors(&files),
            moved_stdio: None,
            far_ends: Default::default(),
            listeners: Fact::Unread,
            channels: Fact::Unread,
            moved: files::map(&usage, |usage| usage.moved),
            environment,
            tracer: identity.tracer,
            catches_term,
            marks,
            cgroup: Fact::Absent,
            started_by_init: identity.started_by_init,
            memory: files::map(&usage, |usage| usage.memory),
        }
        .into();
    }

    fn own_namespace(&self) -> Fact<u64> {
        self.system.observer().pid_namespace.map_or(Fact::Absent, Fact::Known)
    }

    fn own_network(&self) -> Fact<u64> {
        self.system.observer().net_namespace.map_or(Fact::Absent, Fact::Known)
    }

    fn people(&self) -> People {
        // Where nobody can be listed, nobody could be searched.
        self.pids().map_or_else(|_| People::unknown(), |pids| People::of(&*self.system, &pids))
    }
}

/// The details of somebody who has ended, or whose number means another process by now.
fn gone() -> Details {
    Details {
        users: Fact::Gone,
        pid_namespace: Fact::Gone,
        net_namespace: Fact::Gone,
        descriptors: [(); crate::process::DESCRIPTORS].map(|()| Fact::Gone),
        moved_stdio: None,
        far_ends: [(); crate::process::DESCRIPTORS].map(|()| Fact::Gone),
        listeners: Fact::Gone,
        channels: Fact::Gone,
        moved: Fact::Gone,
        environment: Fact::Gone,
        tracer: Fact::Gone,
        catches_term: Fact::Gone,
        marks: Fact::Gone,
        cgroup: Fact::Gone,
        started_by_init: Fact::Gone,
        memory: Fact::Gone,
    }
}

impl<S: System> Host for Portable<S> {
    type Pin = PortablePin<S>;

    fn observer(&self) -> &Observer {
        self.system.observer()
    }

    fn boot(&self) -> BootId {
        self.system.boot()
    }

    fn list(&self) -> Result<ProcessTable, HostError> {
        let pids = self.pids()?;
        let at = self.system.now();
        let processes = pids.into_iter().filter_map(|pid| self.process(pid)).collect();
        let observer = self.system.observer().clone();
        Ok(ProcessTable::new(self.system.boot(), at, self.system.ticks_per_second(), observer, processes))
    }

    fn read_commands(&self, table: &mut ProcessTable, pids: &[Pid]) {
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                process.command = self.system.command(*pid);
            }
        }
    }

    fn command_of(&self, pid: Pid) -> Fact<Vec<String>> {
        self.system.command(pid)
    }

    fn read_details(&self, table: &mut ProcessTable, pids: &[Pid]) {
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                self.details(process);
            }
        }
    }

    fn read_moved(&self, table: &mut ProcessTable, pids: &[Pid]) {
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                process.details.moved = files::map(&self.system.usage(*pid), |usage| usage.moved);
            }
        }
    }

    /// There is no proportional memory to be had.
    fn read_shares(&self, _: &mut ProcessTable, _: &[Pid]) {}

    fn read_users(&self, table: &mut ProcessTable, pids: &[Pid]) {
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                process.details.users = files::map(&self.system.identify(*pid), |identity| identity.users);
            }
        }
    }

    fn read_channels(&self, table: &mut ProcessTable, pids: &[Pid]) {
        if !pids.is_empty() {
            channels::read(&self.people(), &self.system.ephemeral_ports(), table, pids);
        }
    }

    fn read_far_ends(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        for (pid, stream) in ends {
            let files = self.system.files(*pid);
            let Some(process) = table.get_mut(*pid) else { continue };
            let far_end = files::far_end(&files, process.descriptor(*stream).known(), *stream as u32);
            process.details.far_ends[*stream as usize] = far_end;
        }
    }

    fn read_holders(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        let is_open = |(pid, stream): &&(Pid, Stream)| {
            let process = table.get(*pid);
            process.is_some_and(|process| *process.far_end(*stream) == Fact::Known(FarEnd::Open(None)))
        };
        let open: Vec<(Pid, Stream)> = ends.iter().filter(is_open).copied().collect();
        if open.is_empty() {
            return;
        }
        let people = self.people();
        for (pid, stream) in open {
            let Some(process) = table.get_mut(pid) else { continue };
            let user = process.details.users.known().map(|users| users.real);
            let descriptor = process.descriptor(stream).known();
            let peer = people.files(pid).and_then(|files| files::peer_of(files, descriptor, stream as u32));
            // Between the two readings it was closed, or replaced.
            let Some(peer) = peer else { continue };
            let holders = people.holders(peer, user);
            process.details.far_ends[stream as usize] = Fact::Known(FarEnd::Open(Some(holders)));
        }
    }

    fn sharers(&self, _: &ProcessTable, descriptors: &[Descriptor]) -> Option<Vec<Vec<Pid>>> {
        let people = self.people();
        let sharers = descriptors.iter().map(|descriptor| match descriptor {
            Descriptor::Pipe(own) | Descriptor::Socket(own) => people.with(*own),
            _ => Vec::new(),
        });
        let sharers = sharers.collect();
        people.everybody_was_searched().then_some(sharers)
    }

    fn room_for_pins(&self) -> usize {
        use rustix::process::{Resource, getrlimit};
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let own = self.system.files(self.system.observer().pid);
        let open = own.known().map_or(0, Vec::len);
        usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(RESERVED_FILES + open)
    }

    fn self_test(&self) -> Vec<Shortcoming> {
        self.system.self_test()
    }

    fn guarantee(&self) -> Guarantee {
        self.system.guarantee()
    }

    fn pin_exactly(&self, id: &ProcessId) -> Result<PortablePin<S>, HostError> {
        let pin = self.pin(id.pid)?;
        if pin.id().same(id) { Ok(pin) } else { Err(HostError::Ended) }
    }

    fn pin(&self, pid: Pid) -> Result<PortablePin<S>, HostError> {
        PortablePin::hold(&self.system, pid)
    }
}
