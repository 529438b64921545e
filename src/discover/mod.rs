//! Which servers a person's clients start, from the clients' own files, and a pattern for each.
//!
//! ```text
//! table of documented files --places--> paths --files--> text --syntax--> value --entries--> entries --derive--> servers --written--> file
//! ```
//!
//! A client's file holds secrets: in arguments, environments, headers and addresses. Of all that nothing leaves this room: not in
//! a pattern, not in an error, not in what is shown.

mod derive;
mod entries;
mod files;
mod guard;
mod lines;
mod naming;
mod pattern;
mod person;
mod places;
mod syntax;
#[cfg(test)]
mod tests;
mod variables;
mod written;
mod yaml;

pub use derive::Derived;
pub use pattern::{Entries, Pattern};
pub use person::{Person, System, Variable};
pub use written::{Existing, Written, in_home};

use crate::catalog::Catalog;
use crate::redact::sentence;
use entries::{Entry, Start};
use guard::Guard;
use places::Place;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use variables::Variables;

/// Nobody works in more projects than this; each is looked into for the files of every client.
const MOST_FOLDERS: usize = 1000;

/// A server that a client's file names.
#[derive(Clone, Debug)]
pub struct Server {
    /// The client, by its name in the catalog.
    pub client: String,
    /// What the client calls the server.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The project that it belongs to; `None` for all of them.
    pub project: Option<PathBuf>,
    /// Whether the client does not start it for now. What it started before may still be there.
    pub disabled: bool,
    /// What became of it; `None` for a remote one, of which nothing runs here.
    pub derived: Option<Derived>,
    /// What makes it equal to another one: what is started with which environment. A digest of neither is shown anywhere.
    sameness: Option<(Vec<String>, u64)>,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Servers, by client, file and name.
    pub servers: Vec<Server>,
    /// Files that were not used, and why.
    pub warnings: Vec<(PathBuf, String)>,
    /// The files that were read and understood.
    pub read: BTreeSet<PathBuf>,
    /// Whether a file could not be used that names projects: their files were not looked for.
    lost_folders: bool,
}

/// Reads the files of all clients. `catalog` is what orphand knows without its earlier discoveries.
pub fn discover(person: &Person, catalog: &Catalog) -> Discovery {
    let places = places::shipped();
    let mut search =
        Search { person, found: Discovery::default(), folders: BTreeMap::new(), entries: Vec::new() };
    let (inner, outer): (Vec<&Place>, Vec<&Place>) = places.iter().partition(|place| place.within.is_some());
    for place in outer {
        search.read_all(place, &[]);
    }
    let folders = search.own_folders();
    for place in inner {
        let kind = place.within.as_deref().unwrap_or_default();
        search.read_all(place, folders.get(kind).map_or(&[], Vec::as_slice));
    }
    search.finish(catalog)
}

/// A search under way.
struct Search<'a> {
    person: &'a Person,
    found: Discovery,
    /// Folders that files name, by kind.
    folders: BTreeMap<String, BTreeSet<PathBuf>>,
    entries: Vec<(String, PathBuf, Variables, Entry)>,
}

