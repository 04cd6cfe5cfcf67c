/* Status codes inside the library: pdm_status of the public header, and the macros to pass failures
 * on. */
#ifndef PDM_BASE_STATUS_H
#define PDM_BASE_STATUS_H

#include <pdmigrate/pdmigrate.h>

/* Return from the enclosing function when expr is not PDM_OK. */
#define PDM_TRY(expr)                                                                              \
    do {                                                                                           \
        pdm_status try_status_ = (expr);                                                           \
        if (try_status_ != PDM_OK)                                                                 \
            return try_status_;                                                                    \
    } while (0)

/* The same for functions that own something: sets `status` and jumps to `done`. */
#define PDM_TRY_GOTO(expr)                                                                         \
    do {                                                                                           \
        status = (expr);                                                                           \
        if (status != PDM_OK)                                                                      \
            goto done;                                                                             \
    } while (0)

#endif
