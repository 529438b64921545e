//! Servers that only the clients' own files name.

use crate::stage::{Stage, actor, client, on_stage, parse, result};
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;

const USER: u32 = 4001;

fn as_user(stage: &Stage, arguments: &[&str]) -> std::process::Output {
    stage.command(arguments).env("HOME", stage.home()).uid(USER).gid(USER).output().expect("orphand runs")
}

fn write(stage: &Stage, name: &str, text: &str) {
    let path = stage.home().join(name);
    fs::write(&path, text.replace("HOME", &stage.home().display().to_string())).expect("written");
    chown(&path, Some(USER), Some(USER)).expect("given away");
}

fn people_below(stage: &Stage, who: &str) -> crate::stage::Actor {
    let line = |file: &str| format!("node {}", stage.home().join(file).display());
    let member = |name: &str, line: &str| actor(&format!("{who}-{name}"), line).user(USER);
    client(who)
        .user(USER)
        .child(member("acme", &line("acme/server.js")))
        .child(member("tool", "python3 -m acme.billing --token hunter2"))
        .child(member("other", &line("other/server.js")))
        .child(member("agent", "our-agent --mcp-config x"))
}

#[test]
fn what_a_clients_file_names_is_known_from_then_on_and_nothing_else_is() {
    on_stage("discovered::what_a_clients_file_names_is_known_from_then_on_and_nothing_else_is", |stage| {
        fs::create_dir(stage.home()).expect("a home");
        chown(stage.home(), Some(USER), Some(USER)).expect("given away");
        write(
            stage,
            ".claude.json",
            r#"{"mcpServers":{"acme":{"command":"node","args":["HOME/acme/server.js"]},
                "tool":{"command":"python3","args":["-m","acme.billing","--token","hunter2"]},"agent":{"command":"claude"}}}"#,
        );
        stage.enter(people_below(stage, "dead"));
        stage.enter(people_below(stage, "alive"));
        stage.crash("dead");
        let everybody = ["acme", "tool", "other", "agent"]
            .map(|name| [format!("dead-{name}"), format!("alive-{name}")])
            .concat();
        let before = parse(&as_user(stage, &["sweep", "--json"]));
        assert_eq!(before["trees"], serde_json::json!([]), "nobody has told their names yet");
        stage.assert_alive(&everybody.iter().map(String::as_str).collect::<Vec<_>>());

        let said = as_user(stage, &["discover", "--write"]);
        let text = String::from_utf8(said.stdout).expect("text");
        assert!(said.status.success() && text.contains("2 patterns"), "{text}");
        let file =
            fs::read_to_string(stage.home().join(".config/orphand/conf.d/discovered.toml")).expect("written");
        assert!(!file.contains("hunter2") && !text.contains("hunter2"), "{text}{file}");

        let sweep = parse(&as_user(stage, &["sweep", "--json"]));
        for name in ["acme", "tool"] {
            let tree = stage.tree(&sweep, &format!("dead-{name}"));
            assert_eq!((result(tree), &tree["server"]), ("gone", &name.into()), "{sweep:#}");
        }
        stage.assert_gone(&["dead-acme", "dead-tool"]);
        stage.assert_alive(&[
            "dead-other",
            "dead-agent",
            "alive",
            "alive-acme",
            "alive-tool",
            "alive-other",
            "alive-agent",
        ]);
        let again = as_user(stage, &["discover", "--write"]);
        let text = String::from_utf8(again.stdout).expect("text");
        assert!(text.contains("says so already") && text.contains("written"), "{text}");
    });
}

#[test]
fn root_reads_nobodys_files_and_the_machines_sweep_knows_nothing_of_them() {
    on_stage("discovered::root_reads_nobodys_files_and_the_machines_sweep_knows_nothing_of_them", |stage| {
        fs::create_dir(stage.home()).expect("a home");
        chown(stage.home(), Some(USER), Some(USER)).expect("given away");
        write(
            stage,
            ".claude.json",
            r#"{"mcpServers":{"acme":{"command":"node","args":["HOME/acme/server.js"]}}}"#,
        );
        stage.enter(people_below(stage, "dead"));
        stage.crash("dead");
        let output = stage.command(&["discover"]).env("HOME", stage.home()).output().expect("orphand runs");
        let text = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && text.contains("belongs to another user"), "{text}");
        assert!(output.stdout.is_empty());
        assert!(as_user(stage, &["discover", "--write"]).status.success());
        let sweep =
            parse(&stage.command(&["sweep", "--json"]).env("HOME", stage.home()).output().expect("it runs"));
        assert!(
            stage.find_tree(&sweep, "dead-acme").is_none(),
            "the user's own patterns are for the user: {sweep:#}"
        );
        stage.assert_alive(&["dead-acme"]);
        assert!(
            !Path::new("/etc/orphand/conf.d/discovered.toml").exists(),
            "nothing is written for the machine"
        );
    });
}
