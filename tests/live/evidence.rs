//! Who still needs it: visitors, disk traffic, work; and what is no evidence.

use crate::stage::{Stage, actor, client, on_stage, parse, result, verdict};
use rustix::process::Signal;

#[test]
fn who_is_connected_keeps_an_orphan() {
    on_stage("evidence::who_is_connected_keeps_an_orphan", |stage| {
        let kinds = ["listen-tcp", "listen-tcp6", "listen-unix"];
        let mut dead = client("dead");
        for kind in kinds {
            dead = dead.child(actor(&format!("{kind}-taken"), "foo-mcp").does(&[kind, "accept"]));
            dead = dead.child(actor(&format!("{kind}-waiting"), "foo-mcp").does(&[kind]));
        }
        stage.enter(dead);
        stage.crash("dead");
        let mut servers: Vec<String> =
            kinds.iter().flat_map(|kind| [format!("{kind}-taken"), format!("{kind}-waiting")]).collect();
        // /proc has no words of a Mac's for whoever waits to be accepted.
        servers.retain(|server| !cfg!(feature = "portable") || server != "listen-unix-waiting");
        for server in &servers {
            let line = format!("visit:{server}");
            stage
                .enter(actor(&format!("{server}-visitor"), "python3 /x/app.py").stdio("null").does(&[&line]));
        }
        let sweep = stage.sweep();
        for server in &servers {
            let tree = stage.tree(&sweep, server);
            assert_eq!(verdict(tree), ("spare", "in-use"), "{server}: {tree:#}");
            let visitor = stage.pid(&format!("{server}-visitor"));
            let text = tree["reasons"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(&format!("app.py ({visitor}) is connected to ")), "{server}: {text}");
        }
        for server in &servers {
            stage.crash(&format!("{server}-visitor"));
        }
        let sweep = stage.sweep();
        for server in &servers {
            assert_eq!(verdict(stage.tree(&sweep, server)), ("report", "listening"), "{server}");
        }
        stage.assert_alive(&servers.iter().map(String::as_str).collect::<Vec<_>>());
        // Where the pattern says that it always listens, a listener without visitors means nothing.
        stage.options.extend([
            "--set".to_owned(),
            "server=[{name='foo', program='foo-mcp', listens=true}]".to_owned(),
        ]);
        let sweep = stage.sweep();
        for server in &servers {
            assert_eq!(result(stage.tree(&sweep, server)), "gone", "{server}");
        }
    });
}

#[test]
fn who_is_connected_without_a_listener_keeps_it_too() {
    on_stage("evidence::who_is_connected_without_a_listener_keeps_it_too", |stage| {
        let mut dead = client("dead");
        for kind in ["listen-tcp", "listen-unix"] {
            dead = dead.child(actor(kind, "foo-mcp").does(&[kind, "accept-one"]));
        }
        stage.enter(dead.child(actor("datagrams", "bar-mcp").does(&["udp"])));
        for kind in ["listen-tcp", "listen-unix"] {
            let visitor = actor(&format!("{kind}-visitor"), "python3 /x/app.py").stdio("null");
            stage.enter(visitor.does(&[&format!("visit:{kind}")]));
        }
        let listens = |stage: &Stage| {
            let tree = stage.json(&["explain", &stage.pid("listen-tcp").to_string(), "--json"]);
            tree["facts"][0]["listens on"].as_str().is_some_and(|text| text != "nothing")
        };
        stage.crash("dead");
        stage.wait_until("the listener is closed", |stage| !listens(stage));
        let sweep = stage.sweep();
        assert_eq!(verdict(stage.tree(&sweep, "listen-unix")), ("spare", "in-use"), "{sweep:#}");
        // Of two ports that the kernel gave, nobody can tell which one was connected to.
        assert_eq!(verdict(stage.tree(&sweep, "listen-tcp")), ("report", "unproven"), "{sweep:#}");
        assert_eq!(verdict(stage.tree(&sweep, "datagrams")), ("report", "listening"));
        for kind in ["listen-tcp", "listen-unix"] {
            stage.crash(&format!("{kind}-visitor"));
        }
        let sweep = stage.sweep();
        for kind in ["listen-tcp", "listen-unix"] {
            assert_eq!(result(stage.tree(&sweep, kind)), "gone", "{kind}: {sweep:#}");
        }
        stage.assert_alive(&["datagrams"]);
    });
}

#[test]
fn outward_connections_and_those_of_its_own_parts_are_no_use() {
    on_stage("evidence::outward_connections_and_those_of_its_own_parts_are_no_use", |stage| {
        stage.enter(actor("database", "postgres").stdio("null").does(&["listen-tcp", "accept"]));
        let outward = actor("outward", "foo-mcp").does(&["visit:database"]);
        stage.enter(client("dead").child(outward));
        // A loader such as tsx listens on a socket of its own that only its child uses.
        stage.enter(client("dead2").child(actor("loader", "foo-mcp").does(&["listen-unix", "accept"])));
        stage.crash("dead");
        stage.crash("dead2");
        let sweep = stage.sweep();
        assert_eq!(result(stage.tree(&sweep, "outward")), "gone", "{sweep:#}");
        assert_eq!(verdict(stage.tree(&sweep, "loader")), ("report", "listening"));
        stage.assert_alive(&["database", "loader"]);
    });
}

