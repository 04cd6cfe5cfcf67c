#include "legacy_graph/dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "legacy_graph/read.h"

typedef struct dump {
    const pdm_lg_program *program;
    pdm_buf *buf;
    bool *printed; /* by block: each is shown once, below its owner if it has one */
    int depth;
} dump;

/* ---- attribute values ------------------------------------------------------------------------ */

static void put_scalar(pdm_buf *buf, const pdm_lg_scalar *scalar)
{
    switch (scalar->type) {
    case PDM_LG_SCALAR_BOOL:
        pdm_buf_puts(buf, scalar->b ? "true" : "false");
        return;
    case PDM_LG_SCALAR_I64:
        pdm_buf_i64(buf, scalar->i);
        return;
    case PDM_LG_SCALAR_F64:
        pdm_buf_double(buf, scalar->r);
        return;
    case PDM_LG_SCALAR_C128:
        pdm_buf_putc(buf, '(');
        pdm_buf_double(buf, scalar->c.re);
        pdm_buf_puts(buf, ", ");
        pdm_buf_double(buf, scalar->c.im);
        pdm_buf_putc(buf, ')');
        return;
    }
}

static void put_string(pdm_buf *buf, const char *text)
{
    pdm_buf_json_string(buf, text, strlen(text));
}

/* Element i of a list, or the value of an attribute that is none (i is 0). */
static void put_element(pdm_buf *buf, const pdm_lg_attr *attr, size_t i)
{
    switch (attr->type) {
    case PDM_LG_INT:
        pdm_buf_i64(buf, attr->u.i);
        return;
    case PDM_LG_FLOAT:
        pdm_buf_double(buf, attr->u.f);
        return;
    case PDM_LG_STRING:
        put_string(buf, attr->u.s);
        return;
    case PDM_LG_VAR:
        pdm_buf_puts(buf, attr->u.s);
        return;
    case PDM_LG_BOOLEAN:
        pdm_buf_puts(buf, attr->u.b ? "true" : "false");
        return;
    case PDM_LG_LONG:
        pdm_buf_i64(buf, attr->u.l);
        return;
    case PDM_LG_FLOAT64:
        pdm_buf_double(buf, attr->u.d);
        return;
    case PDM_LG_BLOCK:
        pdm_buf_i64(buf, attr->u.block);
        return;
    case PDM_LG_SCALAR:
        put_scalar(buf, &attr->u.scalar);
        return;
    case PDM_LG_INTS:
    case PDM_LG_BLOCKS:
        pdm_buf_i64(buf, attr->u.ints[i]);
        return;
    case PDM_LG_FLOATS:
        pdm_buf_double(buf, attr->u.floats[i]);
        return;
    case PDM_LG_STRINGS:
        put_string(buf, attr->u.strings[i]);
        return;
    case PDM_LG_VARS:
        pdm_buf_puts(buf, attr->u.strings[i]);
        return;
    case PDM_LG_BOOLEANS:
        pdm_buf_puts(buf, attr->u.bools[i] ? "true" : "false");
        return;
    case PDM_LG_LONGS:
        pdm_buf_i64(buf, attr->u.longs[i]);
        return;
    case PDM_LG_FLOAT64S:
        pdm_buf_double(buf, attr->u.doubles[i]);
        return;
    case PDM_LG_SCALARS:
        put_scalar(buf, &attr->u.scalars[i]);
        return;
    }
}

static bool is_list(pdm_lg_attr_type type)
{
    switch (type) {
    case PDM_LG_INTS:
    case PDM_LG_FLOATS:
    case PDM_LG_STRINGS:
    case PDM_LG_BOOLEANS:
    case PDM_LG_BLOCKS:
    case PDM_LG_LONGS:
    case PDM_LG_FLOAT64S:
    case PDM_LG_VARS:
    case PDM_LG_SCALARS:
        return true;
    case PDM_LG_INT:
    case PDM_LG_FLOAT:
    case PDM_LG_STRING:
    case PDM_LG_BOOLEAN:
    case PDM_LG_BLOCK:
    case PDM_LG_LONG:
    case PDM_LG_VAR:
    case PDM_LG_FLOAT64:
    case PDM_LG_SCALAR:
        break;
    }
    return false;
}

static void put_attr(pdm_buf *buf, const pdm_lg_attr *attr)
{
    pdm_buf_printf(buf, "%s: %s = ", attr->name, pdm_lg_attr_type_name(attr->type));
    if (!is_list(attr->type)) {
        put_element(buf, attr, 0);
        return;
    }
    if (strcmp(attr->name, "op_callstack") == 0) {
        pdm_buf_printf(buf, "<%zu lines>", attr->count);
        return;
    }
    pdm_buf_putc(buf, '[');
    for (size_t i = 0; i < attr->count; i++) {
        pdm_buf_puts(buf, i ? ", " : "");
        put_element(buf, attr, i);
    }
    pdm_buf_putc(buf, ']');
}

