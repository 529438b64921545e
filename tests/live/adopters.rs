//! Who inherits, and what is done about it.

use crate::stage::{actor, client, npx, on_stage, result, verdict};

#[test]
fn a_user_managers_orphans_are_found_like_those_of_pid_1() {
    on_stage("adopters::a_user_managers_orphans_are_found_like_those_of_pid_1", |stage| {
        let manager =
            actor("manager", "/lib/systemd/systemd --user").stdio("null").does(&["subreaper", "reap"]);
        let crashing = client("dead").child(npx("orphan", "mysql-mcp-server"));
        let living = client("live").child(npx("twin", "mysql-mcp-server"));
        // Started through a helper that leaves at once, so that the manager is a child of init like a real one.
        let start = actor("starter", "true").stdio("null").does(&["leave-children"]);
        stage.enter(start.child(manager.child(crashing).child(living)));
        stage.wait_until("init is the manager's parent", |stage| stage.parent("manager") == 1);
        stage.crash("dead");
        assert_eq!(stage.parent("orphan"), stage.pid("manager"), "the manager has inherited it");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "orphan");
        assert_eq!((verdict(tree), result(tree)), (("reap", "hung-up"), "gone"), "{tree:#}");
        assert_eq!(
            (&tree["adopter"]["kind"], &tree["adopter"]["pid"]),
            (&"user-manager".into(), &stage.pid("manager").into())
        );
        stage.assert_gone(&["orphan", "orphan-sh", "orphan-leaf"]);
        stage.assert_alive(&["manager", "live", "twin", "twin-sh", "twin-leaf"]);
    });
}

#[test]
fn a_subreaper_that_is_nobody_known_owns_what_it_inherits() {
    on_stage("adopters::a_subreaper_that_is_nobody_known_owns_what_it_inherits", |stage| {
        let host = actor("host", "omnigent-thing").stdio("null").does(&["subreaper", "reap"]);
        stage.enter(host.child(client("dead").child(actor("orphan", "foo-mcp"))));
        stage.crash("dead");
        assert_eq!(stage.parent("orphan"), stage.pid("host"));
        assert_eq!(stage.sweep()["totals"]["reap"], 0);
        stage.assert_alive(&["orphan"]);
        // Named in the configuration it is an adopter.
        stage
            .options
            .extend(["--set".to_owned(), "adopter=[{name='omni', program='omnigent-thing'}]".to_owned()]);
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "orphan");
        assert_eq!((result(tree), &tree["adopter"]["kind"]), ("gone", &"configured".into()));
        stage.assert_alive(&["host"]);
    });
}

#[test]
fn a_user_sees_and_reaps_only_his_own() {
    on_stage("adopters::a_user_sees_and_reaps_only_his_own", |stage| {
        for (name, uid) in [("alice", 4001), ("bob", 4002)] {
            let server = actor(&format!("{name}-orphan"), "foo-mcp");
            stage.enter(client(&format!("{name}-client")).user(uid).child(server));
            stage.crash(&format!("{name}-client"));
        }
        let as_alice = |stage: &crate::stage::Stage, arguments: &[&str]| {
            use std::os::unix::process::CommandExt;
            crate::stage::parse(&stage.command(arguments).uid(4001).gid(4001).output().unwrap())
        };
        let scan = as_alice(stage, &["scan", "--json", "--all"]);
        assert_eq!(scan["totals"]["trees"], 1, "nothing is said about bob's: {scan:#}");
        assert_eq!(verdict(stage.tree(&scan, "alice-orphan")), ("reap", "hung-up"));
        let sweep = as_alice(stage, &["sweep", "--json"]);
        assert_eq!(result(stage.tree(&sweep, "alice-orphan")), "gone");
        stage.assert_gone(&["alice-orphan"]);
        stage.assert_alive(&["bob-orphan"]);
        let sweep = stage.sweep();
        assert_eq!(result(stage.tree(&sweep, "bob-orphan")), "gone", "root reaps everyone's: {sweep:#}");
        stage.assert_gone(&["bob-orphan"]);
    });
}

