#include "cinn/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cinn/lower.h"

#define NONE UINT32_MAX

/* An op of the block at hand. */
typedef struct node {
    pdm_ir_op *op;
    bool eligible;
    bool ordered; /* it has an effect: it keeps its place among such ops */
    uint32_t segment;
    uint32_t level;  /* see find_levels */
    uint32_t host;   /* of an op that only makes or takes apart a vector for another: that; else NONE */
    uint32_t parent; /* union-find: nodes of one group */
    uint32_t group;  /* number of its unit */
} node;

typedef struct grouping {
    pdm_ir_module *module;
    bool single;
    bool (*has_kernel)(const pdm_ir_op *op);
    pdm_map constants; /* ops that are computed once, when the plan is made */
    /* Of the block at hand. */
    node *nodes;
    uint32_t count;
    pdm_map index; /* op -> number + 1 */
    PDM_VEC(uint32_t) users, producers; /* edges: producers.v[i] is read by users.v[i] */
    PDM_VEC(uint8_t) apart; /* edges: the two may not be in one group */
} grouping;

/* ---- effects --------------------------------------------------------------------------------- */

typedef enum effect { NO_EFFECT, ORDERED, BARRIER } effect;

static effect effect_of(const pdm_ir_op *op);

static effect effect_inside(const pdm_ir_op *op)
{
    effect worst = NO_EFFECT;

    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (const pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next) {
            for (const pdm_ir_op *inner = b->first; inner; inner = inner->next) {
                const effect e = PDM_IR_IS(inner, cf, yield) ? NO_EFFECT : effect_of(inner);
                worst = e > worst ? e : worst;
            }
        }
    }
    return worst;
}

/* Nothing passes an op that writes what others may read. */
static effect effect_of(const pdm_ir_op *op)
{
    const uint16_t flags = op->info->desc ? op->info->desc->flags : PDM_IR_WRITES;

    if ((flags & (PDM_IR_INPLACE | PDM_IR_WRITES | PDM_IR_TERMINATOR | PDM_IR_ALLOCATES)) ||
        PDM_IR_IS(op, builtin, set_parameter))
        return BARRIER;
    const effect inside = effect_inside(op);
    if (inside == NO_EFFECT && (flags & (PDM_IR_RANDOM | PDM_IR_SIDE_EFFECT)))
        return ORDERED;
    return inside;
}

/* ---- the block as a graph -------------------------------------------------------------------- */

static uint32_t number_of(const grouping *g, const pdm_ir_op *op)
{
    const pdm_map_entry *entry = pdm_map_find(&g->index, op);

    return entry ? (uint32_t)entry->value.num - 1 : NONE;
}

static pdm_status edge(grouping *g, uint32_t producer, uint32_t user, bool apart)
{
    if (producer == NONE || producer == user)
        return PDM_OK;
    /* Only equally long lists are looked at. */
    if (!PDM_VEC_PUSH(&g->producers, producer) || !PDM_VEC_PUSH(&g->apart, apart) ||
        !PDM_VEC_PUSH(&g->users, user)) {
        g->producers.n = g->apart.n = g->users.n;
        return PDM_NOMEM;
    }
    return PDM_OK;
}

/* What an op reads, and what is read inside of it. */
static pdm_status edges_of(grouping *g, const pdm_ir_op *op, uint32_t user)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *v = pdm_ir_op_operand_value(op, i);
        const pdm_ir_op *maker = v ? pdm_ir_value_op(v) : NULL;
        if (maker)
            PDM_TRY(edge(g, number_of(g, maker), user, pdm_cinn_from_outside(op, i)));
    }
    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (const pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next) {
            for (const pdm_ir_op *inner = b->first; inner; inner = inner->next)
                PDM_TRY(edges_of(g, inner, user));
        }
    }
    return PDM_OK;
}

/* Whether all that takes a vector apart is in the same segment. */
static bool users_are_near(const grouping *g, const node *split)
{
    for (const pdm_ir_use *use = pdm_ir_value_first_use(pdm_ir_op_result(split->op, 0)); use;
         use = use->next) {
        const uint32_t n = number_of(g, use->owner);
        if (n == NONE || g->nodes[n].segment != split->segment || pdm_map_find(&g->constants, use->owner))
            return false;
    }
    return true;
}

