/* Dims: what they are for given symbols, and what symbols were found to be. */
#include "base/checked.h"
#include "ir/dim.h"

/* ---- values ---------------------------------------------------------------------------------- */

static bool eval_sum(pdm_dim e, const int64_t *values, int64_t *out)
{
    int64_t r = e->number, x;

    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!pdm_dim_eval(e->args[i], values, &x) || __builtin_mul_overflow(x, e->coefs[i], &x) ||
            __builtin_add_overflow(r, x, &r))
            return false;
    }
    *out = r;
    return true;
}

static bool join(pdm_dim_kind kind, int64_t *r, int64_t x)
{
    switch (kind) {
    case PDM_DIM_PRODUCT:
        return !__builtin_mul_overflow(*r, x, r);
    case PDM_DIM_DIV:
        if (x <= 0)
            return false;
        *r = pdm_div_floor(*r, x);
        return true;
    case PDM_DIM_MAX:
        *r = x > *r ? x : *r;
        return true;
    case PDM_DIM_MIN:
        *r = x < *r ? x : *r;
        return true;
    case PDM_DIM_BROADCAST:
        if (*r == 1)
            *r = x;
        return x == 1 || x == *r;
    case PDM_DIM_INT:
    case PDM_DIM_SYMBOL:
    case PDM_DIM_SUM:
        break;
    }
    return false;
}

bool pdm_dim_eval(pdm_dim e, const int64_t *values, int64_t *out)
{
    int64_t r = 0, x;

    if (!e)
        return false;
    if (e->kind == PDM_DIM_SUM)
        return eval_sum(e, values, out);
    if (e->kind == PDM_DIM_INT || e->kind == PDM_DIM_SYMBOL) {
        *out = e->kind == PDM_DIM_INT ? e->number : values[e->number];
        return true;
    }
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!pdm_dim_eval(e->args[i], values, &x))
            return false;
        if (i == 0)
            r = x;
        else if (!join(e->kind, &r, x))
            return false;
    }
    *out = r;
    return true;
}

/* ---- what was found to hold ------------------------------------------------------------------ */

static pdm_dim resolve(pdm_dims *t, pdm_dim e);

/* e with its parts resolved, made anew by the operations. */
static pdm_dim rebuild(pdm_dims *t, pdm_dim e)
{
    pdm_dim r = e->kind == PDM_DIM_SUM ? pdm_dim_int(t, e->number) : NULL;

    for (uint32_t i = 0; i < e->num_args; i++) {
        pdm_dim x = resolve(t, e->args[i]);
        if (e->kind == PDM_DIM_SUM)
            x = pdm_dim_times(t, pdm_dim_int(t, e->coefs[i]), x);
        if (!x)
            return NULL;
        if (!r && i == 0) {
            r = x;
            continue;
        }
        switch (e->kind) {
        case PDM_DIM_SUM:
            r = pdm_dim_plus(t, r, x);
            break;
        case PDM_DIM_PRODUCT:
            r = pdm_dim_times(t, r, x);
            break;
        case PDM_DIM_DIV:
            r = pdm_dim_over(t, r, x);
            break;
        case PDM_DIM_MAX:
            r = pdm_dim_max(t, r, x);
            break;
        case PDM_DIM_MIN:
            r = pdm_dim_min(t, r, x);
            break;
        case PDM_DIM_BROADCAST:
            r = pdm_dim_broadcast(t, r, x);
            break;
        case PDM_DIM_INT:
        case PDM_DIM_SYMBOL:
            return e;
        }
        if (!r)
            return NULL;
    }
    return r ? r : e;
}

static pdm_dim resolve(pdm_dims *t, pdm_dim e)
{
    if (e->kind == PDM_DIM_SYMBOL) {
        const pdm_dim other = t->equals.v[e->number];
        if (!other)
            return e;
        const pdm_dim r = resolve(t, other);
        if (r)
            t->equals.v[e->number] = r;
        return r;
    }
    return rebuild(t, e);
}

pdm_dim pdm_dim_resolve(pdm_dims *t, pdm_dim e)
{
    return e ? resolve(t, e) : NULL;
}

/* The newest symbol of an expression; -1: it has none. */
static int64_t newest(pdm_dim e)
{
    int64_t n = e->kind == PDM_DIM_SYMBOL ? e->number : -1;

    for (uint32_t i = 0; i < e->num_args; i++) {
        const int64_t k = newest(e->args[i]);
        n = k > n ? k : n;
    }
    return n;
}

/* Only for what is made of older symbols, so that a symbol never comes to stand for itself, and what
 * is known early is not told by what is known late. */
static bool stand_for(pdm_dims *t, pdm_dim symbol, pdm_dim other)
{
    if (newest(other) >= symbol->number)
        return false;
    if (other->most < symbol->least || other->least > symbol->most)
        return false;
    t->equals.v[symbol->number] = other;
    t->merged = true;
    return true;
}

/* The symbol that a - b = 0 gives when it is the only term but for numbers, or one of two. */
static bool solve(pdm_dims *t, pdm_dim d)
{
    if (d->kind != PDM_DIM_SUM || d->num_args > 2)
        return false;
    const pdm_dim x = d->args[0];
    const int64_t c0 = d->coefs[0];
    if (d->num_args == 1) {
        if (x->kind != PDM_DIM_SYMBOL || d->number == INT64_MIN || -d->number % c0 != 0)
            return false;
        return stand_for(t, x, pdm_dim_int(t, -d->number / c0));
    }
    const pdm_dim y = d->args[1];
    if (d->number == 0 && c0 == -d->coefs[1] && x->kind == PDM_DIM_SYMBOL && y->kind == PDM_DIM_SYMBOL)
        return stand_for(t, y, x); /* in order, so y is the newer one */
    return false;
}

bool pdm_dims_equate(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    a = pdm_dim_resolve(t, a);
    b = pdm_dim_resolve(t, b);
    if (!a || !b)
        return false;
    if (a == b)
        return true;
    if (b->kind == PDM_DIM_SYMBOL &&
        (a->kind != PDM_DIM_SYMBOL || b->number < a->number)) {
        const pdm_dim swap = a;
        a = b;
        b = swap;
    }
    /* Now b, if it is a symbol, is the newer of two. */
    if (a->kind == PDM_DIM_SYMBOL && b->kind == PDM_DIM_SYMBOL)
        return stand_for(t, b, a);
    if (a->kind == PDM_DIM_SYMBOL)
        return stand_for(t, a, b);
    const pdm_dim d = pdm_dim_minus(t, a, b);
    return d && solve(t, d);
}
