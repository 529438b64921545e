//! `orphand discover`: from the clients' own files to patterns.

use super::{open_host, print, print_json};
use crate::cli::{Discover, Global};
use crate::config::{Settings, Sources, discovered_file, load};
use crate::discover::{Discovery, Existing, Person, System, discover, in_home, written_text};
use crate::host::Host;
use crate::install::{Hands, Step, carry_out};
use crate::process::Observer;
use crate::redact::printable;
use crate::report::{discovered_json, discovered_text};
use anyhow::{Context, bail};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Discover) -> anyhow::Result<ExitCode> {
    let host = open_host()?;
    let observer = host.observer();
    let person = person(observer)?;
    let target = discovered_file(observer);
    // What earlier discoveries wrote would make everything look known.
    let mut sources = Sources::usual(observer, global.config.clone(), global.set.clone());
    sources.files.retain(|file| Some(file) != target.as_ref());
    let settings = load(&sources)?;
    let found = discover(&person, &settings.catalog);
    for (path, problem) in &found.warnings {
        let text = printable(&format!("{}: {problem}", path.display()));
        let _ = writeln!(std::io::stderr(), "orphand: {text}");
    }
    let earlier = target.as_deref().and_then(|path| std::fs::read_to_string(path).ok());
    let said = if options.write {
        let target = target
            .clone()
            .context("neither XDG_CONFIG_HOME nor HOME is set: there is no place for discovered.toml")?;
        Some(write(&found, &settings, &person, &target, earlier.as_deref(), || {
            load(&Sources::usual(observer, global.config.clone(), global.set.clone())).map(drop)
        })?)
    } else {
        None
    };
    let now = target.as_deref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    if options.json {
        print_json(&discovered_json(
            &found,
            &now,
            target.as_deref().filter(|_| options.write && !now.is_empty()),
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = discovered_text(&found, &person.home, &now);
    match (said, &target) {
        (Some(said), _) => text.push_str(&said),
        (None, Some(target)) if found.new_patterns().keys().any(|pattern| !pattern.is_in(&now)) => {
            let place = in_home(target, &person.home);
            text.push_str(&format!("`orphand discover --write` puts what is new into {place}.\n"));
        }
        _ => {}
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever runs this. Another user's home is not read, not even by root.
fn person(observer: &Observer) -> anyhow::Result<Person> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home =
        home.context("HOME is not set to a folder: there is nowhere to look for the files of your clients")?;
    let owner =
        std::fs::metadata(&home).with_context(|| format!("cannot look into {}", home.display()))?.uid();
    if owner != observer.uid && owner != 0 {
        bail!(
            "{} belongs to another user ({owner}): run `orphand discover` as that user, without sudo; patterns for the whole machine are put \
             into /etc/orphand/conf.d by hand",
            home.display()
        );
    }
    let variable = Box::new(|name: &str| std::env::var(name).ok());
    Ok(Person { home, uid: observer.uid, variable, system: System::OWN })
}

/// Writes what is new, and says so. What was there is put back if orphand could not read the whole any more.
fn write(
    found: &Discovery,
    settings: &Settings,
    person: &Person,
    target: &Path,
    earlier: Option<&str>,
    check: impl Fn() -> Result<(), crate::config::ConfigError>,
) -> anyhow::Result<String> {
    let place = in_home(target, &person.home);
    match earlier.map(Existing::of) {
        Some(Existing::Foreign) => bail!(
            "{} was not written by `orphand discover`, so it is left alone: rename it, and run this again",
            target.display()
        ),
        Some(Existing::Changed) => bail!(
            "{} was changed by hand since `orphand discover` wrote it, so it is left alone: put your changes into another file of that folder, \
             delete this one, and run this again",
            target.display()
        ),
        Some(Existing::Ours) | None => {}
    }
    let copies = Some(found.copies()).filter(|copies| *copies > settings.policy.live.copies);
    let patterns = found.new_patterns().len();
    if earlier.is_none() && patterns == 0 && copies.is_none() {
        return Ok("There is nothing to write.\n".to_owned());
    }
    let now = super::taken_at();
    let today = now.split('T').next().unwrap_or_default();
    let text = written_text(found, &person.home, copies, today, earlier);
    if earlier == Some(text.as_str()) {
        return Ok(format!("{place} says so already.\n"));
    }
    let put = |text: &str| {
        let step = Step::Write { path: target.to_owned(), text: text.to_owned() };
        carry_out(&[step], &Hands::default(), |_, _| {})
    };
    put(&text)?;
    if let Err(error) = check() {
        match earlier {
            Some(earlier) => put(earlier)?,
            None => std::fs::remove_file(target)?,
        }
        return Err(error).context(
            "what was found does not go together with the rest of the configuration, so nothing was written",
        );
    }
    let patterns = match patterns {
        0 => "No pattern of your own is needed".to_owned(),
        1 => "1 pattern".to_owned(),
        many => format!("{many} patterns"),
    };
    let copies = copies.map_or(String::new(), |copies| format!(", and live.copies = {copies}"));
    Ok(format!(
        "Wrote {place}: {patterns}{copies}. `orphand sweep` and `scan` use it from now on, a running daemon when it gets SIGHUP.\n"
    ))
}
