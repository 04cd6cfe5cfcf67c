/* Bytes -> wire scan -> protobuf-c messages -> our structs; one small function per message. */
#include "legacy_graph/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "framework.pb-c.h"
#include "legacy_graph/report.h"
#include "legacy_graph/wire.h"

typedef struct reader {
    pdm_lg_program *program;
    pdm_arena *arena; /* of the program */
    pdm_lg_report report;
} reader;

/* ---- strings --------------------------------------------------------------------------------- */

/* Printable stand-in for bytes that are no text. Long ones are cut: it is for diagnostics only. */
static const char *escaped(reader *r, ProtobufCBinaryData bytes)
{
    size_t len = bytes.len < 64 ? bytes.len : 64;
    char *text = pdm_arena_alloc(r->arena, len * 4 + 4), *at = text;

    if (!text)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = bytes.data[i];
        if (c >= 0x20 && c < 0x7f && c != '\\')
            *at++ = (char)c;
        else
            at += sprintf(at, "\\x%02x", c);
    }
    strcpy(at, len < bytes.len ? "..." : "");
    return text;
}

static bool is_text(ProtobufCBinaryData bytes)
{
    return bytes.len == 0 || (!memchr(bytes.data, 0, bytes.len) &&
                              pdm_utf8_valid((const char *)bytes.data, bytes.len));
}

static pdm_status intern(reader *r, ProtobufCBinaryData bytes, const char **out_text)
{
    const char *text =
        pdm_intern_get(&r->program->strings, bytes.len ? (const char *)bytes.data : "", bytes.len);

    if (!text)
        return PDM_NOMEM;
    *out_text = text;
    return PDM_OK;
}

/*
 * A name. what says of what ("a variable", "an input slot"). One that is no text is reported and
 * replaced, so that reading goes on and finds the other problems too.
 */
static pdm_status take_name(reader *r, ProtobufCBinaryData bytes, const char *what,
                            const char **out_name)
{
    if (bytes.len == 0)
        PDM_LG_REPORT(&r->report, PDM_D_LG_NAME, NULL, "the name of %s is empty", what);
    if (is_text(bytes))
        return intern(r, bytes, out_name);

    const char *shown = escaped(r, bytes);
    if (!shown)
        return PDM_NOMEM;
    PDM_LG_REPORT(&r->report, PDM_D_LG_NAME, shown, "the name of %s, \"%s\", %s", what, shown,
                  memchr(bytes.data, 0, bytes.len) ? "holds a NUL byte" : "is not valid UTF-8");
    *out_name = pdm_intern_cstr(&r->program->strings, shown);
    return *out_name ? PDM_OK : PDM_NOMEM;
}

static pdm_status take_names(reader *r, const ProtobufCBinaryData *bytes, size_t n,
                             const char *what, const char *const **out_names)
{
    const char **names = pdm_arena_calloc(r->arena, n, sizeof *names);

    if (!names)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        PDM_TRY(take_name(r, bytes[i], what, &names[i]));
    *out_names = names;
    return PDM_OK;
}

/* The value of a string attribute. */
static pdm_status take_text(reader *r, ProtobufCBinaryData bytes, const char *attr,
                            const char **out_text)
{
    const char *text;

    if (is_text(bytes)) {
        text = pdm_arena_strndup(r->arena, bytes.len ? (const char *)bytes.data : "", bytes.len);
    } else {
        text = escaped(r, bytes);
        if (!text)
            return PDM_NOMEM;
        /* Source lines of the machine that built the model: in whatever encoding, and never used.
         */
        bool harmless = strcmp(attr, "op_callstack") == 0;
        PDM_LG_REPORT(&r->report, harmless ? PDM_D_LG_WARN : PDM_D_LG_ATTR_VALUE, attr,
                      "the string in attribute \"%s\" is not valid UTF-8 or holds a NUL byte: "
                      "\"%s\"",
                      attr, text);
    }
    if (!text)
        return PDM_NOMEM;
    *out_text = text;
    return PDM_OK;
}

