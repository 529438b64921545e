//! Everybody's descriptors at one moment: who holds what, and who could not be searched.

use super::files::{End, OpenFile};
use super::{Identity, System};
use crate::process::{Fact, Holders, Pid};
use std::collections::HashMap;

/// Everybody, by number.
#[derive(Default)]
pub(super) struct People {
    files: HashMap<Pid, Vec<OpenFile>>,
    /// By handle, in order of pid.
    holders: HashMap<u64, Vec<Pid>>,
    unsearched: Vec<(Pid, Option<u32>)>,
}

impl People {
    pub(super) fn of<S: System>(system: &S, pids: &[Pid]) -> People {
        let mut people = People::default();
        for pid in pids {
            match system.files(*pid) {
                Fact::Known(files) => people.add(*pid, files),
                // A process that has ended holds nothing.
                Fact::Gone => {}
                Fact::Denied | Fact::Unread | Fact::Absent => {
                    let identity = system.identify(*pid);
                    if !identity.known().is_some_and(|identity| identity.kernel) && identity != Fact::Gone {
                        people.unsearched.push((*pid, identity.known().map(real_user)));
                    }
                }
            }
        }
        people.holders.values_mut().for_each(|pids| pids.sort_unstable());
        people.unsearched.sort_unstable();
        people
    }

    /// Nobody could be listed: every search is incomplete.
    pub(super) fn unknown() -> People {
        People { unsearched: vec![(Pid::INIT, None)], ..People::default() }
    }

    pub(super) fn add(&mut self, pid: Pid, files: Vec<OpenFile>) {
        for own in files.iter().filter_map(|file| file.end.own()) {
            let holders = self.holders.entry(own).or_default();
            if !holders.contains(&pid) {
                holders.push(pid);
            }
        }
        self.files.insert(pid, files);
    }

    pub(super) fn files(&self, pid: Pid) -> Option<&[OpenFile]> {
        self.files.get(&pid).map(Vec::as_slice)
    }

    /// Everybody's descriptors, each with whose it is.
    pub(super) fn everything(&self) -> impl Iterator<Item = (Pid, &OpenFile)> {
        self.files.iter().flat_map(|(pid, files)| files.iter().map(|file| (*pid, file)))
    }

    /// Those who have this end open, in order of pid.
    pub(super) fn with(&self, handle: u64) -> Vec<Pid> {
        self.holders.get(&handle).cloned().unwrap_or_default()
    }

    /// Those among them who have it as stdin, stdout or stderr only.
    pub(super) fn as_stdio(&self, handle: u64) -> Vec<Pid> {
        let beyond = |pid: &Pid| {
            let files = self.files(*pid).unwrap_or_default();
            files.iter().any(|file| file.number > 2 && file.end.own() == Some(handle))
        };
        self.with(handle).into_iter().filter(|pid| !beyond(pid)).collect()
    }

    /// Those who hold this far end of a user's.
    pub(super) fn holders(&self, handle: u64, user: Option<u32>) -> Holders {
        let unsearched = self.unsearched.iter().map(|(pid, _)| *pid).collect();
        Holders { pids: self.with(handle), complete: self.is_complete_for(user), unsearched }
    }

    /// Whether every process that could belong to this user was searched.
    pub(super) fn is_complete_for(&self, user: Option<u32>) -> bool {
        user.is_some() && !self.unsearched.iter().any(|(_, owner)| owner.is_none() || *owner == user)
    }

    pub(super) fn everybody_was_searched(&self) -> bool {
        self.unsearched.is_empty()
    }

    /// Whether somebody has connected to a unix socket of this name, accepted or not.
    pub(super) fn visitors_of(&self, path: &str) -> Vec<Pid> {
        let mut pids = Vec::new();
        for (pid, file) in self.everything() {
            match &file.end {
                End::Unix { peer_path: Some(to), .. } if to == path => pids.push(pid),
                // The accepted end has the listener's name, and knows the visitor's handle.
                End::Unix { path: Some(own), peer, listens: false, .. } if own == path && *peer != 0 => {
                    pids.extend(self.with(*peer));
                }
                _ => {}
            }
        }
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

fn real_user(identity: &Identity) -> u32 {
    identity.users.real
}
