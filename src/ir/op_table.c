/* The one file that expands the op rows: a constant table sorted by name, and searches in it. */
#include "ir/op_info.h"

#include <string.h>

#include "ir/infer_impl.h" /* the hooks that the rows name */

#define pdm_ir_infer_none NULL

/* Short names that the rows use; they hold in this file only. */
#define OPERANDS(...) __VA_ARGS__
#define RESULTS(...)  __VA_ARGS__
#define ATTRS(...)    __VA_ARGS__

#define T(name)  {#name, PDM_IR_OPERAND_TENSOR},
#define O(name)  {#name, PDM_IR_OPERAND_OPTIONAL},
#define V(name)  {#name, PDM_IR_OPERAND_VECTOR},
#define OV(name) {#name, PDM_IR_OPERAND_OPTIONAL_VECTOR},
#define M(name)  {#name, PDM_IR_OPERAND_MUTABLE},
#define MI(name) {#name, PDM_IR_OPERAND_MUTABLE_INTS},
#define N(name)  {#name, PDM_IR_OPERAND_MANY},

#define A(name, type, value) {#name, PDM_IR_T_##type, PDM_IR_T_##type, 0, 0, value},
#define AV(name, type, older, since, value)                                                        \
    {#name, PDM_IR_T_##type, PDM_IR_T_##older, since, 0, value},
#define AN(name, type, since, value) {#name, PDM_IR_T_##type, PDM_IR_T_##type, 0, since, value},

#define PURE        PDM_IR_PURE
#define RANDOM      PDM_IR_RANDOM
#define INPLACE     PDM_IR_INPLACE
#define READS       PDM_IR_READS
#define WRITES      PDM_IR_WRITES
#define SIDE_EFFECT PDM_IR_SIDE_EFFECT
#define TERMINATOR  PDM_IR_TERMINATOR
#define REGION      PDM_IR_REGION
#define ALLOCATES   PDM_IR_ALLOCATES

/* Arrays of each row; the last entry is no entry, so that an empty list is an array too. */
#define PDM_OP(dialect, op, first, ins, ats, outs, effects, hook)                                  \
    static const pdm_ir_operand_desc dialect##_##op##_in[] = {ins{NULL, 0}};                       \
    static const pdm_ir_attr_desc dialect##_##op##_at[] = {ats{NULL, 0, 0, 0, 0, NULL}};           \
    static const pdm_ir_result_desc dialect##_##op##_out[] = {outs{NULL, 0}};                      \
    _Static_assert(sizeof dialect##_##op##_at / sizeof *dialect##_##op##_at <=                     \
                       PDM_IR_MAX_ROW_ATTRS + 1,                                                   \
                   "PDM_IR_MAX_ROW_ATTRS is too small");
#include "ir/ops/builtin.def"
#include "ir/ops/cf.def"
#include "ir/ops/cinn_op.def"
#include "ir/ops/fast.def"
#include "ir/ops/pd_op.def"
#undef PDM_OP

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define PDM_OP(dialect, op, first, ins, ats, outs, effects, hook)                                  \
    {.name = #dialect "." #op,                                                                     \
     .since = first,                                                                               \
     .operands = dialect##_##op##_in,                                                              \
     .attrs = dialect##_##op##_at,                                                                 \
     .results = dialect##_##op##_out,                                                              \
     .num_operands = LENGTH(dialect##_##op##_in) - 1,                                              \
     .num_attrs = LENGTH(dialect##_##op##_at) - 1,                                                 \
     .num_results = LENGTH(dialect##_##op##_out) - 1,                                              \
     .flags = effects,                                                                             \
     .infer = pdm_ir_infer_##hook},
static const pdm_ir_op_desc table[] = {
#include "ir/ops/builtin.def"
#include "ir/ops/cf.def"
#include "ir/ops/cinn_op.def"
#include "ir/ops/fast.def"
#include "ir/ops/pd_op.def"
};
#undef PDM_OP

typedef struct inplace_row {
    const char *name;
    int operand, result;
} inplace_row;

#define PDM_INPLACE(dialect, name, operand, result) {#dialect "." #name, operand, result},
static const inplace_row inplace[] = {
#include "ir/ops/inplace.def"
};
#undef PDM_INPLACE

size_t pdm_ir_op_desc_count(void)
{
    return LENGTH(table);
}

const pdm_ir_op_desc *pdm_ir_op_desc_at(size_t index)
{
    return &table[index];
}

const pdm_ir_op_desc *pdm_ir_op_desc_find(const char *name)
{
    size_t low = 0, high = LENGTH(table);

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int order = strcmp(table[mid].name, name);
        if (order == 0)
            return &table[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

const pdm_ir_attr_desc *pdm_ir_op_desc_attr(const pdm_ir_op_desc *desc, const char *name)
{
    for (uint16_t i = 0; i < desc->num_attrs; i++) {
        if (!strcmp(desc->attrs[i].name, name))
            return &desc->attrs[i];
    }
    return NULL;
}

pdm_ir_decl_type pdm_ir_attr_desc_type(const pdm_ir_attr_desc *desc, int version)
{
    return version >= desc->changed_in ? desc->type : desc->old_type;
}

int pdm_ir_inplace_result(const char *op_name, int operand)
{
    size_t low = 0, high = LENGTH(inplace);

    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        int order = strcmp(inplace[mid].name, op_name);
        if (order == 0)
            order = (inplace[mid].operand > operand) - (inplace[mid].operand < operand);
        if (order == 0)
            return inplace[mid].result;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}
