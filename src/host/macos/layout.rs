//! What libproc fills in: the layouts of XNU's bsd/sys/proc_info.h that the libc crate does not have, and their meaning. Nothing
//! here needs a Mac.

use crate::host::portable::{End, Inet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Memory that the kernel may fill with anything.
///
/// # Safety
/// Every pattern of bytes must be a value of the type.
#[allow(unsafe_code, reason = "a promise about layouts, kept by those below: integers only")]
pub(super) unsafe trait Plain: Copy {}

/// `struct proc_fileinfo`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct File {
    open_flags: u32,
    status: u32,
    offset: i64,
    kind: i32,
    guard_flags: u32,
}

/// `struct vinfo_stat`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Stat {
    device: u32,
    mode: u16,
    links: u16,
    inode: u64,
    uid: u32,
    gid: u32,
    times: [i64; 8],
    size: i64,
    blocks: i64,
    block_size: i32,
    flags: u32,
    generation: u32,
    raw_device: u32,
    spare: [i64; 2],
}

/// `struct pipe_fdinfo`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct PipeFd {
    file: File,
    stat: Stat,
    handle: u64,
    peer_handle: u64,
    status: i32,
    reserved: i32,
}

/// `struct vnode_fdinfowithpath`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct VnodeFd {
    file: File,
    stat: Stat,
    kind: i32,
    padding: i32,
    file_system: [i32; 2],
    path: [u8; 1024],
}

/// `struct vnode_fdinfo`: the same without a path, which a deleted file has not.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct PathlessFd {
    file: File,
    stat: Stat,
    kind: i32,
    padding: i32,
    file_system: [i32; 2],
}

/// `struct proc_bsdshortinfo`: what every user may know of every process.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct ShortInfo {
    pid: u32,
    pub(super) parent: u32,
    group: u32,
    pub(super) status: u32,
    pub(super) name: [u8; 16],
    pub(super) flags: u32,
    pub(super) uid: u32,
    gid: u32,
    pub(super) real_uid: u32,
    real_gid: u32,
    saved_uid: u32,
    saved_gid: u32,
    reserved: u32,
}

/// `struct proc_fileportinfo`: a descriptor that was made a Mach port.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct FilePort {
    pub(super) port: u32,
    pub(super) kind: u32,
}

/// `struct socket_fdinfo`. What its union holds depends on `kind`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct SocketFd {
    file: File,
    stat: Stat,
    handle: u64,
    pcb: u64,
    kind_of_socket: i32,
    protocol: i32,
    family: i32,
    options: i16,
    linger: i16,
    state: i16,
    queue: i16,
    incomplete: i16,
    limit: i16,
    timeout: i16,
    error: u16,
    out_of_band: u32,
    buffers: [u32; 12],
    kind: i32,
    reserved: u32,
    of_protocol: [u64; 66],
}

/// `struct proc_uniqidentifierinfo`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct UniqueId {
    uuid: [u8; 16],
    /// Never reused.
    pub(super) unique: u64,
    /// That of the process that started it, whoever is its parent now.
    pub(super) parent_unique: u64,
    /// Another one after each exec; part of the audit token.
    pub(super) version: i32,
    original_parent_version: i32,
    reserved: [u64; 2],
}

// The sizes of the 64-bit systems, both of them (libproc's own bindings say the same).
const _: () = assert!(size_of::<File>() == 24);
const _: () = assert!(size_of::<Stat>() == 136);
const _: () = assert!(size_of::<PipeFd>() == 184);
const _: () = assert!(size_of::<VnodeFd>() == 1200);
const _: () = assert!(size_of::<PathlessFd>() == 176);
const _: () = assert!(size_of::<ShortInfo>() == 64);
const _: () = assert!(size_of::<FilePort>() == 8);
const _: () = assert!(size_of::<SocketFd>() == 792);
const _: () = assert!(size_of::<UniqueId>() == 56);

#[allow(unsafe_code, reason = "integers only")]
mod plain {
    use super::{FilePort, PathlessFd, PipeFd, Plain, ShortInfo, SocketFd, UniqueId, VnodeFd};

    // SAFETY: all fields are integers, or arrays of them, without padding between them.
    unsafe impl Plain for PipeFd {}
    // SAFETY: the same.
    unsafe impl Plain for VnodeFd {}
    // SAFETY: the same.
    unsafe impl Plain for PathlessFd {}
    // SAFETY: the same.
    unsafe impl Plain for ShortInfo {}
    // SAFETY: the same.
    unsafe impl Plain for FilePort {}
    // SAFETY: the same.
    unsafe impl Plain for SocketFd {}
    // SAFETY: the same.
    unsafe impl Plain for UniqueId {}
}

