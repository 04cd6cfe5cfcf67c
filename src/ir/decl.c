/* Declared attribute types of op rows: names, and which attributes have them. */
#include "ir/op_info.h"

static const struct decl_row {
    const char *name;
    pdm_ir_attr_kind kind; /* of the attribute itself; of the elements when it is an array */
    bool is_array, any;
} rows[] = {
    [PDM_IR_T_BOOL] = {"bool", PDM_IR_ATTR_BOOL, false, false},
    [PDM_IR_T_I32] = {"i32", PDM_IR_ATTR_I32, false, false},
    [PDM_IR_T_I64] = {"i64", PDM_IR_ATTR_I64, false, false},
    [PDM_IR_T_F32] = {"f32", PDM_IR_ATTR_F32, false, false},
    [PDM_IR_T_F64] = {"f64", PDM_IR_ATTR_F64, false, false},
    [PDM_IR_T_STR] = {"str", PDM_IR_ATTR_STR, false, false},
    [PDM_IR_T_ARRAY_BOOL] = {"array of bool", PDM_IR_ATTR_BOOL, true, false},
    [PDM_IR_T_ARRAY_I32] = {"array of i32", PDM_IR_ATTR_I32, true, false},
    [PDM_IR_T_ARRAY_I64] = {"array of i64", PDM_IR_ATTR_I64, true, false},
    [PDM_IR_T_ARRAY_F32] = {"array of f32", PDM_IR_ATTR_F32, true, false},
    [PDM_IR_T_ARRAY_F64] = {"array of f64", PDM_IR_ATTR_F64, true, false},
    [PDM_IR_T_ARRAY_STR] = {"array of str", PDM_IR_ATTR_STR, true, false},
    [PDM_IR_T_ARRAY_ANY] = {"array", PDM_IR_ATTR_NULL, true, true},
    [PDM_IR_T_INT_ARRAY] = {"intarray", PDM_IR_ATTR_INT_ARRAY, false, false},
    [PDM_IR_T_DTYPE] = {"dtype", PDM_IR_ATTR_DTYPE, false, false},
    [PDM_IR_T_LAYOUT] = {"layout", PDM_IR_ATTR_LAYOUT, false, false},
    [PDM_IR_T_PLACE] = {"place", PDM_IR_ATTR_PLACE, false, false},
    [PDM_IR_T_SCALAR] = {"scalar", PDM_IR_ATTR_SCALAR, false, false},
    [PDM_IR_T_TYPE] = {"type", PDM_IR_ATTR_TYPE, false, false},
    [PDM_IR_T_ANY] = {"any", PDM_IR_ATTR_NULL, false, true},
};

const char *pdm_ir_decl_type_name(pdm_ir_decl_type type)
{
    return (size_t)type < sizeof rows / sizeof *rows ? rows[type].name : "?";
}

bool pdm_ir_decl_type_fits(pdm_ir_decl_type type, pdm_ir_attr attr)
{
    const struct decl_row *row = &rows[type];

    if (row->is_array) {
        if (attr->kind != PDM_IR_ATTR_ARRAY)
            return false;
        for (uint32_t i = 0; i < attr->count && !row->any; i++) {
            if (attr->u.items[i]->kind != row->kind)
                return false;
        }
        return true;
    }
    /* A scalar is written with the plain tag of its element type. */
    if (type == PDM_IR_T_SCALAR && attr->kind >= PDM_IR_ATTR_BOOL && attr->kind <= PDM_IR_ATTR_C128)
        return true;
    return row->any || attr->kind == row->kind;
}
