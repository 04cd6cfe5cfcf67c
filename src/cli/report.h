/* What is told to the user: diagnostics on standard error, one JSON object on standard output if
 * asked, exit codes. */
#ifndef PDM_CLI_REPORT_H
#define PDM_CLI_REPORT_H

#include <pdmigrate/pdmigrate.h>
#include <stdio.h>

enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_DIFFERENT = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_INVALID = 3,
    CLI_EXIT_UNSUPPORTED = 4,
    CLI_EXIT_IO = 5,
    CLI_EXIT_STOPPED = 6,
    CLI_EXIT_INTERNAL = 70,
    CLI_EXIT_INTERRUPTED = 130
};

typedef struct cli_report {
    bool json, quiet;
    bool colours; /* on standard error, which is a terminal */
    bool muted; /* diagnostics are dropped: what is done is only a try */
    size_t num_errors;
    FILE *diagnostics; /* their JSON, in memory */
    char *text;
    size_t size;
    char first_error[512]; /* its message and op */
    char hint[256];        /* printed last; what follows with the same hint does not repeat it */
} cli_report;

/* false: out of memory. */
bool cli_report_init(cli_report *report);
void cli_report_deinit(cli_report *report);

/* A pdm_diagnostic_fn; user is the cli_report. */
void cli_report_diagnostic(void *user, const pdm_diagnostic *diagnostic);
/* An error in the command line; hint may be NULL. Returns CLI_EXIT_USAGE. */
int cli_usage(cli_report *report, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Tell that path cannot be made, for the reason of errno; gives the exit code. */
int cli_cannot_write(cli_report *report, const char *path, int error);
/* A failure that no diagnostic told gets a line of its own. Returns the exit code of status. */
int cli_failed(cli_report *report, pdm_status status);
int cli_exit_code(pdm_status status);

/* Begin the JSON object on standard output with what all have, and end it with the diagnostics. command is its name, "" a conversion. */
void cli_json_begin(int exit_code, const char *command);
void cli_json_end(cli_report *report);
/* A JSON string; NULL is null. Bytes that are no UTF-8 become U+FFFD. */
void cli_json_string(FILE *out, const char *text);
/* Text for XML and HTML; what they cannot hold becomes U+FFFD. NULL is nothing. */
void cli_markup(FILE *out, const char *text);
void cli_json_tensor(FILE *out, const pdm_tensor_info *info);
/* Bytes of data of all parameters. */
uint64_t cli_params_bytes(const pdm_model *model);
/* "1.5 MiB" */
void cli_print_bytes(FILE *out, uint64_t bytes);

#endif
