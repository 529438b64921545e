//! What is allowed in a configuration and probably not meant: patterns that never match, and such that take another's place.

mod sample;
#[cfg(test)]
mod tests;

use super::settings::shipped_patterns;
use super::{Problem, Settings, ordinary_lines};
use crate::catalog::{Catalog, PatternIndex, PatternText, Role};
use crate::invocation::Invocation;
use sample::Sample;
use std::collections::BTreeMap;

/// Everything that looks wrong, in the order of the files.
pub fn warnings(settings: &Settings) -> Vec<Problem> {
    let shipped = shipped_patterns(&mut Vec::new());
    let lint = Lint { settings, first_own: shipped.len(), shipped: &shipped };
    let mut found = Vec::new();
    for (at, (_, pattern, origin)) in settings.own_patterns.iter().enumerate() {
        let mut say = |text: String| {
            let text = format!("pattern \"{}\": {text}", pattern.name);
            found.push(Problem { origin: origin.clone(), text });
        };
        lint.words(at, pattern, &mut say);
        lint.examples(at, pattern, &mut say);
        lint.takes_over(at, &mut say);
        lint.ordinary(at, &mut say);
    }
    for (rule, origin) in &settings.own_rules {
        let wrong_group =
            rule.cgroup.as_slice().iter().find(|group| !group.starts_with(['/', '*', '{', '[']));
        let group = wrong_group
            .map(|group| format!("cgroup = \"{group}\" never matches: a control group begins with `/`"));
        let words = Sample::all_of(&rule.naming)
            .into_iter()
            .filter_map(|sample| sample.never_matches(Role::Host, &rule.naming));
        for text in group.into_iter().chain(words) {
            let text = format!("rule \"{}\": {text}; it protects nothing by that", rule.naming.name);
            found.push(Problem { origin: origin.clone(), text });
        }
    }
    found.sort_by(|one, other| one.origin.place_in_files().cmp(&other.origin.place_in_files()));
    found
}

struct Lint<'a> {
    settings: &'a Settings,
    /// Where the user's own patterns begin in the catalog.
    first_own: PatternIndex,
    shipped: &'a [(Role, bool, PatternText)],
}

impl Lint<'_> {
    fn catalog(&self) -> &Catalog {
        &self.settings.catalog
    }

    fn winner(&self, invocation: Invocation, words: &[String]) -> Option<PatternIndex> {
        self.catalog().classify_invocation(invocation, words)?.pattern
    }

    /// Words that no command line has, and words that another pattern has first.
    fn words(&self, at: usize, pattern: &PatternText, say: &mut impl FnMut(String)) {
        let (role, ..) = self.settings.own_patterns[at];
        for sample in Sample::all_of(pattern) {
            if let Some(text) = sample.never_matches(role, pattern) {
                say(text);
                continue;
            }
            let Some(invocation) = Invocation::of(&sample.line) else { continue };
            match self.winner(invocation, &sample.line) {
                Some(winner) if winner != self.first_own + at => {
                    let line = sample.line.join(" ");
                    say(format!(
                        "{} never counts: {} has `{line}` first",
                        sample.written(),
                        self.title(winner)
                    ));
                }
                _ => {}
            }
        }
    }

    fn title(&self, index: PatternIndex) -> String {
        let pattern = self.catalog().pattern(index);
        let role = format!("{:?}", pattern.role).to_lowercase();
        match index.checked_sub(self.first_own).and_then(|own| self.settings.own_patterns.get(own)) {
            Some((_, _, origin)) => format!("the {role} \"{}\" ({origin})", pattern.name),
            None => format!("the shipped {role} \"{}\"", pattern.name),
        }
    }

    /// Lines that a pattern is said to be there for.
    fn examples(&self, at: usize, pattern: &PatternText, say: &mut impl FnMut(String)) {
        for line in pattern.examples.as_slice() {
            let words = shell_words::split(line).unwrap_or_default();
            let winner = Invocation::of_line(line).and_then(|invocation| self.winner(invocation, &words));
            match winner {
                Some(winner) if winner == self.first_own + at => {}
                Some(winner) => say(format!("its example `{line}` goes to {}", self.title(winner))),
                None => say(format!("does not match its example `{line}`")),
            }
        }
    }

    /// Examples of shipped patterns that come to this one.
    fn takes_over(&self, at: usize, say: &mut impl FnMut(String)) {
        let mut taken: BTreeMap<PatternIndex, &str> = BTreeMap::new();
        for (index, (_, _, shipped)) in
            self.shipped.iter().enumerate().filter(|(_, (_, _, shipped))| !shipped.generic)
        {
            let won = |line: &&String| {
                let words = shell_words::split(line).unwrap_or_default();
                let winner = Invocation::of_line(line).and_then(|invocation| self.winner(invocation, &words));
                winner == Some(self.first_own + at)
            };
            if let Some(line) = shipped.examples.as_slice().iter().find(won) {
                taken.insert(index, line);
            }
        }
        for (index, line) in taken {
            let listens =
                self.catalog().pattern(index).listens && !self.catalog().pattern(self.first_own + at).listens;
            let lost = if listens { ", which says listens = true" } else { "" };
            say(format!("takes `{line}` from {}{lost}", self.title(index)));
        }
    }

    /// Lines of every machine that a server pattern names as well.
    fn ordinary(&self, at: usize, say: &mut impl FnMut(String)) {
        let (role, ..) = self.settings.own_patterns[at];
        let names = |line: &&str| {
            let words = shell_words::split(line).unwrap_or_default();
            let matching =
                Invocation::of_line(line).map(|invocation| self.catalog().matching(&invocation, &words));
            matching.is_some_and(|matching| matching.contains(&(self.first_own + at)))
        };
        if let Some(line) = ordinary_lines().filter(|_| role == Role::Server).find(names) {
            say(format!("also names `{line}`, which is no MCP server; make it narrower"));
        }
    }
}
