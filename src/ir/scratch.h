/* Inside of the readers: vectors used as stacks, where an op takes its part from the top and gives
 * it back. */
#ifndef PDM_IR_SCRATCH_H
#define PDM_IR_SCRATCH_H

#include "base/vec.h"

/* The items from position base on; NULL while nothing was pushed ever. */
#define PDM_IR_FROM(vec, base) ((vec).v ? (vec).v + (base) : NULL)

#endif
