//! Reading below `/proc`, with the three ways in which it fails kept apart.

use crate::process::Fact;
use rustix::fs::{AtFlags, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A directory below which paths are read: `/proc` itself, or one process of it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) proc: &'a OwnedFd,
}

/// What reading a file gave.
pub(super) enum Read<'a> {
    /// Its beginning, as much as the buffer holds.
    Text(&'a [u8]),
    /// The system refused.
    Denied,
    /// The system had no file descriptor or memory left: nothing is known of anybody then.
    Short(Errno),
    /// There is none, or its process has ended.
    Missing,
}

impl Read<'_> {
    fn failed(error: Errno) -> Self {
        match error {
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => Read::Short(error),
            error if is_missing(error) => Read::Missing,
            _ => Read::Denied,
        }
    }
}

impl Place<'_> {
    /// Reads a file into a buffer, up to its end or the buffer's.
    pub(super) fn read<'b>(&self, path: &str, buffer: &'b mut [u8]) -> Read<'b> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = match openat(self.proc.as_fd(), path, flags, Mode::empty()) {
            Ok(file) => file,
            Err(error) => return Read::failed(error),
        };
        let mut length = 0;
        while length < buffer.len() {
            match rustix::io::read(&file, &mut buffer[length..]) {
                Ok(0) => break,
                // One read gives these files whole, or fills the buffer; they need no second one to see their end.
                Ok(count) => {
                    length += count;
                    if path.ends_with("/stat") || path.ends_with("/cmdline") {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Read::failed(error),
            }
        }
        Read::Text(&buffer[..length])
    }

    /// A short text file.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let mut buffer = [0_u8; 4096];
        match self.read(path, &mut buffer) {
            Read::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        }
    }

    /// The table of a protocol in our network namespace: nothing where the kernel has no such protocol.
    pub(super) fn net_table(&self, protocol: &str) -> Result<Option<File>, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        match openat(self.proc.as_fd(), format!("self/net/{protocol}"), flags, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(error) if is_missing(error) && protocol.ends_with('6') => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The target of a link.
    pub(super) fn link(&self, path: &str) -> Option<String> {
        readlinkat(self.proc.as_fd(), path, Vec::new())
            .ok()
            .map(|target| target.to_string_lossy().into_owned())
    }

    /// The inode behind a link such as `ns/pid`.
    pub(super) fn inode(&self, path: &str) -> Option<u64> {
        self.inode_fact(path).known().copied()
    }

    pub(super) fn inode_fact(&self, path: &str) -> Fact<u64> {
        match statat(self.proc.as_fd(), path, AtFlags::empty()) {
            Ok(stat) => Fact::Known(stat.st_ino),
            Err(error) => fact_of(error),
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.proc.as_fd()
    }
}

/// Whether an error says that the thing is not there.
pub(super) fn is_missing(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::SRCH)
}

/// The fact that an error leaves. A lack of file descriptors is no sight either.
pub(super) fn fact_of<T>(error: Errno) -> Fact<T> {
    if is_missing(error) { Fact::Gone } else { Fact::Denied }
}
