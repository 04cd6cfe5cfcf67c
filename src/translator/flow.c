#include "translator/flow.h"

#include <stdlib.h>
#include <string.h>

bool pdm_tr_is_branch(const pdm_lg_op *op)
{
    return strcmp(op->type, "conditional_block") == 0 ||
           strcmp(op->type, "conditional_block_infer") == 0;
}

bool pdm_tr_is_loop(const pdm_lg_op *op)
{
    return strcmp(op->type, "while") == 0;
}

static bool flag(const pdm_lg_op *op, const char *name)
{
    const pdm_lg_attr *a = pdm_lg_find_attr(op, name);
    return a && a->type == PDM_LG_BOOLEAN && a->u.b;
}

bool pdm_tr_leaves_alone(const pdm_lg_op *op, const pdm_lg_slot *output)
{
    static const struct {
        const char *type, *output, *input;
    } kept[] = {
        {"batch_norm", "MeanOut", "Mean"},
        {"batch_norm", "VarianceOut", "Variance"},
        {"sync_batch_norm", "MeanOut", "Mean"},
        {"sync_batch_norm", "VarianceOut", "Variance"},
        {"fake_quantize_range_abs_max", "OutScale", "InScale"},
        {"fake_quantize_moving_average_abs_max", "OutScale", "InScale"},
        {"fake_quantize_moving_average_abs_max", "OutState", "InState"},
        {"fake_quantize_moving_average_abs_max", "OutAccum", "InAccum"},
        {"fake_quantize_dequantize_moving_average_abs_max", "OutScale", "InScale"},
        {"fake_quantize_dequantize_moving_average_abs_max", "OutState", "InState"},
        {"fake_quantize_dequantize_moving_average_abs_max", "OutAccum", "InAccum"},
        {"moving_average_abs_max_scale", "OutState", "InState"},
        {"moving_average_abs_max_scale", "OutAccum", "InAccum"},
    };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (strcmp(kept[i].type, op->type) != 0 || strcmp(kept[i].output, output->name) != 0)
            continue;
        bool norm = strstr(op->type, "batch_norm") != NULL;
        bool test = norm ? (flag(op, "is_test") && !flag(op, "trainable_statistics")) ||
                               flag(op, "use_global_stats")
                         : flag(op, "is_test");
        const pdm_lg_slot *input = pdm_lg_find_input(op, kept[i].input);
        return test && input && input->num_args == 1 && output->num_args == 1 &&
               input->args[0] == output->args[0];
    }
    return false;
}

typedef struct analysis {
    pdm_tr *tr;
    struct pdm_tr_flow *flow;
    bool failed; /* out of memory */
} analysis;

const pdm_lg_var *pdm_tr_lookup(const pdm_lg_program *program, int32_t block, const char *name)
{
    int32_t at = 0;
    const pdm_lg_var *var =
        pdm_tr_is_empty_name(name) ? NULL : pdm_lg_lookup_var(program, block, name, &at);
    if (!var || !var->persistable || at == 0)
        return var;
    for (size_t i = 0; i < program->num_blocks; i++) {
        const pdm_lg_var *first = pdm_lg_block_var(&program->blocks[i], name);
        if (first && first->persistable)
            return first;
    }
    return var;
}

bool pdm_tr_is_local(const pdm_lg_program *program, int32_t block, const pdm_lg_var *var)
{
    return !(var->persistable && block) &&
           pdm_lg_block_var(&program->blocks[block], var->name) == var;
}

static const pdm_lg_var *lookup(const analysis *a, int32_t block, const char *name)
{
    return pdm_tr_lookup(a->tr->program, block, name);
}

static bool is_local(const analysis *a, int32_t block, const pdm_lg_var *var)
{
    return pdm_tr_is_local(a->tr->program, block, var);
}

static void put(analysis *a, pdm_map *set, const void *key)
{
    if (!pdm_map_put(set, key))
        a->failed = true;
}

static void push_var(analysis *a, pdm_tr_vars *list, const pdm_lg_var *var)
{
    if (!PDM_VEC_PUSH(list, var))
        a->failed = true;
}

