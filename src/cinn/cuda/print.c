/*
 * CUDA C. The text is also C when a header stands for the grid (tests/tools/cuda_emulator.h), so
 * that it can be run where there is no GPU: no templates, no overloading.
 *
 * A nest is a kernel. A parallel loop is shared by all threads of the grid; whatever else is done by
 * one thread. Each value has a name, so that what is shared is calculated once. It is meant to be
 * compiled without contraction of floats (--fmad=false).
 */
#include "cinn/cuda/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct printer {
    const pdm_loop_fn *fn;
    pdm_buf *out;
    unsigned depth;
    bool *named;   /* by expression: its value has a name here */
    uint32_t *log; /* those, in order */
    size_t num_logged;
} printer;

/* ---- names ----------------------------------------------------------------------------------- */

static const char *type_name(pdm_dtype dtype)
{
    switch ((int)dtype) {
    case PDM_BOOL:
        return "bool";
    case PDM_I8:
        return "signed char";
    case PDM_U8:
        return "unsigned char";
    case PDM_I16:
        return "short";
    case PDM_I32:
        return "int";
    case PDM_F32:
        return "float";
    case PDM_F64:
        return "double";
    default:
        return "long long";
    }
}

static const char *unsigned_name(pdm_dtype dtype)
{
    switch ((int)dtype) {
    case PDM_I8:
    case PDM_U8:
        return "unsigned char";
    case PDM_I16:
        return "unsigned short";
    case PDM_I32:
        return "unsigned int";
    default:
        return "unsigned long long";
    }
}

static bool is_leaf(const pdm_loop_expr *e)
{
    return e->kind == PDM_LOOP_CONST || e->kind == PDM_LOOP_VAR || e->kind == PDM_LOOP_SYMBOL;
}

static void number(const pdm_loop_expr *e, pdm_buf *out)
{
    const bool single = e->dtype == PDM_F32;

    if (!pdm_dtype_is_float(e->dtype)) {
        if (e->u.i == INT64_MIN)
            pdm_buf_puts(out, "(-9223372036854775807LL - 1)");
        else if (e->dtype == PDM_I32 && e->u.i == INT32_MIN)
            pdm_buf_puts(out, "(-2147483647 - 1)");
        else
            pdm_buf_i64(out, e->u.i);
        if ((e->dtype == PDM_I64 || e->dtype == PDM_INDEX) && e->u.i != INT64_MIN)
            pdm_buf_puts(out, "LL");
    } else if (isnan(e->u.f)) {
        pdm_buf_puts(out, single ? "__int_as_float(0x7fc00000)"
                                 : "__longlong_as_double(0x7ff8000000000000LL)");
    } else if (isinf(e->u.f)) {
        pdm_buf_puts(out, e->u.f < 0 ? "-" : "");
        pdm_buf_puts(out, single ? "__int_as_float(0x7f800000)"
                                 : "__longlong_as_double(0x7ff0000000000000LL)");
    } else {
        pdm_buf_double(out, e->u.f);
        pdm_buf_puts(out, single ? "f" : "");
    }
}

static void name(const pdm_loop_expr *e, pdm_buf *out)
{
    switch (e->kind) {
    case PDM_LOOP_CONST:
        number(e, out);
        break;
    case PDM_LOOP_VAR:
        pdm_buf_printf(out, "i%u", e->u.index);
        break;
    case PDM_LOOP_SYMBOL:
        pdm_buf_printf(out, "s%u", e->u.index);
        break;
    case PDM_LOOP_LOAD:
    case PDM_LOOP_UNARY:
    case PDM_LOOP_BINARY:
    case PDM_LOOP_SELECT:
    case PDM_LOOP_CAST:
        pdm_buf_printf(out, "v%u", e->id);
        break;
    }
}

static void indent(printer *p)
{
    for (unsigned i = 0; i < p->depth; i++)
        pdm_buf_puts(p->out, "    ");
}

/* ---- values ---------------------------------------------------------------------------------- */

