//! What a process listens on and what else it is connected by, and who is at the other ends.

use super::files::{Place, is_missing};
use super::holders::{Search, Wanted, search};
use super::sockets::{UnixKind, UnixTable, unix_table};
use super::tcp::{Other, Tcp, TcpKind};
use super::udp::{Udp, UdpKind, ephemeral_ports};
use crate::process::{Channel, Descriptor, Fact, Listener, Pid, Process, ProcessTable, Visitors, Way};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, getxattr, openat, readlinkat, statat};
use std::net::SocketAddr;

/// The tables of one moment.
struct Tables {
    tcp: Tcp,
    udp: Udp,
    unix: UnixTable,
}

impl Tables {
    fn read(proc: Place<'_>) -> Option<Tables> {
        let ephemeral = ephemeral_ports(proc);
        Some(Tables {
            tcp: Tcp::read(proc, ephemeral.clone())?,
            udp: Udp::read(proc, ephemeral)?,
            unix: unix_table().ok()?,
        })
    }
}

/// One descriptor that leads somewhere. `None` as its way: it listens.
struct Found {
    what: String,
    way: Option<Way>,
    others: Vec<End>,
}

/// Another end, to be searched for or known to be out of sight.
enum End {
    Held(Wanted),
    /// Somebody must have it, or it is on its way to somebody.
    Somewhere(Wanted),
    Elsewhere(String),
}

/// Looks at all descriptors of these processes. Sockets of other network namespaces cannot be seen from here, so what a
/// process of one is connected by stays unknown.
pub(super) fn read(proc: Place<'_>, table: &mut ProcessTable, pids: &[Pid], everyone: &[Pid]) {
    let own_namespace = table.observer.net_namespace;
    let tables = Tables::read(proc);
    let mut found: Vec<(Pid, Vec<Found>)> = Vec::new();
    for pid in pids {
        let Some(process) = table.get_mut(*pid) else { continue };
        let here = own_namespace.is_some() && process.details.net_namespace.known().copied() == own_namespace;
        let read = match &tables {
            Some(tables) if here => channels_of(proc, tables, process),
            _ => Fact::Denied,
        };
        (process.details.listeners, process.details.channels) = match read {
            Fact::Known(all) => {
                found.push((*pid, all));
                (Fact::Known(Vec::new()), Fact::Known(Vec::new()))
            }
            Fact::Gone => (Fact::Gone, Fact::Gone),
            _ => (Fact::Denied, Fact::Denied),
        };
    }
    let ends = found.iter().flat_map(|(_, all)| all.iter().flat_map(|found| &found.others));
    let wanted: Vec<&Wanted> = ends
        .filter_map(|end| match end {
            End::Held(wanted) | End::Somewhere(wanted) => Some(wanted),
            End::Elsewhere(_) => None,
        })
        .collect();
    let searched = (!wanted.is_empty()).then(|| search(proc, table, wanted.into_iter(), everyone));
    for (pid, all) in found {
        for Found { what, way, others } in all {
            let others = others_of(proc, table, pid, way, others, searched.as_ref());
            // A pipe that nobody else has leads nowhere.
            let nowhere = others.pids.is_empty() && others.elsewhere.is_empty();
            let Some(process) = table.get_mut(pid) else { continue };
            let details = &mut *process.details;
            match (way, &mut details.listeners, &mut details.channels) {
                (None, Fact::Known(listeners), _) => {
                    listeners.push(Listener { address: what, visitors: others });
                }
                (Some(Way::Line), _, _) if nowhere => {}
                (Some(way), _, Fact::Known(channels)) => channels.push(Channel { what, way, others }),
                _ => {}
            }
        }
    }
}

fn others_of(
    proc: Place<'_>,
    table: &ProcessTable,
    pid: Pid,
    way: Option<Way>,
    ends: Vec<End>,
    searched: Option<&Search>,
) -> Visitors {
    let user = table.get(pid).and_then(|process| process.details.users.known()).map(|users| users.real);
    let mut known = Visitors { complete: true, ..Visitors::default() };
    for end in ends {
        match end {
            End::Elsewhere(address) => known.elsewhere.push(address),
            End::Somewhere(wanted) => {
                if searched.is_none_or(|searched| searched.holders(&wanted).is_empty()) {
                    known.elsewhere.push("a process that cannot be seen".to_owned());
                }
            }
            End::Held(wanted) => {
                let holders = searched.map_or(&[][..], |searched| searched.holders(&wanted));
                if holders.is_empty() && way != Some(Way::Line) {
                    known.elsewhere.push("a process that cannot be seen".to_owned());
                }
                known.pids.extend(holders);
            }
        }
    }
    known.pids.sort_unstable();
    known.pids.dedup();
    known.complete = searched.is_none_or(|searched| searched.is_complete_for(proc, user));
    known
}

