#ifndef PL_LOGADDEXP_F32_H
#define PL_LOGADDEXP_F32_H

#include "exp_f32.h"
#include "log1p_f32.h"

/* log(e^a + e^b) without overflow; equal infinities stay what they are. */
static inline float pl_logaddexp_f32(float a, float b)
{
    const float most = ((a > b) || (a != a)) ? a : b;
    const float least = (most == a) ? b : a;
    return ((a == b) && ((a - a) != 0.0f)) ? a : (most + pl_log1p_f32(pl_exp_f32(least - most)));
}

#endif
