//! One tree with everything that is known about it, and the questions that several rules ask.

use super::Lifeline;
use super::visits::Visits;
use crate::catalog::{Classified, Pattern, Role};
use crate::invocation::{Invocation, Kind, base_name};
use crate::judge::live::Leak;
use crate::judge::{Client, Code, Live, Scene, client_among};
use crate::memory::{Part, Sighting, digest};
use crate::process::{Pid, Process, State, Stream};
use crate::tree::{AdopterKind, Head, MemberRole, Tree, is_named_beyond_doubt, is_shell, is_shell_script};
use crate::words::size;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::time::Duration;

/// One tree with everything that is known about it.
pub(super) struct Case<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) tree: &'a Tree,
    pub(super) condemned: &'a HashSet<Pid>,
    pub(super) pattern: &'a Pattern,
    pub(super) root: &'a Process,
    pub(super) server: &'a Process,
    pub(super) root_line: Lifeline,
    pub(super) server_line: Lifeline,
    /// Stdin of the other members and stdout of root and server: nobody outside may need those either.
    pub(super) other_lines: Vec<Lifeline>,
    pub(super) sighting: Option<&'a Sighting>,
    pub(super) leak: Option<&'a Leak>,
    /// Found when first asked for.
    pub(super) visits: OnceCell<Visits>,
}

/// Python's multiprocessing starts its workers so: they are a part of their parent. Its pools in somebody's own code are not.
fn is_pool_worker(process: &Process) -> bool {
    const WORKERS: [&str; 3] = [
        "from multiprocessing.spawn import spawn_main;",
        "from multiprocessing.resource_tracker import main;",
        "from multiprocessing.forkserver import main;",
    ];
    process.arguments().iter().any(|word| WORKERS.iter().any(|start| word.starts_with(start)))
}

