/* --help=bash: completion of words for bash, from the tables of commands and options. */
#include <string.h>

#include "cli.h"

/* Words that options take; tests/cli/usage.sh asks the program whether it knows them. */
static const struct {
    cli_opt option;
    const char *words;
} values[] = {
    {OPT_PIR_VERSION, "1 2 3 4"},
    {OPT_OPTIMIZE, "0 1 2"},
    {OPT_KERNELS, "reference fast"},
    {OPT_COMPILE, "off llvm cuda ref"},
    {OPT_DEVICE, "cpu cuda"},
    {OPT_KERNEL_SOURCE, "cuda ptx cubin llvm"},
    {OPT_FORMAT, "text json junit"},
};

static void name_of(FILE *out, const cli_opt_row *row)
{
    if (row->letter)
        fprintf(out, "-%c|", row->letter);
    fprintf(out, "--%s", row->name);
}

/* After which options words are known, or files are wanted: those with other arguments complete nothing. */
static void arguments(FILE *out)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        fputs("    ", out);
        name_of(out, &cli_opts[values[i].option]);
        fprintf(out, ") words=\"%s\" ;;\n", values[i].words);
    }
    for (int i = 0; i < CLI_NUM_OPTS; i++) {
        const char *arg = cli_opts[i].arg;
        if (!arg || (strcmp(arg, "FILE") != 0 && strcmp(arg, "FOLDER") != 0 && strcmp(arg, "OUT") != 0))
            continue;
        fputs("    ", out);
        name_of(out, &cli_opts[i]);
        fputs(") return ;;\n", out);
    }
}

static void options_of(FILE *out, cli_command command)
{
    for (int i = 0; i < CLI_NUM_OPTS; i++) {
        if (cli_opts[i].commands & 1u << command)
            fprintf(out, " --%s", cli_opts[i].name);
    }
}

void cli_print_completion(FILE *out)
{
    fputs("# Completion for bash; made by pdmigrate --help=bash.\n"
          "_pdmigrate()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= options= commands=\n"
          "    COMPREPLY=()\n"
          "    case $before in\n",
          out);
    arguments(out);
    fputs("    esac\n"
          "    if [ -n \"$words\" ]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          out);
    for (int i = 1; i < CLI_NUM_COMMANDS; i++) {
        fprintf(out, "    %s) options=\"", cli_commands[i].name);
        options_of(out, (cli_command)i);
        fputs("\" ;;\n", out);
    }
    fputs("    *) options=\"", out);
    options_of(out, CLI_CONVERT);
    fputs("\" ;;\n    esac\n"
          "    [ \"$COMP_CWORD\" -ne 1 ] || commands=\"help",
          out);
    for (int i = 1; i < CLI_NUM_COMMANDS; i++)
        fprintf(out, " %s", cli_commands[i].name);
    fputs("\"\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    cache) commands=\"path list verify prune clear\" ;;\n"
          "    esac\n"
          "    case $word in\n"
          "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
          "    *) COMPREPLY=($(compgen -W \"$commands\" -- \"$word\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -o default -F _pdmigrate pdmigrate\n",
          out);
}
