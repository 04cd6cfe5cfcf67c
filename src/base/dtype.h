/* Element types, one row each in dtype.def. PDM_UNDEFINED (0) means "not given"; its PIR name is
 * "Undefined(ALL_DTYPE)". */
#ifndef PDM_BASE_DTYPE_H
#define PDM_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum pdm_dtype {
    PDM_UNDEFINED = 0,
#define PDM_DTYPE(code, name, bytes, legacy, tag, text) code,
#include "base/dtype.def"
#undef PDM_DTYPE
    PDM_DTYPE_COUNT
} pdm_dtype;

#define PDM_MAX_RANK 9 /* the framework's own limit */

const char *pdm_dtype_name(pdm_dtype dtype); /* "float32"; "Undefined(ALL_DTYPE)" */
const char *pdm_dtype_text(pdm_dtype dtype); /* "f32"; "undefined" */
const char *pdm_dtype_tag(pdm_dtype dtype);  /* PIR JSON type tag, NULL when PIR has no such type */
size_t pdm_dtype_size(pdm_dtype dtype);      /* bytes of an element; 0: none */
pdm_dtype pdm_dtype_from_legacy(int number); /* PDM_UNDEFINED when it is no element type */
int pdm_dtype_to_legacy(pdm_dtype dtype);    /* -1: none */
pdm_dtype pdm_dtype_from_name(const char *name); /* PDM_UNDEFINED when unknown */
pdm_dtype pdm_dtype_from_text(const char *text, size_t len);
bool pdm_dtype_is_float(pdm_dtype dtype); /* f16, bf16, f32, f64, fp8 */
bool pdm_dtype_is_int(pdm_dtype dtype);   /* signed and unsigned, not bool */
bool pdm_dtype_is_complex(pdm_dtype dtype);

#endif
