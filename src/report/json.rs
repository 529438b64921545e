//! The JSON contract, schema 1: a field is never renamed or removed.

use super::facts::{advice, facts};
use super::{Totals, View};
use crate::catalog::{Catalog, Classified, Role, Strength};
use crate::invocation::Invocation;
use crate::judge::Judgement;
use crate::redact::{command_line, command_words, sentence};
use crate::sweep::{Outcome, Reaped};
use serde_json::{Value, json};

/// `scan --json`.
pub fn scan_json(view: View<'_>, taken_at: &str) -> Value {
    let trees: Vec<Value> = view.shown().map(|judgement| tree(view, judgement)).collect();
    json!({ "schema": 1, "taken_at": taken_at, "trees": trees, "totals": totals(view) })
}

/// `sweep --json`: the same, with an outcome for each tree that was to be reaped, and the word for what signals rest on.
pub fn sweep_json(view: View<'_>, reaped: &[Reaped], dry_run: bool, signals: &str, taken_at: &str) -> Value {
    let trees: Vec<Value> = (view.shown())
        .map(|judgement| {
            let done = reaped.iter().find(|reaped| reaped.judgement.tree.root == judgement.tree.root);
            let mut tree = tree(view, judgement);
            tree["outcome"] = done.map_or(Value::Null, outcome);
            tree
        })
        .collect();
    json!({
        "schema": 1,
        "taken_at": taken_at,
        "dry_run": dry_run,
        "signals": signals,
        "trees": trees,
        "totals": totals(view),
    })
}

/// `explain PID --json`: the tree, and every rule's answer.
pub fn explain_json(view: View<'_>, judgement: &Judgement, taken_at: &str) -> Value {
    let rules: Vec<Value> = (judgement.answers.iter())
        .map(|answer| {
            json!({
                "code": answer.code.word(),
                "holds": answer.verdict.is_some(),
                "verdict": answer.verdict.map(|verdict| verdict.word()),
                "text": sentence(&answer.text),
            })
        })
        .collect();
    let members = || judgement.tree.members.iter().filter_map(|member| view.process(member.pid));
    let known = members().map(|process| {
        let lines = facts(view, process).into_iter().map(|(name, what)| (name.to_owned(), Value::from(what)));
        let mut all: serde_json::Map<String, Value> = lines.collect();
        all.insert("pid".to_owned(), process.pid().get().into());
        Value::Object(all)
    });
    json!({
        "schema": 1,
        "taken_at": taken_at,
        "tree": tree(view, judgement),
        "rules": rules,
        "facts": known.collect::<Vec<_>>(),
        "advice": advice(members()),
    })
}

/// `explain PID --json` for a process that belongs to no tree.
pub fn no_tree_json(text: &str, taken_at: &str) -> Value {
    json!({ "schema": 1, "taken_at": taken_at, "tree": null, "rules": [], "text": text.trim_end() })
}

/// `explain --command --json`. `named` is what the catalog says; `invocation` what the line runs.
pub fn command_json(catalog: &Catalog, named: Option<&Classified>, invocation: Option<&Invocation>) -> Value {
    let pattern = named.and_then(|named| named.pattern).map(|index| catalog.pattern(index));
    let role = named.and_then(|named| match named.role {
        Role::Server => Some("server"),
        Role::Launcher => Some("launcher"),
        Role::Client => Some("client"),
        Role::Browser => Some("browser"),
        Role::Host | Role::Helper | Role::Adopter => None,
    });
    let strength = pattern.map(|pattern| match pattern.strength {
        Strength::Strong => "strong",
        Strength::Weak => "weak",
    });
    json!({
        "schema": 1,
        "role": role,
        "pattern": pattern.map(|pattern| pattern.name.clone()),
        "strength": strength,
        "invocation": invocation.map(redacted),
    })
}

/// An invocation whose arguments carry no secrets.
fn redacted(invocation: &Invocation) -> Value {
    let mut shown = invocation.clone();
    shown.arguments = command_words(&invocation.arguments);
    shown.target = command_line(std::slice::from_ref(&shown.target));
    serde_json::to_value(shown).unwrap_or(Value::Null)
}

fn tree(view: View<'_>, judgement: &Judgement) -> Value {
    let tree = &judgement.tree;
    let memory = view.memory(judgement);
    let reasons: Vec<Value> = (judgement.reasons.iter())
        .map(|reason| json!({ "code": reason.code.word(), "text": sentence(&reason.text) }))
        .collect();
    let members: Vec<Value> = (tree.members.iter())
        .filter_map(|member| Some((member, view.process(member.pid)?)))
        .map(|(member, process)| {
            json!({
                "pid": member.pid,
                "ppid": process.parent.map_or(0, |parent| parent.get()),
                "role": member.role.word(),
                "command": command_line(process.arguments()),
            })
        })
        .collect();
    json!({
        "verdict": judgement.verdict.word(),
        "code": judgement.code().word(),
        "reasons": reasons,
        "server": sentence(&tree.name),
        "client": judgement.client.as_ref().map(|client| {
            json!({ "name": sentence(&client.name), "pid": client.pid, "alive": client.alive })
        }),
        "adopter": tree.adopter.map(|adopter| json!({ "kind": adopter.kind.word(), "pid": adopter.pid })),
        "lifeline": judgement.lifeline.word(),
        "user": view.user(judgement),
        "age_s": view.age(judgement).as_secs(),
        "orphaned_s": judgement.orphaned_for.map(|orphaned| orphaned.as_secs()),
        "memory": { "rss": memory.rss, "pss": memory.pss, "swap": memory.swap },
        "root": tree.root,
        "members": members,
    })
}

fn totals(view: View<'_>) -> Value {
    let totals = Totals::of(view);
    json!({
        "trees": totals.trees,
        "reap": totals.reap,
        "wait": totals.wait,
        "spare": totals.spare,
        "report": totals.report,
        "reclaimable": totals.reclaimable,
    })
}

fn outcome(done: &Reaped) -> Value {
    let freed = json!({ "rss": done.freed.rss, "pss": done.freed.pss, "swap": done.freed.swap });
    match &done.outcome {
        Outcome::Ended(ended) => {
            let result = ended.ending.word();
            let took = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
            let mut value = json!({
                "result": result, "terminated": ended.terminated, "killed": ended.killed, "took_ms": took, "freed": freed,
            });
            if !ended.survivors.is_empty() {
                let survivors = ended.survivors.iter().map(|(pid, why)| json!({ "pid": pid, "why": why }));
                value["survivors"] = Value::Array(survivors.collect());
            }
            value
        }
        Outcome::SparedOnRecheck(why) | Outcome::Failed(why) => {
            let result = if done.outcome.is_failure() { "failed" } else { "spared-on-recheck" };
            json!({ "result": result, "terminated": 0, "killed": 0, "took_ms": 0, "freed": freed, "text": sentence(why) })
        }
    }
}
