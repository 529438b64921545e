//! Options in front of what a wrapper runs. Behind one that nobody knows stands either its value or the target itself.

/// What an option is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::invocation) enum Step {
    /// It stands alone, or has its value glued to it.
    Alone,
    /// It takes the next word.
    TakesNext,
    /// Nobody knows: the next word may be its value.
    Unknown,
}

impl Step {
    /// How many words it covers, as far as is known.
    pub(in crate::invocation) fn length(self) -> usize {
        if self == Step::TakesNext { 2 } else { 1 }
    }
}

/// Options of wrappers that take no value.
const ALONE: &[&str] = &[
    // npm, npx, pnpm, yarn, bun
    "-y",
    "--yes",
    "--no",
    "--no-install",
    "--ignore-existing",
    "--ignore-scripts",
    "--prefer-offline",
    "--prefer-online",
    "--offline",
    "--foreground-scripts",
    "--legacy-peer-deps",
    "--silent",
    "--shell-mode",
    "--bun",
    "--if-present",
    "--no-audit",
    "--no-fund",
    "--force",
    // uv, pipx, conda, poetry
    "--no-cache",
    "--refresh",
    "--isolated",
    "--native-tls",
    "--system-certs",
    "--no-config",
    "--reinstall",
    "--upgrade",
    "-U",
    "--no-progress",
    "--no-python-downloads",
    "--managed-python",
    "--no-managed-python",
    "--frozen",
    "--locked",
    "--no-sync",
    "--no-dev",
    "--dev",
    "--all-extras",
    "--all-groups",
    "--active",
    "--exact",
    "--no-project",
    "--no-env-file",
    "--no-index",
    "--compile-bytecode",
    "--no-build",
    "--no-binary",
    "--no-build-isolation",
    "--no-sources",
    "--no-editable",
    "--only-dev",
    "--script",
    "--gui-script",
    "--pypackages",
    "--system-site-packages",
    "--fetch-missing-python",
    "--no-capture-output",
    "--live-stream",
    "--no-interaction",
    "--no-ansi",
    // docker, podman
    "--interactive",
    "--tty",
    "--detach",
    "--rm",
    "--init",
    "--privileged",
    "--read-only",
    "--publish-all",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--sig-proxy",
    "--no-tty",
    "--debug",
    "--tls",
    "--tlsverify",
    // env, sudo, timeout, setsid and their like
    "-",
    "--ignore-environment",
    "--preserve-env",
    "--login",
    "--non-interactive",
    "--set-home",
    "--stdin",
    "--background",
    "--foreground",
    "--preserve-status",
    "--ctty",
    "--fork",
    "--wait",
    "--pgroup",
    "--auto-servernum",
    "--overload",
    "--pristine",
    // dnx, dotnet
    "--prerelease",
    "--allow-roll-forward",
    "--ignore-failed-sources",
    "--verbose",
    "--quiet",
    "-dd",
    "-ddd",
];

/// Single letters that take no value where the tool does not say otherwise.
const ALONE_LETTERS: &str = "yqvsidtabefhnkmuwxAEHIPSZ0";

/// What an option is, by the options of its tool that take the next word.
pub(in crate::invocation) fn step(word: &str, values: &[&str]) -> Step {
    if values.contains(&word) {
        return Step::TakesNext;
    }
    if word.contains('=') || ALONE.contains(&word) {
        return Step::Alone;
    }
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
        return Step::Unknown;
    };
    let takes = |letter: char| values.contains(&format!("-{letter}").as_str());
    // `-oL`, `-n10`: the value is glued to the letter. `-it`: letters side by side. `-ie NAME`: the last one takes the next word.
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        if takes(letter) {
            return if rest.as_str().is_empty() { Step::TakesNext } else { Step::Alone };
        }
        if letter.is_ascii_digit() {
            return Step::Alone;
        }
        if !ALONE_LETTERS.contains(letter) {
            return Step::Unknown;
        }
    }
    Step::Alone
}

/// Where the words go on that are no options, and whether an unknown option stands right in front of that place.
pub(in crate::invocation) fn skip(words: &[String], values: &[&str]) -> (usize, bool) {
    let (mut at, mut doubtful) = (0, false);
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.as_str() != "--") {
        let step = step(word, values);
        doubtful = step == Step::Unknown;
        at += step.length();
    }
    (at.min(words.len()), doubtful)
}
