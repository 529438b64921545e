//! The far ends of a process's streams: whether anybody holds them.

use super::details::directory;
use super::files::{Place, is_missing};
use super::pin::PidFd;
use super::sockets::{UnixSocket, unix_sockets};
use crate::process::{Descriptor, Fact, FarEnd, Pid, ProcessTable, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;

type Sockets = io::Result<HashMap<u64, UnixSocket>>;

/// Looks at these far ends.
pub(super) fn read(proc: Place<'_>, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
    let mut sockets: Option<Sockets> = None;
    for (pid, stream) in ends {
        let Some(process) = table.get_mut(*pid) else { continue };
        process.details.far_ends[*stream as usize] = match process.descriptor(*stream).known() {
            Some(Descriptor::Pipe(inode)) => {
                let moved = process.details.moved_stdio;
                let number = match (stream, moved) {
                    (Stream::Stdin, Some([stdin, _])) => stdin,
                    (Stream::Stdout, Some([_, stdout])) => stdout,
                    _ => *stream as u32,
                };
                pipe(proc, *pid, number, stream.is_read(), *inode)
            }
            Some(Descriptor::Socket(inode)) => socket(*inode, sockets.get_or_insert_with(unix_sockets)),
            _ => Fact::Absent,
        };
    }
}

/// The kernel counts readers and writers: a reading end of one's own reports POLLHUP when nobody writes, a writing end
/// POLLERR when nobody reads. Opening one for a moment disturbs nobody; nothing is read or written.
pub(super) fn pipe(proc: Place<'_>, pid: Pid, number: u32, is_read: bool, inode: u64) -> Fact<FarEnd> {
    let Some(directory) = directory(proc, pid) else { return Fact::Gone };
    let (access, events, gone) = if is_read {
        (OFlags::RDONLY, PollFlags::IN, PollFlags::HUP)
    } else {
        (OFlags::WRONLY, PollFlags::OUT, PollFlags::ERR)
    };
    let path = format!("fd/{number}");
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(&directory, path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(error) if is_missing(error) => return Fact::Gone,
        // Who may look at everything may not write to it all the same; but he may take a copy of the very end.
        Err(_) => match copy(pid, number) {
            Some(file) => file,
            None => return Fact::Denied,
        },
    };
    let same = fstat(&file)
        .is_ok_and(|stat| stat.st_ino == inode && FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    if !same {
        return Fact::Known(FarEnd::Unknown("it was replaced during the look".to_owned()));
    }
    let mut fds = [PollFd::new(&file, events)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut fds, Some(&at_once)) {
        Ok(_) if fds[0].revents().contains(gone) => Fact::Known(FarEnd::HungUp),
        Ok(_) => Fact::Known(FarEnd::Open(None)),
        Err(error) => Fact::Known(FarEnd::Unknown(format!("the pipe cannot be polled: {error}"))),
    }
}

/// A copy of a descriptor that a process has (Linux 5.6; for whoever may trace it).
fn copy(pid: Pid, number: u32) -> Option<OwnedFd> {
    PidFd::open(pid).ok()?.copy(i32::try_from(number).ok()?)
}

/// A peer without inode, and both sides shut down: closed. Without the second, the peer may still wait in a listener's
/// queue for being accepted.
fn socket(inode: u64, sockets: &Sockets) -> Fact<FarEnd> {
    let sockets = match sockets {
        Ok(sockets) => sockets,
        Err(error) => {
            return Fact::Known(FarEnd::Unknown(format!("the kernel does not show socket peers: {error}")));
        }
    };
    Fact::Known(match sockets.get(&inode) {
        Some(UnixSocket { peer: 0, is_shut_down: true }) => FarEnd::HungUp,
        Some(UnixSocket { peer: 0, .. }) => {
            FarEnd::Unknown("the socket's peer was not accepted yet".to_owned())
        }
        Some(_) => FarEnd::Open(None),
        None => FarEnd::Unknown(
            "it is no connected unix socket of this network namespace (TCP, vsock, or a container's)"
                .to_owned(),
        ),
    })
}
