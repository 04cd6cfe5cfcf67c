/* What must hold for loop IR before it is run: a fault here is one of ours. */
#include <stdlib.h>

#include "cinn/loop_ir.h"

typedef struct checker {
    const pdm_loop_fn *fn;
    bool *open;        /* by variable: a loop over it is around */
    uint32_t *checked; /* by expression: the scope in which it was checked */
    uint32_t scope;
    const char *fault;
} checker;

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
        return true;
    case PDM_LOOP_UNARY:
        return pdm_loop_op_is_unary(e->op) || fault(c, "an operation has too few operands");
    case PDM_LOOP_BINARY:
        return (!pdm_loop_op_is_unary(e->op) && binary_fits(e)) ||
               fault(c, "operands are of different types");
    case PDM_LOOP_SELECT:
        return (e->args[0]->dtype == PDM_BOOL && e->args[1]->dtype == e->args[2]->dtype) ||
               fault(c, "the arms of a select are of different types");
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

static bool statements(checker *c, const pdm_loop_stmt *stmt, bool outermost)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_STORE) {
            if (stmt->buffer >= c->fn->buffers.n)
                return fault(c, "a store to no buffer");
            const pdm_loop_buffer *buffer = &c->fn->buffers.v[stmt->buffer];
            if (buffer->role == PDM_LOOP_INPUT)
                return fault(c, "an input is written");
            for (uint32_t i = 0; i < pdm_loop_num_indices(c->fn, stmt->buffer); i++) {
                if (!expr(c, stmt->indices[i]))
                    return false;
            }
            if (!expr(c, stmt->value))
                return false;
            if (stmt->value->dtype != buffer->dtype)
                return fault(c, "a value is stored as another type");
            continue;
        }
        if (stmt->var >= c->fn->num_vars || c->open[stmt->var])
            return fault(c, "a loop over a variable that is in use");
        if (stmt->mark == PDM_LOOP_PARALLEL && !outermost)
            return fault(c, "a parallel loop inside of a loop");
        if (!expr(c, stmt->extent) || !is_index(stmt->extent))
            return fault(c, "the extent of a loop is no index");
        c->open[stmt->var] = true;
        c->scope++;
        if (!statements(c, stmt->body, false))
            return false;
        c->open[stmt->var] = false;
        c->scope++;
    }
    return true;
}

const char *pdm_loop_verify(const pdm_loop_fn *fn)
{
    checker c = {.fn = fn,
                 .open = calloc((size_t)fn->num_vars + 1, sizeof *c.open),
                 .checked = calloc(fn->num_exprs + 1, sizeof *c.checked),
                 .scope = 1};

    if (!c.open || !c.checked)
        c.fault = "out of memory";
    else if (fn->status != PDM_OK)
        c.fault = "it is not complete";
    else
        statements(&c, fn->body, true);
    free(c.open);
    free(c.checked);
    return c.fault;
}
