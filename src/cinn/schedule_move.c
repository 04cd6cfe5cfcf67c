/* Primitives that move computations: see schedule.h. */
#include <stdlib.h>

#include "cinn/schedule.h"

typedef const pdm_loop_expr *E;

enum { MAX_PATH = 64 };

/* ---- places ---------------------------------------------------------------------------------- */

bool pdm_loop_contains(const pdm_loop_stmt *outer, const pdm_loop_stmt *stmt)
{
    if (outer == stmt)
        return true;
    for (const pdm_loop_stmt *inner = outer->body; inner; inner = inner->next) {
        if (pdm_loop_contains(inner, stmt))
            return true;
    }
    return false;
}

/* What is around a statement, outermost first; SIZE_MAX: it is nowhere, or too deep. */
static size_t path_to(const pdm_loop_stmt *list, const pdm_loop_stmt *stmt, const pdm_loop_stmt **path)
{
    size_t n = 0;

    while (list && list != stmt) {
        if (!pdm_loop_contains(list, stmt)) {
            list = list->next;
            continue;
        }
        if (n == MAX_PATH)
            return SIZE_MAX;
        path[n++] = list;
        list = list->body;
    }
    return list ? n : SIZE_MAX;
}

/* Which of two statements comes first as text. */
static const pdm_loop_stmt *first_of(const pdm_loop_stmt *list, const pdm_loop_stmt *a,
                                     const pdm_loop_stmt *b)
{
    for (; list; list = list->next) {
        if (list == a || list == b)
            return list;
        const pdm_loop_stmt *found = first_of(list->body, a, b);
        if (found)
            return found;
    }
    return NULL;
}

static bool is_before(const pdm_loop_fn *fn, const pdm_loop_stmt *a, const pdm_loop_stmt *b)
{
    return a != b && first_of(fn->body, a, b) == a;
}

bool pdm_loop_is_shared_out(const pdm_loop_fn *fn, const pdm_loop_stmt *stmt)
{
    const pdm_loop_stmt *path[MAX_PATH];
    const size_t n = path_to(fn->body, stmt, path);

    for (size_t i = 0; i < n; i++) {
        if (n == SIZE_MAX || (path[i]->kind == PDM_LOOP_FOR && path[i]->mark != PDM_LOOP_SERIAL))
            return true;
    }
    return false;
}

/* Take a statement out, and what has nothing in it any more. */
static void prune(pdm_loop_stmt **list)
{
    while (*list) {
        prune(&(*list)->body);
        if ((*list)->kind != PDM_LOOP_STORE && !(*list)->body)
            *list = (*list)->next;
        else
            list = &(*list)->next;
    }
}

static void take_out(pdm_loop_fn *fn, const pdm_loop_stmt *stmt)
{
    pdm_loop_stmt **link = pdm_loop_link(&fn->body, stmt);

    *link = stmt->next;
    prune(&fn->body);
}

/* Nothing uses it any more: it needs no memory. */
static void give_up(pdm_loop_fn *fn, uint32_t buffer)
{
    pdm_loop_buffer *b = &fn->buffers.v[buffer];
    const E zero = pdm_loop_index(fn, 0);

    b->dims = pdm_arena_memdup(&fn->arena, &zero, sizeof zero);
    b->rank = 1;
    b->scope = PDM_LOOP_GLOBAL;
    if (!b->dims && fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
}

/* ---- what is read stays what it was ---------------------------------------------------------- */

/*
 * Whether a store comes before whoever reads, and never stores again what was read there: in later
 * turns of the loops around both it stores elsewhere.
 */
static bool is_final(pdm_loop_fn *fn, const pdm_loop_access *load, const pdm_loop_access *store)
{
    const pdm_loop_buffer *b = &fn->buffers.v[load->buffer];
    const pdm_loop_stmt *to_load[MAX_PATH], *to_store[MAX_PATH], *root = NULL;
    const size_t n = path_to(fn->body, load->stmt, to_load), m = path_to(fn->body, store->stmt, to_store);
    size_t begin = 0;

    if (n == SIZE_MAX || m == SIZE_MAX || !is_before(fn, store->stmt, load->stmt))
        return false;
    for (size_t i = 0; b->scope != PDM_LOOP_GLOBAL && i < n; i++) {
        if (to_load[i]->kind == PDM_LOOP_FOR && to_load[i]->var == b->home)
            begin = i + 1; /* it is another one in each turn */
    }
    for (size_t i = 0; i < n && i < m && to_load[i] == to_store[i]; i++) {
        if (i < begin || to_load[i]->kind != PDM_LOOP_FOR)
            continue;
        root = root ? root : to_load[i];
        if (!pdm_loop_forces(fn, root, to_load[i], load, store))
            return false;
    }
    return true;
}

/* The same of all loads in a statement but those of one buffer; all: every access of the function. */
static bool reads_final(pdm_loop_fn *fn, const pdm_loop_accesses *all, const pdm_loop_stmt *stmt,
                        uint32_t except)
{
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *load = &all->v[i];
        if (load->store || load->buffer == except || !pdm_loop_contains(stmt, load->stmt))
            continue;
        for (size_t k = 0; k < all->n; k++) {
            if (all->v[k].store && all->v[k].buffer == load->buffer &&
                !is_final(fn, load, &all->v[k]))
                return false;
        }
    }
    return true;
}

