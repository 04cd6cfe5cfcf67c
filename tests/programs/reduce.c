/*
 * Each step makes a copy, changes it, and keeps it when it still fails: fewer sets of inputs and outputs; an op replaced by one of
 * its operands, or by an input with the numbers that it computed; a branch or one turn of a loop in the place of `if` and `while`;
 * attributes as they are by default; smaller sizes; plainer numbers.
 */
#include "reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/kernel.h"
#include "ir/infer.h"
#include "ir/make.h"
#include "judge.h"

enum { MAX_OPS = 2000, MAX_RESULTS = 8 };

/* What each op computed when it first ran, by its place in the module. */
typedef struct record {
    const pdm_ir_op *ops[MAX_OPS];
    size_t num_ops;
    pdm_tensor results[PROGRAM_MAX_SETS][MAX_OPS][MAX_RESULTS];
    int set;
} record;

typedef struct reducer {
    program *p;
    reduce_fails_fn fails;
    void *user;
    time_t until;
    record *record;
} reducer;

/* ---- ops of a module by number --------------------------------------------------------------- */

typedef struct op_list {
    pdm_ir_op *ops[MAX_OPS];
    size_t n;
} op_list;

static pdm_status list_op(void *user, pdm_ir_op *op)
{
    op_list *list = user;

    if (!pdm_ir_op_is(op, "builtin.module") && list->n < MAX_OPS)
        list->ops[list->n++] = op;
    return PDM_OK;
}

