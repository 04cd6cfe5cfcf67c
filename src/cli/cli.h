/* The commands. Each returns an exit code. */
#ifndef PDM_CLI_CLI_H
#define PDM_CLI_CLI_H

#include "opt.h"
#include "report.h"

#define CMD(code, name, run, args, summary)                                                        \
    int run(pdm_context *context, const cli_options *options, cli_report *report);
#include "cmds.def"
#undef CMD

/* Whether the user asked to stop (SIGINT); any thread may ask. */
bool cli_interrupted(void *user);

/* Between the two an interrupt ends the program soon, even when nothing asks for it: a kernel may
 * compute for long. Not while files are written. */
void cli_compute_begin(const cli_report *report);
void cli_compute_end(void);

/* --help of a command, the manual page in roff, completion for bash: made of the same tables. */
void cli_print_help(FILE *out, cli_command command);
void cli_print_man(FILE *out);
void cli_print_completion(FILE *out);

#endif
