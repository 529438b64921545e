//! What is learnt while a client lives, and used after its death; and leaks below a client that lives.

use crate::stage::{Actor, actor, client, npx, on_stage, result, verdict};
use rustix::process::Signal;

#[test]
fn a_leaf_without_any_mark_is_known_from_before() {
    on_stage("lineage::a_leaf_without_any_mark_is_known_from_before", |stage| {
        let leaf = |name: &str| actor(name, "java -jar /opt/kotlin/lsp.jar");
        let server = actor("server", "uvx --from serena-agent serena start-mcp-server").child(leaf("leaf"));
        stage.enter(client("client").does(&["reap"]).child(server));
        stage.enter(actor("editor", "emacs").stdio("null").child(leaf("bystander")));
        assert_eq!(stage.sweep()["totals"]["trees"], 0, "all is well, and remembered");
        // The server alone crashes; its leaf is left to init, and the client lives.
        stage.crash("server");
        stage.crash("editor");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "leaf");
        assert_eq!((verdict(tree), result(tree)), (("reap", "hung-up"), "gone"), "{sweep:#}");
        assert_eq!(tree["server"], "serena");
        assert_eq!(
            tree["client"],
            serde_json::json!({ "name": "opencode", "pid": stage.pid("client"), "alive": true })
        );
        assert!(stage.find_tree(&sweep, "bystander").is_none(), "never seen below a server");
        stage.assert_alive(&["client", "bystander"]);
        stage.assert_gone(&["leaf"]);
    });
}

#[test]
fn a_leaf_that_was_never_seen_is_left_alone() {
    on_stage("lineage::a_leaf_that_was_never_seen_is_left_alone", |stage| {
        let server =
            actor("server", "serena-mcp-server").child(actor("leaf", "java -jar /opt/kotlin/lsp.jar"));
        stage.enter(client("client").does(&["reap"]).child(server));
        stage.crash("server");
        assert!(stage.find_tree(&stage.sweep(), "leaf").is_none());
        stage.assert_alive(&["leaf"]);
    });
}

/// A script between client and server that gives its server pipes of its own.
fn wrapper(name: &str) -> Actor {
    actor(name, "python3 /home/u/bin/wrap.py").child(actor(&format!("{name}-server"), "foo-mcp"))
}

#[test]
fn an_unknown_wrapper_is_known_from_before() {
    on_stage("lineage::an_unknown_wrapper_is_known_from_before", |stage| {
        stage.enter(client("dead").child(wrapper("seen")));
        assert_eq!(stage.sweep()["totals"]["trees"], 0);
        // The second one starts and is left between two looks.
        stage.enter(client("dead2").child(wrapper("unseen")));
        stage.crash("dead");
        stage.crash("dead2");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "seen");
        // It looks like an agent that waits for its server, so a person must say that it is none.
        assert_eq!(verdict(tree), ("report", "unproven"), "{sweep:#}");
        let text = tree["reasons"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("wrap.py") && text.contains("opencode") && text.contains("[[launcher]]"),
            "{text}"
        );
        assert!(
            stage.find_tree(&sweep, "unseen").is_none(),
            "its wrapper may be anything: it owns its server"
        );
        stage.assert_alive(&["seen", "seen-server", "unseen", "unseen-server"]);
        stage
            .options
            .extend(["--set".to_owned(), "launcher=[{name='wrap', script='bin/wrap.py'}]".to_owned()]);
        let sweep = stage.sweep();
        for name in ["seen", "unseen"] {
            assert_eq!(result(stage.tree(&sweep, name)), "gone", "{sweep:#}");
        }
    });
}

