/*
 * What instructions touch, what follows from that for their order, and when values are done with.
 *
 * Besides slots there are places that stand for effects: each stack, the random generator, what is
 * printed or asserted. Whoever has such an effect reads and writes the place, so that the effects
 * come in program order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "exec/plan.h"

typedef PDM_VEC(uint32_t) numbers;

/* The last who wrote a place, and who read it since. */
typedef struct place {
    uint32_t writer;       /* instruction; PDM_EXEC_NONE: nobody in this block */
    uint32_t first_reader; /* index into reader cells; PDM_EXEC_NONE: none */
} place;

typedef struct cell {
    uint32_t instr, next;
} cell;

typedef struct order {
    pdm_exec_plan *plan;
    pdm_exec_block *const *owners; /* by slot */
    uint32_t *users;               /* by slot */
    uint32_t *last;                /* by place, for the block at hand */
    place *places;                 /* likewise; empty between blocks */
    uint32_t *used;
    uint32_t num_places;
    uint32_t *read_mark,
        *write_mark; /* by place: the stamp of the instruction that was seen last */
    uint32_t stamp;
} order;

/* What one instruction, or a block, touches. */
typedef struct access {
    numbers reads, writes;
} access;

enum { MAX_REDUCED = 8192 }; /* instructions of a block whose edges are thinned out */

static void access_free(access *a)
{
    PDM_VEC_FREE(&a->reads);
    PDM_VEC_FREE(&a->writes);
}

/* ---- accesses -------------------------------------------------------------------------------- */

static pdm_status add(order *o, numbers *list, uint32_t *mark, uint32_t at)
{
    if (at == PDM_EXEC_NONE || mark[at] == o->stamp)
        return PDM_OK;
    mark[at] = o->stamp;
    return PDM_VEC_PUSH(list, at) ? PDM_OK : PDM_NOMEM;
}

/* A slot, or all slots that its list holds. */
static pdm_status add_slot(order *o, numbers *list, uint32_t *mark, uint32_t slot)
{
    if (slot == PDM_EXEC_NONE)
        return PDM_OK;
    const uint32_t index = o->plan->list_of[slot];
    if (index == PDM_EXEC_NONE)
        return add(o, list, mark, slot);
    for (uint32_t i = 0; i < o->plan->lists[index].count; i++)
        PDM_TRY(add_slot(o, list, mark, o->plan->lists[index].elements[i]));
    return PDM_OK;
}

static pdm_status reads(order *o, access *a, uint32_t slot)
{
    return add_slot(o, &a->reads, o->read_mark, slot);
}

static pdm_status writes(order *o, access *a, uint32_t slot)
{
    return add_slot(o, &a->writes, o->write_mark, slot);
}

static pdm_status effect(order *o, access *a, uint32_t which)
{
    PDM_TRY(add(o, &a->reads, o->read_mark, o->plan->num_slots + which));
    return add(o, &a->writes, o->write_mark, o->plan->num_slots + which);
}

/* Effects that are no stack. */
enum { RANDOM, MESSAGE, NUM_EFFECTS };

static pdm_status effects_of(order *o, const pdm_exec_instr *instr, access *a)
{
    const pdm_ir_op_desc *desc = instr->op->info->desc;

    if (instr->kind == PDM_EXEC_PUSH || instr->kind == PDM_EXEC_POP ||
        instr->kind == PDM_EXEC_HAS_ELEMENTS)
        PDM_TRY(effect(o, a, NUM_EFFECTS + instr->stack));
    if (instr->random)
        PDM_TRY(effect(o, a, RANDOM));
    if (instr->kind == PDM_EXEC_KERNEL && desc && (desc->flags & PDM_IR_SIDE_EFFECT))
        PDM_TRY(effect(o, a, MESSAGE));
    return PDM_OK;
}

