//! systemd: a service or a timer, of the system or of a user.

use super::{Failing, MARK, PlanError, Scope, Step, There, Wish, check_words, is_ours, put};
use std::path::{Path, PathBuf};

const SERVICE: &str = "orphand.service";
const SWEEP: &str = "orphand-sweep.service";
const TIMER: &str = "orphand-sweep.timer";

/// What the shipped files start.
const SHIPPED_PROGRAM: &str = "/usr/bin/orphand";

const SYSUSERS: &str = include_str!("../../systemd/orphand.sysusers");

/// The user that the system's units run as.
pub const USER: &str = "orphand";

/// A shipped unit.
fn shipped(scope: Scope, unit: &str) -> &'static str {
    match (scope, unit) {
        (Scope::Machine, SERVICE) => include_str!("../../systemd/orphand.service"),
        (Scope::Machine, SWEEP) => include_str!("../../systemd/orphand-sweep.service"),
        (Scope::Machine, _) => include_str!("../../systemd/orphand-sweep.timer"),
        (Scope::User, SERVICE) => include_str!("../../systemd/user/orphand.service"),
        (Scope::User, SWEEP) => include_str!("../../systemd/user/orphand-sweep.service"),
        (Scope::User, _) => include_str!("../../systemd/user/orphand-sweep.timer"),
    }
}

/// Where systemd looks.
#[derive(Clone, Debug)]
pub struct Places {
    /// Units of the administrator, or of the user.
    pub units: PathBuf,
    /// Units of packages.
    pub packaged: PathBuf,
    /// The administrator's sysusers.d, and that of packages.
    pub sysusers: [PathBuf; 2],
    /// Where a timer keeps when it went off last.
    pub stamps: PathBuf,
}

impl Places {
    /// Those of the system.
    pub fn of_machine() -> Places {
        Places {
            units: "/etc/systemd/system".into(),
            packaged: "/usr/lib/systemd/system".into(),
            sysusers: ["/etc/sysusers.d".into(), "/usr/lib/sysusers.d".into()],
            stamps: "/var/lib/systemd/timers".into(),
        }
    }

    /// Those of a user, from the folders in which he keeps configuration and data.
    pub fn of_user(config: &Path, data: &Path) -> Places {
        Places {
            units: config.join("systemd/user"),
            packaged: "/usr/lib/systemd/user".into(),
            stamps: data.join("systemd/timers"),
            ..Places::of_machine()
        }
    }
}

/// What is where.
type Look<'a> = &'a dyn Fn(&Path) -> There;

/// The steps that make it so. What a package has brought already is not written again.
pub fn install(wish: &Wish, places: &Places, look: Look<'_>) -> Result<Vec<Step>, PlanError> {
    check_words(wish)?;
    let scope = wish.scope;
    let (wanted, others) = if wish.timer {
        ([SWEEP, TIMER].as_slice(), [SERVICE].as_slice())
    } else {
        ([SERVICE].as_slice(), [TIMER, SWEEP].as_slice())
    };
    let mut steps = take_away(scope, others, places, look);
    if scope == Scope::Machine {
        let [own, packaged] = sysusers(places);
        if look(&packaged) != There::Text(SYSUSERS.to_owned()) {
            let text = format!("# {MARK}.\n{SYSUSERS}");
            let there = look(&own);
            steps.push(put(own.clone(), text, there, "move it away")?);
            steps.push(Step::run(&["systemd-sysusers", &own.to_string_lossy()], Failing::Ends));
        }
    }
    for unit in wanted {
        let text = filled_in(wish, unit);
        let path = places.units.join(unit);
        let there = look(&path);
        if look(&places.packaged.join(unit)) == There::Text(text.clone()) {
            if is_ours(&there) {
                steps.push(Step::Remove(path));
            } else if there != There::Nothing {
                put(path, text, there, &in_the_way(scope, unit))?;
            }
            continue;
        }
        let note = format!(
            "# {MARK}, which replaces this file. Put changes of your own into a drop-in:\n# `{} edit {unit}`.\n",
            systemctl(scope).join(" ")
        );
        steps.push(put(path, note + &text, there, &in_the_way(scope, unit))?);
    }
    let started = if wish.timer { TIMER } else { SERVICE };
    steps.push(tell(scope, &["daemon-reload"], Failing::Ends));
    steps.push(tell(scope, &["enable", started], Failing::Ends));
    // A newer program is only run by a service that is started anew.
    steps.push(tell(scope, &["restart", started], Failing::Ends));
    Ok(steps)
}

