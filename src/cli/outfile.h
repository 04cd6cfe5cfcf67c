/* Text files that appear whole or not at all. */
#ifndef PDM_CLI_OUTFILE_H
#define PDM_CLI_OUTFILE_H

#include "report.h"

/* Whether path may be written: it does not exist, or overwrite. What speaks against it is told. */
pdm_status cli_outfile_check(cli_report *report, const char *path, bool overwrite);
/* What print writes becomes the file. Errors are told. */
pdm_status cli_outfile_write(cli_report *report, const char *path, bool overwrite,
                             void (*print)(FILE *out, const void *what), const void *what);

#endif
