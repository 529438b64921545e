//! The loop on a recorded machine, with the test as its service manager.

use super::*;
use crate::config::{Sources, load};
use crate::control::Request;
use crate::host::Host;
use crate::host::replay::Replay;
use crate::state::{RuntimeFolder, StateFolder};
use crate::testing::Table;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// What the loop has told: the beats by count, everything else in words.
struct Told {
    beats: Arc<AtomicUsize>,
    words: Receiver<String>,
    daemon: JoinHandle<()>,
    socket: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

const BEAT: Duration = Duration::from_millis(10);

/// Runs a daemon whose loop stands still, for as long as `stuck` says, when it tells its status.
fn daemon(stuck: Arc<AtomicBool>) -> Told {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = Table::new();
    // Whoever runs the test is the one who may ask.
    let uid = rustix::process::geteuid().as_raw();
    table.as_user(uid);
    table.add(40, 1, "bash").user(uid);
    table.add(50, 40, "claude").user(uid);
    table.add(10, 50, "foo-mcp").user(uid).held_by(&[50]);
    let beats = Arc::new(AtomicUsize::new(0));
    let (teller, words) = channel();
    let socket = folder.path().join("control");
    let (path, counter) = (folder.path().to_owned(), beats.clone());
    let daemon = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let inside = runtime.enter();
        let host = Replay::new(table.table());
        let post =
            Post::take(RuntimeFolder::at(path.clone(), host.observer()), host.observer()).expect("a post");
        let state = StateFolder::at(path.join("state"), host.observer());
        let sources = Sources::default();
        let setup = Setup {
            settings: load(&sources).expect("good"),
            reload: Arc::new(move || load(&sources)),
            memory: Memory::empty(host.boot()),
            notebook: Notebook::new(state, Err("not here".to_owned())),
            post,
            notify: Box::new(move |states| {
                for state in states {
                    if matches!(state, NotifyState::Watchdog) {
                        counter.fetch_add(1, Ordering::SeqCst);
                    } else {
                        let _ = teller.send(state.to_string());
                    }
                    while matches!(state, NotifyState::Status(_)) && stuck.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            }),
            watchdog: Some(BEAT * 2),
            on_terminal: false,
            host: Arc::new(host),
        };
        drop(inside);
        // It ends with the test's process; nothing here is asked to stop.
        runtime.block_on(run(setup)).expect("it runs");
    });
    Told { beats, words, daemon, socket, _folder: folder }
}

impl Told {
    fn hear(&self, expected: &str) {
        let until = std::time::Instant::now() + Duration::from_secs(30);
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now());
            let words = self.words.recv_timeout(left).expect("told in time");
            if words == expected {
                return;
            }
        }
    }

    fn wait_for_beats(&self, more: usize) {
        let before = self.beats.load(Ordering::SeqCst);
        while self.beats.load(Ordering::SeqCst) < before + more {
            assert!(!self.daemon.is_finished());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_loop_that_is_stuck_misses_its_watchdog() {
    let stuck = Arc::new(AtomicBool::new(true));
    let told = daemon(stuck.clone());
    told.hear("READY=1");
    told.hear("STATUS=1 MCP tree");
    // It stands still now. The other threads of the process do not.
    let before = told.beats.load(Ordering::SeqCst);
    std::thread::sleep(BEAT * 20);
    assert_eq!(told.beats.load(Ordering::SeqCst), before, "no sign of life from a loop that does not live");
    stuck.store(false, Ordering::SeqCst);
    told.wait_for_beats(3);
}

#[test]
fn it_answers_while_it_beats() {
    let told = daemon(Arc::new(AtomicBool::new(false)));
    told.hear("READY=1");
    let status = crate::control::ask(&told.socket, Request::Status).expect("asked").expect("answered");
    assert_eq!((&status["trees"]["total"], &status["memory"]["problem"]), (&1.into(), &"not here".into()));
    let look = crate::control::ask(&told.socket, Request::Look).expect("asked").expect("answered");
    assert_eq!(
        (&look["sweep"]["schema"], &look["sweep"]["totals"]["trees"]),
        (&1.into(), &0.into()),
        "owned ones are not shown"
    );
    told.wait_for_beats(2);
}
