#ifndef PL_ASIN_F32_H
#define PL_ASIN_F32_H

#include "abs_f32.h"
#include "sqrt_f32.h"

/* asin a for 0 <= a <= 1/2, given z = a^2. */
static inline float pl_asin_near_f32(float a, float z)
{
    float p = 3.76169384e-2f;
    p = (p * z) + 1.43628241e-2f;
    p = (p * z) + 3.18290666e-2f;
    p = (p * z) + 4.45142128e-2f;
    p = (p * z) + 7.50051960e-2f;
    p = (p * z) + 1.66666597e-1f;
    return a + ((a * z) * p);
}

/* asin x, at most 2.4 ulp from the exact value; NaN outside [-1, 1]. */
static inline float pl_asin_f32(float x)
{
    const float a = pl_abs_f32(x);
    float y;
    if (a > 0.5f) {
        const float z = 0.5f * (1.0f - a);
        const float s = pl_sqrt_f32(z);
        y = 1.57079637f - ((2.0f * pl_asin_near_f32(s, z)) + 4.37113883e-8f);
    } else {
        y = pl_asin_near_f32(a, a * a);
    }
    return (a > 1.0f) ? pl_nan() : pl_copysign_f32(y, x);
}

#endif
