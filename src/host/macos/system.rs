//! What macOS tells of processes.

use super::exits::Ending;
use super::libproc::{
    all_pids, arguments, bsd_info, by_name, directory, files, short_info, unique_id, usage,
};
use super::token::ByToken;
use crate::host::marks;
use crate::host::portable::{Identity, OpenFile, Portable, System, Usage, by_number};
use crate::host::posix::of_system;
use crate::host::{Guarantee, HostError};
use crate::process::{BootId, Fact, Marks, Memory, Moment, Moved, Observer, Pid, ProcessId, State, Users};
use crate::reap::Signal;
use crate::status::Shortcoming;
use std::io;
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

/// macOS.
pub struct MacOs {
    observer: Observer,
    boot: BootId,
    /// launchd's never-reused number.
    launchd: Option<u64>,
    by_token: Option<ByToken>,
    timebase: Timebase,
    /// When this began, on the wall's clock and on the one that stands still in sleep.
    began: (Duration, Duration),
}

/// The kernel counts processor time in units of its own.
#[derive(Clone, Copy)]
struct Timebase {
    numerator: u64,
    denominator: u64,
}

/// `PROC_FLAG_TRACED`, and the states of bsd/sys/proc.h.
const TRACED: u32 = 2;
const STOPPED: u32 = 4;
const ZOMBIE: u32 = 5;

/// Starts are told in microseconds since 1970: a clock that is set changes ages, not identities.
const MICROSECONDS: u64 = 1_000_000;

impl Portable<MacOs> {
    /// The machine that orphand runs on.
    pub fn new() -> Result<Self, HostError> {
        let no_number = || HostError::NoTable {
            place: "getpid".to_owned(),
            error: io::Error::other("this process has no number"),
        };
        let pid = Pid::new(rustix::process::getpid().as_raw_nonzero().get()).ok_or_else(no_number)?;
        let uid = rustix::process::geteuid().as_raw();
        let observer =
            Observer { pid, uid, machine: uid == 0, pid_namespace: None, net_namespace: None, wsl: false };
        let system = MacOs {
            observer,
            boot: boot(),
            launchd: unique_id(Pid::INIT).known().map(|id| id.unique),
            by_token: ByToken::find(),
            timebase: timebase(),
            began: (on_the_wall(), awake()),
        };
        Ok(Portable::of(system))
    }
}

/// `kern.bootsessionuuid`.
fn boot() -> BootId {
    let text = by_name(c"kern.bootsessionuuid").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let digits = text.trim_end_matches('\0').replace('-', "");
    u128::from_str_radix(&digits, 16).map(BootId).unwrap_or_default()
}

#[allow(
    unsafe_code,
    deprecated,
    reason = "a C function; its place in the mach2 crate would be one crate more"
)]
fn timebase() -> Timebase {
    let mut info = libc::mach_timebase_info { numer: 0, denom: 0 };
    // SAFETY: fills the structure.
    let failed = unsafe { libc::mach_timebase_info(&raw mut info) };
    if failed != 0 || info.denom == 0 {
        return Timebase { numerator: 1, denominator: 1 };
    }
    Timebase { numerator: u64::from(info.numer), denominator: u64::from(info.denom) }
}

