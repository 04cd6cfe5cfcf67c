/*
 * A legacy program (ProgramDesc) as plain structs. Everything lives in the program's arena; names
 * are interned in its table, so they compare by pointer. Built by the reader, immutable afterwards;
 * any number of readers at a time. Dropped are fields that the format does not define (there is a
 * note), and the element descriptions of TUPLE and READER variables.
 */
#ifndef PDM_LG_PROGRAM_H
#define PDM_LG_PROGRAM_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/status.h"

/* AttrType numbers of the format. */
typedef enum pdm_lg_attr_type {
    PDM_LG_INT = 0,
    PDM_LG_FLOAT = 1,
    PDM_LG_STRING = 2,
    PDM_LG_INTS = 3,
    PDM_LG_FLOATS = 4,
    PDM_LG_STRINGS = 5,
    PDM_LG_BOOLEAN = 6,
    PDM_LG_BOOLEANS = 7,
    PDM_LG_BLOCK = 8,
    PDM_LG_LONG = 9,
    PDM_LG_BLOCKS = 10,
    PDM_LG_LONGS = 11,
    PDM_LG_FLOAT64S = 12,
    PDM_LG_VAR = 13,
    PDM_LG_VARS = 14,
    PDM_LG_FLOAT64 = 15,
    PDM_LG_SCALAR = 16,
    PDM_LG_SCALARS = 17
} pdm_lg_attr_type;
#define PDM_LG_NUM_ATTR_TYPES 18

/* VarType numbers of variable kinds (element types: base/dtype.def). */
typedef enum pdm_lg_var_kind {
    PDM_LG_DENSE_TENSOR = 7,
    PDM_LG_SELECTED_ROWS = 8,
    PDM_LG_FEED_MINIBATCH = 9,
    PDM_LG_FETCH_LIST = 10,
    PDM_LG_STEP_SCOPES = 11,
    PDM_LG_LOD_RANK_TABLE = 12,
    PDM_LG_TENSOR_ARRAY = 13,
    PDM_LG_PLACE_LIST = 14,
    PDM_LG_READER = 15,
    PDM_LG_RAW = 17,
    PDM_LG_TUPLE = 18,
    PDM_LG_STRING_VAR = 25,
    PDM_LG_STRINGS_VAR = 26,
    PDM_LG_VOCAB = 27,
    PDM_LG_FEED_LIST = 28,
    PDM_LG_SPARSE_COO = 30,
    PDM_LG_SPARSE_CSR = 31
} pdm_lg_var_kind;

typedef enum pdm_lg_scalar_type {
    PDM_LG_SCALAR_BOOL = 1,
    PDM_LG_SCALAR_I64 = 2,
    PDM_LG_SCALAR_F64 = 3,
    PDM_LG_SCALAR_C128 = 4
} pdm_lg_scalar_type;

typedef struct pdm_lg_scalar {
    pdm_lg_scalar_type type;
    bool b;
    int64_t i;
    double r;
    struct {
        double re, im;
    } c;
} pdm_lg_scalar;

typedef struct pdm_lg_attr {
    const char *name;
    pdm_lg_attr_type
        type;     /* says which member of u holds; unknown ones never get past the reader */
    size_t count; /* of the list kinds */
    union {
        int32_t i;            /* INT */
        float f;              /* FLOAT */
        const char *s;        /* STRING: any UTF-8 without NUL, not interned; VAR: interned */
        bool b;               /* BOOLEAN */
        int64_t l;            /* LONG */
        double d;             /* FLOAT64 */
        int32_t block;        /* BLOCK */
        pdm_lg_scalar scalar; /* SCALAR */
        const int32_t *ints;  /* INTS, BLOCKS */
        const float *floats;
        const char *const *strings; /* STRINGS, VARS (interned) */
        const bool *bools;
        const int64_t *longs;
        const double *doubles; /* FLOAT64S */
        const pdm_lg_scalar *scalars;
    } u;
} pdm_lg_attr;

/* A named list of variables of an op: an input or output. */
typedef struct pdm_lg_slot {
    const char *name;
    const char *const *args; /* interned variable names */
    size_t num_args;
} pdm_lg_slot;

