//! What must be true of every table.

use crate::judge::Verdict;
use crate::memory::Part;
use crate::process::{
    Channel, Descriptor, Details, Fact, FarEnd, Holders, Listener, Pid, Process, Visitors, Way,
};
use crate::testing::{OWN_NAMESPACE, Table, pid};
use proptest::prelude::*;
use std::collections::BTreeSet;

const LINES: [&str; 22] = [
    "bash start-server.sh",
    "node /x/telemetry/watchdog/main.js --parent-pid=3",
    "chromium --headless --remote-debugging-port=1",
    "java -jar lsp.jar",
    "'npm exec foo-mcp'",
    "sh -c foo-mcp",
    "node /x/node_modules/.bin/foo-mcp",
    "foo-mcp --port 1",
    "acme mcp",
    "claude",
    "claude mcp serve",
    "opencode serve",
    "tmux",
    "python3 /opt/wrap.py",
    "bash",
    "sleep 100",
    "chromium --headless --remote-debugging-pipe",
    "firefox",
    "sh -c 'vite & foo-mcp'",
    "/lib/systemd/systemd --user",
    "ffmpeg -i x",
    "",
];

/// One process of a random table: its line, which earlier process is its parent, whose stdio it shares, its far end, another
/// process, whether it is strange, and what is known from before.
type Seed = (usize, prop::sample::Index, u8, u8, prop::sample::Index, bool, u8);

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    let one = (
        0..LINES.len(),
        any::<prop::sample::Index>(),
        0..8_u8,
        0..6_u8,
        any::<prop::sample::Index>(),
        any::<bool>(),
        0..64_u8,
    );
    prop::collection::vec(one, 1..25)
}

fn build(seeds: &[Seed]) -> Table {
    let mut table = Table::new();
    if seeds.len().is_multiple_of(3) {
        table.set("spare.active_window=5m");
    }
    if seeds.len().is_multiple_of(4) {
        table.set("live.duplicates=reap").set("live.hung_up=reap");
    }
    for (at, (line, parent, stdio, far_end, other, foreign, known)) in seeds.iter().enumerate() {
        let number = at as i32 + 2;
        // Half of all hang at PID 1, so that there are orphans to judge.
        let parent = if stdio % 2 == 0 { 1 } else { parent.index(at + 1) as i32 + 1 };
        let other = other.index(seeds.len()) as i32 + 2;
        let writing = table.add(number, parent, LINES[*line]);
        let writing = match stdio {
            0 | 1 => writing.stdio_of(parent),
            2 => writing.stdin(Descriptor::Null),
            3 => writing.stdin(Descriptor::Socket(5)),
            _ => writing,
        };
        let writing = match far_end {
            0 => writing.held_by(&[other]),
            1 => writing.held_by(&[]),
            2 => writing.far_end(FarEnd::Unknown("x".to_owned())),
            _ => writing,
        };
        let details = &mut writing.process.details;
        if *foreign && far_end % 2 == 1 {
            details.pid_namespace = Fact::Known(OWN_NAMESPACE + 1);
        }
        if known & 1 == 1 {
            details.descriptors[3] = Fact::Known(Descriptor::Pipe(1));
            details.descriptors[4] = Fact::Known(Descriptor::Pipe(2));
            details.far_ends[3] = Fact::Known(FarEnd::HungUp);
            details.far_ends[4] = Fact::Known(FarEnd::HungUp);
        }
        if known & 7 == 2 {
            let visitors =
                Visitors { pids: vec![pid(other)], elsewhere: Vec::new(), complete: known & 8 == 8 };
            details.listeners = Fact::Known(vec![Listener { address: "unix /x".to_owned(), visitors }]);
        }
        if known & 7 == 4 {
            let ways = [Way::Line, Way::Inbound, Way::Outward, Way::Receives];
            let others = Visitors { pids: vec![pid(other)], elsewhere: Vec::new(), complete: true };
            let way = ways[usize::from(known >> 3 & 3)];
            details.channels =
                Fact::Known(vec![Channel { what: "TCP 1".to_owned(), way, others, as_stdio: Vec::new() }]);
        }
        if known & 3 == 3 {
            table.sampled(number, 60, u64::from(known & 4), 0);
        }
        if known & 24 == 24 {
            let part = [Part::Server, Part::Launcher, Part::Helper, Part::Other][usize::from(known & 3)];
            table.was(number, if known & 32 == 32 { parent } else { 3 }, part, "named like an MCP server");
        }
    }
    table
}

/// Everyone that the plan would kill.
fn doomed(table: &Table) -> BTreeSet<Pid> {
    let plan = table.judge();
    plan.to_reap().flat_map(|judgement| judgement.tree.members.iter().map(|member| member.pid)).collect()
}

