//! Who holds a pipe or socket: a search through everybody's descriptors.

use super::files::{Place, is_missing};
use super::sockets::unix_sockets;
use crate::process::{Descriptor, Fact, FarEnd, Holders, Pid, ProcessTable, Stream};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, readlinkat, statat};
use std::collections::HashMap;

/// A way of holding: a link as `/proc/PID/fd/N` shows it, and how the descriptor must be open to count.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    link: String,
    open_for: Option<Mode>,
    /// Whoever has it as descriptor 0, 1 or 2 does not count.
    beyond_stdio: bool,
}

impl Wanted {
    /// Whoever has this socket.
    pub(super) fn socket(inode: u64) -> Wanted {
        Wanted { link: format!("socket:[{inode}]"), open_for: None, beyond_stdio: false }
    }

    /// Whoever has this pipe open so.
    pub(super) fn pipe(inode: u64, open_for: Mode) -> Wanted {
        Wanted { link: format!("pipe:[{inode}]"), open_for: Some(open_for), beyond_stdio: false }
    }

    /// Whoever has this file open.
    pub(super) fn path(path: &str) -> Wanted {
        Wanted { link: path.to_owned(), open_for: None, beyond_stdio: false }
    }

    /// The same, but not as stdin, stdout or stderr.
    pub(super) fn beyond_stdio(self) -> Wanted {
        Wanted { beyond_stdio: true, ..self }
    }
}

/// Who was found, by link, and who could not be searched.
struct Found {
    holders: HashMap<String, Vec<Way>>,
    unsearched: Vec<Pid>,
}

/// Those who hold a link in one way.
struct Way {
    open_for: Option<Mode>,
    beyond_stdio: bool,
    pids: Vec<Pid>,
}

impl Way {
    fn is(&self, wanted: &Wanted) -> bool {
        self.open_for == wanted.open_for && self.beyond_stdio == wanted.beyond_stdio
    }
}

impl Found {
    fn of(&self, wanted: &Wanted) -> &[Pid] {
        let ways = self.holders.get(&wanted.link).map_or(&[][..], Vec::as_slice);
        ways.iter().find(|way| way.is(wanted)).map_or(&[], |way| &way.pids)
    }
}

/// Finds the processes that hold these open far ends.
pub(super) fn read(proc: Place<'_>, table: &mut ProcessTable, ends: &[(Pid, Stream)], everyone: &[Pid]) {
    let sockets = unix_sockets().unwrap_or_default();
    let mut wanted: Vec<((Pid, Stream), Wanted)> = Vec::new();
    for (pid, stream) in ends {
        let Some(process) = table.get(*pid) else { continue };
        if *process.far_end(*stream) != Fact::Known(FarEnd::Open(None)) {
            continue;
        }
        let far_side = match process.descriptor(*stream).known() {
            Some(Descriptor::Pipe(inode)) => {
                let open_for = if stream.is_read() { Mode::WUSR } else { Mode::RUSR };
                Wanted::pipe(*inode, open_for)
            }
            Some(Descriptor::Socket(inode)) => match sockets.get(inode).filter(|socket| socket.peer != 0) {
                Some(socket) => Wanted::socket(u64::from(socket.peer)),
                None => continue,
            },
            _ => continue,
        };
        wanted.push(((*pid, *stream), far_side));
    }
    if wanted.is_empty() {
        return;
    }
    let found = search_everyone(proc, table, wanted.iter().map(|(_, wanted)| wanted), everyone);
    tracing::debug!(
        "searched {} processes for holders; closed to us: {:?}",
        everyone.len(),
        found.unsearched
    );
    let owners = owners(proc, &found.unsearched);
    for ((pid, stream), wanted) in &wanted {
        let Some(process) = table.get_mut(*pid) else { continue };
        let user = process.details.users.known().map(|users| users.real);
        // Evidence only when no process that could belong to the same user stayed unsearched.
        let complete = is_complete(&owners, user);
        let holders =
            Holders { pids: found.of(wanted).to_vec(), complete, unsearched: found.unsearched.clone() };
        process.details.far_ends[*stream as usize] = Fact::Known(FarEnd::Open(Some(holders)));
    }
}

/// Who holds the other ends of channels, and who could not be searched for them.
pub(super) struct Search {
    found: Found,
}

impl Search {
    /// The processes that hold this.
    pub(super) fn holders(&self, wanted: &Wanted) -> &[Pid] {
        self.found.of(wanted)
    }

    /// Whether every process that could belong to this user was searched.
    pub(super) fn is_complete_for(&self, proc: Place<'_>, user: Option<u32>) -> bool {
        is_complete(&owners(proc, &self.found.unsearched), user)
    }
}

/// Finds the processes that hold these.
pub(super) fn search<'a>(
    proc: Place<'_>,
    table: &ProcessTable,
    wanted: impl Iterator<Item = &'a Wanted>,
    everyone: &[Pid],
) -> Search {
    Search { found: search_everyone(proc, table, wanted, everyone) }
}

fn owners(proc: Place<'_>, pids: &[Pid]) -> Vec<Option<u32>> {
    pids.iter().map(|pid| real_user(proc, *pid)).collect()
}

fn is_complete(owners: &[Option<u32>], user: Option<u32>) -> bool {
    user.is_some() && !owners.iter().any(|owner| owner.is_none() || *owner == user)
}

