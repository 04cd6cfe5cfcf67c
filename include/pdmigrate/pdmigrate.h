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
#define PDM_API      __attribute__((visibility("default")))
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
    PDM_INTERNAL = 8,    /* a fault of the library */
    PDM_STOPPED = 9      /* a limit of the caller's ended a run: turns of a loop */
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

typedef enum pdm_dump_format {
    PDM_DUMP_TEXT,
    PDM_DUMP_DOT,
    PDM_DUMP_GROUPS, /* groups of ops that are compiled, when compilation is asked for */
    PDM_DUMP_LOOP_IR, /* the same, each with its loops */
    PDM_DUMP_CUDA,    /* kernels of these groups in CUDA C */
    PDM_DUMP_GROUP_SUMMARY, /* how many ops are in groups; which are not, and why */
    PDM_DUMP_SHAPES /* each dim as an expression over the dims of inputs that are not declared */
} pdm_dump_format;

/* Print the whole program. A legacy one is translated for groups. *out_text is malloc'ed, NUL-terminated, and freed by the caller with
 * pdm_free. */
PDM_API PDM_MUST_USE pdm_status pdm_model_dump(const pdm_model *model, pdm_dump_format format,
                                               char **out_text);

typedef enum pdm_code_format {
    PDM_CODE_PTX,   /* of GPUs of NVIDIA, as text; made by NVRTC */
    PDM_CODE_CUBIN, /* the same, for one machine; an ELF file */
    PDM_CODE_LLVM   /* LLVM IR for this processor, as text: a module for each group */
} pdm_code_format;

/*
 * What kernels of groups are compiled to; a legacy program is translated for it. arch: "sm_80" or the
 * like; NULL: sm_80. *out_code is malloc'ed, NUL-terminated in any case, and freed by the caller with
 * pdm_free. PDM_UNSUPPORTED: what makes it (NVRTC, the module for LLVM) is missing; a diagnostic
 * tells what.
 */
PDM_API PDM_MUST_USE pdm_status pdm_model_code(const pdm_model *model, pdm_code_format format,
                                               const char *arch, char **out_code,
                                               size_t *out_size);
PDM_API void pdm_free(void *memory);

/* ---- conversion ------------------------------------------------------------------------------ */

/* What an optimizing pass did. Texts and lists hold during the call that gives them. */
typedef struct pdm_pass_hit {
    const char *name; /* of a pattern, or of the ops that were removed or moved */
    size_t count;
} pdm_pass_hit;

typedef struct pdm_pass_info {
    const char *name;
    size_t ops_before, ops_after; /* nested ones too */
    uint64_t nanoseconds;
    const pdm_pass_hit *hits;
    size_t num_hits;
    const char *text; /* the program after it, when print_after asks for it; else NULL */
    uint64_t bytes;   /* of memory that it took and that are kept: types, attributes, new parameters */
    const char *text_before; /* as text, the program before it: print_before */
} pdm_pass_info;

/* Name and summary of a pass; names are in alphabetical order. Errors: PDM_INVALID_ARG (no such
 * index). */
PDM_API PDM_MUST_USE pdm_status pdm_pass_get(size_t index, const char **out_name,
                                             const char **out_summary);

typedef struct pdm_convert_options {
    size_t size;
    int pir_version; /* 1 (default when 0) to 4: attribute tags and ops of that PIR version */
    const char *const *fetch; /* legacy input: names of the outputs; replaces fetch ops */
    size_t num_fetch;
    bool keep_quant_ops; /* write dequantize_linear itself instead of equivalent ops */
    bool keep_version;   /* PIR input: keep its version, tags and layout */
    int optimize;        /* 0 (default): as translated; 1: passes that any program gains from; 2: those that round
                            otherwise, too. Paddle 3.x loads the result */
    const char *passes;  /* names of passes, separated by commas, instead of those of `optimize` */
    bool verify_each;    /* check the rules of PIR after each pass, not only at the end */
    const char *print_after; /* names of passes, separated by commas, or "all" */
    void (*on_pass)(void *user, const pdm_pass_info *info); /* told of each pass when it is done */
    void *user;
    const char *print_before; /* as print_after */
} pdm_convert_options;

