//! From processes to MCP trees: roles, roots climbed through launchers, members, adopters.

mod adopters;
mod browsers;
#[cfg(test)]
mod tests;

pub use adopters::{Adopter, AdopterKind, Adopters};
pub use browsers::{is_headless, listens_for_debuggers};

use crate::catalog::{Catalog, Classified, Pattern, PatternIndex, Role, Strength};
use crate::process::{Descriptor, Pid, Process, ProcessTable, State, Stream};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The roles of every process whose command line was read.
#[derive(Default, Debug)]
pub struct Roles(HashMap<Pid, Classified>);

impl Roles {
    /// Classifies the processes that have a known command line.
    pub fn of(table: &ProcessTable, catalog: &Catalog) -> Roles {
        let mut roles = Roles::default();
        for process in table.iter() {
            roles.add(process, catalog);
        }
        roles
    }

    /// Classifies one process more.
    pub fn add(&mut self, process: &Process, catalog: &Catalog) {
        match catalog.classify(process.arguments()) {
            Some(classified) => self.0.insert(process.pid(), classified),
            None => self.0.remove(&process.pid()),
        };
    }

    /// What is known of a process.
    pub fn get(&self, pid: Pid) -> Option<&Classified> {
        self.0.get(&pid)
    }

    /// Its role.
    pub fn role(&self, pid: Pid) -> Option<Role> {
        self.get(pid).map(|classified| classified.role)
    }
}

/// What a process is within its tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberRole {
    /// A server: the innermost process of a chain that names it.
    Server,
    /// A wrapper above a server.
    Launcher,
    /// An automation browser or one of its helper processes.
    Browser,
    /// A process that servers start for their own use.
    Helper,
    /// An AI client. A tree that holds one is never reaped.
    Client,
    /// Anything else.
    Other,
}

impl MemberRole {
    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            MemberRole::Server => "server",
            MemberRole::Launcher => "launcher",
            MemberRole::Browser => "browser",
            MemberRole::Helper => "helper",
            MemberRole::Client => "client",
            MemberRole::Other => "other",
        }
    }
}

/// One process of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its number.
    pub pid: Pid,
    /// What it is in the tree.
    pub role: MemberRole,
}

/// An MCP server with its launchers above and its descendants below.
#[derive(Clone, PartialEq, Debug)]
pub struct Tree {
    /// The topmost launcher, or the server itself.
    pub root: Pid,
    /// The innermost process of the chain: what names the server, or what a wrapper that names it launched.
    pub server: Pid,
    /// From root to server, both included.
    pub chain: Vec<Pid>,
    /// All members, root first. Zombies are left out: there is nothing to do about them.
    pub members: Vec<Member>,
    /// What people call the server.
    pub name: String,
    /// The pattern that names it.
    pub pattern: PatternIndex,
    /// Who inherited the root; `None` while somebody owns it.
    pub adopter: Option<Adopter>,
}

impl Tree {
    /// Whether a process belongs to it.
    pub fn contains(&self, pid: Pid) -> bool {
        self.members.iter().any(|member| member.pid == pid)
    }

    /// The pattern that names its server.
    pub fn pattern<'a>(&self, catalog: &'a Catalog) -> &'a Pattern {
        catalog.pattern(self.pattern)
    }

    /// The far ends that tell whether anybody needs it: stdin of every member (browsers have channels of their own), and
    /// stdout of root and server.
    pub fn ends(&self) -> impl Iterator<Item = (Pid, Stream)> {
        let inputs = self.members.iter().filter(|member| member.role != MemberRole::Browser);
        let outputs = [self.root, self.server].into_iter().take(if self.root == self.server { 1 } else { 2 });
        inputs.map(|member| (member.pid, Stream::Stdin)).chain(outputs.map(|pid| (pid, Stream::Stdout)))
    }

    /// Members of one role.
    pub fn members_of(&self, role: MemberRole) -> impl Iterator<Item = Pid> {
        self.members.iter().filter(move |member| member.role == role).map(|member| member.pid)
    }
}

/// Finds the trees of a table, in order of their roots' pids. Trees inside another tree are part of it, except below a
/// client or host.
pub fn trees(table: &ProcessTable, roles: &Roles, catalog: &Catalog, adopters: &Adopters) -> Vec<Tree> {
    let scene = Scene { table, roles, catalog, adopters };
    let mut chains: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for process in table.iter().filter(|process| scene.is_seed(process)) {
        let mut chain = scene.climb(process);
        scene.descend(&mut chain);
        let known = chains.entry(chain[0]).or_default();
        if chain.len() > known.len() {
            *known = chain;
        }
    }
    let found: Vec<Tree> = chains.into_values().filter_map(|chain| scene.tree(chain)).collect();
    let inner: HashSet<Pid> = (found.iter())
        .flat_map(|tree| tree.members.iter().map(|member| member.pid).filter(|pid| *pid != tree.root))
        .collect();
    found.into_iter().filter(|tree| !inner.contains(&tree.root)).collect()
}

/// Everything that tree building looks at.
struct Scene<'a> {
    table: &'a ProcessTable,
    roles: &'a Roles,
    catalog: &'a Catalog,
    adopters: &'a Adopters,
}

