/*
 * Legacy program → PIR module.
 *
 * Pure SSA: a name may be written many times, a value once; names map to values by scope, one scope
 * a region. What PIR cannot express becomes an op of the `legacy` dialect (options.allow_legacy) or
 * is reported, all of it at once.
 */
#ifndef PDM_TR_TRANSLATE_H
#define PDM_TR_TRANSLATE_H

#include "base/params.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "legacy_graph/schema.h"

/*
 * Which value a legacy variable became. op: the legacy op that wrote it, in block; -1: what the
 * variable is when the block, the body of a loop, is entered. A while or conditional_block writes
 * what its sub-block does. One op may have several links for a variable, and links of several ops
 * may share a value that they only hand on.
 */
typedef struct pdm_tr_link {
    int32_t block, op;
    const char *var;     /* interned in the program */
    pdm_ir_value *value; /* of the module */
    int32_t element;     /* of a vector value; -1: the value itself */
} pdm_tr_link;

typedef PDM_VEC(pdm_tr_link) pdm_tr_links;

typedef struct pdm_tr_options {
    const char *const *fetch; /* output names that replace fetch ops */
    size_t num_fetch;
    bool keep_quant_ops; /* pd_op.dequantize_linear itself instead of ordinary ops */
    bool allow_legacy;   /* unsupported ops become legacy.* ops with a note instead of an error */
    int pir_version;     /* 0 or 4: any op; 1..3: prefer ops that exist in that version */
    pdm_tr_links *links;      /* filled in program order; the caller frees them. NULL: not wanted */
    const pdm_params *params; /* headers of the parameter file; NULL: none. The file is right where
                                 VarDesc differs in an accepted way */
} pdm_tr_options;

/*
 * The module has version 4 tags (ir/version.c retags). Errors: PDM_INVALID_MODEL, PDM_UNSUPPORTED,
 * PDM_NOMEM, PDM_INVALID_ARG (a fetch name that does not exist).
 */
PDM_MUST_USE pdm_status pdm_tr_translate(pdm_ir_context *context, pdm_lg_schemas *schemas,
                                         const pdm_lg_program *program,
                                         const pdm_tr_options *options, pdm_diag_sink *sink,
                                         pdm_ir_module **out_module);

typedef enum pdm_tr_coverage {
    PDM_TR_PLAIN,
    PDM_TR_SPECIAL,
    PDM_TR_EXPRESSED,
    PDM_TR_TRAINING,
    PDM_TR_UNSUPPORTED,
    PDM_TR_UNKNOWN
} pdm_tr_coverage;

/* How a legacy op type is translated; *out_reason (may be NULL) is set for UNSUPPORTED. Source of
 * docs/coverage.md. */
pdm_tr_coverage pdm_tr_coverage_of(const char *type, const char **out_reason);

#endif
