/* Bring a module to another PIR version: first all that stands in the way is reported, then
 * attributes are retagged, added and dropped. */
#include "ir/ir_t.h"
#include "ir/pir_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mover {
    pdm_ir_module *module;
    int version;
    pdm_diag_sink *sink;
    pdm_status worst;
} mover;

/* ---- attributes of another width ------------------------------------------------------------- */

/* The element kind of a declared type that ever changed. */
static pdm_ir_attr_kind kind_of(pdm_ir_decl_type type)
{
    switch (type) {
    case PDM_IR_T_I32:
    case PDM_IR_T_ARRAY_I32:
        return PDM_IR_ATTR_I32;
    case PDM_IR_T_I64:
    case PDM_IR_T_ARRAY_I64:
        return PDM_IR_ATTR_I64;
    case PDM_IR_T_F32:
    case PDM_IR_T_ARRAY_F32:
        return PDM_IR_ATTR_F32;
    default:
        return PDM_IR_ATTR_F64;
    }
}

static bool is_int(pdm_ir_attr_kind kind)
{
    return kind == PDM_IR_ATTR_I32 || kind == PDM_IR_ATTR_I64;
}

static bool is_float(pdm_ir_attr_kind kind)
{
    return kind == PDM_IR_ATTR_F32 || kind == PDM_IR_ATTR_F64;
}

/* Whether the value has a counterpart of that kind; a double may lose digits as a float, but not
 * become infinite. */
static bool can_retag(pdm_ir_attr attr, pdm_ir_attr_kind kind)
{
    if (attr->kind == PDM_IR_ATTR_ARRAY) {
        for (uint32_t i = 0; i < attr->count; i++) {
            if (attr->u.items[i]->kind == PDM_IR_ATTR_ARRAY || !can_retag(attr->u.items[i], kind))
                return false;
        }
        return true;
    }
    if (is_int(attr->kind) && is_int(kind))
        return kind == PDM_IR_ATTR_I64 || (attr->u.i >= INT32_MIN && attr->u.i <= INT32_MAX);
    if (is_float(attr->kind) && is_float(kind))
        return kind == PDM_IR_ATTR_F64 || isinf(attr->u.f) || !isinf((float)attr->u.f);
    return false;
}

static pdm_ir_attr retag_one(pdm_ir_context *context, pdm_ir_attr attr, pdm_ir_attr_kind kind)
{
    struct pdm_ir_attr_s fields = *attr;

    fields.kind = kind;
    return pdm_ir_attr_intern(context, &fields);
}

static pdm_ir_attr retag(pdm_ir_context *context, pdm_ir_attr attr, pdm_ir_attr_kind kind)
{
    if (attr->kind != PDM_IR_ATTR_ARRAY)
        return retag_one(context, attr, kind);
    pdm_ir_attr *items = calloc(attr->count ? attr->count : 1, sizeof *items), made = NULL;
    uint32_t i = 0;
    while (items && i < attr->count && (items[i] = retag_one(context, attr->u.items[i], kind)))
        i++;
    if (items && i == attr->count)
        made = pdm_ir_attr_array(context, items, i);
    free(items);
    return made;
}

/* ---- one op ---------------------------------------------------------------------------------- */

static void report(mover *m, const pdm_ir_op *op, const pdm_ir_place *place, const char *attr,
                   int needs, const char *what)
{
    char hint[64];
    pdm_loc loc = PDM_NOWHERE;

    loc.block = op->lg_op >= 0 ? op->lg_block : place->block;
    loc.op_index = op->lg_op >= 0 ? op->lg_op : place->op_index;
    loc.op_type = pdm_ir_op_name(op);
    loc.var = attr;
    snprintf(hint, sizeof hint, "Write PIR version %d (--pir-version %d).", needs,
             PDM_IR_NEWEST_VERSION);
    m->worst = pdm_diag(m->sink, PDM_D_IR_VERSION, &loc, needs ? hint : NULL,
                        "%s in PIR version %d.", what, m->version);
}

