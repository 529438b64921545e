//! What the daemon answers when it is asked.

use super::{Because, Daemon};
use crate::config::Mode;
use crate::control::{Asked, Request};
use crate::host::Host;
use crate::status::{Status, Trees, Watched};
use crate::words::stamp;
use serde_json::{Value, json};

/// So many may wait for a look.
const MOST_ASKERS: usize = 8;

impl<H> Daemon<H>
where
    H: Host + Send + Sync + 'static,
    H::Pin: 'static,
{
    pub(super) fn answer(&mut self, asked: Asked) {
        match asked.request {
            Request::Status => {
                let status = serde_json::to_value(self.status()).unwrap_or_default();
                // Whoever asked may have left; here and below.
                let _ = asked.answer.send(status);
            }
            Request::Look if self.askers.len() >= MOST_ASKERS => {
                let _ = asked.answer.send(json!({ "error": "too many are asking already" }));
            }
            Request::Look => {
                self.schedule.ask(self.now(), Because::Asked);
                // One that is going on may have read the process table before.
                self.askers.push((asked.answer, self.looks_begun + 1));
            }
        }
    }

    /// There is nothing to answer.
    pub(super) fn refuse_askers(&mut self, why: &str) {
        for (answer, _) in self.askers.drain(..) {
            let _ = answer.send(json!({ "error": why }));
        }
    }

    /// Answers whoever waits for this look.
    pub(super) fn answer_askers(&mut self, shown: Option<Value>, number: u64) {
        let Some(shown) = shown else { return };
        for (answer, _) in self.askers.extract_if(.., |(_, needed)| *needed <= number) {
            let _ = answer.send(shown.clone());
        }
    }

    fn status(&self) -> Status {
        let observer = self.host.observer();
        let (parents, missed) = self.watch.counts();
        let trees = Trees { falling: self.falling, ..self.account.trees };
        Status {
            schema: 1,
            running: true,
            pid: observer.pid.get(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            since: stamp(self.account.since),
            uptime_s: self.now().as_secs(),
            mode: match self.settings.mode {
                Mode::Enforce => "enforce",
                Mode::Observe => "observe",
            }
            .to_owned(),
            signals: self.host.guarantee().word().to_owned(),
            scope: if observer.machine { "machine" } else { "user" }.to_owned(),
            user: self.user.clone(),
            last_look: self.account.last_look.clone(),
            look_failed: self.account.look_failed.clone(),
            looks: self.account.looks,
            looking_s: self.looking_since.map_or(0, |since| self.now().saturating_sub(since).as_secs()),
            next_look_s: self.schedule.due().map_or(0, |_| self.schedule.left(self.now()).as_secs()),
            trees,
            open: self.account.open.clone(),
            watched: Watched { parents, missed },
            reaped: self.account.reaped,
            last_reaps: self.account.last_reaps.iter().cloned().collect(),
            shortcomings: self.shortcomings.clone(),
            configuration: self.configuration.clone(),
            memory: self.notebook.status(),
        }
    }
}
