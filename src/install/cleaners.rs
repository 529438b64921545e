//! Clean-up scripts that people have against orphans already.

/// Programs and scripts that are about, by the names under which they are called.
const KNOWN: [&str; 27] = [
    "proc-janitor",
    "cc-reaper",
    "claude-cleanup",
    "cleanup-orphans",
    "stop-cleanup-orphans",
    "clean-orphans",
    "orphan-reaper",
    "mcp-reaper",
    "mcp-cleanup",
    "mcp-janitor",
    "mcp-orphan-monitor",
    "agent-reaper",
    "agent-janitor",
    "janitord",
    "process-reaper",
    "process-janitor",
    "process-guardian",
    "process-cleanup",
    "headless-reaper",
    "session-reaper",
    "fleet-guard",
    "opencode-mem-guard",
    "procclean",
    "zclean",
    "shoo",
    "mac-doctor",
    "reap run",
];

/// How processes are ended.
const KILLS: [&str; 6] = ["kill", "pkill", "killall", "os.kill", "process.kill", "killpg"];

/// Who ends everybody of a name, and what MCP servers are called by then.
const BY_NAME: [&str; 2] = ["pkill", "killall"];
const ANYBODY: [&str; 6] = ["node", "npm", "bun", "deno", "uv", "gitnexus"];

/// Of whom orphand takes care.
const ITS_BUSINESS: [&str; 18] = [
    "mcp",
    "modelcontextprotocol",
    "claude",
    "codex",
    "opencode",
    "cursor",
    "zcode",
    "mimocode",
    "gemini",
    "context7",
    "playwright",
    "chrome-devtools",
    "npx",
    "npm exec",
    "uvx",
    "bunx",
    "chroma",
    "serena",
];

/// Whether a line of a table of jobs, a unit or a script looks as if it ended MCP servers. It is only ever pointed out.
pub fn looks_like_a_cleaner(text: &str) -> bool {
    let text = without_single_brackets(&text.to_lowercase());
    let has_one = |words: &[&str]| words.iter().any(|word| has_word(&text, word));
    has_one(&KNOWN)
        || has_one(&KILLS) && ITS_BUSINESS.iter().any(|word| text.contains(word))
        || has_one(&BY_NAME) && has_one(&ANYBODY)
}

/// `grep [m]cp`, which does not find itself, means `grep mcp`.
fn without_single_brackets(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_bracket = |at: usize| match letters[at] {
        '[' => letters.get(at + 2) == Some(&']'),
        ']' => at >= 2 && letters[at - 2] == '[',
        _ => false,
    };
    (0..letters.len()).filter(|at| !is_bracket(*at)).map(|at| letters[at]).collect()
}

/// Whether the word stands there by itself, not as part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::looks_like_a_cleaner;

    #[test]
    fn the_scripts_of_the_reports_are_known() {
        for line in [
            "*/15 * * * * pkill -f mcp-postgres-full-access",
            "*/10 * * * * ps -eo pid,ppid,args | awk '$2==1 && /mcp-server/ {print $1}' | xargs kill -9",
            "0 * * * * /home/ann/bin/mcp-cleanup.sh >/dev/null 2>&1",
            "5 4 * * * root /usr/local/bin/claude-cleanup --max-age 4",
            "ExecStart=/usr/bin/python3 /opt/cc-reaper/monitor.py",
            "for pid in pids: os.kill(pid, 9)  # context7",
            "0 * * * * ps aux | grep [m]cp-server | awk '{print $2}' | xargs kill",
            "*/5 * * * * killall node",
            "@hourly pkill -f gitnexus",
        ] {
            assert!(looks_like_a_cleaner(line), "{line}");
        }
    }

    #[test]
    fn what_ends_something_else_is_not_pointed_out() {
        for line in [
            "0 3 * * * /usr/bin/certbot renew --quiet",
            "*/5 * * * * pkill -HUP nginx",
            "@daily mcp-server-backup --to /srv",
            "17 * * * * root run-parts --report /etc/cron.hourly",
            "0 0 * * * /usr/bin/overkill --codex",
            "* * * * * shoot --at dawn",
            "0 5 * * * kill -HUP $(cat /run/node-exporter.pid)",
            "",
        ] {
            assert!(!looks_like_a_cleaner(line), "{line}");
        }
    }
}