#[test]
fn a_visitor_that_is_an_orphan_itself_keeps_nobody() {
    on_stage("evidence::a_visitor_that_is_an_orphan_itself_keeps_nobody", |stage| {
        stage.options.extend([
            "--set".to_owned(),
            "server=[{name='foo', program='foo-mcp', listens=true}]".to_owned(),
        ]);
        stage.enter(client("dead").child(actor("listener", "foo-mcp").does(&["listen-tcp", "accept"])));
        stage.enter(client("dead2").child(actor("visitor", "bar-mcp").does(&["visit:listener"])));
        stage.crash("dead");
        assert_eq!(
            verdict(stage.tree(&stage.scan(), "listener")),
            ("spare", "in-use"),
            "its visitor has a client"
        );
        stage.crash("dead2");
        let sweep = stage.sweep();
        for name in ["listener", "visitor"] {
            assert_eq!(result(stage.tree(&sweep, name)), "gone", "{sweep:#}");
        }
    });
}

fn with_activity(stage: &mut Stage) {
    stage.options.extend(["--set".to_owned(), "spare.active_window=5m".to_owned()]);
}

#[test]
fn disk_traffic_spares_and_a_core_at_full_speed_does_not() {
    on_stage("evidence::disk_traffic_spares_and_a_core_at_full_speed_does_not", |stage| {
        with_activity(stage);
        let writer = actor("writer", "foo-mcp").does(&["write-on-usr2"]);
        let spinner = actor("spinner", "bar-mcp").does(&["spin", "ignore-term"]);
        stage.enter(client("dead").child(writer).child(spinner));
        stage.crash("dead");
        let scan = stage.scan();
        assert_eq!(verdict(stage.tree(&scan, "writer")), ("wait", "young"), "one look cannot tell: {scan:#}");
        let sweep = stage.command(&["sweep", "--json", "--dry-run"]).output().unwrap();
        let said = String::from_utf8_lossy(&sweep.stderr).into_owned();
        assert!(said.contains("2 trees may be reaped after a second look, in 1 s"), "{said}");
        assert_eq!(verdict(stage.tree(&parse(&sweep), "writer")), ("reap", "hung-up"), "idle until now");
        stage.send("writer", Signal::USR2);
        assert_eq!(stage.hear(), "writer-usr2");
        let sweep = stage.sweep();
        assert_eq!(verdict(stage.tree(&sweep, "writer")), ("spare", "active"), "{sweep:#}");
        assert_eq!(result(stage.tree(&sweep, "spinner")), "killed", "{sweep:#}");
        // Remembered: within the window, and no longer than the bound.
        assert_eq!(verdict(stage.tree(&stage.scan(), "writer")), ("spare", "active"));
        stage.options.extend(["--set".to_owned(), "spare.active_for=1ms".to_owned()]);
        assert_eq!(result(stage.tree(&stage.sweep(), "writer")), "gone");
    });
}

#[test]
fn a_new_child_is_activity_for_a_while() {
    on_stage("evidence::a_new_child_is_activity_for_a_while", |stage| {
        with_activity(stage);
        stage.enter(client("dead").child(actor("server", "foo-mcp").child(actor("child", "rg --files"))));
        stage.crash("dead");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "server");
        assert_eq!(verdict(tree), ("spare", "active"), "{tree:#}");
        assert!(tree["reasons"][0]["text"].as_str().unwrap().contains("it started rg"), "{tree:#}");
        stage.options.extend(["--set".to_owned(), "spare.active_for=1ms".to_owned()]);
        assert_eq!(result(stage.tree(&stage.sweep(), "server")), "gone");
    });
}

#[test]
fn a_child_that_came_and_went_is_activity_too() {
    on_stage("evidence::a_child_that_came_and_went_is_activity_too", |stage| {
        with_activity(stage);
        stage.enter(client("dead").child(actor("server", "foo-mcp").does(&["fork-on-usr2"])));
        stage.crash("dead");
        let dry = stage.command(&["sweep", "--json", "--dry-run"]).output().unwrap();
        assert_eq!(verdict(stage.tree(&parse(&dry), "server")), ("reap", "hung-up"));
        stage.send("server", Signal::USR2);
        assert_eq!(stage.hear(), "server-usr2");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "server");
        assert_eq!(verdict(tree), ("spare", "active"), "{tree:#}");
        assert!(tree["reasons"][0]["text"].as_str().unwrap().contains("has come and gone"), "{tree:#}");
    });
}

