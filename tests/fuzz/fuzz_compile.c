/*
 * Fuzz passes and the compiler: any text that is a program which keeps the rules still does after -O2, and after its ops were put into
 * groups; groups become loops, or are refused, and loops keep theirs however they are arranged. Parameters have data. The input is mutated
 * as what it is, too: numbers, names of ops, values, and lines.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "fuzz/fuzz_compile.h"
#include "fuzz/fuzz_ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { MAX_OPS = 200, MAX_BYTES = 1 << 14 };

/* ---- parameters ------------------------------------------------------------------------------ */

typedef struct search {
    const char *name;
    pdm_ir_type type;
} search;

static pdm_status look_at(void *user, pdm_ir_op *op)
{
    search *s = user;
    const char *name = pdm_ir_parameter_name(op);

    if (name && !strcmp(name, s->name) && op->num_results == 1)
        s->type = pdm_ir_op_result(op, 0)->type;
    return PDM_OK;
}

/* Of a parameter of a few elements; 0: it has no data. */
static uint64_t bytes_of(void *user, const char *name)
{
    search s = {.name = name};
    uint64_t count;

    if (pdm_ir_walk(((pdm_ir_module *)user)->op, PDM_IR_PRE_ORDER, look_at, &s) != PDM_OK || !s.type || !pdm_ir_type_is_tensor(s.type) ||
        pdm_dtype_size(s.type->dtype) == 0)
        return 0;
    for (uint32_t d = 0; d < s.type->rank; d++) {
        if (s.type->dims[d] < 0)
            return 0;
    }
    if (s.type->rank > PDM_MAX_RANK || !pdm_count_elements(s.type->dims, s.type->rank, &count) || count > 4096)
        return 0;
    return count * pdm_dtype_size(s.type->dtype);
}

static pdm_status read_parameter(void *user, const char *name, pdm_tensor *out)
{
    search s = {.name = name};

    if (bytes_of(user, name) == 0)
        return PDM_OK;
    pdm_status status = pdm_ir_walk(((pdm_ir_module *)user)->op, PDM_IR_PRE_ORDER, look_at, &s);
    if (status == PDM_OK)
        status = pdm_tensor_alloc(out, s.type->dtype, (int)s.type->rank, s.type->dims);
    /* Each element is 0 or 1, but floats are more. */
    for (int64_t i = 0; status == PDM_OK && i < pdm_tensor_count(out); i++) {
        if (out->dtype == PDM_F32)
            ((float *)out->data)[i] = (float)(i % 7) / 4 - 0.5f;
        else
            memset((char *)out->data + (size_t)i * pdm_dtype_size(out->dtype), i % 2, 1);
    }
    return status;
}

/* Nothing is computed. */
static pdm_status compute(void *user, const pdm_ir_op *op, const pdm_tensor *const *in, const size_t *counts, pdm_tensor *const *out)
{
    (void)user;
    (void)op;
    (void)in;
    (void)counts;
    (void)out;
    return PDM_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static pdm_status count(void *user, pdm_ir_op *op)
{
    (void)op;
    ++*(size_t *)user;
    return PDM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdm_diag_sink sink = {.fn = fuzz_note}, broken = {0};
    pdm_ir_context *context = NULL;
    pdm_ir_module *module = NULL;
    size_t ops = 0;

    if (size > MAX_BYTES || pdm_ir_context_create(&context) != PDM_OK)
        return 0;
    if (pdm_ir_parse(context, (const char *)data, size, "input", &sink, &module) == PDM_OK) {
        const pdm_ir_constant_source source = {read_parameter, bytes_of, compute, module};
        if (pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, count, &ops) == PDM_OK && ops <= MAX_OPS &&
            pdm_ir_verify(module, &broken) == PDM_OK)
            fuzz_compile(module, &source, size % 2 == 0, (unsigned)size);
        pdm_ir_module_destroy(module);
    }
    pdm_ir_context_destroy(context);
    return 0;
}

/* ---- mutation -------------------------------------------------------------------------------- */

#ifdef PDM_FUZZER /* libFuzzer has it */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
#else
static size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    (void)data;
    return size < max_size ? size : max_size;
}
#endif

typedef struct chance {
    uint64_t state;
} chance;

static size_t below(chance *c, size_t n)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((c->state >> 33) % n);
}

