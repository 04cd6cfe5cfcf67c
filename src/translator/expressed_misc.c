/* Rare ops: constants, priors, pair counts, windows, and attention that only exists in place. */
#include "translator/expressed.h"

#include <math.h>
#include <string.h>

/* Numbers in a table that is made here. */
#define MAX_TABLE (1 << 20)

/* ---- constants ------------------------------------------------------------------------------- */

/* The numbers are floats in the model, whatever the element type. */
void pdm_tr_h_fill(pdm_tr_op *t)
{
    size_t n = 0, rank = 0;
    const double *values = pdm_tr_floats(t, "value", &n);
    const int64_t *dims = pdm_tr_ints(t, "shape", &rank);
    pdm_dtype dtype = pdm_tr_dtype(t, "dtype");
    if (t->failed || !values || !dims)
        return;
    if (pdm_dtype_is_float(dtype)) {
        pdm_tr_out(t, "Out", pdm_tr_table_f(t, dims, rank, dtype, values, n));
        return;
    }
    int64_t *whole = pdm_arena_calloc(&t->tr->scratch, n + 1, sizeof *whole);
    if (!whole) {
        pdm_tr_nomem(t->tr);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bool fits = values[i] > -9e18 && values[i] < 9e18;
        whole[i] = dtype == PDM_BOOL ? values[i] < 0 || values[i] > 0
                   : fits            ? (int64_t)values[i]
                                     : INT64_MIN;
    }
    pdm_dtype wide = dtype == PDM_I64 ? PDM_I64 : PDM_I32;
    pdm_tr_out(t, "Out", pdm_tr_cast(t, pdm_tr_table_i(t, dims, rank, wide, whole, n), dtype));
}

void pdm_tr_h_full_int_array(pdm_tr_op *t)
{
    size_t n = 0;
    const int64_t *values = pdm_tr_ints(t, "value", &n);
    pdm_dtype dtype = pdm_tr_dtype(t, "dtype");
    if (values)
        pdm_tr_out(t, "out", pdm_tr_cast(t, pdm_tr_const_ints(t, values, n), dtype));
}

/* ---- sampling -------------------------------------------------------------------------------- */

