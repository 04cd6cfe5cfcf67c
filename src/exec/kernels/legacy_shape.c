/* Legacy ops that shape, cut, join and make tensors. */
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "exec/kernels/legacy_sub.h"

/* A kernel that takes operands only, its one result under "Out". */
static pdm_status finish(pdm_sub *s)
{
    pdm_k *k = s->outer;

    pdm_sub_result(s, pdm_k_out_slot_value(k, "Out"));
    pdm_sub_run(s);
    pdm_sub_end(s);
    return k->status;
}

static pdm_status share_as(pdm_k *k, const pdm_tensor *x, int rank, const int64_t *dims)
{
    pdm_tensor *out = PDM_K_OK(k) ? pdm_k_out_slot(k, "Out") : NULL;
    const pdm_tensor view = pdm_sub_view(k, x, rank, dims);

    if (out && PDM_K_OK(k)) {
        pdm_tensor_ref(out, x);
        out->rank = rank;
        memcpy(out->dims, view.dims, sizeof out->dims);
    }
    return k->status;
}

/* flatten, flatten2: dims before axis become one, the others another. */
pdm_status pdm_kernel_old_flatten(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const int64_t axis = pdm_k_int_or(k, "axis", 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (axis < 0 || axis > x->rank)
        return pdm_k_fail(k, "axis %lld does not fit %d dimensions", (long long)axis, x->rank);
    const int64_t dims[2] = {pdm_k_product(x->dims, 0, (int)axis),
                             pdm_k_product(x->dims, (int)axis, x->rank)};
    return share_as(k, x, 2, dims);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void in_ints(pdm_sub *s, const char *list_slot, const char *slot, const char *attr)
{
    int64_t values[PDM_K_MAX_INTS];
    const size_t n = pdm_sub_slot_ints(s->outer, list_slot, slot, attr, values);

    pdm_sub_in_ints(s, values, n);
}

static pdm_status slice_array(pdm_k *k, pdm_value *array)
{
    int64_t axes[PDM_K_MAX_INTS];
    const bool one = pdm_k_has_attr(k, "decrease_axis") && pdm_k_ints(k, "decrease_axis", axes);
    pdm_sub s;

    pdm_sub_begin(&s, k, one ? "pd_op.slice_array_dense" : "pd_op.slice_array");
    pdm_sub_in_value(&s, array);
    in_ints(&s, "StartsTensorList", "StartsTensor", "starts");
    if (!one)
        in_ints(&s, "EndsTensorList", "EndsTensor", "ends");
    return finish(&s);
}

pdm_status pdm_kernel_old_slice(pdm_k *k)
{
    pdm_value *input = pdm_k_slot_value(k, "Input");
    pdm_sub s;

    if (input && input->kind == PDM_VALUE_ARRAY)
        return slice_array(k, input);
    pdm_sub_begin(&s, k, "pd_op.slice");
    pdm_sub_in(&s, pdm_sub_slot(k, "Input"));
    in_ints(&s, "StartsTensorList", "StartsTensor", "starts");
    in_ints(&s, "EndsTensorList", "EndsTensor", "ends");
    return finish(&s);
}

/* Drop dims of size 1. */
static pdm_status drop_axes(pdm_k *k, pdm_tensor *t, const int64_t *axes, size_t n)
{
    bool drop[PDM_MAX_RANK] = {false};
    int rank = 0;

    for (size_t i = 0; i < n; i++) {
        const int axis = pdm_k_axis(k, axes[i], t->rank);
        if (!PDM_K_OK(k) || t->rank == 0)
            return k->status;
        if (t->dims[axis] != 1)
            return pdm_k_fail(k, "axis %d has %lld elements, it cannot be dropped", axis,
                              (long long)t->dims[axis]);
        drop[axis] = true;
    }
    for (int i = 0; i < t->rank; i++) {
        if (!drop[i])
            t->dims[rank++] = t->dims[i];
    }
    t->rank = rank;
    return PDM_OK;
}

/*
 * Ends of 2.6 where a step is negative: -1 is the place before the first element; pd_op.strided_slice and pd_op.set_value count it from
 * the end. What lies farther before it is the first element of a strided_slice.
 */
static void in_ends(pdm_sub *s, const pdm_tensor *x, const char *steps_list, const char *steps_attr, bool at_least_0)
{
    pdm_k *k = s->outer;
    int64_t axes[PDM_K_MAX_INTS], ends[PDM_K_MAX_INTS], steps[PDM_K_MAX_INTS];
    const size_t n = pdm_sub_slot_ints(k, "EndsTensorList", at_least_0 ? "EndsTensor" : NULL, "ends", ends),
                 num_steps = pdm_sub_slot_ints(k, steps_list, at_least_0 ? "StridesTensor" : NULL, steps_attr, steps),
                 num_axes = pdm_k_ints(k, "axes", axes);

    for (size_t i = 0; x && x->rank > 0 && PDM_K_OK(k) && i < n && i < num_steps && i < num_axes; i++) {
        const int64_t dim = x->dims[pdm_k_axis(k, axes[i], x->rank)];
        if (steps[i] < 0 && ends[i] == -1)
            ends[i] = -dim - 1;
        else if (steps[i] < 0 && ends[i] < -dim && at_least_0)
            ends[i] = -dim;
    }
    pdm_sub_in_ints(s, ends, n);
}

pdm_status pdm_kernel_old_strided_slice(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "Input");
    int64_t axes[PDM_K_MAX_INTS];
    const size_t n = pdm_k_has_attr(k, "decrease_axis") ? pdm_k_ints(k, "decrease_axis", axes) : 0;
    pdm_sub s;

    pdm_sub_begin(&s, k, "pd_op.strided_slice");
    pdm_sub_in(&s, x);
    in_ints(&s, "StartsTensorList", "StartsTensor", "starts");
    in_ends(&s, x, "StridesTensorList", "strides", true);
    in_ints(&s, "StridesTensorList", "StridesTensor", "strides");
    finish(&s);
    pdm_tensor *out = PDM_K_OK(k) ? pdm_k_out_slot(k, "Out") : NULL;
    return out && n ? drop_axes(k, out, axes, n) : k->status;
}

/* ---- set_value ------------------------------------------------------------------------------- */

/* From version 4 on the values are scalars, before in a list of their element type. */
static pdm_ir_attr set_value_list(pdm_k *k)
{
    static const char *const lists[] = {"bool_values", "int32_values", "int64_values",
                                        "fp32_values", "fp64_values",  "fp16_values"};
    pdm_ir_attr scalars = pdm_k_attr(k, "values");

    if (scalars && scalars->kind == PDM_IR_ATTR_ARRAY && scalars->count &&
        pdm_k_int_or(k, "@op_version", 0) >= 4)
        return scalars;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        pdm_ir_attr list = pdm_k_attr(k, lists[i]);
        if (list && list->kind == PDM_IR_ATTR_ARRAY && list->count)
            return list;
    }
    return scalars;
}

