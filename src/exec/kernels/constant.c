/* Constants and copies. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/decimal.h"
#include "exec/kernels/dispatch.h"

/* ---- filling --------------------------------------------------------------------------------- */

/* A number of any kind, exactly. */
typedef struct number {
    enum { INTEGER, REAL, COMPLEX } kind;
    int64_t i;
    double re, im;
} number;

static number number_of_attr(pdm_k *k, pdm_ir_attr attr)
{
    number n = {.kind = INTEGER};

    switch (attr->kind) {
    case PDM_IR_ATTR_BOOL:
        n.i = attr->u.b;
        break;
    case PDM_IR_ATTR_I32:
    case PDM_IR_ATTR_I64:
    case PDM_IR_ATTR_INDEX:
        n.i = attr->u.i;
        break;
    case PDM_IR_ATTR_F32:
    case PDM_IR_ATTR_F64:
        n = (number){.kind = REAL, .re = attr->u.f};
        break;
    case PDM_IR_ATTR_C64:
    case PDM_IR_ATTR_C128:
        n = (number){.kind = COMPLEX, .re = attr->u.c.re, .im = attr->u.c.im};
        break;
    case PDM_IR_ATTR_SCALAR:
        if (attr->dtype == PDM_BOOL)
            n.i = attr->u.b;
        else if (pdm_dtype_is_float(attr->dtype))
            n = (number){.kind = REAL, .re = attr->u.f};
        else if (pdm_dtype_is_complex(attr->dtype))
            n = (number){.kind = COMPLEX, .re = attr->u.c.re, .im = attr->u.c.im};
        else
            n.i = attr->u.i;
        break;
    case PDM_IR_ATTR_STR: {
        /* Old programs spell large or non-finite values as text. */
        const char *end;
        n = (number){.kind = REAL, .re = pdm_decimal_read(attr->u.s.text, &end)};
        if (end == attr->u.s.text || *end)
            pdm_k_fail(k, "'%s' is no number", attr->u.s.text);
        break;
    }
    case PDM_IR_ATTR_NULL:
    case PDM_IR_ATTR_TENSOR_NAME:
    case PDM_IR_ATTR_ARRAY:
    case PDM_IR_ATTR_TYPE:
    case PDM_IR_ATTR_INT_ARRAY:
    case PDM_IR_ATTR_DTYPE:
    case PDM_IR_ATTR_LAYOUT:
    case PDM_IR_ATTR_PLACE:
        pdm_k_fail(k, "the value is of kind %s, not a number", pdm_ir_attr_kind_name(attr->kind));
        break;
    }
    return n;
}

static number number_of_tensor(const pdm_tensor *t)
{
    if (t->dtype == PDM_C64)
        return (number){COMPLEX, 0, (double)((const float *)t->data)[0],
                        (double)((const float *)t->data)[1]};
    if (t->dtype == PDM_C128)
        return (number){COMPLEX, 0, ((const double *)t->data)[0], ((const double *)t->data)[1]};
    if (pdm_dtype_is_float(t->dtype))
        return (number){.kind = REAL, .re = pdm_get_double(t, 0)};
    return (number){.kind = INTEGER, .i = pdm_get_int(t, 0)};
}

static void set(pdm_tensor *t, int64_t i, const number *n)
{
    if (n->kind == INTEGER)
        pdm_set_int(t, i, n->i);
    else
        pdm_set_double(t, i, n->re);
    if (n->kind == COMPLEX && t->dtype == PDM_C64)
        ((float *)t->data)[2 * i + 1] = (float)n->im;
    if (n->kind == COMPLEX && t->dtype == PDM_C128)
        ((double *)t->data)[2 * i + 1] = n->im;
}

#define FILL(size, suffix, type, acc, load, store, ...)                                            \
    static void fill_##suffix(void *data, int64_t count)                                           \
    {                                                                                              \
        type *p = data;                                                                            \
        for (int64_t i = 1; i < count; i++)                                                        \
            p[i] = p[0];                                                                           \
    }
PDM_K_SIZES(FILL)

