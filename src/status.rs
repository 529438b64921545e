//! What a running daemon says of itself: a value, and its form in JSON.

use serde::{Deserialize, Serialize};

/// Everything that `orphand status` shows. Times are RFC 3339; a newer program may have more fields.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The contract's version.
    pub schema: u32,
    /// Always true: who does not run does not answer.
    pub running: bool,
    /// The daemon's process.
    pub pid: i32,
    /// Its version.
    pub version: String,
    /// When it began.
    pub since: String,
    /// The same in seconds before the answer.
    pub uptime_s: u64,
    /// `enforce` or `observe`.
    pub mode: String,
    /// What signals rest on: `pidfd`, `audit-token` or `comparison`.
    #[serde(default)]
    pub signals: String,
    /// `machine` or `user`.
    pub scope: String,
    /// Whose processes it looks after, in the scope `user`.
    pub user: Option<String>,
    /// The last look that succeeded.
    pub last_look: Option<LastLook>,
    /// Why the last look failed, where it did.
    pub look_failed: Option<String>,
    /// How many looks there have been.
    pub looks: u64,
    /// For how many seconds a look has been going on; 0 while there is none, or for less than one.
    pub looking_s: u64,
    /// Seconds until the next look, unless something happens before.
    pub next_look_s: u64,
    /// MCP trees by verdict.
    pub trees: Trees,
    /// Trees that are not simply left to their owner, as the last look saw them; a hundred at the most.
    pub open: Vec<OpenTree>,
    /// Clients whose end is waited for.
    pub watched: Watched,
    /// What was taken down since it began.
    pub reaped: Totals,
    /// The last of them, newest first.
    pub last_reaps: Vec<LastReap>,
    /// What it cannot see or do.
    pub shortcomings: Vec<Shortcoming>,
    /// Where its settings come from.
    pub configuration: Configuration,
    /// Where it remembers.
    pub memory: MemoryFile,
}

/// One look.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LastLook {
    /// When it ended.
    pub at: String,
    /// What led to it: `tick`, `exit`, `wait`, `swept`, `asked`.
    pub because: String,
    /// How long it took.
    pub took_ms: u64,
    /// Processes on the machine.
    pub processes: usize,
    /// Processes of which more than that was read.
    pub read: usize,
}

/// Trees by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trees {
    /// All of them.
    pub total: usize,
    /// Those that somebody inherited.
    pub orphaned: usize,
    /// To be taken down.
    pub reap: usize,
    /// Not yet.
    pub wait: usize,
    /// Left alone; those with an owner too.
    pub spare: usize,
    /// For a person to decide.
    pub report: usize,
    /// Being taken down.
    pub falling: usize,
}

/// A tree without an owner, or one that leaks below a live client.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenTree {
    /// Its root.
    pub root: i32,
    /// The server's name.
    pub server: String,
    /// The client's name, where it is known.
    pub client: Option<String>,
    /// `reap`, `wait`, `spare` or `report`.
    pub verdict: String,
    /// Why.
    pub code: String,
    /// The same in words.
    pub text: String,
    /// For how many seconds it has been seen orphaned; `None` when it is not, or was seen for the first time.
    pub orphaned_s: Option<u64>,
    /// How many seconds it had to wait, at that look.
    pub wait_s: Option<u64>,
}

/// Parents of live trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watched {
    /// Those whose end leads to a look at once.
    pub parents: usize,
    /// Those for which there was no file descriptor: their end is noticed at the next look.
    pub missed: usize,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Trees that are gone.
    pub trees: usize,
    /// Trees that could not be taken down.
    pub failed: usize,
    /// Bytes of memory and swap that came back.
    pub freed: u64,
}

/// One tree that was taken down, or could not be.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LastReap {
    /// When it was over.
    pub at: String,
    /// The server's name.
    pub server: String,
    /// The client's name, where it is known.
    pub client: Option<String>,
    /// Why it was taken down.
    pub code: String,
    /// `gone`, `killed`, `survived` or `failed`.
    pub result: String,
    /// The number that its root had.
    pub root: i32,
    /// Bytes of memory and swap.
    pub freed: u64,
}

/// Something that the machine does not let orphand see or do.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Shortcoming {
    /// What, and what follows from it.
    pub what: String,
    /// How to change that.
    pub remedy: String,
}

/// Where settings come from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// When the settings in force were read.
    pub loaded_at: String,
    /// What is wrong with the files as they were at the last reload; the settings from before are in force.
    pub problems: Vec<String>,
}

/// Where the daemon remembers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryFile {
    /// The file.
    pub file: String,
    /// Why it could not be written the last time.
    pub problem: Option<String>,
}
