#include "check_shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/op_info.h"

pdm_status check_shapes_init(check_shapes *c, const pdm_ir_module *module)
{
    memset(c, 0, sizeof *c);
    PDM_TRY(pdm_ir_shapes_find(module, &c->shapes));
    c->values = calloc(c->shapes->symbols.n + 1, sizeof *c->values);
    c->bound = calloc(c->shapes->symbols.n + 1, sizeof *c->bound);
    return c->values && c->bound ? PDM_OK : PDM_NOMEM;
}

void check_shapes_deinit(check_shapes *c)
{
    pdm_ir_shapes_destroy(c->shapes);
    free(c->values);
    free(c->bound);
}

void check_shapes_begin(check_shapes *c)
{
    memset(c->bound, 0, c->shapes->symbols.n * sizeof *c->bound);
}

static void bind(check_shapes *c, size_t symbol, int64_t value)
{
    c->values[symbol] = value;
    c->bound[symbol] = true;
}

/* Whether a symbol is a dim of an input of that name. */
static bool is_of(const pdm_ir_symbol *s, const char *name, const pdm_tensor *tensor)
{
    const pdm_ir_op *op = pdm_ir_value_op(s->value);
    const pdm_ir_attr attr = op ? pdm_ir_op_attr(op, "name") : NULL;

    return s->origin == PDM_IR_SYMBOL_INPUT && attr && attr->kind == PDM_IR_ATTR_STR &&
           strcmp(attr->u.s.text, name) == 0 && s->axis < (uint32_t)tensor->rank;
}

void check_shapes_input(check_shapes *c, const char *name, const pdm_tensor *tensor)
{
    for (size_t i = 0; i < c->shapes->symbols.n; i++) {
        if (is_of(&c->shapes->symbols.v[i], name, tensor))
            bind(c, i, tensor->dims[c->shapes->symbols.v[i].axis]);
    }
}

bool check_shapes_has_inputs(const check_shapes *c)
{
    for (size_t i = 0; i < c->shapes->symbols.n; i++) {
        if (c->shapes->symbols.v[i].origin == PDM_IR_SYMBOL_INPUT)
            return true;
    }
    return false;
}

void check_shapes_enlarge(const check_shapes *c, const char *name, int by, const pdm_tensor *tensor,
                          int64_t *dims)
{
    memcpy(dims, tensor->dims, (size_t)tensor->rank * sizeof *dims);
    for (size_t i = 0; i < c->shapes->symbols.n; i++) {
        const pdm_ir_symbol *s = &c->shapes->symbols.v[i];
        const pdm_dim equal = c->shapes->dims.equals.v[i];
        /* One that is known by others stays as it is, but for being the same. */
        if (is_of(s, name, tensor) && (!equal || equal->kind == PDM_DIM_SYMBOL))
            dims[s->axis] += dims[s->axis] > 0 && dims[s->axis] % 32 == 0 ? 32 * by : by;
    }
}

static bool is_bound(const check_shapes *c, pdm_dim e)
{
    if (e->kind == PDM_DIM_SYMBOL)
        return c->bound[e->number];
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!is_bound(c, e->args[i]))
            return false;
    }
    return true;
}

static void compare(check_shapes *c, const char *where, const char *what, size_t at, pdm_dim e,
                    int64_t actual)
{
    int64_t value = 0;
    pdm_buf buf;

    c->by_symbols += e->kind != PDM_DIM_INT;
    if (!is_bound(c, e)) {
        c->open++;
        return;
    }
    if (pdm_dim_eval(e, c->values, &value) && value == actual)
        return;
    pdm_buf_init(&buf);
    pdm_dim_print(e, &buf);
    if (c->wrong++ == 0)
        snprintf(c->first, sizeof c->first, "%s: %s %zu is %" PRId64 ", told was %s (%" PRId64 ")",
                 where, what, at, actual, buf.data ? buf.data : "", value);
    pdm_buf_deinit(&buf);
}

static void check_tensor(check_shapes *c, const pdm_ir_value *value, uint32_t element,
                         const pdm_ir_shape *shape, const char *where, const pdm_tensor *t)
{
    if (!shape || shape->rank < 0 || t->dtype == PDM_UNDEFINED)
        return;
    if (shape->rank != t->rank) {
        if (c->wrong++ == 0)
            snprintf(c->first, sizeof c->first, "%s: rank is %d, told was %d", where, t->rank,
                     shape->rank);
        return;
    }
    for (int i = 0; i < t->rank; i++) {
        const pdm_dim e = shape->dims[i];
        const pdm_ir_symbol *s =
            e->kind == PDM_DIM_SYMBOL ? &c->shapes->symbols.v[e->number] : NULL;
        c->dims++;
        if (s && s->value == value && s->element == element && s->axis == (uint32_t)i)
            bind(c, (size_t)e->number, t->dims[i]);
        compare(c, where, "dim", (size_t)i, e, t->dims[i]);
    }
    for (size_t i = 0; i < shape->num_data && (int64_t)i < pdm_tensor_count(t); i++) {
        if (!shape->data[i])
            continue;
        c->elements++;
        compare(c, where, "element", i, shape->data[i], pdm_get_int(t, (int64_t)i));
    }
}

static void check_value(check_shapes *c, const pdm_ir_value *ir, const char *where,
                        const pdm_value *value)
{
    const pdm_ir_shape *shape = pdm_ir_shapes_of(c->shapes, ir);

    if (!value || !shape)
        return;
    if (value->kind == PDM_VALUE_TENSOR)
        check_tensor(c, ir, 0, shape, where, &value->tensor);
    for (size_t i = 0; value->kind == PDM_VALUE_LIST && i < value->list.count; i++) {
        const pdm_value *one = value->list.items[i];
        if (one && one->kind == PDM_VALUE_TENSOR && i < shape->num_elements)
            check_tensor(c, ir, (uint32_t)i, &shape->elements[i], where, &one->tensor);
    }
}

void check_shapes_observe(void *user, const pdm_ir_op *op, const pdm_value *const *in,
                          const pdm_value *const *out)
{
    (void)in;
    /* Kernels may leave out what nobody reads. */
    for (uint32_t i = 0; i < op->num_results; i++)
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            check_value(user, pdm_ir_op_result(op, i), pdm_ir_op_name(op), out[i]);
}

void check_shapes_enter(void *user, const pdm_ir_op *op, uint64_t turn, size_t index,
                        const pdm_value *value)
{
    const pdm_ir_block *body = pdm_ir_op_region(op, 0)->first;

    (void)turn;
    if (index < body->num_args)
        check_value(user, pdm_ir_block_arg(body, index), "argument of while", value);
}
