#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 256 * 1024 };

struct pdm_arena_block {
    pdm_arena_block *next;
    size_t size, used; /* of data */
    alignas(ALIGNMENT) unsigned char data[];
};

void pdm_arena_init(pdm_arena *arena)
{
    *arena = (pdm_arena){0};
}

static void free_blocks(pdm_arena_block *block)
{
    while (block) {
        pdm_arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void pdm_arena_deinit(pdm_arena *arena)
{
    free_blocks(arena->head);
    *arena = (pdm_arena){0};
}

void pdm_arena_reset(pdm_arena *arena)
{
    if (!arena->head)
        return;
    free_blocks(arena->head->next);
    arena->head->next = NULL;
    arena->head->used = 0;
    arena->used = 0;
    arena->reserved = arena->head->size;
}

static pdm_arena_block *add_block(pdm_arena *arena, size_t size)
{
    pdm_arena_block *block = malloc(sizeof *block + size);

    if (!block)
        return NULL;
    block->size = size;
    block->used = 0;
    arena->reserved += size;
    return block;
}

/* A block with room for size more bytes, linked in; NULL when out of memory. */
static pdm_arena_block *block_for(pdm_arena *arena, size_t size)
{
    pdm_arena_block *head = arena->head, *block;
    size_t wanted = head ? head->size * 2 : FIRST_BLOCK;

    if (wanted > LARGEST_BLOCK)
        wanted = LARGEST_BLOCK;
    if (head && size > wanted / 4) {
        /* A big piece gets a block of its own behind the head, whose rest stays in use. */
        if (!(block = add_block(arena, size)))
            return NULL;
        block->next = head->next;
        head->next = block;
        return block;
    }
    if (!(block = add_block(arena, size > wanted ? size : wanted)))
        return NULL;
    block->next = head;
    arena->head = block;
    return block;
}

void *pdm_arena_alloc(pdm_arena *arena, size_t size)
{
    pdm_arena_block *block = arena->head;

    if (size > PTRDIFF_MAX - sizeof *block - ALIGNMENT)
        return NULL;
    size = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    if (!block || block->size - block->used < size) {
        block = block_for(arena, size);
        if (!block)
            return NULL;
    }
    void *out = block->data + block->used;
    block->used += size;
    arena->used += size;
    return out;
}

void *pdm_arena_calloc(pdm_arena *arena, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *out = pdm_arena_alloc(arena, bytes);
    return out ? memset(out, 0, bytes) : NULL;
}

void *pdm_arena_memdup(pdm_arena *arena, const void *data, size_t size)
{
    void *out = pdm_arena_alloc(arena, size);

    if (out && size)
        memcpy(out, data, size);
    return out;
}

char *pdm_arena_strndup(pdm_arena *arena, const char *text, size_t len)
{
    if (len == SIZE_MAX)
        return NULL;
    char *out = pdm_arena_alloc(arena, len + 1);
    if (!out)
        return NULL;
    if (len)
        memcpy(out, text, len);
    out[len] = '\0';
    return out;
}
