//! What is allowed in a configuration and probably not meant: patterns that never match, and such that take another's place.

use super::settings::shipped_patterns;
use super::{ORDINARY, Problem, Settings};
use crate::catalog::{Catalog, PatternIndex, PatternText, Role};
use crate::invocation::{Invocation, base_name};
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
        let lines = ORDINARY.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        if let Some(line) = lines.filter(|_| role == Role::Server).find(names) {
            say(format!("also names `{line}`, which is no MCP server; make it narrower"));
        }
    }
}

/// A command line that one word of a pattern should fit.
struct Sample<'a> {
    key: &'static str,
    word: &'a str,
    line: Vec<String>,
}

impl<'a> Sample<'a> {
    /// One for every naming word. Regular expressions have none.
    fn all_of(pattern: &'a PatternText) -> Vec<Sample<'a>> {
        let keys = [
            ("package", &pattern.package),
            ("program", &pattern.program),
            ("script", &pattern.script),
            ("module", &pattern.module),
            ("image", &pattern.image),
            ("path", &pattern.path),
            ("directory", &pattern.directory),
            ("project", &pattern.project),
        ];
        let samples = keys.into_iter().flat_map(|(key, words)| {
            words.as_slice().iter().map(move |word| Sample {
                key,
                word,
                line: sample_line(key, word, pattern),
            })
        });
        samples.collect()
    }

    fn written(&self) -> String {
        format!("{} = \"{}\"", self.key, self.word)
    }

    /// What is wrong with a word that not even its own sample fits.
    fn never_matches(&self, role: Role, pattern: &PatternText) -> Option<String> {
        let place = ["path", "directory"].contains(&self.key);
        let hint = if self.word.starts_with('~') && place {
            "`~` is not filled in; write the whole path, or begin with `**/`"
        } else if place && !self.word.starts_with(['/', '*', '{', '[']) {
            "it is held against a full path; begin it with `/` or `**/`"
        } else {
            let alone = Catalog::compile([(role, true, pattern.clone())]).ok()?;
            let invocation = Invocation::of(&self.line);
            if invocation.is_some_and(|invocation| !alone.matching(&invocation, &self.line).is_empty()) {
                return None;
            }
            self.hint(pattern)
        };
        Some(format!("{} never matches: {hint}", self.written()))
    }

    fn hint(&self, pattern: &PatternText) -> &'static str {
        let word = self.word;
        if pattern.subcommand.as_slice().iter().any(|words| words.starts_with('-')) {
            return "a subcommand is no option; write `argument` for one";
        }
        if pattern.except_program.as_slice().iter().any(|program| program == word) {
            return "except_program takes it out again";
        }
        match self.key {
            _ if word.contains(char::is_whitespace) => {
                "it is one name; what stands behind it goes into `subcommand` or `argument`"
            }
            "package" if word.chars().skip(1).any(|letter| "@=<>".contains(letter)) => {
                "write the package without its version"
            }
            "program" if word.contains('/') => {
                "a program is named without its folder; write `path` for one with it"
            }
            "script" if word.starts_with('/') => {
                "a script is named by the end of its path; write `path` for the whole"
            }
            "image" if base_name(word).contains([':', '@']) => "write the image without its tag",
            "module" if word.contains('/') || word.ends_with(".py") => "that is a file; write `script`",
            _ => "no command line can look like that",
        }
    }
}

/// What a process would look like that a word names, in the plainest form.
fn sample_line(key: &str, word: &str, pattern: &PatternText) -> Vec<String> {
    let word = plain(word);
    let in_front = pattern.run_by.as_slice().first().cloned();
    let by = |usual: &str| in_front.clone().unwrap_or_else(|| usual.to_owned());
    let interpreter = by(if word.ends_with(".py") { "python3" } else { "node" });
    let is_script = [".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".php", ".phar", ".sh"]
        .iter()
        .any(|end| word.ends_with(end));
    let mut line: Vec<String> = match key {
        "package" => vec![by("npx"), word],
        "program" => in_front.into_iter().chain([word]).collect(),
        "script" if word.ends_with(".jar") => vec![by("java"), "-jar".to_owned(), format!("/x/{word}")],
        "script" if word.starts_with('/') => vec![interpreter, word],
        "script" => vec![interpreter, format!("/x/{word}")],
        "module" => vec![by("python3"), "-m".to_owned(), word],
        "image" => vec![by("docker"), "run".to_owned(), "-i".to_owned(), word],
        "path" if is_script => vec![interpreter, word],
        "path" => in_front.into_iter().chain([word]).collect(),
        "directory" => vec![by("bun"), "run".to_owned(), "--cwd".to_owned(), word, "start".to_owned()],
        _ => vec![interpreter, format!("/x/{word}/dist/index.js")],
    };
    let subcommand = pattern.subcommand.as_slice().first().map(String::as_str).unwrap_or_default();
    line.extend(subcommand.split_whitespace().map(str::to_owned));
    line.extend(pattern.argument.as_slice().first().map(|word| plain(word)));
    line
}

/// A word that a glob fits: `*` becomes `x`, `**` becomes `/x` where it leads, `{a,b}` becomes `a`, `[ab]` becomes `a`.
fn plain(glob: &str) -> String {
    let mut out = String::new();
    let mut rest = glob;
    while let Some(at) = rest.find(['*', '?', '{', '[']) {
        out.push_str(&rest[..at]);
        let sign = &rest[at..at + 1];
        rest = &rest[at + 1..];
        match sign {
            "*" if rest.starts_with('*') => {
                rest = &rest[1..];
                out.push_str(if out.is_empty() { "/x" } else { "x" });
            }
            "{" | "[" => {
                let close = if sign == "{" { '}' } else { ']' };
                let (inside, after) = rest.split_at(rest.find(close).unwrap_or(rest.len()));
                let end = if sign == "{" {
                    inside.find(',').unwrap_or(inside.len())
                } else {
                    inside.chars().next().map_or(0, char::len_utf8)
                };
                // `[[]` is how a bracket itself is written.
                let (first, after) =
                    if sign == "[" && inside.is_empty() { ("[", rest) } else { (&inside[..end], after) };
                out.push_str(first);
                rest = after.strip_prefix(close).unwrap_or(after);
            }
            _ => out.push('x'),
        }
    }
    out + rest
}
