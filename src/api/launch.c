#include "api/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "exec/executor.h"
#include "legacy_graph/cinn_extract.h"
#include "legacy_graph/cinn_mem_opt.h"
#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/names.h"
#include "legacy_graph/write.h"
#include "translator/translate.h"

/* A structure with types of inputs, ready to run. */
typedef struct compiled {
    pdm_buf structure; /* the program with variables named by position */
    pdm_lg_program *program;
    pdm_ir_module *module;
    pdm_exec_plan *plan;
    pdm_exec_session *session;
    const uint32_t *inputs; /* by input of the plan: column of the subgraph's feed; malloc'ed */
} compiled;

/* A key with types of inputs: found without looking at the structure. */
typedef struct known {
    int64_t key;
    pdm_buf types;
    size_t index; /* of the compiled structure */
} known;

struct pdm_api_launcher {
    pdm_context *context;
    const char *compile; /* backend, or NULL */
    pdm_exec_options options;
    struct {
        compiled *v;
        size_t n, cap;
    } compiled;
    struct {
        known *v;
        size_t n, cap;
    } known;
    size_t launches, num_compiled;
};

/* Tensors by column of the subgraph's feeds. */
typedef struct inputs {
    pdm_tensor *v; /* references; those of which only the shape is known have no data */
    size_t *from;  /* which of the launch's inputs it is; NONE: only a shape */
    size_t n;
} inputs;

#define NONE SIZE_MAX

pdm_status pdm_api_launcher_create(pdm_context *context, const pdm_legacy_options *options,
                                   const char *compile, pdm_api_launcher **out_launcher)
{
    pdm_api_launcher *launcher = calloc(1, sizeof *launcher);

    if (!launcher)
        return PDM_NOMEM;
    launcher->context = context;
    launcher->compile = compile;
    launcher->options = (pdm_exec_options){.pool = options->pool,
                                           .seed = options->seed,
                                           .max_iterations = options->max_iterations,
                                           .before = compile ? 0 : PDM_DIFF_ALL,
                                           .cancelled = options->cancelled,
                                           .print = options->print,
                                           .user = options->user};
    *out_launcher = launcher;
    return PDM_OK;
}

static void compiled_deinit(compiled *c)
{
    pdm_exec_session_destroy(c->session);
    pdm_exec_plan_destroy(c->plan);
    pdm_ir_module_destroy(c->module);
    pdm_lg_program_destroy(c->program);
    pdm_buf_deinit(&c->structure);
    free((void *)(uintptr_t)c->inputs);
}

static void forget(pdm_api_launcher *l)
{
    for (size_t i = 0; i < l->compiled.n; i++)
        compiled_deinit(&l->compiled.v[i]);
    for (size_t i = 0; i < l->known.n; i++)
        pdm_buf_deinit(&l->known.v[i].types);
    l->compiled.n = l->known.n = 0;
}

void pdm_api_launcher_destroy(pdm_api_launcher *launcher)
{
    if (!launcher)
        return;
    forget(launcher);
    PDM_VEC_FREE(&launcher->compiled);
    PDM_VEC_FREE(&launcher->known);
    free(launcher);
}

pdm_api_launch_stats pdm_api_launcher_stats(const pdm_api_launcher *launcher)
{
    pdm_api_launch_stats stats = {.launches = launcher->launches, .compiled = launcher->num_compiled};

    for (size_t i = 0; i < launcher->compiled.n; i++) {
        const pdm_exec_compile_stats of = pdm_exec_get_compile_stats(launcher->compiled.v[i].plan);
        stats.groups.groups += of.groups;
        stats.groups.kernels += of.kernels;
        stats.groups.runs += of.runs;
        stats.groups.compiled += of.compiled;
    }
    return stats;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static pdm_status refuse(pdm_diag_sink *sink, const char *var, const char *what)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.op_type = PDM_LG_CINN_LAUNCH;
    loc.var = var;
    return pdm_diag(sink, PDM_D_LG_LAUNCH, &loc, NULL, "%s", what);
}

static pdm_status find_input(const pdm_legacy_launch *launch, const char *name, pdm_tensor *out,
                             size_t *out_from, pdm_diag_sink *sink)
{
    *out_from = NONE;
    for (size_t i = 0; i < launch->num_in; i++) {
        if (strcmp(launch->in_names[i], name) != 0)
            continue;
        if (!launch->in[i])
            return refuse(sink, name, "an input of a subgraph has no value");
        pdm_tensor_ref(out, launch->in[i]);
        *out_from = i;
        return PDM_OK;
    }
    for (size_t i = 0; i < launch->num_shapes; i++) {
        if (!strcmp(launch->shape_names[i], name)) {
            *out = launch->shapes[i];
            return PDM_OK;
        }
    }
    return refuse(sink, name, "a launch does not give an input of its subgraph");
}

