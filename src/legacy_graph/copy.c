#include "legacy_graph/copy.h"

#include <string.h>

/* ---- names and lists ------------------------------------------------------------------------- */

static pdm_status copy_name(const pdm_lg_copier *c, const char *from, const char **to)
{
    *to = from ? pdm_intern_cstr(c->strings, from) : NULL;
    return *to || !from ? PDM_OK : PDM_NOMEM;
}

static pdm_status copy_var_name(const pdm_lg_copier *c, const char *from, const char **to)
{
    const char *name = c->rename ? c->rename(c->user, from) : from;

    return name ? copy_name(c, name, to) : PDM_NOMEM;
}

static pdm_status copy_var_names(const pdm_lg_copier *c, const char *const *from, size_t n,
                                 const char *const **to)
{
    const char **names = pdm_arena_calloc(c->arena, n, sizeof *names);

    if (!names)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        PDM_TRY(copy_var_name(c, from[i], &names[i]));
    *to = names;
    return PDM_OK;
}

static pdm_status copy_text(const pdm_lg_copier *c, const char *from, const char **to)
{
    *to = pdm_arena_strndup(c->arena, from, strlen(from));
    return *to ? PDM_OK : PDM_NOMEM;
}

static pdm_status copy_texts(const pdm_lg_copier *c, const char *const *from, size_t n,
                             const char *const **to)
{
    const char **texts = pdm_arena_calloc(c->arena, n, sizeof *texts);

    if (!texts)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        PDM_TRY(copy_text(c, from[i], &texts[i]));
    *to = texts;
    return PDM_OK;
}

/* n elements; from may be NULL when n is 0. */
static void *copy_list(const pdm_lg_copier *c, const void *from, size_t n, size_t size)
{
    void *list = pdm_arena_calloc(c->arena, n, size);

    if (list && n)
        memcpy(list, from, n * size);
    return list;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_status copy_attr(const pdm_lg_copier *c, const pdm_lg_attr *from, pdm_lg_attr *to)
{
    const size_t n = from->count;
    const void *list = to;

    *to = *from;
    PDM_TRY(copy_name(c, from->name, &to->name));
    switch (from->type) {
    case PDM_LG_INT:
    case PDM_LG_FLOAT:
    case PDM_LG_BOOLEAN:
    case PDM_LG_BLOCK:
    case PDM_LG_LONG:
    case PDM_LG_FLOAT64:
    case PDM_LG_SCALAR:
        break;
    case PDM_LG_STRING:
        return copy_text(c, from->u.s, &to->u.s);
    case PDM_LG_VAR:
        return copy_var_name(c, from->u.s, &to->u.s);
    case PDM_LG_STRINGS:
        return copy_texts(c, from->u.strings, n, &to->u.strings);
    case PDM_LG_VARS:
        return copy_var_names(c, from->u.strings, n, &to->u.strings);
    case PDM_LG_INTS:
    case PDM_LG_BLOCKS:
        list = to->u.ints = copy_list(c, from->u.ints, n, sizeof *from->u.ints);
        break;
    case PDM_LG_FLOATS:
        list = to->u.floats = copy_list(c, from->u.floats, n, sizeof *from->u.floats);
        break;
    case PDM_LG_BOOLEANS:
        list = to->u.bools = copy_list(c, from->u.bools, n, sizeof *from->u.bools);
        break;
    case PDM_LG_LONGS:
        list = to->u.longs = copy_list(c, from->u.longs, n, sizeof *from->u.longs);
        break;
    case PDM_LG_FLOAT64S:
        list = to->u.doubles = copy_list(c, from->u.doubles, n, sizeof *from->u.doubles);
        break;
    case PDM_LG_SCALARS:
        list = to->u.scalars = copy_list(c, from->u.scalars, n, sizeof *from->u.scalars);
        break;
    }
    return list ? PDM_OK : PDM_NOMEM;
}

static pdm_status copy_attrs(const pdm_lg_copier *c, const pdm_lg_attr *from, size_t n,
                             const pdm_lg_attr **to)
{
    pdm_lg_attr *attrs = pdm_arena_calloc(c->arena, n, sizeof *attrs);

    if (!attrs)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        PDM_TRY(copy_attr(c, &from[i], &attrs[i]));
    *to = attrs;
    return PDM_OK;
}

/* ---- ops and variables ----------------------------------------------------------------------- */

static pdm_status copy_slots(const pdm_lg_copier *c, const pdm_lg_slot *from, size_t n,
                             const pdm_lg_slot **to)
{
    pdm_lg_slot *slots = pdm_arena_calloc(c->arena, n, sizeof *slots);

    if (!slots)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        slots[i].num_args = from[i].num_args;
        PDM_TRY(copy_name(c, from[i].name, &slots[i].name));
        PDM_TRY(copy_var_names(c, from[i].args, from[i].num_args, &slots[i].args));
    }
    *to = slots;
    return PDM_OK;
}

pdm_status pdm_lg_copy_op(const pdm_lg_copier *c, const pdm_lg_op *from, pdm_lg_op *to)
{
    *to = *from;
    PDM_TRY(copy_name(c, from->type, &to->type));
    PDM_TRY(copy_slots(c, from->inputs, from->num_inputs, &to->inputs));
    PDM_TRY(copy_slots(c, from->outputs, from->num_outputs, &to->outputs));
    return copy_attrs(c, from->attrs, from->num_attrs, &to->attrs);
}

pdm_status pdm_lg_copy_var(const pdm_lg_copier *c, const pdm_lg_var *from, pdm_lg_var *to)
{
    *to = *from;
    PDM_TRY(copy_var_name(c, from->name, &to->name));
    to->dims = copy_list(c, from->dims, from->rank, sizeof *from->dims);
    if (!to->dims)
        return PDM_NOMEM;
    return copy_attrs(c, from->attrs, from->num_attrs, &to->attrs);
}

pdm_status pdm_lg_copy_versions(const pdm_lg_copier *c, const pdm_lg_program *from,
                                pdm_lg_program *to)
{
    pdm_lg_op_version *list = pdm_arena_calloc(c->arena, from->num_op_versions, sizeof *list);

    if (!list)
        return PDM_NOMEM;
    for (size_t i = 0; i < from->num_op_versions; i++) {
        list[i].version = from->op_versions[i].version;
        PDM_TRY(copy_name(c, from->op_versions[i].type, &list[i].type));
    }
    to->op_versions = list;
    to->num_op_versions = from->num_op_versions;
    to->has_op_versions = from->has_op_versions;
    to->version = from->version;
    to->has_version = from->has_version;
    return PDM_OK;
}
