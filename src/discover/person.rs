//! Whose files are read, and where they are.

use std::fmt;
use std::path::PathBuf;

/// The systems that clients run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// Linux, and what is like it.
    Linux,
    /// macOS.
    MacOs,
}

impl System {
    /// The one that this program was made for.
    pub const OWN: System = if cfg!(target_os = "macos") { System::MacOs } else { System::Linux };
}

/// The value of a variable of the environment.
pub type Variable = Box<dyn Fn(&str) -> Option<String>>;

/// Whose files are read. They are the ones of whoever runs orphand, and of nobody else.
pub struct Person {
    /// The home folder.
    pub home: PathBuf,
    /// The user number that files must have.
    pub uid: u32,
    /// Variables of the environment that move the files: `XDG_CONFIG_HOME`, `CODEX_HOME`.
    pub variable: Variable,
    /// The system that the clients run on.
    pub system: System,
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person").field("home", &self.home).field("uid", &self.uid).finish_non_exhaustive()
    }
}

impl Person {
    /// The folder that a place begins with, and the rest. `None` where a variable without a default is not set.
    pub(super) fn base_of<'a>(&self, text: &'a str) -> Option<(PathBuf, &'a str)> {
        if let Some(rest) = text.strip_prefix("~/") {
            return Some((self.home.clone(), rest));
        }
        let (variable, rest) = text.strip_prefix("${")?.split_once('}')?;
        let (name, default) = variable.split_once(":-").unwrap_or((variable, ""));
        let rest = rest.trim_start_matches('/');
        let set = (self.variable)(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = set.or_else(|| match default {
            "" => None,
            "~" => Some(self.home.clone()),
            _ => Some(self.home.join(default.strip_prefix("~/")?)),
        });
        Some((folder?, rest))
    }
}
