//! `orphand install`: a service or a timer of systemd, a job of launchd.

use super::{open_host, print, settings};
use crate::cli::{ForWhom, Global, Install, Log};
use crate::host::Host;
use crate::install::{Finding, Hands, Scope, Step, Wish, carry_out, launchd, survey, systemd, what_is_at};
use crate::redact::{command_line, printable, sentence};
use anyhow::{Context, bail};
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Install) -> anyhow::Result<ExitCode> {
    let person = Person::new(options.for_whom)?;
    if !options.print {
        person.check_manager()?;
    }
    // What the service could not start with is said now, not in its log.
    settings(global, open_host()?.observer())?;
    let wish = Wish {
        scope: person.scope,
        timer: options.timer,
        program: program(person.scope, options.print)?,
        options: options_of_service(global, options.observe)?,
    };
    let steps = person.plan(&wish)?;
    if options.print {
        print(&shown(&steps))?;
        return Ok(ExitCode::SUCCESS);
    }
    let hands = person.hands();
    do_and_say(&steps, &hands).with_context(|| after_failure(&person, &wish))?;
    print(&ending(&person, &wish))?;
    for finding in survey(person.scope, Path::new("/"), person.home.as_deref(), &hands) {
        tracing::warn!("{}", of_finding(&finding));
    }
    Ok(ExitCode::SUCCESS)
}

/// For whom it is, and where his things are.
pub(super) struct Person {
    pub(super) scope: Scope,
    uid: u32,
    home: Option<PathBuf>,
}

/// On a Mac it is launchd, everywhere else systemd.
const LAUNCHD: bool = cfg!(target_os = "macos");

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
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.filter(|_| scope == Scope::User);
        if scope == Scope::User {
            let home = home.as_deref().context("HOME is not set; it must be your home folder")?;
            let owner =
                std::fs::metadata(home).with_context(|| format!("cannot use {}", home.display()))?.uid();
            if owner != uid {
                bail!(
                    "HOME is {}, which is not yours; log in as the user for whom orphand is to run",
                    home.display()
                );
            }
        }
        Ok(Person { scope, uid, home })
    }

    /// Only root changes the machine.
    pub(super) fn check_rights(&self) -> anyhow::Result<()> {
        if self.scope == Scope::Machine && self.uid != 0 {
            bail!(
                "only root can do this for the whole machine; use sudo, or leave out --system to do it for yourself"
            );
        }
        Ok(())
    }

    /// Nothing is written where nobody would read it.
    pub(super) fn check_manager(&self) -> anyhow::Result<()> {
        self.check_rights()?;
        if LAUNCHD {
            return Ok(());
        }
        if !Path::new("/run/systemd/system").is_dir() {
            bail!(
                "systemd does not run here. Start `orphand run` by the manager that does, or let cron sweep: \
                 */5 * * * * orphand sweep --log warn >/dev/null"
            );
        }
        if self.scope == Scope::User && !self.runtime().join("systemd/private").exists() {
            bail!(
                "no systemd of yours runs: {} has none. Log in once more (not by `su`), or let it run always: \
                 `loginctl enable-linger`",
                self.runtime().display()
            );
        }
        Ok(())
    }

    /// `su` and cron set no XDG_RUNTIME_DIR; systemctl needs it.
    fn runtime(&self) -> PathBuf {
        PathBuf::from(format!("/run/user/{}", self.uid))
    }

    pub(super) fn hands(&self) -> Hands {
        let mut environment = Vec::new();
        if self.scope == Scope::User && !LAUNCHD {
            environment.push(("XDG_RUNTIME_DIR".to_owned(), self.runtime().display().to_string()));
        }
        // What they say is shown when they fail.
        environment.push(("LC_ALL".to_owned(), "C.UTF-8".to_owned()));
        Hands { environment }
    }

    fn folder(&self, variable: &str, usual: &str) -> PathBuf {
        let own = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        own.unwrap_or_else(|| self.home.clone().unwrap_or_default().join(usual))
    }

    pub(super) fn systemd(&self) -> systemd::Places {
        match self.scope {
            Scope::Machine => systemd::Places::of_machine(),
            Scope::User => systemd::Places::of_user(
                &self.folder("XDG_CONFIG_HOME", ".config"),
                &self.folder("XDG_DATA_HOME", ".local/share"),
            ),
        }
    }

    fn launchd(&self) -> launchd::Places {
        match (self.scope, &self.home) {
            (Scope::User, Some(home)) => launchd::Places::of_user(home, self.uid),
            _ => launchd::Places::of_machine(),
        }
    }

    fn plan(&self, wish: &Wish) -> anyhow::Result<Vec<Step>> {
        if !LAUNCHD {
            return Ok(systemd::install(wish, &self.systemd(), &what_is_at)?);
        }
        if wish.timer {
            bail!(
                "--timer is for systemd; launchd keeps the daemon itself, which costs less than sweeps by the clock"
            );
        }
        Ok(launchd::install(wish, &self.launchd(), &what_is_at)?)
    }

    pub(super) fn plan_to_undo(&self) -> Vec<Step> {
        if LAUNCHD {
            launchd::uninstall(self.scope, &self.launchd(), &what_is_at)
        } else {
            systemd::uninstall(self.scope, &self.systemd(), &what_is_at)
        }
    }
}

