//! What is asked about a process, and how an answer may be missing.

use super::Pid;
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// Something that was asked about a process. "Cannot see" never looks like "is not there".
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Fact<T> {
    /// Nobody asked in this look. The judge treats it like `Denied`.
    #[default]
    Unread,
    /// Read, and this is it.
    Known(T),
    /// Read: there is none.
    Absent,
    /// The kernel refused.
    Denied,
    /// The process ended before it could be read.
    Gone,
}

impl<T> Fact<T> {
    /// The value, where it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the fact is missing although the process may have one.
    pub fn is_hidden(&self) -> bool {
        matches!(self, Fact::Unread | Fact::Denied | Fact::Gone)
    }
}

/// Real and effective user of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Users {
    /// Real uid.
    pub real: u32,
    /// Effective uid.
    pub effective: u32,
}

/// What a file descriptor is. Numbers are kernel inode numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Descriptor {
    /// An anonymous pipe.
    Pipe(u64),
    /// A socket of any family.
    Socket(u64),
    /// `/dev/null`.
    Null,
    /// A terminal.
    Terminal,
    /// A FIFO with a name in the file system: anybody may open it again.
    NamedFifo,
    /// A regular file or anything else with a path.
    File,
    /// None of these (`anon_inode:...`).
    Other(String),
}

impl Descriptor {
    /// A word for people.
    pub fn word(&self) -> &'static str {
        match self {
            Descriptor::Pipe(_) => "a pipe",
            Descriptor::Socket(_) => "a socket",
            Descriptor::Null => "/dev/null",
            Descriptor::Terminal => "a terminal",
            Descriptor::NamedFifo => "a named FIFO",
            Descriptor::File => "a file",
            Descriptor::Other(_) => "no pipe or socket",
        }
    }

    /// Whether a client can talk over it: an anonymous pipe or a socket.
    pub fn is_stdio(&self) -> bool {
        matches!(self, Descriptor::Pipe(_) | Descriptor::Socket(_))
    }
}

/// A descriptor of a process that somebody talks to it over, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stream {
    /// What a client writes to.
    Stdin = 0,
    /// What a client reads from.
    Stdout = 1,
    /// Over which a browser with `--remote-debugging-pipe` is told what to do.
    Commands = 3,
    /// Over which it answers.
    Answers = 4,
}

impl Stream {
    /// All of them.
    pub const ALL: [Stream; 4] = [Stream::Stdin, Stream::Stdout, Stream::Commands, Stream::Answers];

    /// A word for people.
    pub fn word(self) -> &'static str {
        match self {
            Stream::Stdin => "stdin",
            Stream::Stdout => "stdout",
            Stream::Commands => "debugging pipe (fd 3)",
            Stream::Answers => "debugging pipe (fd 4)",
        }
    }

    /// Whether the process reads from it; otherwise it writes.
    pub fn is_read(self) -> bool {
        matches!(self, Stream::Stdin | Stream::Commands)
    }
}

/// How many descriptors are looked at: 0 to 4.
pub const DESCRIPTORS: usize = 5;

/// The far end of a process's stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FarEnd {
    /// Nobody holds it: the pipe has no writer (POLLHUP), or for stdout no reader (POLLERR); the unix socket's peer has no
    /// inode, and the socket is shut down.
    HungUp,
    /// Somebody holds it. `None` until the holders were searched.
    Open(Option<Holders>),
    /// It cannot be seen; the words say why.
    Unknown(String),
}

/// Who holds the far end of a lifeline.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Holders {
    /// Processes with a descriptor on the far end, in order of pid.
    pub pids: Vec<Pid>,
    /// Whether every process of the owner could be searched. Only then is this list evidence.
    pub complete: bool,
    /// Processes of other users that could not be searched.
    pub unsearched: Vec<Pid>,
}

/// Words that a process carries in its environment and that mean something here. Nothing else is ever kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// Value of `ORPHAND`; `keep` protects the tree.
    pub orphand: Option<String>,
    /// Value of `SYSTEMD_EXEC_PID`: the pid that systemd itself started.
    pub systemd_exec_pid: Option<String>,
    /// The client that says to have started it. Good for a name, never for a verdict: children of children inherit it.
    pub client: Option<ClientMark>,
}

/// A client as its children's environment names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientMark {
    /// What people call it.
    pub name: String,
    /// Its process, where the environment tells.
    pub pid: Option<Pid>,
}

