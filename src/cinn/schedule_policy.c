/*
 * The arrangement of loops. For processors: whatever lies in memory without gaps becomes one loop,
 * which the code generator turns into vectors; the loops around it become one, whose turns threads
 * share.
 */
#include <stdio.h>

#include "cinn/lower.h"
#include "cinn/schedule.h"

/* Fuse from the innermost pair outwards; a pair that does not fuse is left and the next tried. */
static void fuse_plain(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    for (pdm_loop_stmt *inner = loop->body; inner; inner = inner->next) {
        if (inner->kind == PDM_LOOP_FOR)
            fuse_plain(fn, inner);
    }
    if (pdm_loop_inner(loop) && pdm_loop_fuses_plainly(fn, loop))
        pdm_loop_fuse(fn, loop);
}

static void fuse_all(pdm_loop_fn *fn)
{
    for (pdm_loop_stmt *loop = fn->body; loop && fn->status == PDM_OK; loop = loop->next) {
        if (loop->kind == PDM_LOOP_FOR)
            fuse_plain(fn, loop);
    }
}

static bool has_loops(const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR)
            return true;
    }
    return false;
}

/* The same on all machines: it is the order of sums. Two vectors of floats of the widest kind, since
 * one addition takes as long as several can be begun in. */
enum { LANES = 32, FEW_LANES = 16, LAST_LANES = 8, MANY = 128, AHEAD = 1024 };

/* Whether all places in memory move by one element or none in a turn, and some move. */
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

static int64_t turns_of(const pdm_loop_stmt *loop)
{
    return loop->extent->kind == PDM_LOOP_CONST ? loop->extent->u.i : INT64_MAX;
}

/* ---- across rows ----------------------------------------------------------------------------- */

/*
 * Whether a loop goes over reductions side by side, of what is not: over the columns of a matrix, each of which is begun, and then
 * goes over all rows. All columns are to be done row by row instead, which adds in the same order.
 */
static bool goes_across(pdm_loop_fn *fn, const pdm_loop_stmt *loop)
{
    const pdm_loop_stmt *start = loop->body, *rows = start ? start->next : NULL;

    if (loop->kind != PDM_LOOP_FOR || loop->mark != PDM_LOOP_SERIAL || turns_of(loop) < FEW_LANES || !rows || rows->next ||
        start->kind != PDM_LOOP_STORE || rows->kind != PDM_LOOP_FOR || !reads_in_line(fn, loop))
        return false;
    while (pdm_loop_inner(rows))
        rows = pdm_loop_inner(rows);
    return rows->body && rows->body->kind == PDM_LOOP_STORE && !rows->body->next && rows->body->buffer == start->buffer &&
           !reads_in_line(fn, rows);
}

/* The loop that goes across in a statement of nested loops; NULL: none does. */
static const pdm_loop_stmt *across_in(pdm_loop_fn *fn, const pdm_loop_stmt *stmt)
{
    while (stmt && stmt->kind == PDM_LOOP_FOR && !goes_across(fn, stmt))
        stmt = pdm_loop_inner(stmt);
    return stmt && stmt->kind == PDM_LOOP_FOR ? stmt : NULL;
}

/* Columns in parts, so that threads can share them: whole lines of the cache. 0: all together. */
static int64_t columns(const pdm_loop_stmt *loop)
{
    const int64_t turns = turns_of(loop);

    return turns >= 512 ? 512 : turns >= 128 ? 64 : 0;
}

/* The loop goes into that over rows, which takes some rows at once, one after the other: what has been added up by then is read and
 * stored once for all of them. */
static void turn_inside(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    enum { AT_ONCE = 4 };
    pdm_loop_stmt *rows = loop->body->next, *some, *list = NULL;

    if (!pdm_loop_inner(rows) && turns_of(rows) >= 2 * AT_ONCE && !pdm_loop_split(fn, rows, AT_ONCE, PDM_LOOP_TAIL, &some)) {
        for (int64_t i = 0; i < AT_ONCE && fn->status == PDM_OK; i++)
            pdm_loop_append(&list, pdm_loop_copy(fn, some->body, some->var, pdm_loop_index(fn, i)));
        rows->body = list;
    }
    if (fn->status == PDM_OK)
        pdm_loop_distribute(fn, loop);
}