/*
 * Translate a legacy model to PIR, or check and normalise a PIR one, and optimize it if asked to;
 * parameters that passes compute belong to the result. It borrows nothing but parameter files from
 * model. options may be NULL. All offending ops are reported before
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

/* Whether pdm_text_write may write path; told if not. Errors: PDM_EXISTS (overwrite is false). */
PDM_API PDM_MUST_USE pdm_status pdm_text_check(pdm_context *context, const char *path,
                                               bool overwrite);
/* Write a text, such as a report or a timeline: whole or not at all. Errors: PDM_EXISTS (overwrite
 * is false), PDM_IO, PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_text_write(pdm_context *context, const char *path,
                                               const char *text, bool overwrite);

/*
 * Write a PIR model; path as for pdm_output_check, a folder is made if it is not there. A legacy
 * model, such as one that pdm_graph_extract gives, is written as it is to NAME.pdmodel or a folder
 * (inference.pdmodel). The parameter file holds exactly the parameters of the program, in name
 * order; there is none when there are no parameters. Both files are complete and on disk before the
 * first appears under its name, parameters first. A failure leaves nothing new. Errors: PDM_EXISTS,
 * PDM_IO, PDM_INVALID_ARG (path is the model itself, or an old parameter file lies there that no
 * longer belongs to anything), PDM_UNSUPPORTED (ops that a file for Paddle cannot hold),
 * PDM_CANCELLED, PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_model_write(const pdm_model *model, const char *path,
                                                const pdm_write_options *options);

/* ---- tensors in memory and in files ---------------------------------------------------------- */

/*
 * A tensor as it lies in memory: C order, contiguous, little-endian. float16 and bfloat16 are their
 * bits. lod: for each level the offsets of the sequences (lod_counts numbers, the first is 0); none
 * when num_lod is 0.
 */
typedef struct pdm_tensor_view {
    const char *dtype; /* "float32", "int64", "bool", ... */
    const int64_t *dims;
    size_t rank;
    const void *data;
    size_t bytes;
    const int64_t *const *lod;
    const size_t *lod_counts;
    size_t num_lod;
} pdm_tensor_view;

/*
 * Named tensors, as a .npz file holds them. Keys of recorded runs: "in:NAME", "out:POSITION:NAME",
 * "lod:in:NAME:LEVEL" and "lod:out:NAME:LEVEL" (offsets as int64); any other key is a plain name.
 * numpy has no bfloat16: files hold it as uint16.
 */
typedef struct pdm_bundle pdm_bundle;

PDM_API PDM_MUST_USE pdm_status pdm_bundle_create(pdm_context *context, pdm_bundle **out_bundle);
/* Read a .npz, or a .npy (its key is the file's name without ending). Errors: PDM_IO (told why),
 * PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_bundle_read(pdm_context *context, const char *path,
                                                pdm_bundle **out_bundle);
PDM_API void pdm_bundle_destroy(pdm_bundle *bundle); /* NULL is allowed */
PDM_API size_t pdm_bundle_count(const pdm_bundle *bundle);
PDM_API const char *pdm_bundle_key(const pdm_bundle *bundle,
                                   size_t index); /* NULL: no such index */
/* The view is valid until the bundle changes. Errors: PDM_INVALID_ARG (no such index). */
PDM_API PDM_MUST_USE pdm_status pdm_bundle_get(const pdm_bundle *bundle, size_t index,
                                               pdm_tensor_view *out_view);
/* Add a copy of a tensor (its LoD under keys of its own when key begins with "in:" or "out:"). */
PDM_API PDM_MUST_USE pdm_status pdm_bundle_add(pdm_bundle *bundle, const char *key,
                                               const pdm_tensor_view *view);
