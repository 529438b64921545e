//! Hearing of the end of a process: a kqueue of its own for each.

use crate::host::HostError;
use crate::host::portable::Exits;
use crate::process::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{Interest, unix::AsyncFd};

/// So long the end of a process may stay unheard where two wait for it.
const AGAIN: Duration = Duration::from_millis(500);

/// A queue that holds one event: the process has ended.
pub struct Ending {
    queue: OwnedFd,
    /// The event is handed out only once.
    heard: AtomicBool,
}

impl Ending {
    /// Begins to listen.
    #[allow(unsafe_code, reason = "kqueue is a C function")]
    pub(super) fn of(pid: Pid) -> Result<Ending, HostError> {
        // SAFETY: makes a new descriptor or fails.
        let queue = unsafe { libc::kqueue() };
        if queue < 0 {
            return Err(failed());
        }
        // SAFETY: just made, and nobody else's.
        let queue = unsafe { OwnedFd::from_raw_fd(queue) };
        rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)
            .map_err(|error| HostError::Refused(error.into()))?;
        let wanted = libc::kevent {
            ident: pid.get() as usize,
            filter: libc::EVFILT_PROC,
            flags: libc::EV_ADD,
            fflags: libc::NOTE_EXIT,
            data: 0,
            udata: std::ptr::null_mut(),
        };
        // SAFETY: one change is handed in, and no event is asked for.
        let added = unsafe {
            libc::kevent(queue.as_raw_fd(), &raw const wanted, 1, std::ptr::null_mut(), 0, std::ptr::null())
        };
        if added < 0 { Err(failed()) } else { Ok(Ending { queue, heard: AtomicBool::new(false) }) }
    }
}

fn failed() -> HostError {
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Zombies as well: they have ended.
        Some(libc::ESRCH) => HostError::Ended,
        Some(libc::EMFILE | libc::ENFILE) => HostError::NoRoom,
        _ => HostError::Refused(error),
    }
}

impl Exits for Ending {
    #[allow(unsafe_code, reason = "kevent is a C function")]
    fn has_ended(&self) -> bool {
        if self.heard.load(Ordering::Relaxed) {
            return true;
        }
        let mut event =
            libc::kevent { ident: 0, filter: 0, flags: 0, fflags: 0, data: 0, udata: std::ptr::null_mut() };
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: there is room for the one event that is asked for, and nothing is changed.
        let events = unsafe {
            libc::kevent(self.queue.as_raw_fd(), std::ptr::null(), 0, &raw mut event, 1, &raw const at_once)
        };
        let heard = events > 0;
        self.heard.fetch_or(heard, Ordering::Relaxed);
        heard
    }

    async fn ended(&self) {
        // Whoever asks takes the event away from whoever waits for it, so that a waiter looks by himself now and then.
        while !self.has_ended() {
            if let Ok(Err(error)) = tokio::time::timeout(AGAIN, self.readable()).await {
                // Without the event there is still the clock: the escalation goes on at its next tick.
                tracing::warn!("cannot wait for a process to end: {error}");
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Ending {
    #[allow(unsafe_code, reason = "the event loop takes a descriptor on trust")]
    async fn readable(&self) -> io::Result<()> {
        // SAFETY: the queue is owned by `self`, which this future borrows: it stays open, and the same, for longer than the
        // registration, which is dropped with the future.
        let registered = unsafe { AsyncFd::register_with_interest(self.queue.as_fd(), Interest::READABLE)? };
        registered.readable().await.map(|_| ())
    }
}
