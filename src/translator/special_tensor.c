/* Special handlers: constants, assignment, slices, lookups. */
#include "translator/expressed.h"
#include "translator/special.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

/* ---- fill_constant --------------------------------------------------------------------------- */

/*
 * A number at the beginning of a text, as a stream reads it into a double: blanks, sign, decimal
 * digits, fraction, exponent; what follows is ignored and no number at all gives 0.
 */
static double leading_number(const char *text)
{
    char plain[64];
    size_t n = 0;
    bool point = false, exponent = false;
    while (*text == ' ' || *text == '\t' || *text == '\n')
        text++;
    for (; *text && n + 1 < sizeof plain; text++) {
        bool sign = *text == '+' || *text == '-', e = *text == 'e' || *text == 'E';
        if (sign && n > 0 && plain[n - 1] != 'e' && plain[n - 1] != 'E')
            break;
        if (*text == '.' && (point || exponent))
            break;
        if (e && (exponent || n == 0))
            break;
        if (!sign && !e && *text != '.' && (*text < '0' || *text > '9'))
            break;
        point |= *text == '.';
        exponent |= e;
        plain[n++] = *text;
    }
    plain[n] = '\0';
    return pdm_decimal_read(plain, NULL);
}

static double number_of_text(const char *text)
{
    if (strcmp(text, "inf") == 0)
        return __builtin_inf();
    if (strcmp(text, "-inf") == 0)
        return -__builtin_inf();
    if (strcmp(text, "nan") == 0)
        return __builtin_nan("");
    return leading_number(text);
}

/* What a double becomes in an integer type: cut off, and out of range as the processor leaves it.
 */
static int64_t to_integer(double value, pdm_dtype dtype, const char *text)
{
    const double wide = 9223372036854775808.0;
    if (dtype == PDM_BOOL)
        return value < 0 || value > 0 || value != value;
    if (dtype == PDM_I64 && !(value >= -wide && value < wide)) {
        char *end;
        int64_t exact = strtoll(text, &end, 10); /* only the detour through a double overflowed */
        return end != text && *end == '\0' ? exact : INT64_MIN;
    }
    if (dtype == PDM_I64)
        return (int64_t)value;
    int32_t narrow = value > -2147483649.0 && value < 2147483648.0 ? (int32_t)value : INT32_MIN;
    switch (dtype) {
    case PDM_U8:
        return (uint8_t)narrow;
    case PDM_I8:
        return (int8_t)narrow;
    case PDM_I16:
        return (int16_t)narrow;
    default:
        return narrow;
    }
}

typedef struct constant {
    bool plain;   /* the float attribute says it all */
    bool integer; /* then i, else f */
    double f;
    int64_t i;
} constant;

/* str_value, where given, wins over value. */
static constant constant_of(pdm_tr_op *t, pdm_dtype dtype)
{
    const char *text = pdm_tr_string_or(t, "str_value", "");
    constant c = {.plain = true, .f = pdm_tr_float(t, "value")};
    if (!text || !*text)
        return c;
    double value = number_of_text(text);
    if (pdm_dtype_is_int(dtype) || dtype == PDM_BOOL) {
        c.integer = true;
        c.i = to_integer(value, dtype, text);
        c.plain = c.f >= -16777216 && c.f <= 16777216 && (double)c.i >= c.f && (double)c.i <= c.f;
    } else {
        bool narrow = dtype == PDM_F32 || dtype == PDM_F16 || dtype == PDM_BF16;
        double seen = narrow ? (double)(float)value : value;
        c.plain = (seen >= c.f && seen <= c.f) || (seen != seen && c.f != c.f);
        c.f = value;
        if (c.plain)
            c.f = seen;
    }
    return c;
}

static pdm_ir_attr constant_attr(pdm_tr_op *t, const constant *c)
{
    const int64_t exact = (int64_t)1 << 53;
    if (c->plain)
        return pdm_tr_a_f32(t, c->f);
    if (!c->integer)
        return pdm_tr_a_f64(t, c->f);
    if (c->i < -exact || c->i > exact)
        return pdm_tr_a_i64(t, c->i);
    return pdm_tr_a_f64(t, (double)c->i);
}

/* Only "on the CPU" is worth keeping: other places name devices that the reader may not have. */
static pdm_ir_attr constant_place(pdm_tr_op *t)
{
    bool cpu = pdm_tr_bool_or(t, "force_cpu", false) || pdm_tr_int_or(t, "place_type", -1) == 0;
    return pdm_tr_a_place(t, cpu ? 1 : 0);
}

