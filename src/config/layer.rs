//! One layer: what one file, or one `--set`, says, with the line it says it on.

use super::Problem;
use crate::catalog::{PatternText, Role, Words};
use crate::judge::SpareText;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// Where a value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    place: String,
    line: Option<usize>,
}

impl Origin {
    /// A part of the program.
    pub fn built_in(name: &str) -> Origin {
        Origin { place: format!("built-in {name}"), line: None }
    }

    /// A file.
    pub fn file(path: &Path) -> Origin {
        Origin { place: path.display().to_string(), line: None }
    }

    /// Whether it came with the program.
    pub fn is_built_in(&self) -> bool {
        self.place.starts_with("built-in ")
    }

    /// By file and line; what was given on the command line stays in its own order, behind them.
    pub(super) fn place_in_files(&self) -> (bool, &str, Option<usize>) {
        let on_command_line = self.place.starts_with("--set");
        (on_command_line, if on_command_line { "" } else { &self.place }, self.line)
    }

    fn at(&self, text: &str, offset: usize) -> Origin {
        // What is built in has no line that anybody could look at, and lines are dear to count.
        if self.place.starts_with("--set") || self.is_built_in() {
            return self.clone();
        }
        let line = 1 + text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count();
        Origin { place: self.place.clone(), line: Some(line) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) if !self.is_built_in() => write!(f, "{}:{line}", self.place),
            _ => f.write_str(&self.place),
        }
    }
}

/// A plain value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Number(i64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "\"{text}\""),
            Value::Number(number) => number.fmt(f),
        }
    }
}

/// What one layer says.
#[derive(Default, Debug)]
pub(super) struct Layer {
    /// Values by dotted key.
    pub(super) values: BTreeMap<String, (Value, Origin)>,
    /// Patterns, in order.
    pub(super) patterns: Vec<(Role, PatternText, Origin)>,
    /// Spare rules, in order.
    pub(super) spare: Vec<(SpareText, Origin)>,
    /// Written by `discover`: its patterns come behind those of people.
    pub(super) discovered: bool,
}

/// Lists of tables that hold patterns.
const PATTERN_LISTS: [(&str, Role); 7] = [
    ("server", Role::Server),
    ("launcher", Role::Launcher),
    ("client", Role::Client),
    ("host", Role::Host),
    ("browser", Role::Browser),
    ("helper", Role::Helper),
    ("adopter", Role::Adopter),
];

/// Lists of tables that hold spare rules. TOML does not allow `[spare]` and `[[spare]]` in one file, hence two names.
const RULE_LISTS: [&str; 2] = ["protect", "spare"];

impl Layer {
    /// Parses a file's text.
    pub(super) fn parse(origin: Origin, text: &str) -> Result<Layer, Vec<Problem>> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let both = text.contains("[[spare]]") && text.contains("[spare]");
            let hint = if both {
                "; TOML does not allow [spare] and [[spare]] in one file: write [[protect]]"
            } else {
                ""
            };
            vec![Problem {
                origin: origin.at(text, at),
                text: format!("is no TOML: {}{hint}", error.message()),
            }]
        })?;
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        layer.take("", table.into_inner(), &origin, text, &mut problems);
        if problems.is_empty() { Ok(layer) } else { Err(problems) }
    }

    /// Parses `key=value`. The value may be written as TOML, or bare.
    pub(super) fn of_assignment(assignment: &str) -> Result<Layer, Vec<Problem>> {
        let origin = Origin { place: format!("--set {assignment}"), line: None };
        let Some((key, value)) = assignment.split_once('=') else {
            let text = "must be written as key=value, for example orphan.min_age=5m".to_owned();
            return Err(vec![Problem { origin, text }]);
        };
        let (key, value) = (key.trim(), value.trim());
        let quoted = format!("{key} = {}", quote(value));
        let text = format!("{key} = {value}");
        let text = if DeTable::parse(&text).is_ok() { text } else { quoted };
        Layer::parse(origin, &text)
    }

    fn take(
        &mut self,
        prefix: &str,
        table: DeTable<'_>,
        origin: &Origin,
        text: &str,
        problems: &mut Vec<Problem>,
    ) {
        for (key, value) in table {
            let place = origin.at(text, key.span().start);
            let name = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            let mut fail = |problem: String| problems.push(Problem { origin: place.clone(), text: problem });
            let list = PATTERN_LISTS.iter().find(|(list, _)| *list == name);
            match value.get_ref() {
                DeValue::Array(_) if RULE_LISTS.contains(&name.as_str()) || list.is_some() => {
                    let DeValue::Array(entries) = value.into_inner() else { continue };
                    for entry in entries {
                        let place = origin.at(text, entry.span().start);
                        let parsed = match list {
                            Some((_, role)) => PatternText::deserialize(ValueDeserializer::from(entry))
                                .map(|pattern| self.patterns.push((*role, pattern, place.clone()))),
                            None => rule_of(entry).map(|rule| self.spare.push((rule, place.clone()))),
                        };
                        if let Err(error) = parsed {
                            let place = error.span().map_or(place, |span| origin.at(text, span.start));
                            let problem =
                                format!("[[{name}]]: {}", with_suggestion(error.message(), list.is_none()));
                            problems.push(Problem { origin: place, text: problem });
                        }
                    }
                }
                DeValue::Table(_) => {
                    let DeValue::Table(inner) = value.into_inner() else { continue };
                    self.take(&name, inner, origin, text, problems);
                }
                DeValue::String(written) => {
                    self.values.insert(name, (Value::Text(written.to_string()), place));
                }
                DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => {
                        self.values.insert(name, (Value::Number(number), place));
                    }
                    Err(_) => fail(format!("`{name}` is too large a number")),
                },
                other => fail(format!("`{name}` cannot be a {}", other.type_str())),
            }
        }
    }
}

/// A rule is a pattern with two keys more.
fn rule_of(mut entry: Spanned<DeValue<'_>>) -> Result<SpareText, toml::de::Error> {
    let mut take = |key: &str| match entry.get_mut() {
        DeValue::Table(table) => table
            .remove(key)
            .map_or(Ok(Words::None), |value| Words::deserialize(ValueDeserializer::from(value))),
        _ => Ok(Words::None),
    };
    let (user, cgroup) = (take("user")?, take("cgroup")?);
    Ok(SpareText { user, cgroup, naming: PatternText::deserialize(ValueDeserializer::from(entry))? })
}

/// A TOML string. JSON's escapes are valid there, too.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Adds the nearest valid key to serde's list of them.
fn with_suggestion(message: &str, is_rule: bool) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(unknown), true) = (quoted.next(), message.starts_with("unknown field")) else {
        return message.to_owned();
    };
    let of_rules = if is_rule { ["user", "cgroup"].as_slice() } else { &[] };
    let nearest = nearest(unknown, quoted.chain(of_rules.iter().copied()));
    format!(
        "unknown key `{unknown}`{}",
        nearest.map_or(String::new(), |key| format!("; did you mean `{key}`?"))
    )
}

/// The candidate that looks most like a word.
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.6)
        .map(|(_, candidate)| candidate)
}
