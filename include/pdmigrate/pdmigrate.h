/*
 * pdmigrate: read legacy PaddlePaddle programs, translate them to PIR, write what Paddle 3.x loads.
 *
 * Objects. A pdm_context holds what models share (interned types and attributes, the diagnostic
 * callback). A pdm_model is a program (legacy or PIR) and the place of its parameters; parameter
 * data stay in their files. Every model belongs to the context that made it and must be destroyed
 * before it.
 *
 * Threads. A context and its models belong to one thread at a time; different contexts are
 * independent.
 *
 * Errors. Each call that can fail returns a pdm_status; what is wrong in the user's model is told
 * through the diagnostic callback, all problems at once. Out-parameters are untouched on failure.
 * The library never prints, exits or aborts.
 *
 * Strings are UTF-8 and NUL-terminated; those returned belong to the object they were asked from.
 */
#ifndef PDMIGRATE_PDMIGRATE_H
#define PDMIGRATE_PDMIGRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PDM_API __attribute__((visibility("default")))
#define PDM_MUST_USE __attribute__((warn_unused_result))
#else
#define PDM_API
#define PDM_MUST_USE
#endif

/* Result of a call. The numbers are fixed. */
typedef enum pdm_status {
    PDM_OK = 0,
    PDM_NOMEM = 1,         /* out of memory */
    PDM_INVALID_ARG = 2,   /* the caller's arguments do not make sense (options, names) */
    PDM_INVALID_MODEL = 3, /* the model is broken; diagnostics say where */
    PDM_UNSUPPORTED = 4, /* the model is sound but holds something that cannot be expressed; all of
                            it was reported */
    PDM_IO = 5,          /* a file is missing, unreadable or cannot be written */
    PDM_EXISTS = 6,      /* an output exists and overwriting was not allowed */
    PDM_CANCELLED = 7,   /* the cancel callback asked to stop */
    PDM_INTERNAL = 8     /* a fault of the library */
} pdm_status;

/* A short English text for a status; never NULL. */
PDM_API const char *pdm_status_text(pdm_status status);

/* Library version, "MAJOR.MINOR.PATCH". */
PDM_API const char *pdm_version(void);

typedef enum pdm_severity { PDM_NOTE, PDM_WARNING, PDM_ERROR } pdm_severity;

/* One diagnostic. Pointers are valid during the callback only; absent parts are NULL or -1. */
typedef struct pdm_diagnostic {
    const char *id; /* catalogue id such as "lg-unknown-op"; stable between releases */
    pdm_severity severity;
    const char *message;  /* one sentence, no trailing newline */
    const char *hint;     /* what the user can do */
    const char *file;     /* the file concerned */
    int64_t offset;       /* byte offset in that file */
    int64_t line, column; /* 1-based, for text files */
    int32_t block;        /* legacy block index, or PIR block number in depth-first order */
    int32_t op_index;     /* position of the op in its block */
    const char *op_type;  /* legacy op type or PIR op name */
    const char *var;      /* variable, slot or attribute name */
} pdm_diagnostic;

typedef void (*pdm_diagnostic_fn)(void *user, const pdm_diagnostic *diagnostic);

/* ---- context --------------------------------------------------------------------------------- */

typedef struct pdm_context pdm_context;

typedef struct pdm_context_options {
    size_t size;                     /* sizeof(pdm_context_options) */
    pdm_diagnostic_fn on_diagnostic; /* NULL: diagnostics are dropped */
    void *user;
    bool verbose; /* also report notes on details (types that differ from the declared ones, ...) */
    /* Asked now and then during long work; true ends the call with PDM_CANCELLED and nothing
     * written. NULL: never. */
    bool (*cancelled)(void *user);
} pdm_context_options;

/* options may be NULL. The caller owns *out_context and destroys it. */
PDM_API PDM_MUST_USE pdm_status pdm_context_create(const pdm_context_options *options,
                                                   pdm_context **out_context);
PDM_API void pdm_context_destroy(pdm_context *context); /* NULL is allowed */

/* ---- models ---------------------------------------------------------------------------------- */

typedef struct pdm_model pdm_model;

typedef enum pdm_model_kind { PDM_MODEL_LEGACY, PDM_MODEL_PIR } pdm_model_kind;

typedef struct pdm_load_options {
    size_t size;
    /* Combined file or folder of separate ones; NULL: found beside the model. */
    const char *params_path;
    bool no_params;       /* do not look for parameters */
    bool params_optional; /* parameters that are not found are a note, not an error */
} pdm_load_options;

/*
 * Load a model. path is a file (format by content), a prefix (NAME.json, else NAME.pdmodel), or a
 * folder with exactly one model in it. options may be NULL. Parameters are looked for as
 * NAME.pdiparams, __params__, params, or one file per variable. Parameter headers are read and
 * checked against the program; data are not read. Errors: PDM_IO (missing file), PDM_INVALID_ARG
 * (several models in the folder), PDM_INVALID_MODEL, PDM_UNSUPPORTED, PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_model_load(pdm_context *context, const char *path,
                                               const pdm_load_options *options,
                                               pdm_model **out_model);
PDM_API void pdm_model_destroy(pdm_model *model); /* NULL is allowed */

