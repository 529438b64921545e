"""Stand-ins for clients and servers. What a process is called is how it was started: see `as_` and `play`.

    acting.py as NAME PROGRAM ARGUMENTS...     becomes PROGRAM under another name
    serve PIDS [plain|setsid|stubborn]...      a client with one server for each word; writes their pids to the file PIDS
    foo-mcp [stubborn] [listen PORT]           a server that does not notice the end of its stdin
"""
import os, signal, socket, subprocess, sys, time

SERVER = "/srv/app/node_modules/.bin/foo-mcp"


def become(name, arguments):
    os.execv("/usr/bin/python3", [name, *arguments])


def client(pids, servers):
    started = []
    for kind in servers:
        words = ["stubborn"] if kind == "stubborn" else []
        started.append(subprocess.Popen(["node", SERVER, *words], executable="/usr/bin/python3", stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, start_new_session=kind == "setsid"))
    with open(pids + ".new", "w") as file:
        file.write(" ".join(str(pid) for pid in [os.getpid(), *(server.pid for server in started)]))
    os.rename(pids + ".new", pids)
    while True:
        time.sleep(3600)


def hung_up():
    """Puts a pipe whose other end is closed in place of stdin and stdout: as if its client had died."""
    for number in (0, 1):
        ends = os.pipe()
        os.dup2(ends[number], number)
        os.close(ends[0]), os.close(ends[1])


def server(words):
    if "stubborn" in words:
        signal.signal(signal.SIGTERM, lambda *_: open(f"/srv/pids/asked-{os.getpid()}", "w").close())
    if "listen" in words:
        port = int(words[words.index("listen") + 1])
        listener = socket.create_server(("127.0.0.1", port))
    while True:
        time.sleep(3600)


role, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if role == "serve":
    client(words[0], words[1:])
elif role == "foo-mcp":
    server(words)
elif words[0] == "as":
    become(words[1], words[2:])
elif words[0] == "hung-up":
    hung_up()
    become(words[1], words[2:])
