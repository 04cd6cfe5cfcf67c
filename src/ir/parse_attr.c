/* Types and attributes from text. Lists are gathered on the scratch stacks of the cursor. */
#include <stdlib.h>
#include <string.h>

#include "ir/pir_json.h"
#include "ir/text_lex.h"
#include "ir/text_names.h"

typedef pdm_ir_text_lex lexer;
#define fail pdm_ir_text_fail
#define want pdm_ir_text_want
#define take pdm_ir_text_take

static bool same(const char *word, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(word, name, size) == 0;
}

static pdm_status deeper(lexer *lex)
{
    if (++lex->nesting > PDM_IR_MAX_NESTING)
        return pdm_ir_text_fail_at(lex, lex->at, PDM_D_LIMIT, "nested more than %d deep",
                                   PDM_IR_MAX_NESTING);
    return PDM_OK;
}

/* Integers up to the closing bracket, pushed. */
static pdm_status int_list(lexer *lex, int64_t min)
{
    if (take(lex, "]"))
        return PDM_OK;
    do {
        int64_t value = 0;
        PDM_TRY(pdm_ir_text_int(lex, min, INT64_MAX, &value));
        if (!PDM_VEC_PUSH(&lex->ints, value))
            return PDM_NOMEM;
    } while (take(lex, ","));
    return want(lex, "]");
}

/* ---- types ----------------------------------------------------------------------------------- */

static pdm_status parse_dtype(lexer *lex, pdm_dtype *out)
{
    const char *word;
    size_t size;

    pdm_ir_text_word(lex, &word, &size);
    *out = size ? pdm_dtype_from_text(word, size) : PDM_UNDEFINED;
    if (*out == PDM_UNDEFINED && !same(word, size, pdm_dtype_text(PDM_UNDEFINED)))
        return pdm_ir_text_fail_at(lex, (size_t)(word - lex->text), PDM_D_TEXT_SYNTAX,
                                   "an element type is expected");
    return PDM_OK;
}

/* Types up to the closing bracket, pushed. */
static pdm_status type_list(lexer *lex)
{
    if (take(lex, "]"))
        return PDM_OK;
    do {
        pdm_ir_type type = NULL;
        PDM_TRY(pdm_ir_text_type(lex, &type));
        if (!PDM_VEC_PUSH(&lex->types, type))
            return PDM_NOMEM;
    } while (take(lex, ","));
    return want(lex, "]");
}

/* Where in the scratch stacks the parts of a type are. */
typedef struct shape_draft {
    struct pdm_ir_type_s fields;
    size_t dims, non_zero, lod, types; /* first position; the LoD is a run of {n, n offsets} */
    size_t lod_end;
} shape_draft;

static pdm_status parse_lod(lexer *lex, shape_draft *d)
{
    PDM_TRY(want(lex, "["));
    d->lod = lex->ints.n;
    if (!take(lex, "]")) {
        do {
            const size_t at = lex->ints.n;
            if (!PDM_VEC_PUSH(&lex->ints, 0))
                return PDM_NOMEM;
            PDM_TRY(want(lex, "["));
            PDM_TRY(int_list(lex, 0));
            lex->ints.v[at] = (int64_t)(lex->ints.n - at - 1);
            d->fields.num_lod++;
        } while (take(lex, ","));
        PDM_TRY(want(lex, "]"));
    }
    d->lod_end = lex->ints.n;
    return PDM_OK;
}

static bool has_part(const shape_draft *d, const char *word, size_t size)
{
    const bool coo = d->fields.kind == PDM_IR_SPARSE_COO, csr = d->fields.kind == PDM_IR_SPARSE_CSR;
    const bool dense =
        d->fields.kind == PDM_IR_DENSE_TENSOR || d->fields.kind == PDM_IR_SELECTED_ROWS;

    return (dense && (same(word, size, "lod") || same(word, size, "offset"))) ||
           (coo && same(word, size, "nnz")) || ((coo || csr) && same(word, size, "elements"));
}

