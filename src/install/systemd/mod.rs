//! systemd: a service or a timer, of the system or of a user.

mod asked;
mod units;

pub use asked::{Known, Standing};

use super::{Failing, MARK, PlanError, Scope, Step, There, Wish, check_words, is_ours, put};
use std::path::{Path, PathBuf};
use units::{changes, filled_in, note, starts_this};

const SERVICE: &str = "orphand.service";
const SWEEP: &str = "orphand-sweep.service";
const TIMER: &str = "orphand-sweep.timer";
/// All of them, whoever is to start first.
const UNITS: [&str; 3] = [SERVICE, TIMER, SWEEP];

const SYSUSERS: &str = include_str!("../../../systemd/orphand.sysusers");

/// The user that the system's units run as.
pub const USER: &str = "orphand";

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

    /// Where a package's unit is changed.
    fn drop_in(&self, unit: &str) -> PathBuf {
        self.units.join(format!("{unit}.d")).join("orphand-install.conf")
    }
}

/// What is where.
type Look<'a> = &'a dyn Fn(&Path) -> There;

/// The steps that make it so. Of what a package has brought only what differs is written, into a drop-in.
pub fn install(wish: &Wish, places: &Places, known: &Known, look: Look<'_>) -> Result<Vec<Step>, PlanError> {
    check_words(wish)?;
    // However it is quoted, systemd takes no program of such a name.
    if wish.program.contains(['\'', '"', '\\']) {
        return Err(PlanError::Unspeakable(wish.program.clone()));
    }
    let scope = wish.scope;
    let (wanted, others) = if wish.timer {
        ([SWEEP, TIMER].as_slice(), [SERVICE].as_slice())
    } else {
        ([SERVICE].as_slice(), [TIMER, SWEEP].as_slice())
    };
    let mut steps = take_away(scope, others, places, known, look);
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
        let (path, drop_in) = (places.units.join(unit), places.drop_in(unit));
        let (there, dropped) = (look(&path), look(&drop_in));
        let of_package = starts_this(wish, unit, &look(&places.packaged.join(unit)));
        if !of_package {
            let remedy = in_the_way(scope, unit, &there);
            steps.push(put(path, note(scope, unit) + &filled_in(wish, unit), there, &remedy)?);
        } else if is_ours(&there) {
            steps.push(Step::Remove(path));
        } else if there != There::Nothing {
            let remedy = in_the_way(scope, unit, &there);
            put(path, String::new(), there, &remedy)?;
        }
        if of_package && let Some(text) = changes(wish, unit) {
            steps.push(put(drop_in, text, dropped, "move it away and try again")?);
        } else if is_ours(&dropped) {
            steps.extend(without_drop_in(drop_in));
        }
    }
    let started = if wish.timer { TIMER } else { SERVICE };
    steps.push(tell(scope, &["daemon-reload"], Failing::Ends));
    steps.push(tell(scope, &["enable", started], Failing::Ends));
    // However often it was started or failed lately.
    steps.push(tell(scope, &["reset-failed", started], Failing::IsNothing));
    // A newer program is only run by a service that is started anew.
    steps.push(tell(scope, &["restart", started], Failing::Ends));
    Ok(steps)
}

/// The steps that put back what was there before a plan that failed in the middle.
pub fn take_back(wish: &Wish, steps: &[Step], known: &Known, look: Look<'_>) -> Vec<Step> {
    let (scope, started) = (wish.scope, if wish.timer { TIMER } else { SERVICE });
    let mut back = vec![tell(scope, &["stop", started], Failing::IsNothing)];
    if !known.enabled.contains(&started) {
        back.push(tell(scope, &["disable", started], Failing::IsNothing));
    }
    for step in steps {
        let (Step::Write { path, .. } | Step::Remove(path)) = step else { continue };
        match (look(path), step) {
            (There::Text(text), _) => back.push(Step::Write { path: path.clone(), text }),
            (There::Nothing, Step::Write { path, .. }) if path.ends_with("sysusers.d/orphand.conf") => {
                if !known.account {
                    back.push(Step::run(&["userdel", USER], Failing::IsNothing));
                }
                back.push(Step::Remove(path.clone()));
            }
            (There::Nothing, Step::Write { .. }) => back.push(Step::Remove(path.clone())),
            _ => {}
        }
    }
    back.push(tell(scope, &["daemon-reload"], Failing::GoesOn));
    back.extend(known.enabled.iter().map(|unit| tell(scope, &["enable", unit], Failing::GoesOn)));
    back.extend(known.active.iter().map(|unit| tell(scope, &["restart", unit], Failing::GoesOn)));
    back
}

