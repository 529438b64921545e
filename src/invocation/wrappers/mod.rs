//! Wrappers: programs whose only work is to start another one. Seen through, and remembered by name.

mod containers;
pub(super) mod options;
mod tables;

use super::{Invocation, Kind, interpreters, paths, shell};
use options::{Step, skip, step};
use tables::{PREFIXES, RUNNERS, Runs};

/// What a wrapper runs; `None` when the program is none, or is used for something else (`npm install`).
pub(super) fn resolve(name: &str, path: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    match name {
        "docker" | "podman" | "nerdctl" => return containers::container(name, rest, depth),
        "node" | "nodejs" => return package_managers_own_script(name, rest, depth),
        // `corepack pnpm dlx x`
        "corepack"
            if rest.first().is_some_and(|word| ["npm", "npx", "pnpm", "yarn"].contains(&word.as_str())) =>
        {
            return Some(super::resolve(rest, depth + 1)?.seen_through("corepack"));
        }
        // `dotnet dnx PACKAGE`, `dotnet tool exec PACKAGE`
        "dotnet" => {
            let (_, length) = verb_of(&["dnx", "tool exec", "tool run"], rest)?;
            return run_by_runner("dnx", &rest[length..], depth);
        }
        "go" if rest.first().is_some_and(|word| word == "run") => return go_run(&rest[1..]),
        "disclaimer" if !path.contains("Claude") => return None,
        _ => {}
    }
    run_by_runner(name, rest, depth).or_else(|| run_by_prefix(name, rest, depth))
}

/// npm's, npx's, pnpm's and yarn's own scripts, before they have given themselves a title.
fn package_managers_own_script(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    let (at, _) = skip(rest, interpreters::value_options(name));
    let script = paths::stem(paths::base_name(rest.get(at)?));
    let own = match script {
        "npx-cli" | "npx" => "npx",
        "npm-cli" | "npm" => "npm",
        "pnpm" | "pnpx" | "yarn" => script,
        _ if script
            .strip_prefix("yarn-")
            .is_some_and(|version| version.starts_with(|letter: char| letter.is_ascii_digit())) =>
        {
            "yarn"
        }
        _ => return None,
    };
    run_by_runner(own, &rest[at + 1..], depth)
}

fn run_by_prefix(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    let prefix = PREFIXES.iter().find(|prefix| prefix.name == name)?;
    let (verb, mut at) = verb_of(prefix.verbs, rest)?;
    let mut positionals = prefix.positionals;
    let mut doubtful = false;
    // `mise exec node@20 -- CMD`: the tools stand in front of the dashes.
    if matches!(name, "mise" | "rtx")
        && let Some(dashes) = rest.iter().position(|word| word == "--")
    {
        at = dashes;
    }
    loop {
        let word = rest.get(at)?;
        if word == "--" {
            (at, doubtful) = (at + 1, false);
            break;
        } else if name == "env" && (word == "-S" || word == "--split-string") {
            let words = super::without_assignments(&shell_words::split(rest.get(at + 1)?).ok()?).to_vec();
            return Some(super::resolve(&words, depth + 1)?.seen_through("env"));
        } else if word.starts_with('-') && word.len() > 1 {
            let step = step(word, prefix.values);
            doubtful = step == Step::Unknown;
            at += step.length();
        } else if positionals == 0 && (shell::is_assignment(word) || name == "nvm" && is_version(word)) {
            (at, doubtful) = (at + 1, false);
        } else if positionals > 0 {
            positionals -= 1;
            (at, doubtful) = (at + 1, false);
        } else {
            break;
        }
    }
    Some(super::resolve(rest.get(at..)?, depth + 1)?.doubted(doubtful).seen_through(&title(name, verb)))
}

/// `20`, `v20.1`, `lts/iron`, as `nvm exec` takes one in front of the command.
fn is_version(word: &str) -> bool {
    word.starts_with("lts/")
        || word.trim_start_matches('v').starts_with(|letter: char| letter.is_ascii_digit())
}

