//! Named patterns that give a process its role. A role makes a process interesting; it convicts nobody.

use crate::invocation::{Invocation, Kind, base_name};
use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a process is to us.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// An MCP server, or a wrapper that names one.
    Server,
    /// A wrapper.
    Launcher,
    /// An AI client: never a target, and nothing below it either while it lives.
    Client,
    /// A program that owns what it starts, also at PPID 1: tmux, pm2, cron, sshd, gateways.
    Host,
    /// A browser.
    Browser,
    /// A process that servers start for their own use: language servers, watchdogs, recorders.
    Helper,
    /// A process that inherits orphans, beside PID 1 and the users' service managers.
    Adopter,
}

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
    /// Python module; `name.*` for its submodules.
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
    /// First words of the target that are no options: `mcp serve`.
    #[serde(default)]
    pub subcommand: Words,
    /// A word among the arguments: `--mcp`.
    #[serde(default)]
    pub argument: Words,
    /// Programs that are not meant, although a naming key fits.
    #[serde(default)]
    pub except_program: Words,
    /// `strong` (default) or `weak`.
    #[serde(default)]
    pub strength: Strength,
    /// Names a kind of thing; the server's own name is taken from what it runs.
    #[serde(default)]
    pub generic: bool,
    /// Whether this server speaks over stdin. `false` waives the proof that stdin is a pipe or socket.
    #[serde(default = "yes")]
    pub stdio: bool,
    /// Whether this server listens on a socket by nature.
    #[serde(default)]
    pub listens: bool,
}

fn yes() -> bool {
    true
}

