//! What a daemon has to survive.

use crate::duty::{Duty, begin, on_duty, through};
use crate::stage::{Actor, Stage, actor, client, on_stage, result};
use rustix::process::Signal;
use std::process::Command;

/// An orphan that ignores SIGTERM; it says when it gets one.
fn stubborn(name: &str) -> Actor {
    client(&format!("{name}-dead")).child(actor(name, "foo-mcp").does(&["ignore-term", "tell-term"]))
}

/// A daemon in the middle of taking down "orphan", which has an hour to end after its SIGTERM.
fn with_an_orphan_on_its_way_down(stage: &mut Stage) -> Duty {
    stage.enter(stubborn("orphan"));
    stage.set("reap.grace=1h");
    stage.set("reap.browser_grace=1h");
    let duty = on_duty(stage, &[]);
    stage.crash("orphan-dead");
    assert_eq!(stage.hear(), "orphan got SIGTERM");
    duty
}

#[test]
fn killed_in_the_middle_the_next_one_judges_anew() {
    on_stage("faults::killed_in_the_middle_the_next_one_judges_anew", |stage| {
        let mut duty = with_an_orphan_on_its_way_down(stage);
        duty.signal(Signal::KILL);
        duty.ended();
        stage.assert_alive(&["orphan"]);
        // Its socket and its lock file are still there, and in nobody's way. Somebody needs the orphan now.
        assert_eq!(stage.orphand(&["status"]).status.code(), Some(1), "a socket without a daemon");
        stage.set("protect=[{name='mine', program='foo-mcp'}]");
        let mut duty = on_duty(stage, &[]);
        let status = duty.status(stage);
        assert_eq!(
            (&status["trees"]["spare"], &status["trees"]["falling"]),
            (&1.into(), &0.into()),
            "{status:#}"
        );
        assert!(duty.stop().success());
        stage.assert_alive(&["orphan"]);
        stage.options.truncate(stage.options.len() - 2);
        stage.set("reap.grace=300ms");
        stage.set("reap.browser_grace=300ms");
        let duty = on_duty(stage, &[]);
        let status = duty.wait(stage, "it is gone", |status| status["reaped"]["trees"] == 1);
        assert_eq!(status["last_reaps"][0]["result"], "killed");
        stage.assert_gone(&["orphan"]);
    });
}

#[test]
fn stopped_in_the_middle_it_finishes_what_has_begun() {
    on_stage("faults::stopped_in_the_middle_it_finishes_what_has_begun", |stage| {
        stage.enter(stubborn("orphan"));
        let mut duty = on_duty(stage, &[]);
        stage.crash("orphan-dead");
        assert_eq!(stage.hear(), "orphan got SIGTERM");
        assert!(duty.stop().success());
        stage.assert_gone(&["orphan"]);
        duty.assert_says("result=\"killed\"", 1);
    });
}

#[test]
fn stopped_twice_it_leaves_at_once() {
    on_stage("faults::stopped_twice_it_leaves_at_once", |stage| {
        let mut duty = with_an_orphan_on_its_way_down(stage);
        duty.signal(Signal::TERM);
        duty.hear("STOPPING=1");
        duty.signal(Signal::INT);
        assert!(duty.ended().success());
        stage.assert_alive(&["orphan"]);
    });
}

#[test]
fn looks_go_on_beside_an_escalation_and_nobody_is_signalled_twice() {
    on_stage("faults::looks_go_on_beside_an_escalation_and_nobody_is_signalled_twice", |stage| {
        stage.enter(stubborn("first"));
        stage.enter(stubborn("second"));
        stage.set("reap.grace=1h");
        stage.set("reap.browser_grace=1h");
        let duty = on_duty(stage, &[]);
        stage.crash("first-dead");
        assert_eq!(stage.hear(), "first got SIGTERM");
        let before = duty.status(stage)["looks"].as_u64().expect("a count");
        for _ in 0..10 {
            stage.sweep();
        }
        let status = duty.status(stage);
        assert!(status["looks"].as_u64().expect("a count") >= before + 10, "{status:#}");
        assert_eq!(status["trees"]["falling"], 1, "{status:#}");
        stage.crash("second-dead");
        assert_eq!(stage.hear(), "second got SIGTERM", "and not the first once more");
        let status = duty.wait(stage, "both are on their way", |status| status["trees"]["falling"] == 2);
        assert_eq!(status["reaped"]["trees"], 0, "{status:#}");
    });
}

