#include "unit/main.h"

#define SUITES(X) \
    X(loop_expr)  \
    X(loop_math)  \
    X(schedule)

PDM_UNIT_MAIN(SUITES)
