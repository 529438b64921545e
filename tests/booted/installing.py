"""Installing, upgrading and removing: by a user, by a package, by hand."""
import glob, json, os, pathlib, pwd, shutil, signal, subprocess, time

from staging import *


def what_cannot_start_is_not_tried_for_ever():
    write("/etc/orphand/conf.d/zz.toml", "colour = 1\n")
    run("systemctl", "restart", "orphand.service", fails=True)
    wait("it has failed for good", lambda: show("orphand.service", "ActiveState") == "failed")
    said = run("orphand", "status", "--config", "/etc/orphand/config.toml", fails=True)
    check("status says that the service is down", "orphand.service is failed" in said, said)
    os.unlink("/etc/orphand/conf.d/zz.toml")
    run("orphand", "install")
    check("and installing mends it", show("orphand.service", "ActiveState") == "active")


def a_failed_installation_leaves_what_worked():
    said = run("orphand", "install", "--set", "state.runtime_directory=/sys/nowhere", fails=True)
    check("it says that all is as it was", "all is as it was" in said and "ReadWritePaths" in said, said)
    check("and so it is", show("orphand.service", "ActiveState") == "active" and "nowhere" not in show("orphand.service", "ExecStart"))
    refused = run("orphand", "install", user="ann", fails=True)
    check("a user is told of the machine's daemon", "for the whole machine already" in refused, refused)
    check("which status tells as well", "for the whole machine" in run("orphand", "status", user="ann", fails=True))


