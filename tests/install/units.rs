//! systemd.

use crate::{Machine, text_of, told, wish};
use orphand::install::systemd::{Known, Places, install, starts, take_back, uninstall, variables};
use orphand::install::{PlanError, Scope, Step, Wish};
use std::collections::BTreeSet;
use std::path::Path;

const SERVICE: &str = include_str!("../../systemd/orphand.service");
const SWEEP: &str = include_str!("../../systemd/orphand-sweep.service");
const TIMER: &str = include_str!("../../systemd/orphand-sweep.timer");
const SYSUSERS: &str = include_str!("../../systemd/orphand.sysusers");
const OWN: &str = "/usr/local/bin/orphand";

fn plan(wish: &Wish, machine: &Machine) -> Vec<Step> {
    plan_knowing(wish, machine, &Known::default())
}

fn plan_knowing(wish: &Wish, machine: &Machine, known: &Known) -> Vec<Step> {
    install(wish, &Places::of_machine(), known, &|path| machine.look(path)).expect("a plan")
}

fn undo(machine: &Machine, known: &Known) -> Vec<Step> {
    uninstall(Scope::Machine, &Places::of_machine(), known, true, &|path| machine.look(path))
}

/// A daemon that runs and was enabled, as files and systemd have it.
fn running(machine: Machine) -> (Machine, Known) {
    let link = "/etc/systemd/system/multi-user.target.wants/orphand.service";
    let known = Known {
        enabled: vec!["orphand.service"],
        active: vec!["orphand.service"],
        fragments: [("orphand.service", "/etc/systemd/system/orphand.service".into())].into(),
        account: true,
    };
    (machine.with_other(link, "is a link to ../orphand.service"), known)
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
        "confirm /etc/systemd/system/orphand.service",
        "systemctl enable orphand.service",
        "try systemctl reset-failed orphand.service",
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
    let places =
        Places::of_user(Path::new("/home/ann/.config/systemd/user"), Path::new("/home/ann/.local/share"));
    let steps =
        install(&wish(Scope::User, "/home/ann/.cargo/bin/orphand"), &places, &Known::default(), &|_| {
            crate::There::Nothing
        });
    let wanted = [
        "write /home/ann/.config/systemd/user/orphand.service",
        "systemctl --user daemon-reload",
        "confirm /home/ann/.config/systemd/user/orphand.service",
        "systemctl --user enable orphand.service",
        "try systemctl --user reset-failed orphand.service",
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
    let plain = wish(Scope::Machine, "/usr/bin/orphand");
    let started = [
        "systemctl daemon-reload",
        "systemctl enable orphand.service",
        "try systemctl reset-failed orphand.service",
        "systemctl restart orphand.service",
    ];
    assert_eq!(told(&plan(&plain, &packaged())), started);
    // Options are a change to it, which goes away with them; upgrades of the package's unit count all the same.
    let observe = Wish { options: vec!["--set".into(), "mode=observe".into()], ..plain.clone() };
    let steps = plan(&observe, &packaged());
    let drop_in = "/etc/systemd/system/orphand.service.d/orphand-install.conf";
    assert_eq!(told(&steps)[0], format!("write {drop_in}"));
    let text = text_of(&steps, "orphand-install.conf");
    assert!(
        text.ends_with("[Service]\nExecStart=\nExecStart=/usr/bin/orphand run --set mode=observe\n"),
        "{text}"
    );
    let machine = packaged().after(&steps);
    let before = starts(&Places::of_machine(), &|path| machine.look(path));
    assert_eq!(before.as_deref(), Some("/usr/bin/orphand run --set mode=observe"));
    let back = told(&plan(&plain, &machine));
    assert_eq!(
        back[..2],
        [format!("remove {drop_in}"), format!("rmdir {drop_in}").replace("/orphand-install.conf", "")]
    );
    // Another program needs a unit of its own.
    assert!(
        told(&plan(&wish(Scope::Machine, OWN), &packaged()))
            .contains(&"write /etc/systemd/system/orphand.service".to_owned())
    );
}

#[test]
fn service_and_timer_take_each_others_place() {
    let (service, timer) = (wish(Scope::Machine, OWN), with_timer(wish(Scope::Machine, OWN)));
    let (machine, known) = running(Machine::default().after(&plan(&service, &Machine::default())));
    let steps = plan_knowing(&timer, &machine, &known);
    let wanted = [
        "try systemctl stop orphand.service",
        "try systemctl disable orphand.service",
        "remove /etc/systemd/system/orphand.service",
        "remove /etc/systemd/system/multi-user.target.wants/orphand.service",
        "keep /etc/sysusers.d/orphand.conf",
        "systemd-sysusers /etc/sysusers.d/orphand.conf",
        "write /etc/systemd/system/orphand-sweep.service",
        "write /etc/systemd/system/orphand-sweep.timer",
        "systemctl daemon-reload",
        "confirm /etc/systemd/system/orphand-sweep.service",
        "confirm /etc/systemd/system/orphand-sweep.timer",
        "systemctl enable orphand-sweep.timer",
        "try systemctl reset-failed orphand-sweep.timer",
        "systemctl restart orphand-sweep.timer",
    ];
    assert_eq!(told(&steps), wanted);
    let known = Known {
        enabled: vec!["orphand-sweep.timer"],
        active: vec!["orphand-sweep.timer"],
        account: true,
        ..Known::default()
    };
    let back = plan_knowing(&service, &machine.after(&steps), &known);
    assert_eq!(
        told(&back)[..4],
        [
            "try systemctl stop orphand-sweep.timer",
            "try systemctl disable orphand-sweep.timer",
            "remove /etc/systemd/system/orphand-sweep.timer",
            "remove /etc/systemd/system/orphand-sweep.service",
        ]
    );
}

#[test]
fn where_it_cannot_be_started_all_is_as_it_was() {
    // Nothing was there before.
    let service = wish(Scope::Machine, OWN);
    let steps = plan(&service, &Machine::default());
    let back = take_back(&service, &steps, &Known::default(), &|_| crate::There::Nothing);
    assert!(Machine::default().after(&steps).after(&back).0.is_empty(), "{:?}", told(&back));
    assert!(told(&back).contains(&"try userdel orphand".to_owned()));
    // A daemon was at work, with other options.
    let (machine, known) = running(Machine::default().after(&steps));
    let before = machine.clone();
    let timer = with_timer(Wish { options: vec!["--log".into(), "warn".into()], ..service });
    let steps = plan_knowing(&timer, &machine, &known);
    let back = take_back(&timer, &steps, &known, &|path| machine.look(path));
    let mut after = machine.clone().after(&steps).after(&back);
    // The link is systemd's business again.
    after = after.with_other(
        "/etc/systemd/system/multi-user.target.wants/orphand.service",
        "is a link to ../orphand.service",
    );
    assert_eq!(after.0, before.0);
    let back = told(&back);
    assert!(!back.contains(&"try userdel orphand".to_owned()), "{back:?}");
    assert_eq!(
        back[back.len() - 3..],
        [
            "try systemctl daemon-reload",
            "try systemctl enable orphand.service",
            "try systemctl restart orphand.service"
        ]
    );
}

#[test]
fn what_somebody_else_has_written_is_left_and_named() {
    let unit = "/etc/systemd/system/orphand.service";
    let by_hand = packaged().with(unit, "[Service]\nExecStart=/opt/orphand run\n");
    let masked = Machine::default().with_other(unit, "is a link to /dev/null");
    for (machine, words, remedy) in [
        (&by_hand, "was not written by", "move it away"),
        (&masked, "is a link to /dev/null", "systemctl unmask orphand.service"),
    ] {
        for program in [OWN, "/usr/bin/orphand"] {
            let error =
                install(&wish(Scope::Machine, program), &Places::of_machine(), &Known::default(), &|path| {
                    machine.look(path)
                });
            let error = error.expect_err("no plan").to_string();
            assert!(error.contains(unit) && error.contains(words) && error.contains(remedy), "{error}");
        }
        // It may run: that is none of our business either.
        let known = running(Machine::default()).1;
        assert!(undo(machine, &known).is_empty(), "{:?}", told(&undo(machine, &known)));
    }
}

#[test]
fn uninstalling_takes_away_what_was_installed_and_nothing_else() {
    let nothing = Known::default();
    assert!(undo(&Machine::default(), &nothing).is_empty());
    let (installed, known) =
        running(Machine::default().after(&plan(&wish(Scope::Machine, OWN), &Machine::default())));
    let installed = installed
        .with("/var/lib/systemd/timers/stamp-orphand-sweep.timer", "")
        .with_other("/var/lib/orphand", "is no ordinary file");
    let steps = undo(&installed, &known);
    let wanted = [
        "try systemctl stop orphand.service",
        "try systemctl disable orphand.service",
        "remove /etc/systemd/system/orphand.service",
        "remove /etc/systemd/system/multi-user.target.wants/orphand.service",
        "remove /var/lib/systemd/timers/stamp-orphand-sweep.timer",
        "try systemctl daemon-reload",
        "try systemctl reset-failed orphand.service orphand-sweep.service",
        "chown --recursive --no-dereference root:root /var/lib/orphand",
        "userdel orphand",
        "remove /etc/sysusers.d/orphand.conf",
    ];
    assert_eq!(told(&steps), wanted);
    let left: Vec<_> = installed.after(&steps).0.into_keys().collect();
    assert_eq!(left, [std::path::PathBuf::from("/var/lib/orphand")]);
    // Of a package only the service is stopped; its files and its user go with it.
    let of_package = told(&undo(&packaged(), &known));
    assert_eq!(
        of_package[..2],
        ["try systemctl stop orphand.service", "try systemctl disable orphand.service"]
    );
    assert!(
        !of_package.iter().any(|step| step.starts_with("remove") || step.starts_with("userdel")),
        "{of_package:?}"
    );
}

#[test]
fn half_of_an_installation_can_be_taken_away_as_well() {
    // Somebody has removed the unit's file; the service runs on, and is enabled.
    let (machine, known) = running(Machine::default());
    let steps = told(&undo(&machine, &known));
    assert_eq!(steps[..2], ["try systemctl stop orphand.service", "try systemctl disable orphand.service"]);
    assert!(steps.contains(&"remove /etc/systemd/system/multi-user.target.wants/orphand.service".to_owned()));
    // An earlier try got as far as the user, which was in use.
    let sysusers =
        Machine::default().with("/etc/sysusers.d/orphand.conf", "# Written by `orphand install`.\n");
    assert_eq!(
        told(&undo(&sysusers, &Known::default())),
        ["userdel orphand", "remove /etc/sysusers.d/orphand.conf"]
    );
    // A person's account of that name is no account of ours.
    let person = uninstall(Scope::Machine, &Places::of_machine(), &Known::default(), false, &|path| {
        sysusers.look(path)
    });
    assert_eq!(told(&person), ["remove /etc/sysusers.d/orphand.conf"]);
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
    let options = ["--set", r#"state.directory="/srv/$HOME/a b""#, "--set", ""];
    assert_eq!(
        started(OWN, &options),
        r#"ExecStart=/usr/local/bin/orphand run --set "state.directory=\"/srv/$$HOME/a b\"" --set """#
    );
    let with_variable = Wish {
        environment: vec![("XDG_CONFIG_HOME".into(), "/home/ann/my 100% cfg".into())],
        ..wish(Scope::Machine, OWN)
    };
    let text = text_of(&plan(&with_variable, &Machine::default()), "orphand.service");
    assert!(text.contains("\nEnvironment=\"XDG_CONFIG_HOME=/home/ann/my 100%% cfg\"\n"), "{text}");
    // Two lines would be two settings, and systemd starts no program with a quote in its name.
    let two_lines = Wish {
        options: vec!["--set".into(), "a=1\nExecStartPre=/bin/sh".into()],
        ..wish(Scope::Machine, OWN)
    };
    for wish in [two_lines, wish(Scope::Machine, "/opt/ann's/orphand"), wish(Scope::Machine, r"/opt/a\b")] {
        let refused = install(&wish, &Places::of_machine(), &Known::default(), &|_| crate::There::Nothing);
        assert!(matches!(refused, Err(PlanError::Unspeakable(_))), "{refused:?}");
    }
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
        "RestartPreventExitStatus",
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
        "RestartPrevent",
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

#[test]
fn a_unit_that_systemd_has_from_elsewhere_is_somebody_elses() {
    for place in ["/usr/local/lib/systemd/system/orphand.service", "/run/systemd/transient/orphand.service"] {
        let known = Known {
            active: vec!["orphand.service"],
            enabled: vec!["orphand.service"],
            fragments: [("orphand.service", place.into())].into(),
            account: false,
        };
        assert!(undo(&packaged(), &known).is_empty(), "{:?}", told(&undo(&packaged(), &known)));
        let look = |path: &Path| packaged().look(path);
        let refused =
            install(&wish(Scope::Machine, "/usr/bin/orphand"), &Places::of_machine(), &known, &look);
        assert!(refused.expect_err("no plan").to_string().contains(place));
    }
}

#[test]
fn only_what_was_done_is_taken_back() {
    let (machine, mut known) =
        running(Machine::default().after(&plan(&wish(Scope::Machine, OWN), &Machine::default())));
    // Somebody's own sweep of that name is at work, too.
    known.active.push("orphand-sweep.service");
    known
        .fragments
        .insert("orphand-sweep.service", "/usr/local/lib/systemd/system/orphand-sweep.service".into());
    let observe = Wish { options: vec!["--set".into(), "mode=observe".into()], ..wish(Scope::Machine, OWN) };
    let steps = plan_knowing(&observe, &machine, &known);
    let unit = "/etc/systemd/system/orphand.service";
    let failed =
        steps.iter().position(|step| matches!(step, Step::Write { path, .. } if path == Path::new(unit)));
    let done = &steps[..=failed.expect("it is written")];
    // The file could not be written: the daemon was never stopped, and is not now.
    let back = told(&take_back(&observe, done, &known, &|path| machine.look(path)));
    assert_eq!(
        back,
        [
            format!("write {unit}"),
            "try systemctl daemon-reload".into(),
            "try systemctl enable orphand.service".into()
        ]
    );
    let back = told(&take_back(&observe, &steps, &known, &|path| machine.look(path)));
    assert_eq!(back[0], "try systemctl stop orphand.service");
    assert_eq!(back.last().expect("a step"), "try systemctl restart orphand.service");
    assert!(!back.iter().any(|step| step.contains("sweep")), "{back:?}");
}

#[test]
fn the_folders_that_a_service_was_given_are_found_again() {
    let value = "/home/ann/my 100% \"state\"";
    let given =
        Wish { environment: vec![("XDG_STATE_HOME".into(), value.into())], ..wish(Scope::Machine, OWN) };
    let machine = Machine::default().after(&plan(&given, &Machine::default()));
    let found = variables(&Places::of_machine(), &|path| machine.look(path));
    assert_eq!(found, [("XDG_STATE_HOME".to_owned(), value.to_owned())]);
}
