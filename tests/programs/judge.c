#include "judge.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/constants.h"
#include "exec/pool.h"
#include "ir/pass.h"
#include "ir/rewrite.h"

/* ---- ways ------------------------------------------------------------------------------------ */

bool judge_way_parse(const char *name, size_t len, judge_way *out)
{
    const char *const end = name + len;

    *out = (judge_way){.compile = NULL};
    if (len >= sizeof out->name)
        return false;
    memcpy(out->name, name, len);
    while (name < end) {
        size_t n = 0;
        while (name + n < end && name[n] != '-')
            n++;
#define IS(text) (n == sizeof text - 1 && !memcmp(name, text, n))
        if (IS("O2"))
            out->optimized = true;
        else if (IS("passes"))
            out->passes = true;
        else if (IS("ref"))
            out->compile = "ref";
        else if (IS("llvm"))
            out->compile = "llvm";
        else if (IS("cuda"))
            out->compile = "cuda-emulated";
        else if (IS("faulty"))
            out->compile = "faulty";
        else if (IS("single"))
            out->single = true;
        else if (IS("fast"))
            out->fast = true;
        else
            return false;
#undef IS
        name += n + (name + n < end);
    }
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct heard {
    char text[400];
} heard;

static void hear(void *user, const pdm_diagnostic *d)
{
    heard *h = user;

    if (d->severity == PDM_ERROR || !strcmp(d->id, "compile-note"))
        snprintf(h->text, sizeof h->text, "%s%s%s", d->op_type ? d->op_type : "", d->op_type ? ": " : "", d->message);
}

typedef struct machine {
    pdm_ir_module *module; /* its own; NULL: that of the program */
    pdm_params params;
    pdm_ir_constants constants;
    pdm_exec_plan *plan;
    heard heard;
    pdm_diag_sink sink;
    judge_hits hits;
} machine;

static void close_machine(machine *m)
{
    pdm_exec_plan_destroy(m->plan);
    if (m->module) {
        pdm_ir_constants_deinit(&m->constants);
        pdm_ir_module_destroy(m->module);
    }
    pdm_params_deinit(&m->params);
}

static uint64_t mix(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* -O2, or passes in any order: those that leave what is written alone meet it then. */
static void choose_passes(const judge_way *way, uint64_t seed, char list[512])
{
    size_t count = 0;

    strcpy(list, pdm_ir_pass_list(2));
    if (!way->passes)
        return;
    while (pdm_ir_pass_at(count))
        count++;
    list[0] = 0;
    for (uint64_t i = 1 + mix(&seed) % 10; i > 0; i--) {
        strcat(list, pdm_ir_pass_at(mix(&seed) % count)->name);
        strcat(list, i > 1 ? "," : "");
    }
}

static void add_hit(judge_hits *to, const pdm_ir_pass *pass, const char *name, uint64_t times)
{
    size_t i = 0;

    while (i < to->count && (to->of[i].pass != pass || strncmp(to->of[i].name, name, sizeof to->of[i].name - 1) != 0))
        i++;
    if (i == JUDGE_MAX_HITS)
        return;
    if (i == to->count) {
        to->of[i].pass = pass;
        snprintf(to->of[i].name, sizeof to->of[i].name, "%s", name);
        to->of[i].times = 0;
        to->count++;
    }
    to->of[i].times += times;
}

static pdm_status count_hits(void *user, const pdm_ir_pass_stats *stats, const pdm_ir_module *module)
{
    (void)module;
    if (stats->hits.n == 0 && stats->ops_after < stats->ops_before)
        add_hit(user, stats->pass, "fewer ops", stats->ops_before - stats->ops_after);
    for (size_t i = 0; i < stats->hits.n; i++)
        add_hit(user, stats->pass, stats->hits.v[i].name, stats->hits.v[i].count);
    return PDM_OK;
}

static bool optimize(const program *p, const judge_way *way, uint64_t seed, machine *m)
{
    pdm_exec_constants source;
    char list[512];

    if (pdm_ir_module_clone(p->module, &m->module) != PDM_OK)
        return false;
    pdm_ir_constants_init(&m->constants);
    choose_passes(way, seed, list);
    pdm_exec_constants_init(&source, &m->params, &m->sink);
    const pdm_ir_pass_options options = {.source = &source.source, .verify = true, .after = count_hits, .user = &m->hits};
    const pdm_status status = pdm_ir_pass_run_list(m->module, list, &options, &m->constants, &m->sink);
    pdm_exec_constants_deinit(&source);
    for (size_t i = 0; status == PDM_OK && i < m->constants.made.n; i++) {
        const pdm_ir_made_constant *made = &m->constants.made.v[i];
        if (pdm_param_make(&m->params.arena, made->name, &made->tensor, &m->params.items[m->params.count++]) != PDM_OK)
            return false;
    }
    if (m->heard.text[0]) {
        char text[400];
        memcpy(text, m->heard.text, sizeof text);
        snprintf(m->heard.text, sizeof m->heard.text, "passes %.90s: %.280s", list, text);
    }
    return status == PDM_OK && !m->heard.text[0];
}

/* way NULL: the reference, of which an observer sees every op. */
static bool open_machine(const program *p, const judge_way *way, uint64_t seed, bool observed, machine *m)
{
    pdm_exec_plan_options options = {.keep_all = observed};

    *m = (machine){.sink = {.fn = hear}};
    m->sink.user = &m->heard;
    if (!program_params(p, &m->params, 4096))
        return false;
    if (way) {
        options.compile = way->compile;
        options.compile_single = way->single;
        options.fast = way->fast;
        if ((way->optimized || way->passes) && !optimize(p, way, seed, m))
            return false;
    }
    return pdm_exec_plan_create(m->module ? m->module : p->module, &m->params, &options, &m->sink, &m->plan) == PDM_OK &&
           !m->heard.text[0];
}

typedef struct outcome {
    pdm_status status;
    size_t count;
    pdm_tensor *out;
    char why[100]; /* it failed */
} outcome;

static void forget(outcome *o)
{
    for (size_t i = 0; i < o->count; i++)
        pdm_tensor_deinit(&o->out[i]);
    free(o->out);
    *o = (outcome){0};
}

static void run_set(const program *p, int set, machine *m, pdm_exec_session *session, outcome *o)
{
    *o = (outcome){.count = pdm_exec_num_outputs(m->plan)};
    o->out = calloc(o->count + 1, sizeof *o->out);
    for (size_t i = 0; i < pdm_exec_num_inputs(m->plan); i++) {
        const pdm_tensor *t = program_input(p, pdm_exec_input_name(m->plan, i), set);
        if (t && t->dtype != PDM_UNDEFINED)
            pdm_exec_set_input(session, i, t);
    }
    m->heard.text[0] = 0;
    pdm_exec_session_reset(session);
    o->status = o->out ? pdm_exec_run(session, &m->sink) : PDM_NOMEM;
    snprintf(o->why, sizeof o->why, "%.99s", m->heard.text);
    for (size_t i = 0; o->status == PDM_OK && i < o->count; i++) {
        const pdm_value *v = pdm_exec_output(session, i);
        if (v && v->kind == PDM_VALUE_TENSOR && pdm_tensor_copy(&o->out[i], &v->tensor) != PDM_OK)
            o->status = PDM_NOMEM;
    }
}

bool judge_observe(const program *p, int set, pdm_exec_observe_fn fn, void *user)
{
    const pdm_exec_options options = {.observe = fn, .user = user, .max_iterations = 1000};
    pdm_exec_session *session = NULL;
    outcome o = {.status = PDM_INTERNAL};
    machine m;

    if (open_machine(p, NULL, 0, true, &m) && pdm_exec_session_create(m.plan, &options, &session) == PDM_OK)
        run_set(p, set, &m, session, &o);
    const bool ok = o.status == PDM_OK;
    forget(&o);
    pdm_exec_session_destroy(session);
    close_machine(&m);
    return ok;
}

/* ---- what functions may do ------------------------------------------------------------------- */

typedef enum slack {
    UNITS,   /* of each result, in the last place */
    FADING,  /* the same, and what is below the least normal number may be zero */
    LARGEST, /* units of the last place of the largest number among operands and results */
    SUM,     /* units of the last place of the largest sum that there can be */
    PRODUCT, /* the same of products */
    SIGN,    /* of zero */
    OF_NAN   /* NaN may stay NaN */
} slack;

/* FOLDED: by passes that round otherwise, into weights or into one activation. FUSED: with the relu that follows. */
enum { ALWAYS = 1, SIMPLIFIED = 2, FOLDED = 4, FAST = 8, COMPILED = 16, FUSED = 32 };

static const struct slack_row {
    const char *op;
    slack kind;
    int units, when;
} slack_rows[] = {
    {"acos", UNITS, 4, ALWAYS}, {"acosh", UNITS, 4, ALWAYS}, {"asin", UNITS, 4, ALWAYS}, {"asinh", UNITS, 4, ALWAYS},
    {"atan", UNITS, 4, ALWAYS}, {"atan2", UNITS, 4, ALWAYS}, {"atanh", UNITS, 4, ALWAYS}, {"batch_norm", LARGEST, 8, ALWAYS},
    {"celu", UNITS, 6, ALWAYS}, {"cos", UNITS, 4, ALWAYS}, {"cosh", UNITS, 4, ALWAYS}, {"elementwise_pow", FADING, 4, ALWAYS},
    {"elu", UNITS, 6, ALWAYS}, {"erf", UNITS, 4, ALWAYS}, {"exp", FADING, 4, ALWAYS}, {"expm1", UNITS, 4, ALWAYS},
    {"gelu", LARGEST, 4, ALWAYS}, {"group_norm", LARGEST, 16, ALWAYS}, {"instance_norm", LARGEST, 16, ALWAYS},
    {"layer_norm", LARGEST, 8, ALWAYS}, {"log", UNITS, 4, ALWAYS}, {"log10", UNITS, 4, ALWAYS}, {"log1p", UNITS, 4, ALWAYS},
    {"log2", UNITS, 4, ALWAYS}, {"log_softmax", LARGEST, 16, ALWAYS}, {"logsumexp", LARGEST, 16, ALWAYS}, {"logsigmoid", UNITS, 8, ALWAYS},
    {"mean", SUM, 1, ALWAYS},
    {"mish", FADING, 8, ALWAYS}, {"pow", FADING, 4, ALWAYS}, {"rms_norm", LARGEST, 8, ALWAYS},
    {"rsqrt", UNITS, 3, ALWAYS}, {"selu", UNITS, 6, ALWAYS},
    {"sigmoid", FADING, 4, ALWAYS}, {"silu", FADING, 5, ALWAYS}, {"sin", UNITS, 4, ALWAYS}, {"sinh", UNITS, 4, ALWAYS},
    {"softmax", FADING, 16, ALWAYS}, {"softplus", FADING, 6, ALWAYS}, {"sqrt", UNITS, 2, ALWAYS}, {"stanh", UNITS, 6, ALWAYS},
    {"sum", SUM, 1, ALWAYS}, {"swish", FADING, 5, ALWAYS}, {"tan", UNITS, 4, ALWAYS}, {"tanh", UNITS, 4, ALWAYS},
    {"tanh_shrink", LARGEST, 4, ALWAYS},
    {"bilinear_interp", LARGEST, 4, ALWAYS}, {"p_norm", UNITS, 16, ALWAYS}, {"prod", UNITS, 64, ALWAYS},
    /* Of zeros that are the largest, the reference takes the last one, its first axis being the fastest; loops have the order of memory. */
    {"amax", SIGN, 0, COMPILED}, {"amin", SIGN, 0, COMPILED}, {"max", SIGN, 0, COMPILED}, {"min", SIGN, 0, COMPILED},
    /* The relu of fc hands NaN on, in the framework as well; relu itself makes zero of it. */
    {"relu", OF_NAN, 0, FUSED},
    /* What passes put together, and fast kernels do in another order. */
    {"conv2d", PRODUCT, 4, FOLDED | FAST}, {"conv2d_transpose", PRODUCT, 4, FOLDED | FAST},
    {"depthwise_conv2d", PRODUCT, 4, FOLDED | FAST}, {"matmul", PRODUCT, 1, FOLDED | FAST}, {"pool2d", LARGEST, 8, FAST},
    /* A scale by one is left out, and dropout may become one; its sum of -0 and 0 is 0. */
    {"dropout", SIGN, 0, SIMPLIFIED}, {"scale", SIGN, 0, SIMPLIFIED},
    /* Fast kernels round a product and a sum once, and take numbers in a chain of ops together. */
    {"add", LARGEST, 8, FOLDED | FAST}, {"divide", LARGEST, 8, FOLDED | FAST}, {"hardsigmoid", LARGEST, 2, FAST},
    {"hardswish", LARGEST, 4, FAST}, {"multiply", LARGEST, 8, FOLDED | FAST}, {"scale", LARGEST, 8, FOLDED | FAST},
    {"subtract", LARGEST, 8, FOLDED | FAST},
};

static const struct slack_row *slack_of(const pdm_ir_op *op, int when)
{
    const char *name = pdm_ir_op_name(op);
    size_t len = strlen(name);

    if (strncmp(name, "pd_op.", 6) != 0)
        return NULL;
    name += 6;
    len -= 6;
    for (size_t i = sizeof slack_rows / sizeof *slack_rows; i-- > 0;) { /* later ones allow more */
        const struct slack_row *row = &slack_rows[i];
        const size_t n = strlen(row->op);
        if ((row->when & when) && (len == n || (len == n + 1 && name[n] == '_')) && !memcmp(row->op, name, n))
            return row;
    }
    return NULL;
}

static double unit_of(pdm_dtype dtype)
{
    return dtype == PDM_F64 ? DBL_EPSILON : dtype == PDM_F32 ? FLT_EPSILON : dtype == PDM_F16 ? 0x1p-10 : 0x1p-7;
}

static double largest(const pdm_tensor *t)
{
    double most = 0;

    for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++) {
        const double v = fabs(pdm_get_double(t, i));
        if (isfinite(v) && v > most)
            most = v;
    }
    return most;
}

typedef struct mover {
    uint64_t random;
    int when;
    bool overflow; /* what is too large in some order of terms or factors becomes anything */
} mover;

static double between(mover *m) /* -1 to 1 */
{
    return (double)(mix(&m->random) % 2001) / 1000.0 - 1;
}

/* How far apart results may be, where that is the same for all. Products have as many terms as the filter, or the last dim of the
 * first operand. */
static double absolute(const struct slack_row *row, const pdm_ir_op *op, const pdm_tensor *out, const pdm_value *const *in)
{
    const double unit = unit_of(out->dtype) * row->units;
    const pdm_tensor *x = &in[0]->tensor;
    double most = largest(out);

    if (row->kind == SUM)
        return unit * fmax(2, (double)pdm_tensor_count(x) / fmax(1, (double)pdm_tensor_count(out))) * largest(x);
    if (row->kind == LARGEST) {
        for (uint32_t i = 0; i < op->num_operands; i++) {
            if (in[i] && in[i]->kind == PDM_VALUE_TENSOR)
                most = fmax(most, largest(&in[i]->tensor));
        }
        return unit * most;
    }
    const pdm_tensor *y = &in[1]->tensor;
    const double terms = strstr(row->op, "conv2d") ? (double)(y->dims[strstr(row->op, "transpose") ? 0 : 1] * y->dims[2] * y->dims[3])
                                                   : (double)(x->rank ? x->dims[x->rank - 1] : 1);
    return unit * fmax(terms, 4) * largest(x) * largest(y);
}

/* What a number may be instead. */
static double moved(const struct slack_row *row, mover *m, double v, double step, pdm_dtype dtype)
{
    const double by = between(m), least = dtype == PDM_F64 ? DBL_MIN : dtype == PDM_F32 || dtype == PDM_BF16 ? FLT_MIN : 0x1p-24;

    if (row->kind == SIGN)
        return v == 0 ? copysign(v, by) : v;
    if (!isfinite(v) || (v == 0 && row->kind == UNITS))
        return v;
    if (row->kind != UNITS && row->kind != FADING)
        return isfinite(step) ? v + by * step : v;
    const double most = fmax(row->units * unit_of(dtype) * fabs(v), fabs(v) < least ? least : 0);
    return row->kind == FADING ? copysign(fmax(fabs(v) + by * most, 0), v) : v + by * most;
}

/* The largest finite number, divided by 2^10. */
static double limit_of(pdm_dtype dtype)
{
    return (dtype == PDM_F64 ? DBL_MAX : dtype == PDM_F16 ? 65504 : FLT_MAX) * 0x1p-10;
}

static double anything(mover *m, pdm_dtype dtype)
{
    const double by = between(m);

    switch (mix(&m->random) % 4) {
    case 0:
        return NAN;
    case 1:
        return copysign(INFINITY, by);
    default:
        return by * limit_of(dtype);
    }
}

/* Whether an operand is finite where element i is computed; a broadcast one must be everywhere. */
static bool is_finite_at(const pdm_tensor *t, int64_t count, int64_t i, bool not_zero)
{
    const int64_t n = pdm_tensor_count(t);

    for (int64_t k = n == count ? i : 0; k < (n == count ? i + 1 : n); k++) {
        const double v = pdm_get_double(t, k);
        if (!isfinite(v) || (not_zero && v == 0))
            return false;
    }
    return true;
}

/* Whether what batch_norm adds where element i is may be too large: in single precision the mean is divided by the root first. */
static bool summand_may_overflow(const pdm_ir_op *op, const pdm_tensor *out, const pdm_value *const *in, int64_t i)
{
    const pdm_tensor *mean = &in[1]->tensor, *variance = &in[2]->tensor;
    const char *layout = pdm_ir_op_text(op, "data_format");
    const bool last = out->rank > 2 && layout[0] && layout[strlen(layout) - 1] == 'C';
    const int64_t count = pdm_tensor_count(mean);

    for (int d = last ? out->rank : 2; d < out->rank; d++)
        i /= out->dims[d];
    const double m = pdm_get_double(mean, i % count), v = pdm_get_double(variance, i % count),
                 shift = m / sqrt(v + pdm_ir_op_number(op, "epsilon", 0));
    return isfinite(m) && isfinite(v) && fabs(shift) >= limit_of(out->dtype);
}

/* Whether an element may be too large, or not, by the order of what it is made of alone: it nearly is, or it is not finite though
 * all that it is made of is. */
static bool may_overflow(const pdm_ir_op *op, const struct slack_row *row, int when, const pdm_tensor *out, const pdm_value *const *in,
                         int64_t i)
{
    const double v = pdm_get_double(out, i);

    /* What is normalized may be the mean, or nearly so, by how that is rounded: zero or not, before an infinite scale. */
    if (isinf(v) && strstr(pdm_ir_op_name(op), "_norm"))
        return true;
    /* Of products in a row the weights may have been multiplied first: an infinite operand meets others then. */
    if (row->kind == PRODUCT && !isfinite(v) && !is_finite_at(&in[0]->tensor, -1, 0, false))
        return true;
    /* An infinite factor may have gone into weights, of which the products are infinite then, with both signs. */
    if (when & FAST && isinf(v) && (PDM_IR_IS(op, pd_op, multiply) || PDM_IR_IS(op, pd_op, divide)))
        return true;

    if (isfinite(v))
        return fabs(v) >= limit_of(out->dtype);
    if (PDM_IR_IS(op, pd_op, batch_norm) && summand_may_overflow(op, out, in, i))
        return true;
    for (uint32_t k = 0; k < op->num_operands; k++) {
        const bool divisor = k == 1 && PDM_IR_IS(op, pd_op, divide);
        if (in[k] && in[k]->kind == PDM_VALUE_TENSOR && !is_finite_at(&in[k]->tensor, pdm_tensor_count(out), i, divisor))
            return false;
    }
    return true;
}

/* Fast kernels add up squares in single precision. */
static bool squares_may_overflow(const pdm_ir_op *op, const pdm_tensor *x)
{
    const double most = largest(x);

    return PDM_IR_IS(op, pd_op, layer_norm) && x->dtype == PDM_F32 &&
           most * most * fmax(1, (double)pdm_tensor_count(x)) >= limit_of(PDM_F32);
}

/* Products take subnormal weights for zero, which times infinity is NaN. */
static bool is_subnormal_by_infinity(const pdm_tensor *x, const pdm_tensor *y)
{
    bool infinite = false, subnormal = false;

    for (int64_t i = 0, n = pdm_tensor_count(x); i < n; i++)
        infinite |= isinf(pdm_get_double(x, i)) != 0;
    for (int64_t i = 0, n = infinite ? pdm_tensor_count(y) : 0; i < n; i++) {
        const double v = fabs(pdm_get_double(y, i));
        subnormal |= v > 0 && v < FLT_MIN;
    }
    return subnormal;
}

/* Fast kernels may compute anything here, by row or by the steps of the op. */
static bool is_beyond_fast(const struct slack_row *row, const pdm_ir_op *op, const pdm_value *const *in)
{
    const pdm_tensor *x = &in[0]->tensor;

    if (row->kind == PRODUCT && x->dtype == PDM_F32)
        return is_subnormal_by_infinity(x, &in[1]->tensor) || is_subnormal_by_infinity(&in[1]->tensor, x) ||
               largest(&in[1]->tensor) >= limit_of(PDM_F32); /* what follows is multiplied in */
    return squares_may_overflow(op, x);
}

/* Only of ops whose terms or factors may come in another order. */
static bool has_order(const struct slack_row *row, const mover *m)
{
    return row->kind == SUM || row->kind == PRODUCT || (row->kind == LARGEST && (row->when & m->when & (FOLDED | FAST))) ||
           (m->when & (FOLDED | FAST) && !strcmp(row->op, "batch_norm")) || (row->kind == LARGEST && strstr(row->op, "_norm"));
}

static void move_results(void *user, const pdm_ir_op *op, const pdm_value *const *in, const pdm_value *const *out)
{
    mover *m = user;
    const struct slack_row *row = slack_of(op, m->when);

    if (!row || !out[0] || out[0]->kind != PDM_VALUE_TENSOR || !pdm_dtype_is_float(out[0]->tensor.dtype))
        return;
    pdm_tensor view = out[0]->tensor; /* nobody else has seen it yet */
    const bool by_element = row->kind == UNITS || row->kind == FADING || row->kind == SIGN || row->kind == OF_NAN;
    const double step = by_element ? 0 : absolute(row, op, &view, in);
    const bool ordered = m->overflow && has_order(row, m);
    /* Sums of all terms may be too large. */
    const bool all = ordered && ((row->kind != LARGEST && step / unit_of(view.dtype) >= limit_of(view.dtype)) ||
                                 (m->when & FAST && is_beyond_fast(row, op, in)));
    for (int64_t i = 0, n = pdm_tensor_count(&view); i < n; i++) {
        if (row->kind == OF_NAN && isnan(pdm_get_double(&in[0]->tensor, i)) && mix(&m->random) % 2)
            pdm_set_double(&view, i, NAN);
        if (row->kind == OF_NAN)
            continue;
        const bool loose = all || (ordered && may_overflow(op, row, m->when, &view, in, i));
        pdm_set_double(&view, i, loose ? anything(m, view.dtype) : moved(row, m, pdm_get_double(&view, i), step, view.dtype));
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

typedef struct spread {
    double *low, *high; /* by element */
    bool *loose;        /* NaN or infinite in some runs */
    bool *other;        /* other bits in some, if only another zero */
} spread;

typedef struct sensitivity {
    int rounds;
    spread *of; /* by output */
    size_t count;
} sensitivity;

static void drop(sensitivity *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->of[i].low);
        free(s->of[i].high);
        free(s->of[i].loose);
        free(s->of[i].other);
    }
    free(s->of);
    *s = (sensitivity){0};
}

static bool same_bits(const pdm_tensor *a, const pdm_tensor *b, int64_t i)
{
    const size_t size = pdm_dtype_size(a->dtype);

    if (!memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)i * size, size))
        return true;
    return pdm_dtype_is_float(a->dtype) && isnan(pdm_get_double(a, i)) && isnan(pdm_get_double(b, i));
}

