use super::*;
use crate::catalog::Role;
use crate::config::{Sources, load};
use crate::invocation::Invocation;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::LazyLock;
use tempfile::TempDir;

/// Compiled once: that is most of the time that these tests take.
fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> =
        LazyLock::new(|| load(&Sources::default()).expect("the shipped configuration is good").catalog);
    &CATALOG
}

/// A home folder with some files in it.
struct Home {
    folder: TempDir,
    system: System,
    variables: Vec<(&'static str, String)>,
}

impl Home {
    fn new() -> Home {
        Home { folder: TempDir::new().unwrap(), system: System::Linux, variables: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("HERE", &self.folder.path().display().to_string())).unwrap();
        path
    }

    fn person(&self) -> Person {
        let variables = self.variables.clone();
        Person {
            home: self.folder.path().to_owned(),
            uid: rustix::process::geteuid().as_raw(),
            variable: Box::new(move |name| {
                variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone())
            }),
            system: self.system,
        }
    }

    fn discover(&self) -> Discovery {
        discover(&self.person(), catalog())
    }

    /// What is said of one command, as Claude Code writes it down.
    fn derived(&self, command: &[&str]) -> Derived {
        let (program, arguments) = command.split_first().unwrap();
        let entry = serde_json::json!({ "mcpServers": { "it": { "command": program, "args": arguments } } });
        self.write(".claude.json", &entry.to_string());
        let found = self.discover();
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        found.servers[0].derived.clone().expect("not remote")
    }

    fn in_home(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "HERE")
    }
}

fn keys(derived: &Derived) -> String {
    match derived {
        Derived::Named { pattern, .. } => {
            pattern.keys.iter().map(|(key, word)| format!("{key}={word}")).collect::<Vec<_>>().join(" ")
        }
        Derived::LeftOut(why) => format!("left out: {why}"),
    }
}

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

#[test]
fn every_client_of_the_table_is_in_the_catalog_and_has_a_source() {
    let (catalog, places) = (catalog(), places::shipped());
    // Extensions of an editor have no program of their own.
    for place in &places {
        let known = catalog.find(&place.client, Role::Client).is_some() || place.client == "roo";
        assert!(known, "{} is no client of the catalog", place.client);
        assert!(place.source.len() > 10, "{} has no source", place.client);
        if let Some(kind) = &place.within {
            let named =
                places.iter().filter_map(|place| place.names.as_ref()).any(|names| names.kind == *kind);
            assert!(named, "nothing names a {kind}");
        }
        assert!(place.names.is_some() || !place.servers.is_empty(), "{} says nothing", place.client);
    }
    let clients: BTreeSet<&str> = places.iter().map(|place| place.client.as_str()).collect();
    assert!(clients.len() >= 20, "{clients:?}");
}

