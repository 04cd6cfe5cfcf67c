/* What kernels see of a call: operands, attributes, results. */
#include "exec/kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/decimal.h"
#include "exec/pool.h"

/* ---- failure --------------------------------------------------------------------------------- */

pdm_status pdm_k_fail(pdm_k *k, const char *format, ...)
{
    va_list args;

    if (k->status != PDM_OK)
        return k->status;
    va_start(args, format);
    vsnprintf(k->message, sizeof k->message, format, args);
    va_end(args);
    k->status = PDM_INVALID_ARG;
    return k->status;
}

pdm_status pdm_k_nomem(pdm_k *k)
{
    if (k->status == PDM_OK) {
        k->status = PDM_NOMEM;
        snprintf(k->message, sizeof k->message, "out of memory");
    }
    return k->status;
}

pdm_status pdm_k_unsupported_dtype(pdm_k *k, pdm_dtype dtype)
{
    return pdm_k_fail(k, "element type %s is not supported", pdm_dtype_name(dtype));
}

/* ---- operands -------------------------------------------------------------------------------- */

/* The name of operand i for messages; row operands of kind MANY are last. */
static const char *in_name(const pdm_k *k, size_t i)
{
    if (k->in_slots)
        return i < k->num_in && k->in_slots[i] ? k->in_slots[i] : "?";
    if (!k->desc || k->desc->num_operands == 0)
        return "?";
    return k->desc->operands[i < k->desc->num_operands ? i : k->desc->num_operands - 1U].name;
}

pdm_value *pdm_k_value(pdm_k *k, size_t index)
{
    if (!PDM_K_OK(k) || index >= k->num_in)
        return NULL;
    return k->in[index];
}

static const pdm_tensor *tensor_of(const pdm_value *value)
{
    /* A vector of one stands for its element. */
    if (value && value->kind == PDM_VALUE_LIST && value->list.count == 1)
        value = value->list.items[0];
    if (!value || (value->kind != PDM_VALUE_TENSOR && value->kind != PDM_VALUE_SELECTED_ROWS) ||
        value->tensor.dtype == PDM_UNDEFINED)
        return NULL;
    return &value->tensor;
}

const pdm_tensor *pdm_k_in_opt(pdm_k *k, size_t index)
{
    return tensor_of(pdm_k_value(k, index));
}

const pdm_tensor *pdm_k_in(pdm_k *k, size_t index)
{
    const pdm_tensor *tensor = pdm_k_in_opt(k, index);

    if (!tensor)
        pdm_k_fail(k, "operand '%s' holds no tensor", in_name(k, index));
    return tensor;
}

size_t pdm_k_list_count(pdm_k *k, size_t index)
{
    const pdm_value *value = pdm_k_value(k, index);

    if (!value || value->kind == PDM_VALUE_NONE)
        return 0;
    return value->kind == PDM_VALUE_LIST ? value->list.count : 1;
}

const pdm_tensor *pdm_k_list_at(pdm_k *k, size_t index, size_t element)
{
    const pdm_value *value = pdm_k_value(k, index);

    if (value && value->kind == PDM_VALUE_LIST)
        value = element < value->list.count ? value->list.items[element] : NULL;
    else if (element > 0)
        value = NULL;
    const pdm_tensor *tensor = tensor_of(value);
    if (!tensor)
        pdm_k_fail(k, "element %zu of operand '%s' holds no tensor", element, in_name(k, index));
    return tensor;
}

static pdm_value *slot_nth(pdm_k *k, const char *slot, size_t nth)
{
    for (size_t i = 0; PDM_K_OK(k) && k->in_slots && i < k->num_in; i++) {
        if (k->in_slots[i] && !strcmp(k->in_slots[i], slot) && nth-- == 0)
            return k->in[i];
    }
    return NULL;
}

const pdm_tensor *pdm_k_slot_at(pdm_k *k, const char *slot, size_t nth)
{
    return tensor_of(slot_nth(k, slot, nth));
}

const pdm_tensor *pdm_k_slot(pdm_k *k, const char *slot)
{
    return pdm_k_slot_at(k, slot, 0);
}