/* Write a .npz: whole or not at all. Errors: PDM_EXISTS (overwrite is false), PDM_IO, PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_bundle_write(const pdm_bundle *bundle, const char *path,
                                                 bool overwrite);

/* ---- running --------------------------------------------------------------------------------- */

/*
 * A plan is a model made ready to run: instructions, and the data of the parameters. It is
 * immutable: any number of sessions, in any number of threads, may share it. It borrows the model,
 * which is not destroyed before it.
 */
typedef struct pdm_plan pdm_plan;

typedef enum pdm_kernels {
    PDM_KERNELS_DEFAULT,   /* reference, until told otherwise */
    PDM_KERNELS_REFERENCE, /* one kernel an op, plain loops, rounded as the framework does */
    PDM_KERNELS_FAST       /* where there are any; results differ by rounding */
} pdm_kernels;

typedef enum pdm_compiler {
    PDM_COMPILER_OFF,      /* nothing is compiled */
    PDM_COMPILER_REFERENCE, /* compiled code is interpreted, slowly: to judge others by */
    PDM_COMPILER_LLVM,     /* machine code. Where the module for it is missing, a warning tells so and
                              nothing is compiled */
    PDM_COMPILER_CUDA      /* groups are run by a GPU of NVIDIA, with its driver and NVRTC; without
                              them a warning tells what is missing, and LLVM is used */
} pdm_compiler;

typedef struct pdm_plan_options {
    size_t size;
    const char *const *fetch; /* legacy models: names of the outputs; replaces fetch ops */
    size_t num_fetch;
    bool any_shape; /* sessions take inputs of other shapes than the model declares */
    pdm_kernels kernels;
    bool as_before; /* in known differences (below) compute as 2.6 did, with reference kernels */
    pdm_compiler compiler; /* makes one kernel of groups of ops; none with as_before */
} pdm_plan_options;

/*
 * A legacy model is translated in memory first; ops that PIR cannot express are run as they are.
 * Parameters are read. options may be NULL. Errors: PDM_INVALID_ARG (options that do not fit the
 * model), PDM_UNSUPPORTED (ops that cannot be run, all of them told), PDM_INVALID_MODEL, PDM_IO,
 * PDM_CANCELLED, PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_plan_create(const pdm_model *model,
                                                const pdm_plan_options *options,
                                                pdm_plan **out_plan);
PDM_API void pdm_plan_destroy(pdm_plan *plan); /* NULL is allowed; sessions go first */
PDM_API size_t pdm_plan_num_inputs(const pdm_plan *plan);
PDM_API size_t pdm_plan_num_outputs(const pdm_plan *plan);
PDM_API PDM_MUST_USE pdm_status pdm_plan_input(const pdm_plan *plan, size_t index,
                                               pdm_tensor_info *out_info);
PDM_API PDM_MUST_USE pdm_status pdm_plan_output(const pdm_plan *plan, size_t index,
                                                pdm_tensor_info *out_info);

/* The state of runs. One thread at a time; sessions are independent of each other. */
typedef struct pdm_session pdm_session;

typedef struct pdm_session_options {
    size_t size;
    unsigned threads; /* 0: one for each processor that the process may use; results do not depend
                         on it */
    uint64_t
        seed; /* of random ops whose own seed is 0; runs with the same seed give the same numbers */
    uint64_t max_iterations; /* turns of one loop; 0: no limit */
    bool trace;              /* gather what pdm_session_trace and pdm_session_profile tell */
    pdm_diagnostic_fn on_diagnostic; /* NULL: that of the context, which must not be in use in
                                        another thread then */
    /* Asked between ops and turns of loops, in any thread of the session; true ends the run with
     * PDM_CANCELLED. */
    bool (*cancelled)(void *user);
    void (*print)(void *user, const char *text); /* what the program prints; NULL: dropped */
    void *user; /* of all three; on_diagnostic NULL: only of the other two */
} pdm_session_options;

/* options may be NULL. */
PDM_API PDM_MUST_USE pdm_status pdm_session_create(const pdm_plan *plan,
                                                   const pdm_session_options *options,
                                                   pdm_session **out_session);
