#include "base/vec.h"

#include <stdint.h>
#include <string.h>

bool pdm_vec_reserve_(void **v, size_t *cap, size_t n, size_t elem_size)
{
    size_t wanted = *cap ? *cap : 8, bytes;
    void *old, *grown;

    if (n <= *cap)
        return true;
    while (wanted < n && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < n)
        wanted = n;
    if (__builtin_mul_overflow(wanted, elem_size, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    /* *v is a T * of the caller: reading it as bytes keeps aliasing rules. */
    memcpy(&old, v, sizeof old);
    grown = realloc(old, bytes);
    if (!grown)
        return false;
    memcpy(v, &grown, sizeof grown);
    *cap = wanted;
    return true;
}
