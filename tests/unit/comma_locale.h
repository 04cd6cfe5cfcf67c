/* A locale with a decimal comma, which need not be installed: programs that use the library may have one. */
#ifndef PDM_TESTS_UNIT_COMMA_LOCALE_H
#define PDM_TESTS_UNIT_COMMA_LOCALE_H

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* From now on, until setlocale(LC_NUMERIC, "C"). */
static void take_comma_locale(void)
{
    /* LC_NUMERIC of glibc with decimal comma and grouping, as localedef makes it. */
    static const unsigned char comma_locale[] = {
        0x14, 0x11, 0x03, 0x20, 0x06, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x22, 0x00, 0x00, 0x00,
        0x24, 0x00, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00,
        0x2c, 0x00, 0x2e, 0x00, 0x03, 0x03, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x2e, 0x00, 0x00, 0x00,
        0x41, 0x4e, 0x53, 0x49, 0x5f, 0x58, 0x33, 0x2e, 0x34, 0x2d, 0x31, 0x39, 0x36, 0x38, 0x00,
    };
    char root[] = "/tmp/pdm-locale-XXXXXX", folder[64], file[80], probe[16];

    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/xx_XX", root);
    snprintf(file, sizeof file, "%s/LC_NUMERIC", folder);
    ck_assert_int_eq(mkdir(folder, 0777), 0);
    FILE *f = fopen(file, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(comma_locale, 1, sizeof comma_locale, f), sizeof comma_locale);
    ck_assert_int_eq(fclose(f), 0);
    setenv("LOCPATH", root, 1);
    const char *set = setlocale(LC_NUMERIC, "xx_XX");
    unlink(file);
    rmdir(folder);
    rmdir(root);
    ck_assert_ptr_nonnull(set);
    snprintf(probe, sizeof probe, "%.1f", 1.5);
    ck_assert_str_eq(probe, "1,5");
}

#endif
