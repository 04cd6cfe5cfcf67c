#include "exec/constants.h"

#include <stdlib.h>

#include "base/checked.h"

static pdm_ir_attr op_attr(void *self, const char *name)
{
    return pdm_ir_op_attr(self, name);
}

static pdm_k call_of(const pdm_ir_op *op, pdm_kernel_fn reference, const pdm_exec_operands *operands)
{
    return (pdm_k) {.op = pdm_ir_op_name(op),
               .desc = op->info->desc,
               .in = operands->in,
               .num_in = operands->num_in,
               .out = operands->out,
               .num_out = operands->num_out,
               .attrs = {op_attr, (void *)(uintptr_t)op},
               .reference = reference};
}

static pdm_status finish(pdm_k *k, pdm_kernel_fn fn)
{
    pdm_status status = fn(k);

    if (status == PDM_OK)
        status = k->status;
    pdm_k_end(k);
    return status;
}

pdm_status pdm_exec_compute(const pdm_ir_op *op, pdm_kernel_fn fn, pdm_kernel_fn reference,
                            const pdm_exec_operands *operands)
{
    pdm_k k = call_of(op, reference, operands);

    return finish(&k, fn);
}

/* ---- for passes ------------------------------------------------------------------------------ */

enum { MAX_VALUES = 16 };

/* Values around tensors of an op: operands first, then elements of vectors. */
typedef struct frame {
    pdm_value in[MAX_VALUES], out[MAX_VALUES];
    pdm_value *in_refs[MAX_VALUES], *out_refs[MAX_VALUES];
    pdm_value *elements, **element_refs;
} frame;

static bool bind(frame *f, const pdm_ir_op *op, const pdm_tensor *const *in, const size_t *counts)
{
    size_t total = 0, at = 0;

    for (uint32_t i = 0; i < op->num_operands; i++)
        total += counts[i];
    f->elements = calloc(total + 1, sizeof *f->elements);
    f->element_refs = calloc(total + 1, sizeof *f->element_refs);
    if (!f->elements || !f->element_refs)
        return false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const pdm_ir_value *value = pdm_ir_op_operand_value(op, i);
        if (!value)
            continue;
        f->in_refs[i] = &f->in[i];
        const bool list = value->type && value->type->kind == PDM_IR_VECTOR;
        f->in[i].kind = list ? PDM_VALUE_LIST : PDM_VALUE_TENSOR;
        f->in[i].list.items = f->element_refs + at;
        f->in[i].list.count = counts[i];
        for (size_t k = 0; k < counts[i]; k++, at++) {
            pdm_value *to = list ? &f->elements[at] : &f->in[i];
            to->kind = PDM_VALUE_TENSOR;
            pdm_tensor_ref(&to->tensor, in[at]);
            f->element_refs[at] = to;
        }
        if (!list)
            f->in[i].list.items = NULL;
    }
    return true;
}

static void unbind(frame *f, const pdm_ir_op *op, const size_t *counts)
{
    size_t total = 0;

    for (uint32_t i = 0; i < op->num_operands; i++) {
        total += counts[i];
        pdm_tensor_deinit(&f->in[i].tensor);
    }
    for (size_t i = 0; f->elements && i < total; i++)
        pdm_tensor_deinit(&f->elements[i].tensor);
    for (uint32_t i = 0; i < op->num_results; i++)
        pdm_value_deinit(&f->out[i]);
    free(f->elements);
    free(f->element_refs);
}

/* Declared types may lie: a result that is much larger than its op declares is not made at all. */
static pdm_status allocate(void *self, size_t index, pdm_tensor *tensor, pdm_dtype dtype, int rank,
                           const int64_t *dims)
{
    enum { SMALL = 1 << 20 };
    const pdm_ir_op *op = self;
    const pdm_ir_type type = index < op->num_results ? pdm_ir_op_result(op, (uint32_t)index)->type : NULL;
    uint64_t count, bytes, declared = 0;

    if (!pdm_count_elements(dims, (size_t)rank, &count) ||
        !pdm_mul_u64(count, pdm_dtype_size(dtype), &bytes))
        return PDM_UNSUPPORTED;
    /* Of dims that are not known nothing is declared. */
    if (pdm_ir_type_is_tensor(type) &&
        (!pdm_count_elements(type->dims, type->rank, &count) ||
         !pdm_mul_u64(count, pdm_dtype_size(type->dtype), &declared)))
        declared = 0;
    return bytes > SMALL && bytes > declared ? PDM_UNSUPPORTED
                                             : pdm_tensor_alloc(tensor, dtype, rank, dims);
}

pdm_status pdm_exec_constants_compute(void *user, const pdm_ir_op *op, const pdm_tensor *const *in,
                                      const size_t *counts, pdm_tensor *const *out)
{
    const pdm_kernel_fn fn = pdm_kernel_find(pdm_ir_op_name(op));
    frame f = {0};

    (void)user;
    if (!fn || op->num_operands > MAX_VALUES || op->num_results > MAX_VALUES)
        return PDM_OK;
    pdm_status status = bind(&f, op, in, counts) ? PDM_OK : PDM_NOMEM;
    for (uint32_t i = 0; i < op->num_results; i++)
        f.out_refs[i] = out[i] ? &f.out[i] : NULL;
    if (status == PDM_OK) {
        pdm_k k = call_of(op, NULL,
                          &(pdm_exec_operands){f.in_refs, op->num_operands, f.out_refs,
                                               op->num_results});
        k.alloc = allocate;
        k.alloc_self = (void *)(uintptr_t)op;
        status = finish(&k, fn);
    }
    for (uint32_t i = 0; status == PDM_OK && i < op->num_results; i++) {
        if (out[i] && f.out[i].kind == PDM_VALUE_TENSOR)
            pdm_tensor_ref(out[i], &f.out[i].tensor);
    }
    unbind(&f, op, counts);
    /* What fails now may never be reached in a run. */
    return status == PDM_NOMEM ? status : PDM_OK;
}

static const pdm_param *find(const pdm_exec_constants *c, const char *name)
{
    const pdm_param *p = c->params ? pdm_params_find(c->params, name) : NULL;

    return p && p->kind == PDM_PARAM_DENSE && p->num_lod_levels == 0 ? p : NULL;
}

static pdm_status parameter(void *user, const char *name, pdm_tensor *out)
{
    pdm_exec_constants *c = user;
    const pdm_param *p = find(c, name);

    return p ? pdm_param_read(&c->reader, p, c->sink, out) : PDM_OK;
}

static uint64_t parameter_bytes(void *user, const char *name)
{
    const pdm_param *p = find(user, name);

    return p ? p->data_size : 0;
}

void pdm_exec_constants_init(pdm_exec_constants *constants, const pdm_params *params,
                             pdm_diag_sink *sink)
{
    *constants = (pdm_exec_constants){
        .source = {parameter, parameter_bytes, pdm_exec_constants_compute, constants},
        .params = params,
        .sink = sink};
    pdm_param_reader_init(&constants->reader);
}

void pdm_exec_constants_deinit(pdm_exec_constants *constants)
{
    pdm_param_reader_deinit(&constants->reader);
}
