use super::*;
use crate::process::Descriptor;
use crate::testing::Table;

fn chain(tree: &Tree) -> Vec<i32> {
    tree.chain.iter().map(|pid| pid.get()).collect()
}

fn members(tree: &Tree) -> Vec<(i32, &'static str)> {
    tree.members.iter().map(|member| (member.pid.get(), member.role.word())).collect()
}

/// npm exec -> sh -c -> node, with one set of sockets for all three, as npm does it.
fn npx(table: &mut Table, first: i32, parent: i32) {
    table.add(first, parent, "'npm exec mysql-mcp-server'");
    table.add(first + 1, first, "sh -c mysql-mcp-server").stdio_of(first);
    table.add(first + 2, first + 1, "node /h/.npm/_npx/1/node_modules/.bin/mysql-mcp-server").stdio_of(first);
}

#[test]
fn three_levels_of_npx_are_one_tree_and_the_innermost_is_the_server() {
    let mut table = Table::new();
    npx(&mut table, 10, 1);
    let found = table.trees();
    assert_eq!(found.len(), 1);
    assert_eq!(chain(&found[0]), [10, 11, 12]);
    assert_eq!(
        (found[0].name.as_str(), found[0].adopter.map(|adopter| adopter.kind)),
        ("mysql", Some(AdopterKind::Init))
    );
    assert_eq!(members(&found[0]), [(10, "launcher"), (11, "launcher"), (12, "server")]);
}

#[test]
fn a_wrapper_alone_stands_for_the_server_that_it_names() {
    let mut table = Table::new();
    table.add(10, 1, "'npm exec mysql-mcp-server'");
    let found = table.trees();
    assert_eq!((found.len(), members(&found[0])), (1, vec![(10, "server")]));
}

#[test]
fn a_shell_that_runs_something_beside_the_server_is_no_launcher() {
    let mut table = Table::new();
    table.add(10, 1, "sh -c 'vite & npx -y foo-mcp; wait'");
    table.add(11, 10, "node /x/vite");
    table.add(12, 10, "'npm exec foo-mcp'").stdio_of(10);
    let found = table.trees();
    assert_eq!(found.len(), 1);
    assert_eq!((chain(&found[0]), found[0].adopter), (vec![12], None));
}

#[test]
fn a_wrapper_that_names_a_server_but_runs_two_things_is_left_out_itself() {
    let mut table = Table::new();
    table.add(10, 1, "'npm exec foo-mcp'");
    table.add(11, 10, "node /x/node_modules/.bin/foo-mcp").stdio_of(10);
    table.add(12, 10, "node /x/other.js");
    let found = table.trees();
    assert_eq!((found.len(), chain(&found[0]), found[0].adopter), (1, vec![11], None));
}

#[test]
fn a_dead_sibling_does_not_make_a_shell_busy() {
    let mut table = Table::new();
    table.add(10, 1, "sh run.sh");
    table.add(11, 10, "true").zombie();
    table.add(12, 10, "foo-mcp").stdio_of(10);
    assert_eq!(chain(&table.trees()[0]), [10, 12]);
}

#[test]
fn an_unknown_wrapper_that_hands_its_own_stdio_down_is_a_launcher() {
    let mut table = Table::new();
    table.add(10, 1, "python3 /opt/wrap.py");
    table.add(11, 10, "foo-mcp").stdio_of(10);
    let found = table.trees();
    assert_eq!(chain(&found[0]), [10, 11]);
    assert!(found[0].adopter.is_some());
}

#[test]
fn an_unknown_parent_with_stdio_of_its_own_owns_the_server() {
    let mut table = Table::new();
    table.add(10, 1, "python3 /opt/agent.py");
    table.add(11, 10, "foo-mcp");
    let found = table.trees();
    assert_eq!((chain(&found[0]), found[0].adopter), (vec![11], None));
}

#[test]
fn terminals_do_not_make_a_shell_a_launcher() {
    let mut table = Table::new();
    table.add(10, 1, "bash").stdin(Descriptor::Terminal).stdout(Descriptor::Terminal);
    table.add(11, 10, "foo-mcp").stdin(Descriptor::Terminal).stdout(Descriptor::Terminal);
    assert_eq!(table.trees()[0].adopter, None);
}

#[test]
fn a_host_owns_what_it_starts_also_at_pid_1() {
    for host in
        ["tmux new", "socat TCP-LISTEN:1 EXEC:foo-mcp", "'PM2 v5: God Daemon (/h)'", "supervisord", "cron -f"]
    {
        let mut table = Table::new();
        table.add(10, 1, host);
        table.add(11, 10, "foo-mcp").stdio_of(10);
        assert_eq!(table.trees()[0].adopter, None, "{host}");
    }
}

