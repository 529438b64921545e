//! TCP connections of our network namespace, as the kernel lists them.

use super::files::Place;
use crate::host::addresses::{canonical, is_at};
use procfs::FromReadSI;
use procfs::net::{TcpNetEntries, TcpNetEntry, TcpState};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// Local and remote address of a connection.
type Ends = (SocketAddr, SocketAddr);

/// All TCP sockets of one moment.
pub(super) struct Tcp {
    listening: HashMap<u64, SocketAddr>,
    /// Everything that is connected.
    connected: HashMap<Ends, (TcpState, u64)>,
    by_inode: HashMap<u64, Ends>,
    by_port: HashMap<u16, Vec<Ends>>,
    ephemeral: RangeInclusive<u16>,
}

/// The other end of a connection.
pub(super) enum Other {
    /// A socket of this machine, by inode.
    Socket(u64),
    /// Another machine, or another network namespace.
    Elsewhere(String),
}

/// What a TCP socket is to the process that has it.
pub(super) enum TcpKind {
    /// It listens there; these are connected, accepted or not.
    Listens(SocketAddr, Vec<Other>),
    /// Somebody has connected from this address.
    Inbound(SocketAddr, Other),
    /// It has connected to this address.
    Outward(SocketAddr, Other),
    /// Connected to this address, and nobody can tell who began.
    Either(SocketAddr, Other),
    /// Nobody is at its other end.
    Alone,
}

impl Tcp {
    /// Reads both families. `None` when the tables may not be read.
    pub(super) fn read(proc: Place<'_>, ephemeral: RangeInclusive<u16>) -> Option<Tcp> {
        let mut tcp = Tcp {
            listening: HashMap::new(),
            connected: HashMap::new(),
            by_inode: HashMap::new(),
            by_port: HashMap::new(),
            ephemeral,
        };
        for family in ["tcp", "tcp6"] {
            let Some(file) = proc.net_table(family).ok()? else { continue };
            let entries = TcpNetEntries::from_read(file, procfs::current_system_info()).ok()?;
            entries.0.into_iter().for_each(|entry| tcp.add(&entry));
        }
        Some(tcp)
    }

    fn add(&mut self, entry: &TcpNetEntry) {
        let ends = (canonical(entry.local_address), canonical(entry.remote_address));
        match entry.state {
            TcpState::Listen => {
                self.listening.insert(entry.inode, ends.0);
            }
            // Nobody holds these any more.
            TcpState::TimeWait | TcpState::Close => {}
            _ => {
                self.connected.insert(ends, (entry.state.clone(), entry.inode));
                self.by_inode.insert(entry.inode, ends);
                self.by_port.entry(ends.0.port()).or_default().push(ends);
            }
        }
    }

    /// What this socket is; `None` when it is none of these.
    pub(super) fn kind(&self, inode: u64) -> Option<TcpKind> {
        if let Some(address) = self.listening.get(&inode) {
            return Some(TcpKind::Listens(*address, self.visitors(*address)));
        }
        let (local, remote) = *self.by_inode.get(&inode)?;
        let Some(other) = self.other((local, remote)) else { return Some(TcpKind::Alone) };
        // Whoever connects gets a port from the kernel; whoever is connected to has one that is known.
        let (ours, theirs) =
            (self.ephemeral.contains(&local.port()), self.ephemeral.contains(&remote.port()));
        let listens = |end: SocketAddr| self.listening.values().any(|address| is_at(*address, end));
        Some(if listens(local) || !ours {
            TcpKind::Inbound(remote, other)
        } else if listens(remote) || !theirs {
            TcpKind::Outward(remote, other)
        } else {
            TcpKind::Either(remote, other)
        })
    }

    /// Who is connected to a listening address, accepted or not.
    fn visitors(&self, address: SocketAddr) -> Vec<Other> {
        let ends = self.by_port.get(&address.port()).map_or(&[][..], Vec::as_slice);
        ends.iter().filter(|(local, _)| is_at(address, *local)).filter_map(|ends| self.other(*ends)).collect()
    }

    /// The other end of a connection; `None` when it is closed.
    fn other(&self, (local, remote): Ends) -> Option<Other> {
        match self.connected.get(&(remote, local)) {
            // Closed by its process; the kernel only says goodbye.
            Some((_, 0)) => None,
            Some((_, inode)) => Some(Other::Socket(*inode)),
            // On this machine it would be in the table. Another machine may have closed its half and wait for an answer.
            None if remote.ip().is_loopback() || remote.ip() == local.ip() => None,
            None => Some(Other::Elsewhere(remote.to_string())),
        }
    }
}
