#include "opt.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

const cli_command_row cli_commands[CLI_NUM_COMMANDS] = {
#define CMD(code, name, run, args, summary) {name, args, summary},
#include "cmds.def"
#undef CMD
};

#define C (1u << CLI_CONVERT)
#define S (1u << CLI_SHOW)
#define R (1u << CLI_RUN | 1u << CLI_RECORD)
#define V (1u << CLI_VERIFY)
#define G (1u << CLI_GRAPH)
#define K (1u << CLI_CACHE)
const cli_opt_row cli_opts[CLI_NUM_OPTS] = {
#define OPT(code, name, letter, arg, commands, help) {name, letter, arg, commands, help},
#include "opts.def"
#undef OPT
};
#undef C
#undef S
#undef R
#undef V
#undef G
#undef K

static int see_help(cli_report *report, const cli_options *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An error after which the help on the command helps. */
static int see_help(cli_report *report, const cli_options *out, const char *format, ...)
{
    const char *name = cli_commands[out->command].name;
    char message[1024], hint[64];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    snprintf(hint, sizeof hint, "see pdmigrate %s%s--help", name, *name ? " " : "");
    return cli_usage(report, hint, "%s", message);
}

/* What getopt_long returns for an option: its index above all letters. */
enum { LONG_BASE = 256 };

/* ---- tables for getopt ----------------------------------------------------------------------- */

typedef struct tables {
    struct option longs[CLI_NUM_OPTS + 1];
    char shorts[2 * CLI_NUM_OPTS + 2];
} tables;

static void fill_tables(tables *t)
{
    size_t n = 0;

    *t = (tables){0};
    t->shorts[n++] = ':'; /* a missing argument is told apart from an unknown option */
    for (int i = 0; i < CLI_NUM_OPTS; i++) {
        const cli_opt_row *row = &cli_opts[i];
        int has_arg = row->arg ? required_argument : no_argument;
        if (i == OPT_HELP)
            has_arg = optional_argument; /* --help=man, --help=bash */
        t->longs[i] = (struct option){row->name, has_arg, NULL, LONG_BASE + i};
        if (row->letter) {
            t->shorts[n++] = row->letter;
            if (row->arg)
                t->shorts[n++] = ':';
        }
    }
}

static int option_of(int code)
{
    if (code >= LONG_BASE)
        return code - LONG_BASE;
    for (int i = 0; i < CLI_NUM_OPTS; i++) {
        if (cli_opts[i].letter && cli_opts[i].letter == code)
            return i;
    }
    return -1;
}

/* ---- guesses --------------------------------------------------------------------------------- */

/* Edit distance, with neighbours exchanged as one step; words longer than a row are far from all.
 */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][32];
    const size_t n = strlen(a), m = strlen(b);

    if (n >= 32 || m >= 32)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

static const char *guess_command(const char *word)
{
    for (int i = 0; i < CLI_NUM_COMMANDS; i++) {
        if (cli_commands[i].name[0] && distance(word, cli_commands[i].name) <= 2)
            return cli_commands[i].name;
    }
    return NULL;
}

