//! What systemd says when it is asked.

use super::{SERVICE, TIMER, UNITS, USER, systemctl};
use crate::install::{Hands, Scope};

/// Units that systemd itself says something of.
#[derive(Clone, Default, Debug)]
pub struct Known {
    /// Those that it would start by itself.
    pub enabled: Vec<&'static str>,
    /// Those that are not at rest.
    pub active: Vec<&'static str>,
    /// Whether there is the user that the machine's service runs as.
    pub account: bool,
}

impl Known {
    /// Asks systemd. Where it cannot be asked, nothing is known.
    pub fn ask(scope: Scope, hands: &Hands) -> Known {
        let says = |verb: &str, unit: &str| {
            let answer = hands.answer(&[systemctl(scope).as_slice(), &[verb, unit]].concat());
            answer.unwrap_or_default().trim().to_owned()
        };
        let enabled = UNITS.into_iter().filter(|unit| says("is-enabled", unit).starts_with("enabled"));
        let at_work =
            |unit: &&str| !["", "inactive", "unknown", "failed"].contains(&says("is-active", unit).as_str());
        let active = UNITS.into_iter().filter(at_work).collect();
        Known { enabled: enabled.collect(), active, account: uzers::get_user_by_name(USER).is_some() }
    }
}

/// What systemd has to do with orphand, in words for whoever finds no daemon; `None` where it has nothing to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// A timer sweeps; when it has last, and when it will next, in systemd's words.
    Sweeps(String),
    /// The service is there and does not run: its state, in systemd's words.
    Down(String),
}

impl Standing {
    /// Asks systemd.
    pub fn ask(scope: Scope, hands: &Hands) -> Option<Standing> {
        let known = Known::ask(scope, hands);
        let show = |unit: &str, property: &str| {
            let words =
                [systemctl(scope).as_slice(), &["show", "--value", "--property", property, unit]].concat();
            hands.answer(&words).unwrap_or_default().trim().to_owned()
        };
        if known.active.contains(&TIMER) {
            let moment = |property: &str| {
                Some(show(TIMER, property)).filter(|moment| !moment.is_empty() && moment != "n/a")
            };
            let last =
                moment("LastTriggerUSec").map_or("not yet".to_owned(), |moment| format!("last {moment}"));
            let next =
                moment("NextElapseUSecRealtime").map_or(String::new(), |moment| format!(", next {moment}"));
            return Some(Standing::Sweeps(last + &next));
        }
        let state = show(SERVICE, "ActiveState");
        (known.enabled.contains(&SERVICE) || state == "failed").then_some(Standing::Down(state))
    }
}
