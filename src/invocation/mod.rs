//! What a command line really runs: seen through wrappers, interpreters, shells and rewritten titles.
//!
//! A name counts only where it stands for what is run: the script of an interpreter, the module after `-m`, the
//! package of a runner, the image of a container, the program itself. A word elsewhere in the line counts for nothing.

mod interpreters;
mod paths;
mod shell;
#[cfg(test)]
mod tests;
mod wrappers;

pub use paths::{base_name, stem};
pub use shell::is_shell;

use serde::Serialize;

/// In what form the target is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A file run by an interpreter.
    Script,
    /// `python -m MODULE`.
    Module,
    /// A package fetched and run by `npx`, `uvx` and their like.
    Package,
    /// A container image.
    Image,
    /// A program of its own.
    Native,
    /// A shell that runs more than one thing, or an interactive one.
    Shell,
    /// Code on the command line, or an interpreter without a script.
    Inline,
}

/// What a command line runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Invocation {
    /// The program in front, without its directory: `node`, `npm`, `mcp-server-git`.
    pub program: String,
    /// The same with its directory, as it is written.
    pub executable: String,
    /// In what form the target is run.
    pub kind: Kind,
    /// Script path, module, package, image or program path.
    pub target: String,
    /// Package names that the target stands for: from a runner, or from a path below `node_modules`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Command names that the target stands for: `.bin/NAME`, a script without suffix, the program itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The project directory of a script whose own name says nothing (`foo-mcp/dist/index.js`). Only ever a hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The directory that the command line itself changes to (`cd X &&`, `--cwd X`, `--directory X`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Arguments of the target.
    pub arguments: Vec<String>,
    /// An option that nobody knows stands in front of the target, which may be its value.
    #[serde(skip)]
    pub doubtful: bool,
    /// Wrappers it was seen through, outermost first: `["npm exec"]`, `["sh -c", "env"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
}

impl Invocation {
    /// Reads an argument vector as the kernel gives it: one element may be a rewritten title that holds the whole line.
    /// `None` for an empty one.
    pub fn of(arguments: &[String]) -> Option<Invocation> {
        let words: Vec<String> = match arguments {
            [] => return None,
            [title] if title.contains(char::is_whitespace) => split_title(title),
            // A program that rewrote only its name: `["npm exec foo", "--stdio"]`. A path may hold blanks.
            [title, rest @ ..] if title.contains(char::is_whitespace) && !title.contains('/') => {
                split_title(title).into_iter().chain(rest.iter().cloned()).collect()
            }
            _ => arguments.to_vec(),
        };
        let mut found = resolve(&words, 0)?;
        found.program = paths::program_name(words.first()?);
        found.executable = words.first()?.clone();
        Some(found)
    }

    /// Reads a line as a person pastes it, quotes and all.
    pub fn of_line(line: &str) -> Option<Invocation> {
        let words =
            shell_words::split(line).unwrap_or_else(|_| line.split_whitespace().map(str::to_owned).collect());
        // `A=1 npx x`: a shell's way to set a variable, which is no part of the process's own line.
        Invocation::of(&rejoin_shell_script(without_assignments(&words).to_vec()))
    }

    /// The name that people would call the target by.
    pub fn display_name(&self) -> String {
        self.packages.first().or(self.commands.first()).cloned().unwrap_or_else(|| match self.kind {
            Kind::Script => self.project.clone().unwrap_or_else(|| base_name(&self.target).to_owned()),
            _ => self.target.clone(),
        })
    }

