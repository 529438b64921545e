//! Looks where people put clean-up scripts: tables of cron, timers' services, launchd's jobs. Reads only, and changes nothing.

use super::{Hands, Scope, looks_like_a_cleaner};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use uzers::os::unix::UserExt;

/// Something that is started by a clock and looks like a clean-up script, or starts orphand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Where it stands: a file with its line, or `crontab -l`.
    pub place: String,
    /// The line.
    pub line: String,
    /// How to take it out.
    pub remedy: String,
}

/// A file that is larger is no script.
const LARGEST: u64 = 256 * 1024;
/// More files of one folder, and more scripts of one line, are not read.
const MOST: usize = 500;
const MOST_SCRIPTS: usize = 4;
/// Longer tables are not read to their end.
const MOST_LINES: usize = 2000;

/// Everything that this person could have put there. `home` is the user's; `root` stands before every path of the system.
pub fn survey(scope: Scope, root: &Path, home: Option<&Path>, hands: &Hands) -> Vec<Finding> {
    match scope {
        Scope::Machine => of_machine(root),
        Scope::User => of_user(home, hands),
    }
}

fn of_machine(root: &Path) -> Vec<Finding> {
    let within = |places: &[&str]| -> Vec<PathBuf> {
        places.iter().flat_map(|place| files(&root.join(place))).collect()
    };
    let (mut found, mut scripts) = (Vec::new(), Scripts::default());
    for table in within(&["etc/crontab", "etc/cron.d"]) {
        let remedy = format!("edit {}", table.display());
        judge_table(
            &table,
            &remedy,
            |line| user_of(line).as_deref().and_then(home_of),
            &mut scripts,
            &mut found,
        );
    }
    for table in within(&["var/spool/cron/crontabs", "var/spool/cron"]) {
        let user = table.file_name().unwrap_or_default().to_string_lossy().into_owned();
        judge_table(&table, &format!("crontab -u {user} -e"), |_| home_of(&user), &mut scripts, &mut found);
    }
    for script in within(&["etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly"]) {
        if read(&script).is_some_and(|text| is_about_it(&text)) {
            let (place, line) = (script.display().to_string(), name_of(&script));
            found.push(Finding { remedy: format!("chmod -x {place}"), place, line });
        }
    }
    for job in within(&["etc/systemd/system", "Library/LaunchDaemons", "Library/LaunchAgents"]) {
        judge_job(&job, None, "", &mut scripts, &mut found);
    }
    found
}

fn of_user(home: Option<&Path>, hands: &Hands) -> Vec<Finding> {
    let (mut found, mut scripts) = (Vec::new(), Scripts::default());
    for line in hands.ask(&["crontab", "-l"]).unwrap_or_default().lines() {
        if is_cleaner(line, home, &mut scripts) {
            let (place, remedy) = ("crontab -l".to_owned(), "crontab -e".to_owned());
            found.push(Finding { place, line: line.trim().to_owned(), remedy });
        }
    }
    let jobs = [".config/systemd/user", "Library/LaunchAgents"];
    let folders = home.iter().flat_map(|home| jobs.iter().map(|place| home.join(place)));
    for job in folders.flat_map(|folder| files(&folder)) {
        judge_job(&job, home, "--user ", &mut scripts, &mut found);
    }
    found
}

fn judge_table(
    table: &Path,
    remedy: &str,
    home: impl Fn(&str) -> Option<PathBuf>,
    scripts: &mut Scripts,
    found: &mut Vec<Finding>,
) {
    for (number, line) in read(table).unwrap_or_default().lines().take(MOST_LINES).enumerate() {
        if is_cleaner(line, home(line).as_deref(), scripts) {
            let place = format!("{}:{}", table.display(), number + 1);
            found.push(Finding { place, line: line.trim().to_owned(), remedy: remedy.to_owned() });
        }
    }
}

