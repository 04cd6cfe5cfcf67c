/*
 * Inside of pdm_bisect: runs whose values are watched, and what became of them.
 *
 * Two runs of one program are compared value by value. The *reference* is the legacy program as it
 * is, or a PIR module; the *subject* is a PIR module. Values are named by those of the reference's
 * module, the translation: a legacy run tells them by the links that the translator left, the
 * subject by aligning its module. Loops give a value many times: an instance of it belongs to the
 * turns of the loops around.
 *
 * Runs are deterministic, so they are repeated instead of being stored: the first pair of runs
 * compares digests, the second looks at the few values that matter.
 */
#ifndef PDM_API_BISECT_H
#define PDM_API_BISECT_H

#include "api/run.h"
#include "ir/align.h"

#define PDM_BISECT_DEPTH 8 /* loops inside of each other whose turns are told */

/* A variable that a legacy op writes (op -1: has when a turn of a loop begins), and the value of
 * the translation that it is. */
typedef struct pdm_bisect_site {
    const pdm_tr_link *link;
    const struct pdm_bisect_site *next; /* of the same block and op */
} pdm_bisect_site;

/* One program, ready to be run again and again. */
typedef struct pdm_bisect_program {
    const pdm_model *model;
    const pdm_bisect_options *options;
    const char *name; /* for people: "the translation" */
    bool legacy;      /* run the legacy program; plan is its translation */
    pdm_plan *plan;
    pdm_arena arena;
    pdm_tr_links links; /* of a legacy model */
    pdm_map variables;  /* value → pdm_tr_link: the variable that it is */
    pdm_map sites;      /* block and op → pdm_bisect_site */
    pdm_map is_seen;    /* keys of the values that a legacy run tells */
} pdm_bisect_program;

/* A value came to be, or a parameter or input was used first. */
typedef struct pdm_bisect_event {
    const pdm_ir_value *value;
    int32_t element;   /* of a vector; else -1 */
    uint64_t instance; /* a number for the turns of the loops around; 0 outside of loops */
    const pdm_value *data;
    const pdm_value *const *in; /* what the op read, if it can be told; else NULL */
} pdm_bisect_event;

typedef pdm_status (*pdm_bisect_fn)(void *user, const pdm_bisect_event *event);

PDM_MUST_USE pdm_status pdm_bisect_program_init(pdm_bisect_program *program, const pdm_model *model,
                                                const pdm_bisect_options *options,
                                                pdm_kernels kernels, const char *name);
void pdm_bisect_program_deinit(pdm_bisect_program *program);
/* Run the program and tell its values. Outputs are added to outputs. */
PDM_MUST_USE pdm_status pdm_bisect_tell(const pdm_bisect_program *program, const pdm_bundle *inputs,
                                        pdm_bisect_fn fn, void *user, pdm_bundle *outputs);
/* Whether a run tells this value. */
bool pdm_bisect_is_told(const pdm_bisect_program *program, const pdm_ir_value *value,
                        int32_t element);
/* The legacy variable that a value is; NULL: none, or there is no legacy program. */
const pdm_tr_link *pdm_bisect_variable(const pdm_bisect_program *program,
                                       const pdm_ir_value *value);

/* A number for value, element and instance. */
const void *pdm_bisect_key(const pdm_ir_value *value, int32_t element, uint64_t instance);
/* Of the data; 0: there are none. */
uint64_t pdm_bisect_digest(const pdm_value *value);
/* The tensor of a value, NULL: it is none. */
const pdm_tensor *pdm_bisect_tensor_of(const pdm_value *value);
/* Parameters and inputs: values that no op of a run gives. */
bool pdm_bisect_is_leaf(const pdm_ir_op *op);

/* Where a difference begins: an op that has what the reference has, and gives something else. */
typedef struct pdm_bisect_origin {
    const pdm_ir_op *op;
    const pdm_ir_value
        *value; /* its result, or an argument of its body; NULL: an output of the program */
    int32_t element;
    uint64_t instance;
    uint64_t before;                  /* instances before this one */
    bool missing;                     /* the reference has no such instance: it went another way */
    uint64_t turns[PDM_BISECT_DEPTH]; /* of the loops around it, from 1, innermost first */
    pdm_tensor expected, actual;
    pdm_comparison comparison;
    bool compared;
    struct pdm_bisect_stats *inputs; /* by operand */
} pdm_bisect_origin;

/* What there is to tell about a value. */
typedef struct pdm_bisect_stats {
    const pdm_ir_value *value;
    pdm_dtype dtype; /* PDM_UNDEFINED: no tensor */
    int32_t rank;
    int64_t dims[PDM_MAX_RANK];
    uint64_t count, nans, infs;
    double min, max, mean;
    bool known;
} pdm_bisect_stats;

void pdm_bisect_measure(const pdm_tensor *tensor, pdm_bisect_stats *out);

/* What the report is made of. */
typedef struct pdm_bisect_case {
    const pdm_bisect_program *reference, *subject;
    const pdm_ir_alignment *alignment; /* NULL: one module */
    const pdm_bisect_origin *origin;
    size_t num_origins;
    bool beyond; /* the origin is beyond the tolerance by itself */
} pdm_bisect_case;

PDM_MUST_USE pdm_status pdm_bisect_report(const pdm_bisect_case *c, pdm_bisection **out);
pdm_bisection *pdm_bisect_nothing(const pdm_bisect_case *c); /* NULL: out of memory */

/* The value of the reference's module that a value of the subject's stands for. */
const pdm_ir_value *pdm_bisect_counterpart(const pdm_bisect_case *c, const pdm_ir_value *value);

#endif
