//! What the daemon says while it works: one line for each decision that changes something. A tree that stays as it is is
//! not said again.

use crate::config::Mode;
use crate::judge::{Code, Judgement, Verdict};
use crate::look::Look;
use crate::process::{ProcessId, ProcessTable};
use crate::redact::sentence;
use crate::sweep::{Outcome, Reaped};
use crate::words::{duration, processes, size};
use std::collections::HashMap;

/// What was said last of each tree, by its root.
#[derive(Default)]
pub(super) struct Journal {
    said: HashMap<ProcessId, String>,
}

impl Journal {
    /// Says which verdicts have changed. `is_falling`: trees in an escalation are left to that one.
    pub(super) fn note_look(&mut self, look: &Look, mode: Mode, is_falling: impl Fn(&Judgement) -> bool) {
        let lives = |id: &ProcessId, table: &ProcessTable| {
            table.get(id.pid).is_some_and(|process| process.id.same(id))
        };
        self.said.retain(|id, _| lives(id, &look.table));
        for judgement in look.plan.judgements.iter().filter(|judgement| !is_falling(judgement)) {
            let Some(root) = look.table.get(judgement.tree.root) else { continue };
            // What is to be taken down is said with what came of it, unless nothing will.
            if judgement.verdict == Verdict::Reap && mode == Mode::Enforce {
                continue;
            }
            let verdict = format!("{} {}", judgement.verdict.word(), judgement.code().word());
            if self.is_new(root.id, &verdict) {
                say_verdict(judgement);
            }
        }
    }

    /// Says what came of a tree, where that is news: what keeps happening to one is said once.
    pub(super) fn note_reaped(&mut self, reaped: &Reaped, root: Option<ProcessId>) -> bool {
        let judgement = &reaped.judgement;
        let (tree, code) = (judgement.tree.root.get(), judgement.code().word());
        let (server, client) = (sentence(&judgement.tree.name), client_name(judgement));
        let client = client.as_str();
        let news = match &reaped.outcome {
            Outcome::Ended(ended) if reaped.outcome.is_failure() => {
                let survivors = ended.survivors.iter().map(|(pid, why)| match why {
                    Some(why) => format!("{pid} ({})", sentence(why)),
                    None => pid.to_string(),
                });
                format!("could not be taken down, still there: {}", survivors.collect::<Vec<_>>().join(", "))
            }
            Outcome::Ended(_) => String::new(),
            Outcome::SparedOnRecheck(why) => format!("left alone after all: {}", sentence(why)),
            Outcome::Failed(why) => format!("could not be taken down: {}", sentence(why)),
        };
        if !news.is_empty() && !root.is_none_or(|id| self.is_new(id, &news)) {
            return false;
        }
        match &reaped.outcome {
            Outcome::Ended(ended) if reaped.is_gone() => {
                let freed = size(reaped.freed.rss + reaped.freed.swap);
                let (signalled, took) = (processes(ended.terminated.max(ended.killed)), duration(ended.took));
                let (result, why) = (ended.ending.word(), sentence(&judgement.reasons[0].text));
                tracing::info!(
                    tree,
                    server,
                    client,
                    code,
                    result,
                    freed,
                    "taken down, {signalled} in {took}: {why}"
                );
            }
            Outcome::SparedOnRecheck(_) => tracing::info!(tree, server, client, code, "{news}"),
            _ => tracing::warn!(tree, server, client, code, "{news}"),
        }
        true
    }

    fn is_new(&mut self, root: ProcessId, text: &str) -> bool {
        self.said.insert(root, text.to_owned()).as_deref() != Some(text)
    }
}

fn say_verdict(judgement: &Judgement) {
    let (tree, code) = (judgement.tree.root.get(), judgement.code().word());
    let (server, client) = (sentence(&judgement.tree.name), client_name(judgement));
    let client = client.as_str();
    let why = sentence(&judgement.reasons[0].text);
    match judgement.verdict {
        // A healthy tree is no news.
        Verdict::Spare if judgement.code() == Code::Owned => {
            tracing::debug!(tree, server, client, code, "{why}");
        }
        Verdict::Spare => tracing::info!(tree, server, client, code, "spared: {why}"),
        Verdict::Wait => tracing::info!(tree, server, client, code, "waits: {why}"),
        Verdict::Report => tracing::warn!(tree, server, client, code, "left for you to decide: {why}"),
        Verdict::Reap => tracing::info!(tree, server, client, code, "would be taken down: {why}"),
    }
}

fn client_name(judgement: &Judgement) -> String {
    judgement.client.as_ref().map_or_else(String::new, |client| sentence(&client.name))
}