/* template: $0 to $2 are the operands, $T the type, $U its unsigned form, $F the suffix of functions
 * of floats. */
static void fill(printer *p, const pdm_loop_expr *e, const char *pattern)
{
    const pdm_dtype dtype = e->num_args ? e->args[e->num_args - 1]->dtype : e->dtype;

    for (const char *c = pattern; *c; c++) {
        if (*c != '$') {
            pdm_buf_putc(p->out, *c);
            continue;
        }
        c++;
        if (*c == 'T')
            pdm_buf_puts(p->out, type_name(e->dtype));
        else if (*c == 'U')
            pdm_buf_puts(p->out, unsigned_name(dtype));
        else if (*c == 'F')
            pdm_buf_puts(p->out, dtype == PDM_F32 ? "f" : "");
        else
            name(e->args[*c - '0'], p->out);
    }
}

static void unary(printer *p, const pdm_loop_expr *e)
{
    const bool is_float = pdm_dtype_is_float(e->args[0]->dtype);

    switch ((int)e->op) {
    case PDM_LOOP_NEG:
        fill(p, e, is_float ? "-$0" : "($T)(0 - ($U)$0)");
        break;
    case PDM_LOOP_NOT:
        fill(p, e, "!$0");
        break;
    case PDM_LOOP_INVERT:
        fill(p, e, "($T)~$0");
        break;
    case PDM_LOOP_ABS:
        fill(p, e, is_float ? "fabs$F($0)" : "$0 < 0 ? ($T)(0 - ($U)$0) : $0");
        break;
    case PDM_LOOP_ROUND:
        fill(p, e, "rint$F($0)");
        break;
    case PDM_LOOP_SIGMOID:
        fill(p, e, e->dtype == PDM_F32 ? "1.0f / (1.0f + expf(-$0))" : "1.0 / (1.0 + exp(-$0))");
        break;
    case PDM_LOOP_BITS:
        fill(p, e, e->dtype == PDM_F32 ? "__int_as_float($0)" : "__float_as_int($0)");
        break;
    default:
        pdm_buf_puts(p->out, pdm_loop_op_text(e->op));
        fill(p, e, "$F($0)");
    }
}

static void binary(printer *p, const pdm_loop_expr *e)
{
    const pdm_dtype dtype = e->args[0]->dtype;
    const bool is_float = pdm_dtype_is_float(dtype);
    const bool is_index = dtype == PDM_INDEX, wraps = !is_float && !is_index && dtype != PDM_BOOL;
    char pattern[32] = "$0 ? $1";

    switch ((int)e->op) {
    case PDM_LOOP_MIN:
        fill(p, e, "$0 < $1 ? $0 : $1");
        return;
    case PDM_LOOP_MAX:
        fill(p, e, "$0 > $1 ? $0 : $1");
        return;
    case PDM_LOOP_POW:
    case PDM_LOOP_ATAN2:
        pdm_buf_puts(p->out, pdm_loop_op_text(e->op));
        fill(p, e, "$F($0, $1)");
        return;
    case PDM_LOOP_DIV:
        if (!is_float && !is_index) {
            fill(p, e, "$1 == 0 ? 0 : $1 == ($T)-1 && ($T)-1 < 0 ? ($T)(0 - ($U)$0) : ($T)($0 / $1)");
            return;
        }
        break;
    case PDM_LOOP_MOD:
        if (is_float) {
            fill(p, e, "fmod$F($0, $1)");
            return;
        }
        if (!is_index) {
            fill(p, e, "$1 == 0 || ($1 == ($T)-1 && ($T)-1 < 0) ? 0 : ($T)($0 % $1)");
            return;
        }
        break;
    case PDM_LOOP_ADD:
        if (wraps) {
            fill(p, e, "($T)(($U)$0 + ($U)$1)");
            return;
        }
        break;
    case PDM_LOOP_SUB:
        if (wraps) {
            fill(p, e, "($T)(($U)$0 - ($U)$1)");
            return;
        }
        break;
    case PDM_LOOP_MUL:
        if (wraps) {
            fill(p, e, "($T)(1ULL * ($U)$0 * ($U)$1)");
            return;
        }
        break;
    case PDM_LOOP_SHL:
        fill(p, e, "($T)(($U)$0 << $1)");
        return;
    default:
        break;
    }
    snprintf(pattern, sizeof pattern, "$0 %s $1", pdm_loop_op_text(e->op));
    fill(p, e, pattern);
}

