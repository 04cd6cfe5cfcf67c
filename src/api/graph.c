/* The graph of a legacy model after build_cinn_pass, its main program and subgraphs as models. */
#include "legacy_graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/vec.h"
#include "legacy_graph/cinn_dot.h"
#include "legacy_graph/cinn_extract.h"
#include "legacy_graph/cinn_mem_opt.h"
#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/names.h"
#include "translator/translate.h"

struct pdm_graph {
    pdm_context *context;
    pdm_lg_graph *main;
    int64_t *keys; /* held in the table of the process */
    size_t num_keys;
    pdm_arena arena;
    pdm_subgraph_info *infos;
    size_t num_ops_before;
    /* What the translation says of variables of block 0: name (interned in the model's program) ->
     * pdm_tensor without data; NULL: they have several types. */
    pdm_map types;
    bool have_types;
};

static size_t count_ops(const pdm_lg_graph *graph)
{
    size_t n = 0;

    for (size_t i = 0; i < graph->nodes.n; i++)
        n += graph->nodes.v[i] && graph->nodes.v[i]->kind == PDM_LG_NODE_OP;
    return n;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Outputs of the model are there after a launch, and what the caller names. */
static pdm_status set_skip_gc(const pdm_model *model, const pdm_graph_options *options,
                              pdm_lg_graph *graph)
{
    pdm_lg_names *names;
    pdm_status status;

    PDM_TRY(pdm_lg_names_create(&names));
    status = PDM_OK;
    for (size_t i = 0; i < model->outputs.count && status == PDM_OK; i++)
        status = pdm_lg_names_add(names, model->outputs.items[i].name);
    for (size_t i = 0; i < options->num_skip_gc && status == PDM_OK; i++)
        status = pdm_lg_names_add(names, options->skip_gc[i]);
    if (status == PDM_OK)
        return pdm_lg_graph_set(graph, PDM_LG_SKIP_GC_VARS, names, &pdm_lg_names_value);
    pdm_lg_names_destroy(names);
    return status;
}

/* ---- names that change nothing --------------------------------------------------------------- */

/* No error: a list may serve many models. */
static pdm_status warn(const pdm_model *model, pdm_diag_sink *sink, const char *before,
                       const char *name, const char *after)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = model->path;
    return pdm_diag(sink, PDM_D_NOT_THERE, &loc, NULL, "%s'%s'%s", before, name, after);
}

static pdm_status check_skip_gc(const pdm_model *model, const pdm_graph_options *options,
                                pdm_diag_sink *sink)
{
    const pdm_lg_program *program = model->legacy;

    if (options->num_skip_gc > 0 && !options->skip_gc)
        return PDM_INVALID_ARG;
    for (size_t i = 0; i < options->num_skip_gc; i++) {
        const char *name = options->skip_gc[i];
        const char *there = pdm_intern_find(&program->strings, name, strlen(name));
        if (!there || !pdm_lg_block_var(&program->blocks[0], there))
            PDM_TRY(warn(model, sink, "there is no variable ", name, " to keep"));
    }
    return PDM_OK;
}

static bool has_type(const pdm_lg_program *program, const char *type)
{
    const char *there = pdm_intern_find(&program->strings, type, strlen(type));

    for (size_t i = 0; there && i < program->num_blocks; i++) {
        for (size_t k = 0; k < program->blocks[i].num_ops; k++) {
            if (program->blocks[i].ops[k].type == there)
                return true;
        }
    }
    return false;
}

static pdm_status check_types(const pdm_model *model, const char *list, bool allow,
                              pdm_diag_sink *sink)
{
    pdm_lg_names *types;
    pdm_status status;

    PDM_TRY(pdm_lg_names_create(&types));
    status = pdm_lg_names_add_list(types, list, ';');
    for (size_t i = 0; i < types->n && status == PDM_OK; i++) {
        if (!has_type(model->legacy, types->v[i]))
            status = warn(model, sink, "no op is of the type ", types->v[i],
                          allow ? " that is allowed" : " that is denied");
        else if (allow && !pdm_lg_has_mapper(types->v[i]))
            status = warn(model, sink, "no subgraph can have ops of the type ", types->v[i],
                          ": the compiler does not lower them");
    }
    pdm_lg_names_destroy(types);
    return status;
}

static pdm_status check_names(const pdm_model *model, const pdm_graph_options *options,
                              pdm_diag_sink *sink)
{
    PDM_TRY(check_skip_gc(model, options, sink));
    PDM_TRY(check_types(model, options->allow, true, sink));
    if (options->allow && *options->allow)
        return PDM_OK; /* the deny list does not count */
    return check_types(model, options->deny, false, sink);
}

