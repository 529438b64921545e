//! Addresses of internet sockets, as both hosts compare and show them.

use std::net::SocketAddr;

/// A client that came over IPv4 to an IPv6 socket shows up as `::ffff:1.2.3.4` on one side only.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether an end is one of those that a listening socket takes.
pub(super) fn is_at(listening: SocketAddr, end: SocketAddr) -> bool {
    listening.port() == end.port() && (listening.ip().is_unspecified() || listening.ip() == end.ip())
}

/// For people: `*:80` for every address.
pub(super) fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("*:{}", address.port()) } else { address.to_string() }
}
