/*
 * Fuzz the graph of legacy programs, the detector, and build_cinn_pass: what the reader lets through
 * survives the graph unchanged; after the pass, with options and eligible ops drawn from the input,
 * graphs stand for themselves and have no cycle, every subgraph can be written and read as a model,
 * and the program computes what it computed before. For that, programs are run by an interpreter in
 * which an output is a hash of what the op reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "legacy_graph/cinn_dot.h"
#include "legacy_graph/cinn_extract.h"
#include "legacy_graph/cinn_mem_opt.h"
#include "legacy_graph/cinn_pass.h"
#include "legacy_graph/detector.h"
#include "legacy_graph/dump.h"
#include "legacy_graph/names.h"
#include "legacy_graph/read.h"
#include "legacy_graph/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CHOSEN = 4 };

/* What the input decides. */
static uint64_t state;

static uint64_t draw(void)
{
    state += 0x9e3779b97f4a7c15u;
    return pdm_hash_bytes(&state, sizeof state, 1);
}

static size_t below(size_t n)
{
    return (size_t)(draw() % n);
}

/* Running out of memory is no fault; anything else is. */
static bool done(pdm_status status)
{
    if (status != PDM_OK && status != PDM_NOMEM)
        abort();
    return status == PDM_OK;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t both[] = {a, b};

    return pdm_hash_bytes(both, sizeof both, 3);
}

static uint64_t of_text(const char *text)
{
    return pdm_hash_bytes(text, strlen(text), 2);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void expect_independent(const pdm_lg_graph *graph)
{
    const char *why;
    bool is;

    if (done(pdm_lg_graph_is_independent(graph, &is, &why)) && !is) {
        fprintf(stderr, "%s\n", why);
        abort();
    }
}

static char *text_of(const pdm_lg_program *program)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_lg_dump_text(program, &buf);
    return pdm_buf_take(&buf);
}

static void expect_same(const pdm_lg_program *a, const pdm_lg_program *b)
{
    char *x = text_of(a), *y = text_of(b);

    if (x && y && strcmp(x, y) != 0)
        abort();
    free(x);
    free(y);
}

/* The program of the graph is the one given. */
static void expect_program(const pdm_lg_graph *graph, const pdm_lg_program *program)
{
    pdm_lg_program *back;

    if (!done(pdm_lg_graph_to_program(graph, NULL, &back)))
        return;
    expect_same(program, back);
    pdm_lg_program_destroy(back);
}

static void show_error(void *user, const pdm_diagnostic *d)
{
    (void)user;
    fprintf(stderr, "%s: %s %s %s\n", d->id, d->op_type ? d->op_type : "-", d->var ? d->var : "-", d->message);
}

/* A program that we made is one that we read. */
static void expect_readable(const pdm_lg_program *program)
{
    pdm_diag_sink sink = {.fn = show_error};
    pdm_lg_program *again = NULL;
    pdm_buf bytes;

    pdm_buf_init(&bytes);
    if (done(pdm_lg_write(program, &bytes)) &&
        done(pdm_lg_read((const uint8_t *)bytes.data, bytes.size, "again", &sink, &again)))
        expect_same(program, again);
    pdm_lg_program_destroy(again);
    pdm_buf_deinit(&bytes);
}

/* ---- the detector ---------------------------------------------------------------------------- */

/* Put each cluster into one node: the rest of the ops are nodes of their own. */
static void expect_order(const pdm_lg_graph *graph, const pdm_lg_clusters *clusters)
{
    pdm_lg_graph *small;
    pdm_lg_node **at = calloc(graph->nodes.n + 1, sizeof *at), *var;
    pdm_lg_nodes order = {0};

    if (!at || !done(pdm_lg_graph_create(NULL, &small))) {
        free(at);
        return;
    }
    for (size_t c = 0; c < clusters->n; c++) {
        pdm_lg_node *node;
        if (!done(pdm_lg_graph_add_named(small, PDM_LG_NODE_OP, "cluster", &node)))
            goto done;
        for (size_t i = 0; i < clusters->v[c].num_ops; i++)
            at[clusters->v[c].ops[i]->id] = node;
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        if (node && node->kind == PDM_LG_NODE_OP && !at[i] &&
            !done(pdm_lg_graph_add_named(small, PDM_LG_NODE_OP, node->name, &at[i])))
            goto done;
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *from = graph->nodes.v[i];
        if (!from || from->kind != PDM_LG_NODE_VAR || from->inputs.n == 0)
            continue;
        if (!done(pdm_lg_graph_add_named(small, PDM_LG_NODE_VAR, "v", &var)) ||
            !done(pdm_lg_link(at[from->inputs.v[0]->id], var)))
            goto done;
        for (size_t k = 0; k < from->outputs.n; k++) {
            pdm_lg_node *to = at[from->outputs.v[k]->id];
            if (to != at[from->inputs.v[0]->id] && !done(pdm_lg_link(var, to)))
                goto done;
        }
    }
    (void)done(pdm_lg_graph_order(small, NULL, NULL, &order));
done:
    PDM_VEC_FREE(&order);
    pdm_lg_graph_destroy(small);
    free(at);
}

