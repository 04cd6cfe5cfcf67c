/* The analysis of shapes as text. */
#include <inttypes.h>

#include "ir/op_info.h"
#include "ir/shapes.h"

typedef struct printer {
    const pdm_ir_shapes *s;
    pdm_buf *buf;
    pdm_map names; /* value -> number, as the text form counts */
    uint64_t num_results, num_args;
} printer;

static void number(printer *p, const pdm_ir_value *value, uint64_t *counter)
{
    pdm_map_entry *entry = pdm_map_put(&p->names, value);

    if (entry)
        entry->value.num = (*counter)++;
    else
        p->buf->failed = true;
}

static void number_region(printer *p, const pdm_ir_region *region);

static void number_block(printer *p, const pdm_ir_block *block)
{
    for (uint32_t i = 0; i < block->num_args; i++)
        number(p, pdm_ir_block_arg(block, i), &p->num_args);
    for (const pdm_ir_op *op = block->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->num_results; i++)
            number(p, pdm_ir_op_result(op, i), &p->num_results);
        for (uint32_t i = 0; i < op->num_regions; i++)
            number_region(p, pdm_ir_op_region(op, i));
    }
}

static void number_region(printer *p, const pdm_ir_region *region)
{
    for (const pdm_ir_block *block = region ? region->first : NULL; block; block = block->next)
        number_block(p, block);
}

static void put_name(printer *p, const pdm_ir_value *value)
{
    const pdm_map_entry *entry = pdm_map_find(&p->names, value);

    pdm_buf_puts(p->buf, pdm_ir_value_arg_block(value) ? "%arg_" : "%");
    pdm_buf_i64(p->buf, entry ? (int64_t)entry->value.num : -1);
}

/* ---- symbols --------------------------------------------------------------------------------- */

static const char *input_name(const pdm_ir_op *op)
{
    pdm_ir_attr name = op ? pdm_ir_op_attr(op, "name") : NULL;

    return name && name->kind == PDM_IR_ATTR_STR ? name->u.s.text : NULL;
}

static const char *why(pdm_ir_symbol_origin origin)
{
    switch (origin) {
    case PDM_IR_SYMBOL_INPUT:
        return "";
    case PDM_IR_SYMBOL_FOUND:
        return ", known when it runs";
    case PDM_IR_SYMBOL_NO_RULE:
        return ", an op without a rule";
    case PDM_IR_SYMBOL_TURN:
        return ", changes from turn to turn";
    case PDM_IR_SYMBOL_JOINED:
        return ", differs between ways here";
    }
    return "";
}

static void put_symbol(printer *p, size_t i)
{
    const pdm_ir_symbol *symbol = &p->s->symbols.v[i];
    const pdm_ir_op *op = pdm_ir_value_op(symbol->value);
    const char *input = symbol->origin == PDM_IR_SYMBOL_INPUT ? input_name(op) : NULL;

    pdm_buf_printf(p->buf, "  S%zu: dim %u of ", i, symbol->axis);
    if (input) {
        pdm_buf_printf(p->buf, "input %s\n", input);
        return;
    }
    if (symbol->value->type && symbol->value->type->kind == PDM_IR_VECTOR)
        pdm_buf_printf(p->buf, "element %u of ", symbol->element);
    put_name(p, symbol->value);
    if (op)
        pdm_buf_printf(p->buf, " (%s)", pdm_ir_op_name(op));
    pdm_buf_printf(p->buf, "%s\n", why(symbol->origin));
}

static bool is_used(const pdm_ir_shapes *s, size_t i)
{
    return !s->dims.equals.v[i];
}

