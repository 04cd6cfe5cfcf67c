/* Expressions of loop IR: interning and the arithmetic of indices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "cinn/loop_ir.h"

/* ---- interning ------------------------------------------------------------------------------- */

static uint64_t hash_of(const pdm_loop_expr *e)
{
    uint64_t key[4] = {(uint64_t)e->kind | (uint64_t)e->op << 8 | (uint64_t)e->dtype << 16 |
                           (uint64_t)e->num_args << 32,
                       (uint64_t)e->u.i, 0, 0};
    uint64_t hash = pdm_hash_bytes(key, sizeof key, 0);

    for (uint32_t i = 0; i < e->num_args; i++)
        hash = pdm_hash_bytes(&e->args[i]->id, sizeof e->args[i]->id, hash);
    return hash;
}

static bool is_same(const pdm_loop_expr *a, const pdm_loop_expr *b)
{
    return a->kind == b->kind && a->op == b->op && a->dtype == b->dtype && a->u.i == b->u.i &&
           a->num_args == b->num_args &&
           memcmp(a->args, b->args, a->num_args * sizeof *a->args) == 0;
}

static bool grow(pdm_loop_fn *fn)
{
    const size_t size = fn->table_size ? 2 * fn->table_size : 256;
    const pdm_loop_expr **table = calloc(size, sizeof *table);

    if (!table)
        return false;
    for (size_t i = 0; i < fn->table_size; i++) {
        if (!fn->table[i])
            continue;
        size_t at = hash_of(fn->table[i]) & (size - 1);
        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = fn->table[i];
    }
    free(fn->table);
    fn->table = table;
    fn->table_size = size;
    return true;
}

static const pdm_loop_expr *fail(pdm_loop_fn *fn, pdm_status status)
{
    if (fn->status == PDM_OK)
        fn->status = status;
    return NULL;
}

