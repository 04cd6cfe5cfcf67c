/* What must hold for loop IR before it is run: a fault here is one of ours. */
#include <stdlib.h>

#include "cinn/loop_ir.h"

const char pdm_loop_no_memory[] = "out of memory";

typedef struct checker {
    const pdm_loop_fn *fn;
    const pdm_loop_stmt **path; /* the loops around, outermost first */
    size_t depth;
    bool *open;        /* by variable: a loop over it is around */
    bool *seen;        /* by variable: there was a loop over it */
    uint32_t *checked; /* by expression: the scope in which it was checked */
    uint32_t scope;
    unsigned dims; /* of threads, that the nest uses */
    bool guarded;  /* a condition is around, and no loop */
    const char *fault;
} checker;

static unsigned dim_of(const pdm_loop_stmt *loop)
{
    return 1U << (loop->mark - PDM_LOOP_THREAD_X);
}

static unsigned dims_in(const pdm_loop_stmt *list)
{
    unsigned dims = 0;

    for (; list; list = list->next)
        dims |= (pdm_loop_is_thread(list) ? dim_of(list) : 0) | dims_in(list->body);
    return dims;
}

static bool fault(checker *c, const char *text)
{
    if (!c->fault)
        c->fault = text;
    return false;
}

static bool is_index(const pdm_loop_expr *e)
{
    return e->dtype == PDM_INDEX;
}

static bool binary_fits(const pdm_loop_expr *e)
{
    const pdm_loop_expr *a = e->args[0], *b = e->args[1];

    return a->dtype == b->dtype && e->dtype == (pdm_loop_op_is_bool(e->op) ? PDM_BOOL : a->dtype);
}

/* Between the home of a buffer and who uses it stands nothing that would have one of its own. */
static bool reachable(checker *c, uint32_t buffer)
{
    const pdm_loop_buffer *b = &c->fn->buffers.v[buffer];
    bool inside = false;
    unsigned dims = 0;

    if (b->scope == PDM_LOOP_GLOBAL)
        return true;
    for (size_t i = 0; i < c->depth; i++) {
        const pdm_loop_stmt *loop = c->path[i];
        const bool splits = loop->mark == PDM_LOOP_PARALLEL || pdm_loop_is_block(loop) ||
                            (b->scope == PDM_LOOP_LOCAL && pdm_loop_is_thread(loop));
        if (inside && splits)
            return fault(c, "a temporary is used by several who have one each");
        if (!inside && pdm_loop_is_thread(loop))
            dims |= dim_of(loop);
        inside = inside || loop->var == b->home;
    }
    if (inside && b->scope == PDM_LOOP_SHARED && dims != 0)
        return fault(c, "a temporary that a block shares lives in turns of one of its threads");
    if (inside && b->scope == PDM_LOOP_LOCAL && dims != c->dims)
        return fault(c, "a temporary of one thread lives in turns that several run together");
    return inside || fault(c, "a temporary is used outside of the loop that it lives in");
}

static bool one(checker *c, const pdm_loop_expr *e)
{
    switch (e->kind) {
    case PDM_LOOP_CONST:
        return true;
    case PDM_LOOP_VAR:
        return (e->u.index < c->fn->num_vars && c->open[e->u.index]) ||
               fault(c, "a variable is used outside of its loop");
    case PDM_LOOP_SYMBOL:
        return e->u.index < c->fn->symbols.n || fault(c, "there is no such symbol");
    case PDM_LOOP_LOAD:
        if (e->u.index >= c->fn->buffers.n || pdm_loop_num_indices(c->fn, e->u.index) != e->num_args)
            return fault(c, "a load has another number of indices than its buffer has axes");
        for (uint32_t i = 0; i < e->num_args; i++) {
            if (!is_index(e->args[i]))
                return fault(c, "an index is of another type");
        }
        return reachable(c, e->u.index);
    case PDM_LOOP_UNARY:
        return pdm_loop_op_is_unary(e->op) || fault(c, "an operation has too few operands");
    case PDM_LOOP_BINARY:
        return (!pdm_loop_op_is_unary(e->op) && binary_fits(e)) ||
               fault(c, "operands are of different types");
    case PDM_LOOP_SELECT:
        return (e->args[0]->dtype == PDM_BOOL && e->args[1]->dtype == e->args[2]->dtype) ||
               fault(c, "the arms of a select are of different types");
    case PDM_LOOP_FMA:
        return (pdm_dtype_is_float(e->dtype) && e->args[0]->dtype == e->dtype &&
                e->args[1]->dtype == e->dtype && e->args[2]->dtype == e->dtype) ||
               fault(c, "operands are of different types");
    case PDM_LOOP_CAST:
        return true;
    }
    return fault(c, "unknown expression");
}

