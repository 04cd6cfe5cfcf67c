/* Boxes, anchors, regions of interest. */
#include <math.h>

#include "ir/infer_impl.h"

static int64_t array_count(const pdm_ir_infer *in, const char *name)
{
    pdm_ir_attr attr = pdm_ir_state_attr(in->state, name);
    return attr && attr->kind == PDM_IR_ATTR_ARRAY ? (int64_t)attr->count : -1;
}

/* Aspect ratios as the kernel expands them: 1 first, then each new one, with its inverse when
 * flipped. */
static int64_t expanded_ratios(const pdm_ir_infer *in)
{
    pdm_ir_attr attr = pdm_ir_state_attr(in->state, "aspect_ratios");
    bool flip = pdm_ir_state_bool(in->state, "flip", true);
    double seen[64] = {1.0};
    size_t n = 1;
    for (uint32_t i = 0; attr && attr->kind == PDM_IR_ATTR_ARRAY && i < attr->count; i++) {
        double ratio = attr->u.items[i]->kind == PDM_IR_ATTR_F32 ? attr->u.items[i]->u.f : 1.0;
        bool known = false;
        for (size_t k = 0; k < n; k++)
            known |= fabs(seen[k] - ratio) < 1e-6;
        if (known)
            continue;
        if (n + 2 > sizeof seen / sizeof *seen)
            return -1;
        seen[n++] = ratio;
        if (flip)
            seen[n++] = 1.0 / ratio;
    }
    return (int64_t)n;
}

/* Anchors on each place of a feature map: [height, width, anchors, 4], twice. */
static void grid_of_anchors(pdm_ir_infer *in, int64_t anchors)
{
    pdm_ir_meta x = pdm_ir_in_meta(in, 0);
    int64_t dims[4] = {pdm_ir_meta_dim(&x, 2), pdm_ir_meta_dim(&x, 3), anchors, 4};
    pdm_ir_out_dims(in, 0, x.dtype, 4, dims);
    pdm_ir_out_dims(in, 1, x.dtype, 4, dims);
}

pdm_status pdm_ir_infer_prior_box(pdm_ir_infer *in)
{
    int64_t max_sizes = array_count(in, "max_sizes");
    grid_of_anchors(
        in, pdm_ir_dim_add(in, pdm_ir_dim_mul(in, expanded_ratios(in), array_count(in, "min_sizes")),
                           max_sizes < 0 ? 0 : max_sizes));
    return PDM_OK;
}

pdm_status pdm_ir_infer_anchor_generator(pdm_ir_infer *in)
{
    grid_of_anchors(
        in, pdm_ir_dim_mul(in, array_count(in, "anchor_sizes"), array_count(in, "aspect_ratios")));
    return PDM_OK;
}

/* prior_box, prior_box_var, target_box */
pdm_status pdm_ir_infer_box_coder(pdm_ir_infer *in)
{
    pdm_ir_meta prior = pdm_ir_in_meta(in, 0), target = pdm_ir_in_meta(in, 2);
    pdm_ir_attr kind = pdm_ir_state_attr(in->state, "code_type");
    bool encode =
        kind && kind->kind == PDM_IR_ATTR_STR && kind->u.s.size && kind->u.s.text[0] == 'e';
    int64_t dims[3] = {pdm_ir_meta_dim(&target, 0), pdm_ir_meta_dim(&prior, 0),
                       pdm_ir_meta_dim(&prior, 1)};
    if (encode)
        pdm_ir_out_dims(in, 0, target.dtype, 3, dims);
    else
        pdm_ir_out_meta(in, 0, &target);
    return PDM_OK;
}

/* Elements of results 0 and 1 (levels), and where each region went. */
pdm_status pdm_ir_infer_distribute_fpn(pdm_ir_infer *in)
{
    pdm_ir_meta rois = pdm_ir_in_meta(in, 0);
    for (size_t r = 0; r < 2 && r < in->num_results; r++)
        for (size_t i = 0; in->results[r].elements && i < in->results[r].num_elements; i++)
            in->results[r].elements[i] = r == 0
                                             ? pdm_ir_meta_make(rois.dtype, 2, (int64_t[]){-1, 4})
                                             : pdm_ir_meta_make(PDM_I32, 1, NULL);
    pdm_ir_out_dims(in, 2, PDM_I32, 2, (int64_t[]){pdm_ir_meta_dim(&rois, 0), 1});
    return PDM_OK;
}