PDM_API void pdm_session_destroy(pdm_session *session); /* NULL is allowed */

/*
 * Set an input for the runs to come. The data are not copied: they stay where they are and
 * unchanged until the input is set again or the session is destroyed. Errors: PDM_INVALID_ARG (no
 * such input, another element type or shape than the model wants; told).
 */
PDM_API PDM_MUST_USE pdm_status pdm_session_set_input(pdm_session *session, const char *name,
                                                      const pdm_tensor_view *view);
/* Set all inputs from the entries "in:NAME" or NAME, with their LoD. The bundle outlives the runs.
 * Errors: as above, also for inputs that are missing or that the model does not have. */
PDM_API PDM_MUST_USE pdm_status pdm_session_set_inputs(pdm_session *session,
                                                       const pdm_bundle *bundle);

/* Where random numbers are drawn from. All zero: floats in [-1, 1), integers 0 and 1, 1 for a
 * dimension that is left open. */
typedef struct pdm_random_options {
    size_t size;
    double low, high;    /* floats: from low to below high */
    int64_t least, most; /* integers: from least to most; bools are false or true */
    int64_t open_dim;    /* for a dimension that is left open, the first at most 4; 0: 1 */
} pdm_random_options;

/*
 * Set an input to numbers drawn from seed. dims NULL: as the model declares it. An input that a
 * legacy model declares with LoD gets up to three sequences a level (dims NULL: six rows), the same
 * for inputs of as many rows. options may be NULL.
 */
PDM_API PDM_MUST_USE pdm_status pdm_session_set_random(pdm_session *session, const char *name,
                                                       const int64_t *dims, size_t rank,
                                                       uint64_t seed,
                                                       const pdm_random_options *options);
/* The next runs write output index to data, if it has exactly that many bytes: else they fail.
 * NULL: back to the session's memory. */
PDM_API PDM_MUST_USE pdm_status pdm_session_set_output(pdm_session *session, size_t index,
                                                       void *data, size_t bytes);

/*
 * Run once. Parameters that the program itself writes keep what was written, for the next run of
 * this session. Errors: PDM_INVALID_ARG (an input is missing), PDM_INVALID_MODEL (an op failed;
 * told), PDM_STOPPED (a loop came to max_iterations; told), PDM_CANCELLED, PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_session_run(pdm_session *session);
/* Give parameters that runs wrote the values of the file again. NULL is allowed. */
PDM_API void pdm_session_reset(pdm_session *session);
/* An output of the last run; valid until the next one. Errors: PDM_INVALID_ARG (no such output, or
 * it holds no tensor). */
PDM_API PDM_MUST_USE pdm_status pdm_session_output(const pdm_session *session, size_t index,
                                                   pdm_tensor_view *out_view);
/* An input as it was set. Errors: PDM_INVALID_ARG (no such input, or not set). */
PDM_API PDM_MUST_USE pdm_status pdm_session_input(const pdm_session *session, size_t index,
                                                  pdm_tensor_view *out_view);
/* Add copies of all outputs of the last run as "out:POSITION:NAME", and of the inputs as "in:NAME"
 * if with_inputs; with LoD. */
PDM_API PDM_MUST_USE pdm_status pdm_session_record(const pdm_session *session, bool with_inputs,
                                                   pdm_bundle *bundle);

/* The runs so far as a timeline in the Chrome trace format (JSON). *out_text is freed with
 * pdm_free. */
PDM_API PDM_MUST_USE pdm_status pdm_session_trace(const pdm_session *session, char **out_text);

/* The runs so far, summed up by op. Time inside of an op with regions counts for total_ns of both,
 * for self_ns of the inner. */
typedef struct pdm_profile_row {
    const char *op;
    uint64_t calls, total_ns, self_ns;
    uint64_t bytes; /* of results */
} pdm_profile_row;

/* Rows by falling self_ns; *out_rows is freed with pdm_free. */
PDM_API PDM_MUST_USE pdm_status pdm_session_profile(const pdm_session *session,
                                                    pdm_profile_row **out_rows, size_t *out_count);