/* Arguments were made before, so this ends; depth is bounded by the number of expressions. */
static bool expr(checker *c, const pdm_loop_expr *e)
{
    if (!e)
        return fault(c, "an expression is missing");
    if (c->checked[e->id] == c->scope)
        return true;
    c->checked[e->id] = c->scope;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (e->args[i]->id >= e->id)
            return fault(c, "an expression is older than its operands");
        if (!expr(c, e->args[i]))
            return false;
    }
    return one(c, e);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool is_small(const pdm_loop_expr *extent, int64_t most)
{
    return extent->kind == PDM_LOOP_CONST && extent->u.i >= 0 && extent->u.i <= most;
}

static bool has_var(const pdm_loop_expr *e)
{
    if (e->kind == PDM_LOOP_VAR || e->kind == PDM_LOOP_LOAD)
        return true;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (has_var(e->args[i]))
            return true;
    }
    return false;
}

/* Blocks do not wait for each other, so nothing else is in a loop around a loop over blocks; how many
 * there are is told before a kernel runs. */
static bool block_fits(checker *c, const pdm_loop_stmt *loop)
{
    const pdm_loop_stmt *outer = c->depth > 0 ? c->path[c->depth - 1] : NULL;

    if (outer && !pdm_loop_is_block(outer))
        return fault(c, "a loop over blocks inside of another kind of loop");
    if (outer && (outer->body != loop || loop->next))
        return fault(c, "something else stands beside a loop over blocks");
    return !has_var(loop->extent) || fault(c, "how many blocks there are depends on something else");
}

/* All threads of a block come to where they wait for each other the same number of times. */
static bool thread_fits(checker *c, const pdm_loop_stmt *loop)
{
    if (has_var(loop->extent))
        return fault(c, "the extent of a loop over threads depends on something else");
    for (size_t i = 0; i < c->depth; i++) {
        const pdm_loop_stmt *outer = c->path[i];
        if (outer->mark == PDM_LOOP_PARALLEL)
            return fault(c, "a loop over threads inside of a parallel one");
        if (outer->mark == PDM_LOOP_VECTOR)
            return fault(c, "such a loop cannot be inside of a vector loop");
        if (has_var(outer->extent))
            return fault(c, "a loop over threads inside of one whose extent depends on something else");
    }
    return true;
}

/* A loop inside of others: what its mark allows. */
static bool mark_fits(checker *c, const pdm_loop_stmt *loop)
{
    if (loop->mark == PDM_LOOP_PARALLEL && c->depth > 0)
        return fault(c, "a parallel loop inside of a loop");
    if (loop->mark == PDM_LOOP_UNROLL && !is_small(loop->extent, PDM_LOOP_MAX_UNROLL))
        return fault(c, "an unrolled loop has no small number of turns");
    if (pdm_loop_is_block(loop) && !block_fits(c, loop))
        return false;
    if (pdm_loop_is_thread(loop) && !thread_fits(c, loop))
        return false;
    for (size_t i = 0; i < c->depth; i++) {
        const pdm_loop_stmt *outer = c->path[i];
        if (outer->mark == PDM_LOOP_VECTOR && loop->mark == PDM_LOOP_VECTOR)
            return fault(c, "such a loop cannot be inside of a vector loop");
        if (loop->mark == outer->mark && (pdm_loop_is_block(loop) || pdm_loop_is_thread(loop)))
            return fault(c, "two loops, one in the other, over the same blocks or threads");
    }
    return true;
}

static bool statements(checker *c, const pdm_loop_stmt *stmt);

