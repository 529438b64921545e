//! A log file that is moved away while it is written: launchd gives a job a file and never opens it again, and neither does a
//! shell's `2>>`.

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The file that stderr is, if it is one that can be found by its path.
pub(super) struct LogFile {
    /// Held from the start: whoever may rename folders above must not choose where a privileged process writes.
    folder: OwnedFd,
    name: OsString,
}

impl LogFile {
    pub(super) fn of_stderr() -> Option<LogFile> {
        let path = path_of_stderr()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(rustix::fs::CWD, path.parent()?, flags, Mode::empty()).ok()?;
        let file = LogFile { folder, name: path.file_name()?.to_owned() };
        file.is_in_place().then_some(file)
    }

    /// Where the file was moved or removed, opens a new one in its place. Whatever fails, the old one is written on.
    pub(super) fn follow(&self) {
        if !self.is_in_place()
            && let Ok(file) = self.open()
        {
            let _ = rustix::stdio::dup2_stderr(file.as_fd());
        }
    }

    fn is_in_place(&self) -> bool {
        let there = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let ours = fs::metadata("/dev/stderr");
        matches!((there, ours), (Ok(there), Ok(ours)) if there.st_ino == ours.ino())
    }

    /// Only a file of one's own: where others may write, they could have put something else there.
    fn open(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
        let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        let file = File::from(openat(&self.folder, &self.name, flags | careful, mode)?);
        let meta = file.metadata()?;
        let own = rustix::process::geteuid().as_raw();
        if !meta.is_file() || meta.uid() != own || meta.nlink() != 1 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(file)
    }
}

#[cfg(target_os = "linux")]
fn path_of_stderr() -> Option<PathBuf> {
    fs::read_link("/proc/self/fd/2").ok().filter(|path| path.is_absolute())
}

#[cfg(target_os = "macos")]
fn path_of_stderr() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(io::stderr()).ok()?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}