#[test]
fn a_user_proves_nothing_against_a_client_that_runs_as_somebody_else() {
    on_stage("adopters::a_user_proves_nothing_against_a_client_that_runs_as_somebody_else", |stage| {
        use std::os::unix::process::CommandExt;
        // The first is truly dead, but has inherited the second one's far end; that is also held by root's client.
        let held = actor("held", "foo-mcp").stdio("socket").user(4001).does(&["leaks-to-siblings"]);
        let dead = actor("dead", "bar-mcp").stdio("socket").user(4001);
        let hidden = actor("hidden", "claude").stdio("null");
        stage.enter(client("root-client").child(held).child(dead).child(hidden));
        stage.crash("root-client");
        let mut sweep = stage.command(&["sweep", "--json"]);
        let sweep = crate::stage::parse(&sweep.uid(4001).gid(4001).output().unwrap());
        assert_eq!(result(stage.tree(&sweep, "dead")), "gone", "{sweep:#}");
        assert_eq!(verdict(stage.tree(&sweep, "held")), ("report", "unproven"), "{sweep:#}");
        stage.assert_alive(&["held", "hidden"]);
    });
}

#[test]
fn a_user_to_whom_proc_hides_others_is_told_so() {
    on_stage("adopters::a_user_to_whom_proc_hides_others_is_told_so", |stage| {
        use std::os::unix::process::CommandExt;
        stage.enter(client("dead").user(4001).child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let remount = std::process::Command::new("mount").args(["-o", "remount,hidepid=2", "/proc"]).status();
        if !remount.is_ok_and(|status| status.success()) {
            println!("skipped: /proc cannot be mounted with hidepid here");
            return;
        }
        let scan = stage.command(&["scan", "--json"]).uid(4001).gid(4001).output().unwrap();
        let scan = crate::stage::parse(&scan);
        let tree = stage.tree(&scan, "orphan");
        assert_eq!(verdict(tree), ("report", "unreadable"), "{tree:#}");
        let text = tree["reasons"][0]["text"].as_str().unwrap();
        assert!(text.contains("parent of process") && text.contains("hidepid"), "{text}");
    });
}

#[test]
fn a_user_is_told_whose_a_process_is_and_nothing_wrong_about_others() {
    on_stage("adopters::a_user_is_told_whose_a_process_is_and_nothing_wrong_about_others", |stage| {
        use std::os::unix::process::CommandExt;
        stage.enter(client("dead").child(actor("roots", "foo-mcp")));
        stage.crash("dead");
        let as_user = |arguments: &[&str]| {
            let output = stage.command(arguments).uid(4001).gid(4001).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(as_user(&["scan"]).starts_with("No MCP server of yours without an owner."));
        let said = as_user(&["explain", &stage.pid("roots").to_string()]);
        assert!(said.contains("belongs to root: it is a server, foo-mcp"), "{said}");
    });
}

#[test]
#[cfg_attr(feature = "portable", ignore = "a Mac has no such process")]
fn the_keeper_of_a_users_session_does_not_blind_that_user() {
    on_stage("adopters::the_keeper_of_a_users_session_does_not_blind_that_user", |stage| {
        use std::os::unix::process::CommandExt;
        let leaking = |name: &str| actor(name, "foo-mcp").stdio("socket").does(&["leaks-to-siblings"]);
        let crashing = client("dead").child(leaking("first")).child(leaking("second"));
        let manager =
            actor("manager", "/lib/systemd/systemd --user").stdio("null").does(&["subreaper", "reap"]);
        let keeper = actor("keeper", "(sd-pam)").stdio("null").does(&["undumpable"]);
        let start = actor("starter", "true").stdio("null").user(4001).does(&["leave-children"]);
        stage.enter(start.child(manager.child(keeper).child(crashing)));
        stage.wait_until("init is the manager's parent", |stage| stage.parent("manager") == 1);
        stage.crash("dead");
        let sweep = |stage: &crate::stage::Stage| {
            let mut sweep = stage.command(&["sweep", "--json"]);
            crate::stage::parse(&sweep.uid(4001).gid(4001).output().unwrap())
        };
        stage.enter(actor("cron", "cron -f").stdio("null"));
        // Somebody else who cannot be searched makes the search worthless; the session's keeper does not.
        stage.enter(actor("agent", "secret-agent").stdio("null").user(4001).does(&["undumpable"]));
        let blind =
            crate::stage::parse(&stage.command(&["scan", "--json"]).uid(4001).gid(4001).output().unwrap());
        assert_eq!(verdict(stage.tree(&blind, "first")), ("report", "unproven"), "{blind:#}");
        stage.crash("agent");
        let report = sweep(stage);
        for name in ["first", "second"] {
            assert_eq!(result(stage.tree(&report, name)), "gone", "{report:#}");
        }
        stage.assert_alive(&["manager", "keeper"]);
    });
}
