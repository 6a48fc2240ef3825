#ifndef PL_LOG2_F32_H
#define PL_LOG2_F32_H

#include "log_f32.h"

/* The logarithm to base 2, at most 1.4 ulp from the exact value; exact at powers of two.
 * f log2(e) is taken as f + f (log2(e) - 1), so that the larger part has no rounding. */
static inline float pl_log2_f32(float x)
{
    int32_t k;
    float f;
    float t;
    if (!((x > 0.0f) && (x < pl_inf()))) {
        return pl_log_special(x);
    }
    f = pl_log_reduced(x, &k);
    t = pl_log_tail(f);
    t = (t * 1.44269504f) + (f * 0.442695041f);
    return (float)k + (f + t);
}

#endif
