//! /proc in the words of macOS: for tests of the portable host with real processes (feature `portable`). Nothing else uses it.
//! It has no words for unix sockets that wait to be accepted, for pipes opened both ways, and for threads without a leader.

use super::details::{self, LONGEST_COMMAND};
use super::far_ends::pipe;
use super::files::{Place, is_missing};
use super::sockets::{UnixKind, UnixTable, unix_sockets, unix_table};
use super::udp::ephemeral_ports;
use super::{Linux, PidFd};
use crate::host::portable::{End, Exits, Identity, Inet, OpenFile, System, Usage, by_number};
use crate::host::{Guarantee, Host, HostError, Pin};
use crate::process::{BootId, Fact, FarEnd, Marks, Moment, Observer, Pid, Process, ProcessId, Users};
use crate::reap::Signal;
use crate::status::Shortcoming;
use procfs::FromReadSI;
use procfs::net::{TcpNetEntries, TcpState, UdpNetEntries};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Linux, seen as a Mac is.
pub struct AsPortable(Linux);

impl AsPortable {
    fn stat(&self, pid: Pid) -> Fact<Process> {
        match self.0.stat(pid, &mut [0_u8; 2048]) {
            Ok(Some(process)) => Fact::Known(process),
            Ok(None) => Fact::Gone,
            Err(_) => Fact::Denied,
        }
    }

    /// A process with its details as Linux reads them.
    fn read(&self, pid: Pid) -> Option<Process> {
        let mut process = self.stat(pid).known()?.clone();
        details::read(self.0.place(), &mut process, &mut vec![0_u8; LONGEST_COMMAND]);
        Some(process)
    }
}

impl crate::host::portable::Portable<AsPortable> {
    /// The machine that orphand runs on.
    pub fn new() -> Result<Self, HostError> {
        Ok(Self::of(AsPortable(Linux::new()?)))
    }
}

impl Exits for PidFd {
    fn has_ended(&self) -> bool {
        Pin::has_ended(self)
    }

    async fn ended(&self) {
        Pin::ended(self).await;
    }
}

impl System for AsPortable {
    type Exits = PidFd;

    fn observer(&self) -> &Observer {
        self.0.observer()
    }

    fn boot(&self) -> BootId {
        self.0.boot()
    }

    fn now(&self) -> Moment {
        super::now()
    }

    fn ticks_per_second(&self) -> u64 {
        self.0.ticks_per_second
    }

    fn identify(&self, pid: Pid) -> Fact<Identity> {
        let stat = match self.stat(pid) {
            Fact::Known(stat) => stat,
            Fact::Gone => return Fact::Gone,
            _ => return Fact::Denied,
        };
        let mut read = stat.clone();
        details::read_users(self.0.place(), &mut read);
        let Some(users) = read.details.users.known().copied() else { return Fact::Gone };
        Fact::Known(Identity {
            start_ticks: stat.id.start_ticks,
            unique: None,
            started_by_init: Fact::Absent,
            parent: stat.parent,
            state: stat.state,
            kernel: stat.kernel,
            users: Users { ..users },
            tracer: tracer(&self.0, pid),
            program: stat.program,
        })
    }

    fn command(&self, pid: Pid) -> Fact<Vec<String>> {
        self.0.command_of(pid)
    }

    fn environment(&self, pid: Pid) -> (Fact<Marks>, Fact<u64>) {
        let Some(process) = self.read(pid) else { return (Fact::Gone, Fact::Gone) };
        (process.details.marks.clone(), process.details.environment.clone())
    }

    fn usage(&self, pid: Pid) -> Fact<Usage> {
        let Some(process) = self.read(pid) else { return Fact::Gone };
        let details = &process.details;
        match (details.moved.known(), details.memory.known()) {
            (Some(moved), Some(memory)) => Fact::Known(Usage {
                cpu: process.cpu,
                waited_faults: process.waited_faults,
                moved: *moved,
                memory: *memory,
            }),
            _ => Fact::Denied,
        }
    }

    fn files(&self, pid: Pid) -> Fact<Vec<OpenFile>> {
        files(&self.0, pid)
    }

    fn catches_term(&self, pid: Pid) -> Fact<bool> {
        self.read(pid).map_or(Fact::Gone, |process| process.details.catches_term.clone())
    }

    fn exits(&self, pid: Pid) -> Result<PidFd, HostError> {
        PidFd::open(pid)
    }

    /// As a Mac without tokens does.
    fn send(&self, id: &ProcessId, signal: Signal) -> Result<(), HostError> {
        by_number(id.pid, signal)
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Comparison
    }

    fn more_pids(&self) -> Vec<Pid> {
        Vec::new()
    }

    fn ephemeral_ports(&self) -> RangeInclusive<u16> {
        ephemeral_ports(self.0.place())
    }

    fn self_test(&self) -> Vec<Shortcoming> {
        self.0.self_test()
    }
}

