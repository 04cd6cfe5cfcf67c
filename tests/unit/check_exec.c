#include "unit/main.h"

#define SUITES(X) \
    X(pool)       \
    X(memory)     \
    X(executor)

PDM_UNIT_MAIN(SUITES)
