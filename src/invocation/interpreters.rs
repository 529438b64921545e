//! Interpreters: which script, module or inline code they run.

use super::{Invocation, Kind, base_name, paths, stem};

/// Options of an interpreter that take the next word as their value.
pub(super) fn value_options(name: &str) -> &'static [&'static str] {
    match name {
        "node" | "nodejs" | "tsx" | "ts-node" | "tsnode" => &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "-C",
            "--conditions",
            "--env-file",
            "--tsconfig",
            "--title",
            "-P",
            "--project",
        ],
        "bun" => &["--cwd", "--config", "-c", "--preload", "-r", "--env-file"],
        "deno" => &["--config", "-c", "--import-map", "--lock", "--env-file", "--cert"],
        "java" => &["-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"],
        "php" => &["-d", "-c"],
        "ruby" => &["-I", "-r", "-C"],
        "dotnet" => &["--roll-forward", "--fx-version"],
        _ => &["-W", "-X", "-Q"],
    }
}

fn is_interpreter(name: &str) -> bool {
    is_python(name)
        || matches!(
            name,
            "node"
                | "nodejs"
                | "bun"
                | "deno"
                | "tsx"
                | "ts-node"
                | "ruby"
                | "php"
                | "perl"
                | "java"
                | "dotnet"
        )
}

/// On a Mac, python.org's and Homebrew's run an application called `Python`.
fn is_python(name: &str) -> bool {
    ["python", "pypy", "Python"].iter().any(|base| {
        name.strip_prefix(base)
            .is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))
    })
}

/// What an interpreter runs; `None` when the program is none.
pub(super) fn resolve(name: &str, rest: &[String]) -> Option<Invocation> {
    if !is_interpreter(name) {
        return None;
    }
    let mut directory = None;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        at += 1;
        let after = |at: usize| rest.get(at..).unwrap_or_default();
        match (name, word.as_str()) {
            ("bun" | "deno", "run") => continue,
            ("deno", "x") if at == 1 => continue,
            (_, "-m") if is_python(name) => {
                return rest.get(at).map(|module| module_of(module, after(at + 1)));
            }
            ("java", "-jar") => return rest.get(at).map(|jar| script_of(jar, after(at + 1))),
            ("node" | "nodejs" | "bun" | "perl" | "ruby", "-e" | "-p" | "--eval" | "--print")
            | ("php", "-r") => {
                return Some(Invocation::new(Kind::Inline, name, after(at)));
            }
            (_, "-c") if is_python(name) => return Some(Invocation::new(Kind::Inline, name, after(at))),
            ("bun", "--cwd") => directory = rest.get(at).map(|path| paths::normal(path)),
            (_, "--") => return rest.get(at).map(|script| script_of(script, after(at + 1))),
            _ => {}
        }
        if let Some(value) = word.strip_prefix("--cwd=") {
            directory = Some(paths::normal(value));
        } else if value_options(name).contains(&word.as_str()) {
            at += 1;
        } else if !word.starts_with('-') || word == "-" {
            if let Some(package) = package_of_deno(name, word) {
                // Deno runs it itself, so this is no wrapper.
                let mut found = Invocation::new(Kind::Package, package, after(at));
                found.packages.push(paths::package_name(package));
                return Some(found);
            }
            let mut found = script_of(word, after(at));
            found.directory = directory;
            return Some(found);
        }
    }
    Some(Invocation::new(Kind::Inline, name, rest))
}

/// `deno run -A npm:@scope/name@1`, `deno x npm:name`.
fn package_of_deno<'a>(name: &str, word: &'a str) -> Option<&'a str> {
    let package = word.strip_prefix("npm:").or(word.strip_prefix("jsr:"))?;
    (name == "deno").then(|| package.trim_start_matches('/'))
}

fn module_of(module: &str, arguments: &[String]) -> Invocation {
    Invocation::new(Kind::Module, module, arguments)
}

/// What a script's name ends in. A name such as `awslabs.core-mcp-server` is a command's, dot and all.
const SCRIPT_SUFFIXES: [&str; 21] = [
    ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".py", ".pyc", ".pyw", ".rb", ".php",
    ".phar", ".pl", ".lua", ".sh", ".jar", ".dll", ".exs", ".r",
];

/// A script file: what its path says of package, command and project.
pub(super) fn script_of(path: &str, arguments: &[String]) -> Invocation {
    let normal = paths::normal(path);
    let mut found = Invocation::new(Kind::Script, &normal, arguments);
    found.packages = paths::packages_of(&normal);
    let name = base_name(&normal);
    let suffix = name.strip_prefix(stem(name)).unwrap_or_default();
    if !SCRIPT_SUFFIXES.contains(&suffix) && !name.is_empty() {
        found.commands.push(name.to_owned());
    }
    found.project = paths::project_of(&normal);
    found
}