static void in_steps(pdm_sub *s)
{
    pdm_k *k = s->outer;
    int64_t axes[PDM_K_MAX_INTS], steps[PDM_K_MAX_INTS];
    const size_t n = pdm_k_ints(k, "axes", axes);
    size_t num = pdm_sub_slot_ints(k, "StepsTensorList", NULL, "steps", steps);

    for (; num < n && PDM_K_OK(k); num++)
        steps[num] = 1;
    pdm_sub_in_ints(s, steps, num);
}

pdm_status pdm_kernel_old_set_value(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "Input"), *value = pdm_k_slot(k, "ValueTensor");
    pdm_sub s;

    pdm_sub_begin(&s, k, value ? "pd_op.set_value_with_tensor" : "pd_op.set_value");
    pdm_sub_in(&s, x);
    if (value)
        pdm_sub_in(&s, value);
    else
        pdm_sub_attr(&s, "values", set_value_list(k));
    in_ints(&s, "StartsTensorList", NULL, "starts");
    in_ends(&s, x, "StepsTensorList", "steps", false);
    in_steps(&s);
    return finish(&s);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

pdm_status pdm_kernel_old_split(pdm_k *k)
{
    const pdm_tensor *axis = pdm_k_slot(k, "AxisTensor");
    const int64_t num = pdm_k_int_or(k, "num", 0);
    pdm_value **items = pdm_k_temp(k, (k->num_out + 1) * sizeof *items);
    pdm_value list = {.kind = PDM_VALUE_LIST};
    pdm_sub s;

    if (!items)
        return k->status;
    for (size_t i = 0; i < k->num_out; i++)
        items[i] = k->out[i];
    list.list.items = items;
    list.list.count = k->num_out;
    pdm_sub_begin(&s, k, num > 0 ? "pd_op.split_with_num" : "pd_op.split");
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    if (num <= 0)
        in_ints(&s, "SectionsTensorList", NULL, "sections");
    if (axis)
        pdm_sub_in(&s, axis);
    else
        pdm_sub_in_int(&s, pdm_k_int_or(k, "axis", 0));
    pdm_sub_result(&s, &list);
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    return k->status;
}

