//! Patterns as people write them, and what is refused of them.

use super::Role;
use crate::invocation::base_name;
use globset::{Glob, GlobBuilder, GlobMatcher};
use regex::Regex;
use serde::{Deserialize, Serialize};

/// How sure a pattern is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Names a server beyond doubt.
    #[default]
    Strong,
    /// Merely likely: never reaps by itself.
    Weak,
}

/// One word or a list of words, as TOML allows both.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum Words {
    /// Nothing given.
    #[default]
    None,
    /// `key = "word"`
    One(String),
    /// `key = ["word", "word"]`
    Many(Vec<String>),
}

impl Words {
    /// The words as a slice.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Words::None => &[],
            Words::One(word) => std::slice::from_ref(word),
            Words::Many(words) => words,
        }
    }
}

/// A pattern as it is written in TOML. Of the naming keys (`package` to `cmdline`) one must fit; every other key that
/// is given must hold as well.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternText {
    /// What people call it.
    pub name: String,
    /// Package of a runner or below `node_modules`; also the command of the same name. `*` stays within a `/`.
    #[serde(default)]
    pub package: Words,
    /// Program or command name.
    #[serde(default)]
    pub program: Words,
    /// File name of a script, or the end of its path.
    #[serde(default)]
    pub script: Words,
    /// Python module; `name.*` for its submodules, `name.**` for those below them, too.
    #[serde(default)]
    pub module: Words,
    /// Container image without tag.
    #[serde(default)]
    pub image: Words,
    /// Full path of the script or program, as a glob with `**`.
    #[serde(default)]
    pub path: Words,
    /// Directory that the command line itself changes to, as a glob with `**`.
    #[serde(default)]
    pub directory: Words,
    /// Name of the project directory around an entry file such as `dist/index.js`.
    #[serde(default)]
    pub project: Words,
    /// Regular expression over the whole command line, words joined by blanks.
    #[serde(default)]
    pub cmdline: Option<String>,
    /// First words behind the target: `mcp serve`. An empty one stands for no word among all the arguments, `/**` for a path.
    #[serde(default)]
    pub subcommand: Words,
    /// A word among the arguments: `--mcp`, which is also `--mcp=x`. An empty one stands for no argument at all.
    #[serde(default)]
    pub argument: Words,
    /// Programs that must stand in front: `bun` in `bun run --cwd DIR start`.
    #[serde(default)]
    pub run_by: Words,
    /// Programs in front that are not meant, although a naming key fits.
    #[serde(default)]
    pub except_program: Words,
    /// Names that are not meant, although a naming key fits: of packages, commands, modules and script files.
    #[serde(default)]
    pub except: Words,
    /// Names of which one must be there beside what a naming key says: `start` in `bun run --cwd DIR start`.
    #[serde(default)]
    pub only: Words,
    /// Words that none of the first words behind the target may be, up to the first option: `list` in `x mcp list`.
    #[serde(default)]
    pub except_subcommand: Words,
    /// `strong` (default) or `weak`.
    #[serde(default)]
    pub strength: Strength,
    /// Names a kind of thing; the server's own name is taken from what it runs.
    #[serde(default)]
    pub generic: bool,
    /// Whether this server speaks over stdin. `false` waives the proof that stdin is a pipe or socket.
    #[serde(default = "yes")]
    pub stdio: bool,
    /// Whether this server listens on a socket by design. `true` waives the doubt that a listener without visitors raises.
    #[serde(default)]
    pub listens: bool,
    /// The option by which a helper is told the pid that it watches: `--parent-pid`. Once that process is gone, nobody
    /// needs the helper.
    #[serde(default)]
    pub parent_pid_arg: Option<String>,
    /// Written by `discover`: whatever else names a process comes first.
    #[serde(skip)]
    pub discovered: bool,
    /// Command lines that it is there for. They change nothing; checks hold the pattern against them.
    #[serde(default)]
    pub examples: Words,
}

fn yes() -> bool {
    true
}

impl PatternText {
    pub(super) fn naming(&self) -> [&Words; FIELDS] {
        [
            &self.package,
            &self.program,
            &self.script,
            &self.module,
            &self.image,
            &self.path,
            &self.directory,
            &self.project,
        ]
    }

    /// Whether it names things word for word, not by shape.
    pub(super) fn is_specific(&self) -> bool {
        let shapes = [&self.path, &self.directory, &self.project];
        let literal =
            |words: &Words| words.as_slice().iter().all(|word| !word.contains(['*', '?', '[', '{']));
        self.cmdline.is_none()
            && shapes.iter().all(|words| words.as_slice().is_empty())
            && self.naming().into_iter().all(literal)
    }

    /// Whether any naming key is given.
    pub fn names_something(&self) -> bool {
        self.cmdline.is_some() || self.naming().iter().any(|words| !words.as_slice().is_empty())
    }
}

/// Why a pattern was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("pattern \"{name}\": {problem}")]
pub struct PatternError {
    /// The pattern's name.
    pub name: String,
    /// What is wrong and what to do.
    pub problem: String,
}

