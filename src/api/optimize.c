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
    const char *const printed[] = {options->print_before, options->print_after};
    for (size_t i = 0; i < 2; i++) {
        if (printed[i] && !has_name(printed[i], "all"))
            PDM_TRY(pdm_ir_pass_check_list(printed[i], sink));
    }
    *out_any = *list != '\0';
    return PDM_OK;
}

typedef struct told {
    const pdm_model *from;
    const pdm_convert_options *options;
    pdm_buf text_before, text_after;
} told;

/* The program, if list has the pass; nothing if not. */
static pdm_status print(const told *t, const char *list, const char *pass, const pdm_ir_module *module, pdm_buf *buf)
{
    buf->size = 0;
    if (!t->options->on_pass || !(has_name(list, "all") || has_name(list, pass)))
        return PDM_OK;
    pdm_ir_print(module, buf);
    return pdm_buf_ok(buf) ? PDM_OK : PDM_NOMEM;
}

static const char *text_of(const pdm_buf *buf)
{
    return buf->size ? buf->data : NULL;
}

static pdm_status tell(const told *t, const pdm_ir_pass_stats *stats)
{
    pdm_pass_hit *hits = calloc(stats->hits.n + 1, sizeof *hits);
    pdm_pass_info info = {.name = stats->pass->name,
                          .ops_before = stats->ops_before,
                          .ops_after = stats->ops_after,
                          .nanoseconds = stats->nanoseconds,
                          .bytes = stats->bytes,
                          .hits = hits,
                          .num_hits = stats->hits.n,
                          .text = text_of(&t->text_after),
                          .text_before = text_of(&t->text_before)};

    if (!hits)
        return PDM_NOMEM;
    for (size_t i = 0; i < stats->hits.n; i++)
        hits[i] = (pdm_pass_hit){stats->hits.v[i].name, stats->hits.v[i].count};
    t->options->on_pass(t->options->user, &info);
    free(hits);
    return PDM_OK;
}

static pdm_status before(void *user, const pdm_ir_pass *pass, const pdm_ir_module *module)
{
    told *t = user;

    return print(t, t->options->print_before, pass->name, module, &t->text_before);
}

static pdm_status after(void *user, const pdm_ir_pass_stats *stats, const pdm_ir_module *module)
{
    told *t = user;

    PDM_TRY(pdm_api_check_cancel(t->from->context));
    PDM_TRY(print(t, t->options->print_after, stats->pass->name, module, &t->text_after));
    return t->options->on_pass ? tell(t, stats) : PDM_OK;
}

pdm_status pdm_api_optimize(const pdm_model *from, const pdm_convert_options *options,
                            pdm_ir_module *module, pdm_ir_constants *constants, pdm_diag_sink *sink)
{
    told t = {.from = from, .options = options};
    pdm_exec_constants source;

    pdm_buf_init(&t.text_before);
    pdm_buf_init(&t.text_after);
    pdm_exec_constants_init(&source, &from->params, sink);
    /* Without the file of parameters, none can be added to it. */
    const pdm_ir_pass_options how = {.source = from->has_params ? &source.source : NULL,
                                     .verify = options->verify_each,
                                     .before = before,
                                     .after = after,
                                     .user = &t};
    const pdm_status status =
        pdm_ir_pass_run_list(module, list_of(options), &how, constants, sink);
    pdm_exec_constants_deinit(&source);
    pdm_buf_deinit(&t.text_before);
    pdm_buf_deinit(&t.text_after);
    return status;
}
