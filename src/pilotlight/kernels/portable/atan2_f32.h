#ifndef PL_ATAN2_F32_H
#define PL_ATAN2_F32_H

#include <stdbool.h>

#include "atan_f32.h"

/* The angle of the point (x, y), at most 2.5 ulp from the exact value; signs of zeros and infinities as in C. */
static inline float pl_atan2_f32(float y, float x)
{
    const float ax = pl_abs_f32(x);
    const float ay = pl_abs_f32(y);
    const bool negative = (pl_bits(x) >> 31) != 0u;
    float t;
    if ((ay == 0.0f) || (ax == pl_inf())) {
        t = (ay == pl_inf()) ? 0.785398185f : 0.0f;
    } else if ((ax == 0.0f) || (ay == pl_inf())) {
        t = 1.57079637f;
    } else {
        t = pl_atan_f32(ay / ax);
    }
    t = pl_copysign_f32(negative ? (3.14159274f - (t + 8.74227766e-8f)) : t, y);
    return ((x != x) || (y != y)) ? (x + y) : t;
}

#endif
