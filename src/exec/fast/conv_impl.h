/* What the convolutions of the `fast` dialect share: channels-last images, operands, attributes. */
#ifndef PDM_EXEC_FAST_CONV_IMPL_H
#define PDM_EXEC_FAST_CONV_IMPL_H

#include "exec/fast/post.h"
#include "exec/kernels/nn_impl.h"

typedef struct pdm_fast_conv {
    pdm_nn_window w;                      /* spatial dims are [1] and [2] */
    int64_t groups, in_group, out_group;  /* channels of a group */
    int64_t channels;                     /* of the result */
    const float *x, *filter, *bias;       /* bias NULL: none */
    pdm_post post;
    int64_t dims[4]; /* of what the convolution computes */
    float *y;        /* where it is computed; NULL: there is nothing to do */
} pdm_fast_conv;

/* Read the call but for its steps. */
bool pdm_fast_conv_read(pdm_k *k, pdm_fast_conv *c);
/* Read the call and make the result. */
bool pdm_fast_conv_begin(pdm_k *k, pdm_fast_conv *c);
/* Fails the call unless the packed filter has so many floats. */
bool pdm_fast_conv_filter_is(pdm_k *k, int64_t wanted);
/* After the work: the steps that could not be done in it. */
pdm_status pdm_fast_conv_end(pdm_k *k, pdm_fast_conv *c);
/* Steps to be done on what is computed; NULL: none, or pdm_fast_conv_end does them. */
static inline const pdm_post *pdm_fast_conv_post(const pdm_fast_conv *c)
{
    return c->post.count > 0 && !c->post.grows ? &c->post : NULL;
}

#endif
