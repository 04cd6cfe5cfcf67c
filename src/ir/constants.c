#include "ir/constants.h"

#include <stdio.h>
#include <string.h>

#include "ir/make.h"

enum { MAX_ELEMENTS = 64 };

void pdm_ir_constants_init(pdm_ir_constants *constants)
{
    *constants = (pdm_ir_constants){0};
}

void pdm_ir_constants_begin(pdm_ir_constants *constants, pdm_ir_module *module,
                            const pdm_ir_constant_source *source)
{
    constants->module = module;
    constants->source = source;

}

void pdm_ir_constants_end(pdm_ir_constants *constants)
{
    constants->source = NULL;

}

void pdm_ir_constants_deinit(pdm_ir_constants *constants)
{
    pdm_ir_constants_end(constants);
    for (size_t i = 0; i < constants->made.n; i++)
        pdm_tensor_deinit(&constants->made.v[i].tensor);
    PDM_VEC_FREE(&constants->made);
    pdm_map_deinit(&constants->names);
}

/* ---- what is known --------------------------------------------------------------------------- */

const char *pdm_ir_parameter_name(const pdm_ir_op *op)
{
    const pdm_ir_attr name =
        op && PDM_IR_IS(op, builtin, parameter) ? pdm_ir_op_attr(op, "parameter_name") : NULL;

    return name && name->kind == PDM_IR_ATTR_STR ? name->u.s.text : NULL;
}

const pdm_tensor *pdm_ir_constants_made(const pdm_ir_constants *constants, const char *name)
{
    const char *key = constants->made.n ? pdm_ir_str(constants->module->context, name) : NULL;
    const pdm_map_entry *entry = pdm_map_find(&constants->names, key);

    return entry && entry->value.num ? &constants->made.v[entry->value.num - 1].tensor : NULL;
}

/* Small enough to be computed without a thought. */
static bool is_leaf(const pdm_ir_op *op)
{
    enum { MAX_DIM = 1 << 16 };
    const pdm_ir_type type = op->num_results == 1 ? pdm_ir_op_result(op, 0)->type : NULL;
    int64_t count = 1;

    if (op->num_operands > 0 || !pdm_ir_is_pure(op) || !pdm_ir_type_is_tensor(type))
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0 || type->dims[i] > MAX_DIM)
            return false;
        count *= type->dims[i];
        if (count > MAX_DIM)
            return false;
    }
    return true;
}

bool pdm_ir_is_constant(const pdm_ir_constants *constants, const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;

    if (!op || !constants->source)
        return false;
    return PDM_IR_IS(op, builtin, parameter) ? pdm_ir_constant_bytes(constants, value) > 0
                                             : is_leaf(op);
}

uint64_t pdm_ir_constant_bytes(const pdm_ir_constants *constants, const pdm_ir_value *value)
{
    const char *name = pdm_ir_parameter_name(pdm_ir_value_op(value));
    const pdm_ir_constant_source *source = constants->source;
    const pdm_tensor *made = name ? pdm_ir_constants_made(constants, name) : NULL;

    if (made)
        return pdm_tensor_bytes(made);
    return name && source->parameter_bytes ? source->parameter_bytes(source->user, name) : 0;
}

static pdm_status read_parameter(const pdm_ir_constants *c, const char *name, pdm_tensor *out)
{
    const pdm_tensor *made = pdm_ir_constants_made(c, name);

    if (!made)
        return c->source->parameter(c->source->user, name, out);
    pdm_tensor_ref(out, made);
    return PDM_OK;
}

pdm_status pdm_ir_constant_get(pdm_ir_constants *constants, const pdm_ir_value *value,
                               pdm_tensor *out)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);
    const char *name = pdm_ir_parameter_name(op);

    pdm_tensor_init(out);
    if (!pdm_ir_is_constant(constants, value))
        return PDM_OK;
    if (name)
        return read_parameter(constants, name, out);
    return constants->source->compute(constants->source->user, op, NULL, NULL,
                                      (pdm_tensor *[]){out});
}

