/* Sorting and selecting along a dimension. */
#include <math.h>
#include <stdlib.h>

#include "exec/kernels/reduce_impl.h"

/* Two results: values of x's type and places; size elements along the axis. */
typedef struct picks {
    pdm_rows rows;
    const pdm_tensor *x;
    pdm_tensor *values, *places; /* NULL: not wanted */
    pdm_order order;
    int64_t row; /* index of the row at hand */
} picks;

static int64_t row_first(const pdm_rows *rows, int64_t row, int64_t n)
{
    return row / rows->inner * n * rows->inner + row % rows->inner;
}

static void load_row(picks *p)
{
    pdm_order_load(&p->order, p->x, row_first(&p->rows, p->row, p->rows.n), p->rows.inner);
}

/* Result element i of the row is the row's element `from`. */
static void pick(picks *p, int64_t size, int64_t i, int64_t from)
{
    const size_t bytes = pdm_dtype_size(p->x->dtype);
    const int64_t in = row_first(&p->rows, p->row, p->rows.n) + from * p->rows.inner;
    const int64_t out = row_first(&p->rows, p->row, size) + i * p->rows.inner;

    if (p->values)
        memcpy((char *)p->values->data + (size_t)out * bytes,
               (const char *)p->x->data + (size_t)in * bytes, bytes);
    if (p->places)
        pdm_set_int(p->places, out, from);
}

/* The axis gone, or with the new size; rank 0 stays rank 0. */
static int result_dims(const picks *p, int64_t size, bool drop, int64_t *dims)
{
    int rank = 0;

    for (int d = 0; d < p->x->rank; d++) {
        if (d != p->rows.axis)
            dims[rank++] = p->x->dims[d];
        else if (!drop)
            dims[rank++] = size;
    }
    return rank;
}

static bool picks_init(pdm_k *k, picks *p, const pdm_tensor *x, int64_t axis, bool stable)
{
    memset(p, 0, sizeof *p);
    p->x = x;
    return pdm_rows_init(k, &p->rows, x, axis) &&
           pdm_order_init(k, &p->order, x, p->rows.n, stable);
}

static bool picks_results(pdm_k *k, picks *p, int64_t size, bool drop)
{
    int64_t dims[PDM_MAX_RANK];
    const int rank = result_dims(p, size, drop, dims);

    if (pdm_k_wants(k, 0) && pdm_k_out(k, 0, p->x->dtype, rank, dims))
        p->values = pdm_k_out_tensor(k, 0);
    if (pdm_k_wants(k, 1) && pdm_k_out(k, 1, PDM_I64, rank, dims))
        p->places = pdm_k_out_tensor(k, 1);
    if (PDM_K_OK(k) && !drop && p->x->lod && p->values) {
        pdm_k_share_lod(k, 0, p->x);
        if (p->places)
            pdm_k_share_lod(k, 1, p->x);
    }
    return PDM_K_OK(k);
}

static int64_t num_rows(const pdm_rows *rows)
{
    return rows->outer * rows->inner;
}

pdm_status pdm_kernel_argsort(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t axis = pdm_k_int_or(k, "axis", -1);
    const bool stable = pdm_k_bool_or(k, "stable", false);
    picks p;
    if (!x || !PDM_K_OK(k) || !picks_init(k, &p, x, axis, stable))
        return k->status;

    p.order.descending = pdm_k_bool_or(k, "descending", false);
    if (picks_results(k, &p, p.rows.n, false) && pdm_tensor_count(x) > 0) {
        for (p.row = 0; p.row < num_rows(&p.rows); p.row++) {
            load_row(&p);
            if (stable)
                pdm_order_stable(&p.order);
            else
                pdm_order_sort(&p.order, 0, p.rows.n);
            for (int64_t i = 0; i < p.rows.n; i++)
                pick(&p, p.rows.n, i, p.order.at[i]);
        }
    }
    pdm_order_deinit(&p.order);
    return k->status;
}

