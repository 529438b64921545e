//! Taking one tree down: a state machine of events and effects. Pure: no clock, no signal, no process.
//!
//! SIGTERM goes to servers and what they started, browsers excepted; when those are gone, or after `settle`, to the
//! launchers and browsers that are left. At the end of the grace period SIGKILL goes to whoever is left. Nobody gets
//! SIGTERM twice. The outcome comes from exits that were seen, never from the return code of a signal.

use crate::process::{Pid, ProcessId};
use crate::tree::MemberRole;
use std::time::Duration;

/// How long each step may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Between the first SIGTERM and the one to launchers and browsers.
    pub settle: Duration,
    /// From the first SIGTERM to SIGKILL.
    pub grace: Duration,
    /// The same where there is a browser, which needs longer to close.
    pub browser_grace: Duration,
    /// From SIGKILL to giving up.
    pub last_wait: Duration,
}

/// A signal that orphand sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Asks to end.
    Terminate,
    /// Wakes a stopped process, so that it can act on SIGTERM.
    Continue,
    /// Ends.
    Kill,
}

/// What happens to an escalation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Time has passed, or it begins.
    Tick,
    /// A pin says that this process has ended.
    Exited(Pid),
    /// A look found these new descendants, pinned by now. Answers `Effect::Look`; may be empty.
    Looked(Vec<Member>),
    /// A signal could not be sent.
    SignalFailed(Pid, String),
}

/// What is to be done for an escalation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Send this, through the pin.
    Signal(Pid, Signal),
    /// Look for new descendants and answer with `Event::Looked`.
    Look,
    /// Send a `Tick` at this time at the latest.
    WakeAt(Duration),
    /// It is over.
    Done(Outcome),
}

/// One process of the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Who.
    pub id: ProcessId,
    /// What it is in the tree.
    pub role: MemberRole,
    /// A launcher that may go on with something else when what it launched ends: a script, `make`. It gets its SIGTERM before
    /// everybody else.
    pub goes_on: bool,
    /// Whether it was stopped when last seen.
    pub stopped: bool,
    /// Whether it had its SIGTERM in an escalation that was broken off.
    pub told: bool,
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All ended on SIGTERM, or by themselves.
    Gone,
    /// Some needed SIGKILL; all have ended.
    Killed,
    /// Some live on after SIGKILL.
    Survived,
    /// Some could not be signalled and live on.
    Failed,
}

