#include "unit/main.h"

#define SUITES(X) \
    X(status)     \
    X(containers) \
    X(text)       \
    X(diag)       \
    X(file)       \
    X(params)

PDM_UNIT_MAIN(SUITES)
