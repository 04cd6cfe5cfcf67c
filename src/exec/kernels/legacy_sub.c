/* Calling one kernel from another. */
#include "exec/kernels/legacy_sub.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"

static pdm_ir_attr attr_of(void *self, const char *name)
{
    const pdm_sub *s = self;

    for (size_t i = 0; i < s->num_attrs; i++) {
        if (!strcmp(s->attrs[i].name, name))
            return &s->attrs[i].attr;
    }
    return s->outer->attrs.attr ? s->outer->attrs.attr(s->outer->attrs.self, name) : NULL;
}

void pdm_sub_begin(pdm_sub *s, pdm_k *outer, const char *op)
{
    memset(s, 0, sizeof *s);
    s->outer = outer;
    s->fn = pdm_kernel_find(op);
    s->call = (pdm_k){
        .op = op,
        .desc = pdm_ir_op_desc_find(op),
        .in = s->in,
        .out = s->out,
        .out_counts = s->counts,
        .attrs = {attr_of, s},
        .rng = outer->rng,
        .pool = outer->pool,
        .legacy = outer->legacy,
        .before = outer->before,
        .print = outer->print,
        .print_self = outer->print_self,
    };
    if (!s->fn)
        pdm_k_fail(outer, "there is no kernel '%s', which is needed", op);
}

/* ---- operands -------------------------------------------------------------------------------- */

static pdm_value *next_in(pdm_sub *s)
{
    if (s->call.num_in == PDM_SUB_MOST) {
        pdm_k_fail(s->outer, "too many operands");
        return NULL;
    }
    const size_t i = s->call.num_in++;
    s->in[i] = &s->own[i];
    return s->in[i];
}

void pdm_sub_in_value(pdm_sub *s, pdm_value *value)
{
    if (next_in(s))
        s->in[s->call.num_in - 1] = value;
}

void pdm_sub_in(pdm_sub *s, const pdm_tensor *tensor)
{
    pdm_value *value = next_in(s);

    if (!value)
        return;
    if (!tensor) {
        s->in[s->call.num_in - 1] = NULL;
        return;
    }
    value->kind = PDM_VALUE_TENSOR;
    value->tensor = *tensor;
}

void pdm_sub_in_list(pdm_sub *s, pdm_value **items, size_t count)
{
    pdm_value *value = next_in(s);

    if (!value)
        return;
    value->kind = PDM_VALUE_LIST;
    value->list.items = items;
    value->list.count = count;
}

void pdm_sub_slots(pdm_sub *s, const char *const *in, const char *const *out)
{
    s->call.in_slots = in;
    s->call.out_slots = out;
}

static pdm_tensor *made_tensor(pdm_sub *s, pdm_dtype dtype, int64_t count)
{
    pdm_value *value = next_in(s);

    if (!value)
        return NULL;
    value->kind = PDM_VALUE_TENSOR;
    if (pdm_tensor_alloc(&value->tensor, dtype, 1, &count) != PDM_OK) {
        pdm_k_nomem(s->outer);
        return NULL;
    }
    s->made[s->call.num_in - 1] = true;
    return &value->tensor;
}

void pdm_sub_in_ints(pdm_sub *s, const int64_t *values, size_t count)
{
    pdm_tensor *t = made_tensor(s, PDM_I64, (int64_t)count);

    if (t && count)
        memcpy(t->data, values, count * sizeof *values);
}

