//! What this machine does not let orphand see or do, found out by trying it on processes that are there.

use super::details::directory;
use super::files::{Place, Read};
use super::pin::PidFd;
use super::sockets::unix_sockets;
use super::{Host, Linux};
use crate::process::{BootId, Pid, Process, State};
use crate::status::Shortcoming;
use rustix::fs::readlinkat;

/// Not more processes than this are tried.
const MOST: usize = 256;

/// Tries everything that a verdict or a signal may need.
pub(super) fn run(host: &Linux) -> Vec<Shortcoming> {
    let mut found = Vec::new();
    let mut say = |what: &str, remedy: &str| {
        found.push(Shortcoming { what: what.to_owned(), remedy: remedy.to_owned() })
    };
    let machine = host.observer.machine;
    let place = host.place();
    if matches!(place.read("1/stat", &mut [0_u8; 64]), Read::Denied | Read::Missing) {
        say(
            "PID 1 and the processes of other users are hidden, so nobody can be shown to be an orphan",
            "give orphand CAP_SYS_PTRACE, or mount /proc without hidepid (a unit: without ProtectProc=)",
        );
    }
    if host.boot() == BootId::default() {
        say(
            "which boot of the machine this is cannot be told, so nothing is remembered from one start of orphand to the next",
            "a unit must leave ProcSubset= alone",
        );
    }
    let everyones = place.inode("1/ns/net");
    if everyones.is_some() && host.observer.net_namespace != everyones {
        say(
            "it is in a network namespace of its own, so the far ends of others' sockets cannot be seen",
            "a unit must leave PrivateNetwork= alone",
        );
    }
    let others = others(host);
    let sight = if machine {
        "run it as root, or give the service AmbientCapabilities=CAP_KILL CAP_SYS_PTRACE CAP_DAC_READ_SEARCH"
    } else {
        "take every Protect...= and Private...= option out of the user unit: each puts it into a user namespace"
    };
    let whose = if machine { "other users' processes" } else { "your own processes" };
    let none = |works: &dyn Fn(Pid) -> bool| !others.is_empty() && !others.iter().any(|pid| works(*pid));
    if none(&|pid| sees_stdin(place, pid)) {
        let what = format!(
            "the stdin of {whose} cannot be seen, so nothing of theirs is proven to be an orphan and nothing is reaped"
        );
        say(&what, sight);
    }
    if none(&|pid| sees_environment(place, pid)) {
        let what = format!(
            "the environment of {whose} cannot be read, so services and ORPHAND=keep are not recognised, and their trees \
             are only reported"
        );
        say(&what, sight);
    }
    // Root may open every pipe as it likes.
    if machine && host.observer.uid != 0 && none(&gives_copies) {
        say(
            "whether anybody still reads what other users' servers write cannot be seen, so they are only reported",
            "allow pidfd_getfd in the unit's SystemCallFilter= (it is in @debug), beside CAP_SYS_PTRACE; the kernel must be \
             5.6 or later",
        );
    }
    if none(&may_signal) {
        let remedy = if machine {
            "run it as root, or give the service AmbientCapabilities=CAP_KILL"
        } else {
            "allow pidfd_open and pidfd_send_signal in the unit's SystemCallFilter=; the kernel must be 5.3 or later"
        };
        say(&format!("{whose} cannot be signalled, so nothing of theirs is reaped"), remedy);
    }
    if let Err(error) = unix_sockets() {
        let what = format!(
            "the far ends of sockets cannot be seen ({error}): servers that npm or uv started are not proven"
        );
        say(
            &what,
            "load the kernel module unix_diag; a unit must allow AF_NETLINK in RestrictAddressFamilies=",
        );
    }
    found
}

/// Whom this is tried on: processes of other users for the whole machine, or one's own where there are no others; for a user
/// his own.
fn others(host: &Linux) -> Vec<Pid> {
    let Ok(mut table) = host.list() else { return Vec::new() };
    let living = |process: &&Process| {
        !process.kernel && process.state != State::Zombie && process.pid() != host.observer.pid
    };
    let tried: Vec<Pid> = table.iter().filter(living).map(Process::pid).take(MOST).collect();
    host.read_users(&mut table, &tried);
    let own = |pid: &Pid| {
        let users = table.get(*pid).and_then(|process| process.details.users.known());
        users.map(|users| users.real == host.observer.uid)
    };
    let of =
        |wanted: bool| -> Vec<Pid> { tried.iter().copied().filter(|pid| own(pid) == Some(wanted)).collect() };
    let others = if host.observer.machine { of(false) } else { Vec::new() };
    if others.is_empty() { of(true) } else { others }
}

fn sees_stdin(place: Place<'_>, pid: Pid) -> bool {
    // Whoever has ended meanwhile proves nothing; whoever has closed his stdin shows that it can be seen.
    let Some(directory) = directory(place, pid) else { return false };
    let target = readlinkat(&directory, "fd/0", Vec::new());
    target.is_ok() || target.is_err_and(|error| error == rustix::io::Errno::NOENT)
}

fn sees_environment(place: Place<'_>, pid: Pid) -> bool {
    matches!(place.read(&format!("{pid}/environ"), &mut [0_u8; 64]), Read::Text(_))
}

fn gives_copies(pid: Pid) -> bool {
    PidFd::open(pid).is_ok_and(|pin| (0..3).any(|number| pin.copy(number).is_some()))
}

fn may_signal(pid: Pid) -> bool {
    PidFd::open(pid).is_ok_and(|pin| pin.may_be_signalled())
}