/* A tensor of one value: the first element is converted, the others are copies. */
static pdm_status fill(pdm_k *k, pdm_dtype dtype, int rank, const int64_t *dims, const number *n)
{
    if (!pdm_k_out(k, 0, dtype, rank, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const int64_t count = pdm_tensor_count(out);
    if (count == 0)
        return PDM_OK;
    set(out, 0, n);
    PDM_K_DISPATCH_SIZE(k, dtype, fill, out->data, count);
    return k->status;
}

static pdm_dtype dtype_or(pdm_k *k, const char *name, pdm_dtype fallback)
{
    const pdm_dtype dtype = pdm_k_dtype(k, name);

    return dtype == PDM_UNDEFINED ? fallback : dtype;
}

static pdm_status shape_rank(pdm_k *k, size_t n)
{
    return n > PDM_MAX_RANK ? pdm_k_fail(k, "the shape has %zu dimensions", n) : k->status;
}

pdm_status pdm_kernel_full(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS];
    const int rank = (int)pdm_k_ints(k, "shape", dims);
    const pdm_dtype dtype = dtype_or(k, "dtype", PDM_F32);
    pdm_ir_attr value = pdm_k_attr(k, "value");

    if (!value)
        return pdm_k_fail(k, "attribute 'value' is missing");
    const number n = number_of_attr(k, value);
    if (shape_rank(k, (size_t)rank) != PDM_OK)
        return k->status;
    return fill(k, dtype, rank, dims, &n);
}

pdm_status pdm_kernel_full_int_array(pdm_k *k)
{
    pdm_ir_attr value = pdm_k_attr(k, "value");
    const pdm_dtype dtype = dtype_or(k, "dtype", PDM_I64);
    const bool is_ints = value && value->kind == PDM_IR_ATTR_INT_ARRAY;

    if (!value || (!is_ints && value->kind != PDM_IR_ATTR_ARRAY))
        return pdm_k_fail(k, "attribute 'value' is no array");
    if (!pdm_k_out(k, 0, dtype, 1, &(int64_t){value->count}))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    for (uint32_t i = 0; i < value->count; i++) {
        const number n = is_ints ? (number){.kind = INTEGER, .i = value->u.ints[i]}
                                 : number_of_attr(k, value->u.items[i]);
        set(out, i, &n);
    }
    return k->status;
}

/* x, value */
pdm_status pdm_kernel_full_like(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *value = pdm_k_in(k, 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (pdm_tensor_count(value) < 1)
        return pdm_k_fail(k, "the value is empty");
    const number n = number_of_tensor(value);
    if (fill(k, dtype_or(k, "dtype", x->dtype), x->rank, x->dims, &n) == PDM_OK)
        pdm_k_share_lod(k, 0, x);
    return k->status;
}

/* value, shape */
pdm_status pdm_kernel_full_with_tensor(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS];
    const pdm_tensor *value = pdm_k_in(k, 0);
    const int rank = (int)pdm_k_in_ints(k, 1, dims);

    if (!PDM_K_OK(k) || shape_rank(k, (size_t)rank) != PDM_OK)
        return k->status;
    if (pdm_tensor_count(value) < 1)
        return pdm_k_fail(k, "the value is empty");
    const number n = number_of_tensor(value);
    return fill(k, dtype_or(k, "dtype", value->dtype), rank, dims, &n);
}

pdm_status pdm_kernel_full_batch_size_like(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS];
    const pdm_tensor *x = pdm_k_in(k, 0);
    const int rank = (int)pdm_k_ints(k, "shape", dims);
    const int64_t from = pdm_k_int(k, "input_dim_idx"), to = pdm_k_int(k, "output_dim_idx");
    pdm_ir_attr value = pdm_k_attr(k, "value");

    if (!PDM_K_OK(k) || shape_rank(k, (size_t)rank) != PDM_OK)
        return k->status;
    if (!value || from < 0 || from >= x->rank || to < 0 || to >= rank)
        return pdm_k_fail(k, "the dimension to copy does not exist");
    const number n = number_of_attr(k, value);
    size_t count;
    const int64_t *lod =
        pdm_tensor_num_lod(x) ? pdm_tensor_lod(x, pdm_tensor_num_lod(x) - 1, &count) : NULL;
    /* The batch of sequences is their number, not that of their rows. */
    dims[to] = lod && from == 0 && count > 0 ? (int64_t)count - 1 : x->dims[from];
    return fill(k, dtype_or(k, "dtype", x->dtype), rank, dims, &n);
}

