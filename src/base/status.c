#include "base/status.h"

const char *pdm_status_text(pdm_status status)
{
    switch (status) {
    case PDM_OK:
        return "success";
    case PDM_NOMEM:
        return "out of memory";
    case PDM_INVALID_ARG:
        return "invalid argument";
    case PDM_INVALID_MODEL:
        return "the model is broken";
    case PDM_UNSUPPORTED:
        return "the model holds something that is not supported";
    case PDM_IO:
        return "input or output failed";
    case PDM_EXISTS:
        return "the output exists already";
    case PDM_CANCELLED:
        return "cancelled";
    case PDM_INTERNAL:
        return "internal fault";
    case PDM_STOPPED:
        return "stopped at a limit";
    }
    return "unknown status";
}
