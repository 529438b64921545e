//! `orphand install`: a service or a timer of systemd, a job of launchd. And back again.

mod person;
mod program;
mod uninstall;

pub(super) use uninstall::run as uninstall;

use super::{open_host, print, runtime_folder, settings};
use crate::cli::{Global, Install};
use crate::config::Mode;
use crate::control::{Request, ask};
use crate::host::Host;
use crate::install::systemd::{self, Known};
use crate::install::{
    Done, Failure, Finding, Hands, PlanError, Step, There, Wish, carry_out, carry_out_all, launchd, survey,
    what_is_at,
};
use crate::redact::{command_line, printable, sentence};
use crate::state::{MACHINE, RuntimeFolder};
use anyhow::bail;
use person::{LAUNCHD, Person};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Install) -> anyhow::Result<ExitCode> {
    let person = Person::new(options.for_whom)?;
    let refuse = |refused: anyhow::Result<()>| match refused {
        // Whoever only looks is told all the same.
        Err(error) if options.print => {
            tracing::warn!("{error:#}");
            Ok(())
        }
        other => other,
    };
    refuse(person.check_manager())?;
    refuse(person.check_others(options.for_whom.user))?;
    refuse(program::check_account(person.scope))?;
    let program = program::program()?;
    refuse(program::check(&person, Path::new(&program)))?;
    let host = open_host()?;
    let settings = settings(global, host.observer())?;
    let wish = Wish {
        scope: person.scope,
        timer: options.timer,
        program,
        options: program::options_of_service(global, options.observe, &person, &settings)?,
        environment: person.environment()?,
    };
    let observes = options.observe || settings.mode == Mode::Observe;
    let known = person.known();
    let steps = plan(&person, &wish, &known)?;
    if options.print {
        print(&shown(&steps))?;
        return Ok(ExitCode::SUCCESS);
    }
    check_alone(&runtime_folder(&settings, host.observer()), &known)?;
    let hands = person.hands();
    let before = if LAUNCHD { None } else { systemd::starts(&person.systemd(), &what_is_at) };
    let there: Vec<(&Step, There)> = steps.iter().map(|step| (step, what_was_at(step))).collect();
    if let Err((failure, done)) = do_and_say(&steps, &hands) {
        // Nobody is left with half of it, or without what worked before.
        if !LAUNCHD {
            let before = |path: &Path| was_at(&there, path);
            say_all(&systemd::take_back(&wish, &steps[..done], &known, &before), &hands)?;
        }
        return Err(anyhow::Error::from(failure).context(after_failure(&person, &wish)));
    }
    let now = if LAUNCHD { None } else { systemd::starts(&person.systemd(), &what_is_at) };
    if let Some(before) = before.filter(|before| now.as_ref() != Some(before)) {
        print(&printed(&format!("It was started with other options before: {before}\n")))?;
    }
    print(&ending(&person, &wish, observes))?;
    for finding in survey(person.scope, Path::new("/"), person.home.as_deref(), &hands) {
        tracing::warn!("{}", of_finding(&finding));
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(person: &Person, wish: &Wish, known: &Known) -> anyhow::Result<Vec<Step>> {
    let plan = |plan: Result<Vec<Step>, PlanError>| plan.map_err(anyhow::Error::from);
    if !LAUNCHD {
        return plan(systemd::install(wish, &person.systemd(), known, &what_is_at));
    }
    if wish.timer {
        bail!(
            "--timer is for systemd; launchd keeps the daemon itself, which costs less than sweeps by the clock"
        );
    }
    plan(launchd::install(wish, &person.launchd(), &what_is_at))
}

/// A daemon that somebody runs by hand would keep the service from starting.
fn check_alone(folder: &RuntimeFolder, known: &Known) -> anyhow::Result<()> {
    if !LAUNCHD && known.active.is_empty() && folder.is_taken() {
        let status = ask(&folder.socket(), Request::Status).ok().flatten();
        let who = status.and_then(|status| status["pid"].as_i64());
        let who = who.map_or(String::new(), |pid| format!(" as process {pid}"));
        bail!("orphand is running{who} already, started by hand; stop it first");
    }
    Ok(())
}

/// What was at the place of a step's file before the step.
fn what_was_at(step: &Step) -> There {
    match step {
        Step::Write { path, .. } | Step::Remove(path) => what_is_at(path),
        _ => There::Nothing,
    }
}

fn was_at(there: &[(&Step, There)], path: &Path) -> There {
    let of = |step: &Step| matches!(step, Step::Write { path: own, .. } | Step::Remove(own) if own == path);
    there.iter().find(|(step, _)| of(step)).map_or(There::Nothing, |(_, there)| there.clone())
}

/// Carries a plan out and says what became of each step. An error comes with how many steps were tried.
fn do_and_say(steps: &[Step], hands: &Hands) -> Result<(), (Failure, usize)> {
    let (mut out, mut done) = (String::new(), 0);
    let ended = carry_out(steps, hands, |step, became| {
        done += 1;
        out += &said_of(step, &became);
    });
    // Where nobody reads it, it was done all the same.
    let _ = print(&printed(&out));
    ended.map_err(|failure| (failure, (done + 1).min(steps.len())))
}

/// The same of steps that all are tried.
fn say_all(steps: &[Step], hands: &Hands) -> anyhow::Result<()> {
    let mut out = String::new();
    carry_out_all(steps, hands, |step, became| out += &said_of(step, &became));
    print(&printed(&out))
}

fn said_of(step: &Step, became: &Done) -> String {
    match (became, step) {
        (Done::AsItWas, _) | (_, Step::Confirm { .. }) => String::new(),
        (Done::Failed(failure), _) => format!("failed   {failure}\n"),
        (Done::Yes, Step::Write { path, .. }) => format!("wrote    {}\n", path.display()),
        (Done::Yes, Step::Keep(path)) => format!("kept     {}, which is right already\n", path.display()),
        (Done::Yes, Step::Remove(path) | Step::RemoveEmpty(path)) => format!("removed  {}\n", path.display()),
        (Done::Yes, Step::Run { words, .. }) => format!("ran      {}\n", command_line(words)),
    }
}

fn printed(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}

/// The plan as `--print` shows it: every file with its place, every command as a comment.
fn shown(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let _ = match step {
            Step::Write { path, text } => writeln!(out, "# {}\n{text}", path.display()),
            Step::Keep(path) => writeln!(out, "# {} is right already", path.display()),
            Step::Remove(path) => writeln!(out, "# rm {}", path.display()),
            Step::RemoveEmpty(path) => writeln!(out, "# rmdir {}", path.display()),
            Step::Confirm { .. } => Ok(()),
            Step::Run { words, .. } => writeln!(out, "# {}", command_line(words)),
        };
    }
    printed(&out)
}

fn after_failure(person: &Person, wish: &Wish) -> String {
    if LAUNCHD {
        return format!(
            "orphand is not installed; `{}` takes away what was done",
            person.command("uninstall")
        );
    }
    let (user, unit) = (person.user_option(), systemd::unit_of(wish));
    format!("orphand is not installed, and all is as it was; `journalctl {user}-u {unit} -n 20` may say why")
}

/// What there is now, and how to undo it.
fn ending(person: &Person, wish: &Wish, observes: bool) -> String {
    let whose = if person.is_machine() { "for everybody on this machine" } else { "for you" };
    let only = if observes { ", but signals nothing (mode = \"observe\")" } else { "" };
    let (user, unit) = (person.user_option(), systemd::unit_of(wish));
    let mut text = if wish.timer {
        format!(
            "orphand sweeps {whose} every five minutes{only}. `journalctl {user}-u {unit}` shows what it did.\n"
        )
    } else {
        format!("orphand runs {whose}{only}. `{}` shows what it does.\n", person.command("status"))
    };
    let _ = writeln!(text, "To undo this: {}", person.command("uninstall"));
    if !person.is_machine() && !LAUNCHD {
        if !Path::new("/var/lib/systemd/linger").join(person.name()).exists() {
            text += "It stops when you log out and starts when you log in. What your sessions leave behind meanwhile stays until then. \
                     To have it run all the time: loginctl enable-linger\n";
        }
        if Path::new(MACHINE).exists() {
            text += "There is an orphand for the whole machine as well, which looks after your processes too: one of the two is enough.\n";
        }
    }
    text
}

fn of_finding(finding: &Finding) -> String {
    format!(
        "{}: `{}` is started by the clock and seems to do the same; both is one too many. To take it out: {}",
        finding.place,
        sentence(&finding.line),
        finding.remedy
    )
}