/* Everything that instr touches, each place once. */
static pdm_status access_of(order *o, const pdm_exec_instr *instr, access *a)
{
    a->reads.n = a->writes.n = 0;
    o->stamp++;
    for (uint32_t i = 0; i < instr->num_in; i++)
        PDM_TRY(reads(o, a, instr->in[i]));
    for (uint32_t i = 0; i < instr->num_out; i++) {
        PDM_TRY(writes(o, a, instr->out[i]));
        if (instr->in_place && instr->in_place[i])
            PDM_TRY(reads(o, a, instr->out[i]));
    }
    if (instr->kind == PDM_EXEC_WHILE) /* the condition's variable takes what the body yields */
        PDM_TRY(writes(o, a, instr->in[0]));
    for (uint32_t i = 0; instr->may_move && i < instr->num_in; i++) {
        if (instr->may_move[i])
            PDM_TRY(writes(o, a, instr->in[i]));
    }
    for (int b = 0; b < 2 && instr->blocks[b]; b++) {
        const pdm_exec_block *block = instr->blocks[b];
        for (uint32_t i = 0; i < block->num_outer_reads; i++)
            PDM_TRY(add(o, &a->reads, o->read_mark, block->outer_reads[i]));
        for (uint32_t i = 0; i < block->num_outer_writes; i++)
            PDM_TRY(add(o, &a->writes, o->write_mark, block->outer_writes[i]));
    }
    return effects_of(o, instr, a);
}

/* ---- edges ----------------------------------------------------------------------------------- */

typedef struct edges {
    numbers list;    /* predecessors of all instructions, one after the other */
    uint32_t *begin; /* by instruction, and the end */
    place *places;
    PDM_VEC(cell) cells;
    uint32_t *used; /* places that were touched, to be cleared afterwards */
    size_t num_used;
} edges;

static pdm_status depend(edges *e, uint32_t begin, uint32_t instr, uint32_t on)
{
    if (on == PDM_EXEC_NONE || on == instr)
        return PDM_OK;
    for (size_t i = e->list.n; i > begin; i--) {
        if (e->list.v[i - 1] == on)
            return PDM_OK;
    }
    return PDM_VEC_PUSH(&e->list, on) ? PDM_OK : PDM_NOMEM;
}

static place *place_at(edges *e, uint32_t at)
{
    place *p = &e->places[at];

    if (p->writer == PDM_EXEC_NONE && p->first_reader == PDM_EXEC_NONE)
        e->used[e->num_used++] = at;
    return p;
}

static pdm_status edges_of(edges *e, const access *a, uint32_t instr)
{
    const uint32_t begin = (uint32_t)e->list.n;

    for (size_t i = 0; i < a->reads.n; i++)
        PDM_TRY(depend(e, begin, instr, e->places[a->reads.v[i]].writer));
    for (size_t i = 0; i < a->writes.n; i++) {
        const place *p = &e->places[a->writes.v[i]];
        PDM_TRY(depend(e, begin, instr, p->writer));
        for (uint32_t c = p->first_reader; c != PDM_EXEC_NONE; c = e->cells.v[c].next)
            PDM_TRY(depend(e, begin, instr, e->cells.v[c].instr));
    }
    for (size_t i = 0; i < a->reads.n; i++) {
        place *p = place_at(e, a->reads.v[i]);
        const cell c = {instr, p->first_reader};
        if (!PDM_VEC_PUSH(&e->cells, c))
            return PDM_NOMEM;
        p->first_reader = (uint32_t)(e->cells.n - 1);
    }
    for (size_t i = 0; i < a->writes.n; i++) {
        place *p = place_at(e, a->writes.v[i]);
        p->writer = instr;
        p->first_reader = PDM_EXEC_NONE;
    }
    return PDM_OK;
}

static void clear_places(edges *e)
{
    for (size_t i = 0; i < e->num_used; i++)
        e->places[e->used[i]] = (place){PDM_EXEC_NONE, PDM_EXEC_NONE};
    e->num_used = 0;
}

static int descending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x < y) - (x > y);
}

/* Drop edges that follow from others: keep a predecessor when no later kept one comes after it. */
static pdm_status reduce(edges *e, size_t count)
{
    const size_t words = (count + 63) / 64;
    uint64_t *before = count && count <= MAX_REDUCED ? calloc(count * words, sizeof *before) : NULL;
    uint32_t out = 0;

    if (count == 0 || count > MAX_REDUCED)
        return PDM_OK;
    if (!before)
        return PDM_NOMEM;
    for (size_t i = 0; i < count; i++) {
        uint32_t *prev = e->list.v + e->begin[i];
        const uint32_t n = e->begin[i + 1] - e->begin[i];
        uint64_t *mine = before + i * words;
        if (n > 1)
            qsort(prev, n, sizeof *prev, descending);
        e->begin[i] = out;
        for (uint32_t k = 0; k < n; k++) {
            const uint32_t p = prev[k];
            if (mine[p / 64] >> p % 64 & 1)
                continue;
            for (size_t w = 0; w <= p / 64; w++)
                mine[w] |= before[p * words + w];
            mine[p / 64] |= (uint64_t)1 << p % 64;
            e->list.v[out++] = p;
        }
    }
    e->begin[count] = out;
    free(before);
    return PDM_OK;
}