static void note_reader(analysis *a, const pdm_lg_var *var, int32_t block, int32_t index)
{
    pdm_map_entry *e = pdm_map_put(&a->flow->readers, var);
    if (e && !e->value.ptr)
        e->value.ptr = calloc(1, sizeof(pdm_tr_readers));
    if (!e || !e->value.ptr) {
        a->failed = true;
        return;
    }
    pdm_tr_readers *list = e->value.ptr;
    if (list->n && list->v[list->n - 1].block == block && list->v[list->n - 1].index == index)
        return;
    if (!PDM_VEC_PUSH(list, ((pdm_tr_reader){block, index})))
        a->failed = true;
}

/* ---- reads and writes of a block ------------------------------------------------------------- */

typedef struct walk {
    analysis *a;
    int32_t block;
    pdm_map defined; /* variables that certainly have a value of this block by now */
    pdm_map seen_local;
} walk;

static void expose(walk *w, const pdm_lg_var *var)
{
    pdm_tr_block_info *info = &w->a->flow->blocks[w->block];
    if (pdm_map_find(&w->defined, var))
        return;
    if (!is_local(w->a, w->block, var)) {
        if (!pdm_map_find(&info->exposed_set, var)) {
            put(w->a, &info->exposed_set, var);
            push_var(w->a, &info->exposed, var);
        }
    } else if (!pdm_map_find(&w->seen_local, var)) {
        put(w->a, &w->seen_local, var);
        push_var(w->a, &info->exposed_locals, var);
    }
}

static void read_var(walk *w, const char *name, int32_t index)
{
    const pdm_lg_var *var = lookup(w->a, w->block, name);
    if (!var)
        return;
    note_reader(w->a, var, w->block, index);
    expose(w, var);
}

static void write_var(walk *w, const pdm_lg_var *var)
{
    pdm_tr_block_info *info = &w->a->flow->blocks[w->block];
    put(w->a, &w->defined, var);
    if (is_local(w->a, w->block, var) || pdm_map_find(&info->writes_set, var))
        return;
    put(w->a, &info->writes_set, var);
    push_var(w->a, &info->writes, var);
}

static void read_slots(walk *w, const pdm_lg_op *op, int32_t index)
{
    for (size_t i = 0; i < op->num_inputs; i++)
        for (size_t k = 0; k < op->inputs[i].num_args; k++)
            read_var(w, op->inputs[i].args[k], index);
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *at = &op->attrs[i];
        if (at->type == PDM_LG_VAR)
            read_var(w, at->u.s, index);
        for (size_t k = 0; at->type == PDM_LG_VARS && k < at->count; k++)
            read_var(w, at->u.strings[k], index);
    }
}

static void analyse_block(analysis *a, int32_t block);

/* A while or conditional block: what it lists is a hint only, what its body does counts. A body may
 * not run, so its writes keep the old value alive. */
static void walk_region(walk *w, const pdm_lg_op *op, int32_t index, int32_t sub)
{
    const pdm_lg_slot *cond = pdm_lg_find_input(op, pdm_tr_is_loop(op) ? "Condition" : "Cond");
    for (size_t k = 0; cond && k < cond->num_args; k++)
        read_var(w, cond->args[k], index);
    analyse_block(w->a, sub);
    const pdm_tr_block_info *inner = &w->a->flow->blocks[sub];
    for (size_t i = 0; i < inner->exposed.n; i++)
        expose(w, inner->exposed.v[i]);
    for (size_t i = 0; i < inner->writes.n; i++) {
        expose(w, inner->writes.v[i]);
        write_var(w, inner->writes.v[i]);
    }
}

static void walk_op(walk *w, const pdm_lg_op *op, int32_t index)
{
    int32_t sub = pdm_lg_sub_block(op);
    if (sub >= 0 && (pdm_tr_is_branch(op) || pdm_tr_is_loop(op))) {
        walk_region(w, op, index, sub);
        return;
    }
    if (sub >= 0)
        analyse_block(w->a, sub); /* another owner: its body is analysed for its own sake */
    read_slots(w, op, index);
    bool updates = strcmp(op->type, "write_to_array") == 0;
    for (size_t o = 0; o < op->num_outputs; o++) {
        for (size_t k = 0; k < op->outputs[o].num_args && !pdm_tr_leaves_alone(op, &op->outputs[o]);
             k++) {
            const pdm_lg_var *var = lookup(w->a, w->block, op->outputs[o].args[k]);
            if (!var)
                continue;
            if (updates)
                read_var(w, op->outputs[o].args[k], index);
            write_var(w, var);
        }
    }
}