def one_user_by_himself(alive):
    run("systemctl", "disable", "--now", "orphand.service")
    ann = {"user": "ann"}
    write("/home/ann/.config/orphand/config.toml", SHORT, "ann")
    line = "*/15 * * * * pkill -f mcp-server"
    subprocess.run(["crontab", "-u", "ann", "-"], input=line + "\n", text=True, check=True)
    os.unlink("/var/lib/systemd/linger/ann")
    said = run("orphand", "install", "--timer", **ann)
    pathlib.Path("/var/lib/systemd/linger/ann").touch()
    check("a user installs a timer for himself", "every five minutes" in said and "orphand uninstall" in said, said)
    check("lingering is explained, not switched on", "loginctl enable-linger" in said, said)
    check("the cron line is pointed out", "pkill -f mcp-server" in said and "crontab -e" in said, said)
    check("and not touched", line in run("crontab", "-u", "ann", "-l"))
    check("the timer waits", "orphand-sweep.timer" in run("systemctl", "--user", "list-timers", **ann))
    said = run("orphand", "status", **ann)
    check("status tells of it", "every five minutes" in said and "next " in said, said)
    check("nothing was written, as the package has the same", not glob.glob("/home/ann/.config/systemd/user/orphand*"))
    clients = [Client(f"swept-{user}-{below}", user, "plain", "setsid", below=below) for user in ["ann", "bob"] for below in ["init", "user-manager"]]
    run("systemctl", "--user", "start", "orphand-sweep.service", **ann)
    for client in clients:
        client.crash()
    of_ann = [server for client in clients[:2] for server in client.servers]
    of_bob = [server for client in clients[2:] for server in client.servers]
    run("systemctl", "--user", "start", "orphand-sweep.service", **ann)
    check("the first sweep that sees them orphaned waits", not gone(of_ann))
    time.sleep(2.5)
    run("systemctl", "--user", "start", "orphand-sweep.service", **ann)
    check("ann's orphans are gone after the second", gone(of_ann), lambda: journal("user@*.service"))
    check("bob's are not", all(server.lives() for server in of_bob))
    assert_alive("everybody else lives", alive)
    said = run("orphand", "install", **ann)
    check("the service takes the timer's place", "orphand runs for you" in said, said)
    check("which is gone", run("systemctl", "--user", "is-active", "orphand-sweep.timer", fails=True, **ann).strip() == "inactive")
    check("her service is active and told", show("orphand.service", "ActiveState", "ann") == "active")
    check("it sees all that is hers", not status("ann")["shortcomings"], lambda: status("ann")["shortcomings"])
    pid = show("orphand.service", "MainPID", "ann")
    again = [run("orphand", "install", **ann) for _ in range(6)]
    check("six times is as good as once", again == [again[0]] * 6 and show("orphand.service", "MainPID", "ann") != pid, again)
    client = Client("watched-of-ann", "ann", "plain", "setsid", below="user-manager")
    run("orphand", "sweep", **ann)
    client.crash()
    wait("her service takes down what is hers", lambda: gone(client.servers), lambda: run("orphand", "status", **ann))
    check("bob's are still not gone", all(server.lives() for server in of_bob))
    assert_alive("everybody else lives", alive)
    said = run("orphand", "uninstall", **ann)
    check("uninstalling says what is left", "/home/ann/.local/state/orphand" in said and "config.toml" in said and "apt" in said, said)
    check("nothing runs any more", show("orphand.service", "ActiveState", "ann") == "inactive")
    shell = {"variables": {"XDG_CONFIG_HOME": "/home/ann/my cfg", "XDG_STATE_HOME": "/home/ann/my state"}, **ann}
    write("/home/ann/my cfg/orphand/config.toml", SHORT + '[look]\ninterval = "77s"\n', "ann")
    said = run("orphand", "install", "--observe", **shell)
    wait("what the shell sees, the service sees", lambda: 70 < status("ann")["next_look_s"] <= 77, lambda: json.dumps(status("ann"), indent=1))
    check("it remembers where the shell does", status("ann")["memory"]["file"].startswith("/home/ann/my state/"))
    check("for a trial", status("ann")["mode"] == "observe" and "signals nothing" in said, said)
    check("the package's unit is changed, not copied", os.path.exists("/home/ann/.config/systemd/user/orphand.service.d/orphand-install.conf")
          and not os.path.exists("/home/ann/.config/systemd/user/orphand.service"))
    # What a desktop imports into the manager's environment, its units are not looked for by.
    run("systemctl", "--user", "import-environment", "XDG_CONFIG_HOME", **shell)
    run("orphand", "install", "--observe", **shell)
    check("nor does an imported variable divide them", status("ann")["mode"] == "observe", lambda: run("systemctl", "--user", "cat", "orphand", **ann))
    run("orphand", "install", "--observe", **ann)
    wait("whoever has none gets none", lambda: 50 < status("ann")["next_look_s"] <= 60, lambda: json.dumps(status("ann"), indent=1))
    run("systemctl", "--user", "unset-environment", "XDG_CONFIG_HOME", **ann)
    refused = run("orphand", "uninstall", "--purge", fails=True, variables={"HOME": "/home/ann/my cfg"}, **ann)
    check("another HOME is refused", "your home folder is /home/ann" in refused, refused)
    said = run("orphand", "install", **ann)
    check("it says what it was before", "before: " in said and "mode=observe" in said, said)
    run("orphand", "uninstall", "--purge", **shell)
    run("orphand", "uninstall", "--purge", **ann)
    left = [path for path in glob.glob("/home/ann/**/*orphand*", recursive=True, include_hidden=True)]
    check("after --purge nothing is left", not left, left)
    write("/home/ann/.config/orphand/config.toml", SHORT, "ann")
    # A daemon that somebody runs by hand is neither cut off nor doubled.
    by_hand = begin("env", "HOME=/home/ann", "XDG_RUNTIME_DIR=/run/user/1000", "orphand", "run", user="ann")
    wait("ann runs one by hand", lambda: status("ann").get("pid") == by_hand.pid)
    refused = run("orphand", "install", fails=True, **ann)
    check("which is said", f"as process {by_hand.pid} already" in refused, refused)
    check("and left alone", status("ann")["pid"] == by_hand.pid)
    os.kill(by_hand.pid, signal.SIGTERM)
    wait("it ends", lambda: not by_hand.lives())
    # A program that is not the package's gets units of its own.
    os.makedirs("/home/ann/bin")
    shutil.copy("/usr/bin/orphand", "/home/ann/bin/a 100% $new orphand")
    shutil.copy("/usr/bin/orphand", "/home/ann/bin/ann's orphand")
    refused = run("/home/ann/bin/ann's orphand", "install", fails=True, **ann)
    check("systemd could not start one with a quote in its name", "cannot start something that is called" in refused, refused)
    said = run("/home/ann/bin/a 100% $new orphand", "install", "--set", "orphan.confirm='$HOME'", fails=True, **ann)
    check("nor is a wrong value found out later", "orphan.confirm" in said, said)
    said = run("/home/ann/bin/a 100% $new orphand", "install", **ann)
    check("a user's own program is what is started", "a 100% $new orphand" in show("orphand.service", "ExecStart", "ann"), said)
    check("in a unit of his own", os.path.exists("/home/ann/.config/systemd/user/orphand.service"))
    run("orphand", "uninstall", **ann)
    check("and leaves no unit", not glob.glob("/home/ann/.config/systemd/user/**/orphand*", recursive=True))
    # Somebody else's unit of that name, elsewhere.
    elsewhere = "/home/ann/.local/share/systemd/user/orphand.service"
    write(elsewhere, "[Service]\nExecStart=/bin/sleep infinity\n", "ann")
    run("systemctl", "--user", "daemon-reload", **ann)
    run("systemctl", "--user", "start", "orphand.service", **ann)
    foreign = Process(show("orphand.service", "MainPID", "ann"))
    refused = run("orphand", "install", fails=True, **ann)
    check("a unit of somebody else's is named", elsewhere in refused, refused)
    run("orphand", "install", "--timer", **ann)
    run("orphand", "uninstall", **ann)
    check("and not stopped", foreign.lives())
    run("systemctl", "--user", "stop", "orphand.service", **ann)
    os.unlink(elsewhere)
    run("systemctl", "--user", "daemon-reload", **ann)
    # The machine's service is put back; bob's orphans are its business.
    run("orphand", "install")
    wait("the machine's service takes down bob's", lambda: gone(of_bob), journal)


