//! The units: the shipped ones, and what becomes of them for a program, its options and its variables.

use super::{SERVICE, SWEEP, systemctl};
use crate::install::{MARK, Scope, There, Wish};

/// What the shipped files start.
const SHIPPED_PROGRAM: &str = "/usr/bin/orphand";

/// A shipped unit.
fn shipped(scope: Scope, unit: &str) -> &'static str {
    match (scope, unit) {
        (Scope::Machine, SERVICE) => include_str!("../../../systemd/orphand.service"),
        (Scope::Machine, SWEEP) => include_str!("../../../systemd/orphand-sweep.service"),
        (Scope::Machine, _) => include_str!("../../../systemd/orphand-sweep.timer"),
        (Scope::User, SERVICE) => include_str!("../../../systemd/user/orphand.service"),
        (Scope::User, SWEEP) => include_str!("../../../systemd/user/orphand-sweep.service"),
        (Scope::User, _) => include_str!("../../../systemd/user/orphand-sweep.timer"),
    }
}

pub(super) fn note(scope: Scope, unit: &str) -> String {
    let systemctl = systemctl(scope).join(" ");
    format!(
        "# {MARK}, which replaces this file. Put changes of your own into a drop-in:\n# `{systemctl} edit {unit}`.\n"
    )
}

/// A shipped unit with the program, options and environment that were asked for.
pub(super) fn filled_in(wish: &Wish, unit: &str) -> String {
    let lines = shipped(wish.scope, unit)
        .lines()
        .map(|line| verb_of(line).map_or_else(|| format!("{line}\n"), |verb| start_lines(wish, verb)));
    lines.collect()
}

/// Whether a unit starts this program already, in the usual way; a timer starts nothing by itself.
pub(super) fn starts_this(wish: &Wish, unit: &str, there: &There) -> bool {
    let There::Text(text) = there else { return false };
    let usual =
        shipped(wish.scope, unit).lines().find_map(verb_of).map(|verb| start_lines(&wish.plain(), verb));
    usual.is_none_or(|usual| text.contains(&usual))
}

/// What a drop-in must say to make a package's unit what was asked for; `None` where it is that already.
pub(super) fn changes(wish: &Wish, unit: &str) -> Option<String> {
    if wish.options.is_empty() && wish.environment.is_empty() {
        return None;
    }
    let verb = shipped(wish.scope, unit).lines().find_map(verb_of)?;
    Some(format!("# {MARK}, which replaces this file.\n[Service]\nExecStart=\n{}", start_lines(wish, verb)))
}

/// What stands behind the program in a shipped unit's command.
fn verb_of(line: &str) -> Option<&str> {
    line.strip_prefix("ExecStart=")?.strip_prefix(SHIPPED_PROGRAM)
}

fn start_lines(wish: &Wish, verb: &str) -> String {
    let options: String = wish.options.iter().map(|option| format!(" {}", word(option))).collect();
    let variables = wish.environment.iter();
    let variables: String = variables
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    format!("ExecStart={}{verb}{options}\n{variables}", quoted(&wish.program))
}

/// A word as systemd reads it in a command line: percent signs and dollars mean something to it.
fn word(text: &str) -> String {
    quoted(&text.replace('$', "$$"))
}

/// Dollars mean nothing in the program's own path, nor in a variable's value.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@$".contains(letter);
    let text = text.replace('%', "%%");
    if !text.is_empty() && text.chars().all(|letter| plain(letter) || letter == '%') {
        return text;
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The variable that a line of ours sets.
pub(super) fn variable_of(line: &str) -> Option<(String, String)> {
    let text = line.strip_prefix("Environment=")?;
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let text = text.replace("\\\"", "\"").replace("\\\\", "\\").replace("%%", "%");
    text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
}
