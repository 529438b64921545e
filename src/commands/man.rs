//! `orphand man`: one page, made from the command line's definition.

use super::print;
use crate::cli::Cli;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use std::process::ExitCode;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    print(&String::from_utf8_lossy(&page()?))?;
    Ok(ExitCode::SUCCESS)
}

fn page() -> std::io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let everywhere: Vec<String> = command.get_arguments().map(|option| option.get_id().to_string()).collect();
    let page = Man::new(command.clone()).manual("User Commands");
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    Roff::new().control("SH", ["COMMANDS"]).to_writer(&mut out)?;
    for verb in command.get_subcommands() {
        let below: Vec<&Command> = verb.get_subcommands().collect();
        for verb in if below.is_empty() { vec![verb] } else { below } {
            render_verb(verb, &everywhere, &mut out)?;
        }
    }
    page.render_options_section(&mut out)?;
    exit_status_and_files(&command).to_writer(&mut out)?;
    Ok(out)
}

/// One verb: how it is called, what it does, and the options that only it has.
fn render_verb(verb: &Command, everywhere: &[String], out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut own = verb.clone();
    for option in everywhere {
        own = own.mut_args(|arg| if arg.get_id() == option.as_str() { arg.hide(true) } else { arg });
    }
    let usage = own.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let about = verb.get_long_about().or(verb.get_about()).map(ToString::to_string).unwrap_or_default();
    let mut roff = Roff::new();
    roff.control("SS", [usage]);
    for paragraph in about.split("\n\n").chain(verb.get_after_help().map(ToString::to_string).as_deref()) {
        roff.control("PP", []).text([roman(paragraph)]);
    }
    roff.to_writer(out)?;
    let mut options = Vec::new();
    Man::new(own).render_options_section(&mut options)?;
    // The heading would begin a section of its own.
    let options = String::from_utf8_lossy(&options);
    let below = options
        .lines()
        .filter(|line| !line.starts_with(".SH") && !line.starts_with(".ie") && !line.starts_with(".el"));
    for line in below {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    Ok(())
}

const FILES: [(&str, &str); 5] = [
    ("/etc/orphand/config.toml, /etc/orphand/conf.d/*.toml", "The machine's configuration."),
    ("$XDG_CONFIG_HOME/orphand/config.toml", "A user's configuration, with conf.d beside it."),
    ("/var/lib/orphand, $XDG_STATE_HOME/orphand", "What orphand remembers between looks."),
    ("/run/orphand, $XDG_RUNTIME_DIR/orphand", "Where the running daemon answers."),
    ("/usr/share/doc/orphand", "How it decides, configuration, security."),
];

fn exit_status_and_files(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let status = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    roff.control("SH", ["EXIT STATUS"]).text([roman(status.trim_start_matches("Exit status: "))]);
    roff.control("SH", ["FILES"]);
    for (path, what) in FILES {
        roff.control("TP", []).text([bold(path)]).text(vec![Inline::Roman(what.to_owned())]);
    }
    roff.control("SH", ["SEE ALSO"])
        .text([roman("ps(1), kill(1), systemctl(1), systemd.service(5), proc(5)")]);
    roff
}