/* key=value after the element type. */
static pdm_status parse_part(lexer *lex, shape_draft *d, const char *word, size_t size)
{
    if (!has_part(d, word, size))
        return pdm_ir_text_fail_at(lex, (size_t)(word - lex->text), PDM_D_TEXT_SYNTAX,
                                   "this type has no such part");
    if (same(word, size, "lod")) {
        if (d->fields.num_lod)
            return fail(lex, "the LoD was given before");
        return parse_lod(lex, d);
    }
    if (same(word, size, "offset")) {
        int64_t offset = 0;
        PDM_TRY(pdm_ir_text_int(lex, 0, INT64_MAX, &offset));
        d->fields.offset = (uint64_t)offset;
        return PDM_OK;
    }
    PDM_TRY(want(lex, "["));
    if (same(word, size, "nnz")) {
        d->non_zero = lex->ints.n;
        PDM_TRY(int_list(lex, INT64_MIN));
        d->fields.non_zero_rank = (uint32_t)(lex->ints.n - d->non_zero);
        return PDM_OK;
    }
    d->types = lex->types.n;
    PDM_TRY(type_list(lex));
    d->fields.num_elements = (uint32_t)(lex->types.n - d->types);
    return PDM_OK;
}

static pdm_status parse_parts(lexer *lex, shape_draft *d)
{
    while (take(lex, ",")) {
        const char *word;
        size_t size;
        pdm_ir_text_skip(lex);
        if (lex->at < lex->size && lex->text[lex->at] == '"') {
            PDM_TRY(pdm_ir_text_name(lex, &d->fields.layout));
            continue;
        }
        pdm_ir_text_word(lex, &word, &size);
        if (take(lex, "=")) {
            PDM_TRY(parse_part(lex, d, word, size));
        } else if (size) {
            d->fields.layout = pdm_ir_strn(lex->context, word, size);
            if (!d->fields.layout)
                return PDM_NOMEM;
        } else {
            return fail(lex, "a layout or a part of the type is expected");
        }
    }
    return want(lex, ">");
}

static pdm_status intern_shape(lexer *lex, shape_draft *d, pdm_ir_type *out)
{
    const size_t **lod = NULL;
    size_t at = d->lod;

    if (d->fields.num_lod) {
        lod = malloc(d->fields.num_lod * sizeof *lod);
        if (!lod)
            return PDM_NOMEM;
    }
    for (uint32_t i = 0; i < d->fields.num_lod; i++) {
        /* int64_t and size_t are the same words, and the offsets are not negative. */
        lod[i] = (const size_t *)(const void *)(lex->ints.v + at);
        at += (size_t)lex->ints.v[at] + 1;
    }
    d->fields.lod = lod;
    d->fields.dims = PDM_IR_FROM(lex->ints, d->dims);
    d->fields.non_zero_dims = PDM_IR_FROM(lex->ints, d->non_zero);
    d->fields.elements = PDM_IR_FROM(lex->types, d->types);
    *out = pdm_ir_type_intern(lex->context, &d->fields);
    free(lod);
    return *out ? PDM_OK : PDM_NOMEM;
}

_Static_assert(sizeof(int64_t) == sizeof(size_t), "LoD offsets are parsed as 64-bit integers");

static bool at_dim(lexer *lex)
{
    pdm_ir_text_skip(lex);
    const char c = lex->at < lex->size ? lex->text[lex->at] : '\0';
    return c == '-' || (c >= '0' && c <= '9');
}

/* <2x3xf32, ...> */
static pdm_status parse_shaped(lexer *lex, pdm_ir_type_kind kind, pdm_ir_type *out)
{
    shape_draft d = {.fields = {.kind = kind}, .dims = lex->ints.n};
    const size_t ints = lex->ints.n, types = lex->types.n;

    PDM_TRY(want(lex, "<"));
    while (at_dim(lex)) {
        int64_t dim = 0;
        PDM_TRY(pdm_ir_text_int(lex, INT64_MIN, INT64_MAX, &dim));
        if (!PDM_VEC_PUSH(&lex->ints, dim))
            return PDM_NOMEM;
        PDM_TRY(want(lex, "x"));
    }
    d.fields.rank = (uint32_t)(lex->ints.n - ints);
    PDM_TRY(parse_dtype(lex, &d.fields.dtype));
    PDM_TRY(parse_parts(lex, &d));
    PDM_TRY(intern_shape(lex, &d, out));
    lex->ints.n = ints;
    lex->types.n = types;
    return PDM_OK;
}

static pdm_status parse_vector(lexer *lex, pdm_ir_type *out)
{
    const size_t base = lex->types.n;

    PDM_TRY(want(lex, "["));
    PDM_TRY(type_list(lex));
    *out = pdm_ir_type_vector(lex->context, PDM_IR_FROM(lex->types, base), lex->types.n - base);
    lex->types.n = base;
    return *out ? PDM_OK : PDM_NOMEM;
}

