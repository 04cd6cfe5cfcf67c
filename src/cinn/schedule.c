/* Primitives: see schedule.h. */
#include "cinn/gpu.h"
#include "cinn/schedule.h"

#include <stdlib.h>
#include <string.h>

/* ---- variables in expressions ---------------------------------------------------------------- */

const pdm_loop_expr *pdm_loop_coefficient(pdm_loop_fn *fn, const pdm_loop_expr *e, uint32_t var)
{
    const bool binary = e->kind == PDM_LOOP_BINARY;

    if (e->kind == PDM_LOOP_VAR && e->u.index == var)
        return pdm_loop_index(fn, 1);
    if (binary && (e->op == PDM_LOOP_ADD || e->op == PDM_LOOP_MUL)) {
        const pdm_loop_expr *a = pdm_loop_coefficient(fn, e->args[0], var);
        const pdm_loop_expr *b = pdm_loop_coefficient(fn, e->args[1], var);
        if (!a || !b)
            return NULL;
        if (e->op == PDM_LOOP_ADD)
            return pdm_loop_binary(fn, PDM_LOOP_ADD, a, b);
        if (pdm_loop_is_int(a, 0))
            return pdm_loop_binary(fn, PDM_LOOP_MUL, e->args[0], b);
        return pdm_loop_is_int(b, 0) ? pdm_loop_binary(fn, PDM_LOOP_MUL, a, e->args[1]) : NULL;
    }
    return pdm_loop_mentions(e, var) ? NULL : pdm_loop_index(fn, 0);
}

const pdm_loop_expr *pdm_loop_step(pdm_loop_fn *fn, const pdm_loop_access *access, const pdm_loop_stmt *loop)
{
    const pdm_loop_expr *at = pdm_loop_offset(fn, access->buffer, access->indices);

    return at ? pdm_loop_coefficient(fn, at, loop->var) : NULL;
}

static const pdm_loop_expr *replace_var(void *user, pdm_loop_fn *fn, const pdm_loop_expr *e,
                                        const pdm_loop_expr *const *args)
{
    const pdm_loop_expr *const *with = user;

    (void)fn;
    (void)args;
    return e->kind == PDM_LOOP_VAR ? with[e->u.index] : NULL;
}

bool pdm_loop_substitute(pdm_loop_fn *fn, pdm_loop_stmt *stmt, const pdm_loop_expr **with)
{
    return pdm_loop_rewrite(fn, stmt, replace_var, with);
}

/* ---- small things ---------------------------------------------------------------------------- */

pdm_loop_stmt *pdm_loop_inner(const pdm_loop_stmt *loop)
{
    pdm_loop_stmt *body = loop->body;

    return body && body->kind == PDM_LOOP_FOR && !body->next ? body : NULL;
}

static pdm_loop_stmt *only_loop(const pdm_loop_stmt *outer)
{
    pdm_loop_stmt *inner = pdm_loop_inner(outer);

    return inner && !pdm_loop_mentions(inner->extent, outer->var) ? inner : NULL;
}

static bool is_serial(const pdm_loop_stmt *stmt)
{
    return stmt->kind == PDM_LOOP_FOR && stmt->mark == PDM_LOOP_SERIAL;
}

/* Whether a temporary lives in turns of the loop over a variable. */
static bool is_home(const pdm_loop_fn *fn, uint32_t var)
{
    for (size_t i = 0; i < fn->buffers.n; i++) {
        if (fn->buffers.v[i].scope != PDM_LOOP_GLOBAL && fn->buffers.v[i].home == var)
            return true;
    }
    return false;
}

static void move_home(pdm_loop_fn *fn, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < fn->buffers.n; i++) {
        if (fn->buffers.v[i].scope != PDM_LOOP_GLOBAL && fn->buffers.v[i].home == from)
            fn->buffers.v[i].home = to;
    }
}

