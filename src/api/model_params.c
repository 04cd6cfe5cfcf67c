/*
 * The parameters of a model: which ones its program wants, where they are, and whether the file
 * agrees with the program. The file is followed in two differences that quantized models really
 * have (int8 data declared as float32, one element with shape [] against [1]); any other difference
 * means that file and program do not belong together.
 */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/vec.h"

/* A parameter that a program declares. */
typedef struct declared {
    const char *name;
    pdm_param_kind kind;
    bool checked; /* the declaration says dtype and dims */
    pdm_dtype dtype;
    const int64_t *dims;
    size_t rank;
    bool used;       /* an op reads it */
    bool quant_only; /* only quantize and dequantize ops read it */
} declared;

typedef struct declared_list {
    declared *items; /* sorted by name */
    size_t count;
    const char **names;
    pdm_param_kind *kinds;
} declared_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const declared *)a)->name, ((const declared *)b)->name);
}

static pdm_status allocate(declared_list *list, pdm_arena *arena, size_t capacity)
{
    list->count = 0;
    list->items = pdm_arena_calloc(arena, capacity ? capacity : 1, sizeof *list->items);
    list->names = pdm_arena_calloc(arena, capacity ? capacity : 1, sizeof *list->names);
    list->kinds = pdm_arena_calloc(arena, capacity ? capacity : 1, sizeof *list->kinds);
    return list->items && list->names && list->kinds ? PDM_OK : PDM_NOMEM;
}

/* Names and kinds as the scan wants them. */
static size_t fill_names(declared_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        list->names[i] = list->items[i].name;
        list->kinds[i] = list->items[i].kind;
    }
    return list->count;
}

/* ---- what a legacy program declares ---------------------------------------------------------- */

static pdm_param_kind kind_of(const pdm_lg_var *var)
{
    if (var->kind == PDM_LG_SELECTED_ROWS)
        return PDM_PARAM_SELECTED_ROWS;
    return var->kind == PDM_LG_VOCAB ? PDM_PARAM_VOCAB : PDM_PARAM_DENSE;
}

static void mark_readers(const pdm_lg_program *program, pdm_map *by_var)
{
    for (size_t b = 0; b < program->num_blocks; b++) {
        const pdm_lg_block *block = &program->blocks[b];
        for (size_t o = 0; o < block->num_ops; o++) {
            const pdm_lg_op *op = &block->ops[o];
            const bool quant = strstr(op->type, "quantize") != NULL;
            for (size_t s = 0; s < op->num_inputs; s++) {
                for (size_t a = 0; a < op->inputs[s].num_args; a++) {
                    const char *name = op->inputs[s].args[a];
                    pdm_map_entry *entry = pdm_map_find(by_var, name);
                    /* A sub-block may have a variable of its own of that name. */
                    const pdm_lg_var *var =
                        entry && b ? pdm_lg_lookup_var(program, (int32_t)b, name, NULL) : NULL;
                    if (!entry || (var && !var->persistable))
                        continue;
                    declared *d = entry->value.ptr;
                    d->used = true;
                    d->quant_only = d->quant_only && quant;
                }
            }
        }
    }
}

static pdm_status add_declared(declared_list *list, pdm_map *seen, const pdm_lg_var *var)
{
    if (pdm_map_find(seen, var->name))
        return PDM_OK;
    if (!pdm_map_put(seen, var->name))
        return PDM_NOMEM;
    list->items[list->count++] = (declared){.name = var->name,
                                            .kind = kind_of(var),
                                            .checked = var->has_tensor,
                                            .dtype = var->dtype,
                                            .dims = var->dims,
                                            .rank = var->rank,
                                            .quant_only = true};
    return PDM_OK;
}

static pdm_status declared_by_legacy(const pdm_lg_program *program, pdm_arena *arena,
                                     declared_list *list)
{
    pdm_map by_var;
    pdm_status status = PDM_OK;
    size_t room = 0;

    for (size_t b = 0; b < program->num_blocks; b++)
        room += program->blocks[b].num_vars;
    PDM_TRY(allocate(list, arena, room));
    pdm_map_init(&by_var);
    /* A persistable variable belongs to the whole program, wherever and however often declared. */
    for (size_t b = 0; b < program->num_blocks && status == PDM_OK; b++) {
        const pdm_lg_block *block = &program->blocks[b];
        for (size_t i = 0; i < block->num_vars && status == PDM_OK; i++)
            if (pdm_lg_var_is_param(&block->vars[i]))
                status = add_declared(list, &by_var, &block->vars[i]);
    }
    qsort(list->items, list->count, sizeof *list->items, by_name);
    for (size_t i = 0; i < list->count && status == PDM_OK; i++)
        pdm_map_find(&by_var, list->items[i].name)->value.ptr = &list->items[i];
    if (status == PDM_OK)
        mark_readers(program, &by_var);
    pdm_map_deinit(&by_var);
    return status;
}