/// For each descriptor the processes that have it open themselves; `None` when somebody could not be searched.
pub(super) fn sharers(
    proc: Place<'_>,
    table: &ProcessTable,
    descriptors: &[Descriptor],
    everyone: &[Pid],
) -> Option<Vec<Vec<Pid>>> {
    let wanted: Vec<Wanted> = (descriptors.iter())
        .map(|descriptor| match descriptor {
            Descriptor::Pipe(inode) => Wanted::pipe(*inode, Mode::RUSR),
            Descriptor::Socket(inode) => Wanted::socket(*inode),
            other => Wanted { link: other.word().to_owned(), open_for: None, beyond_stdio: false },
        })
        .collect();
    let found = search_everyone(proc, table, wanted.iter(), everyone);
    let sharers = wanted.iter().map(|wanted| found.of(wanted).to_vec()).collect();
    found.unsearched.is_empty().then_some(sharers)
}

fn search_everyone<'a>(
    proc: Place<'_>,
    table: &ProcessTable,
    wanted: impl Iterator<Item = &'a Wanted>,
    everyone: &[Pid],
) -> Found {
    let mut found = Found { holders: HashMap::new(), unsearched: Vec::new() };
    for wanted in wanted {
        let ways = found.holders.entry(wanted.link.clone()).or_default();
        if !ways.iter().any(|way| way.is(wanted)) {
            let Wanted { open_for, beyond_stdio, .. } = *wanted;
            ways.push(Way { open_for, beyond_stdio, pids: Vec::new() });
        }
    }
    for pid in everyone {
        if table.get(*pid).is_some_and(|process| process.kernel) {
            continue;
        }
        let searched = match threads_of_ended(proc, *pid) {
            None => search_list(proc, *pid, &format!("{pid}/fd"), &mut found),
            Some(threads) => threads.is_some_and(|threads| {
                threads
                    .iter()
                    .all(|thread| search_list(proc, *pid, &format!("{pid}/task/{thread}/fd"), &mut found))
            }),
        };
        if !searched && !keeps_a_session(proc, *pid) {
            found.unsearched.push(*pid);
        }
    }
    found
}

/// Every `systemd --user` has a child `(sd-pam)` that only keeps the login session open. It shuts itself off from its own
/// user, and would make every search of that user incomplete. It has closed all descriptors that it inherited.
fn keeps_a_session(proc: Place<'_>, pid: Pid) -> bool {
    let words = |pid: &str| proc.text(&format!("{pid}/cmdline")).unwrap_or_default();
    let is_keeper = words(&pid.to_string()).trim_end_matches('\0') == "(sd-pam)";
    let status = if is_keeper { proc.text(&format!("{pid}/status")) } else { None };
    let parent = status
        .and_then(|text| text.lines().find_map(|line| Some(line.strip_prefix("PPid:")?.trim().to_owned())));
    parent.is_some_and(|parent| {
        let line = words(&parent);
        let mut words = line.split('\0');
        words.next().is_some_and(|program| program.rsplit('/').next() == Some("systemd"))
            && words.any(|word| word == "--user")
    })
}

/// For a process whose main thread has ended, the threads that live on: it shows no descriptors itself (and is closed to
/// its own user), though they use them still. A mere zombie has none. `None` for a living main thread, `Some(None)` when
/// the threads cannot be listed.
fn threads_of_ended(proc: Place<'_>, pid: Pid) -> Option<Option<Vec<String>>> {
    let line = proc.text(&format!("{pid}/stat"))?;
    let ended = line.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    let own = pid.to_string();
    ended.then(|| {
        let threads = entries(proc, &format!("{pid}/task"))?;
        Some(threads.into_iter().filter(|thread| *thread != own).collect())
    })
}

/// Searches one list of descriptors. `false` when it may not be read; a process that has ended holds nothing.
fn search_list(proc: Place<'_>, pid: Pid, path: &str, found: &mut Found) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = match openat(proc.fd(), path, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(error) => return is_missing(error),
    };
    let entries = match Dir::read_from(&directory) {
        Ok(entries) => entries,
        Err(error) => return is_missing(error),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return is_missing(error),
        };
        let name = entry.file_name();
        if name.to_bytes().starts_with(b".") {
            continue;
        }
        let target = match readlinkat(&directory, name, Vec::new()) {
            Ok(target) => target,
            Err(error) if is_missing(error) => continue,
            Err(_) => return false,
        };
        let Some(ways) = target.to_str().ok().and_then(|target| found.holders.get_mut(target)) else {
            continue;
        };
        // The mode of the link itself says how the descriptor was opened; one that cannot be read counts.
        let mode =
            statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Mode::from_raw_mode(stat.st_mode));
        for way in ways {
            let open = way
                .open_for
                .is_none_or(|wanted| mode.is_err() || mode.is_ok_and(|mode| mode.contains(wanted)));
            let counts = open && !(way.beyond_stdio && matches!(name.to_bytes(), b"0" | b"1" | b"2"));
            if counts && way.pids.last() != Some(&pid) {
                way.pids.push(pid);
            }
        }
    }
    true
}

/// Names in a folder; none when the process has ended, `None` when they may not be read.
fn entries(proc: Place<'_>, path: &str) -> Option<Vec<String>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = match openat(proc.fd(), path, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(error) => return is_missing(error).then(Vec::new),
    };
    let mut names = Vec::new();
    for entry in Dir::read_from(&directory).ok()? {
        let entry = entry.ok()?;
        names
            .extend(entry.file_name().to_str().ok().filter(|name| !name.starts_with('.')).map(str::to_owned));
    }
    Some(names)
}

fn real_user(proc: Place<'_>, pid: Pid) -> Option<u32> {
    let text = proc.text(&format!("{pid}/status"))?;
    text.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().next()?.parse().ok())
}
