use super::*;
use crate::config::Sources;

fn shipped() -> Catalog {
    crate::config::load(&Sources::default()).expect("the shipped configuration is good").catalog
}

fn role(catalog: &Catalog, line: &str) -> Option<(Role, Strength, String)> {
    let words: Vec<String> = shell_words::split(line).unwrap_or_default();
    let found = catalog.classify_invocation(Invocation::of_line(line)?, &words)?;
    let pattern = catalog.pattern(found.pattern?);
    Some((pattern.role, pattern.strength, catalog.display_name(&found)))
}

#[test]
fn servers_of_the_reports_are_known_by_name() {
    let catalog = shipped();
    let rows = [
        ("npm exec @upstash/context7-mcp@latest", "context7"),
        ("node /h/.npm/_npx/1/node_modules/.bin/context7-mcp", "context7"),
        ("sh -c context7-mcp", "context7"),
        ("npm exec mysql-mcp-server", "mysql"),
        ("node /h/.npm/_npx/1/node_modules/.bin/mysql-mcp-server", "mysql"),
        ("npm exec mongodb-mcp-server@latest", "mongodb"),
        ("npm exec @playwright/mcp@latest --browser firefox", "playwright"),
        ("node /h/.npm/_npx/1/node_modules/.bin/mcp-server-playwright", "playwright"),
        ("npm exec chrome-devtools-mcp@latest", "chrome-devtools"),
        ("uv tool uvx --python 3.13 --from chroma-mcp==0.2.6 chroma-mcp --client-type persistent", "chroma"),
        ("/u/bin/python /u/bin/conport-mcp --mode stdio", "conport"),
        ("serena start-mcp-server --context claude-code --project-from-cwd", "serena"),
        ("uvx --from git+https://github.com/oraios/serena serena start-mcp-server", "serena"),
        ("docker run -i --rm -e T ghcr.io/github/github-mcp-server", "github"),
        ("docker run -i --rm mcp/time", "time"),
        ("docker run -i --rm mcp/acme", "mcp/acme"),
        ("npm exec mcp-remote https://x", "mcp-remote"),
        ("/opt/homebrew/bin/claude mcp serve", "claude"),
        ("openclaw mcp serve", "openclaw"),
        ("codex mcp-server", "codex"),
        ("SkyComputerUseClient mcp", "computer-use"),
        ("node /x/bin/lark-mcp mcp -a 1", "lark"),
        ("node /x/bin/codegraph serve --mcp", "codegraph"),
        ("likec4 mcp --stdio docs", "likec4"),
        ("trace-mcp serve", "trace-mcp"),
        ("npm exec xcodebuildmcp@latest mcp", "xcodebuild"),
        ("pnpm exec gitnexus mcp", "gitnexus"),
        ("node ./node_modules/.bin/../gitnexus/dist/cli/index.js mcp", "gitnexus"),
        ("idalib-mcp --stdio", "ida-pro"),
        ("node /x/a4d-mcp-wrapper.js @salesforce/mcp@latest --orgs x", "salesforce"),
        ("/h/.pencil/mcp/cursor/out/mcp-server-darwin-arm64 --agent cursorIDE", "pencil"),
        ("php /Applications/Herd.app/Contents/Resources/herd-mcp.phar", "herd"),
        ("bun run --cwd /h/.claude/plugins/telegram/0.0.5 --shell=bun --silent start", "claude-plugin"),
        ("npm exec mcp-postgres-full-access postgresql://x", "postgres"),
        ("uv run --with fastmcp fastmcp run server.py", "fastmcp"),
        ("python3 -m fastmcp run s.py", "fastmcp"),
        ("npx tsx src/mcp-server.ts", "mcp-server.ts"),
        // By structure alone
        ("node /x/mcp-server.cjs", "mcp-server.cjs"),
        ("node /x/dist/mcp-server-stdio.js", "mcp-server-stdio.js"),
        ("sh -c 'cd /path && python3 -m mcp_server.server --transport stdio'", "mcp_server.server"),
        ("python3 -m mcp_server_fetch", "fetch"),
        ("python3 -m mcp_server_acme", "mcp_server_acme"),
        ("/usr/bin/fff-mcp", "fff-mcp"),
        ("uvx acme-mcp-server", "acme-mcp-server"),
        (
            "node /u/node_modules/@modelcontextprotocol/server-acme/dist/index.js",
            "@modelcontextprotocol/server-acme",
        ),
        ("python apple_mail_mcp.py", "apple-mail"),
        ("npx mcp-foo", "mcp-foo"),
        ("npm exec @acme/billing-mcp", "@acme/billing-mcp"),
    ];
    for (line, name) in rows {
        let found = role(&catalog, line).unwrap_or_else(|| panic!("{line:?} is nothing"));
        assert_eq!((found.0, found.1, found.2.as_str()), (Role::Server, Strength::Strong, name), "{line:?}");
    }
}

