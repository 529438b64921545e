//! Verdicts by table, one situation each; `properties` holds what must be true of every table.

mod properties;

use crate::process::{Descriptor, Fact, FarEnd, Holders, Users};
use crate::testing::{Table, judgement, pid};

/// npm exec -> sh -c -> node at 10, 11, 12, all on the same hung-up pipe.
fn npx(table: &mut Table, parent: i32) {
    table.add(10, parent, "'npm exec mysql-mcp-server'");
    table.add(11, 10, "sh -c mysql-mcp-server").stdio_of(10);
    table.add(12, 11, "node /h/.npm/_npx/1/node_modules/.bin/mysql-mcp-server").stdio_of(10);
}

fn orphan() -> Table {
    let mut table = Table::new();
    npx(&mut table, 1);
    table
}

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
    table.add(12, 11, "foo-mcp");
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
fn somebodys_work_below_a_server_is_reported() {
    let mut table = orphan();
    table.add(20, 12, "bash -i");
    table.add(21, 20, "python3 train.py").cpu(40);
    assert_eq!(table.verdict(10), ("report", "work"));
    table.process(21).cpu(0);
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
    table
        .add(
            22,
            12,
            "python3 -c 'from multiprocessing.spawn import spawn_main; spawn_main()' --multiprocessing-fork",
        )
        .cpu(9);
    assert_eq!(table.verdict(10), ("reap", "hung-up"), "a worker of the server itself");
    table.process(12).cpu(4000);
    assert_eq!(table.verdict(10), ("reap", "hung-up"), "a server that spins on a dead pipe does no work");
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
    table.add(20, 1, "claude --resume");
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
    assert_eq!(table.judge().judgements.len(), 1);
}

#[test]
fn without_stdio_nobody_is_proven_gone() {
    for (descriptor, word) in [
        (Descriptor::Null, "/dev/null"),
        (Descriptor::Terminal, "terminal"),
        (Descriptor::File, "file"),
        (Descriptor::NamedFifo, "FIFO"),
    ] {
        let mut table = Table::new();
        table.add(10, 1, "foo-mcp").stdin(descriptor.clone());
        assert_eq!(table.verdict(10), ("spare", "not-stdio"), "stdin {descriptor:?}");
        let plan = table.judge();
        assert!(judgement(&plan, 10).reasons[0].text.contains(word));
        let mut table = Table::new();
        table.add(10, 1, "foo-mcp").stdout(descriptor);
        assert_eq!(table.verdict(10), ("spare", "not-stdio"), "stdout");
    }
}

#[test]
fn network_forms_and_holding_both_ends_are_not_stdio() {
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp --port 3000");
    assert_eq!(table.verdict(10), ("spare", "not-stdio"));
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp").held_by(&[10]);
    assert_eq!(table.verdict(10), ("spare", "not-stdio"));
}

#[test]
fn a_user_may_waive_the_proof_for_his_own_pattern() {
    let mut table = Table::new();
    table.config("[[server]]\nname = 'mine'\nprogram = 'my-thing'\nstdio = false\n");
    table.add(10, 1, "my-thing").stdin(Descriptor::Null).stdout(Descriptor::Null);
    assert_eq!(table.verdict(10), ("reap", "orphaned"));
    table.process(10).stdin(Descriptor::Pipe(1)).held_by(&[1]);
    assert_eq!(table.verdict(10).0, "spare", "held is held");
}

#[test]
fn whoever_holds_the_far_end_keeps_it() {
    for (holder, expected) in [
        ("claude", ("spare", "in-use")),
        ("supervisord", ("spare", "in-use")),
        ("tail -f /x", ("report", "unproven")),
        ("node vite.js", ("report", "unproven")),
    ] {
        let mut table = orphan();
        table.add(50, 1, holder).stdin(Descriptor::Null);
        table.process(10).held_by(&[50]);
        table.process(12).held_by(&[50]);
        assert_eq!(table.verdict(10), expected, "{holder}");
        let plan = table.judge();
        assert!(judgement(&plan, 10).reasons[0].text.contains("(50)"), "the holder is named");
    }
}

#[test]
fn whoever_still_reads_its_answers_keeps_it() {
    for (reader, expected) in [("claude", ("spare", "in-use")), ("jq .", ("report", "unproven"))] {
        let mut table = orphan();
        table.add(50, 1, reader).stdin(Descriptor::Null);
        table.process(12).read_by(&[50]);
        assert_eq!(table.verdict(10), expected, "{reader}");
    }
}

