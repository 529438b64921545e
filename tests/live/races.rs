//! What may happen between looking and signalling. The machine is the real one; only the moment is chosen by the test.

use crate::stage::{Stage, actor, client, npx, on_stage};
use orphand::config::{Settings, Sources, load};
use orphand::host::linux::{Linux, PidFd};
use orphand::host::{Host, HostError};
use orphand::look::{Breadth, Judging, look};
use orphand::memory::Memory;
use orphand::process::{BootId, Descriptor, Fact, Observer, Pid, ProcessId, ProcessTable, Stream};
use orphand::status::Shortcoming;
use orphand::sweep::{Claims, Halt, Outcome, Reaped, Rules, sweep};
use std::cell::{Cell, RefCell};
use tokio::sync::watch;

/// The real machine, with something happening right before its n-th look, or right after the n-th pin.
struct Meddled<'a> {
    linux: Linux,
    looks: Cell<usize>,
    before_look: usize,
    pins: Cell<usize>,
    after_pin: usize,
    event: RefCell<Option<Box<dyn FnOnce() + 'a>>>,
}

impl Meddled<'_> {
    fn happen(&self) {
        if let Some(event) = self.event.borrow_mut().take() {
            event();
        }
    }
}

impl Host for Meddled<'_> {
    type Pin = PidFd;

    fn observer(&self) -> &Observer {
        self.linux.observer()
    }
    fn boot(&self) -> BootId {
        self.linux.boot()
    }
    fn list(&self) -> Result<ProcessTable, HostError> {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() == self.before_look {
            self.happen();
        }
        self.linux.list()
    }
    fn read_commands(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.linux.read_commands(table, pids);
    }
    fn command_of(&self, pid: Pid) -> Fact<Vec<String>> {
        self.linux.command_of(pid)
    }
    fn read_details(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.linux.read_details(table, pids);
    }
    fn read_users(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.linux.read_users(table, pids);
    }
    fn read_moved(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.linux.read_moved(table, pids);
    }
    fn read_shares(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.linux.read_shares(table, pids);
    }
    fn read_channels(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.linux.read_channels(table, pids);
    }
    fn read_far_ends(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        self.linux.read_far_ends(table, ends);
    }
    fn read_holders(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        self.linux.read_holders(table, ends);
    }
    fn sharers(&self, table: &ProcessTable, descriptors: &[Descriptor]) -> Option<Vec<Vec<Pid>>> {
        self.linux.sharers(table, descriptors)
    }
    fn room_for_pins(&self) -> usize {
        self.linux.room_for_pins()
    }
    fn self_test(&self) -> Vec<Shortcoming> {
        self.linux.self_test()
    }
    fn guarantee(&self) -> orphand::host::Guarantee {
        self.linux.guarantee()
    }

    fn pin_exactly(&self, id: &ProcessId) -> Result<PidFd, HostError> {
        self.linux.pin_exactly(id)
    }
    fn pin(&self, pid: Pid) -> Result<PidFd, HostError> {
        let pin = self.linux.pin(pid);
        self.pins.set(self.pins.get() + 1);
        if self.pins.get() == self.after_pin {
            self.happen();
        }
        pin
    }
}

const NEVER: usize = usize::MAX;

fn settings() -> Settings {
    let set = [
        "orphan.min_age=0s",
        "orphan.confirm=0s",
        "spare.active_window=0s",
        "reap.settle=100ms",
        "reap.grace=500ms",
        "reap.browser_grace=500ms",
    ];
    load(&Sources { set: set.map(str::to_owned).to_vec(), ..Sources::default() }).expect("good settings")
}

/// Sweeps while `event` happens before the n-th look or after the n-th pin.
fn sweep_while(before_look: usize, after_pin: usize, event: impl FnOnce()) -> Vec<Reaped> {
    let (_ask, halt) = watch::channel(Halt::GoOn);
    sweep_beside(&Claims::default(), halt, before_look, after_pin, event)
}

