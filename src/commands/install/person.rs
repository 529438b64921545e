//! Whoever installs: for whom it is to be, where his things are, and whether his service manager can be reached.

use crate::cli::ForWhom;
use crate::install::systemd::{self, Known};
use crate::install::{Hands, Scope, launchd};
use crate::state::MACHINE;
use anyhow::{Context, bail};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use uzers::os::unix::UserExt;

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
            if self.runtime().join("systemd/private").exists() {
                bail!("your systemd (`systemctl --user`) does not answer");
            }
            bail!(
                "no systemd of yours runs: there is none in {}. Log in once more (not by `su`), or have root let it run always: \
                 `loginctl enable-linger {}`",
                self.runtime().display(),
                self.name()
            );
        }
        Ok(())
    }

    /// Two that look after the same processes are one too many.
    pub(super) fn check_others(&self, insists: bool) -> anyhow::Result<()> {
        if !self.is_machine() && !insists && Path::new(MACHINE).exists() {
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

    /// Variables that lead to this person's files, with the values that count here: a service has the manager's, which may be
    /// others, and others again after its next start.
    pub(super) fn environment(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut environment = Vec::new();
        for variable in FOLDERS.into_iter().filter(|_| !self.is_machine()) {
            let set = std::env::var_os(variable).filter(|value| Path::new(value).is_absolute());
            if set.is_none() && self.of_manager(variable).is_none() {
                continue;
            }
            let usual = self.home.as_deref().unwrap_or(Path::new("/")).join(usual(variable));
            let value = set.unwrap_or_else(|| usual.into_os_string());
            let Some(value) = value.to_str() else { bail!("{variable} is no UTF-8") };
            environment.push((variable.to_owned(), value.to_owned()));
        }
        Ok(environment)
    }

    /// Where the user's manager looks for his units: in `~/.config`, unless it was started with another XDG_CONFIG_HOME. What
    /// was imported into its environment later changes nothing.
    fn user_units(&self) -> PathBuf {
        let home = self.home.clone().unwrap_or_default();
        let words = ["systemctl", "--user", "show", "--value", "--property", "UnitPath"];
        let answer = self.manager.as_ref().and_then(|_| self.hands().ask(&words)).unwrap_or_default();
        let mut folders = answer.split_whitespace().map(PathBuf::from);
        let own = folders.find(|path| path.starts_with(&home) && path.ends_with("systemd/user"));
        own.unwrap_or_else(|| home.join(".config/systemd/user"))
    }

    pub(super) fn systemd(&self) -> systemd::Places {
        match self.scope {
            Scope::Machine => systemd::Places::of_machine(),
            Scope::User => {
                let home = self.home.clone().unwrap_or_default();
                systemd::Places::of_user(&self.user_units(), &home.join(".local/share"))
            }
        }
    }

    pub(super) fn known(&self) -> Known {
        if LAUNCHD || !self.manager_is_there() {
            return Known::default();
        }
        Known::ask(self.scope, &self.systemd(), &self.hands())
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
    if variable == "XDG_CONFIG_HOME" { ".config" } else { ".local/state" }
}

/// The home of whoever calls; not of somebody whose HOME was handed on, nor another folder of one's own, where the service
/// would not look.
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
    let own = uzers::get_user_by_uid(uid).map(|user| user.home_dir().to_owned());
    if let Some(own) = own.filter(|own| own.is_dir() && own.canonicalize().ok() != home.canonicalize().ok()) {
        bail!("HOME is {}, and your home folder is {}; set it to that", home.display(), own.display());
    }
    Ok(home)
}
