//! What systemd says when it is asked.

use super::{Places, SERVICE, TIMER, UNITS, USER, systemctl};
use crate::install::{Hands, Scope};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What systemd itself says of the units.
#[derive(Clone, Default, Debug)]
pub struct Known {
    /// Those that it would start by itself.
    pub enabled: Vec<&'static str>,
    /// Those that are not at rest.
    pub active: Vec<&'static str>,
    /// The file that it has each from, where it has one.
    pub fragments: BTreeMap<&'static str, PathBuf>,
    /// Whether there is the user that the machine's service runs as.
    pub account: bool,
}

const PROPERTIES: &str = "Id,UnitFileState,ActiveState,FragmentPath,LastTriggerUSec,NextElapseUSecRealtime";

/// Properties of each unit; none where systemd cannot be asked.
fn properties(scope: Scope, hands: &Hands) -> Vec<(&'static str, BTreeMap<String, String>)> {
    let words = [systemctl(scope).as_slice(), &["show", "--property", PROPERTIES], &UNITS].concat();
    let answer = hands.ask(&words).unwrap_or_default();
    let blocks = answer.split("\n\n").map(|block| {
        let lines = block.lines().filter_map(|line| line.split_once('='));
        lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>()
    });
    let of_unit = |block: BTreeMap<String, String>| {
        let unit = UNITS.into_iter().find(|unit| block.get("Id").is_some_and(|id| id == unit))?;
        Some((unit, block))
    };
    blocks.filter_map(of_unit).collect()
}

impl Known {
    /// Asks systemd. Where it cannot be asked, nothing is known.
    pub fn ask(scope: Scope, places: &Places, hands: &Hands) -> Known {
        let mut known = Known { account: uzers::get_user_by_name(USER).is_some(), ..Known::default() };
        for (unit, properties) in properties(scope, hands) {
            let is = |name: &str| properties.get(name).map_or("", String::as_str);
            if is("UnitFileState").starts_with("enabled") {
                known.enabled.push(unit);
            }
            if !["", "inactive", "failed"].contains(&is("ActiveState")) {
                known.active.push(unit);
            }
            if !is("FragmentPath").is_empty() {
                known.fragments.insert(unit, as_we_call_it(PathBuf::from(is("FragmentPath")), places));
            }
        }
        known
    }
}

/// `/lib` may be `/usr/lib`, and homes are linked to elsewhere: one file, one path.
fn as_we_call_it(path: PathBuf, places: &Places) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let ours = [&places.units, &places.packaged];
    let ours = ours.into_iter().find(|ours| folder.is_some() && ours.canonicalize().ok() == folder);
    match (ours, path.file_name()) {
        (Some(ours), Some(name)) => ours.join(name),
        _ => path,
    }
}

/// What systemd has to do with orphand, for whoever finds no daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// A timer sweeps; when it has last, and when it will next, in systemd's words.
    Sweeps(String),
    /// The service is there and runs: it answers elsewhere, or is just beginning.
    Up(String),
    /// The service is there and does not run: its state, in systemd's words.
    Down(String),
}

impl Standing {
    /// Asks systemd. `None` where it has nothing to do with orphand, or cannot be asked.
    pub fn ask(scope: Scope, hands: &Hands) -> Option<Standing> {
        let all: BTreeMap<&str, BTreeMap<String, String>> = properties(scope, hands).into_iter().collect();
        let is = |unit: &str, name: &str| {
            all.get(unit).and_then(|properties| properties.get(name)).map_or("", String::as_str)
        };
        if is(TIMER, "ActiveState") == "active" {
            let moment = |name: &str| Some(is(TIMER, name)).filter(|moment| !["", "n/a"].contains(moment));
            let last =
                moment("LastTriggerUSec").map_or("not yet".to_owned(), |moment| format!("last {moment}"));
            let next =
                moment("NextElapseUSecRealtime").map_or(String::new(), |moment| format!(", next {moment}"));
            return Some(Standing::Sweeps(last + &next));
        }
        let state = is(SERVICE, "ActiveState").to_owned();
        match state.as_str() {
            "active" | "activating" | "reloading" => Some(Standing::Up(state)),
            "failed" => Some(Standing::Down(state)),
            _ if is(SERVICE, "UnitFileState").starts_with("enabled") => Some(Standing::Down(state)),
            _ => None,
        }
    }
}
