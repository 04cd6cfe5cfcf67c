/* Emitting PIR ops: construction with inference and row defaults, constants, frequent ops. */
#include "translator/tr.h"

#include <math.h>

static bool dead(const pdm_tr_op *t)
{
    return t->failed || t->tr->status != PDM_OK;
}

/* ---- construction ---------------------------------------------------------------------------- */

/* Attributes given plus the row's defaults for the rest: the row's in its order, then others; in
 * scratch memory. */
static const pdm_ir_named_attr *complete_attrs(pdm_tr_op *t, const pdm_ir_op_info *info,
                                               const pdm_ir_named_attr *given, size_t num_given,
                                               size_t *out_n)
{
    const pdm_ir_op_desc *desc = info->desc;
    const size_t declared = desc ? desc->num_attrs : 0;
    pdm_ir_named_attr *all = pdm_arena_calloc(&t->tr->scratch, declared + num_given, sizeof *all);
    size_t n = declared;
    if (!all) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (size_t i = 0; i < num_given; i++) {
        const int at = pdm_ir_op_info_attr(info, given[i].name, i);
        all[at < 0 ? n++ : (size_t)at] = given[i];
    }
    for (size_t i = 0; i < declared; i++) {
        all[i].name = desc->attrs[i].name;
        if (all[i].attr)
            continue;
        if (!desc->attrs[i].default_json) {
            pdm_tr_error(t, PDM_D_INTERNAL, all[i].name, NULL,
                         "'%s' was emitted without its attribute '%s'", desc->name, all[i].name);
            return NULL;
        }
        all[i].attr = pdm_ir_op_info_default(info, (uint16_t)i);
        if (!all[i].attr) {
            pdm_tr_nomem(t->tr);
            return NULL;
        }
    }
    *out_n = n;
    return all;
}

static pdm_ir_op *create(pdm_tr_op *t, const pdm_ir_op_state *state)
{
    pdm_tr *tr = t->tr;
    pdm_ir_op *op = pdm_ir_op_create(tr->context, state);
    if (!op) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    op->lg_block = t->block;
    op->lg_op = t->index;
    pdm_ir_block_append(tr->scope->block, op);
    return op;
}

/* Number of elements of a vector result: the outputs that the legacy op lists for it cannot be
 * known here, so rows with vectors use _typed or element counts by hook. */
static bool infer_types(pdm_tr_op *t, const pdm_ir_op_state *state, pdm_ir_type *types)
{
    const pdm_ir_op_desc *desc = state->info->desc;
    pdm_ir_meta metas[16];
    if (desc->num_results > 16) {
        pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "'%s' has too many results", desc->name);
        return false;
    }
    for (size_t i = 0; i < desc->num_results; i++)
        pdm_ir_meta_init(&metas[i]);
    pdm_ir_infer infer = {.context = t->tr->context,
                          .state = state,
                          .results = metas,
                          .num_results = desc->num_results};
    if (pdm_ir_infer_run(&infer) != PDM_OK) {
        pdm_tr_nomem(t->tr);
        return false;
    }
    for (size_t i = 0; i < desc->num_results; i++) {
        if (metas[i].absent) {
            types[i] = NULL;
            continue;
        }
        if (metas[i].dtype == PDM_UNDEFINED && state->num_operands && state->operands[0] &&
            state->operands[0]->type)
            metas[i].dtype = state->operands[0]->type->dtype;
        types[i] = pdm_ir_meta_to_type(t->tr->context, &metas[i]);
        if (!types[i]) {
            if (metas[i].dtype == PDM_UNDEFINED)
                pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "the element type of '%s' is not known",
                             desc->name);
            else
                pdm_tr_nomem(t->tr);
            return false;
        }
    }
    return true;
}

/* The info of an op that we name ourselves. */
static const pdm_ir_op_info *info_of(pdm_tr_op *t, const char *name)
{
    pdm_status status = PDM_OK;
    if (dead(t))
        return NULL;
    const pdm_ir_op_info *info = pdm_ir_op_info_get(t->tr->context, name, &status);
    if (!info && status == PDM_NOMEM)
        pdm_tr_nomem(t->tr);
    else if (!info)
        pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "there is no PIR op '%s'", name);
    return info;
}

