/* What --bisect prints. */
#ifndef PDM_CLI_BISECT_H
#define PDM_CLI_BISECT_H

#include <pdmigrate/pdmigrate.h>
#include <stdio.h>

void cli_bisect_text(FILE *out, const pdm_bisection *bisection);
void cli_bisect_json(FILE *out, const pdm_bisection *bisection); /* one object */

#endif