#[test]
fn a_user_manager_is_verified_by_arguments_parent_and_user() {
    let manager = |line: &str, parent: i32, uid: u32| {
        let mut table = Table::new();
        table.add(5, 1, "something");
        table.add(10, parent, line).user(uid);
        table.add(11, 10, "foo-mcp");
        table.trees()[0].adopter.map(|adopter| adopter.kind)
    };
    assert_eq!(manager("/lib/systemd/systemd --user", 1, 1000), Some(AdopterKind::UserManager));
    assert_eq!(
        manager("/lib/systemd/systemd --user --deserialize=3", 1, 1000),
        Some(AdopterKind::UserManager)
    );
    assert_eq!(manager("/lib/systemd/systemd --user", 1, 1001), None, "another user's manager");
    assert_eq!(manager("/lib/systemd/systemd --user", 5, 1000), None, "not started by PID 1");
    assert_eq!(manager("/lib/systemd/systemd", 1, 1000), None, "no --user");
    assert_eq!(manager("/x/systemd-thing --user", 1, 1000), None, "only a similar name");
}

#[test]
fn wsl_adopts_only_on_wsl_and_only_as_root() {
    let adopter = |wsl: bool, uid: u32| {
        let mut table = Table::new();
        if wsl {
            table.wsl();
        }
        table.add(8, 1, "/init").user(uid);
        table.add(9, 8, "'Relay(10)'").user(uid);
        table.add(11, 9, "foo-mcp");
        table.trees()[0].adopter.map(|adopter| adopter.kind)
    };
    assert_eq!(adopter(true, 0), Some(AdopterKind::Wsl));
    assert_eq!(adopter(true, 1000), None);
    assert_eq!(adopter(false, 0), None);
}

#[test]
fn a_configured_adopter_counts_for_its_own_user_only() {
    let adopter = |uid: u32| {
        let mut table = Table::new();
        table.config("[[adopter]]\nname = 'omni'\nprogram = 'omni-host'\n");
        table.add(10, 1, "omni-host").user(uid);
        table.add(11, 10, "foo-mcp");
        table.trees()[0].adopter.map(|adopter| adopter.kind)
    };
    assert_eq!(adopter(1000), Some(AdopterKind::Configured));
    assert_eq!(adopter(1001), None);
}

#[test]
fn pid_1_that_is_no_init_is_a_weak_adopter_and_no_server_itself() {
    let mut table = Table::new();
    table.remove(1);
    table.add(1, 0, "node /x/gateway-mcp.js");
    table.add(11, 1, "foo-mcp");
    let found = table.trees();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].adopter.map(|adopter| adopter.kind), Some(AdopterKind::ContainerInit));
    assert!(AdopterKind::ContainerInit.is_weak() && !AdopterKind::Init.is_weak());
}

#[test]
fn a_server_below_a_server_is_its_member() {
    let mut table = Table::new();
    npx(&mut table, 10, 1);
    table.add(20, 12, "'npm exec bar-mcp'");
    table.add(21, 20, "node /x/node_modules/.bin/bar-mcp").stdio_of(20);
    let found = table.trees();
    assert_eq!(found.len(), 1);
    assert_eq!(members(&found[0])[3..], [(20, "launcher"), (21, "server")]);
}

#[test]
fn below_a_client_in_the_tree_trees_are_their_own() {
    let mut table = Table::new();
    table.add(10, 1, "terminal-mcp");
    table.add(11, 10, "claude");
    table.add(12, 11, "foo-mcp");
    let found = table.trees();
    assert_eq!(found.len(), 2);
    assert_eq!(members(&found[0]), [(10, "server"), (11, "client")]);
    assert_eq!((chain(&found[1]), found[1].adopter), (vec![12], None));
}

#[test]
fn automation_browsers_are_members_and_a_users_browser_is_not() {
    let mut table = Table::new();
    table.add(10, 1, "foo-mcp");
    table.add(11, 10, "chromium --headless --remote-debugging-pipe");
    table.add(12, 11, "chromium --type=renderer");
    table.add(13, 10, "firefox https://example.org");
    table.add(14, 13, "firefox -contentproc");
    let found = table.trees();
    assert_eq!(members(&found[0]), [(10, "server"), (11, "browser"), (12, "browser")]);
}

#[test]
fn a_circle_of_parents_is_no_endless_walk() {
    let mut table = Table::new();
    table.add(10, 11, "foo-mcp");
    table.add(11, 10, "'npm exec foo-mcp'").stdio_of(10);
    table.add(12, 12, "bar-mcp");
    for tree in table.trees() {
        assert_eq!(tree.adopter, None);
    }
}

