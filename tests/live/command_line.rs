//! The commands as a person or a timer runs them.

use crate::stage::{actor, client, on_stage, parse, result, verdict};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn dry_run_and_observe_signal_nothing() {
    on_stage("command_line::dry_run_and_observe_signal_nothing", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        for arguments in
            [&["sweep", "--dry-run", "--json"][..], &["sweep", "--json", "--set", "mode=observe"]]
        {
            let sweep = stage.json(arguments);
            assert_eq!(
                (&sweep["dry_run"], verdict(stage.tree(&sweep, "orphan"))),
                (&true.into(), ("reap", "hung-up"))
            );
            assert!(stage.tree(&sweep, "orphan")["outcome"].is_null());
            stage.assert_alive(&["orphan"]);
        }
        assert_eq!(stage.sweep()["dry_run"], false);
        stage.assert_gone(&["orphan"]);
    });
}

#[test]
fn bad_configuration_signals_nothing_and_says_where() {
    on_stage("command_line::bad_configuration_signals_nothing_and_says_where", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let path = stage.folder.path().join("bad.toml");
        std::fs::write(&path, "[orphan]\nmin_agee = '1s'\n").unwrap();
        let output = stage.orphand(&["sweep", "--config", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let expected = format!(
            "orphand: {}:2: unknown key `orphan.min_agee`; did you mean `orphan.min_age`?\n",
            path.display()
        );
        assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), expected));
        stage.assert_alive(&["orphan"]);
    });
}

#[test]
fn a_first_sweep_looks_twice_and_an_interrupt_between_leaves_all_alone() {
    on_stage("command_line::a_first_sweep_looks_twice_and_an_interrupt_between_leaves_all_alone", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let sets = ["--set", "orphan.confirm=600s"];
        let scan = stage.json(&[&["scan", "--json"][..], &sets].concat());
        assert_eq!(verdict(stage.tree(&scan, "orphan")), ("wait", "young"));
        let mut sweep = stage
            .command(&[&["sweep"][..], &sets].concat())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(sweep.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains("1 tree may be reaped after a second look, in 10 min"), "{line}");
        // Another sweep meanwhile says who is in its way.
        let busy = stage.orphand(&["sweep"]);
        assert_eq!(busy.status.code(), Some(1));
        assert!(text(&busy.stderr).contains("another orphand is at work"), "{}", text(&busy.stderr));
        let pid = rustix::process::Pid::from_child(&sweep);
        let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        rustix::process::pidfd_send_signal(handle, rustix::process::Signal::INT).unwrap();
        assert_eq!(sweep.wait().unwrap().code(), Some(1));
        stage.assert_alive(&["orphan"]);
        // It is remembered: a later sweep with a shorter distance needs no second look.
        let sweep = stage.json(&["sweep", "--json", "--set", "orphan.confirm=1ms"]);
        assert_eq!(result(stage.tree(&sweep, "orphan")), "gone");
    });
}

#[test]
fn a_damaged_memory_is_set_aside() {
    on_stage("command_line::a_damaged_memory_is_set_aside", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let state = stage.folder.path().join("state");
        std::fs::create_dir(&state).unwrap();
        std::fs::write(state.join("memory.json"), "{\"schema\":1,").unwrap();
        let output = stage.orphand(&["sweep", "--json"]);
        assert!(text(&output.stderr).contains("is damaged"), "{}", text(&output.stderr));
        assert_eq!(result(stage.tree(&parse(&output), "orphan")), "gone");
        assert!(state.join("memory.json.broken").exists());
    });
}

#[test]
fn hostile_command_lines_cannot_reach_the_terminal_and_secrets_do_not_leave() {
    on_stage(
        "command_line::hostile_command_lines_cannot_reach_the_terminal_and_secrets_do_not_leave",
        |stage| {
            let line = "foo-mcp '\u{1b}[2J\u{1b}]0;owned\u{7}' --api-key hunter2hunter2 postgres://u:hunter2@db 'a\nb' '\u{202e}x'";
            stage.enter(client("dead").child(actor("orphan", line)));
            stage.crash("dead");
            let pid = stage.pid("orphan").to_string();
            for arguments in [
                &["scan"][..],
                &["scan", "--json"],
                &["explain", &pid],
                &["explain", &pid, "--json"],
                &["sweep"],
            ] {
                let output = stage.orphand(arguments);
                let said = text(&output.stdout) + &text(&output.stderr);
                let harmful = said
                    .chars()
                    .find(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}');
                assert_eq!(harmful, None, "{arguments:?} said {said:?}");
                assert!(!said.contains("hunter2"), "{arguments:?} said {said}");
                assert!(said.contains("foo-mcp"), "{said}");
            }
        },
    );
}

