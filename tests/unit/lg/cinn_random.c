/*
 * Properties of build_cinn_pass on random graphs, which are the same in every run:
 *
 * - structure: 10,000 graphs of 1 to 200 ops with random eligibility, made of nodes in random order;
 * - meaning: 10,000 programs that write names many times, with branches and loops in blocks of their own, run before and
 *   after the pass by an interpreter in which an op's output is a hash of its inputs.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "legacy_graph/cinn_impl.h"
#include "legacy_graph/dump.h"
#include "unit/lg/draft.h"

Suite *pdm_suite_lg_random(void);

enum { PARTS = 10, GRAPHS = 10000 / PARTS, MOST_OPS = 200, MOST_IN = 3, MOST_OUT = 2, MOST_VARS = MOST_OPS * MOST_OUT };

static uint64_t state;

static uint64_t random_u64(void)
{
    state += 0x9e3779b97f4a7c15u;
    return pdm_hash_bytes(&state, sizeof state, 1);
}

static size_t below(size_t n)
{
    return (size_t)(random_u64() % n);
}

/* Mostly small graphs, some as large as they may be. */
static size_t random_size(void)
{
    return 1 + below(1 + below(MOST_OPS));
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct plan_op {
    bool eligible;
    int in[MOST_IN]; /* variables; OWN: one of its own that nothing writes; EMPTY: no variable */
    size_t num_in, num_out;
    int out[MOST_OUT];
    bool empty; /* it writes nothing that has a name, too */
    int after;  /* an op that a control dependency puts before; -1: none */
} plan_op;

enum { OWN = -1, EMPTY = -2 };

static plan_op ops[MOST_OPS];
static size_t num_ops;
static int num_vars;
static size_t writer[MOST_VARS]; /* by variable: its op */

static void plan_graph(void)
{
    const size_t eligible_of_8 = below(9), reach = 1 + below(40);

    num_ops = random_size();
    num_vars = 0;
    for (size_t i = 0; i < num_ops; i++) {
        plan_op *op = &ops[i];
        op->eligible = below(8) < eligible_of_8;
        op->num_in = below(MOST_IN + 1);
        for (size_t k = 0; k < op->num_in; k++) {
            const size_t back = 1 + below(below(8) ? reach : (size_t)num_vars + 1);
            op->in[k] = back <= (size_t)num_vars ? num_vars - (int)back : below(4) ? OWN : EMPTY;
        }
        op->after = i > 0 && below(8) == 0 ? (int)below(i) : -1;
        op->empty = below(8) == 0;
        op->num_out = 1 + below(MOST_OUT);
        for (size_t k = 0; k < op->num_out; k++) {
            if (k > 0 && below(16) == 0)
                op->out[k] = op->out[0]; /* named twice */
            else
                writer[op->out[k] = num_vars++] = i;
        }
    }
}

static void shuffle(size_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = i;
    for (size_t i = n; i > 1; i--) {
        const size_t k = below(i), t = v[i - 1];
        v[i - 1] = v[k];
        v[k] = t;
    }
}

/* Ops are named by type; the first output tells which one it is. */
static pdm_lg_node *make_op(size_t i)
{
    char in[160] = "X=", out[128] = "Out=";
    const plan_op *op = &ops[i];
    size_t used = strlen(in);

    for (size_t k = 0; k < op->num_in; k++) {
        if (op->in[k] >= 0)
            used += (size_t)snprintf(in + used, sizeof in - used, "v%03d,", op->in[k]);
        else if (op->in[k] == OWN)
            used += (size_t)snprintf(in + used, sizeof in - used, "p%03zu_%zu,", i, k);
        else
            used += (size_t)snprintf(in + used, sizeof in - used, "%s,", PDM_LG_EMPTY_VAR);
    }
    used = strlen(out);
    for (size_t k = 0; k < op->num_out; k++)
        used += (size_t)snprintf(out + used, sizeof out - used, "v%03d,", op->out[k]);
    if (op->empty)
        snprintf(out + used, sizeof out - used, "%s,", PDM_LG_EMPTY_VAR);
    return draft_op(op->eligible ? "yes" : "no", in, out);
}

static void link_op(size_t i, pdm_lg_node **op_nodes, pdm_lg_node **var_nodes)
{
    const plan_op *op = &ops[i];
    char name[32];

    for (size_t k = 0; k < op->num_in; k++) {
        snprintf(name, sizeof name, "p%03zu_%zu", i, k);
        pdm_lg_node *var = op->in[k] >= 0     ? var_nodes[op->in[k]]
                           : op->in[k] == OWN ? draft_param(name)
                                              : draft_empty(PDM_LG_EMPTY_VAR);
        draft_in(op_nodes[i], var, NULL);
    }
    for (size_t k = 0; k < op->num_out; k++)
        draft_out(op_nodes[i], var_nodes[op->out[k]], NULL);
    if (op->empty)
        draft_out(op_nodes[i], draft_empty(PDM_LG_EMPTY_VAR), NULL);
    if (op->after >= 0) {
        pdm_lg_node *control = draft_control();
        draft_out(op_nodes[op->after], control, NULL);
        draft_in(op_nodes[i], control, NULL);
    }
}

/* The graph of the plan, with nodes in random order or in the order of the plan. */
static pdm_lg_node **make_graph(bool in_order)
{
    static pdm_lg_node *op_nodes[MOST_OPS], *var_nodes[MOST_VARS];
    static size_t order[MOST_OPS + MOST_VARS];
    const size_t n = num_ops + (size_t)num_vars;
    char name[32];

    draft_begin();
    shuffle(order, n);
    for (size_t i = 0; i < n; i++) {
        const size_t at = in_order ? i : order[i];
        if (at < num_ops) {
            op_nodes[at] = make_op(at);
            continue;
        }
        snprintf(name, sizeof name, "v%03zu", at - num_ops);
        var_nodes[at - num_ops] = draft_var(name);
    }
    shuffle(order, num_ops);
    for (size_t i = 0; i < num_ops; i++)
        link_op(in_order ? i : order[i], op_nodes, var_nodes);
    return op_nodes;
}

static bool is_yes(void *user, const char *type)
{
    (void)user;
    return !strcmp(type, "yes");
}

/* ---- structure ------------------------------------------------------------------------------- */

static uint64_t reach[MOST_OPS][MOST_OPS / 64 + 1];
static bool edge[MOST_OPS][MOST_OPS];

static bool reaches(size_t from, size_t to)
{
    return reach[from][to / 64] >> to % 64 & 1;
}

static void put_edge(size_t from, size_t to)
{
    if (from != to)
        edge[from][to] = true;
}

/* group: of each op. The condensed graph has no cycle, and no two clusters in it could be merged. */
static void check_groups(const size_t *group, size_t num_groups, const bool *eligible)
{
    for (size_t i = 0; i < num_groups; i++) {
        memset(reach[i], 0, sizeof reach[i]);
        memset(edge[i], 0, num_groups * sizeof edge[i][0]);
    }
    for (size_t k = 0; k < num_ops; k++) {
        for (size_t a = 0; a < ops[k].num_in; a++) {
            if (ops[k].in[a] >= 0)
                put_edge(group[writer[ops[k].in[a]]], group[k]);
        }
        if (ops[k].after >= 0)
            put_edge(group[ops[k].after], group[k]);
    }
    for (size_t i = 0; i < num_groups; i++) {
        for (size_t k = 0; k < num_groups; k++)
            reach[i][k / 64] |= (uint64_t)edge[i][k] << k % 64;
    }
    for (size_t m = 0; m < num_groups; m++) {
        for (size_t i = 0; i < num_groups; i++) {
            for (size_t w = 0; reaches(i, m) && w <= num_groups / 64; w++)
                reach[i][w] |= reach[m][w];
        }
    }
    for (size_t i = 0; i < num_groups; i++) {
        if (!(!reaches(i, i)))
            ck_abort_msg("putting clusters together makes a cycle");
        for (size_t k = 0; k < num_groups; k++) {
            bool other_way = false;
            if (!edge[i][k] || !eligible[i] || !eligible[k])
                continue;
            for (size_t x = 0; x < num_groups; x++)
                other_way |= x != k && edge[i][x] && reaches(x, k);
            if (!other_way)
                ck_abort_msg("two clusters could be put together");
        }
    }
}

static size_t plan_index(const pdm_lg_node *op)
{
    return writer[atoi(pdm_lg_find_output(op->op, "Out")->args[0] + 1)];
}

/* By op of the plan: the least op of its cluster; its own index when it is in none. */
static void detect(size_t *least)
{
    bool eligible[4 * MOST_OPS * (MOST_IN + MOST_OUT + 2)] = {false};
    pdm_lg_clusters clusters;

    for (size_t i = 0; i < draft->nodes.n; i++)
        eligible[i] = is_yes(NULL, draft->nodes.v[i]->name);
    DRAFT_HOLDS(pdm_lg_detect(draft, eligible, NULL, &clusters) == PDM_OK);
    for (size_t i = 0; i < num_ops; i++)
        least[i] = i;
    for (size_t c = 0; c < clusters.n; c++) {
        size_t first = MOST_OPS;
        for (size_t k = 0; k < clusters.v[c].num_ops; k++) {
            const size_t at = plan_index(clusters.v[c].ops[k]);
            DRAFT_HOLDS(ops[at].eligible);
            first = at < first ? at : first;
        }
        for (size_t k = 0; k < clusters.v[c].num_ops; k++)
            least[plan_index(clusters.v[c].ops[k])] = first;
    }
    pdm_lg_clusters_deinit(&clusters);
}

static void check_maximal(const size_t *least)
{
    size_t group[MOST_OPS], num_groups = 0;
    bool eligible[MOST_OPS];

    for (size_t i = 0; i < num_ops; i++) {
        if (least[i] == i) {
            eligible[num_groups] = ops[i].eligible;
            group[i] = num_groups++;
        } else {
            group[i] = group[least[i]];
        }
    }
    check_groups(group, num_groups, eligible);
}

/* B4.5: the sets are disjoint, outs and internals are all outputs of the members, ins has none. */
static void check_sets(void)
{
    const pdm_lg_cinn_options options = {.inference_stage = below(2), .has_mapper = is_yes};
    const size_t n = draft->nodes.n;
    pdm_lg_cinn_marks marks = {calloc(n, sizeof(uint32_t)), calloc(n, sizeof(uint32_t)),
                               calloc(n, sizeof(uint32_t))};
    char *where = calloc(n, 1);
    bool *eligible;
    pdm_lg_clusters clusters;

    DRAFT_HOLDS(pdm_lg_cinn_eligible(draft, &options, NULL, &eligible) == PDM_OK);
    DRAFT_HOLDS(pdm_lg_detect(draft, eligible, NULL, &clusters) == PDM_OK);
    for (uint32_t c = 0; c < clusters.n; c++) {
        pdm_lg_cinn_sets sets;
        DRAFT_HOLDS(pdm_lg_cinn_sets_of(draft, &clusters.v[c], c + 1, &options, &marks, &sets) == PDM_OK);
        const pdm_lg_nodes *const all[] = {&sets.ins, &sets.outs, &sets.internals};
        memset(where, 0, n);
        for (int s = 0; s < 3; s++) {
            for (size_t i = 0; i < all[s]->n; i++) {
                DRAFT_HOLDS(!where[all[s]->v[i]->id]);
                where[all[s]->v[i]->id] = (char)(s + 1);
            }
        }
        size_t outputs = 0;
        for (size_t i = 0; i < clusters.v[c].num_ops; i++) {
            const pdm_lg_node *op = clusters.v[c].ops[i];
            for (size_t k = 0; k < op->outputs.n; k++)
                DRAFT_HOLDS(where[op->outputs.v[k]->id] >= 2);
            for (size_t k = 0; k < op->inputs.n; k++)
                DRAFT_HOLDS(where[op->inputs.v[k]->id]);
            outputs += op->outputs.n;
        }
        DRAFT_HOLDS(outputs == sets.outs.n + sets.internals.n);
        pdm_lg_cinn_sets_deinit(&sets);
    }
    pdm_lg_clusters_deinit(&clusters);
    free(eligible);
    free(where);
    free(marks.member);
    free(marks.in);
    free(marks.out);
}

static char *text_of(const pdm_lg_program *program)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    pdm_lg_dump_text(program, &buf);
    return pdm_buf_take(&buf);
}

