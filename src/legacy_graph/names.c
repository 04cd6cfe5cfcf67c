#include "legacy_graph/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

pdm_status pdm_lg_names_create(pdm_lg_names **out_names)
{
    pdm_lg_names *names = calloc(1, sizeof *names);

    if (!names)
        return PDM_NOMEM;
    pdm_arena_init(&names->arena);
    pdm_intern_init(&names->set, &names->arena);
    *out_names = names;
    return PDM_OK;
}

void pdm_lg_names_destroy(pdm_lg_names *names)
{
    if (!names)
        return;
    PDM_VEC_FREE(names);
    pdm_intern_deinit(&names->set);
    pdm_arena_deinit(&names->arena);
    free(names);
}

static pdm_status add(pdm_lg_names *names, const char *text, size_t len)
{
    if (pdm_intern_find(&names->set, text, len))
        return PDM_OK;
    if (!PDM_VEC_RESERVE(names, names->n + 1))
        return PDM_NOMEM;
    const char *name = pdm_intern_get(&names->set, text, len);
    if (!name)
        return PDM_NOMEM;
    names->v[names->n++] = name;
    return PDM_OK;
}

pdm_status pdm_lg_names_add(pdm_lg_names *names, const char *name)
{
    return add(names, name, strlen(name));
}

pdm_status pdm_lg_names_add_list(pdm_lg_names *names, const char *text, char separator)
{
    while (text && *text) {
        const char *end = strchr(text, separator);
        const size_t len = end ? (size_t)(end - text) : strlen(text);
        if (len > 0)
            PDM_TRY(add(names, text, len));
        text = end ? end + 1 : NULL;
    }
    return PDM_OK;
}

pdm_status pdm_lg_names_copy(const pdm_lg_names *names, pdm_lg_names **out_names)
{
    pdm_lg_names *copy;
    pdm_status status = pdm_lg_names_create(&copy);

    if (status != PDM_OK)
        return status;
    for (size_t i = 0; i < names->n && status == PDM_OK; i++)
        status = pdm_lg_names_add(copy, names->v[i]);
    if (status != PDM_OK) {
        pdm_lg_names_destroy(copy);
        return status;
    }
    *out_names = copy;
    return PDM_OK;
}

bool pdm_lg_names_has(const pdm_lg_names *names, const char *name)
{
    return names && pdm_intern_find(&names->set, name, strlen(name)) != NULL;
}
