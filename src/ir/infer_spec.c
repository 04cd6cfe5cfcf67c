/*
 * Hooks that are only a line of text. The text describes each result in row order, separated by
 * blanks:
 *
 *   result := '-' (unknown) | ['*'] type [shape]          '*': a vector; the description holds for
 * each element type   := '?' | operand | dtype | '@'attribute | 'real('type')' | 'complex('type')'
 *   shape  := '=?' | '='operand | '['dim {','dim}']'      none after an operand type: the operand's
 * dims; else unknown dim    := operand'.'from':'to (all these dims) | sum; sum := products joined
 * by + and -; product := atoms joined by * and / atom   := integer | '?' | '@'attribute ['.'item] |
 * '#'attribute (how many items) | operand'.'axis
 *
 * An operand is its name in the row, or '$' and its number; in the description of a vector it
 * stands for the element of the same number when it is a vector itself. Axes may be negative; an
 * omitted `from` or `to` is the begin or the end.
 */
#include <stdlib.h>
#include <string.h>

#include "ir/infer_impl.h"

typedef struct spec {
    const pdm_ir_infer *in;
    const char *at;
    size_t element; /* of the vector result that is being described */
    bool bad;       /* the text has a mistake */
} spec;

static bool accept(spec *s, const char *text)
{
    size_t len = strlen(text);
    if (strncmp(s->at, text, len) != 0)
        return false;
    s->at += len;
    return true;
}

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t word(spec *s, char *out, size_t size)
{
    size_t n = 0;
    while (word_char(s->at[n]))
        n++;
    if (n == 0 || n >= size) {
        s->bad = true;
        return 0;
    }
    memcpy(out, s->at, n);
    out[n] = 0;
    s->at += n;
    return n;
}

static bool integer(spec *s, int64_t *out)
{
    char *end;
    if ((*s->at < '0' || *s->at > '9') && *s->at != '-')
        return false;
    *out = strtoll(s->at, &end, 10);
    if (end == s->at)
        return false;
    s->at = end;
    return true;
}

static int operand_index(const spec *s, const char *name)
{
    const pdm_ir_op_desc *desc = s->in->state->info->desc;
    for (int i = 0; i < desc->num_operands; i++)
        if (strcmp(desc->operands[i].name, name) == 0)
            return i;
    return -1;
}

static bool operand(spec *s, pdm_ir_meta *out)
{
    const char *start = s->at;
    char name[64];
    int64_t index = -1;
    if (accept(s, "$")) {
        if (!integer(s, &index))
            s->bad = true;
    } else if (word_char(*s->at) && (*s->at < '0' || *s->at > '9')) {
        (void)word(s, name, sizeof name);
        index = operand_index(s, name);
    }
    if (index < 0) {
        s->at = start;
        return false;
    }
    size_t count = pdm_ir_in_vector_size(s->in, (size_t)index);
    *out = pdm_ir_in_element(s->in, (size_t)index, count > 1 ? s->element : 0);
    return true;
}

static int64_t attribute(spec *s)
{
    char name[64];
    pdm_ir_ints items;
    int64_t item;
    (void)word(s, name, sizeof name);
    if (!accept(s, "."))
        return pdm_ir_attr_int(s->in, name, -1);
    pdm_ir_attr_ints(s->in, name, &items);
    return integer(s, &item) ? pdm_ir_ints_at(&items, (size_t)item, -1) : -1;
}

static int64_t atom(spec *s)
{
    char name[64];
    pdm_ir_meta meta;
    int64_t v;
    if (accept(s, "?"))
        return -1;
    if (accept(s, "@"))
        return attribute(s);
    if (accept(s, "#")) {
        (void)word(s, name, sizeof name);
        pdm_ir_attr attr = pdm_ir_state_attr(s->in->state, name);
        return attr && (attr->kind == PDM_IR_ATTR_ARRAY || attr->kind == PDM_IR_ATTR_INT_ARRAY)
                   ? (int64_t)attr->count
                   : -1;
    }
    if (integer(s, &v))
        return v;
    if (!operand(s, &meta) || !accept(s, ".") || !integer(s, &v)) {
        s->bad = true;
        return -1;
    }
    return pdm_ir_meta_dim(&meta, (int)v);
}

static int64_t product(spec *s)
{
    int64_t v = atom(s);
    for (;;) {
        if (accept(s, "*"))
            v = pdm_ir_dim_mul(s->in, v, atom(s));
        else if (accept(s, "/"))
            v = pdm_ir_dim_div(s->in, v, atom(s));
        else
            return v;
    }
}