/* How many running sums of the probabilities a random number has passed. */
void pdm_tr_h_sampling_id(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "X");
    double low = pdm_tr_float(t, "min"), high = pdm_tr_float(t, "max");
    int64_t seed = pdm_tr_int(t, "seed");
    pdm_dtype dtype = pdm_tr_dtype_of(x);
    const pdm_lg_var *var = pdm_tr_out_var(t, "Out", 0);
    pdm_ir_value *axis = pdm_tr_const_i(t, PDM_I32, 1);
    pdm_ir_value *sums = pdm_tr_emit1(t, "pd_op.cumsum", PDM_TR_OPS(x, axis), PDM_TR_NO_ATTRS);
    pdm_ir_value *shape = pdm_tr_dims(t, (pdm_tr_dim[]){PDM_TR_DIM_OF(x, 0), PDM_TR_DIM(1)}, 2);
    pdm_ir_value *min = pdm_tr_const_f(t, PDM_F32, low), *max = pdm_tr_const_f(t, PDM_F32, high);
    pdm_ir_value *random = pdm_tr_emit1(
        t, "pd_op.uniform", PDM_TR_OPS(shape, min, max),
        PDM_TR_ATTRS({"dtype", pdm_tr_a_dtype(t, dtype), 0}, {"seed", pdm_tr_a_i32(t, seed), 0}));
    pdm_ir_value *passed =
        pdm_tr_cast(t, pdm_tr_binary(t, "pd_op.less_equal", sums, random), PDM_I64);
    pdm_ir_value *id = pdm_tr_reduce(t, "pd_op.sum", passed, (int64_t[]){1}, 1, false);
    pdm_ir_value *last = pdm_tr_scale(t, pdm_tr_dim_value(t, x, 1), 1, -1);
    id = pdm_tr_binary(t, "pd_op.minimum", id, last);
    pdm_tr_out(t, "Out",
               pdm_tr_cast(t, id, var && var->dtype != PDM_UNDEFINED ? var->dtype : PDM_I64));
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Windows of `size` along an axis, one every `step`; their inside becomes the last axis. */
void pdm_tr_h_tensor_unfold(pdm_tr_op *t)
{
    pdm_ir_value *x = pdm_tr_in(t, "input");
    int64_t axis = pdm_tr_int(t, "axis"), size = pdm_tr_int(t, "size"),
            step = pdm_tr_int(t, "step");
    int rank = pdm_tr_need_rank(t, x);
    axis = axis < 0 ? axis + rank : axis;
    int64_t dim = pdm_tr_known_dim(x, (int)axis);
    if (t->failed || !x)
        return;
    if (axis < 0 || axis >= rank || rank >= PDM_MAX_RANK || size < 1 || step < 1) {
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "axis", NULL,
                     "the windows of 'tensor_unfold' do not fit its input");
        return;
    }
    if (dim < size) {
        pdm_tr_unsupported(t, NULL, "'tensor_unfold' along an axis of unknown length");
        return;
    }
    int64_t n = (dim - size) / step + 1, perm[PDM_MAX_RANK];
    if (n * size > MAX_TABLE) {
        pdm_tr_unsupported(t, NULL, "'tensor_unfold' with more than %d places", MAX_TABLE);
        return;
    }
    int64_t *rows = pdm_arena_calloc(&t->tr->scratch, (size_t)(n * size), sizeof *rows);
    if (!rows) {
        pdm_tr_nomem(t->tr);
        return;
    }
    for (int64_t i = 0; i < n * size; i++)
        rows[i] = i / size * step + i % size;
    pdm_tr_dim dims[PDM_MAX_RANK];
    for (int i = 0, k = 0; i < rank; i++, k++) {
        dims[k] = i == axis ? PDM_TR_DIM(n) : PDM_TR_DIM_OF(x, i);
        if (i == axis)
            dims[++k] = PDM_TR_DIM(size);
    }
    for (int i = 0; i <= rank; i++)
        perm[i] = i == rank ? axis + 1 : i <= axis ? i : i + 1;
    pdm_ir_value *index = pdm_tr_const_ints(t, rows, (size_t)(n * size)),
                 *along = pdm_tr_const_i(t, PDM_I32, axis);
    pdm_ir_value *out =
        pdm_tr_emit1(t, "pd_op.gather", PDM_TR_OPS(x, index, along), PDM_TR_NO_ATTRS);
    out = pdm_tr_reshape_dims(t, out, dims, (size_t)rank + 1);
    pdm_tr_out(t, "out", pdm_tr_transpose(t, out, perm, (size_t)rank + 1));
}

/* ---- density_prior_box ----------------------------------------------------------------------- */

/* The boxes around one place: shifts of their centre in pixels, and halves of their sides. */
typedef struct priors {
    double *shift[2], *half[2]; /* x and y */
    size_t n;
    double step[2];
} priors;

static bool prior_steps(pdm_tr_op *t, priors *p)
{
    static const char *const names[2] = {"step_w", "step_h"};
    pdm_ir_value *x = pdm_tr_in(t, "Input"), *image = pdm_tr_in(t, "Image");
    p->step[0] = pdm_tr_float(t, names[0]);
    p->step[1] = pdm_tr_float(t, names[1]);
    bool given = p->step[0] > 0 && p->step[1] > 0;
    for (int i = 0; i < 2 && !given; i++) {
        int64_t large = pdm_tr_known_dim(image, 3 - i), small = pdm_tr_known_dim(x, 3 - i);
        if (large < 1 || small < 1) {
            pdm_tr_unsupported(t, names[i],
                               "'density_prior_box' without steps, on images of unknown size");
            return false;
        }
        p->step[i] = (double)((float)large / (float)small);
    }
    return !t->failed;
}

