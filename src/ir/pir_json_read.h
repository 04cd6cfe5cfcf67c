/*
 * Inside of the PIR JSON reader: what its two halves share. pir_json_program.c walks the outer
 * structure (regions, blocks, ops) on the scan's index; pir_json_read.c has cJSON parse the small
 * parts inside of it (an op's operands, results, attributes) one at a time. So nesting is bounded
 * by the scan and not by cJSON, and no tree of the whole file exists.
 *
 * Functions that read a part push what they find on the reader's scratch stacks. They return
 * PDM_OK, or PDM_INVALID_MODEL or PDM_UNSUPPORTED after having told the sink, or PDM_NOMEM.
 */
#ifndef PDM_IR_PIR_JSON_READ_H
#define PDM_IR_PIR_JSON_READ_H

#include "base/vec.h"
#include "ir/ir.h"
#include "ir/json_scan.h"
#include "ir/scratch.h"

#define PDM_IR_JSON_NO_NODE UINT32_MAX

typedef struct pdm_ir_json_value { /* {"%": id, "TT": type} */
    int64_t id;
    pdm_ir_type type;
    uint32_t node;
} pdm_ir_json_value;

typedef struct pdm_ir_json_id { /* {"%": id} */
    int64_t id;
    uint32_t node;
} pdm_ir_json_id;

typedef struct pdm_ir_json_entry {
    pdm_ir_value *value; /* NULL: its op could not be made, which was reported */
    uint32_t scope;      /* block number */
} pdm_ir_json_entry;

typedef struct pdm_ir_json_reader {
    pdm_ir_context *context;
    pdm_ir_json_index index;
    const char *path;
    pdm_diag_sink *sink;
    pdm_status worst; /* of what was reported */
    int64_t version;

    pdm_map ids; /* value id -> position in entries */
    PDM_VEC(pdm_ir_json_entry) entries;
    PDM_VEC(bool) scope_closed; /* by block number */
    bool ids_lost;              /* some results could not be read: unknown ids are no news then */
    unsigned depth;             /* nested regions */
    unsigned nesting;           /* attributes or types inside of each other */

    /* Where we are, for diagnostics. */
    int32_t block_no, op_index;
    const char *op_name, *attr_name;
    const char *part; /* "result", "operand", "argument", with its number */
    size_t part_index;

    /* Scratch stacks: an op takes its part from the top and gives it back. */
    PDM_VEC(pdm_ir_json_id) operands;
    PDM_VEC(pdm_ir_json_value) results;
    PDM_VEC(pdm_ir_named_attr) attrs; /* names interned, position = order in the file */
    PDM_VEC(pdm_ir_region *) regions;
    PDM_VEC(pdm_ir_value *) values; /* of the op about to be made */
    PDM_VEC(pdm_ir_type) types;
    PDM_VEC(const char *) names;
} pdm_ir_json_reader;

/* What was told about the model does not end the reading, which goes on to find more; all else
 * does. */
static inline bool pdm_ir_json_is_hard(pdm_status status)
{
    return status != PDM_OK && status != PDM_INVALID_MODEL && status != PDM_UNSUPPORTED;
}

/* The node after a value and all that is in it. */
static inline uint32_t pdm_ir_json_next(const pdm_ir_json_reader *reader, uint32_t node)
{
    return reader->index.nodes[node].next;
}

/* Tell the sink, with the place of the node and of the op and part at hand. */
pdm_status pdm_ir_json_fail(pdm_ir_json_reader *reader, uint32_t node, pdm_diag_code code,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
pdm_status pdm_ir_json_missing(pdm_ir_json_reader *reader, uint32_t node, const char *key);

/* A 64-bit integer from the source text: a double would round it. */
bool pdm_ir_json_node_int(const pdm_ir_json_reader *reader, uint32_t node, int64_t *out);
/* A string or key, interned in the context. */
PDM_MUST_USE pdm_status pdm_ir_json_node_string(pdm_ir_json_reader *reader, uint32_t node,
                                                const char **out);
PDM_MUST_USE pdm_status pdm_ir_json_read_operands(pdm_ir_json_reader *reader, uint32_t node);
PDM_MUST_USE pdm_status pdm_ir_json_read_results(pdm_ir_json_reader *reader, uint32_t node);
PDM_MUST_USE pdm_status pdm_ir_json_read_args(pdm_ir_json_reader *reader, uint32_t node);
/* All attributes of the array are tried, so that every unknown tag is told. */
PDM_MUST_USE pdm_status pdm_ir_json_read_attrs(pdm_ir_json_reader *reader, uint32_t node);
/* The result of a parameter's short form: an object, not an array. */
PDM_MUST_USE pdm_status pdm_ir_json_read_param_result(pdm_ir_json_reader *reader, uint32_t node);
/* attr NULL: out of memory. */
PDM_MUST_USE pdm_status pdm_ir_json_push_attr(pdm_ir_json_reader *reader, const char *name,
                                              pdm_ir_attr attr);

/* The value nodes of an object's members by name; PDM_IR_JSON_NO_NODE where absent. Unknown keys
 * are ignored, doubled ones an error. */
PDM_MUST_USE pdm_status pdm_ir_json_find_members(pdm_ir_json_reader *reader, uint32_t object,
                                                 const char *const *names, size_t count,
                                                 uint32_t *out);
PDM_MUST_USE pdm_status pdm_ir_json_need_array(pdm_ir_json_reader *reader, uint32_t object,
                                               uint32_t node, const char *key);
/* Enter a value under its id in the file; value NULL marks one whose op could not be made. */
PDM_MUST_USE pdm_status pdm_ir_json_define(pdm_ir_json_reader *reader,
                                           const pdm_ir_json_value *decl, pdm_ir_value *value);
/* An op and all in it, appended to block; only statuses that end the reading are returned. */
PDM_MUST_USE pdm_status pdm_ir_json_read_op(pdm_ir_json_reader *reader, uint32_t node,
                                            pdm_ir_block *block);
PDM_MUST_USE pdm_status pdm_ir_json_read_region(pdm_ir_json_reader *reader, uint32_t node,
                                                pdm_ir_region *region);

#endif
