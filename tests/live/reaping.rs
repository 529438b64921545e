//! Who dies, how, and who must not.

use crate::stage::{actor, client, npx, on_stage, result, verdict};

#[test]
fn an_orphaned_pair_dies_and_its_twin_under_a_live_client_lives() {
    on_stage("reaping::an_orphaned_pair_dies_and_its_twin_under_a_live_client_lives", |stage| {
        for (name, stdio) in [("pipes", "pipe"), ("sockets", "socket")] {
            let server = |who: &str| {
                let leaf = actor(&format!("{who}-{name}-leaf"), "node /h/node_modules/.bin/context7-mcp")
                    .stdio("inherit");
                actor(&format!("{who}-{name}"), "'npm exec @upstash/context7-mcp@latest'")
                    .stdio(stdio)
                    .child(leaf)
            };
            stage.enter(client(&format!("dead-client-{name}")).child(server("orphan")));
            stage.enter(client(&format!("client-{name}")).child(server("twin")));
            stage.crash(&format!("dead-client-{name}"));
        }
        let scan = stage.scan();
        assert_eq!(scan["totals"]["reap"], 2, "{scan:#}");
        let sweep = stage.sweep();
        for name in ["pipes", "sockets"] {
            let tree = stage.tree(&sweep, &format!("orphan-{name}"));
            assert_eq!((verdict(tree), result(tree)), (("reap", "hung-up"), "gone"), "{tree:#}");
            assert_eq!(tree["adopter"]["kind"], "init");
            assert_eq!((&tree["outcome"]["terminated"], &tree["outcome"]["killed"]), (&2.into(), &0.into()));
            stage.assert_gone(&[&format!("orphan-{name}"), &format!("orphan-{name}-leaf")]);
            stage.assert_alive(&[
                &format!("twin-{name}"),
                &format!("twin-{name}-leaf"),
                &format!("client-{name}"),
            ]);
        }
    });
}

#[test]
fn three_levels_of_npx_go_together() {
    on_stage("reaping::three_levels_of_npx_go_together", |stage| {
        stage.enter(client("dead").child(npx("orphan", "mysql-mcp-server")));
        stage.enter(client("live").child(npx("twin", "mysql-mcp-server")));
        stage.crash("dead");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "orphan-leaf");
        assert_eq!(
            (verdict(tree), result(tree), &tree["server"]),
            (("reap", "hung-up"), "gone", &"mysql".into())
        );
        let roles: Vec<&str> =
            tree["members"].as_array().unwrap().iter().filter_map(|one| one["role"].as_str()).collect();
        assert_eq!(roles, ["launcher", "launcher", "server"]);
        stage.assert_gone(&["orphan", "orphan-sh", "orphan-leaf"]);
        stage.assert_alive(&["twin", "twin-sh", "twin-leaf", "live"]);
        assert!(stage.find_tree(&sweep, "twin").is_none(), "an owned tree is not shown");
        let all = stage.json(&["scan", "--all", "--json"]);
        let twin = stage.tree(&all, "twin");
        assert_eq!((verdict(twin), &twin["client"]["name"]), (("spare", "owned"), &"opencode".into()));
        assert_eq!(twin["lifeline"], "held");
    });
}

#[test]
fn eight_that_ignore_sigterm_share_one_grace_period() {
    on_stage("reaping::eight_that_ignore_sigterm_share_one_grace_period", |stage| {
        let mut dead = client("dead");
        let names: Vec<String> = (0..8).map(|number| format!("stubborn{number}")).collect();
        for name in &names {
            dead = dead.child(actor(name, "foo-mcp").does(&["ignore-term"]));
        }
        stage.enter(dead);
        stage.enter(client("live").child(actor("twin", "foo-mcp").does(&["ignore-term"])));
        stage.crash("dead");
        let sweep = stage.sweep();
        for name in &names {
            let tree = stage.tree(&sweep, name);
            assert_eq!((result(tree), &tree["outcome"]["killed"]), ("killed", &1.into()));
            let took = tree["outcome"]["took_ms"].as_u64().unwrap();
            assert!((1000..2000).contains(&took), "{took} ms: one grace period of 1 s, not eight");
            stage.assert_gone(&[name]);
        }
        stage.assert_alive(&["twin", "live"]);
    });
}

#[test]
fn a_stopped_server_is_woken_to_end() {
    on_stage("reaping::a_stopped_server_is_woken_to_end", |stage| {
        stage.enter(client("dead").child(actor("orphan", "foo-mcp").does(&["stop"])));
        stage.wait_until("it is stopped", |stage| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", stage.pid("orphan"))).unwrap();
            stat.contains(") T ")
        });
        stage.crash("dead");
        // The kernel continues stopped processes of an orphaned group; stop it once more.
        stage.send("orphan", rustix::process::Signal::STOP);
        stage.wait_until("it is stopped again", |stage| {
            std::fs::read_to_string(format!("/proc/{}/stat", stage.pid("orphan"))).unwrap().contains(") T ")
        });
        let sweep = stage.sweep();
        assert_eq!(result(stage.tree(&sweep, "orphan")), "gone", "SIGTERM and SIGCONT, no SIGKILL");
        stage.assert_gone(&["orphan"]);
    });
}

