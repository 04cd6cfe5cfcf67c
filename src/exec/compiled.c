#include "exec/compiled.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/intern.h"
#include "cinn/kernels.h"
#include "cinn/loop_rewrite.h"
#include "cinn/lower.h"
#include "cinn/notes.h"

/* Code for a class of shapes; kernel is NULL where there can be none. */
typedef struct variant {
    struct variant *next;
    pdm_loop_fn *fn;
    pdm_cinn_kernel *kernel;
    bool fixed;     /* for one shape alone */
    unsigned users; /* runs at hand */
    uint64_t last;  /* when it was used: a run of the group */
} variant;

/*
 * Of a group at a time; further shapes are run op by op. Of variants that are for one shape alone there are fewer: loops of
 * programs meet ever new ones. When there are so many, what is met again takes the place of the one that was not used for
 * longest, if that was not used in the last IDLE runs: so a few classes too many in turn do not have each other made anew.
 */
enum { MAX_VARIANTS = 16, MAX_FIXED = 4, MAX_REFUSED = 16, IDLE = 2 * MAX_VARIANTS, MAX_MET = 16 };

/* Shapes that found no room. */
typedef struct met {
    uint64_t shape; /* sizes */
    uint64_t kinds; /* which of them are 0, 1, or more */
} met;

struct pdm_exec_group {
    const pdm_ir_op *op;
    const pdm_cinn_backend *backend;
    const pdm_ir_value *inputs[PDM_CINN_MAX_INPUTS];
    size_t num_inputs;
    pthread_mutex_t lock; /* around variants; those that are there do not change */
    variant *variants;
    unsigned num_variants, num_fixed; /* that are there */
    unsigned num_refused;             /* tried in vain */
    uint64_t clock;                   /* runs */
    met met[MAX_MET];                 /* the last ones, in turn */
    unsigned next_met;
    atomic_ulong runs, compiled;
};

pdm_status pdm_exec_group_create(const pdm_ir_op *op, const pdm_cinn_backend *backend,
                                 pdm_exec_group **out_group)
{
    pdm_exec_group *group = calloc(1, sizeof *group);

    if (!group)
        return PDM_NOMEM;
    group->op = op;
    group->backend = backend;
    group->num_inputs = pdm_cinn_group_inputs(op, group->inputs);
    if (group->num_inputs == SIZE_MAX) {
        group->num_inputs = 0;
        group->backend = NULL;
    }
    pthread_mutex_init(&group->lock, NULL);
    *out_group = group;
    return PDM_OK;
}

static void destroy_variant(variant *v)
{
    pdm_cinn_kernel_release(v->kernel);
    pdm_loop_fn_destroy(v->fn);
    free(v);
}

void pdm_exec_group_destroy(pdm_exec_group *group)
{
    if (!group)
        return;
    for (variant *v = group->variants, *next; v; v = next) {
        next = v->next;
        destroy_variant(v);
    }
    pthread_mutex_destroy(&group->lock);
    free(group);
}

const pdm_ir_value *const *pdm_exec_group_inputs(const pdm_exec_group *group, size_t *out_count)
{
    *out_count = group->num_inputs;
    return group->inputs;
}

void pdm_exec_group_count(pdm_exec_group *group, pdm_exec_compile_stats *stats)
{
    stats->groups++;
    stats->runs += atomic_load(&group->runs);
    stats->compiled += atomic_load(&group->compiled);
    pthread_mutex_lock(&group->lock);
    for (const variant *v = group->variants; v; v = v->next)
        stats->kernels += v->kernel != NULL;
    pthread_mutex_unlock(&group->lock);
}

void pdm_exec_tell_notes(pdm_diag_sink *sink, pthread_mutex_t *lock)
{
    static const pdm_diag_code codes[] = {[PDM_CINN_NOTE_CACHE] = PDM_D_CACHE_NOTE,
                                          [PDM_CINN_NOTE_CACHE_BAD] = PDM_D_CACHE_UNUSED,
                                          [PDM_CINN_NOTE_NOT_COMPILED] = PDM_D_COMPILE_NOTE,
                                          [PDM_CINN_NOTE_LIBRARY] = PDM_D_DEVICE_LIBRARY};
    pdm_cinn_note_kind kind;
    char text[PDM_CINN_NOTE_ROOM];

    while (pdm_cinn_has_notes() && pdm_cinn_take_note(&kind, text)) {
        if (lock)
            pthread_mutex_lock(lock);
        pdm_diag(sink, codes[kind], NULL, NULL, "%s", text);
        if (lock)
            pthread_mutex_unlock(lock);
    }
}

