/* What the files of src/api share about running models. */
#ifndef PDM_API_RUN_H
#define PDM_API_RUN_H

#include "api/api.h"
#include "base/checked.h"
#include "base/npz.h"
#include "base/vec.h"
#include "exec/executor.h"
#include "exec/legacy_interp.h"
#include "translator/translate.h"

#define PDM_API_MAX_LOD 16

struct pdm_bundle {
    pdm_context *context;
    pdm_npz npz;
};

/* Known differences that showed in an op. */
typedef struct pdm_api_parting {
    const pdm_ir_op *op;
    uint32_t set;
} pdm_api_parting;

typedef PDM_VEC(pdm_api_parting) pdm_api_partings;

struct pdm_plan {
    const pdm_model *model;
    pdm_ir_module *owned; /* the translation of a legacy model */
    pdm_exec_plan *exec;
    bool as_before;
    bool any_shape;
};

/* Where the LoD pointers of a view stand. */
typedef struct pdm_api_lod {
    const int64_t *offsets[PDM_API_MAX_LOD];
    size_t counts[PDM_API_MAX_LOD];
} pdm_api_lod;

/* The name of a compiler's backend; NULL: none. */
const char *pdm_api_backend(pdm_compiler compiler);
/* As pdm_plan_create. keep_all: nothing is folded. links may be NULL. */
PDM_MUST_USE pdm_status pdm_api_plan_create(const pdm_model *model, const pdm_plan_options *options,
                                            bool keep_all, pdm_tr_links *links,
                                            pdm_plan **out_plan);
const pdm_ir_module *pdm_api_plan_module(const pdm_plan *plan);
/* As pdm_session_create; observe and enter (may be NULL) get options->user, too. */
PDM_MUST_USE pdm_status pdm_api_session_create(const pdm_plan *plan,
                                               const pdm_session_options *options,
                                               pdm_exec_observe_fn observe, pdm_exec_enter_fn enter,
                                               pdm_session **out_session);
/* As pdm_model_run_legacy; observe and enter of hooks (may be NULL) get options->user, too. */
PDM_MUST_USE pdm_status pdm_api_run_legacy(const pdm_model *model,
                                           const pdm_legacy_run_options *options,
                                           const pdm_legacy_options *hooks,
                                           const pdm_bundle *inputs, pdm_bundle *outputs);
/* lod NULL: the view has none. */
void pdm_api_view(const pdm_tensor *tensor, pdm_api_lod *lod, pdm_tensor_view *out_view);
/* A tensor that borrows the view's data; PDM_INVALID_ARG when the view is not sound. */
PDM_MUST_USE pdm_status pdm_api_tensor(const pdm_tensor_view *view, pdm_tensor *out);
/* Add a reference, and the LoD of "in:" and "out:" keys. */
PDM_MUST_USE pdm_status pdm_api_bundle_add(pdm_bundle *bundle, const char *key,
                                           const pdm_tensor *tensor);
/* Number i of an array; complex numbers are two each. */
double pdm_api_number(pdm_dtype dtype, const void *data, size_t i);
/* The entry of an input: "in:NAME", or NAME alone; NULL when there is none. */
const pdm_tensor *pdm_api_bundle_input(const pdm_bundle *bundle, const char *name);
/* Rows of pdm_session_partings. */
PDM_MUST_USE pdm_status pdm_api_partings_by_output(const pdm_plan *plan,
                                                   const pdm_api_partings *partings,
                                                   pdm_parting **out_rows, size_t *out_count);
/* Two tensors, see pdm_compare. All of options counts. */
void pdm_api_compare(const pdm_tensor *expected, const pdm_tensor *actual,
                     const pdm_compare_options *options, pdm_comparison *out_comparison);

#endif
