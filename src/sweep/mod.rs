//! A look followed by reaping: hold every process, look again, decide again, and only then signal.

mod claims;
mod fall;

pub use claims::Claims;

use crate::host::{Host, HostError, Pin};
use crate::judge::{Judgement, Verdict};
use crate::look::{Breadth, Judging, Look, alone_with_their_stdin, look};
use crate::memory::Memory;
use crate::process::{Pid, ProcessId};
use crate::reap::{self, Ending, Timing};
use crate::tree::Tree;
use claims::Claim;
use fall::Fall;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;

/// What came of one tree.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was signalled; this is how it ended.
    Ended(reap::Outcome),
    /// Judged again on fresh facts it was no longer to be reaped; nothing was signalled.
    SparedOnRecheck(String),
    /// It could not be held, so nothing was signalled.
    Failed(String),
}

impl Outcome {
    /// Whether a person should know that this tree could not be reaped.
    pub fn is_failure(&self) -> bool {
        match self {
            Outcome::Ended(ended) => matches!(ended.ending, Ending::Survived | Ending::Failed),
            Outcome::SparedOnRecheck(_) => false,
            Outcome::Failed(_) => true,
        }
    }
}

/// A tree that was to be reaped, and what came of it.
#[derive(Clone, Debug)]
pub struct Reaped {
    /// The last judgement on it.
    pub judgement: Judgement,
    /// What came of it.
    pub outcome: Outcome,
    /// Bytes of memory and swap that its processes had and that ended with them.
    pub freed: Freed,
    /// Processes that live on.
    pub survivors: Vec<ProcessId>,
}

/// Memory given back, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Freed {
    /// Resident memory. What processes share is in it once for each.
    pub rss: u64,
    /// Proportional memory, where the kernel tells it of each.
    pub pss: Option<u64>,
    /// Swap.
    pub swap: u64,
}

/// How a sweep is asked to stop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Halt {
    /// It is not.
    GoOn,
    /// To signal no tree that has not been signalled yet, and to finish the others.
    BeginNothing,
    /// To leave everything as it is.
    AtOnce,
}

impl Freed {
    /// What the machine got back, as near as can be told.
    pub fn given_back(&self) -> u64 {
        self.pss.unwrap_or(self.rss) + self.swap
    }
}

/// Everything that a sweep acts by.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Patterns and settings of judging.
    pub judging: Judging<'a>,
    /// Settings of reaping.
    pub timing: Timing,
}

/// How often a tree that gains processes between hold and look is tried again.
const ROUNDS: usize = 4;

/// Takes down the trees that `first` condemned, but for those that another sweep has claimed.
pub async fn sweep<H: Host>(
    host: &H,
    rules: Rules<'_>,
    memory: &Memory,
    first: &Look,
    claims: &Claims,
    halt: watch::Receiver<Halt>,
) -> Result<Vec<Reaped>, HostError>
where
    H::Pin: 'static,
{
    let mut held = Held { host, pins: HashMap::new(), claim: claims.begin() };
    let mut reaped = Vec::new();
    let mut candidates: Vec<Judgement> = first.plan.to_reap().cloned().collect();
    reaped.extend(leave_what_cannot_be_held(host.room_for_pins(), &mut candidates));
    let mut view: Option<Look> = None;
    let mut alone = HashMap::new();
    for round in 0..ROUNDS {
        candidates.retain(|judgement| match held.hold(&judgement.tree) {
            Ok(()) => true,
            Err(outcome) => {
                reaped.push(Reaped::without_signal(judgement.clone(), outcome));
                false
            }
        });
        if candidates.is_empty() {
            break;
        }
        // Searching everybody takes its time, so it comes before the look that decides.
        let trees: Vec<&Tree> = candidates.iter().map(|candidate| &candidate.tree).collect();
        let before = view.as_ref().unwrap_or(first);
        let found = alone_with_their_stdin(host, &before.table, &trees);
        alone = trees.iter().map(|tree| tree.chain.clone()).zip(found).collect();
        // What is read now is of the held processes, as long as no pin has ended afterwards.
        let fresh = look(host, rules.judging, memory, Breadth::Orphans)?;
        let before = std::mem::take(&mut candidates);
        let mut unsettled = false;
        for old in before {
            match recheck(&old, first, &fresh) {
                Err(why) => reaped.push(Reaped::without_signal(old, Outcome::SparedOnRecheck(why))),
                Ok(judgement) => {
                    unsettled |= !held.holds_all_alive(&judgement.tree);
                    candidates.push(judgement);
                }
            }
        }
        view = Some(fresh);
        if !unsettled {
            break;
        }
        if round + 1 == ROUNDS {
            let (settled, changing) =
                candidates.into_iter().partition(|candidate| held.holds_all_alive(&candidate.tree));
            candidates = settled;
            let text = "its processes kept changing while it was looked at";
            let spare =
                |judgement| Reaped::without_signal(judgement, Outcome::SparedOnRecheck(text.to_owned()));
            reaped.extend(Vec::into_iter(changing).map(spare));
        }
    }
    if let Some(view) = view.filter(|_| !candidates.is_empty()) {
        let with_alone = |judgement: Judgement| {
            let alone = alone.get(&judgement.tree.chain) == Some(&true);
            (judgement, alone)
        };
        let candidates = candidates.into_iter().map(with_alone).collect();
        reaped.extend(Fall::new(rules, held, view, candidates).run(halt).await);
    }
    reaped.sort_by_key(|reaped| reaped.judgement.tree.root);
    Ok(reaped)
}

