//! Command lines that no discovered pattern may name: what runs on every machine, and everything that orphand knows as no server.

use crate::catalog::Role;
use crate::config::{ordinary_lines, shipped};
use crate::invocation::Invocation;

/// Lines taken apart once.
#[derive(Debug)]
pub(super) struct Guard {
    lines: Vec<(String, Invocation, Vec<String>)>,
}

impl Guard {
    pub(super) fn new() -> Guard {
        let known = (shipped().into_iter())
            .filter(|(role, _)| *role != Role::Server)
            .flat_map(|(_, pattern)| pattern.examples.as_slice().to_vec());
        let lines = (ordinary_lines().map(str::to_owned).chain(known))
            .filter_map(|line| {
                let words = shell_words::split(&line).unwrap_or_default();
                Some((line.clone(), Invocation::of_line(&line)?, words))
            })
            .collect();
        Guard { lines }
    }

    /// The first line that a pattern names.
    pub(super) fn named_by(&self, names: impl Fn(&Invocation, &[String]) -> bool) -> Option<&str> {
        self.lines
            .iter()
            .find(|(_, invocation, words)| names(invocation, words))
            .map(|(line, ..)| line.as_str())
    }
}
