#include "base/map.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void pdm_map_init(pdm_map *map)
{
    *map = (pdm_map){0};
}

void pdm_map_deinit(pdm_map *map)
{
    free(map->entries);
    *map = (pdm_map){0};
}

void pdm_map_clear(pdm_map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        map->entries[i] = (pdm_map_entry){0};
    map->count = 0;
}

static size_t home_of(const pdm_map *map, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key;

    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 32;
    return (size_t)h & (map->capacity - 1);
}

/* The slot that holds key, or the free one where it belongs. */
static pdm_map_entry *slot_of(const pdm_map *map, const void *key)
{
    size_t i = home_of(map, key);

    while (map->entries[i].key && map->entries[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return &map->entries[i];
}

pdm_map_entry *pdm_map_find(const pdm_map *map, const void *key)
{
    if (map->count == 0 || !key)
        return NULL;
    pdm_map_entry *slot = slot_of(map, key);
    return slot->key ? slot : NULL;
}

static bool set_capacity(pdm_map *map, size_t capacity)
{
    pdm_map bigger = {.capacity = capacity, .count = map->count};

    bigger.entries = calloc(capacity, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].key)
            *slot_of(&bigger, map->entries[i].key) = map->entries[i];
    }
    free(map->entries);
    *map = bigger;
    return true;
}

/* At most three quarters of the slots are taken. */
static bool is_full(size_t count, size_t capacity)
{
    return count >= capacity - capacity / 4;
}

bool pdm_map_reserve(pdm_map *map, size_t count)
{
    size_t capacity = map->capacity ? map->capacity : FIRST_CAPACITY;

    if (count == 0)
        return true;
    while (is_full(count - 1, capacity)) {
        if (capacity > SIZE_MAX / 2)
            return false;
        capacity *= 2;
    }
    return capacity == map->capacity || set_capacity(map, capacity);
}

pdm_map_entry *pdm_map_put(pdm_map *map, const void *key)
{
    pdm_map_entry *slot = map->capacity ? slot_of(map, key) : NULL;

    if (slot && slot->key)
        return slot;
    if (!slot || is_full(map->count, map->capacity)) {
        if (!pdm_map_reserve(map, map->count + 1))
            return NULL;
        slot = slot_of(map, key);
    }
    *slot = (pdm_map_entry){.key = key};
    map->count++;
    return slot;
}

void pdm_map_remove(pdm_map *map, const void *key)
{
    pdm_map_entry *slot = pdm_map_find(map, key);
    const size_t mask = map->capacity - 1;

    if (!slot)
        return;
    /* Move later entries of the run into the hole, so that no tombstones are needed. */
    size_t hole = (size_t)(slot - map->entries);
    for (size_t i = (hole + 1) & mask; map->entries[i].key; i = (i + 1) & mask) {
        const size_t home = home_of(map, map->entries[i].key);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            hole = i;
        }
    }
    map->entries[hole] = (pdm_map_entry){0};
    map->count--;
}
