//! What the path of a script or program says about the package, the command or the project behind it.

/// The last component of a path.
pub fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// A file name without its last suffix; dot files keep theirs.
pub fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// The name of a program as people call it: no directory, no `.exe`, no dash of a login shell.
pub fn program_name(path: &str) -> String {
    let name = base_name(path).trim_start_matches('-');
    name.strip_suffix(".exe").unwrap_or(name).to_owned()
}

/// A path without `.` and `x/..` in it. Only the text: nothing is looked up.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    // `/x/` is `/x`.
    while parts.len() > 1 && parts.last() == Some(&"") {
        parts.pop();
    }
    if parts == [""] && path.starts_with('/') { "/".to_owned() } else { parts.join("/") }
}

/// A package specification without its version: `@scope/name@1.2` and `name==1.2` give the name.
pub fn package_name(spec: &str) -> String {
    let spec = spec.rsplit_once(" @ ").map_or(spec, |(name, _)| name);
    if let Some((_, repository)) = spec.split_once(':') {
        // A repository, `github:user/name` or `git+https://host/user/name.git#branch`: its last word is the name.
        let path = repository.split(['#', '?']).next().unwrap_or(repository);
        let name = base_name(path);
        return name.strip_suffix(".git").unwrap_or(name).split('@').next().unwrap_or(name).to_owned();
    }
    let end = spec
        .char_indices()
        .skip(1)
        .find(|(_, letter)| matches!(letter, '@' | '=' | '<' | '>' | '~' | '!' | '[' | ' '))
        .map_or(spec.len(), |(at, _)| at);
    spec[..end].to_owned()
}

/// Packages that a path lies in: the last one below `node_modules`, a `bunx` cache, or a scope directory.
pub fn packages_of(path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let below = |at: usize| -> Option<String> {
        let first = parts.get(at)?;
        if first.starts_with('@') {
            Some(format!("{first}/{}", parts.get(at + 1)?))
        } else {
            Some((*first).to_owned())
        }
    };
    if let Some(at) = parts.iter().rposition(|part| *part == "node_modules") {
        // `.bin/NAME` names a command, not a package; the runner's cache may still name the package.
        if parts.get(at + 1) != Some(&".bin") {
            let aside = parts[at + 1..].iter().any(|part| ASIDE.contains(part));
            return below(at + 1).filter(|_| !aside).into_iter().collect();
        }
    }
    if let Some(at) = parts.iter().position(|part| part.starts_with("bunx-")) {
        let spec = parts[at].splitn(3, '-').nth(2).unwrap_or_default();
        let name = if spec.starts_with('@') && !spec.contains('/') {
            format!("{spec}/{}", parts.get(at + 1).copied().unwrap_or_default())
        } else {
            spec.to_owned()
        };
        return vec![package_name(&name)];
    }
    let scope = parts.iter().rposition(|part| part.len() > 1 && part.starts_with('@'));
    scope.filter(|at| at + 2 < parts.len()).and_then(below).into_iter().collect()
}

/// Directories of a package that hold no server: a script in them does something else.
const ASIDE: [&str; 9] =
    ["scripts", "test", "tests", "__tests__", "tools", "examples", "bench", "benchmarks", "migrations"];

/// Directories that only say how a project was built.
const BUILD_DIRECTORIES: [&str; 9] = ["dist", "build", "lib", "out", "src", "bin", "cli", "stdio", "esm"];
/// File names that any project may have.
const ENTRY_FILES: [&str; 9] = ["index", "main", "server", "cli", "app", "run", "start", "mcp", "__main__"];

/// The directory that names a project when its script's own name says nothing.
pub fn project_of(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop()?;
    if !ENTRY_FILES.contains(&stem(file)) {
        return None;
    }
    let name = parts.iter().rev().find(|part| !BUILD_DIRECTORIES.contains(part))?;
    (!name.is_empty()).then(|| (*name).to_owned())
}
