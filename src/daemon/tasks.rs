//! What takes long and happens beside the loop: looks, sweeps, writing.

use super::notebook::Writing;
use super::schedule::Because;
use crate::config::{ConfigError, Mode, Settings};
use crate::host::{Host, HostError};
use crate::look::{Familiar, Judging, Look, look_again};
use crate::memory::Memory;
use crate::process::ProcessId;
use crate::report::{View, sweep_json};
use crate::sweep::{self, Claims, Halt, Reaped, Rules};
use crate::words::stamp;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What came of it.
pub(super) enum Done {
    Looked(Box<Looked>),
    Swept(Swept),
    Reloaded(Box<Result<Settings, ConfigError>>),
    Wrote(Arc<Memory>, io::Result<()>),
}

/// A look that is to be taken.
pub(super) struct LookOrder<H> {
    pub(super) host: Arc<H>,
    pub(super) settings: Arc<Settings>,
    pub(super) generation: u64,
    pub(super) memory: Arc<Memory>,
    pub(super) familiar: Familiar,
    pub(super) because: Because,
    /// Whether somebody waits for what it shows.
    pub(super) is_asked_for: bool,
}

/// A look, and what it was taken with.
pub(super) struct Looked {
    pub(super) result: Result<Look, HostError>,
    pub(super) settings: Arc<Settings>,
    pub(super) generation: u64,
    pub(super) familiar: Familiar,
    pub(super) because: Because,
    /// What it shows, for whoever asked.
    pub(super) shown: Option<Value>,
}

pub(super) fn look<H: Host>(order: LookOrder<H>) -> Done {
    let LookOrder { host, settings, generation, memory, mut familiar, because, is_asked_for } = order;
    let judging = Judging { catalog: &settings.catalog, policy: &settings.policy };
    let result = look_again(&*host, judging, &memory, &mut familiar);
    // Here, as finding the names of users may take long on some machines.
    let shown = result.as_ref().ok().filter(|_| is_asked_for).map(|look| {
        let view = View { look, catalog: &settings.catalog, all: false };
        let (signals, now) = (host.guarantee().word(), stamp(Timestamp::now()));
        let sweep = sweep_json(view, &[], settings.mode == Mode::Observe, signals, &now);
        json!({ "pid": host.observer().pid, "sweep": sweep })
    });
    Done::Looked(Box::new(Looked { result, settings, generation, familiar, because, shown }))
}

/// A look whose condemned trees are to be taken down.
pub(super) struct SweepOrder<H> {
    pub(super) host: Arc<H>,
    pub(super) settings: Arc<Settings>,
    pub(super) memory: Arc<Memory>,
    pub(super) look: Look,
    /// How many trees that is.
    pub(super) trees: usize,
    pub(super) claims: Claims,
    pub(super) halt: watch::Receiver<Halt>,
}

/// What came of the trees, each with its root.
pub(super) struct Swept {
    pub(super) result: io::Result<Vec<(Reaped, Option<ProcessId>)>>,
    /// When the look was taken.
    pub(super) since_boot: Duration,
    /// How many trees were to be taken down.
    pub(super) trees: usize,
    /// Whether it was told to leave everything as it is.
    pub(super) was_left: bool,
}

/// A sweep has an event loop of its own: its looks hold up nobody but itself.
pub(super) fn sweep<H: Host>(order: SweepOrder<H>) -> Done
where
    H::Pin: 'static,
{
    let SweepOrder { host, settings, memory, look, trees, claims, halt } = order;
    let since_boot = look.table.at.since_boot;
    let judging = Judging { catalog: &settings.catalog, policy: &settings.policy };
    let rules = Rules { judging, timing: settings.timing };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let result = runtime.and_then(|runtime| {
        let reaped = runtime.block_on(sweep::sweep(&*host, rules, &memory, &look, &claims, halt.clone()));
        reaped.map_err(io::Error::other)
    });
    let with_root = |reaped: Reaped| {
        let root = look.table.get(reaped.judgement.tree.root).map(|root| root.id);
        (reaped, root)
    };
    let result = result.map(|reaped| reaped.into_iter().map(with_root).collect());
    Done::Swept(Swept { result, since_boot, trees, was_left: *halt.borrow() == Halt::AtOnce })
}

pub(super) fn write(writing: Writing) -> Done {
    let (memory, result) = writing.run();
    Done::Wrote(memory, result)
}
