use super::*;

#[test]
fn what_is_derived_is_the_invocation_not_the_text() {
    let home = Home::new();
    let rows: &[(&[&str], &str)] = &[
        (&["npx", "-y", "mongodb-mcp-server@latest"], "package=mongodb-mcp-server"),
        (&["npx", "-y", "@acme/billing@1.2", "serve"], "package=@acme/billing subcommand=serve"),
        (&["npx", "-y", "@acme/billing-mcp"], "package=@acme/billing-mcp"),
        (&["npx", "--package=@acme/tools", "billing"], "package=@acme/tools program=billing"),
        (&["uvx", "--from", "chroma-mcp==0.2.6", "chroma-mcp"], "package=chroma-mcp"),
        (
            &[
                "uvx",
                "--from",
                "git+https://x:token@git.example/acme/thing",
                "thing-server",
                "start-mcp-server",
            ],
            "package=thing program=thing-server subcommand=start-mcp-server",
        ),
        (&["uvx", "--from", "/src/acme", "acme-billing"], "program=acme-billing"),
        (&["pipx", "run", "acme-billing"], "package=acme-billing"),
        (&["docker", "run", "-i", "--rm", "-e", "TOKEN=hunter2", "mcp/time"], "image=mcp/time"),
        (
            &["docker", "run", "-i", "--rm", "--gpus", "all", "registry.example:5000/acme/billing:2"],
            "image=registry.example:5000/acme/billing",
        ),
        (&["sh", "-c", "cd HERE/x && python3 -m billing.rpc"], "module=billing.rpc"),
        (&["sh", "-c", "TOKEN=hunter2 exec npx -y acme-billing"], "package=acme-billing"),
        (&["env", "TOKEN=hunter2", "node", "/opt/acme/billing.js"], "path=/opt/acme/billing.js"),
        (&["node", "HERE/acme/server.js"], "path=HERE/acme/server.js"),
        (&["node", "~/acme/server.js"], "path=HERE/acme/server.js"),
        (&["${HOME}/bin/billing", "mcp"], "path=HERE/bin/billing subcommand=mcp"),
        (&["node", "/opt/[id]/{a}/server.js"], "path=/opt/[[]id[]]/[{]a[}]/server.js"),
        (&["python", "-m", "billing.rpc"], "module=billing.rpc"),
        (
            &["bun", "run", "--cwd", "HERE/work/tele", "--silent", "start"],
            "directory=HERE/work/tele run_by=bun",
        ),
        (&["uv", "--directory", "HERE/work/acme", "run", "server.py"], "path=HERE/work/acme/server.py"),
        (&["uv", "run", "--directory", "HERE/work/acme", "acme-billing"], "program=acme-billing"),
        (&["deno", "run", "-A", "npm:@acme/billing@2"], "package=@acme/billing"),
        (&["acme-billing", "--mcp"], "program=acme-billing argument=--mcp"),
        (&["npx -y acme-billing"], "package=acme-billing"),
        (&["${SOMEWHERE}/acme/dist/index.js"], "left out: only the client knows"),
        (&["node", "${SOMEWHERE}/acme/dist/index.js"], "script=acme/dist/index.js"),
        (&["node", "./tools/billing.js"], "script=tools/billing.js"),
        (&["java", "-jar", "/opt/acme/billing.jar"], "path=/opt/acme/billing.jar"),
        (&["awslabs.acme-mcp-server"], "program=awslabs.acme-mcp-server"),
        (&["npx", "skeleton-mcp-server-tools"], "package=skeleton-mcp-server-tools"),
        (&["gopls", "mcp"], "program=gopls subcommand=mcp"),
    ];
    for (command, expected) in rows {
        let here = home.folder.path().display().to_string();
        let command: Vec<String> = command.iter().map(|word| word.replace("HERE", &here)).collect();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let found = home.in_home(&keys(&home.derived(&command)));
        assert!(
            found == *expected || (expected.starts_with("left out") && found.starts_with(expected)),
            "{command:?}: {found}"
        );
    }
}

