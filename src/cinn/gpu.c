#include "cinn/gpu.h"

#include <stdlib.h>

#include "cinn/schedule.h"

/* ---- reductions ------------------------------------------------------------------------------ */

static bool mentions(const pdm_loop_expr *e, uint32_t var)
{
    if (e->kind == PDM_LOOP_VAR)
        return e->u.index == var;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (mentions(e->args[i], var))
            return true;
    }
    return false;
}

/* seen: by expression, zeroed. */
static bool finds_load(const pdm_loop_expr *e, uint32_t buffer, bool *seen)
{
    if (seen[e->id])
        return false;
    seen[e->id] = true;
    if (e->kind == PDM_LOOP_LOAD && e->u.index == buffer)
        return true;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (finds_load(e->args[i], buffer, seen))
            return true;
    }
    return false;
}

/* Out of memory: true, which leaves things as they are. */
static bool loads(const pdm_loop_fn *fn, const pdm_loop_expr *e, uint32_t buffer)
{
    bool *seen = calloc(fn->num_exprs + 1, sizeof *seen);
    const bool found = !seen || finds_load(e, buffer, seen);

    free(seen);
    return found;
}

static bool is_target(const pdm_loop_fn *fn, const pdm_loop_stmt *store, const pdm_loop_expr *e)
{
    if (e->kind != PDM_LOOP_LOAD || e->u.index != store->buffer)
        return false;
    for (uint32_t i = 0; i < pdm_loop_num_indices(fn, store->buffer); i++) {
        if (e->args[i] != store->indices[i])
            return false;
    }
    return true;
}

/* select(t != t | x < t, t, x), the largest with NaN; with t < x the smallest. */
static bool with_nan(const pdm_loop_fn *fn, const pdm_loop_stmt *store, pdm_cinn_reduction *out)
{
    const pdm_loop_expr *e = store->value, *or_ = e->args[0], *t = e->args[1], *x = e->args[2];

    if (!is_target(fn, store, t) || or_->kind != PDM_LOOP_BINARY || or_->op != PDM_LOOP_OR)
        return false;
    for (int i = 0; i < 2; i++) {
        const pdm_loop_expr *nan = or_->args[i], *less = or_->args[1 - i];
        if (nan->kind != PDM_LOOP_BINARY || nan->op != PDM_LOOP_NE || nan->args[0] != t ||
            nan->args[1] != t || less->kind != PDM_LOOP_BINARY || less->op != PDM_LOOP_LT)
            continue;
        const bool largest = less->args[0] == x && less->args[1] == t;
        if (!largest && (less->args[0] != t || less->args[1] != x))
            return false;
        out->kind = largest ? PDM_CINN_REDUCE_MAX_NAN : PDM_CINN_REDUCE_MIN_NAN;
        out->term = x;
        return true;
    }
    return false;
}

static bool find(const pdm_loop_fn *fn, const pdm_loop_stmt *store, pdm_cinn_reduction *out)
{
    const pdm_loop_expr *e = store->value;

    if (e->kind == PDM_LOOP_SELECT)
        return with_nan(fn, store, out);
    if (e->kind != PDM_LOOP_BINARY)
        return false;
    const bool second = is_target(fn, store, e->args[1]);
    const bool first = !second && is_target(fn, store, e->args[0]);
    out->term = e->args[second ? 0 : 1];
    switch ((int)e->op) {
    case PDM_LOOP_ADD:
        out->kind = PDM_CINN_REDUCE_ADD;
        return first || second;
    case PDM_LOOP_MUL:
        out->kind = PDM_CINN_REDUCE_MUL;
        return first || second;
    /* With the element first, a NaN would be taken and then lost again, as the order has it. */
    case PDM_LOOP_MAX:
        out->kind = PDM_CINN_REDUCE_MAX;
        return second;
    case PDM_LOOP_MIN:
        out->kind = PDM_CINN_REDUCE_MIN;
        return second;
    default:
        return false;
    }
}

bool pdm_cinn_gpu_reduction(const pdm_loop_fn *fn, const pdm_loop_stmt *store, uint32_t var,
                            pdm_cinn_reduction *out)
{
    const pdm_dtype dtype = store->value->dtype;

    if (dtype != PDM_F32 && dtype != PDM_F64 && dtype != PDM_I32 && dtype != PDM_I64)
        return false;
    for (uint32_t i = 0; i < pdm_loop_num_indices(fn, store->buffer); i++) {
        if (mentions(store->indices[i], var))
            return false;
    }
    return find(fn, store, out) && !loads(fn, out->term, store->buffer);
}

