//! A real Chromium below a server, and left behind by one.

use crate::stage::{Stage, actor, client, on_stage, result, verdict};
use std::path::Path;

/// Debian's browser, where it is installed. Continuous integration installs it.
fn chromium() -> Option<&'static str> {
    let found = ["/usr/lib/chromium/chromium"].into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        println!("skipped: no chromium to be had here (apt-get install chromium)");
    }
    found
}

/// A shell that hands its stdin and stdout to Chromium as debugging pipe, and becomes it.
fn script(chromium: &str, profile: &Path, options: &str) -> String {
    let pipe = if options.contains("port") { "" } else { "--remote-debugging-pipe" };
    format!(
        "exec 3<&0 4>&1 </dev/null >/dev/null 2>&1; exec {chromium} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
         --no-first-run {pipe} {options} --user-data-dir={}/playwright_chromiumdev_profile-1 about:blank",
        profile.display()
    )
}

/// Waits until Chromium has started its helpers, and returns everyone of it.
fn browser(stage: &Stage) -> Vec<i32> {
    let all = || {
        let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("chromium")
                && line.contains("playwright_chromiumdev_profile")
                && !line.starts_with("sh")
        })
        .collect::<Vec<i32>>()
    };
    // It starts and ends short-lived helpers for a while; it has settled when it has had the same ones for long enough.
    let settled = std::cell::Cell::new((Vec::new(), 0));
    stage.wait_until("chromium has started its helpers", |_| {
        let (before, times) = settled.take();
        let now = all();
        let times = if now.len() >= 4 && now == before { times + 1 } else { 0 };
        settled.set((now, times));
        times >= 200
    });
    all()
}

#[test]
fn a_real_browser_spares_its_tree_and_goes_with_it() {
    on_stage("browsers::a_real_browser_spares_its_tree_and_goes_with_it", |stage| {
        let Some(chromium) = chromium() else { return };
        let script = script(chromium, stage.folder.path(), "");
        let line = shell_words::join(["sh", "-c", &script]);
        let browser_actor = actor("browser", &line).program("/bin/sh");
        stage.enter(client("dead").child(actor("server", "foo-mcp").child(browser_actor)));
        let all = browser(stage);
        stage.crash("dead");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "server");
        assert_eq!(verdict(tree), ("spare", "browser"), "{tree:#}");
        let is_member = |pid: &i32| {
            tree["members"]
                .as_array()
                .unwrap()
                .iter()
                .any(|member| member["pid"] == *pid && member["role"] == "browser")
        };
        assert!(all.iter().all(is_member), "{all:?} are all its members: {tree:#}");
        stage.options.extend(["--set".to_owned(), "spare.browser_for=0s".to_owned()]);
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "server");
        assert!(["gone", "killed"].contains(&result(tree)), "{tree:#}");
        for pid in all {
            assert!(!crate::stage::lives(pid), "{pid} must be gone");
        }
    });
}

#[test]
fn a_real_browser_on_a_port_whose_server_is_gone_is_reported() {
    on_stage("browsers::a_real_browser_on_a_port_whose_server_is_gone_is_reported", |stage| {
        let Some(chromium) = chromium() else { return };
        let script = script(chromium, stage.folder.path(), "--remote-debugging-port=0");
        let line = shell_words::join(["sh", "-c", &script]);
        stage.enter(actor("server", "foo-mcp").child(actor("browser", &line).program("/bin/sh")));
        let all = browser(stage);
        stage.crash("server");
        // A process that ends during a look is a fact that is missing; the next look has it no more.
        let reported = |stage: &Stage| {
            let scan = stage.scan();
            scan["totals"]["report"] == 1 && scan["trees"][0]["code"] == "unproven"
        };
        stage.wait_until("it is reported", reported);
        let sweep = stage.sweep();
        let trees = sweep["trees"].as_array().unwrap();
        let tree =
            trees.iter().find(|tree| all.iter().any(|pid| tree["root"] == *pid)).expect("the browser's tree");
        assert_eq!((trees.len(), verdict(tree)), (1, ("report", "unproven")), "{sweep:#}");
        assert!(all.iter().all(|pid| crate::stage::lives(*pid)));
    });
}

#[test]
fn a_browser_whose_server_is_gone_is_convicted_by_its_debugging_pipe() {
    on_stage("browsers::a_browser_whose_server_is_gone_is_convicted_by_its_debugging_pipe", |stage| {
        // A real Chromium ends by itself then; one that hangs does not.
        let arguments =
            "--headless --remote-debugging-pipe --user-data-dir=/tmp/puppeteer_dev_chrome_profile-7";
        let helper =
            actor("renderer", "chromium --type=renderer --user-data-dir=/tmp/puppeteer_dev_chrome_profile-7");
        let hanging = |name: &str| actor(name, &format!("chromium {arguments}")).stdio("debug");
        stage.enter(
            actor("dead", "foo-mcp").stdio("null").child(hanging("hanging").child(helper.stdio("null"))),
        );
        stage.enter(
            actor("live", "node /x/crawler.js").stdio("null").child(
                actor("forker", "sh")
                    .stdio("debug")
                    .does(&["leave-children"])
                    .child(hanging("held").stdio("inherit")),
            ),
        );
        stage.enter(actor("user", "chromium https://example.org").stdio("null"));
        stage.crash("dead");
        let sweep = stage.sweep();
        let tree = stage.tree(&sweep, "hanging");
        assert_eq!((verdict(tree), result(tree)), (("reap", "hung-up"), "gone"), "{sweep:#}");
        assert_eq!(
            verdict(stage.tree(&sweep, "held")),
            ("report", "unproven"),
            "its crawler lives: {sweep:#}"
        );
        stage.assert_gone(&["hanging", "renderer"]);
        stage.assert_alive(&["held", "live", "user"]);
    });
}
