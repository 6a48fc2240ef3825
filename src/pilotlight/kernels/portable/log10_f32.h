#ifndef PL_LOG10_F32_H
#define PL_LOG10_F32_H

#include "log_f32.h"

/* The logarithm to base 10, at most 2.1 ulp from the exact value. */
static inline float pl_log10_f32(float x)
{
    float y;
    if ((x > 0.0f) && (x < pl_inf())) {
        int32_t k;
        const float f = pl_log_reduced(x, &k);
        const float e = (float)k;
        y = (e * 0.301025391f) + (((f + pl_log_tail(f)) * 0.434294482f) + (e * 4.60503907e-6f));
    } else {
        y = pl_log_special(x);
    }
    return y;
}

#endif
