/* Fused elementwise ops: compounds of a binary and a unary op, softmax with masks, bias with
 * activation, rotary embeddings. */
#include "exec/kernels/nn_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- fused_elemwise_activation -------------------------------------------------------------- */

/* out = outer(x, inner(y)) or outer(inner(x, y)); y is repeated over x as `axis` says. */
typedef struct compound {
    const pdm_tensor *x, *y;
    bool binary_first; /* the binary op is the outer one */
    bool multiply, scales;
    double scale;
    pdm_nn_act act;
    int64_t n, post;
} compound;

static double unary(const compound *c, double v)
{
    return c->scales ? v * c->scale : c->act(v);
}

static double binary(const compound *c, double a, double b)
{
    return c->multiply ? a * b : a + b;
}

static void read_functor(pdm_k *k, compound *c, const char *name, bool *is_binary)
{
    *is_binary = !strncmp(name, "elementwise_", 12);
    if (*is_binary) {
        c->multiply = !strcmp(name, "elementwise_mul");
        if (!c->multiply && strcmp(name, "elementwise_add") != 0)
            pdm_k_fail(k, "'%s' cannot be fused", name);
    } else {
        c->scales = !strcmp(name, "scale");
        c->act = c->scales ? NULL : pdm_nn_act_find(k, name);
    }
}

static bool read_functors(pdm_k *k, compound *c)
{
    pdm_ir_attr list = pdm_k_attr(k, "functor_list");
    bool first = false, second = false;

    if (!list || list->kind != PDM_IR_ATTR_ARRAY || list->count != 2 ||
        list->u.items[0]->kind != PDM_IR_ATTR_STR || list->u.items[1]->kind != PDM_IR_ATTR_STR) {
        pdm_k_fail(k, "functor_list does not name two ops");
        return false;
    }
    read_functor(k, c, list->u.items[0]->u.s.text, &first);
    read_functor(k, c, list->u.items[1]->u.s.text, &second);
    if (first == second)
        pdm_k_fail(k, "functor_list does not name one binary and one unary op");
    c->binary_first = first;
    return PDM_K_OK(k);
}

/* y covers dims [axis, axis + rank) of x, trailing ones left out. */
static bool align(pdm_k *k, compound *c, int64_t axis)
{
    int rank = c->y->rank;

    while (rank > 0 && c->y->dims[rank - 1] == 1 && c->y->rank < c->x->rank)
        rank--;
    if (axis == -1)
        axis = c->x->rank - c->y->rank;
    bool fits = axis >= 0 && axis + rank <= c->x->rank;
    for (int d = 0; d < rank && fits; d++)
        fits = c->y->dims[d] == c->x->dims[axis + d];
    if (!fits) {
        pdm_k_fail(k, "y does not fit x");
        return false;
    }
    c->n = pdm_tensor_count(c->y);
    c->post = pdm_k_product(c->x->dims, (int)axis + rank, c->x->rank);
    return true;
}

pdm_status pdm_kernel_fused_elemwise_activation(pdm_k *k)
{
    compound c = {.x = pdm_k_in(k, 0), .y = pdm_k_in(k, 1), .scale = pdm_k_float(k, "scale")};

    if (!pdm_nn_floats(k, c.x) || !pdm_nn_floats(k, c.y) || !read_functors(k, &c) ||
        !align(k, &c, pdm_k_int(k, "axis")))
        return k->status;
    pdm_tensor *out = pdm_nn_out_like(k, 0, c.x);
    pdm_tensor *between =
        pdm_k_wants(k, 1) ? pdm_nn_out_like(k, 1, c.binary_first ? c.y : c.x) : NULL;
    const int64_t count = pdm_tensor_count(c.x);
    for (int64_t i = 0; i < count && out; i++) {
        const int64_t j = i / c.post % c.n;
        const double x = pdm_nn_at(c.x, i), y = pdm_nn_at(c.y, j);
        const double inner = c.binary_first ? unary(&c, y) : binary(&c, x, y);
        if (between)
            pdm_nn_put(between, c.binary_first ? j : i, inner);
        pdm_nn_put(out, i, c.binary_first ? binary(&c, x, inner) : unary(&c, inner));
    }
    return k->status;
}

