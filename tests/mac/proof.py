"""Real clients and servers on this machine, and what orphand makes of them:

    python3 tests/mac/proof.py target/release/orphand

Two clients start two servers each, one over pipes and one over a socketpair, that do not notice the end of their stdin. One
client is killed. Its servers must go, the other's must live. Runs on a Mac and on Linux; signals only what it has started."""
import json, os, signal, socket, subprocess, sys, tempfile, time

SERVER = "import time\nwhile True: time.sleep(3600)\n"


def client(server, told):
    """Starts its servers, writes their pids and waits for ever."""
    pipe = subprocess.Popen([sys.executable, server], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ends = [socket.socketpair() for _ in range(2)]
    pair = subprocess.Popen([sys.executable, server], stdin=ends[0][1], stdout=ends[1][1])
    ends[0][1].close(), ends[1][1].close()
    with open(told + ".new", "w") as file:
        json.dump([pipe.pid, pair.pid], file)
    os.rename(told + ".new", told)
    while True:
        time.sleep(3600)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie of nobody's answers too, for a moment.
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def main(orphand):
    folder = tempfile.mkdtemp(prefix="orphand-proof.")
    server = os.path.join(folder, "node_modules", ".bin", "foo-mcp")
    os.makedirs(os.path.dirname(server))
    with open(server, "w") as file:
        file.write(SERVER)
    clients, servers = {}, {}
    for name in ["dead", "live"]:
        told = os.path.join(folder, name)
        clients[name] = subprocess.Popen([sys.executable, __file__, "client", server, told])
    for name in ["dead", "live"]:
        while not os.path.exists(os.path.join(folder, name)):
            time.sleep(0.05)
        with open(os.path.join(folder, name)) as file:
            servers[name] = json.load(file)
    everybody = [*servers["dead"], *servers["live"]]
    options = ["--set", "orphan.min_age=1s", "--set", "orphan.confirm=1s", "--set", "spare.active_window=0s",
               "--set", f"state.directory={folder}/state", "--set", f"state.runtime_directory={folder}/run"]
    failures = []

    def check(what, holds, more=""):
        print("good:" if holds else "BAD: ", what, more if not holds else "")
        if not holds:
            failures.append(what)

    def run(*words):
        done = subprocess.run([orphand, *words, "--json", *options], stdout=subprocess.PIPE, text=True)
        trees = {tree["root"]: tree for tree in json.loads(done.stdout)["trees"]}
        return {pid: trees.get(pid) for pid in everybody}

    try:
        seen = run("scan", "--all")
        for pid in everybody:
            check(f"{pid} is owned by its client", seen[pid] and seen[pid]["code"] == "owned", seen[pid])
        os.kill(clients["dead"].pid, signal.SIGKILL)
        clients["dead"].wait()
        time.sleep(1.5)
        swept = run("sweep")
        for pid, how in zip(servers["dead"], ["pipe", "socketpair"]):
            outcome = swept[pid] and (swept[pid].get("outcome") or {}).get("result")
            check(f"the orphan with a {how} ({pid}) is hung up and gone", outcome == "gone" and swept[pid]["code"] == "hung-up", swept[pid])
            check("it is really gone", not alive(pid))
        for pid in servers["live"]:
            check(f"the server of the live client ({pid}) lives", alive(pid))
    finally:
        for pid in [client.pid for client in clients.values()] + everybody:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    print("all good" if not failures else f"{len(failures)} things are wrong")
    return bool(failures)


if sys.argv[1] == "client":
    client(sys.argv[2], sys.argv[3])
else:
    sys.exit(main(sys.argv[1]))
