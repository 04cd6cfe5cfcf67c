/* while → pd_op.while, conditional_block → pd_op.if: pure SSA, by the analysis of flow.h. */
#include <stdlib.h>
#include <string.h>

#include "translator/flow.h"

/* Each loop whose types grow is translated again, which doubles the work at each depth: from this
 * one on, all dims are taken for unknown. */
#define MAX_RETRY_DEPTH 3
#define MAX_ATTEMPTS    3

/* A variable that a region hands on. */
typedef struct carried {
    const pdm_lg_var *var;
    pdm_ir_value *value; /* on entry (loops) */
} carried;

typedef PDM_VEC(carried) carried_list;

void pdm_tr_flow_prepare(pdm_tr *tr)
{
    if (!tr->has_sub_blocks)
        return;
    tr->flow = pdm_tr_flow_analyse(tr);
    if (!tr->flow)
        pdm_tr_nomem(tr);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* The type that holds both: dims that differ become unknown. NULL: they do not fit together. */
static pdm_ir_type merge_types(pdm_tr *tr, pdm_ir_type a, pdm_ir_type b)
{
    if (a == b)
        return a;
    if (!a || !b || a->kind != b->kind || a->dtype != b->dtype)
        return NULL;
    if (a->kind != PDM_IR_DENSE_TENSOR)
        return a->kind == PDM_IR_TENSOR_ARRAY ? a : NULL;
    size_t rank = a->rank < b->rank ? a->rank : b->rank;
    int64_t dims[PDM_MAX_RANK];
    if (rank > PDM_MAX_RANK)
        return a;
    for (size_t i = 0; i < rank; i++)
        dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : -1;
    pdm_ir_type type = pdm_ir_type_tensor(tr->context, a->dtype, dims, rank);
    if (!type)
        pdm_tr_nomem(tr);
    return type;
}

/* A stand-in of a type, for a value that is never read when the program is sound: zeros (unknown
 * dims as 1), or an empty array. */
static pdm_ir_value *stand_in(pdm_tr_op *t, pdm_ir_type type)
{
    if (!type)
        return NULL;
    if (type->kind == PDM_IR_TENSOR_ARRAY) {
        pdm_ir_op *op =
            pdm_tr_emit_typed(t, "pd_op.create_array", PDM_TR_NO_OPS,
                              PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, type->dtype), 0}), &type, 1);
        return pdm_tr_result(op, 0);
    }
    if (type->kind != PDM_IR_DENSE_TENSOR || type->rank > PDM_MAX_RANK)
        return NULL;
    int64_t dims[PDM_MAX_RANK];
    for (uint32_t i = 0; i < type->rank; i++)
        dims[i] = type->dims[i] < 0 ? 1 : type->dims[i];
    return pdm_tr_fill(t, dims, type->rank, type->dtype, 0);
}

/* dy2static fills names that a branch leaves undefined with a constant of a type of its own choice:
 * a constant may take the other side's type. */
static bool is_placeholder(const pdm_ir_value *value)
{
    const pdm_ir_op *op = value ? pdm_ir_value_op(value) : NULL;
    /* dy2static copies the constant to the name. */
    while (op && PDM_IR_IS(op, pd_op, assign)) {
        value = pdm_ir_op_operand_value(op, 0);
        op = value ? pdm_ir_value_op(value) : NULL;
    }
    return op && (PDM_IR_IS(op, pd_op, full) || PDM_IR_IS(op, pd_op, assign_value) ||
                  PDM_IR_IS(op, pd_op, assign_value_));
}

/* A constant in place of one of another element type. */
static pdm_ir_value *retyped_placeholder(pdm_tr_op *t, pdm_ir_value *value, pdm_ir_type type)
{
    if (!pdm_ir_type_is_tensor(value->type) || !pdm_ir_type_is_tensor(type))
        return stand_in(t, type);
    return pdm_tr_cast(t, value, type->dtype);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Inner declarations of a name that is known outside are other variables. */
static void hide_locals(pdm_tr *tr, int32_t lg_block)
{
    const pdm_lg_block *b = &tr->program->blocks[lg_block];
    for (size_t i = 0; i < b->num_vars; i++)
        if (!b->vars[i].persistable && pdm_tr_has_value(tr, b->vars[i].name))
            pdm_tr_hide(tr, b->vars[i].name);
}

static pdm_ir_region *new_region(pdm_tr *tr)
{
    pdm_ir_region *region = pdm_ir_region_create_with_block();
    if (!region)
        pdm_tr_nomem(tr);
    return region;
}

static bool is_parameter(const pdm_ir_value *value)
{
    const pdm_ir_op *def = value ? pdm_ir_value_op(value) : NULL;
    return def && PDM_IR_IS(def, builtin, parameter);
}

/* Results share the memory of what is yielded: a parameter may be written in place later on, so a
 * copy is handed on. */
static void emit_yield(pdm_tr_op *t, pdm_ir_value **values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_parameter(values[i]))
            values[i] = pdm_tr_unary(t, "pd_op.assign", values[i]);
    pdm_tr_emit_typed(t, "cf.yield", values, n, PDM_TR_NO_ATTRS, NULL, 0);
}

