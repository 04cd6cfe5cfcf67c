/* Parsing op_map.def. The form of a row is told at the top of that file. */
#include "translator/map.h"

#include <stdlib.h>
#include <string.h>

typedef struct raw_row {
    const char *type, *target, *operands, *attrs, *results, *defaults;
} raw_row;

static const raw_row raw_rows[] = {
#define PDM_TR_MAP(type, target, operands, attrs, results, defaults)                               \
    {type, "pd_op." target, operands, attrs, results, defaults},
#include "translator/op_map.def"
#undef PDM_TR_MAP
};

#define NUM_ROWS (sizeof raw_rows / sizeof raw_rows[0])

static int compare(const void *key, const void *row)
{
    return strcmp(key, ((const raw_row *)row)->type);
}

static const raw_row *find_raw(const char *type)
{
    return bsearch(type, raw_rows, NUM_ROWS, sizeof raw_rows[0], compare);
}

bool pdm_tr_row_exists(const char *type)
{
    return find_raw(type) != NULL;
}

/* A piece of a row's text. */
typedef struct span {
    const char *at;
    size_t size;
} span;

static span span_of(const char *text)
{
    return (span){text, strlen(text)};
}

static size_t count_items(span text, char separator)
{
    size_t n = text.size != 0;
    for (size_t i = 0; i < text.size; i++)
        n += text.at[i] == separator;
    return n;
}

/* Cut the next item off *text at a separator, trimmed of blanks. */
static span next_item(span *text, char separator)
{
    const char *p = text->at, *stop = p + text->size, *end;
    while (p < stop && *p == ' ')
        p++;
    end = p;
    while (end < stop && *end != separator)
        end++;
    text->at = end < stop ? end + 1 : end;
    text->size = (size_t)(stop - text->at);
    while (end > p && end[-1] == ' ')
        end--;
    return (span){p, (size_t)(end - p)};
}

static bool strip_suffix(span *word, char suffix)
{
    if (word->size < 2 || word->at[word->size - 1] != suffix)
        return false;
    word->size--;
    return true;
}

static bool is_dash(span word)
{
    return word.size == 1 && *word.at == '-';
}

static const char *text_of(pdm_tr *tr, span word)
{
    return pdm_arena_strndup(&tr->scratch, word.at, word.size);
}

/* A name of the legacy program. */
static bool name_of(pdm_tr *tr, span word, pdm_tr_name *out)
{
    out->known = pdm_intern_find(&tr->program->strings, word.at, word.size);
    out->text = out->known ? out->known : text_of(tr, word);
    return out->text != NULL;
}

static bool parse_source(pdm_tr *tr, span word, pdm_tr_source *out)
{
    out->kind = PDM_TR_SLOT;
    if (is_dash(word)) {
        out->kind = PDM_TR_NONE;
        return true;
    }
    if (word.size && *word.at == '=') {
        out->kind = PDM_TR_CONSTANT;
        word = (span){word.at + 1, word.size - 1};
    } else if (strip_suffix(&word, '*')) {
        out->kind = PDM_TR_COMBINED;
    }
    return name_of(tr, word, &out->name);
}

static bool parse_operands(pdm_tr *tr, const raw_row *raw, pdm_tr_row *row)
{
    span text = span_of(raw->operands);
    row->num_operands = count_items(text, ',');
    row->operands = pdm_arena_calloc(&tr->scratch, row->num_operands, sizeof *row->operands);
    for (size_t i = 0; row->operands && i < row->num_operands; i++) {
        span item = next_item(&text, ',');
        const size_t n = count_items(item, '|');
        pdm_tr_source *sources = pdm_arena_calloc(&tr->scratch, n, sizeof *sources);
        if (!sources)
            return false;
        for (size_t k = 0; k < n; k++) {
            if (!parse_source(tr, next_item(&item, '|'), &sources[k]))
                return false;
        }
        row->operands[i] = (pdm_tr_operand_map){sources, n};
    }
    return row->operands != NULL;
}

