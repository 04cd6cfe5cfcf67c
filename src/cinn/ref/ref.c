/*
 * The reference backend: walks loop IR element by element. Floats are calculated as doubles and
 * rounded after each operation, so float32 arithmetic is exact and functions are as good as they
 * can be.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "cinn/backend.h"

typedef union number {
    int64_t i; /* bool and integers, in the width of their type */
    double f;
} number;

typedef struct machine {
    const pdm_loop_fn *fn;
    void **buffers; /* those of the caller, and room for what lives in turns of loops */
    const int64_t *symbols;
    int64_t *vars;
    number *values;   /* by expression */
    uint64_t *stamps; /* by expression: when it was calculated */
    uint64_t now;     /* counts the statements that were done */
} machine;

/* ---- memory ---------------------------------------------------------------------------------- */

static number load(const void *data, pdm_dtype dtype, int64_t at)
{
    switch ((int)dtype) {
    case PDM_BOOL:
        return (number){.i = ((const uint8_t *)data)[at] != 0};
    case PDM_U8:
        return (number){.i = ((const uint8_t *)data)[at]};
    case PDM_I8:
        return (number){.i = ((const int8_t *)data)[at]};
    case PDM_I16:
        return (number){.i = ((const int16_t *)data)[at]};
    case PDM_I32:
        return (number){.i = ((const int32_t *)data)[at]};
    case PDM_F16:
        return (number){.f = (double)pdm_f16_to_float(((const uint16_t *)data)[at])};
    case PDM_BF16:
        return (number){.f = (double)pdm_bf16_to_float(((const uint16_t *)data)[at])};
    case PDM_F32:
        return (number){.f = (double)((const float *)data)[at]};
    case PDM_F64:
        return (number){.f = ((const double *)data)[at]};
    default:
        return (number){.i = ((const int64_t *)data)[at]};
    }
}