static void analyse_block(analysis *a, int32_t block)
{
    const pdm_lg_block *b = &a->tr->program->blocks[block];
    walk w = {.a = a, .block = block};
    for (size_t i = 0; i < b->num_ops && !a->failed; i++)
        walk_op(&w, &b->ops[i], (int32_t)i);
    pdm_map_deinit(&w.defined);
    pdm_map_deinit(&w.seen_local);
}

/* ---- pairs of branches ----------------------------------------------------------------------- */

/*
 * Positions of writers within one block are asked for often: last_writer[var] is kept while walking
 * forward, and for each op the plan needs only "was it written between i and j", answered from the
 * list of write positions of a variable.
 */
typedef struct pairing {
    analysis *a;
    int32_t block;
    pdm_map writes; /* pdm_lg_var → pdm_tr_readers * of write positions, ascending */
    pdm_map reads;  /* the same for reads that ops of this block make, bodies included */
} pairing;

static void note_position(pairing *p, pdm_map *map, const pdm_lg_var *var, int32_t index)
{
    pdm_map_entry *e = pdm_map_put(map, var);
    if (e && !e->value.ptr)
        e->value.ptr = calloc(1, sizeof(pdm_tr_readers));
    if (!e || !e->value.ptr) {
        p->a->failed = true;
        return;
    }
    pdm_tr_readers *list = e->value.ptr;
    if (list->n && list->v[list->n - 1].index == index)
        return;
    if (!PDM_VEC_PUSH(list, ((pdm_tr_reader){p->block, index})))
        p->a->failed = true;
}

static void free_positions(pdm_map *map)
{
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->entries[i].key)
            continue;
        pdm_tr_readers *list = map->entries[i].value.ptr;
        if (list)
            PDM_VEC_FREE(list);
        free(list);
    }
    pdm_map_deinit(map);
}

/* Any position in (from, to), both exclusive. */
static bool touched(const pdm_map *map, const pdm_lg_var *var, int32_t from, int32_t to)
{
    const pdm_map_entry *e = pdm_map_find(map, var);
    const pdm_tr_readers *list = e ? e->value.ptr : NULL;
    size_t lo = 0, hi = list ? list->n : 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (list->v[mid].index <= from)
            lo = mid + 1;
        else
            hi = mid;
    }
    return list && lo < list->n && list->v[lo].index < to;
}

/* Last write before position `before`; -1: none. */
static int32_t last_write(const pairing *p, const pdm_lg_var *var, int32_t before)
{
    const pdm_map_entry *e = pdm_map_find(&p->writes, var);
    const pdm_tr_readers *list = e ? e->value.ptr : NULL;
    size_t lo = 0, hi = list ? list->n : 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (list->v[mid].index < before)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? list->v[lo - 1].index : -1;
}

static const pdm_lg_var *slot_var(const pairing *p, const pdm_lg_slot *slot, size_t index)
{
    return slot && index < slot->num_args ? lookup(p->a, p->block, slot->args[index]) : NULL;
}

