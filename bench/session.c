/*
 * One model, ready to run as often as bench/run.py asks: the side of that bench that is ours.
 *
 *   session MODEL INPUTS.npz THREADS KERNELS
 *
 * First one line {"load_s": 0.01, "first_s": 0.02}: from the file to a session, and the first run
 * (reading the inputs is not counted). Then for each line of standard input one line of JSON: run N
 * {"s": [0.011, 0.012, ...]}   seconds of N runs save FILE  {}                           outputs of
 * the last run as a .npz profile    {"ops": [{"op": "pd_op.conv2d", "calls": 3, "ms": 1.5}, ...]}
 * of one run more memory     {"peak_kib": 1234}           most memory that was resident, of this
 * program alone
 */
#include <inttypes.h>
#include <pdmigrate/pdmigrate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peak.h"

typedef struct runner {
    pdm_context *context;
    pdm_bundle *inputs;
    pdm_model *model;
    pdm_plan *plan;
    pdm_session *session;
    unsigned threads;
    pdm_kernels kernels;
} runner;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell(void *user, const pdm_diagnostic *d)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", d->id, d->message);
}

static pdm_status open_session(const runner *r, bool trace, pdm_session **out_session)
{
    const pdm_session_options options = {
        .size = sizeof options, .threads = r->threads, .trace = trace};
    pdm_session *session;
    pdm_status status = pdm_session_create(r->plan, &options, &session);

    if (status != PDM_OK)
        return status;
    status = pdm_session_set_inputs(session, r->inputs);
    if (status == PDM_OK)
        status = pdm_session_run(session);
    if (status == PDM_OK)
        *out_session = session;
    else
        pdm_session_destroy(session);
    return status;
}

static pdm_status begin(runner *r, const char *model)
{
    const pdm_plan_options plan = {.size = sizeof plan, .kernels = r->kernels};
    const double t0 = seconds();
    pdm_status status = pdm_model_load(r->context, model, NULL, &r->model);

    if (status == PDM_OK)
        status = pdm_plan_create(r->model, &plan, &r->plan);
    const double t1 = seconds();
    if (status == PDM_OK)
        status = open_session(r, false, &r->session);
    if (status == PDM_OK)
        printf("{\"load_s\": %.6f, \"first_s\": %.6f}\n", t1 - t0, seconds() - t1);
    return status;
}

static pdm_status run(const runner *r, int times)
{
    pdm_status status = PDM_OK;

    fputs("{\"s\": [", stdout);
    for (int i = 0; i < times && status == PDM_OK; i++) {
        const double t = seconds();
        status = pdm_session_run(r->session);
        printf("%s%.9f", i ? ", " : "", seconds() - t);
    }
    puts("]}");
    return status;
}

static pdm_status save(const runner *r, const char *path)
{
    pdm_bundle *outputs = NULL;
    pdm_status status = pdm_bundle_create(r->context, &outputs);

    if (status == PDM_OK)
        status = pdm_session_record(r->session, false, outputs);
    if (status == PDM_OK)
        status = pdm_bundle_write(outputs, path, true);
    pdm_bundle_destroy(outputs);
    puts("{}");
    return status;
}

/* In a session of its own, whose first run is warm-up: the profile is the difference of one and two
 * runs. */
static pdm_status profile(const runner *r)
{
    pdm_session *session = NULL;
    pdm_profile_row *rows = NULL;
    size_t count = 0;
    pdm_status status = open_session(r, true, &session);

    if (status == PDM_OK)
        status = pdm_session_run(session);
    if (status == PDM_OK)
        status = pdm_session_profile(session, &rows, &count);
    fputs("{\"ops\": [", stdout);
    for (size_t i = 0; i < count; i++)
        printf("%s{\"op\": \"%s\", \"calls\": %" PRIu64 ", \"ms\": %.4f}", i ? ", " : "",
               rows[i].op, rows[i].calls / 2, (double)rows[i].self_ns * 0.5e-6);
    puts("]}");
    pdm_free(rows);
    pdm_session_destroy(session);
    return status;
}

static pdm_status obey(const runner *r, char *line)
{
    pdm_status status = PDM_OK;

    line[strcspn(line, "\n")] = '\0';
    if (!strncmp(line, "run ", 4))
        status = run(r, atoi(line + 4));
    else if (!strncmp(line, "save ", 5))
        status = save(r, line + 5);
    else if (!strcmp(line, "profile"))
        status = profile(r);
    else if (!strcmp(line, "memory"))
        printf("{\"peak_kib\": %ld}\n", peak_kib());
    else
        status = PDM_INVALID_ARG;
    fflush(stdout);
    return status;
}

int main(int argc, char **argv)
{
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = tell};
    runner r = {.threads = argc == 5 ? (unsigned)atoi(argv[3]) : 0};
    char line[4096];

    if (argc != 5 || (strcmp(argv[4], "reference") != 0 && strcmp(argv[4], "fast") != 0)) {
        fprintf(stderr, "usage: session MODEL INPUTS.npz THREADS reference\n");
        return 2;
    }
    r.kernels = strcmp(argv[4], "fast") ? PDM_KERNELS_REFERENCE : PDM_KERNELS_FAST;
    pdm_status status = pdm_context_create(&options, &r.context);
    if (status == PDM_OK)
        status = pdm_bundle_read(r.context, argv[2], &r.inputs);
    if (status == PDM_OK)
        status = begin(&r, argv[1]);
    fflush(stdout);
    while (status == PDM_OK && fgets(line, sizeof line, stdin))
        status = obey(&r, line);
    if (status != PDM_OK)
        fprintf(stderr, "session: %s\n", pdm_status_text(status));
    pdm_session_destroy(r.session);
    pdm_plan_destroy(r.plan);
    pdm_model_destroy(r.model);
    pdm_bundle_destroy(r.inputs);
    pdm_context_destroy(r.context);
    return status != PDM_OK;
}