#[test]
fn what_would_name_more_than_the_server_is_left_out() {
    let home = Home::new();
    let rows: &[&[&str]] = &[
        &["claude"],
        &["/home/u/.local/bin/claude", "--resume"],
        &["npx", "@anthropic-ai/claude-code"],
        &["node", "/usr/lib/node_modules/@openai/codex/bin/codex.js"],
        &["opencode", "serve"],
        &["bash"],
        &["/bin/zsh"],
        &["sh", "-c", "a & b; c"],
        &["vim"],
        &["/usr/bin/code", "x"],
        &["nvim", "x"],
        &["node"],
        &["/usr/bin/node"],
        &["python3"],
        &["python", "-c", "print(1)"],
        &["node", "-e", "1"],
        &["node", "server.js"],
        &["node", "dist/index.js"],
        &["node", "${DIR}/dist/index.js"],
        &["python", "-m", "server"],
        &["python", "-m", "src.main"],
        &["uv", "run", "main.py"],
        &["npm", "run", "mcp"],
        &["npm", "--prefix", "/x", "run", "mcp"],
        &["npm", "start"],
        &["make", "-s", "serve"],
        &["bun", "run", "start"],
        &["bun", "run", "--cwd", "/", "start"],
        &["go", "run", "./cmd/server"],
        &["cargo", "run"],
        &["git"],
        &["ssh", "host", "acme-mcp-server"],
        &["kubectl", "exec", "pod", "--", "acme"],
        &["docker", "run", "-i", "alpine"],
        &["docker", "run", "-i", "node:20", "npx", "x"],
        &["docker", "compose", "up"],
        &["npx", "node@20", "x"],
        &["npx", "."],
        &["npx", "-y", "--some-token", "hunter2hunter2"],
        &["/usr/bin/google-chrome"],
        &["tmux"],
        &["mcp-proxy", "--port", "1"],
        &["npx", "-y", "supergateway", "--stdio", "x"],
        &["cmd", "/c", "npx", "x"],
        &["${TOOL}"],
        &["npx", "${TOOL}"],
        &["make"],
        &["pytest"],
        &["redis-server"],
        &["postgres"],
        &["ls"],
        &["/tmp/ghp_hunter2hunter2hunter2hunter2hunter2/x"],
    ];
    for command in rows {
        let found = home.derived(command);
        assert!(matches!(found, Derived::LeftOut(_)), "{command:?}: {}", keys(&found));
    }
}

#[test]
fn a_pattern_names_what_is_configured_and_every_line_that_is_shown() {
    let home = Home::new();
    let rows: &[&[&str]] = &[
        &["npx", "-y", "mongodb-mcp-server@latest"],
        &["npx", "-y", "@acme/billing-mcp@2", "x"],
        &["npx", "-y", "acme-billing", "mcp", "serve"],
        &["uvx", "--from", "acme-tools", "billing-rpc"],
        &["uvx", "acme-billing"],
        &["python3", "-m", "billing.rpc"],
        &["docker", "run", "-i", "acme/billing"],
        &["node", "/opt/acme/server.js"],
        &["/opt/acme/billing", "mcp"],
        &["bun", "run", "--cwd", "/opt/acme/tele", "start"],
    ];
    for command in rows {
        let Derived::Named { pattern, lines, .. } = home.derived(command) else {
            panic!("{command:?} is left out")
        };
        let alone = format!("{}\n", pattern.entry("it"));
        let file = home.write("own.toml", &alone);
        let settings = load(&Sources { explicit: Some(file), ..Sources::default() }).unwrap();
        assert!(!lines.is_empty(), "{command:?}");
        let line = command.join(" ");
        for line in lines.iter().map(|line| line.replace("...", "/home/u/x")).chain([line]) {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = settings.catalog.classify(&words).unwrap_or_else(|| panic!("{line:?} is nothing"));
            let pattern = settings.catalog.pattern(found.pattern.unwrap());
            assert_eq!((found.role, pattern.name.as_str()), (Role::Server, "it"), "{line:?}");
        }
        assert!(
            crate::config::warnings(&settings).iter().all(|warning| warning.text.contains("takes `")),
            "{command:?}"
        );
    }
}
