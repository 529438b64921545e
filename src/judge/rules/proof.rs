//! Is it proven? Age, budget, and the three ways to end: hung up, waived, unproven.

use super::{Case, Holds, No, Says};
use crate::judge::lifeline::Lifeline;
use crate::judge::{Client, Verdict, WithoutProof};
use crate::tree::{AdopterKind, Head, is_named_beyond_doubt};
use crate::words::duration;
use std::time::Duration;

/// Two samples are at least this far apart.
pub const SAMPLE_APART: Duration = Duration::from_secs(1);

pub(super) fn young(case: &Case<'_>) -> Says {
    let Some(wait) = case.wait() else {
        return No(if case.tree.adopter.is_some() {
            "it has been orphaned for long enough".to_owned()
        } else {
            "it is not orphaned".to_owned()
        });
    };
    let policy = case.scene.policy;
    let text = if case.was_owned() && case.seen_for().unwrap_or_default() < policy.min_age {
        format!(
            "it was seen below its client before; it is left alone until it has been an orphan for {} (orphan.min_age)",
            duration(policy.min_age)
        )
    } else if case.age() < policy.min_age {
        format!(
            "it is only {} old; it is left alone for {} (orphan.min_age)",
            duration(case.age()),
            duration(policy.min_age)
        )
    } else if case.sighting.is_none() && policy.confirm.is_zero() {
        "seen for the first time; a second look must tell whether it is active".to_owned()
    } else if case.sighting.is_none() {
        format!(
            "seen for the first time; a second look {} later must confirm it (orphan.confirm)",
            duration(policy.confirm)
        )
    } else {
        format!("seen orphaned a moment ago; another look in {} decides", duration(wait))
    };
    Holds(Verdict::Wait, text)
}

pub(super) fn respawning(case: &Case<'_>) -> Says {
    let (returns, most) = (case.returns(), case.scene.policy.respawns);
    if returns <= most {
        return No("it does not come back each time it is taken down".to_owned());
    }
    let text = format!(
        "it has come back {returns} times right after it was taken down (limits.respawns = {most}): something restarts it, and that has to be stopped first"
    );
    Holds(Verdict::Report, text)
}

pub(super) fn unkillable(case: &Case<'_>) -> Says {
    match case.members().find(|process| case.scene.memory.has_survived(&process.id)) {
        Some(process) => {
            let text = format!(
                "process {} has survived SIGKILL: the kernel does not let it go, and trying again would not help",
                process.pid()
            );
            Holds(Verdict::Report, text)
        }
        None => No("none of its processes has survived SIGKILL".to_owned()),
    }
}

/// Decided over all trees together, after every tree has its verdict.
pub(super) fn over_budget(case: &Case<'_>) -> Says {
    No(format!("within the {} trees of one sweep", case.scene.policy.trees_per_sweep))
}

pub(super) fn hung_up(case: &Case<'_>) -> Says {
    if case.tree.adopter.is_none() {
        return No(not_orphaned(case));
    }
    if !case.hung_up() {
        return No(format!("its lifeline is {}", case.lifeline().word()));
    }
    if let Some(doubt) = case.visits().doubt(case) {
        return No(doubt);
    }
    if let Some(why) = case.says_nothing() {
        return No(why);
    }
    if !case.tree.is_named_beyond_doubt(case.scene.catalog) {
        return No(format!(
            "nobody holds its stdin, but only the weak pattern \"{}\" names it",
            case.pattern.name
        ));
    }
    Holds(Verdict::Reap, convicted(case))
}

/// Why nobody can need it, in the words of its kind.
fn convicted(case: &Case<'_>) -> String {
    let pipe = "nobody holds the other end of its stdin";
    match case.tree.head {
        Head::Browser => "its server is gone: nobody holds the other end of its debugging pipe".to_owned(),
        Head::Helper if case.pattern.parent_pid_arg.is_some() => {
            "the process that it watches has ended".to_owned()
        }
        Head::Helper => format!("its server is gone: {pipe}"),
        Head::Kin => {
            let client = case.tree.lineage.as_ref().map_or("a client", |kin| kin.client.name.as_str());
            format!("its server {}, which {client} had started, is gone: {pipe}", case.tree.name)
        }
        Head::Server | Head::Client => match case.client() {
            Some(Client { name, pid: Some(pid), alive: true }) => {
                format!("{name} ({pid}) has lost it: {pipe}")
            }
            Some(Client { name, pid: Some(pid), alive: false }) => {
                format!("its client {name} ({pid}) is gone: {pipe}")
            }
            _ => format!("its client is gone: {pipe}"),
        },
    }
}

