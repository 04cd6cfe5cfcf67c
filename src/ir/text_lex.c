#include "ir/text_lex.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/utf8.h"
#include "ir/text_names.h"

enum { MAX_NUMBER = 60 };

void pdm_ir_text_place(pdm_ir_text_lex *lex, size_t offset, int64_t *out_line, int64_t *out_column)
{
    if (lex->place_at > offset || lex->line == 0) {
        lex->place_at = 0;
        lex->line = lex->column = 1;
    }
    for (; lex->place_at < offset && lex->place_at < lex->size; lex->place_at++) {
        const char c = lex->text[lex->place_at];
        if (c == '\n') {
            lex->line++;
            lex->column = 1;
        } else if (((unsigned char)c & 0xc0) != 0x80) {
            lex->column++;
        }
    }
    *out_line = lex->line;
    *out_column = lex->column;
}

pdm_status pdm_ir_text_fail_at(pdm_ir_text_lex *lex, size_t offset, pdm_diag_code code,
                               const char *format, ...)
{
    char message[512];
    pdm_loc loc = PDM_NOWHERE;
    va_list args;

    loc.file = lex->path;
    loc.offset = (int64_t)offset;
    pdm_ir_text_place(lex, offset, &loc.line, &loc.column);
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return pdm_diag(lex->sink, code, &loc, NULL, "%s", message);
}

void pdm_ir_text_skip(pdm_ir_text_lex *lex)
{
    while (lex->at < lex->size) {
        const char c = lex->text[lex->at];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            lex->at++;
        } else if (c == '/' && lex->size - lex->at > 1 && lex->text[lex->at + 1] == '/') {
            while (lex->at < lex->size && lex->text[lex->at] != '\n')
                lex->at++;
        } else {
            break;
        }
    }
}

static char peek(const pdm_ir_text_lex *lex)
{
    return lex->at < lex->size ? lex->text[lex->at] : '\0';
}

bool pdm_ir_text_take(pdm_ir_text_lex *lex, const char *token)
{
    const size_t size = strlen(token);

    pdm_ir_text_skip(lex);
    if (lex->size - lex->at < size || memcmp(lex->text + lex->at, token, size) != 0)
        return false;
    lex->at += size;
    return true;
}

pdm_status pdm_ir_text_want(pdm_ir_text_lex *lex, const char *token)
{
    if (pdm_ir_text_take(lex, token))
        return PDM_OK;
    if (lex->at == lex->size)
        return pdm_ir_text_fail(lex, "'%s' is expected, but the text ends", token);
    return pdm_ir_text_fail(lex, "'%s' is expected", token);
}

void pdm_ir_text_word(pdm_ir_text_lex *lex, const char **out, size_t *out_size)
{
    pdm_ir_text_skip(lex);
    const size_t start = lex->at;
    if (pdm_ir_text_word_start(peek(lex))) {
        while (pdm_ir_text_word_char(peek(lex)))
            lex->at++;
    }
    *out = lex->text + start;
    *out_size = lex->at - start;
}

/* ---- quoted texts ---------------------------------------------------------------------------- */

static bool hex4(const pdm_ir_text_lex *lex, size_t at, unsigned *out)
{
    *out = 0;
    for (size_t i = at; i < at + 4; i++) {
        const char c = i < lex->size ? lex->text[i] : '\0';
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            digit = (unsigned)((c | 0x20) - 'a') + 10;
        else
            return false;
        *out = *out * 16 + digit;
    }
    return true;
}

/* lex->at is after "\u". */
static pdm_status unicode_escape(pdm_ir_text_lex *lex)
{
    const size_t start = lex->at - 2;
    unsigned code, low;
    char utf8[4];

    if (!hex4(lex, lex->at, &code))
        return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX,
                                   "\\u needs four hexadecimal digits");
    lex->at += 4;
    if (code >= 0xd800 && code < 0xdc00 && lex->size - lex->at >= 6 &&
        memcmp(lex->text + lex->at, "\\u", 2) == 0 && hex4(lex, lex->at + 2, &low) &&
        low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        lex->at += 6;
    }
    const size_t size = code ? pdm_utf8_encode(code, utf8) : 0;
    if (!size)
        return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX, "no character has this number");
    pdm_buf_put(&lex->string, utf8, size);
    return PDM_OK;
}

/* lex->at is after the backslash. */
static pdm_status escape(pdm_ir_text_lex *lex)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char c = peek(lex);
    const char *found = c ? strchr(from, c) : NULL;

    lex->at++;
    if (found) {
        pdm_buf_putc(&lex->string, to[found - from]);
        return PDM_OK;
    }
    if (c != 'u')
        return pdm_ir_text_fail_at(lex, lex->at - 2, PDM_D_TEXT_SYNTAX, "unknown escape");
    return unicode_escape(lex);
}

