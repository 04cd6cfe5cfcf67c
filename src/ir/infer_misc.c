/* Hooks that fit nowhere else: sequences, quantization, counting, sampling. */
#include <string.h>

#include "ir/infer_impl.h"

/* ---- sequences ------------------------------------------------------------------------------- */

/* emission [rows, tags], or [batch, time, tags] with lengths */
pdm_status pdm_ir_infer_crf_decoding(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t dims[2] = {pdm_ir_meta_dim(&x, 0),
                       pdm_ir_in_present(in, 3) ? pdm_ir_meta_dim(&x, 1) : 1};
    pdm_ir_out_dims(in, 0, PDM_I64, 2, dims);
    return PDM_OK;
}

/* logits [time, batch, classes], or rows of sequences without lengths */
pdm_status pdm_ir_infer_warpctc(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_out_dims(in, 0, x.dtype, 2, (int64_t[]){x.rank == 3 ? x.dims[1] : -1, 1});
    pdm_ir_out_rank(in, 1, x.dtype, 3);
    return PDM_OK;
}

/* input, input_length: padded results keep the dims, others are one column */
pdm_status pdm_ir_infer_ctc_align(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    if (pdm_ir_in_present(in, 1))
        pdm_ir_out_meta(in, 0, &x);
    else
        pdm_ir_out_dims(in, 0, x.dtype, 2, (int64_t[]){-1, 1});
    pdm_ir_out_dims(in, 1, x.dtype, 2, (int64_t[]){pdm_ir_meta_dim(&x, 0), 1});
    return PDM_OK;
}

/* Show and click counts lead each row; they may be cut off. */
pdm_status pdm_ir_infer_cvm(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t width = pdm_ir_meta_dim(&x, 1);
    if (x.rank == 2 && !pdm_ir_state_bool(in->state, "use_cvm", true))
        x.dims[1] = pdm_ir_dim_shift(in, width, -2);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* One pooled row a sequence, the vectors side by side. */
static void seqpool_concat(pdm_ir_infer *in, int64_t drop)
{
    pdm_ir_meta x = pdm_ir_in_element(in, 0, 0);
    int64_t width = 0;
    for (size_t i = 0; i < pdm_ir_in_vector_size(in, 0); i++) {
        pdm_ir_meta e = pdm_ir_in_element(in, 0, i);
        int64_t w = pdm_ir_meta_dim(&e, 1);
        width = pdm_ir_dim_add(in, width, pdm_ir_dim_shift(in, w, -drop));
    }
    pdm_ir_out_dims(in, 0, x.dtype, 2, (int64_t[]){-1, width});
}

pdm_status pdm_ir_infer_seqpool_concat(pdm_ir_infer *in)
{
    seqpool_concat(in, pdm_ir_state_bool(in->state, "use_cvm", true) ? 0 : 2);
    return PDM_OK;
}

/* Columns start_index.. of each element, side by side or summed. */
static void partial(pdm_ir_infer *in, bool concat)
{
    pdm_ir_meta x = pdm_ir_in_element(in, 0, 0);
    int64_t start = pdm_ir_attr_int(in, "start_index", 0),
            length = pdm_ir_attr_int(in, "length", -1);
    int64_t width = pdm_ir_meta_dim(&x, 1),
            count = concat ? (int64_t)pdm_ir_in_vector_size(in, 0) : 1;
    if (length < 0)
        length = start < 0 ? -start : pdm_ir_dim_shift(in, width, -start);
    pdm_ir_out_dims(in, 0, x.dtype, 2,
                    (int64_t[]){pdm_ir_meta_dim(&x, 0), pdm_ir_dim_mul(in, length, count)});
}

pdm_status pdm_ir_infer_partial_concat(pdm_ir_infer *in)
{
    partial(in, true);
    return PDM_OK;
}

pdm_status pdm_ir_infer_partial_sum(pdm_ir_infer *in)
{
    partial(in, false);
    return PDM_OK;
}

/* x, w (vector), bias (vector): the intermediate results and the last one */
pdm_status pdm_ir_infer_repeated_fc(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    size_t n = pdm_ir_in_vector_size(in, 1);
    for (size_t i = 0; i < n; i++) {
        pdm_ir_meta w = pdm_ir_in_element(in, 1, i);
        pdm_ir_meta out = pdm_ir_meta_make(
            x.dtype, 2, (int64_t[]){pdm_ir_meta_dim(&x, 0), pdm_ir_meta_dim(&w, 1)});
        if (i + 1 == n)
            pdm_ir_out_meta(in, 1, &out);
        else if (in->results[0].elements && i < in->results[0].num_elements)
            in->results[0].elements[i] = out;
    }
    return PDM_OK;
}

/* ---- quantization ---------------------------------------------------------------------------- */

/* x and one scale a channel */
pdm_status pdm_ir_infer_channel_wise_quantize(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_out_meta(in, 0, &x);
    pdm_ir_out_vec(in, 1, x.dtype, pdm_ir_meta_dim(&x, (int)pdm_ir_attr_int(in, "quant_axis", 0)));
    return PDM_OK;
}

/* x, scale, ...: y is floating like the scale when x is an integer; state and accumulator are one
 * value each */
pdm_status pdm_ir_infer_quantize_linear(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), scale = pdm_ir_in_meta(in, 1);
    int64_t axis = pdm_ir_attr_int(in, "quant_axis", -1);
    if (pdm_dtype_is_int(x.dtype))
        x.dtype = scale.dtype == PDM_UNDEFINED ? PDM_F32 : scale.dtype;
    pdm_ir_out_meta(in, 0, &x);
    pdm_ir_out_vec(in, 1, x.dtype, 1);
    pdm_ir_out_vec(in, 2, x.dtype, 1);
    pdm_ir_out_vec(in, 3, x.dtype, axis < 0 ? 1 : pdm_ir_meta_dim(&x, (int)axis));
    return PDM_OK;
}

