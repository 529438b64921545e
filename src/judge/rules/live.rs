//! Leaks below a client that lives: shown, and reaped only where the user says so.

use super::{Case, Holds, No, Says};
use crate::judge::live::Leak;
use crate::judge::{Live, Verdict};

pub(super) fn hung_up(case: &Case<'_>) -> Says {
    let leak = case.leak.and_then(|leak| Some((leak, leak.hung_up.as_deref()?)));
    rule(case, leak, case.scene.policy.live.hung_up, "live.hung_up", "its client can reach it")
}

pub(super) fn duplicate(case: &Case<'_>) -> Says {
    let leak = case.leak.and_then(|leak| Some((leak, leak.duplicate.as_deref()?)));
    rule(
        case,
        leak,
        case.scene.policy.live.duplicates,
        "live.duplicates",
        "its client has no newer copy of it",
    )
}

pub(super) fn idle(case: &Case<'_>) -> Says {
    let leak = case.leak.and_then(|leak| Some((leak, leak.idle.as_deref()?)));
    rule(
        case,
        leak,
        case.scene.policy.live.idle,
        "live.idle",
        "no look has seen it idle below a live client for long",
    )
}

fn rule(case: &Case<'_>, leak: Option<(&Leak, &str)>, setting: Live, key: &str, otherwise: &str) -> Says {
    match (leak, setting) {
        (None, _) if case.tree.adopter.is_some() => No("it has no live client".to_owned()),
        (None, _) if !case.has_client() => No("it is not below a client that is known".to_owned()),
        (None, _) => No(otherwise.to_owned()),
        (Some((_, why)), Live::Ignore) => No(format!("{why}; you do not want to know ({key})")),
        (Some((_, why)), Live::Report) => Holds(Verdict::Report, format!("{why} ({key})")),
        (Some((leak, why)), Live::Reap) => match leak.stays {
            Some(stays) => Holds(Verdict::Report, format!("{why}; {stays}, so it is not reaped")),
            None => No(format!("{why}; you let it go ({key} = \"reap\") if nothing else speaks against it")),
        },
    }
}
