/* pdmigrate verify MODEL [NEW]: running both sides and comparing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "inputs.h"
#include "outfile.h"
#include "progress.h"
#include "tolerances.h"
#include "verify.h"

typedef struct verifier {
    pdm_context *context;
    const cli_options *options;
    cli_report *report;
    pdm_model *model, *other; /* other: NEW, or NULL */
    pdm_plan *plan, *reference_plan;
    pdm_session *session, *reference_session; /* of a PIR MODEL that NEW is compared with */
    cli_tolerances tolerances;
    cli_progress progress;
    char doing[64]; /* for the progress line */
    verify_result result;
} verifier;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const pdm_status try_status = (call);                                                      \
        if (try_status != PDM_OK)                                                                  \
            return try_status;                                                                     \
    } while (0)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Asked between ops. */
static bool tick(void *user)
{
    verifier *v = user;

    cli_progress_tick(&v->progress);
    return cli_interrupted(NULL);
}

/* ---- running both sides ---------------------------------------------------------------------- */

static pdm_status make_session(verifier *v, const pdm_model *model, pdm_plan **out_plan,
                               pdm_session **out_session)
{
    const cli_options *o = v->options;
    const pdm_plan_options plan = {
        .size = sizeof plan,
        .fetch = pdm_model_get_kind(model) == PDM_MODEL_LEGACY ? o->fetch : NULL,
        .num_fetch = pdm_model_get_kind(model) == PDM_MODEL_LEGACY ? o->num_fetch : 0,
        .any_shape = o->has[OPT_ANY_SHAPE],
        .kernels = out_plan == &v->plan ? o->kernels : PDM_KERNELS_REFERENCE};
    const pdm_session_options session = {.size = sizeof session,
                                         .threads = (unsigned)o->threads,
                                         .seed = o->seed,
                                         .max_iterations = o->max_iterations,
                                         .cancelled = tick,
                                         .user = v};
    pdm_status status = pdm_plan_create(model, &plan, out_plan);

    return status == PDM_OK ? pdm_session_create(*out_plan, &session, out_session) : status;
}

static pdm_status prepare(verifier *v)
{
    const cli_options *o = v->options;
    const pdm_load_options load = {.size = sizeof load, .params_path = o->arg[OPT_PARAMS]};
    pdm_status status = pdm_model_load(v->context, o->model, &load, &v->model);

    if (status == PDM_OK && o->other)
        status = pdm_model_load(v->context, o->other, NULL, &v->other);
    if (status == PDM_OK)
        status = make_session(v, v->other ? v->other : v->model, &v->plan, &v->session);
    if (status == PDM_OK && v->other && pdm_model_get_kind(v->model) == PDM_MODEL_PIR)
        status = make_session(v, v->model, &v->reference_plan, &v->reference_session);
    return status;
}

/* What MODEL itself computes from the inputs: the legacy program as it is, or a PIR program that
 * NEW was made of. */
static pdm_status run_reference(verifier *v, const pdm_bundle *inputs, pdm_bundle *expected)
{
    const cli_options *o = v->options;
    const pdm_legacy_run_options legacy = {.size = sizeof legacy,
                                           .fetch = o->fetch,
                                           .num_fetch = o->num_fetch,
                                           .seed = o->seed,
                                           .max_iterations = o->max_iterations,
                                           .cancelled = tick,
                                           .user = v};
    if (pdm_model_get_kind(v->model) == PDM_MODEL_LEGACY) {
        v->result.against = "the legacy program as it is";
        return pdm_model_run_legacy(v->model, &legacy, inputs, expected);
    }
    if (!v->reference_session) {
        cli_usage(v->report, "give recorded outputs with --io, or a second model",
                  "there is nothing to compare a PIR model with");
        return PDM_INVALID_ARG;
    }
    v->result.against = "the first model";
    pdm_status status = pdm_session_set_inputs(v->reference_session, inputs);
    if (status == PDM_OK)
        status = pdm_session_run(v->reference_session);
    return status == PDM_OK ? pdm_session_record(v->reference_session, false, expected) : status;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool output_position(const char *key, unsigned long *out)
{
    char *end;

    if (strncmp(key, "out:", 4) != 0)
        return false;
    *out = strtoul(key + 4, &end, 10);
    return end != key + 4 && *end == ':';
}

/* The output at a position; false when there is none. */
static bool find_output(const pdm_bundle *bundle, unsigned long position, pdm_tensor_view *out,
                        const char **out_key)
{
    unsigned long at;

    for (size_t i = 0; i < pdm_bundle_count(bundle); i++) {
        const char *key = pdm_bundle_key(bundle, i);
        if (!output_position(key, &at) || at != position)
            continue;
        *out_key = key + 4;
        return pdm_bundle_get(bundle, i, out) == PDM_OK;
    }
    return false;
}

static unsigned long count_outputs(const pdm_bundle *bundle)
{
    unsigned long at, count = 0;

    for (size_t i = 0; i < pdm_bundle_count(bundle); i++) {
        if (output_position(pdm_bundle_key(bundle, i), &at) && at >= count && at < 65536)
            count = at + 1;
    }
    return count;
}

static char *shape_text(const pdm_tensor_view *view)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "%s[", view->dtype);
    for (size_t i = 0; i < view->rank; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", view->dims[i]);
    fputc(']', out);
    fclose(out);
    return text;
}

