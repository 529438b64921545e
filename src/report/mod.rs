//! What people and programs read: tables, JSON, and nothing in them that is secret or could harm a terminal.

mod discovered;
mod facts;
mod json;
mod status;
mod text;

pub use discovered::{discovered_json, discovered_text};
pub use json::{command_json, explain_json, no_tree_json, scan_json, sweep_json};
pub use status::status_text;
pub use text::{explain_text, scan_text, sweep_text};

use crate::catalog::Catalog;
use crate::judge::{Judgement, Plan, Verdict};
use crate::look::Look;
use crate::process::{Memory, Pid, Process};
use crate::redact::printable;
use std::time::Duration;

/// A look with what is needed to speak about it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// What was seen.
    pub look: &'a Look,
    /// The patterns behind it.
    pub catalog: &'a Catalog,
    /// Whether trees with an owner are shown.
    pub all: bool,
}

impl<'a> View<'a> {
    fn shown(&self) -> impl Iterator<Item = &'a Judgement> {
        let all = self.all;
        self.look
            .plan
            .judgements
            .iter()
            .filter(move |judgement| all || judgement.tree.adopter.is_some() || !is_owned(judgement))
    }

    fn process(&self, pid: Pid) -> Option<&'a Process> {
        self.look.table.get(pid)
    }

    fn age(&self, judgement: &Judgement) -> Duration {
        self.process(judgement.tree.root).map(|root| self.look.table.age(root)).unwrap_or_default()
    }

    /// Memory of all members together; the proportional set only where it is known of each.
    fn memory(&self, judgement: &Judgement) -> Memory {
        let mut total = Memory { pss: Some(0), ..Memory::default() };
        for member in &judgement.tree.members {
            let memory = self.process(member.pid).and_then(|process| process.details.memory.known());
            let memory = memory.copied().unwrap_or_default();
            total.rss += memory.rss;
            total.swap += memory.swap;
            total.pss = total.pss.zip(memory.pss).map(|(sum, part)| sum + part);
        }
        total
    }

    fn user(&self, judgement: &Judgement) -> String {
        let root = self.process(judgement.tree.root);
        match root.and_then(|process| process.details.users.known()) {
            Some(users) => user_name(users.real),
            None => "?".to_owned(),
        }
    }
}

fn is_owned(judgement: &Judgement) -> bool {
    judgement.code() == crate::judge::Code::Owned
}

/// Counts by verdict, and the memory that reaping would give back.
struct Totals {
    trees: usize,
    reap: usize,
    wait: usize,
    spare: usize,
    report: usize,
    reclaimable: u64,
}

impl Totals {
    fn of(view: View<'_>) -> Totals {
        let count = |verdict: Verdict| view.shown().filter(|judgement| judgement.verdict == verdict).count();
        // What only waits for its second look will be given back as well.
        let goes = |judgement: &&Judgement| {
            judgement.verdict == Verdict::Reap || (judgement.verdict == Verdict::Wait && judgement.hung_up)
        };
        let reclaimable = (view.shown().filter(goes))
            .map(|judgement| view.memory(judgement))
            // What a tree shares with others does not come back with it.
            .map(|memory| memory.pss.unwrap_or(memory.rss) + memory.swap)
            .sum();
        Totals {
            trees: view.shown().count(),
            reap: count(Verdict::Reap),
            wait: count(Verdict::Wait),
            spare: count(Verdict::Spare),
            report: count(Verdict::Report),
            reclaimable,
        }
    }
}

/// A user's name, or the number where there is none.
pub fn user_name(uid: u32) -> String {
    uzers::get_user_by_uid(uid)
        .map_or_else(|| uid.to_string(), |user| printable(&user.name().to_string_lossy()))
}

/// Whether a plan has trees that only lack the second look.
pub fn waits_for_confirmation(plan: &Plan, within: Duration) -> Option<Duration> {
    (plan.judgements.iter())
        .filter(|judgement| judgement.verdict == Verdict::Wait && judgement.hung_up)
        .filter_map(|judgement| judgement.wait)
        .filter(|wait| *wait <= within)
        .max()
}
