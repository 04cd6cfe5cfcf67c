/* Reshaping, slicing, joining, gathering. */
#include <stdint.h>
#include <string.h>

#include "ir/infer_impl.h"

/* ---- reshape and friends --------------------------------------------------------------------- */

static bool is_empty(const pdm_ir_meta *x)
{
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 0)
            return true;
    }
    return false;
}

/* A shape operand, where -1 is the rest and 0 copies from x, or is 0 when x has no elements. */
pdm_status pdm_ir_infer_reshape(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = pdm_ir_meta_make(x.dtype, -1, NULL);
    pdm_ir_ints shape;
    pdm_ir_in_ints(in, 1, &shape);
    if (shape.counted && shape.n <= PDM_MAX_RANK)
        out.rank = (int)shape.n;
    int64_t product = 1;
    int rest = -1;
    for (int i = 0; i < out.rank; i++) {
        int64_t d = pdm_ir_ints_at(&shape, (size_t)i, -1);
        if (d == 0 && !is_empty(&x))
            d = pdm_ir_meta_dim(&x, i);
        if (d < 0 && shape.known[i] && shape.v[i] == -1)
            rest = i;
        else
            product = pdm_ir_dim_mul(in, product, d);
        out.dims[i] = d;
    }
    if (rest >= 0 && product != 0)
        out.dims[rest] = pdm_ir_dim_div(in, pdm_ir_meta_product(in, &x, 0, x.rank), product);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_view_shape(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints dims;
    pdm_ir_attr_ints(in, "dims", &dims);
    pdm_ir_out_dims(in, 0, x.dtype, dims.counted && dims.n <= PDM_MAX_RANK ? (int)dims.n : -1,
                    dims.v);
    return PDM_OK;
}

pdm_status pdm_ir_infer_flatten(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0),
                out = pdm_ir_meta_make(x.dtype, x.rank < 0 ? -1 : 0, NULL);
    int begin = pdm_ir_axis(pdm_ir_attr_int(in, "start_axis", 1), x.rank);
    int end = pdm_ir_axis(pdm_ir_attr_int(in, "stop_axis", -1), x.rank);
    if (x.rank == 0)
        (void)pdm_ir_meta_push(&out, 1);
    else if (begin < 0 || end < begin)
        out.rank = -1;
    else {
        pdm_ir_meta_push_dims(&out, &x, 0, begin);
        (void)pdm_ir_meta_push(&out, pdm_ir_meta_product(in, &x, begin, end + 1));
        pdm_ir_meta_push_dims(&out, &x, end + 1, x.rank);
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* Named axes of 1 go; without names all of them. Axes that are not 1 stay. */
pdm_status pdm_ir_infer_squeeze(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0),
                out = pdm_ir_meta_make(x.dtype, x.rank < 0 ? -1 : 0, NULL);
    pdm_ir_ints axes;
    bool gone[PDM_MAX_RANK] = {false}, unsure = false;
    pdm_ir_in_ints(in, 1, &axes);
    if (!axes.constant) {
        pdm_ir_out_rank(in, 0, x.dtype,
                        x.rank >= 0 && axes.counted && axes.n > 0 ? x.rank - (int)axes.n : -1);
        return PDM_OK;
    }
    for (size_t i = 0; i < axes.n; i++) {
        int a = pdm_ir_axis(axes.v[i], x.rank);
        if (a >= 0)
            gone[a] = x.dims[a] == 1 || x.dims[a] < 0;
    }
    for (int i = 0; i < x.rank; i++) {
        unsure |= axes.n == 0 && x.dims[i] < 0;
        if (axes.n == 0 ? x.dims[i] != 1 : !gone[i])
            (void)pdm_ir_meta_push(&out, x.dims[i]);
    }
    if (unsure)
        out.rank = -1;
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* Axes count in the result as it grows, one after the other. */
pdm_status pdm_ir_infer_unsqueeze(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints axes;
    pdm_ir_in_ints(in, 1, &axes);
    if (!axes.constant || x.rank < 0 || x.rank + (int)axes.n > PDM_MAX_RANK) {
        pdm_ir_out_rank(in, 0, x.dtype, x.rank < 0 || !axes.counted ? -1 : x.rank + (int)axes.n);
        return PDM_OK;
    }
    for (size_t i = 0; i < axes.n; i++) {
        int a = pdm_ir_axis(axes.v[i], x.rank + 1);
        if (a < 0) {
            x.rank = -1;
            break;
        }
        memmove(&x.dims[a + 1], &x.dims[a], sizeof x.dims[0] * (size_t)(x.rank - a));
        x.dims[a] = 1;
        x.rank++;
    }
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_transpose(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = x;
    pdm_ir_ints perm;
    pdm_ir_attr_ints(in, "perm", &perm);
    if (x.rank < 0 || perm.n != (size_t)x.rank)
        out = pdm_ir_meta_make(
            x.dtype, perm.counted && x.rank < 0 && perm.n <= PDM_MAX_RANK ? (int)perm.n : x.rank,
            NULL);
    else
        for (int i = 0; i < x.rank; i++)
            out.dims[i] = pdm_ir_meta_dim(&x, (int)perm.v[i]);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* ---- repetition ------------------------------------------------------------------------------ */

pdm_status pdm_ir_infer_expand(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints shape;
    pdm_ir_in_ints(in, 1, &shape);
    int rank = shape.counted && shape.n <= PDM_MAX_RANK ? (int)shape.n : -1;
    pdm_ir_meta out = pdm_ir_meta_make(x.dtype, rank, NULL);
    for (int i = 0; i < rank; i++) {
        int xi = i - (rank - x.rank);
        out.dims[i] = pdm_ir_ints_at(&shape, (size_t)i, -1);
        if (!PDM_IR_IS_GIVEN(out.dims[i]))
            out.dims[i] = shape.known[i] && x.rank >= 0 && xi >= 0 ? x.dims[xi] : -1;
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* x, y or the attribute target_shape */
pdm_status pdm_ir_infer_expand_as(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), y = pdm_ir_in_meta(in, 1);
    pdm_ir_ints shape;
    pdm_ir_attr_ints(in, "target_shape", &shape);
    if (pdm_ir_in_present(in, 1) && y.rank >= 0) {
        for (int i = 0; i < y.rank; i++)
            if (!PDM_IR_IS_GIVEN(y.dims[i]) && shape.n == (size_t)y.rank)
                y.dims[i] = shape.v[i];
        pdm_ir_out_dims(in, 0, x.dtype, y.rank, y.dims);
    } else {
        pdm_ir_out_dims(in, 0, x.dtype, shape.n > 0 && shape.n <= PDM_MAX_RANK ? (int)shape.n : -1,
                        shape.v);
    }
    return PDM_OK;
}

pdm_status pdm_ir_infer_tile(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints times;
    pdm_ir_in_ints(in, 1, &times);
    int rank = !times.counted || x.rank < 0 || times.n > PDM_MAX_RANK ? -1
               : x.rank > (int)times.n                                ? x.rank
                                                                      : (int)times.n;
    pdm_ir_meta out = pdm_ir_meta_make(x.dtype, rank, NULL);
    for (int i = 0; i < rank; i++) {
        int xi = i - (rank - x.rank), ti = i - (rank - (int)times.n);
        out.dims[i] = pdm_ir_dim_mul(in, xi < 0 ? 1 : x.dims[xi],
                                     ti < 0 ? 1 : pdm_ir_ints_at(&times, (size_t)ti, -1));
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

static void repeat(pdm_ir_infer *in, int64_t times)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int axis = pdm_ir_axis(pdm_ir_attr_int(in, "axis", 0), x.rank);
    int64_t total = pdm_ir_attr_int(in, "output_size", -1);
    if (axis >= 0)
        x.dims[axis] = total > 0 ? total : pdm_ir_dim_mul(in, x.dims[axis], times);
    pdm_ir_out_meta(in, 0, &x);
}

pdm_status pdm_ir_infer_repeat_interleave(pdm_ir_infer *in)
{
    repeat(in, pdm_ir_attr_int(in, "repeats", -1));
    return PDM_OK;
}

pdm_status pdm_ir_infer_repeat_interleave_tensor(pdm_ir_infer *in)
{
    repeat(in, -1);
    return PDM_OK;
}

/* ---- joining and splitting ------------------------------------------------------------------- */

pdm_status pdm_ir_infer_concat(pdm_ir_infer *in)
{
    size_t n = pdm_ir_in_vector_size(in, 0);
    pdm_ir_meta out = pdm_ir_in_element(in, 0, 0);
    int64_t where = 0;
    bool known = pdm_ir_in_int(in, 1, &where);
    int axis = known ? pdm_ir_axis(where, out.rank) : -1;
    for (size_t i = 1; i < n; i++) {
        pdm_ir_meta e = pdm_ir_in_element(in, 0, i);
        if (out.rank < 0 && e.rank >= 0) { /* it must have the same rank */
            axis = known ? pdm_ir_axis(where, e.rank) : -1;
            out.rank = e.rank;
            memcpy(out.dims, e.dims, sizeof out.dims);
            if (axis >= 0)
                out.dims[axis] = -1;
        }
        for (int k = 0; k < out.rank; k++) {
            int64_t d = e.rank == out.rank ? e.dims[k] : -1;
            if (k == axis || axis < 0)
                out.dims[k] = axis < 0 ? -1 : pdm_ir_dim_add(in, out.dims[k], d);
            else
                out.dims[k] = pdm_ir_dim_same(in, out.dims[k], d);
        }
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_stack(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_element(in, 0, 0),
                out = pdm_ir_meta_make(x.dtype, x.rank < 0 ? -1 : 0, NULL);
    for (size_t i = 1; i < pdm_ir_in_vector_size(in, 0); i++) {
        pdm_ir_meta e = pdm_ir_in_element(in, 0, i);
        for (int k = 0; k < x.rank && e.rank == x.rank; k++)
            x.dims[k] = pdm_ir_dim_same(in, x.dims[k], e.dims[k]);
    }
    int axis = pdm_ir_axis(pdm_ir_attr_int(in, "axis", 0), x.rank < 0 ? -1 : x.rank + 1);
    if (axis < 0) {
        pdm_ir_out_rank(in, 0, x.dtype, x.rank < 0 ? -1 : x.rank + 1);
        return PDM_OK;
    }
    pdm_ir_meta_push_dims(&out, &x, 0, axis);
    (void)pdm_ir_meta_push(&out, (int64_t)pdm_ir_in_vector_size(in, 0));
    pdm_ir_meta_push_dims(&out, &x, axis, x.rank);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* Each element: x with dims[axis] replaced, or gone. */
static void split_off(pdm_ir_infer *in, const pdm_ir_meta *x, int axis, const int64_t *sizes,
                      bool drop)
{
    pdm_ir_meta *result = &in->results[0];
    for (size_t i = 0; i < result->num_elements && result->elements; i++) {
        pdm_ir_meta e = *x;
        if (axis < 0) {
            e = pdm_ir_meta_make(x->dtype, x->rank < 0 ? -1 : drop ? x->rank - 1 : x->rank, NULL);
        } else if (drop) {
            memmove(&e.dims[axis], &e.dims[axis + 1],
                    sizeof e.dims[0] * (size_t)(x->rank - axis - 1));
            e.rank--;
        } else {
            e.dims[axis] = sizes && PDM_IR_IS_GIVEN(sizes[i]) ? sizes[i] : -1;
        }
        result->elements[i] = e;
    }
}

/* x, sections (one of them may be -1), axis */
pdm_status pdm_ir_infer_split(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints sections;
    int64_t where;
    pdm_ir_in_ints(in, 1, &sections);
    int axis = pdm_ir_in_int(in, 2, &where) ? pdm_ir_axis(where, x.rank) : -1;
    if ((sections.constant || in->shapes) && sections.counted && sections.n == in->results[0].num_elements && axis >= 0) {
        int64_t given = 0;
        for (size_t i = 0; i < sections.n; i++)
            given = pdm_ir_dim_add(in, given,
                                   sections.known[i] && sections.v[i] < 0 ? 0 : sections.v[i]);
        for (size_t i = 0; i < sections.n; i++)
            if (sections.known[i] && sections.v[i] < 0)
                sections.v[i] = pdm_ir_dim_sub(in, x.dims[axis], given);
        split_off(in, &x, axis, sections.v, false);
    } else {
        split_off(in, &x, axis, NULL, false);
    }
    return PDM_OK;
}

pdm_status pdm_ir_infer_split_with_num(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t where, size, num = pdm_ir_attr_int(in, "num", 0);
    int axis = pdm_ir_in_int(in, 1, &where) ? pdm_ir_axis(where, x.rank) : -1;
    split_off(in, &x, axis, NULL, false);
    size = axis < 0 ? -1 : pdm_ir_dim_div(in, x.dims[axis], num);
    for (size_t i = 0; axis >= 0 && i < in->results[0].num_elements && in->results[0].elements; i++)
        in->results[0].elements[i].dims[axis] = size;
    return PDM_OK;
}

/* unbind, unstack */
pdm_status pdm_ir_infer_unbind(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    split_off(in, &x, pdm_ir_axis(pdm_ir_attr_int(in, "axis", 0), x.rank), NULL, true);
    return PDM_OK;
}

pdm_status pdm_ir_infer_meshgrid(pdm_ir_infer *in)
{
    size_t n = pdm_ir_in_vector_size(in, 0);
    pdm_ir_meta grid = pdm_ir_meta_make(PDM_UNDEFINED, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        pdm_ir_meta e = pdm_ir_in_element(in, 0, i);
        (void)pdm_ir_meta_push(&grid, e.rank == 0 ? 1 : pdm_ir_meta_dim(&e, 0));
    }
    for (size_t i = 0; i < in->results[0].num_elements && in->results[0].elements; i++) {
        in->results[0].elements[i] = grid;
        in->results[0].elements[i].dtype = pdm_ir_in_element(in, 0, i).dtype;
    }
    return PDM_OK;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void slice_axes(pdm_ir_infer *in, const char *axes_name, bool strided, pdm_ir_meta *x)
{
    pdm_ir_ints axes, starts, ends, steps = {0};
    pdm_ir_attr_ints(in, axes_name, &axes);
    pdm_ir_in_ints(in, 1, &starts);
    pdm_ir_in_ints(in, 2, &ends);
    if (strided)
        pdm_ir_in_ints(in, 3, &steps);
    for (size_t i = 0; i < axes.n; i++) {
        int a = pdm_ir_axis(axes.v[i], x->rank);
        if (a < 0)
            continue;
        int64_t step = !strided ? 1 : i < steps.n && steps.known[i] ? steps.v[i] : 0;
        x->dims[a] = pdm_ir_dim_slice(in, x->dims[a], &starts, &ends, i, step);
    }
}

static void drop_axes(pdm_ir_meta *x, const pdm_ir_ints *axes)
{
    pdm_ir_meta out = pdm_ir_meta_make(x->dtype, x->rank < 0 ? -1 : 0, NULL);
    for (int i = 0; i < x->rank; i++) {
        bool gone = false;
        for (size_t k = 0; k < axes->n; k++)
            gone |= pdm_ir_axis(axes->v[k], x->rank) == i;
        if (!gone)
            (void)pdm_ir_meta_push(&out, x->dims[i]);
    }
    *x = out;
}

pdm_status pdm_ir_infer_slice(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints gone;
    slice_axes(in, "axes", false, &x);
    pdm_ir_attr_ints(in, "decrease_axis", &gone);
    drop_axes(&x, &gone);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_strided_slice(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    slice_axes(in, "axes", true, &x);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_view_slice(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints begin = {.counted = true, .constant = true, .n = 1, .known = {true}}, end = begin;
    begin.v[0] = pdm_ir_attr_int(in, "begin_idx", 0);
    end.v[0] = pdm_ir_attr_int(in, "end_idx", INT32_MAX);
    if (x.rank > 0)
        x.dims[0] = pdm_ir_dim_slice(in, x.dims[0], &begin, &end, 0, 1);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* x, shape (-1: up to the end), offsets */
pdm_status pdm_ir_infer_crop(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), out = x;
    pdm_ir_ints shape, offsets;
    pdm_ir_in_ints(in, 1, &shape);
    pdm_ir_in_ints(in, 2, &offsets);
    if (out.rank < 0 && shape.counted && shape.n <= PDM_MAX_RANK)
        out = pdm_ir_meta_make(x.dtype, (int)shape.n, NULL);
    for (int i = 0; i < out.rank; i++) {
        int64_t d = pdm_ir_ints_at(&shape, (size_t)i, -1),
                o = pdm_ir_ints_at(&offsets, (size_t)i, -1);
        bool rest = (size_t)i < shape.n && shape.known[i] && shape.v[i] < 0;
        out.dims[i] = PDM_IR_IS_GIVEN(d)       ? d
                      : rest && x.rank > i ? pdm_ir_dim_sub(in, x.dims[i], o)
                                           : -1;
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* ---- padding --------------------------------------------------------------------------------- */

/* Pairs for every axis, from the first. */
pdm_status pdm_ir_infer_pad(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints pads;
    pdm_ir_attr_ints(in, "paddings", &pads);
    for (int i = 0; i < x.rank; i++) {
        size_t k = 2 * (size_t)i;
        int64_t more = k + 1 < pads.n ? pads.v[k] + pads.v[k + 1] : 0;
        x.dims[i] = pdm_ir_dim_shift(in, x.dims[i], more);
    }
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* paddings: left, right, top, bottom, front, back, that is from the last spatial axis; one operand
 * or attribute. */
static void pad_spatial(pdm_ir_infer *in, const pdm_ir_ints *pads, int spatial)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    bool last = pdm_ir_state_str_is(in->state, "data_format", "NDHWC") ||
                pdm_ir_state_str_is(in->state, "data_format", "NHWC");
    if (x.rank < 0)
        x = pdm_ir_meta_make(x.dtype, spatial + 2, NULL);
    for (int i = 0; i < spatial && x.rank == spatial + 2; i++) {
        int axis = (last ? spatial : spatial + 1) - i;
        size_t k = 2 * (size_t)i;
        bool known = k + 1 < pads->n && pads->known[k] && pads->known[k + 1];
        x.dims[axis] =
            known ? pdm_ir_dim_shift(in, x.dims[axis], pads->v[k] + pads->v[k + 1]) : -1;
    }
    pdm_ir_out_meta(in, 0, &x);
}

pdm_status pdm_ir_infer_pad3d(pdm_ir_infer *in)
{
    pdm_ir_ints pads;
    pdm_ir_in_ints(in, 1, &pads);
    pad_spatial(in, &pads, 3);
    return PDM_OK;
}

/* top, bottom, left, right */
pdm_status pdm_ir_infer_pad2d(pdm_ir_infer *in)
{
    pdm_ir_ints pads, swapped;
    pdm_ir_attr_ints(in, "paddings", &pads);
    swapped = pads;
    for (size_t i = 0; i < 4 && pads.n == 4; i++)
        swapped.v[i] = pads.v[(i + 2) % 4];
    pad_spatial(in, &swapped, 2);
    return PDM_OK;
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* x, index, axis */
pdm_status pdm_ir_infer_gather(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), index = pdm_ir_in_meta(in, 1),
                out = pdm_ir_meta_make(x.dtype, 0, NULL);
    int64_t where = 0;
    int axis =
        pdm_ir_in_int(in, 2, &where) || !pdm_ir_in_present(in, 2) ? pdm_ir_axis(where, x.rank) : -1;
    if (axis < 0 || index.rank < 0) {
        int rank = x.rank < 0 || index.rank < 0 ? -1 : index.rank == 0 ? x.rank - 1 : x.rank;
        pdm_ir_out_rank(in, 0, x.dtype, rank);
        return PDM_OK;
    }
    pdm_ir_meta_push_dims(&out, &x, 0, axis);
    if (index.rank > 0)
        (void)pdm_ir_meta_push(&out, index.dims[0]); /* a second dim can only be 1 */
    pdm_ir_meta_push_dims(&out, &x, axis + 1, x.rank);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_gather_nd(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), index = pdm_ir_in_meta(in, 1),
                out = pdm_ir_meta_make(x.dtype, 0, NULL);
    int64_t depth = pdm_ir_meta_dim(&index, -1);
    if (x.rank < 0 || depth < 0 || depth > x.rank)
        out.rank = -1;
    pdm_ir_meta_push_dims(&out, &index, 0, index.rank - 1);
    pdm_ir_meta_push_dims(&out, &x, (int)depth, x.rank);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_index_select(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0), index = pdm_ir_in_meta(in, 1);
    int axis = pdm_ir_axis(pdm_ir_attr_int(in, "axis", 0), x.rank);
    if (axis >= 0)
        x.dims[axis] = pdm_ir_meta_dim(&index, 0);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

pdm_status pdm_ir_infer_index_select_strided(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    pdm_ir_ints axis = {.counted = true, .constant = true, .n = 1};
    axis.v[0] = pdm_ir_attr_int(in, "axis", 0);
    drop_axes(&x, &axis);
    pdm_ir_out_meta(in, 0, &x);
    return PDM_OK;
}

/* Matrices out of vectors: the diagonals named by dim1 and dim2. */
pdm_status pdm_ir_infer_diag_embed(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0),
                out = pdm_ir_meta_make(x.dtype, x.rank < 1 ? -1 : 0, NULL);
    int rank = x.rank < 1 ? -1 : x.rank + 1;
    int a = pdm_ir_axis(pdm_ir_attr_int(in, "dim1", -2), rank);
    int b = pdm_ir_axis(pdm_ir_attr_int(in, "dim2", -1), rank);
    int64_t offset = pdm_ir_attr_int(in, "offset", 0);
    int64_t side = pdm_ir_dim_add(in, pdm_ir_meta_dim(&x, -1), offset < 0 ? -offset : offset);
    for (int i = 0, k = 0; i < rank; i++)
        (void)pdm_ir_meta_push(&out, i == a || i == b ? side : x.dims[k++]);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

/* A vector to a matrix, or a matrix to its diagonal. */
pdm_status pdm_ir_infer_diag(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t offset = pdm_ir_attr_int(in, "offset", 0);
    if (x.rank == 0) {
        int64_t side = offset < 0 ? 1 - offset : 1 + offset;
        pdm_ir_out_dims(in, 0, x.dtype, 2, (int64_t[]){side, side});
    } else if (x.rank == 1) {
        int64_t side = pdm_ir_dim_add(in, x.dims[0], offset < 0 ? -offset : offset);
        pdm_ir_out_dims(in, 0, x.dtype, 2, (int64_t[]){side, side});
    } else if (x.rank == 2) {
        int64_t rows = x.dims[0], columns = x.dims[1];
        if (offset >= 0)
            columns = pdm_ir_dim_rest(in, columns, offset);
        else
            rows = pdm_ir_dim_rest(in, rows, -offset);
        pdm_ir_out_vec(in, 0, x.dtype, pdm_ir_dim_min(in, rows, columns));
    } else {
        pdm_ir_out_rank(in, 0, x.dtype, -1);
    }
    return PDM_OK;
}

/* ---- blocks of images and signals ------------------------------------------------------------ */

/* Channels to space by `upscale_factor`, or back by `downscale_factor`. */
static void shuffle(pdm_ir_infer *in, int64_t factor, bool up)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    bool last = pdm_ir_state_str_is(in->state, "data_format", "NHWC");
    int c = last ? 3 : 1, h = last ? 1 : 2;
    if (x.rank == 4) {
        int64_t area = pdm_ir_dim_mul(in, factor, factor);
        x.dims[c] = up ? pdm_ir_dim_div(in, x.dims[c], area) : pdm_ir_dim_mul(in, x.dims[c], area);
        for (int i = h; i < h + 2; i++)
            x.dims[i] = up ? pdm_ir_dim_mul(in, x.dims[i], factor) : pdm_ir_dim_div(in, x.dims[i], factor);
    }
    pdm_ir_out_meta(in, 0, &x);
}

pdm_status pdm_ir_infer_pixel_shuffle(pdm_ir_infer *in)
{
    shuffle(in, pdm_ir_attr_int(in, "upscale_factor", 1), true);
    return PDM_OK;
}

pdm_status pdm_ir_infer_pixel_unshuffle(pdm_ir_infer *in)
{
    shuffle(in, pdm_ir_attr_int(in, "downscale_factor", 1), false);
    return PDM_OK;
}

/* Overlapping frames of a signal: axis 0 or the last. */
pdm_status pdm_ir_infer_frame(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0),
                out = pdm_ir_meta_make(x.dtype, x.rank < 1 ? -1 : 0, NULL);
    int64_t length = pdm_ir_attr_int(in, "frame_length", 1),
            hop = pdm_ir_attr_int(in, "hop_length", 1);
    bool first = pdm_ir_attr_int(in, "axis", -1) == 0;
    int64_t samples = pdm_ir_meta_dim(&x, first ? 0 : -1);
    int64_t frames = length < 1 ? -1 : pdm_ir_dim_windows(in, samples, length, hop);
    if (!first)
        pdm_ir_meta_push_dims(&out, &x, 0, x.rank - 1);
    (void)pdm_ir_meta_push(&out, first ? frames : length);
    (void)pdm_ir_meta_push(&out, first ? length : frames);
    if (first)
        pdm_ir_meta_push_dims(&out, &x, 1, x.rank);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_overlap_add(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0),
                out = pdm_ir_meta_make(x.dtype, x.rank < 2 ? -1 : 0, NULL);
    int64_t hop = pdm_ir_attr_int(in, "hop_length", 1);
    bool first = pdm_ir_attr_int(in, "axis", -1) == 0;
    int64_t frames = pdm_ir_meta_dim(&x, first ? 0 : -1),
            length = pdm_ir_meta_dim(&x, first ? 1 : -2);
    int64_t samples = pdm_ir_dim_add(in, pdm_ir_dim_mul(in, pdm_ir_dim_shift(in, frames, -1), hop), length);
    if (!first)
        pdm_ir_meta_push_dims(&out, &x, 0, x.rank - 2);
    (void)pdm_ir_meta_push(&out, samples);
    if (first)
        pdm_ir_meta_push_dims(&out, &x, 2, x.rank);
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}
