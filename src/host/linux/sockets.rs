//! Unix sockets and their peers from the kernel's sock_diag, the only place where a peer is visible.

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::unix::{ShowFlags, StateFlags, UnixRequest, nlas::Nla, nlas::UnixDiagName};
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
    dump(StateFlags::ESTABLISHED, ShowFlags::PEER, |inode, nlas| {
        let peer = nlas.iter().find_map(|nla| match nla {
            Nla::Peer(inode) => Some(*inode),
            _ => None,
        });
        let shutdown = nlas.iter().find_map(|nla| match nla {
            Nla::Shutdown(sides) => Some(*sides),
            _ => None,
        });
        if let (Some(peer), Some(shutdown)) = (peer, shutdown) {
            found.insert(inode, UnixSocket { peer, is_shut_down: shutdown & BOTH_SIDES == BOTH_SIDES });
        }
    })?;
    Ok(found)
}

/// Listening unix sockets, and the connections to them.
#[derive(Default)]
pub(super) struct UnixListeners {
    names: HashMap<u64, String>,
    waiting: HashMap<u64, Vec<u32>>,
    /// Far ends of the accepted connections: those have their listener's name.
    accepted: HashMap<String, Vec<u32>>,
}

impl UnixListeners {
    /// The name under which a socket listens, if it does.
    pub(super) fn listens(&self, inode: u64) -> Option<&str> {
        self.names.get(&inode).map(String::as_str)
    }

    /// Inodes of the sockets that are connected to this listener, or wait for being accepted.
    pub(super) fn visitors(&self, listener: u64) -> Vec<u64> {
        let accepted = self.names.get(&listener).and_then(|name| self.accepted.get(name));
        let all = accepted.into_iter().chain(self.waiting.get(&listener)).flatten();
        // 0 means that the other end is closed.
        all.filter(|inode| **inode != 0).map(|inode| u64::from(*inode)).collect()
    }
}

fn words(name: &UnixDiagName) -> String {
    match name {
        UnixDiagName::Pathname(path) => path.to_string_lossy().into_owned(),
        UnixDiagName::Abstract(name) => format!("@{}", String::from_utf8_lossy(name).trim_matches('\0')),
    }
}

/// All listening unix sockets of our network namespace.
pub(super) fn unix_listeners() -> io::Result<UnixListeners> {
    let mut found = UnixListeners::default();
    dump(StateFlags::LISTEN, ShowFlags::NAME | ShowFlags::ICONS, |inode, nlas| {
        for nla in nlas {
            match nla {
                Nla::Name(name) => _ = found.names.insert(inode, words(name)),
                Nla::PendingConnections(peers) => _ = found.waiting.insert(inode, peers.clone()),
                _ => {}
            }
        }
    })?;
    dump(StateFlags::ESTABLISHED, ShowFlags::NAME | ShowFlags::PEER, |_, nlas| {
        let name = nlas.iter().find_map(|nla| if let Nla::Name(name) = nla { Some(name) } else { None });
        let peer = nlas.iter().find_map(|nla| if let Nla::Peer(inode) = nla { Some(*inode) } else { None });
        if let (Some(name), Some(peer)) = (name, peer) {
            found.accepted.entry(words(name)).or_default().push(peer);
        }
    })?;
    Ok(found)
}

/// Asks the kernel for all unix sockets in these states and hands each to `take`.
fn dump(states: StateFlags, show: ShowFlags, mut take: impl FnMut(u64, &[Nla])) -> io::Result<()> {
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
                    take(u64::from(response.header.inode), &response.nlas);
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
