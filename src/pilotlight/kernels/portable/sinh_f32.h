#ifndef PL_SINH_F32_H
#define PL_SINH_F32_H

#include "abs_f32.h"
#include "expm1_f32.h"

/* sinh x, at most 3.0 ulp from the exact value. */
static inline float pl_sinh_f32(float x)
{
    const float a = pl_abs_f32(x);
    float y;
    if (a < 9.0f) {
        const float t = pl_expm1_f32(a);
        y = 0.5f * (t + (t / (t + 1.0f)));
    } else { /* e^a overflows before sinh does: half of it squared */
        const float h = pl_exp_f32(0.5f * ((a < 200.0f) ? a : 200.0f));
        y = (a == a) ? ((0.5f * h) * h) : a;
    }
    return pl_copysign_f32(y, x);
}

#endif
