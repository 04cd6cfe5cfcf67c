/* Primitives that keep values in other places: see schedule.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cinn/schedule.h"

typedef const pdm_loop_expr *E;

/* ---- small things ---------------------------------------------------------------------------- */

static uint32_t new_temp(pdm_loop_fn *fn, const char *what, const pdm_loop_buffer *like, E extra)
{
    E dims[PDM_MAX_RANK];
    char name[24];

    snprintf(name, sizeof name, "%s%zu", what, fn->buffers.n);
    for (uint32_t d = 0; d < like->rank; d++)
        dims[d] = like->dims[d];
    if (extra)
        dims[like->rank] = extra;
    return pdm_loop_add_buffer(fn, name, PDM_LOOP_TEMP, like->dtype, like->rank + (extra != NULL), dims);
}

/* Loops that copy all elements of a buffer to another. */
static pdm_loop_stmt *copy_nest(pdm_loop_fn *fn, uint32_t from, uint32_t to)
{
    const uint32_t rank = fn->buffers.v[from].rank;
    uint32_t vars[PDM_MAX_RANK] = {0};
    E i[PDM_MAX_RANK] = {NULL};

    for (uint32_t d = 0; d < rank; d++) {
        const bool one = pdm_loop_is_int(fn->buffers.v[from].dims[d], 1);
        vars[d] = fn->num_vars;
        i[d] = one ? pdm_loop_index(fn, 0) : pdm_loop_var(fn, fn->num_vars++);
    }
    pdm_loop_stmt *stmt = pdm_loop_store(fn, to, i, pdm_loop_load(fn, from, i));
    for (uint32_t d = rank; d-- > 0;) {
        if (!pdm_loop_is_int(fn->buffers.v[from].dims[d], 1))
            stmt = pdm_loop_for(fn, vars[d], fn->buffers.v[from].dims[d], stmt);
    }
    return stmt;
}

typedef struct renaming {
    uint32_t from, to;
} renaming;

static E rename_load(void *user, pdm_loop_fn *fn, E e, const E *args)
{
    const renaming *r = user;

    return e->kind == PDM_LOOP_LOAD && e->u.index == r->from ? pdm_loop_load(fn, r->to, args) : NULL;
}

static void rename_stores(pdm_loop_stmt *stmt, const renaming *r)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_STORE && stmt->buffer == r->from)
            stmt->buffer = r->to;
        rename_stores(stmt->body, r);
    }
}

/* Passes over one statement, not over those behind it. */
static bool rewrite_one(pdm_loop_fn *fn, pdm_loop_stmt *stmt, pdm_loop_rewrite_fn hook, void *user)
{
    pdm_loop_stmt *next = stmt->next;

    stmt->next = NULL;
    const bool done = pdm_loop_rewrite(fn, stmt, hook, user);
    stmt->next = next;
    return done;
}

static bool is_stored_in(pdm_loop_fn *fn, const pdm_loop_stmt *stmt, uint32_t buffer, bool *out_read)
{
    pdm_loop_accesses all = {0};
    bool stored = !pdm_loop_collect(fn, stmt, false, &all);

    for (size_t i = 0; i < all.n; i++) {
        stored = stored || (all.v[i].store && all.v[i].buffer == buffer);
        *out_read = *out_read || (!all.v[i].store && all.v[i].buffer == buffer);
    }
    PDM_VEC_FREE(&all);
    return stored;
}

/* ---- caches ---------------------------------------------------------------------------------- */

const char *pdm_loop_cache_read(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *loop,
                                uint32_t *out_copy)
{
    bool read = false;

    if (buffer >= fn->buffers.n || fn->flat)
        return "there is no such buffer";
    if (loop->kind != PDM_LOOP_FOR)
        return "it is no loop";
    if (pdm_loop_is_shared_out(fn, loop))
        return "several turns are done at a time";
    if (is_stored_in(fn, loop, buffer, &read))
        return "it is stored in the loop";
    if (!read)
        return "nothing reads it there";
    const pdm_loop_buffer like = fn->buffers.v[buffer];
    if (like.scope != PDM_LOOP_GLOBAL)
        return "it is a temporary of a loop already";
    const uint32_t copy = new_temp(fn, "c", &like, NULL);
    pdm_loop_stmt *nest = copy_nest(fn, buffer, copy), **link = pdm_loop_link(&fn->body, loop);
    renaming r = {buffer, copy};
    if (!nest || !rewrite_one(fn, loop, rename_load, &r))
        return NO_MEMORY;
    nest->next = loop;
    *link = nest;
    if (out_copy)
        *out_copy = copy;
    return NULL;
}

