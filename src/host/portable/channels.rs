//! What a process listens on and what else it is connected by, from everybody's descriptors.

use super::files::{End, Inet, OpenFile, descriptor};
use super::people::People;
use crate::process::{Channel, Fact, Listener, Pid, Process, ProcessTable, Visitors, Way};
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// Ports that the kernel gives to whoever asks for any.
type Ephemeral = RangeInclusive<u16>;

/// Fills in listeners and channels of these.
pub(super) fn read(people: &People, ephemeral: &Ephemeral, table: &mut ProcessTable, pids: &[Pid]) {
    for pid in pids {
        let Some(process) = table.get_mut(*pid) else { continue };
        let Some(files) = people.files(*pid) else {
            process.details.listeners = Fact::Denied;
            process.details.channels = Fact::Denied;
            continue;
        };
        let user = process.details.users.known().map(|users| users.real);
        let complete = people.is_complete_for(user);
        let (mut listeners, mut channels) = (Vec::new(), Vec::new());
        for file in files.iter().filter(|file| !is_apart(process, file)) {
            match found(people, ephemeral, file) {
                Some(Found::Listener(address, mut visitors)) => {
                    visitors.complete = complete;
                    listeners.push(Listener { address, visitors });
                }
                Some(Found::Channel(mut channel)) => {
                    channel.others.complete = complete;
                    channels.push(channel);
                }
                None => {}
            }
        }
        process.details.listeners = Fact::Known(listeners);
        process.details.channels = Fact::Known(channels);
    }
}

/// Stdin has a fact of its own, and over stderr nobody talks; so have their copies. Stdout never is apart.
fn is_apart(process: &Process, file: &OpenFile) -> bool {
    let apart = [&process.details.descriptors[0], &process.details.descriptors[2]];
    let own = descriptor(&file.end);
    let same = own.is_stdio() && apart.iter().any(|fact| fact.known() == Some(&own));
    matches!(file.number, 0 | 2) || same && file.number != 1
}

enum Found {
    Listener(String, Visitors),
    Channel(Channel),
}

fn found(people: &People, ephemeral: &Ephemeral, file: &OpenFile) -> Option<Found> {
    let channel = |what: String, way: Way, others: Visitors, as_stdio: Vec<Pid>| {
        Some(Found::Channel(Channel { what, way, others, as_stdio }))
    };
    match &file.end {
        End::Pipe { peer: 0, .. } => None,
        End::Pipe { own, peer } => {
            channel(format!("pipe {own:x}"), Way::Line, holders(people, *peer), people.as_stdio(*peer))
        }
        End::Unix { listens: true, path, .. } => {
            let path = path.clone().unwrap_or_default();
            let pids = people.visitors_of(&path);
            Some(Found::Listener(format!("unix {path}"), Visitors { pids, ..Visitors::default() }))
        }
        End::Unix { datagrams: true, path: Some(path), .. } => {
            channel(format!("unix {path}"), Way::Receives, Visitors::default(), Vec::new())
        }
        End::Unix { peer: 0, .. } => None,
        End::Unix { own, peer, path, peer_path, .. } => {
            let (what, way) = match (path, peer_path) {
                (Some(path), _) => (format!("unix {path}"), Way::Inbound),
                (None, Some(path)) => (format!("unix {path}"), Way::Outward),
                (None, None) => (format!("socket pair {own:x}"), Way::Line),
            };
            channel(what, way, holders(people, *peer), people.as_stdio(*peer))
        }
        End::Inet { kind: Inet::Listens, local, .. } => {
            Some(Found::Listener(format!("TCP {}", shown(*local)), visitors(people, *local)))
        }
        End::Inet { kind: Inet::Idle, .. } => None,
        End::Inet { kind: Inet::Connected, local, remote, .. } => {
            let (local, remote) = (canonical(*local), canonical(*remote));
            let others = other_side(people, local, remote)?;
            // Whoever connects gets a port from the kernel; whoever is connected to has one that is known.
            let (ours, theirs) = (ephemeral.contains(&local.port()), ephemeral.contains(&remote.port()));
            let (what, way) = if is_listened_at(people, local) || !ours {
                (format!("TCP from {remote}"), Way::Inbound)
            } else if is_listened_at(people, remote) || !theirs {
                (format!("TCP {remote}"), Way::Outward)
            } else {
                (format!("TCP with {remote}"), Way::Line)
            };
            channel(what, way, others, Vec::new())
        }
        End::Inet { kind: Inet::Datagrams, local, remote, .. } => {
            if remote.port() != 0 {
                let elsewhere = vec![remote.to_string()];
                channel(
                    format!("UDP {remote}"),
                    Way::Outward,
                    Visitors { elsewhere, ..Visitors::default() },
                    Vec::new(),
                )
            } else if local.port() != 0 && !(local.ip().is_unspecified() && ephemeral.contains(&local.port()))
            {
                channel(format!("UDP {}", shown(*local)), Way::Receives, Visitors::default(), Vec::new())
            } else {
                None
            }
        }
        End::Path { path, is_fifo: true, .. } if file.number > 2 => {
            channel(format!("FIFO {path}"), Way::Receives, Visitors::default(), Vec::new())
        }
        // Who works at the other side of a terminal that it has made cannot be told.
        End::Path { path, .. } if path.ends_with("ptmx") => {
            let elsewhere = vec!["whoever works at that terminal".to_owned()];
            channel(
                "a terminal of its own".to_owned(),
                Way::Line,
                Visitors { elsewhere, ..Visitors::default() },
                vec![],
            )
        }
        End::Path { .. } | End::Nobody => None,
        End::Unknown(what) => {
            let elsewhere = vec!["somebody who cannot be seen".to_owned()];
            channel(what.clone(), Way::Inbound, Visitors { elsewhere, ..Visitors::default() }, Vec::new())
        }
    }
}