/* The smallest integer for what does not fit; narrow types take the low bits of an int. */
static void cast(printer *p, const pdm_loop_expr *e)
{
    const pdm_dtype from = e->args[0]->dtype;

    if (e->dtype == PDM_BOOL)
        fill(p, e, "$0 != 0");
    else if (!pdm_dtype_is_float(from) || pdm_dtype_is_float(e->dtype))
        fill(p, e, "($T)$0");
    else if (e->dtype == PDM_I64 || e->dtype == PDM_INDEX)
        fill(p, e, "$0 >= -9223372036854775808.0 && $0 < 9223372036854775808.0 ? (long long)$0 : "
                   "(-9223372036854775807LL - 1)");
    else
        fill(p, e, "($T)((double)$0 > -2147483649.0 && (double)$0 < 2147483648.0 ? (int)$0 : "
                   "(-2147483647 - 1))");
}

/* Values get new names from here on: those that are there belong to a block around, or what they were
 * loaded from was stored to. */
static void forget(printer *p)
{
    while (p->num_logged > 0)
        p->named[p->log[--p->num_logged]] = false;
}

/* Give the value of an expression a name, after those of its operands. */
static void define(printer *p, const pdm_loop_expr *e)
{
    if (is_leaf(e) || p->named[e->id])
        return;
    for (uint32_t i = 0; i < e->num_args; i++)
        define(p, e->args[i]);
    p->named[e->id] = true;
    p->log[p->num_logged++] = e->id;
    indent(p);
    pdm_buf_printf(p->out, "const %s v%u = ", type_name(e->dtype), e->id);
    switch (e->kind) {
    case PDM_LOOP_LOAD:
        pdm_buf_puts(p->out, p->fn->buffers.v[e->u.index].name);
        fill(p, e, "[$0]");
        break;
    case PDM_LOOP_UNARY:
        unary(p, e);
        break;
    case PDM_LOOP_BINARY:
        binary(p, e);
        break;
    case PDM_LOOP_SELECT:
        fill(p, e, "$0 ? $1 : $2");
        break;
    case PDM_LOOP_CAST:
        cast(p, e);
        break;
    case PDM_LOOP_CONST:
    case PDM_LOOP_VAR:
    case PDM_LOOP_SYMBOL:
        break;
    }
    pdm_buf_puts(p->out, ";\n");
}

/* ---- statements ------------------------------------------------------------------------------ */

static void statements(printer *p, const pdm_loop_stmt *stmt);

static void open_block(printer *p)
{
    indent(p);
    pdm_buf_puts(p->out, "{\n");
    p->depth++;
    forget(p);
}

static void close_block(printer *p)
{
    p->depth--;
    indent(p);
    pdm_buf_puts(p->out, "}\n");
    forget(p);
}

static void loop(printer *p, const pdm_loop_stmt *stmt, bool parallel)
{
    const bool block = !is_leaf(stmt->extent);

    if (block) {
        open_block(p);
        define(p, stmt->extent);
    }
    indent(p);
    pdm_buf_printf(p->out, "for (long long i%u = ", stmt->var);
    pdm_buf_puts(p->out, parallel ? "blockIdx.x * (long long)blockDim.x + threadIdx.x" : "0");
    pdm_buf_printf(p->out, "; i%u < ", stmt->var);
    name(stmt->extent, p->out);
    pdm_buf_printf(p->out, "; i%u += ", stmt->var);
    pdm_buf_puts(p->out, parallel ? "(long long)gridDim.x * blockDim.x) {\n" : "1) {\n");
    p->depth++;
    forget(p);
    statements(p, stmt->body);
    close_block(p);
    if (block)
        close_block(p);
}