/* Offsets of operands one behind the other: each level goes on where the last operand ended. */
static pdm_status join_level(pdm_k *k, size_t level, int64_t *offsets, size_t *count)
{
    *count = 1;
    offsets[0] = 0;
    for (size_t i = 0; i < pdm_k_slot_count(k, "X"); i++) {
        const int64_t base = offsets[*count - 1];
        size_t n;
        const int64_t *own = pdm_tensor_lod(pdm_k_slot_at(k, "X", i), level, &n);
        for (size_t j = 1; j < n; j++)
            offsets[(*count)++] = base + own[j];
    }
    return PDM_OK;
}

/* The LoD of operands that were joined row by row; none unless all have as many levels. */
static pdm_status join_lods(pdm_k *k, pdm_tensor *out)
{
    const size_t levels = pdm_tensor_num_lod(pdm_k_slot_at(k, "X", 0));
    int64_t *offsets[8];
    size_t counts[8], total = 1;

    if (levels == 0 || levels > 8)
        return PDM_OK;
    for (size_t i = 0; i < pdm_k_slot_count(k, "X"); i++) {
        const pdm_tensor *x = pdm_k_slot_at(k, "X", i);
        if (pdm_tensor_num_lod(x) != levels)
            return PDM_OK;
        for (size_t l = 0, n; l < levels; l++) {
            pdm_tensor_lod(x, l, &n);
            total += n;
        }
    }
    for (size_t l = 0; l < levels; l++) {
        offsets[l] = pdm_k_temp(k, total * sizeof **offsets);
        if (!offsets[l])
            return k->status;
        join_level(k, l, offsets[l], &counts[l]);
    }
    const pdm_status status =
        pdm_tensor_set_lod(out, levels, (const int64_t *const *)offsets, counts);
    return status == PDM_NOMEM ? pdm_k_nomem(k) : status;
}

pdm_status pdm_kernel_old_concat(pdm_k *k)
{
    const pdm_tensor *given = pdm_k_slot(k, "AxisTensor"), *first = pdm_sub_slot(k, "X");
    pdm_value *value = pdm_k_out_slot_value(k, "Out");
    const size_t n = pdm_k_slot_count(k, "X");
    pdm_value **items = pdm_k_temp(k, (n + 1) * sizeof *items);
    int64_t axis =
        given && pdm_tensor_count(given) > 0 ? pdm_get_int(given, 0) : pdm_k_int_or(k, "axis", 0);
    size_t num = 0;
    pdm_sub s;

    for (size_t i = 0; items && i < k->num_in; i++) {
        if (k->in_slots[i] && !strcmp(k->in_slots[i], "X") && num < n)
            items[num++] = k->in[i];
    }
    pdm_sub_begin(&s, k, "pd_op.concat");
    pdm_sub_in_list(&s, items, num);
    pdm_sub_in_int(&s, axis);
    pdm_sub_result(&s, value);
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    if (!PDM_K_OK(k) || !value)
        return k->status;
    axis = axis < 0 ? axis + first->rank : axis;
    if (axis == 0)
        return join_lods(k, &value->tensor);
    pdm_tensor_share_lod(&value->tensor, first);
    return PDM_OK;
}

pdm_status pdm_kernel_old_tril_triu(pdm_k *k)
{
    pdm_sub s;

    pdm_sub_begin(&s, k, pdm_k_bool_or(k, "lower", false) ? "pd_op.tril" : "pd_op.triu");
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    return finish(&s);
}

