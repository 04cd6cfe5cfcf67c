#include "unit/main.h"

#define SUITES(X) \
    X(status)

PDM_UNIT_MAIN(SUITES)
