/* pdmigrate run MODEL */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "inputs.h"
#include "progress.h"

typedef struct runner {
    pdm_context *context;
    const cli_options *options;
    cli_report *report;
    pdm_model *model;
    pdm_plan *plan;
    pdm_session *session;
    pdm_bundle *io, *recorded;
    pdm_profile_row *profile;
    size_t num_rows;
    double load_seconds, run_seconds;
    cli_progress progress;
} runner;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool tick(void *user)
{
    runner *r = user;

    cli_progress_tick(&r->progress);
    return cli_interrupted(NULL);
}

/* What the program prints goes to standard error: results are on standard output. */
static void print_text(void *user, const char *text)
{
    runner *r = user;

    if (!r->report->quiet) {
        cli_progress_end(&r->progress);
        fputs(text, stderr);
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* One input after the other, when not all of them come from the file. */
static pdm_status given_inputs(const runner *r)
{
    for (size_t i = 0; i < pdm_bundle_count(r->io); i++) {
        const char *key = pdm_bundle_key(r->io, i);
        const char *name = strncmp(key, "in:", 3) ? key : key + 3;
        pdm_tensor_view view;
        if (!cli_has_input(r->plan, name, strlen(name)))
            continue;
        pdm_status status = pdm_bundle_get(r->io, i, &view);
        if (status == PDM_OK)
            status = pdm_session_set_input(r->session, name, &view);
        if (status != PDM_OK)
            return status;
    }
    return PDM_OK;
}

static pdm_status set_inputs(runner *r)
{
    pdm_status status = PDM_OK;

    if (r->options->arg[OPT_IO]) {
        status = pdm_bundle_read(r->context, r->options->arg[OPT_IO], &r->io);
        if (status == PDM_OK && !r->options->has[OPT_RANDOM])
            return pdm_session_set_inputs(r->session, r->io);
        if (status == PDM_OK)
            status = given_inputs(r);
    } else if (!r->options->has[OPT_RANDOM] && pdm_plan_num_inputs(r->plan) > 0) {
        cli_usage(r->report, "give them with --io FILE.npz, or use --random",
                  "the model has inputs");
        return PDM_INVALID_ARG;
    }
    if (status == PDM_OK && r->options->has[OPT_RANDOM])
        status = cli_random_inputs(r->options, r->report, r->plan, r->session, r->io, 0, NULL);
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

static pdm_status prepare(runner *r)
{
    const cli_options *options = r->options;
    const pdm_load_options load = {.size = sizeof load, .params_path = options->arg[OPT_PARAMS]};
    const pdm_plan_options plan = {.size = sizeof plan,
                                   .fetch = options->fetch,
                                   .num_fetch = options->num_fetch,
                                   .any_shape = options->has[OPT_ANY_SHAPE],
                                   .kernels = options->kernels,
                                   .compiler = options->compiler};
    const pdm_session_options session = {
        .size = sizeof session,
        .threads = (unsigned)options->threads,
        .seed = options->seed,
        .max_iterations = options->max_iterations,
        .trace = options->has[OPT_TRACE] || options->has[OPT_PROFILE],
        .cancelled = tick,
        .print = print_text,
        .user = r,
    };
    static const cli_opt outputs[] = {OPT_OUTPUT, OPT_TRACE};
    pdm_status status = PDM_OK;

    /* Before a long run rather than after it. */
    for (size_t i = 0; status == PDM_OK && i < sizeof outputs / sizeof *outputs; i++) {
        if (options->arg[outputs[i]])
            status = pdm_text_check(r->context, options->arg[outputs[i]], options->has[OPT_FORCE]);
    }
    if (status == PDM_OK)
        status = pdm_model_load(r->context, options->model, &load, &r->model);
    if (status == PDM_OK)
        status = pdm_plan_create(r->model, &plan, &r->plan);
    if (status == PDM_OK)
        status = pdm_session_create(r->plan, &session, &r->session);
    return status;
}

static pdm_status write_trace(const runner *r)
{
    const char *path = r->options->arg[OPT_TRACE];
    char *text;
    pdm_status status = pdm_session_trace(r->session, &text);

    if (status != PDM_OK)
        return status;
    status = pdm_text_write(r->context, path, text, r->options->has[OPT_FORCE]);
    pdm_free(text);
    return status;
}

static pdm_status write_results(runner *r)
{
    pdm_status status = pdm_bundle_create(r->context, &r->recorded);

    if (status == PDM_OK)
        status = pdm_session_record(
            r->session, r->options->has[OPT_RANDOM] || r->options->command == CLI_RECORD,
            r->recorded);
    if (status == PDM_OK && r->options->arg[OPT_OUTPUT])
        status =
            pdm_bundle_write(r->recorded, r->options->arg[OPT_OUTPUT], r->options->has[OPT_FORCE]);
    if (status == PDM_OK && r->options->arg[OPT_TRACE])
        status = write_trace(r);
    if (status == PDM_OK && r->options->has[OPT_PROFILE])
        status = pdm_session_profile(r->session, &r->profile, &r->num_rows);
    return status;
}

static pdm_status run(runner *r)
{
    const double begin = now();
    cli_compute_begin(r->report);
    pdm_status status = prepare(r);

    if (status == PDM_OK)
        status = set_inputs(r);
    const double loaded = now();
    r->load_seconds = loaded - begin;
    if (status == PDM_OK) {
        cli_progress_begin(&r->progress, r->report, "running");
        status = pdm_session_run(r->session);
        cli_progress_end(&r->progress);
    }
    r->run_seconds = now() - loaded;
    cli_compute_end();
    return status == PDM_OK ? write_results(r) : status;
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void print_output(const pdm_tensor_info *info, const pdm_tensor_view *view)
{
    printf("%s: %s[", info->name, view->dtype);
    for (size_t d = 0; d < view->rank; d++)
        printf("%s%" PRId64, d ? ", " : "", view->dims[d]);
    puts("]");
}

static void print_profile(const runner *r)
{
    pdm_memory_info memory;
    uint64_t total = 0;

    for (size_t i = 0; i < r->num_rows; i++)
        total += r->profile[i].self_ns;
    printf("\n%10s %6s %8s %12s  %s\n", "ms", "%", "calls", "bytes", "op");
    for (size_t i = 0; i < r->num_rows; i++) {
        const pdm_profile_row *row = &r->profile[i];
        printf("%10.3f %6.2f %8" PRIu64 " %12" PRIu64 "  %s\n", (double)row->self_ns * 1e-6,
               total ? 100.0 * (double)row->self_ns / (double)total : 0.0, row->calls, row->bytes,
               row->op);
    }
    pdm_session_memory(r->session, &memory);
    printf("%10.3f %6s in all, results take ", (double)total * 1e-6, "");
    cli_print_bytes(stdout, memory.peak);
    puts(" at most");
}

static void print_result(const runner *r)
{
    pdm_tensor_info info;
    pdm_tensor_view view;

    for (size_t i = 0; i < pdm_plan_num_outputs(r->plan); i++) {
        if (pdm_plan_output(r->plan, i, &info) == PDM_OK &&
            pdm_session_output(r->session, i, &view) == PDM_OK)
            print_output(&info, &view);
    }
    if (r->options->has[OPT_PROFILE])
        print_profile(r);
}

static void json_outputs(const runner *r)
{
    pdm_tensor_info info;
    pdm_tensor_view view;

    fputs(", \"outputs\": [", stdout);
    for (size_t i = 0; i < pdm_plan_num_outputs(r->plan); i++) {
        if (pdm_plan_output(r->plan, i, &info) != PDM_OK)
            continue;
        fputs(i ? ", " : "", stdout);
        if (pdm_session_output(r->session, i, &view) == PDM_OK) {
            info.dtype = view.dtype;
            info.dims = view.dims;
            info.rank = view.rank;
        }
        cli_json_tensor(stdout, &info);
    }
    putchar(']');
}

static void json_profile(const runner *r)
{
    fputs(", \"profile\": [", stdout);
    for (size_t i = 0; i < r->num_rows; i++) {
        const pdm_profile_row *row = &r->profile[i];
        fputs(i ? ", {\"op\": " : "{\"op\": ", stdout);
        cli_json_string(stdout, row->op);
        printf(", \"calls\": %" PRIu64 ", \"total_ns\": %" PRIu64 ", \"self_ns\": %" PRIu64
               ", \"bytes\": %" PRIu64 "}",
               row->calls, row->total_ns, row->self_ns, row->bytes);
    }
    putchar(']');
}

static void print_json(const runner *r, bool done)
{
    pdm_memory_info memory;

    fputs(", \"model\": ", stdout);
    cli_json_string(stdout, r->model ? pdm_model_path(r->model) : r->options->model);
    if (!done)
        return;
    json_outputs(r);
    pdm_session_memory(r->session, &memory);
    printf(", \"load_seconds\": %.6f, \"run_seconds\": %.6f, \"peak_bytes\": %zu", r->load_seconds,
           r->run_seconds, memory.peak);
    if (r->options->has[OPT_PROFILE])
        json_profile(r);
}

int cli_run(pdm_context *context, const cli_options *options, cli_report *report)
{
    runner r = {.context = context, .options = options, .report = report};
    const pdm_status status = run(&r);
    const int code = cli_failed(report, status);

    if (options->json) {
        cli_json_begin(code, cli_commands[options->command].name);
        print_json(&r, status == PDM_OK);
        cli_json_end(report);
    } else if (status == PDM_OK && !report->quiet) {
        print_result(&r);
    }
    pdm_free(r.profile);
    pdm_bundle_destroy(r.recorded);
    pdm_session_destroy(r.session);
    pdm_bundle_destroy(r.io);
    pdm_plan_destroy(r.plan);
    pdm_model_destroy(r.model);
    return code;
}

int cli_record(pdm_context *context, const cli_options *options, cli_report *report)
{
    if (!options->arg[OPT_OUTPUT])
        return cli_usage(report, "use -o NAME.npz", "no output is given");
    return cli_run(context, options, report);
}