static void put_attrs(pdm_buf *buf, const pdm_lg_attr *attrs, size_t n)
{
    if (n == 0)
        return;
    pdm_buf_puts(buf, " {");
    for (size_t i = 0; i < n; i++) {
        pdm_buf_puts(buf, i ? ", " : "");
        put_attr(buf, &attrs[i]);
    }
    pdm_buf_putc(buf, '}');
}

/* ---- text ------------------------------------------------------------------------------------ */

static void indent(const dump *d)
{
    for (int i = 0; i < d->depth; i++)
        pdm_buf_puts(d->buf, "  ");
}

/* "DENSE_TENSOR f32[-1, 4]", or the kind alone. */
static void put_var_type(pdm_buf *buf, const pdm_lg_var *var)
{
    const char *kind = pdm_lg_var_kind_name(var->kind);

    pdm_buf_puts(buf, kind);
    if (strcmp(kind, "?") == 0)
        pdm_buf_printf(buf, "%" PRId32, var->kind);
    if (!var->has_tensor)
        return;
    if (var->dtype == PDM_UNDEFINED)
        pdm_buf_printf(buf, " type%" PRId32 "[", var->dtype_number);
    else
        pdm_buf_printf(buf, " %s[", pdm_dtype_text(var->dtype));
    for (size_t i = 0; i < var->rank; i++)
        pdm_buf_printf(buf, "%s%" PRId64, i ? ", " : "", var->dims[i]);
    pdm_buf_putc(buf, ']');
}

static void text_var(const dump *d, const pdm_lg_var *var)
{
    indent(d);
    pdm_buf_printf(d->buf, "var %s: ", var->name);
    put_var_type(d->buf, var);
    if (var->lod_level)
        pdm_buf_printf(d->buf, " lod %" PRId32, var->lod_level);
    pdm_buf_puts(d->buf, var->persistable ? " persistable" : "");
    pdm_buf_puts(d->buf, var->is_parameter ? " parameter" : "");
    pdm_buf_puts(d->buf, var->need_check_feed ? " need_check_feed" : "");
    pdm_buf_puts(d->buf, var->stop_gradient ? " stop_gradient" : "");
    put_attrs(d->buf, var->attrs, var->num_attrs);
    pdm_buf_putc(d->buf, '\n');
}

static void put_slots(pdm_buf *buf, const pdm_lg_slot *slots, size_t n)
{
    pdm_buf_putc(buf, '(');
    for (size_t i = 0; i < n; i++) {
        pdm_buf_printf(buf, "%s%s=[", i ? ", " : "", slots[i].name);
        for (size_t k = 0; k < slots[i].num_args; k++)
            pdm_buf_printf(buf, "%s%s", k ? ", " : "", slots[i].args[k]);
        pdm_buf_putc(buf, ']');
    }
    pdm_buf_putc(buf, ')');
}

/* Calls fn for each block that the op owns and that was not shown yet. */
static void each_owned_block(dump *d, const pdm_lg_op *op, void (*fn)(dump *d, size_t block))
{
    for (size_t i = 0; i < op->num_attrs; i++) {
        const pdm_lg_attr *attr = &op->attrs[i];
        size_t n = attr->type == PDM_LG_BLOCK ? 1 : attr->type == PDM_LG_BLOCKS ? attr->count : 0;
        for (size_t k = 0; k < n; k++) {
            int32_t block = attr->type == PDM_LG_BLOCK ? attr->u.block : attr->u.ints[k];
            if (block >= 0 && (size_t)block < d->program->num_blocks && !d->printed[block] &&
                d->depth <= PDM_LG_MAX_BLOCK_DEPTH)
                fn(d, (size_t)block);
        }
    }
}

static void text_block(dump *d, size_t index)
{
    const pdm_lg_block *block = &d->program->blocks[index];

    d->printed[index] = true;
    indent(d);
    pdm_buf_printf(d->buf, "block %zu", index);
    if (block->parent >= 0)
        pdm_buf_printf(d->buf, " in %" PRId32, block->parent);
    if (block->forward_idx >= 0)
        pdm_buf_printf(d->buf, " forward %" PRId32, block->forward_idx);
    pdm_buf_puts(d->buf, " {\n");
    d->depth++;
    for (size_t i = 0; i < block->num_vars; i++)
        text_var(d, &block->vars[i]);
    for (size_t i = 0; i < block->num_ops; i++) {
        const pdm_lg_op *op = &block->ops[i];
        indent(d);
        put_slots(d->buf, op->outputs, op->num_outputs);
        pdm_buf_printf(d->buf, " = %s", op->type);
        put_slots(d->buf, op->inputs, op->num_inputs);
        put_attrs(d->buf, op->attrs, op->num_attrs);
        pdm_buf_puts(d->buf, op->is_target ? " target\n" : "\n");
        d->depth++;
        each_owned_block(d, op, text_block);
        d->depth--;
    }
    d->depth--;
    indent(d);
    pdm_buf_puts(d->buf, "}\n");
}

