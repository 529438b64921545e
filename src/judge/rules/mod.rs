//! The rules, in the order in which they decide. Each answers for one tree, in words.
//!
//! The full order of the design has more of them (`active`, `respawning`, `unkillable`); they come
//! with the evidence that they need, at the places marked below.

mod needed;
mod proof;
mod whose;

use super::lifeline::Lifeline;
use super::{Answer, Client, Code, Judgement, Reason, Scene, Verdict, client_among};
use crate::catalog::{Classified, Pattern, Role};
use crate::invocation::Kind;
use crate::memory::Sighting;
use crate::process::{Fact, FarEnd, Pid, Process, Stream};
use crate::tree::{MemberRole, Tree};
use std::collections::HashSet;
use std::time::Duration;

/// What a rule says.
enum Says {
    /// It holds, and asks for this verdict.
    Holds(Verdict, String),
    /// It does not hold.
    No(String),
}
use Says::{Holds, No};

type Rule = (Code, fn(&Case<'_>) -> Says);

const RULES: [Rule; 16] = [
    (Code::Owned, whose::owned),
    (Code::Foreign, whose::foreign),
    (Code::Protected, whose::protected),
    (Code::Managed, whose::managed),
    (Code::ContainsClient, whose::contains_client),
    (Code::NotStdio, needed::not_stdio),
    (Code::InUse, needed::in_use),
    (Code::Listening, needed::listening),
    (Code::Unreadable, needed::unreadable),
    (Code::Work, needed::work),
    (Code::Browser, needed::browser),
    // `active` stands here.
    (Code::Young, proof::young),
    // `respawning` stands here.
    (Code::OverBudget, proof::over_budget),
    // `unkillable` stands here.
    (Code::HungUp, proof::hung_up),
    (Code::Orphaned, proof::orphaned),
    (Code::Unproven, proof::unproven),
];

/// One tree with everything that is known about it.
struct Case<'a> {
    scene: Scene<'a>,
    tree: &'a Tree,
    pattern: &'a Pattern,
    root: &'a Process,
    server: &'a Process,
    root_line: Lifeline,
    server_line: Lifeline,
    /// Stdin of the other members and stdout of root and server: nobody outside may need those either.
    other_lines: Vec<Lifeline>,
    sighting: Option<&'a Sighting>,
}

/// Judges one tree, given the members of all trees that are condemned so far.
pub(super) fn judge_tree(scene: Scene<'_>, condemned: &HashSet<Pid>, tree: &Tree) -> Judgement {
    let (Some(root), Some(server)) = (scene.table.get(tree.root), scene.table.get(tree.server)) else {
        return vanished(tree);
    };
    let case = Case {
        scene,
        tree,
        pattern: tree.pattern(scene.catalog),
        root,
        server,
        root_line: Lifeline::of(scene.table, root, Stream::Stdin, condemned),
        server_line: Lifeline::of(scene.table, server, Stream::Stdin, condemned),
        other_lines: (tree.ends())
            .filter(|end| *end != (tree.root, Stream::Stdin) && *end != (tree.server, Stream::Stdin))
            .filter_map(|(pid, stream)| Some((scene.table.get(pid)?, stream)))
            .map(|(process, stream)| match Lifeline::of(scene.table, process, stream, condemned) {
                Lifeline::Unknown(_) if stream == Stream::Stdin && is_held_within(tree, process) => {
                    Lifeline::HungUp
                }
                line => line,
            })
            .collect(),
        sighting: tree.adopter.and(scene.memory.of(&root.id)),
    };
    let mut answers: Vec<Answer> = RULES
        .iter()
        .map(|(code, rule)| match rule(&case) {
            Holds(verdict, text) => Answer { code: *code, verdict: Some(verdict), text },
            No(text) => Answer { code: *code, verdict: None, text },
        })
        .collect();
    if answers.iter().all(|answer| answer.verdict.is_none()) {
        let text = "no rule says that nobody needs it".to_owned();
        answers.push(Answer { code: Code::Unproven, verdict: Some(Verdict::Report), text });
    }
    let reasons: Vec<Reason> = (answers.iter())
        .filter(|answer| answer.verdict.is_some())
        .map(|answer| Reason { code: answer.code, text: answer.text.clone() })
        .collect();
    let verdict = answers.iter().find_map(|answer| answer.verdict).unwrap_or(Verdict::Report);
    Judgement {
        tree: tree.clone(),
        verdict,
        reasons,
        answers,
        lifeline: case.lifeline().clone(),
        hung_up: case.hung_up(),
        orphaned_for: case
            .sighting
            .map(|sighting| scene.table.since_boot.saturating_sub(sighting.first_seen)),
        wait: case.wait(),
        client: case.client(),
    }
}

/// Whether everyone who was found holding a member's stdin is of its own tree, as its server is that started it. Then it
/// does not matter that somebody could not be searched (ssh-agent and keyrings never can by their own user).
fn is_held_within(tree: &Tree, member: &Process) -> bool {
    match member.far_end(Stream::Stdin) {
        Fact::Known(FarEnd::Open(Some(holders))) => {
            !holders.pids.is_empty() && holders.pids.iter().all(|pid| tree.contains(*pid))
        }
        _ => false,
    }
}

/// Python's multiprocessing starts its workers so: they are a part of their parent.
fn is_pool_worker(process: &Process) -> bool {
    process.arguments().iter().any(|word| word.starts_with("from multiprocessing."))
}

fn vanished(tree: &Tree) -> Judgement {
    let text = "it ended during the look".to_owned();
    Judgement {
        tree: tree.clone(),
        verdict: Verdict::Spare,
        reasons: vec![Reason { code: Code::Unreadable, text }],
        answers: Vec::new(),
        lifeline: Lifeline::Unknown("it ended during the look".to_owned()),
        hung_up: false,
        orphaned_for: None,
        wait: None,
        client: None,
    }
}

impl Case<'_> {
    fn chain(&self) -> impl Iterator<Item = &Process> {
        self.tree.chain.iter().filter_map(|pid| self.scene.table.get(*pid))
    }

    fn members(&self) -> impl Iterator<Item = &Process> {
        self.tree.members.iter().filter_map(|member| self.scene.table.get(member.pid))
    }

    fn without_browsers(&self) -> impl Iterator<Item = &Process> {
        let others = self.tree.members.iter().filter(|member| member.role != MemberRole::Browser);
        others.filter_map(|member| self.scene.table.get(member.pid))
    }

    /// Whether a member may do something of its own: it is neither the server, nor a wrapper of one, nor a browser or
    /// helper. `make` and wrappers that nobody knows may; so may what a shell started without naming it as a server.
    fn may_work(&self, pid: Pid) -> bool {
        let Some(member) = self.tree.members.iter().find(|member| member.pid == pid) else { return false };
        let named = self.scene.roles.get(pid);
        let wraps = |pid: Pid| self.scene.roles.get(pid).is_some_and(Classified::is_wrapper);
        match member.role {
            MemberRole::Other => !self.scene.table.get(pid).is_some_and(is_pool_worker),
            MemberRole::Launcher if self.tree.chain.contains(&pid) => !wraps(pid),
            MemberRole::Launcher => {
                let below = self.scene.table.subtree(pid, |_| true);
                !self.tree.members_of(MemberRole::Server).any(|server| below.contains(&server))
            }
            MemberRole::Server if pid == self.tree.server && named.is_none() => {
                // Launched, but not named. By a runner of packages it is the package; by a bare shell it may be anything.
                let above = |at: usize| {
                    self.tree.chain.iter().rev().nth(at).and_then(|pid| self.scene.roles.get(*pid))
                };
                let shell = |known: &Classified| {
                    known.invocation.through.first().is_some_and(|name| name.ends_with(" -c"))
                };
                above(1).is_some_and(shell)
                    && !above(2).is_some_and(|known| known.is_wrapper() && !shell(known))
            }
            _ => false,
        }
    }

    /// Every line, the two that decide first.
    fn lines(&self) -> impl Iterator<Item = &Lifeline> {
        [&self.root_line, &self.server_line].into_iter().chain(&self.other_lines)
    }

    /// The line to show: the root's, unless only the server's says more.
    fn lifeline(&self) -> &Lifeline {
        if self.root_line == Lifeline::HungUp { &self.server_line } else { &self.root_line }
    }

    /// Nobody can reach root and server over stdin, and nobody needs what its other streams lead to.
    fn hung_up(&self) -> bool {
        let quiet = |line: &Lifeline| matches!(line, Lifeline::HungUp | Lifeline::NotStdio(_));
        self.root_line == Lifeline::HungUp
            && self.server_line == Lifeline::HungUp
            && self.other_lines.iter().all(quiet)
    }

    /// Why a hung-up lifeline proves nothing here.
    fn says_nothing(&self) -> Option<String> {
        let image = |process: &&Process| {
            self.scene.roles.get(process.pid()).is_some_and(|known| known.invocation.kind == Kind::Image)
        };
        if let Some(process) = self.members().find(image) {
            return Some(format!(
                "process {} only talks to a container, which would go on without it; stop the container",
                process.pid()
            ));
        }
        let adopter = self.tree.adopter.filter(|adopter| adopter.kind.is_weak())?;
        let parent = self.scene.table.get(adopter.pid)?;
        let same =
            parent.stdin().is_some_and(|stdin| stdin.is_stdio()) && parent.stdin() == self.root.stdin();
        same.then(|| {
            format!("PID {} is no init and has the very same stdin: it may have started it", adopter.pid)
        })
    }

    fn describe(&self, pid: Pid) -> String {
        let name =
            self.scene.roles.get(pid).map(|known| self.scene.catalog.display_name(known)).or_else(|| {
                let process = self.scene.table.get(pid)?;
                // A rewritten title holds the whole line; its first word is the program.
                let program = process.arguments().first()?.split_whitespace().next()?;
                Some(crate::invocation::base_name(program).to_owned())
            });
        match name {
            Some(name) if !name.is_empty() => format!("{name} ({pid})"),
            _ => format!("process {pid}"),
        }
    }

    fn holders(&self) -> Vec<Pid> {
        let mut all = Vec::new();
        for line in self.lines() {
            if let Lifeline::Held(pids) = line {
                all.extend(pids.iter().filter(|pid| !all.contains(*pid)).copied().collect::<Vec<_>>());
            }
        }
        all
    }

    /// Holders that need the tree: clients, hosts and ancestors. The others may have inherited a descriptor.
    fn users(&self) -> Vec<Pid> {
        let ancestors = self.scene.table.ancestors(self.tree.root);
        let needs = |pid: &Pid| {
            matches!(self.scene.roles.role(*pid), Some(Role::Client | Role::Host)) || ancestors.contains(pid)
        };
        self.holders().into_iter().filter(needs).collect()
    }

    fn client(&self) -> Option<Client> {
        let owner = self.tree.adopter.is_none().then(|| self.scene.table.ancestors(self.tree.root));
        client_among(self.scene, owner.into_iter().flatten().chain(self.holders()))
    }

    /// Age of the youngest process between root and server: a tree that still starts is as young as its last part.
    fn age(&self) -> Duration {
        self.chain().map(|process| self.scene.table.age(process)).min().unwrap_or_default()
    }

    /// How long until it is old enough, or nothing when it is.
    fn wait(&self) -> Option<Duration> {
        self.tree.adopter?;
        let policy = self.scene.policy;
        let now = self.scene.table.since_boot;
        let since_seen = self.sighting.map(|sighting| now.saturating_sub(sighting.first_seen));
        let since_hung_up =
            self.sighting.and_then(|sighting| sighting.hung_up_since).map(|since| now.saturating_sub(since));
        let left = |needed: Duration, have: Duration| needed.saturating_sub(have);
        // Watched, it must have been orphaned for long enough; otherwise its own age counts. And two looks must agree that
        // it is hung up; where it is not, there is nothing to agree on.
        let own_age = left(policy.min_age, self.age());
        let old_enough = since_seen.map_or(own_age, |seen| left(policy.min_age, seen).min(own_age));
        let confirm = left(policy.confirm, since_hung_up.unwrap_or_default());
        let wait = old_enough.max(if self.hung_up() { confirm } else { Duration::ZERO });
        (!wait.is_zero()).then_some(wait)
    }
}
