#include "base/dtype.h"

#include <string.h>

typedef struct dtype_row {
    const char *name, *text, *tag;
    size_t bytes;
    int legacy;
} dtype_row;

static const dtype_row rows[PDM_DTYPE_COUNT] = {
    [PDM_UNDEFINED] = {"Undefined(ALL_DTYPE)", "undefined", NULL, 0, -1},
#define PDM_DTYPE(code, name, bytes, legacy, tag, text) [code] = {name, text, tag, bytes, legacy},
#include "base/dtype.def"
#undef PDM_DTYPE
};

static const dtype_row *row_of(pdm_dtype dtype)
{
    return &rows[(unsigned)dtype < PDM_DTYPE_COUNT ? dtype : PDM_UNDEFINED];
}

const char *pdm_dtype_name(pdm_dtype dtype)
{
    return row_of(dtype)->name;
}

const char *pdm_dtype_text(pdm_dtype dtype)
{
    return row_of(dtype)->text;
}

const char *pdm_dtype_tag(pdm_dtype dtype)
{
    return row_of(dtype)->tag;
}

size_t pdm_dtype_size(pdm_dtype dtype)
{
    return row_of(dtype)->bytes;
}

int pdm_dtype_to_legacy(pdm_dtype dtype)
{
    return row_of(dtype)->legacy;
}

pdm_dtype pdm_dtype_from_legacy(int number)
{
    for (int i = 1; i < PDM_DTYPE_COUNT; i++) {
        if (rows[i].legacy == number && number >= 0)
            return (pdm_dtype)i;
    }
    return PDM_UNDEFINED;
}

pdm_dtype pdm_dtype_from_name(const char *name)
{
    for (int i = 1; i < PDM_DTYPE_COUNT; i++) {
        if (!strcmp(rows[i].name, name))
            return (pdm_dtype)i;
    }
    return PDM_UNDEFINED;
}

pdm_dtype pdm_dtype_from_text(const char *text, size_t len)
{
    for (int i = 1; i < PDM_DTYPE_COUNT; i++) {
        if (strlen(rows[i].text) == len && !memcmp(rows[i].text, text, len))
            return (pdm_dtype)i;
    }
    return PDM_UNDEFINED;
}

bool pdm_dtype_is_float(pdm_dtype dtype)
{
    switch (dtype) {
    case PDM_F16:
    case PDM_BF16:
    case PDM_F32:
    case PDM_F64:
    case PDM_F8E4M3FN:
    case PDM_F8E5M2:
        return true;
    default:
        return false;
    }
}

bool pdm_dtype_is_int(pdm_dtype dtype)
{
    switch (dtype) {
    case PDM_I8:
    case PDM_U8:
    case PDM_I16:
    case PDM_U16:
    case PDM_I32:
    case PDM_U32:
    case PDM_I64:
    case PDM_U64:
        return true;
    default:
        return false;
    }
}

bool pdm_dtype_is_complex(pdm_dtype dtype)
{
    return dtype == PDM_C64 || dtype == PDM_C128;
}