pdm_value *pdm_k_slot_value(pdm_k *k, const char *slot)
{
    return slot_nth(k, slot, 0);
}

size_t pdm_k_slot_count(pdm_k *k, const char *slot)
{
    size_t count = 0;

    for (size_t i = 0; k->in_slots && i < k->num_in; i++)
        count += k->in_slots[i] && !strcmp(k->in_slots[i], slot);
    return count;
}

/* The only element of a mutable attribute. */
static const pdm_tensor *number_in(pdm_k *k, size_t index)
{
    const pdm_tensor *tensor = pdm_k_in_opt(k, index);

    if (tensor && pdm_tensor_count(tensor) < 1)
        pdm_k_fail(k, "operand '%s' is empty, a number is needed", in_name(k, index));
    return PDM_K_OK(k) ? tensor : NULL;
}

int64_t pdm_k_in_int(pdm_k *k, size_t index, int64_t fallback)
{
    const pdm_tensor *tensor = number_in(k, index);

    return tensor ? pdm_get_int(tensor, 0) : fallback;
}

double pdm_k_in_float(pdm_k *k, size_t index, double fallback)
{
    const pdm_tensor *tensor = number_in(k, index);

    return tensor ? pdm_get_double(tensor, 0) : fallback;
}

static void add_ints(pdm_k *k, size_t index, const pdm_tensor *t, int64_t *out, size_t *n)
{
    const int64_t count = pdm_tensor_count(t);

    if (count > (int64_t)(PDM_K_MAX_INTS - *n)) {
        pdm_k_fail(k, "operand '%s' has more than %d numbers", in_name(k, index), PDM_K_MAX_INTS);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[(*n)++] = pdm_get_int(t, i);
}

size_t pdm_k_in_ints(pdm_k *k, size_t index, int64_t out[PDM_K_MAX_INTS])
{
    const pdm_value *value = pdm_k_value(k, index);
    size_t n = 0;

    if (!value)
        return 0;
    if (value->kind == PDM_VALUE_LIST) {
        for (size_t i = 0; PDM_K_OK(k) && i < value->list.count; i++) {
            const pdm_tensor *t = pdm_k_list_at(k, index, i);
            if (t)
                add_ints(k, index, t, out, &n);
        }
    } else if (tensor_of(value)) {
        add_ints(k, index, tensor_of(value), out, &n);
    }
    return PDM_K_OK(k) ? n : 0;
}

/* ---- attributes ------------------------------------------------------------------------------ */

pdm_ir_attr pdm_k_attr(pdm_k *k, const char *name)
{
    if (!PDM_K_OK(k) || !k->attrs.attr)
        return NULL;
    pdm_ir_attr attr = k->attrs.attr(k->attrs.self, name);
    return attr && attr->kind == PDM_IR_ATTR_NULL ? NULL : attr;
}

bool pdm_k_has_attr(pdm_k *k, const char *name)
{
    return pdm_k_attr(k, name) != NULL;
}

/* The default that the row has, as JSON text; NULL after having told that there is none. */
static const char *default_of(pdm_k *k, const char *name)
{
    const pdm_ir_attr_desc *desc = k->desc ? pdm_ir_op_desc_attr(k->desc, name) : NULL;

    if (desc && desc->default_json)
        return desc->default_json;
    pdm_k_fail(k, "attribute '%s' is missing", name);
    return NULL;
}

static pdm_status wrong_kind(pdm_k *k, const char *name, pdm_ir_attr attr, const char *wanted)
{
    return pdm_k_fail(k, "attribute '%s' is of kind %s, not %s", name,
                      pdm_ir_attr_kind_name(attr->kind), wanted);
}

/* A number as double and, for integers, exactly; false for other kinds. */
static bool number_of(pdm_ir_attr attr, double *f, int64_t *i)
{
    switch (attr->kind) {
    case PDM_IR_ATTR_BOOL:
        *i = attr->u.b;
        *f = (double)*i;
        return true;
    case PDM_IR_ATTR_I32:
    case PDM_IR_ATTR_I64:
    case PDM_IR_ATTR_INDEX:
        *i = attr->u.i;
        *f = (double)*i;
        return true;
    case PDM_IR_ATTR_F32:
    case PDM_IR_ATTR_F64:
        *f = attr->u.f;
        *i = pdm_int_of_double(*f);
        return true;
    case PDM_IR_ATTR_C64:
    case PDM_IR_ATTR_C128:
        *f = attr->u.c.re;
        *i = pdm_int_of_double(*f);
        return true;
    case PDM_IR_ATTR_SCALAR:
        if (attr->dtype == PDM_BOOL) {
            *i = attr->u.b;
            *f = (double)*i;
        } else if (pdm_dtype_is_float(attr->dtype)) {
            *f = attr->u.f;
            *i = pdm_int_of_double(*f);
        } else if (pdm_dtype_is_complex(attr->dtype)) {
            *f = attr->u.c.re;
            *i = pdm_int_of_double(*f);
        } else {
            *i = attr->u.i;
            *f = (double)*i;
        }
        return true;
    default:
        return false;
    }
}

static void number_attr(pdm_k *k, const char *name, double *f, int64_t *i)
{
    pdm_ir_attr attr = pdm_k_attr(k, name);

    *f = 0;
    *i = 0;
    if (!PDM_K_OK(k))
        return;
    if (attr) {
        if (!number_of(attr, f, i))
            wrong_kind(k, name, attr, "a number");
        return;
    }
    const char *text = default_of(k, name);
    if (!text)
        return;
    if (!strcmp(text, "true") || !strcmp(text, "false")) {
        *i = *text == 't';
        *f = (double)*i;
    } else {
        *f = pdm_decimal_read(text, NULL);
        *i = strpbrk(text, ".eE") ? pdm_int_of_double(*f) : strtoll(text, NULL, 10);
    }
}

int64_t pdm_k_int(pdm_k *k, const char *name)
{
    double f;
    int64_t i;

    number_attr(k, name, &f, &i);
    return i;
}

double pdm_k_float(pdm_k *k, const char *name)
{
    double f;
    int64_t i;

    number_attr(k, name, &f, &i);
    return f;
}

bool pdm_k_bool(pdm_k *k, const char *name)
{
    double f;
    int64_t i;

    number_attr(k, name, &f, &i);
    return f != 0;
}

int64_t pdm_k_int_or(pdm_k *k, const char *name, int64_t fallback)
{
    return pdm_k_has_attr(k, name) ? pdm_k_int(k, name) : fallback;
}

double pdm_k_float_or(pdm_k *k, const char *name, double fallback)
{
    return pdm_k_has_attr(k, name) ? pdm_k_float(k, name) : fallback;
}

bool pdm_k_bool_or(pdm_k *k, const char *name, bool fallback)
{
    return pdm_k_has_attr(k, name) ? pdm_k_bool(k, name) : fallback;
}

/* Defaults of rows that are strings are short and without escapes; a call asks for few of them. */
static const char *plain_string(pdm_k *k, const char *json)
{
    const size_t len = strlen(json);

    if (len <= 2 || json[0] != '"')
        return "";
    char *text = k->texts[k->num_texts++ % PDM_K_TEXTS];
    snprintf(text, sizeof k->texts[0], "%.*s", (int)(len - 2), json + 1);
    return text;
}

const char *pdm_k_str(pdm_k *k, const char *name)
{
    pdm_ir_attr attr = pdm_k_attr(k, name);

    if (!PDM_K_OK(k))
        return "";
    if (!attr) {
        const char *json = default_of(k, name);
        return json ? plain_string(k, json) : "";
    }
    if (attr->kind == PDM_IR_ATTR_STR || attr->kind == PDM_IR_ATTR_TENSOR_NAME ||
        attr->kind == PDM_IR_ATTR_LAYOUT)
        return attr->u.s.text;
    wrong_kind(k, name, attr, "a string");
    return "";
}

pdm_dtype pdm_k_dtype(pdm_k *k, const char *name)
{
    pdm_ir_attr attr = pdm_k_attr(k, name);

    if (!PDM_K_OK(k))
        return PDM_UNDEFINED;
    if (attr) {
        if (attr->kind == PDM_IR_ATTR_DTYPE)
            return attr->dtype;
        if (attr->kind == PDM_IR_ATTR_I32 || attr->kind == PDM_IR_ATTR_I64)
            return attr->u.i >= 0 && attr->u.i < 256 ? pdm_dtype_from_legacy((int)attr->u.i)
                                                     : PDM_UNDEFINED;
        if (attr->kind == PDM_IR_ATTR_TYPE && attr->u.type)
            return attr->u.type->dtype;
        wrong_kind(k, name, attr, "an element type");
        return PDM_UNDEFINED;
    }
    const pdm_ir_attr_desc *desc = k->desc ? pdm_ir_op_desc_attr(k->desc, name) : NULL;
    return desc && desc->default_json ? pdm_dtype_from_name(plain_string(k, desc->default_json))
                                      : PDM_UNDEFINED;
}

/* Numbers of a JSON array such as [1,-2,0.5]. */
static size_t json_numbers(const char *json, int64_t *ints, double *floats)
{
    size_t n = 0;

    for (json++; *json && *json != ']' && n < PDM_K_MAX_INTS; n++) {
        const char *end;
        const double value = pdm_decimal_read(json, &end);
        if (end == json) /* true, false */
            end = strpbrk(json, ",]");
        if (ints)
            ints[n] = strtoll(json, NULL, 10);
        else
            floats[n] = value;
        json = end && *end == ',' ? end + 1 : "]";
    }
    return n;
}

/* Elements of an array attribute; a lone number counts as an array of one. */
static size_t numbers(pdm_k *k, const char *name, int64_t *ints, double *floats)
{
    pdm_ir_attr attr = pdm_k_attr(k, name);
    const bool is_ints = attr && attr->kind == PDM_IR_ATTR_INT_ARRAY;
    const bool is_array = is_ints || (attr && attr->kind == PDM_IR_ATTR_ARRAY);
    double f = 0;
    int64_t n = 0;

    if (!PDM_K_OK(k))
        return 0;
    if (!attr) {
        const char *json = default_of(k, name);
        return json && *json == '[' ? json_numbers(json, ints, floats) : 0;
    }
    const size_t count = is_array ? attr->count : 1;
    if (count > PDM_K_MAX_INTS) {
        pdm_k_fail(k, "attribute '%s' has more than %d numbers", name, PDM_K_MAX_INTS);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_ints) {
            n = attr->u.ints[i];
            f = (double)n;
        } else if (!number_of(is_array ? attr->u.items[i] : attr, &f, &n)) {
            wrong_kind(k, name, attr, "an array of numbers");
            return 0;
        }
        if (ints)
            ints[i] = n;
        else
            floats[i] = f;
    }
    return count;
}