/// One file of every client as it documents it: where, what, and the servers in it.
const FILES: &[(System, &str, &str, &str)] = &[
    (
        System::Linux,
        ".claude.json",
        r#"{"mcpServers":{"S":{"type":"stdio","command":"npx","args":["-y","acme-billing"],"env":{}}}}"#,
        "claude",
    ),
    (
        System::Linux,
        ".claude.json",
        r#"{"projects":{"HERE/work":{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}}}"#,
        "claude",
    ),
    (
        System::Linux,
        "work/.mcp.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "claude",
    ),
    (System::Linux, "plugin/.mcp.json", r#"{"S":{"command":"npx","args":["-y","acme-billing"]}}"#, "claude"),
    (
        System::Linux,
        "plugin/.claude-plugin/plugin.json",
        r#"{"name":"p","mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "claude",
    ),
    (
        System::Linux,
        ".config/Claude/claude_desktop_config.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "claude-desktop",
    ),
    (
        System::MacOs,
        "Library/Application Support/Claude/claude_desktop_config.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "claude-desktop",
    ),
    (
        System::Linux,
        ".codex/config.toml",
        "[mcp_servers.S]\ncommand = \"npx\"\nargs = [\"-y\", \"acme-billing\"]\n",
        "codex",
    ),
    (
        System::Linux,
        "work/.codex/config.toml",
        "[mcp_servers.S]\ncommand = \"npx\"\nargs = [\"-y\", \"acme-billing\"]\n",
        "codex",
    ),
    (
        System::Linux,
        ".config/opencode/opencode.json",
        r#"{"mcp":{"S":{"type":"local","command":["npx","-y","acme-billing"],"environment":{}}}}"#,
        "opencode",
    ),
    (
        System::Linux,
        ".config/opencode/opencode.jsonc",
        "{ // global\n \"mcp\": {\"servers\": {\"S\": {\"type\":\"local\",\"command\":[\"npx\",\"-y\",\"acme-billing\"],},},},}",
        "opencode",
    ),
    (
        System::Linux,
        "work/opencode.json",
        r#"{"mcp":{"S":{"type":"local","command":["npx","-y","acme-billing"]}}}"#,
        "opencode",
    ),
    (
        System::Linux,
        ".zcode/cli/config.json",
        r#"{"mcp":{"servers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}}"#,
        "zcode",
    ),
    (
        System::Linux,
        ".config/mimocode/mimocode.json",
        r#"{"mcp":{"S":{"type":"local","command":["npx","-y","acme-billing"]}}}"#,
        "mimocode",
    ),
    (
        System::Linux,
        "work/mimocode.json",
        r#"{"mcp":{"S":{"type":"local","command":["npx","-y","acme-billing"]}}}"#,
        "mimocode",
    ),
    (
        System::Linux,
        ".cursor/mcp.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "cursor",
    ),
    (
        System::Linux,
        "work/.cursor/mcp.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "cursor",
    ),
    (
        System::Linux,
        ".config/Code/User/mcp.json",
        r#"{"inputs":[],"servers":{"S":{"type":"stdio","command":"npx","args":["-y","acme-billing"]}}}"#,
        "vscode",
    ),
    (
        System::MacOs,
        "Library/Application Support/Code/User/mcp.json",
        r#"{"servers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "vscode",
    ),
    (
        System::Linux,
        ".config/Code/User/settings.json",
        "{\n // mine\n \"mcp\": {\"servers\": {\"S\": {\"command\":\"npx\",\"args\":[\"-y\",\"acme-billing\",],},},},\n}",
        "vscode",
    ),
    (
        System::Linux,
        "work/.vscode/mcp.json",
        r#"{"servers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "vscode",
    ),
    (
        System::Linux,
        ".codeium/windsurf/mcp_config.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "windsurf",
    ),
    (
        System::Linux,
        ".config/zed/settings.json",
        r#"{"context_servers":{"S":{"source":"custom","command":"npx","args":["-y","acme-billing"]}}}"#,
        "zed",
    ),
    (
        System::Linux,
        ".config/zed/settings.json",
        "{\"context_servers\":{\"S\":{\"command\":{\"path\":\"npx\",\"args\":[\"-y\",\"acme-billing\"]}}}} // old",
        "zed",
    ),
    (
        System::Linux,
        ".gemini/settings.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"],"trust":true}}}"#,
        "gemini",
    ),
    (
        System::Linux,
        ".gemini/extensions/x/gemini-extension.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "gemini",
    ),
    (
        System::Linux,
        ".qwen/settings.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "qwen",
    ),
    (
        System::Linux,
        ".config/goose/config.yaml",
        "extensions:\n  S:\n    type: stdio\n    cmd: npx\n    args: [-y, acme-billing]\n    envs: {}\n    enabled: true\n",
        "goose",
    ),
    (
        System::Linux,
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "cline",
    ),
    (
        System::MacOs,
        "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "roo",
    ),
    (
        System::Linux,
        ".continue/config.yaml",
        "mcpServers:\n  - name: S\n    command: npx\n    args:\n      - -y\n      - acme-billing\n  - uses: acme/hub\n",
        "continue",
    ),
    (
        System::Linux,
        ".continue/config.json",
        r#"{"experimental":{"modelContextProtocolServers":[{"name":"S","transport":{"type":"stdio","command":"npx","args":["-y","acme-billing"]}}]}}"#,
        "continue",
    ),
    (
        System::Linux,
        ".kiro/settings/mcp.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "kiro",
    ),
    (
        System::Linux,
        ".copilot/mcp-config.json",
        r#"{"mcpServers":{"S":{"type":"local","command":"npx","args":["-y","acme-billing"],"tools":["*"]}}}"#,
        "copilot",
    ),
    (
        System::Linux,
        ".lmstudio/mcp.json",
        r#"{"mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "lm-studio",
    ),
    (
        System::Linux,
        ".config/crush/crush.json",
        r#"{"mcp":{"S":{"type":"stdio","command":"npx","args":["-y","acme-billing"]}}}"#,
        "crush",
    ),
    (
        System::Linux,
        ".config/amp/settings.json",
        r#"{"amp.mcpServers":{"S":{"command":"npx","args":["-y","acme-billing"]}}}"#,
        "amp",
    ),
];

