#include "exec/no_kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PDM_NO_KERNEL_REASON(code, text) REASON_##code,
typedef enum reason {
#include "exec/no_kernel.def"
} reason;
#undef PDM_NO_KERNEL_REASON

#define PDM_NO_KERNEL_REASON(code, text) text,
static const char *const texts[] = {
#include "exec/no_kernel.def"
};
#undef PDM_NO_KERNEL_REASON

static const struct {
    const char *op;
    reason reason;
} rows[] = {
#define PDM_NO_KERNEL(op, code) {op, REASON_##code},
#include "exec/no_kernel.def"
#undef PDM_NO_KERNEL
};

static bool ends_with(const char *text, size_t len, const char *end)
{
    const size_t n = strlen(end);

    return len >= n && !memcmp(text + len - n, end, n);
}

const char *pdm_no_kernel_reason(const char *op)
{
    static const struct {
        const char *end;
        reason reason;
    } ends[] = {{"_xpu", REASON_XPU}, {"_sp", REASON_SPARSE}, {"_sr", REASON_ROWS}};
    size_t len = strlen(op);

    if (len > 1 && op[len - 1] == '_')
        len--;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends_with(op, len, ends[i].end))
            return texts[ends[i].reason];
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].op) == len && !memcmp(rows[i].op, op, len))
            return texts[rows[i].reason];
    }
    return NULL;
}
