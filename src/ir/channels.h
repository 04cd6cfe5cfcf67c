/*
 * Arithmetic that treats every channel by itself: what is matched, and the sums, are the same for passes, which compute
 * new parameters, and for the lowering to fast kernels, which leaves that to its plan.
 */
#ifndef PDM_IR_CHANNELS_H
#define PDM_IR_CHANNELS_H

#include <math.h>

#include "ir/op_info.h"

/* Where the channels of a value lie. */
typedef struct pdm_ir_channels {
    int64_t count; /* 0: elements are not told apart */
    uint32_t rank, tail; /* tail: dims after that of the channels */
} pdm_ir_channels;

/* Elements of a tensor with known dims; -1: not known. */
int64_t pdm_ir_static_count(const pdm_ir_value *value);
/* Whether y, broadcast to such a value, is one number for all or one for each channel. */
bool pdm_ir_is_per_channel(const pdm_ir_value *y, const pdm_ir_channels *channels);

/* Batch normalization with fixed statistics: a factor and a shift for each channel of an image. */
typedef struct pdm_ir_norm {
    pdm_ir_value *x, *mean, *variance, *scale, *shift; /* the last two may be NULL */
    double epsilon;
    uint32_t tail;
} pdm_ir_norm;

/* False: op is none such, or more of it is read than what it normalizes. */
bool pdm_ir_is_fixed_norm(const pdm_ir_op *op, pdm_ir_norm *out);

/* scale and shift are 1 and 0 where they are missing. */
static inline double pdm_ir_norm_factor(double scale, double variance, double epsilon)
{
    return scale / sqrt(variance + epsilon);
}

static inline double pdm_ir_norm_shift(double shift, double mean, double factor)
{
    return shift - mean * factor;
}

/* (x + bias) * factor + shift is x * factor and this. */
static inline double pdm_ir_channel_bias(double bias, double factor, double shift)
{
    return bias * factor + shift;
}

#endif
