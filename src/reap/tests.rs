use super::*;
use crate::process::BootId;
use MemberRole::{Browser, Launcher, Other, Server};
use proptest::prelude::*;

const TIMING: Timing = Timing {
    settle: Duration::from_secs(2),
    grace: Duration::from_secs(10),
    browser_grace: Duration::from_secs(20),
    last_wait: Duration::from_secs(2),
};

fn pid(number: i32) -> Pid {
    Pid::new(number).unwrap()
}

fn member(number: i32, role: MemberRole) -> Member {
    let id = ProcessId { pid: pid(number), start_ticks: 1, unique: None, boot: BootId(1) };
    Member { id, role, goes_on: false, stopped: false, told: false }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Signals among effects, as `(pid, signal)`.
fn signals(effects: &[Effect]) -> Vec<(i32, Signal)> {
    let signal = |effect: &Effect| match effect {
        Effect::Signal(pid, signal) => Some((pid.get(), *signal)),
        _ => None,
    };
    effects.iter().filter_map(signal).collect()
}

fn outcome(effects: &[Effect]) -> Option<&Outcome> {
    effects.iter().find_map(|effect| match effect {
        Effect::Done(outcome) => Some(outcome),
        _ => None,
    })
}

fn npx() -> Escalation {
    Escalation::new(
        vec![member(10, Launcher), member(11, Launcher), member(12, Server), member(13, Other)],
        TIMING,
    )
}

#[test]
fn servers_and_what_they_started_come_first_then_the_launchers() {
    let mut tree = npx();
    let effects = tree.step(Event::Tick, at(0));
    assert_eq!(signals(&effects), [(12, Signal::Terminate), (13, Signal::Terminate)]);
    assert!(effects.contains(&Effect::WakeAt(at(2))));
    assert_eq!(signals(&tree.step(Event::Exited(pid(12)), at(1))), []);
    let effects = tree.step(Event::Exited(pid(13)), at(1));
    assert_eq!(signals(&effects), [(10, Signal::Terminate), (11, Signal::Terminate)]);
    tree.step(Event::Exited(pid(11)), at(1));
    let effects = tree.step(Event::Exited(pid(10)), at(1));
    assert_eq!(effects, [Effect::Look], "everyone has ended: one more look");
    let effects = tree.step(Event::Looked(vec![]), at(1));
    let done = outcome(&effects).unwrap();
    assert_eq!((done.ending, done.terminated, done.killed, done.took), (Ending::Gone, 4, 0, at(1)));
    assert!(tree.is_done() && tree.step(Event::Tick, at(2)).is_empty());
}

#[test]
fn launchers_follow_after_the_settling_time_even_when_a_server_hangs() {
    let mut tree = npx();
    tree.step(Event::Tick, at(0));
    assert_eq!(signals(&tree.step(Event::Tick, at(2))), [(10, Signal::Terminate), (11, Signal::Terminate)]);
    assert_eq!(signals(&tree.step(Event::Tick, at(5))), [], "nobody gets SIGTERM twice");
    let effects = tree.step(Event::Tick, at(10));
    assert_eq!(effects[0], Effect::Look, "a last look before SIGKILL");
    assert_eq!(signals(&effects).len(), 4);
    assert!(signals(&effects).iter().all(|(_, signal)| *signal == Signal::Kill));
}

#[test]
fn a_browser_gets_more_time_and_its_server_first() {
    let mut tree = Escalation::new(vec![member(1, Server), member(2, Browser)], TIMING);
    assert_eq!(signals(&tree.step(Event::Tick, at(0))), [(1, Signal::Terminate)]);
    assert_eq!(signals(&tree.step(Event::Tick, at(2))), [(2, Signal::Terminate)]);
    assert_eq!(signals(&tree.step(Event::Tick, at(19))), []);
    assert_eq!(signals(&tree.step(Event::Tick, at(20))).len(), 2);
}

#[test]
fn a_stopped_process_is_woken() {
    let mut tree = Escalation::new(vec![Member { stopped: true, ..member(1, Server) }], TIMING);
    assert_eq!(signals(&tree.step(Event::Tick, at(0))), [(1, Signal::Terminate), (1, Signal::Continue)]);
}

#[test]
fn newcomers_join_and_are_not_forgotten_at_the_end() {
    let mut tree = Escalation::new(vec![member(1, Server)], TIMING);
    tree.step(Event::Tick, at(0));
    assert_eq!(tree.step(Event::Exited(pid(1)), at(1)), [Effect::Look]);
    let effects = tree.step(Event::Looked(vec![member(2, Other)]), at(1));
    assert_eq!(signals(&effects), [(2, Signal::Terminate)]);
    assert!(outcome(&effects).is_none());
    assert_eq!(tree.step(Event::Exited(pid(2)), at(2)), [Effect::Look]);
    assert_eq!(outcome(&tree.step(Event::Looked(vec![]), at(2))).unwrap().ending, Ending::Gone);
}

#[test]
fn who_forks_for_ever_is_given_up_in_the_end() {
    let mut tree = Escalation::new(vec![member(1, Server)], TIMING);
    tree.step(Event::Tick, at(0));
    let mut now = 10;
    let mut next = 2;
    tree.step(Event::Tick, at(10));
    while !tree.is_done() {
        assert!(now < 14, "bounded");
        let living: Vec<Pid> = tree.living().map(|id| id.pid).collect();
        for pid in living {
            tree.step(Event::Exited(pid), at(now));
        }
        tree.step(Event::Looked(vec![member(next, Other)]), at(now));
        next += 1;
        now += u64::from(next % 8 == 0);
    }
}

#[test]
fn survivors_and_refusals_are_told_apart() {
    let mut tree = Escalation::new(vec![member(1, Server)], TIMING);
    tree.step(Event::Tick, at(0));
    tree.step(Event::Tick, at(10));
    let effects = tree.step(Event::Tick, at(12));
    assert_eq!(outcome(&effects).unwrap().ending, Ending::Survived);
    let mut tree = Escalation::new(vec![member(1, Server)], TIMING);
    tree.step(Event::Tick, at(0));
    tree.step(Event::SignalFailed(pid(1), "not permitted".to_owned()), at(0));
    tree.step(Event::Tick, at(10));
    let effects = tree.step(Event::Tick, at(12));
    let done = outcome(&effects).unwrap();
    assert_eq!((done.ending, done.survivors[0].1.as_deref()), (Ending::Failed, Some("not permitted")));
}

#[test]
fn sigkill_counts() {
    let mut tree = Escalation::new(vec![member(1, Server), member(2, Server)], TIMING);
    tree.step(Event::Tick, at(0));
    tree.step(Event::Exited(pid(1)), at(1));
    tree.step(Event::Tick, at(10));
    assert_eq!(tree.step(Event::Exited(pid(2)), at(10)), [Effect::Look]);
    let effects = tree.step(Event::Looked(vec![]), at(10));
    let done = outcome(&effects).unwrap();
    assert_eq!((done.ending, done.terminated, done.killed), (Ending::Killed, 2, 1));
}

#[test]
fn left_early_the_living_are_named() {
    let mut tree = Escalation::new(vec![member(1, Server)], TIMING);
    tree.step(Event::Tick, at(0));
    let done = tree.abandon("interrupted", at(3));
    assert_eq!((done.ending, done.survivors.len()), (Ending::Failed, 1));
    assert!(tree.step(Event::Tick, at(20)).is_empty());
}

fn events() -> impl Strategy<Value = Vec<(u8, i32, u64)>> {
    prop::collection::vec((0..5_u8, 1..8_i32, 0..4_u64), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nobody_is_signalled_twice_or_after_his_end(events in events()) {
        let members = vec![member(1, Launcher), member(2, Server), member(3, Browser), member(4, Other)];
        let mut tree = Escalation::new(members, TIMING);
        let mut now = 0;
        let mut sent: Vec<(i32, Signal)> = Vec::new();
        let mut ended: Vec<i32> = Vec::new();
        let mut known = vec![1, 2, 3, 4];
        let mut first_term = None;
        for (kind, number, pause) in events {
            now += pause;
            let event = match kind {
                0 => { if known.contains(&number) { ended.push(number); } Event::Exited(pid(number)) }
                1 => { if !known.contains(&number) { known.push(number); } Event::Looked(vec![member(number, Other)]) }
                2 => Event::SignalFailed(pid(number), "no".to_owned()),
                _ => Event::Tick,
            };
            for (number, signal) in signals(&tree.step(event, at(now))) {
                prop_assert!(!ended.contains(&number), "{number} had ended");
                prop_assert!(!sent.contains(&(number, signal)), "{signal:?} twice to {number}");
                if signal == Signal::Terminate { first_term.get_or_insert(now); }
                if signal == Signal::Kill {
                    prop_assert!(first_term.is_some_and(|first| now >= first + 20), "SIGKILL before the end of the grace period");
                }
                sent.push((number, signal));
            }
        }
    }
}

#[test]
fn a_script_that_would_go_on_ends_before_what_it_waits_for() {
    let script = Member { goes_on: true, ..member(1, Launcher) };
    let mut tree = Escalation::new(vec![member(2, Server), script], TIMING);
    let effects = tree.step(Event::Tick, Duration::ZERO);
    let signalled: Vec<Effect> =
        effects.into_iter().filter(|effect| matches!(effect, Effect::Signal(_, _))).collect();
    assert_eq!(signalled, [1, 2].map(|number| Effect::Signal(pid(number), Signal::Terminate)));
}

#[test]
fn who_had_his_sigterm_in_an_escalation_before_gets_none_in_this_one() {
    let told = |pid: i32, role: MemberRole| Member { told: true, ..member(pid, role) };
    let mut tree = Escalation::new(vec![told(1, Server), member(2, Launcher)], TIMING);
    let first = tree.step(Event::Tick, Duration::ZERO);
    assert!(!first.iter().any(|effect| matches!(effect, Effect::Signal(..))), "{first:?}");
    let settled = tree.step(Event::Tick, TIMING.settle);
    assert!(settled.contains(&Effect::Signal(pid(2), Signal::Terminate)), "{settled:?}");
    let over = tree.step(Event::Tick, TIMING.grace);
    assert!(over.contains(&Effect::Signal(pid(1), Signal::Kill)), "{over:?}");
}
