/* Recurrences: `recurrent` (StaticRNN) as a loop over its sub-block, and the likelihood of
 * linear-chain CRFs. */
#include "translator/expressed.h"

#include <string.h>

/* ---- recurrent ------------------------------------------------------------------------------- */

/*
 * Inputs are cut along their first dim, one part a turn, and known in the sub-block by their own
 * names; a state is known by its name in ex_states, and becomes what the sub-block leaves under its
 * name in states; outputs are stacked, again under the same names.
 */

#define MAX_STATES 4

typedef struct recurrent {
    int32_t sub;
    const pdm_lg_slot *inputs, *outputs;
    const char *const *before, *const *after; /* ex_states and states */
    size_t num_states, num_outputs;
    pdm_ir_value **sequences;
    pdm_ir_value *last; /* of a reversed one: the last turn */
    pdm_ir_type *steps; /* type of one step of each output, once known */
} recurrent;

/* A list of names, interned as those of the sub-block are. */
static const char **names_of(pdm_tr_op *t, int32_t sub, const char *name, size_t *out_count)
{
    const pdm_lg_attr *a = pdm_lg_find_attr(t->op, name);
    if (!a || a->type != PDM_LG_STRINGS) {
        pdm_tr_error(t, PDM_D_LG_ATTR_KIND, name, NULL,
                     "attribute '%s' of '%s' should be a list of strings", name, t->op->type);
        return NULL;
    }
    const char **names = pdm_arena_calloc(&t->tr->scratch, a->count + 1, sizeof *names);
    if (!names) {
        pdm_tr_nomem(t->tr);
        return NULL;
    }
    const pdm_lg_block *b = &t->tr->program->blocks[sub];
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < b->num_vars && !names[i]; k++)
            if (strcmp(b->vars[k].name, a->u.strings[i]) == 0)
                names[i] = b->vars[k].name;
        if (!names[i]) {
            pdm_tr_error(t, PDM_D_LG_CONTROL_FLOW, a->u.strings[i], NULL,
                         "the state '%s' of 'recurrent' is not declared in its sub-block",
                         a->u.strings[i]);
            return NULL;
        }
    }
    *out_count = a->count;
    return names;
}

/* Names that the sub-block declares anew hide those around it. */
static void hide_own(pdm_tr *tr, int32_t sub)
{
    const pdm_lg_block *b = &tr->program->blocks[sub];
    for (size_t i = 0; i < b->num_vars; i++)
        if (!b->vars[i].persistable && pdm_tr_has_value(tr, b->vars[i].name))
            pdm_tr_hide(tr, b->vars[i].name);
}

static void recurrent_turn(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value **values, void *user)
{
    recurrent *r = user;
    pdm_tr *tr = t->tr;
    int32_t outside = tr->scope->lg_block;
    pdm_ir_value *at = r->last ? pdm_tr_binary(t, "pd_op.subtract", r->last, turn) : turn;
    tr->scope->lg_block = r->sub;
    hide_own(tr, r->sub);
    for (size_t i = 0; r->inputs && i < r->inputs->num_args; i++) {
        pdm_ir_value *part = pdm_tr_take(t, r->sequences[i], at);
        pdm_tr_bind(tr, r->inputs->args[i], pdm_tr_squeeze(t, part, (int64_t[]){0}, 1));
    }
    for (size_t i = 0; i < r->num_states; i++)
        pdm_tr_bind(tr, r->before[i], values[i]);
    if (tr->status == PDM_OK && !t->failed)
        pdm_tr_block(tr, r->sub);
    for (size_t i = 0; i < r->num_states && tr->status == PDM_OK; i++) {
        pdm_ir_type type = values[i] ? values[i]->type : NULL;
        values[i] = pdm_tr_value(tr, r->after[i]);
        if (!values[i] && !t->failed)
            pdm_tr_error(t, PDM_D_LG_UNDEFINED, r->after[i], NULL,
                         "the sub-block of 'recurrent' never writes its state '%s'", r->after[i]);
        else if (values[i] && type)
            pdm_tr_retype(values[i], type);
    }
    for (size_t i = 0; i < r->num_outputs && tr->status == PDM_OK; i++) {
        pdm_ir_value *x = pdm_tr_value(tr, r->outputs->args[i]),
                     **array = &values[r->num_states + i];
        if (!x || !*array) {
            t->failed = true;
            break;
        }
        pdm_ir_type type = (*array)->type;
        r->steps[i] = x->type;
        *array =
            pdm_tr_result(pdm_tr_emit_typed(t, "pd_op.array_write_", PDM_TR_OPS(*array, x, turn),
                                            PDM_TR_NO_ATTRS, &type, 1),
                          0);
    }
    tr->scope->lg_block = outside;
}

