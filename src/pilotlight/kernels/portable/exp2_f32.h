#ifndef PL_EXP2_F32_H
#define PL_EXP2_F32_H

#include "exp_f32.h"

/* 2^r for |r| <= 1/2. */
static inline float pl_exp2_near_f32(float r)
{
    float p = 1.54608760e-4f;
    p = (p * r) + 1.33911741e-3f;
    p = (p * r) + 9.61806700e-3f;
    p = (p * r) + 5.55035919e-2f;
    p = (p * r) + 2.40226507e-1f;
    p = (p * r) + 6.93147182e-1f;
    return 1.0f + (r * p);
}

/* 2^x, at most 1.2 ulp from the exact value. */
static inline float pl_exp2_f32(float x_start)
{
    float x = x_start;
    float shifted;
    x = (x > 129.0f) ? 129.0f : x;
    x = (x < -151.0f) ? -151.0f : x;
    shifted = x + 12582912.0f; /* the rounded integer in the low bits */
    return pl_scale_f32(pl_exp2_near_f32(x - (shifted - 12582912.0f)), pl_shifted_integer(shifted));
}

#endif
