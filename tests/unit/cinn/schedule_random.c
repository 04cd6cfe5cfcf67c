/*
 * Random functions, and random sequences of transformations of them. What is done keeps the result,
 * to the bit, and a sound function; what is refused leaves the function as it was. Loops whose turns
 * are marked as independent are run backwards at the end. A failure names its seed, which the
 * environment variable PDM_SEED runs alone.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cinn/backend.h"
#include "cinn/cuda/print.h"
#include "cinn/lower.h"
#include "cinn/schedule.h"
#include "tools/emulated.h"
#include "tools/emulator.h"

Suite *pdm_suite_schedule_random(void);

typedef const pdm_loop_expr *E;

enum { MAX_RANK = 3, MAX_BUFFERS = 60, MAX_LOOPS = 64, STEPS = 10 };

typedef struct sample {
    uint64_t state, seed;
    pdm_loop_fn *fn;
    pdm_dtype dtype;
    uint32_t rank;
    E dims[MAX_RANK], plus_one[MAX_RANK];
    int64_t symbols[MAX_RANK];
    uint32_t full[8], num_full; /* buffers of all dims, first the inputs */
    bool reassociated;          /* floats may be rounded differently */
} sample;

static uint32_t draw(sample *s, uint32_t below)
{
    uint64_t z = s->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % below;
}

/* ---- random functions ------------------------------------------------------------------------ */

static E operation(sample *s, E a, E b)
{
    static const pdm_loop_op ops[] = {PDM_LOOP_ADD, PDM_LOOP_MUL, PDM_LOOP_MAX, PDM_LOOP_SUB};

    return pdm_loop_binary(s->fn, ops[draw(s, 4)], a, b);
}

static void open_loops(sample *s, uint32_t *vars, E *i)
{
    for (uint32_t d = 0; d < s->rank; d++) {
        vars[d] = s->fn->num_vars++;
        i[d] = pdm_loop_var(s->fn, vars[d]);
    }
}

/* An element of a buffer of all dims, mostly that at i. */
static E element(sample *s, const E *i)
{
    E at[MAX_RANK];
    const uint32_t buffer = s->full[draw(s, s->num_full)];

    for (uint32_t d = 0; d < s->rank; d++) {
        const uint32_t other = draw(s, s->rank);
        at[d] = draw(s, 8) == 0 ? pdm_loop_index(s->fn, 0) : i[d];
        if (draw(s, 4) == 0 && s->dims[other] == s->dims[d])
            at[d] = i[other];
    }
    return pdm_loop_load(s->fn, buffer, at);
}

static void add_nest(sample *s, const uint32_t *vars, const bool *inside, pdm_loop_stmt *body)
{
    for (uint32_t d = s->rank; d-- > 0;) {
        if (!inside || !inside[d])
            body = pdm_loop_for(s->fn, vars[d], s->dims[d], body);
    }
    pdm_loop_append(&s->fn->body, body);
}

static uint32_t add_buffer(sample *s, pdm_loop_role role, const E *dims)
{
    char name[16];

    snprintf(name, sizeof name, "b%zu", s->fn->buffers.n);
    return pdm_loop_add_buffer(s->fn, name, role, s->dtype, s->rank, dims);
}

static void add_pointwise(sample *s, pdm_loop_role role)
{
    uint32_t vars[MAX_RANK];
    E i[MAX_RANK];

    open_loops(s, vars, i);
    const E value = operation(s, element(s, i), element(s, i));
    const uint32_t t = add_buffer(s, role, s->dims);
    pdm_loop_stmt *body = pdm_loop_store(s->fn, t, i, value);
    if (draw(s, 3) == 0) { /* and another one of it */
        const uint32_t u = add_buffer(s, role, s->dims);
        const E more = operation(s, pdm_loop_load(s->fn, t, i), element(s, i));
        pdm_loop_append(&body, pdm_loop_store(s->fn, u, i, more));
    }
    add_nest(s, vars, NULL, body);
    s->full[s->num_full++] = t;
}

