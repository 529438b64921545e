//! `conf.d/discovered.toml`: made anew each time, never over something that a person wrote.

use super::derive::Derived;
use super::guard::Guard;
use super::pattern::Entries;
use super::{Discovery, Server};
use crate::catalog::{Catalog, PatternText, Role};
use crate::redact::printable;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

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

/// A file to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Its text.
    pub text: String,
    /// How many entries of the earlier one are kept, because the files that they come from could not be used this time.
    pub kept: usize,
}

const DAY: &str = "# From the clients' own configuration files, as they were on ";
const KEPT: &str = "# (kept: its file could not be used this time)\n";

impl Discovery {
    /// The file that says all this. `copies` is written where the configuration would call servers copies that the clients mean to
    /// have. `earlier` is what stands there now: where nothing but the day has changed it stays as it is.
    pub fn written(&self, home: &Path, copies: Option<usize>, day: &str, earlier: Option<&str>) -> Written {
        let kept = self.kept(home, earlier.unwrap_or_default());
        let copies =
            copies.max(earlier_copies(earlier.unwrap_or_default()).filter(|_| !self.warnings.is_empty()));
        let with = |day: &str| {
            let rest = self.body(home, copies, day, &kept);
            format!("{MARK}{}\n{rest}", digest(&rest))
        };
        let earlier_day = earlier.and_then(|text| text.lines().find_map(|line| line.strip_prefix(DAY)));
        let same = earlier_day.map(with).filter(|same| Some(same.as_str()) == earlier);
        Written { text: same.unwrap_or_else(|| with(day)), kept: kept.len() }
    }

    /// Entries of the earlier file that come from a file which is broken for the moment, or which is there and was not found this time,
    /// since only a broken file names its project. They must still be what `discover` would write.
    fn kept(&self, home: &Path, earlier: &str) -> Vec<String> {
        if self.warnings.is_empty() {
            return Vec::new();
        }
        let (new, guard) = (self.new_patterns(), Guard::new());
        let place = |file: &PathBuf| printable(&in_home(file, home));
        let broken: Vec<String> = self.warnings.iter().map(|(file, _)| place(file)).collect();
        let read: Vec<String> = self.read.iter().map(place).collect();
        // A name may have " in " in it, and so may a path.
        let is_of = |line: &str, places: &[String]| {
            places.iter().any(|place| line.ends_with(&format!(" in {place}")))
        };
        let is_there = |line: &str| {
            let mut places = line.match_indices(" in ").map(|(at, word)| &line[at + word.len()..]);
            places.any(|place| {
                place.strip_prefix("~/").map_or(PathBuf::from(place), |rest| home.join(rest)).is_file()
            })
        };
        let is_kept = |block: &String| {
            let mut sources = block.lines().filter(|line| line.starts_with("# ")).peekable();
            sources.peek().is_some()
                && sources.all(|line| {
                    is_of(line, &broken) || (self.lost_folders && !is_of(line, &read) && is_there(line))
                })
        };
        (earlier.split("\n\n").filter(|block| block.contains("[[server]]\n")))
            .map(|block| format!("{}\n", block.trim_end().replace(KEPT, "")))
            .filter(is_kept)
            .filter(|block| still_good(block, &guard))
            .filter(|block| !new.keys().any(|pattern| pattern.is_in(&Entries::of(block))))
            .collect()
    }

    fn body(&self, home: &Path, copies: Option<usize>, day: &str, kept: &[String]) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{DAY}{day}");
        out.push_str(
            "# `orphand discover --write` writes it anew, and leaves it alone once it was changed by hand: patterns of your own belong into\n\
             # another file. What you write yourself comes before what stands here.\n",
        );
        if let Some(copies) = copies {
            let _ = write!(
                out,
                "\n# So many equal servers are configured for one client.\n[live]\ncopies = {copies}\n"
            );
        }
        for (pattern, servers) in self.new_patterns() {
            out.push('\n');
            for source in sources(&servers, home) {
                let _ = writeln!(out, "# {source}");
            }
            out.push_str(&pattern.entry(&servers[0].name));
        }
        for block in kept {
            let _ = write!(out, "\n{KEPT}{block}");
        }
        let known: BTreeSet<String> = (self.servers.iter())
            .filter_map(|server| match &server.derived {
                Some(Derived::Named { known: Some(known), .. }) => {
                    Some(printable(&format!("{} (\"{known}\")", source(server, home))))
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
}

/// Whether an entry has nothing but what `discover` writes, and names nothing else.
fn still_good(block: &str, guard: &Guard) -> bool {
    const KEYS: [&str; 12] = [
        "name",
        "package",
        "program",
        "script",
        "module",
        "image",
        "path",
        "directory",
        "run_by",
        "subcommand",
        "argument",
        "only",
    ];
    let text: String = block
        .lines()
        .filter(|line| !line.starts_with('#') && *line != "[[server]]")
        .map(|line| format!("{line}\n"))
        .collect();
    let known = toml::from_str::<toml::Table>(&text)
        .is_ok_and(|table| table.keys().all(|key| KEYS.contains(&key.as_str())));
    let text = toml::from_str::<PatternText>(&text).ok().filter(|_| known);
    let alone = text.and_then(|text| Catalog::compile([(Role::Server, true, text)]).ok());
    alone.is_some_and(|alone| guard.named_by(|line, words| !alone.matching(line, words).is_empty()).is_none())
}

fn earlier_copies(earlier: &str) -> Option<usize> {
    let table: toml::Table = toml::from_str(earlier).ok()?;
    usize::try_from(table.get("live")?.get("copies")?.as_integer()?).ok()
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
