#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Eight bytes of ASCII: nearly all text is. */
static bool is_ascii(const unsigned char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return !(word & 0x8080808080808080u);
}

/* Length of the sequence at p (size bytes left), 0 when it is not valid. */
static size_t sequence(const unsigned char *p, size_t size)
{
    const unsigned char c = p[0];
    unsigned char low = 0x80, high = 0xbf;
    size_t len;

    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    /* The second byte excludes overlong forms, surrogates and what is above U+10FFFF. */
    if (c == 0xe0)
        low = 0xa0;
    else if (c == 0xed)
        high = 0x9f;
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f;
    if (len > size || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    return len;
}

bool pdm_utf8_valid(const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;

    while (size > 0) {
        const size_t len = size >= 8 && is_ascii(p) ? 8 : sequence(p, size);
        if (len == 0)
            return false;
        p += len;
        size -= len;
    }
    return true;
}

size_t pdm_utf8_encode(unsigned code_point, char *out)
{
    const unsigned c = code_point;

    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}