static void check_detector(const pdm_lg_graph *graph)
{
    bool *eligible = calloc(graph->nodes.n + 1, sizeof *eligible);
    const size_t of_8 = 1 + below(8);
    size_t wanted = 0, got = 0;
    pdm_lg_clusters clusters;

    for (size_t i = 0; eligible && i < graph->nodes.n; i++) {
        if (graph->nodes.v[i]->kind == PDM_LG_NODE_OP)
            wanted += eligible[i] = below(8) < of_8;
    }
    if (eligible && done(pdm_lg_detect(graph, eligible, NULL, &clusters))) {
        for (size_t c = 0; c < clusters.n; c++) {
            got += clusters.v[c].num_ops;
            for (size_t i = 0; i < clusters.v[c].num_ops; i++) {
                if (!eligible[clusters.v[c].ops[i]->id])
                    abort();
            }
        }
        if (got != wanted)
            abort();
        expect_order(graph, &clusters);
    }
    if (eligible)
        pdm_lg_clusters_deinit(&clusters);
    free(eligible);
}

/* ---- meaning --------------------------------------------------------------------------------- */

typedef struct run {
    pdm_intern *names; /* of all runs */
    pdm_map values;
    bool closed; /* what has no value may not be read */
    uint64_t fetched;
    pdm_lg_cinn_table *table;
} run;

static uint64_t *value_of(run *r, const char *name)
{
    const char *known = pdm_intern_cstr(r->names, name);
    const bool there = known && pdm_map_find(&r->values, known);
    pdm_map_entry *entry = known ? pdm_map_put(&r->values, known) : NULL;

    if (!entry)
        abort();
    if (!there && r->closed)
        abort();
    if (!there)
        entry->value.num = of_text(name);
    return &entry->value.num;
}

static void set_value(run *r, const char *name, uint64_t value)
{
    const char *known = pdm_intern_cstr(r->names, name);
    pdm_map_entry *entry = known ? pdm_map_put(&r->values, known) : NULL;

    if (!entry)
        abort();
    entry->value.num = value;
}

/* The old value of what an op may leave as it was. */
static uint64_t old_value(const run *r, const char *name)
{
    const char *known = pdm_intern_find(r->names, name, strlen(name));
    const pdm_map_entry *entry = known ? pdm_map_find(&r->values, known) : NULL;

    return entry ? entry->value.num : 0;
}

/* A block of block 0, and the block that a name is used in. */
typedef struct place {
    const pdm_lg_program *program;
    const pdm_lg_block *block;
} place;

/* Names that a block declares mean nothing outside. */
static bool is_outer(const place *at, const char *name)
{
    for (const pdm_lg_block *block = at->block; block->idx != 0; block = &at->program->blocks[block->parent]) {
        if (pdm_lg_block_var(block, name))
            return false;
    }
    return strcmp(name, PDM_LG_EMPTY_VAR) != 0;
}

/* What an op, with all in its blocks, reads of block 0. */
static uint64_t read_op(run *r, const place *at, const pdm_lg_op *op);

static uint64_t read_block(run *r, const place *at, int32_t index)
{
    const place inside = {at->program, &at->program->blocks[index]};
    uint64_t hash = 0;

    for (size_t i = 0; i < inside.block->num_ops; i++)
        hash = mix(hash, read_op(r, &inside, &inside.block->ops[i]));
    return hash;
}

