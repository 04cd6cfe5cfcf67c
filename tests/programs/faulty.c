/*
 * The interpreter of loops, but in a loop that has both a tanh and a maximum the result's first element is off by one.
 */
#include "faulty.h"

#include <stdlib.h>
#include <string.h>

typedef struct image {
    const pdm_loop_fn *fn;
    void *ref;
    bool wrong;
} image;

static bool has(const pdm_loop_expr *e, pdm_loop_op op)
{
    if ((e->kind == PDM_LOOP_UNARY || e->kind == PDM_LOOP_BINARY) && e->op == op)
        return true;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (has(e->args[i], op))
            return true;
    }
    return false;
}

static bool is_wrong(const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR ? is_wrong(stmt->body) : has(stmt->value, PDM_LOOP_TANH) && has(stmt->value, PDM_LOOP_MAX))
            return true;
    }
    return false;
}

static void destroy(void *any)
{
    image *made = any;

    pdm_cinn_backend_ref.destroy(made->ref);
    free(made);
}

static pdm_status compile(const pdm_loop_fn *fn, void **out_image)
{
    image *made = calloc(1, sizeof *made);

    if (!made)
        return PDM_NOMEM;
    made->fn = fn;
    made->wrong = is_wrong(fn->body);
    const pdm_status status = pdm_cinn_backend_ref.compile(fn, &made->ref);
    if (status != PDM_OK)
        free(made);
    else
        *out_image = made;
    return status;
}

static pdm_status run(const void *any, uint32_t nest, void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end)
{
    const image *made = any;
    const pdm_status status = pdm_cinn_backend_ref.run(made->ref, nest, buffers, symbols, begin, end);

    for (size_t i = 0; status == PDM_OK && made->wrong && end > begin && i < made->fn->buffers.n; i++) {
        const pdm_loop_buffer *b = &made->fn->buffers.v[i];
        if (b->role != PDM_LOOP_OUTPUT || b->dtype != PDM_F32)
            continue;
        bool empty = false;
        for (uint32_t d = 0; d < b->rank; d++)
            empty |= pdm_loop_eval(b->dims[d], symbols) == 0;
        if (!empty)
            ((float *)buffers[i])[0] = 12345;
    }
    return status;
}

const pdm_cinn_backend faulty_backend = {
    .version = PDM_CINN_BACKEND_VERSION,
    .name = "faulty",
    .compile = compile,
    .destroy = destroy,
    .run = run,
};