const char *pdm_loop_cache_write(pdm_loop_fn *fn, uint32_t buffer, uint32_t *out_copy)
{
    pdm_loop_block block;

    if (buffer >= fn->buffers.n || fn->buffers.v[buffer].role == PDM_LOOP_INPUT || fn->flat)
        return "there is no such buffer";
    const pdm_loop_buffer like = fn->buffers.v[buffer];
    if (like.scope != PDM_LOOP_GLOBAL)
        return "it is a temporary of a loop already";
    const char *why = pdm_loop_find_block(fn, buffer, &block);
    if (why)
        return why;
    if (pdm_loop_is_shared_out(fn, block.stmt))
        return "several turns are done at a time";
    const uint32_t copy = new_temp(fn, "c", &like, NULL);
    pdm_loop_stmt *nest = copy_nest(fn, copy, buffer);
    renaming r = {buffer, copy};
    if (!nest || !rewrite_one(fn, block.stmt, rename_load, &r))
        return NO_MEMORY;
    pdm_loop_stmt *next = block.stmt->next;
    block.stmt->next = NULL;
    rename_stores(block.stmt, &r);
    nest->next = next;
    block.stmt->next = nest;
    if (out_copy)
        *out_copy = copy;
    return NULL;
}

/* ---- keep in --------------------------------------------------------------------------------- */

enum { AXIS_WHOLE, AXIS_POINT, AXIS_PART };

typedef struct axis {
    int kind;
    E base;         /* POINT, PART: the same for a turn */
    int64_t extent; /* PART */
} axis;

typedef struct keeping {
    uint32_t buffer;
    const pdm_loop_stmt *loop;
    axis axes[PDM_MAX_RANK];
} keeping;

static E kept_index(pdm_loop_fn *fn, const keeping *k, uint32_t d, E index)
{
    int64_t extent;
    E base, inner;

    if (k->axes[d].kind == AXIS_POINT)
        return pdm_loop_index(fn, 0);
    if (k->axes[d].kind == AXIS_WHOLE)
        return index;
    return pdm_loop_split_index(fn, index, k->loop, &base, &inner, &extent) ? inner : index;
}

/* What of an axis is used in a turn: a place, a part of it or all. */
static const char *choose_axis(pdm_loop_fn *fn, const pdm_loop_accesses *all, keeping *k, uint32_t d)
{
    const E dim = fn->buffers.v[k->buffer].dims[d];
    axis *x = &k->axes[d];
    bool first = true, part = true;

    for (size_t i = 0; i < all->n; i++) {
        int64_t extent;
        E base, inner;
        if (all->v[i].buffer != k->buffer)
            continue;
        if (!pdm_loop_split_index(fn, all->v[i].indices[d], k->loop, &base, &inner, &extent))
            part = false;
        else if (first)
            *x = (axis){AXIS_PART, base, extent};
        else
            part = part && x->base == base;
        if (part && extent > x->extent)
            x->extent = extent;
        first = false;
    }
    if (part && x->extent == 1)
        x->kind = AXIS_POINT;
    else if (!part || (dim->kind == PDM_LOOP_CONST && dim->u.i <= x->extent))
        x->kind = AXIS_WHOLE;
    return x->kind == AXIS_WHOLE && dim->kind != PDM_LOOP_CONST
               ? "what a turn needs of it is no known number of elements"
               : NULL;
}