/* ---- code ------------------------------------------------------------------------------------ */

/* may_fix: code for this shape alone will do. */
static pdm_status compile(const pdm_exec_group *group, const pdm_cinn_actual *actual, bool may_fix, variant **out)
{
    variant *v = calloc(1, sizeof *v);
    pdm_status status = v ? pdm_cinn_lower_group(group->op, actual, &v->fn) : PDM_NOMEM;

    if (status == PDM_UNSUPPORTED && may_fix) {
        v->fixed = true;
        status = pdm_cinn_lower_fixed(group->op, actual, &v->fn);
    }
    if (status == PDM_OK) {
        if (group->backend->gpu)
            pdm_cinn_schedule_gpu(v->fn);
        else
            pdm_cinn_schedule_cpu(v->fn, group->backend->wants_arithmetic);
        if (group->backend->wants_arithmetic)
            pdm_loop_expand_math(v->fn);
        status = v->fn->status;
    }
    if (status == PDM_OK)
        status = pdm_cinn_kernel_take(group->backend, v->fn, &v->kernel);
    /* What a backend cannot do is done in another way, and need not be tried again. */
    if (status == PDM_UNSUPPORTED && v->fn && !v->kernel)
        status = PDM_OK;
    if (status != PDM_OK) {
        if (v)
            pdm_loop_fn_destroy(v->fn);
        free(v);
        return status;
    }
    *out = v;
    return PDM_OK;
}

/* ---- variants, under the group's lock ---------------------------------------------------------- */

static met key_of(const pdm_exec_group *group, const pdm_cinn_actual *actual)
{
    met m = {0, 0};

    for (size_t i = 0; i < group->num_inputs; i++) {
        const pdm_cinn_actual *a = &actual[i];
        uint64_t count = 1;
        m.shape = pdm_hash_bytes(a->dims, (size_t)a->rank * sizeof *a->dims, m.shape);
        for (int d = 0; d < a->rank; d++) {
            const int64_t kind = a->dims[d] < PDM_LOOP_LEAST_SYMBOL ? a->dims[d] : PDM_LOOP_LEAST_SYMBOL;
            m.kinds = pdm_hash_bytes(&kind, sizeof kind, m.kinds);
            count *= (uint64_t)a->dims[d];
        }
        if (a->data) /* there are few elements */
            m.shape = pdm_hash_bytes(a->data, (size_t)count * pdm_dtype_size(a->dtype), m.shape);
    }
    return m;
}

/* Whether that was met before and found no room. */
static bool meet_again(pdm_exec_group *group, const met *m, bool shape)
{
    for (unsigned i = 0; i < MAX_MET; i++) {
        if (shape ? group->met[i].shape == m->shape : group->met[i].kinds == m->kinds)
            return true;
    }
    group->met[group->next_met++ % MAX_MET] = *m;
    return false;
}

/* Where the one is that may go; NULL: none. */
static variant **idle_one(pdm_exec_group *group, bool fixed)
{
    variant **oldest = NULL;

    if (group->backend->device) /* which may not have come to the last run yet */
        return NULL;
    for (variant **at = &group->variants; *at; at = &(*at)->next) {
        if ((*at)->users == 0 && (*at)->last + IDLE < group->clock && (!fixed || (*at)->fixed) &&
            (!oldest || (*at)->last < (*oldest)->last))
            oldest = at;
    }
    return oldest;
}

static void make_room(pdm_exec_group *group, bool fixed)
{
    variant **at = idle_one(group, fixed);

    if (!at)
        return;
    variant *v = *at;
    *at = v->next;
    group->num_variants--;
    group->num_fixed -= v->fixed;
    destroy_variant(v);
}

