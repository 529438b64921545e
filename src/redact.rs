//! Command lines are hostile: they carry secrets and control characters. Nothing is printed that has not passed here.

use regex::Regex;
use std::sync::LazyLock;

/// What stands in the place of a secret.
const HIDDEN: &str = "[hidden]";

/// Option and variable names whose value is a secret.
static SECRET_NAME: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"(?i)(token|secret|passw(or)?d|passwd|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|auth|credential|bearer|cookie|session[-_]?key|signature|dsn|connection[-_]?string|(^|[-_])(key|pat|pwd|pass|psk)$)",
    )
});

/// `scheme://user:password@host`, and the user alone where it is a token.
static URL_LOGIN: LazyLock<Regex> =
    LazyLock::new(|| fixed(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/@\s]+@"));

/// `?token=...&key=...` within a URL.
static URL_QUERY: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"(?i)(?P<name>[?&;][^=&\s]*(token|key|secret|password|passwd|pwd|auth|sig|signature|code)[^=&\s]*=)[^&\s]+",
    )
});

/// Words that are secrets by their own shape: the tokens of well-known services, JSON web tokens, keys in hexadecimal.
static SECRET_SHAPE: LazyLock<Regex> = LazyLock::new(|| {
    fixed(concat!(
        r"\b(sk|pk|rk|ghp|gho|ghu|ghs|ghr|glpat|xox[abeprs]|npm|pypi|hf|AKIA|ASIA|AIza|ntn|secret|shpat|dop_v1|lin_api|figd|pat)",
        r"[-_]?[A-Za-z0-9_-]{16,}\b|github_pat_[A-Za-z0-9_]{20,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}[A-Za-z0-9_.-]*|\b[0-9a-fA-F]{40,}\b",
    ))
});

/// `password=x host=y` within one word, as database connection strings have it; `Authorization: Bearer x`.
static INNER_PAIR: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r#"(?i)(?P<name>\b[\w-]*(password|passwd|pwd|token|secret|api[-_]?key|accountkey|sharedaccesskey)["']?\s*[=:]\s*["']?)[^\s;,"'&]+"#,
    )
});
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"(?i)(\b|^)[\w-]*(authorization|cookie|api-?key|access-?key|token|secret|password|auth)[\w-]*\s*:\s*",
    )
});
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| fixed(r"(?i)(?P<name>\b(bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}"));

#[allow(clippy::unwrap_used, reason = "a literal that every test compiles")]
fn fixed(expression: &str) -> Regex {
    Regex::new(expression).unwrap()
}

/// A command line for people: secrets hidden, control characters escaped, words that hold blanks quoted.
pub fn command_line(arguments: &[String]) -> String {
    if let [title] = arguments {
        // A rewritten title is one word that holds the whole line.
        return printable(&redact_line(title));
    }
    let quoted = |word: String| match (word.contains(' ') || word.is_empty(), word.contains('\'')) {
        (false, _) => word,
        (true, false) => format!("'{word}'"),
        (true, true) => format!("\"{word}\""),
    };
    command_words(arguments).into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The same as words.
pub fn command_words(arguments: &[String]) -> Vec<String> {
    redact_words(arguments).iter().map(|word| printable(word)).collect()
}

/// Words without their secrets: those that an option announces, and those that show themselves.
fn redact_words(arguments: &[String]) -> Vec<String> {
    let glued_passwords = arguments.iter().any(|word| word.contains("mysql") || word.contains("mariadb"));
    let mut words: Vec<String> = Vec::with_capacity(arguments.len());
    let mut hide_next = false;
    for word in arguments {
        let is_option = word.starts_with('-') && word.len() > 1;
        if hide_next && !is_option {
            words.push(HIDDEN.to_owned());
            hide_next = false;
            continue;
        }
        hide_next = is_option && !word.contains('=') && names_a_secret(word.trim_start_matches('-'));
        let glued = glued_passwords && word.starts_with("-p") && word.len() > 2;
        words.push(if glued { format!("-p{HIDDEN}") } else { redact_word(word) });
    }
    words
}

fn names_a_secret(name: &str) -> bool {
    SECRET_NAME.is_match(name)
}

/// One word without its secret. A word with blanks is a shell script or a header: a line of its own.
fn redact_word(word: &str) -> String {
    if word.contains(' ') { redact_line(word) } else { redact_shapes(&redact_pair(word)) }
}

/// A line that was not taken apart: its headers as a whole, then its words one by one, so that `--token x` is found.
fn redact_line(line: &str) -> String {
    let words: Vec<String> = redact_headers(line).split(' ').map(str::to_owned).collect();
    redact_shapes(&redact_words(&words).join(" "))
}

/// `--token=x`, `API_KEY=x`.
fn redact_pair(word: &str) -> String {
    match word.split_once('=') {
        Some((name, value)) if !value.is_empty() && !name.contains("://") => {
            let bare = name.trim_start_matches('-');
            if names_a_secret(bare) { format!("{name}={HIDDEN}") } else { word.to_owned() }
        }
        _ => word.to_owned(),
    }
}

fn redact_shapes(word: &str) -> String {
    let word = URL_LOGIN.replace_all(word, format!("${{scheme}}{HIDDEN}@"));
    let word = URL_QUERY.replace_all(&word, format!("${{name}}{HIDDEN}"));
    let word = redact_headers(&word);
    let word = BEARER.replace_all(&word, format!("${{name}}{HIDDEN}"));
    let word = INNER_PAIR.replace_all(&word, format!("${{name}}{HIDDEN}"));
    SECRET_SHAPE.replace_all(&word, HIDDEN).into_owned()
}

/// A sentence or a name for people: secrets by their shape hidden, control characters escaped.
pub fn sentence(text: &str) -> String {
    printable(&redact_shapes(text))
}

/// `Authorization: Bearer x` up to the next option, quote or end: a header's value may hold blanks.
fn redact_headers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = HEADER.find(rest) {
        let value = &rest[found.end()..];
        // `scheme://` is no header.
        let end = if value.starts_with("//") {
            0
        } else {
            [" -", "'", "\""].iter().filter_map(|stop| value.find(stop)).min().unwrap_or(value.len())
        };
        kept.push_str(&rest[..found.end()]);
        if end > 0 {
            kept.push_str(HIDDEN);
        }
        rest = &value[end..];
    }
    kept.push_str(rest);
    kept
}

