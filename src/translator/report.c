/* Reports at the op being translated. */
#include <stdarg.h>
#include <stdio.h>

#include "translator/tr.h"

static pdm_loc place_of(const pdm_tr_op *t, const char *var)
{
    return (pdm_loc){t->tr->program->path,       -1, -1, -1, t->block, t->index,
                     t->op ? t->op->type : NULL, var};
}

void pdm_tr_error(pdm_tr_op *t, pdm_diag_code code, const char *var, const char *hint,
                  const char *format, ...)
{
    char text[512];
    va_list args;
    pdm_loc loc = place_of(t, var);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pdm_diag(t->tr->sink, code, &loc, hint, "%s", text);
    t->failed = true;
}

void pdm_tr_warn(pdm_tr_op *t, const char *var, const char *format, ...)
{
    char text[512];
    va_list args;
    pdm_loc loc = place_of(t, var);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pdm_diag(t->tr->sink, PDM_D_LG_WARN, &loc, NULL, "%s", text);
}

void pdm_tr_unsupported(pdm_tr_op *t, const char *var, const char *format, ...)
{
    char text[512];
    va_list args;
    pdm_loc loc = place_of(t, var);
    if (t->failed)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pdm_diag(t->tr->sink, t->tr->options->allow_legacy ? PDM_D_LG_KEPT : PDM_D_LG_FEATURE, &loc,
             NULL, "%s", text);
    t->failed = true;
}