#[test]
fn what_is_merely_likely_is_weak() {
    let catalog = shipped();
    let likely = ["mcp-backup --all", "/opt/mcp-train-model", "python3 billing_mcp.py"];
    for line in likely {
        let found = role(&catalog, line).unwrap_or_else(|| panic!("{line:?} is nothing"));
        assert_eq!((found.0, found.1), (Role::Server, Strength::Weak), "{line:?}");
    }
    for line in [
        "acme mcp",
        "acme mcp serve",
        "node /x/acme.js --mcp",
        "node /src/foo-mcp/dist/index.js",
        "bash /x/mcp-server.sh",
    ] {
        let found = role(&catalog, line).unwrap_or_else(|| panic!("{line:?} is nothing"));
        assert_eq!((found.0, found.1), (Role::Server, Strength::Weak), "{line:?}");
    }
}

#[test]
fn false_friends_are_nothing() {
    let catalog = shipped();
    let lines = [
        "python3 /home/u/my-mcp-server/train.py",
        "vim /home/u/mcp-server-notes/README.md",
        "grep mcp",
        "grep -r mcp-server /src",
        "tail -f mcp.log",
        "git clone https://github.com/acme/mcp-server",
        "less mcp-server.js",
        "node /x/pyright-langserver.js --stdio",
        "foo --stdio",
        "npm install mcp-server-git",
        "cargo build -p foo-mcp",
        "pytest tests/test_mcp_server.py",
        "python -m pytest tests/test_mcp_server.py",
        "node --test mcp-server.test.js",
        "sh -c 'vite & npx -y foo-mcp; wait'",
        "ssh host foo-mcp",
        "postgres",
        "sleep 1000",
        "node /x/node_modules/foo-mcp/scripts/migrate-db.js",
        "sh -c 'cd /h/.claude/plugins/foo && ./sync-memory.sh'",
        "uv run --directory /h/.claude/plugins/foo python train.py",
        "sh -c 'X=\"$(python backup.py)\" foo-mcp'",
        "ffmpeg -i wedding.mkv",
        "node",
        "python3",
    ];
    for line in lines {
        let found = role(&catalog, line).filter(|found| found.0 == Role::Server);
        assert!(found.is_none(), "{line:?} is {found:?}");
    }
}

/// Every shipped pattern with its position in the catalog of nothing but them.
fn shipped_patterns() -> (Catalog, Vec<(Role, PatternText)>) {
    let texts = crate::config::shipped();
    let catalog = Catalog::compile(texts.iter().map(|(role, text)| (*role, false, text.clone()))).unwrap();
    (catalog, texts)
}

fn taken_apart(line: &str) -> (Invocation, Vec<String>) {
    let words = shell_words::split(line).unwrap_or_default();
    (Invocation::of_line(line).unwrap_or_else(|| panic!("{line:?} is empty")), words)
}

