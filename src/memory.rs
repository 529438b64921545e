//! What is remembered between looks. A value, passed in and out; knows nothing of trees or verdicts.
//!
//! Sightings of orphans, samples of what processes did, kin (who was seen below which client while it lived), and what
//! came of earlier reaping. Times are those of the machine's awake clock, but for what is compared with a process's start.

use crate::process::{BootId, Moved, Pid, Process, ProcessId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is remembered of one orphan tree, by its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sighting {
    /// The root.
    pub id: ProcessId,
    /// When it was first seen orphaned.
    pub first_seen: Duration,
    /// Since when its lifelines have been seen hung up in every look; `None` when the last look saw otherwise.
    pub hung_up_since: Option<Duration>,
    /// Whether its client lived then: time below a live client is no time as an orphan.
    #[serde(default)]
    pub owned: bool,
    /// When disk traffic of its processes, or a new child, was last noticed.
    #[serde(default)]
    pub active_at: Option<Duration>,
}

/// What one process had done when it was last seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The process.
    pub id: ProcessId,
    /// When.
    pub at: Duration,
    /// Bytes moved by then.
    pub moved: Moved,
    /// Processor time used by then.
    pub cpu: Duration,
    /// Page faults of the children that it had waited for by then.
    #[serde(default)]
    pub waited_faults: u64,
    /// Since when it has moved next to nothing.
    pub quiet_since: Duration,
}

/// More bytes than this through read and write calls between two looks are traffic; timers and wake-ups stay below.
pub const NOISE: u64 = 4096;

impl Sample {
    /// The sample of a process as it is now, given the one before. `None` where its traffic may not be read.
    pub fn of(process: &Process, now: Duration, before: Option<&Sample>) -> Option<Sample> {
        let moved = *process.details.moved.known()?;
        let quiet_since = match before {
            Some(before) if !before.has_moved_since(&moved) => before.quiet_since.min(now),
            _ => now,
        };
        let Process { id, cpu, waited_faults, .. } = *process;
        Some(Sample { id, at: now, moved, cpu, waited_faults, quiet_since })
    }

    /// Whether more than noise was moved between this sample and then.
    pub fn has_moved_since(&self, then: &Moved) -> bool {
        then.calls.saturating_sub(self.moved.calls) > NOISE || self.has_used_disk_since(then)
    }

    /// Whether anything went to or from a disk between this sample and then.
    pub fn has_used_disk_since(&self, then: &Moved) -> bool {
        then.disk > self.moved.disk
    }
}

/// What a process was in the tree of a server while that server's client lived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Stood between client and server.
    Launcher,
    /// The server.
    Server,
    /// A known helper of servers.
    Helper,
    /// Anything else below the server.
    Other,
}

/// A client as it was when it lived.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KnownClient {
    /// What people call it.
    pub name: String,
    /// Its process.
    pub id: ProcessId,
}

/// A process that was seen in a server's tree below a live client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kin {
    /// The process.
    pub id: ProcessId,
    /// Digest of its command line then. With another one it runs another program, and nothing is known of it.
    pub command: u64,
    /// Its parent then. Another one now has adopted it, whatever that is called.
    pub parent: Option<Pid>,
    /// What it was in the tree.
    pub part: Part,
    /// What people call the server.
    pub server: String,
    /// The name of the pattern that named the server.
    pub pattern: String,
    /// Whether people run their own commands through the server.
    #[serde(default)]
    pub runs_commands: bool,
    /// The client.
    pub client: KnownClient,
}

impl Kin {
    /// Whether it is this process, and still runs the same program.
    pub fn is(&self, process: &Process) -> bool {
        self.id.same(&process.id) && self.command == command_digest(process)
    }
}

/// A digest of a process's command line.
pub fn command_digest(process: &Process) -> u64 {
    digest(process.arguments().iter().map(String::as_str))
}

