/*
 * Calling one kernel from another: legacy ops that are a PIR op with something around it.
 *
 *     pdm_sub s;
 *     pdm_sub_begin(&s, k, "pd_op.matmul");
 *     pdm_sub_in(&s, x);
 *     pdm_sub_in(&s, y);
 *     pdm_sub_bool(&s, "transpose_x", true);
 *     pdm_sub_result(&s, pdm_k_out_slot_value(k, "Out"));
 *     pdm_sub_run(&s);
 *     pdm_sub_end(&s);
 *
 * Operands, attributes and results are given in the order of the op's row; attributes that are not
 * given come from the outer call under the same name. A failure becomes that of the outer call.
 * Tensors are borrowed until pdm_sub_end.
 */
#ifndef PDM_EXEC_KERNELS_LEGACY_SUB_H
#define PDM_EXEC_KERNELS_LEGACY_SUB_H

#include "exec/kernels/dispatch.h"

#define PDM_SUB_MOST 16

typedef struct pdm_sub {
    pdm_k call;
    pdm_k *outer;
    pdm_kernel_fn fn;
    pdm_value own[PDM_SUB_MOST];   /* operands; tensors in them are borrowed unless made here */
    bool made[PDM_SUB_MOST];       /* own[i].tensor is ours */
    pdm_value temps[PDM_SUB_MOST]; /* results that only the caller looks at */
    pdm_value *in[PDM_SUB_MOST], *out[PDM_SUB_MOST];
    size_t counts[PDM_SUB_MOST];
    struct {
        const char *name;
        struct pdm_ir_attr_s attr;
    } attrs[PDM_SUB_MOST + 1]; /* the last takes what is too much */
    size_t num_attrs;
} pdm_sub;

void pdm_sub_begin(pdm_sub *s, pdm_k *outer, const char *op);
void pdm_sub_in(pdm_sub *s, const pdm_tensor *tensor);                 /* NULL: absent */
void pdm_sub_in_value(pdm_sub *s, pdm_value *value);                   /* NULL: absent */
void pdm_sub_in_list(pdm_sub *s, pdm_value **items, size_t count);     /* items: the caller's */
void pdm_sub_in_ints(pdm_sub *s, const int64_t *values, size_t count); /* an int64 tensor */
void pdm_sub_in_int(pdm_sub *s, int64_t value);
/* Names of the operands and results of a kernel "legacy.*"; the caller's arrays. */
void pdm_sub_slots(pdm_sub *s, const char *const *in, const char *const *out);
void pdm_sub_bool(pdm_sub *s, const char *name, bool value);
void pdm_sub_int(pdm_sub *s, const char *name, int64_t value);
void pdm_sub_ints(pdm_sub *s, const char *name, const int64_t *values, size_t count);
void pdm_sub_float(pdm_sub *s, const char *name, double value);
void pdm_sub_str(pdm_sub *s, const char *name, const char *text);
void pdm_sub_dtype(pdm_sub *s, const char *name, pdm_dtype dtype);
void pdm_sub_attr(pdm_sub *s, const char *name, pdm_ir_attr attr);
void pdm_sub_result(pdm_sub *s, pdm_value *value); /* NULL: unwanted */
/* A result for the caller: what it gives is valid until pdm_sub_end. */
pdm_tensor *pdm_sub_temp(pdm_sub *s);
pdm_status pdm_sub_run(pdm_sub *s);
void pdm_sub_end(pdm_sub *s);

/* What fused ops do to each element: an activation by its name, with up to two parameters. */
double pdm_sub_activation(pdm_k *k, const char *name, double v, double alpha, double beta);

/* A tensor seen with other dims: it must have as many elements, else the call fails. */
pdm_tensor pdm_sub_view(pdm_k *k, const pdm_tensor *tensor, int rank, const int64_t *dims);
/* The result of a slot as a new tensor; NULL: unwanted, or the call failed. */
pdm_tensor *pdm_sub_out(pdm_k *k, const char *slot, pdm_dtype dtype, int rank, const int64_t *dims);
/* An operand of a slot that must be there. */
const pdm_tensor *pdm_sub_slot(pdm_k *k, const char *slot);
/* The integers of an optional tensor or tensors in a slot, or else of an attribute (which may be
 * absent too). */
size_t pdm_sub_slot_ints(pdm_k *k, const char *list_slot, const char *slot, const char *attr,
                         int64_t out[PDM_K_MAX_INTS]);

#endif
