"""What the test inside the container is made of: commands, checks, and processes that cannot be mistaken for others."""
import json
import os, pathlib, pwd, shutil, signal, subprocess, time

CLIENT, SERVER, ACTING = "/srv/client/serve", "/srv/app/node_modules/.bin/foo-mcp", "/srv/acting.py"
checks = 0


def run(*words, user=None, fails=False, cwd="/", variables={}):
    """A command's output, stdout and stderr together."""
    environment = dict(os.environ, LC_ALL="C.UTF-8", SYSTEMD_PAGER="cat", SYSTEMD_COLORS="0")
    if user:
        uid = pwd.getpwnam(user).pw_uid
        environment |= {"HOME": f"/home/{user}", "USER": user}
        settings = [f"{name}={value}" for name, value in variables.items()]
        words = ["runuser", "-u", user, "--", "env", f"XDG_RUNTIME_DIR=/run/user/{uid}", *settings, *words]
    environment |= variables
    done = subprocess.run(words, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    if not fails:
        assert done.returncode == 0, f"{' '.join(words)} failed with {done.returncode}:\n{done.stdout}"
    elif fails is True:
        assert done.returncode != 0, f"{' '.join(words)} should fail:\n{done.stdout}"
    return done.stdout


def check(what, holds, more=""):
    global checks
    if not holds:
        raise AssertionError(f"{what}\n{more() if callable(more) else more}")
    checks += 1
    print("good:", what)


def wait(what, done, more="", patience=40):
    until = time.monotonic() + patience
    while not (answer := done()):
        if time.monotonic() > until:
            raise AssertionError(f"still waiting: {what}\n{more() if callable(more) else more}")
        time.sleep(0.05)
    check(what, True)
    return answer


def show(unit, name, user=None):
    return run("systemctl", *(["--user"] if user else []), "show", "--value", "-p", name, unit, user=user).strip()


def status(user=None):
    text = run("orphand", "status", "--json", user=user, fails="perhaps")
    try:
        return json.loads(text)
    except ValueError:
        return {}


class Process:
    """A process that cannot be mistaken for a later one of the same pid."""

    def __init__(self, pid):
        self.pid = int(pid)
        self.start = self._start()
        assert self.start, f"process {pid} ended too early"

    def _start(self):
        try:
            fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return None if fields[0] in "ZX" else fields[19]
        except (FileNotFoundError, ProcessLookupError):
            return None

    def lives(self):
        return self._start() == self.start

    def kill(self):
        assert self.lives()
        os.kill(self.pid, signal.SIGKILL)


def begin(*words, user=None):
    """Starts something that this test does not wait for. It is inherited by PID 1."""
    if user:
        words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *words]
    # Twice, so that nobody here is the parent.
    reader, writer = os.pipe()
    if not (middle := os.fork()):
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True, cwd="/srv/client")
        os.write(writer, str(child.pid).encode())
        os._exit(0)
    os.waitpid(middle, 0)
    os.close(writer)
    with os.fdopen(reader) as told:
        return Process(told.read())


class Client:
    """A client with servers: of a user, below his own systemd, below PID 1, or in a unit."""

    def __init__(self, name, user, *servers, below="init", unit=None):
        self.name, self.user, self.pids = name, user, f"/srv/pids/{name}"
        pathlib.Path(self.pids).unlink(missing_ok=True)
        words = ["/usr/bin/python3", ACTING, "as", "opencode", "serve", self.pids, *servers]
        if below == "init":
            begin(*words, user=user)
        elif below == "user-manager":
            run("systemd-run", "--user", "--quiet", f"--unit={name}", "--working-directory=/srv/client",
                "-p", "KillMode=process", *(unit or []), *words, user=user)
        elif below == "system-unit":
            run("systemd-run", "--quiet", f"--unit={name}", "--working-directory=/srv/client", f"--uid={user}",
                *(unit or []), *words)
        elif below == "tmux":
            run("tmux", "-L", name, "new-session", "-d", *words, user=user, cwd="/srv/client")
        self.read()

    def read(self):
        """Its pids and its servers', as it has written them by now."""
        wait(f"client {self.name} has started its servers", lambda: os.path.exists(self.pids))
        pids = pathlib.Path(self.pids).read_text().split()
        self.process, *self.servers = [Process(pid) for pid in pids]

    def everybody(self):
        return [self.process, *self.servers]

    def crash(self):
        os.unlink(self.pids)
        self.process.kill()


def gone(processes):
    return not any(process.lives() for process in processes)


def assert_alive(what, processes):
    dead = [process.pid for process in processes if not process.lives()]
    check(what, not dead, lambda: f"gone: {dead}\n" + journal())


def journal(unit="orphand.service"):
    return run("journalctl", "--no-pager", "-n", "15", "-u", unit, fails="perhaps")


def write(path, text, user=None):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if user:
        for part in [path, *path.parents]:
            if part == pathlib.Path(f"/home/{user}"):
                break
            shutil.chown(part, user, user)


SHORT = '[orphan]\nmin_age = "2s"\nconfirm = "1s"\n[reap]\nsettle = "1s"\ngrace = "4s"\nbrowser_grace = "4s"\n'
