//! `orphand run` on duty: what it notices, does, says, and how it is asked.

use crate::duty::{Duty, begin, on_duty, through};
use crate::stage::{Stage, actor, client, npx, on_stage, verdict};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

/// Waits until so many trees are gone.
fn wait_for_reaps(duty: &Duty, stage: &Stage, trees: u64) -> serde_json::Value {
    duty.wait(stage, &format!("{trees} trees are taken down"), |status| status["reaped"]["trees"] == trees)
}

#[test]
fn a_client_that_dies_is_noticed_at_once_and_its_servers_go() {
    on_stage("daemon::a_client_that_dies_is_noticed_at_once_and_its_servers_go", |stage| {
        stage.enter(client("dead").child(npx("orphan", "foo-mcp")));
        stage.enter(client("live").child(npx("twin", "foo-mcp")));
        let mut duty = on_duty(stage, &[]);
        let before = duty.status(stage);
        assert_eq!(
            (&before["trees"]["total"], &before["watched"]["parents"]),
            (&2.into(), &2.into()),
            "{before:#}"
        );
        assert_eq!((&before["looks"], &before["last_look"]["because"]), (&1.into(), &"tick".into()));
        stage.crash("dead");
        let after = wait_for_reaps(&duty, stage, 1);
        assert_eq!(after["last_reaps"][0]["server"], "foo-mcp");
        assert_eq!(after["last_reaps"][0]["client"], "opencode");
        assert_eq!(after["last_reaps"][0]["result"], "gone");
        stage.assert_gone(&["orphan", "orphan-sh", "orphan-leaf"]);
        stage.assert_alive(&["twin", "twin-sh", "twin-leaf", "live"]);
        // And what is left is looked at once more.
        let last =
            duty.wait(stage, "it has looked again", |status| status["last_look"]["because"] == "swept");
        assert_eq!(
            (&last["trees"]["total"], &last["watched"]["parents"]),
            (&1.into(), &1.into()),
            "{last:#}"
        );
        duty.assert_says("taken down, 3 processes", 1);
        assert!(duty.stop().success());
    });
}

#[test]
fn clients_that_die_together_make_one_look() {
    on_stage("daemon::clients_that_die_together_make_one_look", |stage| {
        // One terminal, whose clients have its servers' parents die with it.
        let mut terminal = actor("terminal", "xterm").stdio("null");
        for number in 0..12 {
            let server = actor(&format!("server{number}"), "foo-mcp");
            terminal =
                terminal.child(client(&format!("client{number}")).does(&["die-with-parent"]).child(server));
        }
        stage.enter(terminal);
        stage.set("mode=observe");
        let duty = on_duty(stage, &[]);
        assert_eq!(duty.status(stage)["watched"]["parents"], 12);
        stage.crash("terminal");
        let status = duty.wait(stage, "all are orphans", |status| status["trees"]["orphaned"] == 12);
        // One for the burst; a second when the last of them dies a little later.
        let looks = status["looks"].as_u64().expect("a count");
        assert!((2..=4).contains(&looks), "{status:#}");
        assert_eq!(status["trees"]["reap"], 12);
        assert_eq!(status["reaped"]["trees"], 0, "it only observes");
        stage.assert_alive(&["server0", "server11"]);
    });
}

#[test]
fn an_orphan_that_has_to_wait_is_looked_at_again_when_its_time_is_over() {
    on_stage("daemon::an_orphan_that_has_to_wait_is_looked_at_again_when_its_time_is_over", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.set("orphan.min_age=700ms");
        let duty = on_duty(stage, &[]);
        stage.crash("dead");
        let status = duty.wait(stage, "it waits", |status| status["trees"]["wait"] == 1);
        assert_eq!(status["next_look_s"], 0, "long before the interval of an hour");
        wait_for_reaps(&duty, stage, 1);
        stage.assert_gone(&["orphan"]);
        duty.assert_says("waits:", 0);
    });
}

#[test]
fn the_second_daemon_says_that_there_is_one_and_leaves() {
    on_stage("daemon::the_second_daemon_says_that_there_is_one_and_leaves", |stage| {
        let duty = on_duty(stage, &[]);
        let second = stage.orphand(&["run"]);
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("already running as process {}", duty.pid())), "{said}");
        assert_eq!(duty.status(stage)["pid"], duty.pid(), "and the first goes on");
    });
}

