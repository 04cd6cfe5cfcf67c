#include "exec/device_loops.h"

#include <float.h>

#include "cinn/gpu.h"
#include "cinn/loop_rewrite.h"

typedef const pdm_loop_expr *E;

enum {
    TILE = 4,           /* results that a thread has in registers, each way */
    TILED_FROM = 1 << 14 /* results; with fewer, tiles would leave threads without work */
};

typedef struct maker {
    pdm_loop_fn *fn;
    int64_t *symbols;
    uint32_t x, y, extra, out, sum; /* buffers */
    uint32_t block, thread;         /* variables */
    pdm_dtype wide;                 /* what is summed up in */
} maker;

/* ---- expressions ----------------------------------------------------------------------------- */

static E binary(maker *m, pdm_loop_op op, E a, E b)
{
    return pdm_loop_binary(m->fn, op, a, b);
}

static E number(maker *m, int64_t value)
{
    return pdm_loop_index(m->fn, value);
}

/* Code may rely on 0 and 1, and on symbols being larger. */
static E size(maker *m, int64_t value)
{
    const size_t n = m->fn->symbols.n;

    if (value < PDM_LOOP_LEAST_SYMBOL)
        return number(m, value);
    if (n == PDM_DEVICE_SYMBOLS) {
        m->fn->status = PDM_UNSUPPORTED;
        return NULL;
    }
    m->symbols[n] = value;
    return pdm_loop_add_symbol(m->fn, 0, (uint32_t)n);
}

static E times(maker *m, E a, int64_t by)
{
    return binary(m, PDM_LOOP_MUL, a, number(m, by));
}

/* a + b * stride */
static E step(maker *m, E a, E b, int64_t stride)
{
    return binary(m, PDM_LOOP_ADD, a, binary(m, PDM_LOOP_MUL, b, size(m, stride)));
}

/* The last digit of a counter, which goes on with the others. */
static E digit(maker *m, E *rest, E radix)
{
    if (!radix || pdm_loop_is_int(radix, 1))
        return number(m, 0);
    E last = binary(m, PDM_LOOP_MOD, *rest, radix);
    *rest = binary(m, PDM_LOOP_DIV, *rest, radix);
    return last;
}

static E load(maker *m, uint32_t buffer, E at)
{
    return pdm_loop_load(m->fn, buffer, &at);
}

static E wide(maker *m, E e)
{
    return pdm_loop_cast(m->fn, m->wide, e);
}

static E sum_at(maker *m, int64_t i)
{
    return load(m, m->sum, number(m, i));
}

/* ---- statements ------------------------------------------------------------------------------ */

static pdm_loop_stmt *store(maker *m, uint32_t buffer, E at, E value)
{
    return pdm_loop_store(m->fn, buffer, &at, value);
}

static pdm_loop_stmt *set_sum(maker *m, int64_t i, E value)
{
    return store(m, m->sum, number(m, i), value);
}

static pdm_loop_stmt *round_out(maker *m, E at, E value)
{
    return store(m, m->out, at, pdm_loop_cast(m->fn, m->fn->buffers.v[m->out].dtype, value));
}

static pdm_loop_stmt *loop(maker *m, uint32_t var, E extent, pdm_loop_stmt *body)
{
    return body ? pdm_loop_for(m->fn, var, extent, body) : NULL;
}