/* Whether what lives in turns of loops is there, too, at another statement. */
static bool locals_reach(pdm_loop_fn *fn, const pdm_loop_accesses *all, const pdm_loop_stmt *from,
                         const pdm_loop_stmt *to)
{
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_buffer *b = &fn->buffers.v[all->v[i].buffer];
        if (!pdm_loop_contains(from, all->v[i].stmt) || b->scope == PDM_LOOP_GLOBAL)
            continue;
        const pdm_loop_stmt *home = pdm_loop_find(fn->body, b->home);
        if (!home || (!pdm_loop_contains(from, home) && !pdm_loop_contains(home, to)))
            return false;
    }
    return true;
}

/* ---- inline ---------------------------------------------------------------------------------- */

typedef struct inlining {
    uint32_t buffer;
    E value;
    const pdm_loop_stmt *store;
} inlining;

static E substituted(pdm_loop_fn *fn, E e, const E *with)
{
    pdm_loop_stmt stmt = {.kind = PDM_LOOP_IF, .value = e};
    E *map = calloc((size_t)fn->num_vars + 1, sizeof *map);

    if (!map && fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
    for (uint32_t i = 0; map && i < fn->num_vars; i++)
        map[i] = with[i];
    if (map)
        pdm_loop_substitute(fn, &stmt, map);
    free(map);
    return fn->status == PDM_OK ? stmt.value : NULL;
}

static E inline_load(void *user, pdm_loop_fn *fn, E e, const E *args)
{
    const inlining *in = user;
    E made = NULL;

    if (e->kind != PDM_LOOP_LOAD || e->u.index != in->buffer)
        return NULL;
    E *with = calloc((size_t)fn->num_vars + 1, sizeof *with);
    if (!with)
        fn->status = PDM_NOMEM;
    for (uint32_t d = 0; with && d < fn->buffers.v[in->buffer].rank; d++) {
        if (in->store->indices[d]->kind == PDM_LOOP_VAR)
            with[in->store->indices[d]->u.index] = args[d];
    }
    if (with)
        made = substituted(fn, in->value, with);
    free(with);
    return made ? made : e;
}

/* Whether indices are variables of loops around a statement over all of their axes, each another one. */
static bool is_plain(const pdm_loop_fn *fn, uint32_t buffer, const E *indices, const pdm_loop_stmt **path,
                     size_t n, const pdm_loop_stmt **axes)
{
    const pdm_loop_buffer *b = &fn->buffers.v[buffer];

    for (uint32_t d = 0; d < b->rank; d++) {
        axes[d] = NULL;
        if (pdm_loop_is_int(indices[d], 0) && pdm_loop_is_int(b->dims[d], 1))
            continue;
        for (size_t i = 0; i < n; i++) {
            if (path[i]->kind == PDM_LOOP_FOR && indices[d]->kind == PDM_LOOP_VAR &&
                path[i]->var == indices[d]->u.index && path[i]->extent == b->dims[d])
                axes[d] = path[i];
        }
        if (!axes[d])
            return false;
        for (uint32_t other = 0; other < d; other++) {
            if (axes[other] == axes[d])
                return false;
        }
    }
    return true;
}

static bool is_axis(const pdm_loop_fn *fn, uint32_t buffer, const pdm_loop_stmt *const *axes,
                    const pdm_loop_stmt *loop)
{
    for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++) {
        if (axes[d] == loop)
            return true;
    }
    return false;
}

