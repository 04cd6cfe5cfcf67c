/* Known differences between the kernels of 2.6 and of 3.x. */
#ifndef PDM_EXEC_DIFFERENCES_H
#define PDM_EXEC_DIFFERENCES_H

#include <stdint.h>

typedef enum pdm_difference {
#define DIFFERENCE(code, id, legacy_ops, pir_ops, when, before, now) code,
#include "exec/differences.def"
#undef DIFFERENCE
    PDM_NUM_DIFFERENCES
} pdm_difference;

typedef struct pdm_difference_row {
    const char *id, *legacy_ops, *pir_ops, *when, *before, *now;
} pdm_difference_row;

extern const pdm_difference_row pdm_differences[PDM_NUM_DIFFERENCES];

/* Sets of differences are bits. */
#define PDM_DIFF_BIT(which) (UINT32_C(1) << (which))
#define PDM_DIFF_ALL        (PDM_DIFF_BIT(PDM_NUM_DIFFERENCES) - 1)

#endif
