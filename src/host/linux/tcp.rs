//! TCP connections of our network namespace, as the kernel lists them.

use super::files::{Place, is_missing};
use procfs::FromReadSI;
use procfs::net::{TcpNetEntries, TcpNetEntry, TcpState};
use rustix::fs::{Mode, OFlags, openat};
use std::collections::HashMap;
use std::fs::File;
use std::net::SocketAddr;

/// All TCP sockets of one moment.
pub(super) struct Tcp {
    listening: HashMap<u64, SocketAddr>,
    /// Everything that is connected, by local and remote address.
    connected: HashMap<(SocketAddr, SocketAddr), (TcpState, u64)>,
    by_port: HashMap<u16, Vec<(SocketAddr, SocketAddr)>>,
}

/// The other end of a connection to a listener.
pub(super) enum Visitor {
    /// A socket of this machine, by inode.
    Socket(u64),
    /// Another machine, or another network namespace.
    Elsewhere(String),
}

impl Tcp {
    /// Reads both families. `None` when the tables may not be read.
    pub(super) fn read(proc: Place<'_>) -> Option<Tcp> {
        let mut tcp = Tcp { listening: HashMap::new(), connected: HashMap::new(), by_port: HashMap::new() };
        for family in ["tcp", "tcp6"] {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let file = match openat(proc.fd(), format!("self/net/{family}"), flags, Mode::empty()) {
                Ok(file) => file,
                // A kernel without IPv6 has no such table.
                Err(error) if is_missing(error) && family == "tcp6" => continue,
                Err(_) => return None,
            };
            let entries = TcpNetEntries::from_read(File::from(file), procfs::current_system_info()).ok()?;
            entries.0.into_iter().for_each(|entry| tcp.add(&entry));
        }
        Some(tcp)
    }

    fn add(&mut self, entry: &TcpNetEntry) {
        let (local, remote) = (canonical(entry.local_address), canonical(entry.remote_address));
        match entry.state {
            TcpState::Listen => {
                self.listening.insert(entry.inode, local);
            }
            // Nobody holds these any more.
            TcpState::TimeWait | TcpState::Close => {}
            _ => {
                self.connected.insert((local, remote), (entry.state.clone(), entry.inode));
                self.by_port.entry(local.port()).or_default().push((local, remote));
            }
        }
    }

    /// Where this socket listens, if it does.
    pub(super) fn listens(&self, inode: u64) -> Option<SocketAddr> {
        self.listening.get(&inode).copied()
    }

    /// Who is connected to a listening address, accepted or not.
    pub(super) fn visitors(&self, address: SocketAddr) -> Vec<Visitor> {
        let fits = |local: &SocketAddr| address.ip().is_unspecified() || address.ip() == local.ip();
        let ends = self.by_port.get(&address.port()).map_or(&[][..], Vec::as_slice);
        (ends.iter().filter(|(local, _)| fits(local)))
            .filter_map(|(local, remote)| {
                let half_closed = self
                    .connected
                    .get(&(*local, *remote))
                    .is_some_and(|(state, _)| *state == TcpState::CloseWait);
                match self.connected.get(&(*remote, *local)) {
                    // Closed by its process; the kernel only says goodbye.
                    Some((_, 0)) => None,
                    Some((_, inode)) => Some(Visitor::Socket(*inode)),
                    None if half_closed => None,
                    None => Some(Visitor::Elsewhere(remote.to_string())),
                }
            })
            .collect()
    }
}

/// A client that came over IPv4 to an IPv6 socket shows up as `::ffff:1.2.3.4` on one side only.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