static void find_hosts(grouping *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        node *me = &g->nodes[i];
        if (pdm_cinn_is_taken_apart(me->op) && !pdm_map_find(&g->constants, me->op))
            me->eligible = users_are_near(g, me);
    }
    for (uint32_t i = 0; i < g->count; i++) {
        node *me = &g->nodes[i];
        const pdm_ir_op *host = pdm_cinn_host(me->op);
        const uint32_t n = host ? number_of(g, host) : NONE;
        const bool combine = PDM_IR_IS(me->op, builtin, combine);
        const bool near = n != NONE && g->nodes[n].eligible && g->nodes[n].segment == me->segment &&
                          !pdm_map_find(&g->constants, me->op);
        if (combine || me->eligible) {
            me->eligible = near || (me->eligible && !pdm_cinn_needs_host(me->op));
            me->host = near ? n : NONE;
        }
    }
}

/* Beside kernels that know their caches and vectors, only what they leave is compiled: chains of ops
 * that are done element by element. */
static bool is_taken(const grouping *g, const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = pdm_cinn_rule_of(op);

    if (!rule || !g->has_kernel || g->single)
        return rule != NULL;
    const bool whole = rule->kind == PDM_CINN_REDUCTION || rule->kind == PDM_CINN_SPREAD;
    return !whole || !g->has_kernel(op);
}

static pdm_status gather(grouping *g, pdm_ir_block *block)
{
    uint32_t segment = 0, n = 0, last_ordered = NONE;

    for (pdm_ir_op *op = block->first; op; op = op->next)
        g->count++;
    g->nodes = calloc((size_t)g->count + 1, sizeof *g->nodes);
    if (!g->nodes || !pdm_map_reserve(&g->index, g->count))
        return PDM_NOMEM;
    for (pdm_ir_op *op = block->first; op; op = op->next, n++) {
        pdm_map_entry *entry = pdm_map_put(&g->index, op);
        node *me = &g->nodes[n];
        const effect e = effect_of(op);
        if (!entry)
            return PDM_NOMEM;
        entry->value.num = (uint64_t)n + 1;
        segment += e == BARRIER;
        *me = (node){.op = op, .ordered = e == ORDERED, .segment = segment, .host = NONE, .parent = n};
        segment += e == BARRIER;
        if (pdm_cinn_is_constant(&g->constants, op) && !pdm_map_put(&g->constants, op))
            return PDM_NOMEM;
        me->eligible =
            e == NO_EFFECT && !pdm_map_find(&g->constants, op) && is_taken(g, op);
        PDM_TRY(edges_of(g, op, n));
        if (me->ordered) {
            PDM_TRY(edge(g, last_ordered, n, true));
            last_ordered = n;
        }
    }
    find_hosts(g);
    return PDM_OK;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/*
 * Along an edge between two ops that may be grouped the level stays or rises, along any other it
 * rises. So what is on one level and connected can be taken together: a way out of it and back would
 * have to come down again.
 */
static void find_levels(grouping *g)
{
    for (size_t i = 0; i < g->users.n; i++) { /* in the order of users */
        const node *from = &g->nodes[g->producers.v[i]];
        node *to = &g->nodes[g->users.v[i]];
        const uint32_t level = from->level + (g->apart.v[i] || !from->eligible || !to->eligible);
        if (to->level < level)
            to->level = level;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->nodes[i].host != NONE)
            g->nodes[i].level = g->nodes[g->nodes[i].host].level;
    }
}

