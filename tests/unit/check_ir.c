#include "unit/main.h"

#define SUITES(X) \
    X(interning)  \
    X(ops)        \
    X(module)     \
    X(table)      \
    X(verify)

PDM_UNIT_MAIN(SUITES)