pdm_status pdm_kernel_old_crop(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *y = pdm_k_slot(k, "Y");
    int64_t offsets[PDM_K_MAX_INTS] = {0};
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    size_t n = pdm_sub_slot_ints(k, NULL, "Offsets", "offsets", offsets);
    if (n == 0)
        n = (size_t)x->rank;
    pdm_sub_begin(&s, k, "pd_op.crop");
    pdm_sub_in(&s, x);
    if (y)
        pdm_sub_in_ints(&s, y->dims, (size_t)y->rank);
    else
        in_ints(&s, NULL, NULL, "shape");
    pdm_sub_in_ints(&s, offsets, n);
    return finish(&s);
}

pdm_status pdm_kernel_old_expand_as(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *target = pdm_sub_slot(k, "target_tensor");
    int64_t times[PDM_MAX_RANK];
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    if (x->rank != target->rank)
        return pdm_k_fail(k, "the operands have %d and %d dimensions", x->rank, target->rank);
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 0 || target->dims[i] % x->dims[i] != 0)
            return pdm_k_fail(k, "dimension %d cannot grow from %lld to %lld", i,
                              (long long)x->dims[i], (long long)target->dims[i]);
        times[i] = target->dims[i] / x->dims[i];
    }
    pdm_sub_begin(&s, k, "pd_op.tile");
    pdm_sub_in(&s, x);
    pdm_sub_in_ints(&s, times, (size_t)x->rank);
    return finish(&s);
}

/* As pad3d with a depth of one. */
pdm_status pdm_kernel_old_pad2d(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const char *mode = pdm_k_str(k, "mode");
    const bool last = !strcmp(pdm_k_str(k, "data_format"), "NHWC");
    int64_t p[PDM_K_MAX_INTS] = {0};
    const size_t n = pdm_sub_slot_ints(k, NULL, "Paddings", "paddings", p);
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    if (n != 4 || x->rank != 4)
        return pdm_k_fail(k, "four paddings and four dimensions are needed");
    const int64_t d = last ? 1 : x->dims[1], h = last ? x->dims[1] : 1;
    const int64_t deep[5] = {x->dims[0], d, h, x->dims[2], x->dims[3]};
    const pdm_tensor view = pdm_sub_view(k, x, 5, deep);
    const int64_t paddings[6] = {p[2], p[3], p[0], p[1], 0, 0};
    pdm_sub_begin(&s, k, "pd_op.pad3d");
    pdm_sub_in(&s, &view);
    pdm_sub_in_ints(&s, paddings, 6);
    pdm_sub_str(&s, "mode", !strcmp(mode, "edge") ? "replicate" : mode);
    pdm_sub_str(&s, "data_format", last ? "NDHWC" : "NCDHW");
    finish(&s);
    pdm_tensor *out = PDM_K_OK(k) ? pdm_k_out_slot(k, "Out") : NULL;
    return out ? drop_axes(k, out, &(int64_t){last ? 1 : 2}, 1) : k->status;
}

/* ---- one_hot --------------------------------------------------------------------------------- */

/* one_hot has a last dimension of 1 in its operand, which goes; one_hot_v2 does not. */
pdm_status pdm_kernel_old_one_hot(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *given = pdm_k_slot(k, "depth_tensor");
    const bool lenient = pdm_k_bool_or(k, "allow_out_of_range", false);
    pdm_dtype dtype = pdm_k_has_attr(k, "dtype") ? pdm_k_dtype(k, "dtype") : PDM_F32;
    int64_t dims[PDM_MAX_RANK + 1];

    if (!PDM_K_OK(k))
        return k->status;
    const int64_t depth =
        given && pdm_tensor_count(given) > 0 ? pdm_get_int(given, 0) : pdm_k_int_or(k, "depth", -1);
    int rank = x->rank;
    if (!strcmp(k->op, "legacy.one_hot") && rank > 0)
        rank--;
    if (rank >= PDM_MAX_RANK || depth < 0)
        return pdm_k_fail(k, "a depth of %lld behind %d dimensions", (long long)depth, rank);
    memcpy(dims, x->dims, (size_t)rank * sizeof *dims);
    dims[rank] = depth;
    const int64_t n = pdm_tensor_count(x);
    if (rank < x->rank && x->dims[rank] != 1)
        return pdm_k_fail(k, "the last dimension is %lld, not 1", (long long)x->dims[rank]);
    pdm_tensor *out = pdm_sub_out(k, "Out", dtype, rank + 1, dims);
    if (!out)
        return k->status;
    memset(out->data, 0, pdm_tensor_bytes(out));
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = pdm_get_int(x, i);
        if (v >= 0 && v < depth)
            pdm_set_int(out, i * depth + v, 1);
        else if (!lenient)
            return pdm_k_fail(k, "index %lld is not below the depth %lld", (long long)v,
                              (long long)depth);
    }
    return k->status;
}