/* A block that declares the name anew means another variable by it. */
static bool hides(const pdm_tr *tr, const pdm_tr_scope *scope, const pdm_lg_var *var)
{
    const pdm_lg_var *own = pdm_lg_block_var(&tr->program->blocks[scope->lg_block], var->name);
    return own && own != var && !own->persistable;
}

/* Read a variable by its declaration: an inner scope may hide the name. */
static pdm_ir_value *value_of(pdm_tr *tr, const pdm_lg_var *var)
{
    pdm_tr_scope *inner = tr->scope, *s = inner;
    while (s->parent && hides(tr, s, var))
        s = s->parent;
    tr->scope = s;
    pdm_ir_value *value = pdm_tr_value(tr, var->name);
    tr->scope = inner;
    return value;
}

/* ---- if -------------------------------------------------------------------------------------- */

/* One side of an if under construction: a legacy sub-block, or nothing. */
typedef struct branch {
    int32_t sub;                   /* -1: no sub-block */
    const pdm_lg_var *const *vars; /* what each result is on this side */
    pdm_ir_region *region;
    pdm_ir_value **values; /* by result; NULL: this side has none */
} branch;

static void fill_branch(pdm_tr_op *t, branch *side, size_t n)
{
    pdm_tr *tr = t->tr;
    pdm_tr_scope scope;
    side->region = new_region(tr);
    side->values = pdm_arena_calloc(&tr->scratch, n + 1, sizeof *side->values);
    if (!side->region || !side->values) {
        pdm_tr_nomem(tr);
        return;
    }
    pdm_tr_scope_push(tr, &scope, side->region->first,
                      side->sub >= 0 ? side->sub : tr->scope->lg_block, false);
    if (side->sub >= 0) {
        hide_locals(tr, side->sub);
        pdm_tr_block(tr, side->sub);
    }
    for (size_t i = 0; i < n && tr->status == PDM_OK; i++)
        side->values[i] = value_of(tr, side->vars[i]);
    pdm_tr_scope_pop(tr);
}

/* Agree on the result types; where one side has no value, or a placeholder of another type, it gets
 * a stand-in of the other's type. */
static bool settle_branches(pdm_tr_op *t, branch *on_true, branch *on_false, pdm_ir_type *types,
                            size_t n)
{
    branch *sides[2] = {on_true, on_false};
    for (size_t i = 0; i < n; i++) {
        pdm_ir_value *a = on_true->values[i], *b = on_false->values[i];
        int replace = !a ? 0 : !b ? 1 : -1;
        if (!a && !b) {
            pdm_tr_error(t, PDM_D_LG_CONTROL_FLOW, on_true->vars[i]->name, NULL,
                         "no branch of '%s' gives a value for '%s'", t->op->type,
                         on_true->vars[i]->name);
            return false;
        }
        if (replace < 0) {
            types[i] = merge_types(t->tr, a->type, b->type);
            if (types[i])
                continue;
            if (t->tr->status != PDM_OK)
                return false;
            replace = is_placeholder(a) ? 0 : is_placeholder(b) ? 1 : -1;
        }
        if (replace < 0) {
            pdm_tr_error(t, PDM_D_LG_CONTROL_FLOW, on_true->vars[i]->name, NULL,
                         "the branches give '%s' different types", on_true->vars[i]->name);
            return false;
        }
        pdm_tr_scope scope;
        pdm_ir_value *other = sides[!replace]->values[i], *old = sides[replace]->values[i];
        pdm_tr_scope_push(t->tr, &scope, sides[replace]->region->first, t->tr->scope->lg_block,
                          false);
        sides[replace]->values[i] =
            old ? retyped_placeholder(t, old, other->type) : stand_in(t, other->type);
        pdm_tr_scope_pop(t->tr);
        if (!sides[replace]->values[i])
            return false;
        types[i] = merge_types(t->tr, other->type, sides[replace]->values[i]->type);
        if (!types[i])
            return false;
    }
    return true;
}

