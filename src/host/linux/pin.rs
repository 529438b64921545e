//! Holding a process by a pidfd: the only way in which orphand signals on Linux.

use crate::host::posix::of_system;
use crate::host::{HostError, Pin};
use crate::process::Pid;
use crate::reap::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::{Interest, unix::AsyncFd};

/// A held process. While it is not reaped, its number cannot be reused; once it has ended, the handle says so for ever.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Takes hold of the process that has this number now.
    pub fn open(pid: Pid) -> Result<PidFd, HostError> {
        let raw = rustix::process::Pid::from_raw(pid.get()).ok_or(HostError::Ended)?;
        match pidfd_open(raw, PidfdFlags::empty()) {
            Ok(fd) => Ok(PidFd(fd)),
            Err(rustix::io::Errno::SRCH) => Err(HostError::Ended),
            Err(error) => Err(HostError::Refused(error.into())),
        }
    }

    /// A copy of one of its descriptors, where the kernel lets us have one.
    pub(super) fn copy(&self, number: i32) -> Option<OwnedFd> {
        pidfd_getfd(&self.0, number, PidfdGetfdFlags::empty()).ok()
    }

    /// Whether a signal would be let through. Sends none: 0 only asks for permission.
    #[allow(unsafe_code, reason = "rustix knows no signal 0")]
    pub(super) fn may_be_signalled(&self) -> bool {
        use std::os::fd::AsRawFd;
        const ASK: libc::c_int = 0;
        let no_info = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open as long as `self`, signal 0 changes nothing, and a null pointer stands for no
        // siginfo.
        let answer = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), ASK, no_info, 0 as libc::c_uint)
        };
        answer == 0
    }

    /// The pidfs inode, which the kernel never reuses within a boot (6.9 and later; older ones share one inode).
    fn unique_number(&self) -> Option<u64> {
        const PIDFS_MAGIC: u64 = 0x5049_4446;
        let magic = rustix::fs::fstatfs(&self.0).ok()?.f_type as u64;
        (magic == PIDFS_MAGIC).then(|| rustix::fs::fstat(&self.0).ok().map(|stat| stat.st_ino))?
    }
}

/// The unique number of the process that has this pid now.
pub(super) fn unique_number(pid: Pid) -> Option<u64> {
    PidFd::open(pid).ok()?.unique_number()
}

impl Pin for PidFd {
    fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A poll that fails tells nothing; the signal would still go to this very process or to nobody.
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    fn signal(&self, signal: Signal) -> Result<(), HostError> {
        match pidfd_send_signal(&self.0, of_system(signal)) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::SRCH) => Err(HostError::Ended),
            Err(error) => Err(HostError::Refused(error.into())),
        }
    }

    async fn ended(&self) {
        if let Err(error) = self.readable().await {
            // Without the event there is still the clock: the escalation goes on at its next tick.
            tracing::warn!("cannot wait for a process to end: {error}");
            std::future::pending::<()>().await;
        }
    }
}

impl PidFd {
    #[allow(unsafe_code, reason = "the event loop takes a descriptor on trust")]
    async fn readable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is owned by `self`, which this future borrows: it stays open, and the same, for longer
        // than the registration, which is dropped with the future.
        let registered = unsafe { AsyncFd::register_with_interest(self.0.as_fd(), Interest::READABLE)? };
        registered.readable().await.map(|_| ())
    }
}
