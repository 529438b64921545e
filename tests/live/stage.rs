//! The stage: a PID namespace of its own for every test, actors on it, and orphand run against them.
//!
//! Nothing outside the namespace can be seen from within, so nothing else can be signalled; it ends with the test.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Nobody waits longer than this for an event; it is a bound for broken tests, not a measure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `body` as a test in a PID namespace of its own, under an init of its own.
pub fn on_stage(name: &str, body: impl FnOnce(&mut Stage)) {
    if std::env::var_os("ORPHAND_STAGE").is_some() {
        body(&mut Stage::new());
        return;
    }
    let test = std::env::current_exe().expect("the test's own path");
    // Descriptors that cargo leaks into its tests lead out of the namespace, where nobody can be seen.
    let close =
        r#"for fd in /proc/self/fd/*; do n=${fd##*/}; [ "$n" -gt 2 ] && eval "exec $n>&-"; done; exec "$@""#;
    let mut unshare = Command::new("bash");
    unshare.args(["-c", close, "stage", "unshare"]);
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--pid", "--fork", "--mount-proc", "--kill-child=KILL"]);
    let probe = Command::new(unshare.get_program()).args(unshare.get_args()).arg("true").output();
    if !probe.as_ref().is_ok_and(|output| output.status.success()) {
        println!("skipped {name}: no PID namespace to be had here ({probe:?})");
        return;
    }
    let output = unshare
        .arg(actor_path())
        .args(["init"])
        .arg(test)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("ORPHAND_STAGE", "1")
        .stdin(Stdio::null())
        .output()
        .expect("unshare runs");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{name} failed on its stage: {}\n{said}", output.status);
    // A reason to skip is said by the test inside; it must not get lost here.
    said.lines().filter(|line| line.starts_with("skipped")).for_each(|line| println!("{line}"));
}

fn actor_path() -> PathBuf {
    let own = std::env::current_exe().expect("the test's own path");
    let build = own.parent().and_then(Path::parent).expect("target/debug");
    let actor = build.join("examples/actor");
    assert!(
        actor.exists(),
        "{} is missing: `cargo test` builds it, `cargo test --test live` alone does not; run `cargo build --examples`",
        actor.display()
    );
    actor
}

/// One process to be: write it with `actor(...)` and the methods below.
#[derive(Clone)]
pub struct Actor(Value);

/// An actor of this name and command line, connected to its parent by pipes.
pub fn actor(name: &str, line: &str) -> Actor {
    let argv = shell_words::split(line).expect("a readable line");
    Actor(json!({ "name": name, "argv": argv, "stdio": "pipe", "children": [] }))
}

impl Actor {
    pub fn stdio(mut self, stdio: &str) -> Actor {
        self.0["stdio"] = stdio.into();
        self
    }

