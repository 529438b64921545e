//! What names a server and nothing else. A pattern comes only of what says that it is one: an MCP name, a job with "mcp" in it, or a file
//! or package that is started for nothing else here. Of the arguments only such jobs are ever looked at: the rest may be secrets.

use super::pattern::Pattern;
use super::variables::UNKNOWN;
use crate::catalog::{is_any_shell, language_of};
use crate::invocation::{Invocation, Kind, base_name, stem};
use crate::redact::{command_words, sentence};
use std::path::Path;

/// Words behind the target that say which of its jobs is meant.
const JOBS: [&str; 6] = ["serve", "server", "start", "run", "stdio", "stdio_server"];
const OPTIONS: [&str; 3] = ["--mcp", "--mcp-server", "--mcp-stdio"];

/// Names that any program, script or module may have.
const ANYBODYS: [&str; 34] = [
    "index", "main", "server", "app", "run", "start", "cli", "mcp", "src", "dist", "build", "lib", "out",
    "bin", "core", "api", "service", "tool", "tools", "test", "tests", "stdio", "script", "scripts", "code",
    "python", "__main__", "entry", "launch", "wrapper", "manage", "artisan", "console", "rails",
];

/// Images that hold a language or a system, and no server.
const BASE_IMAGES: [&str; 24] = [
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
    "amazonlinux",
    "archlinux",
];

/// Folders that programs of every kind are installed into.
const SHARED_FOLDERS: [&str; 7] = ["/usr/", "/bin/", "/sbin/", "/snap/", "/nix/", "/run/", "/opt/homebrew/"];
/// The same below a home folder.
const SHARED_IN_HOME: [&str; 17] = [
    "/.local/bin/",
    "/.cargo/bin/",
    "/go/bin/",
    "/.bun/",
    "/.deno/",
    "/.nvm/",
    "/.volta/",
    "/.asdf/",
    "/.fnm/",
    "/.npm-global/",
    "/shims/",
    "/.nix-profile/",
    "/.linuxbrew/",
    "/.sdkman/",
    "/fnm_multishells/",
    "/.nodenv/",
    "/.rbenv/",
];

/// What stands behind the target.
enum Job<'a> {
    /// Nothing, or options.
    None,
    /// Words that say it.
    Words(Vec<&'a str>),
    /// An option that says it.
    Option(&'a str),
    /// A path first: what it works on.
    Place,
    /// Something else: perhaps a job that nobody knows, perhaps a secret.
    Other,
}

fn says_mcp(name: &str) -> bool {
    name.to_ascii_lowercase().contains("mcp")
}

/// `mcp`, `mcp:serve`, `start-mcp-server`; letters only, so that it is no key.
fn is_job(word: &str) -> bool {
    let plain =
        word.len() <= 24 && word.chars().all(|letter| letter.is_ascii_lowercase() || ":._-".contains(letter));
    JOBS.contains(&word) || (plain && says_mcp(word))
}

fn job(invocation: &Invocation) -> Job<'_> {
    // What stands behind the dashes is started in its turn.
    if invocation.arguments.iter().any(|word| word == "--") {
        return Job::Other;
    }
    let mut words: Vec<&str> = invocation.leading_words().take(4).collect();
    let place = words.iter().position(|word| word.starts_with('/')).unwrap_or(words.len());
    let has_place = place < words.len();
    words.truncate(place);
    if words.is_empty() && !has_place {
        let hidden = invocation.arguments.iter().any(|word| says_mcp(word) && is_job(word));
        return match invocation.arguments.iter().find(|word| OPTIONS.contains(&word.as_str())) {
            Some(option) => Job::Option(option),
            // `acme --profile x mcp`: the job stands behind an option.
            None if hidden => Job::Other,
            None => Job::None,
        };
    }
    match words.as_slice() {
        [] => Job::Place,
        words if words.len() <= 3 && words.iter().all(|word| is_job(word)) => Job::Words(words.to_vec()),
        _ => Job::Other,
    }
}

const OTHER_JOB: &str = "it is started for a job that orphand does not know, and may have others; name it in a [[server]] yourself";

/// A pattern that is meant for this one job of what it names.
fn narrowed(pattern: Pattern, invocation: &Invocation) -> Result<Pattern, String> {
    Ok(match job(invocation) {
        Job::None => pattern.and("subcommand", ""),
        Job::Words(words) => pattern.and("subcommand", &words.join(" ")),
        Job::Option(option) => pattern.and("argument", option),
        Job::Place => pattern.and("subcommand", "/**"),
        Job::Other => return Err(OTHER_JOB.to_owned()),
    })
}

