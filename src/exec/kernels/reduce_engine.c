/* Reductions over any set of dimensions. */
#include "exec/kernels/reduce_impl.h"

static bool mark_axes(pdm_k *k, bool *gone, int rank, const int64_t *axes, size_t num_axes)
{
    for (size_t i = 0; i < num_axes; i++) {
        const int axis = pdm_k_axis(k, axes[i], rank);
        if (!PDM_K_OK(k))
            return false;
        gone[axis] = true;
    }
    return true;
}

/*
 * Kept and reduced dims with their strides in x. Strides are not needed for an empty x. Reduced
 * dims are turned around: the first one is the fastest, as in the framework, which shows in sums.
 */
static void split_dims(pdm_reduce_plan *plan, const pdm_tensor *x, const bool *gone)
{
    int64_t kept[PDM_MAX_RANK], reduced[PDM_MAX_RANK], stride[PDM_MAX_RANK];
    int num_kept = 0, num_reduced = 0;
    bool empty = false;

    for (int d = 0; d < x->rank; d++)
        empty |= x->dims[d] == 0;
    for (int d = x->rank - 1; d >= 0; d--)
        stride[d] = d == x->rank - 1 || empty ? 1 : stride[d + 1] * x->dims[d + 1];
    plan->count = 1;
    for (int d = 0; d < x->rank; d++) {
        if (!gone[d]) {
            plan->kept.strides[0][num_kept] = stride[d];
            kept[num_kept++] = x->dims[d];
        }
    }
    plan->all = num_kept == 0;
    for (int i = 0; i < x->rank; i++) {
        const int d = plan->all ? i : x->rank - 1 - i;
        if (gone[d]) {
            plan->reduced.strides[0][num_reduced] = stride[d];
            reduced[num_reduced++] = x->dims[d];
            plan->count = empty ? 0 : plan->count * x->dims[d];
        }
    }
    plan->kept.operands = plan->reduced.operands = 1;
    if (empty)
        num_kept = num_reduced = 0;
    pdm_walk_finish(&plan->kept, num_kept, kept);
    pdm_walk_finish(&plan->reduced, num_reduced, reduced);
}

bool pdm_reduce_plan_init(pdm_k *k, pdm_reduce_plan *plan, const pdm_tensor *x, const int64_t *axes,
                          size_t num_axes, bool keep)
{
    bool gone[PDM_MAX_RANK] = {false};

    if (!mark_axes(k, gone, x->rank, axes, num_axes))
        return false;
    plan->out_rank = 0;
    for (int d = 0; d < x->rank; d++) {
        gone[d] |= num_axes == 0;
        if (!gone[d])
            plan->out_dims[plan->out_rank++] = x->dims[d];
        else if (keep)
            plan->out_dims[plan->out_rank++] = 1;
    }
    split_dims(plan, x, gone);
    return true;
}

bool pdm_k_flag(pdm_k *k, const char *name)
{
    const pdm_ir_attr_desc *desc = k->desc ? pdm_ir_op_desc_attr(k->desc, name) : NULL;

    return (pdm_k_has_attr(k, name) || (desc && desc->default_json)) && pdm_k_bool(k, name);
}

bool pdm_reduce_plan_of(pdm_k *k, pdm_reduce_plan *plan, const pdm_tensor *x)
{
    int64_t axes[PDM_K_MAX_INTS];
    const bool has_operand = k->num_in > 1;
    const bool keep = pdm_k_flag(k, "keepdim") || pdm_k_flag(k, "keep_dim");
    const bool all = pdm_k_flag(k, "reduce_all");
    size_t n = 0;

    if (!all && has_operand)
        n = pdm_k_in_ints(k, 1, axes);
    else if (!all && (pdm_k_has_attr(k, "axis") || k->desc))
        n = pdm_k_ints(k, "axis", axes);
    return PDM_K_OK(k) && pdm_reduce_plan_init(k, plan, x, axes, n, keep);
}

