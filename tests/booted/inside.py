"""Runs as root inside the booted container, as a unit, and ends with a line that says whether all was good.

Every process that must live and every one that must go is known by its pid and its start time."""
import glob, json, os, pathlib, pwd, shutil, signal, subprocess, sys, time, traceback

import staging
from installing import *
from staging import *


def prepare():
    for path, mode in [(CLIENT, 0o755), (SERVER, 0o755), (ACTING, 0o755)]:
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("/root/test/acting.py", path)
        os.chmod(path, mode)
    os.makedirs("/srv/pids", exist_ok=True)
    os.chmod("/srv/pids", 0o1777)
    for user in ["ann", "bob"]:
        run("useradd", "--create-home", user)
        run("loginctl", "enable-linger", user)
    for user in ["ann", "bob"]:
        uid = pwd.getpwnam(user).pw_uid
        wait(f"{user}'s systemd runs", lambda: os.path.exists(f"/run/user/{uid}/systemd/private"))
        wait(f"{user}'s systemd answers", lambda: run("systemctl", "--user", "is-system-running", user=user, fails="perhaps").strip()
             in ["running", "degraded"])


def the_package_is_installed():
    write("/etc/orphand/conf.d/test.toml", SHORT)
    run("apt-get", "install", "--yes", "/root/test/orphand.deb")
    check("the service is active", show("orphand.service", "ActiveState") == "active", journal)
    check("it is enabled", run("systemctl", "is-enabled", "orphand.service").strip() == "enabled")
    check("its timer is not", run("systemctl", "is-enabled", "orphand-sweep.timer", fails=True).strip() == "disabled")
    check("it has told systemd so", show("orphand.service", "Type") == "notify")
    check("its status is said in words", "0 MCP trees" in show("orphand.service", "StatusText"), show("orphand.service", "StatusText"))
    check("the watchdog watches", show("orphand.service", "WatchdogUSec") == "1min")
    pid = show("orphand.service", "MainPID")
    facts = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    uid = str(pwd.getpwnam("orphand").pw_uid)
    check("it runs as a user of its own", facts["Uid"].split() == [uid] * 4, facts["Uid"])
    wanted = 1 << 5 | 1 << 19 | 1 << 2  # CAP_KILL, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH: linux/capability.h
    for kind in ["CapEff", "CapPrm", "CapBnd", "CapAmb"]:
        check(f"{kind} is three capabilities", int(facts[kind], 16) == wanted, facts[kind])
    check("no new privileges, system calls filtered", facts["NoNewPrivs"].strip() == "1" and facts["Seccomp"].strip() == "2")
    check("it sees everything that it needs", not status()["shortcomings"], lambda: json.dumps(status()["shortcomings"], indent=1))
    units = sorted(glob.glob("/usr/lib/systemd/system/orphand*"))
    users_units = sorted(glob.glob("/usr/lib/systemd/user/orphand*"))
    check("all units are there", len(units) == 3 and len(users_units) == 3, units + users_units)
    check("systemd finds no fault with the units", run("systemd-analyze", "verify", "--man=no", *units) == "")
    said = run("systemd-analyze", "verify", "--user", "--man=no", *users_units, user="ann")
    check("nor with the users'", said == "", said)
    for unit in ["orphand.service", "orphand-sweep.service"]:
        run("systemd-analyze", "security", "--threshold=16", unit)
        score = run("systemd-analyze", "security", unit).strip().splitlines()[-1]
        check(f"systemd says: {score}", True)
    man = subprocess.run(["gzip", "-dc", "/usr/share/man/man1/orphand.1.gz"], stdout=subprocess.PIPE).stdout
    check("the manual page is this program's", man.decode() == run("orphand", "man"))