static void list_ops(const program *p, op_list *list)
{
    list->n = 0;
    if (pdm_ir_walk(p->module->op, PDM_IR_PRE_ORDER, list_op, list) != PDM_OK)
        list->n = 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool has_uses(const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (op->num_results && pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return true;
    }
    return false;
}

/* Ops whose results nobody reads, inputs too. Ops in place and the like stay. */
static void sweep(program *p)
{
    op_list *list = malloc(sizeof *list);

    for (bool again = list != NULL; again;) {
        again = false;
        list_ops(p, list);
        for (size_t i = list->n; i-- > 0;) {
            pdm_ir_op *op = list->ops[i];
            const uint16_t flags = op->info->desc ? op->info->desc->flags : PDM_IR_SIDE_EFFECT;
            if (op->num_results == 0 || has_uses(op) ||
                (flags & (PDM_IR_INPLACE | PDM_IR_WRITES | PDM_IR_SIDE_EFFECT | PDM_IR_TERMINATOR)) || op->num_regions > 0)
                continue;
            pdm_ir_op_erase(op);
            again = true;
        }
    }
    free(list);
}

/* Inputs and parameters that are not in the module any more. */
static void sweep_tensors(program *p)
{
    op_list *list = malloc(sizeof *list);

    if (!list)
        return;
    list_ops(p, list);
    for (int kind = 0; kind < 2; kind++) {
        program_tensor *v = kind ? p->parameters.v : p->inputs.v;
        size_t *n = kind ? &p->parameters.n : &p->inputs.n, kept = 0;
        for (size_t i = 0; i < *n; i++) {
            bool used = false;
            for (size_t k = 0; k < list->n && !used; k++) {
                const pdm_ir_attr name = pdm_ir_op_attr(list->ops[k], kind ? "parameter_name" : "name");
                used = pdm_ir_op_is(list->ops[k], kind ? "builtin.parameter" : "pd_op.data") && name && !strcmp(name->u.s.text, v[i].name);
            }
            if (!used) {
                for (int s = 0; s < PROGRAM_MAX_SETS; s++)
                    pdm_tensor_deinit(&v[i].sets[s]);
                continue;
            }
            v[kept++] = v[i];
        }
        *n = kept;
    }
    free(list);
}

static bool over(const reducer *r)
{
    return time(NULL) >= r->until;
}

static void quiet(void *user, const pdm_diagnostic *d)
{
    (void)user;
    (void)d;
}

/* Take the copy when it fails as well. It is used up. */
static bool take(reducer *r, program *copy)
{
    pdm_diag_sink sink = {.fn = quiet};

    sweep(copy);
    sweep_tensors(copy);
    if (!over(r) && pdm_ir_verify(copy->module, &sink) == PDM_OK && r->fails(r->user, copy)) {
        program_deinit(r->p);
        *r->p = *copy;
        return true;
    }
    program_deinit(copy);
    return false;
}

static void remember(void *user, const pdm_ir_op *op, const pdm_value *const *in, const pdm_value *const *out)
{
    record *rec = user;

    (void)in;
    for (size_t i = 0; i < rec->num_ops; i++) {
        if (rec->ops[i] != op)
            continue;
        for (uint32_t k = 0; k < op->num_results && k < MAX_RESULTS; k++) {
            pdm_tensor *t = &rec->results[rec->set][i][k];
            if (out[k] && out[k]->kind == PDM_VALUE_TENSOR && t->dtype == PDM_UNDEFINED && pdm_tensor_copy(t, &out[k]->tensor) != PDM_OK)
                pdm_tensor_init(t);
        }
        return;
    }
}

static void forget_record(record *rec)
{
    for (int s = 0; s < PROGRAM_MAX_SETS; s++) {
        for (size_t i = 0; i < rec->num_ops; i++) {
            for (size_t k = 0; k < MAX_RESULTS; k++)
                pdm_tensor_deinit(&rec->results[s][i][k]);
        }
    }
    rec->num_ops = 0;
}

static void make_record(reducer *r)
{
    op_list *list = malloc(sizeof *list);

    forget_record(r->record);
    memset(r->record, 0, sizeof *r->record);
    if (!list)
        return;
    list_ops(r->p, list);
    r->record->num_ops = list->n;
    memcpy(r->record->ops, list->ops, list->n * sizeof *list->ops);
    free(list);
    for (int s = 0; s < r->p->num_sets; s++) {
        r->record->set = s;
        (void)judge_observe(r->p, s, remember, r->record);
    }
}

static bool fewer_sets(reducer *r)
{
    bool changed = false;

    for (int s = r->p->num_sets; s-- > 0 && r->p->num_sets > 1;) {
        program copy;
        if (over(r) || !program_clone(r->p, &copy))
            return changed;
        for (size_t i = 0; i < copy.inputs.n; i++) {
            pdm_tensor_deinit(&copy.inputs.v[i].sets[s]);
            memmove(&copy.inputs.v[i].sets[s], &copy.inputs.v[i].sets[s + 1],
                    (size_t)(PROGRAM_MAX_SETS - 1 - s) * sizeof copy.inputs.v[i].sets[s]);
            pdm_tensor_init(&copy.inputs.v[i].sets[PROGRAM_MAX_SETS - 1]);
        }
        copy.num_sets--;
        changed |= take(r, &copy);
    }
    return changed;
}

/* Change op number `at` of a copy in a way; false: that is not possible. */
typedef bool (*change_fn)(reducer *r, program *copy, pdm_ir_op *op, size_t at, int variant);

static bool erase_fetch(reducer *r, program *copy, pdm_ir_op *op, size_t at, int variant)
{
    (void)r;
    (void)at;
    if (variant > 0 || !pdm_ir_op_is(op, "pd_op.fetch"))
        return false;
    int col = 0;
    for (pdm_ir_op *other = copy->module->block->first; other; other = other->next) {
        if (other != op && pdm_ir_op_is(other, "pd_op.fetch") &&
            !pdm_ir_op_set_attr(copy->context, other, "col", pdm_ir_attr_i32(copy->context, col++)))
            return false;
    }
    pdm_ir_op_erase(op);
    return col > 0;
}

static bool is_source(const pdm_ir_op *op)
{
    return pdm_ir_op_is(op, "pd_op.data") || pdm_ir_op_is(op, "builtin.parameter") || pdm_ir_op_is(op, "pd_op.full") ||
           pdm_ir_op_is(op, "pd_op.full_int_array");
}

/* Operand `variant` for the first result. */
static bool use_operand(reducer *r, program *copy, pdm_ir_op *op, size_t at, int variant)
{
    (void)r;
    (void)copy;
    (void)at;
    if ((uint32_t)variant >= op->num_operands || op->num_results == 0 || is_source(op) || pdm_ir_op_is(op, "pd_op.fetch") ||
        !has_uses(op))
        return false;
    pdm_ir_value *x = pdm_ir_op_operand_value(op, (size_t)variant);
    if (!x || x->type != pdm_ir_op_result(op, 0)->type)
        return false;
    for (uint32_t i = 1; i < op->num_results; i++) {
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return false;
    }
    pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, 0), x);
    pdm_ir_op_erase(op);
    return true;
}