static pdm_ir_value *stacked(pdm_tr_op *t, const recurrent *r, size_t i, pdm_ir_value *array)
{
    int64_t dims[PDM_MAX_RANK + 1];
    pdm_ir_type step = r->steps[i];
    if (!step || !array || step->rank >= PDM_MAX_RANK)
        return NULL;
    dims[0] = r->num_states || r->sequences ? pdm_tr_known_dim(r->sequences[0], 0) : -1;
    memcpy(dims + 1, step->dims, step->rank * sizeof *dims);
    pdm_ir_type types[2] = {pdm_tr_tensor_type(t, step->dtype, dims, step->rank + 1),
                            pdm_tr_tensor_type(t, PDM_I32, (int64_t[]){-1}, 1)};
    pdm_ir_op *op = pdm_tr_emit_typed(
        t, "pd_op.array_to_tensor", PDM_TR_OPS(array),
        PDM_TR_ATTRS({"axis", pdm_tr_a_i32(t, 0), 0}, {"use_stack", pdm_tr_a_bool(t, true), 0}),
        types, 2);
    pdm_ir_value *out = pdm_tr_result(op, 0);
    if (r->last)
        out = pdm_tr_emit1(t, "pd_op.flip", PDM_TR_OPS(out),
                           PDM_TR_ATTRS({"axis", pdm_tr_a_i32s(t, (int64_t[]){0}, 1), 0}));
    return out;
}

