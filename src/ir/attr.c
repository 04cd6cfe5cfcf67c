#include "ir/ir_t.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- interning ------------------------------------------------------------------------------- */

/* All NaNs are one: files cannot tell them apart. */
static double one_nan(double value)
{
    return isnan(value) ? (double)NAN : value;
}

static double as_float(double value)
{
    return one_nan((double)(float)value);
}

static void normalize_scalar(const struct pdm_ir_attr_s *in, struct pdm_ir_attr_s *out)
{
    out->dtype = in->dtype;
    if (in->dtype == PDM_BOOL)
        out->u.b = in->u.b;
    else if (pdm_dtype_is_complex(in->dtype))
        out->u.c.re = one_nan(in->u.c.re), out->u.c.im = one_nan(in->u.c.im);
    else if (pdm_dtype_is_float(in->dtype))
        out->u.f = in->dtype == PDM_F64 ? one_nan(in->u.f) : as_float(in->u.f);
    else
        out->u.i = in->u.i;
}

static bool normalize_text(pdm_ir_context *context, const struct pdm_ir_attr_s *in,
                           struct pdm_ir_attr_s *out)
{
    out->u.s.text = pdm_ir_strn(context, in->u.s.text ? in->u.s.text : "", in->u.s.size);
    out->u.s.size = in->u.s.size;
    return out->u.s.text != NULL;
}

static bool normalize_place(pdm_ir_context *context, const struct pdm_ir_attr_s *in,
                            struct pdm_ir_attr_s *out)
{
    out->u.place.kind = in->u.place.kind;
    out->u.place.device = in->u.place.device;
    out->u.place.name =
        in->u.place.name ? pdm_ir_str(context, in->u.place.name) : context->no_string;
    return out->u.place.name != NULL;
}

/* Only what the kind has, the rest zero bytes; strings interned, arrays not yet copied. */
static bool normalize(pdm_ir_context *context, const struct pdm_ir_attr_s *in,
                      struct pdm_ir_attr_s *out)
{
    memset(out, 0, sizeof *out);
    out->kind = in->kind;
    switch (in->kind) {
    case PDM_IR_ATTR_NULL:
        break;
    case PDM_IR_ATTR_BOOL:
        out->u.b = in->u.b;
        break;
    case PDM_IR_ATTR_I32:
    case PDM_IR_ATTR_I64:
    case PDM_IR_ATTR_INDEX:
        out->u.i = in->u.i;
        break;
    case PDM_IR_ATTR_F32:
        out->u.f = as_float(in->u.f);
        break;
    case PDM_IR_ATTR_F64:
        out->u.f = one_nan(in->u.f);
        break;
    case PDM_IR_ATTR_C64:
        out->u.c.re = as_float(in->u.c.re), out->u.c.im = as_float(in->u.c.im);
        break;
    case PDM_IR_ATTR_C128:
        out->u.c.re = one_nan(in->u.c.re), out->u.c.im = one_nan(in->u.c.im);
        break;
    case PDM_IR_ATTR_STR:
    case PDM_IR_ATTR_TENSOR_NAME:
    case PDM_IR_ATTR_LAYOUT:
        return normalize_text(context, in, out);
    case PDM_IR_ATTR_ARRAY:
        out->count = in->count;
        out->u.items = in->u.items;
        break;
    case PDM_IR_ATTR_TYPE:
        out->u.type = in->u.type;
        break;
    case PDM_IR_ATTR_INT_ARRAY:
        out->count = in->count;
        out->u.ints = in->u.ints;
        break;
    case PDM_IR_ATTR_SCALAR:
        normalize_scalar(in, out);
        break;
    case PDM_IR_ATTR_DTYPE:
        out->dtype = in->dtype;
        break;
    case PDM_IR_ATTR_PLACE:
        return normalize_place(context, in, out);
    }
    return true;
}

/* The array of ARRAY and INT_ARRAY, else nothing. */
static size_t array_bytes(const struct pdm_ir_attr_s *a)
{
    if (a->kind == PDM_IR_ATTR_ARRAY)
        return a->count * sizeof *a->u.items;
    return a->kind == PDM_IR_ATTR_INT_ARRAY ? a->count * sizeof *a->u.ints : 0;
}

static const void *array_data(const struct pdm_ir_attr_s *a)
{
    return a->kind == PDM_IR_ATTR_ARRAY ? (const void *)a->u.items : (const void *)a->u.ints;
}

static bool is_array(const struct pdm_ir_attr_s *a)
{
    return a->kind == PDM_IR_ATTR_ARRAY || a->kind == PDM_IR_ATTR_INT_ARRAY;
}

static uint64_t hash_of(const struct pdm_ir_attr_s *a)
{
    const uint64_t h = (uint64_t)a->kind << 56 ^ (uint64_t)a->dtype << 48 ^ a->count;

    if (is_array(a))
        return pdm_hash_bytes(array_data(a), array_bytes(a), h);
    return pdm_hash_bytes(&a->u, sizeof a->u, h); /* normalized: unused bytes are zero */
}