/* Sums over some axes, and what is made of them. */
static void add_reduction(sample *s)
{
    uint32_t vars[MAX_RANK], again[MAX_RANK];
    E i[MAX_RANK], to[MAX_RANK], dims[MAX_RANK], k[MAX_RANK];
    bool gone[MAX_RANK];

    open_loops(s, vars, i);
    open_loops(s, again, k);
    for (uint32_t d = 0; d < s->rank; d++) {
        gone[d] = d == s->rank - 1 || draw(s, 2);
        dims[d] = gone[d] ? pdm_loop_index(s->fn, 1) : s->dims[d];
        to[d] = gone[d] ? pdm_loop_index(s->fn, 0) : i[d];
    }
    E term = operation(s, element(s, i), element(s, i));
    const uint32_t t = add_buffer(s, PDM_LOOP_TEMP, dims);
    if (draw(s, 8) == 0) { /* of what it makes itself, elsewhere */
        E at[MAX_RANK];
        for (uint32_t d = 0; d < s->rank; d++)
            at[d] = pdm_loop_index(s->fn, 0);
        term = operation(s, term, pdm_loop_load(s->fn, t, at));
    }
    pdm_loop_stmt *inner = pdm_loop_store(
        s->fn, t, to,
        pdm_loop_binary(s->fn, draw(s, 3) ? PDM_LOOP_ADD : PDM_LOOP_MAX, pdm_loop_load(s->fn, t, to), term));
    for (uint32_t d = s->rank; d-- > 0;) {
        if (gone[d])
            inner = pdm_loop_for(s->fn, vars[d], s->dims[d], inner);
    }
    pdm_loop_stmt *all = pdm_loop_store(s->fn, t, to, pdm_loop_number(s->fn, s->dtype, 0));
    pdm_loop_append(&all, inner);
    add_nest(s, vars, gone, all);
    for (uint32_t d = 0; d < s->rank; d++)
        to[d] = gone[d] ? pdm_loop_index(s->fn, 0) : k[d];
    const E value = operation(s, element(s, k), pdm_loop_load(s->fn, t, to));
    const uint32_t u = add_buffer(s, draw(s, 2) ? PDM_LOOP_TEMP : PDM_LOOP_OUTPUT, s->dims);
    add_nest(s, again, NULL, pdm_loop_store(s->fn, u, k, value));
    s->full[s->num_full++] = u;
}

/* A place that is stored in each turn anew, and read before or behind that; or only the last is left. */
static void add_running(sample *s)
{
    uint32_t vars[MAX_RANK];
    E i[MAX_RANK], to[MAX_RANK], dims[MAX_RANK];

    open_loops(s, vars, i);
    for (uint32_t d = 0; d < s->rank; d++) {
        const bool gone = draw(s, 2);
        dims[d] = gone ? pdm_loop_index(s->fn, 1) : s->dims[d];
        to[d] = gone ? pdm_loop_index(s->fn, 0) : i[d];
    }
    const E value = operation(s, element(s, i), element(s, i));
    if (draw(s, 3) == 0) {
        const uint32_t t = add_buffer(s, PDM_LOOP_OUTPUT, dims);
        add_nest(s, vars, NULL, pdm_loop_store(s->fn, t, to, value));
        return;
    }
    const uint32_t t = add_buffer(s, PDM_LOOP_TEMP, dims);
    const uint32_t u = add_buffer(s, draw(s, 2) ? PDM_LOOP_TEMP : PDM_LOOP_OUTPUT, s->dims);
    pdm_loop_stmt *body = NULL;
    const bool before = draw(s, 2);
    for (int k = 0; k < 2; k++)
        pdm_loop_append(&body, (k == 0) == before
                                   ? pdm_loop_store(s->fn, u, i, operation(s, pdm_loop_load(s->fn, t, to), element(s, i)))
                                   : pdm_loop_store(s->fn, t, to, value));
    add_nest(s, vars, NULL, body);
    s->full[s->num_full++] = u;
}

