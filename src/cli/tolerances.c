#include "tolerances.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *dtype;
    double rtol, atol;
} defaults[] = {
#define TOLERANCE(dtype, rtol, atol, why) {dtype, rtol, atol},
#include "tolerances.def"
#undef TOLERANCE
};

static const char *const integers[] = {"int8",  "uint8",  "int16", "uint16",
                                       "int32", "uint32", "int64", "uint64"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char form[] =
    "a line is: OUTPUT-OR-OP, DTYPE, RTOL, ATOL and perhaps ULP, with tabs or "
    "blanks between; * is any, - as without the file";

static bool is_integer(const char *dtype)
{
    for (size_t i = 0; i < COUNT(integers); i++) {
        if (!strcmp(integers[i], dtype))
            return true;
    }
    return false;
}

static bool is_float(const char *dtype)
{
    for (size_t i = 0; i < COUNT(defaults); i++) {
        if (!strcmp(defaults[i].dtype, dtype))
            return true;
    }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    const char *path;
    long line;
    cli_report *report;
    cli_tolerances *out;
} reader;

#define WRONG(r, hint, format, ...)                                                                \
    (cli_usage((r)->report, hint, "%s: line %ld: " format, (r)->path, (r)->line, __VA_ARGS__),     \
     PDM_INVALID_ARG)

/* Whole numbers only: ULP. */
static bool is_whole(double value)
{
    return value < 1e18 && floor(value) == value;
}

static pdm_status take_number(const reader *r, const char *text, double *out)
{
    char *end;

    *out = -1;
    if (!strcmp(text, "-"))
        return PDM_OK;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0))
        return WRONG(r, form, "'%s' is no number from 0 on", text);
    return PDM_OK;
}

static pdm_status take_dtype(const reader *r, const char *text)
{
    if (!strcmp(text, "bool"))
        return WRONG(r, NULL, "%s is always compared exactly", text);
    if (strcmp(text, "*") != 0 && !is_integer(text) && !is_float(text))
        return WRONG(r, "such as float32, float16, bfloat16, int8", "there is no element type '%s'",
                     text);
    return PDM_OK;
}

static pdm_status keep(const reader *r, char *const *fields, cli_tolerance row)
{
    cli_tolerances *t = r->out;
    cli_tolerance *rows = realloc(t->rows, (t->count + 1) * sizeof *rows);

    if (!rows)
        return PDM_NOMEM;
    t->rows = rows;
    row.name = strcmp(fields[0], "*") != 0 ? strdup(fields[0]) : NULL;
    row.dtype = strcmp(fields[1], "*") != 0 ? strdup(fields[1]) : NULL;
    row.used = !row.name && strcmp(fields[0], "*") == 0;
    row.line = r->line;
    t->rows[t->count++] = row;
    return (row.name || row.used) && (row.dtype || !strcmp(fields[1], "*")) ? PDM_OK : PDM_NOMEM;
}

/* One line, without its end. */
static pdm_status take_line(const reader *r, char *text)
{
    enum { MAX = 6 };
    const char *separators = strchr(text, '\t') ? "\t" : " ";
    char *fields[MAX], *rest = NULL;
    size_t n = 0;
    cli_tolerance row = {.ulp = -1};

    for (char *p = strtok_r(text, separators, &rest); p && n < MAX;
         p = strtok_r(NULL, separators, &rest))
        fields[n++] = p;
    if (n == 0 || fields[0][0] == '#')
        return PDM_OK;
    if (n < 4 || n > 5)
        return WRONG(r, form, "4 or 5 columns are wanted, there are %s%zu",
                     n == MAX ? "at least " : "", n);
    pdm_status status = take_dtype(r, fields[1]);
    if (status == PDM_OK)
        status = take_number(r, fields[2], &row.rtol);
    if (status == PDM_OK)
        status = take_number(r, fields[3], &row.atol);
    if (status == PDM_OK && n == 5)
        status = take_number(r, fields[4], &row.ulp);
    if (status == PDM_OK && row.ulp >= 0 && !is_whole(row.ulp))
        status = WRONG(r, NULL, "%s units in the last place: a whole number is wanted", fields[4]);
    return status == PDM_OK ? keep(r, fields, row) : status;
}

static pdm_status read_lines(reader *r, FILE *file)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;
    pdm_status status = PDM_OK;

    while (status == PDM_OK && (errno = 0, length = getline(&text, &capacity, file)) >= 0) {
        r->line++;
        if (memchr(text, '\0', (size_t)length))
            status = WRONG(r, NULL, "%s", "a NUL byte: this is no text file");
        text[strcspn(text, "\r\n")] = '\0';
        if (status == PDM_OK)
            status = take_line(r, text);
    }
    free(text);
    if (status == PDM_OK && errno == ENOMEM)
        status = PDM_NOMEM;
    return status;
}

