//! The memory as a file: locked while in use, replaced as a whole, set aside when it is broken. And where a running daemon
//! can be found.

mod folder;
mod runtime;

pub use folder::{Lock, LockError};
pub use runtime::{MACHINE, RuntimeFolder};

use crate::memory::Memory;
use crate::process::{BootId, Observer};
use folder::{Folder, folder_of, no_link};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder in which orphand remembers.
#[derive(Clone, Debug)]
pub struct StateFolder {
    folder: Folder,
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema: u32,
    memory: Memory,
}

const SCHEMA: u32 = 1;
const FILE: &str = "memory.json";
const LOCK: &str = "lock";

impl StateFolder {
    /// The usual place for whoever looks: `/var/lib/orphand`, or `$XDG_STATE_HOME/orphand` for a user.
    pub fn usual(observer: &Observer) -> StateFolder {
        let folder = if observer.machine {
            PathBuf::from(if cfg!(target_os = "macos") { "/var/db/orphand" } else { "/var/lib/orphand" })
        } else {
            let own = folder_of("XDG_STATE_HOME")
                .or_else(|| folder_of("HOME").map(|home| home.join(".local/state")));
            // Without a home there is no place that others could not make first; then nothing is remembered.
            own.map_or_else(PathBuf::new, |own| own.join("orphand"))
        };
        StateFolder::at(folder, observer)
    }

    /// A folder of the user's choice.
    pub fn at(folder: PathBuf, observer: &Observer) -> StateFolder {
        StateFolder { folder: Folder::at(folder, observer) }
    }

    fn path(&self) -> PathBuf {
        self.folder.file("")
    }

    /// Where the memory is kept.
    pub fn file(&self) -> PathBuf {
        self.folder.file(FILE)
    }

    /// The folder, and those of its files that orphand has made.
    pub fn contents(&self) -> (PathBuf, Vec<PathBuf>) {
        self.folder.contents(|name| is_ours(name) || runtime::is_ours(name))
    }

    /// Takes the folder for oneself.
    pub fn lock(&self) -> Result<Lock, LockError> {
        self.folder.lock(LOCK)
    }

    /// What is remembered of this boot. A file that cannot be understood is set aside with a warning by whoever has the lock,
    /// and left alone by everybody else.
    pub fn read(&self, boot: BootId, lock: Option<&Lock>) -> Memory {
        let path = self.file();
        if boot == BootId::default() {
            // Nobody could tell later whether it still means anything.
            return Memory::empty(boot);
        }
        let text = match self.folder.check_owner().and_then(|()| read_file(&path)) {
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
        let new = self.folder.file(&format!("{FILE}.new"));
        if let Err(error) = fs::remove_file(&new)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = no_link().create_new(true).write(true).open(&new)?;
        self.folder.hand_over(&file)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&new, self.file())
    }
}

/// Whether orphand makes files of this name there: its memory, the next one, and those that were set aside.
fn is_ours(name: &str) -> bool {
    let kinds = ["", ".new", ".broken"].map(|end| format!("{FILE}{end}"));
    let set_aside =
        name.strip_prefix(&kinds[2]).is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9']));
    name == LOCK || kinds.iter().any(|kind| kind == name) || set_aside
}

/// A file larger than this is no memory.
const LARGEST: u64 = 64 * 1024 * 1024;

fn is_own_folder(path: &Path, uid: u32) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid)
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
