/*
 * Hash map from a pointer (compared by address: interned strings, values, ops) to a pointer-sized
 * payload. Open addressing; iteration order is unspecified, so never let it decide an output. One
 * thread at a time.
 */
#ifndef PDM_BASE_MAP_H
#define PDM_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pdm_map_entry {
    const void *key; /* NULL: free */
    union {
        void *ptr;
        uint64_t num;
    } value;
} pdm_map_entry;

typedef struct pdm_map {
    pdm_map_entry *entries;
    size_t count, capacity; /* capacity is 0 or a power of two */
} pdm_map;

void pdm_map_init(pdm_map *map); /* a zeroed map is valid too */
void pdm_map_deinit(pdm_map *map);
/* The entry of key, or NULL. Valid until the next put. */
pdm_map_entry *pdm_map_find(const pdm_map *map, const void *key);
/* Find or add (value zeroed); NULL when out of memory. key is not NULL. */
pdm_map_entry *pdm_map_put(pdm_map *map, const void *key);
/* Room for count entries in all; false when out of memory. */
bool pdm_map_reserve(pdm_map *map, size_t count);
void pdm_map_remove(pdm_map *map, const void *key);
void pdm_map_clear(pdm_map *map);

#endif