static bool loop(checker *c, const pdm_loop_stmt *stmt)
{
    if (stmt->var >= c->fn->num_vars || c->open[stmt->var])
        return fault(c, "a loop over a variable that is in use");
    if (c->seen[stmt->var])
        return fault(c, "two loops over one variable");
    if (!expr(c, stmt->extent) || !is_index(stmt->extent))
        return fault(c, "the extent of a loop is no index");
    if ((unsigned)stmt->mark >= PDM_LOOP_MARK_COUNT || !mark_fits(c, stmt))
        return fault(c, "unknown kind of loop");
    c->open[stmt->var] = c->seen[stmt->var] = true;
    c->path[c->depth++] = stmt;
    c->scope++;
    if (!statements(c, stmt->body))
        return false;
    c->depth--;
    c->open[stmt->var] = false;
    c->scope++;
    return true;
}

static bool store(checker *c, const pdm_loop_stmt *stmt)
{
    if (stmt->buffer >= c->fn->buffers.n)
        return fault(c, "a store to no buffer");
    const pdm_loop_buffer *buffer = &c->fn->buffers.v[stmt->buffer];
    if (buffer->role == PDM_LOOP_INPUT)
        return fault(c, "an input is written");
    for (uint32_t i = 0; i < pdm_loop_num_indices(c->fn, stmt->buffer); i++) {
        if (!expr(c, stmt->indices[i]))
            return false;
        if (!is_index(stmt->indices[i]))
            return fault(c, "an index is of another type");
    }
    if (!expr(c, stmt->value))
        return false;
    if (stmt->value->dtype != buffer->dtype)
        return fault(c, "a value is stored as another type");
    return reachable(c, stmt->buffer);
}

static bool guard(checker *c, const pdm_loop_stmt *stmt)
{
    if (!expr(c, stmt->value))
        return false;
    if (stmt->value->dtype != PDM_BOOL)
        return fault(c, "a condition is of another type");
    const bool around = c->guarded;
    c->guarded = true;
    const bool sound = statements(c, stmt->body);
    c->guarded = around;
    return sound;
}

static bool statements(checker *c, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (c->depth == 0 && !c->guarded) {
            const pdm_loop_stmt nest = {.kind = stmt->kind, .mark = stmt->mark, .body = stmt->body};
            c->dims = dims_in(&nest);
        }
        const bool sound = stmt->kind == PDM_LOOP_FOR  ? loop(c, stmt)
                           : stmt->kind == PDM_LOOP_IF ? guard(c, stmt)
                                                       : store(c, stmt);
        if (!sound)
            return false;
    }
    return true;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static bool buffers(checker *c)
{
    uint64_t local = 0, shared = 0;

    for (size_t i = 0; i < c->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &c->fn->buffers.v[i];
        uint64_t bytes;
        if (b->scope == PDM_LOOP_GLOBAL)
            continue;
        if (b->role != PDM_LOOP_TEMP || b->home >= c->fn->num_vars)
            return fault(c, "a buffer lives in turns of a loop, but is no temporary of one");
        if (!pdm_loop_bytes(b, &bytes))
            return fault(c, "the dims of a temporary of a loop are no numbers");
        if (b->scope == PDM_LOOP_LOCAL)
            local += bytes < PDM_LOOP_MAX_LOCAL ? bytes : PDM_LOOP_MAX_LOCAL + 1;
        else
            shared += bytes < PDM_LOOP_MAX_SHARED ? bytes : PDM_LOOP_MAX_SHARED + 1;
    }
    return (local <= PDM_LOOP_MAX_LOCAL && shared <= PDM_LOOP_MAX_SHARED) ||
           fault(c, "the temporaries of loops are too large");
}

const char *pdm_loop_verify(const pdm_loop_fn *fn)
{
    checker c = {.fn = fn,
                 .path = calloc((size_t)fn->num_vars + 1, sizeof *c.path),
                 .open = calloc((size_t)fn->num_vars + 1, sizeof *c.open),
                 .seen = calloc((size_t)fn->num_vars + 1, sizeof *c.seen),
                 .checked = calloc(fn->num_exprs + 1, sizeof *c.checked),
                 .scope = 1};

    if (!c.path || !c.open || !c.seen || !c.checked)
        c.fault = pdm_loop_no_memory;
    else if (fn->status != PDM_OK)
        c.fault = "it is not complete";
    else if (buffers(&c))
        statements(&c, fn->body);
    free(c.path);
    free(c.open);
    free(c.seen);
    free(c.checked);
    return c.fault;
}
