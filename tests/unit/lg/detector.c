/* How much work long programs are, by the steps of the detector and by time for all that is done with a graph. */
#include "legacy_graph/detector.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vec.h"
#include "unit/lg/draft.h"

Suite *pdm_suite_lg_detector(void);

/* Op i reads up to two of the variables 0 to i, and writes variable i + 1. */
typedef struct shape {
    const char *name;
    bool (*eligible)(size_t i, size_t n);
    size_t (*first)(size_t i, size_t n), (*second)(size_t i, size_t n);
} shape;

static bool all(size_t i, size_t n)
{
    (void)n;
    return i + 1 > 0;
}

static bool every_second(size_t i, size_t n)
{
    (void)n;
    return i % 2;
}

static bool forward_and_some(size_t i, size_t n)
{
    return i < n / 2 || i % 2;
}

static bool some(size_t i, size_t n)
{
    return pdm_hash_bytes(&i, sizeof i, n) % 2;
}

static size_t before(size_t i, size_t n)
{
    (void)n;
    return i;
}

static size_t two_before(size_t i, size_t n)
{
    (void)n;
    return i < 2 ? 0 : i - 2;
}

static size_t zero(size_t i, size_t n)
{
    (void)n;
    return i - i;
}

/* As gradients read what the forward ops wrote. */
static size_t mirrored(size_t i, size_t n)
{
    return i < n / 2 ? i : n - i;
}

static size_t near(size_t i, size_t n)
{
    return i < 30 ? 0 : i - pdm_hash_bytes(&i, sizeof i, n + 1) % 30;
}

static const shape shapes[] = {
    {"a chain", all, before, before},
    {"a chain of every second op", every_second, before, before},
    {"two chains in one", every_second, before, two_before},
    {"one variable that all read", all, zero, zero},
    {"a variable that all read, and a chain", every_second, before, zero},
    {"forward and backward", all, before, mirrored},
    {"forward and some of backward", forward_and_some, before, mirrored},
    {"what is near", some, near, before},
};

enum { NUM_SHAPES = sizeof shapes / sizeof *shapes };

static pdm_lg_program *make_program(const shape *of, size_t n)
{
    pdm_lg_program *p;

    DRAFT_HOLDS(pdm_lg_program_create(of->name, &p) == PDM_OK);
    pdm_lg_block *block = pdm_arena_calloc(&p->arena, 1, sizeof *block);
    pdm_lg_op *ops = pdm_arena_calloc(&p->arena, n, sizeof *ops);
    pdm_lg_slot *slots = pdm_arena_calloc(&p->arena, 2 * n, sizeof *slots);
    const char **args = pdm_arena_calloc(&p->arena, 3 * n, sizeof *args);
    pdm_lg_var *vars = pdm_arena_calloc(&p->arena, n + 1, sizeof *vars);
    for (size_t i = 0; i <= n; i++) {
        char name[32];
        snprintf(name, sizeof name, "v%zu", i);
        vars[i] = (pdm_lg_var){.name = pdm_intern_cstr(&p->strings, name), .kind = PDM_LG_DENSE_TENSOR,
                               .dtype_number = -1};
        pdm_map_put(&block->var_index, vars[i].name)->value.num = i;
    }
    for (size_t i = 0; i < n; i++) {
        args[3 * i] = vars[of->first(i, n)].name;
        args[3 * i + 1] = vars[of->second(i, n)].name;
        args[3 * i + 2] = vars[i + 1].name;
        slots[2 * i] = (pdm_lg_slot){"X", &args[3 * i], 2};
        slots[2 * i + 1] = (pdm_lg_slot){"Out", &args[3 * i + 2], 1};
        ops[i] = (pdm_lg_op){.type = of->eligible(i, n) ? "yes" : "no",
                             .inputs = &slots[2 * i], .num_inputs = 1,
                             .outputs = &slots[2 * i + 1], .num_outputs = 1};
    }
    *block = (pdm_lg_block){.parent = -1, .forward_idx = -1, .vars = vars, .num_vars = n + 1,
                            .ops = ops, .num_ops = n, .var_index = block->var_index};
    p->blocks = block;
    p->num_blocks = 1;
    return p;
}

static uint64_t steps_of(const shape *of, size_t n)
{
    pdm_lg_program *p = make_program(of, n);
    pdm_lg_clusters clusters;
    pdm_lg_graph *graph;

    DRAFT_HOLDS(pdm_lg_graph_from_program(p, NULL, &graph) == PDM_OK);
    bool *eligible = calloc(graph->nodes.n, sizeof *eligible);
    for (size_t i = 0; i < graph->nodes.n; i++)
        eligible[i] = !strcmp(graph->nodes.v[i]->name, "yes");
    DRAFT_HOLDS(pdm_lg_detect(graph, eligible, NULL, &clusters) == PDM_OK);
    const uint64_t steps = clusters.steps;
    pdm_lg_clusters_deinit(&clusters);
    free(eligible);
    pdm_lg_graph_destroy(graph);
    pdm_lg_program_destroy(p);
    return steps;
}

START_TEST(steps_are_in_proportion)
{
    const shape *of = &shapes[_i];
    const uint64_t small = steps_of(of, 1000), big = steps_of(of, 10000);

    ck_assert_msg(big <= 13 * small, "%s: 1000 ops take %llu steps, 10,000 %llu", of->name,
                  (unsigned long long)small, (unsigned long long)big);
    ck_assert_msg(big <= 10 * 10000, "%s: 10,000 ops take %llu steps", of->name, (unsigned long long)big);
}
END_TEST

static bool is_yes(void *user, const char *type)
{
    (void)user;
    return !strcmp(type, "yes");
}

static double seconds_of(const shape *of, size_t n)
{
    pdm_lg_cinn_options options = {.inference_stage = true, .has_mapper = is_yes};
    pdm_lg_program *p = make_program(of, n), *after;
    const clock_t begin = clock();
    pdm_lg_graph *graph;
    int64_t *keys;
    size_t num_keys;

    DRAFT_HOLDS(pdm_lg_cinn_table_create(&options.table) == PDM_OK);
    DRAFT_HOLDS(pdm_lg_graph_from_program(p, NULL, &graph) == PDM_OK);
    DRAFT_HOLDS(pdm_lg_build_cinn(graph, &options, NULL, &keys, &num_keys) == PDM_OK);
    DRAFT_HOLDS(pdm_lg_graph_to_program(graph, NULL, &after) == PDM_OK);
    free(keys);
    pdm_lg_graph_destroy(graph);
    pdm_lg_cinn_table_destroy(options.table);
    pdm_lg_program_destroy(after);
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    pdm_lg_program_destroy(p);
    return seconds;
}

START_TEST(a_hundred_thousand_ops)
{
    const shape *of = &shapes[NUM_SHAPES - 2 + _i];
    const double small = seconds_of(of, 10000), big = seconds_of(of, 100000);

    /* Ten times the ops; caches and the machine's other work take their share. */
    ck_assert_msg(big < 40 * small + 0.5, "%s: 10,000 ops: %.3f s, 100,000 ops: %.3f s", of->name, small, big);
}
END_TEST

Suite *pdm_suite_lg_detector(void)
{
    Suite *suite = suite_create("lg_detector");
    TCase *tc = tcase_create("steps"), *slow = tcase_create("long");

    tcase_add_loop_test(tc, steps_are_in_proportion, 0, NUM_SHAPES);
    suite_add_tcase(suite, tc);
    tcase_set_tags(slow, "long");
    tcase_add_loop_test(slow, a_hundred_thousand_ops, 0, 2);
    suite_add_tcase(suite, slow);
    return suite;
}
