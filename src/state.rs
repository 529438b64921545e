//! The memory as a file: locked while in use, replaced as a whole, set aside when it is broken.

use crate::memory::Memory;
use crate::process::{BootId, Observer};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder in which orphand remembers.
#[derive(Debug)]
pub struct StateFolder {
    folder: PathBuf,
    uid: u32,
}

/// A locked folder. The lock ends with this value, or with the process.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "holding it is all that it is for")] File);

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another orphand has it.
    #[error("another orphand is sweeping (it holds {0}); let it finish")]
    Busy(PathBuf),
    /// The folder or the file cannot be made.
    #[error("cannot remember anything: {}{error}", place_of(.place))]
    Unusable {
        /// Which file.
        place: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

fn place_of(place: &Path) -> String {
    if place.is_absolute() { format!("{}: ", place.display()) } else { String::new() }
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema: u32,
    memory: Memory,
}

const SCHEMA: u32 = 1;
const FILE: &str = "memory.json";

impl StateFolder {
    /// The usual place for whoever looks: `/var/lib/orphand`, or `$XDG_STATE_HOME/orphand` for a user.
    pub fn usual(observer: &Observer) -> StateFolder {
        let var = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = if observer.machine {
            PathBuf::from("/var/lib/orphand")
        } else {
            let own = var("XDG_STATE_HOME").or_else(|| var("HOME").map(|home| home.join(".local/state")));
            // Without a home there is no place that others could not make first; then nothing is remembered.
            own.map_or_else(PathBuf::new, |own| own.join("orphand"))
        };
        StateFolder { folder, uid: observer.uid }
    }

    /// A folder of the user's choice.
    pub fn at(folder: PathBuf, observer: &Observer) -> StateFolder {
        StateFolder { folder, uid: observer.uid }
    }

    /// Where the memory is kept.
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// Takes the folder for oneself.
    pub fn lock(&self) -> Result<Lock, LockError> {
        let place = self.folder.join("lock");
        let unusable = |error: io::Error| LockError::Unusable { place: place.clone(), error };
        if self.folder.as_os_str().is_empty() {
            return Err(unusable(io::Error::other("neither XDG_STATE_HOME nor HOME is set")));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(unusable)?;
        self.check_owner().map_err(unusable)?;
        let file = no_link().create(true).truncate(false).write(true).open(&place).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Busy(place)),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }

    /// Whoever else could write here could tell us what we have seen.
    fn check_owner(&self) -> io::Result<()> {
        let meta = fs::symlink_metadata(&self.folder)?;
        // Root may use the folder of the service's own user.
        let own = meta.uid() == self.uid || self.uid == 0;
        if !meta.is_dir() || !own || meta.mode() & 0o022 != 0 {
            let text = "the folder must be your own and writable by nobody else";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(())
    }

    /// What is remembered of this boot. A file that cannot be understood is set aside with a warning by whoever has the lock,
    /// and left alone by everybody else.
    pub fn read(&self, boot: BootId, lock: Option<&Lock>) -> Memory {
        let path = self.file();
        let text = match self.check_owner().and_then(|()| read_file(&path)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Memory::empty(boot),
            Err(error) => {
                tracing::warn!("{} cannot be read, so nothing is remembered: {error}", path.display());
                return Memory::empty(boot);
            }
        };
        match serde_json::from_str::<Document>(&text) {
            Ok(document) if document.schema != SCHEMA => {
                set_aside(&path, lock, &format!("is of another version, schema {}", document.schema));
                Memory::empty(boot)
            }
            Ok(document) if document.memory.boot == boot => document.memory,
            // The machine was started anew: nothing in it means anything here.
            Ok(_) => Memory::empty(boot),
            Err(error) => {
                set_aside(&path, lock, &format!("is damaged ({error})"));
                Memory::empty(boot)
            }
        }
    }

    /// Replaces the memory as a whole: a crash leaves the old file or the new one. Needs the lock.
    pub fn write(&self, _lock: &Lock, memory: &Memory) -> io::Result<()> {
        let document = Document { schema: SCHEMA, memory: memory.clone() };
        let text = serde_json::to_vec(&document).map_err(io::Error::other)?;
        let new = self.folder.join(format!("{FILE}.new"));
        if let Err(error) = fs::remove_file(&new)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = no_link().create_new(true).write(true).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, self.file())
    }
}

/// A file larger than this is no memory.
const LARGEST: u64 = 64 * 1024 * 1024;

fn no_link() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    options
}

fn read_file(path: &Path) -> io::Result<String> {
    let file = no_link().read(true).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(io::Error::other("it is no ordinary file, or too large"));
    }
    io::read_to_string(file)
}

fn set_aside(path: &Path, lock: Option<&Lock>, what: &str) {
    let names = (1..=9).map(|number| path.with_extension(format!("json.broken{number}")));
    // An earlier one may be all that is left of something.
    let aside =
        std::iter::once(path.with_extension("json.broken")).chain(names).find(|aside| !aside.exists());
    match (lock, aside) {
        (Some(_), Some(aside)) if fs::rename(path, &aside).is_ok() => {
            tracing::warn!("{} {what}; it is now {}", path.display(), aside.display());
        }
        _ => tracing::warn!("{} {what} and is not used", path.display()),
    }
}
