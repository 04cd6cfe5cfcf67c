#include "cinn/loop_rewrite.h"

#include <stdlib.h>

typedef struct rewriting {
    pdm_loop_fn *fn;
    pdm_loop_rewrite_fn rewrite;
    void *user;
    const pdm_loop_expr **done; /* by expression that was there before */
    size_t count;
} rewriting;

static const pdm_loop_expr *rewrite(rewriting *r, const pdm_loop_expr *e)
{
    const pdm_loop_expr *args[PDM_MAX_RANK] = {NULL};
    bool same = true;

    if (!e || e->id >= r->count || e->num_args > PDM_MAX_RANK)
        return e;
    if (r->done[e->id])
        return r->done[e->id];
    for (uint32_t i = 0; i < e->num_args; i++) {
        args[i] = rewrite(r, e->args[i]);
        same = same && args[i] == e->args[i];
    }
    const pdm_loop_expr *made = r->fn->status == PDM_OK ? r->rewrite(r->user, r->fn, e, args) : NULL;
    if (!made)
        made = same ? e : pdm_loop_rebuild(r->fn, e, args);
    r->done[e->id] = made;
    return made;
}

static void rewrite_stmts(rewriting *r, pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR) {
            stmt->extent = rewrite(r, stmt->extent);
            rewrite_stmts(r, stmt->body);
            continue;
        }
        if (stmt->kind == PDM_LOOP_IF) {
            stmt->value = rewrite(r, stmt->value);
            rewrite_stmts(r, stmt->body);
            continue;
        }
        const uint32_t count = pdm_loop_num_indices(r->fn, stmt->buffer);
        const pdm_loop_expr **indices =
            pdm_arena_calloc(&r->fn->arena, (size_t)count + 1, sizeof *indices);
        if (!indices) {
            r->fn->status = PDM_NOMEM;
            return;
        }
        for (uint32_t i = 0; i < count; i++)
            indices[i] = rewrite(r, stmt->indices[i]);
        stmt->indices = indices;
        stmt->value = rewrite(r, stmt->value);
    }
}

bool pdm_loop_rewrite(pdm_loop_fn *fn, pdm_loop_stmt *stmts, pdm_loop_rewrite_fn hook, void *user)
{
    rewriting r = {.fn = fn, .rewrite = hook, .user = user, .count = fn->num_exprs};

    r.done = calloc(r.count + 1, sizeof *r.done);
    if (!r.done && fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
    if (fn->status == PDM_OK)
        rewrite_stmts(&r, stmts);
    free(r.done);
    return fn->status == PDM_OK;
}

typedef struct exchange {
    const pdm_loop_expr *from, *to;
} exchange;

static const pdm_loop_expr *exchanged(void *user, pdm_loop_fn *fn, const pdm_loop_expr *e, const pdm_loop_expr *const *args)
{
    const exchange *x = user;

    (void)fn;
    (void)args;
    return e == x->from ? x->to : NULL;
}

bool pdm_loop_exchange(pdm_loop_fn *fn, pdm_loop_stmt *stmts, const pdm_loop_expr *from, const pdm_loop_expr *to)
{
    exchange x = {from, to};

    return pdm_loop_rewrite(fn, stmts, exchanged, &x);
}

/* ---- flat functions -------------------------------------------------------------------------- */

/* Buffers keep their dims, so offsets can be told at any time. */
static const pdm_loop_expr *flat_load(void *user, pdm_loop_fn *fn, const pdm_loop_expr *e,
                                      const pdm_loop_expr *const *args)
{
    (void)user;
    if (e->kind != PDM_LOOP_LOAD)
        return NULL;
    const pdm_loop_expr *at = pdm_loop_offset(fn, e->u.index, args);
    return at ? pdm_loop_load(fn, e->u.index, &at) : NULL;
}

static void flat_stores(pdm_loop_fn *fn, pdm_loop_stmt *stmt)
{
    for (; stmt && fn->status == PDM_OK; stmt = stmt->next) {
        if (stmt->kind != PDM_LOOP_STORE) {
            flat_stores(fn, stmt->body);
            continue;
        }
        const pdm_loop_expr *at = pdm_loop_offset(fn, stmt->buffer, stmt->indices);
        const pdm_loop_expr **indices =
            pdm_arena_memdup(&fn->arena, &at, sizeof at);
        if (!indices && fn->status == PDM_OK)
            fn->status = PDM_NOMEM;
        stmt->indices = indices;
    }
}

bool pdm_loop_flatten(pdm_loop_fn *fn)
{
    if (fn->flat || fn->status != PDM_OK)
        return fn->status == PDM_OK;
    flat_stores(fn, fn->body);
    fn->flat = true; /* from here on a load has one index */
    return pdm_loop_rewrite(fn, fn->body, flat_load, NULL);
}