#[test]
fn a_child_forked_while_dying_goes_too() {
    on_stage("reaping::a_child_forked_while_dying_goes_too", |stage| {
        let heir = actor("heir", "python3 /x/worker.py").stdio("inherit").does(&["ignore-term"]);
        stage.enter(client("dead").child(actor("orphan", "foo-mcp").heir(heir.clone())));
        stage.enter(client("live").child(actor("twin", "foo-mcp").heir(heir)));
        stage.crash("dead");
        let sweep = stage.sweep();
        assert_eq!(stage.hear(), "heir");
        let tree = stage.tree(&sweep, "orphan");
        assert_eq!((result(tree), &tree["outcome"]["killed"]), ("killed", &1.into()), "{tree:#}");
        stage.assert_gone(&["orphan", "heir"]);
        stage.assert_alive(&["twin"]);
    });
}

#[test]
fn a_strangers_child_with_the_same_dead_stdin_is_not_taken_for_one() {
    on_stage("reaping::a_strangers_child_with_the_same_dead_stdin_is_not_taken_for_one", |stage| {
        // The scheduler shares the server's stdin and starts a job while the server is on its way down.
        let job = actor("job", "python3 nightly_backup.py").stdio("inherit");
        let starter = actor("starter", "true").stdio("inherit").does(&["leave-children"]).child(job);
        let scheduler = actor("scheduler", "nightly-scheduler").stdio("inherit").heir(starter);
        let server = actor("orphan", "foo-mcp").stdio("inherit").does(&["tell-term", "ignore-term"]);
        let forker = actor("forker", "true").does(&["leave-children"]).child(scheduler).child(server);
        stage.enter(client("dead").child(forker));
        stage.wait_until("init has both", |stage| {
            stage.parent("scheduler") == 1 && stage.parent("orphan") == 1
        });
        stage.crash("dead");
        let mut sweep =
            stage.command(&["sweep", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        assert_eq!(stage.hear(), "orphan got SIGTERM");
        stage.send("scheduler", rustix::process::Signal::TERM);
        let mut heard = [stage.hear(), stage.hear()];
        heard.sort();
        assert_eq!(heard, ["job", "starter"]);
        sweep.wait().unwrap();
        stage.assert_gone(&["orphan"]);
        stage.assert_alive(&["job"]);
    });
}

#[test]
fn what_became_a_client_on_the_way_down_is_left_alone() {
    on_stage("reaping::what_became_a_client_on_the_way_down_is_left_alone", |stage| {
        let shell = actor("shell", "python3 loop.py")
            .does(&["tell-term", "ignore-term"])
            .becomes(actor("agent", "claude").stdio("inherit"));
        stage.enter(
            client("dead").child(actor("orphan", "foo-mcp").does(&["tell-term", "ignore-term"]).child(shell)),
        );
        stage.crash("dead");
        let mut sweep =
            stage.command(&["sweep", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut heard = [stage.hear(), stage.hear()];
        heard.sort();
        assert_eq!(heard, ["orphan got SIGTERM", "shell got SIGTERM"]);
        stage.send("shell", rustix::process::Signal::USR1);
        assert_eq!(stage.hear(), "agent");
        assert_eq!(sweep.wait().unwrap().code(), Some(3), "not all could be ended, and that is said");
        stage.assert_gone(&["orphan"]);
        stage.assert_alive(&["agent"]);
    });
}

#[test]
fn a_late_child_that_became_a_client_is_left_alone_too() {
    on_stage("reaping::a_late_child_that_became_a_client_is_left_alone_too", |stage| {
        let heir = actor("heir", "bash -i")
            .stdio("inherit")
            .does(&["tell-term", "ignore-term"])
            .becomes(actor("agent", "claude").stdio("inherit"));
        stage.enter(client("dead").child(actor("orphan", "foo-mcp").heir(heir)));
        stage.crash("dead");
        let mut sweep =
            stage.command(&["sweep", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        assert_eq!((stage.hear(), stage.hear()), ("heir".to_owned(), "heir got SIGTERM".to_owned()));
        stage.send("heir", rustix::process::Signal::USR1);
        assert_eq!(stage.hear(), "agent");
        assert_eq!(sweep.wait().unwrap().code(), Some(3), "not all could be ended, and that is said");
        stage.assert_gone(&["orphan"]);
        stage.assert_alive(&["agent"]);
    });
}

#[test]
fn without_descriptors_to_look_with_nobody_is_mistaken() {
    on_stage("reaping::without_descriptors_to_look_with_nobody_is_mistaken", |stage| {
        let shell = actor("shell", "sh -c 'vite & npx -y foo-mcp; wait'")
            .child(actor("vite", "node /x/vite.js").stdio("inherit"))
            .child(actor("foo", "'npm exec foo-mcp'").stdio("inherit"));
        stage.enter(client("dead").child(shell));
        stage.crash("dead");
        for files in 3..20 {
            let orphand = stage.command(&["sweep"]);
            let mut limited = std::process::Command::new("prlimit");
            limited
                .arg(format!("--nofile={files}:{files}"))
                .arg(orphand.get_program())
                .args(orphand.get_args());
            let output =
                limited.stdin(std::process::Stdio::null()).output().expect("prlimit is part of util-linux");
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 1 | 2 | 127)),
                "{files}: {code:?} {}",
                String::from_utf8_lossy(&output.stderr)
            );
            stage.assert_alive(&["shell", "vite", "foo"]);
        }
    });
}

#[test]
fn descendants_go_and_a_spinning_server_is_not_active() {
    on_stage("reaping::descendants_go_and_a_spinning_server_is_not_active", |stage| {
        let worker = actor("worker", "node /x/worker.js").does(&["setsid"]);
        stage.enter(
            client("dead").child(actor("orphan", "foo-mcp").does(&["spin", "ignore-term"]).child(worker)),
        );
        stage.crash("dead");
        let sweep = stage.sweep();
        assert_eq!(result(stage.tree(&sweep, "orphan")), "killed");
        stage.assert_gone(&["orphan", "worker"]);
    });
}

#[test]
fn a_shell_that_runs_something_beside_a_server_is_left_alone() {
    on_stage("reaping::a_shell_that_runs_something_beside_a_server_is_left_alone", |stage| {
        let shell = actor("shell", "sh -c 'vite & npx -y foo-mcp; wait'")
            .child(actor("vite", "node /x/vite.js").stdio("inherit"))
            .child(actor("foo", "'npm exec foo-mcp'").stdio("inherit"));
        stage.enter(client("dead").child(shell));
        stage.crash("dead");
        let sweep = stage.sweep();
        assert_eq!(sweep["totals"]["reap"], 0, "{sweep:#}");
        stage.assert_alive(&["shell", "vite", "foo"]);
    });
}

#[test]
fn an_unknown_wrapper_that_hands_its_stdio_down_goes_with_its_server() {
    on_stage("reaping::an_unknown_wrapper_that_hands_its_stdio_down_goes_with_its_server", |stage| {
        let wrapper = |name: &str| {
            let server = actor(&format!("{name}-server"), "foo-mcp").stdio("inherit");
            actor(name, "python3 /opt/wrap.py").child(server)
        };
        stage.enter(client("dead").child(wrapper("orphan")));
        stage.enter(client("live").child(wrapper("twin")));
        stage.crash("dead");
        let sweep = stage.sweep();
        assert_eq!(result(stage.tree(&sweep, "orphan")), "gone");
        stage.assert_gone(&["orphan", "orphan-server"]);
        stage.assert_alive(&["twin", "twin-server"]);
    });
}

#[test]
fn what_only_looks_like_a_server_is_never_touched() {
    on_stage("reaping::what_only_looks_like_a_server_is_never_touched", |stage| {
        let lines = [
            "python3 /home/u/my-mcp-server/train.py",
            "vim mcp-server-notes/README.md",
            "tail -f mcp.log",
            "grep -r mcp-server .",
            "git clone https://example.org/mcp-server",
            "node /x/pyright-langserver.js --stdio",
            "tmux",
        ];
        let mut dead = client("dead");
        let names: Vec<String> = (0..lines.len()).map(|number| format!("friend{number}")).collect();
        for (name, line) in names.iter().zip(lines) {
            dead = dead.child(actor(name, line));
        }
        stage.enter(dead.child(actor("orphan", "foo-mcp")));
        stage.crash("dead");
        let sweep = stage.sweep();
        assert_eq!(sweep["totals"]["trees"], 1, "{sweep:#}");
        stage.assert_gone(&["orphan"]);
        stage.assert_alive(&names.iter().map(String::as_str).collect::<Vec<_>>());
    });
}

#[test]
fn a_tree_with_a_browser_is_spared_and_later_goes_as_a_whole() {
    on_stage("reaping::a_tree_with_a_browser_is_spared_and_later_goes_as_a_whole", |stage| {
        let browser = actor("browser", "chromium --headless=new --remote-debugging-pipe")
            .child(actor("renderer", "chromium --type=renderer").stdio("inherit"));
        let window = actor("window", "firefox https://example.org").stdio("null");
        let server =
            actor("server", "node /h/node_modules/@playwright/mcp/cli.js").child(browser).child(window);
        stage.enter(client("dead").child(server));
        stage.crash("dead");
        assert_eq!(verdict(stage.tree(&stage.sweep(), "server")), ("spare", "browser"));
        stage.assert_alive(&["server", "browser", "renderer"]);
        stage.options.extend(["--set".to_owned(), "spare.browser_for=0s".to_owned()]);
        let sweep = stage.sweep();
        assert_eq!(result(stage.tree(&sweep, "server")), "gone", "{sweep:#}");
        stage.assert_gone(&["server", "browser", "renderer"]);
        stage.assert_alive(&["window"]);
    });
}
