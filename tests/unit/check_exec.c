#include "unit/main.h"

#define SUITES(X) \
    X(pool)       \
    X(memory)     \
    X(executor)   \
    X(hoist)      \
    X(legacy)     \
    X(kernels_math) \
    X(kernels_fast) \
    X(kernels_move) \
    X(kernels_nn) \
    X(lower)

PDM_UNIT_MAIN(SUITES)
