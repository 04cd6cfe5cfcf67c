/* Reading legacy attributes: defaults from the schema, numbers converted between kinds when exact,
 * everything else reported. */
#include "translator/tr.h"

#include <math.h>
#include <string.h>

bool pdm_tr_has_attr(const pdm_tr_op *t, const char *name)
{
    return pdm_lg_find_attr(t->op, name) != NULL;
}

const pdm_lg_attr *pdm_tr_default(const pdm_tr_op *t, const char *name)
{
    const pdm_lg_attr_desc *desc = t->schema ? pdm_lg_schema_attr(t->schema, name) : NULL;
    return desc ? desc->fallback : NULL;
}

const pdm_lg_attr *pdm_tr_attr(const pdm_tr_op *t, const char *name)
{
    const pdm_lg_attr *attr = pdm_lg_find_attr(t->op, name);
    return attr ? attr : pdm_tr_default(t, name);
}

static const pdm_lg_attr *need(pdm_tr_op *t, const char *name)
{
    if (t->failed || t->tr->status != PDM_OK)
        return NULL;
    const pdm_lg_attr *attr = pdm_tr_attr(t, name);
    if (!attr)
        pdm_tr_error(t, PDM_D_LG_MISSING_ATTR, name, NULL,
                     "op '%s' lacks its attribute '%s', which has no default", t->op->type, name);
    return attr;
}

static void wrong_kind(pdm_tr_op *t, const pdm_lg_attr *attr, const char *wanted)
{
    pdm_tr_error(t, PDM_D_LG_ATTR_KIND, attr->name, NULL,
                 "attribute '%s' of '%s' should be %s, but is %s", attr->name, t->op->type, wanted,
                 pdm_lg_attr_type_name((int)attr->type));
}

static bool to_int(const pdm_lg_attr *a, int64_t *out)
{
    double d;
    switch (a->type) {
    case PDM_LG_INT:
        *out = a->u.i;
        return true;
    case PDM_LG_LONG:
        *out = a->u.l;
        return true;
    case PDM_LG_BOOLEAN:
        *out = a->u.b;
        return true;
    case PDM_LG_FLOAT:
        d = (double)a->u.f;
        break;
    case PDM_LG_FLOAT64:
        d = a->u.d;
        break;
    case PDM_LG_SCALAR:
        if (a->u.scalar.type == PDM_LG_SCALAR_I64 || a->u.scalar.type == PDM_LG_SCALAR_BOOL) {
            *out = a->u.scalar.type == PDM_LG_SCALAR_I64 ? a->u.scalar.i : a->u.scalar.b;
            return true;
        }
        d = a->u.scalar.r;
        if (a->u.scalar.type != PDM_LG_SCALAR_F64)
            return false;
        break;
    default:
        return false;
    }
    if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) || d != floor(d))
        return false;
    *out = (int64_t)d;
    return true;
}

static bool to_double(const pdm_lg_attr *a, double *out)
{
    switch (a->type) {
    case PDM_LG_FLOAT:
        *out = (double)a->u.f;
        return true;
    case PDM_LG_FLOAT64:
        *out = a->u.d;
        return true;
    case PDM_LG_INT:
        *out = a->u.i;
        return true;
    case PDM_LG_LONG:
        *out = (double)a->u.l;
        return true;
    case PDM_LG_BOOLEAN:
        *out = a->u.b;
        return true;
    case PDM_LG_SCALAR:
        switch (a->u.scalar.type) {
        case PDM_LG_SCALAR_F64:
            *out = a->u.scalar.r;
            return true;
        case PDM_LG_SCALAR_I64:
            *out = (double)a->u.scalar.i;
            return true;
        case PDM_LG_SCALAR_BOOL:
            *out = a->u.scalar.b;
            return true;
        default:
            return false;
        }
    default:
        return false;
    }
}

