#include "ir/text.h"

#include <string.h>

#include "ir/op_info.h"
#include "ir/text_names.h"

typedef struct printer {
    pdm_buf *buf;
    pdm_map names; /* value -> number, args counted apart */
    uint64_t num_results, num_args;
    int indent;
} printer;

const char *const pdm_ir_text_types[] = {
    [PDM_IR_ELEMENT] = "",
    [PDM_IR_DENSE_TENSOR] = "tensor",
    [PDM_IR_SELECTED_ROWS] = "pd_op.selected_rows",
    [PDM_IR_TENSOR_ARRAY] = "pd_op.tensor_array",
    [PDM_IR_SPARSE_COO] = "pd_op.sparse_coo",
    [PDM_IR_SPARSE_CSR] = "pd_op.sparse_csr",
    [PDM_IR_VECTOR] = "vec",
    [PDM_IR_STACK] = "cf.stack",
    [PDM_IR_INLET] = "cf.inlet",
    [PDM_IR_OUTLET] = "cf.outlet",
};

const char *const pdm_ir_text_places[PDM_IR_TEXT_NUM_PLACES] = {
    "undefined", "cpu", "gpu", "gpu_pinned", "xpu", NULL, NULL, "ipu", NULL, "custom"};

static void number(printer *p, const pdm_ir_value *value, uint64_t *counter)
{
    pdm_map_entry *entry = pdm_map_put(&p->names, value);

    if (entry)
        entry->value.num = (*counter)++;
    else
        p->buf->failed = true;
}

static void put_value(printer *p, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = value ? pdm_map_find(&p->names, value) : NULL;

    if (!value) {
        pdm_buf_puts(p->buf, "<<NULL VALUE>>");
    } else if (!entry) {
        /* Only in broken programs: used before its definition. */
        pdm_buf_puts(p->buf, "<<UNKNOWN VALUE>>");
    } else {
        pdm_buf_puts(p->buf, pdm_ir_value_arg_block(value) ? "%arg_" : "%");
        pdm_buf_i64(p->buf, (int64_t)entry->value.num);
    }
}

static void new_line(printer *p)
{
    pdm_buf_putc(p->buf, '\n');
    for (int i = 0; i < p->indent; i++)
        pdm_buf_puts(p->buf, "    ");
}

static void put_results(printer *p, const pdm_ir_op *op)
{
    pdm_buf_putc(p->buf, '(');
    for (uint32_t i = 0; i < op->num_results; i++) {
        number(p, pdm_ir_op_result(op, i), &p->num_results);
        if (i)
            pdm_buf_puts(p->buf, ", ");
        put_value(p, pdm_ir_op_result(op, i));
    }
    pdm_buf_puts(p->buf, ") = ");
}

static void put_operands(printer *p, const pdm_ir_op *op)
{
    pdm_buf_puts(p->buf, " (");
    for (uint32_t i = 0; i < op->num_operands; i++) {
        if (i)
            pdm_buf_puts(p->buf, ", ");
        put_value(p, pdm_ir_op_operand_value(op, i));
    }
    pdm_buf_puts(p->buf, ") {");
}

static void put_attrs(printer *p, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (i)
            pdm_buf_putc(p->buf, ',');
        pdm_ir_print_word(op->attrs[i].name, p->buf);
        pdm_buf_putc(p->buf, ':');
        pdm_ir_print_attr(op->attrs[i].attr, p->buf);
    }
    pdm_buf_puts(p->buf, "} : (");
}

static void put_types(printer *p, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (i)
            pdm_buf_puts(p->buf, ", ");
        pdm_ir_print_type(value ? value->type : NULL, p->buf);
    }
    pdm_buf_puts(p->buf, op->num_results ? ") -> " : ") -> ()");
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (i)
            pdm_buf_puts(p->buf, ", ");
        pdm_ir_print_type(pdm_ir_op_result(op, i)->type, p->buf);
    }
}

static void put_block(printer *p, const pdm_ir_block *block);

static void put_region(printer *p, const pdm_ir_region *region)
{
    pdm_buf_putc(p->buf, '{');
    for (const pdm_ir_block *block = region->first; block; block = block->next)
        put_block(p, block);
    new_line(p);
    pdm_buf_putc(p->buf, '}');
}

static void put_op(printer *p, const pdm_ir_op *op)
{
    new_line(p);
    put_results(p, op);
    pdm_buf_json_string(p->buf, pdm_ir_op_name(op), strlen(pdm_ir_op_name(op)));
    put_operands(p, op);
    put_attrs(p, op);
    put_types(p, op);
    for (uint32_t i = 0; i < op->num_regions; i++) {
        pdm_buf_puts(p->buf, i ? " else " : " ");
        put_region(p, pdm_ir_op_region(op, i));
    }
}

static void put_block(printer *p, const pdm_ir_block *block)
{
    if (block->num_args || block->prev || !block->first) {
        new_line(p);
        pdm_buf_puts(p->buf, "^(");
        for (uint32_t i = 0; i < block->num_args; i++) {
            const pdm_ir_value *arg = pdm_ir_block_arg(block, i);
            number(p, arg, &p->num_args);
            if (i)
                pdm_buf_puts(p->buf, ", ");
            put_value(p, arg);
            pdm_buf_puts(p->buf, ": ");
            pdm_ir_print_type(arg->type, p->buf);
        }
        pdm_buf_putc(p->buf, ')');
    }
    p->indent++;
    for (const pdm_ir_op *op = block->first; op && pdm_buf_ok(p->buf); op = op->next)
        put_op(p, op);
    p->indent--;
}

void pdm_ir_print(const pdm_ir_module *module, pdm_buf *buf)
{
    printer p = {.buf = buf};

    pdm_buf_puts(buf, "pir version ");
    pdm_buf_i64(buf, module->version);
    pdm_buf_puts(buf, module->trainable ? " trainable " : " ");
    put_region(&p, module->block->region);
    pdm_buf_putc(buf, '\n');
    pdm_map_deinit(&p.names);
}