/// This very program, by a path that will still be there tomorrow.
fn program(scope: Scope, only_shown: bool) -> anyhow::Result<String> {
    let path = std::env::current_exe().context("cannot find out where this program is")?;
    let Some(text) = path.to_str() else { bail!("the path of orphand is no UTF-8: {}", path.display()) };
    if text.ends_with(" (deleted)") || !path.is_file() {
        bail!("this program was replaced or removed while it ran; start it again from where it is now");
    }
    if !only_shown && scope == Scope::Machine {
        check_program(&path)?;
    }
    let build =
        path.parent().and_then(Path::parent).is_some_and(|folder| folder.join("CACHEDIR.TAG").exists());
    if build && scope == Scope::User {
        tracing::warn!(
            "{text} is in a build folder; `cargo clean` would take it away. `cargo install --path .` puts it elsewhere"
        );
    }
    Ok(text.to_owned())
}

/// What the machine's service starts, nobody but root may be able to replace, and it must be seen from within the unit.
fn check_program(path: &Path) -> anyhow::Result<()> {
    let remedy = format!(
        "put it into a place of root's first:\n    sudo install -m 755 '{}' /usr/local/bin/orphand\n    \
         sudo /usr/local/bin/orphand install",
        path.display()
    );
    if ["/home", "/root", "/run/user", "/tmp", "/var/tmp"].iter().any(|hidden| path.starts_with(hidden)) {
        bail!("{} cannot be seen by the service, which sees no home folders; {remedy}", path.display());
    }
    for part in path.ancestors() {
        let meta = std::fs::metadata(part).with_context(|| format!("cannot look at {}", part.display()))?;
        if meta.uid() != 0 || meta.mode() & 0o022 != 0 {
            bail!(
                "others than root can change {}, and so what the service would start; {remedy}",
                part.display()
            );
        }
    }
    Ok(())
}

/// The options of `install` that are the service's: it has no other way to hear of them.
fn options_of_service(global: &Global, observe: bool) -> anyhow::Result<Vec<String>> {
    let mut options = Vec::new();
    if let Some(file) = &global.config {
        let file = file.canonicalize().with_context(|| format!("cannot read {}", file.display()))?;
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

/// Carries the plan out and says each step.
pub(super) fn do_and_say(steps: &[Step], hands: &Hands) -> anyhow::Result<()> {
    let mut out = String::new();
    let ended = carry_out(steps, hands, |step| {
        let _ = match step {
            Step::Write { path, .. } => writeln!(out, "wrote    {}", path.display()),
            Step::Keep(path) => writeln!(out, "kept     {}, which is right already", path.display()),
            Step::Remove(path) | Step::RemoveEmpty(path) => writeln!(out, "removed  {}", path.display()),
            Step::Run { words, .. } => writeln!(out, "ran      {}", command_line(words)),
        };
    });
    print(&printed(&out))?;
    Ok(ended?)
}

fn printed(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}

/// The plan as `--print` shows it: every file with its place, every command as a comment.
pub(super) fn shown(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let _ = match step {
            Step::Write { path, text } => writeln!(out, "# {}\n{text}", path.display()),
            Step::Keep(path) => writeln!(out, "# {} is right already", path.display()),
            Step::Remove(path) => writeln!(out, "# rm {}", path.display()),
            Step::RemoveEmpty(path) => writeln!(out, "# rmdir {}", path.display()),
            Step::Run { words, .. } => writeln!(out, "# {}", command_line(words)),
        };
    }
    printed(&out)
}

fn after_failure(person: &Person, wish: &Wish) -> String {
    let undo = undo(person);
    if LAUNCHD {
        return format!("orphand is not installed; `{undo}` takes away what was done");
    }
    let user = if person.scope == Scope::User { "--user " } else { "" };
    let unit = systemd::unit_of(wish);
    format!(
        "orphand is not installed; `journalctl {user}-u {unit} -n 20` may say why, `{undo}` takes away what was done"
    )
}

fn undo(person: &Person) -> &'static str {
    if person.scope == Scope::Machine { "sudo orphand uninstall" } else { "orphand uninstall" }
}

/// What there is now, and how to undo it.
fn ending(person: &Person, wish: &Wish) -> String {
    let whose = if person.scope == Scope::Machine { "for everybody on this machine" } else { "for you" };
    let observes = wish.options.iter().any(|option| option == "mode=observe");
    let only = if observes { ", but signals nothing (mode = \"observe\")" } else { "" };
    let mut text = if wish.timer {
        let user = if person.scope == Scope::User { "--user " } else { "" };
        let unit = systemd::unit_of(wish);
        format!(
            "orphand sweeps {whose} every five minutes{only}. `journalctl {user}-u {unit}` shows what it did.\n"
        )
    } else {
        format!("orphand runs {whose}{only}. `orphand status` shows what it does.\n")
    };
    let _ = writeln!(text, "To undo this: {}", undo(person));
    if person.scope == Scope::User && !LAUNCHD {
        text += &of_lingering();
        if Path::new("/run/orphand").exists() {
            text += "There is an orphand for the whole machine as well, which looks after your processes too: one of the two is enough.\n";
        }
    }
    text
}

/// A user's systemd ends with his last session, unless he lingers.
fn of_lingering() -> String {
    let uid = rustix::process::geteuid().as_raw();
    let name = uzers::get_user_by_uid(uid).map(|user| user.name().to_string_lossy().into_owned());
    let lingers = name.is_some_and(|name| Path::new("/var/lib/systemd/linger").join(name).exists());
    if lingers {
        return String::new();
    }
    "It stops when you log out and starts when you log in. What your sessions leave behind meanwhile stays until then. To have it \
     run all the time: loginctl enable-linger\n"
        .to_owned()
}

fn of_finding(finding: &Finding) -> String {
    format!(
        "{}: `{}` is started by the clock and seems to do the same; both is one too many. To take it out: {}",
        finding.place,
        sentence(&finding.line),
        finding.remedy
    )
}
