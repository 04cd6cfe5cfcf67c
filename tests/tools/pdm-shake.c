/*
 * pdm-shake [--rounds N] [--seed S] [--one R] FOLDER...
 *
 * Run the models of cases (folders with io.npz) as hostile files would be: in each round some
 * attributes and input tensors are changed (numbers, shapes, ranks, element types, LoD). A run may
 * fail as it likes, but it ends, in time, without a crash. Each round is a process of its own.
 * Prints a line for each round that ended badly (repeat it with --seed S --one R), and at last `N
 * bad rounds of M`. Meant for builds with sanitizers:
 *
 *   ASAN_OPTIONS=max_allocation_size_mb=1024:allocator_may_return_null=1 pdm-shake CASES...
 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "base/npz.h"
#include "exec/executor.h"
#include "translator/translate.h"

enum { TIME_LIMIT = 60, MAX_ELEMENTS = 1 << 16 };

static pdm_rng rng;

static uint64_t below(uint64_t n)
{
    return n ? pdm_rng_next(&rng) % n : 0;
}

/* A number near n, or one of those that code gets wrong. */
static int64_t odd_number(int64_t n)
{
    static const int64_t odd[] = {0,   1,    -1,    2,         -2,        3,         7,        64,
                                  100, -100, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};

    switch (below(4)) {
    case 0:
        return (int64_t)((uint64_t)n + 1);
    case 1:
        return (int64_t)((uint64_t)n - 1);
    default:
        return odd[below(sizeof odd / sizeof *odd)];
    }
}

