/*
 * The arrangement of loops for GPUs. Loops whose turns are independent become one. Where a reduction is
 * left in it over elements side by side, a row of threads does a turn, a warp or a block. Over elements
 * that are not, and where turns are not enough for a thread each, turns side by side go to threads
 * side by side, and rows of those share the terms. Else a thread does a turn.
 */
#include <stdlib.h>

#include "cinn/gpu.h"
#include "cinn/lower.h"
#include "cinn/schedule.h"

enum {
    FEW_TERMS = 16,    /* below, one thread adds up as fast */
    WARP_TERMS = 512,  /* up to that many a warp does it, without waiting for others */
    FEW_TURNS = 2048,  /* so many are taken for a number that is not known */
    ENOUGH_TURNS = 1 << 17, /* threads that keep a device busy */
    ENOUGH_BLOCKS = 512,
    MANY_TERMS = 1 << 15, /* with few turns, several blocks share those of one */
    LEAST_TERMS = 16        /* of a thread then */
};

/* Loops that add up over several axes become one. */
static void fuse_sums(pdm_loop_fn *fn, pdm_loop_stmt *stmt)
{
    for (; stmt && fn->status == PDM_OK; stmt = stmt->next) {
        fuse_sums(fn, stmt->body);
        if (stmt->kind != PDM_LOOP_FOR)
            continue;
        while (pdm_loop_inner(stmt) && !pdm_loop_fuse(fn, stmt)) {
        }
    }
}

static int64_t number_or(const pdm_loop_expr *extent, int64_t other)
{
    return extent->kind == PDM_LOOP_CONST ? extent->u.i : other;
}

typedef struct walk {
    pdm_loop_fn *fn;
    uint32_t var;
    bool *seen;
    size_t count;
} walk;

/* Whether a load moves by one element a turn. */
static bool has_unit_step(walk *w, const pdm_loop_expr *e)
{
    if (e->id >= w->count || w->seen[e->id])
        return false;
    w->seen[e->id] = true;
    if (e->kind == PDM_LOOP_LOAD) {
        const pdm_loop_expr *at = pdm_loop_offset(w->fn, e->u.index, e->args);
        const pdm_loop_expr *by = at ? pdm_loop_coefficient(w->fn, at, w->var) : NULL;
        return pdm_loop_is_int(by, 1);
    }
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (has_unit_step(w, e->args[i]))
            return true;
    }
    return false;
}

static bool adds_up_neighbours(pdm_loop_fn *fn, const pdm_loop_stmt *loop)
{
    walk w = {.fn = fn, .var = loop->var, .count = fn->num_exprs};
    bool found = false;

    w.seen = calloc(w.count + 1, sizeof *w.seen);
    if (!w.seen)
        fn->status = PDM_NOMEM;
    for (const pdm_loop_stmt *s = pdm_cinn_gpu_terms(loop); w.seen && s && !found; s = s->next)
        found = has_unit_step(&w, s->value);
    free(w.seen);
    return found;
}

/* What threads could share in the body of a loop: terms of the largest reduction; 0: nothing. */
static int64_t terms_of(pdm_loop_fn *fn, const pdm_loop_stmt *body, bool *out_neighbours)
{
    int64_t terms = 0;

    for (const pdm_loop_stmt *s = body; s; s = s->next) {
        if (!pdm_cinn_gpu_is_reduction(fn, s))
            continue;
        const int64_t n = number_or(s->extent, WARP_TERMS);
        terms = n > terms ? n : terms;
        *out_neighbours = *out_neighbours || adds_up_neighbours(fn, s);
    }
    return terms;
}

static void share_body(pdm_loop_fn *fn, pdm_loop_stmt *body, pdm_loop_mark mark)
{
    for (; body && fn->status == PDM_OK; body = body->next) {
        if (body->kind == PDM_LOOP_IF)
            share_body(fn, body->body, mark);
        else if (body->kind == PDM_LOOP_FOR && pdm_loop_bind_reduction(fn, body, mark, true))
            pdm_loop_bind(fn, body, mark);
    }
}

/* So many turns are a block's, a thread each. */
static pdm_loop_stmt *share(pdm_loop_fn *fn, pdm_loop_stmt *loop, int64_t turns, pdm_loop_mark mark)
{
    pdm_loop_stmt *inner = loop;

    if (number_or(loop->extent, INT64_MAX) > turns) {
        if (pdm_loop_split(fn, loop, turns, PDM_LOOP_GUARD, &inner))
            return loop;
        pdm_loop_bind(fn, loop, PDM_LOOP_BLOCK_X);
    }
    pdm_loop_bind(fn, inner, mark);
    return inner;
}

/*
 * The terms of a sum are divided among blocks, each of which leaves one result; these are added up by another
 * kernel. How many there are depends on the extent alone, so results do not depend on the device. blocks: at
 * most; threads: of a block, that share its terms.
 */
