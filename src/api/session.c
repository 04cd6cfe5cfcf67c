/* Sessions: inputs, outputs, runs. */
#include "api/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/pool.h"

/* Where the caller wants an output. */
typedef struct target {
    void *data;
    size_t bytes;
} target;

struct pdm_session {
    const pdm_plan *plan;
    pdm_session_options options;
    pdm_exec_session *exec;
    pdm_exec_trace *trace;
    pdm_pool *pool;
    pdm_tensor *inputs;
    target *targets;
    pdm_api_lod *in_lods, *out_lods;
    pdm_api_partings partings; /* of a plan as_before, in the order of the runs */
    pdm_map parted;            /* op → index in them + 1 */
    bool nomem;                /* one was lost */
};

static pdm_diag_sink sink_of(const pdm_session *session)
{
    pdm_diag_sink sink = pdm_api_sink(session->plan->model->context);

    if (session->options.on_diagnostic) {
        sink.fn = session->options.on_diagnostic;
        sink.user = session->options.user;
    }
    return sink;
}

#define REFUSE(session, name, hint, ...)                                                           \
    pdm_diag((pdm_diag_sink[]){sink_of(session)}, PDM_D_EXEC_INPUT,                                \
             &(pdm_loc){NULL, -1, -1, -1, -1, -1, NULL, (name)}, (hint), __VA_ARGS__)

static void take_parting(void *user, const pdm_ir_op *op, uint32_t set)
{
    pdm_session *s = user;
    pdm_map_entry *entry = pdm_map_put(&s->parted, op);

    if (entry && entry->value.num > 0) {
        s->partings.v[entry->value.num - 1].set |= set;
        return;
    }
    if (entry && PDM_VEC_PUSH(&s->partings, ((pdm_api_parting){op, set})))
        entry->value.num = s->partings.n;
    else
        s->nomem = true;
}

pdm_status pdm_session_create(const pdm_plan *plan, const pdm_session_options *options,
                              pdm_session **out_session)
{
    return pdm_api_session_create(plan, options, NULL, NULL, out_session);
}

pdm_status pdm_api_session_create(const pdm_plan *plan, const pdm_session_options *options,
                                  pdm_exec_observe_fn observe, pdm_exec_enter_fn enter,
                                  pdm_session **out_session)
{
    pdm_status status = PDM_NOMEM;

    if (!plan || !out_session)
        return PDM_INVALID_ARG;
    pdm_session *s = calloc(1, sizeof *s);
    if (!s)
        return PDM_NOMEM;
    PDM_API_OPTIONS(s->options, options);
    s->plan = plan;
    const size_t ins = pdm_plan_num_inputs(plan), outs = pdm_plan_num_outputs(plan);
    s->inputs = calloc(ins + 1, sizeof *s->inputs);
    s->targets = calloc(outs + 1, sizeof *s->targets);
    s->in_lods = calloc(ins + 1, sizeof *s->in_lods);
    s->out_lods = calloc(outs + 1, sizeof *s->out_lods);
    if (!s->inputs || !s->targets || !s->in_lods || !s->out_lods)
        goto done;
    if (s->options.threads != 1)
        PDM_TRY_GOTO(pdm_pool_create(s->options.threads, &s->pool));
    if (s->options.trace)
        PDM_TRY_GOTO(pdm_exec_trace_create(&s->trace));
    const bool before = plan->as_before;
    const pdm_exec_options exec = {.pool = s->pool,
                                   .before = before ? PDM_DIFF_ALL : 0,
                                   .parted = before ? take_parting : NULL,
                                   .parted_user = s,
                                   .seed = s->options.seed,
                                   .max_iterations = s->options.max_iterations,
                                   .cancelled = s->options.cancelled,
                                   .print = s->options.print,
                                   .observe = observe,
                                   .enter = enter,
                                   .user = s->options.user,
                                   .trace = s->trace};
    PDM_TRY_GOTO(pdm_exec_session_create(plan->exec, &exec, &s->exec));
    *out_session = s;
    return PDM_OK;
done:
    pdm_session_destroy(s);
    return status;
}

void pdm_session_reset(pdm_session *s)
{
    if (s)
        pdm_exec_session_reset(s->exec);
}

