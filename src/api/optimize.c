/* Passes over a converted program: which ones, what they are lent, and what is told of them. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "exec/constants.h"
#include "ir/pass.h"
#include "ir/text.h"

pdm_status pdm_pass_get(size_t index, const char **out_name, const char **out_summary)
{
    const pdm_ir_pass *pass = pdm_ir_pass_at(index);

    if (!pass || !out_name || !out_summary)
        return PDM_INVALID_ARG;
    *out_name = pass->name;
    *out_summary = pass->summary;
    return PDM_OK;
}

static const char *list_of(const pdm_convert_options *options)
{
    return options->passes ? options->passes : pdm_ir_pass_list(options->optimize);
}

/* Whether a list, names with commas, has a name. */
static bool has_name(const char *list, const char *name)
{
    const size_t len = strlen(name);

    while (list && *list) {
        const size_t n = strcspn(list, ",");
        if (n == len && memcmp(list, name, len) == 0)
            return true;
        list += n + (list[n] == ',');
    }
    return false;
}

pdm_status pdm_api_check_passes(const pdm_convert_options *options, pdm_diag_sink *sink,
                                bool *out_any)
{
    const char *list = list_of(options);

    if (!list)
        return pdm_diag(sink, PDM_D_USAGE, NULL, NULL, "the level of optimization is 0, 1 or 2");
    PDM_TRY(pdm_ir_pass_check_list(list, sink));
    if (options->print_after && !has_name(options->print_after, "all"))
        PDM_TRY(pdm_ir_pass_check_list(options->print_after, sink));
    *out_any = *list != '\0';
    return PDM_OK;
}

typedef struct told {
    const pdm_model *from;
    const pdm_convert_options *options;
} told;

static bool is_printed(const pdm_convert_options *options, const char *name)
{
    return has_name(options->print_after, "all") || has_name(options->print_after, name);
}

static pdm_status tell(const told *t, const pdm_ir_pass_stats *stats, const char *text)
{
    pdm_pass_hit *hits = calloc(stats->hits.n + 1, sizeof *hits);
    pdm_pass_info info = {.name = stats->pass->name,
                          .ops_before = stats->ops_before,
                          .ops_after = stats->ops_after,
                          .nanoseconds = stats->nanoseconds,
                          .bytes = stats->bytes,
                          .hits = hits,
                          .num_hits = stats->hits.n,
                          .text = text};

    if (!hits)
        return PDM_NOMEM;
    for (size_t i = 0; i < stats->hits.n; i++)
        hits[i] = (pdm_pass_hit){stats->hits.v[i].name, stats->hits.v[i].count};
    t->options->on_pass(t->options->user, &info);
    free(hits);
    return PDM_OK;
}

static pdm_status after(void *user, const pdm_ir_pass_stats *stats, const pdm_ir_module *module)
{
    const told *t = user;
    pdm_status status = PDM_OK;
    pdm_buf text;

    PDM_TRY(pdm_api_check_cancel(t->from->context));
    if (!t->options->on_pass)
        return PDM_OK;
    pdm_buf_init(&text);
    const bool printed = is_printed(t->options, stats->pass->name);
    if (printed)
        pdm_ir_print(module, &text);
    if (!pdm_buf_ok(&text))
        status = PDM_NOMEM;
    if (status == PDM_OK)
        status = tell(t, stats, printed ? text.data : NULL);
    pdm_buf_deinit(&text);
    return status;
}

pdm_status pdm_api_optimize(const pdm_model *from, const pdm_convert_options *options,
                            pdm_ir_module *module, pdm_ir_constants *constants, pdm_diag_sink *sink)
{
    told t = {from, options};
    pdm_exec_constants source;

    pdm_exec_constants_init(&source, &from->params, sink);
    /* Without the file of parameters, none can be added to it. */
    const pdm_ir_pass_options how = {.source = from->has_params ? &source.source : NULL,
                                     .verify = options->verify_each,
                                     .after = after,
                                     .user = &t};
    const pdm_status status =
        pdm_ir_pass_run_list(module, list_of(options), &how, constants, sink);
    pdm_exec_constants_deinit(&source);
    return status;
}
