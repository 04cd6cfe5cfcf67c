/*
 * What build_cinn_pass takes into subgraphs (mappers.def), the compiler knows (rules.def), when subgraphs are run with one: by the ops
 * that they are translated to. What it does not know is run op by op, and listed here with the reason.
 */
#include <check.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

Suite *pdm_suite_mappers(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const mappers[] = {
#define MAPPER(type) #type,
#include "legacy_graph/mappers.def"
#undef MAPPER
};

typedef struct pair {
    const char *type, *what;
} pair;

static const pair translated[] = {
#define PDM_TR_MAP(type, target, operands, attrs, results, defaults) {type, target},
#include "translator/op_map.def"
#undef PDM_TR_MAP
};

/* What handlers make of the others. */
static const pair handled[] = {
    {"expand", "expand"},   {"fill_constant", "full"},  {"flatten", "flatten"}, {"flatten2", "reshape"},
    {"mean", "mean"},       {"mul", "matmul"},          {"reshape", "reshape"}, {"squeeze", "squeeze"},
    {"transpose", "transpose"}, {"unsqueeze", "unsqueeze"},
};

static const char *const rules[] = {
#define PDM_CINN_RULE(op, ...)          #op,
#define PDM_CINN_SIZES_RULE(op, ...)    #op,
#define PDM_CINN_LIST_RULE(op, ...)     #op,
#define PDM_CINN_ELEMENTS_RULE(op, ...) #op,
#define PDM_CINN_INDEX_RULE(op, ...)    #op,
#define PDM_CINN_PIECES_RULE(op, ...)   #op,
#define PDM_CINN_REDUCE_RULE(op, ...)   #op,
#define PDM_CINN_NORM_RULE(op, ...)     #op,
#include "cinn/rules.def"
#undef PDM_CINN_RULE
#undef PDM_CINN_SIZES_RULE
#undef PDM_CINN_LIST_RULE
#undef PDM_CINN_ELEMENTS_RULE
#undef PDM_CINN_INDEX_RULE
#undef PDM_CINN_PIECES_RULE
#undef PDM_CINN_REDUCE_RULE
#undef PDM_CINN_NORM_RULE
};

#define LIBRARY  "kernels with blocks and packed weights do it better than plain loops"
#define TRAINING "a gradient: training programs are not run"
#define OWN_LOOP "an element depends on those before it, or on many, in ways that the rules cannot tell"
#define NO_RULE  "it is rare between the ops that make groups: nobody has written a rule"

static const pair without[] = {
    {"conv2d", LIBRARY},
    {"depthwise_conv2d", LIBRARY},
    {"elementwise_add_grad", TRAINING},
    {"fill_constant", "constants are computed once, when the program is planned"},
    {"matmul", LIBRARY},
    {"matmul_v2", LIBRARY},
    {"mul", LIBRARY},
    {"pool2d", LIBRARY},
    {"relu_grad", TRAINING},
    {"round", NO_RULE},
    {"scatter", OWN_LOOP},
    {"unstack", NO_RULE},
};

static const char *find(const pair *pairs, size_t n, const char *type)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(pairs[i].type, type))
            return pairs[i].what;
    }
    return NULL;
}

static bool has_rule(const char *type)
{
    const char *op = find(handled, COUNT(handled), type);

    if (!op)
        op = find(translated, COUNT(translated), type);
    for (size_t i = 0; op && i < COUNT(rules); i++) {
        if (!strcmp(rules[i], op))
            return true;
    }
    return false;
}

START_TEST(known_or_listed)
{
    for (size_t i = 0; i < COUNT(mappers); i++) {
        const char *reason = find(without, COUNT(without), mappers[i]);
        if (has_rule(mappers[i]))
            ck_assert_msg(!reason, "%s has a rule, but is listed as without one", mappers[i]);
        else
            ck_assert_msg(reason, "%s has no rule, and no reason is listed", mappers[i]);
    }
}
END_TEST

START_TEST(list_is_of_mappers)
{
    for (size_t i = 0; i < COUNT(without); i++) {
        bool found = false;
        for (size_t k = 0; k < COUNT(mappers); k++)
            found |= !strcmp(mappers[k], without[i].type);
        ck_assert_msg(found, "%s is no mapper", without[i].type);
        ck_assert_msg(i == 0 || strcmp(without[i - 1].type, without[i].type) < 0, "%s is out of order", without[i].type);
    }
}
END_TEST

Suite *pdm_suite_mappers(void)
{
    Suite *suite = suite_create("mappers");
    TCase *tc = tcase_create("mappers");

    tcase_add_test(tc, known_or_listed);
    tcase_add_test(tc, list_is_of_mappers);
    suite_add_tcase(suite, tc);
    return suite;
}