def leftovers():
    skip = ("/proc", "/sys", "/root/test", "/var/log", "/run/log", "/var/cache", "/home", "/srv")
    found = []
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if not os.path.join(folder, name).startswith(skip)]
        found += [os.path.join(folder, name) for name in folders + files if "orphand" in name]
    return found


def the_package_is_removed(alive):
    run("systemctl", "--user", "enable", "--now", "orphand.service", user="bob")
    check("bob runs the package's own service", show("orphand.service", "ActiveState", "bob") == "active")
    daemons = [Process(show("orphand.service", "MainPID", user)) for user in [None, "bob"]]
    run("apt-get", "install", "--reinstall", "--yes", "/root/test/orphand.deb")
    check("an upgrade restarts the machine's", not daemons[0].lives() and show("orphand.service", "ActiveState") == "active")
    wait("and the users' own", lambda: not daemons[1].lives() and show("orphand.service", "ActiveState", "bob") == "active")
    check("but starts none that was not there", show("orphand.service", "ActiveState", "ann") == "inactive")
    daemons = [Process(show("orphand.service", "MainPID", user)) for user in [None, "bob"]]
    manager = Process(show("user@1000.service", "MainPID"))
    os.kill(manager.pid, signal.SIGSTOP)
    began = time.monotonic()
    run("apt-get", "install", "--reinstall", "--yes", "/root/test/orphand.deb")
    check("a user whose systemd does not answer holds up nothing", time.monotonic() - began < 60)
    began = time.monotonic()
    run("orphand", "status", user="ann", fails=True)
    refused = run("orphand", "install", "--user", user="ann", fails=True)
    check("not even himself", "does not answer" in refused and time.monotonic() - began < 30, refused)
    os.kill(manager.pid, signal.SIGCONT)
    wait("the daemons are there again", lambda: gone(daemons) and status().get("pid"))
    daemons = [Process(show("orphand.service", "MainPID", user)) for user in [None, "bob"]]
    run("apt-get", "remove", "--yes", "orphand")
    wait("removing it stops every daemon", lambda: gone(daemons))
    check("its configuration stays", os.path.exists("/etc/orphand/config.toml"))
    run("apt-get", "purge", "--yes", "orphand")
    check("purging it leaves nothing", not leftovers(), leftovers)
    check("not even its user", "orphand" not in [entry.pw_name for entry in pwd.getpwall()])
    assert_alive("everybody else lives", alive)


