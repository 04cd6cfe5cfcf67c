/* pdmigrate verify MODEL [NEW]: running both sides and comparing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "inputs.h"
#include "progress.h"
#include "tolerances.h"
#include "verify.h"

/* A program made ready to run. */
typedef struct side {
    pdm_plan *plan;
    pdm_session *session; /* NULL: not yet */
} side;

typedef struct verifier {
    pdm_context *context;
    const cli_options *options;
    cli_report *report;
    pdm_model *model, *other; /* other: NEW, or NULL */
    side tested;
    pdm_legacy_runner *legacy; /* a legacy MODEL as it is; NULL: not yet */
    side reference;            /* a PIR MODEL that NEW, or fast kernels, are compared with */
    side before;               /* what is tested, as 2.6 would compute it */
    side plain;                /* what is tested with fast kernels, with reference kernels */
    cli_tolerances tolerances;
    cli_progress progress;
    bool no_draw_runs; /* so that the reason is to be told */
    uint64_t numbers;  /* of the inputs drawn last, about */
    char doing[64];    /* for the progress line */
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

/*
 * Where sets of random inputs are drawn from. The first is what `run --random` draws; the others
 * reach branches, turns of loops and parts of functions that it does not, and open dimensions that
 * fit each other. Enough of them are run that the reference can run.
 */
static const pdm_random_options draws[] = {
#define DRAW(low_, high_, least_, most_, open_)                                                    \
    {                                                                                              \
        sizeof(pdm_random_options), low_, high_, least_, most_, open_                              \
    }
    DRAW(-1, 1, 0, 1, 1),      DRAW(-3, 3, 0, 7, 2),      DRAW(-10, 10, -9, 9, 3),
    DRAW(0.05, 1, 1, 3, 4),    DRAW(-1, 1, 0, 1, 4),      DRAW(-3, 3, 0, 3, 3),
    DRAW(-30, 30, -20, 20, 2), DRAW(-1, 1, 0, 1, 5),      DRAW(-0.1, 0.1, 0, 7, 6),
    DRAW(-3, 3, -1, 1, 3),     DRAW(0.05, 0.95, 0, 2, 2), DRAW(-1, 1, 0, 1, 64),
#undef DRAW
};

enum {
    NUM_DRAWS = sizeof draws / sizeof *draws,
    ENOUGH = 8,          /* sets */
    ENOUGH_OF_LARGE = 3, /* sets of inputs that have more than LARGE numbers */
    LARGE = 100000,
    MAX_TURNS = 100000 /* of a loop with random inputs, which may never end one */
};

static uint64_t max_iterations(const verifier *v)
{
    const cli_options *o = v->options;

    return o->has[OPT_MAX_ITERATIONS] || o->num_io > 0 ? o->max_iterations : MAX_TURNS;
}

/* ---- running both sides ---------------------------------------------------------------------- */

/* as_asked: with the kernels and the compiler of the options; else reference kernels. */
static pdm_status make_side(verifier *v, const pdm_model *model, bool as_asked, bool as_before,
                            side *out)
{
    const cli_options *o = v->options;
    const bool legacy = pdm_model_get_kind(model) == PDM_MODEL_LEGACY;
    const pdm_plan_options plan = {.size = sizeof plan,
                                   .fetch = legacy ? o->fetch : NULL,
                                   .num_fetch = legacy ? o->num_fetch : 0,
                                   .any_shape = o->has[OPT_ANY_SHAPE],
                                   .kernels = as_asked ? o->kernels : PDM_KERNELS_REFERENCE,
                                   .compiler = as_asked ? o->compiler : PDM_COMPILER_OFF,
                                   .as_before = as_before};
    const pdm_session_options session = {.size = sizeof session,
                                         .threads = (unsigned)o->threads,
                                         .seed = o->seed,
                                         .max_iterations = max_iterations(v),
                                         .cancelled = tick,
                                         .user = v};
    if (!out->plan)
        TRY(pdm_plan_create(model, &plan, &out->plan));
    return out->session ? PDM_OK : pdm_session_create(out->plan, &session, &out->session);
}

static void destroy_side(side *s)
{
    pdm_session_destroy(s->session);
    pdm_plan_destroy(s->plan);
}

static pdm_status run_side(const side *s, const pdm_bundle *inputs, pdm_bundle *outputs)
{
    TRY(pdm_session_set_inputs(s->session, inputs));
    TRY(pdm_session_run(s->session));
    return pdm_session_record(s->session, false, outputs);
}

static const pdm_model *tested_model(const verifier *v)
{
    return v->other ? v->other : v->model;
}

/* Whether what is judged may differ from reference kernels. */
static bool is_fast(const cli_options *o)
{
    return o->kernels == PDM_KERNELS_FAST || o->compiler != PDM_COMPILER_OFF;
}

static pdm_status prepare(verifier *v)
{
    const cli_options *o = v->options;
    const pdm_load_options load = {.size = sizeof load, .params_path = o->arg[OPT_PARAMS]};
    const bool fast = is_fast(o);

    TRY(pdm_model_load(v->context, o->model, &load, &v->model));
    if (o->other)
        TRY(pdm_model_load(v->context, o->other, NULL, &v->other));
    TRY(make_side(v, tested_model(v), true, false, &v->tested));
    if (pdm_model_get_kind(v->model) == PDM_MODEL_PIR && (v->other || fast))
        TRY(make_side(v, v->model, false, false, &v->reference));
    return PDM_OK;
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
                                           .max_iterations = max_iterations(v),
                                           .cancelled = tick,
                                           .user = v};
    if (pdm_model_get_kind(v->model) == PDM_MODEL_LEGACY) {
        v->result.against = "the legacy program as it is";
        if (!v->legacy)
            TRY(pdm_legacy_runner_create(v->model, &legacy, &v->legacy));
        return pdm_legacy_runner_run(v->legacy, inputs, expected);
    }
    if (!v->reference.session) {
        cli_usage(v->report, "give recorded outputs with --io, a second model, --kernels fast or --compile llvm",
                  "there is nothing to compare a PIR model with");
        return PDM_INVALID_ARG;
    }
    v->result.against = v->other ? "the first model" : "what the reference kernels compute";
    return run_side(&v->reference, inputs, expected);
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

typedef struct plan_output {
    const pdm_plan *plan;
    size_t position;
} plan_output;

static bool uses_op(void *user, const char *op)
{
    const plan_output *a = user;
    bool uses = false;

    return pdm_plan_output_uses(a->plan, a->position, op, &uses) == PDM_OK && uses;
}

static pdm_status compare_one(verifier *v, pdm_tensor_view *expected, const pdm_tensor_view *actual,
                              verify_row *row)
{
    /* numpy has no bfloat16: files hold its bits. */
    if (!strcmp(actual->dtype, "bfloat16") && !strcmp(expected->dtype, "uint16"))
        expected->dtype = "bfloat16";
    plan_output output = {v->tested.plan, row->position};
    cli_tolerances_of(&v->tolerances, strchr(row->name, ':') + 1, actual->dtype, uses_op, &output,
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
    row->position = position;
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
                                        .max_iterations = max_iterations(v),
                                        .rtol = o->rtol,
                                        .atol = o->atol,
                                        .any_shape = o->has[OPT_ANY_SHAPE],
                                        .kernels = o->kernels,
                                        .cancelled = tick,
                                        .user = v};

    /* Recorded outputs alone tell no values in between. */
    if (!v->other && pdm_model_get_kind(v->model) == PDM_MODEL_PIR &&
        o->kernels != PDM_KERNELS_FAST)
        return PDM_OK;
    return pdm_bisect(v->model, v->other, &options, inputs, &v->result.bisection);
}

/* ---- why an output differs ------------------------------------------------------------------- */

/* Whether another run gave an output that agrees with the expected one where the tested one does
 * not. Rows of the other run are only borrowed: they are taken off again. */
static pdm_status agrees_in(verifier *v, const verify_row *row, const pdm_bundle *expected,
                            const pdm_bundle *actual, bool *out_agrees)
{
    verify_result *r = &v->result;
    const size_t count = r->num_rows, position = row->position; /* row may move */

    *out_agrees = false;
    const pdm_status status = add_row(v, position, expected, actual);
    while (r->num_rows > count) {
        *out_agrees = status == PDM_OK && verify_agrees(&r->rows[r->num_rows - 1]);
        verify_row_deinit(&r->rows[--r->num_rows]);
    }
    return status;
}

/* The rows of a session that tell of an output, copied; none is no error. */
static pdm_status take_causes(const pdm_session *session, verify_row *row)
{
    pdm_parting *all = NULL;
    size_t count = 0;

    TRY(pdm_session_partings(session, &all, &count));
    row->causes = calloc(count + 1, sizeof *row->causes);
    for (size_t i = 0; row->causes && i < count; i++) {
        if (all[i].output == row->position)
            row->causes[row->num_causes++] = all[i];
    }
    pdm_free(all);
    return row->causes ? PDM_OK : PDM_NOMEM;
}

/* A run that is only to explain something: when it fails, it explains nothing. */
static pdm_status try_side(verifier *v, bool as_before, side *s, const pdm_bundle *inputs,
                           pdm_bundle *outputs, bool *out_ran)
{
    const bool muted = v->report->muted;

    v->report->muted = true;
    pdm_status status = make_side(v, tested_model(v), false, as_before, s);
    if (status == PDM_OK)
        status = run_side(s, inputs, outputs);
    v->report->muted = muted;
    *out_ran = status == PDM_OK;
    return status == PDM_NOMEM || status == PDM_CANCELLED ? status : PDM_OK;
}

/* With fast or compiled kernels: whether the reference kernels agree where those do not. */
static pdm_status blame_kernels(verifier *v, size_t first, const pdm_bundle *inputs,
                                const pdm_bundle *expected, pdm_bundle *outputs)
{
    bool ran, agrees;

    TRY(try_side(v, false, &v->plain, inputs, outputs, &ran));
    for (size_t i = first; ran && i < v->result.num_rows; i++) {
        if (verify_agrees(&v->result.rows[i]))
            continue;
        TRY(agrees_in(v, &v->result.rows[i], expected, outputs, &agrees));
        v->result.rows[i].kernels = agrees;
    }
    return PDM_OK;
}

/*
 * A difference is explained when the same program, run as 2.6 would run it, agrees, and ops on the
 * way to the output showed known differences. What the fast kernels did is not explained by it.
 */
static pdm_status ask_before(verifier *v, size_t first, const pdm_bundle *inputs,
                             const pdm_bundle *expected, pdm_bundle *outputs)
{
    bool ran, agrees;

    TRY(try_side(v, true, &v->before, inputs, outputs, &ran));
    for (size_t i = first; ran && i < v->result.num_rows; i++) {
        if (verify_agrees(&v->result.rows[i]) || v->result.rows[i].missing)
            continue;
        TRY(take_causes(v->before.session, &v->result.rows[i]));
        TRY(agrees_in(v, &v->result.rows[i], expected, outputs, &agrees));
        verify_row *row = &v->result.rows[i];
        row->explained = agrees && row->num_causes > 0 && !row->kernels;
    }
    return PDM_OK;
}

/* Rows from first on are of this set. recorded: the expected outputs come from a file. */
static pdm_status explain(verifier *v, size_t first, bool recorded, const pdm_bundle *inputs,
                          const pdm_bundle *expected)
{
    const bool legacy = pdm_model_get_kind(v->model) == PDM_MODEL_LEGACY;
    pdm_bundle *plain = NULL, *before = NULL;
    pdm_status status = PDM_OK;
    size_t different = 0;

    for (size_t i = first; i < v->result.num_rows; i++) {
        verify_row *row = &v->result.rows[i];
        different += !verify_agrees(row);
        if (recorded && !verify_agrees(row))
            row->random_op = pdm_plan_output_random_op(v->tested.plan, row->position);
    }
    if (different == 0)
        return PDM_OK;
    if (is_fast(v->options)) {
        status = pdm_bundle_create(v->context, &plain);
        if (status == PDM_OK)
            status = blame_kernels(v, first, inputs, expected, plain);
    }
    if (status == PDM_OK && (recorded || legacy)) {
        status = pdm_bundle_create(v->context, &before);
        if (status == PDM_OK)
            status = ask_before(v, first, inputs, expected, before);
    }
    pdm_bundle_destroy(plain);
    pdm_bundle_destroy(before);
    return status;
}

/* ---- one set of inputs ----------------------------------------------------------------------- */

static pdm_status run_and_compare(verifier *v, const pdm_bundle *given, pdm_bundle *actual,
                                  pdm_bundle *expected)
{
    const bool recorded = count_outputs(given) > 0;
    const size_t first = v->result.num_rows;

    TRY(pdm_session_set_inputs(v->tested.session, given));
    TRY(pdm_session_run(v->tested.session));
    TRY(pdm_session_record(v->tested.session, true, actual));
    if (recorded)
        v->result.against = "the recorded outputs";
    else if (count_outputs(expected) == 0)
        TRY(run_reference(v, given, expected));
    TRY(compare_all(v, recorded ? given : expected, actual));
    return explain(v, first, recorded, given, recorded ? given : expected);
}

/* Sets that are drawn do not follow each other: all begin with the parameters of the file. */
static void reset(verifier *v)
{
    side *sides[] = {&v->tested, &v->reference, &v->before, &v->plain};

    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        pdm_session_reset(sides[i]->session);
    pdm_legacy_runner_reset(v->legacy);
}

/* Draw the inputs and run the reference. *out_runs: it can run with them; random numbers may be no
 * sound indices, or no shapes that fit each other. */
static pdm_status draw(verifier *v, size_t number, pdm_bundle *inputs, pdm_bundle *expected,
                       bool *out_runs)
{
    pdm_tensor_info info;
    pdm_tensor_view view;
    char key[1024];

    reset(v);
    TRY(cli_random_inputs(v->options, v->report, v->tested.plan, v->tested.session, NULL, number,
                          &draws[number]));
    v->numbers = 0;
    for (size_t i = 0; i < pdm_plan_num_inputs(v->tested.plan); i++) {
        TRY(pdm_plan_input(v->tested.plan, i, &info));
        TRY(pdm_session_input(v->tested.session, i, &view));
        if ((size_t)snprintf(key, sizeof key, "in:%s", info.name) >= sizeof key)
            return PDM_INVALID_ARG;
        TRY(pdm_bundle_add(inputs, key, &view));
        v->numbers += view.bytes / sizeof(float);
    }
    v->report->muted = !v->no_draw_runs;
    const pdm_status status = run_reference(v, inputs, expected);
    v->report->muted = false;
    *out_runs = status == PDM_OK;
    return v->no_draw_runs || (status != PDM_INVALID_MODEL && status != PDM_INVALID_ARG) ? status
                                                                                         : PDM_OK;
}

static pdm_status begin_set(verifier *v, const char *io, size_t number)
{
    verify_result *r = &v->result;
    const size_t of = v->options->num_io > 0 ? v->options->num_io : ENOUGH;
    verify_set *sets = realloc(r->sets, (r->num_sets + 1) * sizeof *sets);

    if (!sets)
        return PDM_NOMEM;
    r->sets = sets;
    sets[r->num_sets++] = (verify_set){.io = io, .draw = io ? 0 : number};
    snprintf(v->doing, sizeof v->doing, "verifying, input set %zu of %zu", number + 1, of);
    cli_progress_begin(&v->progress, v->report, v->doing);
    return PDM_OK;
}

/* io NULL: random inputs. */
static pdm_status verify_one(verifier *v, const char *io, size_t number)
{
    pdm_bundle *given = NULL, *actual = NULL, *expected = NULL;
    const double begin = now();
    bool runs = true;
    pdm_status status = begin_set(v, io, number);

    if (status == PDM_OK)
        status =
            io ? pdm_bundle_read(v->context, io, &given) : pdm_bundle_create(v->context, &given);
    if (status == PDM_OK)
        status = pdm_bundle_create(v->context, &actual);
    if (status == PDM_OK)
        status = pdm_bundle_create(v->context, &expected);
    if (status == PDM_OK && !io)
        status = draw(v, number, given, expected, &runs);
    if (status == PDM_OK && runs)
        status = run_and_compare(v, given, actual, expected);
    else if (status == PDM_OK)
        v->result.num_sets--;
    if (status == PDM_OK && v->options->has[OPT_BISECT] && !v->result.bisection &&
        verify_count_different(&v->result) > 0)
        status = bisect(v, given);
    cli_progress_end(&v->progress);
    pdm_bundle_destroy(expected);
    pdm_bundle_destroy(actual);
    pdm_bundle_destroy(given);
    if (v->result.num_sets > 0 && runs)
        v->result.sets[v->result.num_sets - 1].seconds = now() - begin;
    return status;
}

static pdm_status verify_draws(verifier *v)
{
    const verify_result *r = &v->result;

    for (size_t i = 0; i < NUM_DRAWS; i++) {
        const size_t enough = pdm_plan_num_inputs(v->tested.plan) == 0 ? 1
                              : v->numbers > LARGE                     ? ENOUGH_OF_LARGE
                                                                       : ENOUGH;
        if (r->num_sets >= enough)
            break;
        TRY(verify_one(v, NULL, i));
    }
    v->no_draw_runs = r->num_sets == 0;
    return v->no_draw_runs ? verify_one(v, NULL, 0) : PDM_OK;
}

static pdm_status verify(verifier *v)
{
    const cli_options *o = v->options;
    pdm_status status = cli_tolerances_read(&v->tolerances, o, v->report);

    if (status == PDM_OK && o->arg[OPT_HTML])
        status = pdm_text_check(v->context, o->arg[OPT_HTML], o->has[OPT_FORCE]);
    if (status == PDM_OK)
        status = prepare(v);
    for (size_t i = 0; status == PDM_OK && i < o->num_io; i++)
        status = verify_one(v, o->io[i], i);
    if (status == PDM_OK && o->num_io == 0)
        status = verify_draws(v);
    if (status == PDM_OK)
        cli_tolerances_unused(&v->tolerances, v->report);
    return status;
}

/* ---- telling --------------------------------------------------------------------------------- */

static pdm_status write_html(const verifier *v, const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return PDM_NOMEM;
    verify_print_html(out, &v->result);
    const bool good = !ferror(out);
    pdm_status status = fclose(out) == 0 && good ? PDM_OK : PDM_NOMEM;
    if (status == PDM_OK)
        status = pdm_text_write(v->context, path, text, v->options->has[OPT_FORCE]);
    free(text);
    return status;
}

static void print_result(const verifier *v, pdm_status status)
{
    const verify_result *r = &v->result;

    if (v->options->json) {
        cli_json_begin(r->exit_code, "verify");
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

    for (size_t i = 0; i < r->num_rows; i++)
        verify_row_deinit(&r->rows[i]);
    free(r->rows);
    free(r->sets);
    pdm_bisection_destroy(r->bisection);
    cli_tolerances_deinit(&v->tolerances);
    pdm_legacy_runner_destroy(v->legacy);
    destroy_side(&v->tested);
    destroy_side(&v->reference);
    destroy_side(&v->before);
    destroy_side(&v->plain);
    pdm_model_destroy(v->other);
    pdm_model_destroy(v->model);
}

int cli_verify(pdm_context *context, const cli_options *options, cli_report *report)
{
    verifier v = {.context = context,
                  .options = options,
                  .report = report,
                  .result.options = options,
                  .result.allow_known = options->has[OPT_ALLOW_KNOWN]};
    const char *html = options->arg[OPT_HTML];
    cli_compute_begin(report);
    pdm_status status = verify(&v);

    cli_compute_end();
    v.result.exit_code = cli_failed(report, status);
    if (status == PDM_OK && verify_count_wrong(&v.result) > 0)
        v.result.exit_code = CLI_EXIT_DIFFERENT;
    if (status != PDM_OK)
        v.result.failure = report->first_error;
    if (html && status != PDM_EXISTS) {
        const pdm_status written = write_html(&v, html);
        if (written != PDM_OK)
            v.result.exit_code = cli_failed(report, written);
    }
    print_result(&v, status);
    deinit(&v);
    return v.result.exit_code;
}
