//! Does anybody need it? Stdio, holders, visitors, and what could not be read.

use super::{Case, Holds, No, Says};
use crate::judge::Verdict;
use crate::judge::lifeline::{Lifeline, stdout_problem};
use crate::process::{Fact, Process};
use crate::tree::Head;

pub(super) fn not_stdio(case: &Case<'_>) -> Says {
    if case.tree.head == Head::Browser {
        return No("a browser is told over its debugging pipe what to do, not over stdin".to_owned());
    }
    let watches = case.tree.head == Head::Helper && case.pattern.parent_pid_arg.is_some();
    if watches && !matches!(case.root_line, Lifeline::NotStdio(_)) {
        return No("it watches a process by number, not its stdin".to_owned());
    }
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
                format!("whether a client listens to it cannot be told: process {}: {why}", process.pid()),
            );
        }
    }
    No("stdin and stdout are pipes or sockets, as a client opens them".to_owned())
}

pub(super) fn in_use(case: &Case<'_>) -> Says {
    if let Some(first) = case.users().first() {
        let what = match case.tree.head {
            Head::Browser => "still holds the other end of its debugging pipe",
            Head::Helper if case.pattern.parent_pid_arg.is_some() => "is alive, and it watches that one",
            _ => "still holds the far end of its stdin or stdout",
        };
        return Holds(Verdict::Spare, format!("{} {what}", case.describe(*first)));
    }
    let visits = case.visits();
    if let Some((pid, place)) = visits.users.first() {
        return Holds(Verdict::Spare, format!("{} is {place}", case.describe(*pid)));
    }
    if let Some((from, place)) = visits.elsewhere.first() {
        return Holds(Verdict::Spare, format!("{from} is connected to {place}"));
    }
    let traced = case.members().find_map(|process| Some((process, *process.details.tracer.known()?)));
    if let Some((process, tracer)) = traced {
        return Holds(
            Verdict::Spare,
            format!("{} is tracing process {}", case.describe(tracer), process.pid()),
        );
    }
    No("nobody who needs it holds the far ends of its stdin and stdout, or is connected to it".to_owned())
}

pub(super) fn listening(case: &Case<'_>) -> Says {
    let visits = case.visits();
    if let Some((pid, address, _)) = visits.open.iter().find(|(_, _, complete)| !complete) {
        let text = format!(
            "process {pid} listens on {address}, and not every process could be searched for who is connected"
        );
        return Holds(Verdict::Report, text);
    }
    match visits.open.first() {
        Some((pid, address, _)) if case.pattern.listens => {
            No(format!("process {pid} listens on {address}, as this server always does; nobody is connected"))
        }
        Some((pid, address, _)) => {
            let text = format!(
                "process {pid} listens on {address}; nobody is connected now, but somebody may connect (listens = true in its pattern says that this means nothing)"
            );
            Holds(Verdict::Report, text)
        }
        None if !visits.users.is_empty() || !visits.elsewhere.is_empty() => {
            No("what it listens on is in use".to_owned())
        }
        None => No("nothing in it listens on a socket for others".to_owned()),
    }
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
    // On a Mac a job of launchd's and an orphan have the same parent.
    need(
        case.root,
        "who started it",
        case.tree.adopter.is_some() && case.root.details.started_by_init.is_hidden(),
    );
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
    let alone = (case.tree.head == Head::Browser).then_some(case.root);
    for process in case.without_browsers().chain(alone) {
        need(process, "environment", process.details.marks.is_hidden());
        // Below a live client nobody asks who is connected, unless it may be reaped.
        let asked = case.tree.adopter.is_some() || case.lets_go().is_some() || case.leak.is_none();
        let sockets = process.details.listeners.is_hidden() || process.details.channels.is_hidden();
        let away = process.details.net_namespace.known().copied() != case.scene.table.observer.net_namespace;
        let place = if away { "sockets, in another network namespace," } else { "sockets" };
        need(process, place, asked && sockets);
        let traffic = !case.scene.policy.active_window.is_zero() && alone.is_none();
        need(process, "disk traffic", traffic && process.details.moved.is_hidden());
        let undecided = case.scene.policy.spare.iter().any(|rule| rule.protects(process).is_none());
        need(process, "a fact for a rule", undecided);
    }
    for (pid, stream) in case.tree.ends() {
        let Some(process) = case.scene.table.get(pid) else { continue };
        let descriptor = process.descriptor(stream);
        let open = descriptor.known().is_some_and(|descriptor| descriptor.is_stdio());
        need(process, stream.word(), descriptor.is_hidden());
        need(
            process,
            &format!("far end of the {}", stream.word()),
            open && process.far_end(stream).is_hidden(),
        );
    }
    for pid in case.managers() {
        let marks = case.scene.table.get(pid).map(|process| &process.details.marks);
        if marks.is_none_or(Fact::is_hidden) {
            missing.push(format!("environment of process {pid}, which adopted it"));
        }
    }
    missing.dedup();
    if missing.is_empty() {
        return No("every fact that the verdict needs could be read".to_owned());
    }
    // Whoever has ended cannot be read, whatever one is allowed to.
    let has_ended = |process: &Process| {
        let details = &process.details;
        details.marks == Fact::Gone || details.listeners == Fact::Gone || details.moved == Fact::Gone
    };
    let ended = case.members().find(|process| has_ended(process));
    let help = if let Some(process) = ended {
        &format!("Process {} has ended meanwhile; the next look tells", process.pid())
    } else if missing.iter().all(|what| what.contains("network namespace")) {
        "Run orphand inside that network namespace"
    } else if case.scene.table.observer.pid_namespace.is_none() {
        // A Mac: no capabilities there, and of protected programs not even root sees everything.
        "Root sees more; of Apple's own programs, such as /bin/sh, nobody sees the environment"
    } else if case.scene.table.observer.uid == 0 {
        "orphand needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH for it, and a /proc without hidepid"
    } else {
        "Run orphand as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH and a /proc without hidepid"
    };
    let more = if missing.len() > 3 { format!(" and {} more", missing.len() - 3) } else { String::new() };
    missing.truncate(3);
    let text = format!("could not be read: {}{more}. {help}", missing.join(", "));
    Holds(Verdict::Report, text)
}
