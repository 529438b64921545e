//! macOS: libproc for seeing, kqueue for hearing of ends, audit tokens for signalling. Not run on a Mac yet; what needs none is
//! tested on Linux (feature `portable`).

#![cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "only tests use it there"))]

mod arguments;
#[cfg(target_os = "macos")]
mod exits;
mod layout;
#[cfg(target_os = "macos")]
mod libproc;
#[cfg(target_os = "macos")]
mod system;
#[cfg(target_os = "macos")]
mod token;

#[cfg(target_os = "macos")]
pub use system::MacOs;