void pdm_sub_in_int(pdm_sub *s, int64_t value)
{
    pdm_sub_in_ints(s, &value, 1);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static struct pdm_ir_attr_s *next_attr(pdm_sub *s, const char *name, pdm_ir_attr_kind kind)
{
    if (s->num_attrs == PDM_SUB_MOST) {
        pdm_k_fail(s->outer, "too many attributes");
        return &s->attrs[PDM_SUB_MOST].attr;
    }
    s->attrs[s->num_attrs].name = name;
    s->attrs[s->num_attrs].attr.kind = kind;
    return &s->attrs[s->num_attrs++].attr;
}

void pdm_sub_bool(pdm_sub *s, const char *name, bool value)
{
    next_attr(s, name, PDM_IR_ATTR_BOOL)->u.b = value;
}

void pdm_sub_int(pdm_sub *s, const char *name, int64_t value)
{
    next_attr(s, name, PDM_IR_ATTR_I64)->u.i = value;
}

void pdm_sub_ints(pdm_sub *s, const char *name, const int64_t *values, size_t count)
{
    struct pdm_ir_attr_s *attr = next_attr(s, name, PDM_IR_ATTR_INT_ARRAY);

    attr->u.ints = values;
    attr->count = (uint32_t)count;
}

void pdm_sub_float(pdm_sub *s, const char *name, double value)
{
    next_attr(s, name, PDM_IR_ATTR_F64)->u.f = value;
}

void pdm_sub_str(pdm_sub *s, const char *name, const char *text)
{
    struct pdm_ir_attr_s *attr = next_attr(s, name, PDM_IR_ATTR_STR);

    attr->u.s.text = text;
    attr->u.s.size = strlen(text);
}

void pdm_sub_dtype(pdm_sub *s, const char *name, pdm_dtype dtype)
{
    next_attr(s, name, PDM_IR_ATTR_DTYPE)->dtype = dtype;
}

void pdm_sub_attr(pdm_sub *s, const char *name, pdm_ir_attr attr)
{
    if (attr)
        *next_attr(s, name, attr->kind) = *attr;
}

/* ---- results --------------------------------------------------------------------------------- */

void pdm_sub_result(pdm_sub *s, pdm_value *value)
{
    if (s->call.num_out == PDM_SUB_MOST) {
        pdm_k_fail(s->outer, "too many results");
        return;
    }
    s->counts[s->call.num_out] = value && value->kind == PDM_VALUE_LIST ? value->list.count : 1;
    s->out[s->call.num_out++] = value;
}

pdm_tensor *pdm_sub_temp(pdm_sub *s)
{
    if (s->call.num_out == PDM_SUB_MOST) {
        pdm_k_fail(s->outer, "too many results");
        return &s->temps[PDM_SUB_MOST - 1].tensor;
    }
    pdm_value *value = &s->temps[s->call.num_out];
    pdm_sub_result(s, value);
    return &value->tensor;
}

pdm_status pdm_sub_run(pdm_sub *s)
{
    pdm_k *k = s->outer;

    if (!PDM_K_OK(k))
        return k->status;
    pdm_status status = s->fn(&s->call);
    if (status == PDM_OK)
        status = s->call.status;
    k->asked |= s->call.asked;
    if (status == PDM_NOMEM)
        pdm_k_nomem(k);
    else if (status != PDM_OK)
        pdm_k_fail(k, "%s", s->call.message[0] ? s->call.message : pdm_status_text(status));
    if (status != PDM_OK && k->status != status)
        k->status = status;
    return k->status;
}

void pdm_sub_end(pdm_sub *s)
{
    pdm_k_end(&s->call);
    for (size_t i = 0; i < s->call.num_in; i++) {
        if (s->made[i])
            pdm_tensor_deinit(&s->own[i].tensor);
    }
    for (size_t i = 0; i < s->call.num_out; i++)
        pdm_value_deinit(&s->temps[i]);
}

/* ---- what legacy kernels share --------------------------------------------------------------- */

pdm_tensor pdm_sub_view(pdm_k *k, const pdm_tensor *tensor, int rank, const int64_t *dims)
{
    pdm_tensor view = {0};
    uint64_t count;

    if (!tensor || !PDM_K_OK(k))
        return view;
    view = *tensor;
    if (rank < 0 || rank > PDM_MAX_RANK || !pdm_count_elements(dims, (size_t)rank, &count) ||
        count != (uint64_t)pdm_tensor_count(tensor)) {
        pdm_k_fail(k, "a tensor cannot be seen with dims of another number of elements");
        return view;
    }
    view.rank = rank;
    for (int i = 0; i < rank; i++)
        view.dims[i] = dims[i];
    return view;
}

pdm_tensor *pdm_sub_out(pdm_k *k, const char *slot, pdm_dtype dtype, int rank, const int64_t *dims)
{
    pdm_tensor *out = pdm_k_out_slot(k, slot);

    if (!out || !PDM_K_OK(k))
        return NULL;
    if (rank < 0 || rank > PDM_MAX_RANK || pdm_dtype_size(dtype) == 0) {
        pdm_k_fail(k, "the result '%s' would have %d dimensions of %s", slot, rank,
                   pdm_dtype_name(dtype));
        return NULL;
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) {
            pdm_k_fail(k, "the result '%s' would have %lld as its dimension %d", slot,
                       (long long)dims[i], i);
            return NULL;
        }
    }
    const pdm_status status = pdm_tensor_alloc(out, dtype, rank, dims);
    if (status == PDM_NOMEM)
        pdm_k_nomem(k);
    else if (status != PDM_OK)
        pdm_k_fail(k, "the result '%s' cannot be allocated: %s", slot, pdm_status_text(status));
    return PDM_K_OK(k) ? out : NULL;
}

const pdm_tensor *pdm_sub_slot(pdm_k *k, const char *slot)
{
    const pdm_tensor *tensor = pdm_k_slot(k, slot);

    if (!tensor)
        pdm_k_fail(k, "operand '%s' holds no tensor", slot);
    return tensor;
}

static bool add_ints(pdm_k *k, const pdm_tensor *t, int64_t out[PDM_K_MAX_INTS], size_t *n)
{
    const int64_t count = pdm_tensor_count(t);

    if (count > (int64_t)(PDM_K_MAX_INTS - *n)) {
        pdm_k_fail(k, "an operand has more than %d numbers", PDM_K_MAX_INTS);
        return false;
    }
    for (int64_t i = 0; i < count; i++)
        out[(*n)++] = pdm_get_int(t, i);
    return true;
}

size_t pdm_sub_slot_ints(pdm_k *k, const char *list_slot, const char *slot, const char *attr,
                         int64_t out[PDM_K_MAX_INTS])
{
    const size_t count = list_slot ? pdm_k_slot_count(k, list_slot) : 0;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const pdm_tensor *t = pdm_k_slot_at(k, list_slot, i);
        if (!t) {
            pdm_k_fail(k, "an operand of '%s' holds no tensor", list_slot);
            return 0;
        }
        if (!add_ints(k, t, out, &n))
            return 0;
    }
    if (n)
        return n;
    const pdm_tensor *t = slot ? pdm_k_slot(k, slot) : NULL;
    if (t)
        return add_ints(k, t, out, &n) ? n : 0;
    return attr && pdm_k_has_attr(k, attr) ? pdm_k_ints(k, attr, out) : 0;
}
