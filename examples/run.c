/*
 * Run a model, legacy or PIR, with the library, in several threads that share its plan:
 *
 *     cc -o run run.c $(pkg-config --cflags --libs pdmigrate) -pthread
 *     ./run MODEL IN.npz OUT.npz
 *
 * IN.npz has the inputs under "in:NAME" or NAME, as numpy.savez writes them.
 */
#include <pdmigrate/pdmigrate.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_THREADS = 3 };

typedef struct worker {
    const pdm_plan *plan;
    const pdm_bundle *inputs;
    pdm_session *session;
    pdm_status status;
} worker;

/* Called once for each problem found. */
static void on_diagnostic(void *user, const pdm_diagnostic *diagnostic)
{
    static const char *const names[] = {"note", "warning", "error"};

    fprintf(user, "%s: %s\n", names[diagnostic->severity], diagnostic->message);
}

/* Each thread has a session of its own: its values, not the weights, which are the plan's. */
static void *work(void *arg)
{
    worker *w = arg;
    pdm_session_options options = {
        .size = sizeof options, .threads = 1, .on_diagnostic = on_diagnostic, .user = stderr};

    w->status = pdm_session_create(w->plan, &options, &w->session);
    if (w->status == PDM_OK) {
        /* The session refers to the data of the bundle: nothing is copied. */
        w->status = pdm_session_set_inputs(w->session, w->inputs);
    }
    for (int i = 0; w->status == PDM_OK && i < 2; i++) {
        /* The first run is watched; from then on no memory is allocated for results. */
        w->status = pdm_session_run(w->session);
    }
    return NULL;
}

/* All threads computed the same. */
static int same_outputs(const worker *a, const worker *b)
{
    for (size_t i = 0; i < pdm_plan_num_outputs(a->plan); i++) {
        pdm_tensor_view x, y;
        if (pdm_session_output(a->session, i, &x) != PDM_OK ||
            pdm_session_output(b->session, i, &y) != PDM_OK || x.bytes != y.bytes ||
            memcmp(x.data, y.data, x.bytes) != 0) {
            return 0;
        }
    }
    return 1;
}

static pdm_status run_threads(pdm_context *context, const pdm_plan *plan, const pdm_bundle *inputs,
                              const char *out)
{
    worker workers[NUM_THREADS] = {{0}};
    pthread_t threads[NUM_THREADS];
    int started = 0;
    pdm_status status = PDM_OK;

    while (started < NUM_THREADS) {
        workers[started] = (worker){.plan = plan, .inputs = inputs};
        if (pthread_create(&threads[started], NULL, work, &workers[started]) != 0) {
            status = PDM_NOMEM;
            break;
        }
        started++;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        if (status == PDM_OK) {
            status = workers[i].status;
        }
    }
    for (int i = 1; i < NUM_THREADS && status == PDM_OK; i++) {
        if (!same_outputs(&workers[0], &workers[i])) {
            fputs("two threads disagree\n", stderr);
            status = PDM_INTERNAL;
        }
    }
    if (status == PDM_OK) {
        pdm_bundle *outputs = NULL;
        status = pdm_bundle_create(context, &outputs);
        if (status == PDM_OK) {
            status = pdm_session_record(workers[0].session, false, outputs);
        }
        if (status == PDM_OK) {
            status = pdm_bundle_write(outputs, out, true);
        }
        pdm_bundle_destroy(outputs);
    }
    for (int i = 0; i < started; i++) {
        pdm_session_destroy(workers[i].session);
    }
    return status;
}

static pdm_status run(pdm_context *context, char **argv)
{
    pdm_model *model = NULL;
    pdm_plan *plan = NULL;
    pdm_bundle *inputs = NULL;
    pdm_status status = pdm_model_load(context, argv[1], NULL, &model);

    if (status == PDM_OK) {
        status = pdm_plan_create(model, NULL, &plan);
    }
    if (status == PDM_OK) {
        status = pdm_bundle_read(context, argv[2], &inputs);
    }
    if (status == PDM_OK) {
        status = run_threads(context, plan, inputs, argv[3]);
    }
    pdm_bundle_destroy(inputs);
    pdm_plan_destroy(plan);
    pdm_model_destroy(model);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL IN.npz OUT.npz\n", argv[0]);
        return EXIT_FAILURE;
    }

    pdm_context_options options = {
        .size = sizeof options, .on_diagnostic = on_diagnostic, .user = stderr};
    pdm_context *context = NULL;
    pdm_status status = pdm_context_create(&options, &context);
    if (status == PDM_OK) {
        status = run(context, argv);
    }
    pdm_context_destroy(context);

    if (status != PDM_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], pdm_status_text(status));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
