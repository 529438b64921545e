//! `orphand status`: asks the running daemon how it is.

use super::{open_host, print, print_json, runtime_folder, settings};
use crate::cli::{Global, Status as Options};
use crate::config::{ConfigError, Sources, load};
use crate::control::{Request, ask};
use crate::host::Host;
use crate::process::Observer;
use crate::report::status_text;
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
    let Some(answer) = answer else {
        if options.json {
            print_json(&json!({ "schema": 1, "running": false }))?;
        } else {
            print(&not_running(host.observer().machine))?;
        }
        return Ok(ExitCode::FAILURE);
    };
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

fn not_running(machine: bool) -> String {
    if machine {
        return "orphand is not running for this machine. `orphand install` has it started, `orphand run` runs it here.\n".to_owned();
    }
    let mut text =
        "orphand is not running for you. `orphand install` has it started, `orphand run` runs it here.\n"
            .to_owned();
    if Path::new("/run/orphand").exists() {
        text += "There may be one for the whole machine: `sudo orphand status` shows it.\n";
    }
    text
}