static void put_symbols(printer *p)
{
    pdm_buf_puts(p->buf, "symbols\n");
    for (size_t i = 0; i < p->s->symbols.n; i++) {
        if (is_used(p->s, i))
            put_symbol(p, i);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_list(printer *p, const pdm_dim *v, size_t n, char open, char close)
{
    pdm_buf_putc(p->buf, open);
    for (size_t i = 0; i < n; i++) {
        pdm_buf_puts(p->buf, i ? ", " : "");
        pdm_dim_print(v[i], p->buf);
    }
    pdm_buf_putc(p->buf, close);
}

static void put_shape(printer *p, pdm_ir_type type, const pdm_ir_shape *shape)
{
    if (!type) {
        pdm_buf_puts(p->buf, "absent");
        return;
    }
    if (type->kind == PDM_IR_VECTOR) {
        for (uint32_t i = 0; i < type->num_elements; i++) {
            pdm_buf_puts(p->buf, i ? ", " : "(");
            put_shape(p, type->elements[i],
                      shape && i < shape->num_elements ? &shape->elements[i] : NULL);
        }
        pdm_buf_puts(p->buf, type->num_elements ? ")" : "()");
        return;
    }
    if (!pdm_ir_type_is_tensor(type) || !shape || shape->rank < 0) {
        pdm_buf_puts(p->buf, pdm_ir_type_is_tensor(type) ? "unknown rank" : "no tensor");
        return;
    }
    put_list(p, shape->dims, (size_t)shape->rank, '[', ']');
    if (shape->data) {
        pdm_buf_puts(p->buf, " = ");
        put_list(p, shape->data, shape->num_data, '{', '}');
    }
}

static void put_value(printer *p, const pdm_ir_value *value, int indent, const char *what)
{
    for (int i = 0; i < indent; i++)
        pdm_buf_puts(p->buf, "  ");
    put_name(p, value);
    if (what)
        pdm_buf_printf(p->buf, " %s", what);
    pdm_buf_puts(p->buf, ": ");
    put_shape(p, value->type, pdm_ir_shapes_of(p->s, value));
    pdm_buf_putc(p->buf, '\n');
}

static void put_block(printer *p, const pdm_ir_block *block, int indent)
{
    for (uint32_t i = 0; i < block->num_args; i++)
        put_value(p, pdm_ir_block_arg(block, i), indent, NULL);
    for (const pdm_ir_op *op = block->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->num_results; i++)
            put_value(p, pdm_ir_op_result(op, i), indent, pdm_ir_op_name(op));
        for (uint32_t i = 0; i < op->num_regions; i++) {
            const pdm_ir_region *region = pdm_ir_op_region(op, i);
            for (const pdm_ir_block *b = region ? region->first : NULL; b; b = b->next)
                put_block(p, b, indent + 1);
        }
    }
}

static void put_constraints(printer *p)
{
    const pdm_ir_shapes *s = p->s;

    pdm_buf_puts(p->buf, "constraints\n");
    for (size_t i = 0; i < s->symbols.n; i++) {
        if (is_used(s, i))
            continue;
        pdm_buf_printf(p->buf, "  S%zu = ", i);
        pdm_dim_print(s->dims.equals.v[i], p->buf);
        pdm_buf_printf(p->buf, ", where");
        pdm_buf_putc(p->buf, '\n');
        pdm_buf_puts(p->buf, "  ");
        put_symbol(p, i);
    }
    for (size_t i = 0; i < s->constraints.n; i++) {
        const pdm_ir_constraint *c = &s->constraints.v[i];
        pdm_buf_puts(p->buf, "  ");
        pdm_dim_print(c->a, p->buf);
        pdm_buf_puts(p->buf, c->equal ? " = " : " broadcasts with ");
        pdm_dim_print(c->b, p->buf);
        pdm_buf_putc(p->buf, '\n');
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

pdm_status pdm_ir_shapes_print(const pdm_ir_module *module, pdm_buf *buf)
{
    pdm_ir_shapes *shapes;
    size_t without = 0, used = 0;

    PDM_TRY(pdm_ir_shapes_find(module, &shapes));
    printer p = {.s = shapes, .buf = buf};
    pdm_map_init(&p.names);
    number_block(&p, module->block);
    put_symbols(&p);
    pdm_buf_puts(buf, "values\n");
    put_block(&p, module->block, 1);
    put_constraints(&p);
    for (size_t i = 0; i < shapes->symbols.n; i++) {
        used += is_used(shapes, i);
        without += is_used(shapes, i) && shapes->symbols.v[i].origin == PDM_IR_SYMBOL_NO_RULE;
    }
    pdm_buf_printf(buf, "%zu tensors, %zu of unknown rank; %zu symbols, %zu of ops without a rule\n",
                   shapes->num_values, shapes->num_unknown, used, without);
    pdm_map_deinit(&p.names);
    pdm_ir_shapes_destroy(shapes);
    return PDM_OK;
}