static void close_branch(pdm_tr_op *t, branch *side, size_t n)
{
    pdm_tr_scope scope;
    pdm_tr_scope_push(t->tr, &scope, side->region->first, t->tr->scope->lg_block, false);
    emit_yield(t, side->values, n);
    pdm_tr_scope_pop(t->tr);
}

static bool check_condition(pdm_tr_op *t, const pdm_ir_value *cond, const char *name)
{
    if (!cond)
        return false;
    bool fits = pdm_ir_type_is_tensor(cond->type) && cond->type->dtype == PDM_BOOL;
    for (uint32_t i = 0; fits && i < cond->type->rank; i++)
        fits = cond->type->dims[i] == 1 || cond->type->dims[i] < 0;
    if (!fits)
        pdm_tr_error(t, PDM_D_LG_CONTROL_FLOW, name, NULL,
                     "the condition '%s' of '%s' should be a bool tensor of one element", name,
                     t->op->type);
    return fits;
}

static pdm_ir_op *create_region_op(pdm_tr_op *t, const char *name, pdm_ir_value *const *operands,
                                   size_t num_operands, const pdm_ir_type *types, size_t n,
                                   pdm_ir_region *const *regions, size_t num_regions)
{
    pdm_tr *tr = t->tr;
    pdm_ir_op_state state = {.info = pdm_ir_op_info_get(tr->context, name, NULL),
                             .operands = operands,
                             .num_operands = num_operands,
                             .result_types = types,
                             .num_results = n,
                             .regions = regions,
                             .num_regions = num_regions};
    pdm_ir_op *op = state.info ? pdm_ir_op_create(tr->context, &state) : NULL;
    if (!op) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    op->lg_block = t->block;
    op->lg_op = t->index;
    pdm_ir_block_append(tr->scope->block, op);
    return op;
}

static pdm_ir_op *emit_if(pdm_tr_op *t, pdm_ir_value *cond, branch *on_true, branch *on_false,
                          size_t n)
{
    pdm_tr *tr = t->tr;
    pdm_ir_op *op = NULL;
    pdm_ir_type *types = pdm_arena_calloc(&tr->scratch, n + 1, sizeof *types);
    if (!types)
        pdm_tr_nomem(tr);
    fill_branch(t, on_true, n);
    if (tr->status == PDM_OK)
        fill_branch(t, on_false, n);
    if (tr->status == PDM_OK && !t->failed && settle_branches(t, on_true, on_false, types, n)) {
        close_branch(t, on_true, n);
        close_branch(t, on_false, n);
    }
    if (tr->status == PDM_OK && !t->failed)
        op = create_region_op(t, "pd_op.if", &cond, 1, types, n,
                              (pdm_ir_region *[]){on_true->region, on_false->region}, 2);
    if (!op) {
        /* Values of the regions may be bound nowhere outside: they go with them. */
        if (on_true->region)
            pdm_ir_region_destroy(on_true->region);
        if (on_false->region)
            pdm_ir_region_destroy(on_false->region);
    }
    return op;
}

/* In a loop, what a branch wrote in one turn may be what it reads in the next. */
static bool is_seen_next_turn(const pdm_tr *tr, const pdm_lg_var *var, int32_t sub)
{
    return tr->loop_depth > 0 && pdm_map_find(&tr->flow->blocks[sub].exposed_set, var);
}

/* The variables that a branch hands on: written inside, and read where the branch cannot be seen.
 */
static bool is_result(const pdm_tr *tr, const pdm_lg_var *var, int32_t sub)
{
    return pdm_tr_flow_needed(tr, var, sub, -1, -1) || is_seen_next_turn(tr, var, sub);
}