/// The same beside other sweeps, and asked to stop.
fn sweep_beside(
    claims: &Claims,
    halt: watch::Receiver<Halt>,
    before_look: usize,
    after_pin: usize,
    event: impl FnOnce(),
) -> Vec<Reaped> {
    let settings = settings();
    let host = Meddled {
        linux: Linux::new().expect("/proc"),
        looks: Cell::new(0),
        before_look,
        pins: Cell::new(0),
        after_pin,
        event: RefCell::new(Some(Box::new(event))),
    };
    let memory = Memory::empty(host.boot());
    let judging = Judging { catalog: &settings.catalog, policy: &settings.policy };
    let first = look(&host, judging, &memory, Breadth::Orphans).expect("a look");
    assert_eq!(first.plan.to_reap().count(), 1, "one orphan is on stage");
    let memory = first.remember(&memory, &settings.catalog);
    let rules = Rules { judging, timing: settings.timing };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let reaped = runtime.block_on(sweep(&host, rules, &memory, &first, claims, halt)).expect("a sweep");
    let never = before_look == NEVER && after_pin == NEVER;
    assert!(never || host.event.borrow().is_none(), "it has happened");
    reaped
}

fn spared(reaped: &[Reaped]) -> &str {
    match &reaped[0].outcome {
        Outcome::SparedOnRecheck(why) => why,
        other => panic!("not spared: {other:?}"),
    }
}

fn orphan(stage: &mut Stage) {
    stage.enter(
        client("dead")
            .child(actor("orphan", "foo-mcp").becomes(actor("other", "vim notes.md").stdio("inherit"))),
    );
    stage.crash("dead");
}

#[test]
fn a_server_that_becomes_another_program_is_spared() {
    on_stage("races::a_server_that_becomes_another_program_is_spared", |stage| {
        orphan(stage);
        let cell = RefCell::new(stage);
        let reaped = sweep_while(2, NEVER, || {
            let mut stage = cell.borrow_mut();
            stage.send("orphan", rustix::process::Signal::USR1);
            assert_eq!(stage.hear(), "other");
        });
        assert!(spared(&reaped).contains("no orphaned MCP server any more"), "{reaped:?}");
        let stage = cell.into_inner();
        assert_eq!(stage.pid("orphan"), stage.pid("other"));
        stage.assert_alive(&["other"]);
    });
}

#[test]
fn a_tree_whose_launcher_ended_meanwhile_is_judged_anew_next_time() {
    on_stage("races::a_tree_whose_launcher_ended_meanwhile_is_judged_anew_next_time", |stage| {
        stage.enter(client("dead").child(npx("orphan", "mysql-mcp-server")));
        stage.crash("dead");
        let cell = RefCell::new(stage);
        let reaped = sweep_while(2, NEVER, || cell.borrow_mut().crash("orphan"));
        assert!(spared(&reaped).contains("ended by itself"), "{reaped:?}");
        let stage = cell.into_inner();
        stage.assert_alive(&["orphan-sh", "orphan-leaf"]);
        assert_eq!(sweep_while(1, NEVER, || {}).len(), 1);
        stage.assert_gone(&["orphan-sh", "orphan-leaf"]);
    });
}

#[test]
fn a_new_child_meanwhile_is_held_and_goes_with_its_tree() {
    on_stage("races::a_new_child_meanwhile_is_held_and_goes_with_its_tree", |stage| {
        let grows = actor("orphan", "foo-mcp")
            .becomes(actor("grown", "foo-mcp").stdio("inherit").child(actor("late", "worker")));
        stage.enter(client("dead").child(grows));
        stage.crash("dead");
        let cell = RefCell::new(stage);
        let reaped = sweep_while(2, NEVER, || {
            let mut stage = cell.borrow_mut();
            stage.send("orphan", rustix::process::Signal::USR1);
            let mut heard = [stage.hear(), stage.hear()];
            heard.sort();
            assert_eq!(heard, ["grown", "late"]);
        });
        assert!(matches!(reaped[0].outcome, Outcome::Ended(_)), "{reaped:?}");
        cell.into_inner().assert_gone(&["grown", "late"]);
    });
}

