//! Parse, dispatch, exit code.

use clap::Parser;
use orphand::cli::{Cli, Color, Command};
use orphand::{commands, logging};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; clap knows.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let global = cli.global();
    match global.color.unwrap_or(Color::Auto) {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    logging::start(&global.log, matches!(cli.command, Command::Run(_)));
    let ended = commands::run(&global, &cli.command);
    logging::flush();
    match ended {
        Ok(code) => code,
        Err(error) => commands::say_error(&error),
    }
}
