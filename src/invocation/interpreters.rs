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
            "--openssl-config",
            "--trace-event-categories",
            "--trace-event-file-pattern",
            "--icu-data-dir",
            "--experimental-policy",
            "--policy-integrity",
            "--disable-warning",
            "--unhandled-rejections",
            "--max-http-header-size",
            "--stack-trace-limit",
            "--input-type",
            "--watch-path",
            "--env-file-if-exists",
            "--inspect-port",
            "--experimental-config-file",
            "--localstorage-file",
            "-P",
            "--project",
        ],
        "bun" => &["--cwd", "--config", "-c", "--preload", "-r", "--env-file"],
        "deno" => &["--config", "-c", "--import-map", "--lock", "--env-file", "--cert"],
        "java" => &["-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"],
        "php" => &["-d", "-c", "-t", "-z"],
        "perl" => &["-I", "-M", "-m", "-F"],
        "ruby" => &["-I", "-r", "-C", "-E", "-F", "-K", "-T"],
        "dotnet" => &["--roll-forward", "--fx-version"],
        _ => &["-W", "-X", "-Q"],
    }
}

pub(super) fn is_interpreter(name: &str) -> bool {
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

/// What a row of short options does to an interpreter: `-Ic CODE`, `-pe CODE`, `-um MODULE`.
#[derive(PartialEq)]
enum Short {
    Code,
    Module,
    Other,
}

fn short_options(name: &str, word: &str) -> Short {
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
        return Short::Other;
    };
    let (code, values) = match name {
        _ if is_python(name) => ("c", "WXQ"),
        "perl" => ("eE", "IMmFx"),
        "ruby" => ("e", "IrCEKTx"),
        "php" => ("rBRF", "cdzS"),
        "node" | "nodejs" | "bun" => ("ep", "rC"),
        _ => return Short::Other,
    };
    // Behind a letter that takes a value stands that value.
    for letter in letters.chars() {
        if code.contains(letter) {
            return Short::Code;
        }
        if letter == 'm' && is_python(name) {
            return Short::Module;
        }
        if values.contains(letter) {
            break;
        }
    }
    Short::Other
}

/// Options that only look at the file, or do something else with it than run it.
fn only_looks(name: &str, option: &str) -> bool {
    match name {
        "node" | "nodejs" => matches!(option, "--test" | "--check" | "-c"),
        "ruby" | "perl" => option == "-c",
        "php" => matches!(option, "-l" | "-i"),
        _ => false,
    }
}

/// Options of an interpreter that take no value, as far as their form tells.
fn stands_alone(name: &str, option: &str) -> bool {
    let starts = |starts: &[&str]| starts.iter().any(|start| option.starts_with(start));
    option.contains('=')
        || match name {
            "node" | "nodejs" | "tsx" | "ts-node" => starts(&[
                "--experimental",
                "--no-",
                "--enable-",
                "--trace",
                "--inspect",
                "--use-",
                "--preserve",
                "--harmony",
                "--expose",
                "--abort",
                "--esm",
                "--transpile-only",
                "--watch",
                "--es-module",
                "--openssl",
                "--unhandled",
                "--throw",
                "--insecure",
            ]),
            "bun" => starts(&[
                "--silent",
                "--bun",
                "--smol",
                "--hot",
                "--watch",
                "--no-",
                "--if-present",
                "-i",
                "-b",
            ]),
            "deno" => starts(&[
                "-A",
                "--allow-",
                "-N",
                "-R",
                "-W",
                "-E",
                "-S",
                "-I",
                "-q",
                "--quiet",
                "--no-",
                "--unstable",
                "-r",
                "--reload",
                "--cached-only",
                "--node-modules-dir",
                "-P",
                "--frozen",
                "--watch",
                "--check",
                "--deny-",
            ]),
            "java" => starts(&["-D", "-X", "-ea", "-da", "-server", "--enable-", "-javaagent", "-agent"]),
            _ => {
                let letters = match name {
                    _ if is_python(name) => "bBdEhiIOPqRsSuvx",
                    "perl" => "wTtWXsnlaU",
                    "ruby" => "wvdnsSalU",
                    "php" => "nq",
                    _ => "",
                };
                let row = option.strip_prefix('-').unwrap_or_default();
                !row.is_empty() && row.chars().all(|letter| letters.contains(letter))
            }
        }
}

/// What an interpreter runs; `None` when the program is none.
pub(super) fn resolve(name: &str, rest: &[String]) -> Option<Invocation> {
    if !is_interpreter(name) {
        return None;
    }
    // `deno task NAME` starts what the project's file says.
    if name == "deno" && rest.first().is_some_and(|word| word == "task") {
        let mut found = Invocation::new(Kind::Native, name, rest);
        found.commands.push("deno task".to_owned());
        return Some(found);
    }
    let mut directory = None;
    let mut doubtful = false;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        at += 1;
        let after = |at: usize| rest.get(at..).unwrap_or_default();
        match (name, word.as_str()) {
            ("bun" | "deno", "run") => continue,
            ("deno", "x") if at == 1 => continue,
            (_, option) if short_options(name, option) == Short::Module => {
                // `-mMODULE` is the same as `-m MODULE`.
                let glued = option.split_once('m').map_or("", |(_, glued)| glued);
                let (module, behind) =
                    if glued.is_empty() { (rest.get(at)?.as_str(), at + 1) } else { (glued, at) };
                return Some(module_of(module, after(behind)));
            }
            (_, option) if short_options(name, option) == Short::Code => {
                return Some(Invocation::new(Kind::Inline, name, after(at)));
            }
            ("java", "-jar") => return rest.get(at).map(|jar| script_of(jar, after(at + 1))),
            (_, "--eval" | "--print") => return Some(Invocation::new(Kind::Inline, name, after(at))),
            // A file of more arguments.
            ("java", option) if option.starts_with('@') => {
                return Some(Invocation::new(Kind::Inline, name, after(at)));
            }
            // A server of its own.
            ("php", "-S") => return Some(Invocation::new(Kind::Inline, name, after(at))),
            (_, option) if only_looks(name, option) => {
                return Some(Invocation::new(Kind::Inline, name, after(at)));
            }
            ("bun", "--cwd") => directory = rest.get(at).map(|path| paths::normal(path)),
            (_, "--") => return rest.get(at).map(|script| script_of(script, after(at + 1))),
            _ => {}
        }
        if let Some(value) = word.strip_prefix("--cwd=") {
            directory = Some(paths::normal(value));
        } else if value_options(name).contains(&word.as_str()) {
            (at, doubtful) = (at + 1, false);
        } else if !word.starts_with('-') || word == "-" {
            if let Some(package) = package_of_deno(name, word) {
                // Deno runs it itself, so this is no wrapper.
                let mut found = Invocation::new(Kind::Package, package, after(at));
                found.packages.push(paths::package_name(package));
                return Some(found.doubted(doubtful));
            }
            let mut found = script_of(word, after(at));
            found.directory = directory;
            return Some(found.doubted(doubtful));
        } else {
            doubtful = !stands_alone(name, word);
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