/* Whether a loop is in the turn and around one statement, but not around the other. */
static bool is_own(const pdm_loop_stmt *loop, const pdm_loop_stmt *inside, const pdm_loop_stmt *of,
                   const pdm_loop_stmt *other)
{
    return loop && loop != inside && pdm_loop_contains(inside, loop) && pdm_loop_contains(loop, of) &&
           !pdm_loop_contains(loop, other);
}

static bool same_in_turn(pdm_loop_fn *fn, E e, const pdm_loop_stmt *loop, const pdm_loop_stmt *a,
                         const pdm_loop_stmt *b)
{
    if (e->kind == PDM_LOOP_LOAD)
        return false;
    if (e->kind == PDM_LOOP_VAR) {
        const pdm_loop_stmt *own = pdm_loop_find(fn->body, e->u.index);
        return !is_own(own, loop, a, b) && !is_own(own, loop, b, a);
    }
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!same_in_turn(fn, e->args[i], loop, a, b))
            return false;
    }
    return true;
}

/* Whether a store of the same turn, before the load, stored what is loaded for certain. */
static bool covers(pdm_loop_fn *fn, const keeping *k, const pdm_loop_access *store,
                   const pdm_loop_access *load)
{
    const pdm_loop_stmt *own[PDM_MAX_RANK];
    uint32_t num_own = 0;

    for (uint32_t d = 0; d < fn->buffers.v[k->buffer].rank; d++) {
        const E s = store->indices[d], l = load->indices[d];
        int64_t s_extent, l_extent;
        E s_base, l_base, s_inner, l_inner;
        if (s == l && same_in_turn(fn, s, k->loop, store->stmt, load->stmt))
            continue;
        if (!pdm_loop_split_index(fn, s, k->loop, &s_base, &s_inner, &s_extent) ||
            s_inner->kind != PDM_LOOP_VAR)
            return false;
        /* A loop over it, around the store alone. */
        own[num_own] = pdm_loop_find(fn->body, s_inner->u.index);
        if (!is_own(own[num_own], k->loop, store->stmt, load->stmt))
            return false;
        for (uint32_t i = 0; i < num_own; i++) {
            if (own[i] == own[num_own])
                return false;
        }
        num_own++;
        const bool whole = pdm_loop_is_int(s_base, 0) &&
                           pdm_loop_is_int(fn->buffers.v[k->buffer].dims[d], s_extent);
        if (!whole && (!pdm_loop_split_index(fn, l, k->loop, &l_base, &l_inner, &l_extent) ||
                       l_base != s_base || l_extent > s_extent))
            return false;
    }
    /* What else is around the store, and not around the load, might not be done. */
    for (const pdm_loop_stmt *at = k->loop; at != store->stmt;) {
        const pdm_loop_stmt *inner = at->body;
        while (!pdm_loop_contains(inner, store->stmt))
            inner = inner->next;
        at = inner;
        bool known = at == store->stmt || pdm_loop_contains(at, load->stmt);
        for (uint32_t i = 0; i < num_own; i++)
            known = known || own[i] == at;
        if (!known)
            return false;
    }
    return true;
}

static const char *may_keep(pdm_loop_fn *fn, const pdm_loop_accesses *all, const keeping *k)
{
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        bool covered = a->store;
        if (a->buffer != k->buffer)
            continue;
        if (a->stmt == k->loop || !pdm_loop_contains(k->loop, a->stmt))
            return "it is used elsewhere, too";
        /* Accesses stand in the order of the text, the loads of a statement before its store. */
        for (size_t s = 0; !covered && s < i; s++)
            covered = all->v[s].store && all->v[s].buffer == k->buffer && covers(fn, k, &all->v[s], a);
        if (!covered)
            return "a turn reads what it did not store";
    }
    return NULL;
}

static E kept_load(void *user, pdm_loop_fn *fn, E e, const E *args)
{
    const keeping *k = user;
    E at[PDM_MAX_RANK];

    if (e->kind != PDM_LOOP_LOAD || e->u.index != k->buffer)
        return NULL;
    for (uint32_t d = 0; d < e->num_args; d++)
        at[d] = kept_index(fn, k, d, args[d]);
    return pdm_loop_load(fn, k->buffer, at);
}