size_t pdm_k_ints(pdm_k *k, const char *name, int64_t out[PDM_K_MAX_INTS])
{
    return numbers(k, name, out, NULL);
}

size_t pdm_k_floats(pdm_k *k, const char *name, double out[PDM_K_MAX_INTS])
{
    return numbers(k, name, NULL, out);
}

/* ---- results --------------------------------------------------------------------------------- */

bool pdm_k_wants(const pdm_k *k, size_t index)
{
    return index < k->num_out && k->out[index];
}

pdm_value *pdm_k_out_value(pdm_k *k, size_t index)
{
    return PDM_K_OK(k) && index < k->num_out ? k->out[index] : NULL;
}

/* The value of a result that is to be a tensor. */
static pdm_value *out_as_tensor(pdm_k *k, size_t index)
{
    pdm_value *value = pdm_k_out_value(k, index);

    /* A vector result of one element is that element. */
    if (value && value->kind == PDM_VALUE_LIST)
        value = value->list.count == 1 ? value->list.items[0] : NULL;
    if (value && value->kind != PDM_VALUE_TENSOR) {
        pdm_value_deinit(value);
        value->kind = PDM_VALUE_TENSOR;
    }
    return value;
}

static void *allocate(pdm_k *k, size_t index, pdm_tensor *tensor, pdm_dtype dtype, int rank,
                      const int64_t *dims)
{
    pdm_status status;

    if (rank > PDM_MAX_RANK || rank < 0) {
        pdm_k_fail(k, "the result would have %d dimensions", rank);
        return NULL;
    }
    if (pdm_dtype_size(dtype) == 0) {
        pdm_k_fail(k, "the result would have no element type");
        return NULL;
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) {
            pdm_k_fail(k, "the result would have %lld as its dimension %d", (long long)dims[i], i);
            return NULL;
        }
    }
    if (k->alloc)
        status = k->alloc(k->alloc_self, index, tensor, dtype, rank, dims);
    else
        status = pdm_tensor_alloc(tensor, dtype, rank, dims);
    if (status == PDM_OK)
        return tensor->data;
    if (status == PDM_NOMEM)
        pdm_k_nomem(k);
    else
        pdm_k_fail(k, "the result cannot be allocated: %s", pdm_status_text(status));
    return NULL;
}

