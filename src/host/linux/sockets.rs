//! Unix sockets and their peers from the kernel's sock_diag, the only place where a peer is visible.

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::unix::{ShowFlags, StateFlags, UnixRequest, nlas::Nla};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use std::collections::HashMap;
use std::io;

/// One connected unix socket of our network namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UnixSocket {
    /// Inode of the far end. 0 when no process holds it any more, or has not accepted it yet.
    pub(super) peer: u32,
    /// Whether the receiving side is shut down, which it is once the far end was closed.
    pub(super) receives_no_more: bool,
}

/// `RCV_SHUTDOWN` of the kernel.
const RECEIVE_SHUTDOWN: u8 = 1;

/// All unix sockets that report a peer and their shutdown state, by inode.
pub(super) fn unix_sockets() -> io::Result<HashMap<u64, UnixSocket>> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&request(), 0)?;
    let mut found = HashMap::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        let mut rest = datagram.as_slice();
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            let length = (message.header.length as usize).next_multiple_of(4);
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(found),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(SockDiagMessage::UnixResponse(response)) => {
                    let peer = response.nlas.iter().find_map(|nla| match nla {
                        Nla::Peer(inode) => Some(*inode),
                        _ => None,
                    });
                    let shutdown = response.nlas.iter().find_map(|nla| match nla {
                        Nla::Shutdown(sides) => Some(*sides),
                        _ => None,
                    });
                    if let (Some(peer), Some(shutdown)) = (peer, shutdown) {
                        let receives_no_more = shutdown & RECEIVE_SHUTDOWN != 0;
                        found.insert(u64::from(response.header.inode), UnixSocket { peer, receives_no_more });
                    }
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

fn request() -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let request = UnixRequest {
        state_flags: StateFlags::ESTABLISHED,
        inode: 0,
        show_flags: ShowFlags::PEER,
        cookie: [0xff; 8],
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::UnixRequest(request).into());
    message.finalize();
    let mut buffer = vec![0; message.buffer_len()];
    message.serialize(&mut buffer);
    buffer
}
