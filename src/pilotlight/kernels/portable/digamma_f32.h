#ifndef PL_DIGAMMA_F32_H
#define PL_DIGAMMA_F32_H

#include "log_f32.h"
#include "round_f32.h"
#include "tan_f32.h"

/* The derivative of log(gamma(x)). Its error is a few units in the last place of the terms it is made of: smaller
 * arguments are shifted up to where an asymptotic series holds, negative ones are reflected. NaN where they are whole,
 * infinite at zero. */
static inline float pl_digamma_f32(float x_start)
{
    float x = x_start;
    float y = 0.0f;
    if (x == 0.0f) {
        return pl_copysign_f32(pl_inf(), -x);
    }
    if (x < 0.0f) {
        const float rest = x - pl_round_f32(x);
        if ((rest == 0.0f) || ((x - x) != 0.0f)) {
            return pl_nan();
        }
        y = -3.14159274f / pl_tan_f32(3.14159274f * rest);
        x = 1.0f - x;
    }
    for (; x < 8.0f; x += 1.0f) {
        y -= 1.0f / x;
    }
    const float r = 1.0f / x;
    const float z = r * r;
    const float series = z * (8.33333358e-2f - (z * (8.33333377e-3f - (z * 3.96825396e-3f))));
    return y + (pl_log_f32(x) - (0.5f * r) - series);
}

#endif
