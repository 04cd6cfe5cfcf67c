#include "ir/infer.h"

#include <stdlib.h>
#include <string.h>

#include "ir/infer_impl.h"
#include "ir/shapes.h"

void pdm_ir_meta_init(pdm_ir_meta *meta)
{
    *meta = (pdm_ir_meta){.dtype = PDM_UNDEFINED, .rank = -1};
}

void pdm_ir_meta_of_type(pdm_ir_type type, pdm_ir_meta *out)
{
    pdm_ir_meta_init(out);
    if (!type) {
        out->absent = true;
        return;
    }
    if (type->kind == PDM_IR_VECTOR || type->kind == PDM_IR_STACK || type->kind == PDM_IR_INLET ||
        type->kind == PDM_IR_OUTLET)
        return;
    out->dtype = type->dtype;
    out->is_array = type->kind == PDM_IR_TENSOR_ARRAY;
    if (type->kind == PDM_IR_ELEMENT || type->rank > PDM_MAX_RANK)
        return;
    out->rank = (int)type->rank;
    for (uint32_t i = 0; i < type->rank; i++)
        out->dims[i] = type->dims[i] < 0 || type->dims[i] > PDM_IR_BIG ? -1 : type->dims[i];
}

void pdm_ir_meta_of_value(const pdm_ir_value *value, pdm_ir_meta *out)
{
    pdm_ir_meta_of_type(value ? value->type : NULL, out);
}

pdm_ir_type pdm_ir_meta_to_type(pdm_ir_context *context, const pdm_ir_meta *meta)
{
    static const int64_t unknown = -1;
    if (meta->dtype == PDM_UNDEFINED)
        return NULL;
    if (meta->is_array)
        return pdm_ir_type_array(context, meta->dtype, meta->dims,
                                 meta->rank < 0 ? 0 : (size_t)meta->rank, "NCHW");
    if (meta->rank < 0)
        return pdm_ir_type_tensor(context, meta->dtype, &unknown, 1);
    return pdm_ir_type_tensor(context, meta->dtype, meta->dims, (size_t)meta->rank);
}