static void keep_stores(pdm_loop_fn *fn, pdm_loop_stmt *stmt, const keeping *k)
{
    for (; stmt && fn->status == PDM_OK; stmt = stmt->next) {
        keep_stores(fn, stmt->body, k);
        if (stmt->kind != PDM_LOOP_STORE || stmt->buffer != k->buffer)
            continue;
        E at[PDM_MAX_RANK] = {NULL};
        for (uint32_t d = 0; d < fn->buffers.v[k->buffer].rank; d++)
            at[d] = kept_index(fn, k, d, stmt->indices[d]);
        stmt->indices = pdm_arena_memdup(&fn->arena, at, sizeof at);
        if (!stmt->indices)
            fn->status = PDM_NOMEM;
    }
}

const char *pdm_loop_keep_in(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *loop,
                             pdm_loop_scope scope)
{
    keeping k = {.buffer = buffer, .loop = loop};
    pdm_loop_accesses all = {0};
    E dims[PDM_MAX_RANK] = {NULL};
    const char *why = NULL;

    if (buffer >= fn->buffers.n || fn->buffers.v[buffer].role != PDM_LOOP_TEMP || fn->flat)
        return "it is no temporary";
    if (loop->kind != PDM_LOOP_FOR || scope == PDM_LOOP_GLOBAL)
        return "it is no loop";
    if (fn->buffers.v[buffer].scope != PDM_LOOP_GLOBAL)
        return "it is a temporary of a loop already";
    if (!pdm_loop_collect(fn, fn->body, true, &all))
        why = NO_MEMORY;
    if (!why)
        why = may_keep(fn, &all, &k);
    for (uint32_t d = 0; !why && d < fn->buffers.v[buffer].rank; d++) {
        why = choose_axis(fn, &all, &k, d);
        dims[d] = k.axes[d].kind == AXIS_WHOLE   ? fn->buffers.v[buffer].dims[d]
                  : k.axes[d].kind == AXIS_POINT ? pdm_loop_index(fn, 1)
                                                 : pdm_loop_index(fn, k.axes[d].extent);
    }
    PDM_VEC_FREE(&all);
    if (why)
        return fn->status != PDM_OK ? NO_MEMORY : why;
    const pdm_loop_buffer before = fn->buffers.v[buffer];
    pdm_loop_buffer *b = &fn->buffers.v[buffer];
    b->dims = pdm_arena_memdup(&fn->arena, dims, sizeof dims);
    if (!b->dims) {
        fn->status = PDM_NOMEM;
        return NO_MEMORY;
    }
    b->scope = scope;
    b->home = loop->var;
    why = pdm_loop_verify(fn);
    if (why) { /* too large, or between threads */
        *b = before;
        return why;
    }
    keep_stores(fn, loop->body, &k);
    pdm_loop_rewrite(fn, loop->body, kept_load, &k);
    return fn->status != PDM_OK ? NO_MEMORY : NULL;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static bool exchange_one(pdm_loop_fn *fn, pdm_loop_stmt *stmt, E from, E to)
{
    pdm_loop_stmt *next = stmt->next;

    stmt->next = NULL;
    const bool done = pdm_loop_exchange(fn, stmt, from, to);
    stmt->next = next;
    return done;
}

static pdm_loop_stmt *parent_of(pdm_loop_stmt *list, const pdm_loop_stmt *stmt)
{
    for (; list; list = list->next) {
        for (pdm_loop_stmt *inner = list->body; inner; inner = inner->next) {
            if (inner == stmt)
                return list;
        }
        pdm_loop_stmt *found = parent_of(list->body, stmt);
        if (found)
            return found;
    }
    return NULL;
}

/* The statement in another one that has nothing else in it but conditions. */
static pdm_loop_stmt *within(const pdm_loop_stmt *stmt)
{
    stmt = stmt->body;
    while (stmt && stmt->kind == PDM_LOOP_IF && !stmt->next)
        stmt = stmt->body;
    return stmt && !stmt->next ? (pdm_loop_stmt *)(uintptr_t)stmt : NULL;
}

/* The only load of a buffer in a statement; NULL: there are several, or it is stored. */
static E only_load(pdm_loop_fn *fn, const pdm_loop_stmt *stmt, uint32_t buffer)
{
    pdm_loop_accesses all = {0};
    const pdm_loop_access *found = NULL;
    bool several = !pdm_loop_collect(fn, stmt, false, &all);

    for (size_t i = 0; i < all.n; i++) {
        if (all.v[i].buffer != buffer)
            continue;
        several = several || found || all.v[i].store || all.v[i].stmt->kind != PDM_LOOP_STORE;
        found = &all.v[i];
    }
    const E load = found && !several ? pdm_loop_load(fn, buffer, found->indices) : NULL;
    PDM_VEC_FREE(&all);
    return load;
}

/* What stores to a tile under all conditions under which it is read. */
static pdm_loop_stmt *fill_tile(pdm_loop_fn *fn, const pdm_loop_stmt *outer, const pdm_loop_stmt *inner,
                                const pdm_loop_stmt *store, pdm_loop_stmt *filling)
{
    for (const pdm_loop_stmt *at = outer->body; at != store; at = at->body) {
        if (at != inner && filling)
            filling = pdm_loop_if(fn, at->value, filling);
    }
    return filling;
}

static const char *may_stage(pdm_loop_fn *fn, uint32_t buffer, const pdm_loop_stmt *outer,
                             const pdm_loop_stmt *inner)
{
    if (buffer >= fn->buffers.n || fn->flat)
        return "there is no such buffer";
    if (outer->kind != PDM_LOOP_FOR || inner->kind != PDM_LOOP_FOR || within(outer) != inner)
        return "it is not one loop in another";
    if (outer->mark != PDM_LOOP_SERIAL || inner->mark != PDM_LOOP_SERIAL)
        return NOT_SERIAL;
    if (!within(inner) || within(inner)->kind != PDM_LOOP_STORE)
        return "the body is not one statement that stores";
    for (int i = 0; i < 2; i++) {
        const E extent = (i ? inner : outer)->extent;
        if (extent->kind != PDM_LOOP_CONST || extent->u.i < 1 || extent->u.i > PDM_LOOP_MAX_LANES)
            return "the extents are no small numbers";
    }
    if (!pdm_loop_is_independent(fn, outer) || !pdm_loop_is_independent(fn, inner))
        return fn->status != PDM_OK ? NO_MEMORY : "turns depend on each other"; /* all is read before anything is stored */
    return NULL;
}

const char *pdm_loop_stage(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *outer, pdm_loop_stmt *inner,
                           pdm_loop_tile *out_tile)
{
    const char *why = may_stage(fn, buffer, outer, inner);
    pdm_loop_stmt *home = why ? NULL : parent_of(fn->body, outer);

    if (why)
        return why;
    if (!home || home->kind != PDM_LOOP_FOR)
        return "no loop is around";
    const E load = only_load(fn, outer, buffer);
    if (!load)
        return fn->status != PDM_OK ? NO_MEMORY : "it is not read in one place, or is stored";
    const pdm_loop_stmt *store = within(inner);
    const E dims[2] = {inner->extent, pdm_loop_binary(fn, PDM_LOOP_ADD, outer->extent, pdm_loop_index(fn, 1))};
    char text[24];
    snprintf(text, sizeof text, "tile%zu", fn->buffers.n);
    const uint32_t tile = pdm_loop_add_buffer(fn, text, PDM_LOOP_TEMP, fn->buffers.v[buffer].dtype, 2, dims);
    const E at[2] = {pdm_loop_var(fn, inner->var), pdm_loop_var(fn, outer->var)};
    pdm_loop_stmt *filling = fill_tile(fn, outer, inner, store, pdm_loop_store(fn, tile, at, load));
    const uint32_t vars[2] = {fn->num_vars, fn->num_vars + 1};
    E *with = calloc((size_t)fn->num_vars + 2, sizeof *with);
    if (!with || fn->status != PDM_OK) {
        free(with);
        fn->status = PDM_NOMEM;
        return NO_MEMORY;
    }
    fn->num_vars += 2;
    with[inner->var] = pdm_loop_var(fn, vars[0]);
    with[outer->var] = pdm_loop_var(fn, vars[1]);
    pdm_loop_substitute(fn, filling, with);
    free(with);
    pdm_loop_stmt *second = pdm_loop_for(fn, vars[1], outer->extent, filling);
    pdm_loop_stmt *first = pdm_loop_for(fn, vars[0], inner->extent, second);
    const E from_tile = pdm_loop_load(fn, tile, at);
    if (fn->status != PDM_OK || !exchange_one(fn, outer, load, from_tile))
        return NO_MEMORY;
    fn->buffers.v[tile].scope = PDM_LOOP_SHARED;
    fn->buffers.v[tile].home = home->var;
    pdm_loop_stmt **link = pdm_loop_link(&home->body, outer);
    first->next = outer;
    *link = first;
    why = pdm_loop_verify(fn);
    if (why) { /* too large, or in a loop over threads: it stays where it was */
        *pdm_loop_link(&home->body, first) = outer;
        exchange_one(fn, outer, from_tile, load);
        fn->buffers.n--;
        fn->num_vars -= 2;
        return fn->status != PDM_OK ? NO_MEMORY : why;
    }
    if (out_tile)
        *out_tile = (pdm_loop_tile){tile, first, second};
    return NULL;
}

/* ---- rfactor --------------------------------------------------------------------------------- */

/* value = combine(sum, term) */
typedef struct combination {
    E sum, term;
    double neutral;
    pdm_loop_op op;
} combination;

static bool is_of_largest(E e, E sum, E term)
{
    const bool either = e->kind == PDM_LOOP_BINARY && e->op == PDM_LOOP_OR;
    const E is_nan = either ? e->args[0] : NULL, less = either ? e->args[1] : NULL;

    return either && is_nan->kind == PDM_LOOP_BINARY && is_nan->op == PDM_LOOP_NE &&
           is_nan->args[0] == sum && is_nan->args[1] == sum && less->kind == PDM_LOOP_BINARY &&
           less->op == PDM_LOOP_LT && less->args[0] == term && less->args[1] == sum;
}

static bool is_of_smallest(E e, E sum, E term)
{
    const bool either = e->kind == PDM_LOOP_BINARY && e->op == PDM_LOOP_OR;
    const E is_nan = either ? e->args[0] : NULL, less = either ? e->args[1] : NULL;

    return either && is_nan->kind == PDM_LOOP_BINARY && is_nan->op == PDM_LOOP_NE &&
           is_nan->args[0] == sum && is_nan->args[1] == sum && less->kind == PDM_LOOP_BINARY &&
           less->op == PDM_LOOP_LT && less->args[0] == sum && less->args[1] == term;
}

static bool mentions_load(E e, E load)
{
    if (e == load)
        return true;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (mentions_load(e->args[i], load))
            return true;
    }
    return false;
}

