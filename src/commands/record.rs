//! `orphand record`: a process table with all facts, to attach to a report and to be judged with `--replay`.

use super::{open_host, print, settings, state_folder, taken_at};
use crate::cli::{Global, Record};
use crate::host::Host;
use crate::look::all_facts;
use crate::process::{Fact, Pid, Process, ProcessTable};
use crate::recording::Recording;
use crate::report::{command_words, sentence};
use crate::words::processes;
use anyhow::Context;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Record) -> anyhow::Result<ExitCode> {
    let host = open_host()?;
    let settings = settings(global, host.observer())?;
    let memory = state_folder(&settings, host.observer()).read(host.boot());
    let mut table = all_facts(&host)?;
    hide_secrets(&mut table);
    let count = processes(table.len());
    let text = Recording { taken_at: taken_at(), table, memory }.write()?;
    let Some(path) = &options.file else {
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut file = OpenOptions::new()
        .mode(0o600)
        .create(true)
        .truncate(true)
        .write(true)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    tracing::info!(
        "{count} written to {}. Command lines are in it, with the secrets hidden that show themselves; read it before you send it.",
        path.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// Nothing secret is written: what is hidden in every output is hidden here, too.
fn hide_secrets(table: &mut ProcessTable) {
    let pids: Vec<Pid> = table.iter().map(Process::pid).collect();
    for pid in pids {
        let Some(process) = table.get_mut(pid) else { continue };
        if let Fact::Known(words) = &mut process.command {
            *words = command_words(words);
        }
        if let Fact::Known(marks) = &mut process.details.marks {
            marks.orphand = marks.orphand.as_deref().map(sentence);
            marks.systemd_exec_pid = marks.systemd_exec_pid.as_deref().map(sentence);
        }
    }
}
