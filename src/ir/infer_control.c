/* Structured control flow, vectors, tensor arrays. */
#include "ir/infer_impl.h"

/* What is common to two values that may stand for the same result. */
static void merge(pdm_ir_meta *into, const pdm_ir_meta *other)
{
    if (into->dtype == PDM_UNDEFINED)
        into->dtype = other->dtype;
    if (into->rank != other->rank) {
        into->rank = -1;
        return;
    }
    for (int i = 0; i < into->rank; i++)
        if (into->dims[i] != other->dims[i])
            into->dims[i] = -1;
}

static const pdm_ir_op *terminator_of(const pdm_ir_infer *in, size_t region)
{
    const pdm_ir_region *r = region < in->state->num_regions ? in->state->regions[region] : NULL;
    const pdm_ir_op *op = r && r->last ? r->last->last : NULL;
    return op && PDM_IR_IS(op, cf, yield) ? op : NULL;
}

pdm_status pdm_ir_infer_if(pdm_ir_infer *in)
{
    const pdm_ir_op *yes = terminator_of(in, 0), *no = terminator_of(in, 1);
    for (size_t i = 0; i < in->num_results && yes; i++) {
        pdm_ir_meta a, b;
        pdm_ir_meta_of_value(pdm_ir_op_operand_value(yes, i), &a);
        if (no) {
            pdm_ir_meta_of_value(pdm_ir_op_operand_value(no, i), &b);
            merge(&a, &b);
        }
        pdm_ir_out_meta(in, i, &a);
    }
    return PDM_OK;
}

/*
 * cond, values; the body yields the next cond and values. What goes in is often a stand-in for a
 * value that the body sets first, so the body's dtype and rank are believed where they differ.
 */
pdm_status pdm_ir_infer_while(pdm_ir_infer *in)
{
    const pdm_ir_op *yield = terminator_of(in, 0);
    for (size_t i = 0; i < in->num_results; i++) {
        pdm_ir_meta a = pdm_ir_in_meta(in, i + 1), b;
        if (yield) {
            pdm_ir_meta_of_value(pdm_ir_op_operand_value(yield, i + 1), &b);
            if (b.dtype != PDM_UNDEFINED && (b.dtype != a.dtype || b.rank != a.rank) && !a.is_array)
                a = b;
            else
                merge(&a, &b);
        }
        pdm_ir_out_meta(in, i, &a);
    }
    return PDM_OK;
}

pdm_status pdm_ir_infer_group(pdm_ir_infer *in)
{
    const pdm_ir_op *yield = terminator_of(in, 0);
    for (size_t i = 0; i < in->num_results && yield; i++) {
        pdm_ir_meta a;
        pdm_ir_meta_of_value(pdm_ir_op_operand_value(yield, i), &a);
        pdm_ir_out_meta(in, i, &a);
    }
    return PDM_OK;
}

/* mask, values */
pdm_status pdm_ir_infer_select_input(pdm_ir_infer *in)
{
    pdm_ir_meta out = pdm_ir_in_meta(in, 1);
    for (size_t i = 2; i < in->state->num_operands; i++) {
        pdm_ir_meta other = pdm_ir_in_meta(in, i);
        merge(&out, &other);
    }
    pdm_ir_out_meta(in, 0, &out);
    return PDM_OK;
}

pdm_status pdm_ir_infer_select_output(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 1);
    for (size_t i = 0; i < in->num_results; i++)
        pdm_ir_out_meta(in, i, &x);
    return PDM_OK;
}

/* ---- vectors --------------------------------------------------------------------------------- */

pdm_status pdm_ir_infer_combine(pdm_ir_infer *in)
{
    for (size_t i = 0; in->results[0].elements && i < in->results[0].num_elements; i++)
        in->results[0].elements[i] = pdm_ir_in_meta(in, i);
    return PDM_OK;
}

pdm_status pdm_ir_infer_vector_slice(pdm_ir_infer *in)
{
    int64_t index = pdm_ir_attr_int(in, "index", 0);
    pdm_ir_meta e = pdm_ir_in_element(in, 0, index < 0 ? SIZE_MAX : (size_t)index);
    pdm_ir_out_meta(in, 0, &e);
    return PDM_OK;
}

pdm_status pdm_ir_infer_vector_split(pdm_ir_infer *in)
{
    for (size_t i = 0; i < in->num_results; i++) {
        pdm_ir_meta e = pdm_ir_in_element(in, 0, i);
        pdm_ir_out_meta(in, i, &e);
    }
    return PDM_OK;
}

/* ---- tensor arrays --------------------------------------------------------------------------- */

static void out_array(pdm_ir_infer *in, pdm_dtype dtype, const pdm_ir_meta *element)
{
    pdm_ir_meta out = element ? *element : pdm_ir_meta_make(dtype, 0, NULL);
    out.dtype = dtype;
    out.is_array = true;
    pdm_ir_out_meta(in, 0, &out);
}

pdm_status pdm_ir_infer_create_array(pdm_ir_infer *in)
{
    out_array(in, pdm_ir_attr_dtype_of(in, "dtype"), NULL);
    return PDM_OK;
}

pdm_status pdm_ir_infer_array_like(pdm_ir_infer *in)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    out_array(in, x.dtype, &x);
    return PDM_OK;
}

/* array, x, i: the array takes dims from what is written, unless it has others. */
pdm_status pdm_ir_infer_array_write(pdm_ir_infer *in)
{
    pdm_ir_meta array = pdm_ir_in_meta(in, 0), x = pdm_ir_in_meta(in, 1);
    pdm_dtype dtype = array.dtype != PDM_UNDEFINED ? array.dtype : x.dtype;
    if (array.rank > 0)
        merge(&array, &x);
    else
        array = x;
    if (array.rank < 0)
        array.rank = 0; /* for an array: unknown */
    out_array(in, dtype, &array);
    return PDM_OK;
}

/* Elements of an array need not have one shape: only the rank is believed, and not where it must be
 * true. `extra` axes come on top. */
static void out_array_element(pdm_ir_infer *in, int extra)
{
    pdm_ir_meta array = pdm_ir_in_meta(in, 0);
    pdm_ir_out_rank(in, 0, array.dtype,
                    array.rank > 0 && !in->shapes ? array.rank + extra : -1);
}

pdm_status pdm_ir_infer_array_read(pdm_ir_infer *in)
{
    out_array_element(in, 0);
    return PDM_OK;
}

/* The elements stacked or joined, and the length each has on the axis. */
pdm_status pdm_ir_infer_array_to_tensor(pdm_ir_infer *in)
{
    out_array_element(in, pdm_ir_state_bool(in->state, "use_stack", false) ? 1 : 0);
    pdm_ir_out_vec(in, 1, PDM_I32, -1);
    return PDM_OK;
}

/* array: what stays, and the element taken out */
pdm_status pdm_ir_infer_array_pop(pdm_ir_infer *in)
{
    pdm_ir_meta array = pdm_ir_in_meta(in, 0);
    out_array(in, array.dtype, &array);
    pdm_ir_out_rank(in, 1, array.dtype, array.rank > 0 && !in->shapes ? array.rank : -1);
    return PDM_OK;
}
