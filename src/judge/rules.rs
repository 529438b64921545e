//! The rules, in the order in which they decide. Each answers for one tree, in words.
//!
//! The full order of the design has more of them (`listening`, `active`, `respawning`, `unkillable`); they come
//! with the evidence that they need, at the places marked below.

use super::lifeline::{Lifeline, stdout_problem};
use super::{Answer, Client, Code, Judgement, Reason, Scene, Verdict, WithoutProof, client_among};
use crate::catalog::{Pattern, Role};
use crate::memory::Sighting;
use crate::process::{Pid, Process};
use crate::tree::{AdopterKind, MemberRole, Tree, is_headless, is_named_beyond_doubt};
use crate::words::{duration, processes};
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

const RULES: [Rule; 15] = [
    (Code::Owned, owned),
    (Code::Foreign, foreign),
    (Code::Protected, protected),
    (Code::Managed, managed),
    (Code::ContainsClient, contains_client),
    (Code::NotStdio, not_stdio),
    (Code::InUse, in_use),
    // `listening` stands here.
    (Code::Unreadable, unreadable),
    (Code::Work, work),
    (Code::Browser, browser),
    // `active` stands here.
    (Code::Young, young),
    // `respawning` stands here.
    (Code::OverBudget, over_budget),
    // `unkillable` stands here.
    (Code::HungUp, hung_up),
    (Code::Orphaned, orphaned),
    (Code::Unproven, unproven),
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
        root_line: Lifeline::of(root, condemned),
        server_line: Lifeline::of(server, condemned),
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

    /// The line to show: the root's, unless only the server's says more.
    fn lifeline(&self) -> &Lifeline {
        if self.root_line == Lifeline::HungUp { &self.server_line } else { &self.root_line }
    }

    fn hung_up(&self) -> bool {
        self.root_line == Lifeline::HungUp && self.server_line == Lifeline::HungUp
    }

    fn describe(&self, pid: Pid) -> String {
        let name =
            self.scene.roles.get(pid).map(|known| self.scene.catalog.display_name(known)).or_else(|| {
                let process = self.scene.table.get(pid)?;
                process.arguments().first().map(|program| crate::invocation::base_name(program).to_owned())
            });
        match name {
            Some(name) if !name.is_empty() => format!("{name} ({pid})"),
            _ => format!("process {pid}"),
        }
    }

    fn holders(&self) -> Vec<Pid> {
        let mut all = Vec::new();
        for line in [&self.root_line, &self.server_line] {
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
        // Watched: it must have been orphaned for long enough. Otherwise its own age counts, and two looks must agree
        // that it is hung up; where it is not, there is nothing to agree on.
        let watched = since_seen.map(|seen| left(policy.min_age, seen));
        let confirm = if self.hung_up() {
            left(policy.confirm, since_hung_up.unwrap_or_default())
        } else {
            Duration::ZERO
        };
        let confirmed = confirm.max(left(policy.min_age, self.age()));
        let wait = watched.map_or(confirmed, |watched| watched.min(confirmed));
        (!wait.is_zero()).then_some(wait)
    }
}

fn owned(case: &Case<'_>) -> Says {
    if let Some(adopter) = case.tree.adopter {
        let what = match adopter.kind {
            AdopterKind::Init => "init",
            AdopterKind::UserManager => "the user's service manager",
            AdopterKind::Wsl => "WSL's init",
            AdopterKind::Configured => "an adopter by configuration",
            AdopterKind::ContainerInit => "PID 1, which is no init",
        };
        return No(format!("its parent is {what} ({}), which inherits orphans", adopter.pid));
    }
    match case.root.parent {
        None => Holds(Verdict::Spare, "its parent is outside this PID namespace (PPID 0)".to_owned()),
        Some(parent) if case.scene.table.get(parent).is_none() => {
            Holds(Verdict::Spare, format!("its parent {parent} ended during the look"))
        }
        Some(parent) => Holds(Verdict::Spare, format!("its parent {} is alive", case.describe(parent))),
    }
}

fn foreign(case: &Case<'_>) -> Says {
    let observer = &case.scene.table.observer;
    let own_uid = case.root.details.users.known().map(|users| users.real);
    for process in case.chain() {
        if let (Some(theirs), Some(ours)) = (process.details.pid_namespace.known(), observer.pid_namespace)
            && *theirs != ours
        {
            return Holds(
                Verdict::Spare,
                format!("process {} lives in another PID namespace, a container", process.pid()),
            );
        }
        if let Some(users) = process.details.users.known()
            && !observer.machine
            && (users.real != observer.uid || users.effective != observer.uid)
        {
            return Holds(Verdict::Spare, format!("process {} belongs to another user", process.pid()));
        }
    }
    // Not only the chain: whoever may stop his own server must not be able to aim orphand at somebody else's process.
    for member in case.tree.members.iter().filter_map(|member| case.scene.table.get(member.pid)) {
        if let (Some(users), Some(own)) = (member.details.users.known(), own_uid)
            && (users.real != own || users.effective != own)
        {
            return Holds(
                Verdict::Spare,
                format!("process {} runs as another user than its root", member.pid()),
            );
        }
    }
    No("all its processes are of one user, in this PID namespace".to_owned())
}

fn protected(case: &Case<'_>) -> Says {
    let observer = case.scene.table.observer.pid;
    let own_line = case.scene.table.ancestors(observer);
    if own_line.iter().chain([&observer]).any(|pid| case.tree.contains(*pid)) {
        return Holds(Verdict::Spare, "orphand itself was started from it".to_owned());
    }
    for process in case.chain() {
        if process.details.marks.known().is_some_and(|marks| marks.orphand.as_deref() == Some("keep")) {
            return Holds(
                Verdict::Spare,
                format!("ORPHAND=keep is in the environment of process {}", process.pid()),
            );
        }
        for rule in &case.scene.policy.spare {
            if rule.protects(process) == Some(true) {
                return Holds(
                    Verdict::Spare,
                    format!("the spare rule \"{}\" protects process {}", rule.name, process.pid()),
                );
            }
        }
    }
    No("no spare rule names it, and ORPHAND=keep is not in its environment".to_owned())
}

fn managed(case: &Case<'_>) -> Says {
    let Some(adopter) = case.tree.adopter else { return No("its parent is no service manager".to_owned()) };
    let manager = matches!(adopter.kind, AdopterKind::Init | AdopterKind::UserManager);
    let exec_pid = case.root.details.marks.known().and_then(|marks| marks.systemd_exec_pid.as_deref());
    if manager && exec_pid == Some(case.root.pid().to_string().as_str()) {
        let text = "systemd itself started it (SYSTEMD_EXEC_PID is its own pid): it is a service";
        return Holds(Verdict::Spare, text.to_owned());
    }
    No("systemd did not start it itself".to_owned())
}

fn contains_client(case: &Case<'_>) -> Says {
    if let Some(pid) = case.tree.members_of(MemberRole::Client).next() {
        return Holds(Verdict::Report, format!("the client {} lives below it", case.describe(pid)));
    }
    let members = case.tree.members.iter().map(|member| member.pid);
    match members.into_iter().find(|pid| case.scene.roles.role(*pid) == Some(Role::Host)) {
        Some(pid) => {
            Holds(Verdict::Report, format!("{} lives below it, and owns what it starts", case.describe(pid)))
        }
        None => No("no client or host lives below it".to_owned()),
    }
}

fn not_stdio(case: &Case<'_>) -> Says {
    if case.pattern.own && !case.pattern.stdio {
        return No("its pattern says that it does not speak over stdin (stdio = false)".to_owned());
    }
    for process in case.chain() {
        let Some(form) =
            case.scene.roles.get(process.pid()).and_then(|known| known.invocation.network_form())
        else {
            continue;
        };
        return Holds(
            Verdict::Spare,
            format!("`{form}` makes it a network server or daemon; nobody needs its stdin"),
        );
    }
    for (process, line) in [(case.root, &case.root_line), (case.server, &case.server_line)] {
        if let Lifeline::NotStdio(why) = line {
            return Holds(
                Verdict::Spare,
                format!("no client talks to it over stdin: process {}: {why}", process.pid()),
            );
        }
        if let Some(why) = stdout_problem(process) {
            return Holds(
                Verdict::Spare,
                format!("no client listens to it: process {}: {why}", process.pid()),
            );
        }
    }
    No("stdin and stdout are pipes or sockets, as a client opens them".to_owned())
}

fn in_use(case: &Case<'_>) -> Says {
    let users = case.users();
    if let Some(first) = users.first() {
        return Holds(
            Verdict::Spare,
            format!("{} still holds the far end of its stdin", case.describe(*first)),
        );
    }
    No("no client, host or ancestor holds the far end of its stdin".to_owned())
}

fn unreadable(case: &Case<'_>) -> Says {
    let mut missing: Vec<String> = Vec::new();
    let mut need = |process: &Process, what: &str, hidden: bool| {
        if hidden {
            missing.push(format!("{what} of process {}", process.pid()));
        }
    };
    for process in case.chain() {
        let details = &process.details;
        need(process, "user", details.users.is_hidden());
        need(process, "PID namespace", details.pid_namespace.is_hidden());
        need(process, "environment", details.marks.is_hidden());
        let undecided = case.scene.policy.spare.iter().any(|rule| rule.protects(process).is_none());
        need(process, "a fact for a spare rule", undecided);
    }
    for process in [case.root, case.server] {
        need(process, "stdin", process.details.stdio[0].is_hidden());
        need(process, "stdout", process.details.stdio[1].is_hidden());
        let open = process.stdin().is_some_and(|stdin| stdin.is_stdio());
        need(process, "far end of stdin", open && process.details.far_end.is_hidden());
    }
    for process in case.tree.members.iter().filter_map(|member| case.scene.table.get(member.pid)) {
        need(process, "command line", process.command.is_hidden());
        need(process, "user", process.details.users.is_hidden());
    }
    missing.dedup();
    if missing.is_empty() {
        return No("every fact that the verdict needs could be read".to_owned());
    }
    let more = if missing.len() > 3 { format!(" and {} more", missing.len() - 3) } else { String::new() };
    missing.truncate(3);
    let text = format!(
        "could not be read: {}{more}. Run orphand as root or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH to see it",
        missing.join(", ")
    );
    Holds(Verdict::Report, text)
}

/// A shell's training run below a terminal server is somebody's work, for ever. Until samples of disk and network tell
/// more, processor time is the evidence.
fn work(case: &Case<'_>) -> Says {
    let others = case.tree.members_of(MemberRole::Other).filter_map(|pid| case.scene.table.get(pid));
    match others.into_iter().find(|process| process.cpu >= WORK) {
        Some(process) => {
            let used = duration(process.cpu);
            let text = format!(
                "{} below it is no part of a server and has used {used} of processor time",
                case.describe(process.pid())
            );
            Holds(Verdict::Report, text)
        }
        None => No("nothing below it works on something of its own".to_owned()),
    }
}

/// Whoever used more than this works; a worker that only waits uses less.
const WORK: Duration = Duration::from_secs(1);

fn browser(case: &Case<'_>) -> Says {
    let browsers: Vec<&Process> =
        case.tree.members_of(MemberRole::Browser).filter_map(|pid| case.scene.table.get(pid)).collect();
    let Some(first) = browsers.first() else { return No("no automation browser lives below it".to_owned()) };
    let bound = case.scene.policy.browser_for;
    let since = case
        .sighting
        .map_or(Duration::ZERO, |seen| case.scene.table.since_boot.saturating_sub(seen.first_seen));
    let name = case.describe(first.pid());
    if since < bound {
        let text = format!(
            "the browser {name} lives below it; spared for up to {} (spare.browser_for)",
            duration(bound)
        );
        return Holds(Verdict::Spare, text);
    }
    if !is_headless(first.arguments()) {
        let text = format!("the browser {name} below it has a window that somebody may look at");
        return Holds(Verdict::Report, text);
    }
    No(format!("the headless browser {name} below it has been spared for {}", duration(since)))
}

fn young(case: &Case<'_>) -> Says {
    let Some(wait) = case.wait() else {
        return No(if case.tree.adopter.is_some() {
            "it has been orphaned for long enough".to_owned()
        } else {
            "it is not orphaned".to_owned()
        });
    };
    let policy = case.scene.policy;
    let text = if case.age() < policy.min_age {
        format!(
            "it is only {} old; it is left alone for {} (orphan.min_age)",
            duration(case.age()),
            duration(policy.min_age)
        )
    } else if case.sighting.is_none() {
        format!(
            "seen for the first time; a second look {} later must confirm it (orphan.confirm)",
            duration(policy.confirm)
        )
    } else {
        format!("seen orphaned a moment ago; another look in {} decides", duration(wait))
    };
    Holds(Verdict::Wait, text)
}

/// Decided over all trees together, after every tree has its verdict.
fn over_budget(case: &Case<'_>) -> Says {
    No(format!("within the {} trees of one sweep", case.scene.policy.trees_per_sweep))
}

fn hung_up(case: &Case<'_>) -> Says {
    if case.tree.adopter.is_none() {
        return No("it is not orphaned".to_owned());
    }
    if !case.hung_up() {
        return No(format!("its lifeline is {}", case.lifeline().word()));
    }
    if !is_named_beyond_doubt(case.pattern) {
        return No(format!(
            "nobody holds its stdin, but only the weak pattern \"{}\" names it",
            case.pattern.name
        ));
    }
    let text = if case.tree.members.len() == 1 {
        "its client is gone: nobody holds the other end of its stdin".to_owned()
    } else {
        format!(
            "its client is gone: nobody holds the other end of its stdin ({})",
            processes(case.tree.members.len())
        )
    };
    Holds(Verdict::Reap, text)
}

fn orphaned(case: &Case<'_>) -> Says {
    let Some(adopter) = case.tree.adopter else { return No("it is not orphaned".to_owned()) };
    let lines = [&case.root_line, &case.server_line];
    let waived = case.pattern.own && !case.pattern.stdio;
    if waived
        && lines.iter().all(|line| matches!(line, Lifeline::HungUp | Lifeline::NotStdio(_)))
        && !case.hung_up()
    {
        let text = "its parent is gone, and its pattern waives the proof (stdio = false)";
        return if adopter.kind.is_weak() {
            No("its parent is PID 1 of a container and may have started it".to_owned())
        } else {
            Holds(Verdict::Reap, text.to_owned())
        };
    }
    let policy = case.scene.policy;
    if policy.without_proof != WithoutProof::Reap {
        return No("nothing is reaped without proof (orphan.without_proof)".to_owned());
    }
    let since = case.sighting.map(|seen| case.scene.table.since_boot.saturating_sub(seen.first_seen));
    let long_enough = since.is_some_and(|since| since >= policy.without_proof_after);
    let unseen = lines.iter().any(|line| matches!(line, Lifeline::Unknown(_)))
        && lines.iter().all(|line| matches!(line, Lifeline::Unknown(_) | Lifeline::HungUp));
    let inherited = matches!(adopter.kind, AdopterKind::Init | AdopterKind::UserManager);
    if !(long_enough && unseen && inherited && is_named_beyond_doubt(case.pattern)) {
        return No("the conditions of orphan.without_proof = \"reap\" are not met".to_owned());
    }
    let text = format!("orphaned for {}; you allow that without proof", duration(since.unwrap_or_default()));
    Holds(Verdict::Reap, text)
}

fn unproven(case: &Case<'_>) -> Says {
    if case.tree.adopter.is_none() {
        return No("it is not orphaned".to_owned());
    }
    if case.users().is_empty()
        && let Some(holder) = case.holders().first()
    {
        let text =
            format!("{} holds the far end of its stdin, perhaps only by inheritance", case.describe(*holder));
        return Holds(Verdict::Report, text);
    }
    for line in [&case.root_line, &case.server_line] {
        if let Lifeline::Unknown(why) = line {
            return Holds(Verdict::Report, format!("looks orphaned, but there is no proof: {why}"));
        }
    }
    if case.hung_up() && !is_named_beyond_doubt(case.pattern) {
        let text = format!(
            "nobody holds its stdin, but only the weak pattern \"{}\" names it; add a [[server]] pattern if it is one",
            case.pattern.name
        );
        return Holds(Verdict::Report, text);
    }
    No("there is proof, one way or the other".to_owned())
}