static pdm_loop_stmt *only_if(maker *m, E condition, pdm_loop_stmt *body)
{
    return condition && body ? pdm_loop_if(m->fn, condition, body) : body;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* vars: so many beside those of blocks and threads, from 0 on. */
static pdm_status begin(maker *m, const char *name, pdm_dtype dtype, uint32_t vars, pdm_device_loops *out)
{
    if (dtype != PDM_F32 && dtype != PDM_F64 && !pdm_loop_is_half(dtype))
        return PDM_UNSUPPORTED;
    PDM_TRY(pdm_loop_fn_create(name, &out->fn));
    *m = (maker){.fn = out->fn, .symbols = out->symbols, .wide = dtype == PDM_F64 ? PDM_F64 : PDM_F32,
                 .block = vars, .thread = vars + 1};
    m->fn->num_vars = vars + 2;
    return PDM_OK;
}

/* The number of a turn of the nest. */
static E counter(maker *m)
{
    return binary(m, PDM_LOOP_ADD, times(m, pdm_loop_var(m->fn, m->block), PDM_CINN_BLOCK),
                  pdm_loop_var(m->fn, m->thread));
}

static uint32_t buffer(maker *m, const char *name, pdm_loop_role role, const pdm_tensor *tensor)
{
    E count = size(m, pdm_tensor_count(tensor));

    return pdm_loop_add_buffer(m->fn, name, role, tensor->dtype, 1, &count);
}

/* What a thread adds up, for a turn of the nest. */
static void sums(maker *m, int64_t count)
{
    E extent = number(m, count);

    m->sum = pdm_loop_add_buffer(m->fn, "sum", PDM_LOOP_TEMP, m->wide, 1, &extent);
    if (m->fn->status == PDM_OK) {
        m->fn->buffers.v[m->sum].scope = PDM_LOOP_LOCAL;
        m->fn->buffers.v[m->sum].home = m->thread;
    }
}

/* count: turns of the nest, a thread each. */
static pdm_status finish(maker *m, E count, pdm_loop_stmt *body, pdm_device_loops *out)
{
    const int64_t turns = m->fn->status == PDM_OK ? pdm_loop_eval(count, m->symbols) : 0;
    E blocks = size(m, turns / PDM_CINN_BLOCK + (turns % PDM_CINN_BLOCK != 0));
    pdm_loop_stmt *threads = NULL, *nest = NULL;

    if (m->fn->status == PDM_OK)
        threads = loop(m, m->thread, number(m, PDM_CINN_BLOCK), only_if(m, binary(m, PDM_LOOP_LT, counter(m), count), body));
    if (threads)
        nest = loop(m, m->block, blocks, threads);
    if (nest) {
        threads->mark = PDM_LOOP_THREAD_X;
        nest->mark = PDM_LOOP_BLOCK_X;
        m->fn->body = nest;
        pdm_loop_flatten(m->fn);
    }
    pdm_status status = m->fn->status;
    if (status == PDM_OK && (!nest || pdm_loop_verify(m->fn)))
        status = PDM_UNSUPPORTED;
    if (status != PDM_OK) {
        pdm_loop_fn_destroy(m->fn);
        out->fn = NULL;
    }
    return status;
}

/* Rows or columns are dealt out in turn, so that threads side by side read side by side: the i-th of
 * a tile is at + i * tiles. */
static E dealt(maker *m, E at, int64_t i, E tiles)
{
    return i == 0 ? at : binary(m, PDM_LOOP_ADD, at, times(m, tiles, i));
}

/* Reads of those that are not there are of the last one. */
static E clamped(maker *m, E at, E count, int64_t tile)
{
    return tile == 1 ? at
                     : binary(m, PDM_LOOP_MIN, at, binary(m, PDM_LOOP_SUB, count, number(m, 1)));
}

static int64_t tile_of(int64_t count, int64_t results)
{
    return count >= TILE && results >= TILED_FROM ? TILE : 1;
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct patch {
    int64_t rows, cols;        /* in it */
    E row, col, row_tiles, col_tiles;
    E x, y, out, add;          /* where the matrices begin */
    E num_rows, num_cols;
} patch;

static pdm_loop_stmt *product_sums(maker *m, const pdm_nn_product *p, const patch *t, uint32_t var)
{
    E k = pdm_loop_var(m->fn, var), xs[TILE], ys[TILE];
    pdm_loop_stmt *body = NULL;

    for (int64_t i = 0; i < t->rows; i++) {
        E row = clamped(m, dealt(m, t->row, i, t->row_tiles), t->num_rows, t->rows);
        xs[i] = wide(m, load(m, m->x, step(m, step(m, t->x, row, p->x_row), k, p->x_col)));
    }
    for (int64_t j = 0; j < t->cols; j++) {
        E col = clamped(m, dealt(m, t->col, j, t->col_tiles), t->num_cols, t->cols);
        ys[j] = wide(m, load(m, m->y, step(m, step(m, t->y, k, p->y_row), col, p->y_col)));
    }
    for (int64_t i = 0; i < t->rows * t->cols && m->fn->status == PDM_OK; i++)
        pdm_loop_append(&body, set_sum(m, i, pdm_loop_fma(m->fn, xs[i / t->cols], ys[i % t->cols], sum_at(m, i))));
    return loop(m, var, size(m, p->depth), body);
}

static pdm_loop_stmt *product_result(maker *m, const pdm_nn_product *p, const patch *t, int64_t i)
{
    E row = dealt(m, t->row, i / t->cols, t->row_tiles), col = dealt(m, t->col, i % t->cols, t->col_tiles);
    E value = sum_at(m, i), inside = NULL;

    if (p->alpha != 1)
        value = binary(m, PDM_LOOP_MUL, value, pdm_loop_number(m->fn, m->wide, p->alpha));
    if (p->add) {
        E add = wide(m, load(m, m->extra, step(m, step(m, t->add, row, p->add_row), col, p->add_col)));
        value = pdm_loop_fma(m->fn, add, pdm_loop_number(m->fn, m->wide, p->beta), value);
    }
    pdm_loop_stmt *body = round_out(m, binary(m, PDM_LOOP_ADD, step(m, t->out, row, p->cols), col), value);
    if (t->rows > 1)
        inside = binary(m, PDM_LOOP_LT, row, t->num_rows);
    if (t->cols > 1) {
        E within = binary(m, PDM_LOOP_LT, col, t->num_cols);
        inside = inside ? binary(m, PDM_LOOP_AND, inside, within) : within;
    }
    return only_if(m, inside, body);
}

pdm_status pdm_exec_product_loops(const pdm_nn_product *p, pdm_device_loops *out)
{
    const int64_t results = p->batch * p->rows * p->cols;
    patch t = {.rows = tile_of(p->rows, results), .cols = tile_of(p->cols, results)};
    maker m;

    if (p->y->dtype != p->x->dtype || p->out->dtype != p->x->dtype)
        return PDM_UNSUPPORTED;
    PDM_TRY(begin(&m, "product", p->x->dtype, 1, out));
    m.x = buffer(&m, "x", PDM_LOOP_INPUT, p->x);
    m.y = buffer(&m, "y", PDM_LOOP_INPUT, p->y);
    m.extra = p->add ? buffer(&m, "add", PDM_LOOP_INPUT, p->add) : 0;
    m.out = buffer(&m, "out", PDM_LOOP_OUTPUT, p->out);
    sums(&m, t.rows * t.cols);
    t.num_rows = size(&m, p->rows);
    t.num_cols = size(&m, p->cols);
    t.row_tiles = size(&m, (p->rows + t.rows - 1) / t.rows);
    t.col_tiles = size(&m, (p->cols + t.cols - 1) / t.cols);
    E extent = binary(&m, PDM_LOOP_MUL, t.row_tiles, t.col_tiles), rest = counter(&m), batch = number(&m, 0);
    t.x = t.y = t.out = t.add = number(&m, 0);
    t.col = digit(&m, &rest, t.col_tiles);
    t.row = digit(&m, &rest, t.row_tiles);
    int64_t below = 1;
    for (int d = p->batch_rank - 1; d >= 0; d--) {
        E radix = size(&m, p->batch_dims[d]), at = digit(&m, &rest, radix);
        extent = binary(&m, PDM_LOOP_MUL, extent, radix);
        t.x = step(&m, t.x, at, p->x_batch[d]);
        t.y = step(&m, t.y, at, p->y_batch[d]);
        batch = step(&m, batch, at, below);
        below *= p->batch_dims[d];
    }
    t.out = step(&m, t.out, batch, p->rows * p->cols);
    t.add = p->add ? step(&m, t.add, batch, p->add_batch) : t.add;
    pdm_loop_stmt *body = NULL;
    for (int64_t i = 0; i < t.rows * t.cols && m.fn->status == PDM_OK; i++)
        pdm_loop_append(&body, set_sum(&m, i, pdm_loop_number(m.fn, m.wide, 0)));
    if (m.fn->status == PDM_OK)
        pdm_loop_append(&body, product_sums(&m, p, &t, 0));
    for (int64_t i = 0; i < t.rows * t.cols && m.fn->status == PDM_OK; i++)
        pdm_loop_append(&body, product_result(&m, p, &t, i));
    return finish(&m, extent, body, out);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Where a turn of the nest stands: its batch, channel and place of the result. */
typedef struct place {
    E batch, group, channel, at[3];
} place;

/* channels: in a group, or tiles of them. */
static E split_counter(maker *m, const pdm_nn_window *w, E groups, E channels, E rest, place *to)
{
    E out[3], batch = size(m, w->batch), extent = binary(m, PDM_LOOP_MUL, batch, binary(m, PDM_LOOP_MUL, groups, channels));

    for (int d = 2; d >= 0; d--) {
        out[d] = size(m, w->out[d]);
        extent = binary(m, PDM_LOOP_MUL, extent, out[d]);
    }
    if (w->channels_last) {
        to->channel = digit(m, &rest, channels);
        to->group = digit(m, &rest, groups);
    }
    for (int d = 2; d >= 0; d--)
        to->at[d] = digit(m, &rest, out[d]);
    if (!w->channels_last) {
        to->channel = digit(m, &rest, channels);
        to->group = digit(m, &rest, groups);
    }
    to->batch = digit(m, &rest, batch);
    return extent;
}

static E both(maker *m, E a, E b)
{
    return a && b ? binary(m, PDM_LOOP_AND, a, b) : a ? a : b;
}

static E is_within(maker *m, E at, int64_t count)
{
    return both(m, binary(m, PDM_LOOP_LE, number(m, 0), at), binary(m, PDM_LOOP_LT, at, size(m, count)));
}

/* The input place under a place of the kernel; *inside: when it is there, NULL: always. */
static E input_place(maker *m, const pdm_nn_conv *c, int d, E to, E at, E *inside)
{
    const pdm_nn_window *w = &c->w;
    E from;

    *inside = NULL;
    if (!c->transposed) {
        from = binary(m, PDM_LOOP_ADD, times(m, to, w->stride[d]), times(m, at, w->dilation[d]));
        from = binary(m, PDM_LOOP_SUB, from, number(m, w->before[d]));
        if (w->before[d] != 0 || w->after[d] != 0)
            *inside = is_within(m, from, w->in[d]);
        return from;
    }
    from = binary(m, PDM_LOOP_SUB, binary(m, PDM_LOOP_ADD, to, number(m, w->before[d])), times(m, at, w->dilation[d]));
    E begun = binary(m, PDM_LOOP_LE, number(m, 0), from), whole = NULL;
    if (w->stride[d] > 1) {
        whole = binary(m, PDM_LOOP_EQ, binary(m, PDM_LOOP_MOD, from, number(m, w->stride[d])), number(m, 0));
        from = binary(m, PDM_LOOP_DIV, from, number(m, w->stride[d]));
    }
    *inside = both(m, both(m, begun, whole), binary(m, PDM_LOOP_LT, from, size(m, w->in[d])));
    return from;
}

/* Turns of a kernel's places: variables 1, 2, 3; the channel is variable 0. */
static pdm_loop_stmt *conv_sums(maker *m, const pdm_nn_conv *c, const place *p, E channels, E tiles, int64_t tile)
{
    E channel = pdm_loop_var(m->fn, 0), first = binary(m, PDM_LOOP_ADD, binary(m, PDM_LOOP_MUL, p->group, size(m, c->in_group)), channel);
    E x = step(m, step(m, number(m, 0), p->batch, c->xs[0]), first, c->xs[1]), inside[3], spot = number(m, 0);
    pdm_loop_stmt *body = NULL;

    for (int d = 0; d < 3; d++) {
        E at = c->w.kernel[d] == 1 ? number(m, 0) : pdm_loop_var(m->fn, (uint32_t)d + 1);
        x = step(m, x, input_place(m, c, d, p->at[d], at, &inside[d]), c->xs[2 + d]);
        spot = binary(m, PDM_LOOP_ADD, times(m, spot, c->w.kernel[d]), at);
    }
    E value = wide(m, load(m, m->x, x));
    for (int64_t i = 0; i < tile && m->fn->status == PDM_OK; i++) {
        E to = clamped(m, dealt(m, p->channel, i, tiles), channels, tile);
        E w = step(m, step(m, step(m, spot, p->group, c->filter_group), to, c->filter_out), channel, c->filter_in);
        pdm_loop_append(&body, set_sum(m, i, pdm_loop_fma(m->fn, value, wide(m, load(m, m->y, w)), sum_at(m, i))));
    }
    body = only_if(m, both(m, both(m, inside[0], inside[1]), inside[2]), body);
    for (int d = 2; d >= 0; d--) {
        if (c->w.kernel[d] != 1)
            body = loop(m, (uint32_t)d + 1, number(m, c->w.kernel[d]), body);
    }
    return loop(m, 0, size(m, c->in_group), body);
}

static pdm_loop_stmt *conv_result(maker *m, const pdm_nn_conv *c, const place *p, E channels, E tiles, int64_t tile, int64_t i)
{
    E channel = dealt(m, p->channel, i, tiles), value = sum_at(m, i);
    E number_of = binary(m, PDM_LOOP_ADD, binary(m, PDM_LOOP_MUL, p->group, channels), channel);
    E at = step(m, step(m, number(m, 0), p->batch, c->os[0]), number_of, c->os[1]);

    for (int d = 0; d < 3; d++)
        at = step(m, at, p->at[d], c->os[2 + d]);
    if (c->bias)
        value = binary(m, PDM_LOOP_ADD, value, wide(m, load(m, m->extra, number_of)));
    return only_if(m, tile > 1 ? binary(m, PDM_LOOP_LT, channel, channels) : NULL, round_out(m, at, value));
}

pdm_status pdm_exec_conv_loops(const pdm_nn_conv *c, pdm_device_loops *out)
{
    const int64_t tile = tile_of(c->out_group, pdm_tensor_count(c->out));
    pdm_loop_stmt *body = NULL;
    place p;
    maker m;

    if (c->residual || c->act || c->filter->dtype != c->x->dtype || (c->bias && c->bias->dtype != c->x->dtype))
        return PDM_UNSUPPORTED;
    PDM_TRY(begin(&m, "conv", c->x->dtype, 4, out));
    m.x = buffer(&m, "x", PDM_LOOP_INPUT, c->x);
    m.y = buffer(&m, "filter", PDM_LOOP_INPUT, c->filter);
    m.extra = c->bias ? buffer(&m, "bias", PDM_LOOP_INPUT, c->bias) : 0;
    m.out = buffer(&m, "out", PDM_LOOP_OUTPUT, c->out);
    sums(&m, tile);
    E channels = size(&m, c->out_group), tiles = tile == 1 ? channels : size(&m, (c->out_group + tile - 1) / tile);
    E extent = split_counter(&m, &c->w, size(&m, c->groups), tiles, counter(&m), &p);
    for (int64_t i = 0; i < tile && m.fn->status == PDM_OK; i++)
        pdm_loop_append(&body, set_sum(&m, i, pdm_loop_number(m.fn, m.wide, 0)));
    if (m.fn->status == PDM_OK)
        pdm_loop_append(&body, conv_sums(&m, c, &p, channels, tiles, tile));
    for (int64_t i = 0; i < tile && m.fn->status == PDM_OK; i++)
        pdm_loop_append(&body, conv_result(&m, c, &p, channels, tiles, tile, i));
    return finish(&m, extent, body, out);
}

/* ---- pooling --------------------------------------------------------------------------------- */

static double lowest_of(pdm_dtype dtype)
{
    return dtype == PDM_F64 ? -DBL_MAX : dtype == PDM_F16 ? -65504.0 : dtype == PDM_BF16 ? -0x1.fep127 : -(double)FLT_MAX;
}

/* As pdm_nn_pool_part: the first place, how many there are, and how many count. */
static void window_of(maker *m, const pdm_nn_pool *p, int d, E at, E *begin_at, E *count, E *counted)
{
    const pdm_nn_window *w = &p->w;
    E in = size(m, w->in[d]), from, to;

    if (p->adaptive && p->mode != PDM_POOL_MAX) {
        E out = size(m, w->out[d]);
        from = binary(m, PDM_LOOP_DIV, binary(m, PDM_LOOP_MUL, at, in), out);
        to = binary(m, PDM_LOOP_MUL, binary(m, PDM_LOOP_ADD, at, number(m, 1)), in);
        to = binary(m, PDM_LOOP_DIV, binary(m, PDM_LOOP_ADD, to, binary(m, PDM_LOOP_SUB, out, number(m, 1))), out);
    } else {
        from = binary(m, PDM_LOOP_SUB, times(m, at, w->stride[d]), number(m, w->before[d]));
        to = binary(m, PDM_LOOP_MIN, binary(m, PDM_LOOP_ADD, from, size(m, w->kernel[d])),
                    binary(m, PDM_LOOP_ADD, in, number(m, w->before[d])));
    }
    E whole = binary(m, PDM_LOOP_SUB, to, from);
    *begin_at = binary(m, PDM_LOOP_MAX, from, number(m, 0));
    *count = binary(m, PDM_LOOP_SUB, binary(m, PDM_LOOP_MIN, to, in), *begin_at);
    *counted = p->exclusive || p->adaptive ? *count : whole;
}

pdm_status pdm_exec_pool_loops(const pdm_nn_pool *p, pdm_device_loops *out)
{
    const bool largest = p->mode == PDM_POOL_MAX;
    E counted = NULL, counts[3], begins[3];
    place at;
    maker m;

    if ((!largest && p->mode != PDM_POOL_AVERAGE) || p->starts[0] || p->mask)
        return PDM_UNSUPPORTED;
    PDM_TRY(begin(&m, "pool", p->x->dtype, 3, out));
    m.x = buffer(&m, "x", PDM_LOOP_INPUT, p->x);
    m.out = buffer(&m, "out", PDM_LOOP_OUTPUT, p->out);
    sums(&m, 1);
    E extent = split_counter(&m, &p->w, number(&m, 1), size(&m, p->w.channels), counter(&m), &at);
    E x = step(&m, step(&m, number(&m, 0), at.batch, p->xs[0]), at.channel, p->xs[1]);
    E to = step(&m, step(&m, number(&m, 0), at.batch, p->os[0]), at.channel, p->os[1]);
    for (int d = 0; d < 3; d++) {
        E count;
        window_of(&m, p, d, at.at[d], &begins[d], &counts[d], &count);
        counted = counted ? binary(&m, PDM_LOOP_MUL, counted, count) : count;
        x = step(&m, x, binary(&m, PDM_LOOP_ADD, begins[d], pdm_loop_var(m.fn, (uint32_t)d)), p->xs[2 + d]);
        to = step(&m, to, at.at[d], p->os[2 + d]);
    }
    E value = wide(&m, load(&m, m.x, x)), before = sum_at(&m, 0);
    pdm_loop_stmt *turns = set_sum(&m, 0,
                                   largest ? pdm_loop_select(m.fn, binary(&m, PDM_LOOP_LT, value, before), before, value)
                                           : binary(&m, PDM_LOOP_ADD, before, value));
    for (int d = 2; d >= 0; d--)
        turns = loop(&m, (uint32_t)d, counts[d], turns);
    pdm_loop_stmt *body = set_sum(&m, 0, pdm_loop_number(m.fn, m.wide, largest ? lowest_of(p->x->dtype) : 0));
    E result = largest ? before : binary(&m, PDM_LOOP_DIV, before, pdm_loop_cast(m.fn, m.wide, counted));
    pdm_loop_stmt *last = round_out(&m, to, result);
    if (m.fn->status == PDM_OK) {
        pdm_loop_append(&body, turns);
        pdm_loop_append(&body, last);
    }
    return finish(&m, extent, body, out);
}