impl Scene<'_> {
    /// Whether a tree may begin here: a server, or a wrapper that names one and does nothing beside it.
    fn is_seed(&self, process: &Process) -> bool {
        let Some(classified) = self.roles.get(process.pid()) else { return false };
        classified.role == Role::Server
            && process.state != State::Zombie
            && !self.adopters.is_adopter(process.pid())
            && (!classified.is_wrapper() || self.table.living_children(process.pid()).count() <= 1)
    }

    /// The chain from the topmost launcher down to this server.
    fn climb(&self, server: &Process) -> Vec<Pid> {
        let mut chain = vec![server.pid()];
        let mut top = server;
        while let Some(parent) = self.table.parent(top) {
            if chain.contains(&parent.pid()) || !self.is_launcher_of(parent, server) {
                break;
            }
            chain.push(parent.pid());
            top = parent;
        }
        chain.reverse();
        chain
    }

    /// Extends a chain that ends in a wrapper by what it launched: its only child, whatever that is called. `bun run` of
    /// a plugin names it; the `bun server.ts` below is the server.
    fn descend(&self, chain: &mut Vec<Pid>) {
        while let Some(last) = chain.last().copied() {
            let wraps =
                self.roles.get(last).is_some_and(|known| known.role == Role::Launcher || known.is_wrapper());
            let mut below = self.table.living_children(last).map(Process::pid);
            let (true, Some(only), None) = (wraps, below.next(), below.next()) else { return };
            let own_role =
                self.roles.role(only).is_some_and(|role| !matches!(role, Role::Server | Role::Launcher));
            if own_role || chain.contains(&only) {
                return;
            }
            chain.push(only);
        }
    }

    /// Whether `parent` only hands its stdio down to the chain below it. It must have no other living child: a shell
    /// that runs something beside the server has a life of its own.
    fn is_launcher_of(&self, parent: &Process, server: &Process) -> bool {
        if self.adopters.is_adopter(parent.pid()) || self.table.living_children(parent.pid()).count() != 1 {
            return false;
        }
        match self.roles.get(parent.pid()) {
            Some(known) => match known.role {
                Role::Launcher => true,
                Role::Server => known.is_wrapper() || shares_stdio(parent, server),
                Role::Client | Role::Host | Role::Browser | Role::Adopter => false,
                Role::Helper => shares_stdio(parent, server),
            },
            None => shares_stdio(parent, server),
        }
    }

    fn tree(&self, chain: Vec<Pid>) -> Option<Tree> {
        let (root, server) = (*chain.first()?, *chain.last()?);
        // The innermost that names the server beyond doubt, or else the innermost that names it: a wrapper may have
        // launched something without a name, or with a name that tells less than the package's.
        let servers = || {
            chain
                .iter()
                .rev()
                .filter_map(|pid| self.roles.get(*pid))
                .filter(|known| known.role == Role::Server)
        };
        let beyond_doubt = |known: &&Classified| {
            known.pattern.is_some_and(|index| is_named_beyond_doubt(self.catalog.pattern(index)))
        };
        let classified = servers().find(beyond_doubt).or_else(|| servers().next())?;
        let enter = |process: &Process| {
            let owner = process.parent.and_then(|parent| self.roles.role(parent));
            let below_client =
                matches!(owner, Some(Role::Client | Role::Host)) && !chain.contains(&process.pid());
            process.state != State::Zombie
                && !below_client
                && !is_users_browser(self.table, self.roles, process)
        };
        let members = self.table.subtree(root, enter);
        let members =
            members.into_iter().map(|pid| Member { pid, role: self.member_role(pid, &chain) }).collect();
        Some(Tree {
            root,
            server,
            members,
            name: self.catalog.display_name(classified),
            pattern: classified.pattern?,
            adopter: self.adopters.adopter_of(self.table, root),
            chain,
        })
    }

    fn member_role(&self, pid: Pid, chain: &[Pid]) -> MemberRole {
        if chain.last() == Some(&pid) {
            return MemberRole::Server;
        }
        if chain.contains(&pid) {
            return MemberRole::Launcher;
        }
        match self.roles.role(pid) {
            Some(Role::Client) => MemberRole::Client,
            Some(Role::Browser) => MemberRole::Browser,
            Some(Role::Helper) => MemberRole::Helper,
            Some(Role::Launcher) => MemberRole::Launcher,
            // Of several nested names the innermost is the server, as in the chain itself.
            Some(Role::Server) => {
                let names_child = self.roles.get(pid).is_some_and(Classified::is_wrapper)
                    && self
                        .table
                        .living_children(pid)
                        .any(|child| self.roles.role(child.pid()) == Some(Role::Server));
                if names_child { MemberRole::Launcher } else { MemberRole::Server }
            }
            _ => MemberRole::Other,
        }
    }
}

/// A browser that carries no automation mark, itself or from the browser above it, belongs to the user.
pub fn is_users_browser(table: &ProcessTable, roles: &Roles, process: &Process) -> bool {
    let is_browser = |process: &&Process| roles.role(process.pid()) == Some(Role::Browser);
    let above = table.ancestors(process.pid());
    let mut line =
        std::iter::once(process).chain(above.iter().filter_map(|pid| table.get(*pid))).take_while(is_browser);
    is_browser(&process) && !line.any(|browser| browsers::is_automated(browser.arguments()))
}

/// Whether two processes have the very same pipes or sockets as stdin and stdout. A client cannot: it has the far ends.
fn shares_stdio(a: &Process, b: &Process) -> bool {
    let same = |at: usize| match (a.details.stdio[at].known(), b.details.stdio[at].known()) {
        (Some(Descriptor::Pipe(a)), Some(Descriptor::Pipe(b))) => a == b,
        (Some(Descriptor::Socket(a)), Some(Descriptor::Socket(b))) => a == b,
        _ => false,
    };
    same(0) && same(1)
}

/// Whether a strong pattern, or one that the user wrote, names the server.
pub fn is_named_beyond_doubt(pattern: &Pattern) -> bool {
    pattern.own || pattern.strength == Strength::Strong
}