pdm_status pdm_ir_text_string(pdm_ir_text_lex *lex)
{
    PDM_TRY(pdm_ir_text_want(lex, "\""));
    const size_t start = lex->at;
    lex->string.size = 0;
    for (;;) {
        const size_t run = lex->at;
        while (lex->at < lex->size && (unsigned char)peek(lex) >= 0x20 && peek(lex) != '"' &&
               peek(lex) != '\\')
            lex->at++;
        if (!pdm_utf8_valid(lex->text + run, lex->at - run))
            return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX,
                                       "the text in quotes is not valid UTF-8");
        pdm_buf_put(&lex->string, lex->text + run, lex->at - run);
        if (lex->at == lex->size || lex->text[lex->at] == '\n')
            return pdm_ir_text_fail_at(lex, start - 1, PDM_D_TEXT_SYNTAX, "a quote is not closed");
        if (lex->text[lex->at] == '"')
            break;
        if (lex->text[lex->at] != '\\')
            return pdm_ir_text_fail(lex, "a control character in quotes must be escaped");
        lex->at++;
        PDM_TRY(escape(lex));
    }
    lex->at++;
    return pdm_buf_ok(&lex->string) ? PDM_OK : PDM_NOMEM;
}

pdm_status pdm_ir_text_name(pdm_ir_text_lex *lex, const char **out)
{
    const char *word;
    size_t size;

    pdm_ir_text_skip(lex);
    if (peek(lex) == '"') {
        PDM_TRY(pdm_ir_text_string(lex));
        word = lex->string.data;
        size = lex->string.size;
    } else {
        pdm_ir_text_word(lex, &word, &size);
        if (!size)
            return pdm_ir_text_fail(lex, "a name is expected");
    }
    *out = pdm_ir_strn(lex->context, word, size);
    return *out ? PDM_OK : PDM_NOMEM;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t digits(pdm_ir_text_lex *lex)
{
    const size_t start = lex->at;

    while (peek(lex) >= '0' && peek(lex) <= '9')
        lex->at++;
    return lex->at - start;
}

/* The double that the text at [start, lex->at) names. */
static double to_double(const pdm_ir_text_lex *lex, size_t start)
{
    char copy[MAX_NUMBER + 1];
    const size_t size = lex->at - start;

    memcpy(copy, lex->text + start, size);
    copy[size] = '\0';
    return pdm_decimal_read(copy, NULL);
}

static bool to_int(const pdm_ir_text_lex *lex, size_t start, int64_t *out)
{
    const bool negative = lex->text[start] == '-';
    int64_t value = 0; /* negative while it is built: there is one more negative number */

    for (size_t i = start + negative; i < lex->at; i++) {
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, (int64_t)(lex->text[i] - '0'), &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

/* inf, -inf, nan. */
static bool special_number(pdm_ir_text_lex *lex, double *out)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}, {"nan", (double)NAN}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t size = strlen(rows[i].text);
        if (lex->size - lex->at >= size && memcmp(lex->text + lex->at, rows[i].text, size) == 0 &&
            (lex->size - lex->at == size || !pdm_ir_text_word_char(lex->text[lex->at + size]))) {
            lex->at += size;
            *out = rows[i].value;
            return true;
        }
    }
    return false;
}

/* Past the number; false if there is none. */
static bool scan_number(pdm_ir_text_lex *lex, bool *out_is_int)
{
    *out_is_int = true;
    if (peek(lex) == '-')
        lex->at++;
    if (!digits(lex))
        return false;
    if (peek(lex) == '.') {
        *out_is_int = false;
        lex->at++;
        if (!digits(lex))
            return false;
    }
    if (peek(lex) == 'e' || peek(lex) == 'E') {
        *out_is_int = false;
        lex->at++;
        if (peek(lex) == '+' || peek(lex) == '-')
            lex->at++;
        return digits(lex) > 0;
    }
    return true;
}

pdm_status pdm_ir_text_number_of(pdm_ir_text_lex *lex, pdm_ir_text_number *out)
{
    pdm_ir_text_number number = {0};

    pdm_ir_text_skip(lex);
    const size_t start = lex->at;
    if (special_number(lex, &out->f)) {
        out->is_int = false;
        return PDM_OK;
    }
    if (!scan_number(lex, &number.is_int))
        return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX, "a number is expected");
    if (lex->at - start > MAX_NUMBER)
        return pdm_ir_text_fail_at(lex, start, PDM_D_LIMIT, "a number has more than %d characters",
                                   MAX_NUMBER);
    number.f = to_double(lex, start);
    if (number.is_int ? !to_int(lex, start, &number.i) : !isfinite(number.f))
        return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX, "the number is out of range");
    *out = number;
    return PDM_OK;
}

pdm_status pdm_ir_text_int(pdm_ir_text_lex *lex, int64_t min, int64_t max, int64_t *out)
{
    pdm_ir_text_skip(lex);
    const size_t start = lex->at;
    if (peek(lex) == '-')
        lex->at++;
    if (!digits(lex))
        return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX, "an integer is expected");
    if (!to_int(lex, start, out) || *out < min || *out > max)
        return pdm_ir_text_fail_at(lex, start, PDM_D_TEXT_SYNTAX, "the integer is out of range");
    return PDM_OK;
}
