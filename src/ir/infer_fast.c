/* Shapes of the ops that programs are lowered to (ops/fast.def): channels-last images, with steps on the result. */
#include "ir/fast_steps.h"
#include "ir/infer_impl.h"

/* An attribute of two numbers a step: the first of them. */
static double first_number(const pdm_ir_infer *in, const char *name, size_t step)
{
    const pdm_ir_attr attr = pdm_ir_state_attr(in->state, name);

    return attr && attr->kind == PDM_IR_ATTR_ARRAY && 2 * step < attr->count ? attr->u.items[2 * step]->u.f : 0;
}

/* The result of steps whose operands begin with `next`, which comes to be behind them. An operand that is repeated over
 * images is as large as the result then, but for the number of images. */
static void take_steps(const pdm_ir_infer *in, const char *kinds_name, const char *args_name, size_t *next, pdm_ir_meta *out)
{
    pdm_ir_ints kinds;

    pdm_ir_attr_ints(in, kinds_name, &kinds);
    for (size_t i = 0; i < kinds.n; i++) {
        if (!pdm_post_has_operand((pdm_post_kind)kinds.v[i]))
            continue;
        pdm_ir_meta y = pdm_ir_in_meta(in, (*next)++);
        if (first_number(in, args_name, i) == 0)
            pdm_ir_meta_broadcast(in, out, &y, out);
        else if (out->rank > 0 && y.rank > 0)
            out->dims[0] = pdm_ir_dim_broadcast(in, out->dims[0], y.dims[0]);
    }
}

static pdm_status finish(pdm_ir_infer *in, size_t first, pdm_ir_meta *out)
{
    take_steps(in, "post", "post_args", &first, out);
    pdm_ir_out_meta(in, 0, out);
    return PDM_OK;
}

/* The filter has the shape that it had before it was packed. */
static pdm_ir_meta filter_of(const pdm_ir_infer *in)
{
    pdm_ir_ints shape;

    pdm_ir_attr_ints(in, "filter_shape", &shape);
    return pdm_ir_meta_make(PDM_F32, shape.n == 4 ? 4 : -1, shape.v);
}

static pdm_ir_meta conv_of(const pdm_ir_infer *in)
{
    const pdm_ir_meta x = pdm_ir_in_meta(in, 0), filter = filter_of(in);

    return x.rank == 4 && filter.rank == 4 ? pdm_ir_conv_result(in, &x, &filter, true)
                                           : pdm_ir_meta_make(PDM_F32, -1, NULL);
}

pdm_status pdm_ir_infer_fast_conv(pdm_ir_infer *in)
{
    pdm_ir_meta out = conv_of(in);

    return finish(in, 3, &out);
}

/* Windows that lie side by side. */
pdm_status pdm_ir_infer_fast_conv_transpose(pdm_ir_infer *in)
{
    const pdm_ir_meta filter = filter_of(in);
    pdm_ir_meta out = pdm_ir_in_meta(in, 0);

    if (out.rank != 4 || filter.rank != 4) {
        out.rank = -1;
        return finish(in, 3, &out);
    }
    for (int i = 1; i < 3; i++)
        out.dims[i] = pdm_ir_dim_mul(in, out.dims[i], filter.dims[i + 1]);
    out.dims[3] = filter.dims[1];
    return finish(in, 3, &out);
}

pdm_status pdm_ir_infer_fast_elementwise(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 0);

    return finish(in, 1, &out);
}

pdm_status pdm_ir_infer_fast_linear(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 0);

    if (out.rank > 0)
        out.dims[out.rank - 1] = pdm_ir_attr_int(in, "cols", -1);
    return finish(in, 3, &out);
}

/* Steps of the inner op, then a product with `channels` columns. */
static pdm_status separable(pdm_ir_infer *in, pdm_ir_meta *out, size_t first)
{
    take_steps(in, "inner_post", "inner_post_args", &first, out);
    if (out->rank > 0)
        out->dims[out->rank - 1] = pdm_ir_attr_int(in, "channels", -1);
    return finish(in, first, out);
}

pdm_status pdm_ir_infer_fast_separable(pdm_ir_infer *in)
{
    pdm_ir_meta out = conv_of(in);

    return separable(in, &out, 5);
}

pdm_status pdm_ir_infer_fast_stepped(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 0);

    return separable(in, &out, 3);
}