/* x [k, n]: weights transposed to bytes, or packed by two, and a scale a column (and group) */
pdm_status pdm_ir_infer_weight_quantize(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t k = pdm_ir_meta_dim(&x, 0), n = pdm_ir_meta_dim(&x, 1),
            group = pdm_ir_attr_int(in, "group_size", -1);
    bool packed = pdm_ir_state_str_is(in->state, "algo", "weight_only_int4");
    pdm_ir_out_dims(in, 0, PDM_I8, 2, (int64_t[]){packed ? pdm_ir_dim_div(in, n, 2) : n, k});
    if (group > 0)
        pdm_ir_out_dims(in, 1, x.dtype, 2, (int64_t[]){pdm_ir_dim_div(in, pdm_ir_dim_add(in, k, group - 1), group), n});
    else
        pdm_ir_out_vec(in, 1, x.dtype, n);
    return PDM_OK;
}

/* Rows of transposed weights. Those of 4 bits lie two in a byte, which the framework leaves out of
 * account in types: so do ours, but not where shapes must be true. */
static int64_t packed_rows(const pdm_ir_infer *in, const pdm_ir_meta *weight, bool packed)
{
    const int64_t rows = pdm_ir_meta_dim(weight, 0);

    return in->shapes && packed ? pdm_ir_dim_mul(in, rows, 2) : rows;
}

/* x, scale */
pdm_status pdm_ir_infer_weight_dequantize(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    const bool packed = pdm_ir_state_str_is(in->state, "algo", "weight_only_int4");
    int64_t dims[2] = {pdm_ir_meta_dim(&x, 1), packed_rows(in, &x, packed)};
    pdm_ir_out_dims(in, 0, pdm_ir_in_meta(in, 1).dtype, 2, dims);
    return PDM_OK;
}

/* x, weight, bias, scale */
pdm_status pdm_ir_infer_weight_only_linear(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), weight = pdm_ir_in_meta(in, 1);
    pdm_ir_meta out = pdm_ir_meta_make(x.dtype, 0, NULL);
    pdm_ir_meta_push_dims(&out, &x, 0, x.rank - 1);
    (void)pdm_ir_meta_push(
        &out, packed_rows(in, &weight, pdm_ir_state_str_is(in->state, "weight_dtype", "int4")));
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Weighted counts are floating. */
pdm_status pdm_ir_infer_bincount(pdm_ir_infer *in)
{
    pdm_dtype weights = pdm_ir_in_meta(in, 1).dtype;
    pdm_ir_out_vec(in, 0,
                   !pdm_ir_in_present(in, 1) ? PDM_I64
                   : weights == PDM_F32      ? PDM_F32
                                             : PDM_F64,
                   -1);
    return PDM_OK;
}

