//! How a running daemon is asked: a unix socket in its runtime folder, one word to it, one JSON document from it.
//!
//! Only the daemon's own user and root are answered.

mod server;

pub use server::{Asked, Server};

use serde_json::Value;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a daemon can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// How it is: answers a `Status`.
    Status,
    /// To look now: answers `{"pid","sweep"}`, the look in the form of `sweep --json`.
    Look,
}

impl Request {
    fn word(self) -> &'static str {
        match self {
            Request::Status => "status",
            Request::Look => "look",
        }
    }

    fn of(word: &str) -> Option<Request> {
        [Request::Status, Request::Look].into_iter().find(|request| request.word() == word)
    }
}

/// A look may have to wait for the one before.
const PATIENCE: Duration = Duration::from_secs(30);
/// No answer is longer.
const LONGEST: usize = 64 * 1024 * 1024;

/// Asks the daemon behind this socket. `None`: there is none.
pub fn ask(socket: &Path, request: Request) -> io::Result<Option<Value>> {
    let mut stream = match UnixStream::connect(socket) {
        Ok(stream) => stream,
        // A daemon that was killed leaves its socket behind.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{}\n", request.word()).as_bytes())?;
    let text = read_in_time(&mut stream)?;
    let answer: Value =
        serde_json::from_slice(&text).map_err(|error| io::Error::other(format!("no answer ({error})")))?;
    match answer["error"].as_str() {
        Some(error) => Err(io::Error::other(error.to_owned())),
        None => Ok(Some(answer)),
    }
}

/// Everything up to the end, which must come in time.
fn read_in_time(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let (mut text, mut part) = (Vec::new(), [0_u8; 4096]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(text),
            Ok(_) if text.len() > LONGEST => return Err(io::Error::other("its answer is too long")),
            Ok(count) => text.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
            }
            Err(error) => return Err(error),
        }
    }
}
