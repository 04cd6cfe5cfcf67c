/*
 * Run a command several times and print the best wall time and the largest resident memory.
 *
 *   measure TIMES COMMAND [ARGUMENT...] → {"best_s": 0.0123, "max_rss_kib": 4567, "status": 0}
 *
 * A program of its own because a child's peak begins with what its parent had when it forked:
 * measured from Python, everything would look as large as Python. The command's stdout goes to
 * /dev/null.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void be_command(char **argv)
{
    int null = open("/dev/null", O_WRONLY);

    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    execvp(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

/* Wall seconds of one run, negative when it could not be started. */
static double run_once(char **argv, long *rss, int *status)
{
    double begin = seconds();
    struct rusage usage;
    pid_t pid = fork();

    if (pid == 0)
        be_command(argv);
    if (pid < 0 || wait4(pid, status, 0, &usage) < 0) {
        perror("measure");
        return -1;
    }
    if (usage.ru_maxrss > *rss)
        *rss = usage.ru_maxrss;
    return seconds() - begin;
}

int main(int argc, char **argv)
{
    int times = argc > 2 ? atoi(argv[1]) : 0;
    double best = -1;
    long rss = 0;
    int status = 0;

    if (times < 1) {
        fprintf(stderr, "usage: measure TIMES COMMAND [ARGUMENT...]\n");
        return 2;
    }
    for (int i = 0; i < times && status == 0; i++) {
        double t = run_once(argv + 2, &rss, &status);

        if (t < 0)
            return 1;
        if (best < 0 || t < best)
            best = t;
    }
    printf("{\"best_s\": %.9f, \"max_rss_kib\": %ld, \"status\": %d}\n", best, rss,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
