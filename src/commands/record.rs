//! `orphand record`: a process table with all facts, to attach to a report and to be judged with `--replay`.

use super::{judging, open_host, print, settings, state_folder, taken_at};
use crate::cli::{Global, Record};
use crate::config::Settings;
use crate::host::Host;
use crate::host::replay::Replay;
use crate::look::{Breadth, all_facts, look};
use crate::memory::{Memory, command_digest};
use crate::process::{Fact, Pid, Process, ProcessTable};
use crate::recording::Recording;
use crate::redact::{command_words, sentence};
use crate::words::processes;
use anyhow::Context;
use std::collections::HashMap;
use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::ExitCode;

pub(super) fn run(global: &Global, options: &Record) -> anyhow::Result<ExitCode> {
    let host = open_host()?;
    let settings = settings(global, host.observer())?;
    let memory = state_folder(&settings, host.observer()).read(host.boot(), None);
    let mut memory = memory;
    let mut table = all_facts(&host)?;
    let before = commands(&table, &settings, &memory)?;
    hide_secrets(&mut table, &mut memory);
    for (root, command) in commands(&table, &settings, &memory)? {
        if let Some(before) = before.get(&root) {
            memory.rename_reaps(*before, command);
        }
    }
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
    // One that was there already keeps its mode otherwise.
    file.set_permissions(Permissions::from_mode(0o600))
        .with_context(|| format!("cannot close {} to others", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    tracing::info!(
        "{count} written to {}. Command lines are in it, with the secrets hidden that show themselves; read it before you send it.",
        path.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// The digests by which trees are known again, by root.
fn commands(table: &ProcessTable, settings: &Settings, memory: &Memory) -> anyhow::Result<HashMap<Pid, u64>> {
    let look = look(&Replay::new(table.clone()), judging(settings), memory, Breadth::Everything)?;
    Ok(look.plan.judgements.iter().map(|judgement| (judgement.tree.root, judgement.command)).collect())
}

/// Nothing secret is written: what is hidden in every output is hidden here, too. What is remembered of a process goes by
/// its command line, and goes by the new one then.
fn hide_secrets(table: &mut ProcessTable, memory: &mut Memory) {
    let pids: Vec<Pid> = table.iter().map(Process::pid).collect();
    for pid in pids {
        let Some(process) = table.get_mut(pid) else { continue };
        let before = command_digest(process);
        if let Fact::Known(words) = &mut process.command {
            *words = command_words(words);
        }
        memory.rename(process, before);
        if let Fact::Known(marks) = &mut process.details.marks {
            marks.orphand = marks.orphand.as_deref().map(sentence);
            marks.systemd_exec_pid = marks.systemd_exec_pid.as_deref().map(sentence);
        }
    }
}
