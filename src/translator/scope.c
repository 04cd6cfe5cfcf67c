/* Names, values and scopes; inputs and outputs of the op being translated. */
#include <string.h>

#include "translator/io.h"

void pdm_tr_nomem(pdm_tr *tr)
{
    if (tr->status == PDM_OK)
        tr->status = PDM_NOMEM;
}

void pdm_tr_scope_push(pdm_tr *tr, pdm_tr_scope *scope, pdm_ir_block *block, int32_t lg_block,
                       bool is_loop)
{
    pdm_map_init(&scope->names);
    scope->parent = tr->scope;
    scope->block = block;
    scope->lg_block = lg_block;
    scope->is_loop = is_loop;
    tr->scope = scope;
}

void pdm_tr_scope_pop(pdm_tr *tr)
{
    pdm_tr_scope *scope = tr->scope;
    tr->scope = scope->parent;
    pdm_map_deinit(&scope->names);
}

static pdm_tr_binding *find_binding(const pdm_tr *tr, const char *name, pdm_tr_scope **out_scope)
{
    for (pdm_tr_scope *s = tr->scope; s; s = s->parent) {
        pdm_map_entry *e = pdm_map_find(&s->names, name);
        if (e) {
            if (out_scope)
                *out_scope = s;
            return e->value.ptr;
        }
    }
    return NULL;
}

static void bind(pdm_tr *tr, const char *name, pdm_tr_binding what);

bool pdm_tr_has_value(const pdm_tr *tr, const char *name)
{
    const pdm_tr_binding *b = find_binding(tr, name, NULL);
    return b && (b->value || b->vector);
}

void pdm_tr_hide(pdm_tr *tr, const char *name)
{
    bind(tr, name, (pdm_tr_binding){NULL, NULL, 0});
}

static void bind(pdm_tr *tr, const char *name, pdm_tr_binding what)
{
    pdm_tr_binding *b = pdm_arena_memdup(&tr->scratch, &what, sizeof what);
    pdm_map_entry *e = b ? pdm_map_put(&tr->scope->names, name) : NULL;
    if (!e) {
        pdm_tr_nomem(tr);
        return;
    }
    e->value.ptr = b;
}

void pdm_tr_bind(pdm_tr *tr, const char *name, pdm_ir_value *value)
{
    if (value)
        bind(tr, name, (pdm_tr_binding){.value = value});
}

void pdm_tr_bind_element(pdm_tr *tr, const char *name, pdm_ir_value *vector, uint32_t index)
{
    if (vector)
        bind(tr, name, (pdm_tr_binding){.vector = vector, .index = index});
}

static void add_link(pdm_tr *tr, pdm_tr_link link)
{
    if (tr->options->links && link.value && !PDM_VEC_PUSH(tr->options->links, link))
        pdm_tr_nomem(tr);
}

void pdm_tr_link_value(const pdm_tr_op *t, const char *name, pdm_ir_value *value, int32_t element)
{
    add_link(t->tr, (pdm_tr_link){t->block, t->index, name, value, element});
}

void pdm_tr_link_entry(pdm_tr *tr, int32_t block, const char *name, pdm_ir_value *value)
{
    add_link(tr, (pdm_tr_link){block, -1, name, value, -1});
}

size_t pdm_tr_num_links(const pdm_tr *tr)
{
    return tr->options->links ? tr->options->links->n : 0;
}

void pdm_tr_cut_links(const pdm_tr *tr, size_t count)
{
    if (tr->options->links && tr->options->links->n > count)
        tr->options->links->n = count;
}

void pdm_tr_unlink(const pdm_tr *tr, const pdm_ir_op *op)
{
    pdm_tr_links *links = tr->options->links;
    size_t kept = 0;

    for (size_t i = 0; links && i < links->n; i++)
        if (pdm_ir_value_op(links->v[i].value) != op)
            links->v[kept++] = links->v[i];
    if (links)
        links->n = kept;
}

pdm_ir_value *pdm_tr_value(pdm_tr *tr, const char *name)
{
    pdm_tr_scope *scope = NULL, *inner = tr->scope;
    pdm_tr_binding *b = find_binding(tr, name, &scope);
    if (!b)
        return pdm_tr_io_undefined(tr, name);
    if (b->value)
        return b->value;
    if (!b->vector)
        return NULL;
    /*
     * The slice stands before its first user; when that is in a region, before the region's owner:
     * the framework's interpreter cannot take apart a vector of an enclosing block.
     */
    tr->scope = scope;
    pdm_tr_op t = {.tr = tr, .block = scope->lg_block, .index = -1};
    pdm_ir_value *element = pdm_tr_element(&t, b->vector, b->index);
    pdm_tr_bind(tr, name, element);
    tr->scope = inner;
    return element;
}