static void lone_branch(pdm_tr_op *t, pdm_ir_value *cond, int32_t sub)
{
    pdm_tr *tr = t->tr;
    const pdm_tr_block_info *info = &tr->flow->blocks[sub];
    const pdm_lg_var **vars = pdm_arena_calloc(&tr->scratch, info->writes.n + 1, sizeof *vars);
    size_t n = 0;
    if (!vars) {
        pdm_tr_nomem(tr);
        return;
    }
    for (size_t i = 0; i < info->writes.n; i++)
        if (is_result(tr, info->writes.v[i], sub))
            vars[n++] = info->writes.v[i];
    branch on_true = {.sub = sub, .vars = vars}, on_false = {.sub = -1, .vars = vars};
    pdm_ir_op *op = emit_if(t, cond, &on_true, &on_false, n);
    for (size_t i = 0; op && i < n; i++) {
        pdm_tr_bind(tr, vars[i]->name, pdm_ir_op_result(op, i));
        pdm_tr_link_value(t, vars[i]->name, pdm_ir_op_result(op, i), -1);
    }
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static const pdm_lg_var *select_source(const pdm_tr *tr, const pdm_tr_pair *pair, size_t i,
                                       int which)
{
    const pdm_lg_op *op = &tr->program->blocks[pair->block].ops[pair->selects[i]];
    return pdm_lg_lookup_var(tr->program, pair->block, pdm_lg_find_input(op, "X")->args[which],
                             NULL);
}

static bool read_by_selects_only(const pdm_tr *tr, const pdm_tr_pair *pair, const pdm_lg_var *var,
                                 int32_t sub)
{
    const pdm_map_entry *e = pdm_map_find(&tr->flow->readers, var);
    const pdm_tr_readers *list = e ? e->value.ptr : NULL;
    for (size_t i = 0; list && i < list->n; i++) {
        bool inside = list->v[i].block == sub, joined = false;
        for (int32_t b = list->v[i].block; b >= 0 && !inside; b = tr->program->blocks[b].parent)
            inside = b == sub;
        for (size_t k = 0; list->v[i].block == pair->block && k < pair->num_selects; k++)
            joined |= pair->selects[k] == list->v[i].index;
        if (!inside && !joined)
            return false;
    }
    return true;
}

/* Variables written by one side that somebody else than the selects reads. */
static void add_extras(const pdm_tr *tr, const pdm_tr_pair *pair, int32_t sub,
                       const pdm_lg_var **on_true, const pdm_lg_var **on_false, size_t *n)
{
    const pdm_tr_block_info *info = &tr->flow->blocks[sub];
    for (size_t i = 0; i < info->writes.n; i++) {
        const pdm_lg_var *var = info->writes.v[i];
        bool known = false;
        bool joined = !pdm_tr_flow_wanted(tr, var) && !is_seen_next_turn(tr, var, sub) &&
                      read_by_selects_only(tr, pair, var, sub);
        if (joined || !is_result(tr, var, sub))
            continue;
        for (size_t k = pair->num_selects; k < *n && !known; k++)
            known = on_true[k] == var;
        if (known)
            continue;
        on_true[*n] = on_false[*n] = var;
        (*n)++;
    }
}

static void paired_branches(pdm_tr_op *t, pdm_tr_pair *pair)
{
    pdm_tr *tr = t->tr;
    const pdm_lg_op *ops = tr->program->blocks[pair->block].ops;
    int32_t sub_true = pdm_lg_sub_block(&ops[pair->on_true]),
            sub_false = pdm_lg_sub_block(&ops[pair->on_false]);
    size_t room = pair->num_selects + tr->flow->blocks[sub_true].writes.n +
                  tr->flow->blocks[sub_false].writes.n + 1,
           n = pair->num_selects;
    const pdm_lg_var **on_true_vars = pdm_arena_calloc(&tr->scratch, room, sizeof *on_true_vars);
    const pdm_lg_var **on_false_vars = pdm_arena_calloc(&tr->scratch, room, sizeof *on_false_vars);
    pair->if_op = NULL;
    if (!on_true_vars || !on_false_vars) {
        pdm_tr_nomem(tr);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        on_true_vars[i] = select_source(tr, pair, i, 1);
        on_false_vars[i] = select_source(tr, pair, i, 0);
    }
    add_extras(tr, pair, sub_true, on_true_vars, on_false_vars, &n);
    add_extras(tr, pair, sub_false, on_true_vars, on_false_vars, &n);
    const char *cond_name = pdm_lg_find_input(&ops[pair->on_true], "Cond")->args[0];
    pdm_ir_value *cond = pdm_tr_value(tr, cond_name);
    if (!cond && tr->status == PDM_OK)
        pdm_tr_error(t, PDM_D_LG_UNDEFINED, cond_name, NULL,
                     "the condition '%s' of '%s' is read before anything wrote it", cond_name,
                     t->op->type);
    if (!check_condition(t, cond, cond_name))
        return;
    branch on_true = {.sub = sub_true, .vars = on_true_vars},
           on_false = {.sub = sub_false, .vars = on_false_vars};
    pair->if_op = emit_if(t, cond, &on_true, &on_false, n);
    for (size_t i = pair->num_selects; pair->if_op && i < n; i++)
        pdm_tr_bind(tr, on_true_vars[i]->name, pdm_ir_op_result(pair->if_op, i));
}

/* ---- handlers -------------------------------------------------------------------------------- */

static int32_t need_sub_block(pdm_tr_op *t)
{
    int32_t sub = pdm_lg_sub_block(t->op);
    if (sub < 0)
        pdm_tr_error(t, PDM_D_LG_CONTROL_FLOW, "sub_block", NULL, "op '%s' has no sub-block",
                     t->op->type);
    return sub;
}

/* The condition of a conditional_block that runs when none of its inputs is empty. */
static pdm_ir_value *inputs_not_empty(pdm_tr_op *t)
{
    pdm_ir_value *all = pdm_tr_fill_i(t, NULL, 0, PDM_BOOL, 1), *zero = NULL;
    for (size_t i = 0; i < pdm_tr_num_in(t, "Input"); i++) {
        pdm_ir_value *x = pdm_tr_in_at(t, "Input", i);
        if (!x || !pdm_ir_type_is_tensor(x->type))
            continue;
        zero = zero ? zero : pdm_tr_fill_i(t, NULL, 0, PDM_I64, 0);
        pdm_ir_value *some =
            pdm_tr_binary(t, "pd_op.not_equal", pdm_tr_unary(t, "pd_op.numel", x), zero);
        all = pdm_tr_binary(t, "pd_op.logical_and", all, some);
    }
    return all;
}

void pdm_tr_h_conditional_block(pdm_tr_op *t)
{
    const pdm_tr_plan *plan = pdm_tr_flow_plan(t->tr, t->op);
    if (plan && plan->role == PDM_TR_PAIR_FIRST)
        return;
    if (plan && plan->role == PDM_TR_PAIR_SECOND) {
        paired_branches(t, plan->pair);
        return;
    }
    int32_t sub = need_sub_block(t);
    pdm_ir_value *cond = pdm_tr_in(t, "Cond");
    if (sub < 0 || !cond)
        return;
    if (pdm_tr_attr(t, "is_scalar_condition") && !pdm_tr_bool(t, "is_scalar_condition"))
        cond = inputs_not_empty(t);
    if (check_condition(t, cond, pdm_lg_find_input(t->op, "Cond")->args[0]))
        lone_branch(t, cond, sub);
}

void pdm_tr_h_select_input(pdm_tr_op *t)
{
    const pdm_tr_plan *plan = pdm_tr_flow_plan(t->tr, t->op);
    if (plan && plan->role == PDM_TR_PAIR_SELECT) {
        if (plan->pair->if_op)
            pdm_tr_out(t, "Out", pdm_ir_op_result(plan->pair->if_op, plan->select));
        else
            t->failed = true; /* reported where the branches are */
        return;
    }
    pdm_ir_value *mask = pdm_tr_in(t, "Mask"), *x0 = pdm_tr_in_at(t, "X", 0),
                 *x1 = pdm_tr_in_at(t, "X", 1);
    if (!mask || !x0 || !x1)
        return;
    pdm_ir_type type = merge_types(t->tr, x0->type, x1->type);
    if (!type && t->tr->status == PDM_OK) {
        if (is_placeholder(x0))
            x0 = retyped_placeholder(t, x0, x1->type);
        else if (is_placeholder(x1))
            x1 = retyped_placeholder(t, x1, x0->type);
        type = x0 && x1 ? merge_types(t->tr, x0->type, x1->type) : NULL;
    }
    if (!type) {
        if (t->tr->status == PDM_OK && !t->failed)
            pdm_tr_error(t, PDM_D_LG_TYPE, NULL, NULL,
                         "the inputs of 'select_input' differ in more than their dimensions");
        return;
    }
    pdm_tr_out(t, "Out",
               pdm_tr_result(pdm_tr_emit_typed(t, "pd_op.select_input", PDM_TR_OPS(mask, x0, x1),
                                               PDM_TR_NO_ATTRS, &type, 1),
                             0));
}

/* ---- while ----------------------------------------------------------------------------------- */

static void carry(pdm_tr *tr, carried_list *list, const pdm_lg_var *var)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].var == var)
            return;
    if (!PDM_VEC_PUSH(list, ((carried){var, NULL})))
        pdm_tr_nomem(tr);
}