static bool is_combination(E value, E sum, combination *out)
{
    *out = (combination){.sum = sum, .op = PDM_LOOP_OP_COUNT};
    if (value->kind == PDM_LOOP_SELECT && value->args[1] == sum) {
        out->term = value->args[2];
        out->op = is_of_largest(value->args[0], sum, out->term)    ? PDM_LOOP_MAX
                  : is_of_smallest(value->args[0], sum, out->term) ? PDM_LOOP_MIN
                                                                   : PDM_LOOP_OP_COUNT;
    } else if (value->kind == PDM_LOOP_BINARY && (value->args[0] == sum || value->args[1] == sum)) {
        out->term = value->args[value->args[0] == sum];
        out->op = value->op;
    }
    switch ((int)out->op) {
    case PDM_LOOP_ADD:
    case PDM_LOOP_OR:
    case PDM_LOOP_XOR:
        out->neutral = 0;
        break;
    case PDM_LOOP_MUL:
        out->neutral = 1;
        break;
    case PDM_LOOP_AND:
        out->neutral = value->dtype == PDM_BOOL ? 1 : -1;
        break;
    case PDM_LOOP_MAX:
        out->neutral = -INFINITY;
        break;
    case PDM_LOOP_MIN:
        out->neutral = INFINITY;
        break;
    default:
        return false;
    }
    return !mentions_load(out->term, sum);
}

