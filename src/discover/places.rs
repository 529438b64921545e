//! Where clients keep their servers: the shipped table of documented files, and the paths that come of it for one person.

use super::person::{Person, System};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The shipped table. Each entry names its source.
const TABLE: &str = include_str!("../../config/catalog/configurations.toml");

/// A folder with more entries than this is not searched to its end.
const MOST_ENTRIES: usize = 2000;

/// One kind of file of one client.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    /// The client, by its name in the catalog.
    pub(super) client: String,
    /// On every system: `~/...`, `${VARIABLE:-~/default}/...`; `*` stands for one name. With `within`, below its folder.
    #[serde(default)]
    pub(super) files: Vec<String>,
    /// On Linux only.
    #[serde(default)]
    pub(super) linux: Vec<String>,
    /// On macOS only.
    #[serde(default)]
    pub(super) macos: Vec<String>,
    /// The kind of folder that the files are in; other files name such folders.
    #[serde(default)]
    pub(super) within: Option<String>,
    /// Where in the file the servers are, as keys from the top; `*` stands for every key.
    #[serde(default)]
    pub(super) servers: Vec<Vec<String>>,
    /// Folders that the file names.
    #[serde(default)]
    pub(super) names: Option<Names>,
    /// What the client calls the file's folder in values: `CLAUDE_PLUGIN_ROOT`.
    #[serde(default)]
    pub(super) folder_variable: Option<String>,
    /// Where this is documented.
    #[allow(dead_code, reason = "for those who check the table")]
    pub(super) source: String,
}

/// Folders that a file names.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    /// What they are: `project`, `claude-plugin`.
    pub(super) kind: String,
    /// Where they are keys.
    #[serde(default)]
    pub(super) keys: Vec<Vec<String>>,
    /// Where they are values.
    #[serde(default)]
    pub(super) values: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    configuration: Vec<Place>,
}

/// The shipped table.
///
/// # Panics
/// Never: a test reads it.
#[allow(clippy::expect_used, reason = "a part of the program that every test reads")]
pub(super) fn shipped() -> Vec<Place> {
    toml::from_str::<Table>(TABLE).expect("the shipped table of configuration files").configuration
}

impl Place {
    fn on(&self, system: System) -> impl Iterator<Item = &String> {
        let own = match system {
            System::Linux => &self.linux,
            System::MacOs => &self.macos,
        };
        self.files.iter().chain(own)
    }

    /// The files of this kind that there may be: below the folders of its kind, or where they always are. Each with the folder
    /// that it was looked for in.
    pub(super) fn candidates(&self, person: &Person, folders: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
        let mut found = Vec::new();
        for text in self.on(person.system) {
            if self.within.is_some() {
                for folder in folders {
                    found.extend(spread(&folder.join(text)).into_iter().map(|file| (folder.clone(), file)));
                }
            } else if let Some((base, rest)) = person.base_of(text) {
                found.extend(spread(&base.join(rest)).into_iter().map(|file| (base.clone(), file)));
            }
        }
        found
    }
}

/// Every path that a pattern with `*` as whole names stands for, in order of name; the path itself where there is none.
fn spread(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for part in pattern.components() {
        if part.as_os_str() != "*" {
            paths.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let below = |path: &PathBuf| {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            let mut below: Vec<PathBuf> = entries.take(MOST_ENTRIES).map(|entry| entry.path()).collect();
            below.sort();
            below
        };
        paths = paths.iter().flat_map(below).take(MOST_ENTRIES).collect();
    }
    paths
}