/// All the ways in which one fact of a process can be hidden.
fn hide(process: &mut Process, which: usize, denied: bool) {
    fn hidden<T>(denied: bool) -> Fact<T> {
        if denied { Fact::Denied } else { Fact::Gone }
    }
    let details: &mut Details = &mut process.details;
    match which {
        0 => process.command = hidden(denied),
        1 => details.users = hidden(denied),
        2 => details.pid_namespace = hidden(denied),
        3 => details.net_namespace = hidden(denied),
        4 => details.descriptors[0] = hidden(denied),
        5 => details.descriptors[1] = hidden(denied),
        15 => details.moved = hidden(denied),
        16 => details.environment = hidden(denied),
        17 => details.descriptors[3] = hidden(denied),
        18 => details.descriptors[4] = hidden(denied),
        19 => details.far_ends[3] = hidden(denied),
        20 => details.far_ends[4] = hidden(denied),
        21 => details.descriptors[2] = hidden(denied),
        23 => details.channels = hidden(denied),
        24 => details.catches_term = hidden(denied),
        25 => details.started_by_init = hidden(denied),
        22 => {
            if let Fact::Known(listeners) = &mut details.listeners {
                listeners.iter_mut().for_each(|listener| listener.visitors.complete = false);
            }
        }
        6 => details.far_ends[0] = hidden(denied),
        12 => details.far_ends[1] = hidden(denied),
        13 => details.listeners = hidden(denied),
        14 => details.tracer = hidden(denied),
        7 => details.marks = hidden(denied),
        8 => details.cgroup = hidden(denied),
        9 => details.memory = hidden(denied),
        10 => {
            if let Fact::Known(FarEnd::Open(Some(Holders { complete, .. }))) = &mut details.far_ends[0] {
                *complete = false;
            }
        }
        _ => details.far_ends[0] = Fact::Known(FarEnd::Unknown("hidden".to_owned())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_killed_who_must_never_be(seeds in seeds()) {
        let mut table = build(&seeds);
        table.add(5000, 1, "kthreadd").process.kernel = true;
        let doomed = doomed(&table);
        prop_assert!(!doomed.contains(&Pid::INIT));
        for process in table.processes() {
            let line = process.arguments().join(" ");
            let client = line == "claude" || line == "opencode serve" || line == "tmux" || line == "firefox";
            prop_assert!(!(client || process.kernel) || !doomed.contains(&process.pid()), "{line} of {seeds:?}");
        }
    }

    #[test]
    fn the_observer_and_its_ancestors_live(seeds in seeds(), which in any::<prop::sample::Index>()) {
        let mut table = build(&seeds);
        let number = which.index(seeds.len()) as i32 + 2;
        table.observer_is(number);
        let doomed = doomed(&table);
        let built = table.table();
        prop_assert!(!doomed.contains(&pid(number)));
        for ancestor in built.ancestors(pid(number)) {
            prop_assert!(!doomed.contains(&ancestor), "{ancestor} of {seeds:?}");
        }
    }

    #[test]
    fn hiding_a_fact_never_adds_a_kill(seeds in seeds(), whose in any::<prop::sample::Index>(), which in 0..26_usize, denied in any::<bool>()) {
        let mut table = build(&seeds);
        let before = doomed(&table);
        let number = whose.index(seeds.len()) as i32 + 2;
        hide(table.process(number).process, which, denied);
        let after = doomed(&table);
        prop_assert!(after.is_subset(&before), "hiding {which} of {number} adds {:?}", after.difference(&before));
    }

    #[test]
    fn a_spare_rule_never_adds_a_kill(seeds in seeds(), which in 0..4_usize) {
        let mut table = build(&seeds);
        let before = doomed(&table);
        let rules = ["package = 'foo-mcp'", "user = '1000'", "cgroup = '/user*'", "cmdline = 'x'"];
        table.config(&format!("[[protect]]\nname = 'x'\n{}\n", rules[which]));
        prop_assert!(doomed(&table).is_subset(&before));
    }

    #[test]
    fn the_order_of_processes_does_not_matter(seeds in seeds(), by in 0..50_usize) {
        let mut table = build(&seeds);
        let before = verdicts(&table);
        table.shuffle(by);
        prop_assert_eq!(verdicts(&table), before);
    }

    #[test]
    fn only_trees_under_an_adopter_are_reaped(seeds in seeds()) {
        let table = build(&seeds);
        for judgement in table.judge().to_reap() {
            let lets_go = table.settings().policy.live.reaps();
            prop_assert!(judgement.tree.adopter.is_some() || lets_go);
            prop_assert!(judgement.tree.members.iter().all(|member| member.pid != Pid::INIT));
        }
    }
}

fn verdicts(table: &Table) -> Vec<(Pid, Verdict, &'static str)> {
    let plan = table.judge();
    plan.judgements
        .iter()
        .map(|judgement| (judgement.tree.root, judgement.verdict, judgement.code().word()))
        .collect()
}
