//! Linux: procfs for seeing, pidfd for holding and signalling, sock_diag for the far ends of sockets.

#[cfg(feature = "portable")]
mod as_portable;
mod channels;
mod details;
mod environment;
mod far_ends;
mod files;
mod holders;
mod moved;
mod pin;
mod self_test;
mod sockets;
mod stat;
mod tcp;
mod udp;

#[cfg(feature = "portable")]
pub use as_portable::AsPortable;
pub use pin::PidFd;

use super::{Guarantee, Host, HostError, Pin};
use crate::process::{
    BootId, Deferred, Descriptor, Fact, Moment, Observer, Pid, Process, ProcessId, ProcessTable, State,
    Stream,
};
use crate::status::Shortcoming;
use files::{Place, Read};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::time::{ClockId, clock_gettime};
use stat::Stat;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The machine that orphand runs on.
pub struct Linux {
    proc: OwnedFd,
    boot: BootId,
    ticks_per_second: u64,
    observer: Observer,
    in_a_hurry: bool,
}

/// `PF_KTHREAD` of the flags in `/proc/PID/stat`.
const KERNEL_THREAD: u32 = 0x0020_0000;
/// Files that a look needs beside those that are open all the time.
const RESERVED_FILES: usize = 36;
/// From this many processes on a look uses a second thread.
const WORTH_A_THREAD: usize = 1000;

impl Linux {
    /// Opens `/proc` and learns from where the look is taken.
    pub fn new() -> Result<Linux, HostError> {
        let no_table = |error: io::Error| HostError::NoTable { place: "/proc".to_owned(), error };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = openat(CWD, "/proc", flags, Mode::empty()).map_err(|error| no_table(error.into()))?;
        let pid = Pid::new(rustix::process::getpid().as_raw_nonzero().get())
            .ok_or_else(|| no_table(io::Error::other("this process has no number")))?;
        // A /proc of another PID namespace would show numbers that mean other processes to pidfd_open.
        let place = Place { proc: &proc };
        let seen = place.link("self").ok_or_else(|| no_table(io::Error::other("it is not mounted")))?;
        if seen != pid.to_string() {
            let text =
                "it belongs to another PID namespace; mount a fresh one, as `unshare --mount-proc` does";
            return Err(no_table(io::Error::other(text)));
        }
        let boot_id = place.text("sys/kernel/random/boot_id").unwrap_or_default();
        let boot = u128::from_str_radix(&boot_id.trim().replace('-', ""), 16).map(BootId).unwrap_or_default();
        let release = place.text("sys/kernel/osrelease").unwrap_or_default().to_ascii_lowercase();
        let uid = rustix::process::geteuid().as_raw();
        let observer = Observer {
            pid,
            uid,
            machine: uid == 0 || may_signal_everyone(),
            pid_namespace: place.inode("self/ns/pid"),
            net_namespace: place.inode("self/ns/net"),
            wsl: release.contains("microsoft") || release.contains("wsl"),
        };
        let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
        Ok(Linux { proc, boot, ticks_per_second, observer, in_a_hurry: true })
    }

    /// A machine that nobody waits for: a look takes no second processor, which costs more time of both.
    pub fn unhurried(self) -> Linux {
        Linux { in_a_hurry: false, ..self }
    }

    fn place(&self) -> Place<'_> {
        Place { proc: &self.proc }
    }

    /// The numbers of all processes at this moment.
    fn pids(&self) -> Result<Vec<Pid>, HostError> {
        let no_table =
            |error: rustix::io::Errno| HostError::NoTable { place: "/proc".to_owned(), error: error.into() };
        let mut pids = Vec::with_capacity(512);
        for entry in Dir::read_from(&self.proc).map_err(no_table)? {
            let entry = entry.map_err(no_table)?;
            pids.extend(
                entry.file_name().to_str().ok().and_then(|name| name.parse().ok()).and_then(Pid::new),
            );
        }
        Ok(pids)
    }

    /// One process from its `stat`; `None` when it has ended or is hidden. An error when nothing could be read at all: a
    /// table with holes would show a busy shell as an idle one.
    fn stat(&self, pid: Pid, buffer: &mut [u8]) -> io::Result<Option<Process>> {
        let line = match self.place().read(&format!("{pid}/stat"), buffer) {
            Read::Text(line) => line,
            Read::Short(error) => return Err(error.into()),
            Read::Denied | Read::Missing => return Ok(None),
        };
        Ok(Stat::parse(line).map(|stat| Process {
            id: ProcessId { pid, start_ticks: stat.start_ticks, unique: None, boot: self.boot },
            parent: Pid::new(stat.parent),
            state: match stat.state {
                b'Z' | b'X' | b'x' => State::Zombie,
                b'T' | b't' => State::Stopped,
                _ => State::Alive,
            },
            kernel: stat.flags & KERNEL_THREAD != 0,
            cpu: Duration::from_millis(stat.cpu_ticks.saturating_mul(1000) / self.ticks_per_second),
            waited_faults: stat.waited_faults,
            program: stat.program,
            command: Fact::Unread,
            details: Deferred::default(),
        }))
    }
}

