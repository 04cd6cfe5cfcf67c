#include "legacy_graph/program.h"

#include <stdlib.h>
#include <string.h>

pdm_status pdm_lg_program_create(const char *path, pdm_lg_program **out_program)
{
    pdm_lg_program *program = calloc(1, sizeof *program);

    if (!program)
        return PDM_NOMEM;
    pdm_arena_init(&program->arena);
    pdm_intern_init(&program->strings, &program->arena);
    program->path = pdm_arena_strndup(&program->arena, path ? path : "", path ? strlen(path) : 0);
    if (!program->path) {
        pdm_lg_program_destroy(program);
        return PDM_NOMEM;
    }
    *out_program = program;
    return PDM_OK;
}

void pdm_lg_program_destroy(pdm_lg_program *program)
{
    if (!program)
        return;
    for (size_t i = 0; i < program->num_blocks; i++)
        pdm_map_deinit(&program->blocks[i].var_index);
    pdm_intern_deinit(&program->strings);
    pdm_arena_deinit(&program->arena);
    free(program);
}

static const pdm_lg_slot *known_slot(const pdm_lg_slot *slots, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (slots[i].name == name)
            return &slots[i];
    }
    return NULL;
}

static const pdm_lg_slot *find_slot(const pdm_lg_slot *slots, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(slots[i].name, name) == 0)
            return &slots[i];
    }
    return NULL;
}

const pdm_lg_slot *pdm_lg_known_input(const pdm_lg_op *op, const char *name)
{
    return known_slot(op->inputs, op->num_inputs, name);
}

const pdm_lg_slot *pdm_lg_known_output(const pdm_lg_op *op, const char *name)
{
    return known_slot(op->outputs, op->num_outputs, name);
}

const pdm_lg_attr *pdm_lg_known_attr(const pdm_lg_op *op, const char *name)
{
    for (size_t i = 0; i < op->num_attrs; i++) {
        if (op->attrs[i].name == name)
            return &op->attrs[i];
    }
    return NULL;
}

const pdm_lg_slot *pdm_lg_find_input(const pdm_lg_op *op, const char *name)
{
    return find_slot(op->inputs, op->num_inputs, name);
}

const pdm_lg_slot *pdm_lg_find_output(const pdm_lg_op *op, const char *name)
{
    return find_slot(op->outputs, op->num_outputs, name);
}

const pdm_lg_attr *pdm_lg_find_attr(const pdm_lg_op *op, const char *name)
{
    for (size_t i = 0; i < op->num_attrs; i++) {
        if (strcmp(op->attrs[i].name, name) == 0)
            return &op->attrs[i];
    }
    return NULL;
}

const pdm_lg_var *pdm_lg_block_var(const pdm_lg_block *block, const char *name)
{
    const pdm_map_entry *entry = pdm_map_find(&block->var_index, name);

    return entry ? &block->vars[entry->value.num] : NULL;
}

const pdm_lg_var *pdm_lg_lookup_var(const pdm_lg_program *program, int32_t block, const char *name,
                                    int32_t *out_block)
{
    /* Counted, so that a parent chain that was not checked yet ends too. */
    for (size_t step = 0; step < program->num_blocks; step++) {
        if (block < 0 || (size_t)block >= program->num_blocks)
            return NULL;
        const pdm_lg_var *var = pdm_lg_block_var(&program->blocks[block], name);
        if (var) {
            if (out_block)
                *out_block = block;
            return var;
        }
        block = program->blocks[block].parent;
    }
    return NULL;
}

int32_t pdm_lg_op_version_of(const pdm_lg_program *program, const char *type)
{
    size_t low = 0, high = program->num_op_versions;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(type, program->op_versions[middle].type);
        if (order == 0)
            return program->op_versions[middle].version;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

bool pdm_lg_has_block(const pdm_lg_op *op)
{
    for (size_t i = 0; i < op->num_attrs; i++) {
        if (op->attrs[i].type == PDM_LG_BLOCK || op->attrs[i].type == PDM_LG_BLOCKS)
            return true;
    }
    return false;
}

int32_t pdm_lg_sub_block(const pdm_lg_op *op)
{
    const pdm_lg_attr *first = NULL;

    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        if (attr->type != PDM_LG_BLOCK)
            continue;
        if (strcmp(attr->name, "sub_block") == 0)
            return attr->u.block;
        if (!first)
            first = attr;
    }
    return first ? first->u.block : -1;
}

bool pdm_lg_var_is_param(const pdm_lg_var *var)
{
    return var->persistable && var->kind != PDM_LG_FEED_MINIBATCH &&
           var->kind != PDM_LG_FETCH_LIST && var->kind != PDM_LG_READER && var->kind != PDM_LG_RAW;
}

const char *pdm_lg_attr_type_name(int type)
{
    static const char *const names[PDM_LG_NUM_ATTR_TYPES] = {
        [PDM_LG_INT] = "INT",           [PDM_LG_FLOAT] = "FLOAT",
        [PDM_LG_STRING] = "STRING",     [PDM_LG_INTS] = "INTS",
        [PDM_LG_FLOATS] = "FLOATS",     [PDM_LG_STRINGS] = "STRINGS",
        [PDM_LG_BOOLEAN] = "BOOLEAN",   [PDM_LG_BOOLEANS] = "BOOLEANS",
        [PDM_LG_BLOCK] = "BLOCK",       [PDM_LG_LONG] = "LONG",
        [PDM_LG_BLOCKS] = "BLOCKS",     [PDM_LG_LONGS] = "LONGS",
        [PDM_LG_FLOAT64S] = "FLOAT64S", [PDM_LG_VAR] = "VAR",
        [PDM_LG_VARS] = "VARS",         [PDM_LG_FLOAT64] = "FLOAT64",
        [PDM_LG_SCALAR] = "SCALAR",     [PDM_LG_SCALARS] = "SCALARS",
    };

    return type >= 0 && type < PDM_LG_NUM_ATTR_TYPES ? names[type] : "?";
}

const char *pdm_lg_var_kind_name(int kind)
{
    static const char *const names[] = {
        [PDM_LG_DENSE_TENSOR] = "DENSE_TENSOR",
        [PDM_LG_SELECTED_ROWS] = "SELECTED_ROWS",
        [PDM_LG_FEED_MINIBATCH] = "FEED_MINIBATCH",
        [PDM_LG_FETCH_LIST] = "FETCH_LIST",
        [PDM_LG_STEP_SCOPES] = "STEP_SCOPES",
        [PDM_LG_LOD_RANK_TABLE] = "LOD_RANK_TABLE",
        [PDM_LG_TENSOR_ARRAY] = "DENSE_TENSOR_ARRAY",
        [PDM_LG_PLACE_LIST] = "PLACE_LIST",
        [PDM_LG_READER] = "READER",
        [PDM_LG_RAW] = "RAW",
        [PDM_LG_TUPLE] = "TUPLE",
        [PDM_LG_STRING_VAR] = "STRING",
        [PDM_LG_STRINGS_VAR] = "STRINGS",
        [PDM_LG_VOCAB] = "VOCAB",
        [PDM_LG_FEED_LIST] = "FEED_LIST",
        [PDM_LG_SPARSE_COO] = "SPARSE_COO",
        [PDM_LG_SPARSE_CSR] = "SPARSE_CSR",
    };

    if (kind < 0 || (size_t)kind >= sizeof names / sizeof *names || !names[kind])
        return "?";
    return names[kind];
}