/* The neutral element: for the largest and smallest of integers the limits of the type. */
static E neutral_of(pdm_loop_fn *fn, const combination *c, pdm_dtype dtype)
{
    const unsigned bits = (unsigned)pdm_dtype_size(dtype) * 8;
    const bool is_unsigned = dtype == PDM_U8 || dtype == PDM_BOOL;

    if (isfinite(c->neutral) && !pdm_dtype_is_float(dtype))
        return pdm_loop_int(fn, dtype, dtype == PDM_U8 && c->neutral < 0 ? 255 : (int64_t)c->neutral);
    if (pdm_dtype_is_float(dtype))
        return pdm_loop_float(fn, dtype, c->neutral);
    if (is_unsigned)
        return pdm_loop_int(fn, dtype, c->neutral < 0 ? 0 : dtype == PDM_BOOL ? 1 : 255);
    return pdm_loop_int(fn, dtype,
                        c->neutral < 0 ? (int64_t)(UINT64_MAX << (bits - 1))
                                       : (int64_t)~(UINT64_MAX << (bits - 1)));
}

static E swapped(pdm_loop_fn *fn, E e, E from, E to)
{
    pdm_loop_stmt stmt = {.kind = PDM_LOOP_IF, .value = e};

    return pdm_loop_exchange(fn, &stmt, from, to) ? stmt.value : NULL;
}

