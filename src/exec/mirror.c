#include "exec/mirror.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/map.h"
#include "base/vec.h"

/* A place here and its memory on the device. Places do not overlap. */
typedef struct place {
    const char *here;
    size_t bytes;
    void *there;
    pdm_buffer *buffer; /* of the data here, a reference; NULL: they are borrowed */
    bool old;  /* the device has newer data */
    bool kept; /* data never change */
} place;

/* What was asked for between two marks. */
typedef struct timed {
    const pdm_ir_op *op;
    void *begin, *end;
    uint64_t bytes;
} timed;

struct pdm_exec_mirror {
    const pdm_cinn_device *device;
    pdm_exec_trace *trace;
    pthread_mutex_t lock; /* recursive */
    PDM_VEC(place) places;
    pdm_map constants; /* addresses here */
    void *zero;        /* a mark, passed about when zero_at was; NULL: none in this run */
    uint64_t zero_at;
    void *begin; /* a mark of what is going on; NULL: nothing is timed */
    PDM_VEC(timed) timed;
};

pdm_status pdm_exec_mirror_create(const pdm_cinn_device *device, pdm_exec_trace *trace,
                                  pdm_exec_mirror **out_mirror)
{
    pdm_exec_mirror *m = calloc(1, sizeof *m);
    pthread_mutexattr_t attr;

    if (!m)
        return PDM_NOMEM;
    m->device = device;
    m->trace = trace;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    *out_mirror = m;
    return PDM_OK;
}

static void drop(pdm_exec_mirror *m, size_t i)
{
    m->device->free(m->places.v[i].there, m->places.v[i].bytes);
    pdm_buffer_release(m->places.v[i].buffer);
    m->places.v[i] = m->places.v[--m->places.n];
}

/* ---- times ----------------------------------------------------------------------------------- */

void pdm_exec_mirror_time(pdm_exec_mirror *m)
{
    if (!m->trace)
        return;
    if (!m->zero && m->device->mark(&m->zero) == PDM_OK)
        m->zero_at = pdm_exec_now();
    m->device->unmark(m->begin);
    m->begin = NULL;
    if (m->zero && m->device->mark(&m->begin) != PDM_OK)
        m->begin = NULL; /* it is not timed then */
}

void pdm_exec_mirror_timed(pdm_exec_mirror *m, const pdm_ir_op *op, uint64_t bytes)
{
    timed t = {.op = op, .begin = m->begin, .bytes = bytes};

    if (!m->begin)
        return;
    m->begin = NULL;
    if (m->device->mark(&t.end) == PDM_OK && PDM_VEC_PUSH(&m->timed, t))
        return;
    m->device->unmark(t.begin);
    m->device->unmark(t.end);
}

/* All of them are in the past, or soon will be. */
static void tell_times(pdm_exec_mirror *m)
{
    for (size_t i = 0; i < m->timed.n; i++) {
        const timed *t = &m->timed.v[i];
        uint64_t begin, took;
        if (m->device->between(m->zero, t->begin, &begin) == PDM_OK &&
            m->device->between(t->begin, t->end, &took) == PDM_OK)
            pdm_exec_trace_add_device(m->trace, t->op, m->zero_at + begin, m->zero_at + begin + took, t->bytes);
        m->device->unmark(t->begin);
        m->device->unmark(t->end);
    }
    m->timed.n = 0;
    m->device->unmark(m->begin);
    m->device->unmark(m->zero);
    m->begin = m->zero = NULL;
}

