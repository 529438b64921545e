//! Finding trees: seeds, the chain from root to server, members.

use super::browsers::{is_automated, profile};
use super::{
    Adopters, Head, Member, MemberRole, Roles, Tree, is_browser_helper, is_named_beyond_doubt, is_shell,
    is_users_browser, shares_stdio,
};
use crate::catalog::{Catalog, Classified, PatternIndex, Role};
use crate::invocation::{Invocation, Kind, base_name};
use crate::memory::{Kin, Memory, Part};
use crate::process::{Fact, FarEnd, Pid, Process, ProcessTable, State, Stream};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Finds the trees of a table, in order of their roots' pids. Trees inside another tree are part of it, except below a
/// client or host.
pub fn trees(
    table: &ProcessTable,
    roles: &Roles,
    catalog: &Catalog,
    adopters: &Adopters,
    memory: &Memory,
) -> Vec<Tree> {
    let scene = Scene { table, roles, catalog, adopters, memory };
    let mut chains: BTreeMap<Pid, (Head, Vec<Pid>)> = BTreeMap::new();
    for process in table.iter() {
        let Some(head) = scene.head_of(process) else { continue };
        let mut chain = vec![process.pid()];
        if head == Head::Server {
            chain = scene.climb(process);
            scene.descend(&mut chain);
        }
        // A server's chain says more than what was once known of its wrapper.
        let better = chains.get(&chain[0]).is_none_or(|(known_head, known)| match (head, known_head) {
            (Head::Server, Head::Server) => chain.len() > known.len(),
            (head, _) => head == Head::Server,
        });
        if better {
            chains.insert(chain[0], (head, chain));
        }
    }
    let mut found: Vec<Tree> =
        chains.into_values().filter_map(|(head, chain)| scene.tree(head, chain)).collect();
    for tree in &mut found {
        scene.add_stray_browser_helpers(tree);
    }
    let inner: HashSet<Pid> = (found.iter())
        .flat_map(|tree| tree.members.iter().map(|member| member.pid).filter(|pid| *pid != tree.root))
        .collect();
    found.into_iter().filter(|tree| !inner.contains(&tree.root)).collect()
}

/// A script that only starts a server has done so within this time.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Everything that tree building looks at.
struct Scene<'a> {
    table: &'a ProcessTable,
    roles: &'a Roles,
    catalog: &'a Catalog,
    adopters: &'a Adopters,
    memory: &'a Memory,
}