/* An op that is alone on its level, and whose users are together on a later one, joins them. */
static pdm_status sink(grouping *g)
{
    uint32_t *target = malloc(((size_t)g->count + 1) * sizeof *target);
    bool *stays = calloc((size_t)g->count + 1, sizeof *stays);

    if (target && stays) {
        for (uint32_t i = 0; i < g->count; i++)
            target[i] = NONE;
        for (size_t i = 0; i < g->users.n; i++) {
            const node *from = &g->nodes[g->producers.v[i]], *to = &g->nodes[g->users.v[i]];
            if (from->eligible && to->eligible && from->level == to->level &&
                from->segment == to->segment)
                stays[g->users.v[i]] = true;
        }
        for (size_t i = 0; i < g->users.n; i++) {
            const uint32_t p = g->producers.v[i];
            const node *from = &g->nodes[p], *to = &g->nodes[g->users.v[i]];
            const bool joins = from->eligible && to->eligible && from->segment == to->segment &&
                               !g->apart.v[i];
            if (!joins || (target[p] != NONE && target[p] != to->level))
                stays[p] = true;
            target[p] = to->level;
        }
        for (uint32_t i = 0; i < g->count; i++) {
            if (!stays[i] && target[i] != NONE && g->nodes[i].eligible)
                g->nodes[i].level = target[i];
        }
    }
    const pdm_status status = target && stays ? PDM_OK : PDM_NOMEM;
    free(target);
    free(stays);
    return status;
}

/* ---- units ----------------------------------------------------------------------------------- */

static uint32_t root(grouping *g, uint32_t n)
{
    while (g->nodes[n].parent != n) {
        g->nodes[n].parent = g->nodes[g->nodes[n].parent].parent;
        n = g->nodes[n].parent;
    }
    return n;
}

static void connect(grouping *g)
{
    for (size_t i = 0; i < g->users.n; i++) {
        const node *from = &g->nodes[g->producers.v[i]], *to = &g->nodes[g->users.v[i]];
        if (!from->eligible || !to->eligible || from->level != to->level ||
            from->segment != to->segment)
            continue;
        const uint32_t a = root(g, g->producers.v[i]), b = root(g, g->users.v[i]);
        g->nodes[a > b ? a : b].parent = a > b ? b : a;
    }
}

/* Connected ops, as many as a group may have. */
typedef struct part {
    uint32_t size, work; /* work: ops that are no views */
    uint32_t only;       /* its last op */
    uint32_t unit;       /* its number + 1; 0: none yet */
} part;

static bool is_view(const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = pdm_cinn_rule_of(op);

    return rule && rule->kind == PDM_CINN_VIEW;
}

/* Cut what is connected into parts: in program order, so that parts do not wait for each other in a
 * ring. current: room for a number a node. */
static void cut(grouping *g, part *parts, uint32_t *part_of, uint32_t *current)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < g->count; i++)
        current[i] = NONE;
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->nodes[i].host != NONE)
            continue;
        uint32_t *at = &current[root(g, i)];
        if (*at == NONE || parts[*at].size == PDM_CINN_MAX_OPS)
            *at = count++;
        part_of[i] = *at;
        parts[*at].size++;
        parts[*at].only = i;
        if (g->nodes[i].eligible)
            parts[*at].work += g->single || !is_view(g->nodes[i].op);
    }
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->nodes[i].host != NONE)
            part_of[i] = part_of[g->nodes[i].host];
    }
}

/* Kernels that move elements do it as well as any, unless it is in the short runs of a concat. */
static bool moves_only(const pdm_ir_op *op)
{
    const pdm_cinn_rule *rule = pdm_cinn_rule_of(op);

    return !rule || (rule->pieces == 0 &&
                     (rule->kind == PDM_CINN_INJECTIVE || rule->kind == PDM_CINN_SPREAD));
}

/* Whether a group with one op that is no view is worth its code: what has a handful of elements is not. */
static bool gains_alone(const grouping *g, const part *p)
{
    enum { HANDFUL = 16 };
    const pdm_ir_type type = pdm_ir_op_result(g->nodes[p->only].op, 0)->type;
    int64_t count = 1;

    if (g->single)
        return true;
    if (g->has_kernel && (g->has_kernel(g->nodes[p->only].op) || moves_only(g->nodes[p->only].op)))
        return false;
    if (p->size > 1 || !pdm_ir_type_is_tensor(type))
        return true;
    for (uint32_t d = 0; d < type->rank; d++) {
        if (type->dims[d] < 0 || type->dims[d] > HANDFUL)
            return true;
        count *= type->dims[d];
    }
    return count > HANDFUL;
}

