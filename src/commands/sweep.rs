//! `orphand sweep`: a look and a reap. What timers and cron call; remembers between runs.

use super::{
    NOT_ALL_REAPED, judging, open_host, print, print_json, runtime_folder, settings, state_folder, taken_at,
};
use crate::cli::{Global, Sweep};
use crate::config::{Mode, Settings};
use crate::control::{Request, ask};
use crate::host::{Host, Machine, allow_many_open_files};
use crate::judge::SAMPLE_APART;
use crate::look::{Breadth, Look, look};
use crate::memory::Memory;
use crate::report::{View, sweep_json, sweep_text, waits_for_confirmation};
use crate::state::{Lock, LockError, StateFolder};
use crate::sweep::{Claims, Halt, Reaped, Rules, sweep};
use crate::tree::MemberRole;
use crate::words::{duration, trees};
use anyhow::{Context, bail};
use serde_json::Value;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

pub(super) fn run(global: &Global, options: &Sweep) -> anyhow::Result<ExitCode> {
    let host = open_host()?;
    let settings = settings(global, host.observer())?;
    allow_many_open_files()?;
    let dry_run = options.dry_run || settings.mode == Mode::Observe;
    if !dry_run && let Some(answer) = ask_daemon(&settings, &host)? {
        return tell_answer(&answer, options.json);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the event loop")?;
    let folder = state_folder(&settings, host.observer());
    let mut sweeper =
        Sweeper { host: &host, settings: &settings, notebook: Notebook::open(folder, dry_run)? };
    let Some((look, reaped)) = runtime.block_on(sweeper.run(dry_run))? else {
        tracing::info!("interrupted; nothing was signalled");
        return Ok(ExitCode::FAILURE);
    };
    let view = View { look: &look, catalog: &settings.catalog, all: false };
    if options.json {
        print_json(&sweep_json(view, &reaped, dry_run, host.guarantee().word(), &taken_at()))?;
    } else {
        print(&sweep_text(view, &reaped, dry_run))?;
    }
    let failed = reaped.iter().any(|reaped| reaped.outcome.is_failure());
    Ok(ExitCode::from(if failed { NOT_ALL_REAPED } else { 0 }))
}

/// A daemon of the same scope does the sweeping: it is asked to look now.
fn ask_daemon(settings: &Settings, host: &Machine) -> anyhow::Result<Option<Value>> {
    let folder = runtime_folder(settings, host.observer());
    let answer = ask(&folder.socket(), Request::Look);
    // Without an answer there may be one all the same, and nobody should be signalled by both.
    match answer {
        Ok(Some(answer)) => Ok(Some(answer)),
        Ok(None) if !folder.is_taken() => Ok(None),
        Ok(None) => bail!("orphand is running, but does not listen at {}", folder.socket().display()),
        Err(error) => bail!("orphand is running, but cannot be asked to look: {error}"),
    }
}

fn tell_answer(answer: &Value, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        print_json(&answer["sweep"])?;
        return Ok(ExitCode::SUCCESS);
    }
    let (pid, totals) = (&answer["pid"], &answer["sweep"]["totals"]);
    let count = |name: &str| totals[name].as_u64().unwrap_or_default();
    let then = if answer["sweep"]["dry_run"] == true {
        "It only observes (mode = \"observe\")."
    } else {
        "It takes down itself what is to be reaped; `orphand status` shows what came of it."
    };
    let text = format!(
        "orphand is running as process {pid} and has looked now: {}; {} to reap, {} to wait, {} spared, {} to report.\n{then}\n",
        trees(usize::try_from(count("trees")).unwrap_or(usize::MAX)),
        count("reap"),
        count("wait"),
        count("spare"),
        count("report"),
    );
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The memory's folder, locked for this sweep. Without one, the sweep goes on and remembers nothing.
struct Notebook {
    folder: StateFolder,
    lock: Option<Lock>,
}

impl Notebook {
    fn open(folder: StateFolder, dry_run: bool) -> anyhow::Result<Notebook> {
        match folder.lock() {
            Ok(lock) => Ok(Notebook { folder, lock: Some(lock) }),
            // Who signals nothing is in nobody's way, and leaves the remembering to the other.
            Err(LockError::Busy(_)) if dry_run => Ok(Notebook { folder, lock: None }),
            Err(busy @ LockError::Busy(_)) => Err(busy.into()),
            Err(error) => {
                tracing::warn!("{error}; this sweep goes on and remembers nothing");
                Ok(Notebook { folder, lock: None })
            }
        }
    }

    fn write(&mut self, memory: &Memory) {
        let Some(lock) = &self.lock else { return };
        if let Err(error) = self.folder.write(lock, memory) {
            tracing::warn!(
                "cannot write {}: {error}; this sweep goes on and remembers nothing",
                self.folder.file().display()
            );
            self.lock = None;
        }
    }
}

struct Sweeper<'a> {
    host: &'a Machine,
    settings: &'a Settings,
    notebook: Notebook,
}

