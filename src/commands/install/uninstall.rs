//! `orphand uninstall`: what `install` did, undone.

use super::person::{LAUNCHD, Person};
use super::program::account_is_ours;
use super::{do_and_say, shown};
use crate::cli::{Global, Uninstall};
use crate::commands::{open_host, print, runtime_folder, settings, state_folder};
use crate::config::{Sources, load};
use crate::host::Host;
use crate::install::systemd::Known;
use crate::install::{Step, launchd, systemd, what_is_at};
use crate::process::Observer;
use crate::state::{RuntimeFolder, StateFolder};
use anyhow::bail;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(in crate::commands) fn run(global: &Global, options: &Uninstall) -> anyhow::Result<ExitCode> {
    let person = Person::new(options.for_whom)?;
    let host = open_host()?;
    let steps = plan(&person, &person.known());
    // Read now: the units that say it will be gone.
    let variables = systemd::variables(&person.systemd(), &what_is_at);
    let left = || Left::find(global, host.observer(), &person, &variables);
    if steps.is_empty() {
        let whose = if person.is_machine() { "for this machine" } else { "for you" };
        print(&format!("orphand was not installed {whose}.\n"))?;
    }
    if options.print {
        let purge = if options.purge { left()?.steps() } else { Vec::new() };
        print(&shown(&[steps, purge].concat()))?;
        return Ok(ExitCode::SUCCESS);
    }
    person.check_rights()?;
    if !steps.is_empty() && !person.manager_is_there() {
        tracing::warn!(
            "the service manager cannot be reached, so it is told nothing; files are taken away all the same"
        );
    }
    do_and_say(&steps, &person.hands()).map_err(|(failure, _)| failure)?;
    // Found now: a daemon writes what it has learnt when it stops.
    let left = left()?;
    let still_runs = left.runtime.is_taken();
    if options.purge && !still_runs {
        do_and_say(&left.steps(), &person.hands()).map_err(|(failure, _)| failure)?;
    }
    print(&left.said(options.purge && !still_runs, &person))?;
    if still_runs {
        bail!(
            "orphand is still running: somebody else has started it, or the service manager could not be told to stop it"
        );
    }
    if !person.is_machine() && person.known().enabled.contains(&"orphand.service") {
        print(
            "It is enabled for every user by the administrator; `systemctl --user mask orphand` keeps it from starting for you.\n",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Without a manager only files are left to be taken away.
fn plan(person: &Person, known: &Known) -> Vec<Step> {
    let mut steps = if LAUNCHD {
        launchd::uninstall(person.scope, &person.launchd(), &what_is_at)
    } else {
        systemd::uninstall(person.scope, &person.systemd(), known, account_is_ours(), &what_is_at)
    };
    if !person.manager_is_there() {
        steps.retain(|step| !matches!(step, Step::Run { words, .. } if words[0] == "systemctl"));
    }
    steps
}

/// What belongs to the person rather than to the installation.
struct Left {
    runtime: RuntimeFolder,
    /// Where it remembers and where it can be found, with the files that it made there.
    folders: Vec<(PathBuf, Vec<PathBuf>)>,
    configuration: Vec<PathBuf>,
    is_packaged: bool,
    is_machine: bool,
}

impl Left {
    fn find(
        global: &Global,
        observer: &Observer,
        person: &Person,
        variables: &[(String, String)],
    ) -> anyhow::Result<Left> {
        // A broken configuration must not keep anybody from getting rid of orphand.
        let settings = settings(global, observer).or_else(|_| load(&Sources::default()))?;
        let is_machine = person.is_machine();
        let files = Sources::usual(observer, None, Vec::new()).files.into_iter();
        let configuration =
            files.filter(|path| path.exists() && is_machine == path.starts_with("/etc/orphand")).collect();
        let runtime = runtime_folder(&settings, observer);
        let mut folders = vec![state_folder(&settings, observer).contents()];
        // The service may have been given other folders than this shell has.
        for (_, folder) in variables.iter().filter(|(name, _)| name == "XDG_STATE_HOME") {
            folders.push(StateFolder::at(Path::new(folder).join("orphand"), observer).contents());
        }
        folders.push(runtime.contents());
        folders.sort();
        folders.dedup_by(|one, other| one.0 == other.0);
        let is_packaged = !systemd::packaged(&person.systemd(), &what_is_at).is_empty();
        Ok(Left { runtime, folders, configuration, is_packaged, is_machine })
    }

    /// A package's configuration is taken away with the package.
    fn takes_configuration(&self) -> bool {
        !(self.is_packaged && self.is_machine)
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (folder, files) in &self.folders {
            steps.extend(files.iter().cloned().map(Step::Remove));
            // A folder of another name is somebody's who has set it.
            let ours = folder.ends_with("orphand")
                && std::fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir());
            steps.extend(ours.then(|| Step::RemoveEmpty(folder.clone())));
        }
        if self.takes_configuration() {
            steps.extend(self.configuration.iter().cloned().map(Step::Remove));
            steps.extend(self.configuration_folders().into_iter().map(Step::RemoveEmpty));
        }
        steps
    }

    /// The folder of each file, and above `conf.d` the one around it; the inner ones first.
    fn configuration_folders(&self) -> Vec<PathBuf> {
        let folders = self.configuration.iter().filter_map(|path| path.parent()).map(Path::to_owned);
        let mut folders: Vec<PathBuf> = folders.collect();
        let around =
            folders.iter().filter(|folder| folder.ends_with("conf.d")).filter_map(|folder| folder.parent());
        folders.extend(around.map(Path::to_owned).collect::<Vec<_>>());
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.as_os_str().len()));
        folders.dedup();
        folders
    }

    fn said(&self, purged: bool, person: &Person) -> String {
        let mut text = String::new();
        let purge = person.command("uninstall --purge");
        for (memory, _) in self.folders.iter().filter(|(_, files)| !purged && !files.is_empty()) {
            let _ =
                writeln!(text, "What it remembers is left in {}; `{purge}` takes it away.", memory.display());
        }
        if !purged || !self.takes_configuration() {
            for path in &self.configuration {
                let _ = writeln!(text, "The configuration is left: {}.", path.display());
            }
        }
        for path in systemd::drop_ins(&person.systemd()) {
            let _ = writeln!(text, "Somebody's own settings of the unit are left in {}.", path.display());
        }
        if self.is_packaged {
            text += "orphand came as a package: remove that to take away the program and its units (`apt remove orphand`, `apt purge orphand`).\n";
        } else {
            let program = std::env::current_exe().unwrap_or_default();
            let _ = writeln!(text, "The program itself is left: {}.", program.display());
        }
        text
    }
}