static bool same_form(const pdm_tensor *a, const pdm_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static bool begin(sensitivity *s, const outcome *ref)
{
    s->of = calloc(ref->count + 1, sizeof *s->of);
    s->count = s->of ? ref->count : 0;
    for (size_t o = 0; o < s->count; o++) {
        const size_t n = (size_t)pdm_tensor_count(&ref->out[o]) + 1;
        spread *sp = &s->of[o];
        sp->low = malloc(n * sizeof *sp->low);
        sp->high = malloc(n * sizeof *sp->high);
        sp->loose = calloc(n, sizeof *sp->loose);
        sp->other = calloc(n, sizeof *sp->other);
        if (!sp->low || !sp->high || !sp->loose || !sp->other)
            return false;
        for (size_t i = 0; i + 1 < n; i++)
            sp->low[i] = sp->high[i] = pdm_get_double(&ref->out[o], (int64_t)i);
    }
    return s->of != NULL;
}

static void widen(sensitivity *s, const outcome *ref, const outcome *other)
{
    for (size_t o = 0; o < s->count; o++) {
        spread *sp = &s->of[o];
        const pdm_tensor *t = &ref->out[o], *u = &other->out[o];
        const bool same = other->status == PDM_OK && same_form(t, u);
        for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++) {
            const double v = same ? pdm_get_double(u, i) : NAN;
            sp->loose[i] |= !same || (!isfinite(v) && !same_bits(t, u, i)) || (isfinite(v) && !isfinite(sp->low[i]));
            sp->other[i] |= !same || !same_bits(t, u, i);
            sp->low[i] = fmin(sp->low[i], v);
            sp->high[i] = fmax(sp->high[i], v);
        }
    }
}

