/*
 * A line on the terminal that tells how long something has been going on; nothing when standard
 * error is no terminal, or with --quiet. It appears after a second and goes at the end.
 */
#ifndef PDM_CLI_PROGRESS_H
#define PDM_CLI_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "report.h"

typedef struct cli_progress {
    const char *what; /* "running" */
    double begin;
    atomic_bool on;
    atomic_long shown; /* tenths of seconds that were printed last; 0: none */
} cli_progress;

void cli_progress_begin(cli_progress *progress, const cli_report *report, const char *what);
/* From any thread, as often as one likes. */
void cli_progress_tick(cli_progress *progress);
/* Wipes the line; to be called before anything else is printed. */
void cli_progress_end(cli_progress *progress);

#endif
