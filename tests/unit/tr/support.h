/*
 * For the tests of the translator: legacy programs from a few lines of text, translated and
 * printed. Failures of the helpers end the test.
 *
 * A line is a variable or an op:
 *     var NAME DTYPE [DIM...] [in|array|raw|persist]
 *     op TYPE SLOT=ARG,ARG... > SLOT=ARG... | ATTR=VALUE ...
 * VALUE: 1 (INT), 1L (LONG), 1.5 (FLOAT), true (BOOLEAN), "x" (STRING), or a list [1,2] of one
 * kind; a list written with # in front holds scalars.
 */
#ifndef PDM_TESTS_TR_SUPPORT_H
#define PDM_TESTS_TR_SUPPORT_H

#include "base/buf.h"
#include "translator/translate.h"

typedef struct lgtr_case {
    const char *program;
    const char *fetch;     /* one name; NULL: o */
    int64_t version;       /* of the program; 0: none */
    const char *versioned; /* "TYPE" whose op version is op_version; NULL: none */
    int32_t op_version;
    bool keep_quant_ops;
} lgtr_case;

typedef struct lgtr_result {
    pdm_status status;
    pdm_buf ops;  /* names of the ops without dialect, inputs and fetches left out: "full scale" */
    pdm_buf text; /* the module */
    pdm_buf log;  /* a line per diagnostic: "id: message" */
} lgtr_result;

void lgtr_run(const lgtr_case *c, lgtr_result *result);
void lgtr_free(lgtr_result *result);
/* Ops are those named, and text holds part (NULL: anything). */
void lgtr_expect(const lgtr_case *c, const char *ops, const char *part);
/* The translation ends with this status and reports part. */
void lgtr_expect_error(const lgtr_case *c, pdm_status status, const char *part);

#endif
