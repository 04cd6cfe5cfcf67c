#include "ir/pir_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "ir/op_info.h"
#include "ir/pir_json_tags.h"
#include "ir/pir_json_write.h"

enum { FLUSH_AT = 64 * 1024, MAX_CACHED = 2048, MAX_KEY = 32 };

typedef struct writer {
    pdm_buf *buf;
    pdm_out *out; /* NULL: everything stays in buf */
    int indent, level;
    bool empty;     /* nothing yet in the container that is open */
    bool after_key; /* the next value stands beside its key */
    bool result_attrs;
    int64_t next_result, next_arg;
    int64_t num_regions, num_blocks;
    pdm_map ids;
    pdm_map
        cached; /* type or attribute -> place of its compact text in cache: offset << 16 | size */
    pdm_buf cache;
    bool no_memory;
    PDM_VEC(const pdm_ir_named_attr *) order; /* attributes of the op at hand */
    const char *result_attr_names[2];         /* those of OA, interned */
    const pdm_ir_op *plain_param; /* a parameter without other attributes than its own */
} writer;

/* ---- JSON ------------------------------------------------------------------------------------ */

static void flush(writer *w)
{
    if (w->out && w->buf->size && pdm_buf_ok(w->buf)) {
        pdm_out_put(w->out, w->buf->data, w->buf->size);
        w->buf->size = 0;
    }
}

static void new_line(writer *w)
{
    static const char blanks[] = "                                ";
    size_t rest = (size_t)w->indent * (size_t)w->level;

    if (!w->indent)
        return;
    pdm_buf_putc(w->buf, '\n');
    for (; rest > sizeof blanks - 1; rest -= sizeof blanks - 1)
        pdm_buf_put(w->buf, blanks, sizeof blanks - 1);
    pdm_buf_put(w->buf, blanks, rest);
}

/* What stands before a value: nothing after a key, else the comma and line break of an element. */
static void prefix(writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (!w->empty)
        pdm_buf_putc(w->buf, ',');
    if (w->level)
        new_line(w);
    w->empty = false;
}

static void begin(writer *w, char bracket)
{
    prefix(w);
    pdm_buf_putc(w->buf, bracket);
    w->level++;
    w->empty = true;
}

static void end(writer *w, char bracket)
{
    w->level--;
    if (!w->empty)
        new_line(w);
    pdm_buf_putc(w->buf, bracket);
    w->empty = false;
}

/* name is short and needs no escape. */
static void key(writer *w, const char *name)
{
    char text[MAX_KEY + 4];
    const size_t size = strlen(name);

    prefix(w);
    text[0] = '"';
    memcpy(text + 1, name, size);
    memcpy(text + 1 + size, "\": ", 3);
    pdm_buf_put(w->buf, text, size + (w->indent ? 4 : 3));
    w->after_key = true;
}

/*
 * Types and attributes are interned and few are different, so that most of a compact file is text
 * written before. True if it was put; else the caller puts it and tells by keep_cached where it
 * began.
 */
static bool put_cached(writer *w, const void *object)
{
    const pdm_map_entry *entry =
        w->indent || w->no_memory ? NULL : pdm_map_find(&w->cached, object);

    prefix(w);
    w->after_key = true;
    if (!entry)
        return false;
    const uint64_t place = entry->value.num;
    pdm_buf_put(w->buf, w->cache.data + (place >> 16), (size_t)(place & 0xffff));
    w->after_key = false;
    return true;
}

static void keep_cached(writer *w, const void *object, size_t start)
{
    const size_t size = w->buf->size - start;

    if (w->indent || size > MAX_CACHED || !pdm_buf_ok(w->buf))
        return;
    pdm_map_entry *entry = pdm_map_put(&w->cached, object);
    if (!entry) {
        w->no_memory = true;
        return;
    }
    entry->value.num = (uint64_t)w->cache.size << 16 | size;
    pdm_buf_put(&w->cache, w->buf->data + start, size);
    w->no_memory = w->no_memory || !pdm_buf_ok(&w->cache);
}

static void put_string(writer *w, const char *text, size_t size)
{
    prefix(w);
    pdm_buf_json_string(w->buf, text, size);
}

