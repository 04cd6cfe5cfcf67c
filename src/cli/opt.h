/* The command line: what it may hold (cmds.def, opts.def), and what it did hold. */
#ifndef PDM_CLI_OPT_H
#define PDM_CLI_OPT_H

#include <pdmigrate/pdmigrate.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cli_command {
#define CMD(code, name, run, args, summary) code,
#include "cmds.def"
#undef CMD
    CLI_NUM_COMMANDS
} cli_command;

typedef struct cli_command_row {
    const char *name, *args, *summary;
} cli_command_row;

extern const cli_command_row cli_commands[CLI_NUM_COMMANDS];

typedef enum cli_opt {
#define OPT(code, name, letter, arg, commands, help) code,
#include "opts.def"
#undef OPT
    CLI_NUM_OPTS
} cli_opt;

typedef struct cli_opt_row {
    const char *name;
    char letter;
    const char *arg;
    unsigned commands; /* 1 << cli_command */
    const char *help;
} cli_opt_row;

extern const cli_opt_row cli_opts[CLI_NUM_OPTS];

enum { CLI_MAX_SHAPES = 64, CLI_MAX_IO = 256 };

typedef struct cli_options {
    cli_command command;
    bool has[CLI_NUM_OPTS];
    const char *arg[CLI_NUM_OPTS]; /* arguments of options; the last one counts */
    const char *model;  /* cache: what to do, or NULL */
    const char *other;  /* verify: NEW, or NULL */
    const char **fetch; /* --fetch at its commas; malloc'ed, the names too (one block) */
    char *fetch_text;
    size_t num_fetch;
    int pir_version, optimize;
    const char *shapes[CLI_MAX_SHAPES]; /* arguments of --shape */
    size_t num_shapes;
    const char *io[CLI_MAX_IO]; /* arguments of --io */
    size_t num_io;
    uint64_t seed, threads, max_iterations, max_ulp, max_size;
    pdm_kernels kernels;
    pdm_compiler compiler;
    double rtol, atol, cosine; /* -1: not given */
    bool json, junit;          /* --format */
} cli_options;

struct cli_report;

/* 0, or an exit code after a message. out is to be freed with cli_options_deinit in any case. */
int cli_parse(int argc, char **argv, struct cli_report *report, cli_options *out);
void cli_options_deinit(cli_options *options);

#endif
