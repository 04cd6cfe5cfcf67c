/*
 * main for a fuzz harness where there is no fuzzer: runs it over the files and folders named, and
 * prints how many inputs there were.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t num_inputs;

static int fail(const char *path)
{
    perror(path);
    return 1;
}

/* The buffer is as large as the file, so that a checker of memory sees every overrun. */
static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    int failed = !file || !data || fread(data, 1, size, file) != size;

    if (failed) {
        fail(path);
    } else {
        LLVMFuzzerTestOneInput(data, size);
        num_inputs++;
    }
    free(data);
    if (file)
        fclose(file);
    return failed;
}

static int replay(const char *path);

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int failed = 0;

    if (!folder)
        return fail(path);
    while (!failed && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        size_t size = strlen(path) + strlen(entry->d_name) + 2;
        char *inner = malloc(size);
        if (!inner) {
            failed = fail(path);
            break;
        }
        snprintf(inner, size, "%s/%s", path, entry->d_name);
        failed = replay(inner);
        free(inner);
    }
    closedir(folder);
    return failed;
}

static int replay(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return fail(path);
    return S_ISDIR(info.st_mode) ? replay_folder(path) : replay_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (replay(argv[i]) != 0)
            return EXIT_FAILURE;
    }
    printf("%zu inputs\n", num_inputs);
    return EXIT_SUCCESS;
}
