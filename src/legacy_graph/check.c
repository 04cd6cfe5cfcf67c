/*
 * Structural check of a program that was read. Problems are collected. Costs are linear in the
 * program: the depth limit bounds each walk upward, and walks start only in blocks whose parent
 * chain is known to reach block 0.
 */
#include <stdlib.h>
#include <string.h>

#include "legacy_graph/read.h"
#include "legacy_graph/report.h"

enum { UNKNOWN = -1, BROKEN = -2, OPEN = -3 };

/* An op that owns a block. */
typedef struct owner {
    const pdm_lg_op *op;
    int32_t block, op_index;
} owner;

typedef struct checker {
    const pdm_lg_program *program;
    pdm_lg_report report;
    int32_t *depth; /* by block: ancestors; BROKEN: the chain of parents does not reach block 0 */
    owner *owners;  /* by block; op NULL: none yet */
    pdm_map seen;   /* name -> number of the list and place in it where it was last seen */
    uint32_t list;
    pdm_map fed; /* variables that feed ops write */
    bool out_of_memory;
} checker;

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool in_range(const checker *c, int32_t block)
{
    return block >= 0 && (size_t)block < c->program->num_blocks;
}

static void check_block_numbers(checker *c)
{
    for (size_t i = 0; i < c->program->num_blocks; i++) {
        const pdm_lg_block *block = &c->program->blocks[i];
        int32_t at = (int32_t)i;
        c->report.loc.block = at;
        if (block->idx != at)
            PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, NULL,
                          "the block at position %d says that it has index %d", at, block->idx);
        if (at == 0 && block->parent != -1)
            PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, NULL,
                          "bad parent: block 0 has parent %d; it can have none (-1)",
                          block->parent);
        else if (at != 0 && block->parent == at)
            PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, NULL,
                          "bad parent: block %d is its own parent", at);
        else if (at != 0 && !in_range(c, block->parent))
            PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, NULL,
                          "bad parent: block %d has parent %d, which is not one of the %zu blocks",
                          at, block->parent, c->program->num_blocks);
    }
}

/*
 * The depth of one block, and of those on its way up. The way is walked twice: up to a block whose
 * depth is known, then again to fill in. Every block is filled once, so all calls together are
 * linear.
 */
static void find_depth(checker *c, int32_t start)
{
    const pdm_lg_block *blocks = c->program->blocks;
    int32_t at = start, steps = 0, base;

    while (in_range(c, at) && c->depth[at] == UNKNOWN) {
        c->depth[at] = OPEN;
        steps++;
        at = blocks[at].parent;
    }
    if (!in_range(c, at)) {
        base = BROKEN; /* reported by check_block_numbers */
    } else if (c->depth[at] == OPEN) {
        base = BROKEN;
        c->report.loc.block = at;
        if (blocks[at].parent != at)
            PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, NULL,
                          "bad parent: the parents of block %d lead back to it", at);
    } else {
        base = c->depth[at];
    }
    for (at = start; in_range(c, at) && c->depth[at] == OPEN; at = blocks[at].parent)
        c->depth[at] = base == BROKEN ? BROKEN : base + steps--;
}

/* Refuses deep programs: everything after us may recurse over blocks. */
static void check_depth(checker *c)
{
    int32_t deepest = 0;

    for (size_t i = 0; i < c->program->num_blocks; i++)
        c->depth[i] = UNKNOWN;
    c->depth[0] = 0;
    for (size_t i = 0; i < c->program->num_blocks; i++) {
        find_depth(c, (int32_t)i);
        if (c->depth[i] > c->depth[deepest])
            deepest = (int32_t)i;
    }
    if (c->depth[deepest] <= PDM_LG_MAX_BLOCK_DEPTH)
        return;
    c->report.loc.block = deepest;
    PDM_LG_REPORT(&c->report, PDM_D_LIMIT, NULL, "blocks are nested %d deep; the limit is %d",
                  c->depth[deepest], PDM_LG_MAX_BLOCK_DEPTH);
}

/* True when walks upward from block are safe and cheap. */
static bool is_rooted(const checker *c, int32_t block)
{
    return c->depth[block] >= 0 && c->depth[block] <= PDM_LG_MAX_BLOCK_DEPTH;
}

