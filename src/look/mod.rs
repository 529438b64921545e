//! One look: which facts to read of whom, step by step, until trees can be judged.
//!
//! A look is cheap because it asks little: `stat` of everybody, command lines of those who may be an orphan's root or
//! stand below one or below a client, everything else only of the members of trees.

mod all_facts;
mod familiar;
mod newcomers;
mod reader;
mod remember;

pub use all_facts::all_facts;
pub use familiar::Familiar;
pub use newcomers::{Falling, alone_with_their_stdin, newcomers};

use crate::catalog::Catalog;
use crate::host::{Host, HostError};
use crate::judge::{Answer, Code, Judgement, Plan, Policy, Scene, judge};
use crate::memory::Memory;
use crate::process::{Pid, ProcessTable};
use crate::tree::{Adopters, Roles, Tree};
use reader::Reader;

/// How far a look goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Breadth {
    /// Trees that somebody inherited, and those of live clients.
    Orphans,
    /// The same, and whose every other tree is: what a daemon waits for.
    Owners,
    /// Every tree, also those with an owner, with everything about it.
    Everything,
}

/// What a look saw.
pub struct Look {
    /// The processes.
    pub table: ProcessTable,
    /// What they are.
    pub roles: Roles,
    /// The verdicts.
    pub plan: Plan,
}

/// What judging goes by.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    /// Patterns.
    pub catalog: &'a Catalog,
    /// Settings.
    pub policy: &'a Policy,
}

/// Looks and judges.
pub fn look<H: Host>(
    host: &H,
    judging: Judging<'_>,
    memory: &Memory,
    breadth: Breadth,
) -> Result<Look, HostError> {
    look_past(&Familiar::default(), host, judging, memory, breadth).map(|(look, _)| look)
}

/// One look of many: what is `familiar` is not read again. For one catalog only.
pub fn look_again<H: Host>(
    host: &H,
    judging: Judging<'_>,
    memory: &Memory,
    familiar: &mut Familiar,
) -> Result<Look, HostError> {
    let (look, adopters) = look_past(familiar, host, judging, memory, Breadth::Owners)?;
    familiar.learn(&look, &adopters);
    Ok(look)
}

fn look_past<H: Host>(
    familiar: &Familiar,
    host: &H,
    judging: Judging<'_>,
    memory: &Memory,
    breadth: Breadth,
) -> Result<(Look, Adopters), HostError> {
    let Judging { catalog, policy } = judging;
    let mut table = host.list()?;
    let memory = if memory.boot == table.boot { memory } else { &Memory::empty(table.boot) };
    let mut reader = Reader { host, catalog, policy, memory, familiar, roles: Roles::default() };
    let adopters = match breadth {
        Breadth::Orphans => reader.read_orphans(&mut table),
        Breadth::Owners | Breadth::Everything => reader.read_everything(&mut table),
    };
    let found = reader.read_trees(&mut table, &adopters, breadth);
    let scene = Scene { table: &table, roles: &reader.roles, catalog, policy, memory };
    let mut plan = judge(scene, found.clone());
    // Whoever holds a lifeline is said by name, also one who is familiar as nobody.
    if reader.read_holders_of_lifelines(&mut table, &plan) {
        plan = judge(Scene { table: &table, roles: &reader.roles, catalog, policy, memory }, found.clone());
    }
    // What leaks below a live client is shown, so everything is said of it; few do.
    let leaks = |judgement: &&Judgement| judgement.answers.iter().any(Answer::is_live_leak);
    let leaking: Vec<Tree> =
        plan.judgements.iter().filter(leaks).map(|judgement| judgement.tree.clone()).collect();
    if !leaking.is_empty() && !reader.is_searched_always(breadth) {
        reader.read_others(&mut table, &leaking);
        plan = judge(Scene { table: &table, roles: &reader.roles, catalog, policy, memory }, found);
    }
    let roles = reader.roles;
    let shown = plan.judgements.iter().filter(|judgement| judgement.code() != Code::Owned);
    let members: Vec<Pid> =
        shown.flat_map(|judgement| judgement.tree.members.iter().map(|member| member.pid)).collect();
    host.read_shares(&mut table, &members);
    Ok((Look { table, roles, plan }, adopters))
}
