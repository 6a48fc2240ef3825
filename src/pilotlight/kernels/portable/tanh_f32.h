#ifndef PL_TANH_F32_H
#define PL_TANH_F32_H

#include "abs_f32.h"
#include "exp_f32.h"

/* tanh, at most 1.5 ulp from the exact value. */
static inline float pl_tanh_f32(float x)
{
    const float a = pl_abs_f32(x);
    float y;
    if (a < 0.625f) {
        const float z = a * a;
        float p = -5.71549917e-3f;
        p = (p * z) + 2.06491034e-2f;
        p = (p * z) - 5.37430048e-2f;
        p = (p * z) + 1.33314848e-1f;
        p = (p * z) - 3.33332837e-1f;
        y = a + ((a * z) * p);
    } else if (a < 10.0f) {
        y = 1.0f - (2.0f / (pl_exp_inner_f32(a + a) + 1.0f));
    } else {
        y = (a >= 10.0f) ? 1.0f : a; /* NaN stays NaN */
    }
    return pl_copysign_f32(y, x);
}

#endif