/* Outer variables that the body writes and that matter on entry or after the loop; own variables
 * that a turn reads from the turn before. */
static void collect_carried(pdm_tr_op *t, int32_t sub, const pdm_lg_var *cond, carried_list *list)
{
    pdm_tr *tr = t->tr;
    const pdm_tr_block_info *info = &tr->flow->blocks[sub];
    for (size_t i = 0; i < info->writes.n; i++) {
        const pdm_lg_var *var = info->writes.v[i];
        bool wanted = pdm_map_find(&info->exposed_set, var) != NULL;
        if (var == cond)
            wanted = pdm_tr_flow_needed(tr, var, sub, t->block, t->index);
        else if (!wanted)
            wanted = pdm_tr_flow_needed(tr, var, sub, -1, -1);
        if (wanted)
            carry(tr, list, var);
    }
    for (size_t i = 0; i < info->exposed_locals.n; i++)
        if (!info->exposed_locals.v[i]->persistable)
            carry(tr, list, info->exposed_locals.v[i]);
}

static bool enter_values(pdm_tr_op *t, carried_list *list, int32_t sub)
{
    pdm_tr *tr = t->tr;
    for (size_t i = 0; i < list->n; i++) {
        carried *c = &list->v[i];
        bool local = pdm_tr_is_local(tr->program, sub, c->var);
        c->value = local ? NULL : pdm_tr_value(tr, c->var->name);
        if (!c->value && tr->status == PDM_OK)
            c->value = stand_in(t, pdm_tr_declared_type(tr, c->var));
        if (!c->value) {
            if (tr->status == PDM_OK && !t->failed)
                pdm_tr_unsupported(t, c->var->name, "'%s' is a %s that a loop changes",
                                   c->var->name, pdm_lg_var_kind_name(c->var->kind));
            return false;
        }
    }
    return true;
}