def somebody_is_called_orphand(program):
    run("useradd", "--system", "--home-dir", "/srv/x", "orphand")
    refused = run("apt-get", "install", "--yes", "/root/test/orphand.deb", fails=True)
    check("an account that somebody made for something else is not the package's", "somebody's account" in refused, refused)
    run("apt-get", "purge", "--yes", "orphand")
    check("and it is not deleted", pwd.getpwnam("orphand").pw_dir == "/srv/x")
    run("userdel", "orphand")
    run("useradd", "--create-home", "orphand")
    shutil.copy(program, "/usr/local/bin/orphand")
    refused = run("orphand", "install", fails=True)
    check("nobody's account becomes the service's", "somebody's account" in refused, refused)
    refused = run("apt-get", "install", "--yes", "/root/test/orphand.deb", fails=True)
    check("nor by the package", "somebody's account" in refused, refused)
    run("apt-get", "purge", "--yes", "orphand")
    run("orphand", "uninstall", "--purge")
    check("and it is still there", pwd.getpwnam("orphand").pw_uid >= 1000 and os.path.isdir("/home/orphand"))
    run("userdel", "--remove", "orphand")


def installed_by_hand(alive, program):
    refused = run("/root/test/orphand", "install", fails=True)
    check("what the service could not see is refused", "/usr/local/bin/orphand install" in refused, refused)
    os.chown("/usr/local/bin/orphand", pwd.getpwnam("bob").pw_uid, 0)
    refused = run("orphand", "install", fails=True)
    check("so is what a user could replace", "others than root can change /usr/local/bin/orphand" in refused, refused)
    os.chown("/usr/local/bin/orphand", 0, 0)
    write("/etc/orphand/conf.d/test.toml", SHORT)
    write("/etc/cron.d/mcp", "*/15 * * * * root /opt/sweep.sh\n")
    write("/opt/sweep.sh", "#!/bin/sh\npkill -9 -f 'npm exec.*mcp'\n")
    said = run("orphand", "install")
    check("it is installed for the machine", "for everybody on this machine" in said, said)
    check("a script that cron starts is pointed out", "/etc/cron.d/mcp:1" in said, said)
    check("it runs hardened", show("orphand.service", "User") == "orphand" and not status()["shortcomings"], lambda: status()["shortcomings"])
    client = Client("by-hand", "bob", "plain", "setsid", below="user-manager")
    run("orphand", "sweep")
    client.crash()
    wait("it takes orphans down", lambda: gone(client.servers), journal)
    write("/etc/systemd/system/orphand.service", pathlib.Path("/etc/systemd/system/orphand.service").read_text().replace("60s", "90s"))
    run("orphand", "install", "--set", "orphan.min_age=3s")
    check("an older unit is replaced", show("orphand.service", "WatchdogUSec") == "1min" and "orphan.min_age=3s" in show("orphand.service", "ExecStart"))
    run("orphand", "install", "--timer")
    check("a timer takes its place", show("orphand.service", "LoadState") == "not-found" and show("orphand-sweep.timer", "ActiveState") == "active")
    client = Client("by-the-clock", "bob", "plain", "setsid")
    run("systemctl", "start", "orphand-sweep.service")
    client.crash()
    run("systemctl", "start", "orphand-sweep.service")
    time.sleep(2.5)
    run("systemctl", "start", "orphand-sweep.service")
    check("its sweep takes orphans down, hardened as well", gone(client.servers), lambda: journal("orphand-sweep.service"))
    assert_alive("everybody else lives", alive)
    said = run("orphand", "uninstall")
    check("uninstalling says what is left", "/var/lib/orphand" in said and "/etc/orphand/conf.d/test.toml" in said, said)
    check("and leaves no unit and no user", not glob.glob("/etc/systemd/system/**/orphand*", recursive=True)
          and "orphand" not in [entry.pw_name for entry in pwd.getpwall()])
    check("which is now root's", os.stat("/var/lib/orphand").st_uid == 0)
    run("orphand", "uninstall", "--purge")
    check("after --purge only the program is left", leftovers() == ["/usr/local/bin/orphand"], leftovers)
    run("orphand", "install")
    pathlib.Path("/var/lib/orphand/memory.json").unlink(missing_ok=True)
    run("orphand", "uninstall", "--purge")
    check("nor is what it writes when it stops", leftovers() == ["/usr/local/bin/orphand"], leftovers)