static void note_op(pairing *p, const pdm_lg_op *op, int32_t index)
{
    int32_t sub = pdm_lg_sub_block(op);
    if (sub >= 0) {
        const pdm_tr_block_info *inner = &p->a->flow->blocks[sub];
        for (size_t i = 0; i < inner->exposed.n; i++)
            note_position(p, &p->reads, inner->exposed.v[i], index);
        for (size_t i = 0; i < inner->writes.n; i++)
            note_position(p, &p->writes, inner->writes.v[i], index);
    }
    bool region = sub >= 0 && (pdm_tr_is_branch(op) || pdm_tr_is_loop(op));
    for (size_t i = 0; i < op->num_inputs; i++)
        for (size_t k = 0; k < op->inputs[i].num_args; k++) {
            bool condition = strcmp(op->inputs[i].name, "Cond") == 0 ||
                             strcmp(op->inputs[i].name, "Condition") == 0;
            const pdm_lg_var *var = region && !condition ? NULL : slot_var(p, &op->inputs[i], k);
            if (var)
                note_position(p, &p->reads, var, index);
        }
    for (size_t i = 0; !region && i < op->num_outputs; i++)
        for (size_t k = 0; k < op->outputs[i].num_args && !pdm_tr_leaves_alone(op, &op->outputs[i]);
             k++) {
            const pdm_lg_var *var = slot_var(p, &op->outputs[i], k);
            if (var)
                note_position(p, &p->writes, var, index);
        }
}

/* The variable that op `index`, of type `type`, computes var from by its slot X; NULL if the last
 * writer of var is something else. */
static const pdm_lg_var *computed_from(const pairing *p, const pdm_lg_var *var, int32_t before,
                                       const char *type, int32_t *out_writer)
{
    const pdm_lg_block *b = &p->a->tr->program->blocks[p->block];
    int32_t writer = last_write(p, var, before);
    if (writer < 0 || strcmp(b->ops[writer].type, type) != 0)
        return NULL;
    *out_writer = writer;
    return slot_var(p, pdm_lg_find_input(&b->ops[writer], "X"), 0);
}

/* Is anything between first and second in the way of running the first body at the second's place?
 */
static bool can_move(const pairing *p, int32_t first, int32_t second)
{
    const pdm_lg_block *b = &p->a->tr->program->blocks[p->block];
    const pdm_tr_block_info *body = &p->a->flow->blocks[pdm_lg_sub_block(&b->ops[first])];
    for (size_t i = 0; i < body->writes.n; i++)
        if (touched(&p->reads, body->writes.v[i], first, second) ||
            touched(&p->writes, body->writes.v[i], first, second) ||
            pdm_map_find(&p->a->flow->blocks[pdm_lg_sub_block(&b->ops[second])].exposed_set,
                         body->writes.v[i]))
            return false;
    for (size_t i = 0; i < body->exposed.n; i++)
        if (touched(&p->writes, body->exposed.v[i], first, second))
            return false;
    return true;
}

static bool is_joined_by(const pairing *p, const pdm_tr_pair *pair, const pdm_lg_var *cond,
                         int32_t index)
{
    const pdm_lg_op *op = &p->a->tr->program->blocks[p->block].ops[index];
    const pdm_lg_slot *x = pdm_lg_find_input(op, "X");
    const pdm_lg_var *mask = slot_var(p, pdm_lg_find_input(op, "Mask"), 0), *from;
    int32_t caster = -1;
    if (!x || x->num_args != 2 || !mask ||
        !(from = computed_from(p, mask, index, "cast", &caster)) || from != cond)
        return false;
    int32_t lo = caster < pair->first ? caster : pair->first;
    if (touched(&p->writes, cond, lo, index))
        return false;
    /* X[0] is the false branch's value, X[1] the true branch's. */
    for (size_t k = 0; k < 2; k++) {
        const pdm_lg_var *v = slot_var(p, x, k);
        if (!v || touched(&p->writes, v, pair->second, index))
            return false;
        int32_t own = k ? pair->on_true : pair->on_false,
                other = k ? pair->on_false : pair->on_true;
        const pdm_lg_block *b = &p->a->tr->program->blocks[p->block];
        bool in_own =
            pdm_map_find(&p->a->flow->blocks[pdm_lg_sub_block(&b->ops[own])].writes_set, v) != NULL;
        bool in_other =
            pdm_map_find(&p->a->flow->blocks[pdm_lg_sub_block(&b->ops[other])].writes_set, v) !=
            NULL;
        if (!in_own && (in_other || touched(&p->writes, v, pair->first, index)))
            return false;
    }
    return true;
}

