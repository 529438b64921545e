//! What names a server and nothing else: a package, module or file, for the one job that it is started for; a program by its bare name
//! only where that, or the job, says that it is an MCP server. Of the arguments only such jobs are ever looked at: the rest may be secrets.

use super::pattern::Pattern;
use super::variables::UNKNOWN;
use crate::catalog::{is_any_shell, language_of};
use crate::invocation::{Invocation, Kind, base_name, stem};
use crate::redact::{command_words, sentence};
use std::path::Path;

/// Words behind the target that say which of its jobs is meant. Fixed, so that no other word can get into a pattern.
const JOBS: [&str; 25] = [
    "mcp",
    "mcp-server",
    "mcp_server",
    "mcp-serve",
    "mcp-stdio",
    "mcp-start",
    "mcp:serve",
    "mcp:server",
    "mcp:start",
    "mcp.server",
    "mcp:stdio",
    "start-mcp",
    "start-mcp-server",
    "run-mcp",
    "run-mcp-server",
    "serve-mcp",
    "boost:mcp",
    "experimental:mcp",
    "mcp-adapter",
    "stdio_server",
    "stdio",
    "stdio-server",
    "serve",
    "server",
    "start",
];
/// Options that say the same.
const OPTIONS: [&str; 4] = ["--mcp", "--mcp-server", "--mcp-stdio", "--stdio"];

/// Names that any program, script or module may have.
const ANYBODYS: [&str; 48] = [
    "index", "main", "server", "app", "run", "start", "cli", "mcp", "src", "dist", "build", "lib", "out",
    "bin", "core", "api", "service", "tool", "tools", "test", "tests", "stdio", "script", "scripts", "code",
    "python", "__main__", "entry", "launch", "wrapper", "manage", "artisan", "console", "rails", "backend",
    "frontend", "web", "worker", "jobs", "packages", "common", "utils", "project", "services", "daemon",
    "agent", "bot", "client",
];

/// Folders that programs of every kind are installed into.
const SHARED_FOLDERS: [&str; 7] = ["/usr/", "/bin/", "/sbin/", "/snap/", "/nix/", "/run/", "/opt/"];

/// What stands behind the target.
enum Job<'a> {
    /// Nothing at all.
    None,
    /// Options without a value of their own, the first of them.
    Flag(&'a str),
    /// Words that say it.
    Words(Vec<&'a str>),
    /// An option that says it, and words in front of it.
    Option(&'a str, Vec<&'a str>),
    /// A path and nothing else: what it works on.
    Place,
    /// Something else: perhaps a job that nobody knows, perhaps the value of an option, perhaps a secret.
    Other,
}

/// `acme-mcp`, `fastmcp`, `mcp_server_acme`; `mcpherson` is a name like another.
fn says_mcp(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|part| part.ends_with("mcp") || part.starts_with("mcpserver"))
}

fn says_server(job: &str) -> bool {
    says_mcp(job) || job.contains("stdio")
}

fn job(invocation: &Invocation) -> Job<'_> {
    let arguments = &invocation.arguments;
    // What stands behind the dashes is started in its turn.
    if arguments.iter().any(|word| word == "--") {
        return Job::Other;
    }
    let first: Vec<&str> = invocation.leading_words().collect();
    let bare = arguments.iter().filter(|word| !word.starts_with('-')).count();
    let has_place = first.first().is_some_and(|word| word.starts_with('/'));
    let are_jobs = first.len() <= 3 && first.iter().all(|word| JOBS.contains(word));
    if let Some(option) = arguments.iter().find(|word| OPTIONS.contains(&word.as_str()))
        && (if has_place { bare == 1 } else { are_jobs && bare == first.len() })
    {
        return Job::Option(option, if has_place { vec!["/**"] } else { first });
    }
    match first.as_slice() {
        [] if arguments.is_empty() => Job::None,
        [] if bare == 0 => arguments.first().and_then(|word| option_name(word)).map_or(Job::Other, Job::Flag),
        [_] if has_place && bare == 1 => Job::Place,
        words if !words.is_empty() && are_jobs => Job::Words(words.to_vec()),
        _ => Job::Other,
    }
}

/// `--db` of `--db` and `--db=x`, where it is plain enough to be no secret.
fn option_name(word: &str) -> Option<&str> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    (name.len() > 3 && name.len() <= 32 && name.starts_with("--") && name.chars().all(plain)).then_some(name)
}

const OTHER_JOB: &str =
    "it may have other jobs than the one that it is started for here; name it in a [[server]] yourself";

/// A pattern that is meant for this one job of what it names.
fn narrowed(pattern: Pattern, invocation: &Invocation) -> Result<Pattern, String> {
    let named_so = pattern.keys.iter().any(|(_, word)| says_mcp(word));
    Ok(match job(invocation) {
        Job::None => pattern.and("argument", ""),
        Job::Flag(option) => pattern.and("subcommand", "").and("argument", option),
        // `serve` and `start` are jobs of every program.
        Job::Words(words) if named_so || words.iter().any(|word| says_server(word)) => {
            pattern.and("subcommand", &words.join(" "))
        }
        Job::Option(option, words) => pattern.and("subcommand", &words.join(" ")).and("argument", option),
        Job::Place => pattern.and("subcommand", "/**"),
        Job::Words(_) | Job::Other => return Err(OTHER_JOB.to_owned()),
    })
}

