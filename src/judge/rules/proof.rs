//! Is it proven? Age, budget, and the three ways to end: hung up, waived, unproven.

use super::{Case, Holds, No, Says};
use crate::judge::lifeline::Lifeline;
use crate::judge::{Verdict, WithoutProof};
use crate::tree::{AdopterKind, is_named_beyond_doubt};
use crate::words::duration;

pub(super) fn young(case: &Case<'_>) -> Says {
    let Some(wait) = case.wait() else {
        return No(if case.tree.adopter.is_some() {
            "it has been orphaned for long enough".to_owned()
        } else {
            "it is not orphaned".to_owned()
        });
    };
    let policy = case.scene.policy;
    let text = if case.age() < policy.min_age {
        format!(
            "it is only {} old; it is left alone for {} (orphan.min_age)",
            duration(case.age()),
            duration(policy.min_age)
        )
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

/// Decided over all trees together, after every tree has its verdict.
pub(super) fn over_budget(case: &Case<'_>) -> Says {
    No(format!("within the {} trees of one sweep", case.scene.policy.trees_per_sweep))
}

pub(super) fn hung_up(case: &Case<'_>) -> Says {
    if case.tree.adopter.is_none() {
        return No("it is not orphaned".to_owned());
    }
    if !case.hung_up() {
        return No(format!("its lifeline is {}", case.lifeline().word()));
    }
    if let Some(why) = case.says_nothing() {
        return No(why);
    }
    if !is_named_beyond_doubt(case.pattern) {
        return No(format!(
            "nobody holds its stdin, but only the weak pattern \"{}\" names it",
            case.pattern.name
        ));
    }
    Holds(Verdict::Reap, "its client is gone: nobody holds the other end of its stdin".to_owned())
}

pub(super) fn orphaned(case: &Case<'_>) -> Says {
    let Some(adopter) = case.tree.adopter else { return No("it is not orphaned".to_owned()) };
    if !case.holders().is_empty() || case.says_nothing().is_some() {
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
    let since = case.sighting.map(|seen| case.scene.table.since_boot.saturating_sub(seen.first_seen));
    let long_enough = since.is_some_and(|since| since >= policy.without_proof_after);
    let unseen = lines.iter().any(|line| matches!(line, Lifeline::Unknown(_)))
        && lines.iter().all(|line| matches!(line, Lifeline::Unknown(_) | Lifeline::HungUp));
    let inherited = matches!(adopter.kind, AdopterKind::Init | AdopterKind::UserManager);
    if !(long_enough && unseen && inherited && is_named_beyond_doubt(case.pattern)) {
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
    if let Some(why) = case.says_nothing() {
        return Holds(Verdict::Report, why);
    }
    for line in case.lines() {
        if let Lifeline::Unknown(why) = line {
            return Holds(Verdict::Report, format!("looks orphaned, but there is no proof: {why}"));
        }
    }
    if case.hung_up() && !is_named_beyond_doubt(case.pattern) {
        let text = format!(
            "nobody holds its stdin, but only the weak pattern \"{}\" names it; add a [[server]] pattern if it is one",
            case.pattern.name
        );
        return Holds(Verdict::Report, text);
    }
    No("there is proof, one way or the other".to_owned())
}
