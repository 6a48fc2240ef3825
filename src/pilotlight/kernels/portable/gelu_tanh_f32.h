#ifndef PL_GELU_TANH_F32_H
#define PL_GELU_TANH_F32_H

#include "tanh_f32.h"

/* x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), at most 2.2 * 2^-24 * |x| from the exact value. */
static inline float pl_gelu_tanh_f32(float x)
{
    return 0.5f * x * (1.0f + pl_tanh_f32(0.797884583f * (x + (0.044715f * (x * x * x)))));
}

#endif
