#ifndef PL_LOG2_F32_H
#define PL_LOG2_F32_H

#include "log_f32.h"

/* The logarithm to base 2, at most 1.4 ulp from the exact value; exact at powers of two.
 * f log2(e) is taken as f + f (log2(e) - 1), so that the larger part has no rounding. */
static inline float pl_log2_f32(float x)
{
    float y;
    if ((x > 0.0f) && (x < pl_inf())) {
        int32_t k;
        const float f = pl_log_reduced(x, &k);
        const float t = (pl_log_tail(f) * 1.44269504f) + (f * 0.442695041f);
        y = (float)k + (f + t);
    } else {
        y = pl_log_special(x);
    }
    return y;
}

#endif
