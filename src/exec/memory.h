/*
 * Memory for the results of a session's runs.
 *
 * The first run with inputs of certain shapes is watched: which result needed how many bytes, from
 * when to when its data were referred to. From that a place is planned for each in one block, so
 * that results whose lives do not meet share memory. Later runs take results from there: nothing is
 * allocated any more. The plan is only a proposal: a place is given out when nothing that still
 * lives overlaps it, whatever the plan foresaw (the count of references tells), and when the size
 * fits; otherwise the result gets memory of its own, which is kept for the next that needs as much.
 *
 * Lives do not depend on sizes. So when inputs come with other shapes and the caller can tell how many
 * bytes results will need, places are found anew without another watched run, in the same block if it
 * is large enough.
 *
 * Data may outlive their session (somebody holds a reference): the memory goes with the last of
 * them.
 *
 * Threads: results may be allocated and released in several threads at a time; the calls that begin
 * and end a run belong to the session's thread.
 */
#ifndef PDM_EXEC_MEMORY_H
#define PDM_EXEC_MEMORY_H

#include "base/tensor.h"

typedef struct pdm_exec_memory pdm_exec_memory;

/* num_results: results are numbered below this. */
PDM_MUST_USE pdm_status pdm_exec_memory_create(uint32_t num_results, pdm_exec_memory **out_memory);
void pdm_exec_memory_destroy(pdm_exec_memory *memory); /* NULL is allowed */

#define PDM_EXEC_NO_SIZE SIZE_MAX /* of a result: not known before it is made */

/* By result the bytes that it will need in the run that begins; false: nothing is known. */
typedef bool (*pdm_exec_foresee_fn)(void *self, size_t *bytes);

/* signature stands for the shapes of the inputs: runs with the same one are expected to be alike. foresee
 * may be NULL; it is asked when there was another signature before. */
void pdm_exec_memory_begin(pdm_exec_memory *memory, uint64_t signature, pdm_exec_foresee_fn foresee, void *self);
void pdm_exec_memory_end(pdm_exec_memory *memory, bool complete);

/* As pdm_tensor_alloc. */
PDM_MUST_USE pdm_status pdm_exec_memory_alloc(pdm_exec_memory *memory, uint32_t result,
                                              pdm_tensor *tensor, pdm_dtype dtype, int rank,
                                              const int64_t *dims);

typedef struct pdm_exec_memory_stats {
    size_t planned;      /* bytes of the block */
    size_t in_use, peak; /* bytes of results that are referred to */
    uint64_t num_new;    /* allocations of the last run that the system had to serve */
} pdm_exec_memory_stats;

pdm_exec_memory_stats pdm_exec_memory_get_stats(pdm_exec_memory *memory);

#endif
