#include "exec/device.h"

#include <stdlib.h>
#include <string.h>

#include "cinn/kernels.h"
#include "exec/compiled.h"
#include "exec/device_loops.h"

/* What is told of a call: the numbers in it. Calls with the same ones share loops. */
enum { MAX_NUMBERS = 64 };
typedef struct signature {
    int64_t numbers[MAX_NUMBERS];
} signature;

typedef struct made {
    signature of;
    pdm_device_loops loops; /* fn is NULL: there are none */
    pdm_cinn_kernel *kernel; /* NULL: the backend refuses it */
    struct made *next;
} made;

enum { MOST_MADE = 512 }; /* kept; programs with ever new shapes begin anew */

struct pdm_exec_device {
    const pdm_cinn_backend *backend;
    pdm_exec_mirror *mirror; /* its lock is around the rest */
    made *all;
    size_t count;
};

pdm_status pdm_exec_device_create(const pdm_cinn_backend *backend, pdm_exec_mirror *mirror,
                                  pdm_exec_device **out_device)
{
    pdm_exec_device *device = calloc(1, sizeof *device);

    if (!device)
        return PDM_NOMEM;
    device->backend = backend;
    device->mirror = mirror;
    *out_device = device;
    return PDM_OK;
}

static void forget_all(pdm_exec_device *device)
{
    /* The device may not have come to the last launches yet. One that is broken runs nothing any more. */
    if (device->all)
        (void)(device->backend->device->get(NULL, NULL, 0) == PDM_OK);
    for (made *m = device->all, *next; m; m = next) {
        next = m->next;
        pdm_cinn_kernel_release(m->kernel);
        pdm_loop_fn_destroy(m->loops.fn);
        free(m);
    }
    device->all = NULL;
    device->count = 0;
}

void pdm_exec_device_destroy(pdm_exec_device *device)
{
    if (device)
        forget_all(device);
    free(device);
}

bool pdm_exec_device_knows(pdm_kernel_fn fn)
{
    static const pdm_kernel_fn known[] = {
        pdm_kernel_matmul,  pdm_kernel_bmm,   pdm_kernel_mv,
        pdm_kernel_addmm,   pdm_kernel_baddbmm, pdm_kernel_matmul_with_flatten,
        pdm_kernel_conv,    pdm_kernel_conv_bias, pdm_kernel_conv2d_transpose,
        pdm_kernel_conv2d_transpose_bias, pdm_kernel_conv3d_transpose,
        pdm_kernel_pool2d,  pdm_kernel_pool3d,
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (fn == known[i])
            return true;
    }
    return false;
}

bool pdm_exec_device_is_view(pdm_kernel_fn fn)
{
    return fn == pdm_kernel_reshape || fn == pdm_kernel_flatten || fn == pdm_kernel_squeeze ||
           fn == pdm_kernel_unsqueeze;
}

/* ---- loops ----------------------------------------------------------------------------------- */

typedef enum kind { PRODUCT, CONV, POOL } kind;

/* One call, of one of three kinds. */
typedef struct work {
    kind kind;
    const void *what; /* pdm_nn_product, pdm_nn_conv, pdm_nn_pool */
    const pdm_tensor *inputs[3];
    size_t num_inputs;
    pdm_tensor *out;
    signature of;
    size_t num_numbers;
} work;

static void note(work *w, int64_t value)
{
    if (w->num_numbers < MAX_NUMBERS)
        w->of.numbers[w->num_numbers] = value;
    w->num_numbers++;
}

static void note_all(work *w, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        note(w, values[i]);
}

static void note_float(work *w, double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    note(w, bits);
}

static void add_input(work *w, const pdm_tensor *tensor)
{
    if (tensor) {
        note(w, tensor->dtype);
        note(w, pdm_tensor_count(tensor));
        w->inputs[w->num_inputs++] = tensor;
    }
}

static pdm_status make_loops(const work *w, pdm_device_loops *out)
{
    switch (w->kind) {
    case PRODUCT:
        return pdm_exec_product_loops(w->what, out);
    case CONV:
        return pdm_exec_conv_loops(w->what, out);
    case POOL:
        return pdm_exec_pool_loops(w->what, out);
    }
    return PDM_UNSUPPORTED;
}

static pdm_status make(pdm_exec_device *device, const work *w, made **out)
{
    made *m = calloc(1, sizeof *m);

    if (!m)
        return PDM_NOMEM;
    m->of = w->of;
    pdm_status status = make_loops(w, &m->loops);
    if (status == PDM_OK)
        status = pdm_cinn_kernel_take(device->backend, m->loops.fn, &m->kernel);
    if (status != PDM_OK && status != PDM_UNSUPPORTED) {
        pdm_loop_fn_destroy(m->loops.fn);
        free(m);
        return status;
    }
    if (device->count == MOST_MADE)
        forget_all(device);
    m->next = device->all;
    device->all = m;
    device->count++;
    *out = m;
    return PDM_OK;
}