fn tracer(linux: &Linux, pid: Pid) -> Fact<Pid> {
    let Some(text) = linux.place().text(&format!("{pid}/status")) else { return Fact::Gone };
    let line = text.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    line.and_then(|line| Pid::new(line.trim().parse().ok()?)).map_or(Fact::Absent, Fact::Known)
}

/// Both ends of a pipe have one inode here; a Mac gives each a handle of its own.
fn files(linux: &Linux, pid: Pid) -> Fact<Vec<OpenFile>> {
    let proc = linux.place();
    let hidden = |error| if is_missing(error) { Fact::Gone } else { Fact::Denied };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = match openat(proc.fd(), format!("{pid}/fd"), flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(error) => return hidden(error),
    };
    let entries = match Dir::read_from(&directory) {
        Ok(entries) => entries,
        Err(error) => return hidden(error),
    };
    let (Ok(table), Ok(sockets), Some(inet)) = (unix_table(), unix_sockets(), inet(proc)) else {
        return Fact::Denied;
    };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(number) = name.to_str().ok().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(target) = readlinkat(&directory, name, Vec::new()) else { continue };
        let target = target.to_string_lossy().into_owned();
        let inode = |kind: &str| -> Option<u64> {
            target.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
        };
        let end = if let Some(inode) = inode("pipe") {
            let mode = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
            let reads = mode.is_ok_and(|stat| Mode::from_raw_mode(stat.st_mode).contains(Mode::RUSR));
            let (own, other) = if reads { (2 * inode, 2 * inode + 1) } else { (2 * inode + 1, 2 * inode) };
            let is_open = pipe(proc, pid, number, reads, inode) != Fact::Known(FarEnd::HungUp);
            End::Pipe { own, peer: if is_open { other } else { 0 } }
        } else if let Some(inode) = inode("socket") {
            let is_shut = sockets.get(&inode).is_some_and(|socket| socket.peer == 0 && socket.is_shut_down);
            inet.get(&inode).cloned().unwrap_or_else(|| socket(&table, inode, is_shut))
        } else if target.starts_with('/') {
            let stat = statat(&directory, name, AtFlags::empty());
            let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
            End::Path {
                path: target,
                is_fifo: kind == Ok(FileType::Fifo),
                is_device: kind == Ok(FileType::CharacterDevice),
            }
        } else {
            End::Nobody
        };
        files.push(OpenFile { number, end });
    }
    Fact::Known(files)
}

fn socket(table: &UnixTable, inode: u64, is_shut: bool) -> End {
    let unix = |peer: u64, path: Option<String>, peer_path: Option<String>| End::Unix {
        own: 2 * inode,
        peer: 2 * peer,
        is_shut,
        listens: false,
        datagrams: false,
        path,
        peer_path,
    };
    match table.kind(inode) {
        Some(UnixKind::Listens(name, _)) => End::Unix {
            own: 2 * inode,
            peer: 0,
            is_shut: false,
            listens: true,
            datagrams: false,
            path: Some(name),
            peer_path: None,
        },
        Some(UnixKind::Pair(peer)) => unix(peer, None, None),
        Some(UnixKind::Accepted(name, peer)) => unix(peer, Some(name), None),
        Some(UnixKind::Connected(name, peer)) => unix(peer, None, Some(name)),
        Some(UnixKind::Receives(name)) => End::Unix {
            own: 2 * inode,
            peer: 0,
            is_shut: false,
            listens: false,
            datagrams: true,
            path: Some(name),
            peer_path: None,
        },
        Some(UnixKind::Alone) => unix(0, None, None),
        None => End::Unknown("a socket that is no unix socket".to_owned()),
    }
}

/// Internet sockets by inode.
fn inet(proc: Place<'_>) -> Option<HashMap<u64, End>> {
    let mut found = HashMap::new();
    for family in ["tcp", "tcp6"] {
        let Some(file) = proc.net_table(family).ok()? else { continue };
        let entries = TcpNetEntries::from_read(file, procfs::current_system_info()).ok()?;
        for entry in entries.0 {
            let (own, local, remote) = (2 * entry.inode, entry.local_address, entry.remote_address);
            let kind = match entry.state {
                TcpState::Listen => Inet::Listens,
                TcpState::Close | TcpState::TimeWait => Inet::Idle,
                TcpState::CloseWait | TcpState::LastAck | TcpState::Closing => Inet::Closing,
                _ => Inet::Connected,
            };
            found.insert(entry.inode, End::Inet { own, kind, local, remote });
        }
    }
    for family in ["udp", "udp6"] {
        let Some(file) = proc.net_table(family).ok()? else { continue };
        let entries = UdpNetEntries::from_read(file, procfs::current_system_info()).ok()?;
        for entry in entries.0 {
            let (own, local, remote) = (2 * entry.inode, entry.local_address, entry.remote_address);
            found.insert(entry.inode, End::Inet { own, kind: Inet::Datagrams, local, remote });
        }
    }
    Some(found)
}