pdm_status pdm_ir_infer_histogram(pdm_ir_infer *in)
{
    bool real = pdm_ir_state_bool(in->state, "density", false) || pdm_ir_in_present(in, 1);
    pdm_ir_out_vec(in, 0, real ? PDM_F32 : PDM_I64, pdm_ir_attr_int(in, "bins", -1));
    return PDM_OK;
}

/* sorted, values */
pdm_status pdm_ir_infer_searchsorted(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 1);
    out.dtype = pdm_ir_state_bool(in->state, "out_int32", false) ? PDM_I32 : PDM_I64;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

static pdm_ir_meta unique_out(pdm_ir_infer *in, const pdm_ir_meta *x)
{
    pdm_ir_ints axes;
    pdm_ir_meta out = *x;
    pdm_ir_attr_ints(in, "axis", &axes);
    int axis = axes.n ? pdm_ir_axis(axes.v[0], x->rank) : -1;
    if (axes.n == 0)
        out = pdm_ir_meta_make(x->dtype, 1, NULL);
    else if (axis >= 0)
        out.dims[axis] = -1;
    pdm_ir_out_meta(in, 0, &out);
    out.rank = axis >= 0 ? 1 : axes.n ? -1 : 0;
    out.dims[0] = axis >= 0 ? x->dims[axis] : -1;
    return out; /* dims of the inverse index, rank 0 standing for all of x */
}

/* out, first places, inverse index, counts */
pdm_status pdm_ir_infer_unique(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), inverse = unique_out(in, &x);
    pdm_dtype dtype = pdm_ir_attr_dtype_of(in, "dtype");
    int64_t all = inverse.rank == 0   ? pdm_ir_meta_product(in, &x, 0, x.rank)
                  : inverse.rank == 1 ? inverse.dims[0]
                                      : -1;
    dtype = dtype == PDM_UNDEFINED ? PDM_I64 : dtype;
    pdm_ir_out_vec(in, 1, dtype, -1);
    pdm_ir_out_vec(in, 2, dtype, all);
    pdm_ir_out_vec(in, 3, dtype, -1);
    return PDM_OK;
}

/* out, inverse index, counts */
pdm_status pdm_ir_infer_unique_consecutive(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), inverse = unique_out(in, &x);
    pdm_dtype dtype = pdm_ir_attr_dtype_of(in, "dtype");
    int64_t all = inverse.rank == 0   ? pdm_ir_meta_product(in, &x, 0, x.rank)
                  : inverse.rank == 1 ? inverse.dims[0]
                                      : -1;
    dtype = dtype == PDM_UNDEFINED ? PDM_I64 : dtype;
    pdm_ir_out_vec(in, 1, dtype, all);
    pdm_ir_out_vec(in, 2, dtype, -1);
    return PDM_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* x, src_index, dst_index, out_size: messages summed up at their targets, and how many came */
static void receive(pdm_ir_infer *in, pdm_ir_meta message, size_t size_index)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints size;
    pdm_ir_in_ints(in, size_index, &size);
    int64_t rows =
        size.constant && size.n == 1 && size.v[0] > 0 ? size.v[0]
        : !pdm_ir_in_present(in, size_index) || (size.constant && (size.n == 0 || size.v[0] <= 0))
            ? pdm_ir_meta_dim(&x, 0)
            : -1;
    message.dtype = x.dtype;
    if (message.rank > 0)
        message.dims[0] = rows;
    pdm_ir_out_meta(in, 0, &message);
    pdm_ir_out_vec(in, 1, PDM_I32, rows);
}

pdm_status pdm_ir_infer_send_u_recv(pdm_ir_infer *in)
{
    receive(in, pdm_ir_in_meta(in, 0), 3);
    return PDM_OK;
}

