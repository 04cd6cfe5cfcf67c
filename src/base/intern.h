/* Interned strings: equal contents give the same pointer for the life of the table. One thread at a
 * time. */
#ifndef PDM_BASE_INTERN_H
#define PDM_BASE_INTERN_H

#include "base/arena.h"

typedef struct pdm_intern_slot pdm_intern_slot;

typedef struct pdm_intern {
    pdm_arena *arena; /* strings live here; not owned */
    pdm_intern_slot *slots;
    size_t count, capacity;
} pdm_intern;

void pdm_intern_init(pdm_intern *table, pdm_arena *arena);
void pdm_intern_deinit(pdm_intern *table); /* frees the table, not the strings */
/* The interned, NUL-terminated copy of len bytes; NULL when out of memory. */
const char *pdm_intern_get(pdm_intern *table, const char *text, size_t len);
const char *pdm_intern_cstr(pdm_intern *table, const char *text);
/* The interned string if it is there already, else NULL. */
const char *pdm_intern_find(const pdm_intern *table, const char *text, size_t len);

/* 64-bit hash of bytes, the same in every run and on every machine. */
uint64_t pdm_hash_bytes(const void *data, size_t size, uint64_t seed);

#endif