static void keep(pdm_exec_group *group, variant *v)
{
    if (v->fixed && group->num_fixed >= MAX_FIXED)
        make_room(group, true);
    else if (group->num_variants >= MAX_VARIANTS)
        make_room(group, false);
    v->next = group->variants;
    group->variants = v;
    group->num_variants++;
    group->num_fixed += v->fixed;
}

/* Whether code is to be made for shapes that none is for, and whether for these alone if need be. */
static bool may_make(pdm_exec_group *group, const pdm_cinn_actual *actual, bool *out_fix)
{
    const bool only_fixed = group->num_fixed > 0 && group->num_fixed == group->num_variants;

    *out_fix = group->num_fixed < MAX_FIXED;
    if (group->num_refused >= MAX_REFUSED)
        return false;
    if (group->num_variants < MAX_VARIANTS && (*out_fix || !only_fixed))
        return true;
    const met m = key_of(group, actual);
    if (!meet_again(group, &m, only_fixed) || !idle_one(group, only_fixed))
        return false;
    *out_fix = *out_fix || only_fixed;
    return true;
}

/* The code for these shapes, made if need be; NULL: there is none. It stays until leave. */
static pdm_status find(pdm_exec_group *group, const pdm_cinn_actual *actual, int64_t *symbols, variant **out)
{
    pdm_status status = PDM_OK;
    bool fix;
    variant *v;

    *out = NULL;
    pthread_mutex_lock(&group->lock);
    group->clock++;
    for (v = group->variants; v; v = v->next) {
        if (pdm_cinn_class_fits(v->fn, actual, symbols))
            break;
    }
    if (!v && may_make(group, actual, &fix)) {
        status = compile(group, actual, fix, &v);
        if (status == PDM_OK) {
            keep(group, v);
            if (!pdm_cinn_class_fits(v->fn, actual, symbols))
                v = NULL;
        } else if (status != PDM_NOMEM) { /* another time there may be memory */
            group->num_refused++;
        }
    }
    if (status == PDM_OK && v)
        v->last = group->clock;
    if (status == PDM_OK && v && v->kernel) {
        v->users++;
        *out = v;
    }
    pthread_mutex_unlock(&group->lock);
    return status == PDM_UNSUPPORTED ? PDM_OK : status;
}

