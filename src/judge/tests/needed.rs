//! Does anybody need it?

use super::orphan;
use crate::process::{Descriptor, Fact, FarEnd, Holders, Listener, Visitors};
use crate::testing::{Table, judgement, pid};

#[test]
fn somebodys_work_below_a_server_is_reported() {
    let mut table = orphan();
    table.add(21, 12, "python3 train.py").cpu(40);
    assert_eq!(table.verdict(10), ("report", "work"));
    table.process(21).cpu(5);
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
    table
        .add(
            22,
            12,
            "python3 -c 'from multiprocessing.spawn import spawn_main; spawn_main()' --multiprocessing-fork",
        )
        .cpu(90);
    assert_eq!(table.verdict(10), ("reap", "hung-up"), "a worker of the server itself");
    table.process(12).cpu(4000);
    assert_eq!(table.verdict(10), ("reap", "hung-up"), "a server that spins on a dead pipe does no work");
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
fn a_worker_whose_server_talks_to_it_needs_no_complete_search() {
    let mut table = orphan();
    let by = |number: i32| Holders { pids: vec![pid(number)], complete: false, unsearched: Vec::new() };
    table.add(20, 12, "java -jar lsp.jar").far_end(FarEnd::Open(Some(by(12))));
    assert_eq!(table.verdict(10), ("reap", "hung-up"));
    table.add(50, 1, "vite");
    table.process(20).far_end(FarEnd::Open(Some(by(50))));
    assert_eq!(table.verdict(10), ("report", "unproven"));
    // For the server itself it matters who could not be searched.
    table.process(20).far_end(FarEnd::HungUp);
    table.process(12).far_end(FarEnd::Open(Some(by(11))));
    assert_eq!(table.verdict(10), ("report", "unproven"));
}

#[test]
fn a_listener_is_left_to_a_person() {
    let mut table = orphan();
    table.process(12).process.details.listeners = Fact::Known(vec![Listener {
        address: "TCP 127.0.0.1:3000".to_owned(),
        visitors: Visitors { complete: true, ..Visitors::default() },
    }]);
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
fn wrappers_that_work_are_no_mere_wrappers() {
    for (line, expected) in
        [("python3 train_llm.py", "work"), ("make nightly", "work"), ("'npm exec foo-mcp'", "hung-up")]
    {
        let mut table = Table::new();
        table.add(10, 1, line).cpu(30);
        table.add(11, 10, "foo-mcp").stdio_of(10);
        assert_eq!(table.verdict(10).1, expected, "{line}");
    }
}

#[test]
fn what_a_shell_prepares_is_work_and_what_a_runner_launched_is_the_server() {
    let mut table = Table::new();
    table.add(10, 1, "sh -c '. ./prepare.sh && foo-mcp'");
    table.add(11, 10, "python3 train.py").stdio_of(10).cpu(30);
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
        table.process(10).age(7 * 3600);
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