bool pdm_ir_const_number(const pdm_ir_value *value, double *out)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    const pdm_ir_attr attr =
        op && (PDM_IR_IS(op, pd_op, full) || PDM_IR_IS(op, pd_op, full_int_array))
            ? pdm_ir_op_attr(op, "value")
            : NULL;
    const pdm_ir_attr one = !attr || attr->kind != PDM_IR_ATTR_ARRAY ? attr
                            : attr->count == 1                      ? attr->u.items[0]
                                                                    : NULL;

    if (!one)
        return false;
    switch (one->kind) {
    case PDM_IR_ATTR_F32:
    case PDM_IR_ATTR_F64:
        *out = one->u.f;
        return true;
    case PDM_IR_ATTR_I32:
    case PDM_IR_ATTR_I64:
        *out = (double)one->u.i;
        return true;
    case PDM_IR_ATTR_BOOL:
        *out = one->u.b;
        return true;
    case PDM_IR_ATTR_SCALAR:
        *out = pdm_dtype_is_float(one->dtype) ? one->u.f : (double)one->u.i;
        return pdm_dtype_is_float(one->dtype) || pdm_dtype_is_int(one->dtype);
    default:
        return false;
    }
}

/* ---- new ones -------------------------------------------------------------------------------- */

static bool is_uniform(const pdm_tensor *t)
{
    const size_t size = pdm_dtype_size(t->dtype), bytes = pdm_tensor_bytes(t);
    const char *data = t->data;

    return bytes <= size || memcmp(data, data + size, bytes - size) == 0;
}

/* An attribute that has exactly the value of element i; NULL with PDM_OK: there is none. */
static pdm_ir_attr number_of(pdm_ir_context *context, const pdm_tensor *t, int64_t i)
{
    const int64_t exact = (int64_t)1 << 53;
    int64_t n = 0;

    switch (t->dtype) {
    case PDM_F32:
        return pdm_ir_attr_f64(context, (double)((const float *)t->data)[i]);
    case PDM_F64:
        return pdm_ir_attr_f64(context, ((const double *)t->data)[i]);
    case PDM_F16:
        return pdm_ir_attr_f64(context, (double)pdm_f16_to_float(((const uint16_t *)t->data)[i]));
    case PDM_BF16:
        return pdm_ir_attr_f64(context, (double)pdm_bf16_to_float(((const uint16_t *)t->data)[i]));
    case PDM_BOOL:
        return pdm_ir_attr_f64(context, ((const unsigned char *)t->data)[i] ? 1 : 0);
    case PDM_I32:
        n = ((const int32_t *)t->data)[i];
        break;
    case PDM_I64:
        n = ((const int64_t *)t->data)[i];
        break;
    default:
        return NULL;
    }
    /* The framework keeps a double; beyond what that holds an integer is taken, too. */
    return n > -exact && n < exact ? pdm_ir_attr_f64(context, (double)n)
                                   : pdm_ir_attr_i64(context, n);
}

static bool is_finite(pdm_ir_attr attr)
{
    return attr->kind != PDM_IR_ATTR_F64 || attr->u.f - attr->u.f == 0;
}

static pdm_ir_op *make_full(pdm_ir_op *before, const pdm_tensor *t, pdm_ir_type type,
                            pdm_status *status)
{
    pdm_ir_context *context = before->info->context;
    const bool on_cpu = pdm_tensor_count(t) == 1 || pdm_dtype_is_int(t->dtype);
    pdm_ir_attr number = pdm_tensor_count(t) > 0 ? number_of(context, t, 0) : NULL;

    if (!number || !is_finite(number))
        return NULL;
    const pdm_ir_make_attr attrs[] = {
        {"shape", pdm_ir_attr_int_array(context, t->dims, (size_t)t->rank)},
        {"value", number},
        {"dtype", pdm_ir_attr_dtype(context, t->dtype)},
        {"place", pdm_ir_attr_place(context, on_cpu ? 1 : 0, 0, "")},
        {0}};
    return pdm_ir_make(before, PDM_IR_OP_pd_op_full, NULL, 0, attrs, &type, 1, status);
}

