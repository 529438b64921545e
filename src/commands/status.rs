//! `orphand status`: asks the running daemon how it is.

use super::{open_host, print, print_json, runtime_folder, settings};
use crate::cli::{Global, Status as Options};
use crate::config::{ConfigError, Sources, load};
use crate::control::{Request, ask};
use crate::host::Host;
use crate::install::systemd::Standing;
use crate::install::{Hands, Scope};
use crate::process::Observer;
use crate::report::status_text;
use crate::state::MACHINE;
use crate::status::Status;
use anyhow::Context;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Options) -> anyhow::Result<ExitCode> {
    let host = open_host()?;
    let socket = socket(global, host.observer())?;
    let answer = ask(&socket, Request::Status)
        .with_context(|| format!("cannot ask the daemon at {}", socket.display()))?;
    let Some(answer) = answer else { return tell_without_daemon(host.observer(), &socket, options.json) };
    if options.json {
        print_json(&answer)?;
    } else {
        let status: Status = serde_json::from_value(answer).context("the daemon's answer makes no sense")?;
        print(&status_text(&status))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the daemon answers. A configuration that has become wrong is no reason not to ask: the daemon has kept the one
/// before.
fn socket(global: &Global, observer: &Observer) -> Result<PathBuf, ConfigError> {
    let settings = match settings(global, observer) {
        Ok(settings) => settings,
        Err(error) => {
            tracing::warn!(
                "the configuration is wrong (`orphand config check` says more); asking in the usual place"
            );
            let only_options = Sources { set: global.set.clone(), ..Sources::default() };
            load(&only_options).map_err(|_| error)?
        }
    };
    Ok(runtime_folder(&settings, observer).socket())
}

/// What there is instead of a daemon: a timer that sweeps, a service that is down, or nothing.
fn tell_without_daemon(observer: &Observer, socket: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let (scope, user) = if observer.machine { (Scope::Machine, "") } else { (Scope::User, "--user ") };
    let standing = Standing::ask(scope, &Hands::of(scope, observer.uid));
    let sweeps = matches!(standing, Some(Standing::Sweeps(_)));
    if as_json {
        print_json(&json!({ "schema": 1, "running": false, "timer": sweeps }))?;
        return Ok(if sweeps { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let whose = if observer.machine { "for this machine" } else { "for you" };
    let text = match standing {
        Some(Standing::Sweeps(when)) => format!(
            "orphand sweeps {whose} every five minutes (orphand-sweep.timer): {when}.\n\
             `journalctl {user}-u orphand-sweep.service` shows what it did.\n"
        ),
        Some(Standing::Up(state)) => format!(
            "orphand.service is {state} {whose}, but does not answer at {}. Was it installed with other options, or is it just \
             beginning?\n",
            socket.display()
        ),
        Some(Standing::Down(state)) => format!(
            "orphand is not running {whose}: orphand.service is {state}. `journalctl {user}-u orphand.service -n 20` may say why; \
             `systemctl {user}restart orphand.service` starts it again.\n"
        ),
        None if !observer.machine && Path::new(MACHINE).exists() => {
            "There is an orphand for the whole machine, which looks after your processes too: `sudo orphand status` shows it. \
             None is running for you alone.\n"
                .to_owned()
        }
        None => format!("orphand is not running {whose}. `orphand install` has it started, `orphand run` runs it here.\n"),
    };
    print(&text)?;
    Ok(if sweeps { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
