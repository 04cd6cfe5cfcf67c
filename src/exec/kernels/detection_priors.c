/* Boxes that a feature map implies: prior_box, density_prior_box, anchor_generator. */
#include "exec/kernels/detection_impl.h"

#include <math.h>

/* Put the variances behind each other: rows of 4. */
static void put_variances(pdm_tensor *out, const double *variances)
{
    for (int64_t i = 0, n = out ? pdm_tensor_count(out) : 0; i < n; i++)
        pdm_set_double(out, i, variances[i % 4]);
}

static double clipped(double v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

/* ---- prior_box ------------------------------------------------------------------------------- */

typedef struct prior {
    double min[PDM_K_MAX_INTS], max[PDM_K_MAX_INTS], ratios[2 * PDM_K_MAX_INTS + 1];
    size_t num_min, num_max, num_ratios;
    double variances[PDM_K_MAX_INTS];
    size_t num_variances;
    bool min_max_order, clip;
    double step_w, step_h, offset;
} prior;

/* The ratios asked for, 1 first, each once. */
static void expand_ratios(prior *p, const double *given, size_t num, bool flip)
{
    p->ratios[0] = 1;
    p->num_ratios = 1;
    for (size_t i = 0; i < num; i++) {
        bool known = false;
        for (size_t j = 0; j < p->num_ratios; j++)
            known = known || fabs(given[i] - p->ratios[j]) < 1e-6;
        if (known)
            continue;
        p->ratios[p->num_ratios++] = given[i];
        if (flip)
            p->ratios[p->num_ratios++] = 1 / given[i];
    }
}

typedef struct cell { /* where boxes go, and the middle of the cell at hand in parts of the image */
    pdm_tensor *out;
    int64_t at;
    double x, y, image_w, image_h;
    bool clip;
} cell;

/* w, h: half of the box, in pixels */
static void put_prior(cell *c, double w, double h)
{
    const double box[4] = {(c->x - w) / c->image_w, (c->y - h) / c->image_h,
                           (c->x + w) / c->image_w, (c->y + h) / c->image_h};

    for (int n = 0; n < 4; n++)
        pdm_set_double(c->out, c->at++, c->clip ? clipped(box[n]) : box[n]);
}

static void cell_priors(const prior *p, cell *c)
{
    for (size_t s = 0; s < p->num_min; s++) {
        const double min = p->min[s];
        const double max = s < p->num_max ? sqrt(min * p->max[s]) / 2 : 0;
        if (p->min_max_order) {
            put_prior(c, min / 2, min / 2);
            if (p->num_max)
                put_prior(c, max, max);
        }
        for (size_t r = 0; r < p->num_ratios; r++) {
            if (p->min_max_order && fabs(p->ratios[r] - 1) < 1e-6)
                continue;
            const double root = sqrt(p->ratios[r]);
            put_prior(c, min * root / 2, min / root / 2);
        }
        if (!p->min_max_order && p->num_max)
            put_prior(c, max, max);
    }
}

static bool read_prior(pdm_k *k, prior *p)
{
    double ratios[PDM_K_MAX_INTS];

    p->num_min = pdm_k_floats(k, "min_sizes", p->min);
    p->num_max = pdm_k_floats(k, "max_sizes", p->max);
    const size_t num = pdm_k_floats(k, "aspect_ratios", ratios);
    p->num_variances = pdm_k_floats(k, "variances", p->variances);
    p->clip = pdm_k_bool(k, "clip");
    p->step_w = pdm_k_float(k, "step_w");
    p->step_h = pdm_k_float(k, "step_h");
    p->offset = pdm_k_float(k, "offset");
    p->min_max_order = pdm_k_bool(k, "min_max_aspect_ratios_order");
    expand_ratios(p, ratios, num, pdm_k_bool(k, "flip"));
    if (PDM_K_OK(k) && p->num_max && p->num_max != p->num_min)
        pdm_k_fail(k, "there are %zu max_sizes for %zu min_sizes", p->num_max, p->num_min);
    if (PDM_K_OK(k) && p->num_variances != 4)
        pdm_k_fail(k, "there are %zu variances, not 4", p->num_variances);
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_prior_box(pdm_k *k)
{
    const pdm_tensor *input = pdm_k_in(k, 0), *image = pdm_k_in(k, 1);
    prior p = {0};

    if (!PDM_K_OK(k) || !read_prior(k, &p) || !pdm_is_real(k, input) ||
        !pdm_k_rank_is(k, input, 4, "the feature map") || !pdm_k_rank_is(k, image, 4, "the image"))
        return k->status;
    const int64_t h = input->dims[2], w = input->dims[3];
    const int64_t num = (int64_t)(p.num_ratios * p.num_min + p.num_max);
    const int64_t dims[4] = {h, w, num, 4};
    cell c = {.image_w = (double)image->dims[3], .image_h = (double)image->dims[2], .clip = p.clip};
    if (p.step_w == 0 || p.step_h == 0) {
        p.step_w = c.image_w / (double)w;
        p.step_h = c.image_h / (double)h;
    }
    if (pdm_k_wants(k, 1) && pdm_k_out(k, 1, input->dtype, 4, dims))
        put_variances(pdm_k_out_tensor(k, 1), p.variances);
    if (!pdm_k_wants(k, 0) || !pdm_k_out(k, 0, input->dtype, 4, dims))
        return k->status;
    c.out = pdm_k_out_tensor(k, 0);
    for (int64_t i = 0; num && i < h; i++) {
        for (int64_t j = 0; j < w; j++) {
            c.x = ((double)j + p.offset) * p.step_w;
            c.y = ((double)i + p.offset) * p.step_h;
            cell_priors(&p, &c);
        }
    }
    return k->status;
}

/* ---- density_prior_box ----------------------------------------------------------------------- */

typedef struct density {
    double sizes[PDM_K_MAX_INTS], ratios[PDM_K_MAX_INTS], variances[PDM_K_MAX_INTS];
    int64_t densities[PDM_K_MAX_INTS];
    size_t num_sizes, num_ratios, num_densities, num_variances;
} density;

/* Boxes of one size and shape, spread over the cell of `step` pixels. */
static void spread(cell *c, int step, int count, double w, double h)
{
    const int shift = step / count;
    const double x0 = c->x - step / 2.0 + shift / 2.0, y0 = c->y - step / 2.0 + shift / 2.0;

    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            const double x = x0 + j * shift, y = y0 + i * shift;
            const double box[4] = {
                fmax((x - w / 2) / c->image_w, 0), fmax((y - h / 2) / c->image_h, 0),
                fmin((x + w / 2) / c->image_w, 1), fmin((y + h / 2) / c->image_h, 1)};
            for (int n = 0; n < 4; n++)
                pdm_set_double(c->out, c->at++, c->clip ? clipped(box[n]) : box[n]);
        }
    }
}