static bool place_priors(pdm_tr_op *t, priors *p)
{
    size_t sizes = 0, ratios = 0, num_densities = 0;
    const double *size = pdm_tr_floats(t, "fixed_sizes", &sizes),
                 *ratio = pdm_tr_floats(t, "fixed_ratios", &ratios);
    const int64_t *densities = pdm_tr_ints(t, "densities", &num_densities);
    if (t->failed || !size || !ratio || !densities || !prior_steps(t, p))
        return false;
    size_t room = 0;
    for (size_t s = 0; s < sizes && s < num_densities && room <= MAX_TABLE && ratios <= MAX_TABLE;
         s++)
        room += densities[s] > 0 && densities[s] < 256
                    ? (size_t)(densities[s] * densities[s]) * ratios
                    : 0;
    if (room > MAX_TABLE || ratios > MAX_TABLE || p->step[0] + p->step[1] > PDM_TR_MAX_DIM) {
        pdm_tr_unsupported(t, NULL, "'density_prior_box' with more than %d boxes a place",
                           MAX_TABLE);
        return false;
    }
    double *all = pdm_arena_calloc(&t->tr->scratch, 4 * room + 4, sizeof *all);
    if (!all) {
        pdm_tr_nomem(t->tr);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        p->shift[i] = all + (size_t)i * room;
        p->half[i] = all + (size_t)(i + 2) * room;
    }
    int average = (int)((p->step[0] + p->step[1]) * 0.5);
    for (size_t s = 0; s < sizes && s < num_densities; s++) {
        int d = densities[s] > 0 && densities[s] < 256 ? (int)densities[s] : 0;
        for (size_t r = 0; r < ratios; r++) {
            double root = (double)sqrtf((float)ratio[r]);
            for (int k = 0; k < d * d; k++, p->n++) {
                int shift = average / d;
                p->shift[0][p->n] = -average / 2.0 + shift / 2.0 + (double)(k % d * shift);
                p->shift[1][p->n] = -average / 2.0 + shift / 2.0 + (double)(k / d * shift);
                p->half[0][p->n] = (double)((float)(size[s] * root) / 2.0f);
                p->half[1][p->n] = (double)((float)(size[s] / root) / 2.0f);
            }
        }
    }
    if (p->n == 0)
        pdm_tr_error(t, PDM_D_LG_ATTR_VALUE, "fixed_sizes", NULL,
                     "'density_prior_box' has no boxes");
    return p->n > 0;
}

void pdm_tr_h_density_prior_box(pdm_tr_op *t)
{
    priors p = {0};
    pdm_ir_value *x = pdm_tr_in(t, "Input"), *image = pdm_tr_in(t, "Image"), *edges[4];
    pdm_dtype dtype = pdm_tr_dtype_of(x);
    double offset = pdm_tr_float(t, "offset");
    size_t num_variances = 0;
    const double *variances = pdm_tr_floats(t, "variances", &num_variances);
    if (t->failed || !x || !place_priors(t, &p))
        return;
    const int64_t n = (int64_t)p.n, row[3] = {1, 1, n};
    const pdm_tr_dim grid[4] = {PDM_TR_DIM_OF(x, 2), PDM_TR_DIM_OF(x, 3), PDM_TR_DIM(n),
                                PDM_TR_DIM(4)};
    for (int i = 0; i < 2; i++) {
        const int64_t line[3] = {i ? -1 : 1, i ? 1 : -1, 1};
        pdm_ir_value *at =
            pdm_tr_cast(t, pdm_tr_iota(t, pdm_tr_dim_value(t, x, 3 - i), PDM_I64), dtype);
        at = pdm_tr_scale(t, pdm_tr_scale(t, at, 1, offset), p.step[i], 0);
        at = pdm_tr_binary(t, "pd_op.add", pdm_tr_reshape(t, at, line, 3),
                           pdm_tr_table_f(t, row, 3, dtype, p.shift[i], p.n));
        pdm_ir_value *half = pdm_tr_table_f(t, row, 3, dtype, p.half[i], p.n);
        pdm_ir_value *size = pdm_tr_cast(t, pdm_tr_dim_value(t, image, 3 - i), dtype);
        edges[i] = pdm_tr_binary(t, "pd_op.subtract", at, half);
        edges[i + 2] = pdm_tr_binary(t, "pd_op.add", at, half);
        for (int k = i; k < 4; k += 2) {
            edges[k] = pdm_tr_clip(t, pdm_tr_binary(t, "pd_op.divide", edges[k], size),
                                   k < 2 ? 0 : -__builtin_inf(), k < 2 ? __builtin_inf() : 1);
            edges[k] =
                pdm_tr_unsqueeze(t, pdm_tr_expand_dims(t, edges[k], grid, 3), (int64_t[]){3}, 1);
        }
    }
    pdm_ir_value *boxes = pdm_tr_concat(t, edges, 4, 3);
    if (pdm_tr_bool(t, "clip"))
        boxes = pdm_tr_clip(t, boxes, 0, 1);
    const int64_t four = 4;
    pdm_ir_value *spread = pdm_tr_table_f(t, &four, 1, dtype, variances, num_variances);
    spread = pdm_tr_expand_dims(t, spread, grid, 4);
    if (pdm_tr_bool(t, "flatten_to_2d")) {
        boxes = pdm_tr_reshape(t, boxes, (int64_t[]){-1, 4}, 2);
        spread = pdm_tr_reshape(t, spread, (int64_t[]){-1, 4}, 2);
    }
    pdm_tr_out(t, "Boxes", boxes);
    pdm_tr_out(t, "Variances", spread);
}

