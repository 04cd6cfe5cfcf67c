/* Loops of elementwise kernels: one operand in blocks, two operands with broadcasting. */
#include "exec/kernels/math_impl.h"

#define BLOCK 512

void *pdm_math_out_typed(pdm_k *k, const pdm_tensor *like, pdm_dtype dtype)
{
    if (like->dtype == dtype)
        return pdm_k_out_like(k, 0, like);
    void *data = pdm_k_out(k, 0, dtype, like->rank, like->dims);
    pdm_k_share_lod(k, 0, like);
    return data;
}

/* ---- one operand ----------------------------------------------------------------------------- */

typedef struct unary_job {
    const pdm_unary *op;
    const double *params;
    const char *in;
    char *out;
    pdm_dtype in_dtype, out_dtype;
} unary_job;

static void unary_direct(void *arg, int64_t begin, int64_t end)
{
    const unary_job *job = arg;
    const size_t in_size = pdm_dtype_size(job->in_dtype);
    const size_t out_size = pdm_dtype_size(job->out_dtype);

    job->op->loop[job->in_dtype](job->in + (size_t)begin * in_size,
                                 job->out + (size_t)begin * out_size, end - begin, job->params);
}

/* Through float32: halves and promoted integers. */
static void unary_blocks(void *arg, int64_t begin, int64_t end)
{
    const unary_job *job = arg;
    const size_t in_size = pdm_dtype_size(job->in_dtype);
    const size_t out_size = pdm_dtype_size(job->out_dtype);
    const bool direct = job->out_dtype == PDM_F32 || job->op->result == PDM_UNARY_BOOL;
    float from[BLOCK], to[BLOCK];

    for (int64_t i = begin; i < end; i += BLOCK) {
        const int64_t n = end - i < BLOCK ? end - i : BLOCK;
        char *out = job->out + (size_t)i * out_size;
        pdm_math_convert(job->in + (size_t)i * in_size, job->in_dtype, from, PDM_F32, n);
        job->op->loop[PDM_F32](from, direct ? (void *)out : to, n, job->params);
        if (!direct)
            pdm_math_convert(to, PDM_F32, out, job->out_dtype, n);
    }
}

static pdm_dtype unary_out_dtype(const pdm_unary *op, pdm_dtype in, bool blocks)
{
    if (op->result == PDM_UNARY_BOOL)
        return PDM_BOOL;
    if (op->result == PDM_UNARY_REAL && pdm_dtype_is_complex(in))
        return pdm_math_real_dtype(in);
    return blocks && !pdm_dtype_is_float(in) ? PDM_F32 : in;
}

bool pdm_math_params(pdm_k *k, const pdm_math_param *params, int count,
                     double values[PDM_MATH_PARAMS])
{
    for (int i = 0; i < PDM_MATH_PARAMS; i++) {
        const bool known = i < count && (pdm_k_has_attr(k, params[i].name) ||
                                         (k->desc && pdm_ir_op_desc_attr(k->desc, params[i].name)));
        values[i] = i >= count ? 0 : known ? pdm_k_float(k, params[i].name) : params[i].fallback;
    }
    return PDM_K_OK(k);
}

pdm_status pdm_math_unary(pdm_k *k, const pdm_unary *op, const double *params)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    if (!x)
        return k->status;
    const bool half = x->dtype == PDM_F16 || x->dtype == PDM_BF16;
    const bool integer = pdm_dtype_is_int(x->dtype) || x->dtype == PDM_BOOL;
    const bool blocks = !op->loop[x->dtype] && (half || (integer && op->promote));

    if (!op->loop[blocks ? PDM_F32 : x->dtype])
        return pdm_k_unsupported_dtype(k, x->dtype);
    unary_job job = {op, params, x->data, NULL, x->dtype, unary_out_dtype(op, x->dtype, blocks)};
    job.out = pdm_math_out_typed(k, x, job.out_dtype);
    if (!job.out)
        return k->status;
    pdm_k_parallel(k, pdm_tensor_count(x), PDM_MATH_GRAIN, blocks ? unary_blocks : unary_direct,
                   &job);
    return k->status;
}

/* ---- walking several operands ---------------------------------------------------------------- */