/// FNV-1a of 64 bits: digests stand in the memory's file, so they must mean the same in every version.
pub fn digest<'a>(words: impl Iterator<Item = &'a str>) -> u64 {
    let bytes = words.flat_map(|word| word.bytes().chain(std::iter::once(0)));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A tree that was taken down, by its command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reap {
    /// Digest of user and command lines.
    pub command: u64,
    /// When, as time since boot, suspend included.
    pub at: Duration,
    /// How often it had come back at once and been taken down, this time included.
    pub times: usize,
}

/// Everything remembered, of one boot.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// The boot that the times belong to.
    pub boot: BootId,
    sightings: BTreeMap<Pid, Sighting>,
    #[serde(default)]
    samples: BTreeMap<Pid, Sample>,
    #[serde(default)]
    kin: BTreeMap<Pid, Kin>,
    #[serde(default)]
    reaps: Vec<Reap>,
    #[serde(default)]
    survivors: Vec<ProcessId>,
}

/// More entries than this of a kind are not remembered, so that the file cannot grow without end.
const MOST: usize = 20_000;
/// The same for what was taken down or could not be.
const MOST_REAPS: usize = 1000;
/// A command that comes back under an adopter within this time after it was taken down has been respawned.
const RESPAWN: Duration = Duration::from_secs(120);

/// The root of a tree as one look saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenRoot {
    /// The root.
    pub id: ProcessId,
    /// Whether its client lived.
    pub owned: bool,
    /// Whether its lifelines were hung up.
    pub hung_up: bool,
    /// Whether activity was noticed.
    pub active: bool,
}

/// What one look has to say to the memory.
#[derive(Default)]
pub struct Seen {
    /// Roots of all trees that may be reaped.
    pub roots: Vec<SeenRoot>,
    /// Samples of the members of all trees that were looked at.
    pub samples: Vec<Sample>,
    /// Members of the trees of live clients.
    pub kin: Vec<Kin>,
}

impl Memory {
    /// Nothing remembered.
    pub fn empty(boot: BootId) -> Memory {
        Memory { boot, ..Memory::default() }
    }

    /// A memory put together again from its parts.
    pub fn restored(boot: BootId, sightings: impl IntoIterator<Item = Sighting>, seen: Seen) -> Memory {
        let mut memory = Memory::empty(boot).after(Duration::ZERO, seen, |_| true);
        memory.sightings = sightings.into_iter().map(|sighting| (sighting.id.pid, sighting)).collect();
        memory
    }

    /// Everything that was taken down.
    pub fn reaps(&self) -> &[Reap] {
        &self.reaps
    }

    /// Whether two memories differ in nothing but what processes had done when they were last seen.
    pub fn equals_but_for_samples(&self, other: &Memory) -> bool {
        let Memory { boot, sightings, samples: _, kin, reaps, survivors } = self;
        *boot == other.boot
            && *sightings == other.sightings
            && *kin == other.kin
            && *reaps == other.reaps
            && *survivors == other.survivors
    }

    /// What is remembered of the tree with this root. A reused pid is somebody else.
    pub fn of(&self, root: &ProcessId) -> Option<&Sighting> {
        self.sightings.get(&root.pid).filter(|sighting| sighting.id.same(root))
    }

    /// What this process had done when it was last seen.
    pub fn sample(&self, id: &ProcessId) -> Option<&Sample> {
        self.samples.get(&id.pid).filter(|sample| sample.id.same(id))
    }

    /// What this process was while its client lived.
    pub fn kin(&self, process: &Process) -> Option<&Kin> {
        self.kin.get(&process.pid()).filter(|kin| kin.is(process))
    }

    /// Whether this process was below a client while that one lived, whatever it runs now.
    pub fn was_kin(&self, id: &ProcessId) -> bool {
        self.kin.get(&id.pid).is_some_and(|kin| kin.id.same(id))
    }

    /// Whether anything is remembered of a process with this number as kin.
    pub fn knows_kin(&self, pid: Pid) -> bool {
        self.kin.contains_key(&pid)
    }

    /// All kin.
    pub fn all_kin(&self) -> impl Iterator<Item = &Kin> {
        self.kin.values()
    }