pdm_status pdm_ir_infer_run(pdm_ir_infer *in)
{
    for (size_t i = 0; i < in->num_results; i++) {
        pdm_ir_meta *meta = &in->results[i];
        pdm_ir_meta *elements = meta->elements;
        size_t num_elements = meta->num_elements;
        pdm_ir_meta_init(meta);
        meta->elements = elements;
        meta->num_elements = num_elements;
        for (size_t k = 0; elements && k < num_elements; k++)
            pdm_ir_meta_init(&elements[k]);
    }
    const pdm_ir_op_desc *desc = in->state->info->desc;
    return desc && desc->infer ? desc->infer(in) : PDM_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

pdm_ir_attr pdm_ir_state_attr(const pdm_ir_op_state *state, const char *name)
{
    /* Often the very same literal. */
    for (size_t i = 0; i < state->num_attrs; i++)
        if (state->attrs[i].name == name)
            return state->attrs[i].attr;
    for (size_t i = 0; i < state->num_attrs; i++)
        if (strcmp(state->attrs[i].name, name) == 0)
            return state->attrs[i].attr;
    return NULL;
}

static bool attr_int(pdm_ir_attr attr, int64_t *out)
{
    if (!attr)
        return false;
    switch (attr->kind) {
    case PDM_IR_ATTR_BOOL:
        *out = attr->u.b;
        return true;
    case PDM_IR_ATTR_I32:
    case PDM_IR_ATTR_I64:
    case PDM_IR_ATTR_INDEX:
        *out = attr->u.i;
        return true;
    case PDM_IR_ATTR_SCALAR:
        if (attr->dtype == PDM_BOOL || pdm_dtype_is_int(attr->dtype)) {
            *out = attr->dtype == PDM_BOOL ? attr->u.b : attr->u.i;
            return true;
        }
        if (!pdm_dtype_is_float(attr->dtype))
            return false;
        /* fall through */
    case PDM_IR_ATTR_F32:
    case PDM_IR_ATTR_F64:
        if (!(attr->u.f >= -9e15 && attr->u.f <= 9e15))
            return false;
        *out = (int64_t)attr->u.f;
        return true;
    default:
        return false;
    }
}

int64_t pdm_ir_state_int(const pdm_ir_op_state *state, const char *name, int64_t fallback)
{
    int64_t v;
    return attr_int(pdm_ir_state_attr(state, name), &v) ? v : fallback;
}

bool pdm_ir_state_bool(const pdm_ir_op_state *state, const char *name, bool fallback)
{
    return pdm_ir_state_int(state, name, fallback) != 0;
}

static bool array_ints(pdm_ir_attr attr, int64_t *out, size_t capacity, size_t *out_count)
{
    if (!attr || (attr->kind != PDM_IR_ATTR_ARRAY && attr->kind != PDM_IR_ATTR_INT_ARRAY) ||
        attr->count > capacity)
        return false;
    for (uint32_t i = 0; i < attr->count; i++) {
        if (attr->kind == PDM_IR_ATTR_INT_ARRAY)
            out[i] = attr->u.ints[i];
        else if (!attr_int(attr->u.items[i], &out[i]))
            return false;
    }
    *out_count = attr->count;
    return true;
}

bool pdm_ir_state_ints(const pdm_ir_op_state *state, const char *name, int64_t *out,
                       size_t capacity, size_t *out_count)
{
    pdm_ir_attr attr = pdm_ir_state_attr(state, name);
    if (attr && attr->kind != PDM_IR_ATTR_ARRAY && attr->kind != PDM_IR_ATTR_INT_ARRAY) {
        if (capacity < 1 || !attr_int(attr, out))
            return false;
        *out_count = 1;
        return true;
    }
    return array_ints(attr, out, capacity, out_count);
}

static bool is_text(pdm_ir_attr attr)
{
    return attr && (attr->kind == PDM_IR_ATTR_STR || attr->kind == PDM_IR_ATTR_LAYOUT);
}

bool pdm_ir_state_str_is(const pdm_ir_op_state *state, const char *name, const char *text)
{
    pdm_ir_attr attr = pdm_ir_state_attr(state, name);
    return is_text(attr) && attr->u.s.size == strlen(text) &&
           memcmp(attr->u.s.text, text, attr->u.s.size) == 0;
}

pdm_dtype pdm_ir_attr_dtype_of(const pdm_ir_infer *in, const char *name)
{
    pdm_ir_attr attr = pdm_ir_state_attr(in->state, name);
    if (!attr)
        return PDM_UNDEFINED;
    if (attr->kind == PDM_IR_ATTR_DTYPE)
        return attr->dtype;
    int64_t legacy; /* a few ops keep the legacy number */
    return attr_int(attr, &legacy) && legacy >= 0 && legacy < 64
               ? pdm_dtype_from_legacy((int)legacy)
               : PDM_UNDEFINED;
}

static int64_t within(int64_t v)
{
    return v < -PDM_IR_BIG ? -PDM_IR_BIG : v > PDM_IR_BIG ? PDM_IR_BIG : v;
}

int64_t pdm_ir_attr_int(const pdm_ir_infer *in, const char *name, int64_t fallback)
{
    return within(pdm_ir_state_int(in->state, name, fallback));
}

/* All n values have been read. */
static void all_known(pdm_ir_ints *ints)
{
    ints->counted = ints->constant = true;
    for (size_t i = 0; i < ints->n; i++) {
        ints->known[i] = true;
        ints->v[i] = within(ints->v[i]);
    }
}

void pdm_ir_attr_ints(const pdm_ir_infer *in, const char *name, pdm_ir_ints *out)
{
    memset(out, 0, sizeof *out);
    if (!pdm_ir_state_ints(in->state, name, out->v, PDM_IR_MAX_INTS, &out->n)) {
        out->n = 0;
        return;
    }
    all_known(out);
}

int64_t pdm_ir_ints_at(const pdm_ir_ints *ints, size_t index, int64_t fallback)
{
    return index < ints->n && (ints->known[index] || PDM_IR_IS_EXPR(ints->v[index]))
               ? ints->v[index]
               : fallback;
}

/* ---- constant operands ----------------------------------------------------------------------- */

static bool full_ints(const pdm_ir_op *op, int64_t *out, size_t capacity, size_t *out_count)
{
    int64_t value, dims[PDM_MAX_RANK], total = 1;
    size_t rank;
    if (!attr_int(pdm_ir_op_attr(op, "value"), &value) ||
        !array_ints(pdm_ir_op_attr(op, "shape"), dims, PDM_MAX_RANK, &rank))
        return false;
    for (size_t i = 0; i < rank; i++)
        total = pdm_ir_dim_mul(NULL, total, dims[i]);
    if (total < 0 || (uint64_t)total > capacity)
        return false;
    for (int64_t i = 0; i < total; i++)
        out[i] = value;
    *out_count = (size_t)total;
    return true;
}

/* One constant, no combine. */
static bool plain_ints(const pdm_ir_value *value, int64_t *out, size_t capacity, size_t *out_count)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    if (!op)
        return false;
    if (PDM_IR_IS(op, pd_op, full_int_array))
        return array_ints(pdm_ir_op_attr(op, "value"), out, capacity, out_count);
    if (PDM_IR_IS(op, pd_op, full))
        return full_ints(op, out, capacity, out_count);
    if (PDM_IR_IS(op, pd_op, assign_value_) || PDM_IR_IS(op, pd_op, assign_value))
        return array_ints(pdm_ir_op_attr(op, "values"), out, capacity, out_count);
    return false;
}