/// The pattern for an invocation, or why there is none. `named` says that orphand's own patterns name it beyond doubt, though by its form only.
pub(super) fn naming(
    invocation: &Invocation,
    words: &[String],
    home: &Path,
    named: bool,
) -> Result<Pattern, String> {
    let target = invocation.target.as_str();
    if invocation.doubtful || hides(target, words) {
        return Err("an option that orphand does not know stands in front of what it starts".to_owned());
    }
    let unknown = || Err("only the client knows what it starts: there is a variable in it".to_owned());
    match invocation.kind {
        Kind::Shell if invocation.through.is_empty() && invocation.arguments.is_empty() => {
            Err("it starts nothing but a shell".to_owned())
        }
        Kind::Shell => {
            Err("a shell script of several commands; name what it starts in a [[server]]".to_owned())
        }
        Kind::Inline => Err("nothing on its command line says what it runs".to_owned()),
        Kind::Script => script(invocation, home),
        _ if target.contains(UNKNOWN) => unknown(),
        _ if target.contains("://") && !target.contains("git") => {
            Err("it is started from an address".to_owned())
        }
        Kind::Package => package(invocation, named),
        Kind::Module => module(invocation),
        Kind::Image => image(target),
        Kind::Native => native(invocation, home),
    }
}

/// Whether an option announces the word as a secret: `npx --some-token x`.
fn hides(target: &str, words: &[String]) -> bool {
    let hidden =
        |(word, shown): (&String, String)| word == target && !shown.contains(word) && sentence(word) == *word;
    words.iter().zip(command_words(words)).any(hidden)
}

/// Whether a word has the shape of a token. Redaction would rather hide too much; a name of small letters is none.
pub(super) fn looks_secret(word: &str) -> bool {
    sentence(word) != word
        && word.contains(|letter: char| {
            letter.is_ascii_digit() || letter.is_ascii_uppercase() || !letter.is_ascii()
        })
}

fn is_anybodys(word: &str) -> bool {
    ANYBODYS.contains(&word.to_ascii_lowercase().as_str())
}

fn anybodys(word: &str, what: &str) -> String {
    format!(
        "`{word}` may be anybody's {what}; start it by its full path, or name it in a [[server]] yourself"
    )
}

fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    !name.is_empty()
        && name.len() <= 128
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(plain)
}

fn is_package(name: &str) -> bool {
    match name.strip_prefix('@').map(|scoped| scoped.split_once('/')) {
        Some(Some((scope, bare))) => is_name(scope) && is_name(bare),
        Some(None) => false,
        None => is_name(name),
    }
}

fn package(invocation: &Invocation, named: bool) -> Result<Pattern, String> {
    let command = invocation.commands.first().filter(|command| is_name(command) && says_mcp(command));
    let Some(package) = invocation.packages.first() else {
        // `--from PACKAGE COMMAND`: the command is one of several, and only its own name counts.
        return command.map(|command| Pattern::of("program", command)).ok_or_else(|| OTHER_JOB.to_owned());
    };
    let is_tool = language_of(package).is_some() || is_any_shell(package);
    if !is_package(package) || is_anybodys(package) || is_tool {
        return match command {
            Some(command) => Ok(Pattern::of("program", command)),
            None => {
                Err("what it starts has no name of a package that could be only this server's".to_owned())
            }
        };
    }
    let pattern = Pattern::of("package", package);
    let pattern = match command.filter(|command| *command != package) {
        Some(command) => pattern.and("program", command),
        None => pattern,
    };
    if named || says_mcp(package) { Ok(pattern) } else { narrowed(pattern, invocation) }
}

fn module(invocation: &Invocation) -> Result<Pattern, String> {
    let module = invocation.target.as_str();
    let is_module = module.len() <= 128
        && module.chars().all(|letter| letter.is_ascii_alphanumeric() || "._".contains(letter));
    if !is_module || module.split('.').all(is_anybodys) {
        return Err("a module of this name may be anybody's; name it in a [[server]] yourself".to_owned());
    }
    let pattern = Pattern::of("module", module);
    if says_mcp(module) {
        return Ok(pattern);
    }
    // `python -m flask run`
    match job(invocation) {
        Job::Words(words) if !words.iter().any(|word| says_mcp(word) || word.contains("stdio")) => {
            Err(OTHER_JOB.to_owned())
        }
        _ => narrowed(pattern, invocation),
    }
}

