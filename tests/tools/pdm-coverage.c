/*
 * Prints docs/coverage.md: how each legacy op is translated, one line an op, and which ops cannot
 * be run, from the tables themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"
#include "exec/legacy_bind.h"
#include "exec/no_kernel.h"
#include "translator/translate.h"

typedef struct row {
    const char *type, *target; /* target: of plain ops */
} row;

static const row plain[] = {
#define PDM_TR_MAP(type, target, operands, attrs, results, defaults) {type, target},
#include "translator/op_map.def"
#undef PDM_TR_MAP
};

/* Types that the framework's newer schemas know, and those that only handlers know. */
static const char *const types[] = {
#define PDM_LG_SCHEMA(type, inputs, outputs, attrs) type,
#include "legacy_graph/op_schema.def"
#undef PDM_LG_SCHEMA
#define PDM_TR_HANDLER(type, name, coverage) type,
#include "translator/handlers.def"
#undef PDM_TR_HANDLER
#define PDM_TR_TRAINING_OP(type) type,
#include "translator/training.def"
#undef PDM_TR_TRAINING_OP
};

#define NUM_TYPES (sizeof types / sizeof types[0])

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *target_of(const char *type)
{
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(plain[i].type, type) == 0)
            return plain[i].target;
    return "";
}

static const char *const titles[] = {"plain",    "special",     "expressed by others",
                                     "training", "unsupported", "unknown"};

static void print_row(const char *type)
{
    const char *note = "", *reason = "";
    pdm_tr_coverage coverage = pdm_tr_coverage_of(type, &reason);
    if (coverage == PDM_TR_PLAIN)
        note = target_of(type);
    else if (coverage == PDM_TR_UNSUPPORTED)
        note = reason;
    printf("| `%s` | %s | ", type, titles[coverage]);
    if (*note)
        printf(coverage == PDM_TR_PLAIN ? "`pd_op.%s` |\n" : "%s |\n", note);
    else
        printf("|\n");
}

/* ---- what cannot be run ---------------------------------------------------------------------- */

static const char *const reasons[] = {
#define PDM_NO_KERNEL_REASON(code, text) text,
#include "exec/no_kernel.def"
#undef PDM_NO_KERNEL_REASON
};

/* Ops of PIR with that reason, in-place forms aside. */
static void print_missing(const char *reason)
{
    unsigned count = 0;

    for (size_t i = 0; i < pdm_ir_op_desc_count(); i++) {
        const char *name = pdm_ir_op_desc_at(i)->name;
        const char *why = pdm_kernel_find(name) ? NULL : pdm_no_kernel_reason(name);
        if (!why || strcmp(why, reason) != 0)
            continue;
        const size_t len = strlen(name);
        char form[128];
        snprintf(form, sizeof form, "%.*s", (int)(len - 1), name);
        if (name[len - 1] == '_' && pdm_ir_op_desc_find(form))
            continue;
        printf("%s`%s`", count++ ? ", " : "", name + strlen("pd_op."));
    }
    printf(" |\n");
}

/* The interpreter has its own ways with blocks, and with what goes in and out. */
static bool is_run(const char *type, pdm_arena *arena)
{
    static const char *const own[] = {
        "feed",  "fetch",     "fetch_v2", "conditional_block", "conditional_block_infer",
        "while", "recurrent", NULL};
    const pdm_legacy_row *bound = NULL;
    char name[160];

    for (size_t i = 0; own[i]; i++)
        if (strcmp(own[i], type) == 0)
            return true;
    if (pdm_legacy_row_get(type, arena, &bound) != PDM_OK)
        return false;
    snprintf(name, sizeof name, "legacy.%s", type);
    return pdm_kernel_find(bound ? bound->kernel : name) != NULL;
}

/* Types that are translated, or refused for another reason than training, and that no kernel runs.
 */
static void print_not_interpreted(const char *const *sorted, bool translated)
{
    pdm_arena arena;
    unsigned count = 0;

    pdm_arena_init(&arena);
    for (size_t i = 0; i < NUM_TYPES; i++) {
        const pdm_tr_coverage coverage = pdm_tr_coverage_of(sorted[i], NULL);
        const bool refused = coverage == PDM_TR_UNSUPPORTED || coverage == PDM_TR_TRAINING;
        if ((i > 0 && strcmp(sorted[i], sorted[i - 1]) == 0) || refused == translated ||
            is_run(sorted[i], &arena))
            continue;
        printf("%s`%s`", count++ ? ", " : "", sorted[i]);
    }
    puts("");
    pdm_arena_deinit(&arena);
}

static void print_not_run(const char *const *sorted)
{
    puts("\n## PIR ops without a kernel\n");
    puts("`run` and `verify` refuse a program with one of these before anything runs; all of them "
         "are told at once, with block and");
    puts("index. In-place forms are not listed besides their plain form.\n");
    puts("| reason | ops |");
    puts("|---|---|");
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        printf("| %s | ", reasons[i]);
        print_missing(reasons[i]);
    }
    puts("\n## Legacy ops that the interpreter cannot run\n");
    puts("Translated to PIR, but without a kernel, for the reason that the PIR op has above:\n");
    print_not_interpreted(sorted, true);
    puts("\nNot translated either (*training* or *unsupported* in the table above, with the "
         "reason):\n");
    print_not_interpreted(sorted, false);
}

int main(void)
{
    const char *sorted[NUM_TYPES];
    unsigned counts[PDM_TR_UNKNOWN + 1] = {0};
    memcpy(sorted, types, sizeof types);
    qsort(sorted, NUM_TYPES, sizeof *sorted, by_name);
    for (size_t i = 0; i < NUM_TYPES; i++)
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
            counts[pdm_tr_coverage_of(sorted[i], NULL)]++;
    puts("# Which legacy ops are translated, and how\n");
    puts("Made by `tests/tools/pdm-coverage`; `tests/coverage.sh --update` writes it anew.\n");
    puts("*Plain* ops become the one PIR op that is named; *special* ones need more than a row of "
         "a table;");
    puts("ops *expressed by others* have no PIR op that means the same and become several; "
         "*training* ops are");
    puts("refused with a hint; *unsupported* ones, with the reason, keep a program from being "
         "written, while");
    puts("`show` still shows it. Some uses of the others cannot be translated either: a diagnostic "
         "says which.\n");
    puts("| | ops |");
    puts("|---|---|");
    for (int c = 0; c <= PDM_TR_UNKNOWN; c++)
        if (counts[c])
            printf("| %s | %u |\n", titles[c], counts[c]);
    puts("\n| legacy op | translation | PIR op, or reason |");
    puts("|---|---|---|");
    for (size_t i = 0; i < NUM_TYPES; i++)
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
            print_row(sorted[i]);
    print_not_run(sorted);
    return ferror(stdout) != 0;
}