/* The only store in a statement; NULL: there are several. */
static pdm_loop_stmt *only_store_in(pdm_loop_stmt *stmt)
{
    pdm_loop_stmt *found = NULL;

    if (stmt->kind == PDM_LOOP_STORE)
        return stmt;
    for (pdm_loop_stmt *inner = stmt->body; inner; inner = inner->next) {
        if (found)
            return NULL;
        found = only_store_in(inner);
    }
    return found;
}

static bool mentions_loops_of(const pdm_loop_stmt *stmt, E e)
{
    if (stmt->kind == PDM_LOOP_FOR && pdm_loop_mentions(e, stmt->var))
        return true;
    for (const pdm_loop_stmt *inner = stmt->body; inner; inner = inner->next) {
        if (mentions_loops_of(inner, e))
            return true;
    }
    return false;
}

/* The outermost loop around that has nothing else in it, and of which the place of the result does
 * not depend. */
static pdm_loop_stmt *reduction_of(pdm_loop_fn *fn, pdm_loop_stmt *list, const pdm_loop_stmt *loop,
                                   const pdm_loop_stmt *store)
{
    for (; list; list = list->next) {
        if (!pdm_loop_contains(list, loop))
            continue;
        bool depends = only_store_in(list) != store || list->kind != PDM_LOOP_FOR ||
                       list->mark != PDM_LOOP_SERIAL;
        for (uint32_t d = 0; d < fn->buffers.v[store->buffer].rank; d++)
            depends = depends || mentions_loops_of(list, store->indices[d]);
        return depends ? reduction_of(fn, list->body, loop, store) : list;
    }
    return NULL;
}

/* Whether an extent is the same wherever it is asked for, so that it can be a dim. */
static bool is_fixed(E e)
{
    if (e->kind == PDM_LOOP_VAR || e->kind == PDM_LOOP_LOAD)
        return false;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!is_fixed(e->args[i]))
            return false;
    }
    return true;
}