static int64_t sum(spec *s)
{
    int64_t v = product(s);
    for (;;) {
        if (accept(s, "+")) {
            v = pdm_ir_dim_add(s->in, v, product(s));
        } else if (accept(s, "-")) {
            v = pdm_ir_dim_sub(s->in, v, product(s));
        } else {
            return v;
        }
    }
}

/* operand.from:to; false, with nothing consumed, when it is something else. */
static bool spread(spec *s, pdm_ir_meta *out)
{
    const char *start = s->at;
    pdm_ir_meta meta;
    int64_t from = 0, to = INT64_MAX;
    if (operand(s, &meta) && accept(s, ".")) {
        (void)integer(s, &from);
        if (accept(s, ":")) {
            (void)integer(s, &to);
            if (meta.rank >= 0) {
                from = from < 0 ? from + meta.rank : from;
                to = to < 0 ? to + meta.rank : to > meta.rank ? meta.rank : to;
            }
            pdm_ir_meta_push_dims(out, &meta, (int)from, meta.rank < 0 ? 0 : (int)to);
            return true;
        }
    }
    s->at = start;
    return false;
}

static void shape(spec *s, pdm_ir_meta *out)
{
    pdm_ir_meta other;
    if (accept(s, "=?")) {
        out->rank = -1;
    } else if (accept(s, "=")) {
        if (!operand(s, &other)) {
            s->bad = true;
            return;
        }
        out->rank = other.rank;
        memcpy(out->dims, other.dims, sizeof out->dims);
    } else if (accept(s, "[")) {
        out->rank = 0;
        out->is_array = false;
        while (!s->bad && !accept(s, "]")) {
            if (!spread(s, out))
                (void)pdm_ir_meta_push(out, sum(s));
            if (!accept(s, ",") && *s->at != ']')
                s->bad = true;
        }
    }
}

static void type(spec *s, pdm_ir_meta *out)
{
    char name[64];
    pdm_ir_meta_init(out);
    if (accept(s, "?"))
        return;
    if (accept(s, "@")) {
        (void)word(s, name, sizeof name);
        out->dtype = pdm_ir_attr_dtype_of(s->in, name);
        return;
    }
    bool real = accept(s, "real("), complex = !real && accept(s, "complex(");
    if (!operand(s, out)) {
        (void)word(s, name, sizeof name);
        out->dtype = pdm_dtype_from_name(name);
        s->bad |= out->dtype == PDM_UNDEFINED;
    }
    if (real || complex)
        s->bad |= !accept(s, ")");
    if (real)
        out->dtype = pdm_ir_dtype_real(out->dtype);
    if (complex)
        out->dtype = pdm_ir_dtype_complex(out->dtype);
}

static void vector_result(spec *s, pdm_ir_meta *result)
{
    const char *start = s->at;
    size_t count = result->elements ? result->num_elements : 0;
    for (size_t k = 0; k < count || k == 0; k++) { /* once at least, to step over the text */
        pdm_ir_meta meta;
        s->at = start;
        s->element = k;
        type(s, &meta);
        shape(s, &meta);
        if (k < count)
            result->elements[k] = meta;
    }
    s->element = 0;
}

pdm_status pdm_ir_infer_spec(pdm_ir_infer *in, const char *text)
{
    spec s = {.in = in, .at = text};
    for (size_t i = 0; *s.at && !s.bad; i++) {
        pdm_ir_meta meta, none = {0};
        if (accept(&s, "-")) {
            ;
        } else if (accept(&s, "*")) {
            vector_result(&s, i < in->num_results ? &in->results[i] : &none);
        } else {
            type(&s, &meta);
            shape(&s, &meta);
            pdm_ir_out_meta(in, i, &meta);
        }
        if (*s.at && !accept(&s, " "))
            s.bad = true;
    }
    return s.bad ? PDM_INTERNAL : PDM_OK; /* a unit test runs all of them */
}

#define PDM_HOOK(name)
#define PDM_SPEC(name, text)                                                                       \
    pdm_status pdm_ir_infer_##name(pdm_ir_infer *in)                                               \
    {                                                                                              \
        return pdm_ir_infer_spec(in, text);                                                        \
    }
#include "ir/infer_hooks.def"
#undef PDM_HOOK
#undef PDM_SPEC
