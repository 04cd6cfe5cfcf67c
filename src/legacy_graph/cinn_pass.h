/*
 * build_cinn_pass: takes clusters of ops that a compiler can lower out of a legacy graph. Each becomes
 * a subgraph with feeds and fetches in the compiler table, and one cinn_launch op in the graph.
 *
 * An op is eligible when its type has a mapper and is not denied by default (feed, fetch), its use is
 * not dynamic (slice with a negative infer_flags; reshape, expand with shapes in tensors), it does
 * not write a variable that it reads (unless that is allowed), and the lists say so. ReserveSpace of
 * batch_norm and batch_norm_grad is left out of subgraphs.
 *
 * A cluster never holds two values of one name that both leave it or both come into it: ops
 * that would make it so are not eligible. Persistable variables that a cluster writes leave it, also
 * when nothing reads them.
 *
 * The pass works on the graph of block 0; sub-blocks stay as they are.
 */
#ifndef PDM_LG_CINN_PASS_H
#define PDM_LG_CINN_PASS_H

#include "legacy_graph/cinn_table.h"
#include "legacy_graph/graph.h"

#define PDM_LG_CINN_LAUNCH "cinn_launch"

/* Slots and attributes of the launch op. */
#define PDM_LG_CINN_X         "X"
#define PDM_LG_CINN_NO_NEED_X "NoNeedBufferX"
#define PDM_LG_CINN_OUT       "Out"
#define PDM_LG_CINN_KEY       "compilation_key" /* LONG */
#define PDM_LG_OP_ROLE        "op_role"         /* INT */
#define PDM_LG_ROLE_NOT_SPECIFIED 0x1000

/* Attributes of graphs; all are pdm_lg_names but MEM_OPT (cinn_mem_opt.h). skip_gc_vars: of the main graph, the names
 * that are to exist after a launch; handed on to subgraphs. */
#define PDM_LG_SKIP_GC_VARS        "skip_gc_vars"
#define PDM_LG_CINN_INPUT_VARS     "InputVars"
#define PDM_LG_CINN_NO_NEED_BUFFER "NoNeedBufferFeeds"
#define PDM_LG_CINN_INTERNAL_VARS  "InternalVars"
#define PDM_LG_CINN_OUTPUT_VARS    "OutputVars"
#define PDM_LG_CINN_INPLACE_VARS   "InplaceVarNames" /* only when in-place ops are allowed */
#define PDM_LG_CINN_MEM_OPT        "mem_opt_var_info_from_main_graph"

typedef struct pdm_lg_cinn_options {
    /* Op types, separated by ';'. With an allow list only those in it are eligible, whatever the deny
     * list says. NULL or "": no list. */
    const char *allow, *deny;
    bool inference_stage; /* outputs that nothing reads are dropped */
    bool allow_inplace;   /* ops may write variables that they read */
    /* Whether the compiler lowers ops of a type; NULL: what pdm_lg_has_mapper says. */
    bool (*has_mapper)(void *user, const char *op_type);
    void *user;
    pdm_lg_cinn_table *table; /* NULL: that of the process */
} pdm_lg_cinn_options;

/* Op types that the compiler lowers (mappers.def). */
bool pdm_lg_has_mapper(const char *op_type);
/* Whether an op looks only at shape and element type of a slot's variables (no_need_buffer.def). */
bool pdm_lg_no_need_buffer(const char *op_type, const char *slot);

/*
 * options may be NULL. *out_keys, malloc'ed, has the keys of the subgraphs in the order of the
 * clusters, each held once in the table for the caller. Failures leave the graph as it was, except
 * when memory is short.
 */
PDM_MUST_USE pdm_status pdm_lg_build_cinn(pdm_lg_graph *graph, const pdm_lg_cinn_options *options,
                                          pdm_diag_sink *sink, int64_t **out_keys,
                                          size_t *out_count);

#endif
