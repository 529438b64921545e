//! What the service is to start, and with which options: found out now, so that it need not be found in a log.

use super::person::Person;
use crate::cli::{Global, Log};
use crate::config::Settings;
use crate::install::Scope;
use crate::install::systemd::USER;
use anyhow::{Context, bail};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use uzers::os::unix::UserExt;

/// Folders that the machine's service does not see.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// This very program, by a path that will still be there tomorrow.
pub(super) fn program() -> anyhow::Result<String> {
    let path = std::env::current_exe().context("cannot find out where this program is")?;
    let Some(text) = path.to_str() else { bail!("the path of orphand is no UTF-8: {}", path.display()) };
    if text.ends_with(" (deleted)") || !path.is_file() {
        bail!("this program was replaced or removed while it ran; start it again from where it is now");
    }
    Ok(text.to_owned())
}

/// Whether it may be what the service starts.
pub(super) fn check(person: &Person, program: &Path) -> anyhow::Result<()> {
    if person.is_machine() {
        return check_program(program);
    }
    let build =
        program.parent().and_then(Path::parent).is_some_and(|folder| folder.join("CACHEDIR.TAG").exists());
    let passing = ["/tmp", "/var/tmp", "/dev/shm", "/run"].iter().any(|folder| program.starts_with(folder));
    if build || passing {
        let what = if build { "a build folder" } else { "a folder that is emptied from time to time" };
        tracing::warn!("{} is in {what}; `cargo install --path .` puts it elsewhere", program.display());
    }
    Ok(())
}

/// What the machine's service starts, nobody but root may be able to replace, and it must be seen from within the unit.
fn check_program(path: &Path) -> anyhow::Result<()> {
    let elsewhere = format!(
        "put it into a place of root's first:\n    sudo install -m 755 '{}' /usr/local/bin/orphand\n    \
         sudo /usr/local/bin/orphand install",
        path.display()
    );
    if is_hidden(path) {
        bail!(
            "{} cannot be seen by the service, which sees neither home folders nor /tmp; {elsewhere}",
            path.display()
        );
    }
    for part in path.ancestors() {
        let meta = std::fs::metadata(part).with_context(|| format!("cannot look at {}", part.display()))?;
        if meta.uid() != 0 || meta.mode() & 0o002 != 0 || meta.mode() & 0o020 != 0 && !is_roots(meta.gid()) {
            bail!(
                "others than root can change {0}, and so what the service would start. If it is to be root's alone:\n    \
                 sudo chown root: '{0}' && sudo chmod go-w '{0}'\nOr {elsewhere}",
                part.display()
            );
        }
    }
    Ok(())
}

/// Members of Debian's `staff` may put programs into /usr/local: they count as root there.
fn is_roots(gid: u32) -> bool {
    gid == 0 || uzers::get_group_by_name("staff").is_some_and(|staff| staff.gid() == gid)
}

fn is_hidden(path: &Path) -> bool {
    HIDDEN.iter().any(|hidden| path.starts_with(hidden))
}

/// The options of `install` that are the service's: it has no other way to hear of them.
pub(super) fn options_of_service(
    global: &Global,
    observe: bool,
    person: &Person,
    settings: &Settings,
) -> anyhow::Result<Vec<String>> {
    let mut options = Vec::new();
    if let Some(file) = &global.config {
        let file = file.canonicalize().with_context(|| format!("cannot read {}", file.display()))?;
        if person.is_machine() && is_hidden(&file) {
            bail!(
                "{} cannot be seen by the service, which sees neither home folders nor /tmp; /etc/orphand is the place",
                file.display()
            );
        }
        let Some(text) = file.to_str() else { bail!("the path {} is no UTF-8", file.display()) };
        options.extend(["--config".to_owned(), text.to_owned()]);
    }
    let observe = observe.then(|| "mode=observe".to_owned());
    for assignment in global.set.iter().chain(&observe) {
        options.extend(["--set".to_owned(), assignment.clone()]);
    }
    if !global.log.is_empty() {
        let words: Vec<&str> = global.log.iter().map(|word| name_of(*word)).collect();
        options.extend(["--log".to_owned(), words.join(",")]);
    }
    if person.is_machine() {
        let own = [&settings.state_directory, &settings.runtime_directory];
        for folder in own.into_iter().flatten() {
            tracing::warn!(
                "the service can write to /var/lib/orphand and /run/orphand only, not to {}; a drop-in with ReadWritePaths= allows it",
                folder.display()
            );
        }
    }
    Ok(options)
}

fn name_of(log: Log) -> &'static str {
    match log {
        Log::Error => "error",
        Log::Warn => "warn",
        Log::Info => "info",
        Log::Debug => "debug",
        Log::Trace => "trace",
        Log::Json => "json",
    }
}

/// Numbers of accounts that are no persons end here on every usual system (SYS_UID_MAX of login.defs).
const LAST_OF_SERVICES: u32 = 999;

/// Whether the account that the service would run as is the one that systemd-sysusers makes of our file, or not there yet.
pub(super) fn account_is_ours() -> bool {
    uzers::get_user_by_name(USER).is_none_or(|user| {
        user.uid() <= LAST_OF_SERVICES
            && user.home_dir() == Path::new("/")
            && user.gecos() == "orphan daemon for MCP servers"
    })
}

pub(super) fn check_account(scope: Scope) -> anyhow::Result<()> {
    if scope == Scope::Machine && !super::person::LAUNCHD && !account_is_ours() {
        let home: PathBuf =
            uzers::get_user_by_name(USER).map(|user| user.home_dir().to_owned()).unwrap_or_default();
        bail!(
            "there is a user called {USER} with the home {}, which `orphand install` has not made: somebody's account, it seems. The service would run as that user; \
             give the account another name first",
            home.display()
        );
    }
    Ok(())
}
