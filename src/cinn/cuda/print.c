/*
 * CUDA C. The text is also C when a header stands for the grid (tests/tools/cuda_emulator.h), so
 * that it can be run where there is no GPU: no templates, no overloading, elements by macros that can
 * look at what is accessed.
 *
 * A nest is a kernel. Those who run a statement together are a team: all threads of the block at first,
 * and in a loop over threads those with the same number in its dimension. A team comes to the same
 * places together, since it waits there for all of it: a barrier for a block, a meeting of a warp. Where
 * neither is all of the team, the block goes along, and conditions become predicates of what is
 * stored. What has no loop over threads in it is done by the first of the team. Each value has a
 * name, so that what is shared is calculated once. It is meant to be compiled without contraction
 * of floats (--fmad=false).
 */
#include "cinn/cuda/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "cinn/depend.h"
#include "cinn/gpu.h"

enum { X = 1, DIMS = 3 }; /* of threads, as bits: x is 1 */

/* Who runs a statement. */
typedef struct team {
    unsigned dims;      /* with any number in those */
    unsigned bound;     /* and with a certain one in these */
    unsigned predicate; /* number of a variable; 0: all of them do it */
} team;

typedef struct printer {
    const pdm_loop_fn *fn;
    pdm_buf *out;
    bool narrow; /* indices have 32 bits */
    uint32_t threads[DIMS];
    team team;
    unsigned depth, num_sums, num_predicates;
    bool met; /* the team waited for all of it, and did nothing since */
    bool *named;   /* by expression: its value has a name here */
    uint32_t *log; /* those, in order */
    size_t num_logged;
} printer;

/* ---- names ----------------------------------------------------------------------------------- */

static const char *index_type(const printer *p)
{
    return p->narrow ? "int" : "long long";
}