/* The long option that comes nearest to --WORD (an argument after '=' is left out). */
static const char *guess_option(const char *word)
{
    char name[32];
    const size_t length = strcspn(word, "=");
    const char *best = NULL;
    size_t best_distance = 3;

    if (length >= sizeof name)
        return NULL;
    memcpy(name, word, length);
    name[length] = '\0';
    for (int i = 0; i < CLI_NUM_OPTS; i++) {
        const size_t d = distance(name, cli_opts[i].name);
        if (d < best_distance) {
            best_distance = d;
            best = cli_opts[i].name;
        }
    }
    return best;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static int unknown_option(cli_report *report, const cli_options *out, const char *text)
{
    char hint[80];
    const char *guess = !strncmp(text, "--", 2) ? guess_option(text + 2) : NULL;

    if (!guess)
        return see_help(report, out, "unknown option '%s'", text);
    snprintf(hint, sizeof hint, "did you mean --%s?", guess);
    return cli_usage(report, hint, "unknown option '%s'", text);
}

static int take_option(cli_report *report, cli_options *out, int i, const char *arg)
{
    const cli_opt_row *row = &cli_opts[i];

    if (!(row->commands & 1u << out->command))
        return see_help(report, out, "--%s does not belong to %s", row->name,
                         out->command == CLI_CONVERT ? "a conversion"
                                                     : cli_commands[out->command].name);
    if (i == OPT_HELP && arg && strcmp(arg, "man") != 0 && strcmp(arg, "bash") != 0)
        return see_help(report, out, "--help=%s: only --help, --help=man and --help=bash exist", arg);
    out->has[i] = true;
    out->arg[i] = arg;
    if (i == OPT_SHAPE) {
        if (out->num_shapes == CLI_MAX_SHAPES)
            return cli_usage(report, NULL, "--shape is given more than %d times", CLI_MAX_SHAPES);
        out->shapes[out->num_shapes++] = arg;
    }
    if (i == OPT_IO) {
        if (out->num_io == (out->command == CLI_VERIFY ? CLI_MAX_IO : 1))
            return cli_usage(report, NULL, "--io is given too often");
        out->io[out->num_io++] = arg;
    }
    return 0;
}

static int parse_options(int argc, char **argv, cli_report *report, cli_options *out)
{
    tables t;
    int code;

    fill_tables(&t);
    opterr = 0;
    optind = 1;
    for (;;) {
        const int at = optind;
        code = getopt_long(argc, argv, t.shorts, t.longs, NULL);
        if (code < 0)
            return 0;
        if (code == '?') {
            char letter[3] = {'-', (char)optopt, '\0'};
            /* An ambiguous or unknown long option leaves optopt at 0; an argument that is not
             * wanted, at its code. */
            if (optopt >= LONG_BASE)
                return see_help(report, out, "--%s takes no argument",
                                 cli_opts[optopt - LONG_BASE].name);
            return unknown_option(report, out, optopt ? letter : argv[optind > at ? optind - 1 : at]);
        }
        if (code == ':') {
            const int i = option_of(optopt);
            return see_help(report, out, "--%s needs an argument: %s", cli_opts[i].name,
                             cli_opts[i].arg);
        }
        const int i = option_of(code);
        const int failed = take_option(report, out, i, optarg);
        if (failed)
            return failed;
    }
}

/* --fetch a,b: names end at commas. */
static int split_fetch(cli_report *report, cli_options *out)
{
    size_t count = 1;
    const char *text = out->arg[OPT_FETCH];

    if (!text)
        return 0;
    for (const char *p = text; *p; p++)
        count += *p == ',';
    out->fetch_text = strdup(text);
    out->fetch = calloc(count, sizeof *out->fetch);
    if (!out->fetch_text || !out->fetch)
        return cli_failed(report, PDM_NOMEM);
    for (char *p = out->fetch_text; p;) {
        char *end = strchr(p, ',');
        if (end)
            *end++ = '\0';
        if (!*p)
            return cli_usage(report, NULL, "--fetch %s: a name is empty", text);
        out->fetch[out->num_fetch++] = p;
        p = end;
    }
    return 0;
}

static int take_number(cli_report *report, const cli_options *options, cli_opt opt, uint64_t max,
                       uint64_t *out)
{
    const char *text = options->arg[opt];
    char *end;

    if (!text)
        return 0;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value > max)
        return cli_usage(report, NULL, "--%s %s: a number up to %llu is wanted", cli_opts[opt].name,
                         text, (unsigned long long)max);
    *out = value;
    return 0;
}

