/* --help and the manual page, from the tables of commands, options, examples and exit codes. */
#include <string.h>

#include "cli.h"

static const struct {
    cli_command command;
    const char *line, *what;
} examples[] = {
    {CLI_CONVERT, "pdmigrate old.pdmodel -o new.json", "writes new.json and new.pdiparams"},
    {CLI_CONVERT, "pdmigrate model_folder -o converted/",
     "writes converted/inference.json and converted/inference.pdiparams"},
    {CLI_CONVERT, "pdmigrate __model__ --params weights -o new.json",
     "parameters from a file or folder of another name"},
    {CLI_CONVERT, "pdmigrate raw.pdmodel --fetch a,b -o new.json",
     "a program without fetch ops: its outputs are a and b"},
    {CLI_CONVERT, "pdmigrate inference.json -o clean.json",
     "checks a PIR model and writes it in the form that Paddle 3.0 to 3.3 load"},
    {CLI_SHOW, "pdmigrate show old.pdmodel", "inputs, outputs, parameters, number of ops"},
    {CLI_SHOW, "pdmigrate show --ops old.pdmodel", "how often each op occurs"},
    {CLI_SHOW, "pdmigrate show --text old.pdmodel", "the whole program"},
    {CLI_SHOW, "pdmigrate show --dot inference.json | dot -Tsvg -o graph.svg",
     "the program as a picture"},
    {CLI_RUN, "pdmigrate run old.pdmodel --io in.npz -o out.npz",
     "runs the model on recorded inputs and writes its outputs"},
    {CLI_RUN, "pdmigrate run inference.json --random --shape x=1,3,640,640 --threads 2 --profile",
     "where the time goes, on random inputs"},
    {CLI_RECORD, "pdmigrate record old.pdmodel --random -o recorded.npz",
     "inputs and outputs of a run, to verify later versions against"},
    {CLI_VERIFY, "pdmigrate verify old.pdmodel --io recorded.npz",
     "runs the translation and compares it with the recorded outputs"},
    {CLI_VERIFY, "pdmigrate verify old.pdmodel new.json",
     "runs the legacy program as it is, and new.json, on random inputs"},
    {CLI_VERIFY,
     "pdmigrate verify old.pdmodel new.json --io rec.npz --format junit --html report.html",
     "reports for a CI server and for people"},
    {CLI_VERIFY, "pdmigrate verify old.pdmodel --io rec.npz --dtype-tolerances tolerances.tsv",
     "with lines such as 'softmax_0.tmp_0 float32 1e-4 1e-6' or '* bfloat16 2e-2 2e-2'"},
    {CLI_GRAPH, "pdmigrate graph old.pdmodel", "the subgraphs: their ops, inputs and outputs"},
    {CLI_GRAPH, "pdmigrate graph old.pdmodel --deny softmax,matmul_v2 --dot | dot -Tsvg -o graph.svg",
     "the program as a picture, subgraphs in colours"},
    {CLI_GRAPH, "pdmigrate graph old.pdmodel --extract parts",
     "writes parts/subgraph_0/inference.pdmodel and .pdiparams, and so on"},
    {CLI_CACHE, "pdmigrate cache", "where compiled code is kept, and how much"},
    {CLI_CACHE, "pdmigrate cache verify", "reads all of it; what is broken is removed"},
    {CLI_CACHE, "pdmigrate cache prune --max-size 64M",
     "removes what was not used for longest; clear removes all"},
};

static const struct {
    int code;
    const char *what;
} exit_codes[] = {
    {CLI_EXIT_OK, "fine"},
    {CLI_EXIT_DIFFERENT, "verify: outputs differ (--allow-known: in other than known ways), or kept code is broken"},
    {CLI_EXIT_USAGE, "usage: options, inputs that do not fit, an output that exists"},
    {CLI_EXIT_INVALID, "the model is invalid"},
    {CLI_EXIT_UNSUPPORTED,
     "the model holds something that cannot be translated; all of it is listed"},
    {CLI_EXIT_IO, "a file is missing or unreadable, or the disk is full"},
    {CLI_EXIT_STOPPED, "a run was stopped: --max-iterations"},
    {CLI_EXIT_INTERNAL, "internal error, out of memory"},
    {CLI_EXIT_INTERRUPTED, "interrupted"},
};

