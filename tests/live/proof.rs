//! Lifelines: held, hung up, inherited, no stdio at all.

use crate::stage::{actor, client, on_stage, result, verdict};

#[test]
fn a_reparented_server_whose_client_still_holds_its_stdin_lives() {
    on_stage("proof::a_reparented_server_whose_client_still_holds_its_stdin_lives", |stage| {
        for stdio in ["pipe", "socket"] {
            let server = actor(&format!("server-{stdio}"), "foo-mcp").stdio("inherit");
            let forker = actor(&format!("forker-{stdio}"), "python3 /x/daemonise.py")
                .stdio(stdio)
                .does(&["leave-children"]);
            stage.enter(client(&format!("client-{stdio}")).child(forker.child(server)));
            stage.wait_until("init has it", |stage| stage.parent(&format!("server-{stdio}")) == 1);
        }
        let sweep = stage.sweep();
        for stdio in ["pipe", "socket"] {
            let tree = stage.tree(&sweep, &format!("server-{stdio}"));
            assert_eq!((verdict(tree), &tree["lifeline"]), (("spare", "in-use"), &"held".into()), "{tree:#}");
            assert_eq!(tree["client"]["pid"], stage.pid(&format!("client-{stdio}")));
            stage.assert_alive(&[&format!("server-{stdio}")]);
        }
    });
}

#[test]
fn a_stranger_that_inherited_the_far_end_makes_it_unproven_and_is_named() {
    on_stage("proof::a_stranger_that_inherited_the_far_end_makes_it_unproven_and_is_named", |stage| {
        let server = actor("orphan", "foo-mcp").does(&["leaks-to-siblings"]);
        stage.enter(client("dead").child(server).child(actor("stranger", "vite --host").stdio("null")));
        stage.crash("dead");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "orphan");
        assert_eq!(verdict(tree), ("report", "unproven"), "{tree:#}");
        let text = tree["reasons"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("vite ({})", stage.pid("stranger"))), "{text}");
        stage.assert_alive(&["orphan", "stranger"]);
        stage.crash("stranger");
        assert_eq!(result(stage.tree(&stage.sweep(), "orphan")), "gone");
    });
}

#[test]
fn orphans_that_hold_each_others_far_ends_all_go() {
    on_stage("proof::orphans_that_hold_each_others_far_ends_all_go", |stage| {
        for (name, stdio) in [("p", "pipe"), ("s", "socket")] {
            let leaking = |number: i32| {
                actor(&format!("{name}{number}"), "foo-mcp").stdio(stdio).does(&["leaks-to-siblings"])
            };
            stage
                .enter(client(&format!("dead-{name}")).child(leaking(1)).child(leaking(2)).child(leaking(3)));
            stage.crash(&format!("dead-{name}"));
        }
        let sweep = stage.sweep();
        for name in ["p1", "p2", "p3", "s1", "s2", "s3"] {
            assert_eq!(result(stage.tree(&sweep, name)), "gone", "{name} in {sweep:#}");
        }
        stage.assert_gone(&["p1", "p2", "p3", "s1", "s2", "s3"]);
    });
}

#[test]
fn daemons_without_stdio_and_network_servers_live() {
    on_stage("proof::daemons_without_stdio_and_network_servers_live", |stage| {
        let daemon = actor("daemon", "foo-mcp").stdio("null");
        let network = actor("network", "foo-mcp --transport sse --port 3000");
        stage.enter(client("dead").child(daemon).child(network));
        stage.crash("dead");
        let sweep = stage.sweep();
        for name in ["daemon", "network"] {
            assert_eq!(verdict(stage.tree(&sweep, name)), ("spare", "not-stdio"));
        }
        stage.assert_alive(&["daemon", "network"]);
    });
}

#[test]
fn a_server_that_its_owner_protects_lives() {
    on_stage("proof::a_server_that_its_owner_protects_lives", |stage| {
        let kept = actor("kept", "foo-mcp").env("ORPHAND", "keep");
        stage.enter(
            client("dead").child(kept).child(actor("ruled", "bar-mcp")).child(actor("orphan", "baz-mcp")),
        );
        stage.crash("dead");
        stage.options.extend(["--set".to_owned(), "protect=[{name='bar', package='bar-mcp'}]".to_owned()]);
        let sweep = stage.sweep();
        assert_eq!(verdict(stage.tree(&sweep, "kept")), ("spare", "protected"));
        assert_eq!(verdict(stage.tree(&sweep, "ruled")), ("spare", "protected"));
        assert_eq!(result(stage.tree(&sweep, "orphan")), "gone");
        stage.assert_alive(&["kept", "ruled"]);
    });
}

#[test]
fn a_service_that_systemd_started_lives_and_its_leftover_does_not() {
    on_stage("proof::a_service_that_systemd_started_lives_and_its_leftover_does_not", |stage| {
        // A process knows its own pid only once it runs: becoming another program keeps the number.
        let unit = actor("unit-main", "foo-mcp").env("SYSTEMD_EXEC_PID", "$PID");
        let starting = actor("unit", "true").becomes(unit);
        let left = actor("left", "foo-mcp").env("SYSTEMD_EXEC_PID", "77");
        stage.enter(client("dead").child(starting).child(left));
        stage.send("unit", rustix::process::Signal::USR1);
        assert_eq!(stage.hear(), "unit-main");
        stage.crash("dead");
        let sweep = stage.sweep();
        assert_eq!(verdict(stage.tree(&sweep, "unit-main")), ("spare", "managed"), "{sweep:#}");
        assert_eq!(result(stage.tree(&sweep, "left")), "gone");
        stage.assert_alive(&["unit-main"]);
        stage.assert_gone(&["left"]);
    });
}