/// Text that cannot move the cursor, change colours, or turn the reading direction.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        let turns = matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}');
        if letter.is_control() || turns {
            safe.extend(letter.escape_default());
        } else {
            safe.push(letter);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> String {
        command_line(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn secrets_never_leave() {
        let rows: &[&[&str]] = &[
            &["npm exec fake-mcp --stdio --token=hunter2hunter2"],
            &["npm exec fake-mcp --api-key hunter2hunter2 --stdio"],
            &["npm", "exec", "mcp-postgres", "postgresql://admin:hunter2hunter2@db.example/prod"],
            &["node", "s.js", "--access-token", "hunter2hunter2"],
            &[
                "docker",
                "run",
                "-e",
                "GITHUB_PERSONAL_ACCESS_TOKEN=hunter2hunter2",
                "ghcr.io/github/github-mcp-server",
            ],
            &["env", "API_KEY=hunter2hunter2", "x-mcp"],
            &["mcp-remote", "https://mcp.example/sse?api_key=hunter2hunter2&x=1"],
            &["mcp-remote", "https://x", "--header", "Authorization: Bearer hunter2hunter2"],
            &["mcp-remote", "https://x", "--header", "Authorization:Bearer hunter2hunter2"],
            &["sh", "-c", "API_TOKEN=hunter2hunter2 foo-mcp --password hunter2hunter2"],
            &["x-mcp", "sk-ant-hunter2hunter2hunter2hunter2"],
            &["x-mcp", "ghp_hunter2hunter2hunter2hunter2"],
            &["x-mcp", "eyJhunter2hunter2.hunter2hunter2.hunter2"],
            &["x-mcp", "Server=db;User Id=sa;Password=hunter2hunter2;"],
            &["x-mcp", "-p", "host=db password=hunter2hunter2 user=x"],
            &["x-mcp", r#"{"token": "hunter2hunter2"}"#],
            &["x-mcp", "--db-password", "hunter2hunter2"],
            &[
                "npm exec mcp-remote https://x.y/sse --header Authorization: Bearer hunter2hunter2abc --header X-Api-Key: hunter2hunter2",
            ],
            &["npm exec mcp-remote https://x.y/sse --header Authorization:Bearer hunter2hunter2abc"],
            &["sh", "-c", "'mcp-remote' https://x.y --header 'Authorization: Bearer hunter2hunter2' --x 'y'"],
            &["npm exec mysql-mcp -u root -phunter2"],
            &[
                "sh",
                "-c",
                "'mcp-remote' https://x.y/sse --header 'Authorization: x' --client-secret hunter2hunter2",
            ],
            &["sh", "-c", "'mysql-mcp-server' -phunter2 --dsn x"],
            &["mysql-mcp", "-u", "root", "-phunter2"],
            &["x-mcp", "--header", "x-goog-api-key: hunter2hunter2"],
        ];
        for row in rows {
            let text = shown(row);
            assert!(!text.contains("hunter2"), "{row:?} became {text}");
            assert!(text.contains(HIDDEN), "{row:?} became {text}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_readable() {
        let rows = [
            (
                vec!["npm exec @playwright/mcp@latest --browser firefox"],
                "npm exec @playwright/mcp@latest --browser firefox",
            ),
            (
                vec!["node", "/home/u/.npm/_npx/9833c18b2d85bc59/node_modules/.bin/x-mcp"],
                "node /home/u/.npm/_npx/9833c18b2d85bc59/node_modules/.bin/x-mcp",
            ),
            (
                vec!["uvx", "--from", "chroma-mcp==0.2.6", "chroma-mcp", "--data-dir", "/d"],
                "uvx --from chroma-mcp==0.2.6 chroma-mcp --data-dir /d",
            ),
            (
                vec![
                    "npm exec mcp-remote https://x.y/sse --header Authorization: Bearer abc --transport sse",
                ],
                "npm exec mcp-remote https://x.y/sse --header Authorization: [hidden] --transport sse",
            ),
            (
                vec!["sh", "-c", "'mcp-remote' --header 'Authorization: Bearer abc' --x"],
                "sh -c \"'mcp-remote' --header 'Authorization: [hidden]' --x\"",
            ),
            (
                vec!["sh", "-c", "cd /x && python3 -m mcp_server.server"],
                "sh -c 'cd /x && python3 -m mcp_server.server'",
            ),
        ];
        for (words, expected) in rows {
            assert_eq!(shown(&words), expected);
        }
    }

    #[test]
    fn control_characters_and_reading_direction_are_escaped() {
        let text = shown(&["node\u{1b}[31m", "a\nb", "\u{202e}gpj.exe", "\u{7}"]);
        assert!(!text.chars().any(char::is_control) && !text.contains('\u{202e}'), "{text:?}");
        assert!(text.contains("\\u{1b}[31m") && text.contains("\\n"), "{text}");
    }
}
