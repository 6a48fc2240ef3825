#ifndef PL_LOG10_F32_H
#define PL_LOG10_F32_H

#include "log_f32.h"

/* The logarithm to base 10, at most 2.1 ulp from the exact value. */
static inline float pl_log10_f32(float x)
{
    int32_t k;
    float f;
    float e;
    if (!((x > 0.0f) && (x < pl_inf()))) {
        return pl_log_special(x);
    }
    f = pl_log_reduced(x, &k);
    e = (float)k;
    return (e * 0.301025391f) + (((f + pl_log_tail(f)) * 0.434294482f) + (e * 4.60503907e-6f));
}

#endif