/* The interned form of an expression; wanted may lie on the stack, its arguments follow. */
static const pdm_loop_expr *intern(pdm_loop_fn *fn, const pdm_loop_expr *wanted,
                                   const pdm_loop_expr *const *args)
{
    const size_t size = sizeof *wanted + wanted->num_args * sizeof *args;

    if (fn->status != PDM_OK)
        return NULL;
    for (uint32_t i = 0; i < wanted->num_args; i++) {
        if (!args[i])
            return fail(fn, PDM_INTERNAL);
    }
    if (fn->num_exprs >= PDM_LOOP_MAX_EXPRS)
        return fail(fn, PDM_UNSUPPORTED);
    if (2 * fn->num_exprs >= fn->table_size && !grow(fn))
        return fail(fn, PDM_NOMEM);
    pdm_loop_expr *e = pdm_arena_alloc(&fn->arena, size);
    if (!e)
        return fail(fn, PDM_NOMEM);
    memcpy(e, wanted, sizeof *wanted);
    if (wanted->num_args)
        memcpy((void *)e->args, args, wanted->num_args * sizeof *args);
    size_t at = hash_of(e) & (fn->table_size - 1);
    for (; fn->table[at]; at = (at + 1) & (fn->table_size - 1)) {
        if (is_same(fn->table[at], e))
            return fn->table[at];
    }
    e->id = (uint32_t)fn->num_exprs++;
    fn->table[at] = e;
    return e;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

const pdm_loop_expr *pdm_loop_int(pdm_loop_fn *fn, pdm_dtype dtype, int64_t value)
{
    const pdm_loop_expr e = {.kind = PDM_LOOP_CONST, .dtype = dtype, .u.i = value};

    return intern(fn, &e, NULL);
}

const pdm_loop_expr *pdm_loop_float(pdm_loop_fn *fn, pdm_dtype dtype, double value)
{
    pdm_loop_expr e = {.kind = PDM_LOOP_CONST, .dtype = dtype};

    e.u.f = dtype == PDM_F32 ? (double)(float)value : value;
    return intern(fn, &e, NULL);
}

const pdm_loop_expr *pdm_loop_index(pdm_loop_fn *fn, int64_t value)
{
    return pdm_loop_int(fn, PDM_INDEX, value);
}

/* An integer in the width of its type. */
static int64_t wrap(pdm_dtype dtype, int64_t value)
{
    switch (dtype) {
    case PDM_BOOL:
        return value != 0;
    case PDM_I8:
        return (int8_t)value;
    case PDM_U8:
        return (uint8_t)value;
    case PDM_I16:
        return (int16_t)value;
    case PDM_I32:
        return (int32_t)value;
    default:
        return value;
    }
}

const pdm_loop_expr *pdm_loop_number(pdm_loop_fn *fn, pdm_dtype dtype, double value)
{
    if (pdm_loop_is_half(dtype))
        return pdm_loop_cast(fn, dtype, pdm_loop_float(fn, PDM_F32, value));
    if (pdm_dtype_is_float(dtype))
        return pdm_loop_float(fn, dtype, value);
    if (dtype == PDM_BOOL)
        return pdm_loop_int(fn, dtype, value != 0);
    const int64_t i = isnan(value)         ? 0
                      : value >= 0x1p63    ? INT64_MAX
                      : value <= -0x1p63   ? INT64_MIN
                                           : (int64_t)value;
    return pdm_loop_int(fn, dtype, wrap(dtype, i));
}

static const pdm_loop_expr *numbered(pdm_loop_fn *fn, pdm_loop_expr_kind kind, uint32_t index)
{
    pdm_loop_expr e = {.kind = kind, .dtype = PDM_INDEX};

    e.u.i = 0;
    e.u.index = index;
    return intern(fn, &e, NULL);
}

const pdm_loop_expr *pdm_loop_var(pdm_loop_fn *fn, uint32_t var)
{
    return numbered(fn, PDM_LOOP_VAR, var);
}

const pdm_loop_expr *pdm_loop_add_symbol(pdm_loop_fn *fn, uint32_t input, uint32_t axis)
{
    const pdm_loop_symbol symbol = {.input = input, .axis = axis};

    if (fn->status != PDM_OK)
        return NULL;
    if (!PDM_VEC_PUSH(&fn->symbols, symbol))
        return fail(fn, PDM_NOMEM);
    return numbered(fn, PDM_LOOP_SYMBOL, (uint32_t)(fn->symbols.n - 1));
}

const pdm_loop_expr *pdm_loop_symbol_at(pdm_loop_fn *fn, uint32_t number)
{
    return numbered(fn, PDM_LOOP_SYMBOL, number);
}

const pdm_loop_expr *pdm_loop_load(pdm_loop_fn *fn, uint32_t buffer,
                                   const pdm_loop_expr *const *indices)
{
    if (fn->status != PDM_OK)
        return NULL;
    pdm_loop_expr e = {.kind = PDM_LOOP_LOAD,
                       .dtype = fn->buffers.v[buffer].dtype,
                       .num_args = pdm_loop_num_indices(fn, buffer)};
    e.u.i = 0;
    e.u.index = buffer;
    return intern(fn, &e, indices);
}

/* ---- index arithmetic ------------------------------------------------------------------------ */

static bool is_const(const pdm_loop_expr *e)
{
    return e->kind == PDM_LOOP_CONST;
}

static bool is_op(const pdm_loop_expr *e, pdm_loop_op op)
{
    return e->kind == PDM_LOOP_BINARY && e->op == op;
}

static bool fold(pdm_loop_op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case PDM_LOOP_ADD:
        return !__builtin_add_overflow(a, b, out);
    case PDM_LOOP_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case PDM_LOOP_MUL:
        return !__builtin_mul_overflow(a, b, out);
    case PDM_LOOP_DIV:
        *out = b > 0 ? a / b : 0;
        return b > 0;
    case PDM_LOOP_MOD:
        *out = b > 0 ? a % b : 0;
        return b > 0;
    case PDM_LOOP_MIN:
        *out = a < b ? a : b;
        return true;
    case PDM_LOOP_MAX:
        *out = a > b ? a : b;
        return true;
    default:
        return false;
    }
}

