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
 * compiled (cinn/group.h), `loops` prints them with their loops, `gpu` with those of GPUs; `shapes` prints the analysis
 * of shapes; `pass LIST` runs passes with the verifier
 * after each, and prints the program, the parameters that were made and what was counted. There,
 * element i of a parameter is i + 1; of one whose name ends in `_variance` 3, in `_small` i + 1
 * quarters. Diagnostics come first, one a
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
#include "exec/constants.h"
#include "ir/pass.h"
#include "ir/pir_json.h"
#include "ir/shapes.h"
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
        status = pdm_cinn_group_print(
            grouped,
            strcmp(command, "cuda") == 0  ? PDM_CINN_AS_CUDA
            : strcmp(command, "gpu") == 0 ? PDM_CINN_AS_GPU_LOOPS
                                          : PDM_CINN_AS_LOOPS,
            out);
    pdm_ir_module_destroy(grouped);
    return status;
}

/* ---- passes ---------------------------------------------------------------------------------- */

typedef struct passes {
    const pdm_ir_module *module;
    pdm_buf counted;
} passes;

static pdm_status find_parameter(void *user, pdm_ir_op *op)
{
    const void **found = user;
    const char *name = pdm_ir_parameter_name(op);

    if (name && strcmp(name, found[0]) == 0)
        found[1] = op;
    return PDM_OK;
}

static pdm_ir_type type_of(void *user, const char *name)
{
    const passes *p = user;
    const void *found[2] = {name, NULL};

    if (pdm_ir_walk(p->module->op, PDM_IR_PRE_ORDER, find_parameter, found) != PDM_OK || !found[1])
        return NULL;
    return pdm_ir_op_result(found[1], 0)->type;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static pdm_status make_parameter(void *user, const char *name, pdm_tensor *out)
{
    const pdm_ir_type type = type_of(user, name);

    if (!type)
        return PDM_OK;
    const pdm_status status = pdm_tensor_alloc(out, type->dtype, (int)type->rank, type->dims);
    for (int64_t i = 0; status == PDM_OK && i < pdm_tensor_count(out); i++)
        pdm_set_double(out, i, ends_with(name, "_variance") ? 3
                               : ends_with(name, "_small")  ? (double)(i + 1) / 4
                                                            : (double)(i + 1));
    return status;
}

static uint64_t parameter_bytes(void *user, const char *name)
{
    const pdm_ir_type type = type_of(user, name);
    uint64_t bytes = type ? pdm_dtype_size(type->dtype) : 0;

    for (uint32_t i = 0; type && i < type->rank; i++)
        bytes *= (uint64_t)type->dims[i];
    return bytes;
}

static pdm_status count_hits(void *user, const pdm_ir_pass_stats *stats,
                             const pdm_ir_module *module)
{
    passes *p = user;

    (void)module;
    for (size_t i = 0; i < stats->hits.n; i++)
        pdm_buf_printf(&p->counted, "%s: %s %zu\n", stats->pass->name, stats->hits.v[i].name,
                       stats->hits.v[i].count);
    return PDM_OK;
}

static void print_made(const pdm_ir_module *module, const pdm_ir_constants *constants, pdm_buf *out)
{
    for (size_t i = 0; i < constants->made.n; i++) {
        const pdm_ir_made_constant *made = &constants->made.v[i];
        const void *found[2] = {made->name, NULL};
        if (pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, find_parameter, found) != PDM_OK || !found[1])
            continue;
        pdm_buf_printf(out, "%s:", made->name);
        for (int64_t k = 0; k < pdm_tensor_count(&made->tensor); k++) {
            pdm_buf_putc(out, ' ');
            pdm_buf_double(out, pdm_get_double(&made->tensor, k));
        }
        pdm_buf_putc(out, '\n');
    }
}

static pdm_status run_passes(pdm_ir_module *module, const char *list, pdm_diag_sink *sink,
                             pdm_buf *out)
{
    passes p = {.module = module};
    const pdm_ir_constant_source source = {make_parameter, parameter_bytes,
                                           pdm_exec_constants_compute, &p};
    const pdm_ir_pass_options options = {
        .source = &source, .verify = true, .after = count_hits, .user = &p};
    pdm_ir_constants constants;

    pdm_buf_init(&p.counted);
    pdm_ir_constants_init(&constants);
    const pdm_status status = pdm_ir_pass_run_list(module, list, &options, &constants, sink);
    pdm_ir_print(module, out);
    print_made(module, &constants, out);
    pdm_buf_put(out, p.counted.data, p.counted.size);
    pdm_ir_constants_deinit(&constants);
    pdm_buf_deinit(&p.counted);
    return status;
}

static pdm_status show(pdm_ir_module *module, const char *command, pdm_diag_sink *sink,
                       pdm_buf *out)
{
    const pdm_ir_json_layout layout = {.indent = strcmp(command, "json4") == 0 ? 4 : 0};
    pdm_status status = PDM_OK;

    if (strncmp(command, "json", 4) == 0)
        status = pdm_ir_json_print(module, &layout, out, sink);
    else if (strncmp(command, "pass ", 5) == 0)
        status = run_passes(module, command + 5, sink, out);
    else if (strcmp(command, "dot") == 0)
        pdm_ir_print_dot(module, out);
    else if (strcmp(command, "verify") == 0)
        status = pdm_ir_verify(module, sink);
    else if (strcmp(command, "shapes") == 0)
        status = pdm_ir_shapes_print(module, out);
    else if (strcmp(command, "group") == 0 || strcmp(command, "loops") == 0 || strcmp(command, "gpu") == 0 ||
             strcmp(command, "cuda") == 0)
        status = show_groups(module, command, sink, out);
    else
        pdm_ir_print(module, out);
    return status;
}

static bool known(const char *command)
{
    static const char *const commands[] = {"text", "json", "json4", "read",
                                           "dot",  "verify", "group", "loops",
                                           "cuda", "gpu", "shapes"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(command, commands[i]) == 0)
            return true;
    }
    return strncmp(command, "pass ", 5) == 0;
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
