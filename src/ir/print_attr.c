/* Types and attributes as text. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "ir/text_names.h"

static bool is_word(const char *text)
{
    if (!pdm_ir_text_word_start(text[0]))
        return false;
    for (const char *p = text; *p; p++) {
        if (!pdm_ir_text_word_char(*p))
            return false;
    }
    return true;
}

static void put_quoted(pdm_buf *buf, const char *text)
{
    pdm_buf_json_string(buf, text, strlen(text));
}

void pdm_ir_print_word(const char *text, pdm_buf *buf)
{
    if (is_word(text))
        pdm_buf_puts(buf, text);
    else
        put_quoted(buf, text);
}

static void put_ints(pdm_buf *buf, const int64_t *ints, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            pdm_buf_putc(buf, ',');
        pdm_buf_i64(buf, ints[i]);
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

static void put_lod(pdm_ir_type type, pdm_buf *buf)
{
    pdm_buf_puts(buf, ", lod=[");
    for (uint32_t i = 0; i < type->num_lod; i++) {
        pdm_buf_puts(buf, i ? ",[" : "[");
        for (size_t k = 1; k <= type->lod[i][0]; k++) {
            if (k > 1)
                pdm_buf_putc(buf, ',');
            pdm_buf_i64(buf, (int64_t)type->lod[i][k]);
        }
        pdm_buf_putc(buf, ']');
    }
    pdm_buf_putc(buf, ']');
}

static void put_types(const pdm_ir_type *types, size_t count, pdm_buf *buf)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            pdm_buf_putc(buf, ',');
        pdm_ir_print_type(types[i], buf);
    }
}

/* <2x3xf32, what is not usual> */
static void put_shaped(pdm_ir_type type, pdm_buf *buf)
{
    pdm_buf_putc(buf, '<');
    for (uint32_t i = 0; i < type->rank; i++) {
        pdm_buf_i64(buf, type->dims[i]);
        pdm_buf_putc(buf, 'x');
    }
    pdm_buf_puts(buf, pdm_dtype_text(type->dtype));
    if (strcmp(type->layout, "NCHW") != 0) {
        pdm_buf_puts(buf, ", ");
        pdm_ir_print_word(type->layout, buf);
    }
    if (type->num_lod)
        put_lod(type, buf);
    if (type->offset) {
        pdm_buf_puts(buf, ", offset=");
        pdm_buf_i64(buf, (int64_t)type->offset);
    }
    if (type->kind == PDM_IR_SPARSE_COO) {
        pdm_buf_puts(buf, ", nnz=[");
        put_ints(buf, type->non_zero_dims, type->non_zero_rank);
        pdm_buf_putc(buf, ']');
    }
    if (type->num_elements) {
        pdm_buf_puts(buf, ", elements=[");
        put_types(type->elements, type->num_elements, buf);
        pdm_buf_putc(buf, ']');
    }
    pdm_buf_putc(buf, '>');
}

