/*
 * Prints docs/coverage.md: how each legacy op is translated, one line an op, from the tables
 * themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return ferror(stdout) != 0;
}
