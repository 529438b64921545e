//! Where a running daemon can be found: a lock that says that there is one, and the socket that it answers on.

use super::folder::{Folder, Lock, LockError, folder_of};
use super::{StateFolder, is_own_folder};
use crate::process::Observer;
use std::path::PathBuf;

/// Where the machine's daemon is found. The root of a Mac may not be written to.
pub const MACHINE: &str = if cfg!(target_os = "macos") { "/var/run/orphand" } else { "/run/orphand" };

const LOCK: &str = "daemon.lock";
const SOCKET: &str = "control";

/// Whether orphand makes files of this name there.
pub(super) fn is_ours(name: &str) -> bool {
    [LOCK, SOCKET].contains(&name)
}

/// The folder in which a daemon can be found.
#[derive(Debug)]
pub struct RuntimeFolder {
    folder: Folder,
}

impl RuntimeFolder {
    /// The usual place for whoever looks: `/run/orphand`, or the user's own runtime folder. Where there is none (no login
    /// session, macOS), the folder in which that user's orphand remembers.
    pub fn usual(observer: &Observer) -> RuntimeFolder {
        let path = if observer.machine {
            PathBuf::from(MACHINE)
        } else {
            let session = PathBuf::from(format!("/run/user/{}", observer.uid));
            let own = folder_of("XDG_RUNTIME_DIR").into_iter().chain([session]);
            // `su` hands on the folder of the user before.
            let own = own.into_iter().find(|path| is_own_folder(path, observer.uid));
            own.map_or_else(|| StateFolder::usual(observer).path(), |own| own.join("orphand"))
        };
        RuntimeFolder { folder: Folder::at(path, observer) }
    }

    /// A folder of the user's choice.
    pub fn at(path: PathBuf, observer: &Observer) -> RuntimeFolder {
        RuntimeFolder { folder: Folder::at(path, observer) }
    }

    /// The folder, and those of its files that orphand has made.
    pub fn contents(&self) -> (PathBuf, Vec<PathBuf>) {
        self.folder.contents(is_ours)
    }

    /// Where the daemon answers.
    pub fn socket(&self) -> PathBuf {
        self.folder.file(SOCKET)
    }

    /// Whether there is a daemon of this scope, whether it answers or not.
    pub fn is_taken(&self) -> bool {
        self.folder.is_locked(LOCK)
    }

    /// Whoever has this lock is the daemon of this scope.
    pub fn lock(&self) -> Result<Lock, LockError> {
        self.folder.lock(LOCK)
    }
}
