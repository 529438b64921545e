//! `orphand scan`: one look. Never signals, and leaves no trace: what it saw is not remembered.

use super::{judging, open_host, print, print_json, read_recording, settings, state_folder, taken_at};
use crate::cli::{Global, Scan};
use crate::config::Settings;
use crate::host::Host;
use crate::host::replay::Replay;
use crate::look::{Breadth, look};
use crate::memory::Memory;
use crate::report::{View, scan_json, scan_text};
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Scan) -> anyhow::Result<ExitCode> {
    if let Some(path) = &options.replay {
        let recording = read_recording(path)?;
        let host = Replay::new(recording.table);
        let settings = settings(global, host.observer())?;
        return scan(&host, &settings, &recording.memory, options, &recording.taken_at);
    }
    let host = open_host()?;
    let settings = settings(global, host.observer())?;
    let memory = state_folder(&settings, host.observer()).read(host.boot(), None);
    scan(&host, &settings, &memory, options, &taken_at())
}

fn scan<H: Host>(
    host: &H,
    settings: &Settings,
    memory: &Memory,
    options: &Scan,
    taken_at: &str,
) -> anyhow::Result<ExitCode> {
    let breadth = if options.all { Breadth::Everything } else { Breadth::Orphans };
    let look = look(host, judging(settings), memory, breadth)?;
    let view = View { look: &look, catalog: &settings.catalog, all: options.all };
    if options.json {
        print_json(&scan_json(view, taken_at))?;
    } else {
        print(&scan_text(view))?;
    }
    Ok(ExitCode::SUCCESS)
}
