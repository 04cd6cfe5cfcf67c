/*
 * Orders of the elements of a row. The sequence of comparisons and moves is that of GCC's C++
 * library (introsort with insertion sort below 16, heaps, introselect), because the indices of
 * equal elements show it.
 */
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "exec/kernels/reduce_impl.h"

#define SMALL 16 /* left to insertion sort */

bool pdm_order_init(pdm_k *k, pdm_order *order, const pdm_tensor *x, int64_t n, bool stable)
{
    const size_t parts = stable ? 3 : 2;
    uint64_t bytes;

    memset(order, 0, sizeof *order);
    if (pdm_dtype_is_complex(x->dtype) || pdm_dtype_size(x->dtype) == 0) {
        pdm_k_unsupported_dtype(k, x->dtype);
        return false;
    }
    if (!pdm_mul_u64((uint64_t)n + 1, parts * sizeof(int64_t), &bytes) || bytes > SIZE_MAX ||
        !(order->at = malloc((size_t)bytes))) {
        pdm_k_nomem(k);
        return false;
    }
    order->n = n;
    order->keys = (pdm_key *)(void *)(order->at + n + 1);
    order->temp = stable ? order->at + 2 * (n + 1) : NULL;
    order->floats = pdm_dtype_is_float(x->dtype);
    return true;
}

void pdm_order_deinit(pdm_order *order)
{
    free(order->at);
    order->at = NULL;
}

void pdm_order_load(pdm_order *order, const pdm_tensor *x, int64_t first, int64_t stride)
{
    for (int64_t i = 0; i < order->n; i++) {
        if (order->floats)
            order->keys[i].f = pdm_get_double(x, first + i * stride);
        else
            order->keys[i].i = pdm_get_int(x, first + i * stride);
        order->at[i] = i;
    }
}

static bool float_less(double a, double b)
{
    return isnan(b) ? !isnan(a) : a < b;
}

/* -1, 0, 1; NaN compares equal to NaN here. */
static int compare_keys(const pdm_order *order, int64_t a, int64_t b)
{
    const pdm_key *x = &order->keys[a], *y = &order->keys[b];

    if (!order->floats)
        return (x->i > y->i) - (x->i < y->i);
    return float_less(x->f, y->f) ? -1 : float_less(y->f, x->f);
}

static int compare_slices(const pdm_order *order, int64_t a, int64_t b)
{
    int result = 0;

    for (int64_t i = 0; i < order->width && result == 0; i++)
        result = compare_keys(order, a * order->step + order->offsets[i],
                              b * order->step + order->offsets[i]);
    return result;
}

bool pdm_order_less(const pdm_order *order, int64_t a, int64_t b)
{
    const int64_t low = order->descending ? b : a, high = order->descending ? a : b;
    const pdm_key *keys = order->keys;

    if (order->offsets)
        return compare_slices(order, low, high) < 0;
    return order->floats ? float_less(keys[low].f, keys[high].f) : keys[low].i < keys[high].i;
}

/* NaN is equal to nothing. */
bool pdm_order_equal(const pdm_order *order, int64_t a, int64_t b)
{
    const int64_t width = order->offsets ? order->width : 1;
    const int64_t step = order->offsets ? order->step : 1;

    for (int64_t i = 0; i < width; i++) {
        const int64_t offset = order->offsets ? order->offsets[i] : 0;
        const pdm_key *x = &order->keys[a * step + offset], *y = &order->keys[b * step + offset];
        if (order->floats ? x->f != y->f : x->i != y->i)
            return false;
    }
    return true;
}

/* ---- insertion sort -------------------------------------------------------------------------- */

static void swap(int64_t *a, int64_t *b)
{
    const int64_t t = *a;

    *a = *b;
    *b = t;
}

/* Move element i down to its place; something before it is not larger. */
static void sink(pdm_order *order, int64_t i)
{
    int64_t *at = order->at;
    const int64_t v = at[i];

    for (; pdm_order_less(order, v, at[i - 1]); i--)
        at[i] = at[i - 1];
    at[i] = v;
}

static void insertion_sort(pdm_order *order, int64_t first, int64_t last)
{
    int64_t *at = order->at;

    for (int64_t i = first + 1; i < last; i++) {
        const int64_t v = at[i];
        if (!pdm_order_less(order, v, at[first])) {
            sink(order, i);
            continue;
        }
        memmove(at + first + 1, at + first, (size_t)(i - first) * sizeof *at);
        at[first] = v;
    }
}

/* ---- heaps ----------------------------------------------------------------------------------- */

/* Put v into the hole of a heap of n elements, after moving larger children up. */
static void adjust_heap(pdm_order *order, int64_t first, int64_t hole, int64_t n, int64_t v)
{
    int64_t *at = order->at + first;
    const int64_t top = hole;
    int64_t child = hole;

    while (child < (n - 1) / 2) {
        child = 2 * (child + 1);
        if (pdm_order_less(order, at[child], at[child - 1]))
            child--;
        at[hole] = at[child];
        hole = child;
    }
    if (n % 2 == 0 && child == (n - 2) / 2) {
        child = 2 * child + 1;
        at[hole] = at[child];
        hole = child;
    }
    for (int64_t parent = (hole - 1) / 2;
         hole > top && pdm_order_less(order, at[parent], v); parent = (hole - 1) / 2) {
        at[hole] = at[parent];
        hole = parent;
    }
    at[hole] = v;
}

