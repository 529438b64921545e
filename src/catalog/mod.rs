//! Named patterns that give a process its role. A role makes a process interesting; it convicts nobody.

mod sets;
mod text;

pub(crate) use text::glob;
pub use text::{PatternError, PatternText, Strength, Words, is_any_shell, language_of};

use crate::invocation::{Invocation, Kind, base_name};
use globset::GlobSetBuilder;
use regex::Regex;
use serde::{Deserialize, Serialize};
use sets::{Field, WordSet, is_glob};
use text::{
    DIRECTORY, FIELDS, IMAGE, MODULE, PACKAGE, PATH, PROGRAM, PROJECT, SCRIPT, command_of_package,
    expression_of, parsed_glob, refuse_interpreter, refuse_meaningless, refuse_too_broad,
};

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
    /// Whether it listens on a socket by design, so that a listener without visitors means nothing.
    pub listens: bool,
    /// The option by which a watchdog is told whom it watches.
    pub parent_pid_arg: Option<String>,
    /// Each a row of words; an empty one stands for none among all the arguments.
    subcommands: Vec<Vec<WordSet>>,
    arguments: WordSet,
    except_programs: Vec<String>,
    discovered: bool,
    except_names: WordSet,
    only: WordSet,
    except_subcommands: Vec<String>,
    run_by: Vec<String>,
    specific: bool,
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
            refuse_meaningless(role, &text).map_err(fail)?;
            let narrowed = !text.subcommand.as_slice().is_empty() || !text.argument.as_slice().is_empty();
            for (field, words) in text.naming().into_iter().enumerate() {
                for word in words.as_slice() {
                    if !narrowed {
                        refuse_too_broad(word).map_err(fail)?;
                        if role == Role::Server && [PACKAGE, PROGRAM, SCRIPT].contains(&field) {
                            refuse_interpreter(word).map_err(fail)?;
                        }
                    }
                    // Its arguments are those of what it runs, so that nothing narrows it.
                    if role == Role::Server && field == PATH {
                        refuse_interpreter(word).map_err(fail)?;
                    }
                    if is_glob(word) {
                        // `*` stays within one part of a module's name, too.
                        let word = if field == MODULE { word.replace('.', "/") } else { word.clone() };
                        builders[field].add(parsed_glob(&word).map_err(fail)?);
                        catalog.fields[field].owners.push(index);
                    } else {
                        catalog.fields[field].literal.entry(word.clone()).or_default().push(index);
                        if let Some(command) =
                            command_of_package(word).filter(|_| field == PACKAGE && !text.discovered)
                        {
                            let literal = &mut catalog.fields[PROGRAM].literal;
                            literal.entry(command.to_owned()).or_default().push(index);
                        }
                    }
                }
            }
            if let Some(expression) = &text.cmdline {
                catalog.expressions.push((expression_of(expression).map_err(fail)?, index));
            }
            catalog.patterns.push(Pattern {
                role,
                own,
                strength: text.strength,
                generic: text.generic,
                stdio: text.stdio,
                listens: text.listens,
                parent_pid_arg: text.parent_pid_arg.clone(),
                subcommands: (text.subcommand.as_slice().iter())
                    .map(|words| {
                        words
                            .split_whitespace()
                            .map(|word| WordSet::of(&Words::One(word.to_owned())))
                            .collect()
                    })
                    .collect::<Result<_, _>>()
                    .map_err(fail)?,
                arguments: WordSet::of(&text.argument).map_err(fail)?,
                except_programs: text.except_program.as_slice().to_vec(),
                discovered: text.discovered,
                except_names: WordSet::of(&text.except).map_err(fail)?,
                only: WordSet::of(&text.only).map_err(fail)?,
                except_subcommands: text.except_subcommand.as_slice().to_vec(),
                run_by: text.run_by.as_slice().to_vec(),
                specific: text.is_specific(),
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

    /// The first pattern of this name and role.
    pub fn find(&self, name: &str, role: Role) -> Option<PatternIndex> {
        self.patterns.iter().position(|pattern| pattern.role == role && pattern.name == name)
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

    /// Every pattern that names this invocation, the winner of [`Catalog::classify_invocation`] among them, in the order
    /// of the catalog.
    pub fn matching(&self, invocation: &Invocation, arguments: &[String]) -> Vec<PatternIndex> {
        let mut found = Vec::new();
        self.collect(invocation, arguments, &mut found);
        found.retain(|index| {
            let pattern = &self.patterns[*index];
            pattern.fits(invocation) && !pattern.excepts(invocation)
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a server pattern would name this, if it were not one of its exceptions.
    pub fn is_excepted(&self, invocation: &Invocation, arguments: &[String]) -> bool {
        let mut found = Vec::new();
        self.collect(invocation, arguments, &mut found);
        found.into_iter().map(|index| &self.patterns[index]).any(|pattern| {
            // A weak name says too little to say anything by its exceptions.
            let names = pattern.role == Role::Server && pattern.strength == Strength::Strong;
            names && pattern.fits(invocation) && pattern.excepts(invocation)
        })
    }

    /// The same for a line that was taken apart already. `arguments` are the words that `cmdline` patterns see.
    pub fn classify_invocation(&self, invocation: Invocation, arguments: &[String]) -> Option<Classified> {
        // A specific server comes before client, host and launcher, a generic one after all of them.
        let best = (self.matching(&invocation, arguments).into_iter())
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

    fn collect(&self, invocation: &Invocation, arguments: &[String], found: &mut Vec<PatternIndex>) {
        let target = invocation.target.as_str();
        // What was discovered is the package as its runner starts it: of its files and programs nobody has said anything.
        let discovered = |index: &PatternIndex| self.patterns[*index].discovered;
        for package in &invocation.packages {
            self.fields[PACKAGE].find(package, found);
        }
        if invocation.kind != Kind::Package {
            found.retain(|index| !discovered(index));
        }
        for command in &invocation.commands {
            self.fields[PROGRAM].find(command, found);
            // A package brings a command of its name; that a name only looks like a package's proves less.
            let mut brought = Vec::new();
            self.fields[PACKAGE].find_literal(command, &mut brought);
            found.extend(brought.into_iter().filter(|index| !discovered(index)));
        }
        if invocation.executable.contains('/') && invocation.executable != target {
            // A server is what an interpreter or a shell runs, never these.
            let mut by_executable = Vec::new();
            self.fields[PATH].find(&invocation.executable, &mut by_executable);
            found
                .extend(by_executable.into_iter().filter(|index| self.patterns[*index].role != Role::Server));
        }
        match invocation.kind {
            Kind::Script => {
                self.fields[SCRIPT].find(base_name(target), found);
                self.find_path_ends(target, found);
                self.fields[PATH].find(target, found);
                // `uv --directory /x run server.py` runs /x/server.py.
                let directory = invocation.directory.as_deref().filter(|_| !target.starts_with('/'));
                if let Some(directory) = directory.filter(|directory| directory.starts_with('/')) {
                    let full = format!("{}/{target}", directory.trim_end_matches('/'));
                    self.fields[PATH].find(&full, found);
                }
            }
            Kind::Native => self.fields[PATH].find(target, found),
            Kind::Module => {
                self.fields[MODULE].find_literal(target, found);
                self.fields[MODULE].find_glob(&target.replace('.', "/"), found);
            }
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
            Role::Server if self.discovered => 8,
            Role::Server if self.own && self.specific => 1,
            Role::Server if !self.generic && !self.own => 2,
            Role::Client => 3,
            Role::Host | Role::Adopter => 4,
            Role::Launcher => 5,
            Role::Browser => 6,
            // What matches by shape alone, also the user's own, never makes a client a server; nor does what was discovered.
            Role::Server if self.own => 7,
            Role::Server => 9,
        };
        (role, u8::from(self.strength == Strength::Weak))
    }

    fn fits(&self, invocation: &Invocation) -> bool {
        let subcommand = self.subcommands.is_empty()
            || self.subcommands.iter().any(|words| {
                let mut given = invocation.leading_words();
                match words.as_slice() {
                    [] => invocation.arguments.iter().all(|word| word.starts_with('-') && word != "--"),
                    words => words.iter().all(|word| given.next().is_some_and(|given| word.contains(given))),
                }
            });
        // `--db` is also `--db=x`; no word at all stands for no arguments.
        let is_wanted = |word: &String| {
            let name = word.split_once('=').map(|(name, _)| name).filter(|name| name.starts_with('-'));
            self.arguments.contains(word) || name.is_some_and(|name| self.arguments.contains(name))
        };
        let argument = self.arguments.is_empty()
            || (invocation.arguments.is_empty() && self.arguments.literal.contains(""))
            || invocation.arguments.iter().any(is_wanted);
        let run_by = self.run_by.is_empty() || self.run_by.contains(&invocation.program);
        let only = self.only.is_empty() || invocation.names().any(|name| self.only.contains(name));
        subcommand && argument && run_by && only
    }

    /// Whether an exception takes it out.
    fn excepts(&self, invocation: &Invocation) -> bool {
        // A module is named by each of its parts.
        let parts = invocation.target.split('.').filter(|_| invocation.kind == Kind::Module);
        self.except_programs.contains(&invocation.program)
            || invocation
                .leading_words()
                .any(|word| self.except_subcommands.iter().any(|except| except == word))
            || invocation.names().chain(parts).any(|name| self.except_names.contains(name))
    }
}

#[cfg(test)]
mod tests;