/// A service or a job of launchd's.
fn judge_job(
    job: &Path,
    home: Option<&Path>,
    user_option: &str,
    scripts: &mut Scripts,
    found: &mut Vec<Finding>,
) {
    let name = name_of(job);
    let is_unit = name.ends_with(".service");
    // A service without a timer is started by something else.
    let by_the_clock = is_unit && job.with_extension("timer").is_file() || name.ends_with(".plist");
    if !by_the_clock || name.contains("orphand") {
        return;
    }
    let Some(text) = read(job) else { return };
    let starts: Vec<String> = if is_unit {
        text.lines().filter_map(|line| line.strip_prefix("ExecStart=")).map(str::to_owned).collect()
    } else {
        vec![text.replace("<string>", " ").replace("</string>", " ").replace(['\n', '\t'], " ")]
    };
    if starts.iter().any(|start| is_cleaner(start, home, scripts)) {
        let timer = job.with_extension("timer");
        let unit = if timer.is_file() { name_of(&timer) } else { name.clone() };
        let remedy = if is_unit {
            format!("systemctl {user_option}disable --now {unit}")
        } else {
            format!("launchctl unload -w {}", job.display())
        };
        found.push(Finding { place: job.display().to_string(), line: name, remedy });
    }
}

/// Whether a command that a clock starts looks like a clean-up script: the script that it calls tells more than its name.
fn is_cleaner(line: &str, home: Option<&Path>, scripts: &mut Scripts) -> bool {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return false;
    }
    is_about_it(line) || scripts_of(line, home).iter().take(MOST_SCRIPTS).any(|path| scripts.is_cleaner(path))
}

/// Files that a command line may call: by their path, below the home, or in the folder that it changes to.
fn scripts_of(line: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let mut scripts = Vec::new();
    let mut folder = home.map(Path::to_owned);
    let mut before = "";
    for word in line.split_whitespace() {
        let word = word.trim_matches(['"', '\'', ';']);
        let in_home = ["~/", "$HOME/", "${HOME}/", "%h/"].iter().find_map(|start| word.strip_prefix(start));
        let path = match in_home {
            Some(rest) => home.map(|home| home.join(rest)),
            None if word.starts_with('/') => Some(PathBuf::from(word)),
            // A redirection is no script, nor is `*/5`.
            None if word.contains('/') && !word.starts_with(['*', '>', '<', '&', '-']) => {
                folder.as_deref().map(|folder| folder.join(word))
            }
            None => None,
        };
        if before == "cd" {
            folder = path.clone();
        }
        if !before.ends_with('>') {
            scripts.extend(path.filter(|path| path.is_file()));
        }
        before = word;
    }
    scripts
}

fn is_script(path: &Path, text: &str) -> bool {
    let ends = ["sh", "bash", "zsh", "py", "js", "mjs", "rb", "pl"];
    text.starts_with("#!") || path.extension().is_some_and(|end| ends.iter().any(|known| end == *known))
}

fn is_about_it(text: &str) -> bool {
    looks_like_a_cleaner(text) || text.contains("orphand sweep")
}

/// The user of a line of /etc/crontab: its sixth word, or the second behind `@daily` and the like.
fn user_of(line: &str) -> Option<String> {
    let at = if line.trim_start().starts_with('@') { 1 } else { 5 };
    line.split_whitespace().nth(at).map(str::to_owned)
}

fn home_of(user: impl AsRef<str>) -> Option<PathBuf> {
    uzers::get_user_by_name(user.as_ref()).map(|user| user.home_dir().to_owned())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of a folder, or the file itself.
fn files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    let mut files: Vec<PathBuf> = files.take(MOST).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Looks into scripts, into each once and not into too many: tables are as long as users make them.
#[derive(Default)]
struct Scripts {
    seen: HashMap<PathBuf, bool>,
}

impl Scripts {
    fn is_cleaner(&mut self, path: &Path) -> bool {
        if let Some(known) = self.seen.get(path) {
            return *known;
        }
        if self.seen.len() >= MOST {
            return false;
        }
        let is_one = read(path).is_some_and(|text| is_script(path, &text) && looks_like_a_cleaner(&text));
        self.seen.insert(path.to_owned(), is_one);
        is_one
    }
}

/// Users choose these paths, and some devices do something when they are opened: so the file is held first, then looked at,
/// and opened only when it is an ordinary one.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
    use std::os::fd::AsRawFd;
    let held = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let stat = fstat(&held)?;
    // The kernel's own files look ordinary, have no size, and some are waited for when they are read.
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_size == 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // Whoever has a lease on it must not be waited for either.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(openat(CWD, format!("/proc/self/fd/{}", held.as_raw_fd()), flags, Mode::empty())?))
}

/// macOS cannot hold a file without opening it; what was no ordinary file a moment ago is not opened.
#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    if !fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    File::options().read(true).custom_flags(no_wait).open(path)
}