/* What moves as a whole: an op, or the ops of a group. */
typedef struct unit {
    uint32_t last;    /* its last op: units come in this order where they may */
    uint32_t size;
    uint32_t pending; /* edges from units that are not placed yet */
    uint32_t first_edge, num_edges;
    uint32_t first_member; /* into the list of members */
    bool grouped;
} unit;

typedef struct units {
    unit *list;
    uint32_t count;
    uint32_t *members; /* nodes by unit */
    uint32_t *edges;   /* units by unit that they wait for */
    uint32_t *heap;
    uint32_t heap_size;
} units;

static void fill_units(const grouping *g, units *u)
{
    for (uint32_t i = 0, at = 0; i < u->count; i++) {
        u->list[i].first_member = at;
        at += u->list[i].size;
        u->list[i].size = 0;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        unit *un = &u->list[g->nodes[i].group];
        u->members[un->first_member + un->size++] = i;
    }
}

/* Number the units: each part of what is connected that gains by being a group, and each other op. */
static pdm_status make_units(grouping *g, units *u)
{
    const size_t room = (size_t)g->count + 1;
    part *parts = calloc(room, sizeof *parts);
    uint32_t *part_of = calloc(room, sizeof *part_of), *current = malloc(room * sizeof *current);
    const bool enough = parts && part_of && current;

    u->list = calloc(room, sizeof *u->list);
    u->members = calloc(room, sizeof *u->members);
    if (enough && u->list && u->members) {
        cut(g, parts, part_of, current);
        for (uint32_t i = 0; i < g->count; i++) {
            part *p = &parts[part_of[i]];
            const bool grouped = p->work > 1 || (p->work == 1 && gains_alone(g, p));
            if (!grouped || p->unit == 0)
                p->unit = ++u->count;
            g->nodes[i].group = p->unit - 1;
            unit *un = &u->list[g->nodes[i].group];
            un->size++;
            un->last = i;
            un->grouped = grouped;
        }
        fill_units(g, u);
    }
    const pdm_status status = enough && u->list && u->members ? PDM_OK : PDM_NOMEM;
    free(parts);
    free(part_of);
    free(current);
    return status;
}

static pdm_status make_edges(const grouping *g, units *u)
{
    u->edges = calloc(g->users.n + 1, sizeof *u->edges);
    u->heap = calloc((size_t)u->count + 1, sizeof *u->heap);
    if (!u->edges || !u->heap)
        return PDM_NOMEM;
    for (size_t i = 0; i < g->users.n; i++)
        u->list[g->nodes[g->producers.v[i]].group].num_edges++;
    for (uint32_t i = 0, at = 0; i < u->count; i++) {
        u->list[i].first_edge = at;
        at += u->list[i].num_edges;
        u->list[i].num_edges = 0;
    }
    for (size_t i = 0; i < g->users.n; i++) {
        unit *from = &u->list[g->nodes[g->producers.v[i]].group];
        const uint32_t to = g->nodes[g->users.v[i]].group;
        if (from == &u->list[to])
            continue;
        u->edges[from->first_edge + from->num_edges++] = to;
        u->list[to].pending++;
    }
    return PDM_OK;
}

/* Earlier segments first, then in the order of the last ops. */
static bool comes_first(const grouping *g, const units *u, uint32_t a, uint32_t b)
{
    const uint32_t x = g->nodes[u->list[a].last].segment, y = g->nodes[u->list[b].last].segment;

    return x != y ? x < y : u->list[a].last < u->list[b].last;
}

static void push(const grouping *g, units *u, uint32_t which)
{
    uint32_t at = u->heap_size++;

    for (; at > 0 && comes_first(g, u, which, u->heap[(at - 1) / 2]); at = (at - 1) / 2)
        u->heap[at] = u->heap[(at - 1) / 2];
    u->heap[at] = which;
}

