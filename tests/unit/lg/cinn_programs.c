/* Whole programs with gradients and optimizers through graph, pass, and back: nothing is lost. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "legacy_graph/cinn_pass.h"
#include "unit/lg/draft.h"
#include "unit/lg/support.h"

Suite *pdm_suite_lg_programs(void);

static const char *const programs[] = {
    "cases/flow_cond_train_raw/model.pdmodel",
    "cases/flow_sgd_train_raw/model.pdmodel",
    "cases/flow_while_train_raw/model.pdmodel",
    "samples/training/accumulate.pdmodel",
    "samples/training/cond_block.pdmodel",
    "samples/training/cond_in_while.pdmodel",
    "samples/training/conv_bn_adam.pdmodel",
    "samples/training/embedding_attention_lamb.pdmodel",
    "samples/training/mlp_momentum.pdmodel",
    "samples/training/while_loop.pdmodel",
};

enum { NUM_PROGRAMS = sizeof programs / sizeof *programs };

/* ReserveSpace goes by the rules, so batch_norm cannot come back whole. */
static bool is_mapped(void *user, const char *type)
{
    (void)user;
    return strncmp(type, "batch_norm", 10) != 0;
}

/* ---- what a program has, whatever its order -------------------------------------------------- */

typedef struct content {
    uint64_t ops; /* sum of hashes */
    size_t num_ops, num_grads;
} content;

static uint64_t hash_slots(uint64_t hash, const pdm_lg_slot *slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash = pdm_hash_bytes(slots[i].name, strlen(slots[i].name), hash);
        for (size_t k = 0; k < slots[i].num_args; k++)
            hash = pdm_hash_bytes(slots[i].args[k], strlen(slots[i].args[k]), hash);
    }
    return hash + n;
}

static uint64_t hash_op(const pdm_lg_op *op)
{
    uint64_t hash = pdm_hash_bytes(op->type, strlen(op->type), 1);

    hash = hash_slots(hash, op->inputs, op->num_inputs);
    hash = hash_slots(hash, op->outputs, op->num_outputs);
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        hash = pdm_hash_bytes(attr->name, strlen(attr->name), hash + attr->type + attr->count);
        if (attr->type == PDM_LG_INT || attr->type == PDM_LG_FLOAT || attr->type == PDM_LG_BLOCK)
            hash = pdm_hash_bytes(&attr->u.i, sizeof attr->u.i, hash);
        for (size_t k = 0; attr->type == PDM_LG_STRINGS && k < attr->count; k++)
            hash = pdm_hash_bytes(attr->u.strings[k], strlen(attr->u.strings[k]), hash);
    }
    return hash;
}

static void count(content *to, const pdm_lg_op *op)
{
    const size_t len = strlen(op->type);

    to->ops += hash_op(op);
    to->num_ops++;
    to->num_grads += len > 5 && !strcmp(op->type + len - 5, "_grad");
}

/* Ops of all blocks, those of a launch's subgraph in its place. */
static void count_all(content *to, const pdm_lg_program *program, pdm_lg_cinn_table *table)
{
    for (size_t i = 0; i < program->num_blocks; i++) {
        for (size_t k = 0; k < program->blocks[i].num_ops; k++) {
            const pdm_lg_op *op = &program->blocks[i].ops[k];
            const pdm_lg_graph *subgraph;
            if (strcmp(op->type, PDM_LG_CINN_LAUNCH) != 0) {
                count(to, op);
                continue;
            }
            const int64_t key = pdm_lg_find_attr(op, PDM_LG_CINN_KEY)->u.l;
            DRAFT_HOLDS(pdm_lg_cinn_table_get(table, key, NULL, &subgraph) == PDM_OK);
            for (size_t n = 0; n < subgraph->nodes.n; n++) {
                const pdm_lg_node *node = subgraph->nodes.v[n];
                if (node->kind == PDM_LG_NODE_OP && strcmp(node->name, "feed") != 0 && strcmp(node->name, "fetch") != 0)
                    count(to, node->op);
            }
        }
    }
}

static bool declares(const pdm_lg_program *program, const char *name)
{
    const char *there = pdm_intern_find(&program->strings, name, strlen(name));

    return there && pdm_lg_block_var(&program->blocks[0], there);
}

/* Variables stay, or go inside a subgraph. */
static void check_vars(const pdm_lg_program *before, const pdm_lg_program *after, pdm_lg_cinn_table *table,
                       const int64_t *keys, size_t num_keys)
{
    for (size_t i = 0; i < before->blocks[0].num_vars; i++) {
        const char *name = before->blocks[0].vars[i].name;
        bool found = declares(after, name);
        for (size_t k = 0; k < num_keys && !found; k++) {
            const pdm_lg_graph *subgraph;
            DRAFT_HOLDS(pdm_lg_cinn_table_get(table, keys[k], NULL, &subgraph) == PDM_OK);
            found = pdm_lg_names_has(pdm_lg_graph_get(subgraph, PDM_LG_CINN_INTERNAL_VARS), name);
        }
        ck_assert_msg(found, "'%s' is lost", name);
    }
}

START_TEST(nothing_is_lost)
{
    const char *path = programs[_i / 2];
    const bool inplace = _i % 2;
    pdm_lg_cinn_options options = {.allow_inplace = inplace, .has_mapper = is_mapped};
    pdm_lg_program *before, *after;
    pdm_buf bytes;
    lg_log log = {0};
    int64_t *keys;
    size_t num_keys;
    content a = {0}, b = {0};

    pdm_buf_init(&bytes);
    lg_fixture(path, &bytes);
    ck_assert_int_eq(lg_read(&bytes, &log, &before), PDM_OK);
    ck_assert_int_eq(pdm_lg_cinn_table_create(&options.table), PDM_OK);
    ck_assert_int_eq(pdm_lg_graph_from_program(before, &log.sink, &draft), PDM_OK);
    ck_assert_int_eq(pdm_lg_build_cinn(draft, &options, &log.sink, &keys, &num_keys), PDM_OK);
    draft_expect_independent(draft);
    ck_assert_int_eq(pdm_lg_graph_to_program(draft, &log.sink, &after), PDM_OK);
    ck_assert_uint_eq(before->num_blocks, after->num_blocks);
    count_all(&a, before, NULL);
    count_all(&b, after, options.table);
    ck_assert_uint_gt(a.num_grads, 2);
    ck_assert_uint_gt(num_keys, 0);
    ck_assert_uint_eq(a.num_ops, b.num_ops);
    ck_assert_uint_eq(a.num_grads, b.num_grads);
    ck_assert_msg(a.ops == b.ops, "%s: ops are changed", path);
    check_vars(before, after, options.table, keys, num_keys);
    free(keys);
    draft_end();
    pdm_lg_program_destroy(before);
    pdm_lg_program_destroy(after);
    pdm_lg_cinn_table_destroy(options.table);
    pdm_buf_deinit(&bytes);
    lg_log_deinit(&log);
}
END_TEST

Suite *pdm_suite_lg_programs(void)
{
    Suite *suite = suite_create("lg_programs");
    TCase *tc = tcase_create("training");

    tcase_add_loop_test(tc, nothing_is_lost, 0, 2 * NUM_PROGRAMS);
    suite_add_tcase(suite, tc);
    return suite;
}
