#include "ir/text.h"

#include <string.h>

#include "ir/op_info.h"

typedef struct drawer {
    pdm_buf *buf;
    pdm_buf edges; /* told last: an edge inside of a cluster would draw its nodes into it */
    pdm_map nodes; /* value -> number of the node that has it */
    uint64_t num_nodes, num_clusters;
    int indent;
} drawer;

static void new_line(drawer *d)
{
    pdm_buf_putc(d->buf, '\n');
    for (int i = 0; i < d->indent; i++)
        pdm_buf_puts(d->buf, "  ");
}

/* The inside of a dot string. */
static void put_label(drawer *d, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (c == '"' || c == '\\')
            pdm_buf_putc(d->buf, '\\');
        if (c == '\n' || c == '\r')
            pdm_buf_puts(d->buf, "\\n");
        else
            pdm_buf_putc(d->buf, c);
    }
}

static void put_type_line(drawer *d, pdm_ir_type type)
{
    pdm_buf text;

    pdm_buf_init(&text);
    pdm_ir_print_type(type, &text);
    pdm_buf_puts(d->buf, "\\n");
    if (pdm_buf_ok(&text))
        put_label(d, text.data, text.size);
    else
        d->buf->failed = true;
    pdm_buf_deinit(&text);
}

static void remember(drawer *d, const pdm_ir_value *value, uint64_t node)
{
    pdm_map_entry *entry = pdm_map_put(&d->nodes, value);

    if (entry)
        entry->value.num = node;
    else
        d->buf->failed = true;
}

/* What tells an input, output or parameter from its likes. */
static void put_name_line(drawer *d, const pdm_ir_op *op)
{
    pdm_ir_attr name = pdm_ir_op_attr(op, "parameter_name");

    if (!name)
        name = pdm_ir_op_attr(op, "name");
    if (!name || name->kind != PDM_IR_ATTR_STR)
        return;
    pdm_buf_puts(d->buf, "\\n\\\"");
    put_label(d, name->u.s.text, name->u.s.size);
    pdm_buf_puts(d->buf, "\\\"");
}

static void put_edges(drawer *d, const pdm_ir_op *op, uint64_t node)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        const pdm_map_entry *from = value ? pdm_map_find(&d->nodes, value) : NULL;
        const pdm_ir_op *source = value ? pdm_ir_value_op(value) : NULL;
        if (!from)
            continue;
        pdm_buf_puts(&d->edges, "\n  n");
        pdm_buf_i64(&d->edges, (int64_t)from->value.num);
        pdm_buf_puts(&d->edges, " -> n");
        pdm_buf_i64(&d->edges, (int64_t)node);
        /* Numbers only where there is a choice: result:operand. */
        if (op->num_operands > 1 || (source && source->num_results > 1)) {
            pdm_buf_puts(&d->edges, " [label=\"");
            if (source && source->num_results > 1)
                pdm_buf_printf(&d->edges, "%u", (unsigned)pdm_ir_value_index(value));
            pdm_buf_printf(&d->edges, ":%u\"]", (unsigned)i);
        }
        pdm_buf_putc(&d->edges, ';');
    }
}

static void put_block(drawer *d, const pdm_ir_block *block);

static void put_regions(drawer *d, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_regions; i++) {
        new_line(d);
        pdm_buf_puts(d->buf, "subgraph cluster_");
        pdm_buf_i64(d->buf, (int64_t)d->num_clusters++);
        pdm_buf_puts(d->buf, " {");
        d->indent++;
        new_line(d);
        pdm_buf_puts(d->buf, "label=\"");
        put_label(d, pdm_ir_op_name(op), strlen(pdm_ir_op_name(op)));
        pdm_buf_printf(d->buf, ", region %u\";", (unsigned)i);
        for (const pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
            put_block(d, b);
        d->indent--;
        new_line(d);
        pdm_buf_putc(d->buf, '}');
    }
}

static void put_op(drawer *d, const pdm_ir_op *op)
{
    const uint64_t node = d->num_nodes++;

    new_line(d);
    pdm_buf_puts(d->buf, "n");
    pdm_buf_i64(d->buf, (int64_t)node);
    pdm_buf_puts(d->buf, " [label=\"");
    put_label(d, pdm_ir_op_name(op), strlen(pdm_ir_op_name(op)));
    put_name_line(d, op);
    for (uint32_t i = 0; i < op->num_results; i++) {
        remember(d, pdm_ir_op_result(op, i), node);
        put_type_line(d, pdm_ir_op_result(op, i)->type);
    }
    pdm_buf_puts(d->buf, op->num_operands ? "\"];" : "\", style=filled, fillcolor=lightgrey];");
    put_edges(d, op, node);
    put_regions(d, op);
}

static void put_block(drawer *d, const pdm_ir_block *block)
{
    for (uint32_t i = 0; i < block->num_args; i++) {
        const pdm_ir_value *arg = pdm_ir_block_arg(block, i);
        new_line(d);
        pdm_buf_puts(d->buf, "n");
        pdm_buf_i64(d->buf, (int64_t)d->num_nodes);
        pdm_buf_printf(d->buf, " [shape=ellipse, label=\"argument %u", (unsigned)i);
        put_type_line(d, arg->type);
        pdm_buf_puts(d->buf, "\"];");
        remember(d, arg, d->num_nodes++);
    }
    for (const pdm_ir_op *op = block->first; op && pdm_buf_ok(d->buf); op = op->next)
        put_op(d, op);
}

void pdm_ir_print_dot(const pdm_ir_module *module, pdm_buf *buf)
{
    drawer d = {.buf = buf, .indent = 1};

    pdm_buf_puts(buf, "digraph pir {\n  node [shape=box, fontname=\"monospace\"];");
    pdm_buf_init(&d.edges);
    put_block(&d, module->block);
    if (pdm_buf_ok(&d.edges))
        pdm_buf_put(buf, d.edges.data, d.edges.size);
    else
        buf->failed = true;
    pdm_buf_puts(buf, "\n}\n");
    pdm_buf_deinit(&d.edges);
    pdm_map_deinit(&d.nodes);
}