pdm_status pdm_kernel_assign_value(pdm_k *k)
{
    int64_t dims[PDM_K_MAX_INTS];
    const int rank = (int)pdm_k_ints(k, "shape", dims);
    const pdm_dtype dtype = pdm_k_dtype(k, "dtype");
    pdm_ir_attr values = pdm_k_attr(k, "values");

    if (!PDM_K_OK(k) || shape_rank(k, (size_t)rank) != PDM_OK)
        return k->status;
    if (!values || values->kind != PDM_IR_ATTR_ARRAY)
        return pdm_k_fail(k, "attribute 'values' is no array");
    if (!pdm_k_out(k, 0, dtype, rank, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    if (pdm_tensor_count(out) != (int64_t)values->count)
        return pdm_k_fail(k, "%lld values are needed, %lu are given",
                          (long long)pdm_tensor_count(out), (unsigned long)values->count);
    for (uint32_t i = 0; i < values->count; i++) {
        const number n = number_of_attr(k, values->u.items[i]);
        set(out, i, &n);
    }
    return k->status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Data are shared until somebody writes: a copy costs nothing. */
pdm_status pdm_kernel_assign(pdm_k *k)
{
    const pdm_value *x = pdm_k_value(k, 0);

    if (x && x->kind == PDM_VALUE_ARRAY && pdm_k_wants(k, 0))
        return pdm_value_ref(pdm_k_out_value(k, 0), x) == PDM_OK ? PDM_OK : pdm_k_nomem(k);
    const pdm_tensor *t = pdm_k_in(k, 0);
    if (t)
        pdm_k_share(k, 0, t, t->rank, t->dims);
    return k->status;
}

/* mask, values: the value whose number the mask holds */
pdm_status pdm_kernel_select_input(pdm_k *k)
{
    const int64_t which = pdm_k_in_int(k, 0, -1);

    if (!PDM_K_OK(k))
        return k->status;
    if (which < 0 || (uint64_t)which + 1 >= k->num_in)
        return pdm_k_fail(k, "the mask chooses value %lld of %zu", (long long)which, k->num_in - 1);
    const pdm_value *from = pdm_k_value(k, (size_t)which + 1);
    pdm_value *out = pdm_k_out_value(k, 0);
    if (!from || from->kind == PDM_VALUE_NONE)
        return pdm_k_fail(k, "the value that the mask chooses was not computed");
    return !out || pdm_value_ref(out, from) == PDM_OK ? PDM_OK : pdm_k_nomem(k);
}

/* mask, x: x becomes the result whose number the mask holds; the others stay empty */
pdm_status pdm_kernel_select_output(pdm_k *k)
{
    const int64_t which = pdm_k_in_int(k, 0, -1);
    const pdm_value *x = pdm_k_value(k, 1);

    if (!PDM_K_OK(k))
        return k->status;
    if (!x || which < 0 || (uint64_t)which >= k->num_out)
        return pdm_k_fail(k, "the mask chooses result %lld of %zu", (long long)which, k->num_out);
    for (size_t i = 0; i < k->num_out; i++) {
        pdm_value *out = pdm_k_out_value(k, i);
        if (out && i != (size_t)which)
            pdm_value_deinit(out);
        else if (out && pdm_value_ref(out, x) != PDM_OK)
            return pdm_k_nomem(k);
    }
    return PDM_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void put_element(pdm_buf *buf, const pdm_tensor *t, int64_t i)
{
    char text[40];

    if (pdm_dtype_is_float(t->dtype) || pdm_dtype_is_complex(t->dtype)) {
        snprintf(text, sizeof text, "%.9g", pdm_get_double(t, i));
        pdm_buf_puts(buf, text);
    } else {
        pdm_buf_i64(buf, pdm_get_int(t, i));
    }
}

/* The first `most` elements (all when negative). */
static void put_data(pdm_buf *buf, const pdm_tensor *t, int64_t most)
{
    const int64_t count = pdm_tensor_count(t), shown = most < 0 || most > count ? count : most;

    pdm_buf_putc(buf, '[');
    for (int64_t i = 0; i < shown; i++) {
        if (i > 0)
            pdm_buf_putc(buf, ' ');
        put_element(buf, t, i);
    }
    pdm_buf_puts(buf, shown < count ? " ...]" : "]");
}

static void put_dims(pdm_buf *buf, const pdm_tensor *t)
{
    pdm_buf_putc(buf, '[');
    for (int i = 0; i < t->rank; i++) {
        if (i > 0)
            pdm_buf_puts(buf, ", ");
        pdm_buf_i64(buf, t->dims[i]);
    }
    pdm_buf_putc(buf, ']');
}

pdm_status pdm_kernel_print(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);
    pdm_buf buf;

    if (!x)
        return k->status;
    if (k->print) {
        pdm_buf_init(&buf);
        if (pdm_k_has_attr(k, "message")) {
            pdm_buf_puts(&buf, pdm_k_str(k, "message"));
            pdm_buf_putc(&buf, '\n');
        }
        pdm_buf_puts(&buf, "  - shape: ");
        put_dims(&buf, x);
        pdm_buf_printf(&buf, "\n  - dtype: %s\n  - data: ", pdm_dtype_name(x->dtype));
        put_data(&buf, x, pdm_k_int_or(k, "summarize", -1));
        pdm_buf_putc(&buf, '\n');
        if (pdm_buf_ok(&buf))
            k->print(k->print_self, buf.data);
        pdm_buf_deinit(&buf);
    }
    pdm_k_share(k, 0, x, x->rank, x->dims);
    return k->status;
}

/* cond, data */
pdm_status pdm_kernel_assert(pdm_k *k)
{
    const pdm_tensor *cond = pdm_k_in(k, 0);
    const int64_t most = pdm_k_int_or(k, "summarize", 20);
    pdm_buf buf;

    if (!PDM_K_OK(k))
        return k->status;
    if (pdm_tensor_count(cond) != 1)
        return pdm_k_fail(k, "the condition has %lld elements instead of one",
                          (long long)pdm_tensor_count(cond));
    if (pdm_get_int(cond, 0) != 0)
        return PDM_OK;
    pdm_buf_init(&buf);
    for (size_t i = 0; i < pdm_k_list_count(k, 1); i++) {
        const pdm_tensor *t = pdm_k_list_at(k, 1, i);
        if (!t)
            break;
        pdm_buf_puts(&buf, i ? " " : "; data: ");
        put_data(&buf, t, most);
    }
    if (PDM_K_OK(k))
        pdm_k_fail(k, "the condition must be true, but it is false%s",
                   pdm_buf_ok(&buf) && buf.data ? buf.data : "");
    pdm_buf_deinit(&buf);
    return k->status;
}