static const pdm_ir_op *combine_of(const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    return op && PDM_IR_IS(op, builtin, combine) ? op : NULL;
}

bool pdm_ir_const_ints(const pdm_ir_value *value, int64_t *out, size_t capacity, size_t *out_count)
{
    const pdm_ir_op *combine = combine_of(value);
    if (!combine)
        return plain_ints(value, out, capacity, out_count);
    size_t n = 0;
    for (uint32_t i = 0; i < combine->num_operands; i++) {
        size_t got;
        if (!plain_ints(pdm_ir_op_operand_value(combine, i), out + n, capacity - n, &got))
            return false;
        n += got;
    }
    *out_count = n;
    return true;
}

/* ---- operands -------------------------------------------------------------------------------- */

const pdm_ir_value *pdm_ir_in_value(const pdm_ir_infer *in, size_t index)
{
    const pdm_ir_value *value = index < in->state->num_operands ? in->state->operands[index] : NULL;
    return value && value->type ? value : NULL;
}

bool pdm_ir_in_present(const pdm_ir_infer *in, size_t index)
{
    return pdm_ir_in_value(in, index) != NULL;
}

pdm_ir_meta pdm_ir_in_meta(const pdm_ir_infer *in, size_t index)
{
    return pdm_ir_in_element(in, index, 0);
}

size_t pdm_ir_in_vector_size(const pdm_ir_infer *in, size_t index)
{
    const pdm_ir_value *value = pdm_ir_in_value(in, index);
    if (!value)
        return 0;
    return value->type->kind == PDM_IR_VECTOR ? value->type->num_elements : 1;
}

pdm_ir_meta pdm_ir_in_element(const pdm_ir_infer *in, size_t index, size_t element)
{
    pdm_ir_meta meta;
    const pdm_ir_value *value = pdm_ir_in_value(in, index);
    pdm_ir_meta_init(&meta);
    if (!value)
        return meta;
    if (in->shapes) {
        pdm_ir_shapes_meta(in->shapes, value, element, &meta);
        return meta;
    }
    pdm_ir_type type = value->type;
    if (type->kind == PDM_IR_VECTOR)
        type = element < type->num_elements ? type->elements[element] : NULL;
    if (type)
        pdm_ir_meta_of_type(type, &meta);
    return meta;
}

static void ints_from_combine(const pdm_ir_op *combine, pdm_ir_ints *out)
{
    out->constant = true;
    if (combine->num_operands > PDM_IR_MAX_INTS) {
        out->constant = false;
        return;
    }
    out->counted = true;
    out->n = combine->num_operands;
    for (uint32_t i = 0; i < combine->num_operands; i++) {
        size_t got;
        out->known[i] =
            plain_ints(pdm_ir_op_operand_value(combine, i), &out->v[i], 1, &got) && got == 1;
        out->v[i] = out->known[i] ? within(out->v[i]) : -1;
        out->constant &= out->known[i];
    }
}

void pdm_ir_in_ints(const pdm_ir_infer *in, size_t index, pdm_ir_ints *out)
{
    const pdm_ir_value *value = pdm_ir_in_value(in, index);
    memset(out, 0, sizeof *out);
    if (!value)
        return;
    if (in->shapes) {
        pdm_ir_shapes_ints(in->shapes, value, out);
        return;
    }
    if (combine_of(value)) {
        ints_from_combine(combine_of(value), out);
        return;
    }
    if (plain_ints(value, out->v, PDM_IR_MAX_INTS, &out->n)) {
        all_known(out);
        return;
    }
    out->n = 0;
    for (size_t i = 0; i < PDM_IR_MAX_INTS; i++)
        out->v[i] = -1;
    pdm_ir_meta meta = pdm_ir_in_meta(in, index);
    int64_t count = value->type->kind == PDM_IR_VECTOR ? (int64_t)value->type->num_elements
                    : meta.rank == 0                   ? 1
                    : meta.rank == 1                   ? meta.dims[0]
                                                       : -1;
    if (count >= 0 && count <= PDM_IR_MAX_INTS) {
        out->counted = true;
        out->n = (size_t)count;
    }
}