static bool prepare(pdm_tr_op *t, pdm_ir_op_state *state, const pdm_ir_op_info *info,
                    pdm_ir_value *const *operands, size_t num_operands,
                    const pdm_ir_named_attr *attrs, size_t num_attrs)
{
    if (!info || dead(t))
        return false;
    for (size_t i = 0; i < num_attrs; i++)
        if (!attrs[i].attr) {
            pdm_tr_nomem(t->tr);
            return false;
        }
    *state = (pdm_ir_op_state){.info = info, .operands = operands, .num_operands = num_operands};
    state->attrs_form = PDM_IR_ATTRS_ROW_FIRST;
    state->attrs = complete_attrs(t, info, attrs, num_attrs, &state->num_attrs);
    return state->attrs != NULL;
}

pdm_ir_op *pdm_tr_emit(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                       size_t num_operands, const pdm_ir_named_attr *attrs, size_t num_attrs)
{
    pdm_ir_op_state state;
    pdm_ir_type types[16];
    if (!prepare(t, &state, info_of(t, name), operands, num_operands, attrs, num_attrs) ||
        !infer_types(t, &state, types))
        return NULL;
    state.result_types = types;
    state.num_results = state.info->desc->num_results;
    return create(t, &state);
}

pdm_ir_op *pdm_tr_emit_known(pdm_tr_op *t, const pdm_ir_op_info *info,
                             pdm_ir_value *const *operands, size_t num_operands,
                             const pdm_ir_named_attr *attrs, size_t num_attrs,
                             const pdm_ir_type *types, size_t num_types)
{
    pdm_ir_op_state state;
    if (!prepare(t, &state, info, operands, num_operands, attrs, num_attrs))
        return NULL;
    state.result_types = types;
    state.num_results = num_types;
    return create(t, &state);
}

pdm_ir_op *pdm_tr_emit_typed(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                             size_t num_operands, const pdm_ir_named_attr *attrs, size_t num_attrs,
                             const pdm_ir_type *types, size_t num_types)
{
    return pdm_tr_emit_known(t, info_of(t, name), operands, num_operands, attrs, num_attrs, types,
                             num_types);
}

pdm_ir_value *pdm_tr_emit1(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                           size_t num_operands, const pdm_ir_named_attr *attrs, size_t num_attrs)
{
    return pdm_tr_result(pdm_tr_emit(t, name, operands, num_operands, attrs, num_attrs), 0);
}

pdm_ir_value *pdm_tr_result(const pdm_ir_op *op, size_t index)
{
    return op ? pdm_ir_op_result(op, index) : NULL;
}

void pdm_tr_retype(pdm_ir_value *value, pdm_ir_type type)
{
    if (value && type)
        value->type = type;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_ir_attr sticky(pdm_tr_op *t, pdm_ir_attr attr)
{
    if (!attr && t->tr->status == PDM_OK)
        pdm_tr_nomem(t->tr);
    return attr;
}

pdm_ir_attr pdm_tr_a_bool(pdm_tr_op *t, bool v)
{
    return sticky(t, pdm_ir_attr_bool(t->tr->context, v));
}
pdm_ir_attr pdm_tr_a_i32(pdm_tr_op *t, int64_t v)
{
    return sticky(t, pdm_ir_attr_i32(t->tr->context, (int32_t)v));
}
pdm_ir_attr pdm_tr_a_i64(pdm_tr_op *t, int64_t v)
{
    return sticky(t, pdm_ir_attr_i64(t->tr->context, v));
}
pdm_ir_attr pdm_tr_a_f32(pdm_tr_op *t, double v)
{
    return sticky(t, pdm_ir_attr_f32(t->tr->context, (float)v));
}
pdm_ir_attr pdm_tr_a_f64(pdm_tr_op *t, double v)
{
    return sticky(t, pdm_ir_attr_f64(t->tr->context, v));
}
pdm_ir_attr pdm_tr_a_str(pdm_tr_op *t, const char *v)
{
    return v ? sticky(t, pdm_ir_attr_str(t->tr->context, v)) : NULL;
}
pdm_ir_attr pdm_tr_a_dtype(pdm_tr_op *t, pdm_dtype v)
{
    return sticky(t, pdm_ir_attr_dtype(t->tr->context, v));
}
pdm_ir_attr pdm_tr_a_place(pdm_tr_op *t, int kind)
{
    return sticky(t, pdm_ir_attr_place(t->tr->context, kind, 0, ""));
}
pdm_ir_attr pdm_tr_a_int_array(pdm_tr_op *t, const int64_t *v, size_t n)
{
    return sticky(t, pdm_ir_attr_int_array(t->tr->context, v, n));
}
pdm_ir_attr pdm_tr_a_i64s(pdm_tr_op *t, const int64_t *v, size_t n)
{
    return sticky(t, pdm_ir_attr_i64s(t->tr->context, v, n));
}
pdm_ir_attr pdm_tr_a_f64s(pdm_tr_op *t, const double *v, size_t n)
{
    return sticky(t, pdm_ir_attr_f64s(t->tr->context, v, n));
}

pdm_ir_attr pdm_tr_a_flag(pdm_tr_op *t, bool v)
{
    pdm_ir_attr *kept = &t->tr->flags[v];
    if (!*kept)
        *kept = pdm_ir_attr_bools(t->tr->context, &v, 1);
    return sticky(t, *kept);
}

pdm_ir_attr pdm_tr_a_i32s(pdm_tr_op *t, const int64_t *v, size_t n)
{
    int32_t *narrow = pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *narrow);
    if (!narrow)
        return sticky(t, NULL);
    for (size_t i = 0; i < n; i++)
        narrow[i] = (int32_t)v[i];
    return sticky(t, pdm_ir_attr_i32s(t->tr->context, narrow, n));
}