/* True when inner is outer or lies in it. Both are rooted. */
static bool is_within(const checker *c, int32_t inner, int32_t outer)
{
    while (c->depth[inner] > c->depth[outer])
        inner = c->program->blocks[inner].parent;
    return inner == outer;
}

/* ---- names that must be unique --------------------------------------------------------------- */

#define NOT_SEEN SIZE_MAX

/* Where in the current list name was seen last, or NOT_SEEN; it is seen at `at` now. */
static size_t seen_at(checker *c, const char *name, size_t at)
{
    pdm_map_entry *entry = pdm_map_put(&c->seen, name);

    if (!entry) {
        c->out_of_memory = true;
        return NOT_SEEN;
    }
    size_t before =
        entry->value.num >> 32 == c->list ? (size_t)(uint32_t)entry->value.num : NOT_SEEN;
    entry->value.num = (uint64_t)c->list << 32 | (uint32_t)at;
    return before;
}

static void check_slot_names(checker *c, const pdm_lg_slot *slots, size_t n, const char *what)
{
    c->list++;
    for (size_t i = 0; i < n; i++) {
        if (seen_at(c, slots[i].name, i) != NOT_SEEN)
            PDM_LG_REPORT(&c->report, PDM_D_LG_DUPLICATE, slots[i].name,
                          "the %s slot \"%s\" occurs twice", what, slots[i].name);
    }
}

static bool same_texts(const pdm_lg_attr *a, const pdm_lg_attr *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->u.strings[i], b->u.strings[i]) != 0)
            return false;
    }
    return true;
}

static bool same_value(const pdm_lg_attr *a, const pdm_lg_attr *b)
{
    if (a->type != b->type || a->count != b->count)
        return false;
    switch (a->type) {
    case PDM_LG_STRING:
    case PDM_LG_VAR:
        return strcmp(a->u.s, b->u.s) == 0;
    case PDM_LG_STRINGS:
    case PDM_LG_VARS:
        return same_texts(a, b);
    case PDM_LG_INTS:
    case PDM_LG_BLOCKS:
        return memcmp(a->u.ints, b->u.ints, a->count * sizeof *a->u.ints) == 0;
    case PDM_LG_FLOATS:
        return memcmp(a->u.floats, b->u.floats, a->count * sizeof *a->u.floats) == 0;
    case PDM_LG_BOOLEANS:
        return memcmp(a->u.bools, b->u.bools, a->count * sizeof *a->u.bools) == 0;
    case PDM_LG_LONGS:
        return memcmp(a->u.longs, b->u.longs, a->count * sizeof *a->u.longs) == 0;
    case PDM_LG_FLOAT64S:
        return memcmp(a->u.doubles, b->u.doubles, a->count * sizeof *a->u.doubles) == 0;
    case PDM_LG_SCALARS: /* the reader clears what it does not set */
        return memcmp(a->u.scalars, b->u.scalars, a->count * sizeof *a->u.scalars) == 0;
    case PDM_LG_INT:
    case PDM_LG_FLOAT:
    case PDM_LG_BOOLEAN:
    case PDM_LG_BLOCK:
    case PDM_LG_LONG:
    case PDM_LG_FLOAT64:
    case PDM_LG_SCALAR:
        return memcmp(&a->u, &b->u, sizeof a->u) == 0;
    }
    return false;
}

/* Releases up to 2.6 write some attributes twice (use_mkldnn of reshape2): the same value is fine.
 */
static void check_attr_names(checker *c, const pdm_lg_attr *attrs, size_t n)
{
    c->list++;
    for (size_t i = 0; i < n; i++) {
        size_t before = seen_at(c, attrs[i].name, i);
        if (before != NOT_SEEN && !same_value(&attrs[before], &attrs[i]))
            PDM_LG_REPORT(&c->report, PDM_D_LG_DUPLICATE, attrs[i].name,
                          "the attribute \"%s\" occurs twice with different values", attrs[i].name);
    }
}

/* ---- variables and operations ---------------------------------------------------------------- */