/* A number of bytes: 500, 64K, 64M, 1G. */
static int take_size(cli_report *report, const cli_options *options, cli_opt opt, uint64_t *out)
{
    static const char units[] = "KMG";
    const char *text = options->arg[opt];
    char *end;

    if (!text)
        return 0;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])) ||
        value > UINT64_MAX >> shift)
        return cli_usage(report, "write it like 500000, 64K, 64M or 1G", "--%s %s is no size",
                         cli_opts[opt].name, text);
    *out = (uint64_t)value << shift;
    return 0;
}

static int take_float(cli_report *report, const cli_options *options, cli_opt opt, double *out)
{
    const char *text = options->arg[opt];
    char *end;

    *out = -1;
    if (!text)
        return 0;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0))
        return cli_usage(report, NULL, "--%s %s: a number from 0 on is wanted", cli_opts[opt].name,
                         text);
    *out = value;
    return 0;
}

static int check_verify(cli_report *report, cli_options *out)
{
    int failed = take_float(report, out, OPT_RTOL, &out->rtol);

    if (!failed)
        failed = take_float(report, out, OPT_ATOL, &out->atol);
    if (!failed)
        failed = take_float(report, out, OPT_COSINE, &out->cosine);
    if (!failed)
        failed = take_number(report, out, OPT_MAX_ULP, UINT64_MAX, &out->max_ulp);
    if (!failed && out->command == CLI_VERIFY && out->num_shapes > 0 && out->num_io > 0)
        return cli_usage(report, "leave out --io", "--shape is for random inputs");
    return failed;
}

static int take_kernels(cli_report *report, cli_options *out)
{
    const char *text = out->arg[OPT_KERNELS];

    if (!text)
        return 0;
    if (!strcmp(text, "reference"))
        out->kernels = PDM_KERNELS_REFERENCE;
    else if (!strcmp(text, "fast"))
        out->kernels = PDM_KERNELS_FAST;
    else
        return cli_usage(report, "it is reference or fast", "--kernels %s is not known", text);
    return 0;
}

static int take_compiler(cli_report *report, cli_options *out)
{
    const char *text = out->arg[OPT_COMPILE];

    if (!text || !strcmp(text, "off"))
        return 0;
    if (!strcmp(text, "llvm"))
        out->compiler = PDM_COMPILER_LLVM;
    else if (!strcmp(text, "ref"))
        out->compiler = PDM_COMPILER_REFERENCE;
    else if (!strcmp(text, "cuda"))
        out->compiler = PDM_COMPILER_CUDA;
    else
        return cli_usage(report, "it is off, llvm, cuda or ref", "--compile %s is not known", text);
    return 0;
}

static int take_device(cli_report *report, cli_options *out)
{
    const char *text = out->arg[OPT_DEVICE];
    const bool compiled_for_gpu = out->compiler == PDM_COMPILER_CUDA;

    if (!text)
        return 0;
    const bool gpu = !strcmp(text, "cuda");
    if (!gpu && strcmp(text, "cpu") != 0)
        return cli_usage(report, "it is cpu or cuda", "--device %s is not known", text);
    if (out->has[OPT_COMPILE] && gpu != compiled_for_gpu)
        return cli_usage(report, NULL, "--device %s and --compile %s exclude each other", text, out->arg[OPT_COMPILE]);
    if (gpu)
        out->compiler = PDM_COMPILER_CUDA;
    return 0;
}

static int check_run(cli_report *report, cli_options *out)
{
    int failed = take_number(report, out, OPT_SEED, UINT64_MAX, &out->seed);

    if (!failed)
        failed = take_number(report, out, OPT_THREADS, 256, &out->threads);
    if (!failed)
        failed = take_number(report, out, OPT_MAX_ITERATIONS, UINT64_MAX, &out->max_iterations);
    if (!failed)
        failed = take_kernels(report, out);
    if (!failed)
        failed = take_compiler(report, out);
    if (!failed)
        failed = take_device(report, out);
    if (!failed && out->command != CLI_VERIFY && out->num_shapes > 0 && !out->has[OPT_RANDOM])
        return cli_usage(report, "add --random", "--shape is for random inputs");
    return failed;
}