/*
 * Sums and products have one form each: a product of sums is multiplied out, terms and factors stand
 * in the order of their ids, constants last. So equal index expressions mostly are the same, and
 * what splitting a loop variable by / and % made is put together again.
 */
enum { MAX_PARTS = 16 };

typedef struct parts {
    const pdm_loop_expr *v[MAX_PARTS];
    uint32_t n;
    int64_t constant;
    bool full; /* there are too many, or the constant is too large */
} parts;

static void take_parts(parts *p, const pdm_loop_expr *e, pdm_loop_op op)
{
    if (is_const(e)) {
        p->full = p->full || !fold(op, p->constant, e->u.i, &p->constant);
    } else if (is_op(e, op)) {
        take_parts(p, e->args[0], op);
        take_parts(p, e->args[1], op);
    } else if (p->n == MAX_PARTS) {
        p->full = true;
    } else {
        uint32_t at = p->n++;
        for (; at > 0 && p->v[at - 1]->id > e->id; at--)
            p->v[at] = p->v[at - 1];
        p->v[at] = e;
    }
}

static const pdm_loop_expr *plain(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a,
                                  const pdm_loop_expr *b)
{
    const pdm_loop_expr e = {
        .kind = PDM_LOOP_BINARY, .op = op, .dtype = PDM_INDEX, .num_args = 2};

    return a && b ? intern(fn, &e, (const pdm_loop_expr *const[]){a, b}) : NULL;
}

static const pdm_loop_expr *rebuild_parts(pdm_loop_fn *fn, const parts *p, pdm_loop_op op)
{
    const int64_t neutral = op == PDM_LOOP_MUL;
    const pdm_loop_expr *e = p->n ? p->v[0] : pdm_loop_index(fn, p->constant);

    for (uint32_t i = 1; i < p->n; i++)
        e = plain(fn, op, e, p->v[i]);
    return p->n && p->constant != neutral ? plain(fn, op, e, pdm_loop_index(fn, p->constant)) : e;
}

static const pdm_loop_expr *product(pdm_loop_fn *fn, const pdm_loop_expr *a, const pdm_loop_expr *b)
{
    parts p = {.constant = 1};

    if (is_op(a, PDM_LOOP_ADD))
        return pdm_loop_binary(fn, PDM_LOOP_ADD, pdm_loop_binary(fn, PDM_LOOP_MUL, a->args[0], b),
                               pdm_loop_binary(fn, PDM_LOOP_MUL, a->args[1], b));
    if (is_op(b, PDM_LOOP_ADD))
        return product(fn, b, a);
    take_parts(&p, a, PDM_LOOP_MUL);
    take_parts(&p, b, PDM_LOOP_MUL);
    if (p.full)
        return plain(fn, PDM_LOOP_MUL, a, b);
    if (p.constant == 0)
        p.n = 0;
    return rebuild_parts(fn, &p, PDM_LOOP_MUL);
}

const pdm_loop_expr *pdm_loop_quotient(pdm_loop_fn *fn, const pdm_loop_expr *e,
                                       const pdm_loop_expr *by)
{
    parts p = {.constant = 1}, q = {.constant = 1};

    if (!e || !by)
        return NULL;
    take_parts(&p, e, PDM_LOOP_MUL);
    take_parts(&q, by, PDM_LOOP_MUL);
    if (fn->status != PDM_OK || p.full || q.full || q.constant == 0 ||
        p.constant % q.constant != 0)
        return NULL;
    p.constant /= q.constant;
    for (uint32_t i = 0; i < q.n; i++) {
        uint32_t at = 0;
        while (at < p.n && p.v[at] != q.v[i])
            at++;
        if (at == p.n)
            return NULL;
        p.n--;
        for (; at < p.n; at++)
            p.v[at] = p.v[at + 1];
    }
    return rebuild_parts(fn, &p, PDM_LOOP_MUL);
}

