#include "unit/main.h"

#define SUITES(X) \
    X(api_bisect)   \
    X(api_context)  \
    X(api_compare)  \
    X(api_model)    \
    X(api_convert)  \
    X(api_graph)    \
    X(mappers)      \
    X(api_write)    \
    X(api_run)

PDM_UNIT_MAIN(SUITES)
