/*
 * Fuzz the reader of legacy programs and the translator: any bytes give a program that can be
 * walked and printed, and then a module that keeps the rules, or a verdict with at least one error
 * reported. What -O2 and the compiler make of a module keeps the rules, too: passes, groups, loops,
 * and loops as they are arranged for processors.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_compile.h"
#include "ir/pir_json.h"
#include "legacy_graph/dump.h"
#include "legacy_graph/read.h"
#include "translator/translate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all of a diagnostic, so that a checker of memory sees bad pointers. */
static void note(void *user, const pdm_diagnostic *d)
{
    size_t *length = user;

    *length += strlen(d->id) + strlen(d->message);
    *length += d->op_type ? strlen(d->op_type) : 0;
    *length += d->var ? strlen(d->var) : 0;
    *length += d->file ? strlen(d->file) : 0;
}

static void print(const pdm_lg_program *program, void (*dump)(const pdm_lg_program *, pdm_buf *))
{
    pdm_buf text;

    pdm_buf_init(&text);
    dump(program, &text);
    if (!pdm_buf_ok(&text))
        abort();
    pdm_buf_deinit(&text);
}

/* What the translator relies on without asking again. */
static void walk(const pdm_lg_program *program)
{
    if (program->num_blocks == 0 || program->blocks[0].num_ops == 0)
        abort();
    for (size_t i = 0; i < program->num_blocks; i++) {
        const pdm_lg_block *block = &program->blocks[i];
        if (block->idx != (int32_t)i || (i > 0) != (block->parent >= 0))
            abort();
        for (size_t k = 0; k < block->num_ops; k++) {
            int32_t sub = pdm_lg_sub_block(&block->ops[k]);
            if (sub >= 0 && ((size_t)sub >= program->num_blocks || sub == block->idx))
                abort();
        }
    }
}

enum { MAX_OPS = 64 }; /* of programs that are optimized and compiled, so that turns stay short */

static bool is_small(const pdm_lg_program *program)
{
    size_t ops = 0;

    for (size_t i = 0; i < program->num_blocks; i++)
        ops += program->blocks[i].num_ops;
    return ops <= MAX_OPS;
}

static pdm_status translate(const pdm_lg_program *program, bool allow_legacy, int version,
                            pdm_diag_sink *sink)
{
    const pdm_tr_options options = {.pir_version = version, .allow_legacy = allow_legacy};
    pdm_ir_context *context = NULL;
    pdm_lg_schemas *schemas = NULL;
    pdm_ir_module *module = NULL;
    pdm_status status = pdm_ir_context_create(&context);

    if (status == PDM_OK)
        status = pdm_lg_schemas_create(&schemas);
    if (status == PDM_OK)
        status = pdm_tr_translate(context, schemas, program, &options, sink, &module);
    if (status == PDM_OK) {
        pdm_diag_sink broken = {0};
        if (pdm_ir_verify(module, &broken) != PDM_OK)
            abort();
        if (version == PDM_IR_NEWEST_VERSION && is_small(program))
            fuzz_compile(module, NULL, true, (unsigned)program->num_blocks);
        pdm_ir_module_destroy(module);
    }
    pdm_lg_schemas_destroy(schemas);
    pdm_ir_context_destroy(context);
    return status;
}

/* Whatever the reader let through is translated, or refused with a reason. */
static void check_translation(const pdm_lg_program *program, pdm_diag_sink *sink)
{
    pdm_diag_sink quiet = {0};
    const pdm_status status = translate(program, false, 1, sink);

    if (status == PDM_INTERNAL ||
        (status != PDM_OK && status != PDM_NOMEM && sink->num_errors == 0))
        abort();
    if (status == PDM_UNSUPPORTED && translate(program, true, 1, sink) == PDM_INTERNAL)
        abort();
    if ((status == PDM_OK || status == PDM_UNSUPPORTED) &&
        translate(program, true, PDM_IR_NEWEST_VERSION, &quiet) == PDM_INTERNAL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length = 0;
    pdm_diag_sink sink = {.fn = note, .user = &length, .verbose = true};
    pdm_lg_program *program = NULL;

    switch (pdm_lg_read(data, size, "input", &sink, &program)) {
    case PDM_OK:
        if (sink.num_errors > 0)
            abort();
        walk(program);
        print(program, pdm_lg_dump_text);
        print(program, pdm_lg_dump_dot);
        check_translation(program, &sink);
        pdm_lg_program_destroy(program);
        return 0;
    case PDM_INVALID_MODEL:
        if (sink.num_invalid == 0)
            abort();
        return 0;
    case PDM_UNSUPPORTED:
        if (sink.num_unsupported == 0)
            abort();
        return 0;
    case PDM_NOMEM:
        return 0;
    default:
        abort(); /* PDM_INTERNAL: the scan let something through that cannot be decoded */
    }
}
