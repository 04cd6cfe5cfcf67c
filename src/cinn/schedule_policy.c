/*
 * The arrangement of loops. For processors: whatever lies in memory without gaps becomes one loop,
 * which the code generator turns into vectors; the loops around it become one, whose turns threads
 * share.
 */
#include "cinn/lower.h"
#include "cinn/schedule.h"

static pdm_loop_stmt *inner_of(const pdm_loop_stmt *loop)
{
    pdm_loop_stmt *body = loop->body;

    return body && body->kind == PDM_LOOP_FOR && !body->next ? body : NULL;
}

/* Fuse from the innermost pair outwards; a pair that does not fuse is left and the next tried. */
static void fuse_plain(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    for (pdm_loop_stmt *inner = loop->body; inner; inner = inner->next) {
        if (inner->kind == PDM_LOOP_FOR)
            fuse_plain(fn, inner);
    }
    if (inner_of(loop) && pdm_loop_fuses_plainly(fn, loop))
        pdm_loop_fuse(fn, loop);
}

static bool has_loops(const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR)
            return true;
    }
    return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Whether all loads of a buffer outside of its block are in the body of a loop. */
static bool reads_stay_in(const pdm_loop_accesses *all, uint32_t buffer, const pdm_loop_stmt *block,
                          const pdm_loop_stmt *loop)
{
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        if (a->buffer == buffer && !a->store && !pdm_loop_contains(block, a->stmt) &&
            (a->stmt == loop || !pdm_loop_contains(loop, a->stmt)))
            return false;
    }
    return true;
}

/* Whether a turn of a loop reads what no other turn does: its variable is an index of all loads. */
static bool has_own_part(const pdm_loop_fn *fn, const pdm_loop_accesses *all, uint32_t buffer,
                         const pdm_loop_stmt *block, const pdm_loop_stmt *loop)
{
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        bool is_index = false;
        if (a->buffer != buffer || a->store || pdm_loop_contains(block, a->stmt))
            continue;
        for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++)
            is_index = is_index || (a->indices[d]->kind == PDM_LOOP_VAR &&
                                    a->indices[d]->u.index == loop->var);
        if (!is_index)
            return false;
    }
    return true;
}

static bool is_reduced(const pdm_loop_accesses *all, uint32_t buffer, const pdm_loop_stmt *block)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->v[i].buffer == buffer && !all->v[i].store && pdm_loop_contains(block, all->v[i].stmt))
            return true;
    }
    return false;
}

/* Axes that are more than one element. */
static uint32_t count_axes(const pdm_loop_block *block, uint32_t rank)
{
    uint32_t n = 0;

    for (uint32_t d = 0; d < rank; d++)
        n += block->axes[d] != NULL;
    return n;
}

/*
 * The loop in whose turns a temporary would be computed part by part, each once: that all its axes
 * go with loops, when it is a reduction, and at least one, when it is not. NULL: there is none.
 */
static pdm_loop_stmt *row_loop(pdm_loop_fn *fn, uint32_t buffer, const pdm_loop_block *block,
                               const pdm_loop_accesses *all)
{
    const uint32_t axes = count_axes(block, fn->buffers.v[buffer].rank);
    pdm_loop_stmt *found = NULL, *at = block->stmt->next;
    uint32_t depth = 0;

    while (at && !(at->kind == PDM_LOOP_FOR && reads_stay_in(all, buffer, block->stmt, at)))
        at = at->next;
    while (at && at->kind == PDM_LOOP_FOR && reads_stay_in(all, buffer, block->stmt, at) &&
           has_own_part(fn, all, buffer, block->stmt, at)) {
        found = at;
        depth++;
        for (at = at->body; at && at->kind != PDM_LOOP_FOR; at = at->next) {
        }
        while (at && !(at->kind == PDM_LOOP_FOR && reads_stay_in(all, buffer, block->stmt, at)))
            at = at->next;
    }
    return is_reduced(all, buffer, block->stmt) && depth < axes ? NULL : found;
}

/* What is stored between parts of a row is computed row by row, so that it is in the cache when it
 * is read. The last first: what it is made of may follow it. */
static void join_rows(pdm_loop_fn *fn)
{
    for (size_t i = fn->buffers.n; i-- > 0 && fn->status == PDM_OK;) {
        const uint32_t buffer = (uint32_t)i;
        pdm_loop_accesses all = {0};
        pdm_loop_block block;
        if (fn->buffers.v[i].role != PDM_LOOP_TEMP || pdm_loop_find_block(fn, buffer, &block) ||
            !pdm_loop_collect(fn, fn->body, true, &all))
            continue;
        pdm_loop_stmt *row = row_loop(fn, buffer, &block, &all);
        PDM_VEC_FREE(&all);
        const char *why = row ? pdm_loop_compute_at(fn, buffer, row) : "";
        if (!why)
            why = pdm_loop_keep_in(fn, buffer, row, PDM_LOOP_LOCAL);
        if (why && fn->buffers.v[i].repeatable) /* too large: memory costs more */
            pdm_loop_compute_inline(fn, buffer);
    }
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* The same on all machines: it is the order of sums. Two vectors of floats of the widest kind, since
 * one addition takes as long as several can be begun in. */
enum { LANES = 32, FEW_LANES = 16, LAST_LANES = 8, MANY = 128, AHEAD = 1024 };


static bool stores_only_here(const pdm_loop_stmt *loop)
{
    for (const pdm_loop_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind != PDM_LOOP_STORE)
            return false;
    }
    return true;
}