/* Whether dim d continues dim d + 1 in all operands. */
static bool mergeable(const pdm_walk *walk, int d, int64_t inner)
{
    for (int t = 0; t < walk->operands; t++) {
        if (walk->strides[t][d] != walk->strides[t][d + 1] * inner)
            return false;
    }
    return true;
}

static void merge_dims(pdm_walk *walk)
{
    for (int d = walk->rank - 2; d >= 0; d--) {
        if (!mergeable(walk, d, walk->dims[d + 1]))
            continue;
        walk->dims[d + 1] *= walk->dims[d];
        walk->rank--;
        for (int e = d; e < walk->rank; e++) {
            walk->dims[e] = walk->dims[e + 1];
            for (int t = 0; t < walk->operands; t++)
                walk->strides[t][e] = walk->strides[t][e + 1];
        }
    }
}

void pdm_walk_finish(pdm_walk *walk, int rank, const int64_t *dims)
{
    walk->rank = 0;
    for (int d = 0; d < rank; d++) { /* dims of 1 are of no account */
        if (dims[d] == 1)
            continue;
        walk->dims[walk->rank] = dims[d];
        for (int t = 0; t < walk->operands; t++)
            walk->strides[t][walk->rank] = walk->strides[t][d];
        walk->rank++;
    }
    merge_dims(walk);
    if (walk->rank == 0) {
        walk->rank = 1;
        walk->dims[0] = 1;
        for (int t = 0; t < walk->operands; t++)
            walk->strides[t][0] = 0;
    }
}

void pdm_walk_init(pdm_walk *walk, int rank, const int64_t *dims, int operands,
                   const pdm_tensor *const *tensors)
{
    walk->operands = operands;
    for (int t = 0; t < operands; t++) {
        const pdm_tensor *x = tensors[t];
        int64_t stride = 1;
        for (int d = rank - 1, e = x->rank - 1; d >= 0; d--, e--) {
            const int64_t size = e >= 0 ? x->dims[e] : 1;
            walk->strides[t][d] = size == 1 && dims[d] != 1 ? 0 : stride;
            stride *= size;
        }
    }
    pdm_walk_finish(walk, rank, dims);
}

void pdm_walk_range(const pdm_walk *walk, int64_t begin, int64_t end, pdm_walk_run run, void *arg)
{
    int64_t at[PDM_MAX_RANK], offsets[PDM_WALK_MAX] = {0}, rest = begin;
    const int last = walk->rank - 1;

    if (begin >= end)
        return;
    for (int d = last; d >= 0; d--) {
        at[d] = rest % walk->dims[d];
        rest /= walk->dims[d];
        for (int t = 0; t < walk->operands; t++)
            offsets[t] += at[d] * walk->strides[t][d];
    }
    while (begin < end) {
        const int64_t room = walk->dims[last] - at[last];
        const int64_t n = end - begin < room ? end - begin : room;
        run(arg, offsets, begin, n);
        begin += n;
        at[last] += n;
        for (int t = 0; t < walk->operands; t++)
            offsets[t] += n * walk->strides[t][last];
        for (int d = last; d > 0 && at[d] == walk->dims[d]; d--) {
            at[d] = 0;
            at[d - 1]++;
            for (int t = 0; t < walk->operands; t++)
                offsets[t] += walk->strides[t][d - 1] - walk->dims[d] * walk->strides[t][d];
        }
    }
}

/* ---- two operands ---------------------------------------------------------------------------- */

bool pdm_math_broadcast(pdm_k *k, const pdm_tensor *x, const pdm_tensor *y, pdm_tensor *out)
{
    out->rank = x->rank > y->rank ? x->rank : y->rank;
    for (int i = 1; i <= out->rank; i++) {
        const int64_t a = i <= x->rank ? x->dims[x->rank - i] : 1;
        const int64_t b = i <= y->rank ? y->dims[y->rank - i] : 1;
        if (a != b && a != 1 && b != 1) {
            pdm_k_fail(k, "sizes %lld and %lld of the operands do not fit each other", (long long)a,
                       (long long)b);
            return false;
        }
        out->dims[out->rank - i] = a == 1 ? b : a;
    }
    return true;
}

