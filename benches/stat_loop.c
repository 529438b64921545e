/* The floor of a look: open, read and close the stat of every process, once.
   `stat_loop CMD ARGS` runs a command instead and prints its peak memory in KiB: a child's peak begins with that of the
   process that started it, so the starter must be small. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc > 1) {
        struct rusage usage;
        int status;
        pid_t child = fork();
        if (child == 0) {
            dup2(2, 1);
            execv(argv[1], argv + 1);
            _exit(127);
        }
        wait4(child, &status, 0, &usage);
        printf("%ld\n", usage.ru_maxrss);
        return status != 0;
    }
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    char path[300], text[4096];
    int count = 0;
    while ((entry = readdir(proc))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        int file = open(path, O_RDONLY);
        if (file < 0) continue;
        if (read(file, text, sizeof text) > 0) count++;
        close(file);
    }
    closedir(proc);
    printf("%d\n", count);
    return 0;
}
