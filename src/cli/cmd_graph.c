/* pdmigrate graph MODEL */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

/* What is to be printed, gathered first. */
typedef struct view {
    pdm_context *context;
    const cli_options *options;
    cli_report *report;
    pdm_model *model;
    pdm_graph *graph;
    char *dot;
    char *allow, *deny; /* with ';' for commas */
    char *skip_text;
    const char **skip;
    size_t num_skip;
} view;

/* ---- options --------------------------------------------------------------------------------- */

static pdm_status take_types(const char *given, char **out)
{
    if (!given)
        return PDM_OK;
    *out = strdup(given);
    if (!*out)
        return PDM_NOMEM;
    for (char *p = *out; *p; p++) {
        if (*p == ',')
            *p = ';';
    }
    return PDM_OK;
}

static pdm_status take_names(view *v, const char *given)
{
    size_t most = 1;
    char *save;

    if (!given)
        return PDM_OK;
    for (const char *p = given; *p; p++)
        most += *p == ',';
    v->skip_text = strdup(given);
    v->skip = calloc(most, sizeof *v->skip);
    if (!v->skip_text || !v->skip)
        return PDM_NOMEM;
    for (char *p = strtok_r(v->skip_text, ",", &save); p; p = strtok_r(NULL, ",", &save))
        v->skip[v->num_skip++] = p;
    return PDM_OK;
}

static pdm_status gather(view *v)
{
    const cli_options *o = v->options;
    const pdm_load_options load = {.size = sizeof load,
                                   .params_path = o->arg[OPT_PARAMS],
                                   .no_params = o->has[OPT_NO_PARAMS],
                                   .params_optional = !o->has[OPT_EXTRACT]};
    pdm_graph_options graph = {.size = sizeof graph, .allow_inplace = o->has[OPT_IN_PLACE]};
    pdm_status status = take_types(o->arg[OPT_ALLOW], &v->allow);

    if (status == PDM_OK)
        status = take_types(o->arg[OPT_DENY], &v->deny);
    if (status == PDM_OK)
        status = take_names(v, o->arg[OPT_SKIP_GC]);
    if (status == PDM_OK)
        status = pdm_model_load(v->context, o->model, &load, &v->model);
    if (status != PDM_OK)
        return status;
    graph.allow = v->allow;
    graph.deny = v->deny;
    graph.skip_gc = v->skip;
    graph.num_skip_gc = v->num_skip;
    status = pdm_graph_create(v->model, &graph, &v->graph);
    if (status == PDM_OK && o->has[OPT_DOT])
        status = pdm_graph_dot(v->graph, &v->dot);
    return status;
}

/* ---- extraction ------------------------------------------------------------------------------ */

static int make_folder(view *v, const char *folder)
{
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return CLI_EXIT_OK;
    return cli_cannot_write(v->report, folder, errno);
}

static char *path_of(const view *v, size_t index, const char *name)
{
    const char *folder = v->options->arg[OPT_EXTRACT];
    const size_t size = strlen(folder) + strlen(name) + 64;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s/subgraph_%zu/%s", folder, index, name);
    return path;
}

/* What would be in the way of any subgraph is told before the first is written. */
static pdm_status check_one(view *v, size_t index)
{
    char *path = path_of(v, index, "inference.pdmodel");
    const pdm_status status =
        path ? pdm_text_check(v->context, path, v->options->has[OPT_FORCE]) : PDM_NOMEM;

    free(path);
    return status;
}

static pdm_status extract_one(view *v, size_t index)
{
    const pdm_write_options write = {.size = sizeof write,
                                     .overwrite = v->options->has[OPT_FORCE],
                                     .no_params = v->options->has[OPT_NO_PARAMS]};
    char *path = path_of(v, index, "");
    pdm_model *part = NULL;
    pdm_status status = path ? PDM_OK : PDM_NOMEM;

    if (status == PDM_OK)
        status = pdm_graph_extract(v->graph, v->model, index, &part);
    if (status == PDM_OK)
        status = pdm_model_write(part, path, &write);
    pdm_model_destroy(part);
    free(path);
    return status;
}

static int extract(view *v)
{
    const size_t n = pdm_graph_num_subgraphs(v->graph);
    int code = CLI_EXIT_OK;

    for (size_t i = 0; i < n && code == CLI_EXIT_OK; i++)
        code = cli_failed(v->report, check_one(v, i));
    if (code == CLI_EXIT_OK)
        code = make_folder(v, v->options->arg[OPT_EXTRACT]);
    for (size_t i = 0; i < n && code == CLI_EXIT_OK; i++)
        code = cli_interrupted(NULL) ? CLI_EXIT_INTERRUPTED
                                     : cli_failed(v->report, extract_one(v, i));
    return code;
}

