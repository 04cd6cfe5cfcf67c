/* What a model tells about itself. The tables are filled once; the accessors only read them. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- tables: legacy -------------------------------------------------------------------------- */

/* A feed or fetch op, or the like, and its column. */
typedef struct column {
    int64_t col;
    pdm_tensor_info info;
} column;

typedef PDM_VEC(column) column_list;

static int by_column(const void *a, const void *b)
{
    const column *x = a, *y = b;

    return (x->col > y->col) - (x->col < y->col);
}

static pdm_tensor_info var_info(const pdm_lg_var *var, const char *name)
{
    if (!var)
        return (pdm_tensor_info){.name = name, .dtype = pdm_dtype_name(PDM_UNDEFINED)};
    return (pdm_tensor_info){
        .name = name, .dtype = pdm_dtype_name(var->dtype), .dims = var->dims, .rank = var->rank};
}

/* The only argument of a feed's output or a fetch's input. */
static const char *only_arg(const pdm_lg_slot *slot)
{
    return slot && slot->num_args == 1 ? slot->args[0] : NULL;
}

static pdm_status add(column_list *list, int64_t col, pdm_tensor_info info)
{
    return PDM_VEC_PUSH(list, ((column){col, info})) ? PDM_OK : PDM_NOMEM;
}

static pdm_status legacy_columns(const pdm_lg_program *program, column_list *in, column_list *out)
{
    const pdm_lg_block *block = &program->blocks[0];

    for (size_t i = 0; i < block->num_ops; i++) {
        const pdm_lg_op *op = &block->ops[i];
        const bool feed = !strcmp(op->type, "feed");
        if (!feed && strcmp(op->type, "fetch") != 0 && strcmp(op->type, "fetch_v2") != 0)
            continue;
        const char *name =
            only_arg(feed ? pdm_lg_find_output(op, "Out") : pdm_lg_find_input(op, "X"));
        const pdm_lg_attr *col = pdm_lg_find_attr(op, "col");
        if (name)
            PDM_TRY(add(feed ? in : out, col && col->type == PDM_LG_INT ? col->u.i : 0,
                        var_info(pdm_lg_block_var(block, name), name)));
    }
    /* Without feed ops, variables that ask to be fed are the inputs, in the order declared. */
    if (in->n > 0)
        return PDM_OK;
    for (size_t i = 0; i < block->num_vars; i++) {
        const pdm_lg_var *var = &block->vars[i];
        if (var->need_check_feed && !pdm_lg_var_is_param(var))
            PDM_TRY(add(in, (int64_t)i, var_info(var, var->name)));
    }
    return PDM_OK;
}

/* ---- tables: PIR ----------------------------------------------------------------------------- */

static pdm_tensor_info type_info(pdm_ir_type type, const char *name)
{
    if (!type)
        return (pdm_tensor_info){.name = name, .dtype = pdm_dtype_name(PDM_UNDEFINED)};
    return (pdm_tensor_info){
        .name = name, .dtype = pdm_dtype_name(type->dtype), .dims = type->dims, .rank = type->rank};
}

static const char *string_attr(const pdm_ir_op *op, const char *name)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : "";
}

static int64_t int_attr(const pdm_ir_op *op, const char *name, int64_t fallback)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64) ? attr->u.i
                                                                                    : fallback;
}

static pdm_status pir_columns(const pdm_ir_module *module, column_list *in, column_list *out)
{
    for (const pdm_ir_op *op = module->block->first; op; op = op->next) {
        if ((PDM_IR_IS(op, pd_op, data) || PDM_IR_IS(op, pd_op, feed)) && op->num_results)
            /* Inputs are ordered by position, also for those who call by position. */
            PDM_TRY(add(in, (int64_t)in->n,
                        type_info(pdm_ir_op_result(op, 0)->type, string_attr(op, "name"))));
        if (PDM_IR_IS(op, pd_op, fetch) && op->num_operands) {
            const pdm_ir_value *value = pdm_ir_op_operand_value(op, 0);
            PDM_TRY(add(out, int_attr(op, "col", (int64_t)out->n),
                        type_info(value ? value->type : NULL, string_attr(op, "name"))));
        }
    }
    return PDM_OK;
}

/* ---- tables: both ---------------------------------------------------------------------------- */