static pdm_status parse_named_type(lexer *lex, const char *word, size_t size, pdm_ir_type *out)
{
    for (int kind = PDM_IR_DENSE_TENSOR; kind <= PDM_IR_OUTLET; kind++) {
        if (!same(word, size, pdm_ir_text_types[kind]))
            continue;
        if (kind == PDM_IR_VECTOR)
            return parse_vector(lex, out);
        if (kind < PDM_IR_STACK)
            return parse_shaped(lex, (pdm_ir_type_kind)kind, out);
        *out = pdm_ir_type_intern(lex->context,
                                  &(struct pdm_ir_type_s){.kind = (pdm_ir_type_kind)kind});
        return *out ? PDM_OK : PDM_NOMEM;
    }
    const pdm_dtype dtype = size ? pdm_dtype_from_text(word, size) : PDM_UNDEFINED;
    if (dtype == PDM_UNDEFINED && !same(word, size, pdm_dtype_text(PDM_UNDEFINED)))
        return pdm_ir_text_fail_at(lex, (size_t)(word - lex->text), PDM_D_TEXT_SYNTAX,
                                   "a type is expected");
    *out = pdm_ir_type_element(lex->context, dtype);
    return *out ? PDM_OK : PDM_NOMEM;
}

pdm_status pdm_ir_text_type(lexer *lex, pdm_ir_type *out)
{
    const char *word;
    size_t size;

    PDM_TRY(deeper(lex));
    if (take(lex, "<<NULL TYPE>>")) {
        *out = NULL;
    } else {
        pdm_ir_text_word(lex, &word, &size);
        PDM_TRY(parse_named_type(lex, word, size, out));
    }
    lex->nesting--;
    return PDM_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_status make(lexer *lex, const struct pdm_ir_attr_s *fields, pdm_ir_attr *out)
{
    *out = pdm_ir_attr_intern(lex->context, fields);
    return *out ? PDM_OK : PDM_NOMEM;
}

/* A number as an attribute of kind I64, INDEX, F32 or F64. */
static pdm_status number_attr(lexer *lex, pdm_ir_attr_kind kind, pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {.kind = kind};
    pdm_ir_text_number number = {0};

    if (kind == PDM_IR_ATTR_F64 || kind == PDM_IR_ATTR_F32) {
        PDM_TRY(pdm_ir_text_number_of(lex, &number));
        fields.u.f = number.f;
    } else {
        PDM_TRY(pdm_ir_text_int(lex, INT64_MIN, INT64_MAX, &fields.u.i));
    }
    return make(lex, &fields, out);
}

/* 7 is i32, 7.0 is f32. */
static pdm_status bare_number(lexer *lex, pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {0};
    pdm_ir_text_number number = {0};
    const size_t start = lex->at;

    PDM_TRY(pdm_ir_text_number_of(lex, &number));
    if (number.is_int && (number.i < INT32_MIN || number.i > INT32_MAX))
        return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX,
                                   "the integer needs 64 bits: write i64(...)");
    fields.kind = number.is_int ? PDM_IR_ATTR_I32 : PDM_IR_ATTR_F32;
    if (number.is_int)
        fields.u.i = number.i;
    else
        fields.u.f = number.f;
    return make(lex, &fields, out);
}

/* Items up to the closing bracket: of kind, or of any where kind is ARRAY. */
static pdm_status array_attr(lexer *lex, pdm_ir_attr_kind kind, pdm_ir_attr *out)
{
    const size_t base = lex->attrs.n;

    if (!take(lex, "]")) {
        do {
            pdm_ir_attr item = NULL;
            PDM_TRY(kind == PDM_IR_ATTR_ARRAY ? pdm_ir_text_attr(lex, &item)
                                              : number_attr(lex, kind, &item));
            if (!PDM_VEC_PUSH(&lex->attrs, item))
                return PDM_NOMEM;
        } while (take(lex, ","));
        PDM_TRY(want(lex, "]"));
    }
    *out = pdm_ir_attr_array(lex->context, PDM_IR_FROM(lex->attrs, base), lex->attrs.n - base);
    lex->attrs.n = base;
    return *out ? PDM_OK : PDM_NOMEM;
}

static pdm_status ints_attr(lexer *lex, pdm_ir_attr *out)
{
    const size_t base = lex->ints.n;

    PDM_TRY(int_list(lex, INT64_MIN));
    *out = pdm_ir_attr_int_array(lex->context, PDM_IR_FROM(lex->ints, base), lex->ints.n - base);
    lex->ints.n = base;
    return *out ? PDM_OK : PDM_NOMEM;
}