/// Positions of the naming keys in `PatternText::naming`.
pub(super) const PACKAGE: usize = 0;
pub(super) const PROGRAM: usize = 1;
pub(super) const SCRIPT: usize = 2;
pub(super) const MODULE: usize = 3;
pub(super) const IMAGE: usize = 4;
pub(super) const PATH: usize = 5;
pub(super) const DIRECTORY: usize = 6;
pub(super) const PROJECT: usize = 7;
pub(super) const FIELDS: usize = 8;

/// A scoped package usually brings a command of its bare name: `@upstash/context7-mcp` brings `context7-mcp`.
pub(super) fn command_of_package(package: &str) -> Option<&str> {
    let (_, bare) = package.strip_prefix('@')?.split_once('/')?;
    (bare.contains("mcp") && !matches!(bare, "mcp" | "mcp-server")).then_some(bare)
}

/// `*` stays within one path component, `**` does not.
pub(crate) fn glob(word: &str) -> Result<GlobMatcher, String> {
    parsed_glob(word).map(|glob| glob.compile_matcher())
}

/// The same, not compiled yet.
pub(super) fn parsed_glob(word: &str) -> Result<Glob, String> {
    let parsed = GlobBuilder::new(word).literal_separator(true).build();
    parsed.map_err(|error| format!("`{word}` is no glob: {error}"))
}

pub(super) fn expression_of(expression: &str) -> Result<Regex, String> {
    let regex = Regex::new(expression).map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        format!("`{expression}` is no regular expression: {last}")
    })?;
    if regex.is_match("") {
        return Err(format!("`{expression}` matches everything; it would name every process of the machine"));
    }
    Ok(regex)
}

/// Refuses keys that would change nothing: whoever wrote them would believe that they do.
pub(super) fn refuse_meaningless(role: Role, text: &PatternText) -> Result<(), String> {
    match &text.parent_pid_arg {
        Some(option) if option.is_empty() => return Err("parent_pid_arg is empty".to_owned()),
        Some(_) if role != Role::Helper => return Err("parent_pid_arg belongs to a [[helper]]".to_owned()),
        _ => {}
    }
    if role != Role::Server && !text.stdio {
        return Err("stdio = false belongs to a [[server]]".to_owned());
    }
    if role != Role::Server && text.listens {
        return Err("listens = true belongs to a [[server]]".to_owned());
    }
    Ok(())
}

/// Refuses words that would name every process.
pub(super) fn refuse_too_broad(word: &str) -> Result<(), String> {
    if word.is_empty() {
        return Err("has an empty word; an empty pattern names nothing".to_owned());
    }
    let letters = word.chars().filter(|letter| letter.is_alphanumeric()).count();
    if letters == 0 {
        return Err(format!("`{word}` matches everything; write at least a part of a name"));
    }
    Ok(())
}

/// A server pattern must not name an interpreter or a shell: it would name every program that is written in it.
pub(super) fn refuse_interpreter(word: &str) -> Result<(), String> {
    if word.starts_with('@') {
        return Ok(());
    }
    let name = base_name(word);
    if let Some(language) = language_of(name) {
        return Err(format!(
            "`{word}` would name every {language} program; name its script, module or package"
        ));
    }
    if is_any_shell(name) {
        return Err(format!("`{word}` would name every shell; name what it runs"));
    }
    Ok(())
}

/// The language that a program of this name runs, with or without its version: `python3.12`, `node-20`, `php8.3`.
pub fn language_of(name: &str) -> Option<&'static str> {
    const LANGUAGES: [(&str, &str); 37] = [
        ("node", "Node.js"),
        ("nodejs", "Node.js"),
        ("bun", "Bun"),
        ("deno", "Deno"),
        ("tsx", "TypeScript"),
        ("ts-node", "TypeScript"),
        ("vite-node", "TypeScript"),
        ("esno", "TypeScript"),
        ("jiti", "TypeScript"),
        ("zx", "zx"),
        ("babel-node", "JavaScript"),
        ("gjs", "JavaScript"),
        ("python", "Python"),
        ("pypy", "Python"),
        ("ipython", "Python"),
        ("ruby", "Ruby"),
        ("jruby", "Ruby"),
        ("irb", "Ruby"),
        ("java", "Java"),
        ("kotlin", "Kotlin"),
        ("groovy", "Groovy"),
        ("scala", "Scala"),
        ("clojure", "Clojure"),
        ("php", "PHP"),
        ("perl", "Perl"),
        ("lua", "Lua"),
        ("luajit", "Lua"),
        ("tclsh", "Tcl"),
        ("guile", "Guile"),
        ("racket", "Racket"),
        ("elixir", "Elixir"),
        ("mix", "Elixir"),
        ("erl", "Erlang"),
        ("julia", "Julia"),
        ("octave", "Octave"),
        ("Rscript", "R"),
        ("dotnet", ".NET"),
    ];
    let name = name.trim_start_matches('.').trim_end_matches("-wrapped");
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || ".-_".contains(letter));
    LANGUAGES.iter().find(|(known, _)| *known == bare).map(|(_, language)| *language)
}

/// Whether a program of this name is a shell, also one whose language is not read here.
pub fn is_any_shell(name: &str) -> bool {
    const OTHERS: [&str; 10] =
        ["xonsh", "tcsh", "csh", "nu", "elvish", "osh", "yash", "pwsh", "powershell", "rc"];
    crate::invocation::is_shell(name) || OTHERS.contains(&name)
}
