//! A daemon on stage, with the test as its service manager.

use crate::stage::{Stage, parse};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// `orphand run`, and what it tells.
pub struct Duty {
    child: Child,
    notices: UnixDatagram,
    log: PathBuf,
    /// Every notice that was heard, in order.
    pub heard: Vec<String>,
}

/// Starts the daemon with more arguments, and waits until it says that it is ready.
pub fn on_duty(stage: &Stage, arguments: &[&str]) -> Duty {
    let mut duty = begin(stage, arguments, |_| {});
    duty.hear("READY=1");
    duty
}

/// Starts the daemon, with changes to how it is started, and waits for nothing.
pub fn begin(stage: &Stage, arguments: &[&str], change: impl FnOnce(&mut Command)) -> Duty {
    use std::os::unix::fs::PermissionsExt;
    let socket = stage.folder.path().join("notices");
    let _ = std::fs::remove_file(&socket);
    let notices = UnixDatagram::bind(&socket).expect("a socket");
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o777)).expect("opened");
    notices.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let log = stage.folder.path().join("log");
    let file = std::fs::File::options().create(true).append(true).open(&log).expect("a log");
    let mut command = stage.command(arguments);
    // An hour: what happens in a test, happens because of an event.
    command.args(["run", "--set", "look.interval=1h"]);
    command.env("NOTIFY_SOCKET", &socket).env_remove("WATCHDOG_USEC").env_remove("JOURNAL_STREAM");
    change(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    Duty { child: command.spawn().expect("orphand runs"), notices, log, heard: Vec::new() }
}

/// The same command in front of whose arguments another program stands, such as `prlimit`.
pub fn through(command: &mut Command, program: &str, arguments: &[&str]) {
    let mut outer = Command::new(program);
    outer.args(arguments).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    *command = outer;
}

/// As another user, with the capabilities of a hardened service or without any.
pub fn as_user(command: &mut Command, uid: u32) {
    command.uid(uid).gid(uid);
}

impl Duty {
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for a notice that contains these words, and returns it.
    pub fn hear(&mut self, words: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            assert!(
                Instant::now() < until,
                "still waiting for {words}; heard {:#?}\n{}",
                self.heard,
                self.log()
            );
            let notice = self.next().unwrap_or_else(|| {
                panic!(
                    "nothing more is heard, still waiting for {words}; heard {:#?}\n{}",
                    self.heard,
                    self.log()
                )
            });
            if notice.contains(words) {
                return notice;
            }
        }
    }

    fn next(&mut self) -> Option<String> {
        let mut buffer = [0_u8; 4096];
        let length = self.notices.recv(&mut buffer).ok()?;
        let notice = String::from_utf8_lossy(&buffer[..length]).into_owned();
        self.heard.push(notice.clone());
        Some(notice)
    }

    /// Forgets what has been told up to now.
    pub fn forget_notices(&mut self) {
        self.notices.set_nonblocking(true).expect("set");
        while self.next().is_some() {}
        self.notices.set_nonblocking(false).expect("set");
        self.heard.clear();
    }

    pub fn status(&self, stage: &Stage) -> Value {
        parse(&stage.orphand(&["status", "--json"]))
    }

    /// Waits until the status is as wanted, and returns it.
    pub fn wait(&self, stage: &Stage, what: &str, done: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let status = self.status(stage);
            if done(&status) {
                return status;
            }
            assert!(Instant::now() < until, "still waiting until {what}: {status:#}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Everything that it has said on stderr.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Exactly so many lines of its log contain these words. The log is written beside the loop, so it may come a little later
    /// than what it tells of.
    pub fn assert_says(&self, words: &str, count: usize) {
        let says = || self.log().lines().filter(|line| line.contains(words)).count();
        let until = Instant::now() + PATIENCE;
        while says() < count && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(says(), count, "lines with {words:?}:\n{}", self.log());
    }

    pub fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid()).expect("a pid");
        let pin = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("it lives");
        rustix::process::pidfd_send_signal(pin, signal).expect("signalled");
    }

    pub fn ended(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }

    /// Tells it to stop, and waits until it has.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended()
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