/* What may have been done to the program. */
static int done_by(const judge_way *way, uint64_t seed)
{
    char list[512] = "";

    if (way->optimized || way->passes)
        choose_passes(way, seed, list);
    const bool folds = strstr(list, "conv-bn") || strstr(list, "linear") || strstr(list, "matmul") ||
                       strstr(list, "activation");
    const bool simplifies = way->optimized || way->passes || way->compile || way->fast;
    return ALWAYS | (strstr(list, "fc") ? FUSED : 0) | (simplifies ? SIMPLIFIED : 0) | (folds ? FOLDED : 0) | (way->fast ? FAST : 0) |
           (way->compile ? COMPILED : 0);
}

/* More runs of the reference, moved. */
static bool refine(const program *p, int set, int rounds, bool overflow, const judge_way *way, uint64_t seed, const outcome *ref,
                   sensitivity *s)
{
    const int done = done_by(way, seed);
    mover moving = {seed + 77, done, overflow};
    const pdm_exec_options options = {.observe = move_results, .user = &moving};
    pdm_exec_session *session = NULL;
    machine m;

    bool ok = (s->of || begin(s, ref)) && open_machine(p, NULL, 0, true, &m);
    if (!s->of || !ok)
        return false;
    ok = pdm_exec_session_create(m.plan, &options, &session) == PDM_OK;
    for (; ok && s->rounds < rounds; s->rounds++) {
        outcome other;
        moving.random = moving.random * 31 + (uint64_t)s->rounds;
        /* Sometimes not all that may be done is: what one op moves far hides what another one does. */
        moving.when = s->rounds % 2 ? done & (ALWAYS | (int)mix(&moving.random)) : done;
        run_set(p, set, &m, session, &other);
        widen(s, ref, &other);
        forget(&other);
    }
    pdm_exec_session_destroy(session);
    close_machine(&m);
    return ok;
}

