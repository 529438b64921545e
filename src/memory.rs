//! What is remembered between looks: since when a tree has been seen orphaned. A value, passed in and out.

use crate::process::{BootId, Pid, ProcessId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is remembered of one orphan tree, by its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sighting {
    /// The root.
    pub id: ProcessId,
    /// When it was first seen orphaned, as time since boot.
    pub first_seen: Duration,
    /// Since when its lifelines have been seen hung up in every look; `None` when the last look saw otherwise.
    pub hung_up_since: Option<Duration>,
}

/// Sightings of one boot.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// The boot that the times belong to.
    pub boot: BootId,
    sightings: BTreeMap<Pid, Sighting>,
}

/// More trees than this are not remembered; the oldest stay. A bound, so that the file cannot grow without end.
const MOST: usize = 20_000;

impl Memory {
    /// Nothing remembered.
    pub fn empty(boot: BootId) -> Memory {
        Memory { boot, sightings: BTreeMap::new() }
    }

    /// What is remembered of the tree with this root. A reused pid is somebody else.
    pub fn of(&self, root: &ProcessId) -> Option<&Sighting> {
        self.sightings.get(&root.pid).filter(|sighting| sighting.id.same(root))
    }

    /// The memory after a look: `seen` are the roots of all orphan trees in it and whether they were hung up. Whoever is
    /// no longer among them is forgotten.
    pub fn after(&self, now: Duration, seen: impl IntoIterator<Item = (ProcessId, bool)>) -> Memory {
        let mut next = Memory::empty(self.boot);
        for (id, hung_up) in seen {
            let before = self.of(&id);
            let first_seen = before.map_or(now, |sighting| sighting.first_seen.min(now));
            let since =
                before.and_then(|sighting| sighting.hung_up_since).map_or(now, |since| since.min(now));
            let sighting = Sighting { id, first_seen, hung_up_since: hung_up.then_some(since) };
            next.sightings.insert(id.pid, sighting);
        }
        if next.sightings.len() > MOST {
            let mut oldest: Vec<Sighting> = next.sightings.values().copied().collect();
            oldest.sort_by_key(|sighting| (sighting.first_seen, sighting.id.pid));
            next.sightings =
                oldest.into_iter().take(MOST).map(|sighting| (sighting.id.pid, sighting)).collect();
        }
        next
    }
}