static pdm_ir_value *new_input(reducer *r, program *copy, pdm_ir_type type, size_t at, uint32_t result)
{
    char name[24];
    static unsigned next;
    pdm_status status;

    snprintf(name, sizeof name, "r%u", next++);
    program_tensor *t = program_add_input(copy, name);
    for (int s = 0; t && s < copy->num_sets; s++) {
        const pdm_tensor *made = &r->record->results[s][at][result];
        if (made->dtype == PDM_UNDEFINED)
            return NULL;
        pdm_tensor_ref(&t->sets[s], made);
    }
    pdm_ir_context *c = copy->context;
    pdm_ir_op *op = t ? pdm_ir_make(copy->module->block->first, PDM_IR_OP_pd_op_data, NULL, 0,
                                    (const pdm_ir_make_attr[]){{"name", pdm_ir_attr_str(c, name)},
                                                               {"shape", pdm_ir_attr_int_array(c, type->dims, type->rank)},
                                                               {"dtype", pdm_ir_attr_dtype(c, type->dtype)},
                                                               {"place", pdm_ir_attr_place(c, 0, 0, "")},
                                                               {NULL, NULL}},
                                    &type, 1, &status)
                      : NULL;
    return op ? pdm_ir_op_result(op, 0) : NULL;
}

/* What it computed as inputs. */
static bool use_inputs(reducer *r, program *copy, pdm_ir_op *op, size_t at, int variant)
{
    const uint16_t flags = op->info->desc ? op->info->desc->flags : PDM_IR_SIDE_EFFECT;

    if (variant > 0 || is_source(op) || (flags & PDM_IR_SIDE_EFFECT) || !has_uses(op) || op->num_results > MAX_RESULTS)
        return false;
    for (uint32_t i = 0; i < op->num_results; i++) {
        pdm_ir_value *v = pdm_ir_op_result(op, i);
        if (!pdm_ir_value_has_uses(v))
            continue;
        pdm_ir_value *with = pdm_ir_type_is_tensor(v->type) ? new_input(r, copy, v->type, at, i) : NULL;
        if (!with)
            return false;
        pdm_ir_value_replace_all_uses(v, with);
    }
    pdm_ir_op_erase(op);
    return true;
}

/* Nobody reads it, but it writes or has regions. */
static bool erase_unread(reducer *r, program *copy, pdm_ir_op *op, size_t at, int variant)
{
    (void)r;
    (void)copy;
    (void)at;
    if (variant > 0 || op->num_results == 0 || has_uses(op) || pdm_ir_op_is(op, "pd_op.fetch"))
        return false;
    pdm_ir_op_erase(op);
    return true;
}

/* The ops of region `variant` in the place of if or while. */
static bool inline_region(reducer *r, program *copy, pdm_ir_op *op, size_t at, int variant)
{
    (void)r;
    (void)copy;
    (void)at;
    if ((uint32_t)variant >= op->num_regions || !(pdm_ir_op_is(op, "pd_op.if") || pdm_ir_op_is(op, "pd_op.while")))
        return false;
    pdm_ir_block *block = pdm_ir_op_region(op, (size_t)variant)->first;
    const uint32_t skip = pdm_ir_op_is(op, "pd_op.while") ? 1 : 0;
    pdm_ir_op *last = block->last;
    if (!last || !pdm_ir_op_is(last, "cf.yield") || last->num_operands != op->num_results + skip)
        return false;
    for (uint32_t i = 0; i < block->num_args; i++)
        pdm_ir_value_replace_all_uses(pdm_ir_block_arg(block, i), pdm_ir_op_operand_value(op, i + 1));
    for (uint32_t i = 0; i < op->num_results; i++)
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), pdm_ir_op_operand_value(last, i + skip));
    pdm_ir_op_erase(last);
    while (block->first) {
        pdm_ir_op *moved = block->first;
        pdm_ir_op_detach(moved);
        pdm_ir_op_insert_before(moved, op);
    }
    pdm_ir_op_erase(op);
    return true;
}