static void put_cstr(writer *w, const char *text)
{
    put_string(w, text, strlen(text));
}

static void put_int(writer *w, int64_t value)
{
    prefix(w);
    pdm_buf_i64(w->buf, value);
}

static void put_bool(writer *w, bool value)
{
    prefix(w);
    pdm_buf_puts(w->buf, value ? "true" : "false");
}

static void put_double(writer *w, double value)
{
    prefix(w);
    pdm_buf_double(w->buf, value);
}

/* ---- types ----------------------------------------------------------------------------------- */

static void put_dims(writer *w, const int64_t *dims, size_t rank)
{
    begin(w, '[');
    for (size_t i = 0; i < rank; i++)
        put_int(w, dims[i]);
    end(w, ']');
}

static void put_lod(writer *w, pdm_ir_type type)
{
    begin(w, '[');
    for (uint32_t i = 0; i < type->num_lod; i++) {
        begin(w, '[');
        for (size_t k = 0; k < type->lod[i][0]; k++)
            put_int(w, (int64_t)type->lod[i][k + 1]);
        end(w, ']');
    }
    end(w, ']');
}

static void put_element(writer *w, pdm_dtype dtype)
{
    begin(w, '{');
    key(w, "#");
    put_cstr(w, pdm_dtype_tag(dtype));
    end(w, '}');
}

static const char *type_tag(pdm_ir_type type)
{
    if (!type)
        return "NULL";
    switch (type->kind) {
    case PDM_IR_ELEMENT:
        return pdm_dtype_tag(type->dtype);
    case PDM_IR_DENSE_TENSOR:
        return "0.t_dtensor";
    case PDM_IR_SELECTED_ROWS:
        return "1.t_selected_rows";
    case PDM_IR_TENSOR_ARRAY:
        return "1.t_dense_tensor_array";
    case PDM_IR_SPARSE_COO:
        return "1.t_sparse_coo_tensor";
    case PDM_IR_SPARSE_CSR:
        return "1.t_sparse_csr_tensor";
    case PDM_IR_VECTOR:
        return "0.t_vec";
    case PDM_IR_STACK:
        return "2.t_stack";
    case PDM_IR_INLET:
        return "2.t_inlet";
    case PDM_IR_OUTLET:
        return "2.t_outlet";
    }
    return "NULL";
}

static void put_type(writer *w, pdm_ir_type type);

static void put_elements(writer *w, pdm_ir_type type)
{
    for (uint32_t i = 0; i < type->num_elements; i++)
        put_type(w, type->elements[i]);
}

static void put_type_data(writer *w, pdm_ir_type type)
{
    if (type->kind != PDM_IR_VECTOR) {
        put_element(w, type->dtype);
        put_dims(w, type->dims, type->rank);
        if (type->kind == PDM_IR_SPARSE_COO)
            put_dims(w, type->non_zero_dims, type->non_zero_rank);
        put_cstr(w, type->layout);
    }
    if (type->kind == PDM_IR_DENSE_TENSOR || type->kind == PDM_IR_SELECTED_ROWS) {
        put_lod(w, type);
        put_int(w, (int64_t)type->offset);
    } else {
        put_elements(w, type);
    }
}

static void put_fresh_type(writer *w, pdm_ir_type type)
{
    begin(w, '{');
    key(w, "#");
    put_cstr(w, type_tag(type));
    if (type && ((type->kind >= PDM_IR_DENSE_TENSOR && type->kind <= PDM_IR_SPARSE_CSR) ||
                 type->kind == PDM_IR_VECTOR)) {
        key(w, "D");
        begin(w, '[');
        put_type_data(w, type);
        end(w, ']');
    }
    end(w, '}');
}