/* ---- what a PIR module declares -------------------------------------------------------------- */

typedef struct named_op {
    const char *name;
    const pdm_ir_op *op;
} named_op;

typedef PDM_VEC(named_op) named_ops;

static const char *parameter_name(const pdm_ir_op *op)
{
    pdm_ir_attr attr = pdm_ir_op_attr(op, "parameter_name");

    return attr && attr->kind == PDM_IR_ATTR_STR ? attr->u.s.text : "";
}

static pdm_status take_param(void *user, pdm_ir_op *op)
{
    named_ops *found = user;

    if (!PDM_IR_IS(op, builtin, parameter))
        return PDM_OK;
    return PDM_VEC_PUSH(found, ((named_op){parameter_name(op), op})) ? PDM_OK : PDM_NOMEM;
}

static int by_op_name(const void *a, const void *b)
{
    return strcmp(((const named_op *)a)->name, ((const named_op *)b)->name);
}

/* Sorted, each name once, moved to the arena. */
static pdm_status settle(named_ops *found, pdm_arena *arena, pdm_api_module_param_list *out)
{
    const pdm_ir_op **ops = pdm_arena_calloc(arena, found->n + 1, sizeof *ops);
    const char **names = pdm_arena_calloc(arena, found->n + 1, sizeof *names);
    size_t n = 0;

    if (!ops || !names)
        return PDM_NOMEM;
    if (found->n > 0)
        qsort(found->v, found->n, sizeof *found->v, by_op_name);
    for (size_t i = 0; i < found->n; i++) {
        if (n > 0 && !strcmp(names[n - 1], found->v[i].name))
            continue;
        ops[n] = found->v[i].op;
        names[n++] = found->v[i].name;
    }
    *out = (pdm_api_module_param_list){ops, names, n};
    return PDM_OK;
}

pdm_status pdm_api_module_params(pdm_model *model, const pdm_api_module_param_list **out_list)
{
    pdm_api_module_param_list *list = &model->module_params;
    named_ops found = {0};
    pdm_status status = PDM_OK;

    if (!list->ops)
        status = pdm_ir_walk(model->pir->op, PDM_IR_PRE_ORDER, take_param, &found);
    if (status == PDM_OK && !list->ops)
        status = settle(&found, &model->arena, list);
    PDM_VEC_FREE(&found);
    if (status == PDM_OK)
        *out_list = list;
    return status;
}

static pdm_status declared_by_pir(pdm_model *model, declared_list *list)
{
    const pdm_api_module_param_list *params;

    PDM_TRY(pdm_api_module_params(model, &params));
    PDM_TRY(allocate(list, &model->arena, params->count));
    for (size_t i = 0; i < params->count; i++) {
        const pdm_ir_op *op = params->ops[i];
        pdm_ir_type type = op->num_results ? pdm_ir_op_result(op, 0)->type : NULL;
        declared *d = &list->items[list->count++];
        *d = (declared){.name = params->names[i], .kind = PDM_PARAM_DENSE, .used = true};
        if (pdm_ir_type_is_tensor(type)) {
            d->checked = true;
            d->dtype = type->dtype;
            d->dims = type->dims;
            d->rank = type->rank;
        } else if (type && type->kind == PDM_IR_SELECTED_ROWS) {
            d->kind = PDM_PARAM_SELECTED_ROWS;
        }
    }
    return PDM_OK;
}

/* ---- file against program -------------------------------------------------------------------- */

static void put_shape(pdm_buf *buf, pdm_dtype dtype, const int64_t *dims, size_t rank)
{
    pdm_buf_puts(buf, pdm_dtype_name(dtype));
    pdm_buf_putc(buf, '[');
    for (size_t i = 0; i < rank; i++) {
        if (i > 0)
            pdm_buf_puts(buf, ", ");
        pdm_buf_i64(buf, dims[i]);
    }
    pdm_buf_putc(buf, ']');
}

static bool same_dims(const declared *d, const pdm_param *p)
{
    if (d->rank != p->rank)
        return false;
    for (size_t i = 0; i < d->rank; i++) {
        if (d->dims[i] >= 0 && d->dims[i] != p->dims[i])
            return false;
    }
    return true;
}

static bool one_element(const int64_t *dims, size_t rank)
{
    return rank == 0 || (rank == 1 && dims[0] == 1);
}