static bool within(const spread *sp, const pdm_tensor *got, int64_t i)
{
    const double v = pdm_get_double(got, i), margin = 2 * (sp->high[i] - sp->low[i]);

    if (sp->loose[i])
        return true;
    return sp->other[i] && isfinite(v) && v >= sp->low[i] - margin && v <= sp->high[i] + margin;
}

typedef struct explanation {
    sensitivity functions, overflow; /* the second one: also when what may be too large is moved */
} explanation;

/* The first output and element that are wrong; false: none. */
static bool find_wrong(const outcome *ref, const outcome *got, const explanation *e, judge_stats *stats, size_t *out_o, int64_t *out_i)
{
    uint64_t exact = 0, near = 0, loose = 0, excused = 0;

    for (size_t o = 0; o < ref->count; o++) {
        const pdm_tensor *t = &ref->out[o], *u = &got->out[o];
        *out_o = o;
        *out_i = -1;
        if (!same_form(t, u))
            return true;
        for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++) {
            if (same_bits(t, u, i)) {
                exact++;
                continue;
            }
            *out_i = i;
            if (e->functions.of && within(&e->functions.of[o], u, i)) {
                loose += e->functions.of[o].loose[i];
                near += !e->functions.of[o].loose[i];
            } else if (e->overflow.of && within(&e->overflow.of[o], u, i)) {
                excused++;
            } else {
                return true;
            }
        }
    }
    stats->exact += exact;
    stats->near += near;
    stats->loose += loose;
    stats->excused += excused;
    return false;
}

