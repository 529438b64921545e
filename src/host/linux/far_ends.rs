//! The far end of a process's stdin: whether anybody holds it, and who.

use super::details::directory;
use super::files::{Place, is_missing};
use super::sockets::{UnixSocket, unix_sockets};
use crate::process::{Descriptor, Fact, FarEnd, Holders, Pid, ProcessTable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use std::collections::{BTreeMap, HashMap};
use std::io;

type Sockets = io::Result<HashMap<u64, UnixSocket>>;

/// Looks at the far ends of these processes' stdin.
pub(super) fn read(proc: Place<'_>, table: &mut ProcessTable, pids: &[Pid]) {
    let mut sockets: Option<Sockets> = None;
    for pid in pids {
        let Some(process) = table.get_mut(*pid) else { continue };
        process.details.far_end = match process.details.stdio[0].known() {
            Some(Descriptor::Pipe(inode)) => pipe(proc, *pid, *inode),
            Some(Descriptor::Socket(inode)) => socket(*inode, sockets.get_or_insert_with(unix_sockets)),
            _ => Fact::Absent,
        };
    }
}

/// POLLHUP on a reading end of one's own: the kernel counts the writers. Opening it does not disturb the pipe.
fn pipe(proc: Place<'_>, pid: Pid, inode: u64) -> Fact<FarEnd> {
    let Some(directory) = directory(proc, pid) else { return Fact::Gone };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(&directory, "fd/0", flags, Mode::empty()) {
        Ok(file) => file,
        Err(error) if is_missing(error) => return Fact::Gone,
        Err(_) => return Fact::Denied,
    };
    let same = fstat(&file)
        .is_ok_and(|stat| stat.st_ino == inode && FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    if !same {
        return Fact::Known(FarEnd::Unknown("its stdin changed during the look".to_owned()));
    }
    let mut fds = [PollFd::new(&file, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut fds, Some(&at_once)) {
        Ok(_) if fds[0].revents().contains(PollFlags::HUP) => Fact::Known(FarEnd::HungUp),
        Ok(_) => Fact::Known(FarEnd::Open(None)),
        Err(error) => Fact::Known(FarEnd::Unknown(format!("the pipe cannot be polled: {error}"))),
    }
}

/// A peer without inode, and nothing more to receive: closed. Without the second, the peer may still wait in a
/// listener's queue for being accepted.
fn socket(inode: u64, sockets: &Sockets) -> Fact<FarEnd> {
    let sockets = match sockets {
        Ok(sockets) => sockets,
        Err(error) => {
            return Fact::Known(FarEnd::Unknown(format!("the kernel does not show socket peers: {error}")));
        }
    };
    Fact::Known(match sockets.get(&inode) {
        Some(UnixSocket { peer: 0, receives_no_more: true }) => FarEnd::HungUp,
        Some(UnixSocket { peer: 0, .. }) => {
            FarEnd::Unknown("the socket's peer was not accepted yet".to_owned())
        }
        Some(_) => FarEnd::Open(None),
        None => FarEnd::Unknown(
            "stdin is no connected unix socket of this network namespace (TCP, vsock, or a container's)"
                .to_owned(),
        ),
    })
}

/// What to look for, as `/proc/PID/fd/N` links show it, and whether only a writing descriptor counts.
struct Wanted {
    link: String,
    writers_only: bool,
}

/// Finds the processes that hold the open far ends of these.
pub(super) fn read_holders(proc: Place<'_>, table: &mut ProcessTable, pids: &[Pid], everyone: &[Pid]) {
    let sockets = unix_sockets().unwrap_or_default();
    let mut wanted: BTreeMap<Pid, Wanted> = BTreeMap::new();
    for pid in pids {
        let Some(process) = table.get(*pid) else { continue };
        if process.details.far_end != Fact::Known(FarEnd::Open(None)) {
            continue;
        }
        match process.stdin() {
            Some(Descriptor::Pipe(inode)) => {
                wanted.insert(*pid, Wanted { link: format!("pipe:[{inode}]"), writers_only: true });
            }
            Some(Descriptor::Socket(inode)) => {
                if let Some(socket) = sockets.get(inode).filter(|socket| socket.peer != 0) {
                    wanted.insert(
                        *pid,
                        Wanted { link: format!("socket:[{}]", socket.peer), writers_only: false },
                    );
                }
            }
            _ => {}
        }
    }
    if wanted.is_empty() {
        return;
    }
    let mut by_link: HashMap<&str, (bool, Vec<Pid>)> =
        wanted.values().map(|wanted| (wanted.link.as_str(), (wanted.writers_only, Vec::new()))).collect();
    let mut unsearched: Vec<Pid> = Vec::new();
    for pid in everyone {
        if table.get(*pid).is_some_and(|process| process.kernel) {
            continue;
        }
        if search(proc, *pid, &mut by_link).is_none() {
            unsearched.push(*pid);
        }
    }
    let found: Vec<(Pid, Vec<Pid>)> =
        wanted.iter().map(|(pid, wanted)| (*pid, by_link[wanted.link.as_str()].1.clone())).collect();
    let owners: Vec<Option<u32>> = unsearched.iter().map(|pid| real_user(proc, *pid)).collect();
    for (pid, pids) in found {
        let Some(process) = table.get_mut(pid) else { continue };
        let user = process.details.users.known().map(|users| users.real);
        // Evidence only when no process that could belong to the same user stayed unsearched.
        let complete = user.is_some() && !owners.iter().any(|owner| owner.is_none() || *owner == user);
        process.details.far_end = Fact::Known(FarEnd::Open(Some(Holders { pids, complete })));
    }
}

/// Searches one process's descriptors. `None` when they may not be read; a process that has ended holds nothing.
fn search(proc: Place<'_>, pid: Pid, by_link: &mut HashMap<&str, (bool, Vec<Pid>)>) -> Option<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = match openat(proc.fd(), format!("{pid}/fd"), flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(error) => return is_missing(error).then_some(()),
    };
    let entries = match Dir::read_from(&directory) {
        Ok(entries) => entries,
        Err(error) => return is_missing(error).then_some(()),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return is_missing(error).then_some(()),
        };
        let name = entry.file_name();
        if name.to_bytes().starts_with(b".") {
            continue;
        }
        let target = match readlinkat(&directory, name, Vec::new()) {
            Ok(target) => target,
            Err(error) if is_missing(error) => continue,
            Err(_) => return None,
        };
        let Some((writers_only, holders)) = target.to_str().ok().and_then(|target| by_link.get_mut(target))
        else {
            continue;
        };
        // The mode of the link itself says how the descriptor was opened.
        let writes = || {
            statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(true, |stat| Mode::from_raw_mode(stat.st_mode).contains(Mode::WUSR))
        };
        if holders.last() != Some(&pid) && (!*writers_only || writes()) {
            holders.push(pid);
        }
    }
    Some(())
}

fn real_user(proc: Place<'_>, pid: Pid) -> Option<u32> {
    let text = proc.text(&format!("{pid}/status"))?;
    text.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().next()?.parse().ok())
}
