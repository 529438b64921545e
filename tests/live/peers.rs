//! The labelled table that other tools were measured with, rebuilt from real processes with real stdio.

use crate::stage::{Actor, Stage, actor, on_stage, parse, result, verdict};
use std::os::unix::process::CommandExt;

const USER: u32 = 4001;
const MODULES: &str = "/home/u/node_modules";

/// A server whose client has crashed: its parent is started and killed.
fn orphan(stage: &mut Stage, server: Actor) {
    let name = format!("{}-client", server.name());
    stage.enter(actor(&name, "opencode").stdio("null").user(USER).child(server));
    stage.crash(&name);
}

#[test]
fn nine_that_must_die_and_all_the_others_that_must_live() {
    on_stage("peers::nine_that_must_die_and_all_the_others_that_must_live", |stage| {
        let node = |name: &str, path: &str| actor(name, &format!("node {MODULES}/{path}"));
        // Must die: wrapper and leaf, four more at PID 1, two at the user's manager.
        let a2 = node("A2", ".bin/context7-mcp").stdio("inherit");
        orphan(stage, actor("A1", "'npm exec @upstash/context7-mcp@latest'").child(a2));
        orphan(stage, node("B", "@modelcontextprotocol/server-github/dist/index.js"));
        orphan(stage, node("B3", ".bin/mcp-server-cloudflare run"));
        orphan(stage, node("K", ".bin/mongodb-mcp-server").does(&["ignore-term"]));
        let manager =
            actor("SD", "/usr/lib/systemd/systemd --user").stdio("null").does(&["subreaper", "reap"]);
        let crashing = actor("CD-client", "opencode")
            .stdio("null")
            .child(node("C", ".bin/mysql-mcp-server"))
            .child(actor("D", "python3 -m mcp_server_fetch"));
        let start = actor("starter", "true").stdio("null").user(USER).does(&["leave-children"]);
        stage.enter(start.child(manager.child(crashing)));
        stage.wait_until("init is the manager's parent", |stage| stage.parent("SD") == 1);
        stage.crash("CD-client");
        // An agent without its driver, with a server: for a person to decide.
        let o1 = actor("O1", "claude --output-format stream-json").child(node("O2", ".bin/context7-mcp"));
        stage.enter(actor("O-driver", "node app.js").stdio("null").user(USER).child(o1));
        stage.crash("O-driver");
        // Must live.
        let e3 = node("E3", ".bin/playwright-mcp").stdio("inherit");
        let e2 = actor("E2", "'npm exec @playwright/mcp@latest'").child(e3);
        stage.enter(actor("E1", "opencode").stdio("null").user(USER).child(e2));
        let f3 = actor("F3", "claude --output-format stream-json");
        stage.enter(
            actor("F1", "claude").stdio("null").user(USER).child(node("F2", ".bin/context7-mcp")).child(f3),
        );
        let g2 = actor("G2", "chrome --headless --remote-debugging-pipe").stdio("null");
        orphan(stage, node("G1", ".bin/playwright-mcp").child(g2));
        let service = |name: &str, line: &str| actor(name, line).stdio("null").user(USER);
        // systemd gives a service its own pid; an exec keeps it.
        let h = node("H", ".bin/prod-mcp-server").stdio("inherit").env("SYSTEMD_EXEC_PID", "$PID");
        let manager = actor("service-manager", "true").stdio("null").user(USER).does(&["leave-children"]);
        stage.enter(manager.child(actor("before-H", "systemd-executor").becomes(h)));
        stage.wait_until("init has the service", |stage| stage.parent("before-H") == 1);
        stage.send("before-H", rustix::process::Signal::USR1);
        assert_eq!(stage.hear(), "H");
        for (name, line) in [
            ("I", "python3 /home/u/my-mcp-server/train.py"),
            ("Q", "vim mcp-server-notes/README.md"),
            ("P", "/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql"),
        ] {
            stage.enter(service(&format!("{name}-shell"), "bash").child(actor(name, line)));
            stage.crash(&format!("{name}-shell"));
        }
        let n = actor("N2", "claude").stdio("null").child(node("N3", ".bin/context7-mcp"));
        stage.enter(actor("N1", "tmux new -s x").stdio("null").user(USER).child(n));
        stage.enter(
            actor("M-client", "opencode").stdio("null").user(USER + 1).child(node("M", ".bin/context7-mcp")),
        );
        stage.crash("M-client");

        let mut sweep = stage.command(&["sweep", "--json"]);
        let sweep = parse(&sweep.uid(USER).gid(USER).output().expect("orphand runs"));
        let dead = ["A1", "A2", "B", "B3", "C", "D", "K"];
        for name in dead {
            let tree = stage.tree(&sweep, name);
            assert_eq!(verdict(tree), ("reap", "hung-up"), "{name}: {tree:#}");
            assert_eq!(result(tree), if name == "K" { "killed" } else { "gone" }, "{name}: {tree:#}");
        }
        stage.assert_gone(&dead);
        assert_eq!(verdict(stage.tree(&sweep, "O1")), ("report", "contains-client"), "{sweep:#}");
        assert_eq!(verdict(stage.tree(&sweep, "G1")), ("spare", "browser"));
        assert_eq!(verdict(stage.tree(&sweep, "H")), ("spare", "managed"));
        stage.assert_alive(&[
            "O1", "O2", "E1", "E2", "E3", "F1", "F2", "F3", "G1", "G2", "H", "I", "P", "Q", "N1", "N2", "N3",
            "M", "SD",
        ]);
        assert_eq!(sweep["totals"]["reap"], 6, "{sweep:#}");
    });
}
