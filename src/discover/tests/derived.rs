use super::*;

#[test]
fn what_is_derived_is_the_invocation_not_the_text() {
    let home = Home::new();
    let rows: &[(&[&str], &str)] = &[
        // Known already
        (&["npx", "-y", "mongodb-mcp-server@latest"], "package=mongodb-mcp-server"),
        (&["npx", "-y", "@acme/billing-mcp", "whatever"], "package=@acme/billing-mcp"),
        (
            &["npx", "-y", "@modelcontextprotocol/server-acme", "/home/u"],
            "package=@modelcontextprotocol/server-acme",
        ),
        (&["uvx", "--from", "chroma-mcp==0.2.6", "chroma-mcp"], "package=chroma-mcp"),
        (&["docker", "run", "-ie", "K=hunter2", "docker.io/mcp/time"], "image=mcp/time"),
        (
            &[
                "docker",
                "container",
                "run",
                "-i",
                "--gpus",
                "all",
                "registry.example:5000/acme/billing-mcp:2",
            ],
            "image=registry.example:5000/acme/billing-mcp",
        ),
        (&["awslabs.acme-mcp-server"], "program=awslabs.acme-mcp-server"),
        (&["npx", "skeleton-mcp-server-tools"], "package=skeleton-mcp-server-tools"),
        (&["gopls", "mcp"], "program=gopls"),
        // Packages
        (&["npx", "-y", "@acme/billing@1.2", "serve"], "left out: it may have other jobs"),
        (
            &["npx", "-y", "@acme/billing", "--verbose"],
            "package=@acme/billing subcommand= argument=--verbose",
        ),
        (
            &["npx", "-y", "@acme/billing", "--stdio", "--db=x"],
            "package=@acme/billing subcommand= argument=--stdio",
        ),
        (&["npx", "-y", "@acme/files", "/home/u/docs"], "package=@acme/files subcommand=/**"),
        (
            &["npx", "-y", "@acme/agent", "/home/u/docs", "--mcp"],
            "package=@acme/agent subcommand=/** argument=--mcp",
        ),
        (&["npx", "-y", "acme", "mcp", "start", "--db", "x"], "package=acme subcommand=mcp start"),
        (&["npx", "--package=@acme/tools", "billing-mcp"], "package=@acme/tools program=billing-mcp"),
        (
            &["uvx", "--from", "git+https://x:token@git.example/acme/thing", "thing", "start-mcp-server"],
            "package=thing subcommand=start-mcp-server",
        ),
        (&["uvx", "--index-strategy", "unsafe-best-match", "acme-billing"], "package=acme-billing argument="),
        (&["pipx", "run", "acme-billing"], "package=acme-billing argument="),
        (&["bunx", "--registry", "https://r.example", "acme-billing"], "package=acme-billing argument="),
        (&["sh", "-c", "TOKEN=hunter2 exec npx -y acme-billing"], "package=acme-billing argument="),
        (&["K=hunter2", "npx", "-y", "acme-billing"], "package=acme-billing argument="),
        (&["K=hunter2 npx -y acme-billing"], "package=acme-billing argument="),
        (&["env", "-S", "K=hunter2 npx -y acme-billing"], "package=acme-billing argument="),
        (&["deno", "run", "-A", "npm:@acme/billing@2"], "package=@acme/billing argument="),
        (&["npx -y acme-billing"], "package=acme-billing argument="),
        // Files
        (&["env", "TOKEN=hunter2", "node", "/srv/acme/billing.js"], "path=/srv/acme/billing.js argument="),
        (&["node", "HERE/acme/server.js"], "path=HERE/acme/server.js argument="),
        (&["node", "~/acme/server.js", "/data"], "path=HERE/acme/server.js subcommand=/**"),
        (&["php", "HERE/app/artisan", "mcp:serve"], "path=HERE/app/artisan subcommand=mcp:serve"),
        (
            &["python", "HERE/app/manage.py", "stdio_server"],
            "path=HERE/app/manage.py subcommand=stdio_server",
        ),
        (&["${HOME}/app/billing", "mcp"], "path=HERE/app/billing subcommand=mcp"),
        (&["{env:HOME}/app/billing"], "path=HERE/app/billing argument="),
        (&["HERE/work/serve.py"], "path=HERE/work/serve.py argument="),
        (&["node", "/srv/[id]/{a}/server.js"], "path=/srv/[[]id[]]/[{]a[}]/server.js argument="),
        (
            &["uv", "--directory", "HERE/work/acme", "run", "server.py"],
            "path=HERE/work/acme/server.py argument=",
        ),
        (&["java", "-jar", "/srv/acme/billing.jar"], "path=/srv/acme/billing.jar argument="),
        (&["node", "${SOMEWHERE}/acme/dist/index.js"], "left out: a script without its folder"),
        (&["node", "./tools/billing.js"], "left out: a script without its folder"),
        // Modules, projects, programs
        (&["sh", "-c", "cd HERE/x && python3 -m billing.rpc"], "module=billing.rpc argument="),
        (&["python", "-m", "billing_mcp.cli", "serve"], "module=billing_mcp.cli subcommand=serve"),
        (
            &["bun", "run", "--cwd", "HERE/work/tele", "--silent", "start"],
            "directory=HERE/work/tele run_by=bun only=start",
        ),
        (&["bun", "run", "--cwd", "/opt/acme/", "serve"], "directory=/opt/acme run_by=bun only=serve"),
        (&["acme-billing", "--mcp"], "program=acme-billing subcommand= argument=--mcp"),
        (&["acme", "mcp", "serve"], "program=acme subcommand=mcp serve"),
        (&["docker", "run", "-i", "acme/toolbox", "mcp"], "image=acme/toolbox subcommand=mcp"),
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
    // As a shell would split them. Each of them alone, and with what people write behind it.
    let lines = [
        // Clients, hosts, browsers
        "claude",
        "/home/u/.local/bin/claude --resume",
        "npx @anthropic-ai/claude-code",
        "node /usr/lib/node_modules/@openai/codex/bin/codex.js",
        "opencode serve",
        "/usr/bin/google-chrome",
        "tmux",
        "mcp-proxy --port 1",
        "npx -y supergateway --stdio x",
        "deno run -A npm:@google/gemini-cli",
        // Shells
        "bash",
        "/bin/zsh",
        "sh -c 'a & b; c'",
        "sh -c 'echo $(x)'",
        "xonsh",
        "xonsh /home/u/backup.xsh",
        "tcsh",
        "nu",
        "elvish",
        "csh x",
        "busybox sh",
        // Editors
        "vim",
        "nvim x",
        "/usr/bin/code x",
        "gvim",
        "gedit",
        "kate",
        "subl",
        "helix",
        "emacsclient",
        "/opt/sublime_text/sublime_text x.md",
        // Interpreters, alone and with what they run
        "node",
        "/usr/bin/node",
        "node22",
        "node22 app.js",
        "/opt/n/node22 app.js",
        "node-20 x",
        "python3",
        "python3 -i",
        "python3.13t app.py",
        "python -c 'print(1)'",
        "node -e 1",
        "php8.3 artisan queue:work",
        "/home/u/app/php8.3 artisan mcp:serve",
        "perl5.36 x",
        "ruby3.2 x",
        "R -e x",
        "erl",
        "elixir x.exs",
        "mix mcp.server",
        "clojure -M:mcp",
        "racket x.rkt",
        "sbcl --script x",
        "ocaml",
        "octave x.m",
        "groovy x",
        "escript x",
        "kotlin x.jar",
        "scala-cli run x",
        "mono s.exe",
        "wine s.exe",
        "/nix/store/x/bin/.python3.12-wrapped x.py",
        "vite-node x.ts",
        "npx zx x.mjs",
        "npx vite-node x.ts",
        "npx -y tsx",
        "uvx python3.12 x.py",
        "luajit x",
        "gjs x",
        "ipython",
        // Scripts that may be anybody's, or that do other jobs
        "node server.js",
        "node dist/index.js",
        "node ${DIR}/dist/index.js",
        "node .",
        "./server.py",
        "./bin/shebang.py",
        "./backup",
        "a/b/x",
        "python -m server",
        "python -m src.main",
        "python -m flask run",
        "python -m venv x",
        "python -m '*_worker'",
        "uv run main.py",
        "python /srv/app/manage.py runworker",
        "php /srv/app/artisan queue:work",
        "symfony console x",
        "acme ai mcp",
        "acme --profile x mcp",
        "databricks labs mcp server",
        "wp mcp-adapter 7",
        "/srv/acme/tool build",
        "/srv/acme/tool -- npx x",
        // What starts other programs
        "npx",
        "npx -y",
        "uvx",
        "bunx",
        "pnpx",
        "sudo",
        "sudo -i",
        "doas",
        "nohup",
        "timeout",
        "time",
        "nice",
        "ionice",
        "setsid",
        "stdbuf",
        "runuser",
        "xvfb-run",
        "tini -- /home/u/job",
        "dumb-init x",
        "gosu u x",
        "su-exec u x",
        "chroot / x",
        "unshare x",
        "nsenter x",
        "flock x y",
        "proot x",
        "parallel x",
        "numactl x",
        "prlimit x",
        "dbus-run-session -- npx x",
        "sops exec-env x y",
        "vagrant ssh",
        "autossh h",
        "mosh h",
        "taskset -c 0",
        "npm run mcp",
        "npm --prefix /x run mcp",
        "npm start",
        "make -s serve",
        "bun run start",
        "bun run --cwd / start",
        "bun run --cwd /opt/acme dev",
        "go run ./cmd/server",
        "cargo run",
        "dart run bin/server.dart",
        "jbang jdbc@quarkiverse/quarkus-mcp-servers",
        "gradle -q mcpRun",
        "mvn exec:java",
        "bb x.clj",
        "cs launch x",
        "npx dotenvx run -- x",
        "dotnet run --project x",
        "docker-compose run x",
        "podman",
        "docker",
        // Images that hold a language
        "docker run -i alpine",
        "docker run -i node:20 npx x",
        "docker run -i docker.io/library/python:3 x",
        "docker compose up",
        "docker run -i 'ghcr.io/**'",
        // Ordinary programs
        "git",
        "ssh host acme-mcp-server",
        "kubectl exec pod -- acme",
        "make",
        "pytest",
        "redis-server",
        "postgres",
        "ls",
        "top",
        "ffmpeg",
        "restic backup",
        "nginx",
        "mpirun x",
        "ansible-playbook x",
        "vault",
        "libreoffice",
        "thunderbird",
        "gradle",
        "flutter",
        "celery",
        "jupyter",
        "mise",
        "direnv",
        "at",
        "acme-billing",
        "acme rpc stdio",
        "acme build",
        // Packages that are no package of the server's own
        "npx node@20 x",
        "npx .",
        "npx server",
        "uvx mcp",
        "npx -y https://x.example/a/b.tgz",
        "https://u:hunter2@h",
        "npx -p @acme/tools billing",
        "uvx --from mcp-server-git pytest",
        "npx -p task-master-ai task-master parse-prd",
        // Options that nobody knows
        "npx -y --some-token hunter2hunter2",
        "npx --some-thing hunter2 x-mcp",
        "uvx --some-thing hunter2 x-mcp",
        "bash -lc 'npx --token hunter2 acme-mcp'",
        "sh -c 'infisical run --tokens hunter2 -- npx -y acme-tool' x",
        "podman run --creds hunter2 img",
        "docker run --newflag hunter2 img",
        "deno run --foo hunter2 x/y.ts",
        "node --title2 hunter2 a/x.js",
        // Other jobs of the same program, and code
        "python3 /srv/agent.py --transport stdio",
        "npx -y @acme/runner run /x.yaml",
        "python3 /srv/agent.py run /home/u/mcp.yaml",
        "uvx dbt run /x.py",
        "npx -y @acme/billing --env prod migrate",
        "python3 -Ic 'import x; x.go(\"hunter2\")'",
        "perl -we 'hunter2'",
        "php -nr hunter2",
        "uv run python -uc hunter2",
        "python3 -m acme.cli train",
        "docker run -i acme/billing",
        "docker run -i acme/toolbox train",
        "/opt/emacs/bin/emacs -Q --script /x/mcp.el",
        "/opt/godot/godot --headless --script /x/mcp.gd",
        "/home/u/bin/ffmpeg",
        "/home/u/w/.venv/bin/celery worker",
        "npx -y acme --stdio --token x",
        "npx -y acme -p --hunter",
        "docker run -i registry.mcpherson.io/postgres:16",
        "npx --token2 mcp-server-hunter2 acme",
        "npx x-tool@npm:hunter2",
        "node --openssl-config hunter2/x.cnf",
        "php -S hunter2 -t x",
        "mcp-exec npx -y foo-x",
        "acme mcp hunter2-mcp",
        // Variables, Windows, addresses
        "${TOOL}",
        "npx ${TOOL}",
        "cmd /c npx x",
        "npx.cmd -y x-mcp",
        "'C:\\Program Files\\nodejs\\node.exe' x-mcp.js",
        "'/opt/My Apps/acme server'",
        "/tmp/ghp_hunter2hunter2hunter2hunter2hunter2/x",
    ];
    let rows: Vec<Vec<String>> = lines.iter().map(|line| shell_words::split(line).unwrap()).collect();
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
    let mut named = Vec::new();
    for command in rows {
        let found = home.derived(command);
        if !matches!(found, Derived::LeftOut(_)) {
            named.push(format!("{command:?}: {}", keys(&found)));
        }
        assert!(!format!("{found:?}").contains("hunter2"), "{command:?}: {found:?}");
    }
    assert!(named.is_empty(), "{named:#?}");
}

#[test]
fn a_pattern_names_what_is_configured_and_every_line_that_is_shown() {
    let home = Home::new();
    let rows: &[&[&str]] = &[
        &["npx", "-y", "mongodb-mcp-server@latest"],
        &["npx", "-y", "@acme/billing-mcp@2", "x"],
        &["npx", "-y", "acme-billing", "mcp", "serve"],
        &["uvx", "--from", "acme-tools", "billing-mcp"],
        &["npx", "-y", "@acme/billing", "--stdio"],
        &["uvx", "acme-billing"],
        &["uvx", "acme-billing", "/data"],
        &["python3", "-m", "billing.rpc"],
        &["docker", "run", "-i", "acme/billing-mcp"],
        &["node", "/srv/acme/server.js"],
        &["/srv/acme/billing", "mcp"],
        &["bun", "run", "--cwd", "/opt/acme/tele", "start"],
        &["deno", "run", "-A", "npm:acme-mcp"],
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
        for line in
            lines.iter().map(|line| line.replace("/...", "/home/u").replace("...", "/home/u/x")).chain([line])
        {
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

#[test]
fn npx_makes_three_processes_of_a_package_and_all_are_shown() {
    let home = Home::new();
    let lines = |command: &[&str]| match home.derived(command) {
        Derived::Named { lines, .. } => lines.join("; "),
        Derived::LeftOut(why) => why,
    };
    let rows: &[(&[&str], &str)] = &[
        (
            &["npx", "-y", "mongodb-mcp-server@latest"],
            "npm exec mongodb-mcp-server@latest; sh -c mongodb-mcp-server; node .../node_modules/.bin/mongodb-mcp-server",
        ),
        (
            &["uvx", "--from", "chroma-mcp==0.2.6", "chroma-mcp"],
            "uv tool uvx chroma-mcp==0.2.6; python .../bin/chroma-mcp",
        ),
        (&["npx", "-y", "acme-billing"], "npm exec acme-billing"),
        (&["npx", "-y", "acme-billing", "/data"], "npm exec acme-billing /..."),
        (&["acme", "mcp", "serve"], "acme mcp serve"),
        (&["gopls", "mcp"], "gopls mcp"),
        (&["codegraph", "serve", "--mcp"], "codegraph serve --mcp"),
        (&["docker", "run", "-i", "--rm", "mcp/time"], "docker run mcp/time"),
        (&["python3", "-m", "billing.rpc"], "python -m billing.rpc"),
        (&["node", "/srv/my tools/server.js"], "node '/srv/my tools/server.js'"),
    ];
    for (command, expected) in rows {
        assert_eq!(lines(command), *expected, "{command:?}");
    }
}
