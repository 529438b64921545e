//! launchd: an agent of a user, or a daemon of the machine.

use super::{Failing, MARK, PlanError, Scope, Step, There, Wish, check_words, is_ours, put};
use std::path::{Path, PathBuf};

const SHIPPED_PROGRAM: &str = "<string>/usr/local/bin/orphand</string>";
const SHIPPED_VERB: &str = "<string>run</string>";
const SHIPPED_LOG: &str = "<string>/Users/Shared/orphand.log</string>";
const RUN_AT_LOAD: &str = "<key>RunAtLoad</key>";
const NEWSYSLOG: &str = include_str!("../../launchd/newsyslog.conf");

/// Where launchd looks.
#[derive(Clone, Debug)]
pub struct Places {
    /// Jobs.
    pub jobs: PathBuf,
    /// Where an agent says what it does.
    pub log: PathBuf,
    /// Who rotates a daemon's log.
    pub newsyslog: PathBuf,
    /// The user's number.
    pub uid: u32,
}

impl Places {
    /// Those of the machine.
    pub fn of_machine() -> Places {
        Places {
            jobs: "/Library/LaunchDaemons".into(),
            log: "/var/log/orphand.log".into(),
            newsyslog: "/etc/newsyslog.d/orphand.conf".into(),
            uid: 0,
        }
    }

    /// Those of a user.
    pub fn of_user(home: &Path, uid: u32) -> Places {
        Places {
            jobs: home.join("Library/LaunchAgents"),
            log: home.join("Library/Logs/orphand.log"),
            uid,
            ..Places::of_machine()
        }
    }

    fn job(&self, scope: Scope) -> PathBuf {
        self.jobs.join(format!("{}.plist", label(scope)))
    }

    fn domain(&self, scope: Scope) -> String {
        match scope {
            Scope::Machine => "system".to_owned(),
            Scope::User => format!("gui/{}", self.uid),
        }
    }
}

fn label(scope: Scope) -> &'static str {
    match scope {
        Scope::Machine => "io.github.orphand.daemon",
        Scope::User => "io.github.orphand.agent",
    }
}

/// What is where.
type Look<'a> = &'a dyn Fn(&Path) -> There;

/// The steps that make it so. launchd has no timer that would be cheaper than the daemon; `timer` means nothing here.
pub fn install(wish: &Wish, places: &Places, look: Look<'_>) -> Result<Vec<Step>, PlanError> {
    check_words(wish)?;
    let scope = wish.scope;
    let (job, domain) = (places.job(scope), places.domain(scope));
    let target = format!("{domain}/{}", label(scope));
    let there = look(&job);
    let mut steps = vec![put(job.clone(), filled_in(wish, places), there, "move it away and try again")?];
    if scope == Scope::Machine {
        let there = look(&places.newsyslog);
        let text = format!("# {MARK}, which replaces this file.\n{NEWSYSLOG}");
        steps.push(put(places.newsyslog.clone(), text, there, "move it away and try again")?);
    }
    steps.push(Step::run(&["launchctl", "bootout", &target], Failing::IsNothing));
    // Whoever asks for it wants it, even if it was switched off before.
    steps.push(Step::run(&["launchctl", "enable", &target], Failing::Ends));
    steps.push(Step::run(&["launchctl", "bootstrap", &domain, &job.to_string_lossy()], Failing::EndsLater));
    Ok(steps)
}

/// The steps that take it all away again; none where there is nothing.
pub fn uninstall(scope: Scope, places: &Places, look: Look<'_>) -> Vec<Step> {
    let job = places.job(scope);
    let mut steps = Vec::new();
    if is_ours(&look(&job)) {
        let target = format!("{}/{}", places.domain(scope), label(scope));
        steps.push(Step::run(&["launchctl", "bootout", &target], Failing::IsNothing));
        steps.push(Step::Remove(job));
    }
    if scope == Scope::Machine && is_ours(&look(&places.newsyslog)) {
        steps.push(Step::Remove(places.newsyslog.clone()));
    }
    steps
}

/// The shipped job with the program, options and log that were asked for.
fn filled_in(wish: &Wish, places: &Places) -> String {
    let shipped = match wish.scope {
        Scope::Machine => include_str!("../../launchd/io.github.orphand.daemon.plist"),
        Scope::User => include_str!("../../launchd/io.github.orphand.agent.plist"),
    };
    let strings = |words: &[String]| -> String {
        words.iter().map(|word| format!("\n\t\t<string>{}</string>", escaped(word))).collect()
    };
    let log = format!("<string>{}</string>", escaped(&places.log.to_string_lossy()));
    let variables: String = (wish.environment.iter())
        .map(|(name, value)| {
            format!("\n\t\t<key>{}</key>\n\t\t<string>{}</string>", escaped(name), escaped(value))
        })
        .collect();
    let variables = if variables.is_empty() {
        variables
    } else {
        format!("<key>EnvironmentVariables</key>\n\t<dict>{variables}\n\t</dict>\n\t")
    };
    let note = format!("<!-- {MARK}, which replaces this file. -->\n<plist");
    shipped
        .replacen("<plist", &note, 1)
        .replacen(SHIPPED_PROGRAM, &format!("<string>{}</string>", escaped(&wish.program)), 1)
        .replacen(SHIPPED_VERB, &format!("{SHIPPED_VERB}{}", strings(&wish.options)), 1)
        .replacen(SHIPPED_LOG, &log, 1)
        .replacen(RUN_AT_LOAD, &(variables + RUN_AT_LOAD), 1)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
