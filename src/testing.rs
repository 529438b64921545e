//! Process tables without processes, for the tests of tree and judge.

use crate::catalog::Catalog;
use crate::config::{Settings, Sources, load};
use crate::judge::{Judgement, Plan, Scene, judge};
use crate::memory::{Kin, KnownClient, Memory, Part, Sample, Seen, SeenRoot, command_digest};
use crate::process::{
    BootId, Descriptor, Details, Fact, FarEnd, Holders, Marks, Moment, Moved, Observer, Pid, Process,
    ProcessId, ProcessTable, State, Users,
};
use crate::tree::{Adopters, Roles, Tree, trees};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Inode of the PID namespace that the test looks from.
pub const OWN_NAMESPACE: u64 = 4_026_531_836;
/// Seconds since boot at which the look is taken.
pub const NOW: u64 = 100_000;
/// The user of everything, unless said otherwise.
pub const USER: u32 = 1000;

pub fn pid(number: i32) -> Pid {
    Pid::new(number).expect("a positive number")
}

/// A table that is being written.
pub struct Table {
    processes: Vec<Process>,
    observer: Observer,
    memory: Vec<(i32, u64, Option<u64>)>,
    samples: Vec<(i32, u64, u64, u64)>,
    kin: Vec<Kin>,
    reaps: Vec<(u64, u64, usize)>,
    survivors: Vec<i32>,
    slept: u64,
    set: Vec<String>,
    config: Option<String>,
}

impl Table {
    /// A machine with systemd as PID 1, looked at by root.
    pub fn new() -> Table {
        let observer = Observer {
            pid: pid(99_999),
            uid: 0,
            machine: true,
            pid_namespace: Some(OWN_NAMESPACE),
            net_namespace: Some(1),
            wsl: false,
        };
        let set =
            ["orphan.min_age=0s", "orphan.confirm=0s", "spare.active_window=0s"].map(str::to_owned).to_vec();
        let mut table = Table {
            processes: Vec::new(),
            observer,
            memory: Vec::new(),
            samples: Vec::new(),
            kin: Vec::new(),
            reaps: Vec::new(),
            survivors: Vec::new(),
            slept: 0,
            set: set.clone(),
            config: None,
        };
        table.add(1, 0, "/sbin/init").user(0).stdin(Descriptor::Null);
        table
    }