/* ---- softmax with masks --------------------------------------------------------------------- */

static void softmax_row(double *row, int64_t n, int64_t most)
{
    double highest = -INFINITY, sum = 0;

    for (int64_t i = 0; i < most; i++)
        highest = row[i] > highest ? row[i] : highest;
    for (int64_t i = 0; i < most; i++)
        sum += row[i] = exp(row[i] - highest);
    for (int64_t i = 0; i < n; i++)
        row[i] = i < most ? row[i] / sum : 0;
}

pdm_status pdm_kernel_fused_softmax_mask(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *mask = pdm_k_in(k, 1);

    if (!pdm_nn_floats(k, x) || !pdm_nn_floats(k, mask) || !pdm_nn_rank_is(k, x, 4, 4, "x"))
        return k->status;
    const int64_t *d = x->dims, heads = d[1], n = d[3];
    if (mask->rank != 4 || mask->dims[0] != d[0] || mask->dims[1] != 1 || mask->dims[2] != d[2] ||
        mask->dims[3] != n)
        return pdm_k_fail(k, "the mask does not fit x");
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    double *row = pdm_nn_room(k, n);
    for (int64_t i = 0; i < d[0] * heads * d[2] && out && row; i++) {
        const int64_t of_mask = i / (heads * d[2]) * d[2] + i % d[2];
        pdm_nn_load(x, i * n, 1, n, row);
        for (int64_t j = 0; j < n; j++)
            row[j] += pdm_nn_at(mask, of_mask * n + j);
        softmax_row(row, n, n);
        pdm_nn_store(out, i * n, 1, n, row);
    }
    free(row);
    return k->status;
}

/* Each row up to the diagonal. */
pdm_status pdm_kernel_fused_softmax_mask_upper_triangle(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0);

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 2, PDM_MAX_RANK, "x"))
        return k->status;
    const int64_t n = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
    pdm_tensor *out = pdm_nn_out_like(k, 0, x);
    double *row = pdm_nn_room(k, n);
    const int64_t all = pdm_k_product(x->dims, 0, x->rank - 1);
    for (int64_t i = 0; i < all && out && row; i++) {
        const int64_t most = i % rows + 1;
        pdm_nn_load(x, i * n, 1, n, row);
        softmax_row(row, n, most < n ? most : n);
        pdm_nn_store(out, i * n, 1, n, row);
    }
    free(row);
    return k->status;
}

/* ---- fused_bias_act ------------------------------------------------------------------------- */

/* Names that end in "glu" multiply the activated first half of a row by the second. */
pdm_status pdm_kernel_fused_bias_act(pdm_k *k)
{
    const pdm_tensor *x = pdm_k_in(k, 0), *bias = pdm_k_in_opt(k, 1);
    const char *name = pdm_k_str(k, "act_method");
    const bool swiglu = !strcmp(name, "swiglu"), geglu = !strcmp(name, "geglu");
    const pdm_nn_act act = pdm_nn_act_find(k, swiglu ? "swish" : geglu ? "gelu" : name);
    int64_t dims[PDM_MAX_RANK];

    if (!pdm_nn_floats(k, x) || !pdm_nn_rank_is(k, x, 1, PDM_MAX_RANK, "x"))
        return k->status;
    const int64_t n = x->dims[x->rank - 1], half = swiglu || geglu ? n / 2 : n;
    if (pdm_k_in_opt(k, 2) || pdm_k_in_opt(k, 3) || pdm_k_float(k, "quant_scale") > 0)
        return pdm_k_fail(k, "quantized forms are not supported");
    if (!pdm_nn_count_is(k, bias, n, "bias"))
        return k->status;
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = half;
    pdm_tensor *out = pdm_nn_out(k, 0, x->dtype, x->rank, dims);
    const int64_t count = out ? pdm_tensor_count(out) : 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = i / half, j = i % half;
        double v = act(pdm_nn_at(x, row * n + j) + (bias ? pdm_nn_at(bias, j) : 0));
        if (half != n)
            v *= pdm_nn_at(x, row * n + half + j) + (bias ? pdm_nn_at(bias, half + j) : 0);
        pdm_nn_put(out, i, v);
    }
    return k->status;
}

/* ---- fused_rotary_position_embedding -------------------------------------------------------- */

