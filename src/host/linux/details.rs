//! What is read of candidates: pinned by a directory handle, read, and verified to be of the same process.

use super::environment;
use super::files::{Place, Read, fact_of, is_missing};
use super::pin::unique_number;
use super::stat::Stat;
use crate::process::{DESCRIPTORS, Descriptor, Details, Fact, Memory, Moved, Pid, Process, Users};
use procfs::FromRead;
use procfs::process::Status;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat};
use std::os::fd::OwnedFd;

/// A command line is read up to this length; patterns look at its beginning.
pub(super) const LONGEST_COMMAND: usize = 64 * 1024;

/// Signal 15 in the masks of `/proc/PID/status`.
const SIGTERM: u64 = 1 << 14;

/// The command line of a process, by number.
pub(super) fn command(proc: Place<'_>, pid: Pid, buffer: &mut [u8]) -> Fact<Vec<String>> {
    command_at(proc, &format!("{pid}/cmdline"), buffer)
}

fn command_at(place: Place<'_>, path: &str, buffer: &mut [u8]) -> Fact<Vec<String>> {
    match place.read(path, buffer) {
        // The words that matter may stand behind the end of what was read.
        Read::Text(text) if text.len() == LONGEST_COMMAND => Fact::Denied,
        Read::Text(text) => Fact::Known(arguments(text)),
        Read::Denied | Read::Short(_) => Fact::Denied,
        Read::Missing => Fact::Gone,
    }
}

