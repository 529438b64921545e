//! A stand-in for clients, wrappers and servers: does what the environment variable `ACTOR` says, under any command line.
//!
//! `actor init CMD ARGS` is PID 1 of a test's namespace: it starts CMD, reaps everybody, and ends with CMD's status.

use rustix::process::{Signal, WaitOptions, wait};
use serde::{Deserialize, Serialize};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// What one process does. The tests write the same as JSON.
#[derive(Serialize, Deserialize, Clone)]
struct Actor {
    /// How the test calls it; reported with its pid once it is ready.
    name: String,
    /// Its command line, the program first.
    argv: Vec<String>,
    /// `inherit`, `pipe`, `socket`, `null`: how its parent connects it.
    #[serde(default)]
    stdio: String,
    /// Words; see `act`.
    #[serde(default)]
    does: Vec<String>,
    /// A real program to run under that command line, instead of this one.
    #[serde(default)]
    program: Option<String>,
    /// More environment.
    #[serde(default)]
    env: Vec<(String, String)>,
    /// Runs as this user.
    #[serde(default)]
    uid: Option<u32>,
    /// Started at once, in order.
    #[serde(default)]
    children: Vec<Actor>,
    /// Started on SIGTERM.
    #[serde(default)]
    heir: Option<Box<Actor>>,
    /// What it becomes on SIGUSR1, by exec.
    #[serde(default)]
    becomes: Option<Box<Actor>>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).map(String::as_str) == Some("init") {
        return init(&arguments[2..]);
    }
    let actor: Actor =
        serde_json::from_str(&std::env::var("ACTOR").expect("ACTOR says what to do")).expect("readable");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(act(actor));
    ExitCode::SUCCESS
}

