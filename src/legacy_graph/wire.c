#include "legacy_graph/wire.h"

#include <string.h>

#include "legacy_graph/report.h"

typedef enum wire_kind { VARINT, BOOL, FIXED32, FIXED64, BYTES, MESSAGE } wire_kind;

enum { REPEATED = 1 };

#define BIT(number) ((uint32_t)1 << (number))

typedef struct wire_message wire_message;

typedef struct wire_field {
    uint8_t number, kind, flags;
    const char *name;
    const wire_message *sub;
} wire_field;

struct wire_message {
    const char *name;
    uint32_t required; /* bits of field numbers, which are below 32 */
    const wire_field *fields;
    size_t num_fields;
};

#define MSG(var, text, needs, ...)                                                                 \
    static const wire_field var##_fields[] = {__VA_ARGS__};                                        \
    static const wire_message var = {text, needs, var##_fields,                                    \
                                     sizeof var##_fields / sizeof *var##_fields}

MSG(msg_version, "Version", 0, {1, VARINT, 0, "version", NULL});
MSG(msg_complex, "Complex", BIT(1) | BIT(2), {1, FIXED64, 0, "r", NULL},
    {2, FIXED64, 0, "i", NULL});
MSG(msg_scalar, "Scalar", BIT(1), {1, VARINT, 0, "type", NULL}, {2, BOOL, 0, "b", NULL},
    {3, VARINT, 0, "i", NULL}, {4, FIXED64, 0, "r", NULL}, {5, MESSAGE, 0, "c", &msg_complex});
MSG(msg_op_version, "OpVersion", BIT(1), {1, VARINT, 0, "version", NULL});
MSG(msg_op_version_pair, "OpVersionMap.OpVersionPair", BIT(1) | BIT(2),
    {1, BYTES, 0, "op_name", NULL}, {2, MESSAGE, 0, "op_version", &msg_op_version});
MSG(msg_op_version_map, "OpVersionMap", 0, {1, MESSAGE, REPEATED, "pair", &msg_op_version_pair});
MSG(msg_op_attr, "OpDesc.Attr", BIT(1) | BIT(2), {1, BYTES, 0, "name", NULL},
    {2, VARINT, 0, "type", NULL}, {3, VARINT, 0, "i", NULL}, {4, FIXED32, 0, "f", NULL},
    {5, BYTES, 0, "s", NULL}, {6, VARINT, REPEATED, "ints", NULL},
    {7, FIXED32, REPEATED, "floats", NULL}, {8, BYTES, REPEATED, "strings", NULL},
    {10, BOOL, 0, "b", NULL}, {11, BOOL, REPEATED, "bools", NULL},
    {12, VARINT, 0, "block_idx", NULL}, {13, VARINT, 0, "l", NULL},
    {14, VARINT, REPEATED, "blocks_idx", NULL}, {15, VARINT, REPEATED, "longs", NULL},
    {16, FIXED64, REPEATED, "float64s", NULL}, {17, BYTES, 0, "var_name", NULL},
    {18, BYTES, REPEATED, "vars_name", NULL}, {19, FIXED64, 0, "float64", NULL},
    {20, MESSAGE, 0, "scalar", &msg_scalar}, {21, MESSAGE, REPEATED, "scalars", &msg_scalar});
MSG(msg_op_var, "OpDesc.Var", BIT(1), {1, BYTES, 0, "parameter", NULL},
    {2, BYTES, REPEATED, "arguments", NULL});
MSG(msg_op, "OpDesc", BIT(3), {1, MESSAGE, REPEATED, "inputs", &msg_op_var},
    {2, MESSAGE, REPEATED, "outputs", &msg_op_var}, {3, BYTES, 0, "type", NULL},
    {4, MESSAGE, REPEATED, "attrs", &msg_op_attr}, {5, BOOL, 0, "is_target", NULL});
MSG(msg_tensor, "VarType.TensorDesc", BIT(1), {1, VARINT, 0, "data_type", NULL},
    {2, VARINT, REPEATED, "dims", NULL});
MSG(msg_dense_tensor, "VarType.DenseTensorDesc", BIT(1), {1, MESSAGE, 0, "tensor", &msg_tensor},
    {2, VARINT, 0, "legacy_lod_level", NULL});
MSG(msg_tensor_array, "VarType.DenseTensorArrayDesc", BIT(1),
    {1, MESSAGE, 0, "tensor", &msg_tensor}, {2, VARINT, 0, "legacy_lod_level", NULL});
MSG(msg_reader, "VarType.ReaderDesc", 0, {1, MESSAGE, REPEATED, "dense_tensor", &msg_dense_tensor});
MSG(msg_tuple, "VarType.Tuple", 0, {1, VARINT, REPEATED, "element_type", NULL});
MSG(msg_var_type, "VarType", BIT(1), {1, VARINT, 0, "type", NULL},
    {2, MESSAGE, 0, "selected_rows", &msg_tensor},
    {3, MESSAGE, 0, "dense_tensor", &msg_dense_tensor},
    {4, MESSAGE, 0, "tensor_array", &msg_tensor_array}, {5, MESSAGE, 0, "reader", &msg_reader},
    {7, MESSAGE, 0, "tuple", &msg_tuple}, {8, MESSAGE, 0, "string", &msg_tensor},
    {9, MESSAGE, 0, "strings", &msg_tensor}, {10, MESSAGE, 0, "vocab", &msg_tensor},
    {11, MESSAGE, 0, "sparse_coo", &msg_tensor}, {12, MESSAGE, 0, "sparse_csr", &msg_tensor});
MSG(msg_var_attr, "VarDesc.Attr", BIT(1) | BIT(2), {1, BYTES, 0, "name", NULL},
    {2, VARINT, 0, "type", NULL}, {3, VARINT, 0, "i", NULL}, {4, BYTES, 0, "s", NULL},
    {5, VARINT, REPEATED, "ints", NULL});
MSG(msg_var, "VarDesc", BIT(1) | BIT(2), {1, BYTES, 0, "name", NULL},
    {2, MESSAGE, 0, "type", &msg_var_type}, {3, BOOL, 0, "persistable", NULL},
    {4, BOOL, 0, "need_check_feed", NULL}, {5, BOOL, 0, "is_parameter", NULL},
    {6, BOOL, 0, "stop_gradient", NULL}, {7, MESSAGE, REPEATED, "attrs", &msg_var_attr});
MSG(msg_block, "BlockDesc", BIT(1) | BIT(2), {1, VARINT, 0, "idx", NULL},
    {2, VARINT, 0, "parent_idx", NULL}, {3, MESSAGE, REPEATED, "vars", &msg_var},
    {4, MESSAGE, REPEATED, "ops", &msg_op}, {5, VARINT, 0, "forward_block_idx", NULL});
MSG(msg_program, "ProgramDesc", 0, {1, MESSAGE, REPEATED, "blocks", &msg_block},
    {4, MESSAGE, 0, "version", &msg_version},
    {5, MESSAGE, 0, "op_version_map", &msg_op_version_map});

typedef struct scan {
    const uint8_t *data;
    size_t size;
    pdm_lg_report report;
    int32_t num_blocks, num_ops; /* met so far; ops: in the current block */
    uint64_t num_unknown;
    size_t unknown_offset; /* of the first unknown field */
    uint32_t unknown_number;
    const wire_message *unknown_in;
} scan;

/* A part of the data: [at, end) of one message. */
typedef struct span {
    const wire_message *message;
    size_t start, at, end;
} span;

#define BROKEN(s, offset_, ...)                                                                    \
    ((s)->report.loc.offset = (int64_t)(offset_),                                                  \
     pdm_diag((s)->report.sink, PDM_D_WIRE, &(s)->report.loc, NULL, __VA_ARGS__),                  \
     PDM_INVALID_MODEL)

/* How a message that ends too early is called: the file was cut, or the inner lengths do not fit.
 */
static const char *ending(const scan *s, const span *in)
{
    return in->end == s->size ? "the end of the file, which is truncated or damaged"
                              : "the end of its message";
}

/* The number of bytes of the varint at data; 0: it does not end within size or max bytes. */
static size_t varint(const uint8_t *data, size_t size, size_t max, uint64_t *out_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size && i < max; i++) {
        value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (!(data[i] & 0x80)) {
            *out_value = value;
            return i + 1;
        }
    }
    return 0;
}