static double odd_float(double f)
{
    static const double odd[] = {0, -1, 1, 0.5, 1e30, -1e30, 1e-30};

    switch (below(4)) {
    case 0:
        return (double)NAN;
    case 1:
        return (double)INFINITY;
    case 2:
        return -f;
    default:
        return odd[below(sizeof odd / sizeof *odd)];
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_ir_attr shake_attr(pdm_ir_context *context, pdm_ir_attr a)
{
    struct pdm_ir_attr_s s = *a;
    pdm_ir_attr items[PDM_K_MAX_INTS];
    int64_t ints[PDM_K_MAX_INTS];

    switch (a->kind) {
    case PDM_IR_ATTR_BOOL:
        s.u.b = !s.u.b;
        break;
    case PDM_IR_ATTR_I32:
        s.u.i = (int32_t)odd_number(s.u.i);
        break;
    case PDM_IR_ATTR_I64:
        s.u.i = odd_number(s.u.i);
        break;
    case PDM_IR_ATTR_F32:
        return pdm_ir_attr_f32(context, (float)odd_float(s.u.f));
    case PDM_IR_ATTR_F64:
        return pdm_ir_attr_f64(context, odd_float(s.u.f));
    case PDM_IR_ATTR_DTYPE:
        s.dtype = (pdm_dtype)below(PDM_DTYPE_COUNT);
        break;
    case PDM_IR_ATTR_STR:
        return pdm_ir_attr_str(context, below(2) ? "" : "nonsense");
    case PDM_IR_ATTR_INT_ARRAY:
        if (a->count == 0 || a->count > PDM_K_MAX_INTS)
            break;
        memcpy(ints, a->u.ints, a->count * sizeof *ints);
        ints[below(a->count)] = odd_number(ints[0]);
        return pdm_ir_attr_int_array(context, ints, below(3) ? a->count : below(a->count));
    case PDM_IR_ATTR_ARRAY:
        if (a->count == 0 || a->count >= PDM_K_MAX_INTS)
            break;
        memcpy(items, a->u.items, a->count * sizeof *items);
        if (below(3) == 0) /* one less, or one more */
            return pdm_ir_attr_array(context, items,
                                     below(2) ? a->count - 1
                                              : (items[a->count] = items[0], a->count + 1));
        const size_t at = below(a->count);
        items[at] = shake_attr(context, items[at]);
        return items[at] ? pdm_ir_attr_array(context, items, a->count) : a;
    case PDM_IR_ATTR_NULL:
    case PDM_IR_ATTR_INDEX:
    case PDM_IR_ATTR_C64:
    case PDM_IR_ATTR_C128:
    case PDM_IR_ATTR_TENSOR_NAME:
    case PDM_IR_ATTR_TYPE:
    case PDM_IR_ATTR_SCALAR:
    case PDM_IR_ATTR_LAYOUT:
    case PDM_IR_ATTR_PLACE:
        break;
    }
    return pdm_ir_attr_intern(context, &s);
}

typedef struct shaker {
    pdm_ir_context *context;
    size_t one_in; /* attributes */
} shaker;

static pdm_status shake_op(void *user, pdm_ir_op *op)
{
    const shaker *s = user;

    if (pdm_ir_op_is(op, "pd_op.data") || pdm_ir_op_is(op, "pd_op.fetch") ||
        pdm_ir_op_is(op, "builtin.parameter") || pdm_ir_op_is(op, "builtin.slice"))
        return PDM_OK;
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (!strncmp(op->attrs[i].name, "operand_", 8) ||
            !strncmp(op->attrs[i].name, "result_", 7) || below(s->one_in))
            continue;
        pdm_ir_attr made = shake_attr(s->context, op->attrs[i].attr);
        if (made)
            op->attrs[i].attr = made;
    }
    return PDM_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void shake_dims(pdm_tensor *t)
{
    const uint64_t how = below(6);

    if (how == 0 && t->rank > 0) {
        t->dims[below((uint64_t)t->rank)] = 0;
    } else if (how == 1 && t->rank > 0) {
        t->dims[below((uint64_t)t->rank)]++;
    } else if (how == 2 && t->rank > 0) {
        int64_t *d = &t->dims[below((uint64_t)t->rank)];
        *d -= *d > 0;
    } else if (how == 3 && t->rank > 0) {
        t->rank--;
    } else if (how == 4 && t->rank < PDM_MAX_RANK) {
        t->dims[t->rank++] = (int64_t)below(3);
    } else if (how == 5) {
        t->rank = 0;
    }
}

static void shake_values(pdm_tensor *t)
{
    for (int64_t n = pdm_tensor_count(t), k = (int64_t)below(4); n > 0 && k >= 0; k--) {
        const int64_t i = (int64_t)below((uint64_t)n);
        if (pdm_dtype_is_float(t->dtype) || pdm_dtype_is_complex(t->dtype))
            pdm_set_double(t, i, odd_float(pdm_get_double(t, i)));
        else
            pdm_set_int(t, i, odd_number(pdm_get_int(t, i)));
    }
}

static pdm_status shake_lod(pdm_tensor *t)
{
    int64_t level[4] = {0};
    const size_t count = 1 + below(4);

    for (size_t i = 1; i < count; i++)
        level[i] =
            below(4) ? (int64_t)((uint64_t)level[i - 1] + below(3)) : odd_number(level[i - 1]);
    return pdm_tensor_set_lod(t, below(3), (const int64_t *const[]){level, level},
                              (const size_t[]){count, count});
}

/* Another tensor like t: its values where there are any, repeated. */
static pdm_status shake_input(const pdm_tensor *t, pdm_tensor *out)
{
    pdm_tensor shape = *t; /* only its dims are changed */

    if (below(2))
        shake_dims(&shape);
    if (below(6) == 0)
        shape.dtype = (pdm_dtype)(1 + below(PDM_DTYPE_COUNT - 1));
    if (pdm_dtype_size(shape.dtype) == 0)
        shape.dtype = PDM_F32;
    PDM_TRY(pdm_tensor_alloc(out, shape.dtype, shape.rank, shape.dims));
    const int64_t n = pdm_tensor_count(out), have = pdm_tensor_count(t);
    for (int64_t i = 0; i < n; i++) {
        if (pdm_dtype_is_float(out->dtype) || pdm_dtype_is_complex(out->dtype))
            pdm_set_double(out, i, have ? pdm_get_double(t, i % have) : 0.5);
        else
            pdm_set_int(out, i, have ? pdm_get_int(t, i % have) : 1);
    }
    if (below(3) == 0)
        shake_values(out);
    if (below(8) == 0)
        return shake_lod(out);
    pdm_tensor_share_lod(out, t);
    return PDM_OK;
}

static pdm_status set_inputs(pdm_exec_session *session, const pdm_exec_plan *plan,
                             const pdm_npz *io)
{
    for (size_t i = 0; i < pdm_exec_num_inputs(plan); i++) {
        const char *name = pdm_exec_input_name(plan, i);
        char key[512];
        pdm_tensor tensor = {0}, shaken = {0};
        snprintf(key, sizeof key, "in:%s", name);
        const pdm_tensor *found = pdm_npz_find(io, key);
        if (!found)
            return PDM_INVALID_ARG;
        pdm_tensor_ref(&tensor, found);
        pdm_status status = pdm_npz_lod(io, false, name, &tensor);
        if (status == PDM_OK)
            status = pdm_tensor_count(&tensor) <= MAX_ELEMENTS && below(4)
                         ? shake_input(&tensor, &shaken)
                         : pdm_tensor_copy(&shaken, &tensor);
        if (status == PDM_OK)
            pdm_exec_set_input(session, i, &shaken);
        pdm_tensor_deinit(&tensor);
        pdm_tensor_deinit(&shaken);
        PDM_TRY(status);
    }
    return PDM_OK;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Loads, shakes and runs; what comes of it does not matter. */
static void shake(const char *folder, uint64_t seed, bool tell)
{
    pdm_context *context = NULL;
    pdm_model *model = NULL;
    pdm_ir_module *module = NULL;
    pdm_exec_plan *plan = NULL;
    pdm_exec_session *session = NULL;
    pdm_npz io = {0};
    char path[1024];
    const pdm_exec_options options = {.max_iterations = 1000};

    pdm_rng_seed(&rng, seed);
    snprintf(path, sizeof path, "%s/io.npz", folder);
    pdm_status status = pdm_context_create(NULL, &context);
    if (status == PDM_OK)
        status = pdm_model_load(context, folder, NULL, &model);
    if (status == PDM_OK)
        status = pdm_npz_read(&io, path, 0, NULL);
    if (status == PDM_OK && model->kind == PDM_MODEL_LEGACY) {
        const pdm_tr_options tr = {.allow_legacy = true,
                                   .params = model->has_params ? &model->params : NULL};
        status = pdm_tr_translate(context->ir, context->schemas, model->legacy, &tr, NULL, &module);
    }
    shaker s = {context ? context->ir : NULL, 2 + below(6)};
    const bool attrs = below(2);
    if (status == PDM_OK && module && attrs)
        status = pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, shake_op, &s);
    if (status == PDM_OK)
        status =
            pdm_exec_plan_create(module ? module : model->pir, &model->params, NULL, NULL, &plan);
    if (status == PDM_OK)
        status = pdm_exec_session_create(plan, &options, &session);
    for (int i = 0; status == PDM_OK && i < 4; i++) {
        if (set_inputs(session, plan, &io) == PDM_OK) {
            status = pdm_exec_run(session, NULL);
            if (tell)
                printf("# %s: run %d: %s\n", folder, i, pdm_status_text(status));
            status = status == PDM_NOMEM ? PDM_NOMEM : PDM_OK;
        }
    }
    pdm_exec_session_destroy(session);
    pdm_exec_plan_destroy(plan);
    pdm_ir_module_destroy(module);
    pdm_npz_deinit(&io);
    pdm_model_destroy(model);
    pdm_context_destroy(context);
}

/* The same in a process of its own: false when it ended badly. */
static bool survives(const char *folder, uint64_t seed)
{
    int status = 0;

    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(TIME_LIMIT);
        shake(folder, seed, false);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        printf("bad %s: signal %d%s\n", folder, WTERMSIG(status),
               WTERMSIG(status) == SIGALRM ? " (too long)" : "");
    else
        printf("bad %s: exit %d\n", folder, WEXITSTATUS(status));
    return false;
}

int main(int argc, char **argv)
{
    uint64_t rounds = 10, seed = 1, one = 0, bad = 0, total = 0;
    bool has_one = false;
    int i = 1;

    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        const uint64_t n = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--rounds"))
            rounds = n;
        else if (!strcmp(argv[i], "--seed"))
            seed = n;
        else if (!strcmp(argv[i], "--one"))
            one = n, has_one = true;
        else
            break;
    }
    if (i >= argc || argv[i][0] == '-') {
        fputs("usage: pdm-shake [--rounds N] [--seed S] [--one R] FOLDER...\n", stderr);
        return 2;
    }
    for (; i < argc; i++) {
        if (has_one) {
            shake(argv[i], seed * 1000003 + one, true);
            continue;
        }
        for (uint64_t r = 0; r < rounds; r++, total++) {
            if (survives(argv[i], seed * 1000003 + r))
                continue;
            bad++;
            printf("    --seed %" PRIu64 " --one %" PRIu64 "\n", seed, r);
        }
    }
    if (!has_one)
        printf("%" PRIu64 " bad rounds of %" PRIu64 "\n", bad, total);
    return bad != 0;
}