static const pdm_loop_stmt *only_store(const pdm_loop_accesses *all, uint32_t buffer)
{
    const pdm_loop_stmt *found = NULL;

    for (size_t i = 0; i < all->n; i++) {
        if (!all->v[i].store || all->v[i].buffer != buffer)
            continue;
        if (found)
            return NULL;
        found = all->v[i].stmt;
    }
    return found;
}

/* Why the value of a temporary cannot be computed where it is read. */
static const char *may_inline(pdm_loop_fn *fn, const pdm_loop_accesses *all, uint32_t buffer,
                              const pdm_loop_stmt *store)
{
    const pdm_loop_stmt *path[MAX_PATH], *axes[PDM_MAX_RANK];
    const size_t n = store ? path_to(fn->body, store, path) : SIZE_MAX;
    bool read = false;

    if (n == SIZE_MAX)
        return "it is not stored by one statement";
    if (!is_plain(fn, buffer, store->indices, path, n, axes))
        return "its elements are not stored index by index";
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        if (a->store || a->buffer != buffer)
            continue;
        if (!is_before(fn, store, a->stmt))
            return "it is read before it is stored";
        if (!locals_reach(fn, all, store, a->stmt))
            return "what it is computed from is not there where it is read";
        /* What is around the store is an axis, or around whoever reads as well. */
        for (size_t k = 0; k < n; k++) {
            if (!is_axis(fn, buffer, axes, path[k]) && !pdm_loop_contains(path[k], a->stmt))
                return "it is stored more than once, or on a condition";
        }
        read = true;
    }
    if (!read)
        return "nothing reads it";
    return reads_final(fn, all, store, UINT32_MAX) ? NULL
                                                   : "what it is computed from changes before it is read";
}

static bool is_temp(const pdm_loop_fn *fn, uint32_t buffer)
{
    return buffer < fn->buffers.n && fn->buffers.v[buffer].role == PDM_LOOP_TEMP && !fn->flat;
}

const char *pdm_loop_compute_inline(pdm_loop_fn *fn, uint32_t buffer)
{
    pdm_loop_accesses all = {0};
    const char *why = NULL;

    if (!is_temp(fn, buffer))
        return "it is no temporary";
    if (!pdm_loop_collect(fn, fn->body, true, &all))
        why = NO_MEMORY;
    const pdm_loop_stmt *store = only_store(&all, buffer);
    if (!why)
        why = may_inline(fn, &all, buffer, store);
    if (!why) {
        inlining in = {buffer, store->value, store};
        take_out(fn, store);
        if (pdm_loop_rewrite(fn, fn->body, inline_load, &in))
            give_up(fn, buffer);
    }
    PDM_VEC_FREE(&all);
    return fn->status != PDM_OK ? NO_MEMORY : why;
}

/* ---- the other way round --------------------------------------------------------------------- */

/* The one statement that reads a buffer, and its indices there. */
static const pdm_loop_stmt *only_reader(const pdm_loop_fn *fn, const pdm_loop_accesses *all,
                                        uint32_t buffer, const E **indices)
{
    const pdm_loop_stmt *found = NULL;

    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        if (a->store || a->buffer != buffer)
            continue;
        if ((found && found != a->stmt) || a->stmt->kind != PDM_LOOP_STORE)
            return NULL;
        for (uint32_t d = 0; found && d < fn->buffers.v[buffer].rank; d++) {
            if ((*indices)[d] != a->indices[d])
                return NULL;
        }
        found = a->stmt;
        *indices = a->indices;
    }
    return found;
}

/* Whether two statements have a loop around both. */
static bool shares_loop(const pdm_loop_fn *fn, const pdm_loop_stmt *a, const pdm_loop_stmt *b)
{
    const pdm_loop_stmt *to_a[MAX_PATH], *to_b[MAX_PATH];
    const size_t n = path_to(fn->body, a, to_a), m = path_to(fn->body, b, to_b);

    return n == SIZE_MAX || m == SIZE_MAX || (n > 0 && m > 0 && to_a[0] == to_b[0]);
}

