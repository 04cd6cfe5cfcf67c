/* Short words to build modules in tests. */
#ifndef PDM_TESTS_UNIT_IR_BUILD_H
#define PDM_TESTS_UNIT_IR_BUILD_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ir/op_info.h"
#include "unit/must.h"

typedef struct fx {
    pdm_ir_context *context;
    pdm_ir_module *module;
    pdm_ir_block *top;
    pdm_ir_type f32, boolean, i64; /* tensors [2,3], [1], [1] */
    pdm_diag_sink sink;
    char said[4096]; /* all messages, one a line: op, var, message */
} fx;

static inline void hear(void *user, const pdm_diagnostic *d)
{
    fx *f = user;
    const size_t n = strlen(f->said);

    snprintf(f->said + n, sizeof f->said - n, "%s|%s|%s\n", d->op_type ? d->op_type : "",
             d->var ? d->var : "", d->message);
}

static inline void fx_init(fx *f)
{
    *f = (fx){.sink = {.fn = hear, .user = f}};
    ck_assert_int_eq(pdm_ir_context_create(&f->context), PDM_OK);
    ck_assert_int_eq(pdm_ir_module_create(f->context, &f->module), PDM_OK);
    f->top = f->module->block;
    f->f32 = pdm_ir_type_tensor(f->context, PDM_F32, (int64_t[]){2, 3}, 2);
    f->boolean = pdm_ir_type_tensor(f->context, PDM_BOOL, (int64_t[]){1}, 1);
    f->i64 = pdm_ir_type_tensor(f->context, PDM_I64, (int64_t[]){1}, 1);
}

static inline void fx_deinit(fx *f)
{
    pdm_ir_module_destroy(f->module);
    pdm_ir_context_destroy(f->context);
}

#define COUNT(type, ...) (sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define IN(...)          (pdm_ir_value *[]){__VA_ARGS__}, COUNT(pdm_ir_value *, __VA_ARGS__)
#define OUT(...)         (pdm_ir_type[]){__VA_ARGS__}, COUNT(pdm_ir_type, __VA_ARGS__)
#define NONE             NULL, 0

/* A detached op. */
static inline pdm_ir_op *make(fx *f, const char *name, pdm_ir_value *const *in, size_t num_in,
                              const pdm_ir_type *out, size_t num_out, pdm_ir_region *const *regions,
                              size_t num_regions)
{
    const pdm_ir_op_info *info = pdm_ir_op_info_get(f->context, name, NULL);
    if (!info)
        ck_abort_msg("no op %s", name);
    pdm_ir_op *op = pdm_ir_op_create(f->context, &(pdm_ir_op_state){.info = info,
                                                                    .operands = in,
                                                                    .num_operands = num_in,
                                                                    .result_types = out,
                                                                    .num_results = num_out,
                                                                    .regions = regions,
                                                                    .num_regions = num_regions});
    must(op);
    return op;
}

/* An op at the end of block. */
static inline pdm_ir_op *emit(fx *f, pdm_ir_block *block, const char *name, pdm_ir_value *const *in,
                              size_t num_in, const pdm_ir_type *out, size_t num_out)
{
    pdm_ir_op *op = make(f, name, in, num_in, out, num_out, NULL, 0);
    pdm_ir_block_append(block, op);
    return op;
}

static inline pdm_ir_value *result(const pdm_ir_op *op)
{
    return pdm_ir_op_result(op, 0);
}

static inline void set(fx *f, pdm_ir_op *op, const char *name, pdm_ir_attr attr)
{
    must(pdm_ir_op_set_attr(f->context, op, name, attr));
}

/* A source of a value: pd_op.data of that type. */
static inline pdm_ir_value *data(fx *f, pdm_ir_type type)
{
    pdm_ir_op *op = emit(f, f->top, "pd_op.data", NONE, OUT(type));

    set(f, op, "name", pdm_ir_attr_str(f->context, "x"));
    set(f, op, "shape", pdm_ir_attr_int_array(f->context, (int64_t[]){2, 3}, 2));
    set(f, op, "dtype", pdm_ir_attr_dtype(f->context, PDM_F32));
    set(f, op, "place", pdm_ir_attr_place(f->context, 0, 0, ""));
    return result(op);
}

static inline pdm_ir_op *relu(fx *f, pdm_ir_block *block, pdm_ir_value *x)
{
    return emit(f, block, "pd_op.relu", IN(x), OUT(f->f32));
}

static inline pdm_ir_region *new_region(void)
{
    pdm_ir_region *region = pdm_ir_region_create_with_block();
    must(region);
    return region;
}

#endif
