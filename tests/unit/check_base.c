#define PDM_UNIT_FORK
#include "unit/main.h"

#define SUITES(X) \
    X(status)     \
    X(containers) \
    X(text)       \
    X(diag)       \
    X(file)       \
    X(params)     \
    X(tensor)     \
    X(npz)

PDM_UNIT_MAIN(SUITES)
