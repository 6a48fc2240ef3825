#ifndef PL_ACOS_F32_H
#define PL_ACOS_F32_H

#include "asin_f32.h"

/* acos x, at most 1.2 ulp from the exact value; NaN outside [-1, 1]. */
static inline float pl_acos_f32(float x)
{
    const float a = pl_abs_f32(x);
    float y;
    if (a > 1.0f) {
        y = pl_nan();
    } else if (a > 0.5f) {
        const float z = 0.5f * (1.0f - a);
        y = 2.0f * pl_asin_near_f32(pl_sqrt_f32(z), z);
        y = (x < 0.0f) ? (3.14159274f - (y + 8.74227766e-8f)) : y;
    } else {
        y = pl_copysign_f32(pl_asin_near_f32(a, a * a), x);
        y = 1.57079637f - (y + 4.37113883e-8f);
    }
    return y;
}

#endif