static bool to_bool(const pdm_lg_attr *a, bool *out)
{
    int64_t i;
    if (a->type == PDM_LG_FLOAT || a->type == PDM_LG_FLOAT64 || !to_int(a, &i))
        return false;
    *out = i != 0;
    return true;
}

int64_t pdm_tr_int(pdm_tr_op *t, const char *name)
{
    int64_t value = 0;
    const pdm_lg_attr *a = need(t, name);
    if (a && !to_int(a, &value))
        wrong_kind(t, a, "an integer");
    return value;
}

double pdm_tr_float(pdm_tr_op *t, const char *name)
{
    double value = 0;
    const pdm_lg_attr *a = need(t, name);
    if (a && !to_double(a, &value))
        wrong_kind(t, a, "a number");
    return value;
}

bool pdm_tr_bool(pdm_tr_op *t, const char *name)
{
    bool value = false;
    const pdm_lg_attr *a = need(t, name);
    if (a && !to_bool(a, &value))
        wrong_kind(t, a, "a boolean");
    return value;
}

const char *pdm_tr_string(pdm_tr_op *t, const char *name)
{
    const pdm_lg_attr *a = need(t, name);
    if (!a)
        return NULL;
    if (a->type != PDM_LG_STRING) {
        wrong_kind(t, a, "a string");
        return NULL;
    }
    return a->u.s;
}

/* Integers of a list attribute, or of a single number, in scratch memory; NULL: of another kind, or
 * out of memory. */
static int64_t *to_ints(pdm_tr *tr, const pdm_lg_attr *a, size_t *out_count)
{
    bool list = a->type == PDM_LG_INTS || a->type == PDM_LG_LONGS || a->type == PDM_LG_BOOLEANS;
    int64_t single = 0;
    if (!list && (a->type == PDM_LG_FLOAT || a->type == PDM_LG_FLOAT64 || !to_int(a, &single)))
        return NULL;
    size_t n = list ? a->count : 1;
    int64_t *values = pdm_arena_calloc(&tr->scratch, n ? n : 1, sizeof *values);
    if (!values) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (a->type == PDM_LG_INTS)
            values[i] = a->u.ints[i];
        else if (a->type == PDM_LG_LONGS)
            values[i] = a->u.longs[i];
        else if (a->type == PDM_LG_BOOLEANS)
            values[i] = a->u.bools[i];
        else
            values[i] = single;
    }
    *out_count = n;
    return values;
}

static double *to_doubles(pdm_tr *tr, const pdm_lg_attr *a, size_t *out_count)
{
    double single = 0;
    bool list = a->type == PDM_LG_FLOATS || a->type == PDM_LG_FLOAT64S || a->type == PDM_LG_INTS ||
                a->type == PDM_LG_LONGS;
    if (!list && !to_double(a, &single))
        return NULL;
    size_t n = list ? a->count : 1;
    double *values = pdm_arena_calloc(&tr->scratch, n ? n : 1, sizeof *values);
    if (!values) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        switch (a->type) {
        case PDM_LG_FLOATS:
            values[i] = (double)a->u.floats[i];
            break;
        case PDM_LG_FLOAT64S:
            values[i] = a->u.doubles[i];
            break;
        case PDM_LG_INTS:
            values[i] = a->u.ints[i];
            break;
        case PDM_LG_LONGS:
            values[i] = (double)a->u.longs[i];
            break;
        default:
            values[i] = single;
        }
    }
    *out_count = n;
    return values;
}

const int64_t *pdm_tr_ints(pdm_tr_op *t, const char *name, size_t *out_count)
{
    *out_count = 0;
    const pdm_lg_attr *a = need(t, name);
    const int64_t *values = a ? to_ints(t->tr, a, out_count) : NULL;
    if (a && !values && t->tr->status == PDM_OK)
        wrong_kind(t, a, "a list of integers");
    return values;
}

