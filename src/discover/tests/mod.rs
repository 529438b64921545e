//! Homes with files in them, and what is found there.

mod derived;
mod files;
mod places;
mod properties;
mod written;

use super::*;
use crate::catalog::Role;
use crate::config::{Sources, load};
use crate::invocation::Invocation;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::LazyLock;
use tempfile::TempDir;

/// Compiled once: that is most of the time that these tests take.
fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> =
        LazyLock::new(|| load(&Sources::default()).expect("the shipped configuration is good").catalog);
    &CATALOG
}

/// A home folder with some files in it.
struct Home {
    folder: TempDir,
    system: System,
    variables: Vec<(&'static str, String)>,
}

impl Home {
    fn new() -> Home {
        Home { folder: TempDir::new().unwrap(), system: System::Linux, variables: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("HERE", &self.folder.path().display().to_string())).unwrap();
        path
    }

    fn person(&self) -> Person {
        let variables = self.variables.clone();
        Person {
            home: self.folder.path().to_owned(),
            uid: rustix::process::geteuid().as_raw(),
            variable: Box::new(move |name| {
                variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone())
            }),
            system: self.system,
        }
    }

    fn discover(&self) -> Discovery {
        discover(&self.person(), catalog())
    }

    /// What is said of one command, as Claude Code writes it down.
    fn derived(&self, command: &[&str]) -> Derived {
        let (program, arguments) = command.split_first().unwrap();
        let entry = serde_json::json!({ "mcpServers": { "it": { "command": program, "args": arguments } } });
        self.write(".claude.json", &entry.to_string());
        let found = self.discover();
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        found.servers[0].derived.clone().expect("not remote")
    }

    fn in_home(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "HERE")
    }
}

fn keys(derived: &Derived) -> String {
    match derived {
        Derived::Named { pattern, .. } => {
            pattern.keys.iter().map(|(key, word)| format!("{key}={word}")).collect::<Vec<_>>().join(" ")
        }
        Derived::LeftOut(why) => format!("left out: {why}"),
    }
}
