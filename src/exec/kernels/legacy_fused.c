/* Legacy ops fused by passes for another library: a plain op, then a tail of simple ones. */
#include <math.h>

#include "exec/kernels/legacy_sub.h"

/* ---- activations ----------------------------------------------------------------------------- */

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static double softplus(double v)
{
    return v > 20 ? v : log1p(exp(v));
}

static double gelu_erf(double v)
{
    return 0.5 * v * (1 + erf(v * 0.70710678118654752440));
}

static double gelu_tanh(double v)
{
    return 0.5 * v * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v)));
}

double pdm_sub_activation(pdm_k *k, const char *name, double v, double alpha, double beta)
{
    if (!*name || !strcmp(name, "identity") || !strcmp(name, "linear"))
        return v;
    if (!strcmp(name, "relu"))
        return v > 0 ? v : v * alpha;
    if (!strcmp(name, "leaky_relu"))
        return v > 0 ? v : v * alpha;
    if (!strcmp(name, "relu6") || !strcmp(name, "clip"))
        return fmin(fmax(v, alpha), beta);
    if (!strcmp(name, "tanh"))
        return tanh(v);
    if (!strcmp(name, "sigmoid"))
        return sigmoid(v);
    if (!strcmp(name, "swish"))
        return v * sigmoid(alpha * v);
    if (!strcmp(name, "silu"))
        return v * sigmoid(v);
    if (!strcmp(name, "hard_sigmoid"))
        return fmin(fmax(alpha * v + beta, 0), 1);
    if (!strcmp(name, "hard_swish"))
        return v * fmin(fmax(alpha * v + beta, 0), 1);
    if (!strcmp(name, "gelu") || !strcmp(name, "gelu_erf"))
        return gelu_erf(v);
    if (!strcmp(name, "gelu_tanh"))
        return gelu_tanh(v);
    if (!strcmp(name, "mish"))
        return v * tanh(softplus(v));
    if (!strcmp(name, "abs"))
        return fabs(v);
    if (!strcmp(name, "sqrt"))
        return sqrt(v);
    if (!strcmp(name, "exp"))
        return exp(v);
    if (!strcmp(name, "log"))
        return log(v);
    if (!strcmp(name, "square"))
        return v * v;
    pdm_k_fail(k, "activation '%s' is not known", name);
    return v;
}

static const char *text_or_none(pdm_k *k, const char *name)
{
    return pdm_k_has_attr(k, name) ? pdm_k_str(k, name) : "";
}

