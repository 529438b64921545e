//! What the daemon says while it works: one line for each decision that changes something. A tree that stays as it is is
//! not said again.

use crate::config::Mode;
use crate::judge::{Code, Judgement, Verdict};
use crate::look::Look;
use crate::process::{ProcessId, ProcessTable};
use crate::redact::sentence;
use crate::sweep::{Claims, Outcome, Reaped};
use crate::words::{duration, processes, size};
use std::collections::HashMap;

/// What was seen and said last of each tree, by its root.
#[derive(Default)]
pub(super) struct Journal {
    trees: HashMap<ProcessId, Entry>,
}

#[derive(Default)]
struct Entry {
    name: String,
    seen: String,
    said: Option<String>,
    /// How often it has changed since something was said.
    changes: u32,
}

/// A verdict that changes each time it is looked at is not looked at each time because of that.
const MOST_CHANGES: u32 = 3;

impl Journal {
    /// Says which verdicts have changed, when two looks agree: at an ordinary end of a client its servers are orphans for a
    /// moment. Returns whether there is one that the next look is to confirm. `is_falling`: trees in an escalation are left
    /// to that one.
    pub(super) fn note_look(
        &mut self,
        look: &Look,
        mode: Mode,
        is_falling: impl Fn(&Judgement) -> bool,
        claims: &Claims,
    ) -> bool {
        self.note_ends(&look.table, claims);
        let mut unsaid = false;
        for judgement in look.plan.judgements.iter().filter(|judgement| !is_falling(judgement)) {
            let Some(root) = look.table.get(judgement.tree.root) else { continue };
            // What is to be taken down is said with what came of it, unless nothing will.
            if judgement.verdict == Verdict::Reap && mode == Mode::Enforce {
                continue;
            }
            // A healthy tree is no news.
            if judgement.code() == Code::Owned {
                self.trees.remove(&root.id);
                continue;
            }
            let verdict = format!("{} {}", judgement.verdict.word(), judgement.code().word());
            let entry = self.trees.entry(root.id).or_default();
            entry.name.clone_from(&judgement.tree.name);
            if entry.said.as_ref() == Some(&verdict) {
                entry.seen = verdict;
            } else if entry.seen == verdict {
                (entry.said, entry.changes) = (Some(verdict), 0);
                say_verdict(judgement);
            } else {
                entry.seen = verdict;
                entry.changes += 1;
                unsaid |= entry.changes <= MOST_CHANGES;
            }
        }
        unsaid
    }

    /// Of whom something was said, it is said that he is gone.
    fn note_ends(&mut self, table: &ProcessTable, claims: &Claims) {
        self.trees.retain(|id, entry| {
            let lives = table.get(id.pid).is_some_and(|process| process.id.same(id));
            // Who is being taken down is not said to end by himself, nor who was left in the middle of it.
            if !lives && (claims.contains(id.pid) || claims.was_told(id)) {
                return claims.contains(id.pid);
            }
            if !lives && entry.said.is_some() {
                tracing::info!(tree = id.pid.get(), server = sentence(&entry.name), "has ended by itself");
            }
            lives
        });
    }

    /// Says what came of a tree, where that is news: what keeps happening to one is said once.
    pub(super) fn note_reaped(&mut self, reaped: &Reaped, root: Option<ProcessId>) -> bool {
        let judgement = &reaped.judgement;
        let (tree, code) = (judgement.tree.root.get(), judgement.code().word());
        let (server, client) = (sentence(&judgement.tree.name), client_name(judgement));
        let client = client.as_deref();
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
                // It has not ended by itself.
                root.map(|id| self.trees.remove(&id));
                let freed = size(reaped.freed.given_back());
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
        let entry = self.trees.entry(root).or_default();
        entry.said.replace(text.to_owned()).as_deref() != Some(text)
    }
}

fn say_verdict(judgement: &Judgement) {
    let (tree, code) = (judgement.tree.root.get(), judgement.code().word());
    let (server, client) = (sentence(&judgement.tree.name), client_name(judgement));
    let client = client.as_deref();
    let why = sentence(&judgement.reasons[0].text);
    match judgement.verdict {
        Verdict::Spare => tracing::info!(tree, server, client, code, "spared: {why}"),
        Verdict::Wait => tracing::info!(tree, server, client, code, "waits: {why}"),
        Verdict::Report => tracing::warn!(tree, server, client, code, "left for you to decide: {why}"),
        Verdict::Reap => tracing::info!(tree, server, client, code, "would be taken down: {why}"),
    }
}

fn client_name(judgement: &Judgement) -> Option<String> {
    judgement.client.as_ref().map(|client| sentence(&client.name))
}
