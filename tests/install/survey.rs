//! Clean-up scripts that are there already.

use orphand::install::{Finding, Hands, Scope, survey};
use std::path::Path;

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn places(found: &[Finding], root: &Path) -> Vec<String> {
    found.iter().map(|finding| finding.place.replace(&root.display().to_string(), "")).collect()
}

#[test]
fn the_machines_tables_scripts_and_timers_are_read() {
    let root = tempfile::tempdir().expect("a folder");
    let at = |path: &str| root.path().join(path);
    let script = at("opt/sweep.sh");
    write(&script, "#!/bin/bash\nfor p in $(pgrep -f 'npm exec.*mcp'); do kill -9 $p; done\n");
    write(&at("etc/crontab"), "SHELL=/bin/sh\n17 * * * * root cd / && run-parts --report /etc/cron.hourly\n");
    write(&at("etc/cron.d/mcp"), &format!("# every quarter\n*/15 * * * * root {}\n", script.display()));
    write(&at("etc/cron.d/backup"), "0 3 * * * root /usr/bin/backup --keep 7 mcp-server-data\n");
    write(&at("var/spool/cron/crontabs/ann"), "* * * * * pkill -f context7\n#* * * * * pkill -f mcp\n");
    write(&at("etc/cron.hourly/zombies"), "#!/bin/sh\npkill -f mcp-server\n");
    write(&at("etc/cron.daily/logrotate"), "#!/bin/sh\nkill -HUP $(cat /run/nginx.pid)\n");
    write(&at("etc/systemd/system/reaper.service"), "[Service]\nExecStart=/usr/bin/cc-reaper --all\n");
    write(&at("etc/systemd/system/reaper.timer"), "[Timer]\nOnCalendar=hourly\n");
    write(
        &at("etc/systemd/system/web.service"),
        "[Service]\nExecStart=/usr/bin/node /srv/mcp/server.js\nKillMode=mixed\n",
    );
    write(&at("etc/systemd/system/orphand.service"), "[Service]\nExecStart=/usr/bin/orphand sweep\n");
    let found = survey(Scope::Machine, root.path(), None, &Hands::default());
    let wanted = [
        "/etc/cron.d/mcp:2",
        "/var/spool/cron/crontabs/ann:1",
        "/etc/cron.hourly/zombies",
        "/etc/systemd/system/reaper.service",
    ];
    assert_eq!(places(&found, root.path()), wanted, "{found:#?}");
    assert_eq!(found[1].remedy, "crontab -u ann -e");
    assert_eq!(found[3].remedy, "systemctl disable --now reaper.timer");
}

#[test]
fn a_users_table_and_what_it_calls_are_read() {
    let home = tempfile::tempdir().expect("a home");
    let at = |path: &str| home.path().join(path);
    write(
        &at("bin/clean.sh"),
        "#!/bin/sh\nps -eo pid,ppid,args | awk '$2 == 1 && /mcp/ {print $1}' | xargs -r kill\n",
    );
    let table = "*/10 * * * * ~/bin/clean.sh\n0 4 * * * $HOME/bin/clean.sh -v\n@daily orphand sweep\n5 5 * * * certbot renew\n";
    let more = "1 * * * * \"${HOME}/bin/clean.sh\"\n2 * * * * cd ~/bin && ./clean.sh\n3 * * * * bin/clean.sh\n4 * * * * python3 bin/clean.py\n\
                5 * * * * backup >bin/clean.sh 2>&1\n";
    write(
        &at("bin/clean.py"),
        "import os, psutil\nfor p in psutil.process_iter():\n    if 'mcp' in p.name(): os.kill(p.pid, 9)\n",
    );
    write(&at("table"), &(table.to_owned() + more));
    write(&at(".config/systemd/user/janitor.timer"), "[Timer]\nOnCalendar=hourly\n");
    write(&at(".config/systemd/user/once.service"), "[Service]\nExecStart=%h/bin/clean.sh\n");
    write(&at(".config/systemd/user/janitor.service"), "[Service]\nExecStart=%h/bin/clean.sh\n");
    write(
        &at("Library/LaunchAgents/com.me.reaper.plist"),
        "<array><string>/bin/sh</string><string>-c</string><string>pkill -f mcp</string></array>",
    );
    let mut hands = crate::stand_ins();
    hands.environment.push(("TABLE".to_owned(), at("table").display().to_string()));
    let found = survey(Scope::User, Path::new("/nonexistent"), Some(home.path()), &hands);
    let wanted = [
        "crontab -l",
        "crontab -l",
        "crontab -l",
        "crontab -l",
        "crontab -l",
        "crontab -l",
        "crontab -l",
        "/.config/systemd/user/janitor.service",
        "/Library/LaunchAgents/com.me.reaper.plist",
    ];
    assert_eq!(places(&found, home.path()), wanted, "{found:#?}");
    assert_eq!(found[2].line, "@daily orphand sweep");
    assert_eq!(found[7].remedy, "systemctl --user disable --now janitor.timer");
}

#[test]
fn a_table_that_cannot_be_read_is_no_reason_to_stop() {
    let nowhere = Hands { environment: vec![("PATH".to_owned(), "/nonexistent".to_owned())] };
    assert!(survey(Scope::User, Path::new("/nonexistent"), None, &nowhere).is_empty());
    // A link to a device is not opened: some do something then.
    let root = tempfile::tempdir().expect("a folder");
    write(&root.path().join("etc/cron.d/x"), "* * * * * root /dev/zero\n");
    assert!(survey(Scope::Machine, root.path(), None, &nowhere).is_empty());
}
