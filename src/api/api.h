/*
 * What the files of src/api share: the objects behind the handles of the public header.
 *
 * A context owns the PIR context and the schemas. A model owns its program (legacy or PIR), the
 * headers of its parameters and the tables that the accessors read, which are built once, when the
 * model is made. Threads: as the public header says.
 */
#ifndef PDM_API_API_H
#define PDM_API_API_H

#include "base/arena.h"
#include "base/params.h"
#include "ir/constants.h"
#include "ir/op_info.h"
#include "ir/pir_json.h"
#include "legacy_graph/program.h"
#include "legacy_graph/schema.h"

struct pdm_context {
    pdm_ir_context *ir;
    pdm_lg_schemas *schemas;
    pdm_diag_sink sink; /* the template of pdm_api_sink */
    bool (*cancelled)(void *user);
    void *user;
};

typedef struct pdm_api_tensors {
    pdm_tensor_info *items; /* in the model's arena */
    size_t count;
} pdm_api_tensors;

/* The builtin.parameter ops of a module and their names, sorted by name, each once. */
typedef struct pdm_api_module_param_list {
    const pdm_ir_op **ops; /* in the model's arena; NULL: not gathered yet */
    const char **names;
    size_t count;
} pdm_api_module_param_list;

struct pdm_model {
    pdm_context *context;
    pdm_model_kind kind;
    pdm_arena arena;
    const char *path;
    const char *params_path; /* NULL: no parameters were found */
    pdm_lg_program *legacy;  /* LEGACY */
    pdm_ir_module *pir;      /* PIR */
    pdm_ir_json_layout layout;
    pdm_params params; /* headers, in name order; those of a converted model are the ones it uses */
    pdm_api_module_param_list module_params; /* PIR */
    bool has_params;   /* params holds what the program needs (perhaps nothing) */
    pdm_api_tensors inputs, outputs, param_infos;
    const bool *block_owned; /* LEGACY: by block, whether an op of its parent owns it */
    const int64_t *launch_keys; /* LEGACY: held in the table of subgraphs as long as the model lives */
    size_t num_launch_keys;
};

/* Copy an options struct of the caller, who may know fewer or more fields than this library. */
#define PDM_API_OPTIONS(local, given)                                                              \
    do {                                                                                           \
        if (given)                                                                                 \
            memcpy(&(local), (given),                                                              \
                   (given)->size < sizeof(local) ? (given)->size : sizeof(local));                 \
    } while (0)

/* A sink for one call: counters begin at 0. */
pdm_diag_sink pdm_api_sink(const pdm_context *context);
/* A note that is told even when the context is not verbose. */
void pdm_api_note(pdm_diag_sink *sink, pdm_diag_code code, const char *file, const char *hint,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* PDM_CANCELLED when the caller asked to stop. */
PDM_MUST_USE pdm_status pdm_api_check_cancel(const pdm_context *context);

/* ---- finding files (find.c) ---- */

/* The program file that path stands for: malloc'ed. */
PDM_MUST_USE pdm_status pdm_api_find_model(const char *path, pdm_diag_sink *sink, char **out_path);
/*
 * Where the parameters of the program at model_path are: a combined file, or a folder when one of
 * names has a file of its own beside the program. *out_path is malloc'ed, and NULL when there is
 * nothing.
 */
PDM_MUST_USE pdm_status pdm_api_find_params(const char *model_path, const char *const *names,
                                            size_t count, char **out_path);
/* model_path with ".pdiparams" for its suffix: where parameters belong. NULL: out of memory. */
char *pdm_api_params_beside(const char *model_path);
/* malloc'ed "FOLDER/NAME"; NULL: out of memory. */
char *pdm_api_join(const char *folder, const char *name);
bool pdm_api_has_suffix(const char *path, const char *suffix);

/* ---- parameters (model_params.c) ---- */

/* Find, scan and check the parameters of a model whose program was read. */
PDM_MUST_USE pdm_status pdm_api_load_params(pdm_model *model, const pdm_load_options *options,
                                            pdm_diag_sink *sink);
/* Those of a PIR model, gathered when first asked for. */
PDM_MUST_USE pdm_status pdm_api_module_params(pdm_model *model,
                                              const pdm_api_module_param_list **out_list);
/* Copy the headers of the named parameters; made: those that passes made come from there (NULL: none), all
 * others params has. out is initialised. */
PDM_MUST_USE pdm_status pdm_api_params_subset(const pdm_params *params,
                                              const pdm_ir_constants *made,
                                              const char *const *names, size_t count,
                                              pdm_params *out);

/* ---- passes (optimize.c) ---- */

/* Whether there are passes to run, all of which exist. */
PDM_MUST_USE pdm_status pdm_api_check_passes(const pdm_convert_options *options,
                                             pdm_diag_sink *sink, bool *out_any);
/* Run them on a module that was made of a model. constants is initialised, and gets the parameters that they
 * make. */
PDM_MUST_USE pdm_status pdm_api_optimize(const pdm_model *from, const pdm_convert_options *options,
                                         pdm_ir_module *module, pdm_ir_constants *constants,
                                         pdm_diag_sink *sink);

/* ---- models (model_load.c, model_info.c) ---- */

/* A model without a program; NULL: out of memory. */
pdm_model *pdm_api_model_create(pdm_context *context, pdm_model_kind kind, const char *path);
/* Fill the tables of inputs, outputs and parameters. */
PDM_MUST_USE pdm_status pdm_api_model_index(pdm_model *model);

#endif