static pdm_status keep(pdm_arena *arena, column_list *list, pdm_api_tensors *out)
{
    out->items = pdm_arena_calloc(arena, list->n, sizeof *out->items);
    if (!out->items)
        return PDM_NOMEM;
    if (list->n > 1)
        qsort(list->v, list->n, sizeof *list->v, by_column);
    for (size_t i = 0; i < list->n; i++)
        out->items[i] = list->v[i].info;
    out->count = list->n;
    return PDM_OK;
}

static int by_info_name(const void *a, const void *b)
{
    return strcmp(((const pdm_tensor_info *)a)->name, ((const pdm_tensor_info *)b)->name);
}

/* Parameters as the program declares them. */
static pdm_status declared_params(pdm_model *model, pdm_api_tensors *out)
{
    if (model->kind == PDM_MODEL_PIR) {
        const pdm_api_module_param_list *list;
        PDM_TRY(pdm_api_module_params(model, &list));
        out->count = list->count;
        out->items = pdm_arena_calloc(&model->arena, out->count + 1, sizeof *out->items);
        for (size_t i = 0; out->items && i < out->count; i++) {
            const pdm_ir_op *op = list->ops[i];
            out->items[i] = type_info(op->num_results ? pdm_ir_op_result(op, 0)->type : NULL,
                                      list->names[i]);
        }
        return out->items ? PDM_OK : PDM_NOMEM;
    }
    const pdm_lg_block *block = &model->legacy->blocks[0];
    out->items = pdm_arena_calloc(&model->arena, block->num_vars + 1, sizeof *out->items);
    if (!out->items)
        return PDM_NOMEM;
    for (size_t i = 0; i < block->num_vars; i++) {
        if (pdm_lg_var_is_param(&block->vars[i]))
            out->items[out->count++] = var_info(&block->vars[i], block->vars[i].name);
    }
    qsort(out->items, out->count, sizeof *out->items, by_info_name);
    return PDM_OK;
}

/* Where a parameter has data, the file knows best. */
static void add_file_facts(const pdm_params *params, pdm_api_tensors *infos)
{
    size_t at = 0;

    for (size_t i = 0; i < infos->count; i++) {
        const pdm_param *p = pdm_params_next(params, infos->items[i].name, &at);
        if (!p)
            continue;
        infos->items[i].data_bytes = p->data_size;
        if (p->kind == PDM_PARAM_VOCAB)
            continue;
        infos->items[i].dtype = pdm_dtype_name(p->dtype);
        infos->items[i].dims = p->dims;
        infos->items[i].rank = p->rank;
    }
}

static bool owns(const pdm_lg_program *program, int32_t block, int32_t sub)
{
    return sub > 0 && (size_t)sub < program->num_blocks && program->blocks[sub].parent == block;
}

static pdm_status mark_owned(pdm_model *model)
{
    const pdm_lg_program *program = model->legacy;
    bool *owned = pdm_arena_calloc(&model->arena, program->num_blocks, sizeof *owned);

    if (!owned)
        return PDM_NOMEM;
    for (size_t b = 0; b < program->num_blocks; b++) {
        for (size_t i = 0; i < program->blocks[b].num_ops; i++) {
            const int32_t sub = pdm_lg_sub_block(&program->blocks[b].ops[i]);
            if (owns(program, (int32_t)b, sub))
                owned[sub] = true;
        }
    }
    model->block_owned = owned;
    return PDM_OK;
}

pdm_status pdm_api_model_index(pdm_model *model)
{
    column_list in = {0}, out = {0};
    pdm_status status;

    if (model->kind == PDM_MODEL_LEGACY)
        status = legacy_columns(model->legacy, &in, &out);
    else
        status = pir_columns(model->pir, &in, &out);
    if (status == PDM_OK)
        status = keep(&model->arena, &in, &model->inputs);
    if (status == PDM_OK)
        status = keep(&model->arena, &out, &model->outputs);
    if (status == PDM_OK)
        status = declared_params(model, &model->param_infos);
    if (status == PDM_OK)
        add_file_facts(&model->params, &model->param_infos);
    PDM_VEC_FREE(&in);
    PDM_VEC_FREE(&out);
    if (status == PDM_OK && model->kind == PDM_MODEL_LEGACY)
        status = mark_owned(model);
    return status;
}

/* ---- accessors ------------------------------------------------------------------------------- */