/* In braces: what is loaded again after a store has a name of its own there. */
static void store(printer *p, const pdm_loop_stmt *stmt)
{
    open_block(p);
    define(p, stmt->value);
    define(p, stmt->indices[0]);
    indent(p);
    pdm_buf_printf(p->out, "%s[", p->fn->buffers.v[stmt->buffer].name);
    name(stmt->indices[0], p->out);
    pdm_buf_puts(p->out, "] = ");
    name(stmt->value, p->out);
    pdm_buf_puts(p->out, ";\n");
    close_block(p);
}

static void guarded(printer *p, const pdm_loop_stmt *stmt)
{
    open_block(p);
    define(p, stmt->value);
    indent(p);
    pdm_buf_puts(p->out, "if (");
    name(stmt->value, p->out);
    pdm_buf_puts(p->out, ") {\n");
    p->depth++;
    forget(p);
    statements(p, stmt->body);
    close_block(p);
    close_block(p);
}

static void statements(printer *p, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR)
            loop(p, stmt, false);
        else if (stmt->kind == PDM_LOOP_IF)
            guarded(p, stmt);
        else
            store(p, stmt);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void parameters(printer *p)
{
    for (size_t i = 0; i < p->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &p->fn->buffers.v[i];
        pdm_buf_printf(p->out, "%s%s%s *__restrict__ %s", i ? ", " : "",
                       b->role == PDM_LOOP_INPUT ? "const " : "", type_name(b->dtype), b->name);
    }
    for (size_t i = 0; i < p->fn->symbols.n; i++)
        pdm_buf_printf(p->out, ", long long s%zu", i);
}

static void kernel(printer *p, const char *prefix, const pdm_loop_stmt *nest,
                   unsigned number_of_nest)
{
    const bool parallel = nest->kind == PDM_LOOP_FOR && nest->mark == PDM_LOOP_PARALLEL;

    pdm_buf_printf(p->out, "%sPDM_KERNEL %s_%u(", number_of_nest ? "\n" : "", prefix,
                   number_of_nest);
    parameters(p);
    pdm_buf_puts(p->out, ")\n{\n");
    p->depth = 1;
    forget(p);
    if (!parallel) {
        indent(p);
        pdm_buf_puts(p->out, "if (blockIdx.x != 0 || threadIdx.x != 0)\n        return;\n");
    }
    if (nest->kind == PDM_LOOP_FOR)
        loop(p, nest, parallel);
    else
        store(p, nest);
    pdm_buf_puts(p->out, "}\n");
}

void pdm_cinn_cuda_prologue(pdm_buf *out)
{
    pdm_buf_puts(out, "#ifdef __cplusplus\n#define PDM_KERNEL extern \"C\" __global__ void\n#else\n"
                      "#define PDM_KERNEL __global__ void\n#endif\n");
}

pdm_status pdm_cinn_cuda_print(const pdm_loop_fn *fn, const char *prefix, pdm_buf *out)
{
    printer p = {.fn = fn, .out = out};
    unsigned number_of_nest = 0;

    if (!fn->flat || fn->status != PDM_OK)
        return PDM_INTERNAL;
    p.named = calloc(fn->num_exprs + 1, sizeof *p.named);
    p.log = calloc(fn->num_exprs + 1, sizeof *p.log);
    const pdm_status status = p.named && p.log ? PDM_OK : PDM_NOMEM;
    for (const pdm_loop_stmt *nest = fn->body; status == PDM_OK && nest; nest = nest->next)
        kernel(&p, prefix, nest, number_of_nest++);
    free(p.named);
    free(p.log);
    return status == PDM_OK && !pdm_buf_ok(out) ? PDM_NOMEM : status;
}