#[test]
fn a_bad_configuration_keeps_the_one_before() {
    on_stage("faults::a_bad_configuration_keeps_the_one_before", |stage| {
        let file = stage.folder.path().join("own.toml");
        let write = |text: &str| std::fs::write(&file, text).expect("written");
        write("mode = 'observe'\n");
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.options.extend(["--config".to_owned(), file.display().to_string()]);
        let mut duty = on_duty(stage, &[]);
        let mut reload = |text: &str, expected: &str| {
            write(text);
            duty.signal(Signal::HUP);
            duty.hear("RELOADING=1");
            duty.hear("READY=1");
            let status = duty.status(stage);
            assert_eq!(status["mode"], "observe", "{status:#}");
            let problems = status["configuration"]["problems"].to_string();
            assert!(problems.contains(expected), "{problems}");
        };
        reload("mode = 'enforce'\nmod = 'x'\n", "own.toml:2: unknown key `mod`");
        reload("mode = 'enforce'\n[[server]]\nname = 'x'\ncmdline = '.*'\n", "own.toml:2");
        reload(&"# a large file\n".repeat(400_000), "is larger than");
        duty.assert_says("own.toml:2: unknown key", 1);
        std::fs::remove_file(&file).expect("removed");
        duty.signal(Signal::HUP);
        duty.hear("READY=1");
        assert!(duty.status(stage)["configuration"]["problems"].to_string().contains("cannot be read"));
        let text = String::from_utf8(stage.orphand(&["config", "check"]).stderr).expect("text");
        assert!(text.contains("own.toml"), "the same words as of the check: {text}");
        // A good one is in force from the next look on. (`status` reads the configuration itself, so it must be there.)
        std::fs::write(&file, "mode = 'enforce'\n").expect("written");
        duty.signal(Signal::HUP);
        duty.hear("READY=1");
        let status = duty.status(stage);
        assert_eq!(
            (&status["mode"], &status["configuration"]["problems"]),
            (&"enforce".into(), &serde_json::json!([]))
        );
        stage.crash("dead");
        duty.wait(stage, "it is gone", |status| status["reaped"]["trees"] == 1);
    });
}

#[test]
fn a_memory_that_makes_no_sense_is_set_aside() {
    on_stage("faults::a_memory_that_makes_no_sense_is_set_aside", |stage| {
        stage.enter(client("live").child(actor("server", "foo-mcp")));
        let mut duty = on_duty(stage, &[]);
        assert!(duty.stop().success());
        let file = stage.folder.path().join("state/memory.json");
        let good = std::fs::read_to_string(&file).expect("written at the end");
        assert!(good.contains("foo-mcp"), "{good}");
        let other_boot = {
            let (_, rest) = good.split_once("\"boot\":").expect("a boot");
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            good.replace(&digits, "7")
        };
        let other_version = good.replacen("\"schema\":1", "\"schema\":99", 1);
        let rows = [
            (good[..good.len() / 2].to_owned(), "is damaged"),
            (other_version, "is of another version, schema 99"),
            (other_boot, ""),
            (good.clone(), ""),
        ];
        for (text, expected) in rows {
            std::fs::write(&file, &text).expect("written");
            let before = duty.log().len();
            duty = on_duty(stage, &[]);
            assert!(duty.stop().success());
            let said = duty.log()[before..].to_owned();
            assert!(
                said.contains(expected) && (!expected.is_empty() || !said.contains("memory.json")),
                "{said}"
            );
            let after = std::fs::read_to_string(&file).expect("written again");
            assert!(after.contains("foo-mcp"), "{after}");
        }
        assert!(file.with_extension("json.broken").exists() && file.with_extension("json.broken1").exists());
    });
}

/// Takes the daemon's folders away. It may be writing into one, so more than one try may be needed.
fn remove_folders(stage: &Stage) {
    for folder in ["run", "state"] {
        let folder = stage.folder.path().join(folder);
        stage.wait_until("the folder is gone", |_| {
            let _ = std::fs::remove_dir_all(&folder);
            !folder.exists()
        });
    }
}

/// Mounts a small file system where the memory goes; says whether that is possible here.
fn small_disk(stage: &Stage, options: &str) -> bool {
    let state = stage.folder.path().join("state");
    std::fs::create_dir_all(&state).expect("made");
    let status =
        Command::new("mount").args(["-t", "tmpfs", "-o", options, "orphand-test"]).arg(&state).status();
    let mounted = status.is_ok_and(|status| status.success());
    if !mounted {
        println!("skipped: no file system can be mounted here");
    }
    mounted
}

