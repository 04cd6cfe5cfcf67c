/*
 * A list of names without duplicates, in the order of insertion, that can also be asked as a set.
 * It owns its strings. One thread at a time.
 */
#ifndef PDM_LG_NAMES_H
#define PDM_LG_NAMES_H

#include "base/arena.h"
#include "base/intern.h"
#include "base/status.h"

typedef struct pdm_lg_names {
    pdm_arena arena;
    pdm_intern set; /* of what is in v */
    const char **v;
    size_t n, cap;
} pdm_lg_names;

PDM_MUST_USE pdm_status pdm_lg_names_create(pdm_lg_names **out_names);
void pdm_lg_names_destroy(pdm_lg_names *names); /* NULL is allowed */
/* A name that is there already stays where it is. */
PDM_MUST_USE pdm_status pdm_lg_names_add(pdm_lg_names *names, const char *name);
/* The pieces of text between separators; empty pieces are dropped. NULL: none. */
PDM_MUST_USE pdm_status pdm_lg_names_add_list(pdm_lg_names *names, const char *text,
                                              char separator);
PDM_MUST_USE pdm_status pdm_lg_names_copy(const pdm_lg_names *names, pdm_lg_names **out_names);
bool pdm_lg_names_has(const pdm_lg_names *names, const char *name); /* NULL has nothing */

#endif
