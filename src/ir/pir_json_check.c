/* What a file for Paddle cannot hold: told before anything is written. */
#include "ir/pir_json_write.h"

#include <math.h>
#include <string.h>

#include "ir/pir_json.h"
#include "ir/pir_json_tags.h"

typedef struct checker {
    pdm_diag_sink *sink;
    int32_t num_blocks;
    unsigned depth;
    pdm_status worst;
    pdm_loc loc;
} checker;

static void refuse(checker *c, pdm_status status)
{
    if (c->worst != PDM_INVALID_MODEL)
        c->worst = status;
}

static bool type_fits(pdm_ir_type type)
{
    if (!type)
        return true;
    if (type->kind <= PDM_IR_SPARSE_CSR && !pdm_dtype_tag(type->dtype))
        return false;
    if (type->layout && !pdm_ir_json_known_layout(type->layout))
        return false;
    for (uint32_t i = 0; i < type->num_elements; i++) {
        if (!type_fits(type->elements[i]))
            return false;
    }
    return true;
}

static void check_type(checker *c, pdm_ir_type type, const char *what)
{
    if (type_fits(type))
        return;
    refuse(c, pdm_diag(c->sink, PDM_D_JSON_TAG, &c->loc, NULL,
                       "%s has an element type or layout that PIR JSON does not know (%s)", what,
                       pdm_dtype_name(type->dtype)));
}

/* NULL if it fits, else what does not. */
static const char *attr_misfit(pdm_ir_attr attr)
{
    const bool is_complex = attr->kind == PDM_IR_ATTR_C64 || attr->kind == PDM_IR_ATTR_C128 ||
                            (attr->kind == PDM_IR_ATTR_SCALAR && pdm_dtype_is_complex(attr->dtype));

    if (is_complex && !(isfinite(attr->u.c.re) && isfinite(attr->u.c.im)))
        return "a complex number that is not finite";
    if (attr->kind == PDM_IR_ATTR_TYPE && !type_fits(attr->u.type))
        return "a type without a form in PIR JSON";
    if (attr->kind == PDM_IR_ATTR_LAYOUT && !pdm_ir_json_known_layout(attr->u.s.text))
        return "a layout that PIR JSON does not know";
    if (attr->kind == PDM_IR_ATTR_DTYPE && attr->dtype == PDM_INDEX)
        return "an element type that PIR JSON does not know";
    if (attr->kind == PDM_IR_ATTR_PLACE && attr->u.place.kind < 0)
        return "a place that PIR JSON does not know";
    for (uint32_t i = 0; attr->kind == PDM_IR_ATTR_ARRAY && i < attr->count; i++) {
        const char *what = attr_misfit(attr->u.items[i]);
        if (what)
            return what;
    }
    return NULL;
}

static void check_attrs(checker *c, const pdm_ir_op *op)
{
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        const char *what = attr_misfit(op->attrs[i].attr);
        if (!what)
            continue;
        c->loc.var = op->attrs[i].name;
        refuse(c,
               pdm_diag(c->sink, PDM_D_JSON_TAG, &c->loc, NULL, "attribute \"%s\" of %s holds %s",
                        op->attrs[i].name, c->loc.op_type, what));
        c->loc.var = NULL;
    }
}

static bool has_dialect(const char *name)
{
    const char *dot = strchr(name, '.');

    for (size_t i = 0; dot && i < PDM_IR_JSON_NUM_DIALECTS; i++) {
        const char *dialect = pdm_ir_json_dialects[i].dialect;
        if (strlen(dialect) == (size_t)(dot - name) && !memcmp(dialect, name, (size_t)(dot - name)))
            return true;
    }
    return false;
}

static void check_block(checker *c, const pdm_ir_block *block);

static void check_op(checker *c, const pdm_ir_op *op)
{
    if (!has_dialect(c->loc.op_type))
        refuse(c, pdm_diag(c->sink, PDM_D_IR_LEGACY, &c->loc, NULL,
                           "%s cannot be written to a file for Paddle", c->loc.op_type));
    for (uint32_t i = 0; i < op->num_results; i++)
        check_type(c, pdm_ir_op_result(op, i)->type, "a result");
    check_attrs(c, op);
    if (op->num_regions && c->depth == PDM_IR_MAX_REGION_DEPTH) {
        refuse(c, pdm_diag(c->sink, PDM_D_LIMIT, &c->loc, NULL,
                           "regions are nested more than %d deep", PDM_IR_MAX_REGION_DEPTH));
        return;
    }
    c->depth++;
    for (uint32_t i = 0; i < op->num_regions; i++) {
        for (const pdm_ir_block *b = pdm_ir_op_region(op, i)->first; b; b = b->next)
            check_block(c, b);
    }
    c->depth--;
}

static void check_block(checker *c, const pdm_ir_block *block)
{
    const int32_t number = c->num_blocks++;
    int32_t index = 0;

    c->loc = PDM_NOWHERE;
    c->loc.block = number;
    for (uint32_t i = 0; i < block->num_args; i++)
        check_type(c, pdm_ir_block_arg(block, i)->type, "an argument");
    for (const pdm_ir_op *op = block->first; op; op = op->next) {
        c->loc = PDM_NOWHERE;
        c->loc.block = number;
        c->loc.op_index = index++;
        c->loc.op_type = pdm_ir_op_name(op);
        check_op(c, op);
    }
}

pdm_status pdm_ir_json_check(const pdm_ir_module *module, pdm_diag_sink *sink)
{
    checker c = {.sink = sink};

    check_block(&c, module->block);
    return c.worst;
}
