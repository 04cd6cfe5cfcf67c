/* Names that the PIR JSON reader and writer share. Inside of the IR layer only. */
#ifndef PDM_IR_PIR_JSON_TAGS_H
#define PDM_IR_PIR_JSON_TAGS_H

#include <stdbool.h>
#include <string.h>

/* Dialects and their numbers on disk. */
static const struct {
    const char *number, *dialect;
} pdm_ir_json_dialects[] = {
    {"0", "builtin"}, {"1", "pd_op"}, {"2", "cf"}, {"3", "custom_op"}, {"4", "pd_dist"}};

#define PDM_IR_JSON_NUM_DIALECTS (sizeof pdm_ir_json_dialects / sizeof pdm_ir_json_dialects[0])

/* The short form of a parameter has these flags: A without the name, and OA. */
static const char *const pdm_ir_json_param_flags[] = {"is_distributed", "is_parameter",
                                                      "need_clip"};
static const char *const pdm_ir_json_param_result_flags[] = {"persistable", "stop_gradient",
                                                             "trainable"};

static inline bool pdm_ir_json_known_layout(const char *layout)
{
    static const char *const known[] = {
        "NCHW",       "NHWC",       "NCDHW",         "NDHWC",   "ONEDNN",
        "SPARSE_COO", "SPARSE_CSR", "PSTRING_UNION", "STRIDED", "Undefined(AnyLayout)"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(layout, known[i]) == 0)
            return true;
    }
    return false;
}

/* Attributes of results: written in OA, one bool a result. */
static const char *const pdm_ir_json_result_attrs[2] = {"stop_gradient", "persistable"};

#endif
