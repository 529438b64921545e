//! Trees on their way down, all at once: exits and time become events, effects become signals through pins.

use super::{Claims, Freed, Halt, Held, Outcome, Reaped, Rules};
use crate::catalog::{Classified, Role};
use crate::host::{Host, HostError, Pin};
use crate::judge::Judgement;
use crate::look::{Falling, Look, newcomers};
use crate::process::{Fact, Pid, Process, ProcessId, State};
use crate::reap::{self, Effect, Escalation, Event, Signal, Timing};
use crate::redact::sentence;
use crate::tree::{MemberRole, Roles};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// Exits come in bursts; waiting this long for more of them saves looks.
const BURST: Duration = Duration::from_millis(3);

/// Trees on their way down, all at once.
pub(super) struct Fall<'a, H: Host> {
    rules: Rules<'a>,
    held: Held<'a, H>,
    view: Look,
    trees: Vec<Falls>,
    began: Instant,
    exits: (mpsc::UnboundedSender<Pid>, mpsc::UnboundedReceiver<Pid>),
    tasks: tokio::task::LocalSet,
}

/// One tree on its way down.
struct Falls {
    judgement: Judgement,
    escalation: Escalation,
    wake: Option<Duration>,
    wants_look: bool,
    /// Whether nobody else has its stdin.
    alone: bool,
    begun: bool,
    outcome: Option<reap::Outcome>,
    memory: BTreeMap<Pid, crate::process::Memory>,
}