/* The activation and the scale at the end of a fused op. */
static void tail(pdm_k *k, pdm_tensor *t)
{
    const char *name = text_or_none(k, "fuse_activation");
    const double alpha = pdm_k_float_or(k, "fuse_alpha", 0);
    const double beta = pdm_k_float_or(k, "fuse_beta", 0);
    const double scale = pdm_k_float_or(k, "fused_output_scale", 1);

    if (!*name && !(scale < 1 || scale > 1))
        return;
    for (int64_t i = 0, n = pdm_tensor_count(t); i < n && PDM_K_OK(k); i++)
        pdm_set_double(t, i,
                       pdm_sub_activation(k, name, pdm_get_double(t, i), alpha, beta) * scale);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* out becomes t with its dims permuted as an attribute says, or t itself. Both may be one. */
static void permute(pdm_k *k, const pdm_tensor *t, const char *attr, pdm_tensor *out)
{
    int64_t perm[PDM_K_MAX_INTS];
    const size_t n = PDM_K_OK(k) && pdm_k_has_attr(k, attr) ? pdm_k_ints(k, attr, perm) : 0;
    pdm_sub s;

    if (n == 0) {
        pdm_tensor_ref(out, t);
        return;
    }
    pdm_sub_begin(&s, k, "pd_op.transpose");
    pdm_sub_in(&s, t);
    pdm_sub_ints(&s, "perm", perm, n);
    const pdm_tensor *made = pdm_sub_temp(&s);
    if (pdm_sub_run(&s) == PDM_OK)
        pdm_tensor_ref(out, made);
    pdm_sub_end(&s);
}

/* Change the dims of t by an op that takes integers; nothing when the attribute has none. */
static void shape_by(pdm_k *k, const char *op, const char *attr, pdm_tensor *t)
{
    int64_t dims[PDM_K_MAX_INTS];
    const size_t n = PDM_K_OK(k) && pdm_k_has_attr(k, attr) ? pdm_k_ints(k, attr, dims) : 0;
    pdm_sub s;

    if (n == 0 || !PDM_K_OK(k))
        return;
    pdm_sub_begin(&s, k, op);
    pdm_sub_in(&s, t);
    pdm_sub_in_ints(&s, dims, n);
    pdm_tensor *made = pdm_sub_temp(&s);
    if (pdm_sub_run(&s) == PDM_OK)
        pdm_tensor_ref(t, made);
    pdm_sub_end(&s);
}

/* The result of a call of a kernel with two operands. */
static void product(pdm_k *k, const char *op, const pdm_tensor *x, const pdm_tensor *y,
                    pdm_tensor *out)
{
    pdm_sub s;

    pdm_sub_begin(&s, k, op);
    pdm_sub_in(&s, x);
    pdm_sub_in(&s, y);
    pdm_sub_bool(&s, "transpose_x", pdm_k_bool_or(k, "trans_x", false));
    pdm_sub_bool(&s, "transpose_y", pdm_k_bool_or(k, "trans_y", false));
    pdm_sub_int(&s, "axis", pdm_k_int_or(k, "axis", -1));
    const pdm_tensor *made = pdm_sub_temp(&s);
    if (pdm_sub_run(&s) == PDM_OK)
        pdm_tensor_ref(out, made);
    pdm_sub_end(&s);
}

static pdm_status give(pdm_k *k, const char *slot, const pdm_tensor *t)
{
    pdm_tensor *out = pdm_k_out_slot(k, slot);

    if (out && PDM_K_OK(k))
        pdm_tensor_ref(out, t);
    return k->status;
}

/* ---- ops ------------------------------------------------------------------------------------- */

pdm_status pdm_kernel_old_fused_elementwise(pdm_k *k)
{
    static const char *const ops[][2] = {{"add", "legacy.elementwise_add"},
                                         {"sub", "legacy.elementwise_sub"},
                                         {"mul", "legacy.elementwise_mul"},
                                         {"div", "legacy.elementwise_div"}};
    static const char *const in[] = {"X", "Y"}, *const out[] = {"Out"};
    const char *kind = k->op + strlen("legacy.fused_elementwise_"), *op = ops[0][1];
    pdm_value *value = pdm_k_out_slot_value(k, "Out");
    pdm_sub s;

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (!strcmp(kind, ops[i][0]))
            op = ops[i][1];
    }
    pdm_sub_begin(&s, k, op);
    pdm_sub_slots(&s, in, out);
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    pdm_sub_in(&s, pdm_sub_slot(k, "Y"));
    pdm_sub_result(&s, value);
    if (pdm_sub_run(&s) == PDM_OK && value && pdm_tensor_make_writable(&value->tensor) != PDM_OK)
        pdm_k_nomem(k);
    pdm_sub_end(&s);
    if (PDM_K_OK(k) && value) {
        tail(k, &value->tensor);
        shape_by(k, "pd_op.unsqueeze", "fused_unsqueeze2_axes", &value->tensor);
    }
    return k->status;
}

static void add_all(pdm_k *k, pdm_tensor *t, const pdm_tensor *more)
{
    const int64_t n = pdm_tensor_count(t);

    if (pdm_tensor_count(more) != n)
        pdm_k_fail(k, "the residual data do not fit the result");
    for (int64_t i = 0; i < n && PDM_K_OK(k); i++)
        pdm_set_double(t, i, pdm_get_double(t, i) + pdm_get_double(more, i));
}

pdm_status pdm_kernel_old_fused_matmul(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X"), *y = pdm_sub_slot(k, "Y");
    const pdm_tensor *more = pdm_k_slot(k, "ResidualData");
    const double alpha = pdm_k_float_or(k, "matmul_alpha", 1);
    pdm_tensor a = {0}, b = {0}, out = {0};

    if (!PDM_K_OK(k))
        return k->status;
    pdm_tensor_ref(&a, x);
    pdm_tensor_ref(&b, y);
    shape_by(k, "pd_op.reshape", "fused_reshape_X", &a);
    shape_by(k, "pd_op.reshape", "fused_reshape_Y", &b);
    permute(k, &a, "fused_transpose_X", &a);
    permute(k, &b, "fused_transpose_Y", &b);
    if (PDM_K_OK(k))
        product(k, "pd_op.matmul", &a, &b, &out);
    for (int64_t i = 0, n = pdm_tensor_count(&out); PDM_K_OK(k) && i < n; i++)
        pdm_set_double(&out, i, pdm_get_double(&out, i) * alpha);
    if (more && PDM_K_OK(k))
        add_all(k, &out, more);
    if (PDM_K_OK(k))
        tail(k, &out);
    permute(k, &out, "fused_transpose_Out", &out);
    shape_by(k, "pd_op.reshape", "fused_reshape_Out", &out);
    give(k, "Out", &out);
    pdm_tensor_deinit(&a);
    pdm_tensor_deinit(&b);
    pdm_tensor_deinit(&out);
    return k->status;
}