static bool divide(pdm_loop_fn *fn, pdm_loop_stmt *sum, int64_t blocks, int64_t threads, pdm_loop_partial *out)
{
    const int64_t terms = number_or(sum->extent, 0);

    if (terms < MANY_TERMS || blocks < 2)
        return false;
    const int64_t each = (terms - 1) / (blocks * threads) + 1; /* terms of a thread */
    const int64_t chunk = (each < LEAST_TERMS ? LEAST_TERMS : each) * threads;
    return !pdm_loop_may_rfactor(fn, sum, true) && !pdm_loop_split(fn, sum, chunk, PDM_LOOP_GUARD, NULL) &&
           !pdm_loop_rfactor(fn, sum, true, out);
}

/* The same inside of a loop of few turns: it becomes three, of which those behind it are arranged later. */
static void divide_in(pdm_loop_fn *fn, pdm_loop_stmt *loop, bool neighbours)
{
    const int64_t turns = number_or(loop->extent, FEW_TURNS);
    pdm_loop_stmt *sum = loop->body, *turns_of_sum;
    pdm_loop_partial partial;

    while (sum && !pdm_cinn_gpu_is_reduction(fn, sum))
        sum = sum->next;
    if (!sum || turns < 1 || !pdm_loop_is_independent(fn, loop) ||
        !divide(fn, sum, neighbours ? ENOUGH_BLOCKS / turns : ENOUGH_BLOCKS / ((turns - 1) / PDM_CINN_WARP + 1),
                neighbours ? PDM_CINN_BLOCK : PDM_CINN_ROWS, &partial))
        return;
    if (!pdm_loop_fission(fn, loop, sum, &turns_of_sum) && !pdm_loop_fission(fn, turns_of_sum, partial.finish, NULL) &&
        !neighbours) /* threads side by side are those of the turns */
        pdm_loop_reorder(fn, (pdm_loop_stmt *[]){sum, turns_of_sum}, 2);
}

/* A loop whose turns are independent. */
static void arrange(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    bool neighbours = false, still = false;
    const int64_t turns = number_or(loop->extent, FEW_TURNS);

    fuse_sums(fn, loop->body);
    if (fn->status != PDM_OK) /* values are missing then */
        return;
    int64_t terms = terms_of(fn, loop->body, &neighbours);
    if (terms >= MANY_TERMS) {
        divide_in(fn, loop, neighbours);
        if (fn->status != PDM_OK)
            return;
        terms = terms_of(fn, loop->body, &still);
        neighbours = neighbours && still;
    }
    if (terms < FEW_TERMS || (!neighbours && turns >= ENOUGH_TURNS)) {
        share(fn, loop, PDM_CINN_BLOCK, PDM_LOOP_THREAD_X);
    } else if (!neighbours && turns >= PDM_CINN_WARP) {
        share_body(fn, share(fn, loop, PDM_CINN_WARP, PDM_LOOP_THREAD_X)->body, PDM_LOOP_THREAD_Y);
    } else if (terms <= WARP_TERMS) {
        share_body(fn, share(fn, loop, PDM_CINN_ROWS, PDM_LOOP_THREAD_Y)->body, PDM_LOOP_THREAD_X);
    } else {
        pdm_loop_bind(fn, loop, PDM_LOOP_BLOCK_X);
        share_body(fn, loop->body, PDM_LOOP_THREAD_X);
    }
}

/* ---- transposes ------------------------------------------------------------------------------ */

enum { MAX_CHAIN = 8, MAX_TILES = 4, TILE = 32, LEAST_SIDE = 16 };

typedef struct chain {
    pdm_loop_stmt *loops[MAX_CHAIN];
    uint32_t n;
} chain;

/* Loops that have nothing else in them but a store; what moves by equal steps is one loop before. */
static bool find_chain(pdm_loop_fn *fn, pdm_loop_stmt *loop, chain *out)
{
    out->n = 0;
    for (; loop; loop = pdm_loop_inner(loop)) {
        while (pdm_loop_fuses_plainly(fn, loop) && !pdm_loop_fuse(fn, loop)) {
        }
        if (out->n == MAX_CHAIN || !pdm_loop_is_independent(fn, loop))
            return false;
        out->loops[out->n++] = loop;
    }
    const pdm_loop_stmt *body = out->n ? out->loops[out->n - 1]->body : NULL;
    return out->n >= 2 && body && body->kind == PDM_LOOP_STORE && !body->next;
}

/* Buffers that are read side by side in turns of another loop than the last, which is the same for all; the
 * number of that loop, or that of the last if there is none. */