static void put_form(const pdm_tensor *t, char out[160])
{
    size_t n = (size_t)snprintf(out, 160, "%s [", pdm_dtype_name(t->dtype));

    for (int d = 0; d < t->rank && n < 140; d++)
        n += (size_t)snprintf(out + n, 160 - n, "%s%" PRId64, d ? "," : "", t->dims[d]);
    snprintf(out + n, 160 - n, "]");
}

static void describe(const outcome *ref, const outcome *got, size_t o, int64_t i, const sensitivity *s, char *text, size_t size)
{
    const pdm_tensor *t = &ref->out[o], *u = &got->out[o];
    char want[160], have[160];

    put_form(t, want);
    put_form(u, have);
    if (i < 0)
        snprintf(text, size, "output %zu is %s, reference: %s", o, have, want);
    else if (s->of)
        snprintf(text, size, "output %zu, %s, element %" PRId64 ": %.17g, reference %.17g (%.17g to %.17g when functions are moved)", o,
                 want, i, pdm_get_double(u, i), pdm_get_double(t, i), s->of[o].low[i], s->of[o].high[i]);
    else
        snprintf(text, size, "output %zu, %s, element %" PRId64 ": %.17g, reference %.17g", o, want, i, pdm_get_double(u, i),
                 pdm_get_double(t, i));
}