/// Bytes that a process and the children that it has waited for have moved so far (`/proc/PID/io`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Moved {
    /// To and from disks: `read_bytes` and `write_bytes`.
    pub disk: u64,
    /// Through read and write calls of any kind: `rchar` and `wchar`.
    pub calls: u64,
}

/// A socket that a process listens on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listener {
    /// Where: `TCP 127.0.0.1:3000`, `unix /run/x`.
    pub address: String,
    /// Who is connected to it.
    pub visitors: Visitors,
}

/// In which way a process is connected beside its stdin and stderr.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// A pipe or socket pair, or a connection of which nobody can tell who began it: whoever holds the other end may need it.
    Line,
    /// Somebody has connected to it.
    Inbound,
    /// It has connected to somebody: a database, a daemon, another machine.
    Outward,
    /// Anybody may send to it, and nobody can tell who does: a bound datagram socket, a named FIFO, a unix socket of another
    /// network namespace.
    Receives,
}

/// One connection of a process, listening sockets aside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Channel {
    /// What it is: `pipe 7`, `TCP 10.0.0.7:5432`, `unix /run/x`.
    pub what: String,
    /// In which way.
    pub way: Way,
    /// Who holds the other end.
    pub others: Visitors,
    /// Who of them has it as stdin, stdout or stderr only.
    pub as_stdio: Vec<Pid>,
}

/// Who is connected to a listening socket, accepted or still waiting for it; or who holds another end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Visitors {
    /// Processes that hold the other end of a connection, in order of pid.
    pub pids: Vec<Pid>,
    /// Connections whose other end no process of this machine holds: other machines, other network namespaces.
    pub elsewhere: Vec<String>,
    /// Whether every process of this machine could be searched.
    pub complete: bool,
}

/// Memory of a process in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Resident set.
    pub rss: u64,
    /// Proportional set, where it may be read.
    pub pss: Option<u64>,
    /// Swapped out.
    pub swap: u64,
}

/// What is read of candidates only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Details {
    /// Real and effective user.
    pub users: Fact<Users>,
    /// Inode of its PID namespace.
    pub pid_namespace: Fact<u64>,
    /// Inode of its network namespace.
    pub net_namespace: Fact<u64>,
    /// Descriptors 0 to 4, by number.
    pub descriptors: [Fact<Descriptor>; DESCRIPTORS],
    /// Where the process has moved its stdin and stdout to, if it has; they are descriptors 0 and 1 above all the same.
    pub moved_stdio: Option<[u32; 2]>,
    /// Their far ends; only read where they are pipes or sockets, and of [`Stream`]s.
    pub far_ends: [Fact<FarEnd>; DESCRIPTORS],
    /// Sockets that it listens on, TCP and unix, of our network namespace.
    pub listeners: Fact<Vec<Listener>>,
    /// Its other connections: sockets, and pipes beside stdin, stdout of root and server, and stderr.
    pub channels: Fact<Vec<Channel>>,
    /// Bytes that it has moved.
    pub moved: Fact<Moved>,
    /// A digest of its whole environment and its working directory; equal digests mean equal ones within one run of orphand.
    pub environment: Fact<u64>,
    /// The process that traces it: a debugger.
    pub tracer: Fact<Pid>,
    /// Whether it catches SIGTERM. A shell that does goes on with its next command.
    pub catches_term: Fact<bool>,
    /// Marks in the environment.
    pub marks: Fact<Marks>,
    /// Control group path.
    pub cgroup: Fact<String>,
    /// Whether PID 1 itself started it, rather than having inherited it. Only macOS remembers that; `Absent` elsewhere.
    pub started_by_init: Fact<bool>,
    /// Memory use.
    pub memory: Fact<Memory>,
}

/// Details that take no room until something is read: of most processes of a look nothing ever is.
#[derive(Clone, Debug, Default)]
pub struct Deferred(Option<Box<Details>>);

static NOTHING_READ: LazyLock<Details> = LazyLock::new(Details::default);

impl Deref for Deferred {
    type Target = Details;

    fn deref(&self) -> &Details {
        self.0.as_deref().unwrap_or(&NOTHING_READ)
    }
}

impl DerefMut for Deferred {
    fn deref_mut(&mut self) -> &mut Details {
        self.0.get_or_insert_default()
    }
}

impl From<Details> for Deferred {
    fn from(details: Details) -> Deferred {
        Deferred(Some(Box::new(details)))
    }
}

impl PartialEq for Deferred {
    fn eq(&self, other: &Deferred) -> bool {
        **self == **other
    }
}

impl Eq for Deferred {}
