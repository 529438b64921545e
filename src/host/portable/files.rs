//! Descriptors as macOS tells them: each names its own end of a pipe or socket, and the other.

use crate::process::{DESCRIPTORS, Descriptor, Fact, FarEnd};
use std::net::SocketAddr;

/// One descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenFile {
    /// Its number.
    pub number: u32,
    /// What it leads to.
    pub end: End,
}

/// What a descriptor leads to. Two descriptors with one handle are the same end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// An end of an anonymous pipe.
    Pipe {
        /// Its handle.
        own: u64,
        /// The other end's; 0 when that is closed.
        peer: u64,
    },
    /// A unix socket.
    Unix {
        /// Its handle.
        own: u64,
        /// The other end's; 0 for none.
        peer: u64,
        /// Whether it was connected and is no more.
        is_shut: bool,
        /// Whether it listens.
        listens: bool,
        /// Whether it takes datagrams.
        datagrams: bool,
        /// Its own name.
        path: Option<String>,
        /// The name that it is connected to.
        peer_path: Option<String>,
    },
    /// A TCP or UDP socket.
    Inet {
        /// Its handle.
        own: u64,
        /// What it is.
        kind: Inet,
        /// Its own address.
        local: SocketAddr,
        /// The other one's; port 0 for none.
        remote: SocketAddr,
    },
    /// Something with a path.
    Path {
        /// The path.
        path: String,
        /// Whether it is a FIFO.
        is_fifo: bool,
        /// Whether it is a character device: a terminal, /dev/null.
        is_device: bool,
    },
    /// Something that leads to nobody: an event queue, shared memory.
    Nobody,
    /// Something of which it cannot be told where it leads; in words.
    Unknown(String),
}

/// What an internet socket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inet {
    /// TCP, waiting for connections.
    Listens,
    /// TCP, connected.
    Connected,
    /// TCP, and the other side has said that it is done: it is closed, or waits for a last answer.
    Closing,
    /// TCP, in no connection.
    Idle,
    /// UDP.
    Datagrams,
}

impl End {
    /// Its own handle, if it has one.
    pub(super) fn own(&self) -> Option<u64> {
        match self {
            End::Pipe { own, .. } | End::Unix { own, .. } | End::Inet { own, .. } => Some(*own),
            End::Path { .. } | End::Nobody | End::Unknown(_) => None,
        }
    }
}

/// The same fact of something else.
pub(super) fn map<T, U>(fact: &Fact<T>, map: impl FnOnce(&T) -> U) -> Fact<U> {
    match fact {
        Fact::Known(known) => Fact::Known(map(known)),
        Fact::Absent => Fact::Absent,
        Fact::Unread => Fact::Unread,
        Fact::Denied => Fact::Denied,
        Fact::Gone => Fact::Gone,
    }
}

/// Descriptors 0 to 4.
pub(super) fn descriptors(files: &Fact<Vec<OpenFile>>) -> [Fact<Descriptor>; DESCRIPTORS] {
    [0, 1, 2, 3, 4].map(|number| match files {
        Fact::Known(files) => {
            at(files, number).map_or(Fact::Absent, |file| Fact::Known(descriptor(&file.end)))
        }
        hidden => map(hidden, |_| Descriptor::File),
    })
}

fn at(files: &[OpenFile], number: u32) -> Option<&OpenFile> {
    files.iter().find(|file| file.number == number)
}

pub(super) fn descriptor(end: &End) -> Descriptor {
    match end {
        End::Pipe { own, .. } => Descriptor::Pipe(*own),
        End::Unix { own, .. } | End::Inet { own, .. } => Descriptor::Socket(*own),
        End::Path { is_fifo: true, .. } => Descriptor::NamedFifo,
        End::Path { path, is_device: true, .. } if path == "/dev/null" => Descriptor::Null,
        End::Path { path, is_device: true, .. }
            if path.starts_with("/dev/tty") || path.starts_with("/dev/pts/") =>
        {
            Descriptor::Terminal
        }
        End::Path { path, .. } if path == "/dev/console" => Descriptor::Terminal,
        End::Path { .. } => Descriptor::File,
        End::Nobody => Descriptor::Other("an object of the kernel's".to_owned()),
        End::Unknown(what) => Descriptor::Other(what.clone()),
    }
}

/// The far end of a stream, as long as the descriptor is still what it was when it was read.
pub(super) fn far_end(files: &Fact<Vec<OpenFile>>, was: Option<&Descriptor>, number: u32) -> Fact<FarEnd> {
    let files = match files {
        Fact::Known(files) => files,
        hidden => return map(hidden, |_| FarEnd::HungUp),
    };
    if !was.is_some_and(Descriptor::is_stdio) {
        return Fact::Absent;
    }
    let Some(file) = at(files, number).filter(|file| Some(&descriptor(&file.end)) == was) else {
        return Fact::Known(FarEnd::Unknown("it was replaced during the look".to_owned()));
    };
    Fact::Known(match &file.end {
        End::Pipe { peer: 0, .. } | End::Unix { peer: 0, is_shut: true, .. } => FarEnd::HungUp,
        End::Unix { peer: 0, .. } => FarEnd::Unknown("the socket is not connected".to_owned()),
        End::Pipe { .. } | End::Unix { .. } => FarEnd::Open(None),
        _ => FarEnd::Unknown("it is no unix socket (TCP, or a system socket)".to_owned()),
    })
}

/// The handle of a stream's far end.
pub(super) fn peer_of(files: &[OpenFile], was: Option<&Descriptor>, number: u32) -> Option<u64> {
    let file = at(files, number).filter(|file| Some(&descriptor(&file.end)) == was)?;
    match &file.end {
        End::Pipe { peer, .. } | End::Unix { peer, .. } if *peer != 0 => Some(*peer),
        _ => None,
    }
}
