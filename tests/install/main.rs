//! Installing: plans by tables, files by a parser that is not ours, tools by stand-ins that write down how they were called.

mod jobs;
mod survey;
mod units;

use orphand::install::{Failing, Hands, Scope, Step, There, Wish};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is on an imagined machine.
#[derive(Clone, Default)]
struct Machine(BTreeMap<PathBuf, There>);

impl Machine {
    fn with(mut self, path: &str, text: &str) -> Machine {
        self.0.insert(path.into(), There::Text(text.to_owned()));
        self
    }

    fn with_other(mut self, path: &str, what: &str) -> Machine {
        self.0.insert(path.into(), There::Other(what.to_owned()));
        self
    }

    fn look(&self, path: &Path) -> There {
        self.0.get(path).cloned().unwrap_or(There::Nothing)
    }

    /// The machine on which a plan was carried out, as far as files go.
    fn after(mut self, steps: &[Step]) -> Machine {
        for step in steps {
            match step {
                Step::Write { path, text } => drop(self.0.insert(path.clone(), There::Text(text.clone()))),
                Step::Remove(path) => drop(self.0.remove(path).expect("only what is there is removed")),
                _ => {}
            }
        }
        self
    }
}

fn wish(scope: Scope, program: &str) -> Wish {
    Wish { scope, timer: false, program: program.to_owned(), options: Vec::new(), environment: Vec::new() }
}

/// A plan in a few words: what becomes of which file, and which tools are called.
fn told(steps: &[Step]) -> Vec<String> {
    let tell = |step: &Step| match step {
        Step::Write { path, .. } => format!("write {}", path.display()),
        Step::Keep(path) => format!("keep {}", path.display()),
        Step::Remove(path) => format!("remove {}", path.display()),
        Step::RemoveEmpty(path) => format!("rmdir {}", path.display()),
        Step::Confirm { path, .. } => format!("confirm {}", path.display()),
        Step::Run { words, failing: Failing::IsNothing | Failing::GoesOn } => {
            format!("try {}", words.join(" "))
        }
        Step::Run { words, .. } => words.join(" "),
    };
    steps.iter().map(tell).collect()
}

/// The text that a plan writes to a file.
fn text_of(steps: &[Step], name: &str) -> String {
    let text = steps.iter().find_map(|step| match step {
        Step::Write { path, text } if path.ends_with(name) => Some(text.clone()),
        _ => None,
    });
    text.unwrap_or_else(|| panic!("{name} is not written: {:?}", told(steps)))
}

/// Whoever starts tools finds the stand-ins first.
fn stand_ins() -> Hands {
    let path = format!(
        "{}/tests/install/tools:{}",
        env!("CARGO_MANIFEST_DIR"),
        std::env::var("PATH").unwrap_or_default()
    );
    Hands { environment: vec![("PATH".to_owned(), path)] }
}
