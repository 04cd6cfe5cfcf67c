#include "ir/make.h"

#include <string.h>

#include "ir/infer.h"

/* ---- types ----------------------------------------------------------------------------------- */

static bool are_tensors(pdm_ir_type a, pdm_ir_type b)
{
    return pdm_ir_type_is_tensor(a) && pdm_ir_type_is_tensor(b) && a->dtype == b->dtype &&
           a->rank == b->rank && a->rank <= PDM_MAX_RANK && a->layout == b->layout;
}

pdm_ir_type pdm_ir_type_meet(pdm_ir_context *context, pdm_ir_type a, pdm_ir_type b)
{
    int64_t dims[PDM_MAX_RANK];

    if (a == b)
        return a;
    if (!are_tensors(a, b) || a->num_lod || b->num_lod)
        return NULL;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i])
            return NULL;
        dims[i] = a->dims[i] >= 0 ? a->dims[i] : b->dims[i];
    }
    return pdm_ir_type_tensor(context, a->dtype, dims, a->rank);
}

bool pdm_ir_type_covers(pdm_ir_type known, pdm_ir_type type)
{
    if (known == type)
        return true;
    if (!are_tensors(known, type))
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] >= 0 && type->dims[i] != known->dims[i])
            return false;
    }
    return true;
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* All attributes of the row, in its order; false: one that has no default is missing, or out of
 * memory (status). */
static bool complete(const pdm_ir_op_info *info, const pdm_ir_make_attr *given,
                     pdm_ir_named_attr *out, pdm_status *status)
{
    for (uint16_t i = 0; i < info->desc->num_attrs; i++) {
        const pdm_ir_make_attr *a = given;
        while (a && a->name && strcmp(a->name, info->attr_names[i]) != 0)
            a++;
        const bool is_given = a && a->name;
        if (!is_given && !info->desc->attrs[i].default_json)
            return false;
        out[i] = (pdm_ir_named_attr){.name = info->attr_names[i],
                                     .attr = is_given ? a->attr : pdm_ir_op_info_default(info, i)};
        if (!out[i].attr) {
            *status = PDM_NOMEM;
            return false;
        }
    }
    return true;
}

static bool infer(const pdm_ir_op_state *state, pdm_ir_type *types, pdm_status *status)
{
    pdm_ir_context *context = state->info->context;
    pdm_ir_meta metas[PDM_IR_MAKE_MAX_RESULTS];
    pdm_ir_infer in = {.context = context,
                       .state = state,
                       .results = metas,
                       .num_results = state->info->desc->num_results};

    if (in.num_results > PDM_IR_MAKE_MAX_RESULTS)
        return false;
    for (size_t i = 0; i < in.num_results; i++)
        pdm_ir_meta_init(&metas[i]);
    *status = pdm_ir_infer_run(&in);
    for (size_t i = 0; *status == PDM_OK && i < in.num_results; i++) {
        types[i] = NULL;
        if (metas[i].absent)
            continue;
        if (metas[i].dtype == PDM_UNDEFINED || metas[i].rank < 0)
            return false;
        types[i] = pdm_ir_meta_to_type(context, &metas[i]);
        if (!types[i])
            *status = PDM_NOMEM;
    }
    return *status == PDM_OK;
}

pdm_ir_op *pdm_ir_make(pdm_ir_op *before, pdm_ir_op_code code, pdm_ir_value *const *operands,
                       size_t num_operands, const pdm_ir_make_attr *attrs, const pdm_ir_type *types,
                       size_t num_types, pdm_status *out_status)
{
    pdm_ir_context *context = before->info->context;
    pdm_ir_named_attr all[PDM_IR_MAX_ROW_ATTRS];
    pdm_ir_type inferred[PDM_IR_MAKE_MAX_RESULTS];
    pdm_ir_op_state state = {.info = pdm_ir_op_info_by_code(context, code),
                             .operands = operands,
                             .num_operands = num_operands,
                             .result_types = types ? types : inferred,
                             .num_results = num_types,
                             .attrs = all,
                             .attrs_form = PDM_IR_ATTRS_ROW_FIRST};

    *out_status = state.info ? PDM_OK : PDM_NOMEM;
    if (!state.info || !complete(state.info, attrs, all, out_status))
        return NULL;
    state.num_attrs = state.info->desc->num_attrs;
    if (!types) {
        state.num_results = state.info->desc->num_results;
        if (!infer(&state, inferred, out_status))
            return NULL;
    }
    pdm_ir_op *op = pdm_ir_op_create(context, &state);
    if (!op) {
        *out_status = PDM_NOMEM;
        return NULL;
    }
    op->lg_block = before->lg_block;
    op->lg_op = before->lg_op;
    pdm_ir_op_insert_before(op, before);
    return op;
}
