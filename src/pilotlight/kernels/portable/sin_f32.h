#ifndef PL_SIN_F32_H
#define PL_SIN_F32_H

#include "abs_f32.h"
#include "quadrant_f32.h"

/* sin x, at most 1.6 ulp from the exact value for every x. */
static inline float pl_sin_f32(float x)
{
    const float a = pl_abs_f32(x);
    uint32_t n = 0u;
    float r = a;
    if ((a > 0.785f) && (a < pl_inf())) {
        r = pl_quadrant_f32(a, &n);
    }
    r = ((n & 1u) != 0u) ? pl_cos_near_f32(r) : pl_sin_near_f32(r);
    r = ((n & 2u) != 0u) ? -r : r;
    r = (x < 0.0f) ? -r : (x == 0.0f) ? x : r;
    return (a < pl_inf()) ? r : pl_nan();
}

#endif
