/* pdmigrate verify MODEL [NEW] */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "inputs.h"

/* One output of one input set. */
typedef struct row {
    const char *io;    /* the file, NULL: random inputs */
    char *name;        /* "0:softmax_0.tmp_0" */
    char *shape;       /* "float32[1, 10]" */
    char *other_shape; /* of the other side, when they differ */
    pdm_comparison result;
    int64_t dims[16];
    size_t rank;
    bool missing; /* one side has no such output */
} row;

typedef struct verifier {
    pdm_context *context;
    const cli_options *options;
    cli_report *report;
    pdm_model *model, *other; /* other: NEW, or NULL */
    pdm_plan *plan, *reference_plan;
    pdm_session *session, *reference_session; /* of a PIR MODEL that NEW is compared with */
    const char *against;                      /* what the outputs are compared with */
    row *rows;
    size_t num_rows, num_different;
} verifier;

/* ---- running both sides ---------------------------------------------------------------------- */

static pdm_status make_session(const verifier *v, const pdm_model *model, pdm_plan **out_plan,
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
                                         .cancelled = cli_interrupted};
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
                                           .cancelled = cli_interrupted};
    if (pdm_model_get_kind(v->model) == PDM_MODEL_LEGACY) {
        v->against = "the legacy program as it is";
        return pdm_model_run_legacy(v->model, &legacy, inputs, expected);
    }
    if (!v->reference_session) {
        cli_usage(v->report, "give recorded outputs with --io, or a second model",
                  "there is nothing to compare a PIR model with");
        return PDM_INVALID_ARG;
    }
    v->against = "the first model";
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

static double tolerance(double given, const char *dtype)
{
    if (given >= 0)
        return given;
    return !strcmp(dtype, "float16") ? 1e-3 : !strcmp(dtype, "bfloat16") ? 1e-2 : 1e-5;
}

static pdm_status compare_one(const cli_options *o, pdm_tensor_view *expected,
                              const pdm_tensor_view *actual, row *r)
{
    /* numpy has no bfloat16: files hold its bits. */
    if (!strcmp(actual->dtype, "bfloat16") && !strcmp(expected->dtype, "uint16"))
        expected->dtype = "bfloat16";
    const pdm_compare_options options = {.size = sizeof options,
                                         .rtol = tolerance(o->rtol, actual->dtype),
                                         .atol = tolerance(o->atol, actual->dtype),
                                         .min_cosine = o->cosine > 0 ? o->cosine : 0,
                                         .max_ulp = o->max_ulp};
    const pdm_status status = pdm_compare(expected, actual, &options, &r->result);
    r->rank = actual->rank < 16 ? actual->rank : 16;
    memcpy(r->dims, actual->dims, r->rank * sizeof *r->dims);
    return status;
}

static pdm_status add_row(verifier *v, const char *io, unsigned long position,
                          const pdm_bundle *expected, const pdm_bundle *actual)
{
    pdm_tensor_view want = {0}, have = {0};
    const char *name = NULL, *other_name = NULL;
    const bool wanted = find_output(expected, position, &want, &name);
    const bool found = find_output(actual, position, &have, &other_name);
    row *rows = realloc(v->rows, (v->num_rows + 1) * sizeof *rows);
    pdm_status status = PDM_OK;

    if (!rows)
        return PDM_NOMEM;
    v->rows = rows;
    if (!wanted && !found)
        return PDM_OK; /* an array on both sides: there is no key for it */
    row *r = &v->rows[v->num_rows++];
    *r = (row){.io = io, .missing = !wanted || !found};
    r->name = strdup(wanted ? name : other_name);
    r->shape = shape_text(found ? &have : &want);
    if (!r->name || !r->shape)
        return PDM_NOMEM;
    if (!r->missing)
        status = compare_one(v->options, &want, &have, r);
    if (r->result.reason &&
        (!strcmp(r->result.reason, "shape") || !strcmp(r->result.reason, "dtype")))
        r->other_shape = shape_text(&want);
    v->num_different += r->missing || !r->result.equal;
    return status;
}

static pdm_status compare_all(verifier *v, const char *io, const pdm_bundle *expected,
                              const pdm_bundle *actual)
{
    const unsigned long a = count_outputs(expected), b = count_outputs(actual);
    pdm_status status = PDM_OK;

    for (unsigned long i = 0; status == PDM_OK && i < (a > b ? a : b); i++)
        status = add_row(v, io, i, expected, actual);
    return status;
}

/* ---- one set of inputs ----------------------------------------------------------------------- */

static pdm_status verify_one(verifier *v, const char *io)
{
    pdm_bundle *given = NULL, *actual = NULL, *expected = NULL;
    pdm_status status = io ? pdm_bundle_read(v->context, io, &given) : PDM_OK;

    if (status == PDM_OK)
        status = io ? pdm_session_set_inputs(v->session, given)
                    : cli_random_inputs(v->options, v->report, v->plan, v->session, NULL);
    if (status == PDM_OK)
        status = pdm_session_run(v->session);
    if (status == PDM_OK)
        status = pdm_bundle_create(v->context, &actual);
    if (status == PDM_OK)
        status = pdm_session_record(v->session, true, actual);
    if (status == PDM_OK && (!given || count_outputs(given) == 0)) {
        status = pdm_bundle_create(v->context, &expected);
        if (status == PDM_OK)
            status = run_reference(v, given ? given : actual, expected);
    } else {
        v->against = "the recorded outputs";
    }
    if (status == PDM_OK)
        status = compare_all(v, io, expected ? expected : given, actual);
    pdm_bundle_destroy(expected);
    pdm_bundle_destroy(actual);
    pdm_bundle_destroy(given);
    return status;
}