/* ---- description ----------------------------------------------------------------------------- */

static const char *const *copy_list(pdm_arena *arena, const pdm_lg_graph *subgraph, const char *attr,
                                    size_t *out_count)
{
    const pdm_lg_names *names = pdm_lg_graph_get(subgraph, attr);

    /* The texts are the subgraph's, which the key holds. */
    *out_count = names->n;
    return pdm_arena_memdup(arena, names->v, names->n * sizeof *names->v);
}

static pdm_status list_ops(pdm_graph *graph, const pdm_lg_graph *subgraph, pdm_subgraph_info *info)
{
    pdm_lg_nodes order;
    pdm_status status = pdm_lg_graph_order(subgraph, NULL, NULL, &order);
    const char **types = pdm_arena_calloc(&graph->arena, order.n, sizeof *types);

    if (status == PDM_OK && !types)
        status = PDM_NOMEM;
    for (size_t i = 0; i < order.n && status == PDM_OK; i++) {
        const char *type = order.v[i]->name;
        if (strcmp(type, "feed") != 0 && strcmp(type, "fetch") != 0)
            types[info->num_ops++] = type;
    }
    PDM_VEC_FREE(&order);
    info->ops = types;
    return status;
}

static pdm_status describe(pdm_graph *graph, size_t index)
{
    const pdm_lg_graph *sub;
    pdm_subgraph_info *info = &graph->infos[index];

    PDM_TRY(pdm_lg_cinn_table_get(pdm_lg_cinn_table_shared(), graph->keys[index], NULL, &sub));
    info->key = graph->keys[index];
    info->num_nodes = sub->num_nodes;
    info->inputs = copy_list(&graph->arena, sub, PDM_LG_CINN_INPUT_VARS, &info->num_inputs);
    info->shape_inputs =
        copy_list(&graph->arena, sub, PDM_LG_CINN_NO_NEED_BUFFER, &info->num_shape_inputs);
    info->internals = copy_list(&graph->arena, sub, PDM_LG_CINN_INTERNAL_VARS, &info->num_internals);
    info->outputs = copy_list(&graph->arena, sub, PDM_LG_CINN_OUTPUT_VARS, &info->num_outputs);
    if (!info->inputs || !info->shape_inputs || !info->internals || !info->outputs)
        return PDM_NOMEM;
    return list_ops(graph, sub, info);
}

static pdm_status build(const pdm_model *model, const pdm_graph_options *options, pdm_graph *graph,
                        pdm_diag_sink *sink)
{
    const pdm_lg_cinn_options pass = {.allow = options->allow,
                                      .deny = options->deny,
                                      .inference_stage = !options->keep_unread,
                                      .allow_inplace = options->allow_inplace};

    PDM_TRY(check_names(model, options, sink));
    PDM_TRY(pdm_lg_graph_from_program(model->legacy, sink, &graph->main));
    graph->num_ops_before = count_ops(graph->main);
    PDM_TRY(set_skip_gc(model, options, graph->main));
    PDM_TRY(pdm_lg_build_cinn(graph->main, &pass, sink, &graph->keys, &graph->num_keys));
    PDM_TRY(pdm_lg_mem_opt_find(graph->main));
    PDM_TRY(pdm_lg_cinn_share_mem_opt(graph->main, pdm_lg_cinn_table_shared(), sink, graph->keys, graph->num_keys));
    graph->infos = pdm_arena_calloc(&graph->arena, graph->num_keys, sizeof *graph->infos);
    if (!graph->infos)
        return PDM_NOMEM;
    for (size_t i = 0; i < graph->num_keys; i++)
        PDM_TRY(describe(graph, i));
    return PDM_OK;
}

pdm_status pdm_graph_create(const pdm_model *model, const pdm_graph_options *options,
                            pdm_graph **out_graph)
{
    pdm_graph_options given = {0};

    if (!model || !out_graph)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    pdm_diag_sink sink = pdm_api_sink(model->context);
    if (model->kind != PDM_MODEL_LEGACY) {
        pdm_loc loc = PDM_NOWHERE;
        loc.file = model->path;
        return pdm_diag(&sink, PDM_D_USAGE, &loc, NULL,
                        "the old pipeline worked on legacy programs, and this one is PIR");
    }
    pdm_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return PDM_NOMEM;
    graph->context = model->context;
    pdm_arena_init(&graph->arena);
    const pdm_status status = build(model, &given, graph, &sink);
    if (status != PDM_OK) {
        pdm_graph_destroy(graph);
        return status;
    }
    *out_graph = graph;
    return PDM_OK;
}

