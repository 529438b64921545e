//! Every hard case as a recorded table, judged as `--replay` does; `docs/accuracy.md` is what came out.
//!
//! `ACCURACY=overwrite cargo test --test accuracy` writes the page anew.

use orphand::config::{Settings, Sources, load};
use orphand::host::replay::Replay;
use orphand::judge::{Code, Plan};
use orphand::look::{Breadth, Familiar, Judging, look, look_again};
use orphand::process::Pid;
use orphand::recording::Recording;
use serde::Deserialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct File {
    case: Case,
}

/// What a file says of itself beside the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    title: String,
    hard_case: String,
    /// Settings, as `--set` takes them.
    #[serde(default)]
    set: Vec<String>,
    /// A configuration file.
    #[serde(default)]
    config: String,
    expect: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    pid: i32,
    /// `none`: it belongs to no tree.
    verdict: String,
    #[serde(default)]
    code: String,
}

struct Row {
    case: Case,
    name: String,
    rows: Vec<(i32, String, String, String)>,
}

fn settings(case: &Case, folder: &Path) -> Settings {
    let mut sources = Sources { set: case.set.clone(), ..Sources::default() };
    if !case.config.is_empty() {
        let path = folder.join("case.toml");
        std::fs::write(&path, &case.config).expect("written");
        sources.explicit = Some(path);
    }
    load(&sources).unwrap_or_else(|error| panic!("{}: {error}", case.title))
}

fn plan(recording: &Recording, settings: &Settings, breadth: Breadth) -> Plan {
    let host = Replay::new(recording.table.clone());
    let judging = Judging { catalog: &settings.catalog, policy: &settings.policy };
    look(&host, judging, &recording.memory, breadth).expect("a look").plan
}

/// What looks after the first say, to whom everybody is familiar: the same.
fn check_again(recording: &Recording, settings: &Settings, first: &Plan, path: &Path) {
    let host = Replay::new(recording.table.clone());
    let judging = Judging { catalog: &settings.catalog, policy: &settings.policy };
    let mut familiar = Familiar::default();
    for round in 0..3 {
        let again = look_again(&host, judging, &recording.memory, &mut familiar).expect("a look").plan;
        for judgement in &again.judgements {
            let before = first.of_root(judgement.tree.root);
            let same = before.is_some_and(|before| format!("{before:#?}") == format!("{judgement:#?}"));
            // It also tells whose those trees are that a narrow look leaves out.
            let owned = before.is_none() && judgement.code() == Code::Owned;
            assert!(
                same || owned,
                "{}: look {round} says something else of {}: {judgement:#?}",
                path.display(),
                judgement.tree.root
            );
        }
        let roots = again.judgements.iter().map(|judgement| judgement.tree.root).collect::<Vec<_>>();
        let all = first.judgements.iter().all(|judgement| roots.contains(&judgement.tree.root));
        assert!(all, "{}: look {round} misses one", path.display());
    }
}

fn said(plan: &Plan, pid: i32) -> String {
    let judgement = plan.of_member(Pid::new(pid).expect("a pid"));
    judgement.map_or("none".to_owned(), |judgement| {
        format!("{} {}", judgement.verdict.word(), judgement.code().word())
    })
}

fn run(path: &Path) -> Row {
    let text = std::fs::read_to_string(path).expect("readable");
    let recording = Recording::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let File { case } = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(&case, folder.path());
    let everything = plan(&recording, &settings, Breadth::Everything);
    let orphans = plan(&recording, &settings, Breadth::Orphans);
    check_again(&recording, &settings, &orphans, path);
    let rows = (case.expect.iter())
        .map(|expected| {
            let process = recording.table.get(Pid::new(expected.pid).expect("a pid")).unwrap_or_else(|| {
                panic!("{}: expects something of {}, which is not in it", path.display(), expected.pid)
            });
            let got = said(&everything, expected.pid);
            // A narrower look may leave out what somebody owns; what it judges, it judges alike.
            let narrow = said(&orphans, expected.pid);
            assert!(
                narrow == got || (narrow == "none" && got == "spare owned"),
                "{}: {} is {got} in a wide look and {narrow} in a narrow one",
                path.display(),
                expected.pid
            );
            let wanted = format!("{} {}", expected.verdict, expected.code).trim().to_owned();
            (expected.pid, process.arguments().join(" "), wanted, got)
        })
        .collect();
    let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
    Row { case, name, rows }
}

