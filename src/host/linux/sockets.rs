//! Unix sockets and their peers from the kernel's sock_diag, the only place where a peer is visible.

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::unix::{
    ShowFlags, StateFlags, UnixRequest, UnixResponseHeader, nlas::Nla, nlas::UnixDiagName,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use std::collections::HashMap;
use std::io;

/// One connected unix socket of our network namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UnixSocket {
    /// Inode of the far end. 0 when no process holds it any more, or has not accepted it yet.
    pub(super) peer: u32,
    /// Whether both sides are shut down, as they are once the far end was closed.
    pub(super) is_shut_down: bool,
}

/// `SHUTDOWN_MASK` of the kernel: receiving and sending.
const BOTH_SIDES: u8 = 3;

/// All unix sockets that report a peer and their shutdown state, by inode.
pub(super) fn unix_sockets() -> io::Result<HashMap<u64, UnixSocket>> {
    let mut found = HashMap::new();
    dump(StateFlags::ESTABLISHED, ShowFlags::PEER, |header, nlas| {
        let peer = nlas.iter().find_map(|nla| match nla {
            Nla::Peer(inode) => Some(*inode),
            _ => None,
        });
        let shutdown = nlas.iter().find_map(|nla| match nla {
            Nla::Shutdown(sides) => Some(*sides),
            _ => None,
        });
        if let (Some(peer), Some(shutdown)) = (peer, shutdown) {
            found.insert(
                u64::from(header.inode),
                UnixSocket { peer, is_shut_down: shutdown & BOTH_SIDES == BOTH_SIDES },
            );
        }
    })?;
    Ok(found)
}

/// Every unix socket of our network namespace, with its name and its far end.
#[derive(Default)]
pub(super) struct UnixTable {
    sockets: HashMap<u64, Entry>,
    /// Far ends of the accepted connections by name: those have their listener's.
    accepted: HashMap<String, Vec<u32>>,
}

#[derive(Default)]
struct Entry {
    listens: bool,
    datagrams: bool,
    name: Option<String>,
    peer: Option<u32>,
    waiting: Vec<u32>,
}

/// What a unix socket is to the process that has it.
pub(super) enum UnixKind {
    /// It listens under this name; these are connected, or wait for being accepted.
    Listens(String, Vec<u64>),
    /// One of a pair, or a connection without a name on either side.
    Pair(u64),
    /// Somebody has connected to this name.
    Accepted(String, u64),
    /// It has connected to this name.
    Connected(String, u64),
    /// Anybody may send datagrams to this name.
    Receives(String),
    /// Nobody is at its other end.
    Alone,
}

impl UnixTable {
    /// What this socket is; `None` when it is none of ours.
    pub(super) fn kind(&self, inode: u64) -> Option<UnixKind> {
        let entry = self.sockets.get(&inode)?;
        if entry.listens {
            let name = entry.name.clone().unwrap_or_default();
            let accepted = self.accepted.get(&name).into_iter().flatten();
            // 0 means that the other end is closed.
            let all = accepted.chain(&entry.waiting).filter(|peer| **peer != 0).map(|peer| u64::from(*peer));
            return Some(UnixKind::Listens(name, all.collect()));
        }
        let peer = entry.peer.filter(|peer| *peer != 0).map(u64::from);
        let peer_name = peer.and_then(|peer| self.sockets.get(&peer)?.name.clone());
        Some(match (peer, peer_name, &entry.name) {
            (Some(peer), Some(name), None) => UnixKind::Connected(name, peer),
            // Bound, and connected all the same: others may send to it too.
            (_, _, Some(name)) if entry.datagrams => UnixKind::Receives(name.clone()),
            (Some(peer), _, Some(name)) => UnixKind::Accepted(name.clone(), peer),
            (Some(peer), None, None) => UnixKind::Pair(peer),
            (None, _, _) => UnixKind::Alone,
        })
    }
}

/// All unix sockets of our network namespace.
pub(super) fn unix_table() -> io::Result<UnixTable> {
    let mut found = UnixTable::default();
    let show = ShowFlags::NAME | ShowFlags::PEER | ShowFlags::ICONS;
    dump(StateFlags::from_bits_retain(u32::MAX), show, |header, nlas| {
        let mut entry = Entry {
            listens: header.state == LISTENING,
            datagrams: header.kind == DATAGRAM,
            ..Entry::default()
        };
        for nla in nlas {
            match nla {
                Nla::Name(name) => entry.name = Some(words(name)),
                Nla::Peer(peer) => entry.peer = Some(*peer),
                Nla::PendingConnections(peers) => entry.waiting.clone_from(peers),
                _ => {}
            }
        }
        if let (Some(name), Some(peer), false) = (&entry.name, entry.peer, entry.listens) {
            found.accepted.entry(name.clone()).or_default().push(peer);
        }
        found.sockets.insert(u64::from(header.inode), entry);
    })?;
    Ok(found)
}

/// `TCP_LISTEN` and `SOCK_DGRAM` of the kernel.
const LISTENING: u8 = 10;
const DATAGRAM: u8 = 2;

fn words(name: &UnixDiagName) -> String {
    match name {
        UnixDiagName::Pathname(path) => path.to_string_lossy().into_owned(),
        UnixDiagName::Abstract(name) => format!("@{}", String::from_utf8_lossy(name).trim_matches('\0')),
    }
}

/// Asks the kernel for all unix sockets in these states and hands each to `take`.
fn dump(
    states: StateFlags,
    show: ShowFlags,
    mut take: impl FnMut(&UnixResponseHeader, &[Nla]),
) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&request(states, show), 0)?;
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        let mut rest = datagram.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            let length = (message.header.length as usize).next_multiple_of(4);
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(SockDiagMessage::UnixResponse(response)) => {
                    take(&response.header, &response.nlas);
                }
                _ => {}
            }
            if length == 0 || length > rest.len() {
                break;
            }
            rest = &rest[length..];
        }
    }
}

fn request(states: StateFlags, show: ShowFlags) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let request = UnixRequest { state_flags: states, inode: 0, show_flags: show, cookie: [0xff; 8] };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::UnixRequest(request).into());
    message.finalize();
    let mut buffer = vec![0; message.buffer_len()];
    message.serialize(&mut buffer);
    buffer
}
