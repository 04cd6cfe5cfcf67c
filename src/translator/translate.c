/* The driver: from a program to a module, op by op. */
#include "translator/translate.h"

#include <string.h>

#include "translator/io.h"
#include "translator/legacy_op.h"
#include "translator/map.h"

typedef struct handler {
    const char *type;
    pdm_tr_handler fn;
    pdm_tr_coverage coverage;
} handler;

static const handler handlers[] = {
#define SPECIAL                              PDM_TR_SPECIAL
#define EXPRESSED                            PDM_TR_EXPRESSED
#define PDM_TR_HANDLER(type, name, coverage) {type, pdm_tr_h_##name, coverage},
#include "translator/handlers.def"
#undef PDM_TR_HANDLER
#undef SPECIAL
#undef EXPRESSED
};

static const handler *find_handler(const char *type)
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (strcmp(handlers[i].type, type) == 0)
            return &handlers[i];
    return NULL;
}

/* ---- coverage -------------------------------------------------------------------------------- */

static const struct {
    const char *type, *reason;
} unsupported_ops[] = {
#define PDM_TR_UNSUPPORTED_OP(type, reason) {type, reason},
#include "translator/unsupported.def"
#undef PDM_TR_UNSUPPORTED_OP
    {NULL, NULL},
};

static const char *const training_ops[] = {
#define PDM_TR_TRAINING_OP(type) type,
#include "translator/training.def"
#undef PDM_TR_TRAINING_OP
    NULL,
};

static bool is_training(const char *type)
{
    size_t n = strlen(type);
    if (n > 5 && strcmp(type + n - 5, "_grad") == 0)
        return true;
    for (size_t i = 0; training_ops[i]; i++)
        if (strcmp(training_ops[i], type) == 0)
            return true;
    return false;
}

pdm_tr_coverage pdm_tr_coverage_of(const char *type, const char **out_reason)
{
    const handler *h = find_handler(type);
    const char *reason = "PIR has no such op";
    if (is_training(type))
        return PDM_TR_TRAINING;
    if (h)
        return h->coverage;
    if (pdm_tr_row_exists(type))
        return PDM_TR_PLAIN;
    for (size_t i = 0; unsupported_ops[i].type; i++)
        if (strcmp(unsupported_ops[i].type, type) == 0)
            reason = unsupported_ops[i].reason;
    if (out_reason)
        *out_reason = reason;
    return pdm_lg_schema_exists(type) ? PDM_TR_UNSUPPORTED : PDM_TR_UNKNOWN;
}

/* ---- one op ---------------------------------------------------------------------------------- */

static void report_untranslatable(pdm_tr_op *t)
{
    const char *type = t->op->type, *reason = NULL;
    pdm_tr *tr = t->tr;
    switch (pdm_tr_coverage_of(type, &reason)) {
    case PDM_TR_TRAINING:
        pdm_tr_error(
            t, PDM_D_LG_TRAINING, NULL,
            "export the model for inference (save_inference_model, jit.save) and convert that",
            "'%s' is a training op", type);
        break;
    case PDM_TR_UNKNOWN:
        pdm_tr_error(t, PDM_D_LG_OP_UNKNOWN, NULL, NULL, "op type '%s' is not known", type);
        break;
    default:
        if (tr->options->allow_legacy)
            pdm_tr_unsupported(t, NULL, "'%s' stays a legacy op: %s", type, reason);
        else
            pdm_tr_error(t, PDM_D_LG_OP_UNSUPPORTED, NULL, NULL,
                         "'%s' cannot be expressed in PIR: %s", type, reason);
    }
}

typedef struct resolved {
    const handler *special;
    const pdm_lg_schema *schema;
    bool row;
} resolved;

static const resolved *resolve(pdm_tr *tr, const char *type)
{
    pdm_map_entry *e = pdm_map_find(&tr->resolved, type);
    if (e)
        return e->value.ptr;
    resolved *r = pdm_arena_calloc(&tr->scratch, 1, sizeof *r);
    if (r && pdm_lg_schema_get(tr->schemas, type, &r->schema) == PDM_OK)
        e = pdm_map_put(&tr->resolved, type);
    if (!e) {
        pdm_tr_nomem(tr);
        return NULL;
    }
    if (!is_training(type)) {
        r->special = find_handler(type);
        r->row = pdm_tr_row_exists(type);
    }
    e->value.ptr = r;
    return r;
}

