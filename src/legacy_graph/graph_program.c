/*
 * Programs to graphs and back.
 *
 * Which variables an op of a block touches is more than its slots say: variables in attributes, and
 * everything that its sub-blocks use of the enclosing blocks. An op may also leave an output as it
 * was (a block that does not run, an element put into an array): then the old definition is read.
 */
#include "legacy_graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "legacy_graph/copy.h"

/* ---- what ops touch -------------------------------------------------------------------------- */

typedef struct name_list {
    const char **v; /* interned in the program */
    size_t n, cap;
} name_list;

typedef struct uses {
    name_list reads, writes; /* each name once */
    bool computed;
} uses;

typedef struct scan {
    const pdm_lg_program *program;
    uses *blocks;  /* by block: what it uses of the blocks around it */
    pdm_map seen;  /* name -> bits of what was noted for the list at hand */
    bool *on_path; /* by block, against circles */
    bool *owned;   /* by block: an op has it */
    pdm_map stray; /* names of outer variables in blocks that no op has */
} scan;

enum { READ = 1, WRITTEN = 2 };

static pdm_status note(scan *s, uses *u, const char *name, unsigned how)
{
    pdm_map_entry *entry = pdm_map_put(&s->seen, name);
    name_list *list = how == READ ? &u->reads : &u->writes;

    if (!entry)
        return PDM_NOMEM;
    if (entry->value.num & how)
        return PDM_OK;
    entry->value.num |= how;
    return PDM_VEC_PUSH(list, name) ? PDM_OK : PDM_NOMEM;
}

/* Calls fn for each argument; stops at a failure. */
static pdm_status each_arg(const pdm_lg_slot *slots, size_t n, unsigned how,
                           pdm_status (*fn)(void *user, const char *name, unsigned how), void *user)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < slots[i].num_args; k++)
            PDM_TRY(fn(user, slots[i].args[k], how));
    }
    return PDM_OK;
}

/* The slots of an op, and variables in its attributes. */
static pdm_status each_own_use(const pdm_lg_op *op,
                               pdm_status (*fn)(void *user, const char *name, unsigned how),
                               void *user)
{
    PDM_TRY(each_arg(op->inputs, op->num_inputs, READ, fn, user));
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        if (attr->type == PDM_LG_VAR)
            PDM_TRY(fn(user, attr->u.s, READ));
        for (size_t k = 0; attr->type == PDM_LG_VARS && k < attr->count; k++)
            PDM_TRY(fn(user, attr->u.strings[k], READ));
    }
    return each_arg(op->outputs, op->num_outputs, WRITTEN, fn, user);
}

/* What a block uses of those around it. */
typedef struct outer {
    scan *s;
    const pdm_lg_block *block;
    uses *to;
} outer;

static pdm_status note_outer(void *user, const char *name, unsigned how)
{
    const outer *o = user;

    if (!strcmp(name, PDM_LG_EMPTY_VAR) || pdm_lg_block_var(o->block, name))
        return PDM_OK;
    return note(o->s, o->to, name, how);
}

/* Blocks of an op. fn is called with each index that exists. */
static pdm_status each_sub_block(const pdm_lg_program *program, const pdm_lg_op *op,
                                 pdm_status (*fn)(void *user, int32_t block), void *user)
{
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        const bool one = attr->type == PDM_LG_BLOCK;
        const size_t n = one ? 1 : attr->type == PDM_LG_BLOCKS ? attr->count : 0;
        for (size_t k = 0; k < n; k++) {
            const int32_t block = one ? attr->u.block : attr->u.ints[k];
            if (block > 0 && (size_t)block < program->num_blocks)
                PDM_TRY(fn(user, block));
        }
    }
    return PDM_OK;
}

static pdm_status note_inner(void *user, int32_t block)
{
    const outer *o = user;
    const uses *inner = &o->s->blocks[block];

    for (size_t i = 0; i < inner->reads.n; i++)
        PDM_TRY(note_outer(user, inner->reads.v[i], READ));
    for (size_t i = 0; i < inner->writes.n; i++)
        PDM_TRY(note_outer(user, inner->writes.v[i], WRITTEN));
    return PDM_OK;
}

