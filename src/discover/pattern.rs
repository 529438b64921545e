//! From what a client starts to a pattern that names it: by package, module, image, script or program, never by its arguments,
//! which may be secrets. What would name more than the one server is left out, and said.

use super::guard::Guard;
use super::variables::UNKNOWN;
use crate::catalog::{Catalog, PatternText, Role, Strength};
use crate::invocation::{Invocation, Kind, base_name, is_shell, stem};
use crate::redact::{command_words, sentence};
use std::path::Path;

/// A pattern as it will stand in the file: its keys, without the name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern {
    /// Keys of a `[[server]]` with their words.
    pub keys: Vec<(&'static str, String)>,
}

/// What orphand makes of one line of a client's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Derived {
    /// A pattern, and whether one is there already: the shipped catalog's, or one of the user's own, by its name.
    Named {
        /// What names it.
        pattern: Pattern,
        /// Who has that already.
        known: Option<String>,
        /// Command lines that it stands for, as a process table shows them; without arguments.
        lines: Vec<String>,
    },
    /// Nothing; why.
    LeftOut(String),
}

impl Pattern {
    fn of(key: &'static str, word: &str) -> Pattern {
        Pattern { keys: vec![(key, word.to_owned())] }
    }

    fn and(mut self, key: &'static str, word: &str) -> Pattern {
        self.keys.push((key, word.to_owned()));
        self
    }

    /// The lines of a `[[server]]` entry.
    pub fn entry(&self, name: &str) -> String {
        format!("[[server]]\nname = {}\n{}", quoted(name), self.key_lines())
    }

    fn key_lines(&self) -> String {
        self.keys.iter().map(|(key, word)| format!("{key} = {}\n", quoted(word))).collect()
    }

    /// Whether an entry of a file that `discover` wrote has these very keys.
    pub fn is_in(&self, file: &str) -> bool {
        let mut entries = file.split("[[server]]\n").skip(1).filter_map(|entry| entry.split_once('\n'));
        let lines = self.key_lines();
        entries.any(|(_, keys)| {
            keys.strip_prefix(&lines).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
        })
    }

