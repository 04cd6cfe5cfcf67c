/* pdmigrate show MODEL */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- the histogram of ops -------------------------------------------------------------------- */

typedef struct op_count {
    const char *type; /* of the model */
    size_t count;
} op_count;

typedef struct histogram {
    op_count *items; /* one an op at first, then one a type */
    size_t count;
} histogram;

static void take_op(void *user, const char *type, int depth)
{
    histogram *h = user;

    (void)depth;
    h->items[h->count++] = (op_count){type, 1};
}

static int by_type(const void *a, const void *b)
{
    return strcmp(((const op_count *)a)->type, ((const op_count *)b)->type);
}

static int by_count(const void *a, const void *b)
{
    const op_count *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return by_type(a, b);
}

static pdm_status count_ops(const pdm_model *model, histogram *h)
{
    size_t n = 0;
    const size_t ops = pdm_model_num_ops(model);

    h->items = calloc(ops ? ops : 1, sizeof *h->items);
    if (!h->items)
        return PDM_NOMEM;
    pdm_model_each_op(model, take_op, h);
    qsort(h->items, h->count, sizeof *h->items, by_type);
    for (size_t i = 0; i < h->count; i++) {
        if (n > 0 && !strcmp(h->items[n - 1].type, h->items[i].type))
            h->items[n - 1].count++;
        else
            h->items[n++] = h->items[i];
    }
    h->count = n;
    qsort(h->items, h->count, sizeof *h->items, by_count);
    return PDM_OK;
}

static void ops_text(const histogram *h)
{
    for (size_t i = 0; i < h->count; i++)
        printf("%6zu  %s\n", h->items[i].count, h->items[i].type);
}

static void ops_json(const histogram *h)
{
    fputs(", \"op_types\": {", stdout);
    for (size_t i = 0; i < h->count; i++) {
        fputs(i ? ", " : "", stdout);
        cli_json_string(stdout, h->items[i].type);
        printf(": %zu", h->items[i].count);
    }
    putchar('}');
}

/* ---- the summary ----------------------------------------------------------------------------- */

typedef pdm_status (*info_fn)(const pdm_model *, size_t, pdm_tensor_info *);

static void version_text(const pdm_model *model, char *out, size_t size)
{
    const int64_t v = pdm_model_version(model);

    if (pdm_model_get_kind(model) == PDM_MODEL_PIR)
        snprintf(out, size, "PIR version %" PRId64, v);
    else if (v <= 0)
        snprintf(out, size, "Paddle version not told");
    else
        snprintf(out, size, "Paddle %" PRId64 ".%" PRId64 ".%" PRId64, v / 1000000, v / 1000 % 1000,
                 v % 1000);
}

static void tensors_text(const char *label, const pdm_model *model, size_t count, info_fn get)
{
    pdm_tensor_info info;

    if (count == 0)
        printf("%-12snone\n", label);
    for (size_t i = 0; i < count; i++) {
        if (get(model, i, &info) != PDM_OK)
            continue;
        printf("%-12s%s: %s[", i ? "" : label, info.name, info.dtype);
        for (size_t d = 0; d < info.rank; d++)
            printf("%s%" PRId64, d ? ", " : "", info.dims[d]);
        puts("]");
    }
}

static void summary_text(const pdm_model *model)
{
    char version[80];
    const char *params_path = pdm_model_params_path(model);
    const bool legacy = pdm_model_get_kind(model) == PDM_MODEL_LEGACY;

    version_text(model, version, sizeof version);
    printf("%-12s%s\n", "model", pdm_model_path(model));
    printf("%-12s%s (%s)\n", "kind", legacy ? "legacy program" : "PIR program", version);
    tensors_text("inputs", model, pdm_model_num_inputs(model), pdm_model_input);
    tensors_text("outputs", model, pdm_model_num_outputs(model), pdm_model_output);
    printf("%-12s%zu", "parameters", pdm_model_num_params(model));
    if (params_path) {
        fputs(", ", stdout);
        cli_print_bytes(stdout, cli_params_bytes(model));
        printf(" in %s", params_path);
    }
    printf("\n%-12s%zu\n%-12s%zu\n", "blocks", pdm_model_num_blocks(model), "ops",
           pdm_model_num_ops(model));
}

static void tensors_json(const char *key, const pdm_model *model, size_t count, info_fn get)
{
    pdm_tensor_info info;

    printf(", \"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        if (get(model, i, &info) != PDM_OK)
            continue;
        fputs(i ? ", " : "", stdout);
        cli_json_tensor(stdout, &info);
    }
    putchar(']');
}

