//! Who turned up while trees were being taken down, and whose child that is.

use super::Judging;
use crate::catalog::Role;
use crate::host::{Host, HostError};
use crate::process::{Descriptor, Pid, Process, ProcessTable, State};
use crate::tree::{Roles, Tree, is_users_browser};
use std::collections::HashSet;

/// A tree that is being taken down, and who of it still lives.
pub struct Falling<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// Members that have not ended.
    pub living: Vec<Pid>,
    /// Whether nobody else had its stdin when it was condemned.
    pub alone: bool,
}

/// Processes that appeared since `before`, by tree: children of members that still live, and children that members left
/// behind when they ended. Those an adopter inherited; they are known by the tree's own dead stdin.
///
/// A client, a host, a user's browser or something protected that was started meanwhile is not taken.
pub fn newcomers<H: Host>(
    host: &H,
    judging: Judging<'_>,
    before: &ProcessTable,
    falling: &[Falling<'_>],
) -> Result<Vec<Vec<Process>>, HostError> {
    let mut table = host.list()?;
    let new = |process: &Process| {
        process.state != State::Zombie
            && !before.get(process.pid()).is_some_and(|old| old.id.same(&process.id))
    };
    // An adopter that may have started a process itself gives no heirs.
    let adopters: HashSet<Pid> = falling.iter().filter_map(|falling| strong_adopter(falling.tree)).collect();
    let living: HashSet<Pid> = falling.iter().flat_map(|falling| falling.living.iter().copied()).collect();
    let heirs: Vec<Pid> = (table.iter())
        .filter(|process| new(process) && process.parent.is_some_and(|parent| adopters.contains(&parent)))
        .map(Process::pid)
        .collect();
    let mut fresh = heirs.clone();
    for top in living.iter().chain(&heirs) {
        fresh.extend(table.subtree(*top, new).into_iter().filter(|pid| !living.contains(pid)));
    }
    fresh.sort_unstable();
    fresh.dedup();
    host.read_details(&mut table, &fresh);
    let roles = Roles::of(&table, judging.catalog);
    let found = falling.iter().map(|falling| {
        let user = before.get(falling.tree.root).and_then(|root| root.details.users.known()).copied();
        let takes = |process: &Process| {
            let same_user = user.is_some() && process.details.users.known().copied() == user;
            let role = roles.role(process.pid());
            let somebodys =
                matches!(role, Some(Role::Client | Role::Host)) || is_users_browser(&table, &roles, process);
            new(process) && same_user && !somebodys && judging.policy.protection_of(process).is_none()
        };
        let left = left_behind(host, before, &table, falling, &heirs);
        let left = left.into_iter().filter(|pid| table.get(*pid).is_some_and(takes));
        let tops: Vec<Pid> = left.chain(falling.living.iter().copied()).collect();
        let mut mine: Vec<Pid> = tops.iter().flat_map(|top| table.subtree(*top, takes)).collect();
        mine.sort_unstable();
        mine.dedup();
        mine.into_iter().filter_map(|pid| table.get(pid)).filter(|process| takes(process)).cloned().collect()
    });
    Ok(found.collect())
}

fn strong_adopter(tree: &Tree) -> Option<Pid> {
    tree.adopter.filter(|adopter| !adopter.kind.is_weak()).map(|adopter| adopter.pid)
}

/// Children that a tree's members left to its adopter when they ended: they have its own dead stdin, and nobody outside
/// the tree has it.
fn left_behind<H: Host>(
    host: &H,
    before: &ProcessTable,
    table: &ProcessTable,
    falling: &Falling<'_>,
    heirs: &[Pid],
) -> Vec<Pid> {
    let lifelines = lifelines(before, falling.tree);
    let adopter = strong_adopter(falling.tree);
    let left: Vec<Pid> = (heirs.iter().copied())
        .filter(|pid| {
            let heir = table.get(*pid).filter(|heir| falling.alone && heir.parent == adopter);
            heir.and_then(Process::stdin).is_some_and(|stdin| lifelines.contains(stdin))
        })
        .collect();
    if left.is_empty() {
        return left;
    }
    let below_left =
        |pid: Pid| std::iter::once(pid).chain(table.ancestors(pid)).any(|pid| left.contains(&pid));
    let own = |pid: &Pid| falling.tree.contains(*pid) || below_left(*pid);
    match host.sharers(table, &lifelines) {
        Some(sharers) if sharers.iter().flatten().all(own) => left,
        _ => Vec::new(),
    }
}

/// What root to server have as stdin.
fn lifelines(table: &ProcessTable, tree: &Tree) -> Vec<Descriptor> {
    let mut found: Vec<Descriptor> = Vec::new();
    for stdin in tree.chain.iter().filter_map(|pid| table.get(*pid)?.stdin().filter(|stdin| stdin.is_stdio()))
    {
        if !found.contains(stdin) {
            found.push(stdin.clone());
        }
    }
    found
}

/// Whether each tree is alone with its stdin. Where a stranger has it too, a process that turns up with it later may be
/// the stranger's child.
pub fn alone_with_their_stdin<H: Host>(host: &H, table: &ProcessTable, trees: &[&Tree]) -> Vec<bool> {
    let lifelines: Vec<Vec<Descriptor>> = trees.iter().map(|tree| lifelines(table, tree)).collect();
    let Some(sharers) = host.sharers(table, &lifelines.concat()) else { return vec![false; trees.len()] };
    let mut sharers = sharers.into_iter();
    (trees.iter().zip(&lifelines))
        .map(|(tree, lifelines)| {
            let own: Vec<Vec<Pid>> = sharers.by_ref().take(lifelines.len()).collect();
            own.iter().flatten().all(|pid| tree.contains(*pid))
        })
        .collect()
}
