//! Parse, dispatch, exit code.

use clap::Parser;
use orphand::cli::{Cli, Color, Level};
use orphand::commands;
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
    log_to_stderr(global.log.unwrap_or(Level::Info));
    match commands::run(&global, &cli.command) {
        Ok(code) => code,
        Err(error) => commands::say_error(&error),
    }
}

fn log_to_stderr(level: Level) {
    let level = match level {
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
        Level::Debug => tracing::Level::DEBUG,
        Level::Trace => tracing::Level::TRACE,
    };
    let plain = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_target(false);
    plain.with_max_level(level).init();
}