    pub fn does(mut self, words: &[&str]) -> Actor {
        self.0["does"] = json!(words);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Actor {
        self.0["env"] = json!([[name, value]]);
        self
    }

    /// Runs a real program. It does not say when it is ready.
    pub fn program(mut self, path: &str) -> Actor {
        self.0["program"] = path.into();
        self
    }

    pub fn user(mut self, uid: u32) -> Actor {
        self.0["uid"] = uid.into();
        self
    }

    pub fn child(mut self, child: Actor) -> Actor {
        if let Some(children) = self.0["children"].as_array_mut() {
            children.push(child.0);
        }
        self
    }

    pub fn heir(mut self, heir: Actor) -> Actor {
        self.0["heir"] = heir.0;
        self
    }

    pub fn becomes(mut self, next: Actor) -> Actor {
        self.0["becomes"] = next.0;
        self
    }

    pub fn name(&self) -> String {
        self.0["name"].as_str().expect("a name").to_owned()
    }

    fn names(value: &Value, names: &mut Vec<String>) {
        let silent = value.get("program").is_some();
        names.extend(value["name"].as_str().filter(|_| !silent).map(str::to_owned));
        for child in value["children"].as_array().into_iter().flatten() {
            Actor::names(child, names);
        }
    }
}

/// `npm exec X` -> `sh -c X` -> `node .../X`, all on one pair of sockets, as npm does it.
pub fn npx(name: &str, package: &str) -> Actor {
    let leaf = actor(&format!("{name}-leaf"), &format!("node /h/.npm/_npx/1/node_modules/.bin/{package}"));
    let shell = actor(&format!("{name}-sh"), &format!("sh -c {package}"))
        .stdio("inherit")
        .child(leaf.stdio("inherit"));
    actor(name, &format!("'npm exec {package}'")).stdio("socket").child(shell)
}

/// A client with servers.
pub fn client(name: &str) -> Actor {
    actor(name, "opencode serve").stdio("null")
}

pub struct Stage {
    pub folder: tempfile::TempDir,
    reports: UnixDatagram,
    pids: HashMap<String, i32>,
    children: Vec<std::process::Child>,
    /// More arguments for every orphand.
    pub options: Vec<String>,
}

impl Stage {
    fn new() -> Stage {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let open = |path: &Path| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("opened")
        };
        open(folder.path());
        let reports = UnixDatagram::bind(folder.path().join("reports")).expect("a socket");
        open(&folder.path().join("reports"));
        reports.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        for (program, name) in
            [(PathBuf::from(env!("CARGO_BIN_EXE_orphand")), "orphand"), (actor_path(), "actor")]
        {
            std::fs::copy(program, folder.path().join(name)).expect("copied where every user may run it");
        }
        let state = folder.path().join("state");
        let options = [
            "orphan.min_age=0s",
            "orphan.confirm=0s",
            "spare.active_window=0s",
            "reap.settle=200ms",
            "reap.grace=1s",
            "reap.browser_grace=2s",
        ];
        let mut options: Vec<String> =
            options.iter().flat_map(|set| ["--set".to_owned(), (*set).to_owned()]).collect();
        let run = folder.path().join("run");
        for set in [
            format!("state.directory={}", state.display()),
            format!("state.runtime_directory={}", run.display()),
        ] {
            options.extend(["--set".to_owned(), set]);
        }
        Stage { folder, reports, pids: HashMap::new(), children: Vec::new(), options }
    }

    /// One more setting for every orphand that starts from now on.
    pub fn set(&mut self, assignment: &str) {
        self.options.extend(["--set".to_owned(), assignment.to_owned()]);
    }

    /// Leaves the settings of this section to the files.
    pub fn unset(&mut self, section: &str) {
        let pairs: Vec<String> = std::mem::take(&mut self.options);
        let kept = pairs.chunks(2).filter(|pair| !pair[1].starts_with(&format!("{section}.")));
        self.options = kept.flatten().cloned().collect();
    }