impl Timebase {
    fn duration(self, units: u64) -> Duration {
        let nanoseconds = u128::from(units) * u128::from(self.numerator) / u128::from(self.denominator);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

impl MacOs {
    /// Of a protected program, such as the `/bin/sh` between npm and a server, what its parent has: it was started with that,
    /// and what it adds its children have and show. One that launchd has inherited shows nothing.
    fn inherited_environment(&self, pid: Pid) -> (Fact<Marks>, Fact<u64>) {
        let own = self.identify(pid);
        let parent = own.known().and_then(|own| own.parent).filter(|parent| *parent != Pid::INIT);
        let read = parent.map(arguments);
        let given = self.identify(pid).known().and_then(|now| now.parent) == parent;
        match (parent, read) {
            (Some(parent), Some(Fact::Known(read))) if given && !read.environment.is_empty() => {
                let (marks, environment) = marks::of(&read.environment);
                let both = environment.known().zip(directory(parent)).map(marks::digest);
                (marks, both.map_or(Fact::Denied, Fact::Known))
            }
            _ => (Fact::Denied, Fact::Denied),
        }
    }

    fn started_by_init(&self, parent: u64) -> Fact<bool> {
        self.launchd.map_or(Fact::Denied, |launchd| Fact::Known(parent == launchd))
    }
}

impl System for MacOs {
    type Exits = Ending;

    fn observer(&self) -> &Observer {
        &self.observer
    }

    fn boot(&self) -> BootId {
        self.boot
    }

    fn now(&self) -> Moment {
        // A clock that is set meanwhile must make nobody older: of two that disagree the earlier one counts.
        let (wall, awake_then) = self.began;
        let awake = awake();
        let counted = wall.saturating_add(awake.saturating_sub(awake_then));
        Moment { since_boot: on_the_wall().min(counted), awake }
    }

    fn ticks_per_second(&self) -> u64 {
        MICROSECONDS
    }

    fn identify(&self, pid: Pid) -> Fact<Identity> {
        // Of other users' processes only root is told the start. The unique id names them all the same.
        let info = match bsd_info(pid) {
            Fact::Known(info) => Known {
                parent: info.pbi_ppid,
                status: info.pbi_status,
                flags: info.pbi_flags,
                users: Users { real: info.pbi_ruid, effective: info.pbi_uid },
                start: info
                    .pbi_start_tvsec
                    .saturating_mul(MICROSECONDS)
                    .saturating_add(info.pbi_start_tvusec),
                program: marks::digest((info.pbi_comm, info.pbi_name)),
            },
            Fact::Gone => return Fact::Gone,
            _ => match short_info(pid) {
                Fact::Known(info) => Known {
                    parent: info.parent,
                    status: info.status,
                    flags: info.flags,
                    users: Users { real: info.real_uid, effective: info.uid },
                    start: 0,
                    program: marks::digest(info.name),
                },
                Fact::Gone => return Fact::Gone,
                _ => return Fact::Denied,
            },
        };
        let unique = unique_id(pid);
        let started_by_init = match &unique {
            Fact::Known(id) => self.started_by_init(id.parent_unique),
            _ => Fact::Denied,
        };
        let parent = Pid::new(i32::try_from(info.parent).unwrap_or_default());
        let traced = info.flags & TRACED != 0;
        Fact::Known(Identity {
            start_ticks: info.start,
            unique: unique.known().map(|id| id.unique),
            started_by_init,
            parent,
            state: match info.status {
                STOPPED => State::Stopped,
                ZOMBIE => State::Zombie,
                _ => State::Alive,
            },
            kernel: false,
            users: info.users,
            // Whoever traces a process is its parent meanwhile.
            tracer: parent.filter(|_| traced).map_or(Fact::Absent, Fact::Known),
            program: info.program,
        })
    }

    fn more_pids(&self) -> Vec<Pid> {
        all_pids()
    }

    fn command(&self, pid: Pid) -> Fact<Vec<String>> {
        match arguments(pid) {
            Fact::Known(read) => Fact::Known(read.arguments),
            Fact::Gone => Fact::Gone,
            // Only root is told; but on every Mac it is this one.
            _ if pid == Pid::INIT => Fact::Known(vec!["/sbin/launchd".to_owned()]),
            _ => Fact::Denied,
        }
    }

    fn environment(&self, pid: Pid) -> (Fact<Marks>, Fact<u64>) {
        match arguments(pid) {
            // Of protected programs the kernel shows none: nobody can tell that from an empty one.
            Fact::Known(read) if read.environment.is_empty() => self.inherited_environment(pid),
            Fact::Known(read) => {
                let (mut marks, environment) = marks::of(&read.environment);
                // Wherever it stands, it protects.
                if let Fact::Known(marks) = &mut marks
                    && read.everything.split(|byte| *byte == 0).any(|entry| entry == b"ORPHAND=keep")
                {
                    marks.orphand = Some("keep".to_owned());
                }
                let both = environment.known().zip(directory(pid)).map(marks::digest);
                (marks, both.map_or(Fact::Denied, Fact::Known))
            }
            Fact::Gone => (Fact::Gone, Fact::Gone),
            _ => (Fact::Denied, Fact::Denied),
        }
    }

    fn usage(&self, pid: Pid) -> Fact<Usage> {
        let info = match usage(pid) {
            Fact::Known(info) => info,
            Fact::Gone => return Fact::Gone,
            _ => return Fact::Denied,
        };
        let own = info.ri_user_time.saturating_add(info.ri_system_time);
        let children = info.ri_child_user_time.saturating_add(info.ri_child_system_time);
        let cpu = self.timebase.duration(own.saturating_add(children));
        let disk = info.ri_diskio_bytesread.saturating_add(info.ri_diskio_byteswritten);
        Fact::Known(Usage {
            cpu,
            waited_faults: info.ri_child_elapsed_abstime,
            // What goes through sockets and pipes is not counted. Nobody moves anything without processor time.
            moved: Moved {
                disk,
                calls: u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX).saturating_add(disk),
            },
            memory: Memory { rss: info.ri_resident_size, pss: Some(info.ri_phys_footprint), swap: 0 },
        })
    }

    fn files(&self, pid: Pid) -> Fact<Vec<OpenFile>> {
        files(pid)
    }

    fn ephemeral_ports(&self) -> RangeInclusive<u16> {
        let port = |name| {
            let bytes = by_name(name)?;
            u16::try_from(i32::from_ne_bytes(*bytes.first_chunk::<4>()?)).ok()
        };
        let first = port(c"net.inet.ip.portrange.first").unwrap_or(49152);
        first..=port(c"net.inet.ip.portrange.last").unwrap_or(u16::MAX)
    }

    /// No call tells.
    fn catches_term(&self, _: Pid) -> Fact<bool> {
        Fact::Denied
    }

    fn exits(&self, pid: Pid) -> Result<Ending, HostError> {
        Ending::of(pid)
    }

    fn send(&self, id: &ProcessId, signal: Signal) -> Result<(), HostError> {
        let Some(by_token) = self.by_token else { return by_number(id.pid, signal) };
        // The version of this moment: an exec changes it, and the process stays the same.
        let version = match unique_id(id.pid) {
            Fact::Known(now) if id.unique == Some(now.unique) => now.version,
            Fact::Known(_) | Fact::Gone => return Err(HostError::Ended),
            _ => return Err(HostError::Refused(io::ErrorKind::PermissionDenied.into())),
        };
        match by_token.send(id.pid, version, of_system(signal).as_raw()) {
            0 => Ok(()),
            // It has ended, or runs another program since a moment ago; that one was not judged.
            libc::ESRCH => Err(HostError::Ended),
            error => Err(HostError::Refused(io::Error::from_raw_os_error(error))),
        }
    }

    fn guarantee(&self) -> Guarantee {
        if self.by_token.is_some() { Guarantee::Token } else { Guarantee::Comparison }
    }

    fn self_test(&self) -> Vec<Shortcoming> {
        let mut found = Vec::new();
        if self.launchd.is_none() {
            found.push(Shortcoming {
                what: "launchd's jobs cannot be told from orphans, so nothing is reaped".to_owned(),
                remedy: "please report this with the version of macOS".to_owned(),
            });
        }
        if self.boot == BootId::default() {
            found.push(Shortcoming {
                what: "which boot of the machine this is cannot be told, so nothing is remembered".to_owned(),
                remedy: "please report this with the version of macOS".to_owned(),
            });
        }
        if self.observer.machine && files(Pid::INIT).is_hidden() {
            found.push(Shortcoming {
                what:
                    "the descriptors of other processes cannot be seen, so nothing is proven to be an orphan"
                        .to_owned(),
                remedy: "run it as root, from launchd".to_owned(),
            });
        }
        found
    }
}

/// What both ways of asking tell.
struct Known {
    parent: u32,
    status: u32,
    flags: u32,
    users: Users,
    start: u64,
    program: u64,
}

/// Time since 1970.
fn on_the_wall() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Time since boot without sleep.
#[allow(unsafe_code, reason = "a clock that rustix does not know")]
fn awake() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_UPTIME_RAW, &raw mut time) };
    if failed != 0 {
        return Duration::ZERO;
    }
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
