/*
 * Batch normalization after a convolution is a factor and a shift for each channel: the factors go
 * into the filter, in double precision, and one addition is left. A bias between the two goes into the
 * shift.
 */
#include <math.h>
#include <string.h>

#include "ir/rewrite.h"

typedef struct fold {
    pdm_ir_rewriter *rw;
    pdm_ir_op *norm, *conv, *add; /* add: NULL, or the bias between the two */
    int64_t channels;
    int axis; /* of output channels in the filter */
    pdm_tensor filter, bias, mean, variance, scale, shift; /* bias, scale, shift: may be missing */
} fold;

static bool is_conv(const pdm_ir_op *op)
{
    return PDM_IR_IS(op, pd_op, conv2d) || PDM_IR_IS(op, pd_op, depthwise_conv2d) ||
           PDM_IR_IS(op, pd_op, conv2d_transpose);
}

/* Fixed statistics, NCHW as the convolution, and a result that is all that is read. */
static bool norm_fits(const pdm_ir_op *op)
{
    if ((!pdm_ir_op_flag(op, "is_test") && !pdm_ir_op_flag(op, "use_global_stats")) ||
        pdm_ir_op_flag(op, "trainable_statistics") || op->num_operands < 5 ||
        strcmp(pdm_ir_op_text(op, "data_format"), "NCHW") != 0)
        return false;
    for (uint32_t i = 1; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return false;
    }
    return true;
}

static bool is_f32(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) && value->type->dtype == PDM_F32;
}

/* A known value of that many elements, if it is there at all. */
static bool read_vector(fold *f, const pdm_ir_op *op, uint32_t index, pdm_tensor *out)
{
    const pdm_ir_value *value = pdm_ir_op_operand_value(op, index);

    if (!value)
        return true;
    if (!is_f32(value) || pdm_ir_rw_is_written(f->rw, value))
        return false;
    if (pdm_ir_constant_get(f->rw->run->constants, value, out) != PDM_OK)
        f->rw->status = PDM_NOMEM;
    return out->dtype == PDM_F32 && pdm_tensor_count(out) == f->channels;
}

/* [C, 1, 1] or [1, C, 1, 1]: one number for each channel. */
static bool is_per_channel(const pdm_ir_value *value, int64_t channels)
{
    const pdm_ir_type type = value ? value->type : NULL;

    if (!pdm_ir_type_is_tensor(type) || type->rank < 3 || type->rank > 4)
        return false;
    const int64_t *dims = type->dims + (type->rank - 3);
    return (type->rank == 3 || type->dims[0] == 1) && dims[0] == channels && dims[1] == 1 &&
           dims[2] == 1;
}

/* The convolution whose result op normalizes, perhaps with a bias added to it. */
static bool find_conv(fold *f)
{
    pdm_ir_op *op = pdm_ir_rw_maker(f->rw, pdm_ir_op_operand_value(f->norm, 0), true);

    if (op && PDM_IR_IS(op, pd_op, add)) {
        f->add = op;
        op = pdm_ir_rw_maker(f->rw, pdm_ir_op_operand_value(op, 0), true);
    }
    if (!op || !is_conv(op) || strcmp(pdm_ir_op_text(op, "data_format"), "NCHW") != 0)
        return false;
    f->conv = op;
    f->axis = PDM_IR_IS(op, pd_op, conv2d_transpose) ? 1 : 0;
    const pdm_ir_value *filter = pdm_ir_op_operand_value(op, 1);
    return is_f32(filter) && filter->type->rank == 4 && is_f32(pdm_ir_op_operand_value(op, 0)) &&
           (f->axis == 0 || pdm_ir_op_number(op, "groups", 1) == 1);
}

static bool read_all(fold *f)
{
    const pdm_ir_value *filter = pdm_ir_op_operand_value(f->conv, 1);
    pdm_ir_constants *constants = f->rw->run->constants;

    if (pdm_ir_constant_bytes(constants, filter) == 0)
        return false;
    if (pdm_ir_constant_get(constants, filter, &f->filter) != PDM_OK)
        f->rw->status = PDM_NOMEM;
    if (f->filter.dtype != PDM_F32 || f->filter.rank != 4 || pdm_tensor_count(&f->filter) == 0)
        return false;
    /* What was read may be declared otherwise. */
    for (int i = 0; i < 4; i++) {
        if (f->filter.dims[i] != filter->type->dims[i])
            return false;
    }
    f->channels = f->filter.dims[f->axis];
    if (f->add && (!is_per_channel(pdm_ir_op_operand_value(f->add, 1), f->channels) ||
                   !read_vector(f, f->add, 1, &f->bias)))
        return false;
    return read_vector(f, f->norm, 1, &f->mean) && read_vector(f, f->norm, 2, &f->variance) &&
           read_vector(f, f->norm, 3, &f->scale) && read_vector(f, f->norm, 4, &f->shift) &&
           f->mean.data && f->variance.data;
}