PDM_API pdm_model_kind pdm_model_get_kind(const pdm_model *model);
/* The program file that was found. */
PDM_API const char *pdm_model_path(const pdm_model *model);
/* The parameter file or folder; NULL when there are no parameters. */
PDM_API const char *pdm_model_params_path(const pdm_model *model);
/* The writer's version as the file tells: legacy major*1000000+minor*1000+patch, or the PIR
 * version. */
PDM_API int64_t pdm_model_version(const pdm_model *model);

/* A tensor as a model declares it: an input, output or parameter. */
typedef struct pdm_tensor_info {
    const char *name;
    const char *dtype;   /* "float32", "int64", "bfloat16", ... */
    const int64_t *dims; /* negative: unknown */
    size_t rank;
    uint64_t data_bytes; /* parameters: size of the data in their file; else 0 */
} pdm_tensor_info;

/* Inputs and outputs in column order, parameters in name order. index is below the count. */
PDM_API size_t pdm_model_num_inputs(const pdm_model *model);
PDM_API size_t pdm_model_num_outputs(const pdm_model *model);
PDM_API size_t pdm_model_num_params(const pdm_model *model);
PDM_API PDM_MUST_USE pdm_status pdm_model_input(const pdm_model *model, size_t index,
                                                pdm_tensor_info *out_info);
PDM_API PDM_MUST_USE pdm_status pdm_model_output(const pdm_model *model, size_t index,
                                                 pdm_tensor_info *out_info);
PDM_API PDM_MUST_USE pdm_status pdm_model_param(const pdm_model *model, size_t index,
                                                pdm_tensor_info *out_info);

/* Number of blocks, and of ops over all blocks (of a PIR model: builtin.module itself is not
 * counted). */
PDM_API size_t pdm_model_num_blocks(const pdm_model *model);
PDM_API size_t pdm_model_num_ops(const pdm_model *model);

/* Call fn once for each op in program order (nested ones too) with its type; depth 0 is the
 * outermost block. */
PDM_API void pdm_model_each_op(const pdm_model *model,
                               void (*fn)(void *user, const char *type, int depth), void *user);

typedef enum pdm_dump_format { PDM_DUMP_TEXT, PDM_DUMP_DOT } pdm_dump_format;

/* Print the whole program. *out_text is malloc'ed, NUL-terminated, and freed by the caller with
 * pdm_free. */
PDM_API PDM_MUST_USE pdm_status pdm_model_dump(const pdm_model *model, pdm_dump_format format,
                                               char **out_text);
PDM_API void pdm_free(void *memory);

/* ---- conversion ------------------------------------------------------------------------------ */

typedef struct pdm_convert_options {
    size_t size;
    int pir_version; /* 1 (default when 0) to 4: attribute tags and ops of that PIR version */
    const char *const *fetch; /* legacy input: names of the outputs; replaces fetch ops */
    size_t num_fetch;
    bool keep_quant_ops; /* write dequantize_linear itself instead of equivalent ops */
    bool keep_version;   /* PIR input: keep its version, tags and layout */
} pdm_convert_options;

/*
 * Translate a legacy model to PIR, or check and normalise a PIR one. The result borrows nothing but
 * parameter files from model. options may be NULL. All offending ops are reported before
 * PDM_UNSUPPORTED or PDM_INVALID_MODEL is returned. Errors: PDM_INVALID_ARG (options that do not
 * fit the model), PDM_INVALID_MODEL, PDM_UNSUPPORTED, PDM_CANCELLED, PDM_NOMEM, PDM_INTERNAL (the
 * translation broke a rule of PIR).
 */
PDM_API PDM_MUST_USE pdm_status pdm_model_convert(const pdm_model *model,
                                                  const pdm_convert_options *options,
                                                  pdm_model **out_model);

typedef struct pdm_write_options {
    size_t size;
    bool overwrite; /* replace existing files; a parameter file that the new program does not need
                       is removed */
    bool no_params; /* write the program only */
    bool indent;    /* readable JSON */
} pdm_write_options;

/*
 * The files that pdm_model_write would write for path, and whether it may: path ends in ".json" or
 * ".pir" (parameters beside it as ".pdiparams"), or is a folder (existing, or ending in '/'):
 * inference.json and inference.pdiparams. Nothing is created. options may be NULL. The texts are
 * freed with pdm_free; either out-parameter may be NULL. Errors: PDM_INVALID_ARG (another form),
 * PDM_EXISTS (the program exists and options do not allow to overwrite), PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_output_check(pdm_context *context, const char *path,
                                                 const pdm_write_options *options,
                                                 char **out_program, char **out_params);

/*
 * Write a PIR model (a legacy one: PDM_INVALID_ARG); path as for pdm_output_check, a folder is made
 * if it is not there. The parameter file holds exactly the parameters of the program, in name
 * order; there is none when there are no parameters. Both files are complete and on disk before the
 * first appears under its name, parameters first. A failure leaves nothing new. Errors: PDM_EXISTS,
 * PDM_IO, PDM_INVALID_ARG (path is the model itself, or an old parameter file lies there that no
 * longer belongs to anything), PDM_UNSUPPORTED (ops that a file for Paddle cannot hold),
 * PDM_CANCELLED, PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_model_write(const pdm_model *model, const char *path,
                                                const pdm_write_options *options);

#ifdef __cplusplus
}
#endif
#endif
