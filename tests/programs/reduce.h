/* Make a program that fails small: it must go on failing in the same way. */
#ifndef PDM_TESTS_PROGRAMS_REDUCE_H
#define PDM_TESTS_PROGRAMS_REDUCE_H

#include "program.h"

typedef bool (*reduce_fails_fn)(void *user, const program *p);

/* p becomes smaller. seconds: when they are over, what has been reached is left. */
void program_reduce(program *p, reduce_fails_fn fails, void *user, int seconds);

#endif
