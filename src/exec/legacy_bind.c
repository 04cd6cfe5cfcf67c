/* Parsing legacy_bind.def. The form of a row is told at the top of that file. */
#include "exec/legacy_bind.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct raw_row {
    const char *type, *kernel, *operands, *attrs, *results;
} raw_row;

static const raw_row raw_rows[] = {
#define PDM_LEGACY_BIND(type, kernel, operands, attrs, results)                                    \
    {type, kernel, operands, attrs, results},
#include "exec/legacy_bind.def"
#undef PDM_LEGACY_BIND
};

typedef struct lod_row {
    const char *type, *rule;
} lod_row;

static const lod_row lod_rows[] = {
#define PDM_LEGACY_LOD(type, rule) {type, rule},
#include "exec/legacy_lod.def"
#undef PDM_LEGACY_LOD
};

static int by_type(const void *key, const void *row)
{
    return strcmp(key, ((const raw_row *)row)->type);
}

static int by_lod_type(const void *key, const void *row)
{
    return strcmp(key, ((const lod_row *)row)->type);
}

pdm_legacy_lod pdm_legacy_lod_get(const char *type)
{
    const lod_row *row =
        bsearch(type, lod_rows, sizeof lod_rows / sizeof *lod_rows, sizeof *lod_rows, by_lod_type);

    return row ? (pdm_legacy_lod){true, row->rule} : (pdm_legacy_lod){false, ""};
}

/* ---- words ----------------------------------------------------------------------------------- */

static size_t count_items(const char *text, char separator)
{
    size_t n = *text != '\0';

    for (; *text; text++)
        n += *text == separator;
    return n;
}

/* Cut the next item off *text at a separator, without the blanks around it. */
static char *next_item(pdm_arena *arena, const char **text, char separator)
{
    const char *p = *text;

    while (*p == ' ')
        p++;
    const char *end = strchr(p, separator);
    if (!end)
        end = p + strlen(p);
    *text = *end ? end + 1 : end;
    while (end > p && end[-1] == ' ')
        end--;
    return pdm_arena_strndup(arena, p, (size_t)(end - p));
}

static bool strip(char *word, char suffix)
{
    const size_t n = strlen(word);

    if (n < 2 || word[n - 1] != suffix)
        return false;
    word[n - 1] = '\0';
    return true;
}

static pdm_legacy_source source_of(char *word)
{
    if (!strcmp(word, "-"))
        return (pdm_legacy_source){PDM_LEGACY_NONE, NULL};
    if (*word == '=')
        return (pdm_legacy_source){PDM_LEGACY_CONST, word + 1};
    if (*word == '>')
        return (pdm_legacy_source){PDM_LEGACY_OUT, word + 1};
    if (strip(word, '*'))
        return (pdm_legacy_source){PDM_LEGACY_LIST, word};
    if (strip(word, '+'))
        return (pdm_legacy_source){PDM_LEGACY_SPREAD, word};
    return (pdm_legacy_source){PDM_LEGACY_VAR, word};
}

static bool parse_operands(pdm_arena *arena, const char *text, pdm_legacy_row *row)
{
    row->num_operands = count_items(text, ',');
    pdm_legacy_operand *operands = pdm_arena_calloc(arena, row->num_operands + 1, sizeof *operands);
    if (!operands)
        return false;
    row->operands = operands;
    for (size_t i = 0; i < row->num_operands; i++) {
        const char *item = next_item(arena, &text, ',');
        const size_t n = item ? count_items(item, '|') : 0;
        pdm_legacy_source *sources = pdm_arena_calloc(arena, n + 1, sizeof *sources);
        if (!item || !sources)
            return false;
        for (size_t k = 0; k < n; k++) {
            char *word = next_item(arena, &item, '|');
            if (!word)
                return false;
            sources[k] = source_of(word);
        }
        operands[i] = (pdm_legacy_operand){sources, n};
    }
    return true;
}

/* true, false, a text in single quotes, or an integer. */
static pdm_ir_attr literal_of(pdm_arena *arena, const char *text)
{
    struct pdm_ir_attr_s *attr = pdm_arena_calloc(arena, 1, sizeof *attr);

    if (!attr)
        return NULL;
    if (!strcmp(text, "true") || !strcmp(text, "false")) {
        attr->kind = PDM_IR_ATTR_BOOL;
        attr->u.b = *text == 't';
    } else if (*text == '\'') {
        attr->kind = PDM_IR_ATTR_STR;
        attr->u.s.size = strlen(text) - 2;
        attr->u.s.text = pdm_arena_strndup(arena, text + 1, attr->u.s.size);
        if (!attr->u.s.text)
            return NULL;
    } else {
        attr->kind = PDM_IR_ATTR_I64;
        attr->u.i = strtoll(text, NULL, 10);
    }
    return attr;
}

static bool parse_attrs(pdm_arena *arena, const char *text, pdm_legacy_row *row)
{
    row->num_renames = count_items(text, ' ');
    pdm_legacy_rename *renames = pdm_arena_calloc(arena, row->num_renames + 1, sizeof *renames);
    if (!renames)
        return false;
    row->renames = renames;
    for (size_t i = 0; i < row->num_renames; i++) {
        char *word = next_item(arena, &text, ' ');
        if (!word)
            return false;
        char *cut = strpbrk(word, "=:");
        if (!cut) {
            renames[i] = (pdm_legacy_rename){word, word, NULL};
            continue;
        }
        const bool literal = *cut == ':';
        *cut = '\0';
        renames[i] = (pdm_legacy_rename){word, literal ? NULL : cut + 1, NULL};
        if (literal && !(renames[i].literal = literal_of(arena, cut + 1)))
            return false;
    }
    return true;
}

