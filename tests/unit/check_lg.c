#include "unit/main.h"

#define SUITES(X) \
    X(proto)      \
    X(lg_wire)    \
    X(lg_read)    \
    X(lg_check)   \
    X(lg_schema)  \
    X(lg_dump)   \
    X(lg_graph)  \
    X(lg_cinn)    \
    X(lg_detector) \
    X(lg_programs) \
    X(lg_random) \
    X(lg_table)

PDM_UNIT_MAIN(SUITES)
