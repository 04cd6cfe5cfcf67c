#include "base/intern.h"

#include <stdbool.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

struct pdm_intern_slot {
    uint64_t hash;
    const char *text; /* NULL: free */
    size_t len;
};

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t finish(uint64_t h)
{
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 29;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 32;
}

uint64_t pdm_hash_bytes(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = seed ^ (uint64_t)size * 0x9e3779b97f4a7c15u;

    /* Little-endian words: the same value on every machine. */
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = rotate(h ^ le64toh(w) * 0xbf58476d1ce4e5b9u, 27) * 0x94d049bb133111ebu;
    }
    uint64_t tail = 0;
    if (size)
        memcpy(&tail, p, size);
    h = rotate(h ^ le64toh(tail) * 0xbf58476d1ce4e5b9u, 27) * 0x94d049bb133111ebu;
    return finish(h);
}

void pdm_intern_init(pdm_intern *table, pdm_arena *arena)
{
    *table = (pdm_intern){.arena = arena};
}

void pdm_intern_deinit(pdm_intern *table)
{
    free(table->slots);
    *table = (pdm_intern){0};
}

/* The slot that holds the text, or the free one where it belongs. */
static pdm_intern_slot *slot_of(const pdm_intern *table, uint64_t hash, const char *text,
                                size_t len)
{
    size_t i = (size_t)hash & (table->capacity - 1);

    for (;; i = (i + 1) & (table->capacity - 1)) {
        pdm_intern_slot *slot = &table->slots[i];
        if (!slot->text)
            return slot;
        if (slot->hash == hash && slot->len == len && (len == 0 || !memcmp(slot->text, text, len)))
            return slot;
    }
}

static bool grow(pdm_intern *table)
{
    const size_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
    pdm_intern_slot *slots = capacity > table->capacity ? calloc(capacity, sizeof *slots) : NULL;

    if (!slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        size_t j = (size_t)table->slots[i].hash & (capacity - 1);
        if (!table->slots[i].text)
            continue;
        while (slots[j].text)
            j = (j + 1) & (capacity - 1);
        slots[j] = table->slots[i];
    }
    free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return true;
}

const char *pdm_intern_get(pdm_intern *table, const char *text, size_t len)
{
    const uint64_t hash = pdm_hash_bytes(text, len, 0);

    if (table->capacity == 0 && !grow(table))
        return NULL;
    pdm_intern_slot *slot = slot_of(table, hash, text, len);
    if (slot->text)
        return slot->text;
    if (table->count >= table->capacity / 2) {
        if (!grow(table))
            return NULL;
        slot = slot_of(table, hash, text, len);
    }
    char *copy = pdm_arena_strndup(table->arena, text, len);
    if (!copy)
        return NULL;
    *slot = (pdm_intern_slot){hash, copy, len};
    table->count++;
    return copy;
}

const char *pdm_intern_cstr(pdm_intern *table, const char *text)
{
    return pdm_intern_get(table, text, strlen(text));
}

const char *pdm_intern_find(const pdm_intern *table, const char *text, size_t len)
{
    if (table->count == 0)
        return NULL;
    return slot_of(table, pdm_hash_bytes(text, len, 0), text, len)->text;
}
