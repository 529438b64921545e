//! What the user wants: the settings that judging depends on.

use crate::catalog::{Catalog, PatternError, PatternText, Role, Words, glob};
use crate::process::{Fact, Process};
use globset::GlobMatcher;
use std::time::Duration;

/// What to do about an orphan whose lifeline cannot be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithoutProof {
    /// Show it.
    Report,
    /// Reap it after a long time, where a strong pattern names it.
    Reap,
}

/// What to do about a leak below a client that lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Live {
    /// Nothing; its client owns it.
    Ignore,
    /// Show it.
    Report,
    /// Reap it, except the newest copy and what has a live browser.
    Reap,
}

/// Leaks below live clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LivePolicy {
    /// Servers that their client can no longer reach.
    pub hung_up: Live,
    /// Copies of one server with one environment.
    pub duplicates: Live,
    /// How many such copies a client may have.
    pub copies: usize,
    /// Servers that move nothing.
    pub idle: Live,
    /// For how long.
    pub idle_for: Duration,
}

impl LivePolicy {
    /// Whether anything below a live client may be reaped.
    pub fn reaps(&self) -> bool {
        [self.hung_up, self.duplicates, self.idle].contains(&Live::Reap)
    }
}

/// Settings of judging.
#[derive(Debug)]
pub struct Policy {
    /// How long a tree must have been seen orphaned.
    pub min_age: Duration,
    /// How far apart two looks must see it hung up when nobody knew it before.
    pub confirm: Duration,
    /// What to do without proof.
    pub without_proof: WithoutProof,
    /// How long a tree must have been seen orphaned to be reaped without proof.
    pub without_proof_after: Duration,
    /// How long a live browser spares its tree.
    pub browser_for: Duration,
    /// Disk traffic or a new child within this time spares a tree. Zero: never.
    pub active_window: Duration,
    /// For how long at the most, from when it was first seen orphaned.
    pub active_for: Duration,
    /// How often a command may come back right after it was taken down.
    pub respawns: usize,
    /// Leaks below live clients.
    pub live: LivePolicy,
    /// How many trees one sweep may take down.
    pub trees_per_sweep: usize,
    /// What the user protects.
    pub spare: Vec<SpareRule>,
}

impl Policy {
    /// Why a process is protected: by its own environment or by a rule.
    pub fn protection_of(&self, process: &Process) -> Option<String> {
        if process.details.marks.known().is_some_and(|marks| marks.orphand.as_deref() == Some("keep")) {
            return Some(format!("ORPHAND=keep is in the environment of process {}", process.pid()));
        }
        let rule = self.spare.iter().find(|rule| rule.protects(process) == Some(true))?;
        Some(format!("the rule \"{}\" protects process {}", rule.name, process.pid()))
    }
}

/// A `[[protect]]` rule as it is written. Every key that is given must hold, for one process of the tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpareText {
    /// Name or number of the user.
    pub user: Words,
    /// Control group path, as a glob with `**`.
    pub cgroup: Words,
    /// The rule's name, and the naming keys of a pattern, if any.
    pub naming: PatternText,
}

/// A compiled `[[protect]]` rule.
#[derive(Debug)]
pub struct SpareRule {
    /// What people call it.
    pub name: String,
    users: Vec<u32>,
    cgroups: Vec<GlobMatcher>,
    naming: Option<Catalog>,
}

impl SpareRule {
    /// Compiles a rule. `uid_of` finds the number of a user by name.
    pub fn compile(text: SpareText, uid_of: impl Fn(&str) -> Option<u32>) -> Result<SpareRule, PatternError> {
        let SpareText { user, cgroup, naming } = text;
        let name = naming.name.clone();
        let fail = |problem: String| PatternError { name: name.clone(), problem };
        let users = (user.as_slice().iter())
            .map(|user| {
                let uid = user.parse().ok().or_else(|| uid_of(user));
                uid.ok_or_else(|| fail(format!("there is no user `{user}` on this machine")))
            })
            .collect::<Result<Vec<u32>, _>>()?;
        let cgroups =
            cgroup.as_slice().iter().map(|word| glob(word)).collect::<Result<Vec<_>, _>>().map_err(fail)?;
        let naming =
            naming.names_something().then(|| Catalog::compile([(Role::Host, true, naming)])).transpose()?;
        if users.is_empty() && cgroups.is_empty() && naming.is_none() {
            let problem = "has no condition, so it would spare everything; give it one of user, cgroup, package, \
                           program, script, module, image, path, directory or cmdline";
            return Err(PatternError { name, problem: problem.to_owned() });
        }
        Ok(SpareRule { name, users, cgroups, naming })
    }

    /// Whether it protects this process. A fact that it needs and that is hidden protects too: `None`.
    pub fn protects(&self, process: &Process) -> Option<bool> {
        let mut hidden = false;
        if !self.users.is_empty() {
            match &process.details.users {
                Fact::Known(users) if !self.users.contains(&users.real) => return Some(false),
                Fact::Known(_) => {}
                _ => hidden = true,
            }
        }
        if !self.cgroups.is_empty() {
            match &process.details.cgroup {
                Fact::Known(path) if !self.cgroups.iter().any(|glob| glob.is_match(path)) => {
                    return Some(false);
                }
                Fact::Absent => return Some(false),
                Fact::Known(_) => {}
                _ => hidden = true,
            }
        }
        if let Some(naming) = &self.naming {
            match &process.command {
                Fact::Known(command) => {
                    let named = naming.classify(command).is_some_and(|found| found.pattern.is_some());
                    if !named {
                        return Some(false);
                    }
                }
                _ => hidden = true,
            }
        }
        if hidden { None } else { Some(true) }
    }
}