static pdm_status own(void *user, int32_t block)
{
    const scan *s = user;

    s->owned[block] = true;
    return PDM_OK;
}

/* Blocks that no op has never run, but what they name must stay declared. */
static pdm_status find_stray(scan *s)
{
    for (size_t i = 0; i < s->program->num_blocks; i++) {
        for (size_t k = 0; k < s->program->blocks[i].num_ops; k++)
            PDM_TRY(each_sub_block(s->program, &s->program->blocks[i].ops[k], own, s));
    }
    for (size_t i = 1; i < s->program->num_blocks; i++) {
        const name_list *const lists[] = {&s->blocks[i].reads, &s->blocks[i].writes};
        for (size_t k = 0; k < 2 && !s->owned[i]; k++) {
            for (size_t n = 0; n < lists[k]->n; n++) {
                if (!pdm_map_put(&s->stray, lists[k]->v[n]))
                    return PDM_NOMEM;
            }
        }
    }
    return PDM_OK;
}

static pdm_status compute_uses(void *user, int32_t index)
{
    scan *s = user;
    const pdm_lg_block *block = &s->program->blocks[index];
    outer o = {s, block, &s->blocks[index]};
    pdm_status status = PDM_OK;

    if (o.to->computed || s->on_path[index])
        return PDM_OK;
    s->on_path[index] = true;
    for (size_t i = 0; i < block->num_ops; i++)
        PDM_TRY(each_sub_block(s->program, &block->ops[i], compute_uses, s));
    s->on_path[index] = false;
    for (size_t i = 0; i < block->num_ops && status == PDM_OK; i++) {
        status = each_own_use(&block->ops[i], note_outer, &o);
        if (status == PDM_OK)
            status = each_sub_block(s->program, &block->ops[i], note_inner, &o);
    }
    pdm_map_deinit(&s->seen);
    o.to->computed = true;
    return status;
}

/* ---- from a program -------------------------------------------------------------------------- */

typedef struct maker {
    scan *s;
    int32_t block;
    pdm_lg_graph *graph;
    pdm_map current; /* name of the program -> node of its last definition */
    pdm_lg_node *op;
    bool keeps; /* the op may leave its outputs as they were */
} maker;

static pdm_status new_var(maker *m, const char *name, pdm_lg_node **out)
{
    int32_t where = -1;
    const pdm_lg_var *var = pdm_lg_lookup_var(m->s->program, m->block, name, &where);

    if (!var)
        return pdm_lg_graph_add_named(m->graph, PDM_LG_NODE_VAR, name, out);
    PDM_TRY(pdm_lg_graph_add_var(m->graph, var, out));
    (*out)->outer = where != m->block;
    return PDM_OK;
}

static pdm_status read_var(void *user, const char *name, unsigned how)
{
    maker *m = user;
    pdm_lg_node *var;

    if (how != READ)
        return PDM_OK;
    if (!strcmp(name, PDM_LG_EMPTY_VAR)) { /* stands for nothing: orders nothing either */
        PDM_TRY(pdm_lg_graph_add_named(m->graph, PDM_LG_NODE_VAR, name, &var));
        return pdm_lg_link(var, m->op);
    }
    pdm_map_entry *entry = pdm_map_put(&m->current, name);
    if (!entry)
        return PDM_NOMEM;
    if (!entry->value.ptr) {
        PDM_TRY(new_var(m, name, &var));
        entry->value.ptr = var;
    }
    return pdm_lg_link(entry->value.ptr, m->op);
}

/* to comes after from, by a control dependency. */
static pdm_status order(maker *m, pdm_lg_node *from, pdm_lg_node *to)
{
    pdm_lg_node *control;

    PDM_TRY(pdm_lg_graph_add_named(m->graph, PDM_LG_NODE_VAR, PDM_LG_CONTROL_VAR, &control));
    PDM_TRY(pdm_lg_link(from, control));
    return pdm_lg_link(control, to);
}

