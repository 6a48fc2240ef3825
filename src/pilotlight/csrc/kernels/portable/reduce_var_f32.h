#ifndef PL_REDUCE_VAR_F32_H
#define PL_REDUCE_VAR_F32_H

#include "sum_f32.h"

/* Variances along an axis: the squared distances from the mean, divided by axis - correction (inf or NaN where
 * that is not positive). x (outer, axis, inner) -> y (outer, inner), walked in y's order: a lane is read before
 * its result is written, so y may lie on x. */
static inline void pl_reduce_var_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner,
                                     float correction)
{
    const float freedom = (float)axis > correction ? (float)axis - correction : 0.0f;
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *lane = x + (o * axis * inner + i);
            const float mean = pl_sum_f32(lane, axis, inner) / (float)axis;
            y[o * inner + i] = pl_sum_squares_f32(lane, axis, inner, mean) / freedom;
        }
    }
}

#endif