/* ---- LoD ------------------------------------------------------------------------------------- */

/* The offsets of a level of an output, which is named "POSITION:NAME"; false: it has no such level.
 */
static bool find_lod(const pdm_bundle *bundle, const char *output, unsigned level,
                     pdm_tensor_view *out)
{
    const char *name = strchr(output, ':') + 1;
    const size_t length = strlen(name);
    char *end;

    for (size_t i = 0; i < pdm_bundle_count(bundle); i++) {
        const char *key = pdm_bundle_key(bundle, i);
        if (strncmp(key, "lod:out:", 8) != 0 || strncmp(key + 8, name, length) != 0 ||
            key[8 + length] != ':' || strtoul(key + 9 + length, &end, 10) != level ||
            end == key + 9 + length || *end)
            continue;
        return pdm_bundle_get(bundle, i, out) == PDM_OK &&
               (!strcmp(out->dtype, "int64") || !strcmp(out->dtype, "uint64"));
    }
    return false;
}

static void print_offsets(FILE *out, const pdm_tensor_view *view)
{
    enum { MANY = 16 };
    const int64_t *offsets = view->data;
    const size_t count = view->bytes / sizeof *offsets;

    fputc('[', out);
    for (size_t i = 0; i < count && i < MANY; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", offsets[i]);
    fputs(count > MANY ? ", ...]" : "]", out);
}

static bool same_offsets(const pdm_tensor_view *a, const pdm_tensor_view *b)
{
    return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

/* The first level that differs, in words; NULL: none does. */
static pdm_status compare_lod(const pdm_bundle *expected, const char *expected_name,
                              const pdm_bundle *actual, const char *actual_name, char **out_text)
{
    size_t size;

    for (unsigned level = 0; level < 16; level++) {
        pdm_tensor_view want = {0}, have = {0};
        const bool wanted = find_lod(expected, expected_name, level, &want);
        const bool found = find_lod(actual, actual_name, level, &have);
        if (wanted == found && (!wanted || same_offsets(&want, &have))) {
            if (!wanted)
                return PDM_OK;
            continue;
        }
        FILE *out = open_memstream(out_text, &size);
        if (!out)
            return PDM_NOMEM;
        fprintf(out, "LoD level %u: expected ", level);
        if (wanted)
            print_offsets(out, &want);
        fputs(wanted ? ", got " : "none, got ", out);
        if (found)
            print_offsets(out, &have);
        else
            fputs("none", out);
        return fclose(out) == 0 ? PDM_OK : PDM_NOMEM;
    }
    return PDM_OK;
}

/* ---- one output ------------------------------------------------------------------------------ */

static pdm_status compare_one(verifier *v, pdm_tensor_view *expected, const pdm_tensor_view *actual,
                              verify_row *row)
{
    /* numpy has no bfloat16: files hold its bits. */
    if (!strcmp(actual->dtype, "bfloat16") && !strcmp(expected->dtype, "uint16"))
        expected->dtype = "bfloat16";
    cli_tolerances_of(&v->tolerances, strchr(row->name, ':') + 1, actual->dtype, NULL, NULL,
                      &row->tolerance);
    TRY(pdm_compare(expected, actual, &row->tolerance, &row->result));
    row->rank = actual->rank < 16 ? actual->rank : 16;
    memcpy(row->dims, actual->dims, row->rank * sizeof *row->dims);
    if (row->result.reason &&
        (!strcmp(row->result.reason, "shape") || !strcmp(row->result.reason, "dtype")) &&
        !(row->wanted_type = shape_text(expected)))
        return PDM_NOMEM;
    return PDM_OK;
}

static verify_row *new_row(verify_result *result)
{
    verify_row *rows = realloc(result->rows, (result->num_rows + 1) * sizeof *rows);

    if (!rows)
        return NULL;
    result->rows = rows;
    rows[result->num_rows] = (verify_row){.set = result->num_sets - 1};
    return &rows[result->num_rows++];
}

static pdm_status add_row(verifier *v, unsigned long position, const pdm_bundle *expected,
                          const pdm_bundle *actual)
{
    pdm_tensor_view want = {0}, have = {0};
    const char *name = NULL, *other_name = NULL;
    const bool wanted = find_output(expected, position, &want, &name);
    const bool found = find_output(actual, position, &have, &other_name);

    if (!wanted && !found)
        return PDM_OK; /* an array on both sides: there is no key for it */
    verify_row *row = new_row(&v->result);
    if (!row)
        return PDM_NOMEM;
    row->missing = !wanted || !found;
    row->name = strdup(wanted ? name : other_name);
    row->type = shape_text(found ? &have : &want);
    if (!row->name || !row->type)
        return PDM_NOMEM;
    if (row->missing)
        return PDM_OK;
    TRY(compare_one(v, &want, &have, row));
    return compare_lod(expected, name, actual, other_name, &row->lod);
}

static pdm_status compare_all(verifier *v, const pdm_bundle *expected, const pdm_bundle *actual)
{
    const unsigned long a = count_outputs(expected), b = count_outputs(actual);
    pdm_status status = PDM_OK;

    for (unsigned long i = 0; status == PDM_OK && i < (a > b ? a : b); i++)
        status = add_row(v, i, expected, actual);
    return status;
}

/* ---- where they part ------------------------------------------------------------------------- */

static pdm_status bisect(verifier *v, const pdm_bundle *inputs)
{
    const cli_options *o = v->options;
    const pdm_bisect_options options = {.size = sizeof options,
                                        .fetch = o->fetch,
                                        .num_fetch = o->num_fetch,
                                        .seed = o->seed,
                                        .max_iterations = o->max_iterations,
                                        .rtol = o->rtol,
                                        .atol = o->atol,
                                        .any_shape = o->has[OPT_ANY_SHAPE],
                                        .kernels = o->kernels,
                                        .cancelled = tick,
                                        .user = v};

    /* Recorded outputs alone tell no values in between. */
    if (!v->other && pdm_model_get_kind(v->model) == PDM_MODEL_PIR)
        return PDM_OK;
    return pdm_bisect(v->model, v->other, &options, inputs, &v->result.bisection);
}

/* ---- one set of inputs ----------------------------------------------------------------------- */

static pdm_status set_inputs(verifier *v, const pdm_bundle *given)
{
    return given ? pdm_session_set_inputs(v->session, given)
                 : cli_random_inputs(v->options, v->report, v->plan, v->session, NULL);
}

static pdm_status run_and_compare(verifier *v, const pdm_bundle *given, pdm_bundle *actual,
                                  pdm_bundle *expected)
{
    const bool recorded = given && count_outputs(given) > 0;

    TRY(set_inputs(v, given));
    TRY(pdm_session_run(v->session));
    TRY(pdm_session_record(v->session, true, actual));
    if (recorded)
        v->result.against = "the recorded outputs";
    else
        TRY(run_reference(v, given ? given : actual, expected));
    return compare_all(v, recorded ? given : expected, actual);
}

static pdm_status begin_set(verifier *v, const char *io)
{
    verify_result *r = &v->result;
    const size_t of = v->options->num_io > 0 ? v->options->num_io : 1;
    verify_set *sets = realloc(r->sets, (r->num_sets + 1) * sizeof *sets);

    if (!sets)
        return PDM_NOMEM;
    r->sets = sets;
    sets[r->num_sets++] = (verify_set){.io = io};
    snprintf(v->doing, sizeof v->doing, "verifying, input set %zu of %zu", r->num_sets, of);
    cli_progress_begin(&v->progress, v->report, v->doing);
    return PDM_OK;
}

static pdm_status verify_one(verifier *v, const char *io)
{
    pdm_bundle *given = NULL, *actual = NULL, *expected = NULL;
    const double begin = now();
    pdm_status status = begin_set(v, io);

    if (status == PDM_OK && io)
        status = pdm_bundle_read(v->context, io, &given);
    if (status == PDM_OK)
        status = pdm_bundle_create(v->context, &actual);
    if (status == PDM_OK)
        status = pdm_bundle_create(v->context, &expected);
    if (status == PDM_OK)
        status = run_and_compare(v, given, actual, expected);
    if (status == PDM_OK && v->options->has[OPT_BISECT] && !v->result.bisection &&
        verify_count_different(&v->result) > 0)
        status = bisect(v, given ? given : actual);
    cli_progress_end(&v->progress);
    pdm_bundle_destroy(expected);
    pdm_bundle_destroy(actual);
    pdm_bundle_destroy(given);
    if (v->result.num_sets > 0)
        v->result.sets[v->result.num_sets - 1].seconds = now() - begin;
    return status;
}

static pdm_status verify(verifier *v)
{
    const cli_options *o = v->options;
    pdm_status status = cli_tolerances_read(&v->tolerances, o, v->report);

    if (status == PDM_OK && o->arg[OPT_HTML])
        status = cli_outfile_check(v->report, o->arg[OPT_HTML], o->has[OPT_FORCE]);
    if (status == PDM_OK)
        status = prepare(v);
    for (size_t i = 0; status == PDM_OK && i < o->num_io; i++)
        status = verify_one(v, o->io[i]);
    if (status == PDM_OK && o->num_io == 0)
        status = verify_one(v, NULL);
    if (status == PDM_OK)
        cli_tolerances_unused(&v->tolerances, v->report);
    return status;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void print_html(FILE *out, const void *result)
{
    verify_print_html(out, result);
}

static void print_result(const verifier *v, pdm_status status)
{
    const verify_result *r = &v->result;

    if (v->options->json) {
        cli_json_begin(r->exit_code);
        verify_print_json(stdout, r);
        cli_json_end(v->report);
    } else if (v->options->junit) {
        verify_print_junit(stdout, r);
    } else if (status == PDM_OK && !v->report->quiet) {
        verify_print_text(stdout, r);
    }
}

static void deinit(verifier *v)
{
    verify_result *r = &v->result;

    for (size_t i = 0; i < r->num_rows; i++) {
        free(r->rows[i].name);
        free(r->rows[i].type);
        free(r->rows[i].wanted_type);
        free(r->rows[i].lod);
    }
    free(r->rows);
    free(r->sets);
    pdm_bisection_destroy(r->bisection);
    cli_tolerances_deinit(&v->tolerances);
    pdm_session_destroy(v->session);
    pdm_session_destroy(v->reference_session);
    pdm_plan_destroy(v->plan);
    pdm_plan_destroy(v->reference_plan);
    pdm_model_destroy(v->other);
    pdm_model_destroy(v->model);
}

int cli_verify(pdm_context *context, const cli_options *options, cli_report *report)
{
    verifier v = {
        .context = context, .options = options, .report = report, .result.options = options};
    const char *html = options->arg[OPT_HTML];
    pdm_status status = verify(&v);

    v.result.exit_code = cli_failed(report, status);
    if (status == PDM_OK && verify_count_different(&v.result) > 0)
        v.result.exit_code = CLI_EXIT_DIFFERENT;
    if (status != PDM_OK)
        v.result.failure = report->first_error;
    if (html && status != PDM_EXISTS &&
        cli_outfile_write(report, html, options->has[OPT_FORCE], print_html, &v.result) != PDM_OK)
        v.result.exit_code = CLI_EXIT_IO;
    print_result(&v, status);
    deinit(&v);
    return v.result.exit_code;
}
