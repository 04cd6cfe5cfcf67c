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

void pdm_cinn_schedule_cpu(pdm_loop_fn *fn)
{
    for (pdm_loop_stmt *loop = fn->body; loop && fn->status == PDM_OK; loop = loop->next) {
        if (loop->kind != PDM_LOOP_FOR)
            continue;
        fuse_plain(fn, loop);
        if (!pdm_loop_is_independent(fn, loop))
            continue; /* a reduction of everything */
        /* All but the innermost: dividing costs little there. */
        while (fn->status == PDM_OK && inner_of(loop) && has_loops(inner_of(loop)->body) &&
               pdm_loop_is_independent(fn, inner_of(loop)) && !pdm_loop_fuse(fn, loop)) {
        }
        if (inner_of(loop) && !has_loops(inner_of(loop)->body) &&
            pdm_loop_is_independent(fn, inner_of(loop)))
            inner_of(loop)->mark = PDM_LOOP_VECTOR;
        loop->mark = PDM_LOOP_PARALLEL;
    }
    pdm_loop_flatten(fn);
}
