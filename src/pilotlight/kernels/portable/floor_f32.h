#ifndef PL_FLOOR_F32_H
#define PL_FLOOR_F32_H

#include "trunc_f32.h"

static inline float pl_floor_f32(float x)
{
    const float t = pl_trunc_f32(x);
    return (t > x) ? (t - 1.0f) : t;
}

#endif
