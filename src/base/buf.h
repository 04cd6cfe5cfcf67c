/*
 * Growable byte buffer for text and file contents. Appends have a sticky failure: after an
 * out-of-memory every further append does nothing and pdm_buf_ok is false, so that printers need
 * one check at the end. Numbers are formatted independently of the locale.
 */
#ifndef PDM_BASE_BUF_H
#define PDM_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct pdm_buf {
    char *data; /* NUL-terminated when not NULL */
    size_t size, capacity;
    bool failed;
} pdm_buf;

void pdm_buf_init(pdm_buf *buf);
void pdm_buf_deinit(pdm_buf *buf);
bool pdm_buf_ok(const pdm_buf *buf);
/* Make room for size more bytes and the final NUL; false when that fails or failed before. */
bool pdm_buf_reserve(pdm_buf *buf, size_t size);

static inline bool pdm_buf_has_room_(const pdm_buf *buf, size_t size)
{
    return buf->capacity > buf->size && size < buf->capacity - buf->size && !buf->failed;
}

static inline void pdm_buf_put(pdm_buf *buf, const void *data, size_t size)
{
    if (!pdm_buf_has_room_(buf, size) && !pdm_buf_reserve(buf, size))
        return;
    if (size)
        memcpy(buf->data + buf->size, data, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

static inline void pdm_buf_puts(pdm_buf *buf, const char *text)
{
    pdm_buf_put(buf, text, strlen(text));
}

static inline void pdm_buf_putc(pdm_buf *buf, char c)
{
    pdm_buf_put(buf, &c, 1);
}

void pdm_buf_printf(pdm_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* no %f, %g, %e */
void pdm_buf_i64(pdm_buf *buf, int64_t value);
/*
 * Decimal text that reads back as the same double, almost always the shortest, and always the one
 * that Paddle's JSON has: whole values keep ".0"; below 1e-4 and from 1e15 on it has an exponent,
 * like 1e-05, 1.5e+16. Non-finite: "inf", "-inf", "nan" (callers that need other spellings ask
 * first).
 */
void pdm_buf_double(pdm_buf *buf, double value);
/* A JSON string with quotes: escapes `"`, `\` and control characters, everything else raw. */
void pdm_buf_json_string(pdm_buf *buf, const char *text, size_t size);
/* Take the text out (malloc'ed, "" when empty); NULL when the buffer failed. */
char *pdm_buf_take(pdm_buf *buf);

#endif
