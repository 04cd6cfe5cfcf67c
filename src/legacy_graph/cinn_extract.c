#include "legacy_graph/cinn_extract.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/copy.h"

typedef struct extractor {
    const pdm_lg_graph *graph;
    const pdm_lg_extract_options *options;
    pdm_lg_program *program;
    pdm_lg_copier copier;
    pdm_map positions; /* name -> number + 1 */
    char renamed[32];
    pdm_map fed;            /* names that stand behind a feed -> its column, or IS_PARAM */
    const char *holders[2]; /* of feeds, of fetches */
    pdm_lg_var *vars;
    size_t num_vars;
    int32_t columns[2];
} extractor;

enum { FEED, FETCH };
#define IS_PARAM UINT64_MAX

/* ---- names ----------------------------------------------------------------------------------- */

static const char *by_position(void *user, const char *name)
{
    extractor *x = user;

    if (!strcmp(name, PDM_LG_EMPTY_VAR))
        return name;
    pdm_map_entry *entry = pdm_map_put(&x->positions, name);
    if (!entry)
        return NULL;
    if (entry->value.num == 0)
        entry->value.num = x->positions.count;
    snprintf(x->renamed, sizeof x->renamed, "v%llu", (unsigned long long)entry->value.num - 1);
    return x->renamed;
}

static const char *new_name(extractor *x, const char *name)
{
    return x->options->by_position ? by_position(x, name) : name;
}

/* ---- variables ------------------------------------------------------------------------------- */

static pdm_status add_var(extractor *x, const pdm_lg_var *var, pdm_lg_var **out)
{
    pdm_lg_block *block = &x->program->blocks[0];
    pdm_lg_var *to = &x->vars[x->num_vars];

    PDM_TRY(pdm_lg_copy_var(&x->copier, var, to));
    if (pdm_map_find(&block->var_index, to->name)) {
        *out = NULL; /* another definition of a name that is there */
        return PDM_OK;
    }
    pdm_map_entry *entry = pdm_map_put(&block->var_index, to->name);
    if (!entry)
        return PDM_NOMEM;
    entry->value.num = x->num_vars++;
    *out = to;
    return PDM_OK;
}

/* A name that no variable has: the one wanted, or the like. */
static pdm_status free_name(extractor *x, const char *wanted, const char **out)
{
    const pdm_map *known = &x->program->blocks[0].var_index;
    char text[64];

    snprintf(text, sizeof text, "%s", wanted);
    for (unsigned i = 0;; i++) {
        *out = pdm_intern_cstr(&x->program->strings, text);
        if (!*out || !pdm_map_find(known, *out))
            return *out ? PDM_OK : PDM_NOMEM;
        snprintf(text, sizeof text, "%s_%u", wanted, i);
    }
}

static void set_type(pdm_lg_var *var, const pdm_tensor *type, int64_t *dims)
{
    memcpy(dims, type->dims, (size_t)type->rank * sizeof *dims);
    var->dims = dims;
    var->rank = (size_t)type->rank;
    var->dtype = type->dtype;
    var->dtype_number = pdm_dtype_to_legacy(type->dtype);
    var->has_tensor = true;
}

/* Computed variables may have products with an unknown dimension; inputs say -1. */
static void unknown_dims(pdm_lg_var *var, int64_t *dims)
{
    for (size_t i = 0; i < var->rank; i++)
        dims[i] = var->dims[i] < -1 ? -1 : var->dims[i];
    var->dims = dims;
}

/* What comes from outside is an input or a parameter; what does not is neither. */
static pdm_status settle_var(extractor *x, const char *name, pdm_lg_var *var)
{
    const pdm_map_entry *entry = pdm_map_find(&x->fed, name);
    const bool param = entry && entry->value.num == IS_PARAM;

    if (!param)
        var->persistable = var->is_parameter = var->has_is_parameter = false;
    if (!entry || param)
        return PDM_OK;
    var->need_check_feed = var->has_need_check_feed = true;
    const pdm_tensor *type = x->options->type_of
                                 ? x->options->type_of(x->options->user, name, entry->value.num)
                                 : NULL;
    int64_t *dims = pdm_arena_calloc(&x->program->arena, PDM_MAX_RANK, sizeof *dims);
    if (!dims)
        return PDM_NOMEM;
    if (type)
        set_type(var, type, dims);
    else
        unknown_dims(var, dims);
    return PDM_OK;
}

