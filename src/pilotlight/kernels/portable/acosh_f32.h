#ifndef PL_ACOSH_F32_H
#define PL_ACOSH_F32_H

#include "log1p_f32.h"
#include "sqrt_f32.h"

/* acosh x, at most 2.1 ulp from the exact value; NaN below 1. */
static inline float pl_acosh_f32(float x)
{
    const float t = x - 1.0f;
    float y;
    if (x > 1e9f) {
        y = pl_log_f32(x) + 0.693147182f;
    } else {
        y = (x < 1.0f) ? pl_nan() : pl_log1p_f32(t + pl_sqrt_f32((2.0f * t) + (t * t)));
    }
    return y;
}

#endif