/// The pattern for an invocation, or why there is none.
pub(super) fn naming(invocation: &Invocation, home: &Path) -> Result<Pattern, String> {
    let target = invocation.target.as_str();
    let unknown = || Err("only the client knows what it starts: there is a variable in it".to_owned());
    match invocation.kind {
        Kind::Shell if invocation.through.is_empty() && invocation.arguments.is_empty() => {
            Err("it starts nothing but a shell".to_owned())
        }
        Kind::Shell => {
            Err("a shell script of several commands; name what it starts in a [[server]]".to_owned())
        }
        Kind::Inline => Err("nothing on its command line says what it runs".to_owned()),
        Kind::Script if is_address(target) => Err("it is started from an address".to_owned()),
        Kind::Script => script(invocation, home),
        _ if target.contains(UNKNOWN) => unknown(),
        _ if is_address(target) => Err("it is started from an address".to_owned()),
        Kind::Package => package(invocation),
        Kind::Module => module(invocation),
        Kind::Image => image(invocation),
        Kind::Native => native(invocation, home),
    }
}

/// `https://...`, of which a script's path keeps one slash, and `name@npm:other`. Repositories have a name at their end.
fn is_address(target: &str) -> bool {
    let repository = ["git+", "git:", "github:", "gitlab:"].iter().any(|start| target.starts_with(start));
    target.contains(":/") && !repository || target.contains("@npm:")
}

/// Whether an option announces the word as a secret: `npx --some-token x`.
pub(super) fn hides(target: &str, words: &[String]) -> bool {
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

fn package(invocation: &Invocation) -> Result<Pattern, String> {
    let command = invocation.commands.first().filter(|command| is_name(command) && says_mcp(command));
    let own = invocation.packages.first().filter(|package| {
        let is_tool = language_of(package).is_some() || is_any_shell(package);
        is_package(package) && !is_anybodys(package) && !is_tool
    });
    let pattern = match (own, command) {
        (Some(package), Some(command)) if command != package => {
            Pattern::of("package", package).and("program", command)
        }
        (Some(package), _) => Pattern::of("package", package),
        // `--from FOLDER COMMAND`: only the command's own name counts.
        (None, Some(command)) => Pattern::of("program", command),
        (None, None) => return Err("it has no name of a package that could be only this server's".to_owned()),
    };
    narrowed(pattern, invocation)
}

fn module(invocation: &Invocation) -> Result<Pattern, String> {
    let module = invocation.target.as_str();
    let is_module = module.len() <= 128
        && module.chars().all(|letter| letter.is_ascii_alphanumeric() || "._".contains(letter));
    if !is_module || module.split('.').all(is_anybodys) {
        return Err("a module of this name may be anybody's; name it in a [[server]] yourself".to_owned());
    }
    narrowed(Pattern::of("module", module), invocation)
}

/// Most images are no servers, and what runs in one is seen by its image only.
fn image(invocation: &Invocation) -> Result<Pattern, String> {
    let image = invocation.target.as_str();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._/:-".contains(letter);
    if image.len() > 256 || !image.chars().all(plain) {
        return Err("what it starts is no name of an image".to_owned());
    }
    match job(invocation) {
        _ if says_mcp(base_name(image)) => Ok(Pattern::of("image", image)),
        Job::Words(words) if words.iter().any(|word| says_mcp(word)) => {
            Ok(Pattern::of("image", image).and("subcommand", &words.join(" ")))
        }
        _ => Err("the name of its image does not say that it holds an MCP server; name it in a [[server]] yourself".to_owned()),
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
    if target.starts_with('/') && !is_shared(target) {
        return narrowed(Pattern::of("path", &globset::escape(target)), invocation);
    }
    if !is_name(name) {
        return Err("what it starts is no name of a program".to_owned());
    }
    let pattern = Pattern::of("program", name);
    match job(invocation) {
        Job::Words(words) if !words.iter().any(|word| says_mcp(word)) && !says_mcp(name) => {
            Err(HARDLY_A_SERVER.to_owned())
        }
        Job::None | Job::Flag(_) | Job::Place if !says_mcp(name) || name == "mcp" => {
            Err(HARDLY_A_SERVER.to_owned())
        }
        Job::Option("--stdio", _) if !says_mcp(name) => Err(HARDLY_A_SERVER.to_owned()),
        _ => narrowed(pattern, invocation),
    }
}

const HARDLY_A_SERVER: &str = "its name does not say that it is an MCP server, and it may have other uses; name it in a [[server]] yourself";

/// Whether programs of every kind are installed where this one is.
fn is_shared(path: &str) -> bool {
    // A virtual environment belongs to its project.
    let own = ["/.venv/bin/", "/venv/bin/"].iter().any(|folder| path.contains(folder));
    let path = if own { path.rsplit_once("/bin/").map_or(path, |(folder, _)| folder) } else { path };
    SHARED_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || path.split('/').any(|part| ["bin", ".bin", "sbin", "shims", "fnm_multishells"].contains(&part))
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
    let pattern = match full {
        Some(full) => Pattern::of("path", &globset::escape(&full)),
        None => by_its_end(target)?,
    };
    narrowed(pattern, invocation)
}

/// `bun run --cwd DIR start`: what that starts is in the folder's own files.
fn script_of_a_project(name: &str, directory: Option<&str>, home: &Path) -> Result<Pattern, String> {
    let deep = directory.filter(|path| Path::new(path).components().count() > 2 && Path::new(path) != home);
    match deep.filter(|_| JOBS.contains(&name)) {
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
    // The same end of a path may be another project's.
    let says_so = parts.iter().any(|name| says_mcp(stem(name)) && !is_anybodys(stem(name)));
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._/@+-".contains(letter);
    if says_so && end.chars().all(plain) {
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
