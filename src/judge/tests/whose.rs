//! Whose tree is it?

use super::{npx, orphan};
use crate::process::{Descriptor, Fact, FarEnd, Users};
use crate::testing::{Table, judgement, pid};

#[test]
fn an_orphan_that_nobody_can_reach_is_reaped() {
    assert_eq!(orphan().verdict(10), ("reap", "hung-up"));
}

#[test]
fn at_a_user_manager_it_is_the_same() {
    let mut table = Table::new();
    table.add(5, 1, "/lib/systemd/systemd --user").stdin(Descriptor::Null);
    npx(&mut table, 5);
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
}

#[test]
fn a_live_parent_owns() {
    for parent in ["claude", "opencode serve", "python3 agent.py", "bash", "tmux", "zed-editor"] {
        let mut table = Table::new();
        table.add(9, 1, parent);
        npx(&mut table, 9);
        for number in [10, 11, 12] {
            table.process(number).held_by(&[9]);
        }
        assert_eq!(table.verdict(10), ("spare", "owned"), "{parent}");
    }
}

#[test]
fn ppid_0_is_owned() {
    let mut table = Table::new();
    table.add(10, 0, "foo-mcp");
    assert_eq!(table.verdict(10), ("spare", "owned"));
}

#[test]
fn a_parent_that_cannot_be_seen_is_a_fact_that_is_missing() {
    let mut table = Table::new();
    table.add(10, 77, "foo-mcp");
    assert_eq!(table.verdict(10), ("report", "unreadable"));
    let plan = table.judge();
    assert!(judgement(&plan, 10).reasons[0].text.contains("parent of process 10"));
}

#[test]
fn containers_and_other_users_are_foreign() {
    let mut table = orphan();
    table.process(10).process.details.pid_namespace = Fact::Known(42);
    assert_eq!(table.verdict(10), ("spare", "foreign"), "another PID namespace");
    let mut table = orphan();
    table.process(12).user(1001);
    assert_eq!(table.verdict(10), ("spare", "foreign"), "users differ within the chain");
    let mut table = orphan();
    table.process(12).process.details.users = Fact::Known(Users { real: 1000, effective: 0 });
    assert_eq!(table.verdict(10), ("spare", "foreign"), "a setuid server");
    let mut table = orphan();
    table.as_user(1001);
    assert_eq!(table.verdict(10), ("spare", "foreign"), "somebody else's tree");
    let mut table = orphan();
    table.add(13, 12, "backup --now").user(0);
    assert_eq!(table.verdict(10), ("spare", "foreign"), "root works below it");
}

#[test]
fn a_user_sees_his_own() {
    let mut table = orphan();
    table.as_user(1000);
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
}

#[test]
fn protection_by_environment_and_by_rule() {
    let mut table = orphan();
    table.process(12).marks(Some("keep"), None);
    assert_eq!(table.verdict(10), ("spare", "protected"));
    let mut table = orphan();
    table.process(12).marks(Some("no"), None);
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
    let rows = [
        ("package = 'mysql-mcp-server'", true),
        ("package = 'mongodb-mcp-server'", false),
        ("cgroup = '/user.slice/**'", false),
        ("cgroup = '/user*'", true),
        ("user = '1000'", true),
        ("user = '1000'\npackage = 'other'", false),
        ("cmdline = '_npx/1/'", true),
    ];
    for (condition, protects) in rows {
        let mut table = orphan();
        table.config(&format!("[[spare]]\nname = 'mine'\n{condition}\n"));
        assert_eq!(table.verdict(10).1 == "protected", protects, "{condition}");
    }
}

#[test]
fn what_systemd_itself_started_is_managed() {
    for parent in [1, 5] {
        let mut table = Table::new();
        table.add(5, 1, "/lib/systemd/systemd --user");
        table.add(10, parent, "foo-mcp").marks(None, Some("10"));
        assert_eq!(table.verdict(10), ("spare", "managed"));
        table.process(10).marks(None, Some("9"));
        assert_eq!(
            table.verdict(10),
            ("reap", "hung-up"),
            "a leftover of the service with pid 9 inherits its mark"
        );
    }
}

#[test]
fn a_client_in_the_tree_is_for_a_person_to_decide() {
    let mut table = Table::new();
    table.add(10, 1, "terminal-mcp");
    table.add(11, 10, "claude -p");
    table.add(12, 11, "foo-mcp").held_by(&[11]);
    assert_eq!(table.verdict(10), ("report", "contains-client"));
    assert_eq!(table.verdict(12), ("spare", "owned"));
}

#[test]
fn a_host_in_the_tree_is_too() {
    let mut table = Table::new();
    table.add(10, 1, "terminal-mcp");
    table.add(11, 10, "tmux new");
    table.add(12, 11, "bash");
    assert_eq!(table.verdict(10), ("report", "contains-client"));
    let plan = table.judge();
    assert!(!judgement(&plan, 10).tree.contains(pid(12)));
}

#[test]
fn orphand_never_takes_the_ground_from_under_itself() {
    let mut table = orphan();
    table.add(30, 12, "orphand sweep");
    table.observer_is(30);
    assert_eq!(table.verdict(10), ("spare", "protected"));
}

#[test]
fn claude_mcp_serve_is_a_server_and_claude_is_not() {
    let mut table = Table::new();
    table.add(10, 1, "/opt/homebrew/bin/claude mcp serve");
    table.add(20, 1, "claude --resume").stdin(Descriptor::Terminal).far_end(FarEnd::Unknown("x".to_owned()));
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
    assert_eq!(table.judge().judgements.len(), 1);
}

#[test]
fn an_unknown_program_that_starts_servers_is_a_client() {
    let mut table = Table::new();
    table.add(10, 1, "terminal-mcp");
    table.add(11, 10, "my-agent");
    table.add(12, 11, "'npm exec foo-mcp'");
    table.add(13, 12, "node /x/node_modules/.bin/foo-mcp").stdio_of(12);
    assert_eq!(table.verdict(10), ("report", "contains-client"));
}

#[test]
fn protection_counts_for_every_member() {
    let mut table = orphan();
    table.add(20, 12, "postgres").marks(Some("keep"), None);
    assert_eq!(table.verdict(10), ("spare", "protected"));
    table.process(20).marks(None, None);
    table.config("[[protect]]\nname = 'db'\nprogram = 'postgres'\n");
    assert_eq!(table.verdict(10), ("spare", "protected"));
}
