//! systemd.

use crate::{Machine, text_of, told, wish};
use orphand::install::systemd::{Places, install, uninstall};
use orphand::install::{PlanError, Scope, Step, Wish};
use std::collections::BTreeSet;
use std::path::Path;

const SERVICE: &str = include_str!("../../systemd/orphand.service");
const SWEEP: &str = include_str!("../../systemd/orphand-sweep.service");
const TIMER: &str = include_str!("../../systemd/orphand-sweep.timer");
const SYSUSERS: &str = include_str!("../../systemd/orphand.sysusers");
const OWN: &str = "/usr/local/bin/orphand";

fn plan(wish: &Wish, machine: &Machine) -> Vec<Step> {
    install(wish, &Places::of_machine(), &|path| machine.look(path)).expect("a plan")
}

fn packaged() -> Machine {
    Machine::default()
        .with("/usr/lib/systemd/system/orphand.service", SERVICE)
        .with("/usr/lib/systemd/system/orphand-sweep.service", SWEEP)
        .with("/usr/lib/systemd/system/orphand-sweep.timer", TIMER)
        .with("/usr/lib/sysusers.d/orphand.conf", SYSUSERS)
}

fn with_timer(wish: Wish) -> Wish {
    Wish { timer: true, ..wish }
}

#[test]
fn on_a_bare_machine_everything_is_written_enabled_and_started() {
    let steps = plan(&wish(Scope::Machine, OWN), &Machine::default());
    let wanted = [
        "write /etc/sysusers.d/orphand.conf",
        "systemd-sysusers /etc/sysusers.d/orphand.conf",
        "write /etc/systemd/system/orphand.service",
        "systemctl daemon-reload",
        "systemctl enable orphand.service",
        "systemctl restart orphand.service",
    ];
    assert_eq!(told(&steps), wanted);
    let unit = text_of(&steps, "orphand.service");
    let rest: String =
        unit.lines().skip_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(rest, SERVICE.replace("/usr/bin/orphand", OWN), "it is the shipped unit");
}

#[test]
fn a_user_writes_into_his_own_folders_only() {
    let places = Places::of_user(Path::new("/home/ann/.config"), Path::new("/home/ann/.local/share"));
    let steps =
        install(&wish(Scope::User, "/home/ann/.cargo/bin/orphand"), &places, &|_| crate::There::Nothing);
    let wanted = [
        "write /home/ann/.config/systemd/user/orphand.service",
        "systemctl --user daemon-reload",
        "systemctl --user enable orphand.service",
        "systemctl --user restart orphand.service",
    ];
    assert_eq!(told(&steps.expect("a plan")), wanted);
}

#[test]
fn twice_is_as_good_as_once_and_writes_nothing() {
    for wish in [wish(Scope::Machine, OWN), with_timer(wish(Scope::Machine, OWN))] {
        let machine = Machine::default();
        let machine = machine.clone().after(&plan(&wish, &machine));
        let again = plan(&wish, &machine);
        assert!(
            !told(&again).iter().any(|step| step.starts_with("write") || step.starts_with("remove")),
            "{:?}",
            told(&again)
        );
    }
}

#[test]
fn what_the_package_has_brought_is_not_written_again() {
    let steps = plan(&wish(Scope::Machine, "/usr/bin/orphand"), &packaged());
    let wanted = [
        "systemctl disable --now orphand-sweep.timer orphand-sweep.service",
        "systemctl daemon-reload",
        "systemctl enable orphand.service",
        "systemctl restart orphand.service",
    ];
    assert_eq!(told(&steps), wanted);
    // With options it is another unit, and without them the package's again.
    let observe = Wish {
        options: vec!["--set".into(), "mode=observe".into()],
        ..wish(Scope::Machine, "/usr/bin/orphand")
    };
    let steps = plan(&observe, &packaged());
    assert!(
        text_of(&steps, "orphand.service").contains("\nExecStart=/usr/bin/orphand run --set mode=observe\n")
    );
    let machine = packaged().after(&steps);
    let steps = plan(&wish(Scope::Machine, "/usr/bin/orphand"), &machine);
    assert!(
        told(&steps).contains(&"remove /etc/systemd/system/orphand.service".to_owned()),
        "{:?}",
        told(&steps)
    );
}

#[test]
fn service_and_timer_take_each_others_place() {
    let (service, timer) = (wish(Scope::Machine, OWN), with_timer(wish(Scope::Machine, OWN)));
    let machine = Machine::default().after(&plan(&service, &Machine::default()));
    let steps = plan(&timer, &machine);
    let wanted = [
        "systemctl disable --now orphand.service",
        "remove /etc/systemd/system/orphand.service",
        "keep /etc/sysusers.d/orphand.conf",
        "systemd-sysusers /etc/sysusers.d/orphand.conf",
        "write /etc/systemd/system/orphand-sweep.service",
        "write /etc/systemd/system/orphand-sweep.timer",
        "systemctl daemon-reload",
        "systemctl enable orphand-sweep.timer",
        "systemctl restart orphand-sweep.timer",
    ];
    assert_eq!(told(&steps), wanted);
    let back = plan(&service, &machine.after(&steps));
    assert_eq!(
        told(&back)[..3],
        [
            "systemctl disable --now orphand-sweep.timer orphand-sweep.service",
            "remove /etc/systemd/system/orphand-sweep.timer",
            "remove /etc/systemd/system/orphand-sweep.service",
        ]
    );
}

