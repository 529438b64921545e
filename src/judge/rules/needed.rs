//! Does anybody need it? Stdio, holders, work and browsers below it, and what could not be read.

use super::{Case, Holds, No, Says};
use crate::invocation::base_name;
use crate::judge::Verdict;
use crate::judge::lifeline::{Lifeline, stdout_problem};
use crate::process::Process;
use crate::process::Stream;
use crate::tree::{MemberRole, is_headless, listens_for_debuggers};
use crate::words::duration;
use std::time::Duration;

pub(super) fn not_stdio(case: &Case<'_>) -> Says {
    if case.pattern.own && !case.pattern.stdio {
        return No("its pattern says that it does not speak over stdin (stdio = false)".to_owned());
    }
    for process in case.chain() {
        let Some(form) =
            case.scene.roles.get(process.pid()).and_then(|known| known.invocation.network_form())
        else {
            continue;
        };
        return Holds(
            Verdict::Spare,
            format!("`{form}` makes it a network server or daemon; nobody needs its stdin"),
        );
    }
    for (process, line) in [(case.root, &case.root_line), (case.server, &case.server_line)] {
        if let Lifeline::NotStdio(why) = line {
            return Holds(
                Verdict::Spare,
                format!("no client talks to it over stdin: process {}: {why}", process.pid()),
            );
        }
        if let Some(why) = stdout_problem(process) {
            return Holds(
                Verdict::Spare,
                format!("no client listens to it: process {}: {why}", process.pid()),
            );
        }
    }
    No("stdin and stdout are pipes or sockets, as a client opens them".to_owned())
}

pub(super) fn in_use(case: &Case<'_>) -> Says {
    if let Some(first) = case.users().first() {
        let text = format!("{} still holds the far end of its stdin or stdout", case.describe(*first));
        return Holds(Verdict::Spare, text);
    }
    let traced = case.members().find_map(|process| Some((process, *process.details.tracer.known()?)));
    if let Some((process, tracer)) = traced {
        return Holds(
            Verdict::Spare,
            format!("{} is tracing process {}", case.describe(tracer), process.pid()),
        );
    }
    No("no client, host or ancestor holds the far ends of its stdin and stdout".to_owned())
}

/// Who is connected is not looked at yet, so every listener is left to a person.
pub(super) fn listening(case: &Case<'_>) -> Says {
    let listener = case.without_browsers().find_map(|process| {
        let address = process.details.listeners.known()?.first()?;
        Some(format!("process {} listens on {address}; somebody may be connected", process.pid()))
    });
    listener.map_or_else(|| No("it listens on no socket".to_owned()), |text| Holds(Verdict::Report, text))
}

pub(super) fn unreadable(case: &Case<'_>) -> Says {
    let mut missing: Vec<String> = Vec::new();
    let mut need = |process: &Process, what: &str, hidden: bool| {
        if hidden {
            missing.push(format!("{what} of process {}", process.pid()));
        }
    };
    if case.root.parent.is_some_and(|parent| case.scene.table.get(parent).is_none()) {
        need(case.root, "parent", true);
    }
    for process in case.chain() {
        need(process, "PID namespace", process.details.pid_namespace.is_hidden());
    }
    for process in case.members() {
        need(process, "user", process.details.users.is_hidden());
        // An empty command line is one that was wiped: anything may hide behind it.
        need(process, "command line", process.arguments().is_empty());
        need(process, "tracer", process.details.tracer.is_hidden());
    }
    // Browsers shut themselves off; whom they belong to is known from above.
    for process in case.without_browsers() {
        need(process, "environment", process.details.marks.is_hidden());
        need(process, "sockets", process.details.listeners.is_hidden());
        let undecided = case.scene.policy.spare.iter().any(|rule| rule.protects(process).is_none());
        need(process, "a fact for a rule", undecided);
    }
    for (pid, stream) in case.tree.ends() {
        let Some(process) = case.scene.table.get(pid) else { continue };
        let descriptor = process.descriptor(stream);
        let open = descriptor.known().is_some_and(|descriptor| descriptor.is_stdio());
        let hidden = descriptor.is_hidden() || (open && process.far_end(stream).is_hidden());
        need(process, if stream == Stream::Stdin { "stdin" } else { "stdout" }, hidden);
    }
    missing.dedup();
    if missing.is_empty() {
        return No("every fact that the verdict needs could be read".to_owned());
    }
    let more = if missing.len() > 3 { format!(" and {} more", missing.len() - 3) } else { String::new() };
    missing.truncate(3);
    let text = format!(
        "could not be read: {}{more}. Run orphand as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH and a /proc without hidepid",
        missing.join(", ")
    );
    Holds(Verdict::Report, text)
}

/// A shell's training run below a terminal server is somebody's work, for ever. Until samples of disk and network tell
/// more, processor time is the evidence, and for a few programs their name.
pub(super) fn work(case: &Case<'_>) -> Says {
    let working = |process: &&Process| {
        case.may_work(process.pid()) && is_working(process, case.scene.table.age(process))
    };
    match case.members().find(working) {
        Some(process) => {
            let used = duration(process.cpu);
            let life = duration(case.scene.table.age(process));
            let text = format!(
                "{} in it is no part of a server and has used {used} of processor time in {life}",
                case.describe(process.pid())
            );
            Holds(Verdict::Report, text)
        }
        None => No("nothing in it works on something of its own".to_owned()),
    }
}

/// Whoever used more than this works, if it is also more than one part in so many of his life: a worker that only waits
/// uses that much in days.
const WORK: Duration = Duration::from_secs(1);
const IDLE: u32 = 500;
/// Their work is done elsewhere.
const WORKS_ELSEWHERE: [&str; 6] = ["ssh", "mosh-client", "rsync", "scp", "sftp", "kubectl"];

fn is_working(process: &Process, age: Duration) -> bool {
    let program = process.arguments().first().map_or("", |program| base_name(program));
    let busy = process.cpu >= WORK && process.cpu.saturating_mul(IDLE) >= age;
    busy || WORKS_ELSEWHERE.contains(&program)
}

pub(super) fn browser(case: &Case<'_>) -> Says {
    let browsers: Vec<&Process> =
        case.tree.members_of(MemberRole::Browser).filter_map(|pid| case.scene.table.get(pid)).collect();
    let Some(first) = browsers.first() else { return No("no automation browser lives below it".to_owned()) };
    let bound = case.scene.policy.browser_for;
    let since = case
        .sighting
        .map_or(Duration::ZERO, |seen| case.scene.table.since_boot.saturating_sub(seen.first_seen));
    let name = case.describe(first.pid());
    if since < bound {
        let text = format!(
            "the browser {name} lives below it; spared for up to {} (spare.browser_for)",
            duration(bound)
        );
        return Holds(Verdict::Spare, text);
    }
    if browsers.iter().any(|browser| listens_for_debuggers(browser.arguments())) {
        let text = format!("the browser {name} below it has a debugging port that anybody may use");
        return Holds(Verdict::Report, text);
    }
    if !is_headless(first.arguments()) {
        let text = format!("the browser {name} below it has a window that somebody may look at");
        return Holds(Verdict::Report, text);
    }
    No(format!("the headless browser {name} below it has been spared for {}", duration(since)))
}