/* Graph to program to graph to program: the same program. */
static void check_stable(const pdm_lg_graph *graph)
{
    pdm_lg_program *first, *second;
    pdm_lg_graph *again;

    DRAFT_HOLDS(pdm_lg_graph_to_program(graph, NULL, &first) == PDM_OK);
    DRAFT_HOLDS(pdm_lg_graph_from_program(first, NULL, &again) == PDM_OK);
    draft_expect_independent(again);
    DRAFT_HOLDS(pdm_lg_graph_to_program(again, NULL, &second) == PDM_OK);
    char *a = text_of(first), *b = text_of(second);
    DRAFT_HOLDS(!strcmp(a, b));
    free(a);
    free(b);
    pdm_lg_program_destroy(first);
    pdm_lg_program_destroy(second);
    pdm_lg_graph_destroy(again);
}

static void check_pass(pdm_lg_cinn_table *table)
{
    const pdm_lg_cinn_options options = {
        .inference_stage = below(2), .has_mapper = is_yes, .table = table};
    pdm_lg_nodes order;
    int64_t *keys;
    size_t num_keys;

    DRAFT_HOLDS(pdm_lg_build_cinn(draft, &options, NULL, &keys, &num_keys) == PDM_OK);
    draft_expect_independent(draft);
    DRAFT_HOLDS(pdm_lg_graph_order(draft, NULL, NULL, &order) == PDM_OK);
    PDM_VEC_FREE(&order);
    check_stable(draft);
    for (size_t i = 0; i < num_keys; i++) {
        const pdm_lg_graph *subgraph;
        DRAFT_HOLDS(pdm_lg_cinn_table_get(table, keys[i], NULL, &subgraph) == PDM_OK);
        draft_expect_independent(subgraph);
    }
    for (size_t i = 0; i < num_keys; i++)
        pdm_lg_cinn_table_release(table, keys[i]);
    free(keys);
}

