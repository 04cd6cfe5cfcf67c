/*
 * The parts of a PIR JSON file that cJSON parses (see pir_json_read.h); the only user of cJSON in
 * this folder. In its trees `valueint` of each item is its node in the scan's index: that gives
 * places, and the source text of integers.
 */
#include "ir/pir_json_read.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/pir_json.h"
#include "ir/pir_json_tags.h"

enum { MAX_PART_HEIGHT = 256 };

typedef pdm_ir_json_reader reader;
/* Shorter here, where nearly every line can fail. */
#define fail        pdm_ir_json_fail
#define missing_key pdm_ir_json_missing

/* ---- parts parsed by cJSON ------------------------------------------------------------------- */

/* Give item and all below it their nodes. Recursion is bounded by MAX_PART_HEIGHT. */
static void number_items(cJSON *item, uint32_t *next)
{
    if (item->string)
        ++*next; /* the key's node */
    item->valueint = (int)(*next)++;
    for (cJSON *child = item->child; child; child = child->next)
        number_items(child, next);
}

/* The value at a node. NULL when out of memory: the text was checked before. */
static pdm_status parse_part(reader *r, uint32_t node, cJSON **out)
{
    const pdm_ir_json_node *n = &r->index.nodes[node];
    uint32_t next = node;

    if (n->height > MAX_PART_HEIGHT)
        return fail(r, node, PDM_D_LIMIT, "values are nested more than %d deep inside of an op",
                    MAX_PART_HEIGHT);
    if (r->index.count > INT32_MAX)
        return fail(r, node, PDM_D_LIMIT, "the file holds too many values");
    cJSON *item = cJSON_ParseWithLength(r->index.text + n->offset, n->end - n->offset);
    if (!item)
        return PDM_NOMEM;
    number_items(item, &next);
    *out = item;
    return PDM_OK;
}

static uint32_t node_of(const cJSON *item)
{
    return (uint32_t)item->valueint;
}

/* Members of an object by name; unknown keys are ignored, absent ones NULL, doubled ones an error.
 */
static pdm_status get_fields(reader *r, const cJSON *object, const char *const *names, size_t count,
                             const cJSON **out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = NULL;
    if (!cJSON_IsObject(object))
        return fail(r, node_of(object), PDM_D_JSON_FORM, "an object is expected here");
    for (const cJSON *child = object->child; child; child = child->next) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(child->string, names[i]) != 0)
                continue;
            if (out[i])
                return fail(r, node_of(child), PDM_D_JSON_FORM, "key \"%s\" occurs twice",
                            names[i]);
            out[i] = child;
        }
    }
    return PDM_OK;
}

static pdm_status get_int(reader *r, const cJSON *item, int64_t min, int64_t max, int64_t *out)
{
    if (!pdm_ir_json_node_int(r, node_of(item), out))
        return fail(r, node_of(item), PDM_D_JSON_FORM, "a 64-bit integer is expected");
    if (*out < min || *out > max)
        return fail(r, node_of(item), PDM_D_JSON_FORM, "%lld is out of range", (long long)*out);
    return PDM_OK;
}

static pdm_status get_double(reader *r, const cJSON *item, double *out)
{
    if (!cJSON_IsNumber(item))
        return fail(r, node_of(item), PDM_D_JSON_FORM, "a number is expected");
    if (!isfinite(item->valuedouble))
        return fail(r, node_of(item), PDM_D_JSON_FORM, "the number is out of range");
    *out = item->valuedouble;
    return PDM_OK;
}

static pdm_status get_text(reader *r, const cJSON *item, const char **out)
{
    if (!cJSON_IsString(item))
        return fail(r, node_of(item), PDM_D_JSON_FORM, "a string is expected");
    *out = item->valuestring;
    return PDM_OK;
}

static pdm_status get_bool(reader *r, const cJSON *item, bool *out)
{
    if (!cJSON_IsBool(item))
        return fail(r, node_of(item), PDM_D_JSON_FORM, "true or false is expected");
    *out = cJSON_IsTrue(item);
    return PDM_OK;
}