static pdm_ir_value *shape_operand(pdm_tr_op *t)
{
    if (pdm_tr_num_in(t, "ShapeTensorList"))
        return pdm_tr_emit1(t, "pd_op.stack", PDM_TR_OPS(pdm_tr_in_combined(t, "ShapeTensorList")),
                            PDM_TR_ATTRS({"axis", pdm_tr_a_i32(t, 0), 0}));
    if (pdm_tr_num_in(t, "ShapeTensor"))
        return pdm_tr_in(t, "ShapeTensor");
    return pdm_tr_int_operand(t, NULL, NULL, "shape");
}

static pdm_ir_value *constant_operand(pdm_tr_op *t, pdm_dtype dtype)
{
    if (pdm_tr_num_in(t, "ValueTensor"))
        return pdm_tr_in(t, "ValueTensor");
    constant c = constant_of(t, dtype);
    if (c.plain)
        return pdm_tr_const_f(t, PDM_F32, c.f);
    return c.integer ? pdm_tr_const_i(t, dtype, c.i) : pdm_tr_const_f(t, dtype, c.f);
}

void pdm_tr_h_fill_constant(pdm_tr_op *t)
{
    pdm_dtype dtype = pdm_tr_need_dtype(t, "dtype");
    if (pdm_tr_num_in(t, "ShapeTensorList") || pdm_tr_num_in(t, "ShapeTensor") ||
        pdm_tr_num_in(t, "ValueTensor")) {
        pdm_ir_value *value = constant_operand(t, dtype), *shape = shape_operand(t);
        pdm_tr_out(t, "Out",
                   pdm_tr_emit1(t, "pd_op.full_with_tensor", PDM_TR_OPS(value, shape),
                                PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, dtype), 0})));
        return;
    }
    size_t rank = 0;
    const int64_t *dims = pdm_tr_ints(t, "shape", &rank);
    constant c = constant_of(t, dtype);
    if (t->failed || !dims)
        return;
    pdm_ir_value *out = pdm_tr_emit1(t, "pd_op.full", PDM_TR_NO_OPS,
                                     PDM_TR_ATTRS({"shape", pdm_tr_a_int_array(t, dims, rank), 0},
                                                  {"value", constant_attr(t, &c), 0},
                                                  {"dtype", pdm_tr_a_dtype(t, dtype), 0},
                                                  {"place", constant_place(t), 0}));
    pdm_tr_out(t, "Out", out);
}

/* ---- assignment ------------------------------------------------------------------------------ */

/* The only number of a list of real numbers; 0 for other lists. */
static double single_real(const pdm_lg_attr *list)
{
    if (!list || list->count != 1)
        return 0;
    switch (list->type) {
    case PDM_LG_FLOATS:
        return (double)list->u.floats[0];
    case PDM_LG_FLOAT64S:
        return list->u.doubles[0];
    case PDM_LG_SCALARS:
        return list->u.scalars[0].type == PDM_LG_SCALAR_F64 ? list->u.scalars[0].r : 0;
    default:
        return 0;
    }
}

/*
 * dynamic-to-static gives a name that has no value yet a float constant of this value, and the
 * declaration the type that the name gets later: the declaration is right.
 */
static const pdm_lg_var *undefined_marker(const pdm_tr_op *t, const pdm_lg_attr *list)
{
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", 0);
    const double value = single_real(list);
    if (!t->tr->has_sub_blocks || !var || !var->has_tensor || var->dtype == PDM_UNDEFINED)
        return NULL;
    return value > 1.7711e27 && value < 1.7712e27 ? var : NULL;
}

void pdm_tr_h_assign_value(pdm_tr_op *t)
{
    static const char *const lists[] = {"bool_values",  "fp32_values", "int32_values",
                                        "int64_values", "values",      "fp64_values"};
    pdm_dtype dtype = pdm_tr_need_dtype(t, "dtype");
    size_t rank = 0;
    const int64_t *dims = pdm_tr_ints(t, "shape", &rank);
    const pdm_lg_attr *list = NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && !list; i++) {
        const pdm_lg_attr *a = pdm_lg_find_attr(t->op, lists[i]);
        if (a && a->count)
            list = a;
    }
    if (t->failed || !dims)
        return;
    const pdm_lg_var *undefined = undefined_marker(t, list);
    if (undefined && undefined->dtype != dtype) {
        pdm_tr_out(t, "Out", pdm_tr_fill_i(t, dims, rank, undefined->dtype, 0));
        return;
    }
    pdm_ir_attr values = list ? pdm_tr_a_list(t, list) : pdm_tr_a_f32s(t, NULL, 0);
    pdm_ir_type type = pdm_tr_tensor_type(t, dtype, dims, rank);
    if (!values || !type)
        return;
    pdm_ir_op *op =
        pdm_tr_emit_typed(t, "pd_op.assign_value", PDM_TR_NO_OPS,
                          PDM_TR_ATTRS({"shape", pdm_tr_a_i32s(t, dims, rank), 0},
                                       {"dtype", pdm_tr_a_dtype(t, dtype), 0},
                                       {"values", values, 0}, {"place", pdm_tr_a_place(t, 0), 0}),
                          &type, 1);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