START_TEST(structure)
{
    pdm_lg_cinn_table *table;

    state = (uint64_t)_i << 32 | 1;
    DRAFT_HOLDS(pdm_lg_cinn_table_create(&table) == PDM_OK);
    for (int round = 0; round < GRAPHS; round++) {
        size_t least[MOST_OPS], permuted[MOST_OPS];
        plan_graph();
        make_graph(true);
        detect(least);
        check_maximal(least);
        check_sets();
        check_stable(draft);
        draft_end();
        make_graph(false);
        detect(permuted);
        ck_assert_msg(!memcmp(least, permuted, num_ops * sizeof *least),
                      "graph %d: other ids give other clusters", round);
        check_pass(table);
        draft_end();
    }
    ck_assert_uint_eq(pdm_lg_cinn_table_size(table), 0);
    pdm_lg_cinn_table_destroy(table);
}
END_TEST

/* ---- meaning --------------------------------------------------------------------------------- */

enum { NAMES = 24, FETCHES = 6, MOST_BLOCKS = 4 };

#define BRANCH "branch" /* runs its block, or leaves everything as it was */
#define LOOP   "loop"   /* runs it once, twice, or not at all */

static const char *names[NAMES];

/* Names of a block: in block 0 all that are used, elsewhere those that are its own, which hide others. */
static void declare(pdm_lg_program *p, pdm_lg_block *block, size_t used)
{
    pdm_lg_var *vars = pdm_arena_calloc(&p->arena, used, sizeof *vars);

    for (size_t i = 0; i < used; i++) {
        if (block->idx > 0 && below(4))
            continue;
        vars[block->num_vars] = (pdm_lg_var){.name = names[i], .kind = PDM_LG_DENSE_TENSOR,
                                             .dtype_number = -1,
                                             .persistable = block->idx == 0 && i < 2};
        pdm_map_put(&block->var_index, names[i])->value.num = block->num_vars++;
    }
    block->vars = vars;
}