static void do_rows(pdm_loop_fn *fn, pdm_loop_stmt *list, bool outermost)
{
    for (pdm_loop_stmt *stmt = list, *next; stmt && fn->status == PDM_OK; stmt = next) {
        next = stmt->next;
        if (stmt->kind != PDM_LOOP_FOR)
            continue;
        if (!goes_across(fn, stmt)) {
            do_rows(fn, stmt->body, false);
            continue;
        }
        pdm_loop_stmt *inner = stmt;
        if (outermost && columns(stmt) > 0 && !pdm_loop_split(fn, stmt, columns(stmt), PDM_LOOP_TAIL, &inner) &&
            stmt->next != next)
            turn_inside(fn, stmt->next); /* what is left over */
        turn_inside(fn, inner);
    }
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

/* Whether all loads of a buffer outside of its block have the variable of a loop as index of an axis. */
static bool is_index(const pdm_loop_accesses *all, uint32_t buffer, const pdm_loop_stmt *block, const pdm_loop_stmt *loop,
                     uint32_t axis)
{
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        if (a->buffer == buffer && !a->store && !pdm_loop_contains(block, a->stmt) &&
            (a->indices[axis]->kind != PDM_LOOP_VAR || a->indices[axis]->u.index != loop->var))
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
 * go with loops, when it is a reduction, and at least one, when it is not. What goes across rows is
 * computed for whole rows: not in the loop over their elements. NULL: there is none.
 */
static pdm_loop_stmt *row_loop(pdm_loop_fn *fn, uint32_t buffer, const pdm_loop_block *block,
                               const pdm_loop_accesses *all)
{
    const uint32_t axes = count_axes(block, fn->buffers.v[buffer].rank);
    const pdm_loop_stmt *across = across_in(fn, block->stmt);
    pdm_loop_stmt *found = NULL, *at = block->stmt->next;
    uint32_t depth = 0, row = 0;

    while (across && row < fn->buffers.v[buffer].rank && block->axes[row] != across)
        row++;
    if (across && row == fn->buffers.v[buffer].rank)
        return NULL;

    while (at && !(at->kind == PDM_LOOP_FOR && reads_stay_in(all, buffer, block->stmt, at)))
        at = at->next;
    while (at && at->kind == PDM_LOOP_FOR && reads_stay_in(all, buffer, block->stmt, at) &&
           has_own_part(fn, all, buffer, block->stmt, at) && !(across && is_index(all, buffer, block->stmt, at, row))) {
        found = at;
        depth++;
        for (at = at->body; at && at->kind != PDM_LOOP_FOR; at = at->next) {
        }
        while (at && !(at->kind == PDM_LOOP_FOR && reads_stay_in(all, buffer, block->stmt, at)))
            at = at->next;
    }
    return is_reduced(all, buffer, block->stmt) && depth < axes && !across ? NULL : found;
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

static bool stores_only_here(const pdm_loop_stmt *loop)
{
    for (const pdm_loop_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind != PDM_LOOP_STORE)
            return false;
    }
    return true;
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

/* ---- tiles ----------------------------------------------------------------------------------- */

enum { TILE = 32, MAX_NEST = 2 * PDM_MAX_RANK };

/* Loops that are one in the other, down to a single store; how many, or 0. */
static size_t nest_of(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_stmt *nest[MAX_NEST])
{
    size_t n = 0;

    for (; loop && n < MAX_NEST; loop = pdm_loop_inner(loop)) {
        if (loop->mark != PDM_LOOP_SERIAL || !pdm_loop_is_independent(fn, loop))
            return 0;
        nest[n++] = loop;
        if (!pdm_loop_inner(loop))
            return loop->body && loop->body->kind == PDM_LOOP_STORE && !loop->body->next ? n : 0;
    }
    return 0;
}

/* An input that is read along another loop than results are stored along, of all in the nest; the number of that loop, or SIZE_MAX. */
static size_t crossing(pdm_loop_fn *fn, pdm_loop_stmt *const *nest, size_t n)
{
    pdm_loop_accesses all = {0};
    size_t found = SIZE_MAX;
    bool in_line = pdm_loop_collect(fn, nest[n - 1], false, &all);

    for (size_t i = 0; in_line && i < all.n; i++)
        in_line = !all.v[i].store || pdm_loop_is_int(pdm_loop_step(fn, &all.v[i], nest[n - 1]), 1);
    for (size_t i = 0; in_line && i < all.n && found == SIZE_MAX; i++) {
        const pdm_loop_expr *step = pdm_loop_step(fn, &all.v[i], nest[n - 1]);
        if (all.v[i].store || fn->buffers.v[all.v[i].buffer].role != PDM_LOOP_INPUT || !step || pdm_loop_is_int(step, 0) ||
            pdm_loop_is_int(step, 1))
            continue;
        for (size_t k = 0; k + 1 < n; k++) {
            if (pdm_loop_is_int(pdm_loop_step(fn, &all.v[i], nest[k]), 1))
                found = k;
        }
    }
    PDM_VEC_FREE(&all);
    return fn->status == PDM_OK ? found : SIZE_MAX;
}

/* The first load of an input that lies side by side along a loop. */
static const pdm_loop_expr *load_along(pdm_loop_fn *fn, const pdm_loop_stmt *loop)
{
    pdm_loop_accesses all = {0};
    const pdm_loop_expr *found = NULL;
    const bool known = pdm_loop_collect(fn, loop, false, &all);

    for (size_t i = 0; known && i < all.n && !found; i++) {
        const pdm_loop_access *a = &all.v[i];
        if (!a->store && fn->buffers.v[a->buffer].role == PDM_LOOP_INPUT && pdm_loop_is_int(pdm_loop_step(fn, a, loop), 1))
            found = pdm_loop_load(fn, a->buffer, a->indices); /* the same expression: they are interned */
    }
    PDM_VEC_FREE(&all);
    return found;
}

/* The two loops in a tile first copy what is read to memory of its own. */
static bool keep_tile(pdm_loop_fn *fn, pdm_loop_stmt *tile, pdm_loop_stmt *inner, pdm_loop_stmt *last)
{
    const pdm_loop_expr *load = load_along(fn, last);
    const pdm_loop_expr *at[2] = {pdm_loop_var(fn, inner->var), pdm_loop_var(fn, last->var)};
    const pdm_loop_expr *dims[2] = {inner->extent, last->extent};

    if (!load)
        return false;
    char name[24];
    snprintf(name, sizeof name, "tile%zu", fn->buffers.n);
    const uint32_t kept = pdm_loop_add_buffer(fn, name, PDM_LOOP_TEMP, load->dtype, 2, dims);
    const pdm_loop_expr *from_tile = pdm_loop_load(fn, kept, at);
    pdm_loop_stmt *before = pdm_loop_copy(fn, inner, tile->var, pdm_loop_var(fn, tile->var));
    if (!from_tile || !before || !pdm_loop_inner(before))
        return false;
    const pdm_loop_expr *to[2] = {pdm_loop_var(fn, before->var), pdm_loop_var(fn, pdm_loop_inner(before)->var)};
    pdm_loop_stmt *store = pdm_loop_store(fn, kept, to, load_along(fn, pdm_loop_inner(before)));
    if (!store || !pdm_loop_exchange(fn, inner, load, from_tile))
        return false;
    pdm_loop_inner(before)->body = store;
    fn->buffers.v[kept].scope = PDM_LOOP_LOCAL;
    fn->buffers.v[kept].home = tile->var;
    before->next = inner;
    tile->body = before;
    return true;
}

/*
 * Where elements side by side are read in one loop and stored in another, as in a transposition, both go by tiles: one is read
 * along its rows into memory that stays in the cache, and stored from there along its columns.
 */
static void take_tiles(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    pdm_loop_stmt *nest[MAX_NEST], *order[MAX_NEST], *within, *part;
    const size_t n = nest_of(fn, loop, nest), k = n >= 2 ? crossing(fn, nest, n) : SIZE_MAX;
    size_t next = 0;

    if (k == SIZE_MAX || turns_of(nest[k]) < TILE || turns_of(nest[n - 1]) < TILE)
        return;
    pdm_loop_stmt *rows = nest[k], *columns_of = nest[n - 1];
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n)
            order[next++] = rows;
        if (i != k)
            order[next++] = nest[i];
    }
    if ((k + 2 < n && pdm_loop_reorder(fn, order, n)) || pdm_loop_split(fn, rows, TILE, PDM_LOOP_TAIL, &within) ||
        pdm_loop_split(fn, columns_of, TILE, PDM_LOOP_TAIL, &part) || pdm_loop_distribute(fn, within))
        return;
    pdm_loop_stmt *tile = rows->body, *inner = tile ? pdm_loop_inner(tile) : NULL, *last = inner ? pdm_loop_inner(inner) : NULL;
    if (last && keep_tile(fn, tile, inner, last))
        pdm_loop_reorder(fn, (pdm_loop_stmt *[]){last, inner}, 2);
}

/* ---- processors ------------------------------------------------------------------------------ */

static void share_out(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    if (!pdm_loop_is_independent(fn, loop))
        return; /* a reduction of everything */
    /* All but the innermost: dividing costs little there. */
    while (fn->status == PDM_OK && pdm_loop_inner(loop) && has_loops(pdm_loop_inner(loop)->body) &&
           pdm_loop_is_independent(fn, pdm_loop_inner(loop)) && !pdm_loop_fuse(fn, loop)) {
    }
    if (pdm_loop_inner(loop) && !has_loops(pdm_loop_inner(loop)->body) &&
        pdm_loop_is_independent(fn, pdm_loop_inner(loop)))
        pdm_loop_inner(loop)->mark = PDM_LOOP_VECTOR;
    loop->mark = PDM_LOOP_PARALLEL;
}

void pdm_cinn_schedule_cpu(pdm_loop_fn *fn, bool reassociate)
{
    join_rows(fn);
    for (pdm_loop_stmt *loop = fn->body, *next; loop && fn->status == PDM_OK; loop = next) {
        next = loop->next; /* not what tiles leave over */
        if (loop->kind == PDM_LOOP_FOR)
            take_tiles(fn, loop);
    }
    fuse_all(fn);
    do_rows(fn, fn->body, true);
    fuse_all(fn);
    if (reassociate)
        find_lanes(fn, fn->body, NULL);
    for (pdm_loop_stmt *loop = fn->body; loop && fn->status == PDM_OK; loop = loop->next) {
        if (loop->kind == PDM_LOOP_FOR && loop->mark == PDM_LOOP_SERIAL)
            share_out(fn, loop);
    }
    pdm_loop_flatten(fn);
}
