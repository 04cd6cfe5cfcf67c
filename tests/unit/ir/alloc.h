/* Counts the allocations of the library and makes one of them fail. The linker wraps malloc for
 * this program (see local.mk). */
#ifndef PDM_TESTS_UNIT_IR_ALLOC_H
#define PDM_TESTS_UNIT_IR_ALLOC_H

#include <stdint.h>

extern uint64_t alloc_count; /* calls of malloc, calloc and realloc so far */
extern int64_t alloc_live;   /* blocks not freed yet */
extern uint64_t alloc_fail;  /* the call with this number fails; 0: none */

#endif
