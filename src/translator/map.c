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

static size_t count_items(const char *text, char separator)
{
    size_t n = *text != '\0';
    for (const char *p = text; *p; p++)
        n += *p == separator;
    return n;
}

/* Cut the next item off *text at a separator, trimmed of blanks; copied to the arena. */
static char *next_item(pdm_arena *arena, const char **text, char separator)
{
    const char *p = *text, *end;
    while (*p == ' ')
        p++;
    end = strchr(p, separator);
    if (!end)
        end = p + strlen(p);
    *text = *end ? end + 1 : end;
    while (end > p && end[-1] == ' ')
        end--;
    return pdm_arena_strndup(arena, p, (size_t)(end - p));
}

static bool strip_suffix(char *word, char suffix)
{
    size_t n = strlen(word);
    if (n < 2 || word[n - 1] != suffix)
        return false;
    word[n - 1] = '\0';
    return true;
}

static bool parse_source(char *word, pdm_tr_source *out)
{
    if (strcmp(word, "-") == 0)
        *out = (pdm_tr_source){PDM_TR_NONE, NULL};
    else if (word[0] == '=')
        *out = (pdm_tr_source){PDM_TR_CONSTANT, word + 1};
    else if (strip_suffix(word, '*'))
        *out = (pdm_tr_source){PDM_TR_COMBINED, word};
    else
        *out = (pdm_tr_source){PDM_TR_SLOT, word};
    return true;
}

static bool parse_operands(pdm_arena *arena, const raw_row *raw, pdm_tr_row *row)
{
    const char *text = raw->operands;
    row->num_operands = count_items(text, ',');
    row->operands = pdm_arena_calloc(arena, row->num_operands + 1, sizeof *row->operands);
    for (size_t i = 0; row->operands && i < row->num_operands; i++) {
        const char *item = next_item(arena, &text, ',');
        size_t n = item ? count_items(item, '|') : 0;
        pdm_tr_source *sources = pdm_arena_calloc(arena, n + 1, sizeof *sources);
        if (!item || !sources)
            return false;
        for (size_t k = 0; k < n; k++) {
            char *word = next_item(arena, &item, '|');
            if (!word || !parse_source(word, &sources[k]))
                return false;
        }
        row->operands[i] = (pdm_tr_operand_map){sources, n};
    }
    return row->operands != NULL;
}

/* Words of a blank-separated text. */
static size_t count_words(const char *text)
{
    size_t n = 0;
    for (const char *p = text; *p; p++)
        n += *p != ' ' && (p == text || p[-1] == ' ');
    return n;
}

static const char *default_of(pdm_arena *arena, const char *defaults, const char *name)
{
    size_t n = strlen(name);
    while (*defaults) {
        char *word = next_item(arena, &defaults, ' ');
        if (!word)
            return NULL;
        if (strncmp(word, name, n) == 0 && word[n] == '=')
            return word + n + 1;
    }
    return NULL;
}

static bool parse_attrs(pdm_arena *arena, const raw_row *raw, pdm_tr_row *row)
{
    const char *text = raw->attrs;
    row->num_attrs = count_words(text);
    row->attrs = pdm_arena_calloc(arena, row->num_attrs + 1, sizeof *row->attrs);
    for (size_t i = 0; row->attrs && i < row->num_attrs; i++) {
        char *word = next_item(arena, &text, ' ');
        if (!word)
            return false;
        char *eq = strchr(word, '='), *colon = strchr(word, ':');
        pdm_tr_attr_map *a = &row->attrs[i];
        a->name = word;
        if (colon && (!eq || colon < eq)) {
            *colon = '\0';
            a->literal = colon + 1;
            continue;
        }
        a->legacy = word;
        if (eq) {
            *eq = '\0';
            a->legacy = eq + 1;
        }
        a->literal = default_of(arena, raw->defaults, a->legacy);
    }
    return row->attrs != NULL;
}

static bool parse_results(pdm_arena *arena, const raw_row *raw, pdm_tr_row *row)
{
    const char *text = raw->results;
    row->num_results = count_words(text);
    row->results = pdm_arena_calloc(arena, row->num_results + 1, sizeof *row->results);
    for (size_t i = 0; row->results && i < row->num_results; i++) {
        char *word = next_item(arena, &text, ' ');
        if (!word)
            return false;
        pdm_tr_result_map *r = &row->results[i];
        r->optional = strip_suffix(word, '?');
        r->vector = strip_suffix(word, '*');
        r->slot = strcmp(word, "-") == 0 ? NULL : word;
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
    bool ok = row && parse_operands(&tr->scratch, raw, row) &&
              parse_attrs(&tr->scratch, raw, row) && parse_results(&tr->scratch, raw, row);
    e = ok ? pdm_map_put(&tr->rows, type) : NULL;
    if (!e) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    row->target = raw->target;
    e->value.ptr = row;
    return row;
}
