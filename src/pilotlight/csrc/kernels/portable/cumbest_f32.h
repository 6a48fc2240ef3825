#ifndef PL_CUMBEST_F32_H
#define PL_CUMBEST_F32_H

#include <stdint.h>

#include "number_f32.h"

/* The largest so far along the middle of (outer, axis, inner), or the least, and where it stands: the last of equals.
 * From the first NaN on it is NaN. */
static inline void pl_cumbest_f32(const float *x, float *y, int64_t *ids, int32_t outer, int32_t axis, int32_t inner,
                                  int32_t largest)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            float best = x[o * axis * inner + i];
            int64_t id = 0;
            for (int32_t k = 0; k < axis; k++) {
                const int32_t at = (o * axis + k) * inner + i;
                if (pl_is_nan_f32(x[at]) || (largest ? x[at] >= best : x[at] <= best)) {
                    best = x[at];
                    id = k;
                }
                y[at] = best;
                ids[at] = id;
            }
        }
    }
}

#endif