void pdm_session_destroy(pdm_session *s)
{
    if (!s)
        return;
    pdm_exec_session_destroy(s->exec);
    pdm_exec_trace_destroy(s->trace);
    pdm_pool_destroy(s->pool);
    for (size_t i = 0; s->inputs && i < pdm_plan_num_inputs(s->plan); i++)
        pdm_tensor_deinit(&s->inputs[i]);
    PDM_VEC_FREE(&s->partings);
    pdm_map_deinit(&s->parted);
    free(s->inputs);
    free(s->targets);
    free(s->in_lods);
    free(s->out_lods);
    free(s);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool find_input(const pdm_session *s, const char *name, size_t *out_index)
{
    for (size_t i = 0; i < pdm_plan_num_inputs(s->plan); i++) {
        if (!strcmp(pdm_exec_input_name(s->plan->exec, i), name)) {
            *out_index = i;
            return true;
        }
    }
    return false;
}

static pdm_status no_such_input(const pdm_session *s, const char *name)
{
    return REFUSE(s, name, "pdmigrate show MODEL lists the inputs", "the model has no input '%s'",
                  name);
}

static void shape_text(char *out, size_t size, pdm_dtype dtype, const int64_t *dims, int64_t rank)
{
    size_t n = (size_t)snprintf(out, size, "%s[", pdm_dtype_name(dtype));

    for (int64_t i = 0; i < rank && n < size; i++) {
        n += (size_t)snprintf(out + n, size - n, "%s", i ? ", " : "");
        if (n < size && dims[i] < 0)
            n += (size_t)snprintf(out + n, size - n, "?");
        else if (n < size)
            n += (size_t)snprintf(out + n, size - n, "%" PRId64, dims[i]);
    }
    if (n < size)
        snprintf(out + n, size - n, "]");
}

static bool same_shape(pdm_ir_type type, const pdm_tensor *t)
{
    if (type->rank != (uint32_t)t->rank)
        return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] >= 0 && type->dims[i] != t->dims[i])
            return false;
    }
    return true;
}

/* The variable of an input in the legacy program, NULL when there is none. */
static const pdm_lg_var *legacy_input(const pdm_session *s, const char *name)
{
    const pdm_lg_program *program = s->plan->model->legacy;
    const char *interned = program ? pdm_intern_find(&program->strings, name, strlen(name)) : NULL;

    return interned ? pdm_lg_block_var(&program->blocks[0], interned) : NULL;
}

/* Whether the shape is the declared one but for dimensions of 1: old programs declare lengths as
 * [-1, 1] and want them as [-1], and the framework hands on what it gets. */
static bool same_but_for_ones(const int64_t *want, size_t num_want, const int64_t *have,
                              size_t num_have)
{
    if (num_have > 0 && have[0] == 1 && same_but_for_ones(want, num_want, have + 1, num_have - 1))
        return true;
    if (num_want == 0)
        return num_have == 0;
    if ((want[0] == 1 || want[0] < 0) && same_but_for_ones(want + 1, num_want - 1, have, num_have))
        return true;
    return num_have > 0 && (want[0] < 0 || want[0] == have[0]) &&
           same_but_for_ones(want + 1, num_want - 1, have + 1, num_have - 1);
}

static bool is_checked(const pdm_session *s, const char *name)
{
    const pdm_lg_var *var = legacy_input(s, name);

    return var && var->need_check_feed;
}

static bool fits(const pdm_session *s, const char *name, pdm_ir_type type, const pdm_tensor *t)
{
    if (type->dtype != t->dtype)
        return false;
    return s->plan->any_shape || same_shape(type, t) ||
           (!is_checked(s, name) &&
            same_but_for_ones(type->dims, type->rank, t->dims, (size_t)t->rank));
}

/* Take the tensor for input index; its LoD too. */
static pdm_status take_input(pdm_session *s, size_t index, const pdm_tensor *tensor)
{
    const char *name = pdm_exec_input_name(s->plan->exec, index);
    pdm_ir_type type = pdm_exec_input_type(s->plan->exec, index);
    pdm_tensor t = {0};
    char have[160], want[160];

    pdm_tensor_ref(&t, tensor);
    if (type && type->kind == PDM_IR_DENSE_TENSOR) {
        /* numpy has no bfloat16. */
        if (type->dtype == PDM_BF16 && t.dtype == PDM_U16)
            t.dtype = PDM_BF16;
        if (!fits(s, name, type, &t)) {
            shape_text(have, sizeof have, t.dtype, t.dims, t.rank);
            shape_text(want, sizeof want, type->dtype, type->dims, type->rank);
            const bool same_type = t.dtype == type->dtype;
            pdm_tensor_deinit(&t);
            return REFUSE(s, name, same_type ? "--any-shape takes other shapes" : NULL,
                          "input '%s' is %s, the model wants %s", name, have, want);
        }
    }
    pdm_exec_set_input(s->exec, index, &t);
    pdm_tensor_deinit(&s->inputs[index]);
    s->inputs[index] = t;
    return PDM_OK;
}