def bystanders():
    """All that must live, whoever is looking."""
    clients = [
        Client("live-unit-of-ann", "ann", "plain", "setsid", below="user-manager"),
        Client("live-unit-of-bob", "bob", "plain", "setsid", below="user-manager"),
        Client("live-below-init", "ann", "plain", "setsid"),
        Client("live-system-unit", "bob", "plain", "setsid", below="system-unit"),
        Client("live-in-tmux", "ann", "plain", "setsid", below="tmux"),
    ]
    alive = [process for client in clients for process in client.everybody()]
    # Servers that are units, with stdin and stdout hung up: only that systemd runs them speaks for them.
    server = f"/usr/bin/python3 {ACTING} hung-up node {SERVER}"
    unit = f"[Service]\nExecStart={server}\nUser=ann\n"
    write("/etc/systemd/system/notes-mcp.service", unit)
    write("/home/bob/.config/systemd/user/notes-mcp.service", unit.replace("User=ann\n", ""), "bob")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "notes-mcp.service")
    run("systemctl", "--user", "daemon-reload", user="bob")
    run("systemctl", "--user", "start", "notes-mcp.service", user="bob")
    for pid in [show("notes-mcp.service", "MainPID"), show("notes-mcp.service", "MainPID", "bob")]:
        command = pathlib.Path(f"/proc/{pid}/cmdline")
        wait("the server of a unit runs", lambda: b"foo-mcp" in command.read_bytes())
        alive.append(Process(pid))
    # A server for the network that somebody started with nohup, and one that only lost its client.
    alive.append(begin("/usr/bin/python3", ACTING, "as", "node", SERVER, "listen", "8080", user="bob"))
    alive.append(begin("/usr/bin/python3", ACTING, "hung-up", "node", SERVER, "listen", "8081", user="bob"))
    # Somebody's job that no pattern names.
    alive.append(begin("/usr/bin/python3", ACTING, "hung-up", "ann-job", "/srv/client/job", user="ann"))
    return alive


def orphans_of_two_users_go(alive):
    dead = [
        Client("dead-unit-of-ann", "ann", "plain", "setsid", below="user-manager"),
        Client("dead-unit-of-bob", "bob", "plain", "setsid", below="user-manager"),
        Client("dead-below-init-of-ann", "ann", "plain", "setsid"),
        Client("dead-below-init-of-bob", "bob", "plain", "setsid"),
    ]
    restarted = Client("restarted", "ann", "plain", "setsid", below="user-manager",
                       unit=["-p", "Restart=always", "-p", "RestartSec=100ms"])
    victims = [server for client in [*dead, restarted] for server in client.servers]
    run("orphand", "sweep")
    text = wait("the status counts the trees", lambda: [text for text in [show("orphand.service", "StatusText")] if " MCP trees" in text
                and not text.startswith("0 ")])
    print("status:", text[0])
    for client in [*dead, restarted]:
        client.crash()
    wait("all ten orphans are gone", lambda: gone(victims),
         lambda: f"alive: {[victim.pid for victim in victims if victim.lives()]}\n{run('orphand', 'status')}\n{journal()}")
    restarted.read()
    alive += restarted.everybody()
    assert_alive("nobody else is", alive)
    told = wait("orphand has counted them", lambda: [told for told in [status()] if told["reaped"]["trees"] == 10])[0]
    check("they were ten proven trees", all(reap["code"] == "hung-up" for reap in told["last_reaps"]), told["last_reaps"])
    for pid, code in [(alive[15].pid, "managed"), (alive[16].pid, "managed"), (alive[17].pid, "not-stdio"), (alive[18].pid, "listening")]:
        said = json.loads(run("orphand", "explain", "--json", str(pid)))["tree"]
        check(f"a bystander is spared as {code}", said["code"] == code, said["code"])


def a_user_cannot_aim_it_at_another(alive):
    job = alive[19]
    pattern = '[[server]]\nname = "job"\ncmdline = "ann-job"\n' + SHORT
    write("/home/bob/.config/orphand/config.toml", pattern, "bob")
    said = run("orphand", "explain", "--command", "ann-job /srv/client/job", user="bob")
    check("bob's own orphand believes his pattern", "server" in said, said)
    for _ in range(2):
        run("orphand", "sweep", user="bob")
        run("orphand", "sweep")
    refused = run("/usr/bin/python3", "-c", "import socket; socket.socket(socket.AF_UNIX).connect('/run/orphand/control')", user="bob", fails=True)
    check("bob cannot talk to the machine's daemon", "PermissionError" in refused, refused)
    refused = run("orphand", "sweep", "--set", "state.runtime_directory=/run/orphand", user="bob", fails="perhaps")
    print("bob pretends that it is his:", refused.strip())
    assert_alive("ann's job lives, and everybody else", alive)
    run("rm", "-r", "/home/bob/.config/orphand", "/home/bob/.local/state/orphand")


