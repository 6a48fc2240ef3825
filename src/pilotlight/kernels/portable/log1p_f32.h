#ifndef PL_LOG1P_F32_H
#define PL_LOG1P_F32_H

#include "log_f32.h"

/* log(1 + x), at most 1.0 ulp from the exact value. What rounding 1 + x lost comes back as c. */
static inline float pl_log1p_f32(float x)
{
    int32_t k;
    float u;
    float f;
    float c;
    float e;
    if (!((x > -1.0f) && (x < pl_inf()))) {
        return (x == -1.0f) ? -pl_inf() : (x < -1.0f) ? pl_nan() : x;
    }
    if ((x > -0.29f) && (x < 0.41f)) {
        return (x == 0.0f) ? x : (x + pl_log_tail(x));
    }
    u = 1.0f + x;
    c = ((x > 1.0f) ? (1.0f - (u - x)) : (x - (u - 1.0f))) / u;
    f = pl_log_reduced(u, &k);
    e = (float)k;
    return (e * 0.693145752f) + (f + (pl_log_tail(f) + ((e * 1.42860677e-6f) + c)));
}

#endif