/* ---- positive_negative_pair ------------------------------------------------------------------ */

/* op(x_i, x_j) for all pairs of a column [n]: a matrix with i down and j across. */
static pdm_ir_value *pairs(pdm_tr_op *t, const char *op, pdm_ir_value *x)
{
    return pdm_tr_binary(t, op, pdm_tr_unsqueeze(t, x, (int64_t[]){1}, 1),
                         pdm_tr_unsqueeze(t, x, (int64_t[]){0}, 1));
}

static void count_pairs(pdm_tr_op *t, const char *out, const char *before, pdm_ir_value *mask,
                        pdm_ir_value *weights, pdm_dtype dtype)
{
    const int64_t one = 1;
    pdm_ir_value *sum = pdm_tr_cast(t, mask, dtype);
    if (weights)
        sum = pdm_tr_binary(t, "pd_op.multiply", sum, weights);
    sum = pdm_tr_reshape(t, pdm_tr_reduce(t, "pd_op.sum", sum, NULL, 0, false), &one, 1);
    pdm_ir_value *more = pdm_tr_in_opt(t, before);
    pdm_tr_out(t, out, more ? pdm_tr_binary(t, "pd_op.add", sum, more) : sum);
}

void pdm_tr_h_positive_negative_pair(pdm_tr_op *t)
{
    pdm_ir_value *score = pdm_tr_in(t, "Score"), *label = pdm_tr_in(t, "Label"),
                 *query = pdm_tr_in(t, "QueryID"), *weight = pdm_tr_in_opt(t, "Weight");
    int64_t column = pdm_tr_int(t, "column");
    pdm_dtype dtype = pdm_tr_dtype_of(score);
    const int64_t any = -1;
    if (t->failed || !score)
        return;
    score = pdm_tr_slice(t, score, 1, column, column == -1 ? INT32_MAX : column + 1);
    score = pdm_tr_reshape(t, score, &any, 1);
    label = pdm_tr_reshape(t, label, &any, 1);
    pdm_ir_value *counted = pairs(t, "pd_op.equal", pdm_tr_reshape(t, query, &any, 1));
    counted = pdm_tr_binary(t, "pd_op.logical_and", counted, pairs(t, "pd_op.not_equal", label));
    counted = pdm_tr_binary(t, "pd_op.logical_and", counted,
                            pairs(t, "pd_op.less_than", pdm_tr_row_numbers(t, score)));
    if (weight) {
        weight = pairs(t, "pd_op.add", pdm_tr_reshape(t, weight, &any, 1));
        weight = pdm_tr_scale(t, weight, 0.5, 0);
    }
    pdm_ir_value *d = pdm_tr_binary(t, "pd_op.multiply", pairs(t, "pd_op.subtract", score),
                                    pairs(t, "pd_op.subtract", label));
    pdm_ir_value *right = pdm_tr_binary(t, "pd_op.greater_than", d, pdm_tr_like_const(t, d, 0));
    pdm_ir_value *equal = pairs(t, "pd_op.equal", score);
    pdm_ir_value *wrong = pdm_tr_unary(t, "pd_op.logical_not", right);
    count_pairs(t, "PositivePair", "AccumulatePositivePair",
                pdm_tr_binary(t, "pd_op.logical_and", counted, right), weight, dtype);
    count_pairs(t, "NegativePair", "AccumulateNegativePair",
                pdm_tr_binary(t, "pd_op.logical_and", counted, wrong), weight, dtype);
    count_pairs(t, "NeutralPair", "AccumulateNeutralPair",
                pdm_tr_binary(t, "pd_op.logical_and", counted, equal), weight, dtype);
}

