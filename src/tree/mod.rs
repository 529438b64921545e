//! From processes to MCP trees: roles, roots climbed through launchers, members, adopters.

mod adopters;
mod browsers;
mod find;
#[cfg(test)]
mod tests;

pub use adopters::{Adopter, AdopterKind, Adopters};
pub use browsers::{has_debugging_pipe, is_browser_helper, is_headless, listens_for_debuggers};
pub use find::trees;

use crate::catalog::{Catalog, Classified, Pattern, PatternIndex, Role, Strength};
use crate::invocation::{self, Invocation, Kind};
use crate::memory::Kin;
use crate::process::{Descriptor, Pid, PidMap, Process, ProcessTable, Stream};

/// The roles of every process whose command line was read.
#[derive(Default, Debug)]
pub struct Roles(PidMap<Classified>);

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

/// What stands at the head of a tree, and so what proves that nobody needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    /// A server that a pattern names.
    Server,
    /// A process without a name of its own, seen in a server's tree while that server's client lived.
    Kin,
    /// An automation browser whose server is gone: its debugging pipe tells.
    Browser,
    /// A helper whose server is gone.
    Helper,
    /// A client that nobody can reach over its stdin: an agent whose driver is gone. Never reaped.
    Client,
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
    /// What stands at its head.
    pub head: Head,
    /// What its server was while its client lived, where an earlier look saw it.
    pub lineage: Option<Kin>,
    /// Who inherited the root; `None` while somebody owns it.
    pub adopter: Option<Adopter>,
    /// Whether the names in it say that people run their own commands through the server: a child of it may be somebody's.
    pub runs_commands: bool,
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

    /// The stream over which somebody would talk to its root.
    pub fn lifeline(&self) -> Stream {
        if self.head == Head::Browser { Stream::Commands } else { Stream::Stdin }
    }

    /// The far ends that tell whether anybody needs it: stdin of every member (browsers have channels of their own), and
    /// stdout of root and server. Of a browser alone, its debugging pipe.
    pub fn ends(&self) -> Vec<(Pid, Stream)> {
        if self.head == Head::Browser {
            return vec![(self.root, Stream::Commands), (self.root, Stream::Answers)];
        }
        let inputs = self.members.iter().filter(|member| member.role != MemberRole::Browser);
        let outputs = [self.root, self.server].into_iter().take(if self.root == self.server { 1 } else { 2 });
        (inputs.map(|member| (member.pid, Stream::Stdin)))
            .chain(outputs.map(|pid| (pid, Stream::Stdout)))
            .collect()
    }

    /// Whether a strong pattern names its server, one that the user wrote, or what was seen while its client lived.
    pub fn is_named_beyond_doubt(&self, catalog: &Catalog) -> bool {
        self.lineage.is_some() || is_named_beyond_doubt(self.pattern(catalog))
    }

    /// Members of one role.
    pub fn members_of(&self, role: MemberRole) -> impl Iterator<Item = Pid> {
        self.members.iter().filter(move |member| member.role == role).map(|member| member.pid)
    }
}

/// A browser that carries no automation mark belongs to the user; a helper process of one is judged by the browser above.
pub fn is_users_browser(table: &ProcessTable, roles: &Roles, process: &Process) -> bool {
    let is_browser = |process: &&Process| roles.role(process.pid()) == Some(Role::Browser);
    if !is_browser(&process) || browsers::is_automated(process.arguments()) {
        return false;
    }
    let above = table.ancestors(process.pid());
    let mut line = above.iter().filter_map(|pid| table.get(*pid)).take_while(is_browser);
    !(is_browser_helper(process.arguments())
        && line.any(|browser| browsers::is_automated(browser.arguments())))
}

/// Whether two processes have the very same pipes or sockets as stdin and stdout. A client cannot: it has the far ends.
fn shares_stdio(a: &Process, b: &Process) -> bool {
    let same = |at: usize| match (a.details.descriptors[at].known(), b.details.descriptors[at].known()) {
        (Some(Descriptor::Pipe(a)), Some(Descriptor::Pipe(b))) => a == b,
        (Some(Descriptor::Socket(a)), Some(Descriptor::Socket(b))) => a == b,
        _ => false,
    };
    same(0) && same(1)
}

/// Whether a command line runs a shell, with a script or without.
pub fn is_shell(arguments: &[String]) -> bool {
    Invocation::of(arguments).is_some_and(|invocation| invocation::is_shell(&invocation.program))
}

/// Whether a command line runs a shell with a script, which may go on after any of its commands.
pub fn is_shell_script(arguments: &[String]) -> bool {
    let script = |invocation: &Invocation| matches!(invocation.kind, Kind::Script | Kind::Shell);
    is_shell(arguments)
        && Invocation::of(arguments).is_some_and(|found| found.through.is_empty() && script(&found))
}

/// Whether a strong pattern, or one that the user wrote, names the server.
pub fn is_named_beyond_doubt(pattern: &Pattern) -> bool {
    pattern.own || pattern.strength == Strength::Strong
}
