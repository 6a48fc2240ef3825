#ifndef PL_ATANH_F32_H
#define PL_ATANH_F32_H

#include "abs_f32.h"
#include "log1p_f32.h"

/* atanh x, at most 2.3 ulp from the exact value; NaN outside [-1, 1]. */
static inline float pl_atanh_f32(float x)
{
    const float a = pl_abs_f32(x);
    return pl_copysign_f32(0.5f * pl_log1p_f32(2.0f * a / (1.0f - a)), x);
}

#endif