impl PipeFd {
    /// An end of a pipe. The kernel shows no other end when that is closed.
    pub(super) fn end(&self) -> End {
        End::Pipe { own: self.handle, peer: self.peer_handle }
    }
}

/// `S_IFMT` and two kinds of it.
const FORMAT: u16 = 0o170_000;
const FIFO: u16 = 0o010_000;
const CHARACTER_DEVICE: u16 = 0o020_000;

impl VnodeFd {
    /// Something with a path.
    pub(super) fn end(&self) -> End {
        let kind = self.stat.mode & FORMAT;
        End::Path { path: text(&self.path), is_fifo: kind == FIFO, is_device: kind == CHARACTER_DEVICE }
    }
}

impl PathlessFd {
    /// The same of something that has no path any more.
    pub(super) fn end(&self) -> End {
        let kind = self.stat.mode & FORMAT;
        let path = "a deleted file".to_owned();
        End::Path { path, is_fifo: kind == FIFO, is_device: kind == CHARACTER_DEVICE }
    }
}

/// `SOCKINFO_*`.
const OF_INTERNET: i32 = 1;
const OF_TCP: i32 = 2;
const OF_UNIX: i32 = 3;
const OF_KERNEL_EVENTS: i32 = 5;
const OF_KERNEL_CONTROL: i32 = 6;
/// `SO_ACCEPTCONN`, `SOCK_DGRAM`, `IPPROTO_UDP`.
const ACCEPTS: i16 = 2;
const DATAGRAMS: i32 = 2;
const UDP: i32 = 17;
/// `SOI_S_CANTRCVMORE` and `SOI_S_ISDISCONNECTED`.
const IS_SHUT: i16 = 0x20 | 0x2000;
/// `TSI_S_*`.
const CLOSED: i32 = 0;
const LISTENING: i32 = 1;
const CLOSE_WAIT: i32 = 5;
const CLOSING: i32 = 7;
const LAST_ACK: i32 = 8;
const TIME_WAIT: i32 = 10;
/// `INI_IPV6`.
const IPV6: u8 = 2;

impl SocketFd {
    /// A socket, and what it is connected to.
    pub(super) fn end(&self) -> End {
        match self.kind {
            OF_UNIX => self.unix(),
            OF_TCP => {
                let kind = match self.word(80) {
                    LISTENING => Inet::Listens,
                    CLOSED | TIME_WAIT => Inet::Idle,
                    CLOSE_WAIT | CLOSING | LAST_ACK => Inet::Closing,
                    _ => Inet::Connected,
                };
                self.inet(kind)
            }
            OF_INTERNET if self.protocol == UDP => self.inet(Inet::Datagrams),
            // Both talk to the kernel only.
            OF_KERNEL_EVENTS | OF_KERNEL_CONTROL => End::Nobody,
            kind => End::Unknown(format!("a socket of another kind ({kind})")),
        }
    }

    /// `struct un_sockinfo`: two handles, and two names of 255 bytes.
    fn unix(&self) -> End {
        let bytes = self.bytes();
        let (socket, pcb) = (self.of_protocol[0], self.of_protocol[1]);
        let name = |at: usize| Some(unix_name(&bytes[at..at + 255])).filter(|name| !name.is_empty());
        End::Unix {
            own: self.handle,
            // Either one says that there is somebody.
            peer: if socket != 0 { socket } else { pcb },
            is_shut: self.state & IS_SHUT != 0,
            listens: self.options & ACCEPTS != 0,
            datagrams: self.kind_of_socket == DATAGRAMS,
            path: name(16),
            peer_path: name(271),
        }
    }

    /// `struct in_sockinfo`: ports at 0 and 4, in network order; the family at 24; addresses at 32 and 48.
    fn inet(&self, kind: Inet) -> End {
        let bytes = self.bytes();
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let address = |at: usize| -> IpAddr {
            let field: [u8; 16] = bytes[at..at + 16].try_into().unwrap_or_default();
            if bytes[24] & IPV6 != 0 {
                IpAddr::from(Ipv6Addr::from(field)).to_canonical()
            } else {
                // Version 4 stands in the last four bytes.
                IpAddr::from(Ipv4Addr::new(field[12], field[13], field[14], field[15]))
            }
        };
        let (remote, local) = (SocketAddr::new(address(32), port(0)), SocketAddr::new(address(48), port(4)));
        End::Inet { own: self.handle, kind, local, remote }
    }