/* Per-channel scales are saved as [1, n] where the program says [n]. */
static bool same_but_ones(const declared *d, const pdm_param *p)
{
    size_t i = 0, k = 0;
    for (;;) {
        while (i < d->rank && d->dims[i] == 1)
            i++;
        while (k < p->rank && p->dims[k] == 1)
            k++;
        if (i == d->rank || k == p->rank)
            return i == d->rank && k == p->rank;
        if (d->dims[i++] != p->dims[k++])
            return false;
    }
}

/* Counts a difference that is accepted. */
static pdm_status compare(const declared *d, const pdm_param *p, size_t *accepted,
                          pdm_diag_sink *sink)
{
    const bool dtype_same = d->dtype == p->dtype;
    const bool dims_same = same_dims(d, p);
    pdm_loc loc = PDM_NOWHERE;
    pdm_buf want, have;
    pdm_status status;

    if (!d->checked || p->kind == PDM_PARAM_VOCAB || (dtype_same && dims_same))
        return PDM_OK;
    pdm_buf_init(&want);
    pdm_buf_init(&have);
    put_shape(&want, d->dtype, d->dims, d->rank);
    put_shape(&have, p->dtype, p->dims, p->rank);
    loc.file = p->path;
    loc.var = d->name;
    const bool quantized = p->dtype == PDM_I8 && d->dtype == PDM_F32 && d->quant_only;
    const bool scalar = one_element(d->dims, d->rank) && one_element(p->dims, p->rank);
    const bool scales = d->quant_only && same_but_ones(d, p);
    if (!pdm_buf_ok(&want) || !pdm_buf_ok(&have)) {
        status = PDM_NOMEM;
    } else if ((dtype_same || quantized) && (dims_same || scalar || scales)) {
        ++*accepted;
        status = pdm_diag(sink, PDM_D_PARAM_NOTE, &loc, NULL,
                          "parameter '%s': the program says %s, the file %s; the file is followed",
                          d->name, want.data, have.data);
    } else {
        status = pdm_diag(
            sink, PDM_D_PARAM_DIFFERS, &loc, "does the parameter file belong to this model?",
            "parameter '%s': the program says %s, the file %s", d->name, want.data, have.data);
    }
    pdm_buf_deinit(&want);
    pdm_buf_deinit(&have);
    return status;
}

static pdm_status compare_all(const pdm_model *model, const declared_list *list,
                              pdm_diag_sink *sink)
{
    pdm_status worst = PDM_OK;
    size_t accepted = 0;

    for (size_t i = 0; i < list->count; i++) {
        const pdm_param *p = pdm_params_find(&model->params, list->items[i].name);
        if (!p)
            continue; /* unused, and without a file of its own */
        const pdm_status status = compare(&list->items[i], p, &accepted, sink);
        if (status == PDM_NOMEM)
            return status;
        if (status != PDM_OK)
            worst = status;
    }
    if (accepted > 0 && !sink->verbose)
        pdm_api_note(sink, PDM_D_PARAM_NOTE, model->params_path, "--verbose lists them",
                     "%zu parameter%s stored otherwise than the program says, as quantized models "
                     "do; the file is followed",
                     accepted, accepted == 1 ? " is" : "s are");
    return worst;
}

/* ---- finding and scanning -------------------------------------------------------------------- */

static pdm_status not_found(const pdm_model *model, const char *first, bool optional,
                            pdm_diag_sink *sink)
{
    char *path = pdm_api_params_beside(model->path);
    pdm_loc loc = PDM_NOWHERE;
    pdm_status status = PDM_OK;

    if (!path)
        return PDM_NOMEM;
    loc.file = path;
    if (optional)
        pdm_api_note(sink, PDM_D_FILE_NOTE, path, NULL, "the parameter file cannot be found");
    else if (model->kind == PDM_MODEL_LEGACY && pdm_api_has_suffix(model->path, ".json"))
        /* It was renamed, alone: its parameters, if they are anywhere, have another name. */
        status = pdm_diag(sink, PDM_D_LG_WARN, &loc, "name it with --params",
                          "the parameter file cannot be found; a legacy program that is called "
                          ".json is taken without parameters");
    else
        status = pdm_diag(sink, PDM_D_FILE_MISSING, &loc,
                          "name it with --params, or leave parameters out with --no-params",
                          "the parameter file cannot be found (nor __params__, params, or a file "
                          "for each parameter such as '%s')",
                          first);
    free(path);
    return status;
}

