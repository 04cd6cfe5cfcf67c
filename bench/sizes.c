/*
 * What it costs when every run has other sizes.
 *
 *   sizes MODEL INPUT THREADS off|llvm ROUNDS DIMS...
 *
 * DIMS are like 1,3,48,320: one session runs the model with each in turn, ROUNDS times. Then each has a session of its own,
 * which has run with it twice already: what is above that is the price of new sizes. Printed are milliseconds of
 * processors a run (the mean of the least of the rounds, after a first one), page faults a run, the most memory of results,
 * and of the process after each of the two.
 */
#include <pdmigrate/pdmigrate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "peak.h"

enum { MOST_DIMS = 256, MOST_RANK = 8 };

typedef struct size {
    int64_t dims[MOST_RANK];
    size_t rank;
    double best;
} size;

typedef struct bench {
    const char *input;
    unsigned threads;
    int rounds;
    size sizes[MOST_DIMS];
    int num_sizes;
    long faults; /* of the runs that count */
    pdm_context *context;
    pdm_model *model;
    pdm_plan *plan;
} bench;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others on the machine change the wall clock */
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell(void *user, const pdm_diagnostic *d)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", d->id, d->message);
}

static long faults(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

static bool read_size(const char *text, size *s)
{
    while (s->rank < MOST_RANK) {
        char *end;
        s->dims[s->rank++] = strtoll(text, &end, 10);
        if (*end != ',')
            return *end == '\0' && end != text;
        text = end + 1;
    }
    return false;
}

static pdm_status run(bench *b, pdm_session *session, size *s, bool counts)
{
    pdm_status status = pdm_session_set_random(session, b->input, s->dims, s->rank, 1, NULL);
    const long faults_before = faults();
    const double begin = seconds();

    if (status == PDM_OK)
        status = pdm_session_run(session);
    const double took = seconds() - begin;
    b->faults += counts ? faults() - faults_before : 0;
    if (counts && (s->best == 0 || took < s->best))
        s->best = took;
    return status;
}

/* Of a run. */
static double mean_faults(bench *b)
{
    const double n = (double)b->faults / (b->rounds * b->num_sizes);

    b->faults = 0;
    return n;
}

static double mean(bench *b)
{
    double sum = 0;

    for (int i = 0; i < b->num_sizes; i++) {
        sum += b->sizes[i].best;
        b->sizes[i].best = 0;
    }
    return sum / b->num_sizes;
}

static pdm_status open_session(const bench *b, pdm_session **out)
{
    const pdm_session_options options = {.size = sizeof options, .threads = b->threads};

    return pdm_session_create(b->plan, &options, out);
}

static pdm_status ever_new(bench *b)
{
    pdm_session *session = NULL;
    pdm_memory_info info = {0};
    size_t peak = 0, planned = 0;
    uint64_t allocations = 0;
    pdm_status status = open_session(b, &session);

    for (int r = 0; r <= b->rounds; r++) {
        for (int i = 0; status == PDM_OK && i < b->num_sizes; i++) {
            status = run(b, session, &b->sizes[i], r > 0);
            pdm_session_memory(session, &info);
            peak = info.peak > peak ? info.peak : peak;
            planned = info.planned > planned ? info.planned : planned;
            allocations += r > 0 ? info.allocations : 0;
        }
    }
    pdm_session_destroy(session);
    printf("ever new sizes: %.3f ms a run, %.0f page faults, %.1f allocations; ", mean(b) * 1e3, mean_faults(b),
           (double)allocations / (b->rounds * b->num_sizes));
    printf("results at most %.2f MiB, planned %.2f MiB, process %.1f MiB\n", (double)peak / 1048576,
           (double)planned / 1048576, (double)peak_kib() / 1024);
    return status;
}

static pdm_status known(bench *b)
{
    pdm_status status = PDM_OK;

    for (int i = 0; status == PDM_OK && i < b->num_sizes; i++) {
        pdm_session *session = NULL;
        status = open_session(b, &session);
        for (int r = -2; status == PDM_OK && r < b->rounds; r++)
            status = run(b, session, &b->sizes[i], r >= 0);
        pdm_session_destroy(session);
    }
    printf("known sizes: %.3f ms a run, %.0f page faults; process %.1f MiB\n", mean(b) * 1e3, mean_faults(b), (double)peak_kib() / 1024);
    return status;
}

int main(int argc, char **argv)
{
    static bench b;
    const pdm_context_options context = {.size = sizeof context, .on_diagnostic = tell};
    pdm_plan_options plan = {.size = sizeof plan, .kernels = PDM_KERNELS_FAST};

    if (argc < 7 || argc > 6 + MOST_DIMS) {
        fprintf(stderr, "usage: sizes MODEL INPUT THREADS off|llvm ROUNDS DIMS...\n");
        return 2;
    }
    b.input = argv[2];
    b.threads = (unsigned)atoi(argv[3]);
    plan.compiler = strcmp(argv[4], "llvm") ? PDM_COMPILER_OFF : PDM_COMPILER_LLVM;
    b.rounds = atoi(argv[5]) > 0 ? atoi(argv[5]) : 1;
    for (int i = 6; i < argc; i++) {
        if (!read_size(argv[i], &b.sizes[b.num_sizes++])) {
            fprintf(stderr, "sizes: no dims: %s\n", argv[i]);
            return 2;
        }
    }
    pdm_status status = pdm_context_create(&context, &b.context);
    if (status == PDM_OK)
        status = pdm_model_load(b.context, argv[1], NULL, &b.model);
    if (status == PDM_OK)
        status = pdm_plan_create(b.model, &plan, &b.plan);
    if (status == PDM_OK)
        status = ever_new(&b);
    if (status == PDM_OK)
        status = known(&b);
    if (status != PDM_OK)
        fprintf(stderr, "sizes: %s\n", pdm_status_text(status));
    pdm_plan_destroy(b.plan);
    pdm_model_destroy(b.model);
    pdm_context_destroy(b.context);
    return status != PDM_OK;
}