/* Attribute `variant` of the row as by default. */
static bool plain_attribute(reducer *r, program *copy, pdm_ir_op *op, size_t at, int variant)
{
    (void)r;
    (void)at;
    if (!op->info->desc || variant >= op->info->desc->num_attrs || is_source(op) || !op->info->desc->attrs[variant].default_json)
        return false;
    const pdm_ir_attr plain = pdm_ir_op_info_default(op->info, (uint16_t)variant);
    const char *name = op->info->attr_names[variant];
    return plain && pdm_ir_op_attr(op, name) != plain && pdm_ir_op_set_attr(copy->context, op, name, plain) &&
           pdm_ir_infer_module(copy->module) == PDM_OK;
}

/* All ops from the last to the first, in all variants. */
static bool each_op(reducer *r, change_fn change, int variants)
{
    op_list *list = malloc(sizeof *list);
    bool changed = false;

    if (!list)
        return false;
    make_record(r);
    list_ops(r->p, list);
    for (size_t at = list->n; at-- > 0 && !over(r);) {
        for (int v = 0; v < variants; v++) {
            program copy;
            list_ops(r->p, list);
            if (at >= list->n || !program_clone(r->p, &copy))
                break;
            list_ops(&copy, list);
            if (!change(r, &copy, list->ops[at], at, v)) {
                program_deinit(&copy);
                continue;
            }
            if (take(r, &copy)) {
                changed = true;
                make_record(r);
                break;
            }
        }
    }
    free(list);
    return changed;
}

/* ---- sizes and numbers ----------------------------------------------------------------------- */

/* The first elements along each dim. */
static bool cut(const pdm_tensor *t, int64_t from, int64_t to, pdm_tensor *out)
{
    int64_t dims[PDM_MAX_RANK];
    bool changed = false;

    for (int d = 0; d < t->rank; d++) {
        dims[d] = t->dims[d] == from ? to : t->dims[d];
        changed |= t->dims[d] == from;
    }
    if (!changed || pdm_tensor_alloc(out, t->dtype, t->rank, dims) != PDM_OK)
        return false;
    const size_t size = pdm_dtype_size(t->dtype);
    for (int64_t i = 0, n = pdm_tensor_count(out); i < n; i++) {
        int64_t left = i, at = 0, step = 1;
        for (int d = t->rank; d-- > 0;) {
            at += left % dims[d] * step;
            left /= dims[d];
            step *= t->dims[d];
        }
        memcpy((char *)out->data + (size_t)i * size, (const char *)t->data + (size_t)at * size, size);
    }
    return true;
}

static void cut_all(program_tensor *v, size_t n, int64_t from, int64_t to)
{
    for (size_t i = 0; i < n; i++) {
        for (int s = 0; s < PROGRAM_MAX_SETS; s++) {
            pdm_tensor small = {0};
            if (v[i].sets[s].dtype == PDM_UNDEFINED || !cut(&v[i].sets[s], from, to, &small))
                continue;
            pdm_tensor_deinit(&v[i].sets[s]);
            v[i].sets[s] = small;
        }
    }
}