fn all() -> Vec<Row> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir("tests/cases")
        .expect("tests/cases")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    // An empty folder would have nothing wrong in it.
    assert!(paths.len() >= 50, "there are only {} cases", paths.len());
    let mut rows: Vec<Row> = paths.iter().map(|path| run(path)).collect();
    let number = |row: &Row| row.case.hard_case.trim_start_matches('H').parse::<u32>().unwrap_or(u32::MAX);
    rows.sort_by_key(|row| (number(row), row.name.clone()));
    rows
}

/// Hard cases that are about what happens to live processes, and the tests that show it.
const LIVE: [(&str, &str, &str); 4] = [
    (
        "H5",
        "one process group for all: only the listed processes get a signal",
        "an_orphaned_pair_dies_and_its_twin_under_a_live_client_lives",
    ),
    (
        "H17",
        "a tree with a browser gets the longer grace period",
        "a_tree_with_a_browser_is_spared_and_later_goes_as_a_whole",
    ),
    (
        "H18",
        "SIGTERM ignored: SIGKILL at the end of one grace period",
        "eight_that_ignore_sigterm_share_one_grace_period",
    ),
    ("H19", "a reused pid is never hit", "a_newcomer_under_a_reused_pid_lives_whenever_it_comes"),
];

fn page(rows: &[Row]) -> String {
    let mut out = String::from(
        "# Accuracy\n\nWhat orphand says of every hard case that people have reported, from the tables under `tests/cases`. \
         `cargo test --test accuracy`\nmakes this page and fails when it is stale; `orphand scan --replay tests/cases/NAME.toml` \
         shows one of them. The numbers of\nthe hard cases are those of the research behind orphand; `peers` is the table that \
         other tools were measured with: nine\nthat must die (here seven and an orphaned agent with its server, which a person \
         must decide about), the others must live.\n`doubt` stands for attempts to make orphand kill what it must not.\n\n",
    );
    let verdicts = || rows.iter().flat_map(|row| &row.rows);
    let right = verdicts().filter(|row| row.2 == row.3).count();
    let wrong_kills =
        verdicts().filter(|row| row.3.starts_with("reap") && !row.2.starts_with("reap")).count();
    let missed = verdicts().filter(|row| row.2.starts_with("reap") && !row.3.starts_with("reap")).count();
    let _ = writeln!(
        out,
        "{} tables, {} processes: {right} as expected, {wrong_kills} wrong kills, {missed} missed.\n",
        rows.len(),
        verdicts().count()
    );
    let _ = writeln!(out, "| case | process | expected | got |\n|---|---|---|---|");
    for row in rows {
        let Case { hard_case, title, .. } = &row.case;
        let _ = writeln!(out, "| **{hard_case}** {title} (`{}`) | | | |", row.name);
        for (pid, line, wanted, got) in &row.rows {
            let line: String = line.chars().take(72).collect();
            let _ = writeln!(out, "| | {pid} `{}` | {wanted} | {got} |", line.replace('|', "\\|"));
        }
    }
    let _ = writeln!(out, "\nShown on real processes only:\n\n| case | | test |\n|---|---|---|");
    for (case, title, test) in LIVE {
        let _ = writeln!(out, "| **{case}** | {title} | `{test}` |");
    }
    out
}

#[test]
fn every_hard_case_has_its_verdict() {
    let wrong: Vec<String> = (all().iter())
        .flat_map(|row| row.rows.iter().map(move |verdict| (row, verdict)))
        .filter(|(_, (_, _, wanted, got))| wanted != got)
        .map(|(row, (pid, line, wanted, got))| {
            format!("{}: {pid} ({line}) is {got}, expected {wanted}", row.name)
        })
        .collect();
    assert!(wrong.is_empty(), "{} verdicts are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_page_of_accuracy_is_not_stale() {
    let page = page(&all());
    let path = "docs/accuracy.md";
    if std::env::var("ACCURACY").as_deref() == Ok("overwrite") {
        std::fs::write(path, &page).expect("written");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "{path} is stale: ACCURACY=overwrite cargo test --test accuracy");
}

#[test]
fn the_live_tests_that_the_page_names_are_there() {
    let mut code = String::new();
    for entry in std::fs::read_dir("tests/live").expect("tests/live") {
        code += &std::fs::read_to_string(entry.expect("an entry").path()).unwrap_or_default();
    }
    for (_, _, test) in LIVE {
        assert!(code.contains(&format!("fn {test}()")), "there is no live test {test}");
    }
}

#[test]
fn what_was_read_is_written_as_it_was() {
    for entry in std::fs::read_dir("tests/cases").expect("tests/cases") {
        let path = entry.expect("an entry").path();
        let once = Recording::parse(&std::fs::read_to_string(&path).expect("readable")).expect("a recording");
        let again = Recording::parse(&once.write().expect("written")).expect("a recording");
        assert_eq!(once, again, "{}", path.display());
    }
}