static pdm_status check_attr(mover *m, const pdm_ir_op *op, const pdm_ir_place *place,
                             uint16_t index)
{
    const pdm_ir_attr_desc *desc = &op->info->desc->attrs[index];
    const pdm_ir_attr attr = pdm_ir_op_row_attr(op, index);

    if (!attr) {
        if (desc->added_in && m->version >= desc->added_in && !desc->default_json)
            report(m, op, place, desc->name, 0, "An attribute that is missing here has no default");
        return PDM_OK;
    }
    if (desc->added_in > m->version) {
        const pdm_ir_attr neutral =
            desc->default_json ? pdm_ir_op_info_default(op->info, index) : NULL;
        if (desc->default_json && !neutral)
            return PDM_NOMEM;
        if (attr != neutral)
            report(m, op, place, desc->name, desc->added_in, "An attribute does not exist");
        return PDM_OK;
    }
    const pdm_ir_decl_type type = pdm_ir_attr_desc_type(desc, m->version);
    if (desc->changed_in && !pdm_ir_decl_type_fits(type, attr) && !can_retag(attr, kind_of(type)))
        report(m, op, place, desc->name, desc->changed_in,
               "The value of an attribute cannot be expressed");
    return PDM_OK;
}

static pdm_status check_op(void *user, pdm_ir_op *op, const pdm_ir_place *place)
{
    mover *m = user;
    const pdm_ir_op_desc *desc = op->info->desc;

    if (!desc)
        return PDM_OK;
    if (desc->since > m->version) {
        report(m, op, place, NULL, desc->since, "The op does not exist");
        return PDM_OK;
    }
    for (uint16_t i = 0; op->info->changes && i < desc->num_attrs; i++) {
        if (desc->attrs[i].changed_in || desc->attrs[i].added_in)
            PDM_TRY(check_attr(m, op, place, i));
    }
    return PDM_OK;
}

static pdm_status move_attr(const mover *m, pdm_ir_op *op, uint16_t index)
{
    const pdm_ir_attr_desc *desc = &op->info->desc->attrs[index];
    pdm_ir_context *context = m->module->context;
    pdm_ir_attr attr = pdm_ir_op_row_attr(op, index);

    if (desc->added_in > m->version) {
        pdm_ir_op_remove_attr(op, desc->name);
        return PDM_OK;
    }
    const pdm_ir_decl_type type = pdm_ir_attr_desc_type(desc, m->version);
    if (!attr && desc->added_in)
        attr = pdm_ir_op_info_default(op->info, index);
    else if (!attr || pdm_ir_decl_type_fits(type, attr))
        return PDM_OK;
    else
        attr = retag(context, attr, kind_of(type));
    return attr && pdm_ir_op_set_attr(context, op, desc->name, attr) ? PDM_OK : PDM_NOMEM;
}

static pdm_status move_op(void *user, pdm_ir_op *op, const pdm_ir_place *place)
{
    const pdm_ir_op_desc *desc = op->info->desc;

    (void)place;
    for (uint16_t i = 0; op->info->changes && i < desc->num_attrs; i++) {
        if (desc->attrs[i].changed_in || desc->attrs[i].added_in)
            PDM_TRY(move_attr(user, op, i));
    }
    return PDM_OK;
}

pdm_status pdm_ir_module_set_version(pdm_ir_module *module, int version, pdm_diag_sink *sink)
{
    mover m = {.module = module, .version = version, .sink = sink};

    if (version < 1 || version > PDM_IR_NEWEST_VERSION)
        return PDM_INVALID_ARG;
    PDM_TRY(pdm_ir_visit(module, sink, check_op, &m));
    if (m.worst != PDM_OK)
        return m.worst;
    PDM_TRY(pdm_ir_visit(module, sink, move_op, &m));
    module->version = version;
    return PDM_OK;
}