/* Element i, or what stands for a tensor that is missing. */
static double at(const pdm_tensor *t, int64_t i, double fallback)
{
    return t->data ? (double)((const float *)t->data)[i] : fallback;
}

/* New data: filter and shift. False: they are no numbers that can be used. */
static bool compute(fold *f, float *filter, float *shift)
{
    const double epsilon = pdm_ir_op_number(f->norm, "epsilon", 1e-5);
    const int64_t count = pdm_tensor_count(&f->filter);
    int64_t inner = 1;

    for (int i = f->axis + 1; i < 4; i++)
        inner *= f->filter.dims[i];
    for (int64_t c = 0; c < f->channels; c++) {
        const double factor = at(&f->scale, c, 1) / sqrt(at(&f->variance, c, 0) + epsilon);
        const double bias = at(&f->bias, c, 0) - at(&f->mean, c, 0);
        const double sum = bias * factor + at(&f->shift, c, 0);
        if (!isfinite(factor) || !isfinite(sum))
            return false;
        shift[c] = (float)sum;
        for (int64_t k = c * inner; k < count; k += f->channels * inner) {
            for (int64_t e = k; e < k + inner; e++)
                filter[e] = (float)(((const float *)f->filter.data)[e] * factor);
        }
    }
    return true;
}

/* The convolution with another filter, and the addition. */
static bool replace(fold *f, const pdm_tensor *filter, const pdm_tensor *shift)
{
    pdm_ir_rewriter *rw = f->rw;
    pdm_ir_constants *constants = rw->run->constants;
    const char *name =
        pdm_ir_parameter_name(pdm_ir_value_op(pdm_ir_op_operand_value(f->conv, 1)));
    pdm_ir_make_attr attrs[PDM_IR_MAX_ROW_ATTRS + 1];
    const pdm_ir_op_info *info = f->conv->info;
    pdm_ir_value *in[3];
    size_t n = 0;

    for (uint16_t i = 0; i < info->desc->num_attrs; i++) {
        const pdm_ir_attr attr = pdm_ir_op_row_attr(f->conv, i);
        if (attr)
            attrs[n++] = (pdm_ir_make_attr){info->attr_names[i], attr};
    }
    attrs[n] = (pdm_ir_make_attr){0};
    for (uint32_t i = 0; i < f->conv->num_operands && i < 3; i++)
        in[i] = pdm_ir_op_operand_value(f->conv, i);
    in[1] = pdm_ir_constant_make(constants, filter, in[1]->type, rw->at, name);
    pdm_ir_value *bias = pdm_ir_constant_make(
        constants, shift, pdm_ir_type_tensor(rw->context, PDM_F32, shift->dims, 3), rw->at, name);
    if (!in[1] || !bias) {
        rw->status = PDM_NOMEM;
        return false;
    }
    const pdm_ir_type type = pdm_ir_op_result(f->conv, 0)->type;
    pdm_ir_op *conv =
        pdm_ir_rw_make_typed(rw, info->code, in, f->conv->num_operands, attrs, &type, 1);
    if (!conv)
        return false;
    pdm_ir_value *sum[] = {pdm_ir_op_result(conv, 0), bias};
    return pdm_ir_rw_replace(rw, f->norm, pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_add, sum, 2, NULL));
}

static bool take_over(fold *f)
{
    pdm_tensor filter = {0}, shift = {0};
    const int64_t dims[] = {f->channels, 1, 1};
    bool done = false;

    if (pdm_tensor_alloc(&filter, PDM_F32, 4, f->filter.dims) != PDM_OK ||
        pdm_tensor_alloc(&shift, PDM_F32, 3, dims) != PDM_OK)
        f->rw->status = PDM_NOMEM;
    else if (compute(f, filter.data, shift.data))
        done = replace(f, &filter, &shift);
    pdm_tensor_deinit(&filter);
    pdm_tensor_deinit(&shift);
    return done;
}

static bool norm_of_conv(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    fold f = {.rw = rw, .norm = op};
    bool done = false;

    if (norm_fits(op) && rw->run->constants->source && find_conv(&f) && read_all(&f))
        done = take_over(&f);
    pdm_tensor *const all[] = {&f.filter, &f.bias, &f.mean, &f.variance, &f.scale, &f.shift};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pdm_tensor_deinit(all[i]);
    return done;
}

static const pdm_ir_pattern patterns[] = {
    {.name = "batch_norm of a convolution", .root = "pd_op.batch_norm", .rewrite = norm_of_conv},
};

static pdm_status run(pdm_ir_pass_run *run)
{
    return pdm_ir_rewrite(run, patterns, sizeof patterns / sizeof *patterns);
}

const pdm_ir_pass pdm_ir_pass_conv_bn = {
    .name = "conv-bn",
    .summary = "Take batch normalization into the filter of the convolution before it.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
