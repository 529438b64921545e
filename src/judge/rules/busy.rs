//! Is it busy? Somebody's work, a browser, disk traffic and new children.

use super::{Case, Holds, No, Says};
use crate::invocation::base_name;
use crate::judge::Verdict;
use crate::process::{Channel, Descriptor, Process, Way};
use crate::tree::{Head, MemberRole, is_browser_helper, is_headless, listens_for_debuggers};
use crate::words::duration;
use std::time::Duration;

/// A shell's training run below a terminal server is somebody's work, for ever.
pub(super) fn work(case: &Case<'_>) -> Says {
    if let Some(shell) = case.shell_below() {
        let text = format!(
            "the shell {} runs below it; somebody may have something to do there",
            case.describe(shell.pid())
        );
        return Holds(Verdict::Report, text);
    }
    if let Some(job) = case.members().find(|process| case.tree.runs_commands && case.is_other(process.pid()))
    {
        let name = case.describe(job.pid());
        let text =
            format!("{name} was started by a server that runs people's commands; it may be somebody's");
        return Holds(Verdict::Report, text);
    }
    let workers = case.members().filter(|process| case.may_work(process.pid()));
    match workers.into_iter().find_map(|process| Some((process, work_of(case, process)?))) {
        Some((process, what)) => {
            let text = format!("{} in it is no part of a server and {what}", case.describe(process.pid()));
            Holds(Verdict::Report, text)
        }
        None => No("nothing in it works on something of its own".to_owned()),
    }
}

/// What a process does on its own account: over its life, since the last look, or for others.
fn work_of(case: &Case<'_>, process: &Process) -> Option<String> {
    let table = case.scene.table;
    let program = process.arguments().first().map_or("", |program| base_name(program));
    if SOMEBODYS.contains(&program.trim_start_matches('-')) {
        return Some("is a program that somebody sits at, or that works for him elsewhere".to_owned());
    }
    if process.stdin() == Some(&Descriptor::Terminal) {
        return Some("has a terminal".to_owned());
    }
    let life = table.age(process);
    if is_busy(process.cpu, life, WORK) {
        return Some(format!("has used {} of processor time in {}", duration(process.cpu), duration(life)));
    }
    if let Some(sample) = case.scene.memory.sample(&process.id) {
        let (cpu, time) = (process.cpu.saturating_sub(sample.cpu), table.at.awake.saturating_sub(sample.at));
        if is_busy(cpu, time, WORK_BETWEEN) {
            return Some(format!(
                "has used {} of processor time in the last {}",
                duration(cpu),
                duration(time)
            ));
        }
        if process.details.moved.known().is_some_and(|moved| sample.has_moved_since(moved)) {
            return Some(format!("has moved data in the last {}", duration(time)));
        }
    }
    if let Some((_, address, _)) = case.visits().open.iter().find(|(pid, _, _)| *pid == process.pid()) {
        return Some(format!("listens on {address}"));
    }
    let outside = |channel: &&Channel| {
        let ambient = AMBIENT.iter().any(|part| channel.what.contains(part));
        let own = channel.others.pids.iter().all(|pid| case.tree.contains(*pid));
        channel.way != Way::Receives && !ambient && !(own && channel.others.elsewhere.is_empty())
    };
    let channel = process.details.channels.known()?.iter().find(outside)?;
    Some(format!("is connected: {}", channel.what))
}

/// What every program may be connected to without working on anything.
const AMBIENT: [&str; 7] = ["/systemd/", "/dev/log", "/nscd/", "dbus", "/bus", "/ssh-agent", "/keyring/"];

/// Whoever used more than this over his life works, or this between two looks, if it is also more than one part in so many
/// of the time: a worker that only waits uses that much in days.
const WORK: Duration = Duration::from_secs(1);
const WORK_BETWEEN: Duration = Duration::from_millis(50);
const IDLE: u32 = 500;
/// Programs that somebody sits at, or that wait for work that is done elsewhere.
const SOMEBODYS: [&str; 34] = [
    "ssh",
    "autossh",
    "mosh-client",
    "rsync",
    "scp",
    "sftp",
    "sshfs",
    "kubectl",
    "psql",
    "mysql",
    "terraform",
    "gdb",
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "less",
    "top",
    "htop",
    "script",
    "ipython",
    "R",
    "julia",
    "tcsh",
    "csh",
    "nu",
    "xonsh",
    "pwsh",
    "elvish",
    "osh",
    "yash",
    "ansible-playbook",
    "helm",
];

fn is_busy(used: Duration, time: Duration, least: Duration) -> bool {
    used >= least && used.saturating_mul(IDLE) >= time
}

pub(super) fn browser(case: &Case<'_>) -> Says {
    let browsers: Vec<&Process> =
        case.tree.members_of(MemberRole::Browser).filter_map(|pid| case.scene.table.get(pid)).collect();
    let Some(first) = browsers.first() else { return No("no automation browser lives below it".to_owned()) };
    let bound = case.scene.policy.browser_for;
    let since = case.seen_for().unwrap_or_default();
    let name = case.describe(first.pid());
    let alone = case.tree.head == Head::Browser;
    if alone && !is_headless(first.arguments()) {
        return Holds(Verdict::Report, format!("{name} has a window that somebody may look at"));
    }
    if alone {
        return No("its server is gone, and it shows no window".to_owned());
    }
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
    let window =
        |browser: &&&Process| !is_browser_helper(browser.arguments()) && !is_headless(browser.arguments());
    if let Some(shown) = browsers.iter().find(window) {
        let name = case.describe(shown.pid());
        let text = format!("the browser {name} below it has a window that somebody may look at");
        return Holds(Verdict::Report, text);
    }
    No(format!("the headless browser {name} below it has been spared for {}", duration(since)))
}

/// Processor time is no activity: orphans spin on a dead pipe. Nor is traffic on sockets: heartbeats go on for ever.
pub(super) fn active(case: &Case<'_>) -> Says {
    let policy = case.scene.policy;
    if policy.active_window.is_zero() {
        return No("activity does not count (spare.active_window = 0s)".to_owned());
    }
    if case.tree.adopter.is_none() {
        return No("it is not orphaned".to_owned());
    }
    let now = case.scene.table.at.awake;
    let earlier = case.sighting.and_then(|seen| seen.active_at).map(|at| now.saturating_sub(at));
    let young = |process: &&Process| {
        !case.tree.chain.contains(&process.pid()) && case.scene.table.age(process) < policy.active_window
    };
    let what = if let Some(what) = case.activity() {
        what
    } else if let Some(ago) = earlier.filter(|ago| *ago < policy.active_window) {
        format!("it was active within the last {}", duration(ago + Duration::from_secs(1)))
    } else if let Some(child) = case.without_browsers().find(young) {
        let age = case.scene.table.age(child);
        format!("it started {} {} ago", case.describe(child.pid()), duration(age))
    } else {
        return No("no disk traffic, and no new child (spare.active_window)".to_owned());
    };
    let since = case.seen_for().unwrap_or_default();
    if since >= policy.active_for {
        return No(format!("{what}, but it has been an orphan for {} (spare.active_for)", duration(since)));
    }
    let bound = duration(policy.active_for);
    Holds(Verdict::Spare, format!("{what}; spared for up to {bound} (spare.active_for)"))
}
