/*
 * What was run when: gathered by sessions, written as a timeline or summed up. Sessions in several
 * threads may share one trace.
 */
#ifndef PDM_EXEC_TRACE_H
#define PDM_EXEC_TRACE_H

#include "base/buf.h"
#include "ir/ir.h"

typedef struct pdm_exec_trace pdm_exec_trace;

PDM_MUST_USE pdm_status pdm_exec_trace_create(pdm_exec_trace **out_trace);
void pdm_exec_trace_destroy(pdm_exec_trace *trace); /* NULL is allowed */
uint64_t pdm_exec_now(void); /* nanoseconds on a clock that only goes forward */
/* Note an op. What cannot be kept for lack of memory is counted as lost. */
void pdm_exec_trace_add(pdm_exec_trace *trace, const pdm_ir_op *op, uint64_t begin, uint64_t end,
                        uint64_t bytes /* of results */, unsigned depth);

/* The same under another name than that of the op. */
void pdm_exec_trace_add_named(pdm_exec_trace *trace, const char *name /* stays */,
                              const pdm_ir_op *op, uint64_t begin, uint64_t end, uint64_t bytes,
                              unsigned depth);

/* What a device did meanwhile, in a line of its own. */
void pdm_exec_trace_add_device(pdm_exec_trace *trace, const pdm_ir_op *op, uint64_t begin, uint64_t end,
                               uint64_t bytes);

/* The timeline as the Chrome trace format has it; ops belong to modules that must still be there.
 */
void pdm_exec_trace_print(const pdm_exec_trace *trace, pdm_buf *buf);

/* One op name, summed up. Nested ops are also in the time of the op around them; self leaves them
 * out. */
typedef struct pdm_exec_profile_row {
    const char *op;
    uint64_t calls, total_ns, self_ns, bytes;
} pdm_exec_profile_row;

/* Rows by falling self time; malloc'ed. */
PDM_MUST_USE pdm_status pdm_exec_trace_profile(const pdm_exec_trace *trace,
                                               pdm_exec_profile_row **out_rows, size_t *out_count);

#endif