/// Who holds another end that is open: if nobody is seen with it, it is on its way to somebody.
fn holders(people: &People, peer: u64) -> Visitors {
    let pids = people.with(peer);
    let elsewhere =
        if pids.is_empty() { vec!["a process that cannot be seen".to_owned()] } else { Vec::new() };
    Visitors { pids, elsewhere, complete: true }
}

/// Everybody's TCP connections, with whose they are.
fn connections(people: &People) -> impl Iterator<Item = (Pid, SocketAddr, SocketAddr)> {
    people.everything().filter_map(|(pid, file)| match &file.end {
        End::Inet { kind: Inet::Connected, local, remote, .. } => {
            Some((pid, canonical(*local), canonical(*remote)))
        }
        _ => None,
    })
}

fn is_listened_at(people: &People, address: SocketAddr) -> bool {
    people.everything().any(|(_, file)| match &file.end {
        End::Inet { kind: Inet::Listens, local, .. } => is_at(*local, address),
        _ => false,
    })
}

fn is_at(listening: SocketAddr, end: SocketAddr) -> bool {
    listening.port() == end.port() && (listening.ip().is_unspecified() || listening.ip() == end.ip())
}

/// The process at the other side of a connection within the machine, or the other address; `None` when it is closed: nobody
/// on this machine has it, and everybody was searched.
fn other_side(people: &People, local: SocketAddr, remote: SocketAddr) -> Option<Visitors> {
    let mut pids: Vec<Pid> = connections(people)
        .filter(|(_, own, to)| *own == remote && *to == local)
        .map(|(pid, ..)| pid)
        .collect();
    pids.sort_unstable();
    pids.dedup();
    let is_here = remote.ip().is_loopback() || remote.ip() == local.ip();
    if pids.is_empty() && is_here && people.everybody_was_searched() {
        return None;
    }
    let elsewhere = if pids.is_empty() { vec![remote.to_string()] } else { Vec::new() };
    Some(Visitors { pids, elsewhere, complete: true })
}

/// Who is connected to a listener: the other sides of what was accepted, and those who wait for that.
fn visitors(people: &People, listener: SocketAddr) -> Visitors {
    let mut all = Visitors { complete: true, ..Visitors::default() };
    for (pid, local, remote) in connections(people) {
        if is_at(listener, local) {
            let other = other_side(people, local, remote).unwrap_or_default();
            all.pids.extend(other.pids);
            all.elsewhere.extend(other.elsewhere);
        } else if is_at(listener, remote) && (remote.ip() == listener.ip() || remote.ip() == local.ip()) {
            all.pids.push(pid);
        }
    }
    all.pids.sort_unstable();
    all.pids.dedup();
    all.elsewhere.sort_unstable();
    all.elsewhere.dedup();
    all
}

/// A client that came over IPv4 to an IPv6 socket shows up as `::ffff:1.2.3.4` on one side only.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("*:{}", address.port()) } else { address.to_string() }
}
