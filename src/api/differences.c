/* Known differences between 2.6 and 3.x, and what outputs are computed with. */
#include <stdlib.h>
#include <string.h>

#include "api/run.h"
#include "ir/ancestors.h"
#include "ir/op_info.h"

size_t pdm_known_difference_count(void)
{
    return PDM_NUM_DIFFERENCES;
}

pdm_status pdm_known_difference_get(size_t index, pdm_known_difference *out_difference)
{
    if (index >= PDM_NUM_DIFFERENCES || !out_difference)
        return PDM_INVALID_ARG;
    const pdm_difference_row *row = &pdm_differences[index];
    *out_difference = (pdm_known_difference){row->id,   row->legacy_ops, row->pir_ops,
                                             row->when, row->before,     row->now};
    return PDM_OK;
}

/* ---- the legacy program ---------------------------------------------------------------------- */

/* The legacy op that an op was made of; NULL: unknown. */
static const pdm_lg_op *legacy_op(const pdm_plan *plan, const pdm_ir_op *op)
{
    const pdm_lg_program *program = plan->model->legacy;

    if (!program || op->lg_block < 0 || (size_t)op->lg_block >= program->num_blocks ||
        op->lg_op < 0 || (size_t)op->lg_op >= program->blocks[op->lg_block].num_ops)
        return NULL;
    return &program->blocks[op->lg_block].ops[op->lg_op];
}

static const char *first_output(const pdm_lg_op *op)
{
    for (size_t i = 0; i < op->num_outputs; i++) {
        if (op->outputs[i].num_args > 0)
            return op->outputs[i].args[0];
    }
    return NULL;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* "softmax", "pd_op.softmax" and "softmax_" for pd_op.softmax_. */
static bool is_named(const char *op, const char *name)
{
    const char *dot = strchr(op, '.');
    const char *plain = strchr(name, '.') || !dot ? op : dot + 1;
    const size_t length = strlen(plain), wanted = strlen(name);

    return !strncmp(plain, name, wanted) &&
           (length == wanted || (length == wanted + 1 && plain[wanted] == '_'));
}

pdm_status pdm_plan_output_uses(const pdm_plan *plan, size_t output, const char *op, bool *out_uses)
{
    pdm_map ops = {0};
    bool uses = false;

    if (!plan || !op || !out_uses || output >= pdm_exec_num_outputs(plan->exec))
        return PDM_INVALID_ARG;
    const pdm_status status = pdm_ir_ancestors(pdm_exec_output_value(plan->exec, output), &ops);
    for (size_t i = 0; status == PDM_OK && !uses && i < ops.capacity; i++) {
        const pdm_ir_op *at = ops.entries[i].key;
        const pdm_lg_op *legacy = at ? legacy_op(plan, at) : NULL;
        uses = at && (is_named(pdm_ir_op_name(at), op) || (legacy && !strcmp(legacy->type, op)));
    }
    pdm_map_deinit(&ops);
    if (status == PDM_OK)
        *out_uses = uses;
    return status;
}

const char *pdm_plan_output_random_op(const pdm_plan *plan, size_t output)
{
    pdm_map ops = {0};
    const char *found = NULL;

    if (!plan || output >= pdm_exec_num_outputs(plan->exec) ||
        pdm_ir_ancestors(pdm_exec_output_value(plan->exec, output), &ops) != PDM_OK) {
        pdm_map_deinit(&ops);
        return NULL;
    }
    /* The least name of several: the order of the map is no order. */
    for (size_t i = 0; i < ops.capacity; i++) {
        const pdm_ir_op *op = ops.entries[i].key;
        if (op && op->info->desc && (op->info->desc->flags & PDM_IR_RANDOM) &&
            (!found || strcmp(pdm_ir_op_name(op), found) < 0))
            found = pdm_ir_op_name(op);
    }
    pdm_map_deinit(&ops);
    return found;
}

/* ---- partings -------------------------------------------------------------------------------- */

typedef PDM_VEC(pdm_parting) rows;

static pdm_status add_rows(const pdm_plan *plan, size_t output, const pdm_api_parting *parting,
                           rows *list)
{
    const pdm_lg_op *legacy = legacy_op(plan, parting->op);

    for (size_t i = 0; i < PDM_NUM_DIFFERENCES; i++) {
        const pdm_parting row = {.output = output,
                                 .difference = i,
                                 .op = pdm_ir_op_name(parting->op),
                                 .legacy_type = legacy ? legacy->type : NULL,
                                 .var = legacy ? first_output(legacy) : NULL,
                                 .block = legacy ? parting->op->lg_block : -1,
                                 .op_index = legacy ? parting->op->lg_op : -1};
        if ((parting->set & PDM_DIFF_BIT(i)) && !PDM_VEC_PUSH(list, row))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

static pdm_status rows_of_output(const pdm_plan *plan, size_t output,
                                 const pdm_api_partings *partings, rows *list)
{
    pdm_map ops = {0};
    pdm_status status = pdm_ir_ancestors(pdm_exec_output_value(plan->exec, output), &ops);

    for (size_t i = 0; status == PDM_OK && i < partings->n; i++) {
        if (pdm_map_find(&ops, partings->v[i].op))
            status = add_rows(plan, output, &partings->v[i], list);
    }
    pdm_map_deinit(&ops);
    return status;
}

pdm_status pdm_api_partings_by_output(const pdm_plan *plan, const pdm_api_partings *partings,
                                      pdm_parting **out_rows, size_t *out_count)
{
    rows list = {0};
    pdm_status status = PDM_VEC_RESERVE(&list, 1) ? PDM_OK : PDM_NOMEM;

    for (size_t i = 0; status == PDM_OK && i < pdm_exec_num_outputs(plan->exec); i++)
        status = rows_of_output(plan, i, partings, &list);
    if (status != PDM_OK) {
        PDM_VEC_FREE(&list);
        return status;
    }
    *out_rows = list.v;
    *out_count = list.n;
    return PDM_OK;
}
