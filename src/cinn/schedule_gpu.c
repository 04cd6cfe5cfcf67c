/*
 * The arrangement of loops for GPUs. Loops whose turns are independent become one. If only a
 * reduction is left in it, over elements side by side, or there are few turns, a warp or a block
 * does a turn; else a thread does, so that elements side by side go to threads side by side.
 */
#include <stdlib.h>

#include "cinn/gpu.h"
#include "cinn/lower.h"
#include "cinn/schedule.h"

enum {
    FEW_TERMS = 16,    /* below, one thread adds up as fast */
    WARP_TERMS = 512,  /* up to that many a warp does it, without waiting for others */
    FEW_TURNS = 2048   /* too few threads to keep a device busy */
};

static pdm_loop_stmt *inner_of(const pdm_loop_stmt *loop)
{
    pdm_loop_stmt *body = loop->body;

    return body && body->kind == PDM_LOOP_FOR && !body->next ? body : NULL;
}

/* Loops that add up over several axes become one. */
static void fuse_sums(pdm_loop_fn *fn, pdm_loop_stmt *stmt)
{
    for (; stmt && fn->status == PDM_OK; stmt = stmt->next) {
        fuse_sums(fn, stmt->body);
        if (stmt->kind != PDM_LOOP_FOR)
            continue;
        while (inner_of(stmt) && !pdm_loop_fuse(fn, stmt)) {
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
    for (const pdm_loop_stmt *s = loop->body; w.seen && s && !found; s = s->next)
        found = has_unit_step(&w, s->value);
    free(w.seen);
    return found;
}

/* What a team could share in the body of a loop: terms of the largest reduction; 0: nothing. */
static int64_t terms_of(pdm_loop_fn *fn, const pdm_loop_stmt *body, bool *out_neighbours)
{
    int64_t terms = 0;

    for (const pdm_loop_stmt *s = body; s; s = s->next) {
        if (!pdm_cinn_gpu_is_tree(fn, s))
            continue;
        const int64_t n = number_or(s->extent, WARP_TERMS);
        terms = n > terms ? n : terms;
        *out_neighbours = *out_neighbours || adds_up_neighbours(fn, s);
    }
    return terms;
}

static void mark_team(pdm_loop_fn *fn, pdm_loop_stmt *body)
{
    for (; body; body = body->next) {
        if (body->kind != PDM_LOOP_FOR)
            continue;
        if (pdm_cinn_gpu_is_tree(fn, body))
            body->mark = PDM_LOOP_TREE;
        else if (pdm_loop_is_independent(fn, body))
            body->mark = PDM_LOOP_TEAM;
    }
}

/* A loop whose turns are independent. */
static void arrange(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    bool neighbours = false;
    const int64_t turns = number_or(loop->extent, FEW_TURNS);

    fuse_sums(fn, loop->body);
    const int64_t terms = terms_of(fn, loop->body, &neighbours);
    loop->mark = PDM_LOOP_PARALLEL;
    if (terms < FEW_TERMS || (!neighbours && turns >= FEW_TURNS))
        return;
    loop->mark = terms <= WARP_TERMS ? PDM_LOOP_WARPS : PDM_LOOP_BLOCKS;
    mark_team(fn, loop->body);
}

/* What is added up to one element is done by one block. */
static void arrange_sum(pdm_loop_fn *fn, pdm_loop_stmt **at)
{
    pdm_loop_stmt *sum = *at, *next = sum->next;

    while (inner_of(sum) && !pdm_loop_fuse(fn, sum)) {
    }
    if (fn->status != PDM_OK || !pdm_cinn_gpu_is_tree(fn, sum))
        return;
    sum->next = NULL;
    pdm_loop_stmt *block = pdm_loop_for(fn, fn->num_vars++, pdm_loop_index(fn, 1), sum);
    if (!block) {
        sum->next = next;
        return;
    }
    sum->mark = PDM_LOOP_TREE;
    block->mark = PDM_LOOP_BLOCKS;
    block->next = next;
    *at = block;
}

void pdm_cinn_schedule_gpu(pdm_loop_fn *fn)
{
    for (uint32_t i = 0; i < fn->buffers.n; i++) {
        if (fn->buffers.v[i].repeatable)
            pdm_loop_compute_inline(fn, i);
    }
    for (pdm_loop_stmt **at = &fn->body; *at && fn->status == PDM_OK; at = &(*at)->next) {
        pdm_loop_stmt *loop = *at;
        if (loop->kind != PDM_LOOP_FOR)
            continue;
        if (!pdm_loop_is_independent(fn, loop)) {
            arrange_sum(fn, at);
            continue;
        }
        while (fn->status == PDM_OK && inner_of(loop) &&
               pdm_loop_is_independent(fn, inner_of(loop)) && !pdm_loop_fuse(fn, loop)) {
        }
        arrange(fn, loop);
    }
    pdm_loop_flatten(fn);
}
