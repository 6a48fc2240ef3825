#ifndef PL_SIGMOID_F32_H
#define PL_SIGMOID_F32_H

#include "abs_f32.h"
#include "exp_f32.h"

/* 1 / (1 + e^-x), at most 2.5 ulp from the exact value. e^-|x| never overflows. */
static inline float pl_sigmoid_f32(float x)
{
    const float e = pl_exp_f32(-pl_abs_f32(x));
    return ((x < 0.0f) ? e : 1.0f) / (1.0f + e);
}

#endif