/* Whether the reader may be done where the store is. */
static const char *may_go_back(pdm_loop_fn *fn, const pdm_loop_accesses *all, uint32_t buffer,
                               const pdm_loop_stmt *store, const pdm_loop_stmt *reader)
{
    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        const bool other = a->buffer == reader->buffer && a->stmt != reader;
        if (other && !is_before(fn, reader, a->stmt) &&
            (!is_before(fn, a->stmt, store) || shares_loop(fn, a->stmt, store)))
            return "what the reader stores is used before";
        if (a->stmt != reader || a->store || a->buffer == buffer)
            continue;
        if (a->buffer == reader->buffer)
            return "the reader adds to what it stores";
        for (size_t k = 0; k < all->n; k++) {
            const pdm_loop_access *s = &all->v[k];
            if (s->store && s->buffer == a->buffer &&
                (!is_before(fn, s->stmt, store) || shares_loop(fn, s->stmt, store)))
                return "what the reader needs, too, is not there yet";
        }
    }
    return locals_reach(fn, all, reader, store) ? NULL
                                                : "what the reader needs, too, is not there yet";
}

static E value_instead(void *user, pdm_loop_fn *fn, E e, const E *args)
{
    const inlining *in = user;

    (void)fn;
    (void)args;
    return e->kind == PDM_LOOP_LOAD && e->u.index == in->buffer ? in->value : NULL;
}

/* The reader's store, with its variables as the store's indices and the value for the load. */
static bool go_back(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *store, const pdm_loop_stmt *reader,
                    const E *indices)
{
    E *with = calloc((size_t)fn->num_vars + 1, sizeof *with);
    inlining in = {buffer, store->value, store};
    pdm_loop_stmt moved = *reader;

    if (!with) {
        fn->status = PDM_NOMEM;
        return false;
    }
    for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++) {
        if (indices[d]->kind == PDM_LOOP_VAR)
            with[indices[d]->u.index] = store->indices[d];
    }
    moved.next = NULL;
    pdm_loop_substitute(fn, &moved, with);
    free(with);
    if (!pdm_loop_rewrite(fn, &moved, value_instead, &in))
        return false;
    take_out(fn, reader);
    store->buffer = moved.buffer;
    store->indices = moved.indices;
    store->value = moved.value;
    give_up(fn, buffer);
    return fn->status == PDM_OK;
}

/* Whether turns of the loops around a statement, but not around another, all store elsewhere. */
static bool stores_each_once(pdm_loop_fn *fn, const pdm_loop_stmt *stmt, const pdm_loop_stmt **path, size_t n,
                             const pdm_loop_stmt *other)
{
    const pdm_loop_access store = {stmt, stmt->buffer, true, stmt->indices};
    const pdm_loop_stmt *root = NULL;

    for (size_t i = 0; i < n; i++) {
        if (path[i]->kind != PDM_LOOP_FOR || pdm_loop_contains(path[i], other))
            continue;
        root = root ? root : path[i];
        if (!pdm_loop_forces(fn, root, path[i], &store, &store))
            return false;
    }
    return true;
}