static void put_type(writer *w, pdm_ir_type type)
{
    if (!type) {
        put_fresh_type(w, type);
    } else if (!put_cached(w, type)) {
        const size_t start = w->buf->size;
        put_fresh_type(w, type);
        keep_cached(w, type, start);
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void put_float(writer *w, const char *tag, double value)
{
    put_cstr(w, tag);
    if (isfinite(value)) {
        key(w, "D");
        put_double(w, value);
    } else {
        /* Paddle writes "NaN" and cannot read it again; its readers know "NAN". */
        key(w, "VD");
        put_cstr(w, isnan(value) ? "NAN" : value > 0 ? "INF" : "-INF");
    }
}

static void put_number(writer *w, const char *tag, int64_t value)
{
    put_cstr(w, tag);
    key(w, "D");
    put_int(w, value);
}

static void put_truth(writer *w, bool value)
{
    put_cstr(w, "0.a_bool");
    key(w, "D");
    put_bool(w, value);
}

static void put_complex(writer *w, const char *tag, double re, double im)
{
    put_cstr(w, tag);
    key(w, "D");
    begin(w, '[');
    put_double(w, re);
    put_double(w, im);
    end(w, ']');
}

static void put_text(writer *w, const char *tag, const char *text, size_t size)
{
    put_cstr(w, tag);
    key(w, "D");
    put_string(w, text, size);
}

/* The framework saves a scalar attribute as the plain one of its element type. */
static void put_scalar(writer *w, pdm_ir_attr attr)
{
    if (attr->dtype == PDM_BOOL)
        put_truth(w, attr->u.b);
    else if (pdm_dtype_is_complex(attr->dtype))
        put_complex(w, attr->dtype == PDM_C64 ? "0.a_c64" : "0.a_c128", attr->u.c.re, attr->u.c.im);
    else if (pdm_dtype_is_float(attr->dtype))
        put_float(w, attr->dtype == PDM_F64 ? "0.a_f64" : "0.a_f32", attr->u.f);
    else
        put_number(w, attr->dtype == PDM_I32 ? "0.a_i32" : "0.a_i64", attr->u.i);
}

static void put_attr(writer *w, pdm_ir_attr attr);

static void put_array(writer *w, pdm_ir_attr attr)
{
    put_cstr(w, "0.a_array");
    key(w, "D");
    begin(w, '[');
    for (uint32_t i = 0; i < attr->count; i++)
        put_attr(w, attr->u.items[i]);
    end(w, ']');
}

static void put_place(writer *w, pdm_ir_attr attr)
{
    put_cstr(w, "1.a_place");
    key(w, "D");
    begin(w, '[');
    put_int(w, attr->u.place.kind);
    put_int(w, attr->u.place.device);
    put_cstr(w, attr->u.place.name);
    end(w, ']');
}

static void put_attr_data(writer *w, pdm_ir_attr attr)
{
    switch (attr->kind) {
    case PDM_IR_ATTR_NULL:
        put_cstr(w, "NULL");
        return;
    case PDM_IR_ATTR_BOOL:
        put_truth(w, attr->u.b);
        return;
    case PDM_IR_ATTR_I32:
        put_number(w, "0.a_i32", attr->u.i);
        return;
    case PDM_IR_ATTR_I64:
        put_number(w, "0.a_i64", attr->u.i);
        return;
    case PDM_IR_ATTR_INDEX:
        put_number(w, "0.a_index", attr->u.i);
        return;
    case PDM_IR_ATTR_F32:
        put_float(w, "0.a_f32", attr->u.f);
        return;
    case PDM_IR_ATTR_F64:
        put_float(w, "0.a_f64", attr->u.f);
        return;
    case PDM_IR_ATTR_C64:
        put_complex(w, "0.a_c64", attr->u.c.re, attr->u.c.im);
        return;
    case PDM_IR_ATTR_C128:
        put_complex(w, "0.a_c128", attr->u.c.re, attr->u.c.im);
        return;
    case PDM_IR_ATTR_STR:
        put_text(w, "0.a_str", attr->u.s.text, attr->u.s.size);
        return;
    case PDM_IR_ATTR_TENSOR_NAME:
        put_text(w, "0.a_tensorname", attr->u.s.text, attr->u.s.size);
        return;
    case PDM_IR_ATTR_LAYOUT:
        put_text(w, "1.a_layout", attr->u.s.text, attr->u.s.size);
        return;
    case PDM_IR_ATTR_DTYPE:
        put_text(w, "1.a_dtype", pdm_dtype_name(attr->dtype), strlen(pdm_dtype_name(attr->dtype)));
        return;
    case PDM_IR_ATTR_ARRAY:
        put_array(w, attr);
        return;
    case PDM_IR_ATTR_TYPE:
        put_cstr(w, "0.a_type");
        key(w, "D");
        put_type(w, attr->u.type);
        return;
    case PDM_IR_ATTR_INT_ARRAY:
        put_cstr(w, "1.a_intarray");
        key(w, "D");
        put_dims(w, attr->u.ints, attr->count);
        return;
    case PDM_IR_ATTR_SCALAR:
        put_scalar(w, attr);
        return;
    case PDM_IR_ATTR_PLACE:
        put_place(w, attr);
        return;
    }
}

static void put_attr(writer *w, pdm_ir_attr attr)
{
    if (put_cached(w, attr))
        return;
    const size_t start = w->buf->size;
    begin(w, '{');
    key(w, "#");
    put_attr_data(w, attr);
    end(w, '}');
    keep_cached(w, attr, start);
}

static void put_named_attr(writer *w, const pdm_ir_named_attr *named)
{
    begin(w, '{');
    key(w, "AT");
    put_attr(w, named->attr);
    key(w, "N");
    put_cstr(w, named->name);
    end(w, '}');
}

static int by_position(const void *a, const void *b)
{
    const pdm_ir_named_attr *x = *(const pdm_ir_named_attr *const *)a;
    const pdm_ir_named_attr *y = *(const pdm_ir_named_attr *const *)b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void sort_few(const pdm_ir_named_attr **attrs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const pdm_ir_named_attr *moving = attrs[i];
        size_t at = i;
        for (; at > 0 && by_position(&attrs[at - 1], &moving) > 0; at--)
            attrs[at] = attrs[at - 1];
        attrs[at] = moving;
    }
}

/* The attributes of op in the order in which they are written. */
static void sort_attrs(writer *w, const pdm_ir_op *op)
{
    bool sorted = true;

    w->order.n = 0;
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (!PDM_VEC_PUSH(&w->order, &op->attrs[i])) {
            w->no_memory = true;
            w->order.n = 0;
            return;
        }
        sorted = sorted && (i == 0 || op->attrs[i - 1].position < op->attrs[i].position);
    }
    if (!sorted && w->order.n <= 16)
        sort_few(w->order.v, w->order.n);
    else if (!sorted)
        qsort(w->order.v, w->order.n, sizeof *w->order.v, by_position);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void enter_id(writer *w, const pdm_ir_value *value, int64_t id)
{
    pdm_map_entry *entry = pdm_map_put(&w->ids, value);

    if (entry)
        entry->value.num = (uint64_t)id;
    else
        w->no_memory = true;
}

static void put_value(writer *w, const char *id_key, int64_t id, pdm_ir_type type)
{
    key(w, id_key);
    put_int(w, id);
    key(w, "TT");
    put_type(w, type);
}

static void put_result(writer *w, const pdm_ir_value *value)
{
    enter_id(w, value, w->next_result);
    begin(w, '{');
    put_value(w, "%", w->next_result++, value->type);
    end(w, '}');
}

static void put_operands(writer *w, const pdm_ir_op *op)
{
    key(w, "I");
    begin(w, '[');
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        const pdm_map_entry *entry = value ? pdm_map_find(&w->ids, value) : NULL;
        begin(w, '{');
        key(w, "%");
        put_int(w, entry ? (int64_t)entry->value.num : 0);
        end(w, '}');
    }
    end(w, ']');
}

/* Attributes in w->order: those of results, or all others. */
static void put_attrs(writer *w, const char *name, bool of_results)
{
    key(w, name);
    begin(w, '[');
    for (size_t i = 0; i < w->order.n; i++) {
        const char *attr = w->order.v[i]->name;
        if ((attr == w->result_attr_names[0] || attr == w->result_attr_names[1]) == of_results)
            put_named_attr(w, w->order.v[i]);
    }
    end(w, ']');
}

static void put_op_name(writer *w, const char *name)
{
    const char *dot = strchr(name, '.');

    prefix(w);
    pdm_buf_putc(w->buf, '"');
    for (size_t i = 0; dot && i < PDM_IR_JSON_NUM_DIALECTS; i++) {
        const char *dialect = pdm_ir_json_dialects[i].dialect;
        if (strlen(dialect) == (size_t)(dot - name) && !memcmp(dialect, name, (size_t)(dot - name)))
            pdm_buf_puts(w->buf, pdm_ir_json_dialects[i].number);
    }
    pdm_buf_puts(w->buf, dot ? dot : name);
    pdm_buf_putc(w->buf, '"');
}

static void put_block(writer *w, const pdm_ir_block *block);

static void put_region(writer *w, const pdm_ir_region *region)
{
    begin(w, '{');
    key(w, "#");
    prefix(w);
    pdm_buf_puts(w->buf, "\"region_");
    pdm_buf_i64(w->buf, w->num_regions++);
    pdm_buf_putc(w->buf, '"');
    key(w, "blocks");
    begin(w, '[');
    for (const pdm_ir_block *block = region->first; block; block = block->next)
        put_block(w, block);
    end(w, ']');
    end(w, '}');
}

/* A flag of a parameter: a bool, or an array of one. */
static bool param_flag(const pdm_ir_op *op, const char *name, bool fallback)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, name);

    if (attr && attr->kind == PDM_IR_ATTR_ARRAY && attr->count == 1)
        attr = attr->u.items[0];
    return attr && attr->kind == PDM_IR_ATTR_BOOL ? attr->u.b : fallback;
}