/* (x / m) * m * c + (x % m) * c is x * c */
static const pdm_loop_expr *join(pdm_loop_fn *fn, const pdm_loop_expr *high, const pdm_loop_expr *low)
{
    parts p = {.constant = 1};

    take_parts(&p, low, PDM_LOOP_MUL);
    for (uint32_t i = 0; !p.full && i < p.n; i++) {
        if (!is_op(p.v[i], PDM_LOOP_MOD))
            continue;
        const pdm_loop_expr *x = p.v[i]->args[0], *m = p.v[i]->args[1];
        const pdm_loop_expr *div = plain(fn, PDM_LOOP_DIV, x, m);
        const pdm_loop_expr *rest = pdm_loop_quotient(fn, low, p.v[i]);
        if (div && rest && high == pdm_loop_binary(fn, PDM_LOOP_MUL,
                                                   pdm_loop_binary(fn, PDM_LOOP_MUL, div, m), rest))
            return pdm_loop_binary(fn, PDM_LOOP_MUL, x, rest);
    }
    return NULL;
}

static const pdm_loop_expr *sum(pdm_loop_fn *fn, const pdm_loop_expr *a, const pdm_loop_expr *b)
{
    parts p = {.constant = 0};

    take_parts(&p, a, PDM_LOOP_ADD);
    take_parts(&p, b, PDM_LOOP_ADD);
    if (p.full)
        return plain(fn, PDM_LOOP_ADD, a, b);
    for (uint32_t i = 0; i < p.n; i++) {
        for (uint32_t k = 0; k < p.n; k++) {
            const pdm_loop_expr *joined = i == k ? NULL : join(fn, p.v[i], p.v[k]);
            if (!joined)
                continue;
            parts q = {.constant = p.constant};
            for (uint32_t at = 0; at < p.n; at++) {
                if (at != i && at != k)
                    take_parts(&q, p.v[at], PDM_LOOP_ADD);
            }
            return sum(fn, rebuild_parts(fn, &q, PDM_LOOP_ADD), joined);
        }
    }
    return rebuild_parts(fn, &p, PDM_LOOP_ADD);
}

/* Sort the terms of a sum by whether by divides them: whole is their quotient. */
static void divide_terms(pdm_loop_fn *fn, const pdm_loop_expr *a, const pdm_loop_expr *by,
                         const pdm_loop_expr **whole, const pdm_loop_expr **rest)
{
    parts p = {.constant = 0};

    *whole = *rest = pdm_loop_index(fn, 0);
    take_parts(&p, a, PDM_LOOP_ADD);
    if (p.full || p.constant < 0) {
        *rest = a;
        return;
    }
    for (uint32_t i = 0; i <= p.n; i++) {
        const pdm_loop_expr *term = i < p.n ? p.v[i] : pdm_loop_index(fn, p.constant);
        const pdm_loop_expr *q = term ? pdm_loop_quotient(fn, term, by) : NULL;
        if (fn->status != PDM_OK)
            return;
        if (q)
            *whole = sum(fn, *whole, q);
        else
            *rest = sum(fn, *rest, term);
    }
}

/* Indices and dims are not negative, and whoever divides divides by a dim inside of a loop over it,
 * so by more than zero. */
static const pdm_loop_expr *division(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a,
                                     const pdm_loop_expr *b)
{
    const pdm_loop_expr *whole, *rest;

    if (pdm_loop_is_int(b, 1))
        return op == PDM_LOOP_DIV ? a : pdm_loop_index(fn, 0);
    divide_terms(fn, a, b, &whole, &rest);
    if (fn->status != PDM_OK)
        return NULL;
    if (pdm_loop_is_int(rest, 0))
        return op == PDM_LOOP_DIV ? whole : rest;
    rest = plain(fn, op, rest, b);
    return op == PDM_LOOP_DIV && rest ? sum(fn, whole, rest) : rest;
}

