/* The table of reference kernels: rows in family order, found through an index sorted on first use.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"

typedef struct kernel_row {
    const char *op;
    pdm_kernel_fn fn;
} kernel_row;

#define PDM_KERNEL(op, name) {op, pdm_kernel_##name},
static const kernel_row rows[] = {
#include "exec/kernels/kernels.def"
    {"", NULL}, /* so that an empty list is an array too */
};
#undef PDM_KERNEL

enum { COUNT = sizeof rows / sizeof *rows - 1 };

static const kernel_row *sorted[COUNT + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const kernel_row *const *)a)->op, (*(const kernel_row *const *)b)->op);
}

static void sort_rows(void)
{
    for (size_t i = 0; i < COUNT; i++)
        sorted[i] = &rows[i];
    qsort(sorted, COUNT, sizeof *sorted, by_name);
}

static pdm_kernel_fn find(const char *op, size_t len)
{
    size_t low = 0, high = COUNT;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        int order = strncmp(sorted[mid]->op, op, len);
        if (order == 0 && sorted[mid]->op[len])
            order = 1;
        if (order == 0)
            return sorted[mid]->fn;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

pdm_kernel_fn pdm_kernel_find(const char *op)
{
    const size_t len = strlen(op);

    pthread_once(&once, sort_rows);
    pdm_kernel_fn fn = find(op, len);
    if (!fn && len > 1 && op[len - 1] == '_')
        fn = find(op, len - 1);
    return fn;
}

size_t pdm_kernel_count(void)
{
    return COUNT;
}