/* Words of a blank-separated text. */
static size_t count_words(span text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.size; i++)
        n += text.at[i] != ' ' && (i == 0 || text.at[i - 1] == ' ');
    return n;
}

/* The literal of "NAME=LITERAL" among the defaults; its size is 0 when there is none. */
static span default_of(const char *defaults, const char *name)
{
    const size_t n = strlen(name);
    span text = span_of(defaults);
    while (text.size) {
        const span word = next_item(&text, ' ');
        if (word.size > n && !memcmp(word.at, name, n) && word.at[n] == '=')
            return (span){word.at + n + 1, word.size - n - 1};
    }
    return (span){NULL, 0};
}

/* NAME, NAME=LEGACY or NAME:LITERAL. */
static bool parse_attr(pdm_tr *tr, const raw_row *raw, span word, pdm_tr_attr_map *out)
{
    size_t cut = 0;
    while (cut < word.size && word.at[cut] != '=' && word.at[cut] != ':')
        cut++;
    const span name = {word.at, cut};
    const span rest = cut < word.size ? (span){word.at + cut + 1, word.size - cut - 1} : name;
    out->name = text_of(tr, name);
    if (!out->name)
        return false;
    if (cut < word.size && word.at[cut] == ':') {
        out->literal = text_of(tr, rest);
        return out->literal != NULL;
    }
    if (!name_of(tr, rest, &out->legacy))
        return false;
    const span literal = default_of(raw->defaults, out->legacy.text);
    if (literal.at)
        out->literal = text_of(tr, literal);
    return !literal.at || out->literal;
}

static bool parse_attrs(pdm_tr *tr, const raw_row *raw, pdm_tr_row *row)
{
    span text = span_of(raw->attrs);
    row->num_attrs = count_words(text);
    row->attrs = pdm_arena_calloc(&tr->scratch, row->num_attrs, sizeof *row->attrs);
    for (size_t i = 0; row->attrs && i < row->num_attrs; i++) {
        if (!parse_attr(tr, raw, next_item(&text, ' '), &row->attrs[i]))
            return false;
    }
    return row->attrs != NULL;
}

static bool parse_results(pdm_tr *tr, const raw_row *raw, pdm_tr_row *row)
{
    span text = span_of(raw->results);
    row->num_results = count_words(text);
    row->results = pdm_arena_calloc(&tr->scratch, row->num_results, sizeof *row->results);
    for (size_t i = 0; row->results && i < row->num_results; i++) {
        span word = next_item(&text, ' ');
        pdm_tr_result_map *r = &row->results[i];
        r->optional = strip_suffix(&word, '?');
        r->vector = strip_suffix(&word, '*');
        if (!is_dash(word) && !name_of(tr, word, &r->slot))
            return false;
    }
    return row->results != NULL;
}

const pdm_tr_row *pdm_tr_row_get(pdm_tr *tr, const char *type)
{
    pdm_map_entry *e = pdm_map_find(&tr->rows, type);
    if (e)
        return e->value.ptr;
    const raw_row *raw = find_raw(type);
    if (!raw)
        return NULL;
    pdm_tr_row *row = pdm_arena_calloc(&tr->scratch, 1, sizeof *row);
    pdm_status status = PDM_OK;
    bool ok = row && parse_operands(tr, raw, row) && parse_attrs(tr, raw, row) &&
              parse_results(tr, raw, row);
    if (ok) {
        row->target = raw->target;
        row->info = pdm_ir_op_info_get(tr->context, raw->target, &status);
        row->forms = pdm_arena_calloc(&tr->scratch, PDM_TR_FORMS, sizeof *row->forms);
    }
    e = ok && row->forms && status != PDM_NOMEM ? pdm_map_put(&tr->rows, type) : NULL;
    if (!e) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    e->value.ptr = row;
    return row;
}