/* The op overwrites a definition. */
static pdm_status after_uses(maker *m, pdm_lg_node *old)
{
    bool waits = false;

    for (size_t i = 0; i < old->outputs.n; i++) {
        waits = true; /* and so after the writer too */
        if (old->outputs.v[i] != m->op)
            PDM_TRY(order(m, old->outputs.v[i], m->op));
    }
    for (size_t i = 0; i < old->inputs.n && !waits; i++) {
        if (old->inputs.v[i] != m->op)
            PDM_TRY(order(m, old->inputs.v[i], m->op));
    }
    return PDM_OK;
}

/* Holders of fed and fetched values, whose columns are independent of each other. */
static bool is_holder(const pdm_lg_node *var)
{
    return var->var &&
           (var->var->kind == PDM_LG_FETCH_LIST || var->var->kind == PDM_LG_FEED_MINIBATCH);
}

static pdm_status write_var(void *user, const char *name, unsigned how)
{
    maker *m = user;
    pdm_lg_node *var, *old;

    if (how != WRITTEN)
        return PDM_OK;
    if (!strcmp(name, PDM_LG_EMPTY_VAR)) {
        PDM_TRY(pdm_lg_graph_add_named(m->graph, PDM_LG_NODE_VAR, name, &var));
        return pdm_lg_link(m->op, var);
    }
    pdm_map_entry *entry = pdm_map_put(&m->current, name);
    if (!entry)
        return PDM_NOMEM;
    old = entry->value.ptr;
    if (old && old->inputs.n > 0 && old->inputs.v[0] == m->op)
        return PDM_OK; /* named twice */
    const bool array = old && old->var && old->var->kind == PDM_LG_TENSOR_ARRAY;
    if (old && (m->keeps || array))
        PDM_TRY(pdm_lg_link(old, m->op));
    if (old && !is_holder(old))
        PDM_TRY(after_uses(m, old));
    PDM_TRY(new_var(m, name, &var));
    entry->value.ptr = var;
    return pdm_lg_link(m->op, var);
}

static pdm_status block_reads(void *user, int32_t block)
{
    const maker *m = user;
    const name_list *reads = &m->s->blocks[block].reads;

    for (size_t i = 0; i < reads->n; i++)
        PDM_TRY(read_var(user, reads->v[i], READ));
    return PDM_OK;
}

static pdm_status block_writes(void *user, int32_t block)
{
    const maker *m = user;
    const name_list *writes = &m->s->blocks[block].writes;

    for (size_t i = 0; i < writes->n; i++)
        PDM_TRY(write_var(user, writes->v[i], WRITTEN));
    return PDM_OK;
}

static pdm_status add_op(maker *m, const pdm_lg_op *op)
{
    const pdm_lg_program *program = m->s->program;

    PDM_TRY(pdm_lg_graph_add_op(m->graph, op, &m->op));
    m->keeps = pdm_lg_has_block(op) || !strcmp(op->type, "select_output");
    PDM_TRY(each_own_use(op, read_var, m));
    PDM_TRY(each_sub_block(program, op, block_reads, m));
    PDM_TRY(each_own_use(op, write_var, m));
    return each_sub_block(program, op, block_writes, m);
}

/* After the nodes were made. */
static pdm_status declare(const maker *m, const pdm_lg_block *block)
{
    pdm_lg_graph *graph = m->graph;
    const pdm_lg_copier copier = {.arena = &graph->arena, .strings = &graph->strings};
    pdm_lg_declared *declared = pdm_arena_calloc(&graph->arena, block->num_vars, sizeof *declared);
    pdm_lg_var *vars = pdm_arena_calloc(&graph->arena, block->num_vars, sizeof *vars);

    if (!declared || !vars)
        return PDM_NOMEM;
    for (size_t i = 0; i < block->num_vars; i++) {
        PDM_TRY(pdm_lg_copy_var(&copier, &block->vars[i], &vars[i]));
        declared[i].var = &vars[i];
        declared[i].linked = pdm_map_find(&m->current, block->vars[i].name) &&
                             !pdm_map_find(&m->s->stray, block->vars[i].name);
    }
    graph->declared = declared;
    graph->num_declared = block->num_vars;
    return PDM_OK;
}

