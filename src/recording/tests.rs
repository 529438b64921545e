use super::*;
use crate::memory::Part;
use crate::process::{Descriptor, Fact, FarEnd, Holders, Listener, Visitors};
use crate::testing::{Table, pid};

fn rich() -> Recording {
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp --flag 'a b'").held_by(&[20, 30]).age(61).cpu(3);
    table.add(20, 10, "").stdin(Descriptor::Other("anon_inode:[eventfd]".to_owned())).user(0).zombie();
    let last = table.add(30, 10, "x").far_end(FarEnd::Unknown("TCP; or so".to_owned())).process;
    last.command = Fact::Denied;
    last.details.cgroup = Fact::Gone;
    last.details.tracer = Fact::Known(pid(20));
    last.details.environment = Fact::Known(u64::MAX);
    last.details.far_ends[1] =
        Fact::Known(FarEnd::Open(Some(Holders { pids: vec![], complete: false, unsearched: vec![pid(7)] })));
    let visitors =
        Visitors { pids: vec![pid(20)], elsewhere: vec!["10.0.0.1:9".to_owned()], complete: false };
    last.details.listeners = Fact::Known(vec![Listener { address: "TCP *:1".to_owned(), visitors }]);
    table.process(10).marks(Some("keep"), Some("7"));
    table.remember(10, 600, Some(300)).sampled(10, 120, 4096, 2).was(30, 10, Part::Other, "serena");
    table.reaped(0xfedc_ba98_7654_3210, 60, 2).survived(20).slept(3600);
    let look = table.table();
    let written =
        Recording { taken_at: "2026-12-01T00:00:00Z".to_owned(), memory: table.memory(&look), table: look };
    // The boot of a recording is its own.
    Recording::parse(&written.write().expect("written")).expect("read")
}

#[test]
fn what_is_written_is_read_again() {
    let once = rich();
    let twice = Recording::parse(&once.write().expect("written")).expect("read");
    assert_eq!(once, twice);
}

#[test]
fn every_fact_survives() {
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp").held_by(&[20]);
    let look = table.table();
    let recording = Recording { taken_at: String::new(), memory: table.memory(&look), table: look.clone() };
    let read = Recording::parse(&recording.write().expect("written")).expect("read");
    let details = |table: &ProcessTable| {
        table
            .iter()
            .map(|process| (process.pid(), process.command.clone(), process.details.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(details(&read.table), details(&look));
    assert_eq!(read.table.age(read.table.get(pid(10)).unwrap()), look.age(look.get(pid(10)).unwrap()));
    let rich = rich();
    assert_eq!(rich.memory.returns(0xfedc_ba98_7654_3210, rich.table.at.since_boot), 3);
    let last = rich.table.get(pid(30)).expect("there");
    assert_eq!(rich.memory.kin(last).map(|kin| kin.server.as_str()), Some("serena"));
    assert!(rich.memory.has_survived(&rich.table.get(pid(20)).expect("there").id));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let head = "schema = 1\nsince_boot = '1h'\n[observer]\npid = 9\nuid = 0\nmachine = true\n";
    let rows = [
        ("", "missing field `schema`"),
        ("schema = 7\nsince_boot = '1h'\n[observer]\npid = 9\nuid = 0\nmachine = true\n", "schema 7"),
        ("[[process]]\nage = '1h'\n", "has no `pid`"),
        ("[[process]]\npid = 0\n", "0 is no process number"),
        ("[[process]]\npid = 1\nstdin = 'tube 3'\n", "process 1, `stdin`: `tube 3` is no descriptor"),
        ("[[process]]\npid = 1\nstdin_end = 'held by x'\n", "process 1, `stdin_end`"),
        ("[[process]]\npid = 1\nage = 'old'\n", "process 1, `age`: `old` is no duration"),
        ("[[process]]\npid = 1\ncolour = 'red'\n", "unknown field `colour`"),
        ("[[process]]\npid = 1\n[[process]]\npid = 1\n", "process 1: stands there twice"),
        ("[common]\npid = 1\n", "cannot name a process"),
    ];
    for (text, expected) in rows {
        let text = if text.starts_with("schema") || text.is_empty() {
            text.to_owned()
        } else {
            format!("{head}{text}")
        };
        let error = Recording::parse(&text).expect_err("it is wrong").to_string();
        assert!(error.contains(expected), "{text:?} gives {error}");
    }
}
