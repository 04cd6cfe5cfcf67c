#include "exec/lower/lower_impl.h"

#include "cinn/group.h"
#include "exec/kernel.h"
#include "ir/pass.h"

/* ---- values ---------------------------------------------------------------------------------- */

bool pdm_lower_is_pinned(const pdm_lower *l, const pdm_ir_value *value)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);

    return pdm_map_find(&l->pinned, value) != NULL ||
           (l->params_change && op && pdm_ir_op_is(op, "builtin.parameter"));
}

void pdm_lower_pin(pdm_lower *l, const pdm_ir_value *value)
{
    if (value)
        pdm_lower_remember(l, &l->pinned, value, value);
}

static bool all_constant(pdm_lower *l, const pdm_ir_op *op, int depth);

static bool is_constant(pdm_lower *l, const pdm_ir_value *value, int depth)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);
    const pdm_map_entry *known = pdm_map_find(&l->constants, value);

    if (known)
        return known->value.num == 1;
    if (!op || depth == 0 || pdm_lower_is_pinned(l, value))
        return false;
    const bool constant = pdm_ir_op_is(op, "builtin.parameter") || all_constant(l, op, depth - 1);
    pdm_map_entry *entry = pdm_map_put(&l->constants, value);
    if (!entry)
        l->status = PDM_NOMEM;
    else
        entry->value.num = constant ? 1 : 2;
    return constant;
}

static bool all_constant(pdm_lower *l, const pdm_ir_op *op, int depth)
{
    const pdm_ir_op_desc *desc = op->info->desc;
    const bool input = pdm_ir_op_is(op, "pd_op.data") || pdm_ir_op_is(op, "pd_op.feed");

    if (!desc || input || op->num_regions > 0 ||
        (desc->flags & (PDM_IR_PURE | PDM_IR_RANDOM)) != PDM_IR_PURE)
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (value && !is_constant(l, value, depth))
            return false;
    }
    return true;
}

bool pdm_lower_is_constant(pdm_lower *l, const pdm_ir_value *value)
{
    enum { DEPTH = 64 };

    return is_constant(l, value, DEPTH);
}

bool pdm_lower_attr_number(pdm_ir_attr attr, double *out)
{
    const bool scalar = attr->kind == PDM_IR_ATTR_SCALAR;

    if (attr->kind == PDM_IR_ATTR_F32 || attr->kind == PDM_IR_ATTR_F64 ||
        (scalar && pdm_dtype_is_float(attr->dtype)))
        *out = attr->u.f;
    else if (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64 ||
             (scalar && pdm_dtype_is_int(attr->dtype)))
        *out = (double)attr->u.i;
    else
        return false;
    return true;
}

bool pdm_lower_number(const pdm_ir_value *value, double *out)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    pdm_ir_attr attr = op && pdm_ir_op_is(op, "pd_op.full") ? pdm_ir_op_attr(op, "value") : NULL;

    return attr && pdm_lower_attr_number(attr, out);
}

bool pdm_lower_is_f32(const pdm_ir_value *value)
{
    return value && pdm_ir_type_is_tensor(value->type) && value->type->dtype == PDM_F32;
}

/* ---- ops ------------------------------------------------------------------------------------- */

bool pdm_lower_remember(pdm_lower *l, pdm_map *map, const void *key, const void *value)
{
    pdm_map_entry *entry = pdm_map_put(map, key);

    if (!entry) {
        l->status = PDM_NOMEM;
        return false;
    }
    entry->value.num = (uint64_t)(uintptr_t)value;
    return true;
}

void *pdm_lower_recall(const pdm_map *map, const void *key)
{
    const pdm_map_entry *entry = pdm_map_find(map, key);

    return entry ? (void *)(uintptr_t)entry->value.num : NULL;
}

pdm_ir_op *pdm_lower_make(pdm_lower *l, pdm_ir_op *before, const pdm_ir_op *like, const char *name,
                          pdm_ir_value *const *operands, size_t num_operands, pdm_ir_type type,
                          const pdm_lower_attr *attrs)
{
    pdm_ir_named_attr named[PDM_LOWER_MAX_ATTRS];
    pdm_ir_op_state state = {.info = pdm_ir_op_info_get(l->context, name, NULL),
                             .operands = operands,
                             .num_operands = num_operands,
                             .result_types = &type,
                             .num_results = 1,
                             .attrs = named};

    for (; attrs && attrs->name; attrs++) {
        if (attrs->attr && state.num_attrs < PDM_LOWER_MAX_ATTRS) {
            named[state.num_attrs] = (pdm_ir_named_attr){attrs->name, attrs->attr, 0};
            named[state.num_attrs].position = (uint32_t)state.num_attrs;
            state.num_attrs++;
        }
    }
    pdm_ir_op *op = state.info && type && l->status == PDM_OK ? pdm_ir_op_create(l->context, &state)
                                                              : NULL;
    if (!op) {
        l->status = PDM_NOMEM;
        return NULL;
    }
    op->lg_block = like->lg_block;
    op->lg_op = like->lg_op;
    pdm_ir_op_insert_before(op, before);
    return op;
}

