/*
 * pdm-emulate FILE.cu KERNEL BLOCKS THREADS FLOATS [FLOATS...]: run a kernel in CUDA C by the emulator. Each FLOATS is a
 * number of floats, an argument of the kernel; they are 0, 1, 2, ... at first. Prints them after the run, a line each,
 * or what went wrong.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cinn/cuda/print.h"
#include "emulator.h"

enum { MOST = 8 };

static bool read_text(const char *path, pdm_buf *out)
{
    char part[4096];
    size_t got;
    FILE *file = fopen(path, "r");

    pdm_cinn_cuda_prologue(out);
    while (file && (got = fread(part, 1, sizeof part, file)) > 0)
        pdm_buf_put(out, part, got);
    if (file)
        fclose(file);
    return file && pdm_buf_ok(out);
}

static void *build(const char *path)
{
    char folder[] = "/tmp/pdm-emulate-XXXXXX", library[64];
    pdm_buf text, wrapped;
    void *made = NULL;

    pdm_buf_init(&text);
    pdm_buf_init(&wrapped);
    if (mkdtemp(folder) && read_text(path, &text)) {
        snprintf(library, sizeof library, "%s/kernels.so", folder);
        emulator_wrap(text.data, text.size, &wrapped);
        if (pdm_buf_ok(&wrapped) && emulator_compile(&wrapped, folder, library))
            made = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        unlink(library);
    }
    rmdir(folder);
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&wrapped);
    return made;
}

int main(int argc, char **argv)
{
    emulator_kernel kernel;
    float *data[MOST];
    void *arguments[MOST];
    long long bytes[MOST];
    int count = 0;

    void *library = argc > 5 && argc <= 5 + MOST ? build(argv[1]) : NULL;
    if (!library || !emulator_find(library, argv[2], &kernel)) {
        fputs("usage: pdm-emulate FILE.cu KERNEL BLOCKS THREADS FLOATS...\n", stderr);
        return 2;
    }
    for (int i = 5; i < argc; i++, count++) {
        const int n = atoi(argv[i]);
        data[count] = malloc((size_t)n * sizeof(float) + 1);
        for (int k = 0; data[count] && k < n; k++)
            data[count][k] = (float)k;
        bytes[count] = (long long)n * (long long)sizeof(float);
        arguments[count] = &data[count];
    }
    const emulator_size grid = {(unsigned)atoi(argv[3]), 1, 1}, block = {(unsigned)atoi(argv[4]), 1, 1};
    const char *fault = (unsigned)count == kernel.num_arguments ? emulator_launch(&kernel, grid, block, arguments, bytes)
                                                                : "the kernel has another number of arguments";
    if (fault)
        puts(fault);
    for (int i = 0; i < count; i++) {
        for (int k = 0; !fault && k < (int)(bytes[i] / (long long)sizeof(float)); k++)
            printf("%s%g", k ? " " : "", (double)data[i][k]);
        if (!fault)
            putchar('\n');
        free(data[i]);
    }
    return fault ? 1 : 0;
}