impl Sweeper<'_> {
    /// The look that decided and what came of it; nothing when interrupted before any signal.
    async fn run(&mut self, dry_run: bool) -> anyhow::Result<Option<(Look, Vec<Reaped>)>> {
        let settings = self.settings;
        let mut interrupts = Interrupts::new().context("cannot listen for interrupts")?;
        let mut memory = self.notebook.folder.read(self.host.boot(), self.notebook.lock.as_ref());
        let mut first = self.look(&mut memory)?;
        if let Some(wait) = waits_for_confirmation(&first.plan, settings.policy.confirm.max(SAMPLE_APART)) {
            let waiting = first
                .plan
                .judgements
                .iter()
                .filter(|judgement| judgement.wait.is_some_and(|left| left <= wait));
            tracing::info!(
                "{} may be reaped after a second look, in {}",
                trees(waiting.count()),
                duration(wait)
            );
            tokio::select! {
                () = tokio::time::sleep(wait + Duration::from_millis(10)) => {}
                () = interrupts.next() => return Ok(None),
            }
            first = self.look(&mut memory)?;
        }
        let doomed = first.plan.to_reap().count();
        if dry_run || doomed == 0 {
            return Ok(Some((first, Vec::new())));
        }
        let browser = first
            .plan
            .to_reap()
            .any(|judgement| judgement.tree.members_of(MemberRole::Browser).next().is_some());
        let grace = if browser { settings.timing.browser_grace } else { settings.timing.grace };
        tracing::info!(
            "taking down {}; who ignores SIGTERM gets SIGKILL after {}",
            trees(doomed),
            duration(grace)
        );
        let rules = Rules { judging: judging(settings), timing: settings.timing };
        let reaped = {
            let (ask, halt) = watch::channel(Halt::GoOn);
            let claims = Claims::default();
            tokio::select! {
                reaped = sweep(self.host, rules, &memory, &first, &claims, halt) => reaped?,
                () = interrupts.pass_on(ask) => Vec::new(),
            }
        };
        for reaped in &reaped {
            reaped.remember(&mut memory, first.table.at.since_boot);
        }
        self.notebook.write(&memory);
        Ok(Some((first, reaped)))
    }

    fn look(&mut self, memory: &mut Memory) -> anyhow::Result<Look> {
        let settings = self.settings;
        let look = look(self.host, judging(settings), memory, Breadth::Orphans)?;
        *memory = look.remember(memory, &settings.catalog);
        self.notebook.write(memory);
        Ok(look)
    }
}

/// SIGINT and SIGTERM.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn new() -> std::io::Result<Interrupts> {
        Ok(Interrupts {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// The first interrupt lets running escalations finish; the second leaves at once. Never ends.
    async fn pass_on(&mut self, ask: watch::Sender<Halt>) {
        self.next().await;
        tracing::info!("finishing what has begun; interrupt once more to leave at once");
        ask.send_replace(Halt::BeginNothing);
        self.next().await;
        ask.send_replace(Halt::AtOnce);
        std::future::pending::<()>().await;
    }
}