/* The length of an array that must have between min and max items. */
static pdm_status get_array(reader *r, const cJSON *item, size_t min, size_t max, size_t *out_count)
{
    size_t count = 0;

    if (!cJSON_IsArray(item))
        return fail(r, node_of(item), PDM_D_JSON_FORM, "an array is expected");
    for (const cJSON *child = item->child; child; child = child->next)
        count++;
    if (count < min || count > max)
        return fail(r, node_of(item), PDM_D_JSON_FORM, "%zu items where %zu are expected", count,
                    min);
    *out_count = count;
    return PDM_OK;
}

static pdm_status get_ints(reader *r, const cJSON *array, int64_t **out, size_t *out_count)
{
    int64_t *values, *p;

    PDM_TRY(get_array(r, array, 0, INT32_MAX, out_count));
    values = p = malloc((*out_count + 1) * sizeof *values);
    if (!values)
        return PDM_NOMEM;
    for (const cJSON *item = array->child; item; item = item->next) {
        const pdm_status status = get_int(r, item, INT64_MIN, INT64_MAX, p++);
        if (status != PDM_OK) {
            free(values);
            return status;
        }
    }
    *out = values;
    return PDM_OK;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *tag;
    pdm_ir_type_kind kind;
    size_t parts; /* length of D; 0: any */
} type_tags[] = {
    {"0.t_dtensor", PDM_IR_DENSE_TENSOR, 5},
    {"0.t_vec", PDM_IR_VECTOR, 0},
    {"1.t_dense_tensor_array", PDM_IR_TENSOR_ARRAY, 3},
    {"1.t_selected_rows", PDM_IR_SELECTED_ROWS, 5},
    {"1.t_sparse_coo_tensor", PDM_IR_SPARSE_COO, 6},
    {"1.t_sparse_csr_tensor", PDM_IR_SPARSE_CSR, 6},
    {"2.t_stack", PDM_IR_STACK, 0},
    {"2.t_inlet", PDM_IR_INLET, 0},
    {"2.t_outlet", PDM_IR_OUTLET, 0},
};

static pdm_status get_layout(reader *r, const cJSON *item, const char **out)
{
    PDM_TRY(get_text(r, item, out));
    if (!pdm_ir_json_known_layout(*out))
        return fail(r, node_of(item), PDM_D_JSON_TAG, "unknown layout \"%.100s\"", *out);
    return PDM_OK;
}

static pdm_dtype dtype_of_tag(const char *tag)
{
    for (int i = PDM_UNDEFINED + 1; i < PDM_DTYPE_COUNT; i++) {
        const char *known = pdm_dtype_tag((pdm_dtype)i);
        if (known && strcmp(known, tag) == 0)
            return (pdm_dtype)i;
    }
    return PDM_UNDEFINED;
}

/* {"#": tag, "D": data}: the tag, and data or NULL. */
static pdm_status get_tagged(reader *r, const cJSON *item, const char **out_tag,
                             const cJSON **out_data)
{
    static const char *const names[] = {"#", "D"};
    const cJSON *found[2];

    PDM_TRY(get_fields(r, item, names, 2, found));
    if (!found[0])
        return missing_key(r, node_of(item), "#");
    PDM_TRY(get_text(r, found[0], out_tag));
    *out_data = found[1];
    return PDM_OK;
}

static pdm_status read_element(reader *r, const cJSON *item, pdm_dtype *out)
{
    const char *tag = NULL;
    const cJSON *data;

    PDM_TRY(get_tagged(r, item, &tag, &data));
    *out = dtype_of_tag(tag);
    if (*out == PDM_UNDEFINED)
        return fail(r, node_of(item), PDM_D_JSON_TAG, "unknown element type tag \"%.100s\"", tag);
    return PDM_OK;
}

static pdm_status read_type(reader *r, const cJSON *item, pdm_ir_type *out);