pdm_status pdm_kernel_topk(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int64_t count = pdm_k_in_int(k, 1, pdm_k_int_or(k, "k", 1));
    const bool sorted = pdm_k_bool_or(k, "sorted", true);
    picks p;
    if (!x || !PDM_K_OK(k) || !picks_init(k, &p, x, pdm_k_int_or(k, "axis", -1), false))
        return k->status;

    p.order.descending = pdm_k_bool_or(k, "largest", true);
    if (count < 0 || count > p.rows.n)
        pdm_k_fail(k, "%lld of %lld elements wanted", (long long)count, (long long)p.rows.n);
    else if (picks_results(k, &p, count, false) && pdm_tensor_count(x) > 0) {
        for (p.row = 0; p.row < num_rows(&p.rows); p.row++) {
            load_row(&p);
            pdm_order_top(&p.order, count, sorted);
            for (int64_t i = 0; i < count; i++)
                pick(&p, count, i, p.order.at[i]);
        }
    }
    pdm_order_deinit(&p.order);
    return k->status;
}

/* ---- one element of each row ----------------------------------------------------------------- */

/* choose gives the element of the loaded row. */
static pdm_status choose_with(pdm_k *k, int64_t (*choose)(pdm_order *order, int64_t param),
                              int64_t param)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    const bool keep = pdm_k_bool_or(k, "keepdim", false);
    picks p;
    if (!x || !PDM_K_OK(k) || !picks_init(k, &p, x, pdm_k_int_or(k, "axis", -1), false))
        return k->status;

    if (param < 1 || param > p.rows.n)
        pdm_k_fail(k, "place %lld among %lld elements", (long long)param, (long long)p.rows.n);
    else if (picks_results(k, &p, 1, !keep)) {
        for (p.row = 0; p.row < num_rows(&p.rows); p.row++) {
            load_row(&p);
            pick(&p, 1, 0, choose(&p.order, param));
        }
    }
    pdm_order_deinit(&p.order);
    return k->status;
}

static int64_t choose_kth(pdm_order *order, int64_t kth)
{
    pdm_order_top(order, kth, false);
    return order->at[kth - 1];
}

pdm_status pdm_kernel_kthvalue(pdm_k *k)
{
    return choose_with(k, choose_kth, pdm_k_int_or(k, "k", 1));
}

/* The smallest of the most frequent values, by its last place in the order. */
static int64_t choose_mode(pdm_order *order, int64_t param)
{
    int64_t best = 0, run = 0, place = order->at[0];

    (void)param;
    pdm_order_sort(order, 0, order->n);
    for (int64_t i = 0; i < order->n; i++) {
        run = i > 0 && pdm_order_equal(order, order->at[i], order->at[i - 1]) ? run + 1 : 1;
        if (run > best) {
            best = run;
            place = order->at[i];
        }
    }
    return place;
}

pdm_status pdm_kernel_mode(pdm_k *k)
{
    return choose_with(k, choose_mode, 1);
}

/* ---- medians --------------------------------------------------------------------------------- */

typedef struct median_job {
    pdm_reduce_plan plan;
    const pdm_tensor *x;
    pdm_tensor *out, *places; /* places may be NULL */
    bool ignore_nan, average;
    pdm_order order;
    int64_t base, filled;
} median_job;

static void gather_run(void *arg, const int64_t *offsets, int64_t first, int64_t n)
{
    median_job *job = arg;
    const pdm_walk *walk = &job->plan.reduced;
    const int64_t stride = walk->strides[0][walk->rank - 1];
    pdm_order *order = &job->order;

    for (int64_t i = 0; i < n; i++) {
        const int64_t from = job->base + offsets[0] + i * stride;
        if (order->floats)
            order->keys[first + i].f = pdm_get_double(job->x, from);
        else
            order->keys[first + i].i = pdm_get_int(job->x, from);
        order->at[first + i] = first + i;
    }
}