static pdm_status find(pdm_exec_device *device, const work *w, made **out)
{
    if (w->num_numbers > MAX_NUMBERS)
        return PDM_UNSUPPORTED;
    for (made *m = device->all; m; m = m->next) {
        if (!memcmp(&m->of, &w->of, sizeof m->of)) {
            *out = m;
            return PDM_OK;
        }
    }
    return make(device, w, out);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Whether batches of both operands can be counted by one number; strides: how far apart they are. */
static bool one_batch(const pdm_nn_product *p, int64_t *x_stride, int64_t *y_stride)
{
    int64_t count = 1;

    *x_stride = *y_stride = 0;
    for (int d = p->batch_rank - 1; d >= 0; d--) {
        if (p->batch_dims[d] == 1) /* its stride may be anything */
            continue;
        if (count == 1) {
            *x_stride = p->x_batch[d];
            *y_stride = p->y_batch[d];
        } else if (p->x_batch[d] != *x_stride * count || p->y_batch[d] != *y_stride * count) {
            return false;
        }
        count *= p->batch_dims[d];
    }
    return true;
}

static pdm_status library_product(const pdm_cinn_device *device, const pdm_nn_product *p, void **data)
{
    pdm_cinn_product call = {.dtype = p->x->dtype, .batch = p->batch, .rows = p->rows, .cols = p->cols,
                             .depth = p->depth, .x = data[0], .y = data[1], .out = data[2], .alpha = p->alpha};

    if (!device->product || p->add || p->y->dtype != p->x->dtype || (p->x_row != 1 && p->x_col != 1) ||
        (p->y_row != 1 && p->y_col != 1) || !one_batch(p, &call.x_batch, &call.y_batch))
        return PDM_UNSUPPORTED;
    call.x_turned = p->x_col != 1;
    call.y_turned = p->y_col != 1;
    call.x_step = call.x_turned ? p->x_col : p->x_row;
    call.y_step = call.y_turned ? p->y_col : p->y_row;
    return device->product(&call);
}

static pdm_status library_conv(const pdm_cinn_device *device, const pdm_nn_conv *c, void **data)
{
    pdm_cinn_conv call = {.dtype = c->x->dtype, .transposed = c->transposed, .batch = c->w.batch,
                          .in_channels = c->w.channels, .out_channels = c->groups * c->out_group,
                          .groups = c->groups, .x = data[0], .filter = data[1], .out = data[2]};

    if (!device->conv || c->bias || c->residual || c->act || c->filter->dtype != c->x->dtype ||
        c->w.channels_last || c->in_group < 1)
        return PDM_UNSUPPORTED;
    for (int d = 0; d < 3; d++) {
        if (c->w.before[d] != c->w.after[d])
            return PDM_UNSUPPORTED;
        call.in[d] = c->w.in[d];
        call.kernel[d] = c->w.kernel[d];
        call.stride[d] = c->w.stride[d];
        call.dilation[d] = c->w.dilation[d];
        call.pad[d] = c->w.before[d];
        call.out_size[d] = c->w.out[d];
    }
    return device->conv(&call);
}

static pdm_status launch(pdm_exec_device *device, const work *w, void **data)
{
    const pdm_cinn_device *with = device->backend->device;
    pdm_status status = PDM_UNSUPPORTED;
    made *m;

    pdm_exec_mirror_time(device->mirror);
    if (w->kind == PRODUCT)
        status = library_product(with, w->what, data);
    else if (w->kind == CONV)
        status = library_conv(with, w->what, data);
    if (status != PDM_UNSUPPORTED)
        return status;
    PDM_TRY(find(device, w, &m));
    if (!m->kernel)
        return PDM_UNSUPPORTED;
    pdm_exec_mirror_time(device->mirror); /* not that code is made */
    return with->launch(pdm_cinn_kernel_image(m->kernel), m->loops.fn, data, m->loops.symbols);
}

/* PDM_UNSUPPORTED, PDM_NOMEM: it may be done here. */
static pdm_status run_there(pdm_exec_device_call *call, const work *w)
{
    const pdm_cinn_device *device = call->device->backend->device;
    const size_t bytes = pdm_tensor_bytes(w->out);
    void *data[4];

    for (size_t i = 0; i < w->num_inputs; i++)
        PDM_TRY(pdm_exec_mirror_take(call->device->mirror, call->op, w->inputs[i], &data[i]));
    void **out = &data[w->num_inputs];
    PDM_TRY(device->alloc(bytes, out));
    pdm_status status = launch(call->device, w, data);
    if (status == PDM_OK) {
        pdm_exec_mirror_timed(call->device->mirror, call->op, bytes);
        status = pdm_exec_mirror_give(call->device->mirror, w->out, *out);
    }
    if (status != PDM_OK)
        device->free(*out, bytes);
    return status;
}

/* All that kernels read here. */
static pdm_status bring_all(const pdm_exec_device_call *call, const pdm_k *k)
{
    for (size_t i = 0; i < k->num_in; i++)
        PDM_TRY(pdm_exec_mirror_read(call->device->mirror, call->op, k->in[i]));
    return PDM_OK;
}

static bool run(const pdm_k_device *hook, pdm_k *k, const work *w)
{
    pdm_exec_device_call *call = (pdm_exec_device_call *)(uintptr_t)hook;

    pdm_exec_mirror_lock(call->device->mirror);
    pdm_status status = run_there(call, w);
    call->done = status == PDM_OK;
    if (status == PDM_UNSUPPORTED || status == PDM_NOMEM)
        status = bring_all(call, k);
    pdm_exec_mirror_unlock(call->device->mirror);
    if (status == PDM_NOMEM)
        pdm_k_nomem(k);
    else if (status != PDM_OK)
        pdm_k_fail(k, "the device failed: %s", call->device->backend->device->error());
    return status != PDM_OK || call->done;
}

static bool run_product(const pdm_k_device *hook, pdm_k *k, const pdm_nn_product *p)
{
    work w = {.kind = PRODUCT, .what = p, .out = p->out};
    const int64_t numbers[] = {PRODUCT,  p->batch, p->rows,  p->cols,       p->depth,     p->x_row,   p->x_col,
                               p->y_row, p->y_col, p->batch_rank, p->add_batch, p->add_row, p->add_col};

    note_all(&w, numbers, sizeof numbers / sizeof *numbers);
    note_all(&w, p->batch_dims, (size_t)p->batch_rank);
    note_all(&w, p->x_batch, (size_t)p->batch_rank);
    note_all(&w, p->y_batch, (size_t)p->batch_rank);
    note_float(&w, p->alpha);
    note_float(&w, p->beta);
    add_input(&w, p->x);
    add_input(&w, p->y);
    add_input(&w, p->add);
    return run(hook, k, &w);
}

static void note_window(work *w, const pdm_nn_window *window)
{
    note(w, window->channels_last);
    note(w, window->batch);
    note(w, window->channels);
    note_all(w, window->in, 3);
    note_all(w, window->kernel, 3);
    note_all(w, window->stride, 3);
    note_all(w, window->dilation, 3);
    note_all(w, window->before, 3);
    note_all(w, window->after, 3);
    note_all(w, window->out, 3);
}

static bool run_conv(const pdm_k_device *hook, pdm_k *k, const pdm_nn_conv *c)
{
    work w = {.kind = CONV, .what = c, .out = c->out};

    note(&w, CONV);
    note_window(&w, &c->w);
    note(&w, c->transposed);
    note(&w, c->groups);
    note(&w, c->in_group);
    note(&w, c->out_group);
    note(&w, c->act != NULL);
    note(&w, c->residual != NULL);
    add_input(&w, c->x);
    add_input(&w, c->filter);
    add_input(&w, c->bias);
    return run(hook, k, &w);
}

static bool run_pool(const pdm_k_device *hook, pdm_k *k, const pdm_nn_pool *p)
{
    work w = {.kind = POOL, .what = p, .out = p->out};

    note(&w, POOL);
    note_window(&w, &p->w);
    note(&w, p->mode);
    note(&w, p->adaptive);
    note(&w, p->exclusive);
    add_input(&w, p->x);
    return run(hook, k, &w);
}

pdm_status pdm_exec_device_begin(pdm_exec_device *device, const pdm_ir_op *op, pdm_k *k,
                                 pdm_exec_device_call *out_call)
{
    *out_call = (pdm_exec_device_call){.hook = {run_product, run_conv, run_pool}, .device = device, .op = op};
    k->device = &out_call->hook;
    for (size_t i = 0; i < k->num_in; i++) {
        /* Vectors, of tensors with a size each, and integers, which are not calculated with there. */
        if (k->in[i] && (k->in[i]->kind != PDM_VALUE_TENSOR || pdm_exec_has_sizes(&k->in[i]->tensor)))
            PDM_TRY(pdm_exec_mirror_read(device->mirror, op, k->in[i]));
    }
    return PDM_OK;
}
