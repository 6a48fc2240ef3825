#ifndef PL_COSH_F32_H
#define PL_COSH_F32_H

#include "abs_f32.h"
#include "exp_f32.h"

/* cosh x, at most 3.0 ulp from the exact value. */
static inline float pl_cosh_f32(float x)
{
    const float a = pl_abs_f32(x);
    float y;
    if (a < 9.0f) {
        const float e = pl_exp_f32(a);
        y = (0.5f * e) + (0.5f / e);
    } else {
        const float h = pl_exp_f32(0.5f * ((a < 200.0f) ? a : 200.0f));
        y = (a == a) ? ((0.5f * h) * h) : a;
    }
    return y;
}

#endif
