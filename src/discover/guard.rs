//! Command lines that no discovered pattern may name: what runs on every machine, and everything that orphand knows as no server.

use super::Pattern;
use crate::catalog::Role;
use crate::config::{ORDINARY, shipped};
use crate::invocation::{Invocation, Kind, base_name};

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
        let lines = (ORDINARY.lines().map(str::to_owned).chain(known))
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
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

    /// A line that runs the very program of a pattern, wherever that is installed. One that is asked for its MCP server is another
    /// thing: `gopls mcp`.
    pub(super) fn line_of_program(&self, pattern: &Pattern) -> Option<&str> {
        let narrowed = pattern
            .keys
            .iter()
            .any(|(key, word)| ["subcommand", "argument"].contains(key) && word.contains("mcp"));
        let (_, word) =
            pattern.keys.iter().find(|(key, _)| ["program", "path"].contains(key)).filter(|_| !narrowed)?;
        let is_it =
            |line: &Invocation| line.kind == Kind::Native && base_name(&line.target) == base_name(word);
        self.lines.iter().find(|(_, line, _)| is_it(line)).map(|(line, ..)| line.as_str())
    }
}