#[test]
fn a_sweep_beside_the_daemon_asks_it_to_look() {
    on_stage("daemon::a_sweep_beside_the_daemon_asks_it_to_look", |stage| {
        let duty = on_duty(stage, &[]);
        // It starts and is left between two looks: no event tells of it.
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let dry = stage.json(&["sweep", "--dry-run", "--json"]);
        assert_eq!(dry["totals"]["reap"], 1, "a dry run is in nobody's way: {dry:#}");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "orphan");
        assert_eq!(
            (verdict(tree), &tree["outcome"]),
            (("reap", "hung-up"), &serde_json::Value::Null),
            "{sweep:#}"
        );
        assert_eq!(sweep["dry_run"], false);
        wait_for_reaps(&duty, stage, 1);
        stage.assert_gone(&["orphan"]);
        let text = String::from_utf8(stage.orphand(&["sweep"]).stdout).expect("text");
        assert!(text.contains(&format!("running as process {}", duty.pid())), "{text}");
    });
}

#[test]
fn a_signal_makes_it_look() {
    on_stage("daemon::a_signal_makes_it_look", |stage| {
        let duty = on_duty(stage, &[]);
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        duty.signal(Signal::USR1);
        wait_for_reaps(&duty, stage, 1);
        stage.assert_gone(&["orphan"]);
    });
}

#[test]
fn the_service_manager_hears_of_everything() {
    on_stage("daemon::the_service_manager_hears_of_everything", |stage| {
        stage.enter(client("live").child(actor("server", "foo-mcp")));
        let mut duty = begin(stage, &[], |command| {
            command.env("WATCHDOG_USEC", "50000");
        });
        duty.hear("READY=1");
        let at = duty.heard.iter().position(|notice| notice.contains("READY=1")).expect("heard");
        assert!(
            duty.heard[..at].iter().all(|notice| notice.contains("WATCHDOG=1")),
            "first of all: {:?}",
            duty.heard
        );
        duty.hear("STATUS=1 MCP tree\n");
        for _ in 0..3 {
            duty.hear("WATCHDOG=1");
        }
        // A process that does not run gives no sign of life, and gives it again when it does.
        duty.signal(Signal::STOP);
        stage.wait_until("it stands still", |_| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", duty.pid())).expect("it lives");
            stat.contains(") T ")
        });
        duty.forget_notices();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let heard = duty.heard.len();
        duty.forget_notices();
        assert_eq!((heard, duty.heard.len()), (0, 0));
        duty.signal(Signal::CONT);
        duty.hear("WATCHDOG=1");
        duty.signal(Signal::HUP);
        let reloading = duty.hear("RELOADING=1");
        assert!(reloading.contains("MONOTONIC_USEC="), "in one message: {reloading}");
        duty.hear("READY=1");
        duty.signal(Signal::TERM);
        duty.hear("STOPPING=1");
        assert!(duty.ended().success());
    });
}

#[test]
fn its_status_is_for_its_own_user_and_root() {
    on_stage("daemon::its_status_is_for_its_own_user_and_root", |stage| {
        let mut duty = begin(stage, &[], |command| crate::duty::as_user(command, 4001));
        duty.hear("READY=1");
        let status = duty.status(stage);
        assert_eq!(
            (&status["scope"], &status["user"]),
            (&"user".into(), &"4001".into()),
            "root may ask: {status:#}"
        );
        let own = stage.command(&["status"]).uid(4001).gid(4001).output().expect("orphand runs");
        assert!(own.status.success(), "{own:?}");
        let other = stage.command(&["status"]).uid(4002).gid(4002).output().expect("orphand runs");
        assert_eq!(other.status.code(), Some(1), "{other:?}");
        assert!(
            other.stdout.is_empty() && String::from_utf8_lossy(&other.stderr).contains("ermission denied")
        );
        // Also where the folder lets everybody in, as a service manager may make it.
        let run = stage.folder.path().join("run");
        std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).expect("opened");
        let other = stage.command(&["status"]).uid(4002).gid(4002).output().expect("orphand runs");
        assert_eq!(other.status.code(), Some(1), "{other:?}");
        let mode = std::fs::metadata(run.join("control")).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    });
}

#[test]
fn a_user_looks_after_his_own_and_cannot_aim_at_anybody_else() {
    on_stage("daemon::a_user_looks_after_his_own_and_cannot_aim_at_anybody_else", |stage| {
        for (name, uid) in [("own", 4001), ("other", 4002)] {
            let orphan = actor(&format!("{name}-orphan"), "foo-mcp").user(uid);
            stage.enter(client(&format!("{name}-client")).user(uid).child(orphan));
        }
        let mut duty = begin(stage, &[], |command| crate::duty::as_user(command, 4001));
        duty.hear("READY=1");
        stage.crash("own-client");
        stage.crash("other-client");
        wait_for_reaps(&duty, stage, 1);
        stage.assert_gone(&["own-orphan"]);
        stage.assert_alive(&["other-orphan"]);
    });
}

