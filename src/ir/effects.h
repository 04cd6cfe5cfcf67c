/*
 * What ops do, told by their effect bits, and which values somebody writes. Everything that moves,
 * merges or removes ops asks here, never an op's name.
 */
#ifndef PDM_IR_EFFECTS_H
#define PDM_IR_EFFECTS_H

#include "base/vec.h"
#include "ir/op_info.h"

/* Its results depend on operands and attributes alone, and it does nothing else; no regions. */
bool pdm_ir_is_pure(const pdm_ir_op *op);
/* Nothing but its results is lost without it: pure, a parameter, or control flow over such ops. */
bool pdm_ir_is_removable(const pdm_ir_op *op);
/* Its two operands may change places (but for the layout of the result). */
bool pdm_ir_commutes(const pdm_ir_op *op);
bool pdm_ir_is_unused(const pdm_ir_op *op); /* no result has a use */

/*
 * Values that are written by others than the op that makes them: operands of ops in place and the
 * results that stand for them, what control flow passes on of those, and what a loop is given,
 * since executors may keep its variables there. Parameters that the program sets are among them.
 */
typedef struct pdm_ir_writes {
    pdm_map index; /* value → its place in sets, counted from 1 */
    PDM_VEC(struct pdm_ir_write_set {
        size_t parent;
        bool written;
        bool in_place;
    }) sets;
    pdm_map names; /* interned names of parameters that are set */
} pdm_ir_writes;

PDM_MUST_USE pdm_status pdm_ir_writes_find(pdm_ir_writes *writes, const pdm_ir_module *module);
void pdm_ir_writes_deinit(pdm_ir_writes *writes);
bool pdm_ir_is_written(const pdm_ir_writes *writes, const pdm_ir_value *value);
/* Whether an op in place writes it, or it is a parameter that is set: what is only given to a loop may be read before it. */
bool pdm_ir_is_written_in_place(const pdm_ir_writes *writes, const pdm_ir_value *value);
/* `to` is a new value that takes the place of `from`. False: out of memory. */
bool pdm_ir_writes_move(pdm_ir_writes *writes, const pdm_ir_value *from, const pdm_ir_value *to);
/* The results of an op and of all inside of it are about to go: their addresses mean nothing then. */
void pdm_ir_writes_forget(pdm_ir_writes *writes, const pdm_ir_op *op);

#endif