static void summary_json(const pdm_model *model)
{
    char version[80];

    version_text(model, version, sizeof version);
    fputs(", \"model\": ", stdout);
    cli_json_string(stdout, pdm_model_path(model));
    printf(", \"kind\": \"%s\", \"version\": \"%s\"",
           pdm_model_get_kind(model) == PDM_MODEL_LEGACY ? "legacy" : "pir", version);
    tensors_json("inputs", model, pdm_model_num_inputs(model), pdm_model_input);
    tensors_json("outputs", model, pdm_model_num_outputs(model), pdm_model_output);
    printf(", \"parameters\": {\"count\": %zu, \"bytes\": %" PRIu64 ", \"file\": ",
           pdm_model_num_params(model), cli_params_bytes(model));
    cli_json_string(stdout, pdm_model_params_path(model));
    printf("}, \"blocks\": %zu, \"ops\": %zu", pdm_model_num_blocks(model),
           pdm_model_num_ops(model));
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What is to be printed, gathered first, so that a failure prints nothing. */
typedef struct view {
    pdm_model *model;
    char *text;
    size_t size; /* of the text */
    histogram ops;
} view;

/* Options that print the program as a text of its own. */
typedef struct text_view {
    int option;
    pdm_dump_format format;
    const char *key; /* in JSON */
} text_view;

/* NULL: none was given. */
static const text_view *view_of(const cli_options *options)
{
    static const text_view views[] = {{OPT_TEXT, PDM_DUMP_TEXT, "text"},
                                      {OPT_DOT, PDM_DUMP_DOT, "dot"},
                                      {OPT_SHAPES, PDM_DUMP_SHAPES, "shapes"},
                                      {OPT_GROUPS, PDM_DUMP_GROUPS, "groups"},
                                      {OPT_LOOP_IR, PDM_DUMP_LOOP_IR, "loop_ir"},
                                      {OPT_KERNEL_SOURCE, PDM_DUMP_CUDA, "kernel_source"},
                                      {OPT_GROUP_SUMMARY, PDM_DUMP_GROUP_SUMMARY, "group_summary"}};

    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (options->has[views[i].option])
            return &views[i];
    }
    return NULL;
}

/* Of --kernel-source; false: it is a text that is made of the program alone. */
static bool is_compiled(const cli_options *options, pdm_code_format *out)
{
    const char *language = options->arg[OPT_KERNEL_SOURCE];

    if (!language || !strcmp(language, "cuda"))
        return false;
    *out = !strcmp(language, "ptx") ? PDM_CODE_PTX : !strcmp(language, "cubin") ? PDM_CODE_CUBIN : PDM_CODE_LLVM;
    return true;
}

static pdm_status gather(pdm_context *context, const cli_options *options, view *v)
{
    const pdm_load_options load = {.size = sizeof load,
                                   .params_path = options->arg[OPT_PARAMS],
                                   .no_params = options->has[OPT_NO_PARAMS],
                                   .params_optional = true};
    const pdm_status status = pdm_model_load(context, options->model, &load, &v->model);

    if (status != PDM_OK)
        return status;
    const text_view *form = view_of(options);
    pdm_code_format code;
    if (is_compiled(options, &code))
        return pdm_model_code(v->model, code, options->arg[OPT_ARCH], &v->text, &v->size);
    if (form) {
        const pdm_status dumped = pdm_model_dump(v->model, form->format, &v->text);
        v->size = dumped == PDM_OK ? strlen(v->text) : 0;
        return dumped;
    }
    if (options->has[OPT_OPS])
        return count_ops(v->model, &v->ops);
    return PDM_OK;
}

static void print_json(const view *v, const cli_options *options)
{
    summary_json(v->model);
    if (options->has[OPT_OPS])
        ops_json(&v->ops);
    if (v->text) {
        printf(", \"%s\": ", view_of(options)->key);
        cli_json_string(stdout, v->text);
    }
}

int cli_show(pdm_context *context, const cli_options *options, cli_report *report)
{
    view v = {0};
    const pdm_status status = gather(context, options, &v);
    const int code = cli_failed(report, status);

    if (options->json) {
        cli_json_begin(code, "show");
        if (status == PDM_OK)
            print_json(&v, options);
        cli_json_end(report);
    } else if (status == PDM_OK) {
        if (v.text)
            fwrite(v.text, 1, v.size, stdout);
        else if (options->has[OPT_OPS])
            ops_text(&v.ops);
        else
            summary_text(v.model);
    }
    free(v.ops.items);
    pdm_free(v.text);
    pdm_model_destroy(v.model);
    return code;
}
