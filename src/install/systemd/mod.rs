//! systemd: a service or a timer, of the system or of a user.

mod asked;
mod units;

pub use asked::{Known, Standing};

use super::{Failing, LINK, MARK, PlanError, Scope, Step, There, Wish, check_words, is_ours, put};
use std::path::{Path, PathBuf};
use units::{changes, filled_in, note, starts_this};

const SERVICE: &str = "orphand.service";
const SWEEP: &str = "orphand-sweep.service";
const TIMER: &str = "orphand-sweep.timer";
/// What changes a package's unit.
const DROP_IN: &str = "orphand-install.conf";
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

    /// Those of a user, from the folder that his manager reads and the one in which he keeps data.
    pub fn of_user(units: &Path, data: &Path) -> Places {
        Places {
            units: units.to_owned(),
            packaged: "/usr/lib/systemd/user".into(),
            stamps: data.join("systemd/timers"),
            ..Places::of_machine()
        }
    }

    /// Where a package's unit is changed.
    fn drop_in(&self, unit: &str) -> PathBuf {
        self.units.join(format!("{unit}.d")).join(DROP_IN)
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
    for unit in wanted {
        let own = places.units.join(unit);
        if let Some(path) = foreign(unit, places, known, look).filter(|path| *path != own) {
            let problem =
                format!("is what systemd has {unit} from, and was not written by `orphand install`");
            return Err(PlanError::InTheWay {
                path,
                problem,
                remedy: "move it away and try again".to_owned(),
            });
        }
    }
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
    let written = steps.iter().filter_map(|step| match step {
        Step::Write { path, .. } | Step::Keep(path) if path.starts_with(&places.units) => Some(path.clone()),
        _ => None,
    });
    let confirmed: Vec<Step> = written.filter_map(|path| confirm(scope, &path)).collect();
    steps.extend(confirmed);
    steps.push(tell(scope, &["enable", started], Failing::Ends));
    // However often it was started or failed lately.
    steps.push(tell(scope, &["reset-failed", started], Failing::IsNothing));
    // A newer program is only run by a service that is started anew.
    steps.push(tell(scope, &["restart", started], Failing::Ends));
    Ok(steps)
}

/// The steps that put back what was there before a plan of which only these steps were carried out, the last of them perhaps
/// without success. What the plan has not touched is not touched here.
pub fn take_back(wish: &Wish, done: &[Step], known: &Known, look: Look<'_>) -> Vec<Step> {
    let (scope, started) = (wish.scope, if wish.timer { TIMER } else { SERVICE });
    let was_told = |verb: &str, unit: &str| {
        done.iter().any(|step| {
            matches!(step, Step::Run { words, .. } if words.iter().any(|word| word == verb) && words.iter().any(|word| word == unit))
        })
    };
    let mut back = Vec::new();
    if was_told("restart", started) {
        back.push(tell(scope, &["stop", started], Failing::IsNothing));
    }
    if was_told("enable", started) && !known.enabled.contains(&started) {
        back.push(tell(scope, &["disable", started], Failing::IsNothing));
    }
    for step in done {
        let (Step::Write { path, .. } | Step::Remove(path)) = step else { continue };
        match (look(path), step) {
            (There::Text(text), _) => back.push(Step::Write { path: path.clone(), text }),
            (There::Nothing, Step::Write { path, .. }) if path.ends_with("sysusers.d/orphand.conf") => {
                if !known.account {
                    back.extend(without_account(look, Failing::IsNothing));
                }
                back.push(Step::Remove(path.clone()));
            }
            (There::Nothing, Step::Write { path, .. }) if path.ends_with(DROP_IN) => {
                back.extend(without_drop_in(path.clone()));
            }
            (There::Nothing, Step::Write { .. }) => back.push(Step::Remove(path.clone())),
            _ => {}
        }
    }
    back.push(tell(scope, &["daemon-reload"], Failing::GoesOn));
    for unit in UNITS {
        if known.enabled.contains(&unit) && (was_told("disable", unit) || unit == started) {
            back.push(tell(scope, &["enable", unit], Failing::GoesOn));
        }
        // A sweep that was stopped comes again with its timer.
        let stopped = was_told("stop", unit) || unit == started && was_told("restart", started);
        if unit != SWEEP && known.active.contains(&unit) && stopped {
            back.push(tell(scope, &["restart", unit], Failing::GoesOn));
        }
    }
    back
}