/* Types of items from first on, malloc'ed. */
static pdm_status read_types(reader *r, const cJSON *first, pdm_ir_type **out, uint32_t *out_count)
{
    PDM_VEC(pdm_ir_type) types = {0};
    pdm_status status = PDM_OK;

    for (const cJSON *item = first; item && status == PDM_OK; item = item->next) {
        pdm_ir_type type = NULL;
        status = read_type(r, item, &type);
        if (status == PDM_OK && !PDM_VEC_PUSH(&types, type))
            status = PDM_NOMEM;
    }
    if (status != PDM_OK) {
        free(types.v);
        return status;
    }
    *out = types.v;
    *out_count = (uint32_t)types.n;
    return PDM_OK;
}

/* LoD levels as one block: pointers, then {n, n offsets} each. */
static pdm_status read_lod(reader *r, const cJSON *array, size_t ***out, uint32_t *out_count)
{
    size_t levels, words = 0, count;

    PDM_TRY(get_array(r, array, 0, INT32_MAX, &levels));
    for (const cJSON *level = array->child; level; level = level->next) {
        PDM_TRY(get_array(r, level, 0, INT32_MAX, &count));
        words += count + 1;
    }
    size_t **lod = malloc((levels + 1) * sizeof *lod + words * sizeof **lod);
    if (!lod)
        return PDM_NOMEM;
    size_t *word = (size_t *)(lod + levels + 1), i = 0;
    for (const cJSON *level = array->child; level; level = level->next) {
        lod[i] = word++;
        for (const cJSON *item = level->child; item; item = item->next) {
            int64_t value;
            const pdm_status status = get_int(r, item, 0, INT64_MAX, &value);
            if (status != PDM_OK) {
                free(lod);
                return status;
            }
            *word++ = (size_t)value;
        }
        lod[i][0] = (size_t)(word - lod[i]) - 1;
        i++;
    }
    *out = lod;
    *out_count = (uint32_t)levels;
    return PDM_OK;
}

/* What a type is made of while it is read. */
typedef struct type_draft {
    struct pdm_ir_type_s fields;
    int64_t *dims, *non_zero_dims;
    size_t **lod;
    pdm_ir_type *elements;
} type_draft;

/* Paddle itself writes dims below -1 (products of unknown ones): they are kept as they are. */
static pdm_status read_dims(reader *r, const cJSON *array, int64_t **out_dims, uint32_t *out_rank)
{
    size_t rank;

    PDM_TRY(get_ints(r, array, out_dims, &rank));
    *out_rank = (uint32_t)rank;
    return PDM_OK;
}

/* [elem, dims, (non-zero dims,) layout, (lod, offset | types)] */
static pdm_status read_shaped(reader *r, const cJSON *part, type_draft *t)
{
    struct pdm_ir_type_s *f = &t->fields;
    int64_t offset = 0;

    PDM_TRY(read_element(r, part, &f->dtype));
    part = part->next;
    PDM_TRY(read_dims(r, part, &t->dims, &f->rank));
    part = part->next;
    if (f->kind == PDM_IR_SPARSE_COO) {
        PDM_TRY(read_dims(r, part, &t->non_zero_dims, &f->non_zero_rank));
        part = part->next;
    }
    PDM_TRY(get_layout(r, part, &f->layout));
    part = part->next;
    if (f->kind == PDM_IR_DENSE_TENSOR || f->kind == PDM_IR_SELECTED_ROWS) {
        PDM_TRY(read_lod(r, part, &t->lod, &f->num_lod));
        PDM_TRY(get_int(r, part->next, 0, INT64_MAX, &offset));
        f->offset = (uint64_t)offset;
    } else {
        PDM_TRY(read_types(r, part, &t->elements, &f->num_elements));
    }
    return PDM_OK;
}

static pdm_status read_type_data(reader *r, const cJSON *item, const cJSON *data, size_t parts,
                                 type_draft *t)
{
    size_t count = 0;

    if (t->fields.kind >= PDM_IR_STACK)
        return PDM_OK;
    if (!data)
        return missing_key(r, node_of(item), "D");
    PDM_TRY(get_array(r, data, parts, parts ? parts : INT32_MAX, &count));
    if (t->fields.kind == PDM_IR_VECTOR)
        return read_types(r, data->child, &t->elements, &t->fields.num_elements);
    return read_shaped(r, data->child, t);
}

