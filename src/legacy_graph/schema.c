#include "legacy_graph/schema.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

typedef struct row {
    const char *type, *inputs, *outputs, *attrs;
} row;

/* Sorted by type. */
static const row rows[] = {
#define PDM_LG_SCHEMA(type, inputs, outputs, attrs) {type, inputs, outputs, attrs},
#include "legacy_graph/op_schema.def"
#undef PDM_LG_SCHEMA
};

enum { NUM_ROWS = sizeof rows / sizeof *rows };

struct pdm_lg_schemas {
    pdm_arena arena;
    locale_t c_locale; /* numbers in rows have a point, whatever the host's locale says */
    const pdm_lg_schema *parsed[NUM_ROWS];
};

static const row *find_row(const char *type)
{
    size_t low = 0, high = NUM_ROWS;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(type, rows[middle].type);
        if (order == 0)
            return &rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool pdm_lg_schema_exists(const char *type)
{
    return find_row(type) != NULL;
}

pdm_status pdm_lg_schemas_create(pdm_lg_schemas **out_schemas)
{
    pdm_lg_schemas *schemas = calloc(1, sizeof *schemas);

    if (!schemas)
        return PDM_NOMEM;
    schemas->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (schemas->c_locale == (locale_t)0) {
        free(schemas);
        return PDM_NOMEM;
    }
    pdm_arena_init(&schemas->arena);
    *out_schemas = schemas;
    return PDM_OK;
}

void pdm_lg_schemas_destroy(pdm_lg_schemas *schemas)
{
    if (!schemas)
        return;
    pdm_arena_deinit(&schemas->arena);
    freelocale(schemas->c_locale);
    free(schemas);
}

/* ---- default values -------------------------------------------------------------------------- */

/* Rows are our own, so a row that does not parse is a fault of the library: PDM_INTERNAL. */
typedef struct parser {
    pdm_arena *arena;
    const char *at, *end;
} parser;

static bool skip(parser *p, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static pdm_status parse_int(parser *p, int64_t low, int64_t high, int64_t *out_value)
{
    char *end;

    errno = 0;
    long long value = strtoll(p->at, &end, 10);
    if (errno || end == p->at || end > p->end || value < low || value > high)
        return PDM_INTERNAL;
    p->at = end;
    *out_value = value;
    return PDM_OK;
}

static pdm_status parse_double(parser *p, double *out_value)
{
    char *end;
    double value;

    if (skip(p, "Infinity")) {
        value = HUGE_VAL;
    } else if (skip(p, "-Infinity")) {
        value = -HUGE_VAL;
    } else if (skip(p, "NaN")) {
        value = NAN;
    } else {
        value = strtod(p->at, &end);
        if (end == p->at || end > p->end)
            return PDM_INTERNAL;
        p->at = end;
    }
    *out_value = value;
    return PDM_OK;
}

static pdm_status parse_bool(parser *p, bool *out_value)
{
    if (skip(p, "true"))
        *out_value = true;
    else if (skip(p, "false"))
        *out_value = false;
    else
        return PDM_INTERNAL;
    return PDM_OK;
}

/* The character after a backslash; the number of bytes put to out, 0: broken. */
static size_t unescape(parser *p, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    unsigned code = 0;

    if (p->at >= p->end)
        return 0;
    const char *known = memchr(from, *p->at, sizeof from - 1);
    if (known) {
        p->at++;
        *out = to[known - from];
        return 1;
    }
    if (*p->at != 'u' || p->end - p->at < 5)
        return 0;
    for (int i = 1; i <= 4; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *digit = memchr(digits, p->at[i], 32);
        if (!digit)
            return 0;
        code = code * 16 + (unsigned)(digit - digits) % 16;
    }
    p->at += 5;
    return pdm_utf8_encode(code, out);
}

static pdm_status parse_string(parser *p, const char **out_value)
{
    char *text = pdm_arena_alloc(p->arena, (size_t)(p->end - p->at) + 4), *to = text;

    if (!text)
        return PDM_NOMEM;
    if (!skip(p, "\""))
        return PDM_INTERNAL;
    while (p->at < p->end && *p->at != '"') {
        if (*p->at != '\\') {
            *to++ = *p->at++;
            continue;
        }
        p->at++;
        size_t n = unescape(p, to);
        if (n == 0)
            return PDM_INTERNAL;
        to += n;
    }
    *to = '\0';
    *out_value = text;
    return skip(p, "\"") ? PDM_OK : PDM_INTERNAL;
}

static pdm_status parse_scalar(parser *p, pdm_lg_scalar *out_value)
{
    pdm_lg_scalar value = {.type = PDM_LG_SCALAR_I64};

    if (p->at < p->end && (*p->at == 't' || *p->at == 'f')) {
        value.type = PDM_LG_SCALAR_BOOL;
        PDM_TRY(parse_bool(p, &value.b));
    } else if (strcspn(p->at, ".eIN") < strcspn(p->at, ", ]")) {
        value.type = PDM_LG_SCALAR_F64;
        PDM_TRY(parse_double(p, &value.r));
    } else {
        PDM_TRY(parse_int(p, INT64_MIN, INT64_MAX, &value.i));
    }
    *out_value = value;
    return PDM_OK;
}

/* One element of a list (or the value itself) of the element type, into place. */
static pdm_status parse_element(parser *p, pdm_lg_attr_type type, void *place)
{
    int64_t integer;
    double real;

    switch (type) {
    case PDM_LG_INT:
        PDM_TRY(parse_int(p, INT32_MIN, INT32_MAX, &integer));
        *(int32_t *)place = (int32_t)integer;
        return PDM_OK;
    case PDM_LG_LONG:
        return parse_int(p, INT64_MIN, INT64_MAX, place);
    case PDM_LG_FLOAT:
        PDM_TRY(parse_double(p, &real));
        *(float *)place = (float)real;
        return PDM_OK;
    case PDM_LG_FLOAT64:
        return parse_double(p, place);
    case PDM_LG_BOOLEAN:
        return parse_bool(p, place);
    case PDM_LG_STRING:
    case PDM_LG_VAR:
        return parse_string(p, place);
    case PDM_LG_SCALAR:
        return parse_scalar(p, place);
    case PDM_LG_BLOCK:
    case PDM_LG_INTS:
    case PDM_LG_FLOATS:
    case PDM_LG_STRINGS:
    case PDM_LG_BOOLEANS:
    case PDM_LG_BLOCKS:
    case PDM_LG_LONGS:
    case PDM_LG_FLOAT64S:
    case PDM_LG_VARS:
    case PDM_LG_SCALARS:
        break;
    }
    return PDM_INTERNAL;
}

/* Upper bound of the elements of the list at p: separators outside do no harm. */
static size_t count_elements(const parser *p)
{
    size_t n = 1;

    for (const char *at = p->at; at < p->end; at++)
        n += *at == ',';
    return n;
}

static pdm_status parse_list(parser *p, pdm_lg_attr_type type, size_t size, size_t *out_count,
                             const void **out_list)
{
    char *list = pdm_arena_calloc(p->arena, count_elements(p), size);
    size_t n = 0;

    if (!list)
        return PDM_NOMEM;
    if (!skip(p, "["))
        return PDM_INTERNAL;
    while (!skip(p, "]")) {
        if (n && !skip(p, ","))
            return PDM_INTERNAL;
        PDM_TRY(parse_element(p, type, list + n++ * size));
    }
    *out_count = n;
    *out_list = list;
    return PDM_OK;
}

static pdm_status parse_value(parser *p, pdm_lg_attr *attr)
{
    const void *list = NULL;

    switch (attr->type) {
    case PDM_LG_INT:
    case PDM_LG_FLOAT:
    case PDM_LG_STRING:
    case PDM_LG_BOOLEAN:
    case PDM_LG_LONG:
    case PDM_LG_VAR:
    case PDM_LG_FLOAT64:
    case PDM_LG_SCALAR:
        return parse_element(p, attr->type, &attr->u);
    case PDM_LG_INTS:
        PDM_TRY(parse_list(p, PDM_LG_INT, sizeof(int32_t), &attr->count, &list));
        attr->u.ints = list;
        return PDM_OK;
    case PDM_LG_FLOATS:
        PDM_TRY(parse_list(p, PDM_LG_FLOAT, sizeof(float), &attr->count, &list));
        attr->u.floats = list;
        return PDM_OK;
    case PDM_LG_STRINGS:
    case PDM_LG_VARS:
        PDM_TRY(parse_list(p, PDM_LG_STRING, sizeof(char *), &attr->count, &list));
        attr->u.strings = list;
        return PDM_OK;
    case PDM_LG_BOOLEANS:
        PDM_TRY(parse_list(p, PDM_LG_BOOLEAN, sizeof(bool), &attr->count, &list));
        attr->u.bools = list;
        return PDM_OK;
    case PDM_LG_LONGS:
        PDM_TRY(parse_list(p, PDM_LG_LONG, sizeof(int64_t), &attr->count, &list));
        attr->u.longs = list;
        return PDM_OK;
    case PDM_LG_FLOAT64S:
        PDM_TRY(parse_list(p, PDM_LG_FLOAT64, sizeof(double), &attr->count, &list));
        attr->u.doubles = list;
        return PDM_OK;
    case PDM_LG_SCALARS:
        PDM_TRY(parse_list(p, PDM_LG_SCALAR, sizeof(pdm_lg_scalar), &attr->count, &list));
        attr->u.scalars = list;
        return PDM_OK;
    case PDM_LG_BLOCKS:
        PDM_TRY(parse_list(p, PDM_LG_INT, sizeof(int32_t), &attr->count, &list));
        attr->u.ints = list;
        return PDM_OK;
    case PDM_LG_BLOCK: /* a block can only default to none */
        attr->u.block = -1;
        return skip(p, "null") ? PDM_OK : PDM_INTERNAL;
    }
    return PDM_INTERNAL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static size_t count_words(const char *text)
{
    size_t n = 0;

    for (size_t i = 0; text[i]; i++)
        n += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    return n;
}

/* The next word of *text as a parser; false: none left. */
static bool next_word(const char **text, parser *word)
{
    const char *start = *text + strspn(*text, " ");
    size_t n = strcspn(start, " ");

    word->at = start;
    word->end = start + n;
    *text = start + n;
    return n > 0;
}

static pdm_status parse_slots(pdm_arena *arena, const char *text,
                              const pdm_lg_slot_desc **out_slots, size_t *out_count)
{
    size_t n = count_words(text), i = 0;
    pdm_lg_slot_desc *slots = pdm_arena_calloc(arena, n, sizeof *slots);
    parser word = {.arena = arena};

    if (!slots)
        return PDM_NOMEM;
    for (; i < n && next_word(&text, &word); i++) {
        size_t len = strcspn(word.at, " *?~");
        slots[i].name = pdm_arena_strndup(arena, word.at, len);
        if (!slots[i].name)
            return PDM_NOMEM;
        word.at += len;
        slots[i].list = skip(&word, "*");
        slots[i].optional = skip(&word, "?");
        slots[i].intermediate = skip(&word, "~");
        if (word.at != word.end)
            return PDM_INTERNAL;
    }
    *out_slots = slots;
    *out_count = n;
    return PDM_OK;
}

static int type_number(const char *name, size_t len)
{
    for (int i = 0; i < PDM_LG_NUM_ATTR_TYPES; i++) {
        const char *known = pdm_lg_attr_type_name(i);
        if (strlen(known) == len && memcmp(known, name, len) == 0)
            return i;
    }
    return -1;
}

static pdm_status parse_attr(parser *word, pdm_lg_attr_desc *desc)
{
    size_t len = strcspn(word->at, ": ");
    pdm_lg_attr *fallback;

    desc->name = pdm_arena_strndup(word->arena, word->at, len);
    if (!desc->name)
        return PDM_NOMEM;
    word->at += len;
    if (!skip(word, ":"))
        return PDM_INTERNAL;
    len = strcspn(word->at, "= ");
    int type = type_number(word->at, len);
    if (type < 0)
        return PDM_INTERNAL;
    desc->type = (pdm_lg_attr_type)type;
    word->at += len;
    if (word->at == word->end)
        return PDM_OK;

    fallback = pdm_arena_calloc(word->arena, 1, sizeof *fallback);
    if (!fallback)
        return PDM_NOMEM;
    fallback->name = desc->name;
    fallback->type = desc->type;
    if (!skip(word, "="))
        return PDM_INTERNAL;
    PDM_TRY(parse_value(word, fallback));
    desc->fallback = fallback;
    return word->at == word->end ? PDM_OK : PDM_INTERNAL;
}

static int attr_order(const void *a, const void *b)
{
    const pdm_lg_attr_desc *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static pdm_status parse_attrs(pdm_arena *arena, const char *text, pdm_lg_schema *schema)
{
    size_t n = count_words(text), i = 0;
    pdm_lg_attr_desc *attrs = pdm_arena_calloc(arena, n, sizeof *attrs);
    parser word = {.arena = arena};

    if (!attrs)
        return PDM_NOMEM;
    for (; i < n && next_word(&text, &word); i++)
        PDM_TRY(parse_attr(&word, &attrs[i]));
    qsort(attrs, n, sizeof *attrs, attr_order);
    schema->attrs = attrs;
    schema->num_attrs = n;
    return PDM_OK;
}

static pdm_status parse_row(pdm_arena *arena, const row *from, const pdm_lg_schema **out_schema)
{
    pdm_lg_schema *schema = pdm_arena_calloc(arena, 1, sizeof *schema);

    if (!schema)
        return PDM_NOMEM;
    schema->type = from->type;
    PDM_TRY(parse_slots(arena, from->inputs, &schema->inputs, &schema->num_inputs));
    PDM_TRY(parse_slots(arena, from->outputs, &schema->outputs, &schema->num_outputs));
    PDM_TRY(parse_attrs(arena, from->attrs, schema));
    *out_schema = schema;
    return PDM_OK;
}

pdm_status pdm_lg_schema_get(pdm_lg_schemas *schemas, const char *type,
                             const pdm_lg_schema **out_schema)
{
    const row *from = find_row(type);
    const pdm_lg_schema **known;

    if (!from) {
        *out_schema = NULL;
        return PDM_OK;
    }
    known = &schemas->parsed[from - rows];
    if (!*known) {
        locale_t before = uselocale(schemas->c_locale);
        pdm_status status = parse_row(&schemas->arena, from, known);
        uselocale(before);
        PDM_TRY(status);
    }
    *out_schema = *known;
    return PDM_OK;
}

const pdm_lg_attr_desc *pdm_lg_schema_attr(const pdm_lg_schema *schema, const char *name)
{
    size_t low = 0, high = schema->num_attrs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, schema->attrs[middle].name);
        if (order == 0)
            return &schema->attrs[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