impl Ending {
    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Gone => "gone",
            Ending::Killed => "killed",
            Ending::Survived => "survived",
            Ending::Failed => "failed",
        }
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// How many processes got SIGTERM.
    pub terminated: usize,
    /// How many got SIGKILL.
    pub killed: usize,
    /// From the first event to the last.
    pub took: Duration,
    /// Who lives on, and why where that is known.
    pub survivors: Vec<(Pid, Option<String>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Phase {
    New,
    Servers,
    Everyone,
    Killing,
    Done,
}

#[derive(Clone, Debug)]
struct Victim {
    member: Member,
    alive: bool,
    terminated: bool,
    killed: bool,
    refused: Option<String>,
}

/// A tree being taken down.
#[derive(Clone, Debug)]
pub struct Escalation {
    victims: Vec<Victim>,
    timing: Timing,
    phase: Phase,
    began: Duration,
    deadline: Duration,
    looked_since_exit: bool,
}

impl Escalation {
    /// An escalation over these members, not begun yet. The first `Tick` begins it.
    pub fn new(members: Vec<Member>, timing: Timing) -> Escalation {
        let mut victims: Vec<Victim> = members.into_iter().map(Victim::new).collect();
        victims.sort_by_key(|victim| !victim.member.goes_on);
        Escalation {
            victims,
            timing,
            phase: Phase::New,
            began: Duration::ZERO,
            deadline: Duration::ZERO,
            looked_since_exit: false,
        }
    }

    /// Whether it is over.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Processes that have not been seen ending.
    pub fn living(&self) -> impl Iterator<Item = &ProcessId> {
        self.victims.iter().filter(|victim| victim.alive).map(|victim| &victim.member.id)
    }

    /// Ends it early: whoever lives is left as he is, and `why` is said of him.
    pub fn abandon(&mut self, why: &str, now: Duration) -> Outcome {
        self.phase = Phase::Done;
        for victim in self.victims.iter_mut().filter(|victim| victim.alive) {
            victim.refused.get_or_insert_with(|| why.to_owned());
        }
        self.outcome(now)
    }

    /// Takes an event at a time (any monotonic clock) and says what is to be done.
    pub fn step(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        match event {
            _ if self.is_done() => return Vec::new(),
            Event::Tick => {}
            Event::Exited(pid) => {
                if let Some(victim) =
                    self.victims.iter_mut().find(|victim| victim.alive && victim.pid() == pid)
                {
                    victim.alive = false;
                    self.looked_since_exit = false;
                }
            }
            Event::Looked(newcomers) => {
                for member in newcomers {
                    if !self.victims.iter().any(|victim| victim.member.id.same(&member.id)) {
                        self.victims.push(Victim::new(member));
                    }
                }
                self.looked_since_exit = true;
            }
            Event::SignalFailed(pid, why) => {
                if let Some(victim) =
                    self.victims.iter_mut().find(|victim| victim.alive && victim.pid() == pid)
                {
                    victim.refused = Some(why);
                }
            }
        }
        let mut effects = Vec::new();
        self.advance(now, &mut effects);
        self.signal(&mut effects);
        self.conclude(now, &mut effects);
        effects
    }

    /// Moves to the phase that the time and the exits ask for.
    fn advance(&mut self, now: Duration, effects: &mut Vec<Effect>) {
        if self.phase == Phase::New {
            let browser = self.victims.iter().any(|victim| victim.member.role == MemberRole::Browser);
            let grace = if browser { self.timing.browser_grace } else { self.timing.grace };
            (self.phase, self.began, self.deadline) = (Phase::Servers, now, now + grace);
        }
        let first_wave_left = self.victims.iter().any(|victim| victim.alive && victim.is_first_wave());
        if self.phase == Phase::Servers && (!first_wave_left || now >= self.began + self.timing.settle) {
            self.phase = Phase::Everyone;
        }
        if self.phase == Phase::Everyone && now >= self.deadline {
            // Somebody may have forked on the way: the last look before SIGKILL finds him.
            effects.push(Effect::Look);
            self.phase = Phase::Killing;
        }
    }

    /// Signals everyone whose turn it is and who has not had his signal.
    fn signal(&mut self, effects: &mut Vec<Effect>) {
        for victim in self.victims.iter_mut().filter(|victim| victim.alive) {
            let pid = victim.pid();
            match self.phase {
                Phase::Servers if !victim.is_first_wave() => {}
                Phase::Servers | Phase::Everyone if !victim.terminated => {
                    victim.terminated = true;
                    effects.push(Effect::Signal(pid, Signal::Terminate));
                    if victim.member.stopped {
                        effects.push(Effect::Signal(pid, Signal::Continue));
                    }
                }
                Phase::Killing if !victim.killed => {
                    victim.killed = true;
                    effects.push(Effect::Signal(pid, Signal::Kill));
                }
                _ => {}
            }
        }
    }

    /// Ends it, or says when to come back.
    fn conclude(&mut self, now: Duration, effects: &mut Vec<Effect>) {
        let living = self.victims.iter().any(|victim| victim.alive);
        let give_up = self.deadline + self.timing.last_wait;
        let out_of_time = self.phase == Phase::Killing && now >= give_up;
        if !living && !self.looked_since_exit && !out_of_time {
            // Everyone known has ended: it is over when one more look finds nobody new.
            effects.push(Effect::Look);
            return;
        }
        if !living || out_of_time {
            self.phase = Phase::Done;
            effects.push(Effect::Done(self.outcome(now)));
            return;
        }
        effects.push(Effect::WakeAt(match self.phase {
            Phase::Servers => (self.began + self.timing.settle).min(self.deadline),
            Phase::Killing => give_up,
            _ => self.deadline,
        }));
    }

    fn outcome(&self, now: Duration) -> Outcome {
        let survivors: Vec<&Victim> = self.victims.iter().filter(|victim| victim.alive).collect();
        let killed = self.victims.iter().filter(|victim| victim.killed).count();
        let ending = if survivors.iter().any(|victim| victim.refused.is_some()) {
            Ending::Failed
        } else if !survivors.is_empty() {
            Ending::Survived
        } else if killed > 0 {
            Ending::Killed
        } else {
            Ending::Gone
        };
        Outcome {
            ending,
            terminated: self.victims.iter().filter(|victim| victim.terminated).count(),
            killed,
            took: now.saturating_sub(self.began),
            survivors: survivors.iter().map(|victim| (victim.pid(), victim.refused.clone())).collect(),
        }
    }
}

impl Victim {
    fn new(member: Member) -> Victim {
        let terminated = member.told;
        Victim { member, alive: true, terminated, killed: false, refused: None }
    }

    fn pid(&self) -> Pid {
        self.member.id.pid
    }

    /// Launchers wait for what they launched, and a server may close its own browser.
    fn is_first_wave(&self) -> bool {
        self.member.goes_on || !matches!(self.member.role, MemberRole::Launcher | MemberRole::Browser)
    }
}

#[cfg(test)]
mod tests;