static bool equal(const void *object, const void *key)
{
    const struct pdm_ir_attr_s *a = object, *b = key;

    if (a->kind != b->kind || a->dtype != b->dtype || a->count != b->count)
        return false;
    if (!is_array(a))
        return !memcmp(&a->u, &b->u, sizeof a->u);
    return a->count == 0 || !memcmp(array_data(a), array_data(b), array_bytes(a));
}

pdm_ir_attr pdm_ir_attr_intern(pdm_ir_context *context, const struct pdm_ir_attr_s *fields)
{
    struct pdm_ir_attr_s a;

    if (!normalize(context, fields, &a))
        return NULL;
    const uint64_t hash = hash_of(&a);
    pdm_ir_attr found = pdm_ir_storage_find(&context->attrs, hash, &a, equal);
    if (found)
        return found;
    if (is_array(&a)) {
        const void *copy = NULL;
        if (a.count > 0) {
            copy = pdm_arena_memdup(&context->arena, array_data(&a), array_bytes(&a));
            if (!copy)
                return NULL;
        }
        if (a.kind == PDM_IR_ATTR_ARRAY)
            a.u.items = copy;
        else
            a.u.ints = copy;
    }
    pdm_ir_attr made = pdm_arena_memdup(&context->arena, &a, sizeof a);
    return made && pdm_ir_storage_add(&context->attrs, hash, made) ? made : NULL;
}

/* ---- constructors ---------------------------------------------------------------------------- */

#define INTERN(context, ...) pdm_ir_attr_intern((context), &(struct pdm_ir_attr_s){__VA_ARGS__})

pdm_ir_attr pdm_ir_attr_null(pdm_ir_context *context)
{
    return INTERN(context, .kind = PDM_IR_ATTR_NULL);
}

pdm_ir_attr pdm_ir_attr_bool(pdm_ir_context *context, bool value)
{
    pdm_ir_attr *kept = &context->bools[value];

    if (!*kept)
        *kept = INTERN(context, .kind = PDM_IR_ATTR_BOOL, .u.b = value);
    return *kept;
}

/* Nearly all integers of a program are a few small ones. */
static pdm_ir_attr integer(pdm_ir_context *context, pdm_ir_attr_kind kind, int64_t value)
{
    pdm_ir_attr *few = kind == PDM_IR_ATTR_I32 ? context->few_i32 : context->few_i64;

    if (value < -PDM_IR_FEW_BELOW || value >= PDM_IR_FEW - PDM_IR_FEW_BELOW)
        return INTERN(context, .kind = kind, .u.i = value);
    few += value + PDM_IR_FEW_BELOW;
    if (!*few)
        *few = INTERN(context, .kind = kind, .u.i = value);
    return *few;
}

pdm_ir_attr pdm_ir_attr_i32(pdm_ir_context *context, int32_t value)
{
    return integer(context, PDM_IR_ATTR_I32, value);
}

pdm_ir_attr pdm_ir_attr_i64(pdm_ir_context *context, int64_t value)
{
    return integer(context, PDM_IR_ATTR_I64, value);
}

pdm_ir_attr pdm_ir_attr_f32(pdm_ir_context *context, float value)
{
    return INTERN(context, .kind = PDM_IR_ATTR_F32, .u.f = (double)value);
}

pdm_ir_attr pdm_ir_attr_f64(pdm_ir_context *context, double value)
{
    return INTERN(context, .kind = PDM_IR_ATTR_F64, .u.f = value);
}

pdm_ir_attr pdm_ir_attr_strn(pdm_ir_context *context, const char *text, size_t size)
{
    return INTERN(context, .kind = PDM_IR_ATTR_STR, .u.s = {text, size});
}

pdm_ir_attr pdm_ir_attr_str(pdm_ir_context *context, const char *text)
{
    return pdm_ir_attr_strn(context, text, strlen(text));
}

pdm_ir_attr pdm_ir_attr_array(pdm_ir_context *context, const pdm_ir_attr *items, size_t count)
{
    if (count > UINT32_MAX)
        return NULL;
    return INTERN(context, .kind = PDM_IR_ATTR_ARRAY, .count = (uint32_t)count, .u.items = items);
}

pdm_ir_attr pdm_ir_attr_int_array(pdm_ir_context *context, const int64_t *ints, size_t count)
{
    if (count > UINT32_MAX)
        return NULL;
    return INTERN(context, .kind = PDM_IR_ATTR_INT_ARRAY, .count = (uint32_t)count, .u.ints = ints);
}

pdm_ir_attr pdm_ir_attr_dtype(pdm_ir_context *context, pdm_dtype dtype)
{
    return INTERN(context, .kind = PDM_IR_ATTR_DTYPE, .dtype = dtype);
}

