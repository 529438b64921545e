//! Whoever installs: for whom it is to be, where his things are, and whether his service manager can be reached.

use crate::cli::ForWhom;
use crate::install::systemd::{self, Known};
use crate::install::{Hands, Scope, launchd};
use anyhow::{Context, bail};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// On a Mac it is launchd, everywhere else systemd.
pub(super) const LAUNCHD: bool = cfg!(target_os = "macos");

/// For whom it is, and where his things are.
pub(super) struct Person {
    pub(super) scope: Scope,
    pub(super) uid: u32,
    pub(super) home: Option<PathBuf>,
    /// What the user's service manager has in its environment; `None` where it cannot be asked.
    manager: Option<String>,
}

/// Variables by which orphand finds a user's files. What a shell has set, a service manager does not know.
const FOLDERS: [&str; 2] = ["XDG_CONFIG_HOME", "XDG_STATE_HOME"];

impl Person {
    pub(super) fn new(for_whom: ForWhom) -> anyhow::Result<Person> {
        let uid = rustix::process::geteuid().as_raw();
        let scope = match (for_whom.system, for_whom.user, uid) {
            (true, _, _) | (false, false, 0) => Scope::Machine,
            (_, true, 0) => bail!(
                "root's orphand looks after everybody, so there is none for root alone; run it without sudo, or with --system"
            ),
            _ => Scope::User,
        };
        let mut person = Person { scope, uid, home: None, manager: None };
        if scope == Scope::User {
            person.home = Some(home(uid)?);
            if !LAUNCHD {
                person.manager = person.hands().ask(&["systemctl", "--user", "show-environment"]);
            }
        }
        Ok(person)
    }

    pub(super) fn is_machine(&self) -> bool {
        self.scope == Scope::Machine
    }

    /// Only root changes the machine.
    pub(super) fn check_rights(&self) -> anyhow::Result<()> {
        if self.is_machine() && self.uid != 0 {
            bail!(
                "only root can do this for the whole machine; use sudo, or leave out --system to do it for yourself"
            );
        }
        Ok(())
    }

    /// Nothing is written where nobody would read it.
    pub(super) fn check_manager(&self) -> anyhow::Result<()> {
        self.check_rights()?;
        if !self.manager_is_there() {
            if self.is_machine() || !Path::new("/run/systemd/system").is_dir() {
                let program = std::env::current_exe().unwrap_or_else(|_| "orphand".into());
                bail!(
                    "systemd does not run here. Start `orphand run` by the manager that does, or let cron sweep: \
                     */5 * * * * {} sweep --log warn >/dev/null",
                    program.display()
                );
            }
            bail!(
                "no systemd of yours runs: there is none in {}. Log in once more (not by `su`), or have root let it run always: \
                 `loginctl enable-linger {}`",
                self.runtime().display(),
                self.name()
            );
        }
        if let Some(theirs) = self.of_manager("HOME")
            && self.home.as_deref().is_some_and(|home| home != Path::new(&theirs))
        {
            bail!(
                "HOME is {} here, and {theirs} for your systemd; set it to that",
                self.home.clone().unwrap_or_default().display()
            );
        }
        Ok(())
    }

    /// Two that look after the same processes are one too many.
    pub(super) fn check_others(&self, insists: bool) -> anyhow::Result<()> {
        if !self.is_machine() && !insists && Path::new("/run/orphand").exists() {
            bail!(
                "there is an orphand for the whole machine already, which looks after your processes too (`sudo orphand status`); \
                 one of the two is enough. With --user it is installed all the same"
            );
        }
        Ok(())
    }

    pub(super) fn manager_is_there(&self) -> bool {
        let systemd = || Path::new("/run/systemd/system").is_dir();
        LAUNCHD || if self.is_machine() { systemd() } else { systemd() && self.manager.is_some() }
    }

    fn runtime(&self) -> PathBuf {
        PathBuf::from(format!("/run/user/{}", self.uid))
    }

    pub(super) fn name(&self) -> String {
        let user = uzers::get_user_by_uid(self.uid);
        user.map_or_else(|| self.uid.to_string(), |user| user.name().to_string_lossy().into_owned())
    }

    pub(super) fn hands(&self) -> Hands {
        Hands::of(self.scope, self.uid)
    }

    /// `--user` where it is a user's.
    pub(super) fn user_option(&self) -> &'static str {
        if self.is_machine() { "" } else { "--user " }
    }

    /// The command that does something with orphand for this person.
    pub(super) fn command(&self, words: &str) -> String {
        format!("{}orphand {words}", if self.is_machine() { "sudo " } else { "" })
    }

    fn of_manager(&self, variable: &str) -> Option<String> {
        let lines = self.manager.as_deref()?.lines();
        lines
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| *name == variable)
            .map(|(_, value)| value.to_owned())
    }

    /// Variables that lead to this person's files, and that the service would not have by itself.
    pub(super) fn environment(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut environment = Vec::new();
        if self.is_machine() {
            return Ok(environment);
        }
        for variable in FOLDERS {
            let Some(value) = std::env::var_os(variable).filter(|value| Path::new(value).is_absolute())
            else {
                continue;
            };
            let Some(value) = value.to_str() else { bail!("{variable} is no UTF-8") };
            let usual = self.home.as_deref().unwrap_or(Path::new("/")).join(usual(variable));
            let theirs = self.of_manager(variable).map_or(usual, PathBuf::from);
            if theirs != Path::new(value) {
                environment.push((variable.to_owned(), value.to_owned()));
            }
        }
        Ok(environment)
    }

    /// A folder as the service manager sees it.
    fn folder(&self, variable: &str) -> PathBuf {
        let theirs = match &self.manager {
            Some(_) => self.of_manager(variable),
            None => std::env::var(variable).ok(),
        };
        let theirs = theirs.map(PathBuf::from).filter(|path| path.is_absolute());
        theirs.unwrap_or_else(|| self.home.clone().unwrap_or_default().join(usual(variable)))
    }

    pub(super) fn systemd(&self) -> systemd::Places {
        match self.scope {
            Scope::Machine => systemd::Places::of_machine(),
            Scope::User => {
                systemd::Places::of_user(&self.folder("XDG_CONFIG_HOME"), &self.folder("XDG_DATA_HOME"))
            }
        }
    }

    pub(super) fn known(&self) -> Known {
        if LAUNCHD || !self.manager_is_there() {
            return Known::default();
        }
        Known::ask(self.scope, &self.hands())
    }

    pub(super) fn launchd(&self) -> launchd::Places {
        match (self.scope, &self.home) {
            (Scope::User, Some(home)) => launchd::Places::of_user(home, self.uid),
            _ => launchd::Places::of_machine(),
        }
    }
}

/// Where things are that no variable puts elsewhere.
fn usual(variable: &str) -> &'static str {
    match variable {
        "XDG_CONFIG_HOME" => ".config",
        "XDG_DATA_HOME" => ".local/share",
        _ => ".local/state",
    }
}

/// The home of whoever calls; not of somebody whose HOME was handed on.
fn home(uid: u32) -> anyhow::Result<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.context("HOME is not set, or no absolute path; it must be your home folder")?;
    let owner = std::fs::metadata(&home).with_context(|| format!("cannot use {}", home.display()))?.uid();
    if owner != uid {
        bail!(
            "HOME is {}, which is not yours; log in as the user for whom orphand is to run",
            home.display()
        );
    }
    Ok(home)
}