impl PatternText {
    fn naming(&self) -> [&Words; FIELDS] {
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

    /// Whether any naming key is given.
    pub fn names_something(&self) -> bool {
        self.cmdline.is_some() || self.naming().iter().any(|words| !words.as_slice().is_empty())
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    /// What people call it.
    pub name: String,
    /// The role it gives.
    pub role: Role,
    /// How sure it is.
    pub strength: Strength,
    /// Names a kind of thing rather than one.
    pub generic: bool,
    /// Written by the user, not shipped.
    pub own: bool,
    /// Whether it speaks over stdin.
    pub stdio: bool,
    /// Whether it listens by nature.
    pub listens: bool,
    subcommands: Vec<Vec<String>>,
    arguments: Vec<GlobMatcher>,
    except: Vec<String>,
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

/// The role of one process, and why.
#[derive(Clone, Debug)]
pub struct Classified {
    /// Its role.
    pub role: Role,
    /// The pattern that gave it; `None` for a wrapper that names nothing known.
    pub pattern: Option<PatternIndex>,
    /// What it runs.
    pub invocation: Invocation,
}

impl Classified {
    /// Whether it is a wrapper around what it names. `bun run start` is one around a script of its package.
    pub fn is_wrapper(&self) -> bool {
        let invocation = &self.invocation;
        let package_script = invocation.program == "bun" && !invocation.target.contains(['.', '/']);
        !invocation.through.is_empty() || (invocation.kind == Kind::Script && package_script)
    }
}

/// Position of a pattern in its catalog.
pub type PatternIndex = usize;

/// Compiled patterns. Compiled once; asking costs a few hash look-ups.
#[derive(Debug, Default)]
pub struct Catalog {
    patterns: Vec<Pattern>,
    fields: [Field; FIELDS],
    expressions: Vec<(Regex, PatternIndex)>,
}

const PACKAGE: usize = 0;
const PROGRAM: usize = 1;
const SCRIPT: usize = 2;
const MODULE: usize = 3;
const IMAGE: usize = 4;
const PATH: usize = 5;
const DIRECTORY: usize = 6;
const PROJECT: usize = 7;
const FIELDS: usize = 8;

/// Literal words in a map, the others in one automaton.
#[derive(Debug, Default)]
struct Field {
    literal: HashMap<String, Vec<PatternIndex>>,
    globs: GlobSet,
    owners: Vec<PatternIndex>,
}

impl Field {
    fn find(&self, word: &str, found: &mut Vec<PatternIndex>) {
        if let Some(owners) = self.literal.get(word) {
            found.extend(owners);
        }
        found.extend(self.globs.matches(word).into_iter().map(|at| self.owners[at]));
    }
}

impl Catalog {
    /// Compiles patterns: the shipped ones and the user's own (`own` true), each with its role.
    pub fn compile(
        texts: impl IntoIterator<Item = (Role, bool, PatternText)>,
    ) -> Result<Catalog, PatternError> {
        let mut catalog = Catalog::default();
        let mut builders: [GlobSetBuilder; FIELDS] = std::array::from_fn(|_| GlobSetBuilder::new());
        for (role, own, text) in texts {
            let index = catalog.patterns.len();
            let fail = |problem: String| PatternError { name: text.name.clone(), problem };
            if !text.names_something() {
                let problem = "names nothing; give it one of package, program, script, module, image, path, \
                               directory, project or cmdline";
                return Err(fail(problem.to_owned()));
            }
            let narrowed = !text.subcommand.as_slice().is_empty() || !text.argument.as_slice().is_empty();
            for (field, words) in text.naming().into_iter().enumerate() {
                for word in words.as_slice() {
                    if !narrowed {
                        refuse_too_broad(word).map_err(fail)?;
                        if role == Role::Server {
                            refuse_interpreter(word).map_err(fail)?;
                        }
                    }
                    if word.contains(['*', '?', '[', '{']) {
                        let glob = glob(word).map_err(fail)?;
                        builders[field].add(glob.glob().clone());
                        catalog.fields[field].owners.push(index);
                    } else {
                        catalog.fields[field].literal.entry(word.clone()).or_default().push(index);
                        if let Some(command) = command_of_package(word).filter(|_| field == PACKAGE) {
                            let literal = &mut catalog.fields[PROGRAM].literal;
                            literal.entry(command.to_owned()).or_default().push(index);
                        }
                    }
                }
            }
            if let Some(expression) = &text.cmdline {
                catalog.expressions.push((expression_of(expression).map_err(fail)?, index));
            }
            let arguments = text.argument.as_slice().iter().map(|word| glob(word)).collect::<Result<_, _>>();
            catalog.patterns.push(Pattern {
                role,
                own,
                strength: text.strength,
                generic: text.generic,
                stdio: text.stdio,
                listens: text.listens,
                subcommands: (text.subcommand.as_slice().iter())
                    .map(|words| words.split_whitespace().map(str::to_owned).collect())
                    .collect(),
                arguments: arguments.map_err(fail)?,
                except: text.except_program.as_slice().to_vec(),
                name: text.name,
            });
        }
        for (field, builder) in builders.into_iter().enumerate() {
            catalog.fields[field].globs = builder.build().map_err(|error| PatternError {
                name: "all".to_owned(),
                problem: format!("cannot be compiled together: {error}"),
            })?;
        }
        Ok(catalog)
    }

    /// A pattern by its position.
    pub fn pattern(&self, index: PatternIndex) -> &Pattern {
        &self.patterns[index]
    }

    /// All patterns.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// What this command line is; `None` for an empty one and for everything that no pattern names.
    pub fn classify(&self, arguments: &[String]) -> Option<Classified> {
        let invocation = Invocation::of(arguments)?;
        self.classify_invocation(invocation, arguments)
    }

    /// The same for a line that was taken apart already. `arguments` are the words that `cmdline` patterns see.
    pub fn classify_invocation(&self, invocation: Invocation, arguments: &[String]) -> Option<Classified> {
        let mut found = Vec::new();
        self.find(&invocation, arguments, &mut found);
        // A specific server comes before client, host and launcher, a generic one after all of them.
        let best = found
            .into_iter()
            .filter(|index| self.patterns[*index].fits(&invocation))
            .min_by_key(|index| self.patterns[*index].rank());
        match best {
            Some(index) => {
                Some(Classified { role: self.patterns[index].role, pattern: Some(index), invocation })
            }
            None if !invocation.through.is_empty() => {
                Some(Classified { role: Role::Launcher, pattern: None, invocation })
            }
            None => None,
        }
    }

    fn find(&self, invocation: &Invocation, arguments: &[String], found: &mut Vec<PatternIndex>) {
        let target = invocation.target.as_str();
        for package in &invocation.packages {
            self.fields[PACKAGE].find(package, found);
        }
        for command in &invocation.commands {
            self.fields[PROGRAM].find(command, found);
            self.fields[PACKAGE].find(command, found);
        }
        if invocation.executable.contains('/') && invocation.executable != target {
            self.fields[PATH].find(&invocation.executable, found);
        }
        match invocation.kind {
            Kind::Script => {
                self.fields[SCRIPT].find(base_name(target), found);
                self.find_path_ends(target, found);
                self.fields[PATH].find(target, found);
            }
            Kind::Native => self.fields[PATH].find(target, found),
            Kind::Module => self.fields[MODULE].find(target, found),
            Kind::Image => self.fields[IMAGE].find(target, found),
            Kind::Package | Kind::Shell | Kind::Inline => {}
        }
        if let Some(directory) = &invocation.directory {
            self.fields[DIRECTORY].find(directory, found);
        }
        if let Some(project) = &invocation.project {
            self.fields[PROJECT].find(project, found);
        }
        if !self.expressions.is_empty() {
            let line = arguments.join(" ");
            found.extend(
                self.expressions.iter().filter(|(regex, _)| regex.is_match(&line)).map(|(_, index)| *index),
            );
        }
    }

    /// `script = "telemetry/watchdog/main.js"` fits every path that ends so.
    fn find_path_ends(&self, path: &str, found: &mut Vec<PatternIndex>) {
        let mut ends = path.rmatch_indices('/').skip(1);
        for _ in 0..4 {
            let Some((at, _)) = ends.next() else { break };
            self.fields[SCRIPT].find(&path[at + 1..], found);
        }
        if !path.starts_with('/') {
            self.fields[SCRIPT].find(path, found);
        }
    }

    /// The name to show for a process of this role.
    pub fn display_name(&self, classified: &Classified) -> String {
        match classified.pattern.map(|index| self.pattern(index)) {
            Some(pattern) if !pattern.generic => pattern.name.clone(),
            _ => classified.invocation.display_name(),
        }
    }
}

impl Pattern {
    fn rank(&self) -> (u8, u8) {
        let role = match self.role {
            Role::Helper => 0,
            Role::Server if self.own => 1,
            Role::Server if !self.generic => 2,
            Role::Client => 3,
            Role::Host | Role::Adopter => 4,
            Role::Launcher => 5,
            Role::Browser => 6,
            Role::Server => 7,
        };
        (role, u8::from(self.strength == Strength::Weak))
    }

    fn fits(&self, invocation: &Invocation) -> bool {
        let subcommand = self.subcommands.is_empty()
            || self.subcommands.iter().any(|words| {
                let mut given = invocation.positionals();
                words.iter().all(|word| given.next() == Some(word))
            });
        let argument = self.arguments.is_empty()
            || self
                .arguments
                .iter()
                .any(|wanted| invocation.arguments.iter().any(|word| wanted.is_match(word)));
        subcommand && argument && !self.except.contains(&invocation.program)
    }
}

/// A scoped package usually brings a command of its bare name: `@upstash/context7-mcp` brings `context7-mcp`.
fn command_of_package(package: &str) -> Option<&str> {
    let (_, bare) = package.strip_prefix('@')?.split_once('/')?;
    (bare.contains("mcp") && !matches!(bare, "mcp" | "mcp-server")).then_some(bare)
}

/// `*` stays within one path component, `**` does not.
pub(crate) fn glob(word: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(word)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("`{word}` is no glob: {error}"))
}

pub(crate) fn expression_of(expression: &str) -> Result<Regex, String> {
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

/// Refuses words that would name every process.
pub(crate) fn refuse_too_broad(word: &str) -> Result<(), String> {
    let letters = word.chars().filter(|letter| letter.is_alphanumeric()).count();
    if letters == 0 {
        return Err(format!("`{word}` matches everything; write at least a part of a name"));
    }
    Ok(())
}

/// A server pattern must not name an interpreter or a shell: it would name every program that is written in it.
fn refuse_interpreter(word: &str) -> Result<(), String> {
    const LANGUAGES: [(&str, &str); 9] = [
        ("node", "Node.js"),
        ("nodejs", "Node.js"),
        ("bun", "Bun"),
        ("deno", "Deno"),
        ("python", "Python"),
        ("python3", "Python"),
        ("ruby", "Ruby"),
        ("java", "Java"),
        ("php", "PHP"),
    ];
    if let Some((_, language)) = LANGUAGES.iter().find(|(name, _)| *name == word) {
        return Err(format!(
            "`{word}` would name every {language} program; name its script, module or package"
        ));
    }
    if ["sh", "bash", "dash", "zsh", "fish", "ksh"].contains(&word) {
        return Err(format!("`{word}` would name every shell; name what it runs"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