#[test]
fn explain_says_every_rule_and_why_a_process_is_no_business_of_ours() {
    on_stage("command_line::explain_says_every_rule_and_why_a_process_is_no_business_of_ours", |stage| {
        stage.enter(client("live").child(actor("server", "foo-mcp").child(actor("worker", "worker"))));
        let said = text(&stage.orphand(&["explain", &stage.pid("worker").to_string()]).stdout);
        for part in [
            "spare foo-mcp",
            "owned: its parent opencode",
            "Rules, in order",
            "hung-up",
            "environment no marks",
        ] {
            assert!(said.contains(part), "{part:?} is not in\n{said}");
        }
        let other = stage.orphand(&["explain", &stage.pid("live").to_string()]);
        assert_eq!(other.status.code(), Some(0));
        assert!(text(&other.stdout).contains("belongs to no MCP server tree: it is a client, opencode"));
        assert!(stage.json(&["explain", &stage.pid("live").to_string(), "--json"])["tree"].is_null());
        let nobody = stage.orphand(&["explain", "999999"]);
        assert_eq!(
            (nobody.status.code(), text(&nobody.stderr)),
            (Some(1), "orphand: there is no process 999999\n".to_owned())
        );
    });
}

#[test]
fn output_fits_eighty_columns_and_has_no_colour_when_piped() {
    on_stage("command_line::output_fits_eighty_columns_and_has_no_colour_when_piped", |stage| {
        let line = format!("foo-mcp {}", "--option value ".repeat(30));
        let deep = (0..12)
            .fold(actor("deepest", "worker"), |below, at| actor(&format!("deep{at}"), "worker").child(below));
        stage.enter(client("dead").child(actor("orphan", &line).child(deep)));
        stage.crash("dead");
        for arguments in [vec!["scan"], vec!["scan", "--all"], vec!["sweep", "--dry-run"]] {
            let output = stage.orphand(&arguments);
            for line in text(&output.stdout).lines() {
                assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
                assert!(!line.contains('\u{1b}'));
            }
        }
        let coloured = stage.orphand(&["scan", "--color", "always"]);
        assert!(text(&coloured.stdout).contains("\u{1b}["));
    });
}

#[test]
fn few_open_files_make_small_sweeps_and_too_few_say_so() {
    on_stage("command_line::few_open_files_make_small_sweeps_and_too_few_say_so", |stage| {
        let mut dead = client("dead");
        let names: Vec<String> = (0..12).map(|number| format!("orphan{number}")).collect();
        for name in &names {
            dead = dead.child(actor(name, "foo-mcp"));
        }
        stage.enter(dead);
        stage.crash("dead");
        let sweep = |files: &str| {
            let orphand = stage.command(&["sweep", "--json"]);
            let mut limited = std::process::Command::new("prlimit");
            limited
                .arg(format!("--nofile={files}:{files}"))
                .arg(orphand.get_program())
                .args(orphand.get_args());
            limited.stdin(Stdio::null()).output().expect("prlimit is part of util-linux")
        };
        let none = sweep("40");
        assert_eq!(none.status.code(), Some(3), "{}", text(&none.stderr));
        let report = parse(&none);
        assert_eq!(result(stage.tree(&report, "orphan0")), "failed");
        assert!(stage.tree(&report, "orphan0")["outcome"]["text"].as_str().unwrap().contains("ulimit -n"));
        stage.assert_alive(&names.iter().map(String::as_str).collect::<Vec<_>>());
        // Room for some of them, then for others.
        let gone = |report: &serde_json::Value| {
            report["trees"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|tree| tree["outcome"]["result"] == "gone")
                .count()
        };
        let mut left = 12;
        while left > 0 {
            let some = parse(&sweep("55"));
            assert!((1..=8).contains(&gone(&some)), "{some:#}");
            left -= gone(&some);
        }
        stage.assert_gone(&names.iter().map(String::as_str).collect::<Vec<_>>());
    });
}
