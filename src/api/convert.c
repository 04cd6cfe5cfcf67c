/* Conversion: legacy to PIR, or PIR checked and brought to a form that Paddle 3.x loads. */
#include "api/api.h"

#include <string.h>

#include "translator/translate.h"

enum { DEFAULT_VERSION = 1 };

static pdm_status usage(pdm_diag_sink *sink, const char *file, const char *message)
{
    pdm_loc loc = PDM_NOWHERE;

    loc.file = file;
    return pdm_diag(sink, PDM_D_USAGE, &loc, NULL, "%s", message);
}

static pdm_status check_options(const pdm_model *model, const pdm_convert_options *options,
                                pdm_diag_sink *sink)
{
    if (options->pir_version < 0 || options->pir_version > PDM_IR_NEWEST_VERSION)
        return usage(sink, NULL, "the PIR version is a number from 1 to 4");
    if (options->num_fetch > 0 && !options->fetch)
        return PDM_INVALID_ARG;
    if (model->kind == PDM_MODEL_PIR && options->num_fetch > 0)
        return usage(sink, model->path,
                     "outputs can be chosen only for a legacy program, and this "
                     "one is PIR");
    if (model->kind == PDM_MODEL_LEGACY && options->keep_version)
        return usage(sink, model->path, "there is no PIR version to keep in a legacy program");
    if (options->keep_version && (options->optimize || options->passes))
        return usage(sink, model->path,
                     "to keep the PIR version and to optimize exclude each other");
    if (options->keep_version && options->pir_version)
        return usage(sink, NULL, "to keep the PIR version and to ask for one exclude each other");
    return PDM_OK;
}

/* ---- legacy ---------------------------------------------------------------------------------- */

/* A program that we made. */
typedef struct own_program {
    const char *what;
    pdm_diag_sink *sink;
} own_program;

static void as_internal(void *user, const pdm_diagnostic *d)
{
    const own_program *own = user;
    pdm_loc loc = PDM_NOWHERE;

    if (d->severity != PDM_ERROR)
        return;
    loc.file = d->file;
    loc.block = d->block;
    loc.op_index = d->op_index;
    loc.op_type = d->op_type;
    loc.var = d->var;
    (void)pdm_diag(own->sink, PDM_D_INTERNAL, &loc, "please report this with the model",
                   "%s breaks a rule: %s", own->what, d->message);
}

/* What breaks a rule after a translation that went well is our fault, not the model's. */
static pdm_status verify_own(const pdm_ir_module *module, const char *what, pdm_diag_sink *sink)
{
    own_program own = {what, sink};
    pdm_diag_sink inner = {.fn = as_internal, .user = &own};
    const pdm_status status = pdm_ir_verify(module, &inner);

    return status == PDM_OK || status == PDM_NOMEM ? status : PDM_INTERNAL;
}

static pdm_status translate(const pdm_model *model, const pdm_convert_options *options,
                            pdm_diag_sink *sink, pdm_ir_module **out_module)
{
    const pdm_tr_options tr = {
        .fetch = options->fetch,
        .num_fetch = options->num_fetch,
        .keep_quant_ops = options->keep_quant_ops,
        .pir_version = options->pir_version ? options->pir_version : DEFAULT_VERSION,
        .params = model->has_params ? &model->params : NULL,
    };
    pdm_status status = pdm_tr_translate(model->context->ir, model->context->schemas, model->legacy,
                                         &tr, sink, out_module);

    /* Told together with what else is wrong. A program that is not for inference has no outputs
     * anyway. */
    if (status != PDM_OK && status != PDM_INVALID_MODEL)
        return status;
    if (model->outputs.count == 0 && options->num_fetch == 0) {
        pdm_loc loc = PDM_NOWHERE;
        loc.file = model->path;
        if (status == PDM_OK)
            pdm_ir_module_destroy(*out_module);
        *out_module = NULL;
        return pdm_diag(sink, PDM_D_LG_NO_OUTPUT, &loc, "name the outputs with --fetch NAME,...",
                        "the program has no output: it has no fetch op");
    }
    if (status == PDM_OK) {
        status = verify_own(*out_module, "the translated program", sink);
        if (status != PDM_OK) {
            pdm_ir_module_destroy(*out_module);
            *out_module = NULL;
        }
    }
    return status;
}

/* ---- PIR ------------------------------------------------------------------------------------- */

static bool set_flag(pdm_ir_context *context, pdm_ir_op *op, const char *name, bool value)
{
    pdm_ir_attr attr;

    if (pdm_ir_op_attr(op, name))
        return true;
    attr = pdm_ir_attr_bools(context, &value, 1);
    return attr && pdm_ir_op_set_attr(context, op, name, attr);
}

