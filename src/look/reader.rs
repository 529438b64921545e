//! Reading, step by step: more and more of fewer and fewer processes.

use super::familiar::{Familiar, is_unread};
use super::{Breadth, remember};
use crate::catalog::{Catalog, Role};
use crate::host::Host;
use crate::judge::{Lifeline, Plan, Policy};
use crate::memory::Memory;
use crate::process::{Fact, FarEnd, Pid, Process, ProcessTable, State, Stream};
use crate::tree::{AdopterKind, Adopters, MemberRole, Roles, Tree, is_browser_helper, trees};

/// Reads what trees can be judged by.
pub(super) struct Reader<'a, H> {
    pub(super) host: &'a H,
    pub(super) catalog: &'a Catalog,
    pub(super) policy: &'a Policy,
    pub(super) memory: &'a Memory,
    pub(super) familiar: &'a Familiar,
    pub(super) roles: Roles,
}

impl<H: Host> Reader<'_, H> {
    /// Command lines of every program on the machine.
    pub(super) fn read_everything(&mut self, table: &mut ProcessTable) -> Adopters {
        let all: Vec<Pid> = table.iter().filter(|process| !process.kernel).map(Process::pid).collect();
        self.read_roles(table, &all);
        self.find_adopters(table)
    }

    /// Command lines of the adopters' children, and of everything below those that may be the root of a tree.
    pub(super) fn read_orphans(&mut self, table: &mut ProcessTable) -> Adopters {
        self.read_roles(table, &[Pid::INIT]);
        // An adopter of the user's may sit anywhere, but it has children.
        if self.catalog.patterns().iter().any(|pattern| pattern.role == Role::Adopter) {
            let parents: Vec<Pid> =
                table.iter().map(Process::pid).filter(|pid| !table.children(*pid).is_empty()).collect();
            self.read_roles(table, &parents);
        }
        self.read_children(table, [Pid::INIT]);
        let mut known = 0;
        loop {
            let adopters = self.find_adopters(table);
            let pids: Vec<Pid> = adopters.pids().collect();
            if pids.len() == known {
                let mut roots: Vec<Pid> = parentless(table);
                self.read_roles(table, &roots);
                roots.extend(pids.iter().flat_map(|pid| table.living_children(*pid).map(Process::pid)));
                self.read_below_roots(table, &roots);
                self.read_below_clients(table);
                return self.find_adopters(table);
            }
            known = pids.len();
            self.read_children(table, pids);
        }
    }

    fn read_children(&mut self, table: &mut ProcessTable, parents: impl IntoIterator<Item = Pid>) {
        let children: Vec<Pid> = (parents.into_iter())
            .flat_map(|parent| table.living_children(parent).map(Process::pid).collect::<Vec<_>>())
            .collect();
        self.read_roles(table, &children);
    }

    /// Below an adopter's child stands a tree if the child is a server or launcher, or if it may be a wrapper that
    /// nobody knows: one with a single child, and so on down.
    fn read_below_roots(&mut self, table: &mut ProcessTable, roots: &[Pid]) {
        for root in roots.iter().copied() {
            let mut top = root;
            loop {
                match self.roles.role(top) {
                    Some(Role::Server | Role::Launcher) => {
                        let below = table.subtree(root, |process| process.state != State::Zombie);
                        self.read_roles(table, &below);
                        break;
                    }
                    Some(_) => break,
                    None => {}
                }
                let mut below = table.living_children(top).map(Process::pid);
                let (Some(only), None) = (below.next(), below.next()) else { break };
                drop(below);
                self.read_roles(table, &[only]);
                top = only;
            }
        }
    }

    /// What live clients have started: it is shown when it leaks, and remembered for when its client is gone. Who has a
    /// client's role is found among those who have children, which are few.
    fn read_below_clients(&mut self, table: &mut ProcessTable) {
        let parents: Vec<Pid> = (table.iter())
            .map(Process::pid)
            .filter(|pid| table.living_children(*pid).next().is_some())
            .collect();
        self.read_roles(table, &parents);
        let clients: Vec<Pid> =
            parents.into_iter().filter(|pid| self.roles.role(*pid) == Some(Role::Client)).collect();
        for client in clients {
            let below = table.subtree(client, |process| process.state != State::Zombie);
            self.read_roles(table, &below);
        }
        // Whoever was seen below a client before and has another parent now was adopted by that one.
        let moved: Vec<Pid> = (self.memory.all_kin())
            .filter(|kin| {
                table.get(kin.id.pid).is_some_and(|now| now.id.same(&kin.id) && now.parent != kin.parent)
            })
            .map(|kin| kin.id.pid)
            .collect();
        for pid in moved {
            let below = table.subtree(pid, |process| process.state != State::Zombie);
            self.read_roles(table, &below);
        }
    }

    /// What these are, by their command lines. Whom an earlier look knew as nobody is nobody.
    fn read_roles(&mut self, table: &mut ProcessTable, pids: &[Pid]) {
        let unknown = |process: &Process| !self.familiar.knows(process, self.memory);
        let pids: Vec<Pid> =
            pids.iter().copied().filter(|pid| table.get(*pid).is_some_and(unknown)).collect();
        self.read_commands(table, &pids);
    }

    fn read_commands(&mut self, table: &mut ProcessTable, pids: &[Pid]) {
        let pids: Vec<Pid> =
            pids.iter().copied().filter(|pid| table.get(*pid).is_some_and(is_unread)).collect();
        self.host.read_commands(table, &pids);
        for process in pids.iter().filter_map(|pid| table.get(*pid)) {
            self.roles.add(process, self.catalog);
        }
    }

    /// Finds the adopters. Their users are read first: a service manager inherits only from its own.
    fn find_adopters(&mut self, table: &mut ProcessTable) -> Adopters {
        let adopters = Adopters::of(table, &self.roles, self.memory);
        let wsl: Vec<Pid> = if table.observer.wsl {
            table.iter().filter(|process| process.command != Fact::Unread).map(Process::pid).collect()
        } else {
            Vec::new()
        };
        let unread: Vec<Pid> = (adopters.pids().chain(wsl))
            .filter(|pid| table.get(*pid).is_some_and(|process| process.details.users == Fact::Unread))
            .collect();
        if unread.is_empty() {
            return adopters;
        }
        self.host.read_users(table, &unread);
        Adopters::of(table, &self.roles, self.memory)
    }

    /// Details of everyone that a verdict needs, and the trees as they are with them.
    pub(super) fn read_trees(
        &mut self,
        table: &mut ProcessTable,
        adopters: &Adopters,
        breadth: Breadth,
    ) -> Vec<Tree> {
        // Stdio decides who is an unknown wrapper, so it is read for everyone who could stand in a chain.
        let likely = self.likely_chains(table, adopters, breadth);
        self.read_details(table, &likely);
        let left_clients = self.left_clients(table, adopters);
        self.read_details(table, &left_clients);
        let stdin: Vec<(Pid, Stream)> = left_clients.into_iter().map(|pid| (pid, Stream::Stdin)).collect();
        self.host.read_far_ends(table, &stdin);
        let found = trees(table, &self.roles, self.catalog, adopters, self.memory);
        let mut more: Vec<Pid> = Vec::new();
        for tree in found.iter().filter(|tree| self.is_wanted(table, tree, breadth)) {
            more.extend(tree.members.iter().map(|member| member.pid));
            more.extend(tree.adopter.map(|adopter| adopter.pid));
            // A subreaper may be a part of a service.
            let subreaper = tree.adopter.filter(|adopter| adopter.kind == AdopterKind::Subreaper);
            more.extend(subreaper.map(|adopter| table.ancestors(adopter.pid)).into_iter().flatten());
        }
        self.read_details(table, &more);
        // A process may have run another program between the two readings: roles and trees as they are now.
        let found: Vec<Tree> = (trees(table, &self.roles, self.catalog, adopters, self.memory).into_iter())
            .filter(|tree| self.is_wanted(table, tree, breadth))
            .filter(|tree| in_scope(table, tree))
            .collect();
        let ends: Vec<(Pid, Stream)> = found.iter().flat_map(Tree::ends).collect();
        self.host.read_far_ends(table, &ends);
        let searched: Vec<Tree> =
            found.iter().filter(|tree| self.is_searched(table, tree, breadth)).cloned().collect();
        self.read_others(table, &searched);
        found
    }

    /// Who else has a part of these trees: holders of their far ends, and whoever they are connected with.
    pub(super) fn read_others(&mut self, table: &mut ProcessTable, found: &[Tree]) {
        let helper =
            |pid: &Pid| table.get(*pid).is_some_and(|process| is_browser_helper(process.arguments()));
        let connected: Vec<Pid> = (found.iter().flat_map(|tree| &tree.members))
            .filter(|member| member.role != MemberRole::Browser || !helper(&member.pid))
            .map(|member| member.pid)
            .collect();
        self.host.read_channels(table, &connected);
        // Whoever is connected is said by name, and a client is more than a stranger.
        let mut visitors: Vec<Pid> = Vec::new();
        for details in connected.iter().filter_map(|pid| table.get(*pid)).map(|process| &process.details) {
            let listeners = details.listeners.known().into_iter().flatten();
            visitors.extend(listeners.flat_map(|listener| &listener.visitors.pids));
            let channels = details.channels.known().into_iter().flatten();
            visitors.extend(channels.flat_map(|channel| &channel.others.pids));
        }
        self.read_commands(table, &visitors);
        self.read_holders(table, found);
    }

    /// Command lines of whoever holds a lifeline in the plan's words. Says whether one had not been read.
    pub(super) fn read_holders_of_lifelines(&mut self, table: &mut ProcessTable, plan: &Plan) -> bool {
        let lifelines = plan.judgements.iter().map(|judgement| &judgement.lifeline);
        let holders = lifelines.flat_map(|lifeline| match lifeline {
            Lifeline::Held(holders) => holders.as_slice(),
            _ => &[],
        });
        let unread: Vec<Pid> =
            holders.copied().filter(|pid| table.get(*pid).is_some_and(is_unread)).collect();
        self.read_commands(table, &unread);
        !unread.is_empty()
    }

    /// Trees without a visible owner, and those of live clients; every tree when everything was asked for.
    fn is_wanted(&self, table: &ProcessTable, tree: &Tree, breadth: Breadth) -> bool {
        let below_client = || {
            let parent = table.get(tree.root).and_then(|root| root.parent);
            parent.is_some_and(|parent| self.roles.role(parent) == Some(Role::Client))
        };
        is_ownerless(table, tree)
            || breadth != Breadth::Orphans
            || below_client()
            || self.below_wrapper(table, tree)
    }

    /// Whether only one unknown process, without another child, stands between a client and the tree's root.
    fn below_wrapper(&self, table: &ProcessTable, tree: &Tree) -> bool {
        remember::unknown_wrapper(table, &self.roles, tree).is_some()
    }

    /// Trees of which it must be known who else holds a part of them: searching for that costs more than all the rest.
    fn is_searched(&self, table: &ProcessTable, tree: &Tree, breadth: Breadth) -> bool {
        is_ownerless(table, tree) || self.is_searched_always(breadth)
    }

    /// Whether that is so for every tree.
    pub(super) fn is_searched_always(&self, breadth: Breadth) -> bool {
        breadth == Breadth::Everything || self.policy.live.reaps()
    }

    /// Clients below an adopter. Most run so by design; one with a hung-up stdin is an agent whose driver is gone.
    fn left_clients(&self, table: &ProcessTable, adopters: &Adopters) -> Vec<Pid> {
        (table.iter().map(Process::pid))
            .filter(|pid| self.roles.role(*pid) == Some(Role::Client))
            .filter(|pid| adopters.adopter_of(table, *pid).is_some())
            .collect()
    }

    /// Servers, and the processes above them up to the adopter.
    fn likely_chains(&self, table: &ProcessTable, adopters: &Adopters, breadth: Breadth) -> Vec<Pid> {
        let mut likely = Vec::new();
        for process in table.iter().filter(|process| self.roles.role(process.pid()) == Some(Role::Server)) {
            let above = table.ancestors(process.pid());
            let chain: Vec<Pid> = (above.iter().copied())
                .take_while(|pid| !adopters.is_adopter(*pid))
                .take_while(|pid| !matches!(self.roles.role(*pid), Some(Role::Client | Role::Host)))
                .collect();
            let inherited = match above.get(chain.len()) {
                Some(pid) => adopters.is_adopter(*pid),
                None => is_parentless(table, chain.last().copied().unwrap_or(process.pid())),
            };
            let below_client =
                above.get(chain.len()).is_some_and(|pid| self.roles.role(*pid) == Some(Role::Client));
            if inherited || below_client || breadth != Breadth::Orphans {
                likely.push(process.pid());
                likely.extend(chain);
            }
        }
        likely
    }

    fn read_details(&mut self, table: &mut ProcessTable, pids: &[Pid]) {
        let unread: Vec<Pid> = (pids.iter().copied())
            .filter(|pid| table.get(*pid).is_some_and(|process| process.details.marks == Fact::Unread))
            .collect();
        let mut unread = unread;
        unread.sort_unstable();
        unread.dedup();
        let (recalled, unread): (Vec<Pid>, Vec<Pid>) =
            unread.into_iter().partition(|pid| self.familiar.recall(table, *pid));
        self.host.read_moved(table, &recalled);
        self.host.read_details(table, &unread);
        for process in unread.iter().chain(&recalled).filter_map(|pid| table.get(*pid)) {
            self.roles.add(process, self.catalog);
        }
    }

    /// Searching everybody's descriptors costs more than the rest of the look, so it is done only where somebody holds the
    /// lifeline of a tree that may be reaped, or when everything was asked for.
    fn read_holders(&mut self, table: &mut ProcessTable, found: &[Tree]) {
        let open = |table: &ProcessTable, (pid, stream): &(Pid, Stream)| {
            table
                .get(*pid)
                .is_some_and(|process| *process.far_end(*stream) == Fact::Known(FarEnd::Open(None)))
        };
        let ends: Vec<(Pid, Stream)> =
            found.iter().flat_map(Tree::ends).filter(|end| open(table, end)).collect();
        if ends.is_empty() {
            return;
        }
        self.host.read_holders(table, &ends);
        let mut seen: Vec<Pid> = Vec::new();
        for (pid, stream) in &ends {
            if let Some(Fact::Known(FarEnd::Open(Some(found)))) =
                table.get(*pid).map(|process| process.far_end(*stream))
            {
                seen.extend(found.pids.iter().chain(&found.unsearched));
            }
        }
        self.read_commands(table, &seen);
        // A client that somebody runs as another user may hold what we cannot see. (Hosts of other users, sshd and cron, are
        // on every machine.)
        let somebodys = |pid: &Pid| self.roles.role(*pid) == Some(Role::Client);
        for (pid, stream) in ends {
            let Some(process) = table.get_mut(pid) else { continue };
            if let Fact::Known(FarEnd::Open(Some(found))) = &mut process.details.far_ends[stream as usize] {
                found.complete &= !found.unsearched.iter().any(somebodys);
            }
        }
    }
}

/// Whether a tree has no owner that could be seen.
fn is_ownerless(table: &ProcessTable, tree: &Tree) -> bool {
    tree.adopter.is_some() || is_parentless(table, tree.root)
}

/// Whether a process has a parent that the look did not show. Nobody knows then who owns it.
fn is_parentless(table: &ProcessTable, pid: Pid) -> bool {
    let parent = table.get(pid).and_then(|process| process.parent);
    parent.is_some_and(|parent| table.get(parent).is_none())
}

fn parentless(table: &ProcessTable) -> Vec<Pid> {
    let living = table.iter().filter(|process| !process.kernel && process.state != State::Zombie);
    living.map(Process::pid).filter(|pid| is_parentless(table, *pid)).collect()
}

/// A plain user's look is about that user's trees. Others are none of his business, and he cannot judge them.
fn in_scope(table: &ProcessTable, tree: &Tree) -> bool {
    let observer = &table.observer;
    observer.machine
        || tree
            .chain
            .iter()
            .filter_map(|pid| table.get(*pid))
            .any(|process| process.details.users.known().is_none_or(|users| users.real == observer.uid))
}
