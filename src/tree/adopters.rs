//! Who inherits orphans. Verified by user, parent and arguments, never by a name alone.

use super::Roles;
use crate::catalog::Role;
use crate::invocation::base_name;
use crate::memory::{Kin, Memory};
use crate::process::{Pid, PidMap, Process, ProcessTable};
use std::collections::HashSet;

/// How a process came to inherit orphans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdopterKind {
    /// PID 1, an init.
    Init,
    /// A user's `systemd --user`.
    UserManager,
    /// WSL's `/init` and its relays.
    Wsl,
    /// Named in the configuration.
    Configured,
    /// Another process that was seen to inherit: a parent changes only when it ends.
    Subreaper,
    /// PID 1 of a container that is no init: a gateway, a client, `sleep infinity`. Its children may be its own.
    ContainerInit,
}

impl AdopterKind {
    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            AdopterKind::Init => "init",
            AdopterKind::UserManager => "user-manager",
            AdopterKind::Wsl => "wsl",
            AdopterKind::Configured => "configured",
            AdopterKind::Subreaper => "subreaper",
            AdopterKind::ContainerInit => "container-init",
        }
    }

    /// Whether a parent of this kind may just as well have started the process itself.
    pub fn is_weak(self) -> bool {
        matches!(self, AdopterKind::ContainerInit | AdopterKind::Subreaper)
    }
}

/// The adopter of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adopter {
    /// How it came to inherit.
    pub kind: AdopterKind,
    /// Which process it is.
    pub pid: Pid,
}

/// All adopters of a table.
#[derive(Debug, Default)]
pub struct Adopters {
    kinds: PidMap<AdopterKind>,
    /// Processes that have another parent than when they were first seen.
    adopted: HashSet<Pid>,
}

/// Programs that are made to be PID 1.
const INITS: [&str; 19] = [
    "systemd",
    "init",
    "launchd",
    "tini",
    "tini-static",
    "dumb-init",
    "catatonit",
    "docker-init",
    "podman-init",
    "s6-svscan",
    "runit",
    "runit-init",
    "openrc-init",
    "sinit",
    "finit",
    "dinit",
    "procd",
    "pid1",
    "upstart",
];

impl Adopters {
    /// Finds the adopters among the processes whose command line was read, and those whom earlier looks prove.
    pub fn of(table: &ProcessTable, roles: &Roles, memory: &Memory) -> Adopters {
        let mut found = Adopters::default();
        for process in table.iter() {
            if let Some(kind) = found.kind_of(table, roles, process) {
                found.kinds.insert(process.pid(), kind);
            }
        }
        // A client or a host that has inherited something may still use it.
        let owns = |pid: Pid| matches!(roles.role(pid), Some(Role::Client | Role::Host));
        let moved = |kin: &&Kin| {
            table.get(kin.id.pid).is_some_and(|now| {
                now.id.same(&kin.id) && now.parent != kin.parent && !now.parent.is_some_and(owns)
            })
        };
        found.adopted = memory.all_kin().filter(moved).map(|kin| kin.id.pid).collect();
        found
    }

    /// Whether this process was seen with another parent before, so that the present one has adopted it.
    pub fn was_adopted(&self, pid: Pid) -> bool {
        self.adopted.contains(&pid)
    }

    /// Whether a process inherits orphans of anybody.
    pub fn is_adopter(&self, pid: Pid) -> bool {
        self.kinds.contains_key(&pid)
    }

    /// All of them, in no order.
    pub fn pids(&self) -> impl Iterator<Item = Pid> {
        self.kinds.keys().copied()
    }

    /// The adopter that is the parent of this process, if its parent is one that can have inherited it.
    pub fn adopter_of(&self, table: &ProcessTable, pid: Pid) -> Option<Adopter> {
        let process = table.get(pid)?;
        let parent = table.parent(process)?;
        let Some(kind) = self.kinds.get(&parent.pid()).copied() else {
            let adopter = Adopter { kind: AdopterKind::Subreaper, pid: parent.pid() };
            return self.was_adopted(pid).then_some(adopter);
        };
        let user = |process: &Process| process.details.users.known().map(|users| users.real);
        let fits = match kind {
            AdopterKind::Init | AdopterKind::ContainerInit | AdopterKind::Wsl | AdopterKind::Subreaper => {
                true
            }
            // A user's manager inherits only what that user started.
            AdopterKind::UserManager => user(parent).is_some() && user(parent) == user(process),
            AdopterKind::Configured => user(parent).is_some_and(|uid| uid == 0 || Some(uid) == user(process)),
        };
        fits.then_some(Adopter { kind, pid: parent.pid() })
    }

    fn kind_of(&self, table: &ProcessTable, roles: &Roles, process: &Process) -> Option<AdopterKind> {
        let program = process.arguments().first().map(String::as_str).unwrap_or_default();
        if process.pid() == Pid::INIT {
            // A title such as `/sbin/init splash` is one word too many for the first argument alone.
            let name = base_name(program.split_whitespace().next().unwrap_or_default());
            let busybox_init =
                name == "busybox" && process.arguments().get(1).is_some_and(|word| word == "init");
            let known = INITS.contains(&name) || busybox_init;
            return Some(if known { AdopterKind::Init } else { AdopterKind::ContainerInit });
        }
        let child_of_init = process.parent == Some(Pid::INIT);
        let user_manager =
            base_name(program) == "systemd" && process.arguments().iter().any(|word| word == "--user");
        if child_of_init && user_manager {
            return Some(AdopterKind::UserManager);
        }
        if table.observer.wsl && is_wsl_init(program) {
            let of_root = process.details.users.known().is_some_and(|users| users.real == 0);
            let below = child_of_init
                || process.parent.is_some_and(|parent| self.kinds.get(&parent) == Some(&AdopterKind::Wsl));
            if of_root && below {
                return Some(AdopterKind::Wsl);
            }
        }
        (roles.role(process.pid()) == Some(Role::Adopter)).then_some(AdopterKind::Configured)
    }
}

/// WSL names its helpers `/init`, `SessionLeader` and `Relay(318)`.
fn is_wsl_init(program: &str) -> bool {
    program == "/init"
        || program == "SessionLeader"
        || (program.starts_with("Relay(") && program.ends_with(')'))
}
