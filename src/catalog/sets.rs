//! Sets of words: literal ones in a map, those with `*` in automata.

use super::PatternIndex;
use super::text::{Words, parsed_glob};
use globset::{Glob, GlobMatcher, GlobSet};
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// A set of words, some of them with `*`. Those are seldom asked for and dear to compile: that is done when they are.
#[derive(Debug, Default)]
pub(super) struct WordSet {
    pub(super) literal: HashSet<String>,
    pub(super) globs: Vec<Glob>,
    compiled: OnceLock<Vec<GlobMatcher>>,
}

impl WordSet {
    pub(super) fn of(words: &Words) -> Result<WordSet, String> {
        let (globs, literal): (Vec<&String>, Vec<&String>) =
            words.as_slice().iter().partition(|word| is_glob(word));
        Ok(WordSet {
            literal: literal.into_iter().cloned().collect(),
            globs: globs.into_iter().map(|word| parsed_glob(word)).collect::<Result<_, _>>()?,
            compiled: OnceLock::new(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.globs.is_empty()
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        let compile = || self.globs.iter().map(Glob::compile_matcher).collect();
        self.literal.contains(word)
            || self.compiled.get_or_init(compile).iter().any(|glob| glob.is_match(word))
    }
}

pub(super) fn is_glob(word: &str) -> bool {
    word.contains(['*', '?', '[', '{'])
}

/// Literal words in a map, the others in one automaton.
#[derive(Debug, Default)]
pub(super) struct Field {
    pub(super) literal: HashMap<String, Vec<PatternIndex>>,
    pub(super) globs: GlobSet,
    pub(super) owners: Vec<PatternIndex>,
}

impl Field {
    pub(super) fn find_literal(&self, word: &str, found: &mut Vec<PatternIndex>) {
        if let Some(owners) = self.literal.get(word) {
            found.extend(owners);
        }
    }

    pub(super) fn find_glob(&self, word: &str, found: &mut Vec<PatternIndex>) {
        found.extend(self.globs.matches(word).into_iter().map(|at| self.owners[at]));
    }

    pub(super) fn find(&self, word: &str, found: &mut Vec<PatternIndex>) {
        self.find_literal(word, found);
        self.find_glob(word, found);
    }
}