    fn bytes(&self) -> [u8; 528] {
        let mut bytes = [0; 528];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.of_protocol) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn word(&self, at: usize) -> i32 {
        let bytes = self.bytes();
        i32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }
}

/// `struct sockaddr_un`: its length, its family, and the path.
fn unix_name(bytes: &[u8]) -> String {
    let length = usize::from(bytes[0]).min(bytes.len());
    text(bytes.get(2..length).unwrap_or_default())
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(kind: i32) -> SocketFd {
        let file = File { open_flags: 0, status: 0, offset: 0, kind: 0, guard_flags: 0 };
        let stat = Stat {
            device: 0,
            mode: 0,
            links: 0,
            inode: 0,
            uid: 0,
            gid: 0,
            times: [0; 8],
            size: 0,
            blocks: 0,
            block_size: 0,
            flags: 0,
            generation: 0,
            raw_device: 0,
            spare: [0; 2],
        };
        SocketFd {
            file,
            stat,
            handle: 7,
            pcb: 8,
            kind_of_socket: 1,
            protocol: 0,
            family: 1,
            options: 0,
            linger: 0,
            state: 0,
            queue: 0,
            incomplete: 0,
            limit: 0,
            timeout: 0,
            error: 0,
            out_of_band: 0,
            buffers: [0; 12],
            kind,
            reserved: 0,
            of_protocol: [0; 66],
        }
    }

    fn put(socket: &mut SocketFd, at: usize, bytes: &[u8]) {
        let mut all = socket.bytes();
        all[at..at + bytes.len()].copy_from_slice(bytes);
        for (word, chunk) in socket.of_protocol.iter_mut().zip(all.chunks_exact(8)) {
            *word = u64::from_ne_bytes(chunk.try_into().unwrap());
        }
    }

    #[test]
    fn a_socketpair_knows_its_peer_until_that_is_closed() {
        let mut pair = socket(OF_UNIX);
        pair.of_protocol[0] = 99;
        assert!(matches!(pair.end(), End::Unix { own: 7, peer: 99, is_shut: false, listens: false, .. }));
        pair.of_protocol[0] = 0;
        pair.state = 0x2000;
        assert!(matches!(pair.end(), End::Unix { peer: 0, is_shut: true, .. }));
        // A connection of which only the control block is shown is one all the same.
        pair.of_protocol[1] = 98;
        assert!(matches!(pair.end(), End::Unix { peer: 98, .. }));
    }

    #[test]
    fn names_of_unix_sockets_stand_behind_length_and_family() {
        let mut listener = socket(OF_UNIX);
        listener.options = ACCEPTS;
        put(&mut listener, 16, b"\x0a\x01/tmp/s.x\0garbage");
        put(&mut listener, 271, b"\x00\x00/never");
        let End::Unix { listens, path, peer_path, .. } = listener.end() else { panic!() };
        assert_eq!((listens, path.as_deref(), peer_path), (true, Some("/tmp/s.x"), None));
    }

    #[test]
    fn addresses_of_both_families_are_read() {
        let mut four = socket(OF_TCP);
        put(&mut four, 0, &443_u16.to_be_bytes());
        put(&mut four, 4, &50000_u16.to_be_bytes());
        put(&mut four, 24, &[1]);
        put(&mut four, 32 + 12, &[192, 0, 2, 1]);
        put(&mut four, 48 + 12, &[10, 0, 0, 7]);
        put(&mut four, 80, &4_i32.to_ne_bytes());
        let wanted = End::Inet {
            own: 7,
            kind: Inet::Connected,
            local: "10.0.0.7:50000".parse().unwrap(),
            remote: "192.0.2.1:443".parse().unwrap(),
        };
        assert_eq!(four.end(), wanted);
        let mut six = socket(OF_TCP);
        put(&mut six, 4, &8080_u16.to_be_bytes());
        put(&mut six, 24, &[IPV6]);
        put(&mut six, 48 + 15, &[1]);
        put(&mut six, 80, &LISTENING.to_ne_bytes());
        let End::Inet { kind, local, .. } = six.end() else { panic!() };
        assert_eq!((kind, local.to_string().as_str()), (Inet::Listens, "[::1]:8080"));
        assert!(matches!(socket(7).end(), End::Unknown(_)), "vsock");
        assert_eq!(socket(OF_KERNEL_EVENTS).end(), End::Nobody);
    }
}
