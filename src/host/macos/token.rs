//! Signals that the kernel itself compares with the process that is meant: `proc_signal_with_audittoken`, a function of libproc
//! that no header promises, so it is looked for at run time (XNU, libsyscall/wrappers/libproc/libproc.h).

use crate::process::Pid;
use std::ffi::c_int;

/// `audit_token_t`. Of its eight numbers the kernel compares the pid (5) and the version (7), which is another one for each
/// process and each exec.
#[repr(C)]
struct AuditToken([u32; 8]);

type SignalWithToken = unsafe extern "C" fn(*const AuditToken, c_int) -> c_int;

/// The function, where the system has it.
#[derive(Clone, Copy)]
pub(super) struct ByToken(SignalWithToken);

impl ByToken {
    #[allow(unsafe_code, reason = "the function can only be found by its name")]
    pub(super) fn find() -> Option<ByToken> {
        // SAFETY: the name ends with NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"proc_signal_with_audittoken".as_ptr()) };
        if found.is_null() {
            return None;
        }
        // SAFETY: this is the function's type in Apple's own header.
        Some(ByToken(unsafe { std::mem::transmute::<*mut libc::c_void, SignalWithToken>(found) }))
    }

    /// Signals the process of this version, or nobody. The answer is an error number, 0 for none.
    #[allow(unsafe_code, reason = "a C function")]
    pub(super) fn send(self, pid: Pid, version: i32, signal: c_int) -> i32 {
        let token = AuditToken([0, 0, 0, 0, 0, pid.get().cast_unsigned(), 0, version.cast_unsigned()]);
        // SAFETY: the token lives for the call, which only reads it.
        unsafe { (self.0)(&raw const token, signal) }
    }
}