#[test]
fn each_clients_file_is_understood_where_it_documents_it() {
    for (system, file, text, client) in FILES {
        let home = Home { system: *system, ..Home::new() };
        home.write("work/.keep", "");
        home.write(".codex/config.toml", "[projects.\"HERE/work\"]\ntrust_level = \"trusted\"\n");
        home.write(
            ".claude/plugins/installed_plugins.json",
            r#"{"version":2,"plugins":{"p@m":[{"scope":"user","installPath":"HERE/plugin"}]}}"#,
        );
        home.write(file, text);
        let found = home.discover();
        assert!(found.warnings.is_empty(), "{file}: {:?}", found.warnings);
        let said: Vec<(&str, &str, String)> = (found.servers.iter())
            .map(|server| {
                (
                    server.client.as_str(),
                    server.name.as_str(),
                    server.derived.as_ref().map(keys).unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(said, [(*client, "S", "package=acme-billing".to_owned())], "{file}");
    }
}

#[test]
fn a_desktop_extension_is_found_in_its_own_folder() {
    let home = Home::new();
    home.write(
        ".config/Claude/Claude Extensions/ant.dir.acme/manifest.json",
        r#"{"name":"acme","server":{"type":"node","entry_point":"server/index.js","mcp_config":{"command":"node","args":["${__dirname}/server/index.js","--key=${user_config.key}"]}}}"#,
    );
    let found = home.discover();
    assert_eq!(found.servers.len(), 1);
    let keys = home.in_home(&keys(found.servers[0].derived.as_ref().unwrap()));
    assert_eq!(keys, "path=HERE/.config/Claude/Claude Extensions/ant.dir.acme/server/index.js");
    assert_eq!(found.servers[0].name, "ant.dir.acme");
}

#[test]
fn variables_that_say_where_are_filled_in_and_no_others() {
    let home = Home::new();
    home.write(".codex/config.toml", "[projects.\"HERE/work\"]\n");
    home.write("work/.vscode/mcp.json", r#"{"servers":{"a":{"command":"node","args":["${workspaceFolder}/build/index.js"]},"b":{"command":"${env:HOME}/x-tool"}}}"#);
    home.write(
        ".claude/plugins/installed_plugins.json",
        r#"{"plugins":{"p@m":[{"installPath":"HERE/plugin"}]}}"#,
    );
    home.write(
        "plugin/.claude-plugin/plugin.json",
        r#"{"mcpServers":{"c":{"command":"${CLAUDE_PLUGIN_ROOT}/bin/tool"}}}"#,
    );
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"d":{"command":"node","args":["${env:SECRET_PLACE}/deep/tool.js"]}}}"#,
    );
    let found = home.discover();
    let said: Vec<String> =
        found.servers.iter().map(|server| home.in_home(&keys(server.derived.as_ref().unwrap()))).collect();
    let expected = [
        "path=HERE/plugin/bin/tool",
        "script=deep/tool.js",
        "path=HERE/work/build/index.js",
        "path=HERE/x-tool",
    ];
    assert_eq!(said, expected);
}

#[test]
fn the_environment_moves_the_files() {
    let mut home = Home::new();
    home.variables = vec![
        ("CODEX_HOME", home.path("elsewhere").display().to_string()),
        ("XDG_CONFIG_HOME", home.path("cfg").display().to_string()),
    ];
    home.write("elsewhere/config.toml", "[mcp_servers.a]\ncommand = \"acme-billing\"\n");
    home.write("cfg/opencode/opencode.json", r#"{"mcp":{"b":{"command":["acme-billing"]}}}"#);
    home.write(".codex/config.toml", "[mcp_servers.not]\ncommand = \"acme-billing\"\n");
    let names: Vec<String> = home.discover().servers.into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn remote_servers_are_listed_and_disabled_ones_marked() {
    let home = Home::new();
    home.write(
        ".gemini/settings.json",
        r#"{"mcpServers":{"a":{"httpUrl":"https://x/SECRET"},"b":{"url":"https://x"},"c":{"command":"npx","args":["acme-billing"],"disabled":true}}}"#,
    );
    home.write(".codeium/windsurf/mcp_config.json", r#"{"mcpServers":{"d":{"serverUrl":"https://x"}}}"#);
    home.write(".config/goose/config.yaml", "extensions:\n  e: {type: streamable_http, uri: 'https://x'}\n  f: {type: builtin, name: developer}\n");
    let found = home.discover();
    let said: Vec<(&str, bool, bool)> = found
        .servers
        .iter()
        .map(|server| (server.name.as_str(), server.derived.is_none(), server.disabled))
        .collect();
    assert_eq!(
        said,
        [("a", true, false), ("b", true, false), ("c", false, true), ("e", true, false), ("d", true, false)]
    );
}

#[test]
fn a_broken_file_is_one_warning_and_no_pattern_and_none_of_its_text_is_told() {
    let home = Home::new();
    let broken = [
        (
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"npx\", \"args\": [\"hunter2\" \"x\"]}}}",
        ),
        (".codex/config.toml", "[mcp_servers.a]\ncommand = \"npx\"\ntoken = hunter2\n"),
        (".config/goose/config.yaml", "extensions:\n  a: {cmd: npx, token: hunter2\n b: [\n"),
        (".kiro/settings/mcp.json", "hunter2"),
        (".gemini/settings.json", "{\"mcpServers\": {}} hunter2"),
    ];
    for (file, text) in broken {
        home.write(file, text);
    }
    home.write(".claude.json", r#"{"mcpServers":{"good":{"command":"acme-billing"}}}"#);
    let found = home.discover();
    assert_eq!(found.servers.len(), 1, "{:?}", found.servers);
    assert_eq!(found.warnings.len(), broken.len(), "{:?}", found.warnings);
    for (file, problem) in &found.warnings {
        assert!(!problem.contains("hunter2"), "{}: {problem}", file.display());
        assert!(problem.contains("is no "), "{}: {problem}", file.display());
    }
}

#[test]
fn files_that_are_no_plain_file_of_ones_own_below_the_home_are_refused() {
    let home = Home::new();
    let outside = TempDir::new().unwrap();
    let server = r#"{"mcpServers":{"a":{"command":"acme-billing"}}}"#;
    fs::write(outside.path().join("mcp.json"), server).unwrap();
    let refused = |what: &str, word: &str| {
        let found = home.discover();
        assert!(found.servers.is_empty(), "{what}: {:?}", found.servers);
        assert!(
            found.warnings.iter().any(|(_, problem)| problem.contains(word)),
            "{what}: {:?}",
            found.warnings
        );
    };
    let path = home.write(".cursor/mcp.json", server);
    fs::remove_file(&path).unwrap();
    symlink(outside.path().join("mcp.json"), &path).unwrap();
    refused("a link out of the home", "leads out of your home");

    fs::remove_dir_all(home.path(".cursor")).unwrap();
    symlink(outside.path(), home.path(".cursor")).unwrap();
    refused("a folder that is a link out of the home", "leads out of your home");
    fs::remove_file(home.path(".cursor")).unwrap();

    let path = home.write(".cursor/mcp.json", server);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    refused("a file that everybody may write", "everybody may write");

    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    refused("a FIFO, without waiting for it", "no regular file");

    fs::remove_file(&path).unwrap();
    fs::File::create(&path).unwrap().set_len(files::LARGEST + 1).unwrap();
    refused("a file that is too large", "larger than");

    fs::write(&path, b"{\"mcpServers\": \"\xff\"}").unwrap();
    refused("what is no text", "no text");

    if rustix::process::geteuid().is_root() {
        fs::write(&path, server).unwrap();
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        refused("another user's file", "belongs to another user");
    }
}

#[test]
fn links_within_the_home_are_followed_and_projects_that_lead_out_of_it_are_not() {
    let home = Home::new();
    home.write("dotfiles/mcp.json", r#"{"mcpServers":{"a":{"command":"acme-billing"}}}"#);
    fs::create_dir_all(home.path(".cursor")).unwrap();
    symlink(home.path("dotfiles/mcp.json"), home.path(".cursor/mcp.json")).unwrap();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join(".mcp.json"), r#"{"mcpServers":{"b":{"command":"acme-other"}}}"#).unwrap();
    symlink(outside.path(), home.path("work")).unwrap();
    home.write(".codex/config.toml", "[projects.\"HERE/work\"]\n[projects.\"/nonexistent/x\"]\n[projects.\"relative\"]\n[projects.\"/\"]\n");
    let found = home.discover();
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["a"]);
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
    // One that is named where it really is is the person's own project.
    home.write(".codex/config.toml", &format!("[projects.\"{}\"]\n", outside.path().display()));
    let names: Vec<String> = home.discover().servers.into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn files_that_are_made_to_do_harm_are_warnings() {
    let home = Home::new();
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    home.write(".cursor/mcp.json", &deep("[", "]"));
    home.write(".gemini/settings.json", &deep("{\"a\":", "}"));
    home.write(".codex/config.toml", &format!("a = {}", deep("[", "]")));
    home.write(".config/goose/config.yaml", &deep("[", "]"));
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for at in 1..12 {
        let inner = vec![format!("*a{}", at - 1); 9].join(", ");
        laughs.push_str(&format!("a{at}: &a{at} [{inner}]\n"));
    }
    home.write(".continue/config.yaml", &laughs);
    let many: Vec<String> =
        (0..2000).map(|at| format!("\"s{at}\":{{\"command\":\"acme-billing\"}}")).collect();
    home.write(".kiro/settings/mcp.json", &format!("{{\"mcpServers\":{{{}}}}}", many.join(",")));
    let found = home.discover();
    assert!(found.servers.is_empty());
    assert_eq!(found.warnings.len(), 6, "{:?}", found.warnings);
}

#[test]
fn odd_entries_are_passed_over() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"a":null,"b":[],"c":{"command":7},"d":{"command":""},"e":{"command":[]},"f":{},"g":{"command":"acme-billing","args":"x"},"":{"command":"acme-billing"}}}"#,
    );
    home.write(".claude.json", r#"{"mcpServers":[],"projects":[1]}"#);
    home.write(".gemini/settings.json", "null");
    home.write(".qwen/settings.json", "");
    let found = home.discover();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["g", "unnamed"]);
}

fn written(found: &Discovery, home: &Home, earlier: Option<&str>) -> String {
    let copies = Some(found.copies()).filter(|copies| *copies > 1);
    written_text(found, home.folder.path(), copies, "2026-12-01", earlier)
}

#[test]
fn the_file_says_whence_and_when_and_is_the_same_the_next_time() {
    let home = Home::new();
    home.write(".claude.json", r#"{"mcpServers":{"acme":{"command":"node","args":["HERE/acme/server.js"]},"c7":{"command":"npx","args":["@upstash/context7-mcp"]}}}"#);
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"other name":{"command":"node","args":["HERE/acme/server.js"]}}}"#,
    );
    let found = home.discover();
    let text = written(&found, &home, None);
    for part in [
        "claude: acme in ~/.claude.json",
        "cursor: other name in ~/.cursor/mcp.json",
        "2026-12-01",
        "name = \"acme\"",
        "# claude: c7 in ~/.claude.json (\"context7\")",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert_eq!(text.matches("[[server]]").count(), 1, "{text}");
    assert_eq!(Existing::of(&text), Existing::Ours);
    let later = written_text(&found, home.folder.path(), None, "2027-01-01", Some(&text));
    assert_eq!(later, text, "nothing has changed");
    home.write(".claude.json", r#"{"mcpServers":{"new":{"command":"acme-billing"}}}"#);
    home.write(".cursor/mcp.json", "{}");
    let later = written_text(&home.discover(), home.folder.path(), None, "2027-01-01", Some(&text));
    assert!(later.contains("2027-01-01") && later.contains("acme-billing"), "{later}");
    let file = home.write("discovered.toml", &text);
    let settings = load(&Sources { explicit: Some(file), ..Sources::default() }).unwrap();
    assert_eq!(crate::config::warnings(&settings), []);
    let pattern = found.new_patterns().into_keys().next().unwrap().clone();
    assert!(pattern.is_in(&text) && !pattern.is_in(&later));
}

#[test]
fn what_a_person_changed_or_wrote_is_told_from_what_discover_wrote() {
    let home = Home::new();
    home.write(".claude.json", r#"{"mcpServers":{"a":{"command":"acme-billing"}}}"#);
    let text = written(&home.discover(), &home, None);
    assert_eq!(Existing::of(&text.replace("acme-billing", "acme-other")), Existing::Changed);
    assert_eq!(
        Existing::of(&format!("{text}\n[[server]]\nname = \"mine\"\nprogram = \"x\"\n")),
        Existing::Changed
    );
    assert_eq!(Existing::of("[[server]]\nname = \"mine\"\nprogram = \"x\"\n"), Existing::Foreign);
    assert_eq!(Existing::of(""), Existing::Foreign);
}

#[test]
fn copies_are_what_one_client_starts_side_by_side() {
    let home = Home::new();
    let same = r#"{"command":"acme-billing","env":{"DB":"1"}}"#;
    let other = r#"{"command":"acme-billing","env":{"DB":"2"}}"#;
    home.write(".claude.json", &format!("{{\"mcpServers\":{{\"a\":{same},\"b\":{other}}}}}"));
    assert_eq!(home.discover().copies(), 1, "another database is another server");
    home.write(
        ".claude.json",
        &format!("{{\"mcpServers\":{{\"a\":{same},\"b\":{same}}},\"projects\":{{\"/p\":{{\"mcpServers\":{{\"c\":{same}}}}},\"/q\":{{\"mcpServers\":{{\"d\":{same}}}}}}}}}"),
    );
    home.write(".cursor/mcp.json", &format!("{{\"mcpServers\":{{\"x\":{same}}}}}"));
    assert_eq!(home.discover().copies(), 3, "two for all projects and one for one of them");
    let text = written(&home.discover(), &home, None);
    assert!(text.contains("[live]\ncopies = 3\n"), "{text}");
    let settings =
        load(&Sources { explicit: Some(home.write("d.toml", &text)), ..Sources::default() }).unwrap();
    assert_eq!(settings.policy.live.copies, 3);
}

/// Words that stand for secrets, everywhere a configuration may have one.
#[test]
fn no_secret_leaves_the_room() {
    let home = Home::new();
    home.write(
        ".claude.json",
        r#"{"mcpServers":{
            "a":{"command":"npx","args":["-y","acme-billing","hunter2","--key","hunter2","--key=hunter2","postgres://u:hunter2@h/d"],"env":{"K":"hunter2"}},
            "b":{"type":"http","url":"https://hunter2.example/hunter2?key=hunter2","headers":{"Authorization":"Bearer hunter2"}},
            "c":{"command":"docker","args":["run","-i","-e","K=hunter2","--env-file","hunter2","acme/billing","hunter2"]},
            "d":{"command":"sh","args":["-c","K=hunter2 npx -y acme-sh hunter2 && echo hunter2"]},
            "e":{"command":"uvx","args":["--index","https://hunter2@x/","--from","git+https://hunter2:hunter2@x/y/acme-git.git@hunter2","acme-git"]},
            "f":{"command":"npx","args":["--unknown-token","hunter2","acme-f"]},
            "g":{"command":"node","args":["server.js","hunter2"]},
            "h":{"command":"env","args":["K=hunter2","acme-billing"]}
        }}"#,
    );
    let found = home.discover();
    assert_eq!(found.servers.len(), 8);
    let text = written(&found, &home, None);
    let shown = crate::discover::tests::debug_of_what_is_shown(&found);
    for said in [text, shown] {
        assert!(!said.contains("hunter2"), "{said}");
    }
}

fn debug_of_what_is_shown(found: &Discovery) -> String {
    found
        .servers
        .iter()
        .map(|server| format!("{} {:?} {:?}\n", server.name, server.file, server.derived))
        .collect()
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = String> {
        let known: Vec<&'static str> = vec![
            "npx",
            "-y",
            "uvx",
            "--from",
            "uv",
            "run",
            "node",
            "python3",
            "-m",
            "docker",
            "-i",
            "sh",
            "-c",
            "bun",
            "--cwd",
            "env",
            "A=1",
            "--",
            "server.js",
            "dist/index.js",
            "/opt/acme/x.js",
            "acme-billing",
            "@acme/billing",
            "claude",
            "vim",
            "mcp",
            "serve",
            "bash",
            "git",
            "make",
            "pytest",
            "code",
            "ssh",
            "mcp/time",
            "$X",
            "${Y}/z.js",
            "-e",
            "start",
            "npm",
            "exec",
            "exec npx -y acme",
            "tmux",
            "python",
            "~/x",
        ];
        prop_oneof![4 => proptest::sample::select(known).prop_map(str::to_owned), 1 => "[ -~]{0,12}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever stands in a configuration: the pattern that comes of it names no ordinary line, no client and no host,
        /// can be loaded, and has no word of the arguments in it.
        #[test]
        fn a_configuration_makes_nothing_else_a_server(words in proptest::collection::vec(word(), 1..7)) {
            thread_local!(static GUARD: Guard = Guard::new());
            let mut words = words;
            words.push("hunter2".to_owned());
            GUARD.with(|guard| {
                let is_argument = Invocation::of(&words).is_some_and(|it| it.arguments.last() == words.last());
                let Derived::Named { pattern, known: None, lines } = pattern::derive("it", &words, catalog(), guard) else { return Ok(()) };
                let entry = pattern.entry("it");
                prop_assert!(!is_argument || !entry.contains("hunter2"), "{words:?}: {entry}");
                prop_assert!(!is_argument || lines.iter().all(|line| !line.contains("hunter2")), "{words:?}: {lines:?}");
                let body = entry.replacen("[[server]]\n", "", 1);
                let text: crate::catalog::PatternText = toml::from_str(&body).expect("TOML");
                let alone = Catalog::compile([(Role::Server, true, text)]).expect("a good pattern");
                let ordinary = crate::config::ORDINARY.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
                let others = crate::config::shipped();
                let others = others.iter().filter(|(role, _)| *role != Role::Server).flat_map(|(_, text)| text.examples.as_slice());
                for line in ordinary.chain(others.map(String::as_str)) {
                    let words = shell_words::split(line).unwrap_or_default();
                    let named = Invocation::of_line(line).is_some_and(|line| !alone.matching(&line, &words).is_empty());
                    prop_assert!(!named, "{entry} names {line:?}");
                }
                Ok(())
            })?;
        }
    }
}