/* A variable that exists is overwritten in place, as the framework does where that is safe. */
void pdm_tr_h_assign(pdm_tr_op *t)
{
    const char *name = pdm_tr_out_name(t, "Out");
    pdm_ir_value *x = pdm_tr_in(t, "X");
    if (!x || !name)
        return;
    if (pdm_tr_is_array(x)) {
        pdm_ir_op *op =
            pdm_tr_emit_typed(t, "pd_op.assign_array", PDM_TR_OPS(x), PDM_TR_NO_ATTRS, &x->type, 1);
        pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
        return;
    }
    pdm_ir_value *old = t->tr->has_sub_blocks ? NULL : pdm_tr_value(t->tr, name);
    if (old && pdm_ir_type_is_tensor(old->type))
        pdm_tr_out(t, "Out", pdm_tr_binary(t, "pd_op.assign_out_", x, old));
    else
        pdm_tr_out(t, "Out", pdm_tr_unary(t, "pd_op.assign", x));
}

void pdm_tr_h_share_buffer(pdm_tr_op *t)
{
    size_t n = pdm_tr_num_in(t, "X");
    for (size_t i = 0; i < n; i++) {
        pdm_ir_value *x = pdm_tr_in_at(t, "X", i);
        pdm_tr_out_at(t, "Out", i, pdm_tr_unary(t, "pd_op.share_data_", x));
        if (i < pdm_tr_num_out(t, "XOut"))
            pdm_tr_out_at(t, "XOut", i, x);
    }
}

/* A copy to the device: where tensors live is the reader's business. */
void pdm_tr_h_memcpy_h2d(pdm_tr_op *t)
{
    pdm_tr_out(t, "Out", pdm_tr_unary(t, "pd_op.assign", pdm_tr_in(t, "X")));
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void slice_array(pdm_tr_op *t, pdm_ir_value *array)
{
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", 0);
    pdm_ir_type declared = pdm_tr_declared_type(t->tr, var);
    pdm_ir_value *starts = pdm_tr_int_operand(t, "StartsTensorList", "StartsTensor", "starts");
    size_t num_decreased = 0;
    pdm_tr_ints(t, "decrease_axis", &num_decreased);
    if (t->failed)
        return;
    if (var && var->kind == PDM_LG_DENSE_TENSOR && (num_decreased || declared)) {
        pdm_ir_type type = pdm_tr_tensor_type(t, array->type->dtype, var->dims, var->rank);
        pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.slice_array_dense", PDM_TR_OPS(array, starts),
                                          PDM_TR_NO_ATTRS, &type, 1);
        pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
        return;
    }
    pdm_ir_value *ends = pdm_tr_int_operand(t, "EndsTensorList", "EndsTensor", "ends");
    pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.slice_array", PDM_TR_OPS(array, starts, ends),
                                      PDM_TR_NO_ATTRS, &array->type, 1);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}

void pdm_tr_h_slice(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "Input");
    if (pdm_tr_is_array(x))
        slice_array(t, x);
    else
        pdm_tr_generic(t);
}

/*
 * Where a step is negative, the end -1 is the place before the first element in legacy programs; pd_op.strided_slice and
 * pd_op.set_value count it from the end. And for strided_slice what lies farther before it was the first element.
 */
#define FAR_BEFORE INT64_C(-1073741825) /* -1 and 2^30 before it: exact as float and in 32 bits */

typedef struct backward {
    const int64_t *steps, *axes;
    size_t n;
    bool at_least_0; /* ends that are counted from the end */
} backward;

/* Whether a slice goes backwards. Steps that are tensors are not known. */
static bool read_backward(pdm_tr_op *t, const char *attr, const char *list, const char *tensor, backward *b)
{
    size_t num_axes = 0;
    bool any = false;

    if (pdm_tr_num_in(t, list) || (tensor && pdm_tr_num_in(t, tensor)))
        return false;
    b->steps = pdm_tr_ints(t, attr, &b->n);
    b->axes = pdm_tr_ints(t, "axes", &num_axes);
    for (size_t i = 0; b->steps && i < b->n; i++)
        any = any || b->steps[i] < 0;
    return any && b->axes && num_axes == b->n && b->n <= PDM_MAX_RANK;
}

static int64_t dim_of_axis(pdm_ir_value *x, int64_t axis)
{
    pdm_ir_meta meta;

    pdm_tr_meta(x, &meta);
    axis += axis < 0 && meta.rank >= 0 ? meta.rank : 0;
    return axis >= 0 && axis < meta.rank ? meta.dims[axis] : -1;
}