static bool parse_results(pdm_arena *arena, const char *text, pdm_legacy_row *row)
{
    row->num_results = count_items(text, ' ');
    pdm_legacy_result *results = pdm_arena_calloc(arena, row->num_results + 1, sizeof *results);
    if (!results)
        return false;
    row->results = results;
    for (size_t i = 0; i < row->num_results; i++) {
        char *word = next_item(arena, &text, ' ');
        if (!word)
            return false;
        results[i].vector = strip(word, '*');
        results[i].spread = strip(word, '+');
        results[i].slot = strcmp(word, "-") ? word : NULL;
    }
    return true;
}

pdm_status pdm_legacy_row_get(const char *type, pdm_arena *arena, const pdm_legacy_row **out_row)
{
    const raw_row *raw =
        bsearch(type, raw_rows, sizeof raw_rows / sizeof *raw_rows, sizeof *raw_rows, by_type);

    if (!raw) {
        *out_row = NULL;
        return PDM_OK;
    }
    pdm_legacy_row *row = pdm_arena_calloc(arena, 1, sizeof *row);
    if (!row)
        return PDM_NOMEM;
    row->type = raw->type;
    row->kernel = raw->kernel;
    if (!parse_operands(arena, raw->operands, row) || !parse_attrs(arena, raw->attrs, row) ||
        !parse_results(arena, raw->results, row))
        return PDM_NOMEM;
    *out_row = row;
    return PDM_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void scalar_attr(const pdm_lg_scalar *s, struct pdm_ir_attr_s *out)
{
    out->kind = PDM_IR_ATTR_SCALAR;
    switch (s->type) {
    case PDM_LG_SCALAR_BOOL:
        out->dtype = PDM_BOOL;
        out->u.b = s->b;
        break;
    case PDM_LG_SCALAR_I64:
        out->dtype = PDM_I64;
        out->u.i = s->i;
        break;
    case PDM_LG_SCALAR_F64:
        out->dtype = PDM_F64;
        out->u.f = s->r;
        break;
    case PDM_LG_SCALAR_C128:
        out->dtype = PDM_C128;
        out->u.c.re = s->c.re;
        out->u.c.im = s->c.im;
        break;
    }
}

static void text_attr(const char *text, struct pdm_ir_attr_s *out)
{
    out->kind = PDM_IR_ATTR_STR;
    out->u.s.text = text;
    out->u.s.size = strlen(text);
}

/* Element i of a list. */
static void element_attr(const pdm_lg_attr *a, size_t i, struct pdm_ir_attr_s *out)
{
    switch (a->type) {
    case PDM_LG_INTS:
    case PDM_LG_BLOCKS:
        out->kind = PDM_IR_ATTR_I32;
        out->u.i = a->u.ints[i];
        break;
    case PDM_LG_LONGS:
        out->kind = PDM_IR_ATTR_I64;
        out->u.i = a->u.longs[i];
        break;
    case PDM_LG_FLOATS:
        out->kind = PDM_IR_ATTR_F32;
        out->u.f = (double)a->u.floats[i];
        break;
    case PDM_LG_FLOAT64S:
        out->kind = PDM_IR_ATTR_F64;
        out->u.f = a->u.doubles[i];
        break;
    case PDM_LG_BOOLEANS:
        out->kind = PDM_IR_ATTR_BOOL;
        out->u.b = a->u.bools[i];
        break;
    case PDM_LG_SCALARS:
        scalar_attr(&a->u.scalars[i], out);
        break;
    default:
        text_attr(a->u.strings[i], out);
        break;
    }
}

static bool list_attr(const pdm_lg_attr *a, pdm_arena *arena, struct pdm_ir_attr_s *out)
{
    struct pdm_ir_attr_s *elements = pdm_arena_calloc(arena, a->count + 1, sizeof *elements);
    pdm_ir_attr *items = pdm_arena_calloc(arena, a->count + 1, sizeof *items);

    if (!elements || !items || a->count > UINT32_MAX)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        element_attr(a, i, &elements[i]);
        items[i] = &elements[i];
    }
    out->kind = PDM_IR_ATTR_ARRAY;
    out->count = (uint32_t)a->count;
    out->u.items = items;
    return true;
}

pdm_ir_attr pdm_legacy_attr(const pdm_lg_attr *a, pdm_arena *arena)
{
    struct pdm_ir_attr_s *out = pdm_arena_calloc(arena, 1, sizeof *out);

    if (!out)
        return NULL;
    switch (a->type) {
    case PDM_LG_INT:
    case PDM_LG_BLOCK:
        out->kind = PDM_IR_ATTR_I32;
        out->u.i = a->type == PDM_LG_INT ? a->u.i : a->u.block;
        break;
    case PDM_LG_LONG:
        out->kind = PDM_IR_ATTR_I64;
        out->u.i = a->u.l;
        break;
    case PDM_LG_FLOAT:
        out->kind = PDM_IR_ATTR_F32;
        out->u.f = (double)a->u.f;
        break;
    case PDM_LG_FLOAT64:
        out->kind = PDM_IR_ATTR_F64;
        out->u.f = a->u.d;
        break;
    case PDM_LG_BOOLEAN:
        out->kind = PDM_IR_ATTR_BOOL;
        out->u.b = a->u.b;
        break;
    case PDM_LG_STRING:
    case PDM_LG_VAR:
        text_attr(a->u.s, out);
        break;
    case PDM_LG_SCALAR:
        scalar_attr(&a->u.scalar, out);
        break;
    default:
        if (!list_attr(a, arena, out))
            return NULL;
    }
    return out;
}