    /// Whether this process has survived SIGKILL.
    pub fn has_survived(&self, id: &ProcessId) -> bool {
        self.survivors.iter().any(|survivor| survivor.same(id))
    }

    /// How often this command, started at `started` since boot, has come back right after it was taken down.
    pub fn returns(&self, command: u64, started: Duration) -> usize {
        let came_back = |reap: &&Reap| {
            reap.command == command && reap.at <= started && started.saturating_sub(reap.at) <= RESPAWN
        };
        self.reaps.iter().filter(came_back).map(|reap| reap.times).max().unwrap_or(0)
    }

    /// The memory after a look. Roots that are not among the seen ones are forgotten; kin and survivors are kept as long as
    /// they live.
    pub fn after(&self, now: Duration, seen: Seen, lives: impl Fn(&ProcessId) -> bool) -> Memory {
        let mut next = Memory::empty(self.boot);
        for SeenRoot { id, owned, hung_up, active } in seen.roots {
            let before = self.of(&id).filter(|before| before.owned == owned);
            let first_seen = before.map_or(now, |sighting| sighting.first_seen.min(now));
            let since =
                before.and_then(|sighting| sighting.hung_up_since).map_or(now, |since| since.min(now));
            let active_at = if active {
                Some(now)
            } else {
                before.and_then(|sighting| sighting.active_at).map(|at| at.min(now))
            };
            let sighting =
                Sighting { id, first_seen, hung_up_since: hung_up.then_some(since), owned, active_at };
            next.sightings.insert(id.pid, sighting);
        }
        next.samples = seen.samples.into_iter().map(|sample| (sample.id.pid, sample)).collect();
        next.kin =
            self.kin.iter().filter(|(_, kin)| lives(&kin.id)).map(|(pid, kin)| (*pid, kin.clone())).collect();
        next.kin.extend(seen.kin.into_iter().map(|kin| (kin.id.pid, kin)));
        next.reaps.clone_from(&self.reaps);
        next.survivors = self.survivors.iter().filter(|id| lives(id)).copied().collect();
        keep_oldest(&mut next.sightings, |sighting| sighting.first_seen);
        keep_oldest(&mut next.samples, |sample| sample.quiet_since);
        keep_oldest(&mut next.kin, |kin| Duration::from_millis(kin.id.start_ticks));
        next
    }

    /// The same process by another command line: what was known of it, and of its kin, is known of this one too.
    pub fn rename(&mut self, process: &Process, before: u64) {
        let same = |kin: &&mut Kin| kin.id.same(&process.id) && kin.command == before;
        if let Some(kin) = self.kin.get_mut(&process.pid()).filter(same) {
            kin.command = command_digest(process);
        }
    }

    /// What was remembered of one command is remembered of another one too.
    pub fn rename_reaps(&mut self, before: u64, after: u64) {
        let renamed: Vec<Reap> = (self.reaps.iter())
            .filter(|reap| reap.command == before && before != after)
            .map(|reap| Reap { command: after, ..*reap })
            .collect();
        self.reaps.extend(renamed);
    }

    /// Remembers that a command was taken down that had come back so often before. `now` counts suspend in.
    pub fn reaped(&mut self, command: u64, now: Duration, returns: usize) {
        self.reaps.push(Reap { command, at: now, times: returns + 1 });
        let over = self.reaps.len().saturating_sub(MOST_REAPS);
        self.reaps.drain(..over);
    }

    /// Remembers processes that live on after SIGKILL.
    pub fn survived(&mut self, ids: impl IntoIterator<Item = ProcessId>) {
        self.survivors.extend(ids);
        let over = self.survivors.len().saturating_sub(MOST_REAPS);
        self.survivors.drain(..over);
    }
}

fn keep_oldest<T>(entries: &mut BTreeMap<Pid, T>, age: impl Fn(&T) -> Duration) {
    if entries.len() > MOST {
        let mut all: Vec<(Pid, T)> = std::mem::take(entries).into_iter().collect();
        all.sort_by_key(|(pid, entry)| (age(entry), *pid));
        entries.extend(all.into_iter().take(MOST));
    }
}