pdm_ir_attr pdm_tr_a_f32s(pdm_tr_op *t, const double *v, size_t n)
{
    float *narrow = pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *narrow);
    if (!narrow)
        return sticky(t, NULL);
    for (size_t i = 0; i < n; i++)
        narrow[i] = (float)v[i];
    return sticky(t, pdm_ir_attr_f32s(t->tr->context, narrow, n));
}

/* ---- constants ------------------------------------------------------------------------------- */

/* place 1 (CPU): a constant that becomes an operand, which takes no part in gradients. */
static pdm_ir_value *full(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                          pdm_ir_attr value, int place)
{
    pdm_ir_type type = pdm_ir_type_tensor(t->tr->context, dtype, dims, rank);
    if (!type || !value) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    pdm_ir_named_attr attrs[] = {{"shape", pdm_tr_a_int_array(t, dims, rank), 0},
                                 {"value", value, 0},
                                 {"dtype", pdm_tr_a_dtype(t, dtype), 0},
                                 {"place", pdm_tr_a_place(t, place), 0},
                                 {"stop_gradient", pdm_tr_a_flag(t, true), 0}};
    pdm_ir_op *op =
        pdm_tr_emit_typed(t, "pd_op.full", PDM_TR_NO_OPS, attrs, place == 1 ? 5 : 4, &type, 1);
    return pdm_tr_result(op, 0);
}

static pdm_ir_attr integer_value(pdm_tr_op *t, int64_t value)
{
    /* The framework keeps the value in a double; beyond 2^53 only an integer tag is exact, and its
     * readers take that too. */
    if (value >= -((int64_t)1 << 53) && value <= ((int64_t)1 << 53))
        return pdm_tr_a_f64(t, (double)value);
    return pdm_tr_a_i64(t, value);
}

pdm_ir_value *pdm_tr_const_i(pdm_tr_op *t, pdm_dtype dtype, int64_t value)
{
    if (dead(t))
        return NULL;
    return full(t, (int64_t[]){1}, 1, dtype, integer_value(t, value), 1);
}

pdm_ir_value *pdm_tr_const_f(pdm_tr_op *t, pdm_dtype dtype, double value)
{
    if (dead(t))
        return NULL;
    return full(t, (int64_t[]){1}, 1, dtype, pdm_tr_a_f64(t, value), 1);
}

