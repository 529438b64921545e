//! A log file that is moved away while it is written: launchd gives a job a file and never opens it again, and neither does a
//! shell's `2>>`.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// The file that stderr is, if it is one that can be found by its path.
pub(super) struct LogFile {
    path: PathBuf,
}

impl LogFile {
    pub(super) fn of_stderr() -> Option<LogFile> {
        let file = LogFile { path: path_of_stderr()? };
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
        let number = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let there = fs::symlink_metadata(&self.path).map(number);
        let ours = fs::metadata("/dev/stderr").map(number);
        matches!((there, ours), (Ok(there), Ok(ours)) if there == ours)
    }

    /// Only a file of one's own: where others may write, they could have put something else there.
    fn open(&self) -> io::Result<File> {
        let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
        let file =
            File::options().append(true).create(true).mode(0o640).custom_flags(flags).open(&self.path)?;
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