static const struct {
    const char *term, *what;
} words[] = {
    {"MODEL",
     "a file, whose format is told by its content (ProgramDesc or PIR JSON); a prefix: NAME.json, "
     "else NAME.pdmodel; or a folder that holds one of inference.json, inference.pdmodel, "
     "model.json, model.pdmodel, __model__, __model__.json."},
    {"parameters",
     "are looked for beside MODEL: its name with .pdiparams, then __params__, then params, "
     "then one file per parameter."},
    {"OUT",
     "NAME.json or NAME.pir with NAME.pdiparams beside it (Paddle opens a program only under a "
     "name that ends in .json); or a folder, existing or ending in '/', which gets inference.json "
     "and "
     "inference.pdiparams. Existing files are kept unless --force is given. Outputs appear "
     "atomically; a failure leaves none."},
};

/* Nothing is set by them alone but where foreign libraries lie. */
static const struct {
    const char *name, *what;
} variables[] = {
    {"PDM_CACHE_DIR", "folder of compiled code; without it $XDG_CACHE_HOME/pdmigrate, or ~/.cache/pdmigrate. --cache-dir goes before."},
    {"PDM_CACHE", "off: compiled code is neither looked for nor kept on disk, as with --no-cache."},
    {"PDM_MODULE_DIR", "folder of the module for --compile llvm, instead of the one where it was installed."},
    {"PDM_CUDA, PDM_NVRTC, PDM_CUBLAS, PDM_CUDNN",
     "file names of the CUDA driver, NVRTC, cuBLAS and cuDNN, which are looked for otherwise; none: as if it were not there."},
    {"NO_COLOR", "not empty: no colours on a terminal."},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* text in lines of at most 90 columns, all but the first indented. */
static void print_wrapped(FILE *out, const char *text, int indent)
{
    int column = indent;

    for (const char *p = text; *p;) {
        const int length = (int)strcspn(p, " ");
        if (column > indent && column + length > 90) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        fprintf(out, "%.*s", length, p);
        column += length;
        p += length;
        if (*p == ' ') {
            p++;
            /* A blank before a line break would be left hanging. */
            if (column + 1 + (int)strcspn(p, " ") <= 90) {
                fputc(' ', out);
                column++;
            } else {
                column = 91;
            }
        }
    }
    fputc('\n', out);
}

static void usage_line(FILE *out, cli_command command)
{
    const cli_command_row *row = &cli_commands[command];

    fprintf(out, "pdmigrate %s%s%s [OPTION...]\n", row->name, *row->name ? " " : "", row->args);
}

static void help_options(FILE *out, cli_command command)
{
    for (int i = 0; i < CLI_NUM_OPTS; i++) {
        const cli_opt_row *row = &cli_opts[i];
        char name[40];
        if (!(row->commands & 1u << command))
            continue;
        snprintf(name, sizeof name, "--%s%s%s", row->name, row->arg ? " " : "",
                 row->arg ? row->arg : "");
        if (row->letter)
            fprintf(out, "  -%c, %-20s ", row->letter, name);
        else
            fprintf(out, "      %-20s ", name);
        print_wrapped(out, row->help, 27);
    }
}

static void help_commands(FILE *out)
{
    for (int i = 1; i < CLI_NUM_COMMANDS; i++) {
        fprintf(out, "  %-11s ", cli_commands[i].name);
        print_wrapped(out, cli_commands[i].summary, 14);
    }
    fputs("  help        The help on a command, as 'pdmigrate help show' or 'pdmigrate show --help'.\n\n", out);
}

void cli_print_help(FILE *out, cli_command command)
{
    fputs("Usage: ", out);
    usage_line(out, command);
    if (command == CLI_CONVERT) {
        for (int i = 1; i < CLI_NUM_COMMANDS; i++) {
            fputs("       ", out);
            usage_line(out, (cli_command)i);
        }
    }
    fprintf(out, "\n%s\n\n", cli_commands[command].summary);
    if (command == CLI_CONVERT)
        help_commands(out);
    for (size_t i = 0; i < COUNT(words); i++) {
        if ((command != CLI_CONVERT && !strcmp(words[i].term, "OUT")) || command == CLI_CACHE)
            continue;
        fprintf(out, "  %-11s ", words[i].term);
        print_wrapped(out, words[i].what, 14);
    }
    fputs("\nOptions:\n", out);
    help_options(out, command);
    fputs("\nExamples:\n", out);
    for (size_t i = 0; i < COUNT(examples); i++) {
        if (examples[i].command == command)
            fprintf(out, "  %s\n      %s\n", examples[i].line, examples[i].what);
    }
    fputs("\nExit status:\n", out);
    for (size_t i = 0; i < COUNT(exit_codes); i++)
        fprintf(out, "  %3d  %s\n", exit_codes[i].code, exit_codes[i].what);
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* Text in roff: hyphens that are meant as such, backslashes, and no line that begins like a
 * request. */
static void roff(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '-')
            fputs("\\-", out);
        else if (*p == '\\')
            fputs("\\e", out);
        else if (p == text && (*p == '.' || *p == '\''))
            fprintf(out, "\\&%c", *p);
        else
            fputc(*p, out);
    }
}

