//! `orphand completions`: made from the command line's definition.

use super::print;
use crate::cli::{Cli, Completions};
use clap::CommandFactory;
use std::process::ExitCode;

pub(super) fn run(options: &Completions) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "orphand", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
