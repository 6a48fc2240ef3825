#ifndef PL_REDUCE_AMAX_F32_H
#define PL_REDUCE_AMAX_F32_H

#include <stdint.h>

#include "minmax_f32.h"

/* The largest along an axis; NaN where there is one. x (outer, axis, inner) -> y (outer, inner), walked in y's order: a
 * lane is read before its result is written, so y may lie on x. */
static inline void pl_reduce_amax_f32(const float *x, float *y, int32_t outer, int32_t axis, int32_t inner)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            const float *lane = x + ((o * axis * inner) + i);
            float top = lane[0];
            for (int32_t k = 1; k < axis; k++) {
                top = pl_max_f32(lane[k * inner], top);
            }
            y[(o * inner) + i] = top;
        }
    }
}

#endif