/// Everything that the descriptors of a process lead to, except stdin, which has a fact of its own, and stderr, over which
/// nobody talks.
fn channels_of(proc: Place<'_>, tables: &Tables, process: &Process) -> Fact<Vec<Found>> {
    let pid = process.pid();
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
    let apart = [&process.details.descriptors[0], &process.details.descriptors[2]];
    let mut found: Vec<Found> = Vec::new();
    for entry in entries {
        let Ok(entry) = entry else { return Fact::Denied };
        let name = entry.file_name();
        let Ok(target) = readlinkat(&directory, name, Vec::new()) else { continue };
        let target = target.to_string_lossy();
        let number = name.to_string_lossy();
        let inode = |kind: &str| -> Option<u64> {
            target.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
        };
        let is_apart = |descriptor: Descriptor| apart.iter().any(|fact| fact.known() == Some(&descriptor));
        if let Some(inode) = inode("socket") {
            if !is_apart(Descriptor::Socket(inode)) {
                let protocol = || protocol(pid, &number);
                found.extend(socket(tables, inode, number == "1", protocol));
            }
        } else if let Some(inode) = inode("pipe") {
            if !is_apart(Descriptor::Pipe(inode)) {
                // The mode of the link says how it is open; the other end is open the other way.
                let mode = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(Mode::empty(), |stat| Mode::from_raw_mode(stat.st_mode));
                let other = if mode.contains(Mode::RUSR) { Mode::WUSR } else { Mode::RUSR };
                let end = End::Held(line_end(Wanted::pipe(inode, other), number == "1"));
                found.push(Found { what: format!("pipe {inode}"), way: Some(Way::Line), others: vec![end] });
            }
        } else if target.starts_with('/') && !matches!(&*number, "0" | "1" | "2") {
            let fifo = statat(&directory, name, AtFlags::empty())
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
            if fifo {
                found.push(Found {
                    what: format!("FIFO {target}"),
                    way: Some(Way::Receives),
                    others: Vec::new(),
                });
            }
        }
    }
    Fact::Known(found)
}

/// The other end of a pipe or pair. A client may leak its own end of one server's stdin into the next server: whoever has
/// the other end of that as stdin or stdout does not use the one that it leaked into.
fn line_end(other: Wanted, is_stdout: bool) -> Wanted {
    if is_stdout { other } else { other.beyond_stdio() }
}

fn socket(
    tables: &Tables,
    inode: u64,
    is_stdout: bool,
    protocol: impl FnOnce() -> Option<String>,
) -> Option<Found> {
    let of = |way: Option<Way>, what: String, others: Vec<End>| Some(Found { what, way, others });
    let end = |other: Other| match other {
        Other::Socket(inode) => End::Held(Wanted::socket(inode)),
        Other::Elsewhere(address) => End::Elsewhere(address),
    };
    let unseen = |what: &str| {
        of(
            Some(Way::Inbound),
            what.to_owned(),
            vec![End::Elsewhere("somebody who cannot be seen".to_owned())],
        )
    };
    let held = |peer: u64| vec![End::Held(Wanted::socket(peer))];
    if let Some(kind) = tables.tcp.kind(inode) {
        return match kind {
            TcpKind::Listens(address, visitors) => {
                of(None, format!("TCP {}", shown(address)), visitors.into_iter().map(end).collect())
            }
            TcpKind::Inbound(from, other) => {
                of(Some(Way::Inbound), format!("TCP from {from}"), vec![end(other)])
            }
            TcpKind::Outward(to, other) => of(Some(Way::Outward), format!("TCP {to}"), vec![end(other)]),
            TcpKind::Either(with, other) => of(Some(Way::Line), format!("TCP with {with}"), vec![end(other)]),
            TcpKind::Alone => None,
        };
    }
    if let Some(kind) = tables.unix.kind(inode) {
        return match kind {
            UnixKind::Listens(name, visitors) => {
                of(None, format!("unix {name}"), visitors.into_iter().flat_map(held).collect())
            }
            UnixKind::Pair(peer) => {
                let end = End::Held(line_end(Wanted::socket(peer), is_stdout));
                let ends = vec![end, End::Somewhere(Wanted::socket(peer))];
                of(Some(Way::Line), format!("socket pair {inode}"), ends)
            }
            UnixKind::Accepted(name, peer) => of(Some(Way::Inbound), format!("unix {name}"), held(peer)),
            UnixKind::Connected(name, peer) => of(Some(Way::Outward), format!("unix {name}"), held(peer)),
            UnixKind::Receives(name) => of(Some(Way::Receives), format!("unix {name}"), Vec::new()),
            UnixKind::Alone => None,
        };
    }
    if let Some(kind) = tables.udp.kind(inode) {
        return match kind {
            UdpKind::Connected(to) => {
                of(Some(Way::Outward), format!("UDP {to}"), vec![End::Elsewhere(to.to_string())])
            }
            UdpKind::Receives(address) => {
                of(Some(Way::Receives), format!("UDP {}", shown(address)), Vec::new())
            }
            UdpKind::Sends => None,
        };
    }
    // A TCP socket that is in no table is not connected; netlink and the like talk to the kernel. What cannot be named may
    // be anything.
    match protocol() {
        Some(name) if !name.starts_with("UNIX") => None,
        Some(_) => unseen("a unix socket of another network namespace"),
        None => unseen("a socket that cannot be named"),
    }
}

/// The protocol of a socket as the kernel calls it: `TCP`, `UNIX-STREAM`, `NETLINK`.
fn protocol(pid: Pid, number: &str) -> Option<String> {
    let mut name = [0_u8; 32];
    let length = getxattr(format!("/proc/{pid}/fd/{number}"), "system.sockprotoname", &mut name).ok()?;
    Some(String::from_utf8_lossy(&name[..length]).trim_matches('\0').to_owned())
}

fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("*:{}", address.port()) } else { address.to_string() }
}
