/* Inside of the IR core: what the files of this folder share. Not for other layers. */
#ifndef PDM_IR_IR_T_H
#define PDM_IR_IR_T_H

#include "base/arena.h"
#include "base/intern.h"
#include "ir/op_info.h"

/* ---- values ---------------------------------------------------------------------------------- */

enum { /* the low three bits of pdm_ir_value.uses */
       PDM_IR_TAG_OOL = PDM_IR_INLINE_RESULTS,
       PDM_IR_TAG_ARG = 7,
       PDM_IR_TAG_MASK = 7
};

/* A result from number PDM_IR_INLINE_RESULTS on: the tag bits cannot hold its index. */
typedef struct pdm_ir_ool_result {
    pdm_ir_value value; /* first */
    uint32_t index;     /* result number */
} pdm_ir_ool_result;

typedef struct pdm_ir_block_arg {
    pdm_ir_value value; /* first */
    pdm_ir_block *block;
    uint32_t index;
} pdm_ir_block_arg_t;

_Static_assert(PDM_IR_INLINE_RESULTS < PDM_IR_TAG_ARG, "the tags must differ");
_Static_assert(_Alignof(pdm_ir_use) >= 8, "addresses of uses have three free bits");
_Static_assert(_Alignof(struct pdm_ir_op) == 8 && sizeof(struct pdm_ir_op) % 8 == 0,
               "operands stand right after their op");
_Static_assert(sizeof(pdm_ir_use) % _Alignof(pdm_ir_region *) == 0,
               "region pointers stand right after the operands");
_Static_assert(sizeof(pdm_ir_value) == 2 * sizeof(void *), "a value is two words");
_Static_assert(sizeof(pdm_ir_use) == 4 * sizeof(void *), "a use is four words");
_Static_assert(sizeof(void *) != 8 || sizeof(struct pdm_ir_op) == 72, "the op header on 64 bits");
_Static_assert(sizeof(void *) != 8 || sizeof(pdm_ir_ool_result) == 24, "a far result on 64 bits");
_Static_assert(sizeof(uintptr_t) == sizeof(void *), "a tagged address is a word");

static inline unsigned pdm_ir_value_tag(const pdm_ir_value *value)
{
    return (unsigned)(value->uses & PDM_IR_TAG_MASK);
}

static inline pdm_ir_use *pdm_ir_op_operands(const pdm_ir_op *op)
{
    return (pdm_ir_use *)(op + 1);
}

static inline pdm_ir_region **pdm_ir_op_regions(const pdm_ir_op *op)
{
    return (pdm_ir_region **)(pdm_ir_op_operands(op) + op->num_operands);
}

/* Unlink all operands of op. */
void pdm_ir_op_drop_operands(pdm_ir_op *op);
/* Make all uses of value absent operands. */
void pdm_ir_value_drop_uses(pdm_ir_value *value);
/* Free an op that stands nowhere, is used by nobody and whose regions are gone. */
void pdm_ir_op_free(pdm_ir_op *op);
/* Destroy the ops linked from first by `next` with all that they hold, without recursion. */
void pdm_ir_ops_destroy(pdm_ir_op *first);

/* ---- context --------------------------------------------------------------------------------- */

/* A set of interned objects found by the hash of their contents. */
typedef struct pdm_ir_storage {
    struct pdm_ir_storage_slot {
        uint64_t hash;
        const void *object; /* NULL: free */
    } * slots;
    size_t count, capacity; /* capacity is 0 or a power of two */
} pdm_ir_storage;

typedef bool (*pdm_ir_storage_equal_fn)(const void *object, const void *key);

/* Integer attributes from -PDM_IR_FEW_BELOW on that a context keeps at hand. */
enum { PDM_IR_FEW_BELOW = 2, PDM_IR_FEW = 66 };

struct pdm_ir_context {
    pdm_arena arena; /* strings, types, attributes, infos */
    pdm_intern strings;
    pdm_ir_storage types, attrs;
    pdm_map infos;                /* interned op name -> pdm_ir_op_info * */
    pdm_ir_op_info *info_of[PDM_IR_OP_NONE]; /* by code; NULL: not made yet */
    pdm_ir_op_info module_info;   /* builtin.module: no file can name it */
    const char *nchw, *no_string; /* interned */
    pdm_ir_attr bools[2], few_i32[PDM_IR_FEW], few_i64[PDM_IR_FEW]; /* NULL: not made yet */
};

/* The object equal to key, or NULL. */
const void *pdm_ir_storage_find(const pdm_ir_storage *storage, uint64_t hash, const void *key,
                                pdm_ir_storage_equal_fn equal);
/* Enter an object that is not there; false when out of memory. */
bool pdm_ir_storage_add(pdm_ir_storage *storage, uint64_t hash, const void *object);

/* ---- walk with places ------------------------------------------------------------------------ */

/* Where an op stands; blocks are counted depth first, as files do. */
typedef struct pdm_ir_place {
    int32_t block, op_index;
    unsigned depth; /* region ops around it, the module not counted */
} pdm_ir_place;

typedef pdm_status (*pdm_ir_visit_fn)(void *user, pdm_ir_op *op, const pdm_ir_place *place);

/*
 * Visit all ops of a module before the ops inside of them, with their places; nothing may be
 * erased. What is nested deeper than PDM_IR_MAX_REGION_DEPTH is reported once and left out; the
 * status is PDM_INVALID_MODEL then.
 */
PDM_MUST_USE pdm_status pdm_ir_visit(const pdm_ir_module *module, pdm_diag_sink *sink,
                                     pdm_ir_visit_fn fn, void *user);

/* ---- verifier -------------------------------------------------------------------------------- */

typedef struct pdm_ir_verifier {
    const pdm_ir_module *module;
    pdm_diag_sink *sink;
    pdm_status worst;
    const pdm_ir_place *place;       /* of the op at hand */
    uint64_t num_operands, num_uses; /* operands that have a value; uses found from the values */
} pdm_ir_verifier;

/* A broken rule at op (NULL: the module); var names the operand, result or attribute, or is NULL.
 */
void pdm_ir_verify_fail(pdm_ir_verifier *verifier, const pdm_ir_op *op, const char *var,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Same kind and element type, also of what vectors hold. */
bool pdm_ir_type_alike(pdm_ir_type a, pdm_ir_type b);
/* Rules of if, while, yield and the stack ops, for an op whose operand and result counts fit its
 * row. */
void pdm_ir_verify_cf(pdm_ir_verifier *verifier, const pdm_ir_op *op);

#endif