/* What an expression is at least. */
static int64_t least(const pdm_loop_expr *e)
{
    int64_t a, b, value;

    if (is_const(e))
        return e->u.i;
    if (e->kind == PDM_LOOP_SYMBOL)
        return PDM_LOOP_LEAST_SYMBOL;
    if (!is_op(e, PDM_LOOP_ADD) && !is_op(e, PDM_LOOP_MUL))
        return INT64_MIN;
    a = least(e->args[0]);
    b = least(e->args[1]);
    if (e->op == PDM_LOOP_MUL && (a < 0 || b < 0))
        return INT64_MIN;
    return a > INT64_MIN && b > INT64_MIN && fold(e->op, a, b, &value) ? value : INT64_MIN;
}

static const pdm_loop_expr *extreme(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a,
                                    const pdm_loop_expr *b)
{
    const pdm_loop_expr *low = is_const(a) ? a : b, *high = is_const(a) ? b : a;

    if (a == b)
        return a;
    if (is_const(low) && low->u.i <= least(high))
        return op == PDM_LOOP_MIN ? low : high;
    return plain(fn, op, a, b);
}

static const pdm_loop_expr *index_binary(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a,
                                         const pdm_loop_expr *b)
{
    int64_t value;

    if (is_const(a) && is_const(b) && fold(op, a->u.i, b->u.i, &value))
        return pdm_loop_index(fn, value);
    switch (op) {
    case PDM_LOOP_ADD:
        return sum(fn, a, b);
    case PDM_LOOP_MUL:
        return product(fn, a, b);
    case PDM_LOOP_DIV:
    case PDM_LOOP_MOD:
        return division(fn, op, a, b);
    case PDM_LOOP_SUB:
        if (a == b)
            return pdm_loop_index(fn, 0);
        return is_const(b) && b->u.i != INT64_MIN ? sum(fn, a, pdm_loop_index(fn, -b->u.i))
                                                  : plain(fn, op, a, b);
    case PDM_LOOP_MIN:
    case PDM_LOOP_MAX:
        return extreme(fn, op, a, b);
    default:
        return plain(fn, op, a, b);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

const pdm_loop_expr *pdm_loop_unary(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a)
{
    if (!a)
        return fail(fn, PDM_INTERNAL);
    pdm_loop_expr e = {.kind = PDM_LOOP_UNARY, .op = op, .dtype = a->dtype, .num_args = 1};
    if (op == PDM_LOOP_BITS)
        e.dtype = a->dtype == PDM_F32 ? PDM_I32 : PDM_F32;
    return intern(fn, &e, &a);
}

const pdm_loop_expr *pdm_loop_binary(pdm_loop_fn *fn, pdm_loop_op op, const pdm_loop_expr *a,
                                     const pdm_loop_expr *b)
{
    if (!a || !b)
        return fail(fn, PDM_INTERNAL);
    if (a->dtype == PDM_INDEX && !pdm_loop_op_is_bool(op))
        return index_binary(fn, op, a, b);
    const pdm_loop_expr e = {.kind = PDM_LOOP_BINARY,
                             .op = op,
                             .dtype = pdm_loop_op_is_bool(op) ? PDM_BOOL : a->dtype,
                             .num_args = 2};
    return intern(fn, &e, (const pdm_loop_expr *const[]){a, b});
}

const pdm_loop_expr *pdm_loop_select(pdm_loop_fn *fn, const pdm_loop_expr *cond,
                                     const pdm_loop_expr *a, const pdm_loop_expr *b)
{
    if (!a || !b || !cond)
        return fail(fn, PDM_INTERNAL);
    const pdm_loop_expr e = {.kind = PDM_LOOP_SELECT, .dtype = a->dtype, .num_args = 3};
    return a == b ? a : intern(fn, &e, (const pdm_loop_expr *const[]){cond, a, b});
}

const pdm_loop_expr *pdm_loop_fma(pdm_loop_fn *fn, const pdm_loop_expr *a, const pdm_loop_expr *b,
                                  const pdm_loop_expr *c)
{
    if (!a || !b || !c)
        return fail(fn, PDM_INTERNAL);
    const pdm_loop_expr e = {.kind = PDM_LOOP_FMA, .dtype = a->dtype, .num_args = 3};
    return intern(fn, &e, (const pdm_loop_expr *const[]){a, b, c});
}

const pdm_loop_expr *pdm_loop_cast(pdm_loop_fn *fn, pdm_dtype dtype, const pdm_loop_expr *a)
{
    if (!a || a->dtype == dtype)
        return a;
    /* To and from halves by way of float32. */
    if ((pdm_loop_is_half(dtype) || pdm_loop_is_half(a->dtype)) && dtype != PDM_F32 &&
        a->dtype != PDM_F32)
        return pdm_loop_cast(fn, dtype, pdm_loop_cast(fn, PDM_F32, a));
    const pdm_loop_expr e = {.kind = PDM_LOOP_CAST, .dtype = dtype, .num_args = 1};
    return intern(fn, &e, &a);
}

const pdm_loop_expr *pdm_loop_rebuild(pdm_loop_fn *fn, const pdm_loop_expr *e,
                                      const pdm_loop_expr *const *args)
{
    switch (e->kind) {
    case PDM_LOOP_CONST:
    case PDM_LOOP_VAR:
    case PDM_LOOP_SYMBOL:
        return e;
    case PDM_LOOP_LOAD:
        return pdm_loop_load(fn, e->u.index, args);
    case PDM_LOOP_UNARY:
        return pdm_loop_unary(fn, e->op, args[0]);
    case PDM_LOOP_BINARY:
        return pdm_loop_binary(fn, e->op, args[0], args[1]);
    case PDM_LOOP_SELECT:
        return pdm_loop_select(fn, args[0], args[1], args[2]);
    case PDM_LOOP_FMA:
        return pdm_loop_fma(fn, args[0], args[1], args[2]);
    case PDM_LOOP_CAST:
        return pdm_loop_cast(fn, e->dtype, args[0]);
    }
    return NULL;
}

const pdm_loop_expr *pdm_loop_offset(pdm_loop_fn *fn, uint32_t buffer,
                                     const pdm_loop_expr *const *indices)
{
    const pdm_loop_buffer *b = &fn->buffers.v[buffer];
    const pdm_loop_expr *at = pdm_loop_index(fn, 0);

    for (uint32_t i = 0; i < b->rank; i++) {
        at = pdm_loop_binary(fn, PDM_LOOP_MUL, at, b->dims[i]);
        at = pdm_loop_binary(fn, PDM_LOOP_ADD, at, indices[i]);
    }
    return at;
}

int64_t pdm_loop_eval(const pdm_loop_expr *e, const int64_t *symbols)
{
    int64_t a, b, value = 0;

    switch (e->kind) {
    case PDM_LOOP_CONST:
        return e->u.i;
    case PDM_LOOP_SYMBOL:
        return symbols[e->u.index];
    case PDM_LOOP_BINARY:
        a = pdm_loop_eval(e->args[0], symbols);
        b = pdm_loop_eval(e->args[1], symbols);
        return fold(e->op, a, b, &value) ? value : 0;
    case PDM_LOOP_VAR:
    case PDM_LOOP_LOAD:
    case PDM_LOOP_UNARY:
    case PDM_LOOP_SELECT:
    case PDM_LOOP_FMA:
    case PDM_LOOP_CAST:
        break;
    }
    return 0;
}

bool pdm_loop_is_positive(const pdm_loop_expr *e)
{
    if (e->kind == PDM_LOOP_CONST)
        return e->u.i > 0;
    if (e->kind == PDM_LOOP_BINARY && e->op == PDM_LOOP_MUL)
        return pdm_loop_is_positive(e->args[0]) && pdm_loop_is_positive(e->args[1]);
    return e->kind == PDM_LOOP_SYMBOL;
}