/* lookup_table has a last dimension of 1 in its ids, which goes. */
pdm_status pdm_kernel_old_lookup_table(pdm_k *k)
{
    const pdm_tensor *ids = pdm_sub_slot(k, "Ids");
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    if (ids->rank < 1 || ids->dims[ids->rank - 1] != 1)
        return pdm_k_fail(k, "the last dimension of the ids is not 1");
    const pdm_tensor view = pdm_sub_view(k, ids, ids->rank - 1, ids->dims);
    pdm_sub_begin(&s, k, "pd_op.embedding");
    pdm_sub_in(&s, &view);
    pdm_sub_in(&s, pdm_sub_slot(k, "W"));
    return finish(&s);
}

/* ---- constants ------------------------------------------------------------------------------- */

/* An integer that a double could not even approximate within 64 bits; others go through one. */
static bool is_wide(const char *text)
{
    const double f = pdm_decimal_read(text, NULL);

    text += *text == '-' || *text == '+';
    return *text && !text[strspn(text, "0123456789")] && !(f >= -0x1p63 && f < 0x1p63);
}

typedef struct number {
    bool integer;
    int64_t i;
    double f;
} number;

static number constant_of(pdm_k *k)
{
    const char *text = pdm_k_has_attr(k, "str_value") ? pdm_k_str(k, "str_value") : "";
    const pdm_tensor *given = pdm_k_slot(k, "ValueTensor");
    number c = {.f = pdm_k_float_or(k, "value", 0)};

    if (given && pdm_tensor_count(given) > 0) {
        c.integer = !pdm_dtype_is_float(given->dtype) && !pdm_dtype_is_complex(given->dtype);
        c.i = c.integer ? pdm_get_int(given, 0) : 0;
        c.f = pdm_get_double(given, 0);
    } else if (is_wide(text)) {
        c.integer = true;
        c.i = strtoll(text, NULL, 10);
        c.f = pdm_decimal_read(text, NULL);
    } else if (*text) {
        c.f = pdm_decimal_read(text, NULL);
    }
    return c;
}

static void fill(pdm_tensor *t, const number *c)
{
    const bool real = pdm_dtype_is_float(t->dtype) || pdm_dtype_is_complex(t->dtype);
    const size_t size = pdm_dtype_size(t->dtype);
    const int64_t n = pdm_tensor_count(t);

    if (n == 0)
        return;
    memset(t->data, 0, size); /* the imaginary part */
    if (real || !c->integer)
        pdm_set_double(t, 0, c->f);
    else
        pdm_set_int(t, 0, c->i);
    for (int64_t i = 1; i < n; i++)
        memcpy((char *)t->data + (size_t)i * size, t->data, size);
}

pdm_status pdm_kernel_old_fill_constant(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS];
    const size_t rank = pdm_sub_slot_ints(k, "ShapeTensorList", "ShapeTensor", "shape", dims);
    const pdm_dtype dtype = pdm_k_has_attr(k, "dtype") ? pdm_k_dtype(k, "dtype") : PDM_F32;
    const number c = constant_of(k);
    pdm_tensor *out = pdm_sub_out(k, "Out", dtype, (int)rank, dims);

    if (out)
        fill(out, &c);
    return k->status;
}

