//! Validated settings. Built from layers; what exists here cannot be wrong any more.

use super::layer::{Layer, Origin, Value, nearest};
use super::{CATALOG, Problem};
use crate::catalog::{Catalog, PatternText, Role};
use crate::judge::{Live, LivePolicy, Policy, SpareRule, SpareText, WithoutProof};
use crate::reap::Timing;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Whether orphand acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Judge and take down.
    Enforce,
    /// Judge and say so, never signal.
    Observe,
}

/// After SIGKILL a process that cannot end within this time is in the kernel's hands.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Nobody waits longer, and sums of such times cannot overflow.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Everything that can be set.
#[derive(Debug)]
pub struct Settings {
    /// Whether orphand acts.
    pub mode: Mode,
    /// How trees are judged.
    pub policy: Policy,
    /// How they are taken down.
    pub timing: Timing,
    /// How often the daemon looks when nothing happens.
    pub look_interval: Duration,
    /// Where to remember; `None` for the usual place.
    pub state_directory: Option<PathBuf>,
    /// Where the daemon can be found; `None` for the usual place.
    pub runtime_directory: Option<PathBuf>,
    /// Shipped patterns and the user's own.
    pub catalog: Catalog,
    /// Digest of everything that they were read from: the same as long as nobody has changed a word.
    pub source: u64,
    /// Every value in force, for `config show`.
    pub shown: Vec<Shown>,
    /// The user's own patterns and rules, by kind, name and origin.
    pub own: Vec<(String, String, Origin)>,
    /// The user's own patterns as they are written; they are the last ones of the catalog, in this order.
    pub(super) own_patterns: Vec<(Role, PatternText, Origin)>,
    /// The user's own rules as they are written.
    pub(super) own_rules: Vec<(SpareText, Origin)>,
}

/// A value in force.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Dotted key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Who said so.
    pub origin: Origin,
}

impl Settings {
    /// Merges and validates. The first layer is the built-in one; its keys are all the keys there are.
    pub(super) fn of_layers(layers: Vec<Layer>) -> Result<Settings, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut merged: BTreeMap<String, (Value, Origin)> = BTreeMap::new();
        let mut patterns = Vec::new();
        let mut rules = Vec::new();
        let mut discovered = Vec::new();
        for (at, layer) in layers.into_iter().enumerate() {
            for (key, (value, origin)) in layer.values {
                if at > 0 && !merged.contains_key(&key) {
                    let hint = nearest(&key, merged.keys().map(String::as_str));
                    let hint = hint.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
                    problems.push(Problem { origin, text: format!("unknown key `{key}`{hint}") });
                    continue;
                }
                merged.insert(key, (value, origin));
            }
            let found = layer.discovered;
            let of_layer = layer
                .patterns
                .into_iter()
                .map(|(role, pattern, origin)| (role, PatternText { discovered: found, ..pattern }, origin));
            if found { &mut discovered } else { &mut patterns }.extend(of_layer);
            rules.extend(layer.spare);
        }
        patterns.extend(discovered);
        let mut own: Vec<(String, String, Origin)> = Vec::new();
        for (role, pattern, origin) in &patterns {
            own.push((format!("{role:?}").to_lowercase(), pattern.name.clone(), origin.clone()));
        }
        for (rule, origin) in &rules {
            own.push(("protect".to_owned(), rule.naming.name.clone(), origin.clone()));
        }
        let (own_patterns, own_rules) = (patterns.clone(), rules.clone());
        let catalog = compile_catalog(patterns, &mut problems);
        let mut spare = Vec::new();
        for (rule, origin) in rules {
            match SpareRule::compile(rule, uid_of) {
                Ok(rule) => spare.push(rule),
                Err(error) => problems.push(Problem { origin, text: error.to_string() }),
            }
        }
        let mut reader = Reader { merged: &merged, problems: &mut problems };
        let settings = reader.settings(catalog, spare);
        if reader.problems.is_empty() {
            reader.check_sense(&settings);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let shown = merged.into_iter().map(|(key, (value, origin))| Shown { key, value, origin }).collect();
        Ok(Settings { shown, own, own_patterns, own_rules, ..settings })
    }
}

