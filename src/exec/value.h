/* What a name or an SSA value holds at run time: a tensor, a tensor array, a list of values (PIR
 * vectors), or a legacy table. */
#ifndef PDM_EXEC_VALUE_H
#define PDM_EXEC_VALUE_H

#include "base/tensor.h"

typedef enum pdm_value_kind {
    PDM_VALUE_NONE,
    PDM_VALUE_TENSOR,
    PDM_VALUE_ARRAY,
    PDM_VALUE_LIST,
    PDM_VALUE_RANK_TABLE,
    PDM_VALUE_SELECTED_ROWS
} pdm_value_kind;

/* One row of a LoD rank table: sequence number and length, longest first (stable). */
typedef struct pdm_rank_row {
    int64_t index, length;
} pdm_rank_row;

typedef struct pdm_value {
    pdm_value_kind kind;
    pdm_tensor tensor; /* TENSOR; SELECTED_ROWS: the rows' values */
    struct {
        pdm_tensor *items;
        size_t count, capacity;
    } array; /* ARRAY; items may be uninitialised */
    struct {
        struct pdm_value **items;
        size_t count;
    } list; /* LIST: borrowed values, NULL for absent ones */
    struct {
        pdm_rank_row *rows;
        size_t count;
        size_t level;
    } table; /* RANK_TABLE */
} pdm_value;

void pdm_value_init(pdm_value *value);
void pdm_value_deinit(pdm_value *value); /* drops everything it owns and leaves NONE */
PDM_MUST_USE pdm_status pdm_value_ref(
    pdm_value *dst,
    const pdm_value *src); /* shares tensors; an array becomes a new array of shared tensors */
/* Make item `index` of an array exist (growing it); NULL: out of memory, or index is beyond a sane
 * limit. */
pdm_tensor *pdm_value_array_at(pdm_value *array, size_t index);

#endif
