//! A table with every fact that a judge may ask for, whatever the settings are. Dear; only for recording.

use crate::host::{Host, HostError};
use crate::process::{Fact, FarEnd, Pid, ProcessTable, Stream};
use crate::tree::has_debugging_pipe;

/// Reads everything of every process.
pub fn all_facts<H: Host>(host: &H) -> Result<ProcessTable, HostError> {
    let mut table = host.list()?;
    let everyone: Vec<Pid> =
        table.iter().filter(|process| !process.kernel).map(|process| process.pid()).collect();
    host.read_commands(&mut table, &everyone);
    host.read_details(&mut table, &everyone);
    host.read_shares(&mut table, &everyone);
    host.read_channels(&mut table, &everyone);
    let ends: Vec<(Pid, Stream)> = (table.iter())
        .flat_map(|process| Stream::ALL.map(|stream| (process, stream)))
        .filter(|(process, stream)| {
            let standard = matches!(stream, Stream::Stdin | Stream::Stdout);
            let connected = process.descriptor(*stream).known().is_some_and(|known| known.is_stdio());
            // What else a process has as descriptor 3 or 4 is none of our business.
            connected && (standard || has_debugging_pipe(process.arguments()))
        })
        .map(|(process, stream)| (process.pid(), stream))
        .collect();
    host.read_far_ends(&mut table, &ends);
    let open: Vec<(Pid, Stream)> = (ends.into_iter())
        .filter(|(pid, stream)| {
            let end = table.get(*pid).map(|process| process.far_end(*stream));
            end == Some(&Fact::Known(FarEnd::Open(None)))
        })
        .collect();
    host.read_holders(&mut table, &open);
    Ok(table)
}
