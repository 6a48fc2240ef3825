#ifndef PL_ATAN_F32_H
#define PL_ATAN_F32_H

#include "abs_f32.h"

/* atan x, at most 1.9 ulp from the exact value. */
static inline float pl_atan_f32(float x)
{
    const float a = pl_abs_f32(x);
    float base = 0.0f; /* the angle subtracted, and what a float of it leaves out */
    float rest = 0.0f;
    float t = a;
    float z;
    float p;
    if (a > 2.41421366f) {
        base = 1.57079637f;
        rest = -4.37113883e-8f;
        t = -1.0f / a;
    } else if (a > 0.414213568f) {
        base = 0.785398185f;
        rest = -2.18556941e-8f;
        t = (a - 1.0f) / (a + 1.0f);
    } else {
        /* small enough as it is */
    }
    z = t * t;
    p = -6.09055907e-2f;
    p = (p * z) + 1.05994076e-1f;
    p = (p * z) - 1.42444253e-1f;
    p = (p * z) + 1.99985296e-1f;
    p = (p * z) - 3.33333164e-1f;
    return pl_copysign_f32(base + (t + (((t * z) * p) + rest)), x);
}

#endif