static pdm_status take_inputs(const pdm_lg_graph *subgraph, const pdm_legacy_launch *launch,
                              inputs *in, pdm_diag_sink *sink)
{
    in->v = calloc(launch->num_in + launch->num_shapes + 1, sizeof *in->v);
    in->from = calloc(launch->num_in + launch->num_shapes + 1, sizeof *in->from);
    if (!in->v || !in->from)
        return PDM_NOMEM;
    /* Feeds are made in the order of their columns. */
    for (size_t i = 0; i < subgraph->nodes.n; i++) {
        const pdm_lg_node *node = subgraph->nodes.v[i];
        if (!node || node->kind != PDM_LG_NODE_OP || strcmp(node->name, "feed") != 0)
            continue;
        if (in->n == launch->num_in + launch->num_shapes)
            return refuse(sink, node->outputs.v[0]->name,
                          "a launch gives fewer inputs than its subgraph has");
        PDM_TRY(find_input(launch, node->outputs.v[0]->name, &in->v[in->n], &in->from[in->n], sink));
        in->n++;
    }
    return PDM_OK;
}

static void put_types(const inputs *in, pdm_buf *buf)
{
    for (size_t i = 0; i < in->n; i++) {
        const pdm_tensor *t = &in->v[i];
        const int32_t head[2] = {(int32_t)t->dtype, t->rank};
        pdm_buf_put(buf, head, sizeof head);
        pdm_buf_put(buf, t->dims, (size_t)t->rank * sizeof *t->dims);
    }
}

/* ---- compilation ----------------------------------------------------------------------------- */

/* "v3" is variable 3: the column of the input of that name. */
static pdm_status map_inputs(compiled *c, pdm_diag_sink *sink)
{
    const size_t n = pdm_exec_num_inputs(c->plan);
    const pdm_lg_block *block = &c->program->blocks[0];
    uint32_t *columns = calloc(n + 1, sizeof *columns);

    if (!columns)
        return PDM_NOMEM;
    c->inputs = columns;
    for (size_t i = 0; i < n; i++) {
        const char *name = pdm_exec_input_name(c->plan, i);
        bool found = false;
        for (size_t k = 0; k < block->num_ops && !found; k++) {
            const pdm_lg_op *op = &block->ops[k];
            found = !strcmp(op->type, "feed") && !strcmp(op->outputs[0].args[0], name);
            if (found)
                columns[i] = (uint32_t)pdm_lg_find_attr(op, "col")->u.i;
        }
        if (!found)
            return refuse(sink, name, "a translated subgraph has an input that nothing feeds");
    }
    return PDM_OK;
}

static pdm_status translate(pdm_api_launcher *l, compiled *c, pdm_diag_sink *sink)
{
    const pdm_tr_options tr = {.allow_legacy = true};
    const pdm_exec_plan_options how = {.keep_all = !l->compile, .compile = l->compile};

    PDM_TRY(pdm_tr_translate(l->context->ir, l->context->schemas, c->program, &tr, sink, &c->module));
    PDM_TRY(pdm_ir_verify(c->module, sink));
    PDM_TRY(pdm_exec_plan_create(c->module, NULL, &how, sink, &c->plan));
    PDM_TRY(pdm_exec_session_create(c->plan, &l->options, &c->session));
    return map_inputs(c, sink);
}

static const pdm_tensor *type_of(void *user, const char *name, size_t position)
{
    const inputs *in = user;

    (void)name;
    return &in->v[position];
}

static pdm_status compile(pdm_api_launcher *l, const pdm_lg_graph *subgraph, inputs *in,
                          pdm_diag_sink *sink, size_t *out_index)
{
    const pdm_lg_extract_options how = {
        .feed_params = true, .by_position = true, .type_of = type_of, .user = in};
    compiled made = {.program = NULL};
    pdm_status status = pdm_lg_cinn_extract(subgraph, &how, sink, &made.program);

    if (status == PDM_OK)
        status = pdm_lg_write(made.program, &made.structure);
    for (size_t i = 0; i < l->compiled.n && status == PDM_OK; i++) {
        const pdm_buf *other = &l->compiled.v[i].structure;
        if (other->size != made.structure.size ||
            memcmp(other->data, made.structure.data, other->size) != 0)
            continue;
        *out_index = i;
        compiled_deinit(&made);
        return PDM_OK;
    }
    if (status == PDM_OK)
        status = translate(l, &made, sink);
    if (status == PDM_OK && l->compiled.n >= PDM_API_MOST_COMPILED)
        forget(l);
    if (status == PDM_OK && !PDM_VEC_PUSH(&l->compiled, made))
        status = PDM_NOMEM;
    if (status != PDM_OK) {
        compiled_deinit(&made);
        return status;
    }
    *out_index = l->compiled.n - 1;
    l->num_compiled++;
    return PDM_OK;
}