pdm_ir_value *pdm_tr_const_ints(pdm_tr_op *t, const int64_t *values, size_t count)
{
    if (dead(t))
        return NULL;
    int64_t n = (int64_t)count;
    pdm_ir_type type = pdm_ir_type_tensor(t->tr->context, PDM_I64, &n, 1);
    if (!type) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.full_int_array", PDM_TR_NO_OPS,
                                      PDM_TR_ATTRS({"value", pdm_tr_a_i64s(t, values, count), 0},
                                                   {"dtype", pdm_tr_a_dtype(t, PDM_I64), 0},
                                                   {"place", pdm_tr_a_place(t, 1), 0},
                                                   {"stop_gradient", pdm_tr_a_flag(t, true), 0}),
                                      &type, 1);
    return pdm_tr_result(op, 0);
}

pdm_ir_value *pdm_tr_fill(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                          double value)
{
    return dead(t) ? NULL : full(t, dims, rank, dtype, pdm_tr_a_f64(t, value), 0);
}

pdm_ir_value *pdm_tr_fill_i(pdm_tr_op *t, const int64_t *dims, size_t rank, pdm_dtype dtype,
                            int64_t value)
{
    return dead(t) ? NULL : full(t, dims, rank, dtype, integer_value(t, value), 0);
}

/* ---- frequent ops ---------------------------------------------------------------------------- */

pdm_ir_value *pdm_tr_unary(pdm_tr_op *t, const char *name, pdm_ir_value *x)
{
    return pdm_tr_emit1(t, name, PDM_TR_OPS(x), PDM_TR_NO_ATTRS);
}

pdm_ir_value *pdm_tr_binary(pdm_tr_op *t, const char *name, pdm_ir_value *x, pdm_ir_value *y)
{
    return pdm_tr_emit1(t, name, PDM_TR_OPS(x, y), PDM_TR_NO_ATTRS);
}

pdm_ir_value *pdm_tr_scale(pdm_tr_op *t, pdm_ir_value *x, double scale, double bias)
{
    pdm_ir_value *factor = pdm_tr_const_f(t, PDM_F32, scale);
    return pdm_tr_emit1(t, "pd_op.scale", PDM_TR_OPS(x, factor),
                        PDM_TR_ATTRS({"bias", pdm_tr_a_f32(t, bias), 0},
                                     {"bias_after_scale", pdm_tr_a_bool(t, true), 0}));
}

pdm_ir_value *pdm_tr_cast(pdm_tr_op *t, pdm_ir_value *x, pdm_dtype dtype)
{
    if (dead(t) || !x || pdm_tr_dtype_of(x) == dtype)
        return x;
    return pdm_tr_emit1(t, "pd_op.cast", PDM_TR_OPS(x),
                        PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, dtype), 0}));
}

pdm_ir_value *pdm_tr_reshape(pdm_tr_op *t, pdm_ir_value *x, const int64_t *dims, size_t rank)
{
    pdm_ir_value *shape = pdm_tr_const_ints(t, dims, rank);
    return pdm_tr_binary(t, "pd_op.reshape", x, shape);
}

pdm_ir_value *pdm_tr_transpose(pdm_tr_op *t, pdm_ir_value *x, const int64_t *perm, size_t rank)
{
    return pdm_tr_emit1(t, "pd_op.transpose", PDM_TR_OPS(x),
                        PDM_TR_ATTRS({"perm", pdm_tr_a_i32s(t, perm, rank), 0}));
}

pdm_ir_value *pdm_tr_squeeze(pdm_tr_op *t, pdm_ir_value *x, const int64_t *axes, size_t n)
{
    pdm_ir_value *a = pdm_tr_const_ints(t, axes, n);
    return pdm_tr_binary(t, "pd_op.squeeze", x, a);
}

pdm_ir_value *pdm_tr_unsqueeze(pdm_tr_op *t, pdm_ir_value *x, const int64_t *axes, size_t n)
{
    pdm_ir_value *a = pdm_tr_const_ints(t, axes, n);
    return pdm_tr_binary(t, "pd_op.unsqueeze", x, a);
}

pdm_ir_value *pdm_tr_combine(pdm_tr_op *t, pdm_ir_value *const *values, size_t n)
{
    if (dead(t))
        return NULL;
    pdm_ir_type *types = pdm_arena_calloc(&t->tr->scratch, n ? n : 1, sizeof *types);
    if (!types) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (!values[i])
            return NULL;
        types[i] = values[i]->type;
    }
    pdm_ir_type vector = pdm_ir_type_vector(t->tr->context, types, n);
    if (!vector) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    return pdm_tr_result(
        pdm_tr_emit_typed(t, "builtin.combine", values, n, PDM_TR_NO_ATTRS, &vector, 1), 0);
}