const pdm_lg_var *pdm_tr_var(const pdm_tr *tr, const char *name)
{
    return pdm_lg_lookup_var(tr->program, tr->scope ? tr->scope->lg_block : 0, name, NULL);
}

size_t pdm_tr_declared_dims(const pdm_lg_var *var, int64_t dims[PDM_MAX_RANK])
{
    size_t rank = var->rank < PDM_MAX_RANK ? var->rank : PDM_MAX_RANK;
    /* Products of unknown dims were saved as they came out: anything below 0 is unknown. */
    for (size_t i = 0; i < rank; i++)
        dims[i] = var->dims[i] < 0 ? -1 : var->dims[i];
    return rank;
}

pdm_ir_type pdm_tr_declared_type(pdm_tr *tr, const pdm_lg_var *var)
{
    pdm_ir_type type = NULL;
    int64_t dims[PDM_MAX_RANK];
    if (!var || var->dtype == PDM_UNDEFINED)
        return NULL;
    size_t rank = pdm_tr_declared_dims(var, dims);
    switch (var->kind) {
    case PDM_LG_DENSE_TENSOR:
        type = pdm_ir_type_tensor(tr->context, var->dtype, dims, rank);
        break;
    case PDM_LG_TENSOR_ARRAY:
        type = pdm_ir_type_array(tr->context, var->dtype, dims, rank, "NCHW");
        break;
    case PDM_LG_SELECTED_ROWS:
        type = pdm_ir_type_intern(tr->context, &(struct pdm_ir_type_s){.kind = PDM_IR_SELECTED_ROWS,
                                                                       .dtype = var->dtype,
                                                                       .rank = (uint32_t)rank,
                                                                       .dims = dims,
                                                                       .layout = "NCHW"});
        break;
    default:
        return NULL;
    }
    if (!type)
        pdm_tr_nomem(tr);
    return type;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

size_t pdm_tr_slot_size(const pdm_lg_slot *slot)
{
    if (!slot)
        return 0;
    const size_t n = slot->num_args;
    /* A lone @EMPTY@ is the old way to leave a slot out. */
    return n == 1 && pdm_tr_is_empty_name(slot->args[0]) ? 0 : n;
}

size_t pdm_tr_num_in(const pdm_tr_op *t, const char *slot)
{
    return pdm_tr_slot_size(pdm_lg_find_input(t->op, slot));
}

pdm_ir_value *pdm_tr_argument(pdm_tr_op *t, const pdm_lg_slot *slot, size_t index)
{
    if (t->failed || t->tr->status != PDM_OK)
        return NULL;
    const char *name = slot->args[index];
    pdm_ir_value *value = pdm_tr_value(t->tr, name);
    if (!value && pdm_tr_io_refused(t->tr, pdm_tr_var(t->tr, name)))
        t->failed = true;
    else if (!value && t->tr->status == PDM_OK)
        pdm_tr_error(t, PDM_D_LG_UNDEFINED, name, "feed it, or let an op write it first",
                     "input %s of '%s' reads '%s' before anything wrote it", slot->name,
                     t->op->type, name);
    return value;
}

pdm_ir_value *pdm_tr_in_at(pdm_tr_op *t, const char *slot, size_t index)
{
    if (t->failed || t->tr->status != PDM_OK)
        return NULL;
    const pdm_lg_slot *s = pdm_lg_find_input(t->op, slot);
    if (index >= pdm_tr_slot_size(s)) {
        pdm_tr_error(t, PDM_D_LG_MISSING_INPUT, slot, NULL, "op '%s' lacks its input %s",
                     t->op->type, slot);
        return NULL;
    }
    return pdm_tr_argument(t, s, index);
}

pdm_ir_value *pdm_tr_in(pdm_tr_op *t, const char *slot)
{
    return pdm_tr_in_at(t, slot, 0);
}

pdm_ir_value *pdm_tr_in_opt(pdm_tr_op *t, const char *slot)
{
    return pdm_tr_num_in(t, slot) ? pdm_tr_in(t, slot) : NULL;
}

pdm_ir_value *pdm_tr_in_combined(pdm_tr_op *t, const char *slot)
{
    size_t n = pdm_tr_num_in(t, slot);
    if (n == 0)
        return pdm_tr_in(t, slot); /* reports */
    pdm_ir_value *first = pdm_tr_in(t, slot);
    if (n == 1 && first && first->type && first->type->kind == PDM_IR_TENSOR_ARRAY)
        return first;
    pdm_ir_value **values = pdm_arena_calloc(&t->tr->scratch, n, sizeof *values);
    if (!values) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        values[i] = pdm_tr_in_at(t, slot, i);
    return pdm_tr_combine(t, values, n);
}

/* ---- outputs --------------------------------------------------------------------------------- */

size_t pdm_tr_num_out(const pdm_tr_op *t, const char *slot)
{
    const pdm_lg_slot *s = pdm_lg_find_output(t->op, slot);
    return s ? s->num_args : 0;
}

static const char *output_name(const pdm_tr_op *t, const char *slot, size_t index)
{
    const pdm_lg_slot *s = pdm_lg_find_output(t->op, slot);
    if (!s || index >= s->num_args || pdm_tr_is_empty_name(s->args[index]))
        return NULL;
    return s->args[index];
}

const char *pdm_tr_out_name(const pdm_tr_op *t, const char *slot)
{
    return output_name(t, slot, 0);
}

bool pdm_tr_has_out(const pdm_tr_op *t, const char *slot)
{
    return output_name(t, slot, 0) != NULL;
}

void pdm_tr_out(pdm_tr_op *t, const char *slot, pdm_ir_value *value)
{
    pdm_tr_out_at(t, slot, 0, value);
}

/* Whether an operand is known to have another shape than declared: then results are declared wrongly, too. */
static bool operands_lie(const pdm_tr_op *t)
{
    for (size_t i = 0; i < t->op->num_inputs; i++) {
        const pdm_lg_slot *slot = &t->op->inputs[i];
        for (size_t j = 0; j < slot->num_args; j++) {
            const pdm_tr_binding *b = find_binding(t->tr, slot->args[j], NULL);
            const pdm_lg_var *var = pdm_tr_var(t->tr, slot->args[j]);
            const pdm_ir_type type = b && b->value ? b->value->type : NULL;
            if (!var || !var->has_tensor || !pdm_ir_type_is_tensor(type) || type->rank != var->rank)
                continue;
            for (uint32_t d = 0; d < type->rank; d++) {
                if (type->dims[d] < 0 && var->dims[d] >= 0)
                    return true;
            }
        }
    }
    return false;
}

/*
 * Fill what inference left open from the declaration. Where both know a dim and differ, the
 * inferred one is right: VarDescs are left over from graph construction and lie (translator.md,
 * "types lie").
 */
static pdm_ir_type complete_type(pdm_tr_op *t, pdm_ir_type type, const pdm_lg_var *var)
{
    pdm_tr *tr = t->tr;
    if (!pdm_ir_type_is_tensor(type) || !var || var->kind != PDM_LG_DENSE_TENSOR ||
        !var->has_tensor)
        return type;
    if (type->dtype != var->dtype && var->dtype != PDM_UNDEFINED && tr->sink && tr->sink->verbose) {
        pdm_loc loc = {tr->program->path, -1, -1, -1, t->block, t->index, t->op->type, var->name};
        pdm_diag(tr->sink, PDM_D_LG_TYPE_DIFFERS, &loc, NULL, "'%s' is declared %s but is %s",
                 var->name, pdm_dtype_name(var->dtype), pdm_dtype_name(type->dtype));
    }
    if (type->rank != var->rank)
        return type;
    int64_t dims[PDM_MAX_RANK];
    bool changed = false;
    if (type->rank > PDM_MAX_RANK)
        return type;
    for (uint32_t i = 0; i < type->rank; i++) {
        dims[i] = type->dims[i];
        if (dims[i] < 0 && var->dims[i] >= 0) {
            dims[i] = var->dims[i];
            changed = true;
        }
    }
    if (!changed || operands_lie(t))
        return type;
    pdm_ir_type full = pdm_ir_type_tensor(tr->context, type->dtype, dims, type->rank);
    if (!full)
        pdm_tr_nomem(tr);
    return full ? full : type;
}

void pdm_tr_out_at(pdm_tr_op *t, const char *slot, size_t index, pdm_ir_value *value)
{
    const char *name = output_name(t, slot, index);
    if (name)
        pdm_tr_out_name_is(t, name, value);
}

void pdm_tr_out_name_is(pdm_tr_op *t, const char *name, pdm_ir_value *value)
{
    pdm_tr *tr = t->tr;
    if (t->failed || !value || tr->status != PDM_OK)
        return;
    const pdm_lg_var *var = pdm_tr_var(tr, name);
    pdm_ir_op *def = pdm_ir_value_op(value);
    /* Only fresh results: an alias of an earlier value keeps that value's type. */
    if (def && def->lg_op == t->index && def->lg_block == t->block)
        value->type = complete_type(t, value->type, var);
    pdm_tr_bind(tr, name, value);
    pdm_tr_link_value(t, name, value, -1);
    if (!tr->scope->parent && var) {
        pdm_map_entry *e = pdm_map_put(&tr->outputs, value);
        if (e)
            e->value.ptr = (void *)(uintptr_t)var;
        else
            pdm_tr_nomem(tr);
    }
}

void pdm_tr_out_element(pdm_tr_op *t, const char *name, pdm_ir_value *vector, uint32_t index)
{
    if (!vector || pdm_tr_is_empty_name(name))
        return;
    pdm_tr_bind_element(t->tr, name, vector, index);
    pdm_tr_link_value(t, name, vector, (int32_t)index);
}
