//! What a daemon is told by signals.

use std::io;
use tokio::signal::unix::{self, SignalKind, signal};

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGUSR1: look now.
    Look,
    /// SIGTERM, SIGINT; and SIGHUP where it means that the terminal is gone.
    Stop,
}

pub(super) struct Signals {
    hangup: unix::Signal,
    interrupt: unix::Signal,
    terminate: unix::Signal,
    user: unix::Signal,
    on_terminal: bool,
}

impl Signals {
    pub(super) fn new(on_terminal: bool) -> io::Result<Signals> {
        Ok(Signals {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            user: signal(SignalKind::user_defined1())?,
            on_terminal,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.hangup.recv() => if self.on_terminal { Signal::Stop } else { Signal::Reload },
            _ = self.user.recv() => Signal::Look,
        }
    }
}
