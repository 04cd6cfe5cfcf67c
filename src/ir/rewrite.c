#include "ir/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "ir/infer.h"
#include "ir/picture.h"

/* ---- the list -------------------------------------------------------------------------------- */

/* Ops to look at: taken from the end. An op is on it once at most; what goes leaves a hole. */
struct pdm_ir_work {
    PDM_VEC(pdm_ir_op *) ops;
    pdm_map place; /* op → its place in ops, from 1 */
};

static void push(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    pdm_map_entry *entry = op ? pdm_map_put(&rw->work->place, op) : NULL;

    if (!op)
        return;
    if (!entry || (entry->value.num == 0 && !PDM_VEC_PUSH(&rw->work->ops, op)))
        rw->status = PDM_NOMEM;
    else if (entry->value.num == 0)
        entry->value.num = rw->work->ops.n;
}

static void push_readers(pdm_ir_rewriter *rw, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_results; i++) {
        for (pdm_ir_use *u = pdm_ir_value_first_use(pdm_ir_op_result(op, i)); u; u = u->next)
            push(rw, u->owner);
    }
}

static pdm_ir_op *pop(pdm_ir_rewriter *rw)
{
    struct pdm_ir_work *work = rw->work;

    while (work->ops.n > 0) {
        pdm_ir_op *op = work->ops.v[--work->ops.n];
        if (op) {
            pdm_map_remove(&work->place, op);
            return op;
        }
    }
    return NULL;
}

static pdm_status leave_list(void *user, pdm_ir_op *op)
{
    struct pdm_ir_work *work = user;
    const pdm_map_entry *entry = pdm_map_find(&work->place, op);

    if (entry && entry->value.num > 0)
        work->ops.v[entry->value.num - 1] = NULL;
    pdm_map_remove(&work->place, op);
    return PDM_OK;
}

static pdm_status push_walked(void *user, pdm_ir_op *op)
{
    pdm_ir_rewriter *rw = user;

    if (op->block)
        push(rw, op);
    return rw->status;
}

/* The first op of the program is to be taken first. */
static void reverse(struct pdm_ir_work *work)
{
    for (size_t i = 0, k = work->ops.n; i < k; i++) {
        pdm_ir_op *op = work->ops.v[i];
        if (i < --k) {
            work->ops.v[i] = work->ops.v[k];
            work->ops.v[k] = op;
        }
    }
    for (size_t i = 0; i < work->ops.n; i++)
        pdm_map_find(&work->place, work->ops.v[i])->value.num = i + 1;
}

/* ---- changes --------------------------------------------------------------------------------- */

void pdm_ir_rw_erase(pdm_ir_rewriter *rw, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (value)
            push(rw, pdm_ir_value_op(value));
    }
    (void)!pdm_ir_walk(op, PDM_IR_PRE_ORDER, leave_list, rw->work);
    pdm_ir_writes_forget(rw->writes, op);
    if (rw->at == op)
        rw->at = op->next;
    pdm_ir_op_erase(op);
}

pdm_ir_op *pdm_ir_rw_make_typed(pdm_ir_rewriter *rw, pdm_ir_op_code code,
                                pdm_ir_value *const *operands, size_t num_operands,
                                const pdm_ir_make_attr *attrs, const pdm_ir_type *types,
                                size_t num_types)
{
    if (rw->status != PDM_OK)
        return NULL;
    pdm_ir_op *op = pdm_ir_make(rw->at, code, operands, num_operands, attrs, types, num_types,
                                &rw->status);
    push(rw, op);
    return op;
}

pdm_ir_op *pdm_ir_rw_make(pdm_ir_rewriter *rw, pdm_ir_op_code code, pdm_ir_value *const *operands,
                          size_t num_operands, const pdm_ir_make_attr *attrs)
{
    return pdm_ir_rw_make_typed(rw, code, operands, num_operands, attrs, NULL, 0);
}