impl<'a, H: Host> Fall<'a, H>
where
    H::Pin: 'static,
{
    pub(super) fn new(
        rules: Rules<'a>,
        held: Held<'a, H>,
        view: Look,
        judgements: Vec<(Judgement, bool)>,
    ) -> Fall<'a, H> {
        let trees = (judgements.into_iter())
            .map(|(judgement, alone)| Falls::new(judgement, alone, &view, rules.timing, held.claim.shared()))
            .collect();
        Fall {
            rules,
            held,
            view,
            trees,
            began: Instant::now(),
            exits: mpsc::unbounded_channel(),
            tasks: tokio::task::LocalSet::new(),
        }
    }

    pub(super) async fn run(mut self, halt: watch::Receiver<Halt>) -> Vec<Reaped> {
        let tasks = std::mem::take(&mut self.tasks);
        let watched: Vec<Pid> = self
            .trees
            .iter()
            .flat_map(|tree| tree.judgement.tree.members.iter().map(|member| member.pid))
            .collect();
        for pid in watched {
            self.watch(&tasks, pid);
        }
        tasks.run_until(self.drive(&tasks, halt)).await;
        let now = self.now();
        self.trees.into_iter().map(|tree| tree.conclude(now)).collect()
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Reports the end of a held process as an event.
    fn watch(&self, tasks: &tokio::task::LocalSet, pid: Pid) {
        if let Some(pin) = self.held.pins.get(&pid).cloned() {
            let exits = self.exits.0.clone();
            tasks.spawn_local(async move {
                pin.ended().await;
                // Nobody listens any more once the sweep is over.
                let _ = exits.send(pid);
            });
        }
    }

    async fn drive(&mut self, tasks: &tokio::task::LocalSet, mut halt: watch::Receiver<Halt>) {
        for at in 0..self.trees.len() {
            if *halt.borrow() > Halt::GoOn {
                break;
            }
            self.trees[at].begun = true;
            self.step(at, Event::Tick);
        }
        loop {
            if *halt.borrow() == Halt::AtOnce {
                return;
            }
            self.look_for_newcomers(tasks);
            let running = self.trees.iter().filter(|tree| tree.begun && tree.outcome.is_none());
            let Some(wake) = running.map(|tree| tree.wake.unwrap_or_default()).min() else { return };
            let mut ended = Vec::new();
            tokio::select! {
                pid = self.exits.1.recv() => ended.extend(pid),
                () = sleep_until(self.began + wake) => {}
                () = at_once(&mut halt) => return,
            }
            if !ended.is_empty() {
                sleep(BURST).await;
                while let Ok(pid) = self.exits.1.try_recv() {
                    ended.push(pid);
                }
            }
            for pid in ended {
                for at in 0..self.trees.len() {
                    if self.trees[at].escalation.living().any(|id| id.pid == pid) {
                        self.step(at, Event::Exited(pid));
                    }
                }
            }
            let now = self.now();
            for at in 0..self.trees.len() {
                if self.trees[at].wake.is_some_and(|wake| wake <= now) {
                    self.step(at, Event::Tick);
                }
            }
        }
    }

    /// One event, and what it asks for. A signal that fails is an event itself.
    fn step(&mut self, at: usize, event: Event) {
        let now = self.now();
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.trees[at].escalation.step(event, now) {
                match effect {
                    Effect::Signal(pid, signal) => events.extend(self.signal(at, pid, signal)),
                    Effect::Look => self.trees[at].wants_look = true,
                    Effect::WakeAt(time) => self.trees[at].wake = Some(time),
                    Effect::Done(outcome) => self.trees[at].outcome = Some(outcome),
                }
            }
        }
    }

    fn signal(&self, at: usize, pid: Pid, signal: Signal) -> Option<Event> {
        let now = self.has_become(pid);
        let server = sentence(&self.trees[at].judgement.tree.name);
        let pin = self.held.pins.get(&pid)?;
        if let Some(what) = now {
            let what = sentence(&what);
            tracing::warn!("process {pid} of {server} has become {what} and is left alone");
            return Some(Event::SignalFailed(pid, format!("it has become {what}")));
        }
        match pin.signal(signal) {
            Ok(()) => {
                let told = self.trees[at].escalation.living().find(|id| id.pid == pid);
                if let (Signal::Terminate, Some(id)) = (signal, told) {
                    self.held.claim.shared().tell(*id);
                }
                tracing::debug!("{signal:?} to process {pid} of {server}");
                None
            }
            // Its end comes as an event of its own.
            Err(HostError::Ended) => None,
            Err(error) => {
                tracing::warn!("cannot signal process {pid} of {server}: {error}");
                Some(Event::SignalFailed(pid, error.to_string()))
            }
        }
    }

    /// A process may run another program at any time. What has become a client or a host, or cannot be looked at any
    /// more, is signalled no more; the words say what it is.
    fn has_become(&self, pid: Pid) -> Option<String> {
        let catalog = self.rules.judging.catalog;
        match self.held.host.command_of(pid) {
            Fact::Known(command) => {
                let found = catalog.classify(&command)?;
                let somebodys = matches!(found.role, Role::Client | Role::Host);
                somebodys.then(|| catalog.display_name(&found))
            }
            Fact::Denied => Some("unreadable".to_owned()),
            _ => None,
        }
    }

    /// One look for all trees that want one.
    fn look_for_newcomers(&mut self, tasks: &tokio::task::LocalSet) {
        loop {
            let wanting: Vec<usize> = (0..self.trees.len()).filter(|at| self.trees[*at].wants_look).collect();
            if wanting.is_empty() {
                return;
            }
            let falling: Vec<Falling<'_>> = (wanting.iter())
                .map(|at| {
                    let tree = &self.trees[*at];
                    let alive = |pid: &Pid| self.held.pins.get(pid).is_some_and(|pin| !pin.has_ended());
                    let living = tree.escalation.living().map(|id| id.pid).filter(alive).collect();
                    Falling { tree: &tree.judgement.tree, living, alone: tree.alone }
                })
                .collect();
            let found = newcomers(self.held.host, self.rules.judging, &self.view.table, &falling);
            drop(falling);
            let found = found.unwrap_or_else(|error| {
                tracing::warn!("cannot look for late descendants: {error}");
                vec![Vec::new(); wanting.len()]
            });
            for (at, processes) in wanting.into_iter().zip(found) {
                self.trees[at].wants_look = false;
                let members = processes.iter().filter_map(|process| self.admit(tasks, at, process)).collect();
                self.step(at, Event::Looked(members));
            }
        }
    }

    /// Holds a newcomer. One that cannot be held, or has become another since, is left alone.
    fn admit(&mut self, tasks: &tokio::task::LocalSet, at: usize, process: &Process) -> Option<reap::Member> {
        let pid = process.pid();
        if self.trees[at].escalation.living().any(|id| id.same(&process.id)) {
            return None;
        }
        if !self.held.claim.take(pid, self.trees[at].judgement.tree.root) {
            return None;
        }
        let pin = self.held.host.pin(pid).ok()?;
        // Held now; looked at once more, the number must still mean the process that was found.
        let mut table = self.held.host.list().ok()?;
        self.held.host.read_details(&mut table, &[pid]);
        let same = table.get(pid).is_some_and(|now| now.id.same(&process.id));
        if !same || pin.has_ended() {
            return None;
        }
        self.held.pins.insert(pid, Rc::new(pin));
        self.watch(tasks, pid);
        let server = sentence(&self.trees[at].judgement.tree.name);
        tracing::info!("process {pid} was started by {server} on its way down");
        let mut roles = Roles::default();
        roles.add(process, self.rules.judging.catalog);
        let role = match roles.role(pid) {
            Some(Role::Browser) => MemberRole::Browser,
            _ => MemberRole::Other,
        };
        let goes_on = false;
        let stopped = process.state == State::Stopped;
        let told = self.held.claim.shared().was_told(&process.id);
        Some(reap::Member { id: process.id, role, goes_on, stopped, told })
    }
}

