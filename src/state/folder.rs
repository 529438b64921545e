//! A folder of orphand's own: private, checked, with files that are locked while in use.

use crate::process::Observer;
use rustix::fs::OFlags;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder that only its owner can write to.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    uid: u32,
}

/// A locked file. The lock ends with this value, or with the process.
#[derive(Debug)]
pub struct Lock {
    file: File,
    place: PathBuf,
}

impl Lock {
    /// Whether the file that is locked is still the one that others would try to lock.
    pub fn is_in_place(&self) -> bool {
        let number = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let (own, there) = (self.file.metadata().map(number), fs::symlink_metadata(&self.place).map(number));
        own.is_ok_and(|own| there.is_ok_and(|there| own == there))
    }
}

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another orphand has it.
    #[error("another orphand is at work (it holds {0}); let it finish")]
    Busy(PathBuf),
    /// The folder or the file cannot be made.
    #[error("cannot use {}{error}", place_of(.place))]
    Unusable {
        /// Which file.
        place: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

fn place_of(place: &Path) -> String {
    if place.is_absolute() { format!("{}: ", place.display()) } else { "a folder of its own: ".to_owned() }
}

impl Folder {
    /// An empty path stands for no folder at all.
    pub(super) fn at(path: PathBuf, observer: &Observer) -> Folder {
        Folder { path, uid: observer.uid }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The folder, and those of its files that orphand has made. None of a folder that it would not use.
    pub(super) fn contents(&self, is_ours: impl Fn(&str) -> bool) -> (PathBuf, Vec<PathBuf>) {
        let mut files = Vec::new();
        if let Ok(folder) = self.checked() {
            let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
            let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_ours));
            let made_here = |entry: &fs::DirEntry| {
                entry
                    .metadata()
                    .is_ok_and(|meta| !meta.is_dir() && [self.uid, folder.uid()].contains(&meta.uid()))
            };
            files.extend(ours.filter(made_here).map(|entry| entry.path()));
        }
        files.sort();
        // A lock by itself, in a folder of another name, may be anybody's.
        let is_own = self.path.ends_with("orphand") || self.path.join("memory.json").is_file();
        (self.path.clone(), if is_own { files } else { Vec::new() })
    }

    /// Makes the folder where there is none, and locks a file of it.
    pub(super) fn lock(&self, name: &str) -> Result<Lock, LockError> {
        let place = self.path.join(name);
        let unusable = |error: io::Error| LockError::Unusable { place: place.clone(), error };
        if self.path.as_os_str().is_empty() {
            return Err(unusable(io::Error::other("neither XDG_STATE_HOME nor HOME is set")));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path).map_err(unusable)?;
        self.check_owner().map_err(unusable)?;
        let file = no_link().create(true).truncate(false).write(true).open(&place).map_err(unusable)?;
        self.hand_over(&file).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { file, place }),
            Err(TryLockError::WouldBlock) => Err(LockError::Busy(place)),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }

    /// Whether somebody holds the lock on a file of it. Makes nothing.
    pub(super) fn is_locked(&self, name: &str) -> bool {
        let file = no_link().read(true).open(self.path.join(name));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// What root makes in the folder of the service's own user belongs to that user, or the service could not use it.
    pub(super) fn hand_over(&self, file: &File) -> io::Result<()> {
        let (folder, own) = (fs::symlink_metadata(&self.path)?, file.metadata()?);
        if folder.uid() == own.uid() || self.uid != 0 || own.nlink() != 1 {
            return Ok(());
        }
        std::os::unix::fs::fchown(file, Some(folder.uid()), Some(folder.gid()))
    }

    /// Whoever else could write here could tell us what we have seen.
    pub(super) fn check_owner(&self) -> io::Result<()> {
        self.checked().map(drop)
    }

    fn checked(&self) -> io::Result<fs::Metadata> {
        let meta = fs::symlink_metadata(&self.path)?;
        let own = meta.uid() == self.uid || self.uid == 0 && is_of_service(meta.uid());
        if !meta.is_dir() || !own || meta.mode() & 0o022 != 0 {
            let text = "the folder must be your own and writable by nobody else";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(meta)
    }
}

/// Root may use the folder of the service's own user, and of nobody else.
fn is_of_service(uid: u32) -> bool {
    uzers::get_user_by_name("orphand").is_some_and(|user| user.uid() == uid)
}

/// A variable that names a folder.
pub(super) fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Opens private files, and never through a link.
pub(super) fn no_link() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    options
}