#[test]
fn what_a_wrapper_launched_is_the_server_whatever_it_is_called() {
    let mut table = Table::new();
    table.add(10, 1, "bun run --cwd /h/.claude/plugins/telegram/1 --shell=bun --silent start");
    table.add(11, 10, "bun server.ts");
    table.add(20, 1, "'npm exec foo-mcp'");
    table.add(21, 20, "sh -c foo").stdio_of(20);
    table.add(22, 21, "node /x/cli.js").stdio_of(20);
    table.add(23, 22, "worker");
    let found = table.trees();
    assert_eq!((chain(&found[0]), found[0].name.as_str()), (vec![10, 11], "claude-plugin"));
    assert_eq!((chain(&found[1]), found[1].name.as_str()), (vec![20, 21, 22], "foo-mcp"));
    assert_eq!(members(&found[1])[3], (23, "other"));
}

#[test]
fn a_browser_is_told_from_the_users_own_by_its_marks_on_both_systems() {
    // Line; whether it is automation's, whether it shows no window, whether it is a helper process.
    let rows = [
        ("/opt/google/chrome/chrome", false, false, false),
        ("/usr/lib/chromium/chromium --profile-directory=Default https://example.org", false, false, false),
        ("/usr/bin/brave-browser", false, false, false),
        (
            "/opt/google/chrome/chrome --user-data-dir=/h/.cache/ms-playwright/mcp-chrome-1f",
            true,
            false,
            false,
        ),
        (
            "chrome --headless=new --user-data-dir=/h/.cache/chrome-devtools-mcp/chrome-profile",
            true,
            true,
            false,
        ),
        (
            "/h/.cache/ms-playwright/chromium_headless_shell-1/chrome-linux/headless_shell --no-sandbox",
            true,
            true,
            false,
        ),
        (
            "chromium --remote-debugging-pipe --user-data-dir=/tmp/playwright_chromiumdev_profile-x",
            true,
            false,
            false,
        ),
        ("chromium --headless --user-data-dir=/h/.cache/rod/user-data", true, true, false),
        ("firefox -headless -profile /tmp/playwright_firefoxdev_profile-x -juggler-pipe", true, true, false),
        (
            "/h/.cache/ms-playwright/webkit-1/minibrowser-wpe/MiniBrowser --inspector-pipe --headless",
            true,
            true,
            false,
        ),
        ("chrome --type=renderer --user-data-dir=/tmp/agent-browser-chrome-1", true, false, true),
        ("firefox -contentproc -childID 1", false, false, true),
        ("'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'", false, false, false),
        (
            "'/Applications/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing' --remote-debugging-pipe",
            true,
            false,
            false,
        ),
        (
            "'/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge' --headless --remote-debugging-port=0",
            true,
            true,
            false,
        ),
        (
            "'/Applications/Chromium.app/Contents/MacOS/Chromium' --user-data-dir=/T/puppeteer_dev_chrome_profile-x",
            true,
            false,
            false,
        ),
        (
            "'/X/Google Chrome for Testing Framework.framework/Helpers/Google Chrome for Testing Helper (Renderer).app/Contents/MacOS/Google Chrome for Testing Helper (Renderer)' --type=renderer --user-data-dir=/h/Library/Caches/ms-playwright/mcp-chrome",
            true,
            false,
            true,
        ),
    ];
    let settings = Table::new().settings();
    for (line, automated, headless, helper) in rows {
        let words = shell_words::split(line).unwrap();
        let role = settings.catalog.classify(&words).map(|found| found.role);
        assert_eq!(role, Some(crate::catalog::Role::Browser), "{line}");
        let said = (browsers::is_automated(&words), is_headless(&words), is_browser_helper(&words));
        assert_eq!(said, (automated, headless, helper), "{line}");
    }
}

#[test]
fn a_rewritten_command_line_is_read_like_an_ordinary_one() {
    let title = "chromium --type=renderer --user-data-dir=/tmp/puppeteer_dev_chrome_profile-x".to_owned();
    assert!(
        browsers::is_automated(std::slice::from_ref(&title))
            && is_browser_helper(std::slice::from_ref(&title))
    );
    assert_eq!(browsers::profile(&[title]), Some("/tmp/puppeteer_dev_chrome_profile-x"));
    let crash_handler =
        ["/opt/google/chrome/chrome_crashpad_handler", "--database=/tmp/x/Crash Reports"].map(str::to_owned);
    assert_eq!(
        (browsers::profile(&crash_handler), is_browser_helper(&crash_handler)),
        (Some("/tmp/x"), true)
    );
}
