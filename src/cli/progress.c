#include "progress.h"

#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_progress_begin(cli_progress *progress, const cli_report *report, const char *what)
{
    progress->what = what;
    progress->begin = now();
    const bool on = !report->quiet && !report->json && isatty(STDERR_FILENO);
    atomic_init(&progress->on, on);
    atomic_init(&progress->shown, 0);
}

void cli_progress_tick(cli_progress *progress)
{
    if (!progress->on)
        return;
    const long tenths = (long)((now() - progress->begin) * 10);
    long shown = atomic_load(&progress->shown);
    /* Of several threads that come at once, one prints. */
    if (tenths < 10 || tenths < shown + 2 ||
        !atomic_compare_exchange_strong(&progress->shown, &shown, tenths))
        return;
    fprintf(stderr, "\r%s: %ld.%ld s ", progress->what, tenths / 10, tenths % 10);
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->on && atomic_exchange(&progress->shown, 0) > 0)
        fputs("\r\033[K", stderr);
    progress->on = false;
}
