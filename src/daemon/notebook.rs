//! The daemon's memory on disk: written when there is something new, seldom, and never in the loop's way.

use crate::memory::Memory;
use crate::state::{Lock, LockError, StateFolder};
use crate::status::MemoryFile;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Between two writings.
const APART: Duration = Duration::from_secs(60);
/// Samples alone change with every look, and are only needed after a restart.
const SAMPLES_APART: Duration = Duration::from_secs(15 * 60);

/// What is written where, and since when it is not.
pub struct Notebook {
    place: Arc<(StateFolder, Option<Lock>)>,
    problem: Option<String>,
    written: Option<(Duration, Memory)>,
    writing: bool,
}

/// A writing that is to be done somewhere else, as a disk may take its time.
pub(super) struct Writing {
    place: Arc<(StateFolder, Option<Lock>)>,
    memory: Arc<Memory>,
}

impl Writing {
    pub(super) fn run(self) -> (Arc<Memory>, io::Result<()>) {
        let written = match &self.place.1 {
            Some(lock) => self.place.0.write(lock, &self.memory),
            None => Ok(()),
        };
        (self.memory, written)
    }
}

impl Notebook {
    /// A notebook in a locked folder; or, with the reason, one that is never written.
    pub fn new(folder: StateFolder, lock: Result<Lock, String>) -> Notebook {
        let (lock, problem) = match lock {
            Ok(lock) => (Some(lock), None),
            Err(problem) => (None, Some(problem)),
        };
        Notebook { place: Arc::new((folder, lock)), problem, written: None, writing: false }
    }

    pub(super) fn status(&self) -> MemoryFile {
        MemoryFile { file: self.place.0.file().display().to_string(), problem: self.problem.clone() }
    }

    /// Sees to it that nobody else remembers in the same place. `false`: somebody does, a sweep by hand after the folder was
    /// removed.
    pub(super) fn keep(&mut self, now: Duration) -> bool {
        if self.writing || self.is_own() {
            return true;
        }
        let folder = self.place.0.clone();
        match folder.lock() {
            Ok(lock) => {
                tracing::warn!("{} was removed and is written again", folder.file().display());
                self.place = Arc::new((folder, Some(lock)));
                self.written = None;
                true
            }
            Err(LockError::Busy(_)) => false,
            Err(error) => {
                self.fail(&error.to_string());
                self.written = Some((now, Memory::default()));
                true
            }
        }
    }

    fn fail(&mut self, error: &str) {
        if self.problem.is_none() {
            tracing::warn!(
                "cannot write {}: {error}; orphand goes on and would have to learn anew after a restart",
                self.place.0.file().display()
            );
        }
        self.problem = Some(error.to_owned());
    }

    /// When this memory is to be written; `None` while nothing has changed, or nothing can be written.
    pub(super) fn due(&self, memory: &Memory) -> Option<Duration> {
        if self.writing || self.place.1.is_none() {
            return None;
        }
        let Some((at, written)) = &self.written else { return Some(Duration::ZERO) };
        if memory == written {
            return None;
        }
        Some(*at + if memory.equals_but_for_samples(written) { SAMPLES_APART } else { APART })
    }

    /// Begins to write, whether it is due or not.
    pub(super) fn begin(&mut self, memory: &Arc<Memory>) -> Writing {
        self.writing = true;
        Writing { place: self.place.clone(), memory: memory.clone() }
    }

    /// It is done. A failure is said once, and tried again when the time comes.
    pub(super) fn end(&mut self, memory: Arc<Memory>, result: io::Result<()>, now: Duration) {
        self.writing = false;
        let file = self.place.0.file();
        match result {
            Ok(()) if self.place.1.is_none() => {}
            Ok(()) => {
                if self.problem.take().is_some() {
                    tracing::info!("{} can be written again", file.display());
                }
                self.written = Some((now, Memory::clone(&memory)));
            }
            Err(error) => {
                self.fail(&error.to_string());
                // As if it had been written: the next try is a minute away.
                let written = self.written.take().map_or(Memory::empty(memory.boot), |(_, written)| written);
                self.written = Some((now, written));
            }
        }
    }

    /// Whether nobody else can have begun to remember in the same place.
    pub(super) fn is_own(&self) -> bool {
        self.place.1.as_ref().is_none_or(Lock::is_in_place)
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Sample, Seen};
    use crate::process::{BootId, Moved, Observer, ProcessId};
    use crate::testing::pid;

    const BOOT: BootId = BootId(1);

    fn memory(reaps: usize, sampled_at: u64) -> Arc<Memory> {
        let id = ProcessId { pid: pid(10), start_ticks: 1, unique: None, boot: BOOT };
        let at = Duration::from_secs(sampled_at);
        let sample = Sample {
            id,
            at,
            moved: Moved::default(),
            cpu: Duration::ZERO,
            waited_faults: 0,
            quiet_since: at,
        };
        let seen = Seen { samples: vec![sample], ..Seen::default() };
        let mut memory = Memory::empty(BOOT).after(at, seen, |_| true);
        (0..reaps).for_each(|count| memory.reaped(count as u64, at, 0));
        Arc::new(memory)
    }

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn notebook(folder: &std::path::Path) -> Notebook {
        let uid = rustix::process::geteuid().as_raw();
        let observer = Observer {
            pid: pid(1),
            uid,
            machine: false,
            pid_namespace: None,
            net_namespace: None,
            wsl: false,
        };
        let folder = StateFolder::at(folder.join("state"), &observer);
        let lock = folder.lock().map_err(|error| error.to_string());
        Notebook::new(folder, lock)
    }

    #[test]
    fn what_is_new_is_written_once_a_minute_and_samples_alone_more_seldom() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut notebook = notebook(folder.path());
        let first = memory(0, 1);
        assert_eq!(notebook.due(&first), Some(secs(0)), "nothing is written yet");
        let writing = notebook.begin(&first);
        assert_eq!(notebook.due(&memory(1, 1)), None, "one at a time");
        let (written, result) = writing.run();
        notebook.end(written, result, secs(0));
        assert_eq!(notebook.due(&first), None, "nothing has changed");
        assert_eq!(notebook.due(&memory(1, 2)), Some(secs(60)));
        assert_eq!(notebook.due(&memory(0, 2)), Some(secs(900)), "only samples");
    }

    #[test]
    fn a_disk_that_fails_is_tried_again_a_minute_later_and_its_status_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut notebook = notebook(folder.path());
        let full = || Err(io::Error::from(io::ErrorKind::StorageFull));
        let writing = notebook.begin(&memory(1, 1));
        notebook.end(writing.memory, full(), secs(10));
        assert!(notebook.status().problem.is_some());
        assert_eq!(notebook.due(&memory(1, 1)), Some(secs(70)), "it was never written");
        let (written, result) = notebook.begin(&memory(1, 1)).run();
        notebook.end(written, result, secs(70));
        assert_eq!(notebook.status().problem, None);
        assert_eq!(notebook.due(&memory(1, 1)), None);
    }
}
