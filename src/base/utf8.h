/* UTF-8 validation (no surrogates, no overlong forms, at most U+10FFFF). */
#ifndef PDM_BASE_UTF8_H
#define PDM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool pdm_utf8_valid(const char *text, size_t size);
/* Encode a code point into out (4 bytes room); the number of bytes, 0 when it is not a scalar
 * value. */
size_t pdm_utf8_encode(unsigned code_point, char *out);

#endif