pdm_status pdm_kernel_old_fused_softplus(pdm_k *k)
{
    pdm_value *value = pdm_k_out_slot_value(k, "Out");
    pdm_sub s;

    pdm_sub_begin(&s, k, "pd_op.softplus");
    pdm_sub_in(&s, pdm_sub_slot(k, "X"));
    pdm_sub_result(&s, value);
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    if (PDM_K_OK(k) && value)
        tail(k, &value->tensor);
    return k->status;
}

pdm_status pdm_kernel_old_fused_transpose(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const char *type = text_or_none(k, "output_data_type");
    const double scale = pdm_k_float_or(k, "scale", 1), shift = pdm_k_float_or(k, "shift", 0);
    pdm_tensor t = {0};

    if (!PDM_K_OK(k))
        return k->status;
    if (scale < 1 || scale > 1 || shift < 0 || shift > 0 || (*type && strcmp(type, "fp32") != 0))
        return pdm_k_fail(k, "8-bit integers are not supported");
    pdm_tensor_ref(&t, x);
    shape_by(k, "pd_op.squeeze", "fused_squeeze2_axes", &t);
    permute(k, &t, "axis", &t);
    shape_by(k, "pd_op.unsqueeze", "fused_unsqueeze2_axes", &t);
    shape_by(k, "pd_op.reshape", "fused_reshape2_shape", &t);
    give(k, "Out", &t);
    pdm_tensor_deinit(&t);
    return k->status;
}

/* Bias by channel and residual data. */
static void conv_extras(pdm_k *k, pdm_tensor *out)
{
    const pdm_tensor *bias = pdm_k_slot(k, "Bias"), *residual = pdm_k_slot(k, "ResidualData");
    const bool last = !strcmp(pdm_k_str(k, "data_format"), "NHWC");
    const int64_t channels = out->dims[last ? out->rank - 1 : 1];
    const int64_t inner = last ? 1 : pdm_k_product(out->dims, 2, out->rank);
    const int64_t n = pdm_tensor_count(out);

    if (bias && pdm_tensor_count(bias) != channels)
        pdm_k_fail(k, "the bias does not fit the result");
    for (int64_t i = 0; bias && i < n && PDM_K_OK(k); i++)
        pdm_set_double(out, i, pdm_get_double(out, i) + pdm_get_double(bias, i / inner % channels));
    if (residual)
        add_all(k, out, residual);
}

/* fused_conv2d, fused_conv3d, conv2d_transpose_bias */
pdm_status pdm_kernel_old_fused_conv(pdm_k *k)
{
    const bool transposed = !strcmp(k->op, "legacy.conv2d_transpose_bias");
    const bool deep = !strcmp(k->op, "legacy.fused_conv3d");
    pdm_value *value = pdm_k_out_slot_value(k, "Output");
    int64_t size[PDM_K_MAX_INTS];
    pdm_sub s;

    pdm_sub_begin(&s, k,
                  transposed ? "pd_op.conv2d_transpose"
                  : deep     ? "pd_op.conv3d"
                             : "pd_op.conv2d");
    pdm_sub_in(&s, pdm_sub_slot(k, "Input"));
    pdm_sub_in(&s, pdm_sub_slot(k, "Filter"));
    if (transposed) {
        const size_t n = pdm_sub_slot_ints(k, NULL, NULL, "output_size", size);
        pdm_sub_in_ints(&s, size, n);
    }
    pdm_sub_result(&s, value);
    pdm_sub_run(&s);
    pdm_sub_end(&s);
    if (PDM_K_OK(k) && value && value->tensor.rank >= 3) {
        conv_extras(k, &value->tensor);
        tail(k, &value->tensor);
    }
    return k->status;
}

