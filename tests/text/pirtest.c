/*
 * Text tests: pirtest [--update] FILE...
 *
 * A file holds cases:
 *
 *     === what it shows: COMMAND
 *     input
 *     ---
 *     what is expected
 *
 * Lines before the first case are remarks. COMMAND says what becomes of the input: `text` parses
 * and prints it; `json` and `json4` write it as JSON (compact, or indented by 4); `read` reads JSON
 * and prints text; `dot` draws it; `verify` parses and verifies it; `group` forms groups to be
 * compiled (cinn/group.h), `loops` prints them with their loops. Diagnostics come first, one a
 * line: `LINE:COLUMN id op: message`. The expected text is compared with the output, blank lines at
 * its end aside.
 * --update writes the outputs into the files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "cinn/group.h"
#include "ir/pir_json.h"
#include "ir/text.h"

typedef struct test_case {
    char *title, *command; /* of the line === title: command */
    const char *header;    /* that line, as it stands in the file */
    size_t header_size;
    const char *input;
    size_t input_size;
    const char *expected;
    size_t expected_size;
} test_case;

static void hear(void *user, const pdm_diagnostic *d)
{
    pdm_buf *out = user;

    if (d->line > 0)
        pdm_buf_printf(out, "%d:%d ", (int)d->line, (int)d->column);
    pdm_buf_printf(out, "%s", d->id);
    if (d->op_type)
        pdm_buf_printf(out, " %s", d->op_type);
    if (d->block >= 0)
        pdm_buf_printf(out, " [%d,%d]", (int)d->block, (int)d->op_index);
    pdm_buf_printf(out, ": %s\n", d->message);
}

static pdm_status show_groups(const pdm_ir_module *module, const char *command, pdm_diag_sink *sink,
                              pdm_buf *out)
{
    pdm_ir_module *grouped;

    PDM_TRY(pdm_ir_module_clone(module, &grouped));
    pdm_status status = pdm_cinn_group_module(grouped, NULL);
    if (status == PDM_OK)
        status = pdm_ir_verify(grouped, sink);
    if (status == PDM_OK && strcmp(command, "group") == 0)
        pdm_ir_print(grouped, out);
    else if (status == PDM_OK)
        status = pdm_cinn_group_print(grouped, true, out);
    pdm_ir_module_destroy(grouped);
    return status;
}

static pdm_status show(const pdm_ir_module *module, const char *command, pdm_diag_sink *sink,
                       pdm_buf *out)
{
    const pdm_ir_json_layout layout = {.indent = strcmp(command, "json4") == 0 ? 4 : 0};
    pdm_status status = PDM_OK;

    if (strncmp(command, "json", 4) == 0)
        status = pdm_ir_json_print(module, &layout, out, sink);
    else if (strcmp(command, "dot") == 0)
        pdm_ir_print_dot(module, out);
    else if (strcmp(command, "verify") == 0)
        status = pdm_ir_verify(module, sink);
    else if (strcmp(command, "group") == 0 || strcmp(command, "loops") == 0)
        status = show_groups(module, command, sink, out);
    else
        pdm_ir_print(module, out);
    return status;
}

static bool known(const char *command)
{
    static const char *const commands[] = {"text", "json", "json4", "read",
                                           "dot",  "verify", "group", "loops"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(command, commands[i]) == 0)
            return true;
    }
    return false;
}