pdm_model_kind pdm_model_get_kind(const pdm_model *model)
{
    return model->kind;
}

const char *pdm_model_path(const pdm_model *model)
{
    return model->path;
}

const char *pdm_model_params_path(const pdm_model *model)
{
    return model->params_path;
}

int64_t pdm_model_version(const pdm_model *model)
{
    return model->kind == PDM_MODEL_LEGACY ? model->legacy->version : model->pir->version;
}

size_t pdm_model_num_inputs(const pdm_model *model)
{
    return model->inputs.count;
}

size_t pdm_model_num_outputs(const pdm_model *model)
{
    return model->outputs.count;
}

size_t pdm_model_num_params(const pdm_model *model)
{
    return model->param_infos.count;
}

static pdm_status info_at(const pdm_api_tensors *tensors, size_t index, pdm_tensor_info *out_info)
{
    if (index >= tensors->count || !out_info)
        return PDM_INVALID_ARG;
    *out_info = tensors->items[index];
    return PDM_OK;
}

pdm_status pdm_model_input(const pdm_model *model, size_t index, pdm_tensor_info *out_info)
{
    return info_at(&model->inputs, index, out_info);
}

pdm_status pdm_model_output(const pdm_model *model, size_t index, pdm_tensor_info *out_info)
{
    return info_at(&model->outputs, index, out_info);
}

pdm_status pdm_model_param(const pdm_model *model, size_t index, pdm_tensor_info *out_info)
{
    return info_at(&model->param_infos, index, out_info);
}

/* ---- walking --------------------------------------------------------------------------------- */

static pdm_status count_blocks(void *user, pdm_ir_op *op)
{
    size_t *count = user;

    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (const pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
            ++*count;
    }
    return PDM_OK;
}

size_t pdm_model_num_blocks(const pdm_model *model)
{
    size_t count = 0;

    if (model->kind == PDM_MODEL_LEGACY)
        return model->legacy->num_blocks;
    return pdm_ir_walk(model->pir->op, PDM_IR_PRE_ORDER, count_blocks, &count) == PDM_OK ? count
                                                                                         : 0;
}

typedef struct op_visit {
    void (*fn)(void *user, const char *type, int depth);
    void *user;
    const pdm_ir_op *top;
} op_visit;

static pdm_status visit_op(void *user, pdm_ir_op *op)
{
    const op_visit *visit = user;
    int depth = -1;

    if (op == visit->top)
        return PDM_OK;
    for (const pdm_ir_op *p = op; p && p != visit->top; p = pdm_ir_op_parent(p))
        depth++;
    visit->fn(visit->user, pdm_ir_op_name(op), depth);
    return PDM_OK;
}

/* The reader made sure that sub-blocks form a tree of bounded depth. */
static void visit_block(const pdm_lg_program *program, int32_t index, int depth,
                        const op_visit *visit)
{
    const pdm_lg_block *block = &program->blocks[index];

    for (size_t i = 0; i < block->num_ops; i++) {
        const pdm_lg_op *op = &block->ops[i];
        visit->fn(visit->user, op->type, depth);
        const int32_t sub = pdm_lg_sub_block(op);
        if (owns(program, index, sub))
            visit_block(program, sub, depth + 1, visit);
    }
}

void pdm_model_each_op(const pdm_model *model, void (*fn)(void *user, const char *type, int depth),
                       void *user)
{
    op_visit visit = {.fn = fn, .user = user};

    if (model->kind == PDM_MODEL_PIR) {
        visit.top = model->pir->op;
        /* visit_op never fails. */
        (void)!pdm_ir_walk(model->pir->op, PDM_IR_PRE_ORDER, visit_op, &visit);
        return;
    }
    visit_block(model->legacy, 0, 0, &visit);
    /* Blocks that no op owns are part of the program too. */
    for (size_t b = 1; b < model->legacy->num_blocks; b++) {
        if (!model->block_owned[b])
            visit_block(model->legacy, (int32_t)b, 0, &visit);
    }
}

static void count_op(void *user, const char *type, int depth)
{
    (void)type;
    (void)depth;
    ++*(size_t *)user;
}

size_t pdm_model_num_ops(const pdm_model *model)
{
    size_t count = 0;

    pdm_model_each_op(model, count_op, &count);
    return count;
}
