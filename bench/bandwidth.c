/*
 * How near compiled kernels come to the speed of memory.
 *
 *   bandwidth [ROUNDS [MIB]]        defaults: 15 rounds, tensors of 128 MiB
 *
 * Programs of float32 tensors far larger than the caches are run with --compile llvm, in turns with a
 * plain vectorized copy of as many bytes by as many threads. A tensor counts once where it is read
 * and once where it is written, whatever the code does. One line of JSON for each program and
 * number of threads: medians of the rounds in GB/s, and the medians of the ratios of a round, by the
 * clock and by processor time, and the ratio of the best processor times: where others use the
 * machine as well, that is the one to look at.
 */
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <pdmigrate/pdmigrate.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 101, MAX_THREADS = 2, ROW = 1024 };

#define TYPE "{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":\"0.t_f32\"},[%" PRId64 ",1024],\"NCHW\",[],0]}"
#define TURNED "{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":\"0.t_f32\"},[1024,%" PRId64 "],\"NCHW\",[],0]}"
#define ROWS "{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":\"0.t_f32\"},[1024],\"NCHW\",[],0]}"

static double read_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Wall seconds, and those of all processors that the program had: what others do at the same time
 * stretches the first only. */
typedef struct moment {
    double wall, cpu;
} moment;

static moment now(void)
{
    return (moment){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

static moment since(moment t)
{
    const moment n = now();

    return (moment){n.wall - t.wall, n.cpu - t.cpu};
}

/* ---- programs -------------------------------------------------------------------------------- */

static void data(FILE *f, int id, const char *name, int64_t rows)
{
    fprintf(f,
            "{\"#\":\"1.data\",\"A\":[{\"AT\":{\"#\":\"0.a_str\",\"D\":\"%s\"},\"N\":\"name\"},"
            "{\"AT\":{\"#\":\"1.a_intarray\",\"D\":[",
            name);
    if (rows)
        fprintf(f, "%" PRId64 ",", rows);
    fprintf(f,
            "%d]},\"N\":\"shape\"},{\"AT\":{\"#\":\"1.a_dtype\",\"D\":\"float32\"},\"N\":\"dtype\"},"
            "{\"AT\":{\"#\":\"1.a_place\",\"D\":[0,0,\"\"]},\"N\":\"place\"}],\"I\":[],\"O\":[{\"%%\":%d,\"TT\":",
            ROW, id);
    if (rows)
        fprintf(f, TYPE, rows);
    else
        fputs(ROWS, f);
    fputs("}],\"OA\":[]},", f);
}

/* op: "NAME inputs,... -> output attributes" */
static void op(FILE *f, const char *name, const char *inputs, int id, const char *attributes, int64_t rows,
               int stats)
{
    fprintf(f, "{\"#\":\"1.%s\",\"A\":[%s],\"I\":[%s],\"O\":[{\"%%\":%d,\"TT\":", name, attributes, inputs, id);
    fprintf(f, TYPE, rows);
    for (int i = 1; i <= stats; i++) {
        fprintf(f,
                "},{\"%%\":%d,\"TT\":{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":\"0.t_f32\"},[%" PRId64
                "],\"NCHW\",[],0]}",
                id + i, rows);
    }
    fputs("}],\"OA\":[]},", f);
}

#define IN1(a)       "{\"%\":" #a "}"
#define IN2(a, b)    IN1(a) "," IN1(b)
#define IN3(a, b, c) IN2(a, b) "," IN1(c)
#define F32(name, v) "{\"AT\":{\"#\":\"0.a_f32\",\"D\":" #v "},\"N\":\"" name "\"}"
#define I32(name, v) "{\"AT\":{\"#\":\"0.a_i32\",\"D\":" #v "},\"N\":\"" name "\"}"
#define BOOL(name, v) "{\"AT\":{\"#\":\"0.a_bool\",\"D\":" #v "},\"N\":\"" name "\"}"

/* The values that are fetched are numbered 20. */
static void chain(FILE *f, int64_t rows)
{
    op(f, "add", IN2(1, 2), 10, "", rows, 0);
    op(f, "relu", IN1(10), 11, "", rows, 0);
    op(f, "multiply", IN2(11, 3), 12, "", rows, 0);
    op(f, "sigmoid", IN1(12), 20, "", rows, 0);
}

static void softmax(FILE *f, int64_t rows)
{
    op(f, "softmax", IN1(1), 20, I32("axis", -1), rows, 0);
}

static void layer_norm(FILE *f, int64_t rows)
{
    op(f, "layer_norm", IN3(1, 2, 3), 20, F32("epsilon", 1e-5) "," I32("begin_norm_axis", 1), rows, 2);
}

/* The sum of each column. */
static void sum(FILE *f, int64_t rows)
{
    fputs("{\"#\":\"1.full_int_array\",\"A\":[{\"AT\":{\"#\":\"0.a_array\",\"D\":[{\"#\":\"0.a_i64\",\"D\":0}]},\"N\":\"value\"},"
          "{\"AT\":{\"#\":\"1.a_dtype\",\"D\":\"int64\"},\"N\":\"dtype\"},{\"AT\":{\"#\":\"1.a_place\",\"D\":[1,0,\"\"]},"
          "\"N\":\"place\"}],\"I\":[],\"O\":[{\"%\":10,\"TT\":{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":\"0.t_i64\"},[1],\"NCHW\","
          "[],0]}}],\"OA\":[]},",
          f);
    (void)rows;
    op(f, "sum", IN2(1, 10), 20, "{\"AT\":{\"#\":\"1.a_dtype\",\"D\":\"float32\"},\"N\":\"dtype\"}," BOOL("keepdim", true), 1, 0);
}

#define I32_OF(v) "{\"#\":\"0.a_i32\",\"D\":" #v "}"

/* Rows become columns; there are powers of two of both, which is the worst for caches. */
static void transpose(FILE *f, int64_t rows)
{
    fputs("{\"#\":\"1.transpose\",\"A\":[{\"AT\":{\"#\":\"0.a_array\",\"D\":[" I32_OF(1) "," I32_OF(0)
          "]},\"N\":\"perm\"}],\"I\":[" IN1(1) "],\"O\":[{\"%\":20,\"TT\":",
          f);
    fprintf(f, TURNED, rows);
    fputs("}],\"OA\":[]},", f);
}

static void gelu(FILE *f, int64_t rows)
{
    op(f, "gelu", IN1(1), 20, BOOL("approximate", false), rows, 0);
}

static const struct {
    const char *name;
    void (*ops)(FILE *f, int64_t rows);
    int touched; /* how often as many elements as the input has are read and written */
} programs[] = {{"chain", chain, 2},         {"softmax", softmax, 2}, {"layer_norm", layer_norm, 2}, {"gelu", gelu, 2},
                {"transpose", transpose, 2}, {"sum", sum, 1}};

static int write_program(const char *path, unsigned number, int64_t rows)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    fputs("{\"base_code\":{\"magic\":\"pir\",\"trainable\":true,\"version\":1},\"program\":{\"regions\":[{\"#\":"
          "\"region_0\",\"blocks\":[{\"#\":\"block_0\",\"args\":[],\"ops\":[",
          f);
    data(f, 1, "x", rows);
    data(f, 2, "scale", 0);
    data(f, 3, "bias", 0);
    programs[number].ops(f, rows);
    fputs("{\"#\":\"1.fetch\",\"A\":[{\"AT\":{\"#\":\"0.a_str\",\"D\":\"y\"},\"N\":\"name\"},{\"AT\":{\"#\":"
          "\"0.a_i32\",\"D\":0},\"N\":\"col\"}],\"I\":[{\"%\":20}],\"O\":[{\"%\":30,\"TT\":",
          f);
    if (programs[number].ops == transpose)
        fprintf(f, TURNED, rows);
    else
        fprintf(f, TYPE, programs[number].touched == 1 ? 1 : rows);
    fputs("}],\"OA\":[]}]}]}]}}", f);
    return fclose(f);
}

/* ---- the copy -------------------------------------------------------------------------------- */

typedef struct part {
    float *restrict to;
    const float *restrict from;
    size_t count;
} part;

__attribute__((noinline, optimize("O3", "no-tree-loop-distribute-patterns"))) static void *
copy_part(void *arg)
{
    const part *p = arg;
    float *restrict to = p->to;
    const float *restrict from = p->from;

    for (size_t i = 0; i < p->count; i++)
        to[i] = from[i];
    return NULL;
}

static moment copy(float *to, const float *from, size_t count, unsigned threads)
{
    pthread_t other;
    part parts[2] = {{to, from, count / threads}, {to + count / 2, from + count / 2, count - count / 2}};
    const moment t = now();

    if (threads > 1 && pthread_create(&other, NULL, copy_part, &parts[1]) != 0)
        return (moment){0, 0};
    copy_part(&parts[0]);
    if (threads > 1)
        pthread_join(other, NULL);
    return since(t);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef struct bench {
    pdm_context *context;
    pdm_bundle *inputs;
    float *from, *to;
    int64_t rows;
    int rounds;
} bench;

static int less(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, less);
    return v[n / 2];
}

static pdm_status measure(bench *b, pdm_session *session, unsigned number, unsigned threads)
{
    double ours[MAX_ROUNDS], plain[MAX_ROUNDS], ratio[MAX_ROUNDS], cpu_ratio[MAX_ROUNDS];
    double best = 0, best_copy = 0;
    const size_t count = (size_t)b->rows * ROW;
    const double bytes = (double)count * sizeof(float) * 2, share = programs[number].touched / 2.0;
    pdm_status status = pdm_session_run(session);

    for (int i = 0; i < b->rounds && status == PDM_OK; i++) {
        const moment t = now();
        status = pdm_session_run(session);
        const moment run = since(t), copied = copy(b->to, b->from, count, threads);
        ours[i] = bytes * share / run.wall / 1e9;
        plain[i] = bytes / copied.wall / 1e9;
        ratio[i] = copied.wall * share / run.wall;
        cpu_ratio[i] = copied.cpu * share / run.cpu;
        best = i == 0 || run.cpu < best ? run.cpu : best;
        best_copy = i == 0 || copied.cpu < best_copy ? copied.cpu : best_copy;
    }
    if (status == PDM_OK)
        printf("{\"program\": \"%s\", \"threads\": %u, \"mib\": %zu, \"gb_per_s\": %.2f, \"copy_gb_per_s\": "
               "%.2f, \"ratio\": %.3f, \"cpu_ratio\": %.3f, \"best_cpu_ratio\": %.3f}\n",
               programs[number].name, threads, count * sizeof(float) >> 20, median(ours, b->rounds), median(plain, b->rounds),
               median(ratio, b->rounds), median(cpu_ratio, b->rounds), best_copy * share / best);
    fflush(stdout);
    return status;
}

static pdm_status run_program(bench *b, const char *path, unsigned number)
{
    const pdm_plan_options options = {.size = sizeof options, .compiler = PDM_COMPILER_LLVM};
    pdm_model *model = NULL;
    pdm_plan *plan = NULL;
    pdm_status status = write_program(path, number, b->rows) ? PDM_IO : PDM_OK;

    if (status == PDM_OK)
        status = pdm_model_load(b->context, path, NULL, &model);
    if (status == PDM_OK)
        status = pdm_plan_create(model, &options, &plan);
    for (unsigned threads = 1; threads <= MAX_THREADS && status == PDM_OK; threads++) {
        const pdm_session_options with = {.size = sizeof with, .threads = threads};
        pdm_session *session = NULL;
        status = pdm_session_create(plan, &with, &session);
        if (status == PDM_OK)
            status = pdm_session_set_inputs(session, b->inputs);
        if (status == PDM_OK)
            status = measure(b, session, number, threads);
        pdm_session_destroy(session);
    }
    pdm_plan_destroy(plan);
    pdm_model_destroy(model);
    return status;
}

static void tell(void *user, const pdm_diagnostic *d)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", d->id, d->message);
}

