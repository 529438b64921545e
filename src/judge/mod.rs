//! From trees to verdicts, each with its reasons. Pure: the same table, policy, memory and time give the same plan.

mod lifeline;
mod live;
mod policy;
mod rules;
#[cfg(test)]
mod tests;

pub use lifeline::Lifeline;
pub use policy::{Live, LivePolicy, Policy, SpareRule, SpareText, WithoutProof};
pub use rules::SAMPLE_APART;

use crate::catalog::{Catalog, Role};
use crate::memory::Memory;
use crate::process::{Pid, ProcessTable};
use crate::tree::{Roles, Tree};
use live::Leaks;
use std::collections::HashSet;
use std::time::Duration;

/// What is to be done with a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Take it down.
    Reap,
    /// Not yet.
    Wait,
    /// Leave it alone.
    Spare,
    /// It looks leaked, but a person must decide.
    Report,
}

impl Verdict {
    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Reap => "reap",
            Verdict::Wait => "wait",
            Verdict::Spare => "spare",
            Verdict::Report => "report",
        }
    }
}

/// Why. The words are a contract: they appear in JSON, logs and metrics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// Its client lives and can no longer reach it.
    LiveHungUp,
    /// Its client lives and has newer copies of it.
    Duplicate,
    /// Its client lives and has not used it for long.
    Idle,
    /// A live process owns it.
    Owned,
    /// Another PID namespace, or somebody else's.
    Foreign,
    /// A spare rule, or `ORPHAND=keep`.
    Protected,
    /// A service manager runs it.
    Managed,
    /// A live client is in the tree.
    ContainsClient,
    /// Nobody talks to it over stdin.
    NotStdio,
    /// It listens on a socket that nobody is connected to.
    Listening,
    /// Somebody holds the far end.
    InUse,
    /// A fact that the verdict needs was denied.
    Unreadable,
    /// Somebody's work runs below it.
    Work,
    /// A live browser is below it.
    Browser,
    /// Its processes use the disk or start others.
    Active,
    /// Not orphaned for long enough, or not confirmed.
    Young,
    /// It comes back each time it is taken down.
    Respawning,
    /// As many trees as one sweep may take are taken already.
    OverBudget,
    /// It has survived SIGKILL.
    Unkillable,
    /// Orphaned, and its lifelines hung up.
    HungUp,
    /// Orphaned; the user waived the proof.
    Orphaned,
    /// Looks orphaned, without proof.
    Unproven,
}

impl Code {
    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Code::LiveHungUp => "live-hung-up",
            Code::Duplicate => "duplicate",
            Code::Idle => "idle",
            Code::Owned => "owned",
            Code::Foreign => "foreign",
            Code::Protected => "protected",
            Code::Managed => "managed",
            Code::ContainsClient => "contains-client",
            Code::NotStdio => "not-stdio",
            Code::Listening => "listening",
            Code::InUse => "in-use",
            Code::Unreadable => "unreadable",
            Code::Work => "work",
            Code::Browser => "browser",
            Code::Active => "active",
            Code::Young => "young",
            Code::Respawning => "respawning",
            Code::OverBudget => "over-budget",
            Code::Unkillable => "unkillable",
            Code::HungUp => "hung-up",
            Code::Orphaned => "orphaned",
            Code::Unproven => "unproven",
        }
    }
}

/// One rule that holds, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Which rule.
    pub code: Code,
    /// Why it holds.
    pub text: String,
}

/// What a rule answered; `explain` shows all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Which rule.
    pub code: Code,
    /// The verdict it asks for, where it holds.
    pub verdict: Option<Verdict>,
    /// Why it holds, or why not.
    pub text: String,
}

impl Answer {
    /// Whether it is about a leak below a live client.
    pub fn is_live_leak(&self) -> bool {
        self.verdict.is_some() && matches!(self.code, Code::LiveHungUp | Code::Duplicate | Code::Idle)
    }
}

/// The client behind a tree, where it is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// What people call it.
    pub name: String,
    /// Its process; `None` where only its name is known.
    pub pid: Option<Pid>,
    /// Whether it still lives.
    pub alive: bool,
}

/// The verdict on one tree.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The tree.
    pub tree: Tree,
    /// What is to be done.
    pub verdict: Verdict,
    /// Every rule that holds, the one that decided first.
    pub reasons: Vec<Reason>,
    /// Every rule's answer, in order.
    pub answers: Vec<Answer>,
    /// The root's lifeline, or the server's where only that one still lives.
    pub lifeline: Lifeline,
    /// Whether the root's and the server's lifeline are both hung up.
    pub hung_up: bool,
    /// How long it has been seen orphaned; `None` when it is not, or was never seen before.
    pub orphaned_for: Option<Duration>,
    /// For `Wait`: how long until another look can decide.
    pub wait: Option<Duration>,
    /// The client that owns it or still holds its lifeline, or the one that started it.
    pub client: Option<Client>,
    /// Whether disk traffic of its processes was noticed in this look.
    pub is_active: bool,
    /// Digest of its user and command lines, to know it again when it comes back.
    pub command: u64,
    /// How often it has come back right after it was taken down.
    pub returns: usize,
}

impl Judgement {
    /// The code of the rule that decided.
    pub fn code(&self) -> Code {
        self.reasons[0].code
    }

