/*
 * pdm-infer FILE.json: read a PIR program, infer all types again from its inputs and parameters,
 * and print a line for each result:
 *
 *   VALUE OP INDEX[.ELEMENT] DTYPE DIMS
 *
 * VALUE numbers the results of the top block in file order as the framework's writer does, from 1;
 * results of nested blocks are not printed. DIMS is [2,-1], or `?` when the rank is unknown.
 * tests/oracle/infer.py compares this with what the framework computes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ir/infer.h"
#include "ir/pir_json.h"

static void print_type(const char *name, size_t value, size_t index, long element, pdm_ir_type type)
{
    printf("%zu %s %zu", value, name, index);
    if (element >= 0)
        printf(".%ld", element);
    if (!type) {
        puts(" absent");
        return;
    }
    printf(" %s%s [", type->kind == PDM_IR_TENSOR_ARRAY ? "array:" : "",
           pdm_dtype_name(type->dtype));
    for (uint32_t i = 0; i < type->rank; i++)
        printf("%s%lld", i ? "," : "", (long long)type->dims[i]);
    puts("]");
}

static void print_results(const pdm_ir_module *module)
{
    size_t value = 0;
    for (const pdm_ir_op *op = module->block->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->num_results; i++) {
            pdm_ir_type type = pdm_ir_op_result(op, i)->type;
            value++;
            if (type && type->kind == PDM_IR_VECTOR) {
                for (uint32_t k = 0; k < type->num_elements; k++)
                    print_type(pdm_ir_op_name(op), value, i, (long)k, type->elements[k]);
            } else {
                print_type(pdm_ir_op_name(op), value, i, -1, type);
            }
        }
    }
}

static char *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        data = size >= 0 ? malloc((size_t)size + 1) : NULL;
        if (data && fread(data, 1, (size_t)size, file) != (size_t)size) {
            free(data);
            data = NULL;
        }
        *out_size = (size_t)size;
    }
    if (file)
        fclose(file);
    return data;
}

static void say(void *user, const pdm_diagnostic *diagnostic)
{
    (void)user;
    fprintf(stderr, "pdm-infer: %s\n", diagnostic->message);
}

int main(int argc, char **argv)
{
    pdm_ir_context *context = NULL;
    pdm_ir_module *module = NULL;
    pdm_diag_sink sink = {.fn = say};
    size_t size = 0;
    char *data = argc == 2 ? read_file(argv[1], &size) : NULL;
    if (!data) {
        fputs("usage: pdm-infer FILE.json\n", stderr);
        return 2;
    }
    pdm_status status = pdm_ir_context_create(&context);
    if (status == PDM_OK)
        status = pdm_ir_json_read(context, data, size, argv[1], &sink, &module, NULL);
    if (status == PDM_OK)
        status = pdm_ir_infer_module(module);
    if (status == PDM_OK)
        print_results(module);
    else
        fprintf(stderr, "pdm-infer: %s: %s\n", argv[1], pdm_status_text(status));
    pdm_ir_module_destroy(module);
    pdm_ir_context_destroy(context);
    free(data);
    return status == PDM_OK ? 0 : 1;
}
