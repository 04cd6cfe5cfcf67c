/* Random inputs, of the shapes that were asked for. */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 16 };

/* NAME=N,N,...: false when it is not of that form. */
static bool parse_shape(const char *text, size_t *out_name, int64_t *dims, size_t *out_rank)
{
    const char *equals = strrchr(text, '=');
    size_t rank = 0;

    if (!equals || equals == text)
        return false;
    *out_name = (size_t)(equals - text);
    for (const char *p = equals + 1; *p;) {
        char *end;
        if (*p < '0' || *p > '9' || rank == MAX_RANK)
            return false;
        dims[rank++] = strtoll(p, &end, 10);
        if (*end && *end != ',')
            return false;
        p = *end ? end + 1 : end;
        if (*end && !*p)
            return false;
    }
    *out_rank = rank;
    return true;
}

/* The shape that was asked for, or NULL; *out_bad: it cannot be understood. */
static const int64_t *shape_of(const cli_options *options, const char *name, int64_t *dims,
                               size_t *out_rank)
{
    const int64_t *found = NULL;
    int64_t parsed[MAX_RANK];
    size_t length, rank;

    for (size_t i = 0; i < options->num_shapes; i++) {
        const char *text = options->shapes[i];
        if (!parse_shape(text, &length, parsed, &rank) || length != strlen(name) ||
            memcmp(text, name, length) != 0)
            continue;
        memcpy(dims, parsed, sizeof parsed);
        *out_rank = rank;
        found = dims;
    }
    return found;
}

bool cli_has_input(const pdm_plan *plan, const char *name, size_t length)
{
    pdm_tensor_info info;

    for (size_t i = 0; i < pdm_plan_num_inputs(plan); i++) {
        if (pdm_plan_input(plan, i, &info) == PDM_OK && strlen(info.name) == length &&
            !memcmp(info.name, name, length))
            return true;
    }
    return false;
}

static pdm_status check_shapes(const cli_options *options, cli_report *report, const pdm_plan *plan)
{
    int64_t dims[MAX_RANK];
    size_t length, rank;

    for (size_t i = 0; i < options->num_shapes; i++) {
        const char *text = options->shapes[i];
        if (!parse_shape(text, &length, dims, &rank)) {
            cli_usage(report, "it is NAME=N,N,...", "--shape %s is no shape", text);
            return PDM_INVALID_ARG;
        }
        if (!cli_has_input(plan, text, length)) {
            cli_usage(report, "pdmigrate show MODEL lists the inputs",
                      "--shape %s: the model has no such input", text);
            return PDM_INVALID_ARG;
        }
    }
    return PDM_OK;
}

/* Whether the file has data for an input. */
static bool is_given(const pdm_bundle *io, const char *name)
{
    for (size_t i = 0; io && i < pdm_bundle_count(io); i++) {
        const char *key = pdm_bundle_key(io, i);
        if (!strcmp(key, name) || (!strncmp(key, "in:", 3) && !strcmp(key + 3, name)))
            return true;
    }
    return false;
}

pdm_status cli_random_inputs(const cli_options *options, cli_report *report, const pdm_plan *plan,
                             pdm_session *session, const pdm_bundle *io, uint64_t draw,
                             const pdm_random_options *random)
{
    pdm_status status = check_shapes(options, report, plan);

    for (size_t i = 0; status == PDM_OK && i < pdm_plan_num_inputs(plan); i++) {
        pdm_tensor_info info;
        int64_t dims[MAX_RANK];
        size_t rank = 0;
        status = pdm_plan_input(plan, i, &info);
        if (status != PDM_OK || is_given(io, info.name))
            continue;
        const int64_t *shape = shape_of(options, info.name, dims, &rank);
        status = pdm_session_set_random(session, info.name, shape, rank,
                                        options->seed + i + 7919 * draw, random);
    }
    return status;
}
