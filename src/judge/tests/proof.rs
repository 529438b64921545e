//! Is it proven?

use super::orphan;
use crate::memory::Part;
use crate::process::{Descriptor, FarEnd, Holders};
use crate::testing::{Table, judgement, pid};

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
fn who_was_seen_below_its_client_is_an_orphan_only_since_then() {
    let orphaned = |seen: Option<u64>| {
        let mut table = Table::new();
        table.set("orphan.min_age=2m").set("orphan.confirm=20s");
        table.add(10, 1, "foo-mcp");
        table.was(10, 900, Part::Server, "foo-mcp");
        if let Some(seen) = seen {
            table.remember(10, seen, Some(seen));
        }
        let plan = table.judge();
        (judgement(&plan, 10).verdict.word(), judgement(&plan, 10).wait.map(|wait| wait.as_secs()))
    };
    assert_eq!(orphaned(None), ("wait", Some(120)), "its client has just died");
    assert_eq!(orphaned(Some(30)), ("wait", Some(90)), "its hour below the client does not count");
    assert_eq!(orphaned(Some(120)), ("reap", None));
}

#[test]
fn nobody_is_watched_while_the_machine_sleeps() {
    let mut table = Table::new();
    table.set("orphan.min_age=2m").set("orphan.confirm=20s");
    table.add(10, 1, "foo-mcp").age(36_000);
    table.remember(10, 5, Some(5)).slept(30_000);
    let plan = table.judge();
    assert_eq!(judgement(&plan, 10).wait.map(|wait| wait.as_secs()), Some(15), "awake, it was seen 5 s ago");
    let mut table = Table::new();
    table.set("live.idle_for=1h");
    table.add(900, 1, "claude").stdin(Descriptor::Null);
    table.add(10, 900, "foo-mcp").age(50_000).held_by(&[900]);
    table.sampled(10, 600, 0, 0).slept(30_000);
    assert_eq!(table.verdict(10), ("spare", "owned"), "idle for ten minutes, not for a night");
    table.set("live.idle_for=10m");
    assert_eq!(table.verdict(10), ("report", "idle"));
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
    table.add(10, 1, "foo-mcp").far_end(FarEnd::Unknown("TCP".to_owned())).age(90_000);
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
    assert_eq!(answers[3..7], ["owned", "foreign", "protected", "managed"]);
    assert!(judgement(&plan, 10).answers.iter().all(|answer| !answer.text.is_empty()));
}