    /// The same with another reason deciding, in the reasons and in the rule's answer.
    fn put_first(mut self, verdict: Verdict, code: Code, text: String) -> Judgement {
        self.verdict = verdict;
        for answer in self.answers.iter_mut().filter(|answer| answer.code == code) {
            *answer = Answer { code, verdict: Some(verdict), text: text.clone() };
        }
        self.reasons.insert(0, Reason { code, text });
        self
    }
}

/// The verdicts of one look, in order of the trees' roots.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// One for each tree.
    pub judgements: Vec<Judgement>,
}

impl Plan {
    /// The judgement of the tree with this root.
    pub fn of_root(&self, root: Pid) -> Option<&Judgement> {
        self.judgements.iter().find(|judgement| judgement.tree.root == root)
    }

    /// The judgement of the tree that a process belongs to.
    pub fn of_member(&self, pid: Pid) -> Option<&Judgement> {
        self.judgements.iter().find(|judgement| judgement.tree.contains(pid))
    }

    /// The trees that are to be taken down.
    pub fn to_reap(&self) -> impl Iterator<Item = &Judgement> {
        self.judgements.iter().filter(|judgement| judgement.verdict == Verdict::Reap)
    }
}

/// Everything that judging looks at beside the tree itself.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The look.
    pub table: &'a ProcessTable,
    /// What its processes are.
    pub roles: &'a Roles,
    /// The patterns behind the roles.
    pub catalog: &'a Catalog,
    /// What the user wants.
    pub policy: &'a Policy,
    /// What earlier looks saw.
    pub memory: &'a Memory,
}

/// Judges trees over all of each other: a lifeline whose far end is held only by members of condemned trees is hung up
/// too.
///
/// Twice: once with the trees that only wait counted as condemned, once without. A tree that nobody but a waiting one
/// holds waits with it.
pub fn judge(scene: Scene<'_>, trees: Vec<Tree>) -> Plan {
    let leaks = live::leaks(scene, &trees);
    let all = trees.iter().map(|tree| tree.root).collect();
    let doomed = |judgement: &Judgement| judgement.verdict == Verdict::Reap;
    let waiting = |judgement: &Judgement| judgement.verdict == Verdict::Wait && judgement.hung_up;
    let (expected, likely) =
        condemn(scene, &leaks, &trees, all, |judgement| doomed(judgement) || waiting(judgement));
    let (certain, _) = condemn(scene, &leaks, &trees, likely, doomed);
    let judgements = (expected.into_iter().zip(certain))
        .map(|(expected, certain)| match (expected.verdict, certain.verdict) {
            (Verdict::Reap, Verdict::Reap) => certain,
            (Verdict::Reap, _) => {
                let text = "only another orphan holds its stdin, and that one still waits".to_owned();
                expected.put_first(Verdict::Wait, Code::Young, text)
            }
            _ => expected,
        })
        .collect();
    within_budget(scene, Plan { judgements })
}

/// The largest set of trees that `stays` agrees to when all their members are condemned: begins with `condemned`, takes
/// out what a rule keeps, until nothing changes. Returns the judgements and the roots that stayed.
fn condemn(
    scene: Scene<'_>,
    leaks: &Leaks,
    trees: &[Tree],
    mut condemned: HashSet<Pid>,
    stays: impl Fn(&Judgement) -> bool,
) -> (Vec<Judgement>, HashSet<Pid>) {
    loop {
        let members: HashSet<Pid> = (trees.iter())
            .filter(|tree| condemned.contains(&tree.root))
            .flat_map(|tree| tree.members.iter().map(|member| member.pid))
            .collect();
        let judgements: Vec<Judgement> =
            trees.iter().map(|tree| rules::judge_tree(scene, leaks, &members, tree)).collect();
        let still: HashSet<Pid> = (judgements.iter())
            .filter(|judgement| condemned.contains(&judgement.tree.root) && stays(judgement))
            .map(|judgement| judgement.tree.root)
            .collect();
        if still.len() == condemned.len() {
            return (judgements, condemned);
        }
        condemned = still;
    }
}

/// Sweeps of a bounded size: the trees that were orphaned first go first.
fn within_budget(scene: Scene<'_>, mut plan: Plan) -> Plan {
    let most = scene.policy.trees_per_sweep;
    let mut to_reap: Vec<usize> =
        (0..plan.judgements.len()).filter(|at| plan.judgements[*at].verdict == Verdict::Reap).collect();
    to_reap.sort_by_key(|at| {
        let judgement = &plan.judgements[*at];
        (std::cmp::Reverse(judgement.orphaned_for), judgement.tree.root)
    });
    for at in to_reap.into_iter().skip(most) {
        let text =
            format!("this sweep already takes {most} trees (limits.trees_per_sweep); the next one goes on");
        let judgement = plan.judgements[at].clone();
        plan.judgements[at] = judgement.put_first(Verdict::Wait, Code::OverBudget, text);
    }
    plan
}

/// The live client among these processes, nearest first.
fn client_among(scene: Scene<'_>, pids: impl IntoIterator<Item = Pid>) -> Option<Client> {
    pids.into_iter().find_map(|pid| {
        let classified = scene.roles.get(pid).filter(|classified| classified.role == Role::Client)?;
        Some(Client { name: scene.catalog.display_name(classified), pid: Some(pid), alive: true })
    })
}