static uint32_t pop(const grouping *g, units *u)
{
    const uint32_t first = u->heap[0], moved = u->heap[--u->heap_size];
    uint32_t at = 0;

    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= u->heap_size)
            break;
        if (child + 1 < u->heap_size && comes_first(g, u, u->heap[child + 1], u->heap[child]))
            child++;
        if (!comes_first(g, u, u->heap[child], moved))
            break;
        u->heap[at] = u->heap[child];
        at = child;
    }
    u->heap[at] = moved;
    return first;
}

/* ---- moving ops ------------------------------------------------------------------------------ */

static bool is_used_outside(const grouping *g, const pdm_ir_value *v, uint32_t unit_number)
{
    for (const pdm_ir_use *use = pdm_ir_value_first_use(v); use; use = use->next) {
        const uint32_t n = number_of(g, use->owner);
        if (n == NONE || g->nodes[n].group != unit_number)
            return true;
    }
    return false;
}

/* "add_relu_mul", from the names of the first few ops; what makes and takes apart vectors aside. */
static void name_of(const grouping *g, const units *u, const unit *un, char *out, size_t size)
{
    enum { FEW = 4 };
    uint32_t count = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < un->size && at < size; i++) {
        const char *name = pdm_ir_op_name(g->nodes[u->members[un->first_member + i]].op);
        if (!strncmp(name, "builtin.", strlen("builtin.")) || count++ >= FEW)
            continue;
        const char *dot = strchr(name, '.');
        at += (size_t)snprintf(out + at, size - at, "%s%s", count > 1 ? "_" : "", dot ? dot + 1 : name);
    }
    if (count > FEW && at < size)
        snprintf(out + at, size - at, "_%u", count);
}

static pdm_ir_op *new_op(pdm_ir_context *context, pdm_ir_op_code code, const pdm_ir_op_state *more)
{
    pdm_ir_op_state state = *more;

    state.info = pdm_ir_op_info_by_code(context, code);
    return state.info ? pdm_ir_op_create(context, &state) : NULL;
}

/* The op for a group whose outputs are known; its members move into it. */
static pdm_ir_op *wrap(grouping *g, const units *u, const unit *un, pdm_ir_value *const *outputs,
                       const pdm_ir_type *types, size_t count)
{
    pdm_ir_context *context = g->module->context;
    char name[128];
    pdm_ir_region *region = pdm_ir_region_create_with_block();

    name_of(g, u, un, name, sizeof name);
    const pdm_ir_named_attr attr = {"name", pdm_ir_attr_str(context, name), 0};
    const pdm_ir_op_state state = {.result_types = types,
                                   .num_results = count,
                                   .attrs = &attr,
                                   .num_attrs = 1,
                                   .regions = &region,
                                   .num_regions = 1};
    pdm_ir_op *group =
        region && attr.attr ? new_op(context, PDM_IR_OP_cinn_op_group, &state) : NULL;
    if (!group) {
        if (region)
            pdm_ir_region_destroy(region);
        return NULL;
    }
    const pdm_ir_op_state ends = {.operands = outputs, .num_operands = count};
    pdm_ir_op *yield = new_op(context, PDM_IR_OP_cf_yield, &ends);
    if (!yield) {
        pdm_ir_op_erase(group);
        return NULL;
    }
    const pdm_ir_op *first = g->nodes[u->members[un->first_member]].op;
    group->lg_block = first->lg_block;
    group->lg_op = first->lg_op;
    for (uint32_t i = 0; i < un->size; i++) {
        pdm_ir_op *op = g->nodes[u->members[un->first_member + i]].op;
        pdm_ir_op_detach(op);
        pdm_ir_block_append(region->first, op);
    }
    pdm_ir_block_append(region->first, yield);
    for (size_t i = 0; i < count; i++) {
        const uint32_t n = number_of(g, pdm_ir_value_op(outputs[i]));
        for (pdm_ir_use *use = pdm_ir_value_first_use(outputs[i]), *next; use; use = next) {
            const uint32_t user = number_of(g, use->owner);
            next = use->next;
            if (use->owner != yield && (user == NONE || g->nodes[user].group != g->nodes[n].group))
                pdm_ir_use_set(use, pdm_ir_op_result(group, i));
        }
    }
    return group;
}