pdm_status pdm_session_set_input(pdm_session *s, const char *name, const pdm_tensor_view *view)
{
    pdm_tensor tensor = {0};
    size_t index;

    if (!s || !name || !view)
        return PDM_INVALID_ARG;
    if (!find_input(s, name, &index))
        return no_such_input(s, name);
    const pdm_status made = pdm_api_tensor(view, &tensor);
    if (made == PDM_INVALID_ARG)
        return REFUSE(s, name, NULL,
                      "input '%s': element type, shape, size and LoD do not fit together", name);
    PDM_TRY(made);
    const pdm_status status = take_input(s, index, &tensor);
    pdm_tensor_deinit(&tensor);
    return status;
}

static pdm_status input_from(pdm_session *s, const pdm_bundle *bundle, size_t index)
{
    const char *name = pdm_exec_input_name(s->plan->exec, index);
    const pdm_tensor *entry = pdm_api_bundle_input(bundle, name);
    pdm_tensor tensor = {0};
    pdm_tensor_view view;
    pdm_api_lod lod;

    if (!entry)
        return REFUSE(s, name, "its key is 'in:NAME' or NAME", "there is no data for input '%s'",
                      name);
    pdm_tensor_ref(&tensor, entry);
    pdm_status status = pdm_npz_lod(&bundle->npz, false, name, &tensor);
    if (status == PDM_OK) {
        pdm_tensor checked = {0};
        pdm_api_view(&tensor, &lod, &view);
        status = pdm_api_tensor(&view, &checked);
        pdm_tensor_deinit(&checked);
    }
    if (status == PDM_INVALID_ARG)
        status = REFUSE(s, name, NULL, "the LoD of input '%s' does not fit its rows", name);
    if (status == PDM_OK)
        status = take_input(s, index, &tensor);
    pdm_tensor_deinit(&tensor);
    return status;
}

pdm_status pdm_session_set_inputs(pdm_session *s, const pdm_bundle *bundle)
{
    pdm_status worst = PDM_OK;

    if (!s || !bundle)
        return PDM_INVALID_ARG;
    for (size_t i = 0; i < pdm_plan_num_inputs(s->plan); i++) {
        const pdm_status status = input_from(s, bundle, i);
        if (status == PDM_NOMEM)
            return status;
        if (status != PDM_OK)
            worst = status;
    }
    for (size_t i = 0; i < bundle->npz.count; i++) {
        const pdm_npz_key key = pdm_npz_key_parse(bundle->npz.items[i].key);
        size_t index;
        if (key.kind == PDM_NPZ_IN && !find_input(s, key.name, &index))
            worst = no_such_input(s, key.name);
    }
    return worst;
}

static int64_t draw_integer(pdm_rng *rng, pdm_dtype dtype, const pdm_random_options *from)
{
    const bool negative =
        dtype != PDM_U8 && dtype != PDM_U16 && dtype != PDM_U32 && dtype != PDM_U64;
    const int64_t least = from->least < 0 && !negative ? 0 : from->least;
    const uint64_t span = (uint64_t)from->most - (uint64_t)least;

    if (dtype == PDM_BOOL || from->most <= least)
        return (int64_t)(pdm_rng_next(rng) >> 63);
    if (span == 1) /* the upper bits are the better ones */
        return least + (int64_t)(pdm_rng_next(rng) >> 63);
    return (int64_t)((uint64_t)least + (span == UINT64_MAX
                                            ? pdm_rng_next(rng)
                                            : (pdm_rng_next(rng) >> 11) % (span + 1)));
}

static void fill_random(pdm_tensor *t, uint64_t seed, const pdm_random_options *from)
{
    const bool fraction = pdm_dtype_is_float(t->dtype) || pdm_dtype_is_complex(t->dtype);
    pdm_rng rng;

    pdm_rng_seed(&rng, seed);
    for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++) {
        if (fraction)
            pdm_set_double(t, i, from->low + (from->high - from->low) * pdm_rng_uniform(&rng));
        else
            pdm_set_int(t, i, draw_integer(&rng, t->dtype, from));
    }
}

/* Up to three sequences a level, of unlike length; each level divides what the next one has. */
static pdm_status draw_lod(pdm_tensor *t, int32_t num_levels)
{
    int64_t offsets[PDM_API_MAX_LOD][4];
    const int64_t *levels[PDM_API_MAX_LOD];
    size_t counts[PDM_API_MAX_LOD];
    int64_t length = t->rank > 0 ? t->dims[0] : 0;

    if (num_levels < 1 || num_levels > PDM_API_MAX_LOD || length < 1)
        return PDM_OK;
    for (int32_t level = num_levels; level-- > 0;) {
        const int64_t n = length < 3 ? length : 3;
        for (int64_t i = 0; i <= n; i++)
            offsets[level][i] = length < 6 ? i * length / n : i * (i + 1) / 2 * (length / 6);
        offsets[level][n] = length;
        levels[level] = offsets[level];
        counts[level] = (size_t)n + 1;
        length = n;
    }
    return pdm_tensor_set_lod(t, (size_t)num_levels, levels, counts);
}