void pdm_ir_print_type(pdm_ir_type type, pdm_buf *buf)
{
    if (!type) {
        pdm_buf_puts(buf, "<<NULL TYPE>>");
        return;
    }
    if (type->kind == PDM_IR_ELEMENT) {
        pdm_buf_puts(buf, pdm_dtype_text(type->dtype));
        return;
    }
    pdm_buf_puts(buf, pdm_ir_text_types[type->kind]);
    if (type->kind == PDM_IR_VECTOR) {
        pdm_buf_putc(buf, '[');
        put_types(type->elements, type->num_elements, buf);
        pdm_buf_putc(buf, ']');
    } else if (type->kind < PDM_IR_STACK) {
        put_shaped(type, buf);
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void put_double(pdm_buf *buf, double value)
{
    pdm_buf_double(buf, value);
}

/* Fewest digits from which the parser, by way of a double, gets the same float. */
static void put_float(pdm_buf *buf, double value)
{
    char text[32];

    /* Six digits survive a float, unless it is subnormal. */
    for (int precision = fabs(value) < (double)FLT_MIN ? 1 : 6; precision <= 9 && isfinite(value);
         precision++) {
        /* printf and strtod share the locale, whatever it is. */
        snprintf(text, sizeof text, "%.*e", precision - 1, value);
        const double tried = strtod(text, NULL);
        if ((double)(float)tried == value) {
            value = tried;
            break;
        }
    }
    pdm_buf_double(buf, value);
}

static void put_pair(pdm_buf *buf, double re, double im, void (*put)(pdm_buf *buf, double value))
{
    put(buf, re);
    pdm_buf_putc(buf, ',');
    put(buf, im);
}

static void put_scalar(pdm_ir_attr attr, pdm_buf *buf)
{
    pdm_buf_printf(buf, "scalar<%s>(", pdm_dtype_text(attr->dtype));
    if (attr->dtype == PDM_BOOL)
        pdm_buf_puts(buf, attr->u.b ? "true" : "false");
    else if (pdm_dtype_is_complex(attr->dtype))
        put_pair(buf, attr->u.c.re, attr->u.c.im, put_double);
    else if (pdm_dtype_is_float(attr->dtype))
        put_double(buf, attr->u.f);
    else
        pdm_buf_i64(buf, attr->u.i);
    pdm_buf_putc(buf, ')');
}

static void put_place(pdm_ir_attr attr, pdm_buf *buf)
{
    const int32_t kind = attr->u.place.kind;

    pdm_buf_puts(buf, "Place(");
    if (kind >= 0 && kind < PDM_IR_TEXT_NUM_PLACES && pdm_ir_text_places[kind])
        pdm_buf_puts(buf, pdm_ir_text_places[kind]);
    else
        pdm_buf_i64(buf, kind);
    if (attr->u.place.device || kind != 1)
        pdm_buf_printf(buf, ":%d", (int)attr->u.place.device);
    if (attr->u.place.name[0]) {
        pdm_buf_putc(buf, ',');
        put_quoted(buf, attr->u.place.name);
    }
    pdm_buf_putc(buf, ')');
}

static bool all_of(pdm_ir_attr array, pdm_ir_attr_kind kind)
{
    for (uint32_t i = 0; i < array->count; i++) {
        if (array->u.items[i]->kind != kind)
            return false;
    }
    return array->count > 0;
}

static void put_array(pdm_ir_attr array, pdm_buf *buf)
{
    const bool i64s = all_of(array, PDM_IR_ATTR_I64), f64s = all_of(array, PDM_IR_ATTR_F64);

    pdm_buf_puts(buf, i64s ? "i64[" : f64s ? "f64[" : "[");
    for (uint32_t i = 0; i < array->count; i++) {
        if (i)
            pdm_buf_putc(buf, ',');
        if (i64s)
            pdm_buf_i64(buf, array->u.items[i]->u.i);
        else if (f64s)
            put_double(buf, array->u.items[i]->u.f);
        else
            pdm_ir_print_attr(array->u.items[i], buf);
    }
    pdm_buf_putc(buf, ']');
}

/* name is with its bracket. */
static void put_int_call(pdm_buf *buf, const char *name, int64_t value)
{
    pdm_buf_puts(buf, name);
    pdm_buf_i64(buf, value);
    pdm_buf_putc(buf, ')');
}

void pdm_ir_print_attr(pdm_ir_attr attr, pdm_buf *buf)
{
    switch (attr->kind) {
    case PDM_IR_ATTR_NULL:
        pdm_buf_puts(buf, "null");
        return;
    case PDM_IR_ATTR_BOOL:
        pdm_buf_puts(buf, attr->u.b ? "true" : "false");
        return;
    case PDM_IR_ATTR_I32:
        pdm_buf_i64(buf, attr->u.i);
        return;
    case PDM_IR_ATTR_I64:
        put_int_call(buf, "i64(", attr->u.i);
        return;
    case PDM_IR_ATTR_INDEX:
        put_int_call(buf, "index(", attr->u.i);
        return;
    case PDM_IR_ATTR_F32:
        put_float(buf, attr->u.f);
        return;
    case PDM_IR_ATTR_F64:
        pdm_buf_puts(buf, "f64(");
        put_double(buf, attr->u.f);
        pdm_buf_putc(buf, ')');
        return;
    case PDM_IR_ATTR_C64:
    case PDM_IR_ATTR_C128:
        pdm_buf_puts(buf, attr->kind == PDM_IR_ATTR_C64 ? "c64(" : "c128(");
        put_pair(buf, attr->u.c.re, attr->u.c.im,
                 attr->kind == PDM_IR_ATTR_C64 ? put_float : put_double);
        pdm_buf_putc(buf, ')');
        return;
    case PDM_IR_ATTR_STR:
        pdm_buf_json_string(buf, attr->u.s.text, attr->u.s.size);
        return;
    case PDM_IR_ATTR_TENSOR_NAME:
        pdm_buf_puts(buf, "tensor_name(");
        pdm_buf_json_string(buf, attr->u.s.text, attr->u.s.size);
        pdm_buf_putc(buf, ')');
        return;
    case PDM_IR_ATTR_ARRAY:
        put_array(attr, buf);
        return;
    case PDM_IR_ATTR_TYPE:
        pdm_buf_puts(buf, "type(");
        pdm_ir_print_type(attr->u.type, buf);
        pdm_buf_putc(buf, ')');
        return;
    case PDM_IR_ATTR_INT_ARRAY:
        pdm_buf_puts(buf, "ints[");
        put_ints(buf, attr->u.ints, attr->count);
        pdm_buf_putc(buf, ']');
        return;
    case PDM_IR_ATTR_SCALAR:
        put_scalar(attr, buf);
        return;
    case PDM_IR_ATTR_DTYPE:
        pdm_buf_puts(buf, attr->dtype == PDM_UNDEFINED ? "Undefined" : pdm_dtype_name(attr->dtype));
        return;
    case PDM_IR_ATTR_LAYOUT:
        pdm_buf_puts(buf, "layout(");
        pdm_ir_print_word(attr->u.s.text, buf);
        pdm_buf_putc(buf, ')');
        return;
    case PDM_IR_ATTR_PLACE:
        put_place(attr, buf);
        return;
    }
}
