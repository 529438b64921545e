//! Leaks below a client that lives: servers that it can no longer reach, copies of one server, servers it does not use.

use super::Scene;
use super::lifeline::Lifeline;
use crate::catalog::Role;
use crate::process::{Fact, Pid, Process, Stream};
use crate::tree::{MemberRole, Tree};
use crate::words::duration;
use std::collections::HashMap;
use std::time::Duration;

/// What looks leaked about a tree whose client lives; each in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Leak {
    pub(super) hung_up: Option<String>,
    pub(super) duplicate: Option<String>,
    pub(super) idle: Option<String>,
    /// Why it is never reaped all the same.
    pub(super) stays: Option<&'static str>,
}

/// Leaks by root. Trees without any are not among them.
pub(super) type Leaks = HashMap<Pid, Leak>;

/// What makes two servers of one client copies of each other.
type Copy<'a> = (Pid, &'a str, Vec<&'a [String]>, u64);

/// Looks at all trees that a client owns.
pub(super) fn leaks(scene: Scene<'_>, trees: &[Tree]) -> Leaks {
    let owned: Vec<(&Tree, &Process)> = (trees.iter())
        .filter(|tree| tree.adopter.is_none())
        .filter_map(|tree| Some((tree, scene.table.get(tree.root)?)))
        .filter(|(tree, _)| {
            let members = || tree.members.iter().filter_map(|member| scene.table.get(member.pid));
            members().all(|process| scene.policy.protection_of(process).is_none())
        })
        .filter(|(_, root)| root.parent.is_some_and(|parent| scene.roles.role(parent) == Some(Role::Client)))
        .collect();
    let mut copies: HashMap<Copy<'_>, Vec<&Process>> = HashMap::new();
    for (tree, root) in &owned {
        if let Some(copy) = copy(scene, tree, root) {
            copies.entry(copy).or_default().push(root);
        }
    }
    copies.values_mut().for_each(|roots| {
        roots.sort_by_key(|root| std::cmp::Reverse((root.id.start_ticks, root.pid())));
    });
    let mut found = Leaks::new();
    for (tree, root) in owned {
        let among = copy(scene, tree, root).and_then(|copy| copies.get(&copy)).map_or(&[][..], Vec::as_slice);
        let rank = among.iter().position(|other| other.pid() == root.pid()).unwrap_or(0);
        let quiet = quiet_for(scene, tree);
        let leak = Leak {
            hung_up: hung_up(scene, tree),
            duplicate: duplicate(scene, among, rank),
            idle: idle(scene, quiet),
            stays: stays(tree, rank, quiet),
        };
        if leak.hung_up.is_some() || leak.duplicate.is_some() || leak.idle.is_some() {
            found.insert(tree.root, leak);
        }
    }
    found
}

/// `None` where it cannot be known: no two servers are copies then.
fn copy<'a>(scene: Scene<'a>, tree: &'a Tree, root: &'a Process) -> Option<Copy<'a>> {
    let environment = *root.details.environment.known()?;
    let commands: Option<Vec<&[String]>> =
        (tree.chain.iter()).map(|pid| scene.table.get(*pid)?.command.known().map(Vec::as_slice)).collect();
    Some((root.parent?, tree.name.as_str(), commands?, environment))
}

fn stays(tree: &Tree, rank: usize, quiet: Option<Duration>) -> Option<&'static str> {
    if tree.members_of(MemberRole::Browser).next().is_some() {
        Some("a browser lives below it")
    } else if rank == 0 {
        Some("it is the newest copy that its client has")
    } else if quiet.is_none_or(|quiet| quiet.is_zero()) {
        Some("no earlier look has seen it quiet")
    } else {
        None
    }
}

fn hung_up(scene: Scene<'_>, tree: &Tree) -> Option<String> {
    let line = |pid: Pid| {
        scene
            .table
            .get(pid)
            .map(|process| Lifeline::of(scene.table, process, Stream::Stdin, &|pid| tree.contains(pid)))
    };
    let both = [tree.root, tree.server].into_iter().all(|pid| line(pid) == Some(Lifeline::HungUp));
    both.then(|| {
        "its client lives, but nobody holds the other end of its stdin: nothing can reach it".to_owned()
    })
}

fn duplicate(scene: Scene<'_>, among: &[&Process], rank: usize) -> Option<String> {
    let allowed = scene.policy.live.copies;
    (rank >= allowed).then(|| {
        format!(
            "its client has {} copies of it with the same command and environment, {rank} of them newer (live.copies = {allowed})",
            among.len()
        )
    })
}

fn idle(scene: Scene<'_>, quiet: Option<Duration>) -> Option<String> {
    let quiet = quiet.filter(|quiet| *quiet >= scene.policy.live.idle_for)?;
    Some(format!("its client lives and has not used it for {}", duration(quiet)))
}

/// For how long none of its processes has moved more than noise. Only earlier looks can tell.
fn quiet_for(scene: Scene<'_>, tree: &Tree) -> Option<Duration> {
    let now = scene.table.at.awake;
    let quiet = |process: &Process| -> Option<Duration> {
        let sample = scene.memory.sample(&process.id)?;
        let Fact::Known(moved) = &process.details.moved else { return None };
        (!sample.has_moved_since(moved)).then(|| now.saturating_sub(sample.quiet_since))
    };
    let members = tree.members.iter().filter_map(|member| scene.table.get(member.pid));
    members.map(quiet).collect::<Option<Vec<Duration>>>()?.into_iter().min()
}