bool pdm_cinn_gpu_is_reduction(const pdm_loop_fn *fn, const pdm_loop_stmt *loop)
{
    pdm_cinn_reduction reduction;

    if (loop->kind != PDM_LOOP_FOR || !loop->body || (loop->body->kind == PDM_LOOP_IF && loop->body->next))
        return false;
    const pdm_loop_stmt *first = pdm_cinn_gpu_terms(loop);
    for (const pdm_loop_stmt *s = first; s; s = s->next) {
        if (s->kind != PDM_LOOP_STORE || !pdm_cinn_gpu_reduction(fn, s, loop->var, &reduction) ||
            (first != loop->body && loads(fn, loop->body->value, s->buffer)))
            return false;
        for (const pdm_loop_stmt *t = first; t; t = t->next) {
            if ((t != s && t->buffer == s->buffer) || loads(fn, reduction.term, t->buffer))
                return false;
        }
    }
    return first != NULL;
}

/* ---- launches -------------------------------------------------------------------------------- */

static unsigned thread_dims(const pdm_loop_stmt *stmt)
{
    unsigned dims = 0;

    for (; stmt; stmt = stmt->next)
        dims |= (pdm_loop_is_thread(stmt) ? 1U << (stmt->mark - PDM_LOOP_THREAD_X) : 0) | thread_dims(stmt->body);
    return dims;
}

void pdm_cinn_gpu_threads(const pdm_loop_stmt *nest, uint32_t out_threads[3])
{
    static const uint32_t several[3] = {PDM_CINN_WARP, PDM_CINN_ROWS, PDM_CINN_PLANES};
    pdm_loop_stmt alone = *nest;

    alone.next = NULL;
    const unsigned dims = thread_dims(&alone);
    for (unsigned d = 0; d < 3; d++)
        out_threads[d] = !(dims >> d & 1U) ? 1 : dims == 1 ? PDM_CINN_BLOCK : several[d];
}

pdm_cinn_launch pdm_cinn_gpu_launch(const pdm_loop_stmt *nest, const int64_t *symbols)
{
    enum { MOST_BLOCKS = 65535 };
    pdm_cinn_launch launch = {.blocks = {1, 1, 1}};

    pdm_cinn_gpu_threads(nest, launch.threads);
    if (nest->kind == PDM_LOOP_FOR && pdm_loop_eval(nest->extent, symbols) <= 0)
        launch.blocks[0] = 0;
    for (; launch.blocks[0] > 0 && pdm_loop_is_block(nest); nest = nest->body) {
        const int64_t extent = pdm_loop_eval(nest->extent, symbols);
        if (extent <= 0)
            launch.blocks[0] = 0;
        else
            launch.blocks[nest->mark - PDM_LOOP_BLOCK_X] = (uint32_t)(extent < MOST_BLOCKS ? extent : MOST_BLOCKS);
        if (!nest->body)
            break;
    }
    return launch;
}

/* ---- how wide indices must be ---------------------------------------------------------------- */

/* Least and largest values. */
typedef struct range {
    int64_t low, high;
} range;

enum { LIMIT = 1 << 30 };

typedef struct bounder {
    const pdm_loop_fn *fn;
    const int64_t *symbols;
    range *vars;   /* by variable */
    range *values; /* by expression: low > high when it is not known yet */
    bool *seen;    /* by expression: its parts were looked at */
} bounder;

static range of_products(range a, range b)
{
    range out;

    const int64_t p[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};

    out = (range){p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        out.low = p[i] < out.low ? p[i] : out.low;
        out.high = p[i] > out.high ? p[i] : out.high;
    }
    return out;
}

