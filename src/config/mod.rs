//! From files to settings: layers -> merged values with their origin -> validated settings that cannot be wrong.

mod layer;
mod lint;
mod settings;
#[cfg(test)]
mod tests;

pub use layer::{Origin, Value};
pub use lint::warnings;
pub use settings::{Mode, Settings, Shown};

use crate::catalog::{PatternText, Role};
use crate::process::Observer;
use layer::Layer;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The commented default file.
pub const DEFAULT: &str = include_str!("../../config/default.toml");

/// The shipped patterns, by the file they stand in.
pub(crate) const CATALOG: [(&str, &str); 7] = [
    ("servers.toml", include_str!("../../config/catalog/servers.toml")),
    ("launchers.toml", include_str!("../../config/catalog/launchers.toml")),
    ("clients.toml", include_str!("../../config/catalog/clients.toml")),
    ("hosts.toml", include_str!("../../config/catalog/hosts.toml")),
    ("browsers.toml", include_str!("../../config/catalog/browsers.toml")),
    ("helpers.toml", include_str!("../../config/catalog/helpers.toml")),
    ("adopters.toml", include_str!("../../config/catalog/adopters.toml")),
];

/// Command lines that run on every developer's machine and are no MCP server.
pub(crate) fn ordinary_lines() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../../config/catalog/ordinary.txt").lines();
    lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

/// The shipped patterns as they are written.
pub(crate) fn shipped() -> Vec<(Role, PatternText)> {
    let patterns = settings::shipped_patterns(&mut Vec::new());
    patterns.into_iter().map(|(role, _, pattern)| (role, pattern)).collect()
}

/// One thing that is wrong with the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where: `FILE:LINE`, or the option.
    pub origin: Origin,
    /// What, and what to do.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.text)
    }
}

/// Everything that is wrong with the configuration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ConfigError(pub Vec<Problem>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

/// Where settings come from, beside the built-in ones.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    /// Files in the order in which they win; those that do not exist are passed over.
    pub files: Vec<PathBuf>,
    /// A file that must exist (`--config`).
    pub explicit: Option<PathBuf>,
    /// `key=value` of `--set`.
    pub set: Vec<String>,
    /// Whether files must belong to root and be writable by nobody else.
    pub only_roots_files: bool,
    /// A file and the text to read in its place: what it would be like.
    pub instead: Option<(PathBuf, String)>,
}

impl Sources {
    /// The usual places, for whoever looks.
    pub fn usual(observer: &Observer, explicit: Option<PathBuf>, set: Vec<String>) -> Sources {
        let mut files = Vec::new();
        for folder in folders(observer) {
            files.push(folder.join("config.toml"));
            let entries = std::fs::read_dir(folder.join("conf.d")).into_iter().flatten().flatten();
            let mut drop_ins: Vec<PathBuf> = entries
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|end| end == "toml"))
                .collect();
            drop_ins.sort();
            files.extend(drop_ins);
        }
        Sources { files, explicit, set, only_roots_files: observer.machine, instead: None }
    }
}

/// The folders of configuration that count for whoever looks; the last one is his own.
fn folders(observer: &Observer) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/etc/orphand")];
    if !observer.machine {
        let own = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let own = own.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")));
        folders.extend(own.map(|folder| folder.join("orphand")));
    }
    folders
}

/// Where `discover` puts what it has found: for the machine with the machine's configuration, for a user with his own. `None`
/// for a user without a home.
pub fn discovered_file(observer: &Observer) -> Option<PathBuf> {
    let folders = folders(observer);
    let own = folders.last().filter(|_| observer.machine || folders.len() > 1)?;
    Some(own.join("conf.d/discovered.toml"))
}

/// Reads, merges and validates. Every problem that can be found is in the error, not only the first.
pub fn load(sources: &Sources) -> Result<Settings, ConfigError> {
    let mut problems = Vec::new();
    let mut source = DefaultHasher::new();
    let mut layers = vec![Layer::parse(Origin::built_in("default.toml"), DEFAULT).map_err(ConfigError)?];
    let explicit = sources.explicit.iter().map(|path| (path, true));
    let instead = sources.instead.as_ref();
    let new = instead.map(|(path, _)| path).filter(|path| !sources.files.contains(path));
    // What `discover` wrote gives way to what a person wrote: its values are read first.
    let (discovered, written): (Vec<&PathBuf>, Vec<&PathBuf>) =
        new.into_iter().chain(&sources.files).partition(|path| is_discovered(path));
    let files = discovered.into_iter().chain(written).map(|path| (path, false));
    for (path, required) in files.chain(explicit) {
        let text = match instead.filter(|(other, _)| other == path) {
            Some((_, text)) => Ok(Some(text.clone())),
            None => read(path, required, sources.only_roots_files),
        };
        match text {
            Ok(Some(text)) => {
                (path, &text).hash(&mut source);
                match Layer::parse(Origin::file(path), &text) {
                    Ok(layer) => layers.push(Layer { discovered: is_discovered(path), ..layer }),
                    Err(found) => problems.extend(found),
                }
            }
            Ok(None) => {}
            Err(text) => problems.push(Problem { origin: Origin::file(path), text }),
        }
    }
    for assignment in &sources.set {
        match Layer::of_assignment(assignment) {
            Ok(layer) => layers.push(layer),
            Err(found) => problems.extend(found),
        }
    }
    let settings = Settings::of_layers(layers);
    match settings {
        Ok(settings) if problems.is_empty() => {
            sources.set.hash(&mut source);
            return Ok(Settings { source: source.finish(), ..settings });
        }
        Ok(_) => {}
        Err(more) => problems.extend(more),
    }
    problems.sort_by(|one, other| one.origin.place_in_files().cmp(&other.origin.place_in_files()));
    Err(ConfigError(problems))
}

fn is_discovered(path: &Path) -> bool {
    path.ends_with("conf.d/discovered.toml")
}

/// A configuration larger than this is a mistake.
const LARGEST: u64 = 4 * 1024 * 1024;

/// A file's text; `None` where there is none and none is required.
pub(crate) fn read(path: &Path, required: bool, only_roots: bool) -> Result<Option<String>, String> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let said = |error: std::io::Error| format!("cannot be read: {error}");
    // A FIFO would be waited for until somebody writes to it.
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = match std::fs::File::options().read(true).custom_flags(no_wait).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => return Ok(None),
        Err(error) => return Err(said(error)),
    };
    let meta = file.metadata().map_err(said)?;
    if !meta.is_file() {
        return Err("is no regular file".to_owned());
    }
    if only_roots && (meta.uid() != 0 || meta.mode() & 0o022 != 0) {
        let text = "must belong to root and be writable by nobody else, or anyone could aim orphand at any process; \
                    run `chown root` and `chmod go-w` on it";
        return Err(text.to_owned());
    }
    if meta.len() > LARGEST {
        return Err(format!("is larger than {LARGEST} bytes; that cannot be a configuration"));
    }
    std::io::read_to_string(file).map(Some).map_err(said)
}