static bool prepare_recurrent(pdm_tr_op *t, recurrent *r)
{
    size_t num_before = 0;
    r->sub = pdm_lg_sub_block(t->op);
    r->inputs = pdm_lg_find_input(t->op, "inputs");
    r->outputs = pdm_lg_find_output(t->op, "outputs");
    if (r->sub >= 0) {
        r->before = names_of(t, r->sub, "ex_states", &num_before);
        r->after = names_of(t, r->sub, "states", &r->num_states);
    }
    r->num_outputs = r->outputs ? r->outputs->num_args : 0;
    size_t n = r->inputs ? r->inputs->num_args : 0;
    if (t->failed)
        return false;
    if (r->sub < 0 || n == 0 || num_before != r->num_states ||
        r->num_states != pdm_tr_num_in(t, "initial_states")) {
        pdm_tr_error(t, PDM_D_LG_CONTROL_FLOW, NULL, NULL,
                     "'recurrent' needs a sub-block, inputs, and as many states as initial states");
        return false;
    }
    if (r->num_states + r->num_outputs > MAX_STATES * 2) {
        pdm_tr_unsupported(t, NULL, "'recurrent' with more than %d states and outputs",
                           MAX_STATES * 2);
        return false;
    }
    r->sequences = pdm_arena_calloc(&t->tr->scratch, n, sizeof *r->sequences);
    r->steps = pdm_arena_calloc(&t->tr->scratch, r->num_outputs + 1, sizeof *r->steps);
    if (!r->sequences || !r->steps) {
        pdm_tr_nomem(t->tr);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        r->sequences[i] = pdm_tr_in_at(t, "inputs", i);
    return !t->failed && t->tr->status == PDM_OK;
}

void pdm_tr_h_recurrent(pdm_tr_op *t)
{
    recurrent r = {0};
    pdm_ir_value *values[MAX_STATES * 2];
    if (!prepare_recurrent(t, &r))
        return;
    pdm_ir_value *turns = pdm_tr_dim_value(t, r.sequences[0], 0);
    if (pdm_tr_bool_or(t, "reverse", false))
        r.last = pdm_tr_scale(t, turns, 1, -1);
    for (size_t i = 0; i < r.num_states; i++)
        values[i] = pdm_tr_in_at(t, "initial_states", i);
    for (size_t i = 0; i < r.num_outputs; i++) {
        const pdm_lg_var *var = pdm_tr_out_var(t, "outputs", i);
        values[r.num_states + i] = pdm_tr_new_array(t, var ? var->dtype : PDM_F32);
    }
    pdm_tr_count_loop(t, turns, values, r.num_states + r.num_outputs, recurrent_turn, &r);
    for (size_t i = 0; i < r.num_outputs && !t->failed; i++)
        pdm_tr_out_at(t, "outputs", i, stacked(t, &r, i, values[r.num_states + i]));
}

/* ---- linear_chain_crf ------------------------------------------------------------------------ */

typedef struct crf {
    pdm_ir_value *x, *lengths, *steps; /* [n, steps, tags], [n, 1], transitions [1, tags, tags] */
} crf;

static pdm_ir_value *log_sum(pdm_tr_op *t, pdm_ir_value *x, int64_t axis)
{
    return pdm_tr_emit1(t, "pd_op.logsumexp", PDM_TR_OPS(x),
                        PDM_TR_ATTRS({"axis", pdm_tr_a_i32s(t, &axis, 1), 0},
                                     {"keepdim", pdm_tr_a_bool(t, false), 0}));
}

/* alpha [n, tags] of the next step, where the sequence is that long. */
static void crf_turn(pdm_tr_op *t, pdm_ir_value *turn, pdm_ir_value **values, void *user)
{
    const crf *c = user;
    if (!values[0])
        return;
    pdm_ir_type type = values[0]->type;
    pdm_ir_value *at = pdm_tr_scale(t, turn, 1, 1), *axis = pdm_tr_const_i(t, PDM_I32, 1);
    pdm_ir_value *x = pdm_tr_emit1(t, "pd_op.gather", PDM_TR_OPS(c->x, at, axis), PDM_TR_NO_ATTRS);
    pdm_ir_value *sum = pdm_tr_unsqueeze(t, values[0], (int64_t[]){2}, 1);
    sum = log_sum(t, pdm_tr_binary(t, "pd_op.add", sum, c->steps), 1);
    sum = pdm_tr_binary(t, "pd_op.add", sum, pdm_tr_squeeze(t, x, (int64_t[]){1}, 1));
    pdm_ir_value *inside = pdm_tr_binary(t, "pd_op.less_than", at, c->lengths);
    const pdm_tr_dim dims[2] = {PDM_TR_DIM_OF(sum, 0), PDM_TR_DIM_OF(sum, 1)};
    values[0] = pdm_tr_where(t, pdm_tr_expand_dims(t, inside, dims, 2), sum, values[0]);
    pdm_tr_retype(values[0], type);
}

/* The sum of what the labels pick of x [n, steps], inside of the sequences and from step `from` on.
 */
static pdm_ir_value *path_sum(pdm_tr_op *t, pdm_ir_value *x, pdm_ir_value *lengths, int from)
{
    pdm_ir_value *at = pdm_tr_iota(t, pdm_tr_dim_value(t, x, 1), PDM_I64);
    at = pdm_tr_unsqueeze(t, from ? pdm_tr_scale(t, at, 1, from) : at, (int64_t[]){0}, 1);
    pdm_ir_value *inside = pdm_tr_binary(t, "pd_op.less_than", at, lengths);
    x = pdm_tr_where(t, inside, x, pdm_tr_full_like(t, x, 0, pdm_tr_dtype_of(x)));
    return pdm_tr_reduce(t, "pd_op.sum", x, (int64_t[]){1}, 1, true);
}

/* Score of the labelled path [n, 1]: start, emissions, transitions, end. */
static pdm_ir_value *path_score(pdm_tr_op *t, const crf *c, pdm_ir_value *w, pdm_ir_value *labels)
{
    const int64_t any = -1, last = 2, tags = pdm_tr_known_dim(c->x, 2);
    pdm_ir_value *picked = pdm_tr_take_along(t, c->x, pdm_tr_unsqueeze(t, labels, &last, 1), 2);
    pdm_ir_value *score = path_sum(t, pdm_tr_squeeze(t, picked, &last, 1), c->lengths, 0);
    pdm_ir_value *one = PDM_TR_INTS(t, 1), *zero = PDM_TR_INTS(t, 0),
                 *n = pdm_tr_dim_value(t, labels, 1);
    pdm_ir_value *pairs = pdm_tr_scale(
        t, pdm_tr_slice_by(t, labels, 1, zero, pdm_tr_scale(t, n, 1, -1)), (double)tags, 0);
    pairs = pdm_tr_binary(t, "pd_op.add", pairs, pdm_tr_slice_by(t, labels, 1, one, n));
    pdm_ir_value *shape = pdm_tr_shape64(t, pairs);
    pdm_ir_value *steps = pdm_tr_reshape(t, c->steps, &any, 1);
    steps = pdm_tr_take(t, steps, pdm_tr_reshape(t, pairs, &any, 1));
    steps = pdm_tr_binary(t, "pd_op.reshape", steps, shape);
    if (steps)
        pdm_tr_retype(steps, pdm_tr_tensor_type(t, pdm_tr_dtype_of(w), (int64_t[]){-1, -1}, 2));
    score = pdm_tr_binary(t, "pd_op.add", score, path_sum(t, steps, c->lengths, 1));
    pdm_ir_value *ends[2] = {pdm_tr_slice(t, labels, 1, 0, 1), NULL};
    ends[1] = pdm_tr_binary(t, "pd_op.maximum", pdm_tr_scale(t, c->lengths, 1, -1), zero);
    ends[1] = pdm_tr_take_along(t, labels, ends[1], 1);
    for (int i = 0; i < 2; i++) {
        pdm_ir_value *row = pdm_tr_reshape(t, pdm_tr_slice(t, w, 0, i, i + 1), &any, 1);
        row = pdm_tr_take(t, row, pdm_tr_reshape(t, ends[i], &any, 1));
        row = pdm_tr_reshape(t, row, (int64_t[]){-1, 1}, 2);
        score = pdm_tr_binary(t, "pd_op.add", score, row);
    }
    return score;
}

void pdm_tr_h_linear_chain_crf(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "Emission"), *w = pdm_tr_in(t, "Transition"),
                 *labels = pdm_tr_in(t, "Label"), *lengths = pdm_tr_in_opt(t, "Length");
    pdm_ir_value *zero = pdm_tr_const_f(t, pdm_tr_dtype_of(x), 0);
    int64_t tags = pdm_tr_known_dim(w, 1);
    if (t->failed || !x || !w)
        return;
    labels = pdm_tr_cast(t, labels, PDM_I64);
    if (lengths) {
        int rank = pdm_tr_need_rank(t, labels);
        if (rank == 3)
            labels = pdm_tr_squeeze(t, labels, (int64_t[]){2}, 1);
    } else {
        lengths = pdm_tr_lengths(t, x);
        pdm_ir_value *none = pdm_tr_fill_i(t, (int64_t[]){1}, 1, PDM_I64, 0);
        x = pdm_tr_padded(t, x, lengths, zero);
        labels = pdm_tr_reshape(t, labels, (int64_t[]){-1, 1}, 2);
        labels = pdm_tr_squeeze(t, pdm_tr_padded(t, labels, lengths, none), (int64_t[]){2}, 1);
    }
    lengths = pdm_tr_cast(t, pdm_tr_reshape(t, lengths, (int64_t[]){-1, 1}, 2), PDM_I64);
    crf c = {x, lengths, pdm_tr_slice(t, w, 0, 2, tags > 0 ? tags + 2 : INT32_MAX)};
    c.steps = pdm_tr_unsqueeze(t, c.steps, (int64_t[]){0}, 1);
    pdm_ir_value *first = pdm_tr_squeeze(t, pdm_tr_slice(t, x, 1, 0, 1), (int64_t[]){1}, 1);
    pdm_ir_value *alpha = pdm_tr_binary(t, "pd_op.add", first, pdm_tr_slice(t, w, 0, 0, 1));
    pdm_ir_value *turns = pdm_tr_scale(t, pdm_tr_dim_value(t, x, 1), 1, -1);
    pdm_tr_count_loop(t, turns, &alpha, 1, crf_turn, &c);
    alpha = log_sum(t, pdm_tr_binary(t, "pd_op.add", alpha, pdm_tr_slice(t, w, 0, 1, 2)), 1);
    pdm_ir_value *all = pdm_tr_reshape(t, alpha, (int64_t[]){-1, 1}, 2);
    all = pdm_tr_binary(t, "pd_op.subtract", all, path_score(t, &c, w, labels));
    pdm_ir_value *none = pdm_tr_binary(t, "pd_op.equal", lengths, PDM_TR_INTS(t, 0));
    pdm_tr_out(t, "LogLikelihood",
               pdm_tr_where(t, none, pdm_tr_full_like(t, all, 0, pdm_tr_dtype_of(all)), all));
}
