//! One process of a recording.

use super::parts::{
    ChannelText, Command, Field, KinText, ListenerText, MarksText, MemoryText, MovedText, SampleText,
    SightingText, User, channel, channel_text, fact, field, is_false, listener, listener_text, marks_text,
    read_command, read_marks, users,
};
use super::words::{descriptor_of, descriptor_text, duration_of, duration_text, far_end_of, far_end_text};
use super::{RecordingError, wrong};
use crate::memory::{Kin, KnownClient, Memory, Sample, Sighting, command_digest};
use crate::process::{
    BootId, DESCRIPTORS, Details, Fact, Moment, Moved, Pid, Process, ProcessId, ProcessTable, State,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Keys of `[[process]]` and `[common]`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<Pid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Pid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<StateText>,
    #[serde(skip_serializing_if = "is_false")]
    kernel: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_faults: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Field<Command>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Field<User>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid_namespace: Field<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    net_namespace: Field<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin_end: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_end: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_stdio: Option<[u32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fd3: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fd3_end: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fd4: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fd4_end: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Field<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracer: Field<Pid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catches_term: Field<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Field<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_by_init: Field<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listeners: Field<Vec<ListenerText>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channels: Field<Vec<ChannelText>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Field<MovedText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    marks: Field<MarksText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Field<MemoryText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<SightingText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<SampleText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<KinText>,
    #[serde(skip_serializing_if = "is_false")]
    survived_kill: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StateText {
    Alive,
    Stopped,
    Zombie,
}

/// What times in a recording are counted from.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) at: Moment,
    pub(super) ticks_per_second: u64,
    pub(super) boot: BootId,
}

impl Clock {
    fn start(self, age: Duration) -> u64 {
        let since = self.at.since_boot.saturating_sub(age).as_millis() as u64;
        since.saturating_mul(self.ticks_per_second).saturating_add(500) / 1000
    }
}

/// What the entries say of earlier looks.
#[derive(Default)]
pub(super) struct Remembered {
    pub(super) sightings: Vec<Sighting>,
    pub(super) samples: Vec<Sample>,
    pub(super) kin: Vec<Kin>,
    pub(super) survivors: Vec<ProcessId>,
}

/// Calls `$each!(name)` for every key that `[common]` may give for a process.
macro_rules! shared_keys {
    ($each:ident) => {
        $each!(age);
        $each!(state);
        $each!(cpu);
        $each!(command);
        $each!(user);
        $each!(pid_namespace);
        $each!(net_namespace);
        $each!(stdin);
        $each!(stdin_end);
        $each!(stdout);
        $each!(stdout_end);
        $each!(stderr);
        $each!(fd3);
        $each!(fd3_end);
        $each!(fd4);
        $each!(fd4_end);
        $each!(environment);
        $each!(tracer);
        $each!(catches_term);
        $each!(started_by_init);
        $each!(cgroup);
        $each!(listeners);
        $each!(channels);
        $each!(moved);
        $each!(marks);
        $each!(memory);
    };
}

/// Takes out of the entries what most of them have in common, so that it is written once.
pub(super) fn take_common(entries: &mut [Entry]) -> Entry {
    let mut common = Entry::default();
    macro_rules! take {
        ($key:ident) => {
            let most = entries.iter().find_map(|entry| {
                let value = entry.$key.as_ref()?;
                let same = entries.iter().filter(|other| other.$key.as_ref() == Some(value)).count();
                // Whoever has none of its own would get it too.
                let everyone = entries.iter().all(|other| other.$key.is_some());
                (everyone && entries.len() > 1 && same * 2 > entries.len()).then(|| value.clone())
            });
            if let Some(value) = most {
                entries
                    .iter_mut()
                    .filter(|entry| entry.$key.as_ref() == Some(&value))
                    .for_each(|entry| entry.$key = None);
                common.$key = Some(value);
            }
        };
    }
    shared_keys!(take);
    common
}

impl Entry {
    /// This entry, with what it does not say taken from another.
    pub(super) fn over(mut self, common: &Entry) -> Entry {
        macro_rules! inherit {
            ($key:ident) => {
                self.$key = self.$key.or_else(|| common.$key.clone());
            };
        }
        shared_keys!(inherit);
        self
    }

    /// The process, and what is remembered of it.
    pub(super) fn read(self, clock: Clock, seen: &mut Remembered) -> Result<Process, RecordingError> {
        let pid = self.pid.ok_or_else(|| wrong("[[process]]", "has no `pid`"))?;
        let at = |key: &str| {
            let key = key.to_owned();
            move |problem: String| wrong(format!("process {pid}, `{key}`"), problem)
        };
        let time = |key: &str, text: Option<&str>| -> Result<Duration, RecordingError> {
            text.map_or(Ok(Duration::ZERO), duration_of).map_err(at(key))
        };
        let start_ticks = clock.start(time("age", self.age.as_deref())?);
        let id = ProcessId { pid, start_ticks, unique: None, boot: clock.boot };
        let ago =
            |key: &str, text: &str| Ok(clock.at.awake.saturating_sub(duration_of(text).map_err(at(key))?));
        if let Some(sighting) = &self.seen {
            let since = |text: &Option<String>| text.as_deref().map(|text| ago("seen", text)).transpose();
            seen.sightings.push(Sighting {
                id,
                first_seen: ago("seen", &sighting.orphaned)?,
                hung_up_since: since(&sighting.hung_up)?,
                owned: sighting.owned,
                active_at: since(&sighting.active)?,
            });
        }
        if let Some(sample) = &self.sample {
            let when = ago("sample", &sample.ago)?;
            let quiet_since = sample.quiet.as_deref().map_or(Ok(when), |text| ago("sample", text))?;
            let moved = Moved { disk: sample.disk, calls: sample.calls };
            let cpu = time("sample", Some(&sample.cpu))?;
            seen.samples.push(Sample {
                id,
                at: when,
                moved,
                cpu,
                waited_faults: sample.waited_faults,
                quiet_since,
            });
        }
        seen.survivors.extend(self.survived_kill.then_some(id));
        let ends = [self.stdin_end, self.stdout_end, None, self.fd3_end, self.fd4_end];
        let descriptors = [self.stdin, self.stdout, self.stderr, self.fd3, self.fd4];
        let mut details = Details {
            users: fact(self.user, |user| Ok(users(&user))).map_err(at("user"))?,
            pid_namespace: fact(self.pid_namespace, Ok).map_err(at("pid_namespace"))?,
            net_namespace: fact(self.net_namespace, Ok).map_err(at("net_namespace"))?,
            listeners: fact(self.listeners, |all| Ok(all.into_iter().map(listener).collect()))
                .map_err(at("listeners"))?,
            channels: fact(self.channels, |all| Ok(all.into_iter().map(channel).collect()))
                .map_err(at("channels"))?,
            moved: fact(self.moved, |moved| Ok(Moved { disk: moved.disk, calls: moved.calls }))
                .map_err(at("moved"))?,
            environment: fact(self.environment, |number| Ok(number as u64)).map_err(at("environment"))?,
            tracer: fact(self.tracer, Ok).map_err(at("tracer"))?,
            catches_term: fact(self.catches_term, Ok).map_err(at("catches_term"))?,
            started_by_init: started_by_init(fact(self.started_by_init, Ok).map_err(at("started_by_init"))?),
            marks: fact(self.marks, |marks| Ok(read_marks(marks))).map_err(at("marks"))?,
            cgroup: fact(self.cgroup, Ok).map_err(at("cgroup"))?,
            moved_stdio: self.moved_stdio,
            memory: fact(self.memory, |memory| {
                Ok(crate::process::Memory { rss: memory.rss, pss: memory.pss, swap: memory.swap })
            })
            .map_err(at("memory"))?,
            ..Details::default()
        };
        const KEYS: [&str; DESCRIPTORS] = ["stdin", "stdout", "stderr", "fd3", "fd4"];
        for (number, (descriptor, end)) in descriptors.into_iter().zip(ends).enumerate() {
            details.descriptors[number] =
                fact(descriptor, |text| descriptor_of(&text)).map_err(at(KEYS[number]))?;
            let key = format!("{}_end", KEYS[number]);
            details.far_ends[number] = fact(end, |text| far_end_of(&text)).map_err(at(&key))?;
        }
        let process = Process {
            id,
            parent: self.parent,
            state: match self.state {
                None | Some(StateText::Alive) => State::Alive,
                Some(StateText::Stopped) => State::Stopped,
                Some(StateText::Zombie) => State::Zombie,
            },
            kernel: self.kernel,
            cpu: time("cpu", self.cpu.as_deref())?,
            waited_faults: self.waited_faults.unwrap_or(0),
            program: 0,
            command: fact(self.command, read_command).map_err(at("command"))?,
            details: details.into(),
        };
        if let Some(was) = &self.was {
            let age = time("was", was.client_age.as_deref())?;
            let client = ProcessId { pid: was.client_pid, start_ticks: clock.start(age), ..id };
            seen.kin.push(Kin {
                id,
                command: command_digest(&process),
                parent: was.parent,
                part: was.part,
                server: was.server.clone(),
                pattern: was.pattern.clone(),
                runs_commands: was.runs_commands,
                client: KnownClient { name: was.client.clone(), id: client },
            });
        }
        Ok(process)
    }

    /// The entry of a process, with what is remembered of it.
    pub(super) fn of(process: &Process, table: &ProcessTable, memory: &Memory) -> Entry {
        let details = &process.details;
        let ago = |at: Duration| duration_text(table.at.awake.saturating_sub(at));
        let descriptor = |number: usize| field(&details.descriptors[number], descriptor_text);
        let end = |number: usize| field(&details.far_ends[number], far_end_text);
        let tick = |id: &ProcessId| {
            Duration::from_millis(id.start_ticks.saturating_mul(1000) / table.ticks_per_second.max(1))
        };
        Entry {
            pid: Some(process.pid()),
            parent: process.parent,
            age: Some(duration_text(table.age(process))),
            state: match process.state {
                State::Alive => None,
                State::Stopped => Some(StateText::Stopped),
                State::Zombie => Some(StateText::Zombie),
            },
            kernel: process.kernel,
            cpu: (!process.cpu.is_zero()).then(|| duration_text(process.cpu)),
            waited_faults: Some(process.waited_faults).filter(|faults| *faults > 0),
            command: field(&process.command, |words| Command::Words(words.clone())),
            user: field(&details.users, |users| {
                if users.real == users.effective {
                    User::Both(users.real)
                } else {
                    User::RealAndEffective([users.real, users.effective])
                }
            }),
            pid_namespace: field(&details.pid_namespace, |inode| *inode),
            net_namespace: field(&details.net_namespace, |inode| *inode),
            stdin: descriptor(0),
            stdin_end: end(0),
            stdout: descriptor(1),
            stdout_end: end(1),
            moved_stdio: details.moved_stdio,
            stderr: descriptor(2),
            fd3: descriptor(3),
            fd3_end: end(3),
            fd4: descriptor(4),
            fd4_end: end(4),
            environment: field(&details.environment, |digest| *digest as i64),
            tracer: field(&details.tracer, |pid| *pid),
            catches_term: field(&details.catches_term, |catches| *catches),
            // Systems that do not remember it say nothing of it.
            started_by_init: field(&details.started_by_init, |started| *started)
                .filter(|_| details.started_by_init != Fact::Absent),
            cgroup: field(&details.cgroup, String::clone),
            listeners: field(&details.listeners, |all| all.iter().map(listener_text).collect()),
            channels: field(&details.channels, |all| all.iter().map(channel_text).collect()),
            moved: field(&details.moved, |moved| MovedText { disk: moved.disk, calls: moved.calls }),
            marks: field(&details.marks, marks_text),
            memory: field(&details.memory, |memory| MemoryText {
                rss: memory.rss,
                pss: memory.pss,
                swap: memory.swap,
            }),
            seen: memory.of(&process.id).map(|sighting| SightingText {
                orphaned: ago(sighting.first_seen),
                hung_up: sighting.hung_up_since.map(ago),
                owned: sighting.owned,
                active: sighting.active_at.map(ago),
            }),
            sample: memory.sample(&process.id).map(|sample| SampleText {
                ago: ago(sample.at),
                disk: sample.moved.disk,
                calls: sample.moved.calls,
                cpu: duration_text(sample.cpu),
                waited_faults: sample.waited_faults,
                quiet: Some(ago(sample.quiet_since)),
            }),
            was: memory.kin(process).map(|kin| KinText {
                parent: kin.parent,
                part: kin.part,
                server: kin.server.clone(),
                pattern: kin.pattern.clone(),
                runs_commands: kin.runs_commands,
                client: kin.client.name.clone(),
                client_pid: kin.client.id.pid,
                client_age: Some(duration_text(table.at.since_boot.saturating_sub(tick(&kin.client.id)))),
            }),
            survived_kill: memory.has_survived(&process.id),
        }
    }
}

/// Recordings of systems that do not remember it do not name it.
fn started_by_init(fact: Fact<bool>) -> Fact<bool> {
    if fact == Fact::Unread { Fact::Absent } else { fact }
}
