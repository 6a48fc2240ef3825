#ifndef PL_HYPOT_F32_H
#define PL_HYPOT_F32_H

#include "abs_f32.h"
#include "bits_f32.h"
#include "sqrt_f32.h"

/* The root of a^2 + b^2 where the squares alone would overflow or vanish too; infinity wins over NaN. 1.3 ulp. */
static inline float pl_hypot_f32(float a, float b)
{
    const float x = pl_abs_f32(a);
    const float y = pl_abs_f32(b);
    const float most = (x > y) ? x : y;
    int32_t n = 0; // both bear a factor of 2^n
    if (most > pl_pow2(60)) {
        n = -70;
    } else if (most < pl_pow2(-50)) {
        n = 80;
    } else {
        /* their squares are normal numbers as they are */
    }
    const float u = x * pl_pow2(n);
    const float v = y * pl_pow2(n);
    const float root = pl_sqrt_f32((u * u) + (v * v)) * pl_pow2(-n);
    return ((x == pl_inf()) || (y == pl_inf())) ? pl_inf() : root;
}

#endif
