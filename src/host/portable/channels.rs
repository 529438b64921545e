//! What a process listens on and what else it is connected by, from everybody's descriptors.

use super::files::{End, Inet, OpenFile, descriptor};
use super::people::People;
use crate::host::addresses::{canonical, is_at, shown};
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
            Some(Found::Listener(format!("TCP {}", shown(*local)), visitors(people, canonical(*local))))
        }
        End::Inet { kind: Inet::Idle, .. } => None,
        End::Inet { kind: kind @ (Inet::Connected | Inet::Closing), local, remote, .. } => {
            let (local, remote) = (canonical(*local), canonical(*remote));
            let others = other_side(people, *kind, local, remote)?;
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
        // Whoever uses the file system that it provides needs it.
        End::Path { path, .. } if FILE_SYSTEMS.iter().any(|device| path.starts_with(device)) => channel(
            format!("a file system of its own ({path})"),
            Way::Receives,
            Visitors::default(),
            Vec::new(),
        ),
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

/// Devices of those who provide file systems.
const FILE_SYSTEMS: [&str; 3] = ["/dev/fuse", "/dev/macfuse", "/dev/osxfuse"];

/// Everybody's TCP connections, with whose they are.
fn connections(people: &People) -> impl Iterator<Item = (Pid, Inet, SocketAddr, SocketAddr)> {
    people.everything().filter_map(|(pid, file)| match &file.end {
        End::Inet { kind: kind @ (Inet::Connected | Inet::Closing), local, remote, .. } => {
            Some((pid, *kind, canonical(*local), canonical(*remote)))
        }
        _ => None,
    })
}

fn is_listened_at(people: &People, address: SocketAddr) -> bool {
    people.everything().any(|(_, file)| match &file.end {
        End::Inet { kind: Inet::Listens, local, .. } => is_at(canonical(*local), address),
        _ => false,
    })
}

/// The process at the other side of a connection within the machine, or the other address. `None` when nobody is seen there and
/// that side has said goodbye: else it may be the kernel, a descriptor on its way, or one that no list shows.
fn other_side(people: &People, kind: Inet, local: SocketAddr, remote: SocketAddr) -> Option<Visitors> {
    let there = connections(people).filter(|(_, _, own, to)| *own == remote && *to == local);
    let mut pids: Vec<Pid> = there.map(|(pid, ..)| pid).collect();
    pids.sort_unstable();
    pids.dedup();
    if pids.is_empty() && kind == Inet::Closing {
        return None;
    }
    let elsewhere = if pids.is_empty() { vec![remote.to_string()] } else { Vec::new() };
    Some(Visitors { pids, elsewhere, complete: true })
}

/// Who is connected to a listener: the other sides of what was accepted, and those who wait for that.
fn visitors(people: &People, listener: SocketAddr) -> Visitors {
    let mut all = Visitors { complete: true, ..Visitors::default() };
    let is_here = |address: SocketAddr| {
        address.ip().is_loopback() || connections(people).any(|(_, _, local, _)| local.ip() == address.ip())
    };
    for (pid, kind, local, remote) in connections(people) {
        if is_at(listener, local) {
            let other = other_side(people, kind, local, remote).unwrap_or_default();
            all.pids.extend(other.pids);
            all.elsewhere.extend(other.elsewhere);
        } else if is_at(listener, remote) && (remote.ip() == listener.ip() || is_here(remote)) {
            all.pids.push(pid);
        }
    }
    all.pids.sort_unstable();
    all.pids.dedup();
    all.elsewhere.sort_unstable();
    all.elsewhere.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPHEMERAL: Ephemeral = 32768..=60999;

    fn pid(number: i32) -> Pid {
        Pid::new(number).unwrap()
    }

    fn tcp(own: u64, kind: Inet, local: &str, remote: &str) -> OpenFile {
        let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
        OpenFile { number: 5, end: End::Inet { own, kind, local, remote } }
    }

    fn people(all: &[(i32, OpenFile)]) -> People {
        let mut people = People::default();
        for (number, file) in all {
            people.add(pid(*number), vec![file.clone()]);
        }
        people
    }

    fn channel(people: &People, file: &OpenFile) -> Option<(Way, Vec<Pid>, usize)> {
        match found(people, &EPHEMERAL, file) {
            Some(Found::Channel(channel)) => {
                Some((channel.way, channel.others.pids, channel.others.elsewhere.len()))
            }
            Some(Found::Listener(_, visitors)) => {
                Some((Way::Receives, visitors.pids, visitors.elsewhere.len()))
            }
            None => None,
        }
    }

    #[test]
    fn a_connection_whose_other_side_nobody_shows_is_a_connection_all_the_same() {
        // The other side is the kernel's own, or on its way to somebody.
        let open = tcp(1, Inet::Connected, "127.0.0.1:8080", "127.0.0.1:40000");
        assert_eq!(channel(&people(&[(10, open.clone())]), &open), Some((Way::Inbound, vec![], 1)));
        let closed = tcp(1, Inet::Closing, "127.0.0.1:8080", "127.0.0.1:40000");
        assert_eq!(channel(&people(&[(10, closed.clone())]), &closed), None);
        // Half closed, and somebody still waits for the answer.
        let waits = tcp(2, Inet::Connected, "127.0.0.1:40000", "127.0.0.1:8080");
        let both = people(&[(10, closed.clone()), (11, waits)]);
        assert_eq!(channel(&both, &closed), Some((Way::Inbound, vec![pid(11)], 0)));
    }

    #[test]
    fn whoever_waits_to_be_accepted_is_a_visitor_by_any_address_of_this_machine() {
        for (listener, local, remote) in [
            ("0.0.0.0:8080", "127.0.0.1:40000", "127.0.0.2:8080"),
            ("[::]:8080", "[::ffff:127.0.0.1]:40000", "[::ffff:127.0.0.1]:8080"),
            ("[::ffff:127.0.0.1]:8080", "127.0.0.1:40000", "127.0.0.1:8080"),
            ("0.0.0.0:8080", "10.0.0.7:40000", "10.0.0.7:8080"),
        ] {
            let listener = tcp(1, Inet::Listens, listener, "0.0.0.0:0");
            let visitor = tcp(2, Inet::Connected, local, remote);
            let people = people(&[(10, listener.clone()), (11, visitor)]);
            assert_eq!(channel(&people, &listener), Some((Way::Receives, vec![pid(11)], 0)), "{listener:?}");
        }
        let listener = tcp(1, Inet::Listens, "0.0.0.0:443", "0.0.0.0:0");
        let elsewhere = tcp(2, Inet::Connected, "10.0.0.7:40000", "192.0.2.1:443");
        assert_eq!(
            channel(&people(&[(10, listener.clone()), (11, elsewhere)]), &listener),
            Some((Way::Receives, vec![], 0))
        );
    }

    #[test]
    fn a_file_system_is_used_by_whoever_uses_it() {
        for path in ["/dev/fuse", "/dev/macfuse3", "/dev/osxfuse0"] {
            let end = End::Path { path: path.to_owned(), is_fifo: false, is_device: true };
            let file = OpenFile { number: 7, end };
            assert_eq!(channel(&People::default(), &file), Some((Way::Receives, vec![], 0)));
        }
    }
}