/* From predecessors to successors; whether some instructions need not wait for each other. */
static pdm_status make_nodes(order *o, pdm_exec_block *block, const edges *e)
{
    const size_t count = block->num_instrs;
    pdm_graph_node *nodes = pdm_arena_calloc(&o->plan->arena, count + 1, sizeof *nodes);
    uint32_t *next = pdm_arena_calloc(&o->plan->arena, e->begin[count] + 1, sizeof *next);
    uint32_t *depth = calloc(count + 1, sizeof *depth), longest = 0, at = 0;

    if (!nodes || !next || !depth) {
        free(depth);
        return PDM_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        nodes[i].num_prev = e->begin[i + 1] - e->begin[i];
        for (uint32_t k = e->begin[i]; k < e->begin[i + 1]; k++) {
            const uint32_t p = e->list.v[k];
            nodes[p].num_next++;
            if (depth[i] < depth[p] + 1)
                depth[i] = depth[p] + 1;
        }
        if (longest < depth[i] + 1)
            longest = depth[i] + 1;
    }
    for (size_t i = 0; i < count; i++) {
        nodes[i].next = next + at;
        at += nodes[i].num_next;
        nodes[i].num_next = 0;
    }
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = e->begin[i]; k < e->begin[i + 1]; k++) {
            pdm_graph_node *p = &nodes[e->list.v[k]];
            ((uint32_t *)(uintptr_t)p->next)[p->num_next++] = (uint32_t)i;
        }
    }
    block->nodes = nodes;
    block->parallel = count > longest + longest / 10 + 2;
    free(depth);
    return PDM_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static pdm_status keep(order *o, const numbers *list, const uint32_t **out, uint32_t *out_count)
{
    *out_count = (uint32_t)list->n;
    *out = pdm_arena_memdup(&o->plan->arena, list->n ? list->v : &(uint32_t){0},
                            (list->n ? list->n : 1) * sizeof(uint32_t));
    return *out ? PDM_OK : PDM_NOMEM;
}

static bool is_own(const order *o, const pdm_exec_block *block, uint32_t at)
{
    return at < o->plan->num_slots && o->owners[at] == block;
}

/* Own slots that instr touches count it as a user; the others are added to what the block touches.
 */
static pdm_status sort_touched(order *o, pdm_exec_block *block, pdm_exec_instr *instr,
                               const access *a, numbers *own, access *outer)
{
    own->n = 0;
    o->stamp++; /* marks are free again: they tell what was taken already */
    for (size_t i = 0; i < a->reads.n + a->writes.n; i++) {
        const uint32_t at = i < a->reads.n ? a->reads.v[i] : a->writes.v[i - a->reads.n];
        if (!is_own(o, block, at))
            continue;
        const size_t before = own->n;
        PDM_TRY(add(o, own, o->read_mark, at));
        if (own->n > before)
            o->users[at]++;
    }
    PDM_TRY(keep(o, own, &instr->touched, &instr->num_touched));
    for (size_t i = 0; i < a->reads.n; i++) {
        if (!is_own(o, block, a->reads.v[i]) && !PDM_VEC_PUSH(&outer->reads, a->reads.v[i]))
            return PDM_NOMEM;
    }
    for (size_t i = 0; i < a->writes.n; i++) {
        if (!is_own(o, block, a->writes.v[i]) && !PDM_VEC_PUSH(&outer->writes, a->writes.v[i]))
            return PDM_NOMEM;
    }
    return PDM_OK;
}

/* Remove what occurs twice. */
static void unique(order *o, numbers *list)
{
    size_t n = 0;

    o->stamp++;
    for (size_t i = 0; i < list->n; i++) {
        if (o->read_mark[list->v[i]] == o->stamp)
            continue;
        o->read_mark[list->v[i]] = o->stamp;
        list->v[n++] = list->v[i];
    }
    list->n = n;
}