static pdm_status add(bench *b, const char *key, const int64_t *dims, size_t rank, const float *data)
{
    size_t count = 1;

    for (size_t i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    const pdm_tensor_view view = {
        .dtype = "float32", .dims = dims, .rank = rank, .data = data, .bytes = count * sizeof *data};
    return pdm_bundle_add(b->inputs, key, &view);
}

static pdm_status prepare(bench *b)
{
    const int64_t dims[] = {b->rows, ROW};
    const size_t count = (size_t)b->rows * ROW;
    pdm_status status = pdm_bundle_create(b->context, &b->inputs);

    b->from = malloc(count * sizeof *b->from);
    b->to = malloc(count * sizeof *b->to);
    if (!b->from || !b->to)
        return PDM_NOMEM;
    for (size_t i = 0; i < count; i++) {
        b->from[i] = (float)(i * 2654435761u % 1000) / 250 - 2;
        b->to[i] = 0;
    }
    if (status == PDM_OK)
        status = add(b, "in:x", dims, 2, b->from);
    if (status == PDM_OK)
        status = add(b, "in:scale", dims + 1, 1, b->from);
    if (status == PDM_OK)
        status = add(b, "in:bias", dims + 1, 1, b->from + ROW);
    return status;
}

int main(int argc, char **argv)
{
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = tell};
    const int mib = argc > 2 ? atoi(argv[2]) : 128;
    bench b = {.rounds = argc > 1 ? atoi(argv[1]) : 15, .rows = (int64_t)mib * 256};
    char folder[] = "/tmp/bandwidth.XXXXXX", path[64];

    if (b.rounds < 1 || b.rounds > MAX_ROUNDS || mib < 1 || mib > 4096 || !mkdtemp(folder)) {
        fprintf(stderr, "usage: bandwidth [ROUNDS [MIB]]\n");
        return 2;
    }
    /* Results lie where those of the run before lay: the first touch of memory is the system's time. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    snprintf(path, sizeof path, "%s/inference.json", folder);
    pdm_status status = pdm_context_create(&options, &b.context);
    if (status == PDM_OK)
        status = prepare(&b);
    for (unsigned i = 0; status == PDM_OK && i < sizeof programs / sizeof *programs; i++)
        status = run_program(&b, path, i);
    if (status != PDM_OK)
        fprintf(stderr, "bandwidth: %s\n", pdm_status_text(status));
    pdm_bundle_destroy(b.inputs);
    pdm_context_destroy(b.context);
    free(b.from);
    free(b.to);
    unlink(path);
    rmdir(folder);
    return status != PDM_OK;
}
