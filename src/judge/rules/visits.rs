//! Who is connected to a tree: to what its members listen on, and over their other sockets and pipes.

use super::Case;
use crate::catalog::Role;
use crate::process::{Channel, Listener, Pid, Process, Visitors, Way};

/// Who is connected to a tree.
#[derive(Default)]
pub(super) struct Visits {
    /// Live processes outside that use it, and what they are: `connected to TCP *:1 of process 7`.
    pub(super) users: Vec<(Pid, String)>,
    /// Connections to it whose other end cannot be seen from here.
    pub(super) elsewhere: Vec<(String, String)>,
    /// Live processes outside that hold the other end of a pipe or a pair, perhaps only by inheritance.
    pub(super) strangers: Vec<(Pid, String)>,
    /// Pairs whose other end is on its way to somebody.
    pub(super) unseen: Vec<(String, String)>,
    /// What somebody may connect or send to, and whether it is known that nobody outside does.
    pub(super) open: Vec<(Pid, String, bool)>,
}

impl Visits {
    /// Why somebody may hold a part of the tree, where that is not certain.
    pub(super) fn doubt(&self, case: &Case<'_>) -> Option<String> {
        let stranger = self.strangers.first().map(|(pid, place)| (case.describe(*pid), place.clone()));
        let (who, place) = stranger.or_else(|| self.unseen.first().cloned())?;
        Some(format!("{who} holds the other end of {place}, perhaps only by inheritance"))
    }
}

impl Case<'_> {
    /// Everyone who is connected. Trees that are condemned themselves do not count, nor does the tree itself.
    pub(super) fn visits(&self) -> &Visits {
        self.visits.get_or_init(|| self.find_visits())
    }

    fn find_visits(&self) -> Visits {
        let mut visits = Visits::default();
        for process in self.members() {
            for listener in process.details.listeners.known().into_iter().flatten() {
                self.add_listener(&mut visits, process, listener);
            }
            // A browser's many pairs and pipes are its own; what tells of it is its debugging port or pipe.
            let channels = process.details.channels.known().filter(|_| !self.is_browser(process.pid()));
            for channel in channels.into_iter().flatten() {
                self.add_channel(&mut visits, process, channel);
            }
        }
        visits
    }

    fn add_listener(&self, visits: &mut Visits, process: &Process, listener: &Listener) {
        let place = format!("{} of process {}", listener.address, process.pid());
        let Visitors { pids, elsewhere, complete } = &listener.visitors;
        let outsiders = self.outside(pids);
        if !outsiders.is_empty() || !elsewhere.is_empty() {
            visits.users.extend(outsiders.into_iter().map(|pid| (pid, format!("connected to {place}"))));
            visits.elsewhere.extend(elsewhere.iter().map(|from| (from.clone(), place.clone())));
            return;
        }
        // A loader that talks to its own child over a socket with a name serves nobody.
        let among_themselves = !pids.is_empty() && pids.iter().all(|pid| self.tree.contains(*pid));
        let own_business = *complete && among_themselves && listener.address.starts_with("unix ");
        if !own_business && (!complete || !self.is_browser(process.pid())) {
            visits.open.push((process.pid(), listener.address.clone(), *complete));
        }
    }

    fn add_channel(&self, visits: &mut Visits, process: &Process, channel: &Channel) {
        let place = format!("{} of process {}", channel.what, process.pid());
        // A client may leak its own end of one server's stdin into the next server. The first does not use the second then.
        let leaked = |pid: &Pid| {
            channel.as_stdio.contains(pid)
                && matches!(self.scene.roles.role(*pid), Some(Role::Server | Role::Launcher))
        };
        let outsiders: Vec<Pid> =
            self.outside(&channel.others.pids).into_iter().filter(|pid| !leaked(pid)).collect();
        let ancestors = self.scene.table.ancestors(self.tree.root);
        let needs = |pid: &Pid| {
            matches!(self.scene.roles.role(*pid), Some(Role::Client | Role::Host)) || ancestors.contains(pid)
        };
        let at_other_end = |pid: Pid| (pid, format!("at the other end of {place}"));
        let named = |pids: Vec<Pid>| pids.into_iter().map(|pid| (pid, place.clone())).collect::<Vec<_>>();
        match channel.way {
            Way::Inbound => {
                let connected = |pid: Pid| (pid, format!("connected to {place}"));
                visits.users.extend(outsiders.into_iter().map(connected));
                let from = channel.others.elsewhere.iter().map(|from| (from.clone(), place.clone()));
                visits.elsewhere.extend(from);
            }
            // What it is connected to does not need it, unless that is a client.
            Way::Outward => visits.users.extend(outsiders.into_iter().filter(needs).map(at_other_end)),
            Way::Line => {
                let (users, strangers): (Vec<Pid>, Vec<Pid>) = outsiders.into_iter().partition(needs);
                visits.users.extend(users.into_iter().map(at_other_end));
                visits.strangers.extend(named(strangers));
                let from = channel.others.elsewhere.iter().map(|from| (from.clone(), place.clone()));
                visits.unseen.extend(from);
            }
            Way::Receives => visits.open.push((process.pid(), channel.what.clone(), true)),
        }
    }

    fn outside(&self, pids: &[Pid]) -> Vec<Pid> {
        let owner = self.lets_go().and(self.root.parent);
        let inside =
            |pid: &Pid| self.tree.contains(*pid) || self.condemned.contains(pid) || Some(*pid) == owner;
        pids.iter().copied().filter(|pid| !inside(pid)).collect()
    }
}