#[test]
fn whoever_still_reads_the_answers_keeps_the_server() {
    on_stage("proof::whoever_still_reads_the_answers_keeps_the_server", |stage| {
        for stdio in ["pipe", "socket"] {
            let server = |who: &str| {
                actor(&format!("{who}-server-{stdio}"), "foo-mcp")
                    .stdio(stdio)
                    .does(&["leaks-stdout-to-siblings"])
            };
            for (who, reader) in [("claude", "claude"), ("jq", "jq .")] {
                let reader = actor(&format!("{who}-reader-{stdio}"), reader).stdio("null");
                stage.enter(client(&format!("{who}-dead-{stdio}")).child(server(who)).child(reader));
                stage.crash(&format!("{who}-dead-{stdio}"));
            }
        }
        let sweep = stage.sweep();
        for stdio in ["pipe", "socket"] {
            let verdict = |who: &str| verdict(stage.tree(&sweep, &format!("{who}-server-{stdio}")));
            assert_eq!(
                (verdict("claude"), verdict("jq")),
                (("spare", "in-use"), ("report", "unproven")),
                "{sweep:#}"
            );
            stage.assert_alive(&[&format!("claude-server-{stdio}"), &format!("jq-server-{stdio}")]);
        }
    });
}

#[test]
fn a_server_that_listens_is_left_to_a_person() {
    on_stage("proof::a_server_that_listens_is_left_to_a_person", |stage| {
        let listening = |name: &str, what: &str| actor(name, "foo-mcp").does(&[what]);
        let dead =
            client("dead").child(listening("tcp", "listen-tcp")).child(listening("unix", "listen-unix"));
        stage.enter(dead.child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let sweep = stage.sweep();
        for (name, word) in [("tcp", "TCP 127.0.0.1:"), ("unix", "unix ")] {
            let tree = stage.tree(&sweep, name);
            assert_eq!(verdict(tree), ("report", "listening"), "{tree:#}");
            assert!(tree["reasons"][0]["text"].as_str().unwrap().contains(word), "{tree:#}");
        }
        assert_eq!(result(stage.tree(&sweep, "orphan")), "gone");
        stage.assert_alive(&["tcp", "unix"]);
    });
}

#[test]
fn work_below_an_orphan_is_left_to_a_person() {
    on_stage("proof::work_below_an_orphan_is_left_to_a_person", |stage| {
        let training = actor("training", "python3 train.py").does(&["spin"]);
        let shell = actor("shell", "bash -i").child(training);
        stage.enter(client("dead").child(actor("orphan", "terminal-mcp").child(shell)));
        stage.crash("dead");
        stage.wait_until("a second of processor time is used", |stage| {
            verdict(stage.tree(&stage.scan(), "orphan")) == ("report", "work")
        });
        assert_eq!(stage.sweep()["totals"]["reap"], 0);
        stage.assert_alive(&["orphan", "shell", "training"]);
    });
}

#[test]
#[cfg_attr(feature = "portable", ignore = "the portable host does not follow a stdin that was moved")]
fn a_server_that_has_moved_its_stdin_away_is_judged_by_where_it_is() {
    on_stage("proof::a_server_that_has_moved_its_stdin_away_is_judged_by_where_it_is", |stage| {
        let server = |name: &str, stdio: &str| {
            actor(name, "python3 -m mcp_server_time").stdio(stdio).does(&["moves-stdio"])
        };
        let wrapped = server("leaf", "inherit");
        let uvx = actor("uvx", "uv tool uvx mcp-server-time").stdio("socket").child(wrapped);
        stage
            .enter(client("dead").child(server("pipe", "pipe")).child(server("socket", "socket")).child(uvx));
        stage.enter(client("live").child(server("twin", "pipe")));
        // One that still is connected, though its parent is gone.
        let forker = actor("forker", "python3 /x/daemonise.py").stdio("socket").does(&["leave-children"]);
        stage.enter(client("holder").child(forker.child(server("held", "inherit"))));
        stage.wait_until("init has it", |stage| stage.parent("held") == 1);
        let daemon = server("daemon", "null");
        stage.enter(actor("starter", "sh").stdio("null").does(&["leave-children"]).child(daemon));
        stage.wait_until("init has it", |stage| stage.parent("daemon") == 1);
        stage.crash("dead");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "leaf");
        assert_eq!((verdict(tree), result(tree)), (("reap", "hung-up"), "gone"), "{tree:#}");
        // Without a launcher that has the same stdin it may be a daemon with ends left over from something else.
        for name in ["pipe", "socket"] {
            let tree = stage.tree(&sweep, name);
            assert_eq!(
                (verdict(tree), &tree["lifeline"]),
                (("report", "unproven"), &"hung-up".into()),
                "{name}: {tree:#}"
            );
        }
        assert_eq!(verdict(stage.tree(&sweep, "held")), ("spare", "in-use"), "{sweep:#}");
        assert_eq!(verdict(stage.tree(&sweep, "daemon")), ("spare", "not-stdio"), "{sweep:#}");
        stage.assert_gone(&["leaf", "uvx"]);
        stage.assert_alive(&["pipe", "socket", "twin", "held", "daemon"]);
    });
}