/* Each turn reads what one before it stored: of one axis, or of two in a slanting way. */
static void add_recurrence(sample *s)
{
    uint32_t vars[MAX_RANK];
    E i[MAX_RANK], to[MAX_RANK], from[MAX_RANK];
    const uint32_t along = draw(s, s->rank), across = draw(s, s->rank);

    open_loops(s, vars, i);
    for (uint32_t d = 0; d < s->rank; d++)
        to[d] = from[d] = i[d];
    to[along] = pdm_loop_binary(s->fn, PDM_LOOP_ADD, i[along], pdm_loop_index(s->fn, 1));
    if (across != along && draw(s, 2))
        from[across] = pdm_loop_binary(s->fn, PDM_LOOP_ADD, i[across], pdm_loop_index(s->fn, 1));
    const uint32_t t = add_buffer(s, draw(s, 2) ? PDM_LOOP_TEMP : PDM_LOOP_OUTPUT, s->plus_one);
    const E value = operation(s, pdm_loop_load(s->fn, t, from), element(s, i));
    add_nest(s, vars, NULL, pdm_loop_store(s->fn, t, to, value));
}

static void make(sample *s)
{
    ck_assert_int_eq(pdm_loop_fn_create("random", &s->fn), PDM_OK);
    s->dtype = (const pdm_dtype[]){PDM_F32, PDM_I32, PDM_F64}[draw(s, 3)];
    s->rank = 1 + draw(s, MAX_RANK);
    for (uint32_t d = 0; d < s->rank; d++) {
        const int64_t extent = 2 + (int64_t)draw(s, 6);
        s->symbols[s->fn->symbols.n] = extent;
        s->dims[d] = draw(s, 2) ? pdm_loop_add_symbol(s->fn, 0, d) : pdm_loop_index(s->fn, extent);
        s->plus_one[d] = pdm_loop_binary(s->fn, PDM_LOOP_ADD, s->dims[d], pdm_loop_index(s->fn, 1));
    }
    s->full[s->num_full++] = add_buffer(s, PDM_LOOP_INPUT, s->dims);
    s->full[s->num_full++] = add_buffer(s, PDM_LOOP_INPUT, s->dims);
    for (uint32_t n = draw(s, 3); n > 0; n--) {
        const uint32_t kind = draw(s, 5);
        if (kind < 2)
            add_pointwise(s, draw(s, 2) ? PDM_LOOP_TEMP : PDM_LOOP_OUTPUT);
        else if (kind == 2)
            add_reduction(s);
        else if (kind == 3)
            add_running(s);
        else
            add_recurrence(s);
        if (s->num_full > 5)
            break;
    }
    add_pointwise(s, PDM_LOOP_OUTPUT);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct memory {
    size_t num; /* buffers that are compared: those of the function as it was */
    void *data[MAX_BUFFERS];
    size_t bytes[MAX_BUFFERS];
} memory;

static void fill(const pdm_loop_buffer *b, void *data, size_t bytes, size_t salt)
{
    const size_t n = bytes / pdm_dtype_size(b->dtype);

    memset(data, 0, bytes);
    for (size_t k = 0; b->role == PDM_LOOP_INPUT && k < n; k++) {
        const int number = (int)((k * 7919 + salt * 104729) % 1009) - 500;
        if (b->dtype == PDM_F32)
            ((float *)data)[k] = (float)number / 37;
        else if (b->dtype == PDM_F64)
            ((double *)data)[k] = number / 37.0;
        else
            ((int32_t *)data)[k] = number;
    }
}

static void run(sample *s, memory *m, const pdm_cinn_backend *backend, bool backwards)
{
    pdm_loop_fn *fn = s->fn;
    void *image;
    uint32_t nest = 0;

    ck_assert_uint_le(fn->buffers.n, MAX_BUFFERS);
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &fn->buffers.v[i];
        size_t bytes = pdm_dtype_size(b->dtype);
        for (uint32_t d = 0; d < b->rank; d++)
            bytes *= (size_t)pdm_loop_eval(b->dims[d], s->symbols);
        m->bytes[i] = bytes;
        if (b->scope != PDM_LOOP_GLOBAL)
            continue;
        m->data[i] = malloc(bytes + 1);
        fill(b, m->data[i], bytes, i);
    }
    m->num = fn->buffers.n;
    ck_assert_int_eq(backend->compile(fn, &image), PDM_OK);
    for (const pdm_loop_stmt *stmt = fn->body; stmt; stmt = stmt->next, nest++) {
        const int64_t n = stmt->kind == PDM_LOOP_FOR ? pdm_loop_eval(stmt->extent, s->symbols) : 1;
        if (!backwards || stmt->mark == PDM_LOOP_SERIAL || stmt->mark == PDM_LOOP_UNROLL) {
            ck_assert_int_eq(backend->run(image, nest, m->data, s->symbols, 0, n), PDM_OK);
            continue;
        }
        for (int64_t i = n; i-- > 0;)
            ck_assert_int_eq(backend->run(image, nest, m->data, s->symbols, i, i + 1), PDM_OK);
    }
}

