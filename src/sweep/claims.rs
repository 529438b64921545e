//! Who is being taken down, over all sweeps that run at once: nobody gets a signal from two of them. And who was asked to end
//! before: nobody is asked twice.

use crate::process::{Pid, ProcessId};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What sweeps share.
#[derive(Clone, Default, Debug)]
pub struct Claims(Arc<Mutex<Shared>>);

#[derive(Default, Debug)]
struct Shared {
    /// Whom some sweep has in hand. A number is enough: who is claimed is held as well, and it is given back when the sweep is
    /// over.
    in_hand: HashSet<Pid>,
    /// Who had his SIGTERM.
    told: HashMap<Pid, ProcessId>,
}

impl Claims {
    /// Whether a sweep has this process in hand.
    pub fn contains(&self, pid: Pid) -> bool {
        self.all().in_hand.contains(&pid)
    }

    /// Whether a process had its SIGTERM before.
    pub fn was_told(&self, id: &ProcessId) -> bool {
        self.all().told.get(&id.pid).is_some_and(|told| told.same(id))
    }

    /// A process gets its SIGTERM.
    pub(super) fn tell(&self, id: ProcessId) {
        self.all().told.insert(id.pid, id);
    }

    /// Forgets whoever does not live any more.
    pub fn forget_ended(&self, lives: impl Fn(&ProcessId) -> bool) {
        self.all().told.retain(|_, id| lives(id));
    }

    /// The claims of one sweep.
    pub(super) fn begin(&self) -> Claim {
        Claim { all: self.clone(), own: RefCell::default() }
    }

    fn all(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one sweep has in hand, by the tree that it belongs to. Gives everything back when it ends.
pub(super) struct Claim {
    all: Claims,
    own: RefCell<HashMap<Pid, Pid>>,
}

impl Claim {
    /// What all sweeps share.
    pub(super) fn shared(&self) -> &Claims {
        &self.all
    }

    /// Claims a process for the tree with this root. `false`: another tree or another sweep has it.
    pub(super) fn take(&self, pid: Pid, root: Pid) -> bool {
        let mut own = self.own.borrow_mut();
        if let Some(owner) = own.get(&pid) {
            return *owner == root;
        }
        let free = self.all.all().in_hand.insert(pid);
        if free {
            own.insert(pid, root);
        }
        free
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut all = self.all.all();
        for pid in self.own.borrow().keys() {
            all.in_hand.remove(pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pid;

    #[test]
    fn one_process_belongs_to_one_tree_of_one_sweep() {
        let claims = Claims::default();
        let (one, other) = (claims.begin(), claims.begin());
        assert!(one.take(pid(10), pid(10)) && one.take(pid(11), pid(10)));
        assert!(one.take(pid(11), pid(10)), "once more for the same tree");
        assert!(!one.take(pid(11), pid(20)), "another tree of the same sweep");
        assert!(!other.take(pid(10), pid(10)), "the same tree in another sweep");
        assert!(other.take(pid(20), pid(20)) && claims.contains(pid(20)));
        drop(one);
        assert!(!claims.contains(pid(10)) && claims.contains(pid(20)), "given back, and only its own");
        assert!(other.take(pid(10), pid(10)));
    }
}
