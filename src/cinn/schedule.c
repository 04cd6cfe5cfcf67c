/* Primitives: see schedule.h. */
#include "cinn/schedule.h"

#include <stdlib.h>

/* ---- variables in expressions ---------------------------------------------------------------- */

static bool index_mentions(const pdm_loop_expr *e, uint32_t var)
{
    if (e->kind == PDM_LOOP_VAR)
        return e->u.index == var;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (index_mentions(e->args[i], var))
            return true;
    }
    return false;
}

const pdm_loop_expr *pdm_loop_coefficient(pdm_loop_fn *fn, const pdm_loop_expr *e, uint32_t var)
{
    const bool binary = e->kind == PDM_LOOP_BINARY;

    if (e->kind == PDM_LOOP_VAR && e->u.index == var)
        return pdm_loop_index(fn, 1);
    if (binary && (e->op == PDM_LOOP_ADD || e->op == PDM_LOOP_MUL)) {
        const pdm_loop_expr *a = pdm_loop_coefficient(fn, e->args[0], var);
        const pdm_loop_expr *b = pdm_loop_coefficient(fn, e->args[1], var);
        if (!a || !b)
            return NULL;
        if (e->op == PDM_LOOP_ADD)
            return pdm_loop_binary(fn, PDM_LOOP_ADD, a, b);
        if (pdm_loop_is_int(a, 0))
            return pdm_loop_binary(fn, PDM_LOOP_MUL, e->args[0], b);
        return pdm_loop_is_int(b, 0) ? pdm_loop_binary(fn, PDM_LOOP_MUL, a, e->args[1]) : NULL;
    }
    return index_mentions(e, var) ? NULL : pdm_loop_index(fn, 0);
}

static const pdm_loop_expr *replace_var(void *user, pdm_loop_fn *fn, const pdm_loop_expr *e,
                                        const pdm_loop_expr *const *args)
{
    const pdm_loop_expr *const *with = user;

    (void)fn;
    (void)args;
    return e->kind == PDM_LOOP_VAR ? with[e->u.index] : NULL;
}

bool pdm_loop_substitute(pdm_loop_fn *fn, pdm_loop_stmt *stmt, const pdm_loop_expr **with)
{
    return pdm_loop_rewrite(fn, stmt, replace_var, with);
}

/* ---- independence ---------------------------------------------------------------------------- */

/* Loops are made so that a store whose index depends on a variable goes to another place for each
 * value of it. A buffer that is stored is read only where it was stored in the same turn. */
static bool stores_elsewhere(const pdm_loop_fn *fn, const pdm_loop_stmt *stmt, uint32_t var)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR) {
            if (!stores_elsewhere(fn, stmt->body, var))
                return false;
            continue;
        }
        bool depends = false;
        for (uint32_t i = 0; i < pdm_loop_num_indices(fn, stmt->buffer); i++)
            depends = depends || index_mentions(stmt->indices[i], var);
        if (!depends)
            return false;
    }
    return true;
}

bool pdm_loop_is_independent(const pdm_loop_fn *fn, const pdm_loop_stmt *loop)
{
    return loop->kind == PDM_LOOP_FOR && stores_elsewhere(fn, loop->body, loop->var);
}

/* ---- fuse ------------------------------------------------------------------------------------ */

static pdm_loop_stmt *only_loop(const pdm_loop_stmt *outer)
{
    pdm_loop_stmt *inner = outer->kind == PDM_LOOP_FOR ? outer->body : NULL;

    return inner && inner->kind == PDM_LOOP_FOR && !inner->next && outer->mark == PDM_LOOP_SERIAL &&
                   inner->mark == PDM_LOOP_SERIAL && !index_mentions(inner->extent, outer->var)
               ? inner
               : NULL;
}

bool pdm_loop_fuse(pdm_loop_fn *fn, pdm_loop_stmt *outer)
{
    pdm_loop_stmt *inner = only_loop(outer);

    if (!inner || fn->status != PDM_OK)
        return false;
    const uint32_t var = fn->num_vars++;
    const pdm_loop_expr *v = pdm_loop_var(fn, var);
    const pdm_loop_expr *extent = pdm_loop_binary(fn, PDM_LOOP_MUL, outer->extent, inner->extent);
    const pdm_loop_expr **with = calloc(fn->num_vars, sizeof *with);
    if (!with)
        fn->status = PDM_NOMEM;
    if (with && v && extent) {
        with[outer->var] = pdm_loop_binary(fn, PDM_LOOP_DIV, v, inner->extent);
        with[inner->var] = pdm_loop_binary(fn, PDM_LOOP_MOD, v, inner->extent);
        pdm_loop_substitute(fn, inner->body, with);
    }
    free(with);
    outer->var = var;
    outer->extent = extent;
    outer->body = inner->body;
    return fn->status == PDM_OK;
}

/* ---- whether fusing is plain ----------------------------------------------------------------- */

typedef struct plainness {
    pdm_loop_fn *fn;
    const pdm_loop_stmt *outer, *inner;
    bool *seen; /* expressions that were looked at */
    size_t count;
} plainness;

static bool steps_equally(const plainness *p, uint32_t buffer, const pdm_loop_expr *const *indices)
{
    const pdm_loop_expr *at = pdm_loop_offset(p->fn, buffer, indices);
    const pdm_loop_expr *a = at ? pdm_loop_coefficient(p->fn, at, p->outer->var) : NULL;
    const pdm_loop_expr *b = at ? pdm_loop_coefficient(p->fn, at, p->inner->var) : NULL;

    return a && b && a == pdm_loop_binary(p->fn, PDM_LOOP_MUL, b, p->inner->extent);
}

static bool plain_expr(plainness *p, const pdm_loop_expr *e)
{
    if (e->id < p->count && p->seen[e->id])
        return true;
    if (e->id < p->count)
        p->seen[e->id] = true;
    if (e->kind == PDM_LOOP_VAR)
        return e->u.index != p->outer->var && e->u.index != p->inner->var;
    if (e->kind == PDM_LOOP_LOAD)
        return steps_equally(p, e->u.index, e->args);
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!plain_expr(p, e->args[i]))
            return false;
    }
    return true;
}

static bool plain_stmts(plainness *p, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        const bool plain = stmt->kind == PDM_LOOP_FOR
                               ? plain_stmts(p, stmt->body)
                               : steps_equally(p, stmt->buffer, stmt->indices) &&
                                     plain_expr(p, stmt->value);
        if (!plain)
            return false;
    }
    return true;
}

bool pdm_loop_fuses_plainly(pdm_loop_fn *fn, pdm_loop_stmt *outer)
{
    plainness p = {.fn = fn, .outer = outer, .inner = only_loop(outer), .count = fn->num_exprs};

    if (!p.inner || fn->status != PDM_OK)
        return false;
    p.seen = calloc(p.count + 1, sizeof *p.seen);
    if (!p.seen)
        fn->status = PDM_NOMEM;
    const bool plain = p.seen && plain_stmts(&p, p.inner->body);
    free(p.seen);
    return plain && fn->status == PDM_OK;
}