static pdm_status take_long_varint(scan *s, span *in, size_t max, const char *what,
                                   uint64_t *out_value)
{
    size_t left = in->end - in->at;
    size_t n = varint(s->data + in->at, left, max, out_value);

    if (n) {
        in->at += n;
        return PDM_OK;
    }
    if (left < max)
        return BROKEN(s, in->at, "%s in %s reaches past %s", what, in->message->name,
                      ending(s, in));
    return BROKEN(s, in->at, "%s in %s is longer than %zu bytes", what, in->message->name, max);
}

/* Most of them are one byte long. */
static inline pdm_status take_varint(scan *s, span *in, size_t max, const char *what,
                                     uint64_t *out_value)
{
    if (in->at >= in->end || s->data[in->at] & 0x80)
        return take_long_varint(s, in, max, what, out_value);
    *out_value = s->data[in->at++];
    return PDM_OK;
}

static const wire_field *find_field(const wire_message *message, uint64_t number)
{
    /* Numbers begin at 1, and few are left out. */
    if (number - 1 < message->num_fields && message->fields[number - 1].number == number)
        return &message->fields[number - 1];
    for (size_t i = 0; i < message->num_fields; i++) {
        if (message->fields[i].number == number)
            return &message->fields[i];
    }
    return NULL;
}