pdm_status pdm_kernel_old_fill_like(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const number c = {.f = pdm_k_float_or(k, "value", 0)};

    if (!x)
        return k->status;
    pdm_dtype dtype = pdm_k_has_attr(k, "dtype") ? pdm_k_dtype(k, "dtype") : PDM_UNDEFINED;
    if (dtype == PDM_UNDEFINED)
        dtype = x->dtype;
    pdm_tensor *out = pdm_sub_out(k, "Out", dtype, x->rank, x->dims);
    if (out)
        fill(out, &c);
    return k->status;
}

/* Elements of an array attribute into a tensor that has as many. */
static pdm_status put_elements(pdm_k *k, pdm_tensor *out, pdm_ir_attr list)
{
    const int64_t n = pdm_tensor_count(out);
    const int64_t given = list && list->kind == PDM_IR_ATTR_ARRAY ? (int64_t)list->count : 0;

    if (n != given)
        return pdm_k_fail(k, "%lld values are needed, %lld are given", (long long)n,
                          (long long)given);
    for (int64_t i = 0; i < n; i++) {
        pdm_ir_attr e = list->u.items[i];
        const pdm_dtype scalar = e->kind == PDM_IR_ATTR_SCALAR ? e->dtype : PDM_UNDEFINED;
        if (scalar == PDM_C128 && out->dtype == PDM_C64) {
            ((float *)out->data)[2 * i] = (float)e->u.c.re;
            ((float *)out->data)[2 * i + 1] = (float)e->u.c.im;
        } else if (scalar == PDM_C128 && out->dtype == PDM_C128) {
            ((double *)out->data)[2 * i] = e->u.c.re;
            ((double *)out->data)[2 * i + 1] = e->u.c.im;
        } else if (scalar == PDM_C128) {
            pdm_set_double(out, i, e->u.c.re);
        } else if (e->kind == PDM_IR_ATTR_F32 || e->kind == PDM_IR_ATTR_F64 || scalar == PDM_F64) {
            pdm_set_double(out, i, e->u.f);
        } else if (e->kind == PDM_IR_ATTR_BOOL || scalar == PDM_BOOL) {
            pdm_set_int(out, i, e->u.b);
        } else {
            pdm_set_int(out, i, e->u.i);
        }
    }
    return PDM_OK;
}

pdm_status pdm_kernel_old_assign_value(pdm_k *k)
{
    static const char *const lists[] = {"bool_values",  "fp32_values", "int32_values",
                                        "int64_values", "values",      "fp64_values"};
    int64_t dims[PDM_K_MAX_INTS];
    const size_t rank = pdm_k_ints(k, "shape", dims);
    pdm_tensor *out = pdm_sub_out(k, "Out", pdm_k_dtype(k, "dtype"), (int)rank, dims);
    pdm_ir_attr list = NULL;

    for (size_t i = 0; out && i < sizeof lists / sizeof *lists && !list; i++) {
        pdm_ir_attr attr = pdm_k_attr(k, lists[i]);
        if (attr && attr->kind == PDM_IR_ATTR_ARRAY && attr->count)
            list = attr;
    }
    return out ? put_elements(k, out, list) : k->status;
}

pdm_status pdm_kernel_old_fill(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS];
    const size_t rank = pdm_k_ints(k, "shape", dims);
    const pdm_dtype dtype = pdm_k_has_attr(k, "dtype") ? pdm_k_dtype(k, "dtype") : PDM_F32;
    pdm_tensor *out = pdm_sub_out(k, "Out", dtype, (int)rank, dims);

    return out ? put_elements(k, out, pdm_k_attr(k, "value")) : k->status;
}

pdm_status pdm_kernel_old_range(pdm_k *k)
{
    const pdm_tensor *start = pdm_sub_slot(k, "Start");
    pdm_sub s;

    pdm_sub_begin(&s, k, "pd_op.arange");
    pdm_sub_in(&s, start);
    pdm_sub_in(&s, pdm_sub_slot(k, "End"));
    pdm_sub_in(&s, pdm_sub_slot(k, "Step"));
    pdm_sub_dtype(&s, "dtype", start ? start->dtype : PDM_F32);
    return finish(&s);
}

/* ---- copies and arrays ----------------------------------------------------------------------- */