typedef struct pdm_lg_op {
    const char *type;          /* interned */
    const pdm_lg_slot *inputs; /* in ascending order of slot names, as the framework walks them */
    size_t num_inputs;
    const pdm_lg_slot *outputs;
    size_t num_outputs;
    const pdm_lg_attr *attrs; /* file order; a name may stand there twice with the same value */
    size_t num_attrs;
    bool is_target, has_is_target;
} pdm_lg_op;

typedef struct pdm_lg_var {
    const char *name;
    int32_t kind;         /* VarType number; usually one of pdm_lg_var_kind */
    pdm_dtype dtype;      /* element type of the tensor kinds; PDM_UNDEFINED when there is none */
    int32_t dtype_number; /* as in the file; -1: none */
    /* As in the file: those of inputs and parameters are >= -1; others may be products with an
     * unknown dimension, so any negative number stands for unknown. */
    const int64_t *dims;
    size_t rank;
    bool has_tensor; /* a TensorDesc was given */
    int32_t lod_level;
    bool persistable, need_check_feed, is_parameter, stop_gradient;
    bool has_need_check_feed, has_is_parameter, has_stop_gradient;
    const pdm_lg_attr *attrs; /* VarDesc attributes: INT, STRING, INTS only */
    size_t num_attrs;
} pdm_lg_var;

typedef struct pdm_lg_block {
    int32_t idx, parent; /* parent -1: none */
    int32_t forward_idx; /* -1: none */
    const pdm_lg_var *vars;
    size_t num_vars;
    const pdm_lg_op *ops;
    size_t num_ops;
    pdm_map var_index; /* interned name -> position in vars */
} pdm_lg_block;

typedef struct pdm_lg_op_version {
    const char *type;
    int32_t version;
} pdm_lg_op_version;

typedef struct pdm_lg_program {
    pdm_arena arena;
    pdm_intern strings;
    const char *path; /* the file, for diagnostics */
    pdm_lg_block *blocks;
    size_t num_blocks;
    int64_t version; /* major*1000000 + minor*1000 + patch; 0: none */
    bool has_version, has_op_versions;
    const pdm_lg_op_version *op_versions; /* sorted by type (bytes) */
    size_t num_op_versions;
} pdm_lg_program;

/* A program without blocks, for those who put one together; path is copied, and may be NULL. */
PDM_MUST_USE pdm_status pdm_lg_program_create(const char *path, pdm_lg_program **out_program);
void pdm_lg_program_destroy(pdm_lg_program *program); /* NULL is allowed */

/* Slots and attributes by name (content); NULL if absent. */
const pdm_lg_slot *pdm_lg_find_input(const pdm_lg_op *op, const char *name);
const pdm_lg_slot *pdm_lg_find_output(const pdm_lg_op *op, const char *name);
const pdm_lg_attr *pdm_lg_find_attr(const pdm_lg_op *op, const char *name);
/* The same for a name that the program has interned; NULL is in no op. */
const pdm_lg_slot *pdm_lg_known_input(const pdm_lg_op *op, const char *name);
const pdm_lg_slot *pdm_lg_known_output(const pdm_lg_op *op, const char *name);
const pdm_lg_attr *pdm_lg_known_attr(const pdm_lg_op *op, const char *name);
/* The declaration of an interned name in this block only, or in the nearest block upward. A
 * gradient block (forward_idx) also uses names of its forward block, which are not found so. */
const pdm_lg_var *pdm_lg_block_var(const pdm_lg_block *block, const char *name);
/* out_block may be NULL. */
const pdm_lg_var *pdm_lg_lookup_var(const pdm_lg_program *program, int32_t block, const char *name,
                                    int32_t *out_block);
/* Version of an op type in op_version_map; 0 when absent. */
int32_t pdm_lg_op_version_of(const pdm_lg_program *program, const char *type);
/* Index of the sub-block that the op's BLOCK attribute (sub_block, else the first) names; -1: none.
 */
int32_t pdm_lg_sub_block(const pdm_lg_op *op);
/* Whether any attribute names blocks. */
bool pdm_lg_has_block(const pdm_lg_op *op);
/* A parameter: persistable and not a feed, fetch, reader or raw variable. */
bool pdm_lg_var_is_param(const pdm_lg_var *var);
const char *pdm_lg_attr_type_name(int type); /* "INT", ...; "?" */
const char *pdm_lg_var_kind_name(int kind);  /* "DENSE_TENSOR", ...; "?" */

#endif
