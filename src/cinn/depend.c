/* Dependences: see depend.h. */
#include "cinn/depend.h"

#include <stdlib.h>

bool pdm_loop_mentions(const pdm_loop_expr *e, uint32_t var)
{
    if (e->kind == PDM_LOOP_VAR)
        return e->u.index == var;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (pdm_loop_mentions(e->args[i], var))
            return true;
    }
    return false;
}

bool pdm_loop_has_loads(const pdm_loop_expr *e)
{
    if (e->kind == PDM_LOOP_LOAD)
        return true;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (pdm_loop_has_loads(e->args[i]))
            return true;
    }
    return false;
}

/* ---- accesses -------------------------------------------------------------------------------- */

typedef struct collector {
    pdm_loop_accesses *out;
    uint32_t *seen; /* by expression: the statement in which it was seen */
    uint32_t now;
    bool failed;
} collector;

static void collect_expr(collector *c, const pdm_loop_stmt *stmt, const pdm_loop_expr *e)
{
    if (c->seen[e->id] == c->now)
        return;
    c->seen[e->id] = c->now;
    for (uint32_t i = 0; i < e->num_args; i++)
        collect_expr(c, stmt, e->args[i]);
    const pdm_loop_access access = {stmt, e->u.index, false, e->args};
    if (e->kind == PDM_LOOP_LOAD && !PDM_VEC_PUSH(c->out, access))
        c->failed = true;
}

static void collect(collector *c, const pdm_loop_fn *fn, const pdm_loop_stmt *stmt, bool all_next)
{
    for (; stmt; stmt = all_next ? stmt->next : NULL) {
        c->now++;
        if (stmt->kind == PDM_LOOP_STORE) {
            for (uint32_t i = 0; i < pdm_loop_num_indices(fn, stmt->buffer); i++)
                collect_expr(c, stmt, stmt->indices[i]);
        }
        collect_expr(c, stmt, stmt->kind == PDM_LOOP_FOR ? stmt->extent : stmt->value);
        const pdm_loop_access store = {stmt, stmt->buffer, true, stmt->indices};
        if (stmt->kind == PDM_LOOP_STORE && !PDM_VEC_PUSH(c->out, store))
            c->failed = true;
        collect(c, fn, stmt->body, true);
    }
}

bool pdm_loop_collect(pdm_loop_fn *fn, const pdm_loop_stmt *stmt, bool all_next,
                      pdm_loop_accesses *out)
{
    collector c = {.out = out, .seen = calloc(fn->num_exprs + 1, sizeof *c.seen)};

    if (c.seen && fn->status == PDM_OK)
        collect(&c, fn, stmt, all_next);
    if ((!c.seen || c.failed) && fn->status == PDM_OK)
        fn->status = PDM_NOMEM;
    free(c.seen);
    return fn->status == PDM_OK;
}

/* ---- digits ---------------------------------------------------------------------------------- */

enum { MAX_TERMS = 12, MAX_FACTS = 32 };

typedef const pdm_loop_expr *E;

/* That a value is the same in both turns: a where the first access is made, b at the second. */
typedef struct fact {
    E a, b;
} fact;

typedef struct problem {
    pdm_loop_fn *fn;
    const pdm_loop_stmt *root, *goal;
    fact facts[MAX_FACTS];
    uint32_t num_facts;
} problem;

/* The loop over a variable, if it is root or in it; *depth counts from root. */
static const pdm_loop_stmt *find_inside(const pdm_loop_stmt *list, uint32_t var, bool all_next,
                                        uint32_t *depth)
{
    for (const pdm_loop_stmt *stmt = list; stmt; stmt = all_next ? stmt->next : NULL) {
        if (stmt->kind == PDM_LOOP_FOR && stmt->var == var)
            return stmt;
        uint32_t below = *depth + (stmt->kind == PDM_LOOP_FOR);
        const pdm_loop_stmt *found = find_inside(stmt->body, var, true, &below);
        if (found) {
            *depth = below;
            return found;
        }
    }
    return NULL;
}

static const pdm_loop_stmt *inner_loop(const problem *p, uint32_t var, uint32_t *depth)
{
    *depth = 0;
    return find_inside(p->root, var, false, depth);
}