static bool of_binary(pdm_loop_op op, range a, range b, range *out)
{
    switch ((int)op) {
    case PDM_LOOP_ADD:
        *out = (range){a.low + b.low, a.high + b.high};
        return true;
    case PDM_LOOP_SUB:
        *out = (range){a.low - b.high, a.high - b.low};
        return true;
    case PDM_LOOP_MUL:
        *out = of_products(a, b);
        return true;
    case PDM_LOOP_MIN:
        *out = (range){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
        return true;
    case PDM_LOOP_MAX:
        *out = (range){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
        return true;
    case PDM_LOOP_DIV: /* no divisor makes them larger */
        *out = (range){a.low < 0 ? a.low : 0, a.high > 0 ? a.high : 0};
        return b.low > 0;
    case PDM_LOOP_MOD:
        *out = (range){a.low < 0 ? a.low : 0, a.high > 0 ? a.high : 0};
        if (a.low >= 0 && b.high - 1 < out->high)
            out->high = b.high - 1;
        return b.low > 0;
    default:
        return false;
    }
}

static bool bound(bounder *b, const pdm_loop_expr *e, range *out);

static bool find_bound(bounder *b, const pdm_loop_expr *e, range *out)
{
    range x, y;

    switch (e->kind) {
    case PDM_LOOP_CONST:
        *out = (range){e->u.i, e->u.i};
        return true;
    case PDM_LOOP_VAR:
        *out = b->vars[e->u.index];
        return true;
    case PDM_LOOP_SYMBOL:
        if (b->symbols)
            *out = (range){b->symbols[e->u.index], b->symbols[e->u.index]};
        return b->symbols != NULL;
    case PDM_LOOP_UNARY:
        if (e->op != PDM_LOOP_NEG || !bound(b, e->args[0], &x))
            return false;
        *out = (range){-x.high, -x.low};
        return true;
    case PDM_LOOP_BINARY:
        return bound(b, e->args[0], &x) && bound(b, e->args[1], &y) && of_binary(e->op, x, y, out);
    case PDM_LOOP_SELECT:
        if (!bound(b, e->args[1], &x) || !bound(b, e->args[2], &y))
            return false;
        *out = (range){x.low < y.low ? x.low : y.low, x.high > y.high ? x.high : y.high};
        return true;
    case PDM_LOOP_FMA:
    case PDM_LOOP_CAST:
    case PDM_LOOP_LOAD:
        break;
    }
    return false;
}

static bool bound(bounder *b, const pdm_loop_expr *e, range *out)
{
    range *known = &b->values[e->id];

    if (known->low > known->high &&
        (!find_bound(b, e, known) || known->low < -LIMIT || known->high > LIMIT)) {
        *known = (range){1, 0};
        return false;
    }
    *out = *known;
    return true;
}

/* What an expression calculates with indices. Numbers that come from elsewhere may be of any size. */
static bool bound_indices(bounder *b, const pdm_loop_expr *e)
{
    range unused;

    if (b->seen[e->id])
        return true;
    b->seen[e->id] = true;
    if (e->dtype == PDM_INDEX && !bound(b, e, &unused))
        return false;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!bound_indices(b, e->args[i]))
            return false;
    }
    return true;
}

static bool bound_stmts(bounder *b, const pdm_loop_stmt *stmt)
{
    range extent;

    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR) {
            if (!bound(b, stmt->extent, &extent))
                return false;
            b->vars[stmt->var] = (range){0, extent.high > 0 ? extent.high - 1 : 0};
            if (!bound_stmts(b, stmt->body))
                return false;
            continue;
        }
        if (stmt->kind == PDM_LOOP_IF) {
            if (!bound_indices(b, stmt->value) || !bound_stmts(b, stmt->body))
                return false;
            continue;
        }
        for (uint32_t i = 0; i < pdm_loop_num_indices(b->fn, stmt->buffer); i++) {
            if (!bound_indices(b, stmt->indices[i]))
                return false;
        }
        if (!bound_indices(b, stmt->value))
            return false;
    }
    return true;
}

bool pdm_cinn_gpu_is_narrow(const pdm_loop_fn *fn, const int64_t *symbols)
{
    bounder b = {.fn = fn, .symbols = symbols};

    b.vars = calloc((size_t)fn->num_vars + 1, sizeof *b.vars);
    b.values = calloc(fn->num_exprs + 1, sizeof *b.values);
    b.seen = calloc(fn->num_exprs + 1, sizeof *b.seen);
    bool narrow = b.vars && b.values && b.seen;
    for (size_t i = 0; narrow && i < fn->num_exprs; i++)
        b.values[i] = (range){1, 0};
    narrow = narrow && bound_stmts(&b, fn->body);
    free(b.vars);
    free(b.values);
    free(b.seen);
    return narrow;
}