static void leave(memory *m)
{
    for (size_t i = 0; i < m->num; i++)
        free(m->data[i]);
}

static char *text_of(const pdm_loop_fn *fn)
{
    pdm_buf buf = {0};

    pdm_loop_print(fn, &buf);
    char *text = pdm_buf_take(&buf);
    ck_assert_ptr_nonnull(text);
    return text;
}

static bool is_close(const sample *s, const void *want, const void *got, size_t bytes)
{
    const bool single = s->dtype == PDM_F32;
    const size_t n = bytes / pdm_dtype_size(s->dtype);
    double most = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < n; k++) {
            const double a = single ? (double)((const float *)want)[k] : ((const double *)want)[k];
            const double b = single ? (double)((const float *)got)[k] : ((const double *)got)[k];
            if (pass == 0)
                most = fabs(a) > most ? fabs(a) : most;
            else if (!(fabs(a - b) <= (single ? 1e-4 : 1e-12) * most) && !(isnan(a) && isnan(b)) && isfinite(a))
                return false;
        }
    }
    return true;
}

static bool is_same(const sample *s, const void *want, const void *got, size_t bytes)
{
    return memcmp(want, got, bytes) == 0 ||
           (s->reassociated && pdm_dtype_is_float(s->dtype) && is_close(s, want, got, bytes));
}

static void compare(const sample *s, const memory *want, const memory *got, const char *what,
                    const char *text)
{
    for (size_t i = 0; i < want->num; i++) {
        if (s->fn->buffers.v[i].role != PDM_LOOP_OUTPUT)
            continue;
        if (!is_same(s, want->data[i], got->data[i], want->bytes[i])) {
            ck_abort_msg("PDM_SEED=%llu: %s changed buffer %zu\n%s\n%s", (unsigned long long)s->seed,
                         what, i, text, text_of(s->fn));
        }
    }
}

/* Inner loops whose turns are independent, from the last turn to the first. */
static void turn_round(sample *s, pdm_loop_stmt *stmt, bool outermost)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR && !outermost && stmt->mark != PDM_LOOP_SERIAL &&
            stmt->mark != PDM_LOOP_UNROLL) {
            E *with = calloc(s->fn->num_vars, sizeof *with);
            const E last = pdm_loop_binary(s->fn, PDM_LOOP_SUB, stmt->extent, pdm_loop_index(s->fn, 1));
            with[stmt->var] =
                pdm_loop_binary(s->fn, PDM_LOOP_SUB, last, pdm_loop_var(s->fn, stmt->var));
            pdm_loop_substitute(s->fn, stmt->body, with);
            free(with);
        }
        turn_round(s, stmt->body, false);
    }
}

/* ---- random transformations ------------------------------------------------------------------ */

static void list_loops(pdm_loop_stmt *stmt, pdm_loop_stmt **loops, uint32_t *n)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR && *n < MAX_LOOPS)
            loops[(*n)++] = stmt;
        list_loops(stmt->body, loops, n);
    }
}

static const char *reorder(sample *s, pdm_loop_stmt *loop)
{
    pdm_loop_stmt *order[4];
    uint32_t n = 0;

    for (; loop && loop->kind == PDM_LOOP_FOR && n < 4; loop = loop->body)
        order[n++] = loop;
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t k = draw(s, i);
        pdm_loop_stmt *t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
    return pdm_loop_reorder(s->fn, order, n);
}

static const char *bind_reduction(sample *s, pdm_loop_stmt *loop)
{
    const bool may = draw(s, 2);
    const char *why = pdm_loop_bind_reduction(s->fn, loop, PDM_LOOP_THREAD_X + draw(s, 3), may);

    s->reassociated = s->reassociated || (!why && may);
    return why;
}

static const char *rfactor(sample *s, pdm_loop_stmt *loop)
{
    const bool may = draw(s, 2);
    const char *why = pdm_loop_rfactor(s->fn, loop, may, NULL);

    s->reassociated = s->reassociated || (!why && may);
    return why;
}

