#include "unit/main.h"

#define SUITES(X) \
    X(proto)

PDM_UNIT_MAIN(SUITES)
