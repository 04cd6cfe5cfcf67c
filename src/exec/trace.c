#include "exec/trace.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/vec.h"
#include "exec/pool.h"

typedef struct event {
    const char *name; /* NULL: that of the op */
    const pdm_ir_op *op;
    uint64_t begin, end, bytes;
    unsigned depth, thread;
} event;

struct pdm_exec_trace {
    pthread_mutex_t lock;
    PDM_VEC(event) events;
    uint64_t lost, zero; /* zero: when the timeline begins */
};

pdm_status pdm_exec_trace_create(pdm_exec_trace **out_trace)
{
    pdm_exec_trace *trace = calloc(1, sizeof *trace);

    if (!trace)
        return PDM_NOMEM;
    pthread_mutex_init(&trace->lock, NULL);
    trace->zero = pdm_exec_now();
    *out_trace = trace;
    return PDM_OK;
}

void pdm_exec_trace_destroy(pdm_exec_trace *trace)
{
    if (!trace)
        return;
    pthread_mutex_destroy(&trace->lock);
    PDM_VEC_FREE(&trace->events);
    free(trace);
}

uint64_t pdm_exec_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void pdm_exec_trace_add(pdm_exec_trace *trace, const pdm_ir_op *op, uint64_t begin, uint64_t end,
                        uint64_t bytes, unsigned depth)
{
    pdm_exec_trace_add_named(trace, NULL, op, begin, end, bytes, depth);
}

static const char *name_of(const event *e)
{
    return e->name ? e->name : pdm_ir_op_name(e->op);
}

static void add(pdm_exec_trace *trace, event e)
{
    pthread_mutex_lock(&trace->lock);
    if (!PDM_VEC_PUSH(&trace->events, e))
        trace->lost++;
    pthread_mutex_unlock(&trace->lock);
}

void pdm_exec_trace_add_named(pdm_exec_trace *trace, const char *name, const pdm_ir_op *op,
                              uint64_t begin, uint64_t end, uint64_t bytes, unsigned depth)
{
    add(trace, (event){name, op, begin, end, bytes, depth, pdm_pool_thread()});
}

/* It is in no op around it, and none is in it. */
enum { DEVICE_THREAD = 1000 };
#define DEVICE_DEPTH (UINT_MAX - 1)

void pdm_exec_trace_add_device(pdm_exec_trace *trace, const pdm_ir_op *op, uint64_t begin, uint64_t end,
                               uint64_t bytes)
{
    add(trace, (event){NULL, op, begin, end, bytes, DEVICE_DEPTH, DEVICE_THREAD});
}

/* Microseconds with three decimals. */
static void put_time(pdm_buf *buf, uint64_t ns)
{
    pdm_buf_printf(buf, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static void put_shape(pdm_buf *buf, pdm_ir_type type)
{
    if (!type || type->kind != PDM_IR_DENSE_TENSOR)
        return;
    pdm_buf_puts(buf, pdm_dtype_name(type->dtype));
    pdm_buf_putc(buf, '[');
    for (uint32_t i = 0; i < type->rank; i++) {
        if (i > 0)
            pdm_buf_putc(buf, ',');
        pdm_buf_i64(buf, type->dims[i]);
    }
    pdm_buf_putc(buf, ']');
}

static void put_event(pdm_buf *buf, const event *e, uint64_t zero)
{
    const char *name = name_of(e);

    pdm_buf_puts(buf, "{\"name\":");
    pdm_buf_json_string(buf, name, strlen(name));
    pdm_buf_puts(buf, ",\"cat\":\"op\",\"ph\":\"X\",\"pid\":1,\"tid\":");
    pdm_buf_i64(buf, e->thread);
    pdm_buf_puts(buf, ",\"ts\":");
    put_time(buf, e->begin > zero ? e->begin - zero : 0);
    pdm_buf_puts(buf, ",\"dur\":");
    put_time(buf, e->end - e->begin);
    pdm_buf_printf(buf, ",\"args\":{\"bytes\":%" PRIu64, e->bytes);
    if (e->op->lg_op >= 0)
        pdm_buf_printf(buf, ",\"legacy\":\"block %d op %d\"", e->op->lg_block, e->op->lg_op);
    if (e->op->num_results > 0) {
        pdm_buf_puts(buf, ",\"result\":\"");
        put_shape(buf, pdm_ir_op_result(e->op, 0)->type);
        pdm_buf_putc(buf, '"');
    }
    pdm_buf_puts(buf, "}}");
}

void pdm_exec_trace_print(const pdm_exec_trace *trace, pdm_buf *buf)
{
    pdm_buf_puts(buf, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (size_t i = 0; i < trace->events.n; i++) {
        if (i > 0)
            pdm_buf_puts(buf, ",\n");
        put_event(buf, &trace->events.v[i], trace->zero);
    }
    pdm_buf_puts(buf, "\n]}\n");
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int slowest_first(const void *a, const void *b)
{
    const pdm_exec_profile_row *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns < y->self_ns ? 1 : -1;
    return strcmp(x->op, y->op);
}

/* Ops inside of a region op end before it does: their time is taken off the next one that is less
 * deep. */
static uint64_t time_inside(const pdm_exec_trace *trace, size_t index)
{
    const event *outer = &trace->events.v[index];
    uint64_t inside = 0;

    for (size_t i = index; outer->op->num_regions > 0 && i-- > 0;) {
        const event *e = &trace->events.v[i];
        if (e->end < outer->begin)
            break;
        if (e->depth == outer->depth + 1 && e->begin >= outer->begin && e->end <= outer->end)
            inside += e->end - e->begin;
    }
    return inside < outer->end - outer->begin ? inside : outer->end - outer->begin;
}

pdm_status pdm_exec_trace_profile(const pdm_exec_trace *trace, pdm_exec_profile_row **out_rows,
                                  size_t *out_count)
{
    PDM_VEC(pdm_exec_profile_row) rows = {0};
    pdm_map index = {0};

    for (size_t i = 0; i < trace->events.n; i++) {
        const event *e = &trace->events.v[i];
        pdm_map_entry *entry = pdm_map_put(&index, e->name ? (const void *)e->name : (const void *)e->op->info);
        const pdm_exec_profile_row fresh = {.op = name_of(e)};
        if (!entry || (entry->value.num == 0 && !PDM_VEC_PUSH(&rows, fresh))) {
            pdm_map_deinit(&index);
            PDM_VEC_FREE(&rows);
            return PDM_NOMEM;
        }
        if (entry->value.num == 0)
            entry->value.num = rows.n;
        pdm_exec_profile_row *row = &rows.v[entry->value.num - 1];
        row->calls++;
        row->total_ns += e->end - e->begin;
        row->self_ns += e->end - e->begin - time_inside(trace, i);
        row->bytes += e->bytes;
    }
    pdm_map_deinit(&index);
    if (rows.n > 1)
        qsort(rows.v, rows.n, sizeof *rows.v, slowest_first);
    *out_rows = rows.v;
    *out_count = rows.n;
    return PDM_OK;
}