/* Ends from axis `first` on, not farther before the first element than it. */
static pdm_ir_value *not_before(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *ends, const backward *b, size_t first, size_t n)
{
    pdm_tr_dim dims[PDM_MAX_RANK];
    const int rank = pdm_tr_rank(x);

    for (size_t i = 0; i < n; i++) {
        const int64_t axis = b->axes[first + i] + (b->axes[first + i] < 0 ? rank : 0);
        if (axis < 0 || axis >= rank)
            return ends;
        dims[i] = PDM_TR_DIM_OF(x, (int)axis);
    }
    pdm_ir_value *least = pdm_tr_scale(t, pdm_tr_dims(t, dims, n), -1, 0);
    return pdm_tr_binary(t, "pd_op.maximum", ends, pdm_tr_cast(t, least, pdm_tr_dtype_of(ends)));
}

/* Ends that are tensors; a single one may hold all of them. */
static pdm_ir_value *ends_of_slot(pdm_tr_op *t, pdm_ir_value *x, const char *slot, const backward *b)
{
    pdm_ir_value *ends[PDM_MAX_RANK];
    const size_t given = pdm_tr_num_in(t, slot);
    bool all = true;

    for (size_t i = 0; i < b->n; i++)
        all = all && b->steps[i] < 0;
    if (given > PDM_MAX_RANK || (given != b->n && !all))
        return pdm_tr_in_combined(t, slot);
    for (size_t i = 0; i < given; i++) {
        ends[i] = pdm_tr_in_at(t, slot, i);
        if (!ends[i] || (given == b->n && b->steps[i] >= 0))
            continue;
        pdm_ir_value *last = pdm_tr_binary(t, "pd_op.equal", ends[i], pdm_tr_like_const(t, ends[i], -1));
        last = pdm_tr_scale(t, pdm_tr_cast(t, last, pdm_tr_dtype_of(ends[i])), (double)FAR_BEFORE + 1, 0);
        if (b->at_least_0)
            ends[i] = not_before(t, x, ends[i], b, given == b->n ? i : 0, given == b->n ? 1 : b->n);
        ends[i] = pdm_tr_binary(t, "pd_op.add", ends[i], last);
    }
    return pdm_tr_combine(t, ends, given);
}

/* One of several ends, an int64 tensor. */
static pdm_ir_value *one_end(pdm_tr_op *t, pdm_ir_value *x, const backward *b, size_t i, int64_t end)
{
    const int rank = pdm_tr_rank(x);
    const int64_t axis = b->axes[i] + (b->axes[i] < 0 ? rank : 0);

    if (b->steps[i] >= 0 || end >= -1 || end == FAR_BEFORE || axis < 0 || axis >= rank || dim_of_axis(x, b->axes[i]) >= 0)
        return PDM_TR_INTS(t, end);
    pdm_ir_value *dim = pdm_tr_dim_value(t, x, (int)axis);
    end = end < FAR_BEFORE ? FAR_BEFORE : end;
    return pdm_tr_binary(t, "pd_op.maximum", pdm_tr_binary(t, "pd_op.add", dim, PDM_TR_INTS(t, end)), PDM_TR_INTS(t, 0));
}

static pdm_ir_value *backward_ends(pdm_tr_op *t, pdm_ir_value *x, const backward *b)
{
    int64_t values[PDM_MAX_RANK];
    pdm_ir_value *each[PDM_MAX_RANK];
    size_t n = 0;
    bool open = false;

    if (pdm_tr_num_in(t, "EndsTensorList"))
        return ends_of_slot(t, x, "EndsTensorList", b);
    if (pdm_tr_num_in(t, "EndsTensor"))
        return ends_of_slot(t, x, "EndsTensor", b);
    const int64_t *ends = pdm_tr_ints(t, "ends", &n);
    if (!ends || n != b->n)
        return pdm_tr_int_operand(t, NULL, NULL, "ends");
    for (size_t i = 0; i < n; i++) {
        const int64_t dim = dim_of_axis(x, b->axes[i]);
        values[i] = ends[i];
        if (b->steps[i] < 0 && ends[i] == -1)
            values[i] = FAR_BEFORE;
        else if (b->steps[i] < 0 && ends[i] < -1 && b->at_least_0 && dim < 0)
            open = true;
        else if (b->steps[i] < 0 && ends[i] < -1 && b->at_least_0 && ends[i] < -dim)
            values[i] = 0;
    }
    if (!open)
        return pdm_tr_const_ints(t, values, n);
    for (size_t i = 0; i < n; i++)
        each[i] = one_end(t, x, b, i, values[i]);
    return pdm_tr_combine(t, each, n);
}