pdm_status pdm_kernel_old_assign(pdm_k *k)
{
    const pdm_value *x = pdm_k_slot_value(k, "X");
    pdm_value *out = pdm_k_out_slot_value(k, "Out");

    if (!x || x->kind == PDM_VALUE_NONE)
        return PDM_K_OK(k) ? PDM_OK : k->status; /* nothing to copy leaves the result as it was */
    return !out || pdm_value_ref(out, x) == PDM_OK ? PDM_OK : pdm_k_nomem(k);
}

/* An index behind the end leaves the result as it was. */
pdm_status pdm_kernel_old_read_from_array(pdm_k *k)
{
    const pdm_value *array = pdm_k_slot_value(k, "X");
    const pdm_tensor *i = pdm_sub_slot(k, "I");
    pdm_tensor *out = pdm_k_out_slot(k, "Out");

    if (!PDM_K_OK(k) || !out)
        return k->status;
    if (!array || array->kind != PDM_VALUE_ARRAY || pdm_tensor_count(i) < 1)
        return pdm_k_fail(k, "an array and an index are needed");
    const int64_t index = pdm_get_int(i, 0);
    if (index < 0)
        return pdm_k_fail(k, "index %lld is negative", (long long)index);
    if ((uint64_t)index < array->array.count)
        pdm_tensor_ref(out, &array->array.items[index]);
    return PDM_OK;
}

/* ---- interpolation of old -------------------------------------------------------------------- */

/*
 * The old ops always map by the two sizes: they are worked out here, and no scale is given.
 * A list of sizes wins, then a tensor of sizes, then the scales.
 */
pdm_status pdm_kernel_old_interp(pdm_k *k)
{
    static const char *const names[] = {"out_d", "out_h", "out_w"};
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *scale = pdm_k_slot(k, "Scale");
    int64_t given[PDM_K_MAX_INTS], size[3] = {-1, -1, -1};
    char kernel[48];
    pdm_sub s;

    if (!PDM_K_OK(k))
        return k->status;
    const int spatial = x->rank - 2;
    if (spatial < 1 || spatial > 3)
        return pdm_k_fail(k, "%d dimensions, 3 to 5 are needed", x->rank);
    const int first = !strcmp(pdm_k_str(k, "data_layout"), "NHWC") ||
                              !strcmp(pdm_k_str(k, "data_layout"), "NDHWC")
                          ? 1
                          : 2;
    const size_t n = pdm_sub_slot_ints(k, "SizeTensor", "OutSize", NULL, given);
    const double factor = scale && pdm_tensor_count(scale) > 0 ? pdm_get_double(scale, 0)
                                                               : pdm_k_float_or(k, "scale", 0);
    for (int i = 0; i < spatial; i++) {
        if (n >= (size_t)spatial)
            size[3 - spatial + i] = given[i];
        else if (factor > 0)
            size[3 - spatial + i] =
                pdm_int32_of_double((double)((float)x->dims[first + i] * (float)factor));
        else
            size[3 - spatial + i] = pdm_k_int_or(k, names[3 - spatial + i], -1);
    }
    snprintf(kernel, sizeof kernel, "pd_op.%s", k->op + strlen("legacy."));
    pdm_sub_begin(&s, k, kernel);
    pdm_sub_in(&s, x);
    for (int i = 0; i < 3; i++)
        pdm_sub_in(&s, NULL);
    pdm_sub_str(&s, "data_format", pdm_k_str(k, "data_layout"));
    for (int i = 0; i < 3; i++)
        pdm_sub_int(&s, names[i], size[i]);
    pdm_sub_ints(&s, "scale", NULL, 0);
    return finish(&s);
}

/* ---- repetition ------------------------------------------------------------------------------ */

pdm_status pdm_kernel_old_repeat_interleave(pdm_k *k)
{
    const pdm_tensor *repeats = pdm_k_slot(k, "RepeatsTensor");
    pdm_sub s;

    pdm_sub_begin(
        &s, k, repeats ? "pd_op.repeat_interleave_with_tensor_index" : "pd_op.repeat_interleave");
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    if (repeats)
        pdm_sub_in(&s, repeats);
    else
        pdm_sub_int(&s, "repeats", pdm_k_int_or(k, "Repeats", 0));
    pdm_sub_int(&s, "axis", pdm_k_int_or(k, "dim", 0));
    return finish(&s);
}