typedef struct pdm_memory_info {
    size_t planned;       /* bytes of the block that results share after the first run */
    size_t peak;          /* most bytes of results alive at a time in the last run */
    uint64_t allocations; /* of the last run, for results */
} pdm_memory_info;

PDM_API void pdm_session_memory(const pdm_session *session, pdm_memory_info *out_info);

/* ---- proving --------------------------------------------------------------------------------- */

/*
 * A way in which kernels of Paddle 3.x give other results than those of 2.6 on purpose. Legacy
 * programs are run as 2.6 did, plans as 3.x does: unless they were made with as_before, which
 * proves that nothing else is behind a difference.
 */
typedef struct pdm_known_difference {
    const char *id; /* "half-rounding" */
    const char *legacy_ops, *pir_ops;
    const char *when;         /* what a program must do to show it */
    const char *before, *now; /* what 2.6 and 3.x do */
} pdm_known_difference;

PDM_API size_t pdm_known_difference_count(void);
/* Errors: PDM_INVALID_ARG (no such index). */
PDM_API PDM_MUST_USE pdm_status pdm_known_difference_get(size_t index,
                                                         pdm_known_difference *out_difference);

/* An op that gave other results than it gives in 3.x, and an output that it has part in. */
typedef struct pdm_parting {
    size_t output;
    size_t difference;       /* index of the known difference */
    const char *op;          /* "pd_op.max" */
    const char *legacy_type; /* of the legacy op that it was made of; NULL: unknown */
    const char *var;         /* that the legacy op writes first; NULL: unknown */
    int32_t block, op_index; /* its place in the legacy program; -1: unknown */
} pdm_parting;

/* Where known differences showed in the runs so far of a session whose plan was made with
 * as_before; by output, then in the order of the runs. *out_rows is freed with pdm_free. Errors:
 * PDM_INVALID_ARG (another plan), PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_session_partings(const pdm_session *session,
                                                     pdm_parting **out_rows, size_t *out_count);

/* Whether an output is computed with the help of an op: its PIR name, with or without dialect, or
 * the type of a legacy op. Errors: PDM_INVALID_ARG (no such output), PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_plan_output_uses(const pdm_plan *plan, size_t output,
                                                     const char *op, bool *out_uses);
/* The name of an op that draws random numbers for an output; NULL: there is none. */
PDM_API const char *pdm_plan_output_random_op(const pdm_plan *plan, size_t output);

typedef struct pdm_legacy_run_options {
    size_t size;
    const char *const *fetch; /* names of the outputs; replaces fetch ops */
    size_t num_fetch;
    uint64_t seed;           /* of random ops */
    uint64_t max_iterations; /* turns of one loop; 0: no limit */
    bool (*cancelled)(void *user);
    void (*print)(void *user, const char *text); /* what the program prints; NULL: dropped */
    void *user;
    /* Makes one kernel of groups of ops in subgraphs that are launched (pdm_graph_model): these follow 3.x then. */
    pdm_compiler compiler;
} pdm_legacy_run_options;

/*
 * Run a legacy model as it is, without translating it, with the semantics of Paddle 2.6: variables
 * are written in place, LoD goes along. inputs has "in:NAME" or NAME; "out:POSITION:NAME" are added
 * to outputs, which may be the same bundle. options may be NULL. Errors: PDM_INVALID_ARG (no legacy
 * model, inputs missing), PDM_UNSUPPORTED (ops that cannot be run, all told), PDM_INVALID_MODEL (an
 * op failed; told), PDM_IO, PDM_STOPPED (a loop came to max_iterations; told), PDM_CANCELLED,
 * PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_model_run_legacy(const pdm_model *model,
                                                     const pdm_legacy_run_options *options,
                                                     const pdm_bundle *inputs, pdm_bundle *outputs);

typedef struct pdm_legacy_runner pdm_legacy_runner;

/* The same for many runs: parameters are read once, and those that the program itself writes keep
 * what was written. The model is not destroyed before it; fetch is used during the call only. */
