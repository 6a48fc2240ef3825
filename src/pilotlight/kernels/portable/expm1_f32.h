#ifndef PL_EXPM1_F32_H
#define PL_EXPM1_F32_H

#include "exp_f32.h"

/* e^x - 1, at most 1.7 ulp from the exact value. */
static inline float pl_expm1_f32(float x)
{
    float y = x; /* keeps the sign of zero */
    if (x != 0.0f) {
        const float low = (x > 89.0f) ? 89.0f : x;
        float shifted;
        const float p = pl_exp_reduced((low < -20.0f) ? -20.0f : low, &shifted);
        const int32_t n = pl_shifted_integer(shifted);
        y = pl_scale_f32(p + (1.0f - ((n < 100) ? pl_pow2(-n) : 0.0f)), n);
    }
    return y;
}

#endif