int64_t pdm_ir_in_dim(const pdm_ir_infer *in, size_t index)
{
    pdm_ir_ints ints;

    pdm_ir_in_ints(in, index, &ints);
    const int64_t v = ints.n == 1 ? pdm_ir_ints_at(&ints, 0, -1) : -1;
    return PDM_IR_IS_GIVEN(v) ? v : -1;
}

bool pdm_ir_in_int(const pdm_ir_infer *in, size_t index, int64_t *out)
{
    size_t n;
    int64_t v;
    if (!pdm_ir_const_ints(pdm_ir_in_value(in, index), &v, 1, &n) || n != 1)
        return false;
    *out = within(v);
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

void pdm_ir_out_meta(pdm_ir_infer *in, size_t result, const pdm_ir_meta *meta)
{
    if (result >= in->num_results)
        return;
    pdm_ir_meta *out = &in->results[result];
    pdm_ir_meta *elements = out->elements;
    size_t num_elements = out->num_elements;
    *out = *meta;
    out->elements = elements;
    out->num_elements = num_elements;
    out->absent = false;
}

void pdm_ir_out_dims(pdm_ir_infer *in, size_t result, pdm_dtype dtype, int rank,
                     const int64_t *dims)
{
    pdm_ir_meta meta = pdm_ir_meta_make(dtype, rank, dims);
    pdm_ir_out_meta(in, result, &meta);
}

void pdm_ir_out_rank(pdm_ir_infer *in, size_t result, pdm_dtype dtype, int rank)
{
    pdm_ir_out_dims(in, result, dtype, rank, NULL);
}

void pdm_ir_out_vec(pdm_ir_infer *in, size_t result, pdm_dtype dtype, int64_t dim)
{
    pdm_ir_out_dims(in, result, dtype, 1, &dim);
}

/* ---- metas and dims -------------------------------------------------------------------------- */

pdm_ir_meta pdm_ir_meta_make(pdm_dtype dtype, int rank, const int64_t *dims)
{
    pdm_ir_meta meta;
    pdm_ir_meta_init(&meta);
    meta.dtype = dtype;
    if (rank < 0 || rank > PDM_MAX_RANK)
        return meta;
    meta.rank = rank;
    for (int i = 0; i < rank; i++)
        meta.dims[i] = dims && PDM_IR_IS_GIVEN(dims[i]) ? dims[i] : -1;
    return meta;
}

int pdm_ir_axis(int64_t axis, int rank)
{
    if (rank < 0 || axis < -rank || axis >= rank)
        return -1;
    return (int)(axis < 0 ? axis + rank : axis);
}

int64_t pdm_ir_meta_dim(const pdm_ir_meta *meta, int axis)
{
    int a = pdm_ir_axis(axis, meta->rank);
    return a < 0 ? -1 : meta->dims[a];
}

bool pdm_ir_meta_push(pdm_ir_meta *meta, int64_t dim)
{
    if (meta->rank < 0)
        return false;
    if (meta->rank >= PDM_MAX_RANK) {
        meta->rank = -1;
        return false;
    }
    meta->dims[meta->rank++] = PDM_IR_IS_GIVEN(dim) ? dim : -1;
    return true;
}

void pdm_ir_meta_push_dims(pdm_ir_meta *meta, const pdm_ir_meta *from, int begin, int end)
{
    if (from->rank < 0) {
        meta->rank = -1;
        return;
    }
    for (int i = begin < 0 ? 0 : begin; i < end && i < from->rank; i++)
        (void)pdm_ir_meta_push(meta, from->dims[i]);
}

pdm_dtype pdm_ir_dtype_real(pdm_dtype dtype)
{
    return dtype == PDM_C64 ? PDM_F32 : dtype == PDM_C128 ? PDM_F64 : dtype;
}

pdm_dtype pdm_ir_dtype_complex(pdm_dtype dtype)
{
    return dtype == PDM_F32 ? PDM_C64 : dtype == PDM_F64 ? PDM_C128 : dtype;
}