    /// A process of an hour, of the usual user, with a pipe of its own as stdin and stdout whose far end is hung up.
    pub fn add(&mut self, number: i32, parent: i32, line: &str) -> Writing<'_> {
        let words = shell_words::split(line).expect("a readable line");
        let inode = 10_000 + number as u64 * 10;
        let process = Process {
            id: ProcessId {
                pid: pid(number),
                start_ticks: (NOW - 3600) * 100,
                unique: None,
                boot: BootId(7),
            },
            parent: Pid::new(parent),
            state: State::Alive,
            kernel: false,
            cpu: Duration::ZERO,
            waited_faults: 0,
            program: 0,
            command: Fact::Known(words),
            details: Details {
                users: Fact::Known(Users { real: USER, effective: USER }),
                pid_namespace: Fact::Known(OWN_NAMESPACE),
                net_namespace: Fact::Known(1),
                descriptors: [
                    Fact::Known(Descriptor::Pipe(inode)),
                    Fact::Known(Descriptor::Pipe(inode + 1)),
                    Fact::Known(Descriptor::Null),
                    Fact::Absent,
                    Fact::Absent,
                ],
                moved_stdio: None,
                far_ends: [
                    Fact::Known(FarEnd::HungUp),
                    Fact::Known(FarEnd::HungUp),
                    Fact::Unread,
                    Fact::Absent,
                    Fact::Absent,
                ],
                listeners: Fact::Known(Vec::new()),
                channels: Fact::Known(Vec::new()),
                moved: Fact::Known(Moved::default()),
                environment: Fact::Known(0),
                tracer: Fact::Absent,
                catches_term: Fact::Known(false),
                started_by_init: Fact::Absent,
                marks: Fact::Known(Marks::default()),
                cgroup: Fact::Known("/user.slice".to_owned()),
                memory: Fact::Absent,
            }
            .into(),
        };
        self.processes.push(process);
        Writing { process: self.processes.last_mut().expect("just pushed") }
    }

    pub fn process(&mut self, number: i32) -> Writing<'_> {
        let process = self.processes.iter_mut().find(|process| process.pid() == pid(number));
        Writing { process: process.expect("it was added") }
    }

    pub fn remove(&mut self, number: i32) {
        self.processes.retain(|process| process.pid() != pid(number));
    }

    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    pub fn shuffle(&mut self, by: usize) {
        let length = self.processes.len();
        self.processes.rotate_left(by % length);
        if by % 2 == 1 {
            self.processes.reverse();
        }
    }

    /// Looks as a plain user.
    pub fn as_user(&mut self, uid: u32) -> &mut Table {
        (self.observer.uid, self.observer.machine) = (uid, false);
        self
    }

    /// Looks from this process.
    pub fn observer_is(&mut self, number: i32) -> &mut Table {
        self.observer.pid = pid(number);
        self
    }

    /// The machine has slept for so many seconds, after all that is remembered and before this look.
    pub fn slept(&mut self, seconds: u64) -> &mut Table {
        self.slept = seconds;
        self
    }

    pub fn wsl(&mut self) -> &mut Table {
        self.observer.wsl = true;
        self
    }

    pub fn set(&mut self, assignment: &str) -> &mut Table {
        self.set.push(assignment.to_owned());
        self
    }

    pub fn config(&mut self, text: &str) -> &mut Table {
        self.config = Some(text.to_owned());
        self
    }

    /// Earlier looks saw this root orphaned so many seconds ago, and hung up since.
    pub fn remember(&mut self, root: i32, seen: u64, hung_up: Option<u64>) -> &mut Table {
        self.memory.push((root, seen, hung_up));
        self
    }

    /// An earlier look, so many seconds ago, saw that a process had moved these bytes to disk and used these seconds of
    /// processor time. It was quiet since.
    pub fn sampled(&mut self, number: i32, ago: u64, disk: u64, cpu: u64) -> &mut Table {
        self.samples.push((number, ago, disk, cpu));
        self
    }

    /// An earlier look saw a process below this parent, as this part of a server's tree of opencode (900).
    pub fn was(&mut self, number: i32, parent: i32, part: Part, server: &str) -> &mut Table {
        let id = |number: i32| ProcessId { pid: pid(number), start_ticks: 0, unique: None, boot: BootId(7) };
        let client = KnownClient { name: "opencode".to_owned(), id: id(900) };
        let (id, parent) = (id(number), Pid::new(parent));
        self.kin.push(Kin {
            id,
            command: 0,
            parent,
            part,
            server: server.to_owned(),
            pattern: server.to_owned(),
            runs_commands: false,
            client,
        });
        self
    }

    /// A command was taken down so many seconds ago, and had come back so often before.
    pub fn reaped(&mut self, command: u64, ago: u64, returns: usize) -> &mut Table {
        self.reaps.push((command, ago, returns));
        self
    }

    /// A process has survived SIGKILL.
    pub fn survived(&mut self, number: i32) -> &mut Table {
        self.survivors.push(number);
        self
    }

    /// Settings of this table. Compiling the catalog takes time, so each configuration is loaded once.
    pub fn settings(&self) -> Arc<Settings> {
        static LOADED: Mutex<BTreeMap<String, Arc<Settings>>> = Mutex::new(BTreeMap::new());
        let key = format!("{:?} {:?}", self.set, self.config);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.entry(key).or_insert_with(|| Arc::new(self.load())).clone()
    }

    fn load(&self) -> Settings {
        let folder = tempfile::tempdir().expect("a folder");
        let mut sources = Sources { set: self.set.clone(), ..Sources::default() };
        if let Some(text) = &self.config {
            let path = folder.path().join("test.toml");
            std::fs::write(&path, text).expect("written");
            sources.explicit = Some(path);
        }
        load(&sources).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn table(&self) -> ProcessTable {
        let awake = Duration::from_secs(NOW - self.slept);
        let at = Moment { since_boot: Duration::from_secs(NOW), awake };
        ProcessTable::new(BootId(7), at, 100, self.observer.clone(), self.processes.clone())
    }

    pub fn memory(&self, table: &ProcessTable) -> Memory {
        let mut memory = Memory::empty(BootId(7));
        let mut times: Vec<u64> =
            self.memory.iter().flat_map(|(_, seen, hung_up)| [*seen, hung_up.unwrap_or(0)]).collect();
        times.extend(self.samples.iter().map(|(_, ago, _, _)| *ago));
        times.extend([0].iter().filter(|_| !self.kin.is_empty()));
        times.sort_unstable();
        for ago in times.into_iter().rev() {
            let now = Duration::from_secs(NOW - self.slept - ago);
            let roots =
                self.memory.iter().filter(|(_, seen, _)| *seen >= ago).filter_map(|(root, _, hung_up)| {
                    Some(SeenRoot {
                        id: table.get(pid(*root))?.id,
                        owned: false,
                        hung_up: hung_up.is_some_and(|since| since >= ago),
                        active: false,
                    })
                });
            let samples = self.samples.iter().filter(|(_, when, _, _)| *when >= ago).filter_map(
                |(number, when, disk, cpu)| {
                    let at = Duration::from_secs(NOW - self.slept - when);
                    let moved = Moved { disk: *disk, calls: 0 };
                    Some(Sample {
                        id: table.get(pid(*number))?.id,
                        at,
                        moved,
                        waited_faults: 0,
                        cpu: Duration::from_secs(*cpu),
                        quiet_since: at,
                    })
                },
            );
            let kin = self.kin.iter().filter_map(|kin| {
                let process = table.get(kin.id.pid)?;
                Some(Kin { id: process.id, command: command_digest(process), ..kin.clone() })
            });
            let seen = Seen { roots: roots.collect(), samples: samples.collect(), kin: kin.collect() };
            memory = memory.after(now, seen, |_| true);
        }
        for (command, ago, returns) in &self.reaps {
            memory.reaped(*command, Duration::from_secs(NOW - ago), *returns);
        }
        memory.survived(self.survivors.iter().filter_map(|number| Some(table.get(pid(*number))?.id)));
        memory
    }

    pub fn trees(&self) -> Vec<Tree> {
        let settings = self.settings();
        let table = self.table();
        let (_, found) = seen(&table, &settings.catalog, &self.memory(&table));
        found
    }

    pub fn judge(&self) -> Plan {
        self.judge_with(&self.settings())
    }

    pub fn judge_with(&self, settings: &Settings) -> Plan {
        let table = self.table();
        let memory = self.memory(&table);
        let (roles, found) = seen(&table, &settings.catalog, &memory);
        let scene = Scene {
            table: &table,
            roles: &roles,
            catalog: &settings.catalog,
            policy: &settings.policy,
            memory: &memory,
        };
        judge(scene, found)
    }

    /// Verdict and code of the tree with this root.
    pub fn verdict(&self, root: i32) -> (&'static str, &'static str) {
        let plan = self.judge();
        let judgement = judgement(&plan, root);
        (judgement.verdict.word(), judgement.code().word())
    }
}