    /// The same compiled, from the very text that is written.
    fn compiled(&self, name: &str) -> Result<Catalog, String> {
        let entry = self.entry(name).replacen("[[server]]\n", "", 1);
        let text: PatternText = toml::from_str(&entry).map_err(|error| error.message().to_owned())?;
        Catalog::compile([(Role::Server, true, text)]).map_err(|error| error.problem)
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Words behind the target that say which of its jobs is meant. No other word of the arguments is ever looked at.
const SUBCOMMANDS: [&str; 14] = [
    "mcp",
    "mcp-server",
    "mcp-serve",
    "mcp-stdio",
    "mcp_server",
    "start-mcp-server",
    "run-mcp-server",
    "serve-mcp",
    "serve",
    "server",
    "start",
    "run",
    "stdio",
    "mcp:start",
];
const OPTIONS: [&str; 3] = ["--mcp", "--mcp-server", "--mcp-stdio"];

/// Names that any program, script or module may have.
const ANYBODYS: [&str; 30] = [
    "index", "main", "server", "app", "run", "start", "cli", "mcp", "src", "dist", "build", "lib", "out",
    "bin", "core", "api", "service", "tool", "tools", "test", "tests", "stdio", "script", "scripts", "code",
    "python", "__main__", "entry", "launch", "wrapper",
];

/// Images that hold a language or a system, and no server.
const BASE_IMAGES: [&str; 22] = [
    "alpine",
    "debian",
    "ubuntu",
    "busybox",
    "fedora",
    "node",
    "python",
    "golang",
    "rust",
    "ruby",
    "php",
    "openjdk",
    "eclipse-temurin",
    "denoland/deno",
    "oven/bun",
    "ghcr.io/astral-sh/uv",
    "postgres",
    "mysql",
    "redis",
    "mongo",
    "nginx",
    "docker",
];

/// Derives a pattern from what a client starts. `catalog` is what orphand knows without its earlier discoveries.
pub(super) fn derive(name: &str, words: &[String], catalog: &Catalog, guard: &Guard) -> Derived {
    let left_out = |why: &str| Derived::LeftOut(why.to_owned());
    let Some(invocation) = Invocation::of(words) else { return left_out("it starts nothing") };
    let known = match known(&invocation, words, catalog) {
        Ok(known) => known,
        Err(why) => return Derived::LeftOut(why),
    };
    let pattern = match naming(&invocation, words) {
        Ok(pattern) => narrowed(pattern, &invocation),
        Err(why) => return Derived::LeftOut(why),
    };
    if pattern.keys.iter().any(|(_, word)| word.split('/').any(looks_secret)) {
        return left_out("what it starts looks like a secret");
    }
    if known.is_none()
        && let Some(line) = guard.line_of_program(&pattern)
    {
        return Derived::LeftOut(format!(
            "its program has other uses, such as `{line}`; name what it starts in a [[server]]"
        ));
    }
    let alone = match pattern.compiled(name) {
        Ok(alone) => alone,
        Err(why) => return Derived::LeftOut(why),
    };
    let names = |line: &Invocation, words: &[String]| !alone.matching(line, words).is_empty();
    if known.is_none()
        && let Some(line) = guard.named_by(names)
    {
        return Derived::LeftOut(format!(
            "its name alone would also name `{line}`; write a narrower [[server]] yourself"
        ));
    }
    let mut lines = lines(&invocation, &pattern);
    lines.retain(|line| {
        let shown = line.replace("...", "/home/u/x");
        Invocation::of_line(&shown).is_some_and(|line| names(&line, &[]))
    });
    if known.is_none() && !names(&invocation, words) {
        return left_out("no pattern can be made of it; write a [[server]] yourself");
    }
    Derived::Named { pattern, known, lines }
}

/// The name of the pattern that names it already; an error when orphand knows it as something that is no server.
fn known(invocation: &Invocation, words: &[String], catalog: &Catalog) -> Result<Option<String>, String> {
    let Some(found) = catalog.classify_invocation(invocation.clone(), words) else { return Ok(None) };
    let Some(pattern) = found.pattern.map(|index| catalog.pattern(index)) else { return Ok(None) };
    let what = match found.role {
        Role::Server if pattern.strength == Strength::Strong && !pattern.generic => {
            return Ok(Some(pattern.name.clone()));
        }
        Role::Server => return Ok(None),
        Role::Launcher => {
            return Err(format!(
                "it is started through {}; name what that starts in a [[server]]",
                pattern.name
            ));
        }
        Role::Client => "client",
        Role::Host => "host, which owns what it starts,",
        Role::Browser => "browser",
        Role::Helper => "helper",
        Role::Adopter => "adopter",
    };
    Err(format!("orphand knows it as a {what} ({}), and never takes it for a server", pattern.name))
}

fn naming(invocation: &Invocation, words: &[String]) -> Result<Pattern, String> {
    let target = invocation.target.as_str();
    if hides(target, words) {
        return Err("what it starts looks like a secret".to_owned());
    }
    let unknown = |word: &str| word.contains(UNKNOWN);
    match invocation.kind {
        Kind::Shell => {
            Err("a shell script of several commands; name what it starts in a [[server]]".to_owned())
        }
        Kind::Inline => Err("nothing on its command line says what it runs".to_owned()),
        Kind::Script => script(invocation),
        _ if unknown(target) => {
            Err("only the client knows what it starts: there is a variable in it".to_owned())
        }
        Kind::Package => package(invocation),
        Kind::Module if target.split('.').all(is_anybodys) => Err(anybodys(target, "module")),
        Kind::Module => Ok(Pattern::of("module", target)),
        Kind::Image
            if BASE_IMAGES
                .contains(&target.trim_start_matches("docker.io/").trim_start_matches("library/")) =>
        {
            Err(format!("the image `{target}` holds no server of its own"))
        }
        Kind::Image => Ok(Pattern::of("image", target)),
        Kind::Native => native(target),
    }
}

/// Whether a word has the shape of a token. Redaction would rather hide too much; a name of small letters is none.
fn looks_secret(word: &str) -> bool {
    sentence(word) != word
        && word.contains(|letter: char| letter.is_ascii_digit() || letter.is_ascii_uppercase())
}

/// Whether an option that nobody knows announces the word as a secret: `npx --some-token x`.
fn hides(target: &str, words: &[String]) -> bool {
    let hidden =
        |(word, shown): (&String, String)| word == target && !shown.contains(word) && sentence(word) == *word;
    words.iter().zip(command_words(words)).any(hidden)
}

fn is_anybodys(word: &str) -> bool {
    ANYBODYS.contains(&word.to_ascii_lowercase().as_str())
}

fn anybodys(word: &str, what: &str) -> String {
    format!(
        "`{word}` may be anybody's {what}; start it by its full path, or name it in a [[server]] yourself"
    )
}

fn package(invocation: &Invocation) -> Result<Pattern, String> {
    let package = invocation.packages.first().map_or("", String::as_str);
    let command = invocation.commands.first().filter(|command| !is_interpreter_or_shell(command));
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '@')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "@/._-".contains(letter))
            && name.matches('/').count() == usize::from(name.starts_with('@'))
    };
    match command {
        _ if is_name(package) && !is_anybodys(package) && !is_interpreter_or_shell(package) => {
            let pattern = Pattern::of("package", package);
            Ok(
                match command
                    .filter(|command| *command != package && is_name(command) && !is_anybodys(command))
                {
                    Some(command) => pattern.and("program", command),
                    None => pattern,
                },
            )
        }
        // `uvx --from ./folder command`
        Some(command) if is_name(command) && !is_anybodys(command) => Ok(Pattern::of("program", command)),
        _ => Err("it is started from a folder, and has no package name".to_owned()),
    }
}

