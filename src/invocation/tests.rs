//! One row a shape, by the numbers of the public reports (P1-P27), and the false friends beside them.

use super::*;

fn of(line: &str) -> Invocation {
    Invocation::of_line(line).unwrap_or_else(|| panic!("nothing in {line:?}"))
}

/// line, kind, target, packages, commands, through
type Row = (
    &'static str,
    Kind,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

const ROWS: &[Row] = &[
    // P1
    (
        "npm exec @upstash/context7-mcp@latest",
        Kind::Package,
        "@upstash/context7-mcp@latest",
        &["@upstash/context7-mcp"],
        &[],
        &["npm exec"],
    ),
    (
        "npm exec fake-mcp --stdio --token=SECRET",
        Kind::Package,
        "fake-mcp",
        &["fake-mcp"],
        &[],
        &["npm exec"],
    ),
    (
        "npm exec @playwright/mcp@latest --browser firefox",
        Kind::Package,
        "@playwright/mcp@latest",
        &["@playwright/mcp"],
        &[],
        &["npm exec"],
    ),
    (
        "npx -y mongodb-mcp-server@latest",
        Kind::Package,
        "mongodb-mcp-server@latest",
        &["mongodb-mcp-server"],
        &[],
        &["npx"],
    ),
    (
        "npx --yes --package=@acme/tools acme-mcp --x",
        Kind::Package,
        "@acme/tools",
        &["@acme/tools"],
        &["acme-mcp"],
        &["npx"],
    ),
    ("npx -p @acme/tools acme-mcp", Kind::Package, "@acme/tools", &["@acme/tools"], &["acme-mcp"], &["npx"]),
    ("npm --prefix /x exec -- foo-mcp", Kind::Package, "foo-mcp", &["foo-mcp"], &[], &["npm exec"]),
    (
        "node /usr/lib/node_modules/npm/bin/npx-cli.js -y foo-mcp",
        Kind::Package,
        "foo-mcp",
        &["foo-mcp"],
        &[],
        &["npx"],
    ),
    (
        "npx -y github:acme/foo-mcp#main",
        Kind::Package,
        "github:acme/foo-mcp#main",
        &["foo-mcp"],
        &[],
        &["npx"],
    ),
    // P2
    ("sh -c fake-mcp", Kind::Native, "fake-mcp", &[], &["fake-mcp"], &["sh -c"]),
    ("sh -c 'fake-mcp' --stdio", Kind::Native, "fake-mcp", &[], &["fake-mcp"], &["sh -c"]),
    ("sh -c \"'fake-mcp' --stdio\"", Kind::Native, "fake-mcp", &[], &["fake-mcp"], &["sh -c"]),
    // P3, P4, P5
    (
        "node /home/u/.npm/_npx/9833c18b2d85bc59/node_modules/.bin/mysql-mcp-server",
        Kind::Script,
        "/home/u/.npm/_npx/9833c18b2d85bc59/node_modules/.bin/mysql-mcp-server",
        &[],
        &["mysql-mcp-server"],
        &[],
    ),
    (
        "node ./node_modules/.bin/../gitnexus/dist/cli/index.js mcp",
        Kind::Script,
        "node_modules/gitnexus/dist/cli/index.js",
        &["gitnexus"],
        &[],
        &[],
    ),
    (
        "node /usr/lib/node_modules/@modelcontextprotocol/server-github/dist/index.js",
        Kind::Script,
        "/usr/lib/node_modules/@modelcontextprotocol/server-github/dist/index.js",
        &["@modelcontextprotocol/server-github"],
        &[],
        &[],
    ),
    (
        "node --max-old-space-size=4096 -r ts-node/register /x/mcp-server.js",
        Kind::Script,
        "/x/mcp-server.js",
        &[],
        &[],
        &[],
    ),
    (
        "node /private/tmp/bunx-501-@delorenj/mcp-server-trello@latest/node_modules/.bin/mcp-server-trello",
        Kind::Script,
        "/private/tmp/bunx-501-@delorenj/mcp-server-trello@latest/node_modules/.bin/mcp-server-trello",
        &["@delorenj/mcp-server-trello"],
        &["mcp-server-trello"],
        &[],
    ),
    // P6, P7
    (
        "bun run --cwd /h/.claude/plugins/telegram/0.0.5 --shell=bun --silent start",
        Kind::Script,
        "start",
        &[],
        &["start"],
        &[],
    ),
    ("/h/.bun/bin/bun server.ts", Kind::Script, "server.ts", &[], &[], &[]),
    // P8, P9, P10
    (
        "uv tool uvx --python 3.13 --with onnxruntime>=1.20 --with protobuf<7 --from chroma-mcp==0.2.6 chroma-mcp --client-type persistent",
        Kind::Package,
        "chroma-mcp==0.2.6",
        &["chroma-mcp"],
        &["chroma-mcp"],
        &["uv tool uvx"],
    ),
    (
        "uvx mcp-server-git@latest --repository /r",
        Kind::Package,
        "mcp-server-git@latest",
        &["mcp-server-git"],
        &[],
        &["uvx"],
    ),
    (
        "uvx --from git+https://github.com/oraios/serena serena start-mcp-server",
        Kind::Package,
        "git+https://github.com/oraios/serena",
        &["serena"],
        &["serena"],
        &["uvx"],
    ),
    (
        "/h/uv/tools/x/bin/python /h/uv/tools/x/bin/conport-mcp --mode stdio",
        Kind::Script,
        "/h/uv/tools/x/bin/conport-mcp",
        &[],
        &["conport-mcp"],
        &[],
    ),
    ("uv run /srv/mcp-server server.py", Kind::Native, "/srv/mcp-server", &[], &["mcp-server"], &["uv run"]),
    ("uv --directory /srv/foo-mcp run server.py", Kind::Script, "server.py", &[], &[], &["uv run"]),
    ("uv run --directory /srv/foo-mcp -m foo_mcp", Kind::Module, "foo_mcp", &[], &[], &["uv run"]),
    // P11
    ("serena start-mcp-server --context claude-code", Kind::Native, "serena", &[], &["serena"], &[]),
    // P13, P14
    (
        "docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server:latest stdio",
        Kind::Image,
        "ghcr.io/github/github-mcp-server",
        &[],
        &[],
        &["docker run"],
    ),
    (
        "docker run -i --rm localhost:5000/mcp/time",
        Kind::Image,
        "localhost:5000/mcp/time",
        &[],
        &[],
        &["docker run"],
    ),
    ("docker mcp gateway run", Kind::Native, "docker", &[], &["docker"], &[]),
    ("docker exec -i box foo-mcp", Kind::Native, "foo-mcp", &[], &["foo-mcp"], &["docker exec"]),
    // P15, P17, P18
    (
        "npm exec mcp-remote https://mcp.example/sse",
        Kind::Package,
        "mcp-remote",
        &["mcp-remote"],
        &[],
        &["npm exec"],
    ),
    ("/opt/homebrew/bin/claude mcp serve", Kind::Native, "/opt/homebrew/bin/claude", &[], &["claude"], &[]),
    // P20, P22, P23, P25
    (
        "node /x/node_modules/chrome-devtools-mcp/build/src/telemetry/watchdog/main.js --parent-pid=7",
        Kind::Script,
        "/x/node_modules/chrome-devtools-mcp/build/src/telemetry/watchdog/main.js",
        &["chrome-devtools-mcp"],
        &[],
        &[],
    ),
    (
        "php /Applications/Herd.app/Contents/Resources/herd-mcp.phar",
        Kind::Script,
        "/Applications/Herd.app/Contents/Resources/herd-mcp.phar",
        &[],
        &[],
        &[],
    ),
    // P24, P26, P27
    (
        "/Applications/Proxyman.app/Contents/MacOS/mcp-server",
        Kind::Native,
        "/Applications/Proxyman.app/Contents/MacOS/mcp-server",
        &[],
        &["mcp-server"],
        &[],
    ),
    (
        "/Applications/Claude.app/Contents/Helpers/disclaimer --pgroup -- npx -y foo-mcp",
        Kind::Package,
        "foo-mcp",
        &["foo-mcp"],
        &[],
        &["disclaimer", "npx"],
    ),
    ("make -s crystaldba/postgres-mcp-pro", Kind::Native, "make", &[], &["make"], &[]),
    ("tsx mcp/servers/files.ts", Kind::Script, "mcp/servers/files.ts", &[], &[], &[]),
    // The seeds of this project
    (
        "sh -c 'cd /path && python3 -m mcp_server.server --transport stdio'",
        Kind::Module,
        "mcp_server.server",
        &[],
        &[],
        &["sh -c"],
    ),
    (
        "sh -c cd /path && python3 -m mcp_server.server --transport stdio",
        Kind::Module,
        "mcp_server.server",
        &[],
        &[],
        &["sh -c"],
    ),
    // Wrappers around wrappers
    (
        "env FOO=1 timeout 60 npx -y foo-mcp",
        Kind::Package,
        "foo-mcp",
        &["foo-mcp"],
        &[],
        &["env", "timeout", "npx"],
    ),
    ("sudo -u bob FOO=1 foo-mcp", Kind::Native, "foo-mcp", &[], &["foo-mcp"], &["sudo"]),
    (
        "bash -lc 'export A=1; source ~/.nvm/nvm.sh; exec npx -y foo-mcp 2>&1'",
        Kind::Package,
        "foo-mcp",
        &["foo-mcp"],
        &[],
        &["bash -c", "npx"],
    ),
    ("sh -c 'exec \"$@\"' sh foo-mcp --stdio", Kind::Native, "foo-mcp", &[], &["foo-mcp"], &["sh -c"]),
    (
        "direnv exec /x op run --env-file=.env -- foo-mcp",
        Kind::Native,
        "foo-mcp",
        &[],
        &["foo-mcp"],
        &["direnv exec", "op run"],
    ),
    ("pnpm --dir /x exec gitnexus mcp", Kind::Package, "gitnexus", &["gitnexus"], &[], &["pnpm exec"]),
    ("python3.12 -u -m foo_mcp", Kind::Module, "foo_mcp", &[], &[], &[]),
    (
        "/opt/homebrew/Frameworks/Python.framework/Versions/3.12/Resources/Python.app/Contents/MacOS/Python -m foo_mcp",
        Kind::Module,
        "foo_mcp",
        &[],
        &[],
        &[],
    ),
    ("java -Xmx1g -jar /x/acme-mcp.jar", Kind::Script, "/x/acme-mcp.jar", &[], &[], &[]),
];

#[test]
fn a_script_in_a_directory_that_the_line_names_has_that_project() {
    assert_eq!(
        of("uv --directory /home/u/weather-mcp run weather.py").project.as_deref(),
        Some("weather-mcp")
    );
    assert_eq!(of("npx tsx src/mcp-server.ts").target, "src/mcp-server.ts");
}

#[test]
fn every_shape_is_seen_through() {
    for (line, kind, target, packages, commands, through) in ROWS {
        let found = of(line);
        let got = (found.kind, found.target.as_str(), &found.packages, &found.commands, &found.through);
        assert_eq!(got.0, *kind, "kind of {line:?}: {found:?}");
        assert_eq!(got.1, *target, "target of {line:?}: {found:?}");
        assert_eq!(got.2, packages, "packages of {line:?}");
        assert_eq!(got.3, commands, "commands of {line:?}");
        assert_eq!(got.4, through, "wrappers of {line:?}");
    }
}

#[test]
fn a_shell_that_does_more_than_one_thing_runs_nothing_in_particular() {
    let lines = [
        "sh -c 'vite & npx -y foo-mcp; wait'",
        "sh -c 'foo-mcp | tee log'",
        "sh -c 'a-mcp && b-mcp'",
        "sh -c 'a-mcp || b-mcp'",
        "sh -c 'if true; then foo-mcp; fi'",
        "sh -c 'while :; do foo-mcp; done'",
        "sh -c '(foo-mcp)'",
        "bash -c 'foo-mcp <<EOF\nx\nEOF'",
        "sh -c '`which foo-mcp`'",
        "sh -c ''",
        "bash",
        "bash -i",
    ];
    for line in lines {
        let found = of(line);
        assert_eq!(found.kind, Kind::Shell, "{line:?} is {found:?}");
        assert!(found.packages.is_empty() && found.commands.is_empty(), "{line:?} is {found:?}");
    }
}

#[test]
fn a_directory_is_remembered() {
    assert_eq!(of("sh -c 'cd /srv/x/../y && python3 s.py'").directory.as_deref(), Some("/srv/y"));
    assert_eq!(of("bun run --cwd /p start").directory.as_deref(), Some("/p"));
    assert_eq!(of("uv --directory /p run s.py").directory.as_deref(), Some("/p"));
}

#[test]
fn a_name_counts_only_where_it_stands_for_what_is_run() {
    let lines = [
        "python3 /home/u/my-mcp-server/train.py",
        "vim mcp-server-notes/README.md",
        "grep -r mcp-server .",
        "tail -f mcp.log",
        "git clone https://github.com/acme/foo-mcp-server",
        "less /x/mcp-server.js",
        "node -e \"require('foo-mcp')\"",
        "python3 -c 'import foo_mcp'",
        "npm install foo-mcp",
        "npm view foo-mcp",
        "uv pip install foo-mcp",
        "pip install mcp-server-git",
        "docker build -t foo-mcp .",
        "docker logs foo-mcp",
        "ssh host foo-mcp",
    ];
    for line in lines {
        let found = of(line);
        let names = found.packages.iter().chain(&found.commands);
        let named: Vec<&String> = names.filter(|name| name.contains("mcp")).collect();
        assert!(named.is_empty(), "{line:?} names {named:?}");
        assert!(found.project.is_none(), "{line:?} has project {:?}", found.project);
    }
}

#[test]
fn titles_and_odd_vectors() {
    let of =
        |words: &[&str]| Invocation::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(of(&["npm exec fake-mcp --stdio"]).unwrap().packages, ["fake-mcp"]);
    assert_eq!(of(&["npm exec fake-mcp", "--stdio"]).unwrap().packages, ["fake-mcp"]);
    assert_eq!(
        of(&["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome --type=renderer"])
            .unwrap()
            .commands,
        ["Google Chrome"]
    );
    assert!(of(&[]).is_none());
    assert!(of(&[""]).is_some());
    assert_eq!(of(&["-bash"]).unwrap().kind, Kind::Shell);
    for hostile in [
        "'",
        "\"",
        "sh -c \"",
        "npx",
        "npx -p",
        "uvx --from",
        "docker run",
        "env",
        "timeout 5",
        "sh -c",
        "\u{1b}[2J",
    ] {
        let _ = Invocation::of_line(hostile);
        let _ = of(&[hostile]);
    }
    let deep = "env ".repeat(10_000) + "foo-mcp";
    assert!(
        Invocation::of_line(&deep).is_some(),
        "a line of ten thousand wrappers does not run the stack out"
    );
}

#[test]
fn network_and_daemon_forms() {
    let network = [
        "foo-mcp --port 3000",
        "foo-mcp --port=3000",
        "foo-mcp --http",
        "foo-mcp --transport sse",
        "foo-mcp --transport=streamable-http",
        "npx -y supergateway --stdio x --outputTransport streamableHttp",
        "node /x/node_modules/chrome-devtools-mcp/build/daemon/daemon.js",
        "node cliDaemon.js",
        "codegraph daemon",
    ];
    for line in network {
        assert!(of(line).network_form().is_some(), "{line}");
    }
    let stdio = [
        "foo-mcp",
        "foo-mcp --stdio",
        "foo-mcp --transport stdio",
        "conport-mcp --mode stdio",
        "foo-mcp --support x",
    ];
    for line in stdio {
        assert_eq!(of(line).network_form(), None, "{line}");
    }
}