PDM_API PDM_MUST_USE pdm_status pdm_legacy_runner_create(const pdm_model *model,
                                                         const pdm_legacy_run_options *options,
                                                         pdm_legacy_runner **out_runner);
PDM_API void pdm_legacy_runner_destroy(pdm_legacy_runner *runner); /* NULL is allowed */
/* Give variables that runs wrote the values of the file again. NULL is allowed. */
PDM_API void pdm_legacy_runner_reset(pdm_legacy_runner *runner);
PDM_API PDM_MUST_USE pdm_status pdm_legacy_runner_run(pdm_legacy_runner *runner,
                                                      const pdm_bundle *inputs,
                                                      pdm_bundle *outputs);

typedef struct pdm_compare_options {
    size_t size;
    /* A float is wrong when |actual - expected| > atol + rtol*|expected|. NaN is right where NaN is
     * expected, an infinity where the same one is; against anything else they are wrong, whatever
     * the tolerances. */
    double rtol, atol;
    double min_cosine; /* 0: not asked for */
    uint64_t max_ulp;  /* 0: not asked for; else so many units in the last place are always right */
    bool integers; /* the tolerances hold for integers and bool too, which are exact otherwise */
} pdm_compare_options;

/*
 * Bins of differences |actual - expected|. The first: none at all; the second: below 1e-12; then
 * one for each power of ten (bin i: from 1e(i-14) to below 1e(i-13)); the last but one: from 1e4
 * on; the last: NaN or an infinity on one side.
 */
#define PDM_COMPARISON_BINS 20

/* What two tensors have in common. Complex numbers count as two. */
typedef struct pdm_comparison {
    bool equal;         /* within the tolerances */
    const char *reason; /* why not: "dtype", "shape", "values" or "cosine"; NULL when equal */
    uint64_t count, mismatches;
    double max_abs, max_rel; /* of finite values; infinite where only one side is finite */
    uint64_t max_ulp;        /* floats and complex numbers */
    double cosine;           /* of the finite values; 1 when both are all zero */
    uint64_t worst;          /* the element that is farthest beyond its tolerance */
    double expected, actual; /* there */
    uint64_t histogram[PDM_COMPARISON_BINS];
} pdm_comparison;

/* options may be NULL: rtol and atol 1e-5. Errors: PDM_INVALID_ARG (views that are not sound). */
PDM_API PDM_MUST_USE pdm_status pdm_compare(const pdm_tensor_view *expected,
                                            const pdm_tensor_view *actual,
                                            const pdm_compare_options *options,
                                            pdm_comparison *out_comparison);

typedef struct pdm_bisect_options {
    size_t size;
    const char *const *fetch; /* legacy models: names of the outputs; replaces fetch ops */
    size_t num_fetch;
    uint64_t seed;           /* of random ops */
    uint64_t max_iterations; /* turns of one loop; 0: no limit */
    double rtol, atol;       /* as in pdm_compare_options; below 0 (and without options): 1e-5, for
                                float16 1e-3, for bfloat16 1e-2 */
    bool any_shape;          /* as in pdm_plan_options */
    pdm_kernels kernels;     /* of the run that is judged; the one that it is compared with uses
                                reference kernels */
    bool (*cancelled)(void *user);
    void *user;
} pdm_bisect_options;

/* What is told about a tensor. */
typedef struct pdm_bisect_tensor {
    const char *role;     /* operand or result of the op: "x" */
    const char *op;       /* that gives the value; a parameter or input: its name in quotes */
    const char *variable; /* the legacy variable that it is; NULL: none, or unknown */
    const char *dtype;    /* NULL: it is no tensor, or unknown */
    const int64_t *dims;
    size_t rank;
    uint64_t count, nans, infs; /* complex numbers count as two */
    double min, max, mean;      /* of the finite numbers */
} pdm_bisect_tensor;