static void make_heap(pdm_order *order, int64_t first, int64_t last)
{
    const int64_t n = last - first;

    for (int64_t parent = n < 2 ? -1 : (n - 2) / 2; parent >= 0; parent--)
        adjust_heap(order, first, parent, n, order->at[first + parent]);
}

/* The largest goes to `where`, whose element enters the heap. */
static void pop_heap(pdm_order *order, int64_t first, int64_t last, int64_t where)
{
    const int64_t v = order->at[where];

    order->at[where] = order->at[first];
    adjust_heap(order, first, 0, last - first, v);
}

/* The smallest elements of [first, last) come to [first, middle), as a heap. */
static void heap_select(pdm_order *order, int64_t first, int64_t middle, int64_t last)
{
    make_heap(order, first, middle);
    for (int64_t i = middle; i < last; i++) {
        if (pdm_order_less(order, order->at[i], order->at[first]))
            pop_heap(order, first, middle, i);
    }
}

static void partial_sort(pdm_order *order, int64_t first, int64_t middle, int64_t last)
{
    heap_select(order, first, middle, last);
    for (; middle - first > 1; middle--)
        pop_heap(order, first, middle - 1, middle - 1);
}

/* ---- partitions ------------------------------------------------------------------------------ */

static void median_to(pdm_order *order, int64_t result, int64_t a, int64_t b, int64_t c)
{
    int64_t *at = order->at;
    int64_t median;

    if (pdm_order_less(order, at[a], at[b]))
        median = pdm_order_less(order, at[b], at[c]) ? b
                 : pdm_order_less(order, at[a], at[c]) ? c : a;
    else
        median = pdm_order_less(order, at[a], at[c]) ? a
                 : pdm_order_less(order, at[b], at[c]) ? c : b;
    swap(&at[result], &at[median]);
}

/* Where the elements begin that are not smaller than the median of three. */
static int64_t partition(pdm_order *order, int64_t first, int64_t last)
{
    int64_t *at = order->at;
    const int64_t pivot = first;

    median_to(order, first, first + 1, first + (last - first) / 2, last - 1);
    for (first++;; first++) {
        while (pdm_order_less(order, at[first], at[pivot]))
            first++;
        last--;
        while (pdm_order_less(order, at[pivot], at[last]))
            last--;
        if (first >= last)
            return first;
        swap(&at[first], &at[last]);
    }
}

static int depth_limit(int64_t n)
{
    int log = 0;

    while ((n >>= 1) > 0)
        log++;
    return 2 * log;
}

static void sort_parts(pdm_order *order, int64_t first, int64_t last, int depth)
{
    while (last - first > SMALL) {
        if (depth-- == 0) {
            partial_sort(order, first, last, last);
            return;
        }
        const int64_t cut = partition(order, first, last);
        sort_parts(order, cut, last, depth);
        last = cut;
    }
}

/* ---- the algorithms -------------------------------------------------------------------------- */

void pdm_order_sort(pdm_order *order, int64_t first, int64_t last)
{
    if (last - first < 2)
        return;
    sort_parts(order, first, last, depth_limit(last - first));
    if (last - first <= SMALL) {
        insertion_sort(order, first, last);
        return;
    }
    insertion_sort(order, first, first + SMALL);
    for (int64_t i = first + SMALL; i < last; i++)
        sink(order, i);
}

void pdm_order_partial(pdm_order *order, int64_t middle)
{
    partial_sort(order, 0, middle, order->n);
}

void pdm_order_nth(pdm_order *order, int64_t nth)
{
    int64_t first = 0, last = order->n;

    if (nth >= last)
        return;
    for (int depth = depth_limit(last); last - first > 3; depth--) {
        if (depth == 0) {
            heap_select(order, first, nth + 1, last);
            swap(&order->at[first], &order->at[nth]);
            return;
        }
        const int64_t cut = partition(order, first, last);
        if (cut <= nth)
            first = cut;
        else
            last = cut;
    }
    insertion_sort(order, first, last);
}

#define HEAP_FACTOR 64 /* rows longer than that many times k are searched by a heap */

void pdm_order_top(pdm_order *order, int64_t count, bool sorted)
{
    if (count < 1)
        return;
    if (count < (order->n + HEAP_FACTOR - 1) / HEAP_FACTOR) {
        pdm_order_partial(order, count);
        return;
    }
    pdm_order_nth(order, count - 1);
    if (sorted)
        pdm_order_sort(order, 0, count - 1);
}

static void merge(pdm_order *order, int64_t first, int64_t middle, int64_t last)
{
    int64_t a = first, b = middle;

    for (int64_t i = first; i < last; i++) {
        const bool take_b =
            a == middle || (b < last && pdm_order_less(order, order->at[b], order->at[a]));
        order->temp[i] = order->at[take_b ? b++ : a++];
    }
    memcpy(order->at + first, order->temp + first, (size_t)(last - first) * sizeof *order->at);
}

void pdm_order_stable(pdm_order *order)
{
    const int64_t n = order->n;

    for (int64_t i = 0; i < n; i += SMALL)
        insertion_sort(order, i, n - i < SMALL ? n : i + SMALL);
    for (int64_t width = SMALL; width < n; width *= 2) {
        for (int64_t i = 0; n - i > width; i += 2 * width)
            merge(order, i, i + width, n - i < 2 * width ? n : i + 2 * width);
    }
}
