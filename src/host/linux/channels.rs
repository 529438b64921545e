//! What a process listens on and what else it is connected by, and who is at the other ends.

use super::far_ends::pipe;
use super::files::{Place, is_missing};
use super::holders::{Search, Wanted, search};
use super::sockets::{UnixKind, UnixTable, unix_table};
use super::tcp::{Other, Tcp, TcpKind};
use super::udp::{Udp, UdpKind, ephemeral_ports};
use crate::host::addresses::shown;
use crate::process::{
    Channel, Descriptor, Fact, FarEnd, Listener, Pid, Process, ProcessTable, Visitors, Way,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, getxattr, openat, readlinkat, statat};

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
    /// The same; where nobody is found, it is on its way to somebody, or held where nobody can look.
    Somewhere(Wanted),
    /// A process, without any search.
    Process(Pid),
    Elsewhere(String),
}

/// Who is traced, and by whom. A tracer may take its tracee with it when it ends.
fn tracees(proc: Place<'_>, everyone: &[Pid]) -> Vec<(Pid, Pid)> {
    let tracer = |pid: &Pid| {
        let text = proc.text(&format!("{pid}/status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
        Pid::new(line.trim().parse().ok()?)
    };
    everyone.iter().filter_map(|pid| Some((*pid, tracer(pid)?))).collect()
}

/// Those among the holders who have it as stdin, stdout or stderr only.
fn as_stdio(ends: &[End], searched: Option<&Search>) -> Vec<Pid> {
    let Some(searched) = searched else { return Vec::new() };
    let mut found: Vec<Pid> = Vec::new();
    for end in ends {
        if let End::Held(wanted) | End::Somewhere(wanted) = end {
            let beyond = searched.holders(&wanted.clone().beyond_stdio());
            found.extend(searched.holders(wanted).iter().filter(|pid| !beyond.contains(pid)));
        }
    }
    found
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
            End::Process(_) | End::Elsewhere(_) => None,
        })
        .collect();
    let beyond: Vec<Wanted> = wanted.iter().map(|wanted| (*wanted).clone().beyond_stdio()).collect();
    let searched =
        (!wanted.is_empty()).then(|| search(proc, table, wanted.into_iter().chain(&beyond), everyone));
    let tracees = if found.is_empty() { Vec::new() } else { tracees(proc, everyone) };
    for (pid, mut all) in found {
        all.extend(tracees.iter().filter(|(_, tracer)| *tracer == pid).map(|(tracee, _)| Found {
            what: format!("ptrace({tracee})"),
            way: Some(Way::Line),
            others: vec![End::Process(*tracee)],
        }));
        for Found { what, way, others } in all {
            let as_stdio = as_stdio(&others, searched.as_ref());
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
                (Some(way), _, Fact::Known(channels)) => {
                    channels.push(Channel { what, way, others, as_stdio });
                }
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
            End::Process(pid) => known.pids.push(pid),
            End::Held(wanted) => {
                let holders = searched.map_or(&[][..], |searched| searched.holders(&wanted));
                if holders.is_empty() && way != Some(Way::Line) {
                    known.elsewhere.push("a process that cannot be seen".to_owned());
                }
                known.pids.extend(holders);
            }
            End::Somewhere(wanted) => {
                let holders = searched.map_or(&[][..], |searched| searched.holders(&wanted));
                if holders.is_empty() {
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
        let target = match readlinkat(&directory, name, Vec::new()) {
            Ok(target) => target,
            // The entries `.` and `..` are no links; a descriptor may have been closed meanwhile.
            Err(error) if is_missing(error) || name.to_bytes().starts_with(b".") => continue,
            Err(_) => return Fact::Denied,
        };
        let target = target.to_string_lossy();
        let number = name.to_string_lossy();
        let inode = |kind: &str| -> Option<u64> {
            target.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
        };
        // Copies of stdin and stderr are apart as well. Stdout never is, though it be the same as stderr.
        let is_apart = |descriptor: Descriptor| {
            let same = apart.iter().any(|fact| fact.known() == Some(&descriptor));
            let diverted = process.details.moved_stdio.is_some() && number == "1";
            matches!(&*number, "0" | "2") || diverted || (same && number != "1")
        };
        if let Some(inode) = inode("socket") {
            if !is_apart(Descriptor::Socket(inode)) {
                found.extend(socket(tables, inode, || protocol(pid, &number)));
            }
        } else if let Some(inode) = inode("pipe") {
            if !is_apart(Descriptor::Pipe(inode)) {
                // The mode of the link says how it is open; the other end is open the other way.
                let mode = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(Mode::empty(), |stat| Mode::from_raw_mode(stat.st_mode));
                let reads = mode.contains(Mode::RUSR);
                let open = number
                    .parse()
                    .is_ok_and(|number| pipe(proc, pid, number, reads, inode) != Fact::Known(FarEnd::HungUp));
                if open {
                    let end =
                        End::Somewhere(Wanted::pipe(inode, if reads { Mode::WUSR } else { Mode::RUSR }));
                    found.push(Found {
                        what: format!("pipe {inode}"),
                        way: Some(Way::Line),
                        others: vec![end],
                    });
                }
            }
        } else if target.starts_with("/dev/") && target.ends_with("ptmx") {
            found.extend(terminal(proc, pid, &number));
        } else if target == "/dev/fuse" {
            let what = "a file system of its own (/dev/fuse)".to_owned();
            found.push(Found { what, way: Some(Way::Receives), others: Vec::new() });
        } else if target.starts_with('/') && !matches!(&*number, "1" | "2") {
            let fifo = statat(&directory, name, AtFlags::empty())
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
            if fifo {
                let what = format!("FIFO {target}");
                found.push(Found { what, way: Some(Way::Receives), others: Vec::new() });
            }
        }
    }
    Fact::Known(found)
}

/// The other side of a terminal that a process has made: whoever has it works there.
fn terminal(proc: Place<'_>, pid: Pid, number: &str) -> Option<Found> {
    let text = proc.text(&format!("{pid}/fdinfo/{number}"))?;
    let index = text.lines().find_map(|line| line.strip_prefix("tty-index:"))?.trim();
    let what = format!("/dev/pts/{index}");
    let others = vec![End::Held(Wanted::path(&what))];
    Some(Found { what, way: Some(Way::Line), others })
}

fn socket(tables: &Tables, inode: u64, protocol: impl FnOnce() -> Option<String>) -> Option<Found> {
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
                let end = End::Somewhere(Wanted::socket(peer));
                of(Some(Way::Line), format!("socket pair {inode}"), vec![end])
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
    // Netlink and the like talk to the kernel. What is in no table may belong to another network namespace.
    match protocol() {
        Some(name) if ["NETLINK", "PACKET", "ALG"].contains(&name.as_str()) => None,
        Some(name) if name.starts_with("UNIX") => unseen("a unix socket of another network namespace"),
        Some(name) if name.starts_with("TCP") || name.starts_with("UDP") => {
            let end = End::Elsewhere("somebody who cannot be seen".to_owned());
            of(Some(Way::Line), format!("a {name} socket that is not connected here"), vec![end])
        }
        Some(name) => unseen(&format!("a socket of another kind ({name})")),
        None => unseen("a socket that cannot be named"),
    }
}

/// The protocol of a socket as the kernel calls it: `TCP`, `UNIX-STREAM`, `NETLINK`.
fn protocol(pid: Pid, number: &str) -> Option<String> {
    let mut name = [0_u8; 32];
    let length = getxattr(format!("/proc/{pid}/fd/{number}"), "system.sockprotoname", &mut name).ok()?;
    Some(String::from_utf8_lossy(&name[..length]).trim_matches('\0').to_owned())
}
