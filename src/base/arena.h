/* Bump allocator over malloc'ed blocks; everything is freed at once. One thread at a time. */
#ifndef PDM_BASE_ARENA_H
#define PDM_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct pdm_arena_block pdm_arena_block;

typedef struct pdm_arena {
    pdm_arena_block *head; /* newest block */
    size_t used, reserved; /* bytes handed out, bytes malloc'ed */
} pdm_arena;

void pdm_arena_init(pdm_arena *arena);
void pdm_arena_deinit(pdm_arena *arena); /* frees everything */
void pdm_arena_reset(pdm_arena *arena);  /* frees all but one block */

/* size bytes aligned to 16, not cleared; NULL when out of memory. size 0 gives a valid pointer. */
void *pdm_arena_alloc(pdm_arena *arena, size_t size);
/* count*size bytes, overflow checked, cleared. */
void *pdm_arena_calloc(pdm_arena *arena, size_t count, size_t size);
void *pdm_arena_memdup(pdm_arena *arena, const void *data, size_t size);
/* NUL-terminated copy of len bytes. */
char *pdm_arena_strndup(pdm_arena *arena, const char *text, size_t len);

#endif
