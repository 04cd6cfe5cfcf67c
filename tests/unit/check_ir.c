#include "unit/main.h"

#define SUITES(X) \
    X(align)      \
    X(dims)       \
    X(interning)  \
    X(infer_rows) \
    X(infer_ops)  \
    X(ops)        \
    X(module)     \
    X(passes)     \
    X(table)      \
    X(verify)     \
    X(json_scan)  \
    X(json_read)  \
    X(json_write) \
    X(text)

PDM_UNIT_MAIN(SUITES)
