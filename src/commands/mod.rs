//! One file a verb, and what they share.

mod completions;
mod config;
mod discover;
mod explain;
mod install;
mod man;
mod record;
mod run;
mod scan;
mod status;
mod sweep;

use crate::cli::{Command, Global};
use crate::config::{ConfigError, Settings, Sources, load};
use crate::host::Machine;
use crate::look::Judging;
use crate::process::Observer;
use crate::recording::Recording;
use crate::state::{RuntimeFolder, StateFolder};
use anyhow::Context;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Exit status for usage and configuration errors.
const USAGE: u8 = 2;
/// Exit status when some tree could not be reaped.
const NOT_ALL_REAPED: u8 = 3;

/// Runs the verb.
pub fn run(global: &Global, command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Scan(options) => scan::run(global, options),
        Command::Explain(options) => explain::run(global, options),
        Command::Sweep(options) => sweep::run(global, options),
        Command::Record(options) => record::run(global, options),
        Command::Run(options) => run::run(global, options),
        Command::Status(options) => status::run(global, options),
        Command::Discover(options) => discover::run(global, options),
        Command::Config(options) => config::run(global, &options.verb),
        Command::Install(options) => install::run(global, options),
        Command::Uninstall(options) => install::uninstall(global, options),
        Command::Completions(options) => completions::run(options),
        Command::Man(_) => man::run(),
    }
}

/// Says an error on stderr and finds its exit status.
pub fn say_error(error: &anyhow::Error) -> ExitCode {
    // A reader that has seen enough (`orphand scan | head`) is no error.
    let broken_pipe = error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    });
    if broken_pipe {
        return ExitCode::SUCCESS;
    }
    let bad_configuration = error.downcast_ref::<ConfigError>().is_some();
    let text = if bad_configuration { error.to_string() } else { format!("{error:#}") };
    for line in text.lines() {
        say(line);
    }
    ExitCode::from(if bad_configuration { USAGE } else { 1 })
}

/// A remark on stderr. Where nobody can be told, nothing is lost.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "orphand: {}", crate::redact::printable(text));
}

fn open_host() -> anyhow::Result<Machine> {
    Ok(Machine::new()?)
}

/// A recorded table, with what was remembered when it was taken.
fn read_recording(path: &Path) -> anyhow::Result<Recording> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Recording::parse(&text).with_context(|| path.display().to_string())
}

fn settings(global: &Global, observer: &Observer) -> Result<Settings, ConfigError> {
    let sources = Sources::usual(observer, global.config.clone(), global.set.clone());
    load(&sources)
}

fn judging(settings: &Settings) -> Judging<'_> {
    Judging { catalog: &settings.catalog, policy: &settings.policy }
}

fn state_folder(settings: &Settings, observer: &Observer) -> StateFolder {
    settings
        .state_directory
        .clone()
        .map_or_else(|| StateFolder::usual(observer), |folder| StateFolder::at(folder, observer))
}

fn runtime_folder(settings: &Settings, observer: &Observer) -> RuntimeFolder {
    settings
        .runtime_directory
        .clone()
        .map_or_else(|| RuntimeFolder::usual(observer), |folder| RuntimeFolder::at(folder, observer))
}

/// The time of a look for people and programs: RFC 3339, UTC, whole seconds.
fn taken_at() -> String {
    crate::words::stamp(jiff::Timestamp::now())
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to stdout")
}

fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value).context("cannot write JSON")?;
    text.push('\n');
    print(&text)
}