static pdm_status make_block(scan *s, int32_t index, pdm_lg_graph *graph)
{
    const pdm_lg_block *block = &s->program->blocks[index];
    maker m = {.s = s, .block = index, .graph = graph};
    pdm_status status;

    graph->block = index;
    graph->parent = block->parent;
    graph->forward_idx = block->forward_idx;
    for (size_t i = 0; i < block->num_ops; i++)
        PDM_TRY_GOTO(add_op(&m, &block->ops[i]));
    status = declare(&m, block);
done:
    pdm_map_deinit(&m.current);
    return status;
}

static pdm_status make_graph(scan *s, pdm_lg_graph *graph)
{
    const pdm_lg_program *program = s->program;
    const pdm_lg_copier copier = {.arena = &graph->arena, .strings = &graph->strings};
    pdm_lg_program versions = {0};

    for (size_t i = 1; i < program->num_blocks; i++)
        PDM_TRY(compute_uses(s, (int32_t)i));
    PDM_TRY(find_stray(s));
    PDM_TRY(pdm_lg_copy_versions(&copier, program, &versions));
    graph->version = versions.version;
    graph->has_version = versions.has_version;
    graph->has_op_versions = versions.has_op_versions;
    graph->op_versions = versions.op_versions;
    graph->num_op_versions = versions.num_op_versions;
    PDM_TRY(make_block(s, 0, graph));
    graph->subs = pdm_arena_calloc(&graph->arena, program->num_blocks, sizeof *graph->subs);
    if (!graph->subs)
        return PDM_NOMEM;
    while (graph->num_subs + 1 < program->num_blocks) {
        pdm_lg_graph *sub;
        PDM_TRY(pdm_lg_graph_create(program->path, &sub));
        graph->subs[graph->num_subs++] = sub;
        PDM_TRY(make_block(s, (int32_t)graph->num_subs, sub));
    }
    return PDM_OK;
}

pdm_status pdm_lg_graph_from_program(const pdm_lg_program *program, pdm_diag_sink *sink,
                                     pdm_lg_graph **out_graph)
{
    scan s = {.program = program};
    pdm_lg_graph *graph = NULL;
    pdm_status status;

    if (program->num_blocks == 0) {
        pdm_loc loc = PDM_NOWHERE;
        loc.file = program->path;
        return pdm_diag(sink, PDM_D_LG_NO_BLOCK, &loc, NULL, "the program has no block");
    }
    PDM_TRY(pdm_lg_graph_create(program->path, &graph));
    s.blocks = calloc(program->num_blocks, sizeof *s.blocks);
    s.on_path = calloc(program->num_blocks, sizeof *s.on_path);
    s.owned = calloc(program->num_blocks, sizeof *s.owned);
    status = s.blocks && s.on_path && s.owned ? make_graph(&s, graph) : PDM_NOMEM;
    for (size_t i = 0; s.blocks && i < program->num_blocks; i++) {
        PDM_VEC_FREE(&s.blocks[i].reads);
        PDM_VEC_FREE(&s.blocks[i].writes);
    }
    free(s.blocks);
    free(s.on_path);
    free(s.owned);
    pdm_map_deinit(&s.stray);
    pdm_map_deinit(&s.seen);
    if (status != PDM_OK) {
        pdm_lg_graph_destroy(graph);
        return status;
    }
    *out_graph = graph;
    return PDM_OK;
}

/* ---- to a program ---------------------------------------------------------------------------- */

typedef struct writer {
    const pdm_lg_graph *graph;
    pdm_lg_program *program;
    pdm_lg_block *block;
    pdm_lg_copier copier;
    pdm_map alive; /* names of the graph that a node has -> 1, or 2 when it is in the block */
} writer;

static pdm_status put_var(writer *w, const pdm_lg_var *var, pdm_lg_var *to)
{
    PDM_TRY(pdm_lg_copy_var(&w->copier, var, to));
    pdm_map_entry *entry = pdm_map_put(&w->block->var_index, to->name);
    if (!entry)
        return PDM_NOMEM;
    entry->value.num = (uint64_t)(to - w->block->vars);
    w->block->num_vars++;
    return PDM_OK;
}

