//! What to remember of a look: sightings, samples, and who belongs to which client.

use super::Look;
use crate::catalog::{Catalog, Role};
use crate::judge::Judgement;
use crate::memory::{Kin, KnownClient, Memory, Part, Sample, Seen, SeenRoot, command_digest};
use crate::process::{Fact, FarEnd, Pid, Process, ProcessTable, Stream};
use crate::tree::{MemberRole, Roles, Tree, is_shell};

impl Look {
    /// The memory after this look.
    pub fn remember(&self, before: &Memory, catalog: &Catalog) -> Memory {
        let now = self.table.at.awake;
        let mut seen = Seen::default();
        for judgement in &self.plan.judgements {
            let Some(root) = self.table.get(judgement.tree.root) else { continue };
            let leaks = judgement.answers.iter().any(|answer| answer.is_live_leak());
            if judgement.tree.adopter.is_some() || leaks {
                let owned = judgement.tree.adopter.is_none();
                let Judgement { hung_up, is_active: active, .. } = *judgement;
                seen.roots.push(SeenRoot { id: root.id, owned, hung_up, active });
            }
            let members = judgement.tree.members.iter().filter_map(|member| self.table.get(member.pid));
            seen.samples
                .extend(members.filter_map(|process| Sample::of(process, now, before.sample(&process.id))));
            seen.kin.extend(self.kin(judgement, catalog));
        }
        let lives =
            |id: &crate::process::ProcessId| self.table.get(id.pid).is_some_and(|now| now.id.same(id));
        before.after(now, seen, lives)
    }

    /// Members of a tree whose client lives, and an unknown wrapper between client and tree.
    fn kin(&self, judgement: &Judgement, catalog: &Catalog) -> Vec<Kin> {
        let tree = &judgement.tree;
        let Some(root) = self.table.get(tree.root).filter(|_| tree.adopter.is_none()) else {
            return Vec::new();
        };
        let wrapper = unknown_wrapper(&self.table, &self.roles, tree);
        let Some(client) = wrapper.unwrap_or(root).parent.and_then(|parent| self.client(parent, catalog))
        else {
            return Vec::new();
        };
        let kin = |process: &Process, part: Part| Kin {
            id: process.id,
            command: command_digest(process),
            parent: process.parent,
            part,
            server: tree.name.clone(),
            pattern: catalog.pattern(tree.pattern).name.clone(),
            runs_commands: tree.runs_commands,
            client: client.clone(),
        };
        let part = |role: MemberRole| match role {
            MemberRole::Server => Some(Part::Server),
            MemberRole::Launcher => Some(Part::Launcher),
            MemberRole::Helper => Some(Part::Helper),
            MemberRole::Other => Some(Part::Other),
            // They are recognised by themselves.
            MemberRole::Browser | MemberRole::Client => None,
        };
        let members = (tree.members.iter())
            .filter_map(|member| Some(kin(self.table.get(member.pid)?, part(member.role)?)));
        members.chain(wrapper.map(|process| kin(process, Part::Launcher))).collect()
    }

    fn client(&self, pid: Pid, catalog: &Catalog) -> Option<KnownClient> {
        let classified = self.roles.get(pid).filter(|classified| classified.role == Role::Client)?;
        Some(KnownClient { name: catalog.display_name(classified), id: self.table.get(pid)?.id })
    }
}

/// The process that stands between a live client and the root of a tree and that no pattern names: a script of the user's
/// that starts the server. It has no other child, and its client talks to it over stdin and stdout. An agent looks the
/// same, so this is good for finding the tree again and for the client's name, not for a verdict.
pub(super) fn unknown_wrapper<'a>(
    table: &'a ProcessTable,
    roles: &Roles,
    tree: &Tree,
) -> Option<&'a Process> {
    let wrapper = table.parent(table.get(tree.root)?)?;
    let client = table.parent(wrapper)?;
    let only_child = table.living_children(wrapper.pid()).count() == 1;
    let named_or_shell = roles.get(wrapper.pid()).is_some() || is_shell(wrapper.arguments());
    let unknown = !named_or_shell && roles.role(client.pid()) == Some(Role::Client);
    (tree.adopter.is_none() && unknown && only_child).then_some(wrapper).filter(|wrapper| {
        let stdio = [Stream::Stdin, Stream::Stdout].map(|stream| wrapper.descriptor(stream));
        let unread = stdio.iter().all(|fact| **fact == Fact::Unread);
        let connected = stdio.iter().all(|fact| fact.known().is_some_and(|known| known.is_stdio()));
        let hung_up = *wrapper.far_end(Stream::Stdin) == Fact::Known(FarEnd::HungUp);
        unread || (connected && !hung_up)
    })
}