#define KINDS(X)                                                                                   \
    X(split) X(fuse) X(reorder) X(distribute) X(parallel) X(vectorize) X(unroll) X(bind) X(annotate) \
    X(compute_inline) X(reverse_compute_inline) X(compute_at) X(cache_read) X(cache_write)         \
    X(keep_in) X(rfactor) X(bind_reduction) X(stage) X(fission)

typedef enum kind {
#define KIND(name) KIND_##name,
    KINDS(KIND)
#undef KIND
    NUM_KINDS
} kind;

static const char *const kind_names[] = {
#define KIND(name) #name,
    KINDS(KIND)
#undef KIND
};

static const char *transform(sample *s, kind what)
{
    pdm_loop_stmt *loops[MAX_LOOPS];
    uint32_t n = 0;

    list_loops(s->fn->body, loops, &n);
    if (n == 0)
        return "no loops";
    pdm_loop_stmt *loop = loops[draw(s, n)];
    const uint32_t buffer = draw(s, (uint32_t)s->fn->buffers.n);
    const uint32_t last = (uint32_t)s->fn->buffers.n - 1 - draw(s, 3) % (uint32_t)s->fn->buffers.n;
    switch (what) {
    case KIND_split:
        return pdm_loop_split(s->fn, loop, (int64_t)draw(s, 6),
                              draw(s, 2) ? PDM_LOOP_GUARD : PDM_LOOP_TAIL, NULL);
    case KIND_fuse:
        return pdm_loop_fuse(s->fn, loop);
    case KIND_reorder:
        return reorder(s, loop);
    case KIND_distribute:
        return pdm_loop_distribute(s->fn, loop);
    case KIND_parallel:
        return pdm_loop_parallel(s->fn, loop);
    case KIND_vectorize:
        return pdm_loop_vectorize(s->fn, loop);
    case KIND_unroll:
        return pdm_loop_unroll(s->fn, loop);
    case KIND_bind:
        return pdm_loop_bind(s->fn, loop, PDM_LOOP_BLOCK_X + draw(s, 6));
    case KIND_bind_reduction:
        return bind_reduction(s, loop);
    case KIND_stage:
        return pdm_loop_stage(s->fn, buffer, loop, loop->body ? loop->body : loop, NULL);
    case KIND_fission: {
        pdm_loop_stmt *second = loop->body ? loop->body->next : NULL;
        return pdm_loop_fission(s->fn, loop, second && second->next && draw(s, 2) ? second->next : second, NULL);
    }
    case KIND_annotate:
        return pdm_loop_annotate(s->fn, loop, draw(s, 4) ? "tile" : "Not a key", draw(s, 9));
    case KIND_compute_inline:
        return pdm_loop_compute_inline(s->fn, buffer);
    case KIND_reverse_compute_inline:
        return pdm_loop_reverse_compute_inline(s->fn, buffer);
    case KIND_compute_at:
        return pdm_loop_compute_at(s->fn, draw(s, 2) ? buffer : last, loop);
    case KIND_cache_read:
        return pdm_loop_cache_read(s->fn, buffer, loop, NULL);
    case KIND_cache_write:
        return pdm_loop_cache_write(s->fn, buffer, NULL);
    case KIND_keep_in:
        return pdm_loop_keep_in(s->fn, draw(s, 2) ? buffer : last, loop,
                                draw(s, 2) ? PDM_LOOP_LOCAL : PDM_LOOP_SHARED);
    case KIND_rfactor:
        return rfactor(s, loop);
    case NUM_KINDS:
        break;
    }
    return "no such kind";
}

typedef struct counts {
    unsigned done[NUM_KINDS], refused[NUM_KINDS];
} counts;