static void random_op(pdm_lg_program *p, size_t used, const char *type, int32_t number, pdm_lg_op *op)
{
    pdm_lg_slot *slots = pdm_arena_calloc(&p->arena, 2, sizeof *slots);
    const char **args = pdm_arena_calloc(&p->arena, MOST_IN + MOST_OUT, sizeof *args);
    pdm_lg_attr *attrs = pdm_arena_calloc(&p->arena, 2, sizeof *attrs);

    slots[0] = (pdm_lg_slot){"X", args, 1 + below(MOST_IN)};
    slots[1] = (pdm_lg_slot){"Out", args + MOST_IN, 1 + below(MOST_OUT)};
    for (size_t k = 0; k < MOST_IN + MOST_OUT; k++)
        args[k] = names[below(used)]; /* outputs may be one twice */
    attrs[0] = (pdm_lg_attr){.name = "number", .type = PDM_LG_INT, .u.i = number};
    *op = (pdm_lg_op){.type = type,
                      .inputs = slots, .num_inputs = 1,
                      .outputs = slots + 1, .num_outputs = 1,
                      .attrs = attrs, .num_attrs = 1};
}

/* Give an op that has none a block; type: BRANCH or LOOP. */
static void give_block(pdm_lg_program *p, size_t used, int32_t parent)
{
    pdm_lg_block *to = &p->blocks[p->num_blocks], *from = &p->blocks[parent];
    pdm_lg_op *op = (pdm_lg_op *)(uintptr_t)&from->ops[below(from->num_ops)];
    const size_t n = 1 + below(4);
    pdm_lg_op *list = pdm_arena_calloc(&p->arena, n, sizeof *list);
    pdm_lg_attr *attrs = (pdm_lg_attr *)(uintptr_t)op->attrs;

    if (op->num_attrs != 1 || op->num_outputs == 0)
        return;
    op->type = below(2) ? BRANCH : LOOP;
    attrs[op->num_attrs++] =
        (pdm_lg_attr){.name = "sub_block", .type = PDM_LG_BLOCK, .u.block = (int32_t)p->num_blocks};
    *to = (pdm_lg_block){.idx = (int32_t)p->num_blocks++, .parent = parent, .forward_idx = -1,
                         .ops = list, .num_ops = n};
    declare(p, to, used);
    for (size_t i = 0; i < n; i++)
        random_op(p, used, "yes", 1000 * to->idx + (int32_t)i, &list[i]);
}