typedef struct reduce_job {
    const pdm_reduce *op;
    const pdm_reduce_plan *plan;
    const pdm_tensor *x;
    pdm_tensor *out;
    double param;
    /* one result */
    pdm_reduce_run run;
    pdm_reduce_acc *acc;
    int64_t base;
} reduce_job;

static void reduce_run(void *arg, const int64_t *offsets, int64_t first, int64_t n)
{
    const reduce_job *job = arg;
    const pdm_walk *walk = &job->plan->reduced;
    const size_t size = pdm_dtype_size(job->x->dtype);

    (void)first;
    job->run((const char *)job->x->data + (size_t)(job->base + offsets[0]) * size,
             walk->strides[0][walk->rank - 1], n, job->acc);
}

static void reduce_one(reduce_job *job, int64_t base, int64_t index)
{
    const pdm_dtype dtype = job->x->dtype;
    pdm_reduce_acc acc = {
        .f = job->op->start_f, .i = job->op->start_i, .c = job->op->start_f, .param = job->param};

    job->acc = &acc;
    job->base = base;
    job->run = job->op->run[dtype];
    pdm_walk_range(&job->plan->reduced, 0, job->plan->count, reduce_run, job);
    job->op->finish(&acc, job->plan->count, false, job->out, index);
    job->run = job->op->second[dtype];
    if (!job->run)
        return;
    pdm_walk_range(&job->plan->reduced, 0, job->plan->count, reduce_run, job);
    job->op->finish(&acc, job->plan->count, true, job->out, index);
}

static void each_result(void *arg, const int64_t *offsets, int64_t first, int64_t n)
{
    reduce_job *job = arg;
    const pdm_walk *walk = &job->plan->kept;

    for (int64_t i = 0; i < n; i++)
        reduce_one(job, offsets[0] + i * walk->strides[0][walk->rank - 1], first + i);
}

static void reduce_range(void *arg, int64_t begin, int64_t end)
{
    reduce_job job = *(const reduce_job *)arg;

    pdm_walk_range(&job.plan->kept, begin, end, each_result, &job);
}

pdm_status pdm_reduce_apply(pdm_k *k, const pdm_reduce *op, pdm_reduce_plan *plan,
                            const pdm_tensor *x, pdm_dtype out_dtype, double param)
{
    if (!op->run[x->dtype])
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (!pdm_k_out(k, 0, out_dtype, plan->out_rank, plan->out_dims))
        return k->status;
    reduce_job job = {.op = op, .plan = plan, .x = x, .param = param};
    job.out = pdm_k_out_tensor(k, 0);
    const int64_t results = pdm_tensor_count(job.out);

    if (results == 0)
        return k->status;
    if (plan->count == 0) {
        if (op->not_empty)
            return pdm_k_fail(k, "there are no elements to reduce");
        for (int64_t i = 0; i < results; i++)
            reduce_one(&job, 0, i);
        return k->status;
    }
    const int64_t grain = 1 + PDM_MATH_GRAIN / plan->count;
    pdm_k_parallel(k, results, grain, reduce_range, &job);
    return k->status;
}

bool pdm_rows_init(pdm_k *k, pdm_rows *rows, const pdm_tensor *x, int64_t axis)
{
    rows->axis = pdm_k_axis(k, axis, x->rank);
    rows->outer = rows->n = rows->inner = 1;
    if (!PDM_K_OK(k))
        return false;
    if (x->rank == 0)
        return true;
    rows->n = x->dims[rows->axis];
    for (int d = 0; d < x->rank; d++) {
        int64_t *part = d < rows->axis ? &rows->outer : &rows->inner;
        if (d != rows->axis && __builtin_mul_overflow(*part, x->dims[d], part)) {
            pdm_k_fail(k, "the operand is too large");
            return false;
        }
    }
    return true;
}