void *pdm_k_out(pdm_k *k, size_t index, pdm_dtype dtype, int rank, const int64_t *dims)
{
    pdm_value *value = out_as_tensor(k, index);

    return value ? allocate(k, index, &value->tensor, dtype, rank, dims) : NULL;
}

void *pdm_k_out_like(pdm_k *k, size_t index, const pdm_tensor *like)
{
    if (!like)
        return NULL;
    void *data = pdm_k_out(k, index, like->dtype, like->rank, like->dims);
    if (data)
        pdm_k_share_lod(k, index, like);
    return data;
}

/* Elements of vector results are numbered after all results. */
static size_t element_number(const pdm_k *k, size_t index, size_t element)
{
    size_t number = k->num_out + element;

    for (size_t i = 0; i < index; i++) {
        if (k->out[i] && k->out[i]->kind == PDM_VALUE_LIST)
            number += k->out[i]->list.count;
    }
    return number;
}

void *pdm_k_out_at(pdm_k *k, size_t index, size_t element, pdm_dtype dtype, int rank,
                   const int64_t *dims)
{
    pdm_value *value = pdm_k_out_value(k, index);

    if (!value)
        return NULL;
    if (value->kind != PDM_VALUE_LIST)
        return element == 0 ? pdm_k_out(k, index, dtype, rank, dims) : NULL;
    value = element < value->list.count ? value->list.items[element] : NULL;
    if (!value)
        return NULL;
    if (value->kind != PDM_VALUE_TENSOR) {
        pdm_value_deinit(value);
        value->kind = PDM_VALUE_TENSOR;
    }
    return allocate(k, element_number(k, index, element), &value->tensor, dtype, rank, dims);
}

