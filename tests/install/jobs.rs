//! launchd. Nothing here needs a Mac: the files are parsed, and a stand-in for launchctl writes down how it was called.

use crate::{Machine, told, wish};
use orphand::install::launchd::{Places, install, uninstall};
use orphand::install::{Hands, Scope, Step, Wish, carry_out, what_is_at};
use plist::{Dictionary, Value};
use std::path::{Path, PathBuf};

fn job(text: &str) -> Dictionary {
    let value = Value::from_reader_xml(text.as_bytes()).expect("a property list");
    value.into_dictionary().expect("a dictionary")
}

fn words(job: &Dictionary) -> Vec<&str> {
    job["ProgramArguments"].as_array().expect("a list").iter().filter_map(Value::as_string).collect()
}

#[test]
fn the_shipped_jobs_say_what_launchd_is_to_do() {
    for (name, text, log) in [
        (
            "io.github.orphand.agent",
            include_str!("../../launchd/io.github.orphand.agent.plist"),
            "/Users/Shared/orphand.log",
        ),
        (
            "io.github.orphand.daemon",
            include_str!("../../launchd/io.github.orphand.daemon.plist"),
            "/var/log/orphand.log",
        ),
    ] {
        let job = job(text);
        assert_eq!(job["Label"].as_string(), Some(name), "the label is the file's name");
        assert_eq!(words(&job), ["/usr/local/bin/orphand", "run"]);
        assert_eq!(job["RunAtLoad"].as_boolean(), Some(true));
        let again = job["KeepAlive"].as_dictionary().expect("conditions");
        assert_eq!(
            (again.len(), again["SuccessfulExit"].as_boolean()),
            (1, Some(false)),
            "again after a failure only"
        );
        assert_eq!(
            job["ExitTimeOut"].as_signed_integer(),
            Some(30),
            "longer than the 25 s that orphand takes at the most"
        );
        assert_eq!(job["Umask"].as_signed_integer(), Some(0o077));
        assert_eq!(job["ProcessType"].as_string(), Some("Background"));
        assert_eq!(job["StandardErrorPath"].as_string(), Some(log));
        // These would make it a one-shot, leak its children, or change the limits of the whole machine.
        for key in [
            "StartInterval",
            "AbandonProcessGroup",
            "SoftResourceLimits",
            "HardResourceLimits",
            "OnDemand",
            "UserName",
        ] {
            assert!(!job.contains_key(key), "{name} has {key}");
        }
    }
}

#[test]
fn the_daemons_log_is_rotated() {
    let text = include_str!("../../launchd/newsyslog.conf");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let fields: Vec<&str> = lines.concat().leak().split_whitespace().collect();
    // logfilename, owner:group, mode, count, size, when, flags: newsyslog.conf(5).
    assert_eq!(fields, ["/var/log/orphand.log", "root:wheel", "640", "5", "1000", "*", "NJ"]);
    let job = job(include_str!("../../launchd/io.github.orphand.daemon.plist"));
    assert_eq!(job["StandardErrorPath"].as_string(), Some(fields[0]));
}

#[test]
fn a_job_starts_the_very_program_whatever_it_is_called() {
    let program = "/Users/a & b/<x> ]]>/\"orphand\"";
    let options =
        vec!["--set".to_owned(), "mode=observe".to_owned(), "--set".to_owned(), "a=<b>&amp;".to_owned()];
    let environment = vec![("XDG_CONFIG_HOME".to_owned(), "/Users/a & b/c<d".to_owned())];
    let wish = Wish { options, environment, ..wish(Scope::User, program) };
    let places = Places::of_user(Path::new("/Users/a & b"), 501);
    let steps = install(&wish, &places, &|_| crate::There::Nothing).expect("a plan");
    let Step::Write { path, text } = &steps[0] else { panic!("{:?}", told(&steps)) };
    assert_eq!(path, Path::new("/Users/a & b/Library/LaunchAgents/io.github.orphand.agent.plist"));
    let job = job(text);
    assert_eq!(words(&job), [program, "run", "--set", "mode=observe", "--set", "a=<b>&amp;"]);
    assert_eq!(job["StandardErrorPath"].as_string(), Some("/Users/a & b/Library/Logs/orphand.log"));
    let variables = job["EnvironmentVariables"].as_dictionary().expect("variables");
    assert_eq!(variables["XDG_CONFIG_HOME"].as_string(), Some("/Users/a & b/c<d"));
}