typedef struct rotary {
    const pdm_tensor *sin, *cos, *positions;
    bool neighbours, time_major; /* neighbours: pairs are 2i and 2i + 1, else i and i + half */
    double base;
    int64_t batch, steps, width; /* width: of a head */
} rotary;

static bool angle(pdm_k *k, const rotary *r, int64_t b, int64_t t, int64_t pair, double *sine,
                  double *cosine)
{
    const int64_t at = r->positions ? pdm_get_int(r->positions, b * r->steps + t) : t;

    if (!r->sin) {
        const double turn = (double)at / pow(r->base, 2.0 * (double)pair / (double)r->width);
        *sine = sin(turn);
        *cosine = cos(turn);
        return true;
    }
    const int64_t places = pdm_tensor_count(r->sin) / r->width;
    if (at < 0 || at >= places) {
        pdm_k_fail(k, "position %lld is outside of %lld", (long long)at, (long long)places);
        return false;
    }
    const int64_t i = at * r->width + (r->neighbours ? 2 * pair : pair);
    *sine = pdm_nn_at(r->sin, i);
    *cosine = pdm_nn_at(r->cos, i);
    return true;
}

static void rotate(pdm_k *k, const rotary *r, size_t index)
{
    const pdm_tensor *x = pdm_k_in_opt(k, index);
    pdm_tensor *out = x && pdm_k_wants(k, index) ? pdm_nn_out_like(k, index, x) : NULL;
    const int64_t half = r->width / 2;

    if (!out)
        return;
    if (x->rank != 4 || x->dims[r->time_major ? 1 : 0] != r->batch ||
        x->dims[r->time_major ? 0 : 1] != r->steps || x->dims[3] != r->width) {
        pdm_k_fail(k, "q, k and v do not fit together");
        return;
    }
    const int64_t heads = x->dims[2];
    for (int64_t row = 0; row < r->batch * r->steps * heads && PDM_K_OK(k); row++) {
        const int64_t major = row / heads / x->dims[1], minor = row / heads % x->dims[1];
        const int64_t b = r->time_major ? minor : major, t = r->time_major ? major : minor;
        for (int64_t p = 0; p < half; p++) {
            const int64_t i = row * r->width + (r->neighbours ? 2 * p : p);
            const int64_t j = r->neighbours ? i + 1 : i + half;
            double sine, cosine;
            if (!angle(k, r, b, t, p, &sine, &cosine))
                return;
            const double u = pdm_nn_at(x, i), v = pdm_nn_at(x, j);
            pdm_nn_put(out, i, u * cosine - v * sine);
            pdm_nn_put(out, j, v * cosine + u * sine);
        }
    }
}

pdm_status pdm_kernel_fused_rotary_position_embedding(pdm_k *k)
{
    const pdm_tensor *q = pdm_k_in(k, 0);
    rotary r = {.sin = pdm_k_in_opt(k, 3),
                .cos = pdm_k_in_opt(k, 4),
                .positions = pdm_k_in_opt(k, 5),
                .neighbours = pdm_k_bool(k, "use_neox_rotary_style"),
                .time_major = pdm_k_bool(k, "time_major"),
                .base = pdm_k_float(k, "rotary_emb_base")};

    if (!pdm_nn_floats(k, q) || !pdm_nn_rank_is(k, q, 4, 4, "q"))
        return k->status;
    r.batch = q->dims[r.time_major ? 1 : 0];
    r.steps = q->dims[r.time_major ? 0 : 1];
    r.width = q->dims[3];
    if (r.width % 2 != 0 || r.width == 0 || !r.sin != !r.cos)
        return pdm_k_fail(k, "heads of %lld elements, or only one of sin and cos",
                          (long long)r.width);
    if (r.sin && (!pdm_nn_floats(k, r.sin) || !pdm_nn_floats(k, r.cos) ||
                  !pdm_nn_count_is(k, r.cos, pdm_tensor_count(r.sin), "cos")))
        return k->status;
    if (!pdm_nn_count_is(k, r.positions, r.batch * r.steps, "position_ids"))
        return k->status;
    for (size_t i = 0; i < 3; i++)
        rotate(k, &r, i);
    return k->status;
}
