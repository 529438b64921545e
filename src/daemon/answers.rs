//! What the daemon answers when it is asked.

use super::Because;
use super::Daemon;
use crate::config::{Mode, Settings};
use crate::control::{Asked, Request};
use crate::host::Host;
use crate::look::Look;
use crate::report::{View, sweep_json, user_name};
use crate::status::{Status, Trees, Watched};
use crate::words::stamp;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::oneshot;

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

    pub(super) fn answer_askers(&mut self, look: &Look, settings: &Settings, number: u64) {
        let (now, later) =
            std::mem::take(&mut self.askers).into_iter().partition(|(_, needed)| *needed <= number);
        self.askers = later;
        let now: Vec<(oneshot::Sender<Value>, u64)> = now;
        if now.is_empty() {
            return;
        }
        let view = View { look, catalog: &settings.catalog, all: false };
        let dry_run = settings.mode == Mode::Observe;
        let sweep = sweep_json(view, &[], dry_run, &stamp(Timestamp::now()));
        let said = json!({ "pid": self.host.observer().pid, "sweep": sweep });
        for (answer, _) in now {
            let _ = answer.send(said.clone());
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
            scope: if observer.machine { "machine" } else { "user" }.to_owned(),
            user: (!observer.machine).then(|| user_name(observer.uid)),
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