static bool read_density(pdm_k *k, density *d, int64_t *out_num)
{
    d->num_sizes = pdm_k_floats_or_none(k, "fixed_sizes", d->sizes);
    d->num_ratios = pdm_k_floats_or_none(k, "fixed_ratios", d->ratios);
    d->num_densities = pdm_k_ints_or_none(k, "densities", d->densities);
    d->num_variances = pdm_k_floats_or_none(k, "variances", d->variances);
    *out_num = 0;
    if (PDM_K_OK(k) && d->num_sizes != d->num_densities)
        pdm_k_fail(k, "there are %zu densities for %zu sizes", d->num_densities, d->num_sizes);
    if (PDM_K_OK(k) && d->num_variances != 4)
        pdm_k_fail(k, "there are %zu variances, not 4", d->num_variances);
    for (size_t i = 0; PDM_K_OK(k) && i < d->num_densities; i++) {
        if (d->densities[i] < 1 || d->densities[i] > 10000)
            pdm_k_fail(k, "a density is %lld", (long long)d->densities[i]);
        *out_num += (int64_t)d->num_ratios * d->densities[i] * d->densities[i];
    }
    return PDM_K_OK(k);
}

pdm_status pdm_kernel_legacy_density_prior_box(pdm_k *k)
{
    const pdm_tensor *input = pdm_k_slot_in(k, "Input"), *image = pdm_k_slot_in(k, "Image");
    double step_w = pdm_k_float_or(k, "step_w", 0), step_h = pdm_k_float_or(k, "step_h", 0);
    const double offset = pdm_k_float_or(k, "offset", 0.5);
    const bool flat = pdm_k_bool_or(k, "flatten_to_2d", false);
    density d = {0};
    int64_t num;
    uint64_t rows;

    if (!PDM_K_OK(k) || !read_density(k, &d, &num) || !pdm_is_real(k, input) ||
        !pdm_k_rank_is(k, input, 4, "the feature map") || !pdm_k_rank_is(k, image, 4, "the image"))
        return k->status;
    const int64_t h = input->dims[2], w = input->dims[3];
    if (!pdm_mul_u64((uint64_t)h * (uint64_t)w, (uint64_t)num, &rows) || rows > INT64_MAX / 64)
        return pdm_k_fail(k, "there are too many boxes");
    const int64_t dims[4] = {h, w, num, 4}, flat_dims[2] = {(int64_t)rows, 4};
    cell c = {.image_w = (double)image->dims[3],
              .image_h = (double)image->dims[2],
              .clip = pdm_k_bool_or(k, "clip", true)};
    if (step_w == 0 || step_h == 0) {
        step_w = c.image_w / (double)w;
        step_h = c.image_h / (double)h;
    }
    put_variances(
        pdm_k_slot_out(k, "Variances", input->dtype, flat ? 2 : 4, flat ? flat_dims : dims),
        d.variances);
    c.out = pdm_k_slot_out(k, "Boxes", input->dtype, flat ? 2 : 4, flat ? flat_dims : dims);
    const int step = (int)pdm_int32_of_double((step_w + step_h) * 0.5);
    for (int64_t cell_no = 0; c.out && num && cell_no < h * w; cell_no++) {
        c.x = ((double)(cell_no % w) + offset) * step_w;
        c.y = ((double)(cell_no / w) + offset) * step_h;
        for (size_t s = 0; s < d.num_sizes; s++)
            for (size_t r = 0; r < d.num_ratios; r++)
                spread(&c, step, (int)d.densities[s], d.sizes[s] * sqrt(d.ratios[r]),
                       d.sizes[s] / sqrt(d.ratios[r]));
    }
    return k->status;
}