static uint64_t read_attr(run *r, const place *at, const pdm_lg_attr *attr)
{
    uint64_t hash = 0;

    if (attr->type == PDM_LG_VAR && is_outer(at, attr->u.s))
        hash = *value_of(r, attr->u.s);
    for (size_t i = 0; attr->type == PDM_LG_VARS && i < attr->count; i++) {
        if (is_outer(at, attr->u.strings[i]))
            hash = mix(hash, *value_of(r, attr->u.strings[i]));
    }
    if (attr->type == PDM_LG_BLOCK)
        hash = read_block(r, at, attr->u.block);
    for (size_t i = 0; attr->type == PDM_LG_BLOCKS && i < attr->count; i++)
        hash = mix(hash, read_block(r, at, attr->u.ints[i]));
    return hash;
}

static bool keeps(const place *at, const pdm_lg_op *op, const char *name)
{
    const pdm_lg_var *var = pdm_lg_lookup_var(at->program, at->block->idx, name, NULL);

    if (var && (var->kind == PDM_LG_FETCH_LIST || var->kind == PDM_LG_FEED_MINIBATCH))
        return false; /* in whatever order */
    return pdm_lg_has_block(op) || !strcmp(op->type, "select_output") ||
           (var && var->kind == PDM_LG_TENSOR_ARRAY);
}

static uint64_t read_op(run *r, const place *at, const pdm_lg_op *op)
{
    uint64_t hash = of_text(op->type);

    for (size_t i = 0; i < op->num_inputs; i++) {
        const pdm_lg_slot *slot = &op->inputs[i];
        if (pdm_lg_no_need_buffer(op->type, slot->name))
            continue;
        for (size_t k = 0; k < slot->num_args; k++) {
            hash = mix(hash, of_text(slot->name));
            if (is_outer(at, slot->args[k]))
                hash = mix(hash, *value_of(r, slot->args[k]));
        }
    }
    for (size_t i = 0; i < op->num_attrs; i++)
        hash = mix(hash, read_attr(r, at, &op->attrs[i]));
    for (size_t i = 0; i < op->num_outputs; i++) {
        for (size_t k = 0; k < op->outputs[i].num_args; k++) {
            if (is_outer(at, op->outputs[i].args[k]) && keeps(at, op, op->outputs[i].args[k]))
                hash = mix(hash, old_value(r, op->outputs[i].args[k]));
        }
    }
    return hash;
}

static void write_op(run *r, const place *at, const pdm_lg_op *op, uint64_t hash)
{
    for (size_t i = 0; i < op->num_outputs; i++) {
        for (size_t k = 0; k < op->outputs[i].num_args; k++) {
            if (is_outer(at, op->outputs[i].args[k]))
                set_value(r, op->outputs[i].args[k], mix(hash, mix(of_text(op->outputs[i].name), k)));
        }
    }
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        const size_t n = attr->type == PDM_LG_BLOCK ? 1 : attr->type == PDM_LG_BLOCKS ? attr->count : 0;
        for (size_t k = 0; k < n; k++) {
            const int32_t index = attr->type == PDM_LG_BLOCK ? attr->u.block : attr->u.ints[k];
            const place inside = {at->program, &at->program->blocks[index]};
            for (size_t m = 0; m < inside.block->num_ops; m++)
                write_op(r, &inside, &inside.block->ops[m], mix(hash, m + 1));
        }
    }
}

static void run_program(run *r, const pdm_lg_program *program);

static bool has_arg(const pdm_lg_slot *slot, const char *name)
{
    for (size_t i = 0; i < slot->num_args; i++) {
        if (!strcmp(slot->args[i], name))
            return true;
    }
    return false;
}

/* What a launch frees: who reads it later finds another value. */
static void forget(run *r, const pdm_lg_mem_opt *records)
{
    for (size_t i = 0; i < records->names->n; i++) {
        const char *name = records->names->v[i], *known = pdm_intern_find(r->names, name, strlen(name));
        if (known)
            pdm_map_remove(&r->values, known);
    }
}

