//! Calls of libproc and sysctl, each with its answer as a fact.

use super::arguments::{Arguments, parse};
use super::layout::{PipeFd, Plain, SocketFd, UniqueId, VnodeFd};
use crate::host::portable::{End, OpenFile};
use crate::process::{Fact, Pid};
use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;

/// Flavors of XNU's bsd/sys/proc_info.h that the libc crate does not have.
const UNIQUE_IDENTIFIER: c_int = 17;
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

#[allow(unsafe_code, reason = "libproc is a C library")]
fn file_info<T: Plain>(pid: Pid, number: i32, flavor: c_int) -> Option<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let size = size_of::<T>() as c_int;
    // SAFETY: the buffer is as large as the call is told; `Plain` types may hold any bytes.
    let filled = unsafe { libc::proc_pidfdinfo(pid.get(), number, flavor, info.as_mut_ptr().cast(), size) };
    // SAFETY: zeroed, then filled by the kernel, and any bytes are a value.
    (filled == size).then(|| unsafe { info.assume_init() })
}

/// Parent, users, state, start.
pub(super) fn bsd_info(pid: Pid) -> Fact<libc::proc_bsdinfo> {
    pid_info(pid, libc::PROC_PIDTBSDINFO, ZOMBIES)
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

/// All descriptors with what they lead to.
pub(super) fn files(pid: Pid) -> Fact<Vec<OpenFile>> {
    let numbers = match numbers(pid) {
        Fact::Known(numbers) => numbers,
        Fact::Gone => return Fact::Gone,
        _ => return Fact::Denied,
    };
    let mut files = Vec::with_capacity(numbers.len());
    for libc::proc_fdinfo { proc_fd: number, proc_fdtype: kind } in numbers {
        let end = match c_int::try_from(kind).unwrap_or(-1) {
            libc::PROX_FDTYPE_VNODE => file_info::<VnodeFd>(pid, number, VNODE_PATH).map(|info| info.end()),
            libc::PROX_FDTYPE_SOCKET => file_info::<SocketFd>(pid, number, SOCKET).map(|info| info.end()),
            libc::PROX_FDTYPE_PIPE => file_info::<PipeFd>(pid, number, PIPE).map(|info| info.end()),
            libc::PROX_FDTYPE_KQUEUE
            | libc::PROX_FDTYPE_PSHM
            | libc::PROX_FDTYPE_PSEM
            | libc::PROX_FDTYPE_FSEVENTS => Some(End::Nobody),
            other => Some(End::Unknown(format!("a descriptor of another kind ({other})"))),
        };
        let end = match end {
            Some(end) => end,
            // Closed meanwhile.
            None if io::Error::last_os_error().raw_os_error() == Some(libc::EBADF) => continue,
            None => End::Unknown("a descriptor that cannot be looked at".to_owned()),
        };
        if let Ok(number) = u32::try_from(number) {
            files.push(OpenFile { number, end });
        }
    }
    Fact::Known(files)
}

#[allow(unsafe_code, reason = "libproc is a C library")]
fn numbers(pid: Pid) -> Fact<Vec<libc::proc_fdinfo>> {
    let one = size_of::<libc::proc_fdinfo>();
    let mut room = 256;
    while room <= MOST {
        let mut list = vec![libc::proc_fdinfo { proc_fd: 0, proc_fdtype: 0 }; room];
        let size = (room * one) as c_int;
        // SAFETY: the buffer is as large as the call is told, and its elements are integers. 0 says both "none" and "failed", so
        // that the error number has to be cleared before.
        let filled = unsafe {
            *libc::__error() = 0;
            libc::proc_pidinfo(pid.get(), libc::PROC_PIDLISTFDS, 0, list.as_mut_ptr().cast::<c_void>(), size)
        };
        if filled < 0 || filled == 0 && io::Error::last_os_error().raw_os_error() != Some(0) {
            return hidden();
        }
        let count = filled as usize / one;
        // A list that fills the buffer may have been cut off.
        if count < room {
            list.truncate(count);
            return Fact::Known(list);
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