static unsigned wire_type_of(uint8_t kind)
{
    switch ((wire_kind)kind) {
    case VARINT:
    case BOOL:
        return 0;
    case FIXED64:
        return 1;
    case BYTES:
    case MESSAGE:
        return 2;
    case FIXED32:
        return 5;
    }
    return 7;
}

/* Elements of a repeated scalar in one length-delimited field. */
static pdm_status scan_packed(scan *s, const wire_field *field, span *in)
{
    size_t left = in->end - in->at;
    uint64_t value;

    switch ((wire_kind)field->kind) {
    case VARINT:
        while (in->at < in->end)
            PDM_TRY(take_varint(s, in, 10, field->name, &value));
        return PDM_OK;
    case BOOL:
        for (; in->at < in->end; in->at++) {
            if (s->data[in->at] > 1)
                return BROKEN(s, in->at, "a packed boolean in %s.%s is neither 0 nor 1",
                              in->message->name, field->name);
        }
        return PDM_OK;
    case FIXED32:
    case FIXED64:
        if (left % (field->kind == FIXED32 ? 4 : 8))
            return BROKEN(s, in->at, "packed numbers in %s.%s have a length of %zu bytes",
                          in->message->name, field->name, left);
        return PDM_OK;
    case BYTES:
    case MESSAGE:
        break;
    }
    return BROKEN(s, in->at, "%s.%s cannot be packed", in->message->name, field->name);
}

static pdm_status scan_message(scan *s, const wire_message *message, size_t start, size_t end);

/* Keep the place for diagnostics: which block and which op of it is entered. */
static void enter(scan *s, const span *in, const wire_field *field)
{
    if (field->sub == &msg_block) {
        s->report.loc.block = s->num_blocks++;
        s->num_ops = 0;
    }
    if (in->message == &msg_block || in->message == &msg_program)
        s->report.loc.op_index = field->sub == &msg_op ? s->num_ops++ : -1;
}

/* A length-delimited field; field is NULL when it is unknown. */
static pdm_status scan_delimited(scan *s, span *in, const wire_field *field, size_t tag_at)
{
    const char *name = field ? field->name : "an unknown field";
    size_t length_at = in->at;
    uint64_t length;
    size_t start;

    PDM_TRY(take_varint(s, in, 5, "a length", &length));
    if (length > in->end - in->at) {
        return BROKEN(s, length_at, "the length %llu of %s.%s goes %llu bytes past %s",
                      (unsigned long long)length, in->message->name, name,
                      (unsigned long long)(length - (in->end - in->at)), ending(s, in));
    }
    start = in->at;
    in->at += (size_t)length;
    if (!field || field->kind == BYTES)
        return PDM_OK;
    if (field->kind == MESSAGE) {
        pdm_loc outer = s->report.loc;
        enter(s, in, field);
        PDM_TRY(scan_message(s, field->sub, start, in->at));
        s->report.loc = outer;
        return PDM_OK;
    }
    if (!(field->flags & REPEATED))
        return BROKEN(s, tag_at, "%s.%s is a number but has a length", in->message->name, name);
    span packed = {in->message, start, start, in->at};
    return scan_packed(s, field, &packed);
}

static void note_unknown(scan *s, const span *in, uint32_t number, size_t tag_at)
{
    if (s->num_unknown++ == 0) {
        s->unknown_offset = tag_at;
        s->unknown_number = number;
        s->unknown_in = in->message;
    }
}

static pdm_status bad_tag_zero(scan *s, const span *in, size_t tag_at)
{
    size_t i = tag_at;

    while (i < in->end && s->data[i] == 0)
        i++;
    if (in->message == &msg_program && i == s->size)
        return BROKEN(s, tag_at, "%zu zero bytes after the end of the program", s->size - tag_at);
    return BROKEN(s, tag_at, "field number 0 in %s: bytes that are no message", in->message->name);
}

