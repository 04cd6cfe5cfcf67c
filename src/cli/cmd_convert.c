/* pdmigrate MODEL -o OUT */
#include <inttypes.h>

#include "cli.h"

typedef struct conversion {
    pdm_model *from, *to;
    char *program, *params; /* what is written */
    bool with_params;
} conversion;

static pdm_status convert(pdm_context *context, const cli_options *options, conversion *c)
{
    const char *out = options->arg[OPT_OUTPUT];
    const pdm_load_options load = {.size = sizeof load,
                                   .params_path = options->arg[OPT_PARAMS],
                                   .no_params = options->has[OPT_NO_PARAMS]};
    const pdm_convert_options how = {.size = sizeof how,
                                     .pir_version = options->pir_version,
                                     .fetch = options->fetch,
                                     .num_fetch = options->num_fetch,
                                     .keep_quant_ops = options->has[OPT_KEEP_QUANT_OPS],
                                     .keep_version = options->has[OPT_KEEP_VERSION]};
    const pdm_write_options write = {.size = sizeof write,
                                     .overwrite = options->has[OPT_FORCE],
                                     .no_params = options->has[OPT_NO_PARAMS],
                                     .indent = options->has[OPT_INDENT]};
    pdm_status status = pdm_output_check(context, out, &write, &c->program, &c->params);

    if (status == PDM_OK)
        status = pdm_model_load(context, options->model, &load, &c->from);
    if (status == PDM_OK)
        status = pdm_model_convert(c->from, &how, &c->to);
    if (status == PDM_OK) {
        c->with_params = pdm_model_num_params(c->to) > 0 && !write.no_params;
        status = pdm_model_write(c->to, out, &write);
    }
    return status;
}

static void print_text(const conversion *c)
{
    const size_t params = pdm_model_num_params(c->to);

    printf("%s: %zu ops, PIR version %" PRId64 "\n", c->program, pdm_model_num_ops(c->to),
           pdm_model_version(c->to));
    if (!c->with_params)
        return;
    printf("%s: %zu parameter%s, ", c->params, params, params == 1 ? "" : "s");
    cli_print_bytes(stdout, cli_params_bytes(c->to));
    putchar('\n');
}

static void print_json(const conversion *c, const cli_options *options, bool done)
{
    fputs(", \"command\": \"convert\", \"model\": ", stdout);
    cli_json_string(stdout, c->from ? pdm_model_path(c->from) : options->model);
    if (!done) {
        fputs(", \"outputs\": null", stdout);
        return;
    }
    fputs(", \"outputs\": {\"program\": ", stdout);
    cli_json_string(stdout, c->program);
    fputs(", \"parameters\": ", stdout);
    cli_json_string(stdout, c->with_params ? c->params : NULL);
    printf("}, \"pir_version\": %" PRId64 ", \"ops\": {\"before\": %zu, \"after\": %zu}",
           pdm_model_version(c->to), pdm_model_num_ops(c->from), pdm_model_num_ops(c->to));
    printf(", \"parameters\": {\"count\": %zu, \"bytes\": %" PRIu64 "}",
           pdm_model_num_params(c->to), cli_params_bytes(c->to));
}

int cli_convert(pdm_context *context, const cli_options *options, cli_report *report)
{
    conversion c = {0};
    const pdm_status status = convert(context, options, &c);
    const int code = cli_failed(report, status);

    if (options->json) {
        cli_json_begin(code);
        print_json(&c, options, status == PDM_OK);
        cli_json_end(report);
    } else if (status == PDM_OK && !report->quiet) {
        print_text(&c);
    }
    pdm_model_destroy(c.to);
    pdm_model_destroy(c.from);
    pdm_free(c.program);
    pdm_free(c.params);
    return code;
}
