//! The daemon: one loop that waits for time, exits, signals and requests, and never does anything that takes long. Looks,
//! sweeps, reading files and writing them happen beside it, on threads of their own.

mod account;
mod answers;
mod journal;
mod looks;
mod notebook;
mod post;
mod schedule;
mod signals;
mod stop;
mod tasks;
#[cfg(test)]
mod tests;
mod watch;

pub use notebook::Notebook;
pub use post::{Post, PostError};

use crate::config::{ConfigError, Mode, Settings};
use crate::control::Asked;
use crate::host::{Host, HostError};
use crate::look::Familiar;
use crate::memory::Memory;
use crate::report::user_name;
use crate::status::{Configuration, Shortcoming};
use crate::sweep::{Claims, Halt};
use crate::words::{stamp, trees};
use account::Account;
use jiff::Timestamp;
use journal::Journal;
use schedule::{Because, Schedule};
use sd_notify::NotifyState;
use serde_json::Value;
use signals::{Signal, Signals};
use std::sync::Arc;
use std::time::Duration;
use tasks::Done;
use tokio::sync::{oneshot, watch as channel};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use watch::Watch;

/// Reads the configuration anew.
pub type Reload = Arc<dyn Fn() -> Result<Settings, ConfigError> + Send + Sync>;

/// Tells the service manager; nobody may be there to hear it.
pub type Notify = Box<dyn Fn(&[NotifyState<'_>])>;

/// What a daemon begins with.
pub struct Setup<H> {
    /// The machine.
    pub host: Arc<H>,
    /// The settings that it begins with.
    pub settings: Settings,
    /// Where the next ones come from.
    pub reload: Reload,
    /// What is remembered of this boot.
    pub memory: Memory,
    /// Where that is written.
    pub notebook: Notebook,
    /// Where it is found and asked.
    pub post: Post,
    /// Who is told.
    pub notify: Notify,
    /// How often the service manager wants to hear of the loop at the least.
    pub watchdog: Option<Duration>,
    /// Whether a hang-up means that the terminal is gone, and not that files are to be read again.
    pub on_terminal: bool,
}

/// Why a daemon could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The first look did not succeed.
    #[error(transparent)]
    Blind(#[from] HostError),
    /// Signals cannot be waited for.
    #[error("cannot listen for signals: {0}")]
    Deaf(#[from] std::io::Error),
    /// Its folder was removed, and another daemon has begun there.
    #[error("another orphand has taken over: this one's lock was removed")]
    Replaced,
    /// A bug.
    #[error("a part of orphand has failed: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

/// Sweeps that may run side by side. What is condemned meanwhile is taken by a later look.
const MOST_SWEEPS: usize = 4;
/// A look that takes longer than this hangs on something.
const SLOW: Duration = Duration::from_secs(60);

/// Runs until it is told to stop.
pub async fn run<H>(setup: Setup<H>) -> Result<(), DaemonError>
where
    H: Host + Send + Sync + 'static,
    H::Pin: 'static,
{
    let daemon = Daemon::new(setup)?;
    LocalSet::new().run_until(daemon.run()).await
}

struct Daemon<H> {
    host: Arc<H>,
    settings: Arc<Settings>,
    /// Grows with each reload: what was seen by other settings decides nothing.
    generation: u64,
    reload: Reload,
    reloading: bool,
    reload_again: bool,
    configuration: Configuration,
    memory: Arc<Memory>,
    notebook: Notebook,
    familiar: Familiar,
    schedule: Schedule,
    looking_since: Option<Duration>,
    looks_begun: u64,
    slow_is_said: bool,
    watch: Watch<H>,
    claims: Claims,
    halt: channel::Sender<Halt>,
    sweeps: usize,
    /// Trees that those sweeps have been given.
    falling: usize,
    /// Who asked for a look, and which one will do.
    askers: Vec<(oneshot::Sender<Value>, u64)>,
    tasks: JoinSet<Done>,
    journal: Journal,
    account: Account,
    shortcomings: Vec<Shortcoming>,
    /// Whose processes these are, where it is one user's daemon.
    user: Option<String>,
    post: Post,
    signals: Signals,
    notify: Notify,
    watchdog: Option<Duration>,
    said: String,
    began: Instant,
}

impl<H> Daemon<H>
where
    H: Host + Send + Sync + 'static,
    H::Pin: 'static,
{
    fn new(setup: Setup<H>) -> Result<Daemon<H>, DaemonError> {
        let shortcomings = setup.host.self_test();
        for Shortcoming { what, remedy } in &shortcomings {
            tracing::warn!("{what}; {remedy}");
        }
        let now = stamp(Timestamp::now());
        let observer = setup.host.observer();
        Ok(Daemon {
            user: (!observer.machine).then(|| user_name(observer.uid)),
            schedule: Schedule::new(setup.settings.look_interval),
            host: setup.host,
            settings: Arc::new(setup.settings),
            generation: 0,
            reload: setup.reload,
            reloading: false,
            reload_again: false,
            configuration: Configuration { loaded_at: now, problems: Vec::new() },
            memory: Arc::new(setup.memory),
            notebook: setup.notebook,
            familiar: Familiar::default(),
            looking_since: None,
            looks_begun: 0,
            slow_is_said: false,
            watch: Watch::new(),
            claims: Claims::default(),
            halt: channel::Sender::new(Halt::GoOn),
            sweeps: 0,
            falling: 0,
            askers: Vec::new(),
            tasks: JoinSet::new(),
            journal: Journal::default(),
            account: Account::new(),
            shortcomings,
            post: setup.post,
            signals: Signals::new(setup.on_terminal)?,
            notify: setup.notify,
            watchdog: setup.watchdog,
            said: String::new(),
            began: Instant::now(),
        })
    }

    /// Only runs forward, and stands still while the machine sleeps.
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    async fn run(mut self) -> Result<(), DaemonError> {
        let mut pulse = Pulse::every(self.watchdog);
        loop {
            self.begin_what_is_due();
            let wake = self.began + self.next_wake();
            tokio::select! {
                signal = self.signals.next() => match signal {
                    Signal::Reload => self.begin_reload(),
                    Signal::Look => self.schedule.ask(self.began.elapsed(), Because::Asked),
                    Signal::Stop => break,
                },
                Some(done) = self.tasks.join_next() => match self.finish(done?) {
                    // What has begun is finished all the same.
                    Err(DaemonError::Replaced) => {
                        self.stop(pulse).await?;
                        return Err(DaemonError::Replaced);
                    }
                    finished => finished?,
                },
                id = self.watch.end() => {
                    tracing::debug!("process {}, a parent of servers, has ended", id.pid);
                    self.schedule.ask(self.began.elapsed(), Because::Exit);
                }
                asked = next_request(&mut self.post) => self.answer(asked),
                () = sleep_until(wake) => {}
                () = pulse.beat() => (self.notify)(&[NotifyState::Watchdog]),
            }
        }
        self.stop(pulse).await
    }

    fn next_wake(&self) -> Duration {
        let slow = self.looking_since.filter(|_| !self.slow_is_said).map(|since| since + SLOW);
        let times = [self.schedule.due(), self.notebook.due(&self.memory), slow];
        // Long enough to be never, short enough for every clock.
        times.into_iter().flatten().min().unwrap_or(self.now() + Duration::from_secs(24 * 3600))
    }

    fn begin_what_is_due(&mut self) {
        let now = self.now();
        if self.schedule.due().is_some_and(|due| due <= now) {
            self.begin_look(now);
        }
        if self.notebook.due(&self.memory).is_some_and(|due| due <= now) {
            let writing = self.notebook.begin(&self.memory);
            self.tasks.spawn_blocking(move || tasks::write(writing));
        }
        if !self.slow_is_said && self.looking_since.is_some_and(|since| since + SLOW <= now) {
            self.slow_is_said = true;
            tracing::warn!(
                "a look has been going on for a minute: something keeps the kernel from answering"
            );
            self.tell_status();
        }
    }

    fn begin_look(&mut self, now: Duration) {
        let because = self.schedule.begin();
        (self.looking_since, self.slow_is_said) = (Some(now), false);
        self.looks_begun += 1;
        let order = tasks::LookOrder {
            host: self.host.clone(),
            settings: self.settings.clone(),
            generation: self.generation,
            memory: self.memory.clone(),
            familiar: std::mem::take(&mut self.familiar),
            because,
            is_asked_for: !self.askers.is_empty(),
        };
        self.tasks.spawn_blocking(move || tasks::look(order));
    }

    fn begin_reload(&mut self) {
        if self.reloading {
            self.reload_again = true;
            return;
        }
        self.reloading = true;
        match NotifyState::monotonic_usec_now() {
            Ok(now) => (self.notify)(&[NotifyState::Reloading, now]),
            Err(error) => tracing::debug!("no time to tell the service manager: {error}"),
        }
        let reload = self.reload.clone();
        self.tasks.spawn_blocking(move || Done::Reloaded(Box::new(reload())));
    }

    fn finish(&mut self, done: Done) -> Result<(), DaemonError> {
        match done {
            Done::Looked(looked) => self.finish_look(*looked)?,
            Done::Swept(swept) => self.finish_sweep(swept),
            Done::Reloaded(settings) => self.finish_reload(*settings),
            Done::Wrote(memory, result) => self.notebook.end(memory, result, self.now()),
        }
        Ok(())
    }

    fn finish_reload(&mut self, settings: Result<Settings, ConfigError>) {
        self.reloading = false;
        match settings {
            Ok(settings) => {
                let moved = settings.state_directory != self.settings.state_directory
                    || settings.runtime_directory != self.settings.runtime_directory;
                if moved {
                    tracing::warn!("another [state] directory takes effect when orphand is started again");
                }
                if settings.source != self.settings.source {
                    self.leave_what_falls();
                }
                self.generation += 1;
                self.familiar = Familiar::default();
                self.schedule.set_interval(self.now(), settings.look_interval);
                self.settings = Arc::new(settings);
                self.configuration =
                    Configuration { loaded_at: stamp(Timestamp::now()), problems: Vec::new() };
                self.schedule.ask(self.now(), Because::Asked);
                tracing::info!(
                    "the configuration was read again{}",
                    if self.settings.mode == Mode::Observe { "; mode = \"observe\"" } else { "" }
                );
            }
            Err(error) => {
                self.configuration.problems = error.0.iter().map(ToString::to_string).collect();
                for problem in &self.configuration.problems {
                    tracing::error!("{}", crate::redact::printable(problem));
                }
                tracing::error!("the configuration is wrong; the one from before stays in force");
            }
        }
        (self.notify)(&[NotifyState::Ready]);
        if std::mem::take(&mut self.reload_again) {
            self.begin_reload();
        }
    }

    /// Whoever is on his way down was condemned by settings that are no longer in force: he is left, and judged anew.
    fn leave_what_falls(&mut self) {
        if self.sweeps > 0 {
            tracing::info!(
                "left in the middle, and judged anew by the new settings: {}",
                trees(self.falling)
            );
        }
        self.halt.send_replace(Halt::AtOnce);
        self.halt = channel::Sender::new(Halt::GoOn);
    }

    /// Tells the service manager in words, when they have changed.
    fn tell_status(&mut self) {
        let mut sentence = self.account.sentence(self.falling, Timestamp::now());
        if self.slow_is_said && self.looking_since.is_some() {
            sentence += "; cannot look: something keeps the kernel from answering";
        }
        if sentence != self.said {
            (self.notify)(&[NotifyState::Status(&sentence)]);
            self.said = sentence;
        }
    }
}

/// The next request; never, while nobody can ask.
async fn next_request(post: &mut Post) -> Asked {
    match post.server() {
        Some(server) => server.next().await,
        None => std::future::pending().await,
    }
}

/// The loop's sign of life. It comes from nowhere else, so a loop that is stuck gives none.
struct Pulse(Option<tokio::time::Interval>);

impl Pulse {
    /// Twice as often as is wanted.
    fn every(wanted: Option<Duration>) -> Pulse {
        Pulse(wanted.map(|wanted| {
            let mut interval = interval((wanted / 2).max(Duration::from_millis(1)));
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        }))
    }

    async fn beat(&mut self) {
        match &mut self.0 {
            Some(interval) => {
                interval.tick().await;
            }
            None => std::future::pending().await,
        }
    }
}