static void run_launch(run *r, const pdm_lg_op *op)
{
    static const pdm_lg_extract_options how = {.feed_params = true};
    run inner = {.names = r->names, .closed = true, .table = r->table};
    const pdm_lg_slot *x = pdm_lg_find_input(op, PDM_LG_CINN_X);
    const pdm_lg_slot *shapes = pdm_lg_find_input(op, PDM_LG_CINN_NO_NEED_X);
    const pdm_lg_slot *out = pdm_lg_find_output(op, PDM_LG_CINN_OUT);
    const pdm_lg_graph *subgraph;
    pdm_lg_program *program;

    if (!done(pdm_lg_cinn_table_get(r->table, pdm_lg_find_attr(op, PDM_LG_CINN_KEY)->u.l, NULL, &subgraph)) ||
        !done(pdm_lg_cinn_extract(subgraph, &how, NULL, &program)))
        return;
    const pdm_lg_block *block = &program->blocks[0];
    size_t feeds = 0, fetches = 0;
    for (size_t i = 0; i < block->num_ops; i++) {
        const pdm_lg_op *port = &block->ops[i];
        if (!strcmp(port->type, "feed")) {
            const char *name = port->outputs[0].args[0];
            if (has_arg(x, name) == has_arg(shapes, name))
                abort();
            /* Nobody may look at the data of the others. */
            set_value(&inner, name, has_arg(x, name) ? *value_of(r, name) : draw());
            feeds++;
        }
    }
    if (feeds != x->num_args + shapes->num_args)
        abort();
    run_program(&inner, program);
    for (size_t i = 0; i < block->num_ops; i++) {
        const pdm_lg_op *port = &block->ops[i];
        if (!strcmp(port->type, "fetch")) {
            const char *name = port->inputs[0].args[0];
            if (fetches >= out->num_args || strcmp(out->args[fetches++], name) != 0)
                abort();
            set_value(r, name, *value_of(&inner, name));
        }
    }
    if (fetches != out->num_args)
        abort();
    forget(r, pdm_lg_graph_get(subgraph, PDM_LG_CINN_MEM_OPT));
    pdm_map_deinit(&inner.values);
    pdm_lg_program_destroy(program);
}

static void run_program(run *r, const pdm_lg_program *program)
{
    const place at = {program, &program->blocks[0]};

    for (size_t i = 0; i < program->blocks[0].num_ops; i++) {
        const pdm_lg_op *op = &program->blocks[0].ops[i];
        if (r->table && !strcmp(op->type, PDM_LG_CINN_LAUNCH)) {
            run_launch(r, op);
            continue;
        }
        if (r->closed && (!strcmp(op->type, "feed") || !strcmp(op->type, "fetch")))
            continue; /* the launch does it */
        const uint64_t hash = read_op(r, &at, op);
        if (!strcmp(op->type, "fetch"))
            r->fetched += hash; /* in whatever order */
        write_op(r, &at, op, hash);
    }
}

/* Nothing is known of subgraphs that others made. */
static bool can_run(const pdm_lg_program *program)
{
    for (size_t i = 0; i < program->blocks[0].num_ops; i++) {
        if (!strcmp(program->blocks[0].ops[i].type, PDM_LG_CINN_LAUNCH))
            return false;
    }
    return true;
}

static void check_meaning(const pdm_lg_program *before, const pdm_lg_program *after, pdm_lg_cinn_table *table,
                          const char *const *kept, size_t num_kept)
{
    pdm_arena arena;
    pdm_intern names;
    run a = {.names = &names}, b = {.names = &names, .table = table};
    const pdm_lg_block *block = &before->blocks[0];

    pdm_arena_init(&arena);
    pdm_intern_init(&names, &arena);
    run_program(&a, before);
    run_program(&b, after);
    if (a.fetched != b.fetched)
        abort();
    for (size_t i = 0; i < block->num_vars; i++) {
        /* Those that hold what is fetched depend on an order that nobody sees. */
        if (pdm_lg_var_is_param(&block->vars[i]) &&
            *value_of(&a, block->vars[i].name) != *value_of(&b, block->vars[i].name))
            abort();
    }
    for (size_t i = 0; i < num_kept; i++) {
        if (*value_of(&a, kept[i]) != *value_of(&b, kept[i]))
            abort();
    }
    pdm_map_deinit(&a.values);
    pdm_map_deinit(&b.values);
    pdm_intern_deinit(&names);
    pdm_arena_deinit(&arena);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* ReserveSpace is left out of subgraphs, so the meaning changes if it is read elsewhere; what
 * shadow_output reads may be declared nowhere. */
static bool is_mapped(void *user, const char *type)
{
    const uint64_t *how = user;

    return strncmp(type, "batch_norm", 10) != 0 && strcmp(type, "shadow_output") != 0 &&
           mix(how[0], of_text(type)) % 8 < how[1];
}

static const char *any_type(const pdm_lg_program *program)
{
    return below(4) ? NULL : program->blocks[0].ops[below(program->blocks[0].num_ops)].type;
}

static void check_subgraphs(pdm_lg_cinn_table *table, const int64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const pdm_lg_extract_options how = {.feed_params = below(2), .by_position = below(2)};
        const pdm_lg_graph *subgraph;
        pdm_lg_program *program;
        if (!done(pdm_lg_cinn_table_get(table, keys[i], NULL, &subgraph)))
            continue;
        expect_independent(subgraph);
        if (!done(pdm_lg_cinn_extract(subgraph, &how, NULL, &program)))
            continue;
        expect_readable(program);
        pdm_lg_program_destroy(program);
    }
}