    /// Starts an actor with everybody below it, and waits until all have said that they are ready.
    pub fn enter(&mut self, actor: Actor) {
        let mut names = Vec::new();
        Actor::names(&actor.0, &mut names);
        let argv: Vec<&str> =
            actor.0["argv"].as_array().expect("argv").iter().filter_map(Value::as_str).collect();
        let mut command = Command::new(self.folder.path().join("actor"));
        command.arg0(argv[0]).args(&argv[1..]).env("ACTOR", actor.0.to_string());
        command.env("ACTOR_REPORT", self.folder.path().join("reports"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(uid) = actor.0["uid"].as_u64() {
            command.uid(uid as u32).gid(uid as u32);
        }
        self.children.push(command.spawn().expect("the actor starts"));
        for _ in &names {
            self.hear();
        }
        for name in names {
            assert!(self.pids.contains_key(&name), "{name} is not ready");
        }
    }

    /// Waits for the next actor that says it is ready.
    pub fn hear(&mut self) -> String {
        let mut buffer = [0_u8; 256];
        let length = self.reports.recv(&mut buffer).expect("an actor reports in time");
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let (name, pid) = text.rsplit_once(' ').expect("NAME PID");
        // Copies of one actor have one name; the second to be heard of gets a number.
        let pid: i32 = pid.parse().expect("a pid");
        let twin = self.pids.get(name).is_some_and(|known| *known != pid && lives(*known));
        let name = if twin { format!("{name}#2") } else { name.to_owned() };
        self.pids.insert(name.clone(), pid);
        name
    }

    pub fn pid(&self, name: &str) -> i32 {
        *self.pids.get(name).unwrap_or_else(|| panic!("nobody is called {name}"))
    }

    /// Kills an actor as a crash would, and waits until its children have a new parent.
    pub fn crash(&mut self, name: &str) {
        let pid = self.pid(name);
        self.send(name, rustix::process::Signal::KILL);
        // Those started by the test itself are reaped by it; the others by their parent or init.
        for child in self.children.iter_mut().filter(|child| child.id() as i32 == pid) {
            child.wait().expect("it ends");
        }
        self.wait_until(&format!("{name} is gone"), |_| !Path::new(&format!("/proc/{pid}")).exists());
    }

    /// Sends a signal to an actor of this stage.
    pub fn send(&self, name: &str, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid(name)).expect("a pid");
        let handle =
            rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("it lives");
        rustix::process::pidfd_send_signal(handle, signal).expect("signalled");
    }

    pub fn wait_until(&self, what: &str, done: impl Fn(&Stage) -> bool) {
        let began = Instant::now();
        while !done(self) {
            assert!(began.elapsed() < PATIENCE, "still waiting until {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether an actor runs: in the process table and no zombie.
    pub fn lives(&self, name: &str) -> bool {
        lives(self.pid(name))
    }

    pub fn assert_alive(&self, names: &[&str]) {
        for name in names {
            assert!(self.lives(name), "{name} ({}) must live", self.pid(name));
        }
    }

    pub fn assert_gone(&self, names: &[&str]) {
        for name in names {
            assert!(!self.lives(name), "{name} ({}) must be gone", self.pid(name));
        }
    }

    pub fn parent(&self, name: &str) -> i32 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid(name))).expect("it lives");
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok()).expect("a parent")
    }

    /// A home for a user; whoever needs one makes it.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Runs orphand with the stage's options.
    pub fn orphand(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("orphand runs")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.folder.path().join("orphand"));
        command.args(&self.options).args(arguments).stdin(Stdio::null()).env_remove("ACTOR");
        command.env("HOME", self.folder.path()).env_remove("XDG_CONFIG_HOME");
        command
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        parse(&self.orphand(arguments))
    }

    pub fn scan(&self) -> Value {
        self.json(&["scan", "--json"])
    }

    pub fn sweep(&self) -> Value {
        self.json(&["sweep", "--json"])
    }

    /// The tree that an actor belongs to, in a scan or sweep.
    pub fn tree<'a>(&self, report: &'a Value, name: &str) -> &'a Value {
        self.find_tree(report, name)
            .unwrap_or_else(|| panic!("{name} ({}) is in no tree of {report:#}", self.pid(name)))
    }

    pub fn find_tree<'a>(&self, report: &'a Value, name: &str) -> Option<&'a Value> {
        let pid = self.pid(name);
        report["trees"].as_array()?.iter().find(|tree| {
            tree["members"]
                .as_array()
                .is_some_and(|members| members.iter().any(|member| member["pid"] == pid))
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The namespace takes everybody with it; these are only the test's own children.
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn lives(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

pub fn parse(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    })
}

/// Verdict, code and, after a sweep, result.
pub fn verdict(tree: &Value) -> (&str, &str) {
    (tree["verdict"].as_str().expect("a verdict"), tree["code"].as_str().expect("a code"))
}

pub fn result(tree: &Value) -> &str {
    tree["outcome"]["result"].as_str().unwrap_or_else(|| panic!("no outcome in {tree:#}"))
}
