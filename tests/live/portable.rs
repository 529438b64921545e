//! The portable host beside the one that reads /proc itself: both see the same.

use crate::stage::{actor, client, npx, on_stage};
use orphand::host::linux::Linux;
use orphand::host::{Host, Machine};
use orphand::process::{Fact, Pid, Process, ProcessTable, Stream};

/// What both must say of a process.
fn told(table: &ProcessTable, pid: Pid) -> impl PartialEq + std::fmt::Debug {
    let process: &Process = table.get(pid).expect("it is in the table");
    let details = &process.details;
    (
        (process.parent, process.id.start_ticks, process.state, process.kernel, process.program),
        (process.command.clone(), details.users.clone(), details.marks.clone(), details.environment.clone()),
        (details.tracer.clone(), details.catches_term.clone(), details.pid_namespace.clone()),
    )
}

fn pids(table: &ProcessTable) -> Vec<Pid> {
    table.iter().map(Process::pid).collect()
}

#[test]
fn both_hosts_say_the_same_of_real_trees() {
    on_stage("portable::both_hosts_say_the_same_of_real_trees", |stage| {
        stage.enter(client("dead").child(npx("orphan", "foo-mcp")));
        stage.enter(client("live").child(npx("twin", "foo-mcp")));
        stage.enter(actor("odd", "weird name) R 1 (").stdio("null"));
        stage.crash("dead");
        let (linux, portable) = (Linux::new().expect("/proc"), Machine::new().expect("sysinfo"));
        let mut one = linux.list().expect("a table");
        let mut other = portable.list().expect("a table");
        let all = pids(&one);
        assert_eq!(all, pids(&other));
        assert!(all.len() >= 10, "{all:?}");
        linux.read_details(&mut one, &all);
        portable.read_details(&mut other, &all);
        for pid in &all {
            assert_eq!(told(&one, *pid), told(&other, *pid), "process {pid}");
        }
        // Handles are not inodes, but they lead to the same people.
        let ends =
            |name: &str| [(stage.pid(name), Stream::Stdin)].map(|(pid, end)| (Pid::new(pid).unwrap(), end));
        for name in ["orphan", "twin", "twin-leaf"] {
            let ends = ends(name);
            for (host, table) in [(&linux as &dyn FarEnds, &mut one), (&portable, &mut other)] {
                host.read(table, &ends);
            }
            let end =
                |table: &ProcessTable| table.get(ends[0].0).expect("there").far_end(Stream::Stdin).clone();
            assert!(matches!(end(&one), Fact::Known(_)), "{name}: {:?}", end(&one));
            assert_eq!(end(&one), end(&other), "{name}");
        }
    });
}

/// The two steps that both hosts take, whatever else differs.
trait FarEnds {
    fn read(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]);
}

impl<H: Host> FarEnds for H {
    fn read(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        self.read_far_ends(table, ends);
        self.read_holders(table, ends);
    }
}
