//! `conf.d/discovered.toml`: made anew each time, never over something that a person wrote.

use super::{Derived, Discovery, Server};
use crate::redact::printable;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// How the file begins. Behind it stand a digest of what follows the first line.
const MARK: &str = "# orphand discover: ";

/// What stands where the file would be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Existing {
    /// What `discover` wrote, as it wrote it.
    Ours,
    /// What `discover` wrote, and a person changed.
    Changed,
    /// Something else.
    Foreign,
}

impl Existing {
    /// Of a file's text.
    pub fn of(text: &str) -> Existing {
        let Some((first, rest)) = text.split_once('\n') else { return Existing::Foreign };
        match first.strip_prefix(MARK) {
            None => Existing::Foreign,
            Some(written) if written == digest(rest) => Existing::Ours,
            Some(_) => Existing::Changed,
        }
    }
}

/// FNV-1a: the same in every version of orphand. It notices edits, and guards nothing.
fn digest(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The file's text. `copies` is written where the configuration would call servers copies that the clients mean to have. `earlier`
/// is what stands there now: where nothing but the day has changed it stays as it is.
pub fn text(
    found: &Discovery,
    home: &Path,
    copies: Option<usize>,
    day: &str,
    earlier: Option<&str>,
) -> String {
    let with = |day: &str| {
        let rest = rest(found, home, copies, day);
        format!("{MARK}{}\n{rest}", digest(&rest))
    };
    let earlier_day =
        earlier.and_then(|text| text.lines().find_map(|line| line.strip_prefix(DAY))).map(str::to_owned);
    match earlier_day.map(|day| with(&day)) {
        Some(same) if Some(same.as_str()) == earlier => same,
        _ => with(day),
    }
}

const DAY: &str = "# From the clients' own configuration files, as they were on ";

fn rest(found: &Discovery, home: &Path, copies: Option<usize>, day: &str) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{DAY}{day}");
    out.push_str(
        "# `orphand discover --write` writes it anew. Patterns of your own belong into another file: where this one was changed, it is\n\
         # left alone.\n",
    );
    if let Some(copies) = copies {
        let _ = write!(
            out,
            "\n# So many equal servers are configured for one client.\n[live]\ncopies = {copies}\n"
        );
    }
    for (pattern, servers) in found.new_patterns() {
        out.push('\n');
        for source in sources(&servers, home) {
            let _ = writeln!(out, "# {source}");
        }
        out.push_str(&pattern.entry(&servers[0].name));
    }
    let known: BTreeSet<String> = (found.servers.iter())
        .filter_map(|server| match &server.derived {
            Some(Derived::Named { known: Some(known), .. }) => {
                Some(format!("{} (\"{known}\")", source(server, home)))
            }
            _ => None,
        })
        .collect();
    if !known.is_empty() {
        out.push_str("\n# Known without this file, by the pattern in brackets:\n");
        for line in known {
            let _ = writeln!(out, "# {line}");
        }
    }
    out
}

fn sources(servers: &[&Server], home: &Path) -> BTreeSet<String> {
    servers.iter().map(|server| source(server, home)).collect()
}

fn source(server: &Server, home: &Path) -> String {
    let file = in_home(&server.file, home);
    printable(&format!("{}: {} in {file}", server.client, server.name))
}

/// A path as people write it.
pub fn in_home(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if !rest.as_os_str().is_empty() => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}