static bool is_param_part(const char *name)
{
    for (size_t i = 0; i < 3; i++) {
        if (!strcmp(name, pdm_ir_json_param_flags[i]) ||
            !strcmp(name, pdm_ir_json_param_result_flags[i]))
            return true;
    }
    return !strcmp(name, "parameter_name");
}

static bool same_names(const pdm_ir_op *a, const pdm_ir_op *b)
{
    if (a->num_attrs != b->num_attrs)
        return false;
    for (uint32_t i = 0; i < a->num_attrs; i++) {
        if (a->attrs[i].name != b->attrs[i].name)
            return false;
    }
    return true;
}

/* Whether a parameter has attributes beyond its own; the parameters of a program are all alike. */
static bool has_param_extras(writer *w, const pdm_ir_op *op)
{
    if (w->plain_param && same_names(op, w->plain_param))
        return false;
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        if (!is_param_part(op->attrs[i].name))
            return true;
    }
    w->plain_param = op;
    return false;
}

/* Attributes of a parameter beyond its own: QA holds the quantisation's, DA all others. */
static void put_param_extras(writer *w, const char *name, bool any, bool quantisation)
{
    key(w, name);
    begin(w, '[');
    for (size_t i = 0; any && i < w->order.n; i++) {
        const pdm_ir_named_attr *named = w->order.v[i];
        if (!is_param_part(named->name) && !strcmp(named->name, "struct_name") == quantisation)
            put_named_attr(w, named);
    }
    end(w, ']');
}

