/* Statements as a tree, and facts of buffers. It needs nothing else: modules of backends have it too. */
#include <string.h>

#include "base/checked.h"
#include "cinn/loop_ir.h"

const char *pdm_loop_mark_text(pdm_loop_mark mark)
{
    static const char *const names[PDM_LOOP_MARK_COUNT] = {
        "",        "parallel", "vector",   "unroll",   "block.x",
        "block.y", "block.z",  "thread.x", "thread.y", "thread.z"};

    return names[mark];
}

int64_t pdm_loop_note_of(const pdm_loop_stmt *loop, const char *key)
{
    for (const pdm_loop_note *note = loop->notes; note; note = note->next) {
        if (strcmp(note->key, key) == 0)
            return note->value;
    }
    return 0;
}

pdm_loop_stmt *pdm_loop_find(pdm_loop_stmt *list, uint32_t var)
{
    for (pdm_loop_stmt *stmt = list; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR && stmt->var == var)
            return stmt;
        pdm_loop_stmt *found = pdm_loop_find(stmt->body, var);
        if (found)
            return found;
    }
    return NULL;
}

bool pdm_loop_bytes(const pdm_loop_buffer *buffer, uint64_t *out_bytes)
{
    uint64_t bytes = pdm_dtype_size(buffer->dtype);

    for (uint32_t d = 0; d < buffer->rank; d++) {
        const pdm_loop_expr *dim = buffer->dims[d];
        if (dim->kind != PDM_LOOP_CONST || dim->u.i < 0 ||
            !pdm_mul_u64(bytes, (uint64_t)dim->u.i, &bytes))
            return false;
    }
    *out_bytes = bytes;
    return true;
}
