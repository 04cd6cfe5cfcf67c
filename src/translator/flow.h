/*
 * Analysis behind the translation of control flow. Legacy sub-blocks read and write variables of
 * enclosing blocks by name; regions are pure SSA. For each block the analysis tells which outer
 * variables it writes and which it may read before it has written them; those become loop-carried
 * values and results.
 *
 * Variables are identified by their declaration (pdm_lg_var), so that an inner declaration of the
 * same name is another variable. Of a persistable variable the first declaration counts.
 */
#ifndef PDM_TR_FLOW_H
#define PDM_TR_FLOW_H

#include "base/vec.h"
#include "translator/tr.h"

typedef PDM_VEC(const pdm_lg_var *) pdm_tr_vars;

typedef struct pdm_tr_block_info {
    pdm_tr_vars writes; /* outer variables written at any depth, in order of the first write */
    pdm_map writes_set;
    pdm_tr_vars exposed; /* outer variables whose value on entry may matter */
    pdm_map exposed_set;
    pdm_tr_vars exposed_locals; /* own variables read before they are written: a loop body sees the
                                   last turn's value */
} pdm_tr_block_info;

/* One legacy op that reads a variable. */
typedef struct pdm_tr_reader {
    int32_t block, index;
} pdm_tr_reader;

typedef PDM_VEC(pdm_tr_reader) pdm_tr_readers;

/* Two conditional_blocks on c and not c, joined by select_inputs: one pd_op.if. */
typedef struct pdm_tr_pair {
    int32_t block;
    int32_t first, second;     /* op indices; emitted at the second */
    int32_t on_true, on_false; /* which of the two runs when c holds */
    int32_t *selects;          /* op indices of the select_inputs */
    size_t num_selects;
    pdm_ir_op *if_op; /* once emitted */
} pdm_tr_pair;

typedef enum pdm_tr_role {
    PDM_TR_PAIR_FIRST,
    PDM_TR_PAIR_SECOND,
    PDM_TR_PAIR_SELECT,
    PDM_TR_GLUE
} pdm_tr_role;

/* What the analysis decided about an op; absent: nothing special. */
typedef struct pdm_tr_plan {
    pdm_tr_role role;
    pdm_tr_pair *pair;
    uint32_t select; /* number of the select_input in its pair */
} pdm_tr_plan;

struct pdm_tr_flow {
    pdm_tr_block_info *blocks; /* one a legacy block */
    pdm_map readers;           /* pdm_lg_var → pdm_tr_readers * */
    pdm_map plans;             /* pdm_lg_op → pdm_tr_plan * */
    size_t num_blocks;
};

/* Analyse the whole program; NULL when out of memory. */
struct pdm_tr_flow *pdm_tr_flow_analyse(pdm_tr *tr);
void pdm_tr_flow_destroy(struct pdm_tr_flow *flow);
const pdm_tr_plan *pdm_tr_flow_plan(const pdm_tr *tr, const pdm_lg_op *op); /* NULL: none */
bool pdm_tr_is_branch(const pdm_lg_op *op); /* conditional_block, conditional_block_infer */
bool pdm_tr_is_loop(const pdm_lg_op *op);   /* while */
/* The variable that a name means in a block. Persistable ones belong to the whole program, wherever
 * they are declared. */
const pdm_lg_var *pdm_tr_lookup(const pdm_lg_program *program, int32_t block, const char *name);
bool pdm_tr_is_local(const pdm_lg_program *program, int32_t block, const pdm_lg_var *var);
/* An output that names an input of the same op, which a test run does not touch: running
 * statistics. */
bool pdm_tr_leaves_alone(const pdm_lg_op *op, const pdm_lg_slot *output);
/* Is the variable persistable or asked for? Then its value at the end matters. */
bool pdm_tr_flow_wanted(const pdm_tr *tr, const pdm_lg_var *var);
/* Is the variable read outside of the blocks below `root` (and not only by op `except` of block
 * `except_block`), persistable, or asked for? */
bool pdm_tr_flow_needed(const pdm_tr *tr, const pdm_lg_var *var, int32_t root, int32_t except_block,
                        int32_t except);

#endif