static pdm_status find_compiled(pdm_api_launcher *l, int64_t key, const pdm_lg_graph *subgraph,
                                inputs *in, pdm_diag_sink *sink, size_t *out_index)
{
    known made = {.key = key};
    pdm_status status;

    put_types(in, &made.types);
    status = pdm_buf_ok(&made.types) ? PDM_OK : PDM_NOMEM;
    for (size_t i = 0; i < l->known.n && status == PDM_OK; i++) {
        const known *k = &l->known.v[i];
        if (k->key != key || k->types.size != made.types.size ||
            (k->types.size && memcmp(k->types.data, made.types.data, k->types.size) != 0))
            continue;
        *out_index = k->index;
        pdm_buf_deinit(&made.types);
        return PDM_OK;
    }
    if (status == PDM_OK)
        status = compile(l, subgraph, in, sink, &made.index);
    if (status == PDM_OK && !PDM_VEC_PUSH(&l->known, made))
        status = PDM_NOMEM;
    if (status != PDM_OK) {
        pdm_buf_deinit(&made.types);
        return status;
    }
    *out_index = made.index;
    return PDM_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Whatever the data are: nothing looks at them. */
static pdm_status fill_shape(pdm_tensor *tensor)
{
    pdm_tensor made = {0};

    if (tensor->data || tensor->dtype == PDM_UNDEFINED)
        return PDM_OK;
    PDM_TRY(pdm_tensor_alloc(&made, tensor->dtype, tensor->rank, tensor->dims));
    memset(made.data, 0, pdm_tensor_bytes(&made));
    *tensor = made;
    return PDM_OK;
}

/* The session frees what nobody else has after its last use in the subgraph. */
static pdm_status give_inputs(const compiled *c, inputs *in)
{
    for (size_t i = 0; i < pdm_exec_num_inputs(c->plan); i++) {
        pdm_tensor *tensor = &in->v[c->inputs[i]];
        PDM_TRY(fill_shape(tensor));
        pdm_exec_give_input(c->session, i, tensor);
    }
    return PDM_OK;
}

/* Inputs with a record are freed by the launch; the others, and outputs, are kept. */
static void release_inputs(const pdm_lg_graph *subgraph, const pdm_legacy_launch *launch, const inputs *in)
{
    const pdm_lg_mem_opt *records = pdm_lg_graph_get(subgraph, PDM_LG_CINN_MEM_OPT);

    for (size_t i = 0; launch->release && i < in->n; i++) {
        if (in->from[i] != NONE && pdm_lg_mem_opt_count(records, launch->in_names[in->from[i]]) > 0)
            launch->release(launch->releaser, in->from[i]);
    }
}

/* Nothing of the run stays in the session, whose memory the next launch uses again. */
static pdm_status take_outputs(const compiled *c, const pdm_lg_names *names,
                               const pdm_legacy_launch *launch, pdm_diag_sink *sink)
{
    for (size_t i = 0; i < launch->num_out; i++) {
        size_t column = 0;
        while (column < names->n && strcmp(names->v[column], launch->out_names[i]) != 0)
            column++;
        const pdm_value *value =
            column < pdm_exec_num_outputs(c->plan) ? pdm_exec_output(c->session, column) : NULL;
        if (!value || value->kind != PDM_VALUE_TENSOR)
            return refuse(sink, launch->out_names[i], "a subgraph does not give an output");
        PDM_TRY(pdm_tensor_copy(&launch->out[i], &value->tensor));
    }
    return PDM_OK;
}

static pdm_status run(pdm_api_launcher *l, const pdm_lg_graph *subgraph,
                      const pdm_legacy_launch *launch, inputs *in, pdm_diag_sink *sink)
{
    size_t index;

    PDM_TRY(take_inputs(subgraph, launch, in, sink));
    PDM_TRY(find_compiled(l, launch->key, subgraph, in, sink, &index));
    const compiled *c = &l->compiled.v[index];
    PDM_TRY(give_inputs(c, in));
    release_inputs(subgraph, launch, in);
    PDM_TRY(pdm_exec_run(c->session, sink));
    l->launches++;
    return take_outputs(c, pdm_lg_graph_get(subgraph, PDM_LG_CINN_OUTPUT_VARS), launch, sink);
}

pdm_status pdm_api_launch(void *launch_user, const pdm_legacy_launch *launch, pdm_diag_sink *sink)
{
    const pdm_lg_graph *subgraph;
    inputs in = {NULL, NULL, 0};

    PDM_TRY(pdm_lg_cinn_table_get(pdm_lg_cinn_table_shared(), launch->key, sink, &subgraph));
    const pdm_status status = run(launch_user, subgraph, launch, &in, sink);
    for (size_t i = 0; i < in.n; i++)
        pdm_tensor_deinit(&in.v[i]);
    free(in.v);
    free(in.from);
    return status;
}