void pdm_exec_mirror_destroy(pdm_exec_mirror *m)
{
    if (!m)
        return;
    tell_times(m);
    PDM_VEC_FREE(&m->timed);
    while (m->places.n > 0)
        drop(m, m->places.n - 1);
    PDM_VEC_FREE(&m->places);
    pdm_map_deinit(&m->constants);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

pdm_status pdm_exec_mirror_keep(pdm_exec_mirror *m, const void *data)
{
    return pdm_map_put(&m->constants, data) ? PDM_OK : PDM_NOMEM;
}

void pdm_exec_mirror_lock(pdm_exec_mirror *m)
{
    pthread_mutex_lock(&m->lock);
}

void pdm_exec_mirror_unlock(pdm_exec_mirror *m)
{
    pthread_mutex_unlock(&m->lock);
}

void pdm_exec_mirror_clear(pdm_exec_mirror *m)
{
    pdm_exec_mirror_lock(m);
    tell_times(m);
    for (size_t i = m->places.n; i-- > 0;) {
        if (!m->places.v[i].kept)
            drop(m, i);
    }
    pdm_exec_mirror_unlock(m);
}

static bool overlaps(const place *p, const void *data, size_t bytes)
{
    const char *at = data;

    return at < p->here + p->bytes && p->here < at + bytes;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static pdm_status fetch(pdm_exec_mirror *m, const pdm_ir_op *op, place *p)
{
    const uint64_t begin = m->trace ? pdm_exec_now() : 0;

    PDM_TRY(m->device->get((void *)(uintptr_t)p->here, p->there, p->bytes));
    p->old = false;
    if (m->trace)
        pdm_exec_trace_add_named(m->trace, "copy from device", op, begin, pdm_exec_now(), p->bytes,
                                 1);
    return PDM_OK;
}

static pdm_status fetch_range(pdm_exec_mirror *m, const pdm_ir_op *op, const void *data,
                              size_t bytes)
{
    for (size_t i = 0; i < m->places.n; i++) {
        if (m->places.v[i].old && overlaps(&m->places.v[i], data, bytes))
            PDM_TRY(fetch(m, op, &m->places.v[i]));
    }
    return PDM_OK;
}

static void forget(pdm_exec_mirror *m, const void *data, size_t bytes)
{
    for (size_t i = m->places.n; i-- > 0;) {
        if (overlaps(&m->places.v[i], data, bytes))
            drop(m, i);
    }
}

typedef pdm_status (*visit_fn)(pdm_exec_mirror *m, const pdm_ir_op *op, const pdm_tensor *tensor);

static pdm_status each_tensor(pdm_exec_mirror *m, const pdm_ir_op *op, const pdm_value *value,
                              visit_fn visit)
{
    if (!value)
        return PDM_OK;
    if (value->kind == PDM_VALUE_TENSOR || value->kind == PDM_VALUE_SELECTED_ROWS)
        return value->tensor.dtype == PDM_UNDEFINED ? PDM_OK : visit(m, op, &value->tensor);
    for (size_t i = 0; value->kind == PDM_VALUE_LIST && i < value->list.count; i++)
        PDM_TRY(each_tensor(m, op, value->list.items[i], visit));
    for (size_t i = 0; value->kind == PDM_VALUE_ARRAY && i < value->array.count; i++) {
        if (value->array.items[i].dtype != PDM_UNDEFINED)
            PDM_TRY(visit(m, op, &value->array.items[i]));
    }
    return PDM_OK;
}

static pdm_status fetch_tensor(pdm_exec_mirror *m, const pdm_ir_op *op, const pdm_tensor *tensor)
{
    return fetch_range(m, op, tensor->data, pdm_tensor_bytes(tensor));
}

static pdm_status forget_tensor(pdm_exec_mirror *m, const pdm_ir_op *op, const pdm_tensor *tensor)
{
    (void)op;
    forget(m, tensor->data, pdm_tensor_bytes(tensor));
    return PDM_OK;
}

pdm_status pdm_exec_mirror_read(pdm_exec_mirror *m, const pdm_ir_op *op, const pdm_value *value)
{
    pdm_exec_mirror_lock(m);
    const pdm_status status = each_tensor(m, op, value, fetch_tensor);
    pdm_exec_mirror_unlock(m);
    return status;
}

void pdm_exec_mirror_wrote(pdm_exec_mirror *m, const pdm_value *value)
{
    pdm_exec_mirror_lock(m);
    const pdm_status status = each_tensor(m, NULL, value, forget_tensor);
    (void)status; /* forgetting cannot fail */
    pdm_exec_mirror_unlock(m);
}

void pdm_exec_mirror_leave(pdm_exec_mirror *m, const pdm_value *value)
{
    const pdm_buffer *buffer = value->kind == PDM_VALUE_TENSOR ? value->tensor.buffer : NULL;
    size_t ours = 0;

    if (!buffer)
        return;
    pdm_exec_mirror_lock(m);
    for (size_t i = 0; i < m->places.n; i++)
        ours += m->places.v[i].buffer == buffer;
    if (ours > 0 && atomic_load(&buffer->refs) == ours + 1) {
        for (size_t i = m->places.n; i-- > 0;) {
            if (m->places.v[i].buffer == buffer)
                drop(m, i);
        }
    }
    pdm_exec_mirror_unlock(m);
}

/* ---- what groups use ------------------------------------------------------------------------- */

pdm_status pdm_exec_mirror_take(pdm_exec_mirror *m, const pdm_ir_op *op, const pdm_tensor *tensor,
                                void **out)
{
    const size_t bytes = pdm_tensor_bytes(tensor);
    place p = {.here = tensor->data, .bytes = bytes, .buffer = tensor->buffer};

    for (size_t i = 0; i < m->places.n; i++) {
        if (m->places.v[i].here == p.here && m->places.v[i].bytes == bytes) {
            *out = m->places.v[i].there;
            return PDM_OK;
        }
    }
    /* A part of something, or more than it. */
    PDM_TRY(fetch_range(m, op, p.here, bytes));
    forget(m, p.here, bytes);
    p.kept = pdm_map_find(&m->constants, p.here) != NULL;
    PDM_TRY(m->device->alloc(bytes, &p.there));
    const uint64_t begin = m->trace ? pdm_exec_now() : 0;
    pdm_status status = m->device->put(p.there, p.here, bytes);
    if (status == PDM_OK && !PDM_VEC_PUSH(&m->places, p))
        status = PDM_NOMEM;
    if (status != PDM_OK) {
        m->device->free(p.there, bytes);
        return status;
    }
    pdm_buffer_retain(p.buffer);
    if (m->trace)
        pdm_exec_trace_add_named(m->trace, "copy to device", op, begin, pdm_exec_now(), bytes, 1);
    *out = p.there;
    return PDM_OK;
}

pdm_status pdm_exec_mirror_give(pdm_exec_mirror *m, const pdm_tensor *tensor, void *device)
{
    const place p = {.here = tensor->data,
                     .bytes = pdm_tensor_bytes(tensor),
                     .buffer = tensor->buffer,
                     .there = device,
                     .old = true};

    forget(m, p.here, p.bytes);
    if (!PDM_VEC_PUSH(&m->places, p))
        return PDM_NOMEM;
    pdm_buffer_retain(p.buffer);
    return PDM_OK;
}