const double *pdm_tr_floats(pdm_tr_op *t, const char *name, size_t *out_count)
{
    *out_count = 0;
    const pdm_lg_attr *a = need(t, name);
    const double *values = a ? to_doubles(t->tr, a, out_count) : NULL;
    if (a && !values && t->tr->status == PDM_OK)
        wrong_kind(t, a, "a list of numbers");
    return values;
}

int64_t pdm_tr_int_or(pdm_tr_op *t, const char *name, int64_t fallback)
{
    return pdm_tr_attr(t, name) ? pdm_tr_int(t, name) : fallback;
}

double pdm_tr_float_or(pdm_tr_op *t, const char *name, double fallback)
{
    return pdm_tr_attr(t, name) ? pdm_tr_float(t, name) : fallback;
}

bool pdm_tr_bool_or(pdm_tr_op *t, const char *name, bool fallback)
{
    return pdm_tr_attr(t, name) ? pdm_tr_bool(t, name) : fallback;
}

const char *pdm_tr_string_or(pdm_tr_op *t, const char *name, const char *fallback)
{
    return pdm_tr_attr(t, name) ? pdm_tr_string(t, name) : fallback;
}

static bool legacy_dtype(pdm_tr_op *t, const char *name, int64_t number, pdm_dtype *out)
{
    *out = PDM_UNDEFINED;
    if (number == -1)
        return true;
    *out = number >= 0 && number < 1000 ? pdm_dtype_from_legacy((int)number) : PDM_UNDEFINED;
    if (*out == PDM_UNDEFINED)
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, name, NULL,
                     "attribute '%s' of '%s' is %lld, which is no element type", name, t->op->type,
                     (long long)number);
    return *out != PDM_UNDEFINED;
}

pdm_dtype pdm_tr_dtype(pdm_tr_op *t, const char *name)
{
    pdm_dtype dtype = PDM_UNDEFINED;
    if (pdm_tr_attr(t, name)) {
        int64_t number = pdm_tr_int(t, name);
        if (!t->failed)
            legacy_dtype(t, name, number, &dtype);
    }
    return dtype;
}

/* ---- conversion to PIR attributes ------------------------------------------------------------ */

static const char *wanted_text(pdm_ir_decl_type type)
{
    switch (type) {
    case PDM_IR_T_BOOL:
        return "a boolean";
    case PDM_IR_T_I32:
    case PDM_IR_T_I64:
        return "an integer";
    case PDM_IR_T_F32:
    case PDM_IR_T_F64:
    case PDM_IR_T_SCALAR:
        return "a number";
    case PDM_IR_T_STR:
        return "a string";
    case PDM_IR_T_ARRAY_STR:
        return "a list of strings";
    case PDM_IR_T_ARRAY_F32:
    case PDM_IR_T_ARRAY_F64:
        return "a list of numbers";
    case PDM_IR_T_DTYPE:
        return "an element type number";
    default:
        return "a list of integers";
    }
}

static pdm_ir_attr convert_scalar(pdm_tr_op *t, const pdm_lg_attr *a)
{
    switch (a->type) {
    case PDM_LG_FLOAT:
        return pdm_tr_a_f32(t, (double)a->u.f);
    case PDM_LG_FLOAT64:
        return pdm_tr_a_f64(t, a->u.d);
    case PDM_LG_INT:
        return pdm_tr_a_i32(t, a->u.i);
    case PDM_LG_LONG:
        return pdm_tr_a_i64(t, a->u.l);
    case PDM_LG_BOOLEAN:
        return pdm_tr_a_bool(t, a->u.b);
    case PDM_LG_SCALAR:
        switch (a->u.scalar.type) {
        case PDM_LG_SCALAR_BOOL:
            return pdm_tr_a_bool(t, a->u.scalar.b);
        case PDM_LG_SCALAR_I64:
            return pdm_tr_a_i64(t, a->u.scalar.i);
        case PDM_LG_SCALAR_F64:
            return pdm_tr_a_f64(t, a->u.scalar.r);
        default:
            return NULL;
        }
    default:
        return NULL;
    }
}