fn is_interpreter_or_shell(name: &str) -> bool {
    is_shell(name) || ["node", "bun", "deno", "python", "python3", "tsx"].contains(&name)
}

fn native(target: &str) -> Result<Pattern, String> {
    let name = base_name(target);
    match target {
        _ if is_interpreter_or_shell(name)
            || ["cmd", "cmd.exe", "powershell", "pwsh", "wsl", "wsl.exe"].contains(&name) =>
        {
            Err(format!("`{name}` is no server; name what it starts in a [[server]]"))
        }
        _ if target.starts_with('/') => Ok(path(target)),
        _ if is_anybodys(name) => Err(anybodys(name, "program")),
        _ => Ok(Pattern::of("program", name)),
    }
}

fn path(path: &str) -> Pattern {
    Pattern::of("path", &globset::escape(path))
}

/// A script by its full path, or by the end of it where only that is known.
fn script(invocation: &Invocation) -> Result<Pattern, String> {
    let target = invocation.target.as_str();
    let directory =
        invocation.directory.as_deref().filter(|path| path.starts_with('/') && !path.contains(UNKNOWN));
    if invocation.program == "bun" && !target.contains(['.', '/']) {
        // `bun run --cwd DIR start`: what that starts is in the folder's own files.
        let deep = directory.filter(|path| Path::new(path).components().count() > 3);
        return match deep {
            Some(directory) => Ok(Pattern::of("directory", &globset::escape(directory)).and("run_by", "bun")),
            None => {
                Err("the name of a package's script is anybody's; name what it starts in a [[server]]"
                    .to_owned())
            }
        };
    }
    if target.starts_with('/') && !target.contains(UNKNOWN) {
        return Ok(path(target));
    }
    if let Some(directory) = directory.filter(|_| !target.contains(UNKNOWN)) {
        return Ok(path(&format!("{}/{target}", directory.trim_end_matches('/'))));
    }
    // Only the end is known: behind the last variable, or as it is written.
    let end = match target.rsplit_once(UNKNOWN) {
        Some((_, end)) => match end.strip_prefix('/') {
            Some(end) => end,
            None => return Err("only the client knows what it starts: there is a variable in it".to_owned()),
        },
        None => target,
    };
    let parts: Vec<&str> = end.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let says_something = parts.iter().any(|part| !is_anybodys(stem(part)));
    let own_name = parts.last().is_some_and(|name| stem(name).contains("mcp") && !is_anybodys(stem(name)));
    if parts.is_empty() || !says_something || (parts.len() < 2 && !own_name) {
        // Behind an option that nobody knows the word may be anything, also a secret.
        let shown = parts.iter().all(|part| is_anybodys(stem(part)));
        return Err(if shown && !parts.is_empty() {
            anybodys(end, "script")
        } else {
            "a script without its folder may be anybody's; start it by its full path, or name it in a [[server]] yourself".to_owned()
        });
    }
    // A pattern looks at the last five names of a path.
    let last = parts.len().saturating_sub(4);
    Ok(Pattern::of("script", &globset::escape(&parts[last..].join("/"))))
}

