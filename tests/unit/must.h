/*
 * Check notes the place of each assertion by a system call. must() is an assertion for loops with
 * many thousands of turns: it says less, and costs nothing when it holds.
 */
#ifndef PDM_TESTS_UNIT_MUST_H
#define PDM_TESTS_UNIT_MUST_H

#include <check.h>

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s", #condition);                                                        \
    } while (0)

#endif