#[test]
fn a_full_disk_is_said_once_and_in_nobodys_way() {
    on_stage("faults::a_full_disk_is_said_once_and_in_nobodys_way", |stage| {
        // Room for the lock and nothing else.
        if !small_disk(stage, "size=64k,nr_inodes=2,mode=700") {
            return;
        }
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        let mut duty = on_duty(stage, &[]);
        let status =
            duty.wait(stage, "it has tried to write", |status| !status["memory"]["problem"].is_null());
        assert!(status["memory"]["problem"].to_string().contains("No space left"), "{status:#}");
        stage.crash("dead");
        duty.wait(stage, "it is gone", |status| status["reaped"]["trees"] == 1);
        assert!(duty.stop().success());
        duty.assert_says("cannot write", 1);
    });
}

#[test]
fn a_disk_that_can_only_be_read_is_said_once_and_in_nobodys_way() {
    on_stage("faults::a_disk_that_can_only_be_read_is_said_once_and_in_nobodys_way", |stage| {
        if !small_disk(stage, "ro,mode=700") {
            return;
        }
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        let mut duty = on_duty(stage, &[]);
        stage.crash("dead");
        let status = duty.wait(stage, "it is gone", |status| status["reaped"]["trees"] == 1);
        assert!(status["memory"]["problem"].to_string().contains("Read-only"), "{status:#}");
        assert!(duty.stop().success());
        duty.assert_says("Read-only", 1);
    });
}

#[test]
fn without_room_for_handles_it_falls_back_to_ticks_and_says_so_once() {
    on_stage("faults::without_room_for_handles_it_falls_back_to_ticks_and_says_so_once", |stage| {
        for number in 0..20 {
            let server = actor(&format!("server{number}"), "foo-mcp");
            stage.enter(client(&format!("client{number}")).child(server));
        }
        let mut duty = begin(stage, &[], |command| {
            command.args(["--set", "look.interval=1s"]);
            through(command, "prlimit", &["--nofile=70:70"]);
        });
        duty.hear("READY=1");
        let status = duty.wait(stage, "a few looks are over", |status| status["looks"].as_u64() >= Some(3));
        let (parents, missed) = (status["watched"]["parents"].as_u64(), status["watched"]["missed"].as_u64());
        assert!(parents >= Some(1) && missed >= Some(1), "{status:#}");
        assert_eq!(parents.unwrap() + missed.unwrap(), 20, "{status:#}");
        duty.assert_says("open files", 1);
        // Whoever could not be waited for is noticed all the same.
        for number in 0..20 {
            stage.crash(&format!("client{number}"));
        }
        duty.wait(stage, "all are gone", |status| status["reaped"]["trees"] == 20);
        let text = String::from_utf8(stage.orphand(&["status"]).stdout).expect("text");
        assert!(text.contains("waits for:"), "{text}");
    });
}

#[test]
fn a_storm_of_short_processes_is_survived() {
    on_stage("faults::a_storm_of_short_processes_is_survived", |stage| {
        stage
            .enter(client("live").child(actor("server", "foo-mcp").child(actor("worker", "node worker.js"))));
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        let mut duty = begin(stage, &[], |command| {
            command.env("WATCHDOG_USEC", "1000000");
        });
        duty.hear("READY=1");
        let script = "for i in {1..10000}; do (exit 0) & (( i % 50 )) || wait; done; wait";
        let mut storm = Command::new("bash").args(["-c", script]).spawn().expect("bash");
        stage.crash("dead");
        while storm.try_wait().expect("asked").is_none() {
            stage.sweep();
        }
        let status = duty.wait(stage, "the orphan is gone", |status| status["reaped"]["trees"] == 1);
        assert_eq!(
            (&status["look_failed"], &status["reaped"]["failed"]),
            (&serde_json::Value::Null, &0.into())
        );
        assert!(status["looks"].as_u64() >= Some(4), "{status:#}");
        stage.assert_alive(&["live", "server", "worker"]);
        duty.forget_notices();
        duty.hear("WATCHDOG=1");
        assert!(duty.stop().success());
    });
}

#[test]
fn a_sweep_by_hand_is_waited_for() {
    on_stage("faults::a_sweep_by_hand_is_waited_for", |stage| {
        stage.enter(stubborn("orphan"));
        stage.crash("orphan-dead");
        let by_hand =
            stage.command(&["sweep", "--json"]).stdout(std::process::Stdio::piped()).spawn().expect("runs");
        assert_eq!(stage.hear(), "orphan got SIGTERM");
        let duty = on_duty(stage, &[]);
        let output = by_hand.wait_with_output().expect("it ends");
        let sweep = crate::stage::parse(&output);
        assert_eq!(result(stage.tree(&sweep, "orphan")), "killed");
        duty.assert_says("waiting for it", 1);
        assert_eq!(duty.status(stage)["reaped"]["trees"], 0, "nothing was left for the daemon");
    });
}