async fn act(actor: Actor) {
    let does = |word: &str| actor.does.iter().any(|done| done == word);
    if does("subreaper") {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
    if does("die-with-parent") {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
    if does("undumpable") {
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
    // As the MCP SDK for Python does: the conversation goes on over private copies.
    let _moved = does("moves-stdio").then(|| {
        let copies = (
            rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3).expect("a copy"),
            rustix::io::fcntl_dupfd_cloexec(std::io::stdout(), 3).expect("a copy"),
        );
        let null = std::fs::File::open("/dev/null").expect("/dev/null");
        rustix::stdio::dup2_stdin(null).expect("diverted");
        rustix::stdio::dup2_stdout(std::io::stderr()).expect("diverted");
        copies
    });
    if does("setsid") {
        let _ = rustix::process::setsid();
    }
    let _listening: Vec<Listening> = actor.does.iter().filter_map(|word| listen(&actor, word)).collect();
    let _visits: Vec<Visit> = actor.does.iter().filter_map(|word| visit(word)).collect();
    let mut terminate = (does("ignore-term") || actor.heir.is_some())
        .then(|| signal(SignalKind::terminate()).expect("a signal"));
    let mut usr2 = signal(SignalKind::user_defined2()).expect("a signal");
    let mut usr1 = signal(SignalKind::user_defined1()).expect("a signal");
    // What a parent holds open: the far ends of its children's stdio, for as long as it lives.
    let mut held = Vec::new();
    for child in &actor.children {
        held.push(start(child));
    }
    if does("leave-children") {
        report(&actor.name);
        return;
    }
    report(&actor.name);
    if does("stop") {
        #[allow(clippy::disallowed_methods, reason = "itself")]
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
    }
    if does("spin") {
        std::thread::spawn(|| {
            loop {
                std::hint::spin_loop()
            }
        });
    }
    if does("reap") {
        std::thread::spawn(reap_for_ever);
    }
    loop {
        let terminated = async {
            match &mut terminate {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminated => {
                if does("tell-term") {
                    report(&format!("{} got SIGTERM", actor.name));
                }
                if let Some(heir) = &actor.heir {
                    held.push(start(heir));
                    return;
                }
            }
            _ = usr1.recv() => {
                if let Some(next) = &actor.becomes {
                    let error = command(next).exec();
                    panic!("exec: {error}");
                }
            }
            _ = usr2.recv() => {
                if does("write-on-usr2") {
                    let path = report_path(&format!("{}.written", actor.name));
                    let mut file = std::fs::File::create(path).expect("a file");
                    std::io::Write::write_all(&mut file, &[1; 65536]).expect("written");
                    file.sync_all().expect("on disk");
                }
                if does("fork-on-usr2") {
                    let status = Command::new("true").status().expect("it runs");
                    assert!(status.success());
                }
                if does("hang-up-on-usr2") {
                    held.iter_mut().for_each(|started: &mut Started| started.far_ends.clear());
                }
                report(&format!("{}-usr2", actor.name));
            }
            () = tokio::time::sleep(Duration::from_secs(600)) => return,
        }
    }
}

/// A child and the far ends of its stdio.
struct Started {
    _child: Child,
    far_ends: Vec<OwnedFd>,
}

fn command(actor: &Actor) -> Command {
    let program = actor.program.as_deref().unwrap_or("/proc/self/exe");
    let mut command = Command::new(program);
    if actor.stdio == "debug" {
        // What it is connected by becomes descriptors 3 and 4, as browsers have it.
        command = Command::new("bash");
        let script = r#"exec 3<&0 4>&1 </dev/null >/dev/null; exec -a "$1" "$0" "${@:2}""#;
        command.arg("-c").arg(script).arg(std::env::current_exe().expect("its own path"));
    } else {
        command.arg0(&actor.argv[0]);
    }
    let skipped = usize::from(actor.stdio != "debug");
    command.args(&actor.argv[skipped..]);
    command.env("ACTOR", serde_json::to_string(actor).expect("writable"));
    let own_pid = std::process::id().to_string();
    command.envs(actor.env.iter().map(|(name, value)| (name, value.replace("$PID", &own_pid))));
    if let Some(uid) = actor.uid {
        command.uid(uid).gid(uid);
    }
    command
}

fn start(actor: &Actor) -> Started {
    let mut command = command(actor);
    let mut far_ends: Vec<OwnedFd> = Vec::new();
    match actor.stdio.as_str() {
        "pipe" => {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let (out_reader, out_writer) = std::io::pipe().expect("a pipe");
            command.stdin(reader).stdout(out_writer);
            far_ends.extend([OwnedFd::from(writer), OwnedFd::from(out_reader)]);
        }
        "socket" | "debug" => {
            let (ours, theirs) = UnixStream::pair().expect("a socket pair");
            let (our_out, their_out) = UnixStream::pair().expect("a socket pair");
            command.stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(their_out));
            far_ends.extend([OwnedFd::from(ours), OwnedFd::from(our_out)]);
        }
        "file" => {
            let script = report_path(&format!("{}.stdin", actor.name));
            std::fs::write(&script, "").expect("a file");
            command.stdin(std::fs::File::open(script).expect("a file")).stdout(Stdio::null());
        }
        "null" => {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        _ => {}
    }
    let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", actor.argv[0]));
    // A client that leaks descriptors: this child's far ends stay open in the children after it.
    let leaks = |word: &str| actor.does.iter().any(|done| done == word);
    let leaking = match (leaks("leaks-to-siblings"), leaks("leaks-stdout-to-siblings")) {
        (true, _) => &far_ends[..],
        (_, true) => &far_ends[1..],
        _ => &[],
    };
    if !leaking.is_empty() {
        for end in leaking {
            rustix::io::fcntl_setfd(end, rustix::io::FdFlags::empty()).expect("a flag");
        }
    }
    Started { _child: child, far_ends }
}

/// A listener of one kind.
enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The other end of a connection.
enum Visit {
    Tcp { _stream: TcpStream },
    Unix { _stream: UnixStream },
}

/// `listen-tcp`, `listen-tcp6`, `listen-unix`: where it listens stands in a file of its name, for `visit:NAME`. With
/// `accept` connections are taken, otherwise they wait.
fn listen(actor: &Actor, word: &str) -> Option<Listening> {
    let address = report_path(&format!("{}.address", actor.name));
    let does = |wanted: &str| actor.does.iter().any(|word| word == wanted);
    let (accepts, accepts_one) = (does("accept"), does("accept-one"));
    let listening = match word {
        "listen-tcp" => Listening::Tcp(TcpListener::bind("127.0.0.1:0").expect("a port")),
        "listen-tcp6" => Listening::Tcp(TcpListener::bind("[::]:0").expect("a port")),
        "udp" => {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
            std::thread::spawn(move || hold(socket));
            return None;
        }
        "listen-unix" => {
            let path = report_path(&format!("{}.listener", actor.name));
            Listening::Unix(UnixListener::bind(path).expect("a socket"))
        }
        _ => return None,
    };
    let written = match &listening {
        Listening::Tcp(listener) => format!("tcp {}", listener.local_addr().expect("an address").port()),
        Listening::Unix(_) => "unix".to_owned(),
    };
    std::fs::write(address, written).expect("a file");
    if accepts_one {
        // Whoever has accepted enough closes its listener and serves on.
        match listening {
            Listening::Tcp(listener) => {
                _ = std::thread::spawn(move || serve_one(listener, |one| one.accept()))
            }
            Listening::Unix(listener) => {
                _ = std::thread::spawn(move || serve_one(listener, |one| one.accept()))
            }
        }
        return None;
    }
    if accepts {
        match &listening {
            Listening::Tcp(listener) => {
                let listener = listener.try_clone().expect("a copy");
                std::thread::spawn(move || keep(listener.incoming()));
            }
            Listening::Unix(listener) => {
                let listener = listener.try_clone().expect("a copy");
                std::thread::spawn(move || keep(listener.incoming()));
            }
        }
    }
    Some(listening)
}

fn serve_one<L, C>(listener: L, accept: impl Fn(&L) -> C) {
    let connection = accept(&listener);
    drop(listener);
    hold(connection);
}

fn hold<T>(_connection: T) {
    loop {
        std::thread::park();
    }
}

fn keep<T>(connections: impl Iterator<Item = T>) {
    let mut taken = Vec::new();
    for connection in connections {
        taken.push(connection);
    }
}

/// `visit:NAME`: connects to where that actor listens.
fn visit(word: &str) -> Option<Visit> {
    let name = word.strip_prefix("visit:")?;
    let address = std::fs::read_to_string(report_path(&format!("{name}.address"))).expect("it listens");
    Some(match address.split_once(' ') {
        Some((_, port)) => {
            let port: u16 = port.parse().expect("a port");
            Visit::Tcp { _stream: TcpStream::connect(("127.0.0.1", port)).expect("connected") }
        }
        None => Visit::Unix {
            _stream: UnixStream::connect(report_path(&format!("{name}.listener"))).expect("connected"),
        },
    })
}

/// A path beside the test's socket.
fn report_path(suffix: &str) -> String {
    format!("{}.{suffix}", std::env::var("ACTOR_REPORT").expect("a test"))
}

/// Tells the test who is ready: `NAME PID`.
fn report(name: &str) {
    if let Ok(path) = std::env::var("ACTOR_REPORT") {
        let socket = UnixDatagram::unbound().expect("a socket");
        socket.send_to(format!("{name} {}", std::process::id()).as_bytes(), path).expect("the test listens");
    }
}

fn reap_for_ever() {
    loop {
        if !matches!(wait(WaitOptions::empty()), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn init(command: &[String]) -> ExitCode {
    // PID 1 is judged by its name like everybody else.
    if std::env::args().next().as_deref() != Some("/sbin/init") {
        let error = Command::new("/proc/self/exe").arg0("/sbin/init").arg("init").args(command).exec();
        panic!("init: {error}");
    }
    #[allow(clippy::zombie_processes, reason = "the loop below waits for everybody")]
    let child = Command::new(&command[0]).args(&command[1..]).spawn().expect("the test starts");
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() as u32 == child.id() => {
                let code = std::process::ExitStatus::from_raw(status.as_raw()).code().unwrap_or(101);
                return ExitCode::from(u8::try_from(code).unwrap_or(101));
            }
            Ok(_) => {}
            Err(error) => panic!("init: {error}"),
        }
    }
}
