#ifndef PL_LOGCUMSUMEXP_F32_H
#define PL_LOGCUMSUMEXP_F32_H

#include "logaddexp_f32.h"

/* The logarithm of running sums of exponentials along the middle of (outer, axis, inner), lane by lane. */
static inline void pl_logcumsumexp_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            float total = 0.0f;
            for (int32_t k = 0; k < axis; k++) {
                const int32_t at = (((o * axis) + k) * inner) + i;
                total = (k == 0) ? x[at] : pl_logaddexp_f32(total, x[at]);
                y[at] = total;
            }
        }
    }
}

#endif
