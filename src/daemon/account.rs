//! What the daemon has seen and done, for `status` and for the service manager's own line.

use super::schedule::Because;
use crate::judge::{Code, Judgement, Verdict};
use crate::look::Look;
use crate::process::{Details, Fact};
use crate::redact::sentence;
use crate::status::{LastLook, LastReap, OpenTree, Totals, Trees};
use crate::sweep::{Outcome, Reaped};
use crate::words::{size, stamp, trees};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::VecDeque;
use std::time::Duration;

/// So many trees are told of one by one.
const MOST: usize = 20;
/// The same of trees that are there.
const MOST_OPEN: usize = 100;

/// Counts since the daemon began.
pub(super) struct Account {
    pub(super) since: Timestamp,
    pub(super) looks: u64,
    pub(super) last_look: Option<LastLook>,
    pub(super) look_failed: Option<String>,
    pub(super) trees: Trees,
    pub(super) open: Vec<OpenTree>,
    pub(super) reaped: Totals,
    pub(super) last_reaps: VecDeque<LastReap>,
}

impl Account {
    pub(super) fn new() -> Account {
        Account {
            since: Timestamp::now(),
            looks: 0,
            last_look: None,
            look_failed: None,
            trees: Trees::default(),
            open: Vec::new(),
            reaped: Totals::default(),
            last_reaps: VecDeque::new(),
        }
    }

    /// Takes note of a look.
    pub(super) fn note_look(
        &mut self,
        look: &Look,
        because: Because,
        took: Duration,
        is_falling: impl Fn(&Judgement) -> bool,
    ) {
        self.looks += 1;
        self.look_failed = None;
        let unread = Details::default();
        let read =
            look.table.iter().filter(|process| process.command != Fact::Unread || *process.details != unread);
        self.last_look = Some(LastLook {
            at: stamp(Timestamp::now()),
            because: because.word().to_owned(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            processes: look.table.len(),
            read: read.count(),
        });
        let judgements = &look.plan.judgements;
        let count =
            |verdict: Verdict| judgements.iter().filter(|judgement| judgement.verdict == verdict).count();
        self.trees = Trees {
            total: judgements.len(),
            orphaned: judgements.iter().filter(|judgement| judgement.tree.adopter.is_some()).count(),
            reap: count(Verdict::Reap),
            wait: count(Verdict::Wait),
            spare: count(Verdict::Spare),
            report: count(Verdict::Report),
            falling: 0,
        };
        let open =
            judgements.iter().filter(|judgement| judgement.code() != Code::Owned && !is_falling(judgement));
        self.open = open.take(MOST_OPEN).map(open_tree).collect();
    }

    pub(super) fn note_reaped(&mut self, reaped: &Reaped) {
        let Outcome::Ended(ended) = &reaped.outcome else {
            self.reaped.failed += usize::from(reaped.outcome.is_failure());
            return;
        };
        let freed = reaped.freed.given_back();
        let failed = reaped.outcome.is_failure();
        self.reaped.trees += usize::from(!failed);
        self.reaped.failed += usize::from(failed);
        self.reaped.freed += freed;
        let judgement = &reaped.judgement;
        self.last_reaps.push_front(LastReap {
            at: stamp(Timestamp::now()),
            server: sentence(&judgement.tree.name),
            client: judgement.client.as_ref().map(|client| sentence(&client.name)),
            code: judgement.code().word().to_owned(),
            result: ended.ending.word().to_owned(),
            root: judgement.tree.root.get(),
            freed,
        });
        self.last_reaps.truncate(MOST);
    }

    /// One line in words: `12 MCP trees, 2 orphaned, 1.4 GB given back since Monday`.
    pub(super) fn sentence(&self, falling: usize, now: Timestamp) -> String {
        if let Some(error) = &self.look_failed {
            return format!("cannot look: {error}");
        }
        let mut text = trees(self.trees.total).replace("tree", "MCP tree");
        if self.trees.orphaned > 0 {
            text += &format!(", {} orphaned", self.trees.orphaned);
        }
        if falling > 0 {
            text += &format!(", {falling} being taken down");
        }
        if self.reaped.trees > 0 {
            text += &format!(", {} given back since {}", size(self.reaped.freed), since(self.since, now));
        }
        text
    }
}

fn open_tree(judgement: &Judgement) -> OpenTree {
    let seconds = |time: Duration| time.as_secs();
    OpenTree {
        root: judgement.tree.root.get(),
        server: sentence(&judgement.tree.name),
        client: judgement.client.as_ref().map(|client| sentence(&client.name)),
        verdict: judgement.verdict.word().to_owned(),
        code: judgement.code().word().to_owned(),
        text: sentence(&judgement.reasons[0].text),
        orphaned_s: judgement.orphaned_for.map(seconds),
        wait_s: judgement.wait.map(seconds),
    }
}

/// `09:12`, `Monday`, `2026-11-24`: as near as is needed.
fn since(then: Timestamp, now: Timestamp) -> String {
    let zone = TimeZone::system();
    let (then, now) = (then.to_zoned_datetime(zone.clone()), now.to_zoned_datetime(zone));
    let days = then.date().duration_until(now.date()).as_hours() / 24;
    let form = match days {
        0 => "%H:%M",
        1..=6 => "%A",
        _ => "%Y-%m-%d",
    };
    then.strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_managers_line_says_what_matters() {
        let mut account = Account::new();
        // Noon, so that no time zone moves it to another day.
        let at = |day: &str| format!("{day}T12:00:00Z").parse::<Timestamp>().expect("a time");
        account.since = at("2026-11-30");
        assert_eq!(account.sentence(0, at("2026-11-30")), "0 MCP trees");
        account.trees = Trees { total: 12, orphaned: 2, ..Trees::default() };
        account.reaped = Totals { trees: 3, failed: 0, freed: 1_400_000_000 };
        let said = |day: &str| account.sentence(0, at(day));
        assert_eq!(said("2026-12-03"), "12 MCP trees, 2 orphaned, 1.4 GB given back since Monday");
        assert!(said("2026-11-30").contains("since ") && said("2026-11-30").contains(':'));
        assert!(said("2026-12-20").ends_with("since 2026-11-30"));
    }
}