pdm_status cli_tolerances_read(cli_tolerances *tolerances, const cli_options *options,
                               cli_report *report)
{
    reader r = {.path = options->arg[OPT_DTYPE_TOLERANCES], .report = report, .out = tolerances};

    *tolerances = (cli_tolerances){.options = options};
    if (!r.path)
        return PDM_OK;
    FILE *file = fopen(r.path, "r");
    pdm_status status = file ? read_lines(&r, file) : PDM_IO;
    if (!file || ferror(file)) {
        cli_usage(report, NULL, "%s: %s", r.path, strerror(errno));
        status = PDM_IO;
    }
    if (file)
        fclose(file);
    return status;
}

void cli_tolerances_deinit(cli_tolerances *tolerances)
{
    for (size_t i = 0; i < tolerances->count; i++) {
        free(tolerances->rows[i].name);
        free(tolerances->rows[i].dtype);
    }
    free(tolerances->rows);
    tolerances->rows = NULL;
    tolerances->count = 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* How near a line is to an output: 3 it names it, 2 an op, 1 all outputs, 0 another one. */
static int rank_of(cli_tolerance *row, const char *output, const char *dtype,
                   cli_uses_op_fn uses_op, void *user)
{
    int rank = 0;

    if (!row->name)
        rank = 1;
    else if (!strcmp(row->name, output))
        rank = 3;
    else if (uses_op && uses_op(user, row->name))
        rank = 2;
    if (rank > 0)
        row->used = true;
    return !row->dtype ? (is_float(dtype) ? rank : 0) : !strcmp(row->dtype, dtype) ? rank : 0;
}

/* A column: a nearer line counts, of several ops the widest, else the last line. */
static void consider(double value, int rank, int *best, double *out)
{
    if (value < 0 || rank < *best || (rank == 2 && rank == *best && value < *out))
        return;
    *best = rank;
    *out = value;
}

static void use_defaults(const cli_options *o, const char *dtype, pdm_compare_options *out)
{
    for (size_t i = 0; i < COUNT(defaults); i++) {
        if (!strcmp(defaults[i].dtype, dtype)) {
            out->rtol = o->rtol >= 0 ? o->rtol : defaults[i].rtol;
            out->atol = o->atol >= 0 ? o->atol : defaults[i].atol;
        }
    }
}

void cli_tolerances_of(cli_tolerances *tolerances, const char *output, const char *dtype,
                       cli_uses_op_fn uses_op, void *user, pdm_compare_options *out)
{
    const cli_options *o = tolerances->options;
    int best[3] = {1, 1, 1};
    double ulp = (double)o->max_ulp;

    *out = (pdm_compare_options){
        .size = sizeof *out, .min_cosine = o->cosine > 0 ? o->cosine : 0, .max_ulp = o->max_ulp};
    use_defaults(o, dtype, out);
    for (size_t i = 0; i < tolerances->count; i++) {
        cli_tolerance *row = &tolerances->rows[i];
        const int rank = rank_of(row, output, dtype, uses_op, user);
        if (rank == 0)
            continue;
        consider(row->rtol, rank, &best[0], &out->rtol);
        consider(row->atol, rank, &best[1], &out->atol);
        consider(row->ulp, rank, &best[2], &ulp);
        out->integers = out->integers || is_integer(dtype);
    }
    if (ulp != (double)o->max_ulp) /* ULP of the command line may be beyond 2^53 */
        out->max_ulp = (uint64_t)ulp;
}

void cli_tolerances_unused(const cli_tolerances *tolerances, cli_report *report)
{
    char message[512];

    for (size_t i = 0; i < tolerances->count; i++) {
        const cli_tolerance *row = &tolerances->rows[i];
        if (row->used)
            continue;
        snprintf(message, sizeof message,
                 "line %ld: no output has the name '%s', and none is computed with such an op",
                 row->line, row->name);
        const pdm_diagnostic d = {.id = "usage",
                                  .severity = PDM_WARNING,
                                  .message = message,
                                  .file = tolerances->options->arg[OPT_DTYPE_TOLERANCES],
                                  .offset = -1,
                                  .line = -1,
                                  .column = -1,
                                  .block = -1,
                                  .op_index = -1};
        cli_report_diagnostic(report, &d);
    }
}
