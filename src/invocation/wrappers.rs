//! Wrappers: programs whose only work is to start another one. Seen through, and remembered by name.

use super::{Invocation, Kind, interpreters, paths, shell};

/// A program that puts something in front of a command: `timeout 60 CMD`, `sudo -u x CMD`, `op run -- CMD`.
struct Prefix {
    name: &'static str,
    /// Words between the name and its options, one of several (`exec` in `direnv exec`).
    verbs: &'static [&'static str],
    /// Options that take the next word.
    values: &'static [&'static str],
    /// Positional words before the command (the duration of `timeout`).
    positionals: usize,
}

const fn prefix(
    name: &'static str,
    verbs: &'static [&'static str],
    values: &'static [&'static str],
    positionals: usize,
) -> Prefix {
    Prefix { name, verbs, values, positionals }
}

const PREFIXES: [Prefix; 37] = [
    prefix("env", &[], &["-u", "--unset", "-C", "--chdir"], 0),
    prefix(
        "sudo",
        &[],
        &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "--user", "--group"],
        0,
    ),
    prefix("doas", &[], &["-u", "-C"], 0),
    prefix("runuser", &[], &["-u", "-g", "-G"], 0),
    prefix("setpriv", &[], &[], 0),
    prefix("nice", &[], &["-n", "--adjustment"], 0),
    prefix("ionice", &[], &["-c", "-n", "-p"], 0),
    prefix("chrt", &[], &[], 1),
    prefix("taskset", &[], &["-c"], 1),
    prefix("timeout", &[], &["-s", "-k", "--signal", "--kill-after"], 1),
    prefix("stdbuf", &[], &["-i", "-o", "-e"], 0),
    prefix("unbuffer", &[], &[], 0),
    prefix("nohup", &[], &[], 0),
    prefix("setsid", &[], &[], 0),
    prefix("catchsegv", &[], &[], 0),
    prefix("time", &[], &["-f", "-o"], 0),
    prefix("caffeinate", &[], &["-t", "-w"], 0),
    prefix("arch", &[], &["-arch"], 0),
    prefix("dotenv", &[], &["-e", "-f", "-c"], 0),
    prefix("dotenvx", &["run"], &["-f", "--env-file", "-e"], 0),
    prefix("direnv", &["exec"], &[], 1),
    prefix("mise", &["exec", "x"], &[], 0),
    prefix("rtx", &["exec", "x"], &[], 0),
    prefix("asdf", &["exec"], &[], 0),
    prefix("nvm", &["exec"], &[], 0),
    prefix("pyenv", &["exec"], &[], 0),
    prefix("rbenv", &["exec"], &[], 0),
    prefix("nodenv", &["exec"], &[], 0),
    prefix("bundle", &["exec"], &[], 0),
    prefix("pipenv", &["run"], &[], 0),
    prefix("volta", &["run"], &["--node", "--npm", "--yarn"], 0),
    prefix("fnm", &["exec"], &["--using"], 0),
    prefix("op", &["run"], &["--env-file", "--account"], 0),
    prefix("doppler", &["run"], &["-p", "-c", "--project", "--config", "-t", "--token"], 0),
    prefix("infisical", &["run"], &["--env", "--path", "--projectId"], 0),
    prefix("xvfb-run", &[], &["-n", "-s", "-e", "-f", "-p", "-w", "--server-num", "--server-args"], 0),
    prefix("disclaimer", &[], &[], 0),
];

/// A program that fetches a package, or finds one in the project, and runs it.
struct Runner {
    name: &'static str,
    /// Words that make it a runner (`exec`, `tool run`); the longest that fits is taken, an empty one fits always.
    verbs: &'static [&'static str],
    /// Options that take the next word.
    values: &'static [&'static str],
    /// Options whose value names the package, when the command after it is only one of its programs.
    package: &'static [&'static str],
    /// What it runs: a package by name, or whatever command follows.
    runs: Runs,
}

#[derive(PartialEq)]
enum Runs {
    Package,
    Command,
}

const NPM_VALUES: &[&str] =
    &["-w", "--workspace", "--prefix", "--registry", "--cache", "--userconfig", "--loglevel"];
const UV_VALUES: &[&str] = &[
    "--with",
    "--with-editable",
    "--with-requirements",
    "-w",
    "--python",
    "-p",
    "--index",
    "--index-url",
    "-i",
    "--default-index",
    "--extra-index-url",
    "--directory",
    "--project",
    "--env-file",
    "--cache-dir",
    "--group",
    "--extra",
    "--package",
    "--refresh-package",
    "--config-file",
    "--constraints",
    "-c",
    "--overrides",
    "--link-mode",
    "--color",
];

const CONDA_VALUES: &[&str] = &["-n", "--name", "-p", "--prefix", "--cwd"];