static pdm_status read_compound(reader *r, const cJSON *item, const cJSON *data, size_t row,
                                pdm_ir_type *out)
{
    type_draft t = {.fields = {.kind = type_tags[row].kind}};
    pdm_status status = read_type_data(r, item, data, type_tags[row].parts, &t);

    if (status == PDM_OK) {
        t.fields.dims = t.dims;
        t.fields.non_zero_dims = t.non_zero_dims;
        t.fields.lod = (const size_t *const *)t.lod;
        t.fields.elements = t.elements;
        *out = pdm_ir_type_intern(r->context, &t.fields);
        status = *out ? PDM_OK : PDM_NOMEM;
    }
    free(t.dims);
    free(t.non_zero_dims);
    free(t.lod);
    free(t.elements);
    return status;
}

static pdm_status read_any_type(reader *r, const cJSON *item, pdm_ir_type *out)
{
    const char *tag = NULL;
    const cJSON *data;

    PDM_TRY(get_tagged(r, item, &tag, &data));
    if (strcmp(tag, "NULL") == 0) {
        *out = NULL;
        return PDM_OK;
    }
    for (size_t i = 0; i < sizeof type_tags / sizeof type_tags[0]; i++) {
        if (strcmp(tag, type_tags[i].tag) == 0)
            return read_compound(r, item, data, i, out);
    }
    const pdm_dtype dtype = dtype_of_tag(tag);
    if (dtype == PDM_UNDEFINED)
        return fail(r, node_of(item), PDM_D_JSON_TAG, "unknown type tag \"%.100s\"", tag);
    *out = pdm_ir_type_element(r->context, dtype);
    return *out ? PDM_OK : PDM_NOMEM;
}

static pdm_status too_deep(reader *r, const cJSON *item)
{
    return fail(r, node_of(item), PDM_D_LIMIT, "nested more than %d deep", PDM_IR_MAX_NESTING);
}

