#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By the convention of https://no-color.org. */
static bool wants_colours(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDERR_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

bool cli_report_init(cli_report *report)
{
    *report = (cli_report){0};
    report->diagnostics = open_memstream(&report->text, &report->size);
    report->colours = wants_colours();
    return report->diagnostics != NULL;
}

void cli_report_deinit(cli_report *report)
{
    if (report->diagnostics)
        fclose(report->diagnostics);
    free(report->text);
    *report = (cli_report){0};
}

/* ---- exit codes ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int code;
} exits[] = {
    [PDM_OK] = {"ok", CLI_EXIT_OK},
    [PDM_NOMEM] = {"out_of_memory", CLI_EXIT_INTERNAL},
    [PDM_INVALID_ARG] = {"usage", CLI_EXIT_USAGE},
    [PDM_INVALID_MODEL] = {"invalid", CLI_EXIT_INVALID},
    [PDM_UNSUPPORTED] = {"unsupported", CLI_EXIT_UNSUPPORTED},
    [PDM_IO] = {"io", CLI_EXIT_IO},
    [PDM_EXISTS] = {"usage", CLI_EXIT_USAGE},
    [PDM_CANCELLED] = {"interrupted", CLI_EXIT_INTERRUPTED},
    [PDM_INTERNAL] = {"internal", CLI_EXIT_INTERNAL},
    [PDM_STOPPED] = {"stopped", CLI_EXIT_STOPPED},
};

int cli_exit_code(pdm_status status)
{
    return (size_t)status < sizeof exits / sizeof exits[0] ? exits[status].code : CLI_EXIT_INTERNAL;
}

static const char *exit_name(int code)
{
    if (code == CLI_EXIT_DIFFERENT) /* no call fails then */
        return "different";
    for (size_t i = 0; i < sizeof exits / sizeof exits[0]; i++) {
        /* Out of memory shares its code with internal errors, which are meant more often. */
        if (exits[i].code == code && i != PDM_NOMEM)
            return exits[i].name;
    }
    return "internal";
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *const severities[] = {"note", "warning", "error"};
static const char *const severity_colours[] = {"\033[36m", "\033[35m", "\033[31m"};

/* Whether text names the variable already. */
static bool names(const char *text, const char *var)
{
    const size_t length = strlen(var);

    for (const char *p = text; (p = strstr(p, var)) != NULL; p++) {
        if (p > text && p[-1] == '\'' && p[length] == '\'')
            return true;
    }
    return false;
}

static void print_place(const pdm_diagnostic *d)
{
    const char *sep = "";

    if (d->file)
        fprintf(stderr, "%s: ", d->file);
    if (d->line >= 0) {
        fprintf(stderr, "line %" PRId64, d->line);
        if (d->column >= 0)
            fprintf(stderr, ", column %" PRId64, d->column);
        sep = ", ";
    }
    if (d->offset >= 0) {
        fprintf(stderr, "%soffset %" PRId64, sep, d->offset);
        sep = ", ";
    }
    if (d->block >= 0) {
        fprintf(stderr, "%sblock %" PRId32, sep, d->block);
        sep = ", ";
    }
    if (d->op_index >= 0) {
        fprintf(stderr, "%sop %" PRId32, sep, d->op_index);
        sep = ", ";
        if (d->op_type)
            fprintf(stderr, " (%s)", d->op_type);
    } else if (d->op_type) {
        fprintf(stderr, "%sop %s", sep, d->op_type);
        sep = ", ";
    }
    if (d->var && !names(d->message, d->var)) {
        fprintf(stderr, "%s'%s'", sep, d->var);
        sep = ", ";
    }
    if (*sep)
        fputs(": ", stderr);
}

static void print_text(cli_report *report, const pdm_diagnostic *d)
{
    const char *hint = d->hint ? d->hint : "";

    if (report->colours)
        fprintf(stderr, "pdmigrate: %s%s:\033[m ", severity_colours[d->severity], severities[d->severity]);
    else
        fprintf(stderr, "pdmigrate: %s: ", severities[d->severity]);
    print_place(d);
    fputs(d->message, stderr);
    if (d->id)
        fprintf(stderr, " [%s]", d->id);
    fputc('\n', stderr);
    if (*hint && strcmp(hint, report->hint) != 0)
        fprintf(stderr, "  hint: %s\n", hint);
    snprintf(report->hint, sizeof report->hint, "%s", hint);
}

void cli_print_bytes(FILE *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    uint64_t tenths = bytes * 10;

    if (bytes > UINT64_MAX / 16)
        tenths = UINT64_MAX;
    for (; tenths >= 10240 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        tenths = (tenths + 512) / 1024;
    if (unit == 0)
        fprintf(out, "%" PRIu64 " bytes", bytes);
    else
        fprintf(out, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
}

uint64_t cli_params_bytes(const pdm_model *model)
{
    uint64_t bytes = 0;
    pdm_tensor_info info;

    for (size_t i = 0; i < pdm_model_num_params(model); i++) {
        if (pdm_model_param(model, i, &info) == PDM_OK)
            bytes += info.data_bytes;
    }
    return bytes;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Length of the UTF-8 character at p, 0 when there is none. */
static size_t utf8_length(const unsigned char *p)
{
    static const unsigned lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = p[0] < 0x80   ? 1
                          : p[0] < 0xc2 ? 0
                          : p[0] < 0xe0 ? 2
                          : p[0] < 0xf0 ? 3
                          : p[0] < 0xf5 ? 4
                                        : 0;
    unsigned code = length > 1 ? p[0] & (0x7fu >> length) : p[0];

    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) /* the NUL at the end too */
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    if (length > 1 &&
        (code < lowest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
        return 0;
    return length;
}

void cli_json_string(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    while (*p) {
        const size_t length = utf8_length(p);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(out, "\\u%04x", *p);
        else
            fwrite(p, 1, length, out);
        p += length ? length : 1;
    }
    fputc('"', out);
}

void cli_markup(FILE *out, const char *text)
{
    static const char *const names[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    const unsigned char *p = (const unsigned char *)text;

    while (p && *p) {
        const size_t length = utf8_length(p);
        if (length == 1 && *p < sizeof names / sizeof names[0] && names[*p])
            fputs(names[*p], out);
        else if (length == 0 || (*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7f ||
                 (length == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)) /* U+FFFE, U+FFFF */
            fputs("\xef\xbf\xbd", out);
        else
            fwrite(p, 1, length, out);
        p += length ? length : 1;
    }
}

static void json_text(FILE *out, const char *key, const char *text)
{
    if (!text)
        return;
    fprintf(out, ", \"%s\": ", key);
    cli_json_string(out, text);
}

static void json_number(FILE *out, const char *key, int64_t value)
{
    if (value >= 0)
        fprintf(out, ", \"%s\": %" PRId64, key, value);
}

static void json_diagnostic(cli_report *report, const pdm_diagnostic *d)
{
    FILE *out = report->diagnostics;

    fprintf(out, "%s{\"severity\": \"%s\"", ftell(out) > 0 ? ", " : "", severities[d->severity]);
    json_text(out, "id", d->id);
    json_text(out, "message", d->message);
    json_text(out, "hint", d->hint);
    json_text(out, "file", d->file);
    json_number(out, "offset", d->offset);
    json_number(out, "line", d->line);
    json_number(out, "column", d->column);
    json_number(out, "block", d->block);
    json_number(out, "op_index", d->op_index);
    json_text(out, "op_type", d->op_type);
    json_text(out, "var", d->var);
    fputc('}', out);
}

void cli_json_tensor(FILE *out, const pdm_tensor_info *info)
{
    fputs("{\"name\": ", out);
    cli_json_string(out, info->name);
    fputs(", \"dtype\": ", out);
    cli_json_string(out, info->dtype);
    fputs(", \"dims\": [", out);
    for (size_t i = 0; i < info->rank; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", info->dims[i]);
    fputs("]}", out);
}

void cli_json_begin(int exit_code, const char *command)
{
    printf("{\"status\": \"%s\", \"exit_code\": %d, \"command\": \"%s\"", exit_name(exit_code), exit_code,
           *command ? command : "convert");
}

void cli_json_end(cli_report *report)
{
    fflush(report->diagnostics);
    printf(", \"diagnostics\": [%s]}\n", report->text ? report->text : "");
}

/* ---- both ------------------------------------------------------------------------------------ */

void cli_report_diagnostic(void *user, const pdm_diagnostic *diagnostic)
{
    cli_report *report = user;

    if (report->muted)
        return;
    if (diagnostic->severity == PDM_ERROR && report->num_errors++ == 0)
        snprintf(report->first_error, sizeof report->first_error, "%s%s%s",
                 diagnostic->op_type ? diagnostic->op_type : "", diagnostic->op_type ? ": " : "",
                 diagnostic->message);
    if (diagnostic->severity != PDM_ERROR && report->quiet)
        return;
    print_text(report, diagnostic);
    if (report->json)
        json_diagnostic(report, diagnostic);
}

static void report_error(cli_report *report, const char *id, const char *message, const char *hint)
{
    const pdm_diagnostic d = {.id = id,
                              .severity = PDM_ERROR,
                              .message = message,
                              .hint = hint,
                              .offset = -1,
                              .line = -1,
                              .column = -1,
                              .block = -1,
                              .op_index = -1};

    cli_report_diagnostic(report, &d);
}

int cli_cannot_write(cli_report *report, const char *path, int error)
{
    char message[1024];

    snprintf(message, sizeof message, "%s: the output cannot be created: %s", path,
             strerror(error));
    report_error(report, "file-write", message, NULL);
    return CLI_EXIT_IO;
}

int cli_usage(cli_report *report, const char *hint, const char *format, ...)
{
    char message[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    report_error(report, "usage", message, hint);
    return CLI_EXIT_USAGE;
}

int cli_failed(cli_report *report, pdm_status status)
{
    if (status != PDM_OK && report->num_errors == 0)
        report_error(report, NULL, pdm_status_text(status), NULL);
    return cli_exit_code(status);
}