static bool backward_slice(pdm_tr_op *t)
{
    backward b = {.at_least_0 = true};

    if (!read_backward(t, "strides", "StridesTensorList", "StridesTensor", &b))
        return false;
    pdm_ir_value *x = pdm_tr_in(t, "Input"), *starts = pdm_tr_int_operand(t, "StartsTensorList", "StartsTensor", "starts");
    if (!x)
        return true;
    pdm_ir_value *ends = backward_ends(t, x, &b), *strides = pdm_tr_const_ints(t, b.steps, b.n);
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.strided_slice", PDM_TR_OPS(x, starts, ends, strides),
                            PDM_TR_ATTRS({"axes", pdm_tr_a_i32s(t, b.axes, b.n), 0})));
    return true;
}

/* pd_op.strided_slice keeps all axes. */
void pdm_tr_h_strided_slice(pdm_tr_op *t)
{
    size_t n = 0;
    if (!backward_slice(t))
        pdm_tr_generic(t);
    const int64_t *axes = pdm_tr_ints(t, "decrease_axis", &n);
    pdm_ir_value *out = n ? pdm_tr_bound(t, "Out") : NULL;
    if (out)
        pdm_tr_out(t, "Out", pdm_tr_squeeze(t, out, axes, n));
}

typedef struct split_plan {
    size_t n;                /* pieces */
    int64_t num;             /* equal ones when above 0 */
    const int64_t *sections; /* else their sizes where the attribute gives them */
    size_t num_sections;
    int axis; /* normalised; -1: not known */
} split_plan;

static int64_t piece_size(const split_plan *plan, int64_t whole, size_t index)
{
    if (plan->num > 0)
        return whole < 0 ? -1 : whole / plan->num;
    if (index >= plan->num_sections || plan->sections[index] >= 0)
        return index < plan->num_sections ? plan->sections[index] : -1;
    for (size_t i = 0; i < plan->num_sections; i++)
        if (i != index)
            whole = whole < 0 || plan->sections[i] < 0 ? -1 : whole - plan->sections[i];
    return whole;
}

static pdm_ir_type piece_type(pdm_tr_op *t, pdm_ir_value *x, const split_plan *plan, size_t index)
{
    pdm_ir_meta meta;
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", index);
    pdm_tr_meta(x, &meta);
    if (!var && pdm_tr_is_empty_name(pdm_lg_find_output(t->op, "Out")->args[index]))
        return NULL;
    bool declared = var && var->has_tensor && var->rank <= PDM_MAX_RANK;
    if (meta.rank < 0 && declared) {
        meta.rank = (int)var->rank;
        memcpy(meta.dims, var->dims, var->rank * sizeof *var->dims);
    } else if (meta.rank >= 0 && plan->axis >= 0) {
        meta.dims[plan->axis] = piece_size(plan, meta.dims[plan->axis], index);
    } else {
        for (int i = 0; i < meta.rank; i++)
            meta.dims[i] = -1;
    }
    for (int i = 0; i < meta.rank; i++)
        if (meta.dims[i] < 0 && declared && var->rank == (size_t)meta.rank)
            meta.dims[i] = var->dims[i];
    return pdm_tr_tensor_type(t, meta.dtype, meta.dims, meta.rank < 0 ? 0 : (size_t)meta.rank);
}

static void bind_pieces(pdm_tr_op *t, pdm_ir_value *vector)
{
    const pdm_lg_slot *slot = pdm_lg_find_output(t->op, "Out");
    for (size_t i = 0; vector && slot && i < slot->num_args; i++)
        pdm_tr_out_element(t, slot->args[i], vector, (uint32_t)i);
}

static pdm_ir_type pieces_type(pdm_tr_op *t, pdm_ir_value *x, const split_plan *plan)
{
    pdm_ir_type *types = pdm_arena_calloc(&t->tr->scratch, plan->n ? plan->n : 1, sizeof *types);
    for (size_t i = 0; types && i < plan->n; i++)
        types[i] = piece_type(t, x, plan, i);
    pdm_ir_type type = types ? pdm_ir_type_vector(t->tr->context, types, plan->n) : NULL;
    if (!type)
        pdm_tr_nomem(t->tr);
    return type;
}