/* In a folder, unused parameters need no file: fill names with those that have one or are used. */
static pdm_status names_in_folder(declared_list *list, const char *folder, pdm_diag_sink *sink, size_t *out_count)
{
    pdm_loc loc = PDM_NOWHERE;
    size_t n = 0, found = 0;

    for (size_t i = 0; i < list->count; i++) {
        char *path = pdm_api_join(folder, list->items[i].name);
        if (!path)
            return PDM_NOMEM;
        const bool there = pdm_file_stat(path, NULL) == PDM_FILE_REGULAR;
        free(path);
        found += there;
        if (there || list->items[i].used) {
            list->names[n] = list->items[i].name;
            list->kinds[n++] = list->items[i].kind;
        }
    }
    *out_count = n;
    if (found > 0 || n < 2)
        return PDM_OK;
    /* Another folder was meant, or a file in this one: a line for each would hide that. */
    loc.file = folder;
    return pdm_diag(sink, PDM_D_FILE_MISSING, &loc, "if all are in one file, name that file",
                    "the folder holds none of the files of %zu parameters, such as '%s'", n, list->names[0]);
}

static pdm_status scan(pdm_model *model, declared_list *list, pdm_diag_sink *sink)
{
    const char *path = model->params_path;
    size_t count;

    if (pdm_file_stat(path, NULL) == PDM_FILE_FOLDER) {
        PDM_TRY(names_in_folder(list, path, sink, &count));
        PDM_TRY(
            pdm_params_scan_folder(&model->params, path, list->names, list->kinds, count, sink));
    } else {
        count = fill_names(list);
        PDM_TRY(
            pdm_params_scan_combined(&model->params, path, list->names, list->kinds, count, sink));
    }
    model->has_params = true;
    return compare_all(model, list, sink);
}

static const char *first_used(const declared_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].used)
            return list->items[i].name;
    }
    return NULL;
}

static pdm_status locate(pdm_model *model, const pdm_load_options *options, declared_list *list)
{
    char *path = NULL;

    if (options->params_path) {
        model->params_path =
            pdm_arena_strndup(&model->arena, options->params_path, strlen(options->params_path));
        return model->params_path ? PDM_OK : PDM_NOMEM;
    }
    if (list->count == 0)
        return PDM_OK;
    fill_names(list);
    PDM_TRY(pdm_api_find_params(model->path, list->names, list->count, &path));
    if (!path)
        return PDM_OK;
    model->params_path = pdm_arena_strndup(&model->arena, path, strlen(path));
    free(path);
    return model->params_path ? PDM_OK : PDM_NOMEM;
}

pdm_status pdm_api_load_params(pdm_model *model, const pdm_load_options *options,
                               pdm_diag_sink *sink)
{
    declared_list list;

    if (options->no_params)
        return PDM_OK;
    if (model->kind == PDM_MODEL_LEGACY)
        PDM_TRY(declared_by_legacy(model->legacy, &model->arena, &list));
    else
        PDM_TRY(declared_by_pir(model, &list));
    PDM_TRY(locate(model, options, &list));
    if (model->params_path)
        return scan(model, &list, sink);
    if (!first_used(&list)) {
        model->has_params = true; /* none are needed */
        return PDM_OK;
    }
    return not_found(model, first_used(&list), options->params_optional, sink);
}

static pdm_status copy_header(pdm_arena *arena, const pdm_param *p, const char *path,
                              pdm_param *out)
{
    *out = *p;
    out->name = pdm_arena_strndup(arena, p->name, strlen(p->name));
    out->dims = pdm_arena_memdup(arena, p->dims, p->rank * sizeof *p->dims);
    out->record = p->record ? pdm_arena_memdup(arena, p->record, (size_t)p->size) : NULL;
    out->path = path;
    return out->name && out->dims && (path || out->record) ? PDM_OK : PDM_NOMEM;
}

pdm_status pdm_api_params_subset(const pdm_params *params, const pdm_ir_constants *made,
                                 const char *const *names, size_t count, pdm_params *out)
{
    const char *last_path = NULL, *path_copy = NULL;
    size_t at = 0;
    pdm_arena *arena = &out->arena;

    out->items = pdm_arena_calloc(arena, count ? count : 1, sizeof *out->items);
    if (!out->items)
        return PDM_NOMEM;
    for (size_t i = 0; i < count; i++) {
        const pdm_tensor *tensor = made ? pdm_ir_constants_made(made, names[i]) : NULL;
        const pdm_param *p = tensor ? NULL : pdm_params_next(params, names[i], &at);
        if (!p && !tensor)
            return PDM_INTERNAL;
        /* All records of a combined file name it with one pointer. */
        if (p && p->path && p->path != last_path)
            path_copy = pdm_arena_strndup(arena, p->path, strlen(p->path));
        last_path = p && p->path ? p->path : last_path;
        PDM_TRY(tensor ? pdm_param_make(arena, names[i], tensor, &out->items[i])
                       : copy_header(arena, p, p->path ? path_copy : NULL, &out->items[i]));
        out->count++;
    }
    out->sorted = true;
    return PDM_OK;
}
