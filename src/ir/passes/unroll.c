/*
 * Loops that are known to make a few turns: the condition is computed turn by turn from what is known, and ops of the body stand
 * in the place of the loop, once for each turn.
 */
#include <stdlib.h>

#include "ir/channels.h"
#include "ir/pass.h"

enum { MAX_TURNS = 8, MAX_OPS = 128, MAX_SMALL = 64, MAX_COMPUTED = 256, MAX_OPERANDS = 8, DEPTH = 16 };

/* What is known in a turn. */
typedef struct turn {
    pdm_ir_pass_run *run;
    pdm_ir_writes *writes;
    pdm_ir_op *op, *yield;
    pdm_ir_block *body;
    pdm_tensor *args; /* uninitialised: not known */
    int computed;     /* so far, over all turns */
    pdm_status status;
} turn;

static bool is_plain(turn *t)
{
    t->body = t->op->num_regions == 1 ? pdm_ir_op_region(t->op, 0)->first : NULL;
    t->yield = t->body && !t->body->next ? t->body->last : NULL;
    return t->yield && PDM_IR_IS(t->yield, cf, yield) &&
           t->yield->num_operands == t->op->num_results + 1 &&
           t->op->num_operands == t->op->num_results + 1 &&
           t->body->num_args == t->op->num_results;
}

/* ---- how many turns -------------------------------------------------------------------------- */

static bool is_small(const pdm_ir_value *value)
{
    const int64_t count = pdm_ir_static_count(value);

    return count >= 1 && count <= MAX_SMALL;
}

static void compute(turn *t, const pdm_ir_value *value, pdm_tensor *out, int depth);

static void compute_op(turn *t, const pdm_ir_op *op, pdm_tensor *out, int depth)
{
    const pdm_ir_constant_source *source = t->run->constants->source;
    pdm_tensor in[MAX_OPERANDS] = {{0}};
    const pdm_tensor *refs[MAX_OPERANDS];
    size_t counts[MAX_OPERANDS], n = 0;
    bool known = op->num_operands <= MAX_OPERANDS && op->num_results == 1 && pdm_ir_is_pure(op) &&
                 op->num_operands == op->info->desc->num_operands;

    for (uint32_t i = 0; known && i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        counts[i] = value ? 1 : 0;
        if (!value)
            continue;
        compute(t, value, &in[n], depth - 1);
        known = in[n].dtype != PDM_UNDEFINED;
        refs[n] = &in[n];
        n++;
    }
    if (known && t->status == PDM_OK && t->computed++ < MAX_COMPUTED)
        t->status = source->compute(source->user, op, refs, counts, (pdm_tensor *[]){out});
    for (size_t i = 0; i < MAX_OPERANDS; i++)
        pdm_tensor_deinit(&in[i]);
}

/* The data of a value in this turn; uninitialised: not known. */
static void compute(turn *t, const pdm_ir_value *value, pdm_tensor *out, int depth)
{
    const pdm_ir_op *op = pdm_ir_value_op(value);

    if (t->status != PDM_OK || depth <= 0 || !is_small(value) ||
        pdm_ir_is_written_in_place(t->writes, value))
        return;
    for (uint32_t i = 0; !op && i < t->body->num_args; i++) {
        if (value == pdm_ir_block_arg(t->body, i) && t->args[i].dtype != PDM_UNDEFINED)
            pdm_tensor_ref(out, &t->args[i]);
    }
    if (!op)
        return;
    if (pdm_ir_is_constant(t->run->constants, value))
        t->status = pdm_ir_constant_get(t->run->constants, value, out);
    else
        compute_op(t, op, out, depth);
}

/* -1: not known. */
static int condition(turn *t, const pdm_ir_value *value)
{
    pdm_tensor c = {0};
    int result = -1;

    if (value)
        compute(t, value, &c, DEPTH);
    if (c.dtype == PDM_BOOL && pdm_tensor_count(&c) == 1)
        result = *(const unsigned char *)c.data != 0;
    pdm_tensor_deinit(&c);
    return result;
}

/* What the variables are in the turn after this one. */
static void next_turn(turn *t, pdm_tensor *next)
{
    for (uint32_t i = 0; i < t->op->num_results; i++) {
        pdm_tensor_init(&next[i]);
        compute(t, pdm_ir_op_operand_value(t->yield, i + 1), &next[i], DEPTH);
    }
    for (uint32_t i = 0; i < t->op->num_results; i++) {
        pdm_tensor_deinit(&t->args[i]);
        t->args[i] = next[i];
    }
}