void pdm_tr_h_split(pdm_tr_op *t)
{
    split_plan plan = {.n = pdm_tr_num_out(t, "Out"), .num = pdm_tr_int(t, "num"), .axis = -1};
    bool listed = pdm_tr_num_in(t, "SectionsTensorList") > 0;
    pdm_ir_value *x = pdm_tr_in(t, "X"), *axis, *sections = NULL;
    if (!listed)
        plan.sections = pdm_tr_ints(t, "sections", &plan.num_sections);
    if (plan.num <= 0)
        sections = pdm_tr_int_operand(t, "SectionsTensorList", NULL, "sections");
    if (pdm_tr_num_in(t, "AxisTensor")) {
        axis = pdm_tr_in(t, "AxisTensor");
    } else {
        int64_t given = pdm_tr_int(t, "axis");
        int rank = pdm_tr_rank(x);
        plan.axis = (int)(given < 0 ? given + rank : given);
        if (plan.axis >= rank)
            plan.axis = -1;
        axis = pdm_tr_const_i(t, PDM_I32, given);
    }
    if (t->failed || !x)
        return;
    pdm_ir_type type = pieces_type(t, x, &plan);
    pdm_ir_op *op =
        plan.num > 0
            ? pdm_tr_emit_typed(t, "pd_op.split_with_num", PDM_TR_OPS(x, axis),
                                PDM_TR_ATTRS({"num", pdm_tr_a_i32(t, plan.num), 0}), &type, 1)
            : pdm_tr_emit_typed(t, "pd_op.split", PDM_TR_OPS(x, sections, axis), PDM_TR_NO_ATTRS,
                                &type, 1);
    bind_pieces(t, pdm_tr_result(op, 0));
}

/* ---- set_value ------------------------------------------------------------------------------- */

/* Op version 4 keeps the values as scalars, older ones in a list by element type. */
static const pdm_lg_attr *set_value_list(pdm_tr_op *t)
{
    static const char *const lists[] = {"bool_values", "int32_values", "int64_values",
                                        "fp32_values", "fp64_values",  "fp16_values"};
    const pdm_lg_attr *scalars = pdm_lg_find_attr(t->op, "values");
    bool newer = pdm_lg_op_version_of(t->tr->program, "set_value") >= 4;
    if (newer && scalars && scalars->count)
        return scalars;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const pdm_lg_attr *a = pdm_lg_find_attr(t->op, lists[i]);
        if (a && a->count)
            return a;
    }
    return scalars;
}

static pdm_ir_value *steps_operand(pdm_tr_op *t, size_t num_axes)
{
    size_t n = 0;
    const int64_t *steps = pdm_tr_ints(t, "steps", &n);
    if (pdm_tr_num_in(t, "StepsTensorList") || !steps || n || !num_axes)
        return pdm_tr_int_operand(t, "StepsTensorList", NULL, "steps");
    const int64_t ones[PDM_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    return pdm_tr_const_ints(t, ones, num_axes < PDM_MAX_RANK ? num_axes : PDM_MAX_RANK);
}

void pdm_tr_h_set_value(pdm_tr_op *t)
{
    static const char *const lists[] = {"axes", "decrease_axes", "none_axes", "shape"};
    pdm_ir_named_attr attrs[5];
    size_t num_axes = 0;
    pdm_ir_value *x = pdm_tr_in(t, "Input");
    pdm_ir_value *value = pdm_tr_in_opt(t, "ValueTensor");
    pdm_ir_value *starts = pdm_tr_int_operand(t, "StartsTensorList", NULL, "starts");
    backward b = {.at_least_0 = false};
    pdm_ir_value *ends = x && read_backward(t, "steps", "StepsTensorList", NULL, &b)
                             ? backward_ends(t, x, &b)
                             : pdm_tr_int_operand(t, "EndsTensorList", NULL, "ends");
    for (size_t i = 0; i < 4; i++) {
        size_t n = 0;
        const int64_t *v = pdm_tr_ints(t, lists[i], &n);
        if (i == 0)
            num_axes = n;
        attrs[i] = (pdm_ir_named_attr){lists[i], v ? pdm_tr_a_i64s(t, v, n) : NULL, 0};
    }
    pdm_ir_value *steps = steps_operand(t, num_axes);
    if (t->failed || !x)
        return;
    if (value) {
        pdm_tr_out(t, "Out",
                   pdm_tr_emit1(t, "pd_op.set_value_with_tensor",
                                PDM_TR_OPS(x, value, starts, ends, steps), attrs, 3));
        return;
    }
    const pdm_lg_attr *list = set_value_list(t);
    if (!list) {
        pdm_tr_error(t, PDM_D_LG_MISSING_ATTR, "values", NULL, "'set_value' has no values");
        return;
    }
    attrs[4] = (pdm_ir_named_attr){"values", pdm_tr_a_list(t, list), 0};
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.set_value", PDM_TR_OPS(x, starts, ends, steps), attrs, 5));
}

/* ---- lookups --------------------------------------------------------------------------------- */

/* Without the attribute the axis is an int64 constant. */
void pdm_tr_h_gather(pdm_tr_op *t)
{
    if (pdm_tr_num_in(t, "Axis") || pdm_tr_has_attr(t, "axis")) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *index = pdm_tr_in(t, "Index"), *x = pdm_tr_in(t, "X");
    pdm_ir_value *axis = pdm_tr_const_i(t, PDM_I64, 0);
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.gather", PDM_TR_OPS(x, index, axis), PDM_TR_NO_ATTRS));
}

/* The older op has ids with a last dim of 1, which the result does not show. */
void pdm_tr_h_lookup_table(pdm_tr_op *t)
{
    pdm_tr_generic(t);
    pdm_ir_value *out = pdm_tr_bound(t, "Out");
    if (out)
        pdm_tr_out(t, "Out", pdm_tr_squeeze(t, out, (const int64_t[]){-2}, 1));
}

static pdm_ir_value *lenient_one_hot(pdm_tr_op *t, pdm_dtype dtype)
{
    pdm_ir_value *ids = pdm_tr_in(t, "X");
    pdm_ir_value *depth = pdm_tr_in_opt(t, "depth_tensor");
    if (!depth)
        depth = pdm_tr_const_i(t, PDM_I64, pdm_tr_int(t, "depth"));
    if (!ids || !depth)
        return NULL;
    pdm_dtype counter = pdm_tr_dtype_of(depth);
    pdm_ir_value *zero = pdm_tr_const_i(t, counter, 0), *one = pdm_tr_const_i(t, counter, 1);
    pdm_ir_value *classes = pdm_tr_emit1(
        t, "pd_op.arange", PDM_TR_OPS(zero, depth, one),
        PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, counter), 0}, {"place", pdm_tr_a_place(t, 0), 0}));
    classes = pdm_tr_cast(t, classes, pdm_tr_dtype_of(ids));
    ids = pdm_tr_unsqueeze(t, ids, (const int64_t[]){-1}, 1);
    return pdm_tr_cast(t, pdm_tr_binary(t, "pd_op.equal", ids, classes), dtype);
}