pdm_ir_op *pdm_ir_rw_make_like(pdm_ir_rewriter *rw, const pdm_ir_op *op, pdm_ir_value *x)
{
    enum { MOST = 8 };
    const pdm_ir_op_info *info = op->info;
    pdm_ir_make_attr attrs[PDM_IR_MAX_ROW_ATTRS + 1];
    pdm_ir_value *in[MOST] = {x};
    size_t n = 0;

    if (!x || !info->desc || op->num_operands == 0 || op->num_operands > MOST)
        return NULL;
    for (uint16_t i = 0; i < info->desc->num_attrs; i++) {
        const pdm_ir_attr attr = pdm_ir_op_row_attr(op, i);
        if (attr)
            attrs[n++] = (pdm_ir_make_attr){info->attr_names[i], attr};
    }
    attrs[n] = (pdm_ir_make_attr){0};
    for (uint32_t i = 1; i < op->num_operands; i++)
        in[i] = pdm_ir_op_operand_value(op, i);
    return pdm_ir_rw_make(rw, info->code, in, op->num_operands, attrs);
}

pdm_ir_value *pdm_ir_rw_make_number(pdm_ir_rewriter *rw, pdm_dtype dtype, double number)
{
    const int64_t one = 1;
    const pdm_ir_make_attr attrs[] = {{"shape", pdm_ir_attr_int_array(rw->context, &one, 1)},
                                      {"value", pdm_ir_attr_f64(rw->context, number)},
                                      {"dtype", pdm_ir_attr_dtype(rw->context, dtype)},
                                      {"place", pdm_ir_attr_place(rw->context, 1, 0, "")},
                                      {0}};
    pdm_ir_op *op = pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_full, NULL, 0, attrs);

    return op ? pdm_ir_op_result(op, 0) : NULL;
}

pdm_ir_value *pdm_ir_rw_make_ints(pdm_ir_rewriter *rw, const int64_t *ints, size_t count)
{
    const pdm_ir_make_attr attrs[] = {{"value", pdm_ir_attr_i64s(rw->context, ints, count)},
                                      {"dtype", pdm_ir_attr_dtype(rw->context, PDM_I64)},
                                      {"place", pdm_ir_attr_place(rw->context, 1, 0, "")},
                                      {0}};
    pdm_ir_op *op = pdm_ir_rw_make(rw, PDM_IR_OP_pd_op_full_int_array, NULL, 0, attrs);

    return op ? pdm_ir_op_result(op, 0) : NULL;
}

void pdm_ir_rw_set_operand(pdm_ir_rewriter *rw, pdm_ir_op *op, size_t index, pdm_ir_value *value)
{
    pdm_ir_value *old = pdm_ir_op_operand_value(op, index);

    if (old)
        push(rw, pdm_ir_value_op(old));
    pdm_ir_use_set(pdm_ir_op_operand(op, index), value);
    push(rw, op);
}

/* What is noted beside the results, such as stop_gradient. */
static void carry_notes(pdm_ir_rewriter *rw, const pdm_ir_op *from, pdm_ir_op *to)
{
    const pdm_ir_attr note = pdm_ir_op_attr(from, "stop_gradient");

    if (note && from->num_results == to->num_results && !pdm_ir_op_attr(to, "stop_gradient") &&
        !pdm_ir_op_set_attr(rw->context, to, "stop_gradient", note))
        rw->status = PDM_NOMEM;
}

bool pdm_ir_rw_replace(pdm_ir_rewriter *rw, pdm_ir_op *op, pdm_ir_op *with)
{
    bool fits = rw->status == PDM_OK && with != NULL;

    for (uint32_t i = 0; fits && i < op->num_results; i++) {
        pdm_ir_value *old = pdm_ir_op_result(op, i);
        if (!pdm_ir_value_has_uses(old))
            continue;
        pdm_ir_value *made = i < with->num_results ? pdm_ir_op_result(with, i) : NULL;
        const pdm_ir_type type = made ? pdm_ir_type_meet(rw->context, old->type, made->type) : NULL;
        if (type)
            made->type = type;
        fits = type != NULL;
    }
    if (!fits) {
        if (with)
            pdm_ir_rw_erase(rw, with);
        return false;
    }
    carry_notes(rw, op, with);
    for (uint32_t i = 0; i < op->num_results && i < with->num_results; i++) {
        if (!pdm_ir_writes_move(rw->writes, pdm_ir_op_result(op, i), pdm_ir_op_result(with, i)))
            rw->status = PDM_NOMEM;
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), pdm_ir_op_result(with, i));
    }
    push_readers(rw, with);
    pdm_ir_rw_erase(rw, op);
    return true;
}

