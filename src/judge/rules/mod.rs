//! The rules, in the order in which they decide. Each answers for one tree, in words.

mod busy;
mod case;
mod live;
mod needed;
mod proof;
mod visits;
mod whose;

use super::lifeline::{Inside, Lifeline};
use super::live::Leaks;
use super::{Answer, Code, Judgement, Reason, Scene, Verdict};
use crate::process::{Fact, FarEnd, Pid, Process, Stream};
use crate::tree::{Head, Tree};
use case::Case;
pub use proof::SAMPLE_APART;
use std::cell::OnceCell;
use std::collections::HashSet;

/// What a rule says.
enum Says {
    /// It holds, and asks for this verdict.
    Holds(Verdict, String),
    /// It does not hold.
    No(String),
}
use Says::{Holds, No};

type Rule = (Code, fn(&Case<'_>) -> Says);

const RULES: [Rule; 22] = [
    (Code::LiveHungUp, live::hung_up),
    (Code::Duplicate, live::duplicate),
    (Code::Idle, live::idle),
    (Code::Owned, whose::owned),
    (Code::Foreign, whose::foreign),
    (Code::Protected, whose::protected),
    (Code::Managed, whose::managed),
    (Code::ContainsClient, whose::contains_client),
    (Code::NotStdio, needed::not_stdio),
    (Code::InUse, needed::in_use),
    (Code::Listening, needed::listening),
    (Code::Unreadable, needed::unreadable),
    (Code::Work, busy::work),
    (Code::Browser, busy::browser),
    (Code::Active, busy::active),
    (Code::Young, proof::young),
    (Code::Respawning, proof::respawning),
    (Code::OverBudget, proof::over_budget),
    (Code::Unkillable, proof::unkillable),
    (Code::HungUp, proof::hung_up),
    (Code::Orphaned, proof::orphaned),
    (Code::Unproven, proof::unproven),
];

/// Judges one tree, given the members of all trees that are condemned so far.
pub(super) fn judge_tree(
    scene: Scene<'_>,
    leaks: &Leaks,
    condemned: &HashSet<Pid>,
    tree: &Tree,
) -> Judgement {
    let (Some(root), Some(server)) = (scene.table.get(tree.root), scene.table.get(tree.server)) else {
        return vanished(tree);
    };
    let leak = leaks.get(&tree.root);
    let inside = |pid: Pid| condemned.contains(&pid) || tree.contains(pid);
    let line = |process: &Process, stream: Stream| line(scene, tree, process, stream, &inside);
    let case = Case {
        scene,
        tree,
        condemned,
        pattern: tree.pattern(scene.catalog),
        root,
        server,
        root_line: line(root, tree.lifeline()),
        server_line: line(server, tree.lifeline()),
        other_lines: (tree.ends().into_iter())
            .filter(|(pid, stream)| *stream != tree.lifeline() || ![tree.root, tree.server].contains(pid))
            .filter_map(|(pid, stream)| Some((scene.table.get(pid)?, stream)))
            .map(|(process, stream)| match line(process, stream) {
                Lifeline::Unknown(_) if stream == Stream::Stdin && is_held_within(tree, process) => {
                    Lifeline::HungUp
                }
                line => line,
            })
            .chain(watched(scene, tree, root))
            .collect(),
        sighting: (scene.memory.of(&root.id))
            .filter(|seen| seen.owned == tree.adopter.is_none() && (!seen.owned || leak.is_some())),
        leak,
        visits: OnceCell::new(),
    };
    let mut answers: Vec<Answer> = RULES.iter().map(|(code, rule)| answer(*code, rule(&case))).collect();
    // What was denied cannot be denied by a rule.
    let unreadable = |answer: &Answer| answer.code == Code::Unreadable && answer.verdict.is_some();
    if answers.iter().any(unreadable) {
        let by_facts = |answer: &&mut Answer| answer.verdict.is_none() && rests_on_facts(answer.code);
        for answer in answers.iter_mut().filter(by_facts) {
            answer.text = format!("as far as could be read, {}", answer.text);
        }
    }
    // What the user lets go below a live client is reaped when nothing else speaks against it.
    if let Some((code, text)) = case.lets_go()
        && answers.iter().all(|answer| answer.verdict.is_none())
    {
        let last = answer(code, Holds(Verdict::Reap, text));
        answers.retain(|answer| answer.code != code);
        answers.push(last);
    }
    if answers.iter().all(|answer| answer.verdict.is_none()) {
        let text = "no rule says that nobody needs it".to_owned();
        answers.retain(|answer| answer.code != Code::Unproven);
        answers.push(answer(Code::Unproven, Holds(Verdict::Report, text)));
    }
    let reasons: Vec<Reason> = (answers.iter())
        .filter(|answer| answer.verdict.is_some())
        .map(|answer| Reason { code: answer.code, text: answer.text.clone() })
        .collect();
    let verdict = answers.iter().find_map(|answer| answer.verdict).unwrap_or(Verdict::Report);
    Judgement {
        tree: tree.clone(),
        verdict,
        reasons,
        answers,
        lifeline: case.lifeline().clone(),
        hung_up: case.hung_up(),
        orphaned_for: tree.adopter.and(case.seen_for()),
        wait: case.wait(),
        client: case.client(),
        is_active: case.activity().is_some(),
        command: case.command(),
        returns: case.returns(),
    }
}

/// Whether a rule goes by facts of the processes, and not by time and memory alone.
fn rests_on_facts(code: Code) -> bool {
    !matches!(code, Code::Young | Code::Respawning | Code::OverBudget | Code::Unkillable | Code::Unreadable)
}

fn answer(code: Code, says: Says) -> Answer {
    match says {
        Holds(verdict, text) => Answer { code, verdict: Some(verdict), text },
        No(text) => Answer { code, verdict: None, text },
    }
}

/// The far end of a stream, as it tells about this kind of tree.
fn line(scene: Scene<'_>, tree: &Tree, process: &Process, stream: Stream, inside: Inside<'_>) -> Lifeline {
    if tree.head == Head::Browser {
        return super::lifeline::of_browser(scene.table, process, stream, inside);
    }
    let watched = if process.pid() == tree.root && stream == Stream::Stdin {
        watched(scene, tree, process)
    } else {
        None
    };
    match (Lifeline::of(scene.table, process, stream, inside), watched) {
        // It is told by pid, not over stdin, when nobody needs it any more.
        (Lifeline::NotStdio(_), Some(watched)) => watched,
        (line, _) => line,
    }
}

/// Whether the process lives that a helper was told to watch.
fn watched(scene: Scene<'_>, tree: &Tree, root: &Process) -> Option<Lifeline> {
    let option =
        tree.pattern(scene.catalog).parent_pid_arg.as_deref().filter(|_| tree.head == Head::Helper)?;
    super::lifeline::of_watchdog(scene.table, root, option)
}

/// Whether everyone who was found holding a member's stdin is of its own tree, as its server is that started it. Then it
/// does not matter that somebody could not be searched (ssh-agent and keyrings never can by their own user).
fn is_held_within(tree: &Tree, member: &Process) -> bool {
    match member.far_end(Stream::Stdin) {
        Fact::Known(FarEnd::Open(Some(holders))) => {
            !holders.pids.is_empty() && holders.pids.iter().all(|pid| tree.contains(*pid))
        }
        _ => false,
    }
}

fn vanished(tree: &Tree) -> Judgement {
    let text = "it ended during the look".to_owned();
    Judgement {
        tree: tree.clone(),
        verdict: Verdict::Spare,
        reasons: vec![Reason { code: Code::Unreadable, text: text.clone() }],
        answers: Vec::new(),
        lifeline: Lifeline::Unknown(text),
        hung_up: false,
        orphaned_for: None,
        wait: None,
        client: None,
        is_active: false,
        command: 0,
        returns: 0,
    }
}
