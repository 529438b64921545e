//! The environment of a process, as /proc has it.

use super::files::{Place, Read};
use crate::host::marks::{digest, of};
use crate::process::{Fact, Marks};

/// The kernel allows 2 MiB of arguments and environment together by default; more than this counts as unreadable.
const LONGEST: usize = 4 * 1024 * 1024;

/// Marks and digest. The same server started in two directories serves two projects, so the directory counts for the digest.
pub(super) fn read(place: Place<'_>) -> (Fact<Marks>, Fact<u64>) {
    let (marks, environment) = read_environment(place);
    match (environment, place.link("cwd")) {
        (Fact::Known(environment), Some(directory)) => (marks, Fact::Known(digest((environment, directory)))),
        (Fact::Known(_), None) => (marks, Fact::Denied),
        (hidden, _) => (marks, hidden),
    }
}

fn read_environment(place: Place<'_>) -> (Fact<Marks>, Fact<u64>) {
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        let size = buffer.len();
        match place.read("environ", &mut buffer) {
            Read::Denied | Read::Short(_) => return (Fact::Denied, Fact::Denied),
            Read::Missing => return (Fact::Gone, Fact::Gone),
            Read::Text(text) if text.len() < size => return of(text),
            Read::Text(_) if size >= LONGEST => return (Fact::Denied, Fact::Denied),
            Read::Text(_) => {}
        }
        buffer.resize(size * 8, 0);
    }
}
