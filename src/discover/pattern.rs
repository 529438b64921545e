//! A pattern as it is written into a file, and the entries that a file has.

use crate::catalog::{Catalog, PatternText, Role};
use std::collections::{BTreeMap, BTreeSet};

/// A pattern as it will stand in the file: its keys, without the name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern {
    /// Keys of a `[[server]]` with their words.
    pub keys: Vec<(&'static str, String)>,
}

impl Pattern {
    pub(super) fn of(key: &'static str, word: &str) -> Pattern {
        Pattern { keys: vec![(key, word.to_owned())] }
    }

    pub(super) fn and(mut self, key: &'static str, word: &str) -> Pattern {
        self.keys.push((key, word.to_owned()));
        self
    }

    /// The lines of a `[[server]]` entry.
    pub fn entry(&self, name: &str) -> String {
        let lines: String =
            self.keys.iter().map(|(key, word)| format!("{key} = {}\n", quoted(word))).collect();
        format!("[[server]]\nname = {}\n{lines}", quoted(name))
    }

    /// Whether one of the entries of a file has these very keys.
    pub fn is_in(&self, file: &Entries) -> bool {
        let own: BTreeMap<&str, &str> = self.keys.iter().map(|(key, word)| (*key, word.as_str())).collect();
        file.0.iter().any(|entry| {
            entry
                .iter()
                .map(|(key, word)| (key.as_str(), word.as_str()))
                .eq(own.iter().map(|(key, word)| (*key, *word)))
        })
    }

    /// The same compiled, from the very text that is written.
    pub(super) fn compiled(&self, name: &str) -> Result<Catalog, String> {
        let entry = self.entry(name).replacen("[[server]]\n", "", 1);
        let text: PatternText = toml::from_str(&entry).map_err(|error| error.message().to_owned())?;
        let text = PatternText { discovered: true, ..text };
        Catalog::compile([(Role::Server, true, text)]).map_err(|error| error.problem)
    }
}

/// The entries of a file that `discover` wrote: their keys, without the names.
#[derive(Clone, Default, Debug)]
pub struct Entries(BTreeSet<BTreeMap<String, String>>);

impl Entries {
    /// Those of a file's text; none of a text that is no TOML.
    pub fn of(text: &str) -> Entries {
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let entries = table.get("server").and_then(toml::Value::as_array).into_iter().flatten();
        let keys = |entry: &toml::Value| -> Option<BTreeMap<String, String>> {
            let words = entry.as_table()?.iter().filter(|(key, _)| *key != "name");
            words.map(|(key, word)| Some((key.clone(), word.as_str()?.to_owned()))).collect()
        };
        Entries(entries.filter_map(keys).collect())
    }
}

/// A TOML string.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
