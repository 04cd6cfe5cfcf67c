/* Contexts, and what belongs to no object. */
#include "api/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pdm_status pdm_context_create(const pdm_context_options *options, pdm_context **out_context)
{
    pdm_context_options given = {0};
    pdm_context *context;
    pdm_status status;

    if (!out_context)
        return PDM_INVALID_ARG;
    PDM_API_OPTIONS(given, options);
    context = calloc(1, sizeof *context);
    if (!context)
        return PDM_NOMEM;
    context->sink.fn = given.on_diagnostic;
    context->sink.user = given.user;
    context->sink.verbose = given.verbose;
    context->cancelled = given.cancelled;
    context->user = given.user;
    PDM_TRY_GOTO(pdm_ir_context_create(&context->ir));
    PDM_TRY_GOTO(pdm_lg_schemas_create(&context->schemas));
    *out_context = context;
    return PDM_OK;
done:
    pdm_context_destroy(context);
    return status;
}

void pdm_context_destroy(pdm_context *context)
{
    if (!context)
        return;
    if (context->schemas)
        pdm_lg_schemas_destroy(context->schemas);
    if (context->ir)
        pdm_ir_context_destroy(context->ir);
    free(context);
}

pdm_diag_sink pdm_api_sink(const pdm_context *context)
{
    return context->sink;
}

void pdm_api_note(pdm_diag_sink *sink, pdm_diag_code code, const char *file, const char *hint,
                  const char *format, ...)
{
    char text[1024];
    pdm_diag_sink loud = *sink;
    pdm_loc loc = PDM_NOWHERE;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    loud.verbose = true;
    loc.file = file;
    (void)pdm_diag(&loud, code, &loc, hint, "%s", text);
}

pdm_status pdm_api_check_cancel(const pdm_context *context)
{
    return context->cancelled && context->cancelled(context->user) ? PDM_CANCELLED : PDM_OK;
}

const char *pdm_version(void)
{
    return PACKAGE_VERSION;
}

void pdm_free(void *memory)
{
    free(memory);
}
