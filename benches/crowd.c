/* Processes to measure with: idle ones, and clients with MCP servers of three processes each (`npm exec`, `sh -c`, `node`).

   crowd init CMD ARGS      PID 1 of a namespace: starts CMD, reaps everybody, ends with CMD's status
   crowd idle N             N processes that only wait, all children of this one
   crowd clients N KIND     N clients with one server each; prints the pid of each client, then waits.
                            KIND is `gentle`, or `stubborn`: nobody of its trees ends on SIGTERM */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void become(char *role, char **argv) {
    setenv("CROWD", role, 1);
    execve("/proc/self/exe", argv, environ);
    _exit(127);
}

static void wait_for_ever(void) {
    for (;;) pause();
}

static void client(void) {
    int in[2], out[2];
    if (pipe(in) || pipe(out)) _exit(1);
    if (fork() == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        become("launcher", (char *[]){"npm exec foo-mcp", NULL});
    }
    close(in[0]), close(out[1]);
    wait_for_ever();
}

static void as_role(const char *role) {
    if (getenv("STUBBORN")) signal(SIGTERM, SIG_IGN);
    if (!strcmp(role, "client")) client();
    if (!strcmp(role, "launcher") && fork() == 0) become("shell", (char *[]){"sh", "-c", "foo-mcp", NULL});
    if (!strcmp(role, "shell") && fork() == 0) become("leaf", (char *[]){"node", "/h/node_modules/.bin/foo-mcp", NULL});
    wait_for_ever();
}

int main(int argc, char **argv) {
    if (getenv("CROWD")) as_role(getenv("CROWD"));
    if (argc > 2 && !strcmp(argv[1], "init")) {
        pid_t command = fork(), ended;
        if (command == 0) {
            execvp(argv[2], argv + 2);
            _exit(127);
        }
        for (int status;;)
            if ((ended = wait(&status)) == command) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    if (argc < 3) return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int count = atoi(argv[2]), clients = !strcmp(argv[1], "clients");
    if (argc > 3 && !strcmp(argv[3], "stubborn")) setenv("STUBBORN", "1", 1);
    for (int at = 0; at < count; at++) {
        pid_t child = fork();
        if (child == 0) {
            if (clients) become("client", (char *[]){"opencode", "serve", NULL});
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            wait_for_ever();
        }
        if (clients) printf("%d\n", child);
    }
    fflush(stdout);
    for (;;) wait(NULL) < 0 ? pause() : 0;
}
