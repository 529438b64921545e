//! Reading files that clients wrote: only one's own, only below where they were looked for, and no more than makes sense.

use super::person::Person;
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A configuration larger than this is none.
pub(super) const LARGEST: u64 = 2 * 1024 * 1024;
/// Claude Code keeps histories in its file, which grows to some megabytes.
const LARGEST_OF_CLAUDE: u64 = 32 * 1024 * 1024;

/// A file's text; `None` where there is none. An error says what is wrong with it, without a word of what is in it.
///
/// `base` is the folder that it was looked for in: a link may lead anywhere below it or below the person's home, and no further.
pub(super) fn read(person: &Person, base: &Path, path: &Path) -> Result<Option<String>, String> {
    let said = |error: std::io::Error| format!("cannot be read: {error}");
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(said(error)),
    };
    let within = [base, &person.home].into_iter().filter_map(|folder| fs::canonicalize(folder).ok());
    if !within.into_iter().any(|folder| real.starts_with(folder)) {
        return Err(format!("leads out of your home, to {}; not read", real.display()));
    }
    // What the path leads to now is what is opened, and a FIFO is not waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(&real).map_err(said)?;
    let meta = file.metadata().map_err(said)?;
    if meta.is_dir() {
        return Ok(None);
    }
    if !meta.is_file() {
        return Err("is no regular file; not read".to_owned());
    }
    if meta.uid() != person.uid {
        return Err(format!("belongs to another user ({}); not read", meta.uid()));
    }
    if meta.mode() & 0o002 != 0 {
        return Err("everybody may write to it, so anybody could have; not read (`chmod o-w` it)".to_owned());
    }
    let largest = if path.ends_with(".claude.json") { LARGEST_OF_CLAUDE } else { LARGEST };
    let mut text = String::new();
    match file.take(largest + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 > largest => {
            Err(format!("is larger than {} MB; not read", largest / 1024 / 1024))
        }
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err("is no text in UTF-8; not read".to_owned())
        }
        Err(error) => Err(said(error)),
    }
}

/// A folder that a client's file names, as it really is. `None` where it is not there any more or is another user's; an error
/// where a link leads out of the home that it seems to be in.
pub(super) fn own_folder(person: &Person, named: &Path) -> Result<Option<PathBuf>, String> {
    let (Ok(real), Ok(home)) = (fs::canonicalize(named), fs::canonicalize(&person.home)) else {
        return Ok(None);
    };
    let in_home = named.starts_with(&home) || named.starts_with(&person.home);
    if in_home && !real.starts_with(&home) {
        return Err(format!("leads out of your home, to {}; not looked into", real.display()));
    }
    let is_own = fs::metadata(&real).is_ok_and(|meta| meta.is_dir() && meta.uid() == person.uid);
    Ok((is_own && real.parent().is_some()).then_some(real))
}