/* --kernel-source and --arch */
static int check_code(cli_report *report, cli_options *out)
{
    static const char *const languages[] = {"cuda", "ptx", "cubin", "llvm"};
    const char *language = out->arg[OPT_KERNEL_SOURCE], *arch = out->arg[OPT_ARCH];
    const size_t digits = arch && !strncmp(arch, "sm_", 3) ? strspn(arch + 3, "0123456789") : 0;
    size_t i = 0;

    while (language && i < 4 && strcmp(language, languages[i]) != 0)
        i++;
    if (i == 4)
        return cli_usage(report, "it is cuda, ptx, cubin or llvm", "--kernel-source %s is not known",
                         language);
    if (arch && (!language || (i != 1 && i != 2)))
        return cli_usage(report, NULL, "--arch is for --kernel-source ptx and cubin");
    if (arch && (digits < 2 || digits > 3 || (arch[3 + digits] && (!strchr("af", arch[3 + digits]) || arch[4 + digits]))))
        return cli_usage(report, "such as sm_80", "--arch %s is not known", arch);
    if (language && i == 2 && out->json)
        return cli_usage(report, NULL, "--kernel-source cubin is no text: it excludes --format json");
    if (language && i == 2 && isatty(STDOUT_FILENO))
        return cli_usage(report, "write it to a file: > FILE", "--kernel-source cubin is no text");
    return 0;
}

