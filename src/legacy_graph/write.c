/* Our structs -> protobuf-c messages -> bytes; one small function per message, as in read.c. */
#include "legacy_graph/write.h"

#include <string.h>

#include "framework.pb-c.h"

typedef struct writer {
    pdm_arena arena; /* messages and lists of pointers; texts stay in the program */
} writer;

static ProtobufCBinaryData bytes_of(const char *text)
{
    /* protobuf-c only reads what is packed. */
    return (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *)(uintptr_t)text};
}

static pdm_status put_texts(writer *w, const char *const *from, size_t n, size_t *out_n,
                            ProtobufCBinaryData **out)
{
    ProtobufCBinaryData *list = pdm_arena_calloc(&w->arena, n, sizeof *list);

    if (!list)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++)
        list[i] = bytes_of(from[i]);
    *out_n = n;
    *out = list;
    return PDM_OK;
}

/* n pointers to n messages of size bytes, all cleared. */
static void **messages(writer *w, size_t n, size_t size)
{
    void **list = pdm_arena_calloc(&w->arena, n, sizeof *list);
    char *room = list ? pdm_arena_calloc(&w->arena, n, size) : NULL;

    for (size_t i = 0; room && i < n; i++)
        list[i] = room + i * size;
    return room ? list : NULL;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static pdm_status put_scalar(writer *w, const pdm_lg_scalar *from, PdmPb__Scalar *to)
{
    pdm_pb__scalar__init(to);
    to->type = (int32_t)from->type;
    switch (from->type) {
    case PDM_LG_SCALAR_BOOL:
        to->has_b = 1;
        to->b = from->b;
        return PDM_OK;
    case PDM_LG_SCALAR_I64:
        to->has_i = 1;
        to->i = from->i;
        return PDM_OK;
    case PDM_LG_SCALAR_F64:
        to->has_r = 1;
        to->r = from->r;
        return PDM_OK;
    case PDM_LG_SCALAR_C128:
        to->c = pdm_arena_alloc(&w->arena, sizeof *to->c);
        if (!to->c)
            return PDM_NOMEM;
        pdm_pb__complex__init(to->c);
        to->c->r = from->c.re;
        to->c->i = from->c.im;
        return PDM_OK;
    }
    return PDM_OK;
}

static pdm_status put_scalars(writer *w, const pdm_lg_scalar *from, size_t n,
                              PdmPb__OpDesc__Attr *to)
{
    void **list = messages(w, n, sizeof **to->scalars);

    if (!list)
        return PDM_NOMEM;
    to->n_scalars = n;
    to->scalars = (PdmPb__Scalar **)list;
    for (size_t i = 0; i < n; i++)
        PDM_TRY(put_scalar(w, &from[i], to->scalars[i]));
    return PDM_OK;
}

static pdm_status put_bools(writer *w, const bool *from, size_t n, PdmPb__OpDesc__Attr *to)
{
    to->bools = pdm_arena_calloc(&w->arena, n, sizeof *to->bools);
    if (!to->bools)
        return PDM_NOMEM;
    to->n_bools = n;
    for (size_t i = 0; i < n; i++)
        to->bools[i] = from[i];
    return PDM_OK;
}

static pdm_status put_attr(writer *w, const pdm_lg_attr *from, PdmPb__OpDesc__Attr *to)
{
    pdm_pb__op_desc__attr__init(to);
    to->name = bytes_of(from->name);
    to->type = (int32_t)from->type;
    switch (from->type) {
    case PDM_LG_INT:
        to->has_i = 1;
        to->i = from->u.i;
        break;
    case PDM_LG_FLOAT:
        to->has_f = 1;
        to->f = from->u.f;
        break;
    case PDM_LG_STRING:
        to->has_s = 1;
        to->s = bytes_of(from->u.s);
        break;
    case PDM_LG_INTS:
        to->n_ints = from->count;
        to->ints = (int32_t *)(uintptr_t)from->u.ints;
        break;
    case PDM_LG_FLOATS:
        to->n_floats = from->count;
        to->floats = (float *)(uintptr_t)from->u.floats;
        break;
    case PDM_LG_STRINGS:
        return put_texts(w, from->u.strings, from->count, &to->n_strings, &to->strings);
    case PDM_LG_BOOLEAN:
        to->has_b = 1;
        to->b = from->u.b;
        break;
    case PDM_LG_BOOLEANS:
        return put_bools(w, from->u.bools, from->count, to);
    case PDM_LG_BLOCK:
        to->has_block_idx = 1;
        to->block_idx = from->u.block;
        break;
    case PDM_LG_LONG:
        to->has_l = 1;
        to->l = from->u.l;
        break;
    case PDM_LG_BLOCKS:
        to->n_blocks_idx = from->count;
        to->blocks_idx = (int32_t *)(uintptr_t)from->u.ints;
        break;
    case PDM_LG_LONGS:
        to->n_longs = from->count;
        to->longs = (int64_t *)(uintptr_t)from->u.longs;
        break;
    case PDM_LG_FLOAT64S:
        to->n_float64s = from->count;
        to->float64s = (double *)(uintptr_t)from->u.doubles;
        break;
    case PDM_LG_VAR:
        to->has_var_name = 1;
        to->var_name = bytes_of(from->u.s);
        break;
    case PDM_LG_VARS:
        return put_texts(w, from->u.strings, from->count, &to->n_vars_name, &to->vars_name);
    case PDM_LG_FLOAT64:
        to->has_float64 = 1;
        to->float64 = from->u.d;
        break;
    case PDM_LG_SCALAR:
        to->scalar = pdm_arena_alloc(&w->arena, sizeof *to->scalar);
        return to->scalar ? put_scalar(w, &from->u.scalar, to->scalar) : PDM_NOMEM;
    case PDM_LG_SCALARS:
        return put_scalars(w, from->u.scalars, from->count, to);
    }
    return PDM_OK;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static pdm_status put_slots(writer *w, const pdm_lg_slot *from, size_t n, size_t *out_n,
                            PdmPb__OpDesc__Var ***out)
{
    void **list = messages(w, n, sizeof ***out);

    if (!list)
        return PDM_NOMEM;
    for (size_t i = 0; i < n; i++) {
        PdmPb__OpDesc__Var *to = list[i];
        pdm_pb__op_desc__var__init(to);
        to->parameter = bytes_of(from[i].name);
        PDM_TRY(put_texts(w, from[i].args, from[i].num_args, &to->n_arguments, &to->arguments));
    }
    *out_n = n;
    *out = (PdmPb__OpDesc__Var **)list;
    return PDM_OK;
}

static pdm_status put_op(writer *w, const pdm_lg_op *from, PdmPb__OpDesc *to)
{
    void **attrs = messages(w, from->num_attrs, sizeof **to->attrs);

    if (!attrs)
        return PDM_NOMEM;
    pdm_pb__op_desc__init(to);
    to->type = bytes_of(from->type);
    to->has_is_target = from->has_is_target;
    to->is_target = from->is_target;
    PDM_TRY(put_slots(w, from->inputs, from->num_inputs, &to->n_inputs, &to->inputs));
    PDM_TRY(put_slots(w, from->outputs, from->num_outputs, &to->n_outputs, &to->outputs));
    to->n_attrs = from->num_attrs;
    to->attrs = (PdmPb__OpDesc__Attr **)attrs;
    for (size_t i = 0; i < from->num_attrs; i++)
        PDM_TRY(put_attr(w, &from->attrs[i], to->attrs[i]));
    return PDM_OK;
}

/* ---- variables ------------------------------------------------------------------------------- */

static pdm_status put_tensor(writer *w, const pdm_lg_var *from, PdmPb__VarType__TensorDesc **out)
{
    PdmPb__VarType__TensorDesc *to = pdm_arena_alloc(&w->arena, sizeof *to);

    if (!to)
        return PDM_NOMEM;
    pdm_pb__var_type__tensor_desc__init(to);
    to->data_type = from->dtype_number;
    to->n_dims = from->rank;
    to->dims = (int64_t *)(uintptr_t)from->dims;
    *out = to;
    return PDM_OK;
}

static pdm_status put_dense(writer *w, const pdm_lg_var *from, PdmPb__VarType *type)
{
    PdmPb__VarType__DenseTensorDesc *to = pdm_arena_alloc(&w->arena, sizeof *to);

    if (!to)
        return PDM_NOMEM;
    pdm_pb__var_type__dense_tensor_desc__init(to);
    to->has_legacy_lod_level = 1;
    to->legacy_lod_level = from->lod_level;
    type->dense_tensor = to;
    return put_tensor(w, from, &to->tensor);
}

static pdm_status put_array(writer *w, const pdm_lg_var *from, PdmPb__VarType *type)
{
    PdmPb__VarType__DenseTensorArrayDesc *to = pdm_arena_alloc(&w->arena, sizeof *to);

    if (!to)
        return PDM_NOMEM;
    pdm_pb__var_type__dense_tensor_array_desc__init(to);
    to->has_legacy_lod_level = 1;
    to->legacy_lod_level = from->lod_level;
    type->tensor_array = to;
    return put_tensor(w, from, &to->tensor);
}

static pdm_status put_var_type(writer *w, const pdm_lg_var *from, PdmPb__VarType *to)
{
    to->type = from->kind;
    if (!from->has_tensor)
        return PDM_OK;
    switch ((pdm_lg_var_kind)from->kind) {
    case PDM_LG_DENSE_TENSOR:
        return put_dense(w, from, to);
    case PDM_LG_TENSOR_ARRAY:
        return put_array(w, from, to);
    case PDM_LG_SELECTED_ROWS:
        return put_tensor(w, from, &to->selected_rows);
    case PDM_LG_STRING_VAR:
        return put_tensor(w, from, &to->string);
    case PDM_LG_STRINGS_VAR:
        return put_tensor(w, from, &to->strings);
    case PDM_LG_VOCAB:
        return put_tensor(w, from, &to->vocab);
    case PDM_LG_SPARSE_COO:
        return put_tensor(w, from, &to->sparse_coo);
    case PDM_LG_SPARSE_CSR:
        return put_tensor(w, from, &to->sparse_csr);
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
    return PDM_OK;
}

static void put_var_attr(const pdm_lg_attr *from, PdmPb__VarDesc__Attr *to)
{
    pdm_pb__var_desc__attr__init(to);
    to->name = bytes_of(from->name);
    to->type = (int32_t)from->type;
    if (from->type == PDM_LG_STRING) {
        to->has_s = 1;
        to->s = bytes_of(from->u.s);
    } else if (from->type == PDM_LG_INTS) {
        to->n_ints = from->count;
        to->ints = (int32_t *)(uintptr_t)from->u.ints;
    } else {
        to->has_i = 1;
        to->i = from->u.i;
    }
}

static pdm_status put_var(writer *w, const pdm_lg_var *from, PdmPb__VarDesc *to)
{
    void **attrs = messages(w, from->num_attrs, sizeof **to->attrs);

    pdm_pb__var_desc__init(to);
    to->type = pdm_arena_alloc(&w->arena, sizeof *to->type);
    if (!attrs || !to->type)
        return PDM_NOMEM;
    pdm_pb__var_type__init(to->type);
    to->name = bytes_of(from->name);
    to->has_persistable = 1;
    to->persistable = from->persistable;
    to->has_need_check_feed = from->has_need_check_feed;
    to->need_check_feed = from->need_check_feed;
    to->has_is_parameter = from->has_is_parameter;
    to->is_parameter = from->is_parameter;
    to->has_stop_gradient = from->has_stop_gradient;
    to->stop_gradient = from->stop_gradient;
    to->n_attrs = from->num_attrs;
    to->attrs = (PdmPb__VarDesc__Attr **)attrs;
    for (size_t i = 0; i < from->num_attrs; i++)
        put_var_attr(&from->attrs[i], to->attrs[i]);
    return put_var_type(w, from, to->type);
}

/* ---- blocks and the program ------------------------------------------------------------------ */

static pdm_status put_block(writer *w, const pdm_lg_block *from, PdmPb__BlockDesc *to)
{
    void **vars = messages(w, from->num_vars, sizeof **to->vars);
    void **ops = messages(w, from->num_ops, sizeof **to->ops);

    if (!vars || !ops)
        return PDM_NOMEM;
    pdm_pb__block_desc__init(to);
    to->idx = from->idx;
    to->parent_idx = from->parent;
    to->has_forward_block_idx = 1;
    to->forward_block_idx = from->forward_idx;
    to->n_vars = from->num_vars;
    to->vars = (PdmPb__VarDesc **)vars;
    to->n_ops = from->num_ops;
    to->ops = (PdmPb__OpDesc **)ops;
    for (size_t i = 0; i < from->num_vars; i++)
        PDM_TRY(put_var(w, &from->vars[i], to->vars[i]));
    for (size_t i = 0; i < from->num_ops; i++)
        PDM_TRY(put_op(w, &from->ops[i], to->ops[i]));
    return PDM_OK;
}

static pdm_status put_op_versions(writer *w, const pdm_lg_program *from, PdmPb__OpVersionMap *to)
{
    const size_t n = from->num_op_versions;
    void **pairs = messages(w, n, sizeof **to->pair);
    PdmPb__OpVersion *versions = pdm_arena_calloc(&w->arena, n, sizeof *versions);

    if (!pairs || !versions)
        return PDM_NOMEM;
    pdm_pb__op_version_map__init(to);
    to->n_pair = n;
    to->pair = (PdmPb__OpVersionMap__OpVersionPair **)pairs;
    for (size_t i = 0; i < n; i++) {
        pdm_pb__op_version_map__op_version_pair__init(to->pair[i]);
        pdm_pb__op_version__init(&versions[i]);
        versions[i].version = from->op_versions[i].version;
        to->pair[i]->op_name = bytes_of(from->op_versions[i].type);
        to->pair[i]->op_version = &versions[i];
    }
    return PDM_OK;
}

static pdm_status put_program(writer *w, const pdm_lg_program *from, PdmPb__ProgramDesc *to)
{
    void **blocks = messages(w, from->num_blocks, sizeof **to->blocks);

    if (!blocks)
        return PDM_NOMEM;
    to->n_blocks = from->num_blocks;
    to->blocks = (PdmPb__BlockDesc **)blocks;
    for (size_t i = 0; i < from->num_blocks; i++)
        PDM_TRY(put_block(w, &from->blocks[i], to->blocks[i]));
    if (from->has_version) {
        to->version = pdm_arena_alloc(&w->arena, sizeof *to->version);
        if (!to->version)
            return PDM_NOMEM;
        pdm_pb__version__init(to->version);
        to->version->has_version = 1;
        to->version->version = from->version;
    }
    if (from->has_op_versions) {
        to->op_version_map = pdm_arena_alloc(&w->arena, sizeof *to->op_version_map);
        return to->op_version_map ? put_op_versions(w, from, to->op_version_map) : PDM_NOMEM;
    }
    return PDM_OK;
}

/* What protobuf-c packs goes straight to our buffer. */
typedef struct sink {
    ProtobufCBuffer base;
    pdm_buf *buf;
} sink;

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *data)
{
    pdm_buf_put(((sink *)base)->buf, data, size);
}

pdm_status pdm_lg_write(const pdm_lg_program *program, pdm_buf *buf)
{
    writer w;
    PdmPb__ProgramDesc desc;
    sink to = {{append}, buf};

    pdm_arena_init(&w.arena);
    pdm_pb__program_desc__init(&desc);
    const pdm_status status = put_program(&w, program, &desc);
    if (status == PDM_OK)
        pdm_pb__program_desc__pack_to_buffer(&desc, &to.base);
    pdm_arena_deinit(&w.arena);
    return status != PDM_OK ? status : pdm_buf_ok(buf) ? PDM_OK : PDM_NOMEM;
}