/* Whether its value may differ between the turns. */
static bool varies(const problem *p, E e)
{
    uint32_t depth;

    if (e->kind == PDM_LOOP_LOAD)
        return true;
    if (e->kind == PDM_LOOP_VAR)
        return inner_loop(p, e->u.index, &depth) != NULL;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (varies(p, e->args[i]))
            return true;
    }
    return false;
}

static bool is_op(E e, pdm_loop_op op)
{
    return e->kind == PDM_LOOP_BINARY && e->op == op;
}

typedef struct term {
    E factor, atom, extent; /* extent: the atom is below it; NULL: not known */
} term;

typedef struct terms {
    term v[MAX_TERMS];
    uint32_t n;
    E fixed; /* what does not vary */
    bool failed;
} terms;

static E quotient_up(pdm_loop_fn *fn, E extent, E by)
{
    const bool numbers = extent->kind == PDM_LOOP_CONST && by->kind == PDM_LOOP_CONST && by->u.i > 0;

    return numbers ? pdm_loop_index(fn, (extent->u.i + by->u.i - 1) / by->u.i)
                   : pdm_loop_quotient(fn, extent, by);
}

/* What a value is below. */
static E extent_of(const problem *p, E e)
{
    uint32_t depth;

    if (e->kind == PDM_LOOP_VAR) {
        const pdm_loop_stmt *loop = inner_loop(p, e->u.index, &depth);
        return loop && !varies(p, loop->extent) ? loop->extent : NULL;
    }
    if (is_op(e, PDM_LOOP_MOD) && !varies(p, e->args[1]))
        return e->args[1];
    if (is_op(e, PDM_LOOP_DIV) && !varies(p, e->args[1])) {
        const E extent = extent_of(p, e->args[0]);
        return extent ? quotient_up(p->fn, extent, e->args[1]) : NULL;
    }
    if (is_op(e, PDM_LOOP_ADD) || is_op(e, PDM_LOOP_MUL)) {
        /* of numbers only */
        const E a = e->args[0]->kind == PDM_LOOP_CONST ? e->args[0] : extent_of(p, e->args[0]);
        const E b = e->args[1]->kind == PDM_LOOP_CONST ? e->args[1] : extent_of(p, e->args[1]);
        int64_t most;
        if (!a || !b || a->kind != PDM_LOOP_CONST || b->kind != PDM_LOOP_CONST)
            return NULL;
        const int64_t top_a = e->args[0]->kind == PDM_LOOP_CONST ? a->u.i : a->u.i - 1;
        const int64_t top_b = e->args[1]->kind == PDM_LOOP_CONST ? b->u.i : b->u.i - 1;
        const bool over = e->op == PDM_LOOP_ADD ? __builtin_add_overflow(top_a, top_b, &most)
                                                : __builtin_mul_overflow(top_a, top_b, &most);
        return over || top_a < 0 || top_b < 0 || most == INT64_MAX ? NULL
                                                                  : pdm_loop_index(p->fn, most + 1);
    }
    return NULL;
}

static void add_term(const problem *p, terms *t, E factor, E atom)
{
    if (t->n == MAX_TERMS || !factor) {
        t->failed = true;
        return;
    }
    t->v[t->n++] = (term){factor, atom, extent_of(p, atom)};
}

/* A sum as fixed + factor * atom + ... */
static void split_sum(const problem *p, E e, terms *t)
{
    E factor = pdm_loop_index(p->fn, 1), atom = NULL;

    if (is_op(e, PDM_LOOP_ADD)) {
        split_sum(p, e->args[0], t);
        split_sum(p, e->args[1], t);
        return;
    }
    if (!varies(p, e)) {
        t->fixed = pdm_loop_binary(p->fn, PDM_LOOP_ADD, t->fixed, e);
        return;
    }
    /* Products stand as ((a * b) * c). */
    for (; is_op(e, PDM_LOOP_MUL); e = e->args[0]) {
        if (!varies(p, e->args[1])) {
            factor = pdm_loop_binary(p->fn, PDM_LOOP_MUL, factor, e->args[1]);
        } else if (atom || varies(p, e->args[0])) {
            t->failed = true;
            return;
        } else {
            atom = e->args[1];
        }
    }
    if (atom)
        factor = pdm_loop_binary(p->fn, PDM_LOOP_MUL, factor, e);
    add_term(p, t, factor, atom ? atom : e);
}