const RUNNERS: [Runner; 20] = [
    Runner {
        name: "npm",
        verbs: &["exec", "x"],
        values: NPM_VALUES,
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner {
        name: "npx",
        verbs: &[""],
        values: NPM_VALUES,
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner {
        name: "pnpm",
        verbs: &["dlx", "exec"],
        values: &["--dir", "-C"],
        package: &["--package"],
        runs: Runs::Package,
    },
    Runner { name: "pnpx", verbs: &[""], values: &[], package: &["--package"], runs: Runs::Package },
    Runner {
        name: "yarn",
        verbs: &["dlx", "exec"],
        values: &["--cwd"],
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner { name: "bunx", verbs: &[""], values: &[], package: &["-p", "--package"], runs: Runs::Package },
    Runner {
        name: "bun",
        verbs: &["x"],
        values: &["--cwd"],
        package: &["-p", "--package"],
        runs: Runs::Package,
    },
    Runner { name: "uvx", verbs: &[""], values: UV_VALUES, package: &["--from"], runs: Runs::Package },
    Runner {
        name: "uv",
        verbs: &["tool uvx", "tool run", "x"],
        values: UV_VALUES,
        package: &["--from"],
        runs: Runs::Package,
    },
    Runner { name: "uv", verbs: &["run"], values: UV_VALUES, package: &[], runs: Runs::Command },
    Runner {
        name: "pipx",
        verbs: &["run"],
        values: &["--python", "--pip-args"],
        package: &["--spec"],
        runs: Runs::Package,
    },
    Runner {
        name: "poetry",
        verbs: &["run"],
        values: &["-C", "--directory", "-P"],
        package: &[],
        runs: Runs::Command,
    },
    Runner { name: "pdm", verbs: &["run"], values: &["-p", "--project"], package: &[], runs: Runs::Command },
    Runner { name: "hatch", verbs: &["run"], values: &[], package: &[], runs: Runs::Command },
    Runner { name: "rye", verbs: &["run"], values: &[], package: &[], runs: Runs::Command },
    Runner {
        name: "pixi",
        verbs: &["run"],
        values: &["--manifest-path", "-e"],
        package: &[],
        runs: Runs::Command,
    },
    Runner { name: "conda", verbs: &["run"], values: CONDA_VALUES, package: &[], runs: Runs::Command },
    Runner { name: "mamba", verbs: &["run"], values: CONDA_VALUES, package: &[], runs: Runs::Command },
    Runner { name: "micromamba", verbs: &["run"], values: CONDA_VALUES, package: &[], runs: Runs::Command },
    Runner {
        name: "dnx",
        verbs: &[""],
        values: &["--version", "--source", "--add-source", "--configfile", "--verbosity", "-v"],
        package: &[],
        runs: Runs::Package,
    },
];

/// What a wrapper runs; `None` when the program is none, or is used for something else (`npm install`).
pub(super) fn resolve(name: &str, path: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    if matches!(name, "docker" | "podman" | "nerdctl") {
        return container(name, rest, depth);
    }
    // npm's, npx's, pnpm's and yarn's own scripts, before they have given themselves a title.
    if matches!(name, "node" | "nodejs") {
        let at = skip_options(rest, interpreters::value_options(name));
        let script = rest.get(at).map(|script| paths::stem(paths::base_name(script))).unwrap_or_default();
        let own = match script {
            "npx-cli" | "npx" => Some("npx"),
            "npm-cli" | "npm" => Some("npm"),
            "pnpm" | "pnpx" | "yarn" => Some(script),
            _ if script.starts_with("yarn-") => Some("yarn"),
            _ => None,
        };
        return own.and_then(|own| run_by_runner(own, &rest[at + 1..], depth));
    }
    // `corepack pnpm dlx x`
    if name == "corepack"
        && rest.first().is_some_and(|word| ["npm", "npx", "pnpm", "yarn"].contains(&word.as_str()))
    {
        return Some(super::resolve(rest, depth + 1)?.seen_through("corepack"));
    }
    // `dotnet dnx PACKAGE`, `dotnet tool exec PACKAGE`
    if name == "dotnet" {
        let (_, length) = verb_of(&["dnx", "tool exec", "tool run"], rest)?;
        return run_by_runner("dnx", &rest[length..], depth);
    }
    if name == "go" && rest.first().is_some_and(|word| word == "run") {
        return go_run(&rest[1..]);
    }
    if name == "disclaimer" && !path.contains("Claude") {
        return None;
    }
    run_by_runner(name, rest, depth).or_else(|| run_by_prefix(name, rest, depth))
}

fn run_by_prefix(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    let prefix = PREFIXES.iter().find(|prefix| prefix.name == name)?;
    let (verb, mut at) = verb_of(prefix.verbs, rest)?;
    let mut positionals = prefix.positionals;
    // `mise exec node@20 -- CMD`: the tools stand in front of the dashes.
    if matches!(name, "mise" | "rtx")
        && let Some(dashes) = rest.iter().position(|word| word == "--")
    {
        at = dashes;
    }
    loop {
        let word = rest.get(at)?;
        if word == "--" {
            at += 1;
            break;
        } else if name == "env" && (word == "-S" || word == "--split-string") {
            let words = shell_words::split(rest.get(at + 1)?).ok()?;
            return Some(super::resolve(&words, depth + 1)?.seen_through("env"));
        } else if word.starts_with('-') && word.len() > 1 {
            at += if prefix.values.contains(&word.as_str()) { 2 } else { 1 };
        } else if positionals == 0 && (shell::is_assignment(word) || name == "nvm" && is_version(word)) {
            at += 1;
        } else if positionals > 0 {
            positionals -= 1;
            at += 1;
        } else {
            break;
        }
    }
    Some(super::resolve(rest.get(at..)?, depth + 1)?.seen_through(&title(name, verb)))
}

/// `20`, `v20.1`, `lts/iron`, as `nvm exec` takes one in front of the command.
fn is_version(word: &str) -> bool {
    word.starts_with("lts/")
        || word.trim_start_matches('v').starts_with(|letter: char| letter.is_ascii_digit())
}

fn run_by_runner(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    // Options may stand before the verb (`pnpm --dir x exec`, `uv --quiet run`).
    let (runner, verb, mut at) = RUNNERS.iter().filter(|runner| runner.name == name).find_map(|runner| {
        let skipped = if runner.verbs == [""] { 0 } else { skip_options(rest, runner.values) };
        let (word, length) = verb_of(runner.verbs, rest.get(skipped..)?)?;
        Some((runner, word, skipped + length))
    })?;
    let mut package = None;
    let mut module = false;
    let mut directory = directory_before(rest.get(..at).unwrap_or_default());
    while let Some(word) = rest.get(at) {
        let (flag, glued) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with('-') => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if word == "--" {
            at += 1;
            break;
        }
        if !word.starts_with('-') {
            break;
        }
        at += 1;
        let takes_value = runner.values.contains(&flag) || runner.package.contains(&flag);
        let value = glued.or_else(|| if takes_value { rest.get(at).cloned() } else { None });
        if takes_value && !word.contains('=') {
            at += 1;
        }
        match flag {
            _ if runner.package.contains(&flag) => package = value,
            "--directory" | "--project" | "--cwd" | "--dir" | "-C" => {
                directory = value.map(|path| paths::normal(&path))
            }
            "-c" | "--call" if runner.name.starts_with("np") => {
                let script =
                    word.split_once('=').map(|(_, script)| script.to_owned()).or(rest.get(at).cloned())?;
                let shell = ["sh".to_owned(), "-c".to_owned(), script];
                return Some(super::resolve(&shell, depth + 1)?.seen_through(&title(name, verb)));
            }
            "-m" | "--module" if runner.runs == Runs::Command => module = true,
            _ => {}
        }
        if module {
            break;
        }
    }
    let (first, arguments) = rest.get(at..)?.split_first()?;
    let mut found = match runner.runs {
        // `npx tsx server.ts` fetches the interpreter; what it runs is the script.
        Runs::Package
            if package.is_none() && matches!(paths::package_name(first).as_str(), "tsx" | "ts-node") =>
        {
            interpreters::resolve(&paths::package_name(first), arguments)?
        }
        Runs::Package => {
            let mut found = Invocation::new(Kind::Package, package.as_deref().unwrap_or(first), arguments);
            found.packages.push(paths::package_name(&found.target));
            if package.is_some() {
                found.commands.push(paths::package_name(first));
            }
            found
        }
        Runs::Command if module => Invocation::new(Kind::Module, first, arguments),
        Runs::Command if has_script_suffix(first) => interpreters::script_of(first, arguments),
        Runs::Command => resolve_words(rest.get(at..)?, depth)?,
    };
    found.directory = found.directory.or(directory);
    // `uv --directory /x/foo-mcp run server.py`: the script's own name says nothing, the directory's may.
    if found.kind == Kind::Script && found.project.is_none() && !found.target.contains('/') {
        found.project = found.directory.as_deref().map(|directory| paths::base_name(directory).to_owned());
    }
    Some(found.seen_through(&title(name, verb)))
}

/// `go run example.org/x/foo-mcp@latest`: builds a program of that name and runs it. A folder has no name of its own.
fn go_run(rest: &[String]) -> Option<Invocation> {
    let at = skip_options(rest, &["-tags", "-ldflags", "-mod", "-modfile", "-C", "-p", "-exec"]);
    let (package, arguments) = rest.get(at..)?.split_first()?;
    let is_path =
        package.split('/').next()?.contains('.') && !package.starts_with('.') && package.contains('/');
    let mut found = Invocation::new(Kind::Package, package, arguments);
    found.commands.push(paths::package_name(paths::base_name(package)));
    is_path.then(|| found.seen_through("go run"))
}

fn resolve_words(words: &[String], depth: usize) -> Option<Invocation> {
    super::resolve(words, depth + 1)
}

fn has_script_suffix(path: &str) -> bool {
    [".py", ".js", ".mjs", ".cjs", ".ts"].iter().any(|suffix| path.ends_with(suffix))
}

/// Options of `docker run` and `docker exec` that take the next word (docker/cli, docs/reference/commandline/run.md).
const CONTAINER_VALUES: &[&str] = &[
    "--add-host",
    "-a",
    "--attach",
    "--annotation",
    "--blkio-weight",
    "--blkio-weight-device",
    "--cap-add",
    "--cap-drop",
    "--cgroup-parent",
    "--cgroupns",
    "--cidfile",
    "--cpu-period",
    "--cpu-quota",
    "--cpu-rt-period",
    "--cpu-rt-runtime",
    "-c",
    "--cpu-shares",
    "--cpus",
    "--cpuset-cpus",
    "--cpuset-mems",
    "--detach-keys",
    "--device",
    "--device-cgroup-rule",
    "--device-read-bps",
    "--device-read-iops",
    "--device-write-bps",
    "--device-write-iops",
    "--dns",
    "--dns-option",
    "--dns-search",
    "--domainname",
    "--entrypoint",
    "-e",
    "--env",
    "--env-file",
    "--expose",
    "--gpus",
    "--group-add",
    "--health-cmd",
    "--health-interval",
    "--health-retries",
    "--health-start-period",
    "--health-timeout",
    "-h",
    "--hostname",
    "--ip",
    "--ip6",
    "--ipc",
    "--isolation",
    "-l",
    "--label",
    "--label-file",
    "--link",
    "--link-local-ip",
    "--log-driver",
    "--log-opt",
    "--mac-address",
    "-m",
    "--memory",
    "--memory-reservation",
    "--memory-swap",
    "--memory-swappiness",
    "--mount",
    "--name",
    "--network",
    "--net",
    "--network-alias",
    "--oom-score-adj",
    "--pid",
    "--pids-limit",
    "--platform",
    "-p",
    "--publish",
    "--pull",
    "--restart",
    "--runtime",
    "--security-opt",
    "--shm-size",
    "--stop-signal",
    "--stop-timeout",
    "--storage-opt",
    "--sysctl",
    "--tmpfs",
    "--ulimit",
    "-u",
    "--user",
    "--userns",
    "--uts",
    "-v",
    "--volume",
    "--volume-driver",
    "--volumes-from",
    "-w",
    "--workdir",
];

/// `docker run -i IMAGE args`, `docker exec -i CONTAINER cmd`. Other verbs start nothing that could be a server.
fn container(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    // `docker --context x run`, `docker compose -f x exec -T SERVICE cmd`
    let mut at = skip_options(
        rest,
        &["-c", "--context", "--config", "-H", "--host", "-l", "--log-level", "--url", "--connection"],
    );
    let is_compose = rest.get(at).is_some_and(|word| word == "compose");
    if is_compose {
        let rest = rest.get(at + 1..).unwrap_or_default();
        at += 1 + skip_options(
            rest,
            &["-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory"],
        );
    }
    let verb = rest.get(at)?.as_str();
    if !(verb == "exec" || verb == "run" && !is_compose) {
        return None;
    }
    at += 1;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        at += if CONTAINER_VALUES.contains(&word.as_str()) { 2 } else { 1 };
    }
    let (first, arguments) = rest.get(at..)?.split_first()?;
    let found = if verb == "run" {
        Invocation::new(Kind::Image, image_name(first), arguments)
    } else {
        resolve_words(arguments, depth)?
    };
    Some(found.seen_through(&title(name, verb)))
}

/// An image without its tag and digest. A colon before the last slash belongs to the registry's port.
fn image_name(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    match image.rfind(':') {
        Some(colon) if !image[colon..].contains('/') => &image[..colon],
        _ => image,
    }
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

fn skip_options(rest: &[String], values: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-') && word.as_str() != "--") {
        at += if values.contains(&word.as_str()) { 2 } else { 1 };
    }
    at.min(rest.len())
}

fn directory_before(words: &[String]) -> Option<String> {
    let at = words
        .iter()
        .position(|word| matches!(word.as_str(), "--directory" | "--project" | "--cwd" | "--dir" | "-C"))?;
    words.get(at + 1).map(|path| paths::normal(path))
}

fn title(name: &str, verb: &str) -> String {
    if verb.is_empty() { name.to_owned() } else { format!("{name} {verb}") }
}