/* The store of a reduction that can be divided, what it combines, and its outermost loop. */
static const char *find_reduction(pdm_loop_fn *fn, pdm_loop_stmt *loop, bool reassociate,
                                  pdm_loop_stmt **out_store, combination *c, pdm_loop_stmt **out_root)
{
    pdm_loop_stmt *store = loop->kind == PDM_LOOP_FOR ? only_store_in(loop) : NULL;

    if (!store || fn->flat)
        return "the body is not one statement that stores";
    if (loop->mark != PDM_LOOP_SERIAL)
        return NOT_SERIAL;
    const pdm_loop_buffer *b = &fn->buffers.v[store->buffer];
    if (b->rank >= PDM_MAX_RANK)
        return "there are too many axes";
    if (pdm_loop_is_shared_out(fn, loop))
        return "several turns are done at a time";
    const E sum = pdm_loop_load(fn, store->buffer, store->indices);
    if (!sum)
        return NO_MEMORY;
    if (!is_combination(store->value, sum, c))
        return "it is no reduction by an operation that is associative";
    if (pdm_dtype_is_float(b->dtype) && !reassociate)
        return "floats may not be added in another order";
    *out_store = store;
    *out_root = reduction_of(fn, fn->body, loop, store);
    if (!*out_root)
        return "the place of the result depends on the loop";
    return is_fixed(loop->extent) ? NULL : "the extent of the loop is not always the same";
}

/* Of another element of the same buffer: it would be read too early. */
static bool reads_others(pdm_loop_fn *fn, const pdm_loop_stmt *root, const pdm_loop_stmt *store)
{
    pdm_loop_accesses all = {0};
    bool other = !pdm_loop_collect(fn, root, false, &all);

    for (size_t i = 0; i < all.n; i++) {
        bool same = true;
        if (all.v[i].buffer != store->buffer)
            continue;
        for (uint32_t d = 0; d < fn->buffers.v[store->buffer].rank; d++)
            same = same && all.v[i].indices[d] == store->indices[d];
        other = other || !same;
    }
    PDM_VEC_FREE(&all);
    return other;
}

const char *pdm_loop_may_rfactor(pdm_loop_fn *fn, pdm_loop_stmt *loop, bool reassociate)
{
    pdm_loop_stmt *store, *root;
    combination c;
    const char *why = find_reduction(fn, loop, reassociate, &store, &c, &root);

    if (!why && reads_others(fn, root, store))
        why = "it reads other elements of what it stores";
    return fn->status != PDM_OK ? NO_MEMORY : why;
}

const char *pdm_loop_rfactor(pdm_loop_fn *fn, pdm_loop_stmt *loop, bool reassociate,
                             pdm_loop_partial *out_partial)
{
    const char *why = pdm_loop_may_rfactor(fn, loop, reassociate);
    pdm_loop_stmt *store, *root;
    combination c;

    if (!why)
        why = find_reduction(fn, loop, reassociate, &store, &c, &root);
    if (why)
        return why;
    const pdm_loop_buffer like = fn->buffers.v[store->buffer];
    const uint32_t partial = new_temp(fn, "r", &like, loop->extent);
    const uint32_t first = fn->num_vars++, last = fn->num_vars++;
    E at[PDM_MAX_RANK], begin[PDM_MAX_RANK], end[PDM_MAX_RANK];
    for (uint32_t d = 0; d < like.rank; d++)
        at[d] = begin[d] = end[d] = store->indices[d];
    at[like.rank] = pdm_loop_var(fn, loop->var);
    begin[like.rank] = pdm_loop_var(fn, first);
    end[like.rank] = pdm_loop_var(fn, last);
    const E merged = swapped(fn, store->value, c.term, pdm_loop_load(fn, partial, end));
    const E value = swapped(fn, store->value, c.sum, pdm_loop_load(fn, partial, at));
    pdm_loop_stmt *start = pdm_loop_for(
        fn, first, loop->extent, pdm_loop_store(fn, partial, begin, neutral_of(fn, &c, like.dtype)));
    pdm_loop_stmt *finish =
        pdm_loop_for(fn, last, loop->extent, pdm_loop_store(fn, store->buffer, store->indices, merged));
    const pdm_loop_stmt *inside = pdm_loop_store(fn, partial, at, value);
    if (fn->status != PDM_OK)
        return NO_MEMORY;
    pdm_loop_stmt **link = pdm_loop_link(&fn->body, root);
    store->buffer = partial;
    store->indices = inside->indices;
    store->value = value;
    *link = start;
    start->next = root;
    finish->next = root->next;
    root->next = finish;
    if (out_partial)
        *out_partial = (pdm_loop_partial){partial, start, finish};
    return NULL;
}
