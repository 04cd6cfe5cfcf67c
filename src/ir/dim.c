#include "ir/dim.h"

#include <string.h>

#include "base/checked.h"
#include "base/intern.h"

/* ---- the table ------------------------------------------------------------------------------- */

void pdm_dims_init(pdm_dims *t)
{
    memset(t, 0, sizeof *t);
    pdm_arena_init(&t->arena);
}

void pdm_dims_deinit(pdm_dims *t)
{
    pdm_arena_deinit(&t->arena);
    PDM_VEC_FREE(&t->all);
    PDM_VEC_FREE(&t->symbols);
    PDM_VEC_FREE(&t->equals);
    free(t->table);
    t->table = NULL;
}

static pdm_dim no_memory(pdm_dims *t)
{
    t->status = PDM_NOMEM;
    return NULL;
}

static uint64_t hash_of(pdm_dim e)
{
    const int64_t key[3] = {(int64_t)e->kind, e->number, e->num_args};
    uint64_t hash = pdm_hash_bytes(key, sizeof key, 0);

    for (uint32_t i = 0; i < e->num_args; i++) {
        hash = pdm_hash_bytes(&e->args[i]->id, sizeof e->args[i]->id, hash);
        if (e->coefs)
            hash = pdm_hash_bytes(&e->coefs[i], sizeof e->coefs[i], hash);
    }
    return hash;
}

static bool is_same(pdm_dim a, pdm_dim b)
{
    return a->kind == b->kind && a->number == b->number && a->num_args == b->num_args &&
           (a->num_args == 0 || memcmp(a->args, b->args, a->num_args * sizeof *a->args) == 0) &&
           (!a->coefs || memcmp(a->coefs, b->coefs, a->num_args * sizeof *a->coefs) == 0);
}

static bool grow(pdm_dims *t)
{
    const size_t size = t->table_size ? 2 * t->table_size : 128;
    uint32_t *table = calloc(size, sizeof *table);

    if (!table)
        return false;
    for (size_t i = 0; i < t->all.n; i++) {
        size_t at = hash_of(t->all.v[i]) & (size - 1);
        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = (uint32_t)i + 1;
    }
    free(t->table);
    t->table = table;
    t->table_size = size;
    return true;
}