static void set_plan(pairing *p, const pdm_lg_op *op, pdm_tr_plan plan)
{
    pdm_tr_plan *copy = pdm_arena_memdup(&p->a->tr->scratch, &plan, sizeof plan);
    pdm_map_entry *e = copy ? pdm_map_put(&p->a->flow->plans, op) : NULL;
    if (e)
        e->value.ptr = copy;
    else
        p->a->failed = true;
}

/* The readers of the branch outputs are the candidates for the joining select_inputs. */
static bool find_selects(pairing *p, pdm_tr_pair *pair, const pdm_lg_var *cond)
{
    const pdm_lg_block *b = &p->a->tr->program->blocks[p->block];
    PDM_VEC(int32_t) found = {0};
    for (int32_t i = pair->second + 1; i < (int32_t)b->num_ops; i++) {
        if (pdm_tr_is_branch(&b->ops[i]))
            break; /* the joins of a pair stand before the next one */
        if (strcmp(b->ops[i].type, "select_input") == 0 && is_joined_by(p, pair, cond, i) &&
            !PDM_VEC_PUSH(&found, i))
            p->a->failed = true;
    }
    bool any = found.n > 0;
    if (any) {
        pair->selects = pdm_arena_memdup(&p->a->tr->scratch, found.v, found.n * sizeof *found.v);
        pair->num_selects = found.n;
        if (!pair->selects)
            p->a->failed = true;
    }
    PDM_VEC_FREE(&found);
    return any && !p->a->failed;
}

static void enter_pair(pairing *p, const pdm_tr_pair *found, int32_t negation,
                       const pdm_lg_var *cond)
{
    const pdm_lg_block *b = &p->a->tr->program->blocks[p->block];
    pdm_tr_pair *pair = pdm_arena_memdup(&p->a->tr->scratch, found, sizeof *found);
    int32_t caster;
    if (!pair) {
        p->a->failed = true;
        return;
    }
    set_plan(p, &b->ops[pair->first], (pdm_tr_plan){PDM_TR_PAIR_FIRST, pair, 0});
    set_plan(p, &b->ops[pair->second], (pdm_tr_plan){PDM_TR_PAIR_SECOND, pair, 0});
    set_plan(p, &b->ops[negation], (pdm_tr_plan){PDM_TR_GLUE, NULL, 0});
    for (size_t i = 0; i < pair->num_selects; i++) {
        const pdm_lg_op *select = &b->ops[pair->selects[i]];
        set_plan(p, select, (pdm_tr_plan){PDM_TR_PAIR_SELECT, pair, (uint32_t)i});
        const pdm_lg_var *mask = slot_var(p, pdm_lg_find_input(select, "Mask"), 0);
        if (mask && computed_from(p, mask, pair->selects[i], "cast", &caster) == cond)
            set_plan(p, &b->ops[caster], (pdm_tr_plan){PDM_TR_GLUE, NULL, 0});
    }
}

/* Try to join branch `second` with the branch before it. */
static void try_pair(pairing *p, int32_t first, int32_t second)
{
    const pdm_lg_block *b = &p->a->tr->program->blocks[p->block];
    const pdm_lg_var *c1 = slot_var(p, pdm_lg_find_input(&b->ops[first], "Cond"), 0),
                     *c2 = slot_var(p, pdm_lg_find_input(&b->ops[second], "Cond"), 0);
    int32_t negation = -1;
    pdm_tr_pair pair = {.block = p->block, .first = first, .second = second};
    const pdm_lg_var *cond = NULL;
    if (!c1 || !c2 || pdm_lg_sub_block(&b->ops[first]) < 0 || pdm_lg_sub_block(&b->ops[second]) < 0)
        return;
    if (computed_from(p, c2, second, "logical_not", &negation) == c1) {
        cond = c1;
        pair.on_true = first;
        pair.on_false = second;
    } else if (computed_from(p, c1, first, "logical_not", &negation) == c2) {
        cond = c2;
        pair.on_true = second;
        pair.on_false = first;
    } else {
        return;
    }
    int32_t from = negation < first ? negation : first;
    if (touched(&p->writes, cond, from, second) ||
        (negation < first && touched(&p->writes, cond == c1 ? c2 : c1, negation, second)))
        return;
    if (can_move(p, first, second) && find_selects(p, &pair, cond))
        enter_pair(p, &pair, negation, cond);
}