static void leave(pdm_exec_group *group, variant *v)
{
    if (!v)
        return;
    pthread_mutex_lock(&group->lock);
    v->users--;
    pthread_mutex_unlock(&group->lock);
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum { MAX_SIZES = 64 }; /* elements of a tensor that may have sizes in it */

bool pdm_exec_group_asks_data(const pdm_cinn_actual *actual)
{
    uint64_t count;

    return (actual->dtype == PDM_I32 || actual->dtype == PDM_I64) &&
           pdm_count_elements(actual->dims, (size_t)actual->rank, &count) && count <= MAX_SIZES;
}

bool pdm_exec_has_sizes(const pdm_tensor *t)
{
    return pdm_exec_group_asks_data(&(pdm_cinn_actual){t->dtype, t->rank, t->dims, NULL});
}

bool pdm_exec_group_actual(const pdm_value *value, pdm_cinn_actual *out)
{
    if (value->kind != PDM_VALUE_TENSOR || value->tensor.dtype == PDM_UNDEFINED ||
        pdm_tensor_num_lod(&value->tensor) > 0)
        return false;
    *out = (pdm_cinn_actual){value->tensor.dtype, value->tensor.rank, value->tensor.dims,
                             pdm_exec_has_sizes(&value->tensor) ? value->tensor.data : NULL};
    return true;
}

bool pdm_exec_group_is_new(pdm_exec_group *group)
{
    pthread_mutex_lock(&group->lock);
    const bool new = group->num_variants == 0 && group->num_refused == 0;
    pthread_mutex_unlock(&group->lock);
    return new && group->backend;
}

void pdm_exec_group_prepare(pdm_exec_group *group, const pdm_cinn_actual *actual)
{
    int64_t symbols[PDM_CINN_MAX_INPUTS * PDM_MAX_RANK];
    variant *v;

    if (find(group, actual, symbols, &v) == PDM_OK)
        leave(group, v);
}

/* Sizes are read here. */
static pdm_status bring_sizes(const pdm_exec_group *group, const pdm_k *k, pdm_exec_mirror *mirror)
{
    for (size_t i = 0; i < k->num_in; i++) {
        if (k->in[i] && k->in[i]->kind == PDM_VALUE_TENSOR && pdm_exec_has_sizes(&k->in[i]->tensor))
            PDM_TRY(pdm_exec_mirror_read(mirror, group->op, k->in[i]));
    }
    return PDM_OK;
}

static bool take_inputs(const pdm_exec_group *group, const pdm_k *k, pdm_cinn_actual *actual)
{
    if (k->num_in != group->num_inputs)
        return false;
    for (size_t i = 0; i < k->num_in; i++) {
        if (!k->in[i] || !pdm_exec_group_actual(k->in[i], &actual[i]))
            return false;
    }
    return true;
}

static bool within(const pdm_tensor *t, const pdm_loop_guard *g, int64_t low, int64_t high)
{
    const int64_t count = pdm_tensor_count(t);

    for (int64_t i = g->number; i < count; i += g->every) {
        const int64_t v = t->dtype == PDM_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
        if (v < low || v >= high)
            return false;
    }
    return true;
}

/* Whether indices are within the dims that they are for; the ops one by one tell of those that are not. */
static bool indices_fit(const pdm_loop_fn *fn, const pdm_k *k, const int64_t *symbols)
{
    for (size_t i = 0; i < fn->guards.n; i++) {
        const pdm_loop_guard *g = &fn->guards.v[i];
        const int64_t dim = pdm_loop_eval(g->dim, symbols);
        if (!within(&k->in[g->input]->tensor, g, g->negative ? -dim : 0, dim))
            return false;
    }
    return true;
}

static bool dims_of(const pdm_loop_buffer *buffer, const int64_t *symbols, int64_t *dims,
                    uint64_t *out_bytes)
{
    uint64_t count;

    for (uint32_t d = 0; d < buffer->rank; d++)
        dims[d] = pdm_loop_eval(buffer->dims[d], symbols);
    return pdm_count_elements(dims, buffer->rank, &count) &&
           pdm_mul_u64(count, pdm_dtype_size(buffer->dtype), out_bytes);
}

/* Memory for all buffers. */
static pdm_status take_buffers(const pdm_loop_fn *fn, pdm_k *k, const int64_t *symbols, void **data)
{
    size_t output = 0;

    for (size_t i = 0; i < fn->buffers.n; i++) {
        const pdm_loop_buffer *buffer = &fn->buffers.v[i];
        int64_t dims[PDM_MAX_RANK];
        uint64_t bytes;
        if (buffer->role == PDM_LOOP_INPUT) {
            data[i] = k->in[i]->tensor.data;
            continue;
        }
        if (buffer->scope != PDM_LOOP_GLOBAL) {
            data[i] = NULL; /* the code has it on its stack */
            continue;
        }
        if (!dims_of(buffer, symbols, dims, &bytes))
            return pdm_k_fail(k, "a result is too large");
        data[i] = buffer->role == PDM_LOOP_TEMP
                      ? pdm_k_temp(k, bytes)
                      : pdm_k_out(k, output++, buffer->dtype, (int)buffer->rank, dims);
        if (!data[i])
            return k->status;
    }
    return PDM_OK;
}

typedef struct nest_job {
    const pdm_exec_group *group;
    const variant *v;
    uint32_t nest;
    void *const *data;
    const int64_t *symbols;
    atomic_int status;
} nest_job;

static void run_part(void *arg, int64_t begin, int64_t end)
{
    nest_job *job = arg;
    const pdm_status status = job->group->backend->run(pdm_cinn_kernel_image(job->v->kernel), job->nest, job->data,
                                                       job->symbols, begin, end);
    if (status != PDM_OK)
        atomic_store(&job->status, (int)status);
}

/* Elements that one turn of the outermost loop stores. */
static int64_t elements_of(const pdm_loop_stmt *stmt, const int64_t *symbols)
{
    int64_t sum = 0;

    for (; stmt; stmt = stmt->next) {
        int64_t n = stmt->kind == PDM_LOOP_IF ? elements_of(stmt->body, symbols) : 1;
        if (stmt->kind == PDM_LOOP_FOR &&
            __builtin_mul_overflow(pdm_loop_eval(stmt->extent, symbols),
                                   elements_of(stmt->body, symbols), &n))
            n = INT64_MAX / 2;
        if (__builtin_add_overflow(sum, n, &sum))
            return INT64_MAX / 2;
    }
    return sum;
}

static pdm_status run_nests(const pdm_exec_group *group, const variant *v, pdm_k *k, void **data,
                            const int64_t *symbols)
{
    enum { GRAIN = 16384 }; /* elements that are worth a thread */
    nest_job job = {.group = group, .v = v, .data = data, .symbols = symbols};

    for (const pdm_loop_stmt *stmt = v->fn->body; stmt; stmt = stmt->next, job.nest++) {
        if (stmt->kind != PDM_LOOP_FOR || stmt->mark != PDM_LOOP_PARALLEL) {
            const bool loop = stmt->kind == PDM_LOOP_FOR;
            run_part(&job, 0, loop ? pdm_loop_eval(stmt->extent, symbols) : 1);
            continue;
        }
        const int64_t work = elements_of(stmt->body, symbols);
        pdm_k_parallel(k, pdm_loop_eval(stmt->extent, symbols), GRAIN / (work > 0 ? work : 1) + 1,
                       run_part, &job);
    }
    return (pdm_status)atomic_load(&job.status);
}

/* ---- on a device ----------------------------------------------------------------------------- */

typedef struct device_job {
    const pdm_exec_group *group;
    const variant *v;
    pdm_k *k;
    pdm_exec_mirror *mirror;
    const int64_t *symbols;
    void **data;     /* by buffer: memory of the device */
    uint64_t *bytes; /* by buffer: of what this call took there; 0: nothing */
    uint64_t made;   /* bytes of results */
} device_job;

/* PDM_NOMEM: the device is full, or there is too much for it. */
static pdm_status take_there(device_job *job)
{
    const pdm_loop_fn *fn = job->v->fn;
    const pdm_cinn_device *device = job->group->backend->device;

    for (size_t i = 0; i < fn->buffers.n; i++) {
        const pdm_loop_buffer *buffer = &fn->buffers.v[i];
        int64_t dims[PDM_MAX_RANK];
        uint64_t bytes;
        if (buffer->scope != PDM_LOOP_GLOBAL)
            continue;
        if (buffer->role == PDM_LOOP_INPUT) {
            PDM_TRY(pdm_exec_mirror_take(job->mirror, job->group->op, &job->k->in[i]->tensor,
                                         &job->data[i]));
            continue;
        }
        if (!dims_of(buffer, job->symbols, dims, &bytes))
            return PDM_NOMEM;
        PDM_TRY(device->alloc(bytes, &job->data[i]));
        job->bytes[i] = bytes + 1; /* one more, for those of 0 bytes */
        job->made += buffer->role == PDM_LOOP_OUTPUT ? bytes : 0;
    }
    return PDM_OK;
}

static void leave_there(const device_job *job)
{
    for (size_t i = 0; i < job->v->fn->buffers.n; i++) {
        if (job->bytes[i])
            job->group->backend->device->free(job->data[i], job->bytes[i] - 1);
    }
}

/* Results get a place here that is filled when somebody asks. */
static pdm_status hand_over(device_job *job)
{
    const pdm_loop_fn *fn = job->v->fn;
    size_t output = 0;

    for (size_t i = 0; i < fn->buffers.n; i++) {
        const pdm_loop_buffer *buffer = &fn->buffers.v[i];
        int64_t dims[PDM_MAX_RANK];
        uint64_t bytes;
        if (buffer->role != PDM_LOOP_OUTPUT)
            continue;
        if (!dims_of(buffer, job->symbols, dims, &bytes))
            return pdm_k_fail(job->k, "a result is too large");
        const void *here =
            pdm_k_out(job->k, output++, buffer->dtype, (int)buffer->rank, dims);
        if (!here)
            return job->k->status;
        if (bytes == 0)
            continue;
        PDM_TRY(pdm_exec_mirror_give(job->mirror, pdm_k_out_tensor(job->k, output - 1),
                                     job->data[i]));
        job->bytes[i] = 0;
    }
    return PDM_OK;
}

static pdm_status run_there(device_job *job, bool *out_done)
{
    const pdm_cinn_device *device = job->group->backend->device;
    pdm_status status = take_there(job);

    if (status == PDM_NOMEM)
        return PDM_OK; /* it may be done here */
    if (status == PDM_OK) {
        pdm_exec_mirror_time(job->mirror);
        status = device->launch(pdm_cinn_kernel_image(job->v->kernel), job->v->fn, job->data,
                                job->symbols);
        if (status == PDM_OK)
            pdm_exec_mirror_timed(job->mirror, job->group->op, job->made);
    }
    if (status == PDM_UNSUPPORTED)
        return PDM_OK;
    if (status == PDM_NOMEM)
        return pdm_k_nomem(job->k);
    if (status != PDM_OK)
        return pdm_k_fail(job->k, "the device failed: %s", device->error());
    *out_done = true;
    return hand_over(job);
}

static pdm_status run_on_device(const pdm_exec_group *group, const variant *v, pdm_k *k,
                                pdm_exec_mirror *mirror, const int64_t *symbols, bool *out_done)
{
    device_job job = {.group = group, .v = v, .k = k, .mirror = mirror, .symbols = symbols};

    job.data = pdm_k_temp(k, v->fn->buffers.n * sizeof *job.data);
    job.bytes = pdm_k_temp(k, v->fn->buffers.n * sizeof *job.bytes);
    if (!job.data || !job.bytes)
        return k->status;
    memset(job.bytes, 0, v->fn->buffers.n * sizeof *job.bytes);
    pdm_exec_mirror_lock(mirror);
    const pdm_status status = run_there(&job, out_done);
    leave_there(&job);
    pdm_exec_mirror_unlock(mirror);
    return status;
}

/* Indices are looked at here. */
static pdm_status bring_guarded(const pdm_loop_fn *fn, const pdm_exec_group *group, const pdm_k *k,
                                pdm_exec_mirror *mirror)
{
    for (size_t i = 0; i < fn->guards.n; i++)
        PDM_TRY(pdm_exec_mirror_read(mirror, group->op, k->in[fn->guards.v[i].input]));
    return PDM_OK;
}

/* By the code of a variant; nothing has happened unless *out_done. */
static pdm_status run_variant(pdm_exec_group *group, const variant *v, pdm_k *k, pdm_exec_mirror *mirror,
                              const int64_t *symbols, bool *out_done)
{
    if (mirror)
        PDM_TRY(bring_guarded(v->fn, group, k, mirror));
    if (!indices_fit(v->fn, k, symbols) || (group->backend->device && !mirror))
        return PDM_OK;
    if (group->backend->device)
        return run_on_device(group, v, k, mirror, symbols, out_done);
    void **data = pdm_k_temp(k, v->fn->buffers.n * sizeof *data);
    if (!data)
        return k->status;
    PDM_TRY(take_buffers(v->fn, k, symbols, data));
    *out_done = true;
    return run_nests(group, v, k, data, symbols);
}

pdm_status pdm_exec_group_run(pdm_exec_group *group, pdm_k *k, pdm_exec_mirror *mirror,
                              bool *out_done)
{
    pdm_cinn_actual actual[PDM_CINN_MAX_INPUTS];
    int64_t symbols[PDM_CINN_MAX_INPUTS * PDM_MAX_RANK];
    variant *v;

    *out_done = false;
    atomic_fetch_add_explicit(&group->runs, 1, memory_order_relaxed);
    if (mirror)
        PDM_TRY(bring_sizes(group, k, mirror));
    if (!group->backend || !take_inputs(group, k, actual))
        return PDM_OK;
    PDM_TRY(find(group, actual, symbols, &v));
    if (!v)
        return PDM_OK;
    const pdm_status status = run_variant(group, v, k, mirror, symbols, out_done);
    leave(group, v);
    if (*out_done)
        atomic_fetch_add_explicit(&group->compiled, 1, memory_order_relaxed);
    return status;
}