void pdm_graph_destroy(pdm_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->num_keys; i++)
        pdm_lg_cinn_table_release(pdm_lg_cinn_table_shared(), graph->keys[i]);
    free(graph->keys);
    pdm_map_deinit(&graph->types);
    pdm_lg_graph_destroy(graph->main);
    pdm_arena_deinit(&graph->arena);
    free(graph);
}

/* ---- asking ---------------------------------------------------------------------------------- */

size_t pdm_graph_num_subgraphs(const pdm_graph *graph)
{
    return graph->num_keys;
}

size_t pdm_graph_num_nodes(const pdm_graph *graph)
{
    return graph->main->num_nodes;
}

size_t pdm_graph_num_ops_before(const pdm_graph *graph)
{
    return graph->num_ops_before;
}

pdm_status pdm_graph_subgraph(const pdm_graph *graph, size_t index, pdm_subgraph_info *out_info)
{
    if (!graph || index >= graph->num_keys || !out_info)
        return PDM_INVALID_ARG;
    *out_info = graph->infos[index];
    return PDM_OK;
}

pdm_status pdm_graph_dot(const pdm_graph *graph, char **out_text)
{
    pdm_buf buf;

    if (!graph || !out_text)
        return PDM_INVALID_ARG;
    pdm_buf_init(&buf);
    const pdm_status status = pdm_lg_cinn_dot(graph->main, pdm_lg_cinn_table_shared(), graph->keys,
                                              graph->num_keys, &buf);
    char *text = pdm_buf_take(&buf);
    if (status != PDM_OK || !text) {
        free(text);
        return status != PDM_OK ? status : PDM_NOMEM;
    }
    *out_text = text;
    return PDM_OK;
}

/* ---- models ---------------------------------------------------------------------------------- */

static bool declares_param(const pdm_lg_program *program, const char *name)
{
    const char *there = pdm_intern_find(&program->strings, name, strlen(name));

    for (size_t i = 0; there && i < program->num_blocks; i++) {
        const pdm_lg_var *var = pdm_lg_block_var(&program->blocks[i], there);
        if (var && pdm_lg_var_is_param(var))
            return true;
    }
    return false;
}

/* Of the parameters that were found, those that the program has. */
static pdm_status take_params(const pdm_model *from, pdm_model *to)
{
    const char **names = pdm_arena_calloc(&to->arena, from->params.count, sizeof *names);
    size_t n = 0;

    if (!names)
        return PDM_NOMEM;
    for (size_t i = 0; i < from->params.count; i++) {
        const char *name = from->params.items[i].name;
        if (declares_param(to->legacy, name))
            names[n++] = name;
    }
    PDM_TRY(pdm_api_params_subset(&from->params, NULL, names, n, &to->params));
    to->has_params = from->has_params;
    if (n == 0 || !from->params_path)
        return PDM_OK;
    to->params_path = pdm_arena_strndup(&to->arena, from->params_path, strlen(from->params_path));
    return to->params_path ? PDM_OK : PDM_NOMEM;
}

/* The program is taken, also when the call fails. */
static pdm_status make_model(const pdm_model *from, pdm_lg_program *program, pdm_model **out_model)
{
    pdm_model *to = pdm_api_model_create(from->context, PDM_MODEL_LEGACY, from->path);

    if (!to) {
        pdm_lg_program_destroy(program);
        return PDM_NOMEM;
    }
    to->legacy = program;
    pdm_status status = take_params(from, to);
    if (status == PDM_OK)
        status = pdm_api_model_index(to);
    if (status != PDM_OK) {
        pdm_model_destroy(to);
        return status;
    }
    *out_model = to;
    return PDM_OK;
}

static pdm_status hold_keys(const pdm_graph *graph, pdm_model *model, pdm_diag_sink *sink)
{
    model->launch_keys =
        pdm_arena_memdup(&model->arena, graph->keys, graph->num_keys * sizeof *graph->keys);
    if (!model->launch_keys)
        return PDM_NOMEM;
    for (size_t i = 0; i < graph->num_keys; i++) {
        PDM_TRY(pdm_lg_cinn_table_hold(pdm_lg_cinn_table_shared(), graph->keys[i], sink));
        model->num_launch_keys++;
    }
    return PDM_OK;
}

static bool fits(const pdm_graph *graph, const pdm_model *model)
{
    return graph && model && model->kind == PDM_MODEL_LEGACY && model->context == graph->context;
}

pdm_status pdm_graph_model(const pdm_graph *graph, const pdm_model *model, pdm_model **out_model)
{
    pdm_lg_program *program;
    pdm_model *made;

    if (!fits(graph, model) || !out_model)
        return PDM_INVALID_ARG;
    pdm_diag_sink sink = pdm_api_sink(graph->context);
    PDM_TRY(pdm_lg_graph_to_program(graph->main, &sink, &program));
    PDM_TRY(make_model(model, program, &made));
    const pdm_status status = hold_keys(graph, made, &sink);
    if (status != PDM_OK) {
        pdm_model_destroy(made);
        return status;
    }
    *out_model = made;
    return PDM_OK;
}

