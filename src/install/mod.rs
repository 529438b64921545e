//! What stands between a program and a service: unit files or a launchd job, and what a service manager is told.
//!
//! A plan is made of what the person asked for and what is there already; it is pure. [`carry_out`] does it.

mod cleaners;
mod hands;
pub mod launchd;
mod survey;
pub mod systemd;

pub use cleaners::looks_like_a_cleaner;
pub use hands::{Done, Failure, Hands, carry_out, carry_out_all};
pub use survey::{Finding, survey};

use std::path::{Path, PathBuf};

/// For whom orphand is installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Everybody on this machine.
    Machine,
    /// Whoever installs it.
    User,
}

/// What the person asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// For whom.
    pub scope: Scope,
    /// A sweep every five minutes instead of the daemon.
    pub timer: bool,
    /// The program, by its full path.
    pub program: String,
    /// Options that it is started with, behind the verb.
    pub options: Vec<String>,
    /// Variables that it would not have otherwise, with their values.
    pub environment: Vec<(String, String)>,
}

impl Wish {
    /// The same without options and variables.
    fn plain(&self) -> Wish {
        Wish { options: Vec::new(), environment: Vec::new(), ..self.clone() }
    }
}

/// One step of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Put a file there, in place of what is there.
    Write {
        /// Where.
        path: PathBuf,
        /// All of it.
        text: String,
    },
    /// The file is there already, as it should be.
    Keep(PathBuf),
    /// Remove a file.
    Remove(PathBuf),
    /// Remove a folder if nothing is in it.
    RemoveEmpty(PathBuf),
    /// Make sure that a tool names the file: whoever should read it has found it.
    Confirm {
        /// The tool's name and arguments.
        words: Vec<String>,
        /// What must stand in its answer.
        path: PathBuf,
    },
    /// Have a tool do something.
    Run {
        /// Its name and arguments.
        words: Vec<String>,
        /// What it means when it fails.
        failing: Failing,
    },
}

/// What it means when a tool fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failing {
    /// The plan has failed.
    Ends,
    /// Nothing: what was to be undone was not there.
    IsNothing,
    /// It is told, and the plan goes on.
    GoesOn,
    /// The plan has failed if it still fails after some seconds: what the step before ended may take a moment.
    EndsLater,
}

impl Step {
    fn run(words: &[&str], failing: Failing) -> Step {
        Step::Run { words: words.iter().map(|word| (*word).to_owned()).collect(), failing }
    }
}

/// What is at a place where a file of orphand's belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum There {
    /// Nothing.
    Nothing,
    /// A file with this text.
    Text(String),
    /// A link, a folder, or something that cannot be read: nothing of orphand's.
    Other(String),
}

/// How a link is told.
const LINK: &str = "is a link to ";

/// Looks what is at a place.
pub fn what_is_at(path: &Path) -> There {
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return There::Nothing,
        Err(error) => return There::Other(error.to_string()),
    };
    if meta.is_symlink() {
        let target = std::fs::read_link(path).unwrap_or_default();
        return There::Other(format!("{LINK}{}", target.display()));
    }
    if !meta.is_file() || meta.len() > 1024 * 1024 {
        return There::Other("is no ordinary file".to_owned());
    }
    std::fs::read_to_string(path).map_or_else(|error| There::Other(error.to_string()), There::Text)
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// What is in the way is somebody else's.
    #[error("{} {problem}; {remedy}", .path.display())]
    InTheWay {
        /// Where.
        path: PathBuf,
        /// What.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// The manager could not be told to start it so.
    #[error(
        "a service manager cannot start something that is called {0:?}; use another place or option without quotes, backslashes and control characters"
    )]
    Unspeakable(String),
}

/// Words by which orphand knows a file that it has written.
const MARK: &str = "Written by `orphand install`";

/// The step that puts a file there, unless it stands there already. What orphand has not written it does not replace.
fn put(path: PathBuf, text: String, there: There, remedy: &str) -> Result<Step, PlanError> {
    match there {
        There::Text(old) if old == text => Ok(Step::Keep(path)),
        There::Nothing => Ok(Step::Write { path, text }),
        There::Text(old) if old.contains(MARK) => Ok(Step::Write { path, text }),
        There::Text(_) => {
            let problem = "was not written by `orphand install`".to_owned();
            Err(PlanError::InTheWay { path, problem, remedy: remedy.to_owned() })
        }
        There::Other(problem) => Err(PlanError::InTheWay { path, problem, remedy: remedy.to_owned() }),
    }
}

/// Whether a file is orphand's to remove.
fn is_ours(there: &There) -> bool {
    matches!(there, There::Text(text) if text.contains(MARK))
}

/// Control characters mean something else in every file that they could be written to.
fn check_words(wish: &Wish) -> Result<(), PlanError> {
    let bad =
        std::iter::once(&wish.program).chain(&wish.options).find(|word| word.chars().any(char::is_control));
    bad.map_or(Ok(()), |word| Err(PlanError::Unspeakable(word.clone())))
}