#[test]
fn a_reload_leaves_what_was_condemned_by_the_settings_before() {
    on_stage("faults::a_reload_leaves_what_was_condemned_by_the_settings_before", |stage| {
        let file = stage.folder.path().join("own.toml");
        std::fs::write(&file, "").expect("written");
        stage.enter(stubborn("orphan"));
        stage.options.extend(["--config".to_owned(), file.display().to_string()]);
        std::fs::write(&file, "[reap]\ngrace = '1h'\nbrowser_grace = '1h'\n").expect("written");
        stage.unset("reap");
        let mut duty = on_duty(stage, &[]);
        stage.crash("orphan-dead");
        assert_eq!(stage.hear(), "orphan got SIGTERM");
        // Not a word has changed: nothing is left.
        duty.signal(Signal::HUP);
        duty.hear("RELOADING=1");
        duty.hear("READY=1");
        assert_eq!(duty.status(stage)["trees"]["falling"], 1);
        std::fs::write(&file, "[[protect]]\nname = 'mine'\nprogram = 'foo-mcp'\n").expect("written");
        duty.signal(Signal::HUP);
        let status = duty.wait(stage, "it is left", |status| {
            status["trees"]["falling"] == 0 && status["trees"]["spare"] == 1
        });
        assert_eq!(status["configuration"]["problems"], serde_json::json!([]));
        assert_eq!(status["reaped"]["failed"], 0, "nothing has come of it yet: {status:#}");
        stage.assert_alive(&["orphan"]);
        // Condemned again, it is not asked to end a second time.
        let impatient = "[reap]\nsettle = '100ms'\ngrace = '300ms'\nbrowser_grace = '300ms'\n";
        std::fs::write(&file, impatient).expect("written");
        duty.signal(Signal::HUP);
        duty.wait(stage, "it is gone", |status| status["reaped"]["trees"] == 1);
        assert!(duty.stop().success());
        // Whoever enters now is the next to be heard of.
        stage.enter(actor("next", "bash"));
        duty.assert_says("has ended by itself", 0);
    });
}

#[test]
fn what_is_on_its_way_down_does_not_end_by_itself() {
    on_stage("faults::what_is_on_its_way_down_does_not_end_by_itself", |stage| {
        // The server ends at once, and a child of it only on SIGKILL.
        let child = actor("child", "node worker.js").does(&["ignore-term", "tell-term"]);
        stage.enter(client("dead").child(actor("orphan", "foo-mcp").child(child)));
        stage.set("orphan.min_age=3s");
        stage.set("reap.grace=2s");
        stage.set("reap.browser_grace=2s");
        let duty = on_duty(stage, &[]);
        stage.crash("dead");
        assert_eq!(stage.hear(), "child got SIGTERM");
        for _ in 0..5 {
            stage.sweep();
        }
        duty.wait(stage, "all is gone", |status| status["reaped"]["trees"] == 1);
        duty.assert_says("waits:", 1);
        duty.assert_says("has ended by itself", 0);
        stage.assert_gone(&["orphan", "child"]);
    });
}

#[test]
fn folders_that_are_removed_are_made_again() {
    on_stage("faults::folders_that_are_removed_are_made_again", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        let mut duty = on_duty(stage, &[]);
        remove_folders(stage);
        assert_eq!(stage.orphand(&["status"]).status.code(), Some(1), "nobody is found");
        // A death is noticed all the same, and then the daemon can be found again.
        stage.crash("dead");
        stage.wait_until("it can be asked again", |stage| stage.folder.path().join("run/control").exists());
        duty.wait(stage, "the orphan is gone", |status| status["reaped"]["trees"] == 1);
        duty.assert_says("was removed", 2);
        assert!(duty.stop().success());
        assert!(stage.folder.path().join("state/memory.json").exists());
    });
}

#[test]
fn a_daemon_whose_place_was_taken_leaves() {
    on_stage("faults::a_daemon_whose_place_was_taken_leaves", |stage| {
        let mut first = on_duty(stage, &[]);
        remove_folders(stage);
        let second = on_duty(stage, &[]);
        first.signal(Signal::USR1);
        assert_eq!(first.ended().code(), Some(1));
        second.assert_says("taken over", 1);
        assert_eq!(second.status(stage)["pid"], second.pid());
    });
}