impl Case<'_> {
    pub(super) fn chain(&self) -> impl Iterator<Item = &Process> {
        self.tree.chain.iter().filter_map(|pid| self.scene.table.get(*pid))
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Process> {
        self.tree.members.iter().filter_map(|member| self.scene.table.get(member.pid))
    }

    pub(super) fn without_browsers(&self) -> impl Iterator<Item = &Process> {
        let others = self.tree.members.iter().filter(|member| member.role != MemberRole::Browser);
        others.filter_map(|member| self.scene.table.get(member.pid))
    }

    /// Whether a member may do something of its own: it is neither the server, nor a wrapper of one, nor a browser or
    /// helper. `make` and wrappers that nobody knows may; so may what a shell started without naming it as a server, and a
    /// server below the server.
    pub(super) fn may_work(&self, pid: Pid) -> bool {
        let Some(member) = self.tree.members.iter().find(|member| member.pid == pid) else { return false };
        let named = self.scene.roles.get(pid);
        let wraps = |pid: Pid| self.scene.roles.get(pid).is_some_and(Classified::is_wrapper);
        let in_chain = self.tree.chain.contains(&pid);
        match member.role {
            MemberRole::Other => self.is_other(pid),
            // What only a likely name and an earlier look make a server may be anything that a client once ran.
            _ if in_chain && self.tree.head == Head::Server && !is_named_beyond_doubt(self.pattern) => true,
            MemberRole::Launcher if in_chain => !wraps(pid),
            MemberRole::Launcher => {
                let below = self.scene.table.subtree(pid, |_| true);
                !self.tree.members_of(MemberRole::Server).any(|server| below.contains(&server))
            }
            MemberRole::Server if !in_chain => !self.is_own_worker(pid),
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

    /// Whether a member is no part of the server that anybody knows: not a worker of its own, nor something that its browser or
    /// helper has started.
    pub(super) fn is_other(&self, pid: Pid) -> bool {
        let other = self.tree.members_of(MemberRole::Other).any(|other| other == pid);
        let below_helper = || {
            let above = self.scene.table.ancestors(pid);
            self.tree.members_of(MemberRole::Helper).any(|helper| above.contains(&helper))
        };
        other && !self.is_own_worker(pid) && !self.is_below_browser(pid) && !below_helper()
    }

    /// A worker of the server itself: one of Python's, or a fork with the very same command line.
    fn is_own_worker(&self, pid: Pid) -> bool {
        let same = |process: &Process| {
            !process.arguments().is_empty() && process.arguments() == self.server.arguments()
        };
        pid != self.tree.server
            && self.scene.table.get(pid).is_some_and(|process| is_pool_worker(process) || same(process))
    }

    /// A shell below the server: somebody's session, or a list of commands. One that only runs the one command that it was
    /// given, and has it as its child, is none.
    pub(super) fn shell_below(&self) -> Option<&Process> {
        let others = self.tree.members.iter().filter(|member| !self.tree.chain.contains(&member.pid));
        (others.filter(|member| !self.is_below_browser(member.pid)))
            .filter_map(|member| self.scene.table.get(member.pid))
            .find(|process| is_shell(process.arguments()) && !self.runs_its_command(process))
    }

    /// What a browser starts for itself, `xdg-settings` and the like.
    fn is_below_browser(&self, pid: Pid) -> bool {
        self.scene.table.ancestors(pid).into_iter().any(|above| self.is_browser(above))
    }

    fn runs_its_command(&self, shell: &Process) -> bool {
        let target = |process: &Process| {
            let invocation = Invocation::of(process.arguments())?;
            let name =
                if invocation.kind == Kind::Shell { return None } else { base_name(&invocation.target) };
            Some(name.to_owned())
        };
        let wraps = Invocation::of(shell.arguments()).is_some_and(|found| !found.through.is_empty());
        let wanted = target(shell).filter(|_| wraps);
        wanted.is_some() && self.scene.table.living_children(shell.pid()).any(|child| target(child) == wanted)
    }

    /// Every line, the two that decide first.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Lifeline> {
        [&self.root_line, &self.server_line].into_iter().chain(&self.other_lines)
    }

    /// The line to show: the root's, unless only the server's says more.
    pub(super) fn lifeline(&self) -> &Lifeline {
        if self.root_line == Lifeline::HungUp { &self.server_line } else { &self.root_line }
    }

    /// Nobody can reach root and server over stdin, and nobody needs what its other streams lead to.
    pub(super) fn hung_up(&self) -> bool {
        let quiet = |line: &Lifeline| matches!(line, Lifeline::HungUp | Lifeline::NotStdio(_));
        self.root_line == Lifeline::HungUp
            && self.server_line == Lifeline::HungUp
            && self.other_lines.iter().all(quiet)
    }

    /// Why a hung-up lifeline proves nothing here.
    pub(super) fn says_nothing(&self) -> Option<String> {
        let image = |process: &&Process| {
            let known = self.scene.roles.get(process.pid());
            let invocation = known.map(|known| known.invocation.clone());
            invocation.or_else(|| Invocation::of(process.arguments())).is_some_and(|invocation| {
                let tool = ["docker", "podman", "nerdctl"].contains(&invocation.program.as_str());
                invocation.kind == Kind::Image || tool
            })
        };
        if let Some(why) = self.is_no_leaf() {
            return Some(why);
        }
        let goes_on = |process: &&Process| {
            is_shell_script(process.arguments()) && process.details.catches_term.known() != Some(&false)
        };
        if let Some(process) = self.chain().find(goes_on) {
            let text = format!(
                "the script {} catches SIGTERM, and would go on with its next command",
                self.describe(process.pid())
            );
            return Some(text);
        }
        if let Some(process) = self.chain().find(|process| self.may_only_look_moved(process)) {
            return Some(format!(
                "process {} seems to have moved its stdin away, but none of its launchers has the same; it may be a daemon",
                process.pid()
            ));
        }
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
        (same && adopter.kind == AdopterKind::ContainerInit).then(|| {
            format!("PID {} is no init and has the very same stdin: it may have started it", adopter.pid)
        })
    }

    /// Why what is only known from when its client lived may be more than a part of that client's server.
    fn is_no_leaf(&self) -> Option<String> {
        if self.tree.head == Head::Kin && is_shell(self.root.arguments()) {
            let text = "it is a shell that a server has started; it may still have something to do";
            return Some(text.to_owned());
        }
        if self.tree.head == Head::Kin && self.tree.runs_commands {
            return Some(format!("the server {} runs people's commands; this may be one", self.tree.name));
        }
        // A script that only starts a server looks like an agent that waits for one.
        let unknown = self.chain().find(|process| {
            let wrapper = process.pid() != self.tree.server || self.tree.head == Head::Kin;
            let kin = self.scene.memory.kin(process).is_some_and(|kin| kin.part == Part::Launcher);
            wrapper && kin && self.scene.roles.get(process.pid()).is_none() && !self.hands_down(process)
        })?;
        Some(format!(
            "{} stood between {} and its server; if it only starts the server, and is no agent, say so with a [[launcher]] pattern",
            self.describe(unknown.pid()),
            self.tree.lineage.as_ref().map_or("its client", |kin| kin.client.name.as_str())
        ))
    }

    /// Whether stdin was guessed from private descriptors, and no launcher's own stdin confirms it: a daemon may have such
    /// ends left over from what it was once connected to.
    fn may_only_look_moved(&self, process: &Process) -> bool {
        let confirmed = || {
            self.chain().any(|other| {
                other.details.moved_stdio.is_none()
                    && other.stdin().is_some()
                    && other.stdin() == process.stdin()
            })
        };
        process.details.moved_stdio.is_some() && !confirmed()
    }

    /// Whether a process of the chain has the server's own stdin and stdout.
    fn hands_down(&self, process: &Process) -> bool {
        let same = |stream| {
            let (own, server) = (process.descriptor(stream), self.server.descriptor(stream));
            own.known().is_some_and(|descriptor| descriptor.is_stdio()) && own == server
        };
        process.pid() != self.tree.server && same(Stream::Stdin) && same(Stream::Stdout)
    }

    pub(super) fn describe(&self, pid: Pid) -> String {
        let name =
            self.scene.roles.get(pid).map(|known| self.scene.catalog.display_name(known)).or_else(|| {
                let invocation = Invocation::of(self.scene.table.get(pid)?.arguments())?;
                let script = invocation.kind == Kind::Script;
                Some(base_name(if script { &invocation.target } else { &invocation.program }).to_owned())
            });
        match name {
            Some(name) if !name.is_empty() => format!("{name} ({pid})"),
            _ => format!("process {pid}"),
        }
    }

    pub(super) fn holders(&self) -> Vec<Pid> {
        let mut all = Vec::new();
        for line in self.lines() {
            if let Lifeline::Held(pids) = line {
                all.extend(pids.iter().filter(|pid| !all.contains(*pid)).copied().collect::<Vec<_>>());
            }
        }
        all
    }

    /// Holders that need the tree: clients, hosts and ancestors. The others may have inherited a descriptor.
    pub(super) fn users(&self) -> Vec<Pid> {
        let ancestors = self.scene.table.ancestors(self.tree.root);
        // A client that is to lose a copy holds that copy, of course.
        let owner = self.lets_go().and(self.root.parent);
        let watched = self.tree.head == Head::Helper && self.pattern.parent_pid_arg.is_some();
        let needs = |pid: &Pid| {
            watched
                || matches!(self.scene.roles.role(*pid), Some(Role::Client | Role::Host))
                || ancestors.contains(pid)
        };
        self.holders().into_iter().filter(|pid| Some(*pid) != owner).filter(needs).collect()
    }

    /// The client: the one that owns it or holds it, the one that it was seen below, or the one that its environment names.
    pub(super) fn client(&self) -> Option<Client> {
        let table = self.scene.table;
        let owner = self.tree.adopter.is_none().then(|| table.ancestors(self.tree.root));
        let alive = client_among(self.scene, owner.into_iter().flatten().chain(self.holders()));
        let seen = || {
            let client = &self.tree.lineage.as_ref()?.client;
            let alive = table.get(client.id.pid).is_some_and(|now| now.id.same(&client.id));
            Some(Client { name: client.name.clone(), pid: Some(client.id.pid), alive })
        };
        let marked = || {
            let mark = self.chain().find_map(|process| process.details.marks.known()?.client.as_ref())?;
            let started_before = |process: &&Process| {
                process.state != State::Zombie && process.id.start_ticks <= self.root.id.start_ticks
            };
            let alive = mark.pid.and_then(|pid| table.get(pid)).filter(started_before).is_some();
            Some(Client { name: mark.name.clone(), pid: mark.pid, alive })
        };
        alive.or_else(seen).or_else(marked)
    }

    /// What one of its processes did since the last look that counts as activity. Browsers are looked at by themselves.
    pub(super) fn activity(&self) -> Option<String> {
        self.without_browsers().find_map(|process| {
            let sample = self.scene.memory.sample(&process.id)?;
            let moved = process.details.moved.known()?;
            let pid = process.pid();
            if sample.has_used_disk_since(moved) {
                let bytes = size(moved.disk - sample.moved.disk);
                return Some(format!(
                    "process {pid} has moved {bytes} to or from the disk since the last look"
                ));
            }
            (process.waited_faults > sample.waited_faults)
                .then(|| format!("a child of process {pid} has come and gone since the last look"))
        })
    }

    /// How long it has been seen orphaned, or leaking below its live client.
    pub(super) fn seen_for(&self) -> Option<Duration> {
        let born = self.scene.table.age(self.root);
        let now = self.scene.table.at.awake;
        self.sighting.map(|seen| now.saturating_sub(seen.first_seen).min(born))
    }

    /// A digest of user and command lines: the same when the same is started again.
    pub(super) fn command(&self) -> u64 {
        let user = self.root.details.users.known().map_or(String::new(), |users| users.real.to_string());
        let words = self.chain().flat_map(Process::arguments).map(String::as_str);
        digest(std::iter::once(user.as_str()).chain(words))
    }

    /// How often it has come back right after it was taken down. What its client had started again and left again, nobody
    /// restarts.
    pub(super) fn returns(&self) -> usize {
        if self.was_owned() {
            return 0;
        }
        let table = self.scene.table;
        let started = table.at.since_boot.saturating_sub(table.age(self.root));
        self.scene.memory.returns(self.command(), started)
    }

    /// Whether its root's parent is a client.
    pub(super) fn has_client(&self) -> bool {
        self.root.parent.is_some_and(|parent| self.scene.roles.role(parent) == Some(Role::Client))
    }

    /// The leak below its live client for which the user lets it go, in words. Never the newest copy, nor what has a
    /// browser.
    pub(super) fn lets_go(&self) -> Option<(Code, String)> {
        let (leak, live) = (self.leak?, &self.scene.policy.live);
        let lets = |setting: Live, why: &Option<String>| why.clone().filter(|_| setting == Live::Reap);
        leak.stays.is_none().then_some(())?;
        None.or_else(|| Some((Code::LiveHungUp, lets(live.hung_up, &leak.hung_up)?)))
            .or_else(|| Some((Code::Duplicate, lets(live.duplicates, &leak.duplicate)?)))
            .or_else(|| Some((Code::Idle, lets(live.idle, &leak.idle)?)))
    }

    /// The subreaper that adopted it and what that one descends from, up to PID 1. Empty for every other adopter.
    pub(super) fn managers(&self) -> Vec<Pid> {
        let Some(adopter) = self.tree.adopter.filter(|adopter| adopter.kind == AdopterKind::Subreaper) else {
            return Vec::new();
        };
        let above = self.scene.table.ancestors(adopter.pid);
        std::iter::once(adopter.pid).chain(above).filter(|pid| *pid != Pid::INIT).collect()
    }

    pub(super) fn is_browser(&self, pid: Pid) -> bool {
        self.tree.members_of(MemberRole::Browser).any(|browser| browser == pid)
    }

    /// Age of the youngest process between root and server: a tree that still starts is as young as its last part.
    pub(super) fn age(&self) -> Duration {
        self.chain().map(|process| self.scene.table.age(process)).min().unwrap_or_default()
    }

    /// Whether it is an orphan that an earlier look saw below its client.
    pub(super) fn was_owned(&self) -> bool {
        self.tree.adopter.is_some() && self.chain().any(|process| self.scene.memory.was_kin(&process.id))
    }

    /// How long until it is old enough, or nothing when it is.
    pub(super) fn wait(&self) -> Option<Duration> {
        if self.tree.adopter.is_none() && self.lets_go().is_none() {
            return None;
        }
        let policy = self.scene.policy;
        let now = self.scene.table.at.awake;
        // Nobody was seen before it was born, whatever the memory says.
        let born = self.scene.table.age(self.root);
        let since = |then: Duration| now.saturating_sub(then).min(born);
        let since_seen = self.sighting.map(|sighting| since(sighting.first_seen));
        let since_hung_up = self.sighting.and_then(|sighting| sighting.hung_up_since).map(since);
        let left = |needed: Duration, have: Duration| needed.saturating_sub(have);
        // Its own age counts, unless it was seen below its client: then it is known since when it may be an orphan. And two
        // looks must agree that it is hung up; where it is not, there is nothing to agree on.
        let own_age = left(policy.min_age, self.age());
        let seen_age = left(policy.min_age, since_seen.unwrap_or_default());
        let old_enough = if self.was_owned() { own_age.max(seen_age) } else { own_age.min(seen_age) };
        let confirm = left(policy.confirm, since_hung_up.unwrap_or_default());
        let wait = old_enough.max(if self.hung_up() { confirm } else { Duration::ZERO });
        // Whether it uses the disk can be told from two looks only.
        let sampled = policy.active_window.is_zero()
            || self.chain().all(|process| self.scene.memory.sample(&process.id).is_some());
        let wait = if sampled || !self.hung_up() { wait } else { wait.max(super::SAMPLE_APART) };
        (!wait.is_zero()).then_some(wait)
    }
}
