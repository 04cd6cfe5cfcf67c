#include "unit/main.h"

#define SUITES(X) X(tr_special)

PDM_UNIT_MAIN(SUITES)
