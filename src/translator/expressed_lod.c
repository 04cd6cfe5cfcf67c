/* LoD as tensors, and counted loops. */
#include "translator/expressed.h"

/* ---- LoD ------------------------------------------------------------------------------------- */

/* The first column of x as ones in float32, with the LoD of x. */
static pdm_ir_value *ones_with_lod(pdm_tr_op *t, pdm_ir_value *x)
{
    int rank = pdm_tr_need_rank(t, x);
    int64_t axes[PDM_MAX_RANK], zeros[PDM_MAX_RANK], ones[PDM_MAX_RANK];
    if (rank < 1)
        return NULL;
    for (int i = 0; i + 1 < rank; i++) {
        axes[i] = i + 1;
        zeros[i] = 0;
        ones[i] = 1;
    }
    if (rank > 1) {
        size_t n = (size_t)rank - 1;
        pdm_ir_value *from = pdm_tr_const_ints(t, zeros, n), *to = pdm_tr_const_ints(t, ones, n);
        x = pdm_tr_emit1(t, "pd_op.slice", PDM_TR_OPS(x, from, to),
                         PDM_TR_ATTRS({"axes", pdm_tr_a_i64s(t, axes, n), 0},
                                      {"infer_flags", pdm_tr_a_i64s(t, ones, n), 0},
                                      {"decrease_axis", pdm_tr_a_i64s(t, NULL, 0), 0}));
    }
    if (rank != 2)
        x = pdm_tr_reshape(t, x, (int64_t[]){-1, 1}, 2);
    /* Comparing and scaling hand on the LoD, filling does not; NaN equals nothing. */
    x = pdm_tr_cast(t, pdm_tr_binary(t, "pd_op.equal", x, x), PDM_F32);
    return pdm_tr_scale(t, x, 0, 1);
}

static pdm_ir_value *vector_of(pdm_tr_op *t, pdm_ir_value *x)
{
    const int64_t any = -1;
    return pdm_tr_reshape(t, x, &any, 1);
}

pdm_ir_value *pdm_tr_lengths(pdm_tr_op *t, pdm_ir_value *x)
{
    pdm_ir_op *op = pdm_tr_emit(t, "pd_op.sequence_pool", PDM_TR_OPS(ones_with_lod(t, x)),
                                PDM_TR_ATTRS({"is_test", pdm_tr_a_bool(t, true), 0},
                                             {"pooltype", pdm_tr_a_str(t, "SUM"), 0},
                                             {"pad_value", pdm_tr_a_f32(t, 0), 0}));
    return pdm_tr_cast(t, vector_of(t, pdm_tr_result(op, 0)), PDM_I64);
}

pdm_ir_value *pdm_tr_running_sum(pdm_tr_op *t, pdm_ir_value *lengths)
{
    pdm_ir_value *axis = pdm_tr_const_i(t, PDM_I32, 0);
    return pdm_tr_emit1(t, "pd_op.cumsum", PDM_TR_OPS(lengths, axis), PDM_TR_NO_ATTRS);
}

pdm_ir_value *pdm_tr_starts(pdm_tr_op *t, pdm_ir_value *lengths)
{
    /* The op's exclusive form is wrong for one element. */
    return pdm_tr_binary(t, "pd_op.subtract", pdm_tr_running_sum(t, lengths), lengths);
}

pdm_ir_value *pdm_tr_repeat(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *times)
{
    pdm_ir_value *out =
        pdm_tr_emit1(t, "pd_op.repeat_interleave_with_tensor_index", PDM_TR_OPS(x, times),
                     PDM_TR_ATTRS({"axis", pdm_tr_a_i32(t, 0), 0}));
    return out;
}

pdm_ir_value *pdm_tr_with_lod_of(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *other)
{
    /* The op insists on the attribute, and takes the operand. */
    return pdm_tr_emit1(t, "pd_op.lod_reset", PDM_TR_OPS(x, other),
                        PDM_TR_ATTRS({"target_lod", pdm_tr_a_i32s(t, (int64_t[]){0}, 1), 0},
                                     {"append", pdm_tr_a_bool(t, false), 0}));
}

pdm_ir_value *pdm_tr_with_offsets(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *offsets)
{
    return pdm_tr_with_lod_of(t, x, offsets);
}