def a_broken_file_does_not_stop_it():
    pid = show("orphand.service", "MainPID")
    write("/etc/orphand/conf.d/zz.toml", "colour = 1\n")
    run("systemctl", "reload", "orphand.service")
    wait("status names file and line", lambda: "/etc/orphand/conf.d/zz.toml:1" in run("orphand", "status"))
    check("it runs on", show("orphand.service", "ActiveState") == "active" and show("orphand.service", "MainPID") == pid)
    os.unlink("/etc/orphand/conf.d/zz.toml")
    run("systemctl", "reload", "orphand.service")
    wait("and is mended", lambda: "zz.toml" not in run("orphand", "status"))


def stopped_in_mid_escalation(alive):
    stubborn = Client("stubborn", "bob", "stubborn")
    run("orphand", "sweep")
    stubborn.crash()
    wait("it is being taken down", lambda: status().get("trees", {}).get("falling") == 1, lambda: json.dumps(status(), indent=1))
    asked = f"/srv/pids/asked-{stubborn.servers[0].pid}"
    wait("it was asked to end, and did not", lambda: os.path.exists(asked) and stubborn.servers[0].lives())
    run("systemctl", "stop", "orphand.service")
    check("stopping waited for the end of it", gone(stubborn.servers), journal)
    check("the stop was clean", show("orphand.service", "Result") == "success" and show("orphand.service", "ExecMainStatus") == "0")
    check("and left no runtime folder", not os.path.exists("/run/orphand"))
    assert_alive("everybody else lives", alive)
    # Root's own sweep meanwhile leaves files that the service can still use.
    for path in glob.glob("/var/lib/orphand/*"):
        os.unlink(path)
    run("orphand", "sweep")
    run("systemctl", "start", "orphand.service")
    check("it can still remember", not status()["memory"]["problem"], status()["memory"])


def a_stuck_one_is_restarted():
    write("/etc/systemd/system/orphand.service.d/test.conf", "[Service]\nWatchdogSec=2s\nRestartSec=100ms\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", "orphand.service")
    pid = int(show("orphand.service", "MainPID"))
    time.sleep(4)
    check("the watchdog is fed", int(show("orphand.service", "MainPID")) == pid)
    os.kill(pid, signal.SIGSTOP)
    wait("a stuck one is restarted", lambda: show("orphand.service", "NRestarts") == "1" and status().get("pid", pid) != pid, journal)


def without_a_capability_it_says_so_and_harms_nobody(alive):
    less = "CAP_KILL CAP_DAC_READ_SEARCH"
    write("/etc/systemd/system/orphand.service.d/test.conf",
          f"[Service]\nAmbientCapabilities=\nAmbientCapabilities={less}\nCapabilityBoundingSet=\nCapabilityBoundingSet={less}\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", "orphand.service")
    blind = Client("seen-by-nobody", "ann", "plain")
    run("orphand", "sweep")
    blind.crash()
    cannot = status()["shortcomings"]
    check("it says what it cannot see", "hidden" in json.dumps(cannot), cannot)
    for _ in range(3):
        time.sleep(1.5)
        run("orphand", "sweep")
    check("and takes down nothing", status()["reaped"]["trees"] == 0 and not gone(blind.servers), lambda: json.dumps(status(), indent=1))
    assert_alive("nobody is harmed", alive)
    shutil.rmtree("/etc/systemd/system/orphand.service.d")
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", "orphand.service")
    wait("with it, it sees and acts", lambda: gone(blind.servers), journal)


def main():
    write("/srv/client/job", "import time\nwhile True: time.sleep(3600)\n")
    prepare()
    the_package_is_installed()
    shutil.copy("/usr/bin/orphand", "/root/test/orphand")
    alive = bystanders()
    orphans_of_two_users_go(alive)
    a_user_cannot_aim_it_at_another(alive)
    a_broken_file_does_not_stop_it()
    stopped_in_mid_escalation(alive)
    a_stuck_one_is_restarted()
    without_a_capability_it_says_so_and_harms_nobody(alive)
    what_cannot_start_is_not_tried_for_ever()
    a_failed_installation_leaves_what_worked()
    one_user_by_himself(alive)
    the_package_is_removed(alive)
    somebody_is_called_orphand("/root/test/orphand")
    installed_by_hand(alive, "/root/test/orphand")
    assert_alive("at the end everybody lives who must", alive)


try:
    main()
    print(f"all good: {staging.checks} checks")
except BaseException:
    traceback.print_exc(file=sys.stdout)
    print(f"FAILED after {staging.checks} checks")
    sys.exit(1)
