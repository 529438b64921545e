use super::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct ClientFile {
    client: String,
    system: String,
    path: String,
    text: String,
}

#[test]
fn every_client_of_the_table_is_in_the_catalog_and_has_a_source() {
    let (catalog, places) = (catalog(), crate::discover::places::shipped());
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

#[test]
fn each_clients_file_is_understood_where_it_documents_it() {
    let table: BTreeMap<String, Vec<ClientFile>> =
        toml::from_str(include_str!("clients.toml")).expect("a table");
    for ClientFile { client, system, path: file, text } in &table["file"] {
        let system = if system == "MacOs" { System::MacOs } else { System::Linux };
        let home = Home { system, ..Home::new() };
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
        assert_eq!(said, [(client.as_str(), "S", "package=acme-billing argument=".to_owned())], "{file}");
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
    assert_eq!(
        keys,
        "path=HERE/.config/Claude/Claude Extensions/ant.dir.acme/server/index.js subcommand= argument=--key"
    );
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
        r#"{"mcpServers":{"c":{"command":"${CLAUDE_PLUGIN_ROOT}/own/tool"}}}"#,
    );
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"d":{"command":"node","args":["${env:SECRET_PLACE}/deep-mcp/tool.js"]}}}"#,
    );
    let found = home.discover();
    let said: Vec<String> =
        found.servers.iter().map(|server| home.in_home(&keys(server.derived.as_ref().unwrap()))).collect();
    let expected = [
        "path=HERE/plugin/own/tool argument=",
        "script=deep-mcp/tool.js argument=",
        "path=HERE/work/build/index.js argument=",
        "path=HERE/x-tool argument=",
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
    home.write("elsewhere/config.toml", "[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"acme-billing\"]\n");
    home.write("cfg/opencode/opencode.json", r#"{"mcp":{"b":{"command":["npx","acme-billing"]}}}"#);
    home.write(".codex/config.toml", "[mcp_servers.not]\ncommand = \"npx\"\nargs = [\"acme-billing\"]\n");
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
