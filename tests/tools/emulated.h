/*
 * Backends for tests. "cuda-emulated" runs CUDA C by the emulator (emulator.h), each kernel compiled as C. So that the
 * C compiler need not be called for each, "cuda-collect" gathers the kernels of all that is run, by interpreting them,
 * in a file; a shared library made of that serves later runs.
 */
#ifndef PDM_TESTS_EMULATED_H
#define PDM_TESTS_EMULATED_H

#include "cinn/backend.h"

extern const pdm_cinn_backend emulated_backend, collecting_backend;

/* A nest alone is run with wide and with narrow indices, one after the other, unless this is false: it may read what it
 * stored before. */
extern bool emulated_twice;

/* Take kernels from a library when they are in it. */
bool emulated_open(const char *library);
/* Write what was collected: FILE.cu as CUDA has it, and FILE.c around it for the C compiler. */
bool collected_write(const char *file);

#endif