/* From the point of view of a turn of root: its own variable does not vary. */
bool pdm_loop_split_index(pdm_loop_fn *fn, E e, const pdm_loop_stmt *loop, E *base, E *inner,
                          int64_t *extent)
{
    pdm_loop_stmt body = *loop;
    problem p = {.fn = fn, .root = &body};
    terms t = {.fixed = pdm_loop_index(fn, 0)};
    const E zero = t.fixed;

    body.var = UINT32_MAX;
    body.next = NULL;
    split_sum(&p, e, &t);
    *inner = zero;
    *extent = 1;
    for (uint32_t i = 0; !t.failed && i < t.n; i++) {
        const E most = t.v[i].extent, factor = t.v[i].factor;
        int64_t times;
        if (!most || most->kind != PDM_LOOP_CONST || factor->kind != PDM_LOOP_CONST ||
            factor->u.i < 1 || most->u.i < 1 ||
            __builtin_mul_overflow(most->u.i - 1, factor->u.i, &times) ||
            __builtin_add_overflow(*extent, times, extent))
            return false;
        *inner = pdm_loop_binary(fn, PDM_LOOP_ADD, *inner,
                                 pdm_loop_binary(fn, PDM_LOOP_MUL, factor, t.v[i].atom));
    }
    *base = t.fixed;
    return !t.failed && fn->status == PDM_OK;
}

/* Whether e is at least least, both being positive. */
static bool at_least(pdm_loop_fn *fn, E e, E least)
{
    if (!e || !least)
        return false;
    if (e->kind == PDM_LOOP_CONST && least->kind == PDM_LOOP_CONST)
        return e->u.i >= least->u.i;
    const E times = pdm_loop_quotient(fn, e, least);
    return times && !(times->kind == PDM_LOOP_CONST && times->u.i <= 0);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void learn(problem *p, E a, E b)
{
    for (uint32_t i = 0; i < p->num_facts; i++) {
        if (p->facts[i].a == a && p->facts[i].b == b)
            return;
    }
    if (p->num_facts < MAX_FACTS)
        p->facts[p->num_facts++] = (fact){a, b};
}

static const term *with_factor(const terms *t, E factor, bool *twice)
{
    const term *found = NULL;

    for (uint32_t i = 0; i < t->n; i++) {
        if (t->v[i].factor != factor)
            continue;
        *twice = *twice || found;
        found = &t->v[i];
    }
    return found;
}

/* Whether the digit of this factor, whatever it is, stays below the next greater factor. */
static bool digit_fits(problem *p, const terms *a, const terms *b, E factor, E next)
{
    bool twice = false;
    const term *in[2] = {with_factor(a, factor, &twice), with_factor(b, factor, &twice)};

    if (twice)
        return false;
    for (int i = 0; i < 2; i++) {
        if (in[i] && (!in[i]->extent || !at_least(p->fn, next, pdm_loop_binary(p->fn, PDM_LOOP_MUL,
                                                                              factor, in[i]->extent))))
            return false;
    }
    return true;
}

/* From an equal sum: equal digits, if each stays below the factor of the next. */
static void learn_digits(problem *p, const fact *f)
{
    terms t[2] = {{.fixed = pdm_loop_index(p->fn, 0)}, {.fixed = pdm_loop_index(p->fn, 0)}};
    E factors[2 * MAX_TERMS];
    uint32_t n = 0;

    split_sum(p, f->a, &t[0]);
    split_sum(p, f->b, &t[1]);
    if (t[0].failed || t[1].failed || t[0].fixed != t[1].fixed || p->fn->status != PDM_OK)
        return;
    for (int side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < t[side].n; i++) {
            const E factor = t[side].v[i].factor;
            uint32_t at = 0;
            while (at < n && factors[at] != factor)
                at++;
            if (!pdm_loop_is_positive(factor))
                return;
            if (at == n)
                factors[n++] = factor;
        }
    }
    /* The smallest first: each is at least the one before times what its digit is below. */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t least = i;
        for (; least < n; least++) {
            uint32_t k = i;
            while (k < n && (k == least || digit_fits(p, &t[0], &t[1], factors[least], factors[k])))
                k++;
            if (k == n)
                break;
        }
        if (least == n)
            return;
        const E factor = factors[least];
        factors[least] = factors[i];
        factors[i] = factor;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool twice = false;
        const term *a = with_factor(&t[0], factors[i], &twice);
        const term *b = with_factor(&t[1], factors[i], &twice);
        if (a && b && !twice)
            learn(p, a->atom, b->atom);
    }
}