static void run(const test_case *c, pdm_buf *out)
{
    pdm_diag_sink sink = {.fn = hear, .user = out, .verbose = true};
    pdm_ir_context *context = NULL;
    pdm_ir_module *module = NULL;

    pdm_status status = pdm_ir_context_create(&context);
    if (status == PDM_OK)
        status =
            strcmp(c->command, "read") == 0
                ? pdm_ir_json_read(context, c->input, c->input_size, "input", &sink, &module, NULL)
                : pdm_ir_parse(context, c->input, c->input_size, "input", &sink, &module);
    if (status == PDM_OK)
        status = show(module, c->command, &sink, out);
    if (status != PDM_OK)
        pdm_buf_printf(out, "status: %s\n", pdm_status_text(status));
    if (out->size && out->data[out->size - 1] != '\n')
        pdm_buf_putc(out, '\n');
    if (module)
        pdm_ir_module_destroy(module);
    if (context)
        pdm_ir_context_destroy(context);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *line_end(const char *p)
{
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

/* The first line from p on that begins with mark, or the end of the text. */
static const char *find_line(const char *p, const char *mark)
{
    while (*p && strncmp(p, mark, strlen(mark)) != 0)
        p = line_end(p);
    return p;
}

/* Read the case at *at and move on; false at the end. The strings are the caller's. */
static bool next_case(const char **at, test_case *out)
{
    const char *p = find_line(*at, "=== ");

    if (!*p)
        return false;
    *out = (test_case){.header = p, .header_size = (size_t)(line_end(p) - p)};
    out->title = strndup(p + 4, strcspn(p + 4, "\n"));
    char *colon = out->title ? strrchr(out->title, ':') : NULL;
    if (colon)
        *colon = '\0';
    out->command = strdup(colon ? colon + 1 + strspn(colon + 1, " ") : "");
    out->input = p + out->header_size;
    p = find_line(out->input, "---");
    out->input_size = (size_t)(p - out->input);
    out->expected = *p ? line_end(p) : p;
    *at = find_line(out->expected, "=== ");
    out->expected_size = (size_t)(*at - out->expected);
    while (out->expected_size > 1 && out->expected[out->expected_size - 1] == '\n' &&
           out->expected[out->expected_size - 2] == '\n')
        out->expected_size--;
    if (out->expected_size == 1 && out->expected[0] == '\n')
        out->expected_size = 0;
    return out->title && out->command;
}

static void note(const char *what, const char *text, size_t size)
{
    printf("# %s:\n", what);
    for (const char *p = text; p < text + size;) {
        const char *end = memchr(p, '\n', (size_t)(text + size - p));
        const size_t length = (size_t)((end ? end : text + size) - p);
        printf("#   %.*s\n", (int)length, p);
        p += length + 1;
    }
}

static bool write_file(const char *path, const pdm_buf *text)
{
    FILE *file = fopen(path, "wb");
    const bool good = file && fwrite(text->data, 1, text->size, file) == text->size;

    return file && fclose(file) == 0 && good;
}

typedef struct tally {
    int count, failed;
} tally;

/* A point a case; with updated the file's new text is gathered there instead. */
static void run_case(const char *name, const test_case *c, tally *t, pdm_buf *updated)
{
    pdm_buf out;

    pdm_buf_init(&out);
    if (known(c->command))
        run(c, &out);
    const bool good = known(c->command) && out.size == c->expected_size &&
                      (out.size == 0 || memcmp(out.data, c->expected, out.size) == 0);
    printf("%sok %d - %s: %s\n", good || updated ? "" : "not ", ++t->count, name, c->title);
    if (updated) {
        pdm_buf_put(updated, c->header, c->header_size);
        pdm_buf_put(updated, c->input, c->input_size);
        pdm_buf_puts(updated, "---\n");
        pdm_buf_put(updated, out.data, out.size);
        pdm_buf_putc(updated, '\n');
    } else if (!good) {
        t->failed++;
        if (!known(c->command))
            printf("# unknown command \"%s\"\n", c->command);
        note("got", out.data ? out.data : "", out.size);
        note("expected", c->expected, c->expected_size);
    }
    pdm_buf_deinit(&out);
}

static void run_file(const char *path, bool update, tally *t)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *text = NULL;
    size_t size;
    pdm_buf updated;
    test_case c;

    if (pdm_file_read(path, 1 << 24, NULL, &text, &size) != PDM_OK) {
        printf("not ok %d - %s can be read\n", ++t->count, name);
        t->failed++;
        return;
    }
    const char *at = find_line(text, "=== ");
    pdm_buf_init(&updated);
    pdm_buf_put(&updated, text, (size_t)(at - text));
    while (next_case(&at, &c)) {
        run_case(name, &c, t, update ? &updated : NULL);
        free(c.title);
        free(c.command);
    }
    if (update) {
        /* One blank line between cases, none at the end. */
        if (updated.size)
            updated.size--;
        if (!write_file(path, &updated)) {
            printf("# cannot write %s\n", path);
            t->failed++;
        }
    }
    pdm_buf_deinit(&updated);
    free(text);
}

int main(int argc, char **argv)
{
    bool update = false;
    tally t = {0};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--update") == 0)
            update = true;
        else
            run_file(argv[i], update, &t);
    }
    printf("1..%d\n", t.count);
    return t.failed || t.count == 0;
}