#[test]
fn somebodys_work_below_a_terminal_server_is_reported_for_ever() {
    on_stage("evidence::somebodys_work_below_a_terminal_server_is_reported_for_ever", |stage| {
        let training = actor("training", "python3 train.py").stdio("null").does(&["spin"]);
        let shell = actor("shell", "bash -i").child(actor("idle", "sleep 9").stdio("null"));
        let listening = actor("dev-server", "vite").stdio("null").does(&["listen-tcp"]);
        stage.enter(client("dead").child(actor("terminal", "terminal-mcp").child(training)));
        stage.enter(client("dead3").child(actor("terminal3", "terminal-mcp").child(shell)));
        stage.enter(client("dead2").child(actor("terminal2", "terminal-mcp").child(listening)));
        stage.crash("dead");
        stage.crash("dead2");
        stage.crash("dead3");
        let used = |stage: &Stage| {
            let stat =
                std::fs::read_to_string(format!("/proc/{}/stat", stage.pid("training"))).expect("it runs");
            stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(12)?.parse::<u64>().ok()).unwrap_or(0)
        };
        stage.wait_until("it has used more than a second", |stage| used(stage) > 110);
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "terminal");
        assert_eq!(verdict(tree), ("report", "work"), "{tree:#}");
        assert!(tree["reasons"][0]["text"].as_str().unwrap().starts_with("train.py ("), "{tree:#}");
        let other = stage.tree(&sweep, "terminal2");
        assert_eq!(verdict(other).0, "report", "{other:#}");
        assert_eq!(verdict(stage.tree(&sweep, "terminal3")), ("report", "work"), "a session that waits");
        stage.assert_alive(&[
            "terminal",
            "training",
            "terminal2",
            "dev-server",
            "terminal3",
            "shell",
            "idle",
        ]);
    });
}

#[test]
fn a_gateway_from_a_heredoc_and_its_child_are_spared() {
    on_stage("evidence::a_gateway_from_a_heredoc_and_its_child_are_spared", |stage| {
        let gateway = actor("gateway", "python3 -").stdio("file").does(&["listen-tcp", "accept"]);
        let named = actor("named", "foo-mcp --transport streamable-http").stdio("file").does(&["listen-tcp"]);
        let start = actor("starter", "sh").stdio("null").does(&["leave-children"]);
        stage.enter(start.child(gateway.child(actor("child", "foo-mcp"))).child(named));
        stage.wait_until("init has both", |stage| stage.parent("gateway") == 1 && stage.parent("named") == 1);
        let sweep = stage.sweep();
        assert!(stage.find_tree(&sweep, "child").is_none(), "its gateway owns it: {sweep:#}");
        assert_eq!(verdict(stage.tree(&sweep, "named")), ("spare", "not-stdio"));
        stage.assert_alive(&["gateway", "child", "named"]);
    });
}

#[test]
fn an_agent_without_its_driver_is_reported_and_its_servers_live() {
    on_stage("evidence::an_agent_without_its_driver_is_reported_and_its_servers_live", |stage| {
        let agent = actor("agent", "claude --output-format stream-json").child(actor("server", "foo-mcp"));
        stage.enter(actor("driver", "node /x/app.js").stdio("null").child(agent));
        stage.crash("driver");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "agent");
        assert_eq!(verdict(tree), ("report", "contains-client"), "{tree:#}");
        assert!(stage.find_tree(&sweep, "server").is_none());
        stage.assert_alive(&["agent", "server"]);
    });
}

#[test]
fn a_recorded_table_is_judged_with_the_same_words() {
    on_stage("evidence::a_recorded_table_is_judged_with_the_same_words", |stage| {
        stage.enter(client("live").child(actor("held", "foo-mcp --token hunter2hunter2")));
        let leaking = actor("orphan", "bar-mcp").does(&["leaks-to-siblings"]);
        stage.enter(
            client("dead")
                .child(leaking)
                .child(actor("stranger", "vite").stdio("null"))
                .child(actor("other", "baz-mcp")),
        );
        stage.crash("dead");
        let file = stage.folder.path().join("table.toml");
        let path = file.to_str().unwrap();
        let recorded = stage.orphand(&["record", path]);
        assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("hunter2") && text.contains("bar-mcp"), "{text}");
        let words = |report: &serde_json::Value| {
            let trees = report["trees"].as_array().unwrap().iter();
            trees
                .map(|tree| (tree["root"].clone(), tree["reasons"].clone(), tree["members"].clone()))
                .collect::<Vec<_>>()
        };
        let (live, replayed) = (
            stage.json(&["scan", "--json", "--all"]),
            stage.json(&["scan", "--json", "--all", "--replay", path]),
        );
        assert_eq!(words(&live), words(&replayed));
        assert_eq!(live["trees"].as_array().unwrap().len(), 3, "{live:#}");
        let pid = stage.pid("orphan").to_string();
        let explained = stage.orphand(&["explain", &pid, "--replay", path]);
        let said = String::from_utf8_lossy(&explained.stdout).into_owned();
        assert!(said.contains(&format!("vite ({}) holds the far end", stage.pid("stranger"))), "{said}");
    });
}
