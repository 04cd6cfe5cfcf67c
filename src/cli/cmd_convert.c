/* pdmigrate MODEL -o OUT */
#include <inttypes.h>
#include <stdlib.h>

#include "cli.h"

typedef struct conversion {
    pdm_model *from, *to;
    char *program, *params; /* what is written */
    bool with_params;
    FILE *passes; /* what they did: rows of a table, or JSON; in memory */
    char *passes_text;
    size_t passes_size, num_passes;
    bool json;
} conversion;

/* ---- passes ---------------------------------------------------------------------------------- */

static void print_hits(FILE *out, const pdm_pass_info *info)
{
    for (size_t i = 0; i < info->num_hits; i++)
        fprintf(out, "%s%s %zu", i ? ", " : "  ", info->hits[i].name, info->hits[i].count);
}

static void json_pass(FILE *out, const pdm_pass_info *info)
{
    fputs("{\"name\": ", out);
    cli_json_string(out, info->name);
    fprintf(out, ", \"ops\": {\"before\": %zu, \"after\": %zu}, \"ms\": %.3f, \"bytes\": %llu, \"hits\": {",
            info->ops_before, info->ops_after, (double)info->nanoseconds / 1e6,
            (unsigned long long)info->bytes);
    for (size_t i = 0; i < info->num_hits; i++) {
        fputs(i ? ", " : "", out);
        cli_json_string(out, info->hits[i].name);
        fprintf(out, ": %zu", info->hits[i].count);
    }
    fputs("}}", out);
}

static void pass_done(void *user, const pdm_pass_info *info)
{
    conversion *c = user;

    if (info->text_before)
        printf("; before %s\n%s\n", info->name, info->text_before);
    if (info->text)
        printf("; after %s\n%s\n", info->name, info->text);
    if (!c->passes)
        return;
    if (c->json) {
        fputs(c->num_passes ? ", " : "", c->passes);
        json_pass(c->passes, info);
    } else {
        fprintf(c->passes, "%-10s %6zu %6zu %8.2f %8.1f", info->name, info->ops_before, info->ops_after,
                (double)info->nanoseconds / 1e6, (double)info->bytes / 1024);
        print_hits(c->passes, info);
        fputc('\n', c->passes);
    }
    c->num_passes++;
}

/* What was gathered is complete, also after a failure. */
static void end_passes(conversion *c)
{
    if (c->passes)
        fclose(c->passes);
    c->passes = NULL;
}

/* ---- the conversion -------------------------------------------------------------------------- */

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
                                     .keep_version = options->has[OPT_KEEP_VERSION],
                                     .optimize = options->optimize,
                                     .passes = options->arg[OPT_PASSES],
                                     .verify_each = options->has[OPT_VERIFY_EACH],
                                     .print_after = options->arg[OPT_PRINT_AFTER],
                                     .print_before = options->arg[OPT_PRINT_BEFORE],
                                     .on_pass = pass_done,
                                     .user = c};
    const pdm_write_options write = {.size = sizeof write,
                                     .overwrite = options->has[OPT_FORCE],
                                     .no_params = options->has[OPT_NO_PARAMS],
                                     .indent = options->has[OPT_INDENT]};
    pdm_status status = pdm_output_check(context, out, &write, &c->program, &c->params);

    if (options->has[OPT_PASS_STATS])
        c->passes = open_memstream(&c->passes_text, &c->passes_size);
    c->json = options->json;
    if (status == PDM_OK && options->has[OPT_PASS_STATS] && !c->passes)
        status = PDM_NOMEM;
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

    if (c->num_passes > 0)
        printf("%-10s %6s %6s %8s %8s  %s\n%s", "pass", "ops", "then", "ms", "KiB", "what it did", c->passes_text);
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
    fputs(", \"model\": ", stdout);
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
    if (options->has[OPT_PASS_STATS])
        printf(", \"passes\": [%s]", c->passes_text);
}

int cli_convert(pdm_context *context, const cli_options *options, cli_report *report)
{
    conversion c = {0};
    const pdm_status status = convert(context, options, &c);
    const int code = cli_failed(report, status);

    end_passes(&c);
    if (options->json) {
        cli_json_begin(code, "");
        print_json(&c, options, status == PDM_OK);
        cli_json_end(report);
    } else if (status == PDM_OK && !report->quiet) {
        print_text(&c);
    }
    pdm_model_destroy(c.to);
    pdm_model_destroy(c.from);
    pdm_free(c.program);
    pdm_free(c.params);
    free(c.passes_text);
    return code;
}