static void check_dot(const pdm_lg_graph *graph, pdm_lg_cinn_table *table, const int64_t *keys, size_t n)
{
    pdm_buf text;

    pdm_buf_init(&text);
    (void)done(pdm_lg_cinn_dot(graph, table, keys, n, &text));
    pdm_buf_deinit(&text);
}

static void check_after(const pdm_lg_graph *graph, const pdm_lg_program *before, pdm_lg_cinn_table *table,
                        const char *const *kept, size_t num_kept)
{
    pdm_lg_program *after;
    pdm_lg_graph *again;

    if (!done(pdm_lg_graph_to_program(graph, NULL, &after)))
        return;
    expect_readable(after);
    if (done(pdm_lg_graph_from_program(after, NULL, &again))) {
        expect_program(again, after);
        pdm_lg_graph_destroy(again);
    }
    if (can_run(before))
        check_meaning(before, after, table, kept, num_kept);
    pdm_lg_program_destroy(after);
}

static void check_pass(pdm_lg_graph *graph, const pdm_lg_program *program)
{
    uint64_t how[] = {draw(), 1 + below(8)};
    pdm_lg_cinn_options options = {.allow = any_type(program),
                                   .deny = any_type(program),
                                   .inference_stage = below(2),
                                   .allow_inplace = below(2),
                                   .has_mapper = below(4) ? is_mapped : NULL,
                                   .user = how};
    const pdm_lg_block *block = &program->blocks[0];
    const char *kept[MOST_CHOSEN];
    size_t num_kept = 0, num_keys = 0;
    pdm_lg_names *names;
    int64_t *keys = NULL;

    if (!done(pdm_lg_names_create(&names)))
        return;
    while (num_kept < MOST_CHOSEN && block->num_vars > 0 && below(2)) {
        const pdm_lg_var *var = &block->vars[below(block->num_vars)];
        if (var->kind == PDM_LG_DENSE_TENSOR && done(pdm_lg_names_add(names, var->name)))
            kept[num_kept++] = var->name;
    }
    if (!done(pdm_lg_graph_set(graph, PDM_LG_SKIP_GC_VARS, names, &pdm_lg_names_value)) ||
        !done(pdm_lg_cinn_table_create(&options.table)))
        return;
    if (done(pdm_lg_build_cinn(graph, &options, NULL, &keys, &num_keys))) {
        expect_independent(graph);
        if (below(2) && done(pdm_lg_mem_opt_find(graph)))
            (void)done(pdm_lg_cinn_share_mem_opt(graph, options.table, NULL, keys, num_keys));
        check_subgraphs(options.table, keys, num_keys);
        check_dot(graph, options.table, keys, num_keys);
        check_after(graph, program, options.table, kept, num_kept);
        for (size_t i = 0; i < num_keys; i++)
            pdm_lg_cinn_table_release(options.table, keys[i]);
        free(keys);
        if (pdm_lg_cinn_table_size(options.table) != 0)
            abort();
    }
    pdm_lg_cinn_table_destroy(options.table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdm_lg_program *program;
    pdm_lg_graph *graph, *copy;

    state = pdm_hash_bytes(data, size, 0);
    if (pdm_lg_read(data, size, "input", NULL, &program) != PDM_OK)
        return 0;
    if (done(pdm_lg_graph_from_program(program, NULL, &graph))) {
        expect_independent(graph);
        for (size_t i = 0; i < graph->num_subs; i++)
            expect_independent(graph->subs[i]);
        expect_program(graph, program);
        if (done(pdm_lg_graph_clone(graph, &copy))) {
            expect_program(copy, program);
            pdm_lg_graph_destroy(copy);
        }
        check_detector(graph);
        check_pass(graph, program);
        pdm_lg_graph_destroy(graph);
    }
    pdm_lg_program_destroy(program);
    return 0;
}