static pdm_status put_vars(writer *w)
{
    const pdm_lg_graph *graph = w->graph;
    pdm_lg_var *vars = pdm_arena_calloc(&w->program->arena, graph->num_declared + graph->num_nodes,
                                        sizeof *vars);

    if (!vars)
        return PDM_NOMEM;
    w->block->vars = vars;
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        pdm_map_entry *entry = NULL;
        if (!node || !node->var || node->outer)
            continue;
        entry = pdm_map_put(&w->alive, node->name);
        if (!entry)
            return PDM_NOMEM;
        entry->value.num = 1;
    }
    for (size_t i = 0; i < graph->num_declared; i++) {
        const pdm_lg_declared *d = &graph->declared[i];
        pdm_map_entry *entry = pdm_map_find(&w->alive, d->var->name);
        if (d->linked && !entry)
            continue;
        if (entry)
            entry->value.num = 2;
        PDM_TRY(put_var(w, d->var, &vars[w->block->num_vars]));
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const pdm_lg_node *node = graph->nodes.v[i];
        pdm_map_entry *entry = node ? pdm_map_find(&w->alive, node->name) : NULL;
        if (!entry || !node->var || node->outer || entry->value.num == 2)
            continue;
        entry->value.num = 2;
        PDM_TRY(put_var(w, node->var, &vars[w->block->num_vars]));
    }
    return PDM_OK;
}

static pdm_status put_ops(writer *w, const pdm_lg_nodes *order)
{
    pdm_lg_op *ops = pdm_arena_calloc(&w->program->arena, order->n, sizeof *ops);

    if (!ops)
        return PDM_NOMEM;
    for (size_t i = 0; i < order->n; i++) {
        const pdm_lg_op by_name = {.type = order->v[i]->name};
        PDM_TRY(pdm_lg_copy_op(&w->copier, order->v[i]->op ? order->v[i]->op : &by_name, &ops[i]));
    }
    w->block->ops = ops;
    w->block->num_ops = order->n;
    return PDM_OK;
}

static pdm_status put_block(const pdm_lg_graph *graph, pdm_lg_program *program,
                            pdm_lg_block *block, pdm_diag_sink *sink)
{
    writer w = {.graph = graph,
                .program = program,
                .block = block,
                .copier = {.arena = &program->arena, .strings = &program->strings}};
    pdm_lg_nodes order;

    block->idx = graph->block;
    block->parent = graph->parent;
    block->forward_idx = graph->forward_idx;
    pdm_status status = pdm_lg_graph_order(graph, NULL, sink, &order);
    if (status == PDM_OK)
        status = put_vars(&w);
    if (status == PDM_OK)
        status = put_ops(&w, &order);
    PDM_VEC_FREE(&order);
    pdm_map_deinit(&w.alive);
    return status;
}

static pdm_status put_program(const pdm_lg_graph *graph, pdm_lg_program *program,
                              pdm_diag_sink *sink)
{
    const pdm_lg_copier copier = {.arena = &program->arena, .strings = &program->strings};
    const pdm_lg_program versions = {.version = graph->version,
                                     .has_version = graph->has_version,
                                     .has_op_versions = graph->has_op_versions,
                                     .op_versions = graph->op_versions,
                                     .num_op_versions = graph->num_op_versions};

    PDM_TRY(pdm_lg_copy_versions(&copier, &versions, program));
    program->blocks =
        pdm_arena_calloc(&program->arena, graph->num_subs + 1, sizeof *program->blocks);
    if (!program->blocks)
        return PDM_NOMEM;
    program->num_blocks = graph->num_subs + 1;
    PDM_TRY(put_block(graph, program, &program->blocks[0], sink));
    for (size_t i = 0; i < graph->num_subs; i++)
        PDM_TRY(put_block(graph->subs[i], program, &program->blocks[i + 1], sink));
    return PDM_OK;
}

pdm_status pdm_lg_graph_to_program(const pdm_lg_graph *graph, pdm_diag_sink *sink,
                                   pdm_lg_program **out_program)
{
    pdm_lg_program *program;

    PDM_TRY(pdm_lg_program_create(graph->path, &program));
    const pdm_status status = put_program(graph, program, sink);
    if (status != PDM_OK) {
        pdm_lg_program_destroy(program);
        return status;
    }
    *out_program = program;
    return PDM_OK;
}