#[test]
fn what_it_may_not_see_is_said_with_the_remedy() {
    on_stage("daemon::what_it_may_not_see_is_said_with_the_remedy", |stage| {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: capabilities can be given by root only");
            return;
        }
        stage.enter(actor("somebody", "bash").stdio("null").user(4002));
        let service = |capabilities: &'static str| {
            move |command: &mut std::process::Command| {
                let caps = format!("--ambient-caps={capabilities}");
                let inherited = format!("--inh-caps={capabilities}");
                through(command, "setpriv", &["--reuid=4001", "--clear-groups", &inherited, &caps]);
            }
        };
        let mut duty = begin(stage, &[], service("+kill,+sys_ptrace,+dac_read_search"));
        duty.hear("READY=1");
        let status = duty.status(stage);
        assert_eq!(
            (&status["scope"], &status["shortcomings"]),
            (&"machine".into(), &serde_json::json!([])),
            "{status:#}"
        );
        duty.stop();
        let mut duty = begin(stage, &[], service("+kill,+sys_ptrace"));
        duty.hear("READY=1");
        let status = duty.status(stage);
        let what = status["shortcomings"].to_string();
        assert!(what.contains("stdin of other users' processes cannot be seen"), "{what}");
        assert!(what.contains("CAP_DAC_READ_SEARCH") && !what.contains("cannot be signalled"), "{what}");
        duty.assert_says("stdin of other users' processes cannot be seen", 1);
        let text = String::from_utf8(stage.orphand(&["status"]).stdout).expect("text");
        assert!(text.contains("cannot:") && text.contains("Remedy: "), "{text}");
        duty.stop();
        assert_eq!(stage.command(&["status"]).output().expect("runs").status.code(), Some(1));
    });
}

#[test]
fn a_hardened_service_reaps_for_others_and_hears_who_listens() {
    on_stage("daemon::a_hardened_service_reaps_for_others_and_hears_who_listens", |stage| {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: capabilities can be given by root only");
            return;
        }
        // One as usual, one over sockets, and one whose answers somebody still reads.
        let server = |name: &str| actor(name, "foo-mcp");
        let dead = client("dead").user(4002).child(server("orphan")).child(npx("sockets", "bar-mcp"));
        stage.enter(dead);
        stage.enter(client("live").user(4002).child(server("twin")));
        let heard = server("heard").does(&["leaks-stdout-to-siblings"]);
        let reader = actor("reader", "jq .").stdio("null");
        stage.enter(client("dead2").user(4002).child(heard).child(reader));
        let mut duty = begin(stage, &[], |command| {
            let capabilities = "+kill,+sys_ptrace,+dac_read_search";
            let ambient = format!("--ambient-caps={capabilities}");
            let inherited = format!("--inh-caps={capabilities}");
            through(command, "setpriv", &["--reuid=4001", "--clear-groups", &inherited, &ambient]);
        });
        duty.hear("READY=1");
        stage.crash("dead");
        stage.crash("dead2");
        wait_for_reaps(&duty, stage, 2);
        let status = duty.wait(stage, "one is left", |status| status["trees"]["orphaned"] == 1);
        assert_eq!(status["open"][0]["code"], "unproven", "{status:#}");
        stage.assert_gone(&["orphan", "sockets", "sockets-sh", "sockets-leaf"]);
        stage.assert_alive(&["live", "twin", "reader", "heard"]);
    });
}

#[test]
fn a_verdict_is_said_once_and_again_when_it_changes() {
    on_stage("daemon::a_verdict_is_said_once_and_again_when_it_changes", |stage| {
        stage.enter(client("dead").child(actor("kept", "foo-mcp").env("ORPHAND", "keep")));
        let duty = on_duty(stage, &[]);
        stage.crash("dead");
        duty.wait(stage, "it is an orphan", |status| status["trees"]["orphaned"] == 1);
        duty.assert_says("foo-mcp", 0);
        for _ in 0..5 {
            stage.sweep();
        }
        assert!(duty.status(stage)["looks"].as_u64().expect("a count") >= 6);
        duty.assert_says("spared: ORPHAND=keep", 1);
        duty.assert_says("foo-mcp", 1);
        let open = &duty.status(stage)["open"][0];
        assert_eq!((&open["code"], &open["root"]), (&"protected".into(), &stage.pid("kept").into()));
        let text = String::from_utf8(stage.orphand(&["status"]).stdout).expect("text");
        assert!(text.contains("spare foo-mcp of opencode"), "{text}");
        stage.send("kept", Signal::KILL);
        stage.wait_until("it is gone", |stage| !stage.lives("kept"));
        stage.sweep();
        duty.assert_says("has ended by itself", 1);
    });
}

