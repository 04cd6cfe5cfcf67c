/*
 * What lies on a device. A tensor keeps its memory here, whatever has been computed elsewhere; a
 * mirror knows which of them the device has, and whose data here are old. Groups leave their results
 * on the device; before anything else reads them they are copied, and what others write is forgotten
 * there. Parameters stay as long as the session. A mirror has references to the data that it knows,
 * so that their addresses are not those of others meanwhile.
 *
 * Any thread of a session may call; copies are told to its trace.
 */
#ifndef PDM_EXEC_MIRROR_H
#define PDM_EXEC_MIRROR_H

#include "cinn/backend.h"
#include "exec/trace.h"
#include "exec/value.h"

typedef struct pdm_exec_mirror pdm_exec_mirror;

/* trace may be NULL. */
PDM_MUST_USE pdm_status pdm_exec_mirror_create(const pdm_cinn_device *device, pdm_exec_trace *trace,
                                               pdm_exec_mirror **out_mirror);
void pdm_exec_mirror_destroy(pdm_exec_mirror *mirror); /* NULL is allowed */
/* These data never change. */
PDM_MUST_USE pdm_status pdm_exec_mirror_keep(pdm_exec_mirror *mirror, const void *data);
/* A run ends, after its results were read: what is not kept goes. */
void pdm_exec_mirror_clear(pdm_exec_mirror *mirror);

/* op: for the trace. */
PDM_MUST_USE pdm_status pdm_exec_mirror_read(pdm_exec_mirror *mirror, const pdm_ir_op *op,
                                             const pdm_value *value); /* here, now */
void pdm_exec_mirror_wrote(pdm_exec_mirror *mirror, const pdm_value *value); /* here */
/* A value goes: if nobody else has its data, they need not be kept there. */
void pdm_exec_mirror_leave(pdm_exec_mirror *mirror, const pdm_value *value);

/* The device's memory of a tensor, with its data. PDM_NOMEM: it is full. */
PDM_MUST_USE pdm_status pdm_exec_mirror_take(pdm_exec_mirror *mirror, const pdm_ir_op *op,
                                             const pdm_tensor *tensor, void **out);
/* Data of a tensor are from now on those of memory of the device, which is the mirror's then. */
PDM_MUST_USE pdm_status pdm_exec_mirror_give(pdm_exec_mirror *mirror, const pdm_tensor *tensor,
                                             void *device);
/* What is asked of the device between these two is in the trace, with the time that it takes there;
 * a call is told at the end of the run. */
void pdm_exec_mirror_time(pdm_exec_mirror *mirror);
void pdm_exec_mirror_timed(pdm_exec_mirror *mirror, const pdm_ir_op *op, uint64_t bytes);
/* All that a call does is between these. */
void pdm_exec_mirror_lock(pdm_exec_mirror *mirror);
void pdm_exec_mirror_unlock(pdm_exec_mirror *mirror);

#endif