static bool has_homes(const pdm_loop_fn *fn, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR && is_home(fn, stmt->var))
            return true;
        if (has_homes(fn, stmt->body))
            return true;
    }
    return false;
}

pdm_loop_stmt **pdm_loop_link(pdm_loop_stmt **list, const pdm_loop_stmt *stmt)
{
    for (; *list; list = &(*list)->next) {
        if (*list == stmt)
            return list;
        pdm_loop_stmt **inside = pdm_loop_link(&(*list)->body, stmt);
        if (inside)
            return inside;
    }
    return NULL;
}

/* An expression instead of one or two variables, in statements. */
static bool replace(pdm_loop_fn *fn, pdm_loop_stmt *stmts, uint32_t var, const pdm_loop_expr *with,
                    uint32_t other, const pdm_loop_expr *other_with)
{
    const pdm_loop_expr **map = calloc((size_t)fn->num_vars + 1, sizeof *map);

    if (!map && fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
    if (map && with && other_with) {
        map[var] = with;
        map[other] = other_with;
        pdm_loop_substitute(fn, stmts, map);
    }
    free(map);
    return fn->status == PDM_OK;
}

static pdm_loop_stmt *copy_stmts(pdm_loop_fn *fn, const pdm_loop_stmt *stmt,
                                 const pdm_loop_expr **with)
{
    pdm_loop_stmt *first = NULL, **last = &first;

    for (; stmt && fn->status == PDM_OK; stmt = stmt->next) {
        pdm_loop_stmt *copy = pdm_arena_memdup(&fn->arena, stmt, sizeof *stmt);
        if (!copy) {
            fn->status = PDM_NOMEM;
            return NULL;
        }
        copy->next = NULL;
        if (stmt->kind == PDM_LOOP_FOR) {
            copy->var = fn->num_vars++;
            with[stmt->var] = pdm_loop_var(fn, copy->var);
        }
        copy->body = copy_stmts(fn, stmt->body, with);
        *last = copy;
        last = &copy->next;
    }
    return first;
}

pdm_loop_stmt *pdm_loop_copy(pdm_loop_fn *fn, const pdm_loop_stmt *stmts, uint32_t var,
                             const pdm_loop_expr *value)
{
    const pdm_loop_expr **with = calloc((size_t)fn->num_vars + 1, sizeof *with);
    pdm_loop_stmt *copy = NULL;

    if (!with && fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
    if (fn->status == PDM_OK) {
        with[var] = value;
        copy = copy_stmts(fn, stmts, with);
        pdm_loop_substitute(fn, copy, with);
    }
    free(with);
    return fn->status == PDM_OK ? copy : NULL;
}

/* ---- split ----------------------------------------------------------------------------------- */

/* The loop for what whole turns leave, behind the loop; NULL with PDM_OK: nothing is left. */
static pdm_loop_stmt *make_tail(pdm_loop_fn *fn, const pdm_loop_stmt *loop, const pdm_loop_expr *turns,
                                const pdm_loop_expr *by)
{
    const pdm_loop_expr *rest = pdm_loop_binary(fn, PDM_LOOP_MOD, loop->extent, by);
    const uint32_t var = fn->num_vars++;

    if (!rest || pdm_loop_is_int(rest, 0))
        return NULL;
    const pdm_loop_expr *done = pdm_loop_binary(fn, PDM_LOOP_MUL, turns, by);
    const pdm_loop_expr *at = pdm_loop_binary(fn, PDM_LOOP_ADD, done, pdm_loop_var(fn, var));
    return pdm_loop_for(fn, var, rest, at ? pdm_loop_copy(fn, loop->body, loop->var, at) : NULL);
}

const char *pdm_loop_split(pdm_loop_fn *fn, pdm_loop_stmt *loop, int64_t factor, pdm_loop_rest rest,
                           pdm_loop_stmt **out_inner)
{
    const bool number = loop->kind == PDM_LOOP_FOR && loop->extent->kind == PDM_LOOP_CONST;

    if (!is_serial(loop))
        return NOT_SERIAL;
    if (factor < 1)
        return "the factor is not positive";
    if (rest == PDM_LOOP_TAIL && number && loop->extent->u.i < factor)
        return "the factor is greater than the extent";
    if (rest == PDM_LOOP_TAIL && (is_home(fn, loop->var) || has_homes(fn, loop->body)))
        return "a temporary lives in the loop";
    if (number && loop->extent->u.i > INT64_MAX - factor)
        return "the extent is too large";
    const pdm_loop_expr *by = pdm_loop_index(fn, factor);
    const pdm_loop_expr *exact = by ? pdm_loop_quotient(fn, loop->extent, by) : NULL;
    const pdm_loop_expr *up = pdm_loop_binary(fn, PDM_LOOP_ADD, loop->extent,
                                              pdm_loop_index(fn, rest == PDM_LOOP_TAIL ? 0 : factor - 1));
    const pdm_loop_expr *turns = exact ? exact : pdm_loop_binary(fn, PDM_LOOP_DIV, up, by);
    const uint32_t outer = fn->num_vars++, inner = fn->num_vars++;
    const pdm_loop_expr *at = pdm_loop_binary(
        fn, PDM_LOOP_ADD, pdm_loop_binary(fn, PDM_LOOP_MUL, pdm_loop_var(fn, outer), by),
        pdm_loop_var(fn, inner));
    pdm_loop_stmt *tail =
        rest == PDM_LOOP_TAIL && !exact && turns ? make_tail(fn, loop, turns, by) : NULL;
    if (fn->status != PDM_OK || !replace(fn, loop->body, loop->var, at, loop->var, at))
        return NO_MEMORY;
    pdm_loop_stmt *body = loop->body;
    if (rest == PDM_LOOP_GUARD && !exact)
        body = pdm_loop_if(fn, pdm_loop_binary(fn, PDM_LOOP_LT, at, loop->extent), body);
    pdm_loop_stmt *made = pdm_loop_for(fn, inner, by, body);
    if (fn->status != PDM_OK)
        return NO_MEMORY;
    move_home(fn, loop->var, inner);
    loop->var = outer;
    loop->extent = turns;
    loop->body = made;
    if (tail) {
        tail->next = loop->next;
        loop->next = tail;
    }
    if (out_inner)
        *out_inner = made;
    return NULL;
}

/* ---- fuse ------------------------------------------------------------------------------------ */

const char *pdm_loop_fuse(pdm_loop_fn *fn, pdm_loop_stmt *outer)
{
    if (!is_serial(outer))
        return NOT_SERIAL;
    pdm_loop_stmt *inner = only_loop(outer);
    if (!inner)
        return "the body is not one loop of an extent that is always the same";
    if (!is_serial(inner))
        return NOT_SERIAL;
    if (is_home(fn, outer->var))
        return "a temporary lives in a turn of the outer loop";
    const uint32_t var = fn->num_vars++;
    const pdm_loop_expr *v = pdm_loop_var(fn, var);
    const pdm_loop_expr *extent = pdm_loop_binary(fn, PDM_LOOP_MUL, outer->extent, inner->extent);
    if (!extent ||
        !replace(fn, inner->body, outer->var, pdm_loop_binary(fn, PDM_LOOP_DIV, v, inner->extent),
                 inner->var, pdm_loop_binary(fn, PDM_LOOP_MOD, v, inner->extent)))
        return NO_MEMORY;
    move_home(fn, inner->var, var);
    outer->var = var;
    outer->extent = extent;
    outer->body = inner->body;
    return NULL;
}

/* ---- reorder --------------------------------------------------------------------------------- */

enum { MAX_ORDER = 16 };

/* The loops of order as they stand; false: they are not one in the other without anything else. */
static bool chain_of(pdm_loop_fn *fn, pdm_loop_stmt *const *order, size_t count, pdm_loop_stmt **chain)
{
    size_t found = 0;

    for (size_t i = 0; i < count && found == 0; i++) {
        pdm_loop_stmt *at = order[i];
        size_t n = 0;
        for (; at && n < count; at = only_loop(at)) {
            size_t k = 0;
            while (k < count && order[k] != at)
                k++;
            if (k == count)
                break;
            chain[n++] = at;
        }
        found = n == count ? n : 0;
    }
    return found == count && pdm_loop_link(&fn->body, chain[0]) != NULL;
}

/* Two loops, of which the inner is the only statement of the outer, change places. */
static void swap(pdm_loop_fn *fn, pdm_loop_stmt *outer, pdm_loop_stmt *inner)
{
    pdm_loop_stmt **link = pdm_loop_link(&fn->body, outer);

    move_home(fn, inner->var, outer->var);
    *link = inner;
    inner->next = outer->next;
    outer->next = NULL;
    outer->body = inner->body;
    inner->body = outer;
}

/* Turns may meet only where one of the two variables is the same: then the order of those that meet
 * stays. */
static const char *may_swap(pdm_loop_fn *fn, const pdm_loop_stmt *outer, const pdm_loop_stmt *inner)
{
    if (is_home(fn, outer->var))
        return "a temporary lives in a turn of an outer loop";
    return pdm_loop_all_force(fn, outer, outer, inner) ? NULL
                                                       : "turns of the loops depend on each other";
}

static size_t place_of(const pdm_loop_stmt *loop, pdm_loop_stmt *const *order)
{
    size_t at = 0;

    while (order[at] != loop)
        at++;
    return at;
}

const char *pdm_loop_reorder(pdm_loop_fn *fn, pdm_loop_stmt *const *order, size_t count)
{
    pdm_loop_stmt *chain[MAX_ORDER], *done[2 * MAX_ORDER * MAX_ORDER];
    size_t num_done = 0;
    const char *why = NULL;

    if (count < 1 || count > MAX_ORDER)
        return "too few or too many loops";
    for (size_t i = 0; i < count; i++) {
        if (!is_serial(order[i]))
            return NOT_SERIAL;
    }
    if (!chain_of(fn, order, count, chain))
        return "the loops do not stand one in the other, with nothing else";
    /* By exchanging neighbours; what was exchanged is put back when one cannot be. */
    for (size_t round = 0; !why && round < count; round++) {
        for (size_t i = 0; !why && i + 1 < count; i++) {
            if (place_of(chain[i], order) < place_of(chain[i + 1], order))
                continue;
            why = may_swap(fn, chain[i], chain[i + 1]);
            if (why)
                break;
            swap(fn, chain[i], chain[i + 1]);
            done[num_done++] = chain[i + 1];
            done[num_done++] = chain[i];
            pdm_loop_stmt *t = chain[i];
            chain[i] = chain[i + 1];
            chain[i + 1] = t;
        }
    }
    for (; why && num_done > 0; num_done -= 2)
        swap(fn, done[num_done - 2], done[num_done - 1]);
    return fn->status != PDM_OK ? NO_MEMORY : why;
}

/* ---- fission --------------------------------------------------------------------------------- */

const char *pdm_loop_fission(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_stmt *stmt, pdm_loop_stmt **out_second)
{
    pdm_loop_stmt *last = loop->body;

    if (!is_serial(loop))
        return NOT_SERIAL;
    while (last && last->next != stmt)
        last = last->next;
    if (!last || !stmt)
        return "nothing is before it in the loop";
    if (is_home(fn, loop->var))
        return "a temporary lives in the loop";
    if (!pdm_loop_is_independent(fn, loop))
        return "turns of the loop depend on each other";
    const uint32_t var = fn->num_vars++;
    const pdm_loop_expr *at = pdm_loop_var(fn, var);
    pdm_loop_stmt *second = pdm_loop_for(fn, var, loop->extent, stmt);
    if (fn->status != PDM_OK || !replace(fn, stmt, loop->var, at, loop->var, at))
        return NO_MEMORY;
    last->next = NULL;
    second->next = loop->next;
    loop->next = second;
    if (out_second)
        *out_second = second;
    return NULL;
}

/* ---- distribute ------------------------------------------------------------------------------ */

/* Whether a loop over the variable can become the innermost of loops that are one in the other. */
static bool may_sink(const pdm_loop_stmt *stmt, uint32_t var)
{
    for (; stmt; stmt = pdm_loop_inner(stmt)) {
        if (!is_serial(stmt) || pdm_loop_mentions(stmt->extent, var))
            return false;
    }
    return true;
}

const char *pdm_loop_distribute(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    if (!is_serial(loop))
        return NOT_SERIAL;
    if (!loop->body || (!loop->body->next && loop->body->kind != PDM_LOOP_FOR))
        return "there is one statement";
    if (is_home(fn, loop->var) || has_homes(fn, loop->body))
        return "a temporary lives in a turn";
    for (pdm_loop_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind == PDM_LOOP_FOR && !may_sink(stmt, loop->var))
            return "a loop in it has an extent that depends on it, or is no serial one";
    }
    if (!pdm_loop_is_independent(fn, loop))
        return fn->status != PDM_OK ? NO_MEMORY : "turns depend on each other";
    for (pdm_loop_stmt *at = loop, *rest; at; at = rest) {
        const char *why = NULL;
        rest = NULL;
        if (at->body->next)
            why = pdm_loop_fission(fn, at, at->body->next, &rest);
        if (why)
            return why; /* no memory */
        while (pdm_loop_inner(at))
            swap(fn, at, pdm_loop_inner(at));
    }
    return NULL;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* The verifier knows what fits where. */
static const char *set_mark(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_mark mark)
{
    loop->mark = mark;
    const char *why = pdm_loop_verify(fn);
    if (why)
        loop->mark = PDM_LOOP_SERIAL;
    return why;
}

static const char *set_independent(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_mark mark)
{
    if (!is_serial(loop))
        return NOT_SERIAL;
    if (!pdm_loop_is_independent(fn, loop))
        return "turns of the loop depend on each other";
    return set_mark(fn, loop, mark);
}

const char *pdm_loop_parallel(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    return set_independent(fn, loop, PDM_LOOP_PARALLEL);
}

const char *pdm_loop_vectorize(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    if (loop->kind == PDM_LOOP_FOR &&
        (loop->extent->kind != PDM_LOOP_CONST || loop->extent->u.i < 1 ||
         loop->extent->u.i > PDM_LOOP_MAX_LANES))
        return "a vector loop has a small number of turns";
    return set_independent(fn, loop, PDM_LOOP_VECTOR);
}

const char *pdm_loop_unroll(pdm_loop_fn *fn, pdm_loop_stmt *loop)
{
    return is_serial(loop) ? set_mark(fn, loop, PDM_LOOP_UNROLL) : NOT_SERIAL;
}

const char *pdm_loop_bind(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_mark mark)
{
    return mark < PDM_LOOP_BLOCK_X || mark > PDM_LOOP_THREAD_Z
               ? "loops are bound to blocks or threads"
               : set_independent(fn, loop, mark);
}

const char *pdm_loop_bind_reduction(pdm_loop_fn *fn, pdm_loop_stmt *loop, pdm_loop_mark mark, bool reassociate)
{
    if (mark < PDM_LOOP_THREAD_X || mark > PDM_LOOP_THREAD_Z)
        return "reductions are bound to threads";
    if (!is_serial(loop))
        return NOT_SERIAL;
    if (!pdm_cinn_gpu_is_reduction(fn, loop))
        return "something else than reductions is in the loop";
    for (const pdm_loop_stmt *s = pdm_cinn_gpu_terms(loop); s && !reassociate; s = s->next) {
        if (pdm_dtype_is_float(fn->buffers.v[s->buffer].dtype))
            return "floats may not be added in another order";
    }
    return set_mark(fn, loop, mark);
}

const char *pdm_loop_annotate(pdm_loop_fn *fn, pdm_loop_stmt *loop, const char *key, int64_t value)
{
    const size_t len = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789._");
    pdm_loop_note *first = NULL, **last = &first;

    if (loop->kind != PDM_LOOP_FOR)
        return "it is no loop";
    if (len == 0 || key[len] != '\0')
        return "a key has other characters than letters, digits, dots and underscores";
    /* The list is made anew: copies of the loop may share it. */
    pdm_loop_note wanted = {.key = pdm_arena_strndup(&fn->arena, key, len), .value = value};
    bool there = false;
    for (const pdm_loop_note *note = loop->notes; note || !there; note = note ? note->next : NULL) {
        const bool same = !note || strcmp(note->key, key) == 0;
        pdm_loop_note *copy = pdm_arena_memdup(&fn->arena, same ? &wanted : note, sizeof wanted);
        if (!copy || !wanted.key) {
            fn->status = PDM_NOMEM;
            return NO_MEMORY;
        }
        there = there || same;
        copy->next = NULL;
        *last = copy;
        last = (pdm_loop_note **)&copy->next;
        if (!note)
            break;
    }
    loop->notes = first;
    return NULL;
}

/* ---- whether fusing is plain ----------------------------------------------------------------- */

typedef struct plainness {
    pdm_loop_fn *fn;
    const pdm_loop_stmt *outer, *inner;
    bool *seen; /* expressions that were looked at */
    size_t count;
} plainness;

static bool steps_equally(const plainness *p, uint32_t buffer, const pdm_loop_expr *const *indices)
{
    const pdm_loop_expr *at = pdm_loop_offset(p->fn, buffer, indices);
    const pdm_loop_expr *a = at ? pdm_loop_coefficient(p->fn, at, p->outer->var) : NULL;
    const pdm_loop_expr *b = at ? pdm_loop_coefficient(p->fn, at, p->inner->var) : NULL;

    return a && b && a == pdm_loop_binary(p->fn, PDM_LOOP_MUL, b, p->inner->extent);
}

static bool plain_expr(plainness *p, const pdm_loop_expr *e)
{
    if (e->id < p->count && p->seen[e->id])
        return true;
    if (e->id < p->count)
        p->seen[e->id] = true;
    if (e->kind == PDM_LOOP_VAR)
        return e->u.index != p->outer->var && e->u.index != p->inner->var;
    if (e->kind == PDM_LOOP_LOAD)
        return steps_equally(p, e->u.index, e->args);
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!plain_expr(p, e->args[i]))
            return false;
    }
    return true;
}

static bool plain_stmts(plainness *p, const pdm_loop_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        const bool plain = stmt->kind != PDM_LOOP_STORE
                               ? plain_expr(p, stmt->kind == PDM_LOOP_IF ? stmt->value : stmt->extent) &&
                                     plain_stmts(p, stmt->body)
                               : steps_equally(p, stmt->buffer, stmt->indices) &&
                                     plain_expr(p, stmt->value);
        if (!plain)
            return false;
    }
    return true;
}

bool pdm_loop_fuses_plainly(pdm_loop_fn *fn, pdm_loop_stmt *outer)
{
    plainness p = {.fn = fn, .outer = outer, .inner = only_loop(outer), .count = fn->num_exprs};

    if (!p.inner || fn->status != PDM_OK)
        return false;
    p.seen = calloc(p.count + 1, sizeof *p.seen);
    if (!p.seen)
        fn->status = PDM_NOMEM;
    const bool plain = p.seen && plain_stmts(&p, p.inner->body);
    free(p.seen);
    return plain && fn->status == PDM_OK;
}