#[test]
fn servers_that_end_with_their_client_are_no_news() {
    on_stage("daemon::servers_that_end_with_their_client_are_no_news", |stage| {
        let mut live = client("client");
        for number in 0..5 {
            live = live.child(actor(&format!("server{number}"), "foo-mcp").does(&["die-with-parent"]));
        }
        stage.enter(live);
        stage.set("orphan.min_age=1h");
        let duty = on_duty(stage, &[]);
        stage.crash("client");
        duty.wait(stage, "it has looked", |status| status["looks"].as_u64() >= Some(2));
        duty.wait(stage, "they are gone", |status| status["trees"]["total"] == 0);
        duty.assert_says("foo-mcp", 0);
    });
}

#[test]
fn the_death_of_a_client_that_nobody_knows_is_noticed_too() {
    on_stage("daemon::the_death_of_a_client_that_nobody_knows_is_noticed_too", |stage| {
        let agent = |name: &str| actor(name, "node /h/agents/mine.js").stdio("null");
        stage.enter(agent("dead").child(npx("orphan", "foo-mcp")));
        stage.enter(agent("live").child(npx("twin", "foo-mcp")));
        let duty = on_duty(stage, &[]);
        let status = duty.status(stage);
        assert_eq!(
            (&status["trees"]["total"], &status["watched"]["parents"]),
            (&2.into(), &2.into()),
            "{status:#}"
        );
        stage.crash("dead");
        wait_for_reaps(&duty, stage, 1);
        stage.assert_gone(&["orphan", "orphan-sh", "orphan-leaf"]);
        stage.assert_alive(&["live", "twin", "twin-sh", "twin-leaf"]);
    });
}

#[test]
fn the_journal_gets_priorities_and_others_get_json() {
    on_stage("daemon::the_journal_gets_priorities_and_others_get_json", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let log = stage.folder.path().join("log");
        std::fs::write(&log, "").expect("made");
        let meta = std::fs::metadata(&log).expect("there");
        let journal = {
            use std::os::unix::fs::MetadataExt;
            format!("{}:{}", meta.dev(), meta.ino())
        };
        let mut duty = begin(stage, &[], |command| {
            command.env("JOURNAL_STREAM", &journal);
        });
        duty.hear("READY=1");
        wait_for_reaps(&duty, stage, 1);
        duty.stop();
        let log = duty.log();
        assert!(log.lines().all(|line| line.starts_with("<6>")), "{log}");
        assert!(log.contains("code=\"hung-up\"") && log.contains("server=\"foo-mcp\""), "{log}");
        std::fs::remove_file(stage.folder.path().join("log")).expect("removed");
        stage.enter(client("dead2").child(actor("orphan2", "bar-mcp")));
        stage.crash("dead2");
        let mut duty = on_duty(stage, &["--log", "json"]);
        wait_for_reaps(&duty, stage, 1);
        duty.stop();
        let lines: Vec<serde_json::Value> =
            duty.log().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let reaped = lines.iter().find(|line| line["code"] == "hung-up").expect("said");
        assert_eq!((&reaped["server"], &reaped["tree"]), (&"bar-mcp".into(), &stage.pid("orphan2").into()));
        assert!(reaped["freed"].is_string() && reaped["timestamp"].is_string(), "{reaped}");
    });
}

#[test]
fn a_log_that_is_moved_away_is_opened_anew_in_its_place() {
    on_stage("daemon::a_log_that_is_moved_away_is_opened_anew_in_its_place", |stage| {
        let mut duty = on_duty(stage, &[]);
        let log = stage.folder.path().join("log");
        let moved = stage.folder.path().join("log.0");
        std::fs::rename(&log, &moved).expect("moved");
        let before = std::fs::read_to_string(&moved).expect("a log");
        duty.signal(Signal::HUP);
        duty.hear("READY=1");
        // What is said goes to the file of that name again, and no longer to the old one.
        duty.assert_says("configuration", 1);
        assert_eq!(std::fs::read_to_string(&moved).expect("still there"), before);
        // A link that somebody else could have put there is not followed.
        std::fs::remove_file(&log).expect("removed");
        let elsewhere = stage.folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "").expect("written");
        std::os::unix::fs::symlink(&elsewhere, &log).expect("a link");
        assert!(duty.stop().success());
        assert_eq!(std::fs::read_to_string(&elsewhere).expect("there"), "");
    });
}

#[test]
fn what_signals_rest_on_is_told() {
    on_stage("daemon::what_signals_rest_on_is_told", |stage| {
        let word = if cfg!(feature = "portable") { "comparison" } else { "pidfd" };
        assert_eq!(stage.sweep()["signals"], word);
        let mut duty = on_duty(stage, &[]);
        assert_eq!(duty.status(stage)["signals"], word);
        assert_eq!(stage.sweep()["signals"], word, "also where the daemon sweeps");
        let text = stage.orphand(&["status"]);
        let text = String::from_utf8_lossy(&text.stdout);
        assert_eq!(text.contains("the weaker guarantee"), cfg!(feature = "portable"), "{text}");
        assert!(duty.stop().success());
    });
}