/* Every `from` is `to`: dims of inputs and parameters, numbers of constant arrays. */
static bool resize(program *copy, int64_t from, int64_t to)
{
    op_list *list = malloc(sizeof *list);
    pdm_ir_context *c = copy->context;
    bool ok = list != NULL;

    cut_all(copy->inputs.v, copy->inputs.n, from, to);
    cut_all(copy->parameters.v, copy->parameters.n, from, to);
    list_ops(copy, list);
    for (size_t i = 0; ok && i < list->n; i++) {
        pdm_ir_op *op = list->ops[i];
        int64_t dims[64];
        if (pdm_ir_op_is(op, "pd_op.data") || pdm_ir_op_is(op, "builtin.parameter")) {
            pdm_ir_value *v = pdm_ir_op_result(op, 0);
            for (uint32_t d = 0; d < v->type->rank; d++)
                dims[d] = v->type->dims[d] == from ? to : v->type->dims[d];
            v->type = pdm_ir_type_tensor(c, v->type->dtype, dims, v->type->rank);
            ok = v->type && (!pdm_ir_op_is(op, "pd_op.data") ||
                             pdm_ir_op_set_attr(c, op, "shape", pdm_ir_attr_int_array(c, dims, v->type->rank)));
        } else if (pdm_ir_op_is(op, "pd_op.full_int_array")) {
            const pdm_ir_attr old = pdm_ir_op_attr(op, "value");
            for (uint32_t d = 0; d < old->count && d < 64; d++)
                dims[d] = old->u.items[d]->u.i == from ? to : old->u.items[d]->u.i;
            ok = old->count > 64 || pdm_ir_op_set_attr(c, op, "value", pdm_ir_attr_i64s(c, dims, old->count));
        }
    }
    free(list);
    return ok && pdm_ir_infer_module(copy->module) == PDM_OK;
}

static bool smaller(reducer *r)
{
    bool changed = false;

    for (int64_t from = 16384; from > 1 && !over(r); from--) {
        bool met = false;
        for (size_t i = 0; i < r->p->inputs.n + r->p->parameters.n && !met; i++) {
            const program_tensor *t = i < r->p->inputs.n ? &r->p->inputs.v[i] : &r->p->parameters.v[i - r->p->inputs.n];
            for (int s = 0; s < PROGRAM_MAX_SETS; s++) {
                for (int d = 0; d < t->sets[s].rank; d++)
                    met |= t->sets[s].dims[d] == from;
            }
        }
        static const int64_t to[] = {1, 2, 3, 17, 100, 1000, 4097};
        for (size_t k = 0; met && k < sizeof to / sizeof *to && to[k] < from; k++) {
            program copy;
            if (!program_clone(r->p, &copy))
                return changed;
            if (!resize(&copy, from, to[k])) {
                program_deinit(&copy);
            } else if (take(r, &copy)) {
                changed = true;
                break;
            }
        }
    }
    return changed;
}

static bool is_plain(const pdm_tensor *t, double number)
{
    for (int64_t i = 0, n = pdm_tensor_count(t); i < n; i++) {
        if (pdm_get_double(t, i) != number)
            return false;
    }
    return true;
}

/* Zeros or ones, if that will do. */
static void plainer(reducer *r)
{
    for (size_t i = 0; i < r->p->inputs.n + r->p->parameters.n && !over(r); i++) {
        for (int number = 0; number < 2; number++) {
            program copy;
            bool plain = true;
            if (!program_clone(r->p, &copy))
                return;
            program_tensor *t = i < copy.inputs.n ? &copy.inputs.v[i] : &copy.parameters.v[i - copy.inputs.n];
            for (int s = 0; s < PROGRAM_MAX_SETS; s++) {
                if (t->sets[s].dtype == PDM_UNDEFINED)
                    continue;
                plain &= is_plain(&t->sets[s], number);
                if (pdm_tensor_make_writable(&t->sets[s]) != PDM_OK)
                    continue;
                for (int64_t k = 0, n = pdm_tensor_count(&t->sets[s]); k < n; k++)
                    pdm_set_double(&t->sets[s], k, number);
            }
            if (plain) {
                program_deinit(&copy);
                break;
            }
            if (take(r, &copy))
                break;
        }
    }
}

void program_reduce(program *p, reduce_fails_fn fails, void *user, int seconds)
{
    reducer r = {p, fails, user, time(NULL) + seconds, calloc(1, sizeof *r.record)};

    if (!r.record)
        return;
    for (bool again = true; again && !over(&r);) {
        again = fewer_sets(&r);
        again |= each_op(&r, erase_fetch, 1);
        again |= each_op(&r, inline_region, 2);
        again |= each_op(&r, erase_unread, 1);
        again |= each_op(&r, use_operand, 3);
        again |= each_op(&r, use_inputs, 1);
    }
    (void)smaller(&r);
    (void)each_op(&r, plain_attribute, 8);
    plainer(&r);
    forget_record(r.record);
    free(r.record);
}
