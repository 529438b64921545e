//! Tables for people: tree shape, verdict and reason in words, age, memory, owner. Fits the terminal, or 80 columns.

use super::facts::{advice, facts};
use super::{Totals, View};
use crate::judge::{Judgement, Verdict};
use crate::process::{Pid, Process};
use crate::reap::Ending;
use crate::redact::{command_line, printable, sentence};
use crate::sweep::{Outcome, Reaped};
use crate::words::{duration, processes, size, trees};
use anstyle::{AnsiColor, Style};
use std::fmt::Write;

/// The width to fill: the terminal's, but no wider than eyes like.
fn width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.unwrap_or(80).clamp(40, 110)
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Reap => AnsiColor::Red.on_default().bold(),
        Verdict::Wait => AnsiColor::Yellow.on_default(),
        Verdict::Spare => AnsiColor::Green.on_default(),
        Verdict::Report => AnsiColor::Magenta.on_default(),
    }
}

/// `scan`.
pub fn scan_text(view: View<'_>) -> String {
    let mut out = String::new();
    let mut shown: Vec<&Judgement> = view.shown().collect();
    shown.sort_by_key(|judgement| (judgement.verdict, judgement.tree.root));
    for judgement in &shown {
        write_tree(&mut out, view, judgement, None);
    }
    write_totals(&mut out, view);
    out
}

/// `sweep`: what was done, then what was left alone and why.
pub fn sweep_text(view: View<'_>, reaped: &[Reaped], dry_run: bool) -> String {
    let mut out = String::new();
    let mut shown: Vec<&Judgement> = view.shown().collect();
    shown.sort_by_key(|judgement| (judgement.verdict, judgement.tree.root));
    for judgement in &shown {
        let done = reaped.iter().find(|reaped| reaped.judgement.tree.root == judgement.tree.root);
        write_tree(&mut out, view, judgement, done);
    }
    if dry_run {
        write_totals(&mut out, view);
        out.push_str("Nothing was signalled.\n");
        return out;
    }
    let freed: u64 = reaped.iter().map(|reaped| reaped.freed.given_back()).sum();
    let failed = reaped.iter().filter(|reaped| reaped.outcome.is_failure()).count();
    let left =
        shown.len() - reaped.iter().filter(|reaped| !reaped.outcome.is_failure()).count().min(shown.len());
    let _ = write!(
        out,
        "{} taken down, {} given back",
        trees(reaped.iter().filter(|reaped| reaped.is_gone()).count()),
        size(freed)
    );
    if left > 0 {
        let _ = write!(out, "; {left} left alone");
    }
    if failed > 0 {
        let _ = write!(out, "; {} could not be reaped", trees(failed));
    }
    out.push_str(".\n");
    out
}

/// Of larger trees only the chain's facts are told, and those of the process that was asked for.
const MOST_FACTS: usize = 8;

/// `explain PID`: the tree, the facts, every rule.
pub fn explain_text(view: View<'_>, judgement: &Judgement, asked: Pid) -> String {
    let mut out = String::new();
    write_tree(&mut out, view, judgement, None);
    let pattern = judgement.tree.pattern(view.catalog);
    let whose = if pattern.own { "your pattern" } else { "pattern" };
    let strength = format!("{:?}", pattern.strength).to_lowercase();
    let _ = writeln!(out, "Named by {whose} \"{}\" ({strength}).\n", printable(&pattern.name));
    out.push_str("Facts\n");
    let members = || judgement.tree.members.iter().filter_map(|member| view.process(member.pid));
    let told = |process: &&Process| {
        let pid = process.pid();
        pid == asked || judgement.tree.chain.contains(&pid) || judgement.tree.members.len() <= MOST_FACTS
    };
    for process in members().filter(told) {
        write_facts(&mut out, view, process);
    }
    if let Some(kin) = &judgement.tree.lineage {
        let text = format!(
            "Seen before below {} ({}), in the tree of the server {}.",
            printable(&kin.client.name),
            kin.client.id.pid,
            printable(&kin.server)
        );
        write_wrapped(&mut out, "  ", 2, &text);
    }
    if let Some(advice) = advice(members()) {
        write_wrapped(&mut out, "  ", 2, &advice);
    }
    out.push_str("\nRules, in order; the first that holds decides\n");
    for answer in &judgement.answers {
        let (mark, verdict) = match answer.verdict {
            Some(verdict) => ("*", verdict.word()),
            None => (" ", "-"),
        };
        let head = format!("{mark} {:<16}{verdict:<8}", answer.code.word());
        write_wrapped(&mut out, &head, 26, &sentence(&answer.text));
    }
    out
}

fn write_facts(out: &mut String, view: View<'_>, process: &Process) {
    let lines: Vec<String> =
        facts(view, process).into_iter().map(|(name, what)| format!("{name} {what}")).collect();
    write_wrapped(out, &format!("  {:<8}", process.pid()), 10, &lines.join(", "));
}