/* One field, its tag already taken. */
static pdm_status scan_value(scan *s, span *in, const wire_field *field, unsigned wire_type,
                             size_t tag_at)
{
    const char *name = field ? field->name : "an unknown field";
    size_t width = wire_type == 5 ? 4 : 8;
    uint64_t value;

    if (wire_type == 2)
        return scan_delimited(s, in, field, tag_at);
    if (field && wire_type != wire_type_of(field->kind))
        return BROKEN(s, tag_at, "%s.%s has wire type %u instead of %u", in->message->name, name,
                      wire_type, wire_type_of(field->kind));
    if (wire_type == 0)
        return take_varint(s, in, 10, name, &value);
    if (in->end - in->at < width)
        return BROKEN(s, in->at, "%s.%s reaches past %s", in->message->name, name, ending(s, in));
    in->at += width;
    return PDM_OK;
}

static pdm_status scan_field(scan *s, span *in, uint32_t *seen, unsigned *repeats)
{
    size_t tag_at = in->at;
    uint64_t tag;

    PDM_TRY(take_varint(s, in, 5, "a tag", &tag));
    unsigned wire_type = (unsigned)(tag & 7);
    uint64_t number = tag >> 3;
    if (number == 0)
        return bad_tag_zero(s, in, tag_at);
    if (number > ((uint32_t)1 << 29) - 1)
        return BROKEN(s, tag_at, "field number %llu in %s is too large", (unsigned long long)number,
                      in->message->name);
    if (wire_type == 3 || wire_type == 4 || wire_type > 5)
        return BROKEN(s, tag_at, "field %llu in %s has wire type %u (%s)",
                      (unsigned long long)number, in->message->name, wire_type,
                      wire_type > 5 ? "undefined" : "a group, which is not supported");

    const wire_field *field = find_field(in->message, number);
    if (!field) {
        note_unknown(s, in, (uint32_t)number, tag_at);
    } else {
        const uint32_t bit = BIT(field->number);
        if ((*seen & bit) && field->kind == MESSAGE && !(field->flags & REPEATED) &&
            ++*repeats > PDM_LG_MAX_REPEATED_SINGLE) {
            s->report.loc.offset = (int64_t)tag_at;
            pdm_diag(s->report.sink, PDM_D_LIMIT, &s->report.loc, NULL,
                     "%s.%s should occur once and occurs more than %d times", in->message->name,
                     field->name, PDM_LG_MAX_REPEATED_SINGLE);
            return PDM_INVALID_MODEL;
        }
        *seen |= bit;
    }
    return scan_value(s, in, field, wire_type, tag_at);
}

static pdm_status scan_message(scan *s, const wire_message *message, size_t start, size_t end)
{
    span in = {message, start, start, end};
    uint32_t seen = 0;
    unsigned repeats = 0;

    while (in.at < in.end)
        PDM_TRY(scan_field(s, &in, &seen, &repeats));
    const uint32_t missing = message->required & ~seen;
    for (size_t i = 0; missing && i < message->num_fields; i++) {
        const wire_field *field = &message->fields[i];
        if (missing & BIT(field->number))
            return BROKEN(s, start, "%s at bytes %zu to %zu lacks its required field %s",
                          message->name, start, end, field->name);
    }
    return PDM_OK;
}

pdm_status pdm_lg_wire_scan(const uint8_t *data, size_t size, const char *path, pdm_diag_sink *sink)
{
    scan s = {.data = data, .size = size, .report = {sink, PDM_NOWHERE, PDM_OK}};

    s.report.loc.file = path;
    PDM_TRY(scan_message(&s, &msg_program, 0, size));
    if (s.num_unknown) {
        s.report.loc.block = s.report.loc.op_index = -1;
        s.report.loc.offset = (int64_t)s.unknown_offset;
        pdm_diag(sink, PDM_D_FILE_NOTE, &s.report.loc, NULL,
                 "%llu unknown fields were skipped; the first is field %u of %s",
                 (unsigned long long)s.num_unknown, s.unknown_number, s.unknown_in->name);
    }
    return PDM_OK;
}

bool pdm_lg_wire_plausible(const uint8_t *data, size_t size)
{
    const wire_message *message = &msg_program;

    for (int depth = 0; depth < 4; depth++) {
        uint64_t tag, length;
        size_t n = varint(data, size, 5, &tag);
        const wire_field *field = n ? find_field(message, tag >> 3) : NULL;
        if (!field || (tag & 7) != wire_type_of(field->kind))
            return depth > 0 && !n;
        if (field->kind != MESSAGE)
            return true;
        data += n;
        size -= n;
        n = varint(data, size, 5, &length);
        if (!n || length == 0)
            return depth > 0 || n;
        data += n;
        size -= n;
        message = field->sub;
        if (size == 0)
            return true;
    }
    return true;
}
