/* A scratch folder for tests that need files. Check runs each test in its own process, so statics
 * do. */
#ifndef PDM_TESTS_UNIT_BASE_SCRATCH_H
#define PDM_TESTS_UNIT_BASE_SCRATCH_H

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_root[64];

static inline void scratch_make(void)
{
    strcpy(scratch_root, "/tmp/pdm-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch_root));
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int kind,
                                     struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline void scratch_remove(void)
{
    nftw(scratch_root, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of a name in the folder; valid until eight more are asked for. */
static inline const char *scratch(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof paths[0], "%s/%s", scratch_root, name);
    return path;
}

static inline void scratch_write(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(scratch(name), "wb");

    ck_assert_ptr_nonnull(f);
    if (size)
        ck_assert_uint_eq(fwrite(data, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

/* Entries of the folder, hidden ones too. */
static inline int scratch_entries(void)
{
    DIR *dir = opendir(scratch_root);
    int n = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

#endif
