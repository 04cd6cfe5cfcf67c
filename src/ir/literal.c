/* JSON literals of op rows and map rows as attributes. The texts are ours, so the parser knows only
 * what they use. */
#include "ir/literal.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

#define MAX_ITEMS 32

typedef struct cursor {
    pdm_ir_context *context;
    const char *p;
} cursor;

static void skip_blanks(cursor *c)
{
    while (*c->p == ' ')
        c->p++;
}

static bool accept(cursor *c, const char *word)
{
    skip_blanks(c);
    size_t n = strlen(word);
    if (strncmp(c->p, word, n) != 0)
        return false;
    c->p += n;
    return true;
}

/* The texts have no escapes in their strings. */
static bool string(cursor *c, const char **out, size_t *out_size)
{
    skip_blanks(c);
    if (*c->p != '"')
        return false;
    const char *end = strchr(c->p + 1, '"');
    if (!end)
        return false;
    *out = c->p + 1;
    *out_size = (size_t)(end - *out);
    c->p = end + 1;
    return true;
}

static bool integer(cursor *c, int64_t *out)
{
    char *end;
    skip_blanks(c);
    *out = strtoll(c->p, &end, 10);
    /* "1e3" and "2.0" are no integer texts, but rows may use them for float types only. */
    bool ok = end != c->p;
    c->p = end;
    return ok;
}

static bool number(cursor *c, double *out)
{
    const char *end;
    skip_blanks(c);
    *out = pdm_decimal_read(c->p, &end);
    const bool found = end > c->p;
    c->p = end;
    return found;
}

static pdm_ir_attr scalar(cursor *c, pdm_ir_decl_type type)
{
    int64_t i;
    double d;
    const char *s;
    size_t size;
    switch (type) {
    case PDM_IR_T_BOOL:
        if (accept(c, "true"))
            return pdm_ir_attr_bool(c->context, true);
        return accept(c, "false") ? pdm_ir_attr_bool(c->context, false) : NULL;
    case PDM_IR_T_I32:
        return integer(c, &i) ? pdm_ir_attr_i32(c->context, (int32_t)i) : NULL;
    case PDM_IR_T_I64:
        return integer(c, &i) ? pdm_ir_attr_i64(c->context, i) : NULL;
    case PDM_IR_T_F32:
    case PDM_IR_T_SCALAR:
        return number(c, &d) ? pdm_ir_attr_f32(c->context, (float)d) : NULL;
    case PDM_IR_T_F64:
        return number(c, &d) ? pdm_ir_attr_f64(c->context, d) : NULL;
    case PDM_IR_T_STR:
        return string(c, &s, &size) ? pdm_ir_attr_strn(c->context, s, size) : NULL;
    case PDM_IR_T_DTYPE: {
        char name[32];
        if (!string(c, &s, &size) || size >= sizeof name)
            return NULL;
        memcpy(name, s, size);
        name[size] = '\0';
        return pdm_ir_attr_dtype(c->context, pdm_dtype_from_name(name));
    }
    case PDM_IR_T_LAYOUT: {
        char name[64];
        if (!string(c, &s, &size) || size >= sizeof name)
            return NULL;
        memcpy(name, s, size);
        name[size] = '\0';
        return pdm_ir_attr_layout(c->context, name);
    }
    default:
        return NULL;
    }
}

static pdm_ir_decl_type element_type(pdm_ir_decl_type type)
{
    switch (type) {
    case PDM_IR_T_ARRAY_BOOL:
        return PDM_IR_T_BOOL;
    case PDM_IR_T_ARRAY_I32:
        return PDM_IR_T_I32;
    case PDM_IR_T_ARRAY_I64:
        return PDM_IR_T_I64;
    case PDM_IR_T_ARRAY_F64:
        return PDM_IR_T_F64;
    case PDM_IR_T_ARRAY_STR:
        return PDM_IR_T_STR;
    default:
        return PDM_IR_T_F32;
    }
}

static pdm_ir_attr list(cursor *c, pdm_ir_decl_type type)
{
    pdm_ir_attr items[MAX_ITEMS];
    int64_t ints[MAX_ITEMS];
    size_t n = 0;
    if (!accept(c, "["))
        return NULL;
    while (!accept(c, "]")) {
        if (n == MAX_ITEMS || (n && !accept(c, ",")))
            return NULL;
        if (type == PDM_IR_T_INT_ARRAY) {
            if (!integer(c, &ints[n]))
                return NULL;
        } else if (!(items[n] = scalar(c, element_type(type)))) {
            return NULL;
        }
        n++;
    }
    return type == PDM_IR_T_INT_ARRAY ? pdm_ir_attr_int_array(c->context, ints, n)
                                      : pdm_ir_attr_array(c->context, items, n);
}

static pdm_ir_attr place(cursor *c)
{
    int64_t kind, device;
    const char *s;
    size_t size;
    bool ok = accept(c, "[") && integer(c, &kind) && accept(c, ",") && integer(c, &device) &&
              accept(c, ",") && string(c, &s, &size) && accept(c, "]");
    return ok ? pdm_ir_attr_place(c->context, (int32_t)kind, (int32_t)device, "") : NULL;
}

pdm_ir_attr pdm_ir_literal(pdm_ir_context *context, const char *json, pdm_ir_decl_type type)
{
    cursor c = {context, json};
    pdm_ir_attr attr;
    switch (type) {
    case PDM_IR_T_ARRAY_BOOL:
    case PDM_IR_T_ARRAY_I32:
    case PDM_IR_T_ARRAY_I64:
    case PDM_IR_T_ARRAY_F32:
    case PDM_IR_T_ARRAY_F64:
    case PDM_IR_T_ARRAY_STR:
    case PDM_IR_T_ARRAY_ANY:
    case PDM_IR_T_INT_ARRAY:
        attr = list(&c, type);
        break;
    case PDM_IR_T_PLACE:
        attr = place(&c);
        break;
    default:
        attr = scalar(&c, type);
    }
    skip_blanks(&c);
    return attr && *c.p == '\0' ? attr : NULL;
}

pdm_ir_attr pdm_ir_op_info_default(const pdm_ir_op_info *info, uint16_t index)
{
    const pdm_ir_attr_desc *desc = &info->desc->attrs[index];

    if (!info->defaults[index])
        info->defaults[index] = pdm_ir_literal(info->context, desc->default_json, desc->type);
    return info->defaults[index];
}