/// A program that is called like no MCP server and has several jobs is meant in that one only.
fn narrowed(pattern: Pattern, invocation: &Invocation) -> Pattern {
    let named_so = pattern.keys.iter().any(|(_, word)| word.to_ascii_lowercase().contains("mcp"));
    if named_so || invocation.kind == Kind::Image || pattern.keys.iter().any(|(key, _)| *key == "directory") {
        return pattern;
    }
    let job: Vec<&str> =
        invocation.leading_words().take(2).take_while(|word| SUBCOMMANDS.contains(word)).collect();
    if !job.is_empty() {
        return pattern.and("subcommand", &job.join(" "));
    }
    match invocation.arguments.iter().find(|word| OPTIONS.contains(&word.as_str())) {
        Some(option) => pattern.and("argument", option),
        None => pattern,
    }
}

/// Command lines as a process table shows them. `...` stands for folders.
fn lines(invocation: &Invocation, pattern: &Pattern) -> Vec<String> {
    let word =
        |wanted: &str| pattern.keys.iter().find(|(key, _)| *key == wanted).map(|(_, word)| word.as_str());
    let job = word("subcommand").or(word("argument")).map_or(String::new(), |job| format!(" {job}"));
    let python = ["uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye"];
    let runner = invocation.through.last().map_or("", String::as_str);
    let is_python = runner.split(' ').next().is_some_and(|first| python.contains(&first));
    let mut lines = Vec::new();
    if let Some(package) = word("package") {
        let runner = match runner {
            "npx" | "npm exec" | "npm x" => "npm exec",
            "uvx" | "uv tool uvx" => "uv tool uvx",
            other => other,
        };
        let shown =
            if is_plain_specification(&invocation.target) { invocation.target.as_str() } else { package };
        let command = word("program").or(package.rsplit('/').next()).unwrap_or(package);
        if is_python {
            let from = if word("program").is_some() { format!(" {command}") } else { String::new() };
            let option = if from.is_empty() { "" } else { " --from" };
            lines.push(format!("{runner}{option} {shown}{from}{job}"));
            lines.push(format!("python .../bin/{command}{job}"));
        } else {
            lines.push(format!("{runner} {shown}{job}"));
            lines.push(format!("sh -c {command}{job}"));
            lines.push(format!("node .../node_modules/.bin/{command}{job}"));
        }
    } else if let Some(program) = word("program") {
        lines.push(format!("{program}{job}"));
    }
    lines.extend(word("module").map(|module| format!("python -m {module}{job}")));
    lines.extend(word("image").map(|image| format!("docker run {image}")));
    // In front of a script stands what runs it, where nothing else stands in front of that.
    let is_script = invocation.kind == Kind::Script && invocation.through.is_empty();
    let by = if is_script { format!("{} ", invocation.program) } else { String::new() };
    lines.extend(word("path").map(|path| format!("{by}{path}{job}")));
    lines.extend(word("script").map(|script| format!("{by}.../{script}{job}")));
    lines.extend(word("directory").map(|directory| format!("bun run --cwd {directory} start")));
    lines
}

/// `name@1.2`, `@scope/name@latest`, `name==1.2`: nothing in it that could be a secret.
fn is_plain_specification(text: &str) -> bool {
    text.len() < 100
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "@/._-=^~".contains(letter))
}