static int check_values(cli_report *report, cli_options *out)
{
    const char *format = out->arg[OPT_FORMAT];
    const char *version = out->arg[OPT_PIR_VERSION];

    out->junit = format && !strcmp(format, "junit");
    if (out->junit && out->command != CLI_VERIFY)
        return cli_usage(report, "it is text or json", "only verify has --format %s", format);
    if (format && !out->junit && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
        return cli_usage(report, "it is text or json; of verify junit, too",
                         "--format %s is not known", format);
    if (version) {
        if (version[0] < '1' || version[0] > '4' || version[1])
            return cli_usage(report, "it is 1, 2, 3 or 4", "--pir-version %s does not exist",
                             version);
        out->pir_version = version[0] - '0';
    }
    if (out->has[OPT_VERBOSE] && out->has[OPT_QUIET])
        return cli_usage(report, NULL, "--verbose and --quiet exclude each other");
    if (out->has[OPT_PARAMS] && out->has[OPT_NO_PARAMS])
        return cli_usage(report, NULL, "--params and --no-params exclude each other");
    const char *level = out->arg[OPT_OPTIMIZE];
    if (level && (level[0] < '0' || level[0] > '2' || level[1]))
        return cli_usage(report, "it is 0, 1 or 2", "-O%s does not exist", level);
    out->optimize = level ? level[0] - '0' : 0;
    if (out->json && (out->has[OPT_PRINT_BEFORE] || out->has[OPT_PRINT_AFTER]))
        return cli_usage(report, NULL, "--print-before or --print-after, and --format json exclude each other");
    if (out->has[OPT_KEEP_VERSION] && out->has[OPT_PIR_VERSION])
        return cli_usage(report, NULL, "--keep-version and --pir-version exclude each other");
    if (out->has[OPT_TEXT] + out->has[OPT_DOT] + out->has[OPT_OPS] + out->has[OPT_SHAPES] + out->has[OPT_GROUPS] +
            out->has[OPT_LOOP_IR] + out->has[OPT_KERNEL_SOURCE] + out->has[OPT_GROUP_SUMMARY] >
        1)
        return cli_usage(report, NULL,
                         "--text, --dot, --ops, --shapes, --groups, --group-summary, --loop-ir and --kernel-source exclude each other");
    if (out->has[OPT_DOT] && (out->has[OPT_EXTRACT] || (out->command == CLI_GRAPH && out->json)))
        return cli_usage(report, NULL, "--dot excludes --extract and --format json");
    const int code_failed = check_code(report, out);
    if (code_failed)
        return code_failed;
    if (out->has[OPT_CACHE_DIR] && (out->has[OPT_NO_CACHE] || !*out->arg[OPT_CACHE_DIR]))
        return cli_usage(report, NULL, "--cache-dir names a folder, and excludes --no-cache");
    int failed = check_run(report, out);

    if (!failed)
        failed = check_verify(report, out);
    if (!failed)
        failed = take_size(report, out, OPT_MAX_SIZE, &out->max_size);
    return failed ? failed : split_fetch(report, out);
}

static int take_model(cli_report *report, cli_options *out, int count, char **words)
{
    char hint[80];
    const char *guess;

    if (out->command == CLI_CACHE) {
        out->model = count > 0 ? words[0] : NULL;
        return count > 1 ? see_help(report, out, "one thing can be done with the cache") : 0;
    }
    if (count == 0)
        return see_help(report, out, "no model is given");
    if (out->command == CLI_VERIFY && count == 2) {
        out->other = words[1];
        count = 1;
    }
    if (count > 1) {
        if (out->command == CLI_CONVERT && !strcmp(words[0], "convert"))
            return cli_usage(report, "a conversion has none: pdmigrate MODEL -o OUT", "'convert' is not a command");
        guess = guess_command(words[0]);
        if (!guess)
            return see_help(report, out, "one model is wanted, but there are also '%s'%s",
                             words[1], count > 2 ? " and more" : "");
        snprintf(hint, sizeof hint, "did you mean 'pdmigrate %s'?", guess);
        return cli_usage(report, hint, "'%s' is not a command", words[0]);
    }
    if (!strcmp(words[0], "-"))
        return cli_usage(report, "save it to a file first",
                         "a model cannot be read from standard input");
    out->model = words[0];
    if (out->command != CLI_CONVERT)
        return 0;
    if (!out->arg[OPT_OUTPUT])
        return cli_usage(report, "use -o OUT, or pdmigrate show MODEL", "no output is given");
    if (!strcmp(out->arg[OPT_OUTPUT], "-"))
        return cli_usage(report, "use -o NAME.json or -o FOLDER/",
                         "a model cannot be written to standard output");
    return 0;
}

/* Whether the report is to be JSON has to be known before the first error. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!strcmp(argv[i], "--format=json") ||
            (!strcmp(argv[i], "--format") && i + 1 < argc && !strcmp(argv[i + 1], "json")))
            return true;
    }
    return false;
}

static bool find_command(const char *word, cli_command *out)
{
    for (int i = 0; i < CLI_NUM_COMMANDS; i++) {
        if (cli_commands[i].name[0] && !strcmp(word, cli_commands[i].name)) {
            *out = (cli_command)i;
            return true;
        }
    }
    return false;
}

int cli_parse(int argc, char **argv, cli_report *report, cli_options *out)
{
    int failed;

    *out = (cli_options){.command = CLI_CONVERT, .threads = 1, .json = wants_json(argc, argv)};
    report->json = out->json;
    if (argc < 2)
        return see_help(report, out, "no model is given");
    /* Any other use of the word is a model of that name. */
    if (!strcmp(argv[1], "help") && (argc == 2 || (argc == 3 && find_command(argv[2], &out->command)))) {
        out->has[OPT_HELP] = true;
        return 0;
    }
    if (find_command(argv[1], &out->command)) {
        argc--;
        argv++;
    }
    failed = parse_options(argc, argv, report, out);
    if (failed || out->has[OPT_HELP] || out->has[OPT_VERSION])
        return failed;
    report->quiet = out->has[OPT_QUIET];
    failed = check_values(report, out);
    return failed ? failed : take_model(report, out, argc - optind, argv + optind);
}

void cli_options_deinit(cli_options *options)
{
    free(options->fetch);
    free(options->fetch_text);
    options->fetch = NULL;
    options->fetch_text = NULL;
}