static pdm_ir_op *make_ints(pdm_ir_op *before, const pdm_tensor *t, pdm_ir_type type,
                            pdm_status *status)
{
    pdm_ir_context *context = before->info->context;
    int64_t ints[MAX_ELEMENTS];
    const size_t count = (size_t)pdm_tensor_count(t);

    for (size_t i = 0; i < count; i++)
        ints[i] = t->dtype == PDM_I64 ? ((const int64_t *)t->data)[i]
                                      : ((const int32_t *)t->data)[i];
    const pdm_ir_make_attr attrs[] = {{"value", pdm_ir_attr_i64s(context, ints, count)},
                                      {"dtype", pdm_ir_attr_dtype(context, t->dtype)},
                                      {"place", pdm_ir_attr_place(context, 1, 0, "")},
                                      {0}};
    return pdm_ir_make(before, PDM_IR_OP_pd_op_full_int_array, NULL, 0, attrs, &type, 1, status);
}

static pdm_status enter_name(void *user, pdm_ir_op *op)
{
    pdm_ir_constants *c = user;
    const char *name = pdm_ir_parameter_name(op);
    const char *key = name ? pdm_ir_str(c->module->context, name) : NULL;

    return !name || (key && pdm_map_put(&c->names, key)) ? PDM_OK : PDM_NOMEM;
}

/* A name that no parameter of the module has. */
static const char *new_name(pdm_ir_constants *c, const char *after)
{
    const char *base = after && strlen(after) < 480 ? after : "constant", *name;
    char text[512];

    if (c->names.count == 0 &&
        pdm_ir_walk(c->module->op, PDM_IR_PRE_ORDER, enter_name, c) != PDM_OK)
        return NULL;
    for (unsigned n = 0;; n++) {
        if (n == 0)
            snprintf(text, sizeof text, "%s_folded", base);
        else
            snprintf(text, sizeof text, "%s_folded_%u", base, n);
        name = pdm_ir_str(c->module->context, text);
        if (!name || !pdm_map_find(&c->names, name))
            break;
    }
    return name && pdm_map_put(&c->names, name) ? name : NULL;
}

/* It stands at the beginning, as parameters do. */
static pdm_ir_value *make_parameter(pdm_ir_constants *c, const pdm_tensor *tensor, pdm_ir_type type,
                                    const char *after)
{
    pdm_ir_context *context = c->module->context;
    const char *name = new_name(c, after);
    const bool yes = true, no = false;
    const pdm_ir_attr on = pdm_ir_attr_bools(context, &yes, 1),
                      off = pdm_ir_attr_bools(context, &no, 1),
                      text = name ? pdm_ir_attr_str(context, name) : NULL;
    const pdm_ir_named_attr attrs[] = {
        {"is_distributed", off, 0}, {"is_parameter", on, 0},  {"need_clip", off, 0},
        {"parameter_name", text, 0}, {"persistable", on, 0}, {"stop_gradient", on, 0},
        {"trainable", on, 0}};
    const pdm_ir_op_state state = {
        .info = pdm_ir_op_info_by_code(context, PDM_IR_OP_builtin_parameter),
        .attrs = attrs,
        .num_attrs = sizeof attrs / sizeof *attrs,
        .attrs_form = PDM_IR_ATTRS_ROW_FIRST,
        .result_types = &type,
        .num_results = 1};
    pdm_ir_made_constant made = {.name = name};

    if (!on || !off || !text || !state.info || !PDM_VEC_RESERVE(&c->made, c->made.n + 1))
        return NULL;
    pdm_ir_op *op = pdm_ir_op_create(context, &state);
    if (!op)
        return NULL;
    pdm_ir_block_prepend(c->module->block, op);
    pdm_tensor_ref(&made.tensor, tensor);
    c->made.v[c->made.n++] = made;
    pdm_map_find(&c->names, name)->value.num = c->made.n;
    return pdm_ir_op_result(op, 0);
}

pdm_ir_value *pdm_ir_constant_make(pdm_ir_constants *constants, const pdm_tensor *tensor,
                                   pdm_ir_type type, pdm_ir_op *before, const char *after)
{
    pdm_status status = PDM_OK;
    pdm_ir_op *op = NULL;

    if (is_uniform(tensor))
        op = make_full(before, tensor, type, &status);
    else if (tensor->rank == 1 && pdm_tensor_count(tensor) <= MAX_ELEMENTS &&
             (tensor->dtype == PDM_I32 || tensor->dtype == PDM_I64))
        op = make_ints(before, tensor, type, &status);
    if (status != PDM_OK)
        return NULL;
    return op ? pdm_ir_op_result(op, 0) : make_parameter(constants, tensor, type, after);
}
