//! Does anybody need it? Stdio, holders, work and browsers below it, and what could not be read.

use super::{Case, Holds, No, Says};
use crate::judge::Verdict;
use crate::judge::lifeline::{Lifeline, stdout_problem};
use crate::process::Process;
use crate::tree::{MemberRole, is_headless};
use crate::words::duration;
use std::time::Duration;

/// Whoever used more than this works; a worker that only waits uses less.
const WORK: Duration = Duration::from_secs(1);

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
    let users = case.users();
    if let Some(first) = users.first() {
        return Holds(
            Verdict::Spare,
            format!("{} still holds the far end of its stdin", case.describe(*first)),
        );
    }
    No("no client, host or ancestor holds the far end of its stdin".to_owned())
}

pub(super) fn unreadable(case: &Case<'_>) -> Says {
    let mut missing: Vec<String> = Vec::new();
    let mut need = |process: &Process, what: &str, hidden: bool| {
        if hidden {
            missing.push(format!("{what} of process {}", process.pid()));
        }
    };
    for process in case.chain() {
        let details = &process.details;
        need(process, "user", details.users.is_hidden());
        need(process, "PID namespace", details.pid_namespace.is_hidden());
        need(process, "environment", details.marks.is_hidden());
        let undecided = case.scene.policy.spare.iter().any(|rule| rule.protects(process).is_none());
        need(process, "a fact for a spare rule", undecided);
    }
    for process in [case.root, case.server] {
        need(process, "stdin", process.details.stdio[0].is_hidden());
        need(process, "stdout", process.details.stdio[1].is_hidden());
        let open = process.stdin().is_some_and(|stdin| stdin.is_stdio());
        need(process, "far end of stdin", open && process.details.far_end.is_hidden());
    }
    for process in case.tree.members.iter().filter_map(|member| case.scene.table.get(member.pid)) {
        need(process, "command line", process.command.is_hidden());
        need(process, "user", process.details.users.is_hidden());
    }
    missing.dedup();
    if missing.is_empty() {
        return No("every fact that the verdict needs could be read".to_owned());
    }
    let more = if missing.len() > 3 { format!(" and {} more", missing.len() - 3) } else { String::new() };
    missing.truncate(3);
    let text = format!(
        "could not be read: {}{more}. Run orphand as root or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH to see it",
        missing.join(", ")
    );
    Holds(Verdict::Report, text)
}

/// A shell's training run below a terminal server is somebody's work, for ever. Until samples of disk and network tell
/// more, processor time is the evidence.
pub(super) fn work(case: &Case<'_>) -> Says {
    let others = case.tree.members_of(MemberRole::Other).filter_map(|pid| case.scene.table.get(pid));
    match others.into_iter().find(|process| process.cpu >= WORK) {
        Some(process) => {
            let used = duration(process.cpu);
            let text = format!(
                "{} below it is no part of a server and has used {used} of processor time",
                case.describe(process.pid())
            );
            Holds(Verdict::Report, text)
        }
        None => No("nothing below it works on something of its own".to_owned()),
    }
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
    if !is_headless(first.arguments()) {
        let text = format!("the browser {name} below it has a window that somebody may look at");
        return Holds(Verdict::Report, text);
    }
    No(format!("the headless browser {name} below it has been spared for {}", duration(since)))
}