static void translate_op(pdm_tr_op *t)
{
    pdm_tr *tr = t->tr;
    const resolved *r = resolve(tr, t->op->type);
    if (!r)
        return;
    t->schema = r->schema;
    if (r->special)
        r->special->fn(t);
    else if (r->row)
        pdm_tr_generic(t);
    else
        report_untranslatable(t);
    /* Go on with placeholders, so that all problems of the model are told at once. */
    if (t->failed && tr->status == PDM_OK)
        pdm_tr_emit_legacy(t);
}

void pdm_tr_block(pdm_tr *tr, int32_t lg_block)
{
    const pdm_lg_block *b = &tr->program->blocks[lg_block];
    for (size_t i = 0; i < b->num_ops && tr->status == PDM_OK; i++) {
        pdm_tr_op t = {.tr = tr, .op = &b->ops[i], .block = lg_block, .index = (int32_t)i};
        translate_op(&t);
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

static pdm_status outcome(const pdm_tr *tr, const pdm_diag_sink *before)
{
    const pdm_diag_sink *now = tr->sink;
    if (tr->status != PDM_OK)
        return tr->status;
    if (now->num_errors == before->num_errors)
        return PDM_OK;
    if (now->num_invalid > before->num_invalid)
        return PDM_INVALID_MODEL;
    if (now->num_unsupported > before->num_unsupported)
        return PDM_UNSUPPORTED;
    return now->worst != PDM_OK ? now->worst : PDM_INTERNAL;
}

static void deinit(pdm_tr *tr)
{
    pdm_map_deinit(&tr->rows);
    pdm_map_deinit(&tr->resolved);
    pdm_map_deinit(&tr->in_place);
    pdm_map_deinit(&tr->outputs);
    pdm_map_deinit(&tr->feeds);
    pdm_map_deinit(&tr->fetches);
    pdm_map_deinit(&tr->parameters);
    pdm_map_deinit(&tr->storage);
    pdm_arena_deinit(&tr->scratch);
}

pdm_status pdm_tr_translate(pdm_ir_context *context, pdm_lg_schemas *schemas,
                            const pdm_lg_program *program, const pdm_tr_options *options,
                            pdm_diag_sink *sink, pdm_ir_module **out_module)
{
    static const pdm_tr_options no_options;
    pdm_diag_sink own = {0};
    pdm_tr tr = {.context = context,
                 .schemas = schemas,
                 .program = program,
                 .options = options ? options : &no_options,
                 .sink = sink ? sink : &own};
    pdm_diag_sink before = *tr.sink;
    pdm_tr_scope scope;
    PDM_TRY(pdm_ir_module_create(context, &tr.module));
    pdm_arena_init(&tr.scratch);
    tr.has_sub_blocks = program->num_blocks > 1;
    pdm_tr_scope_push(&tr, &scope, tr.module->block, 0, false);
    /* Nearly every variable gets a value. */
    if (!pdm_map_reserve(&scope.names, program->blocks[0].num_vars) ||
        !pdm_map_reserve(&tr.outputs, program->blocks[0].num_ops))
        pdm_tr_nomem(&tr);
    pdm_tr_flow_prepare(&tr);
    if (tr.status == PDM_OK)
        pdm_tr_io_prepare(&tr);
    pdm_tr_block(&tr, 0);
    if (tr.status == PDM_OK)
        pdm_tr_io_finish(&tr);
    pdm_tr_flow_finish(&tr);
    pdm_tr_scope_pop(&tr);
    pdm_status status = outcome(&tr, &before);
    deinit(&tr);
    if (status != PDM_OK) {
        pdm_ir_module_destroy(tr.module);
        return status;
    }
    *out_module = tr.module;
    return PDM_OK;
}
