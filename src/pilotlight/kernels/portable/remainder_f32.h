#ifndef PL_REMAINDER_F32_H
#define PL_REMAINDER_F32_H

#include "fmod_f32.h"

/* a - b * floor(a / b): the sign is that of b, as in Python. */
static inline float pl_remainder_f32(float a, float b)
{
    const float r = pl_fmod_f32(a, b);
    return ((r != 0.0f) && ((b < 0.0f) != (r < 0.0f))) ? (r + b) : r;
}

#endif