/// Comes when everything is to be left as it is; never, when nobody can ask for it any more.
async fn at_once(halt: &mut watch::Receiver<Halt>) {
    if halt.wait_for(|halt| *halt == Halt::AtOnce).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Whether a launcher may go on with something else when what it launched ends. Those that are known by their grammar
/// (`npm exec`, `uvx`, `env`) only wait.
fn may_go_on(roles: &Roles, process: &Process) -> bool {
    !roles.get(process.pid()).is_some_and(Classified::is_wrapper)
}

impl Falls {
    fn new(judgement: Judgement, alone: bool, view: &Look, timing: Timing, claims: &Claims) -> Falls {
        let Look { table, roles, .. } = view;
        let processes =
            || judgement.tree.members.iter().filter_map(|member| Some((member, table.get(member.pid)?)));
        let members = processes()
            .map(|(member, process)| reap::Member {
                id: process.id,
                role: member.role,
                goes_on: member.role == MemberRole::Launcher && may_go_on(roles, process),
                stopped: process.state == State::Stopped,
                told: claims.was_told(&process.id),
            })
            .collect();
        let memory = processes()
            .filter_map(|(member, process)| Some((member.pid, *process.details.memory.known()?)))
            .collect();
        let escalation = Escalation::new(members, timing);
        Falls {
            judgement,
            escalation,
            wake: None,
            wants_look: false,
            alone,
            begun: false,
            outcome: None,
            memory,
        }
    }

    fn conclude(mut self, now: Duration) -> Reaped {
        if !self.begun {
            let why =
                "it was to be left before the first signal: orphand stops, or its settings have changed"
                    .to_owned();
            return Reaped::without_signal(self.judgement, Outcome::SparedOnRecheck(why));
        }
        let survivors: Vec<ProcessId> = self.escalation.living().copied().collect();
        let living: Vec<Pid> = survivors.iter().map(|id| id.pid).collect();
        let outcome = self.outcome.unwrap_or_else(|| self.escalation.abandon("interrupted", now));
        let ended = self.memory.iter().filter(|(pid, _)| !living.contains(pid));
        let mut freed = Freed { pss: Some(0), ..Freed::default() };
        for (_, memory) in ended {
            freed.rss += memory.rss;
            freed.pss = freed.pss.zip(memory.pss).map(|(sum, part)| sum + part);
            freed.swap += memory.swap;
        }
        Reaped { judgement: self.judgement, outcome: Outcome::Ended(outcome), freed, survivors }
    }
}
