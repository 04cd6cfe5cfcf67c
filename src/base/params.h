/*
 * Parameter files (.pdiparams and one-file-per-variable): records of the form in docs (version,
 * LoD, version, TensorDesc, data) back to back, without names: which record is which comes from the
 * order of the names (ascending by bytes). Only headers are read; data stay in the file.
 */
#ifndef PDM_BASE_PARAMS_H
#define PDM_BASE_PARAMS_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/tensor.h"

typedef enum pdm_param_kind {
    PDM_PARAM_DENSE,
    PDM_PARAM_SELECTED_ROWS,
    PDM_PARAM_VOCAB
} pdm_param_kind;

/* One record of a parameter file. */
typedef struct pdm_param {
    const char *name;    /* as given to the scan; not copied */
    pdm_param_kind kind; /* as given to the scan */
    pdm_dtype dtype;
    const int64_t *dims;
    size_t rank;
    size_t num_lod_levels;
    const char *path;      /* the file that holds it; NULL: memory does */
    const unsigned char *record; /* the whole record in memory; NULL: it is in a file */
    uint64_t offset, size; /* the whole record */
    /* The raw data: of selected rows the values, of a vocabulary the whole record. */
    uint64_t data_offset, data_size;
} pdm_param;

typedef struct pdm_params {
    pdm_arena arena;
    pdm_param *items; /* in the order of the names given */
    size_t count;
    bool sorted; /* names ascend by bytes, so that pdm_params_find can bisect */
} pdm_params;

void pdm_params_init(pdm_params *params);
void pdm_params_deinit(pdm_params *params);

/*
 * Scan a combined file whose records are those of names (sorted by bytes) with kinds (NULL: all
 * dense). Every problem is reported: truncated or implausible headers with the parameter's name,
 * too few records, bytes left over, a pickle instead of a parameter file. params must be
 * initialised and is owned by the caller in any case.
 */
PDM_MUST_USE pdm_status pdm_params_scan_combined(pdm_params *params, const char *path,
                                                 const char *const *names,
                                                 const pdm_param_kind *kinds, size_t count,
                                                 pdm_diag_sink *sink);
/* The same for folder/NAME files (a '/' in a name is a sub-folder; "." and ".." components are
 * refused). */
PDM_MUST_USE pdm_status pdm_params_scan_folder(pdm_params *params, const char *folder,
                                               const char *const *names,
                                               const pdm_param_kind *kinds, size_t count,
                                               pdm_diag_sink *sink);
/* The name is compared by content; NULL if absent. */
const pdm_param *pdm_params_find(const pdm_params *params, const char *name);
/* The same, looked for first at *at, which becomes the place after it: names asked for in the order
 * of params are found at once. */
const pdm_param *pdm_params_next(const pdm_params *params, const char *name, size_t *at);

/* Reads data of parameters; the file of the last one stays open. */
typedef struct pdm_param_reader {
    int fd; /* -1: none */
    const char *path;
} pdm_param_reader;

void pdm_param_reader_init(pdm_param_reader *reader);
void pdm_param_reader_deinit(pdm_param_reader *reader);
/* The data as a new tensor; what cannot be read is told. Not for vocabularies. */
PDM_MUST_USE pdm_status pdm_param_read(pdm_param_reader *reader, const pdm_param *param,
                                       pdm_diag_sink *sink, pdm_tensor *out);
/* A parameter whose record, as files have it, is made in memory, in the arena; name is copied there. */
PDM_MUST_USE pdm_status pdm_param_make(pdm_arena *arena, const char *name, const pdm_tensor *tensor,
                                       pdm_param *out);

#endif