#[test]
fn a_parent_that_changed_proves_a_subreaper() {
    on_stage("lineage::a_parent_that_changed_proves_a_subreaper", |stage| {
        let host = actor("host", "agent-host").stdio("null").does(&["subreaper", "reap"]);
        let own = actor("own", "foo-mcp");
        stage.enter(host.child(client("dead").child(npx("orphan", "foo-mcp"))).child(own));
        assert_eq!(stage.sweep()["totals"]["trees"], 0);
        stage.crash("dead");
        assert_eq!(stage.parent("orphan"), stage.pid("host"));
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "orphan");
        assert_eq!((verdict(tree), result(tree)), (("reap", "hung-up"), "gone"), "{sweep:#}");
        assert_eq!(tree["adopter"], serde_json::json!({ "kind": "subreaper", "pid": stage.pid("host") }));
        assert_eq!(tree["client"]["alive"], false);
        stage.assert_gone(&["orphan", "orphan-sh", "orphan-leaf"]);
        stage.assert_alive(&["host", "own"]);
    });
}

#[test]
fn two_generations_below_one_client_are_reported() {
    on_stage("lineage::two_generations_below_one_client_are_reported", |stage| {
        let copy = || actor("copy", "mysql-mcp-server").env("DATABASE", "a");
        let other = actor("other", "mysql-mcp-server").env("DATABASE", "b");
        stage.enter(client("client").does(&["reap"]).child(copy()).child(other).child(copy()));
        let (old, new) =
            if stage.pid("copy") < stage.pid("copy#2") { ("copy", "copy#2") } else { ("copy#2", "copy") };
        let scan = stage.scan();
        let tree = stage.tree(&scan, old);
        assert_eq!(verdict(tree), ("report", "duplicate"), "{scan:#}");
        assert_eq!(
            scan["totals"]["trees"], 1,
            "the newest is owned, and so is the one with another database: {scan:#}"
        );
        assert_eq!(stage.sweep()["totals"]["reap"], 0);
        stage.assert_alive(&[old, "other", new]);
        stage.options.extend(["--set".to_owned(), "live.duplicates=reap".to_owned()]);
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, old);
        assert_eq!((verdict(tree), result(tree)), (("reap", "duplicate"), "gone"), "{sweep:#}");
        stage.assert_gone(&[old]);
        stage.assert_alive(&["client", "other", new]);
    });
}

#[test]
fn a_server_that_its_live_client_cannot_reach_is_reported() {
    on_stage("lineage::a_server_that_its_live_client_cannot_reach_is_reported", |stage| {
        let forgetful = actor("client", "claude").stdio("null").does(&["hang-up-on-usr2"]);
        stage.enter(forgetful.child(actor("first", "foo-mcp")).child(actor("second", "bar-mcp")));
        stage.send("client", Signal::USR2);
        assert_eq!(stage.hear(), "client-usr2");
        let scan = stage.scan();
        for name in ["first", "second"] {
            let tree = stage.tree(&scan, name);
            assert_eq!(verdict(tree), ("report", "live-hung-up"), "{tree:#}");
            assert_eq!(
                (&tree["client"]["name"], &tree["adopter"]),
                (&"claude".into(), &serde_json::Value::Null)
            );
        }
        // Each is the newest copy that its client has, so the opt-in leaves both.
        stage.options.extend(["--set".to_owned(), "live.hung_up=reap".to_owned()]);
        assert_eq!(stage.sweep()["totals"]["reap"], 0);
        stage.assert_alive(&["client", "first", "second"]);
    });
}

#[test]
fn the_environment_names_the_client_and_convicts_nobody() {
    on_stage("lineage::the_environment_names_the_client_and_convicts_nobody", |stage| {
        let named = actor("orphan", "foo-mcp").env("OPENCODE_PID", "$PID");
        let unknown = actor("tool", "python3 /x/tool.py").env("OPENCODE_PID", "$PID");
        stage.enter(client("dead").child(named).child(unknown));
        let pid = stage.pid("dead");
        stage.crash("dead");
        let sweep = stage.sweep();
        let expected = serde_json::json!({ "name": "opencode", "pid": pid, "alive": false });
        assert_eq!(stage.tree(&sweep, "orphan")["client"], expected);
        assert!(stage.find_tree(&sweep, "tool").is_none());
        stage.assert_gone(&["orphan"]);
        stage.assert_alive(&["tool"]);
    });
}

