/* Inputs of runs that no file gives. */
#ifndef PDM_CLI_INPUTS_H
#define PDM_CLI_INPUTS_H

#include "opt.h"
#include "report.h"

/* Whether the model has such an input; name has length bytes. */
bool cli_has_input(const pdm_plan *plan, const char *name, size_t length);
/* Set every input that io (NULL: no file) does not give to random numbers, in the shape of --shape
 * if there is one. Shapes that do not fit are told. Each draw
 * gives other numbers; random may be NULL. */
pdm_status cli_random_inputs(const cli_options *options, cli_report *report, const pdm_plan *plan,
                             pdm_session *session, const pdm_bundle *io, uint64_t draw,
                             const pdm_random_options *random);

#endif