/* ---- types of variables ---------------------------------------------------------------------- */

/* A rank of 0 is also what shape inference gives where it does not know better. */
static void set_dims(const pdm_lg_program *program, const pdm_tr_link *link, pdm_tensor *type)
{
    const pdm_ir_type inferred = link->value->type;
    const pdm_lg_var *var = pdm_lg_block_var(&program->blocks[0], link->var);
    const bool declared =
        inferred->rank == 0 && var && var->has_tensor && var->rank <= PDM_MAX_RANK;

    type->rank = (int32_t)(declared ? var->rank : inferred->rank);
    memcpy(type->dims, declared ? var->dims : inferred->dims,
           (size_t)type->rank * sizeof *type->dims);
}

static pdm_status note_type(pdm_graph *graph, const pdm_lg_program *program,
                            const pdm_tr_link *link)
{
    const pdm_ir_type type = link->value ? link->value->type : NULL;
    pdm_map_entry *entry;

    if (link->block != 0 || link->element >= 0 || !type || type->kind != PDM_IR_DENSE_TENSOR ||
        type->dtype == PDM_UNDEFINED || type->rank > PDM_MAX_RANK)
        return PDM_OK;
    const bool known = pdm_map_find(&graph->types, link->var) != NULL;
    entry = pdm_map_put(&graph->types, link->var);
    if (!entry)
        return PDM_NOMEM;
    pdm_tensor *made = pdm_arena_calloc(&graph->arena, 1, sizeof *made);
    if (!made)
        return PDM_NOMEM;
    made->dtype = type->dtype;
    set_dims(program, link, made);
    if (!known) {
        entry->value.ptr = made;
        return PDM_OK;
    }
    const pdm_tensor *other = entry->value.ptr;
    if (other && (other->dtype != made->dtype || other->rank != made->rank ||
                  memcmp(other->dims, made->dims, (size_t)made->rank * sizeof *made->dims) != 0))
        entry->value.ptr = NULL;
    return PDM_OK;
}

/* Declarations of old programs are wrong in places, and inputs are to be what really comes. Without a
 * translation they are believed. */
static pdm_status find_types(pdm_graph *graph, const pdm_model *model)
{
    pdm_tr_links links = {0};
    const pdm_tr_options options = {.allow_legacy = true,
                                    .links = &links,
                                    .params = model->has_params ? &model->params : NULL};
    pdm_ir_module *module = NULL;
    pdm_status status;

    if (graph->have_types)
        return PDM_OK;
    status = pdm_tr_translate(model->context->ir, model->context->schemas, model->legacy, &options,
                              NULL, &module);
    if (status == PDM_NOMEM) {
        PDM_VEC_FREE(&links);
        return status;
    }
    status = PDM_OK;
    for (size_t i = 0; module && i < links.n && status == PDM_OK; i++)
        status = note_type(graph, model->legacy, &links.v[i]);
    PDM_VEC_FREE(&links);
    pdm_ir_module_destroy(module);
    graph->have_types = status == PDM_OK;
    return status;
}

/* Who asks for types. */
typedef struct asker {
    const pdm_graph *graph;
    const pdm_lg_program *program;
} asker;

static const pdm_tensor *type_of(void *user, const char *name, size_t position)
{
    const asker *a = user;
    const char *there = pdm_intern_find(&a->program->strings, name, strlen(name));
    const pdm_map_entry *entry = there ? pdm_map_find(&a->graph->types, there) : NULL;

    (void)position;
    return entry ? entry->value.ptr : NULL;
}

pdm_status pdm_graph_extract(pdm_graph *graph, const pdm_model *model, size_t index,
                             pdm_model **out_model)
{
    const pdm_lg_graph *subgraph;
    pdm_lg_program *program;

    if (!fits(graph, model) || index >= graph->num_keys || !out_model)
        return PDM_INVALID_ARG;
    asker a = {graph, model->legacy};
    const pdm_lg_extract_options how = {.type_of = type_of, .user = &a};
    pdm_diag_sink sink = pdm_api_sink(graph->context);
    PDM_TRY(find_types(graph, model));
    PDM_TRY(pdm_lg_cinn_table_get(pdm_lg_cinn_table_shared(), graph->keys[index], &sink, &subgraph));
    PDM_TRY(pdm_lg_cinn_extract(subgraph, &how, &sink, &program));
    return make_model(model, program, out_model);
}