fn image(image: &str) -> Result<Pattern, String> {
    if BASE_IMAGES.contains(&image) {
        return Err(format!("the image `{image}` holds no server of its own"));
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._/:-".contains(letter);
    if image.len() <= 256 && image.chars().all(plain) {
        Ok(Pattern::of("image", image))
    } else {
        Err("what it starts is no name of an image".to_owned())
    }
}

fn native(invocation: &Invocation, home: &Path) -> Result<Pattern, String> {
    let target = invocation.target.as_str();
    let name = base_name(target);
    if is_any_shell(name) || language_of(name).is_some() {
        return Err("nothing on its command line says what it runs".to_owned());
    }
    if has_suffix_of_a_script(name) {
        return script(invocation, home);
    }
    let own_folder = target.starts_with('/') && !is_shared(target);
    if own_folder {
        let runs_a_file =
            |word: &String| has_suffix_of_a_script(word) || ["-c", "-e", "-m", "--"].contains(&word.as_str());
        if !says_mcp(name) && invocation.arguments.iter().any(runs_a_file) {
            return Err(OTHER_JOB.to_owned());
        }
        let pattern = Pattern::of("path", &globset::escape(target));
        return if says_mcp(name) { Ok(pattern) } else { narrowed(pattern, invocation) };
    }
    if !is_name(name) {
        return Err("what it starts is no name of a program".to_owned());
    }
    if says_mcp(name) && name != "mcp" {
        return Ok(Pattern::of("program", name));
    }
    match job(invocation) {
        Job::Words(words) if words.iter().any(|word| says_mcp(word)) => {
            Ok(Pattern::of("program", name).and("subcommand", &words.join(" ")))
        }
        Job::Option(option) => Ok(Pattern::of("program", name).and("argument", option)),
        _ => Err("its name does not say that it is an MCP server, and it may have other uses; name it in a [[server]] yourself".to_owned()),
    }
}

/// Whether programs of every kind are installed where this one is.
fn is_shared(path: &str) -> bool {
    SHARED_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || SHARED_IN_HOME.iter().any(|folder| path.contains(folder))
}

fn has_suffix_of_a_script(name: &str) -> bool {
    let suffix = name.strip_prefix(stem(name)).unwrap_or_default();
    [
        ".js", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".py", ".rb", ".php", ".phar", ".pl", ".lua", ".sh",
        ".jar", ".dll", ".exs", ".jl",
    ]
    .contains(&suffix)
}

/// A script by its full path, or by the end of it where only that is known.
fn script(invocation: &Invocation, home: &Path) -> Result<Pattern, String> {
    let target = invocation.target.as_str();
    let directory =
        invocation.directory.as_deref().filter(|path| path.starts_with('/') && !path.contains(UNKNOWN));
    if invocation.program == "bun" && !target.contains(['.', '/']) {
        return script_of_a_project(target, directory, home);
    }
    let full = match (target.starts_with('/'), directory) {
        _ if target.contains(UNKNOWN) => None,
        (true, _) => Some(target.to_owned()),
        (false, Some(directory)) => Some(format!("{}/{target}", directory.trim_end_matches('/'))),
        (false, None) => None,
    };
    let file = stem(base_name(target));
    let pattern = match full {
        Some(full) => Pattern::of("path", &globset::escape(&full)),
        None => by_its_end(target)?,
    };
    if says_mcp(file) && !is_anybodys(file) { Ok(pattern) } else { narrowed(pattern, invocation) }
}

/// `bun run --cwd DIR start`: what that starts is in the folder's own files.
fn script_of_a_project(name: &str, directory: Option<&str>, home: &Path) -> Result<Pattern, String> {
    let deep = directory.filter(|path| Path::new(path).components().count() > 2 && Path::new(path) != home);
    match deep.filter(|_| is_job(name)) {
        Some(directory) => {
            Ok(Pattern::of("directory", &globset::escape(directory)).and("run_by", "bun").and("only", name))
        }
        None => {
            Err("the name of a package's script is anybody's; name what it starts in a [[server]]".to_owned())
        }
    }
}

/// Only the end of the path is known: behind the last variable, or as it is written.
fn by_its_end(target: &str) -> Result<Pattern, String> {
    let end = match target.rsplit_once(UNKNOWN) {
        Some((_, end)) => match end.strip_prefix('/') {
            Some(end) => end,
            None => return Err("only the client knows what it starts: there is a variable in it".to_owned()),
        },
        None => target,
    };
    let parts: Vec<&str> = end.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let says_something = parts.iter().any(|part| !is_anybodys(stem(part)));
    let own_name = parts.last().is_some_and(|name| says_mcp(stem(name)) && !is_anybodys(stem(name)));
    if says_something && (parts.len() > 1 || own_name) {
        // A pattern looks at the last five names of a path.
        let last = parts.len().saturating_sub(4);
        return Ok(Pattern::of("script", &globset::escape(&parts[last..].join("/"))));
    }
    // Behind an option that nobody knows the word may be anything, also a secret.
    Err(match parts.last() {
        Some(name) if parts.iter().all(|part| is_anybodys(stem(part))) => anybodys(name, "script"),
        Some(_) => "a script without its folder may be anybody's; start it by its full path, or name it in a [[server]] yourself".to_owned(),
        None => "it names no file".to_owned(),
    })
}
