/*
 * Loop IR as text that tells apart what becomes different code, and nothing else: no names, loop
 * variables by first appearance, floats in hexadecimal, each expression once. Symbols and buffers
 * keep their numbers, since a kernel takes them in that order.
 */
#include <stdlib.h>

#include "cinn/loop_ir.h"

#if UINTPTR_MAX == UINT64_MAX
/* A new member that changes code belongs into the text. */
_Static_assert(sizeof(pdm_loop_expr) == 32, "write the new member of expressions");
_Static_assert(sizeof(pdm_loop_stmt) == 72, "write the new member of statements");
_Static_assert(sizeof(pdm_loop_buffer) == 40, "write the new member of buffers");
#endif

typedef struct writer {
    const pdm_loop_fn *fn;
    pdm_buf *out;
    uint32_t *exprs; /* by id: 1 + the number in the text; 0: not written yet */
    uint32_t *vars;
    uint32_t num_exprs, num_vars;
} writer;

static uint32_t var_of(writer *w, uint32_t var)
{
    if (!w->vars[var])
        w->vars[var] = ++w->num_vars;
    return w->vars[var];
}

/* Writes what an expression needs, and itself, where that was not done. */
static void define(writer *w, const pdm_loop_expr *e)
{
    if (w->exprs[e->id])
        return;
    for (uint32_t i = 0; i < e->num_args; i++)
        define(w, e->args[i]);
    w->exprs[e->id] = ++w->num_exprs;
    pdm_buf_printf(w->out, "%u = %d %d", w->num_exprs, (int)e->kind, (int)e->dtype);
    switch (e->kind) {
    case PDM_LOOP_CONST: {
        uint64_t bits;
        memcpy(&bits, &e->u, sizeof bits);
        pdm_buf_printf(w->out, " %llx", (unsigned long long)bits);
        break;
    }
    case PDM_LOOP_VAR:
        pdm_buf_printf(w->out, " %u", var_of(w, e->u.index));
        break;
    case PDM_LOOP_SYMBOL:
    case PDM_LOOP_LOAD:
        pdm_buf_printf(w->out, " %u", e->u.index);
        break;
    case PDM_LOOP_UNARY:
    case PDM_LOOP_BINARY:
        pdm_buf_printf(w->out, " %s", pdm_loop_op_text(e->op));
        break;
    case PDM_LOOP_SELECT:
    case PDM_LOOP_FMA:
    case PDM_LOOP_CAST:
        break;
    }
    for (uint32_t i = 0; i < e->num_args; i++)
        pdm_buf_printf(w->out, " %%%u", w->exprs[e->args[i]->id]);
    pdm_buf_putc(w->out, '\n');
}

static void define_all(writer *w, const pdm_loop_expr *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        define(w, list[i]);
}

static void references(writer *w, const pdm_loop_expr *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        pdm_buf_printf(w->out, " %%%u", w->exprs[list[i]->id]);
}

static void statements(writer *w, const pdm_loop_stmt *stmt);

static void loop(writer *w, const pdm_loop_stmt *stmt)
{
    define(w, stmt->extent);
    pdm_buf_printf(w->out, "for %u %d %%%u", var_of(w, stmt->var), (int)stmt->mark,
                   w->exprs[stmt->extent->id]);
    for (const pdm_loop_note *note = stmt->notes; note; note = note->next) {
        pdm_buf_printf(w->out, " %s ", note->key);
        pdm_buf_i64(w->out, note->value);
    }
    pdm_buf_puts(w->out, " {\n");
    statements(w, stmt->body);
    pdm_buf_puts(w->out, "}\n");
}

static void condition(writer *w, const pdm_loop_stmt *stmt)
{
    define(w, stmt->value);
    pdm_buf_printf(w->out, "if %%%u {\n", w->exprs[stmt->value->id]);
    statements(w, stmt->body);
    pdm_buf_puts(w->out, "}\n");
}

static void store(writer *w, const pdm_loop_stmt *stmt)
{
    const uint32_t count = pdm_loop_num_indices(w->fn, stmt->buffer);

    define_all(w, stmt->indices, count);
    define(w, stmt->value);
    pdm_buf_printf(w->out, "store %u", stmt->buffer);
    references(w, stmt->indices, count);
    pdm_buf_printf(w->out, " = %%%u\n", w->exprs[stmt->value->id]);
}

static void statements(writer *w, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        switch (stmt->kind) {
        case PDM_LOOP_FOR:
            loop(w, stmt);
            break;
        case PDM_LOOP_IF:
            condition(w, stmt);
            break;
        case PDM_LOOP_STORE:
            store(w, stmt);
            break;
        }
    }
}

static void buffers(writer *w)
{
    for (size_t i = 0; i < w->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &w->fn->buffers.v[i];
        define_all(w, b->dims, b->rank);
        pdm_buf_printf(w->out, "buffer %d %d", (int)b->role, (int)b->dtype);
        if (b->scope != PDM_LOOP_GLOBAL)
            pdm_buf_printf(w->out, " scope %d of %u", (int)b->scope, var_of(w, b->home));
        references(w, b->dims, b->rank);
        pdm_buf_putc(w->out, '\n');
    }
}

void pdm_loop_key(const pdm_loop_fn *fn, pdm_buf *out)
{
    writer w = {.fn = fn, .out = out};

    w.exprs = calloc(fn->num_exprs + 1, sizeof *w.exprs);
    w.vars = calloc((size_t)fn->num_vars + 1, sizeof *w.vars);
    if (!w.exprs || !w.vars) {
        out->failed = true;
    } else {
        buffers(&w);
        pdm_buf_printf(out, "%s of %zu symbols\n", fn->flat ? "flat" : "nested", fn->symbols.n);
        statements(&w, fn->body);
    }
    free(w.exprs);
    free(w.vars);
}