pdm_ir_value *pdm_tr_element(pdm_tr_op *t, pdm_ir_value *vector, size_t index)
{
    if (dead(t) || !vector)
        return NULL;
    if (!vector->type || vector->type->kind != PDM_IR_VECTOR ||
        index >= vector->type->num_elements || !vector->type->elements[index]) {
        pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "there is no element %zu in the vector", index);
        return NULL;
    }
    pdm_ir_type type = vector->type->elements[index];
    return pdm_tr_result(
        pdm_tr_emit_typed(t, "builtin.slice", PDM_TR_OPS(vector),
                          PDM_TR_ATTRS({"index", pdm_tr_a_i32(t, (int64_t)index), 0}), &type, 1),
        0);
}

pdm_ir_value *pdm_tr_concat(pdm_tr_op *t, pdm_ir_value *const *values, size_t n, int64_t axis)
{
    pdm_ir_value *all = pdm_tr_combine(t, values, n);
    pdm_ir_value *a = pdm_tr_const_i(t, PDM_I32, axis);
    return pdm_tr_binary(t, "pd_op.concat", all, a);
}

pdm_ir_value *pdm_tr_slice(pdm_tr_op *t, pdm_ir_value *x, int64_t axis, int64_t start, int64_t end)
{
    pdm_ir_value *starts = PDM_TR_INTS(t, start), *ends = PDM_TR_INTS(t, end);
    return pdm_tr_emit1(t, "pd_op.slice", PDM_TR_OPS(x, starts, ends),
                        PDM_TR_ATTRS({"axes", pdm_tr_a_i64s(t, &axis, 1), 0},
                                     {"infer_flags", pdm_tr_a_i64s(t, (int64_t[]){1}, 1), 0},
                                     {"decrease_axis", pdm_tr_a_i64s(t, NULL, 0), 0}));
}

pdm_ir_value *pdm_tr_reduce(pdm_tr_op *t, const char *name, pdm_ir_value *x, const int64_t *axes,
                            size_t n, bool keepdim)
{
    const pdm_ir_op_desc *desc = pdm_ir_op_desc_find(name);
    if (dead(t) || !desc)
        return NULL;
    /* Some reductions take the axes as an operand, some as an attribute. */
    bool as_operand = desc->num_operands > 1;
    if (as_operand) {
        pdm_ir_value *a = pdm_tr_const_ints(t, axes, n);
        return pdm_tr_emit1(t, name, PDM_TR_OPS(x, a),
                            PDM_TR_ATTRS({"keepdim", pdm_tr_a_bool(t, keepdim), 0}));
    }
    return pdm_tr_emit1(t, name, PDM_TR_OPS(x),
                        PDM_TR_ATTRS({"axis", pdm_tr_a_i64s(t, axes, n), 0},
                                     {"keepdim", pdm_tr_a_bool(t, keepdim), 0}));
}

pdm_ir_value *pdm_tr_shape64(pdm_tr_op *t, pdm_ir_value *x)
{
    return pdm_tr_unary(t, "pd_op.shape64", x);
}

/* ---- types ----------------------------------------------------------------------------------- */

void pdm_tr_meta(const pdm_ir_value *value, pdm_ir_meta *out)
{
    if (value)
        pdm_ir_meta_of_value(value, out);
    else
        pdm_ir_meta_init(out);
}

int pdm_tr_rank(const pdm_ir_value *value)
{
    pdm_ir_meta meta;
    pdm_tr_meta(value, &meta);
    return meta.rank;
}

pdm_dtype pdm_tr_dtype_of(const pdm_ir_value *value)
{
    return value && value->type ? value->type->dtype : PDM_UNDEFINED;
}

int pdm_tr_need_rank(pdm_tr_op *t, const pdm_ir_value *value)
{
    if (dead(t) || !value)
        return -1;
    int rank = pdm_tr_rank(value);
    if (rank < 0)
        pdm_tr_error(t, PDM_D_LG_TYPE, NULL, NULL, "op '%s' needs an input of known rank",
                     t->op->type);
    return rank;
}
