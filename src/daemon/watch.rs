//! Waiting for the end of those whose death leaves a tree behind. Nobody is polled for it.

use crate::host::{Host, HostError, Pin};
use crate::process::ProcessId;
use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Everybody who is waited for.
pub(super) struct Watch<H> {
    waits: HashMap<ProcessId, AbortHandle>,
    ends: (mpsc::UnboundedSender<ProcessId>, mpsc::UnboundedReceiver<ProcessId>),
    missed: usize,
    /// Who was asked for and had ended.
    gone: HashSet<ProcessId>,
    host: PhantomData<H>,
}

impl<H: Host> Watch<H>
where
    H::Pin: 'static,
{
    pub(super) fn new() -> Watch<H> {
        Watch {
            waits: HashMap::new(),
            ends: mpsc::unbounded_channel(),
            missed: 0,
            gone: HashSet::new(),
            host: PhantomData,
        }
    }

    /// Waits for these and for nobody else. Returns whether one of them has ended already, as was not known before. Must be
    /// called on a `LocalSet`.
    pub(super) fn follow(&mut self, host: &H, wanted: HashSet<ProcessId>) -> bool {
        self.waits.retain(|id, wait| {
            let keep = wanted.contains(id);
            if !keep {
                wait.abort();
            }
            keep
        });
        // Half of all is for holding the trees that are to be taken down.
        let held = self.waits.len();
        let mut room = ((host.room_for_pins() + held) / 2).saturating_sub(held);
        let gone_before = std::mem::take(&mut self.gone);
        let had_missed = std::mem::take(&mut self.missed) > 0;
        for id in wanted {
            if self.waits.contains_key(&id) {
                continue;
            }
            let pin = if room > 0 { host.pin_exactly(&id) } else { Err(HostError::NoRoom) };
            match pin {
                Ok(pin) => {
                    room -= 1;
                    self.wait_for(id, pin);
                }
                Err(HostError::Ended) => {
                    self.gone.insert(id);
                }
                Err(error) => {
                    if !had_missed && self.missed == 0 {
                        tracing::warn!(
                            "cannot wait for the end of process {}: {error}; the end of some clients is noticed only at \
                             the next tick (look.interval)",
                            id.pid
                        );
                    }
                    self.missed += 1;
                }
            }
        }
        !self.gone.is_subset(&gone_before)
    }

    fn wait_for(&mut self, id: ProcessId, pin: H::Pin) {
        let ends = self.ends.0.clone();
        let wait = tokio::task::spawn_local(async move {
            pin.ended().await;
            // Nobody listens any more when the daemon stops.
            let _ = ends.send(id);
        });
        self.waits.insert(id, wait.abort_handle());
    }

    /// The next one who ends.
    pub(super) async fn end(&mut self) -> ProcessId {
        loop {
            let Some(id) = self.ends.1.recv().await else { std::future::pending().await };
            // Somebody who was given up may have ended at the same moment.
            if self.waits.remove(&id).is_some() {
                return id;
            }
        }
    }

    /// How many are waited for, and how many could not be.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.waits.len(), self.missed)
    }
}
