#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"
#include "program.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void print_tensor(const char *what, const char *name, int set, const pdm_tensor *t, pdm_buf *out)
{
    char number[40];

    pdm_buf_printf(out, "// %s %s", what, name);
    if (set >= 0)
        pdm_buf_printf(out, " set %d", set);
    pdm_buf_printf(out, " = %s ", pdm_dtype_name(t->dtype));
    for (int d = 0; d < t->rank; d++)
        pdm_buf_printf(out, "%s%" PRId64, d ? "x" : "", t->dims[d]);
    pdm_buf_puts(out, t->rank ? ":" : "-:");
    for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++) {
        if (pdm_dtype_is_float(t->dtype))
            snprintf(number, sizeof number, " %.17g", pdm_get_double(t, i));
        else
            snprintf(number, sizeof number, " %" PRId64, pdm_get_int(t, i));
        pdm_buf_puts(out, number);
    }
    pdm_buf_putc(out, '\n');
}

void program_print(const program *p, const char *comments, pdm_buf *out)
{
    pdm_buf_puts(out, comments);
    for (size_t i = 0; i < p->inputs.n; i++) {
        for (int s = 0; s < p->num_sets; s++)
            print_tensor("data", p->inputs.v[i].name, s, &p->inputs.v[i].sets[s], out);
    }
    for (size_t i = 0; i < p->parameters.n; i++)
        print_tensor("parameter", p->parameters.v[i].name, -1, &p->parameters.v[i].sets[0], out);
    pdm_ir_print(p->module, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_dims(const char *text, int64_t *dims, int *rank)
{
    char *end;

    *rank = 0;
    if (!strcmp(text, "-"))
        return true;
    for (;; text = end + 1) {
        if (*rank == PDM_MAX_RANK)
            return false;
        dims[(*rank)++] = strtoll(text, &end, 10);
        if (end == text || dims[*rank - 1] < 0)
            return false;
        if (*end != 'x')
            return *end == '\0';
    }
}

static bool read_numbers(const char *text, pdm_tensor *t)
{
    for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++) {
        char *end;
        if (pdm_dtype_is_float(t->dtype))
            pdm_set_double(t, i, strtod(text, &end));
        else
            pdm_set_int(t, i, strtoll(text, &end, 10));
        if (end == text)
            return false;
        text = end;
    }
    return true;
}

static program_tensor *find(program_tensor *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(v[i].name, name))
            return &v[i];
    }
    return NULL;
}

/* A line without its end; those that tell of no tensor are passed over. */
static bool read_line(program *p, char *line)
{
    char name[64], dtype[32], dims_text[128];
    int set = 0, rank, used = 0;
    int64_t dims[PDM_MAX_RANK];

    const bool is_input = sscanf(line, "// data %63s set %d = %31s %127[^:]:%n", name, &set, dtype, dims_text, &used) == 4;
    if (!is_input && sscanf(line, "// parameter %63s = %31s %127[^:]:%n", name, dtype, dims_text, &used) != 3)
        return true;
    program_tensor *t = is_input ? find(p->inputs.v, p->inputs.n, name) : find(p->parameters.v, p->parameters.n, name);
    if (!t)
        t = is_input ? program_add_input(p, name) : program_add_parameter(p, name);
    if (!t || set < 0 || set >= PROGRAM_MAX_SETS || !read_dims(dims_text, dims, &rank) ||
        pdm_tensor_alloc(&t->sets[set], pdm_dtype_from_name(dtype), rank, dims) != PDM_OK)
        return false;
    if (set >= p->num_sets)
        p->num_sets = set + 1;
    return read_numbers(line + used, &t->sets[set]);
}

bool program_parse(program *p, const char *text, size_t size, const char *path, pdm_diag_sink *sink)
{
    *p = (program){.num_sets = 1};
    if (pdm_ir_context_create(&p->context) != PDM_OK || pdm_ir_parse(p->context, text, size, path, sink, &p->module) != PDM_OK)
        return false;
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t len = (size_t)((stop ? stop : end) - at);
        char *line = malloc(len + 1);
        if (!line)
            return false;
        memcpy(line, at, len);
        line[len] = '\0';
        const bool ok = read_line(p, line);
        free(line);
        if (!ok)
            return false;
        at += len + 1;
    }
    return true;
}