pdm_ir_attr pdm_ir_attr_type(pdm_ir_context *context, pdm_ir_type type)
{
    return INTERN(context, .kind = PDM_IR_ATTR_TYPE, .u.type = type);
}

pdm_ir_attr pdm_ir_attr_layout(pdm_ir_context *context, const char *layout)
{
    return INTERN(context, .kind = PDM_IR_ATTR_LAYOUT, .u.s = {layout, strlen(layout)});
}

pdm_ir_attr pdm_ir_attr_place(pdm_ir_context *context, int32_t kind, int32_t device,
                              const char *name)
{
    return INTERN(context, .kind = PDM_IR_ATTR_PLACE, .u.place = {kind, device, name});
}

/* An array whose i-th element is make(context, values, i). */
typedef pdm_ir_attr (*item_fn)(pdm_ir_context *context, const void *values, size_t i);

static pdm_ir_attr array_of(pdm_ir_context *context, item_fn make, const void *values, size_t count)
{
    pdm_ir_attr few[16], *items = few, result = NULL;

    if (count > UINT32_MAX)
        return NULL;
    if (count > sizeof few / sizeof *few) {
        items = calloc(count, sizeof *items);
        if (!items)
            return NULL;
    }
    size_t i = 0;
    while (i < count && (items[i] = make(context, values, i)))
        i++;
    if (i == count)
        result = pdm_ir_attr_array(context, items, count);
    if (items != few)
        free(items);
    return result;
}

static pdm_ir_attr bool_item(pdm_ir_context *context, const void *values, size_t i)
{
    return pdm_ir_attr_bool(context, ((const bool *)values)[i]);
}

static pdm_ir_attr i32_item(pdm_ir_context *context, const void *values, size_t i)
{
    return pdm_ir_attr_i32(context, ((const int32_t *)values)[i]);
}

static pdm_ir_attr i64_item(pdm_ir_context *context, const void *values, size_t i)
{
    return pdm_ir_attr_i64(context, ((const int64_t *)values)[i]);
}

static pdm_ir_attr f32_item(pdm_ir_context *context, const void *values, size_t i)
{
    return pdm_ir_attr_f32(context, ((const float *)values)[i]);
}

static pdm_ir_attr f64_item(pdm_ir_context *context, const void *values, size_t i)
{
    return pdm_ir_attr_f64(context, ((const double *)values)[i]);
}

static pdm_ir_attr str_item(pdm_ir_context *context, const void *values, size_t i)
{
    return pdm_ir_attr_str(context, ((const char *const *)values)[i]);
}

pdm_ir_attr pdm_ir_attr_bools(pdm_ir_context *context, const bool *values, size_t count)
{
    return array_of(context, bool_item, values, count);
}

pdm_ir_attr pdm_ir_attr_i32s(pdm_ir_context *context, const int32_t *values, size_t count)
{
    return array_of(context, i32_item, values, count);
}

pdm_ir_attr pdm_ir_attr_i64s(pdm_ir_context *context, const int64_t *values, size_t count)
{
    return array_of(context, i64_item, values, count);
}

pdm_ir_attr pdm_ir_attr_f32s(pdm_ir_context *context, const float *values, size_t count)
{
    return array_of(context, f32_item, values, count);
}

pdm_ir_attr pdm_ir_attr_f64s(pdm_ir_context *context, const double *values, size_t count)
{
    return array_of(context, f64_item, values, count);
}

pdm_ir_attr pdm_ir_attr_strs(pdm_ir_context *context, const char *const *values, size_t count)
{
    return array_of(context, str_item, values, count);
}

const char *pdm_ir_attr_kind_name(pdm_ir_attr_kind kind)
{
    static const char *const names[] = {
        [PDM_IR_ATTR_NULL] = "null",
        [PDM_IR_ATTR_BOOL] = "bool",
        [PDM_IR_ATTR_I32] = "i32",
        [PDM_IR_ATTR_I64] = "i64",
        [PDM_IR_ATTR_INDEX] = "index",
        [PDM_IR_ATTR_F32] = "f32",
        [PDM_IR_ATTR_F64] = "f64",
        [PDM_IR_ATTR_C64] = "c64",
        [PDM_IR_ATTR_C128] = "c128",
        [PDM_IR_ATTR_STR] = "str",
        [PDM_IR_ATTR_TENSOR_NAME] = "tensorname",
        [PDM_IR_ATTR_ARRAY] = "array",
        [PDM_IR_ATTR_TYPE] = "type",
        [PDM_IR_ATTR_INT_ARRAY] = "intarray",
        [PDM_IR_ATTR_SCALAR] = "scalar",
        [PDM_IR_ATTR_DTYPE] = "dtype",
        [PDM_IR_ATTR_LAYOUT] = "layout",
        [PDM_IR_ATTR_PLACE] = "place",
    };

    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