/* What x and an edge y give together; the first axis is not broadcast. */
static pdm_ir_meta message_of(const pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), y = pdm_ir_in_meta(in, 1), out = x;
    if (x.rank < 1 || y.rank < 1)
        return pdm_ir_meta_make(x.dtype, -1, NULL);
    pdm_ir_meta xs = pdm_ir_meta_make(x.dtype, x.rank - 1, x.dims + 1),
                ys = pdm_ir_meta_make(x.dtype, y.rank - 1, y.dims + 1);
    pdm_ir_meta all = xs;
    pdm_ir_meta_broadcast(in, &xs, &ys, &all);
    out = pdm_ir_meta_make(x.dtype, 0, NULL);
    (void)pdm_ir_meta_push(&out, -1);
    pdm_ir_meta_push_dims(&out, &all, 0, all.rank);
    return out;
}

pdm_status pdm_ir_infer_send_ue_recv(pdm_ir_infer *in)
{
    receive(in, message_of(in), 4);
    return PDM_OK;
}

pdm_status pdm_ir_infer_send_uv(pdm_ir_infer *in)
{
    pdm_ir_meta out = message_of(in), edges = pdm_ir_in_meta(in, 2);
    if (out.rank > 0)
        out.dims[0] = pdm_ir_meta_dim(&edges, 0);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* ---- einsum ---------------------------------------------------------------------------------- */

/* Dims of the letters of one operand; false when the term has an ellipsis or does not fit. */
static bool einsum_term(const pdm_ir_infer *in, const char **at, const char *end, const pdm_ir_meta *x, int64_t *sizes)
{
    int axis = 0;
    for (; *at < end && **at != ',' && **at != '-'; ++*at) {
        if (**at == ' ')
            continue;
        if (**at < 'A' || **at > 'z')
            return false;
        int64_t d = pdm_ir_meta_dim(x, axis++);
        int64_t *size = &sizes[(unsigned char)**at];
        *size = *size == -1 ? d : pdm_ir_dim_broadcast(in, *size, d);
    }
    return true;
}

static void einsum_out(const pdm_ir_infer *in, pdm_ir_meta *out)
{
    pdm_ir_attr attr = pdm_ir_state_attr(in->state, "equation");
    int64_t sizes[128];
    out->rank = -1;
    if (!attr || attr->kind != PDM_IR_ATTR_STR)
        return;
    const char *at = attr->u.s.text, *end = at + attr->u.s.size;
    for (size_t i = 0; i < 128; i++)
        sizes[i] = -1;
    for (size_t i = 0; i < pdm_ir_in_vector_size(in, 0); i++) {
        pdm_ir_meta x = pdm_ir_in_element(in, 0, i);
        if (!einsum_term(in, &at, end, &x, sizes))
            return;
        if (at < end && *at == ',')
            at++;
    }
    if (end - at < 2 || memcmp(at, "->", 2) != 0)
        return;
    out->rank = 0;
    for (at += 2; at < end; at++) {
        if (*at == ' ')
            continue;
        if (*at < 'A' || *at > 'z') {
            out->rank = -1;
            return;
        }
        (void)pdm_ir_meta_push(out, sizes[(unsigned char)*at]);
    }
}

pdm_status pdm_ir_infer_einsum(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_meta_make(pdm_ir_in_element(in, 0, 0).dtype, -1, NULL);
    einsum_out(in, &out);
    pdm_ir_out_meta(in, 0, &out);
    for (size_t r = 1; r < in->num_results; r++) {
        for (size_t i = 0; in->results[r].elements && i < in->results[r].num_elements; i++) {
            in->results[r].elements[i] = pdm_ir_in_element(in, 0, i);
            if (r == 1)
                in->results[r].elements[i].rank = -1;
        }
    }
    return PDM_OK;
}

/* x [.., m * n] halved when there is no second operand */
pdm_status pdm_ir_infer_swiglu(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    if (!pdm_ir_in_present(in, 1) && x.rank > 0)
        x.dims[x.rank - 1] = pdm_ir_dim_div(in, x.dims[x.rank - 1], 2);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}