/// Head line, reason, and the members as a tree.
fn write_tree(out: &mut String, view: View<'_>, judgement: &Judgement, done: Option<&Reaped>) {
    let style = style(judgement.verdict);
    let memory = view.memory(judgement);
    let swap = if memory.swap > 0 { format!(" + {} swap", size(memory.swap)) } else { String::new() };
    let facts =
        format!("{}, {}{swap}, {}", duration(view.age(judgement)), size(memory.rss), view.user(judgement));
    let verdict = judgement.verdict.word();
    let name = sentence(&judgement.tree.name);
    let room = width().saturating_sub(verdict.len() + 3 + facts.len());
    let name = cut(&name, room.max(8));
    let _ = writeln!(out, "{style}{verdict}{style:#} {name}  {facts}");
    let reason = &judgement.reasons[0];
    write_wrapped(out, "  ", 2, &format!("{}: {}", reason.code.word(), sentence(&reason.text)));
    for also in &judgement.reasons[1..] {
        write_wrapped(out, "  ", 2, &format!("also {}: {}", also.code.word(), sentence(&also.text)));
    }
    if let Some(done) = done {
        write_wrapped(out, "  ", 2, &format!("=> {}", outcome_words(done)));
    }
    let tree = &judgement.tree;
    write_members(out, view, judgement, tree.root, "  ", true, true);
    // What has detached itself, as a browser's crash handler does, hangs below none of the others.
    let detached = tree.members.iter().map(|member| member.pid).filter(|pid| {
        let parent = view.process(*pid).and_then(|process| process.parent);
        *pid != tree.root && !parent.is_some_and(|parent| tree.contains(parent))
    });
    for pid in detached {
        write_members(out, view, judgement, pid, "  ", true, true);
    }
    out.push('\n');
}

fn write_members(
    out: &mut String,
    view: View<'_>,
    judgement: &Judgement,
    pid: Pid,
    indent: &str,
    last: bool,
    top: bool,
) {
    let Some(process) = view.process(pid) else { return };
    let branch = match (top, last) {
        (true, _) => "",
        (_, true) => "`- ",
        (_, false) => "|- ",
    };
    let line = format!("{indent}{branch}{pid} {}", command_line(process.arguments()));
    let _ = writeln!(out, "{}", cut(&line, width()));
    let children: Vec<Pid> = view
        .look
        .table
        .children(pid)
        .iter()
        .copied()
        .filter(|child| judgement.tree.contains(*child))
        .collect();
    let deeper = match (top, last) {
        (true, _) => indent.to_owned(),
        (_, true) => format!("{indent}   "),
        (_, false) => format!("{indent}|  "),
    };
    // A chain deeper than a screen is wide says nothing more.
    if deeper.len() > width() / 2 {
        return;
    }
    for (at, child) in children.iter().enumerate() {
        write_members(out, view, judgement, *child, &deeper, at + 1 == children.len(), false);
    }
}

fn write_totals(out: &mut String, view: View<'_>) {
    let totals = Totals::of(view);
    if totals.trees == 0 {
        let what = match (view.all, view.look.table.observer.machine) {
            (true, true) => "No MCP server is running.",
            (true, false) => "No MCP server of yours is running.",
            (false, true) => "No MCP server without an owner.",
            (false, false) => "No MCP server of yours without an owner.",
        };
        let _ = writeln!(out, "{what} ({} looked at.)", processes(view.look.table.len()));
        return;
    }
    let _ = writeln!(
        out,
        "{}: {} to reap, {} to wait, {} spared, {} to report. {} would be given back.",
        trees(totals.trees),
        totals.reap,
        totals.wait,
        totals.spare,
        totals.report,
        size(totals.reclaimable)
    );
}

fn outcome_words(done: &Reaped) -> String {
    match &done.outcome {
        Outcome::Ended(ended) => {
            let took = duration(ended.took);
            let survivors = || {
                let name = |(pid, why): &(Pid, Option<String>)| match why {
                    Some(why) => format!("{pid} ({why})"),
                    None => pid.to_string(),
                };
                ended.survivors.iter().map(name).collect::<Vec<_>>().join(", ")
            };
            match ended.ending {
                Ending::Gone => format!("gone after SIGTERM in {took}"),
                Ending::Killed => format!("gone in {took}; {} needed SIGKILL", processes(ended.killed)),
                Ending::Survived => format!("still there after SIGKILL: {}", survivors()),
                Ending::Failed => format!("not all could be ended: {}", survivors()),
            }
        }
        Outcome::SparedOnRecheck(why) => format!("left alone: {}", sentence(why)),
        Outcome::Failed(why) => format!("left alone: {}", sentence(why)),
    }
}

/// Text behind a head, wrapped at words; further lines begin at `indent`.
fn write_wrapped(out: &mut String, head: &str, indent: usize, text: &str) {
    let room = width().saturating_sub(indent).max(20);
    let mut line = String::new();
    let mut first = true;
    let mut flush = |line: &mut String| {
        let lead = if first { head.to_owned() } else { " ".repeat(indent) };
        first = false;
        let _ = writeln!(out, "{lead}{line}");
        line.clear();
    };
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            flush(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&cut(word, room));
    }
    flush(&mut line);
}

/// At most this many characters; an ellipsis says that there was more.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(3)).collect();
    format!("{kept}...")
}
