//! Calls of libproc and sysctl, each with its answer as a fact.

use super::arguments::{Arguments, parse};
use super::layout::{FilePort, PathlessFd, PipeFd, Plain, ShortInfo, SocketFd, UniqueId, VnodeFd};
use crate::host::portable::{End, OpenFile};
use crate::process::{Fact, Pid};
use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;

/// Flavors of XNU's bsd/sys/proc_info.h that the libc crate does not have.
const SHORT: c_int = 13;
const FILE_PORTS: c_int = 14;
const UNIQUE_IDENTIFIER: c_int = 17;
const VNODE: c_int = 1;
const VNODE_PATH: c_int = 2;
const SOCKET: c_int = 3;
const PIPE: c_int = 6;
/// Of zombies, too.
const ZOMBIES: u64 = 1;

#[allow(unsafe_code, reason = "the libc crate's own layouts, integers only")]
mod plain {
    use super::super::layout::Plain;

    // SAFETY: all fields are integers, or arrays of them.
    unsafe impl Plain for libc::proc_bsdinfo {}
    // SAFETY: the same.
    unsafe impl Plain for libc::proc_fdinfo {}
    // SAFETY: the same.
    unsafe impl Plain for libc::rusage_info_v2 {}
    // SAFETY: the same.
    unsafe impl Plain for libc::proc_vnodepathinfo {}
}

/// How a call failed.
fn hidden<T>() -> Fact<T> {
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::ESRCH) => Fact::Gone,
        _ => Fact::Denied,
    }
}

#[allow(unsafe_code, reason = "libproc is a C library")]
fn pid_info<T: Plain>(pid: Pid, flavor: c_int, argument: u64) -> Fact<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let size = size_of::<T>() as c_int;
    // SAFETY: the buffer is as large as the call is told; `Plain` types may hold any bytes.
    let filled = unsafe { libc::proc_pidinfo(pid.get(), flavor, argument, info.as_mut_ptr().cast(), size) };
    if filled != size {
        return hidden();
    }
    // SAFETY: zeroed, then filled by the kernel, and any bytes are a value.
    Fact::Known(unsafe { info.assume_init() })
}

/// Whether it is a descriptor, or one that was made a Mach port.
#[derive(Clone, Copy)]
enum Number {
    Descriptor(i32),
    Port(u32),
}

#[allow(unsafe_code, reason = "libproc is a C library")]
fn file_info<T: Plain>(pid: Pid, number: Number, flavor: c_int) -> Option<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let size = size_of::<T>() as c_int;
    let buffer = info.as_mut_ptr().cast::<c_void>();
    // SAFETY: the buffer is as large as the call is told; `Plain` types may hold any bytes.
    let filled = unsafe {
        match number {
            Number::Descriptor(number) => libc::proc_pidfdinfo(pid.get(), number, flavor, buffer, size),
            Number::Port(port) => libc::proc_pidfileportinfo(pid.get(), port, flavor, buffer, size),
        }
    };
    // SAFETY: zeroed, then filled by the kernel, and any bytes are a value.
    (filled == size).then(|| unsafe { info.assume_init() })
}

/// Parent, users, state, start.
pub(super) fn bsd_info(pid: Pid) -> Fact<libc::proc_bsdinfo> {
    pid_info(pid, libc::PROC_PIDTBSDINFO, ZOMBIES)
}

/// Parent, users and state, of everybody's processes.
pub(super) fn short_info(pid: Pid) -> Fact<ShortInfo> {
    pid_info(pid, SHORT, ZOMBIES)
}

/// Everybody, by number.
#[allow(unsafe_code, reason = "libproc is a C library")]
pub(super) fn all_pids() -> Vec<Pid> {
    let mut numbers = vec![0_i32; 1 << 16];
    let size = size_of_val(numbers.as_slice()) as c_int;
    // SAFETY: the buffer is as large as the call is told, and its elements are integers.
    let count = unsafe { libc::proc_listallpids(numbers.as_mut_ptr().cast::<c_void>(), size) };
    numbers.truncate(usize::try_from(count).unwrap_or_default());
    numbers.into_iter().filter_map(Pid::new).collect()
}

/// Numbers that are never reused.
pub(super) fn unique_id(pid: Pid) -> Fact<UniqueId> {
    pid_info(pid, UNIQUE_IDENTIFIER, 0)
}

/// The directory in which it is.
pub(super) fn directory(pid: Pid) -> Option<Vec<u8>> {
    let info: Fact<libc::proc_vnodepathinfo> = pid_info(pid, libc::PROC_PIDVNODEPATHINFO, 0);
    let path = info.known()?.pvi_cdir.vip_path;
    let bytes: Vec<u8> = path.iter().flatten().map(|letter| letter.cast_unsigned()).collect();
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some(bytes[..end].to_vec()).filter(|path| !path.is_empty())
}

/// Processor time, memory, disk.
#[allow(unsafe_code, reason = "libproc is a C library")]
pub(super) fn usage(pid: Pid) -> Fact<libc::rusage_info_v2> {
    let mut info = MaybeUninit::<libc::rusage_info_v2>::zeroed();
    // SAFETY: the flavor fills exactly this structure; the type of the argument is the header's.
    let failed = unsafe {
        libc::proc_pid_rusage(
            pid.get(),
            libc::RUSAGE_INFO_V2,
            info.as_mut_ptr().cast::<libc::rusage_info_t>(),
        )
    };
    if failed != 0 {
        return hidden();
    }
    // SAFETY: zeroed, then filled by the kernel, and any bytes are a value.
    Fact::Known(unsafe { info.assume_init() })
}

/// Nobody has more descriptors than this; a list that does not fit counts as unreadable.
const MOST: usize = 1 << 20;
/// How often a list is read in which something has changed meanwhile.
const TRIES: usize = 4;