static void check_seed(uint64_t seed, counts *c)
{
    sample s = {.state = seed, .seed = seed};
    memory before, after;

    make(&s);
    run(&s, &before, &pdm_cinn_backend_ref, false);
    for (int step = 0; step < STEPS; step++) {
        char *text = text_of(s.fn);
        /* Marks last: most other things are not done to marked loops. */
        const kind k = step < STEPS - 3 && draw(&s, 4) ? KIND_compute_inline + draw(&s, NUM_KINDS - KIND_compute_inline)
                                                       : draw(&s, NUM_KINDS);
        const char *what = kind_names[k], *why = transform(&s, k), *fault;
        for (int more = k >= KIND_compute_inline ? 8 : 0; why && more > 0; more--)
            why = transform(&s, k); /* of another buffer, and elsewhere */
        fault = pdm_loop_verify(s.fn);
        if (fault)
            ck_abort_msg("PDM_SEED=%llu: %s: %s\n%s", (unsigned long long)seed, what, fault, text);
        if (why) {
            char *now = text_of(s.fn);
            ck_assert_msg(strcmp(text, now) == 0, "PDM_SEED=%llu: %s was refused and changed\n%s\n%s",
                          (unsigned long long)seed, what, text, now);
            free(now);
            c->refused[k]++;
        } else {
            run(&s, &after, &pdm_cinn_backend_ref, true);
            compare(&s, &before, &after, what, text);
            leave(&after);
            c->done[k]++;
        }
        free(text);
    }
    turn_round(&s, s.fn->body, true);
    run(&s, &after, &pdm_cinn_backend_ref, true);
    compare(&s, &before, &after, "running backwards", "");
    leave(&after);
    ck_assert(pdm_loop_flatten(s.fn));
    run(&s, &after, &pdm_cinn_backend_ref, false);
    compare(&s, &before, &after, "flatten", "");
    leave(&after);
    leave(&before);
    pdm_loop_fn_destroy(s.fn);
}

/* What another backend makes of a function: the same as the interpreter. */
static void check_backend(uint64_t seed, const pdm_cinn_backend *backend)
{
    sample s = {.state = seed, .seed = seed};
    memory before, after;

    make(&s);
    for (int step = 0; step < STEPS; step++) {
        kind k = draw(&s, 2) ? KIND_vectorize : draw(&s, NUM_KINDS);
        for (int more = 4; more > 0 && transform(&s, k); more--) {
        }
    }
    ck_assert(pdm_loop_flatten(s.fn));
    run(&s, &before, &pdm_cinn_backend_ref, false);
    run(&s, &after, backend, false);
    char *text = text_of(s.fn);
    compare(&s, &before, &after, backend->name, text);
    free(text);
    leave(&before);
    leave(&after);
    pdm_loop_fn_destroy(s.fn);
}

/* ---- as GPUs run them ------------------------------------------------------------------------ */

enum { GPU_SAMPLES = 80 };

static void make_for_gpu(sample *s, counts *c)
{
    static const kind often[] = {KIND_bind, KIND_bind_reduction, KIND_bind, KIND_bind_reduction,
                                 KIND_keep_in, KIND_split, KIND_stage, KIND_rfactor};

    make(s);
    for (int step = 0; step < 2 * STEPS; step++) {
        const kind k = step % 2 ? often[draw(s, 4 + (step < STEPS ? 4 : 0))] : draw(s, NUM_KINDS);
        for (int more = 4; more > 0; more--) {
            if (!transform(s, k)) {
                c->done[k]++;
                break;
            }
        }
    }
    const char *fault = pdm_loop_verify(s->fn);
    ck_assert_msg(!fault, "PDM_SEED=%llu: %s", (unsigned long long)s->seed, fault);
    ck_assert(pdm_loop_flatten(s->fn));
}

/* All kernels in one library, since calling a compiler takes longest. */
static void compile_all(sample *samples, size_t count, const char *folder, const char *library)
{
    char names[GPU_SAMPLES][PDM_CINN_CUDA_NAME];
    pdm_buf text, wrapped;

    pdm_buf_init(&text);
    pdm_buf_init(&wrapped);
    pdm_cinn_cuda_prologue(&text);
    for (size_t i = 0; i < count; i++) {
        const size_t before = text.size;
        ck_assert_int_eq(pdm_cinn_cuda_print_named(samples[i].fn, names[i], &text), PDM_OK);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[k], names[i]) == 0) { /* the same function again */
                text.size = before;
                break;
            }
        }
    }
    emulator_wrap(text.data, text.size, &wrapped);
    ck_assert(emulator_compile(&wrapped, folder, library));
    ck_assert(emulated_open(library));
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&wrapped);
}