/// Without an adopter it has an owner, or a parent that nobody can see.
fn not_orphaned(case: &Case<'_>) -> String {
    let parent = case.root.parent.filter(|parent| case.scene.table.get(*parent).is_none());
    parent.map_or("it is not orphaned".to_owned(), |parent| format!("its parent {parent} cannot be seen"))
}

pub(super) fn orphaned(case: &Case<'_>) -> Says {
    let Some(adopter) = case.tree.adopter else { return No("it is not orphaned".to_owned()) };
    let held = !case.holders().is_empty() || case.visits().doubt(case).is_some();
    if held || case.says_nothing().is_some() {
        return No("somebody may still need it".to_owned());
    }
    let lines = [&case.root_line, &case.server_line];
    let waived = case.pattern.own && !case.pattern.stdio;
    if waived
        && lines.iter().all(|line| matches!(line, Lifeline::HungUp | Lifeline::NotStdio(_)))
        && !case.hung_up()
    {
        let text = "its parent is gone, and its pattern waives the proof (stdio = false)";
        return if adopter.kind.is_weak() {
            No("its parent is PID 1 of a container and may have started it".to_owned())
        } else {
            Holds(Verdict::Reap, text.to_owned())
        };
    }
    let policy = case.scene.policy;
    if policy.without_proof != WithoutProof::Reap {
        return No("nothing is reaped without proof (orphan.without_proof)".to_owned());
    }
    let since = case.seen_for();
    let long_enough = since.is_some_and(|since| since >= policy.without_proof_after);
    let unseen = lines.iter().any(|line| matches!(line, Lifeline::Unknown(_)))
        && lines.iter().all(|line| matches!(line, Lifeline::Unknown(_) | Lifeline::HungUp));
    let inherited = matches!(adopter.kind, AdopterKind::Init | AdopterKind::UserManager);
    let named = is_named_beyond_doubt(case.pattern) && case.tree.head == Head::Server;
    if !(long_enough && unseen && inherited && named) {
        return No("the conditions of orphan.without_proof = \"reap\" are not met".to_owned());
    }
    let text = format!("orphaned for {}; you allow that without proof", duration(since.unwrap_or_default()));
    Holds(Verdict::Reap, text)
}

pub(super) fn unproven(case: &Case<'_>) -> Says {
    if case.tree.adopter.is_none() {
        return No("it is not orphaned".to_owned());
    }
    if case.users().is_empty()
        && let Some(holder) = case.holders().first()
    {
        let text = format!(
            "{} holds the far end of its stdin or stdout, perhaps only by inheritance",
            case.describe(*holder)
        );
        return Holds(Verdict::Report, text);
    }
    if let Some(doubt) = case.visits().doubt(case) {
        return Holds(Verdict::Report, doubt);
    }
    if let Some(why) = case.says_nothing() {
        return Holds(Verdict::Report, why);
    }
    if case.pattern.own
        && !case.pattern.stdio
        && case.tree.adopter.is_some_and(|adopter| adopter.kind.is_weak())
    {
        let text = "its pattern waives the proof (stdio = false), but its parent may have started it";
        return Holds(Verdict::Report, text.to_owned());
    }
    for line in case.lines() {
        if let Lifeline::Unknown(why) = line {
            return Holds(Verdict::Report, format!("looks orphaned, but there is no proof: {why}"));
        }
    }
    if case.hung_up() && !case.tree.is_named_beyond_doubt(case.scene.catalog) {
        let text = format!(
            "nobody holds its stdin, but only the weak pattern \"{}\" names it; add a [[server]] pattern if it is one",
            case.pattern.name
        );
        return Holds(Verdict::Report, text);
    }
    No("there is proof, one way or the other".to_owned())
}
