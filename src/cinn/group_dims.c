/* What is known of the dims of a group's inputs before sizes are, noted for lowering. */
#include "cinn/group.h"
#include "cinn/lower.h"
#include "ir/op_info.h"
#include "ir/shapes.h"

#define NOTE "input_dims"

typedef struct notes {
    pdm_ir_context *context;
    pdm_ir_shapes *shapes;
} notes;

/* The note on a dim: -1 nothing, from 0 on one number for all that are equal, below -1 a size. */
static int64_t note_of(pdm_dim e, pdm_dim *seen, size_t *num_seen, bool *useful)
{
    if (e->kind == PDM_DIM_INT) {
        *useful = true;
        return e->number < INT32_MAX ? -2 - e->number : -1;
    }
    for (size_t i = 0; i < *num_seen; i++) {
        if (seen[i] == e) {
            *useful = true;
            return (int64_t)i;
        }
    }
    seen[*num_seen] = e;
    return (int64_t)(*num_seen)++;
}

static pdm_status note_group(void *user, pdm_ir_op *op)
{
    enum { MOST = PDM_CINN_MAX_INPUTS * PDM_MAX_RANK };
    const notes *all = user;
    const pdm_ir_value *inputs[PDM_CINN_MAX_INPUTS];
    int64_t found[MOST];
    pdm_dim seen[MOST];
    size_t n = 0, num_seen = 0;
    bool useful = false;

    if (!pdm_cinn_is_group(op))
        return PDM_OK;
    const size_t count = pdm_cinn_group_inputs(op, inputs);
    for (size_t i = 0; count != SIZE_MAX && i < count; i++) {
        const pdm_ir_type type = inputs[i]->type;
        const pdm_ir_shape *shape = pdm_ir_shapes_of(all->shapes, inputs[i]);
        if (!pdm_ir_type_is_tensor(type) || type->rank > PDM_MAX_RANK)
            return PDM_OK;
        for (uint32_t d = 0; d < type->rank; d++)
            found[n++] = shape && shape->rank == (int)type->rank && type->dims[d] < 0
                             ? note_of(shape->dims[d], seen, &num_seen, &useful)
                             : -1;
    }
    if (!useful)
        return PDM_OK;
    const pdm_ir_attr attr = pdm_ir_attr_i64s(all->context, found, n);
    return attr && pdm_ir_op_set_attr(all->context, op, NOTE, attr) ? PDM_OK : PDM_NOMEM;
}

pdm_status pdm_cinn_note_dims(pdm_ir_module *module)
{
    notes all = {.context = module->context};

    PDM_TRY(pdm_ir_shapes_find(module, &all.shapes));
    const pdm_status status = pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, note_group, &all);
    pdm_ir_shapes_destroy(all.shapes);
    return status;
}

static int64_t note_at(pdm_ir_attr notes_of, size_t at)
{
    return notes_of->u.items[at]->u.i;
}

bool pdm_cinn_noted_dim(const pdm_ir_op *group, const pdm_ir_value *const *inputs, uint32_t input,
                        uint32_t axis, pdm_cinn_noted *out)
{
    const pdm_ir_attr attr = pdm_ir_op_attr(group, NOTE);
    size_t at = axis, k = 0;

    if (!attr || attr->kind != PDM_IR_ATTR_ARRAY)
        return false;
    for (uint32_t i = 0; i < input; i++)
        at += inputs[i]->type->rank;
    if (at >= attr->count)
        return false;
    const int64_t note = note_at(attr, at);
    *out = (pdm_cinn_noted){.is_number = note < -1, .number = -2 - note};
    if (note < 0)
        return note < -1;
    for (uint32_t i = 0; i <= input; i++) {
        for (uint32_t d = 0; d < inputs[i]->type->rank && k < at; d++, k++) {
            if (note_at(attr, k) == note) {
                out->input = i;
                out->axis = d;
                return true;
            }
        }
    }
    return false;
}
