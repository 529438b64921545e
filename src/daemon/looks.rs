//! What follows from a look: what is remembered, said, waited for, and taken down.

use super::tasks::{self, Looked, Swept};
use super::{Because, Daemon, DaemonError, MOST_SWEEPS, NotifyState};
use crate::config::{Mode, Settings};
use crate::host::Host;
use crate::judge::Judgement;
use crate::look::Look;
use crate::process::{Process, ProcessId};
use crate::sweep::Halt;
use crate::words::{processes, trees};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// A verdict that still holds after this time is no passing one.
const SETTLED: Duration = Duration::from_secs(2);

impl<H> Daemon<H>
where
    H: Host + Send + Sync + 'static,
    H::Pin: 'static,
{
    pub(super) fn finish_look(&mut self, looked: Looked) -> Result<(), DaemonError> {
        let now = self.now();
        let number = self.looks_begun;
        let is_first = self.account.looks == 0;
        let took = now.saturating_sub(self.looking_since.take().unwrap_or(now));
        let is_of_now = looked.generation == self.generation;
        if !self.post.keep() {
            return Err(DaemonError::Replaced);
        }
        if is_of_now {
            self.familiar = looked.familiar;
        }
        let look = match looked.result {
            Ok(look) => look,
            Err(error) if is_first => return Err(error.into()),
            Err(error) => {
                if self.account.look_failed.is_none() {
                    tracing::error!("cannot look: {error}; trying again at each tick");
                }
                self.account.look_failed = Some(error.to_string());
                self.refuse_askers(&error.to_string());
                self.schedule.end(now, took, None);
                self.tell_status();
                return Ok(());
            }
        };
        self.memory = Arc::new(look.remember(&self.memory, &looked.settings.catalog));
        let claims = self.claims.clone();
        let is_falling =
            |judgement: &Judgement| judgement.tree.members.iter().any(|member| claims.contains(member.pid));
        let unsaid =
            is_of_now && self.journal.note_look(&look, looked.settings.mode, is_falling, &self.claims);
        self.claims.forget_ended(|id| look.table.get(id.pid).is_some_and(|now| now.id.same(id)));
        let judgements = look.plan.judgements.iter().filter(|judgement| !is_falling(judgement));
        let waits = judgements.filter_map(|judgement| judgement.wait);
        let wait = waits.chain(unsaid.then_some(SETTLED)).min();
        self.schedule.end(now, took, wait);
        self.account.note_look(&look, looked.because, took, is_falling);
        self.answer_askers(looked.shown, number);
        if self.watch.follow(&*self.host, parents_of_live_trees(&look)) {
            self.schedule.ask(now, Because::Exit);
        }
        if is_first {
            let settings = &looked.settings;
            let scope = if self.host.observer().machine { "this machine" } else { "your processes" };
            let observes = if settings.mode == Mode::Observe {
                " (mode = \"observe\": nothing is signalled)"
            } else {
                ""
            };
            tracing::info!(
                "orphand {} looks after {scope}{observes}: {} among {}, {} of them orphaned",
                env!("CARGO_PKG_VERSION"),
                trees(self.account.trees.total).replace("tree", "MCP tree"),
                processes(look.table.len()),
                self.account.trees.orphaned
            );
        }
        if is_of_now {
            self.begin_sweep(look, looked.settings, is_falling);
        } else {
            // Judged by settings that are no longer in force.
            self.schedule.ask(now, Because::Asked);
        }
        if is_first {
            (self.notify)(&[NotifyState::Ready]);
        }
        self.tell_status();
        Ok(())
    }

    fn begin_sweep(
        &mut self,
        mut look: Look,
        settings: Arc<Settings>,
        is_falling: impl Fn(&Judgement) -> bool,
    ) {
        look.plan.judgements.retain(|judgement| !is_falling(judgement));
        let stopping = *self.halt.borrow() > Halt::GoOn;
        // Whoever else remembers here sweeps here.
        let alone = self.notebook.keep(self.now());
        if settings.mode == Mode::Observe || stopping || !alone || look.plan.to_reap().next().is_none() {
            return;
        }
        if self.sweeps >= MOST_SWEEPS {
            tracing::debug!("{} sweeps are going on; the next look takes the rest", self.sweeps);
            return;
        }
        self.sweeps += 1;
        let trees = look.plan.to_reap().count();
        self.falling += trees;
        let order = tasks::SweepOrder {
            host: self.host.clone(),
            settings,
            memory: self.memory.clone(),
            trees,
            look,
            claims: self.claims.clone(),
            halt: self.halt.subscribe(),
        };
        self.tasks.spawn_blocking(move || tasks::sweep(order));
    }

    pub(super) fn finish_sweep(&mut self, swept: Swept) {
        self.sweeps -= 1;
        self.falling -= swept.trees;
        let mut gone = 0;
        match swept.result {
            Ok(all) => {
                for (reaped, root) in all {
                    reaped.remember(Arc::make_mut(&mut self.memory), swept.since_boot);
                    // What was left in the middle has come to nothing yet.
                    let left = swept.was_left && !reaped.is_gone();
                    if !left && self.journal.note_reaped(&reaped, root) {
                        self.account.note_reaped(&reaped);
                    }
                    gone += usize::from(reaped.is_gone());
                }
            }
            Err(error) => tracing::error!("cannot take anything down: {error}"),
        }
        // What is left, and what was too much for one sweep. Where nothing has changed, the next tick is soon enough.
        if gone > 0 || swept.was_left {
            self.schedule.ask(self.now(), Because::Swept);
        }
        self.tell_status();
    }
}

/// Parents of trees that have an owner, and the clients above them: when one ends, there may be orphans.
fn parents_of_live_trees(look: &Look) -> HashSet<ProcessId> {
    let owned = look.plan.judgements.iter().filter(|judgement| judgement.tree.adopter.is_none());
    let above = owned.flat_map(|judgement| {
        let parent = look.table.get(judgement.tree.root).and_then(|root| look.table.parent(root));
        let client = judgement.client.as_ref().filter(|client| client.alive).and_then(|client| client.pid);
        [parent, client.and_then(|pid| look.table.get(pid))]
    });
    // One of them may have had its details read, and one not: the number and the start are enough.
    let id = |process: &Process| ProcessId { unique: None, ..process.id };
    above.flatten().map(id).collect()
}