/* Block 0 with what is nested in it, then blocks that no op owns. */
static void each_root_block(const pdm_lg_program *program, pdm_buf *buf, int depth,
                            void (*fn)(dump *d, size_t block))
{
    dump d = {program, buf, NULL, depth};

    d.printed = calloc(program->num_blocks + 1, sizeof *d.printed);
    if (!d.printed) {
        buf->failed = true;
        return;
    }
    for (size_t i = 0; i < program->num_blocks; i++) {
        if (!d.printed[i])
            fn(&d, i);
    }
    free(d.printed);
}

void pdm_lg_dump_text(const pdm_lg_program *program, pdm_buf *buf)
{
    int64_t version = program->version;

    pdm_buf_puts(buf, "program");
    if (program->has_version)
        pdm_buf_printf(buf, " version %" PRId64 ".%" PRId64 ".%" PRId64, version / 1000000,
                       version / 1000 % 1000, version % 1000);
    pdm_buf_putc(buf, '\n');
    each_root_block(program, buf, 0, text_block);
}

/* ---- dot ------------------------------------------------------------------------------------- */

/* Edges between an op and the declarations of its arguments. */
static void dot_edges(const dump *d, size_t block, size_t op_index, const pdm_lg_slot *slots,
                      size_t n, bool output)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < slots[i].num_args; k++) {
            int32_t at = (int32_t)block;
            const pdm_lg_var *var = pdm_lg_lookup_var(d->program, at, slots[i].args[k], &at);
            if (!var)
                continue;
            ptrdiff_t index = var - d->program->blocks[at].vars;
            indent(d);
            if (output)
                pdm_buf_printf(d->buf, "o%zu_%zu -> v%" PRId32 "_%td", block, op_index, at, index);
            else
                pdm_buf_printf(d->buf, "v%" PRId32 "_%td -> o%zu_%zu", at, index, block, op_index);
            pdm_buf_puts(d->buf, " [label=");
            put_string(d->buf, slots[i].name);
            pdm_buf_puts(d->buf, "];\n");
        }
    }
}

static void dot_var(const dump *d, size_t block, size_t index)
{
    const pdm_lg_var *var = &d->program->blocks[block].vars[index];
    pdm_buf label;

    pdm_buf_init(&label);
    pdm_buf_printf(&label, "%s\n", var->name);
    put_var_type(&label, var);
    indent(d);
    pdm_buf_printf(d->buf, "v%zu_%zu [shape=ellipse%s, label=", block, index,
                   var->persistable ? ", style=filled" : "");
    if (pdm_buf_ok(&label))
        pdm_buf_json_string(d->buf, label.data, label.size);
    else
        d->buf->failed = true;
    pdm_buf_puts(d->buf, "];\n");
    pdm_buf_deinit(&label);
}

static void dot_block(dump *d, size_t index)
{
    const pdm_lg_block *block = &d->program->blocks[index];

    d->printed[index] = true;
    indent(d);
    pdm_buf_printf(d->buf, "subgraph cluster_%zu {\n", index);
    d->depth++;
    indent(d);
    pdm_buf_printf(d->buf, "label=\"block %zu\";\n", index);
    for (size_t i = 0; i < block->num_vars; i++)
        dot_var(d, index, i);
    for (size_t i = 0; i < block->num_ops; i++) {
        const pdm_lg_op *op = &block->ops[i];
        indent(d);
        pdm_buf_printf(d->buf, "o%zu_%zu [shape=box, label=", index, i);
        put_string(d->buf, op->type);
        pdm_buf_puts(d->buf, "];\n");
        dot_edges(d, index, i, op->inputs, op->num_inputs, false);
        dot_edges(d, index, i, op->outputs, op->num_outputs, true);
        each_owned_block(d, op, dot_block);
    }
    d->depth--;
    indent(d);
    pdm_buf_puts(d->buf, "}\n");
}

void pdm_lg_dump_dot(const pdm_lg_program *program, pdm_buf *buf)
{
    pdm_buf_puts(buf, "digraph program {\n");
    each_root_block(program, buf, 1, dot_block);
    pdm_buf_puts(buf, "}\n");
}