/* The op that stands for a unit. */
static pdm_ir_op *op_of(grouping *g, const units *u, uint32_t number)
{
    const unit *un = &u->list[number];
    const uint32_t *members = u->members + un->first_member;
    size_t count = 0, room = 1;

    if (!un->grouped)
        return g->nodes[members[0]].op;
    for (uint32_t i = 0; i < un->size; i++)
        room += g->nodes[members[i]].op->num_results;
    pdm_ir_value **outputs = calloc(room, sizeof(pdm_ir_value *));
    pdm_ir_type *types = calloc(room, sizeof(pdm_ir_type));
    for (uint32_t i = 0; outputs && types && i < un->size; i++) {
        const pdm_ir_op *op = g->nodes[members[i]].op;
        for (uint32_t k = 0; k < op->num_results; k++) {
            pdm_ir_value *v = pdm_ir_op_result(op, k);
            if (!is_used_outside(g, v, number))
                continue;
            types[count] = v->type;
            outputs[count++] = v;
        }
    }
    pdm_ir_op *group = outputs && types ? wrap(g, u, un, outputs, types, count) : NULL;
    free(outputs);
    free(types);
    return group;
}

/* Place all units in an order that fits: that of the program where it can be. */
static pdm_status place(grouping *g, units *u, pdm_ir_block *block)
{
    for (uint32_t i = 0; i < u->count; i++) {
        if (u->list[i].pending == 0)
            push(g, u, i);
    }
    while (u->heap_size > 0) {
        const uint32_t at = pop(g, u);
        pdm_ir_op *op = op_of(g, u, at);
        if (!op)
            return PDM_NOMEM;
        if (op->block)
            pdm_ir_op_detach(op);
        pdm_ir_block_append(block, op);
        const unit *un = &u->list[at];
        for (uint32_t i = 0; i < un->num_edges; i++) {
            const uint32_t next = u->edges[un->first_edge + i];
            if (--u->list[next].pending == 0)
                push(g, u, next);
        }
    }
    return PDM_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pdm_status group_block(grouping *g, pdm_ir_block *block);

static pdm_status group_inside(grouping *g, pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
            PDM_TRY(group_block(g, b));
    }
    return PDM_OK;
}

static pdm_status arrange(grouping *g, pdm_ir_block *block)
{
    units u = {0};
    pdm_status status;

    find_levels(g);
    status = sink(g);
    connect(g);
    if (status == PDM_OK)
        status = make_units(g, &u);
    if (status == PDM_OK)
        status = make_edges(g, &u);
    if (status == PDM_OK && u.count > 0)
        status = place(g, &u, block);
    free(u.list);
    free(u.members);
    free(u.edges);
    free(u.heap);
    return status;
}

static pdm_status group_block(grouping *g, pdm_ir_block *block)
{
    g->count = 0;
    g->nodes = NULL;
    g->users.n = g->producers.n = g->apart.n = 0;
    pdm_map_clear(&g->index);
    pdm_status status = gather(g, block);
    if (status == PDM_OK)
        status = arrange(g, block);
    free(g->nodes);
    g->nodes = NULL;
    /* Constants of this block are known now; those inside see them. */
    for (pdm_ir_op *op = block->first; op && status == PDM_OK; op = op->next) {
        if (!PDM_IR_IS(op, cinn_op, group))
            status = group_inside(g, op);
    }
    return status;
}

pdm_status pdm_cinn_group_module(pdm_ir_module *module, const pdm_cinn_group_options *options)
{
    grouping g = {.module = module, .single = options && options->single,
                  .has_kernel = options ? options->has_kernel : NULL};
    pdm_status status = group_block(&g, module->block);

    pdm_map_deinit(&g.constants);
    pdm_map_deinit(&g.index);
    PDM_VEC_FREE(&g.apart);
    PDM_VEC_FREE(&g.users);
    PDM_VEC_FREE(&g.producers);
    if (status == PDM_OK)
        status = pdm_cinn_note_dims(module);
    return status;
}