/// Splits at NUL. Titles are padded with NULs at the end; those are no empty arguments.
fn arguments(text: &[u8]) -> Vec<String> {
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if end == 0 {
        return Vec::new();
    }
    text[..end].split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Real and effective user only.
pub(super) fn read_users(proc: Place<'_>, process: &mut Process) {
    process.details.users = match status(proc, &format!("{}/status", process.pid())) {
        Fact::Known(status) => users_of(&status),
        other => hidden_as(&other),
    };
}

fn users_of(status: &Status) -> Fact<Users> {
    Fact::Known(Users { real: status.ruid, effective: status.euid })
}

/// What a process has moved by now, only.
pub(super) fn read_moved(proc: Place<'_>, process: &mut Process) {
    process.details.moved = moved(proc, &format!("{}/io", process.pid()));
}

/// Everything. When the number means another process by now, or it ends meanwhile, every fact is `Gone`.
pub(super) fn read(proc: Place<'_>, process: &mut Process, buffer: &mut [u8]) {
    let pid = process.pid();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = match openat(proc.fd(), format!("{pid}"), flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(error) => return set_all_hidden(process, is_missing(error)),
    };
    let place = Place { proc: &directory };
    if start_ticks(place) != Some(process.id.start_ticks) {
        return set_all_hidden(process, true);
    }
    let status = status(place, "status");
    let (users, memory) = match &status {
        Fact::Known(known) => (users_of(known), Fact::Known(memory(known))),
        other => (hidden_as(other), hidden_as(other)),
    };
    let tracer = match &status {
        Fact::Known(known) => Pid::new(known.tracerpid).map_or(Fact::Absent, Fact::Known),
        other => hidden_as(other),
    };
    let catches_term = match &status {
        Fact::Known(known) => Fact::Known(known.sigcgt & SIGTERM != 0),
        other => hidden_as(other),
    };
    let (marks, environment) = environment::read(place);
    let details = Details {
        users,
        pid_namespace: place.inode_fact("ns/pid"),
        net_namespace: place.inode_fact("ns/net"),
        descriptors: [0, 1, 2, 3, 4].map(|number| descriptor(place, number)),
        moved_stdio: None,
        far_ends: Default::default(),
        listeners: Fact::Unread,
        channels: Fact::Unread,
        moved: moved(place, "io"),
        tracer,
        catches_term,
        environment,
        marks,
        cgroup: cgroup(place),
        started_by_init: Fact::Absent,
        memory,
    };
    let command = command_at(place, "cmdline", buffer);
    let unique = unique_number(pid);
    // Read, then verify: the handle answers for this very process as long as it is not reaped.
    if start_ticks(place) != Some(process.id.start_ticks) {
        return set_all_hidden(process, true);
    }
    process.details = details.into();
    process.command = command;
    process.id.unique = unique;
}

fn set_all_hidden(process: &mut Process, gone: bool) {
    fn hidden<T>(gone: bool) -> Fact<T> {
        if gone { Fact::Gone } else { Fact::Denied }
    }
    process.command = hidden(gone);
    let details = Details {
        users: hidden(gone),
        pid_namespace: hidden(gone),
        net_namespace: hidden(gone),
        descriptors: [(); DESCRIPTORS].map(|()| hidden(gone)),
        moved_stdio: None,
        far_ends: [(); DESCRIPTORS].map(|()| hidden(gone)),
        listeners: hidden(gone),
        channels: hidden(gone),
        moved: hidden(gone),
        environment: hidden(gone),
        tracer: hidden(gone),
        catches_term: hidden(gone),
        marks: hidden(gone),
        cgroup: hidden(gone),
        started_by_init: hidden(gone),
        memory: hidden(gone),
    };
    process.details = details.into();
}

fn hidden_as<T, U>(fact: &Fact<T>) -> Fact<U> {
    if matches!(fact, Fact::Denied) { Fact::Denied } else { Fact::Gone }
}

fn start_ticks(place: Place<'_>) -> Option<u64> {
    let mut buffer = [0_u8; 2048];
    match place.read("./stat", &mut buffer) {
        Read::Text(line) => Stat::parse(line).map(|stat| stat.start_ticks),
        _ => None,
    }
}

fn status(place: Place<'_>, path: &str) -> Fact<Status> {
    let mut buffer = [0_u8; 8192];
    match place.read(path, &mut buffer) {
        Read::Text(text) => Status::from_read(text).map_or(Fact::Denied, Fact::Known),
        Read::Denied | Read::Short(_) => Fact::Denied,
        Read::Missing => Fact::Gone,
    }
}

/// Bytes from `status`.
fn memory(status: &Status) -> Memory {
    Memory {
        rss: status.vmrss.unwrap_or_default() * 1024,
        pss: None,
        swap: status.vmswap.unwrap_or_default() * 1024,
    }
}

/// The proportional set, where the kernel lets us see it.
pub(super) fn read_share(proc: Place<'_>, process: &mut Process) {
    let Fact::Known(memory) = &mut process.details.memory else { return };
    memory.pss = proc.text(&format!("{}/smaps_rollup", process.id.pid)).and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("Pss:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    });
}

fn descriptor(place: Place<'_>, number: u8) -> Fact<Descriptor> {
    let path = format!("fd/{number}");
    let target = match readlinkat(place.fd(), &path, Vec::new()) {
        Ok(target) => target.to_string_lossy().into_owned(),
        // The process lives (it is verified afterwards), so the descriptor is closed.
        Err(error) if is_missing(error) => return Fact::Absent,
        Err(error) => return fact_of(error),
    };
    let numbered = |kind: &str| -> Option<u64> {
        target.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
    };
    if let Some(inode) = numbered("pipe") {
        return Fact::Known(Descriptor::Pipe(inode));
    }
    if let Some(inode) = numbered("socket") {
        return Fact::Known(Descriptor::Socket(inode));
    }
    Fact::Known(match target.as_str() {
        "/dev/null" => Descriptor::Null,
        path if path.starts_with("/dev/pts/") || path.starts_with("/dev/tty") || path == "/dev/console" => {
            Descriptor::Terminal
        }
        path if path.starts_with('/') => match statat(place.fd(), format!("fd/{number}"), AtFlags::empty()) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Fifo => Descriptor::NamedFifo,
            _ => Descriptor::File,
        },
        other => Descriptor::Other(other.to_owned()),
    })
}

/// What the kernel counts only for those who may trace the process.
fn moved(place: Place<'_>, path: &str) -> Fact<Moved> {
    let mut buffer = [0_u8; 1024];
    let text = match place.read(path, &mut buffer) {
        Read::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Read::Denied | Read::Short(_) => return Fact::Denied,
        Read::Missing => return Fact::Gone,
    };
    let count = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse().ok())
    };
    let sum = |one: &str, other: &str| Some(count(one)?.saturating_add(count(other)?));
    match (sum("read_bytes", "write_bytes"), sum("rchar", "wchar")) {
        (Some(disk), Some(calls)) => Fact::Known(Moved { disk, calls }),
        _ => Fact::Denied,
    }
}

/// The unified hierarchy's path, or the service manager's own on older machines.
fn cgroup(place: Place<'_>) -> Fact<String> {
    let mut buffer = [0_u8; 8192];
    let text = match place.read("cgroup", &mut buffer) {
        Read::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Read::Denied | Read::Short(_) => return Fact::Denied,
        Read::Missing => return Fact::Gone,
    };
    let path = |wanted: &str| {
        text.lines().find_map(|line| {
            line.split_once(':')?.1.strip_prefix(wanted)?.strip_prefix(':').map(str::to_owned)
        })
    };
    path("").or_else(|| path("name=systemd")).map_or(Fact::Absent, Fact::Known)
}

/// A handle on nothing but the process's directory, for the far ends.
pub(super) fn directory(proc: Place<'_>, pid: Pid) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(proc.fd(), format!("{pid}"), flags, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_padded_with_nuls_is_one_argument() {
        assert_eq!(arguments(b"npm exec fake-mcp --stdio\0\0\0\0\0"), ["npm exec fake-mcp --stdio"]);
    }

    #[test]
    fn empty_arguments_in_the_middle_stay_and_an_empty_command_line_is_empty() {
        assert_eq!(arguments(b"node\0\0server.js\0"), ["node", "", "server.js"]);
        assert!(arguments(b"").is_empty());
        assert!(arguments(b"\0\0\0").is_empty());
    }
}
