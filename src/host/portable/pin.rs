//! Holding a process where the kernel has no handle for it: its end is heard of, and who has the number is looked at before
//! every signal.

use super::{Identity, System};
use crate::host::posix::of_system;
use crate::host::{HostError, Pin};
use crate::process::{Fact, Pid, ProcessId};
use crate::reap::Signal;
use std::future::Future;
use std::sync::Arc;

/// How the end of a process is heard of.
pub trait Exits: Send + Sync {
    /// Whether it has ended.
    fn has_ended(&self) -> bool;
    /// Waits until it has.
    fn ended(&self) -> impl Future<Output = ()>;
}

/// A process that is watched.
pub struct PortablePin<S: System> {
    system: Arc<S>,
    id: ProcessId,
    exits: S::Exits,
}

impl<S: System> PortablePin<S> {
    /// Begins to listen for its end, and then looks who it is: from then on an end would have been heard.
    pub(super) fn hold(system: &Arc<S>, pid: Pid) -> Result<PortablePin<S>, HostError> {
        let exits = system.exits(pid)?;
        let identity = system.identify(pid);
        let Fact::Known(identity) = identity else { return Err(HostError::Ended) };
        let id = id_of(pid, &identity, &**system);
        if exits.has_ended() {
            return Err(HostError::Ended);
        }
        Ok(PortablePin { system: Arc::clone(system), id, exits })
    }

    pub(super) fn id(&self) -> &ProcessId {
        &self.id
    }
}

fn id_of<S: System>(pid: Pid, identity: &Identity, system: &S) -> ProcessId {
    ProcessId { pid, start_ticks: identity.start_ticks, unique: identity.unique, boot: system.boot() }
}

impl<S: System> Pin for PortablePin<S> {
    fn has_ended(&self) -> bool {
        self.exits.has_ended()
    }

    fn signal(&self, signal: Signal) -> Result<(), HostError> {
        if self.has_ended() {
            return Err(HostError::Ended);
        }
        match self.system.identify(self.id.pid) {
            Fact::Known(now) if id_of(self.id.pid, &now, &*self.system).same(&self.id) => {
                self.system.send(&self.id, signal)
            }
            // Somebody else has the number, or nobody.
            Fact::Known(_) | Fact::Gone => Err(HostError::Ended),
            _ => Err(HostError::Refused(std::io::ErrorKind::PermissionDenied.into())),
        }
    }

    async fn ended(&self) {
        self.exits.ended().await;
    }
}

/// The weaker guarantee: who has the number was compared a moment ago.
#[allow(clippy::disallowed_methods, reason = "systems without a handle or a token have no better way")]
pub(in crate::host) fn by_number(pid: Pid, signal: Signal) -> Result<(), HostError> {
    let pid = rustix::process::Pid::from_raw(pid.get()).ok_or(HostError::Ended)?;
    match rustix::process::kill_process(pid, of_system(signal)) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::SRCH) => Err(HostError::Ended),
        Err(error) => Err(HostError::Refused(error.into())),
    }
}