pub fn judgement(plan: &Plan, root: i32) -> &Judgement {
    let roots: Vec<Pid> = plan.judgements.iter().map(|judgement| judgement.tree.root).collect();
    plan.of_root(pid(root)).unwrap_or_else(|| panic!("no tree at {root}, only at {roots:?}"))
}

fn seen(table: &ProcessTable, catalog: &Catalog, memory: &Memory) -> (Roles, Vec<Tree>) {
    let roles = Roles::of(table, catalog);
    let adopters = Adopters::of(table, &roles, memory);
    let found = trees(table, &roles, catalog, &adopters, memory);
    (roles, found)
}

/// A process that is being written.
pub struct Writing<'a> {
    pub process: &'a mut Process,
}

impl Writing<'_> {
    pub fn user(self, uid: u32) -> Self {
        self.process.details.users = Fact::Known(Users { real: uid, effective: uid });
        self
    }

    pub fn stdin(self, descriptor: Descriptor) -> Self {
        self.process.details.descriptors[0] = Fact::Known(descriptor);
        self
    }

    pub fn stdout(self, descriptor: Descriptor) -> Self {
        self.process.details.descriptors[1] = Fact::Known(descriptor);
        self
    }

    /// The same stdin and stdout as another process.
    pub fn stdio_of(self, other: i32) -> Self {
        let inode = 10_000 + other as u64 * 10;
        self.stdin(Descriptor::Pipe(inode)).stdout(Descriptor::Pipe(inode + 1))
    }

    /// Held by these, everyone searched.
    pub fn held_by(self, holders: &[i32]) -> Self {
        let pids = holders.iter().map(|number| pid(*number)).collect();
        self.far_end(FarEnd::Open(Some(Holders { pids, complete: true, unsearched: Vec::new() })))
    }

    pub fn far_end(self, far_end: FarEnd) -> Self {
        self.process.details.far_ends[0] = Fact::Known(far_end);
        self
    }

    /// Stdout is read by these, everyone searched.
    pub fn read_by(self, readers: &[i32]) -> Self {
        let pids = readers.iter().map(|number| pid(*number)).collect();
        self.process.details.far_ends[1] =
            Fact::Known(FarEnd::Open(Some(Holders { pids, complete: true, unsearched: Vec::new() })));
        self
    }

    pub fn age(self, seconds: u64) -> Self {
        self.process.id.start_ticks = (NOW - seconds) * 100;
        self
    }

    pub fn cpu(self, seconds: u64) -> Self {
        self.process.cpu = Duration::from_secs(seconds);
        self
    }

    pub fn zombie(self) -> Self {
        self.process.state = State::Zombie;
        self
    }

    pub fn marks(self, orphand: Option<&str>, systemd_exec_pid: Option<&str>) -> Self {
        self.process.details.marks = Fact::Known(Marks {
            orphand: orphand.map(str::to_owned),
            systemd_exec_pid: systemd_exec_pid.map(str::to_owned),
            client: None,
        });
        self
    }
}