static const char *type_name(pdm_dtype dtype)
{
    switch ((int)dtype) {
    case PDM_F16:
    case PDM_BF16:
        return "unsigned short";
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

static const char *type_of(const printer *p, pdm_dtype dtype)
{
    return dtype == PDM_INDEX ? index_type(p) : type_name(dtype);
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

static void number(const printer *p, const pdm_loop_expr *e)
{
    pdm_buf *out = p->out;
    const bool single = e->dtype == PDM_F32;

    if (!pdm_dtype_is_float(e->dtype)) {
        if (e->u.i == INT64_MIN)
            pdm_buf_puts(out, "(-9223372036854775807LL - 1)");
        else if (e->dtype == PDM_I32 && e->u.i == INT32_MIN)
            pdm_buf_puts(out, "(-2147483647 - 1)");
        else
            pdm_buf_i64(out, e->u.i);
        if ((e->dtype == PDM_I64 || (e->dtype == PDM_INDEX && !p->narrow)) && e->u.i != INT64_MIN)
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

static void name(const printer *p, const pdm_loop_expr *e)
{
    pdm_buf *out = p->out;

    switch (e->kind) {
    case PDM_LOOP_CONST:
        number(p, e);
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
    case PDM_LOOP_FMA:
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
            pdm_buf_puts(p->out, type_of(p, e->dtype));
        else if (*c == 'U')
            pdm_buf_puts(p->out, unsigned_name(dtype));
        else if (*c == 'F')
            pdm_buf_puts(p->out, dtype == PDM_F32 ? "f" : "");
        else
            name(p, e->args[*c - '0']);
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

    if (from == PDM_F16 || from == PDM_BF16)
        fill(p, e, from == PDM_F16 ? "pdm_half_to_float($0)" : "pdm_bfloat_to_float($0)");
    else if (e->dtype == PDM_F16 || e->dtype == PDM_BF16)
        fill(p, e, e->dtype == PDM_F16 ? "pdm_float_to_half($0)" : "pdm_float_to_bfloat($0)");
    else if (e->dtype == PDM_BOOL)
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
    pdm_buf_printf(p->out, "const %s v%u = ", type_of(p, e->dtype), e->id);
    switch (e->kind) {
    case PDM_LOOP_LOAD:
        pdm_buf_printf(p->out, "PDM_LOAD(%s", p->fn->buffers.v[e->u.index].name);
        fill(p, e, ", $0)");
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
    case PDM_LOOP_FMA:
        fill(p, e, e->dtype == PDM_F32 ? "fmaf($0, $1, $2)" : "fma($0, $1, $2)");
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
static void turn(printer *p, const pdm_loop_stmt *loop);

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

/* Up to the brace. The condition has a name. */
static void if_named(printer *p, const pdm_loop_expr *condition)
{
    indent(p);
    pdm_buf_puts(p->out, "if (");
    name(p, condition);
    pdm_buf_puts(p->out, ") {\n");
    p->depth++;
    forget(p);
}

static void line(printer *p, const char *text)
{
    indent(p);
    pdm_buf_puts(p->out, text);
    pdm_buf_putc(p->out, '\n');
}

static char letter_of(pdm_loop_mark mark)
{
    return "xyz"[(mark - PDM_LOOP_BLOCK_X) % DIMS];
}

static bool is_warp(const printer *p)
{
    return p->team.dims == X && p->threads[0] == PDM_CINN_WARP;
}

/* Whether the rest of the block has to come along. */
static bool is_part(const printer *p)
{
    return p->team.dims != 0 && p->team.bound != 0 && !is_warp(p);
}

static bool has_threads(const pdm_loop_stmt *stmt)
{
    if (pdm_loop_is_thread(stmt))
        return true;
    for (const pdm_loop_stmt *inner = stmt->body; inner; inner = inner->next) {
        if (has_threads(inner))
            return true;
    }
    return false;
}

/* Up to the brace of its body. The extent has a name. */
static void loop_head(printer *p, const pdm_loop_stmt *stmt, const char *begin, const char *step)
{
    indent(p);
    pdm_buf_printf(p->out, "for (%s i%u = %s; ", index_type(p), stmt->var, begin);
    if (p->team.predicate != 0)
        pdm_buf_printf(p->out, "on%u && ", p->team.predicate);
    pdm_buf_printf(p->out, "i%u < ", stmt->var);
    name(p, stmt->extent);
    pdm_buf_printf(p->out, "; i%u += %s) {\n", stmt->var, step);
    p->depth++;
    forget(p);
}

static void thread_head(printer *p, const pdm_loop_stmt *stmt)
{
    char begin[32], step[16];

    snprintf(begin, sizeof begin, "(int)threadIdx.%c", letter_of(stmt->mark));
    snprintf(step, sizeof step, "%u", (unsigned)p->threads[stmt->mark - PDM_LOOP_THREAD_X]);
    loop_head(p, stmt, begin, step);
}

/* The team waits until all of it have come here, and sees then what each of it stored. */
static void meet(printer *p)
{
    if (p->team.dims != 0 && !p->met)
        line(p, is_warp(p) ? "__syncwarp(0xffffffffu);" : "__syncthreads();");
    p->met = true;
}

/* What follows is done by the first of the team. */
static void only_first(printer *p)
{
    const char *between = "if (";

    if (p->team.dims == 0 && p->team.predicate == 0)
        return;
    indent(p);
    if (p->team.predicate != 0) {
        pdm_buf_printf(p->out, "if (on%u", p->team.predicate);
        between = " && ";
    }
    for (unsigned d = 0; d < DIMS; d++) {
        if (!(p->team.dims >> d & 1U))
            continue;
        pdm_buf_printf(p->out, "%sthreadIdx.%c == 0", between, "xyz"[d]);
        between = " && ";
    }
    pdm_buf_puts(p->out, ")\n");
}

static void element(printer *p, const pdm_loop_stmt *stmt)
{
    indent(p);
    pdm_buf_printf(p->out, "PDM_STORE(%s, ", p->fn->buffers.v[stmt->buffer].name);
    name(p, stmt->indices[0]);
    pdm_buf_puts(p->out, ", ");
}

/* In braces: what is loaded again after a store has a name of its own there. */
static void store(printer *p, const pdm_loop_stmt *stmt)
{
    open_block(p);
    define(p, stmt->value);
    define(p, stmt->indices[0]);
    element(p, stmt);
    name(p, stmt->value);
    pdm_buf_puts(p->out, ");\n");
    close_block(p);
}

/* ---- reductions by a team -------------------------------------------------------------------- */

static void start_value(printer *p, pdm_cinn_reduction_kind kind, pdm_dtype dtype)
{
    const bool largest = kind == PDM_CINN_REDUCE_MAX || kind == PDM_CINN_REDUCE_MAX_NAN;

    if (kind == PDM_CINN_REDUCE_ADD || kind == PDM_CINN_REDUCE_MUL)
        pdm_buf_puts(p->out, kind == PDM_CINN_REDUCE_ADD ? "0" : "1");
    else if (pdm_dtype_is_float(dtype))
        pdm_buf_printf(p->out, "%s%s", largest ? "-" : "",
                       dtype == PDM_F32 ? "__int_as_float(0x7f800000)"
                                        : "__longlong_as_double(0x7ff0000000000000LL)");
    else if (dtype == PDM_I32)
        pdm_buf_puts(p->out, largest ? "(-2147483647 - 1)" : "2147483647");
    else
        pdm_buf_puts(p->out, largest ? "(-9223372036854775807LL - 1)" : "9223372036854775807LL");
}

/* sum becomes what it is with another value taken in. pattern: $0 the sum, $1 the value. */
static void take_in(printer *p, const pdm_loop_stmt *stmt, pdm_cinn_reduction_kind kind,
                    unsigned sum, const char *value)
{
    static const char *const floats[] = {
        "$0 + $1",          "$0 * $1", "$1 > $0 ? $1 : $0", "$1 < $0 ? $1 : $0",
        "$0 != $0 || $1 < $0 ? $0 : $1", "$0 != $0 || $0 < $1 ? $0 : $1"};
    static const char *const ints[] = {"($T)(($U)$0 + ($U)$1)", "($T)(($U)$0 * ($U)$1)"};
    const pdm_dtype dtype = stmt->value->dtype;
    const bool wraps = !pdm_dtype_is_float(dtype) && kind <= PDM_CINN_REDUCE_MUL;

    indent(p);
    pdm_buf_printf(p->out, "a%u = ", sum);
    for (const char *c = wraps ? ints[kind] : floats[kind]; *c; c++) {
        if (*c != '$')
            pdm_buf_putc(p->out, *c);
        else if (*++c == '0')
            pdm_buf_printf(p->out, "a%u", sum);
        else if (*c == '1')
            pdm_buf_puts(p->out, value);
        else
            pdm_buf_puts(p->out, *c == 'T' ? type_name(dtype) : unsigned_name(dtype));
    }
    pdm_buf_puts(p->out, ";\n");
}

/* All lanes of a warp get what all of them have together. */
static void over_warp(printer *p, const pdm_loop_stmt *stmt, pdm_cinn_reduction_kind kind,
                      unsigned sum)
{
    line(p, "for (int step = 16; step > 0; step /= 2) {");
    p->depth++;
    indent(p);
    pdm_buf_printf(p->out, "const %s other = __shfl_xor_sync(0xffffffffu, a%u, step);\n",
                   type_name(stmt->value->dtype), sum);
    take_in(p, stmt, kind, sum, "other");
    p->depth--;
    line(p, "}");
}

static void part(printer *p, const pdm_loop_stmt *stmt, unsigned sum, unsigned count)
{
    indent(p);
    pdm_buf_printf(p->out, "PDM_SHARED(%s, part%u, %u);\n", type_name(stmt->value->dtype), sum, count);
}

/* The first warp gets what all have together. */
static void over_block(printer *p, const pdm_loop_stmt *stmt, pdm_cinn_reduction_kind kind,
                       unsigned sum)
{
    part(p, stmt, sum, PDM_CINN_WARP);
    line(p, "if (threadIdx.x % 32 == 0)");
    indent(p);
    pdm_buf_printf(p->out, "    PDM_STORE(part%u, threadIdx.x / 32, a%u);\n", sum, sum);
    line(p, "__syncthreads();");
    line(p, "if (threadIdx.x < 32) {");
    p->depth++;
    indent(p);
    pdm_buf_printf(p->out, "a%u = ", sum);
    start_value(p, kind, stmt->value->dtype);
    pdm_buf_puts(p->out, ";\n");
    line(p, "if (threadIdx.x < blockDim.x / 32)");
    indent(p);
    pdm_buf_printf(p->out, "    a%u = PDM_LOAD(part%u, threadIdx.x);\n", sum, sum);
    over_warp(p, stmt, kind, sum);
    p->depth--;
    line(p, "}");
}

/* The first row, or plane, of threads gets what those with the same numbers have together. */
static void over_rows(printer *p, const pdm_loop_stmt *stmt, pdm_cinn_reduction_kind kind, unsigned sum,
                      unsigned dim)
{
    const unsigned x = p->threads[0], xy = x * p->threads[1];

    part(p, stmt, sum, xy * p->threads[2]);
    indent(p);
    pdm_buf_printf(p->out, "const int at%u = (int)(threadIdx.x + %u * threadIdx.y + %u * threadIdx.z);\n", sum, x, xy);
    indent(p);
    pdm_buf_printf(p->out, "PDM_STORE(part%u, at%u, a%u);\n", sum, sum, sum);
    line(p, "__syncthreads();");
    indent(p);
    pdm_buf_printf(p->out, "for (int other = 1; threadIdx.%c == 0 && other < %u; other++) {\n", "xyz"[dim],
                   (unsigned)p->threads[dim]);
    p->depth++;
    indent(p);
    pdm_buf_printf(p->out, "const %s more = PDM_LOAD(part%u, at%u + other * %u);\n", type_name(stmt->value->dtype),
                   sum, sum, dim == 1 ? x : xy);
    take_in(p, stmt, kind, sum, "more");
    p->depth--;
    line(p, "}");
}

/* Each thread takes its turns into results of its own. */
static void own_terms(printer *p, const pdm_loop_stmt *loop, unsigned first)
{
    const pdm_loop_stmt *terms = pdm_cinn_gpu_terms(loop);
    const bool guarded = terms != loop->body;
    pdm_cinn_reduction reduction;
    char value[32];

    thread_head(p, loop);
    if (guarded) {
        define(p, loop->body->value);
        if_named(p, loop->body->value);
    }
    for (const pdm_loop_stmt *s = terms; s; s = s->next, first++) {
        pdm_cinn_gpu_reduction(p->fn, s, loop->var, &reduction);
        define(p, reduction.term);
        indent(p);
        pdm_buf_printf(p->out, "const %s term%u = ", type_name(s->value->dtype), first);
        name(p, reduction.term);
        pdm_buf_puts(p->out, ";\n");
        snprintf(value, sizeof value, "term%u", first);
        take_in(p, s, reduction.kind, first, value);
    }
    if (guarded)
        close_block(p);
    close_block(p);
}

/* What all threads of the dimension have is put together; the first one takes it in. */
static void put_together(printer *p, const pdm_loop_stmt *loop, const pdm_loop_stmt *s, unsigned sum)
{
    const unsigned dim = (unsigned)(loop->mark - PDM_LOOP_THREAD_X);
    pdm_cinn_reduction reduction;

    pdm_cinn_gpu_reduction(p->fn, s, loop->var, &reduction);
    if (dim > 0)
        over_rows(p, s, reduction.kind, sum, dim);
    else
        over_warp(p, s, reduction.kind, sum);
    if (dim == 0 && p->threads[0] > PDM_CINN_WARP)
        over_block(p, s, reduction.kind, sum);
    only_first(p);
    open_block(p);
    define(p, s->indices[0]);
    indent(p);
    pdm_buf_printf(p->out, "const %s before = PDM_LOAD(%s, ", type_name(s->value->dtype),
                   p->fn->buffers.v[s->buffer].name);
    name(p, s->indices[0]);
    pdm_buf_puts(p->out, ");\n");
    take_in(p, s, reduction.kind, sum, "before");
    element(p, s);
    pdm_buf_printf(p->out, "a%u);\n", sum);
    close_block(p);
}

static void reduction_loop(printer *p, const pdm_loop_stmt *loop)
{
    const pdm_loop_stmt *terms = pdm_cinn_gpu_terms(loop);
    const unsigned first = p->num_sums;
    pdm_cinn_reduction reduction;
    unsigned sum = first;

    open_block(p);
    for (const pdm_loop_stmt *s = terms; s; s = s->next, p->num_sums++) {
        pdm_cinn_gpu_reduction(p->fn, s, loop->var, &reduction);
        indent(p);
        pdm_buf_printf(p->out, "%s a%u = ", type_name(s->value->dtype), p->num_sums);
        start_value(p, reduction.kind, s->value->dtype);
        pdm_buf_puts(p->out, ";\n");
    }
    define(p, loop->extent);
    own_terms(p, loop, first);
    for (const pdm_loop_stmt *s = terms; s; s = s->next)
        put_together(p, loop, s, sum++);
    close_block(p);
    p->met = false;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* A new predicate: the one around it, and an expression, or that a variable is below it. */
static void predicate(printer *p, const pdm_loop_expr *e, const pdm_loop_stmt *loop)
{
    const unsigned around = p->team.predicate;

    p->team.predicate = ++p->num_predicates;
    indent(p);
    pdm_buf_printf(p->out, "bool on%u = false;\n", p->team.predicate);
    if (around != 0) {
        indent(p);
        pdm_buf_printf(p->out, "if (on%u)\n", around);
    }
    open_block(p);
    define(p, e);
    indent(p);
    pdm_buf_printf(p->out, "on%u = ", p->team.predicate);
    if (loop)
        pdm_buf_printf(p->out, "i%u < ", loop->var);
    name(p, e);
    pdm_buf_puts(p->out, ";\n");
    close_block(p);
}

/* A team comes to the same decision in all of its threads, or takes it along. */
static void guarded(printer *p, const pdm_loop_stmt *stmt)
{
    const team around = p->team;
    const bool branches = !is_part(p);

    open_block(p);
    if (branches) {
        define(p, stmt->value);
    } else {
        predicate(p, stmt->value, NULL);
    }
    if (pdm_loop_has_loads(stmt->value)) { /* before what is in it stores there */
        p->met = false;
        meet(p);
    }
    if (branches)
        if_named(p, stmt->value);
    statements(p, stmt->body);
    if (branches)
        close_block(p);
    p->team = around;
    close_block(p);
}

/* What lives in a turn. */
static void own_buffers(printer *p, const pdm_loop_stmt *stmt)
{
    for (size_t i = 0; i < p->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &p->fn->buffers.v[i];
        uint64_t bytes = 0;
        if (b->scope == PDM_LOOP_GLOBAL || b->home != stmt->var || !pdm_loop_bytes(b, &bytes))
            continue;
        indent(p);
        pdm_buf_printf(p->out, "PDM_%s(%s, %s, ",
                       b->scope == PDM_LOOP_SHARED ? "SHARED" : "LOCAL", type_name(b->dtype),
                       b->name);
        pdm_buf_i64(p->out, bytes ? (int64_t)(bytes / pdm_dtype_size(b->dtype)) : 1);
        pdm_buf_puts(p->out, ");\n");
    }
}

/* A loop over threads of whom each has others with it, but no warp: all come along in all turns. Or each
 * thread has one turn. */
static void in_step(printer *p, const pdm_loop_stmt *stmt)
{
    const unsigned threads = p->threads[stmt->mark - PDM_LOOP_THREAD_X];
    const bool exact = pdm_loop_is_int(stmt->extent, threads);

    if (exact) {
        open_block(p);
    } else {
        indent(p);
        pdm_buf_printf(p->out, "for (%s from%u = 0; from%u < ", index_type(p), stmt->var, stmt->var);
        name(p, stmt->extent);
        pdm_buf_printf(p->out, "; from%u += %u) {\n", stmt->var, threads);
        p->depth++;
        forget(p);
    }
    indent(p);
    pdm_buf_printf(p->out, "const %s i%u = (int)threadIdx.%c", index_type(p), stmt->var, letter_of(stmt->mark));
    if (!exact)
        pdm_buf_printf(p->out, " + from%u", stmt->var);
    pdm_buf_puts(p->out, ";\n");
    if (!exact)
        predicate(p, stmt->extent, stmt);
}

static void head(printer *p, const pdm_loop_stmt *stmt)
{
    const unsigned dim = pdm_loop_is_thread(stmt) ? 1U << (stmt->mark - PDM_LOOP_THREAD_X) : 0;
    const char *cast = p->narrow ? "(int)" : "";
    char begin[32], step[32];

    p->team.dims &= ~dim;
    p->team.bound |= dim;
    const bool exact = dim != 0 && pdm_loop_is_int(stmt->extent, p->threads[stmt->mark - PDM_LOOP_THREAD_X]);
    if (dim != 0 && (is_part(p) || (exact && p->team.predicate == 0))) {
        in_step(p, stmt);
    } else if (dim != 0) {
        thread_head(p, stmt);
        p->team.predicate = 0;
    } else if (pdm_loop_is_block(stmt)) {
        snprintf(begin, sizeof begin, "%sblockIdx.%c", cast, letter_of(stmt->mark));
        snprintf(step, sizeof step, "%sgridDim.%c", cast, letter_of(stmt->mark));
        loop_head(p, stmt, begin, step);
    } else {
        const unsigned around = p->team.predicate;
        p->team.predicate = 0; /* in all turns */
        loop_head(p, stmt, "0", "1");
        p->team.predicate = around;
    }
}

static void loop(printer *p, const pdm_loop_stmt *stmt)
{
    const bool block = !is_leaf(stmt->extent);
    const team around = p->team;

    if (block) {
        open_block(p);
        define(p, stmt->extent);
    }
    if (stmt->mark == PDM_LOOP_UNROLL)
        pdm_buf_puts(p->out, "#pragma unroll\n");
    head(p, stmt);
    own_buffers(p, stmt);
    turn(p, stmt);
    p->team = around;
    close_block(p);
    if (block)
        close_block(p);
}

static void alone(printer *p, const pdm_loop_stmt *stmt)
{
    if (stmt->kind == PDM_LOOP_FOR)
        loop(p, stmt);
    else if (stmt->kind == PDM_LOOP_IF)
        guarded(p, stmt);
    else
        store(p, stmt);
}

static void statement(printer *p, const pdm_loop_stmt *stmt)
{
    const team around = p->team;

    if (around.dims != 0 && !has_threads(stmt) && !pdm_loop_is_block(stmt)) {
        const bool braces = stmt->kind != PDM_LOOP_STORE;
        only_first(p);
        if (braces)
            open_block(p);
        p->team = (team){.bound = around.dims | around.bound};
        alone(p, stmt);
        p->team = around;
        if (braces)
            close_block(p);
        p->met = false;
    } else if (pdm_loop_is_thread(stmt) && pdm_cinn_gpu_is_reduction(p->fn, stmt)) {
        reduction_loop(p, stmt);
    } else {
        alone(p, stmt);
        if (pdm_loop_is_thread(stmt))
            p->met = false;
    }
}

/* What one of them stored others read after the next meeting. */
static void statements(printer *p, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        statement(p, stmt);
        meet(p);
    }
}

/* Whether something in a statement is in shared memory, and each turn has the same place for it. */
static bool has_shared(const printer *p, const pdm_loop_stmt *stmt)
{
    if (pdm_loop_is_thread(stmt) && pdm_cinn_gpu_is_reduction(p->fn, stmt))
        return stmt->mark != PDM_LOOP_THREAD_X || p->threads[0] > PDM_CINN_WARP;
    for (size_t i = 0; stmt->kind == PDM_LOOP_FOR && i < p->fn->buffers.n; i++) {
        if (p->fn->buffers.v[i].scope == PDM_LOOP_SHARED && p->fn->buffers.v[i].home == stmt->var)
            return true;
    }
    for (const pdm_loop_stmt *inner = stmt->body; inner; inner = inner->next) {
        if (has_shared(p, inner))
            return true;
    }
    return false;
}

/* Turns of bound loops are independent: only those that have shared memory in common wait. */
static void turn(printer *p, const pdm_loop_stmt *loop)
{
    if (loop->mark < PDM_LOOP_BLOCK_X || has_shared(p, loop)) {
        statements(p, loop->body);
        return;
    }
    for (const pdm_loop_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        statement(p, stmt);
        if (stmt->next)
            meet(p);
    }
    p->met = true;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void parameters(printer *p)
{
    for (size_t i = 0; i < p->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &p->fn->buffers.v[i];
        if (b->scope != PDM_LOOP_GLOBAL)
            continue;
        pdm_buf_printf(p->out, "%s%s%s *__restrict__ %s", i ? ", " : "",
                       b->role == PDM_LOOP_INPUT ? "const " : "", type_name(b->dtype), b->name);
    }
    for (size_t i = 0; i < p->fn->symbols.n; i++)
        pdm_buf_printf(p->out, "%s%s s%zu", p->fn->buffers.n + i ? ", " : "", index_type(p), i);
}

static void kernel(printer *p, const char *prefix, const pdm_loop_stmt *nest,
                   unsigned number_of_nest)
{
    pdm_buf_printf(p->out, "\nPDM_KERNEL %s_%u%s(", prefix, number_of_nest, p->narrow ? "n" : "");
    parameters(p);
    pdm_buf_puts(p->out, ")\n{\n");
    p->depth = 1;
    pdm_cinn_gpu_threads(nest, p->threads);
    p->team = (team){0};
    for (unsigned d = 0; d < DIMS; d++)
        p->team.dims |= p->threads[d] > 1 ? 1U << d : 0;
    p->met = true;
    forget(p);
    statement(p, nest);
    pdm_buf_puts(p->out, "}\n");
}

void pdm_cinn_cuda_prologue(pdm_buf *out)
{
    pdm_buf_puts(
        out,
        "#ifdef __CUDACC__\n"
        "#define PDM_KERNEL extern \"C\" __global__ void\n"
        "#define PDM_LOAD(data, at) (data)[at]\n"
        "#define PDM_STORE(data, at, value) ((data)[at] = (value))\n"
        "#define PDM_SHARED(type, name, count) __shared__ type name[count]\n"
        "#define PDM_LOCAL(type, name, count) type name[count]\n"
        "static __device__ __forceinline__ float pdm_half_to_float(unsigned short bits)\n"
        "{\n"
        "    float value;\n"
        "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"(bits));\n"
        "    return value;\n"
        "}\n"
        "static __device__ __forceinline__ unsigned short pdm_float_to_half(float value)\n"
        "{\n"
        "    unsigned short bits;\n"
        "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(value));\n"
        "    return bits;\n"
        "}\n"
        "static __device__ __forceinline__ float pdm_bfloat_to_float(unsigned short bits)\n"
        "{\n"
        "    return __int_as_float((int)((unsigned)bits << 16));\n"
        "}\n"
        "static __device__ __forceinline__ unsigned short pdm_float_to_bfloat(float value)\n"
        "{\n"
        "    const unsigned bits = (unsigned)__float_as_int(value);\n"
        "    return (unsigned short)(value != value ? 0x7fc0u\n"
        "                                           : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);\n"
        "}\n"
        "#endif\n");
}

static pdm_status print(const pdm_loop_fn *fn, const char *prefix, bool narrow, pdm_buf *out)
{
    printer p = {.fn = fn, .out = out, .narrow = narrow};
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

pdm_cinn_cuda_width pdm_cinn_cuda_widths(const pdm_loop_fn *fn)
{
    if (fn->symbols.n > 0)
        return PDM_CINN_CUDA_BOTH;
    return pdm_cinn_gpu_is_narrow(fn, NULL) ? PDM_CINN_CUDA_NARROW : PDM_CINN_CUDA_WIDE;
}

pdm_status pdm_cinn_cuda_print(const pdm_loop_fn *fn, const char *prefix, pdm_cinn_cuda_width width,
                               pdm_buf *out)
{
    if (width != PDM_CINN_CUDA_NARROW)
        PDM_TRY(print(fn, prefix, false, out));
    return width == PDM_CINN_CUDA_WIDE ? PDM_OK : print(fn, prefix, true, out);
}

pdm_status pdm_cinn_cuda_print_named(const pdm_loop_fn *fn, char name[PDM_CINN_CUDA_NAME],
                                     pdm_buf *out)
{
    const pdm_cinn_cuda_width width = pdm_cinn_cuda_widths(fn);
    pdm_buf text;

    pdm_buf_init(&text);
    pdm_status status = pdm_cinn_cuda_print(fn, "k", width, &text);
    if (status == PDM_OK)
        snprintf(name, PDM_CINN_CUDA_NAME, "k%016" PRIx64,
                 pdm_hash_bytes(text.data, text.size, 0));
    pdm_buf_deinit(&text);
    return status == PDM_OK ? pdm_cinn_cuda_print(fn, name, width, out) : status;
}
