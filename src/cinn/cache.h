/*
 * Compiled code on disk: a folder with a file for each key. A key is text, all that the code
 * depends on; files are found by its hash, but it is compared in full. Entries are complete or not
 * there, whoever else uses the folder at the time; each has a checksum, and a broken one counts as
 * missing. What was not used for longest goes first when there is too much.
 *
 * Code from here is executed, so a folder that others own or may write is not used. Whatever fails,
 * the worst is that code is made anew: pdm_cinn_note tells.
 *
 * All functions may be called from any thread.
 */
#ifndef PDM_CINN_CACHE_H
#define PDM_CINN_CACHE_H

#include "base/buf.h"
#include "base/status.h"

enum { PDM_CINN_CACHE_DEFAULT_SIZE = 256 << 20 };

/*
 * Which folder: NULL is $PDM_CACHE_DIR, $XDG_CACHE_HOME/pdmigrate or ~/.cache/pdmigrate, whichever
 * there is first. off: none; so does PDM_CACHE=off in the environment, when folder is NULL.
 * max_size: bytes; 0 is the default. From now on.
 */
PDM_MUST_USE pdm_status pdm_cinn_cache_configure(const char *folder, bool off, uint64_t max_size);

/* *out_data (malloc'ed) is NULL when there is none. */
PDM_MUST_USE pdm_status pdm_cinn_cache_find(const pdm_buf *key, void **out_data, size_t *out_size);
void pdm_cinn_cache_store(const pdm_buf *key, const void *data, size_t size);

uint64_t pdm_cinn_cache_max_size(void);

typedef struct pdm_cinn_cache_counts {
    uint64_t entries, bytes; /* of files that are there now; bytes as they are long */
    uint64_t broken;         /* only verify counts them */
    uint64_t removed, removed_bytes;
} pdm_cinn_cache_counts;

/* The folder, whether it is there or not; "" when there is none. reason (text in out_reason's
 * room): why it is not used, "" when it is or could be. */
enum { PDM_CINN_CACHE_REASON = 512 };
PDM_MUST_USE pdm_status pdm_cinn_cache_folder(pdm_buf *out, char out_reason[PDM_CINN_CACHE_REASON]);
/* PDM_IO: the folder cannot be used, see there. One that is missing is empty. */
PDM_MUST_USE pdm_status pdm_cinn_cache_count(pdm_cinn_cache_counts *out);
/* Read all entries; broken ones are removed. */
PDM_MUST_USE pdm_status pdm_cinn_cache_verify(pdm_cinn_cache_counts *out);
/* Remove what was not used for longest until no more than that is left. */
PDM_MUST_USE pdm_status pdm_cinn_cache_prune(uint64_t max_size, pdm_cinn_cache_counts *out);

#endif