/* Where two runs part. Texts are for people. */
typedef struct pdm_bisection {
    bool found;
    bool differs; /* some output differs; when nothing was found: from values that are the same */
    const char *reference, *subject; /* the two runs: "the translation", "the second model" */
    const char *op;                  /* of the subject: "pd_op.subtract" */
    const char *counterpart; /* the op of the reference that it stands for; NULL: there is none */
    const char *place;       /* "op 7 of the program", "op 2 of the body of pd_op.while, turn 3" */
    const char *why;         /* the differences of the two ops, or what else is known */
    const char *result;      /* the result, or what else parts */
    uint64_t instance;       /* so many times it was computed before and was the same */
    int32_t block, op_index; /* of the legacy op; -1: none, or unknown */
    const char *op_type;     /* of the legacy op */
    const char *variable;    /* the legacy variable; NULL: none, or unknown */
    const pdm_bisect_tensor *inputs;
    size_t num_inputs;
    bool compared; /* expected, actual and comparison tell something */
    pdm_bisect_tensor expected, actual;
    pdm_comparison comparison;
    size_t num_origins; /* ops at which a difference begins; this one is the first that is beyond
                           the tolerance, or else the one that differs most */
} pdm_bisection;

/*
 * Find the first value, in program order, at which two runs with the same inputs part: the legacy
 * program as it is and its translation (model is legacy, other NULL); the translation of a legacy
 * model and another model that should compute the same, for example a file written by the framework
 * (the translation itself is judged when the two agree); two PIR models; or the two
 * kinds of kernels of a PIR model (kernels fast, other NULL). Both run on one thread,
 * twice each.
 *
 * Values of the other model are aligned with those of the translation by names of parameters and
 * inputs and by the sequence of ops. A difference begins at an op whose inputs are the same in both
 * runs and whose result is not; of those the first counts from which a wrong output follows. In a
 * loop that is the turn at which the runs part.
 *
 * inputs has "in:NAME" or NAME. options may be NULL. *out_bisection is freed with
 * pdm_bisection_destroy. Errors: PDM_INVALID_ARG (a PIR model alone:
 * recorded outputs tell no values in between), and those of the runs.
 */
PDM_API PDM_MUST_USE pdm_status pdm_bisect(const pdm_model *model, const pdm_model *other,
                                           const pdm_bisect_options *options,
                                           const pdm_bundle *inputs, pdm_bisection **out_bisection);
PDM_API void pdm_bisection_destroy(pdm_bisection *bisection); /* NULL is allowed */
/* ---- the old CINN pipeline ------------------------------------------------------------------- */

/*
 * What build_cinn_pass does to a legacy program: clusters of ops that the compiler takes become
 * subgraphs, each with one cinn_launch op in its place. A graph stands for itself, apart from the
 * context, which it does not outlive; it reads the model while it is made and in pdm_graph_model
 * and pdm_graph_extract.
 */
typedef struct pdm_graph pdm_graph;

typedef struct pdm_graph_options {
    size_t size;
    /* Op types, separated by ';'. allow: only these may be in subgraphs, whatever deny says; deny:
     * these may not. NULL: no list. */
    const char *allow, *deny;
    const char *const *skip_gc; /* variables that are to exist after a launch, beside the outputs */
    size_t num_skip_gc;
    bool keep_unread;   /* outputs of ops that nothing reads leave their subgraph */
    bool allow_inplace; /* ops that write what they read may be in subgraphs */
} pdm_graph_options;

/* options may be NULL. Errors: PDM_INVALID_ARG (no legacy model), PDM_INVALID_MODEL, PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_graph_create(const pdm_model *model,
                                                 const pdm_graph_options *options,
                                                 pdm_graph **out_graph);
PDM_API void pdm_graph_destroy(pdm_graph *graph); /* NULL is allowed */