impl Scene<'_> {
    /// Whether a tree may begin here, and as what: a server, or a wrapper that names one and does nothing beside it; and
    /// below an adopter what a server has left behind.
    fn head_of(&self, process: &Process) -> Option<Head> {
        if process.state == State::Zombie || process.kernel || self.adopters.is_adopter(process.pid()) {
            return None;
        }
        let named = self.roles.get(process.pid());
        if let Some(classified) = named.filter(|named| named.role == Role::Server) {
            let alone = !classified.is_wrapper() || self.table.living_children(process.pid()).count() <= 1;
            return alone.then_some(Head::Server);
        }
        // Nearly everybody is nobody.
        if named.is_none() && !self.memory.knows_kin(process.pid()) {
            return None;
        }
        self.adopters.adopter_of(self.table, process.pid())?;
        let strong = |classified: &Classified| {
            classified.pattern.is_some_and(|index| is_named_beyond_doubt(self.catalog.pattern(index)))
        };
        match named.map(|named| (named.role, named)) {
            Some((Role::Browser, _)) => {
                let arguments = process.arguments();
                let own = is_automated(arguments) && !is_browser_helper(arguments);
                own.then_some(Head::Browser)
            }
            Some((Role::Helper, named)) if strong(named) => Some(Head::Helper),
            Some((Role::Client, _)) => {
                let hung_up = *process.far_end(Stream::Stdin) == Fact::Known(FarEnd::HungUp);
                hung_up.then_some(Head::Client)
            }
            Some((Role::Host | Role::Adopter, _)) => None,
            _ => self.memory.kin(process).map(|_| Head::Kin),
        }
    }

    /// The chain from the topmost launcher down to this server.
    fn climb(&self, server: &Process) -> Vec<Pid> {
        let mut chain = vec![server.pid()];
        let mut top = server;
        while let Some(parent) = self.table.parent(top) {
            if self.adopters.was_adopted(top.pid()) {
                break;
            }
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
            None => {
                let kin = self.memory.kin(parent).is_some_and(|kin| kin.part == Part::Launcher);
                kin || (shares_stdio(parent, server) && self.only_starts(parent))
            }
        }
    }

    /// A shell that only starts a server does so at once. One that runs a list of commands, or has done something before,
    /// may go on with the next.
    fn only_starts(&self, parent: &Process) -> bool {
        if !is_shell(parent.arguments()) {
            return true;
        }
        let script = Invocation::of(parent.arguments()).is_some_and(|found| found.kind == Kind::Script);
        let started = |process: &Process| process.id.start_ticks;
        let at_once = self.table.living_children(parent.pid()).all(|child| {
            let ticks = started(child).saturating_sub(started(parent));
            ticks <= AT_ONCE.as_secs() * self.table.ticks_per_second
        });
        script && at_once
    }

    fn tree(&self, head: Head, chain: Vec<Pid>) -> Option<Tree> {
        let (root, server) = (*chain.first()?, *chain.last()?);
        let lineage = [server, root].into_iter().find_map(|pid| self.memory.kin(self.table.get(pid)?));
        let (name, pattern) = self.name(head, &chain, lineage)?;
        let enter = |process: &Process| {
            let owner = process.parent.and_then(|parent| self.roles.role(parent));
            let below_client =
                matches!(owner, Some(Role::Client | Role::Host)) && !chain.contains(&process.pid());
            process.state != State::Zombie
                && !below_client
                && !is_users_browser(self.table, self.roles, process)
        };
        let members = self.table.subtree(root, enter);
        let role = |pid: Pid| match head {
            Head::Server => self.member_role(pid, &chain),
            _ if pid == root => self.head_role(head, lineage),
            _ => self.member_role(pid, &[]),
        };
        let members = members.into_iter().map(|pid| Member { pid, role: role(pid) }).collect();
        let runs_commands = runs_commands(&name)
            || lineage.is_some_and(|kin| kin.runs_commands)
            || chain.iter().filter_map(|pid| self.roles.get(*pid)).any(|known| says_so(&known.invocation));
        Some(Tree {
            runs_commands,
            root,
            server,
            members,
            name,
            pattern,
            head,
            lineage: lineage.cloned(),
            adopter: self.adopters.adopter_of(self.table, root),
            chain,
        })
    }

    /// What people call it, and the pattern that says so.
    fn name(&self, head: Head, chain: &[Pid], lineage: Option<&Kin>) -> Option<(String, PatternIndex)> {
        if head == Head::Kin {
            let kin = lineage?;
            return Some((kin.server.clone(), self.catalog.find(&kin.pattern, Role::Server)?));
        }
        let role = match head {
            Head::Browser => Role::Browser,
            Head::Helper => Role::Helper,
            Head::Client => Role::Client,
            _ => Role::Server,
        };
        // The innermost that names the server beyond doubt, or else the innermost that names it: a wrapper may have
        // launched something without a name, or with a name that tells less than the package's.
        let named =
            || chain.iter().rev().filter_map(|pid| self.roles.get(*pid)).filter(|known| known.role == role);
        let beyond_doubt = |known: &&Classified| {
            known.pattern.is_some_and(|index| is_named_beyond_doubt(self.catalog.pattern(index)))
        };
        let classified = named().find(beyond_doubt).or_else(|| named().next())?;
        Some((self.catalog.display_name(classified), classified.pattern?))
    }

    fn head_role(&self, head: Head, lineage: Option<&Kin>) -> MemberRole {
        match (head, lineage.map(|kin| kin.part)) {
            (Head::Browser, _) => MemberRole::Browser,
            (Head::Client, _) => MemberRole::Client,
            (Head::Helper, _) | (_, Some(Part::Helper)) => MemberRole::Helper,
            (_, Some(Part::Launcher)) => MemberRole::Launcher,
            (_, Some(Part::Other)) => MemberRole::Other,
            (_, Some(Part::Server) | None) => MemberRole::Server,
        }
    }

    /// A browser's crash handler detaches itself from its browser. It is known by the profile that both have open.
    fn add_stray_browser_helpers(&self, tree: &mut Tree) {
        let profiles: Vec<&str> = (tree.members_of(MemberRole::Browser))
            .filter_map(|pid| profile(self.table.get(pid)?.arguments()))
            .collect();
        // A browser outside that has the same profile open needs its crash handler.
        let outside = |process: &&Process| {
            self.roles.role(process.pid()) == Some(Role::Browser)
                && process.state != State::Zombie
                && !is_browser_helper(process.arguments())
                && !tree.contains(process.pid())
        };
        let shared: Vec<&str> =
            self.table.iter().filter(outside).filter_map(|process| profile(process.arguments())).collect();
        let profiles: Vec<&str> = profiles.into_iter().filter(|own| !shared.contains(own)).collect();
        if profiles.is_empty() {
            return;
        }
        let strays: Vec<Pid> = (self.table.iter())
            .filter(|process| self.roles.role(process.pid()) == Some(Role::Browser))
            .filter(|process| process.state != State::Zombie && is_browser_helper(process.arguments()))
            .filter(|process| self.adopters.adopter_of(self.table, process.pid()).is_some())
            .filter(|process| profile(process.arguments()).is_some_and(|own| profiles.contains(&own)))
            .map(Process::pid)
            .filter(|pid| !tree.contains(*pid))
            .collect();
        tree.members.extend(strays.into_iter().map(|pid| Member { pid, role: MemberRole::Browser }));
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

/// Whether a server's name says that people run their own commands through it.
fn runs_commands(server: &str) -> bool {
    const WORDS: [&str; 13] = [
        "terminal", "shell", "command", "console", "tmux", "ssh", "bash", "pty", "runner", "jupyter",
        "notebook", "repl", "exec",
    ];
    let name = server.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// The same by what is run, whatever a person calls it. A scope is the maker's name.
fn says_so(invocation: &Invocation) -> bool {
    let named = !matches!(invocation.kind, Kind::Shell | Kind::Inline);
    named && invocation.names().any(|name| runs_commands(base_name(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_person_calls_it_a_server_for_commands_is_known_by_what_is_run() {
        let says_so = |line: &str| says_so(&Invocation::of_line(line).expect("a line"));
        for line in [
            "npx -y acme-terminal-mcp",
            "uvx mcp-server-shell",
            "node /x/run-commands-mcp.js",
            "/opt/acme/ssh-mcp",
        ] {
            assert!(says_so(line), "{line}");
        }
        // A scope is the maker's name, and a shell in front is only how it is started.
        for line in ["npx @executeautomation/playwright-mcp-server", "sh -c 'exec npx -y foo-mcp'", "bash"] {
            assert!(!says_so(line), "{line}");
        }
    }
}