static pdm_status add_vars(extractor *x)
{
    static const pdm_lg_var_kind kinds[] = {PDM_LG_FEED_MINIBATCH, PDM_LG_FETCH_LIST};
    static const char *const wanted[] = {"feed", "fetch"};
    pdm_lg_var *made;

    for (size_t i = 0; i < x->graph->nodes.n; i++) {
        const pdm_lg_node *node = x->graph->nodes.v[i];
        if (!node || !node->var)
            continue;
        PDM_TRY(add_var(x, node->var, &made));
        if (made)
            PDM_TRY(settle_var(x, node->name, made));
    }
    x->copier.rename = NULL; /* holders and slots are called as models call them */
    for (int i = 0; i < 2; i++) {
        PDM_TRY(free_name(x, wanted[i], &x->holders[i]));
        const pdm_lg_var holder = {.name = x->holders[i],
                                   .kind = kinds[i],
                                   .dtype_number = -1,
                                   .persistable = true};
        PDM_TRY(add_var(x, &holder, &made));
    }
    x->program->blocks[0].vars = x->vars;
    x->program->blocks[0].num_vars = x->num_vars;
    return PDM_OK;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static const char *port_var(const pdm_lg_node *op)
{
    const pdm_lg_nodes *vars = strcmp(op->name, "feed") == 0 ? &op->outputs : &op->inputs;

    return vars->v[0]->name;
}

static bool is_port(const pdm_lg_node *op, int *which)
{
    *which = !strcmp(op->name, "feed") ? FEED : FETCH;
    return *which == FEED || !strcmp(op->name, "fetch");
}

static pdm_status put_port(extractor *x, const pdm_lg_node *node, int which, pdm_lg_op *to)
{
    const char *var = new_name(x, port_var(node));
    const pdm_lg_slot in = {"X", which == FEED ? &x->holders[FEED] : &var, 1};
    const pdm_lg_slot out = {"Out", which == FEED ? &var : &x->holders[FETCH], 1};
    const pdm_lg_attr col = {.name = "col", .type = PDM_LG_INT, .u.i = x->columns[which]++};
    const pdm_lg_op op = {.type = node->name,
                          .inputs = &in,
                          .num_inputs = 1,
                          .outputs = &out,
                          .num_outputs = 1,
                          .attrs = &col,
                          .num_attrs = 1};

    return var ? pdm_lg_copy_op(&x->copier, &op, to) : PDM_NOMEM;
}

/* Where an op stood in somebody's source says nothing about what it does. */
static pdm_status strip(extractor *x, pdm_lg_op *op)
{
    pdm_lg_attr *attrs = pdm_arena_calloc(&x->program->arena, op->num_attrs, sizeof *attrs);
    size_t n = 0;

    if (!attrs)
        return PDM_NOMEM;
    for (size_t i = 0; i < op->num_attrs; i++) {
        if (strcmp(op->attrs[i].name, "op_callstack") != 0 &&
            strcmp(op->attrs[i].name, "op_namescope") != 0)
            attrs[n++] = op->attrs[i];
    }
    op->attrs = attrs;
    op->num_attrs = n;
    return PDM_OK;
}

static pdm_status put_op(extractor *x, const pdm_lg_node *node, const pdm_lg_copier *copier,
                         pdm_lg_op *to)
{
    const pdm_lg_op by_name = {.type = node->name};

    PDM_TRY(pdm_lg_copy_op(copier, node->op ? node->op : &by_name, to));
    return x->options->by_position ? strip(x, to) : PDM_OK;
}

static pdm_status put_ops(extractor *x, const pdm_lg_nodes *order)
{
    pdm_lg_block *block = &x->program->blocks[0];
    pdm_lg_op *ops = pdm_arena_calloc(&x->program->arena, order->n, sizeof *ops);
    pdm_lg_copier renaming = x->copier;
    size_t n = 0;

    if (!ops)
        return PDM_NOMEM;
    renaming.rename = x->options->by_position ? by_position : NULL;
    renaming.user = x;
    for (size_t i = 0; i < order->n; i++) {
        const pdm_lg_node *node = order->v[i];
        int which;
        if (!is_port(node, &which)) {
            PDM_TRY(put_op(x, node, &renaming, &ops[n++]));
            continue;
        }
        const pdm_map_entry *entry = which == FEED ? pdm_map_find(&x->fed, port_var(node)) : NULL;
        if (!entry || entry->value.num != IS_PARAM)
            PDM_TRY(put_port(x, node, which, &ops[n++]));
    }
    block->ops = ops;
    block->num_ops = n;
    return PDM_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pdm_status note_fed(extractor *x, const pdm_lg_nodes *order)
{
    uint64_t column = 0;

    for (size_t i = 0; i < order->n; i++) {
        const pdm_lg_node *feed = order->v[i];
        if (strcmp(feed->name, "feed") != 0 || feed->outputs.n == 0)
            continue;
        const pdm_lg_node *var = feed->outputs.v[0];
        pdm_map_entry *entry = pdm_map_put(&x->fed, var->name);
        if (!entry)
            return PDM_NOMEM;
        entry->value.num = !x->options->feed_params && var->var && pdm_lg_var_is_param(var->var)
                               ? IS_PARAM
                               : column++;
    }
    return PDM_OK;
}

static pdm_status extract(extractor *x, pdm_diag_sink *sink)
{
    const pdm_lg_graph *graph = x->graph;
    const pdm_lg_program versions = {.version = graph->version,
                                     .has_version = graph->has_version,
                                     .has_op_versions = graph->has_op_versions,
                                     .op_versions = graph->op_versions,
                                     .num_op_versions = graph->num_op_versions};
    pdm_lg_nodes order;
    pdm_status status;

    PDM_TRY(pdm_lg_copy_versions(&x->copier, &versions, x->program));
    x->program->blocks = pdm_arena_calloc(&x->program->arena, 1, sizeof *x->program->blocks);
    x->vars = pdm_arena_calloc(&x->program->arena, graph->num_nodes + 3, sizeof *x->vars);
    if (!x->program->blocks || !x->vars)
        return PDM_NOMEM;
    x->program->num_blocks = 1;
    x->program->blocks[0].parent = x->program->blocks[0].forward_idx = -1;
    PDM_TRY_GOTO(pdm_lg_graph_order(graph, NULL, sink, &order));
    PDM_TRY_GOTO(note_fed(x, &order));
    PDM_TRY_GOTO(add_vars(x));
    status = put_ops(x, &order);
done:
    PDM_VEC_FREE(&order);
    return status;
}

pdm_status pdm_lg_cinn_extract(const pdm_lg_graph *subgraph, const pdm_lg_extract_options *options,
                               pdm_diag_sink *sink, pdm_lg_program **out_program)
{
    static const pdm_lg_extract_options defaults = {.feed_params = false};
    extractor x = {.graph = subgraph, .options = options ? options : &defaults};

    PDM_TRY(pdm_lg_program_create(subgraph->path, &x.program));
    x.copier = (pdm_lg_copier){.arena = &x.program->arena,
                               .strings = &x.program->strings,
                               .rename = x.options->by_position ? by_position : NULL,
                               .user = &x};
    const pdm_status status = extract(&x, sink);
    pdm_map_deinit(&x.positions);
    pdm_map_deinit(&x.fed);
    if (status != PDM_OK) {
        pdm_lg_program_destroy(x.program);
        return status;
    }
    *out_program = x.program;
    return PDM_OK;
}