const char *pdm_loop_reverse_compute_inline(pdm_loop_fn *fn, uint32_t buffer)
{
    const pdm_loop_stmt *path[MAX_PATH], *axes[PDM_MAX_RANK], *reader, *store;
    pdm_loop_accesses all = {0};
    const E *indices = NULL;
    const char *why = NULL;

    if (!is_temp(fn, buffer))
        return "it is no temporary";
    if (!pdm_loop_collect(fn, fn->body, true, &all))
        why = NO_MEMORY;
    store = only_store(&all, buffer);
    reader = only_reader(fn, &all, buffer, &indices);
    if (!why && (!store || !reader || store == reader))
        why = "it is not stored by one statement and read by another one";
    const size_t n = why ? SIZE_MAX : path_to(fn->body, reader, path);
    if (!why && (n == SIZE_MAX || !is_before(fn, store, reader)))
        why = "it is read before it is stored";
    if (!why && !is_plain(fn, buffer, indices, path, n, axes))
        why = "its elements are not read index by index";
    for (size_t i = 0; !why && i < n; i++) {
        if (!is_axis(fn, buffer, axes, path[i]) && !pdm_loop_contains(path[i], store))
            why = "it is read more than once, or on a condition";
        else if (is_axis(fn, buffer, axes, path[i]) && pdm_loop_contains(path[i], store))
            why = "it is stored in the loop that reads it";
    }
    for (size_t i = 0; !why && i < all.n; i++) {
        if (all.v[i].stmt == store && !all.v[i].store && all.v[i].buffer == reader->buffer)
            why = "what is stored is made of what the reader stores";
    }
    if (!why && !stores_each_once(fn, reader, path, n, store))
        why = "the reader stores an element more than once";
    if (!why)
        why = may_go_back(fn, &all, buffer, store, reader);
    if (!why)
        go_back(fn, buffer, *pdm_loop_link(&fn->body, store), reader, indices);
    PDM_VEC_FREE(&all);
    return fn->status != PDM_OK ? NO_MEMORY : why;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool stores_only(const pdm_loop_stmt *stmt, uint32_t buffer)
{
    if (stmt->kind == PDM_LOOP_STORE)
        return stmt->buffer == buffer;
    for (const pdm_loop_stmt *inner = stmt->body; inner; inner = inner->next) {
        if (!stores_only(inner, buffer))
            return false;
    }
    return true;
}

static pdm_loop_stmt *outermost_block(pdm_loop_stmt *list, uint32_t buffer)
{
    for (; list; list = list->next) {
        if (stores_only(list, buffer))
            return list;
        pdm_loop_stmt *inside = outermost_block(list->body, buffer);
        if (inside)
            return inside;
    }
    return NULL;
}

/* The first statement begins each element, and others go on with it. */
static const char *check_block(pdm_loop_fn *fn, const pdm_loop_accesses *all, uint32_t buffer,
                               pdm_loop_block *out)
{
    const pdm_loop_stmt *path[MAX_PATH], *axes[PDM_MAX_RANK];
    const E *indices = NULL;
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        if (a->buffer != buffer || (!a->store && !pdm_loop_contains(out->stmt, a->stmt)))
            continue;
        if (!pdm_loop_contains(out->stmt, a->stmt))
            return "it is stored in several places";
        if (!indices) {
            const pdm_loop_stmt *first = a->stmt;
            if (!a->store)
                return "it is read before it is stored";
            indices = first->indices;
            n = first == out->stmt ? 0 : path_to(out->stmt->body, first, path + 1);
            if (n == SIZE_MAX || n + 1 >= MAX_PATH)
                return "it is too deep in loops";
            path[0] = out->stmt;
            n += first != out->stmt;
        }
        for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++) {
            if (a->indices[d] != indices[d])
                return "its elements are not stored index by index";
        }
    }
    if (!indices || !is_plain(fn, buffer, indices, path, n, axes))
        return "its elements are not stored index by index";
    for (size_t i = 0; i < n; i++) {
        if (!is_axis(fn, buffer, axes, path[i]) || path[i]->mark != PDM_LOOP_SERIAL)
            return "it begins in a loop that is none over an axis, or on a condition";
    }
    for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++)
        out->axes[d] = (pdm_loop_stmt *)(uintptr_t)axes[d];
    return NULL;
}

const char *pdm_loop_find_block(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_block *out)
{
    pdm_loop_accesses all = {0};
    const char *why = NULL;

    out->stmt = outermost_block(fn->body, buffer);
    if (!out->stmt)
        return "its stores do not stand by themselves";
    if (!pdm_loop_collect(fn, fn->body, true, &all))
        why = NO_MEMORY;
    if (!why)
        why = check_block(fn, &all, buffer, out);
    PDM_VEC_FREE(&all);
    return why;
}

/* ---- compute at ------------------------------------------------------------------------------ */

/* What of an axis is read in a turn of a loop: extent elements from base on; NULL: all. */
typedef struct region {
    E base;
    int64_t extent;
} region;

static void join(region *r, bool first, E base, int64_t extent)
{
    if (first)
        *r = (region){base, extent};
    else if (r->base != base)
        r->base = NULL;
    else if (extent > r->extent)
        r->extent = extent;
}

/* NULL, or why; regions are of the axes. */
static const char *find_regions(pdm_loop_fn *fn, const pdm_loop_accesses *all, uint32_t buffer,
                                const pdm_loop_stmt *block, const pdm_loop_stmt *loop, region *regions)
{
    bool first = true;

    for (size_t i = 0; i < all->n; i++) {
        const pdm_loop_access *a = &all->v[i];
        if (a->buffer != buffer || pdm_loop_contains(block, a->stmt))
            continue;
        if (a->stmt == loop || !pdm_loop_contains(loop, a->stmt))
            return "it is read elsewhere, too";
        for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++) {
            int64_t extent = 0;
            E base, inner;
            if (!pdm_loop_split_index(fn, a->indices[d], loop, &base, &inner, &extent))
                base = NULL;
            join(&regions[d], first, base, extent);
        }
        first = false;
    }
    return first ? "nothing reads it" : NULL;
}

