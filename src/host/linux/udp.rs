//! UDP sockets of our network namespace. UDP knows no listeners: a bound socket may be sent to by anybody.

use super::files::Place;
use procfs::FromReadSI;
use procfs::net::{UdpNetEntries, UdpState};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// What a UDP socket is to the process that has it.
pub(super) enum UdpKind {
    /// It sends to one address.
    Connected(SocketAddr),
    /// Bound by itself: others may know the address.
    Receives(SocketAddr),
    /// Bound by the kernel when it first sent something.
    Sends,
}

/// All UDP sockets by inode.
pub(super) struct Udp {
    sockets: HashMap<u64, (UdpState, SocketAddr, SocketAddr)>,
    ephemeral: RangeInclusive<u16>,
}

impl Udp {
    /// Reads both families. `None` when the tables may not be read.
    pub(super) fn read(proc: Place<'_>, ephemeral: RangeInclusive<u16>) -> Option<Udp> {
        let mut sockets = HashMap::new();
        for family in ["udp", "udp6"] {
            let Some(file) = proc.net_table(family).ok()? else { continue };
            let entries = UdpNetEntries::from_read(file, procfs::current_system_info()).ok()?;
            sockets.extend(
                entries
                    .0
                    .into_iter()
                    .map(|entry| (entry.inode, (entry.state, entry.local_address, entry.remote_address))),
            );
        }
        Some(Udp { sockets, ephemeral })
    }

    /// What this socket is; `None` when it is none of these.
    pub(super) fn kind(&self, inode: u64) -> Option<UdpKind> {
        let (state, local, remote) = self.sockets.get(&inode)?;
        Some(if *state == UdpState::Established {
            UdpKind::Connected(*remote)
        } else if local.ip().is_unspecified() && self.ephemeral.contains(&local.port()) {
            UdpKind::Sends
        } else {
            UdpKind::Receives(*local)
        })
    }
}

/// The ports that the kernel gives to whoever does not ask for one.
pub(super) fn ephemeral_ports(proc: Place<'_>) -> RangeInclusive<u16> {
    let text = proc.text("sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ports = text.split_whitespace().filter_map(|word| word.parse().ok());
    match (ports.next(), ports.next()) {
        (Some(first), Some(last)) => first..=last,
        // The kernel's own default.
        _ => 32768..=60999,
    }
}