static void pair_block(analysis *a, int32_t block)
{
    const pdm_lg_block *b = &a->tr->program->blocks[block];
    pairing p = {.a = a, .block = block};
    int32_t waiting = -1; /* a branch that is not in a pair yet */
    bool any = false;
    for (size_t i = 0; i < b->num_ops && !any; i++)
        any = strcmp(b->ops[i].type, "select_input") == 0;
    if (!any)
        return;
    for (size_t i = 0; i < b->num_ops && !a->failed; i++)
        note_op(&p, &b->ops[i], (int32_t)i);
    for (size_t i = 0; i < b->num_ops && !a->failed; i++) {
        if (!pdm_tr_is_branch(&b->ops[i]))
            continue;
        if (waiting >= 0)
            try_pair(&p, waiting, (int32_t)i);
        waiting = pdm_map_find(&a->flow->plans, &b->ops[i]) ? -1 : (int32_t)i;
    }
    free_positions(&p.writes);
    free_positions(&p.reads);
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct pdm_tr_flow *pdm_tr_flow_analyse(pdm_tr *tr)
{
    analysis a = {.tr = tr, .flow = calloc(1, sizeof(struct pdm_tr_flow))};
    if (!a.flow)
        return NULL;
    a.flow->num_blocks = tr->program->num_blocks;
    a.flow->blocks = calloc(a.flow->num_blocks ? a.flow->num_blocks : 1, sizeof *a.flow->blocks);
    if (!a.flow->blocks)
        a.failed = true;
    if (!a.failed && a.flow->num_blocks)
        analyse_block(&a, 0);
    for (size_t i = 0; i < a.flow->num_blocks && !a.failed && a.flow->num_blocks > 1; i++)
        pair_block(&a, (int32_t)i);
    if (a.failed) {
        pdm_tr_flow_destroy(a.flow);
        return NULL;
    }
    return a.flow;
}

void pdm_tr_flow_destroy(struct pdm_tr_flow *flow)
{
    if (!flow)
        return;
    for (size_t i = 0; flow->blocks && i < flow->num_blocks; i++) {
        PDM_VEC_FREE(&flow->blocks[i].writes);
        PDM_VEC_FREE(&flow->blocks[i].exposed_locals);
        pdm_map_deinit(&flow->blocks[i].writes_set);
        PDM_VEC_FREE(&flow->blocks[i].exposed);
        pdm_map_deinit(&flow->blocks[i].exposed_set);
    }
    free(flow->blocks);
    free_positions(&flow->readers);
    pdm_map_deinit(&flow->plans);
    free(flow);
}

const pdm_tr_plan *pdm_tr_flow_plan(const pdm_tr *tr, const pdm_lg_op *op)
{
    pdm_map_entry *e = tr->flow ? pdm_map_find(&tr->flow->plans, op) : NULL;
    return e ? e->value.ptr : NULL;
}

static bool is_below(const pdm_tr *tr, int32_t block, int32_t root)
{
    while (block >= 0 && block != root)
        block = tr->program->blocks[block].parent;
    return block == root;
}

bool pdm_tr_flow_wanted(const pdm_tr *tr, const pdm_lg_var *var)
{
    bool wanted = var->persistable;
    for (size_t i = 0; i < tr->options->num_fetch && !wanted; i++)
        wanted = strcmp(tr->options->fetch[i], var->name) == 0;
    return wanted;
}

bool pdm_tr_flow_needed(const pdm_tr *tr, const pdm_lg_var *var, int32_t root, int32_t except_block,
                        int32_t except)
{
    if (pdm_tr_flow_wanted(tr, var))
        return true;
    const pdm_map_entry *e = pdm_map_find(&tr->flow->readers, var);
    const pdm_tr_readers *list = e ? e->value.ptr : NULL;
    for (size_t i = 0; list && i < list->n; i++) {
        bool excepted = list->v[i].block == except_block && list->v[i].index == except;
        if (!excepted && !is_below(tr, list->v[i].block, root))
            return true;
    }
    return false;
}