static pdm_loop_stmt **first_reader(pdm_loop_fn *fn, pdm_loop_stmt **list, const pdm_loop_accesses *all,
                                    uint32_t buffer)
{
    (void)fn;
    for (; *list; list = &(*list)->next) {
        for (size_t i = 0; i < all->n; i++) {
            if (all->v[i].buffer == buffer && pdm_loop_contains(*list, all->v[i].stmt))
                return list;
        }
    }
    return NULL;
}

/* A loop of the block has only those turns that a region has. */
static void narrow(pdm_loop_fn *fn, pdm_loop_stmt **list, pdm_loop_stmt *loop, const region *r)
{
    E *with;

    if (!r->base || (loop->extent->kind == PDM_LOOP_CONST && loop->extent->u.i <= r->extent))
        return;
    with = calloc((size_t)fn->num_vars + 1, sizeof *with);
    if (!with) {
        fn->status = PDM_NOMEM;
        return;
    }
    const E at = r->extent == 1 ? r->base
                                : pdm_loop_binary(fn, PDM_LOOP_ADD, r->base, pdm_loop_var(fn, loop->var));
    const E inside = pdm_loop_binary(fn, PDM_LOOP_LT, at, loop->extent);
    const bool certain = at && at->kind == PDM_LOOP_VAR &&
                         pdm_loop_find(fn->body, at->u.index)->extent == loop->extent;
    with[loop->var] = at;
    pdm_loop_substitute(fn, loop->body, with);
    free(with);
    /* What is read does not go beyond the end, but a region may, or a place where nothing is read. */
    if (!certain)
        loop->body = pdm_loop_if(fn, inside, loop->body);
    if (r->extent > 1) {
        loop->extent = pdm_loop_index(fn, r->extent);
        return;
    }
    pdm_loop_stmt **link = pdm_loop_link(list, loop), **last = &loop->body;
    while (*last)
        last = &(*last)->next;
    *last = loop->next;
    *link = loop->body;
}

static bool is_home(const pdm_loop_fn *fn, uint32_t var)
{
    for (size_t i = 0; i < fn->buffers.n; i++) {
        if (fn->buffers.v[i].scope != PDM_LOOP_GLOBAL && fn->buffers.v[i].home == var)
            return true;
    }
    return false;
}

static const char *may_compute_at(pdm_loop_fn *fn, const pdm_loop_accesses *all, uint32_t buffer,
                                  const pdm_loop_block *block, pdm_loop_stmt *loop)
{
    const pdm_loop_stmt *at = block->stmt->next;

    while (at && !pdm_loop_contains(at, loop))
        at = at->next;
    if (!at)
        return "the loop does not stand behind it in the same list";
    if (loop->mark != PDM_LOOP_SERIAL || pdm_loop_is_shared_out(fn, loop))
        return "several turns are done at a time";
    for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++) {
        if (block->axes[d] && is_home(fn, block->axes[d]->var))
            return "a temporary lives in a loop of it";
    }
    return reads_final(fn, all, block->stmt, buffer) ? NULL
                                                     : "what it is computed from changes before it is read";
}

const char *pdm_loop_compute_at(pdm_loop_fn *fn, uint32_t buffer, pdm_loop_stmt *loop)
{
    region regions[PDM_MAX_RANK];
    pdm_loop_block block;
    pdm_loop_accesses all = {0};

    if (!is_temp(fn, buffer))
        return "it is no temporary";
    if (loop->kind != PDM_LOOP_FOR)
        return "it is no loop";
    const char *why = pdm_loop_find_block(fn, buffer, &block);
    if (!why && !pdm_loop_collect(fn, fn->body, true, &all))
        why = NO_MEMORY;
    if (!why)
        why = may_compute_at(fn, &all, buffer, &block, loop);
    if (!why)
        why = find_regions(fn, &all, buffer, block.stmt, loop, regions);
    if (!why) {
        pdm_loop_stmt **link = pdm_loop_link(&fn->body, block.stmt);
        *link = block.stmt->next;
        block.stmt->next = NULL;
        pdm_loop_stmt *list = block.stmt;
        for (uint32_t d = 0; d < fn->buffers.v[buffer].rank; d++) {
            if (block.axes[d])
                narrow(fn, &list, block.axes[d], &regions[d]);
        }
        link = first_reader(fn, &loop->body, &all, buffer);
        pdm_loop_append(&list, *link);
        *link = list;
    }
    PDM_VEC_FREE(&all);
    return fn->status != PDM_OK ? NO_MEMORY : why;
}
