//! What every Unix has: limits and masks of this process.

use crate::reap::Signal;
use rustix::fs::Mode;
use std::io;

/// Files and sockets that are made from now on are for their owner alone.
pub fn keep_files_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Fewer open files than this are not enough to look and to wait.
const FEWEST_FILES: u64 = 24;

/// Raises the soft limit on open files to the hard one: a sweep holds every process of every tree. An error when that is
/// too low to sweep at all.
pub fn allow_many_open_files() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // macOS refuses more than this (OPEN_MAX), though it calls the hard limit unlimited.
    let most = if cfg!(target_os = "macos") {
        Some(limit.maximum.unwrap_or(u64::MAX).min(10240))
    } else {
        limit.maximum
    };
    let wanted = Rlimit { current: most, maximum: limit.maximum };
    if limit.current != wanted.current && setrlimit(Resource::Nofile, wanted).is_err() {
        tracing::debug!("the limit on open files stays as it is");
    }
    match getrlimit(Resource::Nofile).current {
        Some(files) if files < FEWEST_FILES => {
            let text = format!(
                "the limit of {files} open files is too low to sweep with; raise it (`ulimit -n`) to {FEWEST_FILES} or more"
            );
            Err(io::Error::other(text))
        }
        _ => Ok(()),
    }
}

/// Gives large buffers back to the system when they are done with: a daemon fills its table anew at each look, and what it
/// does not need in between is not its own.
#[allow(unsafe_code, reason = "there is no other way to tell the allocator")]
pub fn keep_memory_small() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 64 * 1024;
        // SAFETY: sets a number of the allocator's; any number is allowed. What it answers changes nothing.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// A signal as the system calls it.
pub(super) fn of_system(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Continue => rustix::process::Signal::CONT,
        Signal::Kill => rustix::process::Signal::KILL,
    }
}