static void store(void *data, pdm_dtype dtype, int64_t at, number v)
{
    switch ((int)dtype) {
    case PDM_BOOL:
    case PDM_U8:
    case PDM_I8:
        ((uint8_t *)data)[at] = (uint8_t)v.i;
        break;
    case PDM_I16:
        ((int16_t *)data)[at] = (int16_t)v.i;
        break;
    case PDM_I32:
        ((int32_t *)data)[at] = (int32_t)v.i;
        break;
    case PDM_F16:
        ((uint16_t *)data)[at] = pdm_float_to_f16((float)v.f);
        break;
    case PDM_BF16:
        ((uint16_t *)data)[at] = pdm_float_to_bf16((float)v.f);
        break;
    case PDM_F32:
        ((float *)data)[at] = (float)v.f;
        break;
    case PDM_F64:
        ((double *)data)[at] = v.f;
        break;
    default:
        ((int64_t *)data)[at] = v.i;
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

static number narrow(pdm_dtype dtype, number v)
{
    switch ((int)dtype) {
    case PDM_BOOL:
        v.i = v.i & 1;
        break;
    case PDM_U8:
        v.i = (uint8_t)v.i;
        break;
    case PDM_I8:
        v.i = (int8_t)v.i;
        break;
    case PDM_I16:
        v.i = (int16_t)v.i;
        break;
    case PDM_I32:
        v.i = (int32_t)v.i;
        break;
    case PDM_F16:
        v.f = (double)pdm_f16_to_float(pdm_float_to_f16((float)v.f));
        break;
    case PDM_BF16:
        v.f = (double)pdm_bf16_to_float(pdm_float_to_bf16((float)v.f));
        break;
    case PDM_F32:
        v.f = (double)(float)v.f;
        break;
    default:
        break;
    }
    return v;
}

static double float_unary(pdm_loop_op op, double a)
{
    switch (op) {
    case PDM_LOOP_NEG:
        return -a;
    case PDM_LOOP_ABS:
        return fabs(a);
    case PDM_LOOP_SQRT:
        return sqrt(a);
    case PDM_LOOP_FLOOR:
        return floor(a);
    case PDM_LOOP_CEIL:
        return ceil(a);
    case PDM_LOOP_TRUNC:
        return trunc(a);
    case PDM_LOOP_ROUND:
        return rint(a);
    case PDM_LOOP_EXP:
        return exp(a);
    case PDM_LOOP_EXPM1:
        return expm1(a);
    case PDM_LOOP_LOG:
        return log(a);
    case PDM_LOOP_LOG1P:
        return log1p(a);
    case PDM_LOOP_LOG2:
        return log2(a);
    case PDM_LOOP_LOG10:
        return log10(a);
    case PDM_LOOP_TANH:
        return tanh(a);
    case PDM_LOOP_SIGMOID:
        return 1 / (1 + exp(-a));
    case PDM_LOOP_ERF:
        return erf(a);
    case PDM_LOOP_SIN:
        return sin(a);
    case PDM_LOOP_COS:
        return cos(a);
    case PDM_LOOP_TAN:
        return tan(a);
    case PDM_LOOP_ASIN:
        return asin(a);
    case PDM_LOOP_ACOS:
        return acos(a);
    case PDM_LOOP_ATAN:
        return atan(a);
    case PDM_LOOP_SINH:
        return sinh(a);
    case PDM_LOOP_COSH:
        return cosh(a);
    case PDM_LOOP_ASINH:
        return asinh(a);
    case PDM_LOOP_ACOSH:
        return acosh(a);
    case PDM_LOOP_ATANH:
        return atanh(a);
    default:
        return NAN;
    }
}

static number bits(const pdm_loop_expr *e, number a)
{
    float f = (float)a.f;
    int32_t i = (int32_t)a.i;

    if (e->dtype == PDM_I32) {
        memcpy(&i, &f, sizeof i);
        return (number){.i = i};
    }
    memcpy(&f, &i, sizeof f);
    return (number){.f = (double)f};
}

static number unary(const pdm_loop_expr *e, number a)
{
    const bool is_float = pdm_dtype_is_float(e->args[0]->dtype);

    if (e->op == PDM_LOOP_BITS)
        return bits(e, a);
    if (is_float)
        return (number){.f = float_unary(e->op, a.f)};
    switch (e->op) {
    case PDM_LOOP_NOT:
        return (number){.i = !a.i};
    case PDM_LOOP_INVERT:
        return (number){.i = ~a.i};
    case PDM_LOOP_ABS:
        return (number){.i = a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i};
    case PDM_LOOP_NEG:
        return (number){.i = (int64_t)(0 - (uint64_t)a.i)};
    default:
        return a;
    }
}

static number float_binary(pdm_loop_op op, double a, double b)
{
    switch (op) {
    case PDM_LOOP_ADD:
        return (number){.f = a + b};
    case PDM_LOOP_SUB:
        return (number){.f = a - b};
    case PDM_LOOP_MUL:
        return (number){.f = a * b};
    case PDM_LOOP_DIV:
        return (number){.f = a / b};
    case PDM_LOOP_MOD:
        return (number){.f = fmod(a, b)};
    case PDM_LOOP_MIN:
        return (number){.f = a < b ? a : b};
    case PDM_LOOP_MAX:
        return (number){.f = a > b ? a : b};
    case PDM_LOOP_POW:
        return (number){.f = pow(a, b)};
    case PDM_LOOP_ATAN2:
        return (number){.f = atan2(a, b)};
    case PDM_LOOP_EQ:
        return (number){.i = a == b};
    case PDM_LOOP_NE:
        return (number){.i = a != b};
    case PDM_LOOP_LT:
        return (number){.i = a < b};
    case PDM_LOOP_LE:
        return (number){.i = a <= b};
    default:
        return (number){.f = NAN};
    }
}

static number int_binary(pdm_loop_op op, int64_t a, int64_t b)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;

    switch (op) {
    case PDM_LOOP_ADD:
        return (number){.i = (int64_t)(x + y)};
    case PDM_LOOP_SUB:
        return (number){.i = (int64_t)(x - y)};
    case PDM_LOOP_MUL:
        return (number){.i = (int64_t)(x * y)};
    case PDM_LOOP_DIV:
        return (number){.i = b == 0 ? 0 : b == -1 ? (int64_t)(0 - x) : a / b};
    case PDM_LOOP_MOD:
        return (number){.i = b == 0 || b == -1 ? 0 : a % b};
    case PDM_LOOP_AND:
        return (number){.i = a & b};
    case PDM_LOOP_OR:
        return (number){.i = a | b};
    case PDM_LOOP_XOR:
        return (number){.i = a ^ b};
    case PDM_LOOP_SHL:
        return (number){.i = (int64_t)(x << (y & 63))};
    case PDM_LOOP_MIN:
        return (number){.i = a < b ? a : b};
    case PDM_LOOP_MAX:
        return (number){.i = a > b ? a : b};
    case PDM_LOOP_EQ:
        return (number){.i = a == b};
    case PDM_LOOP_NE:
        return (number){.i = a != b};
    case PDM_LOOP_LT:
        return (number){.i = a < b};
    case PDM_LOOP_LE:
        return (number){.i = a <= b};
    default:
        return (number){.i = 0};
    }
}

/* As the op does it: narrow integers take the low bits of an int32. */
static number cast(const pdm_loop_expr *e, number a)
{
    const bool from_float = pdm_dtype_is_float(e->args[0]->dtype);

    if (pdm_dtype_is_float(e->dtype))
        return from_float ? a : (number){.f = e->dtype == PDM_F32 ? (double)(float)a.i : (double)a.i};
    if (e->dtype == PDM_BOOL)
        return (number){.i = from_float ? a.f != 0 : a.i != 0};
    if (!from_float)
        return a;
    if (e->dtype == PDM_I64 || e->dtype == PDM_INDEX)
        return (number){.i = a.f >= -0x1p63 && a.f < 0x1p63 ? (int64_t)a.f : INT64_MIN};
    return (number){.i = a.f > -0x1p31 - 1 && a.f < 0x1p31 ? (int64_t)a.f : INT32_MIN};
}

/* ---- expressions ----------------------------------------------------------------------------- */

static number eval(machine *m, const pdm_loop_expr *e);

static int64_t offset(machine *m, uint32_t buffer, const pdm_loop_expr *const *indices)
{
    const pdm_loop_buffer *b = &m->fn->buffers.v[buffer];
    int64_t at = m->fn->flat ? eval(m, indices[0]).i : 0;

    for (uint32_t i = 0; !m->fn->flat && i < b->rank; i++)
        at = at * pdm_loop_eval(b->dims[i], m->symbols) + eval(m, indices[i]).i;
    return at;
}

static number fused(pdm_dtype dtype, double a, double b, double c)
{
    return (number){.f = dtype == PDM_F32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c)};
}

