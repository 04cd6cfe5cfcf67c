/* What pdmigrate verify found, and the forms in which it is told. */
#ifndef PDM_CLI_VERIFY_H
#define PDM_CLI_VERIFY_H

#include "opt.h"
#include "report.h"

/* One output of one input set. */
typedef struct verify_row {
    size_t set;        /* which input set */
    size_t position;   /* which output */
    char *name;        /* "0:softmax_0.tmp_0" */
    char *type;        /* "float32[1, 10]" */
    char *wanted_type; /* of the expected side, when they differ; else NULL */
    bool missing;      /* one side has no such output */
    char *lod;         /* how the LoD differs; NULL: it does not */
    int64_t dims[16];
    size_t rank;
    pdm_compare_options tolerance;
    pdm_comparison result;
    /* When it differs: */
    bool explained;      /* nothing but known differences of 2.6 and 3.x is behind it */
    pdm_parting *causes; /* ops with known differences that have part in it */
    size_t num_causes;
    bool kernels;          /* with reference kernels it agrees */
    const char *random_op; /* an op whose random numbers are in it; NULL: none */
} verify_row;

typedef struct verify_set {
    const char *io; /* the file; NULL: random inputs */
    size_t draw;    /* random inputs: the number of the draw */
    double seconds; /* for running both sides and comparing */
} verify_set;

typedef struct verify_result {
    const cli_options *options;
    const char *against; /* what the outputs are compared with; NULL: it did not come to that */
    verify_set *sets;
    verify_row *rows; /* by set */
    size_t num_sets, num_rows;
    pdm_bisection *bisection; /* where the first set that differs parts; NULL: not asked for, or
                                 there is nothing to tell it by */
    bool allow_known;         /* --allow-known */
    int exit_code;
    const char *failure; /* why there is no complete result; NULL: there is one */
} verify_result;

bool verify_agrees(const verify_row *row);
size_t verify_count_different(const verify_result *result);
/* Different ones that are not both explained and allowed. */
size_t verify_count_wrong(const verify_result *result);
bool verify_is_wrong(const verify_result *result, const verify_row *row);
void verify_row_deinit(verify_row *row);
/* Why it differs, as far as that is known, in sentences; nothing when nothing is. */
void verify_explain(FILE *out, const verify_row *row);
/* "values", "shape", "dtype", "cosine", "lod", "missing"; NULL: the row agrees. */
const char *verify_reason(const verify_row *row);
/* In a sentence: what differs, and where the most. Nothing for rows that agree. */
void verify_describe(FILE *out, const verify_row *row);
/* What one of these two writes, for XML and HTML. */
void verify_markup(FILE *out, void (*print)(FILE *out, const verify_row *row),
                   const verify_row *row);
/* The worst element's place: "[0, 3]". */
void verify_print_place(FILE *out, const verify_row *row);
/* "recorded.npz", "random inputs", "random inputs, draw 3"; text has room for it. */
const char *verify_set_name(const verify_result *result, size_t set, char text[64]);

void verify_print_text(FILE *out, const verify_result *result);
/* What belongs between cli_json_begin and cli_json_end. */
void verify_print_json(FILE *out, const verify_result *result);
void verify_print_junit(FILE *out, const verify_result *result);
void verify_print_html(FILE *out, const verify_result *result);

#endif
