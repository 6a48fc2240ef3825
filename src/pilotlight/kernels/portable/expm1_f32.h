#ifndef PL_EXPM1_F32_H
#define PL_EXPM1_F32_H

#include "exp_f32.h"

/* e^x - 1, at most 1.7 ulp from the exact value. */
static inline float pl_expm1_f32(float x_start)
{
    float x = x_start;
    float shifted;
    float p;
    int32_t n;
    if (x == 0.0f) {
        return x; /* keeps the sign of zero */
    }
    x = (x > 89.0f) ? 89.0f : x;
    x = (x < -20.0f) ? -20.0f : x;
    p = pl_exp_reduced(x, &shifted);
    n = pl_shifted_integer(shifted);
    return pl_scale_f32(p + (1.0f - ((n < 100) ? pl_pow2(-n) : 0.0f)), n);
}

#endif