/* Translate the body once with the given argument types; yields[0] is the next condition. The
 * region, or NULL. */
static pdm_ir_region *loop_body(pdm_tr_op *t, int32_t sub, const pdm_lg_var *cond,
                                const carried_list *list, const pdm_ir_type *types,
                                pdm_ir_value **yields)
{
    pdm_tr *tr = t->tr;
    pdm_tr_scope scope;
    pdm_ir_region *region = new_region(tr);
    if (!region)
        return NULL;
    pdm_tr_scope_push(tr, &scope, region->first, sub, true);
    tr->loop_depth++;
    hide_locals(tr, sub);
    for (size_t i = 0; i < list->n; i++) {
        pdm_ir_value *arg = pdm_ir_block_add_arg(region->first, types[i]);
        if (!arg)
            pdm_tr_nomem(tr);
        pdm_tr_bind(tr, list->v[i].var->name, arg);
        pdm_tr_link_entry(tr, sub, list->v[i].var->name, arg);
    }
    if (tr->status == PDM_OK)
        pdm_tr_block(tr, sub);
    yields[0] = tr->status == PDM_OK ? value_of(tr, cond) : NULL;
    for (size_t i = 0; i < list->n && tr->status == PDM_OK; i++)
        yields[1 + i] = value_of(tr, list->v[i].var);
    tr->loop_depth--;
    pdm_tr_scope_pop(tr);
    if (tr->status == PDM_OK)
        return region;
    pdm_ir_region_destroy(region);
    return NULL;
}

typedef enum change {
    SAME,
    WIDER,
    OTHER
} change; /* of argument types; OTHER: another element type */