static pdm_ir_attr convert_ints(pdm_tr_op *t, const pdm_lg_attr *a, pdm_ir_decl_type type)
{
    size_t n;
    int64_t *v = to_ints(t->tr, a, &n);
    if (!v)
        return NULL;
    if (type == PDM_IR_T_INT_ARRAY)
        return pdm_tr_a_int_array(t, v, n);
    if (type == PDM_IR_T_ARRAY_I64)
        return pdm_tr_a_i64s(t, v, n);
    for (size_t i = 0; i < n; i++)
        if (v[i] < INT32_MIN || v[i] > INT32_MAX)
            return NULL;
    return pdm_tr_a_i32s(t, v, n);
}

static pdm_ir_attr convert(pdm_tr_op *t, const pdm_lg_attr *a, pdm_ir_decl_type type)
{
    int64_t i;
    double d;
    bool b;
    size_t n;
    switch (type) {
    case PDM_IR_T_BOOL:
        return to_bool(a, &b) ? pdm_tr_a_bool(t, b) : NULL;
    case PDM_IR_T_I32:
        return to_int(a, &i) && i >= INT32_MIN && i <= INT32_MAX ? pdm_tr_a_i32(t, i) : NULL;
    case PDM_IR_T_I64:
        return to_int(a, &i) ? pdm_tr_a_i64(t, i) : NULL;
    case PDM_IR_T_F32:
        return to_double(a, &d) ? pdm_tr_a_f32(t, d) : NULL;
    case PDM_IR_T_F64:
        return to_double(a, &d) ? pdm_tr_a_f64(t, d) : NULL;
    case PDM_IR_T_SCALAR:
        return convert_scalar(t, a);
    case PDM_IR_T_STR:
        return a->type == PDM_LG_STRING ? pdm_tr_a_str(t, a->u.s) : NULL;
    case PDM_IR_T_DTYPE: {
        pdm_dtype dtype;
        if (a->type != PDM_LG_INT && a->type != PDM_LG_LONG)
            return NULL;
        return to_int(a, &i) && legacy_dtype(t, a->name, i, &dtype) ? pdm_tr_a_dtype(t, dtype)
                                                                    : NULL;
    }
    case PDM_IR_T_ARRAY_I32:
    case PDM_IR_T_ARRAY_I64:
    case PDM_IR_T_INT_ARRAY:
        return convert_ints(t, a, type);
    case PDM_IR_T_ARRAY_BOOL: {
        if (a->type != PDM_LG_BOOLEANS)
            return NULL;
        pdm_ir_attr attr = pdm_ir_attr_bools(t->tr->context, a->u.bools, a->count);
        if (!attr)
            pdm_tr_nomem(t->tr);
        return attr;
    }
    case PDM_IR_T_ARRAY_F32:
    case PDM_IR_T_ARRAY_F64: {
        double *v = to_doubles(t->tr, a, &n);
        if (!v)
            return NULL;
        return type == PDM_IR_T_ARRAY_F32 ? pdm_tr_a_f32s(t, v, n) : pdm_tr_a_f64s(t, v, n);
    }
    case PDM_IR_T_ARRAY_STR: {
        if (a->type != PDM_LG_STRINGS)
            return NULL;
        pdm_ir_attr attr = pdm_ir_attr_strs(t->tr->context, a->u.strings, a->count);
        if (!attr)
            pdm_tr_nomem(t->tr);
        return attr;
    }
    default:
        return NULL;
    }
}

pdm_ir_attr pdm_tr_convert_attr(pdm_tr_op *t, const pdm_lg_attr *attr, pdm_ir_decl_type type)
{
    if (t->failed || t->tr->status != PDM_OK)
        return NULL;
    pdm_ir_attr result = convert(t, attr, type);
    if (!result && !t->failed && t->tr->status == PDM_OK)
        wrong_kind(t, attr, wanted_text(type));
    return result;
}
