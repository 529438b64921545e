//! Looks where people put clean-up scripts: tables of cron, timers' services, launchd's jobs. Reads only, and changes nothing.

use super::{Hands, Scope, looks_like_a_cleaner};
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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
/// More files of one folder are not read.
const MOST: usize = 500;

/// Everything that this person could have put there. `home` is the user's; `root` stands before every path of the system.
pub fn survey(scope: Scope, root: &Path, home: Option<&Path>, hands: &Hands) -> Vec<Finding> {
    let mut found = Vec::new();
    match scope {
        Scope::Machine => {
            let tables = ["etc/crontab", "etc/cron.d", "var/spool/cron/crontabs", "var/spool/cron"];
            for table in tables.iter().flat_map(|place| files(&root.join(place))) {
                judge_lines(&table, &mut found);
            }
            let scripts = ["etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly"];
            for script in scripts.iter().flat_map(|place| files(&root.join(place))) {
                judge_script(&script, &mut found);
            }
            let jobs = ["etc/systemd/system", "Library/LaunchDaemons", "Library/LaunchAgents"];
            for job in jobs.iter().flat_map(|place| files(&root.join(place))) {
                judge_job(&job, home, &mut found);
            }
        }
        Scope::User => {
            for line in hands.ask(&["crontab", "-l"]).unwrap_or_default().lines() {
                judge_line("crontab -l", line, "crontab -e", home, &mut found);
            }
            let jobs = [".config/systemd/user", "Library/LaunchAgents"];
            let folders = home.iter().flat_map(|home| jobs.iter().map(|place| home.join(place)));
            for job in folders.flat_map(|folder| files(&folder)) {
                judge_job(&job, home, &mut found);
            }
        }
    }
    found
}

fn judge_lines(table: &Path, found: &mut Vec<Finding>) {
    let Some(text) = read(table) else { return };
    let remedy =
        if table.parent().is_some_and(|folder| folder.ends_with("crontabs") || folder.ends_with("cron")) {
            let user = table.file_name().unwrap_or_default().to_string_lossy();
            format!("crontab -u {user} -e")
        } else {
            format!("edit {}", table.display())
        };
    for (number, line) in text.lines().enumerate() {
        judge_line(&format!("{}:{}", table.display(), number + 1), line, &remedy, None, found);
    }
}

/// A line of cron's. The script that it calls tells more than its name.
fn judge_line(place: &str, line: &str, remedy: &str, home: Option<&Path>, found: &mut Vec<Finding>) {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return;
    }
    let in_home = |word: &str| {
        let rest = ["~/", "$HOME/", "%h/"].iter().find_map(|start| word.strip_prefix(start))?;
        home.map(|home| home.join(rest))
    };
    let path = |word: &str| if word.starts_with('/') { Some(PathBuf::from(word)) } else { in_home(word) };
    let is_cleaner =
        |path: PathBuf| read(&path).is_some_and(|text| text.starts_with("#!") && looks_like_a_cleaner(&text));
    if is_about_it(line) || line.split_whitespace().filter_map(path).take(4).any(is_cleaner) {
        found.push(Finding { place: place.to_owned(), line: line.to_owned(), remedy: remedy.to_owned() });
    }
}

fn judge_script(script: &Path, found: &mut Vec<Finding>) {
    if read(script).is_some_and(|text| is_about_it(&text)) {
        let line = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = script.display().to_string();
        found.push(Finding { remedy: format!("chmod -x {place}"), place, line });
    }
}

/// A service or a job of launchd's.
fn judge_job(job: &Path, home: Option<&Path>, found: &mut Vec<Finding>) {
    let name = job.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_unit = name.ends_with(".service");
    if !is_unit && !name.ends_with(".plist") || name.contains("orphand") {
        return;
    }
    let Some(text) = read(job) else { return };
    let starts: Vec<&str> = if is_unit {
        text.lines().filter(|line| line.starts_with("ExecStart=")).collect()
    } else {
        vec![&text]
    };
    let mut inside = Vec::new();
    for start in starts {
        let words = start.replace("<string>", " ").replace("</string>", " ").replace("ExecStart=", " ");
        judge_line("", &words.split_whitespace().collect::<Vec<_>>().join(" "), "", home, &mut inside);
    }
    if !inside.is_empty() {
        let remedy = if is_unit {
            let timer = job.with_extension("timer");
            let unit = if timer.is_file() {
                timer.file_name().unwrap_or_default().to_string_lossy()
            } else {
                name.as_str().into()
            };
            format!("systemctl {}disable --now {unit}", if home.is_some() { "--user " } else { "" })
        } else {
            format!("launchctl unload -w {}", job.display())
        };
        found.push(Finding { place: job.display().to_string(), line: name, remedy });
    }
}

fn is_about_it(text: &str) -> bool {
    looks_like_a_cleaner(text) || text.contains("orphand sweep")
}

/// The files of a folder, or the file itself.
fn files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_file()).take(MOST).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Option<String> {
    // Some devices do something when they are opened.
    if !fs::metadata(path).is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = fs::File::options().read(true).custom_flags(no_wait).open(path).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    std::io::read_to_string(file).ok()
}
