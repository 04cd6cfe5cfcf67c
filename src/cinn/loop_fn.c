/* Functions and statements of loop IR. */
#include <stdlib.h>
#include <string.h>

#include "cinn/loop_ir.h"

pdm_status pdm_loop_fn_create(const char *name, pdm_loop_fn **out_fn)
{
    pdm_loop_fn *fn = calloc(1, sizeof *fn);

    if (!fn)
        return PDM_NOMEM;
    pdm_arena_init(&fn->arena);
    fn->status = PDM_OK;
    fn->name = pdm_arena_strndup(&fn->arena, name, strlen(name));
    if (!fn->name) {
        pdm_loop_fn_destroy(fn);
        return PDM_NOMEM;
    }
    *out_fn = fn;
    return PDM_OK;
}

void pdm_loop_fn_destroy(pdm_loop_fn *fn)
{
    if (!fn)
        return;
    PDM_VEC_FREE(&fn->buffers);
    PDM_VEC_FREE(&fn->symbols);
    PDM_VEC_FREE(&fn->guards);
    PDM_VEC_FREE(&fn->pins);
    free(fn->table);
    pdm_arena_deinit(&fn->arena);
    free(fn);
}

static const pdm_loop_expr *const *copy_list(pdm_loop_fn *fn, const pdm_loop_expr *const *list,
                                             uint32_t count)
{
    const pdm_loop_expr *const *copy =
        count ? pdm_arena_memdup(&fn->arena, list, count * sizeof *list)
              : pdm_arena_alloc(&fn->arena, sizeof *list);

    for (uint32_t i = 0; i < count; i++) {
        if (!list[i] && fn->status == PDM_OK)
            fn->status = PDM_INTERNAL;
    }
    if (!copy && fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
    return copy;
}

uint32_t pdm_loop_add_buffer(pdm_loop_fn *fn, const char *name, pdm_loop_role role, pdm_dtype dtype,
                             uint32_t rank, const pdm_loop_expr *const *dims)
{
    const pdm_loop_buffer buffer = {.name = pdm_arena_strndup(&fn->arena, name, strlen(name)),
                                    .role = role,
                                    .dtype = dtype,
                                    .rank = rank,
                                    .dims = copy_list(fn, dims, rank)};

    if (fn->status == PDM_OK && (!buffer.name || !PDM_VEC_PUSH(&fn->buffers, buffer)))
        fn->status = PDM_NOMEM;
    return fn->status == PDM_OK ? (uint32_t)(fn->buffers.n - 1) : 0;
}

static pdm_loop_stmt *new_stmt(pdm_loop_fn *fn, pdm_loop_stmt_kind kind)
{
    pdm_loop_stmt *stmt =
        fn->status == PDM_OK ? pdm_arena_calloc(&fn->arena, 1, sizeof *stmt) : NULL;

    if (stmt)
        stmt->kind = kind;
    else if (fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
    return stmt;
}

pdm_loop_stmt *pdm_loop_for(pdm_loop_fn *fn, uint32_t var, const pdm_loop_expr *extent,
                            pdm_loop_stmt *body)
{
    pdm_loop_stmt *stmt = new_stmt(fn, PDM_LOOP_FOR);

    if (stmt) {
        stmt->var = var;
        stmt->extent = extent;
        stmt->body = body;
    }
    return stmt;
}

pdm_loop_stmt *pdm_loop_if(pdm_loop_fn *fn, const pdm_loop_expr *condition, pdm_loop_stmt *body)
{
    pdm_loop_stmt *stmt = new_stmt(fn, PDM_LOOP_IF);

    if (stmt) {
        stmt->value = condition;
        stmt->body = body;
    }
    return stmt;
}

pdm_loop_stmt *pdm_loop_store(pdm_loop_fn *fn, uint32_t buffer,
                              const pdm_loop_expr *const *indices, const pdm_loop_expr *value)
{
    pdm_loop_stmt *stmt = new_stmt(fn, PDM_LOOP_STORE);

    if (stmt) {
        stmt->buffer = buffer;
        stmt->indices = copy_list(fn, indices, pdm_loop_num_indices(fn, buffer));
        stmt->value = value;
    }
    return stmt;
}

void pdm_loop_append(pdm_loop_stmt **list, pdm_loop_stmt *stmt)
{
    while (*list)
        list = &(*list)->next;
    *list = stmt;
}
