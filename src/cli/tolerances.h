/*
 * How far outputs may be off: the defaults by element type (tolerances.def), what the command line
 * says, and the lines of --dtype-tolerances.
 */
#ifndef PDM_CLI_TOLERANCES_H
#define PDM_CLI_TOLERANCES_H

#include "opt.h"
#include "report.h"

/* A line of the file; -1: that column is "-". */
typedef struct cli_tolerance {
    char *name;  /* an output or an op; NULL: "*" */
    char *dtype; /* NULL: "*", all floating-point and complex types */
    double rtol, atol, ulp;
    long line;
    bool used; /* it named something that the models have */
} cli_tolerance;

typedef struct cli_tolerances {
    const cli_options *options;
    cli_tolerance *rows;
    size_t count;
} cli_tolerances;

/* Read the file of the options, if there is one; what is wrong with it is told. */
pdm_status cli_tolerances_read(cli_tolerances *tolerances, const cli_options *options,
                               cli_report *report);
void cli_tolerances_deinit(cli_tolerances *tolerances);

/* Whether an output is computed with the help of an op of that name. */
typedef bool (*cli_uses_op_fn)(void *user, const char *op);

/*
 * What holds for an output: the line that names it, else the widest of those that name an op that
 * it is computed with, else the line "*" of its type, else the command line, else the default. Each
 * column is looked for by itself.
 */
void cli_tolerances_of(cli_tolerances *tolerances, const char *output, const char *dtype,
                       cli_uses_op_fn uses_op, void *user, pdm_compare_options *out);
/* Warn of lines that named nothing. */
void cli_tolerances_unused(const cli_tolerances *tolerances, cli_report *report);

#endif
