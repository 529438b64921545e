//! Which browsers belong to automation, and which to the user.

use crate::invocation::base_name;

/// Options that only automation gives to a browser.
const MARKS: [&str; 10] = [
    "--remote-debugging-pipe",
    "--remote-debugging-port",
    "--enable-automation",
    "--headless",
    "-headless",
    "--marionette",
    "-marionette",
    "-juggler-pipe",
    "-juggler",
    "--inspector-pipe",
];

/// Directories that automation tools keep their profiles and browsers in.
const PLACES: [&str; 11] = [
    "/ms-playwright/",
    "playwright_chromiumdev_profile-",
    "playwright_firefoxdev_profile-",
    "playwright_webkitdev_profile-",
    "puppeteer_dev_chrome_profile-",
    "puppeteer_dev_firefox_profile-",
    "/chrome-devtools-mcp/",
    "/chrome-devtools-mcp-cli/",
    "agent-browser-chrome-",
    "/.cache/rod/",
    "/ms-playwright-go/",
];

/// Browsers that are made for automation.
const PROGRAMS: [&str; 6] =
    ["chrome-headless-shell", "headless_shell", "camoufox", "camoufox-bin", "lightpanda", "pw_run.sh"];

/// Programs that are parts of a browser.
const HELPERS: [&str; 7] = [
    "plugin-container",
    "WebKitWebProcess",
    "WebKitNetworkProcess",
    "WebKitGPUProcess",
    "WPEGPUProcess",
    "WPEWebProcess",
    "WPENetworkProcess",
];

/// Whether a browser's command line carries a mark of automation. Without any, it is the user's own.
pub fn is_automated(arguments: &[String]) -> bool {
    is_made_for_automation(arguments)
        || words(arguments).any(|word| {
            let flag = word.split('=').next().unwrap_or(word);
            MARKS.contains(&flag) || PLACES.iter().any(|place| word.contains(place))
        })
}

/// Whether it shows no window.
pub fn is_headless(arguments: &[String]) -> bool {
    is_made_for_automation(arguments)
        || words(arguments)
            .any(|word| word == "--headless" || word.starts_with("--headless=") || word == "-headless")
}

/// Whether it opens a port that other programs may control it by.
pub fn listens_for_debuggers(arguments: &[String]) -> bool {
    words(arguments)
        .any(|word| word == "--remote-debugging-port" || word.starts_with("--remote-debugging-port="))
}

/// Whether it is told what to do over a pipe: descriptors 3 and 4.
pub fn has_debugging_pipe(arguments: &[String]) -> bool {
    words(arguments)
        .any(|word| ["--remote-debugging-pipe", "-juggler-pipe", "--inspector-pipe"].contains(&word))
}

/// Whether it is a helper process of a browser: a renderer, a GPU process, the crash handler.
pub fn is_browser_helper(arguments: &[String]) -> bool {
    let program = arguments.first().map_or("", |program| program.split(" --").next().unwrap_or(program));
    let name = base_name(program);
    HELPERS.contains(&name)
        || name.contains("crashpad_handler")
        || name.contains(" Helper")
        || words(arguments).any(|word| word.starts_with("--type=") || word == "-contentproc")
}

/// The directory that a browser keeps its profile in; its crash handler names a directory below it.
pub(super) fn profile(arguments: &[String]) -> Option<&str> {
    let own = |word: &&str| word.starts_with("--user-data-dir=");
    if let Some(word) = words(arguments).find(own) {
        return word.strip_prefix("--user-data-dir=").filter(|path| !path.is_empty());
    }
    // `--database=DIR/Crash Reports`: the blank ends the word.
    let database = words(arguments).find_map(|word| word.strip_prefix("--database="))?;
    database.strip_suffix("/Crash").or_else(|| database.strip_suffix("/Crashpad"))
}

fn is_made_for_automation(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|program| {
        PROGRAMS.contains(&base_name(program.split_whitespace().next().unwrap_or(program)))
    })
}

/// Chromium rewrites its command line into one element, so every element is split once more.
fn words(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments.iter().flat_map(|argument| argument.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_automated_line(line: &str) -> bool {
        is_automated(&shell_words::split(line).unwrap())
    }

    #[test]
    fn every_mark_of_the_field_is_known() {
        let rows = [
            "/opt/google/chrome/chrome --user-data-dir=/home/u/.cache/ms-playwright/mcp-chrome-1f0a about:blank",
            "'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' --user-data-dir=/Users/u/Library/Caches/ms-playwright/mcp-chrome",
            "chromium --user-data-dir=/tmp/playwright_chromiumdev_profile-x --remote-debugging-pipe --no-startup-window",
            "firefox -profile /tmp/playwright_firefoxdev_profile-x -juggler-pipe",
            "chrome --user-data-dir=/home/u/Library/Caches/ms-playwright/daemon/x/ud-default-chrome",
            "chrome --user-data-dir=/home/u/.cache/chrome-devtools-mcp/chrome-profile --hide-crash-restore-bubble",
            "chrome --user-data-dir=/home/u/.cache/chrome-devtools-mcp-cli/chrome-profile-beta",
            "chrome --user-data-dir=/tmp/puppeteer_dev_chrome_profile-x",
            "firefox --profile /tmp/puppeteer_dev_firefox_profile-x",
            "chrome --headless=new --enable-unsafe-swiftshader --user-data-dir=/tmp/agent-browser-chrome-x",
            "chromium --user-data-dir=/home/u/.cache/rod/user-data/x",
            "chrome --remote-debugging-port=9222 --user-data-dir=/home/u/.config/google-chrome",
            "chrome-headless-shell --type=gpu-process",
            "lightpanda serve",
            "MiniBrowser --inspector-pipe",
        ];
        for line in rows {
            assert!(is_automated_line(line), "{line}");
        }
    }

    #[test]
    fn a_persons_browser_has_none() {
        for line in [
            "/opt/google/chrome/chrome",
            "/opt/google/chrome/chrome --type=renderer --crashpad-handler-pid=7 --user-data-dir=/home/u/.config/google-chrome",
            "firefox -contentproc {8f1e} 7 tab",
            "'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' --profile-directory=Default",
            "chromium --password-store=basic https://example.org/ms-playwright",
        ] {
            assert!(!is_automated_line(line), "{line}");
        }
    }
}
