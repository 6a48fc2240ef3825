#ifndef PL_ROUND_F32_H
#define PL_ROUND_F32_H

#include "abs_f32.h"

/* To the nearest integer, ties to even: adding 2^23 leaves no room for a fraction. */
static inline float pl_round_f32(float x)
{
    const float a = pl_abs_f32(x);
    return (a < 8388608.0f) ? pl_copysign_f32((a + 8388608.0f) - 8388608.0f, x) : x;
}

#endif
