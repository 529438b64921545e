//! orphand finds MCP server processes that their client left behind, proves that nobody can be using them, and takes
//! them down.
//!
//! Data flows one way:
//!
//! ```text
//! host --look--> process table --catalog--> trees --judge(policy, memory)--> plan --reap--> outcomes --> report
//! ```
//!
//! | room | holds | knows |
//! |---|---|---|
//! | [`process`] | identities, facts, the table of one look | nothing |
//! | [`redact`] | hides secrets, escapes what could harm a terminal | nothing |
//! | [`words`] | how durations, sizes and counts are said | nothing |
//! | [`memory`] | what earlier looks saw | process |
//! | [`recording`] | a table and a memory as a file | process, memory |
//! | [`invocation`] | what a command line really runs | nothing |
//! | [`catalog`] | named patterns that give a role | invocation |
//! | [`tree`] | MCP trees and their adopters | process, memory, catalog |
//! | [`judge`] | verdicts with reasons | tree, memory |
//! | [`status`] | what a daemon says of itself | nothing |
//! | [`reap`] | the escalation from SIGTERM to SIGKILL, as a state machine | process, tree |
//! | [`host`] | the machine: the only room that reads it or signals | process, status, reap |
//! | [`config`] | files -> layers -> settings | judge, reap, catalog |
//! | [`discover`] | the servers that a person's clients start, from their files | redact, invocation, catalog, config |
//! | [`look`] | one look: what to read of whom, then judging | host, judge |
//! | [`sweep`] | a look followed by reaping | look, reap |
//! | [`state`] | the memory as a file; where a daemon can be found | memory |
//! | [`report`] | tables and JSON | judge, sweep, status |
//! | [`control`] | the socket by which a daemon is asked | nothing |
//! | [`daemon`] | the loop: time, exits and requests become looks and sweeps | look, sweep, state, report |
//! | [`install`] | what a service manager is told, and the files that tell it | nothing |
//! | [`cli`] | the command line's types | nothing |
//! | [`logging`] | what is said on stderr, and in which form | cli |
//! | [`commands`] | one file a verb | everything |
//!
//! Everything from the table to the plan is pure. Arrows point upwards in this list only; `tests/house.rs` checks it.

pub mod catalog;
pub mod cli;
pub mod commands;
pub mod config;
pub mod control;
pub mod daemon;
pub mod discover;
pub mod host;
pub mod install;
pub mod invocation;
pub mod judge;
pub mod logging;
pub mod look;
pub mod memory;
pub mod process;
pub mod reap;
pub mod recording;
pub mod redact;
pub mod report;
pub mod state;
pub mod status;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod tree;
pub mod words;