impl Linux {
    /// Runs `work` over the pids, in two halves at once where there are many.
    fn in_two<T: Send>(&self, pids: &[Pid], work: impl Fn(&[Pid]) -> Vec<T> + Sync) -> Vec<T> {
        if pids.len() < WORTH_A_THREAD || !self.in_a_hurry {
            return work(pids);
        }
        let (left, right) = pids.split_at(pids.len() / 2);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| work(right));
            let mut all = work(left);
            // A panic in the other half is a bug like one in this half.
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            all
        })
    }
}

impl Host for Linux {
    type Pin = PidFd;

    fn observer(&self) -> &Observer {
        &self.observer
    }

    fn boot(&self) -> BootId {
        self.boot
    }

    fn list(&self) -> Result<ProcessTable, HostError> {
        let pids = self.pids()?;
        let at = now();
        let parts = self.in_two(&pids, |part| {
            let mut buffer = [0_u8; 2048];
            let processes = part.iter().filter_map(|pid| self.stat(*pid, &mut buffer).transpose());
            vec![processes.collect::<io::Result<Vec<Process>>>()]
        });
        let mut processes = Vec::new();
        for part in parts {
            let part =
                part.map_err(|error| HostError::NoTable { place: "/proc/PID/stat".to_owned(), error })?;
            // The first part is taken as it is, not copied.
            if processes.is_empty() { processes = part } else { processes.extend(part) }
        }
        Ok(ProcessTable::new(self.boot, at, self.ticks_per_second, self.observer.clone(), processes))
    }

    fn read_commands(&self, table: &mut ProcessTable, pids: &[Pid]) {
        let commands = self.in_two(pids, |part| {
            let mut buffer = vec![0_u8; details::LONGEST_COMMAND];
            part.iter().map(|pid| details::command(self.place(), *pid, &mut buffer)).collect()
        });
        for (pid, command) in pids.iter().zip(commands) {
            if let Some(process) = table.get_mut(*pid) {
                process.command = command;
            }
        }
    }

    fn command_of(&self, pid: Pid) -> Fact<Vec<String>> {
        details::command(self.place(), pid, &mut vec![0_u8; details::LONGEST_COMMAND])
    }

    fn read_details(&self, table: &mut ProcessTable, pids: &[Pid]) {
        let mut buffer = vec![0_u8; details::LONGEST_COMMAND];
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                details::read(self.place(), process, &mut buffer);
                moved::find(self.place(), process);
            }
        }
    }

    fn read_moved(&self, table: &mut ProcessTable, pids: &[Pid]) {
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                details::read_moved(self.place(), process);
            }
        }
    }

    fn read_shares(&self, table: &mut ProcessTable, pids: &[Pid]) {
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                details::read_share(self.place(), process);
            }
        }
    }

    fn read_users(&self, table: &mut ProcessTable, pids: &[Pid]) {
        for pid in pids {
            if let Some(process) = table.get_mut(*pid) {
                details::read_users(self.place(), process);
            }
        }
    }

    fn read_channels(&self, table: &mut ProcessTable, pids: &[Pid]) {
        // Without candidates nothing is asked, as everywhere.
        if !pids.is_empty() {
            channels::read(self.place(), table, pids, &self.pids().unwrap_or_default());
        }
    }

    fn read_far_ends(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        far_ends::read(self.place(), table, ends);
    }

    fn read_holders(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        if ends.is_empty() {
            return;
        }
        // The processes of this moment, not of the table's: a holder may have started since.
        let everyone = self.pids().unwrap_or_default();
        holders::read(self.place(), table, ends, &everyone);
    }

    fn sharers(&self, table: &ProcessTable, descriptors: &[Descriptor]) -> Option<Vec<Vec<Pid>>> {
        holders::sharers(self.place(), table, descriptors, &self.pids().ok()?)
    }

    fn room_for_pins(&self) -> usize {
        use rustix::process::{Resource, getrlimit};
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // Everything that is open counts, so that pins for watching and pins for signalling share one limit.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = openat(&self.proc, "self/fd", flags, Mode::empty()).and_then(Dir::new);
        let open = open.map_or(0, Iterator::count);
        usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(RESERVED_FILES + open)
    }

    fn self_test(&self) -> Vec<Shortcoming> {
        self_test::run(self)
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Handle
    }

    fn pin_exactly(&self, id: &ProcessId) -> Result<PidFd, HostError> {
        let pin = PidFd::open(id.pid)?;
        // Held now: whoever has the number now keeps it until he has ended.
        let now = self.stat(id.pid, &mut [0_u8; 2048])?;
        // One whose main thread has ended looks like a zombie and may go on; the pin knows.
        let same = now.is_some_and(|now| now.id.same(id));
        if same && !pin.has_ended() { Ok(pin) } else { Err(HostError::Ended) }
    }

    fn pin(&self, pid: Pid) -> Result<PidFd, HostError> {
        PidFd::open(pid)
    }
}

fn now() -> Moment {
    Moment { since_boot: time_of(ClockId::Boottime), awake: time_of(ClockId::Monotonic) }
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}

/// A hardened service is no root and may signal everyone all the same.
fn may_signal_everyone() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::KILL))
}
