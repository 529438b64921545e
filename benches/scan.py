#!/usr/bin/env python3
"""What a scan of many processes costs, against the floor of reading every /proc/PID/stat in C.

    cargo build --release && python3 benches/scan.py [PROCESSES] [ROUNDS]

With OTHER=PATH in the environment an older orphand takes the place of the C loop: is the new one slower?

Runs both programs in turn, in one PID namespace of its own (root, or where users may make one), and prints medians of the
whole processes, the ratio pair by pair, and orphand's peak memory. Two layouts: all processes below one parent, and all of
them orphans at PID 1.
"""
import os, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ORPHAND = os.path.join(HERE, "../target/release/orphand")


def measure(command):
    began = time.monotonic()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, (command, status)
    return (time.monotonic() - began) * 1000, (usage.ru_utime + usage.ru_stime) * 1000


def peak(loop, command):
    return int(subprocess.run([loop, *command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout) / 1024


def inside(count, rounds, loop, measures_peak):
    for layout in ("below one parent", "at PID 1"):
        parent = os.fork() if layout == "below one parent" else 0
        if parent == 0:
            children = [os.posix_spawn("/bin/sleep", ["sleep", "3600"], os.environ) for _ in range(count)]
            if layout == "below one parent":
                time.sleep(3600)
        while sum(entry.isdigit() for entry in os.listdir("/proc")) < count:
            time.sleep(0.01)
        scan = [ORPHAND, "scan", "--set", "state.directory=/nonexistent"]
        measure(loop), measure(scan)
        pairs = [(measure(loop), measure(scan)) for _ in range(rounds)]
        column = lambda which, at: statistics.median(pair[which][at] for pair in pairs)
        ratios = sorted(scan[0] / loop[0] for loop, scan in pairs)
        print(f"{count} processes {layout}: loop {column(0, 0):.1f} ms wall, {column(0, 1):.1f} ms CPU;"
              f" scan {column(1, 0):.1f} ms wall, {column(1, 1):.1f} ms CPU, {peak(measures_peak, scan):.1f} MiB;"
              f" wall ratio {statistics.median(ratios):.2f} (from {ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
        if parent:
            # Only what this script started, by pid; the namespace takes the rest.
            os.kill(parent, 9)
            os.waitpid(parent, 0)
            for entry in filter(str.isdigit, os.listdir("/proc")):
                if int(entry) != os.getpid():
                    os.kill(int(entry), 9)
            while len([entry for entry in os.listdir("/proc") if entry.isdigit()]) > 1:
                os.waitpid(-1, 0)


def main():
    count, rounds = (int(word) for word in (sys.argv[1:3] + ["5000", "15"][len(sys.argv) - 1:]))
    if os.getpid() == 1:
        *other, loop = sys.argv[3].split(" ")
        return inside(count, rounds, other or [loop], loop)
    with tempfile.TemporaryDirectory() as folder:
        loop = os.path.join(folder, "stat_loop")
        subprocess.run(["cc", "-O2", "-o", loop, os.path.join(HERE, "stat_loop.c")], check=True)
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        unshare = ["unshare", *user, "--pid", "--fork", "--mount-proc", "--kill-child=KILL"]
        other = os.environ.get("OTHER")
        if other:
            # Kept beside the loop, which goes on measuring the peak.
            loop = " ".join([other, "scan", "--set", "state.directory=/nonexistent", loop])
        subprocess.run([*unshare, sys.executable, __file__, str(count), str(rounds), loop], check=True)


main()
