#ifndef PL_REDUCE_SUM_F32_H
#define PL_REDUCE_SUM_F32_H

#include <stdint.h>

#include "sum_f32.h"

/* Sums along an axis. x (outer, axis, inner) -> y (outer, inner), walked in y's order: a lane is read before its result
 * is written, so y may lie on x. */
static inline void pl_reduce_sum_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *lane = x + ((o * axis * inner) + i);
            y[(o * inner) + i] = pl_sum_f32(lane, axis, inner);
        }
    }
}

#endif