/*
 * Shape inference of old releases multiplied unknown dimensions (-1 * 12 channels = -12), so a
 * computed variable, or what is left of one, may say so. What comes from outside may not.
 */
static void check_dims(checker *c, const pdm_lg_var *var)
{
    bool given = var->need_check_feed || pdm_lg_var_is_param(var) || pdm_map_find(&c->fed, var);

    if (var->rank > PDM_MAX_RANK)
        PDM_LG_REPORT(&c->report, PDM_D_LG_DIMS, var->name,
                      "variable \"%s\" has %zu dimensions; the limit is %d", var->name, var->rank,
                      PDM_MAX_RANK);
    for (size_t i = 0; i < var->rank && i < PDM_MAX_RANK; i++) {
        if (var->dims[i] < -1)
            PDM_LG_REPORT(&c->report, given ? PDM_D_LG_DIMS : PDM_D_LG_TYPE_DIFFERS, var->name,
                          "dimension %zu of variable \"%s\" is %lld: below -1%s", i, var->name,
                          (long long)var->dims[i], given ? "" : "; taken as unknown");
    }
}

static void check_vars(checker *c, const pdm_lg_block *block)
{
    c->list++;
    for (size_t i = 0; i < block->num_vars; i++) {
        if (seen_at(c, block->vars[i].name, i) != NOT_SEEN)
            PDM_LG_REPORT(&c->report, PDM_D_LG_DUPLICATE, block->vars[i].name,
                          "variable \"%s\" is declared twice", block->vars[i].name);
    }
    for (size_t i = 0; i < block->num_vars; i++) {
        check_dims(c, &block->vars[i]);
        check_attr_names(c, block->vars[i].attrs, block->vars[i].num_attrs);
    }
}

/* The declaration of a name for an op of the current block. */
static const pdm_lg_var *declaration(const checker *c, const char *name)
{
    const pdm_lg_program *program = c->program;
    int32_t at = c->report.loc.block;
    const pdm_lg_var *var = pdm_lg_lookup_var(program, at, name, NULL);

    if (var)
        return var;
    /* A gradient block also sees what its forward block made, in the scope that was kept. */
    while (at > 0 && program->blocks[at].forward_idx == -1)
        at = program->blocks[at].parent;
    if (at == 0) /* its parent may be anything: reported, and the check went on */
        return NULL;
    at = program->blocks[at].forward_idx;
    return in_range(c, at) && is_rooted(c, at) ? pdm_lg_lookup_var(program, at, name, NULL) : NULL;
}

static void check_args(checker *c, const pdm_lg_slot *slots, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < slots[i].num_args; k++) {
            const char *name = slots[i].args[k];
            if (strcmp(name, "@EMPTY@") != 0 && !declaration(c, name))
                PDM_LG_REPORT(&c->report, PDM_D_LG_DANGLING, name,
                              "%s %s names the variable \"%s\", which is declared nowhere", what,
                              slots[i].name, name);
        }
    }
}

/* A block that an attribute names: it must lie below the op, and no other op may have it. */
static void check_sub_block(checker *c, const pdm_lg_op *op, const char *attr, int32_t block)
{
    int32_t here = c->report.loc.block;

    if (!in_range(c, block)) {
        PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, attr,
                      "block index out of range: %s is %d, and the number of blocks is %zu", attr,
                      block, c->program->num_blocks);
        return;
    }
    if (block == here) {
        PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, attr,
                      "block cycle: %s is %d, the block that the op is in", attr, block);
        return;
    }
    owner *first = &c->owners[block];
    if (first->op && first->op != op) {
        PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, attr,
                      "%s is block %d, which belongs to op %d (%s) of block %d already", attr,
                      block, first->op_index, first->op->type, first->block);
        return;
    }
    *first = (owner){op, here, c->report.loc.op_index};
    if (!is_rooted(c, block) || !is_rooted(c, here))
        return;
    if (is_within(c, here, block))
        PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, attr,
                      "block cycle: %s is block %d, which contains the op", attr, block);
    else if (!is_within(c, block, here))
        PDM_LG_REPORT(&c->report, PDM_D_LG_BLOCK_INDEX, attr,
                      "%s is block %d, which does not lie below block %d, where the op is", attr,
                      block, here);
}