pdm_tensor *pdm_k_out_tensor(pdm_k *k, size_t index)
{
    pdm_value *value = out_as_tensor(k, index);

    return value ? &value->tensor : NULL;
}

void pdm_k_share(pdm_k *k, size_t index, const pdm_tensor *from, int rank, const int64_t *dims)
{
    pdm_value *value = out_as_tensor(k, index);
    uint64_t count;

    if (!value || !from)
        return;
    if (rank < 0 || rank > PDM_MAX_RANK || !pdm_count_elements(dims, (size_t)rank, &count) ||
        count != (uint64_t)pdm_tensor_count(from)) {
        pdm_k_fail(k, "the result cannot have the operand's elements: their numbers differ");
        return;
    }
    int64_t copy[PDM_MAX_RANK] = {0}; /* dims may be those of the tensor that is replaced */
    memcpy(copy, dims, (size_t)rank * sizeof *dims);
    pdm_tensor_ref(&value->tensor, from);
    value->tensor.rank = rank;
    memcpy(value->tensor.dims, copy, sizeof copy);
}

void pdm_k_share_lod(pdm_k *k, size_t index, const pdm_tensor *from)
{
    pdm_value *value = out_as_tensor(k, index);

    if (value && from)
        pdm_tensor_share_lod(&value->tensor, from);
}

pdm_value *pdm_k_out_slot_value(pdm_k *k, const char *slot)
{
    for (size_t i = 0; PDM_K_OK(k) && k->out_slots && i < k->num_out; i++) {
        if (k->out_slots[i] && !strcmp(k->out_slots[i], slot))
            return k->out[i];
    }
    return NULL;
}