/// Every process of a tree is held while it goes down. Takes the trees for which there is no room out of `candidates`;
/// the oldest orphans stay.
fn leave_what_cannot_be_held(room: usize, candidates: &mut Vec<Judgement>) -> Vec<Reaped> {
    candidates.sort_by_key(|judgement| (std::cmp::Reverse(judgement.orphaned_for), judgement.tree.root));
    let mut left = room;
    let mut over = Vec::new();
    candidates.retain(|judgement| {
        let needed = judgement.tree.members.len();
        if needed <= left {
            left -= needed;
            return true;
        }
        let outcome = if needed > room {
            Outcome::Failed(format!(
                "needs {needed} open files to be held, and the limit leaves {room}: raise `ulimit -n`"
            ))
        } else {
            Outcome::SparedOnRecheck("the limit on open files is used up; the next sweep goes on".to_owned())
        };
        over.push(Reaped::without_signal(judgement.clone(), outcome));
        false
    });
    over
}

/// The judgement on the same tree in a fresh look, or why it is left alone.
fn recheck(old: &Judgement, first: &Look, fresh: &Look) -> Result<Judgement, String> {
    let root = old.tree.root;
    let same = match (first.table.get(root), fresh.table.get(root)) {
        (Some(before), Some(now)) => before.id.same(&now.id),
        _ => false,
    };
    if !same {
        return Err("it ended by itself".to_owned());
    }
    match fresh.plan.of_root(root) {
        Some(judgement) if judgement.verdict == Verdict::Reap => Ok(judgement.clone()),
        Some(judgement) => Err(format!("looked at again: {}", judgement.reasons[0].text)),
        None => Err("looked at again, it is no orphaned MCP server any more".to_owned()),
    }
}

impl Reaped {
    /// What to remember of it: that its command was taken down, and who could not be.
    pub fn remember(&self, memory: &mut Memory, now: Duration) {
        let Outcome::Ended(ended) = &self.outcome else { return };
        memory.reaped(self.judgement.command, now, self.judgement.returns);
        if ended.ending == Ending::Survived {
            memory.survived(self.survivors.iter().copied());
        }
    }

    /// Whether all of it has ended.
    pub fn is_gone(&self) -> bool {
        matches!(&self.outcome, Outcome::Ended(ended) if matches!(ended.ending, Ending::Gone | Ending::Killed))
    }

    fn without_signal(judgement: Judgement, outcome: Outcome) -> Reaped {
        Reaped { judgement, outcome, freed: Freed::default(), survivors: Vec::new() }
    }
}

/// Claims and pins by number. The number is safe as a key: while a pin is held and has not ended, nobody else can have it.
struct Held<'a, H: Host> {
    host: &'a H,
    pins: HashMap<Pid, Rc<H::Pin>>,
    claim: Claim,
}

impl<H: Host> Held<'_, H> {
    /// Holds every member. One that has ended needs no holding.
    fn hold(&mut self, tree: &Tree) -> Result<(), Outcome> {
        for member in &tree.members {
            if !self.claim.take(member.pid, tree.root) {
                return Err(Outcome::SparedOnRecheck("it is already being taken down".to_owned()));
            }
            let lost = self.pins.get(&member.pid).is_none_or(|pin| pin.has_ended());
            if lost {
                match self.host.pin(member.pid) {
                    Ok(pin) => self.pins.insert(member.pid, Rc::new(pin)),
                    Err(HostError::Ended) => self.pins.remove(&member.pid),
                    Err(error) => return Err(Outcome::Failed(format!("cannot be held: {error}"))),
                };
            }
        }
        Ok(())
    }

    fn holds_all_alive(&self, tree: &Tree) -> bool {
        tree.members.iter().all(|member| self.pins.get(&member.pid).is_some_and(|pin| !pin.has_ended()))
    }
}
