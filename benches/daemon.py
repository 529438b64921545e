#!/usr/bin/env python3
"""What the running daemon costs, and how fast it is.

    cargo build --release && python3 benches/daemon.py [PART ...]

Parts: steady (5,000 processes against the C loop), day (500 processes), latency, fall (300 stubborn trees), soak (10,000
looks); all of them, if none is named. Needs root, or users that may make PID namespaces, and a C compiler. Everything runs
in a PID namespace of its own. Takes about 15 minutes.
"""
import os, re, resource, signal, socket, statistics, subprocess, sys, tempfile, time, json

HERE = os.path.dirname(os.path.abspath(__file__))
ORPHAND = os.path.join(HERE, "../target/release/orphand")


class Daemon:
    """`orphand run`, with this script as its service manager."""

    def __init__(self, folder, *sets, watchdog_us=None):
        self.folder = folder
        self.options = []
        for one in (f"state.directory={folder}/state", f"state.runtime_directory={folder}/run", "look.interval=1h",
                    "spare.active_window=0s", *sets):
            self.options += ["--set", one]
        path = os.path.join(folder, "notices")
        if os.path.exists(path):
            os.unlink(path)
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(path)
        self.notices.settimeout(120)
        env = dict(os.environ, NOTIFY_SOCKET=path)
        if watchdog_us:
            env["WATCHDOG_USEC"] = str(watchdog_us)
        self.log = open(os.path.join(folder, "log"), "w")
        self.process = subprocess.Popen([ORPHAND, "run", *self.options], env=env, stdout=subprocess.DEVNULL, stderr=self.log)
        self.hear("READY=1")

    def hear(self, words):
        while True:
            notice = self.notices.recv(4096).decode()
            if words in notice:
                return notice

    def status(self):
        text = subprocess.run([ORPHAND, "status", "--json", *self.options], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(text)

    def cpu(self):
        """Seconds of processor time, threads that have ended included."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.process.pid}/status").read())[1]) / 1024

    def peak(self):
        return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{self.process.pid}/status").read())[1]) / 1024

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def look(self):
        os.kill(self.process.pid, signal.SIGUSR1)

    def looks(self, count, pause):
        """So many looks, one after the other; the real number of them, as one signal may stand for two."""
        before = self.status()["looks"]
        for _ in range(count):
            self.look()
            time.sleep(pause)
        return self.status()["looks"] - before

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def crowd(tools, *arguments):
    return subprocess.Popen([os.path.join(tools, "crowd"), *arguments], stdout=subprocess.PIPE, text=True)


def wait_for_processes(count):
    while sum(entry.isdigit() for entry in os.listdir("/proc")) < count:
        time.sleep(0.01)


def loop_cpu(tools):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.path.join(tools, "stat_loop")], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def end(*started):
    for process in started:
        process.kill()
        process.wait()


def steady(tools, folder):
    for layout in ("below one parent", "at PID 1"):
        idle = crowd(tools, "idle", "5000")
        wait_for_processes(5000)
        if layout == "at PID 1":
            # Their parent's death would take them along; so they are adopted from a crowd that lets them go.
            end(idle)
            for _ in range(5000):
                subprocess.Popen(["/bin/sleep", "3600"])
            wait_for_processes(5000)
        live = crowd(tools, "clients", "10", "gentle")
        daemon = Daemon(folder)
        time.sleep(61)  # from then on they are no newcomers any more
        daemon.looks(3, 1.2)
        costs, loops, ratios = [], [], []
        for _ in range(8):
            # In turn and equally far apart: whoever comes back after a second finds the caches cold.
            before, looks_before, group = daemon.cpu(), daemon.status()["looks"], []
            for _ in range(10):
                daemon.look()
                time.sleep(0.6)
                group.append(loop_cpu(tools))
                time.sleep(0.6)
            costs.append((daemon.cpu() - before) / (daemon.status()["looks"] - looks_before))
            loops += group
            ratios.append(costs[-1] / statistics.mean(group))
        print(f"steady, 5,000 idle processes {layout}, 10 live trees: a look {statistics.median(costs) * 1000:.1f} ms CPU,"
              f" the C loop {statistics.median(loops) * 1000:.1f} ms CPU, ratio {statistics.median(ratios):.2f}"
              f" (from {min(ratios):.2f} to {max(ratios):.2f}); RSS {daemon.rss():.1f} MiB, peak {daemon.peak():.1f} MiB,"
              f" {daemon.files()} open files", flush=True)
        daemon.stop()
        end(live)
        if layout == "below one parent":
            end(idle)
        else:
            end_sleepers()


def end_sleepers():
    """Only what this script has started: everything else in its namespace but itself and PID 1."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        if int(entry) not in (1, os.getpid()):
            try:
                os.kill(int(entry), signal.SIGKILL)
            except ProcessLookupError:
                pass
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def day(tools, folder):
    idle, live = crowd(tools, "idle", "470"), crowd(tools, "clients", "10", "gentle")
    wait_for_processes(500)
    daemon = Daemon(folder)
    time.sleep(61)
    before = daemon.cpu()
    looked = daemon.looks(200, 0.25)
    cost = (daemon.cpu() - before) / looked
    print(f"day, 500 processes, 10 live trees: {looked} looks, {cost * 1000:.2f} ms CPU each: {cost * 1440:.1f} s CPU a day of"
          f" 60 s looks; RSS {daemon.rss():.1f} MiB", flush=True)
    daemon.stop()
    end(idle, live)


def latency(tools, folder):
    idle = crowd(tools, "idle", "300")
    live = crowd(tools, "clients", "20", "gentle")
    clients = [int(live.stdout.readline()) for _ in range(20)]
    wait_for_processes(300 + 80)
    daemon = Daemon(folder, "mode=observe")
    times = []
    for number, client in enumerate(clients, 1):
        time.sleep(0.5)
        began = time.monotonic()
        os.kill(client, signal.SIGKILL)
        daemon.hear(f"{number} orphaned")
        times.append((time.monotonic() - began) * 1000)
    print(f"latency, {len(times)} clients, 380 processes: from SIGKILL of a client to the end of the look that sees the orphan"
          f" {statistics.median(times):.1f} ms (from {min(times):.1f} to {max(times):.1f})", flush=True)
    daemon.stop()
    end_sleepers()


def fall(tools, folder):
    grace = 10
    stubborn = crowd(tools, "clients", "300", "stubborn")
    clients = [int(stubborn.stdout.readline()) for _ in range(300)]
    idle = crowd(tools, "idle", "1000")
    wait_for_processes(1000 + 1200)
    daemon = Daemon(folder, "orphan.min_age=0s", "orphan.confirm=0s", "limits.trees_per_sweep=300", f"reap.grace={grace}s",
                    watchdog_us=500_000)
    for client in clients:
        os.kill(client, signal.SIGKILL)
    began = last = time.monotonic()
    longest, beats = 0, 0
    while True:
        notice = daemon.notices.recv(4096).decode()
        now = time.monotonic()
        if "WATCHDOG" in notice:
            longest, last, beats = max(longest, now - last), now, beats + 1
        if notice.startswith("STATUS") and "orphaned" not in notice and "given back" in notice:
            break
    took = time.monotonic() - began
    status = daemon.status()
    print(f"fall, 300 trees of 3 that ignore SIGTERM, among 2,200 processes: all gone after {took:.2f} s with a grace period of"
          f" {grace} s; {status['reaped']['trees']} taken down, {status['reaped']['failed']} failed; longest time without"
          f" a sign of life {longest * 1000:.0f} ms, where 500 ms are allowed ({beats} signs); peak {daemon.peak():.1f} MiB",
          flush=True)
    daemon.stop()
    end_sleepers()


def soak(tools, folder):
    idle, live = crowd(tools, "idle", "5000"), crowd(tools, "clients", "10", "gentle")
    wait_for_processes(5000)
    daemon = Daemon(folder)
    time.sleep(61)
    daemon.looks(100, 0.07)
    first = (daemon.rss(), daemon.files())
    looked, rows = 0, []
    while looked < 10_000:
        looked += daemon.looks(500, 0.06)
        rows.append((daemon.rss(), daemon.files()))
    memory, files = zip(*rows)
    print(f"soak, 5,000 processes, 10 live trees: {looked} looks; RSS {first[0]:.1f} MiB at the beginning, {memory[-1]:.1f} MiB at"
          f" the end (from {min(memory):.1f} to {max(memory):.1f}); open files {first[1]} and {files[-1]}"
          f" (from {min(files)} to {max(files)})", flush=True)
    daemon.stop()
    end(idle, live)


PARTS = {"steady": steady, "day": day, "latency": latency, "fall": fall, "soak": soak}


def main():
    if os.environ.get("BENCH_TOOLS"):
        tools = os.environ["BENCH_TOOLS"]
        for part in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                PARTS[part](tools, folder)
        return
    parts = sys.argv[1:] or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        sys.exit(f"there is no part {unknown[0]}; parts: {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as tools:
        for name in ("stat_loop", "crowd"):
            source = os.path.join(HERE, f"{name}.c")
            subprocess.run(["cc", "-O2", "-o", os.path.join(tools, name), source], check=True)
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        unshare = ["unshare", *user, "--pid", "--fork", "--mount-proc", "--kill-child=KILL"]
        init = [os.path.join(tools, "crowd"), "init", sys.executable, os.path.abspath(__file__)]
        environment = dict(os.environ, BENCH_TOOLS=tools)
        for part in parts:
            subprocess.run([*unshare, *init, part], check=True, env=environment)


main()