/* What the emulator makes of functions that are scheduled, and the interpreter. Frees them. */
static void check_samples(sample *samples, size_t count)
{
    char folder[] = "/tmp/pdm-schedule-XXXXXX", library[64];

    emulated_twice = false;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(library, sizeof library, "%s/kernels.so", folder);
    compile_all(samples, count, folder, library);
    for (size_t i = 0; i < count; i++) {
        memory before, after;
        char *text = text_of(samples[i].fn);
        run(&samples[i], &before, &pdm_cinn_backend_ref, false);
        run(&samples[i], &after, &emulated_backend, false);
        compare(&samples[i], &before, &after, emulated_backend.name, text);
        free(text);
        leave(&before);
        leave(&after);
        pdm_loop_fn_destroy(samples[i].fn);
    }
    unlink(library);
    rmdir(folder);
}

/* At most GPU_SAMPLES functions. */
static void check_gpu(uint64_t first, size_t count, counts *c)
{
    static sample samples[GPU_SAMPLES];

    memset(samples, 0, sizeof samples);
    for (size_t i = 0; i < count; i++) {
        samples[i].state = samples[i].seed = first + i;
        make_for_gpu(&samples[i], c);
    }
    check_samples(samples, count);
}

static void check_bound(const counts *c)
{
    printf("# on a GPU: %u loops bound, %u reductions\n", c->done[KIND_bind], c->done[KIND_bind_reduction]);
    ck_assert(c->done[KIND_bind] > 0 && c->done[KIND_bind_reduction] > 0);
}

/* y[r, c] = the sum of x[r, k, c] over k < terms, as the policy arranges it, and z[c, r] = y[r, c]. */
static void make_sum(sample *s, int64_t rows, int64_t terms, int64_t columns)
{
    const int64_t extents[3] = {rows, terms, columns};
    E dims[3], i[3];

    ck_assert_int_eq(pdm_loop_fn_create("sum", &s->fn), PDM_OK);
    s->dtype = PDM_F32;
    s->reassociated = true;
    for (uint32_t d = 0; d < 3; d++) {
        dims[d] = pdm_loop_index(s->fn, extents[d]);
        i[d] = extents[d] == 1 ? pdm_loop_index(s->fn, 0) : pdm_loop_var(s->fn, d);
    }
    s->fn->num_vars = 5;
    const uint32_t x = pdm_loop_add_buffer(s->fn, "x", PDM_LOOP_INPUT, PDM_F32, 3, dims);
    const uint32_t y = pdm_loop_add_buffer(s->fn, "y", PDM_LOOP_OUTPUT, PDM_F32, 2, (E[]){dims[0], dims[2]});
    const uint32_t z = pdm_loop_add_buffer(s->fn, "z", PDM_LOOP_OUTPUT, PDM_F32, 2, (E[]){dims[2], dims[0]});
    const E to[2] = {i[0], i[2]};
    pdm_loop_stmt *body = pdm_loop_store(s->fn, y, to, pdm_loop_float(s->fn, PDM_F32, 0));
    pdm_loop_append(&body, pdm_loop_for(s->fn, 1, dims[1],
                                        pdm_loop_store(s->fn, y, to,
                                                       pdm_loop_binary(s->fn, PDM_LOOP_ADD, pdm_loop_load(s->fn, y, to),
                                                                       pdm_loop_load(s->fn, x, i)))));
    body = columns > 1 ? pdm_loop_for(s->fn, 2, dims[2], body) : body;
    body = rows > 1 ? pdm_loop_for(s->fn, 0, dims[0], body) : body;
    pdm_loop_append(&s->fn->body, body);
    const E r = rows > 1 ? pdm_loop_var(s->fn, 4) : i[0], c = columns > 1 ? pdm_loop_var(s->fn, 3) : i[2];
    body = pdm_loop_store(s->fn, z, (E[]){c, r}, pdm_loop_load(s->fn, y, (E[]){r, c}));
    body = rows > 1 ? pdm_loop_for(s->fn, 4, dims[0], body) : body;
    body = columns > 1 ? pdm_loop_for(s->fn, 3, dims[2], body) : body;
    pdm_loop_append(&s->fn->body, body);
}