    /// The names that the target goes by: packages, commands, and the module, image, program or script file itself.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let target = match self.kind {
            Kind::Module | Kind::Image => self.target.as_str(),
            _ => base_name(&self.target),
        };
        self.packages.iter().chain(&self.commands).map(String::as_str).chain([target])
    }

    /// Arguments of the target up to the first option: behind one, a word may be its value.
    pub fn leading_words(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().map(String::as_str).take_while(|word| !word.starts_with('-'))
    }

    /// The words that make this a network server or a daemon, which nobody reaches over stdin; `None` for the stdio form.
    pub fn network_form(&self) -> Option<String> {
        let file = stem(base_name(&self.target));
        if matches!(file, "daemon" | "cliDaemon") {
            return Some(base_name(&self.target).to_owned());
        }
        let mut words = self.arguments.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (word, words.peek().copied()),
            };
            let lower = flag.to_ascii_lowercase();
            match lower.as_str() {
                "--port" | "--http" | "--http-port" | "--sse" | "--listen" | "--daemon" | "--http-server"
                | "--streamable-http" => return Some(flag.to_owned()),
                "--transport" | "--outputtransport" | "--output-transport" | "-t" | "--mode" => {
                    let value = value.unwrap_or_default().to_ascii_lowercase();
                    let network = [
                        "sse",
                        "http",
                        "streamablehttp",
                        "streamable-http",
                        "streamable_http",
                        "ws",
                        "websocket",
                    ];
                    if network.contains(&value.as_str()) {
                        return Some(format!("{flag} {value}"));
                    }
                }
                _ => {}
            }
        }
        let network = ["daemon", "sse", "http", "streamablehttp", "streamable-http"];
        let first = self.leading_words().next()?;
        network.contains(&first.to_ascii_lowercase().as_str()).then(|| first.to_owned())
    }

    fn new(kind: Kind, target: &str, arguments: &[String]) -> Invocation {
        Invocation {
            program: String::new(),
            executable: String::new(),
            kind,
            target: target.to_owned(),
            packages: Vec::new(),
            commands: Vec::new(),
            project: None,
            directory: None,
            arguments: arguments.to_vec(),
            doubtful: false,
            through: Vec::new(),
        }
    }

    fn doubted(mut self, doubtful: bool) -> Invocation {
        self.doubtful |= doubtful;
        self
    }

    fn seen_through(mut self, wrapper: &str) -> Invocation {
        self.through.insert(0, wrapper.to_owned());
        self
    }
}

/// Words without the assignments in front: `A=1 npx x`, as a shell or `env` reads them.
pub fn without_assignments(words: &[String]) -> &[String] {
    let first = words.iter().position(|word| !shell::is_assignment(word)).unwrap_or(words.len());
    &words[first..]
}

/// Wrappers may be nested; nobody nests them deeper than this, and a hostile line must not run the stack out.
const DEEPEST: usize = 12;

/// Resolves words, the program first.
fn resolve(words: &[String], depth: usize) -> Option<Invocation> {
    let (first, rest) = words.split_first()?;
    let name = paths::program_name(first);
    if depth < DEEPEST {
        if let Some(found) = shell::resolve(&name, rest, depth) {
            return Some(found);
        }
        if let Some(found) = wrappers::resolve(&name, first, rest, depth) {
            return Some(found);
        }
        if let Some(found) = interpreters::resolve(&name, rest) {
            return Some(found);
        }
    }
    let mut found = Invocation::new(Kind::Native, first, rest);
    found.packages = paths::packages_of(&paths::normal(first));
    found.commands.push(name);
    Some(found)
}

/// Splits a rewritten title. A path into a macOS application bundle keeps its blanks up to the first option.
fn split_title(title: &str) -> Vec<String> {
    let title = title.trim();
    if title.starts_with('/') && title.contains(".app/Contents/") {
        let (path, options) = title.split_once(" -").unwrap_or((title, ""));
        let mut words = vec![path.to_owned()];
        if !options.is_empty() {
            words.extend(format!("-{options}").split_whitespace().map(str::to_owned));
        }
        return words;
    }
    shell_words::split(title).unwrap_or_else(|_| title.split_whitespace().map(str::to_owned).collect())
}

/// `ps` prints `sh -c cd /x && run` without the quotes around the script: puts it back together.
fn rejoin_shell_script(words: Vec<String>) -> Vec<String> {
    let is_shell = words.first().is_some_and(|first| shell::is_shell(&paths::program_name(first)));
    let dash_c = words.iter().position(|word| word == "-c" || word == "-lc");
    match dash_c {
        Some(at) if is_shell && words.iter().skip(at + 2).any(|word| shell::is_operator(word)) => {
            let mut joined = words[..=at].to_vec();
            joined.push(words[at + 1..].join(" "));
            joined
        }
        _ => words,
    }
}