static bool reads_in_line(pdm_loop_fn *fn, const pdm_loop_stmt *loop)
{
    pdm_loop_accesses all = {0};
    bool in_line = pdm_loop_collect(fn, loop, false, &all), moves = false;

    for (size_t i = 0; in_line && i < all.n; i++) {
        const pdm_loop_expr *at = pdm_loop_offset(fn, all.v[i].buffer, all.v[i].indices);
        const pdm_loop_expr *step = at ? pdm_loop_coefficient(fn, at, loop->var) : NULL;
        in_line = step && (pdm_loop_is_int(step, 0) || pdm_loop_is_int(step, 1));
        moves = moves || (step && pdm_loop_is_int(step, 1));
    }
    PDM_VEC_FREE(&all);
    return in_line && moves && fn->status == PDM_OK;
}

/* A reduction has a result for each of some turns side by side; all are combined behind it. */
static bool divide(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_stmt *around, int64_t lanes,
                   pdm_loop_partial *partial)
{
    /* The row behind this one comes while this one is worked on. */
    const int64_t turns = loop->extent->kind == PDM_LOOP_CONST ? loop->extent->u.i : AHEAD;
    const int64_t ahead = turns < AHEAD ? (AHEAD + turns - 1) / turns * turns : turns;
    pdm_loop_stmt *inner;

    if (pdm_loop_split(fn, loop, lanes, PDM_LOOP_TAIL, &inner) ||
        pdm_loop_rfactor(fn, inner, true, partial))
        return false;
    if (around)
        pdm_loop_keep_in(fn, partial->buffer, around, PDM_LOOP_LOCAL);
    pdm_loop_vectorize(fn, inner);
    pdm_loop_vectorize(fn, partial->start);
    pdm_loop_annotate(fn, inner, PDM_LOOP_AHEAD, ahead);
    return true;
}

static void take_lanes(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_stmt *around)
{
    const int64_t turns = loop->extent->kind == PDM_LOOP_CONST ? loop->extent->u.i : INT64_MAX;
    const int64_t lanes = turns < MANY ? FEW_LANES : LANES;
    pdm_loop_partial partial, last;

    if (turns < 2 * FEW_LANES || !loop->body || loop->body->kind != PDM_LOOP_STORE || loop->body->next ||
        loop->mark != PDM_LOOP_SERIAL || pdm_loop_may_rfactor(fn, loop, true) ||
        !reads_in_line(fn, loop) || !divide(fn, loop, around, lanes, &partial))
        return;
    /* The results, too, are combined side by side, as long as there are many. */
    pdm_loop_stmt *finish = partial.finish;
    if (around && divide(fn, finish, around, LAST_LANES, &last)) {
        pdm_loop_unroll(fn, finish);
        finish = last.finish;
    }
    pdm_loop_unroll(fn, finish);
}

/* What is computed element by element, and lies side by side. */
static void take_line(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    const int64_t turns = loop->extent->kind == PDM_LOOP_CONST ? loop->extent->u.i : INT64_MAX;
    pdm_loop_stmt *inner;

    if (turns < 2 * FEW_LANES || loop->mark != PDM_LOOP_SERIAL || !stores_only_here(loop) ||
        !pdm_loop_is_independent(fn, loop) || !reads_in_line(fn, loop) ||
        pdm_loop_split(fn, loop, FEW_LANES, PDM_LOOP_TAIL, &inner))
        return;
    pdm_loop_vectorize(fn, inner);
    pdm_loop_annotate(fn, inner, PDM_LOOP_AHEAD, AHEAD);
}

static void find_lanes(pdm_loop_fn *fn, pdm_loop_stmt *list, pdm_loop_stmt *around)
{
    for (pdm_loop_stmt *stmt = list, *next; stmt && fn->status == PDM_OK; stmt = next) {
        next = stmt->next;
        if (stmt->kind != PDM_LOOP_FOR)
            continue;
        const bool reduces = stmt->body && stmt->body->kind == PDM_LOOP_STORE && !stmt->body->next;
        const pdm_loop_mark mark = stmt->mark;
        if (reduces)
            take_lanes(fn, stmt, around);
        if (stmt->next == next && mark == stmt->mark && stores_only_here(stmt))
            take_line(fn, stmt);
        else if (!reduces)
            find_lanes(fn, stmt->body, stmt);
    }
}

/* ---- processors ------------------------------------------------------------------------------ */

static void share_out(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    if (!pdm_loop_is_independent(fn, loop))
        return; /* a reduction of everything */
    /* All but the innermost: dividing costs little there. */
    while (fn->status == PDM_OK && inner_of(loop) && has_loops(inner_of(loop)->body) &&
           pdm_loop_is_independent(fn, inner_of(loop)) && !pdm_loop_fuse(fn, loop)) {
    }
    if (inner_of(loop) && !has_loops(inner_of(loop)->body) &&
        pdm_loop_is_independent(fn, inner_of(loop)))
        inner_of(loop)->mark = PDM_LOOP_VECTOR;
    loop->mark = PDM_LOOP_PARALLEL;
}

void pdm_cinn_schedule_cpu(pdm_loop_fn *fn, bool reassociate)
{
    join_rows(fn);
    for (pdm_loop_stmt *loop = fn->body; loop && fn->status == PDM_OK; loop = loop->next) {
        if (loop->kind == PDM_LOOP_FOR)
            fuse_plain(fn, loop);
    }
    if (reassociate)
        find_lanes(fn, fn->body, NULL);
    for (pdm_loop_stmt *loop = fn->body; loop && fn->status == PDM_OK; loop = loop->next) {
        if (loop->kind == PDM_LOOP_FOR && loop->mark == PDM_LOOP_SERIAL)
            share_out(fn, loop);
    }
    pdm_loop_flatten(fn);
}
