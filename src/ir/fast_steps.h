/* Steps of ops of the `fast` dialect on their result: attributes `post` (kinds) and `post_args` (two numbers a step). */
#ifndef PDM_IR_FAST_STEPS_H
#define PDM_IR_FAST_STEPS_H

#include <stdbool.h>

/* Numbers are in programs of one process only. a, b: the step's numbers; y: its operand, of which an element
 * stands for a places of an image below each other and b side by side, if these are above 0; if a is below 0, y has
 * an element for each second place of lines and columns: a = -1 - 2 * line - column tells which. */
typedef enum pdm_post_kind {
    PDM_POST_AFFINE,       /* a * x + b */
    PDM_POST_RELU,         /* max(x, 0), 0 for NaN */
    PDM_POST_CLIP,         /* min(max(x, a), b) */
    PDM_POST_LEAKY_RELU,   /* x or a * x */
    PDM_POST_HARD_SWISH,   /* x * min(max(x + 3, 0), 6) / 6 */
    PDM_POST_HARD_SIGMOID, /* min(max(a * x + b, 0), 1) */
    PDM_POST_SIGMOID,
    PDM_POST_SWISH, /* x * sigmoid(a * x) */
    PDM_POST_TANH,
    PDM_POST_GELU,      /* with erf */
    PDM_POST_GELU_TANH, /* approximated */
    PDM_POST_ADD,       /* x + y */
    PDM_POST_SUB,       /* x - y */
    PDM_POST_RSUB,      /* y - x */
    PDM_POST_MUL,       /* x * y */
    PDM_POST_DIV,       /* x / y */
    PDM_POST_NUM_KINDS
} pdm_post_kind;

static inline bool pdm_post_has_operand(pdm_post_kind kind)
{
    return kind >= PDM_POST_ADD;
}

#endif