/// The steps that take it all away again; none where there is nothing. `is_account_ours` tells whether the user of that name is
/// one for a service, and no person.
pub fn uninstall(
    scope: Scope,
    places: &Places,
    known: &Known,
    is_account_ours: bool,
    look: Look<'_>,
) -> Vec<Step> {
    let mut steps = take_away(scope, &UNITS, places, known, look);
    let stamp = places.stamps.join(format!("stamp-{TIMER}"));
    if look(&stamp) != There::Nothing {
        steps.push(Step::Remove(stamp));
    }
    if !steps.is_empty() {
        steps.push(tell(scope, &["daemon-reload"], Failing::GoesOn));
        steps.push(tell(scope, &["reset-failed", SERVICE, SWEEP], Failing::IsNothing));
    }
    let [own, packaged] = sysusers(places);
    if scope == Scope::Machine && is_ours(&look(&own)) {
        if look(&packaged) == There::Nothing && is_account_ours {
            // The next user of that number must not have what it remembers.
            let memory = Path::new("/var/lib/orphand");
            if look(memory) != There::Nothing {
                let words = ["chown", "--recursive", "--no-dereference", "root:root", "/var/lib/orphand"];
                steps.push(Step::run(&words, Failing::Ends));
            }
            steps.push(Step::run(&["userdel", USER], Failing::Ends));
        }
        // Last: where something failed, the next try finds it still here.
        steps.push(Step::Remove(own));
    }
    steps
}

/// Units that a package has brought: only it can take them away.
pub fn packaged(places: &Places, look: Look<'_>) -> Vec<PathBuf> {
    let units = UNITS.into_iter().map(|unit| places.packaged.join(unit));
    units.filter(|path| look(path) != There::Nothing).collect()
}

/// Drop-ins that somebody has written for the units.
pub fn drop_ins(places: &Places) -> Vec<PathBuf> {
    let folders = UNITS.into_iter().map(|unit| places.units.join(format!("{unit}.d")));
    folders.filter(|path| path.is_dir()).collect()
}

/// The command by which what `install` has written starts it.
pub fn starts(places: &Places, look: Look<'_>) -> Option<String> {
    let files = UNITS.into_iter().flat_map(|unit| [places.drop_in(unit), places.units.join(unit)]);
    let ours = files.map(|path| look(&path)).filter(is_ours);
    ours.into_iter().find_map(|there| match there {
        There::Text(text) => {
            text.lines().rev().find_map(|line| line.strip_prefix("ExecStart=").map(str::to_owned))
        }
        _ => None,
    })
}

/// The unit of which a person wants to read the journal.
pub fn unit_of(wish: &Wish) -> &'static str {
    if wish.timer { SWEEP } else { SERVICE }
}

/// Stops units, and removes their files where orphand wrote them. A unit of somebody else's of the same name is left alone.
fn take_away(
    scope: Scope,
    units: &[&'static str],
    places: &Places,
    known: &Known,
    look: Look<'_>,
) -> Vec<Step> {
    let is_foreign = |unit: &str| {
        let there = look(&places.units.join(unit));
        there != There::Nothing && !is_ours(&there)
    };
    let ours: Vec<&str> = units.iter().copied().filter(|unit| !is_foreign(unit)).collect();
    let mut steps = Vec::new();
    let mut all = |verb: &str, known: &[&str]| {
        let meant: Vec<&str> = ours.iter().copied().filter(|unit| known.contains(unit)).collect();
        if !meant.is_empty() {
            steps.push(tell(scope, &[&[verb], meant.as_slice()].concat(), Failing::GoesOn));
        }
    };
    all("stop", &known.active);
    all("disable", &known.enabled);
    for unit in ours {
        let wants = ["multi-user.target", "default.target", "timers.target"];
        let links = wants.map(|target| places.units.join(format!("{target}.wants")).join(unit));
        let own = [places.units.join(unit)].into_iter().filter(|path| is_ours(&look(path)));
        // What `disable` has removed already is gone by then, and that is fine.
        steps.extend(
            own.chain(links.into_iter().filter(|path| look(path) != There::Nothing)).map(Step::Remove),
        );
        let drop_in = places.drop_in(unit);
        if is_ours(&look(&drop_in)) {
            steps.extend(without_drop_in(drop_in));
        }
    }
    steps
}

fn without_drop_in(drop_in: PathBuf) -> Vec<Step> {
    let folder = drop_in.parent().map(Path::to_owned);
    std::iter::once(Step::Remove(drop_in)).chain(folder.map(Step::RemoveEmpty)).collect()
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

fn in_the_way(scope: Scope, unit: &str, there: &There) -> String {
    match there {
        There::Other(what) if what.ends_with("/dev/null") => {
            format!("`{} unmask {unit}` takes that away", systemctl(scope).join(" "))
        }
        _ => "move it away and try again".to_owned(),
    }
}