impl Search<'_> {
    fn read_all(&mut self, place: &Place, folders: &[PathBuf]) {
        for (base, path) in place.candidates(self.person, folders) {
            // A project may be the home folder itself, and its files then the person's own.
            if self.entries.iter().any(|(client, file, ..)| *client == place.client && *file == path) {
                continue;
            }
            let value = match files::read(self.person, &base, &path)
                .map(|text| text.map(|text| syntax::parse(&path, &text)))
            {
                Ok(None) => continue,
                Ok(Some(Ok(value))) => value,
                Ok(Some(Err(problem))) | Err(problem) => {
                    self.found.lost_folders |= place.names.is_some();
                    self.found.warnings.push((path, problem));
                    continue;
                }
            };
            self.found.read.insert(path.clone());
            if let Some(names) = &place.names {
                self.folders.entry(names.kind.clone()).or_default().extend(entries::folders(&value, names));
            }
            let entries = match entries::servers(&value, &place.servers) {
                Ok(entries) => entries,
                Err(problem) => {
                    self.found.warnings.push((path, problem));
                    continue;
                }
            };
            for mut entry in entries {
                // An extension's manifest describes one server without a name.
                if entry.name == "mcp_config"
                    && let Some(folder) = path.parent().and_then(Path::file_name)
                {
                    entry.name = folder.to_string_lossy().into_owned();
                }
                if place.within.as_deref() == Some("project") {
                    entry.project = Some(base.clone());
                }
                let variables = Variables {
                    home: self.person.home.clone(),
                    project: entry.project.clone(),
                    folder: place
                        .folder_variable
                        .clone()
                        .map(|variable| (variable, folder_of(&base, &path, place))),
                };
                self.entries.push((place.client.clone(), path.clone(), variables, entry));
            }
        }
    }

    /// The folders that files name, as far as they are there and the person's own.
    fn own_folders(&mut self) -> BTreeMap<String, Vec<PathBuf>> {
        let mut own = BTreeMap::new();
        for (kind, named) in std::mem::take(&mut self.folders) {
            let mut folders = BTreeSet::new();
            for folder in named {
                match files::own_folder(self.person, &folder) {
                    Ok(real) => folders.extend(real),
                    Err(problem) => self.found.warnings.push((folder, problem)),
                }
            }
            if folders.len() > MOST_FOLDERS {
                let text = format!(
                    "{} folders are named as {kind}; only {MOST_FOLDERS} were looked into",
                    folders.len()
                );
                self.found.warnings.push((self.person.home.clone(), text));
            }
            own.insert(kind, folders.into_iter().take(MOST_FOLDERS).collect());
        }
        own
    }

    fn finish(self, catalog: &Catalog) -> Discovery {
        let Search { mut found, entries, person, .. } = self;
        let guard = Guard::new();
        for (client, file, variables, entry) in entries {
            let name = name_of(&entry.name);
            let (derived, sameness) = match &entry.start {
                Start::Remote => (None, None),
                Start::Odd(why) => (Some(Derived::LeftOut((*why).to_owned())), None),
                Start::Command(words) => {
                    let words: Vec<String> = words.iter().map(|word| variables.fill_in(word)).collect();
                    let derived = derive::derive(&name, &words, &person.home, catalog, &guard);
                    (Some(derived), Some((words, entry.environment)))
                }
            };
            found.servers.push(Server {
                derived,
                sameness,
                client,
                name,
                file,
                project: entry.project,
                disabled: entry.disabled,
            });
        }
        let place = |server: &Server| {
            (server.client.clone(), server.project.clone(), server.file.clone(), server.name.clone())
        };
        found.servers.sort_by_cached_key(place);
        found
    }
}

/// The folder that a client means by its variable. A plugin's manifest is one level down.
fn folder_of(base: &Path, path: &Path, place: &Place) -> PathBuf {
    let own = path.parent().unwrap_or(base);
    if place.within.is_some() { base.to_owned() } else { own.to_owned() }
}

/// A name that is fit for people and for a file.
fn name_of(name: &str) -> String {
    let name: String = sentence(name.trim()).chars().take(60).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

impl Discovery {
    /// The most copies of one server, with one environment, that one client starts side by side by its configuration.
    pub fn copies(&self) -> usize {
        let mut most = 1;
        let clients: BTreeSet<&str> = self.servers.iter().map(|server| server.client.as_str()).collect();
        for client in clients {
            let of_client =
                || self.servers.iter().filter(|server| server.client == client && !server.disabled);
            let projects: BTreeSet<Option<&Path>> =
                of_client().map(|server| server.project.as_deref()).collect();
            for project in projects {
                let mut names: HashMap<_, BTreeSet<&str>> = HashMap::new();
                let here = of_client().filter(|server| [None, project].contains(&server.project.as_deref()));
                for (sameness, server) in here.filter_map(|server| Some((server.sameness.as_ref()?, server)))
                {
                    names.entry(sameness).or_default().insert(&server.name);
                }
                most = names.values().map(BTreeSet::len).fold(most, usize::max);
            }
        }
        most
    }

    /// The patterns that are not known yet, each with the servers that it is for.
    pub fn new_patterns(&self) -> BTreeMap<&Pattern, Vec<&Server>> {
        let mut patterns: BTreeMap<&Pattern, Vec<&Server>> = BTreeMap::new();
        for server in &self.servers {
            if let Some(Derived::Named { pattern, known: None, .. }) = &server.derived {
                patterns.entry(pattern).or_default().push(server);
            }
        }
        patterns
    }
}