#[test]
fn who_cannot_be_asked_is_not_swept_beside() {
    on_stage("faults::who_cannot_be_asked_is_not_swept_beside", |stage| {
        let duty = on_duty(stage, &[]);
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        std::fs::remove_file(stage.folder.path().join("run/control")).expect("removed");
        let sweep = stage.orphand(&["sweep"]);
        assert_eq!(sweep.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&sweep.stderr).contains("does not listen"), "{sweep:?}");
        stage.assert_alive(&["orphan"]);
        duty.signal(Signal::USR1);
        stage.wait_until("it can be asked again", |stage| stage.folder.path().join("run/control").exists());
        duty.wait(stage, "the orphan is gone", |status| status["reaped"]["trees"] == 1);
    });
}

#[test]
fn readers_who_do_not_read_stop_nothing() {
    on_stage("faults::readers_who_do_not_read_stop_nothing", |stage| {
        stage.enter(client("live").child(actor("server", "foo-mcp")));
        // A log that takes nothing, one that nobody reads, and one whose reader has gone; notices that nobody hears.
        let (nobody_reads, full_pipe) = std::io::pipe().expect("a pipe");
        rustix::pipe::fcntl_setpipe_size(&full_pipe, 4096).expect("made small");
        let (reader, no_reader) = std::io::pipe().expect("a pipe");
        drop(reader);
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        for stderr in [std::process::Stdio::from(full), full_pipe.into(), no_reader.into()] {
            let socket = stage.folder.path().join("deaf");
            let _ = std::fs::remove_file(&socket);
            let deaf = std::os::unix::net::UnixDatagram::bind(&socket).expect("a socket");
            let mut command = stage.command(&["--log", "debug", "run", "--set", "look.interval=1h"]);
            command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "1000").stderr(stderr);
            let mut daemon = command.spawn().expect("orphand runs");
            for _ in 0..60 {
                stage.wait_until("it answers", |stage| stage.orphand(&["sweep"]).status.success());
            }
            let pid = rustix::process::Pid::from_child(&daemon);
            let pin =
                rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("it lives");
            rustix::process::pidfd_send_signal(pin, Signal::TERM).expect("signalled");
            assert!(daemon.wait().expect("it ends").success());
            drop(deaf);
        }
        drop(nobody_reads);
    });
}

#[test]
fn a_name_cannot_write_lines_of_its_own_into_the_log() {
    on_stage("faults::a_name_cannot_write_lines_of_its_own_into_the_log", |stage| {
        let hostile = "node '/h/node_modules/.bin/evil\n<0>kernel: on fire\u{1b}[31m-mcp'";
        let late = actor("late", "node late.js").stdio("inherit");
        let orphan = actor("orphan", hostile).heir(late);
        stage.enter(client("dead").child(orphan));
        let mut duty = on_duty(stage, &["--log", "debug"]);
        stage.crash("dead");
        duty.wait(stage, "it is gone", |status| status["reaped"]["trees"] == 1);
        assert!(duty.stop().success());
        let log = duty.log();
        assert!(log.contains("on fire") && log.contains("on its way down"), "{log}");
        assert!(!log.contains('\u{1b}') && log.lines().all(|line| line.starts_with("20")), "{log}");
    });
}

#[test]
fn what_its_client_starts_again_each_time_is_taken_down_each_time() {
    on_stage("faults::what_its_client_starts_again_each_time_is_taken_down_each_time", |stage| {
        let duty = on_duty(stage, &[]);
        for round in 1..=6 {
            stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
            stage.sweep();
            stage.crash("dead");
            duty.wait(stage, "it is gone", |status| status["reaped"]["trees"] == round);
        }
    });
}

#[test]
fn while_it_stops_it_answers() {
    on_stage("faults::while_it_stops_it_answers", |stage| {
        let mut duty = with_an_orphan_on_its_way_down(stage);
        duty.signal(Signal::TERM);
        duty.hear("STOPPING=1");
        assert_eq!(duty.status(stage)["trees"]["falling"], 1);
        let sweep = stage.orphand(&["sweep"]);
        assert!(String::from_utf8_lossy(&sweep.stderr).contains("it is stopping"), "{sweep:?}");
        duty.signal(Signal::TERM);
        assert!(duty.ended().success());
    });
}

#[test]
fn a_configuration_that_is_no_file_is_not_waited_for() {
    on_stage("faults::a_configuration_that_is_no_file_is_not_waited_for", |stage| {
        let file = stage.folder.path().join("own.toml");
        std::fs::write(&file, "").expect("written");
        stage.options.extend(["--config".to_owned(), file.display().to_string()]);
        let mut duty = on_duty(stage, &[]);
        std::fs::remove_file(&file).expect("removed");
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("a FIFO");
        duty.signal(Signal::HUP);
        duty.hear("RELOADING=1");
        duty.hear("READY=1");
        duty.assert_says("is no regular file", 1);
    });
}
