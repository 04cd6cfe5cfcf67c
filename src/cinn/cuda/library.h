/*
 * Libraries of NVIDIA, opened when they are first needed: where one is missing the same binary
 * runs without. A table of functions is filled from it.
 */
#ifndef PDM_CINN_CUDA_LIBRARY_H
#define PDM_CINN_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pdm_cinn_cuda_symbol {
    const char *name;
    size_t at; /* in the table */
} pdm_cinn_cuda_symbol;

/* variable: of the environment, names another library than the first of names (which end with NULL)
 * that is there. reason: what is missing. */
bool pdm_cinn_cuda_open(const char *variable, const char *const *names, const pdm_cinn_cuda_symbol *symbols,
                        size_t count, void *table, char *reason, size_t room);

#endif
