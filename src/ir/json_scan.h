/*
 * Strict scan of a JSON text before it is parsed: syntax, UTF-8, nesting and number lengths are
 * checked with line and column, and an index of all values in document order is made. The index
 * lets the reader walk the large outer structure without a tree, parse small parts one at a time,
 * read integers from the source text, and tell where in the file a value stands.
 */
#ifndef PDM_IR_JSON_SCAN_H
#define PDM_IR_JSON_SCAN_H

#include "base/diag.h"

#define PDM_IR_JSON_MAX_DEPTH  2048 /* brackets inside brackets; 256 nested regions need 1543 */
#define PDM_IR_JSON_MAX_NUMBER 60   /* characters of a number: cJSON reads 63 at most */

typedef enum pdm_ir_json_kind {
    PDM_IR_JSON_OBJECT, /* its nodes alternate: key, value, key, value */
    PDM_IR_JSON_ARRAY,
    PDM_IR_JSON_KEY,
    PDM_IR_JSON_STRING,
    PDM_IR_JSON_NUMBER,
    PDM_IR_JSON_TRUE,
    PDM_IR_JSON_FALSE,
    PDM_IR_JSON_NULL
} pdm_ir_json_kind;

typedef struct pdm_ir_json_node {
    uint32_t offset, end; /* first byte, byte after the last one */
    uint32_t next;        /* index of the node after this one and all that is inside of it */
    uint16_t height;      /* 0: scalar or empty container */
    uint16_t kind;
} pdm_ir_json_node;

/* Line and column where a stretch of the text begins. */
typedef struct pdm_ir_json_mark {
    uint32_t line, column;
} pdm_ir_json_mark;

typedef struct pdm_ir_json_index {
    const char *text; /* borrowed */
    size_t size;
    pdm_ir_json_node *nodes; /* the root is node 0 */
    size_t count, capacity;
    pdm_ir_json_mark *marks; /* made when places are asked for, so that each costs one stretch */
    size_t num_marks, marks_capacity;
} pdm_ir_json_index;

/* Errors go to the sink with path. out is initialised by this call and to be deinitialised in any
 * case. size is below 4 GiB. */
PDM_MUST_USE pdm_status pdm_ir_json_scan(const char *text, size_t size, const char *path,
                                         pdm_diag_sink *sink, pdm_ir_json_index *out);
void pdm_ir_json_index_deinit(pdm_ir_json_index *index);

/* Line and column (1-based, in characters) of a byte. */
void pdm_ir_json_place(pdm_ir_json_index *index, size_t offset, int64_t *out_line,
                       int64_t *out_column);

#endif