/* Old programs place y at dim `axis` of x: the same as y with ones behind it. */
static bool align(pdm_k *k, const pdm_tensor *big, const pdm_tensor *small, int64_t axis,
                  pdm_tensor *out)
{
    int rank = small->rank;

    *out = *small;
    while (rank > 0 && axis + rank > big->rank && small->dims[rank - 1] == 1)
        rank--;
    if (axis < 0 || axis + rank > big->rank) {
        pdm_k_fail(k, "axis %lld does not place %d dimensions among %d", (long long)axis,
                   small->rank, big->rank);
        return false;
    }
    out->rank = big->rank - (int)axis;
    for (int i = rank; i < out->rank; i++)
        out->dims[i] = 1;
    return true;
}

bool pdm_math_binary_walk(pdm_k *k, const pdm_tensor *x, const pdm_tensor *y, pdm_tensor *out_shape,
                          pdm_walk *out_walk)
{
    pdm_tensor ax = *x, ay = *y;
    const int64_t axis = pdm_k_int_or(k, "axis", -1);

    if (axis != -1 && x->rank >= y->rank && !align(k, x, y, axis, &ay))
        return false;
    if (axis != -1 && x->rank < y->rank && !align(k, y, x, axis, &ax))
        return false;
    if (!pdm_math_broadcast(k, &ax, &ay, out_shape))
        return false;
    pdm_walk_init(out_walk, out_shape->rank, out_shape->dims, 2, (const pdm_tensor *[]){&ax, &ay});
    return true;
}

typedef struct binary_job {
    pdm_binary_loop loop;
    pdm_walk walk;
    const char *x, *y;
    char *z;
    size_t in_size, out_size;
} binary_job;

static void binary_run(void *arg, const int64_t *offsets, int64_t first, int64_t n)
{
    const binary_job *job = arg;
    const int last = job->walk.rank - 1;

    job->loop(job->x + (size_t)offsets[0] * job->in_size, job->walk.strides[0][last],
              job->y + (size_t)offsets[1] * job->in_size, job->walk.strides[1][last],
              job->z + (size_t)first * job->out_size, n);
}

static void binary_range(void *arg, int64_t begin, int64_t end)
{
    binary_job *job = arg;

    pdm_walk_range(&job->walk, begin, end, binary_run, job);
}

static pdm_status binary_apply(pdm_k *k, const pdm_binary *op, const pdm_tensor *x,
                               const pdm_tensor *y)
{
    pdm_tensor shape;
    binary_job job = {.loop = op->loop[x->dtype], .x = x->data, .y = y->data};

    if (!job.loop)
        return pdm_k_unsupported_dtype(k, x->dtype);
    if (!pdm_math_binary_walk(k, x, y, &shape, &job.walk))
        return k->status;
    const pdm_dtype dtype = op->out ? op->out : x->dtype;
    job.in_size = pdm_dtype_size(x->dtype);
    job.out_size = pdm_dtype_size(dtype);
    job.z = pdm_k_out(k, 0, dtype, shape.rank, shape.dims);
    if (!job.z)
        return k->status;
    const int64_t count = pdm_tensor_count(pdm_k_out_tensor(k, 0));
    if (count == 0)
        return k->status;
    pdm_k_parallel(k, count, PDM_MATH_GRAIN, binary_range, &job);
    return k->status;
}

/* The type to calculate with: that of x, unless only y is complex. */
static pdm_dtype binary_dtype(const pdm_tensor *x, const pdm_tensor *y)
{
    if (pdm_dtype_is_complex(y->dtype) && !pdm_dtype_is_complex(x->dtype))
        return x->dtype == PDM_F64 ? PDM_C128 : y->dtype;
    return x->dtype;
}

pdm_status pdm_math_binary(pdm_k *k, const pdm_binary *op)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *y = pdm_k_in(k, 1);
    pdm_tensor x_temp, y_temp;
    if (!x || !y)
        return k->status;
    const pdm_dtype dtype = binary_dtype(x, y);
    const pdm_tensor *with_lod = x; /* as in the framework, whatever y has */

    pdm_tensor_init(&x_temp);
    pdm_tensor_init(&y_temp);
    x = pdm_math_as(k, x, dtype, &x_temp);
    y = pdm_math_as(k, y, dtype, &y_temp);
    if (x && y && binary_apply(k, op, x, y) == PDM_OK && with_lod->lod)
        pdm_k_share_lod(k, 0, with_lod);
    pdm_tensor_deinit(&x_temp);
    pdm_tensor_deinit(&y_temp);
    return k->status;
}