/* Bytes [at, at + len) become others. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, size_t at, size_t len, const char *with, size_t with_len)
{
    if (size - len + with_len > max_size)
        return size;
    memmove(data + at + with_len, data + at + len, size - at - len);
    memcpy(data + at, with, with_len);
    return size - len + with_len;
}

/* The next text from a random place on that is `first` and digits, or ('0') a number. */
static bool find_token(chance *c, const uint8_t *data, size_t size, char first, size_t *at, size_t *len)
{
    const size_t from = below(c, size);

    for (size_t k = 0; k < size; k++) {
        const size_t i = (from + k) % size;
        const bool digit = first == '0' && isdigit(data[i]) && (i == 0 || (data[i - 1] != '%' && !isalnum(data[i - 1])));
        size_t n = 1;
        if (!digit && (first == '0' || data[i] != (uint8_t)first))
            continue;
        while (i + n < size && isdigit(data[i + n]))
            n++;
        *at = i;
        *len = n;
        return true;
    }
    return false;
}

static size_t new_number(chance *c, uint8_t *data, size_t size, size_t max_size)
{
    static const char *const numbers[] = {"0", "1", "-1", "2", "3", "4", "7", "8", "16", "64", "1000", "65536", "2147483647",
                                          "-2147483648", "4294967296", "9223372036854775807", "-9223372036854775808"};
    const char *with = numbers[below(c, sizeof numbers / sizeof *numbers)];
    size_t at, len;

    return find_token(c, data, size, '0', &at, &len) ? replace(data, size, max_size, at, len, with, strlen(with)) : size;
}

/* One text takes the place of another one of its kind. */
static size_t exchange(chance *c, uint8_t *data, size_t size, size_t max_size, char first)
{
    size_t at, len, other, other_len;
    char text[64];

    if (!find_token(c, data, size, first, &at, &len) || !find_token(c, data, size, first, &other, &other_len) || other_len > sizeof text)
        return size;
    memcpy(text, data + other, other_len);
    return replace(data, size, max_size, at, len, text, other_len);
}

static const char *const ops[] = {
#define PDM_CINN_RULE(op, ...)          "pd_op." #op,
#define PDM_CINN_REDUCE_RULE(op, ...)   "pd_op." #op,
#define PDM_CINN_NORM_RULE(op, ...)     "pd_op." #op,
#define PDM_CINN_SIZES_RULE(op, ...)    "pd_op." #op,
#define PDM_CINN_LIST_RULE(op, ...)     "pd_op." #op,
#define PDM_CINN_ELEMENTS_RULE(op, ...) "builtin." #op,
#define PDM_CINN_INDEX_RULE(op, ...)    "pd_op." #op,
#define PDM_CINN_PIECES_RULE(op, ...)   "pd_op." #op,
#include "cinn/rules.def"
    "pd_op.matmul", "pd_op.conv2d", "pd_op.split", "pd_op.unbind", "pd_op.relu_", "pd_op.assign_", "pd_op.dropout", "builtin.combine"};

static size_t new_op(chance *c, uint8_t *data, size_t size, size_t max_size)
{
    const char *with = ops[below(c, sizeof ops / sizeof *ops)];
    const size_t from = below(c, size);

    for (size_t k = 0; k + 7 < size; k++) {
        const size_t i = (from + k) % (size - 7);
        size_t n = 1;
        if (memcmp(data + i, "\"pd_op.", 7) != 0)
            continue;
        while (i + n < size && data[i + n] != '"')
            n++;
        return i + n < size ? replace(data, size, max_size, i + 1, n - 1, with, strlen(with)) : size;
    }
    return size;
}

/* A line goes, or comes twice. */
static size_t new_lines(chance *c, uint8_t *data, size_t size, size_t max_size)
{
    size_t begin = below(c, size), end = begin;

    while (begin > 0 && data[begin - 1] != '\n')
        begin--;
    while (end < size && data[end] != '\n')
        end++;
    end += end < size;
    const size_t len = end - begin;
    if (below(c, 2)) {
        memmove(data + begin, data + end, size - end);
        return size - len;
    }
    if (size + len > max_size)
        return size;
    memmove(data + end + len, data + end, size - end);
    memcpy(data + end, data + begin, len);
    return size + len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    chance c = {seed};

    for (size_t n = 1 + below(&c, 4); n > 0 && size > 0; n--) {
        switch (below(&c, 10)) {
        case 0:
            size = LLVMFuzzerMutate(data, size, max_size);
            break;
        case 1:
        case 2:
        case 3:
            size = new_number(&c, data, size, max_size);
            break;
        case 4:
        case 5:
            size = exchange(&c, data, size, max_size, '%');
            break;
        case 6:
        case 7:
        case 8:
            size = new_op(&c, data, size, max_size);
            break;
        default:
            size = new_lines(&c, data, size, max_size);
        }
    }
    return size > 0 ? size : LLVMFuzzerMutate(data, size, max_size);
}
