/* A backend for tests: see emulated.c. */
#ifndef PDM_TESTS_EMULATED_H
#define PDM_TESTS_EMULATED_H

#include "cinn/backend.h"

extern const pdm_cinn_backend emulated_backend;

#endif