static pdm_status complex_pair(lexer *lex, struct pdm_ir_attr_s *fields)
{
    pdm_ir_text_number re = {0}, im = {0};

    PDM_TRY(pdm_ir_text_number_of(lex, &re));
    PDM_TRY(want(lex, ","));
    PDM_TRY(pdm_ir_text_number_of(lex, &im));
    fields->u.c.re = re.f;
    fields->u.c.im = im.f;
    return PDM_OK;
}

static pdm_status scalar_attr(lexer *lex, pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {.kind = PDM_IR_ATTR_SCALAR};
    pdm_ir_text_number number = {0};

    PDM_TRY(parse_dtype(lex, &fields.dtype));
    PDM_TRY(want(lex, ">"));
    PDM_TRY(want(lex, "("));
    if (fields.dtype == PDM_BOOL) {
        fields.u.b = take(lex, "true");
        if (!fields.u.b)
            PDM_TRY(want(lex, "false"));
    } else if (pdm_dtype_is_complex(fields.dtype)) {
        PDM_TRY(complex_pair(lex, &fields));
    } else if (pdm_dtype_is_float(fields.dtype)) {
        PDM_TRY(pdm_ir_text_number_of(lex, &number));
        fields.u.f = number.f;
    } else {
        PDM_TRY(pdm_ir_text_int(lex, INT64_MIN, INT64_MAX, &fields.u.i));
    }
    PDM_TRY(want(lex, ")"));
    return make(lex, &fields, out);
}

static pdm_status place_attr(lexer *lex, pdm_ir_attr *out)
{
    int64_t kind = 0, device = 0;
    const char *word, *name = "";
    size_t size;

    pdm_ir_text_word(lex, &word, &size);
    while (size && kind < PDM_IR_TEXT_NUM_PLACES &&
           !(pdm_ir_text_places[kind] && same(word, size, pdm_ir_text_places[kind])))
        kind++;
    if (kind == PDM_IR_TEXT_NUM_PLACES)
        return pdm_ir_text_fail_at(lex, (size_t)(word - lex->text), PDM_D_TEXT_SYNTAX,
                                   "unknown place");
    if (!size)
        PDM_TRY(pdm_ir_text_int(lex, 0, INT32_MAX, &kind));
    if (take(lex, ":"))
        PDM_TRY(pdm_ir_text_int(lex, INT32_MIN, INT32_MAX, &device));
    if (take(lex, ",")) {
        PDM_TRY(pdm_ir_text_string(lex));
        name = pdm_ir_strn(lex->context, lex->string.data, lex->string.size);
        if (!name)
            return PDM_NOMEM;
    }
    PDM_TRY(want(lex, ")"));
    *out = pdm_ir_attr_place(lex->context, (int32_t)kind, (int32_t)device, name);
    return *out ? PDM_OK : PDM_NOMEM;
}

static pdm_status type_attr(lexer *lex, pdm_ir_attr *out)
{
    pdm_ir_type type = NULL;

    PDM_TRY(pdm_ir_text_type(lex, &type));
    *out = pdm_ir_attr_type(lex->context, type);
    return *out ? want(lex, ")") : PDM_NOMEM;
}

static pdm_status text_attr(lexer *lex, pdm_ir_attr_kind kind, pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {.kind = kind};

    PDM_TRY(pdm_ir_text_string(lex));
    fields.u.s.text = lex->string.data;
    fields.u.s.size = lex->string.size;
    return make(lex, &fields, out);
}

static pdm_status complex_attr(lexer *lex, pdm_ir_attr_kind kind, pdm_ir_attr *out)
{
    struct pdm_ir_attr_s fields = {.kind = kind};

    PDM_TRY(complex_pair(lex, &fields));
    PDM_TRY(want(lex, ")"));
    return make(lex, &fields, out);
}

static pdm_status number_call(lexer *lex, pdm_ir_attr_kind kind, pdm_ir_attr *out)
{
    PDM_TRY(number_attr(lex, kind, out));
    return want(lex, ")");
}

static pdm_status layout_attr(lexer *lex, pdm_ir_attr *out)
{
    const char *layout = NULL;

    PDM_TRY(pdm_ir_text_name(lex, &layout));
    *out = pdm_ir_attr_layout(lex->context, layout);
    return *out ? want(lex, ")") : PDM_NOMEM;
}