static pdm_status take_texts(reader *r, const ProtobufCBinaryData *bytes, size_t n,
                             const char *attr, const char *const **out_texts)
{
    const char **texts = pdm_arena_calloc(r->arena, n, sizeof *texts);

    if (!texts)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        PDM_TRY(take_text(r, bytes[i], attr, &texts[i]));
    *out_texts = texts;
    return PDM_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* A copy of n numbers; also of none, so that lists are never NULL. */
static pdm_status take_list(reader *r, const void *from, size_t n, size_t elem_size, void *out_list)
{
    void *list = pdm_arena_calloc(r->arena, n, elem_size);

    if (!list)
        return PDM_NOMEM;
    if (n)
        memcpy(list, from, n * elem_size);
    memcpy(out_list, &list, sizeof list);
    return PDM_OK;
}

static pdm_status take_bools(reader *r, const protobuf_c_boolean *from, size_t n,
                             const bool **out_list)
{
    bool *list = pdm_arena_calloc(r->arena, n, sizeof *list);

    if (!list)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        list[i] = from[i] != 0;
    *out_list = list;
    return PDM_OK;
}

static void take_scalar(reader *r, const PdmPb__Scalar *from, const char *attr, pdm_lg_scalar *to)
{
    to->type = (pdm_lg_scalar_type)from->type;
    switch (from->type) {
    case PDM_LG_SCALAR_BOOL:
        to->b = from->b != 0;
        return;
    case PDM_LG_SCALAR_I64:
        to->i = from->i;
        return;
    case PDM_LG_SCALAR_F64:
        to->r = from->r;
        return;
    case PDM_LG_SCALAR_C128:
        if (from->c) {
            to->c.re = from->c->r;
            to->c.im = from->c->i;
        }
        return;
    }
    PDM_LG_REPORT(&r->report, PDM_D_LG_ENUM_NEWER, attr,
                  "a scalar in attribute \"%s\" has the unknown type number %d", attr, from->type);
}

static pdm_status take_scalars(reader *r, PdmPb__Scalar *const *from, size_t n, const char *attr,
                               const pdm_lg_scalar **out_list)
{
    pdm_lg_scalar *list = pdm_arena_calloc(r->arena, n, sizeof *list);

    if (!list)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        take_scalar(r, from[i], attr, &list[i]);
    *out_list = list;
    return PDM_OK;
}

static pdm_status take_attr_value(reader *r, const PdmPb__OpDesc__Attr *from, pdm_lg_attr *to)
{
    switch (to->type) {
    case PDM_LG_INT:
        to->u.i = from->i;
        return PDM_OK;
    case PDM_LG_FLOAT:
        to->u.f = from->f;
        return PDM_OK;
    case PDM_LG_STRING:
        return take_text(r, from->s, to->name, &to->u.s);
    case PDM_LG_INTS:
        to->count = from->n_ints;
        return take_list(r, from->ints, to->count, sizeof *from->ints, &to->u.ints);
    case PDM_LG_FLOATS:
        to->count = from->n_floats;
        return take_list(r, from->floats, to->count, sizeof *from->floats, &to->u.floats);
    case PDM_LG_STRINGS:
        to->count = from->n_strings;
        return take_texts(r, from->strings, to->count, to->name, &to->u.strings);
    case PDM_LG_BOOLEAN:
        to->u.b = from->b != 0;
        return PDM_OK;
    case PDM_LG_BOOLEANS:
        to->count = from->n_bools;
        return take_bools(r, from->bools, to->count, &to->u.bools);
    case PDM_LG_BLOCK:
        to->u.block = from->block_idx;
        return PDM_OK;
    case PDM_LG_LONG:
        to->u.l = from->l;
        return PDM_OK;
    case PDM_LG_BLOCKS:
        to->count = from->n_blocks_idx;
        return take_list(r, from->blocks_idx, to->count, sizeof *from->blocks_idx, &to->u.ints);
    case PDM_LG_LONGS:
        to->count = from->n_longs;
        return take_list(r, from->longs, to->count, sizeof *from->longs, &to->u.longs);
    case PDM_LG_FLOAT64S:
        to->count = from->n_float64s;
        return take_list(r, from->float64s, to->count, sizeof *from->float64s, &to->u.doubles);
    case PDM_LG_VAR:
        return take_name(r, from->var_name, "the variable in an attribute", &to->u.s);
    case PDM_LG_VARS:
        to->count = from->n_vars_name;
        return take_names(r, from->vars_name, to->count, "a variable in an attribute",
                          &to->u.strings);
    case PDM_LG_FLOAT64:
        to->u.d = from->float64;
        return PDM_OK;
    case PDM_LG_SCALAR:
        if (from->scalar)
            take_scalar(r, from->scalar, to->name, &to->u.scalar);
        else
            PDM_LG_REPORT(&r->report, PDM_D_LG_ATTR_VALUE, to->name,
                          "attribute \"%s\" is a SCALAR without a value", to->name);
        return PDM_OK;
    case PDM_LG_SCALARS:
        to->count = from->n_scalars;
        return take_scalars(r, from->scalars, to->count, to->name, &to->u.scalars);
    }
    PDM_LG_REPORT(&r->report, PDM_D_LG_ENUM_NEWER, to->name,
                  "attribute \"%s\" has the unknown type number %d", to->name, (int)to->type);
    to->type = PDM_LG_INT;
    return PDM_OK;
}

static pdm_status take_attrs(reader *r, PdmPb__OpDesc__Attr *const *from, size_t n,
                             const pdm_lg_attr **out_attrs)
{
    pdm_lg_attr *attrs = pdm_arena_calloc(r->arena, n, sizeof *attrs);

    if (!attrs)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        PDM_TRY(take_name(r, from[i]->name, "an attribute", &attrs[i].name));
        attrs[i].type = (pdm_lg_attr_type)from[i]->type;
        PDM_TRY(take_attr_value(r, from[i], &attrs[i]));
    }
    *out_attrs = attrs;
    return PDM_OK;
}