/* Paddle 3.x cannot load the parameters of a program that was saved without these. */
static pdm_status complete_parameter(void *user, pdm_ir_op *op)
{
    pdm_ir_context *context = user;

    if (!PDM_IR_IS(op, builtin, parameter))
        return PDM_OK;
    return set_flag(context, op, "persistable", true) &&
                   set_flag(context, op, "stop_gradient", false) &&
                   set_flag(context, op, "trainable", true)
               ? PDM_OK
               : PDM_NOMEM;
}

static pdm_status normalise(const pdm_model *model, const pdm_convert_options *options,
                            pdm_diag_sink *sink, pdm_ir_module **out_module)
{
    pdm_ir_module *module;
    pdm_status status;

    PDM_TRY(pdm_ir_verify(model->pir, sink));
    PDM_TRY(pdm_ir_module_clone(model->pir, &module));
    if (!options->keep_version) {
        module->trainable = true;
        PDM_TRY_GOTO(
            pdm_ir_walk(module->op, PDM_IR_PRE_ORDER, complete_parameter, module->context));
    }
    *out_module = module;
    return PDM_OK;
done:
    pdm_ir_module_destroy(module);
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The parameters that the new program has, from the headers of the old one's. */
static pdm_status take_params(const pdm_model *from, const pdm_ir_constants *made, pdm_model *to,
                              pdm_diag_sink *sink)
{
    const pdm_api_module_param_list *used;
    size_t at = 0;
    pdm_loc loc = PDM_NOWHERE;

    PDM_TRY(pdm_api_module_params(to, &used));
    if (!from->has_params)
        return PDM_OK;
    for (size_t i = 0; i < used->count; i++) {
        if (pdm_params_next(&from->params, used->names[i], &at) ||
            pdm_ir_constants_made(made, used->names[i]))
            continue;
        loc.file = from->params_path;
        loc.var = used->names[i];
        return pdm_diag(sink, PDM_D_INTERNAL, &loc, "please report this with the model",
                        "the program uses parameter '%s', which was not read", loc.var);
    }
    PDM_TRY(pdm_api_params_subset(&from->params, made, used->names, used->count, &to->params));
    to->has_params = true;
    if (used->count > 0 && from->params_path) {
        to->params_path =
            pdm_arena_strndup(&to->arena, from->params_path, strlen(from->params_path));
        return to->params_path ? PDM_OK : PDM_NOMEM;
    }
    return PDM_OK;
}

/* Passes see the newest version, whatever is written. */
static pdm_status optimize(const pdm_model *from, const pdm_convert_options *options, pdm_model *to,
                           pdm_ir_constants *constants, pdm_diag_sink *sink)
{
    PDM_TRY(pdm_ir_module_set_version(to->pir, PDM_IR_NEWEST_VERSION, sink));
    PDM_TRY(pdm_api_optimize(from, options, to->pir, constants, sink));
    return verify_own(to->pir, "the optimized program", sink);
}

static pdm_status make(const pdm_model *from, const pdm_convert_options *options, bool passes,
                       pdm_ir_constants *constants, pdm_model *to, pdm_diag_sink *sink)
{
    if (from->kind == PDM_MODEL_LEGACY)
        PDM_TRY(translate(from, options, sink, &to->pir));
    else
        PDM_TRY(normalise(from, options, sink, &to->pir));
    PDM_TRY(pdm_api_check_cancel(from->context));
    if (passes)
        PDM_TRY(optimize(from, options, to, constants, sink));
    if (options->keep_version)
        to->layout = from->layout;
    else
        PDM_TRY(pdm_ir_module_set_version(
            to->pir, options->pir_version ? options->pir_version : DEFAULT_VERSION, sink));
    PDM_TRY(take_params(from, constants, to, sink));
    return pdm_api_model_index(to);
}

pdm_status pdm_model_convert(const pdm_model *model, const pdm_convert_options *options,
                             pdm_model **out_model)
{
    pdm_convert_options given = {0};
    pdm_ir_constants constants;
    pdm_model *to;
    pdm_status status;
    bool passes;

    if (!model || !out_model)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    pdm_diag_sink sink = pdm_api_sink(model->context);
    PDM_TRY(check_options(model, &given, &sink));
    PDM_TRY(pdm_api_check_passes(&given, &sink, &passes));
    to = pdm_api_model_create(model->context, PDM_MODEL_PIR, model->path);
    if (!to)
        return PDM_NOMEM;
    pdm_ir_constants_init(&constants);
    status = make(model, &given, passes, &constants, to, &sink);
    pdm_ir_constants_deinit(&constants);
    if (status != PDM_OK) {
        pdm_model_destroy(to);
        return status;
    }
    *out_model = to;
    return PDM_OK;
}