/// Reads typed values and collects what is wrong with them.
struct Reader<'a> {
    merged: &'a BTreeMap<String, (Value, Origin)>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn settings(&mut self, catalog: Catalog, spare: Vec<SpareRule>) -> Settings {
        let policy = Policy {
            min_age: self.duration("orphan.min_age"),
            confirm: self.duration("orphan.confirm"),
            without_proof: self.one_of(
                "orphan.without_proof",
                &[("report", WithoutProof::Report), ("reap", WithoutProof::Reap)],
            ),
            without_proof_after: self.duration("orphan.without_proof_after"),
            browser_for: self.duration("spare.browser_for"),
            active_window: self.duration("spare.active_window"),
            active_for: self.duration("spare.active_for"),
            respawns: self.count("limits.respawns"),
            live: LivePolicy {
                hung_up: self.live("live.hung_up"),
                duplicates: self.live("live.duplicates"),
                copies: self.count("live.copies"),
                idle: self.live("live.idle"),
                idle_for: self.duration("live.idle_for"),
            },
            trees_per_sweep: self.count("limits.trees_per_sweep"),
            spare,
        };
        let timing = Timing {
            settle: self.duration("reap.settle"),
            grace: self.duration("reap.grace"),
            browser_grace: self.duration("reap.browser_grace"),
            last_wait: LAST_WAIT,
        };
        let mode = self.one_of("mode", &[("enforce", Mode::Enforce), ("observe", Mode::Observe)]);
        let look_interval = self.duration("look.interval");
        let state_directory = self.directory("state.directory");
        let runtime_directory = self.directory("state.runtime_directory");
        Settings {
            mode,
            policy,
            timing,
            look_interval,
            state_directory,
            runtime_directory,
            catalog,
            source: 0,
            shown: Vec::new(),
            own: Vec::new(),
            own_patterns: Vec::new(),
            own_rules: Vec::new(),
        }
    }

    /// Values that are right alone and wrong together.
    fn check_sense(&mut self, settings: &Settings) {
        let timing = &settings.timing;
        if timing.grace.is_zero() {
            self.fail(
                "reap.grace",
                "must be longer than 0s: servers need time to end by themselves".to_owned(),
            );
        }
        if settings.look_interval < Duration::from_secs(1) {
            self.fail("look.interval", "must be at least 1s".to_owned());
        }
        if timing.settle > timing.grace {
            self.fail_one("reap.settle", "must not be longer than", "reap.grace", "must not be shorter than");
        }
        if timing.browser_grace < timing.grace {
            self.fail_one(
                "reap.browser_grace",
                "must not be shorter than",
                "reap.grace",
                "must not be longer than",
            );
        }
        if settings.policy.without_proof_after < settings.policy.min_age {
            self.fail("orphan.without_proof_after", "must not be shorter than orphan.min_age".to_owned());
        }
        if settings.policy.live.copies == 0 {
            let text = "must be at least 1; write live.duplicates = \"ignore\" to hear nothing of copies";
            self.fail("live.copies", text.to_owned());
        }
        if settings.policy.live.idle_for.is_zero() {
            self.fail("live.idle_for", "must be longer than 0s".to_owned());
        }
        if settings.policy.trees_per_sweep == 0 {
            let text = "must be at least 1; write mode = \"observe\" to reap nothing";
            self.fail("limits.trees_per_sweep", text.to_owned());
        }
    }

    fn fail(&mut self, key: &str, text: String) {
        let origin =
            self.merged.get(key).map_or(Origin::built_in("default.toml"), |(_, origin)| origin.clone());
        self.problems.push(Problem { origin, text: format!("`{key}` {text}") });
    }

    /// Of two values that do not go together the one that the user wrote is at fault.
    fn fail_one(&mut self, key: &str, problem: &str, other: &str, otherwise: &str) {
        let written = |key: &str| self.merged.get(key).is_some_and(|(_, origin)| !origin.is_built_in());
        if written(key) || !written(other) {
            self.fail(key, format!("{problem} {other}"));
        } else {
            self.fail(other, format!("{otherwise} {key}"));
        }
    }

    fn text(&mut self, key: &str) -> String {
        match self.merged.get(key) {
            Some((Value::Text(text), _)) => text.clone(),
            Some((Value::Number(_), _)) => {
                self.fail(key, "must be text in quotes".to_owned());
                String::new()
            }
            None => String::new(),
        }
    }

    /// An absolute path, or nothing where the text is empty.
    fn directory(&mut self, key: &str) -> Option<PathBuf> {
        let directory = PathBuf::from(self.text(key));
        if directory.as_os_str().is_empty() {
            return None;
        }
        if !directory.is_absolute() {
            self.fail(key, "must be an absolute path".to_owned());
        }
        Some(directory)
    }

    fn count(&mut self, key: &str) -> usize {
        let number = match self.merged.get(key) {
            Some((Value::Number(number), _)) => usize::try_from(*number).ok(),
            _ => None,
        };
        number.unwrap_or_else(|| {
            self.fail(key, "must be a whole number, 0 or more".to_owned());
            1
        })
    }

    fn duration(&mut self, key: &str) -> Duration {
        let Some((value, _)) = self.merged.get(key) else { return Duration::ZERO };
        let parsed = match value {
            Value::Text(text) => {
                text.parse::<jiff::SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok())
            }
            Value::Number(_) => None,
        };
        if parsed.is_some_and(|duration| duration > LONGEST) {
            self.fail(key, "must not be longer than a year".to_owned());
            return Duration::ZERO;
        }
        parsed.unwrap_or_else(|| {
            let value = value.clone();
            self.fail(
                key,
                format!("is {value}, which is no duration; write it like \"20s\", \"2m\" or \"1h 30m\""),
            );
            Duration::ZERO
        })
    }

    fn live(&mut self, key: &str) -> Live {
        self.one_of(key, &[("report", Live::Report), ("ignore", Live::Ignore), ("reap", Live::Reap)])
    }

    fn one_of<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> T {
        let written = self.text(key);
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == written) {
            return *choice;
        }
        let words: Vec<String> = choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        self.fail(key, format!("is \"{written}\"; it must be {}", words.join(" or ")));
        choices[0].1
    }
}

