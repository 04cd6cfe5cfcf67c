/*
 * Depthwise convolution of channels-last images, a few places at a time, for its own kernel and for
 * those that go on with what it makes. Nothing is owned; one struct serves any number of threads.
 */
#ifndef PDM_EXEC_FAST_DEPTHWISE_H
#define PDM_EXEC_FAST_DEPTHWISE_H

#include "exec/fast/conv_impl.h"

typedef struct pdm_depthwise {
    const pdm_fast_conv *c;
    const struct machine *m;
    int64_t group;     /* channels that are done in one go over a line */
    int64_t inside[2]; /* places of a line whose whole kernel is on the image */
} pdm_depthwise;

/* False: the call has failed, it is no depthwise convolution. The filter is packed. */
bool pdm_depthwise_begin(pdm_k *k, pdm_depthwise *d, const pdm_fast_conv *c);
/* Places [begin, end) of a line (of all images) and the steps after them; y: the first of them. */
void pdm_depthwise_run(const pdm_depthwise *d, int64_t line, int64_t begin, int64_t end, float *y);

#endif
