//! Who is being taken down, over all sweeps that run at once: nobody gets a signal from two of them.

use crate::process::Pid;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The processes that some sweep has in hand. A number is enough: who is claimed is held as well, and it is given back when
/// the sweep is over.
#[derive(Clone, Default, Debug)]
pub struct Claims(Arc<Mutex<HashSet<Pid>>>);

impl Claims {
    /// Whether a sweep has this process in hand.
    pub fn contains(&self, pid: Pid) -> bool {
        self.all().contains(&pid)
    }

    /// The claims of one sweep.
    pub(super) fn begin(&self) -> Claim {
        Claim { all: self.clone(), own: RefCell::default() }
    }

    fn all(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one sweep has in hand, by the tree that it belongs to. Gives everything back when it ends.
pub(super) struct Claim {
    all: Claims,
    own: RefCell<HashMap<Pid, Pid>>,
}

impl Claim {
    /// Claims a process for the tree with this root. `false`: another tree or another sweep has it.
    pub(super) fn take(&self, pid: Pid, root: Pid) -> bool {
        let mut own = self.own.borrow_mut();
        if let Some(owner) = own.get(&pid) {
            return *owner == root;
        }
        let free = self.all.all().insert(pid);
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
            all.remove(pid);
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
