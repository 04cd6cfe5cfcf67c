/* Calls of single kernels in tests: operands, attributes by name, results. */
#ifndef PDM_TESTS_UNIT_EXEC_CALL_H
#define PDM_TESTS_UNIT_EXEC_CALL_H

#include <check.h>
#include <string.h>

#include "exec/kernel.h"

#define MAX 12

typedef struct attribute {
    const char *name;
    const char *text; /* a string, or NULL */
    int count;        /* -1: a number, -2: an integer, else that many integers */
    double number;
    int64_t ints[6];
} attribute;

#define NUMBER(name_, value)                                                                       \
    {                                                                                              \
        .name = (name_), .count = -1, .number = (value)                                            \
    }
#define TEXT(name_, text_)                                                                         \
    {                                                                                              \
        .name = (name_), .text = (text_)                                                           \
    }
#define INT(name_, value)                                                                          \
    {                                                                                              \
        .name = (name_), .count = -2, .number = (value)                                            \
    }
#define INTS(name_, n, ...)                                                                        \
    {                                                                                              \
        .name = (name_), .count = (n), .ints = { __VA_ARGS__ }                                     \
    }

typedef struct call {
    pdm_k k;
    pdm_value in[MAX], out[MAX];
    pdm_value *ins[MAX], *outs[MAX];
    pdm_value vector[2]; /* operand 0 and result 0 where they are vectors */
    pdm_value *elements[2][MAX];
    size_t out_counts[MAX];
    attribute attrs[MAX];
    struct pdm_ir_attr_s attr;
} call;

static inline pdm_ir_attr attr_of(void *self, const char *name)
{
    call *c = self;

    for (int i = 0; i < MAX; i++) {
        const attribute *a = &c->attrs[i];
        if (!a->name || strcmp(a->name, name) != 0)
            continue;
        memset(&c->attr, 0, sizeof c->attr);
        if (a->text) {
            c->attr.kind = PDM_IR_ATTR_STR;
            c->attr.u.s.text = a->text;
        } else if (a->count == -2) {
            c->attr.kind = PDM_IR_ATTR_I64;
            c->attr.u.i = (int64_t)a->number;
        } else if (a->count < 0) {
            c->attr.kind = PDM_IR_ATTR_F64;
            c->attr.u.f = a->number;
        } else {
            c->attr.kind = PDM_IR_ATTR_INT_ARRAY;
            c->attr.count = (size_t)a->count;
            c->attr.u.ints = a->ints;
        }
        return &c->attr;
    }
    return NULL;
}

static inline void begin(call *c, const char *op)
{
    memset(c, 0, sizeof *c);
    c->k.op = op;
    c->k.desc = pdm_ir_op_desc_find(op);
    c->k.in = c->ins;
    c->k.out = c->outs;
    c->k.num_out = MAX;
    c->k.attrs = (pdm_k_source){attr_of, c};
    for (int i = 0; i < MAX; i++) {
        pdm_value_init(&c->in[i]);
        pdm_value_init(&c->out[i]);
        c->outs[i] = &c->out[i];
    }
}

static inline pdm_tensor *operand(call *c, size_t i, pdm_dtype dtype, int rank, const int64_t *dims)
{
    c->in[i].kind = PDM_VALUE_TENSOR;
    ck_assert_int_eq(pdm_tensor_alloc(&c->in[i].tensor, dtype, rank, dims), PDM_OK);
    c->ins[i] = &c->in[i];
    if (c->k.num_in <= i)
        c->k.num_in = i + 1;
    return &c->in[i].tensor;
}

/* Numbers that are not round, the same in each run. */
static inline void fill(pdm_tensor *t, uint64_t seed)
{
    pdm_rng rng;

    pdm_rng_seed(&rng, seed);
    for (int64_t i = 0; i < pdm_tensor_count(t); i++)
        pdm_set_double(t, i, 2 * pdm_rng_uniform(&rng) - 1);
}

/* The operands become the elements of operand 0. */
static inline void gather_operands(call *c)
{
    c->vector[0].kind = PDM_VALUE_LIST;
    c->vector[0].list.items = c->elements[0];
    c->vector[0].list.count = c->k.num_in;
    for (size_t i = 0; i < c->k.num_in; i++) {
        c->elements[0][i] = c->ins[i];
        c->ins[i] = NULL;
    }
    c->ins[0] = &c->vector[0];
    c->k.num_in = 1;
}

/* Result 0 is a vector. */
static inline void spread_result(call *c, size_t count)
{
    c->vector[1].kind = PDM_VALUE_LIST;
    c->vector[1].list.items = c->elements[1];
    c->vector[1].list.count = count;
    for (size_t i = 0; i < count; i++)
        c->elements[1][i] = &c->out[i];
    c->outs[0] = &c->vector[1];
    c->out_counts[0] = count;
    c->k.out_counts = c->out_counts;
    c->k.num_out = 1;
}

static inline pdm_status run(call *c)
{
    const pdm_kernel_fn kernel = pdm_kernel_find(c->k.op);

    ck_assert_ptr_nonnull(kernel);
    const pdm_status status = kernel(&c->k);
    if (status != PDM_OK)
        ck_assert_msg(c->k.message[0] != '\0', "%s refused without a word", c->k.op);
    return status;
}

static inline void end(call *c)
{
    pdm_k_end(&c->k);
    for (int i = 0; i < MAX; i++) {
        pdm_value_deinit(&c->in[i]);
        pdm_value_deinit(&c->out[i]);
    }
}

#endif
