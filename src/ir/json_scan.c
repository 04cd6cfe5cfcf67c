#include "ir/json_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/vec.h"

enum { STRETCH = 4096 }; /* bytes between two marks */

typedef struct level {
    uint32_t node;
    uint16_t height;
    bool object;
} level;

typedef struct scanner {
    const char *text;
    size_t size, at;
    const char *path;
    pdm_diag_sink *sink;
    pdm_ir_json_index *index;
    level stack[PDM_IR_JSON_MAX_DEPTH];
    size_t depth;
} scanner;

void pdm_ir_json_index_deinit(pdm_ir_json_index *index)
{
    free(index->nodes);
    free(index->marks);
    *index = (pdm_ir_json_index){0};
}

/* Move a place from byte `from` to byte `to`. */
static void advance(const pdm_ir_json_index *index, size_t from, size_t to, pdm_ir_json_mark *place)
{
    /* A byte order mark is not a character of the first line. */
    if (from == 0 && index->size >= 3 && memcmp(index->text, "\xef\xbb\xbf", 3) == 0)
        from = to < 3 ? to : 3;
    for (size_t i = from; i < to; i++) {
        if (index->text[i] == '\n') {
            place->line++;
            place->column = 1;
        } else if (((unsigned char)index->text[i] & 0xc0) != 0x80) {
            place->column++;
        }
    }
}

/* Marks up to the stretch that holds offset; as many as memory allows. */
static void make_marks(pdm_ir_json_index *index, size_t offset)
{
    while (index->num_marks <= offset / STRETCH) {
        pdm_ir_json_mark mark = {1, 1};
        const size_t n = index->num_marks;
        if (n > 0) {
            mark = index->marks[n - 1];
            advance(index, (n - 1) * STRETCH, n * STRETCH, &mark);
        }
        if (!pdm_vec_reserve_((void **)&index->marks, &index->marks_capacity, n + 1,
                              sizeof *index->marks))
            return;
        index->marks[index->num_marks++] = mark;
    }
}

void pdm_ir_json_place(pdm_ir_json_index *index, size_t offset, int64_t *out_line,
                       int64_t *out_column)
{
    pdm_ir_json_mark place = {1, 1};
    size_t from = 0;

    if (offset > index->size)
        offset = index->size;
    make_marks(index, offset);
    if (index->num_marks > 0) {
        const size_t last = index->num_marks - 1, wanted = offset / STRETCH;
        const size_t mark = wanted < last ? wanted : last;
        place = index->marks[mark];
        from = mark * STRETCH;
    }
    advance(index, from, offset, &place);
    *out_line = place.line;
    *out_column = place.column;
}

static pdm_status fail_at(scanner *s, size_t offset, pdm_diag_code code, const char *message)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = s->path;
    loc.offset = (int64_t)offset;
    pdm_ir_json_place(s->index, offset, &loc.line, &loc.column);
    return pdm_diag(s->sink, code, &loc, NULL, "JSON: %s", message);
}

static pdm_status syntax(scanner *s, const char *message)
{
    return fail_at(s, s->at, PDM_D_JSON_SYNTAX, s->at == s->size ? "the text ends early" : message);
}

static void skip_blanks(scanner *s)
{
    while (s->at < s->size && (s->text[s->at] == ' ' || s->text[s->at] == '\n' ||
                               s->text[s->at] == '\r' || s->text[s->at] == '\t'))
        s->at++;
}

static bool is_digit_at(const scanner *s, size_t at)
{
    return at < s->size && s->text[at] >= '0' && s->text[at] <= '9';
}

/* A node that starts at offset; its end and next are set when it is complete. */
static bool add_node(scanner *s, pdm_ir_json_kind kind, size_t offset)
{
    pdm_ir_json_index *index = s->index;

    if (!pdm_vec_reserve_((void **)&index->nodes, &index->capacity, index->count + 1,
                          sizeof *index->nodes))
        return false;
    index->nodes[index->count] = (pdm_ir_json_node){
        .offset = (uint32_t)offset,
        .end = (uint32_t)s->at,
        .next = (uint32_t)index->count + 1,
        .kind = (uint16_t)kind,
    };
    index->count++;
    if (s->depth && s->stack[s->depth - 1].height == 0)
        s->stack[s->depth - 1].height = 1;
    return true;
}