static bool copy_lists(pdm_dims *t, pdm_dim_expr *e)
{
    if (e->num_args == 0)
        return true;
    e->args = pdm_arena_memdup(&t->arena, e->args, e->num_args * sizeof *e->args);
    if (e->coefs)
        e->coefs = pdm_arena_memdup(&t->arena, e->coefs, e->num_args * sizeof *e->coefs);
    return e->args && (e->kind != PDM_DIM_SUM || e->coefs);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* INT64_MIN and INT64_MAX are endless: sums and products with them, or too large, are endless too. */
static int64_t limit_sum(int64_t a, int64_t b, int64_t endless)
{
    int64_t r;

    if (a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX ||
        __builtin_add_overflow(a, b, &r))
        return endless;
    return r;
}

static int64_t limit_product(int64_t a, int64_t b)
{
    int64_t r;
    const bool negative = (a < 0) != (b < 0);

    if (a == 0 || b == 0)
        return 0;
    if (a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX ||
        __builtin_mul_overflow(a, b, &r))
        return negative ? INT64_MIN : INT64_MAX;
    return r;
}

static void product_limits(int64_t *least, int64_t *most, int64_t l, int64_t m)
{
    const int64_t c[4] = {limit_product(*least, l), limit_product(*least, m),
                          limit_product(*most, l), limit_product(*most, m)};

    *least = *most = c[0];
    for (int i = 1; i < 4; i++) {
        *least = c[i] < *least ? c[i] : *least;
        *most = c[i] > *most ? c[i] : *most;
    }
}

static void sum_limits(pdm_dim_expr *e)
{
    e->least = e->most = e->number;
    for (uint32_t i = 0; i < e->num_args; i++) {
        int64_t l = e->args[i]->least, m = e->args[i]->most;
        product_limits(&l, &m, e->coefs[i], e->coefs[i]);
        e->least = limit_sum(e->least, l, INT64_MIN);
        e->most = limit_sum(e->most, m, INT64_MAX);
    }
}

/* A quotient lies between those by the smallest and by the largest divisor. */
static void div_limits(pdm_dim_expr *e)
{
    const pdm_dim a = e->args[0], b = e->args[1];
    const int64_t low = b->least > 1 ? b->least : 1;

    e->least = a->least == INT64_MIN ? INT64_MIN
               : a->least < 0        ? pdm_div_floor(a->least, low)
               : b->most == INT64_MAX || b->most < 1 ? 0
                                     : a->least / b->most;
    e->most = a->most == INT64_MAX ? INT64_MAX : a->most < 0 ? -1 : a->most / low;
}

static void find_limits(pdm_dim_expr *e)
{
    switch (e->kind) {
    case PDM_DIM_INT:
        e->least = e->most = e->number;
        return;
    case PDM_DIM_SYMBOL:
        return; /* given */
    case PDM_DIM_PRODUCT:
        e->least = e->most = 1;
        for (uint32_t i = 0; i < e->num_args; i++)
            product_limits(&e->least, &e->most, e->args[i]->least, e->args[i]->most);
        return;
    case PDM_DIM_SUM:
        sum_limits(e);
        return;
    case PDM_DIM_DIV:
        div_limits(e);
        return;
    case PDM_DIM_MAX:
    case PDM_DIM_MIN:
    case PDM_DIM_BROADCAST:
        break;
    }
    int64_t ll = INT64_MAX, lm = INT64_MIN, ml = INT64_MAX, mm = INT64_MIN;
    for (uint32_t i = 0; i < e->num_args; i++) {
        const pdm_dim a = e->args[i];
        ll = a->least < ll ? a->least : ll;
        lm = a->least > lm ? a->least : lm;
        ml = a->most < ml ? a->most : ml;
        mm = a->most > mm ? a->most : mm;
    }
    e->least = e->kind == PDM_DIM_MAX ? lm : ll;
    e->most = e->kind == PDM_DIM_MIN ? ml : mm;
}

static pdm_dim intern(pdm_dims *t, pdm_dim_expr wanted)
{
    if (t->status != PDM_OK)
        return NULL;
    wanted.size = 1;
    for (uint32_t i = 0; i < wanted.num_args; i++)
        wanted.size += wanted.args[i]->size;
    if (wanted.size > PDM_DIM_MAX_SIZE || t->all.n >= UINT32_MAX / 2)
        return NULL;
    if (2 * t->all.n >= t->table_size && !grow(t))
        return no_memory(t);
    size_t at = hash_of(&wanted) & (t->table_size - 1);
    for (; t->table[at]; at = (at + 1) & (t->table_size - 1)) {
        if (is_same(t->all.v[t->table[at] - 1], &wanted))
            return t->all.v[t->table[at] - 1];
    }
    pdm_dim_expr *e = pdm_arena_memdup(&t->arena, &wanted, sizeof wanted);
    if (!e || !copy_lists(t, e))
        return no_memory(t);
    e->id = (uint32_t)t->all.n;
    find_limits(e);
    if (!PDM_VEC_PUSH(&t->all, e))
        return no_memory(t);
    t->table[at] = e->id + 1;
    return e;
}

pdm_dim pdm_dim_int(pdm_dims *t, int64_t value)
{
    return intern(t, (pdm_dim_expr){.kind = PDM_DIM_INT, .number = value});
}

pdm_dim pdm_dim_symbol(pdm_dims *t, int64_t least, int64_t most)
{
    const pdm_dim e = intern(t, (pdm_dim_expr){.kind = PDM_DIM_SYMBOL,
                                               .number = (int64_t)t->symbols.n,
                                               .least = least,
                                               .most = most});

    if (!e)
        return NULL;
    if (!PDM_VEC_RESERVE(&t->equals, t->equals.n + 1) || !PDM_VEC_PUSH(&t->symbols, e))
        return no_memory(t);
    (void)PDM_VEC_PUSH(&t->equals, NULL);
    return e;
}

/* ---- the order ------------------------------------------------------------------------------- */

int pdm_dim_compare(pdm_dim a, pdm_dim b)
{
    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->num_args != b->num_args)
        return a->num_args < b->num_args ? -1 : 1;
    for (uint32_t i = 0; i < a->num_args; i++) {
        const int c = pdm_dim_compare(a->args[i], b->args[i]);
        if (c)
            return c;
        if (a->coefs && a->coefs[i] != b->coefs[i])
            return a->coefs[i] < b->coefs[i] ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static void sort(pdm_dim *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const pdm_dim e = v[i];
        uint32_t at = i;
        for (; at > 0 && pdm_dim_compare(v[at - 1], e) > 0; at--)
            v[at] = v[at - 1];
        v[at] = e;
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* A sum being made. Terms stand in order. */
typedef struct sum {
    int64_t number;
    uint32_t n;
    int64_t coefs[PDM_DIM_MAX_TERMS];
    pdm_dim terms[PDM_DIM_MAX_TERMS];
    bool bad; /* overflow, or too many terms */
} sum;

static void sum_number(sum *s, int64_t number)
{
    s->bad |= __builtin_add_overflow(s->number, number, &s->number);
}

static void sum_term(sum *s, int64_t coef, pdm_dim term)
{
    uint32_t at = 0;

    if (!term) {
        s->bad = true;
        return;
    }
    while (at < s->n && pdm_dim_compare(s->terms[at], term) < 0)
        at++;
    if (at < s->n && s->terms[at] == term) {
        s->bad |= __builtin_add_overflow(s->coefs[at], coef, &s->coefs[at]);
        if (s->coefs[at] != 0)
            return;
        s->n--;
        memmove(&s->terms[at], &s->terms[at + 1], (s->n - at) * sizeof *s->terms);
        memmove(&s->coefs[at], &s->coefs[at + 1], (s->n - at) * sizeof *s->coefs);
        return;
    }
    if (coef == 0)
        return;
    if (s->n == PDM_DIM_MAX_TERMS) {
        s->bad = true;
        return;
    }
    memmove(&s->terms[at + 1], &s->terms[at], (s->n - at) * sizeof *s->terms);
    memmove(&s->coefs[at + 1], &s->coefs[at], (s->n - at) * sizeof *s->coefs);
    s->terms[at] = term;
    s->coefs[at] = coef;
    s->n++;
}

/* How many terms an expression has as a sum, and each. */
static uint32_t num_terms(pdm_dim e)
{
    return e->kind == PDM_DIM_SUM ? e->num_args : e->kind != PDM_DIM_INT;
}

static pdm_dim term_at(pdm_dim e, uint32_t i, int64_t *coef)
{
    *coef = e->kind == PDM_DIM_SUM ? e->coefs[i] : 1;
    return e->kind == PDM_DIM_SUM ? e->args[i] : e;
}

static int64_t number_of(pdm_dim e)
{
    return e->kind == PDM_DIM_SUM || e->kind == PDM_DIM_INT ? e->number : 0;
}

static void sum_times(sum *s, int64_t by, pdm_dim e)
{
    int64_t coef, number;

    if (__builtin_mul_overflow(number_of(e), by, &number)) {
        s->bad = true;
        return;
    }
    sum_number(s, number);
    for (uint32_t i = 0; i < num_terms(e) && !s->bad; i++) {
        const pdm_dim term = term_at(e, i, &coef);
        if (__builtin_mul_overflow(coef, by, &coef))
            s->bad = true;
        else
            sum_term(s, coef, term);
    }
}

static pdm_dim sum_end(pdm_dims *t, const sum *s)
{
    if (s->bad)
        return NULL;
    if (s->n == 0)
        return pdm_dim_int(t, s->number);
    if (s->n == 1 && s->number == 0 && s->coefs[0] == 1)
        return s->terms[0];
    return intern(t, (pdm_dim_expr){.kind = PDM_DIM_SUM,
                                    .number = s->number,
                                    .num_args = s->n,
                                    .coefs = s->coefs,
                                    .args = s->terms});
}

static pdm_dim linear(pdm_dims *t, int64_t ca, pdm_dim a, int64_t cb, pdm_dim b)
{
    sum s = {.number = 0};

    if (!a || !b)
        return NULL;
    sum_times(&s, ca, a);
    sum_times(&s, cb, b);
    return sum_end(t, &s);
}

pdm_dim pdm_dim_plus(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    return linear(t, 1, a, 1, b);
}

pdm_dim pdm_dim_minus(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    return linear(t, 1, a, -1, b);
}

bool pdm_dim_never_more(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    if (!a || !b)
        return false;
    if (a == b || (a->most < INT64_MAX && a->most <= b->least))
        return true;
    /* Of a list all items have to fit on one side, and one on the other. Lists in lists take long. */
    const bool small = a->size + b->size <= 48;
    if (small && (a->kind == PDM_DIM_MAX || b->kind == PDM_DIM_MIN)) {
        const pdm_dim l = a->kind == PDM_DIM_MAX ? a : b;
        bool all = true;
        for (uint32_t i = 0; all && i < l->num_args; i++)
            all = l == a ? pdm_dim_never_more(t, l->args[i], b)
                         : pdm_dim_never_more(t, a, l->args[i]);
        if (all)
            return true;
    }
    if (small && (a->kind == PDM_DIM_MIN || b->kind == PDM_DIM_MAX)) {
        const pdm_dim l = a->kind == PDM_DIM_MIN ? a : b;
        for (uint32_t i = 0; i < l->num_args; i++) {
            if (l == a ? pdm_dim_never_more(t, l->args[i], b)
                       : pdm_dim_never_more(t, a, l->args[i]))
                return true;
        }
    }
    const pdm_dim d = pdm_dim_minus(t, b, a);
    return d && d->least >= 0;
}

/* ---- products -------------------------------------------------------------------------------- */

static uint32_t num_factors(pdm_dim e)
{
    return e->kind == PDM_DIM_PRODUCT ? e->num_args : 1;
}

static pdm_dim factor_at(pdm_dim e, uint32_t i)
{
    return e->kind == PDM_DIM_PRODUCT ? e->args[i] : e;
}

static pdm_dim of_factors(pdm_dims *t, const pdm_dim *v, uint32_t n)
{
    if (n == 0)
        return pdm_dim_int(t, 1);
    if (n == 1)
        return v[0];
    return intern(t, (pdm_dim_expr){.kind = PDM_DIM_PRODUCT, .num_args = n, .args = v});
}

/* Of two terms, that is atoms or products. */
static pdm_dim term_product(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    pdm_dim v[2 * PDM_DIM_MAX_FACTORS];
    uint32_t n = 0;

    if (num_factors(a) + num_factors(b) > PDM_DIM_MAX_FACTORS)
        return NULL;
    for (uint32_t i = 0; i < num_factors(a); i++)
        v[n++] = factor_at(a, i);
    for (uint32_t i = 0; i < num_factors(b); i++)
        v[n++] = factor_at(b, i);
    sort(v, n);
    return of_factors(t, v, n);
}

pdm_dim pdm_dim_times(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    sum s = {.number = 0};
    int64_t ca, cb, c;

    if (!a || !b)
        return NULL;
    if (__builtin_mul_overflow(number_of(a), number_of(b), &c))
        return NULL;
    sum_number(&s, c);
    for (uint32_t i = 0; i < num_terms(a) && !s.bad; i++) {
        const pdm_dim x = term_at(a, i, &ca);
        if (__builtin_mul_overflow(ca, number_of(b), &c))
            return NULL;
        sum_term(&s, c, x);
        for (uint32_t k = 0; k < num_terms(b) && !s.bad; k++) {
            const pdm_dim y = term_at(b, k, &cb);
            if (__builtin_mul_overflow(ca, cb, &c))
                return NULL;
            sum_term(&s, c, term_product(t, x, y));
        }
    }
    for (uint32_t k = 0; k < num_terms(b) && !s.bad; k++) {
        const pdm_dim y = term_at(b, k, &cb);
        if (__builtin_mul_overflow(cb, number_of(a), &c))
            return NULL;
        sum_term(&s, c, y);
    }
    return sum_end(t, &s);
}

/* ---- division -------------------------------------------------------------------------------- */

/* What is left of a product without the factors of another; NULL: they are not all in it. */
static pdm_dim without(pdm_dims *t, pdm_dim term, pdm_dim by)
{
    pdm_dim v[PDM_DIM_MAX_FACTORS];
    uint32_t n = 0, k = 0;

    for (uint32_t i = 0; i < num_factors(term); i++) {
        const pdm_dim f = factor_at(term, i);
        if (k < num_factors(by) && factor_at(by, k) == f)
            k++;
        else
            v[n++] = f;
    }
    return k == num_factors(by) ? of_factors(t, v, n) : NULL;
}

static int64_t gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static pdm_dim plain_div(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    if (!a || !b)
        return NULL;
    if (a->least >= 0 && a->most < b->least)
        return pdm_dim_int(t, 0);
    const pdm_dim args[2] = {a, b};
    return intern(t, (pdm_dim_expr){.kind = PDM_DIM_DIV, .num_args = 2, .args = args});
}

/* The greatest common divisor of g and the coefficients of terms. */
static int64_t coef_gcd(pdm_dim e, int64_t g)
{
    int64_t coef;

    for (uint32_t i = 0; i < num_terms(e); i++) {
        (void)term_at(e, i, &coef);
        g = gcd(g, coef);
    }
    return g;
}

/* e / by when by divides all coefficients; the number is rounded down. */
static pdm_dim divide_coefs(pdm_dims *t, pdm_dim e, int64_t by)
{
    sum s = {.number = pdm_div_floor(number_of(e), by)};
    int64_t coef;

    for (uint32_t i = 0; i < num_terms(e); i++) {
        const pdm_dim term = term_at(e, i, &coef);
        sum_term(&s, coef / by, term);
    }
    return sum_end(t, &s);
}

/* By a number above 1: multiples of it leave the quotient, what is left has coefficients below. */
static pdm_dim over_int(pdm_dims *t, pdm_dim a, int64_t by)
{
    sum whole = {.number = pdm_div_floor(number_of(a), by)};
    sum rest = {.number = number_of(a) - whole.number * by};
    int64_t coef;

    for (uint32_t i = 0; i < num_terms(a); i++) {
        const pdm_dim term = term_at(a, i, &coef);
        const int64_t q = pdm_div_floor(coef, by);
        sum_term(&whole, q, term);
        sum_term(&rest, coef - q * by, term);
    }
    if (whole.bad || rest.bad)
        return NULL;
    if (rest.n == 0)
        return sum_end(t, &whole); /* 0 <= rest.number < by */
    pdm_dim r = sum_end(t, &rest);
    if (!r)
        return NULL;
    const int64_t g = coef_gcd(r, by);
    if (g > 1) {
        r = divide_coefs(t, r, g);
        return linear(t, 1, sum_end(t, &whole), 1, pdm_dim_over(t, r, pdm_dim_int(t, by / g)));
    }
    /* (x / d + n) / by is (x + n * d) / (d * by) */
    if (rest.n == 1 && rest.coefs[0] == 1 && rest.terms[0]->kind == PDM_DIM_DIV &&
        rest.terms[0]->args[1]->kind == PDM_DIM_INT) {
        const pdm_dim x = rest.terms[0]->args[0];
        int64_t d = rest.terms[0]->args[1]->number, n, all;
        if (!__builtin_mul_overflow(rest.number, d, &n) && !__builtin_mul_overflow(by, d, &all))
            return linear(t, 1, sum_end(t, &whole), 1,
                          pdm_dim_over(t, pdm_dim_plus(t, x, pdm_dim_int(t, n)),
                                       pdm_dim_int(t, all)));
    }
    return linear(t, 1, sum_end(t, &whole), 1, plain_div(t, r, pdm_dim_int(t, by)));
}

/* By coef * term: what is a multiple of it leaves the quotient. */
static pdm_dim over_term(pdm_dims *t, pdm_dim a, pdm_dim b, int64_t by, pdm_dim term)
{
    sum whole = {.number = 0}, rest = {.number = number_of(a)};
    int64_t coef;

    for (uint32_t i = 0; i < num_terms(a); i++) {
        const pdm_dim x = term_at(a, i, &coef);
        const pdm_dim q = without(t, x, term);
        int64_t n = q ? pdm_div_floor(coef, by) : 0;
        if (q && q->kind == PDM_DIM_INT)
            sum_number(&whole, n);
        else if (q)
            sum_term(&whole, n, q);
        sum_term(&rest, coef - n * by, x);
    }
    if (whole.bad || rest.bad)
        return NULL;
    const pdm_dim w = sum_end(t, &whole);
    pdm_dim r = sum_end(t, &rest);
    if (!w || !r || pdm_dim_is_int(r, 0))
        return w;
    /* Factors that are in all that is left and in the divisor, and not negative, cancel. */
    for (uint32_t i = 0; r->kind != PDM_DIM_INT && number_of(r) == 0 && i < num_factors(term); i++) {
        const pdm_dim f = factor_at(term, i);
        sum less = {.number = 0};
        bool all = f->least >= 0;
        for (uint32_t k = 0; all && k < num_terms(r); k++) {
            const pdm_dim x = term_at(r, k, &coef), q = without(t, x, f);
            if (!q)
                all = false;
            else if (q->kind == PDM_DIM_INT)
                sum_number(&less, coef);
            else
                sum_term(&less, coef, q);
        }
        if (all)
            return linear(t, 1, w, 1,
                          pdm_dim_over(t, sum_end(t, &less),
                                       pdm_dim_times(t, pdm_dim_int(t, by), without(t, term, f))));
    }
    int64_t g = coef_gcd(r, by);
    g = gcd(g, number_of(r));
    if (g > 1)
        return linear(t, 1, w, 1,
                      pdm_dim_over(t, divide_coefs(t, r, g), divide_coefs(t, b, g)));
    return linear(t, 1, w, 1, plain_div(t, r, b));
}

/* The quotient of sums where nothing is left over; NULL: it was not found. */
static pdm_dim exact_quotient(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    int64_t cb, ca;
    const pdm_dim lead = term_at(b, num_terms(b) - 1, &cb);
    pdm_dim q = pdm_dim_int(t, 0);

    for (int turn = 0; a && q && turn < PDM_DIM_MAX_TERMS; turn++) {
        pdm_dim part = NULL;
        if (pdm_dim_is_int(a, 0))
            return q;
        for (uint32_t i = num_terms(a); !part && i-- > 0;) {
            const pdm_dim x = term_at(a, i, &ca);
            const pdm_dim left = ca % cb == 0 ? without(t, x, lead) : NULL;
            if (left)
                part = pdm_dim_times(t, pdm_dim_int(t, ca / cb), left);
        }
        if (!part)
            return NULL;
        q = pdm_dim_plus(t, q, part);
        a = pdm_dim_minus(t, a, pdm_dim_times(t, part, b));
    }
    return NULL;
}

/* Whether no number in it is so large that rounding down could overflow. */
static bool is_small(pdm_dim e)
{
    const int64_t large = (int64_t)1 << 61;
    int64_t coef;

    for (uint32_t i = 0; i < num_terms(e); i++) {
        (void)term_at(e, i, &coef);
        if (coef > large || coef < -large)
            return false;
    }
    return number_of(e) <= large && number_of(e) >= -large;
}

pdm_dim pdm_dim_over(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    int64_t by;

    if (!a || !b || b->most <= 0 || !is_small(a) || !is_small(b))
        return NULL;
    if (pdm_dim_is_int(b, 1))
        return a;
    if (pdm_dim_is_int(a, 0))
        return a;
    if (a == b)
        return pdm_dim_int(t, 1);
    if (b->kind == PDM_DIM_INT)
        return over_int(t, a, b->number);
    if (num_terms(b) == 1 && number_of(b) == 0) {
        const pdm_dim term = term_at(b, 0, &by);
        if (by > 0)
            return over_term(t, a, b, by, term);
        return plain_div(t, a, b);
    }
    const pdm_dim q = exact_quotient(t, a, b);
    if (q || t->status != PDM_OK)
        return q;
    const int64_t g = gcd(gcd(coef_gcd(a, coef_gcd(b, 0)), number_of(a)), number_of(b));
    return g > 1 ? pdm_dim_over(t, divide_coefs(t, a, g), divide_coefs(t, b, g))
                 : plain_div(t, a, b);
}

/* ---- maxima, minima, broadcasts -------------------------------------------------------------- */

typedef struct list {
    pdm_dim v[PDM_DIM_MAX_TERMS];
    uint32_t n;
    bool bad;
} list;

static void list_add(list *l, pdm_dim_kind kind, pdm_dim e)
{
    if (e->kind == kind) {
        for (uint32_t i = 0; i < e->num_args; i++)
            list_add(l, kind, e->args[i]);
        return;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->v[i] == e)
            return;
    }
    if (l->n == PDM_DIM_MAX_TERMS)
        l->bad = true;
    else
        l->v[l->n++] = e;
}

static void list_remove(list *l, uint32_t at)
{
    l->n--;
    memmove(&l->v[at], &l->v[at + 1], (l->n - at) * sizeof *l->v);
}

static pdm_dim list_end(pdm_dims *t, list *l, pdm_dim_kind kind)
{
    if (l->bad || l->n == 0)
        return NULL;
    if (l->n == 1)
        return l->v[0];
    return intern(t, (pdm_dim_expr){.kind = kind, .num_args = l->n, .args = l->v});
}

static pdm_dim extreme(pdm_dims *t, pdm_dim_kind kind, pdm_dim a, pdm_dim b)
{
    list l = {.n = 0};

    if (!a || !b)
        return NULL;
    list_add(&l, kind, a);
    list_add(&l, kind, b);
    sort(l.v, l.n);
    /* What another one always beats goes. */
    for (uint32_t i = 0; i < l.n;) {
        bool beaten = false;
        for (uint32_t k = 0; k < l.n && !beaten; k++)
            beaten = k != i && (kind == PDM_DIM_MAX ? pdm_dim_never_more(t, l.v[i], l.v[k])
                                                    : pdm_dim_never_more(t, l.v[k], l.v[i]));
        if (beaten)
            list_remove(&l, i);
        else
            i++;
    }
    return list_end(t, &l, kind);
}

pdm_dim pdm_dim_max(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    return extreme(t, PDM_DIM_MAX, a, b);
}

pdm_dim pdm_dim_min(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    return extreme(t, PDM_DIM_MIN, a, b);
}

/* What is known not to be 1 is the result: all others are 1 or equal to it. */
pdm_dim pdm_dim_broadcast(pdm_dims *t, pdm_dim a, pdm_dim b)
{
    list l = {.n = 0};
    pdm_dim fixed = NULL;

    if (!a || !b)
        return NULL;
    list_add(&l, PDM_DIM_BROADCAST, a);
    list_add(&l, PDM_DIM_BROADCAST, b);
    sort(l.v, l.n);
    for (uint32_t i = 0; i < l.n;) {
        const pdm_dim e = l.v[i];
        if (pdm_dim_is_int(e, 1) && l.n > 1) {
            list_remove(&l, i);
            continue;
        }
        if (e->kind == PDM_DIM_INT && fixed && fixed->kind == PDM_DIM_INT)
            return NULL;
        if (!fixed && (e->most < 1 || e->least > 1))
            fixed = e;
        i++;
    }
    return fixed ? fixed : list_end(t, &l, PDM_DIM_BROADCAST);
}
