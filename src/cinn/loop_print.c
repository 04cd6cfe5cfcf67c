/*
 * Loop IR as text, for people:
 *
 *     kernel add_relu(in x0: f32[s0, 8], out y0: f32[s0, 8]) symbols(s0 = x0.0)
 *         parallel for i0 < s0
 *             vector for i1 < 8
 *                 y0[i0, i1] = max(x0[i0, i1], 0.0)
 *
 * Temporaries that live in a turn of a loop have their scope and that loop: `local(i0) t0: f32[8]`;
 * notes stand behind the extent: `for i0 < 8 {tile = 4}`.
 */
#include <math.h>

#include "cinn/loop_ir.h"

static void list(const pdm_loop_fn *fn, const pdm_loop_expr *const *items, uint32_t count,
                 pdm_buf *out)
{
    pdm_buf_putc(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        pdm_buf_puts(out, i ? ", " : "");
        pdm_loop_print_expr(fn, items[i], out);
    }
    pdm_buf_putc(out, ']');
}

static void constant(const pdm_loop_expr *e, pdm_buf *out)
{
    if (e->dtype == PDM_BOOL)
        pdm_buf_puts(out, e->u.i ? "true" : "false");
    else if (pdm_dtype_is_float(e->dtype))
        pdm_buf_double(out, e->u.f);
    else
        pdm_buf_i64(out, e->u.i);
}

static void operand(const pdm_loop_fn *fn, const pdm_loop_expr *e, pdm_buf *out)
{
    const bool braces = e->kind == PDM_LOOP_SELECT || e->kind == PDM_LOOP_BINARY;

    pdm_buf_puts(out, braces ? "(" : "");
    pdm_loop_print_expr(fn, e, out);
    pdm_buf_puts(out, braces ? ")" : "");
}

static void binary(const pdm_loop_fn *fn, const pdm_loop_expr *e, pdm_buf *out)
{
    const bool infix = pdm_loop_op_is_infix(e->op);

    if (infix) {
        operand(fn, e->args[0], out);
        pdm_buf_printf(out, " %s ", pdm_loop_op_text(e->op));
        operand(fn, e->args[1], out);
        return;
    }
    pdm_buf_printf(out, "%s(", pdm_loop_op_text(e->op));
    pdm_loop_print_expr(fn, e->args[0], out);
    pdm_buf_puts(out, ", ");
    pdm_loop_print_expr(fn, e->args[1], out);
    pdm_buf_putc(out, ')');
}

void pdm_loop_print_expr(const pdm_loop_fn *fn, const pdm_loop_expr *e, pdm_buf *out)
{
    switch (e->kind) {
    case PDM_LOOP_CONST:
        constant(e, out);
        break;
    case PDM_LOOP_VAR:
        pdm_buf_printf(out, "i%u", e->u.index);
        break;
    case PDM_LOOP_SYMBOL:
        pdm_buf_printf(out, "s%u", e->u.index);
        break;
    case PDM_LOOP_LOAD:
        pdm_buf_puts(out, fn->buffers.v[e->u.index].name);
        list(fn, e->args, e->num_args, out);
        break;
    case PDM_LOOP_UNARY:
        pdm_buf_printf(out, "%s(", pdm_loop_op_text(e->op));
        pdm_loop_print_expr(fn, e->args[0], out);
        pdm_buf_putc(out, ')');
        break;
    case PDM_LOOP_BINARY:
        binary(fn, e, out);
        break;
    case PDM_LOOP_SELECT:
        operand(fn, e->args[0], out);
        pdm_buf_puts(out, " ? ");
        operand(fn, e->args[1], out);
        pdm_buf_puts(out, " : ");
        operand(fn, e->args[2], out);
        break;
    case PDM_LOOP_FMA:
        pdm_buf_puts(out, "fma(");
        for (uint32_t i = 0; i < 3; i++) {
            pdm_buf_puts(out, i ? ", " : "");
            pdm_loop_print_expr(fn, e->args[i], out);
        }
        pdm_buf_putc(out, ')');
        break;
    case PDM_LOOP_CAST:
        pdm_buf_printf(out, "%s(", pdm_dtype_text(e->dtype));
        pdm_loop_print_expr(fn, e->args[0], out);
        pdm_buf_putc(out, ')');
        break;
    }
}

static void loop_head(const pdm_loop_fn *fn, const pdm_loop_stmt *stmt, pdm_buf *out)
{
    pdm_buf_printf(out, "%s%sfor i%u < ", pdm_loop_mark_text(stmt->mark),
                   stmt->mark == PDM_LOOP_SERIAL ? "" : " ", stmt->var);
    pdm_loop_print_expr(fn, stmt->extent, out);
    for (const pdm_loop_note *note = stmt->notes; note; note = note->next) {
        pdm_buf_printf(out, "%s%s = ", note == stmt->notes ? " {" : ", ", note->key);
        pdm_buf_i64(out, note->value);
    }
    pdm_buf_puts(out, stmt->notes ? "}\n" : "\n");
}

static void indent(unsigned depth, pdm_buf *out)
{
    for (unsigned i = 0; i < depth; i++)
        pdm_buf_puts(out, "    ");
}

static void statements(const pdm_loop_fn *fn, const pdm_loop_stmt *stmt, unsigned depth,
                       pdm_buf *out)
{
    for (; stmt; stmt = stmt->next) {
        indent(depth, out);
        if (stmt->kind == PDM_LOOP_FOR) {
            loop_head(fn, stmt, out);
            statements(fn, stmt->body, depth + 1, out);
            continue;
        }
        if (stmt->kind == PDM_LOOP_IF) {
            pdm_buf_puts(out, "if ");
            pdm_loop_print_expr(fn, stmt->value, out);
            pdm_buf_putc(out, '\n');
            statements(fn, stmt->body, depth + 1, out);
            continue;
        }
        pdm_buf_puts(out, fn->buffers.v[stmt->buffer].name);
        list(fn, stmt->indices, pdm_loop_num_indices(fn, stmt->buffer), out);
        pdm_buf_puts(out, " = ");
        pdm_loop_print_expr(fn, stmt->value, out);
        pdm_buf_putc(out, '\n');
    }
}

void pdm_loop_print(const pdm_loop_fn *fn, pdm_buf *out)
{
    static const char *const roles[] = {"in", "out", "temp"};

    pdm_buf_printf(out, "kernel %s(", fn->name);
    for (size_t i = 0; i < fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &fn->buffers.v[i];
        pdm_buf_puts(out, i ? ", " : "");
        if (b->scope == PDM_LOOP_GLOBAL)
            pdm_buf_puts(out, roles[b->role]);
        else
            pdm_buf_printf(out, "%s(i%u)", b->scope == PDM_LOOP_LOCAL ? "local" : "shared", b->home);
        pdm_buf_printf(out, " %s: %s", b->name, pdm_dtype_text(b->dtype));
        list(fn, b->dims, b->rank, out);
    }
    pdm_buf_putc(out, ')');
    for (size_t i = 0; i < fn->symbols.n; i++) {
        const pdm_loop_symbol *symbol = &fn->symbols.v[i];
        pdm_buf_printf(out, symbol->element ? "%ss%zu = %s[%u]" : "%ss%zu = %s.%u",
                       i ? ", " : " symbols(", i, fn->buffers.v[symbol->input].name, symbol->axis);
    }
    pdm_buf_puts(out, fn->symbols.n ? ")\n" : "\n");
    statements(fn, fn->body, 1, out);
}