/* ---- attention with caches ------------------------------------------------------------------- */

static pdm_ir_value *operand_of(pdm_tr_op *t, const pdm_ir_operand_desc *d)
{
    bool given = pdm_tr_num_in(t, d->name) > 0;
    switch (d->kind) {
    case PDM_IR_OPERAND_VECTOR:
        return pdm_tr_in_combined(t, d->name);
    case PDM_IR_OPERAND_OPTIONAL_VECTOR:
        return given ? pdm_tr_in_combined(t, d->name) : NULL;
    case PDM_IR_OPERAND_OPTIONAL:
        return pdm_tr_in_opt(t, d->name);
    default:
        return pdm_tr_in(t, d->name);
    }
}

static pdm_ir_type result_type(pdm_tr_op *t, const pdm_ir_result_desc *d,
                               pdm_ir_value *const *operands, const pdm_ir_op_desc *desc)
{
    if (!pdm_tr_has_out(t, d->name))
        return NULL;
    if (d->kind != PDM_IR_OPERAND_VECTOR)
        return pdm_tr_out_type(t, d->name, 0);
    for (size_t i = 0; i < desc->num_operands; i++) /* the caches, overwritten */
        if (strcmp(desc->operands[i].name, "cache_kvs") == 0 && operands[i])
            return operands[i]->type;
    return NULL;
}

/* PIR has these in place only, with the slots' own names as operands. */
void pdm_tr_h_cached_attention(pdm_tr_op *t)
{
    char name[PDM_TR_MAX_NAME] = "pd_op.";
    pdm_ir_value *operands[32] = {NULL};
    pdm_ir_named_attr attrs[32];
    pdm_ir_type types[8] = {NULL};
    size_t n = 0;
    strcat(name, t->op->type);
    strcat(name, "_");
    const pdm_ir_op_desc *desc = pdm_ir_op_desc_find(name);
    if (!desc || desc->num_operands > 32 || desc->num_attrs > 32 || desc->num_results > 8) {
        pdm_tr_error(t, PDM_D_INTERNAL, NULL, NULL, "there is no PIR op '%s'", name);
        return;
    }
    for (size_t i = 0; i < desc->num_operands && !t->failed; i++)
        operands[i] = operand_of(t, &desc->operands[i]);
    for (size_t i = 0; i < desc->num_attrs && !t->failed; i++) {
        const pdm_lg_attr *a = pdm_tr_attr(t, desc->attrs[i].name);
        if (a)
            attrs[n++] = (pdm_ir_named_attr){desc->attrs[i].name,
                                             pdm_tr_convert_attr(t, a, desc->attrs[i].type), 0};
    }
    for (size_t i = 0; i < desc->num_results; i++)
        types[i] = result_type(t, &desc->results[i], operands, desc);
    pdm_ir_op *op = pdm_tr_emit_typed(t, name, operands, desc->num_operands, attrs, n, types,
                                      desc->num_results);
    for (size_t i = 0; i < desc->num_results && op; i++) {
        pdm_ir_value *v = pdm_tr_result(op, i);
        if (!types[i])
            continue;
        if (types[i]->kind != PDM_IR_VECTOR) {
            pdm_tr_out(t, desc->results[i].name, v);
            continue;
        }
        const pdm_lg_slot *slot = pdm_lg_find_output(t->op, desc->results[i].name);
        for (size_t k = 0; slot && k < slot->num_args; k++)
            pdm_tr_out_element(t, slot->args[k], v, (uint32_t)k);
    }
}
