/*
 * Files of tensors as numpy writes them: `.npy` (one array) and `.npz` (a zip of them).
 *
 * Keys of recorded runs: `in:<name>`, `out:<position>:<name>`, `lod:<in|out>:<name>:<level>`; any
 * other key is a plain name. numpy has no bfloat16: such arrays are stored as uint16, and whoever
 * knows the type reinterprets them.
 *
 * Files are hostile until proven otherwise: sizes are bounded before anything is allocated, and
 * what is not plain little-endian numbers (pickles, strings, big-endian) is refused with a reason.
 */
#ifndef PDM_BASE_NPZ_H
#define PDM_BASE_NPZ_H

#include "base/diag.h"
#include "base/tensor.h"

#define PDM_NPZ_MAX_BYTES   ((uint64_t)1 << 34) /* of all arrays together, unpacked */
#define PDM_NPZ_MAX_ENTRIES 65536

typedef struct pdm_npz_entry {
    char *key; /* without ".npy"; malloc'ed */
    pdm_tensor tensor;
} pdm_npz_entry;

typedef struct pdm_npz {
    pdm_npz_entry *items; /* in file order */
    size_t count, capacity;
} pdm_npz;

void pdm_npz_init(pdm_npz *npz); /* a zeroed struct is fine too */
void pdm_npz_deinit(pdm_npz *npz);

/*
 * Read a whole `.npz`, or a `.npy` (its key is the file's name without ending). max_bytes 0 stands
 * for PDM_NPZ_MAX_BYTES. npz is initialised and is the caller's to deinit in any case.
 */
PDM_MUST_USE pdm_status pdm_npz_read(pdm_npz *npz, const char *path, uint64_t max_bytes,
                                     pdm_diag_sink *sink);
const pdm_tensor *pdm_npz_find(const pdm_npz *npz, const char *key); /* NULL: not there */
/* Add a reference to a tensor; the key is copied. */
PDM_MUST_USE pdm_status pdm_npz_add(pdm_npz *npz, const char *key, const pdm_tensor *tensor);
/* One level of LoD as an int64 array under "lod:SIDE:NAME:LEVEL", for each level. */
PDM_MUST_USE pdm_status pdm_npz_add_lod(pdm_npz *npz, const char *side, const char *name,
                                        const pdm_tensor *tensor);
/* Write all entries; the file appears whole or not at all. replace false: PDM_EXISTS. */
PDM_MUST_USE pdm_status pdm_npz_write(const pdm_npz *npz, const char *path, bool replace,
                                      pdm_diag_sink *sink);

/* ---- keys ------------------------------------------------------------------------------------ */

typedef enum pdm_npz_kind { PDM_NPZ_PLAIN, PDM_NPZ_IN, PDM_NPZ_OUT, PDM_NPZ_LOD } pdm_npz_kind;

typedef struct pdm_npz_key {
    pdm_npz_kind kind;
    const char *name; /* within the key, name_len bytes */
    size_t name_len;
    size_t position; /* OUT */
    bool lod_of_out; /* LOD */
    size_t level;    /* LOD */
} pdm_npz_key;

pdm_npz_key pdm_npz_key_parse(const char *key);
/* Set the LoD of an input from the "lod:in:NAME:*" entries; nothing when there are none. */
PDM_MUST_USE pdm_status pdm_npz_lod(const pdm_npz *npz, bool of_out, const char *name,
                                    pdm_tensor *tensor);

#endif
