/* Interpolation of Paddle 1.x (without _v2). */
#include "translator/expressed.h"

#include <string.h>

/*
 * The old ops always map by the two sizes, the PIR ops by `scale` where it is given: sizes are
 * worked out here and scale is left away.
 */

#define MAX_SPATIAL 3

typedef struct interp {
    pdm_ir_value *x;
    int spatial;  /* 1 to 3 */
    int first;    /* axis of the first spatial dim */
    double scale; /* of the attribute */
} interp;

/* int(size * scale), both in float32, as an int32 tensor [spatial]. */
static pdm_ir_value *scaled_size(pdm_tr_op *t, const interp *in, pdm_ir_value *scale)
{
    pdm_tr_dim dims[MAX_SPATIAL];
    for (int i = 0; i < in->spatial; i++)
        dims[i] = PDM_TR_DIM_OF(in->x, in->first + i);
    pdm_ir_value *size = pdm_tr_cast(t, pdm_tr_dims(t, dims, (size_t)in->spatial), PDM_F32);
    if (scale)
        size = pdm_tr_binary(t, "pd_op.multiply", size, pdm_tr_cast(t, scale, PDM_F32));
    else
        size = pdm_tr_scale(t, size, in->scale, 0);
    return pdm_tr_cast(t, size, PDM_I32);
}

/* Output size from the attributes; false when it depends on dims that are not known. */
static bool constant_size(pdm_tr_op *t, const interp *in, int64_t *out)
{
    static const char *const names[MAX_SPATIAL] = {"out_d", "out_h", "out_w"};
    for (int i = 0; i < in->spatial; i++) {
        int64_t dim = pdm_tr_known_dim(in->x, in->first + i);
        if (!(in->scale > 0))
            out[i] = pdm_tr_int(t, names[MAX_SPATIAL - in->spatial + i]);
        else if (dim >= 0 && (double)dim * in->scale < PDM_TR_MAX_DIM)
            out[i] = (int64_t)((float)dim * (float)in->scale);
        else
            return false;
    }
    return true;
}

static bool whole_number(double v)
{
    return v >= 1 && v < 65536 && !(v - (double)(int)v > 0);
}

void pdm_tr_h_interp_v1(pdm_tr_op *t)
{
    const char *type = t->op->type;
    const char *layout = pdm_tr_string(t, "data_layout"),
               *method = pdm_tr_string(t, "interp_method");
    interp in = {.x = pdm_tr_in(t, "X")};
    int64_t size[MAX_SPATIAL] = {0, 0, 0};
    double scales[MAX_SPATIAL];
    size_t num_scales = 0;
    pdm_ir_value *out_size = NULL, *list = NULL;
    int rank = pdm_tr_need_rank(t, in.x);
    char name[PDM_TR_MAX_NAME] = "pd_op.";
    if (t->failed || !in.x)
        return;
    in.spatial = rank - 2;
    in.first = strcmp(layout, "NCHW") == 0 ? 2 : 1;
    in.scale = pdm_tr_float(t, "scale");
    if (in.spatial < 1 || in.spatial > MAX_SPATIAL) {
        pdm_tr_error(t, PDM_D_LG_TYPE, NULL, NULL, "'%s' needs an input of rank 3 to 5", type);
        return;
    }
    /* A list of sizes wins, then a tensor of sizes, then the scales. */
    if (pdm_tr_num_in(t, "SizeTensor"))
        list = pdm_tr_in_combined(t, "SizeTensor");
    else if (pdm_tr_num_in(t, "OutSize"))
        out_size = pdm_tr_cast(t, pdm_tr_in(t, "OutSize"), PDM_I32);
    else if (pdm_tr_num_in(t, "Scale"))
        out_size = scaled_size(t, &in, pdm_tr_in(t, "Scale"));
    else if (!constant_size(t, &in, size)) {
        if (!whole_number(in.scale))
            out_size = scaled_size(t, &in, NULL);
        else /* both ways of mapping agree */
            for (; num_scales < (size_t)in.spatial; num_scales++)
                scales[num_scales] = in.scale;
    }
    bool align = pdm_tr_bool(t, "align_corners");
    int64_t mode = pdm_tr_int(t, "align_mode");
    strcat(name, type);
    int64_t d = in.spatial == 3 ? size[0] : -1, h = in.spatial >= 2 ? size[in.spatial - 2] : -1,
            w = size[in.spatial - 1];
    pdm_tr_out(t, "Out",
               pdm_tr_emit1(t, name, PDM_TR_OPS(in.x, out_size, list, NULL),
                            PDM_TR_ATTRS({"data_format", pdm_tr_a_str(t, layout), 0},
                                         {"out_d", pdm_tr_a_i32(t, d), 0},
                                         {"out_h", pdm_tr_a_i32(t, h), 0},
                                         {"out_w", pdm_tr_a_i32(t, w), 0},
                                         {"scale", pdm_tr_a_f64s(t, scales, num_scales), 0},
                                         {"interp_method", pdm_tr_a_str(t, method), 0},
                                         {"align_corners", pdm_tr_a_bool(t, align), 0},
                                         {"align_mode", pdm_tr_a_i32(t, mode), 0})));
}