pdm_ir_value *pdm_tr_with_lengths(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *lengths)
{
    pdm_ir_value *parts[2] = {pdm_tr_fill_i(t, (int64_t[]){1}, 1, PDM_I64, 0),
                              pdm_tr_running_sum(t, lengths)};
    return pdm_tr_with_offsets(t, x, pdm_tr_cast(t, pdm_tr_concat(t, parts, 2, 0), PDM_I32));
}

pdm_ir_value *pdm_tr_without_lod(pdm_tr_op *t, pdm_ir_value *x)
{
    /* Binary ops take the LoD of their first operand. */
    return pdm_tr_binary(t, "pd_op.multiply", pdm_tr_like_const(t, x, 1), x);
}

pdm_ir_value *pdm_tr_row_numbers(pdm_tr_op *t, pdm_ir_value *x)
{
    return pdm_tr_iota(t, pdm_tr_dim_value(t, x, 0), PDM_I64);
}

int pdm_tr_lod_level(const pdm_tr_op *t, const char *slot)
{
    const pdm_lg_slot *s = pdm_lg_find_input(t->op, slot);
    const pdm_lg_var *var = s && s->num_args ? pdm_tr_var(t->tr, s->args[0]) : NULL;
    return var ? (int)var->lod_level : 0;
}

/* ---- loops ----------------------------------------------------------------------------------- */

#define MAX_CARRIED 8

static pdm_ir_value *is_less(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value *limit)
{
    return pdm_tr_binary(t, "pd_op.less_than", turn, limit);
}

/* The body's region, ended by its yield; NULL on failure. values[0] is the counter. */
static pdm_ir_region *body_region(pdm_tr_op *t, pdm_ir_value *limit, const pdm_ir_type *types,
                                  size_t n, pdm_tr_turn body, void *user)
{
    pdm_tr *tr = t->tr;
    pdm_tr_scope scope;
    pdm_ir_value *values[MAX_CARRIED + 2];
    pdm_ir_region *region = pdm_ir_region_create_with_block();
    if (!region) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    pdm_tr_scope_push(tr, &scope, region->first, tr->scope->lg_block, true);
    for (size_t i = 0; i < n; i++) {
        values[1 + i] = pdm_ir_block_add_arg(region->first, types[i]);
        if (!values[1 + i])
            pdm_tr_nomem(tr);
    }
    if (tr->status == PDM_OK)
        body(t, values[1], values + 2, user);
    values[1] = pdm_tr_scale(t, values[1], 1, 1);
    values[0] = is_less(t, values[1], limit);
    pdm_tr_emit_typed(t, "cf.yield", values, n + 1, PDM_TR_NO_ATTRS, NULL, 0);
    pdm_tr_scope_pop(tr);
    if (tr->status == PDM_OK && !t->failed)
        return region;
    pdm_ir_region_destroy(region);
    return NULL;
}

void pdm_tr_count_loop(pdm_tr_op *t, pdm_ir_value *limit, pdm_ir_value **values, size_t n,
                       pdm_tr_turn body, void *user)
{
    pdm_tr *tr = t->tr;
    pdm_ir_value *operands[MAX_CARRIED + 2];
    pdm_ir_type types[MAX_CARRIED + 1];
    if (t->failed || tr->status != PDM_OK || n > MAX_CARRIED)
        return;
    operands[1] = pdm_tr_fill_i(t, (int64_t[]){1}, 1, PDM_I64, 0);
    operands[0] = is_less(t, operands[1], limit);
    for (size_t i = 0; i < n; i++)
        operands[2 + i] = values[i];
    for (size_t i = 0; i <= n; i++) {
        if (!operands[1 + i])
            return;
        types[i] = operands[1 + i]->type;
    }
    pdm_ir_region *region = body_region(t, limit, types, n + 1, body, user);
    if (!region)
        return;
    pdm_ir_op_state state = {.info = pdm_ir_op_info_get(tr->context, "pd_op.while", NULL),
                             .operands = operands,
                             .num_operands = n + 2,
                             .result_types = types,
                             .num_results = n + 1,
                             .regions = &region,
                             .num_regions = 1};
    pdm_ir_op *op = state.info ? pdm_ir_op_create(tr->context, &state) : NULL;
    if (!op) {
        pdm_tr_nomem(tr);
        pdm_ir_region_destroy(region);
        return;
    }
    op->lg_block = t->block;
    op->lg_op = t->index;
    pdm_ir_block_append(tr->scope->block, op);
    for (size_t i = 0; i < n; i++)
        values[i] = pdm_ir_op_result(op, 1 + i);
}
