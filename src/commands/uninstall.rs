//! `orphand uninstall`: what `install` did, undone.

use super::install::{Person, do_and_say, shown};
use super::{open_host, print, runtime_folder, settings, state_folder};
use crate::cli::{Global, Uninstall};
use crate::config::{Settings, Sources, load};
use crate::host::Host;
use crate::host::linux::Linux;
use crate::install::{Scope, Step, systemd, what_is_at};
use anyhow::bail;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Uninstall) -> anyhow::Result<ExitCode> {
    let person = Person::new(options.for_whom)?;
    let host = open_host()?;
    let steps = person.plan_to_undo();
    let left = Left::find(global, &host, &person)?;
    if steps.is_empty() {
        let whose = if person.scope == Scope::Machine { "for this machine" } else { "for you" };
        print(&format!("orphand was not installed {whose}.\n"))?;
    }
    if options.print {
        let purge = if options.purge { left.steps() } else { Vec::new() };
        print(&shown(&[steps, purge].concat()))?;
        return Ok(ExitCode::SUCCESS);
    }
    person.check_rights()?;
    if !steps.is_empty() {
        person.check_manager()?;
        do_and_say(&steps, &person.hands())?;
    }
    if options.purge {
        if runtime_folder(&left.settings, host.observer()).is_taken() {
            bail!(
                "orphand is still running, so what it remembers was not taken away; stop it (`orphand status` shows its process)"
            );
        }
        do_and_say(&left.steps(), &person.hands())?;
    }
    print(&left.said(options.purge, &person))?;
    Ok(ExitCode::SUCCESS)
}

/// What belongs to the person rather than to the installation.
struct Left {
    settings: Settings,
    memory: (PathBuf, Vec<PathBuf>),
    runtime: (PathBuf, Vec<PathBuf>),
    configuration: Vec<PathBuf>,
    packaged: Vec<PathBuf>,
}

impl Left {
    fn find(global: &Global, host: &Linux, person: &Person) -> anyhow::Result<Left> {
        let observer = host.observer();
        // A broken configuration must not keep anybody from getting rid of orphand.
        let settings = settings(global, observer).or_else(|_| load(&Sources::default()))?;
        let usual = Sources::usual(observer, None, Vec::new());
        let own = usual.files.into_iter().filter(|path| {
            path.exists() && (person.scope == Scope::Machine) == path.starts_with("/etc/orphand")
        });
        let configuration = own.collect();
        let memory = state_folder(&settings, observer).contents();
        let runtime = runtime_folder(&settings, observer).contents();
        let packaged = systemd::packaged(&person.systemd(), &what_is_at);
        Ok(Left { settings, memory, runtime, configuration, packaged })
    }

    fn steps(&self) -> Vec<Step> {
        let of = |(folder, files): &(PathBuf, Vec<PathBuf>)| {
            let folder = folder.exists().then(|| Step::RemoveEmpty(folder.clone()));
            files.iter().cloned().map(Step::Remove).chain(folder).collect::<Vec<_>>()
        };
        let mut steps = of(&self.memory);
        if self.runtime.0 != self.memory.0 {
            steps.extend(of(&self.runtime));
        }
        // A package's configuration is taken away with the package.
        if self.packaged.is_empty() {
            steps.extend(self.configuration.iter().cloned().map(Step::Remove));
            steps.extend(self.configuration_folders().into_iter().map(Step::RemoveEmpty));
        }
        steps
    }

    /// The folder of each file, and above `conf.d` the one around it; the inner ones first.
    fn configuration_folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> =
            self.configuration.iter().filter_map(|path| path.parent()).map(Path::to_owned).collect();
        let around =
            folders.iter().filter(|folder| folder.ends_with("conf.d")).filter_map(|folder| folder.parent());
        folders.extend(around.map(Path::to_owned).collect::<Vec<_>>());
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.as_os_str().len()));
        folders.dedup();
        folders
    }

    fn said(&self, purged: bool, person: &Person) -> String {
        let mut text = String::new();
        let purge = if person.scope == Scope::Machine {
            "sudo orphand uninstall --purge"
        } else {
            "orphand uninstall --purge"
        };
        if !purged && !self.memory.1.is_empty() {
            let _ = writeln!(
                text,
                "What it remembers is left in {}; `{purge}` takes it away.",
                self.memory.0.display()
            );
        }
        if !purged || !self.packaged.is_empty() {
            for path in &self.configuration {
                let _ = writeln!(text, "The configuration is left: {}.", path.display());
            }
        }
        for path in systemd::drop_ins(&person.systemd()) {
            let _ = writeln!(text, "Somebody's own settings of the unit are left in {}.", path.display());
        }
        if self.packaged.is_empty() {
            let program = std::env::current_exe().unwrap_or_default();
            let _ = writeln!(text, "The program itself is left: {}.", program.display());
        } else {
            text += "orphand came as a package: remove that to take away the rest (`apt remove orphand`, `apt purge orphand`).\n";
        }
        text
    }
}
