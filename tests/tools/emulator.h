/*
 * Runs kernels of CUDA C as C. Threads of a block are coroutines of one thread; one kernel runs at a time. What goes
 * wrong ends the launch with a text:
 *
 *   - an access outside of the memory that was told, in shared memory also one to what nobody wrote yet;
 *   - two threads that access an element, one of them to write, with nothing between that orders them;
 *   - threads of a block that do not come to the same barrier, or of a warp to the same shuffle.
 */
#ifndef PDM_TESTS_EMULATOR_H
#define PDM_TESTS_EMULATOR_H

#include "base/buf.h"
#include "base/status.h"

/* As many as a dimension of a grid or block has. */
typedef struct emulator_size {
    unsigned x, y, z;
} emulator_size;

/* A grid of few blocks, which make a kernel go around more than once. */
static inline emulator_size emulator_few(unsigned x, unsigned y, unsigned z)
{
    return (emulator_size){x < 3 ? x : 3, y < 2 ? y : 2, z < 2 ? z : 2};
}

typedef struct emulator_kernel {
    void (*thread)(void **arguments); /* as a driver takes them: pointers to values */
    void (*bounds)(const long long *bytes);
    bool waits;
    unsigned num_arguments;
    const bool *pointers; /* by argument: it is one */
} emulator_kernel;

/* The text with what stands around it to be compiled as C. A kernel begins with "PDM_KERNEL name(". */
void emulator_wrap(const char *text, size_t size, pdm_buf *out);
/* Compile wrapped text to a shared library. Prints what the compiler said. */
bool emulator_compile(const pdm_buf *wrapped, const char *folder, const char *library);
/* A kernel of a library that dlopen opened. */
bool emulator_find(void *library, const char *name, emulator_kernel *out);
/* bytes: the size of what each argument points to; ignored for numbers. NULL when all went well, else what went
 * wrong, until the next launch. */
const char *emulator_launch(const emulator_kernel *kernel, emulator_size grid, emulator_size block, void **arguments,
                            const long long *bytes);

#endif
