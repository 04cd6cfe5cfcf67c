/*
 * Diagnostics: what is wrong in the user's model, told through a sink. A status only says that a
 * call failed; the sink carries the reasons, and counts them so that a pass over a model can
 * collect all problems before it fails. A sink belongs to one thread. Messages are formatted into a
 * bounded buffer: emitting allocates nothing and cannot fail.
 */
#ifndef PDM_BASE_DIAG_H
#define PDM_BASE_DIAG_H

#include "base/status.h"

/* The catalogue: PDM_DIAG(enumerator, "id", severity, "explanation"). */
typedef enum pdm_diag_code {
#define PDM_DIAG(code, id, severity, text) code,
#include "base/diags.def"
#undef PDM_DIAG
    PDM_D_COUNT
} pdm_diag_code;

/* Where. Begin with PDM_NOWHERE and fill in what is known. */
typedef struct pdm_loc {
    const char *file;
    int64_t offset, line, column;
    int32_t block, op_index;
    const char *op_type, *var;
} pdm_loc;

#define PDM_NOWHERE ((pdm_loc){NULL, -1, -1, -1, -1, -1, NULL, NULL})

typedef struct pdm_diag_sink {
    pdm_diagnostic_fn fn; /* may be NULL */
    void *user;
    bool verbose; /* pass notes on */
    size_t num_errors, num_warnings;
    size_t num_invalid;     /* errors whose catalogue row says that the model is invalid */
    size_t num_unsupported; /* errors that say unsupported */
    /* What the errors so far amount to: INVALID_MODEL wins over UNSUPPORTED, a file that fails over
     * both. */
    pdm_status worst;
} pdm_diag_sink;

/*
 * Emit a diagnostic; hint may be NULL. The status class of the error comes from the catalogue. sink
 * may be NULL (dropped). Returns the status that this diagnostic stands for (PDM_OK for warnings
 * and notes), so that `return pdm_diag(...)` reads well.
 */
pdm_status pdm_diag(pdm_diag_sink *sink, pdm_diag_code code, const pdm_loc *loc, const char *hint,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

const char *pdm_diag_id(pdm_diag_code code);
const char *pdm_diag_explanation(pdm_diag_code code);

#endif
