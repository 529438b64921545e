//! Shells: which one command a `sh -c` script comes down to, if it is one.

use super::{Invocation, Kind, paths};

/// Programs that read the shell language.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ash", "ksh", "mksh", "fish", "busybox", "rbash"];

/// Commands that prepare for the one that matters, or come to nothing.
const PREPARATION: [&str; 27] = [
    "cd", "export", "source", ".", "set", "unset", "umask", "ulimit", "true", ":", "shopt", "alias", "pushd",
    "popd", "eval", "[", "[[", "test", "echo", "printf", "mkdir", "nvm", "fnm", "asdf", "sleep", "exit",
    "wait",
];

/// Words that begin a construct which this room does not take apart.
const CONSTRUCTS: [&str; 12] =
    ["if", "then", "else", "for", "while", "until", "do", "case", "function", "select", "{", "("];

/// Whether a program is a shell.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether a word separates commands.
pub fn is_operator(word: &str) -> bool {
    matches!(word, "&&" | "||" | ";" | "|" | "&" | "|&")
}

/// What a shell runs; `None` when the program is no shell.
pub(super) fn resolve(name: &str, rest: &[String], depth: usize) -> Option<Invocation> {
    if !is_shell(name) {
        return None;
    }
    let mut words = rest.iter();
    let mut at = 0;
    while let Some(word) = words.next() {
        at += 1;
        if word == "--" || word == "-" {
            break;
        }
        if matches!(word.as_str(), "--init-file" | "--rcfile") {
            words.next();
            at += 1;
            continue;
        }
        if word.starts_with("--") || (name == "busybox" && is_shell(word)) {
            continue;
        }
        if let Some(flags) = word.strip_prefix('-').or_else(|| word.strip_prefix('+')) {
            if word.starts_with('-') && flags.contains('c') {
                return Some(of_script(name, rest.get(at..).unwrap_or_default(), depth));
            }
            // `-o pipefail`, `-euo pipefail`; fish has commands of its own in front.
            if flags.ends_with(['o', 'O']) || (name == "fish" && matches!(flags, "C" | "d")) {
                words.next();
                at += 1;
            }
            continue;
        }
        let arguments = rest.get(at..).unwrap_or_default();
        if let Some(program) = shim(word) {
            let words: Vec<String> =
                std::iter::once(program.to_owned()).chain(arguments.iter().cloned()).collect();
            return Some(super::resolve(&words, depth + 1)?.seen_through("shim"));
        }
        let mut found = Invocation::new(Kind::Script, word, arguments);
        found.project = None;
        return Some(found);
    }
    Some(Invocation::new(Kind::Shell, name, rest))
}

/// The program that a shim of asdf, pyenv or their like becomes: `bash /home/u/.asdf/shims/npx`.
fn shim(path: &str) -> Option<&str> {
    const ROOTS: [&str; 7] = ["/.asdf", "/asdf", "/asdf-data", "/.pyenv", "/.rbenv", "/.nodenv", "/.goenv"];
    let (folder, name) = path.rsplit_once('/')?;
    let root = folder.strip_suffix("/shims")?;
    (ROOTS.iter().any(|known| root.ends_with(known)) && !name.contains('.')).then_some(name)
}

/// `rest` is the script and its positional arguments (`$0` first).
fn of_script(shell: &str, rest: &[String], depth: usize) -> Invocation {
    let compound = || Invocation::new(Kind::Shell, shell, rest);
    let Some((script, positional)) = rest.split_first() else { return compound() };
    let Some(one) = single_command(script) else { return compound() };
    let forwards = one.words.first().is_some_and(|word| word == "$@" || word == "${@}");
    let words = if forwards { positional.get(1..).unwrap_or_default().to_vec() } else { one.words };
    let Some(mut found) = super::resolve(&words, depth + 1) else { return compound() };
    found.directory = found.directory.or(one.directory);
    found.seen_through(&format!("{shell} -c"))
}

struct Single {
    words: Vec<String>,
    directory: Option<String>,
}

/// The one command of a script that is no preparation. `None` when there are several, when anything runs beside it
/// (`&`, a pipe), or when the script is more than a list of commands.
fn single_command(script: &str) -> Option<Single> {
    let mut real: Option<Vec<String>> = None;
    let mut directory = None;
    for (text, operator) in split_list(script)? {
        let mut words = without_redirections(shell_words::split(&text).ok()?);
        while words.first().is_some_and(|word| is_assignment(word)) {
            words.remove(0);
        }
        while words.first().is_some_and(|word| matches!(word.as_str(), "exec" | "command" | "builtin")) {
            words.remove(0);
        }
        if matches!(operator.as_str(), "|" | "&" | "|&") {
            return None;
        }
        let Some(first) = words.first() else { continue };
        if CONSTRUCTS.contains(&first.as_str()) || first.starts_with('(') {
            return None;
        }
        // Behind the command that matters only what does nothing may follow.
        if real.is_some() && !["true", ":", "exit", "wait", "echo", "printf"].contains(&first.as_str()) {
            return None;
        }
        let manages_versions = matches!(first.as_str(), "nvm" | "fnm" | "asdf");
        let runs = manages_versions && words.get(1).is_some_and(|word| word == "exec");
        if PREPARATION.contains(&first.as_str()) && !runs {
            if matches!(first.as_str(), "cd" | "pushd") {
                directory = words.get(1).map(|path| paths::normal(path));
            }
            continue;
        }
        if real.replace(words).is_some() {
            return None;
        }
    }
    Some(Single { words: real?, directory })
}

/// Cuts a script at its unquoted operators. `None` for here-documents and command substitution in command position.
fn split_list(script: &str) -> Option<Vec<(String, String)>> {
    let mut list = Vec::new();
    let mut text = String::new();
    let mut quote: Option<char> = None;
    let mut letters = script.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => {
                quote = None;
                text.push(letter);
            }
            (Some('\''), _) => text.push(letter),
            // Outside single quotes a substitution runs something of its own.
            (None | Some('"'), '`') => return None,
            (None | Some('"'), '$') if letters.peek() == Some(&'(') => return None,
            (_, '\\') => {
                text.push(letter);
                text.extend(letters.next());
            }
            (Some(_), _) => text.push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                text.push(letter);
            }
            (None, '<') if letters.peek() == Some(&'<') => return None,
            (None, '&') if text.ends_with('>') || text.ends_with('<') || letters.peek() == Some(&'>') => {
                text.push(letter);
            }
            (None, ';' | '\n' | '&' | '|') => {
                let mut operator = letter.to_string();
                if let Some(twin) =
                    letters.next_if(|next| matches!((letter, *next), ('&', '&') | ('|', '|' | '&')))
                {
                    operator.push(twin);
                }
                list.push((std::mem::take(&mut text), operator));
            }
            (None, _) => text.push(letter),
        }
    }
    list.push((text, String::new()));
    Some(list)
}

fn without_redirections(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let sign = word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '&');
        if sign.starts_with('>') || sign.starts_with('<') {
            if matches!(sign, ">" | ">>" | "<" | ">|" | "<>") {
                words.next();
            }
            continue;
        }
        kept.push(word);
    }
    kept
}

/// `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}