#[test]
fn the_machines_daemon_belongs_to_the_system_and_has_its_log_rotated() {
    let machine = Machine::default();
    let plan = |machine: &Machine| {
        install(&wish(Scope::Machine, "/usr/local/bin/orphand"), &Places::of_machine(), &|path| {
            machine.look(path)
        })
    };
    let steps = plan(&machine).expect("a plan");
    let wanted = [
        "write /Library/LaunchDaemons/io.github.orphand.daemon.plist",
        "write /etc/newsyslog.d/orphand.conf",
        "try launchctl bootout system/io.github.orphand.daemon",
        "launchctl enable system/io.github.orphand.daemon",
        "launchctl bootstrap system /Library/LaunchDaemons/io.github.orphand.daemon.plist",
    ];
    assert_eq!(told(&steps), wanted);
    let machine = machine.after(&steps);
    assert!(told(&plan(&machine).expect("a plan")).iter().all(|step| !step.starts_with("write")));
    let undo = uninstall(Scope::Machine, &Places::of_machine(), &|path| machine.look(path));
    assert!(machine.after(&undo).0.is_empty());
    let by_hand =
        Machine::default().with("/Library/LaunchDaemons/io.github.orphand.daemon.plist", "<plist/>");
    assert!(plan(&by_hand).is_err(), "somebody else's file is left");
}

/// A user's home, and a launchctl that does what the test says.
struct Mac {
    home: tempfile::TempDir,
    then: &'static str,
}

impl Mac {
    fn new(then: &'static str) -> Mac {
        Mac { home: tempfile::tempdir().expect("a folder"), then }
    }

    fn hands(&self) -> Hands {
        let calls = self.home.path().join("calls").display().to_string();
        let mut hands = crate::stand_ins();
        hands.environment.extend([("CALLS".to_owned(), calls), ("THEN".to_owned(), self.then.to_owned())]);
        hands
    }

    fn places(&self) -> Places {
        Places::of_user(self.home.path(), 501)
    }

    fn job(&self) -> PathBuf {
        self.home.path().join("Library/LaunchAgents/io.github.orphand.agent.plist")
    }

    fn install(&self) -> Result<Vec<String>, String> {
        let steps = install(&wish(Scope::User, "/usr/local/bin/orphand"), &self.places(), &what_is_at)
            .expect("a plan");
        let mut done = Vec::new();
        let ended = carry_out(&steps, &self.hands(), |step, _| done.extend(told(std::slice::from_ref(step))));
        ended.map(|()| done).map_err(|failure| failure.to_string())
    }

    fn calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.home.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }
}

#[test]
fn launchctl_is_told_to_start_the_job_and_to_forget_it() {
    let mac = Mac::new("[ \"$1\" != bootout ] # nothing is loaded yet");
    let done = mac.install().expect("installed");
    let bootstrap = format!("bootstrap gui/501 {}", mac.job().display());
    let wanted =
        ["bootout gui/501/io.github.orphand.agent", "enable gui/501/io.github.orphand.agent", &bootstrap];
    assert_eq!(mac.calls(), wanted);
    assert_eq!(done.len(), 4, "{done:?}");
    assert_eq!(
        words(&job(&std::fs::read_to_string(mac.job()).expect("a job"))),
        ["/usr/local/bin/orphand", "run"]
    );
    let again = mac.install().expect("once more");
    assert!(!again.iter().any(|step| step.starts_with("write")), "{again:?}");
    let steps = uninstall(Scope::User, &mac.places(), &what_is_at);
    carry_out(&steps, &mac.hands(), |_, _| {}).expect("undone");
    assert!(!mac.job().exists());
    assert_eq!(mac.calls().last().map(String::as_str), Some(wanted[0]));
    assert!(uninstall(Scope::User, &mac.places(), &what_is_at).is_empty(), "there is nothing more to undo");
}

/// launchd lets go of a job some moments after `bootout` has returned; until then `bootstrap` fails.
#[test]
fn a_job_that_is_still_going_is_waited_for() {
    let mac = Mac::new("[ \"$1\" != bootstrap ] || [ \"$(grep -c bootstrap \"$CALLS\")\" -ge 3 ]");
    mac.install().expect("installed at last");
    assert_eq!(mac.calls().iter().filter(|call| call.starts_with("bootstrap")).count(), 3);
}

#[test]
fn what_launchctl_says_is_handed_on() {
    let mac = Mac::new("[ \"$1\" != enable ] || { echo 'Not privileged to set service state' >&2; exit 1; }");
    let error = mac.install().expect_err("it fails");
    assert!(
        error.contains("launchctl enable gui/501/io.github.orphand.agent")
            && error.contains("Not privileged"),
        "{error}"
    );
}