#[test]
fn what_is_restarted_each_time_is_only_reported_after_a_while() {
    on_stage("lineage::what_is_restarted_each_time_is_only_reported_after_a_while", |stage| {
        stage.options.extend(["--set".to_owned(), "limits.respawns=2".to_owned()]);
        for round in 0..3 {
            let name = format!("round{round}");
            stage.enter(client(&format!("dead{round}")).child(actor(&name, "foo-mcp")));
            stage.crash(&format!("dead{round}"));
            assert_eq!(result(stage.tree(&stage.sweep(), &name)), "gone", "round {round}");
        }
        stage.enter(client("dead").child(actor("again", "foo-mcp")).child(actor("other", "bar-mcp")));
        stage.crash("dead");
        let sweep = stage.sweep();
        assert_eq!(verdict(stage.tree(&sweep, "again")), ("report", "respawning"), "{sweep:#}");
        assert_eq!(result(stage.tree(&sweep, "other")), "gone");
        stage.assert_alive(&["again"]);
    });
}

#[test]
fn what_is_known_of_a_process_survives_the_hiding_of_its_secrets() {
    on_stage("lineage::what_is_known_of_a_process_survives_the_hiding_of_its_secrets", |stage| {
        let leaf = actor("leaf", "java -jar /opt/kotlin/lsp.jar --token hunter2hunter2");
        stage.enter(client("client").does(&["reap"]).child(actor("server", "serena-mcp-server").child(leaf)));
        stage.sweep();
        stage.crash("server");
        let path = stage.folder.path().join("table.toml");
        let path = path.to_str().unwrap();
        assert!(stage.orphand(&["record", path]).status.success());
        assert!(!std::fs::read_to_string(path).unwrap().contains("hunter2"));
        let replayed = stage.json(&["scan", "--json", "--replay", path]);
        let (live, replayed) = (stage.scan(), replayed);
        assert_eq!(verdict(stage.tree(&live, "leaf")), ("reap", "hung-up"));
        assert_eq!(stage.tree(&live, "leaf")["reasons"], stage.tree(&replayed, "leaf")["reasons"]);
    });
}

#[test]
fn time_below_a_live_client_is_no_time_as_an_orphan() {
    on_stage("lineage::time_below_a_live_client_is_no_time_as_an_orphan", |stage| {
        let forgetful = actor("client", "claude").stdio("null").does(&["hang-up-on-usr2"]);
        stage.enter(forgetful.child(actor("server", "foo-mcp")));
        stage.send("client", Signal::USR2);
        assert_eq!(stage.hear(), "client-usr2");
        let long = ["--set", "orphan.confirm=10m"];
        let scan = stage.json(&["sweep", "--json", "--dry-run", long[0], long[1]]);
        assert_eq!(verdict(stage.tree(&scan, "server")), ("report", "live-hung-up"));
        stage.crash("client");
        let scan = stage.json(&["scan", "--json", long[0], long[1]]);
        let tree = stage.tree(&scan, "server");
        assert_eq!(
            (verdict(tree), &tree["orphaned_s"]),
            (("wait", "young"), &serde_json::Value::Null),
            "{tree:#}"
        );
    });
}

#[test]
fn a_leak_below_a_live_client_is_told_alike_by_every_scan() {
    on_stage("lineage::a_leak_below_a_live_client_is_told_alike_by_every_scan", |stage| {
        let copy = || actor("copy", "mysql-mcp-server");
        stage.enter(client("client").child(copy()).child(copy()));
        let old = if stage.pid("copy") < stage.pid("copy#2") { "copy" } else { "copy#2" };
        let (narrow, wide) = (stage.scan(), stage.json(&["scan", "--json", "--all"]));
        assert_eq!(stage.tree(&narrow, old)["reasons"], stage.tree(&wide, old)["reasons"]);
        assert_eq!(stage.tree(&narrow, old)["lifeline"], "held");
    });
}
