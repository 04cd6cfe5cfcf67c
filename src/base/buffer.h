/*
 * The reference count of tensor data, for those who hand out memory of their own: put a pdm_buffer
 * first in a struct, set refs to 1 and release to what shall happen when the last reference goes.
 * From then on the struct is nobody's but release's.
 */
#ifndef PDM_BASE_BUFFER_H
#define PDM_BASE_BUFFER_H

#include <stdatomic.h>

#include "base/tensor.h"

struct pdm_buffer {
    atomic_size_t refs;
    void (*release)(pdm_buffer *buffer); /* NULL: free(buffer) */
};

void pdm_buffer_retain(pdm_buffer *buffer);  /* NULL is allowed */
void pdm_buffer_release(pdm_buffer *buffer); /* NULL is allowed */

#endif
