//! Command lines by which a server is recognised, as a process table shows them; without arguments.

use super::pattern::Pattern;
use crate::invocation::{Invocation, Kind};

/// `...` stands for folders.
pub(super) fn lines(invocation: &Invocation, pattern: &Pattern) -> Vec<String> {
    let word =
        |wanted: &str| pattern.keys.iter().find(|(key, _)| *key == wanted).map(|(_, word)| word.as_str());
    let said = |key: &str| word(key).filter(|job| !job.is_empty());
    let place = |job: &str| if job == "/**" { "/...".to_owned() } else { job.to_owned() };
    let job: String = [said("subcommand"), said("argument")]
        .into_iter()
        .flatten()
        .map(|job| format!(" {}", place(job)))
        .collect();
    let mut lines = Vec::new();
    if let Some(package) = word("package") {
        lines.extend(of_package(invocation, package, word("program")).into_iter().map(|line| line + &job));
    } else if let Some(program) = word("program") {
        lines.push(format!("{program}{job}"));
    }
    lines.extend(word("module").map(|module| format!("python -m {module}{job}")));
    lines.extend(word("image").map(|image| format!("docker run {image}")));
    // In front of a script stands what runs it, where nothing else stands in front of that.
    let is_script = invocation.kind == Kind::Script && invocation.through.is_empty();
    let by = if is_script { format!("{} ", invocation.program) } else { String::new() };
    // The pattern's own word is a glob, in which brackets are written as groups.
    let plain = |glob: &str| {
        let glob = ["[", "]", "{", "}", "*", "?"]
            .iter()
            .fold(glob.to_owned(), |text, sign| text.replace(&format!("[{sign}]"), sign));
        shell_words::quote(&glob).into_owned()
    };
    lines.extend(word("path").map(|path| format!("{by}{}{job}", plain(path))));
    lines.extend(word("script").map(|script| format!("{by}{}{job}", plain(&format!(".../{script}")))));
    let only = word("only").unwrap_or("start");
    lines.extend(word("directory").map(|directory| format!("bun run --cwd {} {only}", plain(directory))));
    lines
}

/// What a runner makes of a package: its own process, often a shell, and the program itself.
fn of_package(invocation: &Invocation, package: &str, program: Option<&str>) -> Vec<String> {
    let runner = invocation.through.last().map_or("", String::as_str);
    let tool = runner.split(' ').next().unwrap_or_default();
    let shown = if is_plain_specification(&invocation.target, package) {
        invocation.target.as_str()
    } else {
        package
    };
    let command = program.or(package.rsplit('/').next()).unwrap_or(package);
    let runner = match runner {
        "npx" | "npm exec" | "npm x" => "npm exec",
        "uvx" | "uv tool uvx" => "uv tool uvx",
        "" if invocation.program == "deno" => return vec![format!("deno run npm:{shown}")],
        "" => return vec![format!("node .../node_modules/{package}/index.js")],
        other => other,
    };
    if ["uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye", "pipenv"].contains(&tool) {
        let whole = program
            .map_or(format!("{runner} {shown}"), |command| format!("{runner} --from {shown} {command}"));
        return vec![whole, format!("python .../bin/{command}")];
    }
    if ["dnx", "go"].contains(&tool) {
        return vec![format!("{runner} {shown}")];
    }
    vec![
        format!("{runner} {shown}"),
        format!("sh -c {command}"),
        format!("node .../node_modules/.bin/{command}"),
    ]
}

/// `name@1.2`, `@scope/name@latest`, `name==1.2`: the package with a version that is nothing else.
fn is_plain_specification(text: &str, package: &str) -> bool {
    let Some(version) = text.strip_prefix(package) else { return false };
    let version = version.trim_start_matches(['@', '=', '^', '~', 'v']);
    let is_number =
        version.len() <= 16 && version.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    is_number || ["latest", "next", "beta", "alpha", "canary", "rc", "stable"].contains(&version)
}