static pdm_status tensor_name_attr(lexer *lex, pdm_ir_attr *out)
{
    PDM_TRY(text_attr(lex, PDM_IR_ATTR_TENSOR_NAME, out));
    return want(lex, ")");
}

static pdm_status bool_attr(lexer *lex, bool value, pdm_ir_attr *out)
{
    *out = pdm_ir_attr_bool(lex->context, value);
    return *out ? PDM_OK : PDM_NOMEM;
}

/* word( ... ), word[ ... ] or word< ... > */
static pdm_status bracketed_attr(lexer *lex, const char *word, size_t size, pdm_ir_attr *out)
{
    if (take(lex, "[")) {
        if (same(word, size, "ints"))
            return ints_attr(lex, out);
        if (same(word, size, "i64"))
            return array_attr(lex, PDM_IR_ATTR_I64, out);
        if (same(word, size, "f64"))
            return array_attr(lex, PDM_IR_ATTR_F64, out);
    } else if (same(word, size, "scalar") && take(lex, "<")) {
        return scalar_attr(lex, out);
    } else if (take(lex, "(")) {
        if (same(word, size, "i64"))
            return number_call(lex, PDM_IR_ATTR_I64, out);
        if (same(word, size, "index"))
            return number_call(lex, PDM_IR_ATTR_INDEX, out);
        if (same(word, size, "f64"))
            return number_call(lex, PDM_IR_ATTR_F64, out);
        if (same(word, size, "c64"))
            return complex_attr(lex, PDM_IR_ATTR_C64, out);
        if (same(word, size, "c128"))
            return complex_attr(lex, PDM_IR_ATTR_C128, out);
        if (same(word, size, "tensor_name"))
            return tensor_name_attr(lex, out);
        if (same(word, size, "type"))
            return type_attr(lex, out);
        if (same(word, size, "layout"))
            return layout_attr(lex, out);
        if (same(word, size, "Place"))
            return place_attr(lex, out);
    }
    return pdm_ir_text_fail_at(lex, (size_t)(word - lex->text), PDM_D_TEXT_SYNTAX,
                               "an attribute is expected");
}

static pdm_status word_attr(lexer *lex, const char *word, size_t size, pdm_ir_attr *out)
{
    char name[32] = "";

    if (same(word, size, "true") || same(word, size, "false"))
        return bool_attr(lex, word[0] == 't', out);
    if (same(word, size, "null")) {
        *out = pdm_ir_attr_null(lex->context);
        return *out ? PDM_OK : PDM_NOMEM;
    }
    if (size < sizeof name)
        memcpy(name, word, size);
    const pdm_dtype dtype = pdm_dtype_from_name(name);
    if (dtype == PDM_UNDEFINED && !same(word, size, "Undefined"))
        return bracketed_attr(lex, word, size, out);
    /* "index" is an element type and the name of a kind of attribute. */
    if (dtype == PDM_INDEX && lex->at < lex->size && lex->text[lex->at] == '(')
        return bracketed_attr(lex, word, size, out);
    *out = pdm_ir_attr_dtype(lex->context, dtype);
    return *out ? PDM_OK : PDM_NOMEM;
}

static bool at_number(lexer *lex)
{
    pdm_ir_text_skip(lex);
    if (lex->at == lex->size)
        return false;
    const char *p = lex->text + lex->at;
    const size_t left = lex->size - lex->at;
    return *p == '-' || (*p >= '0' && *p <= '9') ||
           (left >= 3 && (memcmp(p, "inf", 3) == 0 || memcmp(p, "nan", 3) == 0) &&
            (left == 3 || !pdm_ir_text_word_char(p[3])));
}

pdm_status pdm_ir_text_attr(lexer *lex, pdm_ir_attr *out)
{
    const char *word;
    size_t size;

    PDM_TRY(deeper(lex));
    if (at_number(lex)) {
        PDM_TRY(bare_number(lex, out));
    } else if (take(lex, "[")) {
        PDM_TRY(array_attr(lex, PDM_IR_ATTR_ARRAY, out));
    } else if (lex->at < lex->size && lex->text[lex->at] == '"') {
        PDM_TRY(text_attr(lex, PDM_IR_ATTR_STR, out));
    } else {
        pdm_ir_text_word(lex, &word, &size);
        PDM_TRY(word_attr(lex, word, size, out));
    }
    lex->nesting--;
    return PDM_OK;
}