/* -1: not known, or more than most. */
static int count_turns(turn *t, int most)
{
    const uint32_t count = t->op->num_results;
    pdm_tensor *next = calloc((size_t)count + 1, sizeof *next);
    int turns = 0, go_on;

    t->args = calloc((size_t)count + 1, sizeof *t->args);
    if (!t->args || !next) {
        t->status = PDM_NOMEM;
        go_on = -1;
    } else {
        for (uint32_t i = 0; i < count; i++)
            compute(t, pdm_ir_op_operand_value(t->op, i + 1), &t->args[i], DEPTH);
        go_on = condition(t, pdm_ir_op_operand_value(t->op, 0));
    }
    while (go_on == 1 && turns++ < most && t->status == PDM_OK) {
        go_on = condition(t, pdm_ir_op_operand_value(t->yield, 0));
        next_turn(t, next);
    }
    for (uint32_t i = 0; t->args && i < count; i++)
        pdm_tensor_deinit(&t->args[i]);
    free(t->args);
    free(next);
    return go_on == 0 && t->status == PDM_OK ? turns : -1;
}

/* ---- turns one after the other --------------------------------------------------------------- */

static pdm_status count_op(void *user, pdm_ir_op *op)
{
    (void)op;
    ++*(int *)user;
    return PDM_OK;
}

/* A variable has one type all along, so that ops of the body fit each turn as they are. */
static bool is_steady(const turn *t)
{
    for (uint32_t i = 0; i < t->op->num_results; i++) {
        const pdm_ir_type type = pdm_ir_op_result(t->op, i)->type;
        const pdm_ir_value *in = pdm_ir_op_operand_value(t->op, i + 1),
                           *out = pdm_ir_op_operand_value(t->yield, i + 1);
        if (!in || !out || in->type != type || out->type != type ||
            pdm_ir_block_arg(t->body, i)->type != type ||
            pdm_ir_is_written_in_place(t->writes, pdm_ir_block_arg(t->body, i)))
            return false;
    }
    return true;
}

static pdm_ir_value *mapped(const pdm_map *map, pdm_ir_value *value)
{
    const pdm_map_entry *entry = pdm_map_find(map, value);

    return entry ? entry->value.ptr : value;
}

static bool enter(pdm_map *map, const pdm_ir_value *from, pdm_ir_value *to)
{
    pdm_map_entry *entry = pdm_map_put(map, from);

    if (entry)
        entry->value.ptr = to;
    return entry != NULL;
}

/* One turn before the loop; values are those of the variables. */
static bool write_turn(turn *t, pdm_ir_value **values)
{
    pdm_map map = {0};
    bool ok = true;

    for (uint32_t i = 0; ok && i < t->op->num_results; i++)
        ok = enter(&map, pdm_ir_block_arg(t->body, i), values[i]);
    for (const pdm_ir_op *op = t->body->first; ok && op != t->yield; op = op->next) {
        pdm_ir_op *copy = pdm_ir_op_clone(t->run->context, op, &map);
        ok = copy != NULL;
        if (ok)
            pdm_ir_op_insert_before(copy, t->op);
    }
    for (uint32_t i = 0; ok && i < t->op->num_results; i++)
        values[i] = mapped(&map, pdm_ir_op_operand_value(t->yield, i + 1));
    pdm_map_deinit(&map);
    return ok;
}

static pdm_status write_out(turn *t, int turns)
{
    const uint32_t count = t->op->num_results;
    pdm_ir_value **values = calloc((size_t)count + 1, sizeof *values);
    bool ok = values != NULL;

    for (uint32_t i = 0; ok && i < count; i++)
        values[i] = pdm_ir_op_operand_value(t->op, i + 1);
    for (int i = 0; ok && i < turns; i++)
        ok = write_turn(t, values);
    for (uint32_t i = 0; ok && i < count; i++)
        pdm_ir_value_replace_all_uses(pdm_ir_op_result(t->op, i), values[i]);
    free(values);
    if (!ok || !pdm_ir_pass_hit(t->run, turns == 0 ? "no turn" : "a few turns"))
        return PDM_NOMEM;
    pdm_ir_op_erase(t->op);
    pdm_ir_pass_forget(t->run);
    return PDM_OK;
}

static pdm_status unroll(pdm_ir_pass_run *run, pdm_ir_op *op)
{
    turn t = {.run = run, .op = op, .status = PDM_OK};
    int ops = 0;

    if (!is_plain(&t))
        return PDM_OK;
    PDM_TRY(pdm_ir_pass_writes(run, &t.writes));
    PDM_TRY(pdm_ir_walk(op, PDM_IR_PRE_ORDER, count_op, &ops));
    if (ops > MAX_OPS || !is_steady(&t))
        return PDM_OK;
    const int turns = count_turns(&t, MAX_TURNS < MAX_OPS / ops ? MAX_TURNS : MAX_OPS / ops);
    return t.status == PDM_OK && turns >= 0 ? write_out(&t, turns) : t.status;
}

static pdm_status run(pdm_ir_pass_run *run, pdm_ir_block *block)
{
    if (!run->constants->source)
        return PDM_OK;
    for (pdm_ir_op *op = block->first, *next; op; op = next) {
        next = op->next;
        if (PDM_IR_IS(op, pd_op, while))
            PDM_TRY(unroll(run, op));
    }
    return PDM_OK;
}

const pdm_ir_pass pdm_ir_pass_unroll = {
    .name = "unroll",
    .summary = "Write out loops that are known to make a few turns, or none.",
    .block = run,
};