#[test]
fn whoever_talks_to_another_member_keeps_the_tree() {
    let mut table = orphan();
    table.add(20, 12, "bar-mcp").held_by(&[50]);
    table.add(50, 1, "claude").stdin(Descriptor::Null);
    assert_eq!(table.verdict(10), ("spare", "in-use"));
    table.process(20).held_by(&[12]);
    assert_eq!(table.verdict(10), ("reap", "hung-up"), "its own server talks to it");
}

#[test]
fn a_listener_is_left_to_a_person() {
    let mut table = orphan();
    table.process(12).process.details.listeners = Fact::Known(vec!["TCP 127.0.0.1:3000".to_owned()]);
    assert_eq!(table.verdict(10), ("report", "listening"));
}

#[test]
fn a_debugger_is_somebody_at_work() {
    let mut table = orphan();
    table.process(12).process.details.tracer = Fact::Known(pid(50));
    table.add(50, 1, "gdb");
    assert_eq!(table.verdict(10), ("spare", "in-use"));
}

#[test]
fn a_wiped_command_line_may_hide_anything() {
    let mut table = orphan();
    table.add(20, 12, "");
    assert_eq!(table.verdict(10), ("report", "unreadable"));
}

#[test]
fn who_keeps_his_own_stdin_open_by_a_child_is_a_daemon() {
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp").held_by(&[11]);
    table.add(11, 10, "sleep infinity");
    assert_eq!(table.verdict(10), ("spare", "not-stdio"));
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

#[test]
fn a_container_outlives_its_command_line_tool() {
    let mut table = Table::new();
    table.add(10, 1, "docker run -i --rm mcp/time");
    table.add(20, 1, "foo-mcp");
    table.add(21, 20, "docker run -i acme/train:1");
    assert_eq!(table.verdict(10), ("report", "unproven"));
    assert_eq!(table.verdict(20), ("report", "unproven"));
    let plan = table.judge();
    assert!(judgement(&plan, 10).reasons[0].text.contains("stop the container"));
}

#[test]
fn wrappers_that_work_are_no_mere_wrappers() {
    for (line, expected) in
        [("python3 train_llm.py", "work"), ("make nightly", "work"), ("'npm exec foo-mcp'", "hung-up")]
    {
        let mut table = Table::new();
        table.add(10, 1, line).cpu(3);
        table.add(11, 10, "foo-mcp").stdio_of(10);
        assert_eq!(table.verdict(10).1, expected, "{line}");
    }
}

#[test]
fn what_a_shell_prepares_is_work_and_what_a_runner_launched_is_the_server() {
    let mut table = Table::new();
    table.add(10, 1, "sh -c '. ./prepare.sh && foo-mcp'");
    table.add(11, 10, "python3 train.py").stdio_of(10).cpu(3);
    assert_eq!(table.verdict(10), ("report", "work"));
    let mut table = Table::new();
    table.add(10, 1, "bun run --cwd /h/.claude/plugins/telegram/1 --silent start");
    table.add(11, 10, "bun server.ts").held_by(&[10]).cpu(40_000);
    assert_eq!(table.verdict(10), ("reap", "hung-up"), "a leaf that spins on a dead pipe");
}

#[test]
fn work_may_be_done_elsewhere() {
    let mut table = orphan();
    table.add(20, 12, "ssh gpu-box ./train.sh");
    assert_eq!(table.verdict(10), ("report", "work"));
}

#[test]
fn a_debugging_port_is_open_to_anybody() {
    let mut table = orphan();
    table.set("spare.browser_for=0s");
    table.add(20, 12, "chromium --headless --remote-debugging-port=9222");
    assert_eq!(table.verdict(10), ("report", "browser"));
}

#[test]
fn pid_1_that_is_no_init_and_has_the_same_stdin_may_have_started_it() {
    let mut table = Table::new();
    table.remove(1);
    table.add(1, 0, "supervise").stdin(Descriptor::Pipe(5));
    table.add(10, 1, "foo-mcp").stdin(Descriptor::Pipe(5));
    assert_eq!(table.verdict(10), ("report", "unproven"));
}

#[test]
fn root_and_server_must_both_be_hung_up() {
    let mut table = orphan();
    table.add(50, 1, "claude");
    table.process(12).held_by(&[50]);
    assert_eq!(table.verdict(10), ("spare", "in-use"));
    let mut table = orphan();
    table.process(12).far_end(FarEnd::Unknown("TCP".to_owned()));
    assert_eq!(table.verdict(10), ("report", "unproven"));
}

#[test]
fn a_launcher_that_holds_its_own_leafs_stdin_is_no_user_of_it() {
    let mut table = Table::new();
    table.add(10, 1, "bun run --cwd /h/.claude/plugins/telegram/1 start");
    table.add(11, 10, "/h/.claude/plugins/telegram/1/telegram-mcp").held_by(&[10]);
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
}

#[test]
fn orphans_that_hold_each_other_hang_together() {
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp").held_by(&[20]);
    table.add(20, 1, "bar-mcp").held_by(&[10]);
    assert_eq!((table.verdict(10), table.verdict(20)), (("reap", "hung-up"), ("reap", "hung-up")));
    // One of them is kept, so the other one is held.
    table.process(20).marks(Some("keep"), None);
    assert_eq!((table.verdict(10), table.verdict(20)), (("report", "unproven"), ("spare", "protected")));
}

#[test]
fn a_chain_of_inherited_descriptors_falls_together_or_not_at_all() {
    let mut table = Table::new();
    table.add(10, 1, "a-mcp").held_by(&[20]);
    table.add(20, 1, "b-mcp").held_by(&[30]);
    table.add(30, 1, "c-mcp");
    for root in [10, 20, 30] {
        assert_eq!(table.verdict(root), ("reap", "hung-up"));
    }
    table.add(40, 1, "claude");
    table.process(30).held_by(&[40]);
    for root in [10, 20, 30] {
        assert_eq!(table.verdict(root).0, if root == 30 { "spare" } else { "report" }, "{root}");
    }
}

#[test]
fn who_is_held_only_by_a_waiting_orphan_waits_with_it() {
    let mut table = Table::new();
    table.set("orphan.min_age=2m");
    table.add(10, 1, "a-mcp").held_by(&[20]);
    table.add(20, 1, "b-mcp").age(10);
    assert_eq!(table.verdict(20), ("wait", "young"));
    assert_eq!(table.verdict(10), ("wait", "young"));
}

#[test]
fn a_search_that_was_not_complete_proves_nothing() {
    let mut table = Table::new();
    let holders = Holders { pids: vec![pid(20)], complete: false, unsearched: Vec::new() };
    table.add(10, 1, "a-mcp").far_end(FarEnd::Open(Some(holders)));
    table.add(20, 1, "b-mcp");
    assert_eq!(table.verdict(10), ("report", "unproven"));
    table.process(10).held_by(&[]);
    assert_eq!(table.verdict(10), ("report", "unproven"), "open, but nobody is seen holding it");
}

#[test]
fn a_weak_pattern_convicts_nobody() {
    let mut table = Table::new();
    table.add(10, 1, "acme mcp");
    assert_eq!(table.verdict(10), ("report", "unproven"));
    table.config("[[server]]\nname = 'acme'\nprogram = 'acme'\nsubcommand = 'mcp'\nstrength = 'weak'\n");
    assert_eq!(table.verdict(10), ("reap", "hung-up"), "the user's own pattern counts in full");
}

#[test]
fn an_unreadable_fact_is_named_and_spares() {
    let mut table = orphan();
    table.process(12).process.details.marks = Fact::Denied;
    assert_eq!(table.verdict(10), ("report", "unreadable"));
    let plan = table.judge();
    assert!(judgement(&plan, 10).reasons[0].text.contains("environment of process 12"));
}

#[test]
fn a_browser_spares_for_a_while_and_a_window_for_ever() {
    let with = |line: &str, seen: u64| {
        let mut table = orphan();
        table.add(20, 12, line);
        table.remember(10, seen, Some(seen));
        table.verdict(10)
    };
    assert_eq!(with("chromium --headless --remote-debugging-pipe", 60), ("spare", "browser"));
    assert_eq!(with("chromium --headless --remote-debugging-pipe", 6 * 3600), ("reap", "hung-up"));
    assert_eq!(with("chromium --remote-debugging-pipe", 6 * 3600), ("report", "browser"));
    assert_eq!(
        with("chromium https://example.org", 60),
        ("reap", "hung-up"),
        "the user's browser is no member"
    );
}

#[test]
fn young_trees_wait() {
    let young = |age: u64, seen: Option<u64>, hung_up: Option<u64>| {
        let mut table = Table::new();
        table.set("orphan.min_age=2m").set("orphan.confirm=20s");
        table.add(10, 1, "foo-mcp").age(age);
        if let Some(seen) = seen {
            table.remember(10, seen, hung_up);
        }
        let plan = table.judge();
        (judgement(&plan, 10).verdict.word(), judgement(&plan, 10).wait.map(|wait| wait.as_secs()))
    };
    assert_eq!(young(10, None, None), ("wait", Some(110)), "a young process");
    assert_eq!(young(3600, None, None), ("wait", Some(20)), "an old one, seen for the first time");
    assert_eq!(young(3600, Some(5), Some(5)), ("wait", Some(15)), "seen 5 s ago");
    assert_eq!(young(3600, Some(20), Some(20)), ("reap", None), "confirmed");
    assert_eq!(young(3600, Some(20), None), ("wait", Some(20)), "not hung up in the look before");
    assert_eq!(young(10, Some(5), Some(5)), ("wait", Some(110)), "confirmed, but a young process");
    assert_eq!(
        young(150, Some(130), Some(10)),
        ("wait", Some(10)),
        "watched for long enough, hung up only since 10 s"
    );
    assert_eq!(young(150, Some(130), Some(25)), ("reap", None), "and confirmed");
}

#[test]
fn a_tree_is_as_young_as_its_youngest_link() {
    let mut table = orphan();
    table.set("orphan.min_age=2m");
    table.process(12).age(5);
    assert_eq!(table.verdict(10), ("wait", "young"));
}

#[test]
fn a_reused_pid_is_not_remembered() {
    let mut table = Table::new();
    table.set("orphan.min_age=2m");
    table.add(10, 1, "foo-mcp").age(30);
    table.remember(10, 600, Some(600));
    let memory = table.memory(&table.table());
    assert!(memory.of(&table.table().get(pid(10)).unwrap().id).is_some());
    table.process(10).age(20);
    assert!(memory.of(&table.table().get(pid(10)).unwrap().id).is_none());
}

#[test]
fn a_sweep_has_a_budget_and_the_oldest_orphans_go_first() {
    let mut table = Table::new();
    table.set("limits.trees_per_sweep=2");
    for root in [10, 20, 30] {
        table.add(root, 1, "foo-mcp");
    }
    table.remember(20, 900, Some(900)).remember(30, 500, Some(500)).remember(10, 100, Some(100));
    assert_eq!(table.verdict(10), ("wait", "over-budget"));
    assert_eq!((table.verdict(20).0, table.verdict(30).0), ("reap", "reap"));
}

#[test]
fn without_proof_only_by_request_after_a_long_time_and_at_a_strong_adopter() {
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp").far_end(FarEnd::Unknown("TCP".to_owned()));
    table.remember(10, 86_500, None);
    assert_eq!(table.verdict(10), ("report", "unproven"));
    table.set("orphan.without_proof=reap");
    assert_eq!(table.verdict(10), ("reap", "orphaned"));
    table.set("orphan.without_proof_after=48h");
    assert_eq!(table.verdict(10), ("report", "unproven"));
    table.set("orphan.without_proof_after=24h");
    table.process(10).held_by(&[1]);
    assert_eq!(table.verdict(10), ("spare", "in-use"));
}

#[test]
fn in_a_container_only_a_hung_up_lifeline_convicts() {
    let mut table = Table::new();
    table.remove(1);
    table.add(1, 0, "node /x/mcp-gateway.js").stdin(Descriptor::Null);
    table.add(10, 1, "foo-mcp").held_by(&[1]);
    table.add(20, 1, "foo-mcp");
    table.add(30, 1, "foo-mcp").far_end(FarEnd::Unknown("x".to_owned()));
    table.remember(30, 86_500, None).set("orphan.without_proof=reap");
    assert_eq!(table.verdict(10), ("spare", "in-use"));
    assert_eq!(table.verdict(20), ("reap", "hung-up"));
    assert_eq!(table.verdict(30), ("report", "unproven"));
}

#[test]
fn every_rule_that_holds_is_said_and_explain_has_all_answers() {
    let mut table = orphan();
    table.process(12).marks(Some("keep"), None);
    let plan = table.judge();
    let codes: Vec<&str> = judgement(&plan, 10).reasons.iter().map(|reason| reason.code.word()).collect();
    assert_eq!(codes, ["protected", "hung-up"]);
    let answers: Vec<&str> = judgement(&plan, 10).answers.iter().map(|answer| answer.code.word()).collect();
    assert_eq!(answers[..4], ["owned", "foreign", "protected", "managed"]);
    assert!(judgement(&plan, 10).answers.iter().all(|answer| !answer.text.is_empty()));
}