pdm_ir_value *pdm_lower_full(pdm_lower *l, pdm_ir_op *before, pdm_dtype dtype, double number)
{
    const int64_t one = 1;
    const pdm_lower_attr attrs[] = {{"shape", pdm_ir_attr_int_array(l->context, &one, 1)},
                                    {"value", pdm_ir_attr_f64(l->context, number)},
                                    {"dtype", pdm_ir_attr_dtype(l->context, dtype)},
                                    {"place", pdm_ir_attr_place(l->context, 1, 0, "")},
                                    {0}};
    const pdm_ir_op *op = pdm_lower_make(l, before, before, "pd_op.full", NULL, 0,
                                         pdm_ir_type_tensor(l->context, dtype, &one, 1), attrs);

    return op ? pdm_ir_op_result(op, 0) : NULL;
}

void pdm_lower_kill(pdm_lower *l, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++)
        pdm_ir_use_set(pdm_ir_op_operand(op, i), NULL);
    if (!PDM_VEC_PUSH(&l->dead, op))
        l->status = PDM_NOMEM;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_needed(const pdm_ir_op *op)
{
    const pdm_ir_op_desc *desc = op->info->desc;

    if (!desc || !(desc->flags & PDM_IR_PURE) || op->num_results == 0 || op->num_regions > 0 ||
        pdm_ir_op_is(op, "pd_op.data") || pdm_ir_op_is(op, "pd_op.feed"))
        return true;
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return true;
    }
    return false;
}

static void sweep(pdm_ir_block *block)
{
    for (pdm_ir_op *op = block->last, *prev; op; op = prev) {
        prev = op->prev;
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                sweep(b);
        }
        if (!is_needed(op))
            pdm_ir_op_erase(op);
    }
}

/* Between steps: what nobody needs goes, and with it what is known by address. */
static void clean(pdm_lower *l)
{
    for (size_t i = 0; i < l->dead.n; i++)
        pdm_ir_op_erase(l->dead.v[i]);
    l->dead.n = 0;
    pdm_map_clear(&l->constants);
    pdm_map_clear(&l->twins);
    pdm_map_clear(&l->last);
}

static pdm_status look_for_writes(void *user, pdm_ir_op *op)
{
    pdm_lower *l = user;

    if (pdm_ir_op_is(op, "builtin.set_parameter"))
        l->params_change = true;
    return PDM_OK;
}

/* What is written in place now that everything else is out of the way. */
static pdm_status pin_written(void *user, pdm_ir_op *op)
{
    pdm_lower *l = user;

    if (!op->info->desc || !(op->info->desc->flags & PDM_IR_INPLACE))
        return PDM_OK;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const int r = pdm_ir_inplace_result(pdm_ir_op_name(op), (int)i);
        if (r < 0 || (uint32_t)r >= op->num_results)
            continue;
        pdm_lower_pin(l, pdm_ir_op_operand_value(op, i));
        pdm_lower_pin(l, pdm_ir_op_result(op, (size_t)r));
    }
    return PDM_OK;
}

/* What an inference program need not do, in-place ops that need not be, and what loops need not do again and again. */
static pdm_status simplify(pdm_ir_module *module, bool fast)
{
    pdm_ir_constants constants;

    pdm_ir_constants_init(&constants);
    const pdm_status status = pdm_ir_pass_run_list(
        module, fast ? "in-place,identity,hoist" : "in-place,identity", NULL, &constants, NULL);
    pdm_ir_constants_deinit(&constants);
    return status;
}

static pdm_status lower(pdm_lower *l)
{
    PDM_TRY(pdm_ir_walk(l->module->op, PDM_IR_PRE_ORDER, look_for_writes, l));
    PDM_TRY(simplify(l->module, l->options.fast));
    if (l->status == PDM_OK)
        PDM_TRY(pdm_ir_walk(l->module->op, PDM_IR_PRE_ORDER, pin_written, l));
    if (!l->options.fast) {
        if (l->options.group && l->status == PDM_OK)
            pdm_lower_norms(l, l->module->block);
        clean(l);
        return l->status;
    }
    if (l->status == PDM_OK)
        pdm_lower_fuse(l, l->module->block);
    /* Ops that were marked are alive, so their addresses hold. */
    clean(l);
    if (l->status == PDM_OK)
        pdm_lower_layout(l, l->module->block);
    clean(l);
    if (l->status == PDM_OK)
        sweep(l->module->block);
    return l->status;
}

static bool has_fast_kernel(const pdm_ir_op *op)
{
    return pdm_fast_find(pdm_ir_op_name(op)) != NULL;
}

pdm_status pdm_exec_lower(const pdm_ir_module *module, const pdm_exec_lower_options *options,
                          pdm_ir_module **out_module)
{
    pdm_lower l = {.context = module->context, .status = PDM_OK, .options = *options};
    const pdm_cinn_group_options group = {.single = options->single,
                                          .has_kernel = options->fast ? has_fast_kernel : NULL};

    PDM_TRY(pdm_ir_module_clone(module, &l.module));
    pdm_status status = lower(&l);
    if (status == PDM_OK && options->group)
        status = pdm_cinn_group_module(l.module, &group);
    pdm_map_deinit(&l.pinned);
    pdm_map_deinit(&l.constants);
    pdm_map_deinit(&l.last);
    pdm_map_deinit(&l.twins);
    pdm_map_deinit(&l.needs_last);
    PDM_VEC_FREE(&l.dead);
    if (status != PDM_OK) {
        pdm_ir_module_destroy(l.module);
        return status;
    }
    *out_module = l.module;
    return PDM_OK;
}
