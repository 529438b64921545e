//! Real processes: trees that are orphaned for real, and bystanders of the same name that must live.

mod adopters;
mod browsers;
mod command_line;
mod daemon;
mod discovered;
mod duty;
mod evidence;
mod faults;
mod lineage;
mod peers;
#[cfg(feature = "portable")]
mod portable;
mod proof;
mod races;
mod reaping;
mod stage;