pdm_status pdm_session_set_random(pdm_session *s, const char *name, const int64_t *dims,
                                  size_t rank, uint64_t seed, const pdm_random_options *options)
{
    pdm_random_options given = {0};
    int64_t shape[PDM_MAX_RANK] = {0};
    pdm_tensor tensor = {0};
    size_t index;

    PDM_API_OPTIONS(given, options);
    if (given.low == 0 && given.high == 0)
        given.low = -1, given.high = 1;
    if (given.least == 0 && given.most == 0)
        given.most = 1;
    if (!s || !name || rank > PDM_MAX_RANK || !(given.low < given.high) ||
        given.least > given.most || given.open_dim < 0)
        return PDM_INVALID_ARG;
    if (!find_input(s, name, &index))
        return no_such_input(s, name);
    pdm_ir_type type = pdm_exec_input_type(s->plan->exec, index);
    if (!type || type->kind != PDM_IR_DENSE_TENSOR || pdm_dtype_size(type->dtype) == 0)
        return REFUSE(s, name, NULL, "input '%s' has no element type that numbers can be drawn for",
                      name);
    const pdm_lg_var *var = legacy_input(s, name);
    const int32_t num_levels = var ? var->lod_level : 0;
    if (!dims)
        rank = type->rank;
    for (size_t i = 0; i < rank && i < PDM_MAX_RANK; i++) {
        const int64_t most = i == 0 ? 4 : INT64_MAX; /* a batch of a few */
        const int64_t wanted = given.open_dim ? given.open_dim : 1;
        const int64_t open = i == 0 && num_levels > 0 ? 6 : wanted < most ? wanted : most;
        shape[i] = dims ? dims[i] : type->dims[i] < 0 ? open : type->dims[i];
    }
    pdm_status status = pdm_tensor_alloc(&tensor, type->dtype, (int)rank, shape);
    if (status == PDM_INVALID_ARG)
        return REFUSE(s, name, NULL, "input '%s' cannot have that shape", name);
    if (status == PDM_OK) {
        fill_random(&tensor, seed, &given);
        status = draw_lod(&tensor, num_levels);
    }
    if (status == PDM_OK)
        status = take_input(s, index, &tensor);
    pdm_tensor_deinit(&tensor);
    return status;
}

/* ---- runs and outputs ------------------------------------------------------------------------ */

pdm_status pdm_session_set_output(pdm_session *s, size_t index, void *data, size_t bytes)
{
    if (!s || index >= pdm_plan_num_outputs(s->plan))
        return PDM_INVALID_ARG;
    s->targets[index] = (target){data, data ? bytes : 0};
    pdm_exec_set_output(s->exec, index, data, bytes);
    return PDM_OK;
}

/* Outputs that were not made where they are wanted (views, constants, inputs) are copied there. */
static pdm_status deliver(const pdm_session *s)
{
    for (size_t i = 0; i < pdm_plan_num_outputs(s->plan); i++) {
        const pdm_value *value = pdm_exec_output(s->exec, i);
        const char *name = pdm_exec_output_name(s->plan->exec, i);
        if (!s->targets[i].data)
            continue;
        if (!value || value->kind != PDM_VALUE_TENSOR)
            return REFUSE(s, name, NULL, "output '%s' holds no tensor", name);
        const size_t bytes = pdm_tensor_bytes(&value->tensor);
        if (bytes != s->targets[i].bytes)
            return REFUSE(s, name, NULL, "output '%s' has %zu bytes, there is room for %zu", name,
                          bytes, s->targets[i].bytes);
        if (value->tensor.data != s->targets[i].data)
            memmove(s->targets[i].data, value->tensor.data, bytes);
    }
    return PDM_OK;
}

pdm_status pdm_session_run(pdm_session *s)
{
    if (!s)
        return PDM_INVALID_ARG;
    pdm_diag_sink sink = sink_of(s);
    PDM_TRY(pdm_exec_run(s->exec, &sink));
    return deliver(s);
}

