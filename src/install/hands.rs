//! Carrying out a plan: files are replaced as a whole, tools are started without a shell and waited for.

use super::{Failing, Scope, Step};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// So long a tool that fails is asked again, where that can help.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(250);
/// So long a tool that is only asked may take.
const TIME_TO_ANSWER: Duration = Duration::from_secs(5);

/// Whoever starts tools.
#[derive(Clone, Default, Debug)]
pub struct Hands {
    /// Variables that tools get beside orphand's own.
    pub environment: Vec<(String, String)>,
}

/// A step that failed; those before it were done.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file or folder.
    #[error("cannot {verb} {}: {error}", .path.display())]
    File {
        /// What was to be done with it.
        verb: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A tool that cannot be started.
    #[error("cannot start {tool}: {error}")]
    NoTool {
        /// Which.
        tool: String,
        /// What the system said.
        error: io::Error,
    },
    /// A tool that failed.
    #[error("`{command}` failed: {said}")]
    Tool {
        /// The whole command.
        command: String,
        /// What it said, or its exit status.
        said: String,
    },
}

/// What became of a step.
#[derive(Debug)]
pub enum Done {
    /// It was done.
    Yes,
    /// There was nothing to do any more.
    AsItWas,
    /// It failed, and that changes nothing for the others.
    Failed(Failure),
}

/// Does the steps in order, and tells of each what became of it. Stops at the first that must not fail and does.
pub fn carry_out(steps: &[Step], hands: &Hands, mut tell: impl FnMut(&Step, Done)) -> Result<(), Failure> {
    for step in steps {
        let done = carry_out_one(step, hands)?;
        tell(step, done);
    }
    Ok(())
}

/// Does the steps in order, whatever becomes of each.
pub fn carry_out_all(steps: &[Step], hands: &Hands, mut tell: impl FnMut(&Step, Done)) {
    for step in steps {
        let done = carry_out_one(step, hands).unwrap_or_else(Done::Failed);
        tell(step, done);
    }
}

fn carry_out_one(step: &Step, hands: &Hands) -> Result<Done, Failure> {
    let file = |verb, path: &Path, error| Failure::File { verb, path: path.to_owned(), error };
    Ok(match step {
        Step::Keep(_) => Done::Yes,
        Step::Write { path, text } => {
            write(path, text).map_err(|error| file("write", path, error))?;
            Done::Yes
        }
        Step::Remove(path) => match fs::remove_file(path) {
            Ok(()) => Done::Yes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Done::AsItWas,
            Err(error) => return Err(file("remove", path, error)),
        },
        Step::RemoveEmpty(path) => match fs::remove_dir(path) {
            Ok(()) => Done::Yes,
            Err(error)
                if [io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::NotFound].contains(&error.kind()) =>
            {
                Done::AsItWas
            }
            Err(error) => return Err(file("remove", path, error)),
        },
        Step::Confirm { words, path } => {
            let asked: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = hands.ask(&asked).unwrap_or_default();
            if !answer.contains(&*path.to_string_lossy()) {
                let said = format!("it does not read {}, but {:?}", path.display(), answer.trim());
                return Err(Failure::Tool { command: words.join(" "), said });
            }
            Done::AsItWas
        }
        Step::Run { words, failing } => match (hands.run(words, *failing), failing) {
            (Ok(()), _) => Done::Yes,
            (Err(_), Failing::IsNothing) => Done::AsItWas,
            (Err(failure), Failing::GoesOn) => Done::Failed(failure),
            (Err(failure), _) => return Err(failure),
        },
    })
}

/// A reader sees the old file or the new one. Everybody may read it: there is nothing secret in it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    let mut new = path.as_os_str().to_owned();
    // A name that no service manager reads.
    new.push(".orphand-new");
    let new = PathBuf::from(new);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written =
        fs::File::options().write(true).create_new(true).mode(0o644).open(&new).and_then(|mut file| {
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| drop(fs::remove_file(&new)))
}

impl Hands {
    /// Those of whoever looks after the machine, or of a user whose service manager is asked: `su` and cron set no
    /// XDG_RUNTIME_DIR, and systemctl needs it.
    pub fn of(scope: Scope, uid: u32) -> Hands {
        // What they say is shown when they fail, and understood where it is an answer.
        let mut environment = vec![("LC_ALL".to_owned(), "C.UTF-8".to_owned())];
        if scope == Scope::User {
            environment.push(("XDG_RUNTIME_DIR".to_owned(), format!("/run/user/{uid}")));
        }
        Hands { environment }
    }

    /// What a tool prints; `None` where it cannot be started, fails, or does not answer in time: a service manager that is
    /// stopped does not.
    pub fn ask(&self, words: &[&str]) -> Option<String> {
        let mut child =
            self.command(&owned(words)).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut output = child.stdout.take()?;
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            output.read_to_end(&mut text).map(|_| text)
        });
        let until = Instant::now() + TIME_TO_ANSWER;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return None;
                }
            }
        };
        let text = reader.join().ok()?.ok()?;
        status.success().then(|| String::from_utf8_lossy(&text).into_owned())
    }

    fn run(&self, words: &[String], failing: Failing) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            let output = self.start(words)?;
            if output.status.success() {
                return Ok(());
            }
            if failing != Failing::EndsLater || Instant::now() >= until {
                return Err(Failure::Tool { command: words.join(" "), said: what_it_said(&output) });
            }
            std::thread::sleep(AGAIN);
        }
    }

    fn start(&self, words: &[String]) -> Result<Output, Failure> {
        let tool = words.first().cloned().unwrap_or_default();
        self.command(words).output().map_err(|error| Failure::NoTool { tool, error })
    }

    fn command(&self, words: &[String]) -> Command {
        let (tool, arguments) =
            words.split_first().map_or(("", &[][..]), |(tool, rest)| (tool.as_str(), rest));
        // Root's tools are where a user's PATH, as `su` keeps it, does not look.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin:/usr/bin:/bin";
        let path = ("PATH".to_owned(), path);
        let environment = std::iter::once(&path).chain(&self.environment).map(|(name, value)| (name, value));
        let mut command = Command::new(tool);
        command.args(arguments).envs(environment).stdin(Stdio::null());
        command
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn what_it_said(output: &Output) -> String {
    let text = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let text = String::from_utf8_lossy(text);
    let said = text.trim();
    if said.is_empty() { output.status.to_string() } else { said.to_owned() }
}
