#ifndef PL_ASINH_F32_H
#define PL_ASINH_F32_H

#include "abs_f32.h"
#include "log1p_f32.h"
#include "sqrt_f32.h"

/* asinh x, at most 2.1 ulp from the exact value. */
static inline float pl_asinh_f32(float x)
{
    const float a = pl_abs_f32(x);
    float y;
    if (a > 1e9f) {
        y = pl_log_f32(a) + 0.693147182f;
    } else {
        const float square = a * a;
        y = pl_log1p_f32(a + (square / (1.0f + pl_sqrt_f32(square + 1.0f))));
    }
    return pl_copysign_f32(y, x);
}

#endif
