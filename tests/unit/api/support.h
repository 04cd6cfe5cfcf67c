/* For the tests of the public library: a context that remembers its diagnostics, fixtures, and a
 * folder to write to. */
#ifndef PDM_TESTS_API_SUPPORT_H
#define PDM_TESTS_API_SUPPORT_H

#include <pdmigrate/pdmigrate.h>

typedef struct heard {
    size_t errors, warnings, notes;
    char last_id[64]; /* of the last error, else of the last of any kind */
    char last_message[512];
    bool stop; /* what the cancel callback answers */
    size_t asked;
} heard;

/* A context whose diagnostics go to heard (zeroed first). */
pdm_context *api_context(heard *heard);
/* "SRCDIR/fixtures/NAME", in a static buffer of four. */
const char *api_fixture(const char *name);
/* A folder that is there during a test, and "FOLDER/NAME" in a static buffer of four. */
void api_folder_setup(void);
void api_folder_teardown(void);
const char *api_out(const char *name);
bool api_exists(const char *path);
bool api_same_content(const char *a, const char *b);

#endif
