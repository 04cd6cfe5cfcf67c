#include "unit/ir/alloc.h"

#include <stdbool.h>
#include <stddef.h>

uint64_t alloc_count;
int64_t alloc_live;
uint64_t alloc_fail;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);

static bool fails(void)
{
    return ++alloc_count == alloc_fail;
}

static void *counted(void *block)
{
    if (block)
        alloc_live++;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (fails())
        return NULL;
    return block ? __real_realloc(block, size) : counted(__real_malloc(size));
}

void __wrap_free(void *block)
{
    if (block)
        alloc_live--;
    __real_free(block);
}