/* pd_op.one_hot makes float32 and refuses ids out of range. */
void pdm_tr_h_one_hot_v2(pdm_tr_op *t)
{
    pdm_dtype dtype = pdm_tr_dtype(t, "dtype");
    if (dtype == PDM_UNDEFINED)
        dtype = PDM_F32;
    if (pdm_tr_bool_or(t, "allow_out_of_range", false)) {
        pdm_tr_out(t, "Out", lenient_one_hot(t, dtype));
        return;
    }
    pdm_tr_generic(t);
    pdm_ir_value *out = pdm_tr_bound(t, "Out");
    if (out && dtype != pdm_tr_dtype_of(out))
        pdm_tr_out(t, "Out", pdm_tr_cast(t, out, dtype));
}

void pdm_tr_h_repeat_interleave(pdm_tr_op *t)
{
    if (!pdm_tr_num_in(t, "RepeatsTensor")) {
        pdm_tr_generic(t);
        return;
    }
    pdm_ir_value *repeats = pdm_tr_in(t, "RepeatsTensor"), *x = pdm_tr_in(t, "X");
    int64_t axis = pdm_tr_int(t, "dim"), size = pdm_tr_int_or(t, "output_size", -1);
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, "pd_op.repeat_interleave_with_tensor_index", PDM_TR_OPS(x, repeats),
                            PDM_TR_ATTRS({"axis", pdm_tr_a_i32(t, axis), 0},
                                         {"output_size", pdm_tr_a_i64(t, size), 0})));
}

void pdm_tr_h_tril_triu(pdm_tr_op *t)
{
    const char *name = pdm_tr_bool(t, "lower") ? "pd_op.tril" : "pd_op.triu";
    pdm_ir_value *x = pdm_tr_in(t, "X");
    int64_t diagonal = pdm_tr_int(t, "diagonal");
    pdm_tr_out(t, "Out",
               pdm_tr_emit_form(t, name, PDM_TR_OPS(x),
                                PDM_TR_ATTRS({"diagonal", pdm_tr_a_i32(t, diagonal), 0})));
}

/* ---- unique ---------------------------------------------------------------------------------- */

static int64_t product_of_dims(const pdm_ir_meta *meta)
{
    int64_t p = meta->rank < 0 ? -1 : 1;
    for (int i = 0; i < meta->rank; i++)
        if (meta->dims[i] < 0 || __builtin_mul_overflow(p, meta->dims[i], &p))
            return -1;
    return p;
}

static pdm_ir_value *argsort(pdm_tr_op *t, pdm_ir_value *x)
{
    pdm_ir_op *op = pdm_tr_emit(t, "pd_op.argsort", PDM_TR_OPS(x), PDM_TR_NO_ATTRS);
    return pdm_tr_result(op, 1);
}