pdm_status pdm_kernel_old_fc(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "Input"), *w = pdm_sub_slot(k, "W");
    const pdm_tensor *bias = pdm_k_slot(k, "Bias");
    const int64_t lead = pdm_k_int_or(k, "in_num_col_dims", 1);
    const char *activation = text_or_none(k, "activation_type");
    int64_t dims[PDM_MAX_RANK];

    if (!PDM_K_OK(k))
        return k->status;
    if (lead < 1 || lead >= x->rank || w->rank != 2)
        return pdm_k_fail(k, "in_num_col_dims %lld does not fit %d dimensions", (long long)lead,
                          x->rank);
    /* Padded weights have four rows and columns more than are needed. */
    const int64_t extra = pdm_k_bool_or(k, "padding_weights", false) ? 4 : 0;
    const int64_t depth = w->dims[0] - extra, width = w->dims[1] - extra;
    const int64_t rows = pdm_k_product(x->dims, 0, (int)lead);
    if (depth < 0 || width < 0 || pdm_k_product(x->dims, (int)lead, x->rank) != depth ||
        (bias && pdm_tensor_count(bias) != width))
        return pdm_k_fail(k, "the operands do not fit each other");
    memcpy(dims, x->dims, sizeof dims);
    dims[lead] = width;
    pdm_tensor *out = pdm_sub_out(k, "Out", x->dtype, (int)lead + 1, dims);
    for (int64_t r = 0; out && r < rows; r++) {
        for (int64_t c = 0; c < width; c++) {
            double sum = bias ? pdm_get_double(bias, c) : 0;
            for (int64_t i = 0; i < depth; i++)
                sum += pdm_get_double(x, r * depth + i) * pdm_get_double(w, i * w->dims[1] + c);
            pdm_set_double(out, r * width + c, pdm_sub_activation(k, activation, sum, 0, 0));
        }
    }
    if (out && PDM_K_OK(k)) {
        tail(k, out);
        shape_by(k, "pd_op.reshape", "fused_reshape2_shape", out);
    }
    return k->status;
}

/* ---- multi_gru ------------------------------------------------------------------------------- */

/* One direction of a layer. */
static void gru_direction(pdm_k *k, const pdm_tensor *x, size_t number, pdm_tensor *out)
{
    pdm_sub s;

    pdm_sub_begin(&s, k, "pd_op.fusion_gru");
    pdm_sub_in(&s, x);
    pdm_sub_in(&s, NULL);
    pdm_sub_in(&s, pdm_k_slot_at(k, "WeightX", number));
    pdm_sub_in(&s, pdm_k_slot_at(k, "WeightH", number));
    pdm_sub_in(&s, pdm_k_slot_at(k, "Bias", number));
    pdm_sub_bool(&s, "is_reverse", number % 2 == 1);
    pdm_sub_bool(&s, "use_seq", true);
    for (int i = 0; i < 4; i++)
        pdm_sub_temp(&s);
    const pdm_tensor *made = pdm_sub_temp(&s);
    if (pdm_sub_run(&s) == PDM_OK)
        pdm_tensor_ref(out, made);
    pdm_sub_end(&s);
}

/* Both directions side by side. */
static void gru_layer(pdm_k *k, size_t layer, pdm_tensor *x)
{
    pdm_value sides[2] = {{.kind = PDM_VALUE_TENSOR}, {.kind = PDM_VALUE_TENSOR}};
    pdm_value *items[2] = {&sides[0], &sides[1]};
    pdm_tensor lod = {0};
    pdm_sub s;

    for (size_t i = 0; i < 2; i++)
        gru_direction(k, x, 2 * layer + i, &sides[i].tensor);
    pdm_tensor_ref(&lod, x);
    pdm_sub_begin(&s, k, "pd_op.concat");
    pdm_sub_in_list(&s, items, 2);
    pdm_sub_in_int(&s, 1);
    const pdm_tensor *made = pdm_sub_temp(&s);
    if (pdm_sub_run(&s) == PDM_OK) {
        pdm_tensor_ref(x, made);
        pdm_tensor_share_lod(x, &lod);
    }
    pdm_sub_end(&s);
    pdm_tensor_deinit(&lod);
    for (int i = 0; i < 2; i++)
        pdm_value_deinit(&sides[i]);
}

pdm_status pdm_kernel_old_multi_gru(pdm_k *k)
{
    const pdm_tensor *x = pdm_sub_slot(k, "X");
    const int64_t layers = pdm_k_int_or(k, "layers", 1);
    pdm_tensor t = {0};

    if (!PDM_K_OK(k))
        return k->status;
    if (pdm_k_slot_count(k, "Scale_weights"))
        return pdm_k_fail(k, "8-bit integers are not supported");
    if (layers < 1 || (uint64_t)layers > pdm_k_slot_count(k, "WeightX") / 2)
        return pdm_k_fail(k, "%lld layers with %zu weights", (long long)layers,
                          pdm_k_slot_count(k, "WeightX"));
    pdm_tensor_ref(&t, x);
    for (int64_t i = 0; i < layers && PDM_K_OK(k); i++)
        gru_layer(k, (size_t)i, &t);
    give(k, "Hidden", &t);
    pdm_tensor_deinit(&t);
    return k->status;
}
