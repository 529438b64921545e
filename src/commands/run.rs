//! `orphand run`: the daemon.

use super::{open_host, runtime_folder, settings, state_folder};
use crate::cli::{Global, Run};
use crate::config::Settings;
use crate::control::{Request, ask};
use crate::daemon::{self, Notebook, Notify, Post, PostError, Reload, Setup};
use crate::host::Host;
use crate::host::{allow_many_open_files, keep_files_private, keep_memory_small};
use crate::process::Observer;
use crate::state::{Lock, LockError, MACHINE, StateFolder};
use anyhow::{Context, bail};
use sd_notify::NotifyState;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A sweep by hand that is going on may take so long: two looks and a grace period.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the post is tried for.
const TRIES: usize = 3;
/// How often the lock is tried meanwhile.
const AGAIN: Duration = Duration::from_millis(200);

pub(super) fn run(global: &Global, _: &Run) -> anyhow::Result<ExitCode> {
    let host = Arc::new(open_host()?.unhurried());
    let settings = settings(global, host.observer())?;
    allow_many_open_files()?;
    keep_files_private();
    keep_memory_small();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the event loop")?;
    let post = {
        let _inside = runtime.enter();
        take_post(&settings, host.observer())?
    };
    if !host.observer().machine && Path::new(MACHINE).exists() {
        tracing::warn!(
            "there seems to be an orphand for the whole machine as well; it looks after your processes too, and one of the two is enough"
        );
    }
    let folder = state_folder(&settings, host.observer());
    let lock = lock_memory(&folder)?;
    let memory = folder.read(host.boot(), lock.as_ref().ok());
    let manager = ServiceManager::new().context("cannot start a thread")?;
    let (again, observer) = (global.clone(), host.observer().clone());
    let reload: Reload = Arc::new(move || super::settings(&again, &observer));
    let setup = Setup {
        host,
        settings,
        reload,
        memory,
        notebook: Notebook::new(folder, lock),
        post,
        notify: manager.notify(),
        watchdog: sd_notify::watchdog_enabled(),
        on_terminal: std::io::stderr().is_terminal(),
    };
    let ended = runtime.block_on(daemon::run(setup));
    // A look that hangs in the kernel must not hold up the end.
    runtime.shutdown_background();
    manager.finish();
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// There is one daemon a scope: a second would see the same orphans.
fn take_post(settings: &Settings, observer: &Observer) -> anyhow::Result<Post> {
    let folder = || runtime_folder(settings, observer);
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match Post::take(folder(), observer) {
            Ok(post) => return Ok(post),
            // A sweep by hand may just be looking whether there is a daemon.
            Err(PostError::Lock(LockError::Busy(_))) if tries > 0 => std::thread::sleep(AGAIN),
            Err(PostError::Lock(LockError::Busy(_))) => {
                let other = ask(&folder().socket(), Request::Status).ok().flatten();
                let who = other.and_then(|status| status["pid"].as_i64());
                let who = who.map_or(String::new(), |pid| format!(" as process {pid}"));
                bail!("orphand is already running{who}; `orphand status` shows what it does")
            }
            Err(PostError::Lock(LockError::Unusable { place, error })) => {
                let place = place.display();
                bail!("cannot use {place}: {error}; another place can be set with state.runtime_directory")
            }
            Err(error) => return Err(error.into()),
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

/// Tells the service manager from a thread of its own: one that does not listen must not stop the loop. What it has no room
/// for is dropped; a sign of life comes again.
struct ServiceManager {
    notices: SyncSender<String>,
    teller: JoinHandle<()>,
}

/// So many notices may wait.
const MOST_NOTICES: usize = 64;

impl ServiceManager {
    fn new() -> std::io::Result<ServiceManager> {
        let (notices, waiting) = sync_channel::<String>(MOST_NOTICES);
        let tell = move || {
            for notice in waiting {
                if let Err(error) = sd_notify::notify(&[NotifyState::Custom(&notice)]) {
                    tracing::debug!("cannot tell the service manager: {error}");
                }
            }
        };
        let teller = std::thread::Builder::new().name("notify".to_owned()).spawn(tell)?;
        Ok(ServiceManager { notices, teller })
    }

    fn notify(&self) -> Notify {
        let notices = self.notices.clone();
        Box::new(move |states| {
            let lines: Vec<String> = states.iter().map(ToString::to_string).collect();
            let _ = notices.try_send(lines.join("\n"));
        })
    }

    /// Waits, but not for long, until everything was told.
    fn finish(self) {
        drop(self.notices);
        let until = Instant::now() + Duration::from_secs(1);
        while !self.teller.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