bool pdm_ir_rw_forward(pdm_ir_rewriter *rw, pdm_ir_op *op, pdm_ir_value *value)
{
    pdm_ir_value *out = pdm_ir_op_result(op, 0);

    if (rw->status != PDM_OK || !value || value == out || pdm_ir_rw_is_written(rw, out) ||
        pdm_ir_rw_is_written(rw, value) || !pdm_ir_type_covers(value->type, out->type))
        return false;
    for (uint32_t i = 1; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return false;
    }
    push_readers(rw, op);
    pdm_ir_value_replace_all_uses(out, value);
    pdm_ir_rw_erase(rw, op);
    return true;
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool reads_written(const pdm_ir_rewriter *rw, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        if (pdm_ir_rw_is_written(rw, pdm_ir_op_operand_value(op, i)))
            return true;
    }
    return false;
}

pdm_ir_op *pdm_ir_rw_maker(const pdm_ir_rewriter *rw, const pdm_ir_value *value, bool only_use)
{
    pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;

    if (!op || op->block != rw->at->block || pdm_ir_rw_is_written(rw, value) ||
        reads_written(rw, op))
        return NULL;
    const pdm_ir_use *use = pdm_ir_value_first_use(value);
    if (only_use && (!use || use->next))
        return NULL;
    for (uint32_t i = 0; only_use && i < op->num_results; i++) {
        if (pdm_ir_op_result(op, i) != value && pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return NULL;
    }
    return op;
}

pdm_ir_op *pdm_ir_rw_producer(const pdm_ir_rewriter *rw, const pdm_ir_op *op, size_t index,
                              pdm_ir_op_code code)
{
    pdm_ir_op *made = index < op->num_operands
                          ? pdm_ir_rw_maker(rw, pdm_ir_op_operand_value(op, index), false)
                          : NULL;

    return made && made->info->code == code ? made : NULL;
}

bool pdm_ir_op_flag(const pdm_ir_op *op, const char *name)
{
    const pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_BOOL && attr->u.b;
}

const char *pdm_ir_op_text(const pdm_ir_op *op, const char *name)
{
    const pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    return attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : "";
}

double pdm_ir_op_number(const pdm_ir_op *op, const char *name, double fallback)
{
    const pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    if (!attr)
        return fallback;
    if (attr->kind == PDM_IR_ATTR_F32 || attr->kind == PDM_IR_ATTR_F64 ||
        (attr->kind == PDM_IR_ATTR_SCALAR && pdm_dtype_is_float(attr->dtype)))
        return attr->u.f;
    if (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64 ||
        (attr->kind == PDM_IR_ATTR_SCALAR && pdm_dtype_is_int(attr->dtype)))
        return (double)attr->u.i;
    return fallback;
}

bool pdm_ir_op_ints(const pdm_ir_op *op, const char *name, int64_t *out, size_t capacity,
                    size_t *out_count)
{
    const pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    if (!attr || attr->kind != PDM_IR_ATTR_ARRAY || attr->count > capacity)
        return false;
    for (uint32_t i = 0; i < attr->count; i++) {
        const pdm_ir_attr item = attr->u.items[i];
        if (item->kind != PDM_IR_ATTR_I32 && item->kind != PDM_IR_ATTR_I64)
            return false;
        out[i] = item->u.i;
    }
    *out_count = attr->count;
    return true;
}

bool pdm_ir_op_perm(const pdm_ir_op *op, int64_t *out, size_t *out_rank)
{
    if (!pdm_ir_op_ints(op, "perm", out, PDM_MAX_RANK, out_rank))
        return false;
    for (size_t i = 0; i < *out_rank; i++) {
        out[i] += out[i] < 0 ? (int64_t)*out_rank : 0;
        if (out[i] < 0 || (size_t)out[i] >= *out_rank)
            return false;
    }
    return true;
}

/* ---- operands -------------------------------------------------------------------------------- */

pdm_ir_value *pdm_ir_op_in(const pdm_ir_op *op, uint32_t index)
{
    return index < op->num_operands ? pdm_ir_op_operand_value(op, index) : NULL;
}

bool pdm_ir_shape_says_all(const pdm_ir_value *shape)
{
    enum { MAX_INTS = 64 };
    int64_t dims[MAX_INTS];
    size_t count;

    if (!pdm_ir_const_ints(shape, dims, MAX_INTS, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (dims[i] == 0)
            return false;
    }
    return true;
}

bool pdm_ir_same_axis(const pdm_ir_value *a, const pdm_ir_value *b)
{
    int64_t one, other;
    size_t n, m;

    return pdm_ir_const_ints(a, &one, 1, &n) && pdm_ir_const_ints(b, &other, 1, &m) && n == 1 && m == 1 && one == other;
}

bool pdm_ir_ints_are(const int64_t *ints, size_t count, int64_t wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (ints[i] != wanted)
            return false;
    }
    return true;
}

/* ---- patterns by op -------------------------------------------------------------------------- */

/* A pattern made ready: its root and its picture. */
typedef struct ready {
    const pdm_ir_pattern *pattern;
    const pdm_ir_op_info *root; /* NULL: any op */
    pdm_ir_picture *picture;    /* NULL: it has a function */
    size_t order;
} ready;

static int by_benefit(const void *a, const void *b)
{
    const ready *x = a, *y = b;

    if (x->pattern->benefit != y->pattern->benefit)
        return x->pattern->benefit > y->pattern->benefit ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static pdm_status make_ready(pdm_ir_pass_run *run, const pdm_ir_pattern *pattern, ready *out)
{
    pdm_status status = PDM_OK;

    if (pattern->from) {
        PDM_TRY(pdm_ir_picture_create(run->context, pattern, run->sink, &out->picture));
        out->root = pdm_ir_picture_root(out->picture);
    } else if (pattern->root) {
        out->root = pdm_ir_op_info_get(run->context, pattern->root, &status);
        if (!out->root && status == PDM_OK)
            return pdm_diag(run->sink, PDM_D_INTERNAL, NULL, NULL,
                            "pattern '%s' is for an op that is not known", pattern->name);
    }
    return status;
}

static bool apply(pdm_ir_rewriter *rw, const ready *patterns, size_t count, pdm_ir_op *op)
{
    const char *name = NULL;

    if (reads_written(rw, op))
        return false;
    for (size_t i = 0; i < count && !name && rw->status == PDM_OK; i++) {
        const ready *p = &patterns[i];
        if (p->root && p->root != op->info)
            continue;
        rw->at = op;
        if (p->picture ? pdm_ir_picture_apply(p->picture, rw, op) : p->pattern->rewrite(rw, op))
            name = p->pattern->name;
    }
    if (name && !pdm_ir_pass_hit(rw->run, name))
        rw->status = PDM_NOMEM;
    return name != NULL;
}

static pdm_status drive(pdm_ir_rewriter *rw, const ready *patterns, size_t count)
{
    enum { FACTOR = 32, LEAST = 1024 };

    PDM_TRY(pdm_ir_walk(rw->run->module->op, PDM_IR_PRE_ORDER, push_walked, rw));
    reverse(rw->work);
    size_t left = LEAST + FACTOR * rw->work->ops.n;
    for (pdm_ir_op *op; rw->status == PDM_OK && (op = pop(rw));) {
        if (pdm_ir_is_unused(op) && pdm_ir_is_removable(op)) {
            rw->run->changed = true;
            rw->at = NULL;
            pdm_ir_rw_erase(rw, op);
            continue;
        }
        if (!apply(rw, patterns, count, op) || --left > 0)
            continue;
        return pdm_diag(rw->run->sink, PDM_D_IR_ENDLESS, NULL, "please report this with the model",
                        "pass '%s' was ended: its patterns do not come to an end",
                        rw->run->stats->pass->name);
    }
    return rw->status;
}

pdm_status pdm_ir_rewrite(pdm_ir_pass_run *run, const pdm_ir_pattern *patterns, size_t num_patterns)
{
    struct pdm_ir_work work = {0};
    pdm_ir_rewriter rw = {
        .run = run, .context = run->context, .status = PDM_OK, .work = &work};
    ready *all = calloc(num_patterns + 1, sizeof *all);
    pdm_status status = all ? pdm_ir_pass_writes(run, &rw.writes) : PDM_NOMEM;

    for (size_t i = 0; status == PDM_OK && i < num_patterns; i++) {
        all[i] = (ready){.pattern = &patterns[i], .order = i};
        status = make_ready(run, &patterns[i], &all[i]);
    }
    if (status == PDM_OK) {
        qsort(all, num_patterns, sizeof *all, by_benefit);
        status = drive(&rw, all, num_patterns);
    }
    for (size_t i = 0; all && i < num_patterns; i++)
        pdm_ir_picture_destroy(all[i].picture);
    free(all);
    pdm_map_deinit(&work.place);
    PDM_VEC_FREE(&work.ops);
    return status;
}
