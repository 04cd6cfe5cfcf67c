/*
 * Convert a legacy model with the library:
 *
 *     cc -o convert convert.c $(pkg-config --cflags --libs pdmigrate)
 *     ./convert old.pdmodel new.json
 */
#include <pdmigrate/pdmigrate.h>
#include <stdio.h>
#include <stdlib.h>

/* Called once for each problem found in the model. */
static void on_diagnostic(void *user, const pdm_diagnostic *diagnostic)
{
    static const char *const names[] = {"note", "warning", "error"};

    fprintf(user, "%s: %s", names[diagnostic->severity], diagnostic->message);
    if (diagnostic->op_type != NULL) {
        fprintf(user, " (op %s)", diagnostic->op_type);
    }
    fputc('\n', user);
}

static pdm_status print_inputs(const pdm_model *model)
{
    for (size_t i = 0; i < pdm_model_num_inputs(model); i++) {
        pdm_tensor_info info;
        pdm_status status = pdm_model_input(model, i, &info);
        if (status != PDM_OK) {
            return status;
        }
        printf("input %s: %s, rank %zu\n", info.name, info.dtype, info.rank);
    }
    return PDM_OK;
}

static pdm_status convert(pdm_context *context, const char *from, const char *to)
{
    pdm_model *legacy = NULL;
    pdm_model *pir = NULL;
    pdm_status status = pdm_model_load(context, from, NULL, &legacy);
    if (status == PDM_OK) {
        status = print_inputs(legacy);
    }
    if (status == PDM_OK) {
        status = pdm_model_convert(legacy, NULL, &pir);
    }
    if (status == PDM_OK) {
        printf("%zu ops became %zu\n", pdm_model_num_ops(legacy), pdm_model_num_ops(pir));
        status = pdm_model_write(pir, to, NULL);
    }
    pdm_model_destroy(pir);
    pdm_model_destroy(legacy);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL OUT.json\n", argv[0]);
        return EXIT_FAILURE;
    }

    pdm_context_options options = {
        .size = sizeof options, .on_diagnostic = on_diagnostic, .user = stderr};
    pdm_context *context = NULL;
    pdm_status status = pdm_context_create(&options, &context);
    if (status == PDM_OK) {
        status = convert(context, argv[1], argv[2]);
    }
    pdm_context_destroy(context);

    if (status != PDM_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], pdm_status_text(status));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
