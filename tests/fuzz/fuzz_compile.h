/*
 * What the fuzz harnesses of passes and the compiler share: -O2, groups, loops for the shapes that are declared and for others, and
 * loops as they are arranged for processors and for GPUs. Each keeps the rules.
 */
#ifndef PDM_TESTS_FUZZ_COMPILE_H
#define PDM_TESTS_FUZZ_COMPILE_H

#include <stdlib.h>

#include "cinn/cuda/print.h"
#include "cinn/group.h"
#include "cinn/loop_rewrite.h"
#include "cinn/lower.h"
#include "ir/pass.h"

static inline pdm_status fuzz_optimize(pdm_ir_module *module, const pdm_ir_constant_source *source)
{
    const pdm_ir_pass_options how = {.verify = true, .source = source};
    pdm_diag_sink sink = {0};
    pdm_ir_constants constants;

    pdm_ir_constants_init(&constants);
    const pdm_status status = pdm_ir_pass_run_list(module, pdm_ir_pass_list(2), &how, &constants, &sink);
    pdm_ir_constants_deinit(&constants);
    return status;
}

static inline void fuzz_loops_keep_rules(const pdm_loop_fn *fn)
{
    if (fn->status == PDM_INTERNAL || (fn->status == PDM_OK && pdm_loop_verify(fn)))
        abort();
}

static inline void fuzz_for_processors(pdm_loop_fn *fn)
{
    pdm_buf key;

    pdm_cinn_schedule_cpu(fn, true);
    pdm_loop_expand_math(fn);
    fuzz_loops_keep_rules(fn);
    pdm_buf_init(&key);
    if (fn->status == PDM_OK)
        pdm_loop_key(fn, &key);
    pdm_buf_deinit(&key);
}

static inline void fuzz_for_gpus(pdm_loop_fn *fn)
{
    pdm_cinn_schedule_gpu(fn);
    fuzz_loops_keep_rules(fn);
}

/* A function of a group, made by one that lowers it, and arranged. */
static inline pdm_status fuzz_arrange(pdm_status status, pdm_loop_fn **fn, void (*arrange)(pdm_loop_fn *))
{
    if (status == PDM_INTERNAL)
        abort();
    if (status != PDM_OK)
        return status == PDM_UNSUPPORTED ? PDM_OK : status;
    fuzz_loops_keep_rules(*fn);
    arrange(*fn);
    pdm_loop_fn_destroy(*fn);
    return PDM_OK;
}

/* Sizes where none are declared: number k of them is one, or two, or something else. */
static inline void fuzz_actual(const pdm_ir_value *const *inputs, size_t count, unsigned draw, pdm_cinn_actual *out,
                               int64_t dims[][PDM_MAX_RANK])
{
    static const int64_t sizes[] = {1, 3, 2, 17, 0};

    for (size_t i = 0; i < count; i++) {
        const pdm_ir_type type = inputs[i]->type;
        for (uint32_t d = 0; d < type->rank; d++) {
            dims[i][d] = type->dims[d];
            if (dims[i][d] < 0) {
                dims[i][d] = sizes[draw % 5];
                draw = draw * 7 + draw / 5 + 1;
            }
        }
        out[i] = (pdm_cinn_actual){.dtype = type->dtype, .rank = (int)type->rank, .dims = dims[i]};
    }
}

/* The loops of a group. user: where sizes are drawn from, an unsigned. */
static inline pdm_status fuzz_lower(void *user, pdm_ir_op *op)
{
    const pdm_ir_value *inputs[PDM_CINN_MAX_INPUTS];
    pdm_cinn_actual actual[PDM_CINN_MAX_INPUTS];
    int64_t dims[PDM_CINN_MAX_INPUTS][PDM_MAX_RANK];
    pdm_loop_fn *fn = NULL;

    if (!pdm_cinn_is_group(op))
        return PDM_OK;
    pdm_status status = fuzz_arrange(pdm_cinn_lower_group(op, NULL, &fn), &fn, fuzz_for_processors);
    if (status == PDM_OK)
        status = fuzz_arrange(pdm_cinn_lower_group(op, NULL, &fn), &fn, fuzz_for_gpus);
    const size_t count = pdm_cinn_group_inputs(op, inputs);
    if (status != PDM_OK || count > PDM_CINN_MAX_INPUTS)
        return status;
    fuzz_actual(inputs, count, *(const unsigned *)user, actual, dims);
    status = fuzz_arrange(pdm_cinn_lower_group(op, actual, &fn), &fn, fuzz_for_processors);
    return status == PDM_OK ? fuzz_arrange(pdm_cinn_lower_fixed(op, actual, &fn), &fn, fuzz_for_processors) : status;
}

/* A module that keeps the rules, and may be changed. */
static inline void fuzz_compile(pdm_ir_module *module, const pdm_ir_constant_source *source, bool single, unsigned draw)
{
    const pdm_cinn_group_options options = {.single = single};
    pdm_diag_sink broken = {0};
    pdm_status status = fuzz_optimize(module, source);

    if (status == PDM_OK)
        status = pdm_cinn_group_module(module, &options);
    if (status == PDM_OK && pdm_ir_verify(module, &broken) != PDM_OK)
        abort();
    if (status == PDM_OK)
        status = pdm_cinn_note_dims(module);
    if (status == PDM_OK)
        status = pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, fuzz_lower, &draw);
    if (status != PDM_OK && status != PDM_NOMEM)
        abort();
}

#endif