#[test]
fn the_catalog_is_large_and_its_names_are_unique() {
    let (_, texts) = shipped_patterns();
    let mut names = std::collections::HashSet::new();
    for (role, text) in &texts {
        assert!(names.insert((*role, text.name.clone())), "two {role:?} patterns are called {:?}", text.name);
    }
    let count = |wanted: Role| texts.iter().filter(|(role, text)| *role == wanted && !text.generic).count();
    assert!(count(Role::Server) >= 60, "{} servers", count(Role::Server));
    assert!(count(Role::Client) >= 30, "{} clients", count(Role::Client));
    assert!(
        texts.iter().all(|(_, text)| text.cmdline.is_none()),
        "the shipped catalog names structure, not text"
    );
}

#[test]
fn each_example_goes_to_its_own_pattern_and_to_no_other() {
    let (catalog, texts) = shipped_patterns();
    for (at, (role, text)) in texts.iter().enumerate() {
        assert!(!text.examples.as_slice().is_empty(), "{role:?} {:?} has no examples", text.name);
        for line in text.examples.as_slice() {
            let (invocation, words) = taken_apart(line);
            // A client's program that serves is named as that client, too; the server comes first.
            let others: Vec<&str> = (catalog.matching(&invocation, &words).into_iter())
                .filter(|other| *other != at && !text.generic && texts[*other].0 == *role)
                .filter(|other| !texts[*other].1.generic)
                .map(|other| texts[other].1.name.as_str())
                .collect();
            assert!(others.is_empty(), "{line:?} of {role:?} {:?} also fits {others:?}", text.name);
            let winner = catalog.classify_invocation(invocation, &words).and_then(|found| found.pattern);
            let winner = winner.map(|index| (texts[index].0, texts[index].1.name.as_str()));
            assert_eq!(winner, Some((*role, text.name.as_str())), "{line:?}");
        }
    }
}

#[test]
fn ordinary_command_lines_are_no_servers() {
    let (catalog, texts) = shipped_patterns();
    let lines: Vec<&str> = crate::config::ordinary_lines().collect();
    assert!(lines.len() >= 200, "only {} lines", lines.len());
    for line in lines {
        let (invocation, words) = taken_apart(line);
        let named: Vec<&str> = (catalog.matching(&invocation, &words).into_iter())
            .filter(|index| {
                let (role, text) = &texts[*index];
                *role == Role::Server || (*role == Role::Helper && text.strength == Strength::Strong)
            })
            .map(|index| texts[index].1.name.as_str())
            .collect();
        assert!(named.is_empty(), "{line:?} is named by {named:?}");
    }
}

#[test]
fn wrappers_of_the_field_are_seen_through() {
    let catalog = shipped();
    let wrapped = [
        "npx -y X",
        "npm exec X",
        "npm x -- X",
        "pnpm dlx X",
        "pnpm exec X",
        "pnpx X",
        "yarn dlx X",
        "bunx X",
        "bun x X",
        "deno run -A npm:X",
        "deno x npm:X",
        "uvx X",
        "uv tool uvx X",
        "uv tool run X",
        "uv run X",
        "uv --directory /x run X",
        "pipx run X",
        "poetry run X",
        "pdm run X",
        "hatch run X",
        "rye run X",
        "pipenv run X",
        "conda run -n e X",
        "micromamba run -n e X",
        "docker run -i --rm --gpus all X",
        "docker --context remote run -i X",
        "podman run -i X",
        "docker exec -i box X",
        "docker compose exec -T app X",
        "env A=1 X",
        "timeout 60 X",
        "sudo -u u X",
        "nice -n 5 X",
        "nohup X",
        "stdbuf -oL X",
        "/Applications/Claude.app/Contents/Helpers/disclaimer --pgroup -- X",
        "sh -c 'cd /x && A=1 exec X'",
        "bash -lc 'nvm use 20; npx X'",
        "bash -c 'nvm exec 20 npx -y X'",
        "bash /home/u/.asdf/shims/npx -y X",
        "bash /home/u/.pyenv/shims/X",
        "fnm exec --using 20 npx X",
        "volta run --node 20 npx X",
        "asdf exec npx X",
        "mise exec node@20 -- npx X",
        "mise x -- X",
        "pyenv exec X",
        "direnv exec /x X",
        "corepack pnpm dlx X",
        "node /usr/lib/node_modules/corepack/dist/pnpm.js dlx X",
        "node /x/.yarn/releases/yarn-4.1.0.cjs dlx X",
        "node --no-warnings /usr/lib/node_modules/npm/bin/npx-cli.js -y X",
        "node /home/u/.nvm/versions/node/v20.1.0/bin/npx -y X",
        "dnx X --yes",
        "go run example.org/x/X@latest",
        "op run -- X",
        "doppler run -- X",
        "dotenvx run -- X",
        "xvfb-run -a X",
    ];
    for wrapped in wrapped {
        let line = wrapped.replace('X', "acme-mcp-server");
        let found = role(&catalog, &line).unwrap_or_else(|| panic!("{line:?} is nothing"));
        assert_eq!((found.0, found.2.as_str()), (Role::Server, "acme-mcp-server"), "{line:?}");
    }
    for line in [
        "make -s mcp",
        "just mcp",
        "npm run mcp",
        "pnpm start",
        "yarn run mcp",
        "deno task mcp",
        "cargo run",
        "npx -y tsx /x/a.ts",
    ] {
        let found = catalog.classify_invocation(Invocation::of_line(line).unwrap(), &[]);
        assert_eq!(found.map(|found| found.role), Some(Role::Launcher), "{line:?}");
    }
}

