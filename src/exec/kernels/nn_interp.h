/* Interpolation: what the reference and the fast kernels share. */
#ifndef PDM_EXEC_KERNELS_NN_INTERP_H
#define PDM_EXEC_KERNELS_NN_INTERP_H

#include "exec/kernels/nn_impl.h"

/* Where the values of one output place come from along one dim: `taps` of them, with weights. */
#define PDM_INTERP_TAPS 4

typedef struct pdm_nn_interp_axis {
    int taps;
    int64_t *from;  /* [out][PDM_INTERP_TAPS] */
    double *weight; /* [out][PDM_INTERP_TAPS] */
} pdm_nn_interp_axis;

typedef struct pdm_nn_interp {
    const pdm_tensor *x;
    pdm_tensor *out;
    pdm_nn_window w;
    enum { PDM_INTERP_NEAREST, PDM_INTERP_LINEAR, PDM_INTERP_CUBIC } method;
    bool align_corners;
    int64_t align_mode;
    double scale[3]; /* 0: not given */
    pdm_nn_interp_axis axes[3];
    int64_t xs[5], os[5];
} pdm_nn_interp;

/* Read the call (method is set) and make its result. False: it has failed, nobody wants the result,
 * or it is empty. */
bool pdm_nn_interp_sizes(pdm_k *k, pdm_nn_interp *p);
/* The same, and the tables, which last as long as the call. */
bool pdm_nn_interp_begin(pdm_k *k, pdm_nn_interp *p);
/* Input elements for one output element along a dim. */
float pdm_nn_interp_ratio(const pdm_nn_interp *p, int d);

#endif
