#ifndef PL_DIGAMMA_F32_H
#define PL_DIGAMMA_F32_H

#include "log_f32.h"
#include "round_f32.h"
#include "tan_f32.h"

/* The derivative of log(gamma(x)). Its error is a few units in the last place of the terms it is made of: smaller
 * arguments are shifted up to where an asymptotic series holds, negative ones are reflected. NaN where they are whole,
 * infinite at zero. */
static inline float pl_digamma_f32(float x)
{
    const float rest = x - pl_round_f32(x);
    float y = 0.0f;
    if (x == 0.0f) {
        y = pl_copysign_f32(pl_inf(), -x);
    } else if ((x < 0.0f) && ((rest == 0.0f) || ((x - x) != 0.0f))) {
        y = pl_nan();
    } else {
        float u = x;
        if (x < 0.0f) {
            y = -3.14159274f / pl_tan_f32(3.14159274f * rest);
            u = 1.0f - x;
        }
        for (int32_t turn = 0; turn < 8; turn++) {
            if (u < 8.0f) {
                y -= 1.0f / u;
                u += 1.0f;
            }
        }
        const float r = 1.0f / u;
        const float z = r * r;
        const float series = z * (8.33333358e-2f - (z * (8.33333377e-3f - (z * 3.96825396e-3f))));
        y += pl_log_f32(u) - (0.5f * r) - series;
    }
    return y;
}

#endif
