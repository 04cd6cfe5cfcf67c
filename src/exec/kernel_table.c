/* The tables of kernels: rows in family order, found through an index sorted on first use. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/kernel.h"

typedef struct kernel_row {
    const char *op;
    pdm_kernel_fn fn;
} kernel_row;

/* The last entry is no row, so that an empty list is an array too. */
#define PDM_KERNEL(op, name) {op, pdm_kernel_##name},
static const kernel_row reference_rows[] = {
#include "exec/kernels/kernels.def"
    {"", NULL},
};
#undef PDM_KERNEL

#define PDM_FAST(op, name) {op, pdm_fast_##name},
static const kernel_row fast_rows[] = {
#include "exec/fast/fast.def"
    {"", NULL},
};
#undef PDM_FAST

#define COUNT(rows) (sizeof(rows) / sizeof *(rows)-1)

static const kernel_row *reference_sorted[COUNT(reference_rows) + 1];
static const kernel_row *fast_sorted[COUNT(fast_rows) + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const kernel_row *const *)a)->op, (*(const kernel_row *const *)b)->op);
}

static void sort(const kernel_row *rows, size_t count, const kernel_row **sorted)
{
    for (size_t i = 0; i < count; i++)
        sorted[i] = &rows[i];
    qsort(sorted, count, sizeof *sorted, by_name);
}

static void sort_rows(void)
{
    sort(reference_rows, COUNT(reference_rows), reference_sorted);
    sort(fast_rows, COUNT(fast_rows), fast_sorted);
}

static pdm_kernel_fn find(const kernel_row *const *sorted, size_t count, const char *op, size_t len)
{
    size_t low = 0, high = count;

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

/* In-place forms share the kernel of the plain one. */
static pdm_kernel_fn find_any(const kernel_row *const *sorted, size_t count, const char *op)
{
    const size_t len = strlen(op);

    pthread_once(&once, sort_rows);
    pdm_kernel_fn fn = find(sorted, count, op, len);
    if (!fn && len > 1 && op[len - 1] == '_')
        fn = find(sorted, count, op, len - 1);
    return fn;
}

pdm_kernel_fn pdm_kernel_find(const char *op)
{
    return find_any(reference_sorted, COUNT(reference_rows), op);
}

pdm_kernel_fn pdm_fast_find(const char *op)
{
    return find_any(fast_sorted, COUNT(fast_rows), op);
}

pdm_status pdm_k_reference(pdm_k *k)
{
    return k->reference ? k->reference(k) : pdm_k_fail(k, "there is no kernel for such operands");
}