/// Ends a process and has a newcomer start under its very number.
fn reuse(stage: &RefCell<&mut Stage>, newcomer: &str) {
    let mut stage = stage.borrow_mut();
    let number = stage.pid("orphan");
    stage.crash("orphan");
    for _ in 0..200 {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string())
            .expect("root of the namespace may");
        stage.enter(actor("newcomer", newcomer).stdio("null"));
        if stage.pid("newcomer") == number {
            return;
        }
    }
    panic!("the number {number} was not given out again");
}

#[test]
fn a_newcomer_under_a_reused_pid_lives_whenever_it_comes() {
    on_stage("races::a_newcomer_under_a_reused_pid_lives_whenever_it_comes", |stage| {
        if std::fs::write(
            "/proc/sys/kernel/ns_last_pid",
            std::fs::read_to_string("/proc/sys/kernel/ns_last_pid").unwrap_or_default().trim(),
        )
        .is_err()
        {
            println!(
                "skipped: pids cannot be chosen here (CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE is needed)"
            );
            return;
        }
        let cell = RefCell::new(stage);
        // Before anything is held; between holding and the second look. The newcomer even has the victim's name.
        for (before_look, after_pin) in [(NEVER, 1), (2, NEVER)] {
            for newcomer in ["foo-mcp", "sleep 1000"] {
                orphan(*cell.borrow_mut());
                let reaped = sweep_while(before_look, after_pin, || reuse(&cell, newcomer));
                spared(&reaped);
                let mut stage = cell.borrow_mut();
                assert_eq!(stage.pid("newcomer"), stage.pid("orphan"), "the number was reused");
                stage.assert_alive(&["newcomer"]);
                stage.crash("newcomer");
            }
        }
    });
}

#[test]
fn a_pin_on_a_reused_pid_reaches_nobody() {
    on_stage("races::a_pin_on_a_reused_pid_reaches_nobody", |stage| {
        use orphand::host::Pin;
        use orphand::reap::Signal;
        orphan(stage);
        let linux = Linux::new().expect("/proc");
        let pin = linux.pin(Pid::new(stage.pid("orphan")).unwrap()).expect("held");
        assert!(!pin.has_ended());
        let cell = RefCell::new(stage);
        reuse(&cell, "sleep 1000");
        assert!(pin.has_ended());
        for signal in [Signal::Terminate, Signal::Continue, Signal::Kill] {
            assert!(matches!(pin.signal(signal), Err(HostError::Ended)));
        }
        cell.borrow().assert_alive(&["newcomer"]);
    });
}

#[test]
fn asked_to_stop_before_the_first_signal_nothing_is_signalled() {
    on_stage("races::asked_to_stop_before_the_first_signal_nothing_is_signalled", |stage| {
        orphan(stage);
        let (ask, halt) = watch::channel(Halt::GoOn);
        let stop = || {
            ask.send_replace(Halt::BeginNothing);
        };
        let reaped = sweep_beside(&Claims::default(), halt, 2, NEVER, stop);
        assert!(spared(&reaped).contains("before the first signal"), "{reaped:?}");
        stage.assert_alive(&["orphan"]);
    });
}

#[test]
fn two_sweeps_at_once_signal_nobody_twice() {
    on_stage("races::two_sweeps_at_once_signal_nobody_twice", |stage| {
        orphan(stage);
        let claims = Claims::default();
        let (_ask, halt) = watch::channel(Halt::GoOn);
        let mut second = Vec::new();
        // The second begins when the first has its tree in hand.
        let begin = || {
            let beside = || sweep_beside(&claims, halt.clone(), NEVER, NEVER, || {});
            second = std::thread::scope(|scope| scope.spawn(beside).join().expect("a second sweep"));
        };
        let first = sweep_beside(&claims, halt.clone(), NEVER, 1, begin);
        assert!(spared(&second).contains("already being taken down"), "{second:?}");
        assert!(matches!(first[0].outcome, Outcome::Ended(_)), "{first:?}");
        stage.assert_gone(&["orphan"]);
    });
}