static void put_param(writer *w, const pdm_ir_op *op)
{
    const pdm_ir_attr name = pdm_ir_op_attr(op, "parameter_name");
    const bool extras = has_param_extras(w, op);

    put_cstr(w, "p");
    key(w, "A");
    begin(w, '[');
    for (size_t i = 0; i < 3; i++)
        put_int(w, param_flag(op, pdm_ir_json_param_flags[i], i == 1));
    if (name && name->kind == PDM_IR_ATTR_STR)
        put_string(w, name->u.s.text, name->u.s.size);
    else
        put_cstr(w, "");
    end(w, ']');
    put_param_extras(w, "DA", extras, false);
    key(w, "O");
    put_result(w, pdm_ir_op_result(op, 0));
    if (w->result_attrs) {
        key(w, "OA");
        begin(w, '[');
        for (size_t i = 0; i < 3; i++)
            put_int(w, param_flag(op, pdm_ir_json_param_result_flags[i], i != 1));
        end(w, ']');
    }
    put_param_extras(w, "QA", extras, true);
}

static void put_plain_op(writer *w, const pdm_ir_op *op)
{
    put_op_name(w, pdm_ir_op_name(op));
    put_attrs(w, "A", false);
    put_operands(w, op);
    key(w, "O");
    begin(w, '[');
    for (uint32_t i = 0; i < op->num_results; i++)
        put_result(w, pdm_ir_op_result(op, i));
    end(w, ']');
    if (w->result_attrs)
        put_attrs(w, "OA", true);
    if (op->num_regions) {
        key(w, "regions");
        begin(w, '[');
        for (uint32_t i = 0; i < op->num_regions; i++)
            put_region(w, pdm_ir_op_region(op, i));
        end(w, ']');
    }
}

