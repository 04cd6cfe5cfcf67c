/* A backend with a fault, "faulty": what a search for differences must find. */
#ifndef PDM_TESTS_PROGRAMS_FAULTY_H
#define PDM_TESTS_PROGRAMS_FAULTY_H

#include "cinn/backend.h"

extern const pdm_cinn_backend faulty_backend;

#endif