/// The steps that take it all away again; none where there is nothing.
pub fn uninstall(scope: Scope, places: &Places, look: Look<'_>) -> Vec<Step> {
    let mut steps = take_away(scope, &[SERVICE, TIMER, SWEEP], places, look);
    let stamp = places.stamps.join(format!("stamp-{TIMER}"));
    if look(&stamp) != There::Nothing {
        steps.push(Step::Remove(stamp));
    }
    if steps.is_empty() {
        return steps;
    }
    steps.push(tell(scope, &["daemon-reload"], Failing::Ends));
    steps.push(tell(scope, &["reset-failed", SERVICE, SWEEP], Failing::IsNothing));
    let [own, packaged] = sysusers(places);
    if scope == Scope::Machine && is_ours(&look(&own)) {
        steps.push(Step::Remove(own));
        if look(&packaged) == There::Nothing {
            steps.push(Step::run(&["userdel", USER], Failing::Ends));
        }
    }
    steps
}

/// Units that a package has brought: only it can take them away.
pub fn packaged(places: &Places, look: Look<'_>) -> Vec<PathBuf> {
    let units = [SERVICE, SWEEP, TIMER].into_iter().map(|unit| places.packaged.join(unit));
    units.filter(|path| look(path) != There::Nothing).collect()
}

/// Drop-ins that somebody has written for the units.
pub fn drop_ins(places: &Places) -> Vec<PathBuf> {
    [SERVICE, SWEEP, TIMER]
        .into_iter()
        .map(|unit| places.units.join(format!("{unit}.d")))
        .filter(|path| path.is_dir())
        .collect()
}

/// The unit of which a person wants to read the journal.
pub fn unit_of(wish: &Wish) -> &'static str {
    if wish.timer { SWEEP } else { SERVICE }
}

/// Stops units, and removes their files where orphand wrote them.
fn take_away(scope: Scope, units: &[&str], places: &Places, look: Look<'_>) -> Vec<Step> {
    let there = |unit: &&&str| {
        look(&places.packaged.join(**unit)) != There::Nothing || is_ours(&look(&places.units.join(**unit)))
    };
    let there: Vec<&str> = units.iter().filter(there).copied().collect();
    let mut steps = Vec::new();
    if !there.is_empty() {
        steps.push(tell(scope, &[&["disable", "--now"], there.as_slice()].concat(), Failing::Ends));
    }
    let files = there.iter().map(|unit| places.units.join(unit));
    steps.extend(files.filter(|path| is_ours(&look(path))).map(Step::Remove));
    steps
}

fn sysusers(places: &Places) -> [PathBuf; 2] {
    places.sysusers.clone().map(|folder| folder.join("orphand.conf"))
}

fn systemctl(scope: Scope) -> Vec<&'static str> {
    match scope {
        Scope::Machine => vec!["systemctl"],
        Scope::User => vec!["systemctl", "--user"],
    }
}

fn tell(scope: Scope, words: &[&str], failing: Failing) -> Step {
    Step::run(&[systemctl(scope).as_slice(), words].concat(), failing)
}

fn in_the_way(scope: Scope, unit: &str) -> String {
    let systemctl = systemctl(scope).join(" ");
    format!("move it away (or, if it is a link to /dev/null, `{systemctl} unmask {unit}`) and try again")
}

/// A shipped unit with the program and options that were asked for.
fn filled_in(wish: &Wish, unit: &str) -> String {
    let start = format!("ExecStart={}", program_word(&wish.program));
    let lines = shipped(wish.scope, unit).lines().map(|line| {
        let Some(verb) = line.strip_prefix("ExecStart=").and_then(|line| line.strip_prefix(SHIPPED_PROGRAM))
        else {
            return line.to_owned() + "\n";
        };
        let options: String = wish.options.iter().map(|option| format!(" {}", word(option))).collect();
        format!("{start}{verb}{options}\n")
    });
    lines.collect()
}

/// A word as systemd reads it in a command line: percent signs and dollars mean something to it.
fn word(text: &str) -> String {
    quoted(&text.replace('$', "$$"))
}

/// The program itself: dollars mean nothing in its path.
fn program_word(path: &str) -> String {
    quoted(path)
}

fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@$".contains(letter);
    let text = text.replace('%', "%%");
    if !text.is_empty() && text.chars().all(|letter| plain(letter) || letter == '%') {
        return text;
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
