//! What a process listens on: its sockets, held against the listening ones of its network namespace.

use super::files::{Place, is_missing};
use super::sockets::unix_listeners;
use crate::process::{Fact, Pid, ProcessTable};
use procfs::FromReadSI;
use procfs::net::{TcpNetEntries, TcpState};
use rustix::fs::{Dir, Mode, OFlags, openat, readlinkat};
use std::collections::HashMap;
use std::fs::File;

/// Listening sockets by inode, in words.
type Listening = HashMap<u64, String>;

/// Finds out what these processes listen on. TCP tables are read once for each network namespace.
pub(super) fn read(proc: Place<'_>, table: &mut ProcessTable, pids: &[Pid]) {
    let unix = unix_listeners().ok();
    let mut tcp: HashMap<u64, Option<Listening>> = HashMap::new();
    for pid in pids {
        let Some(process) = table.get_mut(*pid) else { continue };
        let Some(namespace) = process.details.net_namespace.known().copied() else {
            process.details.listeners = Fact::Denied;
            continue;
        };
        let tcp = tcp.entry(namespace).or_insert_with(|| tcp_listeners(proc, *pid));
        process.details.listeners = match (tcp, &unix, sockets_of(proc, *pid)) {
            (Some(tcp), Some(unix), Fact::Known(sockets)) => {
                let words = sockets.iter().filter_map(|inode| tcp.get(inode).or_else(|| unix.get(inode)));
                Fact::Known(words.cloned().collect())
            }
            (_, _, Fact::Gone) => Fact::Gone,
            _ => Fact::Denied,
        };
    }
}

fn tcp_listeners(proc: Place<'_>, pid: Pid) -> Option<Listening> {
    let mut found = Listening::new();
    for family in ["tcp", "tcp6"] {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = match openat(proc.fd(), format!("{pid}/net/{family}"), flags, Mode::empty()) {
            Ok(file) => file,
            // A kernel without IPv6 has no such table.
            Err(error) if is_missing(error) && family == "tcp6" => continue,
            Err(_) => return None,
        };
        let entries = TcpNetEntries::from_read(File::from(file), procfs::current_system_info()).ok()?;
        let listening = entries.0.into_iter().filter(|entry| entry.state == TcpState::Listen);
        found.extend(listening.map(|entry| (entry.inode, format!("TCP {}", entry.local_address))));
    }
    Some(found)
}

/// Inodes of all sockets that a process has open.
fn sockets_of(proc: Place<'_>, pid: Pid) -> Fact<Vec<u64>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let failed = |error| if is_missing(error) { Fact::Gone } else { Fact::Denied };
    let directory = match openat(proc.fd(), format!("{pid}/fd"), flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(error) => return failed(error),
    };
    let entries = match Dir::read_from(&directory) {
        Ok(entries) => entries,
        Err(error) => return failed(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let Ok(entry) = entry else { return Fact::Denied };
        let Ok(target) = readlinkat(&directory, entry.file_name(), Vec::new()) else { continue };
        let target = target.to_string_lossy();
        let inode = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        found.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
    }
    Fact::Known(found)
}