static number calculate(machine *m, const pdm_loop_expr *e)
{
    number a, b;

    switch (e->kind) {
    case PDM_LOOP_CONST:
        return pdm_dtype_is_float(e->dtype) ? (number){.f = e->u.f} : (number){.i = e->u.i};
    case PDM_LOOP_VAR:
        return (number){.i = m->vars[e->u.index]};
    case PDM_LOOP_SYMBOL:
        return (number){.i = m->symbols[e->u.index]};
    case PDM_LOOP_LOAD:
        return load(m->buffers[e->u.index], e->dtype, offset(m, e->u.index, e->args));
    case PDM_LOOP_UNARY:
        return unary(e, eval(m, e->args[0]));
    case PDM_LOOP_BINARY:
        a = eval(m, e->args[0]);
        b = eval(m, e->args[1]);
        return pdm_dtype_is_float(e->args[0]->dtype) ? float_binary(e->op, a.f, b.f)
                                                     : int_binary(e->op, a.i, b.i);
    case PDM_LOOP_SELECT:
        a = eval(m, e->args[0]);
        return eval(m, e->args[a.i ? 1 : 2]);
    case PDM_LOOP_FMA:
        return fused(e->dtype, eval(m, e->args[0]).f, eval(m, e->args[1]).f, eval(m, e->args[2]).f);
    case PDM_LOOP_CAST:
        return cast(e, eval(m, e->args[0]));
    }
    return (number){.i = 0};
}

static number eval(machine *m, const pdm_loop_expr *e)
{
    if (m->stamps[e->id] != m->now) {
        m->values[e->id] = narrow(e->dtype, calculate(m, e));
        m->stamps[e->id] = m->now;
    }
    return m->values[e->id];
}