#[test]
fn what_somebody_else_has_written_is_left_and_named() {
    let unit = "/etc/systemd/system/orphand.service";
    let by_hand = Machine::default().with(unit, "[Service]\nExecStart=/opt/orphand run\n");
    let masked = Machine::default().with_other(unit, "is a link to /dev/null");
    for (machine, words) in [(&by_hand, "was not written by"), (&masked, "is a link to /dev/null")] {
        let error = install(&wish(Scope::Machine, OWN), &Places::of_machine(), &|path| machine.look(path));
        let error = error.expect_err("no plan").to_string();
        assert!(error.contains(unit) && error.contains(words) && error.contains("move it away"), "{error}");
        assert!(uninstall(Scope::Machine, &Places::of_machine(), &|path| machine.look(path)).is_empty());
    }
}

#[test]
fn uninstalling_takes_away_what_was_installed_and_nothing_else() {
    let undo =
        |machine: &Machine| uninstall(Scope::Machine, &Places::of_machine(), &|path| machine.look(path));
    assert!(undo(&Machine::default()).is_empty());
    let installed = Machine::default().after(&plan(&wish(Scope::Machine, OWN), &Machine::default()));
    let installed = installed.with("/var/lib/systemd/timers/stamp-orphand-sweep.timer", "");
    let steps = undo(&installed);
    let wanted = [
        "systemctl disable --now orphand.service",
        "remove /etc/systemd/system/orphand.service",
        "remove /var/lib/systemd/timers/stamp-orphand-sweep.timer",
        "systemctl daemon-reload",
        "try systemctl reset-failed orphand.service orphand-sweep.service",
        "remove /etc/sysusers.d/orphand.conf",
        "userdel orphand",
    ];
    assert_eq!(told(&steps), wanted);
    assert!(installed.after(&steps).0.is_empty(), "nothing is left");
    // Of a package only the service is stopped; its files and its user go with it.
    let of_package = told(&undo(&packaged()));
    assert_eq!(
        of_package[0],
        "systemctl disable --now orphand.service orphand-sweep.timer orphand-sweep.service"
    );
    assert!(
        !of_package.iter().any(|step| step.starts_with("remove") || step.starts_with("userdel")),
        "{of_package:?}"
    );
}

#[test]
fn words_mean_to_systemd_what_they_mean_here() {
    let started = |program: &str, options: &[&str]| {
        let wish = Wish {
            options: options.iter().map(|word| (*word).to_owned()).collect(),
            ..wish(Scope::Machine, program)
        };
        let text = text_of(&plan(&wish, &Machine::default()), "orphand.service");
        text.lines().find(|line| line.starts_with("ExecStart=")).expect("it is started").to_owned()
    };
    let run = |program: &str| started(program, &[]);
    assert_eq!(run("/opt/my tools/orphand"), r#"ExecStart="/opt/my tools/orphand" run"#);
    assert_eq!(run("/opt/100%/orphand"), "ExecStart=/opt/100%%/orphand run");
    assert_eq!(run(r#"/opt/"a"\b/orphand"#), r#"ExecStart="/opt/\"a\"\\b/orphand" run"#);
    let options = ["--set", r#"state.directory="/srv/$HOME/a b""#, "--set", ""];
    assert_eq!(
        started(OWN, &options),
        r#"ExecStart=/usr/local/bin/orphand run --set "state.directory=\"/srv/$$HOME/a b\"" --set """#
    );
    let two_lines = Wish {
        options: vec!["--set".into(), "a=1\nExecStartPre=/bin/sh".into()],
        ..wish(Scope::Machine, OWN)
    };
    let refused = install(&two_lines, &Places::of_machine(), &|_| crate::There::Nothing);
    assert!(matches!(refused, Err(PlanError::Unspeakable(_))), "{refused:?}");
}

/// The settings of a unit's section, comments left out.
fn settings(unit: &str, section: &str) -> Vec<String> {
    let lines = unit.lines().skip_while(|line| *line != format!("[{section}]")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn a_users_units_have_no_option_that_would_blind_them() {
    // Each of these is a prctl, a seccomp filter, or about something else than what the service sees.
    let harmless: BTreeSet<&str> = [
        "Type",
        "NotifyAccess",
        "ExecStart",
        "ExecReload",
        "Restart",
        "RestartSec",
        "WatchdogSec",
        "TimeoutStartSec",
        "TimeoutStopSec",
        "KillMode",
        "RuntimeDirectory",
        "RuntimeDirectoryMode",
        "NoNewPrivileges",
        "RestrictAddressFamilies",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "SystemCallArchitectures",
        "SystemCallErrorNumber",
        "SystemCallFilter",
    ]
    .into();
    for unit in [
        include_str!("../../systemd/user/orphand.service"),
        include_str!("../../systemd/user/orphand-sweep.service"),
    ] {
        let settings = settings(unit, "Service");
        assert!(settings.len() > 8, "{settings:?}");
        for setting in settings {
            let key = setting.split('=').next().unwrap_or_default();
            assert!(harmless.contains(key), "{setting}");
        }
    }
}

#[test]
fn the_sweep_is_as_hardened_as_the_daemon() {
    let about_running = [
        "Type",
        "NotifyAccess",
        "Exec",
        "Restart=",
        "RestartSec",
        "WatchdogSec",
        "Timeout",
        "KillMode",
        "RuntimeDirectory",
    ];
    let hardening = |unit: &str| {
        let settings = settings(unit, "Service");
        settings
            .into_iter()
            .filter(|line| !about_running.iter().any(|start| line.starts_with(start)))
            .collect::<Vec<_>>()
    };
    assert!(hardening(SERVICE).len() > 30);
    assert_eq!(hardening(SERVICE), hardening(SWEEP));
    let [daemon, sweep] = [
        include_str!("../../systemd/user/orphand.service"),
        include_str!("../../systemd/user/orphand-sweep.service"),
    ];
    assert_eq!(hardening(daemon), hardening(sweep));
    assert_eq!(TIMER, include_str!("../../systemd/user/orphand-sweep.timer"));
}