#[test]
fn a_runner_that_does_the_work_itself_is_no_wrapper() {
    // An agent of Deno or ts-node is the process that starts the servers: it must never be climbed over.
    let catalog = shipped();
    for line in
        ["deno run -A npm:some-agent", "deno x npm:some-agent", "node /x/node_modules/.bin/ts-node agent.ts"]
    {
        let found = catalog.classify_invocation(Invocation::of_line(line).unwrap(), &[]);
        assert!(found.is_none(), "{line:?} is {found:?}");
    }
}

#[test]
fn clients_hosts_helpers_and_browsers() {
    let catalog = shipped();
    let rows = [
        ("claude", Role::Client),
        ("claude --dangerously-skip-permissions", Role::Client),
        ("claude mcp list", Role::Client),
        ("claude -p --output-format stream-json", Role::Client),
        ("/h/.local/share/claude/versions/2.1.201 --bg-spare /tmp/x.sock", Role::Client),
        ("node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", Role::Client),
        ("/Applications/Claude.app/Contents/MacOS/Claude", Role::Client),
        ("codex app-server --analytics-default-enabled", Role::Client),
        ("opencode serve", Role::Client),
        ("npx opencode-ai", Role::Client),
        ("/usr/share/code/code --type=utility", Role::Client),
        (
            "/h/.vscode-server/bin/abc/node /h/.vscode-server/bin/abc/out/bootstrap-fork --type=extensionHost",
            Role::Client,
        ),
        ("cursor-agent", Role::Client),
        ("npx @modelcontextprotocol/inspector", Role::Client),
        ("claude --resume mcp serve", Role::Client),
        ("/usr/local/bin/slack-mcp-client", Role::Client),
        ("python3 agent_mcp.py", Role::Client),
        ("mcp-agent", Role::Client),
        ("mcphost", Role::Client),
        ("npx some-mcp-bridge", Role::Host),
        ("tmux new -s x", Role::Host),
        ("tmux: server", Role::Host),
        ("PM2 v5.3.0: God Daemon (/h/.pm2)", Role::Host),
        ("cron -f", Role::Host),
        ("sshd: u@pts/1", Role::Host),
        ("npx -y supergateway --stdio foo-mcp --port 8000", Role::Host),
        ("docker mcp gateway run", Role::Host),
        ("python -m uvicorn app:app", Role::Host),
        (
            "node /x/chrome-devtools-mcp/build/src/telemetry/watchdog/main.js --parent-pid=7 --app-version=1",
            Role::Helper,
        ),
        ("/h/.serena/language_servers/static/Kotlin/jre/bin/java -jar x", Role::Helper),
        ("/usr/bin/chromium --headless=new", Role::Browser),
        ("/opt/google/chrome/chrome --type=renderer", Role::Browser),
        ("make -s crystaldba/postgres-mcp-pro", Role::Launcher),
    ];
    for (line, wanted) in rows {
        assert_eq!(role(&catalog, line).map(|found| found.0), Some(wanted), "{line:?}");
    }
}