/* Texts and lists belong to the graph. Variables are in the order of ids; parameters are inputs. */
typedef struct pdm_subgraph_info {
    int64_t key; /* compilation_key: the same for the same content in every run */
    size_t num_nodes;
    const char *const *ops; /* types, in their order, without feed and fetch */
    size_t num_ops;
    const char *const *inputs; /* whose data are needed */
    size_t num_inputs;
    const char *const *shape_inputs; /* of which only shape and element type are looked at */
    size_t num_shape_inputs;
    const char *const *internals;
    size_t num_internals;
    const char *const *outputs;
    size_t num_outputs;
} pdm_subgraph_info;

PDM_API size_t pdm_graph_num_subgraphs(const pdm_graph *graph);
/* Errors: PDM_INVALID_ARG (no such subgraph). */
PDM_API PDM_MUST_USE pdm_status pdm_graph_subgraph(const pdm_graph *graph, size_t index,
                                                   pdm_subgraph_info *out_info);
/* Nodes of the main graph after the pass, and op nodes of block 0 before it. */
PDM_API size_t pdm_graph_num_nodes(const pdm_graph *graph);
PDM_API size_t pdm_graph_num_ops_before(const pdm_graph *graph);
/* The main graph and what is in its subgraphs, for Graphviz. *out_text is freed with pdm_free. */
PDM_API PDM_MUST_USE pdm_status pdm_graph_dot(const pdm_graph *graph, char **out_text);
/*
 * The main program as a model: pdm_model_run_legacy runs its launches, as long as the model or the
 * graph is there. A subgraph as a model of its own, whose parameters are parameters again, and
 * whose inputs have the types that the translation of the whole gives them. Both are the caller's;
 * model is the one the graph was made of. Errors: PDM_INVALID_ARG, PDM_NOMEM.
 */
PDM_API PDM_MUST_USE pdm_status pdm_graph_model(const pdm_graph *graph, const pdm_model *model,
                                                pdm_model **out_model);
PDM_API PDM_MUST_USE pdm_status pdm_graph_extract(pdm_graph *graph, const pdm_model *model,
                                                  size_t index, pdm_model **out_model);

/* ---- compiled code that is kept -------------------------------------------------------------- */

/*
 * Machine code of PDM_COMPILER_LLVM is kept in memory, for all plans of the process, and in a
 * folder, for all processes of the user: what was compiled once is only loaded. A folder that
 * others own or may write is not used; where none can be used a warning tells so, and code is made
 * in each process. Entries that are broken are made anew. Safe with any number of processes.
 */
typedef struct pdm_cache_options {
    size_t size;
    const char *folder; /* NULL: $PDM_CACHE_DIR, $XDG_CACHE_HOME/pdmigrate or ~/.cache/pdmigrate */
    bool off;           /* no folder; with folder NULL PDM_CACHE=off in the environment says so, too */
    uint64_t max_size;  /* bytes; what was not used for longest goes; 0: 256 MiB */
} pdm_cache_options;

/* From now on, for the whole process; from any thread, at any time. Errors: PDM_INVALID_ARG, PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_cache_set(const pdm_cache_options *options);
/* The folder, whether it is there or not; "" when there is none. Freed with pdm_free. */
PDM_API PDM_MUST_USE pdm_status pdm_cache_path(char **out_path);

typedef enum pdm_cache_task {
    PDM_CACHE_COUNT,  /* only that */
    PDM_CACHE_VERIFY, /* read all entries; broken ones are removed */
    PDM_CACHE_PRUNE   /* remove what was not used for longest until at most max_size bytes are left */
} pdm_cache_task;

typedef struct pdm_cache_info {
    uint64_t entries, bytes; /* that are there afterwards */
    uint64_t broken;
    uint64_t removed, removed_bytes;
    uint64_t max_size; /* what is kept at most */
} pdm_cache_info;

/* Errors: PDM_INVALID_ARG, PDM_IO (the folder is there but is not used; a diagnostic tells why),
 * PDM_NOMEM. */
PDM_API PDM_MUST_USE pdm_status pdm_cache_do(pdm_context *context, pdm_cache_task task,
                                             uint64_t max_size, pdm_cache_info *out_info);

#ifdef __cplusplus
}
#endif
#endif