/* Yielded values are not released before they are handed on. Outer ones are read by the block. */
static pdm_status note_yields(order *o, pdm_exec_block *block, access *outer)
{
    for (uint32_t i = 0; i < block->num_yields; i++) {
        access a = {0};
        o->stamp++;
        pdm_status status = reads(o, &a, block->yields[i]);
        for (size_t k = 0; status == PDM_OK && k < a.reads.n; k++) {
            if (is_own(o, block, a.reads.v[k]))
                o->users[a.reads.v[k]] = 0;
            else if (!PDM_VEC_PUSH(&outer->reads, a.reads.v[k]))
                status = PDM_NOMEM;
        }
        access_free(&a);
        PDM_TRY(status);
    }
    return PDM_OK;
}

/* A yielded value is handed over whole when nothing else can see it. */
static pdm_status yield_moves(order *o, pdm_exec_block *block)
{
    bool *may_move = pdm_arena_calloc(&o->plan->arena, block->num_yields + 1, sizeof *may_move);

    if (!may_move)
        return PDM_NOMEM;
    o->stamp++;
    for (uint32_t i = block->num_yields; i-- > 0;) { /* of equal ones only the last may go */
        const uint32_t slot = block->yields[i];
        if (slot == PDM_EXEC_NONE)
            continue;
        may_move[i] = is_own(o, block, slot) && o->plan->list_of[slot] == PDM_EXEC_NONE &&
                      o->read_mark[slot] != o->stamp;
        o->read_mark[slot] = o->stamp;
    }
    block->may_move = may_move;
    return PDM_OK;
}

/* Which instruction of the block touches a slot last in program order; its yields come after all.
 */
static pdm_status last_touches(order *o, const pdm_exec_block *block, access *a)
{
    for (size_t i = 0; i < block->num_instrs; i++) {
        PDM_TRY(access_of(o, &block->instrs[i], a));
        for (size_t k = 0; k < a->reads.n; k++)
            o->last[a->reads.v[k]] = (uint32_t)i;
        for (size_t k = 0; k < a->writes.n; k++)
            o->last[a->writes.v[k]] = (uint32_t)i;
    }
    a->reads.n = 0;
    o->stamp++;
    for (uint32_t i = 0; i < block->num_yields; i++)
        PDM_TRY(reads(o, a, block->yields[i]));
    for (size_t k = 0; k < a->reads.n; k++)
        o->last[a->reads.v[k]] = (uint32_t)block->num_instrs;
    return PDM_OK;
}

/* What a loop may take for good: it is the last that touches it, and has it once. Taking is
 * writing. */
static pdm_status loop_moves(order *o, const pdm_exec_block *block, pdm_exec_instr *instr,
                             uint32_t index)
{
    bool *may_move = pdm_arena_calloc(&o->plan->arena, instr->num_in + 1, sizeof *may_move);
    const pdm_exec_block *body = instr->blocks[0];

    if (!may_move)
        return PDM_NOMEM;
    instr->may_move = may_move;
    o->stamp++;
    for (uint32_t i = 0; i < body->num_outer_reads; i++)
        o->read_mark[body->outer_reads[i]] = o->stamp;
    for (uint32_t i = 0; i < body->num_outer_writes; i++)
        o->read_mark[body->outer_writes[i]] = o->stamp;
    for (uint32_t i = 0; i < instr->num_in; i++) {
        const uint32_t slot = instr->in[i];
        if (slot == PDM_EXEC_NONE)
            continue;
        may_move[i] = i > 0 && is_own(o, block, slot) && o->plan->list_of[slot] == PDM_EXEC_NONE &&
                      o->last[slot] == index && o->read_mark[slot] != o->stamp;
        o->read_mark[slot] = o->stamp; /* a second time it is not free any more */
    }
    /* Values are handed over one by one, so the first of two may not take it either. */
    o->stamp++;
    for (uint32_t i = instr->num_in; i-- > 0;) {
        if (instr->in[i] == PDM_EXEC_NONE)
            continue;
        if (o->read_mark[instr->in[i]] == o->stamp)
            may_move[i] = false;
        o->read_mark[instr->in[i]] = o->stamp;
    }
    return PDM_OK;
}