/// All descriptors with what they lead to. `Denied` where only one of them could not be looked at: it may be the one that
/// matters.
pub(super) fn files(pid: Pid) -> Fact<Vec<OpenFile>> {
    for _ in 0..TRIES {
        let (files, ports) = match (list::<libc::proc_fdinfo>(pid, libc::PROC_PIDLISTFDS), ports(pid)) {
            (Fact::Known(files), Fact::Known(ports)) => (files, ports),
            (Fact::Gone, _) | (_, Fact::Gone) => return Fact::Gone,
            _ => return Fact::Denied,
        };
        let descriptors = files.into_iter().map(|info| (Number::Descriptor(info.proc_fd), info.proc_fdtype));
        let ports = ports.into_iter().map(|port| (Number::Port(port.port), port.kind));
        // The kernel says the same of a number that was closed and of one that means something else by now: read anew.
        let all: Option<Vec<OpenFile>> =
            descriptors.chain(ports).map(|(number, kind)| file(pid, number, kind)).collect();
        if let Some(all) = all {
            return Fact::Known(all);
        }
    }
    Fact::Denied
}

fn file(pid: Pid, number: Number, kind: u32) -> Option<OpenFile> {
    let end = match c_int::try_from(kind).unwrap_or(-1) {
        libc::PROX_FDTYPE_VNODE => match file_info::<VnodeFd>(pid, number, VNODE_PATH) {
            Some(info) => info.end(),
            None => file_info::<PathlessFd>(pid, number, VNODE)?.end(),
        },
        libc::PROX_FDTYPE_SOCKET => file_info::<SocketFd>(pid, number, SOCKET)?.end(),
        libc::PROX_FDTYPE_PIPE => file_info::<PipeFd>(pid, number, PIPE)?.end(),
        libc::PROX_FDTYPE_KQUEUE
        | libc::PROX_FDTYPE_PSHM
        | libc::PROX_FDTYPE_PSEM
        | libc::PROX_FDTYPE_FSEVENTS => End::Nobody,
        other => End::Unknown(format!("a descriptor of another kind ({other})")),
    };
    let number = match number {
        Number::Descriptor(number) => u32::try_from(number).ok()?,
        // Behind every descriptor.
        Number::Port(port) => port | 1 << 31,
    };
    Some(OpenFile { number, end })
}

/// Descriptors that were made Mach ports: who has such a port holds them, without having them open.
fn ports(pid: Pid) -> Fact<Vec<FilePort>> {
    list(pid, FILE_PORTS)
}

#[allow(unsafe_code, reason = "libproc is a C library")]
fn list<T: Plain>(pid: Pid, flavor: c_int) -> Fact<Vec<T>> {
    let mut room = 256;
    while room <= MOST {
        let mut list: Vec<MaybeUninit<T>> = vec![MaybeUninit::zeroed(); room];
        let size = (room * size_of::<T>()) as c_int;
        // SAFETY: the buffer is as large as the call is told, and its elements may hold any bytes. 0 says both "none" and
        // "failed", so that the error number has to be cleared before.
        let filled = unsafe {
            *libc::__error() = 0;
            libc::proc_pidinfo(pid.get(), flavor, 0, list.as_mut_ptr().cast::<c_void>(), size)
        };
        if filled < 0 || filled == 0 && io::Error::last_os_error().raw_os_error() != Some(0) {
            return hidden();
        }
        let count = filled as usize / size_of::<T>();
        // A list that fills the buffer may have been cut off.
        if count < room {
            // SAFETY: zeroed, then filled by the kernel, and any bytes are a value.
            let filled = list.into_iter().take(count).map(|one| unsafe { one.assume_init() });
            return Fact::Known(filled.collect());
        }
        room *= 4;
    }
    Fact::Denied
}

/// `KERN_PROCARGS2`.
const PROCESS_ARGUMENTS: c_int = 49;

/// Arguments and environment.
#[allow(unsafe_code, reason = "sysctl is a C function")]
pub(super) fn arguments(pid: Pid) -> Fact<Arguments> {
    let mut name = [libc::CTL_KERN, PROCESS_ARGUMENTS, pid.get()];
    let mut buffer = vec![0_u8; longest()];
    let mut size = buffer.len();
    // SAFETY: the name has as many parts as is said, and the buffer as many bytes.
    let failed = unsafe {
        libc::sysctl(
            name.as_mut_ptr(),
            name.len() as libc::c_uint,
            buffer.as_mut_ptr().cast(),
            &raw mut size,
            std::ptr::null_mut(),
            0,
        )
    };
    if failed != 0 {
        return hidden();
    }
    buffer.truncate(size);
    parse(&buffer).map_or(Fact::Denied, Fact::Known)
}

/// `KERN_ARGMAX`: longer than that are no arguments.
fn longest() -> usize {
    let bytes = by_name(c"kern.argmax").unwrap_or_default();
    let number = bytes.first_chunk::<4>().map(|bytes| i32::from_ne_bytes(*bytes));
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(1024 * 1024)
}

/// A value of the kernel's, of at most 64 bytes.
#[allow(unsafe_code, reason = "sysctlbyname is a C function")]
pub(super) fn by_name(name: &CStr) -> Option<Vec<u8>> {
    let mut buffer = vec![0_u8; 64];
    let mut size = buffer.len();
    // SAFETY: the name ends with NUL, and the buffer has as many bytes as is said.
    let failed = unsafe {
        libc::sysctlbyname(name.as_ptr(), buffer.as_mut_ptr().cast(), &raw mut size, std::ptr::null_mut(), 0)
    };
    buffer.truncate(size);
    (failed == 0).then_some(buffer)
}