static bool is_param(const pdm_ir_op *op)
{
    return op->num_results == 1 && PDM_IR_IS(op, builtin, parameter);
}

static void put_op(writer *w, const pdm_ir_op *op)
{
    sort_attrs(w, op);
    begin(w, '{');
    key(w, "#");
    if (is_param(op))
        put_param(w, op);
    else
        put_plain_op(w, op);
    end(w, '}');
    if (w->buf->size >= FLUSH_AT)
        flush(w);
}

static void put_block(writer *w, const pdm_ir_block *block)
{
    begin(w, '{');
    key(w, "#");
    prefix(w);
    pdm_buf_puts(w->buf, "\"block_");
    pdm_buf_i64(w->buf, w->num_blocks++);
    pdm_buf_putc(w->buf, '"');
    key(w, "args");
    begin(w, '[');
    for (uint32_t i = 0; i < block->num_args; i++) {
        const pdm_ir_value *arg = pdm_ir_block_arg(block, i);
        enter_id(w, arg, w->next_arg);
        begin(w, '{');
        put_value(w, "#", w->next_arg--, arg->type);
        end(w, '}');
    }
    end(w, ']');
    key(w, "ops");
    begin(w, '[');
    for (const pdm_ir_op *op = block->first; op && !w->no_memory; op = op->next)
        put_op(w, op);
    end(w, ']');
    end(w, '}');
}

static void put_program(writer *w, const pdm_ir_module *module)
{
    begin(w, '{');
    key(w, "base_code");
    begin(w, '{');
    key(w, "magic");
    put_cstr(w, "pir");
    key(w, "trainable");
    put_bool(w, module->trainable);
    key(w, "version");
    put_int(w, module->version);
    end(w, '}');
    key(w, "program");
    begin(w, '{');
    key(w, "regions");
    begin(w, '[');
    put_region(w, module->block->region);
    end(w, ']');
    end(w, '}');
    end(w, '}');
}

/* ---- entry points ---------------------------------------------------------------------------- */

static pdm_status write_program(const pdm_ir_module *module, const pdm_ir_json_layout *layout,
                                pdm_buf *buf, pdm_out *out, pdm_diag_sink *sink)
{
    writer w = {.buf = buf, .out = out, .next_result = 1, .next_arg = -1, .empty = true};

    PDM_TRY(pdm_ir_json_check(module, sink));
    pdm_buf_init(&w.cache);
    w.indent = layout ? layout->indent : 0;
    w.result_attrs = module->trainable;
    w.result_attr_names[0] = pdm_ir_str(module->context, pdm_ir_json_result_attrs[0]);
    w.result_attr_names[1] = pdm_ir_str(module->context, pdm_ir_json_result_attrs[1]);
    w.no_memory = !w.result_attr_names[0] || !w.result_attr_names[1];
    if (!w.no_memory)
        put_program(&w, module);
    flush(&w);
    pdm_map_deinit(&w.ids);
    pdm_map_deinit(&w.cached);
    pdm_buf_deinit(&w.cache);
    PDM_VEC_FREE(&w.order);
    return w.no_memory || !pdm_buf_ok(buf) ? PDM_NOMEM : PDM_OK;
}

pdm_status pdm_ir_json_write(const pdm_ir_module *module, const pdm_ir_json_layout *layout,
                             pdm_out *out, pdm_diag_sink *sink)
{
    pdm_buf buf;

    pdm_buf_init(&buf);
    const pdm_status status = write_program(module, layout, &buf, out, sink);
    pdm_buf_deinit(&buf);
    return status;
}

pdm_status pdm_ir_json_print(const pdm_ir_module *module, const pdm_ir_json_layout *layout,
                             pdm_buf *buf, pdm_diag_sink *sink)
{
    return write_program(module, layout, buf, NULL, sink);
}
