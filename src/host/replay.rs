//! A recorded table as a machine: it can be looked at like a live one, and nobody on it can be held or signalled.

use super::{Guarantee, Host, HostError, Pin};
use crate::process::{
    BootId, Deferred, Descriptor, Fact, FarEnd, Observer, Pid, Process, ProcessId, ProcessTable, Stream,
};
use crate::reap::Signal;
use crate::status::Shortcoming;
use std::io;

/// The machine that a recording was made on. Facts are handed out step by step, as a live one does.
pub struct Replay {
    recorded: ProcessTable,
}

impl Replay {
    /// The machine of this table.
    pub fn new(recorded: ProcessTable) -> Replay {
        Replay { recorded }
    }

    fn copy(&self, table: &mut ProcessTable, pids: &[Pid], copy: impl Fn(&Process, &mut Process)) {
        for pid in pids {
            if let (Some(from), Some(to)) = (self.recorded.get(*pid), table.get_mut(*pid)) {
                copy(from, to);
            }
        }
    }
}

impl Host for Replay {
    type Pin = NoPin;

    fn observer(&self) -> &Observer {
        &self.recorded.observer
    }

    fn boot(&self) -> BootId {
        self.recorded.boot
    }

    fn list(&self) -> Result<ProcessTable, HostError> {
        let bare = |process: &Process| Process {
            command: Fact::Unread,
            details: Deferred::default(),
            ..process.clone()
        };
        let recorded = &self.recorded;
        Ok(ProcessTable::new(
            recorded.boot,
            recorded.at,
            recorded.ticks_per_second,
            recorded.observer.clone(),
            recorded.iter().map(bare).collect(),
        ))
    }

    fn read_commands(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.copy(table, pids, |from, to| to.command.clone_from(&from.command));
    }

    fn command_of(&self, pid: Pid) -> Fact<Vec<String>> {
        self.recorded.get(pid).map_or(Fact::Gone, |process| process.command.clone())
    }

    fn read_details(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.copy(table, pids, |from, to| {
            to.command.clone_from(&from.command);
            to.details.clone_from(&from.details);
            to.details.far_ends = Default::default();
            to.details.listeners = Fact::Unread;
            to.details.channels = Fact::Unread;
        });
    }

    fn read_moved(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.copy(table, pids, |from, to| to.details.moved.clone_from(&from.details.moved));
    }

    fn read_shares(&self, _: &mut ProcessTable, _: &[Pid]) {}

    fn read_users(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.copy(table, pids, |from, to| to.details.users.clone_from(&from.details.users));
    }

    fn read_channels(&self, table: &mut ProcessTable, pids: &[Pid]) {
        self.copy(table, pids, |from, to| {
            to.details.listeners.clone_from(&from.details.listeners);
            to.details.channels.clone_from(&from.details.channels);
        });
    }

    fn read_far_ends(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        for (pid, stream) in ends {
            self.copy(table, &[*pid], |from, to| {
                to.details.far_ends[*stream as usize] = match from.far_end(*stream) {
                    Fact::Known(FarEnd::Open(Some(_))) => Fact::Known(FarEnd::Open(None)),
                    other => other.clone(),
                };
            });
        }
    }

    fn read_holders(&self, table: &mut ProcessTable, ends: &[(Pid, Stream)]) {
        for (pid, stream) in ends {
            self.copy(table, &[*pid], |from, to| {
                to.details.far_ends[*stream as usize].clone_from(from.far_end(*stream));
            });
        }
    }

    fn sharers(&self, _: &ProcessTable, _: &[Descriptor]) -> Option<Vec<Vec<Pid>>> {
        None
    }

    fn room_for_pins(&self) -> usize {
        0
    }

    fn self_test(&self) -> Vec<Shortcoming> {
        Vec::new()
    }

    /// Nobody is signalled.
    fn guarantee(&self) -> Guarantee {
        Guarantee::Handle
    }

    fn pin_exactly(&self, id: &ProcessId) -> Result<NoPin, HostError> {
        self.pin(id.pid)
    }

    fn pin(&self, _: Pid) -> Result<NoPin, HostError> {
        Err(HostError::Refused(io::Error::other("it is a process of a recorded table")))
    }
}

/// There are none.
pub enum NoPin {}

impl Pin for NoPin {
    fn has_ended(&self) -> bool {
        match *self {}
    }

    fn signal(&self, _: Signal) -> Result<(), HostError> {
        match *self {}
    }

    async fn ended(&self) {
        match *self {}
    }
}