fn run_by_runner(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    // Options may stand before the verb (`pnpm --dir x exec`, `uv --quiet run`).
    let (runner, verb, mut at) = RUNNERS.iter().filter(|runner| runner.name == name).find_map(|runner| {
        let skipped = if runner.verbs == [""] { 0 } else { skip(rest, runner.values).0 };
        let (word, length) = verb_of(runner.verbs, rest.get(skipped..)?)?;
        Some((runner, word, skipped + length))
    })?;
    let (mut package, mut module, mut doubtful) = (None, false, false);
    let mut directory = directory_before(rest.get(..at).unwrap_or_default());
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-') && !module) {
        at += 1;
        if word == "--" {
            doubtful = false;
            break;
        }
        let (flag, glued) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let names_package = runner.package.contains(&flag);
        let step = if names_package && glued.is_none() { Step::TakesNext } else { step(word, runner.values) };
        doubtful = step == Step::Unknown;
        let value = glued.or_else(|| rest.get(at).filter(|_| step == Step::TakesNext).cloned());
        at += step.length() - 1;
        match flag {
            _ if names_package => package = value,
            "--directory" | "--project" | "--cwd" | "--dir" | "-C" => {
                directory = value.map(|path| paths::normal(&path))
            }
            "-c" | "--call" if runner.name.starts_with("np") => {
                let shell = ["sh".to_owned(), "-c".to_owned(), value.or_else(|| rest.get(at).cloned())?];
                return Some(super::resolve(&shell, depth + 1)?.seen_through(&title(name, verb)));
            }
            "-m" | "--module" if runner.runs == Runs::Command => (module, doubtful) = (true, false),
            _ => {}
        }
    }
    let words = rest.get(at..)?;
    let (first, arguments) = words.split_first()?;
    let mut found = match runner.runs {
        // `npx tsx server.ts` fetches the interpreter; what it runs is the script.
        Runs::Package
            if package.is_none() && matches!(paths::package_name(first).as_str(), "tsx" | "ts-node") =>
        {
            interpreters::resolve(&paths::package_name(first), arguments)?
        }
        // `uvx --from package python job.py` only borrows the package.
        Runs::Package
            if package.is_some() && (interpreters::is_interpreter(first) || shell::is_shell(first)) =>
        {
            super::resolve(words, depth + 1)?
        }
        Runs::Package => of_package(package.as_deref(), first, arguments),
        Runs::Command if module => Invocation::new(Kind::Module, first, arguments),
        Runs::Command if has_script_suffix(first) => interpreters::script_of(first, arguments),
        Runs::Command => super::resolve(words, depth + 1)?,
    };
    found.directory = found.directory.or(directory);
    // `uv --directory /x/foo-mcp run server.py`: the script's own name says nothing, the directory's may.
    if found.kind == Kind::Script && found.project.is_none() && !found.target.contains('/') {
        found.project = found.directory.as_deref().map(|directory| paths::base_name(directory).to_owned());
    }
    Some(found.doubted(doubtful).seen_through(&title(name, verb)))
}

/// A package, or one of its programs: `--from PACKAGE COMMAND`. A program that is called like neither the package nor a server does
/// another of the package's jobs, or another package's (`--from mcp-server-git pytest`).
fn of_package(package: Option<&str>, first: &str, arguments: &[String]) -> Invocation {
    let mut found = Invocation::new(Kind::Package, package.unwrap_or(first), arguments);
    let name = paths::package_name(&found.target);
    let command = paths::package_name(first);
    if package.is_none() || is_own_command(&name, &command) {
        found.packages.push(name);
    }
    if package.is_some() {
        found.commands.push(command);
    }
    found
}

/// Whether a command is a package's own by its name: `foo-mcp` brings `foo-mcp`, `foo`, `foo-server` and perhaps `server`.
fn is_own_command(package: &str, command: &str) -> bool {
    const OF_SERVERS: [&str; 6] = ["mcp", "server", "run", "start", "serve", "stdio"];
    let parts = |name: &str| -> Vec<String> {
        let parts = name.split(['-', '_', '.']).map(str::to_ascii_lowercase);
        parts.filter(|part| !OF_SERVERS.contains(&part.as_str())).collect()
    };
    let (scope, bare) =
        package.strip_prefix('@').and_then(|scoped| scoped.split_once('/')).unwrap_or(("", package));
    let own = parts(command);
    let shares = own.iter().any(|part| part == scope || parts(bare).contains(part));
    own.is_empty() || own == parts(bare) || (shares && (command.contains("mcp") || parts(bare).is_empty()))
}

/// `go run example.org/x/foo-mcp@latest`: builds a program of that name and runs it. A folder has no name of its own.
fn go_run(rest: &[String]) -> Option<Invocation> {
    let (at, doubtful) = skip(rest, &["-tags", "-ldflags", "-mod", "-modfile", "-C", "-p", "-exec"]);
    let (package, arguments) = rest.get(at..)?.split_first()?;
    let is_path =
        package.split('/').next()?.contains('.') && !package.starts_with('.') && package.contains('/');
    let mut found = Invocation::new(Kind::Package, package, arguments);
    found.commands.push(paths::package_name(paths::base_name(package)));
    is_path.then(|| found.doubted(doubtful).seen_through("go run"))
}

fn has_script_suffix(path: &str) -> bool {
    [".py", ".js", ".mjs", ".cjs", ".ts"].iter().any(|suffix| path.ends_with(suffix))
}

/// The verb that the words begin with, and how many words it has.
fn verb_of(verbs: &'static [&'static str], rest: &[String]) -> Option<(&'static str, usize)> {
    if verbs.is_empty() {
        return Some(("", 0));
    }
    verbs.iter().find_map(|verb| {
        let parts: Vec<&str> = verb.split_whitespace().collect();
        let fits = parts.iter().enumerate().all(|(at, part)| rest.get(at).is_some_and(|word| word == part));
        fits.then_some((*verb, parts.len()))
    })
}

fn directory_before(words: &[String]) -> Option<String> {
    let at = words
        .iter()
        .position(|word| matches!(word.as_str(), "--directory" | "--project" | "--cwd" | "--dir" | "-C"))?;
    words.get(at + 1).map(|path| paths::normal(path))
}

pub(super) fn title(name: &str, verb: &str) -> String {
    if verb.is_empty() { name.to_owned() } else { format!("{name} {verb}") }
}
