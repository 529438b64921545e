use super::*;

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
    home.write(".claude.json", r#"{"mcpServers":{"good":{"command":"npx","args":["acme-billing"]}}}"#);
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
    let server = r#"{"mcpServers":{"a":{"command":"npx","args":["acme-billing"]}}}"#;
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
    fs::File::create(&path).unwrap().set_len(crate::discover::files::LARGEST + 1).unwrap();
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
    home.write("dotfiles/mcp.json", r#"{"mcpServers":{"a":{"command":"npx","args":["acme-billing"]}}}"#);
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
    let many: Vec<String> = (0..2000)
        .map(|at| format!("\"s{at}\":{{\"command\":\"npx\",\"args\":[\"acme-billing\"]}}"))
        .collect();
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
        r#"{"mcpServers":{"a":null,"b":[],"c":{"command":7},"d":{"command":""},"e":{"command":[]},"f":{},"g":{"command":"npx","args":"x"},"":{"command":"npx","args":["acme-billing"]}}}"#,
    );
    home.write(".claude.json", r#"{"mcpServers":[],"projects":[1]}"#);
    home.write(".gemini/settings.json", "null");
    home.write(".qwen/settings.json", "");
    let found = home.discover();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["c", "d", "e", "g", "unnamed"]);
    let left_out = |server: &Server| matches!(server.derived, Some(Derived::LeftOut(_)));
    assert!(found.servers.iter().take(4).all(left_out), "{:?}", found.servers);
}