/* x % m is x where x is below m. */
static void learn_rest(problem *p, const fact *f)
{
    if (!is_op(f->a, PDM_LOOP_MOD) || !is_op(f->b, PDM_LOOP_MOD) || f->a->args[1] != f->b->args[1])
        return;
    if (at_least(p->fn, f->a->args[1], extent_of(p, f->a->args[0])) &&
        at_least(p->fn, f->b->args[1], extent_of(p, f->b->args[0])))
        learn(p, f->a->args[0], f->b->args[0]);
}

/* x / m and x % m together are x. */
static void learn_whole(problem *p, const fact *f)
{
    if (!is_op(f->a, PDM_LOOP_DIV) || !is_op(f->b, PDM_LOOP_DIV) || f->a->args[1] != f->b->args[1] ||
        varies(p, f->a->args[1]))
        return;
    for (uint32_t i = 0; i < p->num_facts; i++) {
        const fact *g = &p->facts[i];
        if (is_op(g->a, PDM_LOOP_MOD) && is_op(g->b, PDM_LOOP_MOD) && g->a->args[0] == f->a->args[0] &&
            g->b->args[0] == f->b->args[0] && g->a->args[1] == f->a->args[1] &&
            g->b->args[1] == f->b->args[1]) {
            learn(p, f->a->args[0], f->b->args[0]);
            return;
        }
    }
}

static bool is_goal(const problem *p, const fact *f)
{
    return f->a->kind == PDM_LOOP_VAR && f->a == f->b && f->a->u.index == p->goal->var;
}

bool pdm_loop_forces(pdm_loop_fn *fn, const pdm_loop_stmt *root, const pdm_loop_stmt *goal,
                     const pdm_loop_access *a, const pdm_loop_access *b)
{
    problem p = {.fn = fn, .root = root, .goal = goal};

    for (uint32_t i = 0; i < pdm_loop_num_indices(fn, a->buffer); i++)
        learn(&p, a->indices[i], b->indices[i]);
    /* Each round may find the other half of a division. */
    for (uint32_t before = 0; before < p.num_facts && fn->status == PDM_OK;) {
        before = p.num_facts;
        for (uint32_t i = 0; i < p.num_facts; i++) {
            if (is_goal(&p, &p.facts[i]))
                return true;
            learn_digits(&p, &p.facts[i]);
            learn_rest(&p, &p.facts[i]);
            learn_whole(&p, &p.facts[i]);
        }
    }
    return false;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Whether a buffer is another one in each turn of a loop, since it lives in turns of that or of one
 * inside of it. */
static bool is_private(const pdm_loop_fn *fn, const pdm_loop_stmt *loop, uint32_t buffer)
{
    const pdm_loop_buffer *b = &fn->buffers.v[buffer];
    uint32_t depth = 0;

    return b->scope != PDM_LOOP_GLOBAL && find_inside(loop, b->home, false, &depth) != NULL;
}

bool pdm_loop_all_force(pdm_loop_fn *fn, const pdm_loop_stmt *root, const pdm_loop_stmt *goal,
                        const pdm_loop_stmt *other)
{
    pdm_loop_accesses all = {0};
    bool forced = pdm_loop_collect(fn, root, false, &all);

    for (size_t i = 0; forced && i < all.n; i++) {
        if (!all.v[i].store || is_private(fn, goal, all.v[i].buffer))
            continue;
        for (size_t k = 0; forced && k < all.n; k++) {
            /* Two stores are met twice. */
            if (all.v[k].buffer == all.v[i].buffer && !(all.v[k].store && k < i))
                forced = pdm_loop_forces(fn, root, goal, &all.v[i], &all.v[k]) ||
                         (other && pdm_loop_forces(fn, root, other, &all.v[i], &all.v[k]));
        }
    }
    PDM_VEC_FREE(&all);
    return forced && fn->status == PDM_OK;
}

bool pdm_loop_is_independent(pdm_loop_fn *fn, const pdm_loop_stmt *loop)
{
    return loop->kind == PDM_LOOP_FOR && pdm_loop_all_force(fn, loop, loop, NULL);
}
