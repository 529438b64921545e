//! What a process listens on, and who is connected there.

use super::files::{Place, is_missing};
use super::holders::{Search, search_sockets};
use super::sockets::{UnixListeners, unix_listeners};
use super::tcp::{Tcp, Visitor};
use crate::process::{Fact, Listener, Pid, ProcessTable, Visitors};
use rustix::fs::{Dir, Mode, OFlags, openat, readlinkat};
use std::net::SocketAddr;

/// A listening socket with the other ends of its connections.
struct Found {
    pid: Pid,
    address: String,
    visitors: Vec<Visitor>,
}

/// Finds out what these processes listen on and who visits them. Sockets of other network namespaces cannot be seen from
/// here, so what a process of one listens on stays unknown.
pub(super) fn read(proc: Place<'_>, table: &mut ProcessTable, pids: &[Pid], everyone: &[Pid]) {
    let own_namespace = table.observer.net_namespace;
    let (tcp, unix) = (Tcp::read(proc), unix_listeners().ok());
    let mut found: Vec<Found> = Vec::new();
    for pid in pids {
        let Some(process) = table.get_mut(*pid) else { continue };
        let here = own_namespace.is_some() && process.details.net_namespace.known().copied() == own_namespace;
        process.details.listeners = match (&tcp, &unix, sockets_of(proc, *pid)) {
            (_, _, Fact::Gone) => Fact::Gone,
            (Some(tcp), Some(unix), Fact::Known(sockets)) if here => {
                let listens = |inode: u64| listener(tcp, unix, *pid, inode);
                found.extend(sockets.into_iter().filter_map(listens));
                Fact::Known(Vec::new())
            }
            _ => Fact::Denied,
        };
    }
    let wanted: Vec<u64> = (found.iter().flat_map(|listener| &listener.visitors))
        .filter_map(|visitor| match visitor {
            Visitor::Socket(inode) => Some(*inode),
            Visitor::Elsewhere(_) => None,
        })
        .collect();
    let search = (!wanted.is_empty()).then(|| search_sockets(proc, table, &wanted, everyone));
    for Found { pid, address, visitors } in found {
        let visitors = visitors_of(proc, table, pid, visitors, search.as_ref());
        let known = table.get_mut(pid).map(|process| &mut process.details.listeners);
        if let Some(Fact::Known(listeners)) = known {
            listeners.push(Listener { address, visitors });
        }
    }
}

fn listener(tcp: &Tcp, unix: &UnixListeners, pid: Pid, inode: u64) -> Option<Found> {
    if let Some(address) = tcp.listens(inode) {
        let visitors = tcp.visitors(address);
        return Some(Found { pid, address: format!("TCP {}", shown(address)), visitors });
    }
    let name = unix.listens(inode)?;
    let visitors = unix.visitors(inode).into_iter().map(Visitor::Socket).collect();
    Some(Found { pid, address: format!("unix {name}"), visitors })
}

fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("*:{}", address.port()) } else { address.to_string() }
}

fn visitors_of(
    proc: Place<'_>,
    table: &ProcessTable,
    pid: Pid,
    visitors: Vec<Visitor>,
    search: Option<&Search>,
) -> Visitors {
    let user = table.get(pid).and_then(|process| process.details.users.known()).map(|users| users.real);
    let mut known = Visitors { complete: true, ..Visitors::default() };
    for visitor in visitors {
        let holders = match (&visitor, search) {
            (Visitor::Socket(inode), Some(search)) => search.holders(*inode),
            _ => &[],
        };
        match visitor {
            Visitor::Elsewhere(address) => known.elsewhere.push(address),
            Visitor::Socket(_) if holders.is_empty() => {
                known.elsewhere.push("a process that cannot be searched".to_owned());
            }
            Visitor::Socket(_) => known.pids.extend(holders),
        }
    }
    known.pids.sort_unstable();
    known.pids.dedup();
    known.complete = search.is_none_or(|search| search.is_complete_for(proc, user));
    known
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