/* A program over few names: most ops write what was written before. */
static pdm_lg_program *random_program(void)
{
    pdm_lg_program *p;
    const size_t n = 1 + below(30), used = 3 + below(NAMES - 2), eligible_of_8 = 1 + below(8);

    DRAFT_HOLDS(pdm_lg_program_create("random", &p) == PDM_OK);
    p->blocks = pdm_arena_calloc(&p->arena, 1 + MOST_BLOCKS, sizeof *p->blocks);
    p->num_blocks = 1;
    for (size_t i = 0; i < used; i++) {
        char text[32];
        snprintf(text, sizeof text, "n%zu", i);
        names[i] = pdm_intern_cstr(&p->strings, text);
    }
    pdm_lg_block *block = &p->blocks[0];
    pdm_lg_op *list = pdm_arena_calloc(&p->arena, n + FETCHES, sizeof *list);
    declare(p, block, used);
    for (size_t i = 0; i < n; i++)
        random_op(p, used, below(8) < eligible_of_8 ? "yes" : "no", (int32_t)i, &list[i]);
    for (size_t i = 0; i < FETCHES; i++) {
        pdm_lg_op *op = &list[n + i];
        random_op(p, used, "fetch", (int32_t)i, op);
        op->num_outputs = 0;
        ((pdm_lg_slot *)(uintptr_t)op->inputs)->num_args = 1;
        ((pdm_lg_attr *)(uintptr_t)op->attrs)->name = "col";
    }
    block->parent = block->forward_idx = -1;
    block->ops = list;
    block->num_ops = n + FETCHES;
    for (size_t i = below(2) * below(1 + MOST_BLOCKS); i > 0; i--)
        give_block(p, used, (int32_t)below(p->num_blocks));
    return p;
}

typedef struct values {
    uint64_t of[NAMES];
    uint64_t fetched[FETCHES + NAMES];
    size_t num_fetched;
} values;

static size_t number_of(const char *name)
{
    return (size_t)atoi(name + 1);
}

static void run(const pdm_lg_program *program, pdm_lg_cinn_table *table, values *v);

static void run_launch(const pdm_lg_op *op, pdm_lg_cinn_table *table, values *v)
{
    const pdm_lg_graph *subgraph;
    pdm_lg_program *program;
    values inner = {.num_fetched = 0};
    const pdm_lg_slot *in = pdm_lg_find_input(op, "X"), *out = pdm_lg_find_output(op, "Out");

    DRAFT_HOLDS(pdm_lg_cinn_table_get(table, pdm_lg_find_attr(op, PDM_LG_CINN_KEY)->u.l, NULL, &subgraph) == PDM_OK);
    for (size_t i = 0; i < in->num_args; i++)
        inner.of[number_of(in->args[i])] = v->of[number_of(in->args[i])];
    DRAFT_HOLDS(pdm_lg_graph_to_program(subgraph, NULL, &program) == PDM_OK);
    run(program, table, &inner);
    DRAFT_HOLDS(inner.num_fetched == out->num_args);
    for (size_t i = 0; i < out->num_args; i++)
        v->of[number_of(out->args[i])] = inner.fetched[i];
    pdm_lg_program_destroy(program);
}

/* Values of names as a block sees them: its own, else those around it. */
typedef struct frame {
    const struct frame *outer;
    const pdm_lg_block *block;
    uint64_t *of;
} frame;

static uint64_t *value_of(const frame *f, const char *name)
{
    while (f->outer && !pdm_lg_block_var(f->block, name))
        f = f->outer;
    return &f->of[number_of(name)];
}

