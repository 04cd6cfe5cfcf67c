/*
 * pdm-nvrtc ARCH FILE.cu...: compile the kernels of files in CUDA C by NVRTC, for sm_80 or the like. Many are compiled
 * at once; when those fail, each alone, to name the ones that fail. Prints what NVRTC says of them, and at last
 * `ARCH: N of M kernels`. Exit status 77: there is no NVRTC, and why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cinn/cuda/nvrtc.h"

enum { AT_ONCE = 300 };

static const char start[] = "\nPDM_KERNEL ";
static const char *arch;
static size_t passed, total;

static bool compiles(const char *prologue, size_t prologue_size, const char *from, size_t size, bool tell)
{
    pdm_buf text, log;
    void *code = NULL;
    size_t code_size;

    pdm_buf_init(&text);
    pdm_buf_init(&log);
    pdm_buf_put(&text, prologue, prologue_size);
    pdm_buf_put(&text, from, size);
    const bool done = pdm_cinn_nvrtc_compile(&text, arch, true, &log, &code, &code_size) == PDM_OK;
    if (!done && tell)
        printf("%.*s\n%.*s\n", (int)(size < 200 ? size : 200), from, (int)log.size, log.data ? log.data : "");
    free(code);
    pdm_buf_deinit(&text);
    pdm_buf_deinit(&log);
    return done;
}

/* The end of so many kernels. */
static const char *skip(const char *from, size_t count, size_t *out_count)
{
    const char *at = from;

    for (*out_count = 0; at && *out_count < count; ++*out_count) {
        const char *next = strstr(at + 1, start);
        if (!next) {
            ++*out_count;
            return at + strlen(at);
        }
        at = next;
    }
    return at;
}

static void check(const char *text)
{
    const char *first = strstr(text, start), *end;
    size_t count;

    for (const char *at = first; at && *at; at = end) {
        end = skip(at, AT_ONCE, &count);
        total += count;
        if (compiles(text, (size_t)(first - text), at, (size_t)(end - at), false)) {
            passed += count;
            continue;
        }
        for (const char *one = at, *next; one < end; one = next) {
            size_t n;
            next = skip(one, 1, &n);
            passed += compiles(text, (size_t)(first - text), one, (size_t)(next - one), true);
        }
    }
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    pdm_buf text;
    char part[4096];
    size_t got;

    if (!file)
        return NULL;
    pdm_buf_init(&text);
    while ((got = fread(part, 1, sizeof part, file)) > 0)
        pdm_buf_put(&text, part, got);
    fclose(file);
    pdm_buf_putc(&text, '\0');
    char *copy = pdm_buf_ok(&text) ? strdup(text.data) : NULL;
    pdm_buf_deinit(&text);
    return copy;
}

int main(int argc, char **argv)
{
    const char *missing = pdm_cinn_nvrtc_why_not();

    if (argc < 3) {
        fputs("usage: pdm-nvrtc ARCH FILE.cu...\n", stderr);
        return 2;
    }
    if (missing) {
        puts(missing);
        return 77;
    }
    arch = argv[1];
    for (int i = 2; i < argc; i++) {
        char *text = read_file(argv[i]);
        if (!text) {
            fprintf(stderr, "pdm-nvrtc: %s cannot be read\n", argv[i]);
            return 2;
        }
        check(text);
        free(text);
    }
    printf("%s: %zu of %zu kernels\n", arch, passed, total);
    return passed == total ? 0 : 1;
}
