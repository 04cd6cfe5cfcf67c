#include "unit/main.h"

#define SUITES(X) \
    X(cache)      \
    X(loop_expr)  \
    X(loop_math)  \
    X(schedule)   \
    X(schedule_random)

PDM_UNIT_MAIN(SUITES)