pdm_tensor *pdm_k_out_slot(pdm_k *k, const char *slot)
{
    pdm_value *value = pdm_k_out_slot_value(k, slot);

    if (value && value->kind != PDM_VALUE_TENSOR) {
        pdm_value_deinit(value);
        value->kind = PDM_VALUE_TENSOR;
    }
    return value ? &value->tensor : NULL;
}

/* ---- work ------------------------------------------------------------------------------------ */

struct pdm_k_temp_block {
    struct pdm_k_temp_block *next;
    size_t size; /* of what follows */
};

enum { MAX_IDLE = 64 };

/* Held for a few instructions only. */
static void lock_temps(pdm_k_temp_pool *pool)
{
    while (atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
    }
}

static void unlock_temps(pdm_k_temp_pool *pool)
{
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}

/* The smallest idle block that is large enough, if that is not a waste. */
static struct pdm_k_temp_block *take_idle(pdm_k_temp_pool *pool, size_t size)
{
    struct pdm_k_temp_block **best = NULL, *taken = NULL;

    lock_temps(pool);
    for (struct pdm_k_temp_block **p = &pool->free; *p; p = &(*p)->next) {
        if ((*p)->size >= size && (!best || (*p)->size < (*best)->size))
            best = p;
    }
    if (best && (*best)->size / 8 <= size + 512) {
        taken = *best;
        *best = taken->next;
        pool->count--;
    }
    unlock_temps(pool);
    return taken;
}

/* What is not kept comes back: NULL, or the block when there are many already. */
static struct pdm_k_temp_block *keep_idle(pdm_k_temp_pool *pool, struct pdm_k_temp_block *block)
{
    lock_temps(pool);
    if (pool->count < MAX_IDLE) {
        pool->count++;
        block->next = pool->free;
        pool->free = block;
        block = NULL;
    }
    unlock_temps(pool);
    return block;
}

void *pdm_k_temp(pdm_k *k, size_t bytes)
{
    const size_t extra = sizeof(struct pdm_k_temp_block) + PDM_TENSOR_ALIGNMENT;
    struct pdm_k_temp_block *block = NULL;

    if (!PDM_K_OK(k))
        return NULL;
    if (bytes <= SIZE_MAX - extra) {
        if (k->temp_pool)
            block = take_idle(k->temp_pool, bytes);
        if (!block) {
            block = malloc(bytes + extra);
            if (block)
                block->size = bytes;
        }
    }
    if (!block) {
        pdm_k_nomem(k);
        return NULL;
    }
    block->next = k->temps;
    k->temps = block;
    const uintptr_t first = (uintptr_t)(block + 1);
    return (char *)(block + 1) +
           (PDM_TENSOR_ALIGNMENT - first % PDM_TENSOR_ALIGNMENT) % PDM_TENSOR_ALIGNMENT;
}

void pdm_k_end(pdm_k *k)
{
    pdm_k_temp_pool *pool = k->temp_pool;

    while (k->temps) {
        struct pdm_k_temp_block *block = k->temps;
        k->temps = block->next;
        if (pool)
            block = keep_idle(pool, block);
        free(block);
    }
}

void pdm_k_temp_pool_deinit(pdm_k_temp_pool *pool)
{
    while (pool->free) {
        struct pdm_k_temp_block *block = pool->free;
        pool->free = block->next;
        free(block);
    }
}

typedef struct truncating_body {
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
} truncating_body;

static void run_truncating(void *arg, int64_t begin, int64_t end)
{
    const truncating_body *inner = arg;
    const bool before = pdm_half_truncate(true);

    inner->body(inner->arg, begin, end);
    pdm_half_truncate(before);
}

void pdm_k_parallel(pdm_k *k, int64_t n, int64_t grain,
                    void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    if (n <= 0)
        return;
    truncating_body inner = {body, arg};
    if (!k->pool || n <= grain)
        body(arg, 0, n);
    else if (k->before & PDM_DIFF_BIT(PDM_DIFF_HALF)) /* the pool's threads have to know, too */
        pdm_pool_for(k->pool, n, grain > 0 ? grain : 1, run_truncating, &inner);
    else
        pdm_pool_for(k->pool, n, grain > 0 ? grain : 1, body, arg);
}
