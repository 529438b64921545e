//! Environments are full of secrets: only a few marks and a digest leave this file.

use crate::process::{ClientMark, Fact, Marks, Pid};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

/// Digests are keyed anew in every run, so that nobody can guess an environment from one.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Variables by which clients make themselves known to what they start: name of the client, variable, whether its value
/// is the client's pid. (anomalyco/opencode PR 15516; Claude Code and Gemini CLI set theirs in every child.)
const CLIENTS: [(&str, &str, bool); 4] = [
    ("opencode", "OPENCODE_PID", true),
    ("opencode", "OPENCODE", false),
    ("claude", "CLAUDECODE", false),
    ("gemini", "GEMINI_CLI", false),
];

/// A digest that is the same for equal values within one run.
pub(super) fn digest(value: impl Hash) -> u64 {
    KEY.hash_one(value)
}

/// A process that sets its title may have written over its environment. What does not begin like one tells nothing.
pub(super) fn of(environment: &[u8]) -> (Fact<Marks>, Fact<u64>) {
    let first = environment.split(|byte| *byte == 0).next().unwrap_or_default();
    if !environment.is_empty() && !first.contains(&b'=') {
        return (Fact::Denied, Fact::Denied);
    }
    let value = |name: &str| {
        environment.split(|byte| *byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
    };
    let client = CLIENTS.iter().find_map(|(name, variable, is_pid)| {
        let pid = value(variable)?.parse().ok().and_then(Pid::new).filter(|_| *is_pid);
        Some(ClientMark { name: (*name).to_owned(), pid })
    });
    let marks = Marks { orphand: value("ORPHAND"), systemd_exec_pid: value("SYSTEMD_EXEC_PID"), client };
    (Fact::Known(marks), Fact::Known(digest(environment)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_leave_the_environment() {
        let (marks, _) =
            of(b"API_TOKEN=hunter2\0ORPHAND=keep\0XORPHAND=no\0SYSTEMD_EXEC_PID=7\0OPENCODE_PID=12\0");
        let client = Some(ClientMark { name: "opencode".into(), pid: Pid::new(12) });
        let expected = Marks { orphand: Some("keep".into()), systemd_exec_pid: Some("7".into()), client };
        assert_eq!(marks, Fact::Known(expected));
    }

    #[test]
    fn an_environment_that_was_written_over_tells_nothing() {
        assert_eq!(of(b"").0, Fact::Known(Marks::default()));
        assert_eq!(of(b"\0\0\0\0"), (Fact::Denied, Fact::Denied));
        assert_eq!(of(b"server: idle\0\0ORPHAND=keep\0"), (Fact::Denied, Fact::Denied));
    }

    #[test]
    fn one_variable_more_is_another_environment() {
        assert_eq!(of(b"A=1\0B=2\0").1, of(b"A=1\0B=2\0").1);
        assert_ne!(of(b"A=1\0B=2\0").1, of(b"A=1\0B=3\0").1);
    }
}
