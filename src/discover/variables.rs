//! Variables in what clients write down: those that say where something is are filled in, the others stay unknown.

use regex::{Captures, Regex};
use std::path::PathBuf;
use std::sync::LazyLock;

/// Stands for what only the client knows. No path or name has it.
pub(super) const UNKNOWN: char = '\u{fffc}';

#[allow(clippy::unwrap_used, reason = "a literal that every test compiles")]
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\$\{\{.*?\}\}|\$\([^()]*\)|\$\{([^{}]*)\}|\{(?:env|file|input):([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)",
    )
    .unwrap()
});

/// What is known of where things are.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    /// The person's home folder.
    pub(super) home: PathBuf,
    /// The project, for what belongs to one.
    pub(super) project: Option<PathBuf>,
    /// What the client calls the folder of the file, and where that is.
    pub(super) folder: Option<(String, PathBuf)>,
}

impl Variables {
    /// A word with its variables filled in. The value of a variable of the environment is never looked up: it may be a secret.
    pub(super) fn fill_in(&self, word: &str) -> String {
        let home = self.home.display().to_string();
        let word = match word.strip_prefix("~/") {
            Some(rest) => format!("{home}/{rest}"),
            None => word.to_owned(),
        };
        let known = |found: &Captures<'_>| {
            let name = (1..=3).find_map(|group| found.get(group)).map_or("", |name| name.as_str());
            let bare = name.strip_prefix("env:").unwrap_or(name);
            let value = match bare {
                "HOME" | "userHome" => Some(home.clone()),
                "/" | "pathSeparator" => Some("/".to_owned()),
                "workspaceFolder" | "workspaceRoot" | "workspacePath" | "PWD" | "cwd"
                | "CLAUDE_PROJECT_DIR" => self.project.as_ref().map(|path| path.display().to_string()),
                _ => (self.folder.as_ref())
                    .filter(|(variable, _)| variable == bare)
                    .map(|(_, path)| path.display().to_string()),
            };
            value.unwrap_or_else(|| UNKNOWN.to_string())
        };
        VARIABLE.replace_all(&word, known).into_owned()
    }
}