/* Four hex digits after "\u"; -1 when they are not. */
static int hex4(const scanner *s, size_t at)
{
    int value = 0;

    for (size_t i = at; i < at + 4; i++) {
        const char c = i < s->size ? s->text[i] : '\0';
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            value = value * 16 + ((c | 0x20) - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* s->at is after the backslash. */
static pdm_status scan_escape(scanner *s)
{
    const size_t start = s->at - 1;

    if (s->at == s->size)
        return syntax(s, "");
    if (s->text[s->at] != 'u') {
        if (!s->text[s->at] || !strchr("\"\\/bfnrt", s->text[s->at]))
            return fail_at(s, start, PDM_D_JSON_SYNTAX, "unknown escape in a string");
        s->at++;
        return PDM_OK;
    }
    const int unit = hex4(s, s->at + 1);
    if (unit < 0)
        return fail_at(s, start, PDM_D_JSON_SYNTAX, "\\u needs four hexadecimal digits");
    if (unit == 0)
        return fail_at(s, start, PDM_D_JSON_SYNTAX, "a string holds the character \\u0000");
    s->at += 5;
    if (unit < 0xd800 || unit > 0xdfff)
        return PDM_OK;
    if (unit < 0xdc00 && s->at + 1 < s->size && s->text[s->at] == '\\' &&
        s->text[s->at + 1] == 'u') {
        const int low = hex4(s, s->at + 2);
        if (low >= 0xdc00 && low <= 0xdfff) {
            s->at += 6;
            return PDM_OK;
        }
    }
    return fail_at(s, start, PDM_D_JSON_SYNTAX, "half of a surrogate pair in a string");
}

/* Past a run of bytes from 0x80 on. */
static pdm_status scan_non_ascii(scanner *s)
{
    const size_t start = s->at;

    while (s->at < s->size && (unsigned char)s->text[s->at] >= 0x80)
        s->at++;
    if (!pdm_utf8_valid(s->text + start, s->at - start))
        return fail_at(s, start, PDM_D_JSON_SYNTAX, "a string is not valid UTF-8");
    return PDM_OK;
}

/* s->at is at the opening quote. */
static pdm_status scan_string(scanner *s, pdm_ir_json_kind kind)
{
    const size_t start = s->at++;

    for (;;) {
        if (s->at == s->size)
            return fail_at(s, s->at, PDM_D_JSON_SYNTAX, "the text ends inside a string");
        const unsigned char c = (unsigned char)s->text[s->at];
        if (c == '"')
            break;
        if (c < 0x20)
            return syntax(s, "a control character in a string must be escaped");
        if (c >= 0x80) {
            PDM_TRY(scan_non_ascii(s));
        } else {
            s->at++;
            if (c == '\\')
                PDM_TRY(scan_escape(s));
        }
    }
    s->at++;
    return add_node(s, kind, start) ? PDM_OK : PDM_NOMEM;
}

static void skip_digits(scanner *s)
{
    while (is_digit_at(s, s->at))
        s->at++;
}

static pdm_status scan_number(scanner *s)
{
    const size_t start = s->at;

    if (s->text[s->at] == '-')
        s->at++;
    if (!is_digit_at(s, s->at))
        return syntax(s, "a digit is expected");
    if (s->text[s->at] == '0')
        s->at++;
    else
        skip_digits(s);
    if (s->at < s->size && s->text[s->at] == '.') {
        s->at++;
        if (!is_digit_at(s, s->at))
            return syntax(s, "a digit is expected after the decimal point");
        skip_digits(s);
    }
    if (s->at < s->size && (s->text[s->at] == 'e' || s->text[s->at] == 'E')) {
        s->at++;
        if (s->at < s->size && (s->text[s->at] == '+' || s->text[s->at] == '-'))
            s->at++;
        if (!is_digit_at(s, s->at))
            return syntax(s, "a digit is expected in the exponent");
        skip_digits(s);
    }
    if (s->at - start > PDM_IR_JSON_MAX_NUMBER)
        return fail_at(s, start, PDM_D_LIMIT, "a number has more than 60 characters");
    return add_node(s, PDM_IR_JSON_NUMBER, start) ? PDM_OK : PDM_NOMEM;
}

static pdm_status scan_word(scanner *s, const char *word, pdm_ir_json_kind kind)
{
    const size_t start = s->at, length = strlen(word);

    if (s->size - s->at < length || memcmp(s->text + s->at, word, length) != 0)
        return syntax(s, "a value is expected");
    s->at += length;
    return add_node(s, kind, start) ? PDM_OK : PDM_NOMEM;
}

static pdm_status scan_scalar(scanner *s)
{
    switch (s->at < s->size ? s->text[s->at] : '\0') {
    case '"':
        return scan_string(s, PDM_IR_JSON_STRING);
    case 't':
        return scan_word(s, "true", PDM_IR_JSON_TRUE);
    case 'f':
        return scan_word(s, "false", PDM_IR_JSON_FALSE);
    case 'n':
        return scan_word(s, "null", PDM_IR_JSON_NULL);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return scan_number(s);
    }
    return syntax(s, "a value is expected");
}

static pdm_status open_container(scanner *s)
{
    const bool object = s->text[s->at] == '{';

    if (s->depth == PDM_IR_JSON_MAX_DEPTH)
        return fail_at(s, s->at, PDM_D_LIMIT, "values are nested more than 2048 deep");
    if (!add_node(s, object ? PDM_IR_JSON_OBJECT : PDM_IR_JSON_ARRAY, s->at))
        return PDM_NOMEM;
    s->stack[s->depth++] = (level){(uint32_t)s->index->count - 1, 0, object};
    s->at++;
    return PDM_OK;
}

static void close_container(scanner *s)
{
    const level done = s->stack[--s->depth];
    pdm_ir_json_node *node = &s->index->nodes[done.node];

    s->at++;
    node->end = (uint32_t)s->at;
    node->next = (uint32_t)s->index->count;
    node->height = done.height;
    if (s->depth && s->stack[s->depth - 1].height <= done.height)
        s->stack[s->depth - 1].height = (uint16_t)(done.height + 1);
}

static pdm_status scan_key(scanner *s)
{
    skip_blanks(s);
    if (s->at == s->size || s->text[s->at] != '"')
        return syntax(s, "a key in quotes is expected");
    PDM_TRY(scan_string(s, PDM_IR_JSON_KEY));
    skip_blanks(s);
    if (s->at == s->size || s->text[s->at] != ':')
        return syntax(s, "':' is expected after a key");
    s->at++;
    return PDM_OK;
}

/* One value's beginning: a scalar, an empty container, or an opened one (*out_complete false). */
static pdm_status begin_value(scanner *s, bool *out_complete)
{
    skip_blanks(s);
    *out_complete = true;
    if (s->at == s->size || (s->text[s->at] != '{' && s->text[s->at] != '['))
        return scan_scalar(s);
    PDM_TRY(open_container(s));
    const bool object = s->stack[s->depth - 1].object;
    skip_blanks(s);
    if (s->at < s->size && s->text[s->at] == (object ? '}' : ']')) {
        close_container(s);
        return PDM_OK;
    }
    *out_complete = false;
    return object ? scan_key(s) : PDM_OK;
}

/* After a value: close what ends here, up to the place where the next value starts or the end. */
static pdm_status after_value(scanner *s)
{
    while (s->depth) {
        const bool object = s->stack[s->depth - 1].object;
        skip_blanks(s);
        const char c = s->at < s->size ? s->text[s->at] : '\0';
        if (c == ',') {
            s->at++;
            return object ? scan_key(s) : PDM_OK;
        }
        if (c != (object ? '}' : ']'))
            return syntax(s, object ? "',' or '}' is expected" : "',' or ']' is expected");
        close_container(s);
    }
    return PDM_OK;
}

static pdm_status scan_document(scanner *s)
{
    bool complete;

    if (s->size >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
        s->at = 3;
    skip_blanks(s);
    if (s->at == s->size)
        return fail_at(s, s->at, PDM_D_FILE_EMPTY, "the file is empty");
    do {
        PDM_TRY(begin_value(s, &complete));
        if (complete)
            PDM_TRY(after_value(s));
    } while (s->depth);
    skip_blanks(s);
    if (s->at < s->size)
        return syntax(s, "there is text after the end of the program");
    return PDM_OK;
}

pdm_status pdm_ir_json_scan(const char *text, size_t size, const char *path, pdm_diag_sink *sink,
                            pdm_ir_json_index *out)
{
    *out = (pdm_ir_json_index){.text = text, .size = size};
    if (size >= UINT32_MAX) {
        pdm_loc loc = PDM_NOWHERE;
        loc.file = path;
        return pdm_diag(sink, PDM_D_LIMIT, &loc, NULL, "JSON: the text is larger than 4 GiB");
    }
    scanner *s = malloc(sizeof *s);
    if (!s)
        return PDM_NOMEM;
    *s = (scanner){.text = text, .size = size, .path = path, .sink = sink, .index = out};
    const pdm_status status = scan_document(s);
    free(s);
    return status;
}