/* Neither sanitizers nor valgrind know threads as coroutines: only where it is told that there are none, as make check does. */
static bool may_emulate(void)
{
    const char *sanitizers = getenv("PDM_SANITIZERS");

    return sanitizers && strcmp(sanitizers, "no") == 0;
}

static void check_seeds(uint64_t first, uint64_t count)
{
    const char *only = getenv("PDM_SEED");
    counts c = {0};

    if (only) {
        first = strtoull(only, NULL, 10);
        count = 1;
    }
    for (uint64_t seed = first; seed < first + count; seed++)
        check_seed(seed, &c);
    printf("# seeds %llu to %llu:", (unsigned long long)first, (unsigned long long)(first + count - 1));
    for (int k = 0; k < NUM_KINDS; k++) {
        printf(" %s %u/%u", kind_names[k], c.done[k], c.done[k] + c.refused[k]);
        ck_assert_msg(only || (c.done[k] > 0 && c.refused[k] > 0), "%s was always or never refused",
                      kind_names[k]);
    }
    printf("\n");
}

START_TEST(backends_agree)
{
    const char *reason = NULL, *only = getenv("PDM_SEED");
    const pdm_cinn_backend *llvm = pdm_cinn_backend_module(&reason);

    if (!llvm) {
        printf("# llvm: %s\n", reason ? reason : "not there");
        return;
    }
    for (uint64_t seed = 500; seed < 550 && !only; seed++)
        check_backend(seed, llvm);
    if (only)
        check_backend(strtoull(only, NULL, 10), llvm);
}
END_TEST

START_TEST(gpus_agree)
{
    const char *only = getenv("PDM_SEED");
    counts c = {0};

    check_gpu(only ? strtoull(only, NULL, 10) : 900, only ? 1 : GPU_SAMPLES, &c);
    if (!only)
        check_bound(&c);
}
END_TEST

/* Kernels of the policy: by one thread, a warp, a block, rows of threads, and several blocks. */
START_TEST(the_policy_for_gpus_agrees)
{
    static const struct {
        int64_t rows, terms, columns;
        uint32_t nests;
    } sizes[] = {{5, 8, 70, 2},   {40, 100, 1, 2},     {3, 2000, 1, 2},  {3, 40, 50, 2},
                 {1, 40000, 1, 5}, {1, 33000, 40, 4}, {3, 40000, 1, 4}, {2, 70000, 2, 4}};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    static sample samples[COUNT];

    memset(samples, 0, sizeof samples);
    for (size_t k = 0; k < COUNT; k++) {
        uint32_t nests = 0;
        make_sum(&samples[k], sizes[k].rows, sizes[k].terms, sizes[k].columns);
        pdm_cinn_schedule_gpu(samples[k].fn);
        for (const pdm_loop_stmt *nest = samples[k].fn->body; nest; nest = nest->next)
            nests++;
        const char *fault = pdm_loop_verify(samples[k].fn);
        ck_assert_msg(!fault && nests == sizes[k].nests, "%zu: %s, %u nests\n%s", k, fault ? fault : "sound", nests,
                      text_of(samples[k].fn));
    }
    check_samples(samples, COUNT);
}
END_TEST

START_TEST(gpus_agree_long)
{
    counts c = {0};

    for (uint64_t batch = 0; batch < 8; batch++)
        check_gpu(200000 + batch * GPU_SAMPLES, GPU_SAMPLES, &c);
    check_bound(&c);
}
END_TEST

START_TEST(results_stay)
{
    check_seeds(1, 1000);
}
END_TEST

START_TEST(results_stay_long)
{
    check_seeds(100000, 8000);
}
END_TEST

Suite *pdm_suite_schedule_random(void)
{
    Suite *suite = suite_create("schedule_random");
    TCase *tcase = tcase_create("random"), *many = tcase_create("many");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, results_stay);
    tcase_add_test(tcase, backends_agree);
    if (may_emulate()) {
        tcase_add_test(tcase, gpus_agree);
        tcase_add_test(tcase, the_policy_for_gpus_agrees);
        tcase_add_test(many, gpus_agree_long);
    } else {
        puts("# left out: functions for GPUs in the emulator (PDM_SANITIZERS is not no)");
    }
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(many, 600);
    tcase_set_tags(many, "long");
    tcase_add_test(many, results_stay_long);
    suite_add_tcase(suite, many);
    return suite;
}