static pdm_status read_type(reader *r, const cJSON *item, pdm_ir_type *out)
{
    if (r->nesting == PDM_IR_MAX_NESTING)
        return too_deep(r, item);
    r->nesting++;
    const pdm_status status = read_any_type(r, item, out);
    r->nesting--;
    return status;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_status read_attr(reader *r, const cJSON *item, pdm_ir_attr *out);

static pdm_status got(pdm_ir_attr attr, pdm_ir_attr *out)
{
    if (!attr)
        return PDM_NOMEM;
    *out = attr;
    return PDM_OK;
}

static pdm_status make(reader *r, struct pdm_ir_attr_s fields, pdm_ir_attr *out)
{
    return got(pdm_ir_attr_intern(r->context, &fields), out);
}

static pdm_status read_bool_attr(reader *r, const cJSON *data, pdm_ir_attr *out)
{
    bool value = false;

    PDM_TRY(get_bool(r, data, &value));
    return got(pdm_ir_attr_bool(r->context, value), out);
}

static pdm_status read_int_attr(reader *r, const cJSON *data, pdm_ir_attr_kind kind,
                                pdm_ir_attr *out)
{
    const bool narrow = kind == PDM_IR_ATTR_I32;
    struct pdm_ir_attr_s fields = {.kind = kind};

    PDM_TRY(get_int(r, data, narrow ? INT32_MIN : INT64_MIN, narrow ? INT32_MAX : INT64_MAX,
                    &fields.u.i));
    return make(r, fields, out);
}

static pdm_status read_text_attr(reader *r, const cJSON *data, pdm_ir_attr_kind kind,
                                 pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {.kind = kind};

    if (kind == PDM_IR_ATTR_LAYOUT)
        PDM_TRY(get_layout(r, data, &fields.u.s.text));
    else
        PDM_TRY(get_text(r, data, &fields.u.s.text));
    fields.u.s.size = strlen(fields.u.s.text);
    return make(r, fields, out);
}

static pdm_status read_complex_attr(reader *r, const cJSON *data, pdm_ir_attr_kind kind,
                                    pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {.kind = kind};
    size_t count = 0;

    PDM_TRY(get_array(r, data, 2, 2, &count));
    PDM_TRY(get_double(r, data->child, &fields.u.c.re));
    PDM_TRY(get_double(r, data->child->next, &fields.u.c.im));
    return make(r, fields, out);
}

static pdm_status read_array_attr(reader *r, const cJSON *data, pdm_ir_attr *out)
{
    PDM_VEC(pdm_ir_attr) items = {0};
    size_t count = 0;

    PDM_TRY(get_array(r, data, 0, INT32_MAX, &count));
    pdm_status status = PDM_OK;
    for (const cJSON *item = data->child; item && status == PDM_OK; item = item->next) {
        pdm_ir_attr attr = NULL;
        status = read_attr(r, item, &attr);
        if (status == PDM_OK && !PDM_VEC_PUSH(&items, attr))
            status = PDM_NOMEM;
    }
    if (status == PDM_OK)
        status = got(pdm_ir_attr_array(r->context, items.v, items.n), out);
    free(items.v);
    return status;
}

static pdm_status read_int_array_attr(reader *r, const cJSON *data, pdm_ir_attr *out)
{
    int64_t *ints;
    size_t count = 0;

    PDM_TRY(get_ints(r, data, &ints, &count));
    const pdm_status status = got(pdm_ir_attr_int_array(r->context, ints, count), out);
    free(ints);
    return status;
}

static pdm_status read_dtype(reader *r, const cJSON *item, pdm_dtype *out)
{
    const char *name = NULL;

    PDM_TRY(get_text(r, item, &name));
    *out = pdm_dtype_from_name(name);
    if ((*out == PDM_UNDEFINED && strcmp(name, pdm_dtype_name(PDM_UNDEFINED)) != 0) ||
        *out == PDM_INDEX)
        return fail(r, node_of(item), PDM_D_JSON_TAG, "unknown element type \"%.100s\"", name);
    return PDM_OK;
}

static pdm_status read_place_attr(reader *r, const cJSON *data, pdm_ir_attr *out)
{
    int64_t kind = 0, device = 0;
    const char *name = NULL;
    size_t count = 0;

    PDM_TRY(get_array(r, data, 3, 3, &count));
    PDM_TRY(get_int(r, data->child, 0, INT32_MAX, &kind));
    PDM_TRY(get_int(r, data->child->next, INT32_MIN, INT32_MAX, &device));
    PDM_TRY(get_text(r, data->child->next->next, &name));
    return got(pdm_ir_attr_place(r->context, (int32_t)kind, (int32_t)device, name), out);
}

static pdm_status read_type_attr(reader *r, const cJSON *data, pdm_ir_attr *out)
{
    pdm_ir_type type = NULL;

    PDM_TRY(read_type(r, data, &type));
    return got(pdm_ir_attr_type(r->context, type), out);
}

static pdm_status read_float_attr(reader *r, const cJSON *data, pdm_ir_attr_kind kind,
                                  pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {.kind = kind};

    PDM_TRY(get_double(r, data, &fields.u.f));
    return make(r, fields, out);
}

/* [dtype, value] or [dtype, re, im]: the plain attribute of that element type. */
static pdm_status read_scalar_attr(reader *r, const cJSON *data, pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {0};
    pdm_dtype dtype = PDM_UNDEFINED;
    size_t count = 0;

    PDM_TRY(get_array(r, data, 2, 3, &count));
    PDM_TRY(read_dtype(r, data->child, &dtype));
    const cJSON *value = data->child->next;
    if (pdm_dtype_is_complex(dtype) != (count == 3))
        return fail(r, node_of(data), PDM_D_JSON_FORM, "the scalar has %zu items", count);
    if (dtype == PDM_BOOL)
        return read_bool_attr(r, value, out);
    if (dtype == PDM_I32 || dtype == PDM_I64)
        return read_int_attr(r, value, dtype == PDM_I32 ? PDM_IR_ATTR_I32 : PDM_IR_ATTR_I64, out);
    if (dtype == PDM_F32 || dtype == PDM_F64)
        return read_float_attr(r, value, dtype == PDM_F32 ? PDM_IR_ATTR_F32 : PDM_IR_ATTR_F64, out);
    if (!pdm_dtype_is_complex(dtype))
        return fail(r, node_of(data), PDM_D_JSON_TAG, "a scalar of type %s", pdm_dtype_name(dtype));
    fields.kind = dtype == PDM_C64 ? PDM_IR_ATTR_C64 : PDM_IR_ATTR_C128;
    PDM_TRY(get_double(r, value, &fields.u.c.re));
    PDM_TRY(get_double(r, value->next, &fields.u.c.im));
    return make(r, fields, out);
}

static const struct {
    const char *tag;
    pdm_ir_attr_kind kind;
} attr_tags[] = {
    {"0.a_bool", PDM_IR_ATTR_BOOL},     {"0.a_i32", PDM_IR_ATTR_I32},
    {"0.a_f32", PDM_IR_ATTR_F32},       {"0.a_str", PDM_IR_ATTR_STR},
    {"0.a_array", PDM_IR_ATTR_ARRAY},   {"1.a_dtype", PDM_IR_ATTR_DTYPE},
    {"1.a_place", PDM_IR_ATTR_PLACE},   {"1.a_intarray", PDM_IR_ATTR_INT_ARRAY},
    {"0.a_i64", PDM_IR_ATTR_I64},       {"0.a_f64", PDM_IR_ATTR_F64},
    {"0.a_index", PDM_IR_ATTR_INDEX},   {"0.a_c64", PDM_IR_ATTR_C64},
    {"0.a_c128", PDM_IR_ATTR_C128},     {"0.a_tensorname", PDM_IR_ATTR_TENSOR_NAME},
    {"0.a_type", PDM_IR_ATTR_TYPE},     {"1.a_layout", PDM_IR_ATTR_LAYOUT},
    {"1.a_scalar", PDM_IR_ATTR_SCALAR}, {"NULL", PDM_IR_ATTR_NULL},
};

static pdm_status read_attr_data(reader *r, pdm_ir_attr_kind kind, const cJSON *data,
                                 pdm_ir_attr *out)
{
    switch (kind) {
    case PDM_IR_ATTR_NULL:
        return got(pdm_ir_attr_null(r->context), out);
    case PDM_IR_ATTR_BOOL:
        return read_bool_attr(r, data, out);
    case PDM_IR_ATTR_I32:
    case PDM_IR_ATTR_I64:
    case PDM_IR_ATTR_INDEX:
        return read_int_attr(r, data, kind, out);
    case PDM_IR_ATTR_F32:
    case PDM_IR_ATTR_F64:
        return read_float_attr(r, data, kind, out);
    case PDM_IR_ATTR_C64:
    case PDM_IR_ATTR_C128:
        return read_complex_attr(r, data, kind, out);
    case PDM_IR_ATTR_STR:
    case PDM_IR_ATTR_TENSOR_NAME:
    case PDM_IR_ATTR_LAYOUT:
        return read_text_attr(r, data, kind, out);
    case PDM_IR_ATTR_ARRAY:
        return read_array_attr(r, data, out);
    case PDM_IR_ATTR_TYPE:
        return read_type_attr(r, data, out);
    case PDM_IR_ATTR_INT_ARRAY:
        return read_int_array_attr(r, data, out);
    case PDM_IR_ATTR_SCALAR:
        return read_scalar_attr(r, data, out);
    case PDM_IR_ATTR_DTYPE: {
        pdm_dtype dtype = PDM_UNDEFINED;
        PDM_TRY(read_dtype(r, data, &dtype));
        return got(pdm_ir_attr_dtype(r->context, dtype), out);
    }
    case PDM_IR_ATTR_PLACE:
        return read_place_attr(r, data, out);
    }
    return PDM_INTERNAL;
}

/* Floats that are not finite have their name under the key VD. false: it is none that we know. */
static bool special_float(const cJSON *item, double *out)
{
    if (!cJSON_IsString(item))
        return false;
    if (strcmp(item->valuestring, "NAN") == 0 || strcmp(item->valuestring, "NaN") == 0)
        *out = (double)NAN;
    else if (strcmp(item->valuestring, "INF") == 0)
        *out = (double)INFINITY;
    else if (strcmp(item->valuestring, "-INF") == 0)
        *out = -(double)INFINITY;
    else
        return false;
    return true;
}

static pdm_status read_any_attr(reader *r, const cJSON *item, pdm_ir_attr *out)
{
    static const char *const names[] = {"#", "D", "VD"};
    const cJSON *found[3];
    const char *tag = NULL;
    struct pdm_ir_attr_s fields = {0};
    size_t i = 0;

    PDM_TRY(get_fields(r, item, names, 3, found));
    if (!found[0])
        return missing_key(r, node_of(item), "#");
    PDM_TRY(get_text(r, found[0], &tag));
    while (i < sizeof attr_tags / sizeof attr_tags[0] && strcmp(tag, attr_tags[i].tag) != 0)
        i++;
    if (i == sizeof attr_tags / sizeof attr_tags[0])
        return fail(r, node_of(item), PDM_D_JSON_TAG, "unknown attribute type \"%.100s\"", tag);
    fields.kind = attr_tags[i].kind;
    if (found[2] && (fields.kind == PDM_IR_ATTR_F32 || fields.kind == PDM_IR_ATTR_F64)) {
        if (special_float(found[2], &fields.u.f))
            return make(r, fields, out);
        if (!found[1])
            return fail(r, node_of(found[2]), PDM_D_JSON_FORM,
                        "\"INF\", \"-INF\" or \"NAN\" is expected");
    }
    if (!found[1] && fields.kind != PDM_IR_ATTR_NULL)
        return missing_key(r, node_of(item), "D");
    return read_attr_data(r, fields.kind, found[1], out);
}

static pdm_status read_attr(reader *r, const cJSON *item, pdm_ir_attr *out)
{
    if (r->nesting == PDM_IR_MAX_NESTING)
        return too_deep(r, item);
    r->nesting++;
    const pdm_status status = read_any_attr(r, item, out);
    r->nesting--;
    return status;
}

/* ---- parts of an op -------------------------------------------------------------------------- */

/* Read a part with fn and free the tree. */
static pdm_status with_part(reader *r, uint32_t node,
                            pdm_status (*fn)(reader *r, const cJSON *item))
{
    cJSON *item = NULL;

    PDM_TRY(parse_part(r, node, &item));
    const pdm_status status = fn(r, item);
    cJSON_Delete(item);
    return status;
}

pdm_status pdm_ir_json_node_string(reader *r, uint32_t node, const char **out)
{
    const pdm_ir_json_node *n = &r->index.nodes[node];
    const char *text = r->index.text + n->offset + 1;
    cJSON *item = NULL;

    if (n->kind != PDM_IR_JSON_STRING && n->kind != PDM_IR_JSON_KEY)
        return fail(r, node, PDM_D_JSON_FORM, "a string is expected");
    const size_t size = n->end - n->offset - 2;
    if (!memchr(text, '\\', size)) {
        *out = pdm_ir_strn(r->context, text, size);
        return *out ? PDM_OK : PDM_NOMEM;
    }
    PDM_TRY(parse_part(r, node, &item));
    *out = pdm_ir_str(r->context, item->valuestring);
    cJSON_Delete(item);
    return *out ? PDM_OK : PDM_NOMEM;
}

static pdm_status read_operand(reader *r, const cJSON *item)
{
    static const char *const names[] = {"%"};
    pdm_ir_json_id operand = {.node = node_of(item)};
    const cJSON *found[1];

    PDM_TRY(get_fields(r, item, names, 1, found));
    if (!found[0])
        return missing_key(r, node_of(item), "%");
    PDM_TRY(get_int(r, found[0], INT64_MIN, INT64_MAX, &operand.id));
    return PDM_VEC_PUSH(&r->operands, operand) ? PDM_OK : PDM_NOMEM;
}

static pdm_status read_value(reader *r, const cJSON *item, const char *id_key)
{
    const char *const names[] = {id_key, "TT"};
    pdm_ir_json_value value = {.node = node_of(item)};
    const cJSON *found[2];

    PDM_TRY(get_fields(r, item, names, 2, found));
    for (size_t i = 0; i < 2; i++) {
        if (!found[i])
            return missing_key(r, node_of(item), names[i]);
    }
    PDM_TRY(get_int(r, found[0], INT64_MIN, INT64_MAX, &value.id));
    PDM_TRY(read_type(r, found[1], &value.type));
    return PDM_VEC_PUSH(&r->results, value) ? PDM_OK : PDM_NOMEM;
}

static pdm_status read_result(reader *r, const cJSON *item)
{
    return read_value(r, item, "%");
}

static pdm_status read_arg(reader *r, const cJSON *item)
{
    return read_value(r, item, "#");
}

/* Every item of an array, also after one that is wrong. */
static pdm_status each_item(reader *r, const cJSON *array,
                            pdm_status (*fn)(reader *r, const cJSON *item))
{
    pdm_status worst = PDM_OK;
    size_t count = 0;

    PDM_TRY(get_array(r, array, 0, INT32_MAX, &count));
    for (const cJSON *item = array->child; item && worst != PDM_NOMEM; item = item->next) {
        const pdm_status status = fn(r, item);
        if (status != PDM_OK && worst != PDM_INVALID_MODEL)
            worst = status;
        r->part_index++;
    }
    return worst;
}

static pdm_status read_items(reader *r, uint32_t node, const char *part,
                             pdm_status (*fn)(reader *r, const cJSON *item))
{
    cJSON *item = NULL;

    PDM_TRY(parse_part(r, node, &item));
    r->part = part;
    r->part_index = 0;
    const pdm_status status = each_item(r, item, fn);
    r->part = NULL;
    cJSON_Delete(item);
    return status;
}

pdm_status pdm_ir_json_read_operands(reader *r, uint32_t node)
{
    return read_items(r, node, "operand", read_operand);
}

pdm_status pdm_ir_json_read_results(reader *r, uint32_t node)
{
    return read_items(r, node, "result", read_result);
}

pdm_status pdm_ir_json_read_args(reader *r, uint32_t node)
{
    return read_items(r, node, "argument", read_arg);
}

pdm_status pdm_ir_json_push_attr(reader *r, const char *name, pdm_ir_attr attr)
{
    const pdm_ir_named_attr named = {pdm_ir_str(r->context, name), attr, (uint32_t)r->attrs.n};

    return named.name && attr && PDM_VEC_PUSH(&r->attrs, named) ? PDM_OK : PDM_NOMEM;
}

static pdm_status read_named_attr(reader *r, const cJSON *item)
{
    static const char *const names[] = {"N", "AT"};
    const cJSON *found[2];
    const char *name = NULL;
    pdm_ir_attr attr = NULL;

    PDM_TRY(get_fields(r, item, names, 2, found));
    for (size_t i = 0; i < 2; i++) {
        if (!found[i])
            return missing_key(r, node_of(item), names[i]);
    }
    PDM_TRY(get_text(r, found[0], &name));
    r->attr_name = name;
    pdm_status status = read_attr(r, found[1], &attr);
    r->attr_name = NULL;
    /* A broken one is kept as the null attribute, so that it is not told to be missing as well. */
    if (status != PDM_OK && status != PDM_NOMEM)
        PDM_TRY(pdm_ir_json_push_attr(r, name, pdm_ir_attr_null(r->context)));
    return status == PDM_OK ? pdm_ir_json_push_attr(r, name, attr) : status;
}

pdm_status pdm_ir_json_read_attrs(reader *r, uint32_t node)
{
    return read_items(r, node, "attribute", read_named_attr);
}

pdm_status pdm_ir_json_read_param_result(reader *r, uint32_t node)
{
    return with_part(r, node, read_result);
}
