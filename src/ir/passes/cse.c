/*
 * Common subexpressions: of pure ops that are the same, the first one does. A block sees what the
 * blocks around it have, never what its siblings have. What somebody writes, or a loop is given, is
 * left alone, and so are ops with regions.
 */
#include <stdlib.h>

#include "ir/align.h"
#include "ir/passes/same.h"

typedef struct known {
    pdm_ir_op *op;
    uint64_t hash;
    size_t next; /* older one in the bucket, from 1; 0: none */
} known;

typedef struct table {
    pdm_ir_pass_run *run;
    pdm_ir_writes *writes;
    PDM_VEC(known) ops; /* in the order of the program; blocks that were left are cut off */
    size_t *buckets;    /* newest one, from 1 */
    size_t mask;
} table;

static uint64_t mix(uint64_t hash, const void *what)
{
    hash ^= (uint64_t)(uintptr_t)what;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Operands that commute count without their order. */
static uint64_t hash_of(const pdm_ir_op *op)
{
    uint64_t hash = mix(0, op->info);

    if (op->num_operands == 2 && pdm_ir_commutes(op)) {
        hash = mix(hash, NULL) + mix(hash, pdm_ir_op_operand_value(op, 0)) +
               mix(hash, pdm_ir_op_operand_value(op, 1));
    } else {
        for (uint32_t i = 0; i < op->num_operands; i++)
            hash = mix(hash, pdm_ir_op_operand_value(op, i));
    }
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (pdm_ir_attr_matters(op->attrs[i].name))
            hash = mix(mix(hash, op->attrs[i].name), op->attrs[i].attr);
    }
    return hash;
}

static bool may_merge(const table *t, const pdm_ir_op *op)
{
    if (!pdm_ir_is_pure(op) || op->num_results == 0)
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (value && pdm_ir_is_written(t->writes, value))
            return false;
    }
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (pdm_ir_is_written(t->writes, pdm_ir_op_result(op, i)))
            return false;
    }
    return true;
}

/* The op that does already what op does; else op is entered. */
static pdm_status find_or_enter(table *t, pdm_ir_op *op, pdm_ir_op **out_found)
{
    const uint64_t hash = hash_of(op);
    size_t *bucket = &t->buckets[hash & t->mask];

    for (size_t at = *bucket; at; at = t->ops.v[at - 1].next) {
        const known *k = &t->ops.v[at - 1];
        if (k->hash == hash && pdm_ir_same_op(k->op, op)) {
            *out_found = k->op;
            return PDM_OK;
        }
    }
    *out_found = NULL;
    const known entry = {op, hash, *bucket};
    if (!PDM_VEC_PUSH(&t->ops, entry))
        return PDM_NOMEM;
    *bucket = t->ops.n;
    return PDM_OK;
}

static void leave(table *t, size_t count)
{
    while (t->ops.n > count) {
        const known *k = &t->ops.v[--t->ops.n];
        t->buckets[k->hash & t->mask] = k->next;
    }
}

static pdm_status merge_block(table *t, pdm_ir_block *block)
{
    const size_t outer = t->ops.n;

    for (pdm_ir_op *op = block->first, *next; op; op = next) {
        pdm_ir_op *found = NULL;
        next = op->next;
        for (uint32_t i = 0; i < op->num_regions; i++) {
            for (pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
                PDM_TRY(merge_block(t, b));
        }
        if (may_merge(t, op))
            PDM_TRY(find_or_enter(t, op, &found));
        if (!found)
            continue;
        for (uint32_t i = 0; i < op->num_results; i++)
            pdm_ir_value_replace_all_uses(pdm_ir_op_result(op, i), pdm_ir_op_result(found, i));
        pdm_ir_writes_forget(t->writes, op);
        pdm_ir_op_erase(op);
        if (!pdm_ir_pass_hit(t->run, pdm_ir_op_name(found)))
            return PDM_NOMEM;
    }
    leave(t, outer);
    return PDM_OK;
}

static pdm_status run(pdm_ir_pass_run *run)
{
    table t = {.run = run, .mask = 255};
    pdm_status status = PDM_OK;

    PDM_TRY(pdm_ir_pass_writes(run, &t.writes));
    while (t.mask < run->stats->ops_before)
        t.mask = 2 * t.mask + 1;
    t.buckets = calloc(t.mask + 1, sizeof *t.buckets);
    status = t.buckets ? merge_block(&t, run->module->block) : PDM_NOMEM;
    free(t.buckets);
    PDM_VEC_FREE(&t.ops);
    return status;
}

const pdm_ir_pass pdm_ir_pass_cse = {
    .name = "cse",
    .summary = "Compute once what pure ops compute several times from the same values.",
    .module = run,
    .keeps = PDM_IR_KEEPS_WRITES,
};