static pdm_status walk(order *o, pdm_exec_block *block, edges *e, access *a, access *outer,
                       numbers *own)
{
    PDM_TRY(last_touches(o, block, a));
    for (size_t i = 0; i < block->num_instrs; i++) {
        pdm_exec_instr *instr = &block->instrs[i];
        if (instr->kind == PDM_EXEC_WHILE)
            PDM_TRY(loop_moves(o, block, instr, (uint32_t)i));
        PDM_TRY(access_of(o, instr, a));
        e->begin[i] = (uint32_t)e->list.n;
        PDM_TRY(edges_of(e, a, (uint32_t)i));
        PDM_TRY(sort_touched(o, block, instr, a, own, outer));
    }
    e->begin[block->num_instrs] = (uint32_t)e->list.n;
    return note_yields(o, block, outer);
}

static pdm_status order_one(order *o, pdm_exec_block *block)
{
    edges e = {.begin = calloc(block->num_instrs + 1, sizeof *e.begin),
               .places = o->places,
               .used = o->used};
    access a = {0}, outer = {0};
    numbers own = {0};
    pdm_status status = e.begin ? walk(o, block, &e, &a, &outer, &own) : PDM_NOMEM;

    clear_places(&e);
    if (status == PDM_OK)
        status = reduce(&e, block->num_instrs);
    if (status == PDM_OK)
        status = make_nodes(o, block, &e);
    if (status == PDM_OK)
        status = yield_moves(o, block);
    if (status == PDM_OK) {
        unique(o, &outer.reads);
        unique(o, &outer.writes);
        status = keep(o, &outer.reads, &block->outer_reads, &block->num_outer_reads);
    }
    if (status == PDM_OK)
        status = keep(o, &outer.writes, &block->outer_writes, &block->num_outer_writes);
    free(e.begin);
    PDM_VEC_FREE(&e.list);
    PDM_VEC_FREE(&e.cells);
    PDM_VEC_FREE(&own);
    access_free(&a);
    access_free(&outer);
    return status;
}

/* Blocks inside come first: what they touch is known then. */
static pdm_status order_block(order *o, pdm_exec_block *block)
{
    for (size_t i = 0; i < block->num_instrs; i++) {
        for (int b = 0; b < 2 && block->instrs[i].blocks[b]; b++)
            PDM_TRY(order_block(o, block->instrs[i].blocks[b]));
    }
    return order_one(o, block);
}

/* The slots of each block, lists left out. */
static pdm_status own_slots(order *o)
{
    const pdm_exec_plan *plan = o->plan;
    uint32_t *room = pdm_arena_calloc(&o->plan->arena, plan->num_slots + 1, sizeof *room), at = 0;

    if (!room)
        return PDM_NOMEM;
    for (uint32_t i = 0; i < plan->num_slots; i++) {
        if (o->owners[i] && plan->list_of[i] == PDM_EXEC_NONE)
            o->owners[i]->num_own++;
    }
    for (uint32_t i = 0; i < plan->num_slots; i++) {
        pdm_exec_block *block = o->owners[i];
        if (!block || plan->list_of[i] != PDM_EXEC_NONE)
            continue;
        if (!block->own) {
            block->own = room + at;
            at += block->num_own;
            block->num_own = 0;
        }
        ((uint32_t *)(uintptr_t)block->own)[block->num_own++] = i;
    }
    return PDM_OK;
}

pdm_status pdm_exec_plan_order(pdm_exec_plan *plan, pdm_exec_block *const *owners)
{
    order o = {.plan = plan, .owners = owners};
    pdm_status status = PDM_NOMEM;

    o.num_places = plan->num_slots + NUM_EFFECTS + plan->num_stacks;
    const size_t room = (size_t)o.num_places + 1;
    o.read_mark = calloc(room, sizeof *o.read_mark);
    o.write_mark = calloc(room, sizeof *o.write_mark);
    o.last = calloc(room, sizeof *o.last);
    o.used = calloc(room, sizeof *o.used);
    o.places = malloc(room * sizeof *o.places);
    o.users = pdm_arena_calloc(&plan->arena, plan->num_slots + 1, sizeof *o.users);
    for (size_t i = 0; o.places && i < room; i++)
        o.places[i] = (place){PDM_EXEC_NONE, PDM_EXEC_NONE};
    if (o.read_mark && o.write_mark && o.last && o.used && o.places && o.users)
        status = own_slots(&o);
    if (status == PDM_OK) {
        plan->users = o.users;
        status = order_block(&o, plan->top);
    }
    free(o.read_mark);
    free(o.write_mark);
    free(o.last);
    free(o.used);
    free(o.places);
    return status;
}