static uint32_t find_crossing(pdm_loop_fn *fn, const chain *c, uint32_t buffers[MAX_TILES], uint32_t *out_count)
{
    const pdm_loop_stmt *last = c->loops[c->n - 1], *store = last->body;
    const pdm_loop_access stored = {.buffer = store->buffer, .indices = store->indices};
    pdm_loop_accesses all = {0};
    uint32_t cross = c->n - 1;

    *out_count = 0;
    if (!pdm_loop_is_int(pdm_loop_step(fn, &stored, last), 1) ||
        !pdm_loop_collect(fn, store, false, &all))
        return cross;
    for (size_t i = 0; i < all.n && *out_count < MAX_TILES; i++) {
        const pdm_loop_access *a = &all.v[i];
        const pdm_loop_expr *step = a->store ? NULL : pdm_loop_step(fn, a, last);
        if (!step || pdm_loop_is_int(step, 1) || pdm_loop_is_int(step, 0) || a->buffer == store->buffer)
            continue;
        for (uint32_t k = 0; k + 1 < c->n; k++) {
            if ((cross != c->n - 1 && cross != k) ||
                !pdm_loop_is_int(pdm_loop_step(fn, a, c->loops[k]), 1))
                continue;
            cross = k;
            buffers[(*out_count)++] = a->buffer;
            break;
        }
    }
    PDM_VEC_FREE(&all);
    return cross;
}

/* Tiles of 32 by 32 elements are read along one axis and stored along the other. */
static bool transpose(pdm_loop_fn *fn, pdm_loop_stmt **at)
{
    uint32_t buffers[MAX_TILES], count;
    pdm_loop_stmt *order[MAX_CHAIN], *read_part, *store_part;
    pdm_loop_tile tile;
    chain c;

    if (!find_chain(fn, *at, &c))
        return false;
    const uint32_t cross = find_crossing(fn, &c, buffers, &count);
    pdm_loop_stmt *read = c.loops[cross], *store = c.loops[c.n - 1];
    if (count == 0 || number_or(read->extent, TILE) < LEAST_SIDE || number_or(store->extent, TILE) < LEAST_SIDE)
        return false;
    for (uint32_t i = 0, n = 0; i < c.n - 1; i++) {
        if (i != cross)
            order[n++] = c.loops[i];
    }
    order[c.n - 2] = read;
    order[c.n - 1] = store;
    if (pdm_loop_reorder(fn, order, c.n) || pdm_loop_split(fn, store, TILE, PDM_LOOP_GUARD, &store_part) ||
        pdm_loop_reorder(fn, (pdm_loop_stmt *[]){store, read}, 2) ||
        pdm_loop_split(fn, read, TILE, PDM_LOOP_GUARD, &read_part))
        return false;
    while (pdm_loop_inner(*at) != read_part && !pdm_loop_fuse(fn, *at)) {
    }
    if (pdm_loop_inner(*at) != read_part || pdm_loop_bind(fn, *at, PDM_LOOP_BLOCK_X))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (pdm_loop_stage(fn, buffers[i], read_part, store_part, &tile))
            continue;
        pdm_loop_bind(fn, tile.outer, PDM_LOOP_THREAD_Y);
        pdm_loop_bind(fn, tile.inner, PDM_LOOP_THREAD_X);
    }
    pdm_loop_bind(fn, read_part, PDM_LOOP_THREAD_Y);
    pdm_loop_bind(fn, store_part, PDM_LOOP_THREAD_X);
    return true;
}

/* ---- all nests ------------------------------------------------------------------------------- */

void pdm_cinn_schedule_gpu(pdm_loop_fn *fn)
{
    for (uint32_t i = 0; i < fn->buffers.n; i++) {
        if (fn->buffers.v[i].repeatable)
            pdm_loop_compute_inline(fn, i);
    }
    for (pdm_loop_stmt **at = &fn->body; *at && fn->status == PDM_OK; at = &(*at)->next) {
        if ((*at)->kind != PDM_LOOP_FOR || transpose(fn, at))
            continue;
        pdm_loop_stmt *loop = *at;
        if (!pdm_loop_is_independent(fn, loop)) { /* what is added up to one element is done by one block */
            while (pdm_loop_inner(loop) && !pdm_loop_fuse(fn, loop)) {
            }
            pdm_loop_partial partial;
            if (divide(fn, loop, ENOUGH_BLOCKS, PDM_CINN_BLOCK, &partial))
                arrange(fn, partial.start);
            else
                pdm_loop_bind_reduction(fn, loop, PDM_LOOP_THREAD_X, true);
            continue;
        }
        while (fn->status == PDM_OK && pdm_loop_inner(loop) &&
               pdm_loop_is_independent(fn, pdm_loop_inner(loop)) && !pdm_loop_fuse(fn, loop)) {
        }
        arrange(fn, loop);
    }
    pdm_loop_flatten(fn);
}