static void run_block(const pdm_lg_program *program, const frame *f);

static void run_op(const pdm_lg_program *program, const frame *f, const pdm_lg_op *op)
{
    uint64_t hash = (uint64_t)pdm_lg_find_attr(op, "number")->u.i, times = 1;
    const int32_t block = pdm_lg_sub_block(op);

    for (size_t k = 0; k < op->inputs[0].num_args; k++) {
        const uint64_t value = *value_of(f, op->inputs[0].args[k]);
        hash = pdm_hash_bytes(&value, sizeof value, hash);
    }
    if (block >= 0)
        times = hash % (!strcmp(op->type, BRANCH) ? 2 : 3);
    for (uint64_t i = 0; i < times && block >= 0; i++) {
        uint64_t own[NAMES] = {0};
        const frame inner = {f, &program->blocks[block], own};
        run_block(program, &inner);
    }
    for (size_t k = 0; k < op->outputs[0].num_args && times > 0; k++)
        *value_of(f, op->outputs[0].args[k]) = hash + k;
}

static void run_block(const pdm_lg_program *program, const frame *f)
{
    for (size_t i = 0; i < f->block->num_ops; i++)
        run_op(program, f, &f->block->ops[i]);
}

static void run(const pdm_lg_program *program, pdm_lg_cinn_table *table, values *v)
{
    const frame f = {NULL, &program->blocks[0], v->of};

    for (size_t i = 0; i < program->blocks[0].num_ops; i++) {
        const pdm_lg_op *op = &program->blocks[0].ops[i];
        if (!strcmp(op->type, PDM_LG_CINN_LAUNCH)) {
            run_launch(op, table, v);
            continue;
        }
        if (!strcmp(op->type, "feed"))
            continue;
        if (!strcmp(op->type, "fetch")) {
            DRAFT_HOLDS(v->num_fetched < FETCHES + NAMES);
            v->fetched[pdm_lg_find_attr(op, "col")->u.i] =
                v->of[number_of(op->inputs[0].args[0])];
            v->num_fetched++;
            continue;
        }
        run_op(program, &f, op);
    }
}

static void start(values *v)
{
    memset(v, 0, sizeof *v);
    for (size_t i = 0; i < NAMES; i++)
        v->of[i] = i + 1;
}

START_TEST(meaning)
{
    pdm_lg_cinn_table *table;
    size_t launches = 0;

    state = (uint64_t)_i << 32 | 2;
    DRAFT_HOLDS(pdm_lg_cinn_table_create(&table) == PDM_OK);
    for (int round = 0; round < GRAPHS; round++) {
        const pdm_lg_cinn_options options = {.inference_stage = below(2),
                                             .allow_inplace = below(2),
                                             .has_mapper = is_yes,
                                             .table = table};
        pdm_lg_program *program = random_program(), *after;
        values expected, got;
        int64_t *keys;
        size_t num_keys;
        DRAFT_HOLDS(pdm_lg_graph_from_program(program, NULL, &draft) == PDM_OK);
        DRAFT_HOLDS(pdm_lg_build_cinn(draft, &options, NULL, &keys, &num_keys) == PDM_OK);
        draft_expect_independent(draft);
        DRAFT_HOLDS(pdm_lg_graph_to_program(draft, NULL, &after) == PDM_OK);
        start(&expected);
        run(program, table, &expected);
        start(&got);
        run(after, table, &got);
        ck_assert_msg(!memcmp(expected.fetched, got.fetched, sizeof got.fetched),
                      "program %d: other values are fetched after the pass", round);
        ck_assert_msg(expected.of[0] == got.of[0] && expected.of[1] == got.of[1],
                      "program %d: other values are kept", round);
        launches += num_keys;
        for (size_t i = 0; i < num_keys; i++)
            pdm_lg_cinn_table_release(table, keys[i]);
        free(keys);
        pdm_lg_program_destroy(program);
        pdm_lg_program_destroy(after);
        draft_end();
    }
    ck_assert_uint_gt(launches, GRAPHS);
    pdm_lg_cinn_table_destroy(table);
}
END_TEST

Suite *pdm_suite_lg_random(void)
{
    Suite *suite = suite_create("lg_random");
    TCase *tc = tcase_create("random");

    tcase_set_tags(tc, "long"); /* not under valgrind, which has the tests of the single parts */
    tcase_add_loop_test(tc, structure, 0, PARTS);
    tcase_add_loop_test(tc, meaning, 0, PARTS);
    suite_add_tcase(suite, tc);
    return suite;
}
