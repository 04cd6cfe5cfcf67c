#include "base/buf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

enum { FIRST_CAPACITY = 256 };

void pdm_buf_init(pdm_buf *buf)
{
    *buf = (pdm_buf){0};
}

void pdm_buf_deinit(pdm_buf *buf)
{
    free(buf->data);
    *buf = (pdm_buf){0};
}

bool pdm_buf_ok(const pdm_buf *buf)
{
    return !buf->failed;
}

bool pdm_buf_reserve(pdm_buf *buf, size_t size)
{
    size_t wanted = buf->capacity ? buf->capacity : FIRST_CAPACITY;
    char *grown;

    if (buf->failed)
        return false;
    if (pdm_buf_has_room_(buf, size))
        return true;
    if (size >= PTRDIFF_MAX - buf->size) {
        buf->failed = true;
        return false;
    }
    while (wanted <= buf->size + size)
        wanted *= 2;
    grown = realloc(buf->data, wanted);
    if (!grown) {
        buf->failed = true;
        return false;
    }
    buf->data = grown;
    buf->capacity = wanted;
    return true;
}

void pdm_buf_printf(pdm_buf *buf, const char *format, ...)
{
    va_list args, again;
    int length;

    if (!pdm_buf_reserve(buf, 0))
        return;
    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(buf->data + buf->size, buf->capacity - buf->size, format, args);
    if (length < 0)
        buf->failed = true;
    else if (pdm_buf_reserve(buf, (size_t)length)) {
        vsnprintf(buf->data + buf->size, (size_t)length + 1, format, again);
        buf->size += (size_t)length;
    }
    if (buf->data)
        buf->data[buf->size] = '\0';
    va_end(again);
    va_end(args);
}

void pdm_buf_i64(pdm_buf *buf, int64_t value)
{
    char text[24], *p = text + sizeof text;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--p = '-';
    pdm_buf_put(buf, p, (size_t)(text + sizeof text - p));
}

static void put_exponent(pdm_buf *buf, int exponent)
{
    pdm_buf_puts(buf, exponent < 0 ? "e-" : "e+");
    exponent = exponent < 0 ? -exponent : exponent;
    if (exponent < 10)
        pdm_buf_putc(buf, '0');
    pdm_buf_i64(buf, exponent);
}

static void put_decimal(pdm_buf *buf, const pdm_decimal *d)
{
    static const char zeros[] = "000000000000000";

    if (d->point > 15 || d->point <= -4) {
        pdm_buf_put(buf, d->digits, 1);
        if (d->count > 1) {
            pdm_buf_putc(buf, '.');
            pdm_buf_put(buf, d->digits + 1, (size_t)d->count - 1);
        }
        put_exponent(buf, d->point - 1);
    } else if (d->point <= 0) {
        pdm_buf_puts(buf, "0.");
        pdm_buf_put(buf, zeros, (size_t)-d->point);
        pdm_buf_put(buf, d->digits, (size_t)d->count);
    } else if (d->count <= d->point) {
        pdm_buf_put(buf, d->digits, (size_t)d->count);
        pdm_buf_put(buf, zeros, (size_t)(d->point - d->count));
        pdm_buf_puts(buf, ".0");
    } else {
        pdm_buf_put(buf, d->digits, (size_t)d->point);
        pdm_buf_putc(buf, '.');
        pdm_buf_put(buf, d->digits + d->point, (size_t)(d->count - d->point));
    }
}

void pdm_buf_double(pdm_buf *buf, double value)
{
    pdm_decimal d;

    if (isnan(value)) {
        pdm_buf_puts(buf, "nan");
        return;
    }
    if (signbit(value))
        pdm_buf_putc(buf, '-');
    value = fabs(value);
    if (isinf(value)) {
        pdm_buf_puts(buf, "inf");
    } else if (value < 1e15 && value == (double)(int64_t)value) {
        /* Most numbers in a program are whole and small. */
        pdm_buf_i64(buf, (int64_t)value);
        pdm_buf_puts(buf, ".0");
    } else {
        pdm_decimal_from_double(value, &d);
        put_decimal(buf, &d);
    }
}

static void put_escape(pdm_buf *buf, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const char *p = c ? strchr("\"\\\bb\ff\nn\rr\tt", c) : NULL;

    if (c == '"' || c == '\\') {
        pdm_buf_putc(buf, '\\');
        pdm_buf_putc(buf, (char)c);
    } else if (p) {
        pdm_buf_putc(buf, '\\');
        pdm_buf_putc(buf, p[1]);
    } else {
        pdm_buf_puts(buf, "\\u00");
        pdm_buf_putc(buf, hex[c >> 4]);
        pdm_buf_putc(buf, hex[c & 15]);
    }
}

void pdm_buf_json_string(pdm_buf *buf, const char *text, size_t size)
{
    size_t start = 0;

    pdm_buf_putc(buf, '"');
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        pdm_buf_put(buf, text + start, i - start);
        put_escape(buf, c);
        start = i + 1;
    }
    pdm_buf_put(buf, text + start, size - start);
    pdm_buf_putc(buf, '"');
}

char *pdm_buf_take(pdm_buf *buf)
{
    char *text = NULL;

    if (pdm_buf_reserve(buf, 0)) {
        buf->data[buf->size] = '\0';
        text = buf->data;
        buf->data = NULL;
    }
    pdm_buf_deinit(buf);
    return text;
}
