#ifndef PL_SOFTPLUS_F32_H
#define PL_SOFTPLUS_F32_H

#include "exp_f32.h"
#include "log1p_f32.h"

/* log(1 + e^(beta x)) / beta, and x itself where beta x is above the threshold, as PyTorch has it. */
static inline float pl_softplus_f32(float x, float beta, float threshold)
{
    const float t = x * beta;
    return t > threshold ? x : pl_log1p_f32(pl_exp_f32(t)) / beta;
}

#endif
