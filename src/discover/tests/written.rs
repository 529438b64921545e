use super::*;

fn written(found: &Discovery, home: &Home, earlier: Option<&str>) -> String {
    let copies = Some(found.copies()).filter(|copies| *copies > 1);
    found.written(home.folder.path(), copies, "2026-12-01", earlier).text
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
    let later = found.written(home.folder.path(), None, "2027-01-01", Some(&text)).text;
    assert_eq!(later, text, "nothing has changed");
    home.write(".claude.json", r#"{"mcpServers":{"new":{"command":"npx","args":["acme-billing"]}}}"#);
    home.write(".cursor/mcp.json", "{}");
    let later = home.discover().written(home.folder.path(), None, "2027-01-01", Some(&text)).text;
    assert!(later.contains("2027-01-01") && later.contains("acme-billing"), "{later}");
    let file = home.write("discovered.toml", &text);
    let settings = load(&Sources { explicit: Some(file), ..Sources::default() }).unwrap();
    assert_eq!(crate::config::warnings(&settings), []);
    let pattern = found.new_patterns().into_keys().next().unwrap().clone();
    assert!(pattern.is_in(&Entries::of(&text)) && !pattern.is_in(&Entries::of(&later)));
}

#[test]
fn what_a_person_changed_or_wrote_is_told_from_what_discover_wrote() {
    let home = Home::new();
    home.write(".claude.json", r#"{"mcpServers":{"a":{"command":"npx","args":["acme-billing"]}}}"#);
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
    let same = r#"{"command":"npx","args":["acme-billing"],"env":{"DB":"1"}}"#;
    let other = r#"{"command":"npx","args":["acme-billing"],"env":{"DB":"2"}}"#;
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
            "h":{"command":"env","args":["K=hunter2","acme-billing"]},
            "i":{"command":"node","args":["--unknown","hunter2","server.js"]},
            "j":{"command":"node","args":["hunter2"]},
            "k":{"command":"bash","args":["-c","hunter2 | x"]}
        }}"#,
    );
    let found = home.discover();
    assert_eq!(found.servers.len(), 11);
    let text = written(&found, &home, None);
    let shown = debug_of_what_is_shown(&found);
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

#[test]
fn a_file_that_is_broken_for_a_moment_takes_no_pattern_away() {
    let home = Home::new();
    home.write(
        ".claude.json",
        r#"{"mcpServers":{"a":{"command":"npx","args":["a-billing"]}},"projects":{"HERE/work":{}}}"#,
    );
    home.write("work/.mcp.json", r#"{"mcpServers":{"b":{"command":"npx","args":["b-billing"]}}}"#);
    home.write(".cursor/mcp.json", r#"{"mcpServers":{"c":{"command":"npx","args":["c-billing"]},"d":{"command":"npx","args":["d-billing"]}}}"#);
    let whole = written(&home.discover(), &home, None);
    assert_eq!(whole.matches("[[server]]").count(), 4, "{whole}");
    home.write(".claude.json", r#"{"mcpServers":{"a":"#);
    home.write(".cursor/mcp.json", r#"{"mcpServers":{"c":{"command":"npx","args":["c-billing"]}}}"#);
    let found = home.discover();
    let later = found.written(home.folder.path(), None, "2026-12-02", Some(&whole));
    // `b`'s project is named by the broken file only; `d` is no longer in a file that could be read.
    assert_eq!(later.kept, 2, "{}", later.text);
    for (name, there) in [("a-billing", true), ("b-billing", true), ("c-billing", true), ("d-billing", false)]
    {
        assert_eq!(later.text.contains(name), there, "{name} in {}", later.text);
    }
    let again = found.written(home.folder.path(), None, "2026-12-03", Some(&later.text));
    assert_eq!(again, later, "the same the next time");
    assert_eq!(Existing::of(&later.text), Existing::Ours);
    // What is gone is gone, whatever else is broken.
    home.write(".claude.json", "{}");
    home.write(".kiro/settings/mcp.json", "{");
    let text = home.discover().written(home.folder.path(), None, "2026-12-04", Some(&later.text)).text;
    assert!(!text.contains("a-billing") && !text.contains("kept"), "{text}");
}
