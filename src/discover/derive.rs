//! From what a client starts to a pattern: what orphand knows already, what can be named, and what is left out and why.

use super::guard::Guard;
use super::lines::lines;
use super::naming::{hides, looks_secret, naming};
use super::pattern::Pattern;
use crate::catalog::{Catalog, Role, Strength};
use crate::invocation::{Invocation, Kind, base_name, without_assignments};
use crate::redact::printable;
use std::path::Path;

/// Nobody writes longer command lines into a configuration by hand.
const LONGEST: usize = 4096;

/// What orphand makes of one line of a client's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Derived {
    /// A pattern names it.
    Named {
        /// What names it.
        pattern: Pattern,
        /// The pattern that is there already, the shipped catalog's or one of the user's own, by its name.
        known: Option<String>,
        /// Command lines that it stands for, as a process table shows them; without arguments.
        lines: Vec<String>,
    },
    /// Nothing; why.
    LeftOut(String),
}

/// Derives a pattern from what a client starts. `catalog` is what orphand knows without its earlier discoveries.
pub(super) fn derive(name: &str, words: &[String], home: &Path, catalog: &Catalog, guard: &Guard) -> Derived {
    match derived(name, without_assignments(words), home, catalog, guard) {
        Ok(named) => named,
        Err(why) => Derived::LeftOut(why),
    }
}

fn derived(
    name: &str,
    words: &[String],
    home: &Path,
    catalog: &Catalog,
    guard: &Guard,
) -> Result<Derived, String> {
    if words.iter().map(String::len).sum::<usize>() > LONGEST {
        return Err("its command line is too long to be meant".to_owned());
    }
    match words.first() {
        Some(first) if is_windows(first) => return Err("it is a command of Windows".to_owned()),
        Some(first) if words.len() == 1 && first.contains(char::is_whitespace) => {
            return Err(
                "where the program ends in it nobody can tell; write its arguments into `args`".to_owned()
            );
        }
        _ => {}
    }
    let invocation = Invocation::of(words).ok_or("it starts nothing")?;
    if invocation.doubtful || hides(&invocation.target, words) {
        return Err("an option that orphand does not know stands in front of what it starts".to_owned());
    }
    let known = known(&invocation, words, catalog)?;
    // What is known anyway is shown as plainly as it can be, and by the job that it is started for.
    let named = naming(&invocation, home);
    let (pattern, shown) = match known {
        Some(_) => (plainly(&invocation), named.unwrap_or_else(|_| plainly(&invocation))),
        None => (named.clone()?, named?),
    };
    let words_of = pattern.keys.iter().chain(&shown.keys).map(|(_, word)| word);
    if words_of.into_iter().any(|word| word.split('/').any(looks_secret) || printable(word) != *word) {
        return Err("what it starts looks like a secret".to_owned());
    }
    let alone = pattern.compiled(name)?;
    let names = |line: &Invocation, words: &[String]| !alone.matching(line, words).is_empty();
    if known.is_none() {
        if catalog.is_excepted(&invocation, words) {
            return Err("by its name it is another thing of that kind: a test, a tool, a setup".to_owned());
        }
        if let Some(line) = guard.named_by(names) {
            return Err(format!("its name would also name `{line}`; write a narrower [[server]] yourself"));
        }
        if !names(&invocation, words) {
            return Err("no pattern can be made of it; write a [[server]] yourself".to_owned());
        }
    }
    // Only what is true is shown: the lines that the new pattern names, or the one that is there already.
    let is_named = |line: &Invocation| match &known {
        None => names(line, &[]),
        Some(_) => {
            catalog.classify_invocation(line.clone(), &[]).is_some_and(|found| found.role == Role::Server)
        }
    };
    let mut lines = lines(&invocation, &shown);
    lines.retain(|line| {
        let line = line.replace("/...", "/home/u").replace("...", "/home/u/x");
        Invocation::of_line(&line).is_some_and(|line| is_named(&line))
    });
    Ok(Derived::Named { pattern, known, lines })
}

/// `C:\...`, `npx.cmd`: what the same configuration starts elsewhere.
fn is_windows(program: &str) -> bool {
    let lower = program.to_ascii_lowercase();
    program.contains('\\')
        || [".exe", ".cmd", ".bat", ".ps1"].iter().any(|suffix| lower.ends_with(suffix))
        || ["cmd", "powershell", "wsl"].contains(&lower.as_str())
}

/// What it is called, where a pattern names it beyond doubt already. An error when orphand knows it as something that is no server.
fn known(invocation: &Invocation, words: &[String], catalog: &Catalog) -> Result<Option<String>, String> {
    let Some(found) = catalog.classify_invocation(invocation.clone(), words) else { return Ok(None) };
    let Some(pattern) = found.pattern.map(|index| catalog.pattern(index)) else { return Ok(None) };
    let what = match found.role {
        Role::Server if pattern.strength == Strength::Weak => return Ok(None),
        Role::Server => return Ok(Some(catalog.display_name(&found))),
        Role::Launcher => {
            return Err(format!(
                "it is started through {}; name what that starts in a [[server]]",
                pattern.name
            ));
        }
        Role::Client => "client",
        Role::Host => "host",
        Role::Browser => "browser",
        Role::Helper => "helper",
        Role::Adopter => "adopter",
    };
    Err(format!("orphand knows it as a {what} ({}), and never takes it for a server", pattern.name))
}

/// What is shown of a server that is known anyway.
fn plainly(invocation: &Invocation) -> Pattern {
    let (target, first) = (invocation.target.as_str(), invocation.packages.first());
    match invocation.kind {
        Kind::Package => {
            let package = Pattern::of("package", first.map_or(target, String::as_str));
            match invocation.commands.first().filter(|command| Some(*command) != first) {
                Some(command) => package.and("program", command),
                None => package,
            }
        }
        Kind::Module => Pattern::of("module", target),
        Kind::Image => Pattern::of("image", target),
        Kind::Script if target.starts_with('/') => Pattern::of("path", &globset::escape(target)),
        Kind::Script => Pattern::of("script", base_name(target)),
        _ => Pattern::of("program", base_name(target)),
    }
}