/* ---- anchor_generator ------------------------------------------------------------------------ */

pdm_status pdm_kernel_anchor_generator(pdm_k *k)
{
    const pdm_tensor *input = pdm_k_in(k, 0);
    double sizes[PDM_K_MAX_INTS], ratios[PDM_K_MAX_INTS], variances[PDM_K_MAX_INTS];
    double stride[PDM_K_MAX_INTS];
    const size_t num_sizes = pdm_k_floats(k, "anchor_sizes", sizes);
    const size_t num_ratios = pdm_k_floats(k, "aspect_ratios", ratios);
    const size_t num_variances = pdm_k_floats(k, "variances", variances);
    const size_t num_stride = pdm_k_floats(k, "stride", stride);
    const double offset = pdm_k_float(k, "offset");

    if (!PDM_K_OK(k) || !pdm_is_real(k, input) || !pdm_k_rank_is(k, input, 4, "the feature map"))
        return k->status;
    if (num_variances != 4 || num_stride != 2)
        return pdm_k_fail(k, "there are %zu variances and %zu strides, not 4 and 2", num_variances,
                          num_stride);
    const int64_t h = input->dims[2], w = input->dims[3];
    const int64_t dims[4] = {h, w, (int64_t)(num_sizes * num_ratios), 4};
    if (pdm_k_wants(k, 1) && pdm_k_out(k, 1, input->dtype, 4, dims))
        put_variances(pdm_k_out_tensor(k, 1), variances);
    if (!pdm_k_wants(k, 0) || !pdm_k_out(k, 0, input->dtype, 4, dims))
        return k->status;
    pdm_tensor *out = pdm_k_out_tensor(k, 0);
    const double area = stride[0] * stride[1];
    for (int64_t cell_no = 0, at = 0; dims[2] && cell_no < h * w; cell_no++) {
        const double x = (double)(cell_no % w) * stride[0] + offset * (stride[0] - 1);
        const double y = (double)(cell_no / w) * stride[1] + offset * (stride[1] - 1);
        for (size_t r = 0; r < num_ratios; r++) {
            const double base_w = round(sqrt(area / ratios[r])), base_h = round(base_w * ratios[r]);
            for (size_t s = 0; s < num_sizes; s++) {
                const double bw = sizes[s] / stride[0] * base_w, bh = sizes[s] / stride[1] * base_h;
                pdm_set_double(out, at++, x - 0.5 * (bw - 1));
                pdm_set_double(out, at++, y - 0.5 * (bh - 1));
                pdm_set_double(out, at++, x + 0.5 * (bw - 1));
                pdm_set_double(out, at++, y + 0.5 * (bh - 1));
            }
        }
    }
    return k->status;
}
