//! What `discover` found. Of a client's configuration only names and places are shown, never arguments or environments.

use crate::discover::{Derived, Discovery, Entries, Server, in_home};
use crate::redact::printable;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Names longer than this push what stands behind them to the right.
const WIDEST_NAME: usize = 28;

/// A table by client, file and server. `written` is what stands in `discovered.toml`.
pub fn discovered_text(found: &Discovery, home: &Path, written: &Entries) -> String {
    let mut out = String::new();
    let mut groups: BTreeMap<(&str, Option<&Path>, &Path), Vec<&Server>> = BTreeMap::new();
    for server in &found.servers {
        let group = (server.client.as_str(), server.project.as_deref(), server.file.as_path());
        groups.entry(group).or_default().push(server);
    }
    let width = found.servers.iter().map(|server| title(server).chars().count()).max().unwrap_or(0);
    let width = width.min(WIDEST_NAME);
    for ((client, project, file), servers) in groups {
        let project = project.filter(|project| !file.starts_with(project));
        let of = project.map_or(String::new(), |project| format!(" for {}", in_home(project, home)));
        let _ = writeln!(out, "{client}  {}", printable(&format!("{}{of}", in_home(file, home))));
        for server in servers {
            let (first, rest) = says(server, written);
            let _ = writeln!(out, "  {:<width$}  {}", title(server), printable(&first));
            for line in rest {
                let _ = writeln!(out, "  {:<width$}  {}", "", printable(&line));
            }
        }
    }
    out.push_str(&totals(found, written));
    out
}

fn title(server: &Server) -> String {
    let disabled = if server.disabled { " (disabled)" } else { "" };
    printable(&format!("{}{disabled}", server.name))
}

/// What is said of a server: the command lines that it is recognised by, and how far that is known.
fn says(server: &Server, written: &Entries) -> (String, Vec<String>) {
    match &server.derived {
        None => ("remote, nothing to reap".to_owned(), Vec::new()),
        Some(Derived::LeftOut(why)) => (format!("left out: {why}"), Vec::new()),
        Some(Derived::Named { lines, .. }) => {
            let state = match state(server, written) {
                State::Known(name) => format!("known as {name}"),
                State::Written => "written".to_owned(),
                State::New => "new".to_owned(),
            };
            let first = lines.first().cloned().unwrap_or_else(|| "this very command line".to_owned());
            (format!("{first}  ({state})"), lines.iter().skip(1).cloned().collect())
        }
    }
}

enum State<'a> {
    Known(&'a str),
    Written,
    New,
}

fn state<'a>(server: &'a Server, written: &Entries) -> State<'a> {
    match &server.derived {
        Some(Derived::Named { known: Some(known), .. }) => State::Known(known),
        Some(Derived::Named { pattern, .. }) if pattern.is_in(written) => State::Written,
        _ => State::New,
    }
}

fn totals(found: &Discovery, written: &Entries) -> String {
    let clients: BTreeSet<&str> = found.servers.iter().map(|server| server.client.as_str()).collect();
    let count =
        |wanted: &dyn Fn(&Server) -> bool| found.servers.iter().filter(|server| wanted(server)).count();
    let named = |server: &Server| matches!(server.derived, Some(Derived::Named { .. }));
    let parts = [
        (
            count(&|server| named(server) && matches!(state(server, written), State::Known(_))),
            "known already",
        ),
        (count(&|server| named(server) && matches!(state(server, written), State::Written)), "written"),
        (count(&|server| named(server) && matches!(state(server, written), State::New)), "new"),
        (count(&|server| server.derived.is_none()), "remote"),
        (count(&|server| matches!(server.derived, Some(Derived::LeftOut(_)))), "left out"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (files, servers) = (plural(found.read.len(), "file"), plural(found.servers.len(), "server"));
    match found.servers.len() {
        0 if found.read.is_empty() && !found.warnings.is_empty() => "No file could be used.\n".to_owned(),
        0 if found.read.is_empty() => {
            "None of the files was found in which the clients that orphand knows keep their servers.\n"
                .to_owned()
        }
        0 => format!("{files} of clients read; no MCP server is configured in them.\n"),
        _ => format!("{servers} of {}: {}.\n", plural(clients.len(), "client"), parts.join(", ")),
    }
}

/// The same for programs. `written_to` is the file, once it is written.
pub fn discovered_json(found: &Discovery, written: &Entries, written_to: Option<&Path>) -> Value {
    let servers: Vec<Value> = found.servers.iter().map(|server| server_json(server, written)).collect();
    let warnings: Vec<Value> = (found.warnings.iter())
        .map(|(file, text)| json!({ "file": file.display().to_string(), "text": text }))
        .collect();
    json!({
        "schema": 1,
        "servers": servers,
        "copies": found.copies(),
        "warnings": warnings,
        "written": written_to.map(|path| path.display().to_string()),
    })
}

fn server_json(server: &Server, written: &Entries) -> Value {
    let (mut state_word, mut known, mut pattern, mut lines, mut why) = ("remote", None, None, None, None);
    match &server.derived {
        None => {}
        Some(Derived::LeftOut(text)) => {
            state_word = "left-out";
            why = Some(text);
        }
        Some(Derived::Named { pattern: named, lines: shown, .. }) => {
            state_word = match state(server, written) {
                State::Known(name) => {
                    known = Some(name);
                    "known"
                }
                State::Written => "written",
                State::New => "new",
            };
            pattern = Some(
                named
                    .keys
                    .iter()
                    .map(|(key, word)| ((*key).to_owned(), json!(word)))
                    .collect::<serde_json::Map<_, _>>(),
            );
            lines = Some(shown);
        }
    }
    json!({
        "client": server.client,
        "server": server.name,
        "file": server.file.display().to_string(),
        "project": server.project.as_ref().map(|path| path.display().to_string()),
        "disabled": server.disabled,
        "state": state_word,
        "known": known,
        "pattern": pattern,
        "command_lines": lines,
        "left_out": why,
    })
}
