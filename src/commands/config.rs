//! `orphand config`: show, check, default.

use super::{open_host, print, say, settings};
use crate::cli::{Config, Global};
use crate::config::{DEFAULT, warnings};
use crate::host::Host;
use crate::redact::printable;
use std::fmt::Write;
use std::process::ExitCode;

pub(super) fn run(global: &Global, verb: &Config) -> anyhow::Result<ExitCode> {
    if matches!(verb, Config::Default(_)) {
        print(DEFAULT)?;
        return Ok(ExitCode::SUCCESS);
    }
    let host = open_host()?;
    let settings = settings(global, host.observer())?;
    let mut out = String::new();
    match verb {
        Config::Show(_) => {
            for shown in &settings.shown {
                let assignment = format!("{} = {}", shown.key, shown.value);
                let _ = writeln!(
                    out,
                    "{:<40} # {}",
                    printable(&assignment),
                    printable(&shown.origin.to_string())
                );
            }
            for (kind, name, origin) in &settings.own {
                let entry = format!("[[{kind}]] \"{name}\"");
                let _ = writeln!(out, "{:<40} # {}", printable(&entry), printable(&origin.to_string()));
            }
        }
        _ => {
            let own = match settings.own.len() {
                0 => "nothing of your own",
                1 => "one pattern or rule of your own",
                _ => "patterns and rules of your own",
            };
            let doubts = warnings(&settings);
            for doubt in &doubts {
                say(&format!("warning: {doubt}"));
            }
            let but = match doubts.len() {
                0 => String::new(),
                1 => ", but for one warning".to_owned(),
                many => format!(", but for {many} warnings"),
            };
            let _ = writeln!(out, "The configuration is good{but}. It has {own}.");
        }
    }
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}
