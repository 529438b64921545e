//! `orphand run`: the daemon.

use super::{open_host, runtime_folder, settings, state_folder};
use crate::cli::{Global, Run};
use crate::control::{Request, Server, ask};
use crate::daemon::{self, Notebook, Reload, Setup};
use crate::host::Host;
use crate::host::linux::{allow_many_open_files, keep_files_private, keep_memory_small};
use crate::state::{Lock, LockError, RuntimeFolder, StateFolder};
use anyhow::{Context, bail};
use sd_notify::NotifyState;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A sweep by hand that is going on may take so long: two looks and a grace period.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the lock is tried meanwhile.
const AGAIN: Duration = Duration::from_millis(200);

pub(super) fn run(global: &Global, _: &Run) -> anyhow::Result<ExitCode> {
    let host = Arc::new(open_host()?.unhurried());
    let settings = settings(global, host.observer())?;
    allow_many_open_files()?;
    keep_files_private();
    keep_memory_small();
    let runtime_folder = runtime_folder(&settings, host.observer());
    let _alone = be_the_only_one(&runtime_folder)?;
    let folder = state_folder(&settings, host.observer());
    let lock = lock_memory(&folder)?;
    let memory = folder.read(host.boot(), lock.as_ref().ok());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the event loop")?;
    let socket = runtime_folder.socket();
    let server = {
        let _inside = runtime.enter();
        Server::listen(&socket, host.observer().uid)
            .with_context(|| format!("cannot listen on {}", socket.display()))?
    };
    let (again, observer) = (global.clone(), host.observer().clone());
    let reload: Reload = Arc::new(move || super::settings(&again, &observer));
    let setup = Setup {
        host,
        settings,
        reload,
        memory,
        notebook: Notebook::new(folder, lock),
        server,
        notify: Box::new(tell_service_manager),
        watchdog: sd_notify::watchdog_enabled(),
        on_terminal: std::io::stderr().is_terminal(),
    };
    let ended = runtime.block_on(daemon::run(setup));
    // A look that hangs in the kernel must not hold up the end.
    runtime.shutdown_background();
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// There is one daemon a scope: a second would see the same orphans.
fn be_the_only_one(folder: &RuntimeFolder) -> anyhow::Result<Lock> {
    match folder.lock() {
        Ok(lock) => Ok(lock),
        Err(LockError::Busy(_)) => {
            let other = ask(&folder.socket(), Request::Status).ok().flatten();
            let who = other.and_then(|status| status["pid"].as_i64());
            let who = who.map_or(String::new(), |pid| format!(" as process {pid}"));
            bail!("orphand is already running{who}; `orphand status` shows what it does")
        }
        Err(LockError::Unusable { place, error }) => {
            let place = place.display();
            bail!("cannot use {place}: {error}; another place can be set with state.runtime_directory")
        }
    }
}

/// The memory's lock. Waits for a sweep by hand that has it; where nothing can be remembered at all, the reason.
fn lock_memory(folder: &StateFolder) -> anyhow::Result<Result<Lock, String>> {
    let until = Instant::now() + PATIENCE;
    let mut said = false;
    loop {
        match folder.lock() {
            Ok(lock) => return Ok(Ok(lock)),
            Err(LockError::Busy(place)) if Instant::now() >= until => {
                bail!("another orphand has held {} for a minute", place.display());
            }
            Err(busy @ LockError::Busy(_)) => {
                if !std::mem::replace(&mut said, true) {
                    tracing::info!("{busy}; waiting for it");
                }
                std::thread::sleep(AGAIN);
            }
            Err(error) => {
                tracing::warn!("{error}; orphand goes on and would have to learn anew after a restart");
                return Ok(Err(error.to_string()));
            }
        }
    }
}

fn tell_service_manager(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("cannot tell the service manager: {error}");
    }
}