/* ---- statements ------------------------------------------------------------------------------ */

static void run_list(machine *m, const pdm_loop_stmt *stmt);

/* What lives in a turn begins with no value that could be mistaken for one. */
static void begin_turn(machine *m, const pdm_loop_stmt *loop)
{
    for (size_t i = 0; i < m->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &m->fn->buffers.v[i];
        uint64_t bytes = 0;
        if (b->scope != PDM_LOOP_GLOBAL && b->home == loop->var && pdm_loop_bytes(b, &bytes))
            memset(m->buffers[i], 0xff, bytes);
    }
}

static void turns(machine *m, const pdm_loop_stmt *loop, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        m->vars[loop->var] = i;
        m->now++;
        begin_turn(m, loop);
        run_list(m, loop->body);
    }
}

static void run_list(machine *m, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        m->now++;
        if (stmt->kind == PDM_LOOP_FOR) {
            turns(m, stmt, 0, eval(m, stmt->extent).i);
            continue;
        }
        if (stmt->kind == PDM_LOOP_IF) {
            if (eval(m, stmt->value).i)
                run_list(m, stmt->body);
            continue;
        }
        const number v = eval(m, stmt->value);
        store(m->buffers[stmt->buffer], stmt->value->dtype,
              offset(m, stmt->buffer, stmt->indices), v);
    }
}

static bool take_buffers(machine *m, void *const *buffers)
{
    for (size_t i = 0; i < m->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &m->fn->buffers.v[i];
        uint64_t bytes = 0;
        m->buffers[i] = b->scope == PDM_LOOP_GLOBAL ? buffers[i] : NULL;
        if (b->scope == PDM_LOOP_GLOBAL || !pdm_loop_bytes(b, &bytes))
            continue;
        m->buffers[i] = malloc(bytes + 1);
        if (!m->buffers[i])
            return false;
    }
    return true;
}

static void leave_buffers(machine *m)
{
    for (size_t i = 0; m->buffers && i < m->fn->buffers.n; i++) {
        if (m->fn->buffers.v[i].scope != PDM_LOOP_GLOBAL)
            free(m->buffers[i]);
    }
    free(m->buffers);
}

static void run_nest(machine *m, uint32_t nest, int64_t begin, int64_t end)
{
    const pdm_loop_stmt *stmt = m->fn->body;

    for (uint32_t i = 0; i < nest; i++)
        stmt = stmt->next;
    if (stmt->kind == PDM_LOOP_FOR) {
        turns(m, stmt, begin, end);
    } else {
        pdm_loop_stmt alone = *stmt;
        alone.next = NULL;
        run_list(m, &alone);
    }
}

static pdm_status run(const void *image, uint32_t nest, void *const *buffers,
                      const int64_t *symbols, int64_t begin, int64_t end)
{
    const pdm_loop_fn *fn = image;
    machine m = {.fn = fn,
                 .buffers = calloc(fn->buffers.n + 1, sizeof *m.buffers),
                 .symbols = symbols,
                 .vars = calloc((size_t)fn->num_vars + 1, sizeof *m.vars),
                 .values = calloc(fn->num_exprs + 1, sizeof *m.values),
                 .stamps = calloc(fn->num_exprs + 1, sizeof *m.stamps)};
    const bool ready =
        m.buffers && m.vars && m.values && m.stamps && take_buffers(&m, buffers);

    if (ready)
        run_nest(&m, nest, begin, end);
    leave_buffers(&m);
    free(m.vars);
    free(m.values);
    free(m.stamps);
    return ready ? PDM_OK : PDM_NOMEM;
}

static pdm_status compile(const pdm_loop_fn *fn, void **out_image)
{
    const char *fault = pdm_loop_verify(fn);

    if (fault)
        return fault == pdm_loop_no_memory ? PDM_NOMEM : PDM_INTERNAL;
    *out_image = (void *)(uintptr_t)fn;
    return PDM_OK;
}

static void destroy(void *image)
{
    (void)image;
}

const pdm_cinn_backend pdm_cinn_backend_ref = {
    .version = PDM_CINN_BACKEND_VERSION,
    .name = "ref",
    .compile = compile,
    .destroy = destroy,
    .run = run,
};