static pdm_status verify(verifier *v)
{
    pdm_status status = prepare(v);

    for (size_t i = 0; status == PDM_OK && i < v->options->num_io; i++)
        status = verify_one(v, v->options->io[i]);
    if (status == PDM_OK && v->options->num_io == 0)
        status = verify_one(v, NULL);
    return status;
}

/* ---- what is printed ------------------------------------------------------------------------- */

/* An element's number as its indices. */
static void print_index(const row *r)
{
    uint64_t rest = r->result.worst;
    int64_t index[16];

    for (size_t i = r->rank; i-- > 0;) {
        const uint64_t dim = r->dims[i] > 0 ? (uint64_t)r->dims[i] : 1;
        index[i] = (int64_t)(rest % dim);
        rest /= dim;
    }
    putchar('[');
    for (size_t i = 0; i < r->rank; i++)
        printf("%s%" PRId64, i ? ", " : "", index[i]);
    putchar(']');
}

static void print_row(const row *r)
{
    const pdm_comparison *c = &r->result;

    printf("%-4s %s %s", r->missing || !c->equal ? "DIFF" : "ok", r->name, r->shape);
    if (r->missing) {
        puts(": only one side has this output");
    } else if (r->other_shape) {
        printf(": %s expected\n", r->other_shape);
    } else {
        printf("  max abs %.3g, max rel %.3g, ulp %" PRIu64 ", cosine %.9g\n", c->max_abs,
               c->max_rel, c->max_ulp, c->cosine);
        if (!c->equal) {
            printf("     %" PRIu64 " of %" PRIu64 " values differ, the worst at ", c->mismatches,
                   c->count);
            print_index(r);
            printf(": expected %.9g, got %.9g\n", c->expected, c->actual);
        }
    }
}

static void print_result(const verifier *v)
{
    const char *io = NULL;

    for (size_t i = 0; i < v->num_rows; i++) {
        if (i == 0 || v->rows[i].io != io)
            puts(v->rows[i].io ? v->rows[i].io : "random inputs");
        io = v->rows[i].io;
        print_row(&v->rows[i]);
    }
    printf("%zu of %zu outputs agree with %s\n", v->num_rows - v->num_different, v->num_rows,
           v->against ? v->against : "nothing");
}

/* JSON has no infinity and no NaN. */
static void json_number(const char *key, double value)
{
    if (isfinite(value))
        printf(", \"%s\": %.17g", key, value);
    else
        printf(", \"%s\": \"%s\"", key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void print_json(const verifier *v)
{
    fputs(", \"command\": \"verify\", \"model\": ", stdout);
    cli_json_string(stdout, v->options->model);
    fputs(", \"new\": ", stdout);
    cli_json_string(stdout, v->options->other);
    fputs(", \"against\": ", stdout);
    cli_json_string(stdout, v->against);
    fputs(", \"comparisons\": [", stdout);
    for (size_t i = 0; i < v->num_rows; i++) {
        const row *r = &v->rows[i];
        fputs(i ? ", {\"io\": " : "{\"io\": ", stdout);
        cli_json_string(stdout, r->io);
        fputs(", \"output\": ", stdout);
        cli_json_string(stdout, r->name);
        fputs(", \"type\": ", stdout);
        cli_json_string(stdout, r->shape);
        printf(", \"equal\": %s, \"reason\": ", !r->missing && r->result.equal ? "true" : "false");
        cli_json_string(stdout, r->missing ? "missing" : r->result.reason);
        printf(", \"count\": %" PRIu64 ", \"mismatches\": %" PRIu64 ", \"max_ulp\": %" PRIu64
               ", \"worst\": %" PRIu64,
               r->result.count, r->result.mismatches, r->result.max_ulp, r->result.worst);
        json_number("max_abs", r->result.max_abs);
        json_number("max_rel", r->result.max_rel);
        json_number("cosine", r->result.cosine);
        json_number("expected", r->result.expected);
        json_number("actual", r->result.actual);
        putchar('}');
    }
    putchar(']');
}

static void deinit(verifier *v)
{
    for (size_t i = 0; i < v->num_rows; i++) {
        free(v->rows[i].name);
        free(v->rows[i].shape);
        free(v->rows[i].other_shape);
    }
    free(v->rows);
    pdm_session_destroy(v->session);
    pdm_session_destroy(v->reference_session);
    pdm_plan_destroy(v->plan);
    pdm_plan_destroy(v->reference_plan);
    pdm_model_destroy(v->other);
    pdm_model_destroy(v->model);
}

int cli_verify(pdm_context *context, const cli_options *options, cli_report *report)
{
    verifier v = {.context = context, .options = options, .report = report};
    const pdm_status status = verify(&v);
    int code = cli_failed(report, status);

    if (status == PDM_OK && v.num_different > 0)
        code = CLI_EXIT_DIFFERENT;
    if (options->json) {
        cli_json_begin(code);
        print_json(&v);
        cli_json_end(report);
    } else if (status == PDM_OK && !report->quiet) {
        print_result(&v);
    }
    deinit(&v);
    return code;
}
