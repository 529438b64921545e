//! Whose tree is it? Owners, other users, the user's own rules, service managers, clients.

use super::{Case, Holds, No, Says};
use crate::catalog::Role;
use crate::judge::Verdict;
use crate::process::{Fact, Pid, Process};
use crate::tree::{AdopterKind, Head, Member, MemberRole};

pub(super) fn owned(case: &Case<'_>) -> Says {
    if let Some(adopter) = case.tree.adopter {
        let what = match adopter.kind {
            AdopterKind::Init => "init",
            AdopterKind::UserManager => "the user's service manager",
            AdopterKind::Wsl => "WSL's init",
            AdopterKind::Configured => "an adopter by configuration",
            AdopterKind::Subreaper => "a process that was seen to adopt it",
            AdopterKind::ContainerInit => "PID 1, which is no init",
        };
        return No(format!("its parent is {what} ({}), which inherits orphans", adopter.pid));
    }
    if case.lets_go().is_some() {
        return No("its client lives, and you let it go all the same".to_owned());
    }
    match case.root.parent {
        None => Holds(Verdict::Spare, "its parent is outside this PID namespace (PPID 0)".to_owned()),
        Some(parent) if case.scene.table.get(parent).is_none() => {
            No(format!("its parent {parent} cannot be seen: it ended, or /proc hides it (hidepid)"))
        }
        Some(parent) => Holds(Verdict::Spare, format!("its parent {} is alive", case.describe(parent))),
    }
}

pub(super) fn foreign(case: &Case<'_>) -> Says {
    let observer = &case.scene.table.observer;
    let own_uid = case.root.details.users.known().map(|users| users.real);
    for process in case.chain() {
        if let (Some(theirs), Some(ours)) = (process.details.pid_namespace.known(), observer.pid_namespace)
            && *theirs != ours
        {
            return Holds(
                Verdict::Spare,
                format!("process {} lives in another PID namespace, a container", process.pid()),
            );
        }
        if let Some(users) = process.details.users.known()
            && !observer.machine
            && (users.real != observer.uid || users.effective != observer.uid)
        {
            return Holds(Verdict::Spare, format!("process {} belongs to another user", process.pid()));
        }
    }
    // Not only the chain: whoever may stop his own server must not be able to aim orphand at somebody else's process.
    for member in case.tree.members.iter().filter_map(|member| case.scene.table.get(member.pid)) {
        if let (Some(users), Some(own)) = (member.details.users.known(), own_uid)
            && (users.real != own || users.effective != own)
        {
            return Holds(
                Verdict::Spare,
                format!("process {} runs as another user than its root", member.pid()),
            );
        }
    }
    No("all its processes are of one user, in this PID namespace".to_owned())
}

pub(super) fn protected(case: &Case<'_>) -> Says {
    let observer = case.scene.table.observer.pid;
    let own_line = case.scene.table.ancestors(observer);
    if own_line.iter().chain([&observer]).any(|pid| case.tree.contains(*pid)) {
        return Holds(Verdict::Spare, "orphand itself was started from it".to_owned());
    }
    if let Some(why) = case.members().find_map(|process| case.scene.policy.protection_of(process)) {
        return Holds(Verdict::Spare, why);
    }
    No("no rule of yours names it, and ORPHAND=keep is not in its environment".to_owned())
}

pub(super) fn managed(case: &Case<'_>) -> Says {
    let Some(adopter) = case.tree.adopter else { return No("its parent is no service manager".to_owned()) };
    let manager = matches!(adopter.kind, AdopterKind::Init | AdopterKind::UserManager);
    let exec_pid = case.root.details.marks.known().and_then(|marks| marks.systemd_exec_pid.as_deref());
    if manager && exec_pid == Some(case.root.pid().to_string().as_str()) {
        let text = "systemd itself started it (SYSTEMD_EXEC_PID is its own pid): it is a service";
        return Holds(Verdict::Spare, text.to_owned());
    }
    if adopter.kind == AdopterKind::Init && case.root.details.started_by_init == Fact::Known(true) {
        let text = "launchd itself started it, and did not inherit it: it is a job of launchd's";
        return Holds(Verdict::Spare, text.to_owned());
    }
    // Below a subreaper it still descends from what runs that one.
    // A login session descends from sshd's service too, but in a unit of its own.
    let runs_it = |process: &&Process| {
        let marks = process.details.marks.known();
        let own_pid = process.pid().to_string();
        let same_unit = match (&case.root.details.cgroup, &process.details.cgroup) {
            (Fact::Known(own), Fact::Known(theirs)) => own.starts_with(theirs.as_str()),
            _ => true,
        };
        same_unit && marks.is_some_and(|marks| marks.systemd_exec_pid.as_deref() == Some(own_pid.as_str()))
    };
    let managers = case.managers();
    if let Some(process) = managers.into_iter().filter_map(|pid| case.scene.table.get(pid)).find(runs_it) {
        let pid = process.pid();
        let text = format!("it descends from {}, which systemd runs as a service", case.describe(pid));
        return Holds(Verdict::Spare, text);
    }
    No("no service manager started it itself".to_owned())
}

pub(super) fn contains_client(case: &Case<'_>) -> Says {
    if case.tree.head == Head::Client {
        let text = "it is a client that nobody can reach any more: an agent without the program that drove it. It may still be at work; end it yourself if it is not";
        return Holds(Verdict::Report, text.to_owned());
    }
    if let Some(pid) = case.tree.members_of(MemberRole::Client).next() {
        return Holds(Verdict::Report, format!("the client {} lives below it", case.describe(pid)));
    }
    let members = case.tree.members.iter().map(|member| member.pid);
    match members.into_iter().find(|pid| case.scene.roles.role(*pid) == Some(Role::Host)) {
        Some(pid) => {
            Holds(Verdict::Report, format!("{} lives below it, and owns what it starts", case.describe(pid)))
        }
        None => runs_servers(case),
    }
}

/// Whoever starts servers below it without being one is a client, known or not.
fn runs_servers(case: &Case<'_>) -> Says {
    let nested = case.tree.members_of(MemberRole::Server).filter(|pid| *pid != case.tree.server);
    // What is only known from earlier looks may be anything: an agent that has started servers, too.
    let only_known = |pid: Pid| case.tree.head == Head::Kin && pid == case.tree.root;
    let is = |pid: Pid, role: MemberRole| case.tree.members.contains(&Member { pid, role });
    let unknown = nested.into_iter().find_map(|server| {
        let launcher = |pid: &Pid| is(*pid, MemberRole::Launcher) && !only_known(*pid);
        let parent = case.scene.table.ancestors(server).into_iter().find(|pid| !launcher(pid))?;
        (is(parent, MemberRole::Other) || only_known(parent)).then_some(parent)
    });
    match unknown {
        Some(pid) => {
            let text = format!("{} below it has started a server itself, as clients do", case.describe(pid));
            Holds(Verdict::Report, text)
        }
        None => No("no client or host lives below it".to_owned()),
    }
}