static void store_median(median_job *job, int64_t i, int64_t low, int64_t high)
{
    const pdm_key *a = &job->order.keys[low], *b = &job->order.keys[high];

    if (job->order.floats)
        pdm_set_double(job->out, i, job->average ? (a->f + b->f) / 2 : a->f);
    else /* towards zero; wraps where the framework does */
        pdm_set_int(job->out, i,
                    job->average ? (int64_t)((uint64_t)a->i + (uint64_t)b->i) / 2 : a->i);
    if (!job->places)
        return;
    pdm_set_int(job->places, job->average ? 2 * i : i, low);
    if (job->average)
        pdm_set_int(job->places, 2 * i + 1, high);
}

/* The first NaN and how many there are. */
static int64_t count_nan(const pdm_order *order, int64_t *first)
{
    int64_t count = 0;

    for (int64_t i = 0; order->floats && i < order->n; i++) {
        if (!isnan(order->keys[i].f))
            continue;
        if (count++ == 0)
            *first = i;
    }
    return count;
}

static void median_one(median_job *job, int64_t base, int64_t i)
{
    pdm_order *order = &job->order;
    int64_t nan_at = 0;

    job->base = base;
    pdm_walk_range(&job->plan.reduced, 0, job->plan.count, gather_run, job);
    const int64_t nans = count_nan(order, &nan_at);
    const int64_t n = order->n - nans;
    if (nans > 0 && (!job->ignore_nan || n == 0)) {
        store_median(job, i, nan_at, job->ignore_nan && order->n > 1 ? 1 : nan_at);
        if (job->places && job->average && !job->ignore_nan)
            pdm_set_int(job->places, 2 * i + 1, 0);
        return;
    }
    pdm_order_top(order, job->ignore_nan ? order->n : n / 2 + 1, true);
    store_median(job, i, order->at[(n - 1) / 2], order->at[n / 2]);
}

static void medians(void *arg, const int64_t *offsets, int64_t first, int64_t n)
{
    median_job *job = arg;
    const pdm_walk *walk = &job->plan.kept;

    for (int64_t i = 0; i < n; i++)
        median_one(job, offsets[0] + i * walk->strides[0][walk->rank - 1], first + i);
}

static bool median_results(pdm_k *k, median_job *job)
{
    int64_t dims[PDM_MAX_RANK + 1];
    int rank = job->plan.out_rank;

    if (!pdm_k_out(k, 0, job->x->dtype, rank, job->plan.out_dims))
        return false;
    job->out = pdm_k_out_tensor(k, 0);
    if (!pdm_k_wants(k, 1))
        return true;
    for (int d = 0; d < rank; d++)
        dims[d] = job->plan.out_dims[d];
    if (job->average)
        dims[rank++] = 2;
    if (rank > PDM_MAX_RANK) {
        pdm_k_fail(k, "more than %d dimensions", PDM_MAX_RANK);
        return false;
    }
    if (!pdm_k_out(k, 1, PDM_I64, rank, dims))
        return false;
    job->places = pdm_k_out_tensor(k, 1);
    return true;
}

static pdm_status median_with(pdm_k *k, bool ignore_nan)
{
    median_job job = {.x = pdm_k_in(k, 0), .ignore_nan = ignore_nan};
    if (!job.x || !pdm_reduce_plan_of(k, &job.plan, job.x))
        return k->status;
    job.average = k->legacy || (!pdm_k_has_attr(k, "mode") && !k->desc) ||
                  strcmp(pdm_k_str(k, "mode"), "min") != 0;
    if (!PDM_K_OK(k) || !median_results(k, &job))
        return k->status;
    const int64_t results = pdm_tensor_count(job.out);

    if (job.plan.count == 0 || results == 0) {
        for (int64_t i = 0; i < results; i++)
            pdm_set_double(job.out, i, (double)NAN);
        if (job.places)
            memset(job.places->data, 0, pdm_tensor_bytes(job.places));
        return k->status;
    }
    if (pdm_order_init(k, &job.order, job.x, job.plan.count, false))
        pdm_walk_range(&job.plan.kept, 0, results, medians, &job);
    pdm_order_deinit(&job.order);
    return k->status;
}

pdm_status pdm_kernel_median(pdm_k *k)
{
    return median_with(k, false);
}

pdm_status pdm_kernel_nanmedian(pdm_k *k)
{
    return median_with(k, true);
}
