//! `orphand discover`: from the clients' own files to patterns.

use super::{open_host, print, print_json, say};
use crate::cli::{Discover, Global};
use crate::config::{Sources, discovered_file, load, read};
use crate::discover::{Discovery, Entries, Existing, Person, System, Written, discover, in_home};
use crate::host::Host;
use crate::install::{Hands, Step, carry_out};
use crate::process::Observer;
use crate::report::{discovered_json, discovered_text};
use anyhow::{Context, anyhow, bail};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Discover) -> anyhow::Result<ExitCode> {
    let host = open_host()?;
    let observer = host.observer();
    let person = person(observer)?;
    let target = discovered_file(observer).map(|path| real(&path)).transpose()?;
    // Earlier discoveries would make everything look known, and --config and --set are not there when the daemon reads it.
    let mut sources = Sources::usual(observer, None, Vec::new());
    sources.files.retain(|file| !file.ends_with("conf.d/discovered.toml"));
    let settings =
        load(&Sources { explicit: global.config.clone(), ..sources.clone() }).and_then(|_| load(&sources))?;
    let found = discover(&person, &settings.catalog);
    for (path, problem) in &found.warnings {
        say(&format!("{}: {problem}", path.display()));
    }
    let copies = Some(found.copies()).filter(|copies| *copies > settings.policy.live.copies);
    let done = match (options.write, &target) {
        (false, _) => None,
        (true, None) => {
            bail!("neither XDG_CONFIG_HOME nor HOME is set: there is no place for discovered.toml")
        }
        (true, Some(target)) => Some(write(&found, copies, &person, target, observer)?),
    };
    let now = target.as_deref().map(|path| earlier(path, observer)).transpose().unwrap_or_else(|error| {
        say(&format!("{error:#}"));
        None
    });
    let now = Entries::of(&now.flatten().unwrap_or_default());
    if options.json {
        let written = done.as_ref().and(target.as_deref()).filter(|path| path.exists());
        print_json(&discovered_json(&found, &now, written))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = discovered_text(&found, &person.home, &now);
    match (done, &target) {
        (Some(done), _) => text.push_str(&done),
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
    let owner = fs::metadata(&home).with_context(|| format!("cannot look into {}", home.display()))?.uid();
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

/// The file itself where a link stands for it, as people have it who keep their configuration elsewhere.
fn real(path: &Path) -> anyhow::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            fs::canonicalize(path).with_context(|| format!("{} is a link that leads nowhere", path.display()))
        }
        _ => Ok(path.to_owned()),
    }
}

/// What stands there now. An error when that is not one's own text: it must not be replaced.
fn earlier(target: &Path, observer: &Observer) -> anyhow::Result<Option<String>> {
    let text = read(target, false, false)
        .map_err(|problem| anyhow!("{} {problem}; it is left alone", target.display()))?;
    if text.is_some() && fs::metadata(target).is_ok_and(|meta| meta.uid() != observer.uid) {
        bail!("{} belongs to another user; it is left alone", target.display());
    }
    Ok(text)
}

/// Writes what is new, and says so. One at a time, and only what the configuration can be read with.
fn write(
    found: &Discovery,
    copies: Option<usize>,
    person: &Person,
    target: &Path,
    observer: &Observer,
) -> anyhow::Result<String> {
    let place = in_home(target, &person.home);
    let folder = target.parent().context("there is no place for discovered.toml")?;
    let nothing_new = found.new_patterns().is_empty() && copies.is_none();
    if nothing_new && earlier(target, observer)?.is_none() {
        return Ok("There is nothing to write.\n".to_owned());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let lock = File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", folder.display()))?;
    let earlier = earlier(target, observer)?;
    match earlier.as_deref().map(Existing::of) {
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
    let now = super::taken_at();
    let today = now.split('T').next().unwrap_or_default();
    let Written { text, kept } = found.written(&person.home, copies, today, earlier.as_deref());
    let kept = match kept {
        0 => String::new(),
        _ => format!(", {kept} kept of files that could not be used this time"),
    };
    if earlier.as_deref() == Some(text.as_str()) {
        return Ok(format!("{place} says so already{kept}.\n"));
    }
    let place_read = discovered_file(observer).unwrap_or_else(|| target.to_owned());
    let would_be =
        Sources { instead: Some((place_read, text.clone())), ..Sources::usual(observer, None, Vec::new()) };
    load(&would_be).context(
        "what was found does not go together with the rest of the configuration, so nothing was written",
    )?;
    carry_out(&[Step::Write { path: target.to_owned(), text }], &Hands::default(), |_, _| {})?;
    let copies = copies.map_or(String::new(), |copies| format!(", live.copies = {copies}"));
    let patterns = match found.new_patterns().len() {
        0 => return Ok(format!("Wrote {place}: no pattern is needed any more{copies}{kept}.\n")),
        1 => "1 pattern".to_owned(),
        many => format!("{many} patterns"),
    };
    Ok(format!(
        "Wrote {place}: {patterns}{copies}{kept}. `orphand sweep` and `scan` use it from now on, a running daemon when it gets SIGHUP.\n"
    ))
}