/* Widen the argument types by what the body yields. false: a type does not fit (reported). */
static bool widen(pdm_tr_op *t, carried_list *list, pdm_ir_type *types, pdm_ir_value *const *yields,
                  change *out_change)
{
    *out_change = SAME;
    for (size_t i = 0; i < list->n; i++) {
        pdm_ir_type merged =
            yields[1 + i] ? merge_types(t->tr, types[i], yields[1 + i]->type) : NULL;
        if (!merged && t->tr->status == PDM_OK && yields[1 + i] &&
            is_placeholder(list->v[i].value)) {
            list->v[i].value = retyped_placeholder(t, list->v[i].value, yields[1 + i]->type);
            merged = list->v[i].value
                         ? merge_types(t->tr, list->v[i].value->type, yields[1 + i]->type)
                         : NULL;
            *out_change = OTHER;
        }
        if (!merged) {
            if (t->tr->status == PDM_OK)
                pdm_tr_error(t, PDM_D_LG_CONTROL_FLOW, list->v[i].var->name, NULL,
                             "the loop changes the type of '%s'", list->v[i].var->name);
            return false;
        }
        if (merged != types[i] && *out_change == SAME)
            *out_change = WIDER;
        types[i] = merged;
    }
    return true;
}

static pdm_ir_region *settle_loop(pdm_tr_op *t, int32_t sub, const pdm_lg_var *cond,
                                  carried_list *list, pdm_ir_type *types, pdm_ir_value **yields)
{
    pdm_tr *tr = t->tr;
    for (int attempt = 1;; attempt++) {
        size_t errors = tr->sink->num_errors, links = pdm_tr_num_links(tr);
        change changed;
        pdm_ir_region *region = loop_body(t, sub, cond, list, types, yields);
        if (!region)
            return NULL;
        if (!widen(t, list, types, yields, &changed)) {
            pdm_ir_region_destroy(region);
            return NULL;
        }
        if (changed == SAME)
            return region;
        if (changed == OTHER)
            attempt--; /* happens once a variable */
        else if (attempt == MAX_ATTEMPTS || tr->sink->num_errors != errors) {
            for (size_t i = 0; i < list->n; i++)
                pdm_ir_block_arg(region->first, i)->type = types[i];
            return region;
        }
        pdm_ir_region_destroy(region);
        pdm_tr_cut_links(tr, links);
    }
}

/*
 * The framework checks that operands and results of a loop have the same rank: where the body
 * changes it, a copy states the common one. A parameter would lose its memory to the loop.
 */
static pdm_ir_value *loop_operand(pdm_tr_op *t, pdm_ir_value *value, pdm_ir_type type)
{
    bool other_rank = value->type->kind == PDM_IR_DENSE_TENSOR && value->type->rank != type->rank;
    if (!other_rank && !is_parameter(value))
        return value;
    pdm_ir_value *copy = pdm_tr_unary(t, "pd_op.assign", value);
    if (copy && other_rank)
        pdm_tr_retype(copy, type);
    return copy;
}

static pdm_ir_type of_unknown_dims(pdm_tr *tr, pdm_ir_type type)
{
    int64_t dims[PDM_MAX_RANK];
    if (type->kind != PDM_IR_DENSE_TENSOR || type->rank > PDM_MAX_RANK)
        return type;
    for (uint32_t i = 0; i < type->rank; i++)
        dims[i] = -1;
    pdm_ir_type open = pdm_ir_type_tensor(tr->context, type->dtype, dims, type->rank);
    if (!open)
        pdm_tr_nomem(tr);
    return open ? open : type;
}

