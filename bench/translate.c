/*
 * Time the translation alone: the program is read once, then translated TIMES times.
 *
 *   translate TIMES MODEL   →   {"best_s": 0.000123, "ops": 512}
 */
#include <pdmigrate/pdmigrate.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

static pdm_status best_of(const pdm_model *model, int times, double *out_best)
{
    double best = -1;

    for (int i = 0; i < times; i++) {
        double begin = seconds();
        pdm_model *pir = NULL;
        pdm_status status = pdm_model_convert(model, NULL, &pir);
        double t = seconds() - begin;

        if (status != PDM_OK)
            return status;
        pdm_model_destroy(pir);
        if (best < 0 || t < best)
            best = t;
    }
    *out_best = best;
    return PDM_OK;
}

int main(int argc, char **argv)
{
    const pdm_context_options options = {.size = sizeof options, .on_diagnostic = tell};
    int times = argc == 3 ? atoi(argv[1]) : 0;
    pdm_context *context = NULL;
    pdm_model *model = NULL;
    double best = 0;
    pdm_status status;

    if (times < 1) {
        fprintf(stderr, "usage: translate TIMES MODEL\n");
        return 2;
    }
    status = pdm_context_create(&options, &context);
    if (status == PDM_OK)
        status = pdm_model_load(context, argv[2], NULL, &model);
    if (status == PDM_OK)
        status = best_of(model, times, &best);
    if (status == PDM_OK)
        printf("{\"best_s\": %.9f, \"ops\": %zu}\n", best, pdm_model_num_ops(model));
    else
        fprintf(stderr, "translate: %s\n", pdm_status_text(status));
    pdm_model_destroy(model);
    pdm_context_destroy(context);
    return status == PDM_OK ? 0 : 1;
}
