#ifndef PL_LOG1P_F32_H
#define PL_LOG1P_F32_H

#include "log_f32.h"

/* log(1 + x), at most 1.0 ulp from the exact value. What rounding 1 + x lost comes back as c. */
static inline float pl_log1p_f32(float x)
{
    float y;
    if (!((x > -1.0f) && (x < pl_inf()))) {
        y = (x == -1.0f) ? -pl_inf() : (x < -1.0f) ? pl_nan() : x;
    } else if ((x > -0.29f) && (x < 0.41f)) {
        y = (x == 0.0f) ? x : (x + pl_log_tail(x));
    } else {
        const float u = 1.0f + x;
        const float c = ((x > 1.0f) ? (1.0f - (u - x)) : (x - (u - 1.0f))) / u;
        int32_t k;
        const float f = pl_log_reduced(u, &k);
        const float e = (float)k;
        y = (e * 0.693145752f) + (f + (pl_log_tail(f) + ((e * 1.42860677e-6f) + c)));
    }
    return y;
}

#endif