static void emit_while(pdm_tr_op *t, int32_t sub, const pdm_lg_var *cond, pdm_ir_value *cond_value,
                       carried_list *list)
{
    pdm_tr *tr = t->tr;
    size_t n = list->n;
    pdm_ir_type *types = pdm_arena_calloc(&tr->scratch, n + 1, sizeof *types);
    pdm_ir_value **yields = pdm_arena_calloc(&tr->scratch, n + 1, sizeof *yields),
                 **operands = pdm_arena_calloc(&tr->scratch, n + 1, sizeof *operands);
    if (!types || !yields || !operands) {
        pdm_tr_nomem(tr);
        return;
    }
    operands[0] = cond_value;
    for (size_t i = 0; i < n; i++)
        types[i] = tr->loop_depth < MAX_RETRY_DEPTH ? list->v[i].value->type
                                                    : of_unknown_dims(tr, list->v[i].value->type);
    pdm_ir_region *region = settle_loop(t, sub, cond, list, types, yields);
    if (!region)
        return;
    pdm_tr_scope scope;
    pdm_tr_scope_push(tr, &scope, region->first, sub, true);
    if (check_condition(t, yields[0], cond->name))
        emit_yield(t, yields, n + 1);
    pdm_tr_scope_pop(tr);
    for (size_t i = 0; i < n; i++)
        operands[1 + i] = loop_operand(t, list->v[i].value, types[i]);
    pdm_ir_op *op = tr->status == PDM_OK && !t->failed
                        ? create_region_op(t, "pd_op.while", operands, n + 1, types, n, &region, 1)
                        : NULL;
    if (!op) {
        pdm_ir_region_destroy(region);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (!pdm_tr_is_local(tr->program, sub, list->v[i].var)) {
            pdm_tr_bind(tr, list->v[i].var->name, pdm_ir_op_result(op, i));
            pdm_tr_link_value(t, list->v[i].var->name, pdm_ir_op_result(op, i), -1);
        }
}

void pdm_tr_h_while(pdm_tr_op *t)
{
    pdm_tr *tr = t->tr;
    int32_t sub = need_sub_block(t);
    pdm_ir_value *cond_value = pdm_tr_in(t, "Condition");
    if (sub < 0 || !cond_value)
        return;
    const char *name = pdm_lg_find_input(t->op, "Condition")->args[0];
    const pdm_lg_var *cond = pdm_tr_var(tr, name);
    if (!cond || !check_condition(t, cond_value, name))
        return;
    if (!pdm_map_find(&tr->flow->blocks[sub].writes_set, cond))
        pdm_tr_warn(
            t, name,
            "the body of 'while' never changes its condition '%s': it runs for ever, or not at all",
            name);
    carried_list list = {0};
    collect_carried(t, sub, cond, &list);
    if (tr->status == PDM_OK && enter_values(t, &list, sub))
        emit_while(t, sub, cond, cond_value, &list);
    PDM_VEC_FREE(&list);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The negation and the cast around a pair have done their work when the pair became one if. */
static pdm_status erase_glue(void *user, pdm_ir_op *op)
{
    pdm_tr *tr = user;
    if (op->lg_block < 0 || op->lg_op < 0)
        return PDM_OK;
    const pdm_tr_plan *plan =
        pdm_tr_flow_plan(tr, &tr->program->blocks[op->lg_block].ops[op->lg_op]);
    if (!plan || plan->role != PDM_TR_GLUE)
        return PDM_OK;
    for (uint32_t i = 0; i < op->num_results; i++)
        if (pdm_ir_value_has_uses(pdm_ir_op_result(op, i)))
            return PDM_OK;
    pdm_tr_unlink(tr, op);
    pdm_ir_op_erase(op);
    return PDM_OK;
}

/* A running loop overwrites the variable of its condition: whoever else reads that value, or stores
 * it, needs one of its own. */
static pdm_status own_condition(void *user, pdm_ir_op *op)
{
    pdm_tr *tr = user;
    if (!PDM_IR_IS(op, pd_op, while))
        return PDM_OK;
    pdm_ir_value *cond = pdm_ir_op_operand_value(op, 0);
    const pdm_ir_op *def = pdm_ir_value_op(cond);
    if (def && def->block == op->block && pdm_ir_value_num_uses(cond) == 1 &&
        !PDM_IR_IS(def, pd_op, data) && !PDM_IR_IS(def, builtin, parameter))
        return PDM_OK;
    pdm_tr_op t = {.tr = tr, .block = op->lg_block, .index = op->lg_op};
    pdm_ir_value *copy = pdm_tr_unary(&t, "pd_op.assign", cond);
    if (!copy)
        return tr->status;
    pdm_ir_op_detach(pdm_ir_value_op(copy));
    pdm_ir_op_insert_before(pdm_ir_value_op(copy), op);
    pdm_ir_use_set(pdm_ir_op_operand(op, 0), copy);
    return PDM_OK;
}

void pdm_tr_flow_finish(pdm_tr *tr)
{
    if (tr->status == PDM_OK && tr->flow) {
        pdm_status status = tr->flow->plans.count
                                ? pdm_ir_walk(tr->module->op, PDM_IR_POST_ORDER, erase_glue, tr)
                                : PDM_OK;
        if (status == PDM_OK)
            status = pdm_ir_walk(tr->module->op, PDM_IR_POST_ORDER, own_condition, tr);
        if (status != PDM_OK)
            tr->status = status;
    }
    pdm_tr_flow_destroy(tr->flow);
    tr->flow = NULL;
}