pdm_status pdm_session_output(const pdm_session *s, size_t index, pdm_tensor_view *out_view)
{
    if (!s || index >= pdm_plan_num_outputs(s->plan) || !out_view)
        return PDM_INVALID_ARG;
    const pdm_value *value = pdm_exec_output(s->exec, index);
    if (!value || value->kind != PDM_VALUE_TENSOR || value->tensor.dtype == PDM_UNDEFINED)
        return PDM_INVALID_ARG;
    pdm_api_view(&value->tensor, &s->out_lods[index], out_view);
    return PDM_OK;
}

pdm_status pdm_session_input(const pdm_session *s, size_t index, pdm_tensor_view *out_view)
{
    if (!s || index >= pdm_plan_num_inputs(s->plan) || !out_view ||
        s->inputs[index].dtype == PDM_UNDEFINED)
        return PDM_INVALID_ARG;
    pdm_api_view(&s->inputs[index], &s->in_lods[index], out_view);
    return PDM_OK;
}

static pdm_status record_one(pdm_bundle *bundle, pdm_buf *key, const pdm_tensor *tensor)
{
    pdm_tensor copy = {0};
    pdm_status status = pdm_buf_ok(key) ? pdm_tensor_copy(&copy, tensor) : PDM_NOMEM;

    if (status == PDM_OK)
        status = pdm_api_bundle_add(bundle, key->data, &copy);
    pdm_tensor_deinit(&copy);
    pdm_buf_deinit(key);
    return status;
}

pdm_status pdm_session_record(const pdm_session *s, bool with_inputs, pdm_bundle *bundle)
{
    pdm_buf key;

    if (!s || !bundle)
        return PDM_INVALID_ARG;
    for (size_t i = 0; with_inputs && i < pdm_plan_num_inputs(s->plan); i++) {
        if (s->inputs[i].dtype == PDM_UNDEFINED)
            continue;
        pdm_buf_init(&key);
        pdm_buf_puts(&key, "in:");
        pdm_buf_puts(&key, pdm_exec_input_name(s->plan->exec, i));
        PDM_TRY(record_one(bundle, &key, &s->inputs[i]));
    }
    for (size_t i = 0; i < pdm_plan_num_outputs(s->plan); i++) {
        const pdm_value *value = pdm_exec_output(s->exec, i);
        if (!value || value->kind != PDM_VALUE_TENSOR || value->tensor.dtype == PDM_UNDEFINED)
            continue;
        pdm_buf_init(&key);
        pdm_buf_puts(&key, "out:");
        pdm_buf_i64(&key, (int64_t)i);
        pdm_buf_putc(&key, ':');
        pdm_buf_puts(&key, pdm_exec_output_name(s->plan->exec, i));
        PDM_TRY(record_one(bundle, &key, &value->tensor));
    }
    return PDM_OK;
}

/* ---- where 2.6 and 3.x part ------------------------------------------------------------------ */

pdm_status pdm_session_partings(const pdm_session *s, pdm_parting **out_rows, size_t *out_count)
{
    if (!s || !s->plan->as_before || !out_rows || !out_count)
        return PDM_INVALID_ARG;
    if (s->nomem)
        return PDM_NOMEM;
    return pdm_api_partings_by_output(s->plan, &s->partings, out_rows, out_count);
}

/* ---- what runs took -------------------------------------------------------------------------- */

pdm_status pdm_session_trace(const pdm_session *s, char **out_text)
{
    pdm_buf buf;

    if (!s || !s->trace || !out_text)
        return PDM_INVALID_ARG;
    pdm_buf_init(&buf);
    pdm_exec_trace_print(s->trace, &buf);
    char *text = pdm_buf_take(&buf);
    if (!text)
        return PDM_NOMEM;
    *out_text = text;
    return PDM_OK;
}

pdm_status pdm_session_profile(const pdm_session *s, pdm_profile_row **out_rows, size_t *out_count)
{
    pdm_exec_profile_row *rows;
    size_t count;

    if (!s || !s->trace || !out_rows || !out_count)
        return PDM_INVALID_ARG;
    PDM_TRY(pdm_exec_trace_profile(s->trace, &rows, &count));
    pdm_profile_row *made = calloc(count + 1, sizeof *made);
    for (size_t i = 0; made && i < count; i++)
        made[i] = (pdm_profile_row){rows[i].op, rows[i].calls, rows[i].total_ns, rows[i].self_ns,
                                    rows[i].bytes};
    free(rows);
    if (!made)
        return PDM_NOMEM;
    *out_rows = made;
    *out_count = count;
    return PDM_OK;
}

void pdm_session_memory(const pdm_session *s, pdm_memory_info *out_info)
{
    const pdm_exec_memory_stats stats = pdm_exec_get_memory(s->exec);

    *out_info = (pdm_memory_info){stats.planned, stats.peak, stats.num_new};
}