/// The shipped catalog and the user's own patterns. Each of the user's is tried alone first, so that the error names it.
fn compile_catalog(own: Vec<(Role, PatternText, Origin)>, problems: &mut Vec<Problem>) -> Catalog {
    let mut all = shipped_patterns(problems);
    for (role, pattern, origin) in own {
        match Catalog::compile([(role, true, pattern.clone())]) {
            Ok(alone) => {
                if let Some(line) = ordinary_line_named_by(&alone, role) {
                    let name = &pattern.name;
                    let text = format!(
                        "pattern \"{name}\": would also name `{line}`, which is no MCP server; make it narrower"
                    );
                    problems.push(Problem { origin, text });
                    continue;
                }
                all.push((role, true, pattern));
            }
            Err(error) => problems.push(Problem { origin, text: error.to_string() }),
        }
    }
    Catalog::compile(all).unwrap_or_else(|error| {
        problems.push(Problem { origin: Origin::built_in("catalog"), text: error.to_string() });
        Catalog::default()
    })
}

/// Lines that run on every machine and are no servers. A server pattern that names one of them is a mistake.
const ORDINARY: [&str; 19] = [
    "claude",
    "claude -p x",
    "codex",
    "opencode serve",
    "cursor-agent",
    "bash",
    "sh -c ls",
    "python3 x.py",
    "node x.js",
    "vim x",
    "tmux",
    "sshd",
    "orphand sweep",
    "sleep 1",
    "/usr/bin/node x.js",
    "/usr/local/bin/node x.js",
    "/usr/bin/python3 x.py",
    "/usr/bin/bash x.sh",
    "/bin/sh -c ls",
];

fn ordinary_line_named_by(alone: &Catalog, role: Role) -> Option<&'static str> {
    let names = |line: &&str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        alone.classify(&words).is_some_and(|found| found.pattern.is_some())
    };
    if role == Role::Server { ORDINARY.into_iter().find(names) } else { None }
}

pub(super) fn shipped_patterns(problems: &mut Vec<Problem>) -> Vec<(Role, bool, PatternText)> {
    let mut all = Vec::new();
    for (name, text) in CATALOG {
        match Layer::parse(Origin::built_in(name), text) {
            Ok(layer) => {
                all.extend(layer.patterns.into_iter().map(|(role, pattern, _)| (role, false, pattern)))
            }
            Err(found) => problems.extend(found),
        }
    }
    all
}

fn uid_of(name: &str) -> Option<u32> {
    uzers::get_user_by_name(name).map(|user| user.uid())
}