/* ---- output ---------------------------------------------------------------------------------- */

static size_t num_ops_inside(const pdm_graph *graph)
{
    pdm_subgraph_info info;
    size_t n = 0;

    for (size_t i = 0; i < pdm_graph_num_subgraphs(graph); i++) {
        if (pdm_graph_subgraph(graph, i, &info) == PDM_OK)
            n += info.num_ops;
    }
    return n;
}

static void list_text(const char *label, const char *const *names, size_t n)
{
    if (n == 0)
        return;
    printf("  %-10s", label);
    for (size_t i = 0; i < n; i++)
        printf("%s%s", i ? ", " : "", names[i]);
    putchar('\n');
}

static void print_text(const view *v)
{
    const size_t n = pdm_graph_num_subgraphs(v->graph);
    pdm_subgraph_info info;

    for (size_t i = 0; i < n; i++) {
        if (pdm_graph_subgraph(v->graph, i, &info) != PDM_OK)
            continue;
        printf("subgraph %zu: %zu op%s, %zu nodes, key %" PRId64 "\n", i, info.num_ops,
               info.num_ops == 1 ? "" : "s", info.num_nodes, info.key);
        list_text("ops", info.ops, info.num_ops);
        list_text("inputs", info.inputs, info.num_inputs);
        list_text("shapes of", info.shape_inputs, info.num_shape_inputs);
        list_text("internal", info.internals, info.num_internals);
        list_text("outputs", info.outputs, info.num_outputs);
    }
    printf("%zu of %zu ops in %zu subgraph%s; %zu nodes in the main graph\n",
           num_ops_inside(v->graph), pdm_graph_num_ops_before(v->graph), n, n == 1 ? "" : "s",
           pdm_graph_num_nodes(v->graph));
    if (v->options->has[OPT_EXTRACT])
        printf("extracted to %s\n", v->options->arg[OPT_EXTRACT]);
}

static void list_json(const char *key, const char *const *names, size_t n)
{
    printf(", \"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", stdout);
        cli_json_string(stdout, names[i]);
    }
    putchar(']');
}

static void print_json(const view *v)
{
    const size_t n = pdm_graph_num_subgraphs(v->graph);
    const char *folder = v->options->arg[OPT_EXTRACT];
    pdm_subgraph_info info;

    fputs(", \"model\": ", stdout);
    cli_json_string(stdout, pdm_model_path(v->model));
    printf(", \"ops\": %zu, \"nodes\": %zu, \"subgraphs\": [", pdm_graph_num_ops_before(v->graph),
           pdm_graph_num_nodes(v->graph));
    for (size_t i = 0; i < n; i++) {
        if (pdm_graph_subgraph(v->graph, i, &info) != PDM_OK)
            continue;
        /* As a text: JSON readers take numbers for doubles. */
        printf("%s{\"key\": \"%" PRId64 "\", \"nodes\": %zu", i ? ", " : "", info.key,
               info.num_nodes);
        list_json("ops", info.ops, info.num_ops);
        list_json("inputs", info.inputs, info.num_inputs);
        list_json("shape_inputs", info.shape_inputs, info.num_shape_inputs);
        list_json("internals", info.internals, info.num_internals);
        list_json("outputs", info.outputs, info.num_outputs);
        putchar('}');
    }
    putchar(']');
    if (folder) {
        fputs(", \"extracted\": ", stdout);
        cli_json_string(stdout, folder);
    }
}

static void view_deinit(view *v)
{
    pdm_free(v->dot);
    pdm_graph_destroy(v->graph);
    pdm_model_destroy(v->model);
    free(v->allow);
    free(v->deny);
    free(v->skip_text);
    free(v->skip);
}

int cli_graph(pdm_context *context, const cli_options *options, cli_report *report)
{
    view v = {.context = context, .options = options, .report = report};
    int code = cli_failed(report, gather(&v));

    if (code == CLI_EXIT_OK && options->has[OPT_EXTRACT])
        code = extract(&v);
    if (options->json) {
        cli_json_begin(code, "graph");
        if (code == CLI_EXIT_OK)
            print_json(&v);
        cli_json_end(report);
    } else if (code == CLI_EXIT_OK) {
        if (v.dot)
            fputs(v.dot, stdout);
        else if (!report->quiet || !options->has[OPT_EXTRACT])
            print_text(&v);
    }
    view_deinit(&v);
    return code;
}