/* ---- operations ------------------------------------------------------------------------------ */

static int slot_order(const void *a, const void *b)
{
    const pdm_lg_slot *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static pdm_status take_slots(reader *r, PdmPb__OpDesc__Var *const *from, size_t n, bool output,
                             const pdm_lg_slot **out_slots)
{
    pdm_lg_slot *slots = pdm_arena_calloc(r->arena, n, sizeof *slots);

    if (!slots)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        PDM_TRY(take_name(r, from[i]->parameter, output ? "an output slot" : "an input slot",
                          &slots[i].name));
        slots[i].num_args = from[i]->n_arguments;
        PDM_TRY(take_names(r, from[i]->arguments, slots[i].num_args,
                           output ? "an output variable" : "an input variable", &slots[i].args));
    }
    qsort(slots, n, sizeof *slots, slot_order);
    *out_slots = slots;
    return PDM_OK;
}

static pdm_status take_op(reader *r, const PdmPb__OpDesc *from, pdm_lg_op *to)
{
    r->report.loc.op_type = NULL;
    PDM_TRY(take_name(r, from->type, "an op type", &to->type));
    r->report.loc.op_type = to->type;
    to->num_inputs = from->n_inputs;
    to->num_outputs = from->n_outputs;
    to->num_attrs = from->n_attrs;
    to->has_is_target = from->has_is_target != 0;
    to->is_target = from->is_target != 0;
    PDM_TRY(take_slots(r, from->inputs, from->n_inputs, false, &to->inputs));
    PDM_TRY(take_slots(r, from->outputs, from->n_outputs, true, &to->outputs));
    return take_attrs(r, from->attrs, from->n_attrs, &to->attrs);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Variable kinds and element types share one enum; 16, 34 and 35 are not in it. */
static bool known_var_type(int32_t number)
{
    return number >= 0 && number <= 38 && number != 16 && number != 34 && number != 35;
}

static void check_var_type(reader *r, const char *var, int32_t number, const char *what)
{
    if (!known_var_type(number))
        PDM_LG_REPORT(&r->report, PDM_D_LG_ENUM_NEWER, var,
                      "variable \"%s\" has the unknown %s number %d", var, what, number);
}

/* The tensor description that belongs to the kind; NULL: none given, or the kind has none. */
static const PdmPb__VarType__TensorDesc *tensor_of(const PdmPb__VarType *type, int32_t *lod_level)
{
    switch ((pdm_lg_var_kind)type->type) {
    case PDM_LG_DENSE_TENSOR:
        if (!type->dense_tensor)
            return NULL;
        *lod_level = type->dense_tensor->legacy_lod_level;
        return type->dense_tensor->tensor;
    case PDM_LG_TENSOR_ARRAY:
        if (!type->tensor_array)
            return NULL;
        *lod_level = type->tensor_array->legacy_lod_level;
        return type->tensor_array->tensor;
    case PDM_LG_SELECTED_ROWS:
        return type->selected_rows;
    case PDM_LG_STRING_VAR:
        return type->string;
    case PDM_LG_STRINGS_VAR:
        return type->strings;
    case PDM_LG_VOCAB:
        return type->vocab;
    case PDM_LG_SPARSE_COO:
        return type->sparse_coo;
    case PDM_LG_SPARSE_CSR:
        return type->sparse_csr;
    case PDM_LG_FEED_MINIBATCH:
    case PDM_LG_FETCH_LIST:
    case PDM_LG_STEP_SCOPES:
    case PDM_LG_LOD_RANK_TABLE:
    case PDM_LG_PLACE_LIST:
    case PDM_LG_READER:
    case PDM_LG_RAW:
    case PDM_LG_TUPLE:
    case PDM_LG_FEED_LIST:
        break;
    }
    return NULL;
}

static pdm_status take_var_type(reader *r, const PdmPb__VarType *from, pdm_lg_var *to)
{
    const PdmPb__VarType__TensorDesc *tensor = tensor_of(from, &to->lod_level);

    to->kind = from->type;
    to->dtype_number = -1;
    check_var_type(r, to->name, from->type, "kind");
    for (size_t i = 0; from->tuple && i < from->tuple->n_element_type; i++)
        check_var_type(r, to->name, from->tuple->element_type[i], "tuple element type");
    for (size_t i = 0; from->reader && i < from->reader->n_dense_tensor; i++)
        check_var_type(r, to->name, from->reader->dense_tensor[i]->tensor->data_type,
                       "element type");
    if (!tensor)
        return take_list(r, NULL, 0, sizeof *to->dims, &to->dims);
    check_var_type(r, to->name, tensor->data_type, "element type");
    to->has_tensor = true;
    to->dtype_number = tensor->data_type;
    to->dtype = pdm_dtype_from_legacy(tensor->data_type);
    to->rank = tensor->n_dims;
    return take_list(r, tensor->dims, to->rank, sizeof *tensor->dims, &to->dims);
}

static pdm_status take_var_attr(reader *r, const PdmPb__VarDesc__Attr *from, pdm_lg_attr *to)
{
    PDM_TRY(take_name(r, from->name, "an attribute of a variable", &to->name));
    to->type = (pdm_lg_attr_type)from->type;
    if (from->type == PDM_LG_INT) {
        to->u.i = from->i;
        return PDM_OK;
    }
    if (from->type == PDM_LG_STRING)
        return take_text(r, from->s, to->name, &to->u.s);
    if (from->type == PDM_LG_INTS) {
        to->count = from->n_ints;
        return take_list(r, from->ints, to->count, sizeof *from->ints, &to->u.ints);
    }
    if (from->type < 0 || from->type >= PDM_LG_NUM_ATTR_TYPES)
        PDM_LG_REPORT(&r->report, PDM_D_LG_ENUM_NEWER, to->name,
                      "attribute \"%s\" of a variable has the unknown type number %d", to->name,
                      from->type);
    else
        PDM_LG_REPORT(&r->report, PDM_D_LG_ATTR_KIND, to->name,
                      "attribute \"%s\" of a variable is %s; only INT, STRING and INTS can be",
                      to->name, pdm_lg_attr_type_name(from->type));
    to->type = PDM_LG_INT;
    return PDM_OK;
}

static pdm_status take_var(reader *r, const PdmPb__VarDesc *from, pdm_lg_var *to)
{
    PDM_TRY(take_name(r, from->name, "a variable", &to->name));
    to->persistable = from->persistable != 0;
    to->need_check_feed = from->need_check_feed != 0;
    to->is_parameter = from->is_parameter != 0;
    to->stop_gradient = from->stop_gradient != 0;
    to->has_need_check_feed = from->has_need_check_feed != 0;
    to->has_is_parameter = from->has_is_parameter != 0;
    to->has_stop_gradient = from->has_stop_gradient != 0;
    PDM_TRY(take_var_type(r, from->type, to));

    pdm_lg_attr *attrs = pdm_arena_calloc(r->arena, from->n_attrs, sizeof *attrs);
    if (!attrs)
        return PDM_NOMEM;
    for (size_t i = 0; i < from->n_attrs; i++)
        PDM_TRY(take_var_attr(r, from->attrs[i], &attrs[i]));
    to->attrs = attrs;
    to->num_attrs = from->n_attrs;
    return PDM_OK;
}

/* ---- blocks and the program ------------------------------------------------------------------ */

static pdm_status take_vars(reader *r, const PdmPb__BlockDesc *from, pdm_lg_block *to)
{
    pdm_lg_var *vars = pdm_arena_calloc(r->arena, from->n_vars, sizeof *vars);

    if (!vars)
        return PDM_NOMEM;
    for (size_t i = 0; i < from->n_vars; i++) {
        PDM_TRY(take_var(r, from->vars[i], &vars[i]));
        pdm_map_entry *entry = pdm_map_put(&to->var_index, vars[i].name);
        if (!entry)
            return PDM_NOMEM;
        entry->value.num = i; /* of two with one name the last counts; the checker reports them */
    }
    to->vars = vars;
    to->num_vars = from->n_vars;
    return PDM_OK;
}

static pdm_status take_block(reader *r, const PdmPb__BlockDesc *from, pdm_lg_block *to)
{
    to->idx = from->idx;
    to->parent = from->parent_idx;
    to->forward_idx = from->forward_block_idx;
    PDM_TRY(take_vars(r, from, to));

    pdm_lg_op *ops = pdm_arena_calloc(r->arena, from->n_ops, sizeof *ops);
    if (!ops)
        return PDM_NOMEM;
    for (size_t i = 0; i < from->n_ops; i++) {
        r->report.loc.op_index = (int32_t)i;
        PDM_TRY(take_op(r, from->ops[i], &ops[i]));
    }
    r->report.loc.op_index = -1;
    r->report.loc.op_type = NULL;
    to->ops = ops;
    to->num_ops = from->n_ops;
    return PDM_OK;
}

static int version_order(const void *a, const void *b)
{
    const pdm_lg_op_version *left = a, *right = b;

    return strcmp(left->type, right->type);
}

static pdm_status take_op_versions(reader *r, const PdmPb__OpVersionMap *from)
{
    pdm_lg_op_version *list = pdm_arena_calloc(r->arena, from->n_pair, sizeof *list);
    pdm_map last; /* name -> position: of several entries of an op the last counts */
    pdm_status status = PDM_OK;
    size_t n = 0;

    if (!list)
        return PDM_NOMEM;
    pdm_map_init(&last);
    for (size_t i = 0; i < from->n_pair; i++) {
        const char *type;
        PDM_TRY_GOTO(take_name(r, from->pair[i]->op_name, "an op in op_version_map", &type));
        size_t known = last.count;
        pdm_map_entry *entry = pdm_map_put(&last, type);
        if (!entry) {
            status = PDM_NOMEM;
            goto done;
        }
        if (last.count > known)
            entry->value.num = n++;
        list[entry->value.num].type = type;
        list[entry->value.num].version = from->pair[i]->op_version->version;
    }
    qsort(list, n, sizeof *list, version_order);
    r->program->op_versions = list;
    r->program->num_op_versions = n;
done:
    pdm_map_deinit(&last);
    return status;
}

static pdm_status take_program(reader *r, const PdmPb__ProgramDesc *from)
{
    pdm_lg_program *to = r->program;

    to->has_version = from->version != NULL;
    to->version = from->version ? from->version->version : 0;
    to->has_op_versions = from->op_version_map != NULL;
    if (from->op_version_map)
        PDM_TRY(take_op_versions(r, from->op_version_map));

    to->blocks = pdm_arena_calloc(r->arena, from->n_blocks, sizeof *to->blocks);
    if (!to->blocks)
        return PDM_NOMEM;
    to->num_blocks = from->n_blocks;
    for (size_t i = 0; i < from->n_blocks; i++)
        pdm_map_init(&to->blocks[i].var_index);
    for (size_t i = 0; i < from->n_blocks; i++) {
        r->report.loc.block = (int32_t)i;
        PDM_TRY(take_block(r, from->blocks[i], &to->blocks[i]));
    }
    return PDM_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/*
 * protobuf-c allocates from an arena: its tree goes at once, nothing can leak on its error paths,
 * and a NULL from it is told apart: out of memory, or a message that our scan should have refused.
 */
typedef struct decode_memory {
    pdm_arena arena;
    bool failed;
} decode_memory;

static void *decode_alloc(void *user, size_t size)
{
    decode_memory *memory = user;
    void *result = pdm_arena_alloc(&memory->arena, size);

    if (!result)
        memory->failed = true;
    return result;
}

static void decode_free(void *user, void *pointer)
{
    (void)user;
    (void)pointer;
}

static pdm_status decode(reader *r, const void *data, size_t size)
{
    decode_memory memory = {.failed = false};
    ProtobufCAllocator allocator = {decode_alloc, decode_free, &memory};
    pdm_status status;

    pdm_arena_init(&memory.arena);
    const PdmPb__ProgramDesc *desc = pdm_pb__program_desc__unpack(&allocator, size, data);
    if (desc)
        status = take_program(r, desc);
    else if (memory.failed)
        status = PDM_NOMEM;
    else
        status = pdm_diag(r->report.sink, PDM_D_INTERNAL, &r->report.loc, NULL,
                          "the program passed the scan and cannot be decoded");
    pdm_arena_deinit(&memory.arena);
    return status;
}

bool pdm_lg_looks_like_program(const void *data, size_t size)
{
    return pdm_lg_wire_plausible(data, size);
}

static pdm_status check_file(const void *data, size_t size, const pdm_loc *loc, pdm_diag_sink *sink)
{
    if (size == 0) {
        pdm_diag(sink, PDM_D_FILE_EMPTY, loc, NULL, "the program file is empty");
        return PDM_INVALID_MODEL;
    }
    if (size >= PDM_LG_MAX_FILE) {
        pdm_diag(sink, PDM_D_LIMIT, loc, NULL,
                 "the program has %llu bytes; the format allows less than %llu",
                 (unsigned long long)size, (unsigned long long)PDM_LG_MAX_FILE);
        return PDM_INVALID_MODEL;
    }
    if (!pdm_lg_looks_like_program(data, size)) {
        pdm_diag(sink, PDM_D_FILE_FORMAT, loc, NULL, "the file is not a ProgramDesc");
        return PDM_INVALID_MODEL;
    }
    return PDM_OK;
}

pdm_status pdm_lg_read(const void *data, size_t size, const char *path, pdm_diag_sink *sink,
                       pdm_lg_program **out_program)
{
    reader r = {.report = {sink, PDM_NOWHERE, PDM_OK}};
    pdm_status status;

    r.report.loc.file = path;
    PDM_TRY(check_file(data, size, &r.report.loc, sink));
    PDM_TRY(pdm_lg_wire_scan(data, size, path, sink));
    PDM_TRY(pdm_lg_program_create(path, &r.program));
    r.arena = &r.program->arena;
    r.report.loc.file = r.program->path;
    PDM_TRY_GOTO(decode(&r, data, size));

    status = pdm_lg_check(r.program, sink);
    if (status == PDM_OK || status == PDM_INVALID_MODEL || status == PDM_UNSUPPORTED) {
        pdm_lg_report_merge(&r.report, status);
        status = r.report.worst;
    }
    if (status == PDM_OK) {
        *out_program = r.program;
        r.program = NULL;
    }
done:
    pdm_lg_program_destroy(r.program);
    return status;
}