/*
 * The unsorted form keeps the order of first occurrence, which pd_op.unique cannot do: the sorted
 * values are put in the order of their first indices, and the inverse follows.
 */
static void unsorted_unique(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    pdm_dtype index_dtype = pdm_tr_dtype(t, "dtype");
    pdm_ir_meta meta;
    pdm_tr_meta(x, &meta);
    if (t->failed || !x)
        return;
    bool count = pdm_tr_has_out(t, "Counts");
    int64_t size = product_of_dims(&meta);
    pdm_ir_type types[4] = {pdm_tr_tensor_type(t, meta.dtype, (const int64_t[]){-1}, 1),
                            pdm_tr_tensor_type(t, PDM_I64, (const int64_t[]){-1}, 1),
                            pdm_tr_tensor_type(t, PDM_I64, &size, 1),
                            count ? pdm_tr_tensor_type(t, PDM_I64, (const int64_t[]){-1}, 1)
                                  : NULL};
    pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.unique", PDM_TR_OPS(x),
                                      PDM_TR_ATTRS({"return_index", pdm_tr_a_bool(t, true), 0},
                                                   {"return_inverse", pdm_tr_a_bool(t, true), 0},
                                                   {"return_counts", pdm_tr_a_bool(t, count), 0},
                                                   {"axis", pdm_tr_a_i32s(t, NULL, 0), 0},
                                                   {"dtype", pdm_tr_a_dtype(t, PDM_I64), 0},
                                                   {"is_sorted", pdm_tr_a_bool(t, true), 0}),
                                      types, 4);
    pdm_ir_value *first = pdm_tr_result(op, 1);
    pdm_ir_value *order = argsort(t, first), *place = argsort(t, order);
    pdm_tr_out(t, "Out", pdm_tr_take(t, pdm_tr_result(op, 0), order));
    if (pdm_tr_has_out(t, "Index"))
        pdm_tr_out(t, "Index",
                   pdm_tr_cast(t, pdm_tr_take(t, place, pdm_tr_result(op, 2)), index_dtype));
    if (pdm_tr_has_out(t, "Indices"))
        pdm_tr_out(t, "Indices", pdm_tr_cast(t, pdm_tr_take(t, first, order), index_dtype));
    if (count)
        pdm_tr_out(t, "Counts",
                   pdm_tr_cast(t, pdm_tr_take(t, pdm_tr_result(op, 3), order), index_dtype));
}

void pdm_tr_h_unique(pdm_tr_op *t)
{
    if (pdm_tr_bool_or(t, "is_sorted", false))
        pdm_tr_generic(t);
    else
        unsorted_unique(t);
}

/* ---- LoD ------------------------------------------------------------------------------------- */

/*
 * pd_op.lod_reset reads the new offsets from y but insists on the attribute as well, and needs y
 * even where the attribute has them.
 */
void pdm_tr_h_lod_reset(pdm_tr_op *t)
{
    size_t n = 0;
    const int64_t *offsets = pdm_tr_ints(t, "target_lod", &n);
    bool append = pdm_tr_bool_or(t, "append", false);
    pdm_ir_value *x = pdm_tr_in(t, "X"), *y = pdm_tr_in_opt(t, "Y");
    const int64_t any[] = {0};
    const int64_t dims[] = {(int64_t)n};
    if (t->failed || !offsets || !x)
        return;
    if (!y && n == 0) {
        pdm_tr_error(t, PDM_D_LG_MISSING_ATTR, "target_lod", NULL, "'lod_reset' has no offsets");
        return;
    }
    if (!y) {
        pdm_ir_type type = pdm_tr_tensor_type(t, PDM_I32, dims, 1);
        pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.assign_value", PDM_TR_NO_OPS,
                                          PDM_TR_ATTRS({"shape", pdm_tr_a_i32s(t, dims, 1), 0},
                                                       {"dtype", pdm_tr_a_dtype(t, PDM_I32), 0},
                                                       {"values", pdm_tr_a_i32s(t, offsets, n), 0},
                                                       {"place", pdm_tr_a_place(t, 1), 0}),
                                          &type, 1);
        y = pdm_tr_result(op, 0);
    } else if (n == 0) {
        offsets = any;
        n = 1;
    }
    pdm_ir_type type = x->type;
    pdm_ir_op *op = pdm_tr_emit_typed(t, "pd_op.lod_reset", PDM_TR_OPS(x, y),
                                      PDM_TR_ATTRS({"target_lod", pdm_tr_a_i32s(t, offsets, n), 0},
                                                   {"append", pdm_tr_a_bool(t, append), 0}),
                                      &type, 1);
    pdm_tr_out(t, "Out", pdm_tr_result(op, 0));
}
