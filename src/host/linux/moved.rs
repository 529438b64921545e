//! Servers that move their stdin and stdout away. The MCP SDK for Python (2.x, mcp/server/stdio.py) keeps private copies of
//! both and puts `/dev/null` and a copy of stderr in their places, so that nothing else can disturb the conversation.

use super::files::Place;
use super::sockets::unix_sockets;
use crate::process::{Descriptor, Fact, Process};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, readlinkat, statat};
use std::collections::HashSet;

/// A descriptor that the process has made itself: it does not outlive an exec, as inherited ones do.
struct Private {
    number: u32,
    descriptor: Descriptor,
    reads: bool,
    writes: bool,
}

/// Where such a process has its conversation, if it is one: stdin is `/dev/null`, stdout a copy of stderr or `/dev/null`, and
/// of its private descriptors the first to read from and the first behind it to write to are pipes or sockets that it does
/// not hold both ends of.
pub(super) fn find(proc: Place<'_>, process: &mut Process) {
    let [stdin, stdout, stderr, ..] = &process.details.descriptors;
    let diverted = stdin.known() == Some(&Descriptor::Null)
        && stdout.known().is_some()
        && (stdout == stderr || stdout.known() == Some(&Descriptor::Null));
    if !diverted {
        return;
    }
    let Some(private) = private(proc, process) else { return };
    let input = private.iter().find(|private| private.reads);
    let output = input
        .and_then(|input| private.iter().find(|private| private.writes && private.number > input.number));
    if let (Some(input), Some(output)) = (input, output) {
        process.details.descriptors[0] = Fact::Known(input.descriptor.clone());
        process.details.descriptors[1] = Fact::Known(output.descriptor.clone());
        process.details.moved_stdio = Some([input.number, output.number]);
    }
}

/// Private pipes and unix sockets in order of their numbers, without pairs that only the process itself has.
fn private(proc: Place<'_>, process: &Process) -> Option<Vec<Private>> {
    let pid = process.pid();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(proc.fd(), format!("{pid}/fd"), flags, Mode::empty()).ok()?;
    let mut found: Vec<Private> = Vec::new();
    for entry in Dir::read_from(&directory).ok()? {
        let entry = entry.ok()?;
        let Some(number) = entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(target) = readlinkat(&directory, entry.file_name(), Vec::new()) else { continue };
        let target = target.to_string_lossy();
        let inode = |kind: &str| -> Option<u64> {
            target.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
        };
        let mode = statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(Mode::empty(), |stat| Mode::from_raw_mode(stat.st_mode));
        let descriptor = match (inode("pipe"), inode("socket")) {
            (Some(inode), _) => Descriptor::Pipe(inode),
            (_, Some(inode)) => Descriptor::Socket(inode),
            _ => continue,
        };
        if number > 2 && is_private(proc, process, number) {
            let (reads, writes) = (mode.contains(Mode::RUSR), mode.contains(Mode::WUSR));
            found.push(Private { number, descriptor, reads, writes });
        }
    }
    found.sort_by_key(|private| private.number);
    let own: HashSet<u64> = (found.iter())
        .filter_map(|private| match private.descriptor {
            Descriptor::Socket(inode) => Some(inode),
            _ => None,
        })
        .collect();
    let sockets = if own.is_empty() { Default::default() } else { unix_sockets().ok()? };
    // Of a pipe that it has both ends of, likewise.
    let ends = |wanted: &Descriptor| found.iter().filter(|private| private.descriptor == *wanted).count();
    let alone: Vec<bool> = (found.iter())
        .map(|private| match &private.descriptor {
            // An event loop wakes itself over a pair of its own. What is no unix socket is no talk with a parent.
            Descriptor::Socket(inode) => {
                sockets.get(inode).is_some_and(|socket| !own.contains(&u64::from(socket.peer)))
            }
            pipe => ends(pipe) == 1,
        })
        .collect();
    let mut alone = alone.into_iter();
    found.retain(|_| alone.next().unwrap_or(false));
    Some(found)
}

/// Whether the descriptor would be closed by an exec (`O_CLOEXEC` in `/proc/PID/fdinfo/N`).
fn is_private(proc: Place<'_>, process: &Process, number: u32) -> bool {
    let text = proc.text(&format!("{}/fdinfo/{number}", process.pid())).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| OFlags::from_bits_retain(flags).contains(OFlags::CLOEXEC))
}
