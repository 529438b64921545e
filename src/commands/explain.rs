//! `orphand explain`: everything known about one tree, or what a pasted command line would be.

use super::{judging, open_host, print, print_json, read_recording, settings, state_folder, taken_at};
use crate::catalog::{Catalog, Classified, Role};
use crate::cli::{Explain, Global};
use crate::config::Settings;
use crate::host::Host;
use crate::host::replay::Replay;
use crate::invocation::Invocation;
use crate::look::{Breadth, Look, look};
use crate::memory::Memory;
use crate::process::{Pid, State};
use crate::redact::{command_line, printable};
use crate::report::{View, command_json, explain_json, explain_text, no_tree_json, user_name};
use anyhow::bail;
use std::fmt::Write;
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Explain) -> anyhow::Result<ExitCode> {
    if let Some(path) = &options.replay {
        let recording = read_recording(path)?;
        let host = Replay::new(recording.table);
        let settings = settings(global, host.observer())?;
        return explain_pid(&host, &settings, &recording.memory, options, &recording.taken_at);
    }
    let host = open_host()?;
    let settings = settings(global, host.observer())?;
    if let Some(line) = &options.command {
        return explain_command(&settings.catalog, line, options.json);
    }
    let memory = state_folder(&settings, host.observer()).read(host.boot(), None);
    explain_pid(&host, &settings, &memory, options, &taken_at())
}

fn explain_pid<H: Host>(
    host: &H,
    settings: &Settings,
    memory: &Memory,
    options: &Explain,
    taken_at: &str,
) -> anyhow::Result<ExitCode> {
    let Some(pid) = options.pid.and_then(Pid::new) else { bail!("give a process number or --command") };
    let look = look(host, judging(settings), memory, Breadth::Everything)?;
    let view = View { look: &look, catalog: &settings.catalog, all: true };
    let Some(judgement) = look.plan.of_member(pid) else {
        let text = no_tree(&look, &settings.catalog, pid)?;
        if options.json {
            print_json(&no_tree_json(&text, taken_at))?;
        } else {
            print(&text)?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    if options.json {
        print_json(&explain_json(view, judgement, taken_at))?;
    } else {
        print(&explain_text(view, judgement, pid))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why a process belongs to no tree.
fn no_tree(look: &Look, catalog: &Catalog, pid: Pid) -> anyhow::Result<String> {
    let Some(process) = look.table.get(pid) else { bail!("there is no process {pid}") };
    if process.kernel {
        return Ok(format!("{pid} is a thread of the kernel. orphand never touches it.\n"));
    }
    let what = look.roles.get(pid).map_or("no pattern names it".to_owned(), |named| {
        format!("it is a {}, {}", role_word(named.role), printable(&catalog.display_name(named)))
    });
    let observer = &look.table.observer;
    let others =
        process.details.users.known().filter(|users| !observer.machine && users.real != observer.uid);
    if let Some(users) = others {
        let owner = user_name(users.real);
        let who = if users.real == 0 { owner.clone() } else { format!("{owner} or root") };
        return Ok(format!(
            "{pid} belongs to {owner}: {what}. You see and reap your own trees only; {who} may ask.\n"
        ));
    }
    if process.state == State::Zombie {
        return Ok(format!(
            "{pid} has ended; its parent has not asked how. There is nothing left to take down.\n"
        ));
    }
    Ok(format!(
        "{pid} {}\nIt belongs to no MCP server tree: {what}. orphand does not touch it.\n",
        command_line(process.arguments())
    ))
}

fn explain_command(catalog: &Catalog, line: &str, json: bool) -> anyhow::Result<ExitCode> {
    let Some(invocation) = Invocation::of_line(line) else {
        bail!("--command is empty; paste a command line")
    };
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let named = catalog.classify_invocation(invocation.clone(), &words);
    if json {
        print_json(&command_json(catalog, named.as_ref(), Some(&invocation)))?;
    } else {
        print(&command_text(catalog, named.as_ref(), &invocation))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn command_text(catalog: &Catalog, named: Option<&Classified>, invocation: &Invocation) -> String {
    let mut out = String::new();
    let pattern = named.and_then(|named| named.pattern).map(|index| catalog.pattern(index));
    let _ = match named {
        Some(named) => {
            writeln!(out, "{}: {}", role_word(named.role), printable(&catalog.display_name(named)))
        }
        None => writeln!(out, "nothing that orphand knows"),
    };
    if let Some(pattern) = pattern {
        let strength = format!("{:?}", pattern.strength).to_lowercase();
        let _ = writeln!(out, "  named by pattern \"{}\" ({strength})", printable(&pattern.name));
    }
    let target = command_line(std::slice::from_ref(&invocation.target));
    let kind = format!("{:?}", invocation.kind).to_lowercase();
    let _ = writeln!(out, "  runs {kind} {target}");
    if !invocation.through.is_empty() {
        let _ = writeln!(out, "  through {}", printable(&invocation.through.join(" -> ")));
    }
    if let Some(form) = invocation.network_form() {
        let _ = writeln!(
            out,
            "  a network server or daemon (`{}`): never reaped for its stdin",
            printable(&form)
        );
    }
    out
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::Server => "server",
        Role::Launcher => "launcher",
        Role::Client => "client",
        Role::Host => "host",
        Role::Browser => "browser",
        Role::Helper => "helper",
        Role::Adopter => "adopter",
    }
}