static bool same_results(const program *p, int set, const judge_way *way, uint64_t seed, const outcome *ref, const outcome *got,
                         judge_stats *stats, char *text, size_t size)
{
    static const struct {
        int rounds;
        bool overflow;
    } steps[] = {{0, false}, {6, false}, {40, false}, {300, false}, {40, true}};
    explanation e = {0};
    size_t o = 0;
    int64_t i = -1;
    bool wrong = true;

    for (size_t r = 0; wrong && r < sizeof steps / sizeof *steps; r++) {
        if (r > 0 && (i < 0 || !refine(p, set, steps[r].rounds, steps[r].overflow, way, seed, ref,
                                       steps[r].overflow ? &e.overflow : &e.functions)))
            break;
        wrong = find_wrong(ref, got, &e, stats, &o, &i);
    }
    if (wrong)
        describe(ref, got, o, i, &e.functions, text, size);
    drop(&e.functions);
    drop(&e.overflow);
    return !wrong;
}

/* The reference failed, and the other did not: what failed may be an op that nobody needs. Without those it must compute the same. */
static bool without_dead_ops(const program *p, int set, const judge_way *way, uint64_t seed, const outcome *got, judge_stats *stats,
                             char *text, size_t size)
{
    const pdm_ir_pass_options options = {.verify = true};
    pdm_exec_session *session = NULL;
    pdm_ir_constants constants;
    outcome ref = {.status = PDM_INTERNAL};
    program q = *p;
    machine m = {0};
    bool same = false;

    if (pdm_ir_module_clone(p->module, &q.module) != PDM_OK)
        return false;
    pdm_ir_constants_init(&constants);
    if (pdm_ir_pass_run_list(q.module, "dce", &options, &constants, NULL) == PDM_OK && open_machine(&q, NULL, 0, false, &m) &&
        pdm_exec_session_create(m.plan, NULL, &session) == PDM_OK) {
        run_set(&q, set, &m, session, &ref);
        if (ref.status == PDM_OK && ref.count == got->count) {
            stats->dead++;
            same = same_results(&q, set, way, seed, &ref, got, stats, text, size);
        }
    }
    forget(&ref);
    pdm_exec_session_destroy(session);
    close_machine(&m);
    pdm_ir_constants_deinit(&constants);
    pdm_ir_module_destroy(q.module);
    return same;
}

