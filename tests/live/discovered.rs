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
        .child(member("tool", "python3 -m acme.billing --stdio --token=hunter2"))
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
                "tool":{"command":"python3","args":["-m","acme.billing","--stdio","--token=hunter2"]},"agent":{"command":"claude"}}}"#,
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

fn say(output: &std::process::Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn what_a_person_has_there_is_never_replaced() {
    on_stage("discovered::what_a_person_has_there_is_never_replaced", |stage| {
        let folder = stage.home().join(".config/orphand/conf.d");
        fs::create_dir_all(&folder).expect("made");
        for path in
            [stage.home(), stage.home().join(".config"), stage.home().join(".config/orphand"), folder.clone()]
        {
            chown(path, Some(USER), Some(USER)).expect("given away");
        }
        write(stage, ".claude.json", r#"{"mcpServers":{"acme":{"command":"npx","args":["acme-billing"]}}}"#);
        let target = folder.join("discovered.toml");
        let own = ".config/orphand/conf.d/discovered.toml";
        let refused = |stage: &Stage, what: &str, word: &str| {
            let output = as_user(stage, &["discover", "--write"]);
            let text = say(&output);
            assert!(!output.status.success() && text.contains(word), "{what}: {text}");
        };
        write(stage, own, "[[server]]\nname = \"mine\"\nprogram = \"mine-mcp\"\n");
        refused(stage, "a file of one's own", "was not written by");
        fs::write(&target, b"# caf\xe9\n").expect("written");
        refused(stage, "a file in another encoding", "left alone");
        assert_eq!(fs::read(&target).expect("there"), b"# caf\xe9\n");
        fs::remove_file(&target).expect("removed");
        fs::write(&target, "# root's\n").expect("written");
        refused(stage, "another user's file", "belongs to another user");
        fs::remove_file(&target).expect("removed");
        write(stage, own, "# unreadable\n");
        fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o000)).expect("closed");
        refused(stage, "a file that cannot be read", "left alone");
        fs::remove_file(&target).expect("removed");
        std::os::unix::fs::symlink("/nonexistent/x", &target).expect("linked");
        refused(stage, "a link that leads nowhere", "leads nowhere");
        fs::remove_file(&target).expect("removed");
        rustix::fs::mknodat(rustix::fs::CWD, &target, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("made");
        chown(&target, Some(USER), Some(USER)).expect("given away");
        refused(stage, "a FIFO, without waiting for it", "no regular file");
        fs::remove_file(&target).expect("removed");

        // A link to one's own file stays a link.
        write(stage, "elsewhere.toml", "");
        fs::remove_file(stage.home().join("elsewhere.toml")).expect("removed");
        assert!(as_user(stage, &["discover", "--write"]).status.success());
        fs::rename(&target, stage.home().join("elsewhere.toml")).expect("moved");
        std::os::unix::fs::symlink(stage.home().join("elsewhere.toml"), &target).expect("linked");
        write(
            stage,
            ".claude.json",
            r#"{"mcpServers":{"acme":{"command":"npx","args":["acme-billing"]},"more":{"command":"npx","args":["more-billing"]}}}"#,
        );
        let output = as_user(stage, &["discover", "--write"]);
        assert!(output.status.success(), "{}", say(&output));
        assert!(fs::symlink_metadata(&target).expect("there").is_symlink());
        assert!(fs::read_to_string(&target).expect("text").contains("more-billing"));
        fs::write(
            stage.home().join("elsewhere.toml"),
            fs::read_to_string(&target).expect("text") + "# mine\n",
        )
        .expect("written");
        refused(stage, "what was changed by hand", "was changed by hand");

        // A configuration that could not be read with it is not written.
        fs::remove_file(&target).expect("removed");
        write(stage, ".config/orphand/config.toml", "[orphan]\nmin_age = \"soon\"\n");
        let output = as_user(stage, &["discover", "--write"]);
        assert_eq!((output.status.code(), target.exists()), (Some(2), false), "{}", say(&output));
    });
}

#[test]
fn many_that_write_at_once_leave_one_good_file() {
    on_stage("discovered::many_that_write_at_once_leave_one_good_file", |stage| {
        fs::create_dir(stage.home()).expect("a home");
        chown(stage.home(), Some(USER), Some(USER)).expect("given away");
        write(stage, ".claude.json", r#"{"mcpServers":{"acme":{"command":"npx","args":["acme-billing"]}}}"#);
        let start = |stage: &Stage| {
            let mut command = stage.command(&["discover", "--write"]);
            command
                .env("HOME", stage.home())
                .uid(USER)
                .gid(USER)
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            command.spawn().expect("orphand starts")
        };
        let all: Vec<_> = (0..12).map(|_| start(stage)).collect();
        for one in all {
            let output = one.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", say(&output));
        }
        assert!(say(&as_user(stage, &["discover", "--write"])).contains("says so already"));
        let left: Vec<_> =
            fs::read_dir(stage.home().join(".config/orphand/conf.d")).expect("there").flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(as_user(stage, &["config", "check"]).status.success());
    });
}
