#include "base/checked.h"

bool pdm_count_elements(const int64_t *dims, size_t rank, uint64_t *out_count)
{
    uint64_t count = 1;
    bool empty = false;

    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return false;
        if (dims[i] == 0) {
            /* The other dimensions are still checked: the answer must not depend on their order. */
            empty = true;
            continue;
        }
        if (!pdm_mul_u64(count, (uint64_t)dims[i], &count) || count > INT64_MAX)
            return false;
    }
    *out_count = empty ? 0 : count;
    return true;
}