static void roff_line(FILE *out, const char *text)
{
    roff(out, text);
    fputc('\n', out);
}

/* Which commands an option belongs to, unless all. */
static void man_commands(FILE *out, unsigned commands)
{
    const char *sep = "Of ";

    if (commands == (1u << CLI_NUM_COMMANDS) - 1)
        return;
    for (int i = 0; i < CLI_NUM_COMMANDS; i++) {
        if (!(commands & 1u << i))
            continue;
        fprintf(out, "%s%s", sep, *cli_commands[i].name ? cli_commands[i].name : "conversions");
        sep = ", ";
    }
    fputs(".\n", out);
}

static void man_options(FILE *out)
{
    for (int i = 0; i < CLI_NUM_OPTS; i++) {
        const cli_opt_row *row = &cli_opts[i];
        fputs(".TP\n", out);
        if (row->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
        fputs("\\fB\\-\\-", out);
        roff(out, row->name);
        fputs("\\fR", out);
        if (row->arg)
            fprintf(out, " \\fI%s\\fR", row->arg);
        fputc('\n', out);
        roff_line(out, row->help);
        man_commands(out, row->commands);
    }
}

void cli_print_man(FILE *out)
{
    fprintf(out, ".TH PDMIGRATE 1 \"\" \"pdmigrate %s\" \"User Commands\"\n", pdm_version());
    fputs(".SH NAME\npdmigrate \\- convert legacy PaddlePaddle models to PIR\n.SH SYNOPSIS\n", out);
    for (int i = 0; i < CLI_NUM_COMMANDS; i++) {
        if (i > 0)
            fputs(".br\n", out);
        fputs(".B pdmigrate\n", out);
        if (*cli_commands[i].name)
            fprintf(out, ".B %s\n", cli_commands[i].name);
        roff(out, cli_commands[i].args);
        fputs(" [OPTION...]\n", out);
    }
    fputs(".SH DESCRIPTION\n", out);
    for (int i = 0; i < CLI_NUM_COMMANDS; i++) {
        fprintf(out, ".TP\n\\fBpdmigrate%s%s\\fR\n", *cli_commands[i].name ? " " : "",
                cli_commands[i].name);
        roff_line(out, cli_commands[i].summary);
    }
    for (size_t i = 0; i < COUNT(words); i++) {
        fprintf(out, ".TP\n.I %s\n", words[i].term);
        roff_line(out, words[i].what);
    }
    fputs(".SH OPTIONS\n", out);
    man_options(out);
    fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < COUNT(variables); i++) {
        fprintf(out, ".TP\n.B %s\n", variables[i].name);
        roff_line(out, variables[i].what);
    }
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < COUNT(exit_codes); i++)
        fprintf(out, ".TP\n.B %d\n%s\n", exit_codes[i].code, exit_codes[i].what);
    fputs(".SH EXAMPLES\n", out);
    for (size_t i = 0; i < COUNT(examples); i++) {
        fputs(".TP\n.B ", out);
        roff_line(out, examples[i].line);
        roff_line(out, examples[i].what);
    }
    fputs(".SH DIAGNOSTICS\n"
          "Errors, warnings and notes go to standard error, all problems of a model at once, each "
          "with its\n"
          "place in the model and an identifier in brackets; results go to standard output.\n",
          out);
}
