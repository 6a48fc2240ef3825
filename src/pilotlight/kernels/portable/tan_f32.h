#ifndef PL_TAN_F32_H
#define PL_TAN_F32_H

#include "abs_f32.h"
#include "quadrant_f32.h"

/* tan x, at most 3.3 ulp from the exact value for every x. */
static inline float pl_tan_f32(float x)
{
    const float a = pl_abs_f32(x);
    uint32_t n = 0u;
    float r = a;
    float s;
    float c;
    if ((a > 0.785f) && (a < pl_inf())) {
        r = pl_quadrant_f32(a, &n);
    }
    s = pl_sin_near_f32(r);
    c = pl_cos_near_f32(r);
    r = ((n & 1u) != 0u) ? -(c / s) : (s / c);
    r = (x < 0.0f) ? -r : (x == 0.0f) ? x : r;
    return (a < pl_inf()) ? r : pl_nan();
}

#endif
