//! Stopping: nothing new, what has begun is finished, and what was learnt is written.

use super::signals::Signal;
use super::{Daemon, DaemonError, Done, Pulse, next_request};
use crate::control::Request;
use crate::host::Host;
use crate::sweep::Halt;
use crate::words::trees;
use sd_notify::NotifyState;
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Service managers wait for 30 s (`TimeoutStopSec=`, `ExitTimeOut`) before they kill.
const PATIENCE: Duration = Duration::from_secs(25);
/// Whoever is told to leave everything as it is does so within this time, or hangs.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

impl<H> Daemon<H>
where
    H: Host + Send + Sync + 'static,
    H::Pin: 'static,
{
    pub(super) async fn stop(mut self, mut pulse: Pulse) -> Result<(), DaemonError> {
        (self.notify)(&[NotifyState::Stopping]);
        self.refuse_askers("it is stopping");
        self.halt.send_replace(Halt::BeginNothing);
        if self.sweeps > 0 {
            tracing::info!("stopping when what has begun is finished; once more to leave at once");
        } else {
            tracing::info!("stopping");
        }
        let mut until = Instant::now() + PATIENCE;
        while self.sweeps > 0 || self.notebook.is_writing() {
            let at_once = *self.halt.borrow() == Halt::AtOnce;
            tokio::select! {
                Some(done) = self.tasks.join_next() => match done? {
                    Done::Swept(swept) => self.finish_sweep(swept),
                    Done::Wrote(memory, result) => self.notebook.end(memory, result, self.began.elapsed()),
                    // A look that was going on; its verdicts come too late.
                    Done::Looked(_) | Done::Reloaded(_) => {}
                },
                signal = self.signals.next(), if !at_once => if signal == Signal::Stop {
                    until = self.leave();
                },
                asked = next_request(&mut self.post) => match asked.request {
                    Request::Status => self.answer(asked),
                    Request::Look => {
                        let _ = asked.answer.send(json!({ "error": "it is stopping" }));
                    }
                },
                () = sleep_until(until) => {
                    if at_once {
                        tracing::warn!("left in the middle: {}", trees(self.falling));
                        break;
                    }
                    until = self.leave();
                }
                () = pulse.beat() => (self.notify)(&[NotifyState::Watchdog]),
            }
        }
        if self.notebook.is_own() {
            let (memory, result) = self.notebook.begin(&self.memory).run();
            self.notebook.end(memory, result, self.began.elapsed());
        }
        Ok(())
    }

    /// Leaves everything as it is.
    fn leave(&mut self) -> Instant {
        self.halt.send_replace(Halt::AtOnce);
        Instant::now() + LAST_PATIENCE
    }
}