#[test]
fn a_wrapper_of_something_unknown_is_a_launcher() {
    let catalog = shipped();
    for line in ["npx -y cowsay", "sh -c 'cowsay'", "env A=1 cowsay", "uvx ruff"] {
        let found = catalog.classify_invocation(Invocation::of_line(line).unwrap(), &[]);
        assert_eq!(found.map(|found| found.role), Some(Role::Launcher), "{line:?}");
    }
}

fn compile(text: PatternText) -> Result<Catalog, PatternError> {
    Catalog::compile([(Role::Server, true, text)])
}

fn named(name: &str) -> PatternText {
    PatternText { name: name.to_owned(), stdio: true, ..PatternText::default() }
}

#[test]
fn bad_patterns_say_what_is_wrong() {
    let one = |word: &str| Words::One(word.to_owned());
    let rows = [
        (named("x"), "names nothing"),
        (PatternText { package: one("*"), ..named("x") }, "matches everything"),
        (PatternText { package: one(""), ..named("x") }, "empty word"),
        (PatternText { path: one("**"), ..named("x") }, "matches everything"),
        (PatternText { cmdline: Some(String::new()), ..named("x") }, "matches everything"),
        (PatternText { cmdline: Some(".*".to_owned()), ..named("x") }, "matches everything"),
        (PatternText { cmdline: Some("(".to_owned()), ..named("x") }, "no regular expression"),
        (PatternText { script: one("a[b-mcp"), ..named("x") }, "no glob"),
    ];
    for (text, problem) in rows {
        let error = compile(text.clone()).expect_err(&format!("{text:?}")).to_string();
        assert!(error.contains(problem) && error.contains("\"x\""), "{text:?}: {error}");
    }
}

#[test]
fn a_users_shape_never_makes_a_client_a_server() {
    let shape = PatternText { cmdline: Some("mcp".to_owned()), ..named("mine") };
    let word = PatternText { program: Words::One("crush".to_owned()), ..named("own") };
    let client = PatternText {
        program: Words::Many(vec!["claude".to_owned(), "crush".to_owned()]),
        ..named("client")
    };
    let catalog = Catalog::compile([
        (Role::Server, true, shape),
        (Role::Server, true, word),
        (Role::Client, false, client),
    ])
    .unwrap();
    let role = |line: &str| role(&catalog, line).map(|found| found.0);
    assert_eq!(role("claude -p x --mcp-config mcp.json"), Some(Role::Client));
    assert_eq!(role("thing --mcp-config mcp.json"), Some(Role::Server));
    assert_eq!(role("crush"), Some(Role::Server), "word for word it is the user's to say");
}

#[test]
fn a_users_pattern_may_match_the_whole_line_and_name_a_package_everywhere() {
    let text = PatternText { cmdline: Some("inbox_server".to_owned()), ..named("inbox") };
    let catalog = compile(text).unwrap();
    assert_eq!(role(&catalog, "python3 /x/inbox_server.py").map(|found| found.2), Some("inbox".to_owned()));
    let text = PatternText { package: Words::One("@acme/billing-mcp".to_owned()), ..named("billing") };
    let catalog = compile(text).unwrap();
    for line in
        ["npx -y @acme/billing-mcp@2", "sh -c billing-mcp", "node /h/_npx/1/node_modules/.bin/billing-mcp"]
    {
        assert_eq!(role(&catalog, line).map(|found| found.2), Some("billing".to_owned()), "{line}");
    }
}