/// The next user of that number must not have what it remembers.
fn without_account(look: Look<'_>, failing: Failing) -> Vec<Step> {
    let memory = "/var/lib/orphand";
    let words = ["chown", "--recursive", "--no-dereference", "root:root", memory];
    // A service that failed may have made it just now.
    let is_there = failing == Failing::IsNothing || look(Path::new(memory)) != There::Nothing;
    let chown = is_there.then(|| Step::run(&words, failing));
    chown.into_iter().chain([Step::run(&["userdel", USER], failing)]).collect()
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
            steps.extend(without_account(look, Failing::Ends));
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

/// Variables that what `install` has written gives it.
pub fn variables(places: &Places, look: Look<'_>) -> Vec<(String, String)> {
    let files = UNITS.into_iter().flat_map(|unit| [places.drop_in(unit), places.units.join(unit)]);
    let mut found = Vec::new();
    for there in files.map(|path| look(&path)).filter(is_ours) {
        let There::Text(text) = there else { continue };
        found.extend(text.lines().filter_map(units::variable_of));
    }
    found
}

/// The unit of which a person wants to read the journal.
pub fn unit_of(wish: &Wish) -> &'static str {
    if wish.timer { SWEEP } else { SERVICE }
}

/// The file of a unit that is somebody else's: in our place, or wherever systemd has it from.
fn foreign(unit: &str, places: &Places, known: &Known, look: Look<'_>) -> Option<PathBuf> {
    let own = places.units.join(unit);
    let there = look(&own);
    if there != There::Nothing && !is_ours(&there) {
        return Some(own);
    }
    // A file that was removed while the unit runs is named all the same.
    let from = known.fragments.get(unit)?;
    (*from != own && *from != places.packaged.join(unit)).then(|| from.clone())
}

/// Stops units, and removes their files where orphand wrote them. A unit of somebody else's of the same name is left alone.
fn take_away(
    scope: Scope,
    units: &[&'static str],
    places: &Places,
    known: &Known,
    look: Look<'_>,
) -> Vec<Step> {
    let is_ours_to_stop = |unit: &&str| foreign(unit, places, known, look).is_none();
    let ours: Vec<&str> = units.iter().copied().filter(is_ours_to_stop).collect();
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
        let own = [places.units.join(unit)].into_iter().filter(|path| is_ours(&look(path)));
        let wants = ["multi-user.target", "default.target", "timers.target"];
        let links = wants.map(|target| places.units.join(format!("{target}.wants")).join(unit));
        let links = links
            .into_iter()
            .filter(|path| matches!(look(path), There::Other(what) if what.starts_with(LINK)));
        // What `disable` has removed already is gone by then, and that is fine.
        steps.extend(own.chain(links).map(Step::Remove));
        let drop_in = places.drop_in(unit);
        if is_ours(&look(&drop_in)) {
            steps.extend(without_drop_in(drop_in));
        }
    }
    steps
}

/// systemd has found what was written: it might look elsewhere.
fn confirm(scope: Scope, path: &Path) -> Option<Step> {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let (unit, property) = if path.ends_with(DROP_IN) {
        (name(path.parent()?)?.strip_suffix(".d")?.to_owned(), "DropInPaths")
    } else {
        (name(path)?, "FragmentPath")
    };
    let words = [systemctl(scope).as_slice(), &["show", "--value", "--property", property, &unit]].concat();
    let words = words.into_iter().map(str::to_owned).collect();
    Some(Step::Confirm { words, path: path.to_owned() })
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