static bool agrees(const program *p, int set, const judge_way *way, uint64_t seed, const outcome *ref, const outcome *got,
                   judge_stats *stats, char *text, size_t size)
{
    if (ref->status == got->status && ref->count == got->count)
        return ref->status != PDM_OK || same_results(p, set, way, seed, ref, got, stats, text, size);
    snprintf(text, size, "ends with status %d, reference: %d (%s)", (int)got->status, (int)ref->status, ref->why);
    return ref->status != PDM_OK && got->status == PDM_OK && without_dead_ops(p, set, way, seed, got, stats, text, size);
}

static bool identical(const outcome *a, const outcome *b)
{
    if (a->status != b->status || a->count != b->count)
        return false;
    for (size_t o = 0; a->status == PDM_OK && o < a->count; o++) {
        if (!same_form(&a->out[o], &b->out[o]))
            return false;
        for (int64_t i = 0, n = pdm_tensor_count(&a->out[o]); i < n; i++) {
            if (!same_bits(&a->out[o], &b->out[o], i))
                return false;
        }
    }
    return true;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A pool for this process. */
static pdm_pool *two_threads(void)
{
    static pdm_pool *pool;
    static pid_t owner;

    if (!pool || owner != getpid()) {
        owner = getpid();
        if (pdm_pool_create(2, &pool) != PDM_OK)
            pool = NULL;
    }
    return pool;
}

static judge_result compare_ways(const program *p, const judge_way *way, uint64_t seed, outcome *ref, outcome *got, machine *m,
                                 judge_stats *stats, char *text, size_t size)
{
    pdm_exec_options options = {0};
    pdm_exec_session *session = NULL;
    judge_result result = JUDGE_SAME;

    if (pdm_exec_session_create(m->plan, &options, &session) != PDM_OK)
        return JUDGE_INVALID;
    for (int s = 0; result == JUDGE_SAME && s < p->num_sets; s++) {
        char why[400];
        run_set(p, s, m, session, &got[s]);
        stats->runs++;
        if (!agrees(p, s, way, seed, &ref[s], &got[s], stats, why, sizeof why)) {
            snprintf(text, size, "set %d: %s %s", s, why, m->heard.text);
            result = JUDGE_DIFFERS;
        }
    }
    /* Again, backwards: nothing is left of other runs. And with two threads. */
    for (int round = 0; result == JUDGE_SAME && round < 2; round++) {
        if (round == 1) {
            pdm_exec_session_destroy(session);
            session = NULL;
            options.pool = two_threads();
            if (pdm_exec_session_create(m->plan, &options, &session) != PDM_OK)
                return JUDGE_INVALID;
        }
        for (int s = p->num_sets; result == JUDGE_SAME && s-- > 0;) {
            outcome again;
            run_set(p, s, m, session, &again);
            if (!identical(&got[s], &again)) {
                snprintf(text, size, "set %d: other bits %s", s, round ? "with two threads" : "when run again");
                result = JUDGE_DIFFERS;
            }
            forget(&again);
        }
    }
    pdm_exec_session_destroy(session);
    return result;
}

judge_result judge_program(const program *p, const judge_way *way, uint64_t seed, judge_stats *stats, char *text, size_t size)
{
    outcome ref[PROGRAM_MAX_SETS] = {{0}}, got[PROGRAM_MAX_SETS] = {{0}};
    pdm_exec_session *session = NULL;
    judge_result result = JUDGE_INVALID;
    machine plain, m;

    text[0] = 0;
    if (!open_machine(p, NULL, 0, false, &plain) || pdm_exec_session_create(plain.plan, NULL, &session) != PDM_OK) {
        snprintf(text, size, "there is no reference: %s", plain.heard.text);
        close_machine(&plain);
        return JUDGE_INVALID;
    }
    for (int s = 0; s < p->num_sets; s++) {
        run_set(p, s, &plain, session, &ref[s]);
        stats->failing += ref[s].status != PDM_OK;
        if (ref[s].status != PDM_OK)
            snprintf(text, size, "set %d cannot be run: %s", s, plain.heard.text);
    }
    if (open_machine(p, way, seed, false, &m)) {
        result = compare_ways(p, way, seed, ref, got, &m, stats, text, size);
        const pdm_exec_compile_stats compiled = pdm_exec_get_compile_stats(m.plan);
        stats->groups += compiled.groups;
        stats->kernels += compiled.kernels;
        stats->group_runs += compiled.runs;
        stats->compiled += compiled.compiled;
        for (size_t i = 0; i < m.hits.count; i++)
            add_hit(&stats->hits, m.hits.of[i].pass, m.hits.of[i].name, m.hits.of[i].times);
    } else {
        snprintf(text, size, "cannot be prepared: %s", m.heard.text);
        result = JUDGE_DIFFERS;
    }
    close_machine(&m);
    for (int s = 0; s < p->num_sets; s++) {
        forget(&ref[s]);
        forget(&got[s]);
    }
    pdm_exec_session_destroy(session);
    close_machine(&plain);
    return result;
}

/* ---- at once --------------------------------------------------------------------------------- */

typedef struct partner {
    program p; /* its own: contexts are for one thread */
    const judge_way *way;
    uint64_t seed;
    outcome got[PROGRAM_MAX_SETS];
    judge_stats stats;
    bool ok;
    char why[400];
} partner;

static void *run_partner(void *user)
{
    partner *r = user;
    pdm_exec_session *session = NULL;
    machine m;

    r->ok = open_machine(&r->p, r->way, r->seed, false, &m) && pdm_exec_session_create(m.plan, NULL, &session) == PDM_OK;
    for (int s = 0; r->ok && s < r->p.num_sets; s++)
        run_set(&r->p, s, &m, session, &r->got[s]);
    snprintf(r->why, sizeof r->why, "%s", m.heard.text);
    if (r->ok) {
        const pdm_exec_compile_stats compiled = pdm_exec_get_compile_stats(m.plan);
        r->stats.groups = compiled.groups;
        r->stats.kernels = compiled.kernels;
        r->stats.group_runs = compiled.runs;
        r->stats.compiled = compiled.compiled;
    }
    pdm_exec_session_destroy(session);
    close_machine(&m);
    return NULL;
}

static void forget_partner(partner *r)
{
    for (int s = 0; s < PROGRAM_MAX_SETS; s++)
        forget(&r->got[s]);
    program_deinit(&r->p);
}

/* All of them, by a thread each. */
static bool run_partners(partner *all, int count)
{
    pthread_t threads[2 * JUDGE_TOGETHER];
    int started = 0;

    while (started < count && pthread_create(&threads[started], NULL, run_partner, &all[started]) == 0)
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started == count;
}

judge_result judge_together(const program *const list[JUDGE_TOGETHER], const judge_way *way, uint64_t seed, judge_stats *stats, char *text,
                            size_t size)
{
    enum { COUNT = 2 * JUDGE_TOGETHER };
    partner at_once[COUNT] = {{.ok = false}};
    judge_result result = JUDGE_SAME;
    bool ok = true;

    text[0] = 0;
    for (int i = 0; ok && i < COUNT; i++) {
        at_once[i].way = way;
        at_once[i].seed = seed;
        ok = program_clone(list[i % JUDGE_TOGETHER], &at_once[i].p);
    }
    ok = ok && run_partners(at_once, COUNT);
    for (int i = 0; ok && result == JUDGE_SAME && i < COUNT; i++) {
        partner alone = {.way = way, .seed = seed};
        if (!program_clone(list[i % JUDGE_TOGETHER], &alone.p)) {
            ok = false;
            break;
        }
        run_partner(&alone);
        bool same = alone.ok == at_once[i].ok;
        for (int s = 0; same && s < alone.p.num_sets; s++) {
            same = identical(&alone.got[s], &at_once[i].got[s]);
            stats->runs++;
        }
        if (!same) {
            snprintf(text, size, "program %d computes something else beside others: %.300s", i % JUDGE_TOGETHER, at_once[i].why);
            result = JUDGE_DIFFERS;
        }
        stats->groups += at_once[i].stats.groups;
        stats->kernels += at_once[i].stats.kernels;
        stats->group_runs += at_once[i].stats.group_runs;
        stats->compiled += at_once[i].stats.compiled;
        forget_partner(&alone);
    }
    for (int i = 0; i < COUNT; i++)
        forget_partner(&at_once[i]);
    return ok ? result : JUDGE_INVALID;
}
