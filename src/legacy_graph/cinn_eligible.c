/* Which ops may enter a cluster. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "legacy_graph/cinn_impl.h"

/* ---- tables ---------------------------------------------------------------------------------- */

bool pdm_lg_has_mapper(const char *op_type)
{
    static const char *const types[] = {
#define MAPPER(type) #type,
#include "legacy_graph/mappers.def"
#undef MAPPER
    };
    size_t low = 0, high = sizeof types / sizeof *types;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(op_type, types[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

bool pdm_lg_no_need_buffer(const char *op_type, const char *slot)
{
    static const struct {
        const char *type, *slot;
    } rows[] = {
#define NO_NEED_BUFFER(type, slot) {#type, slot},
#include "legacy_graph/no_need_buffer.def"
#undef NO_NEED_BUFFER
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(op_type, rows[i].type) && !strcmp(slot, rows[i].slot))
            return true;
    }
    return false;
}

bool pdm_lg_cinn_denied_slot(const char *op_type, const char *slot)
{
    return !strcmp(slot, "ReserveSpace") &&
           (!strcmp(op_type, "batch_norm") || !strcmp(op_type, "batch_norm_grad"));
}

static bool denied_by_default(const char *op_type)
{
    return !strcmp(op_type, "feed") || !strcmp(op_type, "fetch");
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* The op's result has a shape that is known only when it runs. */
static bool is_dynamic(const pdm_lg_op *op)
{
    static const struct {
        const char *type, *slot;
    } rows[] = {
        {"expand", "ExpandTimes"},     {"expand", "expand_times_tensor"},
        {"expand_v2", "Shape"},        {"expand_v2", "expand_shapes_tensor"},
        {"reshape", "Shape"},          {"reshape", "ShapeTensor"},
        {"reshape2", "Shape"},         {"reshape2", "ShapeTensor"},
    };
    const pdm_lg_attr *flags;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pdm_lg_slot *slot =
            strcmp(op->type, rows[i].type) == 0 ? pdm_lg_find_input(op, rows[i].slot) : NULL;
        if (slot && slot->num_args > 0)
            return true;
    }
    if (strcmp(op->type, "slice") != 0)
        return false;
    flags = pdm_lg_find_attr(op, "infer_flags");
    for (size_t i = 0; flags && flags->type == PDM_LG_INTS && i < flags->count; i++) {
        if (flags->u.ints[i] < 0)
            return true;
    }
    return false;
}

/* Whether a variable is both read and written. names: scratch. */
static pdm_status is_inplace(const pdm_lg_op *op, pdm_map *names, bool *out_is)
{
    *out_is = false;
    if (op->num_outputs == 0 || op->num_inputs == 0)
        return PDM_OK;
    pdm_map_deinit(names);
    for (size_t i = 0; i < op->num_inputs; i++) {
        for (size_t k = 0; k < op->inputs[i].num_args; k++) {
            if (strcmp(op->inputs[i].args[k], PDM_LG_EMPTY_VAR) != 0 &&
                !pdm_map_put(names, op->inputs[i].args[k]))
                return PDM_NOMEM;
        }
    }
    for (size_t i = 0; i < op->num_outputs && !*out_is; i++) {
        for (size_t k = 0; k < op->outputs[i].num_args && !*out_is; k++)
            *out_is = pdm_map_find(names, op->outputs[i].args[k]) != NULL;
    }
    return PDM_OK;
}

static pdm_status check_desc(const pdm_lg_node *node, pdm_diag_sink *sink)
{
    pdm_loc loc = PDM_NOWHERE;

    if (node->op || !pdm_lg_cinn_denied_slot(node->name, "ReserveSpace"))
        return PDM_OK;
    loc.file = node->graph->path;
    loc.op_type = node->name;
    return pdm_diag(sink, PDM_D_LG_LAUNCH, &loc, NULL,
                    "the node of '%s' has no description, which says what to leave out",
                    node->name);
}

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct judge {
    const pdm_lg_cinn_options *options;
    pdm_lg_names *allow, *deny;
    pdm_map names;
} judge;

static bool type_allowed(const judge *j, const char *type)
{
    const bool mapped = j->options->has_mapper ? j->options->has_mapper(j->options->user, type)
                                               : pdm_lg_has_mapper(type);

    if (!mapped || denied_by_default(type))
        return false;
    if (j->allow->n > 0)
        return pdm_lg_names_has(j->allow, type);
    return !pdm_lg_names_has(j->deny, type);
}

static pdm_status judge_op(judge *j, const pdm_lg_node *node, pdm_diag_sink *sink, bool *out)
{
    bool inplace = false;

    *out = false;
    if (!type_allowed(j, node->name))
        return PDM_OK;
    PDM_TRY(check_desc(node, sink));
    if (!node->op) {
        *out = true;
        return PDM_OK;
    }
    if (is_dynamic(node->op) || pdm_lg_has_block(node->op))
        return PDM_OK;
    if (!j->options->allow_inplace)
        PDM_TRY(is_inplace(node->op, &j->names, &inplace));
    *out = !inplace;
    return PDM_OK;
}

static pdm_status judge_all(judge *j, const pdm_lg_graph *graph, pdm_diag_sink *sink,
                            bool *eligible)
{
    PDM_TRY(pdm_lg_names_create(&j->allow));
    PDM_TRY(pdm_lg_names_create(&j->deny));
    PDM_TRY(pdm_lg_names_add_list(j->allow, j->options->allow, ';'));
    PDM_TRY(pdm_lg_names_add_list(j->deny, j->options->deny, ';'));
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        if (node && node->kind == PDM_LG_NODE_OP)
            PDM_TRY(judge_op(j, node, sink, &eligible[i]));
    }
    return PDM_OK;
}

pdm_status pdm_lg_cinn_eligible(const pdm_lg_graph *graph, const pdm_lg_cinn_options *options,
                                pdm_diag_sink *sink, bool **out_eligible)
{
    judge j = {.options = options};
    bool *eligible = calloc(graph->nodes.n + 1, sizeof *eligible);
    const pdm_status status = eligible ? judge_all(&j, graph, sink, eligible) : PDM_NOMEM;

    pdm_lg_names_destroy(j.allow);
    pdm_lg_names_destroy(j.deny);
    pdm_map_deinit(&j.names);
    if (status != PDM_OK) {
        free(eligible);
        return status;
    }
    *out_eligible = eligible;
    return PDM_OK;
}
