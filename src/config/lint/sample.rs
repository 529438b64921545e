//! What a process would look like that a word of a pattern names: if not even that fits, nothing ever does.

use crate::catalog::{Catalog, PatternText, Role, glob};
use crate::invocation::{Invocation, base_name};

/// A command line that one word of a pattern should fit.
pub(super) struct Sample<'a> {
    key: &'static str,
    word: &'a str,
    /// In the plainest form.
    pub(super) line: Vec<String>,
    /// Another one: a few names are seen through where they stand in front.
    other: Option<Vec<String>>,
}

impl<'a> Sample<'a> {
    /// One for every naming word. Regular expressions have none.
    pub(super) fn all_of(pattern: &'a PatternText) -> Vec<Sample<'a>> {
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
            words.as_slice().iter().map(move |word| {
                let name = plain(word);
                let only = pattern.only.as_slice().first().map(|word| plain(word));
                let of_node = |path: String| vec!["node".to_owned(), path];
                let other = match (key, only) {
                    ("package", Some(only)) => {
                        Some(vec!["npx".to_owned(), "-p".to_owned(), name.clone(), only])
                    }
                    ("package", None) => Some(of_node(format!("/x/node_modules/{name}/cli.js"))),
                    ("program", _) => Some(of_node(format!("/x/node_modules/.bin/{name}"))),
                    _ => None,
                };
                Sample {
                    key,
                    word,
                    line: with_arguments(plainest(key, name, pattern), pattern),
                    other: other.map(|line| with_arguments(line, pattern)),
                }
            })
        });
        samples.collect()
    }

    pub(super) fn written(&self) -> String {
        format!("{} = \"{}\"", self.key, self.word)
    }

    /// What is wrong with a word that not even its own sample fits.
    pub(super) fn never_matches(&self, role: Role, pattern: &PatternText) -> Option<String> {
        let hint = self.wrong_form(role).or_else(|| self.wrong_company(role, pattern))?;
        Some(format!("{} never matches: {hint}", self.written()))
    }

    /// What people write who take one key for another.
    fn wrong_form(&self, role: Role) -> Option<&'static str> {
        let word = self.word;
        let is_path = ["path", "directory", "project", "script"].contains(&self.key);
        Some(match self.key {
            "path" | "directory" | "script" if word.starts_with('~') => {
                "`~` is not filled in; write the whole path, or begin with `**/`"
            }
            "path" | "directory" if !word.starts_with(['/', '*', '{', '[']) => {
                "it is held against a full path; begin it with `/` or `**/`"
            }
            "script" if word.starts_with('/') => {
                "a script is named by the end of its path; write `path` for the whole"
            }
            "program" if word.contains('/') => {
                "a program is named without its folder; write `path` for one with it"
            }
            _ if !is_path
                && word.contains(char::is_whitespace)
                && (role == Role::Server || self.key != "program") =>
            {
                "it is one name; what stands behind it goes into `subcommand` or `argument`"
            }
            "package" if word.chars().skip(1).any(|letter| "@=<>".contains(letter)) => {
                "write the package without its version"
            }
            "image" if base_name(word).contains([':', '@']) => "write the image without its tag",
            "module" if word.contains('/') || word.ends_with(".py") => "that is a file; write `script`",
            _ => return None,
        })
    }

    /// A good word that the pattern's other keys shut out.
    fn wrong_company(&self, role: Role, pattern: &PatternText) -> Option<&'static str> {
        let alone = Catalog::compile([(role, true, pattern.clone())]).ok()?;
        let fits = |line: &Vec<String>| {
            Invocation::of(line).is_some_and(|invocation| !alone.matching(&invocation, line).is_empty())
        };
        // What else a word of `only` may be, or the folder of another program, no sample tells.
        let untold = !pattern.only.as_slice().is_empty()
            || (self.key == "directory" && !pattern.run_by.as_slice().is_empty());
        if untold || std::iter::once(&self.line).chain(&self.other).any(fits) {
            return None;
        }
        let mut excepted = pattern.except_program.as_slice().iter().chain(pattern.except.as_slice());
        let name = plain(self.word);
        Some(if pattern.subcommand.as_slice().iter().any(|words| words.starts_with('-')) {
            "a subcommand is no option; write `argument` for one"
        } else if excepted.any(|except| glob(except).is_ok_and(|except| except.is_match(&name))) {
            "`except` or `except_program` takes it out again"
        } else if self.word.contains(char::is_whitespace) {
            "it is one name; what stands behind it goes into `subcommand` or `argument`"
        } else {
            "no command line can look like that"
        })
    }
}

fn plainest(key: &str, word: String, pattern: &PatternText) -> Vec<String> {
    let in_front = pattern.run_by.as_slice().first().cloned();
    let by = |usual: &str| in_front.clone().unwrap_or_else(|| usual.to_owned());
    let interpreter = by(if word.ends_with(".py") { "python3" } else { "node" });
    let is_script = [".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".php", ".phar", ".sh"]
        .iter()
        .any(|end| word.ends_with(end));
    match key {
        "package" => vec![by("npx"), word],
        "program" if pattern.run_by.as_slice().contains(&word) => vec![word],
        "program" => in_front.into_iter().chain([word]).collect(),
        "script" if word.ends_with(".jar") => vec![by("java"), "-jar".to_owned(), format!("/x/{word}")],
        "script" => vec![interpreter, format!("/x/{word}")],
        "module" => vec![by("python3"), "-m".to_owned(), word],
        "image" => vec![by("docker"), "run".to_owned(), "-i".to_owned(), word],
        "path" if is_script => vec![interpreter, word],
        "path" => in_front.into_iter().chain([word]).collect(),
        "directory" => {
            let script = pattern.only.as_slice().first().map_or("start".to_owned(), |word| plain(word));
            vec![by("bun"), "run".to_owned(), "--cwd".to_owned(), word, script]
        }
        _ => vec![interpreter, format!("/x/{word}/dist/index.js")],
    }
}

fn with_arguments(mut line: Vec<String>, pattern: &PatternText) -> Vec<String> {
    let subcommand = pattern.subcommand.as_slice().first().map(String::as_str).unwrap_or_default();
    line.extend(subcommand.split_whitespace().map(str::to_owned));
    line.extend(pattern.argument.as_slice().first().map(|word| plain(word)));
    // One word with blanks would be a rewritten title.
    if line.len() == 1 {
        line.push("--x".to_owned());
    }
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
        // `[]]` is how a closing bracket itself is written.
        if let Some(after) = rest.strip_prefix("]]").filter(|_| sign == "[") {
            out.push(']');
            rest = after;
            continue;
        }
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
                out.push_str(&inside[..end]);
                rest = after.strip_prefix(close).unwrap_or(after);
            }
            _ => out.push('x'),
        }
    }
    out + rest
}
