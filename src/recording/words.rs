//! The words in which descriptors, far ends and durations are written.

use crate::process::{Descriptor, FarEnd, Holders, Pid};
use jiff::SignedDuration;
use std::time::Duration;

/// `1h 2m 3s`.
pub(super) fn duration_text(duration: Duration) -> String {
    // Finer than the clock's ticks nothing is known.
    let duration = Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    SignedDuration::try_from(duration).map_or_else(|_| "0s".to_owned(), |span| format!("{span:#}"))
}

pub(super) fn duration_of(text: &str) -> Result<Duration, String> {
    let span = text.parse::<SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok());
    span.ok_or_else(|| format!("`{text}` is no duration; write it like \"20s\" or \"1h 30m\""))
}

/// `pipe 7`, `socket 7`, `null`, `terminal`, `fifo`, `file`, `other anon_inode:[eventfd]`.
pub(super) fn descriptor_text(descriptor: &Descriptor) -> String {
    match descriptor {
        Descriptor::Pipe(inode) => format!("pipe {inode}"),
        Descriptor::Socket(inode) => format!("socket {inode}"),
        Descriptor::Null => "null".to_owned(),
        Descriptor::Terminal => "terminal".to_owned(),
        Descriptor::NamedFifo => "fifo".to_owned(),
        Descriptor::File => "file".to_owned(),
        Descriptor::Other(what) => format!("other {what}"),
    }
}

pub(super) fn descriptor_of(text: &str) -> Result<Descriptor, String> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let inode = || rest.parse::<u64>().map_err(|_| format!("`{text}` needs an inode number: `{kind} 7`"));
    Ok(match kind {
        "pipe" => Descriptor::Pipe(inode()?),
        "socket" => Descriptor::Socket(inode()?),
        "null" => Descriptor::Null,
        "terminal" => Descriptor::Terminal,
        "fifo" => Descriptor::NamedFifo,
        "file" => Descriptor::File,
        "other" => Descriptor::Other(rest.to_owned()),
        _ => {
            return Err(format!(
                "`{text}` is no descriptor; it may be pipe N, socket N, null, terminal, fifo, file or other WHAT"
            ));
        }
    })
}

/// `hung-up`, `open`, `unknown: why`, `held by 3, 4`, `held by 3; not all searched; closed 7, 8`.
pub(super) fn far_end_text(far_end: &FarEnd) -> String {
    match far_end {
        FarEnd::HungUp => "hung-up".to_owned(),
        FarEnd::Open(None) => "open".to_owned(),
        FarEnd::Unknown(why) => format!("unknown: {why}"),
        FarEnd::Open(Some(holders)) => {
            let mut text = format!("held by {}", pids_text(&holders.pids));
            if !holders.complete {
                text += "; not all searched";
            }
            if !holders.unsearched.is_empty() {
                text += &format!("; closed {}", pids_text(&holders.unsearched));
            }
            text
        }
    }
}

pub(super) fn far_end_of(text: &str) -> Result<FarEnd, String> {
    if let Some(why) = text.strip_prefix("unknown: ") {
        return Ok(FarEnd::Unknown(why.to_owned()));
    }
    match text {
        "hung-up" => return Ok(FarEnd::HungUp),
        "open" => return Ok(FarEnd::Open(None)),
        _ => {}
    }
    let wrong = || {
        format!(
            "`{text}` is no far end; it may be hung-up, open, unknown: WHY or held by PID, PID; not all searched; closed PID"
        )
    };
    let mut parts = text.split("; ");
    let pids =
        parts.next().and_then(|part| part.strip_prefix("held by ")).and_then(pids_of).ok_or_else(wrong)?;
    let mut holders = Holders { pids, complete: true, unsearched: Vec::new() };
    for part in parts {
        if part == "not all searched" {
            holders.complete = false;
        } else {
            holders.unsearched = part.strip_prefix("closed ").and_then(pids_of).ok_or_else(wrong)?;
        }
    }
    Ok(FarEnd::Open(Some(holders)))
}

fn pids_text(pids: &[Pid]) -> String {
    if pids.is_empty() {
        return "nobody".to_owned();
    }
    pids.iter().map(Pid::to_string).collect::<Vec<_>>().join(", ")
}

fn pids_of(text: &str) -> Option<Vec<Pid>> {
    if text == "nobody" {
        return Some(Vec::new());
    }
    text.split(", ").map(|word| word.parse().ok().and_then(Pid::new)).collect()
}