static void check_attrs(checker *c, const pdm_lg_op *op)
{
    check_attr_names(c, op->attrs, op->num_attrs);
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        if (attr->type == PDM_LG_BLOCK)
            check_sub_block(c, op, attr->name, attr->u.block);
        for (size_t k = 0; attr->type == PDM_LG_BLOCKS && k < attr->count; k++)
            check_sub_block(c, op, attr->name, attr->u.ints[k]);
    }
}

/*
 * Declared nowhere, and harmless: the column lists of feed and fetch, which tools leave out and
 * nothing reads; and what shadow_output names, which the framework passes over too.
 */
static bool needs_declared_inputs(const pdm_lg_op *op)
{
    return strcmp(op->type, "feed") != 0 && strcmp(op->type, "shadow_output") != 0;
}

static void check_op(checker *c, const pdm_lg_op *op)
{
    check_slot_names(c, op->inputs, op->num_inputs, "input");
    check_slot_names(c, op->outputs, op->num_outputs, "output");
    check_attrs(c, op);
    if (!is_rooted(c, c->report.loc.block))
        return;
    if (needs_declared_inputs(op))
        check_args(c, op->inputs, op->num_inputs, "input");
    if (strcmp(op->type, "fetch") != 0)
        check_args(c, op->outputs, op->num_outputs, "output");
}

static void note_fed(checker *c, const pdm_lg_op *op)
{
    for (size_t i = 0; i < op->num_outputs; i++) {
        for (size_t k = 0; k < op->outputs[i].num_args; k++) {
            const pdm_lg_var *var =
                pdm_lg_block_var(&c->program->blocks[0], op->outputs[i].args[k]);
            if (var && !pdm_map_put(&c->fed, var))
                c->out_of_memory = true;
        }
    }
}

/* Before the blocks are checked: feed ops stand in block 0, anywhere in it. */
static void find_fed(checker *c)
{
    const pdm_lg_block *block = &c->program->blocks[0];

    for (size_t i = 0; i < block->num_ops; i++) {
        if (strcmp(block->ops[i].type, "feed") == 0)
            note_fed(c, &block->ops[i]);
    }
}

static void check_block(checker *c, const pdm_lg_block *block)
{
    check_vars(c, block);
    for (size_t i = 0; i < block->num_ops; i++) {
        c->report.loc.op_index = (int32_t)i;
        c->report.loc.op_type = block->ops[i].type;
        check_op(c, &block->ops[i]);
    }
    c->report.loc.op_index = -1;
    c->report.loc.op_type = NULL;
}

static void check_program(checker *c)
{
    const pdm_lg_program *program = c->program;

    if (program->num_blocks == 0) {
        PDM_LG_REPORT(&c->report, PDM_D_LG_NO_BLOCK, NULL, "the program has no block");
        return;
    }
    check_block_numbers(c);
    check_depth(c);
    find_fed(c);
    for (size_t i = 0; i < program->num_blocks; i++) {
        c->report.loc.block = (int32_t)i;
        check_block(c, &program->blocks[i]);
    }
    c->report.loc.block = 0;
    if (program->blocks[0].num_ops == 0)
        PDM_LG_REPORT(&c->report, PDM_D_LG_NO_BLOCK, NULL,
                      "nothing to convert: block 0 has no ops");
}

pdm_status pdm_lg_check(const pdm_lg_program *program, pdm_diag_sink *sink)
{
    checker c = {.program = program, .report = {sink, PDM_NOWHERE, PDM_OK}};
    pdm_status status = PDM_NOMEM;

    c.report.loc.file = program->path;
    pdm_map_init(&c.seen);
    pdm_map_init(&c.fed);
    c.depth = calloc(program->num_blocks + 1, sizeof *c.depth);
    c.owners = calloc(program->num_blocks + 1, sizeof *c.owners);
    if (c.depth && c.owners) {
        check_program(&c);
        status = c.out_of_memory ? PDM_NOMEM : c.report.worst;
    }
    free(c.depth);
    free(c.owners);
    pdm_map_deinit(&c.seen);
    pdm_map_deinit(&c.fed);
    return status;
}
