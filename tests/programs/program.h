/*
 * Programs for tests: a PIR module with parameters, and sets of inputs, often of other sizes. They are drawn from a seed
 * (generate.c), or read from a file that was kept (keep.c): PIR text with the tensors in comments, which the parser of PIR passes over.
 *
 *     // data x set 0 = float32 2x3: 1 2 nan -0 0x1.8p3 inf
 *     // parameter p = int64 -: 7
 */
#ifndef PDM_TESTS_PROGRAMS_PROGRAM_H
#define PDM_TESTS_PROGRAMS_PROGRAM_H

#include "base/buf.h"
#include "base/params.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "ir/text.h"

enum { PROGRAM_MAX_SETS = 5 };

typedef struct program_tensor {
    const char *name; /* interned in the context */
    pdm_tensor sets[PROGRAM_MAX_SETS]; /* of a parameter only the first */
} program_tensor;

typedef struct program {
    pdm_ir_context *context;
    pdm_ir_module *module;
    int num_sets;
    PDM_VEC(program_tensor) inputs, parameters;
} program;

void program_deinit(program *p); /* a zeroed one is fine */
/* Everything of its own; tensors are shared. */
bool program_clone(const program *p, program *out);
const pdm_tensor *program_input(const program *p, const char *name, int set); /* NULL: none */
/* Another input or parameter; the tensor of a set is the caller's to fill in. NULL: out of memory. */
program_tensor *program_add_input(program *p, const char *name);
program_tensor *program_add_parameter(program *p, const char *name);
/* Parameters as the executor takes them; the caller deinits them in any case. room: further ones may be added. */
bool program_params(const program *p, pdm_params *params, size_t room);
size_t program_num_ops(const program *p); /* inputs, constants and fetches aside */

typedef struct program_form {
    int max_ops;
    bool large; /* some dims are, so that threads have something to share */
} program_form;

/* The program of a seed; false: out of memory. */
bool program_generate(program *p, uint64_t seed, const program_form *form);

/* Text of a program; comments come first, lines that begin with "//". */
void program_print(const program *p, const char *comments, pdm_buf *out);
/* Problems are told; false then. p is the caller's to deinit in any case. */
bool program_parse(program *p, const char *text, size_t size, const char *path, pdm_diag_sink *sink);

#endif
