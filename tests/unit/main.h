/*
 * The main function of a unit test program: a table of suites, run by Check, printed as TAP.
 *
 *     #define SUITES(X) \
 *         X(arena)      \
 *         X(vec)
 *     PDM_UNIT_MAIN(SUITES)
 *
 * declares `Suite *pdm_suite_arena(void);` for each row (defined in its own file) and defines main.
 * With arguments only the suites named are run. PDM_UNIT_FORK, defined before this file is included:
 * each test runs in a process of its own even where CK_FORK=no is set (limits, folders, kills).
 */
#ifndef PDM_TESTS_UNIT_MAIN_H
#define PDM_TESTS_UNIT_MAIN_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct pdm_unit_row {
    const char *name;
    Suite *(*make)(void);
} pdm_unit_row;

static int pdm_unit_wanted(const char *name, int argc, char **argv)
{
    if (argc < 2) {
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

static int pdm_unit_run(const pdm_unit_row *rows, size_t n, int argc, char **argv)
{
    /* Of one test, in seconds: only a hang is to fail by time, not a busy machine or a slow disk. */
    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < n; i++) {
        if (pdm_unit_wanted(rows[i].name, argc, argv)) {
            srunner_add_suite(runner, rows[i].make());
        }
    }
    srunner_set_tap(runner, "-");
#ifdef PDM_UNIT_FORK
    srunner_set_fork_status(runner, CK_FORK);
#endif
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define PDM_UNIT_DECLARE(name) Suite *pdm_suite_##name(void);
#define PDM_UNIT_ROW(name)     {#name, pdm_suite_##name},
#define PDM_UNIT_MAIN(SUITES)                                                                      \
    SUITES(PDM_UNIT_DECLARE)                                                                       \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const pdm_unit_row rows[] = {SUITES(PDM_UNIT_ROW)};                                 \
        return pdm_unit_run(rows, sizeof rows / sizeof rows[0], argc, argv);                       \
    }

#endif
